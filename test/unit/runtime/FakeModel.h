// A model as lumenc would emit it, written by hand.
//
//   t = x * w;  y = t + d   where d = 2 * w is made at open
//
// over N floats; x and y are the signature, t lies in the arena, w in the
// weights and d in the init region.
#ifndef LUMEN_TEST_FAKEMODEL_H
#define LUMEN_TEST_FAKEMODEL_H

#include "lumen.h"
#include "lumen_abi.h"

#include <array>
#include <cstdint>
#include <string>

extern "C" const lumen_api lumen_runtime_api;

namespace lumen::test {

// Of the artifact whose weights lie beside it.
constexpr const char *weightsId = "0123456789abcdef0123456789abcdef";

// No CPU has it.
constexpr uint64_t impossibleFeature = 1ull << 63;

#if defined(__x86_64__)
constexpr uint64_t lowFeatures = LUMEN_ABI_X86_V2;
constexpr const char *lowLevel = "x86-64-v2";
#else
constexpr uint64_t lowFeatures = LUMEN_ABI_ARM_NEON;
constexpr const char *lowLevel = "aarch64";
#endif

// What every made-up model has tables of.
template <typename Model> void pointToTables(lumen_abi_model &abi, const Model &model) {
  abi.num_kernels = model.kernels.size();
  abi.kernels = model.kernels.data();
  abi.num_storages = model.storages.size();
  abi.storages = model.storages.data();
  abi.num_buffers = model.buffers.size();
  abi.buffers = model.buffers.data();
  abi.arg_buffers = model.argBuffers.data();
  abi.num_launches = model.launches.size();
  abi.launches = model.launches.data();
}

struct FakeModel {
  static constexpr int64_t n = 1000;

  static int scale(void *const *args, const int64_t *, int64_t begin, int64_t end, int32_t worker,
                   void *scratch) {
    // Scratch is ours alone while we run: what we write is what we read.
    auto *mine = static_cast<int64_t *>(scratch);
    mine[0] = begin;
    mine[1] = worker;
    auto *x = static_cast<const float *>(args[0]), *w = static_cast<const float *>(args[1]);
    auto *t = static_cast<float *>(args[2]);
    for (int64_t i = begin; i < end; ++i)
      t[i] = mine[0] == begin && mine[1] == worker ? x[i] * w[i] : -1.0f;
    return LUMEN_ABI_OK;
  }
  static int add(void *const *args, const int64_t *, int64_t begin, int64_t end, int32_t, void *) {
    auto *t = static_cast<const float *>(args[0]), *d = static_cast<const float *>(args[1]);
    auto *y = static_cast<float *>(args[2]);
    for (int64_t i = begin; i < end; ++i)
      y[i] = t[i] + d[i];
    return LUMEN_ABI_OK;
  }
  static int twice(void *const *args, const int64_t *, int64_t begin, int64_t end, int32_t,
                   void *) {
    auto *w = static_cast<const float *>(args[0]);
    auto *d = static_cast<float *>(args[1]);
    for (int64_t i = begin; i < end; ++i)
      d[i] = 2 * w[i];
    return LUMEN_ABI_OK;
  }
  // Would be SIGILL on a real CPU.
  static int forbidden(void *const *, const int64_t *, int64_t, int64_t, int32_t, void *) {
    __builtin_trap();
  }

  static float expected(float x, int64_t i) { return x * weight(i) + 2 * weight(i); }
  static float weight(int64_t i) { return 0.5f + static_cast<float>(i % 7); }

  FakeModel() {
    for (int64_t i = 0; i < n; ++i)
      weights[i] = weight(i);
    for (lumen_abi_variant &variant : variants)
      variant = {1, 0, nullptr, 0, nullptr, nullptr, n, 1, 16, nullptr};
    variants[0].level = 0;
    variants[0].code = reinterpret_cast<const void *>(forbidden);
    variants[1].code = reinterpret_cast<const void *>(scale);
    variants[2].code = reinterpret_cast<const void *>(add);
    variants[3].code = reinterpret_cast<const void *>(twice);

    abi.abi_version = LUMEN_ABI_VERSION;
    abi.size = sizeof(abi);
    abi.name = "fake";
    abi.producer = "test";
    abi.source_hash = "00";
    abi.num_inputs = abi.num_outputs = 1;
    abi.inputs = &input;
    abi.outputs = &output;
    abi.num_levels = levels.size();
    abi.levels = levels.data();
    pointToTables(abi, *this);
    abi.num_inits = 1;
    abi.inits = &init;
    abi.init_size = n * sizeof(float);
    abi.arena_size = abi.arena_lower_bound = n * sizeof(float);
    abi.bytes_without_sharing = 2 * n * sizeof(float);
    abi.weights = &weightsPointer;
    abi.weights_size = sizeof(weights);
  }
  FakeModel(const FakeModel &) = delete;

  alignas(64) float weights[n];
  const void *weightsPointer = weights;
  std::array<lumen_abi_dim, 1> dims = {{{n, n, nullptr, LUMEN_ABI_NONE, LUMEN_ABI_NONE}}};
  lumen_abi_value input = {"x", LUMEN_ABI_TENSOR, LUMEN_ABI_F32, 1, 0, dims.data()};
  lumen_abi_value output = {"y", LUMEN_ABI_TENSOR, LUMEN_ABI_F32, 1, 0, dims.data()};
  std::array<lumen_abi_level, 2> levels = {
      {{"x86-64-v9", LUMEN_ABI_CPU, 0, impossibleFeature | lowFeatures},
       {lowLevel, LUMEN_ABI_CPU, 0, lowFeatures}}};
  std::array<lumen_abi_variant, 4> variants;
  std::array<lumen_abi_kernel, 3> kernels = {
      {{"scale", 3, 2, &variants[0]}, {"add", 3, 1, &variants[2]}, {"twice", 2, 1, &variants[3]}}};
  std::array<lumen_abi_storage, 5> storages = {
      {{LUMEN_ABI_INPUT, 0, 0, sizeof(weights), LUMEN_ABI_NONE, 0, 1, 0},
       {LUMEN_ABI_WEIGHTS, 0, 0, sizeof(weights), LUMEN_ABI_NONE, 0, 1, 0},
       {LUMEN_ABI_ARENA, 0, 0, sizeof(weights), LUMEN_ABI_NONE, 0, 1, 0},
       {LUMEN_ABI_INIT, 0, 0, sizeof(weights), LUMEN_ABI_NONE, 0, 1, 0},
       {LUMEN_ABI_OUTPUT, 0, 0, sizeof(weights), LUMEN_ABI_NONE, 0, 1, 0}}};
  std::array<lumen_abi_buffer, 5> buffers = {{{0, LUMEN_ABI_NONE, 0, sizeof(weights), LUMEN_ABI_NONE, 0},
                                              {1, LUMEN_ABI_NONE, 0, sizeof(weights), LUMEN_ABI_NONE, 0},
                                              {2, LUMEN_ABI_NONE, 0, sizeof(weights), LUMEN_ABI_NONE, 0},
                                              {3, LUMEN_ABI_NONE, 0, sizeof(weights), LUMEN_ABI_NONE, 0},
                                              {4, LUMEN_ABI_NONE, 0, sizeof(weights), LUMEN_ABI_NONE, 0}}};
  std::array<uint32_t, 8> argBuffers = {0, 1, 2, 2, 3, 4, 1, 3};
  std::array<lumen_abi_launch, 2> launches = {
      {{0, LUMEN_ABI_ANY, 0, 0, 0, 1, "Mul 'mul'", n, 3 * sizeof(weights), LUMEN_ABI_NONE,
        LUMEN_ABI_NONE},
       {1, LUMEN_ABI_ANY, 3, 0, 0, 1, "Add 'add'", n, 3 * sizeof(weights), LUMEN_ABI_NONE,
        LUMEN_ABI_NONE}}};
  lumen_abi_launch init = {
      2, LUMEN_ABI_ANY, 6, 0, 0, 1, "Mul 'mul'", 0, 0, LUMEN_ABI_NONE, LUMEN_ABI_NONE};
  lumen_abi_model abi = {};
  lumen_module module = {&lumen_runtime_api, &abi};
};

// Sets an environment variable for one scope.
class ScopedEnv {
public:
  ScopedEnv(const char *name, const char *value) : name(name) { setenv(name, value, 1); }
  ~ScopedEnv() { unsetenv(name); }

private:
  const char *name;
};

} // namespace lumen::test

#endif
