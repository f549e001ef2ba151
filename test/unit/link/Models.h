//===- Models.h - tiny models for the tests of linking -----------*- C++ -*-===//
#ifndef LUMEN_TEST_UNIT_LINK_MODELS_H
#define LUMEN_TEST_UNIT_LINK_MODELS_H

#include "compiler/link/Link.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"

namespace lumen::link::test {

/// A folder that is removed with all its files.
class Folder {
public:
  Folder();
  ~Folder();
  std::string file(const llvm::Twine &name) const;
  std::vector<std::string> files() const; ///< Sorted names.

private:
  llvm::SmallString<128> path;
};

/// Compiles LLVM IR to a relocatable object.
llvm::SmallVector<char, 0> compile(llvm::StringRef ir);

/// y = x * weights[0] on four floats, in one kernel of two levels that both lie
/// in the WEIGHTS, INPUT and OUTPUT regions. Every field of every table has a
/// value of its own, so that a mix-up cannot go unseen.
struct ScaleModel {
  explicit ScaleModel(llvm::StringRef name, float factor = 3.0f);

  /// Without constants; the kernel's factor then lies in the heap.
  void dropWeights();

  ModelTables tables;
  Weights weights;
  std::vector<char> constants;
  llvm::SmallVector<char, 0> object;

  /// Adds a symbolic part: one row at least in each table of sizes and steps.
  void addSteps();

  llvm::Error link(const LinkOptions &options) const;
};

std::string readFile(const std::string &path);

} // namespace lumen::link::test

#endif // LUMEN_TEST_UNIT_LINK_MODELS_H
