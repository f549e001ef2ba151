//===- Lowering.cpp - from a GPU kernel to SPIR-V -------------------------===//
//
// Upstream's conversions do the work. What is done around them is what they leave to their
// caller: storage classes and bindings of the arguments, loops that may run zero times, and
// all capabilities declared, since a type without one silently becomes another.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/GpuKernel.h"
#include "codegen/gpu/Passes.h"
#include "codegen/spirv/SpirvTarget.h"

#include "runtime-lite/include/lumen_abi.h"

#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRVPass.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRVPass.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/SPIRV/Transforms/Passes.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::spirvcode;

/// What a kernel may use. Which of it a module needs, and a device must have, is found in
/// the end.
static spirv::TargetEnvAttr makeEnvironment(MLIRContext *context) {
  using C = spirv::Capability;
  auto triple = spirv::VerCapExtAttr::get(
      spirv::Version::V_1_3,
      {C::Shader, C::Int8, C::Int16, C::Int64, C::Float16, C::Float64, C::StorageBuffer8BitAccess,
       C::StorageBuffer16BitAccess, C::GroupNonUniform, C::GroupNonUniformArithmetic,
       C::GroupNonUniformShuffle},
      {spirv::Extension::SPV_KHR_8bit_storage, spirv::Extension::SPV_KHR_16bit_storage,
       spirv::Extension::SPV_KHR_storage_buffer_storage_class},
      context);
  return spirv::TargetEnvAttr::get(
      triple, spirv::getDefaultResourceLimits(context), spirv::ClientAPI::Vulkan,
      spirv::Vendor::Unknown, spirv::DeviceType::Unknown, spirv::TargetEnvAttr::kUnknownDeviceID);
}

namespace {

/// Gives memory its storage class, arguments their bindings and the kernel its entry point.
struct BindArguments : PassWrapper<BindArguments, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BindArguments)
  StringRef getArgument() const override { return "lumen-spirv-bind"; }
  void runOnOperation() override {
    for (auto function : getOperation().getOps<gpu::GPUFuncOp>())
      bind(function);
    for (auto global : llvm::make_early_inc_range(getOperation().getOps<memref::GlobalOp>()))
      global.erase();
  }
  void bind(gpu::GPUFuncOp function);
};

/// The extended instructions compute most functions for 16 and 32 bits only.
struct CheckDoubles : PassWrapper<CheckDoubles, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckDoubles)
  StringRef getArgument() const override { return "lumen-spirv-check-doubles"; }
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (!isa_and_present<math::MathDialect>(op->getDialect()) ||
          !op->getResult(0).getType().isF64() ||
          isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp,
              math::RoundEvenOp, math::SqrtOp>(op))
        return;
      gpucode::emitNoInstruction(op);
      signalPassFailure();
    });
  }
};

} // namespace

static MemRefType inClass(MemRefType type, spirv::StorageClass storage) {
  return MemRefType::get(type.getShape(), type.getElementType(), MemRefLayoutAttrInterface(),
                         spirv::StorageClassAttr::get(type.getContext(), storage));
}

/// A table in read-only memory becomes a variable that the kernel fills.
static void placeTable(memref::GetGlobalOp table) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(table, table.getNameAttr());
  auto values = cast<DenseElementsAttr>(*global.getInitialValue());
  Location loc = table.getLoc();
  auto function = table->getParentOfType<gpu::GPUFuncOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  Value memory = memref::AllocaOp::create(builder, loc,
                                          inClass(table.getType(), spirv::StorageClass::Function));
  for (auto [i, value] : llvm::enumerate(values.getValues<Attribute>())) {
    Value element = arith::ConstantOp::create(builder, loc, cast<TypedAttr>(value));
    Value index = arith::ConstantIndexOp::create(builder, loc, i);
    memref::StoreOp::create(builder, loc, element, memory, index);
  }
  for (Operation *user : llvm::make_early_inc_range(table->getUsers()))
    if (auto cast = dyn_cast<memref::CastOp>(user)) {
      cast.replaceAllUsesWith(memory);
      cast.erase();
    }
  table.replaceAllUsesWith(memory);
  table.erase();
}

/// Upstream converts signed casts only.
static void expandUnsignedCast(arith::IndexCastUIOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type from = op.getIn().getType(), to = op.getType(), i32 = builder.getI32Type();
  Value value = op.getIn();
  if (to.isIndex()) {
    if (from.getIntOrFloatBitWidth() < 32)
      value = arith::ExtUIOp::create(builder, loc, i32, value);
    value = arith::IndexCastOp::create(builder, loc, to, value);
  } else {
    value = arith::IndexCastOp::create(builder, loc, i32, value);
    if (to.getIntOrFloatBitWidth() > 32)
      value = arith::ExtUIOp::create(builder, loc, to, value);
    else if (to != i32)
      value = arith::TruncIOp::create(builder, loc, to, value);
  }
  op.replaceAllUsesWith(value);
  op.erase();
}

/// Vulkan leaves the remainder of negative numbers undefined, and what upstream makes of it
/// some drivers compute wrongly.
static void expandRemainder(arith::RemSIOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value quotient = arith::DivSIOp::create(builder, loc, op.getLhs(), op.getRhs());
  Value whole = arith::MulIOp::create(builder, loc, quotient, op.getRhs());
  op.replaceAllUsesWith(arith::SubIOp::create(builder, loc, op.getLhs(), whole).getResult());
  op.erase();
}

void BindArguments::bind(gpu::GPUFuncOp function) {
  MLIRContext *context = &getContext();
  SmallVector<Type> types;
  // Attributions are arguments of the block as well.
  for (BlockArgument argument : function.getArguments().take_front(function.getNumArguments())) {
    argument.setType(
        inClass(cast<MemRefType>(argument.getType()), spirv::StorageClass::StorageBuffer));
    types.push_back(argument.getType());
    auto binding =
        function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), gpucode::kBinding);
    function.removeArgAttr(argument.getArgNumber(), gpucode::kBinding);
    function.removeArgAttr(argument.getArgNumber(), gpucode::kAliased);
    function.setArgAttr(argument.getArgNumber(), spirv::getInterfaceVarABIAttrName(),
                        spirv::getInterfaceVarABIAttr(0, binding.getInt(), std::nullopt, context));
  }
  function.setFunctionType(FunctionType::get(context, types, {}));
  function.walk([](Operation *op) {
    if (auto table = dyn_cast<memref::GetGlobalOp>(op))
      placeTable(table);
    else if (auto remainder = dyn_cast<arith::RemSIOp>(op))
      expandRemainder(remainder);
    else if (auto cast = dyn_cast<arith::IndexCastUIOp>(op))
      expandUnsignedCast(cast);
  });
  // Upstream converts allocations in workgroup memory, but not attributions.
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  for (BlockArgument shared : function.getWorkgroupAttributions())
    shared.replaceAllUsesWith(memref::AllocOp::create(
        builder, function.getLoc(),
        inClass(cast<MemRefType>(shared.getType()), spirv::StorageClass::Workgroup)));
  unsigned count = function.getNumWorkgroupAttributions();
  function.getBody().front().eraseArguments(function.getNumArguments(), count);
  function->removeAttr(gpu::GPUFuncOp::getNumWorkgroupAttributionsAttrName());
  function->setAttr(spirv::getEntryPointABIAttrName(),
                    spirv::getEntryPointABIAttr(context, *function.getKnownBlockSize()));
}

/// Sums that cancel a rounding error on purpose must stay as they are: drivers reassociate
/// what does not ask for that.
static void keepExact(spirv::ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<spirv::FAddOp, spirv::FSubOp, spirv::FMulOp, spirv::FDivOp, spirv::GLFmaOp>(op))
      op->setAttr("no_contraction", UnitAttr::get(op->getContext()));
  });
}

/// The bindings whose memory others may be too.
static llvm::SmallDenseSet<int64_t> findAliased(gpu::GPUModuleOp module) {
  llvm::SmallDenseSet<int64_t> aliased;
  for (auto function : module.getOps<gpu::GPUFuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, gpucode::kAliased))
        aliased.insert(function.getArgAttrOfType<IntegerAttr>(i, gpucode::kBinding).getInt());
  return aliased;
}

/// Says which variables may be the same memory: the memory model takes it that none are. Views
/// of scratch memory with several types share a binding.
static void markAliased(spirv::ModuleOp module, llvm::SmallDenseSet<int64_t> aliased) {
  llvm::SmallDenseSet<int64_t> seen;
  for (auto variable : module.getOps<spirv::GlobalVariableOp>())
    if (auto binding = variable.getBinding(); binding && !seen.insert(*binding).second)
      aliased.insert(*binding);
  for (auto variable : module.getOps<spirv::GlobalVariableOp>())
    if (auto binding = variable.getBinding(); binding && aliased.contains(*binding))
      variable->setAttr("aliased", UnitAttr::get(module.getContext()));
}

/// Adds up the LUMEN_ABI_GPU_* bits of the capabilities that a module declares. Emits a
/// diagnostic where there is none for one, as a device could not be asked for it.
static LogicalResult findFeatures(spirv::ModuleOp module, uint64_t &features) {
  using C = spirv::Capability;
  features = 0;
  for (C capability : module.getVceTriple()->getCapabilities())
    switch (capability) {
    case C::Matrix:
    case C::Shader:
      break; // what all of Vulkan has
    case C::Int8:
    case C::StorageBuffer8BitAccess:
      features |= LUMEN_ABI_GPU_INT8;
      break;
    case C::Int16:
    case C::StorageBuffer16BitAccess:
      features |= LUMEN_ABI_GPU_INT16;
      break;
    case C::Int64:
      features |= LUMEN_ABI_GPU_INT64;
      break;
    case C::Float16:
      features |= LUMEN_ABI_GPU_FLOAT16;
      break;
    case C::Float64:
      features |= LUMEN_ABI_GPU_FLOAT64;
      break;
    case C::GroupNonUniform:
    case C::GroupNonUniformArithmetic:
    case C::GroupNonUniformShuffle:
      features |= LUMEN_ABI_GPU_SUBGROUPS;
      break;
    default:
      return module.emitError("needs the capability ")
             << spirv::stringifyCapability(capability) << ", which no feature stands for";
    }
  return success();
}

void spirvcode::prepareContext(MLIRContext &context) {
  gpucode::prepareContext(context);
  context.loadDialect<spirv::SPIRVDialect>();
}

Lowering::Lowering(MLIRContext *context) : manager(context) {
  manager.enableVerifier(false);
  gpucode::buildSimplification(manager);
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  kernels.addPass(std::make_unique<CheckDoubles>());
  kernels.addPass(std::make_unique<BindArguments>());
  // The results of a loop that runs zero times are undefined otherwise.
  kernels.nest<gpu::GPUFuncOp>().addPass(createForToWhileLoopPass());
  kernels.addPass(createConvertMathToSPIRVPass());
  manager.addPass(createConvertGPUToSPIRVPass());
  OpPassManager &modules = manager.nest<spirv::ModuleOp>();
  modules.addPass(spirv::createSPIRVLowerABIAttributesPass());
  modules.addPass(spirv::createSPIRVUpdateVCEPass());
  modules.addPass(createCanonicalizerPass());
  modules.addPass(createCSEPass());
}

spirv::ModuleOp Lowering::lower(ModuleOp module) {
  auto gpuModule = *module.getOps<gpu::GPUModuleOp>().begin();
  llvm::SmallDenseSet<int64_t> aliased = findAliased(gpuModule);
  gpuModule->setAttr(spirv::getTargetEnvAttrName(), makeEnvironment(module.getContext()));
  module->setAttr(spirv::getTargetEnvAttrName(), makeEnvironment(module.getContext()));
  if (failed(manager.run(module)))
    return {};
  auto spirvModules = module.getOps<spirv::ModuleOp>();
  if (spirvModules.empty()) {
    module.emitError("made no SPIR-V module");
    return {};
  }
  spirv::ModuleOp result = *spirvModules.begin();
  keepExact(result);
  markAliased(result, std::move(aliased));
  return result;
}

LogicalResult Lowering::emit(ModuleOp module, SmallVectorImpl<uint32_t> &words,
                             uint64_t &features) {
  spirv::ModuleOp lowered = lower(module);
  if (!lowered)
    return failure();
  if (failed(findFeatures(lowered, features)))
    return failure();
  return spirv::serialize(lowered, words);
}

namespace {

/// Lowers each gpu.module, by itself as the target does.
struct LowerPass : PassWrapper<LowerPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerPass)
  StringRef getArgument() const override { return "lumen-spirv-lower"; }
  StringRef getDescription() const override {
    return "lower the GPU form of each kernel to SPIR-V for Vulkan";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, gpu::GPUDialect, math::MathDialect, memref::MemRefDialect,
                    scf::SCFDialect, spirv::SPIRVDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    Lowering lowering(&getContext());
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>())) {
      OwningOpRef<ModuleOp> alone = ModuleOp::create(kernel.getLoc());
      kernel->moveBefore(alone->getBody(), alone->getBody()->end());
      spirv::ModuleOp lowered = lowering.lower(*alone);
      if (!lowered)
        return signalPassFailure();
      lowered->moveBefore(getOperation().getBody(), getOperation().getBody()->end());
    }
  }
};

} // namespace

void spirvcode::registerSpirvPasses() { PassRegistration<LowerPass>(); }
