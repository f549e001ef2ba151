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
      /*Constant*/ {false, OperandReads::Once, true},
      /*Elementwise*/ {false, OperandReads::Once, true},
      /*Contraction*/ {true, OperandReads::Many, true},
      /*Convolution*/ {true, OperandReads::Many, true},
      /*Window*/ {true, OperandReads::Several, true},
      /*Reduction*/ {true, OperandReads::Once, false},
      /*Normalization*/ {true, OperandReads::Once, false},
      /*Movement*/ {false, OperandReads::Once, true},
  };
  static_assert(std::size(table) == static_cast<size_t>(Family::Movement) + 1);
  return table[static_cast<size_t>(family)];
}

int64_t ConvOp::getChannels() {
  return cast<RankedTensorType>(getInput().getType()).getShape().back();
}
int64_t ConvOp::getOutputChannels() { return cast<RankedTensorType>(getType()).getShape().back(); }
