// The tensors that --input asks for.
#ifndef LUMEN_RUN_INPUTS_H
#define LUMEN_RUN_INPUTS_H

#include "Elements.h"

namespace lumen::run {

// Numbers of a fixed sequence, the same on every machine: floats in [-1, 1),
// integers in 0..7 (as far as their type reaches), booleans.
Tensor randomTensor(lumen_dtype dtype, llvm::ArrayRef<int64_t> shape, uint64_t seed);

// Reads a file of either kind by its name's end: .npy, or .pb.
llvm::Expected<Tensor> readTensor(llvm::StringRef path);

// Splits "NAME=REST" by the longest of the names that fits, which may have '='
// in them. On failure lists them. Returns the position of the name.
llvm::Expected<uint32_t> splitName(llvm::StringRef argument, const lumen_value_info *values,
                                   uint32_t count, const char *what, llvm::StringRef &rest);

// One tensor per input of the model; what no argument names is random.
llvm::Expected<std::vector<Tensor>> makeInputs(llvm::ArrayRef<std::string> arguments,
                                               const lumen_value_info *inputs, uint32_t count,
                                               uint64_t seed);

} // namespace lumen::run

#endif
