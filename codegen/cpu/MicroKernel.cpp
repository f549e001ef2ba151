//===- MicroKernel.cpp - register tiles of matrix products ----------------===//

#include "codegen/cpu/MicroKernel.h"
#include "codegen/loops/Nest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

ProductTypes::ProductTypes(Operation *root) {
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  lhs = elementOf(root->getOperand(0)), rhs = elementOf(root->getOperand(1));
  sum = elementOf(root->getResult(0));
}

std::string ProductTypes::str() const {
  return isInteger() ? llvm::formatv("{0}_{1}", lhs, rhs).str() : llvm::formatv("{0}", sum).str();
}

SymExpr ProductTypes::panelSize(const SymExpr &depth) const {
  return ceilQuotient(depth, group()) * groupSize();
}

bool ProductTypes::hasQuads(const Capabilities &caps) const {
  return isInteger() && !caps.multiplyQuads.empty() && rhs.getIntOrFloatBitWidth() == 8 &&
         !(lhs.isUnsignedInteger() && rhs.isUnsignedInteger());
}

bool ProductTypes::isCorrected(const Capabilities &caps) const {
  return hasQuads(caps) && !lhs.isUnsignedInteger() && !rhs.isUnsignedInteger();
}

Tile cpu::chooseTile(const Capabilities &caps, const ProductTypes &types, int64_t rows,
                     int64_t columns, int64_t maxRows) {
  int64_t lanes = std::min(caps.lanes(types.sum), kPanelColumns);
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
    // Elements of A are widened, and used twice.
    if (types.isInteger() && !types.hasQuads(caps))
      most = (caps.numRegisters - vectors - 2) / (vectors + 1);
    // One more row of sums, and a constant.
    if (types.isCorrected(caps))
      most = (caps.numRegisters - 2 * vectors - 2) / vectors;
    if (most < 1)
      continue;
    most = std::min(most, maxRows);
    int64_t blocks = llvm::divideCeil(rows, most);
    int64_t blockRows = rows / blocks, larger = rows % blocks;
    // Two fused multiply-adds and two loads a cycle; a multiply-add takes four
    // cycles; B comes from the second cache level at 32 bytes a cycle. Of tiles
    // that are equal in this, the one with the fewest loads is the best.
    auto cycles = [&](int64_t r) {
      return std::max(
                 {r * vectors / 2.0, (r + vectors) / 2.0, 4.0, vectors * caps.vectorBytes / 32.0}) +
             0.05 * (r + vectors);
    };
    double cost = llvm::divideCeil(needed, vectors) *
                  (larger * cycles(blockRows + 1) + (blocks - larger) * cycles(blockRows));
    if (cost < bestCost * 0.999) {
      bestCost = cost;
      best = {blockRows + (larger > 0), vectors, lanes};
    }
  }
  return best;
}

/// Tiles of every height up to this one are made where rows are unknown.
static constexpr int64_t kMaxUnknownRows = 14;

Tile cpu::chooseTileUpTo(const Capabilities &caps, const ProductTypes &types, int64_t rows,
                         int64_t columns) {
  return chooseTile(caps, types, rows, columns, kMaxUnknownRows);
}

SmallVector<TileChoice> cpu::chooseTiles(const Capabilities &caps, const ProductTypes &types,
                                         int64_t columns) {
  Tile many = chooseTileUpTo(caps, types, kManyRows, columns);
  SmallVector<TileChoice> choices;
  for (int64_t rows = 1; rows < many.rows; ++rows) {
    Tile tile = chooseTileUpTo(caps, types, rows, columns);
    if (tile.vectors <= many.vectors)
      break;
    if (choices.empty() || choices.back().tile.vectors != tile.vectors)
      choices.push_back({rows, tile});
    choices.back().rows = rows;
    choices.back().tile.rows = std::max(choices.back().tile.rows, tile.rows);
  }
  choices.push_back({kManyRows, many});
  return choices;
}

SymExpr cpu::ceilQuotient(const SymExpr &a, const SymExpr &b) {
  return SymExpr::floorDiv(a + b - 1, b);
}

//===----------------------------------------------------------------------===//
// The micro-kernel
//===----------------------------------------------------------------------===//

namespace {

/// Rows of a panel between the one at hand and the one to prefetch.
constexpr int64_t kPrefetchRows = 64;

/// Emits the body of one micro-kernel. Accumulators are numbered row by row.
class TileBuilder {
public:
  TileBuilder(CpuKernel &kernel, const Epilogue *epilogue, const TileCall &call, OpBuilder &builder,
              Block &block)
      : kernel(kernel), epilogue(epilogue), call(call), tile(call.tile), builder(builder),
        loc(builder.getUnknownLoc()), types(call.types), type(types.sum),
        lhsType(storageType(types.lhs)), vectorType(VectorType::get({call.tile.lanes}, type)),
        address(builder, loc), hasQuads(types.hasQuads(kernel.caps)),
        isCorrected(types.isCorrected(kernel.caps)) {
    auto next = block.args_begin();
    auto take = [&](Value present) { return present ? Value(*next++) : Value(); };
    count = take(call.count), a = take(call.a), aRow = take(call.aRow);
    aStep = take(call.aStep), b = take(call.b);
    bRow = take(call.bRow), depth = take(call.depth), tail = take(call.tail);
    for (const TileCall::Segment &segment : call.segments)
      segments.push_back({take(segment.count), take(segment.a), take(segment.b)});
    zeros = take(call.zeros), position = take(call.position);
    positionRow = take(call.positionRow), positionStep = take(call.positionStep);
    positionEnd = take(call.positionEnd);
    sums = take(call.sums);
    operands = call.operands;
    operands.forEach([&](Value &value) { value = take(value); });
  }

  /// The values of a call, in the order in which the constructor takes them.
  static SmallVector<Value> arguments(const TileCall &call) {
    SmallVector<Value> values;
    values.append({call.count, call.a, call.aRow});
    if (call.aStep)
      values.push_back(call.aStep);
    values.push_back(call.b);
    if (call.bRow)
      values.push_back(call.bRow);
    values.push_back(call.depth);
    if (call.tail)
      values.push_back(call.tail);
    for (const TileCall::Segment &segment : call.segments)
      values.append({segment.count, segment.a, segment.b});
    if (call.zeros)
      values.append(
          {call.zeros, call.position, call.positionRow, call.positionStep, call.positionEnd});
    if (call.sums)
      values.push_back(call.sums);
    TileOperands operands = call.operands;
    operands.forEach([&](Value &value) { values.push_back(value); });
    return values;
  }

  void build() {
    zero = address.constant(0);
    one = address.constant(1);
    if (call.tailLanes) {
      mask = makeMask(builder, loc, arith::ConstantIndexOp::create(builder, loc, call.tailLanes),
                      tile.lanes);
    } else if (tail) {
      mask = makeMask(builder, loc, address.toIndex(tail), tile.lanes);
    }
    for (int64_t i = 0; i < tile.rows; ++i)
      rowOffsets.push_back(address.mul(aRow, i));
    auto loop = scf::ForOp::create(builder, loc, zero, count, one);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value row = address.mul(loop.getInductionVar(), tile.rows);
    Value start = address.offset(a, lhsType, address.mul(row, aRow));
    SmallVector<Value> accumulators(
        tile.rows * tile.vectors,
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType)));
    if (sums) {
      Value first = address.offset(sums, type, address.mul(row, tile.columns()));
      for (auto [i, accumulator] : llvm::enumerate(accumulators))
        accumulator = load(vectorType, address.offset(first, type, i * tile.lanes));
    }
    Value border = zeros ? address.add(position, address.mul(row, positionRow)) : Value();
    if (isCorrected)
      accumulators.append(tile.vectors,
                          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType)));
    accumulators = emitSegments(segments, start, b, border, accumulators);
    if (isCorrected) {
      Values excess(llvm::drop_begin(accumulators, tile.rows * tile.vectors));
      accumulators.truncate(tile.rows * tile.vectors);
      for (auto [i, accumulator] : llvm::enumerate(accumulators))
        accumulator = arith::SubIOp::create(builder, loc, accumulator, excess[i % tile.vectors]);
    }
    TileOperands at = operands;
    for (auto [n, pointer] : llvm::enumerate(at.inputs))
      pointer = address.offset(pointer, epilogue->inputType(n), address.mul(row, at.inputRows[n]));
    for (auto [n, pointer] : llvm::enumerate(at.outputs))
      pointer = address.offset(pointer, epilogue ? epilogue->outputType(n) : type,
                               address.mul(row, at.outputRows[n]));
    emitRegisterEpilogue(kernel, epilogue, builder, type, tile, accumulators, at, mask);
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
      return types.isInteger() ? emitIntegerDepth(rows, bStart, accumulators)
                               : emitDepth(rows, bStart, accumulators);
    }
    TileCall::Segment segment = segments.front();
    return emitLoop(segment.count, accumulators, [&](Value i, Values accumulators) {
      Value next = at;
      if (at && segments.size() == 1)
        next = address.add(at, address.mul(i, positionStep));
      return emitSegments(
          segments.drop_front(), address.offset(aStart, lhsType, address.mul(i, segment.a)),
          address.offset(bStart, type, address.mul(i, segment.b)), next, accumulators);
    });
  }

  Values rowPointers(Value start) {
    Values rows;
    for (Value offset : rowOffsets)
      rows.push_back(address.offset(start, lhsType, offset));
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
      Value at =
          address.offset(bStart, type, bRow ? address.mul(k, bRow) : address.mul(k, kPanelColumns));
      Values bVectors;
      for (int64_t j = 0; j < tile.vectors; ++j)
        bVectors.push_back(loadColumns(address.offset(at, type, j * tile.lanes),
                                       bRow && j == tile.vectors - 1 ? mask : Value()));
      if (!bRow)
        prefetch(at);
      Value inRow = aStep ? address.mul(k, aStep) : k;
      for (int64_t i = 0; i < tile.rows; ++i) {
        Value element = load(type, address.offset(rows[i], type, inRow));
        Value broadcast = vector::BroadcastOp::create(builder, loc, vectorType, element);
        for (int64_t j = 0; j < tile.vectors; ++j) {
          Value &accumulator = accumulators[i * tile.vectors + j];
          accumulator = vector::FMAOp::create(builder, loc, broadcast, bVectors[j], accumulator);
        }
      }
      return accumulators;
    });
  }

  /// A tile narrower than its panel jumps from row to row of it, which the processor's
  /// own prefetching gives up at the end of every page.
  void prefetch(Value at) {
    if (tile.columns() == kPanelColumns)
      return;
    for (int64_t bytes = 0; bytes < tile.columns() * elementBytes(); bytes += 64)
      LLVM::Prefetch::create(
          builder, loc,
          address.offset(at, type, kPrefetchRows * kPanelColumns + bytes / elementBytes()),
          /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }

  /// Four elements of each row by a group of four rows of the panel, and perhaps a
  /// last group of fewer.
  Values emitIntegerDepth(ArrayRef<Value> rows, Value bStart, Values accumulators) {
    Value four = address.constant(types.group());
    Value groups = arith::DivUIOp::create(builder, loc, depth, four);
    auto panelAt = [&](Value group) {
      return address.offset(bStart, type, address.mul(group, types.groupSize()));
    };
    accumulators = emitLoop(groups, accumulators, [&](Value k, Values accumulators) {
      Value at = panelAt(k);
      prefetch(at);
      return emitGroup(at, accumulators, [&](int64_t row) {
        return load(builder.getI32Type(),
                    address.offset(rows[row], lhsType, address.mul(k, types.group())), 1);
      });
    });
    if (call.partialRows == 0)
      return accumulators;
    if (call.partialRows != kAnyPartialRows)
      return emitGroup(panelAt(groups), accumulators, [&](int64_t row) {
        return loadPartialGroup(
            address.offset(rows[row], lhsType, address.mul(groups, types.group())));
      });
    Value done = address.mul(groups, types.group());
    Value rest = arith::SubIOp::create(builder, loc, depth, done);
    Value isPartial = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rest, zero);
    auto branch = scf::IfOp::create(builder, loc, TypeRange(ValueRange(accumulators)), isPartial,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, accumulators);
    builder.setInsertionPointToStart(branch.thenBlock());
    // Behind the last element it is read once more: the panel has zeros there.
    Value last = arith::SubIOp::create(builder, loc, rest, one);
    accumulators = emitGroup(panelAt(groups), accumulators, [&](int64_t row) {
      Value start = address.offset(rows[row], lhsType, done), bytes;
      for (int64_t i = 0; i < 3; ++i) {
        Value at = arith::MinUIOp::create(builder, loc, address.constant(i), last);
        Value byte = arith::ExtUIOp::create(builder, loc, builder.getI32Type(),
                                            load(lhsType, address.offset(start, lhsType, at), 1));
        Value shift = arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), 8 * i);
        byte = builder.createOrFold<arith::ShLIOp>(loc, byte, shift);
        bytes = bytes ? Value(arith::OrIOp::create(builder, loc, bytes, byte)) : byte;
      }
      return bytes;
    });
    scf::YieldOp::create(builder, loc, accumulators);
    return Values(branch.getResults().begin(), branch.getResults().end());
  }

  /// The bytes of a partial group of known size, low ones first.
  Value loadPartialGroup(Value pointer) {
    Type i32 = builder.getI32Type();
    auto loadBytes = [&](int64_t first, int64_t count) -> Value {
      Value bytes = load(builder.getIntegerType(8 * count),
                         address.offset(pointer, lhsType, address.constant(first)), 1);
      return arith::ExtUIOp::create(builder, loc, i32, bytes);
    };
    if (call.partialRows < 3)
      return loadBytes(0, call.partialRows);
    Value third = arith::ShLIOp::create(builder, loc, loadBytes(2, 1),
                                        arith::ConstantIntOp::create(builder, loc, i32, 16));
    return arith::OrIOp::create(builder, loc, loadBytes(0, 2), third);
  }

  Values emitGroup(Value at, Values accumulators, llvm::function_ref<Value(int64_t)> elements) {
    return hasQuads ? emitQuads(at, accumulators, elements) : emitPairs(at, accumulators, elements);
  }

  /// One group at once. A signed left operand becomes an unsigned one, 128 larger; what that
  /// adds to each column is summed beside.
  Values emitQuads(Value at, Values accumulators, llvm::function_ref<Value(int64_t)> elements) {
    auto bytesType = VectorType::get({4 * tile.lanes}, builder.getI8Type());
    auto asBytes = [&](Value value) -> Value {
      return vector::BitCastOp::create(builder, loc, bytesType, value);
    };
    auto add = [&](Value &sum, Value lhs, Value rhs) {
      if (types.rhs.isUnsignedInteger())
        std::swap(lhs, rhs);
      sum = LLVM::CallIntrinsicOp::create(builder, loc, vectorType,
                                          builder.getStringAttr(kernel.caps.multiplyQuads),
                                          ValueRange{sum, lhs, rhs})
                .getResult(0);
    };
    constexpr int32_t kSigns = 0x80808080;
    Values bVectors;
    for (int64_t j = 0; j < tile.vectors; ++j)
      bVectors.push_back(asBytes(load(vectorType, address.offset(at, type, j * tile.lanes))));
    for (int64_t i = 0; i < tile.rows; ++i) {
      Value bytes = elements(i);
      if (isCorrected)
        bytes = arith::XOrIOp::create(
            builder, loc, bytes,
            arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), kSigns));
      bytes = asBytes(vector::BroadcastOp::create(builder, loc, vectorType, bytes));
      for (int64_t j = 0; j < tile.vectors; ++j)
        add(accumulators[i * tile.vectors + j], bytes, bVectors[j]);
    }
    if (isCorrected) {
      Value excess = asBytes(arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(vectorType,
                                 ArrayRef<Attribute>(builder.getI32IntegerAttr(kSigns)))));
      for (int64_t j = 0; j < tile.vectors; ++j)
        add(accumulators[tile.rows * tile.vectors + j], excess, bVectors[j]);
    }
    return accumulators;
  }

  /// One group: the first and the third of four rows, then the second and the fourth,
  /// as pairs of 16 bits whose products are added in 32.
  Values emitPairs(Value at, Values accumulators, llvm::function_ref<Value(int64_t)> elements) {
    for (bool odd : {false, true}) {
      Values bVectors;
      for (int64_t j = 0; j < tile.vectors; ++j) {
        Value pointer = address.offset(at, type, j * tile.lanes);
        if (types.rhs.isInteger(16)) {
          pointer = address.offset(pointer, type, odd ? kPanelColumns : 0);
          bVectors.push_back(load(pairsType(), pointer, elementBytes()));
        } else {
          bVectors.push_back(widenBytes(load(vectorType, pointer), types.rhs, odd));
        }
      }
      for (int64_t i = 0; i < tile.rows; ++i) {
        Value pairs = vector::BroadcastOp::create(builder, loc, vectorType, elements(i));
        pairs = widenBytes(pairs, types.lhs, odd);
        for (int64_t j = 0; j < tile.vectors; ++j) {
          Value &accumulator = accumulators[i * tile.vectors + j];
          Value products =
              LLVM::CallIntrinsicOp::create(builder, loc, vectorType,
                                            builder.getStringAttr(kernel.caps.multiplyPairs),
                                            ValueRange{pairs, bVectors[j]})
                  .getResult(0);
          accumulator = arith::AddIOp::create(builder, loc, accumulator, products);
        }
      }
    }
    return accumulators;
  }

  VectorType pairsType() { return VectorType::get({2 * tile.lanes}, builder.getI16Type()); }

  /// The even or the odd bytes of a vector in 16 bits each.
  Value widenBytes(Value bytes, Type element, bool odd) {
    Value words = vector::BitCastOp::create(builder, loc, pairsType(), bytes);
    auto splat = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(pairsType(),
                                 ArrayRef<Attribute>(builder.getI16IntegerAttr(value))));
    };
    if (element.isUnsignedInteger())
      return odd ? arith::ShRUIOp::create(builder, loc, words, splat(8)).getResult()
                 : arith::AndIOp::create(builder, loc, words, splat(255)).getResult();
    if (!odd)
      words = arith::ShLIOp::create(builder, loc, words, splat(8));
    return arith::ShRSIOp::create(builder, loc, words, splat(8));
  }

  Value loadColumns(Value pointer, Value mask) {
    if (!mask)
      return load(vectorType, pointer);
    Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    return LLVM::MaskedLoadOp::create(builder, loc, vectorType, pointer, mask, none,
                                      builder.getI32IntegerAttr(elementBytes()), UnitAttr());
  }

  Value load(Type type, Value pointer) { return load(type, pointer, elementBytes()); }
  Value load(Type type, Value pointer, unsigned alignment) {
    return LLVM::LoadOp::create(builder, loc, type, pointer, alignment);
  }

  int64_t elementBytes() { return type.getIntOrFloatBitWidth() / 8; }
  CpuKernel &kernel;
  const Epilogue *epilogue;
  const TileCall &call;
  Tile tile;
  OpBuilder &builder;
  Location loc;
  ProductTypes types;
  Type type, lhsType; ///< of sums, and of A in memory
  VectorType vectorType;
  Address address;
  bool hasQuads, isCorrected; ///< see ProductTypes
  Value zero, one, mask;
  Value count, a, aRow, aStep, b, bRow, depth, tail;
  SmallVector<TileCall::Segment> segments;
  Value zeros, position, positionRow, positionStep, positionEnd;
  Value sums;
  TileOperands operands;
  Values rowOffsets;
};

/// What tells micro-kernels apart.
std::string nameOf(const Epilogue *epilogue, const TileCall &call) {
  std::string name = llvm::formatv(
      "tile_{0}_{1}{2}x{3}x{4}_{5}{6}{7}{8}{9}{10}_{11}", call.types.str(), call.rows ? "upto" : "",
      call.tile.rows, call.tile.vectors, call.tile.lanes, call.segments.size(),
      call.zeros ? "b" : "", call.sums ? "a" : "", call.bRow ? "r" : "",
      call.partialRows ? "p" + std::to_string(call.partialRows) : "", call.aStep ? "s" : "",
      epilogue ? epilogue->key : "raw");
  if (call.tailLanes)
    name += "_tail" + std::to_string(call.tailLanes);
  if (call.tail)
    name += "_tail";
  return name;
}

func::FuncOp makeTileFunction(CpuKernel &kernel, const Epilogue *epilogue, const TileCall &call) {
  SmallVector<Value> arguments = TileBuilder::arguments(call);
  SmallVector<Type> types(TypeRange{ValueRange(arguments)});
  if (!call.rows)
    return kernel.sharedFunction(nameOf(epilogue, call), kernel.builder.getFunctionType(types, {}),
                                 [&](OpBuilder &builder, Block &block) {
                                   TileBuilder(kernel, epilogue, call, builder, block).build();
                                   func::ReturnOp::create(builder, builder.getUnknownLoc());
                                 });
  // A function that calls the one for so many rows.
  types.push_back(call.rows.getType());
  return kernel.sharedFunction(nameOf(epilogue, call), kernel.builder.getFunctionType(types, {}),
                               [&](OpBuilder &builder, Block &block) {
                                 emitRowSwitch(builder, block, call.tile.rows, [&](int64_t rows) {
                                   TileCall one = call;
                                   one.rows = Value();
                                   one.tile.rows = rows;
                                   return makeTileFunction(kernel, epilogue, one);
                                 });
                               });
}

} // namespace

void cpu::emitRowSwitch(OpBuilder &builder, Block &block, int64_t most,
                        llvm::function_ref<func::FuncOp(int64_t rows)> functionFor) {
  Location loc = builder.getUnknownLoc();
  Value rows = Address(builder, loc).toIndex(block.getArguments().back());
  SmallVector<int64_t> cases(most);
  std::iota(cases.begin(), cases.end(), 1);
  auto choice = scf::IndexSwitchOp::create(builder, loc, TypeRange(), rows, cases, cases.size());
  for (auto [count, region] : llvm::zip_equal(cases, choice.getCaseRegions())) {
    func::FuncOp function = functionFor(count);
    OpBuilder inner = OpBuilder::atBlockBegin(&region.emplaceBlock());
    func::CallOp::create(inner, loc, function, ValueRange(block.getArguments().drop_back()));
    scf::YieldOp::create(inner, loc);
  }
  OpBuilder inner = OpBuilder::atBlockBegin(&choice.getDefaultRegion().emplaceBlock());
  scf::YieldOp::create(inner, loc);
  func::ReturnOp::create(builder, loc);
}

Value cpu::emitZeros(CpuKernel &kernel, Value memory, Type type, int64_t elements) {
  Value zero =
      arith::ConstantOp::create(kernel.builder, kernel.loc, kernel.builder.getZeroAttr(type));
  emitFor(kernel, {kernel.index(0), kernel.index(elements)}, 1, [&](Value i) {
    memref::StoreOp::create(kernel.builder, kernel.loc, zero, memory, ValueRange{i});
  });
  return Address(kernel.builder, kernel.loc).ofMemref(memory);
}

void cpu::emitTiles(CpuKernel &kernel, const Epilogue *epilogue, const TileCall &call) {
  TileCall made = call;
  if (call.tile.rows == 1)
    made.rows = Value();
  auto function = makeTileFunction(kernel, epilogue, made);
  SmallVector<Value> arguments = TileBuilder::arguments(made);
  if (made.rows)
    arguments.push_back(made.rows);
  func::CallOp::create(kernel.builder, kernel.loc, function, arguments);
}
