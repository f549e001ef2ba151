//===- MetalDevice.cpp - runs the text of Metal kernels for tests ---------===//

#include "MetalDevice.h"

#include "FiberKernel.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace lumen;
using namespace lumen::test;
using llvm::StringRef;

namespace {

class MetalDevice final : public KernelDevice {
public:
  mlir::FailureOr<CompiledKernels> compile(dispatch::KernelOp kernel) override {
    return compileForTarget("metal", kernel);
  }
  std::unique_ptr<DeviceKernel> load(const KernelBinary &binary, const LaunchShape &shape,
                                     StringRef entry, size_t numArguments,
                                     const CodegenOptions &options) override;
};

/// A folder that goes with this.
struct TemporaryFolder {
  TemporaryFolder() { llvm::sys::fs::createUniqueDirectory("lumen-metal", path); }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(path); }
  std::string operator/(StringRef name) const { return (path + "/" + name).str(); }

  llvm::SmallString<128> path;
};

} // namespace

KernelDevice *test::metalDevice() {
  static MetalDevice device;
  return &device;
}

static std::unique_ptr<llvm::MemoryBuffer> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? std::move(*buffer) : llvm::MemoryBuffer::getMemBuffer("");
}

/// An object that defines FiberKernel::kEntry. Null after a reported test failure.
static std::unique_ptr<llvm::MemoryBuffer> compileText(StringRef text, StringRef entry) {
  TemporaryFolder folder;
  std::string source = folder / "kernel.metal", object = folder / "kernel.o", log = folder / "log";
  {
    std::error_code error;
    llvm::raw_fd_ostream(source, error)
        << text << "\nextern \"C\" void " << FiberKernel::kEntry
        << "(void *const *bound) { lumen_test::call(" << entry << ", bound); }\n";
  }
  StringRef arguments[] = {LUMEN_CXX_COMPILER,
                           "-x",
                           "c++",
                           "-std=c++17",
                           "-O1",
                           "-fPIC",
                           "-fno-exceptions",
                           "-fno-rtti",
                           "-fsanitize=array-bounds,float-cast-overflow,integer-divide-by-zero,"
                           "shift,signed-integer-overflow",
                           "-fsanitize-minimal-runtime",
                           "-w",
                           "-I" LUMEN_METAL_LIBRARY,
                           "-c",
                           source,
                           "-o",
                           object};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log), StringRef(log)};
  if (llvm::sys::ExecuteAndWait(LUMEN_CXX_COMPILER, arguments, std::nullopt, redirects) == 0)
    return readFile(object);
  ADD_FAILURE() << readFile(log)->getBuffer().str() << text.str();
  return nullptr;
}

std::unique_ptr<DeviceKernel> MetalDevice::load(const KernelBinary &binary,
                                                const LaunchShape &shape, StringRef entry, size_t,
                                                const CodegenOptions &) {
  auto object = compileText(binary.code.data(), entry);
  if (!object)
    return nullptr;
  return FiberKernel::make(
      binary, shape, [&](llvm::orc::LLJIT &jit) { return jit.addObjectFile(std::move(object)); });
}
