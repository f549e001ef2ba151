//===- GpuLimitsTest.cpp - GPU kernels within what a device has -----------===//

#include "codegen/Target.h"
#include "codegen/gpu/GpuKernel.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace lumen;

namespace {

constexpr llvm::StringLiteral kProduct = R"(
dispatch.kernel @k(%a: tensor<1024x64xf32>, %b: tensor<64x256xf32>) -> tensor<1024x256xf32> {
  %0 = lumen.contract %a, %b : tensor<1024x64xf32>, tensor<64x256xf32> -> tensor<1024x256xf32>
  dispatch.yield %0 : tensor<1024x256xf32>
})";

/// The launch of the kernel, or why there is none.
FailureOr<gpucode::GpuLaunch> build(StringRef text, const gpucode::Capabilities &caps,
                                    std::string &reason) {
  MLIRContext context;
  gpucode::prepareContext(context);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    reason = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  if (!module)
    return failure();
  OwningOpRef<ModuleOp> built = ModuleOp::create(module->getLoc());
  auto launch = gpucode::buildKernel(*module->getOps<dispatch::KernelOp>().begin(), caps, *built);
  EXPECT_TRUE(failed(launch) || succeeded(verify(*built)));
  return launch;
}

} // namespace

// A product does without tiles where a device has too little memory for workgroups.
TEST(GpuLimitsTest, BuildersChooseByWorkgroupMemory) {
  gpucode::Capabilities caps;
  std::string reason;
  auto tiled = build(kProduct, caps, reason);
  ASSERT_TRUE(succeeded(tiled)) << reason;
  EXPECT_GT(tiled->sharedSize, 0);
  caps.sharedBytes = tiled->sharedSize - 1;
  auto plain = build(kProduct, caps, reason);
  ASSERT_TRUE(succeeded(plain)) << reason;
  EXPECT_LT(plain->sharedSize, tiled->sharedSize);
}

// What needs more than there is has no kernel, and the reason says both numbers.
TEST(GpuLimitsTest, NamesMemoryBeyondTheDevice) {
  gpucode::Capabilities caps;
  caps.sharedBytes = 64;
  std::string reason;
  EXPECT_TRUE(failed(build(R"(
dispatch.kernel @k(%x: tensor<1000xf32>) -> tensor<f32> {
  %0 = lumen.reduce <sum> %x [0] : tensor<1000xf32> -> tensor<f32>
  dispatch.yield %0 : tensor<f32>
})",
                           caps, reason)));
  EXPECT_EQ(reason.find("needs "), 0u) << reason;
  EXPECT_NE(reason.find("bytes of workgroup memory, expected 64 at most"), std::string::npos)
      << reason;

  caps = gpucode::Capabilities();
  caps.scratchBytes = 64;
  EXPECT_TRUE(failed(build(R"(
dispatch.kernel @k(%x: tensor<9x2xf32>, %i: tensor<4xi32>) -> tensor<4x2xf32> {
  %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<9x2xf32>, tensor<4xi32> -> tensor<4x2xf32>
  dispatch.yield %0 : tensor<4x2xf32>
})",
                           caps, reason)));
  EXPECT_NE(reason.find("bytes of memory for each workgroup, expected 64 at most"),
            std::string::npos)
      << reason;
}

// Levels name symbols of artifacts: no two targets may have one of the same name.
TEST(TargetTest, LevelsHaveNamesOfTheirOwn) {
  llvm::StringSet<> names;
  for (StringRef name : targetNames()) {
    std::unique_ptr<Target> target = createTarget(name);
    for (StringRef level : target->getLevelNames())
      EXPECT_TRUE(names.insert(level).second) << level.str();
  }
  EXPECT_FALSE(names.empty());
}
