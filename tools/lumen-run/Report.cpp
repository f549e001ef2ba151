#include "Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace llvm;

namespace lumen::run {

namespace {

std::string fixed(double value, int digits) {
  std::string text;
  raw_string_ostream(text) << format("%.*f", digits, value);
  return text;
}

std::string shortest(double value) {
  std::string text;
  raw_string_ostream(text) << format("%.6g", value);
  return text;
}

std::string bytesText(uint64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  if (bytes < 1024 * 1024)
    return fixed(bytes / 1024.0, 1) + " KiB";
  return fixed(bytes / (1024.0 * 1024.0), 1) + " MiB";
}

// "1x3x224x224", or "[batch, 3 * seq + 1]" where dimensions are open.
std::string dimsText(const lumen_value_info &info) {
  if (info.rank < 0)
    return "any rank";
  if (info.rank == 0)
    return "scalar";
  bool isOpen = false;
  llvm::SmallVector<std::string> sizes;
  for (const lumen_dim &dim : llvm::ArrayRef(info.dims, info.rank)) {
    sizes.push_back(dim.extent >= 0 ? std::to_string(dim.extent) : dim.symbol ? dim.symbol : "?");
    if (dim.extent < 0 && dim.bound >= 0)
      sizes.back() += "<=" + std::to_string(dim.bound);
    isOpen |= dim.extent < 0;
  }
  return isOpen ? "[" + llvm::join(sizes, ", ") + "]" : llvm::join(sizes, "x");
}

std::string typeText(const lumen_value_info &info) {
  std::string type = dtypeName(info.dtype).str();
  if (info.kind == LUMEN_SEQUENCE)
    type = "sequence of " + type;
  if (info.kind == LUMEN_OPTIONAL)
    type = "optional " + type;
  return type;
}

json::Array valuesJson(const lumen_value_info *values, uint32_t count) {
  json::Array result;
  for (uint32_t i = 0; i < count; ++i) {
    json::Array dims;
    for (int32_t d = 0; d < values[i].rank; ++d) {
      const lumen_dim &dim = values[i].dims[d];
      if (dim.extent >= 0)
        dims.push_back(dim.extent);
      else
        dims.push_back(dim.symbol ? json::Value(dim.symbol) : json::Value(nullptr));
    }
    result.push_back(json::Object{{"name", values[i].name},
                                  {"type", typeText(values[i])},
                                  {"dims", std::move(dims)},
                                  {"optional", values[i].optional != 0}});
  }
  return result;
}

void printValues(raw_ostream &out, const char *title, const lumen_value_info *values,
                 uint32_t count) {
  Table table({title, "type", "shape"});
  for (uint32_t i = 0; i < count; ++i)
    table.add({values[i].name, typeText(values[i]), dimsText(values[i])});
  table.print(out);
}

// Range and mean of the finite elements.
struct Statistics {
  double min = INFINITY, max = -INFINITY, mean = 0;
  int64_t finite = 0, notFinite = 0;

  explicit Statistics(TensorView tensor) {
    int64_t count = tensor.numElements() * (isComplex(tensor.dtype) ? 2 : 1);
    for (int64_t i = 0; i < count; ++i) {
      auto value = static_cast<double>(getElement(tensor.dtype, tensor.data, i));
      if (!std::isfinite(value)) {
        ++notFinite;
        continue;
      }
      ++finite;
      min = std::min(min, value);
      max = std::max(max, value);
      mean += value;
    }
    mean = finite ? mean / finite : 0;
  }
};

// "240.7"; "-" for a rate of work that is not known.
std::string rateText(double rate) { return rate > 0 ? fixed(rate, 1) : "-"; }

json::Value rateJson(double rate) { return rate > 0 ? json::Value(rate) : json::Value(nullptr); }

// The first of many strings, as JSON writes them, and not too much of each.
std::vector<std::string> firstStrings(const Value &value) {
  std::vector<std::string> texts;
  for (StringRef text : ArrayRef(value.strings).take_front(4))
    texts.push_back(json::fixUTF8(text.size() > 60 ? (text.take_front(60) + "...").str() : text));
  return texts;
}

double ratio(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

uint64_t totalTime(ArrayRef<lumen_profile_entry> entries) {
  uint64_t total = 0;
  for (const lumen_profile_entry &entry : entries)
    total += entry.total_ns;
  return total;
}

} // namespace

double BenchResult::quantile(double fraction) const {
  std::vector<double> sorted = milliseconds;
  std::sort(sorted.begin(), sorted.end());
  double at = fraction * (sorted.size() - 1);
  auto low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

void Table::print(raw_ostream &out) const {
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  auto isNumber = [](StringRef cell) {
    double value;
    return cell == "-" || !cell.rtrim('%').getAsDouble(value);
  };
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      // A column of numbers is one whose first row below the header is one.
      bool right = rows.size() > 1 && i < rows[1].size() && isNumber(rows[1][i]);
      std::string padding(widths[i] - row[i].size(), ' ');
      line += (i ? "  " : "") + (right ? padding + row[i] : row[i] + padding);
    }
    out << StringRef(line).rtrim() << '\n';
  }
}

json::Object signatureJson(const lumen_module *module, const lumen_model *model) {
  uint32_t numInputs, numOutputs;
  const lumen_value_info *inputs = lumen_inputs(module, &numInputs);
  const lumen_value_info *outputs = lumen_outputs(module, &numOutputs);
  json::Object result{{"inputs", valuesJson(inputs, numInputs)},
                      {"outputs", valuesJson(outputs, numOutputs)}};
  if (!model)
    return result;
  lumen_model_info info;
  lumen_model_get_info(model, &info);
  json::Array levels;
  lumen_level_info level;
  for (uint32_t i = 0; lumen_level(model, i, &level) == LUMEN_OK; ++i)
    levels.push_back(json::Object{{"name", level.name},
                                  {"kind", level.kind},
                                  {"available", level.available != 0},
                                  {"kernels", level.num_kernels},
                                  {"compiled", level.num_compiled},
                                  {"code_bytes", level.code_size}});
  result["name"] = info.name;
  result["producer"] = info.producer;
  result["source_hash"] = info.source_hash;
  result["device"] = info.device;
  result["level"] = info.level;
  result["levels"] = std::move(levels);
  result["kernels"] = info.num_kernels;
  result["launches"] = info.num_launches;
  result["threads"] = info.num_workers;
  result["arena_bytes"] = info.arena_size;
  result["arena_lower_bound_bytes"] = info.arena_lower_bound;
  result["bytes_without_sharing"] = info.bytes_without_sharing;
  result["scratch_bytes_per_thread"] = info.scratch_size;
  result["weights_bytes"] = info.weights_size;
  result["init_bytes"] = info.init_size;
  return result;
}

// Whether some dimension of an input is open.
static bool isDynamic(const lumen_module *module) {
  uint32_t count;
  const lumen_value_info *inputs = lumen_inputs(module, &count);
  for (uint32_t i = 0; i < count; ++i)
    for (int32_t d = 0; d < inputs[i].rank; ++d)
      if (inputs[i].dims[d].extent < 0)
        return true;
  return false;
}

// Whether the file has code for several kinds of devices.
static bool hasSeveralKinds(const lumen_model *model) {
  lumen_level_info first, level;
  for (uint32_t i = 0; lumen_level(model, i, &level) == LUMEN_OK; ++i) {
    if (i == 0)
      first = level;
    if (StringRef(first.kind) != level.kind)
      return true;
  }
  return false;
}

// What it has for each of them.
static void printCode(raw_ostream &out, const lumen_model *model) {
  if (!hasSeveralKinds(model))
    return;
  std::string text;
  StringRef kind;
  lumen_level_info level;
  for (uint32_t i = 0; lumen_level(model, i, &level) == LUMEN_OK; ++i) {
    bool isNew = i == 0 || kind != level.kind;
    text +=
        isNew ? (i ? "; " : "") + std::string(*level.kind ? level.kind : "no driver") + ": " : ", ";
    text += std::to_string(level.num_compiled) + " for " + level.name;
    if (level.code_size)
      text += " in " + bytesText(level.code_size);
    if (!level.available)
      text += " (not available here)";
    kind = level.kind;
  }
  out << "code     " << text << '\n';
}

void printSignature(raw_ostream &out, const lumen_module *module, const lumen_model *model) {
  if (model) {
    lumen_model_info info;
    lumen_model_get_info(model, &info);
    out << info.name << ", made by " << info.producer << " from " << info.source_hash << '\n';
    out << "device   " << info.device << ", " << info.num_workers
        << (info.num_workers == 1 ? " thread\n" : " threads\n");
    out << "kernels  " << info.num_kernels << " in " << info.num_launches << " launches";
    lumen_level_info level;
    // Of several kinds those in use: the next line has all of them.
    bool isShort = hasSeveralKinds(model);
    for (uint32_t i = 0; lumen_level(model, i, &level) == LUMEN_OK; ++i)
      if (level.num_kernels || !isShort)
        out << ", " << level.num_kernels << " for " << level.name
            << (level.available ? "" : " (not available here)");
    out << '\n';
    printCode(out, model);
    out << "memory   arena ";
    if (info.arena_size == 0 && isDynamic(module))
      out << "as the sizes of the inputs want it (--memory)";
    else
      out << bytesText(info.arena_size) << " (lower bound " << bytesText(info.arena_lower_bound)
          << ", without sharing " << bytesText(info.bytes_without_sharing) << ')';
    out << ", scratch " << bytesText(info.scratch_size) << " per thread, weights "
        << bytesText(info.weights_size) << '\n';
  }
  uint32_t count;
  const lumen_value_info *inputs = lumen_inputs(module, &count);
  printValues(out, "input", inputs, count);
  const lumen_value_info *outputs = lumen_outputs(module, &count);
  printValues(out, "output", outputs, count);
}

json::Array devicesJson(ArrayRef<lumen_device_info> devices) {
  json::Array result;
  for (const lumen_device_info &device : devices)
    // JSON values refer to char arrays, which do not live as long here.
    result.push_back(json::Object{{"kind", std::string(device.kind)},
                                  {"index", device.index},
                                  {"name", std::string(device.name)},
                                  {"memory_total_bytes", device.memory_total},
                                  {"memory_available_bytes", device.memory_available},
                                  {"score", device.score},
                                  {"reason", std::string(device.reason)}});
  return result;
}

void printDevices(raw_ostream &out, ArrayRef<lumen_device_info> devices) {
  Table table({"device", "name", "memory", "used", "available", "score", "reason"});
  for (const lumen_device_info &device : devices)
    if (!*device.name)
      table.add({device.kind, "none", "", "", "", "", device.reason});
    else
      table.add({deviceId(device), device.name, bytesText(device.memory_total),
                 bytesText(device.memory_total - device.memory_available),
                 bytesText(device.memory_available), fixed(device.score, 3), device.reason});
  table.print(out);
}

std::string deviceId(const lumen_device_info &device) {
  return (device.kind + Twine(':') + Twine(device.index)).str();
}

json::Array measuredJson(ArrayRef<MeasuredDevice> devices) {
  json::Array result;
  for (const MeasuredDevice &device : devices)
    result.push_back(json::Object{{"device", device.id},
                                  {"name", device.name},
                                  {"gflops", device.rates.gflops},
                                  {"gbytes_per_s", device.rates.gbytes},
                                  {"launch_us", device.rates.launch_us},
                                  {"run_us", device.rates.run_us},
                                  {"copy_gbytes_per_s", device.rates.copy_gbytes}});
  return result;
}

void printMeasured(raw_ostream &out, ArrayRef<MeasuredDevice> devices) {
  Table table({"device", "name", "GFLOP/s", "GB/s", "us/launch", "us/run", "copies, GB/s"});
  for (const MeasuredDevice &device : devices)
    table.add({device.id, device.name, fixed(device.rates.gflops, 1), fixed(device.rates.gbytes, 1),
               fixed(device.rates.launch_us, 3), fixed(device.rates.run_us, 3),
               rateText(device.rates.copy_gbytes)});
  table.print(out);
}

json::Object outputJson(StringRef name, TensorView tensor) {
  Statistics statistics(tensor);
  json::Object result{{"name", name},
                      {"type", dtypeName(tensor.dtype)},
                      {"dims", json::Array(tensor.shape)},
                      {"not_finite", statistics.notFinite}};
  if (statistics.finite) {
    result["min"] = statistics.min;
    result["max"] = statistics.max;
    result["mean"] = statistics.mean;
  }
  return result;
}

void printOutput(raw_ostream &out, StringRef name, TensorView tensor) {
  Statistics statistics(tensor);
  out << "output '" << name << "': " << dtypeName(tensor.dtype) << "[" << formatShape(tensor.shape)
      << "]";
  if (statistics.finite)
    out << ", from " << shortest(statistics.min) << " to " << shortest(statistics.max) << ", mean "
        << shortest(statistics.mean);
  if (statistics.notFinite)
    out << ", " << statistics.notFinite << " not finite";
  out << '\n';
}

json::Object outputJson(StringRef name, const Value &value) {
  json::Object result{{"name", name}, {"type", describe(value)}};
  if (value.kind == LUMEN_STRINGS) {
    result["type"] = dtypeName(value.dtype);
    result["dims"] = json::Array(value.shape);
    result["first"] = json::Array(firstStrings(value));
  }
  return result;
}

void printOutput(raw_ostream &out, StringRef name, const Value &value) {
  out << "output '" << name << "': " << describe(value);
  for (auto [i, text] : enumerate(firstStrings(value)))
    out << (i ? ", " : ": ") << quoted(text);
  if (value.strings.size() > 4)
    out << ", ...";
  out << '\n';
}

json::Object memoryJson(const lumen_context_memory_info &memory) {
  return json::Object{{"arena_bytes", memory.arena_size},
                      {"arena_lower_bound_bytes", memory.arena_lower_bound},
                      {"arena_capacity_bytes", memory.arena_capacity},
                      {"heap_high_water_bytes", memory.heap_high_water},
                      {"heap_capacity_bytes", memory.heap_capacity},
                      {"output_capacity_bytes", memory.output_capacity},
                      {"scratch_bytes", memory.scratch_size},
                      {"plans", memory.num_plans}};
}

void printMemory(raw_ostream &out, const lumen_context_memory_info &memory) {
  out << "memory: arena " << bytesText(memory.arena_size) << " (lower bound "
      << bytesText(memory.arena_lower_bound) << ", held " << bytesText(memory.arena_capacity)
      << "), heap at most " << bytesText(memory.heap_high_water) << " (held "
      << bytesText(memory.heap_capacity) << "), outputs " << bytesText(memory.output_capacity)
      << ", scratch " << bytesText(memory.scratch_size) << ", " << memory.num_plans
      << (memory.num_plans == 1 ? " plan\n" : " plans\n");
}

json::Object comparisonJson(StringRef name, const Comparison &comparison) {
  json::Object result{{"name", name}, {"matches", comparison.matches()}};
  if (!comparison.item.empty())
    result["item"] = comparison.item;
  if (!comparison.mismatch.empty()) {
    result["mismatch"] = comparison.mismatch;
    return result;
  }
  result["elements"] = comparison.numElements;
  result["wrong"] = comparison.numWrong;
  if (!comparison.isMeasured)
    return result;
  result["max_abs_error"] = numberJson(comparison.maxAbsError);
  result["max_rel_error"] = numberJson(comparison.maxRelError);
  result["worst_index"] = json::Array(comparison.worstIndex);
  result["worst_actual"] = numberJson(comparison.worstActual);
  result["worst_expected"] = numberJson(comparison.worstExpected);
  return result;
}

void printComparison(raw_ostream &out, StringRef name, const Comparison &comparison) {
  out << "output '" << name << "': ";
  if (!comparison.item.empty())
    out << comparison.item << ": ";
  if (!comparison.mismatch.empty()) {
    out << comparison.mismatch << '\n';
    return;
  }
  if (comparison.matches())
    out << "as expected";
  else
    out << comparison.numWrong << " of " << comparison.numElements << " elements are wrong";
  if (!comparison.isMeasured) {
    out << '\n';
    return;
  }
  out << ", max abs error " << shortest(comparison.maxAbsError) << ", max rel error "
      << shortest(comparison.maxRelError);
  if (comparison.numElements)
    out << ", worst at " << comparison.worstPlace() << ": " << shortest(comparison.worstActual)
        << ", expected " << shortest(comparison.worstExpected);
  out << '\n';
}

json::Object benchJson(const BenchResult &bench) {
  return json::Object{{"runs", static_cast<int64_t>(bench.milliseconds.size())},
                      {"median_ms", bench.quantile(0.5)},
                      {"min_ms", bench.quantile(0)},
                      {"p90_ms", bench.quantile(0.9)}};
}

void printBench(raw_ostream &out, const BenchResult &bench) {
  // Microseconds count in small models.
  int digits = bench.quantile(0.5) < 1 ? 5 : 3;
  out << bench.milliseconds.size() << " runs: median " << fixed(bench.quantile(0.5), digits)
      << " ms, min " << fixed(bench.quantile(0), digits) << " ms, p90 "
      << fixed(bench.quantile(0.9), digits) << " ms\n";
}

namespace {

// What one side did of all that is profiled.
struct Side {
  std::string name;
  double launches = 0, milliseconds = 0;
  uint64_t copied = 0; // bytes that were brought there
  double copying = 0;  // milliseconds
};

// Copies are the last two entries where there are any: to the device, and from there.
bool isCopy(const lumen_profile_entry &entry) { return entry.kernel == StringRef("copy"); }

// The CPU's side, and that of the device that the model is on.
std::array<Side, 2> sidesOf(const lumen_model *model, ArrayRef<lumen_profile_entry> entries) {
  lumen_model_info info;
  lumen_model_get_info(model, &info);
  std::array<Side, 2> sides;
  sides[0].name = "CPU";
  sides[1].name = info.device;
  bool isTo = true;
  for (const lumen_profile_entry &entry : entries) {
    if (isCopy(entry)) {
      sides[isTo].copied = entry.total_bytes;
      sides[isTo].copying = entry.total_ns * 1e-6;
      isTo = false;
      continue;
    }
    double onHost = ratio(entry.host_count, entry.count);
    sides[0].launches += entry.host_count;
    sides[0].milliseconds += onHost * entry.total_ns * 1e-6;
    sides[1].launches += entry.count - entry.host_count;
    sides[1].milliseconds += (1 - onHost) * entry.total_ns * 1e-6;
  }
  return sides;
}

} // namespace

json::Array splitJson(const lumen_model *model, ArrayRef<lumen_profile_entry> entries,
                      unsigned runs) {
  json::Array result;
  for (const Side &side : sidesOf(model, entries))
    result.push_back(json::Object{{"on", side.name},
                                  {"launches_per_run", ratio(side.launches, runs)},
                                  {"ms_per_run", ratio(side.milliseconds, runs)},
                                  {"copied_bytes_per_run", ratio(side.copied, runs)},
                                  {"copy_ms_per_run", ratio(side.copying, runs)}});
  return result;
}

static void printSplit(raw_ostream &out, const lumen_model *model,
                       ArrayRef<lumen_profile_entry> entries, unsigned runs) {
  Table table({"on", "launches", "ms", "copied there", "ms"});
  for (const Side &side : sidesOf(model, entries))
    table.add({side.name, shortest(ratio(side.launches, runs)),
               fixed(ratio(side.milliseconds, runs), 5), bytesText(side.copied / runs),
               fixed(ratio(side.copying, runs), 5)});
  table.print(out);
}

json::Array profileJson(ArrayRef<lumen_profile_entry> entries, unsigned runs) {
  json::Array result;
  for (const lumen_profile_entry &entry : entries)
    result.push_back(
        json::Object{{"kernel", entry.kernel},
                     {"nodes", entry.nodes},
                     {"level", entry.level},
                     {"count", entry.count},
                     {"host_count", entry.host_count},
                     {"ms_per_run", ratio(entry.total_ns, runs) * 1e-6},
                     {"mean_ms", ratio(entry.total_ns, entry.count) * 1e-6},
                     {"min_ms", (entry.count ? entry.min_ns : 0) * 1e-6},
                     {"gflops", rateJson(ratio(entry.total_flops, entry.total_ns))},
                     {"gbytes_per_s", rateJson(ratio(entry.total_bytes, entry.total_ns))}});
  return result;
}

void printProfile(raw_ostream &out, const lumen_model *model, ArrayRef<lumen_profile_entry> entries,
                  unsigned runs) {
  auto total = static_cast<double>(totalTime(entries));
  bool mayDiffer = hasSeveralKinds(model);
  std::vector<std::string> header = {"ms",   "share", "launches", "min",  "GFLOP/s",
                                     "GB/s", "level", "kernel",   "nodes"};
  if (mayDiffer)
    header.insert(header.begin() + 3, "on CPU");
  Table table(header);
  for (const lumen_profile_entry &entry : entries) {
    if (isCopy(entry) && !entry.count)
      continue;
    std::vector<std::string> row = {fixed(ratio(entry.total_ns, runs) * 1e-6, 5),
                                    fixed(100 * ratio(entry.total_ns, total), 1) + "%",
                                    shortest(ratio(entry.count, runs)),
                                    fixed((entry.count ? entry.min_ns : 0) * 1e-6, 5),
                                    rateText(ratio(entry.total_flops, entry.total_ns)),
                                    rateText(ratio(entry.total_bytes, entry.total_ns)),
                                    entry.level,
                                    entry.kernel,
                                    entry.nodes};
    if (mayDiffer)
      row.insert(row.begin() + 3, shortest(ratio(entry.host_count, runs)));
    table.add(std::move(row));
  }
  std::vector<std::string> sum = {fixed(ratio(total, runs) * 1e-6, 5), "100.0%"};
  sum.resize(header.size());
  sum[header.size() - 2] = "all";
  table.add(std::move(sum));
  table.print(out);
  if (any_of(entries, isCopy))
    printSplit(out, model, entries, runs);
}

} // namespace lumen::run
