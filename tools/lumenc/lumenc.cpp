//===- lumenc.cpp - the compiler driver -----------------------------------===//
//
// Exit codes: see Flags::exitCodes.
//
//===----------------------------------------------------------------------===//

#include "codegen/Target.h"
#include "compiler/Compiler.h"
#include "passes/onnx-to-lumen/OnnxToLumen.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using llvm::StringRef;

namespace {

constexpr int kUsage = 2;

bool usage(const llvm::Twine &text) {
  llvm::errs() << "lumenc: error: " << text << "\n";
  return false;
}

bool parseSize(StringRef text, int64_t &size) { return !text.getAsInteger(10, size) && size >= 0; }

/// What --help says about --target, from the targets themselves.
std::string describeTargets() {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "Devices and their levels: DEVICE[:LEVEL+LEVEL|:native], more after commas (default cpu);\n"
        "auto is all of them, sharing each run by what is faster where";
  for (StringRef name : lumen::targetNames()) {
    std::unique_ptr<lumen::Target> target = lumen::createTarget(name);
    os << "\nlevels of " << name << ": " << llvm::join(target->getLevelNames(), ", ")
       << " (default ";
    llvm::interleave(
        target->getLevels(), os, [&](const lumen::Level &level) { os << level.name; }, "+");
    os << ")";
  }
  return text;
}

/// The command line. An object rather than globals, made after LLVM's own
/// options (which share names with ours) were taken out of the parser.
struct Flags {
  cl::OptionCategory category{"lumenc"};

  cl::opt<std::string> input{cl::Positional, cl::desc("MODEL.onnx"), cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::desc("Artifact to write (default: the model's name with the form's suffix)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> optLevel{"O",
                                cl::desc("Optimisation level of the kernels, 0 to 3 (default 3)"),
                                cl::Prefix,
                                cl::init("3"),
                                cl::value_desc("level"),
                                cl::cat(category)};
  cl::opt<std::string> emit{
      "emit",
      cl::desc("What to write: so (default), obj, lib, llvm, asm, or a stage: onnx, lumen, graph, "
               "dispatch, memory"),
      cl::value_desc("form"), cl::init("so"), cl::cat(category)};
  std::string targets = describeTargets();
  cl::opt<std::string> target{"target", cl::desc(targets), cl::value_desc("target"),
                              cl::init("cpu"), cl::cat(category)};
  cl::list<std::string> shapes{"shape", cl::desc("Shape of an input: NAME=1x3x224x224"),
                               cl::value_desc("NAME=DIMS"), cl::cat(category)};
  cl::list<std::string> dims{
      "dim",
      cl::desc("Size of a symbolic dimension, batch=8, or the most that it will be, seq<=512"),
      cl::value_desc("SYMBOL=N"), cl::cat(category)};
  cl::opt<std::string> name{
      "name", cl::desc("Name of the model in symbols and the header (default: from the output)"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> weights{"weights", cl::desc("Where constants go: embed (default) or file"),
                               cl::value_desc("place"), cl::init("embed"), cl::cat(category)};
  cl::opt<std::string> memoryReport{"memory-report", cl::desc("Write the memory plan as JSON"),
                                    cl::value_desc("file"), cl::cat(category)};
  cl::list<std::string> reportDims{
      "report-dims", cl::desc("Sizes for which the memory plan is evaluated: batch=1,seq=128"),
      cl::value_desc("SYMBOL=N"), cl::CommaSeparated, cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas",
      cl::desc("NVIDIA's assembler: with target ptx, machine code beside the text, which\n"
               "drivers need not compile"),
      cl::value_desc("path"), cl::cat(category)};
  cl::opt<std::string> sanitize{
      "sanitize",
      cl::desc("Let kernels check every access to memory: address, for programs that bring\n"
               "the runtime of AddressSanitizer"),
      cl::value_desc("sanitizer"), cl::cat(category)};
  cl::opt<std::string> dumpStages{"dump-stages",
                                  cl::desc("Write the module after each stage into this folder"),
                                  cl::value_desc("folder"), cl::cat(category)};
  cl::opt<std::string> stopAfter{"stop-after", cl::desc("Stop after this stage"),
                                 cl::value_desc("stage"), cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("Say whether the model compiles; write nothing"),
                      cl::cat(category)};
  cl::opt<bool> operators{"operators", cl::desc("List the supported ONNX operators"),
                          cl::cat(category)};
  cl::opt<bool> timing{"timing", cl::desc("Print the time of each step"), cl::cat(category)};
  cl::opt<std::string> jobs{"j", cl::desc("Threads of the compiler (default: one per core)"),
                            cl::Prefix, cl::value_desc("n"), cl::cat(category)};
  cl::extrahelp exitCodes{
      "\nA text (--emit=llvm, asm or a stage; --memory-report) may go to standard output (-), to\n"
      "a character device or into a FIFO; an artifact needs a regular file. Links are followed.\n"
      "\nExit codes: 0 the artifact was written, or --check found nothing; 1 the model cannot be\n"
      "read or compiled, or an output cannot be written; 2 the command line is wrong\n"};
};

/// Says the first thing that LLVM's parser found wrong, in one line of our form.
void reportWrongLine(StringRef said) {
  llvm::SmallVector<StringRef> lines;
  said.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string text;
  for (StringRef line : lines) {
    line = line.split("  Try: ").first.split(": ").second.rtrim(".!");
    if (line.empty() || (!text.empty() && !line.starts_with("Did you mean")))
      break;
    text += text.empty() ? "" : "; ";
    text += llvm::toLower(line.front());
    text += line.drop_front();
  }
  usage(text);
}

/// An empty value is a script's unset variable, and never what was meant.
bool checkNoneEmpty(Flags &flags) {
  for (cl::opt<std::string> *flag :
       {&flags.output, &flags.emit, &flags.target, &flags.name, &flags.weights, &flags.memoryReport,
        &flags.ptxas, &flags.sanitize, &flags.dumpStages, &flags.stopAfter, &flags.jobs})
    if (flag->getNumOccurrences() && flag->empty())
      return usage((flag->ArgStr.size() == 1 ? "-" : "--") + flag->ArgStr +
                   ": expected a value, found an empty one");
  return true;
}

/// What should have been written for `text`, which is no shape: "4,8" meant 4x8.
std::string expectedShape(StringRef text) {
  std::string guess = text.str();
  llvm::replace(guess, ',', 'x');
  bool isShape = llvm::all_of(llvm::split(guess, 'x'), [](StringRef part) {
    int64_t size;
    return parseSize(part, size);
  });
  return isShape ? guess : "sizes as in 1x3x224x224";
}

bool parseShapes(const Flags &flags, lumen::ImportOptions &import) {
  for (StringRef text : flags.shapes) {
    auto [inputName, extents] = text.rsplit('=');
    if (inputName.empty() || inputName.size() == text.size())
      return usage("--shape " + text + ": expected NAME=1x3x224x224");
    auto [it, isNew] = import.shapes.try_emplace(inputName);
    if (!isNew)
      return usage("--shape " + text + ": input '" + inputName + "' is given twice");
    auto &shape = it->second;
    llvm::SmallVector<StringRef> parts;
    if (!extents.empty())
      extents.split(parts, 'x');
    for (StringRef part : parts)
      if (!parseSize(part, shape.emplace_back()))
        return usage("--shape " + text + ": '" + part + "' is not a size, expected " +
                     expectedShape(extents));
  }
  for (StringRef text : flags.dims) {
    auto [symbol, size] = text.rsplit('=');
    bool isBound = symbol.size() != text.size() && symbol.consume_back("<");
    if (symbol.empty() || symbol.size() == text.size())
      return usage("--dim " + text + ": expected SYMBOL=N or SYMBOL<=N");
    auto [it, isNew] = (isBound ? import.bounds : import.dims).try_emplace(symbol);
    if (!isNew)
      return usage("--dim " + text + ": '" + symbol + "' is given twice");
    if (!parseSize(size, it->second))
      return usage("--dim " + text + ": '" + size + "' is not a size");
  }
  return true;
}

bool parseReportDims(const Flags &flags, llvm::StringMap<int64_t> &dims) {
  for (StringRef text : flags.reportDims) {
    auto [symbol, size] = text.rsplit('=');
    auto [it, isNew] = dims.try_emplace(symbol);
    if (symbol.empty() || !parseSize(size, it->second))
      return usage("--report-dims " + text + ": expected SYMBOL=N");
    if (!isNew)
      return usage("--report-dims " + text + ": '" + symbol + "' is given twice");
  }
  return flags.reportDims.empty() || !flags.memoryReport.empty() ||
         usage("--report-dims: expected --memory-report as well");
}

void printOperators(llvm::raw_ostream &os) {
  for (const lumen::SupportedOperator &op : lumen::getSupportedOperators()) {
    std::string name = op.domain.empty() ? op.name.str() : (op.domain + "::" + op.name).str();
    std::string versions = (llvm::Twine(op.since) + " to " + llvm::Twine(op.until)).str();
    std::string words = op.types;
    if (!op.note.empty())
      words += (words.empty() ? "" : "; ") + op.note.str();
    os << llvm::left_justify(name, 28) << "  " << llvm::left_justify(versions, 8) << "  ";
    if (words.empty())
      os << op.lowering << '\n';
    else
      os << llvm::left_justify(op.lowering, 12) << "  " << words << '\n';
  }
}

/// The output's name when none was given, as compilers do: model.so here.
std::string defaultOutput(StringRef input, StringRef form) {
  StringRef suffix = llvm::StringSwitch<StringRef>(form)
                         .Case("so", ".so")
                         .Case("obj", ".o")
                         .Case("lib", ".a")
                         .Case("llvm", ".ll")
                         .Case("asm", ".s")
                         .Default(".mlir");
  return (llvm::sys::path::stem(input) + suffix).str();
}

/// One line that is redrawn on a terminal; nothing elsewhere.
class ProgressLine {
public:
  explicit ProgressLine(StringRef input) : input(input) {}
  ~ProgressLine() { clear(); }
  void show(StringRef step, unsigned number, unsigned total) {
    if (!isTerminal)
      return;
    std::string line = llvm::formatv("[{0}/{1}] {2}: {3} ", number + 1, total,
                                     llvm::sys::path::filename(input), step);
    // A line that wraps would not be redrawn, but repeated below itself.
    if (unsigned columns = llvm::sys::Process::StandardErrColumns())
      line.resize(std::min<size_t>(line.size(), columns - 1));
    llvm::errs() << "\r\x1b[K" << line;
    shown = true;
  }
  void clear() {
    if (shown)
      llvm::errs() << "\r\x1b[K";
    shown = false;
  }

private:
  std::string input;
  bool isTerminal = llvm::sys::Process::StandardErrIsDisplayed();
  bool shown = false;
};

void printTiming(const lumen::CompileReport &report) {
  double total = 0;
  for (auto &step : report.steps)
    total += step.seconds;
  for (auto &step : report.steps)
    llvm::errs() << llvm::format("%-10s %8.3f s %5.1f%%\n", step.name.c_str(), step.seconds,
                                 100 * step.seconds / std::max(total, 1e-9));
  llvm::errs() << llvm::format("%-10s %8.3f s\n", "total", total);
  // By the level, since all are compiled at once; one alone is the step itself.
  if (report.levels.size() > 1)
    for (auto &level : report.levels)
      llvm::errs() << llvm::format("%10.3f s of threads for %s\n", level.seconds,
                                   level.name.c_str());
}

} // namespace

int main(int argc, char **argv) {
  llvm::setBugReportMsg("lumenc crashed, which is a bug of Lumen: please report it with the model, "
                        "if you may share it, and what follows.\n");
  llvm::InitLLVM init(argc, argv);
  cl::ResetCommandLineParser();
  Flags flags;
  cl::HideUnrelatedOptions(flags.category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "lumenc " LUMEN_VERSION "\n"; });
  std::string wrong;
  llvm::raw_string_ostream wrongLine(wrong);
  if (!cl::ParseCommandLineOptions(argc, argv, "compiles an ONNX model to a native shared object\n",
                                   &wrongLine))
    return reportWrongLine(wrong), kUsage;
  if (flags.operators)
    return printOperators(llvm::outs()), 0;

  lumen::CompileOptions options;
  if (flags.input.empty())
    return usage("no model given; see lumenc --help"), kUsage;
  if (!checkNoneEmpty(flags))
    return kUsage;
  if (!llvm::is_contained({"0", "1", "2", "3"}, flags.optLevel))
    return usage("-O" + flags.optLevel + ": expected -O0, -O1, -O2 or -O3"), kUsage;
  if (flags.jobs.getNumOccurrences() && StringRef(flags.jobs).getAsInteger(10, options.jobs))
    return usage("-j" + flags.jobs + ": expected a number of threads"), kUsage;
  if (flags.weights != "embed" && flags.weights != "file")
    return usage("--weights=" + flags.weights + ": expected embed or file"), kUsage;
  if (!parseShapes(flags, options.import) || !parseReportDims(flags, options.import.reportDims))
    return kUsage;

  options.input = flags.input;
  options.emit = flags.emit;
  options.output = flags.output.empty() ? defaultOutput(flags.input, flags.emit) : flags.output;
  options.name = flags.name;
  options.target = flags.target;
  options.ptxas = flags.ptxas;
  options.optLevel = flags.optLevel[0] - '0';
  options.sanitize = flags.sanitize;
  options.weightsInFile = flags.weights == "file";
  options.checkOnly = flags.check;
  options.stopAfter = flags.stopAfter;
  options.memoryReport = flags.memoryReport;
  options.dumpStages = flags.dumpStages;
  if (std::string wrong = lumen::checkOptions(options); !wrong.empty())
    return usage(wrong), kUsage;
  ProgressLine progress(flags.input);
  options.progress = [&](StringRef step, unsigned number, unsigned total) {
    progress.show(step, number, total);
  };

  // The linker parses options of its own in this process and resets ours.
  bool timing = flags.timing;

  lumen::Diagnostics diagnostics(options.input);
  lumen::CompileReport report;
  bool ok = lumen::compile(options, diagnostics, report);
  progress.clear();
  diagnostics.print(llvm::errs());
  if (timing)
    printTiming(report);
  if (ok && options.checkOnly)
    llvm::outs() << options.input << ": compiles\n";
  return ok ? 0 : 1;
}
