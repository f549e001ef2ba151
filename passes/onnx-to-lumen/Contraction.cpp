//===- Contraction.cpp - MatMul, Gemm and their fused forms ---------------===//

#include "passes/onnx-to-lumen/ControlFlow.h"
#include "passes/onnx-to-lumen/Quantization.h"

using namespace mlir;
using namespace lumen;

static constexpr StringLiteral
    kInnerDimensions("inner dimensions are {0} and {1}, expected equal ones");

FailureOr<Value> lumen::emitMatMul(Node &node, Value lhs, Value rhs, bool isLhsTransposed,
                                   bool isRhsTransposed) {
  Emitter &emit = node.emit;
  Sizes lhsGiven = Emitter::shapeOf(lhs), rhsGiven = Emitter::shapeOf(rhs);
  if (lhsGiven.empty() || rhsGiven.empty())
    return node.error() << "inputs have shapes " << shapeText(lhsGiven) << " and "
                        << shapeText(rhsGiven) << ", expected at least one dimension";
  bool isLhsVector = lhsGiven.size() == 1, isRhsVector = rhsGiven.size() == 1;
  isLhsTransposed &= !isLhsVector;
  isRhsTransposed &= !isRhsVector;
  if (isLhsVector)
    lhs = emit.reshape(lhs, {SymExpr(1), lhsGiven[0]});
  if (isRhsVector)
    rhs = emit.reshape(rhs, {rhsGiven[0], SymExpr(1)});
  Sizes lhsShape = Emitter::shapeOf(lhs), rhsShape = Emitter::shapeOf(rhs);
  Node::Shape lhsMatrix = Node::Shape(lhsShape).take_back(2);
  Node::Shape rhsMatrix = Node::Shape(rhsShape).take_back(2);
  SymExpr rows = lhsMatrix[isLhsTransposed], depth = lhsMatrix[!isLhsTransposed];
  SymExpr otherDepth = rhsMatrix[isRhsTransposed], columns = rhsMatrix[!isRhsTransposed];
  if (!node.ensureEqual(depth, otherDepth, kInnerDimensions))
    return node.error() << "inputs of shapes " << shapeText(lhsGiven) << " and "
                        << shapeText(rhsGiven) << " have inner dimensions " << depth.str()
                        << " and " << otherDepth.str() << ", expected equal ones";
  std::optional<Sizes> batch =
      node.broadcast(Node::Shape(lhsShape).drop_back(2), Node::Shape(rhsShape).drop_back(2));
  if (!batch)
    return node.error() << "inputs of shapes " << shapeText(lhsGiven) << " and "
                        << shapeText(rhsGiven)
                        << " have batch dimensions that cannot be broadcast together";
  auto withBatch = [&](const SymExpr &a, const SymExpr &b) {
    Sizes shape(*batch);
    shape.append({a, b});
    return shape;
  };
  Sizes shape = withBatch(rows, columns);
  if (failed(node.checkSize(shape)) || failed(node.checkSize(withBatch(rows, depth))) ||
      failed(node.checkSize(withBatch(depth, columns))))
    return failure();
  depth = Emitter::simpler(depth, otherDepth);
  // The last two sizes of an operand.
  auto matrixOf = [](bool isTransposed, const SymExpr &a, const SymExpr &b) {
    return isTransposed ? std::make_pair(b, a) : std::make_pair(a, b);
  };
  auto [lhsRows, lhsColumns] = matrixOf(isLhsTransposed, rows, depth);
  auto [rhsRows, rhsColumns] = matrixOf(isRhsTransposed, depth, columns);
  auto castMatrix = [&](Value operand, const SymExpr &a, const SymExpr &b) {
    Sizes sizes(Node::Shape(Emitter::shapeOf(operand)).drop_back(2));
    sizes.append({a, b});
    return emit.cast(operand, sizes);
  };
  lhs = castMatrix(lhs, lhsRows, lhsColumns);
  rhs = castMatrix(rhs, rhsRows, rhsColumns);
  lhs = emit.broadcastTo(lhs, withBatch(lhsRows, lhsColumns));
  // A matrix is shared by all batches.
  if (rhsShape.size() > 2)
    rhs = emit.broadcastTo(rhs, withBatch(rhsRows, rhsColumns));
  Type element = productElementType(Emitter::typeOf(lhs).getElementType(),
                                    Emitter::typeOf(rhs).getElementType());
  Value result = emit.create<ContractOp>(emit.typed(shape, element), lhs, rhs, isLhsTransposed,
                                         isRhsTransposed, /*packed=*/false);
  if (isRhsVector)
    shape.pop_back();
  if (isLhsVector)
    shape.erase(isRhsVector ? shape.end() - 1 : shape.end() - 2);
  return emit.reshape(result, shape);
}

/// A matrix product of inputs 0 and 1, or of those with other strides.
static FailureOr<Value> multiply(Node &node, Value lhs, Value rhs, bool isLhsTransposed,
                                 bool isRhsTransposed) {
  if (failed(node.expectSameElementType(0, 1)))
    return failure();
  FailureOr<Value> quantized =
      emitQuantizedMatMul(node, lhs, rhs, isLhsTransposed, isRhsTransposed);
  if (failed(quantized) || *quantized)
    return quantized;
  return emitMatMul(node, lhs, rhs, isLhsTransposed, isRhsTransposed);
}

static LogicalResult matMul(Node &node) {
  FailureOr<Value> result = multiply(node, node.input(0), node.input(1), /*isLhsTransposed=*/false,
                                     /*isRhsTransposed=*/false);
  return failed(result) ? failure() : node.yield(*result);
}

/// alpha * A' * B'. Before, transBatch moves dimension 0 behind the batch dimensions.
static LogicalResult fusedMatMul(Node &node) {
  Emitter &emit = node.emit;
  auto operand = [&](unsigned index, StringRef attribute) {
    int64_t rank = node.inputRank(index);
    if (node.integer(attribute, 0) == 0 || rank < 3)
      return node.input(index);
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(1, rank - 1));
    perm.append({0, rank - 1});
    return emit.transpose(node.input(index), perm);
  };
  FailureOr<Value> result =
      multiply(node, operand(0, "transBatchA"), operand(1, "transBatchB"),
               node.integer("transA", 0) != 0, node.integer("transB", 0) != 0);
  if (failed(result))
    return failure();
  return node.yield(emit.binary(BinaryKind::Mul, *result, node.real("alpha", 1.0)));
}

/// alpha * A' * B' + beta * C
static LogicalResult gemm(Node &node) {
  double alpha = node.real("alpha", 1.0), beta = node.real("beta", 1.0);
  bool isLhsTransposed = node.integer("transA", 0) != 0;
  bool isRhsTransposed = node.integer("transB", 0) != 0;
  if (failed(node.expectSameElementType(0, 1)))
    return failure();
  if (!isa<FloatType>(node.inputType(0).getElementType()) && (alpha != 1 || beta != 1))
    return node.error() << "attributes 'alpha' and 'beta' are " << alpha << " and " << beta
                        << ", expected 1 for integers";
  Sizes a = node.inputShape(0), b = node.inputShape(1);
  if (a.size() != 2 || b.size() != 2)
    return node.error() << "inputs have shapes " << shapeText(a) << " and " << shapeText(b)
                        << ", expected two dimensions";
  if (!node.ensureEqual(a[!isLhsTransposed], b[isRhsTransposed], kInnerDimensions))
    return node.error() << "inputs of shapes " << shapeText(a) << " and " << shapeText(b)
                        << " have inner dimensions " << a[!isLhsTransposed].str() << " and "
                        << b[isRhsTransposed].str() << ", expected equal ones";
  Emitter &emit = node.emit;
  Sizes shape{a[isLhsTransposed], b[!isRhsTransposed]}, lhsSizes = a, rhsSizes = b;
  lhsSizes[!isLhsTransposed] = rhsSizes[isRhsTransposed] =
      Emitter::simpler(a[!isLhsTransposed], b[isRhsTransposed]);
  if (failed(node.checkSize(shape)))
    return failure();
  if (alpha == 1 && beta == 1) {
    FailureOr<Value> quantized = emitQuantizedMatMul(
        node, node.input(0), node.input(1), isLhsTransposed, isRhsTransposed, node.input(2));
    if (failed(quantized))
      return failure();
    if (*quantized)
      return node.yield(*quantized);
  }
  Value result = emit.create<ContractOp>(
      emit.typed(shape, node.inputType(0).getElementType()), emit.cast(node.input(0), lhsSizes),
      emit.cast(node.input(1), rhsSizes), isLhsTransposed, isRhsTransposed, /*packed=*/false);
  result = emit.binary(BinaryKind::Mul, result, alpha);
  if (Value bias = node.input(2)) {
    Sizes biasShape = node.inputShape(2);
    if (failed(node.expectSameElementType(0, 2)))
      return failure();
    if (!node.ensureBroadcastTo(biasShape, shape))
      return node.error() << "bias of shape " << shapeText(biasShape)
                          << " cannot be broadcast to the result's shape " << shapeText(shape);
    bias = emit.binary(BinaryKind::Mul, bias, beta);
    result = emit.binary(BinaryKind::Add, result, emit.broadcastTo(bias, shape));
  }
  return node.yield(result);
}

static LogicalResult fusedGemm(Node &node) {
  if (failed(gemm(node)))
    return failure();
  SmallVector<double> parameters;
  for (StringRef name : {"activation_alpha", "activation_beta"})
    if (node.has(name))
      parameters.push_back(node.real(name, 0));
  FailureOr<Value> result = activate(node, parameters, node.getResults().front());
  return failed(result) ? failure() : node.yield(*result);
}

/// Gaussian elimination with the largest pivot of each column; a trip is a column, for all
/// matrices at once.
static LogicalResult det(Node &node) {
  Sizes shape = node.inputShape(0);
  if (failed(node.expectReal()))
    return failure();
  size_t rank = shape.size();
  if (rank < 2 || !node.ensureEqual(shape[rank - 2], shape[rank - 1],
                                    "a matrix has {0} rows and {1} columns, expected as many"))
    return node.error() << "input has shape " << shapeText(shape) << ", expected square matrices";
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType(), i64 = emit.builder.getI64Type();
  Type type = element.isF64() ? element : Type(emit.builder.getF32Type());
  Sizes batch(Node::Shape(shape).drop_back(2)), whole(batch);
  SymExpr order = Emitter::simpler(shape[rank - 2], shape[rank - 1]), count = product(batch);
  whole.append({order, order});
  Sizes matrices{count, order, order}, columns{count, order};
  Value x = emit.reshape(emit.convert(emit.cast(node.input(0), whole), type), matrices);
  auto eliminate = [&](const SymExpr &k, ValueRange carried) -> FailureOr<SmallVector<Value>> {
    Value m = carried[0];
    Value row = emit.iota(emit.typed(columns, i64), 1);
    Value step = emit.splat(emit.size(k), columns);
    auto column = [&](Value matrix) { return elementOf(emit, matrix, 2, k); };
    Value size =
        emit.select(emit.compare(CompareKind::Ge, row, step), emit.unary(UnaryKind::Abs, column(m)),
                    emit.splat(emit.scalar(-1, type), columns));
    auto largest =
        SortOp::create(emit.builder, emit.loc, emit.typed({count, SymExpr(1)}, type),
                       emit.typed({count, SymExpr(1)}, i64), size, 1, /*descending=*/true);
    Value pivotRow = emit.broadcastTo(largest.getIndices(), columns);
    // Both rows change places.
    Value order = emit.select(emit.compare(CompareKind::Eq, row, step), pivotRow,
                              emit.select(emit.compare(CompareKind::Eq, row, pivotRow), step, row));
    m = emit.create<PickOp>(emit.typed(matrices, type), m, order, ArrayRef<int64_t>{0, -1, 2});
    Value line = elementOf(emit, m, 1, k), pivot = elementOf(emit, line, 1, k);
    // A column of zeros leaves nothing to eliminate.
    Value divisor =
        emit.select(emit.compare(CompareKind::Eq, pivot, 0.0), emit.splatLike(pivot, 1), pivot);
    Value factor =
        emit.binary(BinaryKind::Div, column(m), emit.broadcastAlong(divisor, columns, 0));
    factor =
        emit.select(emit.compare(CompareKind::Gt, row, step), factor, emit.splatLike(factor, 0));
    Value part = emit.binary(BinaryKind::Mul, emit.broadcast(factor, matrices, {0, 1}),
                             emit.broadcast(line, matrices, {0, 2}));
    Value isKept =
        emit.compare(CompareKind::Eq, elementOf(emit, pivotRow, 1, k), elementOf(emit, step, 1, k));
    Value signedPivot = emit.select(isKept, pivot, emit.unary(UnaryKind::Neg, pivot));
    return SmallVector<Value>{emit.binary(BinaryKind::Sub, m, part),
                              emit.binary(BinaryKind::Mul, carried[1], signedPivot)};
  };
  Value one = emit.splat(emit.typed({count}, type), 1);
  // No column has a largest element.
  if (order == SymExpr(0))
    return node.yield(emit.splat(emit.typed(batch, element), 1));
  FailureOr<SmallVector<Value>> results = emitTrips(node, order, {x, one}, eliminate);
  if (failed(results))
    return failure();
  return node.yield(emit.convert(emit.reshape((*results)[1], batch), element));
}

static const OperatorRow rows[] = {
    {"Det", 1, 1, det, "", 11},
    {"Gemm", 2, 3, gemm},
    {"MatMul", 2, 2, matMul},
    OperatorRow{"FusedGemm", 2, 3, fusedGemm}.ofMicrosoft(),
    OperatorRow{"FusedMatMul", 2, 2, fusedMatMul}.ofMicrosoft(),
};

ArrayRef<OperatorRow> lumen::contractionRows() { return rows; }
