//===- IntegerTest.cpp - integers, bits and predicates of the machine -----===//

#include "PtxKernel.h"

using namespace lumen::ptx;

namespace {

template <typename T> void checkArithmetic(const std::string &type) {
  using Wide = __int128;
  check<T, T, T>("add." + type + " %o, %a, %b", [](T a, T b) { return T(Wide(a) + b); });
  check<T, T, T>("sub." + type + " %o, %a, %b", [](T a, T b) { return T(Wide(a) - b); });
  check<T, T, T>("mul.lo." + type + " %o, %a, %b",
                 [](T a, T b) { return T(uint64_t(a) * uint64_t(b)); });
  check<T, T, T>("mul.hi." + type + " %o, %a, %b", [](T a, T b) {
    if constexpr (std::is_signed_v<T>)
      return T((Wide(a) * b) >> (8 * sizeof(T)));
    else
      return T(((unsigned __int128)a * b) >> (8 * sizeof(T)));
  });
  check<T, T, T, T>("mad.lo." + type + " %o, %a, %b, %c",
                    [](T a, T b, T c) { return T(uint64_t(a) * uint64_t(b) + uint64_t(c)); });
  check<T, T, T>("div." + type + " %o, %a, %b",
                 [](T a, T b) { return b == 0 ? T(-1) : T(Wide(a) / b); });
  check<T, T, T>("rem." + type + " %o, %a, %b",
                 [](T a, T b) { return b == 0 ? a : T(Wide(a) % b); });
  check<T, T, T>("min." + type + " %o, %a, %b", [](T a, T b) { return a < b ? a : b; });
  check<T, T, T>("max." + type + " %o, %a, %b", [](T a, T b) { return a > b ? a : b; });
  check<T, T, uint32_t>("shr." + type + " %o, %a, %b",
                        [](T a, uint32_t b) { return T(Wide(a) >> std::min(b, 64u)); });
  check<bool, T, T>("setp.lt." + type + " %o, %a, %b", [](T a, T b) { return a < b; });
  check<bool, T, T>("setp.ge." + type + " %o, %a, %b", [](T a, T b) { return a >= b; });
  check<bool, T, T>("setp.ne." + type + " %o, %a, %b", [](T a, T b) { return a != b; });
  check<T, T, T, bool>("selp." + type + " %o, %a, %b, %c",
                       [](T a, T b, bool c) { return c ? a : b; });
}

TEST(PtxInteger, Arithmetic) {
  checkArithmetic<int16_t>("s16");
  checkArithmetic<uint16_t>("u16");
  checkArithmetic<int32_t>("s32");
  checkArithmetic<uint32_t>("u32");
  checkArithmetic<int64_t>("s64");
  checkArithmetic<uint64_t>("u64");
}

TEST(PtxInteger, WideProducts) {
  check<int64_t, int32_t, int32_t>("mul.wide.s32 %o, %a, %b",
                                   [](int32_t a, int32_t b) { return int64_t(a) * b; });
  check<uint32_t, uint16_t, uint16_t>("mul.wide.u16 %o, %a, %b",
                                      [](uint16_t a, uint16_t b) { return uint32_t(a) * b; });
  check<int64_t, int32_t, int32_t, int64_t>(
      "mad.wide.s32 %o, %a, %b, %c", [](int32_t a, int32_t b, int64_t c) {
        return int64_t(uint64_t(int64_t(a) * b) + uint64_t(c));
      });
}

TEST(PtxInteger, NegateAndAbsolute) {
  check<int32_t, int32_t>("neg.s32 %o, %a", [](int32_t a) { return int32_t(-int64_t(a)); });
  check<int64_t, int64_t>("abs.s64 %o, %a",
                          [](int64_t a) { return a < 0 ? int64_t(0 - uint64_t(a)) : a; });
}

TEST(PtxInteger, Logic) {
  using U = uint32_t;
  check<U, U, U>("and.b32 %o, %a, %b", [](U a, U b) { return a & b; });
  check<U, U, U>("or.b32 %o, %a, %b", [](U a, U b) { return a | b; });
  check<uint16_t, uint16_t, uint16_t>("xor.b16 %o, %a, %b",
                                      [](uint16_t a, uint16_t b) { return uint16_t(a ^ b); });
  check<uint64_t, uint64_t>("not.b64 %o, %a", [](uint64_t a) { return ~a; });
  check<U, U>("cnot.b32 %o, %a", [](U a) { return U(a == 0); });
  // The table of a | (b & ~c).
  check<U, U, U, U>("lop3.b32 %o, %a, %b, %c, 0xF4", [](U a, U b, U c) { return a | (b & ~c); });
  check<bool, bool, bool>("and.pred %o, %a, %b", [](bool a, bool b) { return a && b; });
  check<bool, bool, bool>("or.pred %o, %a, %b", [](bool a, bool b) { return a || b; });
  check<bool, bool, bool>("xor.pred %o, %a, %b", [](bool a, bool b) { return a != b; });
  check<bool, bool>("not.pred %o, %a", [](bool a) { return !a; });
}

TEST(PtxInteger, Shifts) {
  using U = uint32_t;
  check<U, U, U>("shl.b32 %o, %a, %b", [](U a, U b) { return b < 32 ? a << b : 0; });
  check<uint64_t, uint64_t, U>("shl.b64 %o, %a, %b",
                               [](uint64_t a, U b) { return b < 64 ? a << b : 0; });
  check<uint16_t, uint16_t, U>("shr.b16 %o, %a, %b",
                               [](uint16_t a, U b) { return uint16_t(b < 16 ? a >> b : 0); });
  check<U, U, U, U>("shf.l.wrap.b32 %o, %a, %b, %c", [](U a, U b, U c) {
    c &= 31;
    return c ? b << c | a >> (32 - c) : b;
  });
  check<U, U, U, U>("shf.r.wrap.b32 %o, %a, %b, %c", [](U a, U b, U c) {
    c &= 31;
    return c ? a >> c | b << (32 - c) : a;
  });
  check<U, U, U, U>("shf.r.clamp.b32 %o, %a, %b, %c", [](U a, U b, U c) {
    c = std::min(c, 32u);
    return c == 0 ? a : c == 32 ? b : a >> c | b << (32 - c);
  });
}

TEST(PtxInteger, Bits) {
  using U = uint32_t;
  check<U, U>("popc.b32 %o, %a", [](U a) {
    U count = 0;
    for (; a; a >>= 1)
      count += a & 1;
    return count;
  });
  check<U, uint64_t>("clz.b64 %o, %a", [](uint64_t a) {
    U count = 0;
    for (int i = 63; i >= 0 && !(a >> i & 1); --i)
      ++count;
    return count;
  });
  check<U, U>("brev.b32 %o, %a", [](U a) {
    U result = 0;
    for (int i = 0; i < 32; ++i)
      result = result << 1 | (a >> i & 1);
    return result;
  });
  check<U, int32_t>("bfind.s32 %o, %a", [](int32_t a) {
    for (int i = 31; i >= 0; --i)
      if ((a >> i & 1) != (a < 0))
        return U(i);
    return ~0u;
  });
  check<U, U>("bfe.u32 %o, %a, 5, 9", [](U a) { return a >> 5 & 511; });
  check<int32_t, int32_t>("bfe.s32 %o, %a, 28, 9", [](int32_t a) { return a >> 28; });
  check<U, U, U>("bfi.b32 %o, %a, %b, 4, 8",
                 [](U a, U b) { return (b & ~0xFF0u) | (a & 0xFF) << 4; });
  check<U, U, U>("prmt.b32 %o, %a, %b, 0x9C40", [](U a, U b) {
    auto sign = [](U byte) { return byte & 128 ? 255u : 0u; };
    return (a & 255) | (b & 255) << 8 | sign(b & 255) << 16 | sign(a >> 8 & 255) << 24;
  });
}

TEST(PtxInteger, DotProducts) {
  check<int32_t, uint32_t, uint32_t, int32_t>(
      "dp4a.s32.u32 %o, %a, %b, %c", [](uint32_t a, uint32_t b, int32_t c) {
        for (int i = 0; i < 32; i += 8)
          c = int32_t(uint32_t(c) + uint32_t(int8_t(a >> i) * int(uint8_t(b >> i))));
        return c;
      });
}

TEST(PtxInteger, Carries) {
  // A sum of 128 bits in two halves, the upper one of them.
  check<uint64_t, uint64_t, uint64_t, uint64_t>(
      "add.cc.u64 %d4, %a, %b;\naddc.u64 %o, %c, %b",
      [](uint64_t a, uint64_t b, uint64_t c) { return c + b + (a + b < a); });
  check<uint32_t, uint32_t, uint32_t, uint32_t>(
      "sub.cc.u32 %r5, %a, %b;\nsubc.u32 %o, %c, %b",
      [](uint32_t a, uint32_t b, uint32_t c) { return c - b - (a < b); });
}

} // namespace
