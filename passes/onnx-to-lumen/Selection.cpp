//===- Selection.cpp - operators whose data decide how much they give -----===//
//
// A kernel fills a tensor of the largest size and counts; the count becomes a symbol
// and the result the beginning of that tensor.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

using BK = BinaryKind;

static Type elementOf(Value value) { return Emitter::typeOf(value).getElementType(); }

namespace {

/// How much of its bound a result has.
class Count {
public:
  /// Binds a symbol to `count`, a scalar that is at most `bound`.
  Count(Node &node, Value count, const SymExpr &bound)
      : size(node.bind(count, bound)), emit(node.emit) {}

  /// That many entries of the first dimension.
  Value take(Value bounded) {
    Sizes sizes = sizesOf(bounded), offsets(sizes.size(), 0);
    sizes[0] = size;
    return emit.slice(bounded, offsets, sizes, SmallVector<int64_t>(sizes.size(), 1));
  }

  SymExpr size;

private:
  Emitter &emit;
};

} // namespace

/// The ascending places of what is true in a 1-D mask.
static std::pair<Value, Count> placesOf(Node &node, Value mask) {
  Emitter &emit = node.emit;
  SymExpr bound = sizeOf(mask, 0);
  auto op = NonzeroOp::create(emit.builder, node.getLoc(),
                              tensorTypeOf({bound}, emit.builder.getI64Type()),
                              tensorTypeOf({}, emit.builder.getI64Type()), mask);
  Count count(node, op.getCount(), bound);
  return {count.take(op.getIndices()), count};
}

static LogicalResult nonZero(Node &node) {
  Emitter &emit = node.emit;
  Value x = node.input(0);
  Sizes sizes = sizesOf(x);
  if (sizes.empty())
    sizes = {1};
  x = emit.reshape(x, {product(sizes)});
  if (!elementOf(x).isInteger(1))
    x = emit.convert(x, emit.builder.getI1Type());
  auto [places, count] = placesOf(node, x);
  Sizes strides = contiguousStrides(sizes);
  SmallVector<Value> coordinates;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Value coordinate = places;
    if (!isOne(strides[i]))
      coordinate = emit.binary(BK::Div, coordinate, strides[i]);
    if (i != 0)
      coordinate = emit.binary(BK::Rem, coordinate, sizes[i]);
    coordinates.push_back(emit.reshape(coordinate, {1, count.size}));
  }
  if (coordinates.size() == 1)
    return node.yield(coordinates[0]);
  auto type = tensorTypeOf({int64_t(sizes.size()), count.size}, emit.builder.getI64Type());
  return node.yield(emit.create<ConcatOp>(type, coordinates, 0));
}

static LogicalResult compress(Node &node) {
  Emitter &emit = node.emit;
  Value x = node.input(0), condition = node.input(1);
  Sizes sizes = sizesOf(x), length = sizesOf(condition);
  int64_t axis = 0;
  if (node.has("axis")) {
    FailureOr<int64_t> given = node.normalizeAxis(node.integer("axis", 0), sizes.size());
    if (failed(given))
      return failure();
    axis = *given;
  } else {
    sizes = {product(sizes)};
    x = emit.reshape(x, sizes);
  }
  if (length.size() != 1)
    return node.error() << "condition has shape " << shapeText(length)
                        << ", expected one dimension";
  // Places behind the data do not count.
  if (SymExpr used = SymExpr::min(length[0], sizes[axis]); used != length[0])
    condition = emit.slice(condition, {0}, {used}, {1});
  auto [places, count] = placesOf(node, condition);
  sizes[axis] = count.size;
  return node.yield(emit.create<GatherOp>(tensorTypeOf(sizes, elementOf(x)), x, places, axis));
}

static LogicalResult unique(Node &node) {
  Emitter &emit = node.emit;
  Value x = node.input(0);
  Sizes sizes = sizesOf(x);
  bool isSorted = node.integer("sorted", 1) != 0, hasAxis = node.has("axis");
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  if (hasAxis) {
    FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), sizes.size());
    if (failed(axis))
      return failure();
    std::rotate(perm.begin(), perm.begin() + *axis, perm.begin() + *axis + 1);
    x = emit.transpose(x, perm);
    sizes = sizesOf(x);
  } else {
    sizes = {product(sizes)};
    x = emit.reshape(x, sizes);
  }
  SymExpr rows = sizes[0];
  // Storage has no booleans: they are compared as bytes.
  Value compared = elementOf(x).isInteger(1)
                       ? emit.convert(x, emit.builder.getIntegerType(8, /*isSigned=*/false))
                       : x;
  compared = emit.reshape(compared, {rows, product(ArrayRef(sizes).drop_front())});
  Type i64 = emit.builder.getI64Type(), list = tensorTypeOf({rows}, i64);
  auto op = UniqueOp::create(emit.builder, node.getLoc(), list, list, list, list,
                             tensorTypeOf({}, i64), compared, isSorted);
  Count count(node, op.getCount(), rows);
  Value first = count.take(op.getFirst());
  sizes[0] = count.size;
  Value result = emit.create<GatherOp>(tensorTypeOf(sizes, elementOf(x)), x, first, 0);
  if (hasAxis) {
    SmallVector<int64_t> back(perm.size());
    for (auto [i, dim] : llvm::enumerate(perm))
      back[dim] = i;
    result = emit.transpose(result, back);
  }
  SmallVector<Value> outputs{result, first, op.getInverse(), count.take(op.getCounts())};
  outputs.resize(std::min<size_t>(outputs.size(), node.getNumOutputs()));
  return node.yield(outputs);
}

//===----------------------------------------------------------------------===//
// NonMaxSuppression
//===----------------------------------------------------------------------===//

/// (y1, x1, y2, x2) with the smaller ordinates first, of opposite corners in any order
/// or of (x, y, width, height) around a centre.
static Value orderedCorners(Emitter &emit, Value boxes, bool areCentred) {
  Sizes half = sizesOf(boxes);
  half[2] = 2;
  auto pair = [&](int64_t begin, int64_t stride) {
    return emit.slice(boxes, {0, 0, begin}, half, {1, 1, stride});
  };
  Value low, high;
  if (areCentred) {
    Value centre = pair(1, -1), reach = emit.binary(BK::Mul, pair(3, -1), 0.5);
    low = emit.binary(BK::Sub, centre, reach);
    high = emit.binary(BK::Add, centre, reach);
  } else {
    low = emit.binary(BK::Min, pair(0, 1), pair(2, 1));
    high = emit.binary(BK::Max, pair(0, 1), pair(2, 1));
  }
  return emit.create<ConcatOp>(boxes.getType(), ValueRange{low, high}, 2);
}

static LogicalResult nonMaxSuppression(Node &node) {
  Emitter &emit = node.emit;
  Sizes boxes = sizesOf(node.input(0)), scores = sizesOf(node.input(1));
  if (boxes.size() != 3 || boxes[2] != SymExpr(4))
    return node.error() << "boxes have shape " << shapeText(boxes)
                        << ", expected three dimensions, "
                        << "the last of 4";
  if (scores.size() != 3 || !node.ensureEqual(scores[0], boxes[0], "the batch of scores") ||
      !node.ensureEqual(scores[2], boxes[1], "the number of boxes of scores"))
    return node.error() << "scores have shape " << shapeText(scores) << ", expected "
                        << shapeText({boxes[0], SymExpr::symbol("classes"), boxes[1]});
  for (unsigned i = 2; i < 5; ++i)
    if (node.input(i) && product(sizesOf(node.input(i))) != SymExpr(1))
      return node.error() << "a limit has shape " << shapeText(sizesOf(node.input(i)))
                          << ", expected one element";
  auto scalar = [&](unsigned index, double absent, Type type) {
    return node.input(index) ? emit.convert(emit.reshape(node.input(index), {}), type)
                             : emit.scalar(absent, type);
  };
  Type i64 = emit.builder.getI64Type(), f32 = emit.builder.getF32Type();
  Value most = scalar(2, 0, i64), iou = scalar(3, 0, f32);
  Value threshold = scalar(4, -std::numeric_limits<double>::infinity(), f32);
  SymExpr perClass = boxes[1];
  if (std::optional<ConstantData> known = ConstantData::get(most))
    perClass = SymExpr::min(perClass, std::max<int64_t>((*known)[0].integer, 0));
  SymExpr bound = scores[0] * scores[1] * perClass;
  Value corners = orderedCorners(emit, node.input(0), node.integer("center_point_box", 0) != 0);
  auto op = NmsOp::create(emit.builder, node.getLoc(), tensorTypeOf({bound, 3}, i64),
                          tensorTypeOf({boxes[1]}, i64), tensorTypeOf({}, i64), corners,
                          emit.cast(node.input(1), {boxes[0], scores[1], boxes[1]}), most, iou,
                          threshold);
  Count count(node, op.getCount(), bound);
  return node.yield(count.take(op.getSelected()));
}

static const OperatorRow rows[] = {
    OperatorRow{"Compress", 2, 2, compress}.moving(),
    {"NonMaxSuppression", 2, 5, nonMaxSuppression},
    {"NonZero", 1, 1, nonZero},
    {"Unique", 1, 1, unique, "not of strings"},
};

ArrayRef<OperatorRow> lumen::selectionRows() { return rows; }
