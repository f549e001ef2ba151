//===- Accesses.cpp - instructions on memory ------------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions: ld, st, mov, cp.async, ldmatrix" and
// "Parallel Synchronization and Communication Instructions: atom, red, membar".
//
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "SmallFloat.h"

#include <algorithm>

using namespace lumen::ptx;

namespace {

//===----------------------------------------------------------------------===//
// ld, st
//===----------------------------------------------------------------------===//

/// Calls `body` with a value of the element's type and one of the register's.
template <typename Element, typename Body> void withRegister(uint8_t width, Body body) {
  switch (width) {
  case 2:
    return body(Element(), uint16_t());
  case 4:
    return body(Element(), uint32_t());
  default:
    return body(Element(), uint64_t());
  }
}

template <typename Body> void withTypes(const Access &access, uint8_t width, Body body) {
  switch (access.size) {
  case 1:
    return access.isSigned ? withRegister<int8_t>(width, body) : withRegister<uint8_t>(width, body);
  case 2:
    return access.isSigned ? withRegister<int16_t>(width, body)
                           : withRegister<uint16_t>(width, body);
  case 4:
    return access.isSigned ? withRegister<int32_t>(width, body)
                           : withRegister<uint32_t>(width, body);
  default:
    return withRegister<uint64_t>(width, body);
  }
}

/// Of memory that was checked.
void loadElements(Warp &warp, const Instruction &instruction, uint32_t lanes,
                  char *const (&pointers)[kLanes]) {
  const Access &access = instruction.access;
  for (uint32_t i = 0; i < access.count; ++i) {
    if (access.deadElements >> i & 1)
      continue;
    Operand place = warp.operand(instruction, i);
    withTypes(access, place.width, [&](auto element, auto value) {
      auto *values = warp.at<decltype(value)>(place);
      forEachLane(lanes, [&](uint32_t lane) {
        decltype(element) loaded;
        std::memcpy(&loaded, pointers[lane] + i * sizeof(loaded), sizeof(loaded));
        values[lane] = static_cast<decltype(value)>(loaded);
      });
    });
  }
}

void load(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  const Access &access = instruction.access;
  char *pointers[kLanes];
  // The code generator widens loads over elements that nothing reads.
  auto isDead = [&](uint32_t i) { return access.deadElements >> i & 1; };
  uint32_t used = access.count;
  while (used > 1 && isDead(used - 1))
    --used;
  uint32_t alignment = access.size * access.count;
  if (!warp.resolve(instruction, access.count, lanes,
                    {access.size * used, alignment, /*isWrite=*/false}, pointers))
    return;
  if (warp.group.launch.checks.sharedMemory && access.space <= Space::Shared)
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
      for (uint32_t i = 0; i < used && warp.isShared(pointers[lane]); ++i)
        if (!isDead(i) && !warp.checkShared(instruction, lane, pointers[lane] + i * access.size,
                                            access.size, nullptr))
          return;
    }
  loadElements(warp, instruction, lanes, pointers);
}

void loadParameter(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  char *pointers[kLanes];
  std::fill(std::begin(pointers), std::end(pointers),
            const_cast<char *>(warp.group.launch.parameters) + instruction.immediate);
  loadElements(warp, instruction, lanes, pointers);
}

void store(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  const Access &access = instruction.access;
  char *pointers[kLanes];
  uint32_t size = access.size * access.count;
  if (!warp.resolve(instruction, 0, lanes, {size, /*isWrite=*/true}, pointers))
    return;
  bool isChecked = warp.group.launch.checks.sharedMemory && access.space <= Space::Shared;
  for (uint32_t i = 0; i < access.count; ++i) {
    Operand place = warp.operand(instruction, i + 1);
    withTypes(access, place.width, [&](auto element, auto value) {
      const auto *values = warp.at<decltype(value)>(place);
      // In order: the last of those that store to one place wins.
      for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        auto stored = static_cast<decltype(element)>(values[lane]);
        char *pointer = pointers[lane] + i * sizeof(stored);
        if (isChecked && warp.isShared(pointer) &&
            !warp.checkShared(instruction, lane, pointer, sizeof(stored),
                              reinterpret_cast<char *>(&stored)))
          return;
        std::memcpy(pointer, &stored, sizeof(stored));
      }
    });
    if (warp.hasFailed())
      return;
  }
}

/// Takes what says how caches and the order of other accesses behave: all is in order here.
void takeHints(Statement &statement) {
  for (const char *hint :
       {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "cta", "gpu", "sys",
        "cluster", "noftz", "ca", "cg", "cs", "lu", "cv", "wb", "wt"})
    statement.take(hint);
  auto &parts = statement.parts;
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [](std::string_view part) {
                               return part.substr(0, 4) == "L1::" || part.substr(0, 4) == "L2::";
                             }),
              parts.end());
}

Space takeSpace(Statement &statement) {
  constexpr struct {
    const char *name;
    Space space;
  } spaces[] = {{"global", Space::Global},
                {"const", Space::Global},
                {"shared", Space::Shared},
                {"shared::cta", Space::Shared},
                {"local", Space::Local},
                {"param", Space::Parameter},
                {"param::entry", Space::Parameter},
                {"param::func", Space::Parameter}};
  for (auto &[name, space] : spaces)
    if (statement.take(name))
      return space;
  return Space::Generic;
}

bool decodeAccess(Statement &statement, Instruction &instruction, bool isLoad) {
  takeHints(statement);
  Access &access = instruction.access;
  access.space = takeSpace(statement);
  access.isReadOnly = statement.take("nc");
  access.count = statement.take("v2") ? 2 : statement.take("v4") ? 4 : 1;
  if (statement.parts.size() != 2)
    return statement.fail("unknown instruction");
  std::string_view type = statement.parts[1];
  access.size = Statement::sizeOfType(type);
  access.isSigned = type.front() == 's';
  if (!access.size)
    return statement.fail("unknown instruction");
  if (statement.arguments.size() != 2)
    return statement.fail("has another number of operands");
  const Argument &values = statement.arguments[isLoad ? 0 : 1];
  const Argument &address = statement.arguments[isLoad ? 1 : 0];
  bool isVector = values.kind == Argument::Kind::Vector;
  if (!address.isAddress || (isVector ? values.elements.size() : 1) != access.count)
    return statement.fail("has another number of operands");
  if (!isLoad && !statement.addAddress(address, instruction))
    return false;
  for (uint32_t i = 0; i < access.count; ++i)
    if (!statement.addWide(isVector ? values.elements[i] : values, access.size, instruction))
      return false;
  access.isVectorLoad = isLoad && isVector;
  instruction.execute = isLoad ? load : store;
  if (access.space == Space::Parameter) {
    if (!address.isParameter)
      access.space = Space::Local;
    else if (!isLoad)
      return statement.fail("stores to a parameter of a kernel");
    else {
      instruction.execute = loadParameter;
      instruction.immediate = static_cast<int64_t>(address.bits) + address.offset;
      return true;
    }
  }
  return !isLoad || statement.addAddress(address, instruction);
}

bool decodeLoad(Statement &statement, Instruction &instruction) {
  return decodeAccess(statement, instruction, /*isLoad=*/true);
}

bool decodeStore(Statement &statement, Instruction &instruction) {
  return decodeAccess(statement, instruction, /*isLoad=*/false);
}

//===----------------------------------------------------------------------===//
// atom, red
//===----------------------------------------------------------------------===//

enum class Operation : uint8_t { Add, Min, Max, And, Or, Xor, Exchange, Compare, Inc, Dec };
enum class Kind : uint8_t { Bits, Signed, Float, BFloat };

template <typename T> T combineNumbers(Operation operation, T a, T b) {
  return operation == Operation::Min ? std::min(a, b) : std::max(a, b);
}

uint64_t addFloat(Kind kind, uint8_t size, uint64_t a, uint64_t b) {
  if (size == 8)
    return bitsTo<uint64_t>(bitsTo<double>(a) + bitsTo<double>(b));
  auto low = [](uint64_t bits) { return static_cast<uint16_t>(bits); };
  if (kind == Kind::BFloat)
    return narrow<BFloat>(addToOdd(widen(BFloat{low(a)}), widen(BFloat{low(b)}))).bits;
  if (size == 2)
    return narrow<Half>(addToOdd(widen(Half{low(a)}), widen(Half{low(b)}))).bits;
  auto number = [](uint64_t bits) { return bitsTo<float>(static_cast<uint32_t>(bits)); };
  return bitsTo<uint32_t>(narrow<float>(addToOdd(number(a), number(b))));
}

/// What takes the place of `a`; the operands are extended as their type is.
uint64_t combine(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c) {
  auto operation = static_cast<Operation>(instruction.access.variants[0]);
  auto kind = static_cast<Kind>(instruction.access.variants[1]);
  switch (operation) {
  case Operation::Add:
    return kind >= Kind::Float ? addFloat(kind, instruction.access.size, a, b) : a + b;
  case Operation::Min:
  case Operation::Max:
    if (kind != Kind::Signed)
      return combineNumbers(operation, a, b);
    return static_cast<uint64_t>(
        combineNumbers(operation, static_cast<int64_t>(a), static_cast<int64_t>(b)));
  case Operation::And:
    return a & b;
  case Operation::Or:
    return a | b;
  case Operation::Xor:
    return a ^ b;
  case Operation::Exchange:
    return b;
  case Operation::Compare:
    return a == b ? c : a;
  case Operation::Inc:
    return a >= b ? 0 : a + 1;
  case Operation::Dec:
    return a == 0 || a > b ? b : a - 1;
  }
  return 0;
}

uint64_t extend(const Instruction &instruction, const void *from) {
  uint64_t value = 0;
  std::memcpy(&value, from, instruction.access.size);
  unsigned unused = 64 - 8 * instruction.access.size;
  bool isSigned = static_cast<Kind>(instruction.access.variants[1]) == Kind::Signed;
  return isSigned ? static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused) : value;
}

/// Operands: the result if there is one, the address, one or two values.
void update(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  uint8_t size = instruction.access.size;
  bool hasResult = instruction.access.variants[2];
  uint32_t place = hasResult, last = instruction.numOperands - 1;
  auto value = [&](uint32_t operand, uint32_t lane) {
    return extend(instruction, warp.at<char>(instruction, operand) + lane * size);
  };
  char *pointers[kLanes];
  if (!warp.resolve(instruction, place, lanes, {size, /*isWrite=*/true}, pointers))
    return;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    char *pointer = pointers[lane];
    uint64_t before = extend(instruction, pointer);
    uint64_t after = combine(instruction, before, value(place + 1, lane), value(last, lane));
    if (warp.group.launch.checks.sharedMemory && warp.isShared(pointer) &&
        !warp.checkShared(instruction, lane, pointer, size, reinterpret_cast<char *>(&after),
                          /*isAtomic=*/true))
      return;
    std::memcpy(pointer, &after, size);
    if (hasResult)
      std::memcpy(warp.at<char>(instruction, 0) + lane * size, &before, size);
  }
}

bool decodeUpdate(Statement &statement, Instruction &instruction, bool hasResult) {
  takeHints(statement);
  Access &access = instruction.access;
  access.space = takeSpace(statement);
  constexpr struct {
    const char *name;
    Operation operation;
  } operations[] = {{"add", Operation::Add},       {"min", Operation::Min},
                    {"max", Operation::Max},       {"and", Operation::And},
                    {"or", Operation::Or},         {"xor", Operation::Xor},
                    {"exch", Operation::Exchange}, {"cas", Operation::Compare},
                    {"inc", Operation::Inc},       {"dec", Operation::Dec}};
  bool isKnown = false;
  Operation operation = Operation::Add;
  for (auto &row : operations)
    if (statement.take(row.name)) {
      operation = row.operation;
      isKnown = true;
    }
  if (!isKnown || statement.parts.size() != 2)
    return statement.fail("unknown instruction");
  std::string_view type = statement.parts[1];
  Kind kind = type == "bf16"        ? Kind::BFloat
              : type.front() == 'f' ? Kind::Float
              : type.front() == 's' ? Kind::Signed
                                    : Kind::Bits;
  access.size = Statement::sizeOfType(type);
  bool isAdd = operation == Operation::Add;
  if (access.size < 2 || access.space == Space::Parameter || (kind >= Kind::Float && !isAdd))
    return statement.fail("unknown instruction");
  access.variants[0] = static_cast<uint8_t>(operation);
  access.variants[1] = static_cast<uint8_t>(kind);
  access.variants[2] = hasResult;
  instruction.execute = update;
  const std::vector<Argument> &arguments = statement.arguments;
  size_t numValues = operation == Operation::Compare ? 2 : 1;
  if (arguments.size() != hasResult + 1 + numValues)
    return statement.fail("has another number of operands");
  if (hasResult && !statement.add(arguments[0], access.size, instruction))
    return false;
  if (!statement.addAddress(arguments[hasResult], instruction))
    return false;
  for (size_t i = 0; i < numValues; ++i)
    if (!statement.add(arguments[hasResult + 1 + i], access.size, instruction))
      return false;
  return true;
}

bool decodeAtom(Statement &statement, Instruction &instruction) {
  return decodeUpdate(statement, instruction, /*hasResult=*/true);
}

bool decodeRed(Statement &statement, Instruction &instruction) {
  return decodeUpdate(statement, instruction, /*hasResult=*/false);
}

//===----------------------------------------------------------------------===//
// cp.async, ldmatrix
//===----------------------------------------------------------------------===//

void nothing(Warp &, const Instruction &, uint32_t) {}

/// Takes place when it is waited for, so that what is read too early is seen.
void copyLater(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  AsyncCopy copy{&instruction, lanes, {}, {}, instruction.access.size, {}};
  bool isShort = instruction.numOperands > 2;
  auto address = [&](uint32_t index, uint32_t lane) -> uint64_t {
    const Operand &place = warp.operand(instruction, index);
    return place.width == 4 ? warp.at<uint32_t>(place)[lane] : warp.at<uint64_t>(place)[lane];
  };
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    copy.to[lane] = address(0, lane) + static_cast<uint64_t>(instruction.immediate);
    copy.from[lane] = address(1, lane) + static_cast<uint64_t>(instruction.secondImmediate);
    copy.readSize[lane] =
        isShort ? std::min(warp.at<uint32_t>(instruction, 2)[lane], copy.size) : copy.size;
  }
  warp.copies.back().push_back(copy);
}

void commitCopies(Warp &warp, const Instruction &, uint32_t) { warp.copies.emplace_back(); }

/// Whose source ends early is filled up with zeros.
void copyNow(Warp &warp, const AsyncCopy &copy) {
  for (uint32_t rest = copy.lanes; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    char bytes[16] = {};
    char *to = warp.resolveOne(*copy.instruction, Space::Shared, lane, copy.to[lane],
                               {copy.size, /*isWrite=*/true});
    if (!to)
      return;
    if (uint32_t size = copy.readSize[lane]) {
      const char *from = warp.resolveOne(*copy.instruction, Space::Global, lane, copy.from[lane],
                                         {copy.size, /*isWrite=*/false});
      if (!from)
        return;
      std::memcpy(bytes, from, size);
    }
    if (warp.group.launch.checks.sharedMemory &&
        !warp.checkShared(*copy.instruction, lane, to, copy.size, bytes))
      return;
    std::memcpy(to, bytes, copy.size);
  }
}

/// All but as many of the last groups as `immediate` says; -1: also what is in no group.
void waitForCopies(Warp &warp, const Instruction &instruction, uint32_t) {
  auto pending = static_cast<size_t>(instruction.immediate + 1);
  while (warp.copies.size() > pending) {
    for (const AsyncCopy &copy : warp.copies.front())
      copyNow(warp, copy);
    warp.copies.pop_front();
  }
  if (warp.copies.empty())
    warp.copies.emplace_back();
}

bool decodeCopy(Statement &statement, Instruction &instruction) {
  const std::vector<Argument> &arguments = statement.arguments;
  if (statement.name == "cp.async.commit_group") {
    instruction.execute = commitCopies;
    return true;
  }
  if (statement.name == "cp.async.wait_all" || statement.name == "cp.async.wait_group") {
    instruction.execute = waitForCopies;
    instruction.immediate = arguments.empty() ? -1 : static_cast<int64_t>(arguments[0].bits);
    return true;
  }
  takeHints(statement);
  if (!statement.take("async") || !statement.take("shared") || !statement.take("global") ||
      statement.parts.size() != 1 || arguments.size() < 3 || arguments.size() > 4)
    return statement.fail("unknown instruction");
  instruction.execute = copyLater;
  instruction.access.size = static_cast<uint8_t>(arguments[2].bits);
  instruction.access.space = Space::Shared;
  if (!statement.addAddress(arguments[0], instruction) ||
      !statement.addAddress(arguments[1], instruction))
    return false;
  instruction.immediate = arguments[0].offset;
  instruction.secondImmediate = arguments[1].offset;
  return arguments.size() < 4 || statement.add(arguments[3], 4, instruction);
}

/// "ldmatrix": lane i gives the address of row i % 8 of matrix i / 8, and gets elements
/// 2 * (i % 4) and the next of row i / 4 of each matrix, or of its column.
void loadMatrix(Warp &warp, const Instruction &instruction, uint32_t) {
  uint32_t count = instruction.access.count;
  bool isTransposed = instruction.access.variants[0];
  uint32_t rows = count == 4 ? ~0u : (1u << (8 * count)) - 1;
  char *pointers[kLanes];
  if (!warp.resolve(instruction, count, rows, {16, /*isWrite=*/false}, pointers))
    return;
  for (uint32_t lane = 0; lane < 8 * count; ++lane)
    if (warp.group.launch.checks.sharedMemory &&
        !warp.checkShared(instruction, lane, pointers[lane], 16, nullptr))
      return;
  for (uint32_t matrix = 0; matrix < count; ++matrix) {
    uint32_t *result = warp.at<uint32_t>(instruction, matrix);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint32_t value = 0;
      for (uint32_t half = 0; half < 2; ++half) {
        uint32_t row = lane / 4, column = 2 * (lane % 4) + half;
        if (isTransposed)
          std::swap(row, column);
        uint16_t element;
        std::memcpy(&element, pointers[8 * matrix + row] + 2 * column, sizeof(element));
        value |= uint32_t{element} << (16 * half);
      }
      result[lane] = value;
    }
  }
}

bool decodeLoadMatrix(Statement &statement, Instruction &instruction) {
  Access &access = instruction.access;
  access.variants[0] = statement.take("trans");
  access.space = takeSpace(statement);
  access.count = statement.take("x4") ? 4 : statement.take("x2") ? 2 : statement.take("x1") ? 1 : 0;
  if (access.space != Space::Shared || !access.count || !statement.take("sync") ||
      !statement.take("aligned") || !statement.take("m8n8") || !statement.take("b16") ||
      statement.parts.size() != 1 || statement.arguments.size() != 2 ||
      statement.arguments[0].elements.size() != access.count)
    return statement.fail("unknown instruction");
  access.size = 8;
  access.isConvergent = true;
  instruction.flow = Flow::Warp;
  instruction.execute = loadMatrix;
  for (const Argument &element : statement.arguments[0].elements)
    if (!statement.add(element, 4, instruction))
      return false;
  return statement.addAddress(statement.arguments[1], instruction);
}

//===----------------------------------------------------------------------===//
// mov
//===----------------------------------------------------------------------===//

template <typename T> void move(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  T *to = warp.at<T>(instruction, 0);
  const T *from = warp.at<T>(instruction, 1);
  forEachLane(lanes, [&](uint32_t lane) { to[lane] = from[lane]; });
}

/// A register of parts, the lowest first.
template <typename Whole, typename Part>
void pack(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  Whole *to = warp.at<Whole>(instruction, 0);
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    Whole value = 0;
    for (uint32_t i = 1; i < instruction.numOperands; ++i)
      value |= Whole{warp.at<Part>(instruction, i)[lane]} << (8 * sizeof(Part) * (i - 1));
    to[lane] = value;
  }
}

template <typename Whole, typename Part>
void unpack(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  uint32_t count = instruction.numOperands - 1;
  const Whole *from = warp.at<Whole>(instruction, count);
  for (uint32_t i = 0; i < count; ++i) {
    Part *to = warp.at<Part>(instruction, i);
    forEachLane(lanes, [&](uint32_t lane) {
      to[lane] = static_cast<Part>(from[lane] >> (8 * sizeof(Part) * i));
    });
  }
}

bool decodeMove(Statement &statement, Instruction &instruction) {
  uint8_t size = statement.parts.size() == 2 ? Statement::sizeOfType(statement.parts[1]) : 0;
  if (size < 2)
    return statement.fail("unknown instruction");
  if (statement.arguments.size() != 2)
    return statement.fail("has another number of operands");
  const Argument &to = statement.arguments[0], &from = statement.arguments[1];
  bool isPack = from.kind == Argument::Kind::Vector, isUnpack = to.kind == Argument::Kind::Vector;
  size_t count = isPack ? from.elements.size() : to.elements.size();
  if (!isPack && !isUnpack) {
    instruction.execute = size == 2 ? move<uint16_t> : size == 4 ? move<uint32_t> : move<uint64_t>;
    return statement.add(to, size, instruction) && statement.add(from, size, instruction);
  }
  if (size == 4 && count == 2)
    instruction.execute = isPack ? pack<uint32_t, uint16_t> : unpack<uint32_t, uint16_t>;
  else if (size == 8 && count == 2)
    instruction.execute = isPack ? pack<uint64_t, uint32_t> : unpack<uint64_t, uint32_t>;
  else if (size == 8 && count == 4)
    instruction.execute = isPack ? pack<uint64_t, uint16_t> : unpack<uint64_t, uint16_t>;
  else
    return statement.fail("has another number of operands");
  auto part = static_cast<uint8_t>(size / count);
  if (isPack && !statement.add(to, size, instruction))
    return false;
  for (const Argument &element : isPack ? from.elements : to.elements)
    if (!statement.add(element, part, instruction))
      return false;
  return isPack || statement.add(from, size, instruction);
}

} // namespace

void lumen::ptx::addMemoryAccesses(Table &table) {
  table.addFamily("ld", decodeLoad);
  table.addFamily("st", decodeStore);
  table.addFamily("atom", decodeAtom);
  table.addFamily("red", decodeRed);
  table.addFamily("cp", decodeCopy);
  table.addFamily("ldmatrix", decodeLoadMatrix);
  table.addFamily("mov", decodeMove);
  // Accesses happen in order.
  for (const char *name :
       {"membar.cta", "membar.gl", "membar.sys", "fence.acq_rel.cta", "fence.acq_rel.gpu",
        "fence.acq_rel.sys", "fence.sc.cta", "fence.sc.gpu", "fence.sc.sys"})
    table.add(name, {nothing, ""});
}
