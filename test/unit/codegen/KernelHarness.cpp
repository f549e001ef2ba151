//===- KernelHarness.cpp - compile, run and check one kernel --------------===//

#include "KernelHarness.h"

#include "DynamicKernel.h"
#include "FiberDevice.h"
#include "MetalDevice.h"
#include "OpenClDevice.h"
#include "PtxDevice.h"
#include "VulkanDevice.h"

#include "codegen/cpu/CpuTarget.h"
#include "codegen/gpu/Passes.h"
#include "codegen/hip/HipTarget.h"
#include "codegen/ptx/PtxTarget.h"
#include "codegen/spirv/SpirvTarget.h"
#include "runtime-lite/include/lumen_abi.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

/// Levels that no target has: GPU kernels that are compiled from text, and the text of PTX
/// that models have, whose LLVM IR runs at the target's own level.
static constexpr llvm::StringLiteral kOpenCl = "opencl", kPtxText = "ptx_text";

/// Whether a level is one of a device, as opposed to this machine's CPU.
static bool isOfDevice(StringRef level) { return !cpu::capabilitiesOf(level); }

/// Null where this machine has none.
static KernelDevice *deviceOf(StringRef level) {
  auto isOf = [&](StringRef target) {
    return llvm::is_contained(createTarget(target)->getLevelNames(), level);
  };
  if (level == kOpenCl)
    return openClDevice();
  if (level == kPtxText)
    return ptxDevice();
  return isOf("spirv")   ? vulkanDevice()
         : isOf("ptx")   ? ptxFiberDevice()
         : isOf("hip")   ? hipFiberDevice()
         : isOf("metal") ? metalDevice()
                         : nullptr;
}

/// Whether its kernels take longer to load than all the rest.
static bool isSlow(StringRef level) {
  KernelDevice *device = isOfDevice(level) ? deviceOf(level) : nullptr;
  return device &&
         llvm::is_contained({openClDevice(), ptxDevice(), hipFiberDevice(), metalDevice()}, device);
}

bool test::canRun(StringRef level) {
  return isOfDevice(level) ? deviceOf(level) != nullptr : cpu::hostSupports(level);
}

static mlir::MLIRContext &sharedContext() {
  static auto *context = [] {
    auto *context = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    cpu::prepareContext(*context);
    hipcode::prepareContext(*context);
    ptxcode::prepareContext(*context);
    spirvcode::prepareContext(*context);
    return context;
  }();
  return *context;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr unsigned char kPattern = 0xA5;

GuardedBuffer::GuardedBuffer(size_t size, bool aligned) {
  size_t page = sysconf(_SC_PAGESIZE);
  mapped = llvm::alignTo(size + 64, page) + page;
  mapping = static_cast<char *>(
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (mapping == MAP_FAILED)
    abort();
  std::memset(mapping, kPattern, mapped - page);
  mprotect(mapping + mapped - page, page, PROT_NONE);
  begin = mapping + mapped - page - (aligned ? llvm::alignTo(size, 64) : size);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer &&other)
    : mapping(std::exchange(other.mapping, nullptr)), begin(other.begin), mapped(other.mapped) {}

GuardedBuffer::~GuardedBuffer() {
  if (mapping)
    munmap(mapping, mapped);
}

/// Elements between the first and last byte of a strided tensor.
static int64_t span(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(shape, strides)) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return last + 1;
}

static void forEachOffset(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                          llvm::function_ref<void(int64_t)> body) {
  if (shape.empty())
    return body(0);
  for (int64_t i = 0; i < shape[0]; ++i)
    forEachOffset(shape.drop_front(), strides.drop_front(),
                  [&](int64_t rest) { body(i * strides[0] + rest); });
}

static Number readElement(mlir::Type type, const char *address) {
  uint64_t bits = 0;
  std::memcpy(&bits, address, dispatch::elementBytes(type));
  unsigned width = type.getIntOrFloatBitWidth();
  if (auto floatType = llvm::dyn_cast<mlir::FloatType>(type)) {
    llvm::APFloat value(floatType.getFloatSemantics(), llvm::APInt(width, bits));
    bool lost;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return value.convertToDouble();
  }
  if (width < 8)
    width = 8; // a boolean's byte must be 0 or 1, not just nonzero
  if (type.isUnsignedInteger() || type.isInteger(1))
    return static_cast<Number>(bits);
  return static_cast<Number>(llvm::APInt(width, bits).getSExtValue());
}

static void writeElement(mlir::Type type, Number number, char *address) {
  uint64_t bits;
  if (auto floatType = llvm::dyn_cast<mlir::FloatType>(type)) {
    llvm::APFloat value(static_cast<double>(number));
    bool lost;
    value.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
    bits = value.bitcastToAPInt().getZExtValue();
  } else {
    bits = static_cast<uint64_t>(static_cast<__int128>(number));
  }
  std::memcpy(address, &bits, dispatch::elementBytes(type));
}

//===----------------------------------------------------------------------===//
// LoadedKernel
//===----------------------------------------------------------------------===//

static mlir::OwningOpRef<mlir::ModuleOp> parseKernel(StringRef text) {
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&sharedContext(), [&](mlir::Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &sharedContext());
  if (!module)
    ADD_FAILURE() << messages << text.str();
  return module;
}

static std::string textOf(dispatch::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream(text) << kernel;
  return text;
}

std::unique_ptr<LoadedKernel> LoadedKernel::make(StringRef text, StringRef levelName,
                                                 const CodegenOptions &options) {
  auto module = parseKernel(text);
  return module ? make(std::move(module), levelName, options) : nullptr;
}

/// Code of this machine's CPU.
static mlir::FailureOr<CompiledKernels>
compileForHost(dispatch::KernelOp kernel, StringRef levelName, const CodegenOptions &options) {
  std::unique_ptr<Target> target = cpu::createCpuTarget();
  std::string error;
  if (target->selectLevels(levelName, error))
    return target->compile(kernel, target->getLevels().front(), options);
  ADD_FAILURE() << error;
  return mlir::failure();
}

std::unique_ptr<LoadedKernel> LoadedKernel::make(mlir::OwningOpRef<mlir::ModuleOp> module,
                                                 StringRef levelName,
                                                 const CodegenOptions &options) {
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&sharedContext(), [&](mlir::Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  std::unique_ptr<LoadedKernel> result(new LoadedKernel());
  result->module = std::move(module);
  result->kernel = *result->module->getOps<dispatch::KernelOp>().begin();

  KernelDevice *device = isOfDevice(levelName) ? deviceOf(levelName) : nullptr;
  mlir::FailureOr<CompiledKernels> compiled =
      device ? device->compile(result->kernel) : compileForHost(result->kernel, levelName, options);
  if (mlir::failed(compiled)) {
    ADD_FAILURE() << messages << textOf(result->kernel);
    return nullptr;
  }
  result->shape = compiled->shapes.front();
  if (device ? !result->loadBinary(compiled->binaries.front(), *device, options)
             : !result->loadObject(*compiled, levelName))
    return nullptr;
  return result;
}

bool LoadedKernel::loadObject(const CompiledKernels &compiled, StringRef levelName) {
  codeSize = compiled.object.size();
  scratch.resize(shape.scratchSize + 128);
  auto made = llvm::orc::LLJITBuilder().create();
  if (!made) {
    ADD_FAILURE() << llvm::toString(made.takeError());
    return false;
  }
  jit = std::move(*made);
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix());
  jit->getMainJITDylib().addGenerator(llvm::cantFail(std::move(process)));
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
      StringRef(compiled.object.data(), compiled.object.size()), "kernel");
  llvm::cantFail(jit->addObjectFile(std::move(buffer)));
  auto address = jit->lookup(cpu::symbolName(kernel, levelName));
  if (!address) {
    ADD_FAILURE() << llvm::toString(address.takeError());
    return false;
  }
  code = address->toPtr<void *>();
  if (shape.grid.asConstant())
    return true;
  auto grid = jit->lookup(cpu::gridSymbolName(kernel, levelName));
  if (!grid) {
    ADD_FAILURE() << llvm::toString(grid.takeError());
    return false;
  }
  gridFunction = grid->toPtr<int64_t(const int64_t *)>();
  return true;
}

bool LoadedKernel::loadBinary(const KernelBinary &binary, KernelDevice &device,
                              const CodegenOptions &options) {
  codeSize = binary.code.size();
  // The one gap: such kernels run on the host.
  if (StringRef(binary.missing).ends_with(gpucode::kNoDoubles) ||
      StringRef(binary.missing).starts_with("values of f64 cannot"))
    return false;
  if (!binary.missing.empty()) {
    ADD_FAILURE() << "no code: " << binary.missing << "\n" << textOf(kernel);
    return false;
  }
  size_t numArguments = kernel.getArgumentTypes().size() + kernel.getResultTypes().size();
  deviceKernel = device.load(binary, shape, kernel.getSymName(), numArguments, options);
  if (!deviceKernel)
    ADD_FAILURE() << textOf(kernel);
  return deviceKernel != nullptr;
}

LoadedKernel::~LoadedKernel() = default;

int64_t LoadedKernel::grid(ArrayRef<int64_t> sizes) const {
  if (deviceKernel) {
    llvm::StringMap<int64_t> values;
    for (auto [name, size] : llvm::zip_equal(dispatch::KernelOp(kernel).getSizeNames(), sizes))
      values[name] = size;
    return *shape.grid.evaluate(values);
  }
  return gridFunction ? gridFunction(sizes.data()) : *shape.grid.asConstant();
}

static char *alignedBegin(std::vector<char> &scratch) {
  return reinterpret_cast<char *>(
      llvm::alignTo(reinterpret_cast<uintptr_t>(scratch.data()), LUMEN_ALIGNMENT));
}

int LoadedKernel::run(ArrayRef<void *> buffers, int64_t begin, int64_t end,
                      ArrayRef<int64_t> sizes) const {
  if (deviceKernel)
    return runOnDevice(buffers, sizes);
  return reinterpret_cast<lumen_abi_cpu_kernel>(code)(buffers.data(), sizes.data(), begin, end, 0,
                                                      alignedBegin(scratch));
}

int LoadedKernel::runOnDevice(ArrayRef<void *> buffers, ArrayRef<int64_t> sizes) const {
  auto constant = makeStatic(kernel, sizes);
  dispatch::KernelOp known = *constant->getOps<dispatch::KernelOp>().begin();
  std::vector<DeviceBuffer> bound;
  auto bind = [&](mlir::Type argument, const Sizes &strides, bool isResult) {
    auto type = llvm::cast<mlir::RankedTensorType>(argument);
    size_t element = dispatch::elementBytes(type.getElementType());
    auto *data = static_cast<char *>(buffers[bound.size()]);
    size_t size = data ? span(type.getShape(), *lumen::asConstants(strides)) * element : 0;
    bound.push_back({data, size, element, isResult});
  };
  for (auto [i, type] : llvm::enumerate(known.getArgumentTypes()))
    bind(type, known.getArgumentStrides(i), /*isResult=*/false);
  for (auto [i, type] : llvm::enumerate(known.getResultTypes()))
    bind(type, known.getResultStrides(i), /*isResult=*/true);
  std::vector<int32_t> record = deviceKernel->run(grid(sizes), bound, sizes, random);
  if (record.empty())
    return LUMEN_ABI_OK;
  std::memcpy(fault, &record[2], sizeof(fault));
  return record[0];
}

ArrayRef<int64_t> LoadedKernel::getFault() const {
  if (deviceKernel)
    return fault;
  return {reinterpret_cast<int64_t *>(alignedBegin(scratch)), 2};
}

//===----------------------------------------------------------------------===//
// KernelTest
//===----------------------------------------------------------------------===//

std::vector<std::string> test::allLevels() {
  std::vector<std::string> names;
  for (StringRef target : targetNames()) {
    // A level for the CPU of the one below differs from it in products of small integers
    // alone, which the conformance tests have; levels of a device do not differ.
    const cpu::IsaLevel *previous = nullptr;
    auto device = createTarget(target);
    ArrayRef<StringRef> levels = device->getLevelNames();
    for (StringRef name : llvm::reverse(levels)) {
      const cpu::IsaLevel *level = cpu::capabilitiesOf(name);
      if (name == levels.back() || (level && level->llvmCpu != previous->llvmCpu))
        names.push_back(name.str());
      previous = level;
    }
  }
  names.push_back(kOpenCl.str());
  names.push_back(kPtxText.str());
  return names;
}

std::string test::levelTestName(const ::testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

void KernelTest::SetUp() {
  if (!canRun(GetParam()))
    GTEST_SKIP() << "this machine cannot run " << GetParam();
}

static Number randomNumber(mlir::Type type, std::mt19937 &random) {
  if (llvm::isa<mlir::FloatType>(type))
    return std::uniform_real_distribution<double>(-4, 4)(random);
  if (type.isInteger(1))
    return random() % 2;
  return static_cast<Number>(random() % 200) - (type.isUnsignedInteger() ? 0 : 100);
}

/// Text is compiled as it is: that takes less time, and keeps the threads of a workgroup
/// apart, so that a missing barrier shows.
static CodegenOptions codegenOptions(StringRef level) {
  CodegenOptions options;
  options.optLevel = level == kOpenCl ? 0 : options.optLevel;
  return options;
}

void KernelTest::check(StringRef text, const CheckOptions &options) {
  auto module = parseKernel(text);
  if (!module)
    return;
  dispatch::KernelOp kernel = *module->getOps<dispatch::KernelOp>().begin();
  std::mt19937 random(llvm::xxh3_64bits(text) + options.seed);
  SizedKernel dynamic;
  // Products are made for constant sizes only.
  if (options.alsoDynamic && !llvm::isa_and_nonnull<ContractOp, ConvOp>(kernel.getRoot()))
    dynamic = makeDynamic(kernel, random);
  SmallVector<int64_t> sizes = dynamic.sizes;
  bool asConstant = true, asDynamic = !sizes.empty();
  // One of both forms, in the quick tier.
  const char *tier = std::getenv("LUMEN_TEST_TIER");
  if (asDynamic && isSlow(GetParam()) && StringRef(tier ? tier : "") != "full")
    (random() % 2 ? asConstant : asDynamic) = false;
  if (asConstant)
    if (auto loaded = LoadedKernel::make(text, GetParam(), codegenOptions(GetParam())))
      compare(*loaded, kernel, {}, options);
  if (asDynamic)
    if (auto loaded =
            LoadedKernel::make(std::move(dynamic.module), GetParam(), codegenOptions(GetParam())))
      compare(*loaded, kernel, sizes, options);
}

void KernelTest::check(StringRef text, ArrayRef<std::vector<int64_t>> sizes,
                       const CheckOptions &options) {
  auto loaded = LoadedKernel::make(text, GetParam(), codegenOptions(GetParam()));
  if (!loaded)
    return;
  for (const std::vector<int64_t> &each : sizes) {
    auto constant = makeStatic(loaded->getKernel(), each);
    compare(*loaded, *constant->getOps<dispatch::KernelOp>().begin(), each, options);
  }
}

void KernelTest::compare(const LoadedKernel &loaded, dispatch::KernelOp kernel,
                         ArrayRef<int64_t> sizes, const CheckOptions &options) {
  std::mt19937 random(options.seed);

  struct Argument {
    Tensor tensor;
    SmallVector<int64_t> strides;
  };
  std::vector<GuardedBuffer> buffers;
  std::vector<Tensor> inputs;
  SmallVector<void *> pointers;
  bool aligned = options.seed % 2 == 0;
  auto allocate = [&](mlir::RankedTensorType type, ArrayRef<int64_t> strides) {
    buffers.emplace_back(
        span(type.getShape(), strides) * dispatch::elementBytes(type.getElementType()), aligned);
    pointers.push_back(buffers.back().data());
  };
  for (auto [i, argument] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto type = llvm::cast<mlir::RankedTensorType>(argument);
    mlir::Type element = type.getElementType();
    SmallVector<int64_t> strides = *lumen::asConstants(kernel.getArgumentStrides(i));
    allocate(type, strides);
    Tensor tensor{type, {}};
    forEachOffset(type.getShape(), strides, [&, i = i](int64_t offset) {
      Number value =
          options.fill ? options.fill(i, element, random) : randomNumber(element, random);
      char *address = buffers.back().data() + offset * dispatch::elementBytes(element);
      writeElement(element, value, address);
      tensor.values.push_back(readElement(element, address));
    });
    inputs.push_back(std::move(tensor));
  }
  std::vector<Tensor> expected = evaluate(kernel, inputs);
  size_t firstResult = buffers.size();
  for (auto [i, result] : llvm::enumerate(kernel.getResultTypes()))
    allocate(llvm::cast<mlir::RankedTensorType>(result),
             *lumen::asConstants(kernel.getResultStrides(i)));

  // Any split of the grid, in any order, gives the same results.
  int64_t grid = loaded.grid(sizes);
  std::vector<int64_t> cuts{0, grid};
  for (int i = 0; i < 3 && grid > 1; ++i)
    cuts.push_back(random() % grid);
  std::sort(cuts.begin(), cuts.end());
  std::vector<size_t> order(cuts.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  if (loaded.isOnDevice())
    cuts = {0, grid}, order = {0};
  for (size_t piece : order)
    loaded.run(pointers, cuts[piece], cuts[piece + 1], sizes);

  for (auto [i, tensor] : llvm::enumerate(expected)) {
    mlir::Type element = tensor.type.getElementType();
    SmallVector<int64_t> strides = *lumen::asConstants(kernel.getResultStrides(i));
    const char *data = buffers[firstResult + i].data();
    int64_t bytes = dispatch::elementBytes(element), position = 0, wrong = 0;
    std::vector<bool> written(span(tensor.type.getShape(), strides));
    const std::vector<Number> &values = tensor.values;
    forEachOffset(tensor.type.getShape(), strides, [&, i = i](int64_t offset) {
      written[offset] = true;
      Number want = roundTo(element, values[position++]);
      Number got = readElement(element, data + offset * bytes);
      bool same = std::isnan(want) ? std::isnan(got) : want == got;
      if (!same && llvm::isa<mlir::FloatType>(element))
        same = std::fabs(want - got) <= options.absolute + options.relative * std::fabs(want);
      if (!same && ++wrong <= 3)
        ADD_FAILURE() << "result " << i << ", element " << position - 1 << ": got "
                      << static_cast<double>(got) << ", expected " << static_cast<double>(want);
    });
    for (size_t offset = 0; offset < written.size() * bytes; ++offset)
      if (!written[offset / bytes] && static_cast<unsigned char>(data[offset]) != kPattern &&
          ++wrong <= 3)
        ADD_FAILURE() << "result " << i << ": wrote byte " << offset << ", which is in a gap";
    if (wrong)
      ADD_FAILURE() << wrong << " wrong elements at level " << GetParam() << ", seed "
                    << options.seed << ", sizes " << testing::PrintToString(sizes.vec()) << ", in\n"
                    << textOf(loaded.getKernel());
  }
}
