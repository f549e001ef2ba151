"""Recipes of losses and of the steps of optimizers."""

import numpy as np

from recipe_table import recipe

TRAINING = "ai.onnx.preview.training"


@recipe("training", "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss")
def loss(g):
    g.may_be_empty = False
    rank = g.integer(0, 3)
    batch, classes = g.integer(1, 5), g.integer(2, 7)
    inner = [g.integer(1, 4) for _ in range(rank)]
    g.operand([batch, classes, *inner])
    labels = np.asarray(g.rng.integers(0, classes, [batch, *inner]))
    # A mean needs one label that counts.
    if g.attribute("ignore_index", [0, classes - 1, -1]) == -1:
        labels.flat[1:] = np.where(g.rng.random(labels.size - 1) < 0.3, -1, labels.flat[1:])
    elif labels.size == 1 or len(np.unique(labels)) == 1:
        g.attributes.pop("ignore_index", None)
    g.give(labels.astype(g.dtype(1)))
    if g.maybe(0.5):
        g.operand([classes], 0.2, 2)
    g.attribute("reduction", ["none", "sum", "mean"])
    if g.schema.name == "SoftmaxCrossEntropyLoss":
        g.outputs = g.pick([1, 2])


# How many tensors each optimizer has for one that it trains.
OPTIMIZERS = {"Adagrad": 3, "Momentum": 3, "Adam": 4}


@recipe("training", " ".join(OPTIMIZERS), TRAINING)
def step(g):
    name = g.schema.name
    shapes = [g.shape(0, 3) for _ in range(g.integer(1, 3))]
    g.operand([], 0.1, 0.2)
    g.give(np.asarray(g.integer(0, 4), np.int64))
    for index in range(OPTIMIZERS[name]):
        for shape in shapes:
            # The accumulated squares of gradients are the last, and not below zero.
            g.operand(shape, *((0, 1) if index == OPTIMIZERS[name] - 1 else ()))
    g.outputs = len(shapes) * (OPTIMIZERS[name] - 1)
    g.attribute("norm_coefficient", [0.0, 0.01])
    g.attribute("norm_coefficient_post", [0.0, 0.02])
    g.attribute("epsilon", [1e-3], required=True)
    g.attribute("decay_factor", [0.0, 0.1])
    for attribute in ("alpha", "beta"):
        g.attribute(attribute, [0.8, 0.9], required=name == "Momentum")
    g.attribute("mode", ["standard", "nesterov"], required=True)
