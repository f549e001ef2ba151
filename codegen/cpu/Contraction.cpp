//===- Contraction.cpp - matrix products on the CPU -----------------------===//

#include "codegen/cpu/MatrixProduct.h"
#include "codegen/cpu/Nest.h"
#include "codegen/cpu/ProductNest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

/// Copies one panel of B into scratch memory in packed form, through the
/// kernel's expression, which also applies what was fused before the operand.
void emitPacking(CpuKernel &kernel, const MatrixProduct &product, int64_t columns,
                 ArrayRef<Value> batch, Value firstColumn, Value memory, Type type) {
  int64_t lanes = std::min(kernel.caps.lanes(type), kPanelColumns);
  emitFor(kernel, {kernel.index(0), kernel.index(product.depth)}, 1, [&](Value k) {
    emitFor(kernel, {kernel.index(0), kernel.index(kPanelColumns)}, lanes, [&](Value inPanel) {
      Value column = addIndex(kernel, firstColumn, inPanel);
      Position where;
      where.indices.assign(batch.begin(), batch.end());
      where.indices.push_back(product.transposeRhs ? column : k);
      where.indices.push_back(product.transposeRhs ? k : column);
      where.vectorDim = where.indices.size() - (product.transposeRhs ? 2 : 1);
      where.lanes = lanes;
      if (columns % kPanelColumns != 0) {
        Value left = kernel.builder.createOrFold<arith::SubIOp>(
            kernel.loc, kernel.index(columns),
            arith::MinUIOp::create(kernel.builder, kernel.loc, column, kernel.index(columns)));
        where.mask = makeMask(kernel.builder, kernel.loc, left, lanes);
      }
      Value data = kernel.expression.emit(kernel.builder, kernel.loc, product.rhs, where);
      Value at = addIndex(kernel, mulIndex(kernel, k, kPanelColumns), inPanel);
      vector::StoreOp::create(kernel.builder, kernel.loc, data, memory, ValueRange{at});
    });
  });
}

} // namespace

FailureOr<LaunchShape> cpu::buildMatrixProduct(CpuKernel &kernel, const MatrixProduct &product) {
  FailureOr<Epilogue> epilogue = Epilogue::analyze(kernel);
  if (failed(epilogue))
    return failure();
  auto resultType = cast<RankedTensorType>(kernel.root->getResult(0).getType());
  ArrayRef<int64_t> shape = resultType.getShape();
  int64_t rank = shape.size();
  Type type = resultType.getElementType();

  // Rows may run over as many dimensions as all operands agree on.
  int64_t rowDim = rank - 2;
  auto collapses = [&](int64_t dim) {
    return collapsedStride(shape, product.lhsStrides, dim, rank - 1) && epilogue->collapses(dim);
  };
  assert(collapses(rowDim) && "one dimension always has a stride");
  while (rowDim > product.batchDims && collapses(rowDim - 1))
    --rowDim;
  ArrayRef<int64_t> batchShape = shape.take_front(product.batchDims);
  ArrayRef<int64_t> outerShape = shape.slice(product.batchDims, rowDim - product.batchDims);
  int64_t rows = 1, outerCount = 1, batchCount = 1;
  for (int64_t size : shape.slice(rowDim, rank - 1 - rowDim))
    rows *= size;
  for (int64_t size : outerShape)
    outerCount *= size;
  for (int64_t size : batchShape)
    batchCount *= size;

  ProductNest nest(kernel, *epilogue, type);
  // An even number of chunks of at least 64 rows: they are shared by two workers
  // or more, and a panel stays in the first cache level for some tiles.
  int64_t chunks =
      rows < 96 ? 1 : llvm::alignTo(std::min<int64_t>(llvm::divideCeil(rows, 64), 32), 2);
  nest.groups = product.groups * batchCount;
  nest.columns = shape.back() / product.groups;
  nest.columnsOfGroup = batchCount > 1 ? 0 : nest.columns;
  nest.depth = product.depth;
  nest.lines = outerCount * chunks;
  nest.rows = rows;
  nest.chunks = chunks;
  nest.rowDim = rowDim;
  nest.panelsFirst = !product.packed || shape.back() > rows * outerCount;
  int64_t lhsRow = *collapsedStride(shape, product.lhsStrides, rowDim, rank - 1);
  int64_t elementBytes = type.getIntOrFloatBitWidth() / 8;
  int64_t packedBytes = product.depth * kPanelColumns * elementBytes;
  int64_t packedOffset = product.packed ? -1 : nest.reserve(packedBytes);

  auto panel = [&](Value index, Value group) -> Value {
    Address address(kernel.builder, kernel.loc);
    if (product.packed)
      return address.offset(address.ofMemref(product.packed), type,
                            address.mul(address.fromIndex(index), product.depth * kPanelColumns));
    Value memory = kernel.scratchView(packedOffset, type, product.depth * kPanelColumns);
    Value inGroup = remIndex(kernel, index, llvm::divideCeil(nest.columns, kPanelColumns));
    emitPacking(kernel, product, nest.columns, delinearize(kernel, group, batchShape),
                mulIndex(kernel, inGroup, kPanelColumns), memory, type);
    return address.ofMemref(memory);
  };

  nest.depthBlocks = nest.wantedDepthBlocks();
  int64_t blockDepth = llvm::alignTo(llvm::divideCeil(product.depth, nest.depthBlocks), 16);
  nest.depthBlocks = llvm::divideCeil(product.depth, blockDepth);

  auto line = [&](const ProductNest::Place &place) {
    SmallVector<Value> outer;
    if (!batchShape.empty())
      outer = delinearize(kernel, place.group, batchShape);
    outer.append(delinearize(kernel, divIndex(kernel, place.line, chunks), outerShape));
    Value chunk = remIndex(kernel, place.line, chunks);
    RowSplit split = nest.split(place.tile);
    auto blockOf = [&](Value chunk) {
      return divIndex(kernel, mulIndex(kernel, chunk, split.blocks), chunks);
    };
    Value begin = blockOf(chunk);
    Value end = blockOf(addIndex(kernel, chunk, kernel.index(1)));

    auto clamp = [&](Value block, bool below) -> Value {
      Value larger = kernel.index(split.larger);
      return below ? arith::MinUIOp::create(kernel.builder, kernel.loc, block, larger).getResult()
                   : arith::MaxUIOp::create(kernel.builder, kernel.loc, block, larger).getResult();
    };

    auto emit = [&](Value first, Value last, int64_t tileRows, Value row) {
      Address address(kernel.builder, kernel.loc);
      TileCall call;
      call.tile.rows = tileRows;
      call.count =
          address.fromIndex(kernel.builder.createOrFold<arith::SubIOp>(kernel.loc, last, first));
      Value offset = linearize(kernel, outer, ArrayRef(product.lhsStrides).take_front(rowDim));
      offset = addIndex(kernel, offset, mulIndex(kernel, row, lhsRow));
      if (product.groups > 1)
        offset = addIndex(kernel, offset, mulIndex(kernel, place.group, product.lhsOfGroup));
      call.a = address.offset(address.ofMemref(product.lhs), type, address.fromIndex(offset));
      call.aRow = address.constant(lhsRow);
      call.depth = address.constant(product.depth);
      ProductNest::Place at = place;
      if (place.block) {
        Value done = address.mul(address.fromIndex(place.block), blockDepth);
        call.a = address.offset(call.a, type, done);
        at.b = address.offset(place.b, type, address.mul(done, kPanelColumns));
        call.depth = arith::MinSIOp::create(
            kernel.builder, kernel.loc, address.constant(blockDepth),
            arith::SubIOp::create(kernel.builder, kernel.loc, call.depth, done));
      }
      // Row of block `begin`, the line's first.
      Value lineRow = addIndex(kernel, mulIndex(kernel, begin, split.rows), clamp(begin, true));
      nest.emitTiles(call, at, outer, row,
                     kernel.builder.createOrFold<arith::SubIOp>(kernel.loc, row, lineRow));
    };
    if (split.larger > 0)
      emit(clamp(begin, true), clamp(end, true), split.rows + 1,
           mulIndex(kernel, clamp(begin, true), split.rows + 1));
    Value first = split.larger > 0 ? clamp(begin, false) : begin;
    Value last = split.larger > 0 ? clamp(end, false) : end;
    emit(first, last, split.rows,
         addIndex(kernel, mulIndex(kernel, first, split.rows), kernel.index(split.larger)));
  };
  return nest.emit(panel, line);
}

FailureOr<LaunchShape> cpu::buildContraction(CpuKernel &kernel) {
  if (failed(checkStaticTypes(kernel)))
    return failure();
  auto contract = cast<ContractOp>(kernel.root);
  auto resultType = cast<RankedTensorType>(contract.getType());
  auto lhsType = cast<RankedTensorType>(contract.getLhs().getType());
  auto rhsType = cast<RankedTensorType>(contract.getRhs().getType());
  auto lhs = dyn_cast<BlockArgument>(contract.getLhs());
  int64_t depth = lhsType.getShape()[lhsType.getRank() - (contract.getTransposeLhs() ? 2 : 1)];
  if (!resultType.getElementType().isF32() || !lhs || contract.getTransposeLhs() ||
      resultType.getNumElements() == 0 || depth == 0)
    return buildGenericContraction(kernel);
  const Access &access = kernel.arguments[lhs.getArgNumber()];
  if (access.strides.back() != SymExpr(1) && depth != 1)
    return buildGenericContraction(kernel);

  MatrixProduct product;
  product.lhs = access.memref;
  product.lhsStrides = *asConstants(ArrayRef(access.strides).drop_back());
  product.depth = depth;
  auto rhs = dyn_cast<BlockArgument>(contract.getRhs());
  if (contract.getPacked() && rhs) {
    product.packed = kernel.arguments[rhs.getArgNumber()].memref;
  } else if (contract.getPacked()) {
    return buildGenericContraction(kernel);
  } else {
    product.rhs = contract.getRhs();
    product.batchDims = rhsType.getRank() - 2;
    product.transposeRhs = contract.getTransposeRhs();
  }
  return buildMatrixProduct(kernel, product);
}
