//===- Attention.cpp - attention of heads on the CPU ----------------------===//
//
// A work unit is a block of queries of one head of keys, which are columns here: scores lie
// in memory as [keys][queries] and results as [size][queries]. So keys and values are the left
// operands of both products and are read where they lie, the maximum and the sum of every
// query are lanes of vectors, and the queries of all heads that share keys fill one block.
// Keys are visited in blocks; what was summed before is scaled to the maximum so far.
//
//===----------------------------------------------------------------------===//

#include "codegen/common/Lanes.h"
#include "codegen/cpu/MicroKernel.h"
#include "codegen/cpu/ProductNest.h"
#include "codegen/loops/LoopEmitter.h"
#include "codegen/loops/Nest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

/// Keys whose scores lie in memory at once.
constexpr int64_t kKeyBlock = 96;
/// The longest keys and values of which a block lies in the second cache level.
constexpr int64_t kMaxSize = 512;

/// The rows of the queries in the lanes of a vector.
struct ColumnLanes : LaneEmitter {
  ColumnLanes(CpuKernel &kernel)
      : LaneEmitter(&kernel.sizes, kernel.builder, kernel.loc, /*wide=*/false) {}
  using LaneEmitter::bend;
  using LaneEmitter::clamp;
  using LaneEmitter::divide;
};

/// The sizes that the code is made for.
struct Shape {
  SymExpr batch, keyHeads, rows, keys;
  SymExpr group = 1; ///< heads of queries for each of keys
  int64_t keySize, valueSize;
  SymExpr columns() const { return rows * group; }
};

class AttentionBuilder {
public:
  AttentionBuilder(CpuKernel &kernel, AttentionOp op, const Shape &shape, Tile tile)
      : kernel(kernel), op(op), shape(shape), tile(tile), width(tile.columns()),
        query(memoryOf(kernel, op.getQuery())), key(memoryOf(kernel, op.getKey())),
        value(memoryOf(kernel, op.getValue())), type(kernel.builder.getF32Type()),
        vectorType(VectorType::get({tile.lanes}, type)) {
    types.lhs = types.rhs = types.sum = type;
    queries = reserve(shape.keySize);
    scores = reserve(kKeyBlock);
    sums = reserve(shape.valueSize);
    tops = reserve(1);
    totals = reserve(1);
  }

  static int64_t scratchBytes(const Shape &shape, int64_t width) {
    return (shape.keySize + kKeyBlock + shape.valueSize + 2) * width * 4;
  }

  SymExpr blocks() const { return ceilQuotient(shape.columns(), width); }

  void emitUnit(Value unit) {
    SmallVector<Value> at = delinearize(kernel, unit, {shape.batch, shape.keyHeads, blocks()});
    batch = at[0], keyHead = at[1];
    firstColumn = mulIndex(kernel, at[2], width);
    left = minIndex(kernel, kernel.index(width),
                    subIndex(kernel, kernel.value(shape.columns()), firstColumn));
    packQueries();
    Value zero = splat(0);
    forVectors([&](Value v) {
      store(splat(-std::numeric_limits<double>::infinity()), tops, v);
      store(zero, totals, v);
      forRows(shape.valueSize, [&](Value row) { store(zero, sums, inRow(row, v)); });
    });
    emitFor(kernel, {kernel.index(0), findKeys()}, kKeyBlock, [&](Value firstKey) {
      Value count = minIndex(kernel, kernel.index(kKeyBlock), subIndex(kernel, keyEnd, firstKey));
      multiplyKeys(firstKey, count);
      forVectors([&](Value v) {
        if (isMaskAlongKeys())
          addMask(firstKey, count, v);
        emitSoftmax(firstKey, count, v);
      });
      multiplyValues(firstKey, count);
    });
    storeResult();
  }

private:
  /// Rows of `width` elements of the worker's memory.
  Value reserve(int64_t rows) {
    Value memory = kernel.scratchView(scratchRows * width * 4, type, rows * width);
    scratchRows += rows;
    return memory;
  }
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return kernel.builder.createOrFold<Op>(kernel.loc, std::forward<Args>(args)...);
  }
  Value splat(double number) {
    return arith::ConstantOp::create(
        kernel.builder, kernel.loc,
        DenseElementsAttr::get(vectorType, kernel.builder.getF32FloatAttr(number).getValue()));
  }
  Value load(Value memory, Value at) {
    return vector::LoadOp::create(kernel.builder, kernel.loc, vectorType, memory, ValueRange{at});
  }
  void store(Value vector, Value memory, Value at) {
    vector::StoreOp::create(kernel.builder, kernel.loc, vector, memory, ValueRange{at});
  }
  Value inRow(Value row, Value v) { return addIndex(kernel, mulIndex(kernel, row, width), v); }
  Value number(Value index) { return address().fromIndex(index); }
  Address address() { return Address(kernel.builder, kernel.loc); }

  void forVectors(llvm::function_ref<void(Value)> body) {
    emitFor(kernel, {kernel.index(0), left}, tile.lanes, body);
  }
  void forRows(int64_t rows, llvm::function_ref<void(Value)> body) {
    emitFor(kernel, {kernel.index(0), kernel.index(rows)}, 1, body);
  }

  /// A loop over `count` rows that carries one vector.
  Value fold(Value count, Value init, llvm::function_ref<Value(Value row, Value carried)> body) {
    auto loop = scf::ForOp::create(kernel.builder, kernel.loc, kernel.index(0), count,
                                   kernel.index(1), ValueRange{init});
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPointToStart(loop.getBody());
    Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
    scf::YieldOp::create(kernel.builder, kernel.loc, next);
    return loop.getResult(0);
  }

  /// A row of `lanes` elements from `element` on of the query in column `v` + `lane`. Behind the
  /// last column stands that once more: its result is only written twice.
  Position placeOfColumn(Value v, int64_t lane, Value element, ArrayRef<int64_t> dims,
                         int64_t elements) {
    Value column = addIndex(kernel, firstColumn, addIndex(kernel, v, kernel.index(lane)));
    column = minIndex(kernel, column, kernel.value(shape.columns() - 1));
    Value head = addIndex(kernel, mulIndex(kernel, keyHead, shape.group),
                          remIndex(kernel, column, shape.group));
    Position place;
    place.indices.resize(4);
    place.indices[dims[0]] = batch;
    place.indices[dims[1]] = head;
    place.indices[dims[2]] = divIndex(kernel, column, shape.group);
    place.indices[dims[3]] = element;
    place.vectorDim = dims[3];
    place.lanes = tile.lanes;
    if (elements < tile.lanes)
      place.mask = makeMask(kernel.builder, kernel.loc, kernel.index(elements), tile.lanes);
    return place;
  }

  /// Squares of elements and columns, the last of fewer elements.
  void forSquares(int64_t size,
                  llvm::function_ref<void(Value element, int64_t elements, Value v)> body) {
    int64_t lanes = tile.lanes, whole = size / lanes * lanes;
    forVectors([&](Value v) {
      if (whole > 0)
        emitFor(kernel, {kernel.index(0), kernel.index(whole)}, lanes,
                [&](Value element) { body(element, lanes, v); });
      if (whole < size)
        body(kernel.index(whole), size - whole, v);
    });
  }

  void packQueries() {
    Value scale = splat(op.getScale().convertToDouble());
    forSquares(shape.keySize, [&](Value element, int64_t elements, Value v) {
      SmallVector<Value> square;
      for (int64_t lane = 0; lane < tile.lanes; ++lane)
        square.push_back(
            kernel.expression.load(kernel.builder, kernel.loc, query,
                                   placeOfColumn(v, lane, element, op.getQueryDims(), elements)));
      transposeTile(kernel.builder, kernel.loc, square);
      for (int64_t i = 0; i < elements; ++i)
        store(make<arith::MulFOp>(square[i], scale), queries,
              inRow(addIndex(kernel, element, kernel.index(i)), v));
    });
  }

  void storeResult() {
    forSquares(shape.valueSize, [&](Value element, int64_t elements, Value v) {
      Value zero = splat(0), total = load(totals, v);
      Value factor = make<arith::DivFOp>(splat(1), total);
      Value isHidden = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, total, zero);
      factor = make<arith::SelectOp>(isHidden, zero, factor);
      SmallVector<Value> square(tile.lanes, zero);
      for (int64_t i = 0; i < elements; ++i)
        square[i] = make<arith::MulFOp>(
            load(sums, inRow(addIndex(kernel, element, kernel.index(i)), v)), factor);
      transposeTile(kernel.builder, kernel.loc, square);
      for (auto [lane, row] : llvm::enumerate(square))
        kernel.expression.store(kernel.builder, kernel.loc, row, kernel.results[0],
                                placeOfColumn(v, lane, element, op.getResultDims(), elements));
    });
  }

  /// The end of the keys that some query of the block sees.
  Value findKeys() {
    keyEnd = kernel.value(shape.keys);
    if (!op.getFirst())
      return keyEnd;
    const Access &access = memoryOf(kernel, op.getFirst());
    Position place;
    if (access.type.getRank() == 1)
      place.indices.push_back(batch);
    first =
        make<arith::IndexCastOp>(kernel.builder.getIndexType(),
                                 kernel.expression.load(kernel.builder, kernel.loc, access, place));
    Value last = subIndex(kernel, addIndex(kernel, firstColumn, left), kernel.index(1));
    Value end = addIndex(kernel, first, divIndex(kernel, last, shape.group));
    end = make<arith::MaxSIOp>(addIndex(kernel, end, kernel.index(1)), kernel.index(0));
    return keyEnd = make<arith::MinSIOp>(end, keyEnd);
  }

  /// The address of the first of a block of keys, or of their values.
  Value addressOf(const Access &access, ArrayRef<int64_t> dims, Value firstKey) {
    SmallVector<Value> indices(4, kernel.index(0));
    indices[dims[0]] = batch, indices[dims[1]] = keyHead, indices[dims[2]] = firstKey;
    return address().offset(address().ofMemref(access.memref), type,
                            number(linearize(kernel, indices, access.strides)));
  }

  TileCall makeCall(Value a, const SymExpr &row, const SymExpr &step, Value b, Value output) {
    TileCall call;
    call.types = types;
    call.tile = tile;
    call.count = address().constant(1);
    call.a = a, call.aRow = address().size(kernel, row);
    if (!isOne(step))
      call.aStep = address().size(kernel, step);
    call.b = address().ofMemref(b), call.bRow = address().constant(width);
    call.operands.outputs = {address().ofMemref(output)};
    call.operands.outputRows = {address().constant(width)};
    return call;
  }

  /// Moves a call `rows` rows of its left operand down.
  void advance(TileCall &call, Value rows) {
    call.a = address().offset(call.a, type, address().mul(rows, call.aRow));
    Value &output = call.operands.outputs[0];
    output = address().offset(output, type, address().mul(rows, width));
    if (call.sums)
      call.sums = output;
  }

  /// scores = keys * queries
  void multiplyKeys(Value firstKey, Value count) {
    ArrayRef<int64_t> dims = op.getKeyDims();
    TileCall call = makeCall(addressOf(key, dims, firstKey), key.strides[dims[2]],
                             key.strides[dims[3]], queries, scores);
    call.depth = address().constant(shape.keySize);
    Value tiles = divIndex(kernel, count, tile.rows);
    call.count = number(tiles);
    emitTiles(kernel, nullptr, call);
    if (tile.rows == 1)
      return;
    advance(call, number(mulIndex(kernel, tiles, tile.rows)));
    call.count = address().constant(1);
    call.rows = number(remIndex(kernel, count, tile.rows));
    emitTiles(kernel, nullptr, call);
  }

  /// sums += values * scores, from rows of values as columns of the left operand
  void multiplyValues(Value firstKey, Value count) {
    ArrayRef<int64_t> dims = op.getValueDims();
    TileCall call = makeCall(addressOf(value, dims, firstKey), value.strides[dims[3]],
                             value.strides[dims[2]], scores, sums);
    call.depth = number(count);
    call.sums = call.operands.outputs[0];
    RowSplit split(shape.valueSize, tile.rows);
    int64_t blocks = *split.blocks.asConstant(), larger = *split.larger.asConstant(),
            rows = *split.rows.asConstant();
    for (auto [number, tileRows] :
         {std::pair(larger, rows + 1), std::pair(blocks - larger, rows)}) {
      if (number == 0)
        continue;
      call.tile.rows = tileRows;
      call.count = address().constant(number);
      emitTiles(kernel, nullptr, call);
      advance(call, address().constant(number * tileRows));
    }
  }

  /// Whether every query has numbers of its own in the mask, side by side. What comes in front
  /// of a mask is left to the softmax, which then gathers them.
  bool isMaskAlongKeys() {
    if (!op.getMask() || op.getSoftcap().convertToDouble() != 0)
      return false;
    const Access &mask = memoryOf(kernel, op.getMask());
    Sizes sizes = sizesOf(mask.type);
    return !isOne(sizes[2]) && !isOne(sizes[3]) && isOne(mask.strides[3]);
  }

  /// Adds such a mask to scores, by squares that are transposed in registers. Rows behind the
  /// last key get what nothing reads.
  void addMask(Value firstKey, Value count, Value v) {
    static_assert(kKeyBlock % 16 == 0, "a square stays in the block");
    const Access &mask = memoryOf(kernel, op.getMask());
    Sizes sizes = sizesOf(mask.type);
    auto addSquare = [&](Value row, Value present) {
      SmallVector<Value> square;
      for (int64_t lane = 0; lane < tile.lanes; ++lane) {
        Position place =
            placeOfColumn(v, lane, addIndex(kernel, firstKey, row), {0, 1, 2, 3}, tile.lanes);
        for (auto [index, size] : llvm::zip_equal(place.indices, sizes))
          if (isOne(size))
            index = kernel.index(0);
        place.mask = present;
        square.push_back(kernel.expression.load(kernel.builder, kernel.loc, mask, place));
      }
      transposeTile(kernel.builder, kernel.loc, square);
      for (auto [i, part] : llvm::enumerate(square)) {
        Value at = inRow(addIndex(kernel, row, kernel.index(i)), v);
        store(make<arith::AddFOp>(load(scores, at), part), scores, at);
      }
    };
    Value whole = mulIndex(kernel, divIndex(kernel, count, tile.lanes), tile.lanes);
    emitFor(kernel, {kernel.index(0), whole}, tile.lanes,
            [&](Value row) { addSquare(row, Value()); });
    emitFor(kernel, {whole, count}, tile.lanes, [&](Value row) {
      addSquare(row,
                makeMask(kernel.builder, kernel.loc, subIndex(kernel, count, row), tile.lanes));
    });
  }

  /// Of the queries in one vector, what a key's score becomes in front of the softmax.
  struct Rules {
    Value softcap, reciprocal; ///< null: unbounded
    Value end;                 ///< vector of i32: the first key that is not seen; null: all are
    const Access *mask = nullptr;
    LanePlace place; ///< in the mask, of key 0
  };

  Rules makeRules(Value v) {
    Rules rules;
    if (double softcap = op.getSoftcap().convertToDouble(); softcap != 0)
      rules.softcap = splat(softcap), rules.reciprocal = splat(1 / softcap);
    ColumnLanes lanes(kernel);
    LaneIndex column{addIndex(kernel, firstColumn, v), 1, {}};
    if (!isMultiple(shape.columns(), tile.lanes))
      column = lanes.clamp(column, 0, shape.columns() - 1, tile.lanes);
    LaneIndex row = lanes.divide(column, shape.group, tile.lanes, /*remainder=*/false);
    if (op.getFirst()) {
      Value rows = lanes.bend(row, tile.lanes);
      Value behind = make<arith::IndexCastOp>(kernel.builder.getI32Type(),
                                              addIndex(kernel, first, kernel.index(1)));
      rules.end = make<arith::AddIOp>(rows, make<vector::BroadcastOp>(rows.getType(), behind));
    }
    if (op.getMask() && !isMaskAlongKeys()) {
      rules.mask = &memoryOf(kernel, op.getMask());
      Sizes sizes = sizesOf(rules.mask->type);
      LaneIndex none{kernel.index(0), 0, {}};
      LaneIndex head = lanes.divide(column, shape.group, tile.lanes, /*remainder=*/true);
      Value firstHead = mulIndex(kernel, keyHead, shape.group);
      if (isOne(shape.group)) {
        head = {firstHead, 0, {}};
      } else if (!isOne(sizes[1])) {
        Value heads = lanes.bend(head, tile.lanes);
        Value base = make<arith::IndexCastOp>(kernel.builder.getI32Type(), firstHead);
        head.bent = make<arith::AddIOp>(heads, make<vector::BroadcastOp>(heads.getType(), base));
      }
      rules.place.indices = {isOne(sizes[0]) ? none : LaneIndex{batch, 0, {}},
                             isOne(sizes[1]) ? none : head, isOne(sizes[2]) ? none : row, none};
      rules.place.lanes = tile.lanes;
      rules.place.isVector = true;
    }
    return rules;
  }

  Value applyRules(const Rules &rules, Value score, Value key) {
    if (rules.softcap) {
      score = make<arith::MulFOp>(score, rules.reciprocal);
      score = make<arith::MulFOp>(make<math::TanhOp>(score), rules.softcap);
    }
    if (rules.mask) {
      LanePlace place = rules.place;
      if (!isOne(sizesOf(rules.mask->type)[3]))
        place.indices[3].base = key;
      score = make<arith::AddFOp>(score, ColumnLanes(kernel).load(*rules.mask, place));
    }
    if (rules.end) {
      Value index = make<arith::IndexCastOp>(kernel.builder.getI32Type(), key);
      index = make<vector::BroadcastOp>(rules.end.getType(), index);
      Value isSeen = make<arith::CmpIOp>(arith::CmpIPredicate::slt, index, rules.end);
      score = make<arith::SelectOp>(isSeen, score, splat(-std::numeric_limits<double>::infinity()));
    }
    return score;
  }

  /// Of the queries in the vector `v`: scores become exp(score - top), and everything that was
  /// summed is scaled to the new top.
  void emitSoftmax(Value firstKey, Value count, Value v) {
    Rules rules = makeRules(v);
    bool isChanged = rules.softcap || rules.mask || rules.end;
    Value before = load(tops, v);
    // NaN may get lost in the maximum, since it returns in the sum.
    Value top = fold(count, before, [&](Value row, Value top) {
      Value score = load(scores, inRow(row, v));
      if (isChanged) {
        score = applyRules(rules, score, addIndex(kernel, firstKey, row));
        store(score, scores, inRow(row, v));
      }
      Value isMore = make<arith::CmpFOp>(arith::CmpFPredicate::OGT, score, top);
      return make<arith::SelectOp>(isMore, score, top);
    });
    store(top, tops, v);
    // Where nothing is seen yet, minus infinity would be subtracted from itself.
    Value isNone = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, top,
                                       splat(-std::numeric_limits<double>::infinity()));
    Value shift = make<arith::SelectOp>(isNone, splat(0), top);
    Value total = fold(count, splat(0), [&](Value row, Value total) {
      Value at = inRow(row, v);
      Value weight = make<math::ExpOp>(make<arith::SubFOp>(load(scores, at), shift));
      store(weight, scores, at);
      return make<arith::AddFOp>(total, weight);
    });
    Value factor = make<math::ExpOp>(make<arith::SubFOp>(before, shift));
    total = make<arith::AddFOp>(make<arith::MulFOp>(load(totals, v), factor), total);
    store(total, totals, v);
    forRows(shape.valueSize, [&](Value row) {
      Value at = inRow(row, v);
      store(make<arith::MulFOp>(load(sums, at), factor), sums, at);
    });
  }

  CpuKernel &kernel;
  AttentionOp op;
  const Shape &shape;
  Tile tile;
  int64_t width; ///< columns of a block
  const Access &query, &key, &value;
  Type type;
  VectorType vectorType;
  ProductTypes types;
  int64_t scratchRows = 0;
  Value queries, scores, sums; ///< rows of a block, in scratch memory
  Value tops, totals;          ///< of the scores of every column
  // Of the unit at hand.
  Value batch, keyHead, firstColumn;
  Value left;   ///< columns of the block
  Value first;  ///< where row 0 stands among the keys
  Value keyEnd; ///< of what is seen
};

} // namespace

FailureOr<LaunchShape> cpu::buildAttention(CpuKernel &kernel) {
  auto op = cast<AttentionOp>(kernel.root);
  Sizes query = AttentionOp::logicalSizes(op.getQuery(), op.getQueryDims());
  Sizes key = AttentionOp::logicalSizes(op.getKey(), op.getKeyDims());
  Sizes value = AttentionOp::logicalSizes(op.getValue(), op.getValueDims());
  auto isBounded = [](const SymExpr &size) {
    return size.asConstant().value_or(0) >= 1 && *size.asConstant() <= kMaxSize;
  };
  bool isFloat = cast<RankedTensorType>(op.getType()).getElementType().isF32();
  if (!isFloat || !isBounded(query[3]) || !isBounded(value[3]) || !query[1].asConstant() ||
      key[1].asConstant().value_or(0) < 1 || kernel.caps.vectorBytes == 0)
    return buildAttentionRows(kernel);
  if (failed(expectAlone(kernel)))
    return failure();

  Shape shape{query[0],
              key[1],
              query[2],
              key[2],
              *query[1].asConstant() / *key[1].asConstant(),
              *query[3].asConstant(),
              *value[3].asConstant()};
  ProductTypes types;
  types.lhs = types.rhs = types.sum = kernel.builder.getF32Type();
  int64_t lanes = kernel.caps.lanes(types.sum);
  Tile wide = chooseTileUpTo(kernel.caps, types, kManyRows, kPanelColumns);
  // Few queries, as when a model writes word by word, fill one vector.
  Tile narrow = chooseTileUpTo(kernel.caps, types, kManyRows, lanes);
  std::optional<int64_t> columns = shape.columns().asConstant();
  auto emit = [&](Tile tile) {
    AttentionBuilder builder(kernel, op, shape, tile);
    emitFor(kernel, {kernel.begin, kernel.end}, 1, [&](Value unit) { builder.emitUnit(unit); });
  };
  if (columns) {
    wide = *columns <= lanes ? narrow : wide;
    emit(wide);
  } else {
    Value isNarrow = arith::CmpIOp::create(kernel.builder, kernel.loc, arith::CmpIPredicate::sle,
                                           kernel.value(shape.columns()), kernel.index(lanes));
    auto choice = scf::IfOp::create(kernel.builder, kernel.loc, isNarrow, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPointToStart(choice.thenBlock());
    emit(narrow);
    kernel.builder.setInsertionPointToStart(choice.elseBlock());
    emit(wide);
  }
  SymExpr units = shape.batch * shape.keyHeads * ceilQuotient(shape.columns(), wide.columns());
  double perColumn = 2.0 * (shape.keySize + shape.valueSize);
  double keys = typicalValue(shape.keys);
  double micros = estimateMicros(perColumn * keys * wide.columns(), 2 * perColumn * keys);
  return LaunchShape{units, grainFor(micros * 1000, typicalValue(units)),
                     static_cast<uint64_t>(AttentionBuilder::scratchBytes(shape, wide.columns()))};
}
