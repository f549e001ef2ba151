//===- Signal.cpp - Fourier transforms and what is used with them ---------===//
//
// A transform of known length is split into short ones, which are matrix products;
// one of unknown length is a single product with a matrix that the run fills.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <cmath>
#include <complex>

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

static constexpr double kTau = 6.283185307179586476925;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// a0 - a1 cos(t) + a2 cos(2t), where t goes once around.
static LogicalResult cosineWindow(Node &node, ArrayRef<double> coefficients) {
  FailureOr<Type> type = readElementType(node, "output_datatype", 1);
  bool isPeriodic = node.integer("periodic", 1) != 0;
  FailureOr<Value> number = node.scalarOperand(0, "size");
  if (failed(type) || failed(number))
    return failure();
  SymExpr size = node.bind(*number);
  if (failed(node.checkSize(size)))
    return failure();
  Emitter &emit = node.emit;
  // Computed in double: a window is short, and multiplies everything behind it.
  Value place = emit.iota(emit.typed(size, emit.builder.getF64Type()), 0);
  Value angle =
      emit.binary(BK::Div, emit.binary(BK::Mul, place, kTau), isPeriodic ? size : size - 1);
  Value sum = emit.splatLike(place, coefficients[0]);
  for (auto [i, coefficient] : llvm::enumerate(coefficients.drop_front())) {
    Value wave = emit.unary(UK::Cos, emit.binary(BK::Mul, angle, double(i + 1)));
    sum = emit.binary(i % 2 ? BK::Add : BK::Sub, sum, emit.binary(BK::Mul, wave, coefficient));
  }
  return node.yield(emit.convert(sum, *type));
}

static LogicalResult hannWindow(Node &node) { return cosineWindow(node, {0.5, 0.5}); }
static LogicalResult hammingWindow(Node &node) {
  return cosineWindow(node, {25.0 / 46, 21.0 / 46});
}
static LogicalResult blackmanWindow(Node &node) { return cosineWindow(node, {0.42, 0.5, 0.08}); }

//===----------------------------------------------------------------------===//
// MelWeightMatrix
//===----------------------------------------------------------------------===//

/// Triangles over the bins of a spectrum, [bins, triangles]; their corners are equally
/// far apart on the mel scale.
static LogicalResult melWeightMatrix(Node &node) {
  FailureOr<Type> type = readElementType(node, "output_datatype", 1);
  static constexpr StringLiteral names[] = {"num_mel_bins", "dft_length", "sample_rate",
                                            "lower_edge_hertz", "upper_edge_hertz"};
  Emitter &emit = node.emit;
  Type f64 = emit.builder.getF64Type();
  SmallVector<Value> numbers;
  for (auto [i, name] : llvm::enumerate(names)) {
    FailureOr<Value> number = node.scalarOperand(i, name);
    if (failed(number))
      return failure();
    numbers.push_back(*number);
  }
  if (failed(type))
    return failure();
  SymExpr triangles = node.bind(numbers[0]), length = node.bind(numbers[1]);
  Sizes shape{SymExpr::floorDiv(length, 2) + 1, triangles};
  if (failed(node.checkSize(shape)))
    return failure();
  auto real = [&](unsigned i) { return emit.convert(numbers[i], f64); };
  const double scale = 2595 / std::log(10.0);
  auto mel = [&](Value hertz) {
    Value log = emit.unary(UK::Log1p, emit.binary(BK::Div, hertz, 700));
    return emit.binary(BK::Mul, log, scale);
  };
  Value low = mel(real(3)), range = emit.binary(BK::Sub, mel(real(4)), low);
  Value step = emit.binary(BK::Div, range, emit.binary(BK::Add, real(0), 2));
  Value binsPerHertz = emit.binary(BK::Div, emit.binary(BK::Add, real(1), 1), real(2));
  /// The bin of corner `first` of each triangle.
  auto corner = [&](int64_t first) {
    Sizes along{triangles};
    Value number = emit.binary(BK::Add, emit.iota(emit.typed(along, f64), 0), double(first));
    Value at = emit.binary(BK::Add, emit.binary(BK::Mul, number, emit.splat(step, along)),
                           emit.splat(low, along));
    Value hertz = emit.binary(BK::Mul, emit.unary(UK::Expm1, emit.binary(BK::Div, at, scale)), 700);
    Value bin = emit.unary(UK::Floor, emit.binary(BK::Mul, hertz, emit.splat(binsPerHertz, along)));
    return emit.broadcastAlong(bin, shape, 1);
  };
  Value left = corner(0), centre = corner(1), right = corner(2);
  Value bin = emit.iota(emit.typed(shape, f64), 0);
  Value zero = emit.splatLike(bin, 0);
  auto slope = [&](Value from, Value to) {
    // Where both are one bin the quotient is not used.
    Value width = emit.binary(BK::Max, emit.binary(BK::Sub, to, from), 1);
    return std::pair(emit.binary(BK::Sub, bin, from), width);
  };
  auto [rise, riseWidth] = slope(left, centre);
  Value rising =
      emit.binary(BK::And, emit.compare(CK::Ge, bin, left), emit.compare(CK::Le, bin, centre));
  Value isPeak = emit.compare(CK::Eq, bin, centre);
  Value weight = emit.select(rising, emit.binary(BK::Div, rise, riseWidth), zero);
  weight = emit.select(isPeak, emit.splatLike(bin, 1), weight);
  auto [fall, fallWidth] = slope(centre, right);
  Value falling =
      emit.binary(BK::And, emit.compare(CK::Gt, bin, centre), emit.compare(CK::Lt, bin, right));
  Value rest = emit.binary(BK::Sub, emit.splatLike(bin, 1), emit.binary(BK::Div, fall, fallWidth));
  return node.yield(emit.convert(emit.select(falling, rest, weight), *type));
}

//===----------------------------------------------------------------------===//
// Transforms
//===----------------------------------------------------------------------===//

namespace {

/// Fourier transforms along the second of three dimensions, [rows, n, parts]. A number is
/// one part where all are real, else its real and its imaginary part.
class Fourier {
public:
  Fourier(Emitter &emit, bool isInverse) : emit(emit), sign(isInverse ? 1 : -1) {}

  /// The first `wanted` numbers of the transform, without the factor 1 / n.
  Value transform(Value x, const SymExpr &wanted);

private:
  using Complex = std::complex<double>;
  /// Products with longer matrices cost more than to go on splitting.
  static constexpr int64_t kMaxFactor = 64;
  /// The same for what cannot be split.
  static constexpr int64_t kMaxPrime = 512;

  Value product(Value x, const SymExpr &wanted);
  Value constantMatrix(int64_t n, int64_t parts, int64_t wanted, Type type);
  Value runtimeMatrix(const SymExpr &n, int64_t parts, const SymExpr &wanted, Type type);
  Value split(Value x, int64_t n, int64_t factor);
  Value convolve(Value x, int64_t n);
  Value times(Value x, ArrayRef<Complex> factors, ArrayRef<int64_t> shape);
  Complex root(int64_t power, int64_t n) {
    return std::polar(1.0, sign * kTau * double(power % n) / double(n));
  }

  Emitter &emit;
  int sign;
};

} // namespace

/// x[..., parts] times factors, which lie along the dimensions before `parts` and repeat.
Value Fourier::times(Value x, ArrayRef<Complex> factors, ArrayRef<int64_t> shape) {
  Type type = Emitter::typeOf(x).getElementType();
  Sizes sizes = sizesOf(x);
  bool isReal = sizes.back() == SymExpr(1);
  SmallVector<int64_t> tableShape(shape);
  tableShape.push_back(2);
  sizes.back() = 2;
  SmallVector<double> straight, crossed;
  for (Complex factor : factors) {
    straight.append({factor.real(), isReal ? factor.imag() : factor.real()});
    crossed.append({-factor.imag(), factor.imag()});
  }
  auto scaled = [&](Value value, ArrayRef<double> by) {
    return emit.binary(BK::Mul, value,
                       emit.broadcastTo(makeReals(emit, tableShape, type, by), sizes));
  };
  if (isReal)
    return scaled(emit.broadcastTo(x, sizes), straight);
  Sizes offsets(sizes.size(), 0);
  SmallVector<int64_t> strides(sizes.size(), 1);
  offsets.back() = 1;
  strides.back() = -1;
  return emit.binary(BK::Add, scaled(x, straight),
                     scaled(emit.slice(x, offsets, sizes, strides), crossed));
}

/// Rows are (n, part), columns (k, part).
Value Fourier::constantMatrix(int64_t n, int64_t parts, int64_t wanted, Type type) {
  SmallVector<double> values;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t k = 0; k < wanted; ++k) {
        Complex number = root(i * k, n) * (part ? Complex(0, 1) : Complex(1, 0));
        values.append({number.real(), number.imag()});
      }
  return makeReals(emit, {n * parts, wanted * 2}, type, values);
}

Value Fourier::runtimeMatrix(const SymExpr &n, int64_t parts, const SymExpr &wanted, Type type) {
  Sizes shape{n, wanted};
  Type i64 = emit.builder.getI64Type();
  Value power = emit.binary(BK::Mul, emit.iota(emit.typed(shape, i64), 0),
                            emit.iota(emit.typed(shape, i64), 1));
  // Powers are taken modulo n as integers, so that angles stay exact.
  Value turns = emit.convert(emit.binary(BK::Rem, power, n), type);
  Value angle = emit.binary(BK::Mul, emit.binary(BK::Div, turns, n), sign * kTau);
  Value cos = emit.unary(UK::Cos, angle), sin = emit.unary(UK::Sin, angle);
  Sizes whole{n, SymExpr(parts), wanted, SymExpr(2)}, column{n, SymExpr(1), wanted, SymExpr(1)};
  auto pair = [&](Value real, Value imaginary) {
    return emit.concat({emit.reshape(real, column), emit.reshape(imaginary, column)}, 3);
  };
  Value matrix = pair(cos, sin);
  if (parts == 2)
    matrix = emit.concat({matrix, pair(emit.unary(UK::Neg, sin), cos)}, 1);
  return emit.reshape(matrix, {n * parts, wanted * 2});
}

Value Fourier::product(Value x, const SymExpr &wanted) {
  Sizes sizes = sizesOf(x);
  const SymExpr &n = sizes[1];
  int64_t parts = *sizes[2].asConstant();
  Type type = Emitter::typeOf(x).getElementType();
  std::optional<int64_t> known = n.asConstant(), knownWanted = wanted.asConstant();
  Value matrix = known && knownWanted ? constantMatrix(*known, parts, *knownWanted, type)
                                      : runtimeMatrix(n, parts, wanted, type);
  x = emit.reshape(x, {sizes[0], n * parts});
  x = emit.create<ContractOp>(emit.typed({sizes[0], wanted * 2}, type), x, matrix,
                              /*transpose_lhs=*/false, /*transpose_rhs=*/false, /*packed=*/false);
  return emit.reshape(x, {sizes[0], wanted, SymExpr(2)});
}

/// n = a * b: transforms of length a, factors, transforms of length b. With i = i0 * b + i1
/// and k = k0 + a * k1.
Value Fourier::split(Value x, int64_t n, int64_t a) {
  Sizes sizes = sizesOf(x);
  SymExpr rows = sizes[0], parts = sizes[2];
  int64_t b = n / a;
  x = emit.transpose(emit.reshape(x, {rows, a, b, parts}), {0, 2, 1, 3});
  x = transform(emit.reshape(x, {rows * b, a, parts}), a);
  SmallVector<Complex> factors;
  for (int64_t i1 = 0; i1 < b; ++i1)
    for (int64_t k0 = 0; k0 < a; ++k0)
      factors.push_back(root(i1 * k0, n));
  x = times(emit.reshape(x, {rows, b, a, 2}), factors, {b, a});
  x = emit.reshape(emit.transpose(x, {0, 2, 1, 3}), {rows * a, b, 2});
  x = emit.reshape(transform(x, b), {rows, a, b, 2});
  return emit.reshape(emit.transpose(x, {0, 2, 1, 3}), {rows, n, 2});
}

/// In place, of a power of two.
static void transformConstant(MutableArrayRef<std::complex<double>> x) {
  size_t n = x.size();
  if (n == 1)
    return;
  SmallVector<std::complex<double>> even, odd;
  for (size_t i = 0; i < n; i += 2) {
    even.push_back(x[i]);
    odd.push_back(x[i + 1]);
  }
  transformConstant(even);
  transformConstant(odd);
  for (size_t k = 0; k < n / 2; ++k) {
    std::complex<double> turned = std::polar(1.0, -kTau * double(k) / double(n)) * odd[k];
    x[k] = even[k] + turned;
    x[k + n / 2] = even[k] - turned;
  }
}

/// Bluestein's algorithm: n * k = (n^2 + k^2 - (k - n)^2) / 2 makes a convolution of the
/// transform, which is a product between transforms of a length that can be split.
Value Fourier::convolve(Value x, int64_t n) {
  int64_t length = llvm::PowerOf2Ceil(2 * n - 1);
  SmallVector<Complex> chirp, kernel(length, 0);
  for (int64_t i = 0; i < n; ++i) {
    chirp.push_back(std::polar(1.0, sign * kTau * double(i * i % (2 * n)) / double(2 * n)));
    kernel[i] = kernel[(length - i) % length] = std::conj(chirp.back()) / double(length);
  }
  transformConstant(kernel);
  x = times(x, chirp, {n});
  SymExpr rows = sizeOf(x, 0);
  Value zero = emit.scalar(0, Emitter::typeOf(x).getElementType());
  x = emit.pad(PadKind::Constant, x, zero, {0, 0, 0}, {0, length - n, 0});
  x = Fourier(emit, /*isInverse=*/false).transform(x, length);
  x = Fourier(emit, /*isInverse=*/true).transform(times(x, kernel, {length}), length);
  return times(emit.sliceAxis(x, 1, 0, n), chirp, {n});
}

Value Fourier::transform(Value x, const SymExpr &wanted) {
  std::optional<int64_t> n = sizeOf(x, 1).asConstant();
  if (!n || *n <= kMaxFactor)
    return product(x, wanted);
  // Of two factors the nearest to each other cost the least.
  int64_t factor = std::min<int64_t>(kMaxFactor, std::sqrt(double(*n)));
  while (*n % factor)
    --factor;
  if (factor == 1 && *n <= kMaxPrime)
    return product(x, wanted);
  x = factor > 1 ? split(x, *n, factor) : convolve(x, *n);
  return emit.sliceAxis(x, 1, 0, wanted);
}

/// The second half of the spectrum of a real signal: [rows, n / 2 + 1, 2] to [rows, n, 2].
static Value mirrored(Emitter &emit, Value x, const SymExpr &n) {
  SymExpr kept = sizeOf(x, 1), rest = n - kept, rows = sizeOf(x, 0);
  Value tail = emit.slice(x, {0, rest, 0}, {rows, rest, SymExpr(2)}, {1, -1, 1});
  Value real = emit.sliceAxis(tail, 2, 0, 1), imaginary = emit.sliceAxis(tail, 2, 1, 1);
  tail = emit.concat({real, emit.unary(UK::Neg, imaginary)}, 2);
  return emit.cast(emit.concat({x, tail}, 1), {rows, n, SymExpr(2)});
}

/// The number of parts that input 0 has behind its other dimensions.
static FailureOr<int64_t> readParts(Node &node) {
  Sizes shape = node.inputShape(0);
  std::optional<int64_t> parts = shape.empty() ? std::nullopt : shape.back().asConstant();
  if (shape.size() < 2 || !parts || *parts < 1 || *parts > 2)
    return node.error() << "input has shape " << shapeText(shape)
                        << ", expected a last dimension of 1 (real) or 2 (complex)";
  return *parts;
}

/// The length that input `index` gives, a scalar of at least 1.
static FailureOr<SymExpr> readLength(Node &node, unsigned index, StringRef what) {
  FailureOr<Value> number = node.scalarOperand(index, what);
  if (failed(number))
    return failure();
  SymExpr length = node.bind(*number);
  if (!node.ensureAtMost(1, length, what))
    return node.error() << what << " is " << length.str() << ", expected at least 1";
  return length;
}

/// The tables of a known length, which grow with it, are a part of the artifact. A length that
/// only the run knows takes a matrix, which grows with its square: in f32 that is 4 GiB at most.
static LogicalResult checkLength(Node &node, const SymExpr &length) {
  int64_t most = length.asConstant() ? int64_t(1) << 24 : int64_t(1) << 14;
  if (!node.ensureAtMost(length, most, "the length of a transform that only the run knows"))
    return node.error() << "transform has length " << length.str() << "; at most " << most
                        << " is supported";
  return node.checkSize(length);
}

static LogicalResult dft(Node &node) {
  FailureOr<int64_t> parts = readParts(node);
  bool isInverse = node.integer("inverse", 0) != 0, isOneSided = node.integer("onesided", 0) != 0;
  if (failed(parts) || failed(node.expectReal()))
    return failure();
  Sizes shape = node.inputShape(0);
  int64_t rank = shape.size(), given = node.getOpset() < 20 ? node.integer("axis", 1) : -2;
  if (node.input(2)) {
    FailureOr<Value> number = node.scalarOperand(2, "axis");
    if (failed(number))
      return failure();
    std::optional<SymExpr> known = Emitter::known(*number);
    if (!known || !known->asConstant())
      return node.error() << "axis is computed from the model's inputs; only constants are "
                          << "supported";
    given = *known->asConstant();
  }
  FailureOr<int64_t> axis = node.normalizeAxis(given, rank);
  if (failed(axis))
    return failure();
  if (*axis == rank - 1)
    return node.error() << "axis " << given << " is the last dimension, which holds the parts of "
                        << "numbers";
  bool isReal = isInverse && isOneSided;
  if (isOneSided && !isInverse && *parts == 2)
    return node.error() << "attribute 'onesided' is 1 for complex numbers, expected real ones";
  SymExpr length = isReal ? (shape[*axis] - 1) * 2 : shape[*axis];
  if (node.input(1)) {
    FailureOr<SymExpr> operand = readLength(node, 1, "dft_length");
    if (failed(operand))
      return failure();
    length = *operand;
  }
  if (failed(checkLength(node, length)))
    return failure();

  Emitter &emit = node.emit;
  Type type = node.inputType(0).getElementType(), compute = computeType(type);
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < rank - 1; ++i)
    if (i != *axis)
      perm.push_back(i);
  perm.append({*axis, rank - 1});
  Value x = emit.transpose(emit.convert(node.input(0), compute), perm);
  Sizes moved = sizesOf(x);
  SymExpr half = SymExpr::floorDiv(length, 2) + 1;
  x = emit.reshape(x, {product(Node::Shape(moved).drop_back(2)), shape[*axis], SymExpr(*parts)});
  x = fitAxis(emit, x, 1, isReal ? half : length, /*isCentred=*/false);
  if (isReal && *parts == 1)
    x = emit.pad(PadKind::Constant, x, emit.scalar(0, compute), {0, 0, 0}, {0, 0, 1});
  if (isReal)
    x = mirrored(emit, x, length);
  x = Fourier(emit, isInverse).transform(x, isOneSided && !isInverse ? half : length);
  if (isReal)
    x = emit.sliceAxis(x, 2, 0, 1);
  if (isInverse)
    x = emit.binary(BK::Div, x, length);
  moved[rank - 2] = sizeOf(x, 1);
  moved[rank - 1] = sizeOf(x, 2);
  x = emit.transpose(emit.reshape(x, moved), invertPermutationVector(perm));
  return node.yield(emit.convert(x, type));
}

/// Transforms of windows of the signal, [rows, length, parts].
static LogicalResult stft(Node &node) {
  FailureOr<int64_t> parts = readParts(node);
  bool isOneSided = node.integer("onesided", 1) != 0;
  if (failed(parts) || failed(node.expectReal()))
    return failure();
  Sizes shape = node.inputShape(0);
  if (shape.size() != 3)
    return node.error() << "input has shape " << shapeText(shape) << ", expected three dimensions";
  if (isOneSided && *parts == 2)
    return node.error() << "attribute 'onesided' is 1 for complex numbers, expected real ones";
  FailureOr<SymExpr> step = readLength(node, 1, "frame_step");
  if (failed(step))
    return failure();
  SymExpr length = shape[1];
  Value window = node.input(2);
  if (window) {
    if (failed(node.expectSameElementType(0, 2)))
      return failure();
    if (node.inputRank(2) != 1)
      return node.error() << "window has shape " << shapeText(node.inputShape(2))
                          << ", expected one dimension";
    length = node.inputShape(2)[0];
  }
  if (node.input(3)) {
    FailureOr<SymExpr> operand = readLength(node, 3, "frame_length");
    if (failed(operand))
      return failure();
    if (window && !node.ensureEqual(length, *operand, "the length of the window"))
      return node.error() << "window has " << length.str() << " elements, expected "
                          << operand->str();
    length = *operand;
  }
  Emitter &emit = node.emit;
  if (!node.ensureAtMost(length, shape[1], "the length of a frame is {0}, expected at most {1}"))
    return node.error() << "frames of " << length.str() << " do not fit into a signal of "
                        << shape[1].str();
  SymExpr frames = SymExpr::floorDiv(shape[1] - length, *step) + 1;
  SymExpr wanted = isOneSided ? SymExpr::floorDiv(length, 2) + 1 : length;
  if (failed(checkLength(node, length)) ||
      failed(node.checkSize({shape[0], frames, length, SymExpr(2)})))
    return failure();
  Type type = node.inputType(0).getElementType(), compute = computeType(type);
  Type i64 = emit.builder.getI64Type();
  Sizes grid{frames, length};
  Value start = emit.binary(BK::Mul, emit.iota(emit.typed(grid, i64), 0), *step);
  Value place = emit.binary(BK::Add, start, emit.iota(emit.typed(grid, i64), 1));
  Value x = emit.gather(emit.convert(node.input(0), compute), place, 1);
  if (window)
    x = emit.binary(
        BK::Mul, x,
        emit.broadcastAlong(emit.convert(emit.cast(window, length), compute), sizesOf(x), 2));
  x = emit.reshape(x, {shape[0] * frames, length, SymExpr(*parts)});
  x = Fourier(emit, /*isInverse=*/false).transform(x, wanted);
  x = emit.reshape(x, {shape[0], frames, wanted, SymExpr(2)});
  return node.yield(emit.convert(x, type));
}

static const OperatorRow rows[] = {
    {"BlackmanWindow", 1, 1, blackmanWindow, "", 17},
    {"DFT", 1, 3, dft, "constant axis; lengths up to 2^24, or 2^14 where only the run knows them",
     17},
    {"HammingWindow", 1, 1, hammingWindow, "", 17},
    {"HannWindow", 1, 1, hannWindow, "", 17},
    {"MelWeightMatrix", 5, 5, melWeightMatrix, "", 17},
    {"STFT", 2, 4, stft, "lengths up to 2^24, or 2^14 where only the run knows them", 17},
};

ArrayRef<OperatorRow> lumen::signalRows() { return rows; }
