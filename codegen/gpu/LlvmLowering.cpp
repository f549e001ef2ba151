//===- LlvmLowering.cpp - from a GPU kernel to the LLVM dialect -----------===//
//
// Kernels access memory in one form only, elements of flat memory by their number, so that
// memory is a pointer here: upstream's descriptors would pass five values for each.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/LlvmLowering.h"

#include "codegen/common/Math.h"
#include "codegen/gpu/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

/// What all that is bound is aligned to in memory, and workgroup memory too.
static constexpr int64_t kAlignment = 16;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static MemRefType inSpace(MemRefType type, gpu::AddressSpace space) {
  return MemRefType::get(type.getShape(), type.getElementType(), MemRefLayoutAttrInterface(),
                         gpu::AddressSpaceAttr::get(type.getContext(), space));
}

namespace {

/// Says of all memory in which space it is.
struct PlaceMemory : PassWrapper<PlaceMemory, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceMemory)
  StringRef getArgument() const override { return "lumen-gpu-place-memory"; }
  void runOnOperation() override {
    auto place = [](Value memory, gpu::AddressSpace space) {
      memory.setType(inSpace(cast<MemRefType>(memory.getType()), space));
    };
    getOperation().walk([&](Operation *op) {
      if (auto function = dyn_cast<gpu::GPUFuncOp>(op)) {
        // Attributions, which are arguments of the block as well, say it themselves.
        for (BlockArgument argument :
             function.getArguments().take_front(function.getNumArguments()))
          place(argument, gpu::AddressSpace::Global);
      } else if (isa<memref::AllocaOp>(op)) {
        place(op->getResult(0), gpu::AddressSpace::Private);
      } else if (isa<memref::GetGlobalOp>(op)) {
        place(op->getResult(0), gpu::AddressSpace::Global);
      } else if (auto cast = dyn_cast<memref::CastOp>(op)) {
        // Of a table, which was met before.
        cast.replaceAllUsesWith(cast.getSource());
      }
    });
  }
};

/// The address of the element that an access means.
template <typename Op> struct AccessLowering : ConvertOpToLLVMPattern<Op> {
  using ConvertOpToLLVMPattern<Op>::ConvertOpToLLVMPattern;
  Value address(Op op, Value memory, ValueRange indices,
                ConversionPatternRewriter &rewriter) const {
    if (indices.empty())
      return memory;
    auto type = cast<MemRefType>(op.getMemRefType());
    Type element = this->getTypeConverter()->convertType(type.getElementType());
    return LLVM::GEPOp::create(rewriter, op.getLoc(), memory.getType(), element, memory, indices,
                               LLVM::GEPNoWrapFlags::inbounds);
  }
};

struct LoadLowering : AccessLowering<memref::LoadOp> {
  using AccessLowering::AccessLowering;
  LogicalResult matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value at = address(op, adaptor.getMemref(), adaptor.getIndices(), rewriter);
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, typeConverter->convertType(op.getType()), at);
    return success();
  }
};

struct StoreLowering : AccessLowering<memref::StoreOp> {
  using AccessLowering::AccessLowering;
  LogicalResult matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value at = address(op, adaptor.getMemref(), adaptor.getIndices(), rewriter);
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, adaptor.getValue(), at);
    return success();
  }
};

struct AtomicLowering : AccessLowering<memref::AtomicRMWOp> {
  using AccessLowering::AccessLowering;
  LogicalResult matchAndRewrite(memref::AtomicRMWOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getKind() != arith::AtomicRMWKind::addi)
      return failure();
    Value at = address(op, adaptor.getMemref(), adaptor.getIndices(), rewriter);
    // Nothing else is said by who comes first.
    rewriter.replaceOpWithNewOp<LLVM::AtomicRMWOp>(
        op, LLVM::AtomicBinOp::add, at, adaptor.getValue(), LLVM::AtomicOrdering::monotonic);
    return success();
  }
};

struct AllocaLowering : ConvertOpToLLVMPattern<memref::AllocaOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(memref::AllocaOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getType();
    if (!type.hasStaticShape())
      return failure();
    Location loc = op.getLoc();
    // Once for the function, not in each trip of a loop.
    Operation *entry =
        &op->getParentOfType<FunctionOpInterface>().getFunctionBody().front().front();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(entry);
    Value count =
        LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(type.getNumElements()));
    rewriter.replaceOpWithNewOp<LLVM::AllocaOp>(op, typeConverter->convertType(type),
                                                typeConverter->convertType(type.getElementType()),
                                                count);
    return success();
  }
};

struct TableLowering : ConvertOpToLLVMPattern<memref::GetGlobalOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(memref::GetGlobalOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(op, typeConverter->convertType(op.getType()),
                                                   op.getName());
    return success();
  }
};

struct TableDataLowering : ConvertOpToLLVMPattern<memref::GlobalOp> {
  TableDataLowering(const LLVMTypeConverter &converter, unsigned space)
      : ConvertOpToLLVMPattern(converter), space(space) {}
  LogicalResult matchAndRewrite(memref::GlobalOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto values = dyn_cast_or_null<DenseElementsAttr>(op.getInitialValue().value_or(nullptr));
    if (!values || op.getType().getRank() != 1)
      return failure();
    Type type = LLVM::LLVMArrayType::get(typeConverter->convertType(values.getElementType()),
                                         values.getNumElements());
    rewriter.replaceOpWithNewOp<LLVM::GlobalOp>(op, type, /*isConstant=*/true,
                                                LLVM::Linkage::Internal, op.getSymName(), values,
                                                kAlignment, space);
    return success();
  }
  unsigned space;
};

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

struct KernelLowering : ConvertOpToLLVMPattern<gpu::GPUFuncOp> {
  KernelLowering(const LLVMTypeConverter &converter, const LlvmDevice &device)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/3), device(device) {}
  LogicalResult matchAndRewrite(gpu::GPUFuncOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override;
  const LlvmDevice &device;
};

struct ReturnLowering : ConvertOpToLLVMPattern<gpu::ReturnOp> {
  ReturnLowering(const LLVMTypeConverter &converter)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/3) {}
  LogicalResult matchAndRewrite(gpu::ReturnOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

} // namespace

/// True if nothing is stored through any of these.
static bool isRead(ArrayRef<BlockArgument> arguments) {
  return llvm::all_of(arguments, [](BlockArgument argument) {
    return llvm::all_of(argument.getUsers(),
                        [](Operation *user) { return isa<memref::LoadOp>(user); });
  });
}

LogicalResult KernelLowering::matchAndRewrite(gpu::GPUFuncOp op, OpAdaptor,
                                              ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  MLIRContext *context = getContext();
  // Arguments may share a binding, as views of scratch memory with several types do.
  std::map<int64_t, SmallVector<BlockArgument>> bindings;
  for (unsigned i = 0; i < op.getNumArguments(); ++i)
    bindings[op.getArgAttrOfType<IntegerAttr>(i, kBinding).getInt()].push_back(op.getArgument(i));
  Type pointer = LLVM::LLVMPointerType::get(context, device.globalSpace);
  SmallVector<Type> types(bindings.size(), pointer);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto function = LLVM::LLVMFuncOp::create(rewriter, loc, op.getName(), type);

  for (auto [i, sharing] : llvm::enumerate(llvm::make_second_range(bindings))) {
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        rewriter.getI64IntegerAttr(kAlignment));
    auto isAliased = [&](BlockArgument each) {
      return op.getArgAttr(each.getArgNumber(), kAliased) != nullptr;
    };
    if (llvm::none_of(sharing, isAliased))
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), rewriter.getUnitAttr());
    if (isRead(sharing))
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), rewriter.getUnitAttr());
  }
  device.markKernel(function, (*op.getKnownBlockSize())[0], op.getNumWorkgroupAttributions() != 0);

  TypeConverter::SignatureConversion signature(op.getBody().getNumArguments());
  Block *entry = new Block();
  function.getBody().push_back(entry);
  OpBuilder::InsertionGuard guard(rewriter);
  for (auto &[binding, sharing] : bindings) {
    Value argument = entry->addArgument(pointer, loc);
    for (BlockArgument each : sharing)
      signature.remapInput(each.getArgNumber(), argument);
  }
  rewriter.setInsertionPoint(function);
  SmallVector<LLVM::GlobalOp> attributions;
  for (BlockArgument shared : op.getWorkgroupAttributions()) {
    auto memory = cast<MemRefType>(shared.getType());
    Type array = LLVM::LLVMArrayType::get(typeConverter->convertType(memory.getElementType()),
                                          memory.getNumElements());
    attributions.push_back(
        LLVM::GlobalOp::create(rewriter, loc, array, /*isConstant=*/false, LLVM::Linkage::Internal,
                               (op.getName() + "_shared" + Twine(attributions.size())).str(),
                               Attribute(), kAlignment, device.sharedSpace));
  }
  rewriter.setInsertionPointToStart(entry);
  for (auto [shared, global] : llvm::zip_equal(op.getWorkgroupAttributions(), attributions))
    signature.remapInput(shared.getArgNumber(),
                         LLVM::AddressOfOp::create(rewriter, loc, global).getResult());

  Block *body = &op.getBody().front();
  rewriter.inlineRegionBefore(op.getBody(), function.getBody(), function.getBody().end());
  body = rewriter.applySignatureConversion(body, signature);
  rewriter.setInsertionPointToEnd(entry);
  LLVM::BrOp::create(rewriter, loc, ValueRange(), body);
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {

/// Computes what neither the device nor the shared expansions do.
struct ExpandFunctions : PassWrapper<ExpandFunctions, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandFunctions)
  StringRef getArgument() const override { return "lumen-gpu-expand-functions"; }
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet made(context);
    populateWideFunctions(made);
    patterns = std::make_shared<FrozenRewritePatternSet>(std::move(made));
    return success();
  }
  void runOnOperation() override {
    if (failed(applyPatternsGreedily(getOperation(), *patterns)))
      signalPassFailure();
  }
  std::shared_ptr<const FrozenRewritePatternSet> patterns; ///< shared by copies of the pass
};

/// Everything that is left to the LLVM dialect.
class Conversion {
public:
  Conversion(MLIRContext *context, const LlvmDevice &device);
  LogicalResult run(gpu::GPUModuleOp module) const;

private:
  static LowerToLLVMOptions optionsOf(MLIRContext *context) {
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(32); // see lumen_abi_gpu_launch
    return options;
  }
  LLVMTypeConverter converter;
  ConversionTarget structuredTarget;
  LLVMConversionTarget target;
  FrozenRewritePatternSet structured, patterns;
};

struct ConvertToLlvm : PassWrapper<ConvertToLlvm, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertToLlvm)
  explicit ConvertToLlvm(const LlvmDevice &device) : device(device) {}
  StringRef getArgument() const override { return "lumen-gpu-to-llvm"; }
  LogicalResult initialize(MLIRContext *context) override {
    conversion = std::make_shared<Conversion>(context, device);
    return success();
  }
  void runOnOperation() override {
    if (failed(conversion->run(getOperation())))
      signalPassFailure();
  }
  const LlvmDevice &device;
  std::shared_ptr<const Conversion> conversion; ///< shared by copies of the pass
};

} // namespace

Conversion::Conversion(MLIRContext *context, const LlvmDevice &device)
    : converter(context, optionsOf(context)), structuredTarget(*context), target(*context) {
  RewritePatternSet loops(context);
  populateSCFToControlFlowConversionPatterns(loops);
  structured = FrozenRewritePatternSet(std::move(loops));
  structuredTarget.addIllegalDialect<scf::SCFDialect>();
  structuredTarget.markUnknownOpDynamicallyLegal([](Operation *) { return true; });

  populateGpuMemorySpaceAttributeConversions(converter, [&device](gpu::AddressSpace space) {
    switch (space) {
    case gpu::AddressSpace::Global:
      return device.globalSpace;
    case gpu::AddressSpace::Workgroup:
      return device.sharedSpace;
    case gpu::AddressSpace::Private:
      return device.privateSpace;
    }
    llvm_unreachable("no other space");
  });
  converter.addConversion([this, context](MemRefType type) -> Type {
    return LLVM::LLVMPointerType::get(context, *converter.getMemRefAddressSpace(type));
  });
  RewritePatternSet made(context);
  arith::populateArithToLLVMConversionPatterns(converter, made);
  cf::populateControlFlowToLLVMConversionPatterns(converter, made);
  // Before those of devices, which would call a vendor's library.
  populateMathToLLVMConversionPatterns(converter, made, /*approximateLog1p=*/false,
                                       /*benefit=*/2);
  populateVectorToLLVMConversionPatterns(converter, made);
  made.add<LoadLowering, StoreLowering, AtomicLowering, AllocaLowering, TableLowering,
           ReturnLowering>(converter);
  made.add<TableDataLowering>(converter, device.globalSpace);
  made.add<KernelLowering>(converter, device);
  device.populate(converter, made, target);
  patterns = FrozenRewritePatternSet(std::move(made));
  target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect,
                           math::MathDialect, memref::MemRefDialect, vector::VectorDialect>();
  target.addLegalOp<gpu::GPUModuleOp>();
}

/// Whether devices have no instruction for it that is as exact as IEEE 754 asks.
static bool lacksInstruction(Operation *op) {
  if (isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::CountLeadingZerosOp,
          math::CtPopOp, math::FloorOp, math::FmaOp, math::RoundEvenOp, math::SqrtOp>(op))
    return false;
  return isa<arith::RemFOp>(op) || isa_and_present<math::MathDialect>(op->getDialect());
}

LogicalResult Conversion::run(gpu::GPUModuleOp module) const {
  WalkResult walked = module.walk([](Operation *op) {
    if (!lacksInstruction(op))
      return WalkResult::advance();
    emitNoInstruction(op);
    return WalkResult::interrupt();
  });
  if (walked.wasInterrupted() ||
      failed(applyPartialConversion(module, structuredTarget, structured)))
    return failure();
  return applyPartialConversion(module, target, patterns);
}

LlvmLowering::LlvmLowering(MLIRContext *context, const LlvmDevice &device) : manager(context) {
  manager.enableVerifier(false); // twice as slow; tests verify what builders make
  buildSimplification(manager);
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  kernels.addPass(std::make_unique<ExpandFunctions>());
  kernels.addPass(createCSEPass());
  kernels.addPass(std::make_unique<PlaceMemory>());
  kernels.addPass(std::make_unique<ConvertToLlvm>(device));
  manager.addPass(createReconcileUnrealizedCastsPass());
}

LogicalResult LlvmLowering::lower(ModuleOp module) {
  if (failed(manager.run(module)))
    return failure();
  // What is left is no matter of the gpu dialect.
  for (auto kernel : llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
    module.getBody()->getOperations().splice(Block::iterator(kernel),
                                             kernel.getBody()->getOperations());
    kernel.erase();
  }
  return success();
}
