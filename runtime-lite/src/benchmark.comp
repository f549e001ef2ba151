// The kernels by which lumen_benchmark measures a device: benchmark_spirv.inc has them
// compiled. benchmark.c has the same for a CPU.
//
//   for kernel in MULTIPLY COPY: glslangValidator -V --target-env vulkan1.1 -D$kernel
//     -e <kernel in small letters> --source-entrypoint main -x -o <file> benchmark.comp
#version 450
layout(local_size_x = 64) in;

#ifdef MULTIPLY
layout(set = 0, binding = 0) writeonly buffer Results { float y[]; };
layout(set = 0, binding = 1) readonly buffer Parameters { int words[]; };
#else
layout(set = 0, binding = 0) readonly buffer From { float x[]; };
layout(set = 0, binding = 1) writeonly buffer To { float y[]; };
layout(set = 0, binding = 2) readonly buffer Parameters { int words[]; };
#endif

void main() {
  int units = words[0], stride = words[1] * 64;
  for (int unit = int(gl_GlobalInvocationID.x); unit < units; unit += stride) {
#ifdef MULTIPLY
    // Eight chains, so that none waits for its last result.
    float a = float(unit), b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6,
          h = a + 7;
    for (int i = 0; i < 256; ++i) {
      a = a * 0.5 + 0.25;
      b = b * 0.5 + 0.25;
      c = c * 0.5 + 0.25;
      d = d * 0.5 + 0.25;
      e = e * 0.5 + 0.25;
      f = f * 0.5 + 0.25;
      g = g * 0.5 + 0.25;
      h = h * 0.5 + 0.25;
    }
    y[unit] = a + b + c + d + e + f + g + h;
#else
    y[unit] = x[unit];
#endif
  }
}
