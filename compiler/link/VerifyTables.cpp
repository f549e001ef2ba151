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
  Error buffer(size_t index, const lumen_abi_buffer &buffer);
  Error kernel(const Kernel &kernel);
  Error launches(const char *kind, ArrayRef<Launch> launches);

  const ModelTables &tables;
  uint64_t weightsSize;
};

Error Verifier::buffer(size_t index, const lumen_abi_buffer &buffer) {
  struct Region {
    lumen_abi_region region;
    const char *name;
    std::optional<uint64_t> size;  // bytes, where known
    std::optional<uint64_t> count; // of values that `index` chooses from
  };
  bool planned = tables.planFunction.empty();
  const Region regions[] = {
      {LUMEN_ABI_ARENA, "arena", planned ? std::optional(tables.arenaSize) : std::nullopt, 1},
      {LUMEN_ABI_WEIGHTS, "weights", weightsSize, 1},
      {LUMEN_ABI_INPUT, "input", std::nullopt, tables.inputs.size()},
      {LUMEN_ABI_OUTPUT, "output", std::nullopt, tables.outputs.size()},
      {LUMEN_ABI_INIT, "init", tables.initSize, 1},
      {LUMEN_ABI_HEAP, "heap", std::nullopt, std::nullopt}};
  const Region *region =
      find_if(regions, [&](const Region &region) { return region.region == buffer.region; });
  if (region == std::end(regions))
    return fail("buffer {0} lies in region {1}, expected at most {2}", index, buffer.region,
                std::size(regions) - 1);
  if (region->count && buffer.index >= *region->count)
    return fail("buffer {0} names {1} {2} of {3}", index, region->name, buffer.index,
                *region->count);
  if (region->size &&
      (buffer.offset > *region->size || buffer.size > *region->size - buffer.offset))
    return fail("buffer {0} spans bytes {1} to {2} of {3}, which has {4}", index, buffer.offset,
                buffer.offset + buffer.size, region->name, *region->size);
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
    if (launch.numOutputs > numArgs)
      return fail("{0} {1} has {2} outputs among {3} arguments", kind, i, launch.numOutputs,
                  numArgs);
    if (launch.firstSize > tables.numSizes || launch.numSizes > tables.numSizes - launch.firstSize)
      return fail("{0} {1} takes sizes {2} to {3} of {4}", kind, i, launch.firstSize,
                  uint64_t(launch.firstSize) + launch.numSizes, tables.numSizes);
    for (uint32_t arg :
         ArrayRef(tables.argBuffers)
             .slice(launch.firstArg + numArgs - launch.numOutputs, launch.numOutputs))
      if (arg < tables.buffers.size() && (tables.buffers[arg].region == LUMEN_ABI_WEIGHTS ||
                                          tables.buffers[arg].region == LUMEN_ABI_INPUT))
        return fail("{0} {1} writes buffer {2}, which is read-only", kind, i, arg);
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
  for (auto [i, row] : enumerate(tables.buffers))
    if (Error error = buffer(i, row))
      return error;
  for (auto [i, index] : enumerate(tables.argBuffers))
    if (index >= tables.buffers.size())
      return fail("argument {0} names buffer {1} of {2}", i, index, tables.buffers.size());
  if (Error error = launches("launch", tables.launches))
    return error;
  return launches("init", tables.inits);
}

} // namespace

Error verifyTables(const ModelTables &tables, uint64_t weightsSize) {
  return Verifier(tables, weightsSize).run();
}

} // namespace lumen::link
