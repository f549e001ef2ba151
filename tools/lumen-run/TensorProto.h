// ONNX TensorProto files (.pb), as the conformance data of ONNX has them.
#ifndef LUMEN_RUN_TENSORPROTO_H
#define LUMEN_RUN_TENSORPROTO_H

#include "Elements.h"

namespace lumen::run {

// Numbers and booleans, in raw_data or in the typed fields. Data outside the
// file and strings are errors by name.
llvm::Expected<Tensor> readTensorProto(llvm::StringRef path);

} // namespace lumen::run

#endif
