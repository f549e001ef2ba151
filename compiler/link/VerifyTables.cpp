//===- VerifyTables.cpp - what the runtime takes for granted --------------===//

#include "compiler/link/VerifyTables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace lumen::link {
namespace {

class Verifier {
public:
  Verifier(const ModelTables &tables, uint64_t weightsSize)
      : tables(tables), weightsSize(weightsSize) {}

  Error run();

private:
  template <typename... Args> Error fail(const char *format, Args &&...args) {
    return createStringError("internal error: model tables: " +
                             formatv(format, std::forward<Args>(args)...).str());
  }
  /// `what` names `count` of the rows that `kind` calls "symbol" and the like.
  template <typename What>
  Error inRange(const What &what, const char *kind, uint32_t index, size_t count) {
    return index < count ? Error::success()
                         : fail("{0} names {1} {2} of {3}", what, kind, index, count);
  }
  /// LUMEN_ABI_NONE is good too.
  template <typename What>
  Error optional(const What &what, const char *kind, uint32_t index, size_t count) {
    return index == LUMEN_ABI_NONE ? Error::success() : inRange(what, kind, index, count);
  }
  Error value(bool output, const Value &value);
  Error storage(size_t index, const lumen_abi_storage &storage);
  Error buffer(size_t index, const lumen_abi_buffer &buffer);
  Error expression(size_t index, const lumen_abi_expr &expr);
  Error check(size_t index, const Check &check);
  Error step(size_t index, const lumen_abi_step &step);
  Error call(size_t index, const Call &call);
  Error kernel(const Kernel &kernel);
  Error gpuLaunch(const Kernel &kernel, const Variant &variant);
  Error sizes(const std::string &what, uint32_t firstSize, uint32_t numSizes);
  Error launches(const char *kind, ArrayRef<Launch> launches);
  Error counts();

  const ModelTables &tables;
  uint64_t weightsSize;
};

constexpr const char *kRegions[] = {"arena", "weights", "input", "output", "init", "heap"};

/// Entry symbols and expressions come first in their tables, and no more of them
/// are promised than there are.
Error Verifier::counts() {
  const struct {
    const char *kind;
    size_t entry, all;
  } rows[] = {{"symbols", tables.numEntrySymbols, tables.symbols.size()},
              {"expressions", tables.numEntryExprs, tables.exprs.size()},
              {"checks", tables.numEntryChecks, tables.checks.size()}};
  for (auto &row : rows)
    if (row.entry > row.all)
      return fail("{0} of {1} {2} belong to the entry", row.entry, row.all, row.kind);
  if (tables.steps.empty() && !tables.calls.empty())
    return fail("there are {0} calls but no steps", tables.calls.size());
  return Error::success();
}

Error Verifier::value(bool output, const Value &value) {
  if (value.kind != LUMEN_ABI_TENSOR || !value.dims)
    return Error::success();
  for (auto [d, dim] : enumerate(*value.dims)) {
    std::string what =
        formatv("dimension {0} of {1} '{2}'", d, output ? "output" : "input", value.name);
    if (dim.extent >= 0)
      continue;
    if (!output) {
      if (Error error = optional(what, "entry symbol", dim.expr, tables.numEntrySymbols))
        return error;
      if (Error error = optional(what, "entry expression", dim.boundExpr, tables.numEntryExprs))
        return error;
      continue;
    }
    // Strings bring their own extents.
    if (dim.expr == LUMEN_ABI_NONE && value.dtype != LUMEN_ABI_STRING)
      return fail("{0} has no expression", what);
    if (Error error = optional(what, "expression", dim.expr, tables.exprs.size()))
      return error;
    if (Error error = optional(what, "entry expression", dim.boundExpr, tables.numEntryExprs))
      return error;
  }
  return Error::success();
}

Error Verifier::storage(size_t index, const lumen_abi_storage &storage) {
  std::string what = formatv("storage {0}", index);
  if (storage.region >= std::size(kRegions))
    return fail("{0} lies in region {1}, expected at most {2}", what, storage.region,
                std::size(kRegions) - 1);
  const char *name = kRegions[storage.region];
  size_t numIndices = storage.region == LUMEN_ABI_INPUT    ? tables.inputs.size()
                      : storage.region == LUMEN_ABI_OUTPUT ? tables.outputs.size()
                                                           : 1;
  if (Error error = inRange(what, name, storage.index, numIndices))
    return error;
  if (storage.first > storage.last)
    return fail("{0} is live from {1} to {2}", what, storage.first, storage.last);
  bool fixed = storage.size_expr == LUMEN_ABI_NONE;
  if (!fixed) {
    if (storage.region == LUMEN_ABI_WEIGHTS || storage.region == LUMEN_ABI_INIT)
      return fail("{0} of {1} has a size of its own", what, name);
    // The arena is packed before the first step.
    return storage.region == LUMEN_ABI_ARENA
               ? inRange(what, "entry expression", storage.size_expr, tables.numEntryExprs)
               : inRange(what, "expression", storage.size_expr, tables.exprs.size());
  }
  std::optional<uint64_t> space;
  if (storage.region == LUMEN_ABI_ARENA)
    space = tables.arenaSize;
  else if (storage.region == LUMEN_ABI_WEIGHTS)
    space = weightsSize;
  else if (storage.region == LUMEN_ABI_INIT)
    space = tables.initSize;
  if (space && (storage.offset > *space || storage.size > *space - storage.offset))
    return fail("{0} spans bytes {1} to {2} of {3}, which has {4}", what, storage.offset,
                storage.offset + storage.size, name, *space);
  return Error::success();
}

Error Verifier::buffer(size_t index, const lumen_abi_buffer &buffer) {
  std::string what = formatv("buffer {0}", index);
  if (Error error = inRange(what, "storage", buffer.storage, tables.storages.size()))
    return error;
  for (uint32_t expr : {buffer.offset_expr, buffer.size_expr})
    if (Error error = optional(what, "expression", expr, tables.exprs.size()))
      return error;
  const lumen_abi_storage &storage = tables.storages[buffer.storage];
  bool fixed = storage.size_expr == LUMEN_ABI_NONE && storage.region != LUMEN_ABI_HEAP;
  if (fixed && (buffer.offset > storage.size || buffer.size > storage.size - buffer.offset))
    return fail("{0} spans bytes {1} to {2} of storage {3}, which has {4}", what, buffer.offset,
                buffer.offset + buffer.size, buffer.storage, storage.size);
  return Error::success();
}

Error Verifier::expression(size_t index, const lumen_abi_expr &expr) {
  bool entry = index < tables.numEntryExprs;
  std::string what = formatv("expression {0}", index);
  switch (expr.op) {
  case LUMEN_ABI_EXPR_CONSTANT:
    return Error::success();
  case LUMEN_ABI_EXPR_SYMBOL:
    return entry ? inRange(what, "entry symbol", expr.a, tables.numEntrySymbols)
                 : inRange(what, "symbol", expr.a, tables.symbols.size());
  case LUMEN_ABI_EXPR_ADD:
  case LUMEN_ABI_EXPR_SUB:
  case LUMEN_ABI_EXPR_MUL:
  case LUMEN_ABI_EXPR_FLOORDIV:
  case LUMEN_ABI_EXPR_MIN:
  case LUMEN_ABI_EXPR_MAX:
  case LUMEN_ABI_EXPR_BROADCAST:
    for (uint32_t operand : {expr.a, expr.b})
      if (operand >= index)
        return fail("{0} uses expression {1}, expected one before it", what, operand);
    return Error::success();
  }
  return fail("{0} has operation {1}, expected at most {2}", what, expr.op,
              static_cast<uint32_t>(LUMEN_ABI_EXPR_BROADCAST));
}

Error Verifier::check(size_t index, const Check &check) {
  std::string what = formatv("check {0}", index);
  if (check.kind > LUMEN_ABI_CHECK_LESS_EQUAL)
    return fail("{0} has kind {1}, expected at most {2}", what, static_cast<uint32_t>(check.kind),
                static_cast<uint32_t>(LUMEN_ABI_CHECK_LESS_EQUAL));
  bool entry = index < tables.numEntryChecks;
  for (uint32_t operand : {check.a, check.b})
    if (Error error = inRange(what, entry ? "entry expression" : "expression", operand,
                              entry ? tables.numEntryExprs : tables.exprs.size()))
      return error;
  return Error::success();
}

Error Verifier::step(size_t index, const lumen_abi_step &step) {
  std::string what = formatv("step {0}", index);
  auto first = [](Error a, auto... more) {
    // Only the first of several errors is told.
    auto join = [](Error a, Error b) {
      if (!a)
        return b;
      consumeError(std::move(b));
      return a;
    };
    ((a = join(std::move(a), more())), ...);
    return a;
  };
  auto expression = [&](uint32_t index) {
    return inRange(what, "expression", index, tables.exprs.size());
  };
  // Entry symbols are the caller's.
  auto symbol = [&](uint32_t index) {
    if (Error error = inRange(what, "symbol", index, tables.symbols.size()))
      return error;
    return index < tables.numEntrySymbols ? fail("{0} changes entry symbol {1}", what, index)
                                          : Error::success();
  };
  auto buffer = [&](uint32_t index) {
    return inRange(what, "buffer", index, tables.buffers.size());
  };
  auto target = [&](uint32_t index) {
    return index <= tables.steps.size()
               ? Error::success()
               : fail("{0} goes to step {1} of {2}", what, index, tables.steps.size());
  };
  auto storage = [&](uint32_t index, std::initializer_list<uint32_t> regions) {
    if (Error error = inRange(what, "storage", index, tables.storages.size()))
      return error;
    uint32_t region = tables.storages[index].region;
    return is_contained(regions, region)
               ? Error::success()
               : fail("{0} cannot do this to storage {1} of {2}", what, index, kRegions[region]);
  };
  switch (step.kind) {
  case LUMEN_ABI_STEP_LAUNCH:
    return inRange(what, "launch", step.a, tables.launches.size());
  case LUMEN_ABI_STEP_EVAL:
    if (step.a > tables.exprs.size() || step.b > tables.exprs.size() - step.a)
      return fail("{0} evaluates expressions {1} to {2} of {3}", what, step.a,
                  uint64_t(step.a) + step.b, tables.exprs.size());
    return Error::success();
  case LUMEN_ABI_STEP_CHECK:
    return inRange(what, "check", step.a, tables.checks.size());
  case LUMEN_ABI_STEP_BIND:
    switch (step.c) {
    case LUMEN_ABI_U8:
    case LUMEN_ABI_I8:
    case LUMEN_ABI_U16:
    case LUMEN_ABI_I16:
    case LUMEN_ABI_I32:
    case LUMEN_ABI_I64:
    case LUMEN_ABI_U32:
    case LUMEN_ABI_U64:
    case LUMEN_ABI_BOOL:
      break;
    default:
      return fail("{0} binds a symbol to type {1}, expected an integer or bool", what, step.c);
    }
    return first(symbol(step.a), [&] { return buffer(step.b); });
  case LUMEN_ABI_STEP_SET:
    return first(symbol(step.a), [&] { return expression(step.b); });
  case LUMEN_ABI_STEP_JUMP:
    return target(step.a);
  case LUMEN_ABI_STEP_BRANCH:
    return first(expression(step.a), [&] { return target(step.b); });
  case LUMEN_ABI_STEP_ALLOC:
    return storage(step.a, {LUMEN_ABI_HEAP, LUMEN_ABI_OUTPUT});
  case LUMEN_ABI_STEP_FREE:
    return storage(step.a, {LUMEN_ABI_HEAP});
  case LUMEN_ABI_STEP_SWAP: {
    Error error = first(storage(step.a, {LUMEN_ABI_ARENA, LUMEN_ABI_HEAP}),
                        [&] { return storage(step.b, {LUMEN_ABI_ARENA, LUMEN_ABI_HEAP}); });
    if (error)
      return error;
    const lumen_abi_storage &a = tables.storages[step.a], &b = tables.storages[step.b];
    if (a.region != b.region)
      return fail("{0} swaps storage {1} of {2} with storage {3} of {4}", what, step.a,
                  kRegions[a.region], step.b, kRegions[b.region]);
    // Each must hold what the other held.
    if (a.region == LUMEN_ABI_ARENA &&
        (a.size_expr != b.size_expr || (a.size_expr == LUMEN_ABI_NONE && a.size != b.size)))
      return fail("{0} swaps storages {1} and {2}, whose sizes differ", what, step.a, step.b);
    return Error::success();
  }
  case LUMEN_ABI_STEP_APPEND:
    return first(
        storage(step.a, {LUMEN_ABI_HEAP}), [&] { return buffer(step.b); },
        [&] { return expression(step.c); });
  case LUMEN_ABI_STEP_CALL:
    return inRange(what, "call", step.a, tables.calls.size());
  case LUMEN_ABI_STEP_MOVE:
    return first(storage(step.a, {LUMEN_ABI_HEAP, LUMEN_ABI_OUTPUT}),
                 [&] { return storage(step.b, {LUMEN_ABI_HEAP}); });
  }
  return fail("{0} has kind {1}, expected at most {2}", what, step.kind,
              static_cast<uint32_t>(LUMEN_ABI_STEP_MOVE));
}

Error Verifier::sizes(const std::string &what, uint32_t firstSize, uint32_t numSizes) {
  if (firstSize > tables.sizeExprs.size() || numSizes > tables.sizeExprs.size() - firstSize)
    return fail("{0} takes sizes {1} to {2} of {3}", what, firstSize,
                uint64_t(firstSize) + numSizes, tables.sizeExprs.size());
  return Error::success();
}

Error Verifier::call(size_t index, const Call &call) {
  std::string what = formatv("call {0}", index);
  if (call.function.empty())
    return fail("{0} has no function", what);
  if (Error error = sizes(what, call.firstSize, call.numSizes))
    return error;
  uint64_t numExtents = 0;
  auto argument = [&](const lumen_abi_call_arg &arg, bool output, bool first) -> Error {
    if (arg.kind > LUMEN_ABI_CALL_EXTENTS)
      return fail("{0} has an argument of kind {1}, expected at most {2}", what, arg.kind,
                  static_cast<uint32_t>(LUMEN_ABI_CALL_EXTENTS));
    if (arg.kind == LUMEN_ABI_CALL_EXTENTS && (!output || first))
      return fail("{0} has extents of no output", what);
    if (!output && arg.buffer == LUMEN_ABI_NONE)
      return Error::success();
    if (!output && arg.kind == LUMEN_ABI_CALL_TENSOR)
      numExtents += arg.rank;
    if (arg.kind != LUMEN_ABI_CALL_VALUE && arg.rank < 0)
      return fail("{0} has an argument of rank {1}", what, arg.rank);
    if (Error error = inRange(what, "buffer", arg.buffer, tables.buffers.size()))
      return error;
    const lumen_abi_buffer &buffer = tables.buffers[arg.buffer];
    uint32_t region = tables.storages[buffer.storage].region;
    if (output && (region == LUMEN_ABI_WEIGHTS || region == LUMEN_ABI_INPUT))
      return fail("{0} writes buffer {1}, which is read-only", what, arg.buffer);
    if (arg.kind == LUMEN_ABI_CALL_VALUE && region != LUMEN_ABI_HEAP && region != LUMEN_ABI_INPUT &&
        region != LUMEN_ABI_OUTPUT)
      return fail("{0} has a runtime object in storage {1} of {2}", what, buffer.storage,
                  kRegions[region]);
    return Error::success();
  };
  for (const lumen_abi_call_arg &arg : call.inputs)
    if (Error error = argument(arg, /*output=*/false, false))
      return error;
  for (auto [i, arg] : enumerate(call.outputs))
    if (Error error = argument(arg, /*output=*/true, i == 0))
      return error;
  if (numExtents != call.numSizes)
    return fail("{0} takes {1} sizes, its tensors have {2} extents", what, call.numSizes,
                numExtents);
  return Error::success();
}

Error Verifier::gpuLaunch(const Kernel &kernel, const Variant &variant) {
  const std::string &level = tables.levels[variant.level].name;
  lumen_abi_gpu_launch launch;
  if (variant.launchInfo.size() != sizeof(launch))
    return fail("kernel '{0}' has {1} bytes about its launch at level '{2}', expected {3}",
                kernel.name, variant.launchInfo.size(), level, sizeof(launch));
  std::memcpy(&launch, variant.launchInfo.data(), sizeof(launch));
  if (launch.block < 1 || launch.units_per_workgroup < 1)
    return fail("kernel '{0}' has workgroups of {1} threads for {2} units at level '{3}', "
                "expected at least 1 of both",
                kernel.name, launch.block, launch.units_per_workgroup, level);
  return Error::success();
}

Error Verifier::kernel(const Kernel &kernel) {
  if (kernel.variants.empty())
    return fail("kernel '{0}' has no variant", kernel.name);
  for (auto [i, variant] : enumerate(kernel.variants)) {
    if (variant.level >= tables.levels.size())
      return fail("kernel '{0}' has a variant for level {1} of {2}", kernel.name, variant.level,
                  tables.levels.size());
    // The runtime takes the first one of a target that fits the machine.
    if (i && variant.level <= kernel.variants[i - 1].level &&
        tables.levels[variant.level].target == tables.levels[kernel.variants[i - 1].level].target)
      return fail("kernel '{0}' has a variant for level {1} after one for level {2}", kernel.name,
                  variant.level, kernel.variants[i - 1].level);
    bool cpu = tables.levels[variant.level].target == LUMEN_ABI_CPU;
    if (cpu ? variant.symbol.empty() : variant.code.empty())
      return fail("kernel '{0}' has a variant for level '{1}' without code", kernel.name,
                  tables.levels[variant.level].name);
    if (Error error = cpu ? Error::success() : gpuLaunch(kernel, variant))
      return error;
    if (variant.grain < 1)
      return fail("kernel '{0}' has grain {1}, expected at least 1", kernel.name, variant.grain);
  }
  return Error::success();
}

Error Verifier::launches(const char *kind, ArrayRef<Launch> launches) {
  for (auto [i, launch] : enumerate(launches)) {
    if (launch.kernel >= tables.kernels.size())
      return fail("{0} {1} names kernel {2} of {3}", kind, i, launch.kernel, tables.kernels.size());
    uint32_t numArgs = tables.kernels[launch.kernel].numArgs;
    if (launch.firstArg > tables.argBuffers.size() ||
        numArgs > tables.argBuffers.size() - launch.firstArg)
      return fail("{0} {1} takes arguments {2} to {3} of {4}", kind, i, launch.firstArg,
                  uint64_t(launch.firstArg) + numArgs, tables.argBuffers.size());
    std::string what = formatv("{0} {1}", kind, i);
    if (Error error = sizes(what, launch.firstSize, launch.numSizes))
      return error;
    for (uint32_t work : {launch.flopsExpr, launch.bytesExpr})
      if (Error error = optional(what, "expression", work, tables.exprs.size()))
        return error;
    if (launch.numOutputs > numArgs)
      return fail("{0} {1} has {2} outputs among {3} arguments", kind, i, launch.numOutputs,
                  numArgs);
    for (uint32_t arg :
         ArrayRef(tables.argBuffers)
             .slice(launch.firstArg + numArgs - launch.numOutputs, launch.numOutputs)) {
      uint32_t region = tables.storages[tables.buffers[arg].storage].region;
      if (region == LUMEN_ABI_WEIGHTS || region == LUMEN_ABI_INPUT)
        return fail("{0} {1} writes buffer {2}, which is read-only", kind, i, arg);
    }
  }
  return Error::success();
}

Error Verifier::run() {
  StringSet<> names;
  for (const Kernel &row : tables.kernels) {
    if (!names.insert(row.name).second)
      return fail("two kernels are named '{0}'", row.name);
    if (Error error = kernel(row))
      return error;
  }
  if (Error error = counts())
    return error;
  for (const Value &input : tables.inputs)
    if (Error error = value(/*output=*/false, input))
      return error;
  for (const Value &output : tables.outputs)
    if (Error error = value(/*output=*/true, output))
      return error;
  for (auto [i, row] : enumerate(tables.exprs))
    if (Error error = expression(i, row))
      return error;
  for (auto [i, row] : enumerate(tables.checks))
    if (Error error = check(i, row))
      return error;
  for (auto [i, row] : enumerate(tables.storages))
    if (Error error = storage(i, row))
      return error;
  for (auto [i, row] : enumerate(tables.buffers))
    if (Error error = buffer(i, row))
      return error;
  for (auto [i, index] : enumerate(tables.argBuffers))
    if (Error error =
            inRange(formatv("argument {0}", i).str(), "buffer", index, tables.buffers.size()))
      return error;
  for (auto [i, index] : enumerate(tables.sizeExprs))
    if (Error error =
            inRange(formatv("size {0}", i).str(), "expression", index, tables.exprs.size()))
      return error;
  for (auto [i, row] : enumerate(tables.calls))
    if (Error error = call(i, row))
      return error;
  for (auto [i, row] : enumerate(tables.steps))
    if (Error error = step(i, row))
      return error;
  if (Error error = launches("launch", tables.launches))
    return error;
  return launches("init", tables.inits);
}

} // namespace

Error verifyTables(const ModelTables &tables, uint64_t weightsSize) {
  return Verifier(tables, weightsSize).run();
}

} // namespace lumen::link
