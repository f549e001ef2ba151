"""Recipes of what com.microsoft fuses of other families."""

import numpy as np

from random_draw import Unsuitable
from recipe_table import recipe
from recipes_contraction import convolution_operands, image, window
from recipes_movement import tuples
from recipes_normalization import EPSILONS

DOMAIN = "com.microsoft"


@recipe("elementwise", "Gelu QuickGelu FastGelu BiasGelu BiasAdd BiasSplitGelu", DOMAIN)
def activation(g):
    name = g.schema.name
    shape = g.shape(3, 3) if name in ("BiasAdd", "BiasSplitGelu") else g.shape(1)
    if name == "BiasSplitGelu":
        shape[-1] *= 2
    g.operand(shape)
    if name.startswith("Bias") or name == "FastGelu" and g.maybe(0.5):
        g.operand([shape[-1]], constant=0.5)
    if name == "BiasAdd":
        g.operand(shape)
    g.attribute("alpha", [1.0, 1.702])


# ---- Norms -----------------------------------------------------------------


@recipe("normalization", "SimplifiedLayerNormalization")
def simplified_norm(g):
    shape = g.shape(1)
    axis = g.attribute("axis", [g.integer(-len(shape), -1)])
    g.operand(shape)
    g.operand(shape[-1 if axis is None else axis:], -2, 2, constant=0.6)
    g.attribute("epsilon", EPSILONS)


@recipe("normalization", "SkipLayerNormalization SkipSimplifiedLayerNormalization", DOMAIN)
def skip_norm(g):
    shape = [max(1, size) for size in g.shape(3, 3)]
    g.operand(shape)
    g.operand(g.pick([shape, [1, *shape[1:]], shape[1:]]))
    width = shape[-1:]
    g.operand(width, -2, 2, constant=0.6)
    if g.schema.name == "SkipLayerNormalization":
        g.operand(width, -2, 2, constant=0.6)
    if g.maybe(0.5):
        g.operand(width)
    g.attribute("epsilon", EPSILONS)
    g.fix_all()


@recipe("normalization", "EmbedLayerNormalization", DOMAIN)
def embeddings(g):
    batch, length, width = g.integer(1, 3), g.integer(1, 7), g.integer(2, 33)
    has_segments = g.maybe(0.6)
    for rows in (9, 3):
        if rows == 9 or has_segments:
            g.operand([batch, length], 0, rows - 1)
        else:
            g.absent()
    for rows in (9, 7, 3):
        if rows != 3 or has_segments:
            g.operand([rows, width], constant=0.5)
        else:
            g.absent()
    for _ in range(2):
        g.operand([width], -2, 2, constant=0.5)
    g.attribute("epsilon", EPSILONS)
    g.outputs = 2
    g.fix_all()


@recipe("normalization", "GroupNorm SkipGroupNorm", DOMAIN)
def group_norm(g):
    batch, groups = g.integer(1, 2), g.integer(1, 3)
    channels = groups * g.integer(1, 4)
    spatial = [g.integer(2, 5), g.integer(2, 5)]
    last = g.attribute("channels_last", [0, 1], required=True)
    shape = [batch, *spatial, channels] if last else [batch, channels, *spatial]
    g.operand(shape)
    for _ in range(2):
        g.operand([channels], -2, 2, constant=0.6)
    g.attributes["groups"] = groups
    g.attribute("activation", [0, 1], required=True)
    g.attribute("epsilon", EPSILONS)
    if g.schema.name == "SkipGroupNorm":
        g.operand(g.pick([shape, [batch, channels]]))
        if g.maybe(0.5):
            g.operand([channels])
    g.fix_all()


# ---- Products --------------------------------------------------------------


@recipe("contraction", "FusedMatMul", DOMAIN)
def fused_product(g):
    batch = g.shape(0, 2, 12)
    rows, depth, columns = (max(1, g.size()) for _ in range(3))
    a, b = (g.attribute(name, [0, 1]) for name in ("transA", "transB"))
    g.operand([*batch, *([depth, rows] if a else [rows, depth])], -2, 2)
    g.operand([*(batch if g.maybe(0.5) else []),
               *([columns, depth] if b else [depth, columns])], -2, 2, constant=0.4)
    g.attribute("alpha", [0.25, -2.0])


@recipe("contraction", "FusedGemm", DOMAIN)
def fused_gemm(g):
    rows, depth, columns = (max(1, g.size()) for _ in range(3))
    a, b = (g.attribute(name, [0, 1]) for name in ("transA", "transB"))
    g.operand([depth, rows] if a else [rows, depth], -2, 2)
    g.operand([columns, depth] if b else [depth, columns], -2, 2, constant=0.4)
    if g.maybe(0.6):
        g.operand(g.pick([[rows, columns], [columns]]), -2, 2, constant=0.4)
    g.attribute("alpha", [0.5, 2.0])
    g.attribute("beta", [0.5, 2.0])
    name = g.pick(["Relu", "LeakyRelu", "Tanh", "Sigmoid", "Softplus"])
    g.attributes["activation"] = name
    if name == "LeakyRelu":
        g.attributes["activation_alpha"] = 0.3
    g.fix_all()


PARAMETERS = {"": None, "Relu": None, "Tanh": None, "Sigmoid": None, "LeakyRelu": [0.2],
              "Clip": [-0.5, 0.75], "HardSigmoid": [0.3, 0.4]}


@recipe("window", "FusedConv", DOMAIN)
def fused_convolution(g):
    batch, spatial, kernel = image(g)
    groups = g.pick([1, 1, 2, 3])
    channels, features = groups * g.integer(1, 5), groups * g.integer(1, 9)
    window(g, spatial, kernel)
    g.attributes["group"] = groups
    convolution_operands(g, [batch, channels, *spatial], [features, channels // groups, *kernel])
    name = g.pick(list(PARAMETERS))
    if name:
        g.attributes["activation"] = name
    if PARAMETERS[name]:
        g.attributes["activation_params"] = PARAMETERS[name]


@recipe("window", "NhwcConv", DOMAIN)
def last_convolution(g):
    batch, spatial, kernel = image(g)
    if len(spatial) != 2:
        raise Unsuitable
    channels, features = g.integer(1, 5), g.integer(1, 9)
    g.attributes["pads"] = [g.integer(0, kernel[i % 2] - 1) for i in range(4)]
    g.attributes["strides"] = [g.integer(1, 2), g.integer(1, 2)]
    g.operand([batch, *spatial, channels], -1, 1)
    g.operand([features, channels, *kernel], -1, 1, constant=0.8)
    g.fix()
    if g.maybe(0.5):
        g.operand([features], -1, 1, constant=0.8)
        g.fix()


@recipe("reduction", "CDist", DOMAIN)
def distances(g):
    width = max(1, g.size())
    for _ in range(2):
        g.operand([max(1, g.size()), width])
    g.attributes["metric"] = g.pick(["euclidean", "sqeuclidean"])


# ---- Movement --------------------------------------------------------------


@recipe("indexing", "GatherND", DOMAIN)
def gather_nd(g):
    shape = [max(1, size) for size in g.shape(1, 4, 500)]
    g.operand(shape)
    g.give(tuples(g, shape, g.shape(1, 2, 30), g.integer(1, len(shape))), 0.3)
    g.fix()


@recipe("movement", "Range", DOMAIN)
def numbers(g):
    start, count, step = g.integer(-5, 5), g.integer(0, 9), g.pick([1, 2, -1])
    for value in (start, start + step * count, *([step] if step != 1 or g.maybe(0.5) else [])):
        g.give(np.asarray(value, g.dtype(0)), 0.5)
