//===- Lumen.cpp - registration and families of the lumen dialect ----===//

#include "dialects/Lumen/Lumen.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lumen;

#include "dialects/Lumen/LumenDialect.cpp.inc"
#include "dialects/Lumen/LumenEnums.cpp.inc"
#include "dialects/Lumen/LumenInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Lumen/LumenAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Lumen/LumenTypes.cpp.inc"

//===----------------------------------------------------------------------===//
// Sizes in the textual form: 4, "seq - 1", and lists of them
//===----------------------------------------------------------------------===//

ParseResult lumen::parseSize(OpAsmParser &parser, StringAttr &attr) {
  int64_t constant;
  OptionalParseResult integer = parser.parseOptionalInteger(constant);
  if (integer.has_value()) {
    attr = parser.getBuilder().getStringAttr(SymExpr(constant).str());
    return *integer;
  }
  std::string text;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&text))
    return failure();
  std::optional<SymExpr> size = SymExpr::parse(text);
  if (!size)
    return parser.emitError(loc, "expected a size expression");
  attr = parser.getBuilder().getStringAttr(size->str());
  return success();
}

void lumen::printSize(OpAsmPrinter &printer, Operation *, StringAttr attr) {
  if (std::optional<SymExpr> size = SymExpr::parse(attr); size && size->asConstant())
    printer << *size->asConstant();
  else
    printer.printString(attr.getValue());
}

ParseResult lumen::parseSizes(OpAsmParser &parser, DimsAttr &attr) {
  Sizes sizes;
  auto parseOne = [&]() -> ParseResult {
    StringAttr size;
    if (parseSize(parser, size))
      return failure();
    sizes.push_back(*SymExpr::parse(size));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  attr = toAttr(parser.getContext(), sizes);
  return success();
}

void lumen::printSizes(OpAsmPrinter &printer, Operation *op, DimsAttr attr) {
  printer << '[';
  llvm::interleaveComma(attr.getDims(), printer,
                        [&](StringAttr size) { printSize(printer, op, size); });
  printer << ']';
}

#define GET_OP_CLASSES
#include "dialects/Lumen/LumenOps.cpp.inc"

void LumenDialect::initialize() {
  blobs = std::make_shared<BlobTable>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Lumen/LumenOps.cpp.inc"
      >();
}

void LumenDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Lumen/LumenAttrs.cpp.inc"
      >();
}

void LumenDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Lumen/LumenTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Values that are no tensors of numbers
//===----------------------------------------------------------------------===//

bool lumen::isObject(Type type) {
  if (auto tensor = dyn_cast<TensorType>(type))
    return isa<StringType>(tensor.getElementType());
  return isa<SeqType, OptionalType>(type);
}

/// The same of what a sequence or an optional holds. A type that is no tensor stands for
/// no items, and none for any.
static Type joinItems(Type a, Type b) {
  if (a == b || !a || !b)
    return a == b ? a : Type();
  if (isa<NoneType>(a) || isa<NoneType>(b))
    return isa<NoneType>(a) ? b : a;
  if (isa<SeqType>(a) || isa<SeqType>(b))
    return joinObjects(a, b);
  auto lhs = dyn_cast<TensorType>(a), rhs = dyn_cast<TensorType>(b);
  if (getElementTypeOrSelf(a) != getElementTypeOrSelf(b))
    return {};
  if (!lhs || !rhs)
    return lhs ? a : b;
  if (!lhs.hasRank() || !rhs.hasRank() || lhs.getRank() != rhs.getRank())
    return UnrankedTensorType::get(lhs.getElementType());
  SmallVector<int64_t> shape;
  for (auto [x, y] : llvm::zip(lhs.getShape(), rhs.getShape()))
    shape.push_back(x == y ? x : ShapedType::kDynamic);
  return RankedTensorType::get(shape, lhs.getElementType());
}

Type lumen::joinObjects(Type a, Type b) {
  if (auto lhs = dyn_cast<SeqType>(a), rhs = dyn_cast<SeqType>(b); lhs && rhs) {
    Type items = joinItems(lhs.getElementType(), rhs.getElementType());
    return items ? SeqType::get(a.getContext(), items) : Type();
  }
  if (auto lhs = dyn_cast<OptionalType>(a), rhs = dyn_cast<OptionalType>(b); lhs && rhs) {
    Type inside = joinItems(lhs.getElementType(), rhs.getElementType());
    return inside ? OptionalType::get(a.getContext(), inside) : Type();
  }
  return {};
}

SmallVector<StringRef> CallOp::getDefinedSymbols() {
  SmallVector<StringRef> names;
  if (getSymbols())
    for (StringRef name : getSymbols()->getAsValueRange<StringAttr>())
      if (!name.empty())
        names.push_back(name);
  return names;
}

/// One that defines symbols stays as long as a type may name them.
void CallOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (!getDefinedSymbols().empty())
    effects.emplace_back(MemoryEffects::Write::get());
}

const FamilyTraits &lumen::traitsOf(Family family) {
  // In the order of the enumeration.
  static constexpr FamilyTraits table[] = {
      /*Constant*/ {false, OperandReads::Once, true, true},
      /*Elementwise*/ {false, OperandReads::Once, true, true},
      /*Contraction*/ {true, OperandReads::Many, true, true},
      /*Convolution*/ {true, OperandReads::Many, true, true},
      /*Window*/ {true, OperandReads::Several, true, true},
      /*Reduction*/ {true, OperandReads::Once, true, false},
      /*Normalization*/ {true, OperandReads::Once, true, false},
      /*Attention*/ {true, OperandReads::Many, false, false},
      /*Movement*/ {false, OperandReads::Once, true, true},
      /*Loops*/ {true, OperandReads::Many, false, false},
      /*Control*/ {false, OperandReads::Many, false, false},
  };
  static_assert(std::size(table) == static_cast<size_t>(Family::Control) + 1);
  return table[static_cast<size_t>(family)];
}

Sizes AttentionOp::logicalSizes(Value tensor, ArrayRef<int64_t> dims) {
  Sizes sizes = sizesOf(cast<RankedTensorType>(tensor.getType()));
  return llvm::map_to_vector<4>(dims, [&](int64_t dim) { return sizes[dim]; });
}

Sizes AttentionOp::getScoreSizes() {
  Sizes sizes = logicalSizes(getQuery(), getQueryDims());
  sizes[3] = logicalSizes(getKey(), getKeyDims())[2];
  return sizes;
}

int64_t ConvOp::getChannels() {
  return cast<RankedTensorType>(getInput().getType()).getShape().back();
}
int64_t ConvOp::getOutputChannels() { return cast<RankedTensorType>(getType()).getShape().back(); }
