"""Recipes of products, convolutions, pools and recurrences."""

import numpy as np

from random_draw import Unsuitable, is_float
from recipe_table import broadcast_shapes, recipe


@recipe("contraction", "MatMul")
def product(g):
    rows, depth, columns = g.size(), g.size(), g.size()
    batches = broadcast_shapes(g, 2)
    left = [*batches[0][-3:], rows, depth] if g.maybe(0.8) else [depth]
    right = [*batches[1][-3:], depth, columns] if g.maybe(0.8) else [depth]
    if np.prod(left) > 6000 or np.prod(right) > 6000:
        raise Unsuitable
    g.operand(left, -2, 2)
    g.operand(right, -2, 2, constant=0.4)


@recipe("contraction", "Gemm")
def gemm(g):
    rows, depth, columns = g.size(), g.size(), g.size()
    a, b = (g.attribute(name, [0, 1]) for name in ("transA", "transB"))
    g.operand([depth, rows] if a else [rows, depth], -2, 2)
    g.operand([columns, depth] if b else [depth, columns], -2, 2, constant=0.4)
    if is_float(g.dtype(0)):
        g.attribute("alpha", [0.5, 1.0, 2.0])
        g.attribute("beta", [0.0, 0.5, 1.0])
    if g.schema.since_version < 11 or g.maybe(0.7):
        g.operand(g.pick([[rows, columns], [columns], [1, columns], [rows, 1], [1], []]), -2, 2,
                  constant=0.4)
        if any(size == 1 for size in g.operands[2][0].shape):
            g.fix()


@recipe("contraction", "Det")
def determinant(g):
    size = g.integer(1, 6)
    g.operand([*g.shape(0, 2, 20), size, size], -2, 2)
    g.fix()


EQUATIONS = ["ij,jk->ik", "ij,jk", "bij,bjk->bik", "ij->ji", "ij->", "ii->i", "ii", "i,j->ij",
             "bhid,bhjd->bhij", "...ij,...jk->...ik", "ij,ij->i", "i,i->", "ijk->kj", "abc,cd,de->abe"]


@recipe("contraction", "Einsum")
def einsum(g):
    equation = g.pick(EQUATIONS)
    sizes = {}
    wide = g.shape(0, 2, 12)
    for term in equation.split("->")[0].split(","):
        shape = [*wide] if "..." in term else []
        shape += [sizes.setdefault(letter, g.integer(2, 5)) for letter in term.replace(".", "")]
        g.operand(shape, -2, 2)
    g.attributes["equation"] = equation
    if 1 in wide:
        g.fix_all()


def window(g, spatial, kernel, dilated=True):
    """strides, pads, dilations and auto_pad over spatial dimensions."""
    rank = len(spatial)
    dilations = [1] * rank
    if dilated and "dilations" in g.schema.attributes and g.maybe(0.3):
        dilations = [g.pick([1, 2]) for _ in range(rank)]
        g.attributes["dilations"] = dilations
    if g.maybe(0.6):
        g.attributes["strides"] = [g.pick([1, 1, 2, 3]) for _ in range(rank)]
    mode = g.attribute("auto_pad", ["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if mode in (None, "NOTSET") and g.maybe(0.6):
        g.attributes["pads"] = [g.integer(0, kernel[i % rank] - 1) for i in range(2 * rank)]
    # ONNX Runtime pads less than nothing where the kernel does not fill the stride.
    strides = g.attributes.get("strides", [1] * rank)
    if any(k < s for k, s in zip(kernel, strides)) and (mode or "").startswith("SAME"):
        del g.attributes["auto_pad"]
    if any((k - 1) * d >= s for k, d, s in zip(kernel, dilations, spatial)):
        raise Unsuitable
    return dilations


def image(g, low=1):
    rank = g.pick([1, 2, 2, 2, 3])
    most = {1: 30, 2: 11, 3: 6}[rank]
    spatial = [g.integer(3, most) for _ in range(rank)]
    batch = 0 if g.may_be_empty and g.maybe(0.3) else g.integer(1, 2)
    return batch, spatial, [g.integer(low, 3) for _ in range(rank)]


def convolution_operands(g, images, weights):
    """Images, weights and perhaps a bias, by the shapes of the first two."""
    g.operand(images, -1, 1)
    g.operand(weights, -1, 1, constant=0.8)
    g.fix()
    if g.maybe(0.5):
        g.operand(weights[:1], -1, 1, constant=0.8)
        g.fix()


@recipe("window", "Conv")
def convolution(g):
    batch, spatial, kernel = image(g)
    groups = g.pick([1, 1, 1, 2, 3])
    channels, features = groups * g.integer(1, 5), groups * g.integer(1, 9)
    window(g, spatial, kernel)
    if groups > 1 or g.maybe(0.2):
        g.attributes["group"] = groups
    if g.maybe(0.7):
        g.attributes["kernel_shape"] = kernel
    convolution_operands(g, [batch, channels, *spatial], [features, channels // groups, *kernel])


@recipe("window", "ConvTranspose")
def transposed_convolution(g):
    batch, spatial, kernel = image(g)
    groups = g.pick([1, 1, 1, 2])
    channels, features = groups * g.integer(1, 4), g.integer(1, 5)
    window(g, spatial, kernel)
    strides = g.attributes.get("strides", [1] * len(kernel))
    if g.attributes.get("auto_pad", "NOTSET") == "NOTSET" and g.maybe(0.3):
        g.attributes["output_padding"] = [g.integer(0, s - 1) for s in strides]
    g.attributes["group"] = groups
    g.operand([batch, channels, *spatial], -1, 1)
    g.operand([channels, features, *kernel], -1, 1, constant=0.8)
    g.fix()
    if g.maybe(0.5):
        g.operand([features * groups], -1, 1, constant=0.8)
        g.fix()


@recipe("window", "AveragePool MaxPool LpPool")
def pooling(g):
    batch, spatial, kernel = image(g)
    window(g, spatial, kernel)
    # ONNX Runtime passes over dilations when it pads by itself.
    if "dilations" in g.attributes and g.attributes.get("auto_pad", "").startswith("SAME"):
        del g.attributes["auto_pad"]
    g.attributes["kernel_shape"] = kernel
    # ONNX Runtime counts what lies beyond the padding in ceil_mode otherwise than ONNX says.
    counted = g.attribute("count_include_pad", [0, 1])
    if not counted and g.attributes.get("auto_pad", "NOTSET") == "NOTSET":
        g.attribute("ceil_mode", [0, 1])
    g.attribute("p", [1, 2, 3])
    g.operand([batch, g.integer(1, 5), *spatial])
    if g.schema.name == "MaxPool" and g.schema.since_version >= 8 and g.maybe(0.4):
        g.outputs = 2
        g.attribute("storage_order", [0, 1])


@recipe("window", "GlobalAveragePool GlobalMaxPool GlobalLpPool")
def global_pooling(g):
    batch, spatial, _ = image(g)
    g.operand([batch, g.integer(1, 5), *spatial])
    g.attribute("p", [1, 2, 3])


@recipe("recurrence", "LSTM GRU RNN")
def recurrence(g):
    name = g.schema.name
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[name]
    steps, batch, inputs, hidden = (g.integer(1, 4) for _ in range(4))
    direction = g.attribute("direction", ["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    g.attributes["hidden_size"] = hidden
    layout = g.attribute("layout", [0, 0, 1])
    g.attribute("linear_before_reset", [0, 1])
    g.attribute("input_forget", [0, 1])
    g.attribute("clip", [0.5])

    def states():
        return [batch, directions, hidden] if layout else [directions, batch, hidden]

    def optional(shape, low=-1, high=1):
        if g.maybe(0.6):
            g.operand(shape, low, high, constant=0.5)
            g.fix()
        else:
            g.absent()

    g.operand([batch, steps, inputs] if layout else [steps, batch, inputs], -1, 1)
    for depth in (inputs, hidden):
        g.operand([directions, gates * hidden, depth], -1, 1, constant=0.8)
        g.fix()
    optional([directions, 2 * gates * hidden])
    optional([batch], 1, steps)
    optional(states())
    if name == "LSTM":
        optional(states())
        optional([directions, 3 * hidden])
    g.outputs = 3 if name == "LSTM" else 2
    g.fix_all()
