//===- Convolution.cpp - Conv ---------------------------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

/// One field of each axis.
static SmallVector<int64_t> fields(ArrayRef<WindowAxis> axes, int64_t WindowAxis::*field) {
  return llvm::map_to_vector(axes, [&](const WindowAxis &axis) { return axis.*field; });
}

/// Input [N, C, spatial...], weight [O, C/groups, taps...], bias [O].
static LogicalResult conv(Node &node) {
  ArrayRef<int64_t> input = node.inputShape(0), weight = node.inputShape(1);
  int64_t rank = input.size();
  if (rank < 3)
    return node.error() << "input has shape " << shapeText(input)
                        << ", expected at least three dimensions";
  if (int64_t(weight.size()) != rank)
    return node.error() << "weight has " << weight.size() << " dimensions, expected " << rank;
  if (failed(node.expectSameElementType(0, 1)))
    return failure();
  int64_t groups = node.integer("group", 1), channels = input[1], outputs = weight[0];
  if (groups < 1 || channels % groups != 0 || outputs % groups != 0)
    return node.error() << "attribute 'group' is " << groups << ", expected a divisor of "
                        << channels << " input and " << outputs << " output channels";
  if (weight[1] * groups != channels) {
    InFlightDiagnostic error = node.error() << "weight has " << weight[1]
                                            << " input channels, expected " << channels / groups;
    if (groups > 1)
      error << " in each of " << groups << " groups";
    return error;
  }
  FailureOr<SmallVector<WindowAxis>> axes =
      readWindow(node, input.drop_front(2), weight.drop_front(2), /*takesCeilMode=*/false);
  if (failed(axes))
    return failure();

  Emitter &emit = node.emit;
  SmallVector<int64_t> shape{input[0]};
  llvm::append_range(shape, fields(*axes, &WindowAxis::output));
  shape.push_back(outputs);
  if (failed(node.checkSize(shape)))
    return failure();
  // [O, C/groups, taps...] -> [taps..., C/groups, O]
  SmallVector<int64_t> filterPerm = llvm::to_vector(llvm::seq<int64_t>(2, rank));
  filterPerm.append({1, 0});
  Builder &b = emit.builder;
  auto array = [&](int64_t WindowAxis::*field) {
    return b.getDenseI64ArrayAttr(fields(*axes, field));
  };
  Value result = emit.create<ConvOp>(
      node.inputType(0).clone(shape), emit.transpose(node.input(0), channelsLastPerm(rank)),
      emit.transpose(node.input(1), filterPerm), array(&WindowAxis::window),
      array(&WindowAxis::stride), array(&WindowAxis::dilation), array(&WindowAxis::padLow),
      array(&WindowAxis::padHigh), b.getI64IntegerAttr(groups), UnitAttr());
  if (Value bias = node.input(2)) {
    if (node.inputShape(2) != ArrayRef<int64_t>(outputs))
      return node.error() << "bias has shape " << shapeText(node.inputShape(2)) << ", expected "
                          << outputs;
    if (failed(node.expectSameElementType(0, 2)))
      return failure();
    result = emit.binary(BinaryKind::Add, result, emit.broadcastAlong(bias, shape, rank - 1));
  }
  return node.yield(emit.transpose(result, channelsFirstPerm(rank)));
}

static const OperatorRow rows[] = {
    {"Conv", 2, 3, conv},
};

ArrayRef<OperatorRow> lumen::convolutionRows() { return rows; }
