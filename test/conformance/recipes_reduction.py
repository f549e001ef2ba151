"""Recipes of reductions, and of what selects along an axis."""

import numpy as np

from recipe_table import recipe


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
