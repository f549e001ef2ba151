//===- PtxKernel.h - small kernels of PTX for tests --------------*- C++ -*-===//
#ifndef LUMEN_TEST_UNIT_PTX_PTXKERNEL_H
#define LUMEN_TEST_UNIT_PTX_PTXKERNEL_H

#include "test/ptx/Machine.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <cstring>
#include <random>

namespace lumen::ptx {

/// A module with one kernel `k` of this body. It has the parameters `x` and `y`, addresses of
/// memory, which %x and %y hold, and %t, the thread, and registers %p, %h, %r, %d (of 16, 32 and
/// 64 bits) from 0 to 19.
std::string moduleOf(const std::string &body, const std::string &declarations = "",
                     const char *target = "sm_80");

/// Runs `moduleOf(body)` on `threads` threads; what it says is wrong, or nothing.
struct RunKernel {
  std::vector<uint32_t> x = std::vector<uint32_t>(64), y = std::vector<uint32_t>(64);
  uint32_t threads = 32, groups = 1, dynamicShared = 0;
  Checks checks;
  std::string operator()(const std::string &body, const std::string &declarations = "");
};

using Row = std::array<uint64_t, 3>;

/// What `instruction` makes in %o of %a, %b and %c. `letters` are those of their types, the
/// result first: p a predicate, h w d registers of 16, 32 and 64 bits.
std::vector<uint64_t> compute(const std::string &instruction, const std::string &letters,
                              const std::vector<Row> &rows);

/// Bits that are special for some type, and random ones.
std::vector<Row> someRows(uint32_t count = 4096);

template <typename To, typename From> To bitsAs(From from) {
  To to{};
  std::memcpy(&to, &from, std::min(sizeof(to), sizeof(from)));
  return to;
}

template <typename T> constexpr char letter() {
  return std::is_same_v<T, bool> ? 'p' : sizeof(T) == 2 ? 'h' : sizeof(T) == 4 ? 'w' : 'd';
}

template <typename T> T valueOf(uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>)
    return bits & 1;
  else
    return bitsAs<T>(bits);
}

/// Expects of `instruction`, whose operands are %o, %a, %b and %c, what `expected` computes.
/// NaN is any NaN. `isDefined`: whether a row may be looked at.
template <typename Result, typename... Inputs, typename Function>
void check(const std::string &instruction, Function expected,
           const std::vector<Row> &rows = someRows()) {
  std::vector<uint64_t> results =
      compute(instruction, {letter<Result>(), letter<Inputs>()...}, rows);
  ASSERT_EQ(results.size(), rows.size()) << instruction;
  int wrong = 0;
  for (size_t i = 0; i < rows.size() && wrong < 5; ++i) {
    size_t next = 0;
    std::tuple<Inputs...> inputs{valueOf<Inputs>(rows[i][next++])...};
    Result want = std::apply(expected, inputs), got = valueOf<Result>(results[i]);
    bool isSame = bitsAs<uint64_t>(want) == bitsAs<uint64_t>(got);
    if constexpr (std::is_floating_point_v<Result>)
      isSame |= std::isnan(want) && std::isnan(got);
    if (!isSame && ++wrong)
      ADD_FAILURE() << instruction << " of " << std::hex << rows[i][0] << ", " << rows[i][1] << ", "
                    << rows[i][2] << ": got " << bitsAs<uint64_t>(got) << ", expected "
                    << bitsAs<uint64_t>(want);
  }
}

} // namespace lumen::ptx

#endif // LUMEN_TEST_UNIT_PTX_PTXKERNEL_H
