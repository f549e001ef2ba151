//===- Schema.cpp ---------------------------------------------------------===//

#include "compiler/import/Schema.h"

#include <map>

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

namespace lumen {

static wire::Kind kindOf(const FieldDescriptor &field) {
  switch (field.type()) {
  case FieldDescriptor::TYPE_DOUBLE:
  case FieldDescriptor::TYPE_FIXED64:
  case FieldDescriptor::TYPE_SFIXED64:
    return wire::Kind::Fixed64;
  case FieldDescriptor::TYPE_FLOAT:
  case FieldDescriptor::TYPE_FIXED32:
  case FieldDescriptor::TYPE_SFIXED32:
    return wire::Kind::Fixed32;
  case FieldDescriptor::TYPE_STRING:
  case FieldDescriptor::TYPE_BYTES:
    return wire::Kind::Bytes;
  case FieldDescriptor::TYPE_MESSAGE:
    return wire::Kind::Message;
  default:
    return wire::Kind::Varint;
  }
}

namespace {
/// Message types refer to each other (graphs hold nodes hold graphs).
struct Builder {
  std::map<const Descriptor *, std::unique_ptr<wire::Schema>> schemas;

  const wire::Schema *get(const Descriptor *message) {
    std::unique_ptr<wire::Schema> &slot = schemas[message];
    if (slot)
      return slot.get();
    slot = std::make_unique<wire::Schema>();
    wire::Schema &schema = *slot;
    schema.name = message->name();
    bool isTensor = message == ::onnx::TensorProto::descriptor();
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor &field = *message->field(i);
      auto number = static_cast<uint32_t>(field.number());
      // Only the walker writes these two.
      if (isTensor && (number == ::onnx::TensorProto::kMappedOffsetFieldNumber ||
                       number == ::onnx::TensorProto::kMappedSizeFieldNumber))
        continue;
      wire::Field entry{number, field.name(), kindOf(field), field.is_repeated()};
      if (isTensor && number == ::onnx::TensorProto::kRawDataFieldNumber) {
        entry.cutOffset = ::onnx::TensorProto::kMappedOffsetFieldNumber;
        entry.cutSize = ::onnx::TensorProto::kMappedSizeFieldNumber;
      }
      if (entry.kind == wire::Kind::Message)
        entry.message = get(field.message_type());
      schema.fields.push_back(std::move(entry));
    }
    llvm::sort(schema.fields,
               [](const wire::Field &a, const wire::Field &b) { return a.number < b.number; });
    return &schema;
  }
};
} // namespace

const wire::Schema &modelSchema() {
  // Never freed: other statics may still read models at exit.
  static Builder *builder = new Builder;
  static const wire::Schema *schema = builder->get(::onnx::ModelProto::descriptor());
  return *schema;
}

} // namespace lumen
