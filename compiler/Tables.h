//===- Tables.h - a planned module as the runtime's tables -------*- C++ -*-===//
#ifndef LUMEN_COMPILER_TABLES_H
#define LUMEN_COMPILER_TABLES_H

#include "compiler/KernelCompilation.h"
#include "compiler/link/Link.h"

namespace lumen {

/// Describes `module`, as it is after the stage `memory`, in the terms of
/// lumen_abi.h. `code` holds the launch shapes of its kernels. Fails with a
/// diagnostic for every input and output whose type has no name there.
mlir::FailureOr<link::ModelTables> buildTables(mlir::ModuleOp module, llvm::StringRef name,
                                               const KernelCode &code);

/// The runtime's name of an element type; nothing where it has none.
std::optional<lumen_abi_dtype> dtypeOf(mlir::Type type);

/// The constants of `module`. Bytes that lie nowhere in memory yet (small
/// constants) are made in `storage`, which must outlive the result.
link::Weights buildWeights(mlir::ModuleOp module, std::vector<llvm::SmallVector<char, 0>> &storage);

/// Writes --memory-report: every buffer of the arena with its live range, the
/// totals, and the scratch of each kernel. Sizes that the run decides are written as
/// expressions, and their totals for the values of symbols in `dims`, which the
/// upper bounds of the module complete.
void writeMemoryReport(mlir::ModuleOp module, const link::ModelTables &tables,
                       const llvm::StringMap<int64_t> &dims, llvm::raw_ostream &os);

} // namespace lumen

#endif // LUMEN_COMPILER_TABLES_H
