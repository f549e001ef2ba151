"""Recipes of operators that move elements, index them, and make shapes."""

import numpy as np
from onnx import numpy_helper

from random_draw import DTYPES, NARROW, Unsuitable, is_float
from recipe_table import element_type, output_type, recipe


@recipe("movement", "Concat")
def concat(g):
    shape = g.shape(1)
    axis = g.axis(len(shape))
    g.attributes["axis"] = axis
    for _ in range(g.pick([1, 2, 2, 3, 4])):
        part = list(shape)
        part[axis] = g.size()
        g.operand(part)


@recipe("movement", "Expand")
def expand(g):
    full = g.shape()
    g.operand([1 if g.maybe(0.4) else size for size in full][g.integer(0, len(full)):]
              if g.maybe(0.3) else [1 if g.maybe(0.4) else size for size in full])
    g.parameter("shape", [1 if g.maybe(0.1) and size == 1 else size for size in full])
    g.fix_all()


@recipe("movement", "Tile")
def tile(g):
    shape = g.shape(1, 4, 300)
    g.operand(shape)
    g.parameter("repeats", [g.pick([1, 1, 2, 3, 0 if g.may_be_empty else 1]) for _ in shape])


@recipe("movement", "Pad")
def pad(g):
    shape = g.shape(1, 4, 800)
    version = g.schema.since_version
    g.operand(shape)
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if version >= 19 else [])
    mode = g.attribute("mode", modes) or "constant"
    axes = g.axes(len(shape), 1) if version >= 18 and g.maybe(0.4) else range(len(shape))
    pads = []
    for _ in range(2):
        for axis in axes:
            size = shape[axis]
            most = {"reflect": size - 1, "wrap": size}.get(mode, 3)
            pads.append(g.integer(0, max(0, min(3, most))))
            if mode == "constant" and g.maybe(0.1):
                pads[-1] = -g.integer(0, size // 2)
    if mode == "edge":
        pads = [0 if shape[axis] == 0 else p for p, axis in zip(pads, [*axes, *axes])]
    g.parameter("pads", pads)
    if g.maybe(0.5):
        if "value" in g.schema.attributes:
            g.attributes["value"] = 1.5
        elif g.position("constant_value") is not None:
            g.parameter("constant_value", 1)
    if not isinstance(axes, range):
        g.parameter("axes", axes)


@recipe("movement", "Slice")
def slices(g):
    shape = g.shape(1)
    g.operand(shape)
    axes = g.axes(len(shape), 1)
    steps = [g.pick([1, 1, 2, 3, -1, -2]) if g.has("steps") else 1 for _ in axes]
    far = 2**31 - 1

    # Where an end is far behind its start, ONNX Runtime does not say what ONNX does.
    def bound(axis, *others):
        return g.pick([g.integer(-shape[axis] - 1, shape[axis] + 1), 0, *others])

    g.parameter("starts", [bound(axis, far, -far) for axis in axes])
    g.parameter("ends", [bound(axis, far if step > 0 else -far)
                         for axis, step in zip(axes, steps)])
    g.parameter("axes", axes)
    if steps != [1] * len(steps) or g.has("steps") and g.maybe(0.7):
        g.parameter("steps", steps)


@recipe("movement", "Split")
def split(g):
    shape = g.shape(1)
    axis = g.axis(len(shape))
    g.outputs = g.integer(1, 4)
    g.attributes["axis"] = axis
    version = g.schema.since_version
    if g.maybe(0.5):
        cuts = sorted(g.integer(0, shape[axis]) for _ in range(g.outputs - 1))
        parts = [int(b - a) for a, b in zip([0, *cuts], [*cuts, shape[axis]])]
        g.operand(shape)
        g.parameter("split", parts)
        return
    if version < 18:
        shape[axis] = g.outputs * g.integer(1, 5)
    g.operand(shape)
    if version >= 18:
        g.attributes["num_outputs"] = g.outputs


@recipe("movement", "Transpose")
def transpose(g):
    shape = g.shape()
    g.operand(shape)
    g.attribute("perm", [[int(i) for i in g.rng.permutation(len(shape))]])


def indices(g, shape, size):
    """Places in a dimension, also counted from its end where the version allows."""
    if size == 0 and np.prod(shape) > 0:
        raise Unsuitable
    low = -size if g.schema.since_version >= 11 else 0
    return np.asarray(g.rng.integers(low, max(size, 1), shape))


def along_axis(g):
    """An operand and an axis of it: its shape, and the axis."""
    shape = g.shape(1, 4, 500)
    axis = g.axis(len(shape))
    g.operand(shape)
    g.attributes["axis"] = axis
    return shape, axis


@recipe("indexing", "Gather")
def gather(g):
    shape, axis = along_axis(g)
    g.give(indices(g, g.shape(0, 3, 30), shape[axis]).astype(g.dtype(1)), 0.4)


@recipe("indexing", "GatherElements")
def gather_elements(g):
    shape, axis = along_axis(g)
    picked = [g.integer(min(1, size), size) for size in shape]
    picked[axis] = g.size()
    g.give(indices(g, picked, shape[axis]).astype(g.dtype(1)), 0.3)


def tuples(g, shape, leading, depth, batch=0):
    """Index tuples: of shape [*leading, depth]."""
    parts = [indices(g, leading, size)[..., None] for size in shape[batch:batch + depth]]
    return np.concatenate(parts, -1).astype(np.int64)


@recipe("indexing", "GatherND")
def gather_nd(g):
    shape = g.shape(1, 4, 500)
    batch = g.integer(0, len(shape) - 1) if g.schema.since_version >= 12 else 0
    g.operand(shape)
    if batch:
        g.attributes["batch_dims"] = batch
    depth = g.integer(1, len(shape) - batch)
    g.give(tuples(g, shape, [*shape[:batch], *g.shape(0, 2, 30)], depth, batch), 0.3)
    g.fix()


def reductions(g):
    version = g.schema.since_version
    if version >= 16:
        return g.attribute("reduction", ["none", "add", "mul"]
                           + (["max", "min"] if version >= 18 else [])) or "none"
    return "none"


@recipe("indexing", "Scatter ScatterElements")
def scatter_elements(g):
    shape, axis = along_axis(g)
    updates = [g.integer(min(1, size), size) for size in shape]
    if reductions(g) == "none":
        # Which of two writes to one place stays is not defined.
        order = np.argsort(g.rng.random(shape), axis)
        where = order[tuple(slice(0, n) for n in updates)]
    else:
        where = indices(g, updates, shape[axis])
    g.give(where.astype(g.dtype(1)), 0.3)
    g.operand(updates)


@recipe("indexing", "ScatterND")
def scatter_nd(g):
    shape = g.shape(1, 4, 500)
    g.operand(shape)
    depth = g.integer(1, len(shape))
    if np.prod(shape[:depth]) == 0:
        raise Unsuitable
    if reductions(g) == "none":
        count = g.integer(1, int(np.prod(shape[:depth])))
        flat = g.rng.permutation(int(np.prod(shape[:depth])))[:count]
        where = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int64)
    else:
        where = tuples(g, shape, g.shape(1, 2, 30), depth)
    g.give(where, 0.3)
    g.fix()
    g.operand([*where.shape[:-1], *shape[depth:]])


@recipe("movement", "DepthToSpace SpaceToDepth")
def blocks(g):
    n, c, h, w = g.integer(1, 2), g.integer(1, 3), g.integer(1, 4), g.integer(1, 4)
    side = g.pick([1, 2, 2, 3])
    g.attributes["blocksize"] = side
    g.attribute("mode", ["DCR", "CRD"])
    g.operand([n, c * side * side, h, w] if g.schema.name == "DepthToSpace"
              else [n, c, h * side, w * side])


@recipe("movement", "Trilu")
@recipe("movement", "Trilu", "com.microsoft")
def trilu(g):
    g.operand(g.shape(2))
    if g.maybe(0.7):
        g.parameter("k", g.integer(-4, 4))
    g.attribute("upper", [0, 1])


@recipe("indexing", "OneHot")
def one_hot(g):
    shape = g.shape(1, 3, 60)
    depth = g.integer(1, 9)
    low = 0 if np.dtype(g.dtype(0)).kind == "u" else -depth
    g.give(np.asarray(g.rng.integers(low, depth + 2, shape)).astype(g.dtype(0)))
    g.give(np.asarray(g.pick([depth, [depth]]), g.dtype(1)), 0.6)
    g.fix()
    g.operand([2])
    g.attribute("axis", [g.integer(-len(shape) - 1, len(shape))])


@recipe("shaping", "EyeLike")
def eye(g):
    g.operand(g.shape(2, 2))
    element_type(g, "dtype")
    g.attribute("k", [-2, -1, 0, 1, 3])


@recipe("shaping", "Range")
def numbers(g):
    dtype = g.dtype(0)
    whole = not is_float(dtype) or dtype in NARROW
    start, count = g.integer(-5, 5), g.integer(0, 9)
    step = g.pick([1, 2, -1, -3]) if whole else g.pick([0.5, 1.0, -0.75])
    if np.dtype(dtype).kind == "u":
        start, step = abs(start), abs(step)
    for value in (start, start + step * count, step):
        g.give(np.asarray(value, dtype), 0.5)


@recipe("shaping", "ConstantOfShape")
def constant_of_shape(g):
    dtype = output_type(g)
    if g.maybe(0.8):
        g.attributes["value"] = numpy_helper.from_array(g.values([1], dtype), "")
    g.give(np.asarray(g.shape(0, 4), np.int64), 0.5)
    g.fix()


@recipe("shaping", "Constant")
def constant(g):
    dtype = g.pick(list(DTYPES.values()))
    forms = {"value": numpy_helper.from_array(g.values(g.shape(), dtype), ""),
             "value_float": 1.5, "value_floats": [0.5, 1.5], "value_int": 3,
             "value_ints": [1, 2, 3]}
    name = g.pick([name for name in forms if name in g.schema.attributes])
    g.attributes[name] = forms[name]


@recipe("shaping", "Reshape")
def reshape(g):
    shape = g.shape()
    g.operand(shape)
    left, dims = int(np.prod(shape)), []
    while left > 1 and len(dims) < 5 and g.maybe(0.7):
        dims.append(g.pick([d for d in range(1, left + 1) if left % d == 0]))
        left //= dims[-1]
    dims.append(left)
    g.rng.shuffle(dims)
    dims = [int(d) for d in dims]
    if 0 in dims and g.maybe(0.5):
        g.attribute("allowzero", [1], required=True)
    elif g.maybe(0.5):
        dims[g.integer(0, len(dims) - 1)] = -1
    elif shape and dims[0] == shape[0]:
        dims[0] = 0
    g.parameter("shape", dims)


@recipe("shaping", "Flatten")
def flatten(g):
    shape = g.shape()
    g.operand(shape)
    rank = len(shape)
    g.attribute("axis", [g.integer(-rank if g.schema.since_version >= 11 else 0, rank)])


@recipe("shaping", "Squeeze")
def squeeze(g):
    shape = [1 if g.maybe(0.5) else size for size in g.shape()]
    g.operand(shape)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    if g.maybe(0.7) and ones:
        low = -len(shape) if g.schema.since_version >= 11 and g.maybe(0.3) else 0
        g.parameter("axes", [axis + low for axis in ones if g.maybe(0.7)] or [ones[0] + low])
    else:
        g.fix_all()


@recipe("shaping", "Unsqueeze")
def unsqueeze(g):
    shape = g.shape(0, 3)
    g.operand(shape)
    more = g.integer(1, 2)
    axes = [int(a) for a in g.rng.permutation(len(shape) + more)[:more]]
    if g.schema.since_version >= 11 and g.maybe(0.3):
        axes = [a - len(shape) - more for a in axes]
    g.parameter("axes", axes)


@recipe("shaping", "Shape Size")
def shape_of(g):
    shape = g.shape()
    g.operand(shape)
    for name in ("start", "end"):
        g.attribute(name, list(range(-len(shape) - 2, len(shape) + 3)))
