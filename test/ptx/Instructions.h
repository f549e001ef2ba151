//===- Instructions.h - what there is in PTX ---------------------*- C++ -*-===//
//
// Most instructions are rows of a table, by the whole of their name. Those with many
// modifiers have a function that decodes them, by the first part of their name.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_PTX_INSTRUCTIONS_H
#define LUMEN_TEST_PTX_INSTRUCTIONS_H

#include "Warp.h"

#include <cstring>
#include <type_traits>
#include <unordered_map>

namespace lumen::ptx {

/// How an instruction is executed and what it takes.
struct Row {
  Execute execute = nullptr;
  /// A letter for each operand, results first: p a predicate, h w d registers of 16, 32 and 64
  /// bits. `|` stands before a second result that may be left out.
  std::string operands;
  Flow flow = Flow::Next;
  Access access = {};
};

/// One operand as it is written.
struct Argument {
  enum class Kind { Register, Number, Symbol, Discard, Vector } kind = Kind::Number;
  Operand place;                  ///< of a register
  uint64_t bits = 0;              ///< of a number
  uint8_t floatSize = 0;          ///< bytes of a number that is written as a floating-point one
  Space space = Space::Generic;   ///< of a symbol, whose address are `bits`
  bool isParameter = false;       ///< of a kernel
  std::vector<Argument> elements; ///< of a vector
  bool isAddress = false;         ///< in brackets
  int64_t offset = 0;             ///< what is added to an address
  bool isSecondResult = false;    ///< follows a `|`
};

/// A statement that is being decoded.
class Statement {
public:
  virtual ~Statement() = default;

  std::string_view name;               ///< of the instruction
  std::vector<std::string_view> parts; ///< of the name, between dots
  std::vector<Argument> arguments;

  /// Whether the name has `part`, which is forgotten.
  bool take(std::string_view part);
  /// The bytes of the type that the name ends with, or 0, as of any ("b32", "s8", "f16").
  static uint8_t sizeOfType(std::string_view type);

  virtual bool fail(const std::string &what) = 0;
  /// Appends an operand of `width` bytes, 0: a predicate.
  virtual bool add(const Argument &argument, uint8_t width, Instruction &instruction) = 0;
  /// The same of a register, of any width that is not below `size`.
  bool addWide(const Argument &argument, uint8_t size, Instruction &instruction);
  /// Appends the register or number of an address; the rest goes to instruction.immediate.
  bool addAddress(const Argument &argument, Instruction &instruction);
};

/// Decodes what the table cannot say. False after Statement::fail.
using Decode = bool (*)(Statement &statement, Instruction &instruction);

class Table {
public:
  Table();
  const Row *find(const std::string &name) const;
  Decode findFamily(const std::string &name) const;

  void add(const std::string &name, Row row) { rows[name] = std::move(row); }
  /// A row of a function of one lane's values.
  template <auto Compute> void add(const std::string &name);
  void addFamily(const std::string &name, Decode decode) { families[name] = decode; }

private:
  std::unordered_map<std::string, Row> rows;
  std::unordered_map<std::string, Decode> families;
};

// The rows of each file.
void addIntegerRows(Table &table);
void addFloatRows(Table &table);
void addConversions(Table &table);
void addMemoryAccesses(Table &table);
void addMatrixProducts(Table &table);
void addWarpRows(Table &table);

//===----------------------------------------------------------------------===//
// Functions of one lane's values
//===----------------------------------------------------------------------===//

template <typename T> constexpr char letterOf() {
  if constexpr (std::is_same_v<T, bool>)
    return 'p';
  else
    return sizeof(T) == 2 ? 'h' : sizeof(T) == 4 ? 'w' : 'd';
}

/// The values of an operand.
template <typename T> struct Values {
  T *data;
  Values(const Warp &warp, const Instruction &instruction, uint32_t index)
      : data(warp.at<T>(instruction, index)) {}
  T operator[](uint32_t lane) const { return data[lane]; }
};
template <> struct Values<bool> {
  uint32_t bits;
  Values(const Warp &warp, const Instruction &instruction, uint32_t index)
      : bits(warp.predicate(instruction, index)) {}
  bool operator[](uint32_t lane) const { return bits >> lane & 1; }
};

template <auto Compute, typename Type = decltype(Compute)> struct Lanewise;
template <auto Compute, typename Result, typename... Inputs>
struct Lanewise<Compute, Result (*)(Inputs...)> {
  static std::string operands() { return {letterOf<Result>(), letterOf<Inputs>()...}; }

  static void execute(Warp &warp, const Instruction &instruction, uint32_t lanes) {
    compute(warp, instruction, lanes, std::index_sequence_for<Inputs...>());
  }

private:
  template <size_t... Index>
  static void compute(Warp &warp, const Instruction &instruction, uint32_t lanes,
                      std::index_sequence<Index...>) {
    apply(warp, instruction, lanes, Values<Inputs>(warp, instruction, Index + 1)...);
  }
  template <typename... Sources>
  static void apply(Warp &warp, const Instruction &instruction, uint32_t lanes,
                    Sources... sources) {
    if constexpr (std::is_same_v<Result, bool>) {
      uint32_t bits = 0;
      forEachLane(lanes, [&](uint32_t lane) {
        bits |= static_cast<uint32_t>(Compute(sources[lane]...)) << lane;
      });
      warp.setPredicate(instruction, 0, bits, lanes);
    } else {
      Result *result = warp.at<Result>(instruction, 0);
      forEachLane(lanes, [&](uint32_t lane) { result[lane] = Compute(sources[lane]...); });
    }
  }
};

template <auto Compute> void Table::add(const std::string &name) {
  add(name, {Lanewise<Compute>::execute, Lanewise<Compute>::operands()});
}

} // namespace lumen::ptx

#endif // LUMEN_TEST_PTX_INSTRUCTIONS_H
