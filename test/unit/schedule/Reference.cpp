//===- Reference.cpp - what a schedule computes ---------------------------===//

#include "Reference.h"

#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;
using namespace lumen::test;

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15ull + b + 0x7f4a7c15;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 32);
}

Tokens lumen::test::kernelResult(StringRef name, const std::vector<Tokens> &inputs) {
  uint64_t id = 1, all = 1;
  for (char c : name)
    id = mix(id, c);
  for (const Tokens &input : inputs)
    for (uint64_t token : input)
      all = mix(all, token);
  all = mix(id, all);
  size_t size = inputs.front().size();
  if (name.starts_with("count"))
    return {all % (size + 1)};
  if (name.starts_with("flag"))
    return {all % 3 != 0};
  if (name.starts_with("copy"))
    return inputs.front();
  Tokens result;
  for (size_t i = 0; i < size; ++i) {
    uint64_t token = name.starts_with("each") ? id : mix(all, i);
    if (name.starts_with("each"))
      for (const Tokens &input : inputs)
        token = mix(token, input[i]);
    result.push_back(token);
  }
  return result;
}

namespace {

class Interpreter {
public:
  explicit Interpreter(const llvm::StringMap<int64_t> &symbols) : symbols(symbols) {}

  void run(Block &block) {
    for (Operation &op : block.without_terminator())
      run(op);
  }

  DenseMap<Value, Tokens> values;

private:
  int64_t size(const SymExpr &expr) { return *expr.evaluate(symbols); }

  void run(Operation &op) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      std::vector<Tokens> inputs;
      for (Value input : launch.getInputs())
        inputs.push_back(values[input]);
      values[launch.getResult(0)] = kernelResult(launch.getKernel(), inputs);
    } else if (auto slice = dyn_cast<SliceOp>(op)) {
      Tokens all = values[slice.getOperand()];
      all.resize(size(sizeOf(slice.getResult(), 0)));
      values[slice.getResult()] = all;
    } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      values[reshape.getResult()] = Tokens(values[reshape.getOperand()]);
    } else if (auto concat = dyn_cast<ConcatOp>(op)) {
      Tokens all;
      for (Value input : concat.getInputs())
        all.insert(all.end(), values[input].begin(), values[input].end());
      values[concat.getResult()] = all;
    } else if (auto symbol = dyn_cast<SymbolOp>(op)) {
      symbols[symbol.getName()] = values[symbol.getValue()][0];
    } else if (auto branch = dyn_cast<lumen::IfOp>(op)) {
      runIf(branch);
    } else if (auto loop = dyn_cast<lumen::LoopOp>(op)) {
      runLoop(loop);
    }
  }

  void setSymbols(ArrayAttr names, DimsAttr sizes) {
    std::vector<int64_t> next;
    for (const SymExpr &expr : toSizes(sizes))
      next.push_back(size(expr));
    for (auto [name, value] : llvm::zip(names.getAsValueRange<StringAttr>(), next))
      symbols[name] = value;
  }

  void runIf(lumen::IfOp op) {
    Block &block = (values[op.getCondition()][0] ? op.getThenRegion() : op.getElseRegion()).front();
    run(block);
    auto yield = cast<lumen::YieldOp>(block.getTerminator());
    setSymbols(op.getSymbols(), yield.getSizes());
    for (auto [value, result] : llvm::zip(yield.getValues(), op.getResults()))
      values[result] = Tokens(values[value]);
  }

  void runLoop(lumen::LoopOp op) {
    Block &body = op.getBody().front();
    auto yield = cast<lumen::YieldOp>(body.getTerminator());
    unsigned first = op.getConditional(), numCarried = op.getNumCarried();
    bool go = !first || values[op.getInits().front()][0];
    std::vector<Tokens> carried, scans(op.getNumResults() - numCarried);
    for (Value init : op.getCarriedInits())
      carried.push_back(values[init]);
    setSymbols(op.getSymbols(), op.getInitSizes());
    int64_t trips = size(*SymExpr::parse(*op.getTrips())), trip = 0;
    for (; trip < trips && go; ++trip) {
      symbols[op.getInduction()] = trip;
      for (auto [argument, value] : llvm::zip(body.getArguments(), carried))
        values[argument] = value;
      run(body);
      go = !first || values[yield.getValues().front()][0];
      for (unsigned i = 0; i < numCarried; ++i)
        carried[i] = values[yield.getValues()[first + i]];
      for (unsigned i = 0; i < scans.size(); ++i) {
        const Tokens &part = values[yield.getValues()[first + numCarried + i]];
        scans[i].insert(scans[i].end(), part.begin(), part.end());
      }
      setSymbols(op.getSymbols(), yield.getSizes());
    }
    symbols[op.getInduction()] = trip;
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      values[op.getResult(i)] = i < numCarried ? carried[i] : scans[i - numCarried];
  }

  llvm::StringMap<int64_t> symbols;
};

} // namespace

std::vector<Tokens> lumen::test::interpret(func::FuncOp main, const std::vector<Tokens> &inputs,
                                           const llvm::StringMap<int64_t> &symbols) {
  Interpreter interpreter(symbols);
  Block &block = main.getBody().front();
  for (auto [argument, tokens] : llvm::zip(block.getArguments(), inputs))
    interpreter.values[argument] = tokens;
  interpreter.run(block);
  std::vector<Tokens> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(interpreter.values[value]);
  return results;
}
