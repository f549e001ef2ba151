//===- kernels.cpp - speed of contractions and convolutions ---------------===//
//
// Prints GFLOP/s per layer shape and ISA level on one thread, beside the
// machine's measured peak of fused multiply-adds, with compile time and code
// size. Arguments select layers by a part of their name.
//
//===----------------------------------------------------------------------===//

#include "test/unit/codegen/ProductRunner.h"

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

ConvSpec square(int64_t size, int64_t channels, int64_t outputs, int64_t window, int64_t stride,
                int64_t pad, int64_t groups = 1) {
  ConvSpec spec;
  spec.input = {size, size};
  spec.window = {window, window};
  spec.strides = {stride, stride};
  spec.dilations = {1, 1};
  spec.padLow = spec.padHigh = {pad, pad};
  spec.channels = channels;
  spec.outputs = outputs;
  spec.groups = groups;
  spec.tail = Tail::BiasRelu;
  return spec;
}

ContractSpec product(int64_t m, int64_t n, int64_t k) {
  ContractSpec spec;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.tail = Tail::BiasRelu;
  return spec;
}

void measure(const std::string &name, Case c, const std::vector<std::string> &levels) {
  std::printf("%-28s", name.c_str());
  for (const std::string &level : levels) {
    std::string error;
    auto runner = Runner::create(c, level, error);
    if (!runner) {
      std::printf("  %s: %s", level.c_str(), error.c_str());
      continue;
    }
    runner->run(c);
    std::vector<double> times;
    double begin = seconds();
    while (times.size() < 5 || (seconds() - begin < 0.15 && times.size() < 500)) {
      double start = seconds();
      runner->run(c);
      times.push_back(seconds() - start);
    }
    std::sort(times.begin(), times.end());
    double best = times[times.size() / 4];
    std::printf("  | %7.1f GF %9.1f us %5.0f ms %5zu B %4lld units", c.flops / best * 1e-9,
                best * 1e6, runner->compileMillis, runner->objectSize,
                static_cast<long long>(runner->shape.grid));
  }
  std::printf("\n");
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> levels = hostLevels();
  levels.resize(std::min<size_t>(levels.size(), 2));
  if (__builtin_cpu_supports("fma"))
    std::printf("peak, 256 bit: %.0f GF\n", peak256());
  if (__builtin_cpu_supports("avx512f"))
    std::printf("peak, 512 bit: %.0f GF\n", peak512());
  std::printf("%-28s", "");
  for (const std::string &level : levels)
    std::printf("  | %-47s", level.c_str());
  std::printf("\n");

  std::vector<std::pair<std::string, std::function<Case(std::mt19937 &)>>> layers;
  auto addProduct = [&](int64_t m, int64_t n, int64_t k) {
    layers.emplace_back("gemm " + std::to_string(m) + "x" + std::to_string(n) + "x" +
                            std::to_string(k),
                        [=](std::mt19937 &r) { return makeContract(product(m, n, k), r, false); });
  };
  auto addConv = [&](const std::string &name, ConvSpec spec) {
    layers.emplace_back("conv " + name, [=](std::mt19937 &r) { return makeConv(spec, r, false); });
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

  for (auto &[name, make] : layers) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i)
      wanted |= std::strstr(name.c_str(), argv[i]) != nullptr;
    std::mt19937 random(1);
    if (wanted)
      measure(name, make(random), levels);
  }
}
