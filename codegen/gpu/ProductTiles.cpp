//===- ProductTiles.cpp - a product by tiles, one for a workgroup ---------===//
//
// Both operands pass through shared memory, a slice of the depth at a time, as vectors of
// neighbouring rows or columns, so that a thread reads several of its own at once. Where an
// operand lies in memory so that neighbours can be read at once, they are: without a look at
// borders, beyond which stand repetitions of the last row or column that nobody stores.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/Product.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

/// Threads of a workgroup stand in a square of this side.
static constexpr int64_t kSide = 8, kThreads = kSide * kSide;

/// Bytes of a vector in shared memory.
static constexpr int64_t kVectorBytes = 16;

/// Steps of the depth that the inner loop does at once: sums stay where they are meanwhile.
static constexpr int64_t kUnroll = 4;

namespace {

/// How much of a product is in shared memory at once.
struct TileShape {
  TileShape(Type sumType, int64_t each)
      : each(each), side(kSide * each), depth(each == 8 ? 16 : 32),
        lanes(kVectorBytes * 8 / sumType.getIntOrFloatBitWidth()) {}

  int64_t each;  ///< rows and columns of a thread
  int64_t side;  ///< of the tile
  int64_t depth; ///< of a slice
  int64_t lanes; ///< of a vector

  /// Vectors from one step of the depth to the next: one more than there are, so that threads
  /// that write below each other use different banks.
  int64_t line() const { return side / lanes + 1; }
  int64_t vectors() const { return depth * line(); }
  /// Groups of a thread's rows or columns; those of one group are neighbours.
  int64_t groups() const { return each / lanes; }
};

class TiledProduct {
public:
  TiledProduct(GpuKernel &kernel, Product &product, int64_t each)
      : kernel(kernel), product(product), loc(kernel.loc), tile(product.sumType, each),
        vectorType(VectorType::get({tile.lanes}, product.sumType)),
        batches(lumen::product(ArrayRef(product.rows).take_front(product.batchDims))),
        rows(lumen::product(ArrayRef(product.rows).drop_front(product.batchDims))),
        rowTiles(ceilQuotient(rows, tile.side)),
        columnTiles(ceilQuotient(product.columns, tile.side)) {}

  void build();

private:
  /// One of the operands.
  struct Operand {
    bool isLeft;
    SymExpr extent; ///< rows or columns
    Value slice;    ///< in shared memory
    std::optional<NeighbourAccess> neighbours;
    // Of the tile at hand.
    Value first;                   ///< row or column
    llvm::SmallVector<Line> lines; ///< that this thread reads as neighbours
  };

  static SymExpr ceilQuotient(const SymExpr &a, int64_t b) {
    return SymExpr::floorDiv(a + (b - 1), b);
  }
  void emitTile(LoopEmitter &emit, Value unit);
  /// The indices of a row of the batch at hand.
  Values rowIndices(LoopEmitter &emit, Value row);
  Value element(LoopEmitter &emit, const Operand &operand, Value at, Value k);
  void storeVector(LoopEmitter &emit, const Operand &operand, Value step, Value number,
                   ArrayRef<Value> elements);

  void findLines(LoopEmitter &emit, Operand &operand);
  void fill(LoopEmitter &emit, const Operand &operand, Value firstK);
  void fillByNeighbours(LoopEmitter &emit, const Operand &operand, Value firstK);
  void fillByElements(LoopEmitter &emit, const Operand &operand, Value firstK);
  Values multiply(LoopEmitter &emit, ValueRange sums);
  void storeSums(LoopEmitter &emit, ArrayRef<Value> sums);

  /// Calls `body` where `index` is below `size`, if it may not be: it counts in a tile.
  void guard(LoopEmitter &emit, Value index, const SymExpr &size,
             llvm::function_ref<void(LoopEmitter &)> body) {
    if (isMultiple(size, tile.side))
      return body(emit);
    emit.branch(emit.less(index, emit.size(size)), body);
  }

  GpuKernel &kernel;
  Product &product;
  Location loc;
  TileShape tile;
  VectorType vectorType;
  SymExpr batches, rows, rowTiles, columnTiles;
  Operand lhs, rhs;
  llvm::SmallVector<NeighbourAccess> results; ///< none: columns are stored one by one
  Value threadRow, threadColumn;
  // Of the tile at hand.
  Values batch; ///< indices
  Value group;
};

} // namespace

Values TiledProduct::rowIndices(LoopEmitter &emit, Value row) {
  Values indices = batch;
  llvm::append_range(indices,
                     emit.delinearize(row, ArrayRef(product.rows).drop_front(product.batchDims)));
  return indices;
}

Value TiledProduct::element(LoopEmitter &emit, const Operand &operand, Value at, Value k) {
  Value isInside =
      emit.both(emit.less(at, emit.size(operand.extent)), emit.less(k, emit.size(product.depth)));
  return emit.branch(
      isInside, product.sumType,
      [&](LoopEmitter &e) {
        return Values{operand.isLeft ? product.lhs(e, rowIndices(e, at), group, k)
                                     : product.rhs(e, batch, group, k, at)};
      },
      [&](LoopEmitter &e) { return Values{product.zero(e)}; })[0];
}

void TiledProduct::storeVector(LoopEmitter &emit, const Operand &operand, Value step, Value number,
                               ArrayRef<Value> elements) {
  Value vector = emit.make<vector::FromElementsOp>(vectorType, elements);
  Value at = emit.add(emit.mul(step, emit.constant(tile.line())), number);
  memref::StoreOp::create(emit.builder, loc, vector, operand.slice, at);
}

//===----------------------------------------------------------------------===//
// From memory to shared memory
//===----------------------------------------------------------------------===//

void TiledProduct::findLines(LoopEmitter &emit, Operand &operand) {
  operand.lines.clear();
  if (!operand.neighbours)
    return;
  // Those of `count` rows or columns from `at` on.
  auto line = [&](Value at, int64_t count) {
    if (!operand.neighbours->isPadded && !isMultiple(operand.extent, tile.side))
      at = emit.min(at, emit.sub(emit.size(operand.extent), count));
    return operand.isLeft ? product.lhsLine(emit, *operand.neighbours, rowIndices(emit, at), group)
                          : product.rhsLine(emit, *operand.neighbours, batch, group, at);
  };
  Value lanes = emit.constant(tile.lanes);
  if (!operand.neighbours->alongDepth) {
    Value number = emit.rem(kernel.thread, emit.constant(tile.side / tile.lanes));
    operand.lines.push_back(line(emit.add(operand.first, emit.mul(number, lanes)), tile.lanes));
    return;
  }
  int64_t blocks = tile.depth / tile.lanes, apart = kThreads / blocks;
  Value number = emit.div(kernel.thread, emit.constant(blocks));
  for (int64_t first = 0; first < tile.side / tile.lanes; first += apart)
    for (int64_t lane = 0; lane < tile.lanes; ++lane) {
      Value inTile = emit.add(emit.mul(emit.add(number, first), lanes), lane);
      operand.lines.push_back(line(emit.add(operand.first, inTile), 1));
    }
}

void TiledProduct::fillByNeighbours(LoopEmitter &emit, const Operand &operand, Value firstK) {
  // Elements at the step `step` of the slice, on a line; behind the depth stand zeros.
  auto read = [&](const Line &line, Value step) {
    Value k = emit.add(firstK, step), isInside;
    if (!isMultiple(product.depth, tile.depth)) {
      isInside = emit.less(k, emit.size(product.depth));
      k = emit.select(isInside, k, emit.constant(0));
    }
    Values values = operand.isLeft ? product.lhsElements(emit, *operand.neighbours, line, k)
                                   : product.rhsElements(emit, *operand.neighbours, line, k);
    if (isInside)
      for (Value &value : values)
        value = emit.select(isInside, value, product.zero(emit));
    return values;
  };
  if (!operand.neighbours->alongDepth) {
    int64_t across = tile.side / tile.lanes, apart = kThreads / across;
    Value number = emit.rem(kernel.thread, emit.constant(across));
    Value firstStep = emit.div(kernel.thread, emit.constant(across));
    for (int64_t i = 0; i < tile.depth; i += apart) {
      Value step = emit.add(firstStep, i);
      storeVector(emit, operand, step, number, read(operand.lines.front(), step));
    }
    return;
  }
  // Squares of as many lines as lanes, turned in registers.
  int64_t blocks = tile.depth / tile.lanes, apart = kThreads / blocks;
  Value step = emit.mul(emit.rem(kernel.thread, emit.constant(blocks)), emit.constant(tile.lanes));
  Value number = emit.div(kernel.thread, emit.constant(blocks));
  for (int64_t first = 0; first < tile.side / tile.lanes; first += apart) {
    SmallVector<Values> square;
    for (const Line &line : ArrayRef(operand.lines).slice(first / apart * tile.lanes, tile.lanes))
      square.push_back(read(line, step));
    for (int64_t i = 0; i < tile.lanes; ++i) {
      Values turned;
      for (const Values &line : square)
        turned.push_back(line[i]);
      storeVector(emit, operand, emit.add(step, i), emit.add(number, first), turned);
    }
  }
}

void TiledProduct::fillByElements(LoopEmitter &emit, const Operand &operand, Value firstK) {
  int64_t across = tile.side / tile.lanes;
  kernel.shareNumbers(emit, across * tile.depth, [&](LoopEmitter &e, Value count) {
    // Neighbouring threads read what mostly lies side by side.
    Value inner = e.constant(operand.isLeft ? tile.depth : across);
    Value step = e.div(count, inner), number = e.rem(count, inner);
    if (operand.isLeft)
      std::swap(step, number);
    Value first = e.add(operand.first, e.mul(number, e.constant(tile.lanes)));
    Values values;
    for (int64_t lane = 0; lane < tile.lanes; ++lane)
      values.push_back(element(e, operand, e.add(first, lane), e.add(firstK, step)));
    storeVector(e, operand, step, number, values);
  });
}

void TiledProduct::fill(LoopEmitter &emit, const Operand &operand, Value firstK) {
  if (!operand.neighbours)
    return fillByElements(emit, operand, firstK);
  emit.branch(
      operand.neighbours->isAligned, [&](LoopEmitter &e) { fillByNeighbours(e, operand, firstK); },
      [&](LoopEmitter &e) { fillByElements(e, operand, firstK); });
}

//===----------------------------------------------------------------------===//
// From shared memory to the result
//===----------------------------------------------------------------------===//

Values TiledProduct::multiply(LoopEmitter &emit, ValueRange sums) {
  Value unroll = emit.constant(kUnroll);
  return emit.loop(emit.constant(0), emit.constant(tile.depth / kUnroll), sums,
                   [&](LoopEmitter &e, Value part, ValueRange carried) {
                     Values next(carried);
                     for (int64_t i = 0; i < kUnroll; ++i) {
                       Value line = e.mul(e.add(e.mul(part, unroll), i), e.constant(tile.line()));
                       auto load = [&](const Operand &operand, Value threadAt,
                                       int64_t group) -> Value {
                         Value at = e.add(e.add(line, threadAt), group * kSide);
                         return memref::LoadOp::create(e.builder, loc, operand.slice, at);
                       };
                       Values left, right;
                       for (int64_t group = 0; group < tile.groups(); ++group) {
                         right.push_back(load(rhs, threadColumn, group));
                         Value vector = load(lhs, threadRow, group);
                         for (int64_t lane = 0; lane < tile.lanes; ++lane) {
                           Value value = e.make<vector::ExtractOp>(vector, lane);
                           left.push_back(e.make<vector::BroadcastOp>(vectorType, value));
                         }
                       }
                       for (auto [row, a] : llvm::enumerate(left))
                         for (auto [column, b] : llvm::enumerate(right)) {
                           Value &sum = next[row * tile.groups() + column];
                           sum = product.multiplyAdd(e, a, b, sum);
                         }
                     }
                     return next;
                   });
}

void TiledProduct::storeSums(LoopEmitter &emit, ArrayRef<Value> sums) {
  // The place in the tile of a thread's row or column.
  auto place = [&](LoopEmitter &e, Value thread, int64_t i) {
    Value group = e.add(thread, i / tile.lanes * kSide);
    return e.add(e.mul(group, e.constant(tile.lanes)), i % tile.lanes);
  };
  auto elementsOf = [&](LoopEmitter &e, int64_t row, int64_t group) {
    Values elements;
    for (int64_t lane = 0; lane < tile.lanes; ++lane)
      elements.push_back(e.make<vector::ExtractOp>(sums[row * tile.groups() + group], lane));
    return elements;
  };
  for (int64_t i = 0; i < tile.each; ++i) {
    Value row = emit.add(lhs.first, place(emit, threadRow, i));
    guard(emit, row, rows, [&](LoopEmitter &e) {
      Values indices = rowIndices(e, row);
      for (int64_t j = 0; j < tile.each; j += results.empty() ? 1 : tile.lanes) {
        Value column = e.add(rhs.first, place(e, threadColumn, j));
        guard(e, column, product.columns, [&](LoopEmitter &inner) {
          Values elements = elementsOf(inner, i, j / tile.lanes);
          if (results.empty())
            product.store(inner, indices, group, column, elements[j % tile.lanes]);
          else
            product.store(inner, indices, group, column, elements, results);
        });
      }
    });
  }
}

void TiledProduct::emitTile(LoopEmitter &emit, Value unit) {
  Sizes space{batches, SymExpr(product.groups), rowTiles, columnTiles};
  Values at = emit.delinearize(unit, space);
  batch = emit.delinearize(at[0], ArrayRef(product.rows).take_front(product.batchDims));
  group = at[1];
  lhs.first = emit.mul(at[2], emit.constant(tile.side));
  rhs.first = emit.mul(at[3], emit.constant(tile.side));
  findLines(emit, lhs);
  findLines(emit, rhs);

  Value zero = emit.make<vector::BroadcastOp>(vectorType, product.zero(emit));
  Values zeros(tile.each * tile.groups(), zero);
  Values sums = emit.loop(emit.constant(0), emit.size(ceilQuotient(product.depth, tile.depth)),
                          zeros, [&](LoopEmitter &e, Value slice, ValueRange carried) {
                            Value firstK = e.mul(slice, e.constant(tile.depth));
                            fill(e, lhs, firstK);
                            fill(e, rhs, firstK);
                            kernel.barrier(e.builder);
                            Values next = multiply(e, carried);
                            kernel.barrier(e.builder);
                            return next;
                          });
  storeSums(emit, sums);
}

void TiledProduct::build() {
  kernel.launch.block = kThreads;
  lhs = {/*isLeft=*/true,
         rows,
         kernel.allocateShared(vectorType, tile.vectors()),
         product.lhsNeighbours(tile.lanes),
         {},
         {}};
  rhs = {/*isLeft=*/false,
         product.columns,
         kernel.allocateShared(vectorType, tile.vectors()),
         product.rhsNeighbours(tile.lanes),
         {},
         {}};
  results = product.resultNeighbours(tile.lanes);
  LoopEmitter emit(kernel);
  threadRow = emit.div(kernel.thread, emit.constant(kSide));
  threadColumn = emit.rem(kernel.thread, emit.constant(kSide));
  kernel.launch.grid = batches * product.groups * rowTiles * columnTiles;
  kernel.emitWorkgroupUnits([&](LoopEmitter &e, Value unit) { emitTile(e, unit); });
}

int64_t gpucode::sharedBytesOfTiles(const Product &product, int64_t each) {
  return 2 * TileShape(product.sumType, each).vectors() * kVectorBytes;
}

void gpucode::buildTiles(GpuKernel &kernel, Product &product, int64_t each) {
  TiledProduct(kernel, product, each).build();
}
