//===- Recurrence.cpp - LSTM, GRU and RNN ---------------------------------===//
//
// What does not depend on the states is one product over the whole sequence; the
// rest is the cell of a `lumen.recurrence`, one per direction.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;

namespace {

/// An activation with what it takes.
struct Activation {
  std::string name;
  double alpha, beta;
};

/// What the three operators share, read from a node.
struct Layer {
  int64_t gates; ///< in W and R
  int64_t hidden;
  bool isBatchFirst;
  SmallVector<bool> reversed;          ///< per direction
  SmallVector<Activation> activations; ///< the functions of all directions
  std::optional<double> clip;
  Type computed; ///< f32 or f64
  Sizes input;   ///< [steps, rows, n]
};

/// Emits one cell.
class Cell {
public:
  Cell(Emitter emit, const Layer &layer, ArrayRef<Activation> activations, Block &block)
      : emit(emit), layer(layer), activations(activations), block(block) {}

  Value argument(unsigned i) { return block.getArgument(i); }
  Value gate(Value all, int64_t i) {
    return emit.sliceAxis(all, 0, i * layer.hidden, layer.hidden);
  }
  Value add(Value a, Value b) { return emit.binary(BK::Add, a, b); }
  Value sub(Value a, Value b) { return emit.binary(BK::Sub, a, b); }
  Value mul(Value a, Value b) { return emit.binary(BK::Mul, a, b); }
  /// A row times a packed parameter of `columns` columns.
  Value product(Value row, Value packed, int64_t columns);
  /// Function `i` of the direction, behind the clip.
  Value activate(unsigned i, Value x);
  Value activateUnclipped(unsigned i, Value x);

  Emitter emit;

private:
  const Layer &layer;
  ArrayRef<Activation> activations;
  Block &block;
};

} // namespace

Value Cell::product(Value row, Value packed, int64_t columns) {
  int64_t depth = Emitter::typeOf(row).getDimSize(0);
  Value matrix = emit.reshape(row, {1, depth});
  auto type = RankedTensorType::get({1, columns}, Emitter::typeOf(row).getElementType());
  Value result = ContractOp::create(emit.builder, emit.loc, type, matrix, packed,
                                    /*transpose_lhs=*/false, /*transpose_rhs=*/false,
                                    /*packed=*/true);
  return emit.reshape(result, {columns});
}

Value Cell::activate(unsigned i, Value x) {
  if (layer.clip) {
    x = emit.binary(BK::Max, x, -*layer.clip);
    x = emit.binary(BK::Min, x, *layer.clip);
  }
  return activateUnclipped(i, x);
}

Value Cell::activateUnclipped(unsigned i, Value x) {
  const Activation &f = activations[i];
  return activationOf(emit, f.name, f.alpha, f.beta, x);
}

//===----------------------------------------------------------------------===//
// Reading the node
//===----------------------------------------------------------------------===//

/// Names, each with its alpha and beta: the lists hold them for those functions that
/// take one, in order.
static LogicalResult readActivations(Node &node, ArrayRef<StringRef> defaults, Layer &layer) {
  size_t count = defaults.size() * layer.reversed.size();
  SmallVector<std::string> names;
  if (std::optional<SmallVector<StringRef>> given = node.strings("activations")) {
    for (StringRef name : *given)
      names.push_back(name.lower());
    if (names.size() != count)
      return node.error() << "attribute 'activations' has " << names.size() << " entries, expected "
                          << count;
  } else {
    for (size_t i = 0; i < count; ++i)
      names.push_back(defaults[i % defaults.size()].lower());
  }
  SmallVector<double> alphas = readReals(node, "activation_alpha");
  SmallVector<double> betas = readReals(node, "activation_beta");
  size_t nextAlpha = 0, nextBeta = 0;
  struct Row {
    StringRef name;
    std::optional<double> alpha, beta; ///< defaults of what it takes
  };
  static const Row rows[] = {{"affine", 1, 0},          {"elu", 1, {}},
                             {"hardsigmoid", 0.2, 0.5}, {"leakyrelu", 0.01, {}},
                             {"relu", {}, {}},          {"scaledtanh", 1, 1},
                             {"sigmoid", {}, {}},       {"softplus", {}, {}},
                             {"softsign", {}, {}},      {"tanh", {}, {}},
                             {"thresholdedrelu", 1, {}}};
  for (const std::string &name : names) {
    const Row *row = llvm::find_if(rows, [&](const Row &row) { return row.name == name; });
    if (row == std::end(rows))
      return node.error() << "attribute 'activations' has the entry '" << name
                          << "', which is not supported";
    auto next = [](std::optional<double> absent, ArrayRef<double> list, size_t &at) {
      return absent && at < list.size() ? list[at++] : absent.value_or(0);
    };
    double alpha = next(row->alpha, alphas, nextAlpha);
    layer.activations.push_back({name, alpha, next(row->beta, betas, nextBeta)});
  }
  return success();
}

static FailureOr<Layer> readLayer(Node &node, int64_t gates, ArrayRef<StringRef> activations) {
  Layer layer;
  layer.gates = gates;
  layer.isBatchFirst = node.getOpset() >= 14 && node.integer("layout", 0) != 0;
  StringRef direction = node.string("direction", "forward");
  if (direction == "forward")
    layer.reversed = {false};
  else if (direction == "reverse")
    layer.reversed = {true};
  else if (direction == "bidirectional")
    layer.reversed = {false, true};
  else
    return node.error() << "attribute 'direction' is '" << direction
                        << "', expected forward, reverse or bidirectional";
  if (failed(node.expectReal()) || failed(readActivations(node, activations, layer)))
    return failure();
  if (node.has("clip"))
    layer.clip = node.real("clip", 0);
  Sizes input = sizesOf(node.input(0)), w = sizesOf(node.input(1)), r = sizesOf(node.input(2));
  if (input.size() != 3)
    return node.error() << "input has shape " << shapeText(input) << ", expected three dimensions";
  if (r.size() != 3 || !r[2].asConstant())
    return node.error() << "R has shape " << shapeText(r) << ", expected three dimensions";
  layer.hidden = *r[2].asConstant();
  if (int64_t size = node.integer("hidden_size", layer.hidden); size != layer.hidden)
    return node.error() << "attribute 'hidden_size' is " << size << ", but R has " << layer.hidden
                        << " columns";
  if (layer.isBatchFirst)
    std::swap(input[0], input[1]);
  layer.input = input;
  int64_t directions = layer.reversed.size(), rows = gates * layer.hidden;
  Sizes expected[] = {{directions, rows, input[2]}, {directions, rows, layer.hidden}};
  for (unsigned i : {1, 2})
    if (!node.ensureEqual(sizesOf(node.input(i)), expected[i - 1], i == 1 ? "W" : "R"))
      return node.error() << (i == 1 ? "W" : "R") << " has shape "
                          << shapeText(sizesOf(node.input(i))) << ", expected "
                          << shapeText(expected[i - 1]);
  layer.computed = node.inputType(0).getElementType().isF64()
                       ? node.inputType(0).getElementType()
                       : Type(node.emit.builder.getF32Type());
  return layer;
}

/// Checks the shape of an optional input.
static LogicalResult expectShape(Node &node, unsigned index, StringRef name, const Sizes &shape) {
  if (!node.input(index) || node.ensureEqual(sizesOf(node.input(index)), shape, name))
    return success();
  return node.error() << name << " has shape " << shapeText(sizesOf(node.input(index)))
                      << ", expected " << shapeText(shape);
}

/// Entry `i` of the first dimension of a parameter.
static Value part(Emitter &emit, Value parameter, int64_t i) {
  Sizes sizes = sizesOf(parameter), offsets(sizes.size(), 0);
  sizes[0] = 1;
  offsets[0] = i;
  Value slice = emit.slice(parameter, offsets, sizes, SmallVector<int64_t>(sizes.size(), 1));
  return emit.reshape(slice, ArrayRef(sizes).drop_front());
}

/// [n, k] -> [ceil(n/64), k, 64]: the packed form of the transposed matrix.
static Value packTransposed(Emitter &emit, Value matrix) {
  constexpr int64_t panel = 64;
  ArrayRef<int64_t> shape = Emitter::typeOf(matrix).getShape();
  int64_t columns = shape[0], depth = shape[1], padded = llvm::alignTo(columns, panel);
  Value x = emit.transpose(matrix, {1, 0});
  if (padded != columns) {
    Value zero = emit.scalar(0, Emitter::typeOf(matrix).getElementType());
    x = emit.pad(PadKind::Constant, x, zero, {0, 0}, {0, padded - columns});
  }
  return emit.transpose(emit.reshape(x, {depth, padded / panel, panel}), {1, 0, 2});
}

namespace {

/// The recurrence of one direction in the making.
struct Direction {
  int64_t number;
  Value input; ///< product with W, with biases: [steps, rows, gates * hidden]
  SmallVector<Value> params, states;
};

} // namespace

/// Emits the layer: `prepare` adds biases and parameters to a direction and gives the
/// body of the cell.
static LogicalResult emitLayer(Node &node, const Layer &layer, unsigned numStates,
                               unsigned functions, function_ref<void(Direction &)> prepare,
                               function_ref<SmallVector<Value>(Cell &)> body) {
  Emitter &emit = node.emit;
  int64_t directions = layer.reversed.size(), hidden = layer.hidden;
  Type element = node.inputType(0).getElementType();
  SymExpr steps = layer.input[0], rows = layer.input[1];
  Sizes stateShape =
      layer.isBatchFirst ? Sizes{rows, directions, hidden} : Sizes{directions, rows, hidden};
  if (failed(expectShape(node, 4, "sequence_lens", {rows})) ||
      (node.input(4) && failed(node.ensureLengths(4, steps))))
    return failure();
  static constexpr StringLiteral kStateNames[] = {"initial_h", "initial_c"};
  for (unsigned i = 0; i < numStates; ++i)
    if (failed(expectShape(node, 5 + i, kStateNames[i], stateShape)))
      return failure();
  Value x = emit.convert(node.input(0), layer.computed);
  if (layer.isBatchFirst)
    x = emit.transpose(x, {1, 0, 2});

  SmallVector<Value> sequences;
  SmallVector<SmallVector<Value>> last(numStates);
  for (int64_t d = 0; d < directions; ++d) {
    Direction direction{d, {}, {}, {}};
    auto parameter = [&](unsigned i) {
      return part(emit, emit.convert(node.input(i), layer.computed), d);
    };
    auto type = tensorTypeOf({steps, rows, layer.gates * hidden}, layer.computed);
    direction.input = emit.create<ContractOp>(type, x, parameter(1), /*transpose_lhs=*/false,
                                              /*transpose_rhs=*/true, /*packed=*/false);
    for (unsigned i = 0; i < numStates; ++i) {
      if (Value initial = node.input(5 + i)) {
        initial = emit.convert(emit.cast(initial, stateShape), layer.computed);
        if (layer.isBatchFirst)
          initial = emit.transpose(initial, {1, 0, 2});
        direction.states.push_back(part(emit, initial, d));
      } else {
        direction.states.push_back(
            emit.broadcast(emit.scalar(0, layer.computed), {rows, hidden}, {}));
      }
    }
    prepare(direction);

    SmallVector<Type> results{tensorTypeOf({steps, rows, hidden}, layer.computed)};
    results.append(numStates, tensorTypeOf({rows, hidden}, layer.computed));
    Value lengths = node.input(4) ? emit.cast(node.input(4), {rows}) : Value();
    auto op = RecurrenceOp::create(emit.builder, node.getLoc(), results[0],
                                   ArrayRef(results).drop_front(), direction.input,
                                   direction.params, direction.states, lengths, layer.reversed[d]);
    Block &block = op.getCell().emplaceBlock();
    auto addArgument = [&](Value operand, unsigned dropped) {
      auto type = Emitter::typeOf(operand);
      block.addArgument(
          RankedTensorType::get(type.getShape().drop_front(dropped), type.getElementType()),
          node.getLoc());
    };
    addArgument(direction.input, 2);
    for (Value param : direction.params)
      addArgument(param, 0);
    for (Value state : direction.states)
      addArgument(state, 1);
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    Cell cell(Emitter(builder, node.getLoc(), emit.facts), layer,
              ArrayRef(layer.activations).slice(d * functions, functions), block);
    SmallVector<Value> next = body(cell);
    YieldOp::create(builder, node.getLoc(), next, DimsAttr::get(builder.getContext(), {}));

    auto finish = [&](Value value, ArrayRef<SymExpr> shape) {
      return emit.reshape(emit.convert(value, element), shape);
    };
    sequences.push_back(finish(op.getSequence(), {steps, 1, rows, hidden}));
    for (unsigned i = 0; i < numStates; ++i) {
      Value state = op.getLast()[i];
      // A row of no steps has no last state; ONNX Runtime says 0, not the initial one.
      if (lengths) {
        Value isEmpty = emit.compare(CompareKind::Le, lengths, 0);
        state = emit.select(emit.broadcast(isEmpty, {rows, hidden}, {0}), emit.splatLike(state, 0),
                            state);
      }
      last[i].push_back(finish(state, {1, rows, hidden}));
    }
  }
  auto join = [&](ArrayRef<Value> parts, int64_t axis, ArrayRef<int64_t> perm) {
    Value whole = parts.size() == 1 ? parts[0] : emit.concat(parts, axis);
    return layer.isBatchFirst ? emit.transpose(whole, perm) : whole;
  };
  SmallVector<Value> outputs{join(sequences, 1, {2, 0, 1, 3})};
  for (ArrayRef<Value> states : last)
    outputs.push_back(join(states, 0, {1, 0, 2}));
  outputs.resize(std::min<size_t>(outputs.size(), node.getNumOutputs()));
  return node.yield(outputs);
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

namespace {

/// Parameters of one direction, converted to the type of the computation.
class Parameters {
public:
  Parameters(Node &node, const Layer &layer, int64_t direction)
      : emit(node.emit), node(node), layer(layer), direction(direction) {}

  Value whole(unsigned index) {
    return part(emit, emit.convert(node.input(index), layer.computed), direction);
  }
  /// Rows of gates [begin, end).
  Value gates(Value parameter, int64_t begin, int64_t end) {
    return emit.sliceAxis(parameter, 0, begin * layer.hidden, (end - begin) * layer.hidden);
  }
  /// Adds a vector to every row of the direction's input.
  void addToInput(Direction &to, Value vector) {
    Value spread = emit.broadcast(vector, sizesOf(to.input), {2});
    to.input = emit.binary(BK::Add, to.input, spread);
  }

  Emitter &emit;

private:
  Node &node;
  const Layer &layer;
  int64_t direction;
};

} // namespace

/// [Wb, Rb] of one direction.
static Sizes biasShape(const Layer &layer) {
  return {int64_t(layer.reversed.size()), 2 * layer.gates * layer.hidden};
}

static LogicalResult lstm(Node &node) {
  FailureOr<Layer> layer = readLayer(node, 4, {"sigmoid", "tanh", "tanh"});
  if (failed(layer) || failed(expectShape(node, 3, "B", biasShape(*layer))))
    return failure();
  int64_t directions = layer->reversed.size(), hidden = layer->hidden;
  if (failed(expectShape(node, 7, "P", {directions, 3 * hidden})))
    return failure();
  bool isCoupled = node.integer("input_forget", 0) != 0, hasPeepholes = bool(node.input(7));
  auto prepare = [&](Direction &to) {
    Parameters parameters(node, *layer, to.number);
    to.params.push_back(packTransposed(node.emit, parameters.whole(2)));
    if (node.input(3)) {
      Value bias = parameters.whole(3);
      parameters.addToInput(to, node.emit.binary(BK::Add, parameters.gates(bias, 0, 4),
                                                 parameters.gates(bias, 4, 8)));
    }
    if (hasPeepholes)
      for (int64_t i = 0; i < 3; ++i)
        to.params.push_back(parameters.gates(parameters.whole(7), i, i + 1));
  };
  // Gates lie as input, output, forget, cell; peepholes as input, output, forget.
  auto body = [&](Cell &cell) -> SmallVector<Value> {
    unsigned firstState = hasPeepholes ? 5 : 2;
    Value h = cell.argument(firstState), c = cell.argument(firstState + 1);
    Value sum = cell.add(cell.argument(0), cell.product(h, cell.argument(1), 4 * hidden));
    auto gate = [&](int64_t i, Value seen) {
      Value x = cell.gate(sum, i);
      if (hasPeepholes)
        x = cell.add(x, cell.mul(cell.argument(2 + i), seen));
      return cell.activate(0, x);
    };
    Value in = gate(0, c);
    Value forget = isCoupled ? cell.sub(cell.emit.splatLike(in, 1), in) : gate(2, c);
    Value fresh = cell.activate(1, cell.gate(sum, 3));
    Value nextC = cell.add(cell.mul(forget, c), cell.mul(in, fresh));
    Value out = gate(1, nextC);
    return {cell.mul(out, cell.activateUnclipped(2, nextC)), nextC};
  };
  return emitLayer(node, *layer, /*numStates=*/2, /*functions=*/3, prepare, body);
}

static LogicalResult gru(Node &node) {
  FailureOr<Layer> layer = readLayer(node, 3, {"sigmoid", "tanh"});
  if (failed(layer) || failed(expectShape(node, 3, "B", biasShape(*layer))))
    return failure();
  int64_t hidden = layer->hidden;
  bool resetsProduct = node.integer("linear_before_reset", 0) != 0;
  bool hasBias = resetsProduct && node.input(3);
  auto prepare = [&](Direction &to) {
    Parameters parameters(node, *layer, to.number);
    Value r = parameters.whole(2);
    to.params.push_back(packTransposed(node.emit, parameters.gates(r, 0, 2)));
    to.params.push_back(packTransposed(node.emit, parameters.gates(r, 2, 3)));
    if (!node.input(3))
      return;
    Value bias = parameters.whole(3);
    Value input = parameters.gates(bias, 0, 3), recurrent = parameters.gates(bias, 3, 6);
    if (resetsProduct) {
      // The hidden gate's recurrent bias is reset as well: it stays in the cell.
      to.params.push_back(parameters.gates(recurrent, 2, 3));
      Value zero = node.emit.splatLike(to.params.back(), 0);
      recurrent = node.emit.concat({parameters.gates(recurrent, 0, 2), zero}, 0);
    }
    parameters.addToInput(to, node.emit.binary(BK::Add, input, recurrent));
  };
  // Gates lie as update, reset, hidden.
  auto body = [&](Cell &cell) -> SmallVector<Value> {
    Value x = cell.argument(0), h = cell.argument(hasBias ? 4 : 3);
    Value product = cell.product(h, cell.argument(1), 2 * hidden);
    auto gate = [&](int64_t i) {
      return cell.activate(0, cell.add(cell.gate(x, i), cell.gate(product, i)));
    };
    Value update = gate(0), reset = gate(1), fresh;
    if (resetsProduct) {
      fresh = cell.product(h, cell.argument(2), hidden);
      if (hasBias)
        fresh = cell.add(fresh, cell.argument(3));
      fresh = cell.mul(reset, fresh);
    } else {
      fresh = cell.product(cell.mul(reset, h), cell.argument(2), hidden);
    }
    fresh = cell.activate(1, cell.add(cell.gate(x, 2), fresh));
    Value rest = cell.sub(cell.emit.splatLike(update, 1), update);
    return {cell.add(cell.mul(rest, fresh), cell.mul(update, h))};
  };
  return emitLayer(node, *layer, /*numStates=*/1, /*functions=*/2, prepare, body);
}

static LogicalResult rnn(Node &node) {
  FailureOr<Layer> layer = readLayer(node, 1, {"tanh"});
  if (failed(layer) || failed(expectShape(node, 3, "B", biasShape(*layer))))
    return failure();
  auto prepare = [&](Direction &to) {
    Parameters parameters(node, *layer, to.number);
    to.params.push_back(packTransposed(node.emit, parameters.whole(2)));
    if (!node.input(3))
      return;
    Value bias = parameters.whole(3);
    parameters.addToInput(
        to, node.emit.binary(BK::Add, parameters.gates(bias, 0, 1), parameters.gates(bias, 1, 2)));
  };
  auto body = [&](Cell &cell) -> SmallVector<Value> {
    Value product = cell.product(cell.argument(2), cell.argument(1), layer->hidden);
    return {cell.activate(0, cell.add(cell.argument(0), product))};
  };
  return emitLayer(node, *layer, /*numStates=*/1, /*functions=*/1, prepare, body);
}

static const OperatorRow rows[] = {
    {"GRU", 3, 6, gru},
    {"LSTM", 3, 8, lstm},
    {"RNN", 3, 6, rnn},
};

ArrayRef<OperatorRow> lumen::recurrenceRows() { return rows; }
