//===- Integer.cpp - instructions on integers, bits and predicates --------===//
//
// PTX ISA, "Integer Arithmetic Instructions", "Comparison and Selection Instructions" and
// "Logic and Shift Instructions".
//
//===----------------------------------------------------------------------===//

#include "Instructions.h"

#include <algorithm>

using namespace lumen::ptx;

namespace {

template <typename T> using Unsigned = std::make_unsigned_t<T>;
template <typename T> constexpr int kBits = sizeof(T) * 8;
/// An integer of twice the bits.
template <typename T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

// Unsigned arithmetic wraps; that of less than 32 bits is done in `int`, which does not.
template <typename T> T add(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T> T subtract(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <typename T> T multiplyLow(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <typename T> T multiplyHigh(T a, T b) {
  return static_cast<T>((static_cast<Double<T>>(a) * b) >> kBits<T>);
}
template <typename T> Double<T> multiplyWide(T a, T b) { return static_cast<Double<T>>(a) * b; }
template <typename T> T multiplyAddLow(T a, T b, T c) { return add(multiplyLow(a, b), c); }
template <typename T> T multiplyAddHigh(T a, T b, T c) { return add(multiplyHigh(a, b), c); }
template <typename T> Double<T> multiplyAddWide(T a, T b, Double<T> c) {
  return add(multiplyWide(a, b), c);
}
// Dividing by zero gives "an unspecified, machine-specific value".
template <typename T> T divide(T a, T b) {
  if (b == 0)
    return static_cast<T>(-1);
  return b == static_cast<T>(-1) && std::is_signed_v<T> ? subtract(T(0), a) : static_cast<T>(a / b);
}
template <typename T> T remainder(T a, T b) {
  if (b == 0)
    return a;
  return b == static_cast<T>(-1) && std::is_signed_v<T> ? T(0) : static_cast<T>(a % b);
}
template <typename T> T negate(T a) { return subtract(T(0), a); }
template <typename T> T absolute(T a) { return a < 0 ? negate(a) : a; }
template <typename T> T least(T a, T b) { return std::min(a, b); }
template <typename T> T most(T a, T b) { return std::max(a, b); }
int32_t addSaturated(int32_t a, int32_t b) {
  return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} + b, INT32_MIN, INT32_MAX));
}
int32_t subtractSaturated(int32_t a, int32_t b) {
  return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} - b, INT32_MIN, INT32_MAX));
}

template <typename T> T bitAnd(T a, T b) { return a & b; }
template <typename T> T bitOr(T a, T b) { return a | b; }
template <typename T> T bitXor(T a, T b) { return a ^ b; }
template <typename T> T bitNot(T a) { return static_cast<T>(~a); }
template <typename T> T logicalNot(T a) { return a == 0; }
// Shifts by more than there are bits are as by that many.
template <typename T> T shiftLeft(T a, uint32_t count) {
  return count < kBits<T> ? static_cast<T>(static_cast<uint64_t>(a) << count) : T(0);
}
template <typename T> T shiftRight(T a, uint32_t count) {
  if (count < kBits<T>)
    return static_cast<T>(a >> count);
  return static_cast<T>(a < 0 ? -1 : 0);
}
uint32_t funnelLeft(uint32_t low, uint32_t high, uint32_t count) {
  return static_cast<uint32_t>(((uint64_t{high} << 32 | low) << count) >> 32);
}
uint32_t funnelRight(uint32_t low, uint32_t high, uint32_t count) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> count);
}
uint32_t funnelLeftWrap(uint32_t a, uint32_t b, uint32_t c) { return funnelLeft(a, b, c & 31); }
uint32_t funnelRightWrap(uint32_t a, uint32_t b, uint32_t c) { return funnelRight(a, b, c & 31); }
uint32_t funnelLeftClamp(uint32_t a, uint32_t b, uint32_t c) {
  return funnelLeft(a, b, std::min(c, 32u));
}
uint32_t funnelRightClamp(uint32_t a, uint32_t b, uint32_t c) {
  return funnelRight(a, b, std::min(c, 32u));
}

template <typename T> uint32_t countOnes(T a) {
  return static_cast<uint32_t>(__builtin_popcountll(a));
}
template <typename T> uint32_t countLeadingZeros(T a) {
  return a ? static_cast<uint32_t>(__builtin_clzll(a)) - (64 - kBits<T>) : kBits<T>;
}
template <typename T> T reverseBits(T a) {
  T result = 0;
  for (int i = 0; i < kBits<T>; ++i)
    result |= (a >> i & 1) << (kBits<T> - 1 - i);
  return result;
}
template <typename T> uint32_t findLeading(T a) {
  Unsigned<T> bits = static_cast<Unsigned<T>>(a < 0 ? ~a : a);
  return bits ? kBits<T> - 1 - countLeadingZeros(bits) : ~0u;
}
template <typename T> uint32_t findLeadingShift(T a) {
  uint32_t position = findLeading(a);
  return position == ~0u ? ~0u : kBits<T> - 1 - position;
}
template <typename T> T extractBits(T a, uint32_t position, uint32_t length) {
  position &= 255;
  length &= 255;
  uint32_t last = std::min<uint32_t>(position + length - 1, kBits<T> - 1);
  bool sign = std::is_signed_v<T> && length && (a >> last & 1);
  Unsigned<T> result = 0;
  for (uint32_t i = 0; i < kBits<T>; ++i) {
    bool bit = i < length && position + i < kBits<T> ? a >> (position + i) & 1 : sign;
    result |= static_cast<Unsigned<T>>(bit) << i;
  }
  return static_cast<T>(result);
}
template <typename T> T insertBits(T a, T b, uint32_t position, uint32_t length) {
  position &= 255;
  length &= 255;
  for (uint32_t i = 0; i < length && position + i < kBits<T>; ++i) {
    T bit = T(1) << (position + i);
    b = a >> i & 1 ? b | bit : b & ~bit;
  }
  return b;
}
uint32_t anyLogic(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (uint32_t row = 0; row < 8; ++row)
    if (table >> row & 1)
      result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  return result;
}
uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selection) {
  uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t selector = selection >> (4 * i) & 15;
    auto byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7)) & 255);
    if (selector & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
template <typename A, typename B, typename Sum> Sum dotBytes(uint32_t a, uint32_t b, Sum c) {
  int64_t sum = c;
  for (int i = 0; i < 4; ++i)
    sum += int64_t{static_cast<A>(a >> (8 * i))} * static_cast<B>(b >> (8 * i));
  return static_cast<Sum>(sum);
}

template <typename T> bool equal(T a, T b) { return a == b; }
template <typename T> bool unequal(T a, T b) { return a != b; }
template <typename T> bool less(T a, T b) { return a < b; }
template <typename T> bool lessEqual(T a, T b) { return a <= b; }
template <typename T> bool greater(T a, T b) { return a > b; }
template <typename T> bool greaterEqual(T a, T b) { return a >= b; }
template <typename T> T select(T a, T b, bool isFirst) { return isFirst ? a : b; }

/// Predicates are bits of a word.
template <uint32_t (*Compute)(uint32_t, uint32_t)>
void onMasks(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  warp.setPredicate(instruction, 0,
                    Compute(warp.predicate(instruction, 1),
                            warp.predicate(instruction, instruction.numOperands - 1)),
                    lanes);
}
uint32_t complement(uint32_t a, uint32_t) { return ~a; }
uint32_t identity(uint32_t a, uint32_t) { return a; }

// "Extended-Precision Integer Arithmetic Instructions". The carry is a register of its own,
// which statements cannot name: the parser adds it as the last operands, in and out.
template <typename T, bool TakesCarry, bool IsSubtraction>
void addWithCarry(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  T *result = warp.at<T>(instruction, 0);
  const T *a = warp.at<T>(instruction, 1), *b = warp.at<T>(instruction, 2);
  uint32_t carries = warp.predicate(instruction, 3), out = 0;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    T carry = TakesCarry ? carries >> lane & 1 : 0, x = a[lane], y = b[lane], sum;
    bool overflow =
        IsSubtraction ? __builtin_sub_overflow(x, y, &sum) : __builtin_add_overflow(x, y, &sum);
    overflow |= IsSubtraction ? __builtin_sub_overflow(sum, carry, &sum)
                              : __builtin_add_overflow(sum, carry, &sum);
    result[lane] = sum;
    out |= static_cast<uint32_t>(overflow) << lane;
  }
  warp.setPredicate(instruction, 3, out, lanes);
}

template <typename T> void addArithmetic(Table &table, const std::string &type) {
  table.add<add<T>>("add." + type);
  table.add<subtract<T>>("sub." + type);
  table.add<multiplyLow<T>>("mul.lo." + type);
  table.add<multiplyHigh<T>>("mul.hi." + type);
  table.add<multiplyAddLow<T>>("mad.lo." + type);
  table.add<multiplyAddHigh<T>>("mad.hi." + type);
  if constexpr (sizeof(T) < 8) {
    table.add<multiplyWide<T>>("mul.wide." + type);
    table.add<multiplyAddWide<T>>("mad.wide." + type);
  }
  table.add<divide<T>>("div." + type);
  table.add<remainder<T>>("rem." + type);
  table.add<least<T>>("min." + type);
  table.add<most<T>>("max." + type);
  table.add<shiftRight<T>>("shr." + type);
  if constexpr (std::is_signed_v<T>) {
    table.add<negate<T>>("neg." + type);
    table.add<absolute<T>>("abs." + type);
  }
  if constexpr (sizeof(T) > 2) {
    table.add<findLeading<T>>("bfind." + type);
    table.add<findLeadingShift<T>>("bfind.shiftamt." + type);
    table.add<extractBits<T>>("bfe." + type);
  }
  table.add<equal<T>>("setp.eq." + type);
  table.add<unequal<T>>("setp.ne." + type);
  table.add<less<T>>("setp.lt." + type);
  table.add<lessEqual<T>>("setp.le." + type);
  table.add<greater<T>>("setp.gt." + type);
  table.add<greaterEqual<T>>("setp.ge." + type);
  if constexpr (!std::is_signed_v<T>) {
    table.add<less<T>>("setp.lo." + type);
    table.add<lessEqual<T>>("setp.ls." + type);
    table.add<greater<T>>("setp.hi." + type);
    table.add<greaterEqual<T>>("setp.hs." + type);
  }
  table.add<select<T>>("selp." + type);
}

template <typename T> void addBits(Table &table, const std::string &bits) {
  std::string type = "b" + bits;
  table.add<bitAnd<T>>("and." + type);
  table.add<bitOr<T>>("or." + type);
  table.add<bitXor<T>>("xor." + type);
  table.add<bitNot<T>>("not." + type);
  table.add<logicalNot<T>>("cnot." + type);
  table.add<shiftLeft<T>>("shl." + type);
  table.add<shiftRight<T>>("shr." + type);
  table.add<equal<T>>("setp.eq." + type);
  table.add<unequal<T>>("setp.ne." + type);
  table.add<select<T>>("selp." + type);
  if constexpr (sizeof(T) > 2) {
    table.add<select<T>>("selp.f" + bits);
    table.add<countOnes<T>>("popc." + type);
    table.add<countLeadingZeros<T>>("clz." + type);
    table.add<reverseBits<T>>("brev." + type);
    table.add<insertBits<T>>("bfi." + type);
    const std::string operands = letterOf<T>() == 'w' ? "wwwc" : "dddc";
    for (char sign : {'s', 'u'}) {
      std::string name = std::string(1, sign) + bits;
      table.add("add.cc." + name, {addWithCarry<T, false, false>, operands});
      table.add("addc.cc." + name, {addWithCarry<T, true, false>, operands});
      table.add("addc." + name, {addWithCarry<T, true, false>, operands});
      table.add("sub.cc." + name, {addWithCarry<T, false, true>, operands});
      table.add("subc.cc." + name, {addWithCarry<T, true, true>, operands});
      table.add("subc." + name, {addWithCarry<T, true, true>, operands});
    }
  }
}

} // namespace

void lumen::ptx::addIntegerRows(Table &table) {
  addArithmetic<int16_t>(table, "s16");
  addArithmetic<uint16_t>(table, "u16");
  addArithmetic<int32_t>(table, "s32");
  addArithmetic<uint32_t>(table, "u32");
  addArithmetic<int64_t>(table, "s64");
  addArithmetic<uint64_t>(table, "u64");
  addBits<uint16_t>(table, "16");
  addBits<uint32_t>(table, "32");
  addBits<uint64_t>(table, "64");
  table.add<addSaturated>("add.sat.s32");
  table.add<subtractSaturated>("sub.sat.s32");
  table.add<funnelLeftWrap>("shf.l.wrap.b32");
  table.add<funnelRightWrap>("shf.r.wrap.b32");
  table.add<funnelLeftClamp>("shf.l.clamp.b32");
  table.add<funnelRightClamp>("shf.r.clamp.b32");
  table.add<anyLogic>("lop3.b32");
  table.add<permuteBytes>("prmt.b32");
  table.add<dotBytes<int8_t, int8_t, int32_t>>("dp4a.s32.s32");
  table.add<dotBytes<int8_t, uint8_t, int32_t>>("dp4a.s32.u32");
  table.add<dotBytes<uint8_t, int8_t, int32_t>>("dp4a.u32.s32");
  table.add<dotBytes<uint8_t, uint8_t, uint32_t>>("dp4a.u32.u32");
  table.add("and.pred", {onMasks<bitAnd<uint32_t>>, "ppp"});
  table.add("or.pred", {onMasks<bitOr<uint32_t>>, "ppp"});
  table.add("xor.pred", {onMasks<bitXor<uint32_t>>, "ppp"});
  table.add("not.pred", {onMasks<complement>, "pp"});
  table.add("mov.pred", {onMasks<identity>, "pp"});
}
