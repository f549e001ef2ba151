"""Recipes of Fourier transforms and what is used with them."""

import numpy as np

from random_draw import Unsuitable
from recipe_table import element_type, recipe


@recipe("signal", "HannWindow HammingWindow BlackmanWindow")
def window(g):
    g.give(np.asarray(g.integer(5, 40), g.dtype(0)), 0.5)
    g.attribute("periodic", [0, 1])
    g.attribute("output_datatype", [1, 11])


@recipe("signal", "MelWeightMatrix")
def mel(g):
    for value in (g.integer(2, 12), g.pick([16, 64, 100]), g.pick([8000, 16000])):
        g.give(np.asarray(value, g.dtype(len(g.operands))), 0.5)
    for value in (g.pick([0, 20]), g.pick([3000, 4000])):
        g.give(np.asarray(value, g.dtype(len(g.operands))), 0.5)
    g.attribute("output_datatype", [1, 11])


@recipe("signal", "DFT")
def transform(g):
    parts = g.pick([1, 2])
    shape = [max(1, size) for size in g.shape(1, 3, 600)]
    axis = g.integer(0, len(shape) - 1)
    g.operand([*shape, parts], -1, 1)
    g.fixed.add(0)
    inverse = g.attribute("inverse", [0, 1])
    if g.maybe(0.4) and parts == 1 and not inverse:
        g.attributes["onesided"] = 1
    if g.maybe(0.4):
        g.parameter("dft_length", g.integer(1, 2 * shape[axis]))
    if "axis" in g.schema.attributes:
        g.attributes["axis"] = axis
        return
    g.parameter("axis", axis - len(shape) - 1 if g.maybe(0.3) else axis, constant=1)


@recipe("signal", "STFT")
def frames(g):
    length, frame = g.integer(20, 80), g.integer(2, 20)
    parts = g.pick([1, 1, 2])
    g.operand([g.integer(1, 2), length, parts], -1, 1)
    g.fix()
    g.give(np.asarray(g.integer(1, 9), g.dtype(1)), 0.8)
    kind = g.pick(["window", "length", "both"])
    if kind == "length":
        g.absent()
    else:
        g.operand([frame], 0, 1)
        g.fix()
    if kind != "window":
        g.give(np.asarray(frame, g.dtype(1)), 1)
    g.attribute("onesided", [0] if parts == 2 else [0, 1], required=True)


@recipe("movement", "ReverseSequence")
def reverse(g):
    shape = g.shape(2, 4)
    if 0 in shape:
        raise Unsuitable
    g.operand(shape)
    time = g.integer(0, 1)
    g.attributes["time_axis"], g.attributes["batch_axis"] = time, 1 - time
    g.give(np.asarray(g.rng.integers(1, shape[time] + 1, shape[1 - time]), np.int64))


@recipe("elementwise", "BitCast")
def bits(g):
    g.operand(g.shape())
    size = np.dtype(g.dtype(0)).itemsize
    # Of booleans but 0 and 1 nothing is said.
    element_type(g, "to", lambda dtype: np.dtype(dtype).itemsize == size and dtype != np.bool_)
