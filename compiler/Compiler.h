//===- Compiler.h - the public C++ API of the compiler -----------*- C++ -*-===//
//
// What `lumenc` does, as one call.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_COMPILER_COMPILER_H
#define LUMEN_COMPILER_COMPILER_H

#include "compiler/Diagnostics.h"
#include "compiler/import/Import.h"

#include <functional>
#include <string>
#include <vector>

namespace lumen {

struct CompileOptions {
  std::string input;  ///< path of the ONNX file
  std::string output; ///< path of the artifact; its header goes beside it
  std::string name;   ///< of the model; empty: the output's stem, else the input's
  /// so, obj, lib, llvm, asm, or the name of a stage (see Pipeline.h).
  std::string emit = "so";
  std::string target = "cpu"; ///< NAME[:LEVEL+LEVEL|:native], more after commas
  std::string ptxas; ///< path of NVIDIA's assembler, or empty: see Target::setAssembler
  ImportOptions import;
  int optLevel = 3;
  std::string sanitize; ///< "address" or empty; see CodegenOptions
  unsigned jobs = 0; ///< threads of the compiler; 0: one per core
  bool weightsInFile = false;
  bool checkOnly = false;   ///< all stages, but no code and no file
  std::string stopAfter;    ///< a stage; nothing after it runs
  std::string memoryReport; ///< path of a JSON file, or empty
  std::string dumpStages;   ///< a folder for one numbered dump per stage, or empty
  /// Called when a step begins: its name and what it is for, its number from 0, the number of
  /// steps.
  std::function<void(llvm::StringRef, unsigned, unsigned)> progress;
};

/// What a compilation cost and made.
struct CompileReport {
  struct Step {
    std::string name;
    double seconds;
  };
  std::vector<Step> steps;
  /// The levels that code was generated for, and what all threads together took for each:
  /// they are compiled at the same time, so the sum is no part of `steps`.
  std::vector<Step> levels;
  size_t kernels = 0;
  size_t launches = 0;
  uint64_t weightsBytes = 0;
  uint64_t arenaBytes = 0, arenaLowerBound = 0, bytesWithoutSharing = 0;
};

/// What is wrong with `options`, whatever the model is; empty if nothing. A tool
/// asks this first, to tell wrong usage from a model that does not compile.
std::string checkOptions(const CompileOptions &options);

/// Compiles a model. Returns false after an error; then `diagnostics` says what
/// was wrong and no output was written. Thread-safe.
bool compile(const CompileOptions &options, Diagnostics &diagnostics, CompileReport &report);

} // namespace lumen

#endif // LUMEN_COMPILER_COMPILER_H
