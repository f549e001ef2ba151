//===- Wire.h - walks protobuf's wire format ---------------------*- C++ -*-===//
//
// protobuf copies what it parses and refuses 2 GB. So a model is walked here
// first: large byte fields are cut out and only their places in the file are
// left behind. The walk also refuses everything that protobuf would pass over
// in silence: unknown fields, wrong wire types, and nesting meant to exhaust the
// stack.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_COMPILER_IMPORT_WIRE_H
#define LUMEN_COMPILER_IMPORT_WIRE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lumen::wire {

enum class Kind : uint8_t { Varint, Fixed64, Fixed32, Bytes, Message };

struct Schema;

struct Field {
  uint32_t number;
  std::string name;
  Kind kind;
  /// Repeated numbers may also come packed, as one run of bytes.
  bool repeated = false;
  /// The type of a Message.
  const Schema *message = nullptr;
  /// For Bytes that may be cut: the numbers of two varint fields, unknown to
  /// the file's own schema, that receive the offset and size of the bytes.
  uint32_t cutOffset = 0, cutSize = 0;
};

/// The fields of one message type, by rising number.
struct Schema {
  std::string name;
  std::vector<Field> fields;

  const Field *find(uint32_t number) const;
};

struct Limits {
  uint64_t cutFrom = 1024;         ///< bytes; shorter fields stay where they are
  unsigned depth = 300;            ///< messages inside messages; a nested graph takes three
  uint64_t messages = 8 << 20;     ///< each costs far more memory than its two bytes
  uint64_t strings = 32 << 20;     ///< the same, for fields of bytes
  uint64_t remainder = 0x7fff0000; ///< bytes left after cutting; protobuf's limit is 2 GB
};

/// What an error's code is where a file is well-formed as far as it was read, but beyond
/// the limits.
constexpr llvm::errc kExceedsLimit = llvm::errc::file_too_large;

/// Checks that `file` is a well-formed message of type `root` and returns it with
/// the cuttable fields cut. Runs in constant stack. The error says what is wrong
/// at which byte.
llvm::Expected<std::string> cut(llvm::StringRef file, const Schema &root,
                                const Limits &limits = Limits());

/// The base-128 number at `pos`, which moves behind it. False when it is
/// truncated or longer than 64 bits.
bool readVarint(llvm::StringRef bytes, uint64_t &pos, uint64_t &value);
void writeVarint(std::string &out, uint64_t value);

} // namespace lumen::wire

#endif // LUMEN_COMPILER_IMPORT_WIRE_H
