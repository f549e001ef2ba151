//===- CpuKernel.cpp - the frame in which a CPU kernel is built -----------===//

#include "codegen/cpu/CpuKernel.h"
#include "codegen/cpu/CpuTarget.h"

#include "runtime-lite/include/lumen_abi.h"

#include <set>

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
  case Family::Loops:
    return buildLoops;
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

std::string cpu::gridSymbolName(dispatch::KernelOp kernel, StringRef level) {
  return symbolName(kernel, level) + ".grid";
}

std::string cpu::extentsSymbolName(dispatch::KernelOp kernel, StringRef level) {
  return symbolName(kernel, level) + ".extents";
}

LogicalResult cpu::checkStaticTypes(CpuKernel &kernel) {
  for (Type type :
       llvm::concat<const Type>(kernel.op.getArgumentTypes(), kernel.op.getResultTypes()))
    if (!cast<RankedTensorType>(type).hasStaticShape())
      return kernel.op.emitError("has the dynamic type ") << type << ", expected static shapes";
  return success();
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

/// Emits a diagnostic where an expression of the kernel reads a symbol that it does
/// not name.
static LogicalResult checkSymbols(dispatch::KernelOp kernel) {
  std::set<std::string> used;
  bool isValid = true;
  auto visitSizes = [&](ArrayRef<SymExpr> sizes) {
    for (const SymExpr &size : sizes) {
      isValid &= size.isValid();
      size.collectSymbols(used);
    }
  };
  auto visitType = [&](Type type) { visitSizes(sizesOf(cast<RankedTensorType>(type))); };
  llvm::for_each(kernel.getArgumentTypes(), visitType);
  llvm::for_each(kernel.getResultTypes(), visitType);
  for (unsigned i = 0; i < kernel.getArgumentTypes().size(); ++i)
    visitSizes(kernel.getArgumentStrides(i));
  for (unsigned i = 0; i < kernel.getResultTypes().size(); ++i)
    visitSizes(kernel.getResultStrides(i));
  for (Operation &op : kernel.getBody().front()) {
    llvm::for_each(op.getResultTypes(), visitType);
    for (NamedAttribute attr : op.getAttrs())
      if (auto dims = dyn_cast<DimsAttr>(attr.getValue()))
        visitSizes(toSizes(dims));
  }
  if (!isValid)
    return kernel.emitError("has a dynamic dimension without an expression");
  SmallVector<StringRef> names = kernel.getSizeNames();
  for (const std::string &name : used)
    if (!llvm::is_contained(names, name))
      return kernel.emitError("reads the symbol '") << name << "', which is none of its sizes";
  return success();
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

/// The function that computes a grid which is no constant.
static void makeGridFunction(dispatch::KernelOp kernel, StringRef level, const SymExpr &grid,
                             ModuleOp module) {
  Type i64 = IntegerType::get(kernel.getContext(), 64);
  makeSizesFunction(kernel, gridSymbolName(kernel, level), {}, i64, module,
                    [&](OpBuilder &builder, Block &, auto value) {
                      func::ReturnOp::create(builder, kernel.getLoc(), value(grid));
                    });
}

/// How many elements lie from the first to the last of a tensor, both included, if it has
/// any.
static SymExpr elementsSpanned(RankedTensorType type, const Sizes &strides) {
  SymExpr elements = 1;
  for (auto [size, stride] : llvm::zip_equal(sizesOf(type), strides))
    elements += (SymExpr::max(size, 1) - 1) * stride;
  return elements;
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

namespace {

/// What a kernel remembers of a fault until it returns: three numbers behind
/// all that the builder keeps in scratch memory.
class FaultRecord {
public:
  explicit FaultRecord(CpuKernel &kernel) : kernel(kernel) {}

  /// Where `at` stands: code, and two numbers (i64) about it. The first fault of a call
  /// stays, so that what is told does not depend on how a grid is cut.
  void record(OpBuilder &at, Location loc, int32_t code, Value first, Value second);
  /// Returns from the kernel; the record adds to what it needs of scratch memory.
  void emitReturn(LaunchShape &shape);

private:
  CpuKernel &kernel;
  arith::ConstantOp offset; ///< of the record; known in the end
  Value memory;             ///< memref<?xi64>: code, first, second
};

} // namespace

void FaultRecord::record(OpBuilder &at, Location loc, int32_t code, Value first, Value second) {
  auto index = [&](OpBuilder &b, int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto number = [&](OpBuilder &b, int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  };
  if (!memory) {
    OpBuilder b(at.getContext());
    b.setInsertionPointAfterValue(kernel.scratch);
    offset = arith::ConstantOp::create(b, loc, b.getIndexAttr(0));
    auto type = MemRefType::get({ShapedType::kDynamic}, b.getI64Type());
    memory = memref::ViewOp::create(b, loc, type, kernel.scratch, offset, ValueRange{index(b, 3)});
    memref::StoreOp::create(b, loc, number(b, LUMEN_ABI_OK), memory, index(b, 0));
  }
  Value recorded = memref::LoadOp::create(at, loc, memory, index(at, 0));
  Value isFirst =
      arith::CmpIOp::create(at, loc, arith::CmpIPredicate::eq, recorded, number(at, LUMEN_ABI_OK));
  auto ifOp = scf::IfOp::create(at, loc, isFirst, /*withElseRegion=*/false);
  OpBuilder inside = ifOp.getThenBodyBuilder();
  memref::StoreOp::create(inside, loc, number(inside, code), memory, index(inside, 0));
  memref::StoreOp::create(inside, loc, first, memory, index(inside, 1));
  memref::StoreOp::create(inside, loc, second, memory, index(inside, 2));
}

void FaultRecord::emitReturn(LaunchShape &shape) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  if (!memory) {
    Value ok = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(LUMEN_ABI_OK));
    func::ReturnOp::create(builder, loc, ok);
    return;
  }
  uint64_t begin = llvm::alignTo(shape.scratchSize, sizeof(int64_t));
  begin = std::max<uint64_t>(begin, 2 * sizeof(int64_t)); // behind what the caller reads
  offset.setValueAttr(builder.getIndexAttr(begin));
  shape.scratchSize = begin + 3 * sizeof(int64_t);
  Value code = memref::LoadOp::create(builder, loc, memory, kernel.index(0));
  Value isFault = builder.createOrFold<arith::CmpIOp>(
      loc, arith::CmpIPredicate::ne, code,
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(LUMEN_ABI_OK)));
  auto ifOp = scf::IfOp::create(builder, loc, isFault, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    Value about = kernel.scratchView(0, builder.getI64Type(), 2);
    for (int64_t i = 0; i < 2; ++i) {
      Value value = memref::LoadOp::create(builder, loc, memory, kernel.index(i + 1));
      memref::StoreOp::create(builder, loc, value, about, kernel.index(i));
    }
  }
  code = arith::TruncIOp::create(builder, loc, builder.getI32Type(), code);
  func::ReturnOp::create(builder, loc, code);
}

FailureOr<LaunchShape> cpu::buildKernel(dispatch::KernelOp kernel, StringRef level,
                                        const CodegenOptions &options, ModuleOp module) {
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  const Capabilities *caps = capabilitiesOf(level);
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

  Operation *root = kernel.getRoot();
  SizeValues sizes(*entry, readSymbols(kernel, entry->getArgument(1)));
  CpuKernel frame{kernel, root, *caps, options, module, builder,           loc, sizes, {},
                  {},     {},   {},    {},      {},     Expression(&sizes)};
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
  auto makeAccess = [&](Type type, Sizes strides) {
    auto tensor = cast<RankedTensorType>(type);
    Value address = LLVM::GEPOp::create(body, loc, pointer, pointer, entry->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{slot++});
    Value data = LLVM::LoadOp::create(body, loc, pointer, address, /*alignment=*/8,
                                      /*isVolatile=*/false, /*isNonTemporal=*/false,
                                      /*isInvariant=*/true);
    // Code does not depend on the number of elements, which is for readers.
    Value memref = memrefOfPointer(body, loc, data, storageType(tensor.getElementType()),
                                   elementsSpanned(tensor, strides).asConstant().value_or(0));
    return Access{memref, std::move(strides), tensor};
  };
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    frame.arguments.push_back(makeAccess(type, kernel.getArgumentStrides(i)));
    frame.expression.bindMemory(kernel.getBody().getArgument(i), frame.arguments.back());
  }
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
    frame.results.push_back(makeAccess(type, kernel.getResultStrides(i)));

  FaultRecord faults(frame);
  frame.expression.onBadIndex([&](OpBuilder &at, Location where, Value index, Value size) {
    faults.record(at, where, LUMEN_ABI_FAULT_INDEX, index, size);
  });

  KernelBuilder build = builderFor(root);
  if (!build)
    return kernel.emitError("has the root ") << root->getName() << ", which has no CPU builder";
  // Tensors of size zero are legal and need no work; builders may rely on there
  // being some.
  bool isEmpty = llvm::all_of(kernel.getResultTypes(), [](Type type) {
    return llvm::is_contained(cast<RankedTensorType>(type).getShape(), 0);
  });
  FailureOr<LaunchShape> shape = isEmpty ? LaunchShape{0, 1, 0} : build(frame);
  if (failed(shape))
    return failure();
  body.setInsertionPointToEnd(entry);
  faults.emitReturn(*shape);
  if (!shape->grid.asConstant())
    makeGridFunction(kernel, level, shape->grid, module);
  if (options.sanitizeAddress)
    makeExtentsFunction(kernel, level, module);
  return shape;
}
