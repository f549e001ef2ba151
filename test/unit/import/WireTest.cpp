//===- WireTest.cpp - the wire walker -------------------------------------===//

#include "compiler/import/Wire.h"

#include "Models.h"

#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

#include <random>

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace lumen::test {
namespace {

std::string faultOf(const std::string &file, const wire::Limits &limits = {}) {
  auto result = wire::cut(file, modelSchema(), limits);
  return result ? "" : llvm::toString(result.takeError());
}

/// Fills `message` with random values, some lists long, to a depth of `depth`.
void fill(Message &message, std::mt19937 &random, int depth) {
  const auto *reflection = message.GetReflection();
  const auto *descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor *field = descriptor->field(i);
    if (field->number() > 100000 || random() % 3)
      continue;
    int repeats = field->is_repeated() ? int(random() % 4) : 1;
    for (int j = 0; j < repeats; ++j) {
      std::string bytes(random() % 8 == 0 ? random() % 5000 : random() % 8, char(random()));
      auto number = int64_t(random()) << (random() % 32);
#define LUMEN_PUT(Type, value)                                                                     \
  field->is_repeated() ? reflection->Add##Type(&message, field, value)                             \
                       : reflection->Set##Type(&message, field, value)
      switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        LUMEN_PUT(Int32, int32_t(number));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        LUMEN_PUT(Int64, number);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        LUMEN_PUT(UInt64, uint64_t(number));
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        LUMEN_PUT(Float, float(number));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        LUMEN_PUT(Double, double(number));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        LUMEN_PUT(Enum, field->enum_type()->value(0));
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        LUMEN_PUT(String, bytes);
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth > 0)
          fill(*(field->is_repeated() ? reflection->AddMessage(&message, field)
                                      : reflection->MutableMessage(&message, field)),
               random, depth - 1);
        break;
      default:
        break;
      }
#undef LUMEN_PUT
    }
  }
}

/// Puts the cut bytes back from their places in the file.
void restore(Message &message, const std::string &file) {
  if (message.GetDescriptor() == ::onnx::TensorProto::descriptor()) {
    auto *tensor = static_cast<::onnx::TensorProto *>(&message);
    if (tensor->has_mapped_offset()) {
      tensor->set_raw_data(file.substr(tensor->mapped_offset(), tensor->mapped_size()));
      tensor->clear_mapped_offset();
      tensor->clear_mapped_size();
    }
  }
  std::vector<const FieldDescriptor *> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor *field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    if (!field->is_repeated()) {
      restore(*message.GetReflection()->MutableMessage(&message, field), file);
      continue;
    }
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i)
      restore(*message.GetReflection()->MutableRepeatedMessage(&message, field, i), file);
  }
}

// A cut file is the same model, with large raw data replaced by places.
TEST(Wire, KeepsRandomModels) {
  google::protobuf::LogSilencer silencer;
  std::mt19937 random(7);
  for (int run = 0; run < 200; ++run) {
    ::onnx::ModelProto model, read;
    fill(model, random, 7);
    std::string file = model.SerializeAsString();
    auto skeleton = wire::cut(file, modelSchema());
    ASSERT_TRUE(bool(skeleton)) << llvm::toString(skeleton.takeError());
    ASSERT_TRUE(read.ParseFromString(*skeleton));
    restore(read, file);
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(model, read));
  }
}

TEST(Wire, CutsOnlyLargeRawData) {
  ::onnx::ModelProto model = test::richModel(), read;
  std::string file = model.SerializeAsString();
  auto skeleton = wire::cut(file, modelSchema());
  ASSERT_TRUE(bool(skeleton));
  EXPECT_LT(skeleton->size() + 7000, file.size());
  ASSERT_TRUE(read.ParseFromString(*skeleton));
  EXPECT_EQ(read.graph().initializer(0).mapped_size(), 8192u);
  EXPECT_FALSE(read.graph().initializer(0).has_raw_data());
  EXPECT_TRUE(read.graph().initializer(1).has_raw_data());
}

// Every proper prefix either ends between two fields of the model, or is refused.
TEST(Wire, RefusesTruncation) {
  std::string file = test::richModel().SerializeAsString();
  size_t accepted = 0;
  for (size_t size = 0; size < file.size(); ++size)
    accepted += faultOf(file.substr(0, size)).empty();
  EXPECT_LT(accepted, 10u);
}

TEST(Wire, NamesWhatIsWrong) {
  EXPECT_EQ(faultOf("\x80"), "byte 0: truncated or overlong field tag in ModelProto");
  EXPECT_EQ(faultOf(std::string("\0", 1)), "byte 0: field number 0 in ModelProto is not valid");
  EXPECT_EQ(faultOf("\x08\x80"),
            "byte 0: truncated or overlong number in field 'ir_version' of ModelProto");
  EXPECT_EQ(faultOf("\x08" + std::string(10, '\xff') + "\x01"),
            "byte 0: truncated or overlong number in field 'ir_version' of ModelProto");
  EXPECT_EQ(faultOf("\x98\x06\x01"), "byte 0: field 99 of ModelProto is not known to this version");
  EXPECT_EQ(faultOf(std::string("\x0a\x00", 2)),
            "byte 0: field 'ir_version' of ModelProto has wire type 2, expected 0");
  EXPECT_EQ(faultOf("\x3a\x05\x0a\x09"),
            "byte 0: field 'graph' of ModelProto is 5 bytes long, but only 2 are left");
  EXPECT_EQ(faultOf("\x3a\x03\x0a\x09\x12"),
            "byte 2: field 'node' of GraphProto is 9 bytes long, but only 1 are left");
}

TEST(Wire, ChecksPackedNumbers) {
  // Initializers whose float_data has three bytes, and whose int64_data ends inside a number.
  EXPECT_EQ(faultOf(std::string("\x3a\x07\x2a\x05\x22\x03\x01\x02\x03", 9)),
            "byte 6: field 'float_data' of TensorProto is 3 bytes long, which is not a multiple "
            "of 4");
  EXPECT_EQ(faultOf(std::string("\x3a\x06\x2a\x04\x3a\x02\x01\x80", 8)),
            "byte 7: truncated or overlong number in field 'int64_data' of TensorProto");
}

/// `depth` graphs inside each other, from the inside out.
std::string nested(int depth) {
  auto wrap = [](char tag, const std::string &inner) {
    std::string out(1, tag);
    wire::writeVarint(out, inner.size());
    return out + inner;
  };
  std::string body;
  for (int i = 0; i < depth; ++i)
    body = wrap('\x0a', wrap('\x2a', wrap('\x32', body))); // node, attribute, g
  return wrap('\x3a', body);
}

TEST(Wire, LimitsDepthAndNumber) {
  EXPECT_EQ(faultOf(nested(95)), "");
  EXPECT_NE(faultOf(nested(110)).find("more than 300 messages inside each other"),
            std::string::npos);
  EXPECT_NE(faultOf(nested(20000)).find("more than 300 messages inside each other"),
            std::string::npos);
  EXPECT_EQ(test::importBytes(nested(110)).messages.find("m.onnx: too large to be read: byte "),
            0u);
  wire::Limits limits;
  limits.messages = 10;
  EXPECT_NE(faultOf(nested(4), limits).find("more than 10 messages"), std::string::npos);
  limits = wire::Limits();
  limits.strings = 10;
  EXPECT_NE(faultOf(test::richModel().SerializeAsString(), limits).find("more than 10 strings"),
            std::string::npos);
}

TEST(Wire, Varints) {
  for (uint64_t value :
       {uint64_t(0), uint64_t(127), uint64_t(128), uint64_t(1) << 35, ~uint64_t(0)}) {
    std::string bytes;
    wire::writeVarint(bytes, value);
    uint64_t pos = 0, read;
    ASSERT_TRUE(wire::readVarint(bytes, pos, read));
    EXPECT_EQ(read, value);
    EXPECT_EQ(pos, bytes.size());
    pos = 0;
    EXPECT_FALSE(wire::readVarint(llvm::StringRef(bytes).drop_back(), pos, read));
  }
}

} // namespace
} // namespace lumen::test
