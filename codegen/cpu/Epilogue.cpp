//===- Epilogue.cpp - what becomes of a finished tile ---------------------===//

#include "codegen/cpu/Epilogue.h"
#include "codegen/loops/Nest.h"
#include "codegen/loops/Rows.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value Address::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), value);
}

Value Address::size(CpuKernel &kernel, const SymExpr &size) {
  std::optional<int64_t> value = size.asConstant();
  return value ? constant(*value) : fromIndex(kernel.value(builder, size));
}

Value Address::fromIndex(Value index) {
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
}

Value Address::toIndex(Value number) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
}

Value Address::add(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AddIOp>(loc, lhs, rhs);
}

Value Address::mul(Value lhs, Value rhs) {
  return builder.createOrFold<arith::MulIOp>(loc, lhs, rhs);
}

Value Address::offset(Value pointer, Type type, Value offset) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), type, pointer, ValueRange{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Address::offset(Value pointer, Type type, int64_t offset) {
  if (offset == 0)
    return pointer;
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), type, pointer,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Address::ofMemref(Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  return LLVM::IntToPtrOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                                  fromIndex(address));
}

//===----------------------------------------------------------------------===//
// Indices and loops
//===----------------------------------------------------------------------===//

Value cpu::addIndex(CpuKernel &kernel, Value lhs, Value rhs) {
  return kernel.builder.createOrFold<arith::AddIOp>(kernel.loc, lhs, rhs);
}

Value cpu::subIndex(CpuKernel &kernel, Value lhs, Value rhs) {
  return kernel.builder.createOrFold<arith::SubIOp>(kernel.loc, lhs, rhs);
}

Value cpu::minIndex(CpuKernel &kernel, Value lhs, Value rhs) {
  return kernel.builder.createOrFold<arith::MinSIOp>(kernel.loc, lhs, rhs);
}

Value cpu::maxIndex(CpuKernel &kernel, Value lhs, Value rhs) {
  return kernel.builder.createOrFold<arith::MaxSIOp>(kernel.loc, lhs, rhs);
}

Value cpu::mulIndex(CpuKernel &kernel, Value lhs, const SymExpr &rhs) {
  return kernel.builder.createOrFold<arith::MulIOp>(kernel.loc, lhs, kernel.value(rhs));
}

Value cpu::divIndex(CpuKernel &kernel, Value lhs, const SymExpr &rhs) {
  return kernel.builder.createOrFold<arith::DivUIOp>(kernel.loc, lhs, kernel.value(rhs));
}

Value cpu::remIndex(CpuKernel &kernel, Value lhs, const SymExpr &rhs) {
  return kernel.builder.createOrFold<arith::RemUIOp>(kernel.loc, lhs, kernel.value(rhs));
}

SmallVector<Value> cpu::delinearize(CpuKernel &kernel, Value linear, ArrayRef<SymExpr> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i > 0; --i) {
    indices[i] = remIndex(kernel, linear, sizes[i]);
    linear = divIndex(kernel, linear, sizes[i]);
  }
  if (!sizes.empty())
    indices[0] = linear;
  return indices;
}

Value cpu::linearize(CpuKernel &kernel, ArrayRef<Value> indices, ArrayRef<SymExpr> strides) {
  Value sum = kernel.index(0);
  for (auto [index, stride] : llvm::zip(indices, strides))
    if (stride != SymExpr(0))
      sum = addIndex(kernel, sum, mulIndex(kernel, index, stride));
  return sum;
}

void cpu::emitFor(CpuKernel &kernel, IndexRange range, int64_t step,
                  llvm::function_ref<void(Value)> body) {
  auto loop =
      scf::ForOp::create(kernel.builder, kernel.loc, range.begin, range.end, kernel.index(step));
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

static bool isSplatConstant(Value value) {
  Operation *op = value.getDefiningOp();
  while (auto broadcast = dyn_cast_or_null<BroadcastOp>(op))
    op = broadcast.getOperand().getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return dense && dense.isSplat();
}

/// Functions of a few instructions, which may be repeated for each register.
static bool isCheap(Operation *op) {
  if (auto unary = dyn_cast<UnaryOp>(op))
    return llvm::is_contained(
        {UnaryKind::Abs, UnaryKind::Neg, UnaryKind::Relu, UnaryKind::Sqrt, UnaryKind::RoundEven},
        unary.getKind());
  if (auto binary = dyn_cast<BinaryOp>(op))
    return llvm::is_contained({BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Max,
                               BinaryKind::Min, BinaryKind::Div},
                              binary.getKind());
  return isa<CompareOp, SelectOp, ConvertOp>(op);
}

/// Requantising sums takes nine.
static constexpr unsigned kMostOperations = 12;

/// Whether elements are the same in memory and in registers.
static bool isPlain(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return registerType(element) == storageType(element);
}

Type Epilogue::Operand::element() const {
  return storageType(cast<RankedTensorType>(value.getType()).getElementType());
}

/// `value` as an argument of the kernel in memory, seen through broadcasts, with
/// a stride per dimension of the root's result.
static std::optional<Epilogue::Operand> operandInMemory(CpuKernel &kernel, Value value) {
  Sizes sizes = sizesOf(value);
  SmallVector<int64_t> dims(sizes.size());
  for (auto [i, dim] : llvm::enumerate(dims))
    dim = i;
  // dims[i]: the dimension of the current value that result dimension i walks, or -1;
  // factors[i]: 0 where the run finds that it has one element.
  Sizes factors(sizes.size(), 1);
  Value current = value;
  while (true) {
    if (auto sameTensor = current.getDefiningOp<lumen::CastOp>()) {
      current = sameTensor.getOperand();
      continue;
    }
    auto broadcast = current.getDefiningOp<BroadcastOp>();
    if (!broadcast)
      break;
    Sizes from = sizesOf(broadcast.getOperand()), to = sizesOf(broadcast.getResult());
    SmallVector<int64_t> inverse(to.size(), -1);
    Sizes evens(to.size(), 1);
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims())) {
      if (isOne(from[i]) && !isOne(to[dim]))
        continue;
      inverse[dim] = i;
      if (from[i] != to[dim])
        evens[dim] = SymExpr::min(from[i] - 1, 1);
    }
    for (auto [dim, factor] : llvm::zip_equal(dims, factors)) {
      if (dim < 0)
        continue;
      factor *= evens[dim];
      dim = inverse[dim];
    }
    current = broadcast.getOperand();
  }
  auto argument = dyn_cast<BlockArgument>(current);
  if (!argument)
    return std::nullopt;
  const Access &access = kernel.arguments[argument.getArgNumber()];
  Epilogue::Operand operand{value, access.memref, {}};
  for (auto [i, dim] : llvm::enumerate(dims))
    operand.strides.push_back(dim < 0 || isOne(sizes[i]) ? SymExpr(0)
                                                         : access.strides[dim] * factors[i]);
  return operand;
}

FailureOr<Epilogue> Epilogue::analyze(CpuKernel &kernel) {
  Epilogue epilogue;
  Value root = kernel.root->getResult(0);
  auto type = cast<RankedTensorType>(root.getType());
  epilogue.sizes = sizesOf(type);
  // The shape of the root, and what casts call it.
  SmallVector<Type> types{type};
  auto hasShape = [&](Value value) {
    return llvm::any_of(types, [sizes = sizesOf(value)](Type type) {
      return sizes == sizesOf(cast<RankedTensorType>(type));
    });
  };

  llvm::DenseMap<Value, unsigned> dependents{{root, 0}};
  unsigned numDependents = 1;
  bool light = true;
  std::string key;
  llvm::raw_string_ostream stream(key);
  auto addOperand = [&](Value value) -> bool {
    if (dependents.count(value))
      return stream << " %" << dependents[value], true;
    if (isSplatConstant(value)) {
      Operation *op = value.getDefiningOp();
      while (auto broadcast = dyn_cast<BroadcastOp>(op))
        op = broadcast.getOperand().getDefiningOp();
      stream << " "
             << cast<DenseElementsAttr>(cast<ConstantOp>(op).getValue()).getSplatValue<Attribute>();
      return true;
    }
    for (auto [i, input] : llvm::enumerate(epilogue.inputs))
      if (input.value == value)
        return stream << " in" << i, true;
    auto operand = operandInMemory(kernel, value);
    if (!operand || !isPlain(value) ||
        (operand->strides.back() != SymExpr(0) && operand->strides.back() != SymExpr(1)))
      return false;
    stream << " in" << epilogue.inputs.size() << operand->element()
           << (operand->rowwise() ? "r" : "") << (operand->columnwise() ? "c" : "");
    epilogue.inputs.push_back(*operand);
    return true;
  };

  unsigned count = 0;
  for (Operation &op : kernel.op.getBody().front().without_terminator()) {
    if (&op == kernel.root ||
        llvm::none_of(op.getOperands(), [&](Value operand) { return dependents.count(operand); }))
      continue;
    if (isa<lumen::CastOp>(op)) {
      types.push_back(op.getResult(0).getType());
      dependents.try_emplace(op.getResult(0), dependents.lookup(op.getOperand(0)));
      continue;
    }
    bool elementwise = cast<LumenOpInterface>(op).getFamily() == Family::Elementwise &&
                       !isa<BroadcastOp>(op) && hasShape(op.getResult(0));
    if (!elementwise)
      return op.emitError("uses the result of ")
             << kernel.root->getName() << " at another position than its own";
    light &= isCheap(&op) && ++count <= kMostOperations;
    if (light) {
      stream << op.getName() << cast<RankedTensorType>(op.getResult(0).getType()).getElementType()
             << op.getDiscardableAttrDictionary();
      if (auto properties = op.getPropertiesAsAttribute())
        stream << properties;
      for (Value operand : op.getOperands())
        light &= addOperand(operand);
      stream << ";";
    }
    dependents.try_emplace(op.getResult(0), numDependents++);
  }
  for (auto [i, access] : llvm::enumerate(kernel.results)) {
    Value value = kernel.yielded(i);
    if (!hasShape(value))
      return kernel.op.emitError("yields a value whose shape is not that of its root");
    light &= dependents.count(value) && isPlain(value) &&
             (access.strides.back() == SymExpr(1) || type.getShape().back() == 1);
    if (!light)
      continue;
    Operand output{value, access.memref, access.strides};
    output.strides.back() = 1;
    epilogue.outputs.push_back(output);
    stream << " out %" << dependents[value];
  }
  epilogue.inRegisters = light && epilogue.inputs.size() <= 4;
  if (!epilogue.inRegisters) {
    epilogue.inputs.clear();
    epilogue.outputs.clear();
    key.clear();
  }
  epilogue.key = key.empty() ? "raw" : llvm::utohexstr(llvm::xxh3_64bits(key), /*LowerCase=*/true);
  return epilogue;
}

bool Epilogue::collapses(int64_t rowDim) const {
  return llvm::all_of(llvm::concat<const Operand>(inputs, outputs), [&](const Operand &operand) {
    return collapsedStride(sizes, operand.strides, rowDim, sizes.size() - 1).has_value();
  });
}

bool Epilogue::Operand::rowwise() const {
  return llvm::any_of(ArrayRef(strides).drop_back(),
                      [](const SymExpr &stride) { return stride != SymExpr(0); });
}

std::optional<SymExpr> cpu::collapsedStride(ArrayRef<SymExpr> sizes, ArrayRef<SymExpr> strides,
                                            int64_t begin, int64_t end) {
  std::optional<SymExpr> stride;
  SymExpr size = 1;
  for (int64_t i = end - 1; i >= begin; --i) {
    if (isOne(sizes[i]))
      continue;
    if (!stride)
      stride = strides[i];
    else if (strides[i] != *stride * size)
      return std::nullopt;
    size *= sizes[i];
  }
  return stride.value_or(0);
}

TileOperands Epilogue::locate(CpuKernel &kernel, ArrayRef<Value> outer, Value row, Value column,
                              int64_t rowDim) const {
  Address address(kernel.builder, kernel.loc);
  TileOperands located;
  auto add = [&](const Operand &operand, SmallVectorImpl<Value> &pointers,
                 SmallVectorImpl<Value> &rows) {
    SymExpr rowStride = *collapsedStride(sizes, operand.strides, rowDim, sizes.size() - 1);
    Value offset = linearize(kernel, outer, ArrayRef(operand.strides).take_front(rowDim));
    offset = addIndex(kernel, offset, mulIndex(kernel, row, rowStride));
    offset = addIndex(kernel, offset, mulIndex(kernel, column, operand.strides.back()));
    pointers.push_back(address.offset(address.ofMemref(operand.memref), operand.element(),
                                      address.fromIndex(offset)));
    rows.push_back(address.size(kernel, rowStride));
  };
  for (const Operand &operand : inputs)
    add(operand, located.inputs, located.inputRows);
  for (const Operand &operand : outputs)
    add(operand, located.outputs, located.outputRows);
  return located;
}

void TileOperands::forEach(llvm::function_ref<void(Value &)> body) {
  for (auto *list : {&inputs, &inputRows, &outputs, &outputRows})
    for (Value &value : *list)
      body(value);
}

//===----------------------------------------------------------------------===//
// Finishing
//===----------------------------------------------------------------------===//

void cpu::emitRegisterEpilogue(CpuKernel &kernel, const Epilogue *epilogue, OpBuilder &builder,
                               Type type, const Tile &tile, ArrayRef<Value> tileValues,
                               const TileOperands &operands, Value mask) {
  Location loc = builder.getUnknownLoc();
  Address address(builder, loc);
  int64_t i = 0, j = 0; // the row and vector at hand
  auto bytesOf = [](Type type) -> unsigned { return type.getIntOrFloatBitWidth() / 8; };
  auto loadInput = [&](size_t n) -> Value {
    Type type = epilogue->inputType(n);
    auto vectorType = VectorType::get({tile.lanes}, type);
    unsigned alignment = bytesOf(type);
    Value pointer = address.offset(operands.inputs[n], type, address.mul(operands.inputRows[n], i));
    if (!epilogue->inputs[n].columnwise())
      return vector::BroadcastOp::create(
          builder, loc, vectorType, LLVM::LoadOp::create(builder, loc, type, pointer, alignment));
    pointer = address.offset(pointer, type, j * tile.lanes);
    if (!mask || j != tile.vectors - 1)
      return LLVM::LoadOp::create(builder, loc, vectorType, pointer, alignment);
    Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    return LLVM::MaskedLoadOp::create(builder, loc, vectorType, pointer, mask, none,
                                      builder.getI32IntegerAttr(alignment), UnitAttr());
  };
  auto storeOutput = [&](size_t n, Value data) {
    Type stored = epilogue ? epilogue->outputType(n) : type;
    unsigned alignment = bytesOf(stored);
    Value pointer =
        address.offset(operands.outputs[n], stored, address.mul(operands.outputRows[n], i));
    pointer = address.offset(pointer, stored, j * tile.lanes);
    if (!mask || j != tile.vectors - 1)
      LLVM::StoreOp::create(builder, loc, data, pointer, alignment);
    else
      LLVM::MaskedStoreOp::create(builder, loc, data, pointer, mask, alignment);
  };

  // Column by column, so that an operand which is the same for all rows (a bias)
  // is loaded once per vector of columns.
  SmallVector<Value> columnInputs(operands.inputs.size());
  Expression expression;
  Position where;
  if (epilogue) {
    expression.bindSource(kernel.root->getResult(0), [&](OpBuilder &, Location, const Position &) {
      return tileValues[i * tile.vectors + j];
    });
    for (auto [n, input] : llvm::enumerate(epilogue->inputs))
      expression.bindSource(input.value, [&, n = n](OpBuilder &, Location, const Position &) {
        return columnInputs[n] ? columnInputs[n] : loadInput(n);
      });
    where.indices.assign(cast<RankedTensorType>(kernel.root->getResult(0).getType()).getRank(),
                         arith::ConstantIndexOp::create(builder, loc, 0));
    where.vectorDim = where.indices.size() - 1;
    where.lanes = tile.lanes;
  }
  for (j = 0; j < tile.vectors; ++j) {
    i = 0;
    for (auto [n, input] : llvm::enumerate(columnInputs))
      if (!epilogue->inputs[n].rowwise())
        input = loadInput(n);
    for (i = 0; i < tile.rows; ++i) {
      if (!epilogue) {
        storeOutput(0, tileValues[i * tile.vectors + j]);
        continue;
      }
      // All loads before the first store: a result may lie over an operand.
      SmallVector<Value> data;
      for (const Epilogue::Operand &output : epilogue->outputs)
        data.push_back(expression.emit(builder, loc, output.value, where));
      for (auto [n, value] : llvm::enumerate(data))
        storeOutput(n, value);
    }
    llvm::fill(columnInputs, Value());
  }
}

void cpu::emitLoopEpilogue(CpuKernel &kernel, const RawTile &tile, ArrayRef<Value> outer, Value row,
                           int64_t rowDim) {
  Value root = kernel.root->getResult(0);
  auto type = cast<RankedTensorType>(root.getType());
  int64_t rank = type.getRank();
  Sizes sizes = sizesOf(type);
  emitFor(kernel, {kernel.index(0), tile.rows}, 1, [&](Value inTile) {
    Position where;
    where.indices.assign(outer.begin(), outer.end());
    where.indices.append(delinearize(kernel, addIndex(kernel, row, inTile),
                                     ArrayRef(sizes).slice(rowDim, rank - 1 - rowDim)));
    where.indices.push_back(Value());
    Value start = mulIndex(kernel, inTile, tile.rowStride);
    auto body = [&](OpBuilder &builder, Value column, int64_t lanes, Value mask) {
      Location loc = kernel.loc;
      where.vectorDim = lanes == 1 ? -1 : rank - 1;
      where.lanes = lanes;
      where.mask = mask;
      where.indices.back() = builder.createOrFold<arith::AddIOp>(loc, tile.firstColumn, column);
      Value at = builder.createOrFold<arith::AddIOp>(
          loc, start, builder.createOrFold<arith::SubIOp>(loc, column, tile.begin));
      // Lanes behind the last column read what other tiles left in scratch.
      Value raw =
          lanes == 1 ? Value(memref::LoadOp::create(builder, loc, tile.memref, ValueRange{at}))
                     : Value(vector::LoadOp::create(builder, loc,
                                                    VectorType::get({lanes}, type.getElementType()),
                                                    tile.memref, ValueRange{at}));
      kernel.expression.bindSource(root,
                                   [raw](OpBuilder &, Location, const Position &) { return raw; });
      storeResults(kernel, kernel.expression, builder, where);
    };
    if (tile.size > 0)
      return emitVectorLoop(kernel, kernel.builder, tile.begin, tile.end, tile.size, tile.lanes,
                            body);
    if (kernel.caps.maskedOps)
      return body(kernel.builder, tile.begin, tile.lanes,
                  makeMask(kernel.builder, kernel.loc, subIndex(kernel, tile.end, tile.begin),
                           tile.lanes));
    emitFor(kernel, {tile.begin, tile.end}, 1,
            [&](Value column) { body(kernel.builder, column, 1, Value()); });
  });
}
