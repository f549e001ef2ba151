//===- NarrowTypes.cpp - elements that take a byte at most ----------------===//

#include "passes/onnx-to-lumen/NarrowTypes.h"

#include "passes/onnx-to-lumen/Passes.h"

#include <cmath>

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

namespace lumen {
#define GEN_PASS_DEF_STORENARROWTYPES
#include "passes/onnx-to-lumen/Passes.h.inc"
} // namespace lumen

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type lumen::storedTypeOf(Type type) {
  MLIRContext *context = type.getContext();
  if (auto real = dyn_cast<FloatType>(type))
    return real.getWidth() <= 8 ? IntegerType::get(context, 8, IntegerType::Unsigned) : Type();
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() < 2 || integer.getWidth() >= 8)
    return {};
  return IntegerType::get(context, 8, integer.getSignedness());
}

static bool isNarrowFloat(Type type) { return isa<FloatType>(type) && storedTypeOf(type); }

/// The type with bytes in the place of narrow elements.
static Type storedTensorOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type stored = tensor ? storedTypeOf(tensor.getElementType()) : Type();
  return stored ? tensor.clone(stored) : type;
}

//===----------------------------------------------------------------------===//
// Codes of floats
//===----------------------------------------------------------------------===//

namespace {

/// How a float type numbers its values: those of positive sign in ascending order, and
/// behind the greatest of them infinity or NaN. The first one is 0, or the least power of
/// two if the type has neither sign nor zero.
class FloatCodes {
public:
  explicit FloatCodes(FloatType type)
      : semantics(type.getFloatSemantics()), width(type.getWidth()) {
    while (greatest + 1 < half() && valueOf(greatest + 1).isFinite())
      ++greatest;
  }

  bool hasSign() const { return APFloat::semanticsHasSignedRepr(semantics); }
  int64_t count() const { return int64_t(1) << width; }
  /// The number of codes without the sign's bit.
  int64_t half() const { return hasSign() ? count() / 2 : count(); }
  int64_t getGreatest() const { return greatest; }
  APFloat valueOf(int64_t code) const { return APFloat(semantics, APInt(width, code)); }
  double numberOf(int64_t code) const {
    // LLVM makes infinity of the NaN of f8E8M0, which has no bits of a fraction.
    APFloat value = valueOf(code);
    return value.isNaN() ? NAN : value.convertToDouble();
  }

  /// The least f32 that is rounded to `code` or beyond; ties go to even codes, but up among
  /// powers of two. One behind the greatest code it is where the range ends.
  float leastOf(int64_t code) const {
    double below = numberOf(code - 1);
    if (!hasSign())
      return float(1.5 * below);
    double step = code > greatest ? below - numberOf(code - 2) : numberOf(code) - below;
    float middle = float(below + step / 2);
    return code % 2 ? std::nextafter(middle, HUGE_VALF) : middle;
  }

  bool hasNan() const { return APFloat::semanticsHasNaN(semantics); }
  /// Whether the code of negative zero is that of NaN.
  bool hasNanAtZero() const { return hasSign() && valueOf(half()).isNaN(); }
  int64_t codeOfNan() const { return APFloat::getNaN(semantics).bitcastToAPInt().getZExtValue(); }
  /// What positive numbers beyond the greatest become.
  int64_t codeBeyond() const {
    if (hasNanAtZero())
      return half();
    return hasNan() ? greatest + 1 : greatest;
  }

private:
  const llvm::fltSemantics &semantics;
  unsigned width;
  int64_t greatest = 0;
};

} // namespace

/// The entries of a table at each of the indices, i64.
static Value lookUp(Emitter &emit, ArrayRef<float> table, Value indices) {
  auto type = RankedTensorType::get(static_cast<int64_t>(table.size()), emit.builder.getF32Type());
  Value entries = emit.constant(DenseElementsAttr::get(type, table));
  return emit.create<PickOp>(Emitter::typeOf(indices).clone(type.getElementType()), entries,
                             ValueRange(indices), ArrayRef<int64_t>(-1));
}

/// The numbers, f32, that codes stand for.
static Value decode(Emitter &emit, Value codes, FloatType type) {
  FloatCodes all(type);
  SmallVector<float> table;
  for (int64_t code = 0; code < all.count(); ++code)
    table.push_back(float(all.numberOf(code)));
  return lookUp(emit, table, emit.convert(codes, emit.builder.getI64Type()));
}

/// The codes of the nearest values for numbers in f32.
static Value encode(Emitter &emit, Value x, FloatType type) {
  FloatCodes codes(type);
  SmallVector<float> bounds = {0};
  // Nothing is as great as NaN, so the search ends at the greatest code.
  for (int64_t code = 1; code < codes.half(); ++code)
    bounds.push_back(code <= codes.getGreatest() ? codes.leastOf(code) : NAN);
  Value magnitude = emit.unary(UK::Abs, x);
  Value code = emit.splat(Emitter::typeOf(x).clone(emit.builder.getI64Type()), 0);
  for (int64_t step = codes.half() / 2; step > 0; step /= 2) {
    Value next = emit.binary(BK::Add, code, double(step));
    Value reaches = emit.compare(CK::Ge, magnitude, lookUp(emit, bounds, next));
    code = emit.select(reaches, next, code);
  }

  Value isBeyond = emit.compare(CK::Ge, magnitude, codes.leastOf(codes.getGreatest() + 1));
  Value isNegative = emit.binary(BK::Or, emit.compare(CK::Lt, x, 0.0),
                                 emit.compare(CK::Lt, emit.unary(UK::Reciprocal, x), 0.0));
  auto special = [&](Value condition, int64_t value) {
    code = emit.select(condition, emit.splatLike(code, double(value)), code);
  };
  auto addSign = [&](Value condition) {
    code = emit.select(condition, emit.binary(BK::Add, code, double(codes.half())), code);
  };
  if (codes.hasNanAtZero()) {
    addSign(emit.binary(BK::And, isNegative, emit.compare(CK::Gt, code, 0.0)));
    special(isBeyond, codes.codeBeyond());
  } else {
    special(isBeyond, codes.codeBeyond());
    if (codes.hasSign())
      addSign(isNegative);
  }
  if (codes.hasNan())
    special(emit.unary(UK::IsNan, x), codes.codeOfNan());
  return emit.convert(code, storedTypeOf(type));
}

/// Numbers that are rounded to the nearest power of two, ties up, where those of `x`, f32,
/// are to be rounded to one in the direction.
static Value beforeRounding(Emitter &emit, Value x, Rounding direction) {
  // Three quarters of a power of two lie half-way below it.
  if (direction == Rounding::Down)
    return emit.binary(BK::Mul, x, 0.75);
  // What is a power of two itself must stay below the half.
  if (direction == Rounding::Up)
    return emit.binary(BK::Mul, emit.binary(BK::Mul, x, 1 - 0x1p-24), 1.5);
  return x;
}

Value lumen::convertToNarrow(Emitter &emit, Value x, FloatType type, bool saturates,
                             Rounding direction) {
  FloatCodes codes(type);
  x = emit.convert(x, emit.builder.getF32Type());
  // Nothing is below the least power of two either.
  if (!codes.hasSign() && !saturates) {
    Value isBelow = emit.compare(CK::Lt, x, codes.numberOf(0));
    x = emit.select(isBelow, emit.splatLike(x, NAN), x);
  }
  // A type without NaN has zero in its place.
  if (!codes.hasNan())
    x = emit.select(emit.unary(UK::IsNan, x), emit.splatLike(x, 0), x);
  if (saturates || !codes.hasNan()) {
    double greatest = codes.numberOf(codes.getGreatest());
    x = emit.binary(BK::Min, emit.binary(BK::Max, x, -greatest), greatest);
  }
  if (!codes.hasSign())
    x = beforeRounding(emit, x, direction);
  return emit.convert(x, type);
}

//===----------------------------------------------------------------------===//
// Codes of integers
//===----------------------------------------------------------------------===//

/// Numbers as integers of few bits in bytes: floats saturate and integers wrap, as they do
/// for wider ones.
static Value toNarrowInteger(Emitter &emit, Value x, IntegerType type) {
  int64_t count = int64_t(1) << type.getWidth(), half = type.isUnsigned() ? 0 : count / 2;
  Type stored = storedTypeOf(type);
  if (isa<FloatType>(Emitter::typeOf(x).getElementType())) {
    x = emit.binary(BK::Min, emit.binary(BK::Max, x, double(-half)), double(count - half - 1));
    return emit.convert(x, stored);
  }
  x = emit.binary(BK::And, emit.convert(x, stored), double(count - 1));
  return half ? emit.binary(BK::Sub, emit.binary(BK::Xor, x, double(half)), double(half)) : x;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Whether an operation takes elements for what has a place and no meaning.
static bool onlyMoves(Operation *op) {
  if (isa<ConstantOp, BroadcastOp, SelectOp, ConvertOp, IfOp, LoopOp, YieldOp, func::ReturnOp>(op))
    return true;
  if (auto call = dyn_cast<CallOp>(op))
    return call.getCallee() == "bit_cast";
  auto lumenOp = dyn_cast<LumenOpInterface>(op);
  return lumenOp && lumenOp.getFamily() == Family::Movement;
}

/// The narrow element type that a type has somewhere, or null.
static Type findNarrow(Type type) {
  Type found;
  type.walk([&](Type inner) {
    if (storedTypeOf(inner))
      found = inner;
  });
  return found;
}

/// The bytes of a constant. In dense elements each has a byte, in a blob they are packed.
static Value storeConstant(OpBuilder &builder, ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  unsigned width = element.getIntOrFloatBitWidth();
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  ArrayRef<char> bytes;
  if (dense)
    bytes = dense.getRawData();
  else
    bytes = op->getContext()->getLoadedDialect<LumenDialect>()->getBlobs().bytes(
        cast<lumen::BlobAttr>(op.getValue()));
  bool isSplat = dense && dense.isSplat(), isPacked = !dense;
  auto codeAt = [&](uint64_t i) -> unsigned {
    if (!isPacked)
      return static_cast<uint8_t>(bytes[isSplat ? 0 : i]);
    uint64_t bit = i * width, at = bit / 8;
    unsigned window = static_cast<uint8_t>(bytes[at]);
    if (at + 1 < bytes.size())
      window |= unsigned(static_cast<uint8_t>(bytes[at + 1])) << 8;
    return window >> (bit % 8);
  };
  return makeConstant(builder, op.getLoc(), cast<RankedTensorType>(storedTensorOf(type)),
                      [&](MutableArrayRef<char> result) {
                        for (auto [i, byte] : llvm::enumerate(result)) {
                          uint64_t code = codeAt(i) & llvm::maskTrailingOnes<unsigned>(width);
                          byte =
                              element.isSignlessInteger() ? llvm::SignExtend64(code, width) : code;
                        }
                      });
}

/// A conversion from or to a narrow type, whose operand is stored already.
static Value expandConversion(Emitter &emit, Value x, Type from, Type to) {
  if (isNarrowFloat(from))
    x = decode(emit, x, cast<FloatType>(from));
  if (isNarrowFloat(to))
    return encode(emit, emit.convert(x, emit.builder.getF32Type()), cast<FloatType>(to));
  if (storedTypeOf(to))
    return toNarrowInteger(emit, x, cast<IntegerType>(to));
  return emit.convert(x, to);
}

namespace {

struct StoreNarrowTypes : lumen::impl::StoreNarrowTypesBase<StoreNarrowTypes> {
  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function || function.isExternal())
      return;
    if (failed(check(function)))
      return signalPassFailure();
    describeInterface(function);
    convert(function);
  }

private:
  LogicalResult check(func::FuncOp function) {
    WalkResult result = function.getBody().walk([&](Operation *op) -> WalkResult {
      for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
        if (Type narrow = findNarrow(type); narrow && (!onlyMoves(op) || isObject(type)))
          return op->emitError() << "elements of type " << narrow
                                 << " are moved and converted only, and only in tensors";
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// Notes which inputs and outputs have codes of floats for elements. What is of less than a
  /// byte in the interface's own types, which pack it, passes as the bytes that it is.
  void describeInterface(func::FuncOp function) {
    auto note = [&](Type type, auto set) {
      Type element = getElementTypeOrSelf(type);
      if (isNarrowFloat(element) && element.getIntOrFloatBitWidth() == 8)
        set(TypeAttr::get(element));
    };
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      note(type, [&, i = i](Attribute attr) { function.setArgAttr(i, "lumen.dtype", attr); });
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      note(type, [&, i = i](Attribute attr) { function.setResultAttr(i, "lumen.dtype", attr); });
  }

  void convert(func::FuncOp function) {
    struct Conversion {
      ConvertOp op;
      Type from, to;
    };
    SmallVector<Conversion> conversions;
    SmallVector<ConstantOp> constants;
    function.getBody().walk([&](Operation *op) {
      auto isNarrow = [](Type type) { return storedTensorOf(type) != type; };
      if (auto constant = dyn_cast<ConstantOp>(op); constant && isNarrow(constant.getType()))
        constants.push_back(constant);
      if (auto conversion = dyn_cast<ConvertOp>(op);
          conversion &&
          (isNarrow(conversion.getType()) || isNarrow(conversion.getOperand().getType())))
        conversions.push_back({conversion, getElementTypeOrSelf(conversion.getOperand()),
                               getElementTypeOrSelf(conversion.getType())});
    });
    for (ConstantOp constant : constants) {
      OpBuilder builder(constant);
      constant.replaceAllUsesWith(storeConstant(builder, constant));
      constant.erase();
    }
    auto store = [](Value value) { value.setType(storedTensorOf(value.getType())); };
    function.walk([&](Operation *op) {
      llvm::for_each(op->getResults(), store);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::for_each(block.getArguments(), store);
    });
    for (auto [op, from, to] : conversions) {
      OpBuilder builder(op);
      SizeFacts facts;
      Emitter emit(builder, op.getLoc(), facts);
      op.replaceAllUsesWith(expandConversion(emit, op.getOperand(), from, to));
      op.erase();
    }
    Operation *end = function.getBody().front().getTerminator();
    function.setType(FunctionType::get(function.getContext(),
                                       function.getBody().front().getArgumentTypes(),
                                       end->getOperandTypes()));
  }
};

} // namespace
