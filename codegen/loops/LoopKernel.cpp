//===- LoopKernel.cpp - a kernel as loops over its work units -------------===//

#include "codegen/loops/LoopKernel.h"

#include "runtime-lite/include/lumen_abi.h"

#include <set>

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

KernelBuilder loops::builderFor(Operation *root) {
  if (!root)
    return buildElementwise;
  switch (cast<LumenOpInterface>(root).getFamily()) {
  case Family::Constant:
  case Family::Elementwise:
  case Family::Movement:
    return buildElementwise;
  case Family::Window:
    return buildWindow;
  case Family::Reduction:
    return buildReduction;
  case Family::Normalization:
    return buildNormalization;
  case Family::Attention:
    return buildAttentionRows;
  case Family::Loops:
    return buildLoops;
  default:
    return nullptr;
  }
}

Value LoopKernel::yielded(unsigned i) const {
  dispatch::KernelOp kernel = op; // op accessors are not const
  return kernel.getBody().front().getTerminator()->getOperand(i);
}

Value LoopKernel::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value LoopKernel::scratchView(int64_t byteOffset, Type type, int64_t elements) {
  auto viewType = MemRefType::get({ShapedType::kDynamic}, type);
  return memref::ViewOp::create(builder, loc, viewType, scratch, index(byteOffset),
                                ValueRange{index(elements)});
}

void LoopKernel::bind(llvm::function_ref<Value(RankedTensorType, const Sizes &strides)> memref) {
  auto makeAccess = [&](Type type, Sizes strides) {
    auto tensor = cast<RankedTensorType>(type);
    Value memory = memref(tensor, strides);
    return Access{memory, std::move(strides), tensor};
  };
  for (auto [i, type] : llvm::enumerate(op.getArgumentTypes())) {
    arguments.push_back(makeAccess(type, op.getArgumentStrides(i)));
    expression.bindMemory(op.getBody().getArgument(i), arguments.back());
  }
  for (auto [i, type] : llvm::enumerate(op.getResultTypes()))
    results.push_back(makeAccess(type, op.getResultStrides(i)));
}

FaultRecord::FaultRecord(LoopKernel &kernel) : kernel(kernel) {
  kernel.expression.onBadIndex([this](OpBuilder &at, Location where, Value index, Value size) {
    record(at, where, LUMEN_ABI_FAULT_INDEX, index, size);
  });
}

/// The low and the high word of a number of index type or i64.
static std::array<Value, 2> wordsOf(OpBuilder &builder, Location loc, Value number,
                                    int64_t indexBits) {
  Type word = builder.getI32Type(), wide = builder.getI64Type();
  if (number.getType().isIndex() && indexBits == 32) {
    Value low = arith::IndexCastOp::create(builder, loc, word, number);
    Value sign = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(31));
    return {low, arith::ShRSIOp::create(builder, loc, low, sign)};
  }
  if (number.getType().isIndex())
    number = arith::IndexCastOp::create(builder, loc, wide, number);
  Value shift = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
  Value high = arith::ShRUIOp::create(builder, loc, number, shift);
  return {arith::TruncIOp::create(builder, loc, word, number),
          arith::TruncIOp::create(builder, loc, word, high)};
}

void FaultRecord::record(OpBuilder &at, Location loc, int32_t code, Value first, Value second) {
  auto index = [&](OpBuilder &b, int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto number = [&](OpBuilder &b, int32_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };
  if (!memory) {
    OpBuilder b(at.getContext());
    b.setInsertionPointAfterValue(kernel.scratch);
    offset = arith::ConstantOp::create(b, loc, b.getIndexAttr(0));
    auto type = MemRefType::get({ShapedType::kDynamic}, b.getI32Type());
    memory = memref::ViewOp::create(b, loc, type, kernel.scratch, offset,
                                    ValueRange{index(b, 1 + kWords)});
    memref::StoreOp::create(b, loc, number(b, LUMEN_ABI_OK), memory, index(b, 0));
  }
  Value recorded = memref::LoadOp::create(at, loc, memory, index(at, 0));
  Value isFirst =
      arith::CmpIOp::create(at, loc, arith::CmpIPredicate::eq, recorded, number(at, LUMEN_ABI_OK));
  auto ifOp = scf::IfOp::create(at, loc, isFirst, /*withElseRegion=*/false);
  OpBuilder inside = ifOp.getThenBodyBuilder();
  memref::StoreOp::create(inside, loc, number(inside, code), memory, index(inside, 0));
  int64_t place = 1;
  for (Value about : {first, second})
    for (Value word : wordsOf(inside, loc, about, kernel.caps.indexBits))
      memref::StoreOp::create(inside, loc, word, memory, index(inside, place++));
}

bool FaultRecord::finish(LaunchShape &shape) {
  if (!memory)
    return false;
  uint64_t begin = llvm::alignTo(shape.scratchSize, sizeof(int32_t));
  begin = std::max<uint64_t>(begin, kWords * sizeof(int32_t)); // behind what the caller reads
  offset.setValueAttr(kernel.builder.getIndexAttr(begin));
  shape.scratchSize = begin + (1 + kWords) * sizeof(int32_t);
  return true;
}

Value FaultRecord::load(int64_t at) {
  return memref::LoadOp::create(kernel.builder, kernel.loc, memory, kernel.index(at));
}

LogicalResult loops::checkStaticTypes(LoopKernel &kernel) {
  for (Type type :
       llvm::concat<const Type>(kernel.op.getArgumentTypes(), kernel.op.getResultTypes()))
    if (!cast<RankedTensorType>(type).hasStaticShape())
      return kernel.op.emitError("has the dynamic type ") << type << ", expected static shapes";
  return success();
}

bool loops::hasNoResults(dispatch::KernelOp kernel) {
  return llvm::all_of(kernel.getResultTypes(), [](Type type) {
    return llvm::is_contained(cast<RankedTensorType>(type).getShape(), 0);
  });
}

SymExpr loops::elementsSpanned(RankedTensorType type, const Sizes &strides) {
  SymExpr elements = 1;
  for (auto [size, stride] : llvm::zip_equal(sizesOf(type), strides))
    elements += (SymExpr::max(size, 1) - 1) * stride;
  return elements;
}

LogicalResult loops::checkSymbols(dispatch::KernelOp kernel) {
  std::set<std::string> used;
  bool isValid = true;
  auto visitSizes = [&](ArrayRef<SymExpr> sizes) {
    for (const SymExpr &size : sizes) {
      isValid &= size.isValid();
      size.collectSymbols(used);
    }
  };
  auto visitType = [&](Type type) { visitSizes(sizesOf(cast<RankedTensorType>(type))); };
  llvm::for_each(kernel.getArgumentTypes(), visitType);
  llvm::for_each(kernel.getResultTypes(), visitType);
  for (unsigned i = 0; i < kernel.getArgumentTypes().size(); ++i)
    visitSizes(kernel.getArgumentStrides(i));
  for (unsigned i = 0; i < kernel.getResultTypes().size(); ++i)
    visitSizes(kernel.getResultStrides(i));
  for (Operation &op : kernel.getBody().front()) {
    llvm::for_each(op.getResultTypes(), visitType);
    for (NamedAttribute attr : op.getAttrs())
      if (auto dims = dyn_cast<DimsAttr>(attr.getValue()))
        visitSizes(toSizes(dims));
  }
  if (!isValid)
    return kernel.emitError("has a dynamic dimension without an expression");
  SmallVector<StringRef> names = kernel.getSizeNames();
  for (const std::string &name : used)
    if (!llvm::is_contained(names, name))
      return kernel.emitError("reads the symbol '") << name << "', which is none of its sizes";
  return success();
}
