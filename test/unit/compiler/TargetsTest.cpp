//===- TargetsTest.cpp - kernels of several targets in one artifact -------===//
//
// With a target that shared code has never heard of, and no driver runs: all that the
// compiler knows of targets must come from the interface.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipeline.h"
#include "compiler/Tables.h"
#include "runtime-lite/include/lumen.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

using namespace lumen;
using llvm::StringRef;

namespace {

/// More than are compiled together.
constexpr size_t kNumKernels = 40;

/// A plan of kernels in a row that each compute y from x, of `n` times 3 elements.
std::string program() {
  std::string type = R"(tensor<?x3xf32, #lumen.dims<["n", "3"]>>)", kernels, launches;
  std::string local = R"(tensor<?x3xf32, #lumen.dims<["s0", "3"]>>)";
  for (size_t i = 0; i < kNumKernels; ++i) {
    std::string name = "@k" + std::to_string(i);
    kernels += "dispatch.kernel " + name + "(%x: " + local + ") -> " + local +
               " attributes {dispatch.sizes = [\"s0\"]} {\n" +
               "  %0 = lumen.unary <relu> %x : " + local + " -> " + local +
               "\n  dispatch.yield %0 : " + local + "\n}\n";
    launches += "dispatch.launch " + name +
                "(%x) outs(%y) {sizes = #lumen.dims<[\"n\"]>} : "
                "(!dispatch.buffer, !dispatch.buffer) -> ()\n";
  }
  return "module attributes {lumen.weights = [], lumen.arena_size = 0 : i64} {\n" + kernels +
         "func.func @main(%arg: " + type + R"( {onnx.name = "x"}) attributes {
    lumen.result_attrs = [{onnx.name = "y"}], lumen.result_types = [)" +
         type + R"(]} {
    %0 = dispatch.storage <input>[0] size "12*n"
    %1 = dispatch.storage <output>[0] size "12*n"
    %x = dispatch.buffer %0 offset 0 size "12*n"
    %y = dispatch.buffer %1 offset 0 size "12*n"
    )" + launches +
         "return\n}\n}\n";
}

/// The number in a kernel's name.
size_t numberOf(dispatch::KernelOp kernel) {
  size_t number = 0;
  kernel.getSymName().drop_front().getAsInteger(10, number);
  return number;
}

/// Its code is the name of what it was made of. Odd kernels are the same at both levels,
/// those of a multiple of 5 it cannot compile.
class NameTarget final : public Target {
public:
  StringRef getName() const override { return "names"; }
  llvm::ArrayRef<StringRef> getLevelNames() const override { return names; }
  bool selectLevels(StringRef, std::string &) override { return true; }
  llvm::ArrayRef<Level> getLevels() const override { return levels; }
  bool hasOwnCode(dispatch::KernelOp kernel, const Level &level) const override {
    return &level == &levels.back() || numberOf(kernel) % 2 == 0;
  }
  bool isHost() const override { return false; }
  StringRef getDriver() const override { return ""; }
  void prepare(mlir::MLIRContext &) const override {}

  static std::string codeOf(StringRef kernel, StringRef level) {
    return (kernel + " for " + level).str();
  }
  static bool isMissing(size_t number) { return number % 5 == 0; }

  mlir::FailureOr<CompiledKernels> compile(llvm::ArrayRef<dispatch::KernelOp> kernels,
                                           const Level &level, const CodegenOptions &,
                                           CodeForm) const override {
    CompiledKernels result;
    for (dispatch::KernelOp kernel : kernels) {
      size_t number = numberOf(kernel);
      KernelBinary &binary = result.binaries.emplace_back();
      result.shapes.push_back({SymExpr::symbol("s0") * 3 + SymExpr(int64_t(number)), 1, 128});
      if (isMissing(number)) {
        binary.missing = "it is a multiple of 5";
        continue;
      }
      std::string code = codeOf(kernel.getSymName(), level.name);
      binary.code.assign(code.begin(), code.end());
      binary.block = 32;
      binary.unitsPerWorkgroup = 64;
      binary.sharedSize = 256;
      binary.flags = LUMEN_ABI_GPU_FAULTS;
      binary.features = number;
    }
    return result;
  }

private:
  llvm::SmallVector<StringRef> names = {"new", "old"};
  std::vector<Level> levels = {{"new", LUMEN_ABI_METAL, 2}, {"old", LUMEN_ABI_METAL, 1}};
};

class TargetsTest : public ::testing::Test {
protected:
  TargetsTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    module = mlir::parseSourceString<mlir::ModuleOp>(program(), &context);
    targets.push_back(createTarget("cpu"));
    std::string error;
    EXPECT_TRUE(targets.front()->selectLevels("x86-64-v2", error)) << error;
    targets.push_back(std::make_unique<NameTarget>());
    for (const std::unique_ptr<Target> &target : targets)
      target->prepare(context);
  }

  KernelCode compile(unsigned threads, CodeForm form = CodeForm::Object) {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
    CodegenOptions options;
    options.optLevel = 1;
    auto code = compileKernels(*module, targets, options, form, pool);
    EXPECT_TRUE(mlir::succeeded(code));
    return mlir::succeeded(code) ? std::move(*code) : KernelCode();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Targets targets;
};

/// An artifact of some code in a folder of its own, loaded.
class Loaded {
public:
  Loaded(mlir::ModuleOp module, const KernelCode &code) {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("lumen-targets", folder));
    auto tables = buildTables(module, "several", code);
    std::vector<llvm::MemoryBufferRef> objects;
    for (const auto &object : code.objects)
      objects.push_back({StringRef(object.data(), object.size()), "kernels.o"});
    link::LinkOptions options;
    options.output = (folder + "/several.so").str();
    llvm::Error error = link::linkModel(*tables, objects, {}, options);
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    lumen_status status = {};
    EXPECT_EQ(lumen_library_open(options.output.c_str(), &library, &status), LUMEN_OK)
        << status.message;
  }
  ~Loaded() {
    lumen_library_close(&library);
    llvm::sys::fs::remove_directories(folder);
  }
  const lumen_abi_model &abi() const {
    return *static_cast<const lumen_abi_model *>(library.module->model);
  }

  llvm::SmallString<128> folder;
  lumen_library library = {};
};

// Modules, launch facts and grids of each kernel lie in the file as the target made them,
// behind the host's, and a kernel that it has none for keeps the host's alone.
TEST_F(TargetsTest, LieInOneFile) {
  Loaded loaded(*module, compile(2));
  ASSERT_NE(loaded.library.module, nullptr);
  const lumen_abi_model &abi = loaded.abi();
  ASSERT_EQ(abi.num_levels, 3u);
  EXPECT_STREQ(abi.levels[0].name, "x86-64-v2");
  EXPECT_STREQ(abi.levels[1].name, "new");
  EXPECT_STREQ(abi.levels[2].name, "old");
  EXPECT_EQ(abi.levels[2].target, LUMEN_ABI_METAL);
  EXPECT_EQ(abi.levels[2].features, 1u);
  ASSERT_EQ(abi.num_kernels, kNumKernels);
  for (uint32_t k = 0; k < abi.num_kernels; ++k) {
    const lumen_abi_kernel &kernel = abi.kernels[k];
    SCOPED_TRACE(kernel.name);
    ASSERT_EQ(kernel.num_variants, NameTarget::isMissing(k) ? 1u : k % 2 ? 2u : 3u);
    EXPECT_EQ(kernel.variants[0].level, 0u);
    EXPECT_EQ(kernel.variants[0].launch_info, nullptr);
    for (uint32_t v = 1; v < kernel.num_variants; ++v) {
      const lumen_abi_variant &variant = kernel.variants[v];
      EXPECT_EQ(variant.level, kernel.num_variants == 2 ? 2u : v);
      EXPECT_EQ(std::string(static_cast<const char *>(variant.code), variant.code_size),
                NameTarget::codeOf(kernel.name, abi.levels[variant.level].name));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(variant.code) % LUMEN_ALIGNMENT, 0u);
      EXPECT_EQ(variant.scratch_size, 128u);
      ASSERT_NE(variant.grid_fn, nullptr);
      int64_t sizes[] = {7};
      EXPECT_EQ(variant.grid_fn(sizes), 21 + int64_t(k));
      ASSERT_NE(variant.launch_info, nullptr);
      auto &launch = *static_cast<const lumen_abi_gpu_launch *>(variant.launch_info);
      EXPECT_EQ(launch.block, 32u);
      EXPECT_EQ(launch.units_per_workgroup, 64u);
      EXPECT_EQ(launch.shared_size, 256u);
      EXPECT_EQ(launch.flags, LUMEN_ABI_GPU_FAULTS);
      EXPECT_EQ(launch.features, k);
    }
  }
}

// A runtime that knows no such devices runs the host's code, and tells what else there is.
TEST_F(TargetsTest, LeaveTheHostAsItIs) {
  Loaded loaded(*module, compile(2));
  ASSERT_NE(loaded.library.module, nullptr);
  lumen_status status = {};
  lumen_model *model = nullptr;
  ASSERT_EQ(lumen_model_open(loaded.library.module, nullptr, &model, &status), LUMEN_OK)
      << status.message;
  lumen_level_info level;
  ASSERT_EQ(lumen_level(model, 0, &level), LUMEN_OK);
  EXPECT_STREQ(level.kind, "cpu");
  EXPECT_EQ(level.available, 1u);
  EXPECT_EQ(level.num_kernels, kNumKernels);
  EXPECT_EQ(level.num_compiled, kNumKernels);
  EXPECT_EQ(level.code_size, 0u);
  ASSERT_EQ(lumen_level(model, 2, &level), LUMEN_OK);
  EXPECT_STREQ(level.name, "old");
  EXPECT_STREQ(level.kind, "");
  EXPECT_EQ(level.available, 0u);
  EXPECT_EQ(level.num_kernels, 0u);
  uint32_t compiled = 0;
  uint64_t bytes = 0;
  for (size_t k = 0; k < kNumKernels; ++k)
    if (!NameTarget::isMissing(k)) {
      ++compiled;
      bytes += NameTarget::codeOf("k" + std::to_string(k), "old").size();
    }
  EXPECT_EQ(level.num_compiled, compiled);
  EXPECT_EQ(level.code_size, bytes);

  lumen_context *context = nullptr;
  ASSERT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK) << status.message;
  float x[] = {-1, 2, -3, 4, 5, -6};
  int64_t shape[] = {2, 3};
  lumen_value input = lumen_tensor_value(x, LUMEN_F32, 2, shape), output = {};
  ASSERT_EQ(lumen_run(context, &input, 1, &output, 1, &status), LUMEN_OK) << status.message;
  auto *y = static_cast<const float *>(output.u.tensor.data);
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{0, 2, 0, 4, 5, 0}));
  lumen_context_free(context);
  lumen_model_free(model);
}

// What is made does not depend on which thread made it.
TEST_F(TargetsTest, AreTheSameOnAnyNumberOfThreads) {
  KernelCode one = compile(1), four = compile(4);
  EXPECT_TRUE(one.objects == four.objects);
  ASSERT_EQ(one.levels.size(), four.levels.size());
  for (auto [a, b] : llvm::zip_equal(one.levels, four.levels)) {
    ASSERT_EQ(a.binaries.size(), b.binaries.size());
    for (auto [left, right] : llvm::zip_equal(a.binaries, b.binaries)) {
      EXPECT_TRUE(left.code == right.code);
      EXPECT_EQ(left.missing, right.missing);
    }
  }
}

// Code that is data is no text of the host.
TEST_F(TargetsTest, AreTextOfTheHostAlone) {
  KernelCode code = compile(2, CodeForm::Assembly);
  ASSERT_EQ(code.levels.size(), 1u);
  EXPECT_EQ(code.levels.front().level->name, "x86-64-v2");
}

} // namespace
