// The values that --input asks for.
#ifndef LUMEN_RUN_INPUTS_H
#define LUMEN_RUN_INPUTS_H

#include "Values.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace lumen::run {

// The command line is wrong, as opposed to a file or a model.
class UsageError : public llvm::ErrorInfo<UsageError, llvm::StringError> {
public:
  static char ID;
  explicit UsageError(const llvm::Twine &message)
      : ErrorInfo(message, llvm::inconvertibleErrorCode()) {}
};

inline llvm::Error usageError(const llvm::Twine &message) {
  return llvm::make_error<UsageError>(message);
}

// Numbers of a fixed sequence, the same on every machine: floats in [-1, 1),
// integers in 0..7 (as far as their type reaches), booleans.
Tensor randomTensor(lumen_dtype dtype, llvm::ArrayRef<int64_t> shape, uint64_t seed);

// Reads a file of either kind by its name's end: .npy, or .pb; another end is a
// UsageError.
llvm::Expected<Tensor> readTensor(llvm::StringRef path);

// Reads a file for an input or output of any kind: .npy, .pb or .json.
llvm::Expected<Value> readValue(llvm::StringRef path, const lumen_value_info &info);

// Splits "NAME=REST" by the longest of the names that fits, which may have '='
// in them. The UsageError lists them. Returns the position of the name.
llvm::Expected<uint32_t> splitName(llvm::StringRef argument, const lumen_value_info *values,
                                   uint32_t count, const char *what, llvm::StringRef &rest);

// Position of the input or output of that name; the UsageError lists them.
llvm::Expected<uint32_t> findName(llvm::StringRef name, const lumen_value_info *values,
                                  uint32_t count, const char *what);

// The name of the file, without its end, that holds a value: names of ONNX may
// have slashes.
std::string fileStem(llvm::StringRef name);

// Where the inputs of a run come from.
struct InputSources {
  llvm::ArrayRef<std::string> arguments; // of --input
  llvm::StringRef folder;                // of --inputs, or empty
  // By position, outputs of the run before; may be empty. What is used is moved from.
  llvm::MutableArrayRef<std::optional<Value>> carried;
  // Of --dim: the sizes of symbols, or of dimensions by the text that the signature shows.
  llvm::StringMap<int64_t> dims = {};
};

// Reads "NAME=N"; NAME may have '=' in it. Fails with a UsageError.
llvm::Expected<llvm::StringMap<int64_t>> readDims(llvm::ArrayRef<std::string> arguments);

// One value per input of the model: from the folder's file for it, else carried,
// else what the argument that names it says, else random; with a folder nothing is random
// but what an argument asks for. Sizes that no one gives follow from the shapes of the
// other values. Fails with a UsageError, or because of a file.
llvm::Expected<std::vector<Value>> makeInputs(InputSources sources, const lumen_value_info *inputs,
                                              uint32_t count, uint64_t seed);

} // namespace lumen::run

#endif
