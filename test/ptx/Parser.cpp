//===- Parser.cpp - from the text of PTX to a program ---------------------===//
//
// PTX ISA, "Syntax": statements.
//
//===----------------------------------------------------------------------===//

#include "Parser.h"

#include <algorithm>
#include <cstring>

using namespace lumen::ptx;

static const Table &table() {
  static const Table result;
  return result;
}

//===----------------------------------------------------------------------===//
// Messages and places
//===----------------------------------------------------------------------===//

bool Parser::fail(const std::string &what) {
  if (error.empty())
    error = "line " + std::to_string(line) + ", '" + std::string(name) + "': " + what;
  return false;
}

bool Parser::failHere(const std::string &what) {
  if (error.empty())
    error = "line " + std::to_string(lexer.line()) + ": " + what + " at '" +
            std::string(lexer.peek()) + "'";
  return false;
}

bool Parser::expect(std::string_view token) {
  return lexer.take(token) || failHere("expected '" + std::string(token) + "'");
}

/// With its sign; the bits of a floating-point number.
bool Parser::parseNumber(uint64_t &number, uint8_t *floatSize) {
  bool isNegative = lexer.take("-");
  uint8_t size = 0;
  if (!parseInteger(lexer.next(), number, &size))
    return failHere("expected a number");
  if (isNegative)
    number = size ? number ^ 1ull << (8 * size - 1) : 0 - number;
  if (floatSize)
    *floatSize = size;
  return true;
}

Operand Parser::newRegister(uint8_t width) {
  Operand result{program.registerSize, width, false};
  program.registerSize += width ? width * kLanes : sizeof(uint64_t);
  return result;
}

/// The same number for all lanes.
Operand Parser::constant(uint64_t bits, uint8_t width) {
  auto [at, isNew] = constants.try_emplace({bits, width});
  if (isNew) {
    at->second = {static_cast<uint32_t>(program.constants.size()), width, true};
    // A predicate is one word.
    uint64_t value = width ? bits : bits ? ~0ull : 0;
    size_t size = width ? width : sizeof(uint64_t);
    for (uint32_t lane = 0; lane < (width ? kLanes : 1); ++lane)
      program.constants.insert(program.constants.end(), reinterpret_cast<char *>(&value),
                               reinterpret_cast<char *>(&value) + size);
  }
  return at->second;
}

Operand Parser::addressOfVariable(uint64_t offset) {
  Operand result{static_cast<uint32_t>(program.constants.size()), 8, true};
  program.constants.resize(program.constants.size() + 8 * kLanes);
  variableAddresses.push_back({result.offset, offset});
  return result;
}

const Symbol *Parser::find(std::string_view symbol) {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto found = scope->find(symbol); found != scope->end())
      return &found->second;
  constexpr struct {
    const char *name;
    Special special;
  } specials[] = {{"%tid.x", Special::ThreadX},
                  {"%tid.y", Special::ThreadY},
                  {"%tid.z", Special::ThreadZ},
                  {"%ntid.x", Special::BlockX},
                  {"%ntid.y", Special::BlockY},
                  {"%ntid.z", Special::BlockZ},
                  {"%ctaid.x", Special::GroupX},
                  {"%ctaid.y", Special::GroupY},
                  {"%ctaid.z", Special::GroupZ},
                  {"%nctaid.x", Special::GridX},
                  {"%nctaid.y", Special::GridY},
                  {"%nctaid.z", Special::GridZ},
                  {"%laneid", Special::Lane},
                  {"%warpid", Special::WarpIndex},
                  {"%nwarpid", Special::NumWarps},
                  {"%lanemask_eq", Special::LanesEqual},
                  {"%lanemask_lt", Special::LanesLess},
                  {"%lanemask_le", Special::LanesUpTo},
                  {"%lanemask_ge", Special::LanesFrom},
                  {"%lanemask_gt", Special::LanesGreater},
                  {"%dynamic_smem_size", Special::DynamicShared},
                  {"%total_smem_size", Special::TotalShared}};
  for (auto &[specialName, special] : specials)
    if (symbol == specialName) {
      Symbol made;
      made.place = newRegister(4);
      program.specials.push_back({special, made.place});
      return &(scopes.front()[std::string(symbol)] = made);
    }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

static std::vector<std::string_view> split(std::string_view name) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    size_t end = std::min(name.find('.'), name.size());
    parts.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return parts;
}

/// A register, a number or a name with what is added to it.
bool Parser::parseScalar(Argument &argument) {
  char first = lexer.peek().empty() ? '\0' : lexer.peek().front();
  if (first == '-' || (first >= '0' && first <= '9')) {
    argument.kind = Argument::Kind::Number;
    return parseNumber(argument.bits, &argument.floatSize);
  }
  if (lexer.take("_")) {
    argument.kind = Argument::Kind::Discard;
    return true;
  }
  std::string_view word = lexer.next();
  const Symbol *symbol = find(word);
  if (!symbol || symbol->kind == Symbol::Kind::Function) {
    // Labels are no operands: what takes them reads them itself.
    name = word;
    return fail("unknown name");
  }
  argument.kind =
      symbol->kind == Symbol::Kind::Register ? Argument::Kind::Register : Argument::Kind::Symbol;
  argument.place = symbol->place;
  argument.bits = symbol->offset;
  argument.space = symbol->space;
  argument.isParameter = symbol->isParameter;
  return true;
}

bool Parser::parseArgument(Argument &argument) {
  if (lexer.take("{")) {
    argument.kind = Argument::Kind::Vector;
    do
      if (!parseScalar(argument.elements.emplace_back()))
        return false;
    while (lexer.take(","));
    return expect("}");
  }
  bool isAddress = lexer.take("[");
  if (!parseScalar(argument))
    return false;
  argument.isAddress = isAddress;
  bool isPlus = lexer.take("+");
  if (isPlus || (isAddress && lexer.peek() == "-")) {
    uint64_t offset;
    if (!parseNumber(offset))
      return false;
    (isAddress ? reinterpret_cast<uint64_t &>(argument.offset) : argument.bits) += offset;
  }
  return !isAddress || expect("]");
}

bool Parser::add(const Argument &argument, uint8_t width, Instruction &instruction) {
  Operand place;
  uint64_t mask = width ? ~0ull >> (64 - 8 * width) : ~0ull;
  switch (argument.kind) {
  case Argument::Kind::Register:
    place = argument.place;
    if (place.width != width)
      return fail("has an operand of " + std::to_string(8 * place.width) + " bits, expected " +
                  std::to_string(8 * width));
    break;
  case Argument::Kind::Number:
    if (argument.floatSize && argument.floatSize != width)
      return fail("has a number of " + std::to_string(8 * argument.floatSize) + " bits, expected " +
                  std::to_string(8 * width));
    place = constant(argument.bits & mask, width);
    break;
  case Argument::Kind::Symbol:
    if (argument.space == Space::Parameter)
      return fail("takes the address of a kernel's parameter");
    if (argument.space == Space::Global && width != 8)
      return fail("has an address of " + std::to_string(8 * width) + " bits");
    place = argument.space == Space::Global ? addressOfVariable(argument.bits)
                                            : constant(argument.bits & mask, width);
    break;
  case Argument::Kind::Discard:
    place = {kNowhere, width, false};
    break;
  case Argument::Kind::Vector:
    return fail("has a vector where it takes none");
  }
  program.operands.push_back(place);
  ++instruction.numOperands;
  return true;
}

/// The bytes of a register by the letter of a row.
static uint8_t widthOf(char letter) {
  return letter == 'h' ? 2 : letter == 'w' ? 4 : letter == 'd' ? 8 : 0;
}

bool Parser::fits(const Row &row) const {
  size_t next = 0;
  for (char letter : row.operands)
    if (letter != '|' && next < arguments.size() &&
        arguments[next].kind == Argument::Kind::Register &&
        arguments[next++].place.width != widthOf(letter))
      return false;
  return true;
}

bool Parser::decodeRow(const Row &row, Instruction &instruction) {
  instruction.execute = row.execute;
  instruction.flow = row.flow;
  size_t next = 0;
  bool isOptional = false;
  for (char letter : row.operands) {
    if (letter == '|') {
      isOptional = true;
      continue;
    }
    bool isLeftOut = isOptional && (next == arguments.size() || !arguments[next].isSecondResult);
    isOptional = false;
    if (letter == 'c') {
      program.operands.push_back(carry);
      ++instruction.numOperands;
      continue;
    }
    Argument nowhere;
    nowhere.kind = Argument::Kind::Discard;
    if (!isLeftOut && next == arguments.size())
      return fail("has too few operands");
    if (!add(isLeftOut ? nowhere : arguments[next++], widthOf(letter), instruction))
      return false;
  }
  return next == arguments.size() || fail("has too many operands");
}

/// By the table, or by a function that knows the first part of the name.
bool Parser::decode(Instruction &instruction) {
  const Row *row = table().find(std::string(name));
  Decode family = table().findFamily(std::string(parts.front()));
  if (row && (!family || fits(*row)))
    return decodeRow(*row, instruction);
  return family ? family(*this, instruction) : fail("unknown instruction");
}

/// (a, b)
bool Parser::parseNames(std::vector<std::string_view> &names) {
  if (lexer.take(")"))
    return true;
  do
    names.push_back(lexer.next());
  while (lexer.take(","));
  return expect(")");
}

static void copyLocal(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  forEachLane(lanes, [&](uint32_t lane) {
    char *base =
        warp.group.locals.data() + size_t{warp.group.program.localSize} * (warp.firstThread + lane);
    std::memcpy(base + instruction.secondImmediate, base + instruction.immediate,
                instruction.target);
  });
}

bool Parser::copyParameters(const std::vector<std::pair<uint64_t, uint64_t>> &formal,
                            const std::vector<std::string_view> &actual, bool isResult,
                            const Instruction &call) {
  if (formal.size() != actual.size())
    return fail("has " + std::to_string(actual.size()) + " values, expected " +
                std::to_string(formal.size()));
  for (size_t i = 0; i < formal.size(); ++i) {
    const Symbol *symbol = find(actual[i]);
    if (!symbol || symbol->space != Space::Local)
      return fail("'" + std::string(actual[i]) + "' is no parameter");
    Instruction copy = call;
    copy.execute = copyLocal;
    copy.flow = Flow::Next;
    copy.immediate = static_cast<int64_t>(isResult ? formal[i].first : symbol->offset);
    copy.secondImmediate = static_cast<int64_t>(isResult ? symbol->offset : formal[i].first);
    copy.target = static_cast<uint32_t>(formal[i].second);
    program.instructions.push_back(copy);
  }
  return true;
}

/// call (results), function, (arguments): parameters have places of their own.
bool Parser::parseCall(const Instruction &instruction) {
  std::vector<std::string_view> results, values;
  if (lexer.take("(") && !(parseNames(results) && expect(",")))
    return false;
  std::string_view callee = lexer.next();
  const Symbol *symbol = find(callee);
  if (!symbol || symbol->kind != Symbol::Kind::Function)
    return fail("'" + std::string(callee) + "' is no function");
  if (lexer.take(",") && !(expect("(") && parseNames(values)))
    return false;
  Instruction call = instruction;
  call.flow = Flow::Call;
  call.target = static_cast<uint32_t>(symbol->offset);
  if (call.target == function)
    return fail("calls itself");
  const Signature &signature = signatures[call.target];
  if (!copyParameters(signature.parameters, values, /*isResult=*/false, call))
    return false;
  program.instructions.push_back(call);
  return copyParameters(signature.results, results, /*isResult=*/true, call) && expect(";");
}

bool Parser::decodeControl(Instruction &instruction) {
  if (parts.front() == "ret" || parts.front() == "exit") {
    bool isReturn = parts.front() == "ret" && !program.functions[function].isEntry;
    instruction.flow = isReturn ? Flow::Return : Flow::Exit;
    instruction.target = function;
    return true;
  }
  instruction.flow = Flow::Branch;
  if (parts.front() == "brx") {
    instruction.flow = Flow::Table;
    Argument index;
    if (!parseScalar(index) || !add(index, 4, instruction) || !expect(","))
      return false;
  }
  branches.push_back(
      {static_cast<uint32_t>(program.instructions.size()), std::string(lexer.next())});
  return true;
}

bool Parser::parseStatement() {
  Instruction instruction;
  line = instruction.line = lexer.line();
  if (lexer.take("@")) {
    instruction.isGuarded = true;
    instruction.isGuardNegated = lexer.take("!");
    const Symbol *guard = find(lexer.next());
    if (!guard || guard->kind != Symbol::Kind::Register || guard->place.width)
      return failHere("expected a predicate before");
    instruction.guard = guard->place;
  }
  name = lexer.next();
  parts = split(name);
  if (parts.empty())
    return fail("expected an instruction");
  arguments.clear();
  instruction.firstOperand = static_cast<uint32_t>(program.operands.size());
  if (parts.front() == "call")
    return parseCall(instruction);
  if (name == "bra" || name == "bra.uni" || name == "brx.idx" || name == "brx.idx.uni" ||
      name == "ret" || name == "ret.uni" || name == "exit") {
    if (!decodeControl(instruction))
      return false;
  } else {
    while (lexer.peek() != ";") {
      bool isSecond = !arguments.empty() && lexer.take("|");
      if (!arguments.empty() && !isSecond && !expect(","))
        return false;
      if (!parseArgument(arguments.emplace_back()))
        return false;
      arguments.back().isSecondResult = isSecond;
    }
    if (!decode(instruction))
      return false;
  }
  const Access &access = instruction.access;
  if (access.size && access.space <= Space::Shared && access.space != Space::Global)
    program.sharedGranule = std::min<uint32_t>(program.sharedGranule, access.size);
  program.instructions.push_back(instruction);
  return expect(";");
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

std::unique_ptr<Program> Program::parse(std::string_view text, std::string &error) {
  auto program = std::make_unique<Program>();
  program->text = text;
  error.clear();
  return Parser(*program, error).parseModule() ? std::move(program) : nullptr;
}

const Function *Program::findEntry(std::string_view name) const {
  for (const Function &function : functions)
    if (function.isEntry && function.name == name)
      return &function;
  return nullptr;
}

std::vector<const Function *> Program::getEntries() const {
  std::vector<const Function *> entries;
  for (const Function &function : functions)
    if (function.isEntry)
      entries.push_back(&function);
  return entries;
}

std::string_view Program::lineOf(const Instruction &instruction) const {
  std::string_view rest = text;
  for (uint32_t line = 1; line < instruction.line; ++line)
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  rest = rest.substr(0, rest.find('\n'));
  size_t begin = std::min(rest.find_first_not_of(" \t"), rest.size());
  return rest.substr(begin, rest.find(';') - begin);
}
