// Memory planning and the tables of random schedules: what the steps compute in
// memory is what the schedule computes on tensors.

#include "Machine.h"
#include "Programs.h"

#include "compiler/Pipeline.h"
#include "compiler/Schedule.h"
#include "compiler/Tables.h"
#include "compiler/link/VerifyTables.h"
#include "passes/memory/Passes.h"
#include "passes/memory/Weights.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

using namespace lumen;
using namespace lumen::test;

namespace {

mlir::func::FuncOp mainOf(mlir::ModuleOp module) {
  return module.lookupSymbol<mlir::func::FuncOp>("main");
}

/// The tables of a module of the stage "memory", as far as the schedule fills them.
link::ModelTables tablesOf(mlir::ModuleOp module, std::vector<dispatch::KernelOp> &kernels) {
  link::ModelTables tables;
  tables.name = "random";
  auto main = mainOf(module);
  auto describe = [](std::vector<link::Value> &values, mlir::Type type) {
    link::Value &value = values.emplace_back();
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    value.dtype = *dtypeOf(tensor.getElementType());
    value.dims.emplace();
    for (int64_t extent : tensor.getShape())
      value.dims->push_back(mlir::ShapedType::isDynamic(extent) ? link::Dim()
                                                                : link::Dim{extent, extent, ""});
  };
  for (mlir::Type type : main.getArgumentTypes())
    describe(tables.inputs, type);
  for (mlir::Type type :
       main->getAttrOfType<mlir::ArrayAttr>("lumen.result_types").getAsValueRange<mlir::TypeAttr>())
    describe(tables.outputs, type);
  if (auto size = module->getAttrOfType<mlir::IntegerAttr>("lumen.arena_size"))
    tables.arenaSize = size.getInt();
  tables.levels.push_back({"x86-64-v3", LUMEN_ABI_CPU, 0});
  llvm::StringMap<uint32_t> kernelIndex;
  for (auto kernel : module.getOps<dispatch::KernelOp>()) {
    kernelIndex[kernel.getSymName()] = kernels.size();
    kernels.push_back(kernel);
    link::Kernel &row = tables.kernels.emplace_back();
    row.name = kernel.getSymName().str();
    row.numArgs = kernel.getArgumentTypes().size() + kernel.getResultTypes().size();
    row.variants.emplace_back().symbol = row.name;
  }
  ScheduleBuilder(module, main, tables, kernelIndex).build();
  return tables;
}

struct Arguments {
  llvm::StringMap<int64_t> symbols;
  std::vector<Tokens> inputs;
};

Arguments randomArguments(mlir::func::FuncOp main, std::mt19937 &random) {
  Arguments result;
  // Sizes of 0 and 1 are the most likely to go wrong.
  result.symbols["n"] = random() % 5;
  result.symbols["m"] = random() % 5;
  for (mlir::Type type : main.getArgumentTypes()) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    Tokens &tokens = result.inputs.emplace_back();
    for (int64_t i = *product(sizesOf(tensor)).evaluate(result.symbols); i > 0; --i)
      tokens.push_back(tensor.getElementType().isInteger(1) ? random() % 2 : random());
  }
  return result;
}

TEST(Schedule, RandomProgramsComputeInMemoryWhatTheyDoOnTensors) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  const char *text = std::getenv("LUMEN_FUZZ_RUNS");
  unsigned runs = text ? std::atoi(text) : 300;
  const char *first = std::getenv("LUMEN_FUZZ_FIRST");
  unsigned seed = first ? std::atoi(first) : 0, end = seed + runs;
  unsigned withSteps = 0, withHeap = 0, withSwaps = 0, inArena = 0;
  for (; seed < end && !testing::Test::HasFailure(); ++seed) {
    std::string program = randomProgram(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &context);
    ASSERT_TRUE(module);
    mlir::OwningOpRef<mlir::ModuleOp> planned = module->clone();
    mlir::PassManager passes(&context);
    passes.addPass(createPlaceViews());
    passes.addPass(createPlanBuffers());
    passes.addPass(createVerifyNoTensors());
    ASSERT_TRUE(mlir::succeeded(passes.run(*planned)));
    std::vector<dispatch::KernelOp> kernels;
    link::ModelTables tables = tablesOf(*planned, kernels);
    ASSERT_EQ(llvm::toString(link::verifyTables(tables, 0)), "");
    withSteps += !tables.steps.empty();
    auto has = [&](auto test) { return llvm::any_of(tables.steps, test); };
    withSwaps += has([](auto &step) { return step.kind == LUMEN_ABI_STEP_SWAP; });
    withHeap += has([](auto &step) { return step.kind == LUMEN_ABI_STEP_ALLOC; });
    Machine machine(tables, kernels);
    std::mt19937 random(seed);
    for (int shape = 0; shape < 3; ++shape) {
      Arguments arguments = randomArguments(mainOf(*module), random);
      machine.plan(arguments.symbols);
      inArena += machine.arenaSize > 0;
      auto expected = interpret(mainOf(*module), arguments.inputs, arguments.symbols);
      for (int run = 0; run < 2; ++run) {
        EXPECT_EQ(machine.run(arguments.inputs), expected) << "run " << run << " of " << shape;
        EXPECT_EQ(machine.faults, std::vector<std::string>());
      }
    }
  }
  if (!first && !text) {
    EXPECT_GT(withSteps, runs / 2);
    EXPECT_GT(withHeap, runs / 5);
    EXPECT_GT(withSwaps, runs / 10);
    EXPECT_GT(inArena, runs / 5);
  }
}

} // namespace
