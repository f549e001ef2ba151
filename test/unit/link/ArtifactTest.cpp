//===- ArtifactTest.cpp - a loaded artifact says what the tables say ------===//

#include "test/unit/link/Models.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>

using namespace llvm;
using namespace lumen::link;
using namespace lumen::link::test;

namespace {

/// lumen_module of lumen.h.
struct EntryPoint {
  const void *api;
  const lumen_abi_model *model;
};

class Artifact : public ::testing::Test {
protected:
  void load(const ScaleModel &model, LinkOptions options = {}) {
    options.output = folder.file(model.tables.name + ".so");
    Error error = model.link(options);
    ASSERT_FALSE(static_cast<bool>(error)) << toString(std::move(error));
    void *library = dlopen(options.output.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    libraries.push_back(library);
    auto entry = reinterpret_cast<const EntryPoint *(*)()>(
        dlsym(library, ("lumen_module_" + model.tables.name).c_str()));
    ASSERT_NE(entry, nullptr);
    module = entry();
  }

  ~Artifact() override {
    for (void *library : libraries)
      dlclose(library);
  }

  Folder folder;
  std::vector<void *> libraries;
  const EntryPoint *module = nullptr;
};

void expectValues(const lumen_abi_value *actual, uint32_t count, ArrayRef<Value> expected) {
  ASSERT_EQ(count, expected.size());
  for (auto [i, value] : enumerate(expected)) {
    EXPECT_EQ(actual[i].name, value.name);
    EXPECT_EQ(actual[i].kind, value.kind);
    EXPECT_EQ(actual[i].dtype, value.dtype);
    EXPECT_EQ(actual[i].optional, value.optional);
    if (!value.dims) {
      EXPECT_EQ(actual[i].rank, -1);
      EXPECT_EQ(actual[i].dims, nullptr);
      continue;
    }
    ASSERT_EQ(actual[i].rank, static_cast<int32_t>(value.dims->size()));
    for (auto [d, dim] : enumerate(*value.dims)) {
      EXPECT_EQ(actual[i].dims[d].extent, dim.extent);
      EXPECT_EQ(actual[i].dims[d].bound, dim.bound);
      EXPECT_EQ(actual[i].dims[d].expr, dim.expr);
      EXPECT_EQ(actual[i].dims[d].bound_expr, dim.boundExpr);
      if (dim.symbol.empty())
        EXPECT_EQ(actual[i].dims[d].symbol, nullptr);
      else
        EXPECT_EQ(actual[i].dims[d].symbol, dim.symbol);
    }
  }
}

/// Rows that are the C structs themselves.
template <typename T>
void expectRows(const T *actual, uint32_t count, const std::vector<T> &expected) {
  ASSERT_EQ(count, expected.size());
  EXPECT_EQ(memcmp(actual, expected.data(), expected.size() * sizeof(T)), 0);
}

void expectLaunches(const lumen_abi_launch *actual, uint32_t count, ArrayRef<Launch> expected) {
  ASSERT_EQ(count, expected.size());
  for (auto [i, launch] : enumerate(expected)) {
    EXPECT_EQ(actual[i].kernel, launch.kernel);
    EXPECT_EQ(actual[i].affinity, launch.affinity);
    EXPECT_EQ(actual[i].first_arg, launch.firstArg);
    EXPECT_EQ(actual[i].first_size, launch.firstSize);
    EXPECT_EQ(actual[i].num_sizes, launch.numSizes);
    EXPECT_EQ(actual[i].num_outputs, launch.numOutputs);
    EXPECT_EQ(actual[i].nodes, launch.nodes);
    EXPECT_EQ(actual[i].flops, launch.flops);
    EXPECT_EQ(actual[i].bytes, launch.bytes);
    EXPECT_EQ(actual[i].flops_expr, launch.flopsExpr);
    EXPECT_EQ(actual[i].bytes_expr, launch.bytesExpr);
  }
}

// Every field of every table reaches the loaded artifact.
TEST_F(Artifact, HoldsTheTables) {
  ScaleModel model("tiny");
  ModelTables &tables = model.tables;
  tables.inputs.push_back({"tokens", LUMEN_ABI_SEQUENCE, LUMEN_ABI_I64, true, std::nullopt});
  tables.inputs.push_back({"scalar", LUMEN_ABI_TENSOR, LUMEN_ABI_F64, false, std::vector<Dim>{}});
  tables.outputs.push_back({"z", LUMEN_ABI_OPTIONAL, LUMEN_ABI_U8, false,
                            std::vector<Dim>{{-1, 77, "batch"}, {-1, -1, ""}}});
  model.addSteps();
  tables.arenaSize = 22;
  tables.launches[0].firstSize = 1;
  tables.launches[0].numSizes = 1;
  Variant spirv;
  spirv.level = 2;
  spirv.code = {'S', 'P', 'V'};
  lumen_abi_gpu_launch launch = {64, 64, 0, 0, 0};
  spirv.launchInfo.assign(reinterpret_cast<char *>(&launch), reinterpret_cast<char *>(&launch + 1));
  tables.levels.push_back({"spirv-1.3", LUMEN_ABI_SPIRV, 5});
  tables.kernels[1].variants.push_back(spirv);
  ASSERT_NO_FATAL_FAILURE(load(model));

  const lumen_abi_model &actual = *module->model;
  EXPECT_NE(module->api, nullptr);
  EXPECT_EQ(actual.abi_version, LUMEN_ABI_VERSION);
  EXPECT_EQ(actual.size, sizeof(lumen_abi_model));
  EXPECT_EQ(actual.name, tables.name);
  EXPECT_EQ(actual.producer, tables.producer);
  EXPECT_EQ(actual.source_hash, tables.sourceHash);
  expectValues(actual.inputs, actual.num_inputs, tables.inputs);
  expectValues(actual.outputs, actual.num_outputs, tables.outputs);
  ASSERT_EQ(actual.num_levels, tables.levels.size());
  for (auto [i, level] : enumerate(tables.levels)) {
    EXPECT_EQ(actual.levels[i].name, level.name);
    EXPECT_EQ(actual.levels[i].target, level.target);
    EXPECT_EQ(actual.levels[i].features, level.features);
  }
  ASSERT_EQ(actual.num_kernels, tables.kernels.size());
  for (auto [i, kernel] : enumerate(tables.kernels)) {
    EXPECT_EQ(actual.kernels[i].name, kernel.name);
    EXPECT_EQ(actual.kernels[i].num_args, kernel.numArgs);
    ASSERT_EQ(actual.kernels[i].num_variants, kernel.variants.size());
    for (auto [v, variant] : enumerate(kernel.variants)) {
      const lumen_abi_variant &found = actual.kernels[i].variants[v];
      EXPECT_EQ(found.level, variant.level);
      EXPECT_EQ(found.code_size, variant.code.size());
      EXPECT_EQ(found.grid, variant.grid);
      EXPECT_EQ(found.grain, variant.grain);
      EXPECT_EQ(found.scratch_size, variant.scratchSize);
      EXPECT_EQ(found.grid_fn != nullptr, !variant.gridFunction.empty());
      EXPECT_EQ(found.extents_fn, nullptr);
      EXPECT_EQ(found.launch_info != nullptr, !variant.launchInfo.empty());
      ASSERT_NE(found.code, nullptr);
      if (!variant.code.empty())
        EXPECT_EQ(memcmp(found.code, variant.code.data(), variant.code.size()), 0);
    }
  }
  EXPECT_EQ(actual.kernels[0].variants[1].grid_fn(nullptr), 4);
  expectRows(actual.storages, actual.num_storages, tables.storages);
  expectRows(actual.buffers, actual.num_buffers, tables.buffers);
  expectRows(actual.exprs, actual.num_exprs, tables.exprs);
  expectRows(actual.size_exprs, actual.num_size_exprs, tables.sizeExprs);
  expectRows(actual.steps, actual.num_steps, tables.steps);
  EXPECT_EQ(actual.num_entry_exprs, tables.numEntryExprs);
  ASSERT_EQ(actual.num_symbols, 2u);
  EXPECT_EQ(actual.num_entry_symbols, 1u);
  EXPECT_STREQ(actual.symbol_names[0], "batch");
  EXPECT_EQ(actual.symbol_names[1], nullptr);
  ASSERT_EQ(actual.num_checks, tables.checks.size());
  EXPECT_EQ(actual.num_entry_checks, tables.numEntryChecks);
  for (auto [i, check] : enumerate(tables.checks)) {
    EXPECT_EQ(actual.checks[i].kind, check.kind);
    EXPECT_EQ(actual.checks[i].a, check.a);
    EXPECT_EQ(actual.checks[i].b, check.b);
    EXPECT_EQ(actual.checks[i].node, check.node);
    EXPECT_EQ(actual.checks[i].what, check.what);
  }
  ASSERT_EQ(actual.num_calls, 1u);
  EXPECT_NE(actual.calls[0].function, nullptr);
  EXPECT_STREQ(actual.calls[0].node, "StringConcat 'c'");
  EXPECT_EQ(StringRef(static_cast<const char *>(actual.calls[0].data), actual.calls[0].data_size),
            "ab");
  expectRows(actual.calls[0].args, actual.calls[0].num_inputs, tables.calls[0].inputs);
  expectRows(actual.calls[0].args + 1, actual.calls[0].num_outputs, tables.calls[0].outputs);
  EXPECT_EQ(actual.calls[0].first_size, 1u);
  EXPECT_EQ(actual.calls[0].num_sizes, 1u);
  EXPECT_EQ(ArrayRef<uint32_t>(actual.arg_buffers, tables.argBuffers.size()),
            ArrayRef<uint32_t>(tables.argBuffers));
  expectLaunches(actual.launches, actual.num_launches, tables.launches);
  expectLaunches(actual.inits, actual.num_inits, tables.inits);
  EXPECT_EQ(actual.init_size, tables.initSize);
  EXPECT_EQ(actual.arena_size, tables.arenaSize);
  EXPECT_EQ(actual.flags, tables.flags);
  EXPECT_EQ(actual.weights_size, model.weights.size);
  EXPECT_EQ(actual.weights_file, nullptr);
  EXPECT_EQ(actual.weights_id, nullptr);
  EXPECT_EQ(actual.arena_lower_bound, tables.arenaLowerBound);
  EXPECT_EQ(actual.bytes_without_sharing, tables.bytesWithoutSharing);
}

// The kernel runs on the constants that are inside, gaps between them are zero.
TEST_F(Artifact, RunsOnItsWeights) {
  ScaleModel model("tiny", 2.5f);
  ASSERT_NO_FATAL_FAILURE(load(model));
  const lumen_abi_model &actual = *module->model;
  ASSERT_NE(actual.weights, nullptr);
  const char *weights = static_cast<const char *>(*actual.weights);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weights) % LUMEN_ALIGNMENT, 0u);
  std::string expected(model.weights.size, '\0');
  for (const Weights::Piece &piece : model.weights.pieces)
    std::copy(piece.bytes.begin(), piece.bytes.end(), expected.begin() + piece.offset);
  EXPECT_EQ(StringRef(weights, actual.weights_size), expected);

  float x[4] = {1, -2, 3, 4}, y[4] = {};
  void *args[] = {const_cast<char *>(weights), x, y};
  for (uint32_t v = 0; v != actual.kernels[0].num_variants; ++v) {
    memset(y, 0, sizeof(y));
    auto kernel = reinterpret_cast<lumen_abi_cpu_kernel>(
        const_cast<void *>(actual.kernels[0].variants[v].code));
    EXPECT_EQ(kernel(args, nullptr, 0, 4, 0, nullptr), LUMEN_ABI_OK);
    EXPECT_EQ(y[0], 2.5f);
    EXPECT_EQ(y[1], -5.0f);
    EXPECT_EQ(y[3], 10.0f);
  }
}

// Two artifacts with equal kernel names keep to themselves.
TEST_F(Artifact, LivesBesideAnother) {
  ASSERT_NO_FATAL_FAILURE(load(ScaleModel("first", 2.0f)));
  const EntryPoint *first = module;
  ASSERT_NO_FATAL_FAILURE(load(ScaleModel("second", 3.0f)));
  EXPECT_NE(first->api, module->api);
  EXPECT_EQ(*static_cast<const float *>(*first->model->weights), 2.0f);
  EXPECT_EQ(*static_cast<const float *>(*module->model->weights), 3.0f);
}

// An artifact brings the drivers that its tables name, and no others.
TEST_F(Artifact, BringsItsDrivers) {
  ScaleModel model("plain");
  ASSERT_NO_FATAL_FAILURE(load(model));
  model.tables.name = "driven";
  model.tables.drivers = {"lumen_driver_vulkan"};
  ASSERT_NO_FATAL_FAILURE(load(model));
  constexpr StringRef kLoader = "libvulkan.so.1";
  EXPECT_FALSE(StringRef(readFile(folder.file("plain.so"))).contains(kLoader));
  EXPECT_TRUE(StringRef(readFile(folder.file("driven.so"))).contains(kLoader));
}

// A model without constants has no weights at all.
TEST_F(Artifact, WithoutWeights) {
  ScaleModel model("bare");
  model.dropWeights();
  ASSERT_NO_FATAL_FAILURE(load(model));
  EXPECT_EQ(module->model->weights, nullptr);
  EXPECT_EQ(module->model->weights_file, nullptr);
  EXPECT_EQ(module->model->weights_size, 0u);
}

//===----------------------------------------------------------------------===//
// What the file asks of the machine
//===----------------------------------------------------------------------===//

/// The dynamic section and symbols of a shared object.
struct Dynamic {
  explicit Dynamic(const std::string &path)
      : owner(cantFail(object::ObjectFile::createObjectFile(path))),
        elf(cast<object::ELF64LEObjectFile>(owner.getBinary())) {}

  std::vector<std::string> strings(int64_t tag) {
    std::vector<std::string> found;
    const auto &file = elf->getELFFile();
    StringRef table;
    for (const auto &section : cantFail(file.sections()))
      if (section.sh_type == ELF::SHT_DYNSYM)
        table = cantFail(file.getStringTableForSymtab(section));
    for (const auto &entry : cantFail(file.dynamicEntries()))
      if (entry.d_tag == tag)
        found.push_back(table.drop_front(entry.d_un.d_val).data());
    return found;
  }

  bool has(int64_t tag) {
    return any_of(cantFail(elf->getELFFile().dynamicEntries()),
                  [&](const auto &entry) { return entry.d_tag == tag; });
  }

  object::OwningBinary<object::ObjectFile> owner;
  object::ELF64LEObjectFile *elf;
};

// NEEDED names libc and libm alone, and one function is exported.
TEST_F(Artifact, NeedsOnlyTheCLibrary) {
  ASSERT_NO_FATAL_FAILURE(load(ScaleModel("tiny")));
  Dynamic dynamic(folder.file("tiny.so"));
  EXPECT_EQ(dynamic.strings(ELF::DT_NEEDED), (std::vector<std::string>{"libc.so.6", "libm.so.6"}));
  EXPECT_EQ(dynamic.strings(ELF::DT_SONAME), std::vector<std::string>{"tiny.so"});
  EXPECT_FALSE(dynamic.has(ELF::DT_TEXTREL));
  EXPECT_FALSE(dynamic.has(ELF::DT_RUNPATH));

  std::vector<std::string> exported;
  std::vector<std::string> versions;
  for (const object::ELFSymbolRef &symbol : dynamic.elf->getDynamicSymbolIterators()) {
    uint32_t flags = cantFail(symbol.getFlags());
    if (!(flags & object::SymbolRef::SF_Undefined))
      exported.push_back(cantFail(symbol.getName()).str());
  }
  EXPECT_EQ(exported, std::vector<std::string>{"lumen_module_tiny"});

  const auto &file = dynamic.elf->getELFFile();
  for (const auto &section : cantFail(file.sections())) {
    if (section.sh_type != ELF::SHT_GNU_verneed)
      continue;
    auto needed = cantFail(file.getVersionDependencies(section));
    for (const object::VerNeed &library : needed)
      for (const object::VernAux &version : library.AuxV) {
        StringRef number = version.Name;
        ASSERT_TRUE(number.consume_front("GLIBC_2.")) << version.Name;
        unsigned minor = 0;
        number.split('.').first.getAsInteger(10, minor);
        EXPECT_LE(minor, 34u) << version.Name;
        versions.push_back(version.Name);
      }
  }
  EXPECT_FALSE(versions.empty());
}

// Kernels keep their names for a profiler where that is asked for.
TEST_F(Artifact, KeepsSymbolsOnRequest) {
  LinkOptions options;
  for (bool keep : {false, true}) {
    options.keepSymbols = keep;
    ASSERT_NO_FATAL_FAILURE(load(ScaleModel(keep ? "named" : "bare"), options));
    auto object =
        cantFail(object::ObjectFile::createObjectFile(folder.file(keep ? "named.so" : "bare.so")));
    bool found = any_of(object.getBinary()->symbols(), [](const object::SymbolRef &symbol) {
      return cantFail(symbol.getName()) == "scale_v2";
    });
    EXPECT_EQ(found, keep);
  }
}

// A call that the table of the C library lacks fails the link by name.
TEST_F(Artifact, NamesAMissingFunction) {
  ScaleModel model("tiny");
  model.object = compile("declare void @not_in_libc()\n"
                         "define hidden void @scale_v2() { call void @not_in_libc() ret void }\n"
                         "define hidden void @scale_v3() { ret void }\n"
                         "define hidden void @start() { ret void }\n"
                         "define hidden i64 @grid(ptr %sizes) { ret i64 4 }\n");
  LinkOptions options;
  options.output = folder.file("tiny.so");
  Error error = model.link(options);
  ASSERT_TRUE(static_cast<bool>(error));
  EXPECT_NE(toString(std::move(error)).find("undefined symbol: not_in_libc"), std::string::npos);
  EXPECT_TRUE(folder.files().empty());
}

// The table of C functions agrees with the machine's own C library.
TEST(LibcSymbols, ExistInTheMachinesLibrary) {
  std::ifstream table(LUMEN_LIBC_SYMBOLS);
  unsigned rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    ++rows;
    std::string name, version, library;
    std::istringstream(line) >> name >> version >> library;
    void *handle = dlopen((library + ".so.6").c_str(), RTLD_NOW);
    ASSERT_NE(handle, nullptr) << line;
    EXPECT_NE(dlvsym(handle, name.c_str(), version.c_str()), nullptr) << line;
    dlclose(handle);
  }
  EXPECT_GT(rows, 200u);
}

} // namespace
