//===- TensorTest.cpp - constant data -------------------------------------===//

#include "compiler/import/Types.h"
#include "dialects/Onnx/Onnx.h"

#include "Models.h"

#include "gtest/gtest.h"

using ::onnx::TensorProto;

namespace lumen::test {
namespace {

/// The attribute of the only initializer of a model, 'w'.
mlir::TypedAttr weightOf(const Imported &imported) {
  mlir::TypedAttr value;
  imported.module.get().walk([&](onnx::ConstantOp op) { value = op.getValue(); });
  return value;
}

::onnx::ModelProto withWeight(int32_t type, const std::vector<int64_t> &dims,
                              TensorProto **tensor) {
  ::onnx::ModelProto model = reluModel();
  *tensor = addInitializer(model.mutable_graph(), "w", type, dims);
  return model;
}

/// Puts the bytes of `raw` into the typed field for `kind`.
void setTyped(TensorProto &tensor, const ElementKind &kind, const std::string &raw) {
  auto elements = [&](auto zero, auto add) {
    for (size_t at = 0; at + sizeof(zero) <= raw.size(); at += sizeof(zero)) {
      auto value = zero;
      std::memcpy(&value, raw.data() + at, sizeof(zero));
      add(value);
    }
  };
  auto addInt32 = [&](auto value) { tensor.add_int32_data(value); };
  switch (kind.typedData) {
  case TypedData::Float:
    return elements(float(), [&](float value) { tensor.add_float_data(value); });
  case TypedData::Double:
    return elements(double(), [&](double value) { tensor.add_double_data(value); });
  case TypedData::Int64:
    return elements(int64_t(), [&](int64_t value) { tensor.add_int64_data(value); });
  case TypedData::Uint64:
    if (kind.bits == 32)
      return elements(uint32_t(), [&](uint32_t value) { tensor.add_uint64_data(value); });
    return elements(uint64_t(), [&](uint64_t value) { tensor.add_uint64_data(value); });
  case TypedData::Int32:
    if (kind.bits == 32)
      return elements(int32_t(), addInt32);
    if (kind.bits == 16)
      return elements(uint16_t(), addInt32);
    if (kind.bits != 6)
      return elements(uint8_t(), addInt32);
    for (size_t bit = 0; bit + 6 <= raw.size() * 8; bit += 6) {
      unsigned value = 0;
      for (size_t i = 0; i < 6; ++i)
        value |= (uint8_t(raw[(bit + i) / 8]) >> ((bit + i) % 8) & 1) << i;
      tensor.add_int32_data(int32_t(value));
    }
    return;
  case TypedData::String:
    return;
  }
}

// For every element type, raw and typed data give the same elements, in small
// tensors and in large ones.
TEST(Tensor, RawAndTypedDataAgree) {
  for (int32_t code = 1; const ElementKind *kind = findElementKind(code); ++code) {
    if (kind->typedData == TypedData::String)
      continue;
    for (int64_t count : {8, 4096}) {
      std::string raw(count * kind->bits / 8, 0);
      for (size_t i = 0; i < raw.size(); ++i)
        raw[i] = code == TensorProto::BOOL ? char(i % 3 == 0) : char(i * 37 + 5);
      TensorProto *tensor;
      ::onnx::ModelProto model = withWeight(code, {count}, &tensor);
      tensor->set_raw_data(raw);
      Imported fromRaw = importModel(model);
      ASSERT_EQ(fromRaw.messages, "") << kind->name;
      tensor->clear_raw_data();
      setTyped(*tensor, *kind, raw);
      Imported fromTyped = importModel(model);
      ASSERT_EQ(fromTyped.messages, "") << kind->name;

      if (count <= onnx::kMaxDenseElements) {
        auto print = [](const Imported &imported) {
          std::string text;
          llvm::raw_string_ostream os(text);
          weightOf(imported).print(os);
          return text;
        };
        EXPECT_EQ(print(fromRaw), print(fromTyped)) << kind->name;
        continue;
      }
      for (const Imported *imported : {&fromRaw, &fromTyped}) {
        auto blob = mlir::dyn_cast<BlobAttr>(weightOf(*imported));
        ASSERT_TRUE(blob) << kind->name;
        llvm::ArrayRef<char> bytes = imported->blobs().bytes(blob);
        EXPECT_TRUE(bytes == llvm::ArrayRef<char>(raw.data(), raw.size())) << kind->name;
      }
    }
  }
}

// Elements of less than a byte are unpacked from the lowest bits on.
TEST(Tensor, UnpacksSmallElements) {
  TensorProto *tensor;
  ::onnx::ModelProto model = withWeight(TensorProto::INT4, {3}, &tensor);
  tensor->set_raw_data("\xf1\x07");
  EXPECT_NE(importModel(model).text().find("dense<[1, -1, 7]> : tensor<3xi4>"), std::string::npos);
  tensor->set_data_type(TensorProto::UINT2);
  tensor->set_raw_data("\x1b");
  EXPECT_NE(importModel(model).text().find("dense<[3, 2, 1]> : tensor<3xui2>"), std::string::npos);
}

// Large data stays where it is in the file.
TEST(Tensor, LargeDataIsNotCopied) {
  TensorProto *tensor;
  ::onnx::ModelProto model = withWeight(TensorProto::FLOAT, {2, 600}, &tensor);
  std::string raw(4800, '\0');
  for (size_t i = 0; i < raw.size(); ++i)
    raw[i] = char(i % 251);
  tensor->set_raw_data(raw);
  Imported imported = importModel(model);
  auto blob = mlir::dyn_cast<BlobAttr>(weightOf(imported));
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob.getOffset(), model.SerializeAsString().find(raw));
  EXPECT_EQ(imported.blobs().size(), 1u);
}

// A large tensor of one value is a splat, which folders understand.
TEST(Tensor, SplatsAreDense) {
  TensorProto *tensor;
  ::onnx::ModelProto model = withWeight(TensorProto::INT64, {4096}, &tensor);
  std::string raw;
  for (int i = 0; i < 4096; ++i)
    raw += std::string("\x07\0\0\0\0\0\0\0", 8);
  tensor->set_raw_data(raw);
  EXPECT_NE(importModel(model).text().find("dense<7> : tensor<4096xi64>"), std::string::npos);
}

// A boolean is 0 or 1 behind the importer, whatever byte stands in the file.
TEST(Tensor, BooleansAreNormalised) {
  TensorProto *tensor;
  ::onnx::ModelProto model = withWeight(TensorProto::BOOL, {2048}, &tensor);
  std::string raw(2048, '\0');
  raw[3] = '\x40';
  tensor->set_raw_data(raw);
  Imported imported = importModel(model);
  auto blob = mlir::dyn_cast<BlobAttr>(weightOf(imported));
  ASSERT_TRUE(blob);
  EXPECT_EQ(imported.blobs().bytes(blob)[3], 1);
}

TEST(Tensor, EmptyTensors) {
  TensorProto *tensor;
  ::onnx::ModelProto model = withWeight(TensorProto::INT64, {0}, &tensor);
  EXPECT_NE(importModel(model).text().find("dense<> : tensor<0xi64>"), std::string::npos);
  tensor->set_raw_data("");
  EXPECT_EQ(importModel(model).messages, "");
}

struct Fault {
  const char *message;
  void (*make)(TensorProto &);
};

// Each fault is told with what was found and what was expected.
TEST(Tensor, NamesWhatIsWrong) {
  const Fault faults[] = {
      {"36 bytes of data, expected 48 for f32[3x4]",
       [](TensorProto &t) { t.set_raw_data(std::string(36, 'a')); }},
      {"2000 bytes of data, expected 48 for f32[3x4]",
       [](TensorProto &t) { t.set_raw_data(std::string(2000, 'a')); }},
      {"0 numbers in float_data, expected 12 for f32[3x4]", [](TensorProto &) {}},
      {"1 numbers in float_data, expected 12 for f32[3x4]",
       [](TensorProto &t) { t.add_float_data(1); }},
      {"holds int32_data, expected float_data for f32",
       [](TensorProto &t) { t.add_int32_data(1); }},
      {"has data in more than one form: raw_data, float_data",
       [](TensorProto &t) {
         t.set_raw_data(std::string(48, 'a'));
         t.add_float_data(1);
       }},
      {"element type 0 (undefined)", [](TensorProto &t) { t.clear_data_type(); }},
      {"element type 99 is not known to this version", [](TensorProto &t) { t.set_data_type(99); }},
      {"shape 3x4x-1 has a negative size", [](TensorProto &t) { t.add_dims(-1); }},
      {"shape 3x4x4611686018427387904x4611686018427387904 is larger than memory can be",
       [](TensorProto &t) {
         t.add_dims(int64_t(1) << 62);
         t.add_dims(int64_t(1) << 62);
       }},
      {"has rank 65, expected at most 64",
       [](TensorProto &t) {
         while (t.dims_size() < 65)
           t.add_dims(1);
       }},
      {"300 does not fit ui8",
       [](TensorProto &t) {
         t.set_data_type(TensorProto::UINT8);
         for (int i = 0; i < 12; ++i)
           t.add_int32_data(300);
       }},
      {"strings must be in string_data",
       [](TensorProto &t) {
         t.set_data_type(TensorProto::STRING);
         t.set_raw_data("a");
       }},
      {"0 strings in string_data, expected 12 for string[3x4]",
       [](TensorProto &t) { t.set_data_type(TensorProto::STRING); }},
      {"is one segment of a tensor, which is not supported",
       [](TensorProto &t) { t.mutable_segment()->set_begin(1); }},
  };
  for (const Fault &fault : faults) {
    TensorProto *tensor;
    ::onnx::ModelProto model = withWeight(TensorProto::FLOAT, {3, 4}, &tensor);
    fault.make(*tensor);
    Imported imported = importModel(model);
    EXPECT_FALSE(imported.module);
    EXPECT_EQ(imported.messages, std::string("m.onnx: initializer 'w': ") + fault.message + "\n");
  }
}

} // namespace
} // namespace lumen::test
