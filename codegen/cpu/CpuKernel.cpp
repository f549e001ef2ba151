//===- CpuKernel.cpp - the frame in which a CPU kernel is built -----------===//

#include "codegen/cpu/CpuKernel.h"
#include "codegen/cpu/CpuTarget.h"

#include "runtime-lite/include/lumen_abi.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

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

std::string cpu::gridSymbolName(dispatch::KernelOp kernel, StringRef level) {
  return symbolName(kernel, level) + ".grid";
}

std::string cpu::extentsSymbolName(dispatch::KernelOp kernel, StringRef level) {
  return symbolName(kernel, level) + ".extents";
}

/// Reads the symbols of a kernel from `sizes`, the argument of the launch.
static SizeValues::Symbol readSymbols(dispatch::KernelOp kernel, Value sizes) {
  SmallVector<StringRef> names = kernel.getSizeNames();
  return [names, sizes](OpBuilder &builder, Location loc, StringRef name) -> Value {
    const auto *found = llvm::find(names, name);
    assert(found != names.end() && "a symbol that the kernel does not name");
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    auto address =
        LLVM::GEPOp::create(builder, loc, pointer, builder.getI64Type(), sizes,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(found - names.begin())});
    Value size = LLVM::LoadOp::create(builder, loc, builder.getI64Type(), address,
                                      /*alignment=*/8, /*isVolatile=*/false,
                                      /*isNonTemporal=*/false, /*isInvariant=*/true);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), size);
  };
}

/// A function of a launch's sizes, of which `value` computes i64 values at the end of its
/// only block. Its arguments are the sizes and `more`.
static void makeSizesFunction(
    dispatch::KernelOp kernel, const std::string &name, TypeRange more, TypeRange results,
    ModuleOp module,
    llvm::function_ref<void(OpBuilder &, Block &, llvm::function_ref<Value(const SymExpr &)>)>
        body) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = kernel.getLoc();
  SmallVector<Type> arguments = {LLVM::LLVMPointerType::get(kernel.getContext())};
  llvm::append_range(arguments, more);
  auto function =
      func::FuncOp::create(builder, loc, name, builder.getFunctionType(arguments, results));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  SizeValues sizes(*entry, readSymbols(kernel, entry->getArgument(0)));
  body(builder, *entry, [&](const SymExpr &size) -> Value {
    Value value = sizes.get(builder, loc, size);
    builder.setInsertionPointToEnd(entry);
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  });
}

void cpu::makeGridFunction(dispatch::KernelOp kernel, StringRef level, const SymExpr &grid,
                           ModuleOp module) {
  Type i64 = IntegerType::get(kernel.getContext(), 64);
  makeSizesFunction(kernel, gridSymbolName(kernel, level), {}, i64, module,
                    [&](OpBuilder &builder, Block &, auto value) {
                      func::ReturnOp::create(builder, kernel.getLoc(), value(grid));
                    });
}

/// The function that writes of each argument the bytes that the kernel may touch.
static void makeExtentsFunction(dispatch::KernelOp kernel, StringRef level, ModuleOp module) {
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  auto body = [&](OpBuilder &builder, Block &entry, auto value) {
    int32_t slot = 0;
    auto write = [&](Type argument, const Sizes &strides) {
      auto type = cast<RankedTensorType>(argument);
      SymExpr bytes =
          elementsSpanned(type, strides) * dispatch::elementBytes(type.getElementType());
      for (const SymExpr &size : sizesOf(type))
        bytes = bytes * SymExpr::min(size, 1); // nothing, where one is 0
      Value extent = value(bytes);
      Value address = LLVM::GEPOp::create(builder, loc, pointer, builder.getI64Type(),
                                          entry.getArgument(1), ArrayRef<LLVM::GEPArg>{slot++});
      LLVM::StoreOp::create(builder, loc, extent, address, /*alignment=*/8);
    };
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
      write(type, kernel.getArgumentStrides(i));
    for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
      write(type, kernel.getResultStrides(i));
    func::ReturnOp::create(builder, loc);
  };
  makeSizesFunction(kernel, extentsSymbolName(kernel, level), pointer, {}, module, body);
}

/// Returns a lumen_abi_fault from the kernel. What a fault is about lies at the start of
/// scratch memory.
static void emitReturn(CpuKernel &kernel, FaultRecord &faults, LaunchShape &shape) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  if (!faults.finish(shape)) {
    Value ok = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(LUMEN_ABI_OK));
    func::ReturnOp::create(builder, loc, ok);
    return;
  }
  Value code = faults.code();
  Value isFault = builder.createOrFold<arith::CmpIOp>(
      loc, arith::CmpIPredicate::ne, code,
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(LUMEN_ABI_OK)));
  auto ifOp = scf::IfOp::create(builder, loc, isFault, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    // Two numbers, on hosts that keep the low word first.
    Value about = kernel.scratchView(0, builder.getI32Type(), FaultRecord::kWords);
    for (int64_t i = 0; i < FaultRecord::kWords; ++i)
      memref::StoreOp::create(builder, loc, faults.word(i), about, kernel.index(i));
  }
  func::ReturnOp::create(builder, loc, code);
}

/// The families that have registers and caches of their own kinds in mind, and the loops of
/// all others.
static FailureOr<LaunchShape> buildBody(CpuKernel &kernel) {
  if (isa_and_present<LumenOpInterface>(kernel.root))
    switch (cast<LumenOpInterface>(kernel.root).getFamily()) {
    case Family::Contraction:
      return buildContraction(kernel);
    case Family::Convolution:
      return buildConvolution(kernel);
    case Family::Attention:
      return buildAttention(kernel);
    default:
      break;
    }
  KernelBuilder build = builderFor(kernel.root);
  if (!build)
    return kernel.op.emitError("has the root ")
           << kernel.root->getName() << ", which has no CPU builder";
  return build(kernel);
}

FailureOr<LaunchShape> cpu::buildKernel(dispatch::KernelOp kernel, StringRef level,
                                        const CodegenOptions &options, ModuleOp module) {
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  const IsaLevel *caps = capabilitiesOf(level);
  assert(caps && "level was not checked");
  if (failed(checkSymbols(kernel)))
    return failure();

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  auto function = func::FuncOp::create(
      builder, loc, symbolName(kernel, level),
      builder.getFunctionType({pointer, pointer, i64, i64, builder.getI32Type(), pointer},
                              {builder.getI32Type()}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);

  SizeValues sizes(*entry, readSymbols(kernel, entry->getArgument(1)));
  CpuKernel frame(kernel, *caps, options, module, builder, sizes);
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
  frame.bind([&](RankedTensorType type, const Sizes &strides) {
    Value address = LLVM::GEPOp::create(body, loc, pointer, pointer, entry->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{slot++});
    Value data = LLVM::LoadOp::create(body, loc, pointer, address, /*alignment=*/8,
                                      /*isVolatile=*/false, /*isNonTemporal=*/false,
                                      /*isInvariant=*/true);
    // Code does not depend on the number of elements, which is for readers.
    return memrefOfPointer(body, loc, data, storageType(type.getElementType()),
                           elementsSpanned(type, strides).asConstant().value_or(0));
  });

  FaultRecord faults(frame);
  FailureOr<LaunchShape> shape = hasNoResults(kernel) ? LaunchShape{0, 1, 0} : buildBody(frame);
  if (failed(shape))
    return failure();
  body.setInsertionPointToEnd(entry);
  emitReturn(frame, faults, *shape);
  if (!shape->grid.asConstant())
    makeGridFunction(kernel, level, shape->grid, module);
  if (options.sanitizeAddress)
    makeExtentsFunction(kernel, level, module);
  return shape;
}
