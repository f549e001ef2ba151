"""Recipes of operators that sample images, take them apart and put them together."""

import numpy as np

from random_draw import Unsuitable, is_float
from recipe_table import recipe
from recipes_contraction import image


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


@recipe("image", "AffineGrid")
def affine_grid(g):
    spatial = [g.integer(2, 6) for _ in range(g.pick([2, 2, 3]))]
    batch, rank = g.integer(1, 3), len(spatial)
    g.operand([batch, rank, rank + 1])
    g.give(np.asarray([batch, g.integer(1, 3), *spatial], np.int64), 0.7)
    g.fix()
    g.attribute("align_corners", [0, 1])


@recipe("image", "CenterCropPad")
def crop_or_pad(g):
    shape = [max(1, size) for size in g.shape(1, 4, 800)]
    g.operand(shape)
    axes = range(len(shape))
    if g.maybe(0.5):
        axes = g.axes(len(shape), 1)
        g.attributes["axes"] = axes
    g.give(np.asarray([g.integer(1, 9) for _ in axes], g.dtype(1)), 0.6)
    g.fix()


@recipe("image", "Col2Im")
def columns_to_image(g):
    rank = g.pick([1, 2, 2, 3])
    spatial, block = [g.integer(3, 8) for _ in range(rank)], [g.integer(1, 3) for _ in range(rank)]
    strides, dilations = ([g.integer(1, 2) for _ in range(rank)] for _ in range(2))
    pads = [g.integer(0, 2) for _ in range(2 * rank)]
    rooms = [size + pads[i] + pads[i + rank] - (block[i] - 1) * dilations[i] - 1
             for i, size in enumerate(spatial)]
    if min(rooms) < 0:
        raise Unsuitable
    g.attributes.update(strides=strides, dilations=dilations, pads=pads)
    places = np.prod([room // stride + 1 for room, stride in zip(rooms, strides)])
    g.operand([g.integer(1, 2), g.integer(1, 3) * int(np.prod(block)), int(places)])
    for sizes in (spatial, block):
        g.give(np.asarray(sizes, np.int64), 0.7)
        g.fix()


@recipe("image", "DeformConv")
def deformable_convolution(g):
    batch, groups, offset_groups = g.integer(1, 2), g.pick([1, 1, 2]), g.pick([1, 1, 2])
    spatial, kernel = [g.integer(5, 9), g.integer(5, 9)], [g.integer(1, 3), g.integer(1, 3)]
    channels, features = groups * offset_groups * g.integer(1, 3), groups * g.integer(1, 3)
    strides, dilations = ([g.integer(1, 2) for _ in range(2)] for _ in range(2))
    pads = [g.integer(0, 1) for _ in range(4)]
    g.attributes.update(strides=strides, dilations=dilations, pads=pads, group=groups,
                        offset_group=offset_groups)
    places = [(size + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
              for i, size in enumerate(spatial)]
    taps = offset_groups * kernel[0] * kernel[1]
    g.operand([batch, channels, *spatial], -1, 1)
    g.operand([features, channels // groups, *kernel], -1, 1, constant=0.6)
    g.fix()
    g.operand([batch, 2 * taps, *places], -2, 2)
    if g.maybe(0.5):
        g.operand([features], -1, 1)
        g.fix()
        if g.maybe(0.5):
            g.operand([batch, taps, *places], 0, 1)


@recipe("image", "MaxUnpool")
def unpool(g):
    rank = g.pick([1, 2, 2])
    small, kernel = [g.integer(1, 4) for _ in range(rank)], [g.integer(1, 3) for _ in range(rank)]
    g.attributes["kernel_shape"] = kernel
    strides = [1] * rank
    if g.maybe(0.7):
        strides = g.attributes["strides"] = [g.integer(1, 3) for _ in range(rank)]
    large = [(n - 1) * s + k for n, s, k in zip(small, strides, kernel)]
    shape = [g.integer(1, 2), g.integer(1, 3), *small]
    g.operand(shape)
    # Which of two writes to one place stays is not defined.
    total = int(np.prod(shape[:2])) * int(np.prod(large))
    g.give(g.rng.permutation(total)[:int(np.prod(shape))].reshape(shape).astype(np.int64))


@recipe("image", "MaxRoiPool")
def roi_pool(g):
    batch, count = g.integer(1, 2), g.integer(1, 4)
    g.operand([batch, g.integer(1, 3), g.integer(4, 9), g.integer(4, 9)])
    corner = g.rng.integers(0, 4, (count, 2))
    regions = [g.rng.integers(0, batch, (count, 1)), corner,
               corner + g.rng.integers(0, 5, (count, 2))]
    g.give(np.concatenate(regions, -1).astype(g.dtype(1)))
    g.attributes["pooled_shape"] = [g.integer(1, 3), g.integer(1, 3)]
    g.attribute("spatial_scale", [0.5, 1.0])
