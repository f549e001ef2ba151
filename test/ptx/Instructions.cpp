//===- Instructions.cpp - what there is in PTX ----------------------------===//

#include "Instructions.h"

#include <algorithm>

using namespace lumen::ptx;

Table::Table() {
  addIntegerRows(*this);
  addFloatRows(*this);
  addConversions(*this);
  addMemoryAccesses(*this);
  addMatrixProducts(*this);
  addWarpRows(*this);
}

const Row *Table::find(const std::string &name) const {
  auto found = rows.find(name);
  return found == rows.end() ? nullptr : &found->second;
}

Decode Table::findFamily(const std::string &name) const {
  auto found = families.find(name);
  return found == families.end() ? nullptr : found->second;
}

bool Statement::take(std::string_view part) {
  auto found = std::find(parts.begin(), parts.end(), part);
  if (found == parts.end())
    return false;
  parts.erase(found);
  return true;
}

uint8_t Statement::sizeOfType(std::string_view type) {
  if (type == "bf16")
    return 2;
  if (type == "f16x2" || type == "bf16x2")
    return 4;
  if (type.size() < 2 || std::string_view("bsuf").find(type.front()) == std::string_view::npos)
    return 0;
  std::string_view bits = type.substr(1);
  return bits == "8" ? 1 : bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : 0;
}

bool Statement::addWide(const Argument &argument, uint8_t size, Instruction &instruction) {
  uint8_t width = std::max<uint8_t>(size, 2);
  if (argument.kind != Argument::Kind::Register)
    return add(argument, width, instruction);
  if (argument.place.width < width)
    return fail("has a register that is narrower than the type");
  return add(argument, argument.place.width, instruction);
}

bool Statement::addAddress(const Argument &argument, Instruction &instruction) {
  if (!argument.isAddress)
    return fail("has no address in brackets");
  instruction.immediate = argument.offset;
  bool isRegister = argument.kind == Argument::Kind::Register;
  if (isRegister && argument.place.width < 4)
    return fail("has an address in a register of 16 bits");
  return add(argument, isRegister ? argument.place.width : 8, instruction);
}
