//===- WeightsObject.h - constants of a model, outside LLVM ------*- C++ -*-===//
//
// Weights pass through neither LLVM nor the linker: the linker sees an object
// that only reserves their room, and their bytes are streamed into its output
// afterwards. So they are copied once, and no memory is needed for them.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_COMPILER_LINK_WEIGHTSOBJECT_H
#define LUMEN_COMPILER_LINK_WEIGHTSOBJECT_H

#include "compiler/link/Link.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

namespace lumen::link {

/// A relocatable object that defines the hidden `symbol` as `size` zero bytes in
/// a section without contents, marked as large so that neither code nor data
/// reaches across it.
llvm::SmallVector<char, 0> reserveWeights(llvm::StringRef symbol, uint64_t size);

/// Gives the reservation in a linked ELF file (shared object or relocatable) its
/// contents, at the end of the file. The ELF file starts at `start` of the file
/// `path` and reaches to its end. Errors do not name the file.
llvm::Error fillWeights(llvm::StringRef path, uint64_t start, const Weights &weights);

/// Writes a file of its own for the region: a lumen_abi_weights_header with
/// `id`, then the region.
void writeWeightsFile(llvm::raw_fd_ostream &stream, const Weights &weights, llvm::StringRef id);

} // namespace lumen::link

#endif // LUMEN_COMPILER_LINK_WEIGHTSOBJECT_H
