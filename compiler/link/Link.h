//===- Link.h - objects, tables and weights to one artifact ------*- C++ -*-===//
//
// The last stage of the compiler: compiled kernels, the description of the
// model and its constants become `model.so` (or an object, or a static
// library) and `model.h`. Nothing of the host takes part: linker, runtime,
// compiler builtins and the interface of libc and libm are inside this library.
//
// The bytes of the outputs depend on the arguments alone, never on paths, time,
// host or thread count.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_COMPILER_LINK_LINK_H
#define LUMEN_COMPILER_LINK_LINK_H

#include "runtime-lite/include/lumen_abi.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lumen::link {

class OutputFiles;

//===----------------------------------------------------------------------===//
// The model's tables: the C++ mirror of lumen_abi.h, which documents each field.
// Sizes and offsets are bytes.
//===----------------------------------------------------------------------===//

struct Dim {
  int64_t extent = -1;
  int64_t bound = -1;
  std::string symbol;                  ///< Empty where there is none.
  uint32_t expr = LUMEN_ABI_NONE;      ///< Input: an entry symbol. Output: an expression.
  uint32_t boundExpr = LUMEN_ABI_NONE; ///< Input: what it must equal.
};

struct Value {
  std::string name;
  lumen_abi_kind kind = LUMEN_ABI_TENSOR;
  lumen_abi_dtype dtype = LUMEN_ABI_F32;
  bool optional = false;
  std::optional<std::vector<Dim>> dims; ///< None: any rank.
};

struct Level {
  std::string name;
  lumen_abi_target target = LUMEN_ABI_CPU;
  uint64_t features = 0;
};

struct Variant {
  uint32_t level = 0;
  std::string symbol;       ///< CPU: the function in one of the objects.
  std::vector<char> code;   ///< Other targets: the module's bytes.
  std::string gridFunction; ///< Empty: `grid` holds.
  std::string extentsFunction; ///< Empty: none.
  int64_t grid = 1;
  int64_t grain = 1;
  uint64_t scratchSize = 0;
  std::vector<char> launchInfo; ///< Target's own; may be empty.
};

struct Kernel {
  std::string name;
  uint32_t numArgs = 0;
  std::vector<Variant> variants;
};

struct Launch {
  uint32_t kernel = 0;
  lumen_abi_affinity affinity = LUMEN_ABI_ANY;
  uint32_t firstArg = 0;
  uint32_t firstSize = 0;
  uint32_t numSizes = 0;
  uint32_t numOutputs = 0;
  std::string nodes;
  uint64_t flops = 0;
  uint64_t bytes = 0;
  uint32_t flopsExpr = LUMEN_ABI_NONE;
  uint32_t bytesExpr = LUMEN_ABI_NONE;
};

/// What the model assumes of two expressions.
struct Check {
  lumen_abi_check_kind kind = LUMEN_ABI_CHECK_EQUAL;
  uint32_t a = 0, b = 0;
  std::string node; ///< "Reshape 'decoder/reshape'"
  std::string what; ///< "elements of the operand and of the new shape"
};

/// An operation that the runtime brings.
struct Call {
  std::string function; ///< Symbol of the runtime, "lumen_call_string_concat".
  std::string node;
  std::vector<char> data; ///< Attributes in the function's own form; may be empty.
  std::vector<lumen_abi_call_arg> inputs, outputs;
  uint32_t firstSize = 0, numSizes = 0;
};

struct ModelTables {
  std::string name;       ///< A C identifier; see `sanitizeName`.
  std::string producer;   ///< "lumenc 0.1.0"
  std::string sourceHash; ///< Hex digest of the ONNX file.
  std::vector<Value> inputs, outputs;
  std::vector<Level> levels;
  std::vector<Kernel> kernels;
  std::vector<lumen_abi_storage> storages;
  std::vector<lumen_abi_buffer> buffers;
  std::vector<uint32_t> argBuffers;
  std::vector<Launch> launches, inits;
  uint64_t initSize = 0;
  uint64_t arenaSize = 0;

  // Sizes that only the run knows; all empty where every shape is static.
  std::vector<std::string> symbols; ///< Names, entry symbols first; empty: none.
  uint32_t numEntrySymbols = 0;
  std::vector<lumen_abi_expr> exprs;
  uint32_t numEntryExprs = 0;
  std::vector<Check> checks;
  uint32_t numEntryChecks = 0;
  std::vector<uint32_t> sizeExprs;
  std::vector<lumen_abi_step> steps; ///< Empty: run `launches` in order.
  std::vector<Call> calls;

  uint32_t flags = 0; ///< LUMEN_ABI_ROUTE
  uint64_t arenaLowerBound = 0;
  uint64_t bytesWithoutSharing = 0;

  /// Symbols of the runtime, Target::getDriver(): the artifact brings them.
  std::vector<std::string> drivers;
  std::string guard; ///< Symbol of the runtime, "lumen_guard_asan"; empty: none.
};

/// The constants, as they lie in the WEIGHTS region. The bytes are read where
/// they are (a mapped file, mostly) and must live until `linkModel` returns.
struct Weights {
  struct Piece {
    uint64_t offset; ///< From the start of the region.
    llvm::ArrayRef<char> bytes;
    uint64_t count = 1; ///< How often `bytes` is repeated; a splat is never written out.
    uint64_t size() const { return bytes.size() * count; }
  };
  uint64_t size = 0;         ///< Of the region; 0 where there are no constants.
  std::vector<Piece> pieces; ///< Ascending, disjoint; gaps read as zero.
};

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

enum class Emit {
  SharedObject,
  /// One relocatable object with the runtime inside; every symbol but
  /// `lumen_module_<name>` is local, so models never clash in one program.
  Object,
  /// That object in a static library.
  StaticLibrary,
};

struct LinkOptions {
  std::string output; ///< Path of the artifact; the headers go beside it.
  Emit emit = Emit::SharedObject;
  /// Weights in `<name>.weights` beside the artifact instead of inside.
  bool weightsInFile = false;
  /// Keep symbols and debug information of the kernels, for profilers.
  bool keepSymbols = false;
  /// Write `<stem>.h` and, where it is missing or differs, `lumen.h`.
  bool writeHeaders = true;
  unsigned threads = 0; ///< Of the linker; 0: one per core.
};

/// Writes the artifact from `tables`, relocatable ELF `objects` that define the
/// kernels it names, and `weights`.
///
/// All files appear whole or not at all, the artifact last. Errors name the file
/// and the system's reason. Thread-safe; calls take turns inside the linker.
llvm::Error linkModel(const ModelTables &tables, llvm::ArrayRef<llvm::MemoryBufferRef> objects,
                      const Weights &weights, const LinkOptions &options);

/// The same among other outputs: the files are added to `outputs`, which has
/// claimed `options.output` and gives them their names when it is kept.
llvm::Error linkModel(const ModelTables &tables, llvm::ArrayRef<llvm::MemoryBufferRef> objects,
                      const Weights &weights, const LinkOptions &options, OutputFiles &outputs);

/// The C identifier nearest to `name`, such as `resnet50_v2_7` for
/// "resnet50-v2-7", and no name of lumen.h; an error where no letter or digit is left.
llvm::Expected<std::string> sanitizeName(llvm::StringRef name);

} // namespace lumen::link

#endif // LUMEN_COMPILER_LINK_LINK_H
