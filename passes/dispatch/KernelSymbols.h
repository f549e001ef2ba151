//===- KernelSymbols.h - the symbols of a kernel -----------------*- C++ -*-===//
//
// A kernel has symbols of its own, s0, s1, ..., so that launches over different
// symbols of the schedule share it. What a kernel only ever sees as a whole, such
// as past + seq, is one of them.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_DISPATCH_KERNELSYMBOLS_H
#define LUMEN_PASSES_DISPATCH_KERNELSYMBOLS_H

#include "dialects/Dispatch/Dispatch.h"

#include "llvm/ADT/StringMap.h"

namespace lumen {

/// Collects what a kernel says of sizes in the schedule's terms, then rewrites it
/// in the kernel's own.
class KernelSymbols {
public:
  /// Sizes that the kernel's types name, and other expressions in its attributes.
  void add(mlir::RankedTensorType type);
  void add(DimsAttr expressions);
  /// The types are of the same tensor, so their sizes are equal.
  void unify(mlir::RankedTensorType a, mlir::RankedTensorType b);

  /// Chooses the symbols; nothing may be added any more.
  void assign();

  mlir::RankedTensorType rewrite(mlir::RankedTensorType type) const;
  DimsAttr rewrite(DimsAttr expressions) const;

  /// The names in order, s0, s1, ..., and what each is in the schedule.
  llvm::ArrayRef<std::string> getNames() const { return names; }
  llvm::ArrayRef<SymExpr> getValues() const { return values; }

private:
  struct Entry {
    SymExpr schedule;
    SymExpr kernel;      ///< `schedule` over the kernel's symbols
    bool isSize = false; ///< a tensor has it, so it is not negative
  };

  void add(const SymExpr &expr, bool isSize);
  /// The one of several equal sizes that stands for all.
  SymExpr representative(const SymExpr &expr) const;
  SymExpr rewrite(const SymExpr &expr) const;

  std::vector<Entry> entries; ///< in the order of appearance
  llvm::StringMap<unsigned> indexOf;
  llvm::StringMap<SymExpr> equals; ///< a size and the one that stands for it
  llvm::SmallVector<std::string> names;
  Sizes values;
};

/// Lets a kernel that exactly one launch names read one more expression of the
/// schedule, and returns it in the kernel's terms; adds symbols where needed.
SymExpr addKernelExpression(dispatch::KernelOp kernel, dispatch::LaunchOp launch,
                            const SymExpr &expr);

} // namespace lumen

#endif // LUMEN_PASSES_DISPATCH_KERNELSYMBOLS_H
