"""Convolution nets of any height and width: a detector in the style of YOLO that ends in
NonMaxSuppression."""

import numpy as np
from onnx import helper, numpy_helper

from exporter import FLOAT, INT64, Exporter, value

CLASSES = 6


def block(g, name, x, cin, cout, stride=1, kernel=3):
    """Conv and SiLU."""
    with g.scope(name):
        weight = g.normal("weight", [cout, cin, kernel, kernel],
                          1.6 * (cin * kernel * kernel) ** -0.5)
        x = g.op("Conv", x, weight, g.normal("bias", [cout], 0.1), dilations=[1, 1], group=1,
                 kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, strides=[stride] * 2)
        return g.op("Mul", x, g.op("Sigmoid", x))


def resize_like(g, x, other):
    """torch.nn.functional.interpolate(x, size=other.shape[2:]), nearest."""
    with g.scope("upsample"):
        front = g.op("Slice", g.op("Shape", x), g.constant([0]), g.constant([2]), g.constant([0]))
        back = g.vector([g.size(other, 2), g.size(other, 3)])
        sizes = g.op("Concat", front, g.op("Cast", back, to=INT64), axis=0)
        return g.op("Resize", x, "", "", sizes, mode="nearest", nearest_mode="floor",
                    coordinate_transformation_mode="asymmetric")


def anchor_points(g, x):
    """Centres of the cells in units of cells, [1, 2, height * width]: arange and meshgrid."""
    height, width = g.size(x, 2), g.size(x, 3)
    centres = []
    for length in (width, height):
        steps = g.op("Cast", g.arange(length), to=FLOAT)
        centres.append(g.op("Add", steps, g.number(0.5)))
    columns = g.expand(g.reshape(centres[0], 1, -1), height, -1)
    rows = g.expand(g.reshape(centres[1], -1, 1), -1, width)
    points = g.op("Concat", g.op("Unsqueeze", columns, g.constant([0])),
                  g.op("Unsqueeze", rows, g.constant([0])), axis=0)
    return g.reshape(points, 1, 2, -1)


def head(g, level, x, channels, stride):
    """Boxes [batch, 4, cells] as corners in pixels, and scores [batch, classes, cells]."""
    with g.scope(f"head.{level}"):
        y = block(g, "conv", x, channels, channels)
        with g.scope("predict"):
            weight = g.normal("weight", [4 + CLASSES, channels, 1, 1], 0.7 * channels ** -0.5)
            y = g.op("Conv", y, weight, g.normal("bias", [4 + CLASSES], 0.1), kernel_shape=[1, 1])
        batch = g.size(y, 0)
        y = g.reshape(y, batch, 4 + CLASSES, -1)
        distances, scores = g.op("Split", y, g.constant([4, CLASSES]), outputs=2, axis=1)
        distances = g.op("Mul", g.op("Sigmoid", distances), g.number(3.0))
        before, after = g.op("Split", distances, g.constant([2, 2]), outputs=2, axis=1)
        points = anchor_points(g, x)
        corners = g.op("Concat", g.op("Sub", points, before), g.op("Add", points, after), axis=1)
        return g.op("Mul", corners, g.number(stride)), g.op("Sigmoid", scores)


def keep_best(g, boxes, scores, most):
    """The min(most, cells) cells of highest score, as torchvision's RPN exports it."""
    with g.scope("topk"):
        best = g.op("ReduceMax", scores, axes=[1], keepdims=0)
        sizes = g.op("Concat", g.constant([most]), g.vector([g.size(best, 1)]), axis=0)
        count = g.op("ReduceMin", g.op("Cast", sizes, to=INT64), keepdims=1, axes=[0])
        _, index = g.op("TopK", best, count, outputs=2, axis=1, largest=1, sorted=1)
        batch = g.size(boxes, 0)
        index = g.op("Unsqueeze", index, g.constant([1]))
        boxes = g.op("GatherElements", boxes, g.expand(index, batch, 4, -1), axis=2)
        return boxes, g.op("GatherElements", scores, g.expand(index, batch, CLASSES, -1), axis=2)


def detector(path, seed=31, top=None):
    """Three strides of convolutions, a feature pyramid of two levels, decoded boxes,
    NonMaxSuppression, and the boxes that it selects."""
    g = Exporter(seed)
    with g.scope("backbone"):
        x = block(g, "0", "image", 3, 16, 2)
        x = block(g, "1", x, 16, 24, 2)
        fine = block(g, "2", x, 24, 32, 2)
        coarse = block(g, "3", fine, 32, 48, 2)
        pooled = g.op("MaxPool", coarse, kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1])
        coarse = block(g, "4", g.op("Concat", coarse, pooled, axis=1), 96, 48, kernel=1)
    with g.scope("neck"):
        up = resize_like(g, coarse, fine)
        fine = block(g, "5", g.op("Concat", up, fine, axis=1), 80, 32)
    levels = [head(g, 0, fine, 32, 8.0), head(g, 1, coarse, 48, 16.0)]
    boxes, scores = (g.op("Concat", *parts, axis=2) for parts in zip(*levels))
    if top:
        boxes, scores = keep_best(g, boxes, scores, top)
    boxes = g.op("Transpose", boxes, perm=[0, 2, 1])
    with g.scope("nms"):
        selected = g.op("NonMaxSuppression", boxes, scores, g.constant([20]),
                        g.constant([0.45], np.float32), g.constant([0.6], np.float32),
                        name="selected")
        batch, label, cell = (g.op("Gather", selected, g.constant([column]), axis=1)
                              for column in range(3))
        g.op("GatherND", boxes, g.op("Concat", batch, cell, axis=1), name="boxes")
        g.op("GatherND", scores, selected, name="scores")
        g.op("Squeeze", label, g.constant([1]), name="labels")
    g.save(path, "detector", [value("image", FLOAT, ["batch", 3, "height", "width"])],
           [value("selected", INT64, ["detections", 3]), value("boxes", FLOAT, ["detections", 4]),
            value("scores", FLOAT, ["detections"]), value("labels", INT64, ["detections"])])


def detector_feed(rng, batch, height, width, contrast=1.0):
    return {"image": contrast * rng.standard_normal((batch, 3, height, width))}


# On the pale image nothing is found.
DETECTOR_SIZES = [(1, 64, 64), (1, 96, 128), (2, 64, 96), (1, 40, 56), (1, 100, 75),
                  (1, 48, 48, 0.05), (1, 64, 64)]
DETECTOR_LIMITS = [(1, 2), (8, 128), (8, 128)]


def top_detector(path):
    detector(path, top=50)
