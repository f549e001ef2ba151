//===- Machine.cpp - runs the tables of a schedule on tokens --------------===//

#include "Machine.h"

#include "passes/memory/OffsetPacking.h"

#include <algorithm>

using namespace lumen;
using namespace lumen::test;

// Regions are far apart, so that no access leaves one unseen.
static constexpr uint64_t kApart = 1ull << 32;
static constexpr uint64_t kNothing = 0xdeadbeef; ///< what unwritten bytes hold

Machine::Machine(const link::ModelTables &tables, std::vector<dispatch::KernelOp> kernels)
    : tables(tables), kernels(std::move(kernels)), symbols(tables.symbols.size(), -1),
      values(tables.exprs.size(), -1), places(tables.storages.size()) {}

void Machine::evaluate(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i) {
    const lumen_abi_expr &expr = tables.exprs[i];
    if (expr.op == LUMEN_ABI_EXPR_CONSTANT) {
      values[i] = expr.value;
      continue;
    }
    if (expr.op == LUMEN_ABI_EXPR_SYMBOL) {
      values[i] = symbols[expr.a];
      if (values[i] < 0)
        fault("symbol " + tables.symbols[expr.a] + " is read before it has a value");
      continue;
    }
    int64_t a = values[expr.a], b = values[expr.b];
    switch (expr.op) {
    case LUMEN_ABI_EXPR_ADD:
      values[i] = a + b;
      break;
    case LUMEN_ABI_EXPR_SUB:
      values[i] = a - b;
      break;
    case LUMEN_ABI_EXPR_MUL:
      values[i] = a * b;
      break;
    case LUMEN_ABI_EXPR_FLOORDIV:
      values[i] = b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
      break;
    case LUMEN_ABI_EXPR_MIN:
      values[i] = std::min(a, b);
      break;
    case LUMEN_ABI_EXPR_MAX:
      values[i] = std::max(a, b);
      break;
    case LUMEN_ABI_EXPR_BROADCAST:
      values[i] = a == 1 ? b : a;
      break;
    }
  }
}

void Machine::check(uint32_t index) {
  const link::Check &check = tables.checks[index];
  int64_t a = values[check.a], b = values[check.b];
  bool holds = check.kind == LUMEN_ABI_CHECK_EQUAL        ? a == b
               : check.kind == LUMEN_ABI_CHECK_LESS_EQUAL ? a <= b
                                                          : a == b || a == 1 || b == 1;
  if (!holds)
    fault(check.what + " are " + std::to_string(a) + " and " + std::to_string(b));
}

void Machine::plan(const llvm::StringMap<int64_t> &entry) {
  for (uint32_t i = 0; i < tables.numEntrySymbols; ++i)
    symbols[i] = entry.lookup(tables.symbols[i]);
  evaluate(0, tables.numEntryExprs);
  for (uint32_t i = 0; i < tables.numEntryChecks; ++i)
    check(i);
  std::vector<LiveRange> ranges;
  std::vector<size_t> packed;
  for (auto [i, storage] : llvm::enumerate(tables.storages)) {
    Place &place = places[i];
    bool isFixed = storage.size_expr == LUMEN_ABI_NONE;
    place.space = isFixed                                    ? storage.size
                  : storage.size_expr < tables.numEntryExprs ? values[storage.size_expr]
                                                             : 0;
    place.base = (storage.region + 1) * 64 * kApart + storage.index * kApart + storage.offset;
    if (storage.region == LUMEN_ABI_HEAP)
      place = {};
    if (storage.region == LUMEN_ABI_ARENA && !isFixed) {
      ranges.push_back({storage.first, storage.last, static_cast<int64_t>(place.space)});
      packed.push_back(i);
    }
  }
  Packing packing = packOffsets(ranges, LUMEN_ALIGNMENT);
  for (auto [i, offset] : llvm::zip(packed, packing.offsets))
    places[i].base += offset;
  arenaSize = packing.size;
  arenaBound = peakLiveBytes(ranges);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void Machine::erase(uint64_t address, uint64_t size) {
  auto at = memory.lower_bound(address > 16 ? address - 16 : 0);
  while (at != memory.end() && at->first < address + size)
    at = at->first + at->second.size > address ? memory.erase(at) : std::next(at);
}

void Machine::write(uint64_t address, uint64_t size, uint64_t token) {
  erase(address, size);
  memory[address] = {size, token};
}

uint64_t Machine::read(uint64_t address, uint64_t size) {
  auto at = memory.find(address);
  return at == memory.end() || at->second.size != size ? kNothing : at->second.token;
}

/// Where a buffer of so many bytes begins.
uint64_t Machine::address(uint32_t index, uint64_t size) {
  const lumen_abi_buffer &buffer = tables.buffers[index];
  const Place &place = places[buffer.storage];
  uint64_t offset = buffer.offset;
  if (buffer.offset_expr != LUMEN_ABI_NONE)
    offset += values[buffer.offset_expr];
  if (size != 0 && offset + size > place.space)
    fault("buffer " + std::to_string(index) + " ends at " + std::to_string(offset + size) +
          " of storage " + std::to_string(buffer.storage) + ", which has " +
          std::to_string(place.space));
  return place.base + offset;
}

void Machine::alloc(Place &place, uint64_t bytes) {
  erase(place.base, place.space);
  place = {1000 * 64 * kApart + heapEnd, bytes, 0};
  heapEnd += bytes + LUMEN_ALIGNMENT;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Machine::launch(const link::Launch &launch) {
  dispatch::KernelOp kernel = kernels[launch.kernel];
  llvm::StringMap<int64_t> sizes;
  for (auto [i, name] : llvm::enumerate(kernel.getSizeNames()))
    sizes[name] = values[tables.sizeExprs[launch.firstSize + i]];
  struct Argument {
    uint64_t address, elementSize;
    int64_t count;
  };
  auto argument = [&](unsigned i, mlir::Type type) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    Argument argument;
    argument.count = *product(sizesOf(tensor)).evaluate(sizes);
    argument.elementSize = dispatch::elementBytes(tensor.getElementType());
    argument.address =
        address(tables.argBuffers[launch.firstArg + i], argument.count * argument.elementSize);
    return argument;
  };
  std::vector<Argument> inputs;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
    inputs.push_back(argument(i, type));
  Argument output = argument(inputs.size(), kernel.getResultTypes().front());
  auto load = [&](const Argument &argument, int64_t i) {
    return read(argument.address + i * argument.elementSize, argument.elementSize);
  };
  llvm::StringRef name = kernel.getSymName();
  bool readsWhereItWrites = name.starts_with("each") || name.starts_with("copy");
  if (readsWhereItWrites) {
    // One element after the other, over what is read if memory planning says so.
    std::vector<Tokens> read(inputs.size());
    for (int64_t i = 0; i < output.count; ++i) {
      for (auto [tokens, input] : llvm::zip(read, inputs))
        tokens.assign(i + 1, load(input, i));
      uint64_t token = kernelResult(name, read).back();
      write(output.address + i * output.elementSize, output.elementSize, token);
    }
    return;
  }
  // Results may be written before the last operand is read.
  erase(output.address, output.count * output.elementSize);
  std::vector<Tokens> read;
  for (const Argument &input : inputs) {
    read.emplace_back();
    for (int64_t i = 0; i < input.count; ++i)
      read.back().push_back(load(input, i));
  }
  for (auto [i, token] : llvm::enumerate(kernelResult(name, read)))
    write(output.address + i * output.elementSize, output.elementSize, token);
}

void Machine::step(const lumen_abi_step &step) {
  switch (step.kind) {
  case LUMEN_ABI_STEP_LAUNCH:
    launch(tables.launches[step.a]);
    break;
  case LUMEN_ABI_STEP_EVAL:
    evaluate(step.a, step.b);
    break;
  case LUMEN_ABI_STEP_CHECK:
    check(step.a);
    break;
  case LUMEN_ABI_STEP_BIND: {
    uint64_t size = step.c == LUMEN_ABI_BOOL ? 1 : 8;
    uint64_t value = read(address(step.b, size), size);
    if (value == kNothing)
      fault("symbol " + tables.symbols[step.a] + " is read from memory without a value");
    symbols[step.a] = value % 1000; // loops end
    break;
  }
  case LUMEN_ABI_STEP_SET:
    symbols[step.a] = values[step.b];
    break;
  case LUMEN_ABI_STEP_ALLOC: {
    const lumen_abi_storage &storage = tables.storages[step.a];
    alloc(places[step.a],
          storage.size_expr == LUMEN_ABI_NONE ? storage.size : values[storage.size_expr]);
    break;
  }
  case LUMEN_ABI_STEP_FREE:
    erase(places[step.a].base, places[step.a].space);
    places[step.a] = {};
    break;
  case LUMEN_ABI_STEP_SWAP:
    std::swap(places[step.a], places[step.b]);
    break;
  case LUMEN_ABI_STEP_MOVE:
    erase(places[step.a].base, places[step.a].space);
    places[step.a] = places[step.b];
    places[step.b] = {};
    break;
  case LUMEN_ABI_STEP_APPEND: {
    Place &to = places[step.a];
    uint64_t bytes = values[step.c], from = address(step.b, bytes), end = to.used;
    std::map<uint64_t, Cell> old(memory.lower_bound(to.base), memory.lower_bound(to.base + end));
    uint64_t oldBase = to.base;
    alloc(to, end + bytes);
    for (auto &[at, cell] : old)
      write(to.base + at - oldBase, cell.size, cell.token);
    std::map<uint64_t, Cell> part(memory.lower_bound(from), memory.lower_bound(from + bytes));
    for (auto &[at, cell] : part)
      write(to.base + end + at - from, cell.size, cell.token);
    to.used = end + bytes;
    break;
  }
  default:
    fault("step of kind " + std::to_string(step.kind));
  }
}

std::vector<Tokens> Machine::run(const std::vector<Tokens> &inputs) {
  for (auto [i, storage] : llvm::enumerate(tables.storages)) {
    if (storage.region == LUMEN_ABI_INPUT) {
      uint64_t size = tables.inputs[storage.index].dtype == LUMEN_ABI_BOOL ? 1 : 4;
      for (auto [e, token] : llvm::enumerate(inputs[storage.index]))
        write(places[i].base + e * size, size, token);
    } else if (storage.region == LUMEN_ABI_HEAP) {
      places[i] = {};
    } else {
      erase(places[i].base, places[i].space);
    }
  }
  if (tables.steps.empty())
    for (const link::Launch &row : tables.launches)
      launch(row);
  for (uint32_t at = 0, left = 2000000; at < tables.steps.size();) {
    const lumen_abi_step &row = tables.steps[at];
    if (--left == 0) {
      fault("the loops do not end");
      break;
    }
    if (row.kind == LUMEN_ABI_STEP_JUMP) {
      at = row.a;
    } else if (row.kind == LUMEN_ABI_STEP_BRANCH) {
      at = values[row.a] ? at + 1 : row.b;
    } else {
      step(row);
      ++at;
    }
  }
  std::vector<Tokens> results(tables.outputs.size());
  for (auto [i, storage] : llvm::enumerate(tables.storages)) {
    if (storage.region != LUMEN_ABI_OUTPUT)
      continue;
    int64_t count = 1;
    for (const link::Dim &dim : *tables.outputs[storage.index].dims)
      count *= dim.extent >= 0 ? dim.extent : values[dim.expr];
    for (int64_t e = 0; e < count; ++e)
      results[storage.index].push_back(read(places[i].base + 4 * e, 4));
  }
  return results;
}
