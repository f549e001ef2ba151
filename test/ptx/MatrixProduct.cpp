//===- MatrixProduct.cpp - mma.sync ---------------------------------------===//
//
// PTX ISA, "Warp Level Matrix Instructions", "Matrix Fragments for mma.m16n8k16 with
// floating-point type" and its siblings. Where element i of a lane is:
// with g = lane / 4 and t = lane % 4.
//
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "SmallFloat.h"

using namespace lumen::ptx;

namespace {

struct Place {
  uint32_t row, column;
};

enum class Element : uint8_t { F16, BF16, TF32, F64, S8, U8, F32, S32 };
constexpr uint32_t bitsOf(Element element) {
  switch (element) {
  case Element::S8:
  case Element::U8:
    return 8;
  case Element::F16:
  case Element::BF16:
    return 16;
  case Element::F64:
    return 64;
  default:
    return 32;
  }
}

/// A register of A and B holds `packed` elements that follow each other along k; four lanes
/// hold 4 * packed of them, and the next registers what follows in rows and then in k.
Place placeOfA(uint32_t lane, uint32_t i, uint32_t rows, uint32_t packed) {
  uint32_t g = lane / 4, t = lane % 4, reg = i / packed, halves = rows / 8;
  return {g + 8 * (reg % halves), packed * (t + 4 * (reg / halves)) + i % packed};
}
Place placeOfB(uint32_t lane, uint32_t i, uint32_t packed) {
  uint32_t g = lane / 4, t = lane % 4;
  return {packed * (t + 4 * (i / packed)) + i % packed, g};
}
Place placeOfC(uint32_t lane, uint32_t i) {
  return {lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2};
}

/// What the name says: the variants of its Access. k is a multiple of four.
struct Shape {
  uint8_t rows, quarterK;
  Element a : 4, b : 4, c : 4, d : 4;
};

/// Element `i` of the registers that begin at `operand`.
double elementOf(const Warp &warp, const Instruction &instruction, uint32_t operand, uint32_t lane,
                 uint32_t i, Element element) {
  if (element == Element::F64)
    return warp.at<double>(instruction, operand + i)[lane];
  uint32_t bits = bitsOf(element), packed = 32 / bits;
  uint32_t word =
      warp.at<uint32_t>(instruction, operand + i / packed)[lane] >> (bits * (i % packed));
  switch (element) {
  case Element::F16:
    return widen(Half{static_cast<uint16_t>(word)});
  case Element::BF16:
    return widen(BFloat{static_cast<uint16_t>(word)});
  case Element::TF32:
    return bitsTo<float>(word & ~0x1FFFu);
  case Element::S8:
    return static_cast<int8_t>(word);
  case Element::U8:
    return static_cast<uint8_t>(word);
  case Element::S32:
    return static_cast<int32_t>(word);
  default:
    return bitsTo<float>(word);
  }
}

uint32_t registersOf(uint32_t elements, Element element) {
  return element == Element::F64 ? elements : elements * bitsOf(element) / 32;
}

void multiply(Warp &warp, const Instruction &instruction, uint32_t) {
  Shape shape;
  std::memcpy(&shape, instruction.access.variants, sizeof(shape));
  uint32_t rows = shape.rows, depth = 4u * shape.quarterK;
  double a[16][32], b[32][8];
  uint32_t packedA = std::max(1u, 32 / bitsOf(shape.a)),
           packedB = std::max(1u, 32 / bitsOf(shape.b));
  uint32_t countA = rows * depth / kLanes, countB = depth * 8 / kLanes, countC = rows * 8 / kLanes;
  uint32_t firstA = registersOf(countC, shape.d);
  uint32_t firstB = firstA + registersOf(countA, shape.a);
  uint32_t firstC = firstB + registersOf(countB, shape.b);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t i = 0; i < countA; ++i) {
      Place place = placeOfA(lane, i, rows, packedA);
      a[place.row][place.column] = elementOf(warp, instruction, firstA, lane, i, shape.a);
    }
    for (uint32_t i = 0; i < countB; ++i) {
      Place place = placeOfB(lane, i, packedB);
      b[place.row][place.column] = elementOf(warp, instruction, firstB, lane, i, shape.b);
    }
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    uint16_t halves[4];
    for (uint32_t i = 0; i < countC; ++i) {
      Place place = placeOfC(lane, i);
      double sum = 0;
      for (uint32_t k = 0; k < depth; ++k)
        sum += a[place.row][k] * b[k][place.column];
      sum += elementOf(warp, instruction, firstC, lane, i, shape.c);
      if (shape.d == Element::F64)
        warp.at<double>(instruction, i)[lane] = sum;
      else if (shape.d == Element::F32)
        warp.at<float>(instruction, i)[lane] = narrow<float>(sum);
      else if (shape.d == Element::S32) // wraps
        warp.at<uint32_t>(instruction, i)[lane] = static_cast<uint32_t>(static_cast<int64_t>(sum));
      else
        halves[i] = narrow<Half>(sum).bits;
    }
    if (shape.d == Element::F16)
      for (uint32_t i = 0; i < countC; i += 2)
        warp.at<uint32_t>(instruction, i / 2)[lane] = halves[i] | uint32_t{halves[i + 1]} << 16;
  }
}

bool findElement(std::string_view name, Element &element) {
  constexpr const char *names[] = {"f16", "bf16", "tf32", "f64", "s8", "u8", "f32", "s32"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (name == names[i]) {
      element = static_cast<Element>(i);
      return true;
    }
  return false;
}

/// mma.sync.aligned.SHAPE.row.col.D.A.B.C
bool decodeProduct(Statement &statement, Instruction &instruction) {
  Element types[4];
  Shape shape{};
  std::vector<std::string_view> &parts = statement.parts;
  if (!statement.take("sync") || !statement.take("aligned") || !statement.take("row") ||
      !statement.take("col") || parts.size() != 6)
    return statement.fail("unknown instruction");
  for (size_t i = 0; i < 4; ++i)
    if (!findElement(parts[i + 2], types[i]))
      return statement.fail("unknown instruction");
  Element d = types[0], a = types[1], b = types[2], c = types[3];
  bool isInteger = a == Element::S8 || a == Element::U8;
  constexpr struct {
    const char *name;
    uint8_t rows, depth, bits; ///< of an element of A
  } shapes[] = {{"m16n8k8", 16, 8, 16},  {"m16n8k16", 16, 16, 16}, {"m16n8k4", 16, 4, 32},
                {"m16n8k8", 16, 8, 32},  {"m8n8k16", 8, 16, 8},    {"m16n8k16", 16, 16, 8},
                {"m16n8k32", 16, 32, 8}, {"m8n8k4", 8, 4, 64}};
  for (const auto &row : shapes)
    if (parts[1] == row.name && bitsOf(a) == row.bits)
      shape = {row.rows, static_cast<uint8_t>(row.depth / 4), a, b, c, d};
  bool areSums = isInteger           ? c == Element::S32 && d == Element::S32
                 : a == Element::F64 ? c == Element::F64 && d == Element::F64
                 : a == Element::F16 ? (c == Element::F16 || c == Element::F32) &&
                                           (d == Element::F16 || d == Element::F32)
                                     : c == Element::F32 && d == Element::F32;
  bool areFactors = isInteger ? b == Element::S8 || b == Element::U8 : a == b;
  if (!shape.rows || !areSums || !areFactors)
    return statement.fail("unknown instruction");
  static_assert(sizeof(shape) == sizeof(instruction.access.variants));
  std::memcpy(instruction.access.variants, &shape, sizeof(shape));
  instruction.execute = multiply;
  instruction.flow = Flow::Warp;
  instruction.access.isConvergent = true;
  uint32_t depth = 4u * shape.quarterK, elements = shape.rows * 8u / kLanes;
  const uint32_t counts[] = {registersOf(elements, d), registersOf(shape.rows * depth / kLanes, a),
                             registersOf(depth * 8 / kLanes, b), registersOf(elements, c)};
  if (statement.arguments.size() != 4)
    return statement.fail("has another number of operands");
  for (size_t i = 0; i < 4; ++i) {
    const Argument &argument = statement.arguments[i];
    std::vector<Argument> registers = argument.elements;
    if (argument.kind != Argument::Kind::Vector)
      registers.push_back(argument);
    if (registers.size() != counts[i])
      return statement.fail("has another number of operands");
    for (const Argument &each : registers)
      if (!statement.add(each, types[i] == Element::F64 ? 8 : 4, instruction))
        return false;
  }
  return true;
}

} // namespace

void lumen::ptx::addMatrixProducts(Table &table) { table.addFamily("mma", decodeProduct); }
