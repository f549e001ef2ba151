// NumPy's .npy files, versions 1 to 3.
#ifndef LUMEN_RUN_NPY_H
#define LUMEN_RUN_NPY_H

#include "Elements.h"

namespace lumen::run {

// Little-endian arrays of numbers and booleans, in C or Fortran order.
llvm::Expected<Tensor> readNpy(llvm::StringRef path);

// Types that NumPy does not have are written in the next one that holds all
// their values: small floats as float32, small integers as (u)int8.
llvm::Error writeNpy(llvm::StringRef path, TensorView tensor);

} // namespace lumen::run

#endif
