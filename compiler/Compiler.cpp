//===- Compiler.cpp - the public C++ API of the compiler ------------------===//

#include "compiler/Compiler.h"

#include "compiler/Dumps.h"
#include "compiler/KernelCompilation.h"
#include "compiler/Pipeline.h"
#include "compiler/Tables.h"
#include "compiler/link/Files.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>

using namespace mlir;
using namespace lumen;

/// Code for every target, and a schedule that devices share with the host.
static bool isAuto(const CompileOptions &options) { return options.target == "auto"; }

/// Makes the targets that the options name; returns what is wrong with them.
static std::string selectTargets(const CompileOptions &options, Targets &targets) {
  targets.clear();
  std::string all = llvm::join(targetNames(), ",");
  for (StringRef text : llvm::split(isAuto(options) ? all : options.target, ',')) {
    StringRef name = text.split(':').first, levels = text.split(':').second;
    if (name == "auto")
      return "target 'auto' is all there are, so it stands alone; found '" + options.target + "'";
    std::unique_ptr<Target> target = createTarget(name);
    if (!target)
      return ("unknown target '" + name + "', expected one of: " + llvm::join(targetNames(), ", ") +
              ", or auto for all")
          .str();
    if (levels.empty() && text.contains(':'))
      return ("target '" + text + "' has no level after ':'").str();
    if (llvm::any_of(targets, [&](auto &other) { return other->getName() == name; }))
      return ("target '" + name + "' is named twice in '" + options.target + "'").str();
    std::string error;
    if (!target->selectLevels(levels, error))
      return error;
    targets.push_back(std::move(target));
  }
  bool takesAssembler = false;
  for (auto &target : targets)
    takesAssembler |= !options.ptxas.empty() && target->setAssembler(options.ptxas);
  if (!options.ptxas.empty() && !takesAssembler)
    return "--ptxas: no target takes it, expected --target=cpu,ptx";
  if (takesAssembler && !llvm::sys::fs::can_execute(options.ptxas))
    return "--ptxas: '" + options.ptxas + "' cannot be run";
  if (llvm::none_of(targets, [](auto &target) { return target->isHost(); }))
    return "target '" + options.target +
           "' has no code for the host, which runs what a device cannot: expected 'cpu," +
           options.target + "'";
  return "";
}

/// The forms that are one text, as opposed to an artifact with its headers.
static bool isText(StringRef emit) { return emit == "llvm" || emit == "asm" || findStage(emit); }

/// The first name of the model that has a letter or digit: the output's, the
/// input's, or one that fits any.
static std::string modelName(const CompileOptions &options) {
  StringRef output = llvm::sys::path::stem(options.output);
  // The prefix of a static library belongs to the file, not to the model.
  if (options.emit == "lib")
    output.consume_front("lib");
  if (!options.name.empty())
    output = options.name;
  for (StringRef name : {output, llvm::sys::path::stem(options.input)}) {
    llvm::Expected<std::string> sanitized = link::sanitizeName(name);
    if (sanitized)
      return *sanitized;
    llvm::consumeError(sanitized.takeError());
  }
  return "model";
}

namespace {

/// One compilation, step by step. Every step returns false after it reported an
/// error.
class Compilation {
public:
  Compilation(const CompileOptions &options, Diagnostics &diagnostics, CompileReport &report)
      : options(options), diagnostics(diagnostics), report(report),
        pool(llvm::hardware_concurrency(options.jobs)), context(MLIRContext::Threading::DISABLED) {
    // One pool for passes and code generation: `jobs` bounds all threads.
    if (pool.getMaxConcurrency() > 1)
      context.setThreadPool(pool);
    loadDialects(context);
    // Users have the model, not its operations.
    context.printOpOnDiagnostic(false);
  }

  bool run();

private:
  bool runStages();
  bool prepare();
  bool claimOutputs();
  /// `subject`: what progress tells behind the name.
  bool step(StringRef name, llvm::function_ref<bool()> body, const Twine &subject = "");
  bool import();
  bool runStage(const Stage &stage, unsigned number);
  bool generateCode(CodeForm form);
  void reportMissing(const LevelCode &level);
  bool link();
  bool writeText(StringRef path, llvm::function_ref<void(raw_ostream &)> write);
  bool error(const Twine &text) {
    diagnostics.error(text);
    return false;
  }
  bool check(llvm::Error e) { return !e || error(llvm::toString(std::move(e))); }

  const CompileOptions &options;
  Diagnostics &diagnostics;
  CompileReport &report;
  llvm::DefaultThreadPool pool;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Targets targets;
  std::string name;
  KernelCode code;
  link::OutputFiles outputs;
  unsigned stepNumber = 0;
};

bool Compilation::prepare() {
  if (std::string wrong = checkOptions(options); !wrong.empty())
    return error(wrong);
  selectTargets(options, targets);
  for (const std::unique_ptr<Target> &target : targets)
    target->prepare(context);
  name = modelName(options);
  return check(outputs.protect(options.input, "the model")) && claimOutputs();
}

bool Compilation::claimOutputs() {
  if (options.checkOnly || (!options.stopAfter.empty() && !findStage(options.emit)))
    return true; // nothing is written
  if (isText(options.emit))
    return check(outputs.claimText(options.output));
  return check(outputs.claim(options.output)) &&
         (options.memoryReport.empty() || check(outputs.claimText(options.memoryReport)));
}

bool Compilation::step(StringRef stepName, llvm::function_ref<bool()> body, const Twine &subject) {
  if (options.progress)
    options.progress((stepName + subject).str(), stepNumber, stages().size() + 2);
  ++stepNumber;
  auto start = std::chrono::steady_clock::now();
  bool ok = body();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.steps.push_back({stepName.str(), seconds.count()});
  return ok;
}

bool Compilation::import() {
  module = importOnnx(context, options.input, options.import, diagnostics);
  if (!module || diagnostics.failed())
    return false;
  // External data is known now.
  const BlobTable &blobs = context.getLoadedDialect<LumenDialect>()->getBlobs();
  for (uint64_t id = 0; id < blobs.size(); ++id)
    if (StringRef path = blobs.path(id); !path.empty())
      if (!check(outputs.protect(path, "data of the model")))
        return false;
  return true;
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
  return check(dumpStage(*module, options.dumpStages, number, stage.name, outputs));
}

bool Compilation::generateCode(CodeForm form) {
  DiagnosticCapture capture(&context, diagnostics);
  CodegenOptions codegenOptions;
  codegenOptions.optLevel = options.optLevel;
  codegenOptions.sanitizeAddress = !options.sanitize.empty();
  auto compiled = compileKernels(*module, targets, codegenOptions, form, pool);
  if (failed(compiled)) {
    if (!diagnostics.failed())
      error("code generation failed without a message; this is a fault of lumenc");
    return false;
  }
  code = std::move(*compiled);
  for (const LevelCode &level : code.levels) {
    report.levels.push_back({level.level->name, level.seconds});
    reportMissing(level);
  }
  return true;
}

/// Says which kernels a device leaves to the host.
void Compilation::reportMissing(const LevelCode &level) {
  std::vector<std::string> missing;
  auto kernels = llvm::to_vector(module->getOps<dispatch::KernelOp>());
  for (auto [kernel, binary] : llvm::zip(kernels, level.binaries))
    if (!binary.missing.empty())
      missing.push_back((kernel.getSymName() + " (" + binary.missing + ")").str());
  if (!missing.empty())
    diagnostics.report(Diagnostics::Severity::Note,
                       level.level->name + ": " + Twine(missing.size()) + " of " +
                           Twine(kernels.size()) +
                           " kernels run on the host: " + llvm::join(missing, ", "));
}

bool Compilation::link() {
  DiagnosticCapture capture(&context, diagnostics);
  FailureOr<link::ModelTables> described = buildTables(*module, name, code);
  if (failed(described))
    return false;
  link::ModelTables &tables = *described;
  tables.flags = isAuto(options) ? LUMEN_ABI_ROUTE : 0;
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
  // For the sanitizer to name the kernel.
  linkOptions.keepSymbols = !options.sanitize.empty();
  linkOptions.threads = options.jobs;
  auto writeReport = [&](raw_ostream &os) {
    writeMemoryReport(*module, tables, options.import.reportDims, os);
  };
  return (options.memoryReport.empty() || writeText(options.memoryReport, writeReport)) &&
         check(link::linkModel(tables, objects, weights, linkOptions, outputs));
}

bool Compilation::writeText(StringRef path, llvm::function_ref<void(raw_ostream &)> write) {
  return check(outputs.addText(path, write));
}

bool Compilation::runStages() {
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
  auto generate = [&](CodeForm form) {
    auto names = llvm::map_range(targets, [](const auto &target) { return target->getName(); });
    return step("codegen", [&] { return generateCode(form); }, " for " + llvm::join(names, ", "));
  };
  if (isText(options.emit)) {
    CodeForm form = options.emit == "llvm" ? CodeForm::LLVM : CodeForm::Assembly;
    return generate(form) && writeText(options.output, [&](raw_ostream &os) {
             for (auto &text : code.objects)
               os.write(text.data(), text.size());
           });
  }
  return generate(CodeForm::Object) && step("link", [&] { return link(); });
}

bool Compilation::run() { return prepare() && runStages() && check(outputs.keep()); }

} // namespace

std::string lumen::checkOptions(const CompileOptions &options) {
  Targets targets;
  if (std::string wrong = selectTargets(options, targets); !wrong.empty())
    return wrong;
  auto stageNames = [] {
    return llvm::join(
        llvm::map_range(stages(), [](const Stage &stage) { return stage.name.str(); }), ", ");
  };
  bool isArtifact = llvm::is_contained({"so", "obj", "lib"}, options.emit);
  bool isLinked = isArtifact && !options.checkOnly && options.stopAfter.empty();
  if (!isArtifact && !isText(options.emit))
    return "unknown form '" + options.emit +
           "' for --emit, expected one of: so, obj, lib, llvm, asm, " + stageNames();
  if (isArtifact && options.output == "-")
    return "standard output takes texts only, not --emit=" + options.emit;
  if (!options.sanitize.empty() && options.sanitize != "address")
    return "unknown sanitizer '" + options.sanitize + "' for --sanitize, expected address";
  if (!options.stopAfter.empty() && !findStage(options.stopAfter))
    return "unknown stage '" + options.stopAfter +
           "' for --stop-after, expected one of: " + stageNames();
  if (!options.memoryReport.empty() && !isLinked)
    return "--memory-report: expected an artifact to be made, but " +
           (!isArtifact         ? "--emit is " + options.emit
            : options.checkOnly ? std::string("--check makes none")
                                : "--stop-after=" + options.stopAfter + " makes none");
  if (!options.name.empty())
    if (llvm::Error error = link::sanitizeName(options.name).takeError())
      return llvm::toString(std::move(error));
  return "";
}

bool lumen::compile(const CompileOptions &options, Diagnostics &diagnostics,
                    CompileReport &report) {
  return Compilation(options, diagnostics, report).run();
}
