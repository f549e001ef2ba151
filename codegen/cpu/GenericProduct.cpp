//===- GenericProduct.cpp - contractions and convolutions of any kind -----===//
//
// The road for what the micro-kernels do not take: other types than f32,
// transposed or fused left operands, filters that are not constants. Plain
// loops over vectors of output columns that pull their operands through the
// kernel's expression.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/MatrixProduct.h"
#include "codegen/loops/Nest.h"
#include "codegen/cpu/ProductNest.h"
#include "codegen/loops/Rows.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

/// One vector of the result: accumulates products and stores what the kernel
/// makes of the sum.
class VectorProduct {
public:
  explicit VectorProduct(CpuKernel &kernel)
      : kernel(kernel), builder(kernel.builder), loc(kernel.loc), types(kernel.root),
        type(registerType(types.sum)) {
    // Halves are summed in single precision.
    sumType =
        isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32 ? builder.getF32Type() : type;
    lanes = kernel.caps.lanes(sumType);
  }

  Value zero() {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getZeroAttr(VectorType::get({lanes}, sumType)));
  }

  Value multiplyAdd(Value scalar, Value vector, Value sum) {
    scalar = widen(scalar, types.lhs);
    vector = widen(vector, types.rhs);
    scalar = vector::BroadcastOp::create(builder, loc, sum.getType(), scalar);
    if (isa<FloatType>(sumType))
      return vector::FMAOp::create(builder, loc, scalar, vector, sum);
    return arith::AddIOp::create(builder, loc, sum,
                                 arith::MulIOp::create(builder, loc, scalar, vector));
  }

  void store(Value sum, const Position &where) {
    if (sumType != type)
      sum = arith::TruncFOp::create(builder, loc, VectorType::get({lanes}, type), sum);
    kernel.expression.bindSource(kernel.root->getResult(0),
                                 [sum](OpBuilder &, Location, const Position &) { return sum; });
    storeResults(kernel, kernel.expression, builder, where);
  }

  /// Adds to the indices of a panel those of row `k` of a tap of `channels` rows in it.
  void addPanelIndices(Position &where, Value tap, const SymExpr &channels, Value k, Value column) {
    Value inPanel = remIndex(kernel, column, kPanelColumns);
    Value first = mulIndex(kernel, tap, ceilQuotient(channels, types.group()));
    where.indices.push_back(addIndex(kernel, first, divIndex(kernel, k, types.group())));
    if (!types.isInteger()) {
      where.indices.push_back(inPanel);
      where.vectorDim = where.indices.size() - 1;
      return;
    }
    Value inGroup = remIndex(kernel, k, types.group());
    if (types.rhs.isInteger(16))
      where.indices.append({remIndex(kernel, inGroup, 2), inPanel, divIndex(kernel, inGroup, 2)});
    else
      where.indices.append({inPanel, inGroup});
    where.vectorDim = where.indices.size() - 2;
  }

  /// Vectors of `columns` columns, the last one masked where it is not whole.
  void emitColumns(const SymExpr &columns,
                   llvm::function_ref<void(Value first, Value mask)> body) {
    SymExpr whole = SymExpr::floorDiv(columns, lanes) * lanes, rest = columns - whole;
    if (whole != SymExpr(0))
      emitFor(kernel, {kernel.index(0), kernel.value(whole)}, lanes,
              [&](Value first) { body(first, Value()); });
    auto emitRest = [&](Value first) {
      body(first, makeMask(builder, loc, kernel.value(rest), lanes));
    };
    if (!rest.asConstant())
      emitFor(kernel, {kernel.value(whole), kernel.value(columns)}, lanes, emitRest);
    else if (rest != SymExpr(0))
      emitRest(kernel.value(whole));
  }

  /// A loop that carries the sum.
  Value emitSum(const SymExpr &count, Value sum, llvm::function_ref<Value(Value, Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, kernel.index(0), kernel.value(count),
                                   kernel.index(1), ValueRange{sum});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(builder, loc,
                         ValueRange{body(loop.getInductionVar(), loop.getRegionIterArg(0))});
    return loop.getResult(0);
  }

  int64_t lanes;

private:
  /// An element of type `from`, as what is summed.
  Value widen(Value value, Type from) {
    if (getElementTypeOrSelf(value.getType()) == sumType)
      return value;
    Type to = sumType;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      to = VectorType::get(vector.getShape(), sumType);
    if (isa<FloatType>(from))
      return arith::ExtFOp::create(builder, loc, to, value);
    if (from.isUnsignedInteger())
      return arith::ExtUIOp::create(builder, loc, to, value);
    return arith::ExtSIOp::create(builder, loc, to, value);
  }

  CpuKernel &kernel;
  OpBuilder &builder;
  Location loc;
  ProductTypes types;
  Type type, sumType; ///< in registers
};

/// Rows are the elements of all dimensions but the last.
LaunchShape emitResultRows(CpuKernel &kernel, const SymExpr &flopsPerRow,
                           llvm::function_ref<void(ArrayRef<Value> indices)> body) {
  Sizes sizes = sizesOf(kernel.root->getResult(0));
  sizes.pop_back();
  SymExpr rows = product(sizes);
  std::optional<int64_t> constRows = rows.asConstant(), constFlops = flopsPerRow.asConstant();
  // Slower than what the estimate is made for.
  WorkGrid grid = constRows && constFlops
                      ? WorkGrid(*constRows, 1, estimateMicros(*constFlops * 10.0, 0), false)
                      : WorkGrid(rows, 1, {rows * flopsPerRow * 10, 0}, false);
  emitUnits(kernel, grid, [&](IndexRange range, IndexRange) {
    emitFor(kernel, range, 1, [&](Value row) { body(delinearize(kernel, row, sizes)); });
  });
  return {grid.units(), 1, 0};
}

} // namespace

FailureOr<LaunchShape> cpu::buildGenericContraction(CpuKernel &kernel) {
  auto contract = cast<ContractOp>(kernel.root);
  Sizes sizes = sizesOf(contract.getResult()), lhsSizes = sizesOf(contract.getLhs());
  int64_t rhsRank = cast<RankedTensorType>(contract.getRhs().getType()).getRank();
  SymExpr depth = lhsSizes[lhsSizes.size() - (contract.getTransposeLhs() ? 2 : 1)];
  VectorProduct product(kernel);
  return emitResultRows(kernel, depth * sizes.back() * 2, [&](ArrayRef<Value> row) {
    product.emitColumns(sizes.back(), [&](Value column, Value mask) {
      Value sum = product.emitSum(depth, product.zero(), [&](Value k, Value sum) {
        Position lhs, rhs;
        lhs.indices.assign(row.begin(), row.end());
        lhs.indices.push_back(k);
        if (contract.getTransposeLhs())
          std::swap(lhs.indices.back(), lhs.indices[lhs.indices.size() - 2]);
        rhs.lanes = product.lanes;
        if (contract.getPacked()) {
          rhs.indices = {divIndex(kernel, column, kPanelColumns)};
          product.addPanelIndices(rhs, kernel.index(0), depth, k, column);
        } else {
          if (rhsRank > 2)
            rhs.indices.assign(row.begin(), row.end() - 1);
          rhs.indices.append({k, column});
          rhs.vectorDim = rhsRank - 1;
          rhs.mask = mask;
          if (contract.getTransposeRhs()) {
            std::swap(rhs.indices.back(), rhs.indices[rhsRank - 2]);
            rhs.vectorDim = rhsRank - 2;
          }
        }
        return product.multiplyAdd(
            kernel.expression.emit(kernel.builder, kernel.loc, contract.getLhs(), lhs),
            kernel.expression.emit(kernel.builder, kernel.loc, contract.getRhs(), rhs), sum);
      });
      Position where;
      where.indices.assign(row.begin(), row.end());
      where.indices.push_back(column);
      where.vectorDim = sizes.size() - 1;
      where.lanes = product.lanes;
      where.mask = mask;
      product.store(sum, where);
    });
  });
}

FailureOr<LaunchShape> cpu::buildGenericConvolution(CpuKernel &kernel) {
  auto conv = cast<ConvOp>(kernel.root);
  Sizes sizes = sizesOf(conv.getResult()), inputSizes = sizesOf(conv.getInput());
  int64_t groups = conv.getGroups(), rank = conv.getWindow().size();
  SymExpr channels = SymExpr::floorDiv(inputSizes.back(), groups),
          columns = SymExpr::floorDiv(sizes.back(), groups);
  int64_t taps = 1;
  for (int64_t size : conv.getWindow())
    taps *= size;
  VectorProduct product(kernel);
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;

  auto emitGroup = [&](ArrayRef<Value> row, Value group, Value column, Value mask) {
    SmallVector<Value> tap, at{row[0]};
    Value outColumn = addIndex(kernel, column, mulIndex(kernel, group, columns));
    auto emitChannels = [&](Value sum) {
      return product.emitSum(channels, sum, [&](Value c, Value sum) {
        Position input, filter;
        input.indices = at;
        input.indices.push_back(addIndex(kernel, c, mulIndex(kernel, group, channels)));
        filter.lanes = product.lanes;
        if (conv.getPacked()) {
          Value place = kernel.index(0);
          for (auto [index, size] : llvm::zip(tap, conv.getWindow()))
            place = addIndex(kernel, mulIndex(kernel, place, size), index);
          if (conv.isDepthwise()) {
            filter.indices = {place, outColumn};
            filter.vectorDim = 1;
            filter.mask = mask;
          } else {
            filter.indices = {group, divIndex(kernel, column, kPanelColumns)};
            product.addPanelIndices(filter, place, channels, c, column);
          }
        } else {
          filter.indices = tap;
          filter.indices.append({c, outColumn});
          filter.vectorDim = filter.indices.size() - 1;
          filter.mask = mask;
        }
        return product.multiplyAdd(kernel.expression.emit(builder, loc, conv.getInput(), input),
                                   kernel.expression.emit(builder, loc, conv.getFilter(), filter),
                                   sum);
      });
    };
    std::function<Value(int64_t, Value)> emitAxis = [&](int64_t axis, Value sum) -> Value {
      if (axis == rank)
        return emitChannels(sum);
      return product.emitSum(conv.getWindow()[axis], sum, [&](Value k, Value sum) -> Value {
        Value position =
            addIndex(kernel,
                     addIndex(kernel, mulIndex(kernel, row[axis + 1], conv.getStrides()[axis]),
                              mulIndex(kernel, k, conv.getDilations()[axis])),
                     kernel.index(-conv.getPadLow()[axis]));
        Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, position,
                                             kernel.value(inputSizes[axis + 1]));
        auto branch = scf::IfOp::create(builder, loc, TypeRange(ValueRange(sum)), inside,
                                        /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(branch.elseBlock());
        scf::YieldOp::create(builder, loc, sum);
        builder.setInsertionPointToStart(branch.thenBlock());
        tap.push_back(k);
        at.push_back(position);
        scf::YieldOp::create(builder, loc, emitAxis(axis + 1, sum));
        tap.pop_back();
        at.pop_back();
        return branch.getResult(0);
      });
    };
    Position where;
    where.indices.assign(row.begin(), row.end());
    where.indices.push_back(outColumn);
    where.vectorDim = sizes.size() - 1;
    where.lanes = product.lanes;
    where.mask = mask;
    product.store(emitAxis(0, product.zero()), where);
  };
  return emitResultRows(kernel, channels * sizes.back() * (2 * taps), [&](ArrayRef<Value> row) {
    emitFor(kernel, {kernel.index(0), kernel.index(groups)}, 1, [&](Value group) {
      product.emitColumns(columns,
                          [&](Value column, Value mask) { emitGroup(row, group, column, mask); });
    });
  });
}
