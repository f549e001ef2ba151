//===- Schema.cpp - checks nodes against the standard's table -------------===//

#include "passes/onnx-to-lumen/Schema.h"

#include "dialects/Lumen/Lumen.h"
#include "passes/onnx-to-lumen/Converter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace lumen;

namespace {

/// One version of an operator, as the generated table spells it.
struct SchemaRow {
  const char *domain, *name;
  int64_t since;
  size_t minInputs, maxInputs;
  /// The type variable of each: "T" is required, "T?" may be absent, "T*" is any number
  /// of operands that agree, "V+" any number of any that the variable allows.
  const char *operands;
  /// "T=c02": the variable and its element types, bit by bit in the order of TensorProto.
  /// Bit 0 is what is no tensor.
  const char *types;
  /// "axis:i!" is required and an integer; f is a float, s a string, ? an integer of 0 or 1,
  /// a capital letter a list, and x something else.
  const char *attributes;
};

} // namespace

static const SchemaRow kRows[] = {
#include "passes/onnx-to-lumen/Schemas.inc"
};

/// The set of what is no tensor, which converters look at themselves.
static constexpr uint32_t kNoTensor = 1;

/// By code in TensorProto.
static const char *const kElementNames[] = {"",
                                            "f32",
                                            "ui8",
                                            "i8",
                                            "ui16",
                                            "i16",
                                            "i32",
                                            "i64",
                                            "string",
                                            "i1",
                                            "f16",
                                            "f64",
                                            "ui32",
                                            "ui64",
                                            "complex<f32>",
                                            "complex<f64>",
                                            "bf16",
                                            "f8E4M3FN",
                                            "f8E4M3FNUZ",
                                            "f8E5M2",
                                            "f8E5M2FNUZ",
                                            "ui4",
                                            "i4",
                                            "f4E2M1FN",
                                            "f8E8M0FNU",
                                            "ui2",
                                            "i2"};

/// The bit of an element type; 0 for one that the table does not know.
static uint32_t bitOf(Type element) {
  std::string text = isa<lumen::StringType>(element) ? "string" : typeText(element);
  for (auto [code, name] : llvm::enumerate(kElementNames))
    if (text == name)
      return 1u << code;
  return 0;
}

/// Versions of an operator, the oldest first.
static ArrayRef<const SchemaRow *> versionsOf(StringRef domain, StringRef name) {
  static const auto table = [] {
    llvm::StringMap<SmallVector<const SchemaRow *, 4>> result;
    for (const SchemaRow &row : kRows)
      result[(Twine(row.domain) + "::" + row.name).str()].push_back(&row);
    return result;
  }();
  auto found = table.find((domain + "::" + name).str());
  return found == table.end() ? ArrayRef<const SchemaRow *>() : ArrayRef(found->second);
}

/// The newest version that an operator set has; null if it has none.
static const SchemaRow *findSchema(ArrayRef<const SchemaRow *> versions, int64_t opset) {
  auto newer = llvm::find_if(versions, [&](const SchemaRow *row) { return row->since > opset; });
  return newer == versions.begin() ? nullptr : *std::prev(newer);
}

static llvm::StringMap<uint32_t> typesOf(const SchemaRow &row) {
  llvm::StringMap<uint32_t> types;
  for (StringRef entry : llvm::split(row.types, ' ')) {
    auto [name, digits] = entry.rsplit('=');
    uint32_t bits = 0;
    digits.getAsInteger(16, bits);
    types[name] = bits;
  }
  return types;
}

/// "f32, f16 or bf16".
static std::string namesOf(uint32_t bits, StringRef last) {
  SmallVector<StringRef> names;
  for (auto [code, name] : llvm::enumerate(kElementNames))
    if (code > 0 && (bits >> code & 1))
      names.push_back(name);
  if (names.size() < 2)
    return llvm::join(names, "");
  return llvm::join(ArrayRef(names).drop_back(), ", ") + (last + names.back()).str();
}

static LogicalResult checkInputs(const SchemaRow &schema, onnx::NodeOp op, ArrayRef<Value> inputs) {
  auto error = [&] { return mlir::emitError(op.getLoc()); };
  size_t count = inputs.size();
  if (count < schema.minInputs || count > schema.maxInputs)
    return error() << "has " << count << " inputs, expected "
                   << (count < schema.minInputs ? "at least " : "at most ")
                   << (count < schema.minInputs ? schema.minInputs : schema.maxInputs);
  SmallVector<StringRef> operands = llvm::to_vector(llvm::split(schema.operands, ' '));
  llvm::StringMap<uint32_t> types = typesOf(schema);
  llvm::StringMap<Type> bound;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    StringRef variable = operands[std::min(i, operands.size() - 1)];
    bool isOptional = variable.consume_back("?"), isMixed = variable.consume_back("+");
    variable.consume_back("*");
    if (!input) {
      if (!isOptional && !isMixed)
        return error() << "input " << i << " is missing";
      continue;
    }
    auto tensor = dyn_cast<RankedTensorType>(input.getType());
    if (!tensor)
      continue;
    Type element = tensor.getElementType();
    uint32_t allowed = types.lookup(variable), bit = bitOf(element);
    if (bit && allowed != kNoTensor && !(allowed & bit))
      return error() << "input " << i << " has element type " << element << ", expected "
                     << namesOf(allowed, " or ");
    Type &first = bound[variable];
    if (first && first != element && !isMixed)
      return error() << "inputs have element types " << first << " and " << element
                     << ", expected the same";
    first = element;
  }
  return success();
}

/// What an attribute of a kind is, in words; empty if it is that.
static StringRef expectedKind(Attribute attr, char kind) {
  switch (kind) {
  case 'i':
  case '?':
    return isa<IntegerAttr>(attr) ? "" : "an integer";
  case 'f':
    return isa<FloatAttr>(attr) ? "" : "a float";
  case 's':
    return isa<StringAttr>(attr) ? "" : "a string";
  case 'I':
    return isa<DenseI64ArrayAttr>(attr) ? "" : "a list of integers";
  case 'F':
    return isa<DenseF32ArrayAttr>(attr) ? "" : "a list of floats";
  case 'S':
    return isa<ArrayAttr>(attr) ? "" : "a list of strings";
  default:
    return "";
  }
}

static LogicalResult checkAttributes(const SchemaRow &schema, onnx::NodeOp op) {
  SmallVector<StringRef> known;
  for (StringRef entry : llvm::split(schema.attributes, ' ')) {
    bool isRequired = entry.consume_back("!");
    auto [name, kind] = entry.split(':');
    known.push_back(name);
    Attribute attr = op.getNodeAttr(name);
    if (isRequired && !attr && !op.getBody(name))
      return mlir::emitError(op.getLoc()) << "attribute '" << name << "' is missing";
    if (!attr)
      continue;
    StringRef expected = expectedKind(attr, kind.front());
    if (auto flag = dyn_cast<IntegerAttr>(attr);
        flag && kind == "?" && flag.getInt() != 0 && flag.getInt() != 1)
      return mlir::emitError(op.getLoc())
             << "attribute '" << name << "' is " << flag.getInt() << ", expected 0 or 1";
    if (!expected.empty())
      return mlir::emitError(op.getLoc())
             << "attribute '" << name << "' is " << attr << ", expected " << expected;
  }
  for (NamedAttribute attr : op.getAttrs())
    if (!llvm::is_contained(known, attr.getName().getValue()))
      return mlir::emitError(op.getLoc())
             << "attribute '" << attr.getName().getValue() << "' is not supported";
  return success();
}

LogicalResult lumen::checkSchema(onnx::NodeOp op, int64_t opset, ArrayRef<Value> inputs) {
  // ONNX Runtime has some operators in older versions than the standard does, and its
  // exporters write them.
  const SchemaRow *schema = findSchema(versionsOf(op.getOpDomain(), op.getOpType()), opset);
  return success(!schema || (succeeded(checkInputs(*schema, op, inputs)) &&
                             succeeded(checkAttributes(*schema, op))));
}

int64_t lumen::firstVersionOf(StringRef domain, StringRef name, int64_t absent) {
  ArrayRef<const SchemaRow *> versions = versionsOf(domain, name);
  return versions.empty() ? absent : versions.front()->since;
}

std::string lumen::elementTypesOf(StringRef domain, StringRef name, int64_t opset) {
  const SchemaRow *schema = findSchema(versionsOf(domain, name), opset);
  if (!schema)
    return "";
  // The main operand is the first that may be of several types: conditions and shapes are of
  // one.
  llvm::StringMap<uint32_t> types = typesOf(*schema);
  uint32_t bits = 0;
  for (StringRef variable : llvm::split(schema->operands, ' '))
    if (uint32_t set = types.lookup(variable.rtrim("?*+"));
        !bits || (llvm::popcount(bits) == 1 && llvm::popcount(set) > 1))
      bits = set;
  constexpr struct {
    StringLiteral name;
    uint32_t bits;
  } kGroups[] = {{"floats", 1u << 1 | 1u << 10 | 1u << 11 | 1u << 16},
                 {"integers", 0xfc | 1u << 12 | 1u << 13},
                 {"booleans", 1u << 9},
                 {"strings", 1u << 8}};
  SmallVector<std::string> words;
  for (const auto &group : kGroups)
    if ((bits & group.bits) == group.bits)
      words.push_back(group.name.str());
    else if (bits & group.bits)
      words.push_back(namesOf(bits & group.bits, ", "));
  return llvm::join(words, ", ");
}
