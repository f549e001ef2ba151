//===- LoopEmitter.cpp - scalar code with loops, written briefly ----------===//

#include "codegen/loops/LoopEmitter.h"
#include "codegen/loops/Nest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

Value LoopEmitter::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value LoopEmitter::size(const SymExpr &expr) {
  return kernel.value(builder, expr);
}

Value LoopEmitter::toIndex(Value integer, bool isUnsigned) {
  if (isUnsigned)
    return make<arith::IndexCastUIOp>(builder.getIndexType(), integer);
  return make<arith::IndexCastOp>(builder.getIndexType(), integer);
}

Value LoopEmitter::toI64(Value index) {
  return make<arith::IndexCastOp>(builder.getI64Type(), index);
}

Value LoopEmitter::boolean(bool value) {
  return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Values LoopEmitter::loop(Value low, Value high, ValueRange inits,
                         llvm::function_ref<Values(LoopEmitter &, Value, ValueRange)> body) {
  auto op = scf::ForOp::create(builder, loc, low, high, constant(1), inits);
  // Without carried values the loop has its terminator already.
  LoopEmitter inner(kernel, inits.empty() ? OpBuilder(op.getBody()->getTerminator())
                                          : OpBuilder::atBlockEnd(op.getBody()));
  Values next = body(inner, op.getInductionVar(), op.getRegionIterArgs());
  if (!inits.empty())
    scf::YieldOp::create(inner.builder, loc, next);
  return llvm::to_vector_of<Value>(op.getResults());
}

void LoopEmitter::loop(Value low, Value high, llvm::function_ref<void(LoopEmitter &, Value)> body) {
  loop(low, high, {}, [&](LoopEmitter &inner, Value i, ValueRange) {
    body(inner, i);
    return Values();
  });
}

Values LoopEmitter::repeat(ValueRange inits,
                           llvm::function_ref<Values(LoopEmitter &, ValueRange)> body) {
  auto op = scf::WhileOp::create(
      builder, loc, inits.getTypes(), inits,
      [&](OpBuilder &b, Location, ValueRange carried) {
        LoopEmitter inner(kernel, b);
        Values next = body(inner, carried);
        scf::ConditionOp::create(inner.builder, loc, next.front(), ValueRange(next).drop_front());
      },
      [&](OpBuilder &b, Location, ValueRange carried) { scf::YieldOp::create(b, loc, carried); });
  return llvm::to_vector_of<Value>(op.getResults());
}

Values LoopEmitter::repeatWhile(ValueRange inits,
                                llvm::function_ref<Value(LoopEmitter &, ValueRange)> goesOn,
                                llvm::function_ref<Values(LoopEmitter &, ValueRange)> body) {
  auto op = scf::WhileOp::create(
      builder, loc, inits.getTypes(), inits,
      [&](OpBuilder &b, Location, ValueRange carried) {
        LoopEmitter inner(kernel, b);
        Value condition = goesOn(inner, carried);
        scf::ConditionOp::create(inner.builder, loc, condition, carried);
      },
      [&](OpBuilder &b, Location, ValueRange carried) {
        LoopEmitter inner(kernel, b);
        Values next = body(inner, carried);
        scf::YieldOp::create(inner.builder, loc, next);
      });
  return llvm::to_vector_of<Value>(op.getResults());
}

void LoopEmitter::branch(Value condition, llvm::function_ref<void(LoopEmitter &)> body,
                         llvm::function_ref<void(LoopEmitter &)> otherwise) {
  auto op = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/bool(otherwise));
  LoopEmitter inner(kernel, OpBuilder(op.thenBlock()->getTerminator()));
  body(inner);
  if (!otherwise)
    return;
  LoopEmitter other(kernel, OpBuilder(op.elseBlock()->getTerminator()));
  otherwise(other);
}

Values LoopEmitter::branch(Value condition, TypeRange types,
                           llvm::function_ref<Values(LoopEmitter &)> then,
                           llvm::function_ref<Values(LoopEmitter &)> otherwise) {
  auto op = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
  auto fill = [&](Block *block, llvm::function_ref<Values(LoopEmitter &)> body) {
    LoopEmitter inner(kernel, OpBuilder::atBlockEnd(block));
    Values values = body(inner);
    scf::YieldOp::create(inner.builder, loc, values);
  };
  fill(op.thenBlock(), then);
  fill(op.elseBlock(), otherwise);
  return llvm::to_vector_of<Value>(op.getResults());
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static bool isShortFloat(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32; }

static Position at(ValueRange indices) {
  Position position;
  position.indices.assign(indices.begin(), indices.end());
  return position;
}

Value LoopEmitter::load(const Access &access, ValueRange indices) {
  Value value = kernel.expression.load(builder, loc, access, at(indices));
  return isShortFloat(value.getType()) ? emitExtend(builder, loc, value) : value;
}

void LoopEmitter::store(Value value, const Access &access, ValueRange indices) {
  Type element = access.type.getElementType();
  if (isShortFloat(element) && value.getType() != element)
    value = emitRound(builder, loc, value, element);
  kernel.expression.store(builder, loc, value, access, at(indices));
}

Value LoopEmitter::placeOf(Value index, bool isUnsigned, Value size, Value &isInside) {
  // Compared before it becomes an index, which may have fewer bits.
  bool isLong = index.getType().isInteger(64);
  Value given = isLong ? index : toIndex(index, isUnsigned);
  Value extent = isLong ? toI64(size) : size, zero = isLong ? toI64(constant(0)) : constant(0);
  Value place = select(less(given, zero), add(given, extent), given);
  // One unsigned comparison: what is negative is a large number.
  Value fits = make<arith::CmpIOp>(arith::CmpIPredicate::ult, place, extent);
  branch(negate(fits),
         [&](LoopEmitter &e) { kernel.expression.reportBadIndex(e.builder, loc, given, extent); });
  isInside = isInside ? both(isInside, fits) : fits;
  return isLong ? toIndex(place) : place;
}

void LoopEmitter::walk(ArrayRef<SymExpr> sizes, ArrayRef<Value> outer,
                       llvm::function_ref<void(LoopEmitter &, ArrayRef<Value>)> body) {
  if (outer.size() == sizes.size())
    return body(*this, outer);
  loop(constant(0), size(sizes[outer.size()]), [&](LoopEmitter &inner, Value i) {
    Values indices(outer);
    indices.push_back(i);
    inner.walk(sizes, indices, body);
  });
}

Values LoopEmitter::delinearize(Value linear, ArrayRef<SymExpr> sizes) {
  Values indices(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (isOne(sizes[i])) {
      indices[i] = constant(0);
      continue;
    }
    bool isOutermost = llvm::all_of(sizes.take_front(i), isOne);
    indices[i] = isOutermost ? linear : rem(linear, size(sizes[i]));
    if (!isOutermost)
      linear = div(linear, size(sizes[i]));
  }
  return indices;
}

Value LoopEmitter::isLarger(Value a, Value b, bool isUnsigned) {
  if (!isa<FloatType>(a.getType()))
    return make<arith::CmpIOp>(isUnsigned || a.getType().isInteger(1) ? arith::CmpIPredicate::ugt
                                                                      : arith::CmpIPredicate::sgt,
                               a, b);
  // Unordered or greater, unless b is NaN.
  Value notLess = make<arith::CmpFOp>(arith::CmpFPredicate::UGT, a, b);
  return both(notLess, make<arith::CmpFOp>(arith::CmpFPredicate::ORD, b, b));
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

void loops::emitSelection(LoopEmitter &emit, Value total, Value count,
                        llvm::function_ref<Value(LoopEmitter &, Value)> candidate,
                        llvm::function_ref<Value(LoopEmitter &, Value)> load,
                        llvm::function_ref<void(LoopEmitter &, Value, Value)> store,
                        llvm::function_ref<Value(LoopEmitter &, Value, Value)> precedes) {
  // The heap's root is the last of what is kept. A place that `value` may take
  // sinks below every child that comes behind it.
  auto sink = [&](LoopEmitter &e, Value value, Value place, Value end) {
    Values last = e.repeat({place}, [&](LoopEmitter &e, ValueRange carried) {
      Value at = carried[0];
      Value left = e.add(e.add(at, at), 1), right = e.add(left, 1);
      Values next = e.branch(
          e.less(left, end), {e.builder.getI1Type(), e.builder.getIndexType()},
          [&](LoopEmitter &e) {
            Value takesRight = e.branch(
                e.less(right, end), {e.builder.getI1Type()},
                [&](LoopEmitter &e) { return Values{precedes(e, load(e, left), load(e, right))}; },
                [&](LoopEmitter &e) { return Values{e.boolean(false)}; })[0];
            Value child = e.select(takesRight, right, left);
            Value below = load(e, child);
            Value sinks = precedes(e, value, below);
            e.branch(sinks, [&](LoopEmitter &e) { store(e, at, below); });
            return Values{sinks, e.select(sinks, child, at)};
          },
          [&](LoopEmitter &e) { return Values{e.boolean(false), at}; });
      return next;
    });
    store(e, last[0], value);
  };

  Value zero = emit.constant(0);
  emit.loop(zero, count, [&](LoopEmitter &e, Value i) { store(e, i, candidate(e, i)); });
  Value half = emit.div(count, emit.constant(2));
  emit.loop(zero, half, [&](LoopEmitter &e, Value i) {
    Value place = e.sub(e.sub(half, i), 1);
    sink(e, load(e, place), place, count);
  });
  Value isAny = emit.less(zero, count);
  emit.loop(count, emit.select(isAny, total, count), [&](LoopEmitter &e, Value i) {
    Value value = candidate(e, i);
    e.branch(precedes(e, value, load(e, zero)),
             [&](LoopEmitter &e) { sink(e, value, zero, count); });
  });
  emit.loop(zero, emit.max(emit.sub(count, 1), zero), [&](LoopEmitter &e, Value i) {
    Value end = e.sub(e.sub(count, 1), i);
    Value value = load(e, end);
    store(e, end, load(e, zero));
    sink(e, value, zero, end);
  });
}

void loops::emitRowUnits(LoopKernel &kernel, ArrayRef<SymExpr> sizes, int64_t axis,
                       llvm::function_ref<void(LoopEmitter &, ArrayRef<Value>)> body) {
  LoopEmitter emit(kernel);
  Sizes outer(sizes);
  if (axis >= 0)
    outer[axis] = 1;
  emit.loop(kernel.begin, kernel.end, [&](LoopEmitter &e, Value unit) {
    Values indices = e.delinearize(unit, outer);
    body(e, indices);
  });
}

LaunchShape loops::launchOf(const SymExpr &units, double nanoseconds) {
  return {units, grainFor(nanoseconds, typicalValue(units)), 0};
}

LogicalResult loops::expectAlone(LoopKernel &kernel) {
  dispatch::KernelOp op = kernel.op;
  Operation *yield = op.getBody().front().getTerminator();
  bool isAlone = llvm::equal(yield->getOperands(), kernel.root->getResults()) &&
                 llvm::all_of(kernel.root->getOperands(), [](Value operand) {
                   return isa<BlockArgument>(operand) || operand.getDefiningOp<ConstantOp>();
                 });
  if (isAlone)
    return success();
  return op.emitError("has operations fused with ")
         << kernel.root->getName() << ", which is a kernel of its own";
}

FailureOr<LaunchShape> loops::buildLoops(LoopKernel &kernel) {
  if (failed(expectAlone(kernel)))
    return failure();
  return llvm::TypeSwitch<Operation *, FailureOr<LaunchShape>>(kernel.root)
      .Case([&](AccumulateOp) { return buildAccumulate(kernel); })
      .Case([&](NmsOp) { return buildNms(kernel); })
      .Case([&](NonzeroOp) { return buildNonzero(kernel); })
      .Case([&](RecurrenceOp) { return buildRecurrence(kernel); })
      .Case([&](ScatterOp) { return buildScatter(kernel); })
      .Case([&](SortOp) { return buildSort(kernel); })
      .Case([&](TreesOp) { return buildTrees(kernel); })
      .Case([&](UniqueOp) { return buildUnique(kernel); });
}

const Access &loops::memoryOf(LoopKernel &kernel, Value value) {
  const Access *access = kernel.expression.findMemory(value);
  assert(access && "a value that is not an argument of the kernel");
  return *access;
}
