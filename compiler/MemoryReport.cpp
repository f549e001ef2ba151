//===- MemoryReport.cpp - --memory-report ---------------------------------===//

#include "compiler/Diagnostics.h"
#include "compiler/Tables.h"
#include "passes/memory/OffsetPacking.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

/// The dimensions that the run decides, of inputs and outputs.
static void writeDynamicDimensions(llvm::json::OStream &json, const link::ModelTables &tables) {
  auto write = [&](StringRef role, const std::vector<link::Value> &values) {
    for (const link::Value &value : values) {
      if (value.kind != LUMEN_ABI_TENSOR) // each item has its own
        continue;
      for (auto [i, dim] : llvm::enumerate(*value.dims)) {
        if (dim.extent >= 0)
          continue;
        json.object([&, i = i, &dim = dim] {
          json.attribute(role, value.name);
          json.attribute("dimension", static_cast<int64_t>(i));
          json.attribute("size", dim.symbol);
          if (dim.bound >= 0)
            json.attribute("at_most", dim.bound);
        });
      }
    }
  };
  json.attributeArray("dynamic_dimensions", [&] {
    write("input", tables.inputs);
    write("output", tables.outputs);
  });
}

/// The storages that have memory of their own, where sizes are expressions, and what
/// the arena takes for the given values of symbols.
static void writeSymbolicSlots(llvm::json::OStream &json, func::FuncOp main,
                               const llvm::StringMap<int64_t> &dims) {
  std::vector<LiveRange> ranges;
  bool isKnown = true;
  json.attributeArray("slots", [&] {
    for (auto storage : main.getOps<StorageOp>()) {
      bool inArena = storage.getRegion() == MemoryRegion::Arena;
      if (!inArena && storage.getRegion() != MemoryRegion::Heap)
        continue;
      json.object([&] {
        json.attribute("region", stringifyMemoryRegion(storage.getRegion()));
        json.attribute("size", storage.getSize());
        if (!inArena)
          return;
        int64_t first = *storage.getFirst(), last = *storage.getLast();
        json.attribute("first", first);
        json.attribute("last", last);
        std::optional<int64_t> bytes = storage.getBytes().evaluate(dims);
        isKnown &= bytes && *bytes >= 0;
        ranges.push_back({first, last, bytes.value_or(0)});
      });
    }
  });
  if (!isKnown)
    return;
  json.attributeObject("at", [&] {
    std::map<std::string, int64_t> sorted;
    for (auto &entry : dims)
      sorted[entry.getKey().str()] = entry.getValue();
    json.attributeObject("sizes", [&] {
      for (auto &[name, value] : sorted)
        json.attribute(name, value);
    });
    json.attribute("arena_bytes", packOffsets(ranges, LUMEN_ALIGNMENT).size);
    json.attribute("arena_lower_bound_bytes", peakLiveBytes(ranges));
  });
}

void lumen::writeMemoryReport(ModuleOp module, const link::ModelTables &tables,
                              const llvm::StringMap<int64_t> &dims, raw_ostream &os) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  bool isStatic = module->hasAttr("lumen.arena_size");
  llvm::StringMap<int64_t> values = dims;
  if (auto bounds = module->getAttrOfType<DictionaryAttr>("lumen.bounds"))
    for (NamedAttribute bound : bounds)
      if (auto value = dyn_cast<IntegerAttr>(bound.getValue()))
        values.try_emplace(bound.getName(), value.getInt());
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("model", tables.name);
    if (isStatic) {
      json.attribute("arena_bytes", static_cast<int64_t>(tables.arenaSize));
      json.attribute("arena_lower_bound_bytes", static_cast<int64_t>(tables.arenaLowerBound));
      json.attribute("bytes_without_sharing", static_cast<int64_t>(tables.bytesWithoutSharing));
    } else {
      writeSymbolicSlots(json, main, values);
    }
    writeDynamicDimensions(json, tables);
    json.attributeArray("levels", [&] {
      for (size_t i = 0; i < tables.levels.size(); ++i) {
        uint64_t scratch = 0;
        for (const link::Kernel &kernel : tables.kernels)
          for (const link::Variant &variant : kernel.variants)
            if (variant.level == i)
              scratch = std::max(scratch, variant.scratchSize);
        json.object([&] {
          json.attribute("name", tables.levels[i].name);
          bool isHost = tables.levels[i].target == LUMEN_ABI_CPU;
          json.attribute(isHost ? "scratch_bytes_per_worker" : "scratch_bytes_per_workgroup",
                         static_cast<int64_t>(scratch));
        });
      }
    });
    json.attributeArray("buffers", [&] {
      main.walk([&](BufferOp buffer) {
        if (buffer.getStorageOp().getRegion() != MemoryRegion::Arena)
          return;
        json.object([&] {
          auto write = [&](StringRef name, const SymExpr &bytes) {
            if (std::optional<int64_t> number = bytes.asConstant())
              json.attribute(name, *number);
            else
              json.attribute(name, bytes.str());
          };
          json.attribute("value", describe(buffer.getLoc()));
          write("offset", buffer.getOffsetBytes() + SymExpr(buffer.getStorageOp().getOffset()));
          write("size", buffer.getBytes());
          bool isPacked = buffer.getFirst().has_value();
          json.attribute("first_launch",
                         static_cast<int64_t>(isPacked ? *buffer.getFirst()
                                                       : *buffer.getStorageOp().getFirst()));
          json.attribute("last_launch",
                         static_cast<int64_t>(isPacked ? *buffer.getLast()
                                                       : *buffer.getStorageOp().getLast()));
        });
      });
    });
    json.attributeArray("launches", [&] {
      for (auto [i, launch] : llvm::enumerate(tables.launches))
        json.object([&, i = i, &launch = launch] {
          json.attribute("index", static_cast<int64_t>(i));
          json.attribute("kernel", tables.kernels[launch.kernel].name);
          json.attribute("nodes", launch.nodes);
        });
    });
  });
  os << '\n';
}
