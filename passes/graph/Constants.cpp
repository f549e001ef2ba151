//===- Constants.cpp - reading and making constants of any size -----------===//

#include "passes/graph/Constants.h"

#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/Parallel.h"

#include <cstring>

using namespace mlir;
using namespace lumen;

/// Tables of joined dimensions up to this length are built; a longer one is
/// cheaper to materialise.
static constexpr int64_t kMaxTable = 1 << 20;

/// A dimension beyond this has no table: no weight is as long, and a splat along
/// an input of absurd size would take all memory.
static constexpr int64_t kMaxDimension = 1 << 26;

unsigned ConstantView::getElementBytes() const {
  return lumen::getElementBytes(type.getElementType());
}

bool ConstantView::isConstantAlong(unsigned dim) const {
  const std::vector<int64_t> &table = tables[dim];
  return llvm::all_of(table, [&](int64_t offset) { return offset == table.front(); });
}

bool ConstantView::isSplat() const {
  return llvm::all_of(llvm::seq<unsigned>(0, tables.size()),
                      [&](unsigned dim) { return isConstantAlong(dim); });
}

ConstantView ConstantView::restrictedTo(ArrayRef<int64_t> dims) const {
  ConstantView view = *this;
  view.tables.clear();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!llvm::is_contained(dims, dim)) {
      view.data += tables[dim][0] * static_cast<int64_t>(getElementBytes());
      continue;
    }
    view.tables.push_back(tables[dim]);
    shape.push_back(type.getDimSize(dim));
  }
  view.type = RankedTensorType::get(shape, type.getElementType());
  return view;
}

std::optional<int64_t> ConstantView::getStride(unsigned dim) const {
  const std::vector<int64_t> &table = tables[dim];
  if (table.size() < 2)
    return 0;
  int64_t stride = table[1] - table[0];
  for (size_t i = 2; i < table.size(); ++i)
    if (table[i] - table[i - 1] != stride)
      return std::nullopt;
  return stride;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static std::vector<int64_t> makeTable(int64_t size, int64_t stride) {
  std::vector<int64_t> table(size);
  for (int64_t i = 0; i < size; ++i)
    table[i] = i * stride;
  return table;
}

static std::optional<ConstantView> viewAttribute(ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  unsigned bytes = getElementBytes(type.getElementType());
  if (!bytes || !type.hasStaticShape() || type.getNumElements() == 0)
    return std::nullopt;
  ConstantView view;
  view.type = type;
  bool splat = false;
  if (auto blob = dyn_cast<lumen::BlobAttr>(op.getValue())) {
    ArrayRef<char> all = op->getContext()->getLoadedDialect<LumenDialect>()->getBlobs().bytes(blob);
    if (all.size() < static_cast<uint64_t>(type.getNumElements()) * bytes)
      return std::nullopt;
    view.data = all.data();
  } else if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue())) {
    splat = dense.isSplat();
    if (type.getElementType().isInteger(1)) {
      view.owned = std::make_shared<std::vector<char>>();
      if (splat)
        view.owned->push_back(dense.getSplatValue<bool>());
      else
        for (bool value : dense.getValues<bool>())
          view.owned->push_back(value);
      view.data = view.owned->data();
    } else {
      view.data = dense.getRawData().data();
    }
  } else {
    return std::nullopt;
  }
  int64_t stride = 1;
  view.tables.resize(type.getRank());
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    view.tables[dim] = makeTable(type.getDimSize(dim), splat ? 0 : stride);
    stride *= type.getDimSize(dim);
  }
  return view;
}

/// Joins the tables of some dimensions and splits the result again into
/// dimensions of the given sizes. False when the split has no tables.
static bool regroup(ArrayRef<const std::vector<int64_t> *> from, ArrayRef<int64_t> sizes,
                    SmallVectorImpl<std::vector<int64_t>> &to) {
  std::vector<int64_t> joined{0};
  for (const std::vector<int64_t> *table : from) {
    if (static_cast<int64_t>(joined.size() * table->size()) > kMaxTable)
      return false;
    std::vector<int64_t> next;
    next.reserve(joined.size() * table->size());
    for (int64_t outer : joined)
      for (int64_t inner : *table)
        next.push_back(outer + inner);
    joined = std::move(next);
  }
  int64_t inner = joined.size();
  size_t first = to.size();
  for (int64_t size : sizes) {
    inner /= size;
    std::vector<int64_t> table(size);
    for (int64_t i = 0; i < size; ++i)
      table[i] = joined[i * inner] - joined[0];
    to.push_back(std::move(table));
  }
  // The base belongs to one of them.
  for (int64_t &offset : to[first])
    offset += joined[0];
  SmallVector<int64_t> index(sizes.size(), 0);
  for (int64_t offset : joined) {
    int64_t sum = 0;
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      sum += to[first + dim][index[dim]];
    if (sum != offset)
      return false;
    for (int64_t dim = sizes.size() - 1; dim >= 0 && ++index[dim] == sizes[dim]; --dim)
      index[dim] = 0;
  }
  return true;
}

static std::optional<ConstantView> viewReshape(ConstantView view, RankedTensorType type) {
  ArrayRef<int64_t> from = view.type.getShape(), to = type.getShape();
  SmallVector<std::vector<int64_t>> tables;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    SmallVector<const std::vector<int64_t> *> group;
    SmallVector<int64_t> sizes;
    int64_t a = 1, b = 1;
    do {
      if (i < from.size() && (a <= b || j == to.size())) {
        a *= from[i];
        group.push_back(&view.tables[i++]);
      } else {
        b *= to[j];
        sizes.push_back(to[j++]);
      }
    } while ((a != b || sizes.empty()) && (i < from.size() || j < to.size()));
    // Unit dimensions at the end join the last group.
    while (i < from.size() && from[i] == 1)
      group.push_back(&view.tables[i++]);
    while (j < to.size() && to[j] == 1)
      sizes.push_back(to[j++]);
    if (sizes.empty()) {
      // Only unit dimensions of a value that becomes 0-D.
      for (const std::vector<int64_t> *table : group)
        view.data += (*table)[0] * static_cast<int64_t>(view.getElementBytes());
      continue;
    }
    if (a != b || !regroup(group, sizes, tables))
      return std::nullopt;
  }
  view.type = type;
  view.tables = std::move(tables);
  return view;
}

std::optional<ConstantView> lumen::viewConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0 ||
      llvm::any_of(type.getShape(), [](int64_t size) { return size > kMaxDimension; }))
    return std::nullopt;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return viewAttribute(constant);
  if (!isa<TransposeOp, ReshapeOp, SliceOp, BroadcastOp>(op))
    return std::nullopt;
  std::optional<ConstantView> from = viewConstant(op->getOperand(0));
  if (!from)
    return std::nullopt;
  if (isa<ReshapeOp>(op))
    return viewReshape(std::move(*from), type);

  ConstantView view = *from;
  view.type = type;
  view.tables.assign(type.getRank(), {});
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
      view.tables[i] = from->tables[dim];
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    std::optional<SmallVector<int64_t>> offsets = slice.getConstantOffsets();
    if (!offsets)
      return std::nullopt;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      for (int64_t i = 0; i < type.getDimSize(dim); ++i)
        view.tables[dim].push_back(
            from->tables[dim][(*offsets)[dim] + i * slice.getStrides()[dim]]);
  } else {
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      view.tables[dim].assign(type.getDimSize(dim), 0);
    for (auto [i, dim] : llvm::enumerate(cast<BroadcastOp>(op).getDims())) {
      if (from->tables[i].size() == 1)
        view.tables[dim].assign(type.getDimSize(dim), from->tables[i][0]);
      else
        view.tables[dim] = from->tables[i];
    }
  }
  return view;
}

std::optional<ConstantView> lumen::viewRepeated(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.hasStaticShape())
    return viewConstant(value);
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    std::optional<ConstantView> view = viewRepeated(transpose.getOperand());
    if (!view)
      return std::nullopt;
    SmallVector<std::vector<int64_t>> tables;
    for (int64_t dim : transpose.getPerm())
      tables.push_back(view->tables[dim]);
    view->tables = std::move(tables);
    view->type = type;
    return view;
  }
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  std::optional<ConstantView> view =
      broadcast ? viewRepeated(broadcast.getOperand()) : std::optional<ConstantView>();
  if (!view)
    return std::nullopt;
  SmallVector<std::vector<int64_t>> tables;
  for (int64_t size : type.getShape()) {
    if (size > kMaxDimension || size == 0)
      return std::nullopt;
    tables.emplace_back(ShapedType::isDynamic(size) ? 1 : size, 0);
  }
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims())) {
    if (view->tables[i].size() == 1)
      llvm::fill(tables[dim], view->tables[i][0]);
    else if (type.isDynamicDim(dim))
      return std::nullopt;
    else
      tables[dim] = view->tables[i];
  }
  view->tables = std::move(tables);
  view->type = type;
  return view;
}

std::optional<float> lumen::getSplatF32(Value value) {
  std::optional<ConstantView> view = viewRepeated(value);
  if (!view || !view->type.getElementType().isF32() || !view->isSplat())
    return std::nullopt;
  float element;
  std::memcpy(&element, view->restrictedTo({}).data, sizeof(element));
  return element;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void lumen::parallelRanges(int64_t count, int64_t bytes,
                           llvm::function_ref<void(int64_t, int64_t)> body) {
  constexpr int64_t kWorthwhile = 1 << 18;
  int64_t parts = std::min<int64_t>(count, bytes / kWorthwhile + 1);
  if (parts <= 1)
    return body(0, count);
  parts = std::min<int64_t>(parts, 256);
  llvm::parallelFor(0, parts,
                    [&](size_t part) { body(count * part / parts, count * (part + 1) / parts); });
}

/// Element `index` of an array at any address (a weight in a mapped file).
template <typename Element> static Element elementAt(const char *data, int64_t index) {
  Element element;
  std::memcpy(&element, data + index * static_cast<int64_t>(sizeof(Element)), sizeof(Element));
  return element;
}

template <typename Element> static void copyElements(const ConstantView &view, char *out) {
  ArrayRef<int64_t> shape = view.type.getShape();
  int64_t rank = shape.size();
  const char *from = view.data;
  auto *to = reinterpret_cast<Element *>(out);
  if (rank == 0) {
    *to = elementAt<Element>(from, 0);
    return;
  }
  SmallVector<int64_t> strides(rank, 1);
  for (int64_t dim = rank - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];

  // Reads run along the dimension that is contiguous in the source. When that is
  // not the last one the copy is a transpose, done in blocks of both so that
  // every cache line that is touched is used whole.
  int64_t last = rank - 1, source = last;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (shape[dim] > 1 && view.getStride(dim) == 1)
      source = dim;
  bool contiguous = source == last && view.getStride(last) == 1;
  SmallVector<int64_t> outer;
  int64_t outerCount = 1;
  for (int64_t dim = 0; dim < last; ++dim)
    if (dim != source) {
      outer.push_back(dim);
      outerCount *= shape[dim];
    }
  int64_t rows = source == last ? 1 : shape[source], columns = shape[last];
  constexpr int64_t kBlock = 32;
  int64_t rowBlocks = llvm::divideCeil(rows, kBlock);
  const std::vector<int64_t> &columnTable = view.tables[last];
  int64_t total = view.type.getNumElements() * sizeof(Element);

  parallelRanges(outerCount * rowBlocks, total, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t rest = unit / rowBlocks, fromBase = 0, toBase = 0;
      for (int64_t dim : llvm::reverse(outer)) {
        int64_t index = rest % shape[dim];
        rest /= shape[dim];
        fromBase += view.tables[dim][index];
        toBase += index * strides[dim];
      }
      if (contiguous) {
        std::memcpy(to + toBase,
                    from + (fromBase + columnTable[0]) * static_cast<int64_t>(sizeof(Element)),
                    columns * sizeof(Element));
        continue;
      }
      if (source == last) {
        for (int64_t c = 0; c < columns; ++c)
          to[toBase + c] = elementAt<Element>(from, fromBase + columnTable[c]);
        continue;
      }
      int64_t firstRow = (unit % rowBlocks) * kBlock, lastRow = std::min(firstRow + kBlock, rows);
      int64_t rowBase = fromBase + view.tables[source][0];
      for (int64_t block = 0; block < columns; block += kBlock) {
        int64_t blockEnd = std::min(block + kBlock, columns);
        for (int64_t r = firstRow; r < lastRow; ++r)
          for (int64_t c = block; c < blockEnd; ++c)
            to[toBase + r * strides[source] + c] =
                elementAt<Element>(from, rowBase + r + columnTable[c]);
      }
    }
  });
}

void lumen::copyConstant(const ConstantView &view, char *out) {
  struct Sixteen {
    uint64_t parts[2];
  };
  switch (view.getElementBytes()) {
  case 1:
    return copyElements<uint8_t>(view, out);
  case 2:
    return copyElements<uint16_t>(view, out);
  case 4:
    return copyElements<uint32_t>(view, out);
  case 8:
    return copyElements<uint64_t>(view, out);
  case 16:
    return copyElements<Sixteen>(view, out);
  default:
    llvm_unreachable("viewConstant admits these element sizes only");
  }
}

Value lumen::makeSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                       const ConstantView &view) {
  ArrayRef<char> element(view.restrictedTo({}).data, view.getElementBytes());
  if (!type.hasStaticShape()) {
    auto scalar = RankedTensorType::get({}, type.getElementType());
    return BroadcastOp::create(builder, loc, type, makeSplat(builder, loc, scalar, view),
                               ArrayRef<int64_t>());
  }
  if (type.getElementType().isInteger(1))
    return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, element[0] != 0));
  // A raw buffer of one element is a splat of any shape.
  return ConstantOp::create(builder, loc, DenseElementsAttr::getFromRawBuffer(type, element));
}

Value lumen::makeSplat(OpBuilder &builder, Location loc, RankedTensorType type, Attribute element) {
  if (type.hasStaticShape())
    return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, element));
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value value = ConstantOp::create(builder, loc, DenseElementsAttr::get(scalar, element));
  return BroadcastOp::create(builder, loc, type, value, ArrayRef<int64_t>());
}

void lumen::eraseDeadOperations(Operation *func) {
  // Users first: from the last operation to the first one, what regions hold before
  // the operation that holds it.
  func->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op != func && isOpTriviallyDead(op))
      op->erase();
  });
}
