//===- SizeValues.cpp - the numbers behind size expressions ---------------===//

#include "codegen/common/SizeValues.h"

#include <set>

using namespace mlir;
using namespace lumen;

namespace {

/// Emits an expression operation by operation.
class ValueSink : public SymSink {
public:
  ValueSink(OpBuilder &builder, Location loc, llvm::function_ref<Value(StringRef)> symbolValue)
      : builder(builder), loc(loc), symbolValue(symbolValue) {}

  unsigned constant(int64_t value) override { return add(index(value)); }
  unsigned symbol(StringRef name) override { return add(symbolValue(name)); }
  unsigned apply(SymOp op, unsigned a, unsigned b) override {
    return add(emit(op, values[a], values[b]));
  }
  Value get(unsigned number) const { return values[number]; }

private:
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  unsigned add(Value value) {
    values.push_back(value);
    return values.size() - 1;
  }
  Value emit(SymOp op, Value a, Value b);

  OpBuilder &builder;
  Location loc;
  llvm::function_ref<Value(StringRef)> symbolValue;
  SmallVector<Value> values;
};

} // namespace

Value ValueSink::emit(SymOp op, Value a, Value b) {
  switch (op) {
  case SymOp::Add:
    return make<arith::AddIOp>(a, b);
  case SymOp::Sub:
    return make<arith::SubIOp>(a, b);
  case SymOp::Mul:
    return make<arith::MulIOp>(a, b);
  case SymOp::Min:
    return make<arith::MinSIOp>(a, b);
  case SymOp::Max:
    return make<arith::MaxSIOp>(a, b);
  case SymOp::Broadcast:
    return make<arith::SelectOp>(make<arith::CmpIOp>(arith::CmpIPredicate::eq, a, index(1)), b, a);
  case SymOp::FloorDiv:
    break;
  }
  if (std::optional<int64_t> divisor = getConstantIntValue(b);
      divisor && *divisor > 0 && llvm::isPowerOf2_64(*divisor))
    return make<arith::ShRSIOp>(a, index(llvm::Log2_64(*divisor)));
  // The quotient towards zero is one too large where the remainder has another sign
  // than the divisor. Nothing reads a quotient by zero, but it must not trap.
  Value zero = index(0);
  if (!getConstantIntValue(b))
    b = make<arith::SelectOp>(make<arith::CmpIOp>(arith::CmpIPredicate::eq, b, zero), index(1), b);
  Value quotient = make<arith::DivSIOp>(a, b), rest = make<arith::RemSIOp>(a, b);
  Value isNegative =
      make<arith::CmpIOp>(arith::CmpIPredicate::slt, make<arith::XOrIOp>(rest, b), zero);
  Value isInexact = make<arith::CmpIOp>(arith::CmpIPredicate::ne, rest, zero);
  return make<arith::SelectOp>(make<arith::AndIOp>(isNegative, isInexact),
                               make<arith::SubIOp>(quotient, index(1)), quotient);
}

Value SizeValues::get(OpBuilder &builder, Location loc, const SymExpr &size) {
  if (std::optional<int64_t> constant = size.asConstant())
    return arith::ConstantIndexOp::create(builder, loc, *constant);
  std::string text = size.str();
  if (Value value = known.lookup(text))
    return value;
  OpBuilder atEntry(builder.getContext());
  if (last)
    atEntry.setInsertionPointAfter(last);
  else
    atEntry.setInsertionPointToStart(&entry);
  auto symbolValue = [&](StringRef name) {
    Value &value = known[SymExpr::symbol(name).str()];
    if (!value)
      value = symbol(atEntry, loc, name);
    return value;
  };
  ValueSink sink(atEntry, loc, symbolValue);
  Value value = sink.get(size.lower(sink));
  if (atEntry.getInsertionPoint() != entry.begin())
    last = &*std::prev(atEntry.getInsertionPoint());
  return known[text] = value;
}

int64_t lumen::typicalValue(const SymExpr &size) {
  if (std::optional<int64_t> constant = size.asConstant())
    return *constant;
  std::set<std::string> names;
  size.collectSymbols(names);
  llvm::StringMap<int64_t> values;
  for (const std::string &name : names)
    values[name] = 64;
  return std::max<int64_t>(size.evaluate(values).value_or(64), 1);
}
