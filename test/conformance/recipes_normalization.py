"""Recipes of normalisations."""

import numpy as np

from random_draw import Unsuitable
from recipe_table import recipe
from recipes_contraction import image

EPSILONS = [1e-5, 1e-2]


@recipe("normalization", "BatchNormalization")
def batch_norm(g):
    shape = g.shape(2, 5)
    g.operand(shape)
    for low, high in ((0.5, 2), (-1, 1), (-1, 1), (0.5, 2)):
        g.operand([shape[1]], low, high, constant=0.7)
    g.attribute("epsilon", EPSILONS)
    g.attribute("momentum", [0.5])
    g.attribute("spatial", [1])


@recipe("normalization", "InstanceNormalization GroupNormalization")
def channel_norm(g):
    batch, spatial, _ = image(g)
    groups = g.integer(1, 3)
    channels = groups * g.integer(1, 3)
    g.operand([batch, channels, *spatial])
    by_group = g.schema.name == "GroupNormalization" and g.schema.since_version < 21
    for _ in range(2):
        g.operand([groups if by_group else channels], -2, 2, constant=0.6)
        g.fix()
    g.attribute("num_groups", [groups], required=True)
    g.attribute("epsilon", EPSILONS)


@recipe("normalization", "LayerNormalization RMSNormalization")
def layer_norm(g):
    shape = g.shape(1)
    axis = g.attribute("axis", [g.axis(len(shape))])
    g.operand(shape)
    normal = shape[-1 if axis is None else axis:]
    g.operand(normal, -2, 2, constant=0.6)
    if g.schema.name == "LayerNormalization" and g.maybe(0.6):
        g.operand(normal, -2, 2, constant=0.6)
    g.attribute("epsilon", EPSILONS)
    g.outputs = g.pick([1, 1, len(g.schema.outputs)])


@recipe("normalization", "LRN")
def lrn(g):
    batch, spatial, _ = image(g)
    g.operand([batch, g.integer(1, 8), *spatial])
    g.attributes["size"] = g.pick([1, 3, 5, 2])
    g.attribute("alpha", [1e-4, 0.1])
    g.attribute("beta", [0.5, 0.75])
    g.attribute("bias", [1.0, 2.0])


@recipe("normalization", "MeanVarianceNormalization")
def mean_variance(g):
    shape = g.shape(4, 4)
    g.operand(shape)
    axes = g.attribute("axes", [[0, 2, 3], [0, 1, 2, 3], [2, 3], [1]]) or [0, 2, 3]
    if np.prod([shape[axis] for axis in axes]) < 2:  # a variance of 0
        raise Unsuitable


@recipe("normalization", "Softmax LogSoftmax Hardmax LpNormalization")
def along_axis(g):
    shape = g.shape(1)
    g.operand(shape)
    g.attribute("axis", [g.axis(len(shape))], required=len(shape) < 2)
    g.attribute("p", [1, 2])
