//===- Movement.cpp - operators that change the place of elements ---------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

static LogicalResult transpose(Node &node) {
  int64_t rank = node.inputType(0).getRank();
  SmallVector<int64_t> perm = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  if (std::optional<SmallVector<int64_t>> given = node.integers("perm")) {
    SmallVector<int64_t> sorted = *given;
    llvm::sort(sorted);
    if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
      return node.error() << "attribute 'perm' is [" << llvm::ArrayRef<int64_t>(*given)
                          << "], expected a permutation of " << rank << " dimensions";
    perm = std::move(*given);
  }
  return node.yield(node.emit.transpose(node.input(0), perm));
}

//===----------------------------------------------------------------------===//
// Slice and Split
//===----------------------------------------------------------------------===//

/// A list that is an attribute before version 10 and an input since; nothing if
/// it is absent.
static FailureOr<std::optional<SmallVector<int64_t>>> readSliceList(Node &node, StringRef name,
                                                                    unsigned index) {
  if (node.getOpset() < 10)
    return name == "steps" ? std::optional<SmallVector<int64_t>>() : node.integers(name);
  if (!node.input(index))
    return std::optional<SmallVector<int64_t>>();
  FailureOr<SmallVector<int64_t>> values = node.constantIntegers(index, name);
  if (failed(values))
    return failure();
  return std::optional<SmallVector<int64_t>>(std::move(*values));
}

static LogicalResult slice(Node &node) {
  auto starts = readSliceList(node, "starts", 1), ends = readSliceList(node, "ends", 2);
  auto axes = readSliceList(node, "axes", 3), steps = readSliceList(node, "steps", 4);
  if (failed(starts) || failed(ends) || failed(axes) || failed(steps))
    return failure();
  if (!*starts || !*ends)
    return node.error() << (*starts ? "ends are missing" : "starts are missing");
  size_t count = (*starts)->size();
  ArrayRef<int64_t> shape = node.inputShape(0);
  for (auto [name, list] : {std::pair("ends", &*ends), {"axes", &*axes}, {"steps", &*steps}})
    if (*list && (*list)->size() != count)
      return node.error() << name << " have " << (*list)->size() << " entries, but starts have "
                          << count;
  if (!*axes && count > shape.size())
    return node.error() << "starts have " << count << " entries, but the input has " << shape.size()
                        << " dimensions";

  SmallVector<int64_t> offsets(shape.size(), 0), strides(shape.size(), 1), sizes(shape);
  llvm::SmallBitVector seen(shape.size());
  for (size_t i = 0; i < count; ++i) {
    FailureOr<int64_t> axis = node.normalizeAxis(*axes ? (**axes)[i] : int64_t(i), shape.size());
    if (failed(axis))
      return failure();
    if (seen.test(*axis))
      return node.error() << "axis " << *axis << " is given twice";
    seen.set(*axis);
    int64_t size = shape[*axis], step = *steps ? (**steps)[i] : 1;
    if (step == 0)
      return node.error() << "steps have the entry 0";
    if (size == 0)
      continue;
    // Bounds count from the end where they are negative, and are clamped to the
    // elements that a walk in the step's direction can meet.
    auto clampBound = [&](int64_t bound, int64_t least, int64_t most) {
      return std::clamp(bound < 0 ? bound + size : bound, least, most);
    };
    int64_t start =
        step > 0 ? clampBound((**starts)[i], 0, size) : clampBound((**starts)[i], 0, size - 1);
    int64_t end =
        step > 0 ? clampBound((**ends)[i], 0, size) : clampBound((**ends)[i], -1, size - 1);
    // The least int64 has no magnitude, and no dimension is as long.
    int64_t stride = std::clamp<int64_t>(step, -size - 1, size + 1);
    int64_t distance = step > 0 ? end - start : start - end, length = std::abs(stride);
    sizes[*axis] = distance > 0 ? (distance + length - 1) / length : 0;
    offsets[*axis] = sizes[*axis] == 0 ? 0 : start;
    strides[*axis] = sizes[*axis] <= 1 ? 1 : stride;
  }
  return node.yield(node.emit.slice(node.input(0), offsets, sizes, strides));
}

/// Sizes are an attribute before version 13, an input since; num_outputs since
/// 18; equal parts without either.
static LogicalResult split(Node &node) {
  ArrayRef<int64_t> shape = node.inputShape(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  int64_t size = shape[*axis], count = node.getNumOutputs();
  std::optional<SmallVector<int64_t>> sizes;
  if (node.getOpset() < 13) {
    sizes = node.integers("split");
  } else if (node.input(1)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(1, "split");
    if (failed(given))
      return failure();
    sizes = std::move(*given);
  }
  bool isCounted = node.getOpset() >= 18 && node.has("num_outputs");
  if (int64_t parts = node.getOpset() >= 18 ? node.integer("num_outputs", count) : count;
      parts != count)
    return node.error() << "attribute 'num_outputs' is " << parts << ", but the node has " << count
                        << " outputs";
  if (!sizes) {
    if (!isCounted && size % count != 0)
      return node.error() << "dimension " << *axis << " of size " << size
                          << " cannot be split into " << count << " equal parts";
    // With num_outputs the last part is smaller where the rest demands it.
    int64_t part = (size + count - 1) / count, left = size;
    sizes.emplace();
    for (int64_t i = 0; i < count; ++i, left -= sizes->back())
      sizes->push_back(std::min(part, left));
  }
  if (int64_t(sizes->size()) != count)
    return node.error() << "split has " << sizes->size() << " sizes, but the node has " << count
                        << " outputs";
  int64_t total = 0;
  for (int64_t part : *sizes)
    if (part < 0 || llvm::AddOverflow(total, part, total))
      return node.error() << "split has the size " << part;
  if (total != size)
    return node.error() << "split sizes " << shapeText(*sizes) << " add up to " << total
                        << ", but dimension " << *axis << " has size " << size;
  SmallVector<Value> results;
  int64_t offset = 0;
  for (int64_t part : *sizes) {
    results.push_back(node.emit.sliceAxis(node.input(0), *axis, offset, part));
    offset += part;
  }
  return node.yield(results);
}

//===----------------------------------------------------------------------===//
// Concat, Expand, Tile, Pad
//===----------------------------------------------------------------------===//

static LogicalResult concat(Node &node) {
  if (!node.has("axis"))
    return node.error() << "attribute 'axis' is missing";
  ArrayRef<int64_t> first = node.inputShape(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), first.size());
  if (failed(axis))
    return failure();
  int64_t total = 0;
  for (unsigned i = 0; i < node.getNumInputs(); ++i) {
    ArrayRef<int64_t> shape = node.inputShape(i);
    bool fits = shape.size() == first.size();
    for (size_t d = 0; fits && d < shape.size(); ++d)
      fits = int64_t(d) == *axis || shape[d] == first[d];
    if (!fits)
      return node.error() << "inputs of shapes " << shapeText(first) << " and " << shapeText(shape)
                          << " cannot be joined along dimension " << *axis;
    if (failed(node.expectSameElementType(0, i)))
      return failure();
    if (llvm::AddOverflow(total, shape[*axis], total))
      return node.error() << "result is too large";
  }
  return node.yield(node.emit.concat(node.getInputs(), *axis));
}

static LogicalResult expand(Node &node) {
  FailureOr<SmallVector<int64_t>> target = node.constantIntegers(1, "shape");
  if (failed(target))
    return failure();
  std::optional<SmallVector<int64_t>> shape = broadcastShapes(node.inputShape(0), *target);
  if (!shape)
    return node.error() << "input of shape " << shapeText(node.inputShape(0))
                        << " cannot be broadcast with the shape " << shapeText(*target);
  if (failed(node.checkSize(*shape)))
    return failure();
  return node.yield(node.emit.broadcastTo(node.input(0), *shape));
}

/// [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r*a, s*b]
static LogicalResult tile(Node &node) {
  FailureOr<SmallVector<int64_t>> repeats = node.constantIntegers(1, "repeats");
  if (failed(repeats))
    return failure();
  ArrayRef<int64_t> from = node.inputShape(0);
  if (repeats->size() != from.size())
    return node.error() << "repeats have " << repeats->size() << " entries, expected "
                        << from.size();
  SmallVector<int64_t> repeated, dims, shape;
  for (auto [i, size, repeat] : llvm::enumerate(from, *repeats)) {
    repeated.append({repeat, size});
    dims.push_back(2 * i + 1);
  }
  if (failed(node.checkSize(repeated)))
    return failure();
  for (auto [size, repeat] : llvm::zip(from, *repeats))
    shape.push_back(size * repeat);
  return node.yield(node.emit.reshape(node.emit.broadcast(node.input(0), repeated, dims), shape));
}

static std::optional<PadKind> padKind(StringRef mode) {
  if (mode == "constant")
    return PadKind::Constant;
  if (mode == "edge")
    return PadKind::Edge;
  if (mode == "reflect")
    return PadKind::Reflect;
  if (mode == "wrap")
    return PadKind::Wrap;
  return std::nullopt;
}

/// Pads and value are attributes before version 11, inputs since; axes since 18.
static LogicalResult pad(Node &node) {
  StringRef mode = node.string("mode", "constant");
  std::optional<PadKind> kind = padKind(mode);
  if (!kind || (*kind == PadKind::Wrap && node.getOpset() < 19))
    return node.error() << "attribute 'mode' is '" << mode
                        << "', expected constant, edge or reflect";
  ArrayRef<int64_t> shape = node.inputShape(0);
  Type element = node.inputType(0).getElementType();
  Emitter &emit = node.emit;
  SmallVector<int64_t> pads, axes = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  Value value = emit.scalar(0, element);
  if (node.getOpset() < 11) {
    pads = node.integers("pads").value_or(SmallVector<int64_t>());
    value = emit.scalar(node.real("value", 0), element);
  } else {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(1, "pads");
    if (failed(given))
      return failure();
    pads = std::move(*given);
    if (node.input(2)) {
      if (failed(node.expectSameElementType(0, 2)))
        return failure();
      if (node.inputType(2).getNumElements() != 1)
        return node.error() << "value has shape " << shapeText(node.inputShape(2))
                            << ", expected scalar";
      value = emit.reshape(node.input(2), {});
    }
    if (node.input(3)) {
      FailureOr<SmallVector<int64_t>> listed = node.constantIntegers(3, "axes");
      if (failed(listed))
        return failure();
      axes.clear();
      for (int64_t axis : *listed) {
        FailureOr<int64_t> normal = node.normalizeAxis(axis, shape.size());
        if (failed(normal))
          return failure();
        if (llvm::is_contained(axes, *normal))
          return node.error() << "axis " << axis << " is given twice";
        axes.push_back(*normal);
      }
    }
  }
  if (pads.size() != 2 * axes.size())
    return node.error() << "pads have " << pads.size() << " entries, expected " << 2 * axes.size();
  SmallVector<int64_t> low(shape.size(), 0), high(shape.size(), 0), result(shape);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    low[axis] = pads[i];
    high[axis] = pads[axes.size() + i];
    int64_t size = shape[axis];
    if (llvm::AddOverflow(size, low[axis], result[axis]) ||
        llvm::AddOverflow(result[axis], high[axis], result[axis]) || result[axis] < 0)
      return node.error() << "pads " << low[axis] << " and " << high[axis]
                          << " do not fit dimension " << axis << " of size " << size;
    // A reflection does not repeat the border, and both read within one period.
    int64_t most = *kind == PadKind::Reflect ? size - 1 : size;
    bool isBounded = *kind == PadKind::Reflect || *kind == PadKind::Wrap;
    if ((isBounded && std::max(low[axis], high[axis]) > most) ||
        (*kind == PadKind::Edge && size == 0 && result[axis] != 0))
      return node.error() << "pads " << low[axis] << " and " << high[axis] << " of mode '" << mode
                          << "' are wider than dimension " << axis << " of size " << size;
  }
  if (failed(node.checkSize(result)))
    return failure();
  return node.yield(emit.pad(*kind, node.input(0), value, low, high));
}

//===----------------------------------------------------------------------===//
// Gather, blocks
//===----------------------------------------------------------------------===//

static LogicalResult gather(Node &node) {
  ArrayRef<int64_t> shape = node.inputShape(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  Type indexType = node.inputType(1).getElementType();
  if (!indexType.isInteger(32) && !indexType.isInteger(64))
    return node.error() << "indices have element type " << indexType << ", expected i32 or i64";
  int64_t size = shape[*axis];
  // Indices that are known are checked now.
  std::optional<ConstantData> known = ConstantData::get(node.input(1));
  if (known)
    for (int64_t i = 0, e = known->isSplat() ? 1 : known->size(); i < e; ++i)
      if (int64_t index = (*known)[i].integer; index < -size || index >= size)
        return node.error() << "index " << index << " lies outside dimension " << *axis
                            << " of size " << size;
  if (size == 0 && llvm::none_of(node.inputShape(1), [](int64_t extent) { return extent == 0; }))
    return node.error() << "picks from dimension " << *axis << ", which has size 0";
  SmallVector<int64_t> result(shape.take_front(*axis));
  llvm::append_range(result, node.inputShape(1));
  llvm::append_range(result, shape.drop_front(*axis + 1));
  if (failed(node.checkSize(result)))
    return failure();
  // One known index is a slice, which needs no copy where the layout allows.
  if (known && known->size() == 1) {
    int64_t index = (*known)[0].integer;
    Value part = node.emit.sliceAxis(node.input(0), *axis, index < 0 ? index + size : index, 1);
    return node.yield(node.emit.reshape(part, result));
  }
  return node.yield(node.emit.gather(node.input(0), node.input(1), *axis));
}

/// What DepthToSpace and SpaceToDepth share: the side of a block, and whether its
/// positions come before the depth in the channels (DCR).
struct Blocks {
  int64_t side;
  bool positionsFirst;
};

/// Checks a 4-D input, a positive block size and the mode, an attribute from the
/// operator set `modeSince` on.
static FailureOr<Blocks> readBlocks(Node &node, int64_t modeSince) {
  StringRef mode = node.getOpset() >= modeSince ? node.string("mode", "DCR") : "DCR";
  int64_t block = node.integer("blocksize", 0);
  if (block < 1 || block > std::numeric_limits<int32_t>::max())
    return node.error() << "attribute 'blocksize' is " << block << ", expected 1 to "
                        << std::numeric_limits<int32_t>::max();
  if (node.inputType(0).getRank() != 4)
    return node.error() << "input has shape " << shapeText(node.inputShape(0))
                        << ", expected four dimensions";
  if (mode != "DCR" && mode != "CRD")
    return node.error() << "attribute 'mode' is '" << mode << "', expected DCR or CRD";
  return Blocks{block, mode == "DCR"};
}

static LogicalResult depthToSpace(Node &node) {
  FailureOr<Blocks> blocks = readBlocks(node, /*modeSince=*/11);
  if (failed(blocks))
    return failure();
  int64_t b = blocks->side, n = node.inputShape(0)[0], c = node.inputShape(0)[1];
  int64_t h = node.inputShape(0)[2], w = node.inputShape(0)[3];
  if (c % (b * b) != 0)
    return node.error() << "input has " << c << " channels, expected a multiple of " << b * b;
  int64_t depth = c / (b * b);
  Emitter &emit = node.emit;
  // Both to [n, depth, h, b, w, b].
  Value x =
      blocks->positionsFirst
          ? emit.transpose(emit.reshape(node.input(0), {n, b, b, depth, h, w}), {0, 3, 4, 1, 5, 2})
          : emit.transpose(emit.reshape(node.input(0), {n, depth, b, b, h, w}), {0, 1, 4, 2, 5, 3});
  return node.yield(emit.reshape(x, {n, depth, h * b, w * b}));
}

static LogicalResult spaceToDepth(Node &node) {
  FailureOr<Blocks> blocks = readBlocks(node, /*modeSince=*/28);
  if (failed(blocks))
    return failure();
  int64_t b = blocks->side, n = node.inputShape(0)[0], c = node.inputShape(0)[1];
  int64_t h = node.inputShape(0)[2], w = node.inputShape(0)[3];
  if (h % b != 0 || w % b != 0)
    return node.error() << "input is " << h << "x" << w << ", expected multiples of " << b;
  Emitter &emit = node.emit;
  Value x = emit.reshape(node.input(0), {n, c, h / b, b, w / b, b});
  x = blocks->positionsFirst ? emit.transpose(x, {0, 3, 5, 1, 2, 4})
                             : emit.transpose(x, {0, 1, 3, 5, 2, 4});
  return node.yield(emit.reshape(x, {n, c * b * b, h / b, w / b}));
}

static const OperatorRow rows[] = {
    {"Concat", 1, OperatorRow::kVariadic, concat},
    {"DepthToSpace", 1, 1, depthToSpace},
    {"Expand", 2, 2, expand, "constant shape"},
    {"Gather", 2, 2, gather, "not of strings; indices out of range are clamped"},
    {"Pad", 1, 4, pad, "constant pads; reflect and wrap by at most one period"},
    {"Slice", 1, 5, slice, "constant bounds"},
    {"SpaceToDepth", 1, 1, spaceToDepth},
    {"Split", 1, 2, split, "constant sizes"},
    {"Tile", 2, 2, tile, "constant repeats"},
    {"Transpose", 1, 1, transpose},
};

ArrayRef<OperatorRow> lumen::movementRows() { return rows; }
