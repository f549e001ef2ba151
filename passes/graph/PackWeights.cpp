//===- PackWeights.cpp - weights in the order that kernels read -----------===//

#include "dialects/Lumen/PackedWeights.h"
#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <atomic>
#include <cstring>

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "passes/graph/Passes.h.inc"
} // namespace lumen

namespace {

/// A weight as a matrix per group: element (g, k, n) of the source lies
/// `groups[g] + rows[k] + columns[n]` elements behind `data`.
struct WeightMatrix {
  const char *data;
  std::vector<int64_t> groups, rows, columns;
  int64_t getPanels() const { return llvm::divideCeil(columns.size(), kPanelColumns); }
};

} // namespace

static float elementAt(const char *data, int64_t index) {
  float element;
  std::memcpy(&element, data + index * static_cast<int64_t>(sizeof(float)), sizeof(float));
  return element;
}

/// All sums of one element of each table, the last table varying fastest.
static std::vector<int64_t> joinTables(ArrayRef<std::vector<int64_t>> tables) {
  std::vector<int64_t> joined{0};
  for (const std::vector<int64_t> &table : tables) {
    std::vector<int64_t> next;
    next.reserve(joined.size() * table.size());
    for (int64_t outer : joined)
      for (int64_t inner : table)
        next.push_back(outer + inner);
    joined = std::move(next);
  }
  return joined;
}

/// Writes `[groups, panels, K, 64]`; `out` is zero where no column lies.
static void packPanels(const WeightMatrix &matrix, MutableArrayRef<char> bytes) {
  int64_t panels = matrix.getPanels(), depth = matrix.rows.size(), width = matrix.columns.size();
  // A block of rows by one panel stays in the first-level cache, in whichever
  // direction the source is contiguous.
  constexpr int64_t kRows = 64;
  int64_t blocks = llvm::divideCeil(depth, kRows);
  bool columnsContiguous = true;
  for (int64_t n = 1; n < width; ++n)
    columnsContiguous &= matrix.columns[n] == matrix.columns[n - 1] + 1;
  auto *out = reinterpret_cast<float *>(bytes.data());
  int64_t units = static_cast<int64_t>(matrix.groups.size()) * panels * blocks;
  parallelRanges(units, bytes.size(), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t block = unit % blocks, panel = unit / blocks % panels, group = unit / blocks / panels;
      int64_t firstRow = block * kRows, lastRow = std::min(firstRow + kRows, depth);
      int64_t first = panel * kPanelColumns, columns = std::min(kPanelColumns, width - first);
      float *to = out + ((group * panels + panel) * depth + firstRow) * kPanelColumns;
      int64_t base = matrix.groups[group];
      if (columnsContiguous) {
        for (int64_t k = firstRow; k < lastRow; ++k, to += kPanelColumns)
          std::memcpy(to,
                      matrix.data + (base + matrix.rows[k] + matrix.columns[first]) *
                                        static_cast<int64_t>(sizeof(float)),
                      columns * sizeof(float));
        continue;
      }
      for (int64_t n = 0; n < columns; ++n) {
        int64_t column = base + matrix.columns[first + n];
        for (int64_t k = firstRow; k < lastRow; ++k)
          to[(k - firstRow) * kPanelColumns + n] = elementAt(matrix.data, column + matrix.rows[k]);
      }
    }
  });
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// An integer of 8 or 16 bits.
static int64_t integerAt(const ConstantView &view, int64_t index) {
  Type element = view.type.getElementType();
  if (element.isInteger(16)) {
    int16_t value;
    std::memcpy(&value, view.data + index * 2, 2);
    return value;
  }
  char byte = view.data[index];
  return element.isUnsignedInteger() ? static_cast<uint8_t>(byte) : static_cast<int8_t>(byte);
}

/// The type in which a weight is packed: integers that fit into i8 are.
static Type packedElement(const ConstantView &view, const WeightMatrix &matrix) {
  Type element = view.type.getElementType();
  if (!element.isInteger(16))
    return element;
  std::atomic<bool> fits = true;
  parallelRanges(matrix.groups.size() * matrix.rows.size(),
                 matrix.columns.size() * matrix.groups.size() * matrix.rows.size() * 2,
                 [&](int64_t begin, int64_t end) {
                   int64_t rows = matrix.rows.size();
                   for (int64_t i = begin; i < end && fits; ++i)
                     for (int64_t column : matrix.columns)
                       if (!llvm::isInt<8>(integerAt(
                               view, matrix.groups[i / rows] + matrix.rows[i % rows] + column)))
                         fits = false;
                 });
  return fits ? IntegerType::get(element.getContext(), 8) : element;
}

/// Writes panels of integers, of which the `channels` rows of each tap lie in groups of
/// four; see `lumen.contract`. `bytes` is zero where no element lies.
static void packIntegers(const ConstantView &view, const WeightMatrix &matrix, int64_t channels,
                         bool isWide, MutableArrayRef<char> bytes) {
  int64_t depth = matrix.rows.size(), panels = matrix.getPanels();
  int64_t panelGroups = channels == 0 ? 0 : depth / channels * llvm::divideCeil(channels, 4);
  parallelRanges(
      static_cast<int64_t>(matrix.groups.size()) * panels, bytes.size(),
      [&](int64_t begin, int64_t end) {
        for (int64_t unit = begin; unit < end; ++unit) {
          int64_t first = unit % panels * kPanelColumns, base = matrix.groups[unit / panels];
          int64_t columns =
              std::min(kPanelColumns, static_cast<int64_t>(matrix.columns.size()) - first);
          for (int64_t k = 0; k < depth; ++k) {
            int64_t inTap = k % channels, inGroup = inTap % 4;
            int64_t group = unit * panelGroups + k / channels * llvm::divideCeil(channels, 4) +
                            inTap / 4;
            for (int64_t n = 0; n < columns; ++n) {
              int64_t value =
                  integerAt(view, base + matrix.rows[k] + matrix.columns[first + n]);
              if (isWide)
                reinterpret_cast<int16_t *>(
                    bytes.data())[((group * 2 + inGroup % 2) * kPanelColumns + n) * 2 +
                                  inGroup / 2] = static_cast<int16_t>(value);
              else
                bytes[(group * kPanelColumns + n) * 4 + inGroup] = static_cast<char>(value);
            }
          }
        }
      });
}

/// `shape`: the dimensions before the panels' own. Panels are of taps of `channels` rows.
static Value makePacked(OpBuilder &builder, Location loc, const ConstantView &view,
                        SmallVector<int64_t> shape, const WeightMatrix &matrix, int64_t channels) {
  bool isInteger = isa<IntegerType>(view.type.getElementType());
  Type element = isInteger ? packedElement(view, matrix) : builder.getF32Type();
  int64_t taps = channels == 0 ? 0 : static_cast<int64_t>(matrix.rows.size()) / channels;
  shape.append(packedPanelShape(element, taps, channels));
  auto type = RankedTensorType::get(shape, element);
  if (isInteger)
    return makeConstant(builder, loc, type, [&](MutableArrayRef<char> bytes) {
      packIntegers(view, matrix, channels, element.isInteger(16), bytes);
    });
  if (view.isSplat() && matrix.columns.size() % kPanelColumns == 0)
    return makeSplat(builder, loc, type, view);
  return makeConstant(builder, loc, type,
                      [&](MutableArrayRef<char> bytes) { packPanels(matrix, bytes); });
}

static Value packContract(OpBuilder &builder, ContractOp op, const ConstantView &view) {
  unsigned n = op.getTransposeRhs() ? 0 : 1;
  WeightMatrix matrix{view.data, {0}, view.tables[1 - n], view.tables[n]};
  return makePacked(builder, op.getRhs().getLoc(), view, {matrix.getPanels()}, matrix,
                    matrix.rows.size());
}

static Value packConv(OpBuilder &builder, ConvOp op, const ConstantView &view) {
  ArrayRef<std::vector<int64_t>> tables = view.tables;
  Location loc = op.getFilter().getLoc();
  if (op.isDepthwise()) {
    ConstantView rows = view;
    std::vector<int64_t> taps = joinTables(tables.drop_back());
    auto type = RankedTensorType::get({static_cast<int64_t>(taps.size()), op.getChannels()},
                                      view.type.getElementType());
    rows.type = type;
    rows.tables = {std::move(taps), tables.back()};
    if (view.isSplat())
      return makeSplat(builder, loc, type, view);
    return makeConstant(builder, loc, type,
                        [&](MutableArrayRef<char> bytes) { copyConstant(rows, bytes.data()); });
  }
  // The output channels of a group are columns; where groups differ by another
  // distance than channels do, each group is packed by its own first column.
  int64_t groups = op.getGroups(), width = tables.back().size() / groups;
  WeightMatrix matrix{view.data, {}, joinTables(tables.drop_back()), {}};
  for (int64_t group = 0; group < groups; ++group)
    matrix.groups.push_back(tables.back()[group * width]);
  for (int64_t n = 0; n < width; ++n)
    matrix.columns.push_back(tables.back()[n] - tables.back()[0]);
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t n = 0; n < width; ++n)
      if (tables.back()[group * width + n] != matrix.groups[group] + matrix.columns[n])
        return {};
  return makePacked(builder, loc, view, {groups, matrix.getPanels()}, matrix,
                    tables[tables.size() - 2].size());
}

/// Whether there are micro-kernels for the elements of a product.
static bool isPackable(Operation *op) {
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  Type lhs = elementOf(op->getOperand(0)), result = elementOf(op->getResult(0));
  return result.isF32() || (result.isInteger(32) && lhs.isInteger(8));
}

namespace {
struct PackWeights : lumen::impl::PackWeightsBase<PackWeights> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      pack(func);
      eraseDeadOperations(func);
    }
    releaseUnusedBlobs();
  }

  /// What decides a packed form besides the weight itself.
  using Key = std::pair<Value, std::pair<int64_t, int64_t>>;

  void pack(func::FuncOp func) {
    DenseMap<Key, Value> packed;
    OpBuilder builder(&getContext());
    func.walk([&](Operation *op) {
      auto contract = dyn_cast<ContractOp>(op);
      auto conv = dyn_cast<ConvOp>(op);
      if ((!contract || contract.getPacked()) && (!conv || conv.getPacked()))
        return;
      Value weight = op->getOperand(1);
      auto type = cast<RankedTensorType>(weight.getType());
      if (!isPackable(op) || (contract && type.getRank() != 2))
        return;
      std::optional<ConstantView> view = viewConstant(weight);
      if (!view)
        return;
      Key key{weight, contract
                          ? std::make_pair<int64_t, int64_t>(-1, contract.getTransposeRhs())
                          : std::make_pair<int64_t, int64_t>(conv.getGroups(), conv.isDepthwise())};
      Value &result = packed[key];
      if (!result) {
        builder.setInsertionPointAfterValue(weight);
        result = contract ? packContract(builder, contract, *view) : packConv(builder, conv, *view);
      }
      if (!result)
        return;
      op->setOperand(1, result);
      if (contract) {
        contract.setPacked(true);
        contract.setTransposeRhs(false);
      } else {
        conv.setPacked(true);
      }
    });
  }

  void releaseUnusedBlobs() {
    BlobTable &blobs = getContext().getLoadedDialect<LumenDialect>()->getBlobs();
    std::vector<bool> used(blobs.size(), false);
    getOperation().walk([&](ConstantOp op) {
      if (auto blob = dyn_cast<lumen::BlobAttr>(op.getValue()))
        if (blob.getId() < used.size())
          used[blob.getId()] = true;
    });
    for (uint64_t id = 0; id < used.size(); ++id)
      if (!used[id])
        blobs.release(id);
  }
};
} // namespace
