// Writes the tables of a small model, row by row, as lumenc would.
#ifndef LUMEN_TEST_TABLEMODEL_H
#define LUMEN_TEST_TABLEMODEL_H

#include "FakeModel.h"

#include "guard.h"

#include <deque>
#include <initializer_list>
#include <vector>

namespace lumen::test {

class TableModel {
public:
  explicit TableModel(const char *name) {
    abi.abi_version = LUMEN_ABI_VERSION;
    abi.size = sizeof(abi);
    abi.name = name;
    abi.producer = "test";
    abi.source_hash = "00";
  }
  TableModel(const TableModel &) = delete;

  // Rows of sizes. Entry symbols and expressions are those before finishEntry().
  uint32_t symbol(const char *name) {
    symbols.push_back(name);
    return symbols.size() - 1;
  }
  uint32_t expr(uint32_t op, uint32_t a, uint32_t b = 0) {
    exprs.push_back({op, a, b, 0, 0});
    return exprs.size() - 1;
  }
  uint32_t constant(int64_t value) {
    exprs.push_back({LUMEN_ABI_EXPR_CONSTANT, 0, 0, 0, value});
    return exprs.size() - 1;
  }
  uint32_t valueOf(uint32_t symbol) { return expr(LUMEN_ABI_EXPR_SYMBOL, symbol); }
  uint32_t add(uint32_t a, uint32_t b) { return expr(LUMEN_ABI_EXPR_ADD, a, b); }
  uint32_t sub(uint32_t a, uint32_t b) { return expr(LUMEN_ABI_EXPR_SUB, a, b); }
  uint32_t mul(uint32_t a, uint32_t b) { return expr(LUMEN_ABI_EXPR_MUL, a, b); }
  uint32_t div(uint32_t a, uint32_t b) { return expr(LUMEN_ABI_EXPR_FLOORDIV, a, b); }
  uint32_t check(lumen_abi_check_kind kind, uint32_t a, uint32_t b, const char *node,
                 const char *what) {
    checks.push_back({static_cast<uint32_t>(kind), a, b, 0, node, what});
    return checks.size() - 1;
  }
  void finishEntry() {
    abi.num_entry_symbols = symbols.size();
    abi.num_entry_exprs = exprs.size();
    abi.num_entry_checks = checks.size();
  }

  // Of an input: a fixed extent, or an entry symbol. Of an output: an expression.
  static lumen_abi_dim fixed(int64_t extent) {
    return {extent, extent, nullptr, LUMEN_ABI_NONE, LUMEN_ABI_NONE};
  }
  static lumen_abi_dim dynamic(const char *name, uint32_t expr, uint32_t boundExpr = LUMEN_ABI_NONE,
                               int64_t bound = -1) {
    return {-1, bound, name, expr, boundExpr};
  }

  // Values of the signature, and memory. Each gives the buffer that spans it.
  uint32_t input(const char *name, lumen_abi_dtype dtype, std::vector<lumen_abi_dim> dims,
                 bool optional = false) {
    value(inputs, name, dtype, std::move(dims), optional);
    return storage(LUMEN_ABI_INPUT, LUMEN_ABI_NONE, inputs.size() - 1);
  }
  uint32_t output(const char *name, lumen_abi_dtype dtype, std::vector<lumen_abi_dim> dims,
                  uint32_t sizeExpr = LUMEN_ABI_NONE) {
    value(outputs, name, dtype, std::move(dims), false);
    return storage(LUMEN_ABI_OUTPUT, sizeExpr, outputs.size() - 1);
  }
  // One that is no tensor.
  void setKind(std::vector<lumen_abi_value> &values, lumen_abi_kind kind) {
    values.back().kind = kind;
  }
  uint32_t arena(uint32_t sizeExpr, uint32_t first, uint32_t last) {
    uint32_t result = storage(LUMEN_ABI_ARENA, sizeExpr, 0);
    storages.back().first = first;
    storages.back().last = last;
    return result;
  }
  uint32_t weights(uint64_t offset, uint64_t size) {
    uint32_t result = storage(LUMEN_ABI_WEIGHTS, LUMEN_ABI_NONE, 0);
    storages.back().offset = offset;
    storages.back().size = size;
    return result;
  }
  uint32_t heap(uint32_t sizeExpr) { return storage(LUMEN_ABI_HEAP, sizeExpr, 0); }
  // A part of a buffer's storage.
  uint32_t part(uint32_t buffer, uint32_t offsetExpr) {
    buffers.push_back({buffers[buffer].storage, offsetExpr, 0, 0, LUMEN_ABI_NONE, 0});
    return buffers.size() - 1;
  }
  uint32_t storageOf(uint32_t buffer) const { return buffers[buffer].storage; }

  uint32_t launch(lumen_abi_cpu_kernel code, const std::vector<uint32_t> &args, uint32_t numOutputs,
                  const std::vector<uint32_t> &sizes = {},
                  int64_t (*grid)(const int64_t *) = nullptr) {
    variants.push_back(
        {0, 0, reinterpret_cast<const void *>(code), 0, grid, nullptr, 1, 1, 0, nullptr});
    kernels.push_back({"kernel_0", static_cast<uint32_t>(args.size()), 1, &variants.back()});
    lumen_abi_launch row = {};
    row.kernel = kernels.size() - 1;
    row.first_arg = argBuffers.size();
    row.first_size = sizeExprs.size();
    row.num_sizes = sizes.size();
    row.num_outputs = numOutputs;
    row.nodes = "Node 'n'";
    row.flops_expr = row.bytes_expr = LUMEN_ABI_NONE;
    argBuffers.insert(argBuffers.end(), args.begin(), args.end());
    sizeExprs.insert(sizeExprs.end(), sizes.begin(), sizes.end());
    launches.push_back(row);
    return launches.size() - 1;
  }
  // Of all launches so far: what a guarded kernel may touch.
  void guard(const lumen_guard *guard, void (*extents)(const int64_t *, int64_t *)) {
    abi.guard = guard;
    for (lumen_abi_variant &variant : variants)
      variant.extents_fn = extents;
  }
  // Arguments of a call.
  struct Arg {
    uint32_t buffer;
    lumen_abi_call_arg_kind kind;
    lumen_abi_dtype dtype = LUMEN_ABI_STRING;
    int32_t rank = -1;
  };
  uint32_t call(int (*function)(lumen_abi_call_frame *), std::vector<Arg> inputs,
                std::vector<Arg> outputs, std::vector<uint32_t> sizes = {}, std::string data = {}) {
    args.emplace_back();
    for (const std::vector<Arg> &side : {inputs, outputs})
      for (const Arg &arg : side)
        args.back().push_back({arg.buffer, static_cast<uint32_t>(arg.kind),
                               static_cast<uint32_t>(arg.dtype), arg.rank});
    attributes.push_back(std::move(data));
    calls.push_back({function, "Call 'c'", attributes.back().data(), attributes.back().size(),
                     args.back().data(), static_cast<uint32_t>(inputs.size()),
                     static_cast<uint32_t>(outputs.size()), static_cast<uint32_t>(sizeExprs.size()),
                     static_cast<uint32_t>(sizes.size())});
    sizeExprs.insert(sizeExprs.end(), sizes.begin(), sizes.end());
    return calls.size() - 1;
  }
  // Returns its position.
  uint32_t step(lumen_abi_step_kind kind, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0) {
    steps.push_back({static_cast<uint32_t>(kind), a, b, c});
    return steps.size() - 1;
  }
  uint32_t here() const { return steps.size(); }

  lumen_module *finish() {
    abi.num_inputs = inputs.size();
    abi.inputs = inputs.data();
    abi.num_outputs = outputs.size();
    abi.outputs = outputs.data();
    abi.num_levels = 1;
    abi.levels = &level;
    pointToTables(abi, *this);
    abi.num_symbols = symbols.size();
    abi.symbol_names = symbols.data();
    abi.num_exprs = exprs.size();
    abi.exprs = exprs.data();
    abi.num_checks = checks.size();
    abi.checks = checks.data();
    abi.num_size_exprs = sizeExprs.size();
    abi.size_exprs = sizeExprs.data();
    abi.num_steps = steps.size();
    abi.steps = steps.empty() ? nullptr : steps.data();
    abi.num_calls = calls.size();
    abi.calls = calls.data();
    return &module;
  }

  std::vector<const char *> symbols;
  std::vector<lumen_abi_expr> exprs;
  std::vector<lumen_abi_check> checks;
  std::vector<uint32_t> sizeExprs, argBuffers;
  std::vector<lumen_abi_value> inputs, outputs;
  std::vector<lumen_abi_storage> storages;
  std::vector<lumen_abi_buffer> buffers;
  std::vector<lumen_abi_kernel> kernels;
  std::vector<lumen_abi_launch> launches;
  std::vector<lumen_abi_step> steps;
  std::vector<lumen_abi_call> calls;
  lumen_abi_model abi = {};

private:
  void value(std::vector<lumen_abi_value> &values, const char *name, lumen_abi_dtype dtype,
             std::vector<lumen_abi_dim> dims, bool optional) {
    shapes.push_back(std::move(dims));
    values.push_back({name, LUMEN_ABI_TENSOR, static_cast<uint32_t>(dtype),
                      static_cast<int32_t>(shapes.back().size()), optional, shapes.back().data()});
  }
  uint32_t storage(lumen_abi_region region, uint32_t sizeExpr, uint32_t index) {
    storages.push_back({static_cast<uint32_t>(region), index, 0, 0, sizeExpr, 0, 0, 0});
    buffers.push_back({static_cast<uint32_t>(storages.size() - 1), LUMEN_ABI_NONE, 0, 0, sizeExpr,
                       0});
    return buffers.size() - 1;
  }

  std::deque<std::vector<lumen_abi_dim>> shapes;
  std::deque<std::vector<lumen_abi_call_arg>> args;
  std::deque<std::string> attributes;
  std::deque<lumen_abi_variant> variants;
  lumen_abi_level level = {lowLevel, LUMEN_ABI_CPU, 0, lowFeatures};
  lumen_module module = {&lumen_runtime_api, &abi};
};

// The model opened, with a context.
class OpenModel {
public:
  explicit OpenModel(TableModel &tables, lumen_context_options options = {}) {
    open(tables.finish(), nullptr, options);
  }
  OpenModel(lumen_module *module, const char *device, uint32_t flags = 0) {
    open(module, device, {}, flags);
  }
  ~OpenModel() {
    lumen_context_free(context);
    lumen_model_free(model);
  }
  OpenModel(const OpenModel &) = delete;

  // The error's text, "" for none.
  template <size_t N, size_t M>
  std::string run(lumen_value (&inputs)[N], lumen_value (&outputs)[M]) {
    status = {};
    lumen_run(context, inputs, N, outputs, M, &status);
    return status.message;
  }
  // Likewise of a run that goes on, when it begins and when it has ended.
  template <size_t N, size_t M>
  std::string start(lumen_value (&inputs)[N], lumen_value (&outputs)[M]) {
    status = {};
    lumen_run_async(context, inputs, N, outputs, M, &status);
    return status.message;
  }
  std::string synchronize() {
    status = {};
    lumen_synchronize(context, &status);
    return status.message;
  }
  lumen_context_memory_info memory() const {
    lumen_context_memory_info info;
    lumen_context_memory(context, &info);
    return info;
  }

  lumen_model *model = nullptr;
  lumen_context *context = nullptr;
  lumen_status status = {};

private:
  void open(lumen_module *module, const char *device, lumen_context_options options,
            uint32_t flags = 0) {
    lumen_model_options modelOptions = {};
    modelOptions.flags = flags;
    modelOptions.device = device;
    modelOptions.num_threads = 1;
    if (!lumen_model_open(module, &modelOptions, &model, &status))
      lumen_context_create(model, &options, &context, &status);
  }
};

} // namespace lumen::test

#endif
