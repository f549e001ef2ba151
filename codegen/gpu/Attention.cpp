//===- Attention.cpp - attention, a tile of queries for a workgroup -------===//
//
// The rows of all heads that share keys are the rows of a product with the keys, of which a
// workgroup takes a tile. Keys and values pass through shared memory in blocks; what was
// summed of the blocks before is scaled to the largest score so far, so that no more scores
// than those of a block are ever in memory. Where there are few rows, as when a model writes
// word by word, threads stand along the keys.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/GpuKernel.h"

#include "codegen/loops/Attention.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;
using loops::AttentionRules;

namespace {

/// How the threads of a workgroup share a tile. They stand in a rectangle; the rows, keys and
/// columns of values that one thread has are as many apart as threads stand side by side.
struct TileShape {
  int64_t threadRows, threadColumns;
  int64_t eachRow, eachKey, eachValue;
  int64_t size, valueSize; ///< of a key, and of a value
  int64_t keyDepth;        ///< elements of a key that are in shared memory at once
  int64_t valueKeys;       ///< keys whose values are

  int64_t rows() const { return threadRows * eachRow; }
  int64_t keys() const { return threadColumns * eachKey; }
  // A line ends with an element that nothing uses: threads that read below each other use
  // different banks.
  int64_t queryLine() const { return size + 1; }
  int64_t weightLine() const { return keys() + 1; }
  int64_t keyLine() const { return keyDepth + 1; }
  int64_t panel() const { return std::max(keys() * keyLine(), valueKeys * valueSize); }

  /// The largest tile of at most about `rows` rows whose parts, of at most `elements` elements
  /// together, lie in shared memory; none where values are too long.
  static std::optional<TileShape> choose(int64_t threads, int64_t elements, int64_t rows,
                                         int64_t size, int64_t valueSize);
};

class AttentionTiles {
public:
  AttentionTiles(GpuKernel &kernel, const AttentionRules &rules, int64_t group,
                 const TileShape &tile)
      : kernel(kernel), rules(rules), op(rules.op), loc(kernel.loc), group(group), tile(tile),
        rowsOfHead(rules.rows * group) {}

  void build();

private:
  /// One of the thread's rows.
  struct Row {
    Value inTile;
    Value isInside;  ///< else it stands for the last one once more
    Value head, row; ///< of the query
    Value end;       ///< the first key that it does not see
  };
  /// What goes from block to block, for each of the thread's rows.
  struct State {
    Values tops, totals;
    Values sums; ///< `eachValue` each
    Values pack() const;
    static State unpack(ValueRange values, const TileShape &tile);
  };

  Value load(LoopEmitter &emit, Value memory, Value line, int64_t lineSize, Value at) {
    return memref::LoadOp::create(emit.builder, loc, memory,
                                  emit.add(emit.mul(line, emit.constant(lineSize)), at));
  }
  void store(LoopEmitter &emit, Value value, Value memory, Value line, int64_t lineSize, Value at) {
    memref::StoreOp::create(emit.builder, loc, value, memory,
                            emit.add(emit.mul(line, emit.constant(lineSize)), at));
  }
  Value splitRow(LoopEmitter &emit, Value inTile, Value &head, Value &row);
  void fillQueries(LoopEmitter &emit);
  /// The products of the thread's rows and keys.
  Values multiplyKeys(LoopEmitter &emit, Value firstKey);
  /// Adds the weighted values of `count` keys.
  void addValues(LoopEmitter &emit, Value firstKey, Value count, Values &sums);
  State addBlock(LoopEmitter &emit, Value firstKey, Value end, const State &before);
  /// What `combine` makes of the values of all threads of a row, for each of the thread's rows.
  Values combineColumns(LoopEmitter &emit, ArrayRef<Value> values,
                        llvm::function_ref<Value(LoopEmitter &, Value, Value)> combine);
  void emitTile(LoopEmitter &emit, Value unit);

  GpuKernel &kernel;
  const AttentionRules &rules;
  AttentionOp op;
  Location loc;
  int64_t group; ///< heads of queries for each of keys
  TileShape tile;
  SymExpr rowsOfHead; ///< rows of all queries of a head of keys
  Value queries;      ///< [rows][queryLine]
  Value panel;        ///< keys [keys][keyLine], or values [valueKeys][valueSize]
  Value weights;      ///< [rows][weightLine]
  Value columns;      ///< [rows][threadColumns]: a value of each thread for each of its rows
  Value threadRow, threadColumn;
  // Of the tile at hand.
  Value batch, keyHead, firstRow;
  SmallVector<Row> threadRows;
};

} // namespace

std::optional<TileShape> TileShape::choose(int64_t threads, int64_t elements, int64_t rows,
                                           int64_t size, int64_t valueSize) {
  TileShape tile;
  tile.size = size, tile.valueSize = valueSize;
  tile.threadRows = std::min<int64_t>(8, llvm::PowerOf2Ceil(std::max<int64_t>(rows, 1)));
  tile.threadColumns = threads / tile.threadRows;
  tile.eachKey = 2;
  tile.eachValue = llvm::divideCeil(valueSize, tile.threadColumns);
  for (tile.eachRow = 4; tile.eachRow > 0; tile.eachRow /= 2) {
    bool isTooTall = tile.eachRow > 1 && tile.rows() / 2 >= rows;
    constexpr int64_t registers = 64;
    if (isTooTall || (tile.eachRow > 1 && tile.eachRow * tile.eachValue > registers))
      continue;
    int64_t left =
        elements - tile.rows() * (tile.queryLine() + tile.weightLine() + tile.threadColumns);
    int64_t depth = left / tile.keys() - 1, valueKeys = left / valueSize;
    if (depth < std::min<int64_t>(size, 8) || valueKeys < 1)
      continue;
    // Of equal parts none is nearly empty, and whole blocks are whole parts of values.
    tile.keyDepth = llvm::divideCeil(size, llvm::divideCeil(size, depth));
    tile.valueKeys = llvm::bit_floor<uint64_t>(std::min(valueKeys, tile.keys()));
    return tile;
  }
  return std::nullopt;
}

Values AttentionTiles::State::pack() const {
  Values values(tops);
  llvm::append_range(values, totals);
  llvm::append_range(values, sums);
  return values;
}

AttentionTiles::State AttentionTiles::State::unpack(ValueRange values, const TileShape &tile) {
  auto part = [&](int64_t first, int64_t count) {
    return llvm::to_vector_of<Value>(values.slice(first, count));
  };
  int64_t rows = tile.eachRow;
  return {part(0, rows), part(rows, rows), part(2 * rows, rows * tile.eachValue)};
}

/// Which row of which head stands in a row of the tile; the result says whether it is one.
Value AttentionTiles::splitRow(LoopEmitter &emit, Value inTile, Value &head, Value &row) {
  Value number = emit.add(firstRow, inTile), count = emit.size(rowsOfHead);
  Value isInside = emit.less(number, count);
  number = emit.select(isInside, number, emit.sub(count, 1));
  Value heads = emit.constant(group);
  head = emit.add(emit.mul(keyHead, heads), emit.rem(number, heads));
  row = emit.div(number, heads);
  return isInside;
}

void AttentionTiles::fillQueries(LoopEmitter &emit) {
  kernel.shareNumbers(emit, tile.rows() * tile.size, [&](LoopEmitter &e, Value number) {
    Value line = e.div(number, e.constant(tile.size)), at = e.rem(number, e.constant(tile.size));
    Value head, row;
    splitRow(e, line, head, row);
    Value element = e.load(rules.query, rules.physical({batch, head, row, at}, op.getQueryDims()));
    store(e, element, queries, line, tile.queryLine(), at);
  });
}

Values AttentionTiles::multiplyKeys(LoopEmitter &emit, Value firstKey) {
  Values zeros(tile.eachRow * tile.eachKey, rules.number(emit, 0));
  Value parts = emit.constant(llvm::divideCeil(tile.size, tile.keyDepth));
  return emit.loop(emit.constant(0), parts, zeros, [&](LoopEmitter &e, Value part, ValueRange in) {
    Value first = e.mul(part, e.constant(tile.keyDepth));
    Value lastKey = e.sub(e.size(rules.keys), 1), lastAt = e.constant(tile.size - 1);
    kernel.shareNumbers(e, tile.keys() * tile.keyDepth, [&](LoopEmitter &e, Value number) {
      Value depth = e.constant(tile.keyDepth);
      Value line = e.div(number, depth), at = e.rem(number, depth);
      // What lies behind the last key or element is never used.
      Value key = e.min(e.add(firstKey, line), lastKey);
      Value from = e.min(e.add(first, at), lastAt);
      Value element =
          e.load(rules.key, rules.physical({batch, keyHead, key, from}, op.getKeyDims()));
      store(e, element, panel, line, tile.keyLine(), at);
    });
    kernel.barrier(e.builder);
    Value count = e.min(e.constant(tile.keyDepth), e.sub(e.constant(tile.size), first));
    Values sums = e.loop(e.constant(0), count, in, [&](LoopEmitter &e, Value at, ValueRange sums) {
      Values left, right, next;
      for (const Row &row : threadRows)
        left.push_back(load(e, queries, row.inTile, tile.queryLine(), e.add(first, at)));
      for (int64_t j = 0; j < tile.eachKey; ++j)
        right.push_back(
            load(e, panel, e.add(threadColumn, j * tile.threadColumns), tile.keyLine(), at));
      for (int64_t i = 0; i < tile.eachRow; ++i)
        for (int64_t j = 0; j < tile.eachKey; ++j)
          next.push_back(e.make<math::FmaOp>(left[i], right[j], sums[i * tile.eachKey + j]));
      return next;
    });
    kernel.barrier(e.builder);
    return sums;
  });
}

void AttentionTiles::addValues(LoopEmitter &emit, Value firstKey, Value count, Values &sums) {
  Value zero = emit.constant(0), partKeys = emit.constant(tile.valueKeys);
  Values valueColumns;
  for (int64_t j = 0; j < tile.eachValue; ++j)
    valueColumns.push_back(emit.min(emit.add(threadColumn, j * tile.threadColumns),
                                    emit.constant(tile.valueSize - 1)));
  Value parts = emit.div(emit.add(count, tile.valueKeys - 1), partKeys);
  sums = emit.loop(zero, parts, sums, [&](LoopEmitter &e, Value part, ValueRange in) {
    Value first = e.mul(part, partKeys), lastKey = e.sub(e.size(rules.keys), 1);
    kernel.shareNumbers(e, tile.valueKeys * tile.valueSize, [&](LoopEmitter &e, Value number) {
      Value size = e.constant(tile.valueSize);
      Value key = e.add(e.add(firstKey, first), e.div(number, size));
      Values from = {batch, keyHead, e.min(key, lastKey), e.rem(number, size)};
      Value element = e.load(rules.value, rules.physical(from, op.getValueDims()));
      memref::StoreOp::create(e.builder, loc, element, panel, number);
    });
    kernel.barrier(e.builder);
    Values next = e.loop(
        zero, e.min(partKeys, e.sub(count, first)), in,
        [&](LoopEmitter &e, Value key, ValueRange sums) {
          Values values, next;
          for (Value column : valueColumns)
            values.push_back(load(e, panel, key, tile.valueSize, column));
          for (auto [i, row] : llvm::enumerate(threadRows)) {
            Value weight = load(e, weights, row.inTile, tile.weightLine(), e.add(first, key));
            for (auto [j, value] : llvm::enumerate(values))
              next.push_back(e.make<math::FmaOp>(weight, value, sums[i * tile.eachValue + j]));
          }
          return next;
        });
    kernel.barrier(e.builder);
    return next;
  });
}

Values
AttentionTiles::combineColumns(LoopEmitter &emit, ArrayRef<Value> values,
                               llvm::function_ref<Value(LoopEmitter &, Value, Value)> combine) {
  for (auto [row, value] : llvm::zip_equal(threadRows, values))
    store(emit, value, columns, row.inTile, tile.threadColumns, threadColumn);
  kernel.barrier(emit.builder);
  Values results;
  for (const Row &row : threadRows) {
    auto element = [&](LoopEmitter &e, Value at) {
      return load(e, columns, row.inTile, tile.threadColumns, at);
    };
    results.push_back(emit.loop(emit.constant(1), emit.constant(tile.threadColumns),
                                element(emit, emit.constant(0)),
                                [&](LoopEmitter &e, Value at, ValueRange carried) {
                                  return Values{combine(e, carried[0], element(e, at))};
                                })[0]);
  }
  return results;
}

AttentionTiles::State AttentionTiles::addBlock(LoopEmitter &emit, Value firstKey, Value end,
                                               const State &before) {
  Values scores = multiplyKeys(emit, firstKey);
  Value lastKey = emit.sub(emit.size(rules.keys), 1);
  Value lowest = rules.number(emit, -std::numeric_limits<double>::infinity());
  // NaN may get lost in the maximum, since it returns in the sum.
  auto larger = [&](LoopEmitter &e, Value a, Value b) {
    return e.select(rules.isMore(e, b, a), b, a);
  };
  Values tops(before.tops);
  for (auto [i, row] : llvm::enumerate(threadRows))
    for (int64_t j = 0; j < tile.eachKey; ++j) {
      Value &score = scores[i * tile.eachKey + j];
      Value key = emit.add(firstKey, emit.add(threadColumn, j * tile.threadColumns));
      Value value = rules.score(emit, score, {batch, row.head, row.row, emit.min(key, lastKey)});
      score = emit.select(emit.less(key, row.end), value, lowest);
      tops[i] = larger(emit, tops[i], score);
    }
  State after;
  after.tops = combineColumns(emit, tops, larger);
  for (auto [i, row] : llvm::enumerate(threadRows)) {
    Value shift = rules.shiftOf(emit, after.tops[i]);
    Value factor = emit.make<math::ExpOp>(emit.make<arith::SubFOp>(before.tops[i], shift));
    Value total = emit.make<arith::MulFOp>(before.totals[i], factor);
    for (int64_t j = 0; j < tile.eachKey; ++j) {
      Value weight =
          emit.make<math::ExpOp>(emit.make<arith::SubFOp>(scores[i * tile.eachKey + j], shift));
      store(emit, weight, weights, row.inTile, tile.weightLine(),
            emit.add(threadColumn, j * tile.threadColumns));
      total = emit.make<arith::AddFOp>(total, weight);
    }
    after.totals.push_back(total);
    for (int64_t j = 0; j < tile.eachValue; ++j)
      after.sums.push_back(emit.make<arith::MulFOp>(before.sums[i * tile.eachValue + j], factor));
  }
  Value count = emit.min(emit.constant(tile.keys()), emit.sub(end, firstKey));
  addValues(emit, firstKey, count, after.sums);
  return after;
}

void AttentionTiles::emitTile(LoopEmitter &emit, Value unit) {
  SymExpr tiles = SymExpr::floorDiv(rowsOfHead + (tile.rows() - 1), tile.rows());
  Values at = emit.delinearize(unit, {rules.batch, rules.keyHeads, tiles});
  batch = at[0], keyHead = at[1], firstRow = emit.mul(at[2], emit.constant(tile.rows()));
  Value columnCount = emit.constant(tile.threadColumns);
  threadRow = emit.div(kernel.thread, columnCount);
  threadColumn = emit.rem(kernel.thread, columnCount);
  threadRows.clear();
  for (int64_t i = 0; i < tile.eachRow; ++i) {
    Row row;
    row.inTile = emit.add(threadRow, i * tile.threadRows);
    row.isInside = splitRow(emit, row.inTile, row.head, row.row);
    row.end = rules.countSeen(emit, batch, row.row);
    threadRows.push_back(row);
  }
  // Later rows see more keys.
  Value lastHead, lastRow;
  splitRow(emit, emit.constant(tile.rows() - 1), lastHead, lastRow);
  Value end = rules.countSeen(emit, batch, lastRow);
  fillQueries(emit);

  Value zero = rules.number(emit, 0);
  Value lowest = rules.number(emit, -std::numeric_limits<double>::infinity());
  State start{Values(tile.eachRow, lowest), Values(tile.eachRow, zero),
              Values(tile.eachRow * tile.eachValue, zero)};
  Value keys = emit.constant(tile.keys());
  Value blocks = emit.div(emit.add(end, tile.keys() - 1), keys);
  Values last = emit.loop(emit.constant(0), blocks, start.pack(),
                          [&](LoopEmitter &e, Value block, ValueRange carried) {
                            State before = State::unpack(carried, tile);
                            return addBlock(e, e.mul(block, keys), end, before).pack();
                          });
  State state = State::unpack(last, tile);
  Values totals = combineColumns(emit, state.totals, [](LoopEmitter &e, Value a, Value b) {
    return e.make<arith::AddFOp>(a, b);
  });
  for (int64_t i = 0; i < tile.eachRow; ++i) {
    const Row &row = threadRows[i];
    Value factor = rules.factorOf(emit, totals[i]);
    for (int64_t j = 0; j < tile.eachValue; ++j) {
      Value column = emit.add(threadColumn, j * tile.threadColumns);
      Value isInside = emit.both(row.isInside, emit.less(column, emit.constant(tile.valueSize)));
      Value value = emit.make<arith::MulFOp>(state.sums[i * tile.eachValue + j], factor);
      emit.branch(isInside, [&](LoopEmitter &e) {
        e.store(value, rules.result,
                rules.physical({batch, row.head, row.row, column}, op.getResultDims()));
      });
    }
  }
  kernel.barrier(emit.builder); // before the memory is used again
}

void AttentionTiles::build() {
  queries = kernel.allocateShared(rules.type, tile.rows() * tile.queryLine());
  panel = kernel.allocateShared(rules.type, tile.panel());
  weights = kernel.allocateShared(rules.type, tile.rows() * tile.weightLine());
  columns = kernel.allocateShared(rules.type, tile.rows() * tile.threadColumns);
  kernel.launch.grid =
      rules.batch * rules.keyHeads * SymExpr::floorDiv(rowsOfHead + (tile.rows() - 1), tile.rows());
  kernel.emitWorkgroupUnits([&](LoopEmitter &emit, Value unit) { emitTile(emit, unit); });
}

LogicalResult gpucode::buildAttention(GpuKernel &kernel) {
  if (failed(loops::expectAlone(kernel)))
    return failure();
  AttentionRules rules(kernel, cast<AttentionOp>(kernel.root));
  std::optional<int64_t> heads = rules.heads.asConstant(), keyHeads = rules.keyHeads.asConstant();
  std::optional<int64_t> size = rules.size.asConstant(), valueSize = rules.valueSize.asConstant();
  if (!heads || keyHeads.value_or(0) < 1 || size.value_or(0) < 1 || valueSize.value_or(0) < 1)
    return buildThreads(kernel);
  int64_t group = *heads / *keyHeads;
  int64_t elements = kernel.device.sharedBytes / (rules.type.getIntOrFloatBitWidth() / 8);
  std::optional<TileShape> tile = TileShape::choose(
      kernel.launch.block, elements, typicalValue(rules.rows * group), *size, *valueSize);
  if (!tile)
    return buildThreads(kernel);
  AttentionTiles(kernel, rules, group, *tile).build();
  return success();
}
