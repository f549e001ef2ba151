//===- Dispatch.cpp - operations of the dispatch dialect ------------------===//

#include "dialects/Dispatch/Dispatch.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

#include "dialects/Dispatch/DispatchDialect.cpp.inc"
#include "dialects/Dispatch/DispatchEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Dispatch/DispatchTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dispatch/DispatchAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Dispatch/DispatchOps.cpp.inc"

void DispatchDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Dispatch/DispatchTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Dispatch/DispatchAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dispatch/DispatchOps.cpp.inc"
      >();
}

int64_t dispatch::elementBytes(Type type) {
  if (isa<StringType>(type)) // an object holds them
    return 0;
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * elementBytes(complex.getElementType());
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

SymExpr dispatch::tensorBytes(RankedTensorType type) {
  return product(sizesOf(type)) * SymExpr(elementBytes(type.getElementType()));
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  OpBuilder::InsertionGuard guard(builder);
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  Block *block = builder.createBlock(state.addRegion());
  for (Type input : type.getInputs())
    block->addArgument(input, state.location);
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

LogicalResult KernelOp::verify() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getOperandTypes() != TypeRange(getResultTypes()))
    return emitOpError("yields types that differ from its results");
  Operation *root = nullptr;
  for (Operation &op : getBody().front().without_terminator()) {
    auto lumenOp = dyn_cast<LumenOpInterface>(op);
    if (!lumenOp)
      return emitOpError("holds ") << op.getName() << ", expected operations of the lumen dialect";
    if (!traitsOf(lumenOp.getFamily()).isRoot)
      continue;
    if (root)
      return emitOpError("has two roots, ") << root->getName() << " and " << op.getName();
    root = &op;
  }
  auto checkStrides = [&](DictionaryAttr attrs, Type type, StringRef what,
                          unsigned index) -> LogicalResult {
    auto strides = attrs ? attrs.getAs<DimsAttr>(DispatchDialect::kStrides) : nullptr;
    int64_t rank = cast<RankedTensorType>(type).getRank();
    if (strides && int64_t(strides.getDims().size()) != rank)
      return emitOpError() << what << " " << index << " has " << strides.getDims().size()
                           << " strides, expected " << rank;
    return success();
  };
  for (auto [i, type] : llvm::enumerate(getArgumentTypes()))
    if (failed(checkStrides(getArgAttrDict(i), type, "argument", i)))
      return failure();
  for (auto [i, type] : llvm::enumerate(getResultTypes()))
    if (failed(checkStrides(getResultAttrDict(i), type, "result", i)))
      return failure();
  return success();
}

Operation *KernelOp::getRoot() {
  Operation *movement = nullptr;
  for (Operation &op : getBody().front().without_terminator()) {
    Family family = cast<LumenOpInterface>(op).getFamily();
    if (family == Family::Movement)
      movement = &op;
    else if (traitsOf(family).isRoot)
      return &op;
  }
  return movement;
}

static Sizes stridesOf(DictionaryAttr attrs, Type type) {
  if (auto strides = attrs ? attrs.getAs<DimsAttr>(DispatchDialect::kStrides) : nullptr)
    return toSizes(strides);
  return contiguousStrides(sizesOf(cast<RankedTensorType>(type)));
}

Sizes KernelOp::getArgumentStrides(unsigned index) {
  return stridesOf(getArgAttrDict(index), getArgumentTypes()[index]);
}

Sizes KernelOp::getResultStrides(unsigned index) {
  return stridesOf(getResultAttrDict(index), getResultTypes()[index]);
}

SmallVector<StringRef> KernelOp::getSizeNames() {
  SmallVector<StringRef> names;
  if (auto sizes = (*this)->getAttrOfType<ArrayAttr>(DispatchDialect::kSizes))
    for (auto name : sizes.getAsRange<StringAttr>())
      names.push_back(name.getValue());
  return names;
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("launches ") << getKernelAttr() << ", which is no kernel";
  if (getInputs().size() != kernel.getArgumentTypes().size())
    return emitOpError() << "has " << getInputs().size() << " inputs, expected "
                         << kernel.getArgumentTypes().size();
  size_t outputs = getNumResults() + getOuts().size();
  if (outputs != kernel.getResultTypes().size())
    return emitOpError() << "has " << outputs << " outputs, expected "
                         << kernel.getResultTypes().size();
  size_t sizes = getSizes() ? getSizes()->getDims().size() : 0;
  if (sizes != kernel.getSizeNames().size())
    return emitOpError() << "gives " << sizes << " sizes, expected "
                         << kernel.getSizeNames().size();
  // A kernel names its symbols itself, so types are compared without them; it may
  // know the number of a size that the schedule has as an expression.
  auto sameTypes = [](TypeRange a, TypeRange b) {
    return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
             auto lhs = cast<RankedTensorType>(std::get<0>(pair));
             auto rhs = cast<RankedTensorType>(std::get<1>(pair));
             return succeeded(verifyCompatibleShape(lhs, rhs)) &&
                    lhs.getElementType() == rhs.getElementType();
           });
  };
  if (getOuts().empty() && (!sameTypes(getInputs().getTypes(), kernel.getArgumentTypes()) ||
                            !sameTypes(getResultTypes(), kernel.getResultTypes())))
    return emitOpError("has types that differ from those of ") << getKernelAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// The schedule over buffers
//===----------------------------------------------------------------------===//

static LogicalResult expectSize(Operation *op, StringRef name, StringRef text) {
  if (!SymExpr::parse(text))
    return op->emitOpError() << name << " is '" << text << "', expected a size expression";
  return success();
}

LogicalResult StorageOp::verify() { return expectSize(*this, "size", getSize()); }

void BufferOp::build(OpBuilder &builder, OperationState &state, Value storage,
                     const SymExpr &offset, const SymExpr &size) {
  build(builder, state, BufferType::get(builder.getContext()), storage,
        builder.getStringAttr(offset.str()), builder.getStringAttr(size.str()), IntegerAttr(),
        IntegerAttr());
}

StorageOp BufferOp::getStorageOp() { return getStorage().getDefiningOp<StorageOp>(); }

LogicalResult BufferOp::verify() {
  if (failed(expectSize(*this, "offset", getOffset())))
    return failure();
  return expectSize(*this, "size", getSize());
}
