//===- Import.h - from a model file to the onnx dialect ----------*- C++ -*-===//
#ifndef LUMEN_COMPILER_IMPORT_IMPORT_H
#define LUMEN_COMPILER_IMPORT_IMPORT_H

#include "compiler/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>

namespace lumen {

/// What a user says about the sizes that a model leaves open.
struct ImportOptions {
  /// Whole shapes by input name (`--shape data=1x3x224x224`). Every size is
  /// given; a symbol in the place of one is replaced wherever it occurs.
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes;
  /// Sizes by symbol (`--dim batch=8`). A dimension without a symbol in the file
  /// is called `<input>.d<axis>`.
  llvm::StringMap<int64_t> dims;
  /// Upper bounds of symbols that stay symbols (`--dim seq<=512`). The module carries
  /// them as `lumen.bounds`.
  llvm::StringMap<int64_t> bounds;
  /// Sizes by symbol for which the memory plan is evaluated (`--report-dims seq=128`): none,
  /// or one for every symbol that has neither a size nor a bound.
  llvm::StringMap<int64_t> reportDims;
};

/// Reads the model at `path` into a module of the onnx dialect with one
/// function `@main` (see OnnxOps.td). The module carries `lumen.name`, the
/// graph's name, and `lumen.source_hash`, the BLAKE3 digest of the file in hex
/// (with external data, that of all files' digests).
///
/// Weights are not copied: the file and its external data stay mapped and are
/// owned by the context's BlobTable, so the files must not change while the
/// context lives. External data is looked for in the folder of `path`.
///
/// Returns null after a failure; then `diagnostics` has at least one error.
/// Documentation, metadata, quantization annotations and device placement do not
/// change what a model computes and are left out; so is training information,
/// with a warning.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, llvm::StringRef path,
                                             const ImportOptions &options,
                                             Diagnostics &diagnostics);

/// The same for a file that is already in memory; takes ownership of it.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context,
                                             std::unique_ptr<llvm::MemoryBuffer> file,
                                             llvm::StringRef path, const ImportOptions &options,
                                             Diagnostics &diagnostics);

} // namespace lumen

#endif // LUMEN_COMPILER_IMPORT_IMPORT_H
