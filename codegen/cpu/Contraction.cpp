//===- Contraction.cpp - matrix products on the CPU -----------------------===//

#include "codegen/cpu/MatrixProduct.h"
#include "codegen/loops/Nest.h"
#include "codegen/cpu/ProductNest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

/// Copies one panel of B into scratch memory in packed form, through the
/// kernel's expression, which also applies what was fused before the operand.
void emitPacking(CpuKernel &kernel, const MatrixProduct &product, const SymExpr &columns,
                 ArrayRef<Value> batch, Value firstColumn, Value memory,
                 const ProductTypes &types) {
  int64_t lanes = std::min(kernel.caps.lanes(types.sum), kPanelColumns);
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  // A vector of row `k`.
  auto load = [&](Value k, Value column) {
    Position where;
    where.indices.assign(batch.begin(), batch.end());
    where.indices.push_back(product.transposeRhs ? column : k);
    where.indices.push_back(product.transposeRhs ? k : column);
    where.vectorDim = where.indices.size() - (product.transposeRhs ? 2 : 1);
    where.lanes = lanes;
    if (!isMultiple(columns, kPanelColumns)) {
      Value left = builder.createOrFold<arith::SubIOp>(
          loc, kernel.value(columns),
          arith::MinUIOp::create(builder, loc, column, kernel.value(columns)));
      where.mask = makeMask(builder, loc, left, lanes);
    }
    return kernel.expression.emit(builder, loc, product.rhs, where);
  };
  auto forColumns = [&](llvm::function_ref<void(Value inPanel, Value column)> body) {
    emitFor(kernel, {kernel.index(0), kernel.index(kPanelColumns)}, lanes,
            [&](Value inPanel) { body(inPanel, addIndex(kernel, firstColumn, inPanel)); });
  };
  auto store = [&](Value data, Value group, int64_t offset, Value inPanel) {
    Value at = addIndex(kernel, mulIndex(kernel, group, types.groupSize()), inPanel);
    vector::StoreOp::create(builder, loc, data, memory,
                            ValueRange{addIndex(kernel, at, kernel.index(offset))});
  };
  if (!types.isInteger())
    return emitFor(kernel, {kernel.index(0), kernel.value(product.depth)}, 1, [&](Value k) {
      forColumns([&](Value inPanel, Value column) { store(load(k, column), k, 0, inPanel); });
    });

  // Rows side by side in the lanes of one sum.
  auto sumVector = VectorType::get({lanes}, types.sum);
  int64_t width = types.rhs.getIntOrFloatBitWidth();
  auto join = [&](ArrayRef<Value> rows) {
    Value joined;
    for (auto [i, row] : llvm::enumerate(rows)) {
      Value wide = arith::ExtUIOp::create(builder, loc, sumVector, row);
      Value shift = arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(sumVector, ArrayRef<Attribute>(builder.getI32IntegerAttr(
                                                width * static_cast<int64_t>(i)))));
      wide = builder.createOrFold<arith::ShLIOp>(loc, wide, shift);
      joined = joined ? Value(arith::OrIOp::create(builder, loc, joined, wide)) : wide;
    }
    return joined;
  };
  auto emitGroup = [&](Value group, int64_t present) {
    forColumns([&](Value inPanel, Value column) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < types.group(); ++i) {
        if (i < present)
          rows.push_back(load(
              addIndex(kernel, mulIndex(kernel, group, types.group()), kernel.index(i)), column));
        else
          rows.push_back(
              arith::ConstantOp::create(builder, loc, builder.getZeroAttr(rows.front().getType())));
      }
      if (width == 8)
        return store(join(rows), group, 0, inPanel);
      store(join({rows[0], rows[2]}), group, 0, inPanel);
      store(join({rows[1], rows[3]}), group, kPanelColumns, inPanel);
    });
  };
  int64_t depth = *product.depth.asConstant(), groups = depth / types.group();
  emitFor(kernel, {kernel.index(0), kernel.index(groups)}, 1,
          [&](Value group) { emitGroup(group, types.group()); });
  if (depth % types.group() != 0)
    emitGroup(kernel.index(groups), depth % types.group());
}

/// The same for a transposed B in memory, by tiles that are transposed in registers. Vectors
/// of the panel without a column of B are left out: few keys make narrow panels.
void emitTransposedPacking(CpuKernel &kernel, const MatrixProduct &product, const SymExpr &columns,
                           ArrayRef<Value> batch, Value firstColumn, Value memory,
                           const ProductTypes &types) {
  int64_t lanes = std::min(kernel.caps.lanes(types.sum), kPanelColumns);
  Value width = kernel.index(kPanelColumns);
  if (!isMultiple(columns, kPanelColumns))
    width = minIndex(kernel, width, subIndex(kernel, kernel.value(columns), firstColumn));
  int64_t depth = *product.depth.asConstant(), whole = depth / lanes * lanes;
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  auto emitTile = [&](Value inPanel, Value k, int64_t rows) {
    SmallVector<Value> tile;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      // Behind the last column anything will do that can be read.
      Value column = addIndex(kernel, firstColumn, addIndex(kernel, inPanel, kernel.index(lane)));
      if (!isMultiple(columns, kPanelColumns))
        column = minIndex(kernel, column, kernel.value(columns - 1));
      Position where;
      where.indices.assign(batch.begin(), batch.end());
      where.indices.append({column, k});
      where.vectorDim = where.indices.size() - 1;
      where.lanes = lanes;
      if (rows < lanes)
        where.mask = makeMask(builder, loc, kernel.index(rows), lanes);
      tile.push_back(kernel.expression.load(builder, loc, *product.rhsMemory, where));
    }
    transposeTile(builder, loc, tile);
    for (int64_t row = 0; row < rows; ++row) {
      Value at = addIndex(kernel, k, kernel.index(row));
      at = addIndex(kernel, mulIndex(kernel, at, kPanelColumns), inPanel);
      vector::StoreOp::create(builder, loc, tile[row], memory, ValueRange{at});
    }
  };
  emitFor(kernel, {kernel.index(0), width}, lanes, [&](Value inPanel) {
    if (whole > 0)
      emitFor(kernel, {kernel.index(0), kernel.index(whole)}, lanes,
              [&](Value k) { emitTile(inPanel, k, lanes); });
    if (whole < depth)
      emitTile(inPanel, kernel.index(whole), depth - whole);
  });
}

} // namespace

FailureOr<LaunchShape> cpu::buildMatrixProduct(CpuKernel &kernel, const MatrixProduct &product) {
  FailureOr<Epilogue> epilogue = Epilogue::analyze(kernel);
  if (failed(epilogue))
    return failure();
  auto resultType = cast<RankedTensorType>(kernel.root->getResult(0).getType());
  Sizes sizes = sizesOf(resultType);
  int64_t rank = sizes.size();

  // Rows may run over as many dimensions as all operands agree on.
  int64_t rowDim = rank - 2;
  auto collapses = [&](int64_t dim) {
    return collapsedStride(sizes, product.lhsStrides, dim, rank - 1) && epilogue->collapses(dim);
  };
  assert(collapses(rowDim) && "one dimension always has a stride");
  while (rowDim > product.batchDims && collapses(rowDim - 1))
    --rowDim;
  ArrayRef<SymExpr> batchSizes = ArrayRef(sizes).take_front(product.batchDims);
  ArrayRef<SymExpr> outerSizes =
      ArrayRef(sizes).slice(product.batchDims, rowDim - product.batchDims);
  SymExpr rows = lumen::product(ArrayRef(sizes).slice(rowDim, rank - 1 - rowDim));
  SymExpr outerCount = lumen::product(outerSizes), batchCount = lumen::product(batchSizes);

  ProductNest nest(kernel, *epilogue);
  const ProductTypes &types = nest.types;
  Type type = nest.type, lhsType = storageType(types.lhs);
  nest.groups = batchCount * product.groups;
  nest.columns = SymExpr::floorDiv(sizes.back(), product.groups);
  nest.columnsOfGroup = product.batchDims > 0 && batchCount != SymExpr(1) ? 0 : nest.columns;
  nest.depth = product.depth;
  if (std::optional<int64_t> depth = product.depth.asConstant())
    nest.partialRows = *depth % types.group();
  else if (!isMultiple(product.depth, types.group()))
    nest.partialRows = kAnyPartialRows;
  nest.rows = rows;
  nest.rowDim = rowDim;
  std::optional<int64_t> constRows = rows.asConstant(), constDepth = product.depth.asConstant();
  if (constRows) {
    // An even number of chunks of at least 64 rows: they are shared by two workers
    // or more, and a panel stays in the first cache level for some tiles.
    nest.chunks = *constRows < 96 ? 1
                                  : llvm::alignTo(std::min<int64_t>(
                                                      llvm::divideCeil(*constRows, 64), 32),
                                                  2);
  }
  nest.lines = outerCount * nest.chunks;
  bool mayReadInPlace = product.rhsMemory && !product.transposeRhs;
  nest.depthBlocks = mayReadInPlace ? 1 : nest.wantedDepthBlocks();
  if (!constRows) {
    nest.chunks = rowChunks(rows, /*bounded=*/nest.depthBlocks > 1);
    nest.lines = outerCount * nest.chunks;
  }
  constexpr int64_t kTypicalRows = 256;
  nest.panelsFirst =
      !product.packed ||
      typicalValue(sizes.back()) > (rows * outerCount).asConstant().value_or(kTypicalRows);
  SymExpr lhsRow = *collapsedStride(sizes, product.lhsStrides, rowDim, rank - 1);
  int64_t elementBytes = type.getIntOrFloatBitWidth() / 8;

  // A panel that few rows read, or one too deep for scratch memory, stays where it
  // lies, if that is possible.
  constexpr int64_t kFewRows = 32, kMaxUnknownDepth = 512, kMaxDepth = 2048;
  int64_t scratchDepth = product.packed ? 0 : constDepth.value_or(kMaxUnknownDepth);
  if (mayReadInPlace && scratchDepth > kMaxDepth)
    scratchDepth = 0;
  int64_t packedOffset =
      scratchDepth == 0 ? -1
                        : nest.reserve(*types.panelSize(scratchDepth).asConstant() * elementBytes);
  Value isPacked, rhsRow;
  if (mayReadInPlace) {
    Address address(kernel.builder, kernel.loc);
    auto isLess = [&](Value lhs, Value rhs) -> Value {
      return arith::CmpIOp::create(kernel.builder, kernel.loc, arith::CmpIPredicate::sle, lhs, rhs);
    };
    isPacked = kernel.builder.createOrFold<arith::AndIOp>(
        kernel.loc, isLess(kernel.index(kFewRows), kernel.value(rows * outerCount)),
        isLess(kernel.value(product.depth), kernel.index(scratchDepth)));
    const Sizes &strides = product.rhsMemory->strides;
    rhsRow = arith::SelectOp::create(kernel.builder, kernel.loc, isPacked,
                                     address.constant(kPanelColumns),
                                     address.size(kernel, strides[strides.size() - 2]));
  }

  auto pack = [&](Value inGroup, ArrayRef<Value> batch) {
    Address address(kernel.builder, kernel.loc);
    Value memory =
        kernel.scratchView(packedOffset, type, *types.panelSize(scratchDepth).asConstant());
    auto emit = product.rhsMemory && product.transposeRhs ? emitTransposedPacking : emitPacking;
    emit(kernel, product, nest.columns, batch, mulIndex(kernel, inGroup, kPanelColumns), memory,
         types);
    return address.ofMemref(memory);
  };
  auto panel = [&](Value index, Value group) -> Value {
    Address address(kernel.builder, kernel.loc);
    if (product.packed)
      return address.offset(address.ofMemref(product.packed), type,
                            address.mul(address.fromIndex(index),
                                        address.size(kernel, types.panelSize(product.depth))));
    Value inGroup = remIndex(kernel, index, ceilQuotient(nest.columns, kPanelColumns));
    SmallVector<Value> batch = delinearize(kernel, group, batchSizes);
    if (!mayReadInPlace)
      return pack(inGroup, batch);
    Value offset = linearize(kernel, batch, product.rhsMemory->strides);
    offset = addIndex(kernel, offset, mulIndex(kernel, inGroup, kPanelColumns));
    Value inPlace = address.offset(address.ofMemref(product.rhsMemory->memref), type,
                                   address.fromIndex(offset));
    if (packedOffset < 0)
      return inPlace;
    auto branch = scf::IfOp::create(kernel.builder, kernel.loc, TypeRange(inPlace.getType()),
                                    isPacked, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(kernel.builder, kernel.loc, pack(inGroup, batch));
    kernel.builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(kernel.builder, kernel.loc, inPlace);
    return branch.getResult(0);
  };

  int64_t blockDepth = 0;
  if (nest.depthBlocks > 1) {
    blockDepth = llvm::alignTo(llvm::divideCeil(*constDepth, nest.depthBlocks), 16);
    nest.depthBlocks = llvm::divideCeil(*constDepth, blockDepth);
  }

  auto line = [&](const ProductNest::Place &place) {
    SmallVector<Value> outer;
    if (!batchSizes.empty())
      outer = delinearize(kernel, place.group, batchSizes);
    outer.append(delinearize(kernel, divIndex(kernel, place.line, nest.chunks), outerSizes));
    Value chunk = remIndex(kernel, place.line, nest.chunks);
    RowSplit split = nest.split(place.tile);
    auto blockOf = [&](Value chunk) {
      return divIndex(kernel, mulIndex(kernel, chunk, split.blocks), nest.chunks);
    };
    Value begin = blockOf(chunk);
    Value end = blockOf(addIndex(kernel, chunk, kernel.index(1)));

    auto clamp = [&](Value block, bool below) -> Value {
      Value larger = kernel.value(split.larger);
      return below ? arith::MinUIOp::create(kernel.builder, kernel.loc, block, larger).getResult()
                   : arith::MaxUIOp::create(kernel.builder, kernel.loc, block, larger).getResult();
    };

    auto emit = [&](Value first, Value last, const SymExpr &tileRows, Value row) {
      Address address(kernel.builder, kernel.loc);
      TileCall call;
      nest.setRows(call, place, tileRows);
      call.count =
          address.fromIndex(kernel.builder.createOrFold<arith::SubIOp>(kernel.loc, last, first));
      Value offset = linearize(kernel, outer, ArrayRef(product.lhsStrides).take_front(rowDim));
      offset = addIndex(kernel, offset, mulIndex(kernel, row, lhsRow));
      if (product.groups > 1)
        offset = addIndex(kernel, offset, mulIndex(kernel, place.group, product.lhsOfGroup));
      call.a = address.offset(address.ofMemref(product.lhs), lhsType, address.fromIndex(offset));
      call.aRow = address.size(kernel, lhsRow);
      call.bRow = rhsRow;
      call.depth = address.size(kernel, product.depth);
      ProductNest::Place at = place;
      if (place.block) {
        Value done = address.mul(address.fromIndex(place.block), blockDepth);
        call.a = address.offset(call.a, lhsType, done);
        at.b = address.offset(place.b, type, address.mul(done, types.rowSize()));
        call.depth = arith::MinSIOp::create(
            kernel.builder, kernel.loc, address.constant(blockDepth),
            arith::SubIOp::create(kernel.builder, kernel.loc, call.depth, done));
      }
      // Row of block `begin`, the line's first.
      Value lineRow = addIndex(kernel, mulIndex(kernel, begin, split.rows), clamp(begin, true));
      nest.emitTiles(call, at, outer, row,
                     kernel.builder.createOrFold<arith::SubIOp>(kernel.loc, row, lineRow));
    };
    bool hasLarger = split.larger != SymExpr(0);
    if (hasLarger)
      emit(clamp(begin, true), clamp(end, true), split.rows + 1,
           mulIndex(kernel, clamp(begin, true), split.rows + 1));
    Value first = hasLarger ? clamp(begin, false) : begin;
    Value last = hasLarger ? clamp(end, false) : end;
    emit(first, last, split.rows,
         addIndex(kernel, mulIndex(kernel, first, split.rows), kernel.value(split.larger)));
  };
  return nest.emit(panel, line);
}

FailureOr<LaunchShape> cpu::buildContraction(CpuKernel &kernel) {
  auto contract = cast<ContractOp>(kernel.root);
  auto resultType = cast<RankedTensorType>(contract.getType());
  auto rhsType = cast<RankedTensorType>(contract.getRhs().getType());
  auto lhs = dyn_cast<BlockArgument>(contract.getLhs()),
       rhs = dyn_cast<BlockArgument>(contract.getRhs());
  Sizes lhsSizes = sizesOf(contract.getLhs());
  SymExpr depth = lhsSizes[lhsSizes.size() - (contract.getTransposeLhs() ? 2 : 1)];
  ProductTypes types(kernel.root);
  if (!types.isSupported() || !lhs || contract.getTransposeLhs() ||
      llvm::is_contained(resultType.getShape(), 0) || depth == SymExpr(0))
    return buildGenericContraction(kernel);
  const Access &access = kernel.arguments[lhs.getArgNumber()];
  if (access.strides.back() != SymExpr(1) && !isOne(depth))
    return buildGenericContraction(kernel);

  MatrixProduct product;
  product.lhs = access.memref;
  product.lhsStrides.assign(access.strides.begin(), access.strides.end() - 1);
  product.depth = depth;
  if (contract.getPacked() && rhs) {
    product.packed = kernel.arguments[rhs.getArgNumber()].memref;
  } else if (contract.getPacked()) {
    return buildGenericContraction(kernel);
  } else {
    product.rhs = contract.getRhs();
    product.batchDims = rhsType.getRank() - 2;
    product.transposeRhs = contract.getTransposeRhs();
    bool isStatic = resultType.hasStaticShape() && depth.asConstant();
    const Access *memory = rhs ? &kernel.arguments[rhs.getArgNumber()] : nullptr;
    if (memory && !types.isInteger() && (!isStatic || product.transposeRhs) &&
        memory->strides.back() == SymExpr(1))
      product.rhsMemory = memory;
    // Scratch memory for packing has a constant size.
    if (!depth.asConstant() && (!product.rhsMemory || product.transposeRhs))
      return buildGenericContraction(kernel);
  }
  return buildMatrixProduct(kernel, product);
}
