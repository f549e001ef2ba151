//===- Converter.h - how one node becomes lumen operations -------*- C++ -*-===//
//
// A converter is a function over a `Node`: it reads inputs and attributes, emits
// operations and yields results. Its row in a family's table says which
// operator it converts.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_CONVERTER_H
#define LUMEN_PASSES_ONNXTOLUMEN_CONVERTER_H

#include "dialects/Onnx/Onnx.h"
#include "passes/onnx-to-lumen/Emitter.h"

#include "mlir/IR/Diagnostics.h"

#include <array>
#include <cstring>
#include <limits>

namespace lumen {

/// What converts the graph around a node, as the node's converter sees it.
class GraphContext {
public:
  virtual ~GraphContext() = default;
  /// Converts a body where the builder stands, with these values as its arguments
  /// and the values around it visible. Gives its outputs. A body may be converted
  /// several times.
  virtual mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  convertBody(mlir::Region &body, mlir::ValueRange arguments) = 0;
  /// Converts a body without arguments as if it stood in the place of `op`, and what
  /// is behind `op`. Gives the outputs of the block that `op` is in.
  virtual mlir::FailureOr<llvm::SmallVector<mlir::Value>> convertInPlace(onnx::NodeOp op,
                                                                         mlir::Region &body) = 0;
  /// A name that no symbol of the model has.
  virtual std::string freshSymbol(llvm::StringRef stem) = 0;

  /// What a body adds holds for the rest of the body.
  SizeFacts facts;
};

/// A node that is being converted. Every attribute that a converter reads is
/// noted; one that nobody read is an error, so that no meaning is lost.
class Node {
public:
  using Shape = Emitter::Shape;

  Node(onnx::NodeOp op, llvm::ArrayRef<mlir::Value> inputs, int64_t opset, mlir::OpBuilder &builder,
       GraphContext &graph)
      : emit(builder, op.getLoc(), graph.facts), op(op), inputs(inputs), opset(opset),
        graph(graph) {}

  /// Builds lumen operations where the node stands.
  Emitter emit;

  int64_t getOpset() const { return opset; }
  mlir::Location getLoc() { return op.getLoc(); }
  mlir::MLIRContext *getContext() { return op.getContext(); }

  /// Converted inputs; null beyond the last and where one is absent.
  unsigned getNumInputs() const { return inputs.size(); }
  mlir::Value input(unsigned index) const {
    return index < inputs.size() ? inputs[index] : mlir::Value();
  }
  mlir::RankedTensorType inputType(unsigned index) const { return Emitter::typeOf(inputs[index]); }
  Sizes inputShape(unsigned index) const { return sizesOf(inputs[index]); }
  int64_t inputRank(unsigned index) const { return inputType(index).getRank(); }
  /// All inputs, for operators of any number; none is absent.
  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs; }

  // Attributes. One of the wrong type is an error that `fail`s the node.
  bool has(llvm::StringRef name) { return bool(attribute(name)); }
  mlir::Attribute attribute(llvm::StringRef name);
  int64_t integer(llvm::StringRef name, int64_t absent);
  double real(llvm::StringRef name, double absent);
  llvm::StringRef string(llvm::StringRef name, llvm::StringRef absent);
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef name);
  std::optional<llvm::SmallVector<double>> reals(llvm::StringRef name);
  std::optional<llvm::SmallVector<llvm::StringRef>> strings(llvm::StringRef name);
  /// The body that the node calls `name`, or null.
  mlir::Region *body(llvm::StringRef name) {
    read.insert(name);
    return op.getBody(name);
  }
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> convertBody(mlir::Region &body,
                                                              mlir::ValueRange arguments) {
    return graph.convertBody(body, arguments);
  }
  /// Converts a body as if it stood in the node's place, and the nodes behind. Gives
  /// the outputs of the graph that the node is in, to be given to `yieldGraph`.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> convertInPlace(mlir::Region &body) {
    return graph.convertInPlace(op, body);
  }
  /// A symbol for a size that only the run knows.
  std::string freshSymbol(llvm::StringRef stem) { return graph.freshSymbol(stem); }
  /// An integer that counts something: 1 to 2^31 - 1, so that a product of two of them, or
  /// of one and a size, has 64 bits.
  mlir::FailureOr<int64_t> count(llvm::StringRef name, int64_t absent);
  /// An attribute without meaning for inference.
  void ignore(llvm::StringRef name) { read.insert(name); }

  /// The elements of an input of integers, `what` to the user, as 0-D i64 values. Only
  /// their number has to be known.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> integerOperand(unsigned index,
                                                                 llvm::StringRef what);
  /// The same of a list that is an attribute before version `inputSince`, and an input
  /// since; nothing if it is absent.
  mlir::FailureOr<std::optional<llvm::SmallVector<mlir::Value>>>
  integerList(llvm::StringRef name, unsigned index, int64_t inputSince);
  /// The only element of such an input, of any number type.
  mlir::FailureOr<mlir::Value> scalarOperand(unsigned index, llvm::StringRef what);
  /// The elements of an input of floats, whose number is known, as 0-D f32 values.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> realOperand(unsigned index, llvm::StringRef what);
  /// The same for integers that are sizes: what the run gives becomes symbols, and
  /// has to be 0 at least.
  mlir::FailureOr<Sizes> sizeOperand(unsigned index, llvm::StringRef what);
  /// The expression of a 0-D integer: a symbol where it is not known, which the run
  /// compares with 0 and with `atMost`.
  SymExpr bind(mlir::Value number, std::optional<SymExpr> atMost = std::nullopt);
  /// The same for a number that may be negative: the difference of two symbols.
  SymExpr bindSigned(mlir::Value number);

  /// Calls the runtime for a value of which `item` says what is known. Where that leaves
  /// sizes open, symbols get what the run finds. `more` receives results behind it, of
  /// the types `others`.
  mlir::Value callForItem(llvm::StringRef callee, mlir::ValueRange args, mlir::Type item,
                          llvm::ArrayRef<mlir::Attribute> data = {}, mlir::TypeRange others = {},
                          llvm::SmallVectorImpl<mlir::Value> *more = nullptr);

  /// `axis` counted from the front. An error if it lies outside the rank.
  mlir::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank);
  /// The same for a list: sorted, without duplicates.
  mlir::FailureOr<llvm::SmallVector<int64_t>> normalizeAxes(llvm::ArrayRef<int64_t> axes,
                                                            int64_t rank);

  /// Reports a result of more dimensions than a tensor has. To be asked before work is
  /// done for each dimension that data of the model add.
  mlir::LogicalResult checkRank(int64_t rank);
  /// The same, and shapes whose elements cannot be addressed. To be asked before a
  /// shape that data of the model decide is used.
  mlir::LogicalResult checkSize(Shape shape);
  /// Whether a size, which `what` is, may be the expected one; the run makes sure where
  /// only it knows. Of shapes, dimensions of `what` are compared.
  bool ensureEqual(const SymExpr &size, const SymExpr &expected, llvm::StringRef what);
  bool ensureEqual(Shape shape, Shape expected, llvm::StringRef what);
  /// Likewise whether a size has `factor` as a divisor.
  bool ensureMultiple(const SymExpr &size, const SymExpr &factor, llvm::StringRef what);
  /// Likewise whether a size is not above another one.
  bool ensureAtMost(const SymExpr &size, const SymExpr &most, llvm::StringRef what);
  /// NumPy's broadcast of two shapes; nothing if they do not fit.
  std::optional<Sizes> broadcast(Shape a, Shape b);
  /// Whether a tensor of one shape may be repeated to another one.
  bool ensureBroadcastTo(Shape from, Shape to);
  /// The shape to which all inputs broadcast.
  mlir::FailureOr<Sizes> broadcastInputShapes();
  /// Makes sure that the entries of an integer input are lengths of sequences, of which
  /// the longest may be `whole`.
  mlir::LogicalResult ensureLengths(unsigned index, const SymExpr &whole);
  mlir::LogicalResult expectReal(unsigned index = 0);
  mlir::LogicalResult expectSameElementType(unsigned first, unsigned second);

  unsigned getNumOutputs() { return op.getNumResults(); }
  bool hasOutput(unsigned index) { return op.hasOutput(index); }
  llvm::StringRef getOperator() { return op.getOpType(); }
  /// Gives the node's results. One may be null, or missing at the end, where the
  /// file leaves that output out.
  mlir::LogicalResult yield(mlir::ValueRange values) {
    results.assign(values.begin(), values.end());
    return mlir::success();
  }
  llvm::ArrayRef<mlir::Value> getResults() const { return results; }
  /// Instead of the node's results, gives the outputs of the graph that it stands in:
  /// the nodes behind it are converted already.
  mlir::LogicalResult yieldGraph(mlir::ValueRange outputs) {
    graphOutputs.emplace(outputs.begin(), outputs.end());
    return mlir::success();
  }

  /// Reports a mistake, located at the node.
  mlir::InFlightDiagnostic error() {
    failed = true;
    return mlir::emitError(op.getLoc());
  }

  /// The results of an operator of the default domain that has the node's attributes and
  /// these inputs, none of them absent.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  convertAs(llvm::StringRef name, llvm::ArrayRef<mlir::Value> others, int64_t version = 28);

  /// Takes mistakes back that were made on trial.
  void forgive() { failed = false; }

  /// Fails the node without another message.
  mlir::LogicalResult fail() {
    failed = true;
    return mlir::failure();
  }

private:
  friend class NodeRunner;
  onnx::NodeOp op;
  llvm::ArrayRef<mlir::Value> inputs;
  int64_t opset;
  GraphContext &graph;
  llvm::StringSet<> read;
  llvm::SmallVector<mlir::Value> results;
  std::optional<llvm::SmallVector<mlir::Value>> graphOutputs;
  bool failed = false;
};

/// One operator that we convert.
struct OperatorRow {
  static constexpr int64_t kNewest = 28;
  static constexpr unsigned kVariadic = std::numeric_limits<unsigned>::max();

  llvm::StringLiteral name;
  /// Inputs below `minInputs` are never absent, and none of any number unless that
  /// is 0; then the converter looks itself.
  unsigned minInputs, maxInputs;
  mlir::LogicalResult (*convert)(Node &);
  /// What is not converted, for the documentation; empty if nothing.
  llvm::StringLiteral note = "";
  /// Versions of the operator set in which the row holds.
  int64_t since = 7;
  int64_t until = kNewest;
  llvm::StringLiteral domain = "";

  /// Which inputs it takes.
  enum Operands {
    Numbers, ///< tensors of numbers and booleans
    Moved,   ///< tensors of anything: it only moves elements, and gets strings' positions
    Values,  ///< anything; the converter looks itself
  };
  Operands operands = Numbers;

  /// In the domain of ONNX Runtime's own operators, which has one version.
  constexpr OperatorRow ofMicrosoft() const {
    OperatorRow row = *this;
    row.domain = "com.microsoft";
    row.since = row.until = 1;
    return row;
  }
  constexpr OperatorRow moving() const { return with(Moved); }
  constexpr OperatorRow ofValues() const { return with(Values); }

  constexpr OperatorRow with(Operands kind) const {
    OperatorRow row = *this;
    row.operands = kind;
    return row;
  }
};

// The families.
llvm::ArrayRef<OperatorRow> elementwiseRows();
llvm::ArrayRef<OperatorRow> reductionRows();
llvm::ArrayRef<OperatorRow> movementRows();
llvm::ArrayRef<OperatorRow> shapingRows();
llvm::ArrayRef<OperatorRow> convolutionRows();
llvm::ArrayRef<OperatorRow> poolingRows();
llvm::ArrayRef<OperatorRow> contractionRows();
llvm::ArrayRef<OperatorRow> normalizationRows();
llvm::ArrayRef<OperatorRow> attentionRows();
llvm::ArrayRef<OperatorRow> fusedAttentionRows();
llvm::ArrayRef<OperatorRow> rotaryRows();
llvm::ArrayRef<OperatorRow> branchRows();
llvm::ArrayRef<OperatorRow> loopRows();
llvm::ArrayRef<OperatorRow> einsumRows();
llvm::ArrayRef<OperatorRow> indexingRows();
llvm::ArrayRef<OperatorRow> quantizationRows();
llvm::ArrayRef<OperatorRow> quantizedOperatorRows();
llvm::ArrayRef<OperatorRow> quantizedProductRows();
llvm::ArrayRef<OperatorRow> recurrenceRows();
llvm::ArrayRef<OperatorRow> resizeRows();
llvm::ArrayRef<OperatorRow> samplingRows();
llvm::ArrayRef<OperatorRow> selectionRows();
llvm::ArrayRef<OperatorRow> valueRows();
llvm::ArrayRef<OperatorRow> stringRows();
llvm::ArrayRef<OperatorRow> randomRows();
llvm::ArrayRef<OperatorRow> signalRows();
llvm::ArrayRef<OperatorRow> trainingRows();
llvm::ArrayRef<OperatorRow> labelRows();
llvm::ArrayRef<OperatorRow> featureRows();
llvm::ArrayRef<OperatorRow> linearModelRows();
llvm::ArrayRef<OperatorRow> treeRows();

/// The row of an operator; null if there is none. Where there are several, the one for
/// what the inputs are: tensors of numbers alone, or other `values` too.
const OperatorRow *findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t opset,
                                bool values = false);

/// `[B..., M, K] x [B..., K, N]`, where batch dimensions broadcast and a vector is a row
/// or a column; a transposed operand has its last two dimensions swapped, which means
/// nothing for a vector. The element types go together.
mlir::FailureOr<mlir::Value> emitMatMul(Node &node, mlir::Value lhs, mlir::Value rhs,
                                        bool isLhsTransposed = false, bool isRhsTransposed = false);

/// Input 0, an image `[N, C, spatial...]`, with channels last.
mlir::FailureOr<mlir::Value> readChannelsLast(Node &node);
/// Yields a channels-last result with channels where ONNX has them.
mlir::LogicalResult yieldChannelsFirst(Node &node, mlir::FailureOr<mlir::Value> result);

/// The shape of a weight, which decides the structure of the loops: fixed sizes of 31 bits.
mlir::FailureOr<llvm::SmallVector<int64_t>> readWeightShape(Node &node, mlir::Value weight);

/// The convolution of an input with channels last with a weight `[O, C/groups, taps...]`,
/// by the node's attributes. The element types go together. `padding`, a 0-D value,
/// surrounds the input; null: zeros.
mlir::FailureOr<mlir::Value> emitConvolution(Node &node, mlir::Value input, mlir::Value weight,
                                             mlir::Value padding = {});

/// A constant of row-major elements, each in memory what it is in a tensor.
template <typename T>
mlir::Value makeNumbers(Emitter &emit, llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                        llvm::ArrayRef<T> values) {
  return makeConstant(emit.builder, emit.loc, mlir::RankedTensorType::get(shape, elementType),
                      [&](llvm::MutableArrayRef<char> bytes) {
                        assert(bytes.size() == values.size() * sizeof(T) && "one element each");
                        std::memcpy(bytes.data(), values.data(), bytes.size());
                      });
}

/// The same of f32 or f64 elements, which are rounded.
mlir::Value makeReals(Emitter &emit, llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                      llvm::ArrayRef<double> values);

/// A sparse constant as a tensor of all its elements.
mlir::Value makeDense(Emitter &emit, onnx::SparseTensorAttr value);

/// A list attribute that may be absent: then it is empty.
llvm::SmallVector<double> readReals(Node &node, llvm::StringRef name);
llvm::SmallVector<int64_t> readIntegers(Node &node, llvm::StringRef name);

/// The position of `text` among `names`; an error that lists them if it is none.
mlir::FailureOr<int64_t> readChoice(Node &node, llvm::StringRef attribute, llvm::StringRef text,
                                    llvm::ArrayRef<llvm::StringRef> names);

/// The element type that an attribute names by its code in TensorProto.
mlir::FailureOr<mlir::Type> readElementType(Node &node, llvm::StringRef name, int64_t absent);

/// `x` plus an input along its last dimension, if that is given.
mlir::FailureOr<mlir::Value> addLastBias(Node &node, mlir::Value x, unsigned bias);

/// An activation of LSTM and its like, or `clip`, by its name in small letters. What takes no
/// alpha or beta ignores them.
mlir::Value activationOf(Emitter &emit, llvm::StringRef name, double alpha, double beta,
                         mlir::Value x);

/// The activation that a fused operator names, if any. Its alpha and beta have the operator's
/// defaults where `parameters` ends before.
mlir::FailureOr<mlir::Value> activate(Node &node, llvm::ArrayRef<double> parameters, mlir::Value x);

/// The float type for what narrow floats lose too much in, such as places, which they cannot
/// count: f64 for numbers of `type` that f32 does not hold, else f32.
mlir::Type computeType(mlir::Type type);

/// A float type for computing with numbers of both types: theirs where they have the same one.
mlir::Type commonRealType(mlir::Type a, mlir::Type b);

/// The cubic convolution's polynomials of |x|, below 1 and from 1 to 2, and the value of one.
std::array<std::array<double, 4>, 2> cubicPieces(double a);
mlir::Value horner(Emitter &emit, mlir::Value x, llvm::ArrayRef<double> coefficients);

/// The weights of the four elements around a place that lies the fraction `t` behind the
/// second.
llvm::SmallVector<mlir::Value, 4> cubicWeights(Emitter &emit, mlir::Value t, double a);

/// "f32", "ui8".
std::string typeText(mlir::Type type);

/// The index of the extreme element, with its dimension kept as 1: the least (or last)
/// index at which the element equals the extreme, or is NaN, which NumPy takes for the
/// extreme wherever it occurs.
mlir::Value extremeIndex(Emitter &emit, mlir::Value x, ReduceKind extreme, int64_t axis,
                         bool isLast);

/// Places of windows along one dimension, as Conv and the poolings share it.
struct WindowAxis {
  int64_t window, stride, dilation;
  /// Amounts that the size decides may be expressions.
  SymExpr padLow, padHigh;
  SymExpr output;

  int64_t extent() const { return (window - 1) * dilation + 1; }
};

/// Checks that input 0 is an image, `[N, C, spatial...]`.
mlir::LogicalResult expectSpatial(Node &node);

/// A list attribute of `count` entries, each at least `least` and of 31 bits;
/// `absent` for each where it is not given.
mlir::FailureOr<llvm::SmallVector<int64_t>>
readSpatialList(Node &node, llvm::StringRef name, size_t count, int64_t absent, int64_t least);

/// Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode for the
/// spatial dimensions `sizes`. `kernel` is used where kernel_shape is absent,
/// and must agree with it where it is given; it may be empty.
mlir::FailureOr<llvm::SmallVector<WindowAxis>> readWindow(Node &node, llvm::ArrayRef<SymExpr> sizes,
                                                          llvm::ArrayRef<int64_t> kernel,
                                                          bool takesCeilMode);

/// Another size of one dimension: elements at its end, or centred on both sides, are cut
/// off, or zeros are put there.
mlir::Value fitAxis(Emitter &emit, mlir::Value operand, int64_t axis, const SymExpr &size,
                    bool isCentred);

/// Pads a channels-last tensor by what is no constant, and takes it off the axes.
mlir::Value padDynamic(Emitter &emit, mlir::Value operand, llvm::MutableArrayRef<WindowAxis> axes,
                       double value);

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_CONVERTER_H
