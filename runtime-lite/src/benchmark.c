/* benchmark.c - measures a device with a model of its own, through all that models go. */
#define _GNU_SOURCE
#include "benchmark.h"
#include "driver.h"
#include "rates.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  num_values = 8 << 20,     /* floats that are copied */
  num_products = 256 << 10, /* units of "multiply" */
  flops_of_product = 4096,  /* 8 chains of 256 multiplications and additions */
  num_targets = 4,          /* that can have code here */
  many_launches = 101,
  most_launches = 400
};

/* `nothing` copies as good as nothing, `pass` from an input to an output. */
typedef enum kernel { multiply, copy, nothing, pass, num_kernels } kernel;

/* ---- On a CPU ----------------------------------------------------------- */

/* Units of one chain per lane; vectors as wide as the level has, two multiply-adds a cycle
 * of which each takes four. */
#define MULTIPLY(name, bytes, ...)                                                                 \
  __VA_ARGS__ static int name(void *const *args, const int64_t *sizes, int64_t begin, int64_t end, \
                              int32_t worker, void *scratch) {                                     \
    typedef float vector __attribute__((vector_size(bytes)));                                      \
    enum { lanes = (bytes) / sizeof(float) };                                                      \
    (void)sizes, (void)worker, (void)scratch;                                                      \
    for (int64_t unit = begin; unit < end; unit += lanes) {                                        \
      vector chains[8], sum;                                                                       \
      for (int c = 0; c < 8; ++c)                                                                  \
        for (int l = 0; l < lanes; ++l)                                                            \
          chains[c][l] = (float)(unit + l + c);                                                    \
      for (int i = 0; i < 256; ++i)                                                                \
        for (int c = 0; c < 8; ++c)                                                                \
          chains[c] = chains[c] * 0.5f + 0.25f;                                                    \
      sum = chains[0];                                                                             \
      for (int c = 1; c < 8; ++c)                                                                  \
        sum += chains[c];                                                                          \
      int64_t count = end - unit < lanes ? end - unit : lanes;                                     \
      memcpy((float *)args[0] + unit, &sum, (uint64_t)count * sizeof(float));                      \
    }                                                                                              \
    return LUMEN_ABI_OK;                                                                           \
  }

MULTIPLY(multiply_any, 16)
#if defined(__x86_64__)
MULTIPLY(multiply_v3, 32, __attribute__((target("avx2,fma"))))
MULTIPLY(multiply_v4, 64, __attribute__((target("avx512f,fma"))))
#endif

static int copy_values(void *const *args, const int64_t *sizes, int64_t begin, int64_t end,
                       int32_t worker, void *scratch) {
  (void)sizes, (void)worker, (void)scratch;
  memcpy((float *)args[1] + begin, (const float *)args[0] + begin,
         (uint64_t)(end - begin) * sizeof(float));
  return LUMEN_ABI_OK;
}

static const lumen_abi_cpu_kernel multiply_of_level[] = {
#if defined(__x86_64__)
    multiply_v4, multiply_v3,
#endif
    multiply_any};

static const lumen_abi_level cpu_levels[] = {
#if defined(__x86_64__)
    {"x86-64-v4", LUMEN_ABI_CPU, 0, LUMEN_ABI_X86_V2 | LUMEN_ABI_X86_V3 | LUMEN_ABI_X86_V4},
    {"x86-64-v3", LUMEN_ABI_CPU, 0, LUMEN_ABI_X86_V2 | LUMEN_ABI_X86_V3},
#endif
    {"any", LUMEN_ABI_CPU, 0, 0}};

enum { num_cpu_levels = sizeof(cpu_levels) / sizeof(cpu_levels[0]) };

/* ---- The model ---------------------------------------------------------- */

typedef struct tables {
  lumen_abi_level levels[num_cpu_levels + num_targets];
  lumen_abi_gpu_launch gpu;
  lumen_abi_variant variants[num_kernels][num_cpu_levels + num_targets];
  lumen_abi_kernel kernels[num_kernels];
  lumen_abi_storage storages[3];
  lumen_abi_buffer buffers[4];
  uint32_t args[4];
  lumen_abi_dim dim;
  lumen_abi_value values[2];
  lumen_abi_launch launches[most_launches];
  lumen_abi_model abi;
  lumen_module module;
} tables;

static void add_variant(tables *tables, kernel kernel, uint32_t level, const void *code,
                        uint64_t size) {
  static const int64_t grids[] = {num_products, num_values, lumen_benchmark_block, num_values};
  lumen_abi_kernel *info = &tables->kernels[kernel];
  tables->variants[kernel][info->num_variants++] =
      (lumen_abi_variant){.level = level,
                          .code = code,
                          .code_size = size,
                          .grid = grids[kernel],
                          .grain = 4096,
                          .launch_info = size ? &tables->gpu : NULL};
}

static void fill(tables *tables, const lumen_api *api, kernel kernel, uint32_t count) {
  static const char *const names[] = {"multiply", "copy", "copy", "copy"};
  *tables = (struct tables){
      .gpu = {.block = lumen_benchmark_block, .units_per_workgroup = lumen_benchmark_block}};
  const uint64_t bytes = num_values * sizeof(float);
  uint32_t num_levels = num_cpu_levels;
  memcpy(tables->levels, cpu_levels, sizeof(cpu_levels));
  for (uint32_t k = 0; k < num_kernels; ++k) {
    tables->kernels[k] =
        (lumen_abi_kernel){names[k], k == multiply ? 1 : 2, 0, tables->variants[k]};
    for (uint32_t l = 0; l < num_cpu_levels; ++l) {
      lumen_abi_cpu_kernel function = k == multiply ? multiply_of_level[l] : copy_values;
      const void *code;
      memcpy(&code, &function, sizeof(code));
      add_variant(tables, k, l, code, 0);
    }
  }
  for (uint32_t d = 0; d < lumen_num_drivers; ++d) {
    const lumen_benchmark_code *code = lumen_drivers[d] ? lumen_drivers[d]->benchmark : NULL;
    if (!code)
      continue;
    tables->levels[num_levels] = (lumen_abi_level){.name = "benchmark", .target = code->target};
    add_variant(tables, multiply, num_levels, code->multiply.code, code->multiply.size);
    add_variant(tables, copy, num_levels, code->copy.code, code->copy.size);
    add_variant(tables, nothing, num_levels, code->copy.code, code->copy.size);
    add_variant(tables, pass, num_levels++, code->copy.code, code->copy.size);
  }
  const uint32_t regions[] = {LUMEN_ABI_ARENA, LUMEN_ABI_INPUT, LUMEN_ABI_OUTPUT};
  for (uint32_t s = 0; s < 3; ++s)
    tables->storages[s] = (lumen_abi_storage){.region = regions[s],
                                              .size = s ? bytes : 2 * bytes,
                                              .size_expr = LUMEN_ABI_NONE,
                                              .last = count};
  for (uint32_t b = 0; b < 4; ++b) {
    tables->buffers[b] = (lumen_abi_buffer){.storage = b < 2 ? 0 : b - 1,
                                            .offset_expr = LUMEN_ABI_NONE,
                                            .offset = b == 1 ? bytes : 0,
                                            .size = bytes,
                                            .size_expr = LUMEN_ABI_NONE};
    tables->args[b] = b;
  }
  tables->dim = (lumen_abi_dim){num_values, num_values, NULL, LUMEN_ABI_NONE, LUMEN_ABI_NONE};
  for (uint32_t v = 0; v < 2; ++v)
    tables->values[v] = (lumen_abi_value){
        .name = v ? "to" : "from", .dtype = LUMEN_ABI_F32, .rank = 1, .dims = &tables->dim};
  for (uint32_t i = 0; i < count; ++i)
    tables->launches[i] = (lumen_abi_launch){.kernel = kernel,
                                             .first_arg = kernel == pass ? 2 : 0,
                                             .num_outputs = 1,
                                             .nodes = names[kernel],
                                             .flops_expr = LUMEN_ABI_NONE,
                                             .bytes_expr = LUMEN_ABI_NONE};
  tables->abi = (lumen_abi_model){.abi_version = LUMEN_ABI_VERSION,
                                  .size = sizeof(tables->abi),
                                  .name = "benchmark",
                                  .producer = "",
                                  .source_hash = "benchmark",
                                  .num_levels = num_levels,
                                  .num_kernels = num_kernels,
                                  .levels = tables->levels,
                                  .kernels = tables->kernels,
                                  .num_inputs = kernel == pass,
                                  .num_outputs = kernel == pass,
                                  .inputs = &tables->values[0],
                                  .outputs = &tables->values[1],
                                  .num_storages = 3,
                                  .storages = tables->storages,
                                  .num_buffers = 4,
                                  .num_launches = count,
                                  .buffers = tables->buffers,
                                  .arg_buffers = tables->args,
                                  .launches = tables->launches,
                                  .arena_size = 2 * bytes};
  tables->module = (lumen_module){api, &tables->abi};
}

/* ---- Measuring ---------------------------------------------------------- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* The shortest of several runs, in microseconds. */
static int time_runs(lumen_context *context, const lumen_value *input, double *shortest,
                     lumen_status *status) {
  lumen_value output = {0};
  uint32_t count = input != NULL;
  /* The first one touches memory and makes ready what is made once. */
  int code = lumen_run_impl(context, input, count, &output, count, status);
  double begin = now(), last = begin;
  *shortest = 1e12;
  for (int i = 0; !code && (i < 3 || (i < 100 && last - begin < 5e4)); ++i) {
    code = lumen_run_impl(context, input, count, &output, count, status);
    double end = now();
    *shortest = end - last < *shortest ? end - last : *shortest;
    last = end;
  }
  return code;
}

typedef struct benchmark {
  tables tables;
  const lumen_api *api;
  const char *wanted;
  char kind[16], name[96]; /* of the device that is measured */
} benchmark;

/* A run of so many launches of a kernel. */
static int time_launches(benchmark *benchmark, kernel kernel, uint32_t count, double *shortest,
                         lumen_status *status) {
  fill(&benchmark->tables, benchmark->api, kernel, count);
  lumen_model_options options = {.device = benchmark->wanted, .flags = LUMEN_NO_ROUTE};
  lumen_model *base;
  lumen_context *context = NULL;
  int code = lumen_model_open_impl(&benchmark->tables.module, &options, &base, status);
  if (code)
    return code;
  device *device = lumen_device_acquire((model *)base);
  strncpy(benchmark->kind, device->driver->kind, sizeof(benchmark->kind) - 1);
  memcpy(benchmark->name, device->name, sizeof(benchmark->name));
  lumen_device_release(device);
  code = lumen_context_create_impl(base, NULL, &context, status);
  int64_t shape[] = {num_values};
  float *values = kernel == pass ? lumen_allocate(num_values * sizeof(float)) : NULL;
  lumen_value input = lumen_tensor_value(values, LUMEN_F32, 1, shape);
  if (!code && kernel == pass && !values)
    code = lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "no memory to measure a device");
  if (!code)
    code = time_runs(context, values ? &input : NULL, shortest, status);
  free(values);
  if (context)
    (void)lumen_context_release_impl(context);
  (void)lumen_model_release_impl(base);
  return code;
}

/* Work per microsecond of launches that do `work` each: enough of them that the way there
 * does not count. */
static int measure_rate(benchmark *benchmark, kernel kernel, double work, double *rate,
                        lumen_status *status) {
  double spent;
  uint32_t count = 1;
  int code = time_launches(benchmark, kernel, count, &spent, status);
  if (!code && spent < 1e4) {
    double wanted = 2e4 / (spent + 1);
    count = wanted < most_launches ? (uint32_t)wanted : most_launches;
    code = time_launches(benchmark, kernel, count, &spent, status);
  }
  *rate = work * count / spent;
  return code;
}

int lumen_benchmark_measure(const lumen_api *api, const char *device, lumen_device_rates *rates,
                            lumen_status *status) {
  benchmark *state = calloc(1, sizeof(*state));
  if (!state)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "no memory to measure a device");
  state->api = api;
  state->wanted = device;
  double one, many, flops, bytes, passing;
  int code = time_launches(state, nothing, 1, &one, status);
  if (!code)
    code = time_launches(state, nothing, many_launches, &many, status);
  if (!code)
    code = measure_rate(state, multiply, (double)num_products * flops_of_product, &flops, status);
  if (!code)
    code = measure_rate(state, copy, 2.0 * num_values * sizeof(float), &bytes, status);
  if (!code)
    code = time_launches(state, pass, 1, &passing, status);
  if (!code) {
    double launch = (many - one) / (many_launches - 1), least = 1e-3;
    /* In and out again, beside the kernel itself. */
    const double amount = 2.0 * num_values * sizeof(float);
    double copying = passing - one - amount / bytes, shortest = amount / 1e6;
    *rates = (lumen_device_rates){.gflops = flops * 1e-3,
                                  .gbytes = bytes * 1e-3,
                                  .launch_us = launch > least ? launch : least,
                                  .run_us = one - launch > least ? one - launch : least,
                                  .is_measured = 1,
                                  .copy_gbytes =
                                      amount * 1e-3 / (copying > shortest ? copying : shortest)};
    lumen_rates_keep(state->kind, state->name, rates);
  }
  free(state);
  return code;
}
