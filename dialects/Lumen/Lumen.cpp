//===- Lumen.cpp - registration and families of the lumen dialect ----===//

#include "dialects/Lumen/Lumen.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace lumen;

#include "dialects/Lumen/LumenDialect.cpp.inc"
#include "dialects/Lumen/LumenEnums.cpp.inc"
#include "dialects/Lumen/LumenInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Lumen/LumenAttrs.cpp.inc"

//===----------------------------------------------------------------------===//
// Lists of sizes in the textual form: [4, "seq - 1"]
//===----------------------------------------------------------------------===//

static ParseResult parseSizes(OpAsmParser &parser, DimsAttr &attr) {
  Sizes sizes;
  auto parseOne = [&]() -> ParseResult {
    int64_t constant;
    OptionalParseResult integer = parser.parseOptionalInteger(constant);
    if (integer.has_value()) {
      sizes.push_back(constant);
      return *integer;
    }
    std::string text;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseString(&text))
      return failure();
    std::optional<SymExpr> size = SymExpr::parse(text);
    if (!size)
      return parser.emitError(loc, "expected a size expression");
    sizes.push_back(*size);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  attr = toAttr(parser.getContext(), sizes);
  return success();
}

static void printSizes(OpAsmPrinter &printer, Operation *, DimsAttr attr) {
  printer << '[';
  llvm::interleaveComma(toSizes(attr), printer, [&](const SymExpr &size) {
    if (std::optional<int64_t> constant = size.asConstant())
      printer << *constant;
    else
      printer.printString(size.str());
  });
  printer << ']';
}

#define GET_OP_CLASSES
#include "dialects/Lumen/LumenOps.cpp.inc"

void LumenDialect::initialize() {
  blobs = std::make_shared<BlobTable>();
  registerAttributes();
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
      /*Movement*/ {false, OperandReads::Once, true, true},
      /*Loops*/ {true, OperandReads::Many, false, false},
      /*Control*/ {false, OperandReads::Many, false, false},
  };
  static_assert(std::size(table) == static_cast<size_t>(Family::Control) + 1);
  return table[static_cast<size_t>(family)];
}

int64_t ConvOp::getChannels() {
  return cast<RankedTensorType>(getInput().getType()).getShape().back();
}
int64_t ConvOp::getOutputChannels() { return cast<RankedTensorType>(getType()).getShape().back(); }
