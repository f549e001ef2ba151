//===- Reference.cpp - what a kernel computes, evaluated plainly ----------===//

#include "ReferenceParts.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <functional>
#include <map>

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;

using Wide = __int128;

static bool isFloat(Type type) { return llvm::isa<mlir::FloatType>(type); }
static bool isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

/// Wraps to the width of `type`.
static Number wrap(Type type, Wide value) {
  unsigned width = type.getIntOrFloatBitWidth();
  unsigned __int128 mask = (static_cast<unsigned __int128>(1) << width) - 1;
  unsigned __int128 bits = static_cast<unsigned __int128>(value) & mask;
  if (!isUnsigned(type) && (bits >> (width - 1) & 1))
    return static_cast<Number>(static_cast<Wide>(bits) - static_cast<Wide>(mask) - 1);
  return static_cast<Number>(bits);
}

Number test::roundTo(Type type, Number value) {
  auto floatType = llvm::dyn_cast<mlir::FloatType>(type);
  if (!floatType)
    return wrap(type, static_cast<Wide>(value));
  if (floatType.getWidth() == 64)
    return static_cast<double>(value);
  if (floatType.getWidth() == 32)
    return static_cast<float>(value);
  llvm::APFloat narrow(static_cast<double>(value));
  bool lost;
  narrow.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
  narrow.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return narrow.convertToDouble();
}

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

static Number unary(UnaryKind kind, Type type, Number x) {
  switch (kind) {
  case UnaryKind::Abs:
    return std::fabs(x);
  case UnaryKind::Neg:
    return -x;
  case UnaryKind::Sign:
    return std::isnan(x) ? x : (x > 0) - (x < 0);
  case UnaryKind::Relu:
    return x < 0 ? 0 : x;
  case UnaryKind::Reciprocal:
    return 1 / x;
  case UnaryKind::Sqrt:
    return std::sqrt(x);
  case UnaryKind::Rsqrt:
    return 1 / std::sqrt(x);
  case UnaryKind::Exp:
    return std::exp(x);
  case UnaryKind::Log:
    return std::log(x);
  case UnaryKind::Log1p:
    return std::log1p(x);
  case UnaryKind::Expm1:
    return std::expm1(x);
  case UnaryKind::Tanh:
    return std::tanh(x);
  case UnaryKind::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case UnaryKind::Erf:
    return std::erf(x);
  case UnaryKind::Sin:
    return std::sin(x);
  case UnaryKind::Cos:
    return std::cos(x);
  case UnaryKind::Tan:
    return std::tan(x);
  case UnaryKind::Asin:
    return std::asin(x);
  case UnaryKind::Acos:
    return std::acos(x);
  case UnaryKind::Atan:
    return std::atan(x);
  case UnaryKind::Sinh:
    return std::sinh(x);
  case UnaryKind::Cosh:
    return std::cosh(x);
  case UnaryKind::Asinh:
    return std::asinh(x);
  case UnaryKind::Acosh:
    return std::acosh(x);
  case UnaryKind::Atanh:
    return std::atanh(x);
  case UnaryKind::Floor:
    return std::floor(x);
  case UnaryKind::Ceil:
    return std::ceil(x);
  case UnaryKind::RoundEven:
    return std::nearbyint(x);
  case UnaryKind::Not:
    return type.isInteger(1) ? x == 0 : static_cast<Number>(~static_cast<Wide>(x));
  case UnaryKind::IsNan:
    return std::isnan(x);
  case UnaryKind::IsInf:
    return std::isinf(x);
  }
  llvm_unreachable("unknown kind");
}

static Wide power(Wide base, Wide exponent, unsigned width) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  unsigned __int128 result = 1, square = base,
                    mask = (static_cast<unsigned __int128>(1) << width) - 1;
  for (; exponent; exponent >>= 1, square = square * square & mask)
    if (exponent & 1)
      result = result * square & mask;
  return static_cast<Wide>(result);
}

static Number integerBinary(BinaryKind kind, Type type, Wide a, Wide b) {
  unsigned width = type.getIntOrFloatBitWidth();
  switch (kind) {
  case BinaryKind::Add:
    return wrap(type, a + b);
  case BinaryKind::Sub:
    return wrap(type, a - b);
  case BinaryKind::Mul:
    return wrap(type, a * b);
  case BinaryKind::Div:
    return wrap(type, b == 0 ? 0 : a / b);
  case BinaryKind::Rem:
    return wrap(type, b == 0 ? 0 : a % b);
  case BinaryKind::Mod: {
    Wide rest = b == 0 ? 0 : a % b;
    return wrap(type, rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  }
  case BinaryKind::Max:
    return static_cast<Number>(std::max(a, b));
  case BinaryKind::Min:
    return static_cast<Number>(std::min(a, b));
  case BinaryKind::Pow:
    return wrap(type, power(a, b, width));
  case BinaryKind::And:
    return wrap(type, a & b);
  case BinaryKind::Or:
    return wrap(type, a | b);
  case BinaryKind::Xor:
    return wrap(type, a ^ b);
  case BinaryKind::ShiftLeft:
    return wrap(type, b < 0 || b >= width ? 0 : a << b);
  case BinaryKind::ShiftRight:
    return wrap(type, b < 0 || b >= width ? 0 : a >> b);
  }
  llvm_unreachable("unknown kind");
}

static Number floatBinary(BinaryKind kind, Number a, Number b) {
  bool isNan = std::isnan(a) || std::isnan(b);
  switch (kind) {
  case BinaryKind::Add:
    return a + b;
  case BinaryKind::Sub:
    return a - b;
  case BinaryKind::Mul:
    return a * b;
  case BinaryKind::Div:
    return a / b;
  case BinaryKind::Max:
    return isNan ? NAN : std::fmax(a, b);
  case BinaryKind::Min:
    return isNan ? NAN : std::fmin(a, b);
  case BinaryKind::Pow:
    return std::pow(a, b);
  case BinaryKind::Rem:
    return std::fmod(a, b);
  case BinaryKind::Mod: {
    Number rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  default:
    break;
  }
  llvm_unreachable("not a function of floats");
}

static Number compare(CompareKind kind, Number a, Number b) {
  switch (kind) {
  case CompareKind::Eq:
    return a == b;
  case CompareKind::Ne:
    return a != b;
  case CompareKind::Lt:
    return a < b;
  case CompareKind::Le:
    return a <= b;
  case CompareKind::Gt:
    return a > b;
  case CompareKind::Ge:
    return a >= b;
  }
  llvm_unreachable("unknown kind");
}

static Number convert(Type from, Type to, Number x) {
  if (to.isInteger(1))
    return x != 0;
  if (isFloat(from) && !isFloat(to)) {
    unsigned width = to.getIntOrFloatBitWidth();
    Number high = std::ldexp(static_cast<Number>(1), isUnsigned(to) ? width : width - 1);
    Number low = isUnsigned(to) ? 0 : -high;
    return std::isnan(x) ? 0 : std::min(std::max(std::trunc(x), low), high - 1);
  }
  return roundTo(to, x);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static int64_t offsetOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t offset = 0;
  for (auto [size, i] : llvm::zip_equal(shape, index)) {
    assert(i >= 0 && i < size && "the reference left a tensor");
    offset = offset * size + i;
  }
  return offset;
}

Number test::at(const Tensor &tensor, ArrayRef<int64_t> index) {
  return tensor.values[offsetOf(tensor.type.getShape(), index)];
}

void test::forEach(ArrayRef<int64_t> shape, llvm::function_ref<void(const Index &)> body) {
  for (int64_t size : shape)
    if (size == 0)
      return;
  Index index(shape.size(), 0);
  while (true) {
    body(index);
    int64_t dim = shape.size();
    while (--dim >= 0 && ++index[dim] == shape[dim])
      index[dim] = 0;
    if (dim < 0)
      return;
  }
}

Tensor test::build(Value result, llvm::function_ref<Number(const Index &)> element) {
  Tensor tensor{llvm::cast<RankedTensorType>(result.getType()), {}};
  forEach(tensor.type.getShape(),
          [&](const Index &index) { tensor.values.push_back(element(index)); });
  return tensor;
}

static Number combine(ReduceKind kind, Type type, Number a, Number b) {
  static constexpr BinaryKind kinds[] = {BinaryKind::Add, BinaryKind::Max, BinaryKind::Min,
                                         BinaryKind::Mul};
  BinaryKind binary = kinds[static_cast<int>(kind)];
  if (isFloat(type))
    return floatBinary(binary, a, b);
  return integerBinary(binary, type, static_cast<Wide>(a), static_cast<Wide>(b));
}

static Number initial(ReduceKind kind, Type type) {
  bool isMax = kind == ReduceKind::Max;
  if (!isMax && kind != ReduceKind::Min)
    return kind == ReduceKind::Prod;
  if (isFloat(type))
    return isMax ? -INFINITY : INFINITY;
  unsigned width = type.getIntOrFloatBitWidth();
  Number top = std::ldexp(static_cast<Number>(1), isUnsigned(type) ? width : width - 1);
  return isMax ? (isUnsigned(type) ? 0 : -top) : top - 1;
}

static Tensor reduce(ReduceOp op, const Tensor &x) {
  Type element = x.type.getElementType();
  Tensor result =
      build(op.getResult(), [&](const Index &) { return initial(op.getKind(), element); });
  forEach(x.type.getShape(), [&](const Index &index) {
    Index kept;
    for (auto [i, position] : llvm::enumerate(index))
      if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(i)))
        kept.push_back(position);
    Number &value = result.values[offsetOf(result.type.getShape(), kept)];
    value = combine(op.getKind(), element, value, at(x, index));
  });
  return result;
}

static Tensor window(WindowOp op, const Tensor &x) {
  Type element = x.type.getElementType();
  bool isMax = op.getKind() == WindowKind::Max;
  ReduceKind kind = isMax ? ReduceKind::Max : ReduceKind::Sum;
  return build(op.getResult(), [&](const Index &index) {
    Number value = initial(kind, element);
    int64_t count = 0, total = 1;
    for (int64_t size : op.getWindow())
      total *= size;
    forEach(op.getWindow(), [&](const Index &tap) {
      Index where;
      for (size_t i = 0; i < index.size(); ++i) {
        where.push_back(index[i] * op.getStrides()[i] + tap[i] * op.getDilations()[i] -
                        op.getPadLow()[i]);
        if (where[i] < 0 || where[i] >= x.type.getDimSize(i))
          return;
      }
      value = combine(kind, element, value, at(x, where));
      ++count;
    });
    if (op.getKind() != WindowKind::Average)
      return value;
    return value / (op.getCountIncludePad() ? total : count);
  });
}

static Tensor contract(ContractOp op, const Tensor &a, const Tensor &b) {
  int64_t rank = op.getType().getRank();
  int64_t depth = a.type.getDimSize(a.type.getRank() - (op.getTransposeLhs() ? 2 : 1));
  return build(op.getResult(), [&](const Index &index) {
    Number sum = 0;
    int64_t n = index[rank - 1];
    for (int64_t k = 0; k < depth; ++k) {
      Index left(index.begin(), index.end() - 2), right;
      if (b.type.getRank() > 2 && !op.getPacked())
        right = left;
      left.append(op.getTransposeLhs() ? Index{k, index[rank - 2]} : Index{index[rank - 2], k});
      if (op.getPacked())
        right = {n / 64, k, n % 64};
      else
        right.append(op.getTransposeRhs() ? Index{n, k} : Index{k, n});
      sum += at(a, left) * at(b, right);
    }
    return roundTo(op.getType().getElementType().isIntOrIndex()
                       ? op.getType().getElementType()
                       : mlir::Float64Type::get(op.getContext()),
                   sum);
  });
}

static Tensor convolution(ConvOp op, const Tensor &x, const Tensor &w) {
  int64_t spatial = op.getWindow().size(), groups = op.getGroups();
  int64_t channels = op.getChannels() / groups, outputs = op.getOutputChannels() / groups;
  return build(op.getResult(), [&](const Index &index) {
    Number sum = 0;
    int64_t o = index.back(), group = o / outputs;
    int64_t tapNumber = 0;
    forEach(op.getWindow(), [&](const Index &tap) {
      int64_t number = tapNumber++;
      Index where{index[0]};
      for (int64_t i = 0; i < spatial; ++i) {
        where.push_back(index[i + 1] * op.getStrides()[i] + tap[i] * op.getDilations()[i] -
                        op.getPadLow()[i]);
        if (where.back() < 0 || where.back() >= x.type.getDimSize(i + 1))
          return;
      }
      where.push_back(0);
      for (int64_t c = 0; c < channels; ++c) {
        where.back() = group * channels + c;
        Index filter;
        if (op.getPacked() && op.isDepthwise()) {
          filter = {number, o};
        } else if (op.getPacked()) {
          int64_t column = o % outputs;
          filter = {group, column / 64, number * channels + c, column % 64};
        } else {
          filter = tap;
          filter.append({c, o});
        }
        sum += at(x, where) * at(w, filter);
      }
    });
    return sum;
  });
}

static Tensor softmax(SoftmaxOp op, const Tensor &x) {
  int64_t axis = op.getAxis(), size = x.type.getDimSize(axis);
  std::map<std::vector<int64_t>, std::pair<Number, Number>> rows; // maximum and sum
  return build(op.getResult(), [&](const Index &index) {
    Index other = index;
    other[axis] = 0;
    auto [row, isNew] = rows.try_emplace({other.begin(), other.end()}, -INFINITY, 0);
    auto &[top, sum] = row->second;
    if (isNew) {
      for (; other[axis] < size; ++other[axis])
        top = std::max(top, at(x, other));
      for (other[axis] = 0; other[axis] < size; ++other[axis])
        sum += std::exp(at(x, other) - top);
    }
    Number shifted = at(x, index) - top;
    return op.getLog() ? shifted - std::log(sum) : std::exp(shifted) / sum;
  });
}

static Tensor norm(NormOp op, const Tensor &x) {
  ArrayRef<int64_t> inner = x.type.getShape().drop_front(op.getAxis());
  std::map<std::vector<int64_t>, std::pair<Number, Number>> rows; // mean and deviation
  return build(op.getResult(), [&](const Index &index) {
    Index outer(index.begin(), index.begin() + op.getAxis());
    auto [row, isNew] = rows.try_emplace({outer.begin(), outer.end()}, 0, 0);
    Number &mean = row->second.first, &deviation = row->second.second;
    if (isNew) {
      Number sum = 0, squares = 0;
      int64_t count = 0;
      auto each = [&](llvm::function_ref<void(Number)> body) {
        forEach(inner, [&](const Index &tail) {
          Index where = outer;
          llvm::append_range(where, tail);
          body(at(x, where));
        });
      };
      each([&](Number value) { sum += value, ++count; });
      if (op.getKind() == NormKind::Layer)
        mean = sum / count;
      each([&](Number value) { squares += (value - mean) * (value - mean); });
      deviation = std::sqrt(squares / count + op.getEpsilon().convertToDouble());
    }
    return (at(x, index) - mean) / deviation;
  });
}

static Tensor pad(PadOp op, const Tensor &x, const Tensor &padding) {
  return build(op.getResult(), [&](const Index &index) {
    Index where;
    bool outside = false;
    for (auto [i, position] : llvm::enumerate(index)) {
      int64_t size = x.type.getDimSize(i), j = position - *op.getLowSizes()[i].asConstant();
      switch (op.getKind()) {
      case PadKind::Constant:
        outside |= j < 0 || j >= size;
        break;
      case PadKind::Edge:
        j = std::min(std::max<int64_t>(j, 0), size - 1);
        break;
      case PadKind::Reflect:
        while (size > 1 && (j < 0 || j >= size))
          j = j < 0 ? -j : 2 * (size - 1) - j;
        j = size == 1 ? 0 : j;
        break;
      case PadKind::Wrap:
        j = ((j % size) + size) % size;
        break;
      }
      where.push_back(j);
    }
    return outside ? padding.values[0] : at(x, where);
  });
}

static Tensor gather(GatherOp op, const Tensor &x, const Tensor &picks) {
  int64_t axis = op.getAxis(), count = picks.type.getRank(), size = x.type.getDimSize(axis);
  return build(op.getResult(), [&](const Index &index) {
    int64_t pick = static_cast<int64_t>(at(picks, ArrayRef(index).slice(axis, count)));
    pick = std::min(std::max<int64_t>(pick < 0 ? pick + size : pick, 0), size - 1);
    Index where(index.begin(), index.begin() + axis);
    where.push_back(pick);
    where.append(index.begin() + axis + count, index.end());
    return at(x, where);
  });
}

static Tensor constant(ConstantOp op) {
  auto dense = llvm::cast<mlir::DenseElementsAttr>(op.getValue());
  Tensor result{llvm::cast<RankedTensorType>(op.getType()), {}};
  Type element = result.type.getElementType();
  if (isFloat(element)) {
    for (llvm::APFloat value : dense.getValues<llvm::APFloat>()) {
      bool lost;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
      result.values.push_back(value.convertToDouble());
    }
    return result;
  }
  for (const llvm::APInt &value : dense.getValues<llvm::APInt>())
    result.values.push_back(isUnsigned(element) ? static_cast<Number>(value.getZExtValue())
                                                : static_cast<Number>(value.getSExtValue()));
  return result;
}

static Tensor evaluateOp(Operation *op, ArrayRef<const Tensor *> operands) {
  Value result = op->getResult(0);
  Type element = llvm::cast<RankedTensorType>(result.getType()).getElementType();
  Type operandElement = operands.empty() ? element : operands[0]->type.getElementType();
  return llvm::TypeSwitch<Operation *, Tensor>(op)
      .Case([&](ConstantOp op) { return constant(op); })
      .Case([&](UnaryOp op) {
        return build(result, [&](const Index &index) {
          Number value = unary(op.getKind(), operandElement, at(*operands[0], index));
          return isFloat(element) ? value : roundTo(element, value);
        });
      })
      .Case([&](BinaryOp op) {
        return build(result, [&](const Index &index) {
          Number a = at(*operands[0], index), b = at(*operands[1], index);
          return isFloat(element) ? floatBinary(op.getKind(), a, b)
                                  : integerBinary(op.getKind(), element, static_cast<Wide>(a),
                                                  static_cast<Wide>(b));
        });
      })
      .Case([&](CompareOp op) {
        return build(result, [&](const Index &index) {
          return compare(op.getKind(), at(*operands[0], index), at(*operands[1], index));
        });
      })
      .Case([&](SelectOp) {
        return build(result, [&](const Index &index) {
          return at(*operands[at(*operands[0], index) != 0 ? 1 : 2], index);
        });
      })
      .Case([&](ConvertOp) {
        return build(result, [&](const Index &index) {
          return convert(operandElement, element, at(*operands[0], index));
        });
      })
      .Case([&](BroadcastOp op) {
        return build(result, [&](const Index &index) {
          Index where;
          for (auto [i, dim] : llvm::enumerate(op.getDims()))
            where.push_back(operands[0]->type.getDimSize(i) == 1 ? 0 : index[dim]);
          return at(*operands[0], where);
        });
      })
      .Case([&](IotaOp op) {
        return build(result, [&](const Index &index) {
          return roundTo(element, static_cast<Number>(index[op.getAxis()]));
        });
      })
      .Case([&](TransposeOp op) {
        return build(result, [&](const Index &index) {
          Index where(index.size());
          for (auto [i, dim] : llvm::enumerate(op.getPerm()))
            where[dim] = index[i];
          return at(*operands[0], where);
        });
      })
      .Case([&](ReshapeOp) {
        return Tensor{llvm::cast<RankedTensorType>(result.getType()), operands[0]->values};
      })
      .Case([&](CastOp) {
        return Tensor{llvm::cast<RankedTensorType>(result.getType()), operands[0]->values};
      })
      .Case([&](SizesOp op) {
        Tensor sizes{llvm::cast<RankedTensorType>(result.getType()), {}};
        for (const SymExpr &size : op.getExpressions())
          sizes.values.push_back(*size.asConstant());
        return sizes;
      })
      .Case([&](SliceOp op) {
        return build(result, [&](const Index &index) {
          Index where;
          for (auto [i, position] : llvm::enumerate(index))
            where.push_back((*op.getConstantOffsets())[i] + position * op.getStrides()[i]);
          return at(*operands[0], where);
        });
      })
      .Case([&](ConcatOp op) {
        return build(result, [&](const Index &index) {
          Index where = index;
          for (const Tensor *part : operands) {
            int64_t size = part->type.getDimSize(op.getAxis());
            if (where[op.getAxis()] < size)
              return at(*part, where);
            where[op.getAxis()] -= size;
          }
          llvm_unreachable("an index behind the last part");
        });
      })
      .Case([&](PadOp op) { return pad(op, *operands[0], *operands[1]); })
      .Case([&](GatherOp op) { return gather(op, *operands[0], *operands[1]); })
      .Case([&](ReduceOp op) { return reduce(op, *operands[0]); })
      .Case([&](WindowOp op) { return window(op, *operands[0]); })
      .Case([&](SoftmaxOp op) { return softmax(op, *operands[0]); })
      .Case([&](NormOp op) { return norm(op, *operands[0]); })
      .Case([&](ContractOp op) { return contract(op, *operands[0], *operands[1]); })
      .Case([&](ConvOp op) { return convolution(op, *operands[0], *operands[1]); })
      .Default([](Operation *) -> Tensor { llvm_unreachable("no reference for this operation"); });
}

std::vector<Tensor> test::evaluateBody(mlir::Block &body, ArrayRef<Tensor> inputs) {
  llvm::DenseMap<Value, Tensor> values;
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    values[argument] = input;
  for (Operation &op : body.without_terminator()) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values.find(operand)->second);
    std::vector<Tensor> results = evaluateLoops(&op, operands);
    if (results.empty())
      results.push_back(evaluateOp(&op, operands));
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results))
      values[result] = std::move(tensor);
  }
  std::vector<Tensor> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(values.find(value)->second);
  return results;
}

std::vector<Tensor> test::evaluate(dispatch::KernelOp kernel, ArrayRef<Tensor> inputs) {
  return evaluateBody(kernel.getBody().front(), inputs);
}
