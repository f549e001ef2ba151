//===- Indexing.cpp - operators that gather, scatter and order by index ---===//

#include "passes/onnx-to-lumen/Axes.h"

using namespace mlir;
using namespace lumen;

static Type elementOf(Value value) { return Emitter::typeOf(value).getElementType(); }

static LogicalResult expectIndices(Node &node, unsigned index) {
  Type type = elementOf(node.input(index));
  if (type.isInteger(32) || type.isInteger(64))
    return success();
  return node.error() << "indices have element type " << type << ", expected i32 or i64";
}

/// Checks that `part` steps along a dimension of `size` stay inside.
static LogicalResult expectAtMost(Node &node, const SymExpr &part, const SymExpr &size,
                                  StringRef what) {
  SymExpr room = size - part;
  if (room.isNonNegative())
    return success();
  if (std::optional<int64_t> known = room.asConstant())
    return node.error() << what << " is " << part.str() << ", expected at most " << size.str();
  node.emit.check(CheckKind::LessEqual, part, size, (what + " is {0}, expected at most {1}").str());
  return success();
}

/// The beginning of `data` along the dimensions that indices of the sizes `steps`
/// walk along; all but `axis`.
static FailureOr<Value> cropTo(Node &node, Value data, ArrayRef<SymExpr> steps, int64_t axis) {
  Sizes sizes = sizesOf(data);
  Sizes cropped(steps), offsets(sizes.size(), 0);
  cropped[axis] = sizes[axis];
  for (auto [size, part] : llvm::zip(sizes, cropped))
    if (failed(expectAtMost(node, part, size, "the size of the indices")))
      return failure();
  if (cropped == sizes)
    return data;
  return node.emit.slice(data, offsets, cropped, SmallVector<int64_t>(sizes.size(), 1));
}

/// [0, 1, ..] with -1 at `axis`.
static SmallVector<int64_t> walkAllBut(int64_t rank, int64_t axis) {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  dims[axis] = -1;
  return dims;
}

static LogicalResult gatherElements(Node &node) {
  Value data = node.input(0), indices = node.input(1);
  int64_t rank = node.inputType(0).getRank();
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), rank);
  if (failed(axis) || failed(expectIndices(node, 1)))
    return failure();
  if (node.inputType(1).getRank() != rank)
    return node.error() << "indices have shape " << shapeText(sizesOf(indices)) << ", expected "
                        << rank << " dimensions";
  Sizes steps = sizesOf(indices);
  FailureOr<Value> cropped = cropTo(node, data, steps, *axis);
  if (failed(cropped))
    return failure();
  return node.yield(node.emit.create<PickOp>(tensorTypeOf(steps, elementOf(data)), *cropped,
                                             indices, walkAllBut(rank, *axis)));
}

/// The components of index tuples, which lie along the last dimension.
static SmallVector<Value> splitTuples(Emitter &emit, Value tuples) {
  Sizes sizes = sizesOf(tuples), outer(sizes);
  outer.pop_back();
  SmallVector<Value> components;
  for (int64_t i = 0, e = *sizes.back().asConstant(); i < e; ++i) {
    Sizes offsets(sizes.size(), 0), part(sizes);
    offsets.back() = i;
    part.back() = 1;
    Value component = emit.slice(tuples, offsets, part, SmallVector<int64_t>(sizes.size(), 1));
    components.push_back(emit.reshape(component, outer));
  }
  return components;
}

/// The length of the tuples in input `index`, which must be known and fit `room`
/// dimensions.
static FailureOr<int64_t> tupleLength(Node &node, unsigned index, int64_t room) {
  Sizes sizes = sizesOf(node.input(index));
  if (sizes.empty())
    return node.error() << "indices are a scalar, expected at least one dimension";
  std::optional<int64_t> length = sizes.back().asConstant();
  if (!length)
    return node.error() << "indices have shape " << shapeText(sizes)
                        << ", expected a known last dimension";
  if (*length < 1 || *length > room)
    return node.error() << "indices name " << *length << " dimensions, expected 1 to " << room;
  return *length;
}

static LogicalResult gatherND(Node &node) {
  Sizes data = sizesOf(node.input(0)), indices = sizesOf(node.input(1));
  int64_t rank = data.size(), outer = int64_t(indices.size()) - 1;
  int64_t batch = node.integer("batch_dims", 0);
  if (failed(expectIndices(node, 1)))
    return failure();
  if (batch < 0 || batch >= std::min<int64_t>(rank, indices.size()))
    return node.error() << "attribute 'batch_dims' is " << batch << ", expected less than "
                        << std::min<int64_t>(rank, indices.size());
  FailureOr<int64_t> length = tupleLength(node, 1, rank - batch);
  if (failed(length))
    return failure();
  for (int64_t i = 0; i < batch; ++i)
    if (!node.ensureEqual(indices[i], data[i],
                          ("batch dimension " + Twine(i) + " of the indices").str()))
      return node.error() << "batch dimension " << i << " is " << data[i].str()
                          << " in the data and " << indices[i].str() << " in the indices";
  Sizes result(ArrayRef(indices).drop_back());
  llvm::append_range(result, ArrayRef(data).drop_front(batch + *length));
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(i < batch ? i : i < batch + *length ? -1 : outer + i - batch - *length);
  return node.yield(node.emit.create<PickOp>(tensorTypeOf(result, elementOf(node.input(0))),
                                             node.input(0), splitTuples(node.emit, node.input(1)),
                                             dims));
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

static FailureOr<ScatterKind> readReduction(Node &node) {
  StringRef name = node.string("reduction", "none");
  std::optional<ScatterKind> kind = llvm::StringSwitch<std::optional<ScatterKind>>(name)
                                        .Case("none", ScatterKind::Set)
                                        .Case("add", ScatterKind::Add)
                                        .Case("mul", ScatterKind::Mul)
                                        .Case("max", ScatterKind::Max)
                                        .Case("min", ScatterKind::Min)
                                        .Default(std::nullopt);
  if (!kind)
    return node.error() << "attribute 'reduction' is '" << name
                        << "', expected none, add, mul, max or min";
  return *kind;
}

/// `shape` is that of the updates, which was checked.
static LogicalResult yieldScatter(Node &node, ScatterKind kind, ValueRange indices,
                                  ArrayRef<int64_t> dims, ArrayRef<SymExpr> shape) {
  Emitter &emit = node.emit;
  Value data = node.input(0), updates = emit.cast(node.input(2), shape);
  Type element = elementOf(data);
  // Booleans are combined as bytes: storage has no other form.
  bool isBoolean = element.isInteger(1) && kind != ScatterKind::Set;
  Type stored = isBoolean ? emit.builder.getIntegerType(8, /*isSigned=*/false) : element;
  if (isBoolean) {
    data = emit.convert(data, stored);
    updates = emit.convert(updates, stored);
  }
  Value result = emit.create<ScatterOp>(data.getType(), kind, data, updates, indices, dims);
  return node.yield(isBoolean ? emit.convert(result, element) : result);
}

static LogicalResult expectUpdates(Node &node, ArrayRef<SymExpr> shape) {
  if (failed(node.expectSameElementType(0, 2)))
    return failure();
  if (node.ensureEqual(sizesOf(node.input(2)), shape, "the updates"))
    return success();
  return node.error() << "updates have shape " << shapeText(sizesOf(node.input(2))) << ", expected "
                      << shapeText(shape);
}

static LogicalResult scatterElements(Node &node) {
  int64_t rank = node.inputType(0).getRank();
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), rank);
  FailureOr<ScatterKind> kind = readReduction(node);
  if (failed(axis) || failed(kind) || failed(expectIndices(node, 1)))
    return failure();
  Sizes data = sizesOf(node.input(0)), steps = sizesOf(node.input(1));
  if (steps.size() != data.size())
    return node.error() << "indices have shape " << shapeText(steps) << ", expected " << rank
                        << " dimensions";
  if (failed(expectUpdates(node, steps)))
    return failure();
  for (int64_t i = 0; i < rank; ++i)
    if (i != *axis && failed(expectAtMost(node, steps[i], data[i], "the size of the indices")))
      return failure();
  return yieldScatter(node, *kind, node.input(1), walkAllBut(rank, *axis), steps);
}

static LogicalResult scatterND(Node &node) {
  Sizes data = sizesOf(node.input(0)), indices = sizesOf(node.input(1));
  FailureOr<int64_t> length = tupleLength(node, 1, data.size());
  FailureOr<ScatterKind> kind = readReduction(node);
  if (failed(length) || failed(kind) || failed(expectIndices(node, 1)))
    return failure();
  Sizes shape(ArrayRef(indices).drop_back());
  llvm::append_range(shape, ArrayRef(data).drop_front(*length));
  if (failed(expectUpdates(node, shape)))
    return failure();
  SmallVector<int64_t> dims(*length, -1);
  for (int64_t i = *length; i < int64_t(data.size()); ++i)
    dims.push_back(int64_t(indices.size()) - 1 + i - *length);
  return yieldScatter(node, *kind, splitTuples(node.emit, node.input(1)), dims, shape);
}

/// Writes input 1 into input 0 along one dimension, each row of the batch at a place of
/// its own.
static LogicalResult tensorScatter(Node &node) {
  StringRef mode = node.string("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return node.error() << "attribute 'mode' is '" << mode << "', expected linear or circular";
  Sizes cache = sizesOf(node.input(0)), update = sizesOf(node.input(1));
  int64_t rank = cache.size(), given = node.integer("axis", -2);
  FailureOr<int64_t> axis = node.normalizeAxis(given, rank);
  if (failed(axis) || failed(node.expectSameElementType(0, 1)))
    return failure();
  if (*axis == 0)
    return node.error() << "axis " << given << " is the batch, expected another dimension";
  Sizes expected(cache);
  expected[*axis] = update.size() > size_t(*axis) ? update[*axis] : SymExpr(0);
  if (!node.ensureEqual(update, expected, "the update"))
    return node.error() << "update has shape " << shapeText(update) << ", expected "
                        << shapeText(cache) << " but for dimension " << *axis;
  if (failed(expectAtMost(node, expected[*axis], cache[*axis], "the size of the update")))
    return failure();
  Emitter &emit = node.emit;
  Sizes places{cache[0], expected[*axis]};
  Type i64 = emit.builder.getI64Type();
  Value index = emit.iota(emit.typed(places, i64), 1);
  if (Value begin = node.input(2)) {
    if (failed(expectIndices(node, 2)))
      return failure();
    if (!node.ensureEqual(sizesOf(begin), cache[0], "write_indices"))
      return node.error() << "write_indices have shape " << shapeText(sizesOf(begin))
                          << ", expected " << cache[0].str();
    begin = emit.convert(emit.cast(begin, cache[0]), i64);
    index = emit.binary(BinaryKind::Add, index, emit.broadcastAlong(begin, places, 0));
  }
  if (mode == "circular")
    index = emit.binary(BinaryKind::Mod, index, cache[*axis]);
  // The dimensions that the index has come first in the updates.
  SmallVector<int64_t> perm{0, *axis}, dims(rank);
  for (int64_t i = 1; i < rank; ++i)
    if (i != *axis)
      perm.push_back(i);
  for (auto [place, dim] : llvm::enumerate(perm))
    dims[dim] = place;
  dims[*axis] = -1;
  // The batch is walked by the updates' first dimension.
  return node.yield(emit.create<ScatterOp>(node.input(0).getType(), ScatterKind::Set, node.input(0),
                                           emit.transpose(emit.cast(node.input(1), expected), perm),
                                           index, dims));
}

//===----------------------------------------------------------------------===//
// Orders and running sums
//===----------------------------------------------------------------------===//

/// k is an attribute before version 10.
static LogicalResult topK(Node &node) {
  Value x = node.input(0);
  Sizes sizes = sizesOf(x);
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", -1), sizes.size());
  if (failed(axis))
    return failure();
  bool isLargest = node.getOpset() < 11 || node.integer("largest", 1) != 0;
  node.ignore("sorted"); // the order is free then, and ours is one
  SymExpr k = node.getOpset() < 10 ? node.integer("k", -1) : 0;
  if (node.getOpset() >= 10) {
    FailureOr<Value> given = node.scalarOperand(1, "k");
    if (failed(given))
      return failure();
    k = node.bind(*given, sizes[*axis]);
  }
  if (std::optional<int64_t> known = k.asConstant(); known && *known < 0)
    return node.error() << "k is " << *known << ", expected a number of elements";
  if (failed(expectAtMost(node, k, sizes[*axis], "k")))
    return failure();
  sizes[*axis] = k;
  Emitter &emit = node.emit;
  auto sort = SortOp::create(emit.builder, node.getLoc(), tensorTypeOf(sizes, elementOf(x)),
                             tensorTypeOf(sizes, emit.builder.getI64Type()), x, *axis, isLargest);
  return node.yield(sort.getResults());
}

template <AccumulateKind kind> static LogicalResult accumulate(Node &node) {
  bool isExclusive = node.integer("exclusive", 0) != 0, isReverse = node.integer("reverse", 0) != 0;
  Sizes shape = node.inputShape(0);
  FailureOr<SmallVector<Value>> given = node.integerOperand(1, "axis");
  if (failed(given))
    return failure();
  if (given->size() != 1)
    return node.error() << "axis has " << given->size() << " elements, expected 1";
  FailureOr<Axes> axes = Axes::of(node, *given, shape.size());
  if (failed(axes))
    return failure();
  Value x = node.input(0);
  int64_t axis = 1;
  if (std::optional<SmallVector<int64_t>> constant = axes->constants())
    axis = constant->front();
  else
    x = node.emit.reshape(x, axes->around(shape));
  Value result = node.emit.create<AccumulateOp>(x.getType(), kind, x, axis, isExclusive, isReverse);
  return node.yield(node.emit.reshape(result, shape));
}

/// Reverses the beginning of each sequence of a batch. Two dimensions, in any order, are
/// the batch and the steps.
static LogicalResult reverseSequence(Node &node) {
  Value x = node.input(0);
  Sizes shape = sizesOf(x);
  int64_t batch = node.integer("batch_axis", 1), time = node.integer("time_axis", 0);
  if (shape.size() < 2)
    return node.error() << "input has shape " << shapeText(shape)
                        << ", expected at least two dimensions";
  if (std::min(batch, time) != 0 || std::max(batch, time) != 1)
    return node.error() << "attributes 'batch_axis' and 'time_axis' are " << batch << " and "
                        << time << ", expected 0 and 1, or 1 and 0";
  if (failed(expectIndices(node, 1)))
    return failure();
  if (!node.ensureEqual(sizesOf(node.input(1)), Sizes{shape[batch]}, "sequence_lens"))
    return node.error() << "sequence_lens have shape " << shapeText(sizesOf(node.input(1)))
                        << ", expected " << shapeText({shape[batch]});
  if (failed(node.ensureLengths(1, shape[time])))
    return failure();
  Emitter &emit = node.emit;
  Type i64 = emit.builder.getI64Type();
  Sizes plane(ArrayRef(shape).take_front(2));
  Value length = emit.convert(emit.cast(node.input(1), {shape[batch]}), i64);
  length = emit.broadcastAlong(length, plane, batch);
  Value step = emit.iota(tensorTypeOf(plane, i64), time);
  Value mirrored = emit.binary(BinaryKind::Sub, emit.binary(BinaryKind::Sub, length, step), 1.0);
  Value index = emit.select(emit.compare(CompareKind::Lt, step, length), mirrored, step);
  return node.yield(emit.create<PickOp>(x.getType(), x, index, walkAllBut(shape.size(), time)));
}

static const OperatorRow rows[] = {
    {"CumProd", 2, 2, accumulate<AccumulateKind::Mul>},
    {"CumSum", 2, 2, accumulate<AccumulateKind::Add>},
    OperatorRow{"GatherElements", 2, 2, gatherElements}.moving(),
    OperatorRow{"GatherND", 2, 2, gatherND}.moving(),
    OperatorRow{"GatherND", 2, 2, gatherND}.ofMicrosoft(),
    OperatorRow{"ReverseSequence", 2, 2, reverseSequence, "", 10}.moving(),
    {"Scatter", 3, 3, scatterElements, "not of strings", 9, 10},
    {"ScatterElements", 3, 3, scatterElements, "not of strings"},
    {"ScatterND", 3, 3, scatterND, "not of strings"},
    {"TensorScatter", 2, 3, tensorScatter, "not of strings", 24},
    {"TopK", 1, 2, topK},
};

ArrayRef<OperatorRow> lumen::indexingRows() { return rows; }
