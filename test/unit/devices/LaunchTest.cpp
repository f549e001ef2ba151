// What the drivers of GPUs share: the choice of a kernel's form, and its workgroups.
#include "gpu_launch.h"

#include <gtest/gtest.h>

namespace {

struct LaunchTest : testing::Test {
  bool canRun() { return gpu_can_run(&limits, &kernel, &variant); }
  uint32_t workgroups(int64_t grid, uint64_t scratch = uint64_t(1) << 40) {
    return gpu_count_workgroups(&limits, &variant, grid, nullptr, 0, scratch);
  }

  lumen_abi_gpu_launch launch = {64, 64, 1024, LUMEN_ABI_GPU_FAULTS, LUMEN_ABI_GPU_INT64};
  lumen_abi_variant variant = {0, 0, nullptr, 0, nullptr, nullptr, 1, 1, 4096, &launch};
  lumen_abi_kernel kernel = {"k", 3, 1, &variant};
  // No more than what the kernel needs.
  gpu_limits limits = {LUMEN_ABI_GPU_INT64, 0, 64, 1024, 6, 65535, 4096, 1 << 20, 64, true};
};

// Arguments and parameters, and what the variant says it needs besides.
TEST_F(LaunchTest, CountsBindings) {
  EXPECT_EQ(gpu_count_bindings(&kernel, &variant), 6u);
  variant.scratch_size = 0;
  EXPECT_EQ(gpu_count_bindings(&kernel, &variant), 5u);
  launch.flags = ~LUMEN_ABI_GPU_FAULTS;
  EXPECT_EQ(gpu_count_bindings(&kernel, &variant), 4u);
}

// A device must offer all that the variant needs.
TEST_F(LaunchTest, RefusesWhatTheDeviceHasNot) {
  EXPECT_TRUE(canRun());
  for (uint32_t *limit : {&limits.max_block, &limits.max_shared, &limits.max_bindings}) {
    --*limit;
    EXPECT_FALSE(canRun());
    ++*limit;
  }
  --limits.max_range;
  EXPECT_FALSE(canRun());
  ++limits.max_range, limits.features = ~LUMEN_ABI_GPU_INT64;
  EXPECT_FALSE(canRun());
}

// More are more than the driver has room for, whatever the device offers.
TEST_F(LaunchTest, RefusesTooManyBindings) {
  limits.max_bindings = 1000;
  kernel.num_args = gpu_most_bindings - 3;
  EXPECT_TRUE(canRun());
  ++kernel.num_args;
  EXPECT_FALSE(canRun());
}

// As many as the grid has work for, and no more than the device takes, or than there is scratch
// memory for.
TEST_F(LaunchTest, CutsTheGrid) {
  EXPECT_EQ(workgroups(1), 1u);
  EXPECT_EQ(workgroups(65), 2u);
  EXPECT_EQ(workgroups(1 << 30), 65535u);
  EXPECT_EQ(workgroups(1 << 30, 7 * variant.scratch_size), 7u);
}

// The unit behind a thread's last one must be a number of 32 bits.
TEST_F(LaunchTest, KeepsStridesFromWrapping) {
  for (int64_t left : {0, 63, 64, 1000, 1 << 20, 1 << 22, 1 << 23}) {
    int64_t grid = INT32_MAX - left;
    int64_t stride = int64_t(workgroups(grid)) * launch.units_per_workgroup;
    EXPECT_LE(grid + stride, INT32_MAX) << left;
    EXPECT_EQ(stride > 0, left >= launch.units_per_workgroup) << left;
  }
  EXPECT_EQ(workgroups(int64_t(INT32_MAX) + 1), 0u);
}

// So must the sizes.
TEST_F(LaunchTest, RefusesLargeSizes) {
  int64_t sizes[] = {INT32_MAX, INT32_MIN};
  EXPECT_EQ(gpu_count_workgroups(&limits, &variant, 1, sizes, 2, 4096), 1u);
  --sizes[1];
  EXPECT_EQ(gpu_count_workgroups(&limits, &variant, 1, sizes, 2, 4096), 0u);
}

} // namespace
