"""Rows of operators whose kernels have loops of their own, or that index."""

import itertools

from operator_rows import row

# ---- Gather and scatter ----------------------------------------------------

for axis in (0, 1, -1):
    row("GatherElements", "4x5x6 i64:4x5x6@-4~3", axis=axis)
    row("GatherElements", "4x5x6 i32:2x3x6@-4~3", axis=axis)
for dtype in ("f64", "i8", "i32", "i64", "bool"):
    row("GatherElements", f"{dtype}:3x70 i64:3x50@-70~69", axis=1)
row("GatherElements", "5x7 =i64:3x7@-5~4")
row("GatherND", "4x5x6 i64:3x1@-4~3")
row("GatherND", "4x5x6 i64:3x2@-4~3")
row("GatherND", "4x5x6 i64:2x3x3@-4~3")
row("GatherND", "4x5x6 i64:4x3x1@-4~3", batch_dims=1)
row("GatherND", "4x5x6 i64:4x5x2x1@-4~3", batch_dims=2)
row("GatherND", "i64:3x3x70 =i64:2x2@-3~2")
for reduction in ("none", "add", "mul", "max", "min"):
    row("ScatterElements", "3x5 i64:3x5@-5~4 3x5", axis=1, reduction=reduction)
    for dtype in ("i32", "i64", "u8", "f64"):
        row("ScatterElements", f"{dtype}:4x6x3 i64:4x9x2@-6~5 {dtype}:4x9x2", axis=1,
            reduction=reduction)
    row("ScatterND", "7x4 i64:1x1@-7~6 1x4", reduction=reduction)
    row("ScatterND", "5x4x3 i64:6x2@-4~3 6x3", reduction=reduction)
    row("ScatterND", "5x4x3 i64:2x3x3@-3~2 2x3", reduction=reduction)
row("ScatterND", "5x4 i64:1x2@-4~3 1")
row("ScatterND", "bool:5x4 i64:1x1@-5~4 bool:1x4")
row("Scatter", "3x5 i64:1x5@-3~2 1x5", 10)

for dtype in ("f32", "i64"):
    for mode in ("linear", "circular"):
        row("TensorScatter", f"{dtype}:2x3x9x4 {dtype}:2x3x5x4 i64:2@0~4", 24, mode=mode)
        row("TensorScatter", f"{dtype}:2x9x4 {dtype}:2x3x4", 24, mode=mode, axis=1)
row("TensorScatter", "2x9x4 2x6x4 i64:2@0~20", 24, mode="circular")
row("TensorScatter", "2x3x9 2x3x1 i64:2@0~8", 24, axis=-1)

# ---- Orders ----------------------------------------------------------------

for axis, largest in itertools.product((0, 1, 2), (0, 1)):
    row("TopK", "5x6x7 =[3]", outputs=2, axis=axis, largest=largest)
for dtype in ("f64", "i32", "i64"):
    row("TopK", f"{dtype}:3x100@-5~5 =[100]", outputs=2)
    row("TopK", f"{dtype}:3x100@-5~5 =[7]", outputs=2, largest=0)
row("TopK", "3x40 =[1]", outputs=2)
row("TopK", "3x40 =[0]", outputs=2)
row("TopK", "1000 =[1000]", outputs=2)
row("TopK", "3x40 =[5]", 10, outputs=2)
for exclusive, reverse in itertools.product((0, 1), (0, 1)):
    for dtype in ("f32", "f64", "i32", "i64"):
        row("CumSum", f"{dtype}:3x17x4 =[1.]", exclusive=exclusive, reverse=reverse)
row("CumSum", "3x17x4 =[-1.]")

# ---- Selections ------------------------------------------------------------

for dtype in ("f32", "i64", "bool", "u8"):
    row("NonZero", f"{dtype}:3x4x5@-1~1" if dtype in ("f32", "i64") else f"{dtype}:3x4x5@0~1")
row("NonZero", "i32:70@-1~1")
row("Compress", "3x4x5 bool:4", axis=1)
row("Compress", "3x4x5 bool:3", axis=-1)
row("Compress", "3x4x5 bool:50")
row("Compress", "i64:70 bool:70", axis=0)
for is_sorted in (0, 1):
    for dtype in ("f32", "i64", "i8"):
        row("Unique", f"{dtype}:40@-5~5", outputs=4, sorted=is_sorted)
    row("Unique", "i64:3x4x5@0~9", outputs=4, sorted=is_sorted)
    for axis in (0, 1, -1):
        row("Unique", "i64:6x5x2@0~1", outputs=4, sorted=is_sorted, axis=axis)
row("Unique", "i64:40@0~5")
for center in (0, 1):
    row("NonMaxSuppression", "1x30x4@0~1 1x1x30 =[5] =f32:[0.3] =f32:[0.1]", center_point_box=center)
    row("NonMaxSuppression", "2x40x4@0~1 2x3x40 [7] f32:[0.5] f32:[-0.5]", center_point_box=center)
row("NonMaxSuppression", "2x40x4@0~1 2x3x40 =[100] =f32:[0.2]")
row("NonMaxSuppression", "1x10x4@0~1 1x2x10")

for order in (0, 1):
    row("MaxPool", "2x3x7x9", 12, outputs=2, kernel_shape=[3, 2], strides=[2, 1],
        pads=[1, 0, 1, 1], storage_order=order)
row("MaxPool", "2x3x17", 12, outputs=2, kernel_shape=[3], dilations=[2])

# ---- Images of another size ------------------------------------------------

COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
               "half_pixel_symmetric")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
for coordinates, rounding in itertools.product(COORDINATES, ROUNDINGS):
    for sizes in ("=[1,3,9,14]", "=[1,3,3,4]"):
        row("Resize", f"1x3x5x7 - - {sizes}", 19, mode="nearest", nearest_mode=rounding,
            coordinate_transformation_mode=coordinates)
for coordinates, mode in itertools.product(COORDINATES, ("linear", "cubic")):
    for scales in ("=f32:[1,1,2,1.7]", "=f32:[1,1,0.6,0.5]"):
        row("Resize", f"2x3x5x8 - {scales}", 19, mode=mode,
            coordinate_transformation_mode=coordinates)
    row("Resize", "2x3x5x8 - - =[2,3,1,11]", 19, mode=mode,
        coordinate_transformation_mode=coordinates)
for exclude, a in itertools.product((0, 1), (-0.5, -0.75)):
    row("Resize", "1x2x6x7 - =f32:[1,1,1.5,0.8]", 13, mode="cubic", exclude_outside=exclude,
        cubic_coeff_a=a)
row("Resize", "1x2x6x7 =f32:[0,0,0.4,0.6,1,1,0.6,1.2] - =[1,2,3,5]", 13, mode="linear",
    coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0)
for mode, exclude in itertools.product(("linear", "cubic"), (0, 1)):
    for sizes in ("=[1,2,5,6]", "=[1,2,3,30]", "=[1,2,1,14]"):
        row("Resize", f"1x2x12x14 - - {sizes}", 19, mode=mode, antialias=1, exclude_outside=exclude)
    row("Resize", "2x3x12x14 - =f32:[1,1,0.6,0.3]", 18, mode=mode, antialias=1,
        exclude_outside=exclude, coordinate_transformation_mode="align_corners")
row("Resize", "f64:1x2x12x14 - - =[1,2,5,6]", 19, mode="cubic", antialias=1, cubic_coeff_a=-0.5)
row("Resize", "1x2x6x7 - =f32:[2,3]", 18, mode="linear", axes=[2, 3])
row("Resize", "1x2x6x7 - - =[12,21]", 18, mode="nearest", axes=[3, 2])
for policy in ("not_larger", "not_smaller"):
    row("Resize", "1x2x6x8 - - =[9,10]", 18, mode="linear", axes=[2, 3],
        keep_aspect_ratio_policy=policy)
row("Resize", "1x3x5x7 =f32:[] =f32:[1,1,2,2]", 11, mode="nearest", nearest_mode="floor",
    coordinate_transformation_mode="asymmetric")
row("Resize", "i32:1x3x5x7 =f32:[] =f32:[1,1,2,2]", 13, mode="nearest")
row("Resize", "2x9 - - =[2,4]", 13, mode="linear")
row("Resize", "1x2x9 - - =[1,2,20]", 13, mode="linear")
for mode in ("nearest", "linear"):
    row("Resize", "1x3x5x7 =f32:[1,1,2,3]", 10, mode=mode)
    row("Resize", "1x3x6x8 =f32:[1,1,0.5,0.5]", 10, mode=mode)
    row("Upsample", "1x3x5x7 =f32:[1,1,2,3]", 9, mode=mode)
    row("Upsample", "1x3x5x7", 8, mode=mode, scales=[1.0, 1.0, 2.0, 3.0])

# ---- Samples at computed places --------------------------------------------

for mode, padding, corners in itertools.product(("linear", "nearest", "cubic"),
                                                ("zeros", "border", "reflection"), (0, 1)):
    row("GridSample", "2x3x5x7 2x4x6x2@-1.6~1.6", 20, mode=mode, padding_mode=padding,
        align_corners=corners)
row("GridSample", "2x3x5x7 2x4x6x2@-1.6~1.6", 16, mode="bilinear")
row("GridSample", "1x2x3x5x7 1x4x6x2x3@-1.6~1.6", 20, mode="linear")
for coordinates in ("half_pixel", "output_half_pixel"):
    row("RoiAlign", "2x3x9x12 5x4@0~20 i64:5@0~1", 16, output_height=3, output_width=2,
        sampling_ratio=2, spatial_scale=0.5, coordinate_transformation_mode=coordinates)
for ratio in (0, 2):
    row("RoiAlign", "2x3x9x12 5x4@0~20 i64:5@0~1", 10, output_height=3, output_width=2,
        sampling_ratio=ratio, spatial_scale=0.5)
    row("RoiAlign", "2x3x9x12 5x4@0~20 i64:5@0~1", 16, output_height=3, output_width=2,
        sampling_ratio=ratio, spatial_scale=0.5, mode="max")

# ---- Recurrent layers ------------------------------------------------------
# Operands: X W R B sequence_lens initial_h initial_c P.

for direction in ("forward", "reverse", "bidirectional"):
    d = 2 if direction == "bidirectional" else 1
    row("LSTM", f"7x3x5 {d}x40x5 {d}x40x10", 14, outputs=3, hidden_size=10, direction=direction)
    row("LSTM", f"7x3x5 {d}x40x5 {d}x40x10 {d}x80 i32:3@1~7 {d}x3x10 {d}x3x10 {d}x30", 14,
        outputs=3, hidden_size=10, direction=direction)
    row("LSTM", f"7x1x5 {d}x276x5 {d}x276x69 {d}x552", 14, outputs=3, hidden_size=69,
        direction=direction)
    row("RNN", f"7x3x5 {d}x10x5 {d}x10x10 {d}x20 i32:3@0~7 {d}x3x10", 14, outputs=2,
        hidden_size=10, direction=direction)
    for reset in (0, 1):
        row("GRU", f"7x3x5 {d}x30x5 {d}x30x10", 14, outputs=2, hidden_size=10,
            direction=direction, linear_before_reset=reset)
        row("GRU", f"7x3x5 {d}x30x5 {d}x30x10 {d}x60 i32:3@0~7 {d}x3x10", 14, outputs=2,
            hidden_size=10, direction=direction, linear_before_reset=reset)
row("LSTM", "7x3x5 1x40x5 1x40x10 1x80", 14, outputs=3, hidden_size=10, clip=0.3)
row("LSTM", "7x3x5 1x40x5 1x40x10 1x80", 14, outputs=3, hidden_size=10, input_forget=1)
row("LSTM", "f64:7x3x5 f64:1x40x5 f64:1x40x10", 14, outputs=3, hidden_size=10)
row("LSTM", "7x3x5 2x40x5 2x40x10", 14, outputs=3, hidden_size=10, direction="bidirectional",
    activations=["HardSigmoid", "Softsign", "Tanh", "Sigmoid", "Relu", "ScaledTanh"],
    activation_alpha=[0.3, 0.8], activation_beta=[0.4, 0.5])
for name in ("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
             "HardSigmoid", "Elu", "Softsign", "Softplus"):
    row("RNN", "7x3x5 1x10x5 1x10x10", 14, outputs=2, hidden_size=10, activations=[name],
        activation_alpha=[0.7], activation_beta=[0.4])

# ---- Sums of products ------------------------------------------------------

for equation, operands in (
        ("ij,jk->ik", "3x4 4x5"), ("bij,bjk->bik", "2x3x4 2x4x5"), ("bhid,bhjd->bhij",
                                                                   "2x3x4x5 2x3x6x5"),
        ("ij->ji", "3x4"), ("ij->", "3x4"), ("ii->i", "4x4"), ("ii", "4x4"), ("i,j->ij", "3 4"),
        ("ij,ij->i", "3x4 3x4"), ("...ij,...jk->...ik", "2x3x4 4x5"), ("ij,jk,kl", "2x3 3x4 4x5"),
        ("bn,anm,bm->ba", "2x3 4x3x5 2x5"), ("ab,c->b", "2x3 4"), ("bhwc,hkc->bhwk",
                                                                  "2x3x4x5 3x6x5"),
        ("...i->...", "2x3x4"), ("ij, ij -> ij", "3x4 1x4")):
    row("Einsum", operands, equation=equation)
for dtype in ("i8", "u8", "i32"):
    row("Einsum", f"{dtype}:3x4 {dtype}:4x5", equation="ij,jk->ik")
