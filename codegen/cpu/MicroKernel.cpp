//===- MicroKernel.cpp - register tiles of matrix products ----------------===//

#include "codegen/cpu/MicroKernel.h"
#include "codegen/cpu/Nest.h"

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

Value Address::fromIndex(Value index) {
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
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
// Tiles
//===----------------------------------------------------------------------===//

Tile cpu::chooseTile(const Capabilities &caps, Type type, int64_t rows, int64_t columns) {
  int64_t lanes = std::min(caps.lanes(type), kPanelColumns);
  int64_t needed = llvm::divideCeil(columns, lanes);
  Tile best{1, 1, lanes};
  double bestCost = std::numeric_limits<double>::infinity();
  // Widest first: of tiles that cost the same, it reads A least often.
  for (int64_t vectors = std::min<int64_t>(needed, 8); vectors >= 1; --vectors) {
    // All but the last tile of a panel are equal, so a full panel wants a divisor.
    if (columns == kPanelColumns && needed % vectors != 0)
      continue;
    // Accumulators, the row of B and one broadcast element of A; a single row
    // takes B from memory as it goes.
    int64_t most = vectors == 1 || vectors * 2 + 1 > caps.numRegisters
                       ? (caps.numRegisters - vectors) / vectors
                       : (caps.numRegisters - vectors - 1) / vectors;
    if (most < 1)
      continue;
    most = std::min<int64_t>(most, 28);
    RowSplit split(rows, most);
    // Two fused multiply-adds and two loads a cycle; a multiply-add takes four
    // cycles; B comes from the second cache level at half a vector a cycle.
    auto cycles = [&](int64_t r) {
      return std::max({r * vectors / 2.0, (r + vectors) / 2.0, 4.0,
                       static_cast<double>(vectors) * (caps.vectorBytes >= 64 ? 2 : 1)});
    };
    double cost =
        llvm::divideCeil(needed, vectors) * (split.larger * cycles(split.rows + 1) +
                                             (split.blocks - split.larger) * cycles(split.rows));
    if (cost < bestCost * 0.999) {
      bestCost = cost;
      best = {split.rows + (split.larger > 0), vectors, lanes};
    }
  }
  return best;
}

std::optional<int64_t> cpu::collapsedStride(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                                            int64_t begin, int64_t end) {
  std::optional<int64_t> stride;
  int64_t size = 1;
  for (int64_t i = end - 1; i >= begin; --i) {
    if (shape[i] == 1)
      continue;
    if (!stride)
      stride = strides[i];
    else if (strides[i] != *stride * size)
      return std::nullopt;
    size *= shape[i];
  }
  return stride.value_or(0);
}

//===----------------------------------------------------------------------===//
// Epilogue
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
    return llvm::is_contained({UnaryKind::Abs, UnaryKind::Neg, UnaryKind::Relu, UnaryKind::Sqrt},
                              unary.getKind());
  if (auto binary = dyn_cast<BinaryOp>(op))
    return llvm::is_contained({BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Max,
                               BinaryKind::Min, BinaryKind::Div},
                              binary.getKind());
  return isa<CompareOp, SelectOp>(op);
}

/// `value` as an argument of the kernel in memory, seen through broadcasts, with
/// a stride per dimension of the root's result.
static std::optional<Epilogue::Operand> operandInMemory(CpuKernel &kernel, Value value) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> dims(shape.size());
  for (auto [i, dim] : llvm::enumerate(dims))
    dim = i;
  // dims[i]: the dimension of the current value that result dimension i walks, or -1.
  Value current = value;
  while (auto broadcast = current.getDefiningOp<BroadcastOp>()) {
    auto from = cast<RankedTensorType>(broadcast.getOperand().getType()).getShape();
    auto to = cast<RankedTensorType>(broadcast.getType()).getShape();
    SmallVector<int64_t> inverse(to.size(), -1);
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      if (from[i] == to[dim])
        inverse[dim] = i;
    for (int64_t &dim : dims)
      dim = dim < 0 ? -1 : inverse[dim];
    current = broadcast.getOperand();
  }
  auto argument = dyn_cast<BlockArgument>(current);
  if (!argument)
    return std::nullopt;
  const Access &access = kernel.arguments[argument.getArgNumber()];
  Epilogue::Operand operand{value, access.memref, {}};
  for (auto [i, dim] : llvm::enumerate(dims))
    operand.strides.push_back(dim < 0 || shape[i] == 1 ? 0 : access.strides[dim]);
  return operand;
}

FailureOr<Epilogue> Epilogue::analyze(CpuKernel &kernel) {
  Epilogue epilogue;
  Value root = kernel.root->getResult(0);
  auto type = cast<RankedTensorType>(root.getType());

  llvm::DenseMap<Value, unsigned> dependents{{root, 0}};
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
    if (!operand ||
        cast<RankedTensorType>(value.getType()).getElementType() != type.getElementType() ||
        operand->strides.back() < 0 || operand->strides.back() > 1)
      return false;
    bool rowwise = llvm::any_of(ArrayRef(operand->strides).drop_back(),
                                [](int64_t stride) { return stride != 0; });
    stream << " in" << epilogue.inputs.size() << (rowwise ? "r" : "")
           << (operand->columnwise() ? "c" : "");
    epilogue.inputs.push_back(*operand);
    return true;
  };

  unsigned count = 0;
  for (Operation &op : kernel.op.getBody().front().without_terminator()) {
    if (&op == kernel.root ||
        llvm::none_of(op.getOperands(), [&](Value operand) { return dependents.count(operand); }))
      continue;
    bool elementwise =
        cast<LumenOpInterface>(op).getFamily() == Family::Elementwise && !isa<BroadcastOp>(op) &&
        cast<RankedTensorType>(op.getResult(0).getType()).getShape() == type.getShape();
    if (!elementwise)
      return op.emitError("uses the result of ")
             << kernel.root->getName() << " at another position than its own";
    light &= isCheap(&op) && ++count <= 8;
    if (light) {
      stream << op.getName() << op.getDiscardableAttrDictionary();
      if (auto properties = op.getPropertiesAsAttribute())
        stream << properties;
      for (Value operand : op.getOperands())
        light &= addOperand(operand);
      stream << ";";
    }
    dependents.try_emplace(op.getResult(0), dependents.size());
  }
  for (auto [i, access] : llvm::enumerate(kernel.results)) {
    Value value = kernel.yielded(i);
    if (cast<RankedTensorType>(value.getType()).getShape() != type.getShape())
      return kernel.op.emitError("yields a value whose shape is not that of its root");
    light &= dependents.count(value) && access.type.getElementType() == type.getElementType() &&
             (access.strides.back() == 1 || type.getShape().back() == 1);
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
    auto shape = cast<RankedTensorType>(operand.value.getType()).getShape();
    return collapsedStride(shape, operand.strides, rowDim, shape.size() - 1).has_value();
  });
}

//===----------------------------------------------------------------------===//
// The micro-kernel
//===----------------------------------------------------------------------===//

namespace {

/// Emits the body of one micro-kernel. Accumulators are numbered row by row.
class TileBuilder {
public:
  TileBuilder(CpuKernel &kernel, const Epilogue *epilogue, const TileCall &call, OpBuilder &builder,
              Block &block)
      : kernel(kernel), epilogue(epilogue), call(call), tile(call.tile), builder(builder),
        loc(builder.getUnknownLoc()), type(call.type),
        vectorType(VectorType::get({call.tile.lanes}, call.type)), address(builder, loc) {
    auto next = block.args_begin();
    auto take = [&](Value present) { return present ? Value(*next++) : Value(); };
    count = take(call.count), a = take(call.a), aRow = take(call.aRow), b = take(call.b);
    depth = take(call.depth);
    for (const TileCall::Segment &segment : call.segments)
      segments.push_back({take(segment.count), take(segment.a), take(segment.b)});
    zeros = take(call.zeros), position = take(call.position);
    positionRow = take(call.positionRow), positionStep = take(call.positionStep);
    positionEnd = take(call.positionEnd);
    for (auto [list, present] :
         {std::pair(&inputs, &call.inputs), std::pair(&inputRows, &call.inputRows),
          std::pair(&outputs, &call.outputs), std::pair(&outputRows, &call.outputRows)})
      for (Value value : *present)
        list->push_back(take(value));
  }

  /// The values of a call, in the order in which the constructor takes them.
  static SmallVector<Value> arguments(const TileCall &call) {
    SmallVector<Value> values;
    values.append({call.count, call.a, call.aRow, call.b, call.depth});
    for (const TileCall::Segment &segment : call.segments)
      values.append({segment.count, segment.a, segment.b});
    if (call.zeros)
      values.append(
          {call.zeros, call.position, call.positionRow, call.positionStep, call.positionEnd});
    for (const auto *list : {&call.inputs, &call.inputRows, &call.outputs, &call.outputRows})
      values.append(list->begin(), list->end());
    return values;
  }

  void build() {
    zero = address.constant(0);
    one = address.constant(1);
    if (call.tailLanes) {
      mask = makeMask(builder, loc, arith::ConstantIndexOp::create(builder, loc, call.tailLanes),
                      tile.lanes);
    }
    for (int64_t i = 0; i < tile.rows; ++i)
      rowOffsets.push_back(address.mul(aRow, i));
    auto loop = scf::ForOp::create(builder, loc, zero, count, one);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value row = address.mul(loop.getInductionVar(), tile.rows);
    Value start = address.offset(a, type, address.mul(row, aRow));
    SmallVector<Value> accumulators(
        tile.rows * tile.vectors,
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType)));
    Value at = zeros ? address.add(position, address.mul(row, positionRow)) : Value();
    accumulators = emitSegments(segments, start, b, at, accumulators);
    emitFinish(row, accumulators);
  }

private:
  using Values = SmallVector<Value>;

  /// A counted loop that carries the accumulators.
  Values emitLoop(Value end, Values accumulators, llvm::function_ref<Values(Value, Values)> body) {
    auto loop = scf::ForOp::create(builder, loc, zero, end, one, accumulators);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Values results = body(loop.getInductionVar(),
                          Values(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end()));
    scf::YieldOp::create(builder, loc, results);
    return Values(loop.getResults().begin(), loop.getResults().end());
  }

  Values emitSegments(ArrayRef<TileCall::Segment> segments, Value aStart, Value bStart, Value at,
                      Values accumulators) {
    if (segments.empty()) {
      Values rows = rowPointers(aStart);
      if (at)
        avoidBorder(rows, at);
      return emitDepth(rows, bStart, accumulators);
    }
    TileCall::Segment segment = segments.front();
    return emitLoop(segment.count, accumulators, [&](Value i, Values accumulators) {
      Value next = at;
      if (at && segments.size() == 1)
        next = address.add(at, address.mul(i, positionStep));
      return emitSegments(
          segments.drop_front(), address.offset(aStart, type, address.mul(i, segment.a)),
          address.offset(bStart, type, address.mul(i, segment.b)), next, accumulators);
    });
  }

  Values rowPointers(Value start) {
    Values rows;
    for (Value offset : rowOffsets)
      rows.push_back(address.offset(start, type, offset));
    return rows;
  }

  /// Rows that lie outside the input at this step read zeros instead.
  void avoidBorder(Values &rows, Value position) {
    for (auto [i, pointer] : llvm::enumerate(rows)) {
      Value at = address.add(position, address.mul(positionRow, i));
      Value inside =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at, positionEnd);
      pointer = arith::SelectOp::create(builder, loc, inside, pointer, zeros);
    }
  }

  /// The innermost loop: one element of each row by one row of the panel.
  Values emitDepth(ArrayRef<Value> rows, Value bStart, Values accumulators) {
    return emitLoop(depth, accumulators, [&](Value k, Values accumulators) {
      Value bRow = address.offset(bStart, type, address.mul(k, kPanelColumns));
      Values bVectors;
      for (int64_t j = 0; j < tile.vectors; ++j)
        bVectors.push_back(load(vectorType, address.offset(bRow, type, j * tile.lanes)));
      for (int64_t i = 0; i < tile.rows; ++i) {
        Value element = load(type, address.offset(rows[i], type, k));
        Value broadcast = vector::BroadcastOp::create(builder, loc, vectorType, element);
        for (int64_t j = 0; j < tile.vectors; ++j) {
          Value &accumulator = accumulators[i * tile.vectors + j];
          accumulator = vector::FMAOp::create(builder, loc, broadcast, bVectors[j], accumulator);
        }
      }
      return accumulators;
    });
  }

  Value load(Type type, Value pointer) {
    return LLVM::LoadOp::create(builder, loc, type, pointer, elementBytes());
  }

  unsigned elementBytes() { return type.getIntOrFloatBitWidth() / 8; }
  bool masked(int64_t j) { return mask && j == tile.vectors - 1; }

  Value loadColumns(Value pointer, int64_t j) {
    pointer = address.offset(pointer, type, j * tile.lanes);
    if (!masked(j))
      return load(vectorType, pointer);
    Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    return LLVM::MaskedLoadOp::create(builder, loc, vectorType, pointer, mask, none,
                                      builder.getI32IntegerAttr(elementBytes()), UnitAttr());
  }

  void storeColumns(Value data, Value pointer, int64_t j) {
    pointer = address.offset(pointer, type, j * tile.lanes);
    if (masked(j))
      LLVM::MaskedStoreOp::create(builder, loc, data, pointer, mask, elementBytes());
    else
      LLVM::StoreOp::create(builder, loc, data, pointer, elementBytes());
  }

  /// Column by column, so that an operand which is the same for all rows (a
  /// bias) is loaded once per vector of columns.
  void emitFinish(Value row, ArrayRef<Value> accumulators) {
    auto pointersAt = [&](ArrayRef<Value> bases, ArrayRef<Value> strides, int64_t i) {
      Values pointers;
      for (auto [base, stride] : llvm::zip_equal(bases, strides))
        pointers.push_back(
            address.offset(base, type, address.mul(address.add(row, address.constant(i)), stride)));
      return pointers;
    };
    SmallVector<Values> inputsAt, outputsAt;
    for (int64_t i = 0; i < tile.rows; ++i) {
      inputsAt.push_back(pointersAt(inputs, inputRows, i));
      outputsAt.push_back(pointersAt(outputs, outputRows, i));
    }
    if (!epilogue || !epilogue->inRegisters) {
      for (int64_t i = 0; i < tile.rows; ++i)
        for (int64_t j = 0; j < tile.vectors; ++j)
          LLVM::StoreOp::create(builder, loc, accumulators[i * tile.vectors + j],
                                address.offset(outputsAt[i][0], type, j * tile.lanes),
                                elementBytes());
      return;
    }
    int64_t i = 0, j = 0;
    Values columnInputs(inputs.size());
    Expression expression;
    expression.bindSource(kernel.root->getResult(0), [&](OpBuilder &, Location, const Position &) {
      return accumulators[i * tile.vectors + j];
    });
    for (auto [n, input] : llvm::enumerate(epilogue->inputs))
      expression.bindSource(input.value, [&, n = n](OpBuilder &, Location, const Position &) {
        return columnInputs[n] ? columnInputs[n] : loadInput(n, inputsAt[i][n], j);
      });
    Position where;
    where.indices.assign(cast<RankedTensorType>(kernel.root->getResult(0).getType()).getRank(),
                         arith::ConstantIndexOp::create(builder, loc, 0));
    where.vectorDim = where.indices.size() - 1;
    where.lanes = tile.lanes;
    for (j = 0; j < tile.vectors; ++j) {
      for (auto [n, input] : llvm::enumerate(epilogue->inputs))
        if (llvm::all_of(ArrayRef(input.strides).drop_back(), [](int64_t s) { return s == 0; }))
          columnInputs[n] = loadInput(n, inputsAt[0][n], j);
      for (i = 0; i < tile.rows; ++i)
        for (auto [n, output] : llvm::enumerate(epilogue->outputs))
          storeColumns(expression.emit(builder, loc, output.value, where), outputsAt[i][n], j);
    }
  }

  Value loadInput(size_t n, Value pointer, int64_t j) {
    if (epilogue->inputs[n].columnwise())
      return loadColumns(pointer, j);
    return vector::BroadcastOp::create(builder, loc, vectorType, load(type, pointer));
  }

  CpuKernel &kernel;
  const Epilogue *epilogue;
  const TileCall &call;
  Tile tile;
  OpBuilder &builder;
  Location loc;
  Type type;
  VectorType vectorType;
  Address address;
  Value zero, one, mask;
  Value count, a, aRow, b, depth;
  SmallVector<TileCall::Segment> segments;
  Value zeros, position, positionRow, positionStep, positionEnd;
  Values inputs, inputRows, outputs, outputRows, rowOffsets;
};

} // namespace

void cpu::emitTiles(CpuKernel &kernel, const Epilogue *epilogue, const TileCall &call) {
  std::string name = llvm::formatv("tile_{0}x{1}x{2}_{3}{4}_{5}", call.tile.rows, call.tile.vectors,
                                   call.tile.lanes, call.segments.size(), call.zeros ? "b" : "",
                                   epilogue ? epilogue->key : "raw");
  if (call.tailLanes)
    name += "_tail" + std::to_string(call.tailLanes);
  SmallVector<Value> arguments = TileBuilder::arguments(call);
  auto function = kernel.sharedFunction(
      name, kernel.builder.getFunctionType(TypeRange(ValueRange(arguments)), {}),
      [&](OpBuilder &builder, Block &block) {
        TileBuilder(kernel, epilogue, call, builder, block).build();
        func::ReturnOp::create(builder, builder.getUnknownLoc());
      });
  func::CallOp::create(kernel.builder, kernel.loc, function, arguments);
}
