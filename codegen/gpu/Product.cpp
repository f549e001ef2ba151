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
  return extend(emit, value, typeOf(tensor).getElementType());
}

Value Product::extend(LoopEmitter &emit, Value value, Type element) {
  if (value.getType() == sumType)
    return value;
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

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

/// Along the last dimension of `access`, which may be null.
std::optional<NeighbourAccess> Product::neighbours(const Access *access, int64_t lanes) {
  if (!access)
    return std::nullopt;
  Type element = access->type.getElementType();
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() < 16)
    return std::nullopt;
  // Whole vectors, which begin at multiples of their size where the argument does.
  int64_t last = access->type.getRank() - 1;
  for (auto [i, size] : llvm::enumerate(sizesOf(access->type))) {
    bool fits = static_cast<int64_t>(i) == last
                    ? isOne(access->strides[i]) && isMultiple(size, lanes)
                    : isOne(size) || isMultiple(access->strides[i], lanes);
    if (!fits)
      return std::nullopt;
  }
  int64_t bytes = lanes * element.getIntOrFloatBitWidth() / 8;
  return NeighbourAccess{*access,
                         lanes,
                         /*alongDepth=*/true,
                         /*isPadded=*/false,
                         kernel.vectorsOf(*access, lanes),
                         kernel.isAligned(*access, bytes)};
}

std::optional<NeighbourAccess> Product::lhsNeighbours(int64_t lanes) {
  // Of one tap and group.
  if ((contract && contract.getTransposeLhs()) || !isMultiple(channels, lanes))
    return std::nullopt;
  return neighbours(kernel.expression.findMemory(left), lanes);
}

std::optional<NeighbourAccess> Product::rhsNeighbours(int64_t lanes) {
  bool isPacked = contract ? contract.getPacked() : conv.getPacked();
  if (isDepthwise() || (conv && !isPacked))
    return std::nullopt;
  auto from = neighbours(kernel.expression.findMemory(right), lanes);
  if (!from)
    return from;
  from->alongDepth = contract && !isPacked && contract.getTransposeRhs();
  from->isPadded = isPacked;
  return from;
}

static Value linearize(LoopEmitter &emit, ArrayRef<Value> indices, ArrayRef<SymExpr> strides) {
  Value sum = emit.constant(0);
  for (auto [index, stride] : llvm::zip(indices, strides))
    sum = emit.add(sum, emit.mul(index, emit.size(stride)));
  return sum;
}

Line Product::lhsLine(LoopEmitter &emit, const NeighbourAccess &from, ArrayRef<Value> row,
                      Value group) {
  if (contract)
    return {linearize(emit, row, from.access.strides), {}};
  Line line;
  Values indices(row);
  for (int64_t axis = 0, rank = conv.getWindow().size(); axis < rank; ++axis) {
    Value first = emit.mul(row[axis + 1], emit.constant(conv.getStrides()[axis]));
    indices[axis + 1] = emit.add(first, -conv.getPadLow()[axis]);
    line.positions.push_back(indices[axis + 1]);
  }
  indices.push_back(emit.mul(group, emit.size(channels)));
  line.base = linearize(emit, indices, from.access.strides);
  return line;
}

Line Product::rhsLine(LoopEmitter &emit, const NeighbourAccess &from, ArrayRef<Value> batch,
                      Value group, Value column) {
  if (contract && !contract.getPacked()) {
    Values indices(batch);
    indices.append({emit.constant(0), column});
    if (from.alongDepth)
      std::swap(indices.back(), indices[indices.size() - 2]);
    return {linearize(emit, indices, from.access.strides), {}};
  }
  Value width = emit.constant(kPanelColumns);
  Values indices = {emit.div(column, width), emit.constant(0), emit.rem(column, width)};
  if (conv)
    indices.insert(indices.begin(), group);
  return {linearize(emit, indices, from.access.strides), {}};
}

Values Product::lhsElements(LoopEmitter &emit, const NeighbourAccess &from, const Line &line,
                            Value k) {
  if (contract)
    return readNeighbours(emit, from, emit.add(line.base, k), {});
  auto [tap, channel] = splitDepth(emit, k);
  Sizes window, inputSizes = sizesOf(left);
  for (int64_t size : conv.getWindow())
    window.push_back(size);
  Value inside, offset = channel;
  for (auto [axis, index] : llvm::enumerate(emit.delinearize(tap, window))) {
    Value step = emit.mul(index, emit.constant(conv.getDilations()[axis]));
    offset = emit.add(offset, emit.mul(step, emit.size(from.access.strides[axis + 1])));
    if (conv.getPadLow()[axis] <= 0 && conv.getPadHigh()[axis] <= 0)
      continue;
    Value fits =
        emit.make<arith::CmpIOp>(arith::CmpIPredicate::ult, emit.add(line.positions[axis], step),
                                 emit.size(inputSizes[axis + 1]));
    inside = inside ? emit.both(inside, fits) : fits;
  }
  return readNeighbours(emit, from, emit.add(line.base, offset), inside);
}

Values Product::rhsElements(LoopEmitter &emit, const NeighbourAccess &from, const Line &line,
                            Value k) {
  // Taps follow each other in packed panels.
  int64_t dim = typeOf(right).getRank() - (from.alongDepth ? 1 : 2);
  Value offset = emit.mul(k, emit.size(from.access.strides[dim]));
  return readNeighbours(emit, from, emit.add(line.base, offset), {});
}

Values Product::readNeighbours(LoopEmitter &emit, const NeighbourAccess &from, Value first,
                               Value inside) {
  if (inside)
    first = emit.select(inside, first, emit.constant(0));
  Value number = emit.div(first, emit.constant(from.lanes));
  Value vector = memref::LoadOp::create(emit.builder, emit.loc, from.vectors, number);
  Type element = from.access.type.getElementType();
  Values values;
  for (int64_t lane = 0; lane < from.lanes; ++lane) {
    Value value = emit.make<vector::ExtractOp>(vector, lane);
    if (value.getType() != registerType(element))
      value = emit.make<arith::BitcastOp>(registerType(element), value);
    value = extend(emit, value, element);
    values.push_back(inside ? emit.select(inside, value, zero(emit)) : value);
  }
  return values;
}

Value Product::zero(LoopEmitter &emit) {
  return arith::ConstantOp::create(emit.builder, emit.loc, emit.builder.getZeroAttr(sumType));
}

Value Product::multiplyAdd(LoopEmitter &emit, Value a, Value b, Value sum) {
  if (isa<FloatType>(sumType))
    return emit.make<math::FmaOp>(a, b, sum);
  return emit.add(emit.mul(a, b), sum);
}

SmallVector<NeighbourAccess> Product::resultNeighbours(int64_t lanes) {
  SmallVector<NeighbourAccess> all;
  if (!isMultiple(columns, lanes))
    return all;
  for (const Access &access : kernel.results) {
    auto found = neighbours(&access, lanes);
    if (!found)
      return {};
    all.push_back(*found);
  }
  return all;
}

Values Product::resultsOf(LoopEmitter &emit, ArrayRef<Value> row, Value group, Value column,
                          Value sum, Position &at) {
  Value result = kernel.root->getResult(0);
  at.indices.assign(row.begin(), row.end());
  at.indices.push_back(groups == 1 ? column
                                   : emit.add(column, emit.mul(group, emit.size(columns))));
  sum = loops::narrow(emit.builder, emit.loc, sum, typeOf(result).getElementType());
  Expression expression = kernel.expression;
  expression.bindSource(result, [sum](OpBuilder &, Location, const Position &) { return sum; });
  Values values;
  for (unsigned i = 0; i < kernel.results.size(); ++i)
    values.push_back(Expression(expression).emit(emit.builder, emit.loc, kernel.yielded(i), at));
  return values;
}

void Product::store(LoopEmitter &emit, ArrayRef<Value> row, Value group, Value column, Value sum) {
  Position at;
  Values values = resultsOf(emit, row, group, column, sum, at);
  for (auto [value, access] : llvm::zip_equal(values, kernel.results))
    kernel.expression.store(emit.builder, emit.loc, value, access, at);
}

void Product::store(LoopEmitter &emit, ArrayRef<Value> row, Value group, Value column,
                    ArrayRef<Value> sums, ArrayRef<NeighbourAccess> results) {
  // Everything is read before anything is written: results may lie in place.
  SmallVector<Values> values;
  SmallVector<Position> places(sums.size());
  for (auto [lane, sum] : llvm::enumerate(sums))
    values.push_back(resultsOf(emit, row, group, emit.add(column, lane), sum, places[lane]));
  for (auto [i, to] : llvm::enumerate(results)) {
    auto storeOne = [&, i = i, &access = to.access](LoopEmitter &e) {
      for (auto [value, at] : llvm::zip_equal(values, places))
        kernel.expression.store(e.builder, e.loc, value[i], access, at);
    };
    auto storeAll = [&, i = i, &to = to](LoopEmitter &e) {
      Type element = cast<MemRefType>(to.access.memref.getType()).getElementType();
      Values elements;
      for (const Values &value : values)
        elements.push_back(
            value[i].getType() == element ? value[i] : e.make<arith::BitcastOp>(element, value[i]));
      Value vector = e.make<vector::FromElementsOp>(VectorType::get({to.lanes}, element), elements);
      Value first = linearize(e, places.front().indices, to.access.strides);
      memref::StoreOp::create(e.builder, e.loc, vector, to.vectors,
                              e.div(first, e.constant(to.lanes)));
    };
    emit.branch(to.isAligned, storeAll, storeOne);
  }
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

LogicalResult gpucode::buildProduct(GpuKernel &kernel) {
  if (failed(loops::checkResultShapes(kernel)))
    return failure();
  Product product(kernel);
  // A tile of few rows, columns or products is mostly padding.
  int64_t rows = typicalValue(lumen::product(ArrayRef(product.rows).drop_front(product.batchDims)));
  int64_t columns = typicalValue(product.columns);
  bool isTiled = rows >= 8 && columns >= 8 && typicalValue(product.depth) >= 8;
  // Of large ones, tiles that load an eighth of what they multiply.
  bool isLarge = rows >= 256 && columns >= 64 && product.sumType.getIntOrFloatBitWidth() <= 32;
  int64_t each = isLarge ? 8 : 4;
  if (!isTiled || sharedBytesOfTiles(product, each) > kernel.device.sharedBytes)
    return buildByElement(kernel, product);
  buildTiles(kernel, product, each);
  return success();
}
