"""Rows whose structure the run decides: axes, steps, pads, scales and regions as inputs."""

from operator_rows import REDUCTIONS, row

for op in REDUCTIONS:
    for axes in ("[1]", "[-1]", "i64:[0,2]"):
        for keepdims in (0, 1):
            row(op, f"2x3x5@0.5~1.5 {axes}", keepdims=keepdims)
row("ReduceSum", "2x3x4x5 [3,-4,1]", 13, keepdims=0)
row("ReduceSum", "2x3 [1,0]", 13, keepdims=0)
row("ReduceMean", "1x3x1x5 [-2,1]", keepdims=0)
row("ReduceMax", "2x3x4 [-3]", keepdims=0)
row("ReduceSum", "2x3 i64:[]", keepdims=1)
row("ReduceSum", "2x3 i64:[]", keepdims=1, noop_with_empty_axes=1)
for op, opset in (("CumSum", 14), ("CumProd", 26)):
    for axis in ("[0.]", "[-1.]", "i32:[1.]"):
        row(op, f"3x4x5 {axis}", opset, exclusive=1)
        row(op, f"3x4x5 {axis}", opset, reverse=1)
for operands in ("1x3x1x5 [2]", "1x3x1x5 [-2,0]", "3x1 [1]", "1 [0]"):
    row("Squeeze", operands)
for operands in ("3x5 [0]", "3x5 [1,-1]", "3x5 [2,3]", "2x3x4 [-2,2]", "scalar [0]"):
    row("Unsqueeze", operands)

# Axes, and steps of both signs.
for starts, ends, axes, steps in (("0", "5", "0", "1"), ("-3", "100", "1", "1"),
                                  ("-1", "-100", "1", "-1"), ("1,2", "8,15", "0,1", "2,3"),
                                  ("7,16", "0,-100", "-2,-1", "-2,-5"),
                                  ("2", "2147483647", "1", "4"), ("5", "5", "0", "2"),
                                  ("8,1", "2,3", "1,0", "-4,100")):
    row("Slice", f"9x17 [{starts}] [{ends}] [{axes}] =[{steps}]")
    row("Slice", f"9x17 [{starts}] [{ends}] =[{axes}] [{steps}]")
    row("Slice", f"9x17 [{starts}] [{ends}] [{axes}] [{steps}]")
    row("Slice", f"i64:9x17 =[{starts}] =[{ends}] [{axes}]")

# Amounts of both signs, and what they are of.
for mode in ("constant", "edge", "reflect", "wrap"):
    for pads in ("1,0,0,2", "-1,2,2,0", "2,-3,-1,2", "-1,-1,-1,-2"):
        row("Pad", f"4x6 [{pads}]", 19, mode=mode)
row("Pad", "2x3x4x5 [1,2,0,1] - [1,3]", 18)
row("Pad", "2x3x4x5 [-1,2,1,-1] - [-1,0]", 18)
row("Pad", "2x3x4 =[1,0] - i32:[2]", 18)

for mode in ("nearest", "linear", "cubic"):
    for scales in ("1,1,2,3", "1,1,0.6,1.7", "1,1,1,1"):
        row("Resize", f"1x2x5x7 - f32:[{scales}]", 18, mode=mode)
        row("Resize", f"1x2x5x7 - f32:[{scales}]", 18, mode=mode,
            coordinate_transformation_mode="asymmetric")
row("Resize", "1x2x5x7 - f32:[1,1,0.6,1.7]", 19, mode="linear",
    coordinate_transformation_mode="half_pixel_symmetric")
row("Resize", "1x2x5x7 - f32:[0.6,1.7]", 18, mode="linear", axes=[3, 2])
row("Resize", "1x2x5x7 - - [9,4]", 18, mode="linear", axes=[3, 2])
for policy in ("not_larger", "not_smaller"):
    row("Resize", "1x2x6x8 - - [9,10]", 18, mode="linear", axes=[2, 3],
        keep_aspect_ratio_policy=policy)
row("Resize", "1x2x6x7 f32:[0,0,0.4,0.6,1,1,0.6,1.2] - [1,2,3,5]", 13, mode="linear",
    coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=0.5)
for mode in ("nearest", "linear"):
    row("Upsample", "1x3x5x7 f32:[1,1,2,3]", 9, mode=mode)
    row("Resize", "1x3x5x7 f32:[1,1,0.7,3]", 10, mode=mode)

# The beginnings of sequences.
for dtype in ("f32", "i64", "bool"):
    row("ReverseSequence", f"{dtype}:5x3x2 [5,1,2]", time_axis=0, batch_axis=1)
    row("ReverseSequence", f"{dtype}:3x5 [2,5,0]", time_axis=1, batch_axis=0)
row("ReverseSequence", "4x2x3x2 =[3,4]")

# Channels of a weight: the kernel's shape is fixed by its attribute.
for x, w, kernel, attributes in (
        ("2x3x9x8", "8x3x3x3", [3, 3], dict(pads=[1, 1, 1, 1])),
        ("1x4x9x9", "6x2x3x2", [3, 2], dict(group=2, strides=[2, 1], dilations=[1, 2])),
        ("1x8x9", "8x1x3", [3], dict(group=8, auto_pad="SAME_UPPER")),
        ("1x2x4x5x6", "3x2x2x3x2", [2, 3, 2], dict(pads=[0, 1, 0, 1, 0, 1]))):
    row("Conv", f"{x} {w} {w.split('x')[0]}", kernel_shape=kernel, **attributes)

# Dimensions without elements.
for operands in ("0x3 [0]", "0x3 [1]", "0x3 [-2,1]", "3x0x2 [0]"):
    for keepdims in (0, 1):
        row("ReduceSum", operands, keepdims=keepdims)
row("CumSum", "0x3 [0.]", 14)
row("CumSum", "3x0 [0.]", 14)
row("Squeeze", "1x0 [0]")
row("Unsqueeze", "0x3 [1]")
for step in ("-1", "2"):
    row("Slice", f"0x5 [1] [9] [0] [{step}]")
    row("Slice", f"0x5 [1] [9] [1] [{step}]")
    row("Slice", f"3x5 [2] [2] [1] [{step}]")
row("Pad", "0x3 [1,0,0,1]")
row("Pad", "2x3 [-1,0,-1,0]")
row("ReverseSequence", "3x0 i64:[]")
row("ReverseSequence", "0x2 [0,0]")
row("Range", "=[0.] [5.] =[1.]", 11)
row("Range", "=[0.] [-5.] =[1.]", 11)
row("Range", "=i32:[0.] i32:[7.] =i32:[1.]", 11)
