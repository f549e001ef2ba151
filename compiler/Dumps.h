//===- Dumps.h - a module and its constants on disk --------------*- C++ -*-===//
//
// A dump is the module's text. The bytes of its `#lumen.blob`s are in one file
// beside it, `blobs.bin`, which all dumps of a folder share.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_COMPILER_DUMPS_H
#define LUMEN_COMPILER_DUMPS_H

#include "dialects/Lumen/Lumen.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace lumen {

namespace link {
class OutputFiles;
}

/// Writes `folder`/NN-name.mlir, and all entries of the BlobTable: their number,
/// their sizes (64-bit little-endian), and their bytes. Replaces no file that is
/// read, and none of the `others` that are written.
llvm::Error dumpStage(mlir::ModuleOp module, llvm::StringRef folder, unsigned number,
                      llvm::StringRef name, const link::OutputFiles &others);

/// Adds the entries of such a file of constants to `blobs`, which is empty.
llvm::Error readBlobs(BlobTable &blobs, llvm::StringRef path);

} // namespace lumen

#endif // LUMEN_COMPILER_DUMPS_H
