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
#include <cstring>
#include <functional>
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
      cl::desc("Value of an input: @FILE.npy, @FILE.pb, @FILE.json for strings, sequences and "
               "optionals, random[:SHAPE] (the default; floats in "
               "[-1, 1), integers in 0..7) or zeros[:SHAPE], where SHAPE is like 1x3x224x224"),
      cl::cat(category)};
  cl::list<std::string> dim{
      "dim", cl::value_desc("NAME=N"),
      cl::desc("Size of a symbol in the dimensions of random inputs, as --signature shows them, "
               "where no other input has it"),
      cl::cat(category)};
  cl::list<std::string> inputs{
      "inputs", cl::value_desc("DIR"),
      cl::desc(
          "Take inputs from DIR/NAME.npy, .pb or .json, or DIR/input_N.pb as in data sets of ONNX; "
          "'/' in NAME is '_'. An input without a file needs its --input. Given several times, "
          "there are as many runs, one after the other in one context"),
      cl::cat(category)};
  cl::list<std::string> carry{
      "carry", cl::value_desc("OUTPUT=INPUT"),
      cl::desc("From the second run on, take INPUT from OUTPUT of the run before, unless its "
               "folder has a file"),
      cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::value_desc("N"),
                         cl::desc("Where random inputs start (default 0)"), cl::init(0),
                         cl::cat(category)};
  cl::opt<std::string> saveOutputs{
      "save-outputs", cl::value_desc("DIR"),
      cl::desc("Write each output as DIR/NAME.npy, or .json where it is "
               "no tensor of numbers, of several runs "
               "as DIR/0/NAME.npy, DIR/1/NAME.npy, ..."),
      cl::cat(category)};
  cl::list<std::string> expect{
      "expect", cl::value_desc("NAME=@FILE"),
      cl::desc("What an output should be (.npy, .pb or .json), after the last run"),
      cl::cat(category)};
  cl::opt<double> rtol{"rtol", cl::desc("Relative tolerance of --expect (default 1e-3)"),
                       cl::init(1e-3), cl::cat(category)};
  cl::opt<double> atol{"atol", cl::desc("Absolute tolerance of --expect (default 1e-4)"),
                       cl::init(1e-4), cl::cat(category)};
  cl::opt<unsigned> bench{"bench", cl::value_desc("N"),
                          cl::desc("Time N runs on the last inputs after some to warm up: median, "
                                   "min and p90"),
                          cl::init(0), cl::cat(category)};
  cl::opt<unsigned> threads{"threads", cl::value_desc("N"),
                            cl::desc("Threads to run on (default: LUMEN_NUM_THREADS, else what "
                                     "affinity and cgroup leave)"),
                            cl::init(0), cl::cat(category)};
  cl::opt<std::string> device{"device", cl::value_desc("KIND|NAME"),
                              cl::desc("Device to run on, such as vulkan, vulkan:1, or a part of "
                                       "its name; auto is the best one (default: LUMEN_DEVICE, "
                                       "else auto)"),
                              cl::cat(category)};
  cl::opt<cl::boolOrDefault> route{
      "route", cl::ValueOptional,
      cl::desc("Let the device share each run with the CPU, launch by launch, by what is faster "
               "where; =false: it runs all that it can (default: LUMEN_ROUTE, else for files of "
               "--target=auto where no device is named)"),
      cl::cat(category)};
  cl::opt<lumen_workload> workload{
      "workload", cl::desc("What runs are for, which decides where they are the best"),
      cl::values(clEnumValN(LUMEN_GENERAL, "general", "something between (default)"),
                 clEnumValN(LUMEN_LATENCY, "latency", "one run at a time"),
                 clEnumValN(LUMEN_THROUGHPUT, "throughput", "many contexts at once")),
      cl::init(LUMEN_GENERAL), cl::cat(category)};
  cl::opt<bool> profile{"profile",
                        cl::desc("Time of each kernel per run of --bench (default 10) with its "
                                 "ONNX nodes, how often it is launched, its shortest launch, "
                                 "and how much work it does in that time (- where none is "
                                 "counted)"),
                        cl::cat(category)};
  cl::opt<bool> memory{"memory", cl::desc("What each run needs of memory, and the context holds"),
                       cl::cat(category)};
  cl::opt<bool> signature{"signature", cl::desc("Print inputs, outputs and what the model needs"),
                          cl::cat(category)};
  cl::opt<bool> devices{"devices", cl::desc("Print the devices that could run it"),
                        cl::cat(category)};
  cl::opt<bool> benchmarkDevices{
      "benchmark-devices",
      cl::desc("Measure the devices that could run it, and keep that: the best one for a model is "
               "chosen by it from then on"),
      cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print one JSON object"), cl::cat(category)};
  cl::extrahelp jsonFiles{
      "\nA .json file has a tensor as {\"type\": \"string\", \"dims\": [2], \"data\": [\"a\", "
      "\"b\"]},\na sequence as an array of tensors, an optional as null or what it holds\n"};
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
  for (const cl::list<std::string> &option : {std::cref(options.inputs), std::cref(options.carry)})
    if (is_contained(option, ""))
      return usageError("--" + option.ArgStr + ": expected a value, found an empty one");
  if (!options.carry.empty() && options.inputs.size() < 2)
    return usageError("--carry: expected several runs, each with its --inputs");
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
    modelOptions.workload = options.workload;
    if (options.route != cl::BOU_UNSET)
      modelOptions.flags = options.route == cl::BOU_TRUE ? LUMEN_ROUTE : LUMEN_NO_ROUTE;
    return lumen_model_open(library.module, &modelOptions, &model, &status) == LUMEN_OK;
  }
};

TensorView viewOf(const lumen_value &value, uint32_t dtype) {
  const lumen_tensor &tensor = value.u.tensor;
  return {static_cast<lumen_dtype>(dtype),
          ArrayRef<int64_t>(tensor.shape, static_cast<size_t>(std::max(tensor.ndim, 0))),
          tensor.data};
}

class Runner {
public:
  Runner(const Options &options, Session &session, json::Object &report)
      : options(options), session(session), report(report) {
    inputInfos = lumen_inputs(session.library.module, &numInputs);
    outputInfos = lumen_outputs(session.library.module, &numOutputs);
    outputs.resize(numOutputs);
    carried.resize(numInputs);
  }

  int run() {
    if (Error error = readCarry())
      return fail(std::move(error));
    // What is expected is read first: a wrong name should not cost a run.
    std::vector<std::optional<Value>> expected(numOutputs);
    if (int code = readExpected(expected))
      return code;
    if (lumen_context_create(session.model, nullptr, &session.context, &session.status))
      return fail(session.status.message);
    if (int code = options.inputs.empty() ? runOn("", options.saveOutputs) : runEach())
      return code;
    int result = compareOutputs(expected);
    if (options.bench || options.profile)
      if (int code = measure())
        return code;
    return result;
  }

private:
  Error readCarry() {
    std::vector<bool> isGiven(numInputs);
    for (const std::string &option : options.carry) {
      StringRef rest;
      Expected<uint32_t> output = splitName(option, outputInfos, numOutputs, "output", rest);
      if (!output)
        return output.takeError();
      Expected<uint32_t> input = findName(rest, inputInfos, numInputs, "input");
      if (!input)
        return input.takeError();
      if (isGiven[*input])
        return usageError("--carry " + option + ": input '" + rest + "' is given twice");
      isGiven[*input] = true;
      carry.push_back({*output, *input});
    }
    return Error::success();
  }

  int runEach() {
    json::Array runs;
    size_t count = options.inputs.size();
    for (size_t i = 0; i < count; ++i) {
      const std::string &folder = options.inputs[i];
      SmallString<256> saved(options.saveOutputs.getValue());
      if (count > 1 && !saved.empty())
        sys::path::append(saved, Twine(i));
      if (count > 1 && !options.json)
        outs() << (i ? "\n" : "") << "run " << i << ", inputs of " << folder << '\n';
      if (int code = runOn(folder, saved.str()))
        return code;
      if (count > 1) {
        json::Object run{{"inputs", folder}, {"ms", milliseconds}};
        for (StringRef part : {"outputs", "memory"})
          if (json::Value *value = report.get(part)) {
            run[part] = std::move(*value);
            report.erase(part);
          }
        runs.push_back(std::move(run));
      }
    }
    if (count > 1)
      report["runs"] = std::move(runs);
    return Done;
  }

  // One run on a folder's inputs, reported, and saved where `saved` is not empty.
  int runOn(StringRef folder, StringRef saved) {
    std::vector<std::string> arguments(options.input.begin(), options.input.end());
    Expected<StringMap<int64_t>> dims =
        readDims(std::vector<std::string>(options.dim.begin(), options.dim.end()));
    if (!dims)
      return fail(dims.takeError());
    Expected<std::vector<Value>> made = makeInputs({arguments, folder, carried, std::move(*dims)},
                                                   inputInfos, numInputs, options.seed);
    if (!made)
      return fail(made.takeError());
    values = std::move(*made);
    inputs.clear();
    for (Value &value : values)
      inputs.push_back(value.view());
    if (timeOnce())
      return fail(folder.empty() ? Twine(session.status.message)
                                 : folder + ": " + session.status.message);
    reportRun();
    // The next run overwrites what the context owns.
    for (auto [output, input] : carry)
      carried[input] = copyOf(outputs[output], outputInfos[output].dtype);
    return save(saved);
  }

  int runOnce() {
    return lumen_run(session.context, inputs.data(), static_cast<uint32_t>(inputs.size()),
                     outputs.data(), numOutputs, &session.status);
  }

  int timeOnce() {
    auto begin = std::chrono::steady_clock::now();
    int code = runOnce();
    std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    milliseconds = spent.count();
    return code;
  }

  int readExpected(std::vector<std::optional<Value>> &expected) {
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
      Expected<Value> value = readValue(rest, outputInfos[*index]);
      if (!value)
        return fail(value.takeError());
      expected[*index] = std::move(*value);
    }
    return Done;
  }

  void reportRun() {
    json::Array array;
    for (uint32_t i = 0; i < numOutputs; ++i) {
      auto show = [&](const auto &value) {
        if (options.json)
          array.push_back(outputJson(outputInfos[i].name, value));
        else
          printOutput(outs(), outputInfos[i].name, value);
      };
      // Tensors may be large: they are looked at where they are.
      if (isNumbers(outputInfos[i]))
        show(viewOf(outputs[i], outputInfos[i].dtype));
      else
        show(copyOf(outputs[i], outputInfos[i].dtype));
    }
    report["outputs"] = std::move(array);
    if (!options.memory)
      return;
    lumen_context_memory_info info;
    lumen_context_memory(session.context, &info);
    if (options.json)
      report["memory"] = memoryJson(info);
    else
      printMemory(outs(), info);
  }

  int save(StringRef folder) {
    if (folder.empty())
      return Done;
    if (std::error_code error = sys::fs::create_directories(folder))
      return fail(folder + ": cannot be created: " + error.message());
    for (uint32_t i = 0; i < numOutputs; ++i) {
      SmallString<256> path(folder);
      bool isNpy = isNumbers(outputInfos[i]);
      sys::path::append(path, fileStem(outputInfos[i].name) + (isNpy ? ".npy" : ".json"));
      if (Error error = isNpy ? writeNpy(path, viewOf(outputs[i], outputInfos[i].dtype))
                              : writeJson(path, outputs[i], outputInfos[i].dtype))
        return fail(std::move(error));
    }
    return Done;
  }

  int compareOutputs(const std::vector<std::optional<Value>> &expected) {
    json::Array array;
    int result = Done;
    for (uint32_t i = 0; i < numOutputs; ++i) {
      if (!expected[i])
        continue;
      uint32_t dtype = outputInfos[i].dtype;
      Comparison comparison =
          isNumbers(outputInfos[i])
              ? compare(viewOf(outputs[i], dtype), *expected[i], options.rtol, options.atol)
              : compareValues(copyOf(outputs[i], dtype), *expected[i], options.rtol, options.atol);
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
      if (timeOnce())
        return fail(session.status.message);
      result.milliseconds.push_back(milliseconds);
    }
    if (options.json)
      report["bench"] = benchJson(result);
    else
      printBench(outs(), result);
    if (!options.profile)
      return Done;
    uint32_t count;
    const lumen_profile_entry *entries = lumen_profile_entries(session.context, &count);
    if (options.json) {
      report["profile"] = profileJson(ArrayRef(entries, count), runs);
      report["split"] = splitJson(session.model, ArrayRef(entries, count), runs);
    } else {
      printProfile(outs(), session.model, ArrayRef(entries, count), runs);
    }
    return Done;
  }

  const Options &options;
  Session &session;
  json::Object &report;
  const lumen_value_info *inputInfos, *outputInfos;
  uint32_t numInputs = 0, numOutputs = 0;
  std::vector<std::pair<uint32_t, uint32_t>> carry; // output and input
  std::vector<std::optional<Value>> carried;        // by input
  std::vector<Value> values;                        // what `inputs` are views of
  std::vector<lumen_value> inputs, outputs;
  double milliseconds = 0; // of the last timed run
};

std::vector<lumen_device_info> devicesOf(const Session &session) {
  std::vector<lumen_device_info> infos(lumen_devices(session.library.module, nullptr, 0));
  lumen_devices(session.library.module, infos.data(), static_cast<uint32_t>(infos.size()));
  return infos;
}

int benchmarkDevices(const Options &options, Session &session, json::Object &report) {
  std::vector<MeasuredDevice> measured;
  for (const lumen_device_info &info : devicesOf(session)) {
    if (!*info.name)
      continue;
    std::string device = deviceId(info);
    lumen_device_rates rates;
    if (lumen_benchmark(session.library.module, device.c_str(), &rates, &session.status))
      return fail(session.status.message);
    measured.push_back({device, info.name, rates});
  }
  if (options.json)
    report["benchmark"] = measuredJson(measured);
  else
    printMeasured(outs(), measured);
  return Done;
}

// What is asked for without a run.
int describe(const Options &options, Session &session, json::Object &report) {
  if (options.benchmarkDevices)
    if (int code = benchmarkDevices(options, session, report))
      return code;
  if (options.devices) {
    std::vector<lumen_device_info> infos = devicesOf(session);
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
  return Done;
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
  if (options.devices || options.benchmarkDevices || options.signature) {
    code = describe(options, session, report);
  } else {
    if (!session.openModel(options))
      return fail(session.status.message);
    code = Runner(options, session, report).run();
  }
  if (options.json && code != Failure && code != Usage)
    outs() << formatv("{0:2}", json::Value(std::move(report))) << '\n';
  return code;
}
