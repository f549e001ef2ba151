//===- MemoryReport.cpp - --memory-report ---------------------------------===//

#include "compiler/Diagnostics.h"
#include "compiler/Tables.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

void lumen::writeMemoryReport(ModuleOp module, const link::ModelTables &tables, raw_ostream &os) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("model", tables.name);
    json.attribute("arena_bytes", static_cast<int64_t>(tables.arenaSize));
    json.attribute("arena_lower_bound_bytes", static_cast<int64_t>(tables.arenaLowerBound));
    json.attribute("bytes_without_sharing", static_cast<int64_t>(tables.bytesWithoutSharing));
    json.attributeArray("levels", [&] {
      for (size_t i = 0; i < tables.levels.size(); ++i) {
        uint64_t scratch = 0;
        for (const link::Kernel &kernel : tables.kernels)
          scratch = std::max(scratch, kernel.variants[i].scratchSize);
        json.object([&] {
          json.attribute("name", tables.levels[i].name);
          json.attribute("scratch_bytes_per_worker", static_cast<int64_t>(scratch));
        });
      }
    });
    json.attributeArray("buffers", [&] {
      for (auto buffer : main.getOps<BufferOp>()) {
        if (buffer.getRegion() != MemoryRegion::Arena)
          continue;
        json.object([&] {
          json.attribute("value", describe(buffer.getLoc()));
          json.attribute("offset", buffer.getOffset());
          json.attribute("size", buffer.getSize());
          json.attribute("first_launch", buffer->getAttrOfType<IntegerAttr>("first").getInt());
          json.attribute("last_launch", buffer->getAttrOfType<IntegerAttr>("last").getInt());
        });
      }
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
