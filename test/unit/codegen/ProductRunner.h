//===- ProductRunner.h - compiles a case and runs it -------------*- C++ -*-===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_PRODUCTRUNNER_H
#define LUMEN_TEST_UNIT_CODEGEN_PRODUCTRUNNER_H

#include "ProductCases.h"

#include "codegen/Target.h"
#include "runtime-lite/include/lumen_abi.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <memory>

namespace lumen::test {

/// A compiled kernel in this process.
class Runner {
public:
  /// Null with a text in `error` when something fails.
  static std::unique_ptr<Runner> create(const Case &c, const std::string &level,
                                        std::string &error);

  /// Runs units [begin, end).
  void run(Case &c, int64_t begin, int64_t end);
  /// Runs all units in `parts` parts, the last first.
  void run(Case &c, int64_t parts = 1);

  LaunchShape shape;
  size_t objectSize = 0;
  double compileMillis = 0;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  lumen_abi_cpu_kernel code = nullptr;
  std::unique_ptr<char, void (*)(void *)> scratch{nullptr, &free};
};

/// The levels this machine can run, most demanding first.
std::vector<std::string> hostLevels();

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_PRODUCTRUNNER_H
