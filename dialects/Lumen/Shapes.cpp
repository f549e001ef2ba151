//===- Shapes.cpp - shapes whose dimensions are expressions ---------------===//

#include "dialects/Lumen/Shapes.h"

#include "dialects/Lumen/Lumen.h"

using namespace mlir;
using namespace lumen;

SymExpr lumen::toSize(StringRef text) { return SymExpr::ofText(text); }

std::optional<SymExpr> lumen::toSize(std::optional<StringRef> text) {
  return text ? std::optional<SymExpr>(toSize(*text)) : std::nullopt;
}

Sizes lumen::sizesOf(RankedTensorType type) {
  Sizes sizes;
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(size))
      sizes.push_back(size);
    else
      sizes.push_back(dims && i < dims.getDims().size() ? toSize(dims.getDims()[i].getValue())
                                                        : SymExpr::invalid());
  }
  return sizes;
}

Sizes lumen::sizesOf(Value value) { return sizesOf(cast<RankedTensorType>(value.getType())); }

SymExpr lumen::sizeOf(Value value, unsigned dim) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t size = type.getDimSize(dim);
  return ShapedType::isDynamic(size) ? sizesOf(type)[dim] : SymExpr(size);
}

RankedTensorType lumen::tensorTypeOf(ArrayRef<SymExpr> sizes, Type elementType) {
  SmallVector<int64_t> shape;
  bool isStatic = true;
  for (const SymExpr &size : sizes) {
    std::optional<int64_t> constant = size.asConstant();
    // A negative constant is no size; as an expression it can be reported.
    isStatic &= constant && *constant >= 0;
    shape.push_back(constant && *constant >= 0 ? *constant : ShapedType::kDynamic);
  }
  if (isStatic)
    return RankedTensorType::get(shape, elementType);
  return RankedTensorType::get(shape, elementType, toAttr(elementType.getContext(), sizes));
}

std::optional<SmallVector<int64_t>> lumen::asConstants(ArrayRef<SymExpr> sizes) {
  SmallVector<int64_t> constants;
  for (const SymExpr &size : sizes) {
    std::optional<int64_t> constant = size.asConstant();
    if (!constant)
      return std::nullopt;
    constants.push_back(*constant);
  }
  return constants;
}

Sizes lumen::toSizes(ArrayRef<int64_t> constants) {
  return Sizes(constants.begin(), constants.end());
}

Sizes lumen::toSizes(DimsAttr attr) {
  Sizes sizes;
  for (StringAttr dim : attr.getDims())
    sizes.push_back(toSize(dim.getValue()));
  return sizes;
}

DimsAttr lumen::toAttr(MLIRContext *context, ArrayRef<SymExpr> sizes) {
  SmallVector<StringAttr> dims;
  for (const SymExpr &size : sizes)
    dims.push_back(StringAttr::get(context, size.str()));
  return DimsAttr::get(context, dims);
}

/// The sizes' texts as lumen-run shows them: a list where one of them is open.
static std::string shapeText(ArrayRef<std::string> sizes, bool isOpen) {
  if (sizes.empty())
    return "scalar";
  return isOpen ? "[" + llvm::join(sizes, ", ") + "]" : llvm::join(sizes, "x");
}

std::string lumen::shapeText(ArrayRef<SymExpr> sizes) {
  auto texts = llvm::map_to_vector(sizes, [](const SymExpr &size) { return size.str(); });
  return ::shapeText(texts, !asConstants(sizes));
}

std::string lumen::shapeText(ArrayRef<int64_t> shape) {
  auto texts = llvm::map_to_vector(shape, [](int64_t size) {
    return ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size);
  });
  return ::shapeText(texts, ShapedType::isDynamicShape(shape));
}

SymExpr lumen::product(ArrayRef<SymExpr> sizes) {
  SymExpr result(1);
  for (const SymExpr &size : sizes)
    result *= size;
  return result;
}

template <typename T> static SmallVector<T> rowMajorStrides(ArrayRef<T> sizes) {
  SmallVector<T> strides(sizes.size(), T(1));
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * sizes[i + 1];
  return strides;
}

Sizes lumen::contiguousStrides(ArrayRef<SymExpr> sizes) { return rowMajorStrides(sizes); }
SmallVector<int64_t> lumen::contiguousStrides(ArrayRef<int64_t> shape) {
  return rowMajorStrides(shape);
}

bool lumen::isContiguous(ArrayRef<SymExpr> sizes, ArrayRef<SymExpr> strides) {
  SymExpr expected(1);
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) {
    // A dimension of 1 is never stepped over, so its stride says nothing.
    if (!isOne(sizes[i]) && strides[i] != expected)
      return false;
    expected *= sizes[i];
  }
  return true;
}

/// Whether `size` is certainly a proper divisor of `of`, so that it needs company
/// to become equal to it.
static bool isSmaller(const SymExpr &size, const SymExpr &of) {
  std::optional<int64_t> a = size.asConstant(), b = of.asConstant();
  if (a && b)
    return *a < *b;
  if (a)
    return *a != 0; // a constant beside a symbol that may be a multiple of it
  SymExpr quotient = SymExpr::floorDiv(of, size);
  return quotient.isValid() && quotient * size == of;
}

std::optional<SmallVector<DimGroup>> lumen::reshapeGroups(ArrayRef<SymExpr> from,
                                                          ArrayRef<SymExpr> to) {
  SmallVector<DimGroup> groups;
  int64_t i = 0, j = 0, numFrom = from.size(), numTo = to.size();
  auto skipOnes = [](ArrayRef<SymExpr> sizes, int64_t &at) {
    while (at < static_cast<int64_t>(sizes.size()) && isOne(sizes[at]))
      ++at;
  };
  while (true) {
    skipOnes(from, i);
    skipOnes(to, j);
    if (i == numFrom && j == numTo)
      return groups;
    if (i == numFrom || j == numTo)
      return std::nullopt;
    DimGroup group;
    SymExpr left = from[i], right = to[j];
    group.from.push_back(i++);
    group.to.push_back(j++);
    while (left != right) {
      skipOnes(from, i);
      skipOnes(to, j);
      if (i < numFrom && isSmaller(left, right)) {
        left *= from[i];
        group.from.push_back(i++);
      } else if (j < numTo && isSmaller(right, left)) {
        right *= to[j];
        group.to.push_back(j++);
      } else if (i < numFrom || j < numTo) {
        // Neither divides the other; together with what follows they may agree.
        if (i < numFrom) {
          left *= from[i];
          group.from.push_back(i++);
        }
        if (left != right && j < numTo) {
          right *= to[j];
          group.to.push_back(j++);
        }
      } else {
        return std::nullopt;
      }
      if (!left.isValid() || !right.isValid())
        return std::nullopt;
    }
    groups.push_back(std::move(group));
  }
}
