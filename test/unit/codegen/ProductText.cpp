//===- ProductText.cpp - texts of contraction and convolution kernels -----===//

#include "ProductText.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

using lumen::SymExpr;
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

/// A type or attribute of sizes, in the text that the dialect prints.
static std::string dimsOf(const lumen::Sizes &sizes) {
  std::string text = "#lumen.dims<[";
  for (const lumen::SymExpr &size : sizes)
    text += (&size == sizes.begin() ? "\"" : ", \"") + size.str() + "\"";
  return text + "]>";
}

static int64_t elementsOf(const Dims &dims) {
  int64_t elements = 1;
  for (const Dim &dim : dims)
    elements *= dim.value;
  return elements;
}

namespace {

/// A tensor in memory.
struct Place {
  Dims dims;
  int64_t gap = 0; ///< elements between rows of the last dimension
  bool headsInside = false;

  /// The attribute of an argument or result.
  std::string strides() const {
    if (gap == 0 && !headsInside)
      return "";
    size_t rank = dims.size();
    lumen::Sizes strides(rank, 1);
    lumen::SymExpr stride = dims.back().size + gap;
    auto take = [&](size_t dim) {
      strides[dim] = stride;
      stride *= dims[dim].size;
    };
    if (headsInside)
      take(rank - 3);
    for (size_t i = rank - 1; i-- > 0;)
      if (!headsInside || i != rank - 3)
        take(i);
    return " {dispatch.strides = " + dimsOf(strides) + "}";
  }
};

/// A kernel as it grows.
class KernelText {
public:
  explicit KernelText(std::string element) : element(std::move(element)) {}

  std::string typeOf(const Dims &dims) const {
    std::string text = "tensor<";
    lumen::Sizes sizes;
    for (const Dim &dim : dims) {
      sizes.push_back(dim.size);
      text += (dim.size.asConstant() ? std::to_string(dim.value) : "?") + "x";
    }
    bool isStatic = lumen::asConstants(sizes).has_value();
    return text + element + (isStatic ? "" : ", " + dimsOf(sizes)) + ">";
  }
  std::string argument(const Place &place) {
    std::string name = "%a" + std::to_string(count++);
    note(place);
    arguments += (count > 1 ? ", " : "") + name + ": " + typeOf(place.dims) + place.strides();
    return name;
  }
  /// Dimensions of packed panels: `outer`, then those of `taps` taps of `channels` rows.
  Dims panels(Dims outer, int64_t taps, const Dim &channels) const {
    if (element == "i8" || element == "ui8")
      outer.insert(outer.end(), {taps * ((channels.value + 3) / 4), 64, 4});
    else
      outer.insert(outer.end(), {taps == 1 ? channels : Dim(taps * channels.value), 64});
    return outer;
  }
  void line(const std::string &text) { body += "  " + text + "\n"; }
  /// From the root on: bytes are summed in 32 bits.
  void startResult() {
    if (element == "i8" || element == "ui8")
      element = "i32";
  }

  /// Ends the kernel with `tail` behind %root.
  std::string finish(Tail tail, const Place &result) {
    const Dims &dims = result.dims;
    std::string type = typeOf(dims), yielded = "%root";
    note(result);
    if (tail != Tail::None) {
      Dims columns{dims.back()};
      std::string bias = argument({columns});
      line("%bias = lumen.broadcast " + bias + " [" + std::to_string(dims.size() - 1) +
           "] : " + typeOf(columns) + " -> " + type);
      line("%biased = lumen.binary <add> %root, %bias : " + type);
      yielded = "%biased";
    }
    if (tail == Tail::Residual) {
      line("%sum = lumen.binary <add> %biased, " + argument({dims}) + " : " + type);
      yielded = "%sum";
    }
    if (tail != Tail::None && tail != Tail::Bias) {
      line(std::string("%last = lumen.unary <") + (tail == Tail::Sigmoid ? "sigmoid" : "relu") +
           "> " + yielded + " : " + type + " -> " + type);
      yielded = "%last";
    }
    std::string types = type, results = type + result.strides();
    if (tail == Tail::TwoResults) {
      yielded += ", %biased";
      types += ", " + type;
      results += ", " + results;
    }
    std::string sizes;
    for (const std::string &symbol : symbols)
      sizes += (sizes.empty() ? "\"" : ", \"") + symbol + "\"";
    return "dispatch.kernel @k(" + arguments + ") -> (" + results + ")" +
           (sizes.empty() ? "" : " attributes {dispatch.sizes = [" + sizes + "]}") + " {\n" + body +
           "  dispatch.yield " + yielded + " : " + types + "\n}\n";
  }

private:
  /// Symbols are named in the order in which they appear.
  void note(const Place &place) {
    for (const Dim &dim : place.dims) {
      std::set<std::string> names;
      dim.size.collectSymbols(names);
      for (const std::string &name : names)
        if (std::find(symbols.begin(), symbols.end(), name) == symbols.end())
          symbols.push_back(name);
    }
  }

  std::string element, arguments, body;
  std::vector<std::string> symbols;
  int count = 0;
};

} // namespace

std::string ContractText::text() const {
  KernelText kernel(type);
  auto dimsOf = [&](Dims dims, const Dim &rows, const Dim &columns, bool swap) {
    dims.push_back(swap ? columns : rows);
    dims.push_back(swap ? rows : columns);
    return dims;
  };
  Dims lhsDims = dimsOf(batch, m, k, transposeLhs);
  Dims rhsDims = packed ? kernel.panels({(n.value + 63) / 64}, 1, k)
                        : dimsOf(sharedRhs ? Dims() : batch, k, n, transposeRhs);
  Dims dims = dimsOf(batch, m, n, false);
  std::string lhs = kernel.argument({lhsDims, lhsGap, headsInside}),
              rhs = kernel.argument({rhsDims, 0, headsInside && !packed && !sharedRhs});
  if (fusedLhs) {
    kernel.line("%lhs = lumen.unary <neg> " + lhs + " : " + kernel.typeOf(lhsDims) + " -> " +
                kernel.typeOf(lhsDims));
    lhs = "%lhs";
  }
  std::string operands = kernel.typeOf(lhsDims) + ", " + kernel.typeOf(rhsDims);
  kernel.startResult();
  kernel.line("%root = lumen.contract " + lhs + ", " + rhs +
              (transposeLhs ? " transpose_lhs" : "") +
              (transposeRhs && !packed ? " transpose_rhs" : "") + (packed ? " packed" : "") +
              " : " + operands + " -> " + kernel.typeOf(dims));
  return kernel.finish(tail, {dims, resultGap, headsInside});
}

double ContractText::flops() const {
  return 2.0 * ::elementsOf(batch) * m.value * n.value * k.value;
}

Dims ConvText::result() const {
  Dims dims{batch};
  for (size_t i = 0; i < window.size(); ++i) {
    Dim dim = input[i];
    int64_t less = (window[i] - 1) * dilations[i] + 1 - padLow[i] - padHigh[i];
    dim.value = (dim.value - less) / strides[i] + 1;
    dim.size = SymExpr::floorDiv(dim.size - less, strides[i]) + 1;
    dims.push_back(dim);
  }
  dims.push_back(outputs);
  return dims;
}

std::string ConvText::text() const {
  KernelText kernel(type);
  Dims inputDims{batch}, filterDims(window.begin(), window.end());
  inputDims.insert(inputDims.end(), input.begin(), input.end());
  inputDims.push_back(channels);
  filterDims.insert(filterDims.end(), {channels / groups, outputs});
  int64_t taps = elementsOf(window);
  if (packed && groups > 1 && groups == channels && groups == outputs)
    filterDims = {taps, channels};
  else if (packed)
    filterDims = kernel.panels({groups, (outputs / groups + 63) / 64}, taps, channels / groups);
  std::string x = kernel.argument({inputDims, inputGap}), w = kernel.argument({filterDims});
  std::string operands = kernel.typeOf(inputDims) + ", " + kernel.typeOf(filterDims);
  kernel.startResult();
  kernel.line("%root = lumen.conv " + x + ", " + w + " {" + arrayOf("window", window) + ", " +
              arrayOf("strides", strides) + ", " + arrayOf("dilations", dilations) + ", " +
              arrayOf("pad_low", padLow) + ", " + arrayOf("pad_high", padHigh) +
              ", groups = " + std::to_string(groups) + " : i64" + (packed ? ", packed" : "") +
              "} : " + operands + " -> " + kernel.typeOf(result()));
  return kernel.finish(tail, {result(), resultGap});
}

double ConvText::flops() const {
  return 2.0 * ::elementsOf(result()) * elementsOf(window) * channels / groups;
}

Dims ContractText::dims() const {
  Dims dims = batch;
  dims.insert(dims.end(), {m, n, k});
  return dims;
}

ContractText ContractText::constant() const {
  ContractText text = *this;
  for (Dim &dim : text.batch)
    dim = dim.value;
  text.m = m.value, text.n = n.value, text.k = k.value;
  return text;
}

Dims ConvText::dims() const {
  Dims dims = input;
  dims.push_back(batch);
  return dims;
}

ConvText ConvText::constant() const {
  ConvText text = *this;
  for (Dim &dim : text.input)
    dim = dim.value;
  text.batch = batch.value;
  return text;
}
