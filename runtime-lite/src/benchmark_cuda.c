/* benchmark_cuda.c - see benchmark.h. */
#include "benchmark.h"
#include "benchmark_ptx.inc"

const lumen_benchmark_code lumen_benchmark_cuda = {
    .measure = lumen_benchmark_measure,
    .target = LUMEN_ABI_PTX,
    .multiply = {multiply_text, sizeof(multiply_text)},
    .copy = {copy_text, sizeof(copy_text)}};
