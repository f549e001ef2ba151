//===- Wire.cpp -----------------------------------------------------------===//

#include "compiler/import/Wire.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace lumen::wire {

// Wire types of the format.
constexpr uint32_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

// The length of a message is known only after its fields were cut, so room for
// the longest (a varint may be padded) is left in front.
constexpr size_t kPaddedLength = 5;

const Field *Schema::find(uint32_t number) const {
  auto it = llvm::lower_bound(fields, number,
                              [](const Field &field, uint32_t n) { return field.number < n; });
  return it != fields.end() && it->number == number ? &*it : nullptr;
}

bool readVarint(StringRef bytes, uint64_t &pos, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (pos >= bytes.size())
      return false;
    auto byte = static_cast<uint8_t>(bytes[pos++]);
    if (shift == 63 && byte > 1)
      return false;
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

void writeVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(char(value | 0x80));
  out.push_back(char(value));
}

static uint32_t wireType(Kind kind) {
  switch (kind) {
  case Kind::Varint:
    return kVarint;
  case Kind::Fixed64:
    return kFixed64;
  case Kind::Fixed32:
    return kFixed32;
  case Kind::Bytes:
  case Kind::Message:
    return kBytes;
  }
  return kBytes;
}

namespace {
struct Frame {
  const Schema *schema;
  uint64_t end;      ///< in the file
  size_t lengthSlot; ///< in the result; unused for the root
};

class Walk {
public:
  Walk(StringRef file, const Limits &limits) : file(file), limits(limits) {}

  Expected<std::string> run(const Schema &root);

private:
  Error field(const Frame &frame);
  Error packed(const Schema &schema, const Field &field, uint64_t end);
  Error fail(uint64_t at, const Twine &what) const {
    return createStringError("byte " + Twine(at) + ": " + what);
  }
  Error exceeds(uint64_t at, uint64_t limit, const Twine &what) const {
    return createStringError(make_error_code(kExceedsLimit),
                             "byte " + Twine(at) + ": more than " + Twine(limit) + " " + what);
  }
  void copy(uint64_t begin, uint64_t end) { out.append(file.data() + begin, end - begin); }

  StringRef file;
  const Limits &limits;
  std::string out;
  SmallVector<Frame> stack;
  uint64_t pos = 0, messages = 0, strings = 0;
};
} // namespace

Expected<std::string> Walk::run(const Schema &root) {
  stack.push_back({&root, file.size(), 0});
  while (true) {
    if (pos < stack.back().end) {
      if (Error error = field(stack.back()))
        return std::move(error);
      if (out.size() > limits.remainder)
        return exceeds(pos, limits.remainder, "bytes beside the weights");
      continue;
    }
    Frame done = stack.pop_back_val();
    if (stack.empty())
      return std::move(out);
    uint64_t length = out.size() - done.lengthSlot - kPaddedLength;
    for (size_t i = 0; i < kPaddedLength; ++i, length >>= 7)
      out[done.lengthSlot + i] = char((length & 0x7f) | (i + 1 < kPaddedLength ? 0x80 : 0));
  }
}

Error Walk::field(const Frame &frame) {
  const Schema &schema = *frame.schema;
  StringRef bytes = file.take_front(frame.end);
  uint64_t begin = pos, tag;
  if (!readVarint(bytes, pos, tag))
    return fail(begin, "truncated or overlong field tag in " + schema.name);
  uint64_t number = tag >> 3;
  uint32_t type = tag & 7;
  if (number == 0 || number > 0x1fffffff)
    return fail(begin, "field number " + Twine(number) + " in " + schema.name + " is not valid");
  const Field *known = schema.find(number);
  if (!known)
    return fail(begin,
                "field " + Twine(number) + " of " + schema.name + " is not known to this version");
  bool isPacked = type == kBytes && known->repeated && known->kind != Kind::Bytes &&
                  known->kind != Kind::Message;
  if (!isPacked && type != wireType(known->kind))
    return fail(begin, "field '" + known->name + "' of " + schema.name + " has wire type " +
                           Twine(type) + ", expected " + Twine(wireType(known->kind)));

  auto truncated = [&](uint64_t size) {
    return fail(begin, "field '" + known->name + "' of " + schema.name + " is " + Twine(size) +
                           " bytes long, but only " + Twine(frame.end - pos) + " are left");
  };
  uint64_t value;
  if (type == kVarint) {
    if (!readVarint(bytes, pos, value))
      return fail(begin,
                  "truncated or overlong number in field '" + known->name + "' of " + schema.name);
    copy(begin, pos);
    return Error::success();
  }
  if (type == kFixed32 || type == kFixed64) {
    uint64_t size = type == kFixed32 ? 4 : 8;
    if (frame.end - pos < size)
      return truncated(size);
    pos += size;
    copy(begin, pos);
    return Error::success();
  }

  uint64_t afterTag = pos;
  if (!readVarint(bytes, pos, value))
    return fail(begin,
                "truncated or overlong length of field '" + known->name + "' of " + schema.name);
  if (value > frame.end - pos)
    return truncated(value);
  uint64_t end = pos + value;
  if (known->kind == Kind::Message) {
    if (stack.size() >= limits.depth)
      return exceeds(begin, limits.depth, "messages inside each other");
    if (++messages > limits.messages)
      return exceeds(begin, limits.messages, "messages");
    copy(begin, afterTag);
    const Schema *inner = known->message;
    // `frame` lies in the stack that grows here.
    stack.push_back({inner, end, out.size()});
    out.append(kPaddedLength, '\0');
    return Error::success();
  }
  if (known->kind == Kind::Bytes && ++strings > limits.strings)
    return exceeds(begin, limits.strings, "strings");
  if (isPacked)
    if (Error error = packed(schema, *known, end))
      return error;
  if (known->cutOffset && value >= limits.cutFrom) {
    writeVarint(out, uint64_t(known->cutOffset) << 3 | kVarint);
    writeVarint(out, pos);
    writeVarint(out, uint64_t(known->cutSize) << 3 | kVarint);
    writeVarint(out, value);
  } else {
    copy(begin, end);
  }
  pos = end;
  return Error::success();
}

/// Checks a run of packed numbers that starts at `pos`.
Error Walk::packed(const Schema &schema, const Field &field, uint64_t end) {
  uint64_t size = end - pos, value;
  if (field.kind == Kind::Varint) {
    for (uint64_t at = pos; at < end;) {
      uint64_t begin = at;
      if (!readVarint(file.take_front(end), at, value))
        return fail(begin,
                    "truncated or overlong number in field '" + field.name + "' of " + schema.name);
    }
    return Error::success();
  }
  uint64_t width = field.kind == Kind::Fixed32 ? 4 : 8;
  if (size % width)
    return fail(pos, "field '" + field.name + "' of " + schema.name + " is " + Twine(size) +
                         " bytes long, which is not a multiple of " + Twine(width));
  return Error::success();
}

Expected<std::string> cut(StringRef file, const Schema &root, const Limits &limits) {
  return Walk(file, limits).run(root);
}

} // namespace lumen::wire
