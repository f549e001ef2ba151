//===- CpuKernel.cpp - the frame in which a CPU kernel is built -----------===//

#include "codegen/cpu/CpuKernel.h"
#include "codegen/cpu/CpuTarget.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

/// The builder of a family, or null where there is none.
static KernelBuilder builderFor(Operation *root) {
  if (!root)
    return buildElementwise;
  switch (cast<LumenOpInterface>(root).getFamily()) {
  case Family::Constant:
  case Family::Elementwise:
  case Family::Movement:
    return buildElementwise;
  case Family::Contraction:
    return buildContraction;
  case Family::Convolution:
    return buildConvolution;
  case Family::Window:
    return buildWindow;
  case Family::Reduction:
    return buildReduction;
  case Family::Normalization:
    return buildNormalization;
  default:
    return nullptr;
  }
}

Value CpuKernel::yielded(unsigned i) const {
  dispatch::KernelOp kernel = op; // op accessors are not const
  return kernel.getBody().front().getTerminator()->getOperand(i);
}

Value CpuKernel::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value CpuKernel::scratchView(int64_t byteOffset, Type type, int64_t elements) {
  auto viewType = MemRefType::get({ShapedType::kDynamic}, type);
  return memref::ViewOp::create(builder, loc, viewType, scratch, index(byteOffset),
                                ValueRange{index(elements)});
}

func::FuncOp CpuKernel::sharedFunction(StringRef name, FunctionType type,
                                       llvm::function_ref<void(OpBuilder &, Block &)> body) {
  if (auto existing = module.lookupSymbol<func::FuncOp>(name)) {
    assert(existing.getFunctionType() == type && "functions of one name differ in their types");
    return existing;
  }
  OpBuilder moduleBuilder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(moduleBuilder, loc, name, type);
  function.setPrivate();
  // Shared code stays shared: inlined copies cost compile time and code size.
  function->setAttr("passthrough", moduleBuilder.getStrArrayAttr({"noinline"}));
  function->setAttr("llvm.linkage",
                    LLVM::LinkageAttr::get(op.getContext(), LLVM::Linkage::Internal));
  Block *entry = function.addEntryBlock();
  OpBuilder bodyBuilder = OpBuilder::atBlockBegin(entry);
  body(bodyBuilder, *entry);
  return function;
}

/// memref<?xT> over a bare pointer. The descriptor is spelled in the LLVM
/// dialect, since no memref op makes a memref of a pointer.
Value cpu::memrefOfPointer(OpBuilder &builder, Location loc, Value pointer, Type elementType,
                           int64_t elements) {
  MLIRContext *context = builder.getContext();
  Type i64 = builder.getI64Type();
  auto array = LLVM::LLVMArrayType::get(i64, 1);
  auto pointerType = LLVM::LLVMPointerType::get(context);
  auto structType =
      LLVM::LLVMStructType::getLiteral(context, {pointerType, pointerType, i64, array, array});
  Value zero = LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(0));
  Value one = LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(1));
  Value size = LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(elements));
  Value descriptor = LLVM::PoisonOp::create(builder, loc, structType);
  auto insert = [&](Value value, ArrayRef<int64_t> position) {
    descriptor = LLVM::InsertValueOp::create(builder, loc, descriptor, value, position);
  };
  insert(pointer, {0});
  insert(pointer, {1});
  insert(zero, {2});
  insert(size, {3, 0});
  insert(one, {4, 0});
  auto memrefType = MemRefType::get({ShapedType::kDynamic}, elementType);
  return UnrealizedConversionCastOp::create(builder, loc, memrefType, descriptor).getResult(0);
}

std::string cpu::symbolName(dispatch::KernelOp kernel, StringRef level) {
  return (kernel.getSymName() + "." + level).str();
}

FailureOr<LaunchShape> cpu::buildKernel(dispatch::KernelOp kernel, StringRef level,
                                        const CodegenOptions &options, ModuleOp module) {
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  const Capabilities *caps = capabilitiesOf(level);
  assert(caps && "level was not checked");
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
    if (!cast<RankedTensorType>(type).hasStaticShape())
      return kernel.emitError("has the dynamic type ") << type << ", expected static shapes";

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  auto function = func::FuncOp::create(
      builder, loc, symbolName(kernel, level),
      builder.getFunctionType({pointer, pointer, i64, i64, builder.getI32Type(), pointer}, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);

  Operation *root = kernel.getRoot();
  CpuKernel frame{kernel, root, *caps, options, module, builder, loc, {}, {}, {}, {}, {}, {}, {}};
  OpBuilder &body = frame.builder;
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(body, loc, body.getIndexType(), value);
  };
  frame.begin = toIndex(entry->getArgument(2));
  frame.end = toIndex(entry->getArgument(3));
  frame.worker = toIndex(entry->getArgument(4));
  frame.scratch = memrefOfPointer(body, loc, entry->getArgument(5), body.getI8Type(), 0);

  // Outputs follow the inputs in `args`.
  int32_t slot = 0;
  auto makeAccess = [&](Type type, SmallVector<int64_t> strides) {
    auto tensor = cast<RankedTensorType>(type);
    Value address = LLVM::GEPOp::create(body, loc, pointer, pointer, entry->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{slot++});
    Value data = LLVM::LoadOp::create(body, loc, pointer, address, /*alignment=*/8,
                                      /*isVolatile=*/false, /*isNonTemporal=*/false,
                                      /*isInvariant=*/true);
    int64_t elements = 1;
    for (auto [size, stride] : llvm::zip_equal(tensor.getShape(), strides))
      elements += (std::max<int64_t>(size, 1) - 1) * stride;
    Value memref = memrefOfPointer(body, loc, data, storageType(tensor.getElementType()), elements);
    return Access{memref, std::move(strides), tensor};
  };
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    frame.arguments.push_back(makeAccess(type, *asConstants(kernel.getArgumentStrides(i))));
    frame.expression.bindMemory(kernel.getBody().getArgument(i), frame.arguments.back());
  }
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
    frame.results.push_back(makeAccess(type, *asConstants(kernel.getResultStrides(i))));

  KernelBuilder build = builderFor(root);
  if (!build)
    return kernel.emitError("has the root ") << root->getName() << ", which has no CPU builder";
  // Tensors of size zero are legal and need no work; builders may rely on there
  // being some.
  bool isEmpty = llvm::all_of(kernel.getResultTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getNumElements() == 0;
  });
  FailureOr<LaunchShape> shape = isEmpty ? LaunchShape{0, 1, 0} : build(frame);
  if (failed(shape))
    return failure();
  body.setInsertionPointToEnd(entry);
  func::ReturnOp::create(body, loc);
  return shape;
}
