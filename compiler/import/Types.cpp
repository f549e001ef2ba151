//===- Types.cpp ----------------------------------------------------------===//

#include "compiler/import/Types.h"

#include "dialects/Onnx/Onnx.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace lumen {

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

template <typename T> static Type plain(MLIRContext *context) { return T::get(context); }
template <unsigned width> static Type integer(MLIRContext *context) {
  return IntegerType::get(context, width);
}
template <unsigned width> static Type unsignedInteger(MLIRContext *context) {
  return IntegerType::get(context, width, IntegerType::Unsigned);
}
template <typename T> static Type complex(MLIRContext *context) {
  return ComplexType::get(T::get(context));
}

static const ElementKind kElementKinds[] = {
    {::onnx::TensorProto::FLOAT, "f32", 32, TypedData::Float, plain<Float32Type>},
    {::onnx::TensorProto::UINT8, "ui8", 8, TypedData::Int32, unsignedInteger<8>},
    {::onnx::TensorProto::INT8, "i8", 8, TypedData::Int32, integer<8>},
    {::onnx::TensorProto::UINT16, "ui16", 16, TypedData::Int32, unsignedInteger<16>},
    {::onnx::TensorProto::INT16, "i16", 16, TypedData::Int32, integer<16>},
    {::onnx::TensorProto::INT32, "i32", 32, TypedData::Int32, integer<32>},
    {::onnx::TensorProto::INT64, "i64", 64, TypedData::Int64, integer<64>},
    {::onnx::TensorProto::STRING, "string", 0, TypedData::String, plain<onnx::StringType>},
    {::onnx::TensorProto::BOOL, "i1", 8, TypedData::Int32, integer<1>},
    {::onnx::TensorProto::FLOAT16, "f16", 16, TypedData::Int32, plain<Float16Type>},
    {::onnx::TensorProto::DOUBLE, "f64", 64, TypedData::Double, plain<Float64Type>},
    {::onnx::TensorProto::UINT32, "ui32", 32, TypedData::Uint64, unsignedInteger<32>},
    {::onnx::TensorProto::UINT64, "ui64", 64, TypedData::Uint64, unsignedInteger<64>},
    {::onnx::TensorProto::COMPLEX64, "complex<f32>", 64, TypedData::Float, complex<Float32Type>},
    {::onnx::TensorProto::COMPLEX128, "complex<f64>", 128, TypedData::Double, complex<Float64Type>},
    {::onnx::TensorProto::BFLOAT16, "bf16", 16, TypedData::Int32, plain<BFloat16Type>},
    {::onnx::TensorProto::FLOAT8E4M3FN, "f8E4M3FN", 8, TypedData::Int32, plain<Float8E4M3FNType>},
    {::onnx::TensorProto::FLOAT8E4M3FNUZ, "f8E4M3FNUZ", 8, TypedData::Int32,
     plain<Float8E4M3FNUZType>},
    {::onnx::TensorProto::FLOAT8E5M2, "f8E5M2", 8, TypedData::Int32, plain<Float8E5M2Type>},
    {::onnx::TensorProto::FLOAT8E5M2FNUZ, "f8E5M2FNUZ", 8, TypedData::Int32,
     plain<Float8E5M2FNUZType>},
    {::onnx::TensorProto::UINT4, "ui4", 4, TypedData::Int32, unsignedInteger<4>},
    {::onnx::TensorProto::INT4, "i4", 4, TypedData::Int32, integer<4>},
    {::onnx::TensorProto::FLOAT4E2M1, "f4E2M1FN", 4, TypedData::Int32, plain<Float4E2M1FNType>},
    {::onnx::TensorProto::FLOAT8E8M0, "f8E8M0FNU", 8, TypedData::Int32, plain<Float8E8M0FNUType>},
    {::onnx::TensorProto::UINT2, "ui2", 2, TypedData::Int32, unsignedInteger<2>},
    {::onnx::TensorProto::INT2, "i2", 2, TypedData::Int32, integer<2>},
    {::onnx::TensorProto::FLOAT6E2M3, "f6E2M3FN", 6, TypedData::Int32, plain<Float6E2M3FNType>},
    {::onnx::TensorProto::FLOAT6E3M2, "f6E3M2FN", 6, TypedData::Int32, plain<Float6E3M2FNType>},
};

const ElementKind *findElementKind(int32_t code) {
  const auto *it = llvm::find_if(kElementKinds, [&](auto &kind) { return kind.code == code; });
  return it == std::end(kElementKinds) ? nullptr : it;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

bool checkRank(size_t rank, const Twine &what, Diagnostics &diagnostics) {
  if (rank <= size_t(onnx::kMaxRank))
    return true;
  diagnostics.error(what + ": has rank " + Twine(rank) + ", expected at most " +
                    Twine(onnx::kMaxRank));
  return false;
}

std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  // 2^47 bytes is what an address space holds; 16 is the largest element.
  constexpr int64_t kMaxElements = int64_t(1) << 43;
  int64_t product = 1;
  bool isEmpty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    isEmpty |= size == 0;
    // An empty tensor's other sizes take part in index arithmetic too.
    if (llvm::MulOverflow(product, std::max<int64_t>(size, 1), product) || product > kMaxElements)
      return std::nullopt;
  }
  return isEmpty ? 0 : product;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

using Dimension = ::onnx::TensorShapeProto::Dimension;

/// The symbol or expression that stands in the file, or the one made up for a
/// dimension without; nothing for a fixed size. Some exporters write -1, or "?", for
/// every dimension of which they say nothing.
static std::optional<std::string> symbolOf(const Dimension &dim, StringRef value, int axis) {
  if (dim.value_case() == Dimension::kDimValue && dim.dim_value() != -1)
    return std::nullopt;
  if (dim.value_case() == Dimension::kDimParam && !dim.dim_param().empty() &&
      dim.dim_param() != "?")
    return dim.dim_param();
  return (value + ".d" + Twine(axis)).str();
}

static const ::onnx::TensorShapeProto *shapeOf(const ::onnx::ValueInfoProto &value) {
  const ::onnx::TypeProto &type = value.type();
  if (type.has_tensor_type() && type.tensor_type().has_shape())
    return &type.tensor_type().shape();
  return nullptr;
}

static std::string quotedList(ArrayRef<std::string> names) {
  return llvm::join(llvm::map_range(names, [](StringRef name) { return ("'" + name + "'").str(); }),
                    ", ");
}

template <typename Map> static SmallVector<StringRef> sortedKeys(const Map &map) {
  SmallVector<StringRef> keys(map.keys());
  llvm::sort(keys);
  return keys;
}

void Symbols::bind(ArrayRef<const ::onnx::ValueInfoProto *> inputs, const ImportOptions &options,
                   Diagnostics &diagnostics) {
  std::vector<std::string> inputNames, texts;
  for (const ::onnx::ValueInfoProto *input : inputs) {
    inputNames.push_back(input->name());
    if (const ::onnx::TensorShapeProto *shape = shapeOf(*input))
      for (auto [axis, dim] : llvm::enumerate(shape->dim()))
        if (auto text = symbolOf(dim, input->name(), axis))
          if (names.try_emplace(*text, 1).second)
            texts.push_back(*text);
  }
  // With every text taken for a symbol, those that others explain are not.
  std::vector<std::string> symbols;
  for (const std::string &text : texts) {
    names.erase(text);
    if (!expression(text)) {
      names[text] = 1;
      symbols.push_back(text);
    }
  }

  auto unknown = [&](const std::string &flag) {
    return flag + ": no input has a dimension of that name; " +
           (symbols.empty() ? std::string("all sizes are fixed")
                            : "the names are " + quotedList(symbols));
  };
  for (StringRef name : sortedKeys(options.bounds))
    if (!names.contains(name))
      diagnostics.error(
          unknown(("--dim " + name + "<=" + Twine(options.bounds.lookup(name))).str()));
  for (StringRef name : sortedKeys(options.reportDims))
    if (!names.contains(name))
      diagnostics.error(
          unknown(("--report-dims " + name + "=" + Twine(options.reportDims.lookup(name))).str()));
  for (StringRef name : sortedKeys(options.dims)) {
    int64_t size = options.dims.lookup(name);
    std::string flag = ("--dim " + name + "=" + Twine(size)).str();
    if (!names.contains(name))
      diagnostics.error(unknown(flag));
    else if (size < 0)
      diagnostics.error(flag + ": a size cannot be negative");
    else
      sizes[name] = size;
  }
  std::vector<Pending> pending;
  for (StringRef name : sortedKeys(options.shapes)) {
    ArrayRef<int64_t> shape = options.shapes.find(name)->second;
    const auto *input = llvm::find_if(inputs, [&](auto *value) { return value->name() == name; });
    if (input == inputs.end())
      diagnostics.error("--shape " + name + "=" + shapeText(shape) +
                        ": no input has that name; the inputs are " + quotedList(inputNames));
    else
      bindShape(**input, shape, pending, diagnostics);
  }
  for (const Pending &given : pending)
    bindSize(given, diagnostics);
  bindBounds(options, diagnostics);
  checkReported(options, diagnostics);
}

void Symbols::bindBounds(const ImportOptions &options, Diagnostics &diagnostics) {
  for (StringRef name : sortedKeys(options.bounds)) {
    int64_t bound = options.bounds.lookup(name);
    std::string flag = ("--dim " + name + "<=" + Twine(bound)).str();
    auto size = sizes.find(name);
    if (bound < 0)
      diagnostics.error(flag + ": a size cannot be negative");
    else if (size == sizes.end())
      upperBounds[name] = bound;
    else if (size->second > bound)
      diagnostics.error(flag + ": but '" + name + "' is " + Twine(size->second));
  }
}

void Symbols::checkReported(const ImportOptions &options, Diagnostics &diagnostics) const {
  for (StringRef name : sortedKeys(options.reportDims)) {
    int64_t size = options.reportDims.lookup(name);
    std::string flag = ("--report-dims " + name + "=" + Twine(size)).str();
    auto fixed = sizes.find(name), bound = upperBounds.find(name);
    if (fixed != sizes.end() && fixed->second != size)
      diagnostics.error(flag + ": but '" + name + "' is " + Twine(fixed->second));
    else if (bound != upperBounds.end() && size > bound->second)
      diagnostics.error(flag + ": but '" + name + "' is at most " + Twine(bound->second));
  }
  if (options.reportDims.empty())
    return;
  for (StringRef name : sortedKeys(names))
    if (!options.reportDims.contains(name) && !sizes.contains(name) && !upperBounds.contains(name))
      diagnostics.error("--report-dims: no size is given for '" + name + "'");
}

std::vector<std::pair<std::string, int64_t>> Symbols::bounds() const {
  std::vector<std::pair<std::string, int64_t>> result;
  for (StringRef name : sortedKeys(upperBounds))
    result.emplace_back(name.str(), upperBounds.lookup(name));
  return result;
}

void Symbols::bindShape(const ::onnx::ValueInfoProto &input, ArrayRef<int64_t> shape,
                        std::vector<Pending> &pending, Diagnostics &diagnostics) {
  std::string flag = "--shape " + input.name() + "=" + shapeText(shape);
  if (!input.type().has_tensor_type()) {
    diagnostics.error(flag + ": the input is not a tensor");
    return;
  }
  if (!checkRank(shape.size(), flag, diagnostics))
    return;
  if (!countElements(shape)) {
    diagnostics.error(flag + ": sizes must not be negative, nor the tensor larger than memory");
    return;
  }
  shapes[input.name()] = llvm::to_vector(shape);
  const ::onnx::TensorShapeProto *declared = shapeOf(input);
  if (!declared)
    return;
  if (size_t(declared->dim_size()) != shape.size()) {
    diagnostics.error(flag + ": has rank " + Twine(shape.size()) + ", but the input has rank " +
                      Twine(declared->dim_size()));
    return;
  }
  for (auto [axis, dim] : llvm::enumerate(declared->dim())) {
    std::optional<std::string> text = symbolOf(dim, input.name(), axis);
    if (!text && dim.dim_value() != shape[axis])
      diagnostics.error(flag + ": dimension " + Twine(axis) + " is " + Twine(shape[axis]) +
                        ", but the model fixes it at " + Twine(dim.dim_value()));
    if (!text)
      continue;
    Pending given{flag, *text, axis, shape[axis]};
    if (names.contains(*text))
      bindSize(given, diagnostics);
    else
      pending.push_back(std::move(given));
  }
}

void Symbols::bindSize(const Pending &given, Diagnostics &diagnostics) {
  int64_t known = given.size;
  if (std::optional<SymExpr> expr = expression(given.text))
    known = expr->evaluate(sizes).value_or(given.size);
  known = sizes.try_emplace(given.text, known).first->second;
  if (known != given.size)
    diagnostics.error(given.flag + ": dimension " + Twine(given.axis) + " is " + Twine(given.size) +
                      ", but '" + given.text + "' is already " + Twine(known));
}

/// The text as an expression over the inputs' symbols; nothing when it is a
/// symbol of its own.
std::optional<SymExpr> Symbols::expression(StringRef text) const {
  // Products of sums grow fast; what real models say is short.
  if (text.size() > 128 || text.count('*') > 3)
    return std::nullopt;
  std::optional<SymExpr> expr = SymExpr::parse(text);
  if (!expr || *expr == SymExpr::symbol(text) || !expr->evaluate(names))
    return std::nullopt;
  std::optional<int64_t> constant = expr->asConstant();
  return constant && *constant < 0 ? std::nullopt : expr;
}

const SmallVector<int64_t> *Symbols::givenShape(StringRef input) const {
  auto it = shapes.find(input);
  return it == shapes.end() ? nullptr : &it->second;
}

std::optional<SymExpr> Symbols::resolve(const Dimension &dim, StringRef value, int axis,
                                        std::string &fault) const {
  std::optional<std::string> text = symbolOf(dim, value, axis);
  if (!text) {
    if (dim.dim_value() >= 0)
      return SymExpr(dim.dim_value());
    fault = std::to_string(dim.dim_value());
    return std::nullopt;
  }
  auto it = sizes.find(*text);
  if (it != sizes.end())
    return SymExpr(it->second);
  std::optional<SymExpr> expr = expression(*text);
  SymExpr size = expr ? expr->substitute(sizes) : SymExpr::symbol(*text);
  std::optional<int64_t> constant = size.asConstant();
  if (size.isValid() && (!constant || *constant >= 0))
    return size;
  fault = "'" + *text + "'";
  if (constant)
    fault += " = " + std::to_string(*constant);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type TypeReader::tensor(int32_t elementCode, const ::onnx::TensorShapeProto *shape, StringRef value,
                        const Twine &what, Shapes shapes, bool outermost) {
  const ElementKind *kind = findElementKind(elementCode);
  if (!kind) {
    diagnostics.error(what + ": element type " + Twine(elementCode) +
                      (elementCode == 0 ? " (undefined)" : " is not known to this version"));
    return {};
  }
  Type element = kind->type(context);
  if (shapes == Shapes::Drop)
    return UnrankedTensorType::get(element);
  if (!shape) {
    if (outermost)
      if (const SmallVector<int64_t> *given = symbols.givenShape(value))
        return RankedTensorType::get(*given, element);
    return UnrankedTensorType::get(element);
  }

  if (!checkRank(shape->dim_size(), what, diagnostics))
    return {};
  SmallVector<int64_t> sizes;
  SmallVector<StringAttr> exprs;
  for (auto [axis, dim] : llvm::enumerate(shape->dim())) {
    std::string fault;
    std::optional<SymExpr> expr = symbols.resolve(dim, value, axis, fault);
    if (!expr) {
      diagnostics.error(what + ": dimension " + Twine(axis) + " is " + fault +
                        ", expected a size or a symbol");
      return {};
    }
    sizes.push_back(expr->asConstant().value_or(ShapedType::kDynamic));
    exprs.push_back(StringAttr::get(context, expr->str()));
  }
  SmallVector<int64_t> fixed = llvm::to_vector(
      llvm::make_filter_range(sizes, [](int64_t size) { return !ShapedType::isDynamic(size); }));
  if (!countElements(fixed)) {
    diagnostics.error(what + ": a tensor of " +
                      onnx::typeText(RankedTensorType::get(sizes, element)) +
                      " is larger than memory can be");
    return {};
  }
  Attribute encoding;
  if (fixed.size() != sizes.size())
    encoding = DimsAttr::get(context, exprs);
  return RankedTensorType::get(sizes, element, encoding);
}

Type TypeReader::convert(const ::onnx::TypeProto &proto, StringRef value, const Twine &what,
                         Shapes shapes, bool outermost) {
  auto inner = [&](const ::onnx::TypeProto &element) {
    return convert(element, value, what, shapes, /*outermost=*/false);
  };
  switch (proto.value_case()) {
  case ::onnx::TypeProto::kTensorType: {
    const auto &type = proto.tensor_type();
    return tensor(type.elem_type(), type.has_shape() ? &type.shape() : nullptr, value, what, shapes,
                  outermost);
  }
  case ::onnx::TypeProto::kSparseTensorType: {
    const auto &type = proto.sparse_tensor_type();
    Type dense = tensor(type.elem_type(), type.has_shape() ? &type.shape() : nullptr, value, what,
                        shapes, outermost);
    return dense ? onnx::SparseType::get(context, dense) : Type();
  }
  case ::onnx::TypeProto::kSequenceType: {
    Type element = inner(proto.sequence_type().elem_type());
    return element ? onnx::SeqType::get(context, element) : Type();
  }
  case ::onnx::TypeProto::kOptionalType: {
    Type element = inner(proto.optional_type().elem_type());
    return element ? onnx::OptionalType::get(context, element) : Type();
  }
  case ::onnx::TypeProto::kMapType: {
    const ElementKind *key = findElementKind(proto.map_type().key_type());
    Type keyType = key ? key->type(context) : Type();
    if (!keyType || !(isa<onnx::StringType>(keyType) ||
                      (isa<IntegerType>(keyType) && keyType.getIntOrFloatBitWidth() >= 8))) {
      diagnostics.error(what + ": a map's key has element type " +
                        Twine(proto.map_type().key_type()) + ", expected an integer or string");
      return {};
    }
    Type valueType = inner(proto.map_type().value_type());
    return valueType ? onnx::MapType::get(context, keyType, valueType) : Type();
  }
  case ::onnx::TypeProto::kOpaqueType:
    return onnx::OpaqueType::get(context, StringAttr::get(context, proto.opaque_type().domain()),
                                 StringAttr::get(context, proto.opaque_type().name()));
  case ::onnx::TypeProto::VALUE_NOT_SET:
    break;
  }
  diagnostics.error(what + ": has no type");
  return {};
}

Type TypeReader::signature(const ::onnx::ValueInfoProto &value, const Twine &what) {
  return convert(value.type(), value.name(), what, Shapes::Keep, /*outermost=*/true);
}

Type TypeReader::hint(const ::onnx::ValueInfoProto &value) {
  // Exporters leave types out inside of graphs.
  if (value.type().value_case() == ::onnx::TypeProto::VALUE_NOT_SET ||
      (value.type().has_tensor_type() && value.type().tensor_type().elem_type() == 0))
    return onnx::UnknownType::get(context);
  Type type = convert(value.type(), value.name(), "value '" + value.name() + "'", Shapes::Drop,
                      /*outermost=*/true);
  return type ? type : onnx::UnknownType::get(context);
}

Type TypeReader::type(const ::onnx::TypeProto &proto, const Twine &what) {
  return convert(proto, "", what, Shapes::Keep, /*outermost=*/false);
}

} // namespace lumen
