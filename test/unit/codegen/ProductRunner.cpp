//===- ProductRunner.cpp - compiles a case and runs it --------------------===//

#include "ProductRunner.h"

#include "codegen/cpu/CpuTarget.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <chrono>
#include <cstdlib>

using namespace lumen;
using namespace lumen::test;

std::vector<std::string> lumen::test::hostLevels() {
  std::vector<std::string> levels;
  for (llvm::StringRef level : cpu::levelNames())
    if (cpu::hostSupports(level))
      levels.push_back(level.str());
  return levels;
}

static mlir::MLIRContext &sharedContext() {
  static auto *context = [] {
    auto *context = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    cpu::prepareContext(*context);
    return context;
  }();
  return *context;
}

std::unique_ptr<Runner> Runner::create(const Case &c, const std::string &level,
                                       std::string &error) {
  mlir::MLIRContext &context = sharedContext();
  llvm::raw_string_ostream stream(error);
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { stream << diagnostic << "\n"; });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(c.kernel, &context);
  if (!module)
    return nullptr;
  auto kernel = *module->getOps<dispatch::KernelOp>().begin();
  auto start = std::chrono::steady_clock::now();
  mlir::OwningOpRef<mlir::ModuleOp> code = mlir::ModuleOp::create(kernel.getLoc());
  auto built = cpu::buildKernel(kernel, level, {}, *code);
  if (mlir::failed(built) || mlir::failed(mlir::verify(*code)))
    return nullptr;
  if (getenv("LUMEN_TEST_PRINT"))
    code->dump();
  llvm::SmallVector<char, 0> object;
  const cpu::Capabilities &caps = *cpu::capabilitiesOf(level);
  if (mlir::failed(cpu::lowerToLLVM(*code)) ||
      mlir::failed(cpu::emitCode(*code, caps, {}, CodeForm::Object, object)))
    return nullptr;
  auto runner = std::make_unique<Runner>();
  runner->compileMillis =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  runner->shape = *built;
  runner->objectSize = object.size();

  auto take = [&](llvm::Error problem) {
    if (!problem)
      return true;
    stream << llvm::toString(std::move(problem));
    return false;
  };
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return take(jit.takeError()), nullptr;
  runner->jit = std::move(*jit);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, "k.o");
  if (!take(runner->jit->addObjectFile(std::move(buffer))))
    return nullptr;
  auto symbol = runner->jit->lookup(cpu::symbolName(kernel, level));
  if (!symbol)
    return take(symbol.takeError()), nullptr;
  runner->code = symbol->toPtr<lumen_abi_cpu_kernel>();
  runner->scratch.reset(
      static_cast<char *>(aligned_alloc(64, llvm::alignTo(runner->shape.scratchSize + 64, 64))));
  return runner;
}

void Runner::run(Case &c, int64_t begin, int64_t end) {
  std::vector<void *> arguments;
  for (auto *list : {&c.inputs, &c.outputs})
    for (Buffer &buffer : *list)
      arguments.push_back(buffer.data.data());
  code(arguments.data(), nullptr, begin, end, 0, scratch.get());
}

void Runner::run(Case &c, int64_t parts) {
  for (int64_t i = parts; i-- > 0;)
    run(c, shape.grid * i / parts, shape.grid * (i + 1) / parts);
}
