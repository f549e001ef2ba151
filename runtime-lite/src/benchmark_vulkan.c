/* benchmark_vulkan.c - see benchmark.h. */
#include "benchmark.h"
#include "benchmark_spirv.inc"

const lumen_benchmark_code lumen_benchmark_vulkan = {
    .measure = lumen_benchmark_measure,
    .target = LUMEN_ABI_SPIRV,
    .multiply = {multiply_words, sizeof(multiply_words)},
    .copy = {copy_words, sizeof(copy_words)}};
