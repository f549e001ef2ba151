"""Recipes of elementwise operators."""

import numpy as np
from onnx import helper

from random_draw import is_float
from recipe_table import broadcast_shapes, output_type, recipe

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
    target = output_type(g)
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
