//===- GpuKernel.cpp - the frame in which a GPU kernel is built -----------===//

#include "codegen/gpu/GpuKernel.h"

#include "dialects/Dispatch/InPlace.h"
#include "runtime-lite/include/lumen_abi.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

// Words of the parameters, before the offsets.
static constexpr int64_t kUnits = 0, kWorkgroups = 1, kOffsets = 2;

void GpuLaunch::describe(KernelBinary &binary, LaunchShape &shape) const {
  binary.block = block;
  binary.unitsPerWorkgroup = unitsPerWorkgroup;
  binary.sharedSize = sharedSize;
  binary.flags = hasFaults ? LUMEN_ABI_GPU_FAULTS : 0;
  shape = {grid, 1, static_cast<uint64_t>(scratchSize)};
}

/// Of an element in memory, a vector or not.
static int64_t bytesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  int64_t bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  return llvm::divideCeil(bits, 8) * (vector ? vector.getNumElements() : 1);
}

Value GpuKernel::allocateShared(Type type, int64_t elements) {
  launch.sharedSize += elements * bytesOf(type);
  auto space = gpu::AddressSpaceAttr::get(op.getContext(), gpu::AddressSpace::Workgroup);
  auto memory = MemRefType::get({elements}, type, MemRefLayoutAttrInterface(), space);
  BlockArgument argument = function.addWorkgroupAttribution(memory, loc);
  return argument;
}

Value GpuKernel::vectorsOf(const Access &argument, int64_t lanes) {
  auto memory = cast<BlockArgument>(argument.memref);
  Type element = VectorType::get({lanes}, cast<MemRefType>(memory.getType()).getElementType());
  auto type = MemRefType::get({ShapedType::kDynamic}, element);
  for (auto &[number, view] : vectorViews)
    if (number == memory.getArgNumber() && view.getType() == type)
      return view;
  unsigned number = function.getNumArguments();
  (void)function.insertArgument(number, type, {}, loc);
  vectorViews.push_back({memory.getArgNumber(), function.getArgument(number)});
  return vectorViews.back().second;
}

Value GpuKernel::isAligned(const Access &argument, int64_t bytes) {
  Value parameters = function.getArgument(arguments.size() + results.size());
  Value word = index(kOffsets + cast<BlockArgument>(argument.memref).getArgNumber());
  Value before = memref::LoadOp::create(builder, loc, parameters, word);
  Value last = arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(bytes - 1)));
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  Value rest = arith::AndIOp::create(builder, loc, before, last);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, zero);
}

void GpuKernel::shareNumbers(LoopEmitter &emit, Value count,
                             llvm::function_ref<void(LoopEmitter &, Value number)> body) {
  auto loop =
      scf::ForOp::create(emit.builder, loc, thread, count, emit.constant(launch.block));
  LoopEmitter inner(*this, OpBuilder(loop.getBody()->getTerminator()));
  body(inner, loop.getInductionVar());
}

void GpuKernel::emitUnits(Value first, Value step,
                          llvm::function_ref<void(LoopEmitter &, Value unit)> body) {
  auto loop = scf::ForOp::create(builder, loc, first, units, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  LoopEmitter emit(*this);
  body(emit, loop.getInductionVar());
}

void GpuKernel::emitThreadUnits(llvm::function_ref<void(LoopEmitter &, Value unit)> body) {
  launch.unitsPerWorkgroup = launch.block;
  LoopEmitter emit(*this);
  Value block = index(launch.block);
  emitUnits(emit.add(emit.mul(workgroup, block), thread), emit.mul(numWorkgroups, block), body);
}

void GpuKernel::emitWorkgroupUnits(llvm::function_ref<void(LoopEmitter &, Value unit)> body) {
  launch.unitsPerWorkgroup = 1;
  emitUnits(workgroup, numWorkgroups, body);
}

/// The builder of a root's family. A null root: the kernel is elementwise.
static KernelBuilder builderFor(Operation *root) {
  if (!root)
    return buildElementwise;
  switch (cast<LumenOpInterface>(root).getFamily()) {
  case Family::Constant:
  case Family::Elementwise:
  case Family::Movement:
    return buildElementwise;
  case Family::Contraction:
  case Family::Convolution:
    return buildProduct;
  case Family::Window:
    return buildWindow;
  case Family::Reduction:
    return buildReduction;
  case Family::Normalization:
    return buildNormalization;
  case Family::Attention:
    return buildAttention;
  case Family::Loops:
    return llvm::TypeSwitch<Operation *, KernelBuilder>(root)
        .Case([](AccumulateOp) { return buildAccumulate; })
        .Case([](NonzeroOp) { return buildNonzero; })
        .Case([](RecurrenceOp) { return buildRecurrence; })
        .Case([](SortOp) { return buildSort; })
        .Default(buildThreads);
  default:
    return buildThreads;
  }
}

/// Tells the host of a fault, if it is the run's first.
static void emitPublish(GpuKernel &kernel, loops::FaultRecord &record, Value faults) {
  OpBuilder &builder = kernel.builder;
  OpBuilder::InsertionGuard guard(builder);
  Location loc = kernel.loc;
  auto word = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  };
  auto store = [&](Value value, int64_t at) {
    memref::StoreOp::create(builder, loc, value, faults, kernel.index(at));
  };
  auto enter = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    Value condition = arith::CmpIOp::create(builder, loc, predicate, a, b);
    auto ifOp = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
  };
  Value code = record.code();
  enter(arith::CmpIPredicate::ne, code, word(LUMEN_ABI_OK));
  Value taken =
      memref::AtomicRMWOp::create(builder, loc, builder.getI32Type(), arith::AtomicRMWKind::addi,
                                  word(1), faults, ValueRange{kernel.index(1)});
  enter(arith::CmpIPredicate::eq, taken, word(0));
  for (int64_t i = 0; i < loops::FaultRecord::kWords; ++i)
    store(record.word(i), 2 + i);
  store(code, 0);
}

// Where counting ends. What is bound begins up to an alignment before the first element.
static constexpr int64_t kEndOfCounting = int64_t{1} << 31, kCountingMargin = 1 << 16;

/// The most that a kernel counts, of elements of its arguments from the first to the last and
/// of values inside of it. 0: no more than what is known to fit, or the grid.
static SymExpr reachOf(dispatch::KernelOp kernel, const SymExpr &grid) {
  SymExpr reach = 0;
  auto include = [&](const SymExpr &count) {
    auto isCovered = [&](const SymExpr &by) { return (by - count).isNonNegative(); };
    if (isCovered(kEndOfCounting - kCountingMargin - 1) || isCovered(reach))
      return;
    if (!grid.asConstant() && isCovered(grid))
      return; // whoever launches it looks at the grid
    reach = (count - reach).isNonNegative() ? count : SymExpr::max(reach, count);
  };
  if (grid.asConstant())
    include(grid);
  auto includeMemory = [&](Type type, const Sizes &strides) {
    SymExpr last = 0;
    for (auto [size, stride] : llvm::zip_equal(sizesOf(cast<RankedTensorType>(type)), strides))
      last += (size - 1) * stride;
    include(last + 1);
  };
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
    includeMemory(type, kernel.getArgumentStrides(i));
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
    includeMemory(type, kernel.getResultStrides(i));
  for (Operation &op : kernel.getBody().front())
    for (Type type : op.getResultTypes())
      include(product(sizesOf(cast<RankedTensorType>(type))));
  return reach;
}

/// Makes a grid of a kernel that counts beyond 32 bits not fit them either, and emits a
/// diagnostic where that is known now.
static LogicalResult limitReach(dispatch::KernelOp kernel, SymExpr &grid) {
  SymExpr reach = reachOf(kernel, grid);
  if (!reach.isValid())
    return kernel.emitError("has sizes that are too long to tell how far the kernel counts");
  std::optional<int64_t> count = reach.asConstant();
  if (count && *count > 0)
    return kernel.emitError("counts to ") << *count << ", which is too far for a kernel of a GPU";
  if (!count)
    grid = SymExpr::max(grid, SymExpr::floorDiv(reach + kCountingMargin, kEndOfCounting) *
                                  kEndOfCounting);
  return success();
}

namespace {

/// The arguments of a kernel's function, some of which only the finished body decides.
class Arguments {
public:
  explicit Arguments(dispatch::KernelOp kernel) : kernel(kernel) {}

  SmallVector<Type> types() {
    Builder builder(kernel.getContext());
    auto memory = [](Type element) { return MemRefType::get({ShapedType::kDynamic}, element); };
    SmallVector<Type> types;
    for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
      types.push_back(memory(storageType(cast<RankedTensorType>(type).getElementType())));
    numBuffers = types.size();
    types.append({memory(builder.getI32Type()), memory(builder.getI32Type())});
    return types;
  }
  unsigned parameters() const { return numBuffers; }
  unsigned faults() const { return numBuffers + 1; }

  unsigned numBuffers = 0;

private:
  dispatch::KernelOp kernel;
};

} // namespace

FailureOr<GpuLaunch> gpucode::buildKernel(dispatch::KernelOp kernel, const Capabilities &caps,
                                          ModuleOp module) {
  if (failed(loops::checkSymbols(kernel)))
    return failure();
  Location loc = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto gpuModule = gpu::GPUModuleOp::create(builder, loc, kernel.getSymName());
  builder.setInsertionPointToStart(gpuModule.getBody());
  Arguments arguments(kernel);
  auto function = gpu::GPUFuncOp::create(builder, loc, kernel.getSymName(),
                                         builder.getFunctionType(arguments.types(), {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  Block &entry = function.getBody().front();
  builder.setInsertionPointToStart(&entry);

  Value parameters = function.getArgument(arguments.parameters());
  auto parameter = [&](OpBuilder &at, Location where, int64_t word) -> Value {
    Value index = arith::ConstantIndexOp::create(at, where, word);
    Value value = memref::LoadOp::create(at, where, parameters, index);
    return arith::IndexCastOp::create(at, where, at.getIndexType(), value);
  };
  SmallVector<StringRef> names = kernel.getSizeNames();
  int64_t firstSize = kOffsets + arguments.numBuffers;
  SizeValues sizes(entry, [&](OpBuilder &at, Location where, StringRef name) {
    const auto *found = llvm::find(names, name);
    assert(found != names.end() && "a symbol that the kernel does not name");
    return parameter(at, where, firstSize + (found - names.begin()));
  });
  GpuKernel frame(kernel, caps, function, builder, sizes);
  OpBuilder &body = frame.builder;
  frame.launch.block = std::min<int64_t>(64, caps.maxThreads);
  frame.units = parameter(body, loc, kUnits);
  frame.numWorkgroups = parameter(body, loc, kWorkgroups);
  frame.workgroup = gpu::BlockIdOp::create(body, loc, gpu::Dimension::x);
  frame.thread = gpu::ThreadIdOp::create(body, loc, gpu::Dimension::x);
  // Stands for memory that has its place when the kernel is complete.
  frame.scratch =
      memref::AllocaOp::create(body, loc, MemRefType::get({ShapedType::kDynamic}, body.getI8Type()),
                               ValueRange{frame.index(0)});
  unsigned slot = 0;
  frame.bind(
      [&](RankedTensorType, const Sizes &) -> Value { return function.getArgument(slot++); });

  loops::FaultRecord faults(frame);
  if (loops::hasNoResults(kernel))
    frame.launch.grid = 0;
  else if (failed(builderFor(frame.root)(frame)))
    return failure();
  GpuLaunch &launch = frame.launch;
  if (failed(limitReach(kernel, launch.grid)))
    return failure();
  LaunchShape perThread{launch.grid, 1, static_cast<uint64_t>(launch.scratchSize)};
  if (faults.finish(perThread)) {
    launch.hasFaults = true;
    emitPublish(frame, faults, function.getArgument(arguments.faults()));
  }
  gpu::ReturnOp::create(body, loc);
  launch.scratchSize = llvm::alignTo(perThread.scratchSize, LUMEN_ALIGNMENT) * launch.block;
  if (launch.sharedSize > caps.sharedBytes)
    return kernel.emitError("needs ")
           << launch.sharedSize << " bytes of workgroup memory, expected " << caps.sharedBytes
           << " at most";
  if (launch.scratchSize > caps.scratchBytes)
    return kernel.emitError("needs ")
           << launch.scratchSize << " bytes of memory for each workgroup, expected "
           << caps.scratchBytes << " at most";
  flattenMemory(frame);

  function.setKnownBlockSize(ArrayRef<int32_t>{static_cast<int32_t>(launch.block), 1, 1});
  return launch;
}

namespace {

/// Rewrites a kernel's accesses to memory; see flattenMemory.
class Flattening {
public:
  explicit Flattening(GpuKernel &kernel)
      : kernel(kernel), function(kernel.function), loc(kernel.loc),
        numBuffers(kernel.arguments.size() + kernel.results.size()),
        builder(OpBuilder::atBlockBegin(&kernel.function.getBody().front())) {}

  void run();

private:
  /// To every access of `memory`, which is that of an argument.
  void addOffset(unsigned argument, Value memory);
  void placeScratch();
  /// How many elements make so many bytes.
  Value countElements(OpBuilder &at, Value bytes, Type element);
  /// The argument that is scratch memory of such elements.
  Value scratchOf(Type element);

  /// Adds `offset` (index) to every access of `memory`, which becomes one of `target`.
  void redirect(Value memory, Value target, Value offset);

  GpuKernel &kernel;
  gpu::GPUFuncOp function;
  Location loc;
  unsigned numBuffers;
  OpBuilder builder; ///< at the entry
  SmallVector<std::pair<Type, Value>> scratchOfType;
};

} // namespace

void Flattening::redirect(Value memory, Value target, Value offset) {
  for (OpOperand &use : llvm::make_early_inc_range(memory.getUses())) {
    Operation *user = use.getOwner();
    unsigned first = use.getOperandNumber() + 1; // of the indices
    assert(first < user->getNumOperands() && "an access of one index");
    OpBuilder at(user);
    Value index = at.createOrFold<arith::AddIOp>(user->getLoc(), user->getOperand(first), offset);
    user->setOperand(first, index);
    use.set(target);
  }
}

void Flattening::addOffset(unsigned argument, Value memory) {
  if (memory.use_empty())
    return;
  Value parameters = function.getArgument(numBuffers);
  Value word = arith::ConstantIndexOp::create(builder, loc, kOffsets + argument);
  Value offset = memref::LoadOp::create(builder, loc, parameters, word);
  Value bytes = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), offset);
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  redirect(memory, memory, countElements(builder, bytes, element));
}

Value Flattening::countElements(OpBuilder &at, Value bytes, Type element) {
  Value size = arith::ConstantIndexOp::create(at, loc, bytesOf(element));
  return at.createOrFold<arith::DivUIOp>(loc, bytes, size);
}

void Flattening::placeScratch() {
  Operation *scratch = kernel.scratch.getDefiningOp();
  if (!scratch->use_empty()) {
    // A thread's memory begins at its number among all threads.
    builder.setInsertionPoint(scratch);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    auto mul = [&](Value a, Value b) -> Value { return arith::MulIOp::create(builder, loc, a, b); };
    Value number = arith::AddIOp::create(
        builder, loc, mul(kernel.workgroup, constant(kernel.launch.block)), kernel.thread);
    Value begin = mul(number, constant(kernel.launch.scratchSize / kernel.launch.block));
    for (Operation *user : llvm::make_early_inc_range(scratch->getUsers())) {
      auto view = cast<memref::ViewOp>(user);
      OpBuilder at(view);
      Value bytes = arith::AddIOp::create(at, loc, begin, view.getByteShift());
      Type element = view.getType().getElementType();
      redirect(view, scratchOf(element), countElements(at, bytes, element));
      view.erase();
    }
  } else {
    kernel.launch.scratchSize = 0;
  }
  scratch->erase();
}

Value Flattening::scratchOf(Type element) {
  for (auto &[type, memory] : scratchOfType)
    if (type == element)
      return memory;
  unsigned number = function.getNumArguments();
  (void)function.insertArgument(number, MemRefType::get({ShapedType::kDynamic}, element), {}, loc);
  scratchOfType.push_back({element, function.getArgument(number)});
  return function.getArgument(number);
}

void Flattening::run() {
  for (unsigned i = 0; i < numBuffers; ++i)
    addOffset(i, function.getArgument(i));
  llvm::SmallDenseMap<unsigned, unsigned> viewed; // arguments by the number of their view
  for (auto [argument, view] : kernel.vectorViews) {
    addOffset(argument, view);
    viewed[view.getArgNumber()] = argument;
  }
  placeScratch();
  unsigned faults = numBuffers + 1;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    unsigned binding = i;
    if (auto view = viewed.find(i); view != viewed.end())
      binding = view->second;
    else if (i >= faults)
      binding = i == faults ? numBuffers + 2 : numBuffers + 1; // scratch memory
    function.setArgAttr(i, kBinding, builder.getI32IntegerAttr(binding));
  }
  for (unsigned i = 0; i < kernel.arguments.size(); ++i)
    if (dispatch::mayOverwrite(kernel.op, i))
      for (unsigned aliased : {i, numBuffers - 1})
        function.setArgAttr(aliased, kAliased, builder.getUnitAttr());
  if (!kernel.launch.hasFaults)
    (void)function.eraseArgument(faults);
}

void gpucode::flattenMemory(GpuKernel &kernel) { Flattening(kernel).run(); }

void gpucode::prepareContext(MLIRContext &context) {
  // Loaded here because loading is not safe once several threads compile.
  context.loadDialect<arith::ArithDialect, dispatch::DispatchDialect, gpu::GPUDialect, LumenDialect,
                      math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                      vector::VectorDialect>();
}
