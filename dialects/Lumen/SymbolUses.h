//===- SymbolUses.h - where operations name symbols --------------*- C++ -*-===//
//
// Symbols are names, not values: operations name them in their types and in
// expressions among their attributes. These functions find and replace them.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_SYMBOLUSES_H
#define LUMEN_DIALECTS_LUMEN_SYMBOLUSES_H

#include "dialects/Lumen/Shapes.h"

#include "mlir/IR/Operation.h"

namespace lumen {

/// Calls `visit` with every expression among the attributes of an operation; not
/// with those of what its regions hold.
void visitExpressions(mlir::Operation *op, llvm::function_ref<void(const SymExpr &)> visit);

/// The symbols that a type names.
void collectSymbols(mlir::Type type, std::set<std::string> &names);

/// The symbols that an operation and what its regions hold name, in results,
/// block arguments and attributes.
void collectSymbols(mlir::Operation *op, std::set<std::string> &names);

/// The symbols that an operation gives values: behind it and, for a loop, inside.
llvm::SmallVector<llvm::StringRef> symbolsDefinedBy(mlir::Operation *op);

mlir::Type substitute(mlir::Type type, const llvm::StringMap<SymExpr> &values);

/// Whether every size is still one with the symbols replaced: 8 divided by n is not
/// where n is 0.
bool canSubstitute(mlir::Operation *op, const llvm::StringMap<SymExpr> &values);

/// Replaces symbols in an operation and what its regions hold.
void substitute(mlir::Operation *op, const llvm::StringMap<SymExpr> &values);

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_SYMBOLUSES_H
