"""What the random recipes share: their table, and shapes that fit together.

A recipe takes a `Draw` and gives it operands and attributes. `RECIPES` names for each
operator its family and its recipe; one recipe serves all operators of one form. What
differs from operator to operator (the domain of a function, the attributes that scale
it) stands in tables. random_recipes.py brings the families together.
"""

import numpy as np
from onnx import helper

from random_draw import DTYPES

RECIPES = {}


def recipe(family, operators, domain=""):
    """Registers a recipe for operators of a domain."""
    def add(function):
        for name in operators.split():
            RECIPES[f"{domain}::{name}" if domain else name] = (family, function)
        return function
    return add


def broadcast_shapes(g, count):
    """Shapes that broadcast: dimensions at the front are left out, others become 1."""
    full = g.shape()
    shapes = []
    for _ in range(count):
        shape = [1 if g.maybe(0.25) else size for size in full]
        shapes.append(shape[g.integer(0, len(shape)):] if g.maybe(0.3) else shape)
    return shapes


def output_type(g, suits=lambda dtype: True):
    """An element type that the output may have."""
    variable = g.schema.outputs[0].type_str
    allowed = next(c.allowed_type_strs for c in g.schema.type_constraints
                   if c.type_param_str == variable)
    return g.pick([DTYPES[t] for t in sorted(allowed) if t in DTYPES and suits(DTYPES[t])])


def element_type(g, name, suits=lambda dtype: True):
    """Sets an attribute to the code of an element type that the output may have."""
    dtype = output_type(g, suits)
    g.attribute(name, [int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))],
                g.schema.attributes[name].required)
