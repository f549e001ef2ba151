//===- Header.cpp - the C and C++ header of an artifact -------------------===//

#include "compiler/link/Header.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;

namespace lumen::link {
namespace {

struct TypeRow {
  lumen_abi_dtype dtype;
  const char *name;     // in the comment
  const char *constant; // in lumen.h
  const char *cType;    // of a pointer to elements; "void" where C has no such type
  unsigned bits;        // 0: no fixed size
};

constexpr TypeRow kTypes[] = {
    {LUMEN_ABI_F32, "f32", "LUMEN_F32", "float", 32},
    {LUMEN_ABI_U8, "u8", "LUMEN_U8", "uint8_t", 8},
    {LUMEN_ABI_I8, "i8", "LUMEN_I8", "int8_t", 8},
    {LUMEN_ABI_U16, "u16", "LUMEN_U16", "uint16_t", 16},
    {LUMEN_ABI_I16, "i16", "LUMEN_I16", "int16_t", 16},
    {LUMEN_ABI_I32, "i32", "LUMEN_I32", "int32_t", 32},
    {LUMEN_ABI_I64, "i64", "LUMEN_I64", "int64_t", 64},
    {LUMEN_ABI_STRING, "string", "LUMEN_STRING", "void", 0},
    {LUMEN_ABI_BOOL, "bool", "LUMEN_BOOL", "uint8_t", 8},
    {LUMEN_ABI_F16, "f16", "LUMEN_F16", "void", 16},
    {LUMEN_ABI_F64, "f64", "LUMEN_F64", "double", 64},
    {LUMEN_ABI_U32, "u32", "LUMEN_U32", "uint32_t", 32},
    {LUMEN_ABI_U64, "u64", "LUMEN_U64", "uint64_t", 64},
    {LUMEN_ABI_C64, "c64", "LUMEN_C64", "void", 64},
    {LUMEN_ABI_C128, "c128", "LUMEN_C128", "void", 128},
    {LUMEN_ABI_BF16, "bf16", "LUMEN_BF16", "void", 16},
    {LUMEN_ABI_F8E4M3FN, "f8e4m3fn", "LUMEN_F8E4M3FN", "void", 8},
    {LUMEN_ABI_F8E4M3FNUZ, "f8e4m3fnuz", "LUMEN_F8E4M3FNUZ", "void", 8},
    {LUMEN_ABI_F8E5M2, "f8e5m2", "LUMEN_F8E5M2", "void", 8},
    {LUMEN_ABI_F8E5M2FNUZ, "f8e5m2fnuz", "LUMEN_F8E5M2FNUZ", "void", 8},
    {LUMEN_ABI_U4, "u4", "LUMEN_U4", "void", 4},
    {LUMEN_ABI_I4, "i4", "LUMEN_I4", "void", 4},
    {LUMEN_ABI_F4E2M1, "f4e2m1", "LUMEN_F4E2M1", "void", 4},
    {LUMEN_ABI_F8E8M0, "f8e8m0", "LUMEN_F8E8M0", "void", 8},
    {LUMEN_ABI_U2, "u2", "LUMEN_U2", "void", 2},
    {LUMEN_ABI_I2, "i2", "LUMEN_I2", "void", 2},
};

const TypeRow &typeRow(lumen_abi_dtype dtype) {
  const TypeRow *row = find_if(kTypes, [&](const TypeRow &row) { return row.dtype == dtype; });
  assert(row != std::end(kTypes) && "type without a row");
  return *row;
}

/// Any text inside a C comment, on one line.
std::string inComment(StringRef text) {
  std::string result;
  for (size_t i = 0; i != text.size(); ++i) {
    char c = text[i];
    bool endsComment = c == '/' && i && text[i - 1] == '*';
    bool opensComment = c == '*' && i && text[i - 1] == '/';
    if (endsComment || opensComment)
      result += ' ';
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return result;
}

bool isFixed(const Value &value) {
  return value.kind == LUMEN_ABI_TENSOR && value.dims &&
         all_of(*value.dims, [](const Dim &dim) { return dim.extent >= 0; });
}

std::string shapeText(const Value &value) {
  if (!value.dims)
    return "any shape";
  std::string text;
  raw_string_ostream out(text);
  out << '[';
  interleaveComma(*value.dims, out, [&](const Dim &dim) {
    if (dim.extent >= 0)
      out << dim.extent;
    else
      out << (dim.symbol.empty() ? "?" : inComment(dim.symbol));
  });
  out << ']';
  return text;
}

std::string typeText(const Value &value) {
  const char *name = typeRow(value.dtype).name;
  switch (value.kind) {
  case LUMEN_ABI_TENSOR:
    return name;
  case LUMEN_ABI_SEQUENCE:
    return formatv("sequence of {0}", name);
  case LUMEN_ABI_OPTIONAL:
    return formatv("optional {0}", name);
  }
  llvm_unreachable("kind of value");
}

/// Fixed shapes only; none for types without a fixed size.
std::optional<uint64_t> byteSize(const Value &value) {
  unsigned bits = typeRow(value.dtype).bits;
  if (!isFixed(value) || !bits)
    return std::nullopt;
  uint64_t elements = 1;
  for (const Dim &dim : *value.dims)
    elements *= dim.extent;
  return divideCeil(elements * bits, 8);
}

class HeaderWriter {
public:
  HeaderWriter(const ModelTables &tables, StringRef artifact, raw_ostream &out)
      : tables(tables), artifact(artifact), out(out), prefix(StringRef(tables.name).upper()) {}

  void run();

private:
  void describe(StringRef title, ArrayRef<Value> values);
  void constants(StringRef direction, ArrayRef<Value> values);
  /// A name for `value`, such that none of the constants made from it clashes
  /// with an earlier one: "data:0" and "data_0" become DATA_0 and DATA_0_2.
  std::string uniqueName(StringRef direction, StringRef value);

  const ModelTables &tables;
  StringRef artifact;
  raw_ostream &out;
  std::string prefix;
  StringSet<> taken;
};

void HeaderWriter::describe(StringRef title, ArrayRef<Value> values) {
  out << " *\n * " << title << "\n";
  size_t nameWidth = 0, typeWidth = 0;
  for (const Value &value : values) {
    nameWidth = std::max(nameWidth, inComment(value.name).size());
    typeWidth = std::max(typeWidth, typeText(value).size());
  }
  for (auto [i, value] : enumerate(values)) {
    out << formatv(" *   {0,3}  ", i) << left_justify(inComment(value.name), nameWidth) << "  "
        << left_justify(typeText(value), typeWidth) << "  " << shapeText(value);
    if (value.optional)
      out << ", may be left out";
    out << "\n";
  }
}

std::string HeaderWriter::uniqueName(StringRef direction, StringRef value) {
  std::string base;
  for (char c : value)
    base.push_back(isAlnum(c) ? toUpper(c) : '_');
  constexpr StringLiteral suffixes[] = {"", "_DTYPE", "_RANK", "_SHAPE", "_BYTES"};
  std::string name = base;
  auto clashes = [&](StringRef suffix) {
    return taken.contains((direction + "_" + name + suffix).str());
  };
  for (unsigned count = 2; any_of(suffixes, clashes); ++count)
    name = base + "_" + std::to_string(count);
  for (StringRef suffix : suffixes)
    taken.insert((direction + "_" + name + suffix).str());
  return name;
}

void HeaderWriter::constants(StringRef direction, ArrayRef<Value> values) {
  out << formatv("#define {0}_NUM_{1}S {2}\n", prefix, direction, values.size());
  for (auto [i, value] : enumerate(values)) {
    const TypeRow &type = typeRow(value.dtype);
    std::string name = uniqueName(direction, value.name);
    std::string macro = formatv("{0}_{1}_{2}", prefix, direction, name);
    out << formatv("\n#define {0} {1}\n", macro, i)
        << formatv("#define {0}_DTYPE {1}\n", macro, type.constant);
    if (value.dims)
      out << formatv("#define {0}_RANK {1}\n", macro, value.dims->size());
    if (!isFixed(value))
      continue;
    if (!value.dims->empty())
      out << formatv("#define {0}_SHAPE {{{1:$[, ]}}\n", macro,
                     map_range(*value.dims, [](const Dim &dim) { return dim.extent; }));
    if (std::optional<uint64_t> bytes = byteSize(value))
      out << formatv("#define {0}_BYTES {1}u\n", macro, *bytes);

    std::string function =
        formatv("{0}_{1}_{2}", tables.name, direction.lower(), StringRef(name).lower());
    if (direction == "OUTPUT") {
      if (byteSize(value))
        out << formatv("\n/* Output {0} in the caller's {1}_BYTES at `data`. */\n", i, macro)
            << formatv("static inline lumen_value {0}({1} *data) {{\n", function, type.cType)
            << formatv("  return lumen_output_buffer(data, {0}_BYTES);\n}\n", macro);
      continue;
    }
    if (!type.bits)
      continue;
    out << formatv("\n/* Input {0}, read from `data` during a run. */\n", i)
        << formatv("static inline lumen_value {0}(const {1} *data) {{\n", function, type.cType);
    if (!value.dims->empty())
      out << formatv("  static const int64_t shape[] = {0}_SHAPE;\n", macro);
    out << formatv("  return lumen_tensor_value(data, {0}_DTYPE, {0}_RANK, {1});\n}\n", macro,
                   value.dims->empty() ? "NULL" : "shape");
  }
}

void HeaderWriter::run() {
  std::string guard = "LUMEN_MODEL_" + prefix + "_H";
  out << "/* " << tables.name << " - made by " << inComment(tables.producer)
      << ", do not edit.\n *\n"
      << " * Signature of " << inComment(artifact) << ", compiled from the ONNX file with hash\n"
      << " * " << tables.sourceHash << ".\n";
  describe("Inputs", tables.inputs);
  describe("Outputs", tables.outputs);
  out << " */\n#ifndef " << guard << "\n#define " << guard << "\n\n#include \"lumen.h\"\n\n"
      << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << "/* Where the artifact is linked into the program. It can also be loaded from its\n"
      << " * file at run time by lumen_open(). */\n"
      << formatv("const lumen_module *{0}(void);\n\n", "lumen_module_" + tables.name)
      << "/* The linked model, ready for lumen_context_create(). `options` may be NULL. */\n"
      << formatv("static inline int {0}_open(const lumen_model_options *options,\n", tables.name)
      << std::string(strlen("static inline int _open(") + tables.name.size(), ' ')
      << "lumen_model **model, lumen_status *status) {\n"
      << formatv("  return lumen_model_open(lumen_module_{0}(), options, model, status);\n}\n\n",
                 tables.name);
  constants("INPUT", tables.inputs);
  out << "\n";
  constants("OUTPUT", tables.outputs);
  out << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
}

} // namespace

std::string modelHeader(const ModelTables &tables, StringRef artifactName) {
  std::string text;
  raw_string_ostream out(text);
  HeaderWriter(tables, artifactName, out).run();
  return text;
}

} // namespace lumen::link
