//===- Parser.h - from the text of PTX to a program --------------*- C++ -*-===//
#ifndef LUMEN_TEST_PTX_PARSER_H
#define LUMEN_TEST_PTX_PARSER_H

#include "Instructions.h"
#include "Lexer.h"

#include <map>

namespace lumen::ptx {

/// What a name in the text is.
struct Symbol {
  enum class Kind { Register, Variable, Function } kind = Kind::Register;
  Operand place;                ///< of a register
  Space space = Space::Generic; ///< of a variable
  bool isParameter = false;     ///< of a kernel
  uint64_t offset = 0;          ///< of a variable in its space; a function's index
};

class Parser : public Statement {
public:
  Parser(Program &program, std::string &error)
      : program(program), lexer(program.text), error(error) {}

  bool parseModule();

private:
  // Directives.
  bool parseHeader();
  bool parseVariable(Space space);
  bool parseInitializer(std::vector<char> &bytes, uint64_t offset, uint8_t size);
  bool parseRegisters();
  bool parseFunction(bool isEntry);
  bool parseParameters(Function &function, bool isEntry);
  bool parseThreads(Function &function, bool isRequired);
  bool parseBody(uint32_t functionIndex);
  bool parseBlock();
  bool parseTargets(const std::string &name);
  bool resolveTargets();
  void markDeadElements(uint32_t begin);

  // Statements.
  bool parseStatement();
  bool parseArgument(Argument &argument);
  bool parseScalar(Argument &argument);
  bool parseCall(const Instruction &call);
  bool parseNames(std::vector<std::string_view> &names);
  bool decode(Instruction &instruction);
  bool decodeControl(Instruction &instruction);
  bool decodeRow(const Row &row, Instruction &instruction);
  bool fits(const Row &row) const;

  // Places.
  Operand newRegister(uint8_t width);
  Operand constant(uint64_t bits, uint8_t width);
  Operand addressOfVariable(uint64_t offset);
  uint32_t newLocal(uint64_t size, uint64_t alignment);
  const Symbol *find(std::string_view name);
  void define(std::string_view name, Symbol symbol) { scopes.back()[std::string(name)] = symbol; }

  bool fail(const std::string &what) override;
  bool failHere(const std::string &what);
  bool add(const Argument &argument, uint8_t width, Instruction &instruction) override;
  bool expect(std::string_view token);
  bool parseNumber(uint64_t &number, uint8_t *floatSize = nullptr);
  bool copyParameters(const std::vector<std::pair<uint64_t, uint64_t>> &formal,
                      const std::vector<std::string_view> &actual, bool isResult,
                      const Instruction &call);

  Program &program;
  Lexer lexer;
  std::string &error;
  uint32_t line = 0; ///< of the statement
  std::vector<std::map<std::string, Symbol, std::less<>>> scopes{1};
  std::map<std::pair<uint64_t, uint8_t>, Operand> constants;
  /// Places in the constants that become addresses once all variables are there.
  std::vector<std::pair<uint32_t, uint64_t>> variableAddresses;
  /// What a call needs to know of a function.
  struct Signature {
    std::vector<std::pair<uint64_t, uint64_t>> results, parameters; ///< offset and size, local
  };
  std::map<uint32_t, Signature> signatures;
  uint32_t function = 0; ///< whose body is parsed
  std::map<std::string, uint32_t, std::less<>> labels;
  std::map<std::string, std::vector<std::string>, std::less<>> targetLists;
  std::vector<std::pair<uint32_t, std::string>> branches; ///< instructions and labels
  Operand carry;                                          ///< the condition code
  bool hasDynamicShared = false;
};

/// Where results go that nobody wants.
constexpr uint32_t kNowhere = 0;

} // namespace lumen::ptx

#endif // LUMEN_TEST_PTX_PARSER_H
