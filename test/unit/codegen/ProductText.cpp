//===- ProductText.cpp - texts of contraction and convolution kernels -----===//

#include "ProductText.h"

#include <functional>
#include <numeric>

using namespace lumen::test;

int64_t lumen::test::elementsOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

static std::string join(const Shape &values, const char *separator) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? separator : "") + std::to_string(values[i]);
  return text;
}

static std::string arrayOf(const char *name, const Shape &values) {
  return std::string(name) + " = array<i64: " + join(values, ", ") + ">";
}

/// The argument attribute for rows `gap` elements apart, as in a view of a
/// concatenation.
static std::string stridesOf(const Shape &shape, int64_t gap) {
  if (gap == 0)
    return "";
  Shape strides(shape.size(), 1);
  int64_t stride = shape.back() + gap;
  for (size_t i = shape.size() - 1; i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return " {" + arrayOf("dispatch.strides", strides) + "}";
}

namespace {

/// A kernel as it grows.
class KernelText {
public:
  explicit KernelText(std::string element) : element(std::move(element)) {}

  std::string typeOf(const Shape &shape) const {
    return "tensor<" + join(shape, "x") + "x" + element + ">";
  }
  std::string argument(const Shape &shape, int64_t gap = 0) {
    std::string name = "%a" + std::to_string(count++);
    arguments += (count > 1 ? ", " : "") + name + ": " + typeOf(shape) + stridesOf(shape, gap);
    return name;
  }
  void line(const std::string &text) { body += "  " + text + "\n"; }

  /// Ends the kernel with `tail` behind %root.
  std::string finish(Tail tail, const Shape &shape, int64_t gap) {
    std::string type = typeOf(shape), yielded = "%root";
    if (tail != Tail::None) {
      Shape columns{shape.back()};
      std::string bias = argument(columns);
      line("%bias = lumen.broadcast " + bias + " [" + std::to_string(shape.size() - 1) +
           "] : " + typeOf(columns) + " -> " + type);
      line("%biased = lumen.binary <add> %root, %bias : " + type);
      yielded = "%biased";
    }
    if (tail == Tail::Residual) {
      line("%sum = lumen.binary <add> %biased, " + argument(shape) + " : " + type);
      yielded = "%sum";
    }
    if (tail != Tail::None && tail != Tail::Bias) {
      line(std::string("%last = lumen.unary <") + (tail == Tail::Sigmoid ? "sigmoid" : "relu") +
           "> " + yielded + " : " + type + " -> " + type);
      yielded = "%last";
    }
    std::string types = type, results = type + stridesOf(shape, gap);
    if (tail == Tail::TwoResults) {
      yielded += ", %biased";
      types += ", " + type;
      results += ", " + results;
    }
    return "dispatch.kernel @k(" + arguments + ") -> (" + results + ") {\n" + body +
           "  dispatch.yield " + yielded + " : " + types + "\n}\n";
  }

private:
  std::string element, arguments, body;
  int count = 0;
};

} // namespace

std::string ContractText::text() const {
  KernelText kernel(type);
  auto shapeOf = [&](Shape shape, int64_t rows, int64_t columns, bool swap) {
    shape.push_back(swap ? columns : rows);
    shape.push_back(swap ? rows : columns);
    return shape;
  };
  Shape lhsShape = shapeOf(batch, m, k, transposeLhs);
  Shape rhsShape = packed ? Shape{(n + 63) / 64, k, 64}
                          : shapeOf(sharedRhs ? Shape() : batch, k, n, transposeRhs);
  Shape shape = shapeOf(batch, m, n, false);
  std::string lhs = kernel.argument(lhsShape, lhsGap), rhs = kernel.argument(rhsShape);
  if (fusedLhs) {
    kernel.line("%lhs = lumen.unary <neg> " + lhs + " : " + kernel.typeOf(lhsShape) + " -> " +
                kernel.typeOf(lhsShape));
    lhs = "%lhs";
  }
  kernel.line(
      "%root = lumen.contract " + lhs + ", " + rhs + (transposeLhs ? " transpose_lhs" : "") +
      (transposeRhs && !packed ? " transpose_rhs" : "") + (packed ? " packed" : "") + " : " +
      kernel.typeOf(lhsShape) + ", " + kernel.typeOf(rhsShape) + " -> " + kernel.typeOf(shape));
  return kernel.finish(tail, shape, resultGap);
}

Shape ConvText::result() const {
  Shape shape{batch};
  for (size_t i = 0; i < window.size(); ++i)
    shape.push_back(
        (input[i] + padLow[i] + padHigh[i] - (window[i] - 1) * dilations[i] - 1) / strides[i] + 1);
  shape.push_back(outputs);
  return shape;
}

std::string ConvText::text() const {
  KernelText kernel(type);
  Shape inputShape{batch}, filterShape = window;
  inputShape.insert(inputShape.end(), input.begin(), input.end());
  inputShape.push_back(channels);
  filterShape.insert(filterShape.end(), {channels / groups, outputs});
  int64_t taps = elementsOf(window);
  if (packed && groups > 1 && groups == channels && groups == outputs)
    filterShape = {taps, channels};
  else if (packed)
    filterShape = {groups, (outputs / groups + 63) / 64, taps * (channels / groups), 64};
  std::string x = kernel.argument(inputShape, inputGap), w = kernel.argument(filterShape);
  kernel.line("%root = lumen.conv " + x + ", " + w + " {" + arrayOf("window", window) + ", " +
              arrayOf("strides", strides) + ", " + arrayOf("dilations", dilations) + ", " +
              arrayOf("pad_low", padLow) + ", " + arrayOf("pad_high", padHigh) +
              ", groups = " + std::to_string(groups) + " : i64" + (packed ? ", packed" : "") +
              "} : " + kernel.typeOf(inputShape) + ", " + kernel.typeOf(filterShape) + " -> " +
              kernel.typeOf(result()));
  return kernel.finish(tail, result(), resultGap);
}
