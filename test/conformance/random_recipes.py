"""How a random node of each operator is drawn.

A recipe takes a `Draw` and gives it operands and attributes. `RECIPES` names for each
operator its family and its recipe; one recipe serves all operators of one form. What
differs from operator to operator (the domain of a function, the attributes that scale
it) stands in tables.
"""

import numpy as np

from random_draw import DTYPES, NARROW, Unsuitable, is_float

RECIPES = {}


def recipe(family, operators):
    def add(function):
        for name in operators.split():
            RECIPES[name] = (family, function)
        return function
    return add


# ---- Elementwise -----------------------------------------------------------

# Where a function is defined and no steeper than a comparison bears.
DOMAINS = {"Acos": (-0.99, 0.99), "Asin": (-0.99, 0.99), "Atanh": (-0.95, 0.95),
           "Acosh": (1.1, 9), "Log": (0.01, 9), "Sqrt": (0, 9), "Reciprocal": (0.2, 5),
           "Erf": (-3, 3), "Tan": (-1.4, 1.4), "Exp": (-4, 4), "Cosh": (-4, 4), "Sinh": (-4, 4)}

NUMBERS = [0.1, 0.5, 1.0, 1.5, 2.0]
ATTRIBUTES = {"alpha": NUMBERS, "beta": NUMBERS, "gamma": NUMBERS, "bias": [0.0, 0.5, 1.0],
              "lambd": [0.0, 0.5, 1.0], "approximate": ["none", "tanh"],
              "detect_negative": [0, 1], "detect_positive": [0, 1]}


def common_attributes(g):
    for name, values in ATTRIBUTES.items():
        g.attribute(name, values)


def broadcast_shapes(g, count):
    """Shapes that broadcast: dimensions at the front are left out, others become 1."""
    full = g.shape()
    shapes = []
    for _ in range(count):
        shape = [1 if g.maybe(0.25) else size for size in full]
        shapes.append(shape[g.integer(0, len(shape)):] if g.maybe(0.3) else shape)
    return shapes


@recipe("elementwise",
        "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu"
        " HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu"
        " Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh"
        " ThresholdedRelu BitwiseNot")
def unary(g):
    common_attributes(g)
    # Shrink of integers is computed in floats, which cannot tell large ones apart.
    g.has_specials = g.maybe(0.3) and (g.schema.name != "Shrink" or is_float(g.dtype(0)))
    g.operand(g.shape(), *DOMAINS.get(g.schema.name, ()) if not g.has_specials else ())


@recipe("elementwise",
        "Add Sub Mul And Or Xor Equal Less Greater LessOrEqual GreaterOrEqual BitwiseAnd"
        " BitwiseOr BitwiseXor Where")
def binary(g):
    g.has_specials = g.maybe(0.3)
    for shape in broadcast_shapes(g, len(g.schema.inputs)):
        g.operand(shape)


@recipe("elementwise", "Max Min Sum Mean")
def variadic(g):
    g.has_specials = g.maybe(0.3) and g.schema.name in ("Max", "Min")
    for shape in broadcast_shapes(g, g.pick([1, 2, 2, 3, 4])):
        g.operand(shape)


@recipe("elementwise", "Div Mod")
def quotient(g):
    dividend, divisor = broadcast_shapes(g, 2)
    g.operand(dividend)
    dtype = g.dtype(1)
    signs = 1 if np.dtype(dtype).kind == "u" else g.rng.choice([-1, 1], divisor)
    g.give((g.values(divisor, dtype, 1, 5) * signs).astype(dtype))
    g.attribute("fmod", [1] if is_float(dtype) and g.schema.since_version < 28 else [0, 1],
                is_float(dtype))


@recipe("elementwise", "BitShift")
def shift(g):
    g.attribute("direction", ["LEFT", "RIGHT"], required=True)
    value, amount = broadcast_shapes(g, 2)
    g.has_specials = True
    g.operand(value)
    g.operand(amount, 0, np.dtype(g.dtype(1)).itemsize * 8 - 1)


@recipe("elementwise", "Pow")
def power(g):
    base, exponent = broadcast_shapes(g, 2)
    integers = not is_float(g.dtype(1))
    if is_float(g.dtype(0)):
        g.operand(base, *((-3, 3) if integers else (0.1, 3)))
    else:
        g.operand(base, 0, 4)
    if g.maybe(0.3):
        g.give(np.asarray(g.pick([0, 1, 2, 3]), g.dtype(1)), constant=1)
    else:
        g.operand(exponent, 0 if integers or not is_float(g.dtype(0)) else -2, 3)


@recipe("elementwise", "PRelu")
def slope(g):
    shape = g.shape()
    g.operand(shape)
    kept = shape[g.integer(0, len(shape)):]
    g.operand([1 if g.maybe(0.3) else size for size in kept], constant=0.5)
    if any(size == 1 for size in g.operands[1][0].shape):
        g.fix()


@recipe("elementwise", "Clip")
def clip(g):
    # A bound that is left out stands for the largest number, which we do not put in the
    # place of infinity.
    given = [name for name in ("min", "max") if g.maybe(0.75)]
    g.has_specials = g.maybe(0.3) and len(given) == 2
    g.operand(g.shape())
    g.has_specials = False
    dtype = g.dtype(0)
    low, high = (-1.5, 2.5) if is_float(dtype) else (0 if np.dtype(dtype).kind == "u" else -2, 4)
    if g.maybe(0.1):
        low, high = high, low
    for name, value in (("min", low), ("max", high)):
        if name in given:
            g.parameter(name, value)


@recipe("elementwise", "Cast CastLike")
def conversion(g):
    from onnx import helper
    outputs = g.schema.outputs[0].type_str
    allowed = next(c.allowed_type_strs for c in g.schema.type_constraints
                   if c.type_param_str == outputs)
    target = g.pick([DTYPES[name] for name in sorted(allowed) if name in DTYPES])
    source = g.dtype(0)
    # What does not fit is not defined. Of floats, each has the special values.
    g.has_specials = g.maybe(0.3) and is_float(source) and is_float(target)
    unsigned = np.dtype(target).kind == "u"
    g.operand(g.shape(), *(() if g.has_specials else (0 if unsigned else -99, 99)))
    if g.schema.name == "CastLike":
        g.give(np.zeros(g.shape(0, 2), target))
        return
    g.attributes["to"] = int(helper.np_dtype_to_tensor_dtype(np.dtype(target)))


@recipe("elementwise", "Dropout")
def dropout(g):
    g.operand(g.shape())
    if g.has("training_mode"):
        if g.maybe(0.5):
            g.parameter("ratio", 0.5)
        if g.maybe(0.3):
            g.parameter("training_mode", False)
    else:
        g.attribute("ratio", [0.0, 0.5])
    # Before version 12 the mask of an inference is not defined.
    g.outputs = g.pick([1, 2]) if g.schema.since_version >= 12 else 1


# ---- Reductions ------------------------------------------------------------


@recipe("reduction",
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd"
        " ReduceSum ReduceSumSquare")
def reduction(g):
    name = g.schema.name
    # The mean of nothing is not defined.
    g.may_be_empty &= name != "ReduceMean"
    shape = g.shape()
    bounds = {"ReduceProd": (0.5, 1.5), "ReduceLogSum": (0.1, 3), "ReduceMean": (-2, 8)}
    g.has_specials = g.maybe(0.3) and name in ("ReduceMax", "ReduceMin")
    g.operand(shape, *bounds.get(name, ()))
    if g.maybe(0.8):
        g.parameter("axes", g.axes(len(shape), 0 if g.position("axes") else 1))
        if g.attributes.get("axes") == []:
            del g.attributes["axes"]
    g.attribute("keepdims", [0, 1])
    g.attribute("noop_with_empty_axes", [0, 1])


@recipe("reduction", "ArgMax ArgMin")
def arg(g):
    shape = g.shape(1)
    g.operand(shape)
    g.attribute("axis", [g.axis(len(shape))])
    g.attribute("keepdims", [0, 1])
    g.attribute("select_last_index", [0, 1])


@recipe("normalization", "Softmax LogSoftmax Hardmax LpNormalization")
def along_axis(g):
    shape = g.shape(1)
    g.operand(shape)
    g.attribute("axis", [g.axis(len(shape))], required=len(shape) < 2)
    g.attribute("p", [1, 2])


@recipe("selection", "CumSum CumProd")
def scan(g):
    shape = g.shape(1)
    g.operand(shape, *((0.5, 1.5) if g.schema.name == "CumProd" else ()))
    g.parameter("axis", g.axis(len(shape)))
    g.attribute("exclusive", [0, 1])
    g.attribute("reverse", [0, 1])


@recipe("selection", "TopK")
def top(g):
    shape = g.shape(1)
    g.operand(shape)
    axis = g.axis(len(shape))
    if g.maybe(0.5):
        g.attributes["axis"] = axis
    else:
        axis = -1
    k = g.integer(0 if g.maybe(0.1) else min(1, shape[axis]), shape[axis])
    g.parameter("k", k if "k" in g.schema.attributes else [k])
    g.attribute("largest", [0, 1])
    g.attribute("sorted", [1])
    g.outputs = 2


@recipe("selection", "Unique")
def unique(g):
    shape = g.shape(0, 3)
    g.operand(shape)
    if shape and g.maybe(0.5):
        g.attributes["axis"] = g.axis(len(shape))
    g.attribute("sorted", [0, 1])
    g.outputs = g.integer(1, 4)


@recipe("selection", "NonZero")
def non_zero(g):
    g.operand(g.shape(1), 0, 1.5)


@recipe("selection", "Compress")
def compress(g):
    shape = g.shape(1)
    g.operand(shape)
    length = int(np.prod(shape))
    if g.maybe(0.6):
        g.attributes["axis"] = g.axis(len(shape))
        length = shape[g.attributes["axis"]]
    g.operand([g.integer(0, length) if g.maybe(0.3) else length])


@recipe("selection", "NonMaxSuppression")
def suppression(g):
    batch, classes, boxes = g.integer(1, 2), g.integer(1, 3), g.integer(1, 9)
    corner = g.rng.random((batch, boxes, 2)) * 3
    g.attribute("center_point_box", [0, 1])
    g.give(np.concatenate([corner, corner + g.rng.random((batch, boxes, 2)) + 0.2], -1)
           .astype(np.float32))
    g.operand([batch, classes, boxes], 0, 1)
    if g.maybe(0.8):
        g.parameter("max_output_boxes_per_class", g.pick([[0], [1], [3], [100]]))
    for name in ("iou_threshold", "score_threshold"):
        if g.maybe(0.7):
            g.parameter(name, [g.pick([0.0, 0.2, 0.4])])
    g.fix_all()


# ---- Movement and shapes ---------------------------------------------------


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


@recipe("indexing", "Gather")
def gather(g):
    shape = g.shape(1, 4, 500)
    axis = g.axis(len(shape))
    g.operand(shape)
    g.attributes["axis"] = axis
    g.give(indices(g, g.shape(0, 3, 30), shape[axis]).astype(g.dtype(1)), 0.4)


@recipe("indexing", "GatherElements")
def gather_elements(g):
    shape = g.shape(1, 4, 500)
    axis = g.axis(len(shape))
    g.operand(shape)
    g.attributes["axis"] = axis
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
    shape = g.shape(1, 4, 500)
    axis = g.axis(len(shape))
    g.operand(shape)
    g.attributes["axis"] = axis
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


def element_type(g, name, index=0):
    """The code of an element type that the output may have."""
    from onnx import helper
    variable = g.schema.outputs[index].type_str
    allowed = next(c.allowed_type_strs for c in g.schema.type_constraints
                   if c.type_param_str == variable)
    dtype = g.pick([DTYPES[t] for t in sorted(allowed) if t in DTYPES])
    g.attribute(name, [int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))])


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
    from onnx import numpy_helper
    variable = g.schema.outputs[0].type_str
    allowed = next(c.allowed_type_strs for c in g.schema.type_constraints
                   if c.type_param_str == variable)
    dtype = g.pick([DTYPES[t] for t in sorted(allowed) if t in DTYPES])
    if g.maybe(0.8):
        g.attributes["value"] = numpy_helper.from_array(g.values([1], dtype), "")
    g.give(np.asarray(g.shape(0, 4), np.int64), 0.5)
    g.fix()


@recipe("shaping", "Constant")
def constant(g):
    from onnx import numpy_helper
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


# ---- Contractions ----------------------------------------------------------


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


# ---- Windows ---------------------------------------------------------------


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
    g.operand([batch, channels, *spatial], -1, 1)
    g.operand([features, channels // groups, *kernel], -1, 1, constant=0.8)
    g.fix()
    if g.maybe(0.5):
        g.operand([features], -1, 1, constant=0.8)
        g.fix()


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


# ---- Normalisations --------------------------------------------------------

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


# ---- Images ----------------------------------------------------------------


@recipe("image", "Resize Upsample")
def resize(g):
    batch, spatial, _ = image(g)
    version = g.schema.since_version
    upsample = g.schema.name == "Upsample"
    modes = ["nearest", "linear"] + (["cubic"] if version >= 11 and len(spatial) == 2 else [])
    mode = g.attribute("mode", modes) or "nearest"
    if mode == "linear" and len(spatial) == 1 and version < 11:
        raise Unsuitable
    g.operand([batch, g.integer(1, 3), *spatial])
    # Between integers, fractions are cut off: those that no rounding moves are compared.
    cuts = mode != "nearest" and not is_float(g.dtype(0))
    if version >= 11:
        places = ["half_pixel", "asymmetric"] + ([] if cuts else
                                                 ["align_corners", "pytorch_half_pixel"])
        place = g.attribute("coordinate_transformation_mode", places)
        if mode == "nearest":
            g.attribute("nearest_mode",
                        ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
        if mode == "cubic":
            g.attribute("cubic_coeff_a", [-0.5, -0.75])
            g.attribute("exclude_outside", [0, 1])
        # A place that is a whole number or a half but for a rounding is on either side.
        scales = [g.pick([1.0, 2.0, 0.5, 4.0]) for _ in spatial]
        if mode == "nearest" and place == "align_corners":
            scales = [2.0] * len(spatial)
        if g.maybe(0.4) and mode != "nearest" and not cuts:
            g.parameter("sizes", [batch, g.operands[0][0].shape[1],
                                  *(g.integer(1, 9) for _ in spatial)])
            return
        if any(int(size * scale) < 1 for size, scale in zip(spatial, scales)):
            raise Unsuitable
        g.parameter("scales", [1.0, 1.0, *scales])
        return
    # Before version 11 sizes shrink in Resize alone.
    scales = [1.0, 2.0] + ([] if cuts else [3.0]) if upsample else [1.0, 2.0, 0.5]
    g.parameter("scales", [1.0, 1.0, *(g.pick(scales) for _ in spatial)])


@recipe("image", "GridSample")
def grid_sample(g):
    rank = 2 if g.schema.since_version < 20 else g.pick([2, 2, 3])
    batch, channels = g.integer(1, 2), g.integer(1, 3)
    spatial = [g.integer(2, 6) for _ in range(rank)]
    new = g.schema.since_version >= 20
    modes = ["linear", "nearest", "cubic"] if new else ["bilinear", "nearest", "bicubic"]
    g.attribute("mode", modes if rank == 2 else modes[:2])
    g.attribute("padding_mode", ["zeros", "border", "reflection"])
    g.attribute("align_corners", [0, 1])
    g.operand([batch, channels, *spatial])
    g.fix()
    g.operand([batch, *(g.integer(1, 5) for _ in range(rank)), rank], -1.3, 1.3)
    g.fix()


@recipe("image", "RoiAlign")
def roi_align(g):
    batch, channels, count = g.integer(1, 2), g.integer(1, 3), g.integer(1, 4)
    g.operand([batch, channels, g.integer(4, 9), g.integer(4, 9)])
    corner = g.rng.uniform(0, 4, (count, 2))
    g.give(np.concatenate([corner, corner + g.rng.uniform(1, 4, (count, 2))], -1)
           .astype(g.dtype(1)))
    g.give(np.asarray(g.rng.integers(0, batch, count)))
    g.attribute("mode", ["avg", "max"])
    g.attribute("output_height", [1, 2, 3])
    g.attribute("output_width", [1, 2, 3])
    g.attribute("sampling_ratio", [0, 1, 2])
    g.attribute("spatial_scale", [0.5, 1.0])
    g.attribute("coordinate_transformation_mode", ["half_pixel", "output_half_pixel"])
    g.fix_all()


# ---- Recurrence ------------------------------------------------------------


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
