//===- Directives.cpp - what is around the instructions of PTX ------------===//
//
// PTX ISA, "Directives" and "State Spaces".
//
//===----------------------------------------------------------------------===//

#include "Parser.h"

#include <algorithm>
#include <cstring>

using namespace lumen::ptx;

static uint64_t alignTo(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

uint32_t Parser::newLocal(uint64_t size, uint64_t alignment) {
  auto offset = static_cast<uint32_t>(alignTo(program.localSize, std::max<uint64_t>(alignment, 8)));
  program.localSize = static_cast<uint32_t>(alignTo(offset + size, 16));
  return offset;
}

bool Parser::parseModule() {
  newRegister(8); // kNowhere
  carry = newRegister(0);
  if (!parseHeader())
    return false;
  while (!lexer.peek().empty()) {
    if (lexer.take(".visible") || lexer.take(".extern") || lexer.take(".weak"))
      continue;
    if (lexer.take(".entry")) {
      if (!parseFunction(/*isEntry=*/true))
        return false;
    } else if (lexer.take(".func")) {
      if (!parseFunction(/*isEntry=*/false))
        return false;
    } else if (lexer.take(".global") || lexer.take(".const")) {
      if (!parseVariable(Space::Global))
        return false;
    } else if (lexer.take(".shared")) {
      if (!parseVariable(Space::Shared))
        return false;
    } else if (lexer.take(".file")) {
      lexer.skipLine();
    } else {
      return failHere("unknown directive");
    }
  }
  for (auto [place, offset] : variableAddresses) {
    uint64_t address = reinterpret_cast<uint64_t>(program.variables.data()) + offset;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(&program.constants[place + 8 * lane], &address, sizeof(address));
  }
  for (const Function &each : program.functions)
    if (each.begin == ~0u) {
      error = "function '" + each.name + "' has no body";
      return false;
    }
  return true;
}

bool Parser::parseHeader() {
  if (!expect(".version"))
    return false;
  program.version = lexer.next();
  if (!expect(".target"))
    return false;
  program.target = lexer.next();
  while (lexer.take(","))
    lexer.next();
  uint64_t size;
  if (!expect(".address_size") || !parseNumber(size))
    return false;
  return size == 64 || failHere("expected addresses of 64 bits");
}

/// .global .align 4 .b8 name[16] = {...};
bool Parser::parseVariable(Space space) {
  uint64_t alignment = 1;
  while (lexer.take(".attribute") || lexer.peek() == ".align" || lexer.peek() == ".managed")
    if (lexer.take(".align") ? !parseNumber(alignment) : !failHere("unknown attribute"))
      return false;
  std::string_view type = lexer.next();
  uint8_t size = sizeOfType(type.substr(1));
  if (!size)
    return failHere("unknown type of a variable");
  std::string_view variable = lexer.next();
  uint64_t count = 1;
  bool isUnsized = false;
  while (lexer.take("[")) {
    uint64_t length = 0;
    isUnsized = lexer.peek() == "]";
    if (!isUnsized && !parseNumber(length))
      return false;
    count *= length;
    if (!expect("]"))
      return false;
  }
  alignment = std::max<uint64_t>(alignment, size);
  uint64_t bytes = count * size;
  Symbol symbol;
  symbol.kind = Symbol::Kind::Variable;
  symbol.space = space;
  if (space == Space::Shared) {
    // Dynamic shared memory begins where the rest ends.
    if (hasDynamicShared && !isUnsized)
      return failHere("a variable of known size follows one of dynamic size");
    hasDynamicShared |= isUnsized;
    symbol.offset = alignTo(program.sharedSize, isUnsized ? 16 : alignment);
    program.sharedSize = static_cast<uint32_t>(symbol.offset + bytes);
  } else if (space == Space::Local || space == Space::Parameter) {
    symbol.space = Space::Local;
    symbol.offset = newLocal(bytes, alignment);
  } else {
    // Of the most that is asked for, as the whole begins at such an address.
    symbol.offset = alignTo(program.variables.size(), std::max<uint64_t>(alignment, 16));
    program.variables.resize(symbol.offset + bytes);
    if (lexer.take("=") && !parseInitializer(program.variables, symbol.offset, size))
      return false;
  }
  define(variable, symbol);
  return expect(";");
}

bool Parser::parseInitializer(std::vector<char> &bytes, uint64_t offset, uint8_t size) {
  if (!lexer.take("{")) {
    uint64_t number;
    if (!parseNumber(number))
      return false;
    if (offset + size > bytes.size())
      return failHere("a variable has more values than elements");
    std::memcpy(&bytes[offset], &number, size);
    return true;
  }
  do {
    if (!parseInitializer(bytes, offset, size))
      return false;
    offset += size;
  } while (lexer.take(","));
  return expect("}");
}

/// .reg .b32 %r<5>, %x;
bool Parser::parseRegisters() {
  std::string_view type = lexer.next();
  uint8_t width = type == ".pred" ? 0 : sizeOfType(type.substr(1));
  if (!width && type != ".pred")
    return failHere("unknown type of registers");
  do {
    std::string base(lexer.next());
    Symbol symbol;
    if (!lexer.take("<")) {
      symbol.place = newRegister(width);
      define(base, symbol);
      continue;
    }
    uint64_t count;
    if (!parseNumber(count) || !expect(">"))
      return false;
    for (uint64_t i = 0; i < count; ++i) {
      symbol.place = newRegister(width);
      define(base + std::to_string(i), symbol);
    }
  } while (lexer.take(","));
  return expect(";");
}

bool Parser::parseThreads(Function &entry, bool isRequired) {
  uint64_t counts[3] = {1, 1, 1};
  for (int i = 0; i == 0 || lexer.take(","); ++i)
    if (i == 3 || !parseNumber(counts[i]))
      return failHere("expected at most three numbers");
  for (int i = 0; i < 3; ++i)
    entry.maxThreads[i] = static_cast<uint32_t>(counts[i]);
  entry.areThreadsRequired = isRequired;
  return true;
}

/// (.param .u64 .ptr .global .align 1 name, .param .b32 other)
bool Parser::parseParameters(Function &owner, bool isEntry) {
  auto &known = signatures[static_cast<uint32_t>(&owner - program.functions.data())];
  while (!lexer.take(")")) {
    if (!expect(".param"))
      return false;
    uint64_t alignment = 0, count = 1, pointee;
    while (lexer.take(".align"))
      if (!parseNumber(alignment))
        return false;
    uint8_t size = sizeOfType(lexer.next().substr(1));
    if (!size)
      return failHere("unknown type of a parameter");
    if (lexer.take(".ptr")) {
      for (const char *space : {".global", ".const", ".shared", ".local"})
        lexer.take(space);
      if (lexer.take(".align") && !parseNumber(pointee))
        return false;
    }
    std::string_view parameter = lexer.next();
    if (lexer.take("[") && (!parseNumber(count) || !expect("]")))
      return false;
    alignment = std::max<uint64_t>(alignment, size);
    Symbol symbol;
    symbol.kind = Symbol::Kind::Variable;
    symbol.space = isEntry ? Space::Parameter : Space::Local;
    symbol.isParameter = isEntry;
    if (isEntry) {
      symbol.offset = alignTo(owner.parameterSize, alignment);
      owner.parameterSize = static_cast<uint32_t>(symbol.offset + size * count);
      owner.parameters.push_back({static_cast<uint32_t>(symbol.offset),
                                  static_cast<uint32_t>(size * count),
                                  static_cast<uint32_t>(alignment)});
    } else {
      symbol.offset = newLocal(size * count, alignment);
      known.parameters.push_back({symbol.offset, size * count});
    }
    define(parameter, symbol);
    lexer.take(",");
  }
  return true;
}

bool Parser::parseFunction(bool isEntry) {
  scopes.emplace_back();
  Function made;
  made.isEntry = isEntry;
  made.begin = ~0u;
  program.functions.push_back(made);
  auto index = static_cast<uint32_t>(program.functions.size() - 1);
  if (!isEntry && lexer.take("(")) {
    if (!parseParameters(program.functions[index], isEntry))
      return false;
    signatures[index].results = std::move(signatures[index].parameters);
    signatures[index].parameters.clear();
  }
  std::string functionName(lexer.next());
  program.functions[index].name = functionName;
  if (lexer.take("(") && !parseParameters(program.functions[index], isEntry))
    return false;
  // A body takes the place of its declaration, whose places of parameters calls may know.
  auto known = scopes.front().find(functionName);
  if (known != scopes.front().end()) {
    auto declared = static_cast<uint32_t>(known->second.offset);
    auto &places = signatures[declared], &own = signatures[index];
    for (auto list : {&Signature::results, &Signature::parameters})
      for (size_t i = 0; i < (own.*list).size() && i < (places.*list).size(); ++i)
        for (auto &[parameter, symbol] : scopes.back())
          if (symbol.offset == (own.*list)[i].first)
            symbol.offset = (places.*list)[i].first;
    program.functions.pop_back();
    index = declared;
  } else {
    Symbol symbol;
    symbol.kind = Symbol::Kind::Function;
    symbol.offset = index;
    scopes.front()[functionName] = symbol;
    if (!isEntry)
      program.functions[index].returnTo = newRegister(4);
  }
  for (;;) {
    Function &owner = program.functions[index];
    uint64_t ignored;
    if (lexer.take(".maxntid") || lexer.peek() == ".reqntid") {
      if (!parseThreads(owner, lexer.take(".reqntid")))
        return false;
    } else if (lexer.take(".minnctapersm") || lexer.take(".maxnreg")) {
      if (!parseNumber(ignored))
        return false;
    } else if (!lexer.take(".noreturn")) {
      break;
    }
  }
  if (!lexer.take(";")) {
    if (!expect("{"))
      return false;
    program.functions[index].begin = static_cast<uint32_t>(program.instructions.size());
    if (!parseBody(index))
      return false;
  }
  scopes.pop_back();
  return true;
}

bool Parser::parseBody(uint32_t index) {
  function = index;
  labels.clear();
  targetLists.clear();
  branches.clear();
  if (!parseBlock())
    return false;
  // What runs off the end returns.
  const std::vector<Instruction> &code = program.instructions;
  bool endsItself = code.size() > program.functions[index].begin && !code.back().isGuarded &&
                    (code.back().flow == Flow::Exit || code.back().flow == Flow::Return ||
                     code.back().flow == Flow::Branch);
  if (!endsItself || std::any_of(labels.begin(), labels.end(),
                                 [&](auto &label) { return label.second == code.size(); })) {
    Instruction end;
    end.flow = program.functions[index].isEntry ? Flow::Exit : Flow::Return;
    end.target = index;
    end.line = lexer.line();
    program.instructions.push_back(end);
  }
  markDeadElements(program.functions[index].begin);
  return resolveTargets();
}

/// Registers are a function's own, and each is written and read by name.
void Parser::markDeadElements(uint32_t begin) {
  std::unordered_map<uint32_t, uint32_t> mentions;
  for (auto each = program.instructions.begin() + begin; each != program.instructions.end();
       ++each) {
    ++mentions[each->guard.offset];
    for (uint32_t i = 0; i < each->numOperands; ++i)
      mentions[program.operands[each->firstOperand + i].offset] +=
          !program.operands[each->firstOperand + i].isConstant;
  }
  for (auto each = program.instructions.begin() + begin; each != program.instructions.end(); ++each)
    for (uint32_t i = 0; each->access.isVectorLoad && i < each->access.count; ++i) {
      uint32_t place = program.operands[each->firstOperand + i].offset;
      each->access.deadElements |=
          static_cast<uint8_t>((place == kNowhere || mentions[place] == 1) << i);
    }
}

/// Up to its closing brace.
bool Parser::parseBlock() {
  scopes.emplace_back();
  while (!lexer.take("}")) {
    if (lexer.peek().empty())
      return failHere("expected '}'");
    if (lexer.take("{")) {
      if (!parseBlock())
        return false;
    } else if (lexer.take(".reg")) {
      if (!parseRegisters())
        return false;
    } else if (lexer.take(".shared")) {
      if (!parseVariable(Space::Shared))
        return false;
    } else if (lexer.take(".local") || lexer.take(".param")) {
      if (!parseVariable(Space::Local))
        return false;
    } else if (lexer.take(".loc") || lexer.take(".file")) {
      lexer.skipLine();
    } else if (lexer.take(".pragma")) {
      lexer.next();
      if (!expect(";"))
        return false;
    } else if (lexer.take(";")) {
      continue;
    } else if (lexer.peekSecond() == ":") {
      std::string label(lexer.next());
      lexer.next();
      if (lexer.take(".branchtargets") ? !parseTargets(label) : false)
        return false;
      labels[label] = static_cast<uint32_t>(program.instructions.size());
    } else if (!parseStatement()) {
      return false;
    }
  }
  scopes.pop_back();
  return true;
}

bool Parser::parseTargets(const std::string &list) {
  do
    targetLists[list].emplace_back(lexer.next());
  while (lexer.take(","));
  return expect(";");
}

bool Parser::resolveTargets() {
  auto resolve = [&](std::string_view label, uint32_t &target) {
    auto found = labels.find(label);
    if (found == labels.end())
      return failHere("there is no label '" + std::string(label) + "' before the end of the body");
    target = found->second;
    return true;
  };
  for (auto &[index, label] : branches) {
    Instruction &instruction = program.instructions[index];
    if (instruction.flow == Flow::Branch) {
      if (!resolve(label, instruction.target))
        return false;
      continue;
    }
    instruction.target = static_cast<uint32_t>(program.branchTables.size());
    for (const std::string &each : targetLists[label])
      if (!resolve(each, program.branchTables.emplace_back()))
        return false;
    instruction.numTargets =
        static_cast<uint32_t>(program.branchTables.size()) - instruction.target;
  }
  return true;
}
