//===- kernels.cpp - speed of contractions and convolutions ---------------===//
//
// Prints GFLOP/s per layer shape and ISA level on one thread, beside the
// machine's measured peak of fused multiply-adds, with compile time and code
// size. Arguments select layers by a part of their name.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/CpuTarget.h"
#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/codegen/ProductText.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>

using namespace lumen::test;

namespace {

/// Processor time of this thread, which other programs do not lengthen.
double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

/// GFLOP/s of independent multiply-adds on vectors of `Bytes`.
#define LUMEN_PEAK(NAME, TARGET, BYTES)                                                            \
  __attribute__((noinline, target(TARGET))) double NAME() {                                        \
    typedef float Vector __attribute__((vector_size(BYTES)));                                      \
    Vector sums[12] = {}, x = {1.0001f}, y = {0.5f};                                               \
    constexpr int64_t kSteps = 20000000;                                                           \
    double best = 0;                                                                               \
    for (int repeat = 0; repeat < 3; ++repeat) {                                                   \
      double start = seconds();                                                                    \
      _Pragma("clang loop unroll(disable)") for (int64_t i = 0; i < kSteps; ++i) {                 \
        _Pragma("clang loop unroll(full)") for (Vector &sum : sums) sum = sum * x + y;             \
        _Pragma("clang loop unroll(full)") for (Vector &sum : sums) __asm__ volatile("" :          \
                                                                                     "+v"(sum));   \
      }                                                                                            \
      best = std::max(best, kSteps * 12.0 * BYTES / 4 * 2 / (seconds() - start) * 1e-9);           \
    }                                                                                              \
    return best;                                                                                   \
  }
LUMEN_PEAK(peak256, "avx2,fma", 32)
LUMEN_PEAK(peak512, "avx512f", 64)

ConvText square(int64_t size, int64_t channels, int64_t outputs, int64_t window, int64_t stride,
                int64_t pad, int64_t groups = 1) {
  ConvText conv;
  conv.input = {size, size};
  conv.window = {window, window};
  conv.strides = {stride, stride};
  conv.dilations = {1, 1};
  conv.padLow = conv.padHigh = {pad, pad};
  conv.channels = channels;
  conv.outputs = outputs;
  conv.groups = groups;
  conv.tail = Tail::BiasRelu;
  return conv;
}

ContractText product(int64_t m, int64_t n, int64_t k) {
  ContractText contract;
  contract.m = m;
  contract.n = n;
  contract.k = k;
  contract.tail = Tail::BiasRelu;
  return contract;
}

void measure(const std::string &name, const std::string &text, double flops,
             const std::vector<std::string> &levels) {
  std::printf("%-28s", name.c_str());
  for (const std::string &level : levels) {
    double start = seconds();
    auto kernel = LoadedKernel::make(text, level);
    double compileSeconds = seconds() - start;
    if (!kernel)
      continue;
    std::vector<GuardedBuffer> buffers;
    std::vector<void *> pointers;
    auto op = kernel->getKernel();
    for (mlir::Type type :
         llvm::concat<const mlir::Type>(op.getArgumentTypes(), op.getResultTypes())) {
      size_t bytes = *lumen::dispatch::tensorBytes(llvm::cast<mlir::RankedTensorType>(type)).asConstant();
      buffers.emplace_back(bytes, /*aligned=*/true);
      pointers.push_back(buffers.back().data());
      // Normal numbers: denormal ones would be slow.
      for (size_t i = 0; i < bytes / sizeof(float); ++i)
        static_cast<float *>(pointers.back())[i] = (i % 13) * 0.25f - 1.5f;
    }
    int64_t grid = kernel->grid();
    kernel->run(pointers, 0, grid);
    std::vector<double> times;
    double total = 0;
    while (times.size() < 5 || (total < 0.15 && times.size() < 500)) {
      start = seconds();
      kernel->run(pointers, 0, grid);
      times.push_back(seconds() - start);
      total += times.back();
    }
    std::sort(times.begin(), times.end());
    double best = times[times.size() / 4];
    std::printf("  | %7.1f GF %9.1f us %5.0f ms %5zu B %4lld units", flops / best * 1e-9,
                best * 1e6, compileSeconds * 1e3, kernel->getCodeSize(),
                static_cast<long long>(grid));
  }
  std::printf("\n");
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> levels;
  for (llvm::StringRef level : lumen::cpu::levelNames())
    if (lumen::cpu::hostSupports(level) && levels.size() < 2)
      levels.push_back(level.str());
  if (__builtin_cpu_supports("fma"))
    std::printf("peak, 256 bit: %.0f GF\n", peak256());
  if (__builtin_cpu_supports("avx512f"))
    std::printf("peak, 512 bit: %.0f GF\n", peak512());
  std::printf("%-28s", "");
  for (const std::string &level : levels)
    std::printf("  | %-47s", level.c_str());
  std::printf("\n");

  auto isWanted = [&](const std::string &name) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i)
      wanted |= std::strstr(name.c_str(), argv[i]) != nullptr;
    return wanted;
  };
  auto addProduct = [&](int64_t m, int64_t n, int64_t k) {
    std::string name =
        "gemm " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    ContractText contract = product(m, n, k);
    if (isWanted(name))
      measure(name, contract.text(), contract.flops(), levels);
  };
  auto addConv = [&](const std::string &name, const ConvText &conv) {
    if (isWanted("conv " + name))
      measure("conv " + name, conv.text(), conv.flops(), levels);
  };
  addProduct(256, 256, 256);
  addProduct(512, 512, 512);
  addProduct(1024, 1024, 1024);
  addProduct(128, 3072, 768);
  addProduct(128, 768, 3072);
  addProduct(128, 768, 768);
  addProduct(1, 1000, 2048);
  addProduct(1, 1024, 2048);
  addProduct(1, 4096, 4096);
  addProduct(64, 1024, 1024);
  addConv("3x3 64@56", square(56, 64, 64, 3, 1, 1));
  addConv("3x3 128@28", square(28, 128, 128, 3, 1, 1));
  addConv("3x3 256@14", square(14, 256, 256, 3, 1, 1));
  addConv("3x3 512@7", square(7, 512, 512, 3, 1, 1));
  addConv("3x3s2 128@56", square(56, 128, 128, 3, 2, 1));
  addConv("3x3s2 256@28", square(28, 256, 256, 3, 2, 1));
  addConv("1x1 64-256@56", square(56, 64, 256, 1, 1, 0));
  addConv("1x1 256-64@56", square(56, 256, 64, 1, 1, 0));
  addConv("1x1 512-128@28", square(28, 512, 128, 1, 1, 0));
  addConv("1x1 256-1024@14", square(14, 256, 1024, 1, 1, 0));
  addConv("1x1 2048-512@7", square(7, 2048, 512, 1, 1, 0));
  addConv("1x1s2 256-512@56", square(56, 256, 512, 1, 2, 0));
  addConv("7x7s2 3-64@224", square(224, 3, 64, 7, 2, 3));
  addConv("3x3s2 3-32@224", square(224, 3, 32, 3, 2, 1));
  addConv("11x11s4 3-64@224", square(224, 3, 64, 11, 4, 2));
  addConv("5x5 64-192@27", square(27, 64, 192, 5, 1, 2));
  addConv("3x3 64@224 vgg", square(224, 64, 64, 3, 1, 1));
  addConv("3x3 512@28 vgg", square(28, 512, 512, 3, 1, 1));
  addConv("1x1 16-96@112", square(112, 16, 96, 1, 1, 0));
  addConv("1x1 32-16@112", square(112, 32, 16, 1, 1, 0));
  addConv("1x1 24-144@56", square(56, 24, 144, 1, 1, 0));
  addConv("1x1 144-24@56", square(56, 144, 24, 1, 1, 0));
  addConv("1x1 96-576@14", square(14, 96, 576, 1, 1, 0));
  addConv("1x1 960-160@7", square(7, 960, 160, 1, 1, 0));
  addConv("dw 32@112", square(112, 32, 32, 3, 1, 1, 32));
  addConv("dw 144@56", square(56, 144, 144, 3, 1, 1, 144));
  addConv("dw 384@14", square(14, 384, 384, 3, 1, 1, 384));
  addConv("dw 960@7", square(7, 960, 960, 3, 1, 1, 960));
  addConv("dw s2 96@112", square(112, 96, 96, 3, 2, 1, 96));
  addConv("grouped 1x1 240-240/3@28", square(28, 240, 240, 1, 1, 0, 3));
}
