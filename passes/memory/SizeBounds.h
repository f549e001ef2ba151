//===- SizeBounds.h - how large a size can become ----------------*- C++ -*-===//
//
// Memory is planned before the run makes its late symbols: what depends on one is
// planned for the largest size that the entry symbols allow.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_MEMORY_SIZEBOUNDS_H
#define LUMEN_PASSES_MEMORY_SIZEBOUNDS_H

#include "dialects/Lumen/Lumen.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace lumen {

class SizeBounds {
public:
  /// Reads the symbols of a schedule: those of its arguments' dimensions, and those
  /// that `lumen.symbol`, `lumen.if` and `lumen.loop` make.
  explicit SizeBounds(mlir::func::FuncOp main);

  /// Whether the value is known when the run starts.
  bool isEntry(const SymExpr &size) const;
  /// An expression over entry symbols that `size` never exceeds; the size itself
  /// where it has no other symbols, nothing where there is no bound.
  std::optional<SymExpr> upper(const SymExpr &size) const;
  /// The same as a number, given the bounds of entry symbols that the module's
  /// attribute `lumen.bounds` holds.
  std::optional<int64_t> upperNumber(const SymExpr &size) const;

private:
  using UpperFn = llvm::function_ref<std::optional<SymExpr>(llvm::StringRef)>;
  std::optional<SymExpr> upperOfLate(llvm::StringRef name) const;
  std::optional<SymExpr> upperOf(const SymExpr &size, UpperFn upperOfSymbol) const;

  /// A late symbol never exceeds the largest of its candidates; it has no bound
  /// where there are none.
  llvm::StringMap<Sizes> late;
  llvm::StringMap<int64_t> entry; ///< with its upper bound, or -1
  /// Late symbols that are being bounded, so that one never bounds itself.
  mutable llvm::StringSet<> open;
};

} // namespace lumen

#endif // LUMEN_PASSES_MEMORY_SIZEBOUNDS_H
