//===- LoopEmitter.h - scalar code with loops, written briefly ---*- C++ -*-===//
//
// What the builders of the family Loops are written with: index arithmetic,
// structured loops that carry values, and elements of strided tensors.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_LOOPS_LOOPEMITTER_H
#define LUMEN_CODEGEN_LOOPS_LOOPEMITTER_H

#include "codegen/loops/LoopKernel.h"

namespace lumen::loops {

using Values = llvm::SmallVector<mlir::Value>;

class LoopEmitter {
public:
  explicit LoopEmitter(LoopKernel &kernel) : LoopEmitter(kernel, kernel.builder) {}
  LoopEmitter(LoopKernel &kernel, mlir::OpBuilder builder)
      : kernel(kernel), builder(builder), loc(kernel.loc) {}

  // Indices.
  mlir::Value constant(int64_t value);
  /// Emitted at the kernel's entry, if it is not constant.
  mlir::Value size(const SymExpr &expr);
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<mlir::arith::AddIOp>(a, b); }
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, constant(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return make<mlir::arith::SubIOp>(a, b); }
  mlir::Value sub(mlir::Value a, int64_t b) { return sub(a, constant(b)); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return make<mlir::arith::MulIOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return make<mlir::arith::DivUIOp>(a, b); }
  mlir::Value rem(mlir::Value a, mlir::Value b) { return make<mlir::arith::RemUIOp>(a, b); }
  mlir::Value min(mlir::Value a, mlir::Value b) { return make<mlir::arith::MinSIOp>(a, b); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return make<mlir::arith::MaxSIOp>(a, b); }
  mlir::Value less(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::slt, a, b);
  }
  mlir::Value equal(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SelectOp>(condition, a, b);
  }
  mlir::Value toIndex(mlir::Value integer, bool isUnsigned = false);
  mlir::Value toI64(mlir::Value index);

  // Booleans.
  mlir::Value boolean(bool value);
  mlir::Value both(mlir::Value a, mlir::Value b) { return make<mlir::arith::AndIOp>(a, b); }
  mlir::Value either(mlir::Value a, mlir::Value b) { return make<mlir::arith::OrIOp>(a, b); }
  mlir::Value negate(mlir::Value a) { return make<mlir::arith::XOrIOp>(a, boolean(true)); }

  /// Steps of one from `low` to `high`; the body gives the values that it carries on.
  Values loop(mlir::Value low, mlir::Value high, mlir::ValueRange inits,
              llvm::function_ref<Values(LoopEmitter &, mlir::Value, mlir::ValueRange)> body);
  void loop(mlir::Value low, mlir::Value high,
            llvm::function_ref<void(LoopEmitter &, mlir::Value)> body);
  /// As long as what the body gives first is true; the values behind that are
  /// carried on, and those of the last trip are the result.
  Values repeat(mlir::ValueRange inits,
                llvm::function_ref<Values(LoopEmitter &, mlir::ValueRange)> body);
  /// As long as `goesOn` is true of the carried values, which `body` replaces. The body may
  /// have loops, which some devices do not take from `repeat`.
  Values repeatWhile(mlir::ValueRange inits,
                     llvm::function_ref<mlir::Value(LoopEmitter &, mlir::ValueRange)> goesOn,
                     llvm::function_ref<Values(LoopEmitter &, mlir::ValueRange)> body);
  void branch(mlir::Value condition, llvm::function_ref<void(LoopEmitter &)> body,
              llvm::function_ref<void(LoopEmitter &)> otherwise = nullptr);
  Values branch(mlir::Value condition, mlir::TypeRange types,
                llvm::function_ref<Values(LoopEmitter &)> then,
                llvm::function_ref<Values(LoopEmitter &)> otherwise);

  // Elements: indices one per dimension; floats of 16 bits as f32, booleans as i1.
  mlir::Value load(const Access &access, mlir::ValueRange indices);
  void store(mlir::Value value, const Access &access, mlir::ValueRange indices);
  /// The place that an integer of the model means in a dimension of `size`. One that
  /// lies outside ends the run; `isInside` becomes false then.
  mlir::Value placeOf(mlir::Value index, bool isUnsigned, mlir::Value size, mlir::Value &isInside);
  /// Walks all elements of a box, the first `skip` dimensions at given indices.
  void walk(llvm::ArrayRef<SymExpr> sizes, llvm::ArrayRef<mlir::Value> outer,
            llvm::function_ref<void(LoopEmitter &, llvm::ArrayRef<mlir::Value>)> body);
  /// The indices of the element with the number `linear` in row-major order.
  Values delinearize(mlir::Value linear, llvm::ArrayRef<SymExpr> sizes);

  /// Whether `a` is larger than `b`: NaN is larger than every number.
  mlir::Value isLarger(mlir::Value a, mlir::Value b, bool isUnsigned);

  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }

  LoopKernel &kernel;
  mlir::OpBuilder builder;
  mlir::Location loc;
};

/// Finds the first `count` of `total` elements, in order. `candidate` gives the number
/// of element i; `load` and `store` reach a row of `count` numbers, which holds the
/// result; `precedes` compares two numbers and is a strict total order. A heap in the
/// row itself: no other memory, and time total * log(count).
void emitSelection(LoopEmitter &emit, mlir::Value total, mlir::Value count,
                   llvm::function_ref<mlir::Value(LoopEmitter &, mlir::Value)> candidate,
                   llvm::function_ref<mlir::Value(LoopEmitter &, mlir::Value)> load,
                   llvm::function_ref<void(LoopEmitter &, mlir::Value, mlir::Value)> store,
                   llvm::function_ref<mlir::Value(LoopEmitter &, mlir::Value, mlir::Value)> precedes);

/// Calls `body` with the indices of every row of units [begin, end): units count
/// through `sizes` without the dimension `axis` (-1: all of them).
void emitRowUnits(LoopKernel &kernel, llvm::ArrayRef<SymExpr> sizes, int64_t axis,
                  llvm::function_ref<void(LoopEmitter &, llvm::ArrayRef<mlir::Value>)> body);

/// A launch of `units`, each of which takes about so long.
LaunchShape launchOf(const SymExpr &units, double nanoseconds);

/// Checks that the results of the kernel's root, and nothing else, leave the kernel.
mlir::LogicalResult expectAlone(LoopKernel &kernel);

/// A value of the schedule that a kernel reads from memory.
const Access &memoryOf(LoopKernel &kernel, mlir::Value value);

} // namespace lumen::loops

#endif // LUMEN_CODEGEN_LOOPS_LOOPEMITTER_H
