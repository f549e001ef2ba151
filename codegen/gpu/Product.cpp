//===- Product.cpp - contractions and convolutions as one product ---------===//

#include "codegen/gpu/Product.h"

#include "codegen/loops/Rows.h"
#include "dialects/Lumen/PackedWeights.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Product::Product(GpuKernel &kernel)
    : kernel(kernel), contract(dyn_cast<ContractOp>(kernel.root)),
      conv(dyn_cast<ConvOp>(kernel.root)), left(kernel.root->getOperand(0)),
      right(kernel.root->getOperand(1)) {
  Value result = kernel.root->getResult(0);
  rows = sizesOf(result);
  columns = rows.pop_back_val();
  Sizes lhsSizes = sizesOf(left);
  if (contract) {
    depth = channels = lhsSizes[lhsSizes.size() - (contract.getTransposeLhs() ? 2 : 1)];
    if (!contract.getPacked())
      batchDims = typeOf(right).getRank() - 2;
  } else {
    groups = conv.getGroups();
    columns = SymExpr::floorDiv(columns, groups);
    depth = channels = SymExpr::floorDiv(lhsSizes.back(), groups);
    for (int64_t size : conv.getWindow())
      depth *= size;
  }
  sumType = loops::accumulationType(typeOf(result).getElementType());
}

Value Product::read(LoopEmitter &emit, Value tensor, Values indices) {
  Position at;
  at.indices = std::move(indices);
  Value value = kernel.expression.emit(emit.builder, emit.loc, tensor, at);
  if (value.getType() == sumType)
    return value;
  Type element = typeOf(tensor).getElementType();
  if (isa<FloatType>(element))
    return loops::widen(emit.builder, emit.loc, value);
  if (element.isUnsignedInteger())
    return emit.make<arith::ExtUIOp>(sumType, value);
  return emit.make<arith::ExtSIOp>(sumType, value);
}

std::pair<Value, Value> Product::splitDepth(LoopEmitter &emit, Value k) {
  if (channels == depth)
    return {emit.constant(0), k};
  Value count = emit.size(channels);
  return {emit.div(k, count), emit.rem(k, count)};
}

Value Product::lhs(LoopEmitter &emit, ArrayRef<Value> row, Value group, Value k) {
  Values indices(row);
  if (contract) {
    indices.push_back(k);
    if (contract.getTransposeLhs())
      std::swap(indices.back(), indices[indices.size() - 2]);
    return read(emit, left, std::move(indices));
  }
  auto [tap, channel] = splitDepth(emit, k);
  Sizes window;
  for (int64_t size : conv.getWindow())
    window.push_back(size);
  Values taps = emit.delinearize(tap, window);
  Sizes inputSizes = sizesOf(left);
  Value inside;
  for (auto [axis, index] : llvm::enumerate(taps)) {
    Value position = emit.add(emit.mul(row[axis + 1], emit.constant(conv.getStrides()[axis])),
                              emit.mul(index, emit.constant(conv.getDilations()[axis])));
    indices[axis + 1] = position = emit.add(position, -conv.getPadLow()[axis]);
    if (conv.getPadLow()[axis] <= 0 && conv.getPadHigh()[axis] <= 0)
      continue;
    Value fits = emit.make<arith::CmpIOp>(arith::CmpIPredicate::ult, position,
                                          emit.size(inputSizes[axis + 1]));
    inside = inside ? emit.both(inside, fits) : fits;
  }
  indices.push_back(groups == 1 ? channel
                                : emit.add(channel, emit.mul(group, emit.size(channels))));
  if (!inside)
    return read(emit, left, std::move(indices));
  return emit.branch(
      inside, sumType, [&](LoopEmitter &e) { return Values{read(e, left, indices)}; },
      [&](LoopEmitter &e) { return Values{zero(e)}; })[0];
}

void Product::appendPanelIndices(LoopEmitter &emit, Values &indices, Value tap,
                                 const SymExpr &channels, Value k, Value column) {
  Type element = typeOf(right).getElementType();
  int64_t group = isa<IntegerType>(element) ? 4 : 1;
  Value inPanel = emit.rem(column, emit.constant(kPanelColumns));
  SymExpr rowsOfTap = SymExpr::floorDiv(channels + (group - 1), group);
  Value row = emit.mul(tap, emit.size(rowsOfTap));
  if (group == 1) {
    indices.append({emit.add(row, k), inPanel});
    return;
  }
  indices.push_back(emit.add(row, emit.div(k, emit.constant(group))));
  Value inGroup = emit.rem(k, emit.constant(group));
  if (element.isInteger(16))
    indices.append(
        {emit.rem(inGroup, emit.constant(2)), inPanel, emit.div(inGroup, emit.constant(2))});
  else
    indices.append({inPanel, inGroup});
}

Value Product::rhs(LoopEmitter &emit, ArrayRef<Value> row, Value group, Value k, Value column) {
  Values indices;
  auto [tap, channel] = splitDepth(emit, k);
  Value panel = emit.div(column, emit.constant(kPanelColumns));
  if (contract && contract.getPacked()) {
    indices = {panel};
    appendPanelIndices(emit, indices, tap, channels, channel, column);
  } else if (contract) {
    indices.assign(row.begin(), row.begin() + batchDims);
    indices.append({k, column});
    if (contract.getTransposeRhs())
      std::swap(indices.back(), indices[indices.size() - 2]);
  } else if (conv.getPacked() && conv.isDepthwise()) {
    indices = {tap, group};
  } else if (conv.getPacked()) {
    indices = {group, panel};
    appendPanelIndices(emit, indices, tap, channels, channel, column);
  } else {
    Sizes window;
    for (int64_t size : conv.getWindow())
      window.push_back(size);
    indices = emit.delinearize(tap, window);
    indices.append({channel, emit.add(column, emit.mul(group, emit.size(columns)))});
  }
  return read(emit, right, std::move(indices));
}

Value Product::zero(LoopEmitter &emit) {
  return arith::ConstantOp::create(emit.builder, emit.loc, emit.builder.getZeroAttr(sumType));
}

Value Product::multiplyAdd(LoopEmitter &emit, Value a, Value b, Value sum) {
  if (isa<FloatType>(sumType))
    return emit.make<math::FmaOp>(a, b, sum);
  return emit.add(emit.mul(a, b), sum);
}

void Product::store(LoopEmitter &emit, ArrayRef<Value> row, Value group, Value column, Value sum) {
  Value result = kernel.root->getResult(0);
  Position at;
  at.indices.assign(row.begin(), row.end());
  at.indices.push_back(groups == 1 ? column
                                   : emit.add(column, emit.mul(group, emit.size(columns))));
  sum = loops::narrow(emit.builder, emit.loc, sum, typeOf(result).getElementType());
  Expression expression = kernel.expression;
  expression.bindSource(result, [sum](OpBuilder &, Location, const Position &) { return sum; });
  loops::storeResults(kernel, expression, emit.builder, at);
}

/// A thread for each element of the result.
static LogicalResult buildByElement(GpuKernel &kernel, Product &product) {
  Sizes space = product.rows;
  space.append({SymExpr(product.groups), product.columns});
  kernel.launch.grid = lumen::product(space);
  kernel.emitThreadUnits([&](LoopEmitter &emit, Value unit) {
    Values at = emit.delinearize(unit, space);
    Value column = at.pop_back_val(), group = at.pop_back_val();
    Value sum = emit.loop(emit.constant(0), emit.size(product.depth), {product.zero(emit)},
                          [&](LoopEmitter &e, Value k, ValueRange sums) {
                            Value a = product.lhs(e, at, group, k);
                            Value b = product.rhs(e, at, group, k, column);
                            return Values{product.multiplyAdd(e, a, b, sums[0])};
                          })[0];
    product.store(emit, at, group, column, sum);
  });
  return success();
}

namespace {

/// Tiles of the result, one for a workgroup, whose operands pass through shared memory.
class TiledProduct {
public:
  /// A thread has `each` x `each` elements of a tile.
  TiledProduct(GpuKernel &kernel, Product &product, int64_t each)
      : kernel(kernel), product(product), loc(kernel.loc), each(each), tile(kSide * each),
        batches(lumen::product(ArrayRef(product.rows).take_front(product.batchDims))),
        rows(lumen::product(ArrayRef(product.rows).drop_front(product.batchDims))),
        rowTiles(ceilQuotient(rows, tile)), columnTiles(ceilQuotient(product.columns, tile)) {}

  void build();

  /// Workgroup memory of such tiles.
  static int64_t sharedBytes(const Product &product, int64_t each) {
    return 2 * kSide * each * kDepth * product.sumType.getIntOrFloatBitWidth() / 8;
  }

private:
  // Threads of a workgroup stand in a square; their elements are kSide apart.
  static constexpr int64_t kDepth = 16, kSide = 8;

  static SymExpr ceilQuotient(const SymExpr &a, int64_t b) {
    return SymExpr::floorDiv(a + (b - 1), b);
  }
  void emitTile(LoopEmitter &emit, Value unit);
  /// The indices of a row of the batch at hand.
  Values rowIndices(LoopEmitter &emit, Value row);
  /// Fills `tile`, of `outer` lines of `inner` elements, all threads together.
  void fill(LoopEmitter &emit, Value tile, int64_t outer, int64_t inner,
            llvm::function_ref<Value(LoopEmitter &, Value line, Value at)> element);
  Value guarded(LoopEmitter &emit, Value isInside,
                llvm::function_ref<Value(LoopEmitter &)> element) {
    return emit.branch(
        isInside, product.sumType, [&](LoopEmitter &e) { return Values{element(e)}; },
        [&](LoopEmitter &e) { return Values{product.zero(e)}; })[0];
  }

  GpuKernel &kernel;
  Product &product;
  Location loc;
  int64_t each, tile; ///< elements of a thread and of the workgroup, along a side
  SymExpr batches, rows, rowTiles, columnTiles;
  Value lhsTile, rhsTile; ///< [tile][kDepth] and [kDepth][tile]
  Values batch;           ///< indices of the tile at hand
  Value group, firstRow, firstColumn;
};

} // namespace

Values TiledProduct::rowIndices(LoopEmitter &emit, Value row) {
  Values indices = batch;
  llvm::append_range(indices,
                     emit.delinearize(row, ArrayRef(product.rows).drop_front(product.batchDims)));
  return indices;
}

void TiledProduct::fill(LoopEmitter &emit, Value tile, int64_t outer, int64_t inner,
                        llvm::function_ref<Value(LoopEmitter &, Value line, Value at)> element) {
  int64_t threads = kSide * kSide;
  emit.loop(emit.constant(0), emit.constant(outer * inner / threads), [&](LoopEmitter &e, Value i) {
    Value number = e.add(e.mul(i, e.constant(threads)), kernel.thread);
    Value value = element(e, e.div(number, e.constant(inner)), e.rem(number, e.constant(inner)));
    memref::StoreOp::create(e.builder, loc, value, tile, number);
  });
}

void TiledProduct::emitTile(LoopEmitter &emit, Value unit) {
  Sizes space{batches, SymExpr(product.groups), rowTiles, columnTiles};
  Values at = emit.delinearize(unit, space);
  batch = emit.delinearize(at[0], ArrayRef(product.rows).take_front(product.batchDims));
  group = at[1];
  firstRow = emit.mul(at[2], emit.constant(tile));
  firstColumn = emit.mul(at[3], emit.constant(tile));
  Value side = emit.constant(kSide);
  Value threadRow = emit.div(kernel.thread, side), threadColumn = emit.rem(kernel.thread, side);
  Value depth = emit.size(product.depth);

  Values zeros(each * each, product.zero(emit));
  Values sums = emit.loop(
      emit.constant(0), emit.size(ceilQuotient(product.depth, kDepth)), zeros,
      [&](LoopEmitter &e, Value step, ValueRange carried) {
        Value firstK = e.mul(step, e.constant(kDepth));
        fill(e, lhsTile, tile, kDepth, [&](LoopEmitter &e, Value line, Value inner) {
          Value row = e.add(firstRow, line), k = e.add(firstK, inner);
          Value isInside = e.both(e.less(row, e.size(rows)), e.less(k, depth));
          return guarded(e, isInside, [&](LoopEmitter &e) {
            return product.lhs(e, rowIndices(e, row), group, k);
          });
        });
        fill(e, rhsTile, kDepth, tile, [&](LoopEmitter &e, Value line, Value inner) {
          Value k = e.add(firstK, line), column = e.add(firstColumn, inner);
          Value isInside = e.both(e.less(column, e.size(product.columns)), e.less(k, depth));
          return guarded(e, isInside,
                         [&](LoopEmitter &e) { return product.rhs(e, batch, group, k, column); });
        });
        kernel.barrier(e.builder);
        Values next = e.loop(
            e.constant(0), e.constant(kDepth), carried,
            [&](LoopEmitter &e, Value k, ValueRange sums) {
              Values left, right, results;
              for (int64_t i = 0; i < each; ++i) {
                Value line = e.add(threadRow, i * kSide);
                left.push_back(memref::LoadOp::create(e.builder, loc, lhsTile,
                                                      e.add(e.mul(line, e.constant(kDepth)), k)));
                Value column = e.add(threadColumn, i * kSide);
                right.push_back(memref::LoadOp::create(e.builder, loc, rhsTile,
                                                       e.add(e.mul(k, e.constant(tile)), column)));
              }
              for (int64_t i = 0; i < each; ++i)
                for (int64_t j = 0; j < each; ++j)
                  results.push_back(product.multiplyAdd(e, left[i], right[j], sums[i * each + j]));
              return results;
            });
        kernel.barrier(e.builder);
        return next;
      });

  for (int64_t i = 0; i < each; ++i) {
    Value row = emit.add(firstRow, emit.add(threadRow, i * kSide));
    emit.branch(emit.less(row, emit.size(rows)), [&](LoopEmitter &e) {
      Values indices = rowIndices(e, row);
      for (int64_t j = 0; j < each; ++j) {
        Value column = e.add(firstColumn, e.add(threadColumn, j * kSide));
        e.branch(e.less(column, e.size(product.columns)), [&](LoopEmitter &inner) {
          product.store(inner, indices, group, column, sums[i * each + j]);
        });
      }
    });
  }
}

void TiledProduct::build() {
  kernel.launch.block = kSide * kSide;
  lhsTile = kernel.allocateShared(product.sumType, tile * kDepth);
  rhsTile = kernel.allocateShared(product.sumType, kDepth * tile);
  kernel.launch.grid = batches * product.groups * rowTiles * columnTiles;
  kernel.emitWorkgroupUnits([&](LoopEmitter &emit, Value unit) { emitTile(emit, unit); });
}

LogicalResult gpucode::buildProduct(GpuKernel &kernel) {
  if (failed(loops::checkResultShapes(kernel)))
    return failure();
  Product product(kernel);
  // A tile of few rows, columns or products is mostly padding.
  int64_t rows = typicalValue(lumen::product(ArrayRef(product.rows).drop_front(product.batchDims)));
  bool isTiled =
      rows >= 8 && typicalValue(product.columns) >= 8 && typicalValue(product.depth) >= 8;
  if (!isTiled)
    return buildByElement(kernel, product);
  // Of large ones, tiles that load an eighth of what they multiply.
  bool isLarge = rows >= 256 && typicalValue(product.columns) >= 64 &&
                 product.sumType.getIntOrFloatBitWidth() <= 32 &&
                 TiledProduct::sharedBytes(product, 8) <= kernel.device.sharedBytes;
  TiledProduct(kernel, product, isLarge ? 8 : 4).build();
  return success();
}
