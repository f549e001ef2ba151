//===- ProductCases.cpp - contractions and convolutions to compile --------===//

#include "ProductCases.h"

#include <cmath>
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

std::string Buffer::type() const {
  return "tensor<" + join(shape, "x") + (shape.empty() ? "f32>" : "xf32>");
}

std::string Buffer::attribute() const {
  if (lastStrideGap == 0)
    return "";
  Shape strides(shape.size(), 1);
  int64_t stride = rowStride();
  for (size_t i = shape.size() - 1; i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return " {dispatch.strides = array<i64: " + join(strides, ", ") + ">}";
}

static void fill(Buffer &buffer, std::mt19937 &random) {
  buffer.resize();
  // Cheap and never all zero; benchmarks fill hundreds of megabytes.
  for (float &value : buffer.data)
    value = static_cast<int32_t>(random()) * (1.0f / 2147483648.0f);
}

/// Packs `plain`, indexed by (group, row, column of the group), in panels of 64.
static Buffer pack(int64_t groups, int64_t depth, int64_t columns, bool contract,
                   const std::function<float(int64_t, int64_t, int64_t)> &plain) {
  int64_t panels = (columns + 63) / 64;
  Buffer packed;
  packed.shape = contract ? Shape{panels, depth, 64} : Shape{groups, panels, depth, 64};
  packed.resize();
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t n = 0; n < columns; ++n)
        packed.data[((g * panels + n / 64) * depth + k) * 64 + n % 64] = plain(g, k, n);
  return packed;
}

/// Adds the tail's operands, results and text behind `%root`.
static void addTail(Case &c, Tail tail, const Shape &shape, int64_t resultGap,
                    const std::vector<double> &root, std::mt19937 &random,
                    const std::string &body) {
  Buffer result;
  result.shape = shape;
  result.lastStrideGap = resultGap;
  result.resize();
  std::string t = result.type(), text = body, yielded = "%root", types = t;
  std::vector<double> value = root, second;
  auto addInput = [&](Shape shape) -> size_t {
    Buffer buffer;
    buffer.shape = std::move(shape);
    fill(buffer, random);
    c.inputs.push_back(std::move(buffer));
    return c.inputs.size() - 1;
  };
  int64_t columns = shape.back();
  auto addBias = [&] {
    size_t bias = addInput({columns});
    std::string name = "%a" + std::to_string(bias);
    text += "  %bias = lumen.broadcast " + name + " [" + std::to_string(shape.size() - 1) +
            "] : " + c.inputs[bias].type() + " -> " + t +
            "\n  %biased = lumen.binary <add> %root, " + "%bias : " + t + "\n";
    for (size_t i = 0; i < value.size(); ++i)
      value[i] += c.inputs[bias].data[i % columns];
    yielded = "%biased";
  };
  auto addUnary = [&](const char *kind, double (*function)(double)) {
    text +=
        std::string("  %u = lumen.unary <") + kind + "> " + yielded + " : " + t + " -> " + t + "\n";
    for (double &v : value)
      v = function(v);
    yielded = "%u";
  };
  auto relu = [](double x) { return std::max(x, 0.0); };
  switch (tail) {
  case Tail::None:
    break;
  case Tail::Bias:
    addBias();
    break;
  case Tail::BiasRelu:
    addBias();
    addUnary("relu", relu);
    break;
  case Tail::Residual: {
    addBias();
    size_t other = addInput(shape);
    text += "  %sum = lumen.binary <add> %biased, %a" + std::to_string(other) + " : " + t + "\n";
    for (size_t i = 0; i < value.size(); ++i)
      value[i] += c.inputs[other].data[i];
    yielded = "%sum";
    addUnary("relu", relu);
    break;
  }
  case Tail::Sigmoid:
    addBias();
    addUnary("sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); });
    break;
  case Tail::Two:
    addBias();
    second = value;
    addUnary("relu", relu);
    yielded = "%u, %biased";
    types = t + ", " + t;
    break;
  }
  std::string signature;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    signature += (i ? ", %a" : "%a") + std::to_string(i) + ": " + c.inputs[i].type() +
                 c.inputs[i].attribute();
  std::string results = t + result.attribute();
  if (!second.empty())
    results += ", " + results;
  c.kernel = "dispatch.kernel @k(" + signature + ") -> (" + results + ") {\n" + text +
             "  dispatch.yield " + yielded + " : " + types + "\n}\n";
  c.outputs.push_back(result);
  c.expected.push_back(std::move(value));
  if (!second.empty()) {
    c.outputs.push_back(result);
    c.expected.push_back(std::move(second));
  }
}

Case lumen::test::makeContract(const ContractSpec &s, std::mt19937 &random, bool evaluate) {
  Case c;
  Shape lhsShape = s.batch, rhsShape = s.sharedRhs || s.packed ? Shape() : s.batch, shape = s.batch;
  for (auto [list, rows, columns, swap] :
       {std::tuple(&lhsShape, s.m, s.k, s.transposeLhs),
        std::tuple(&rhsShape, s.k, s.n, s.transposeRhs), std::tuple(&shape, s.m, s.n, false)}) {
    list->push_back(swap ? columns : rows);
    list->push_back(swap ? rows : columns);
  }
  Buffer lhs, rhs;
  lhs.shape = lhsShape;
  lhs.lastStrideGap = s.lhsGap;
  fill(lhs, random);
  rhs.shape = rhsShape;
  fill(rhs, random);

  int64_t batch = elementsOf(s.batch);
  auto rhsAt = [&](int64_t b, int64_t k, int64_t n) {
    int64_t base = s.sharedRhs || s.packed ? 0 : b * s.k * s.n;
    return rhs.data[base + (s.transposeRhs ? n * s.k + k : k * s.n + n)];
  };
  std::vector<double> root(evaluate ? batch * s.m * s.n : 0);
  for (int64_t b = 0; evaluate && b < batch; ++b)
    for (int64_t m = 0; m < s.m; ++m)
      for (int64_t k = 0; k < s.k; ++k) {
        int64_t base = b * s.m * s.k;
        double a = lhs.at(base + (s.transposeLhs ? k * s.m + m : m * s.k + k));
        double *row = &root[(b * s.m + m) * s.n];
        for (int64_t n = 0; n < s.n; ++n)
          row[n] += a * rhsAt(b, k, n);
      }
  c.flops = 2.0 * batch * s.m * s.n * s.k;
  c.inputs.push_back(std::move(lhs));
  c.inputs.push_back(s.packed ? pack(1, s.k, s.n, true,
                                     [&](int64_t, int64_t k, int64_t n) { return rhsAt(0, k, n); })
                              : std::move(rhs));
  Buffer result;
  result.shape = shape;
  std::string body = "  %root = lumen.contract %a0, %a1";
  body += s.transposeLhs ? " transpose_lhs" : "";
  body += s.transposeRhs && !s.packed ? " transpose_rhs" : "";
  body += s.packed ? " packed" : "";
  body += " : " + c.inputs[0].type() + ", " + c.inputs[1].type() + " -> " + result.type() + "\n";
  addTail(c, s.tail, shape, s.resultGap, root, random, body);
  return c;
}

Case lumen::test::makeConv(const ConvSpec &s, std::mt19937 &random, bool evaluate) {
  Case c;
  size_t rank = s.window.size();
  int64_t channels = s.channels / s.groups, columns = s.outputs / s.groups;
  Buffer input, filter;
  input.shape = {s.batch};
  input.shape.insert(input.shape.end(), s.input.begin(), s.input.end());
  input.shape.push_back(s.channels);
  input.lastStrideGap = s.inputGap;
  fill(input, random);
  filter.shape = s.window;
  filter.shape.insert(filter.shape.end(), {channels, s.outputs});
  fill(filter, random);
  Shape shape{s.batch};
  for (size_t i = 0; i < rank; ++i)
    shape.push_back(
        (s.input[i] + s.padLow[i] + s.padHigh[i] - (s.window[i] - 1) * s.dilations[i] - 1) /
            s.strides[i] +
        1);
  shape.push_back(s.outputs);

  int64_t taps = elementsOf(s.window), positions = elementsOf(shape) / s.outputs;
  std::vector<double> root(evaluate ? positions * s.outputs : 0);
  for (int64_t p = 0; evaluate && p < positions; ++p)
    for (int64_t tap = 0; tap < taps; ++tap) {
      // From the last axis to the first: the tap's place in the input.
      int64_t at = 0, scale = 1, pRest = p, tapRest = tap;
      bool inside = true;
      for (size_t i = rank; i-- > 0;) {
        int64_t o = pRest % shape[i + 1], t = tapRest % s.window[i];
        pRest /= shape[i + 1];
        tapRest /= s.window[i];
        int64_t x = o * s.strides[i] - s.padLow[i] + t * s.dilations[i];
        inside &= x >= 0 && x < s.input[i];
        at += x * scale;
        scale *= s.input[i];
      }
      if (!inside)
        continue;
      at += pRest * scale;
      for (int64_t g = 0; g < s.groups; ++g)
        for (int64_t k = 0; k < channels; ++k) {
          double a = input.at(at * s.channels + g * channels + k);
          const float *w = &filter.data[(tap * channels + k) * s.outputs + g * columns];
          double *row = &root[p * s.outputs + g * columns];
          for (int64_t n = 0; n < columns; ++n)
            row[n] += a * w[n];
        }
    }
  c.flops = 2.0 * positions * s.outputs * taps * channels;
  bool depthwise = s.groups > 1 && s.groups == s.channels && s.groups == s.outputs;
  Buffer packed;
  if (depthwise) {
    packed = filter;
    packed.shape = {taps, s.channels};
  } else {
    packed = pack(s.groups, taps * channels, columns, false, [&](int64_t g, int64_t k, int64_t n) {
      return filter.data[k * s.outputs + g * columns + n];
    });
  }
  c.inputs.push_back(std::move(input));
  c.inputs.push_back(s.packed ? std::move(packed) : std::move(filter));
  Buffer result;
  result.shape = shape;
  auto array = [](const char *name, const Shape &values) {
    return std::string(name) + " = array<i64: " + join(values, ", ") + ">, ";
  };
  std::string body =
      "  %root = lumen.conv %a0, %a1 {" + array("window", s.window) + array("strides", s.strides) +
      array("dilations", s.dilations) + array("pad_low", s.padLow) + array("pad_high", s.padHigh) +
      "groups = " + std::to_string(s.groups) + " : i64" + (s.packed ? ", packed" : "") +
      "} : " + c.inputs[0].type() + ", " + c.inputs[1].type() + " -> " + result.type() + "\n";
  addTail(c, s.tail, shape, s.resultGap, root, random, body);
  return c;
}
