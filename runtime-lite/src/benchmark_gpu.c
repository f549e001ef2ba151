/* The kernels of benchmark.comp for CUDA: benchmark_ptx.inc has them compiled.
 *
 *   for kernel in MULTIPLY COPY: clang --target=nvptx64-nvidia-cuda -march=sm_75
 *     --cuda-feature=+ptx63 -ffp-contract=fast -O2 -D$kernel -S -o - benchmark_gpu.c */
#define GLOBAL __attribute__((address_space(1))) *restrict

#ifdef MULTIPLY
__attribute__((nvptx_kernel)) void multiply(float GLOBAL y, const int GLOBAL words) {
#else
__attribute__((nvptx_kernel)) void copy(const float GLOBAL x, float GLOBAL y,
                                        const int GLOBAL words) {
#endif
  int units = words[0], stride = words[1] * 64;
  int unit = __nvvm_read_ptx_sreg_ctaid_x() * 64 + __nvvm_read_ptx_sreg_tid_x();
  for (; unit < units; unit += stride) {
#ifdef MULTIPLY
    /* Eight chains, so that none waits for its last result. */
    float a = unit, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
#pragma unroll 1
    for (int i = 0; i < 256; ++i) {
      a = a * 0.5f + 0.25f;
      b = b * 0.5f + 0.25f;
      c = c * 0.5f + 0.25f;
      d = d * 0.5f + 0.25f;
      e = e * 0.5f + 0.25f;
      f = f * 0.5f + 0.25f;
      g = g * 0.5f + 0.25f;
      h = h * 0.5f + 0.25f;
    }
    y[unit] = a + b + c + d + e + f + g + h;
#else
    y[unit] = x[unit];
#endif
  }
}
