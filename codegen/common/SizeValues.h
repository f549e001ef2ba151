//===- SizeValues.h - the numbers behind size expressions --------*- C++ -*-===//
//
// A kernel of dynamic shapes gets the values of its symbols when it is launched.
// What it computes of them is computed once, at the entry of its function.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_COMMON_SIZEVALUES_H
#define LUMEN_CODEGEN_COMMON_SIZEVALUES_H

#include "dialects/Lumen/Symbols.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace lumen {

/// The values of size expressions in one function.
class SizeValues {
public:
  /// Makes the value of a symbol, of index type, where the builder stands.
  using Symbol = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, llvm::StringRef)>;

  /// `entry`: the first block of the function. `symbol` is called at most once per
  /// name, and not at all where all sizes are constants.
  SizeValues(mlir::Block &entry, Symbol symbol) : entry(entry), symbol(std::move(symbol)) {}

  /// Of index type. A constant is made where `builder` stands; anything else is made
  /// once, at the entry, so that it dominates every use. What is not defined (a
  /// quotient by zero) has some value.
  mlir::Value get(mlir::OpBuilder &builder, mlir::Location loc, const SymExpr &size);

private:
  mlir::Block &entry;
  Symbol symbol;
  mlir::Operation *last = nullptr; ///< of what was made at the entry
  llvm::StringMap<mlir::Value> known;
};

/// What a size is assumed to be where code has to be chosen: the constant, or its
/// value with every symbol at 64, but not less than 1.
int64_t typicalValue(const SymExpr &size);

/// Whether `size` is a multiple of `divisor` for every value of the symbols.
inline bool isMultiple(const SymExpr &size, int64_t divisor) {
  return size.knownDivisor() % divisor == 0;
}

} // namespace lumen

#endif // LUMEN_CODEGEN_COMMON_SIZEVALUES_H
