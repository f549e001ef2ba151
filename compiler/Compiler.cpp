//===- Compiler.cpp - the public C++ API of the compiler ------------------===//

#include "compiler/Compiler.h"

#include "compiler/Dumps.h"
#include "compiler/KernelCompilation.h"
#include "compiler/Pipeline.h"
#include "compiler/Tables.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>

using namespace mlir;
using namespace lumen;

namespace {

/// One compilation, step by step. Every step returns false after it reported an
/// error.
class Compilation {
public:
  Compilation(const CompileOptions &options, Diagnostics &diagnostics, CompileReport &report)
      : options(options), diagnostics(diagnostics), report(report), pool(llvm::hardware_concurrency(options.jobs)),
        context(MLIRContext::Threading::DISABLED) {
    // One pool for passes and code generation: `jobs` bounds all threads.
    if (pool.getMaxConcurrency() > 1)
      context.setThreadPool(pool);
    loadDialects(context);
  }

  bool run();

private:
  bool checkOptions();
  bool step(StringRef name, llvm::function_ref<bool()> body);
  bool import();
  bool runStage(const Stage &stage, unsigned number);
  bool generateCode(CodeForm form);
  bool link();
  bool writeText(StringRef path, llvm::function_ref<void(raw_ostream &)> write);
  bool error(const Twine &text) {
    diagnostics.error(text);
    return false;
  }

  const CompileOptions &options;
  Diagnostics &diagnostics;
  CompileReport &report;
  llvm::DefaultThreadPool pool;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Target> target;
  std::string name;
  KernelCode code;
  unsigned stepNumber = 0;
};

bool Compilation::checkOptions() {
  auto [targetName, levels] = StringRef(options.target).split(':');
  target = createTarget(targetName);
  if (!target)
    return error("unknown target '" + targetName + "', expected one of: " +
                 llvm::join(targetNames(), ", "));
  std::string levelError;
  if (!target->selectLevels(levels, levelError))
    return error(levelError);
  target->prepare(context);

  bool isKnownForm = llvm::is_contained({"so", "obj", "lib", "llvm", "asm"}, options.emit);
  if (!isKnownForm && !findStage(options.emit)) {
    std::string known = "so, obj, lib, llvm, asm";
    for (const Stage &stage : stages())
      known += ", " + stage.name.str();
    return error("unknown form '" + options.emit + "' for --emit, expected one of: " + known);
  }
  if (!options.stopAfter.empty() && !findStage(options.stopAfter)) {
    std::string known = llvm::join(
        llvm::map_range(stages(), [](const Stage &stage) { return stage.name.str(); }), ", ");
    return error("unknown stage '" + options.stopAfter + "', expected one of: " + known);
  }
  StringRef stem = options.name.empty() ? llvm::sys::path::stem(options.output) : StringRef(options.name);
  // The prefix of a static library belongs to the file, not to the model.
  if (options.name.empty() && options.emit == "lib")
    stem.consume_front("lib");
  if (stem.empty())
    stem = llvm::sys::path::stem(options.input);
  auto sanitized = link::sanitizeName(stem);
  if (!sanitized)
    return error(llvm::toString(sanitized.takeError()));
  name = *sanitized;
  return true;
}

bool Compilation::step(StringRef stepName, llvm::function_ref<bool()> body) {
  if (options.progress)
    options.progress(stepName, stepNumber, stages().size() + 2);
  ++stepNumber;
  auto start = std::chrono::steady_clock::now();
  bool ok = body();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.steps.push_back({stepName.str(), seconds.count()});
  return ok;
}

bool Compilation::import() {
  module = importOnnx(context, options.input, options.import, diagnostics);
  return module && !diagnostics.failed();
}

bool Compilation::runStage(const Stage &stage, unsigned number) {
  if (!stage.build) {
    if (!import())
      return false;
  } else {
    DiagnosticCapture capture(&context, diagnostics);
    PassManager pm(&context);
    stage.build(pm);
    if (failed(pm.run(*module))) {
      if (!diagnostics.failed())
        error("stage '" + stage.name + "' failed without a message; this is a fault of lumenc");
      return false;
    }
  }
  if (options.dumpStages.empty())
    return true;
  if (llvm::Error e = dumpStage(*module, options.dumpStages, number, stage.name))
    return error(llvm::toString(std::move(e)));
  return true;
}

bool Compilation::generateCode(CodeForm form) {
  DiagnosticCapture capture(&context, diagnostics);
  CodegenOptions codegenOptions;
  codegenOptions.optLevel = options.optLevel;
  auto compiled = compileKernels(*module, *target, codegenOptions, form, pool);
  if (failed(compiled)) {
    if (!diagnostics.failed())
      error("code generation failed without a message; this is a fault of lumenc");
    return false;
  }
  code = std::move(*compiled);
  return true;
}

bool Compilation::link() {
  link::ModelTables tables = buildTables(*module, name, *target, code);
  std::vector<SmallVector<char, 0>> storage;
  link::Weights weights = buildWeights(*module, storage);
  report.kernels = tables.kernels.size();
  report.launches = tables.launches.size();
  report.weightsBytes = weights.size;
  report.arenaBytes = tables.arenaSize;
  report.arenaLowerBound = tables.arenaLowerBound;
  report.bytesWithoutSharing = tables.bytesWithoutSharing;

  std::vector<llvm::MemoryBufferRef> objects;
  for (auto &object : code.objects)
    objects.push_back({StringRef(object.data(), object.size()), "kernels.o"});
  link::LinkOptions linkOptions;
  linkOptions.output = options.output;
  linkOptions.emit = options.emit == "obj"   ? link::Emit::Object
                     : options.emit == "lib" ? link::Emit::StaticLibrary
                                             : link::Emit::SharedObject;
  linkOptions.weightsInFile = options.weightsInFile;
  linkOptions.threads = options.jobs;
  if (llvm::Error e = link::linkModel(tables, objects, weights, linkOptions))
    return error(llvm::toString(std::move(e)));
  if (options.memoryReport.empty())
    return true;
  return writeText(options.memoryReport,
                   [&](raw_ostream &os) { writeMemoryReport(*module, tables, os); });
}

bool Compilation::writeText(StringRef path, llvm::function_ref<void(raw_ostream &)> write) {
  llvm::Error e = llvm::writeToOutput(path, [&](raw_ostream &os) {
    write(os);
    return llvm::Error::success();
  });
  if (e)
    return error("cannot write " + path + ": " + llvm::toString(std::move(e)));
  return true;
}

bool Compilation::run() {
  if (!checkOptions())
    return false;
  for (auto [number, stage] : llvm::enumerate(stages())) {
    if (!step(stage.name, [&, number = number, &stage = stage] { return runStage(stage, number); }))
      return false;
    if (stage.name == options.emit)
      return options.checkOnly ||
             writeText(options.output, [&](raw_ostream &os) { module->print(os); });
    if (stage.name == options.stopAfter)
      return true;
  }
  if (options.checkOnly)
    return true;
  if (options.emit == "llvm" || options.emit == "asm") {
    CodeForm form = options.emit == "llvm" ? CodeForm::LLVM : CodeForm::Assembly;
    return step("codegen", [&] { return generateCode(form); }) &&
           writeText(options.output, [&](raw_ostream &os) {
             for (auto &text : code.objects)
               os.write(text.data(), text.size());
           });
  }
  return step("codegen", [&] { return generateCode(CodeForm::Object); }) &&
         step("link", [&] { return link(); });
}

} // namespace

bool lumen::compile(const CompileOptions &options, Diagnostics &diagnostics, CompileReport &report) {
  return Compilation(options, diagnostics, report).run();
}
