//===- kernels.cpp - speed of contractions and convolutions ---------------===//
//
// Prints GFLOP/s per layer shape and ISA level on one thread, beside the
// machine's measured peak of fused multiply-adds, with compile time and code
// size; "twin" layers are also made with sizes that only the run knows. Arguments select
// layers by a part of their name, and levels by theirs, which may be devices in software:
//
//   bench-kernels vulkan1.1 opencl "gemm 1024x1024x1024"
//
// Devices compute with all cores; the time is that of all of them together.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/CpuTarget.h"
#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/codegen/ProductText.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

using namespace lumen::test;

namespace {

/// Processor time of this program, which others do not lengthen.
double seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
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

ContractText product(int64_t m, int64_t n, int64_t k, const char *type = "f32") {
  ContractText contract;
  contract.type = type;
  contract.m = m;
  contract.n = n;
  contract.k = k;
  contract.tail = Tail::BiasRelu;
  return contract;
}

/// The quarter of runs that are faster than this one are luck.
double typical(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 4];
}

/// Memory for the arguments of a kernel of constant sizes.
std::vector<GuardedBuffer> makeBuffers(lumen::dispatch::KernelOp kernel) {
  std::vector<GuardedBuffer> buffers;
  for (mlir::Type type :
       llvm::concat<const mlir::Type>(kernel.getArgumentTypes(), kernel.getResultTypes())) {
    auto tensor = llvm::cast<mlir::RankedTensorType>(type);
    size_t bytes = *lumen::dispatch::tensorBytes(tensor).asConstant();
    buffers.emplace_back(bytes, /*aligned=*/true);
    // Normal numbers: denormal ones would be slow.
    for (size_t i = 0; i < bytes / sizeof(float); ++i)
      reinterpret_cast<float *>(buffers.back().data())[i] = (i % 13) * 0.25f - 1.5f;
  }
  return buffers;
}

/// The times of runs of kernels on the same buffers, in turn.
std::vector<std::vector<double>> timesOf(llvm::ArrayRef<const LoadedKernel *> kernels,
                                         llvm::ArrayRef<GuardedBuffer> buffers,
                                         llvm::ArrayRef<int64_t> sizes) {
  std::vector<void *> pointers;
  for (const GuardedBuffer &buffer : buffers)
    pointers.push_back(buffer.data());
  std::vector<std::vector<double>> times(kernels.size());
  double total = 0;
  for (int run = -1; run < 5 || (total < 0.15 * kernels.size() && run < 500); ++run)
    for (size_t i = 0; i < kernels.size(); ++i) {
      double start = seconds();
      kernels[i]->run(pointers, 0, kernels[i]->grid(sizes), sizes);
      if (run < 0)
        continue;
      times[i].push_back(seconds() - start);
      total += times[i].back();
    }
  return times;
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
    double best = typical(timesOf(kernel.get(), makeBuffers(kernel->getKernel()), {}).front());
    std::printf("  | %7.1f GF %9.1f us %5.0f ms %5zu B %4lld units", flops / best * 1e-9,
                best * 1e6, compileSeconds * 1e3, kernel->getCodeSize(),
                static_cast<long long>(kernel->grid()));
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// A kernel of symbols beside the same one of constants, at the symbols' values.
template <typename Text>
void measureTwins(const std::string &name, const Text &text,
                  const std::vector<std::string> &levels) {
  std::printf("%-36s", name.c_str());
  llvm::StringMap<int64_t> values;
  for (const Dim &dim : text.dims())
    if (!dim.size.asConstant())
      values[dim.size.str()] = dim.value;
  for (const std::string &level : levels) {
    double start = seconds();
    auto dynamic = LoadedKernel::make(text.text(), level);
    double compileSeconds = seconds() - start;
    auto fixed = LoadedKernel::make(text.constant().text(), level);
    if (!dynamic || !fixed)
      continue;
    std::vector<int64_t> sizes;
    for (llvm::StringRef symbol : dynamic->getKernel().getSizeNames())
      sizes.push_back(values.lookup(symbol));
    auto times = timesOf({fixed.get(), dynamic.get()}, makeBuffers(fixed->getKernel()), sizes);
    double fixedTime = typical(times[0]), dynamicTime = typical(times[1]);
    std::printf("  | %9.1f us, dynamic %9.1f us %+6.1f%% %5.0f ms %6zu B %3lld/%3lld units",
                fixedTime * 1e6, dynamicTime * 1e6, (dynamicTime / fixedTime - 1) * 100,
                compileSeconds * 1e3, dynamic->getCodeSize(), static_cast<long long>(fixed->grid()),
                static_cast<long long>(dynamic->grid(sizes)));
  }
  std::printf("\n");
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> levels, layers;
  const std::vector<std::string> known = allLevels();
  for (const char *argument : llvm::ArrayRef(argv, argc).drop_front())
    (llvm::is_contained(known, argument) ? levels : layers).push_back(argument);
  if (levels.empty())
    for (llvm::StringRef level : lumen::cpu::levelNames())
      if (lumen::cpu::hostSupports(level) && levels.size() < 3)
        levels.push_back(level.str());
  for (const std::string &level : levels)
    if (!canRun(level)) {
      std::fprintf(stderr, "bench-kernels: error: this machine cannot run %s\n", level.c_str());
      return 1;
    }
  if (__builtin_cpu_supports("fma"))
    std::printf("peak, 256 bit: %.0f GF\n", peak256());
  if (__builtin_cpu_supports("avx512f"))
    std::printf("peak, 512 bit: %.0f GF\n", peak512());
  std::printf("%-28s", "");
  for (const std::string &level : levels)
    std::printf("  | %-47s", level.c_str());
  std::printf("\n");

  auto isWanted = [&](const std::string &name) {
    return layers.empty() || llvm::any_of(layers, [&](const std::string &part) {
             return name.find(part) != std::string::npos;
           });
  };
  auto addProduct = [&](int64_t m, int64_t n, int64_t k, const char *type = "f32") {
    std::string name =
        "gemm " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    if (type != std::string("f32"))
      name += std::string(" ") + type;
    ContractText contract = product(m, n, k, type);
    if (isWanted(name))
      measure(name, contract.text(), contract.flops(), levels);
  };
  auto addConv = [&](const std::string &name, const ConvText &conv) {
    if (isWanted("conv " + name))
      measure("conv " + name, conv.text(), conv.flops(), levels);
  };
  auto addTwins = [&](const std::string &name, const auto &text) {
    if (isWanted("twin " + name))
      measureTwins("twin " + name, text, levels);
  };
  for (auto [n, k] : {std::pair(768, 768), {3072, 768}, {768, 3072}, {1000, 2048}, {64, 64}})
    for (int64_t m : {1, 2, 7, 16, 33, 128, 500}) {
      ContractText contract = product(m, n, k);
      contract.m = Dim("m", m);
      addTwins("gemm " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
               contract);
    }
  for (int64_t queries : {1, 64, 128, 384})
    for (int64_t keys : {64, 128, 384}) {
      ContractText heads;
      heads.packed = false;
      heads.headsInside = true;
      heads.batch = {Dim("b", 1), 12};
      heads.m = Dim("q", queries), heads.n = Dim("s", keys), heads.k = 64;
      heads.transposeRhs = true;
      std::string sizes = std::to_string(queries) + "x" + std::to_string(keys);
      addTwins("heads q*k " + sizes, heads);
      std::swap(heads.n, heads.k);
      heads.transposeRhs = false;
      addTwins("heads p*v " + sizes, heads);
    }
  auto addConvTwins = [&](const std::string &name, ConvText conv, bool onlyBatch) {
    if (onlyBatch) {
      conv.batch = Dim("b", 1);
    } else {
      conv.input[0] = Dim("h", conv.input[0].value);
      conv.input[1] = Dim("w", conv.input[1].value);
    }
    addTwins("conv " + name + (onlyBatch ? " batch" : " size"), conv);
  };
  for (bool onlyBatch : {true, false}) {
    addConvTwins("3x3 64@56", square(56, 64, 64, 3, 1, 1), onlyBatch);
    addConvTwins("3x3 256@14", square(14, 256, 256, 3, 1, 1), onlyBatch);
    addConvTwins("3x3 512@7", square(7, 512, 512, 3, 1, 1), onlyBatch);
    addConvTwins("3x3s2 128@56", square(56, 128, 128, 3, 2, 1), onlyBatch);
    addConvTwins("1x1 64-256@56", square(56, 64, 256, 1, 1, 0), onlyBatch);
    addConvTwins("1x1 960-160@7", square(7, 960, 160, 1, 1, 0), onlyBatch);
    addConvTwins("7x7s2 3-64@224", square(224, 3, 64, 7, 2, 3), onlyBatch);
    addConvTwins("3x3s2 3-32@224", square(224, 3, 32, 3, 2, 1), onlyBatch);
    addConvTwins("dw 144@56", square(56, 144, 144, 3, 1, 1, 144), onlyBatch);
    addConvTwins("dw 384@14", square(14, 384, 384, 3, 1, 1, 384), onlyBatch);
    addConvTwins("dw 960@7", square(7, 960, 960, 3, 1, 1, 960), onlyBatch);
    addConvTwins("dw s2 96@112", square(112, 96, 96, 3, 2, 1, 96), onlyBatch);
  }
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
  addProduct(512, 512, 512, "i8");
  addProduct(128, 3072, 768, "i8");
  addProduct(49, 960, 160, "i8");
  addProduct(1, 1024, 2048, "i8");
  using Layer = std::pair<const char *, ConvText>;
  for (const auto &[name, conv] : {Layer("3x3 64@56 i8", square(56, 64, 64, 3, 1, 1)),
                                   Layer("3x3 512@7 i8", square(7, 512, 512, 3, 1, 1)),
                                   Layer("1x1 256-1024@14 i8", square(14, 256, 1024, 1, 1, 0)),
                                   Layer("7x7s2 3-64@224 i8", square(224, 3, 64, 7, 2, 3)),
                                   Layer("3x3s2 3-32@224 i8", square(224, 3, 32, 3, 2, 1)),
                                   Layer("dw 144@56 i8", square(56, 144, 144, 3, 1, 1, 144)),
                                   Layer("dw 384@14 i8", square(14, 384, 384, 3, 1, 1, 384)),
                                   Layer("dw s2 96@112 i8", square(112, 96, 96, 3, 2, 1, 96))}) {
    ConvText bytes = conv;
    bytes.type = "i8";
    addConv(name, bytes);
  }
  addConv("grouped 1x1 240-240/3@28", square(28, 240, 240, 1, 1, 0, 3));
}
