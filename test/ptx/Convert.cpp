//===- Convert.cpp - conversions between types ----------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions: cvt", "cvta".
//
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "SmallFloat.h"

using namespace lumen::ptx;

namespace {

enum class Type : uint8_t { S8, S16, S32, S64, U8, U16, U32, U64, F16, BF16, F32, F64, TF32 };
constexpr struct {
  const char *name;
  uint8_t size;
} kTypes[] = {{"s8", 1},  {"s16", 2}, {"s32", 4},  {"s64", 8}, {"u8", 1},  {"u16", 2}, {"u32", 4},
              {"u64", 8}, {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"tf32", 4}};

bool isFloat(Type type) { return type >= Type::F16; }
bool isSigned(Type type) { return type <= Type::S64; }
unsigned bitsOf(Type type) { return kTypes[static_cast<int>(type)].size * 8; }

enum Flag : uint8_t {
  kFlushes = 1,
  kSaturates = 2,
  kIsRelu = 4,
  kSaturatesFinite = 8,
  kIsPair = 16,
  kToIntegral = 32
};

/// What the name of a conversion says: the variants of its Access.
struct Conversion {
  Type to, from;
  Rounding rounding;
  uint8_t flags;
};

/// The value of a register's low bits.
int64_t integerOf(Type type, uint64_t raw) {
  unsigned unused = 64 - bitsOf(type);
  return isSigned(type) ? static_cast<int64_t>(raw << unused) >> unused
                        : static_cast<int64_t>(raw << unused >> unused);
}

double floatOf(Type type, uint64_t raw) {
  switch (type) {
  case Type::F16:
    return widen(Half{static_cast<uint16_t>(raw)});
  case Type::BF16:
    return widen(BFloat{static_cast<uint16_t>(raw)});
  case Type::F64:
    return bitsTo<double>(raw);
  default:
    return bitsTo<float>(static_cast<uint32_t>(raw));
  }
}

uint64_t encode(Type type, double x, Rounding rounding, bool saturatesFinite) {
  switch (type) {
  case Type::F16:
    return encodeFloat<5, 10>(x, rounding, saturatesFinite);
  case Type::BF16:
    return encodeFloat<8, 7>(x, rounding, saturatesFinite);
  case Type::F32:
    return encodeFloat<8, 23>(x, rounding, saturatesFinite);
  case Type::TF32:
    return uint64_t{encodeFloat<8, 10>(x, rounding, saturatesFinite)} << 13;
  default:
    return bitsTo<uint64_t>(x);
  }
}

/// The nearest integer that the type has. "NaN is zero, unless one of the types has 64 bits."
uint64_t clamp(const Conversion &conversion, double x) {
  Type to = conversion.to;
  unsigned bits = bitsOf(to);
  if (x != x)
    return conversion.from == Type::F64 || bits == 64 ? 1ull << (bits - 1) : 0;
  if (isSigned(to)) {
    double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    uint64_t largest = (1ull << (bits - 1)) - 1;
    return x >= limit ? largest : x <= -limit ? ~largest : static_cast<uint64_t>(int64_t(x));
  }
  double limit = std::ldexp(1.0, static_cast<int>(bits));
  return x >= limit ? ~0ull >> (64 - bits) : x <= 0 ? 0 : static_cast<uint64_t>(x);
}

uint64_t convertInteger(const Conversion &conversion, uint64_t raw) {
  int64_t value = integerOf(conversion.from, raw);
  bool isNegative = isSigned(conversion.from) && value < 0;
  unsigned bits = bitsOf(conversion.to);
  if (isFloat(conversion.to)) {
    double x = isSigned(conversion.from) ? toOdd(value) : toOdd(static_cast<uint64_t>(value));
    // A double holds integers of 64 bits only rounded, to nearest.
    if (conversion.to == Type::F64)
      return bitsTo<uint64_t>(isSigned(conversion.from)
                                  ? static_cast<double>(value)
                                  : static_cast<double>(static_cast<uint64_t>(value)));
    return encode(conversion.to, x, conversion.rounding, false);
  }
  if (!(conversion.flags & kSaturates))
    return static_cast<uint64_t>(integerOf(conversion.to, static_cast<uint64_t>(value)));
  if (isSigned(conversion.to)) {
    auto largest = static_cast<int64_t>((1ull << (bits - 1)) - 1);
    if (!isNegative)
      return std::min(static_cast<uint64_t>(value), static_cast<uint64_t>(largest));
    return static_cast<uint64_t>(std::max(value, -largest - 1));
  }
  return isNegative ? 0 : std::min(static_cast<uint64_t>(value), ~uint64_t{0} >> (64 - bits));
}

double flushSubnormal(double x) {
  return std::fabs(x) < double{std::numeric_limits<float>::min()} ? std::copysign(0.0, x) : x;
}

uint64_t convertFloat(const Conversion &conversion, uint64_t raw) {
  double x = floatOf(conversion.from, raw);
  if (conversion.flags & kFlushes && conversion.from == Type::F32)
    x = flushSubnormal(x);
  if (!isFloat(conversion.to))
    return clamp(conversion, roundToIntegral(x, conversion.rounding));
  if (conversion.flags & kToIntegral)
    x = roundToIntegral(x, conversion.rounding);
  if (conversion.flags & kSaturates)
    x = x > 1 ? 1 : x > 0 ? x : 0;
  if (conversion.flags & kIsRelu)
    x = x < 0 ? 0 : x;
  uint64_t result =
      encode(conversion.to, x, conversion.rounding, conversion.flags & kSaturatesFinite);
  if (conversion.flags & kFlushes && conversion.to == Type::F32)
    result = bitsTo<uint32_t>(
        static_cast<float>(flushSubnormal(bitsTo<float>(static_cast<uint32_t>(result)))));
  return result;
}

uint64_t readRegister(const Warp &warp, const Operand &place, uint32_t lane) {
  switch (place.width) {
  case 2:
    return warp.at<uint16_t>(place)[lane];
  case 4:
    return warp.at<uint32_t>(place)[lane];
  default:
    return warp.at<uint64_t>(place)[lane];
  }
}

void writeRegister(const Warp &warp, const Operand &place, uint32_t lane, uint64_t value) {
  switch (place.width) {
  case 2:
    warp.at<uint16_t>(place)[lane] = static_cast<uint16_t>(value);
    return;
  case 4:
    warp.at<uint32_t>(place)[lane] = static_cast<uint32_t>(value);
    return;
  default:
    warp.at<uint64_t>(place)[lane] = value;
  }
}

void convert(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  Conversion conversion;
  std::memcpy(&conversion, instruction.access.variants, sizeof(conversion));
  const Operand result = warp.operand(instruction, 0);
  auto one = [&](uint32_t operand, uint32_t lane) {
    uint64_t raw = readRegister(warp, warp.operand(instruction, operand), lane);
    return isFloat(conversion.from) ? convertFloat(conversion, raw)
                                    : convertInteger(conversion, raw);
  };
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    uint64_t value = one(1, lane);
    // "For .f16x2, the first source is the upper half."
    if (conversion.flags & kIsPair)
      value = value << 16 | one(2, lane);
    writeRegister(warp, result, lane, value);
  }
}

bool findType(std::string_view name, Type &type) {
  for (int i = 0; i < static_cast<int>(std::size(kTypes)); ++i)
    if (name == kTypes[i].name) {
      type = static_cast<Type>(i);
      return true;
    }
  return false;
}

bool decodeConversion(Statement &statement, Instruction &instruction) {
  Conversion conversion{Type::S8, Type::S8, Rounding::NearestEven, 0};
  constexpr struct {
    const char *name, *ofIntegers;
    Rounding rounding;
  } roundings[] = {{"rn", "rni", Rounding::NearestEven},
                   {"rna", "", Rounding::NearestAway},
                   {"rz", "rzi", Rounding::Zero},
                   {"rm", "rmi", Rounding::Down},
                   {"rp", "rpi", Rounding::Up}};
  bool isRounded = false, isToIntegral = false;
  for (auto &[name, ofIntegers, rounding] : roundings) {
    bool isInteger = *ofIntegers && statement.take(ofIntegers);
    if (isInteger || statement.take(name)) {
      conversion.rounding = rounding;
      isRounded = true;
      isToIntegral = isInteger;
    }
  }
  constexpr struct {
    const char *name;
    uint8_t flag;
  } flags[] = {
      {"ftz", kFlushes}, {"sat", kSaturates}, {"relu", kIsRelu}, {"satfinite", kSaturatesFinite}};
  for (auto &[name, flag] : flags)
    if (statement.take(name))
      conversion.flags |= flag;
  std::vector<std::string_view> &parts = statement.parts;
  if (parts.size() != 3)
    return statement.fail("unknown instruction");
  if (parts[1].size() > 2 && parts[1].substr(parts[1].size() - 2) == "x2") {
    parts[1].remove_suffix(2);
    conversion.flags |= kIsPair;
  }
  if (!findType(parts[1], conversion.to) || !findType(parts[2], conversion.from))
    return statement.fail("unknown instruction");
  bool isPair = conversion.flags & kIsPair, toFloat = isFloat(conversion.to);
  if (isPair && (bitsOf(conversion.to) != 16 || !toFloat || conversion.from != Type::F32))
    return statement.fail("unknown instruction");
  // "Rounding modifiers are mandatory where bits may be lost, and illegal elsewhere."
  bool fromFloat = isFloat(conversion.from);
  bool wantsIntegral = fromFloat && (!toFloat || conversion.from == conversion.to);
  bool isLossy = toFloat && (!fromFloat || (bitsOf(conversion.to) < bitsOf(conversion.from)) ||
                             conversion.to == Type::TF32);
  bool isClamp = fromFloat && conversion.from == conversion.to && !isRounded && conversion.flags;
  if (!isClamp && (isRounded != (wantsIntegral || isLossy) || isToIntegral != wantsIntegral))
    return statement.fail("has a rounding that does not go with the types");
  if (isToIntegral)
    conversion.flags |= kToIntegral;
  static_assert(sizeof(conversion) == sizeof(instruction.access.variants));
  std::memcpy(instruction.access.variants, &conversion, sizeof(conversion));
  instruction.execute = convert;
  if (statement.arguments.size() != (isPair ? 3 : 2))
    return statement.fail("has another number of operands");
  auto sizeOf = [](Type type) { return static_cast<uint8_t>(bitsOf(type) / 8); };
  if (!statement.addWide(statement.arguments[0], isPair ? 4 : sizeOf(conversion.to), instruction))
    return false;
  for (size_t i = 1; i < statement.arguments.size(); ++i)
    if (!statement.addWide(statement.arguments[i], sizeOf(conversion.from), instruction))
      return false;
  return true;
}

// The same as above where registers are as wide as types, and often used.
template <typename To, typename From> To cast(From x) { return static_cast<To>(x); }
float fromHalf(Half x) { return narrow<float>(widen(x)); }
float fromBFloat(BFloat x) { return narrow<float>(widen(x)); }
float fromDouble(double x) { return narrow<float>(x); }

template <uint64_t Window> uint64_t toGeneric(uint64_t address) { return address + Window; }
template <uint64_t Window> uint64_t fromGeneric(uint64_t address) { return address - Window; }
template <uint64_t Window> bool isIn(uint64_t address) { return address - Window < kWindowSize; }
bool isGlobal(uint64_t address) {
  return !isIn<kSharedWindow>(address) && !isIn<kLocalWindow>(address);
}

} // namespace

void lumen::ptx::addConversions(Table &table) {
  table.addFamily("cvt", decodeConversion);
  table.add<cast<uint64_t, uint32_t>>("cvt.u64.u32");
  table.add<cast<int64_t, int32_t>>("cvt.s64.s32");
  table.add<cast<uint32_t, uint64_t>>("cvt.u32.u64");
  table.add<cast<uint32_t, uint16_t>>("cvt.u32.u16");
  table.add<cast<int32_t, int16_t>>("cvt.s32.s16");
  table.add<cast<uint16_t, uint32_t>>("cvt.u16.u32");
  table.add<cast<float, int32_t>>("cvt.rn.f32.s32");
  table.add<cast<float, uint32_t>>("cvt.rn.f32.u32");
  table.add<cast<double, float>>("cvt.f64.f32");
  table.add<fromHalf>("cvt.f32.f16");
  table.add<fromBFloat>("cvt.f32.bf16");
  table.add<fromDouble>("cvt.rn.f32.f64");

  table.add<toGeneric<0>>("cvta.global.u64");
  table.add<fromGeneric<0>>("cvta.to.global.u64");
  table.add<toGeneric<0>>("cvta.const.u64");
  table.add<fromGeneric<0>>("cvta.to.const.u64");
  table.add<toGeneric<kSharedWindow>>("cvta.shared.u64");
  table.add<fromGeneric<kSharedWindow>>("cvta.to.shared.u64");
  table.add<toGeneric<kLocalWindow>>("cvta.local.u64");
  table.add<fromGeneric<kLocalWindow>>("cvta.to.local.u64");
  table.add<isIn<kSharedWindow>>("isspacep.shared");
  table.add<isIn<kLocalWindow>>("isspacep.local");
  table.add<isGlobal>("isspacep.global");
}
