"""Compares random graphs with ONNX Runtime.

random_graphs.py [--seed S] [--graphs N] [--first I] [--levels LEVELS] [--threads COUNTS]
                 [--output DIR] [--jobs J]

Each graph grows node by node. A node is run by ONNX Runtime as soon as it is
chosen, so that its shape is known, and is dropped where ONNX Runtime refuses
it or where the values leave a useful range. A graph whose outputs move when
its inputs move by rounding errors is dropped as well: there, two right answers
may differ. Graph I of seed S is the same whatever else is run.

A graph that differs is printed reduced to the nodes that are needed, and kept
in the output folder.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from harness import (Broken, Configurations, describe, differences, judge, make_model, mismatch,
                     reference)

OPSETS = [13, 14, 17, 18, 20, 21, 22]
MAX_ELEMENTS = 60000
MAX_MAGNITUDE = 1e3


class Refused(Exception):
    """A step that does not suit the graph as it is."""


class Graph:
    """A graph with the value of everything in it."""

    def __init__(self, seed, number):
        self.rng = np.random.default_rng([seed, number])
        self.opset = self.pick(OPSETS)
        self.nodes, self.inputs, self.constants, self.values = [], {}, {}, {}
        # Values that rounding has not touched: steps and comparisons are safe on them.
        self.exact = set()
        self.count = 0

    # ---- Choices

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def maybe(self, probability):
        return self.rng.random() < probability

    def floats(self, *shape, scale=1.0, dtype=np.float32):
        return np.asarray(self.rng.uniform(-1, 1, shape) * scale).astype(dtype)

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    # ---- Values

    def add(self, table, prefix, array):
        name = self.name(prefix)
        table[name] = self.values[name] = np.asarray(array)
        self.exact.add(name)
        return name

    def input(self, array):
        return self.add(self.inputs, "x", array)

    def constant(self, array):
        """A constant; sometimes one that is there already, so that constants are shared."""
        array = np.asarray(array)
        if array.dtype == np.float32 and self.maybe(0.2):
            for name, other in self.constants.items():
                if other.shape == array.shape and other.dtype == array.dtype:
                    return name
        return self.add(self.constants, "c", array)

    def integers(self, *values):
        return self.add(self.constants, "c", np.array(values, np.int64))

    def scalar_like(self, name, value):
        return self.constant(np.asarray(value, self.values[name].dtype))

    def value(self, suits):
        """A value that is no constant, more often a recent one."""
        names = [n for n, v in self.values.items() if n not in self.constants and suits(v)]
        if not names:
            raise Refused
        return self.pick(names[-6:]) if self.maybe(0.75) else self.pick(names)

    def shape(self, name):
        return self.values[name].shape

    # ---- Nodes

    def node(self, op, *operands, outputs=1, exact=False, **attributes):
        """Appends a node and returns its output (a list of them where there are several)."""
        names = [self.name("v") for _ in range(outputs)]
        node = helper.make_node(op, operands, names, name=names[0], **attributes)
        used = {n: self.values[n] for n in operands if n}
        constants = {n: v for n, v in used.items() if n in self.constants}
        inputs = {n: v for n, v in used.items() if n not in self.constants}
        model = make_model([node], inputs, constants, names, self.opset)
        try:
            results = reference(model, inputs, names)
        except Exception as error:  # ONNX Runtime's errors have no common base.
            raise Refused from error
        for array in results.values():
            if array.size == 0 or array.size > MAX_ELEMENTS or array.ndim > 6:
                raise Refused
            if array.dtype.kind == "f":
                largest = np.max(np.abs(array))
                if not np.isfinite(array).all() or not 1e-3 < largest < MAX_MAGNITUDE:
                    raise Refused
        self.nodes.append(node)
        self.values.update(results)
        if exact and all(n in self.exact for n in used):
            self.exact.update(names)
        return names if outputs > 1 else names[0]

    def reduce(self, op, name, axes, keepdims):
        if self.opset >= 18 or op == "ReduceSum":
            return self.node(op, name, self.integers(*axes), keepdims=keepdims)
        return self.node(op, name, axes=axes, keepdims=keepdims)


def is_f32(value):
    return value.dtype == np.float32


def is_float(value):
    return value.dtype.kind == "f"


def is_image(value):
    return is_f32(value) and value.ndim in (3, 4)


def has_axes(value):
    return value.ndim >= 1


# ---- Steps: each adds a few nodes to the graph -----------------------------


def windows(g, spatial, kernel_sizes):
    """Attributes of a window over an image's spatial dimensions."""
    rank = len(spatial)
    kernel = [g.pick(kernel_sizes) for _ in range(rank)]
    attributes = dict(kernel_shape=kernel, strides=[g.pick([1, 1, 1, 2, 3]) for _ in range(rank)])
    if g.maybe(0.15):
        attributes["auto_pad"] = g.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif g.maybe(0.4):
        attributes["pads"] = [k // 2 for k in kernel] * 2
    else:
        attributes["pads"] = [int(g.rng.integers(0, kernel[i % rank])) for i in range(2 * rank)]
    return attributes


def convolution(g):
    x = g.value(is_image)
    channels, *spatial = g.shape(x)[1:]
    attributes = windows(g, spatial, [1, 1, 2, 3, 3, 5])
    if "auto_pad" not in attributes and g.maybe(0.3):
        attributes["dilations"] = [g.pick([1, 2, 3]) for _ in spatial]
    groups = g.pick([1, 1, 1, channels] + [n for n in (2, 4) if channels % n == 0])
    features = groups * (g.pick([1, 1, 2, 3]) if groups > 1 else g.pick([1, 3, 8, 16, 17, 33]))
    shape = (features, channels // groups, *attributes["kernel_shape"])
    scale = (3 / np.prod(shape[1:])) ** 0.5
    operands = [x, g.constant(g.floats(*shape, scale=scale))]
    if g.maybe(0.6):
        operands.append(g.constant(g.floats(features)))
    y = g.node("Conv", *operands, group=groups, **attributes)
    if g.maybe(0.3):
        y = normalised_batch(g, y)
    if g.maybe(0.4):
        y = g.node(g.pick(["Relu", "Sigmoid", "LeakyRelu", "Tanh"]), y)
    if g.shape(y) == g.shape(x) and g.maybe(0.5):
        g.node("Add", *g.pick([(x, y), (y, x)]))


def pooling(g):
    x = g.value(is_image)
    op = g.pick(["MaxPool", "AveragePool"])
    attributes = windows(g, g.shape(x)[2:], [1, 2, 2, 3, 3, 4])
    if "auto_pad" not in attributes:
        attributes["ceil_mode"] = g.pick([0, 1])
    if op == "AveragePool":
        attributes["count_include_pad"] = g.pick([0, 1])
    # ONNX Runtime counts what lies beyond the padding in ceil_mode otherwise than ONNX says.
    if attributes.get("ceil_mode") and attributes.get("count_include_pad"):
        raise Refused
    # ONNX Runtime lets a window be wider than an image that auto_pad leaves as it is.
    if attributes.get("auto_pad") == "VALID" and any(
            kernel > size for kernel, size in zip(attributes["kernel_shape"], g.shape(x)[2:])):
        raise Refused
    g.node(op, x, **attributes)


def global_pooling(g):
    x = g.value(is_image)
    y = g.node(g.pick(["GlobalAveragePool", "GlobalMaxPool"]), x)
    if g.maybe(0.5):
        g.node("Mul", x, g.node("Sigmoid", y))
    elif g.maybe(0.5):
        g.node("Flatten", y, exact=True)


def matrix_product(g):
    x = g.value(lambda v: is_float(v) and v.ndim >= 2)
    depth, dtype = g.shape(x)[-1], g.values[x].dtype
    columns = g.pick([1, 3, 5, 16, 17, 33, 64, 70])
    weights = g.floats(depth, columns, scale=(3 / depth) ** 0.5, dtype=dtype)
    y = g.input(weights) if g.maybe(0.2) else g.constant(weights)
    if g.values[x].ndim == 2 and g.maybe(0.5):
        attributes = {}
        if g.maybe(0.3):
            y, attributes = g.node("Transpose", y, perm=[1, 0], exact=True), dict(transB=1)
        operands = [x, y]
        if g.maybe(0.7):
            operands.append(g.constant(g.floats(*g.pick([(columns,), (1, columns), ()]),
                                                dtype=dtype)))
        z = g.node("Gemm", *operands, alpha=g.pick([1.0, 0.5]), **attributes)
    else:
        z = g.node("MatMul", x, y)
        if g.maybe(0.6):
            z = g.node("Add", z, g.constant(g.floats(columns, dtype=dtype)))
    if g.maybe(0.4):
        z = g.node("Relu", z)
    if g.maybe(0.3):
        g.node("MatMul", z, g.constant(g.floats(columns, 9, scale=(3 / columns) ** 0.5,
                                                dtype=dtype)))


def product_of_values(g):
    """x times a transposed value: nothing can be packed in advance."""
    x = g.value(lambda v: is_float(v) and v.ndim >= 2)
    shape, dtype = g.shape(x), g.values[x].dtype
    y = g.value(lambda v: v.dtype == dtype and v.ndim >= 2 and v.shape[-1] == shape[-1]
                and (v.ndim == 2 or v.shape[:-2] == shape[:-2]))
    order = list(range(g.values[y].ndim))
    order[-2:] = order[:-3:-1]
    z = g.node("MatMul", x, g.node("Transpose", y, perm=order, exact=True))
    z = g.node("Mul", z, g.scalar_like(z, shape[-1] ** -0.5))
    if g.maybe(0.5):
        g.node("Softmax", z, axis=-1)


UNARY = ("Relu Sigmoid Tanh Neg Abs Erf Softplus Elu LeakyRelu HardSigmoid Sin Cos Identity Selu"
         " Softsign Exp Clip").split()
UNTOUCHED = {"Relu", "Neg", "Abs", "Identity"}


def unary(g):
    x = g.value(is_float)
    op = g.pick(UNARY)
    operands = [x]
    if op == "Clip":
        operands += [g.scalar_like(x, -0.3), g.scalar_like(x, 0.6)]
    g.node(op, *operands, exact=op in UNTOUCHED)


def guarded_unary(g):
    """Functions with a pole or a steep slope at zero, kept away from it."""
    x = g.value(is_float)
    away = g.node("Add", g.node("Abs", x), g.scalar_like(x, 0.5))
    g.node(g.pick(["Sqrt", "Log", "Reciprocal"]), away)


def binary(g):
    x = g.value(lambda v: v.dtype.kind in "fi")
    shape, dtype = g.shape(x), g.values[x].dtype
    y = x
    if g.maybe(0.4):
        y = g.value(lambda v: v.dtype == dtype and v.shape == shape)
    elif g.maybe(0.4):
        y = g.value(lambda v: v.dtype == dtype)
    else:
        dims = [d if g.maybe(0.6) else 1 for d in shape][int(g.rng.integers(0, len(shape) + 1)):]
        array = (g.floats(*dims, dtype=dtype) if dtype.kind == "f" else
                 g.rng.integers(-3, 4, dims).astype(dtype))
        y = g.input(array) if g.maybe(0.2) else g.constant(array)
    op = g.pick(["Add", "Add", "Mul", "Sub", "Max", "Min"])
    exact = dtype.kind == "i"
    if exact and np.max(np.abs(g.values[x])) > 10000:
        raise Refused
    g.node(op, *g.pick([(x, y), (y, x)]), exact=exact)


def normalised_batch(g, x):
    channels = g.shape(x)[1]
    return g.node("BatchNormalization", x, g.constant(g.floats(channels)),
                  g.constant(g.floats(channels)), g.constant(g.floats(channels)),
                  g.add(g.constants, "c", np.abs(g.floats(channels)) + np.float32(0.5)))


def batch_normalisation(g):
    normalised_batch(g, g.value(lambda v: is_f32(v) and v.ndim >= 2))


def normalisation(g):
    x = g.value(lambda v: is_f32(v) and v.ndim >= 2)
    size = g.shape(x)[-1]
    if g.opset >= 17 and g.maybe(0.7):
        g.node("LayerNormalization", x, g.constant(g.floats(size)), g.constant(g.floats(size)),
               epsilon=0.1)
    else:
        channels = g.shape(x)[1]
        g.node("InstanceNormalization", x, g.constant(g.floats(channels)),
               g.constant(g.floats(channels)), epsilon=0.1)


def softmax(g):
    x = g.value(lambda v: is_float(v) and v.ndim >= 1)
    rank = g.values[x].ndim
    g.node(g.pick(["Softmax", "Softmax", "LogSoftmax"]), x,
           axis=int(g.rng.integers(-rank, rank)))


def reduction(g):
    x = g.value(lambda v: is_float(v) and v.ndim >= 1)
    rank = g.values[x].ndim
    axes = sorted({int(i) for i in g.rng.integers(0, rank, g.pick([1, 1, 2, rank]))})
    op = g.pick(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceSumSquare",
                 "ReduceL1", "ReduceL2"])
    y = g.reduce(op, x, axes, g.pick([0, 1]))
    if len(g.shape(y)) == rank and g.maybe(0.5):
        g.node("Sub", x, y)


def transpose(g):
    x = g.value(lambda v: v.ndim >= 2)
    order = [int(i) for i in g.rng.permutation(g.values[x].ndim)]
    g.node("Transpose", x, perm=order, exact=True)


def with_its_transpose(g):
    """x op transpose(x): in place, an element is overwritten before its mirror is read."""
    def square(v):
        return is_float(v) and v.ndim >= 2 and v.shape[-1] == v.shape[-2] > 1

    x = g.value(square)
    order = list(range(g.values[x].ndim))
    order[-2:] = order[:-3:-1]
    x = g.node("Tanh", x) if g.maybe(0.5) else x
    y = g.node("Transpose", x, perm=order, exact=True)
    g.node(g.pick(["Add", "Sub", "Mul"]), *g.pick([(x, y), (y, x)]))


def reshape(g):
    x = g.value(lambda v: v.size > 1)
    rest, dims = g.values[x].size, []
    for _ in range(g.pick([0, 1, 2, 3])):
        dims.append(g.pick([d for d in range(1, min(rest, 64) + 1) if rest % d == 0]))
        rest //= dims[-1]
    dims.append(rest)
    g.rng.shuffle(dims)
    g.node("Reshape", x, g.integers(*dims), exact=True)


def unit_dimensions(g):
    x = g.value(lambda v: 1 <= v.ndim <= 5)
    if g.maybe(0.4):
        g.node("Flatten", x, axis=int(g.rng.integers(0, g.values[x].ndim + 1)), exact=True)
    elif 1 in g.shape(x) and g.maybe(0.6):
        g.node("Squeeze", x, g.integers(g.shape(x).index(1)), exact=True)
    else:
        g.node("Unsqueeze", x, g.integers(int(g.rng.integers(0, g.values[x].ndim + 1))),
               exact=True)


def concat(g):
    x = g.value(has_axes)
    like = g.values[x]
    axis = int(g.rng.integers(0, like.ndim))
    fits = [n for n, v in g.values.items() if v.dtype == like.dtype and v.ndim == like.ndim
            and all(a == b for i, (a, b) in enumerate(zip(v.shape, like.shape)) if i != axis)]
    parts = [x] + [g.pick(fits) for _ in range(g.pick([1, 1, 2, 3]))]
    g.rng.shuffle(parts)
    g.node("Concat", *[str(part) for part in parts], axis=axis, exact=True)


def slice_of(g, x, axis, start, end, step=1):
    return g.node("Slice", x, g.integers(start), g.integers(end), g.integers(axis),
                  g.integers(step), exact=True)


def slices(g):
    x = g.value(has_axes)
    rank = g.values[x].ndim
    axes = sorted({int(i) for i in g.rng.integers(0, rank, g.pick([1, 1, 2]))})
    steps = [g.pick([1, 1, 1, 2, -1, -2]) for _ in axes]
    starts = [g.pick([0, 0, 1, -1, -3]) if s > 0 else g.pick([-1, 100, -2]) for s in steps]
    ends = [g.pick([100, -1, 2**31 - 1]) if s > 0 else g.pick([-100, -2**31, 0]) for s in steps]
    g.node("Slice", x, g.integers(*starts), g.integers(*ends), g.integers(*axes),
           g.integers(*steps), exact=True)


def slice_beside_source(g):
    """v op v[..., i:i+1]: in place, the slice is overwritten while others need it."""
    x = g.value(lambda v: is_float(v) and v.ndim >= 1 and max(v.shape) > 1)
    axis = g.pick([i for i, d in enumerate(g.shape(x)) if d > 1])
    x = g.node(g.pick(["Tanh", "Relu", "Sigmoid"]), x) if g.maybe(0.7) else x
    start = int(g.rng.integers(0, g.shape(x)[axis]))
    part = slice_of(g, x, axis, start, start + 1)
    g.node(g.pick(["Mul", "Add", "Sub"]), *g.pick([(x, part), (part, x)]))


def product_of_slice(g):
    """(a + a[..., :n] @ W) @ W2: the sum may not overwrite what the product reads."""
    x = g.value(lambda v: is_f32(v) and v.ndim >= 2 and v.shape[-1] > 1)
    width = g.shape(x)[-1]
    x = g.node("Relu", x) if g.maybe(0.7) else x
    taken = int(g.rng.integers(1, width))
    part = slice_of(g, x, g.values[x].ndim - 1, 0, taken)
    y = g.node("MatMul", part, g.constant(g.floats(taken, width, scale=(3 / taken) ** 0.5)))
    y = g.node("Add", *g.pick([(x, y), (y, x)]))
    if g.maybe(0.7):
        g.node("MatMul", y, g.constant(g.floats(width, 7, scale=(3 / width) ** 0.5)))


def split(g):
    x = g.value(lambda v: v.ndim >= 1 and max(v.shape) > 1)
    axis = g.pick([i for i, d in enumerate(g.shape(x)) if d > 1])
    size = g.shape(x)[axis]
    first = size // 2 if size % 2 == 0 and g.maybe(0.4) else int(g.rng.integers(1, size))
    a, b = g.node("Split", x, g.integers(first, size - first), outputs=2, axis=axis, exact=True)
    if is_float(g.values[a]) and g.shape(a) == g.shape(b) and g.maybe(0.6):
        g.node("Mul", a, g.node("Sigmoid", b))


def gather(g):
    x = g.value(has_axes)
    axis = int(g.rng.integers(0, g.values[x].ndim))
    size = g.shape(x)[axis]
    indices = np.asarray(g.rng.integers(-size, size, g.pick([(), (1,), (3,), (2, 2)])), np.int64)
    y = g.input(indices) if g.maybe(0.3) else g.constant(indices)
    g.node("Gather", x, y, axis=axis, exact=True)


def pad(g):
    x = g.value(lambda v: is_f32(v) and v.ndim >= 1)
    mode = g.pick(["constant", "edge", "reflect"])
    sizes = g.shape(x)
    pads = [min(g.pick([0, 0, 1, 2]), sizes[i % len(sizes)] - 1) for i in range(2 * len(sizes))]
    operands = [x, g.integers(*pads)]
    if mode == "constant" and g.maybe(0.5):
        operands.append(g.constant(np.float32(0.25)))
    g.node("Pad", *operands, mode=mode, exact=True)


def repeat(g):
    x = g.value(lambda v: v.ndim >= 1)
    if g.maybe(0.5):
        g.node("Tile", x, g.integers(*[g.pick([1, 1, 2]) for _ in g.shape(x)]), exact=True)
    else:
        dims = [d if d != 1 else g.pick([1, 4]) for d in g.shape(x)]
        g.node("Expand", x, g.integers(g.pick([1, 2, 3]), *dims), exact=True)


def threshold(values):
    """A number between two values that are far apart beside rounding errors."""
    ordered = np.unique(values.astype(np.float64))
    if ordered.size < 2:
        raise Refused
    gaps = np.diff(ordered)
    gaps[:len(gaps) // 4] = 0
    at = int(np.argmax(gaps))
    if gaps[at] < 1e-3 * np.max(np.abs(ordered)):
        raise Refused
    return (ordered[at] + ordered[at + 1]) / 2


def selection(g):
    x = g.value(is_float)
    y = g.value(lambda v: v.dtype == g.values[x].dtype and v.shape == g.shape(x))
    if g.maybe(0.5):
        limit = g.scalar_like(x, threshold(g.values[x]))
        condition = g.node(g.pick(["Less", "Greater"]), x, limit)
    else:
        condition = g.input(g.rng.integers(0, 2, g.shape(x)).astype(bool))
    if g.maybe(0.3):
        condition = g.node("Not", condition)
    g.node("Where", condition, *g.pick([(x, y), (y, x)]))


def cast(g):
    x = g.value(lambda v: True)
    if x not in g.exact:
        raise Refused
    targets = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64,
               TensorProto.BOOL]
    if g.values[x].dtype.kind in "bu" or np.min(g.values[x]) >= 0:
        targets.append(TensorProto.UINT8)
    if np.max(np.abs(g.values[x].astype(np.float64))) > 100:
        targets = targets[:4]
    y = g.node("Cast", x, to=g.pick(targets), exact=True)
    if g.maybe(0.6):
        g.node("Cast", y, to=TensorProto.FLOAT, exact=True)


def largest_index(g):
    x = g.value(lambda v: is_f32(v) and v.ndim >= 1)
    if x not in g.exact:
        raise Refused
    g.node(g.pick(["ArgMax", "ArgMin"]), x, axis=int(g.rng.integers(0, g.values[x].ndim)),
           keepdims=g.pick([0, 1]), exact=True)


def blocks(g):
    x = g.value(lambda v: is_f32(v) and v.ndim == 4)
    g.node(g.pick(["SpaceToDepth", "DepthToSpace"]), x, blocksize=2, exact=True)


STEPS = {
    convolution: 4, pooling: 3, global_pooling: 1, matrix_product: 3, product_of_values: 2,
    unary: 3, guarded_unary: 1, binary: 5, batch_normalisation: 1, normalisation: 2, softmax: 2,
    reduction: 3, transpose: 2, with_its_transpose: 2, reshape: 2, unit_dimensions: 2, concat: 3,
    slices: 2, slice_beside_source: 2, product_of_slice: 1, split: 2, gather: 2, pad: 2,
    repeat: 2, selection: 2, cast: 1, largest_index: 1, blocks: 1,
}


def grow(seed, number):
    """A graph of 5 to 25 nodes with the names of its outputs."""
    g = Graph(seed, number)
    channels = g.pick([1, 1, 2, 3, 4, 8, 16, 17])
    width = g.pick([4, 5, 7, 8, 9, 16])
    g.input(g.floats(g.pick([1, 1, 2, 3]), channels, width,
                     g.pick([width, width + 1, 17, 40, 70])))
    if g.maybe(0.3):
        g.input(g.floats(*g.shape("x1")))
    if g.maybe(0.4):
        g.input(g.floats(g.pick([1, 3, 5, 16]), g.pick([8, 16, 17])))
    if g.maybe(0.2):
        g.input(g.floats(g.pick([1, 2]), g.pick([1, 4]), g.pick([9, 20, 130])))
    if g.maybe(0.3):
        dtype = g.pick([np.int64, np.int32, np.uint8])
        g.input(g.rng.integers(0, 9, (g.pick([1, 4]), g.pick([3, 8, 33]))).astype(dtype))
    if g.maybe(0.2):
        g.input(g.floats(g.pick([2, 3]), g.pick([5, 12]), dtype=np.float64))
    if g.maybe(0.1):
        g.input(g.floats())

    steps = [step for step, weight in STEPS.items() for _ in range(weight)]
    size = int(g.rng.integers(5, 26))
    for _ in range(8 * size):
        if len(g.nodes) >= size:
            break
        try:
            g.pick(steps)(g)
        except Refused:
            pass  # What the step added before it was refused stays, and is used or dropped.

    used = {name for node in g.nodes for name in node.input}
    results = [name for node in g.nodes for name in node.output]
    outputs = [name for name in results if name not in used or g.maybe(0.1)]
    for table in (g.inputs, g.constants):
        if g.maybe(0.1):
            outputs.append(g.pick(list(table)) if table else outputs[0])
    return g, list(dict.fromkeys(outputs))


def well_conditioned(model, inputs, expected, rng):
    """Whether rounding errors of the inputs stay far below the tolerance."""
    moved = {name: (array * (1 + 1e-6 * rng.choice([-1, 1], array.shape))).astype(array.dtype)
             if array.dtype.kind == "f" else array for name, array in inputs.items()}
    return not any(mismatch(array, expected[name], rtol=1e-4, atol=1e-5)
                   for name, array in reference(model, moved, expected).items())


def live(nodes, outputs):
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(node.input)
    return kept[::-1], needed


class Case:
    """A graph cut down to some outputs, with everything that is known about it."""

    def __init__(self, g, nodes, cut, outputs):
        self.nodes, needed = live(nodes, outputs)
        made = {name for node in self.nodes for name in node.output}
        self.constants = {n: v for n, v in g.constants.items() if n in needed}
        self.inputs = {n: v for n, v in g.values.items()
                       if n in needed and (n in g.inputs or n in cut) and n not in made}
        types = {name: g.values[name] for name in outputs}
        self.model = make_model(self.nodes, self.inputs, self.constants, types, g.opset)
        self.expected = reference(self.model, self.inputs, outputs)


def reduced(g, case, outputs, fails):
    """The smallest case found that still fails: nodes become inputs, one after another."""
    try:
        alone = [(n, Case(g, case.nodes, set(), [n])) for n in outputs]
        found = next(((n, c) for n, c in alone if fails(c)), None)
        if not found:
            return case
        name, best = found
        cut = set()
        for node in case.nodes:
            if name in node.output or node not in best.nodes:
                continue
            attempt = cut.union(node.output)
            smaller = Case(g, [n for n in best.nodes if n is not node], attempt, [name])
            if fails(smaller):
                best, cut = smaller, attempt
        return best
    except Exception as error:  # Reducing is a help; the failure itself is reported anyhow.
        print(f"not reduced: {error}")
        return case


def check(seed, number, runs, output, reduce):
    """Words about the graph's failure, or None; and how many nodes it has."""
    g, outputs = grow(seed, number)
    if not g.nodes:
        return None, 0
    try:
        case = Case(g, g.nodes, set(), outputs)
    except Exception:  # ONNX Runtime accepts each node, but not the graph.
        return None, 0
    onnx.checker.check_model(case.model)
    if not well_conditioned(case.model, case.inputs, case.expected, g.rng):
        return None, 0

    def failure(tried, folder):
        try:
            found = differences(tried.model, tried.inputs, tried.expected, folder, runs)
            return found, "; ".join(f"{n} {words}" for n, words in found.items())
        except Broken as error:
            return {name: "" for name in tried.expected}, str(error)

    with tempfile.TemporaryDirectory(prefix="lumen-random-") as folder:
        folder = Path(folder)
        found, words = failure(case, folder / "whole")
        if not found:
            return None, len(case.nodes)
        if reduce:
            tries = iter(range(1000))
            small = reduced(g, case, list(found),
                            lambda c: failure(c, folder / str(next(tries)))[0])
        else:
            small = case
        kept = output / f"{seed}-{number}"
        kept.mkdir(parents=True, exist_ok=True)
        onnx.save(case.model, kept / "model.onnx")
        onnx.save(small.model, kept / "reduced.onnx")
        for index, (name, array) in enumerate(case.inputs.items()):
            np.save(kept / f"{name}.npy", array)
    return (f"opset {g.opset}, kept in {kept.name}: {words}\n"
            f"{describe(small.nodes, g.values)}"), len(case.nodes)


def main():
    parser = argparse.ArgumentParser(description="Compares random graphs with ONNX Runtime.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=100, help="how many graphs agree or differ")
    parser.add_argument("--first", type=int, default=0, help="number of the first graph")
    parser.add_argument("--levels", default="v3,v4")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--output", type=Path, default=Path("random-graphs"))
    parser.add_argument("--jobs", type=int, default=cpu_count())
    parser.add_argument("--reduce", type=int, default=10, help="how many failures to reduce")
    args = parser.parse_args()
    configurations = Configurations(args.levels, args.threads)
    configurations.report()

    failures, cases, nodes, dropped = {}, [], 0, 0

    def work(number):
        return number, check(args.seed, number, configurations.runs, args.output,
                             len(failures) < args.reduce)

    # Numbers go on until enough graphs were compared; dropped ones are counted.
    number = args.first
    with ThreadPoolExecutor(args.jobs) as pool:
        while len(cases) < args.graphs:
            block = range(number, number + args.graphs - len(cases))
            number = block.stop
            for index, (words, count) in pool.map(work, block):
                if not count:
                    dropped += 1
                    continue
                cases.append(f"{args.seed}/{index}")
                nodes += count
                if words:
                    failures[cases[-1]] = words

    status = judge("random-graphs", failures, cases)
    print(f"{len(cases)} graphs of {nodes} nodes, {len(failures)} differ;"
          f" {dropped} dropped as ill-conditioned or refused by ONNX Runtime;"
          f" {len(configurations.runs)} runs each")
    sys.exit(status)


if __name__ == "__main__":
    main()
