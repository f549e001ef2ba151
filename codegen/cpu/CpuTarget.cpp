//===- CpuTarget.cpp - ISA levels of the CPU ------------------------------===//

#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/MicroKernel.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "runtime-lite/include/lumen_abi.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

/// One row per ISA level, most demanding first.
struct LevelRow {
  StringRef name;
  uint64_t features;
  int64_t vectorBytes, numRegisters;
  bool maskedOps;
  bool isDefault;
  StringRef multiplyPairs, multiplyQuads; ///< see loops::Capabilities
  StringRef llvmCpu, llvmFeatures;
  /// Features of the host, by LLVM's names, which the level adds to the next.
  ArrayRef<StringRef> hostFeatures;
};

constexpr StringRef kVnni[] = {"avx512vnni"};
constexpr StringRef kV4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
constexpr StringRef kV3[] = {"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"};
constexpr StringRef kV2[] = {"sse4.2", "ssse3", "popcnt", "cx16"};

constexpr uint64_t kFeaturesV2 = LUMEN_ABI_X86_V2;
constexpr uint64_t kFeaturesV3 = kFeaturesV2 | LUMEN_ABI_X86_V3;
constexpr uint64_t kFeaturesV4 = kFeaturesV3 | LUMEN_ABI_X86_V4;

constexpr LevelRow kLevels[] = {
    {"x86-64-v4+vnni", kFeaturesV4 | LUMEN_ABI_X86_VNNI, 64, 32, true, true,
     "llvm.x86.avx512.pmaddw.d.512", "llvm.x86.avx512.vpdpbusd.512", "x86-64-v4", "+avx512vnni",
     kVnni},
    {"x86-64-v4", kFeaturesV4, 64, 32, true, true, "llvm.x86.avx512.pmaddw.d.512", "", "x86-64-v4",
     "", kV4},
    {"x86-64-v3", kFeaturesV3, 32, 16, false, true, "llvm.x86.avx2.pmadd.wd", "", "x86-64-v3", "",
     kV3},
    {"x86-64-v2", kFeaturesV2, 16, 16, false, false, "llvm.x86.sse2.pmadd.wd", "", "x86-64-v2", "",
     kV2},
};

class CpuTarget final : public Target {
public:
  CpuTarget() {
    for (const LevelRow &row : kLevels)
      if (row.isDefault)
        levels.push_back(makeLevel(row));
  }

  StringRef getName() const override { return "cpu"; }
  ArrayRef<StringRef> getLevelNames() const override { return levelNames(); }
  ArrayRef<Level> getLevels() const override { return levels; }
  bool isHost() const override { return true; }
  StringRef getDriver() const override { return ""; }
  void prepare(MLIRContext &context) const override { prepareContext(context); }
  bool selectLevels(StringRef text, std::string &error) override;
  bool hasOwnCode(dispatch::KernelOp kernel, const Level &level) const override;
  FailureOr<CompiledKernels> compile(ArrayRef<dispatch::KernelOp> kernels, const Level &level,
                                     const CodegenOptions &options, CodeForm form) const override;

private:
  static Level makeLevel(const LevelRow &row) {
    return {row.name.str(), LUMEN_ABI_CPU, row.features};
  }

  std::vector<Level> levels;
};

} // namespace

std::unique_ptr<Target> cpu::createCpuTarget() { return std::make_unique<CpuTarget>(); }

void cpu::prepareContext(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  // Loaded here because loading is not safe once several threads compile.
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, dispatch::DispatchDialect,
                      func::FuncDialect, LLVM::LLVMDialect, LumenDialect, math::MathDialect,
                      memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
}

ArrayRef<StringRef> cpu::levelNames() {
  static const auto names = [] {
    std::array<StringRef, std::size(kLevels)> names;
    llvm::transform(kLevels, names.begin(), [](const LevelRow &row) { return row.name; });
    return names;
  }();
  return names;
}

const IsaLevel *cpu::capabilitiesOf(StringRef level) {
  static const auto table = [] {
    std::array<IsaLevel, std::size(kLevels)> table;
    for (auto [row, caps] : llvm::zip_equal(kLevels, table)) {
      caps.vectorBytes = row.vectorBytes;
      caps.numRegisters = row.numRegisters;
      caps.maskedOps = row.maskedOps;
      caps.multiplyPairs = row.multiplyPairs.str();
      caps.multiplyQuads = row.multiplyQuads.str();
      caps.llvmCpu = row.llvmCpu.str();
      caps.llvmFeatures = row.llvmFeatures.str();
    }
    return table;
  }();
  for (auto [row, caps] : llvm::zip_equal(kLevels, table))
    if (row.name == level)
      return &caps;
  return nullptr;
}

bool cpu::hostSupports(StringRef level) {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  bool needed = false; // levels are cumulative: this one and all below it
  for (const LevelRow &row : kLevels) {
    needed |= row.name == level;
    if (needed &&
        !llvm::all_of(row.hostFeatures, [&](StringRef name) { return host.lookup(name); }))
      return false;
  }
  return needed;
}

/// The name at the start of a list of levels, which is taken off it. Names have the list's
/// separator inside, so that of those which fit the longest is meant.
static StringRef takeLevel(StringRef &text) {
  StringRef best = text.split('+').first;
  for (StringRef name : levelNames())
    if (name.size() > best.size() && text.starts_with(name) &&
        (text.size() == name.size() || text[name.size()] == '+'))
      best = name;
  text = text.drop_front(best.size());
  return best;
}

bool CpuTarget::selectLevels(StringRef text, std::string &error) {
  if (text.empty())
    return true;
  std::vector<StringRef> wanted;
  bool isMore = true;
  while (isMore) {
    StringRef name = takeLevel(text);
    isMore = text.consume_front("+");
    if (name == "native") {
      auto best = llvm::find_if(levelNames(), hostSupports);
      if (best == levelNames().end()) {
        error = "this machine's CPU is below the lowest level, " + levelNames().back().str();
        return false;
      }
      name = *best;
    } else if (!capabilitiesOf(name)) {
      error = "unknown CPU level '" + name.str() + "', expected native, " +
              llvm::join(levelNames(), ", ");
      return false;
    }
    wanted.push_back(name);
  }
  levels.clear();
  for (const LevelRow &row : kLevels)
    if (llvm::is_contained(wanted, row.name))
      levels.push_back(makeLevel(row));
  return true;
}

bool CpuTarget::hasOwnCode(dispatch::KernelOp kernel, const Level &level) const {
  auto next = llvm::find_if(levels, [&](const Level &other) { return other.name == level.name; });
  assert(next != levels.end() && "level was not selected");
  if (++next == levels.end())
    return true;
  if (capabilitiesOf(level.name)->llvmCpu != capabilitiesOf(next->name)->llvmCpu)
    return true;
  // Levels for the same CPU differ in how integers are multiplied.
  Operation *root = kernel.getRoot();
  auto conv = dyn_cast_or_null<ConvOp>(root);
  return isa_and_nonnull<ContractOp, ConvOp>(root) && ProductTypes(root).isInteger() &&
         !(conv && conv.isDepthwise());
}

FailureOr<SmallVector<char, 0>> cpu::compileGrids(ArrayRef<dispatch::KernelOp> kernels,
                                                  StringRef level, ArrayRef<LaunchShape> shapes,
                                                  const CodegenOptions &options) {
  SmallVector<char, 0> object;
  if (llvm::all_of(shapes, [](const LaunchShape &shape) { return shape.grid.asConstant(); }))
    return object;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(kernels.front()->getContext()));
  for (auto [kernel, shape] : llvm::zip_equal(kernels, shapes))
    if (!shape.grid.asConstant())
      makeGridFunction(kernel, level, shape.grid, *module);
  CodegenOptions plain = options;
  plain.sanitizeAddress = false;
  if (failed(lowerToLLVM(*module)) || failed(emitCode(*module, *capabilitiesOf(levelNames().back()),
                                                      plain, CodeForm::Object, object)))
    return failure();
  return object;
}

FailureOr<CompiledKernels> CpuTarget::compile(ArrayRef<dispatch::KernelOp> kernels,
                                              const Level &level, const CodegenOptions &options,
                                              CodeForm form) const {
  CompiledKernels result;
  if (kernels.empty())
    return result;
  MLIRContext *context = kernels.front()->getContext();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  bool isComplete = true;
  for (dispatch::KernelOp kernel : kernels) {
    FailureOr<LaunchShape> shape = buildKernel(kernel, level.name, options, *module);
    // All kernels that cannot be built are reported together.
    isComplete &= succeeded(shape);
    result.shapes.push_back(shape.value_or(LaunchShape()));
  }
  if (!isComplete || failed(lowerToLLVM(*module)) ||
      failed(emitCode(*module, *capabilitiesOf(level.name), options, form, result.object)))
    return failure();
  return result;
}
