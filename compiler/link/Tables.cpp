//===- Tables.cpp - the model's tables as an object file ------------------===//

#include "compiler/link/Tables.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

#include <map>
#include <type_traits>

using namespace llvm;

namespace lumen::link {
namespace {

constexpr StringLiteral kTriple = "x86_64-unknown-linux-gnu";

/// A constant array of one struct of lumen_abi.h. Rows are the C structs
/// themselves, so their layout is the C compiler's and cannot drift from the
/// header; pointers stay null in the row and are recorded beside it.
template <typename T> class Table {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(std::has_unique_object_representations_v<T>,
                "padding would put undefined bytes into the artifact");

public:
  /// The new row is all zero; the reference holds until the next call.
  T &add() { return rows.emplace_back(T{}); }

  /// Makes `member` of the last row point to `target`; null leaves it null.
  template <typename M> void point(M T::*member, Constant *target) {
    static_assert(std::is_pointer_v<M>);
    if (!target)
      return;
    T &row = rows.back();
    size_t offset = reinterpret_cast<char *>(&(row.*member)) - reinterpret_cast<char *>(&rows[0]);
    pointers.emplace(offset, target);
  }

  uint32_t size() const { return rows.size(); }

  /// Null for an empty table.
  GlobalVariable *emit(Module &module, const Twine &name) const {
    if (rows.empty())
      return nullptr;
    StringRef bytes(reinterpret_cast<const char *>(rows.data()), rows.size() * sizeof(T));
    SmallVector<Constant *> fields;
    size_t at = 0;
    auto bytesUpTo = [&](size_t end) {
      if (at < end)
        fields.push_back(
            ConstantDataArray::getString(module.getContext(), bytes.slice(at, end), false));
    };
    for (auto [offset, target] : pointers) {
      bytesUpTo(offset);
      fields.push_back(target);
      at = offset + sizeof(void *);
    }
    bytesUpTo(bytes.size());
    auto *init = ConstantStruct::getAnon(module.getContext(), fields, /*Packed=*/true);
    auto *global = new GlobalVariable(module, init->getType(), /*isConstant=*/true,
                                      GlobalValue::InternalLinkage, init, name);
    global->setAlignment(Align(alignof(T)));
    return global;
  }

private:
  std::vector<T> rows;
  std::map<size_t, Constant *> pointers; // by offset from the first row
};

class Emitter {
public:
  Emitter(const ModelTables &tables, const WeightsPlace &weights, Module &module)
      : tables(tables), weights(weights), module(module), context(module.getContext()) {}

  void run();

private:
  /// Null for an empty string, which means "none" everywhere in the ABI but in names.
  Constant *text(StringRef text, bool emptyIsNull = true);
  Constant *bytes(ArrayRef<char> bytes);
  /// A hidden symbol that another object defines; null for an empty name.
  Constant *external(StringRef name, bool function);
  Constant *values(ArrayRef<Value> values, const Twine &name);
  Constant *kernels();
  Constant *launches(ArrayRef<Launch> launches, const Twine &name);
  Constant *checks();
  Constant *calls();
  Constant *symbolNames();
  Constant *indices(const std::vector<uint32_t> &indices, const Twine &name);
  /// Rows that are C structs already.
  template <typename T> Constant *rows(const std::vector<T> &rows, const Twine &name) {
    Table<T> table;
    for (const T &row : rows)
      table.add() = row;
    return table.emit(module, name);
  }
  GlobalVariable *constant(Constant *init, const Twine &name);

  const ModelTables &tables;
  const WeightsPlace &weights;
  Module &module;
  LLVMContext &context;
  StringMap<Constant *> strings;
};

GlobalVariable *Emitter::constant(Constant *init, const Twine &name) {
  return new GlobalVariable(module, init->getType(), /*isConstant=*/true,
                            GlobalValue::InternalLinkage, init, name);
}

Constant *Emitter::text(StringRef text, bool emptyIsNull) {
  if (text.empty() && emptyIsNull)
    return nullptr;
  Constant *&known = strings[text];
  if (!known) {
    GlobalVariable *global = constant(ConstantDataArray::getString(context, text), "text");
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    global->setAlignment(Align(1));
    known = global;
  }
  return known;
}

Constant *Emitter::bytes(ArrayRef<char> bytes) {
  if (bytes.empty())
    return nullptr;
  StringRef data(bytes.data(), bytes.size());
  GlobalVariable *global = constant(ConstantDataArray::getString(context, data, false), "bytes");
  global->setAlignment(Align(LUMEN_ALIGNMENT));
  return global;
}

Constant *Emitter::external(StringRef name, bool function) {
  if (name.empty())
    return nullptr;
  if (GlobalValue *known = module.getNamedValue(name))
    return known;
  GlobalValue *global;
  if (function)
    global = Function::Create(FunctionType::get(Type::getVoidTy(context), false),
                              GlobalValue::ExternalLinkage, name, module);
  else
    global = new GlobalVariable(module, Type::getInt8Ty(context), /*isConstant=*/true,
                                GlobalValue::ExternalLinkage, nullptr, name);
  global->setVisibility(GlobalValue::HiddenVisibility);
  return global;
}

Constant *Emitter::values(ArrayRef<Value> values, const Twine &name) {
  Table<lumen_abi_value> rows;
  for (const Value &value : values) {
    Table<lumen_abi_dim> dims;
    if (value.dims)
      for (const Dim &dim : *value.dims) {
        lumen_abi_dim &row = dims.add();
        row.extent = dim.extent;
        row.bound = dim.bound;
        row.expr = dim.expr;
        row.bound_expr = dim.boundExpr;
        dims.point(&lumen_abi_dim::symbol, text(dim.symbol));
      }
    lumen_abi_value &row = rows.add();
    row.kind = value.kind;
    row.dtype = value.dtype;
    row.rank = value.dims ? static_cast<int32_t>(value.dims->size()) : -1;
    row.optional = value.optional;
    rows.point(&lumen_abi_value::name, text(value.name, /*emptyIsNull=*/false));
    rows.point(&lumen_abi_value::dims, dims.emit(module, "dims"));
  }
  return rows.emit(module, name);
}

Constant *Emitter::kernels() {
  Table<lumen_abi_kernel> rows;
  for (const Kernel &kernel : tables.kernels) {
    Table<lumen_abi_variant> variants;
    for (const Variant &variant : kernel.variants) {
      lumen_abi_variant &row = variants.add();
      row.level = variant.level;
      row.code_size = variant.code.size();
      row.grid = variant.grid;
      row.grain = variant.grain;
      row.scratch_size = variant.scratchSize;
      variants.point(&lumen_abi_variant::code, variant.code.empty()
                                                   ? external(variant.symbol, /*function=*/true)
                                                   : bytes(variant.code));
      variants.point(&lumen_abi_variant::grid_fn, external(variant.gridFunction, true));
      variants.point(&lumen_abi_variant::extents_fn, external(variant.extentsFunction, true));
      variants.point(&lumen_abi_variant::launch_info, bytes(variant.launchInfo));
    }
    lumen_abi_kernel &row = rows.add();
    row.num_args = kernel.numArgs;
    row.num_variants = variants.size();
    rows.point(&lumen_abi_kernel::name, text(kernel.name, /*emptyIsNull=*/false));
    rows.point(&lumen_abi_kernel::variants, variants.emit(module, "variants"));
  }
  return rows.emit(module, "kernels");
}

Constant *Emitter::launches(ArrayRef<Launch> launches, const Twine &name) {
  Table<lumen_abi_launch> rows;
  for (const Launch &launch : launches) {
    lumen_abi_launch &row = rows.add();
    row.kernel = launch.kernel;
    row.affinity = launch.affinity;
    row.first_arg = launch.firstArg;
    row.first_size = launch.firstSize;
    row.num_sizes = launch.numSizes;
    row.num_outputs = launch.numOutputs;
    row.flops = launch.flops;
    row.bytes = launch.bytes;
    row.flops_expr = launch.flopsExpr;
    row.bytes_expr = launch.bytesExpr;
    rows.point(&lumen_abi_launch::nodes, text(launch.nodes, /*emptyIsNull=*/false));
  }
  return rows.emit(module, name);
}

Constant *Emitter::checks() {
  Table<lumen_abi_check> rows;
  for (const Check &check : tables.checks) {
    lumen_abi_check &row = rows.add();
    row.kind = check.kind;
    row.a = check.a;
    row.b = check.b;
    rows.point(&lumen_abi_check::node, text(check.node, /*emptyIsNull=*/false));
    rows.point(&lumen_abi_check::what, text(check.what, /*emptyIsNull=*/false));
  }
  return rows.emit(module, "checks");
}

Constant *Emitter::calls() {
  Table<lumen_abi_call> rows;
  for (const Call &call : tables.calls) {
    lumen_abi_call &row = rows.add();
    row.data_size = call.data.size();
    row.num_inputs = call.inputs.size();
    row.num_outputs = call.outputs.size();
    row.first_size = call.firstSize;
    row.num_sizes = call.numSizes;
    std::vector<lumen_abi_call_arg> args = call.inputs;
    args.insert(args.end(), call.outputs.begin(), call.outputs.end());
    rows.point(&lumen_abi_call::args, this->rows(args, "call_args"));
    rows.point(&lumen_abi_call::function, external(call.function, /*function=*/true));
    rows.point(&lumen_abi_call::node, text(call.node, /*emptyIsNull=*/false));
    rows.point(&lumen_abi_call::data, bytes(call.data));
  }
  return rows.emit(module, "calls");
}

Constant *Emitter::symbolNames() {
  if (tables.symbols.empty())
    return nullptr;
  auto *pointer = PointerType::getUnqual(context);
  SmallVector<Constant *> names;
  for (const std::string &name : tables.symbols) {
    Constant *known = text(name);
    names.push_back(known ? known : ConstantPointerNull::get(pointer));
  }
  return constant(ConstantArray::get(ArrayType::get(pointer, names.size()), names), "symbol_names");
}

Constant *Emitter::indices(const std::vector<uint32_t> &indices, const Twine &name) {
  return indices.empty() ? nullptr : constant(ConstantDataArray::get(context, indices), name);
}

void Emitter::run() {
  Table<lumen_abi_level> levels;
  for (const Level &level : tables.levels) {
    lumen_abi_level &row = levels.add();
    row.target = level.target;
    row.features = level.features;
    levels.point(&lumen_abi_level::name, text(level.name, /*emptyIsNull=*/false));
  }

  Table<lumen_abi_model> model;
  lumen_abi_model &row = model.add();
  row.abi_version = LUMEN_ABI_VERSION;
  row.size = sizeof(lumen_abi_model);
  row.num_inputs = tables.inputs.size();
  row.num_outputs = tables.outputs.size();
  row.num_levels = tables.levels.size();
  row.num_kernels = tables.kernels.size();
  row.num_storages = tables.storages.size();
  row.num_size_exprs = tables.sizeExprs.size();
  row.num_buffers = tables.buffers.size();
  row.num_launches = tables.launches.size();
  row.num_inits = tables.inits.size();
  row.flags = tables.flags;
  row.init_size = tables.initSize;
  row.arena_size = tables.arenaSize;
  row.num_symbols = tables.symbols.size();
  row.num_entry_symbols = tables.numEntrySymbols;
  row.num_exprs = tables.exprs.size();
  row.num_entry_exprs = tables.numEntryExprs;
  row.num_checks = tables.checks.size();
  row.num_entry_checks = tables.numEntryChecks;
  row.num_steps = tables.steps.size();
  row.num_calls = tables.calls.size();
  row.weights_size = weights.size;
  row.arena_lower_bound = tables.arenaLowerBound;
  row.bytes_without_sharing = tables.bytesWithoutSharing;
  model.point(&lumen_abi_model::name, text(tables.name, /*emptyIsNull=*/false));
  model.point(&lumen_abi_model::producer, text(tables.producer, /*emptyIsNull=*/false));
  model.point(&lumen_abi_model::source_hash, text(tables.sourceHash, /*emptyIsNull=*/false));
  model.point(&lumen_abi_model::inputs, values(tables.inputs, "inputs"));
  model.point(&lumen_abi_model::outputs, values(tables.outputs, "outputs"));
  model.point(&lumen_abi_model::levels, levels.emit(module, "levels"));
  model.point(&lumen_abi_model::kernels, kernels());
  model.point(&lumen_abi_model::storages, rows(tables.storages, "storages"));
  model.point(&lumen_abi_model::buffers, rows(tables.buffers, "buffers"));
  model.point(&lumen_abi_model::arg_buffers, indices(tables.argBuffers, "arg_buffers"));
  model.point(&lumen_abi_model::launches, launches(tables.launches, "launches"));
  model.point(&lumen_abi_model::inits, launches(tables.inits, "inits"));
  model.point(&lumen_abi_model::symbol_names, symbolNames());
  model.point(&lumen_abi_model::exprs, rows(tables.exprs, "exprs"));
  model.point(&lumen_abi_model::checks, checks());
  model.point(&lumen_abi_model::size_exprs, indices(tables.sizeExprs, "size_exprs"));
  model.point(&lumen_abi_model::steps, rows(tables.steps, "steps"));
  model.point(&lumen_abi_model::calls, calls());
  model.point(&lumen_abi_model::weights_file, text(weights.file));
  model.point(&lumen_abi_model::weights_id, text(weights.id));
  model.point(&lumen_abi_model::guard, external(tables.guard, /*function=*/false));
  // A pointer of its own, since rip-relative references cannot span the data of
  // a model larger than 2 GiB.
  if (Constant *data = external(weights.symbol, /*function=*/false))
    model.point(&lumen_abi_model::weights, constant(data, "weights"));

  // lumen_module of lumen.h: the runtime's functions and the model.
  Constant *moduleFields[] = {external("lumen_runtime_api", /*function=*/false),
                              model.emit(module, "model")};
  GlobalVariable *description =
      constant(ConstantStruct::getAnon(context, moduleFields), "lumen_module");

  auto *function =
      Function::Create(FunctionType::get(PointerType::getUnqual(context), false),
                       GlobalValue::ExternalLinkage, moduleSymbol(tables.name), module);
  function->setDoesNotThrow();
  IRBuilder<> builder(BasicBlock::Create(context, "", function));
  builder.CreateRet(description);
}

} // namespace

std::string moduleSymbol(StringRef modelName) { return ("lumen_module_" + modelName).str(); }

Expected<SmallVector<char, 0>> compileTables(const ModelTables &tables,
                                             const WeightsPlace &weights) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();

  LLVMContext context;
  Module module("lumen", context);
  Triple triple(kTriple);
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError(inconvertibleErrorCode(), "cannot write model tables: " + error);
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, "x86-64", "", TargetOptions(), Reloc::PIC_));
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  module.setPICLevel(PICLevel::BigPIC);

  Emitter(tables, weights, module).run();
  assert(!verifyModule(module, &errs()) && "tables are not valid LLVM IR");

  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile))
    return createStringError("cannot write model tables: the target emits no objects");
  passes.run(module);
  return object;
}

} // namespace lumen::link
