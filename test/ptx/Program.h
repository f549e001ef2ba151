//===- Program.h - a module of PTX, decoded ----------------------*- C++ -*-===//
//
// The text is decoded once: each instruction becomes a function and the places of its
// operands. All names of the manual "Parallel Thread Execution ISA" are used as there, and
// comments name its sections.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_PTX_PROGRAM_H
#define LUMEN_TEST_PTX_PROGRAM_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lumen::ptx {

class Warp;
struct Instruction;

constexpr uint32_t kLanes = 32;

/// "State Spaces".
enum class Space : uint8_t { Generic, Global, Shared, Local, Parameter };

/// Where the values of 32 lanes are.
struct Operand {
  uint32_t offset = 0; ///< in bytes, of the first lane
  uint8_t width = 0;   ///< bytes of a lane; 0: a predicate, one bit of a word for each lane
  bool isConstant = false;
};

/// What `lanes`, those that are at the instruction and not predicated off, do.
using Execute = void (*)(Warp &warp, const Instruction &instruction, uint32_t lanes);

/// What an instruction means for the order of instructions.
enum class Flow : uint8_t {
  Next,
  Branch,
  Table, ///< brx.idx
  Call,
  Return,
  Exit,
  Barrier, ///< waits for threads of the workgroup
  Warp,    ///< waits for lanes of the warp
};

/// What an access to memory adds to its operands.
struct Access {
  Space space = Space::Generic;
  uint8_t size = 0;        ///< bytes of an element
  uint8_t count = 1;       ///< elements of a vector
  bool isSigned = false;   ///< elements are extended to registers that are wider
  bool isReadOnly = false; ///< .nc
  bool isVectorLoad = false;
  uint8_t deadElements = 0;  ///< of a vector, a bit for each that nothing reads
  bool isConvergent = false; ///< all lanes of the warp must be there
  uint8_t variants[4] = {};  ///< what else the name says; each family has its own
};

struct Instruction {
  Execute execute = nullptr;
  uint32_t firstOperand = 0, numOperands = 0;
  Operand guard;
  bool isGuarded = false, isGuardNegated = false;
  Flow flow = Flow::Next;
  uint32_t target = 0; ///< of a branch; a function; the first row of a table
  uint32_t numTargets = 0;
  int64_t immediate = 0;       ///< what is added to an address
  int64_t secondImmediate = 0; ///< to another address
  Access access;
  uint32_t line = 0;
};

/// "Special Registers", and what they are called.
enum class Special : uint8_t {
  ThreadX,
  ThreadY,
  ThreadZ,
  BlockX,
  BlockY,
  BlockZ,
  GroupX,
  GroupY,
  GroupZ,
  GridX,
  GridY,
  GridZ,
  Lane,
  WarpIndex,
  NumWarps,
  LanesEqual,
  LanesLess,
  LanesUpTo,
  LanesFrom,
  LanesGreater,
  DynamicShared,
  TotalShared,
};

/// A parameter of a kernel, in the bytes of its parameters.
struct Parameter {
  uint32_t offset, size, alignment;
};

struct Function {
  std::string name;
  bool isEntry = false;
  uint32_t begin = 0; ///< its first instruction
  std::vector<Parameter> parameters;
  uint32_t parameterSize = 0;
  uint32_t maxThreads[3] = {0, 0, 0}; ///< .maxntid or .reqntid; 0: not said
  bool areThreadsRequired = false;
  Operand returnTo;       ///< the address that `ret` goes to, a lane's own: nothing recurses
  uint32_t localBase = 0; ///< where its formal parameters are, if it is no entry
};

/// A module. Immutable once made, apart from its .global variables.
class Program {
public:
  /// Null: `error` says why, with the line.
  static std::unique_ptr<Program> parse(std::string_view text, std::string &error);

  /// Null where there is no such kernel.
  const Function *findEntry(std::string_view name) const;
  std::vector<const Function *> getEntries() const;

  std::string text;
  std::string version, target; ///< "8.8", "sm_80"
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<uint32_t> branchTables;
  std::vector<Function> functions;
  std::vector<std::pair<Special, Operand>> specials;
  std::vector<char> constants; ///< as registers, 32 lanes each
  std::vector<char> variables; ///< .global and .const
  uint32_t registerSize = 0;   ///< bytes of a warp's registers
  uint32_t sharedSize = 0;     ///< bytes of .shared variables of known size
  uint32_t localSize = 0;      ///< bytes of a thread
  uint32_t sharedGranule = 8;  ///< bytes of the smallest access to shared memory

  std::string_view lineOf(const Instruction &instruction) const;
};

} // namespace lumen::ptx

#endif // LUMEN_TEST_PTX_PROGRAM_H
