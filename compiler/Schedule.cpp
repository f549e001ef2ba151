//===- Schedule.cpp - the planned schedule as the runtime's tables --------===//

#include "compiler/Schedule.h"

#include "compiler/Diagnostics.h"
#include "compiler/Tables.h"
#include "dialects/Lumen/SymbolUses.h"
#include "passes/memory/SizeBounds.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

void ExprTable::defineSymbol(StringRef name, unsigned group) {
  auto [at, isNew] = symbols.try_emplace(name, std::pair(uint32_t(names.size()), group));
  if (isNew) {
    names.push_back(name.str());
    symbolGroups.push_back(group);
  }
}

void ExprTable::describeSymbol(StringRef name, std::string text) {
  names[symbolIndex(name)] = std::move(text);
}

unsigned ExprTable::intern(lumen_abi_expr expr, unsigned group) {
  auto [at, isNew] = numberOf.try_emplace({expr.op, expr.a, expr.b, expr.value}, exprs.size());
  if (isNew) {
    expr.is_report = isReport;
    exprs.push_back(expr);
    groups.push_back(group);
  }
  return at->second;
}

unsigned ExprTable::constant(int64_t value) {
  lumen_abi_expr expr = {};
  expr.op = LUMEN_ABI_EXPR_CONSTANT;
  expr.value = value;
  return intern(expr, 0);
}

unsigned ExprTable::symbol(StringRef name) {
  auto found = symbols.find(name);
  assert(found != symbols.end() && "verify-symbols lets no unknown one pass");
  lumen_abi_expr expr = {};
  expr.op = LUMEN_ABI_EXPR_SYMBOL;
  expr.a = found->second.first;
  return intern(expr, found->second.second);
}

unsigned ExprTable::apply(SymOp op, unsigned a, unsigned b) {
  // The order is that of SymOp.
  static constexpr lumen_abi_expr_op ops[] = {
      LUMEN_ABI_EXPR_ADD, LUMEN_ABI_EXPR_SUB, LUMEN_ABI_EXPR_MUL,      LUMEN_ABI_EXPR_FLOORDIV,
      LUMEN_ABI_EXPR_MIN, LUMEN_ABI_EXPR_MAX, LUMEN_ABI_EXPR_BROADCAST};
  lumen_abi_expr expr = {};
  expr.op = ops[static_cast<size_t>(op)];
  expr.a = a;
  expr.b = b;
  return intern(expr, std::max(groups[a], groups[b]));
}

void ExprTable::finish(link::ModelTables &tables) {
  auto numbers = llvm::to_vector(llvm::seq<uint32_t>(0, exprs.size()));
  llvm::stable_sort(numbers, [&](uint32_t a, uint32_t b) { return groups[a] < groups[b]; });
  order.resize(exprs.size());
  for (auto [index, number] : llvm::enumerate(numbers))
    order[number] = index;
  for (auto [index, number] : llvm::enumerate(numbers)) {
    lumen_abi_expr expr = exprs[number];
    if (expr.op != LUMEN_ABI_EXPR_CONSTANT && expr.op != LUMEN_ABI_EXPR_SYMBOL) {
      expr.a = order[expr.a];
      expr.b = order[expr.b];
    }
    tables.exprs.push_back(expr);
    auto [range, isNew] = ranges.try_emplace(groups[number], std::pair(uint32_t(index), 0u));
    ++range->second.second;
  }
  tables.numEntryExprs = group(0).second;
  tables.symbols = names;
  tables.numEntrySymbols = llvm::count(symbolGroups, 0u);
}

std::pair<uint32_t, uint32_t> ExprTable::group(unsigned group) const {
  auto found = ranges.find(group);
  return found == ranges.end() ? std::pair(0u, 0u) : found->second;
}

//===----------------------------------------------------------------------===//
// Symbols and signature
//===----------------------------------------------------------------------===//

ScheduleBuilder::ScheduleBuilder(ModuleOp module, func::FuncOp main, link::ModelTables &tables,
                                 const llvm::StringMap<uint32_t> &kernelIndex)
    : main(main), tables(tables), kernelIndex(kernelIndex), kernels(module),
      isStatic(module->hasAttr("lumen.arena_size")) {}

/// Groups in the order in which their symbols get values.
void ScheduleBuilder::defineLate(Block &block) {
  auto define = [&](auto names) {
    for (StringRef name : names) {
      groupOf.try_emplace(name, numGroups);
      exprs.defineSymbol(name, numGroups);
    }
    ++numGroups;
  };
  for (Operation &op : block) {
    if (auto bind = dyn_cast<BindOp>(op)) {
      define(SmallVector<StringRef>{bind.getName()});
      exprs.describeSymbol(bind.getName(), "a size of " + describe(bind.getLoc()));
    } else if (auto branch = dyn_cast<BranchOp>(op)) {
      defineLate(branch.getThenRegion().front());
      defineLate(branch.getElseRegion().front());
      define(branch.getSymbols().getAsValueRange<StringAttr>());
    } else if (auto repeat = dyn_cast<RepeatOp>(op)) {
      SmallVector<StringRef> names = {repeat.getInduction()};
      llvm::append_range(names, repeat.getSymbols().getAsValueRange<StringAttr>());
      define(names);
      defineLate(repeat.getBody().front());
    }
  }
}

void ScheduleBuilder::defineSymbols() {
  for (Type type : main.getArgumentTypes()) {
    std::set<std::string> names;
    collectSymbols(type, names);
    for (const std::string &name : names)
      exprs.defineSymbol(name, 0);
  }
  defineLate(main.getBody().front());
}

void ScheduleBuilder::addSignature() {
  SizeBounds bounds(main);
  // Dimensions inside sequences and optionals have no expressions.
  auto sizesIn = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? sizesOf(tensor) : Sizes();
  };
  for (auto [type, value] : llvm::zip(main.getArgumentTypes(), tables.inputs))
    for (auto [d, size] : llvm::enumerate(sizesIn(type))) {
      link::Dim &dim = (*value.dims)[d];
      if (size.asConstant())
        continue;
      dim.symbol = size.str();
      dim.bound = bounds.upperNumber(size).value_or(-1);
      std::set<std::string> names;
      size.collectSymbols(names);
      // One that is more than a symbol follows from symbols of other dimensions.
      if (size == SymExpr::symbol(*names.begin())) {
        dim.symbol = *names.begin(); // in the file's own words
        dim.expr = exprs.symbolIndex(dim.symbol);
      } else {
        dim.boundExpr = exprs.add(size);
      }
    }
  auto types = main->getAttrOfType<ArrayAttr>("lumen.result_types").getAsValueRange<TypeAttr>();
  auto resultBounds = main->getAttrOfType<ArrayAttr>("lumen.result_bounds");
  for (auto [i, type] : llvm::enumerate(types)) {
    Sizes sizes = sizesIn(type);
    for (auto [d, size] : llvm::enumerate(sizes)) {
      if (size.asConstant())
        continue;
      link::Dim &dim = (*tables.outputs[i].dims)[d];
      dim.symbol = size.str();
      dim.expr = exprs.add(size);
      auto text =
          resultBounds ? dyn_cast<StringAttr>(cast<ArrayAttr>(resultBounds[i])[d]) : nullptr;
      if (std::optional<SymExpr> bound = text ? SymExpr::parse(text) : std::nullopt) {
        dim.boundExpr = exprs.add(*bound);
        dim.bound = bounds.upperNumber(*bound).value_or(-1);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void ScheduleBuilder::addStorage(StorageOp op) {
  lumen_abi_storage storage = {};
  storage.region = static_cast<uint32_t>(op.getRegion());
  storage.index = op.getIndex();
  storage.size_expr = LUMEN_ABI_NONE;
  SymExpr bytes = op.getBytes();
  // What the runtime packs has an expression, be it a constant.
  bool isPacked = op.getRegion() == MemoryRegion::Arena && !isStatic;
  if (std::optional<int64_t> size = bytes.asConstant(); size && !isPacked) {
    storage.offset = op.getOffset();
    storage.size = *size;
  } else {
    storage.size_expr = exprs.add(bytes);
  }
  storage.first = op.getFirst().value_or(0);
  storage.last = op.getLast().value_or(-1); // to the end
  storageIndex[op] = tables.storages.size();
  tables.storages.push_back(storage);
}

void ScheduleBuilder::addBuffer(BufferOp op) {
  lumen_abi_buffer buffer = {};
  buffer.storage = storageIndex.lookup(op.getStorage());
  buffer.offset_expr = LUMEN_ABI_NONE;
  if (std::optional<int64_t> offset = op.getOffsetBytes().asConstant())
    buffer.offset = *offset;
  else
    buffer.offset_expr = exprs.add(op.getOffsetBytes());
  buffer.size_expr = LUMEN_ABI_NONE;
  bufferBytes.push_back(op.getBytes());
  bufferIndex[op] = tables.buffers.size();
  tables.buffers.push_back(buffer);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void ScheduleBuilder::step(lumen_abi_step_kind kind, uint32_t a, uint32_t b, uint32_t c) {
  steps.push_back({static_cast<uint32_t>(kind), a, b, c});
}

/// Multiplications and additions of a kernel, for reports, over the names of its sizes.
static SymExpr flopsOf(KernelOp kernel) {
  SymExpr flops;
  auto tapsOf = [](auto op) { return ShapedType::getNumElements(op.getWindow()); };
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    SymExpr perElement =
        llvm::TypeSwitch<Operation *, SymExpr>(&op)
            .Case<ContractOp>([](ContractOp op) {
              Sizes lhs = sizesOf(op.getLhs());
              return lhs[lhs.size() - (op.getTransposeLhs() ? 2 : 1)] * 2;
            })
            .Case<ConvOp>([&](ConvOp op) -> SymExpr {
              return 2 * tapsOf(op) * int64_t(op.getChannels()) / int64_t(op.getGroups());
            })
            .Case<WindowOp>([&](WindowOp op) { return tapsOf(op); })
            .Case<ReduceOp, ConstantOp, BroadcastOp, IotaOp>([](auto) { return 0; })
            .Default([](Operation *op) {
              return cast<LumenOpInterface>(op).getFamily() == Family::Movement ? 0 : 1;
            });
    flops += perElement * product(sizesOf(op.getResult(0)));
    if (auto reduce = dyn_cast<ReduceOp>(op))
      flops += product(sizesOf(reduce.getOperand()));
  }
  return flops;
}

void ScheduleBuilder::addLaunch(LaunchOp op) {
  link::Launch launch;
  launch.kernel = kernelIndex.lookup(op.getKernel());
  launch.affinity = static_cast<lumen_abi_affinity>(op.getAffinity());
  launch.firstArg = tables.argBuffers.size();
  launch.firstSize = tables.sizeExprs.size();
  launch.numOutputs = op.getOuts().size();
  launch.nodes = describe(op.getLoc());
  SymExpr bytes;
  for (Value value : op->getOperands()) {
    tables.argBuffers.push_back(bufferIndex.lookup(value));
    bytes += value.getDefiningOp<BufferOp>().getBytes();
  }
  auto kernel = kernels.lookup<KernelOp>(op.getKernel());
  llvm::StringMap<SymExpr> sizeOfName;
  if (op.getSizes()) {
    for (auto [name, size] : llvm::zip_equal(kernel.getSizeNames(), toSizes(*op.getSizes()))) {
      tables.sizeExprs.push_back(exprs.add(size));
      sizeOfName[name] = size;
    }
  }
  work.push_back({flopsOf(kernel).substitute(sizeOfName), bytes});
  for (auto [out, type] : llvm::zip_equal(op.getOuts(), kernel.getResultTypes())) {
    SymExpr dense = product(sizesOf(cast<RankedTensorType>(type))).substitute(sizeOfName) *
                    elementBytes(getElementTypeOrSelf(type));
    if (dense != out.getDefiningOp<BufferOp>().getBytes())
      tables.buffers[bufferIndex.lookup(out)].has_gaps = 1;
  }
  launch.numSizes = tables.sizeExprs.size() - launch.firstSize;
  tick();
  step(LUMEN_ABI_STEP_LAUNCH, tables.launches.size());
  tables.launches.push_back(std::move(launch));
}

namespace {

/// Attributes of a call as the runtime reads them; see lumen_calls.h.
class DataWriter {
public:
  std::vector<char> bytes;

  void add(Attribute attr) {
    if (auto integer = dyn_cast<IntegerAttr>(attr))
      return addRaw(integer.getInt());
    if (auto real = dyn_cast<FloatAttr>(attr))
      return addRaw(real.getValueAsDouble());
    if (auto text = dyn_cast<StringAttr>(attr)) {
      addRaw(int64_t(text.size()));
      bytes.insert(bytes.end(), text.begin(), text.end());
      bytes.resize(llvm::alignTo(bytes.size(), sizeof(int64_t)));
      return;
    }
    auto list = cast<ArrayAttr>(attr);
    addRaw(int64_t(list.size()));
    for (Attribute item : list)
      add(item);
  }

private:
  template <typename T> void addRaw(T value) {
    static_assert(sizeof(T) == sizeof(int64_t));
    const char *raw = reinterpret_cast<const char *>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof(T));
  }
};

} // namespace

void ScheduleBuilder::addCall(dispatch::CallOp op) {
  link::Call call;
  call.function = ("lumen_call_" + op.getCallee()).str();
  call.node = describe(op.getLoc());
  DataWriter data;
  if (ArrayAttr attributes = op.getDataAttr())
    for (Attribute attr : attributes)
      data.add(attr);
  call.data = std::move(data.bytes);
  call.firstSize = tables.sizeExprs.size();
  size_t numInputs = op.getInputs().size();
  auto types = llvm::to_vector(op.getTypes().getAsValueRange<TypeAttr>());
  for (auto [i, value] : llvm::enumerate(op->getOperands())) {
    lumen_abi_call_arg arg = {bufferIndex.lookup(value), LUMEN_ABI_CALL_VALUE, 0, -1};
    bool isInput = i < numInputs;
    auto tensor = dyn_cast<RankedTensorType>(types[i]);
    if (op.getHasExtents() && i == numInputs + 1) {
      arg.kind = LUMEN_ABI_CALL_EXTENTS;
      arg.dtype = LUMEN_ABI_I64;
      arg.rank = tensor.getDimSize(0);
    } else if (tensor) {
      arg.kind = isObject(tensor) ? LUMEN_ABI_CALL_VALUE : LUMEN_ABI_CALL_TENSOR;
      arg.dtype = *dtypeOf(tensor.getElementType());
      arg.rank = tensor.getRank();
      if (isInput && !isObject(tensor))
        for (const SymExpr &size : sizesOf(tensor))
          tables.sizeExprs.push_back(exprs.add(size));
    }
    (isInput ? call.inputs : call.outputs).push_back(arg);
  }
  call.numSizes = tables.sizeExprs.size() - call.firstSize;
  tick();
  step(LUMEN_ABI_STEP_CALL, tables.calls.size());
  tables.calls.push_back(std::move(call));
}

void ScheduleBuilder::addCheck(CheckOp op) {
  static_assert(static_cast<int>(CheckKind::Equal) == LUMEN_ABI_CHECK_EQUAL &&
                static_cast<int>(CheckKind::Broadcast) == LUMEN_ABI_CHECK_BROADCAST &&
                static_cast<int>(CheckKind::LessEqual) == LUMEN_ABI_CHECK_LESS_EQUAL);
  link::Check check;
  check.kind = static_cast<lumen_abi_check_kind>(op.getKind());
  check.a = exprs.add(op.getLhsSize());
  check.b = exprs.add(op.getRhsSize());
  check.node = describe(op.getLoc());
  check.what = op.getWhat().str();
  // A branch that is not taken checks nothing.
  auto isEntry = [&](const SymExpr &size) {
    std::set<std::string> names;
    size.collectSymbols(names);
    return llvm::none_of(names, [&](const std::string &name) { return groupOf.contains(name); });
  };
  if (op->getBlock() == &main.getBody().front() && isEntry(op.getLhsSize()) &&
      isEntry(op.getRhsSize())) {
    entryChecks.push_back(std::move(check));
    return;
  }
  step(LUMEN_ABI_STEP_CHECK, lateChecks.size());
  lateChecks.push_back(std::move(check));
}

/// A region and the values that it gives to `symbols`, which were all computed
/// before the first one changes.
void ScheduleBuilder::addRegion(Region &region, ArrayAttr symbols) {
  addBlock(region.front());
  auto end = cast<EndOp>(region.front().getTerminator());
  tick();
  for (auto [name, size] :
       llvm::zip(symbols.getAsValueRange<StringAttr>(), toSizes(end.getSizes())))
    step(LUMEN_ABI_STEP_SET, exprs.symbolIndex(name), exprs.add(size));
}

void ScheduleBuilder::addBranch(BranchOp op) {
  unsigned otherwise = label(), end = label();
  tick();
  step(LUMEN_ABI_STEP_BRANCH, exprs.add(SymExpr::symbol(op.getCondition())), otherwise);
  addRegion(op.getThenRegion(), op.getSymbols());
  step(LUMEN_ABI_STEP_JUMP, end);
  place(otherwise);
  addRegion(op.getElseRegion(), op.getSymbols());
  place(end);
  if (!op.getSymbols().empty())
    step(LUMEN_ABI_STEP_EVAL, groupOf.lookup(cast<StringAttr>(op.getSymbols()[0])));
}

void ScheduleBuilder::addRepeat(RepeatOp op) {
  SymExpr induction = SymExpr::symbol(op.getInduction());
  uint32_t inductionIndex = exprs.symbolIndex(op.getInduction());
  unsigned head = label(), end = label();
  tick();
  step(LUMEN_ABI_STEP_SET, inductionIndex, exprs.add(0));
  for (auto [name, size] :
       llvm::zip(op.getSymbols().getAsValueRange<StringAttr>(), toSizes(op.getInitSizes())))
    step(LUMEN_ABI_STEP_SET, exprs.symbolIndex(name), exprs.add(size));
  place(head);
  step(LUMEN_ABI_STEP_EVAL, groupOf.lookup(op.getInduction()));
  // Each way out on its own: one expression for both could only multiply them.
  if (std::optional<SymExpr> trips = op.getTripCount())
    step(LUMEN_ABI_STEP_BRANCH, exprs.add(SymExpr::max(*trips - induction, 0)), end);
  if (op.getCondition())
    step(LUMEN_ABI_STEP_BRANCH, exprs.add(SymExpr::symbol(*op.getCondition())), end);
  addRegion(op.getBody(), op.getSymbols());
  step(LUMEN_ABI_STEP_SET, inductionIndex, exprs.add(induction + SymExpr(1)));
  step(LUMEN_ABI_STEP_JUMP, head);
  place(end);
}

void ScheduleBuilder::addBlock(Block &block) {
  for (Operation &op : block) {
    if (auto storage = dyn_cast<StorageOp>(op)) {
      addStorage(storage);
    } else if (auto buffer = dyn_cast<BufferOp>(op)) {
      addBuffer(buffer);
    } else if (auto launch = dyn_cast<LaunchOp>(op)) {
      addLaunch(launch);
    } else if (auto call = dyn_cast<dispatch::CallOp>(op)) {
      addCall(call);
    } else if (auto check = dyn_cast<CheckOp>(op)) {
      addCheck(check);
    } else if (auto bind = dyn_cast<BindOp>(op)) {
      tick();
      step(LUMEN_ABI_STEP_BIND, exprs.symbolIndex(bind.getName()),
           bufferIndex.lookup(bind.getValue()), *dtypeOf(bind.getType()));
      step(LUMEN_ABI_STEP_EVAL, groupOf.lookup(bind.getName()));
    } else if (auto alloc = dyn_cast<AllocOp>(op)) {
      step(LUMEN_ABI_STEP_ALLOC, storageIndex.lookup(alloc.getStorage()));
    } else if (auto free = dyn_cast<FreeOp>(op)) {
      step(LUMEN_ABI_STEP_FREE, storageIndex.lookup(free.getStorage()));
    } else if (auto swap = dyn_cast<SwapOp>(op)) {
      step(LUMEN_ABI_STEP_SWAP, storageIndex.lookup(swap.getLhs()),
           storageIndex.lookup(swap.getRhs()));
    } else if (auto move = dyn_cast<MoveOp>(op)) {
      step(LUMEN_ABI_STEP_MOVE, storageIndex.lookup(move.getTo()),
           storageIndex.lookup(move.getFrom()));
    } else if (auto append = dyn_cast<AppendOp>(op)) {
      auto part = append.getPart().getDefiningOp<BufferOp>();
      step(LUMEN_ABI_STEP_APPEND, storageIndex.lookup(append.getTo()),
           bufferIndex.lookup(append.getPart()), exprs.add(part.getBytes()));
    } else if (auto branch = dyn_cast<BranchOp>(op)) {
      addBranch(branch);
    } else if (auto repeat = dyn_cast<RepeatOp>(op)) {
      addRepeat(repeat);
    }
  }
}

/// What launches do and how long buffers are, when all that errors hang on has been added.
/// An expression that is too complicated leaves it unknown.
void ScheduleBuilder::addWork() {
  exprs.beginReports();
  auto add = [&](const SymExpr &amount, uint64_t &number, uint32_t &expr) {
    if (std::optional<int64_t> constant = amount.asConstant())
      number = *constant;
    else if (amount.isValid())
      expr = exprs.add(amount);
  };
  for (auto [launch, amounts] : llvm::zip_equal(tables.launches, work)) {
    add(amounts.first, launch.flops, launch.flopsExpr);
    add(amounts.second, launch.bytes, launch.bytesExpr);
  }
  for (auto [buffer, bytes] : llvm::zip_equal(tables.buffers, bufferBytes))
    add(bytes, buffer.size, buffer.size_expr);
}

/// Gives expressions, labels and times their final numbers.
void ScheduleBuilder::finish() {
  addWork();
  exprs.finish(tables);
  for (link::Launch &launch : tables.launches) {
    launch.flopsExpr = exprs.indexOf(launch.flopsExpr);
    launch.bytesExpr = exprs.indexOf(launch.bytesExpr);
  }
  tables.numEntryChecks = entryChecks.size();
  for (std::vector<link::Check> *list : {&entryChecks, &lateChecks})
    for (link::Check &check : *list) {
      check.a = exprs.indexOf(check.a);
      check.b = exprs.indexOf(check.b);
      tables.checks.push_back(std::move(check));
    }
  for (uint32_t &expr : tables.sizeExprs)
    expr = exprs.indexOf(expr);
  for (lumen_abi_buffer &buffer : tables.buffers) {
    buffer.offset_expr = exprs.indexOf(buffer.offset_expr);
    buffer.size_expr = exprs.indexOf(buffer.size_expr);
  }
  auto dimsOf = [](link::Value &value) {
    return value.dims ? MutableArrayRef<link::Dim>(*value.dims) : MutableArrayRef<link::Dim>();
  };
  for (link::Value &value : tables.inputs)
    for (link::Dim &dim : dimsOf(value))
      dim.boundExpr = exprs.indexOf(dim.boundExpr);
  for (link::Value &value : tables.outputs)
    for (link::Dim &dim : dimsOf(value)) {
      dim.expr = exprs.indexOf(dim.expr);
      dim.boundExpr = exprs.indexOf(dim.boundExpr);
    }

  // A schedule of launches alone needs no steps; its times are the launches.
  bool needsSteps = llvm::any_of(
      steps, [](const lumen_abi_step &step) { return step.kind != LUMEN_ABI_STEP_LAUNCH; });
  std::vector<uint32_t> stepIndex; // without evaluations of nothing
  uint32_t numSteps = 0;
  auto isEmpty = [&](const lumen_abi_step &step) {
    return step.kind == LUMEN_ABI_STEP_EVAL && exprs.group(step.a).second == 0;
  };
  for (const lumen_abi_step &step : steps) {
    stepIndex.push_back(numSteps);
    numSteps += !isEmpty(step);
  }
  stepIndex.push_back(numSteps);
  for (lumen_abi_step step : needsSteps ? steps : std::vector<lumen_abi_step>()) {
    if (isEmpty(step))
      continue;
    switch (static_cast<lumen_abi_step_kind>(step.kind)) {
    case LUMEN_ABI_STEP_EVAL:
      std::tie(step.a, step.b) = exprs.group(step.a);
      break;
    case LUMEN_ABI_STEP_CHECK:
      step.a += tables.numEntryChecks;
      break;
    case LUMEN_ABI_STEP_SET:
      step.b = exprs.indexOf(step.b);
      break;
    case LUMEN_ABI_STEP_BRANCH:
      step.a = exprs.indexOf(step.a);
      step.b = stepIndex[labels[step.b]];
      break;
    case LUMEN_ABI_STEP_JUMP:
      step.a = stepIndex[labels[step.a]];
      break;
    case LUMEN_ABI_STEP_APPEND:
      step.c = exprs.indexOf(step.c);
      break;
    default:
      break;
    }
    tables.steps.push_back(step);
  }
  stepOfTime.push_back(steps.size());
  uint32_t end = std::max<uint32_t>(numSteps, 1) - 1;
  for (lumen_abi_storage &storage : tables.storages) {
    storage.size_expr = exprs.indexOf(storage.size_expr);
    if (storage.last == UINT32_MAX) {
      storage.last = end;
      continue;
    }
    storage.first = stepIndex[stepOfTime[storage.first]];
    storage.last = std::max(storage.first + 1, stepIndex[stepOfTime[storage.last + 1]]) - 1;
  }
}

void ScheduleBuilder::build() {
  defineSymbols();
  addSignature();
  addBlock(main.getBody().front());
  finish();
}
