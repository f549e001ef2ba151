//===- PtxDevice.cpp - runs kernels of PTX for tests ----------------------===//

#include "PtxDevice.h"

#include "codegen/ptx/PtxTarget.h"
#include "runtime-lite/include/lumen_abi.h"
#include "test/ptx/Machine.h"

#include "gtest/gtest.h"

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;
using llvm::StringRef;

/// Of the first byte, as kernels see it: no rounder than the driver's.
static constexpr uint64_t kAddress = 0x7000'0000'0000 + LUMEN_ALIGNMENT;

namespace {

struct PtxKernel final : DeviceKernel {
  PtxKernel(std::vector<char> &bytes, const KernelBinary &binary, const LaunchShape &shape)
      : DeviceKernel(binary, shape), bytes(bytes), block(binary.block) {}
  llvm::MutableArrayRef<char> memory() override { return bytes; }
  size_t alignment() override { return LUMEN_ALIGNMENT; }
  void launch(ArrayRef<Range> bindings, size_t used, uint32_t workgroups) override;

  std::vector<char> &bytes;
  uint32_t block;
  std::unique_ptr<ptx::Program> program;
  const ptx::Function *entry = nullptr;
};

class PtxDevice final : public KernelDevice {
public:
  PtxDevice() : target(ptxcode::createPtxTarget()), bytes(kMemory) {}

  mlir::FailureOr<CompiledKernels> compile(dispatch::KernelOp kernel) override {
    return target->compile(kernel, target->getLevels().back(), CodegenOptions());
  }
  std::unique_ptr<DeviceKernel> load(const KernelBinary &binary, const LaunchShape &shape,
                                     StringRef entry, size_t numArguments,
                                     const CodegenOptions &options) override;

private:
  std::unique_ptr<Target> target;
  std::vector<char> bytes;
};

} // namespace

KernelDevice *test::ptxDevice() {
  static PtxDevice device;
  return &device;
}

std::unique_ptr<DeviceKernel> PtxDevice::load(const KernelBinary &binary, const LaunchShape &shape,
                                              StringRef entry, size_t, const CodegenOptions &) {
  auto result = std::make_unique<PtxKernel>(bytes, binary, shape);
  std::string error;
  // The text ends with a zero.
  result->program = ptx::Program::parse(binary.code.data(), error);
  if (result->program)
    result->entry = result->program->findEntry(entry.str());
  if (result->entry)
    return result;
  ADD_FAILURE() << (result->program ? "there is no kernel of this name" : error) << "\n"
                << binary.code.data();
  return nullptr;
}

void PtxKernel::launch(ArrayRef<Range> bindings, size_t, uint32_t workgroups) {
  ASSERT_EQ(bindings.size() * sizeof(uint64_t), entry->parameterSize);
  ptx::Memory memory;
  std::vector<uint64_t> parameters;
  for (auto [i, range] : llvm::enumerate(bindings)) {
    parameters.push_back(kAddress + range.offset);
    memory.add({parameters.back(), range.size, bytes.data() + range.offset,
                "binding " + std::to_string(i)});
  }
  ptx::Launch launch{entry,
                     {workgroups, 1, 1},
                     {block, 1, 1},
                     /*dynamicShared=*/0,
                     reinterpret_cast<const char *>(parameters.data())};
  std::string error = ptx::run(*program, launch, memory);
  if (!error.empty())
    ADD_FAILURE() << error << "\n" << program->text;
}
