// What lumen-run prints: the same facts as text for people and as JSON.
#ifndef LUMEN_RUN_REPORT_H
#define LUMEN_RUN_REPORT_H

#include "Compare.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace lumen::run {

// Times of the runs of --bench in milliseconds.
struct BenchResult {
  std::vector<double> milliseconds;

  double quantile(double fraction) const;
};

// Columns as wide as their widest cell, numbers to the right.
class Table {
public:
  explicit Table(std::vector<std::string> header) { rows.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print(llvm::raw_ostream &out) const;

private:
  std::vector<std::vector<std::string>> rows;
};

// `model` may be null where it could not be opened.
llvm::json::Object signatureJson(const lumen_module *module, const lumen_model *model);
void printSignature(llvm::raw_ostream &out, const lumen_module *module, const lumen_model *model);

llvm::json::Array devicesJson(llvm::ArrayRef<lumen_device_info> devices);
void printDevices(llvm::raw_ostream &out, llvm::ArrayRef<lumen_device_info> devices);

// "vulkan:0", as options take it.
std::string deviceId(const lumen_device_info &device);

struct MeasuredDevice {
  std::string id, name;
  lumen_device_rates rates;
};
llvm::json::Array measuredJson(llvm::ArrayRef<MeasuredDevice> devices);
void printMeasured(llvm::raw_ostream &out, llvm::ArrayRef<MeasuredDevice> devices);

// Shape and range of an output.
llvm::json::Object outputJson(llvm::StringRef name, TensorView tensor);
void printOutput(llvm::raw_ostream &out, llvm::StringRef name, TensorView tensor);
// The same of one that is no tensor of numbers: how large it is, and how strings begin.
llvm::json::Object outputJson(llvm::StringRef name, const Value &value);
void printOutput(llvm::raw_ostream &out, llvm::StringRef name, const Value &value);

// What a context holds after a run.
llvm::json::Object memoryJson(const lumen_context_memory_info &memory);
void printMemory(llvm::raw_ostream &out, const lumen_context_memory_info &memory);

llvm::json::Object comparisonJson(llvm::StringRef name, const Comparison &comparison);
void printComparison(llvm::raw_ostream &out, llvm::StringRef name, const Comparison &comparison);

llvm::json::Object benchJson(const BenchResult &bench);
void printBench(llvm::raw_ostream &out, const BenchResult &bench);

// Of so many runs. A launch in a loop or a branch has a share of them of its own.
llvm::json::Array profileJson(llvm::ArrayRef<lumen_profile_entry> entries, unsigned runs);
// What the CPU did, and what the device did that the model is on.
llvm::json::Array splitJson(const lumen_model *model, llvm::ArrayRef<lumen_profile_entry> entries,
                            unsigned runs);
void printProfile(llvm::raw_ostream &out, const lumen_model *model,
                  llvm::ArrayRef<lumen_profile_entry> entries, unsigned runs);

} // namespace lumen::run

#endif
