//===- Node.cpp - what converters ask of a node ---------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

std::string lumen::typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return text;
}

Attribute Node::attribute(StringRef name) {
  read.insert(name);
  return op.getNodeAttr(name);
}

/// The attribute as an `AttrT`; null, and an error, if it is something else.
template <typename AttrT> static AttrT typedAttribute(Node &node, StringRef name, StringRef what) {
  Attribute attr = node.attribute(name);
  auto typed = dyn_cast_or_null<AttrT>(attr);
  if (attr && !typed)
    node.error() << "attribute '" << name << "' is " << attr << ", expected " << what;
  return typed;
}

int64_t Node::integer(StringRef name, int64_t absent) {
  auto attr = typedAttribute<IntegerAttr>(*this, name, "an integer");
  return attr ? attr.getInt() : absent;
}

double Node::real(StringRef name, double absent) {
  auto attr = typedAttribute<FloatAttr>(*this, name, "a float");
  return attr ? attr.getValueAsDouble() : absent;
}

StringRef Node::string(StringRef name, StringRef absent) {
  auto attr = typedAttribute<StringAttr>(*this, name, "a string");
  return attr ? attr.getValue() : absent;
}

std::optional<SmallVector<int64_t>> Node::integers(StringRef name) {
  auto attr = typedAttribute<DenseI64ArrayAttr>(*this, name, "a list of integers");
  if (!attr)
    return std::nullopt;
  return SmallVector<int64_t>(attr.asArrayRef());
}

FailureOr<SmallVector<int64_t>> Node::constantIntegers(unsigned index, StringRef what) {
  // An attribute of old versions that became an input is optional in the row.
  if (!input(index))
    return error() << what << " are missing";
  Type element = inputType(index).getElementType();
  if (!isa<IntegerType>(element))
    return error() << what << " has element type " << element << ", expected an integer type";
  if (inputType(index).getRank() > 1)
    return error() << what << " has shape " << shapeText(inputShape(index))
                   << ", expected one dimension";
  std::optional<ConstantData> data = ConstantData::get(input(index));
  if (!data)
    return error() << what << " is computed from the model's inputs; only constants are supported";
  SmallVector<int64_t> values;
  for (int64_t i = 0; i < data->size(); ++i)
    values.push_back((*data)[i].integer);
  return values;
}

FailureOr<int64_t> Node::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return error() << "axis " << axis << " lies outside the rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> Node::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normal = normalizeAxis(axis, rank);
    if (mlir::failed(normal))
      return failure();
    if (llvm::is_contained(result, *normal))
      return error() << "axis " << axis << " is given twice";
    result.push_back(*normal);
  }
  llvm::sort(result);
  return result;
}

LogicalResult Node::checkSize(ArrayRef<int64_t> shape) {
  // Bytes of the widest element type must stay addressable, in the 47 bits that
  // a process has; so the sizes of many tensors can be added up as well.
  constexpr int64_t kAddressable = int64_t(1) << 47;
  int64_t bytes = 8;
  for (int64_t size : shape) {
    if (ShapedType::isDynamic(size))
      continue;
    if (size < 0)
      return error() << "result has the negative dimension " << size;
    if (llvm::MulOverflow(bytes, size, bytes) || bytes > kAddressable)
      return error() << "result of shape " << shapeText(shape) << " is too large";
  }
  return success();
}

FailureOr<SmallVector<int64_t>> Node::broadcastInputShapes() {
  SmallVector<int64_t> shape;
  for (Value value : inputs) {
    ArrayRef<int64_t> next = Emitter::shapeOf(value);
    std::optional<SmallVector<int64_t>> joined = broadcastShapes(shape, next);
    if (!joined)
      return error() << "inputs of shapes " << shapeText(shape) << " and " << shapeText(next)
                     << " cannot be broadcast together";
    shape = std::move(*joined);
  }
  if (mlir::failed(checkSize(shape)))
    return failure();
  return shape;
}

LogicalResult Node::expectReal(unsigned index) {
  Type element = inputType(index).getElementType();
  if (isa<FloatType>(element))
    return success();
  return error() << "input has element type " << element << ", expected a floating-point type";
}

LogicalResult Node::expectSameElementType(unsigned first, unsigned second) {
  Type lhs = inputType(first).getElementType(), rhs = inputType(second).getElementType();
  if (lhs == rhs)
    return success();
  return error() << "inputs have element types " << lhs << " and " << rhs << ", expected the same";
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>> lumen::readSpatialList(Node &node, StringRef name, size_t count,
                                                       int64_t absent, int64_t least) {
  std::optional<SmallVector<int64_t>> values = node.integers(name);
  if (!values || values->empty())
    return SmallVector<int64_t>(count, absent);
  if (values->size() != count)
    return node.error() << "attribute '" << name << "' has " << values->size()
                        << " entries, expected " << count;
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (int64_t value : *values)
    if (value < least || value > most)
      return node.error() << "attribute '" << name << "' has the entry " << value << ", expected "
                          << least << " to " << most;
  return std::move(*values);
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Padding that makes the result as large as the input divided by the stride.
static void padSame(WindowAxis &axis, int64_t size, int64_t extent, bool isUpper) {
  axis.output = ceilDiv(size, axis.stride);
  int64_t total = std::max<int64_t>((axis.output - 1) * axis.stride + extent - size, 0);
  axis.padLow = isUpper ? total / 2 : total - total / 2;
  axis.padHigh = total - axis.padLow;
}

/// With ceil_mode the last window may reach beyond the padding, but has to start
/// before its end; that holds for the only window as well.
static int64_t outputSize(const WindowAxis &axis, int64_t size, int64_t extent, bool isCeil) {
  int64_t room = size + axis.padLow + axis.padHigh - extent;
  if (room < 0)
    return isCeil && -room < axis.stride ? 1 : 0;
  int64_t output = (isCeil ? ceilDiv(room, axis.stride) : room / axis.stride) + 1;
  if (isCeil && (output - 1) * axis.stride >= size + axis.padLow)
    --output;
  return output;
}

FailureOr<SmallVector<WindowAxis>> lumen::readWindow(Node &node, ArrayRef<int64_t> sizes,
                                                     ArrayRef<int64_t> kernel, bool takesCeilMode) {
  size_t count = sizes.size();
  std::optional<SmallVector<int64_t>> kernelShape = node.integers("kernel_shape");
  if (kernel.empty()) {
    if (!kernelShape)
      return node.error() << "attribute 'kernel_shape' is missing";
    kernel = *kernelShape;
  } else if (kernelShape && !kernelShape->empty() && ArrayRef<int64_t>(*kernelShape) != kernel) {
    return node.error() << "attribute 'kernel_shape' is " << shapeText(*kernelShape)
                        << ", but the weight's is " << shapeText(kernel);
  }
  if (kernel.size() != count)
    return node.error() << "attribute 'kernel_shape' has " << kernel.size() << " entries, expected "
                        << count;
  for (int64_t size : kernel)
    if (size < 1 || size > std::numeric_limits<int32_t>::max())
      return node.error() << "kernel of shape " << shapeText(kernel) << " has the dimension "
                          << size << ", expected 1 to " << std::numeric_limits<int32_t>::max();
  constexpr int64_t kAnyPad = std::numeric_limits<int32_t>::min();
  auto strides = readSpatialList(node, "strides", count, 1, 1);
  auto dilations = readSpatialList(node, "dilations", count, 1, 1);
  auto pads = readSpatialList(node, "pads", 2 * count, 0, kAnyPad);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  StringRef autoPad = node.string("auto_pad", "NOTSET");
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", ""}, autoPad))
    return node.error() << "attribute 'auto_pad' is '" << autoPad
                        << "', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER";
  bool isCeil = takesCeilMode && node.integer("ceil_mode", 0) != 0;

  SmallVector<WindowAxis> axes;
  for (size_t i = 0; i < count; ++i) {
    WindowAxis axis{kernel[i], (*strides)[i], (*dilations)[i], 0, 0, 0};
    int64_t extent = (axis.window - 1) * axis.dilation + 1;
    if (autoPad.starts_with("SAME")) {
      padSame(axis, sizes[i], extent, autoPad == "SAME_UPPER");
    } else {
      bool isGiven = autoPad != "VALID";
      if (isGiven) {
        axis.padLow = (*pads)[i];
        axis.padHigh = (*pads)[count + i];
      }
      axis.output = outputSize(axis, sizes[i], extent, isCeil && isGiven);
    }
    if (axis.output < 1)
      return node.error() << "window of " << extent << " does not fit into spatial dimension " << i
                          << " of " << sizes[i] << " with padding " << axis.padLow << " and "
                          << axis.padHigh;
    axes.push_back(axis);
  }
  return axes;
}
