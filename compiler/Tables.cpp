//===- Tables.cpp - a planned module as the runtime's tables --------------===//

#include "compiler/Tables.h"

#include "compiler/Schedule.h"
#include "passes/memory/Weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

std::optional<lumen_abi_dtype> lumen::dtypeOf(Type type) {
  using DType = std::optional<lumen_abi_dtype>;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return LUMEN_ABI_BOOL;
    case 2:
      return isUnsigned ? LUMEN_ABI_U2 : LUMEN_ABI_I2;
    case 4:
      return isUnsigned ? LUMEN_ABI_U4 : LUMEN_ABI_I4;
    case 8:
      return isUnsigned ? LUMEN_ABI_U8 : LUMEN_ABI_I8;
    case 16:
      return isUnsigned ? LUMEN_ABI_U16 : LUMEN_ABI_I16;
    case 32:
      return isUnsigned ? LUMEN_ABI_U32 : LUMEN_ABI_I32;
    case 64:
      return isUnsigned ? LUMEN_ABI_U64 : LUMEN_ABI_I64;
    default:
      return std::nullopt;
    }
  }
  return llvm::TypeSwitch<Type, DType>(type)
      .Case<Float32Type>([](auto) { return LUMEN_ABI_F32; })
      .Case<Float64Type>([](auto) { return LUMEN_ABI_F64; })
      .Case<Float16Type>([](auto) { return LUMEN_ABI_F16; })
      .Case<BFloat16Type>([](auto) { return LUMEN_ABI_BF16; })
      .Case<Float8E4M3FNType>([](auto) { return LUMEN_ABI_F8E4M3FN; })
      .Case<Float8E4M3FNUZType>([](auto) { return LUMEN_ABI_F8E4M3FNUZ; })
      .Case<Float8E5M2Type>([](auto) { return LUMEN_ABI_F8E5M2; })
      .Case<Float8E5M2FNUZType>([](auto) { return LUMEN_ABI_F8E5M2FNUZ; })
      .Case<Float8E8M0FNUType>([](auto) { return LUMEN_ABI_F8E8M0; })
      .Case<Float4E2M1FNType>([](auto) { return LUMEN_ABI_F4E2M1; })
      .Case<StringType>([](auto) { return LUMEN_ABI_STRING; })
      .Case<ComplexType>([](ComplexType type) -> DType {
        if (type.getElementType().isF32())
          return LUMEN_ABI_C64;
        return type.getElementType().isF64() ? DType(LUMEN_ABI_C128) : std::nullopt;
      })
      .Default([](auto) { return std::nullopt; });
}

/// `role`: "input" or "output", with its number the name of a value that has none.
static FailureOr<link::Value> describeValue(func::FuncOp main, Type type, DictionaryAttr attrs,
                                            StringRef role, unsigned i) {
  link::Value value;
  if (auto optional = dyn_cast<OptionalType>(type)) {
    value.kind = LUMEN_ABI_OPTIONAL;
    type = optional.getElementType();
  }
  if (auto sequence = dyn_cast<SeqType>(type)) {
    if (value.kind != LUMEN_ABI_OPTIONAL)
      value.kind = LUMEN_ABI_SEQUENCE;
    type = sequence.getElementType();
  }
  Type element = getElementTypeOrSelf(type);
  // Floats that are stored as codes.
  if (auto coded = attrs ? attrs.getAs<TypeAttr>("lumen.dtype") : nullptr)
    element = coded.getValue();
  auto name = attrs ? attrs.getAs<StringAttr>("onnx.name") : nullptr;
  value.name = name ? name.str() : (role + Twine(i)).str();
  std::optional<lumen_abi_dtype> dtype = dtypeOf(element);
  if (!dtype)
    return main.emitError() << role << " '" << value.name << "' has element type " << element
                            << ", expected one that compiled models can pass";
  value.dtype = *dtype;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) // items of any rank
    return value;
  value.dims.emplace();
  for (int64_t extent : tensor.getShape())
    if (ShapedType::isDynamic(extent))
      value.dims->push_back({});
    else
      value.dims->push_back({extent, extent, ""});
  return value;
}

/// The form of a kernel at a level; nothing where there is none.
static std::optional<link::Variant> describeVariant(StringRef kernel, const LevelCode &level,
                                                    size_t index, bool isSanitized) {
  if (!level.shapes[index])
    return std::nullopt;
  const LaunchShape &shape = *level.shapes[index];
  link::Variant variant;
  std::string symbol = (kernel + "." + level.level->name).str();
  if (level.target->isHost()) {
    variant.symbol = symbol;
    if (isSanitized)
      variant.extentsFunction = symbol + ".extents";
  } else {
    const KernelBinary &binary = level.binaries[index];
    if (!binary.missing.empty())
      return std::nullopt;
    variant.code.assign(binary.code.begin(), binary.code.end());
    lumen_abi_gpu_launch launch = {binary.block, binary.unitsPerWorkgroup, binary.sharedSize,
                                   binary.flags, binary.features};
    const char *bytes = reinterpret_cast<const char *>(&launch);
    variant.launchInfo.assign(bytes, bytes + sizeof(launch));
  }
  if (std::optional<int64_t> grid = shape.grid.asConstant())
    variant.grid = *grid;
  else
    variant.gridFunction = symbol + ".grid";
  variant.grain = shape.grain;
  variant.scratchSize = shape.scratchSize;
  return variant;
}

FailureOr<link::ModelTables> lumen::buildTables(ModuleOp module, StringRef name,
                                                const KernelCode &code) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  // Absent where the runtime packs the arena.
  auto number = [&](StringRef name) {
    auto attr = module->getAttrOfType<IntegerAttr>(name);
    return attr ? static_cast<uint64_t>(attr.getInt()) : 0;
  };
  link::ModelTables tables;
  tables.name = name.str();
  tables.producer = "lumenc " LUMEN_VERSION;
  if (auto hash = module->getAttrOfType<StringAttr>("lumen.source_hash"))
    tables.sourceHash = hash.str();
  tables.arenaSize = number("lumen.arena_size");
  tables.arenaLowerBound = number("lumen.arena_lower_bound");
  tables.bytesWithoutSharing = number("lumen.bytes_without_sharing");

  bool ok = true;
  auto describeAll = [&](StringRef role, std::vector<link::Value> &values, auto types,
                         auto attrsOf) {
    for (auto [i, type] : llvm::enumerate(types)) {
      FailureOr<link::Value> value = describeValue(main, type, attrsOf(i), role, i);
      ok &= succeeded(value);
      values.push_back(succeeded(value) ? std::move(*value) : link::Value());
    }
  };
  describeAll("input", tables.inputs, main.getArgumentTypes(),
              [&](unsigned i) { return main.getArgAttrDict(i); });
  auto resultTypes = main->getAttrOfType<ArrayAttr>("lumen.result_types");
  auto resultAttrs = main->getAttrOfType<ArrayAttr>("lumen.result_attrs");
  describeAll("output", tables.outputs, resultTypes.getAsValueRange<TypeAttr>(),
              [&](unsigned i) { return cast<DictionaryAttr>(resultAttrs[i]); });
  if (!ok)
    return failure();

  for (const LevelCode &level : code.levels) {
    tables.levels.push_back({level.level->name, static_cast<lumen_abi_target>(level.level->target),
                             level.level->features});
    if (StringRef driver = level.target->getDriver();
        !driver.empty() && !llvm::is_contained(tables.drivers, driver))
      tables.drivers.push_back(driver.str());
  }

  llvm::StringMap<uint32_t> kernelIndex;
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    kernelIndex[kernel.getSymName()] = i;
    link::Kernel entry;
    entry.name = kernel.getSymName().str();
    entry.numArgs = kernel.getArgumentTypes().size() + kernel.getResultTypes().size();
    for (auto [l, level] : llvm::enumerate(code.levels))
      if (auto variant = describeVariant(entry.name, level, i, code.isSanitized)) {
        variant->level = l;
        entry.variants.push_back(std::move(*variant));
      }
    tables.kernels.push_back(std::move(entry));
  }

  if (code.isSanitized)
    tables.guard = "lumen_guard_asan";
  ScheduleBuilder(module, main, tables, kernelIndex).build();
  return tables;
}

link::Weights lumen::buildWeights(ModuleOp module, std::vector<SmallVector<char, 0>> &storage) {
  BlobTable &blobs = module.getContext()->getLoadedDialect<LumenDialect>()->getBlobs();
  link::Weights weights;
  auto table = WeightTable::fromAttribute(module->getAttr("lumen.weights"));
  storage.resize(table.size());
  for (auto [i, weight] : llvm::enumerate(table)) {
    auto [bytes, count] = constantBytes(weight.value, blobs, storage[i]);
    weights.pieces.push_back(
        {static_cast<uint64_t>(weight.offset), bytes, static_cast<uint64_t>(count)});
    weights.size = weight.offset + weights.pieces.back().size();
  }
  return weights;
}
