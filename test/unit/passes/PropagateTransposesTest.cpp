// Random programs of movement, elementwise and reducing operations compute the
// same after their transposes were propagated.

#include "dialects/Lumen/Lumen.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace mlir;
using namespace lumen;

namespace {

using Index = SmallVector<int64_t>;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

int64_t countOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Index unflatten(int64_t place, ArrayRef<int64_t> shape) {
  Index index(shape.size());
  for (int64_t dim = shape.size() - 1; dim >= 0; place /= shape[dim--])
    index[dim] = place % shape[dim];
  return index;
}

int64_t flatten(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t place = 0;
  for (auto [size, i] : llvm::zip(shape, index))
    place = place * size + i;
  return place;
}

/// Reads elements of values by asking for them, in double precision.
class Interpreter {
public:
  explicit Interpreter(std::map<int, std::vector<double>> inputs) : inputs(std::move(inputs)) {}

  std::vector<double> run(Value value) {
    auto it = done.find(value.getAsOpaquePointer());
    if (it != done.end())
      return it->second;
    std::vector<double> result = compute(value);
    done[value.getAsOpaquePointer()] = result;
    return result;
  }

private:
  /// One element of the result from the operand's elements at one place each.
  template <typename Source> std::vector<double> moved(Value to, Value from, Source source) {
    std::vector<double> elements = run(from), result;
    for (int64_t i = 0; i < countOf(shapeOf(to)); ++i)
      result.push_back(elements[flatten(source(unflatten(i, shapeOf(to))), shapeOf(from))]);
    return result;
  }

  std::vector<double> compute(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return inputs.at(argument.getArgNumber());
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      std::vector<double> result;
      for (const llvm::APFloat &element : cast<DenseFPElementsAttr>(constant.getValue()))
        result.push_back(element.convertToDouble());
      return result;
    }
    if (isa<UnaryOp>(op)) {
      std::vector<double> result = run(op->getOperand(0));
      for (double &element : result)
        element = -element;
      return result;
    }
    if (isa<BinaryOp>(op)) {
      std::vector<double> result = run(op->getOperand(0)), other = run(op->getOperand(1));
      for (auto [element, more] : llvm::zip(result, other))
        element = element * 3 + more;
      return result;
    }
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return moved(value, op->getOperand(0), [&](Index to) {
        Index from(to.size());
        for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
          from[dim] = to[i];
        return from;
      });
    if (isa<ReshapeOp>(op))
      return run(op->getOperand(0));
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      return moved(value, op->getOperand(0), [&](Index to) {
        Index from;
        for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
          from.push_back(shapeOf(op->getOperand(0))[i] == 1 ? 0 : to[dim]);
        return from;
      });
    if (auto slice = dyn_cast<SliceOp>(op))
      return moved(value, op->getOperand(0), [&](Index to) {
        Index from;
        for (auto [dim, i] : llvm::enumerate(to))
          from.push_back((*slice.getConstantOffsets())[dim] + i * slice.getStrides()[dim]);
        return from;
      });
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      std::vector<double> result(countOf(shapeOf(value)));
      int64_t offset = 0;
      for (Value input : concat.getInputs()) {
        std::vector<double> part = run(input);
        for (size_t i = 0; i < part.size(); ++i) {
          Index index = unflatten(i, shapeOf(input));
          index[concat.getAxis()] += offset;
          result[flatten(index, shapeOf(value))] = part[i];
        }
        offset += shapeOf(input)[concat.getAxis()];
      }
      return result;
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      std::vector<double> result(countOf(shapeOf(value))), from = run(reduce.getOperand());
      for (size_t i = 0; i < from.size(); ++i) {
        Index index = unflatten(i, shapeOf(reduce.getOperand())), kept;
        for (auto [dim, at] : llvm::enumerate(index))
          if (!llvm::is_contained(reduce.getAxes(), static_cast<int64_t>(dim)))
            kept.push_back(at);
        result[flatten(kept, shapeOf(value))] += from[i];
      }
      return result;
    }
    auto contract = cast<ContractOp>(op);
    Value lhs = contract.getLhs(), rhs = contract.getRhs();
    std::vector<double> a = run(lhs), b = run(rhs), result;
    for (int64_t i = 0; i < countOf(shapeOf(value)); ++i) {
      Index to = unflatten(i, shapeOf(value));
      double sum = 0;
      for (int64_t k = 0; k < shapeOf(lhs).back(); ++k) {
        Index left = to;
        left.back() = k;
        Index right{k, to.back()};
        if (contract.getTransposeRhs())
          std::swap(right[0], right[1]);
        sum += a[flatten(left, shapeOf(lhs))] * b[flatten(right, shapeOf(rhs))];
      }
      result.push_back(sum);
    }
    return result;
  }

  std::map<int, std::vector<double>> inputs;
  std::map<const void *, std::vector<double>> done;
};

class RandomProgram {
public:
  RandomProgram(MLIRContext &context, unsigned seed)
      : random(seed), builder(&context), module(ModuleOp::create(builder.getUnknownLoc())) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random() % n); }

  RankedTensorType typeOf(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }

  func::FuncOp build() {
    Location loc = builder.getUnknownLoc();
    builder.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> inputs;
    for (int i = 0; i < 2; ++i)
      inputs.push_back(typeOf({1 + below(2), 2 + below(3), 1 + below(3), 4}));
    auto func = func::FuncOp::create(builder, loc, "main", builder.getFunctionType(inputs, {}));
    Block *block = func.addEntryBlock();
    builder.setInsertionPointToStart(block);
    values.assign(block->args_begin(), block->args_end());
    for (int step = 0; step < 14; ++step)
      values.push_back(makeOp(values[below(values.size())]));
    SmallVector<Value> results(values.end() - 3, values.end());
    func.setFunctionType(builder.getFunctionType(inputs, ValueRange(results).getTypes()));
    func::ReturnOp::create(builder, loc, results);
    return func;
  }

  ModuleOp getModule() { return *module; }

private:
  Value makeOp(Value x) {
    Location loc = builder.getUnknownLoc();
    Index shape(shapeOf(x));
    int64_t rank = shape.size();
    switch (below(10)) {
    case 0:
      return UnaryOp::create(builder, loc, x.getType(), UnaryKind::Neg, x);
    case 1: { // with any other value of this type, or a vector along one dimension
      for (Value other : llvm::reverse(values))
        if (other.getType() == x.getType() && other != x)
          return BinaryOp::create(builder, loc, x.getType(), BinaryKind::Add, x, other);
      return x;
    }
    case 2: {
      if (!rank)
        return x;
      int64_t dim = below(rank);
      SmallVector<float> elements;
      for (int64_t i = 0; i < shape[dim]; ++i)
        elements.push_back(below(9));
      Value vector = ConstantOp::create(
          builder, loc, DenseElementsAttr::get(typeOf({shape[dim]}), ArrayRef<float>(elements)));
      Value repeated =
          BroadcastOp::create(builder, loc, x.getType(), vector, ArrayRef<int64_t>{dim});
      return BinaryOp::create(builder, loc, x.getType(), BinaryKind::Add, repeated, x);
    }
    case 3:
    case 4:
    case 5: {
      Index perm = llvm::to_vector(llvm::seq<int64_t>(0, rank)), to;
      std::shuffle(perm.begin(), perm.end(), random);
      for (int64_t dim : perm)
        to.push_back(shape[dim]);
      return TransposeOp::create(builder, loc, typeOf(to), x, perm);
    }
    case 6: { // join two neighbours, split one, or add a unit
      if (rank >= 2 && below(2)) {
        int64_t dim = below(rank - 1);
        shape[dim] *= shape[dim + 1];
        shape.erase(shape.begin() + dim + 1);
      } else if (rank >= 1) {
        int64_t dim = below(rank), factor = shape[dim] % 2 == 0 ? 2 : 1;
        shape[dim] /= factor;
        shape.insert(shape.begin() + dim + below(2), factor);
      }
      return ReshapeOp::create(builder, loc, typeOf(shape), x);
    }
    case 7: {
      if (!rank)
        return x;
      int64_t axis = below(rank);
      if (below(2)) {
        shape[axis] *= 2;
        if (countOf(shape) > 500)
          return x;
        return ConcatOp::create(builder, loc, typeOf(shape), ValueRange{x, x}, axis);
      }
      Index offsets(rank, 0), strides(rank, 1);
      offsets[axis] = shape[axis] - 1 - below(shape[axis]);
      shape[axis] -= offsets[axis];
      return SliceOp::create(builder, loc, typeOf(shape), x, lumen::toSizes(offsets), strides);
    }
    case 8: {
      if (rank < 2)
        return x;
      int64_t axis = below(rank);
      shape.erase(shape.begin() + axis);
      return ReduceOp::create(builder, loc, typeOf(shape), ReduceKind::Sum, x,
                              ArrayRef<int64_t>{axis});
    }
    default: {
      if (rank < 2)
        return x;
      int64_t k = shape.back(), n = 2;
      SmallVector<float> elements;
      for (int64_t i = 0; i < k * n; ++i)
        elements.push_back(below(5) - 2);
      bool transposed = below(2);
      Value weight =
          ConstantOp::create(builder, loc,
                             DenseElementsAttr::get(typeOf(transposed ? Index{n, k} : Index{k, n}),
                                                    ArrayRef<float>(elements)));
      shape.back() = n;
      return ContractOp::create(builder, loc, typeOf(shape), x, weight, false, transposed, false);
    }
    }
  }

  std::mt19937 random;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  SmallVector<Value> values;
};

} // namespace

TEST(PropagateTransposesTest, KeepsWhatRandomProgramsCompute) {
  MLIRContext context;
  context.loadDialect<LumenDialect, func::FuncDialect>();
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomProgram program(context, seed);
    func::FuncOp func = program.build();
    std::map<int, std::vector<double>> inputs;
    for (BlockArgument argument : func.getArguments())
      for (int64_t i = 0; i < countOf(shapeOf(argument)); ++i)
        inputs[argument.getArgNumber()].push_back(program.below(100));

    auto evaluate = [&] {
      Interpreter interpreter(inputs);
      std::vector<std::vector<double>> results;
      for (Value result : func.front().getTerminator()->getOperands())
        results.push_back(interpreter.run(result));
      return results;
    };
    std::vector<std::vector<double>> before = evaluate();
    PassManager pm(&context);
    pm.addPass(createPropagateTransposes());
    ASSERT_TRUE(succeeded(pm.run(program.getModule()))) << "seed " << seed;
    ASSERT_EQ(evaluate(), before) << "seed " << seed;
  }
}
