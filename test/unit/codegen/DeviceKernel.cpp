//===- DeviceKernel.cpp - runs single kernels of devices for tests --------===//

#include "DeviceKernel.h"

#include "runtime-lite/include/lumen_abi.h"

#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;

/// Bytes that no kernel may touch, around everything that is bound.
static constexpr size_t kGap = 256;
static constexpr unsigned char kPattern = 0xA5;

std::vector<int32_t> DeviceKernel::run(int64_t grid, ArrayRef<DeviceBuffer> buffers,
                                       ArrayRef<int64_t> sizes, std::mt19937 &random) {
  int32_t most = std::max<int64_t>(1, llvm::divideCeil(grid, unitsPerWorkgroup));
  int32_t workgroups = random() % 2 ? most : 1 + random() % most;
  workgroups = std::min(workgroups, 512);

  char *begin = memory().data();
  size_t used = kGap;
  std::vector<Range> bound;
  auto place = [&](size_t size, size_t shift) {
    size_t offset = llvm::alignTo(used, alignment());
    bound.push_back({offset, std::max<size_t>(llvm::alignTo(shift + size, 4), 4)});
    used = offset + bound.back().size + kGap;
    return begin + offset + shift;
  };
  std::vector<int32_t> words{static_cast<int32_t>(grid), workgroups};
  std::vector<char *> places;
  for (const DeviceBuffer &buffer : buffers) {
    words.push_back(random() % 9 * buffer.elementSize);
    places.push_back(place(buffer.size, words.back()));
  }
  words.insert(words.end(), sizes.begin(), sizes.end());
  char *parameters = place(words.size() * sizeof(int32_t), 0), *faults = nullptr;
  if (scratchSize)
    place(scratchSize * workgroups, 0);
  if (flags & LUMEN_ABI_GPU_FAULTS)
    faults = place(LUMEN_ABI_GPU_FAULT_WORDS * sizeof(int32_t), 0);
  EXPECT_LE(used, memory().size()) << "the test's device has not that much memory";
  if (used > memory().size())
    return {};
  std::memset(begin, kPattern, used);
  for (auto [buffer, at] : llvm::zip(buffers, places))
    std::memcpy(at, buffer.data, buffer.size);
  std::memcpy(parameters, words.data(), words.size() * sizeof(int32_t));
  if (faults)
    std::memset(faults, 0, LUMEN_ABI_GPU_FAULT_WORDS * sizeof(int32_t));

  launch(bound, used, workgroups);

  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    if (buffer.isResult)
      std::memcpy(buffer.data, places[i], buffer.size);
    else
      EXPECT_EQ(std::memcmp(buffer.data, places[i], buffer.size), 0)
          << "the kernel wrote to its argument " << i;
    // The gaps before and behind it.
    size_t first = bound[i].offset, shift = words[2 + i];
    auto isUntouched = [&](size_t from, size_t size) {
      return llvm::all_of(ArrayRef(begin + from, size),
                          [](char byte) { return static_cast<unsigned char>(byte) == kPattern; });
    };
    EXPECT_TRUE(isUntouched(first - kGap / 2, kGap / 2 + shift))
        << "the kernel wrote before its argument " << i;
    EXPECT_TRUE(isUntouched(first + shift + buffer.size, kGap / 2))
        << "the kernel wrote behind its argument " << i;
  }
  std::vector<int32_t> record(LUMEN_ABI_GPU_FAULT_WORDS);
  if (faults)
    std::memcpy(record.data(), faults, record.size() * sizeof(int32_t));
  return record;
}

mlir::FailureOr<CompiledKernels> test::compileForTarget(llvm::StringRef name,
                                                        dispatch::KernelOp kernel) {
  std::unique_ptr<Target> target = createTarget(name);
  return target->compile(kernel, target->getLevels().front(), {});
}
