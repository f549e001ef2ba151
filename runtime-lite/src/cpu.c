/* cpu.c - cpuid and its like. Baseline code only: it runs before we know more. */
#include "cpu.h"

#include "lumen_abi.h"

#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

typedef struct level_name {
  const char *name;
  uint64_t features;
} level_name;

/* From the least demanding. */
static const level_name levels[] = {
#if defined(__x86_64__)
    {"x86-64", 0},
    {"x86-64-v2", LUMEN_ABI_X86_V2},
    {"x86-64-v3", LUMEN_ABI_X86_V3},
    {"x86-64-v4", LUMEN_ABI_X86_V4},
    {"x86-64-v4+vnni", LUMEN_ABI_X86_V4 | LUMEN_ABI_X86_VNNI},
    {"x86-64-v4+vnni+bf16", LUMEN_ABI_X86_V4 | LUMEN_ABI_X86_VNNI | LUMEN_ABI_X86_BF16},
#elif defined(__aarch64__)
    {"aarch64", LUMEN_ABI_ARM_NEON},
    {"aarch64+dotprod", LUMEN_ABI_ARM_NEON | LUMEN_ABI_ARM_DOTPROD},
#endif
};
enum { num_levels = sizeof(levels) / sizeof(levels[0]) };

#if defined(__x86_64__)
typedef struct registers {
  uint32_t a, b, c, d;
} registers;

static registers cpuid(uint32_t leaf, uint32_t subleaf) {
  registers r;
  __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "0"(leaf), "2"(subleaf));
  return r;
}

static int has_all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

#define BIT(n) (1u << (n))

uint64_t lumen_cpu_features(void) {
  uint32_t leaves = cpuid(0, 0).a;
  registers base = cpuid(1, 0), none = {0, 0, 0, 0};
  registers extended = cpuid(0x80000000u, 0).a >= 0x80000001u ? cpuid(0x80000001u, 0) : none;
  registers seven = leaves >= 7 ? cpuid(7, 0) : none;
  registers seven_one = seven.a >= 1 ? cpuid(7, 1) : none;

  /* XCR0: which registers the system saves. 6: SSE and AVX; 0xe6: AVX-512 too. */
  uint32_t saved = 0;
  if (base.c & BIT(27)) {
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  }

  uint64_t features = 0;
  /* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF. */
  if (!has_all(base.c, BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23)) ||
      !has_all(extended.c, BIT(0)))
    return features;
  features |= LUMEN_ABI_X86_V2;
  /* FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT. */
  if (!has_all(base.c, BIT(12) | BIT(22) | BIT(28) | BIT(29)) ||
      !has_all(seven.b, BIT(3) | BIT(5) | BIT(8)) || !has_all(extended.c, BIT(5)) ||
      !has_all(saved, 0x6))
    return features;
  features |= LUMEN_ABI_X86_V3;
  /* AVX-512 F, DQ, CD, BW, VL. */
  if (!has_all(seven.b, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)) || !has_all(saved, 0xe6))
    return features;
  features |= LUMEN_ABI_X86_V4;
  if (seven.c & BIT(11))
    features |= LUMEN_ABI_X86_VNNI;
  if (seven_one.a & BIT(5))
    features |= LUMEN_ABI_X86_BF16;
  return features;
}

void lumen_cpu_name(char name[96]) {
  memset(name, 0, 96);
  if (cpuid(0x80000000u, 0).a >= 0x80000004u)
    for (uint32_t i = 0; i < 3; ++i) {
      registers r = cpuid(0x80000002u + i, 0);
      memcpy(name + 16 * i, &r, 16);
    }
  size_t begin = 0, length = strlen(name);
  while (name[begin] == ' ')
    ++begin;
  while (length > begin && name[length - 1] == ' ')
    --length;
  memmove(name, name + begin, length - begin);
  name[length - begin] = 0;
  if (!name[0])
    strcpy(name, "x86-64 CPU");
}

#elif defined(__aarch64__)

uint64_t lumen_cpu_features(void) {
  unsigned long capabilities = getauxval(AT_HWCAP);
  uint64_t features = 0;
  if (capabilities & (1ul << 1)) /* HWCAP_ASIMD */
    features |= LUMEN_ABI_ARM_NEON;
  if (capabilities & (1ul << 20)) /* HWCAP_ASIMDDP */
    features |= LUMEN_ABI_ARM_DOTPROD;
  return features;
}

void lumen_cpu_name(char name[96]) { strcpy(name, "AArch64 CPU"); }

#else
#error "no CPU detection for this architecture"
#endif

uint64_t lumen_cpu_implied(uint64_t features) {
  if (features & (LUMEN_ABI_X86_VNNI | LUMEN_ABI_X86_BF16))
    features |= LUMEN_ABI_X86_V4;
  if (features & LUMEN_ABI_X86_V4)
    features |= LUMEN_ABI_X86_V3;
  if (features & LUMEN_ABI_X86_V3)
    features |= LUMEN_ABI_X86_V2;
  if (features & LUMEN_ABI_ARM_DOTPROD)
    features |= LUMEN_ABI_ARM_NEON;
  return features;
}

int lumen_cpu_level_features(const char *name, uint64_t *features) {
  for (int i = 0; i < num_levels; ++i)
    if (!strcmp(levels[i].name, name)) {
      *features = levels[i].features;
      return 1;
    }
  return 0;
}

const char *lumen_cpu_level_name(uint64_t features) {
  for (int i = num_levels; i-- > 0;)
    if ((levels[i].features & ~features) == 0)
      return levels[i].name;
  return "no level";
}
