"""Recipes of operators on quantised tensors."""

import numpy as np

from random_draw import NARROW, Unsuitable
from recipe_table import broadcast_shapes, element_type, recipe
from recipes_contraction import image, window

CONTRIB = "com.microsoft"


def data(g, shape, constant=0.15):
    """Bytes of their whole range."""
    return g.operand(shape, -128, 255, constant)


def scale(g, shape=(), constant=0.5):
    g.operand(list(shape), 0.01, 0.05, constant)


def zero(g, shape=(), constant=0.5):
    """A zero point that is not far from the middle."""
    dtype = np.dtype(g.dtype(len(g.operands)))
    g.operand(list(shape), *((100, 140) if dtype == np.uint8 else (-20, 20)), constant)


def quantised(g, shape, constant=0.15):
    data(g, shape, constant)
    scale(g)
    zero(g)


def result(g):
    """Scale and zero point of a result of tens."""
    g.operand([], 0.4, 0.8, constant=0.5)
    zero(g)


# ---- To integers and back --------------------------------------------------


def granularity(g, shape):
    """The shape of the scales: of a tensor, of an axis, or of blocks."""
    version, contrib = g.schema.since_version, bool(g.schema.domain)
    kind = g.pick(["tensor", "axis", "blocks"]) if version >= 13 else "tensor"
    if kind == "tensor" or not shape:
        if contrib and shape:
            g.attributes["axis"] = 0
        return []
    axis = g.axis(len(shape))
    g.attributes["axis"] = axis
    if kind == "axis" or version < 21:
        return [shape[axis]]
    block = g.pick([1, 2, 3, 5])
    g.attributes["block_size"] = block
    scales = list(shape)
    scales[axis] = -(-shape[axis] // block)
    # Whether the last block is whole decides what the other sizes may be.
    g.fix_all()
    return scales


@recipe("quantization", "QuantizeLinear")
@recipe("quantization", "QuantizeLinear", CONTRIB)
def quantize(g):
    shape = g.shape()
    scales = granularity(g, shape)
    # The quotient is computed in these types, but for the reference.
    g.within = 2 if {g.dtype(0), g.dtype(1)} & set(NARROW) else 0
    g.operand(shape, -4, 4)
    scale(g, scales)
    if g.schema.domain or g.maybe(0.8):
        zero(g, scales)
    elif "output_dtype" in g.schema.attributes:
        element_type(g, "output_dtype")


@recipe("quantization", "DequantizeLinear")
@recipe("quantization", "DequantizeLinear", CONTRIB)
def dequantize(g):
    shape = g.shape()
    scales = granularity(g, shape)
    data(g, shape)
    scale(g, scales)
    if g.dtype(0) != np.int32 and (g.schema.domain or g.maybe(0.8)):
        zero(g, scales)


@recipe("quantization", "DynamicQuantizeLinear")
def dynamic_quantize(g):
    low = g.pick([-4, -4, 0.5, -6])
    g.may_be_empty = False
    g.operand(g.shape(), low, low + g.pick([2, 8]))
    g.outputs = 3


# ---- Products --------------------------------------------------------------


def factors(g, most=6000):
    """Shapes of two matrices, perhaps in batches."""
    rows, depth, columns = (g.size() for _ in range(3))
    batches = broadcast_shapes(g, 2)
    left, right = [*batches[0][-2:], rows, depth], [*batches[1][-2:], depth, columns]
    if np.prod(left) > most or np.prod(right) > most:
        raise Unsuitable
    return left, right


def per_column(g, right):
    """Scales of a matrix of weights: one, or one for each column."""
    return [right[-1]] if len(right) == 2 and g.maybe(0.4) else []


@recipe("quantization", "MatMulInteger")
def integer_product(g):
    left, right = factors(g)
    data(g, left)
    data(g, right, 0.5)
    if g.maybe(0.7):
        zero(g)
        if g.maybe(0.7):
            zero(g, per_column(g, right))
            g.fix()


@recipe("quantization", "QLinearMatMul")
def quantised_product(g):
    left, right = factors(g)
    g.within = 1
    quantised(g, left)
    scales = per_column(g, right)
    data(g, right, 0.5)
    scale(g, scales)
    g.fix()
    zero(g, scales)
    g.fix()
    result(g)


@recipe("quantization", "QGemm", CONTRIB)
def quantised_gemm(g):
    g.may_be_empty = False
    rows, depth, columns = (g.size() for _ in range(3))
    a, b = (g.attribute(name, [0, 1]) for name in ("transA", "transB"))
    g.attribute("alpha", [0.5, 1.0])
    g.within = 1
    quantised(g, [depth, rows] if a else [rows, depth])
    scales = [columns] if g.maybe(0.4) else []
    data(g, [columns, depth] if b else [depth, columns], 0.5)
    scale(g, scales)
    zero(g, scales)
    if g.maybe(0.5):
        g.operand([columns], -900, 900)
    else:
        g.absent()
    result(g)
    g.fix_all()


@recipe("quantization", "DynamicQuantizeMatMul", CONTRIB)
def dynamic_product(g):
    g.may_be_empty = False
    left, right = factors(g)
    g.operand(left)
    scales = per_column(g, right)
    data(g, right, 0.5)
    scale(g, scales)
    zero(g, scales)
    if g.maybe(0.5):
        g.operand([right[-1]])
    g.fix_all()


@recipe("quantization", "MatMulIntegerToFloat", CONTRIB)
def product_to_float(g):
    g.may_be_empty = False
    left, right = factors(g)
    data(g, left)
    data(g, right, 0.5)
    scales = per_column(g, right)
    scale(g)
    scale(g, scales)
    zero(g)
    zero(g, scales)
    if g.maybe(0.5):
        g.operand([right[-1]])
    g.fix_all()


@recipe("quantization", "QAttention", CONTRIB)
def quantized_attention(g):
    g.may_be_empty = False
    batch, length, inputs, heads = g.integer(1, 2), g.integer(2, 5), g.integer(1, 9), \
        g.integer(1, 3)
    width = heads * g.integer(1, 6)
    g.attributes["num_heads"] = heads
    data(g, [batch, length, inputs])
    data(g, [inputs, 3 * width], 1)
    g.operand([3 * width], -1, 1, constant=0.5)
    scales = g.pick([[], [3 * width]])
    scale(g)
    scale(g, scales)
    if g.maybe(0.5):
        masks = [g.rng.integers(1, length + 1, batch), g.rng.integers(0, 2, (batch, length))]
        g.give(np.asarray(g.pick(masks), np.int32))
    else:
        g.absent()
    zero(g)
    zero(g, scales)
    g.attribute("unidirectional", [0, 1])
    g.fix_all()


# ---- Windows ---------------------------------------------------------------


def convolved(g):
    """Shapes of an image and of weights, after the attributes."""
    batch, spatial, kernel = image(g)
    groups = g.pick([1, 1, 2, 3])
    window(g, spatial, kernel)
    g.attributes["group"] = groups
    channels, features = groups * g.integer(1, 5), groups * g.integer(1, 9)
    return [batch, channels, *spatial], [features, channels // groups, *kernel]


@recipe("quantization", "ConvInteger")
def integer_convolution(g):
    image_shape, weights = convolved(g)
    data(g, image_shape)
    data(g, weights, 0.8)
    g.fix()
    if g.maybe(0.7):
        zero(g)
        if g.maybe(0.5):
            zero(g)


@recipe("quantization", "QLinearConv")
def quantised_convolution(g):
    image_shape, weights = convolved(g)
    g.within = 1
    quantised(g, image_shape)
    scales = [weights[0]] if g.maybe(0.5) else []
    data(g, weights, 0.8)
    g.fix()
    scale(g, scales)
    g.fix()
    zero(g, scales if g.maybe(0.5) else [])
    g.fix()
    result(g)
    if g.maybe(0.5):
        g.operand([weights[0]], -900, 900)
        g.fix()


@recipe("quantization", "QLinearAveragePool QLinearGlobalAveragePool", CONTRIB)
def quantised_pool(g):
    batch, spatial, kernel = max(1, g.integer(1, 2)), *image(g)[1:]
    g.within = 1
    if g.schema.name == "QLinearAveragePool":
        window(g, spatial, kernel, dilated=False)
        g.attributes["kernel_shape"] = kernel
        g.attribute("count_include_pad", [0, 1])
    last = g.attribute("channels_last", [0, 1])
    channels = g.integer(1, 5)
    quantised(g, [batch, *spatial, channels] if last else [batch, channels, *spatial], 0)
    scale(g)
    zero(g)


# ---- Others ----------------------------------------------------------------


@recipe("quantization", "QLinearAdd QLinearMul", CONTRIB)
def quantised_binary(g):
    g.within = 1
    for shape in broadcast_shapes(g, 2):
        quantised(g, shape)
    result(g)


@recipe("quantization", "QLinearSigmoid QLinearLeakyRelu QLinearSoftmax", CONTRIB)
def quantised_unary(g):
    name = g.schema.name
    g.within = 1
    # Scales are constants in ONNX Runtime's kernels.
    shape = g.shape(1 if name == "QLinearSoftmax" else 0)
    data(g, shape, 0)
    scale(g, constant=1)
    zero(g, constant=1)
    if name == "QLinearLeakyRelu":
        g.attribute("alpha", [0.01, 0.1, 0.5])
        result(g)
        return
    if name == "QLinearSoftmax":
        g.attributes["opset"] = g.pick([11, 13])
        g.attributes["axis"] = g.integer(-len(shape), len(shape) - 1)
    g.operand([], 0.003, 0.004, constant=1)
    g.give(np.zeros([], g.dtype(4)), 1)


@recipe("quantization", "QLinearConcat", CONTRIB)
def quantised_concat(g):
    shape = g.shape(1)
    axis = g.axis(len(shape))
    g.attributes["axis"] = axis
    g.within = 1
    g.operand([], 0.03, 0.06, constant=1)
    zero(g, constant=1)
    for _ in range(g.integer(1, 3)):
        part = list(shape)
        part[axis] = g.size()
        data(g, part)
        scale(g, constant=1)
        zero(g, constant=1)


@recipe("quantization", "QLinearWhere", CONTRIB)
def quantised_where(g):
    g.within = 1
    condition, left, right = broadcast_shapes(g, 3)
    g.operand(condition)
    for shape in (left, right):
        data(g, shape)
        scale(g, constant=1)
        zero(g, constant=1)
    g.operand([], 0.03, 0.06, constant=1)
    zero(g, constant=1)
