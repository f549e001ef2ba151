//===- Pipeline.h - the stages of a compilation ------------------*- C++ -*-===//
//
// Stages are data: one array names them, one loop verifies, times, dumps and
// stops. Importing comes before them, code generation and linking after.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_COMPILER_PIPELINE_H
#define LUMEN_COMPILER_PIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace lumen {

struct Stage {
  llvm::StringLiteral name; ///< what --emit, --stop-after and the dumps use
  llvm::StringLiteral summary;
  /// Adds the stage's passes; null for `import`, which has none.
  void (*build)(mlir::OpPassManager &);
};

/// All stages whose result is a module, in order; the first is `import`.
llvm::ArrayRef<Stage> stages();

/// The stage of that name, or null.
const Stage *findStage(llvm::StringRef name);

/// Loads every dialect that any stage needs.
void loadDialects(mlir::MLIRContext &context);

} // namespace lumen

#endif // LUMEN_COMPILER_PIPELINE_H
