// lumen-run: runs a model that lumenc has compiled.
//
// Exit codes: see Options::exitCodes.
#include "Compare.h"
#include "Inputs.h"
#include "Npy.h"
#include "Report.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <cmath>
#include <optional>

using namespace llvm;
using namespace lumen::run;

namespace {

enum ExitCode { Done = 0, Failure = 1, Usage = 2, Mismatch = 3 };

// LLVM's libraries register options of their own in every program (one is called
// --threads too): they are no business of this tool's users.
void dropForeignOptions() {
  SmallVector<cl::Option *> foreign;
  for (auto &entry : cl::getRegisteredOptions())
    if (entry.first != "help" && entry.first != "h" && entry.first != "version")
      foreign.push_back(entry.second);
  for (cl::Option *option : foreign)
    option->removeArgument();
}

struct Options {
  cl::OptionCategory category{"lumen-run options"};
  cl::opt<std::string> model{cl::Positional, cl::desc("model.so"), cl::Required, cl::cat(category)};
  cl::list<std::string> input{
      "input", cl::value_desc("NAME=VALUE"),
      cl::desc("Value of an input: @FILE.npy, @FILE.pb, random[:SHAPE] (the default; floats in "
               "[-1, 1), integers in 0..7) or zeros[:SHAPE], where SHAPE is like 1x3x224x224"),
      cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::value_desc("N"),
                         cl::desc("Where random inputs start (default 0)"), cl::init(0),
                         cl::cat(category)};
  cl::opt<std::string> saveOutputs{"save-outputs", cl::value_desc("DIR"),
                                   cl::desc("Write each output as DIR/NAME.npy"),
                                   cl::cat(category)};
  cl::list<std::string> expect{"expect", cl::value_desc("NAME=@FILE"),
                               cl::desc("What an output should be (.npy or .pb)"),
                               cl::cat(category)};
  cl::opt<double> rtol{"rtol", cl::desc("Relative tolerance of --expect (default 1e-3)"),
                       cl::init(1e-3), cl::cat(category)};
  cl::opt<double> atol{"atol", cl::desc("Absolute tolerance of --expect (default 1e-4)"),
                       cl::init(1e-4), cl::cat(category)};
  cl::opt<unsigned> bench{"bench", cl::value_desc("N"),
                          cl::desc("Time N runs after some to warm up: median, min and p90"),
                          cl::init(0), cl::cat(category)};
  cl::opt<unsigned> threads{"threads", cl::value_desc("N"),
                            cl::desc("Threads to run on (default: LUMEN_NUM_THREADS, else what "
                                     "affinity and cgroup leave)"),
                            cl::init(0), cl::cat(category)};
  cl::opt<std::string> device{"device", cl::value_desc("KIND|NAME"),
                              cl::desc("Device to run on (default: LUMEN_DEVICE, else the best)"),
                              cl::cat(category)};
  cl::opt<bool> profile{"profile",
                        cl::desc("Time per kernel with its ONNX nodes, mean over the runs of "
                                 "--bench (default 10)"),
                        cl::cat(category)};
  cl::opt<bool> signature{"signature", cl::desc("Print inputs, outputs and what the model needs"),
                          cl::cat(category)};
  cl::opt<bool> devices{"devices", cl::desc("Print the devices that could run it"),
                        cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print one JSON object"), cl::cat(category)};
  cl::extrahelp exitCodes{
      "\nExit codes: 0 done; 1 a file cannot be read or written, or the model failed; 2 the\n"
      "command line is wrong; 3 an output is not as expected\n"};
};

int fail(const Twine &message, int code = Failure) {
  errs() << "lumen-run: error: " << message << '\n';
  return code;
}

int fail(Error error) {
  int code = error.isA<UsageError>() ? Usage : Failure;
  return fail(toString(std::move(error)), code);
}

// What is wrong with the options by themselves.
Error checkOptions(const Options &options) {
  // An empty value is a script's unset variable, and never what was meant.
  for (const cl::opt<std::string> *option : {&options.saveOutputs, &options.device})
    if (option->getNumOccurrences() && option->getValue().empty())
      return usageError("--" + option->ArgStr + ": expected a value, found an empty one");
  // With a tolerance of NaN or infinity everything would be as expected.
  for (const cl::opt<double> *option : {&options.rtol, &options.atol})
    if (!std::isfinite(option->getValue()) || option->getValue() < 0)
      return usageError("--" + option->ArgStr + ": expected a finite number of at least 0, found " +
                        formatv("{0}", option->getValue()).str());
  return Error::success();
}

// Frees in the right order whatever way main ends.
struct Session {
  lumen_library library = {};
  lumen_model *model = nullptr;
  lumen_context *context = nullptr;
  lumen_status status = {};

  ~Session() {
    lumen_context_free(context);
    lumen_model_free(model);
    lumen_library_close(&library);
  }

  bool openModel(const Options &options) {
    lumen_model_options modelOptions = {};
    modelOptions.device = options.device.c_str();
    modelOptions.num_threads = options.threads;
    return lumen_model_open(library.module, &modelOptions, &model, &status) == LUMEN_OK;
  }
};

TensorView viewOf(const lumen_value &value, uint32_t dtype) {
  const lumen_tensor &tensor = value.u.tensor;
  return {static_cast<lumen_dtype>(dtype),
          ArrayRef<int64_t>(tensor.shape, static_cast<size_t>(std::max(tensor.ndim, 0))),
          tensor.data};
}

// A name of ONNX may have slashes; a file's may not.
std::string fileName(StringRef name) {
  std::string result = name.str();
  for (char &c : result)
    if (c == '/' || c == '\0')
      c = '_';
  return result + ".npy";
}

class Runner {
public:
  Runner(const Options &options, Session &session, json::Object &report)
      : options(options), session(session), report(report) {
    outputInfos = lumen_outputs(session.library.module, &numOutputs);
    outputs.resize(numOutputs);
  }

  int run() {
    uint32_t numInputs;
    const lumen_value_info *infos = lumen_inputs(session.library.module, &numInputs);
    Expected<std::vector<Tensor>> tensors =
        makeInputs(std::vector<std::string>(options.input.begin(), options.input.end()), infos,
                   numInputs, options.seed);
    if (!tensors)
      return fail(tensors.takeError());
    for (const Tensor &tensor : *tensors)
      inputs.push_back(lumen_tensor_value(tensor.bytes.data(), tensor.dtype,
                                          static_cast<int32_t>(tensor.shape.size()),
                                          tensor.shape.data()));
    // What is expected is read first: a wrong name should not cost a run.
    std::vector<std::optional<Tensor>> expected(numOutputs);
    if (int code = readExpected(expected))
      return code;
    if (lumen_context_create(session.model, nullptr, &session.context, &session.status) ||
        runOnce())
      return fail(session.status.message);
    reportOutputs();
    if (int code = save())
      return code;
    int result = compareOutputs(expected);
    if (options.bench || options.profile)
      if (int code = measure())
        return code;
    return result;
  }

private:
  int runOnce() {
    return lumen_run(session.context, inputs.data(), static_cast<uint32_t>(inputs.size()),
                     outputs.data(), numOutputs, &session.status);
  }

  int readExpected(std::vector<std::optional<Tensor>> &expected) {
    for (const std::string &option : options.expect) {
      StringRef rest;
      Expected<uint32_t> index = splitName(option, outputInfos, numOutputs, "output", rest);
      if (!index)
        return fail(index.takeError());
      if (!rest.consume_front("@"))
        return fail(usageError("--expect " + option + ": expected NAME=@FILE"));
      if (expected[*index])
        return fail(usageError("--expect " + option + ": output '" + outputInfos[*index].name +
                               "' is given twice"));
      Expected<Tensor> tensor = readTensor(rest);
      if (!tensor)
        return fail(tensor.takeError());
      expected[*index] = std::move(*tensor);
    }
    return Done;
  }

  void reportOutputs() {
    json::Array array;
    for (uint32_t i = 0; i < numOutputs; ++i) {
      TensorView view = viewOf(outputs[i], outputInfos[i].dtype);
      if (options.json)
        array.push_back(outputJson(outputInfos[i].name, view));
      else
        printOutput(outs(), outputInfos[i].name, view);
    }
    report["outputs"] = std::move(array);
  }

  int save() {
    if (options.saveOutputs.empty())
      return Done;
    if (std::error_code error = sys::fs::create_directories(options.saveOutputs))
      return fail(options.saveOutputs + ": cannot be created: " + error.message());
    for (uint32_t i = 0; i < numOutputs; ++i) {
      SmallString<256> path(options.saveOutputs.getValue());
      sys::path::append(path, fileName(outputInfos[i].name));
      if (Error error = writeNpy(path, viewOf(outputs[i], outputInfos[i].dtype)))
        return fail(std::move(error));
    }
    return Done;
  }

  int compareOutputs(const std::vector<std::optional<Tensor>> &expected) {
    json::Array array;
    int result = Done;
    for (uint32_t i = 0; i < numOutputs; ++i) {
      if (!expected[i])
        continue;
      Comparison comparison = compare(viewOf(outputs[i], outputInfos[i].dtype), *expected[i],
                                      options.rtol, options.atol);
      if (!comparison.matches())
        result = Mismatch;
      if (options.json)
        array.push_back(comparisonJson(outputInfos[i].name, comparison));
      else
        printComparison(outs(), outputInfos[i].name, comparison);
    }
    if (!array.empty())
      report["expect"] = std::move(array);
    return result;
  }

  int measure() {
    unsigned runs = options.bench ? options.bench : 10;
    // Caches, pages and clocks settle in the first runs.
    for (unsigned i = 0, count = std::clamp(runs / 10, 1u, 20u); i < count; ++i)
      if (runOnce())
        return fail(session.status.message);
    if (options.profile && lumen_profile_enable(session.context, &session.status))
      return fail(session.status.message);
    BenchResult result;
    for (unsigned i = 0; i < runs; ++i) {
      auto begin = std::chrono::steady_clock::now();
      if (runOnce())
        return fail(session.status.message);
      std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
      result.milliseconds.push_back(spent.count());
    }
    if (options.json)
      report["bench"] = benchJson(result);
    else
      printBench(outs(), result);
    if (!options.profile)
      return Done;
    uint32_t count;
    const lumen_profile_entry *entries = lumen_profile_entries(session.context, &count);
    if (options.json)
      report["profile"] = profileJson(ArrayRef(entries, count));
    else
      printProfile(outs(), ArrayRef(entries, count));
    return Done;
  }

  const Options &options;
  Session &session;
  json::Object &report;
  const lumen_value_info *outputInfos;
  uint32_t numOutputs = 0;
  std::vector<lumen_value> inputs, outputs;
};

// What is asked for without a run.
void describe(const Options &options, Session &session, json::Object &report) {
  if (options.devices) {
    std::vector<lumen_device_info> infos(lumen_devices(session.library.module, nullptr, 0));
    lumen_devices(session.library.module, infos.data(), static_cast<uint32_t>(infos.size()));
    if (options.json)
      report["devices"] = devicesJson(infos);
    else
      printDevices(outs(), infos);
  }
  if (options.signature) {
    // Inputs and outputs are known even where no device can run the model.
    bool opened = session.openModel(options);
    if (options.json)
      report["signature"] = signatureJson(session.library.module, session.model);
    else
      printSignature(outs(), session.library.module, session.model);
    if (!opened)
      errs() << "lumen-run: warning: " << session.status.message << '\n';
  }
}

} // namespace

int main(int argc, char **argv) {
  dropForeignOptions();
  Options options;
  cl::SetVersionPrinter([](raw_ostream &out) { out << "lumen-run " LUMEN_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(argc, argv, "runs a model that lumenc has compiled\n", &errs()))
    return Usage;
  if (Error error = checkOptions(options))
    return fail(std::move(error));

  Session session;
  if (lumen_library_open(options.model.c_str(), &session.library, &session.status))
    return fail(session.status.message);
  json::Object report;
  int code = Done;
  if (options.devices || options.signature) {
    describe(options, session, report);
  } else {
    if (!session.openModel(options))
      return fail(session.status.message);
    code = Runner(options, session, report).run();
  }
  if (options.json && code != Failure && code != Usage)
    outs() << formatv("{0:2}", json::Value(std::move(report))) << '\n';
  return code;
}
