"""Rows of images that are sampled, taken apart and put together."""

import itertools

from operator_rows import row

for corners, dtype in itertools.product((0, 1), ("f32", "f64")):
    row("AffineGrid", f"{dtype}:2x2x3 =[2,3,5,6]", 20, align_corners=corners)
    row("AffineGrid", f"{dtype}:2x3x4 =[2,3,4,5,6]", 20, align_corners=corners)
row("AffineGrid", "2x2x3 [2,3,5,6]", 20)

for shape in ("=[5,9]", "[8,6]"):
    row("CenterCropPad", f"8x6 {shape}", 18)
    row("CenterCropPad", f"3x8x6 {shape}", 18, axes=[-2, -1])
    row("CenterCropPad", f"i64:8x3x6 {shape}", 18, axes=[0, 2])

for attributes in ({}, dict(strides=[2, 1]), dict(pads=[1, 0, 2, 1]), dict(dilations=[1, 2]),
                   dict(strides=[2, 2], pads=[1, 1, 0, 0], dilations=[2, 1])):
    stride, dilation = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1])
    pad = attributes.get("pads", [0] * 4)
    places = 1
    for d, (size, block) in enumerate(((7, 3), (8, 2))):
        room = size + pad[d] + pad[d + 2] - (block - 1) * dilation[d] - 1
        places *= room // stride[d] + 1
    for equals in ("=", ""):
        row("Col2Im", f"2x18x{places} {equals}[7,8] {equals}[3,2]", 18, **attributes)
row("Col2Im", "1x16x24 =[3,4,5] =[2,2,2]", 18)
row("Col2Im", "f64:2x6x4 =[5] =[2]", 18)
row("Col2Im", "bool:4x6x2 =[5] =[3]", 18, strides=[2])

row("MaxUnpool", "1x2x3x4 i64:1x2x3x4@0~95", 11, kernel_shape=[2, 2], strides=[2, 2])
row("MaxUnpool", "1x2x3x4 i64:1x2x3x4@0~95 =[1,2,8,9]", 22, kernel_shape=[2, 2], strides=[2, 2])
row("MaxUnpool", "2x1x5 i64:2x1x5@3~3", 9, kernel_shape=[3], strides=[2], pads=[1, 0])

for scale in (1.0, 0.5, 9.0):
    row("MaxRoiPool", "1x3x9x12 20x5@0~0.999", 7, pooled_shape=[2, 3], spatial_scale=scale)
    row("MaxRoiPool", "2x5x9x12 20x5@0~1.4", 16, pooled_shape=[3, 2], spatial_scale=scale)

for x, w, places, attributes in (
        ("1x3x7x8", "4x3x3x2", "5x7", {}),
        ("2x4x7x8", "6x2x3x3", "7x8", dict(group=2, pads=[1, 1, 1, 1])),
        ("1x4x9x9", "5x4x3x3", "4x4", dict(strides=[2, 2], offset_group=2)),
        ("1x6x9x9", "6x2x2x3", "8x5", dict(group=3, offset_group=2, dilations=[1, 2])),
        ("2x6x7x7", "4x6x1x1", "7x7", {})):
    images, (taps_h, taps_w) = x.split("x")[0], map(int, w.split("x")[2:])
    taps = taps_h * taps_w * attributes.get("offset_group", 1)
    for offset, more in (("@-2~2", ""), ("@-0.3~0.3", f" {w.split('x')[0]}"),
                         ("@-9~9", f" {w.split('x')[0]} {images}x{taps}x{places}")):
        row("DeformConv", f"{x} {w} {images}x{2 * taps}x{places}{offset}{more}", 19, **attributes)
row("DeformConv", "f64:1x2x6x6 =f64:3x2x2x2 f64:1x8x5x5", 22)

for activation in ("none", "silu", "swish"):
    row("CausalConvWithState", "2x5x9 5x1x4 5 2x5x3", 27, outputs=2, activation=activation)
row("CausalConvWithState", "2x5x9 =5x1x4", 27, outputs=2)
row("CausalConvWithState", "2x5x2 =5x1x4 - 2x5x3", 27, outputs=2)
