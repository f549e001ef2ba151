//===- FuzzTest.cpp - damaged models fail with a message ------------------===//
//
// Mutates models in their bytes and in their messages. An import must end,
// without a crash, in a module that verifies or in at least one error.
// LUMEN_FUZZ_RUNS sets the number of mutants (300), LUMEN_FUZZ_SEED the first.
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "gtest/gtest.h"

#include "google/protobuf/stubs/logging.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <random>

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace lumen::test {
namespace {

using Random = std::mt19937_64;

int64_t numberFrom(const char *variable, int64_t otherwise) {
  const char *text = std::getenv(variable);
  int64_t number;
  return text && llvm::to_integer(llvm::StringRef(text), number, 10) ? number : otherwise;
}

/// Numbers at which arithmetic goes wrong.
int64_t interesting(Random &random) {
  static const int64_t numbers[] = {0,         1,    -1, 2,         127,        128,
                                    255,       64,   20, INT32_MAX, INT32_MIN,  INT64_MAX,
                                    INT64_MIN, 1024, 3,  10,        1073741824, 1 << 16};
  return numbers[random() % std::size(numbers)];
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

void mutateBytes(std::string &file, Random &random) {
  for (size_t n = 1 + random() % 6; n; --n) {
    size_t at = file.empty() ? 0 : random() % file.size();
    size_t length = std::min<size_t>(1 + random() % 16, file.size() - at);
    switch (random() % 7) {
    case 0:
      file.resize(at);
      break;
    case 1:
      file.erase(at, length);
      break;
    case 2:
      file.insert(at, file.substr(random() % (file.size() + 1), length));
      break;
    case 3:
      file.insert(at, length, char(random()));
      break;
    case 4:
      if (!file.empty())
        file[at] = char(interesting(random));
      break;
    case 5: {
      std::string number;
      wire::writeVarint(number, uint64_t(interesting(random)));
      file.replace(at, std::min(number.size(), file.size() - at), number);
      break;
    }
    default:
      if (!file.empty())
        file[at] ^= char(1 << random() % 8);
    }
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// All messages inside `root`, itself included, and all strings.
void collect(Message &root, std::vector<Message *> &messages, std::vector<std::string> &strings) {
  messages.push_back(&root);
  const auto *reflection = root.GetReflection();
  std::vector<const FieldDescriptor *> fields;
  reflection->ListFields(root, &fields);
  for (const FieldDescriptor *field : fields) {
    int count = field->is_repeated() ? reflection->FieldSize(root, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        collect(*(field->is_repeated() ? reflection->MutableRepeatedMessage(&root, field, i)
                                       : reflection->MutableMessage(&root, field)),
                messages, strings);
      else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
        strings.push_back(field->is_repeated() ? reflection->GetRepeatedString(root, field, i)
                                               : reflection->GetString(root, field));
    }
  }
}

void setScalar(Message &message, const FieldDescriptor *field, int index, Random &random,
               const std::vector<std::string> &strings) {
  const auto *reflection = message.GetReflection();
  int64_t number = random() % 2 ? interesting(random) : int64_t(random() % 30);
#define LUMEN_PUT(Type, value)                                                                     \
  index >= 0 ? reflection->SetRepeated##Type(&message, field, index, value)                        \
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
    LUMEN_PUT(Enum, field->enum_type()->value(int(random() % field->enum_type()->value_count())));
    break;
  case FieldDescriptor::CPPTYPE_STRING:
    // Another name of the model makes cycles, duplicates and wrong types.
    LUMEN_PUT(String, random() % 8 && !strings.empty() ? strings[random() % strings.size()]
                                                       : std::string(random() % 9, '\0'));
    break;
  default:
    break;
  }
#undef LUMEN_PUT
}

void mutateMessages(::onnx::ModelProto &model, Random &random) {
  for (size_t n = 1 + random() % 4; n; --n) {
    std::vector<Message *> messages;
    std::vector<std::string> strings;
    collect(model, messages, strings);
    Message &message = *messages[random() % messages.size()];
    const auto *descriptor = message.GetDescriptor();
    const auto *reflection = message.GetReflection();
    if (descriptor->field_count() == 0)
      continue;
    const FieldDescriptor *field = descriptor->field(int(random() % descriptor->field_count()));
    if (field->number() > 100000)
      continue;
    bool isMessage = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      if (random() % 3 == 0)
        reflection->ClearField(&message, field);
      else if (!isMessage)
        setScalar(message, field, -1, random, strings);
      else
        reflection->MutableMessage(&message, field);
      continue;
    }
    int size = reflection->FieldSize(message, field);
    int at = size ? int(random() % size) : -1;
    switch (random() % 4) {
    case 0:
      if (size)
        reflection->RemoveLast(&message, field);
      break;
    case 1:
      if (size)
        reflection->SwapElements(&message, field, at, size - 1);
      break;
    case 2:
      if (isMessage && size) {
        std::unique_ptr<Message> copy(reflection->GetRepeatedMessage(message, field, at).New());
        copy->CopyFrom(reflection->GetRepeatedMessage(message, field, at));
        reflection->AddMessage(&message, field)->CopyFrom(*copy);
        break;
      }
      [[fallthrough]];
    default:
      if (!isMessage && size)
        setScalar(message, field, at, random, strings);
      else if (isMessage)
        reflection->AddMessage(&message, field);
    }
  }
}

//===----------------------------------------------------------------------===//
// The test
//===----------------------------------------------------------------------===//

std::vector<std::string> seeds() {
  std::vector<std::string> files = {reluModel().SerializeAsString(),
                                    richModel().SerializeAsString()};
  std::error_code error;
  std::string folder = LUMEN_ONNX_PACKAGE "/backend/test/data/light";
  std::vector<std::string> paths;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".onnx")
      paths.push_back(it->path());
  llvm::sort(paths);
  for (const std::string &path : paths)
    if (auto buffer = llvm::MemoryBuffer::getFile(path))
      files.push_back((*buffer)->getBuffer().str());
  return files;
}

TEST(Fuzz, DamagedModelsFailWithAMessage) {
  google::protobuf::LogSilencer silencer;
  std::vector<std::string> files = seeds();
  ASSERT_GT(files.size(), 2u) << "no models in the onnx package";
  int64_t first = numberFrom("LUMEN_FUZZ_SEED", 1), runs = numberFrom("LUMEN_FUZZ_RUNS", 300);
  int64_t failures = 0;
  for (int64_t run = first; run < first + runs; ++run) {
    Random random(run);
    // Most mutants come from the models that hold something of everything.
    std::string file = files[random() % 3 ? random() % 2 : random() % files.size()];
    if (random() % 2) {
      ::onnx::ModelProto model;
      ASSERT_TRUE(model.ParseFromString(file));
      mutateMessages(model, random);
      file = model.SerializeAsString();
    }
    if (random() % 3 == 0)
      mutateBytes(file, random);
    ImportOptions options;
    if (random() % 4 == 0)
      options.dims["N"] = interesting(random);
    if (random() % 4 == 0)
      options.shapes["x"] = {interesting(random), 4};
    Imported imported = importBytes(file, options);
    failures += imported.failed;
    ASSERT_NE(imported.failed, bool(imported.module)) << "LUMEN_FUZZ_SEED=" << run;
  }
  EXPECT_GT(failures, runs / 10);
}

} // namespace
} // namespace lumen::test
