//===- Onnx.cpp - registration, accessors and verifiers of onnx -----------===//

#include "dialects/Onnx/Onnx.h"

#include "dialects/Lumen/Lumen.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace lumen::onnx;

#include "dialects/Onnx/OnnxDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Onnx/OnnxTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Onnx/OnnxAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.cpp.inc"

std::string lumen::onnx::typeText(Type type) {
  return llvm::TypeSwitch<Type, std::string>(type)
      .Case([](RankedTensorType tensor) {
        std::string shape = isa_and_nonnull<DimsAttr>(tensor.getEncoding())
                                ? shapeText(sizesOf(tensor))
                                : shapeText(tensor.getShape());
        return typeText(tensor.getElementType()) + "[" + shape + "]";
      })
      .Case([](UnrankedTensorType tensor) { return typeText(tensor.getElementType()); })
      .Case<StringType, lumen::StringType>([](Type) { return "string"; })
      .Case<SeqType, lumen::SeqType>(
          [](auto sequence) { return "sequence of " + typeText(sequence.getElementType()); })
      .Case<OptionalType, lumen::OptionalType>(
          [](auto optional) { return "optional " + typeText(optional.getElementType()); })
      .Case([](SparseType sparse) { return "sparse " + typeText(sparse.getDenseType()); })
      .Case([](MapType map) {
        return "map from " + typeText(map.getKeyType()) + " to " + typeText(map.getValueType());
      })
      .Case([](IntegerType integer) {
        // As programs and lumen-run write it.
        std::string width = std::to_string(integer.getWidth());
        return integer.getWidth() == 1 ? "bool" : (integer.isUnsigned() ? "u" : "i") + width;
      })
      .Default([](Type other) { return llvm::to_string(other); });
}

void OnnxDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Onnx/OnnxOps.cpp.inc"
      >();
}

void OnnxDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Onnx/OnnxTypes.cpp.inc"
      >();
}

void OnnxDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Onnx/OnnxAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Attributes that the dialect puts on others' operations
//===----------------------------------------------------------------------===//

LogicalResult OnnxDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == getOpsetsAttrName()) {
    auto opsets = dyn_cast<DictionaryAttr>(attr.getValue());
    bool valid = opsets && llvm::all_of(opsets, [](NamedAttribute opset) {
                   auto version = dyn_cast<IntegerAttr>(opset.getValue());
                   return version && version.getType().isInteger(64) && version.getInt() > 0;
                 });
    if (!valid)
      return op->emitOpError("attribute '")
             << name << "' must map domains to positive i64 versions";
    return success();
  }
  if (name == getParametersAttrName()) {
    auto names = dyn_cast<ArrayAttr>(attr.getValue());
    if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return op->emitOpError("attribute '") << name << "' must be a list of strings";
    return success();
  }
  if (name == getDefaultsAttrName()) {
    if (!isa<DictionaryAttr>(attr.getValue()))
      return op->emitOpError("attribute '") << name << "' must be a dictionary";
    return success();
  }
  return op->emitOpError("attribute '") << name << "' is not one of the onnx dialect";
}

static LogicalResult verifyName(Operation *op, NamedAttribute attr) {
  if (attr.getName() != OnnxDialect::getNameAttrName() || !isa<StringAttr>(attr.getValue()))
    return op->emitOpError("attribute '")
           << attr.getName() << "' of an argument or result must be 'onnx.name' with a string";
  return success();
}

LogicalResult OnnxDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                    NamedAttribute attr) {
  return verifyName(op, attr);
}

LogicalResult OnnxDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                       NamedAttribute attr) {
  return verifyName(op, attr);
}

//===----------------------------------------------------------------------===//
// NodeOp
//===----------------------------------------------------------------------===//

void NodeOp::build(OpBuilder &builder, OperationState &state, TypeRange outputs, StringRef opType,
                   StringRef domain, ValueRange inputs, DictionaryAttr attrs,
                   ArrayRef<StringRef> bodyNames) {
  build(builder, state, outputs, builder.getStringAttr(opType), builder.getStringAttr(domain),
        /*version=*/IntegerAttr(), attrs, builder.getStrArrayAttr(bodyNames), inputs,
        bodyNames.size());
}

Value NodeOp::getInput(unsigned index) {
  if (index >= getInputs().size())
    return {};
  Value input = getInputs()[index];
  return isa<NoneType>(input.getType()) ? Value() : input;
}

bool NodeOp::hasOutput(unsigned index) {
  return index < getNumResults() && !isa<NoneType>(getResult(index).getType());
}

std::optional<int64_t> NodeOp::getInt(StringRef name) {
  auto attr = getAttrs().getAs<IntegerAttr>(name);
  return attr ? std::optional<int64_t>(attr.getInt()) : std::nullopt;
}

std::optional<float> NodeOp::getFloat(StringRef name) {
  auto attr = getAttrs().getAs<FloatAttr>(name);
  if (!attr || !attr.getType().isF32())
    return std::nullopt;
  return attr.getValue().convertToFloat();
}

std::optional<StringRef> NodeOp::getString(StringRef name) {
  auto attr = getAttrs().getAs<StringAttr>(name);
  return attr ? std::optional<StringRef>(attr.getValue()) : std::nullopt;
}

std::optional<ArrayRef<int64_t>> NodeOp::getInts(StringRef name) {
  auto attr = getAttrs().getAs<DenseI64ArrayAttr>(name);
  return attr ? std::optional<ArrayRef<int64_t>>(attr.asArrayRef()) : std::nullopt;
}

std::optional<ArrayRef<float>> NodeOp::getFloats(StringRef name) {
  auto attr = getAttrs().getAs<DenseF32ArrayAttr>(name);
  return attr ? std::optional<ArrayRef<float>>(attr.asArrayRef()) : std::nullopt;
}

Region *NodeOp::getBody(StringRef name) {
  for (auto [bodyName, body] : llvm::zip(getBodyNames().getAsValueRange<StringAttr>(), getBodies()))
    if (bodyName == name)
      return &body;
  return nullptr;
}

LogicalResult NodeOp::verify() {
  if (getOpType().empty())
    return emitOpError("has no operator");
  if (getOpDomain() == "ai.onnx")
    return emitOpError("spells the default domain 'ai.onnx', expected ''");
  if (getBodyNames().size() != getBodies().size())
    return emitOpError("has ") << getBodies().size() << " bodies, but " << getBodyNames().size()
                               << " names for them";
  for (Region &body : getBodies())
    if (!body.hasOneBlock() || !isa_and_nonnull<ReturnOp>(body.front().getTerminator()))
      return emitOpError("expects bodies of one block that ends in 'onnx.return'");
  return success();
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  if (!function)
    return emitOpError("calls unknown function '") << getCallee() << "'";
  if (getInputs().size() > function.getNumArguments())
    return emitOpError("gives ") << getInputs().size() << " inputs to '" << getCallee()
                                 << "', which takes " << function.getNumArguments();
  if (getNumResults() > function.getNumResults())
    return emitOpError("takes ") << getNumResults() << " outputs of '" << getCallee()
                                 << "', which has " << function.getNumResults();
  return success();
}

LogicalResult ConstantOp::verify() {
  if (getValue().getType() != getType())
    return emitOpError("has value of type ") << getValue().getType() << ", expected " << getType();
  if (!isa<ElementsAttr, lumen::BlobAttr>(getValue()))
    return emitOpError("expects dense elements or '#lumen.blob'");
  return success();
}

LogicalResult ReturnOp::verify() {
  Operation *parent = (*this)->getParentOp();
  if (isa<NodeOp>(parent))
    return success();
  auto function = dyn_cast<func::FuncOp>(parent);
  if (!function)
    return emitOpError("expects 'func.func' or 'onnx.node' around it");
  if (function.getNumResults() != getOutputs().size())
    return emitOpError("returns ") << getOutputs().size() << " values, but '" << function.getName()
                                   << "' has " << function.getNumResults() << " results";
  return success();
}
