//===- KernelHarness.h - compile, run and check one kernel -------*- C++ -*-===//
//
// A test gives the text of one `dispatch.kernel`. It is compiled for a level,
// loaded, run on random data over random splits of its grid, and compared with
// the plain evaluation of Reference.h. Buffers end at an unreadable page, and
// the gaps of strided results must stay as they were, so that an access outside
// of a tensor is seen. A level may also be one of a device.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_KERNELHARNESS_H
#define LUMEN_TEST_UNIT_CODEGEN_KERNELHARNESS_H

#include "DeviceKernel.h"
#include "Reference.h"

#include "codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

#include <functional>
#include <memory>
#include <random>

namespace llvm::orc {
class LLJIT;
}

namespace lumen::test {

struct CheckOptions {
  double relative = 2e-5, absolute = 2e-5;
  unsigned seed = 1;
  /// Random values of an input; by default floats in [-4, 4), integers in
  /// [-100, 100) or [0, 200), booleans.
  std::function<Number(unsigned input, mlir::Type element, std::mt19937 &)> fill;
  /// Of a kernel of constant sizes, whether it is also tried with some of them known
  /// to the run only.
  bool alsoDynamic = true;
};

/// One kernel, compiled for one level and loaded.
class LoadedKernel {
public:
  /// Null after a reported test failure.
  static std::unique_ptr<LoadedKernel> make(llvm::StringRef text, llvm::StringRef level,
                                            const CodegenOptions &options = {});
  static std::unique_ptr<LoadedKernel> make(mlir::OwningOpRef<mlir::ModuleOp> module,
                                            llvm::StringRef level,
                                            const CodegenOptions &options = {});
  ~LoadedKernel();

  dispatch::KernelOp getKernel() const { return kernel; }
  bool isOnDevice() const { return deviceKernel != nullptr; }
  const LaunchShape &getShape() const { return shape; }
  size_t getCodeSize() const { return codeSize; }
  /// What a fault is about.
  llvm::ArrayRef<int64_t> getFault() const;

  /// Work units at the given sizes of the kernel's symbols.
  int64_t grid(llvm::ArrayRef<int64_t> sizes = {}) const;

  /// Runs work units [begin, end) on buffers, outputs last; a device always runs all.
  /// Returns a lumen_abi_fault.
  int run(llvm::ArrayRef<void *> buffers, int64_t begin, int64_t end,
          llvm::ArrayRef<int64_t> sizes = {}) const;

private:
  LoadedKernel() = default;
  bool loadObject(const CompiledKernels &compiled, llvm::StringRef levelName);
  bool loadBinary(const KernelBinary &binary, KernelDevice &device, const CodegenOptions &options);
  int runOnDevice(llvm::ArrayRef<void *> buffers, llvm::ArrayRef<int64_t> sizes) const;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  dispatch::KernelOp kernel;
  LaunchShape shape;
  size_t codeSize = 0;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void *code = nullptr;
  int64_t (*gridFunction)(const int64_t *) = nullptr;
  mutable std::vector<char> scratch;
  std::unique_ptr<DeviceKernel> deviceKernel; ///< then there is no jit
  mutable std::mt19937 random;
  mutable int64_t fault[2];
};

/// Memory whose last byte is followed by an unreadable page; filled with a
/// pattern that no test value has.
class GuardedBuffer {
public:
  /// `aligned`: begins at a multiple of 64 bytes instead, and the distance to
  /// the unreadable page is less than 64 bytes.
  GuardedBuffer(size_t size, bool aligned);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer &&other);
  char *data() const { return begin; }

private:
  char *mapping = nullptr, *begin = nullptr;
  size_t mapped = 0;
};

/// Tests over all levels; one that this machine lacks is skipped by name.
class KernelTest : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override;
  /// Compiles, runs and compares; failures are reported with the kernel's text. A
  /// kernel of constant sizes is compiled once more with some of them as symbols.
  void check(llvm::StringRef text, const CheckOptions &options = {});
  /// The same for a kernel of symbols, at each of the given sizes.
  void check(llvm::StringRef text, llvm::ArrayRef<std::vector<int64_t>> sizes,
             const CheckOptions &options = {});

private:
  /// `constant`: the same kernel without symbols.
  void compare(const LoadedKernel &loaded, dispatch::KernelOp constant,
               llvm::ArrayRef<int64_t> sizes, const CheckOptions &options);
};

/// Whether this machine can run code of `level`.
bool canRun(llvm::StringRef level);

/// The levels to instantiate a KernelTest with, and their names in test names.
std::vector<std::string> allLevels();
std::string levelTestName(const ::testing::TestParamInfo<std::string> &info);

#define LUMEN_KERNEL_TEST(Suite)                                                                   \
  class Suite : public ::lumen::test::KernelTest {};                                               \
  INSTANTIATE_TEST_SUITE_P(Levels, Suite, ::testing::ValuesIn(::lumen::test::allLevels()),         \
                           ::lumen::test::levelTestName)

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_KERNELHARNESS_H
