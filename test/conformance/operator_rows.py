"""The rows of operators.py: (operator, operands, attributes, opset, outputs, within).

operators.py says how operands are written. An operator of another domain is written as
`lumenc --operators` lists it, domain::name; the opset is that of the default domain.
`outputs` is how many are asked for, or which; integers may differ by `within`. Rows that
differ only in a value are made by loops; everything else stands as it is.
"""

import numpy as np
from onnx import numpy_helper

ROWS = []


def row(op, operands, opset=18, outputs=1, within=0, **attributes):
    ROWS.append((op, operands, attributes, opset, outputs, within))


# ---- Elementwise -----------------------------------------------------------

# Any real number is allowed; signs and magnitudes matter.
for op in ("Abs Atan Asinh Ceil Celu Cos Elu Erf Exp Floor HardSigmoid Identity LeakyRelu Neg"
           " Relu Round Selu Shrink Sigmoid Sign Sin Softplus Softsign Tanh ThresholdedRelu"
           " HardSwish Mish Cosh Sinh").split():
    row(op, "3x17@-4~4")
    row(op, "1x2x3x33@-4~4")
    row(op, "scalar@-4~4")
for op, bounds in {"Acos": "-0.99~0.99", "Asin": "-0.99~0.99", "Atanh": "-0.99~0.99",
                   "Acosh": "1.1~9", "Log": "0.01~9", "Sqrt": "0~9", "Reciprocal": "0.2~5",
                   "Tan": "-1.4~1.4"}.items():
    row(op, f"2x37@{bounds}")
    row(op, f"65@{bounds}")
row("Gelu", "3x17@-4~4", 20)
row("Gelu", "3x17@-4~4", 20, approximate="tanh")
row("Swish", "3x17@-4~4", 24)
row("Swish", "3x17@-4~4", 24, alpha=1.5)
row("SwiGLU", "3x17@-4~4 3x17", 28)
row("SwiGLU", "f64:3x17@-4~4 f64:3x17", 28, alpha=1.5)
row("Elu", "40@-3~3", alpha=0.5)
row("Celu", "40@-3~3", alpha=2.0)
row("LeakyRelu", "40@-3~3", alpha=0.3)
row("Selu", "40@-3~3", alpha=1.2, gamma=0.7)
row("HardSigmoid", "40@-3~3", alpha=0.4, beta=0.3)
row("ThresholdedRelu", "40@-3~3", alpha=0.4)
row("Shrink", "40@-3~3", bias=0.2, lambd=1.0)
for op in ("Abs", "Neg", "Sign"):
    for dtype in ("f64", "i8", "i32", "i64"):
        row(op, f"{dtype}:3x19")
for op in ("Exp", "Log", "Sqrt", "Sigmoid", "Tanh", "Relu", "Floor", "Ceil", "Round", "Erf"):
    row(op, "f64:5x7@0.1~3")
row("Relu", "i32:40")
row("IsNaN", "f32:[nan,0,inf,-inf,1]")
for positive, negative in ((1, 1), (1, 0), (0, 1), (0, 0)):
    row("IsInf", "f32:[nan,0,inf,-inf,1]", 20, detect_positive=positive, detect_negative=negative)
row("Not", "bool:3x17")

BROADCASTS = ["3x17 3x17", "3x17 17", "3x17 1x17", "3x17 3x1", "3x17 scalar", "scalar 3x17",
              "17 3x1", "2x1x4 3x1", "1x3x1x5 2x1x4x1", "2x3x4x5 3x1x1", "2x3x4x5 =3x1x1",
              "=5 2x3x4x5", "1 65", "2x1x3x1x2 4x1x2x1", "2x3x33 2x1x33", "scalar scalar"]


def typed(dtype, operands, bounds=""):
    """The operands with a type and bounds put at each."""
    return " ".join(("=" if word[0] == "=" else "") + f"{dtype}:{word.lstrip('=')}{bounds}"
                    for word in operands.split())


for op in ("Add", "Sub", "Mul", "Max", "Min"):
    for operands in BROADCASTS:
        row(op, operands)
for operands in ("2x3x4 4", "2x3x4 3x1", "2x3x4x5 =3x1x1", "3x17 =scalar", "2x3 =1", "8 8"):
    row("PRelu", operands)
for operands in BROADCASTS:
    row("Div", typed("f32", operands, "@0.5~3"))
for op in ("Add", "Sub", "Mul", "Max", "Min"):
    for dtype in ("f64", "i32", "i64"):
        row(op, typed(dtype, "3x17 17"))
        row(op, typed(dtype, "2x1x4 3x1"))
for op in ("Max", "Min"):
    for dtype in ("i8", "u8", "u32", "u64"):
        row(op, typed(dtype, "3x17 17"))
row("Div", "i32:3x17 i32:17@1~9")
row("Div", "i64:3x17 i64:17@-9~-1")
row("Div", "f64:3x17 f64:17@1~9")
for op in ("Max", "Min", "Sum", "Mean"):
    row(op, "3x17")
    row(op, "3x17 17 3x1")
    row(op, "2x1x4 3x1 scalar =4")
row("Pow", "3x17@0.1~3 17@-2~2")
for exponent in ("0", "1", "2", "3", "0.5", "-1", "-2", "1.5"):
    row("Pow", f"3x17@0.1~3 =f32:[{exponent}]")
row("Pow", "3x17@-3~3 =f32:[2]")
row("Pow", "3x17@-3~3 =i64:[3]")
row("Pow", "i64:3x17@0~9 =i64:[2]")
row("Pow", "i32:3x17@0~9 i32:17@0~4")
row("Pow", "f64:3x17@0.1~3 f64:17@-2~2")
for op in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"):
    for dtype, bounds in (("f32", ""), ("f64", ""), ("i32", "@0~3"), ("i64", "@0~3")):
        row(op, typed(dtype, "3x17 17", bounds))
    row(op, typed("f32", "2x1x4 3x1"))
    row(op, "f32:[nan,1,inf,0] f32:[nan,1,inf,-0]")
row("Equal", "bool:3x17 bool:17")
for op in ("And", "Or", "Xor"):
    row(op, "bool:3x17 bool:17")
    row(op, "bool:2x1x4 bool:3x1")
for dtype in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"):
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        row(op, typed(dtype, "3x17 17"))
    row("BitwiseNot", f"{dtype}:3x17")
    row("Mod", f"{dtype}:3x17 {dtype}:17@1~9")
    row("Mod", f"{dtype}:3x17 {dtype}:17@1~9", fmod=1)
for dtype in ("u8", "u32", "u64"):
    for direction in ("LEFT", "RIGHT"):
        row("BitShift", f"{dtype}:3x17 {dtype}:17@0~7", direction=direction)
for dtype in ("i8", "i32", "i64"):
    row("Mod", f"{dtype}:3x17 {dtype}:17@-9~-1")
    row("Mod", f"{dtype}:3x17 {dtype}:17@-9~-1", fmod=1)
row("Mod", "3x17@-9~9 17@1~3", fmod=1)
row("Mod", "f64:3x17@-9~9 f64:17@-3~-1", fmod=1)
for dtype in ("f32", "f64", "i32", "i64", "u8"):
    row("Where", f"bool:3x17 {dtype}:3x17 {dtype}:17")
    row("Where", f"bool:3x1 {dtype}:17 {dtype}:scalar")
row("Clip", "3x17@-3~3 =f32:[-1.] =f32:[2.]")
row("Clip", "3x17@-3~3 scalar@-1~-0.5 scalar@0.5~1")
row("Clip", "3x17@-3~3 - scalar@0.5~1")
row("Clip", "3x17@-3~3 =scalar@-1~-0.5")
row("Clip", "i32:3x17 =i32:[-20.] =i32:[30.]")
row("Clip", "3x17@-3~3", 9, min=-0.5, max=0.75)

FLOATS, NUMBERS = ("f32", "f64"), ("f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32",
                                   "u64", "bool")
CODES = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "bool": 9, "f64": 11,
         "u32": 12, "u64": 13}
for source in NUMBERS:
    for target in NUMBERS:
        # Fractions are cut towards zero; what does not fit is not defined.
        bounds = "" if source == "bool" else "@0~99.7" if source in FLOATS else "@0~99"
        row("Cast", f"{source}:3x17{bounds}", to=CODES[target])
row("Cast", "3x17@-99~99", to=CODES["i32"])
row("Cast", "3x17@-99~99", to=CODES["i8"])
row("Cast", "f64:3x17@-99~99", to=CODES["i64"])
row("CastLike", "3x17@-99~99 i32:2", 15)
row("CastLike", "i64:3x17 f32:2", 15)

for source, target in (("f32", "u32"), ("i32", "f32"), ("u8", "i8"), ("f64", "i64"), ("u64", "f64"),
                       ("i16", "u16"), ("bool", "u8"), ("f32", "f32")):
    row("BitCast", f"{source}:3x17", 26, to=CODES[target])

# ---- Reductions and normalisations -----------------------------------------

REDUCTIONS = ("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin"
              " ReduceProd ReduceSum ReduceSumSquare").split()
for op in REDUCTIONS:
    for operands in ("3x17 =[1]", "3x17 =[0]", "3x17", "2x3x4x5 =[1,3]", "2x3x4x5 =[0,2]",
                     "2x3x33 =[-2]", "2x1x5 =[1]", "100 =[0]", "2x3x4x5 =[1,2,3]"):
        words = operands.split()
        words[0] += "@0.5~1.5"
        for keepdims in (0, 1):
            row(op, " ".join(words), keepdims=keepdims)
    row(op, "3x17@0.5~1.5", noop_with_empty_axes=1)
    row(op, "2x3x4@0.5~1.5", 13 if op != "ReduceSum" else 11, axes=[0, 2])
for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"):
    for dtype in ("f64", "i32", "i64"):
        row(op, f"{dtype}:3x7@1~3 =[1]")
for op in ("ReduceMax", "ReduceMin"):
    for dtype in ("i8", "u8"):
        row(op, f"{dtype}:3x70 =[1]")
for op in ("ArgMax", "ArgMin"):
    for axis in (0, 1, -1):
        for keepdims in (0, 1):
            row(op, "3x4x17", axis=axis, keepdims=keepdims)
    for last in (0, 1):
        row(op, "i32:3x40@0~2", axis=1, select_last_index=last)
        row(op, "f64:40x3@0~1", axis=0, select_last_index=last)
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    for axis in (0, 1, 2, -1):
        row(op, "3x4x17@-9~9", 13, axis=axis)
        row(op, "3x4x17@-9~9", 11, axis=axis)
    row(op, "2x3x5x33", 13)
for axis in (0, 1, 2, -1):
    shape = "x".join("3x4x17".split("x")[axis:])
    row("LayerNormalization", f"3x4x17 {shape} {shape}", axis=axis)
row("LayerNormalization", "3x65 65", epsilon=0.01)
row("RMSNormalization", "3x4x17 17", 23)
row("RMSNormalization", "3x4x17 4x17", 23, axis=1)
for operands in ("2x3x5 3 3", "2x4x5x6 4 4", "1x17x2x3x4 17 17"):
    row("InstanceNormalization", operands)
    x, channels, _ = operands.split()
    row("BatchNormalization", f"{x} {channels} {channels} {channels} {channels}@0.5~2")
    row("BatchNormalization", f"{x} ={channels} ={channels} ={channels} ={channels}@0.5~2")
row("BatchNormalization", "7x5 5 5 5 5@0.5~2", epsilon=0.01)
for x, sample in (("7x5", "5"), ("2x3x5", "3x5"), ("3x2x4x5", "2x4x5")):
    row("BatchNormalization", f"{x} {sample} {sample} {sample} {sample}@0.5~2", 8, spatial=0)
for shape in ("7x5", "2x5x6", "3x5x4x6"):
    row("BatchNormalization", f"{shape} 5 5 5 5@0.5~2", 15, outputs=3, training_mode=1,
        momentum=0.7)
row("LayerNormalization", "3x4x17 17 17", stash_type=11)
for groups in (1, 2, 6):
    row("GroupNormalization", "2x6x5x7 6 6", 21, num_groups=groups)
for p in (1, 2):
    for axis in (0, 1, -1):
        row("LpNormalization", "3x4x17", axis=axis, p=p)
row("MeanVarianceNormalization", "2x3x4x5")
row("MeanVarianceNormalization", "2x3x4x5", axes=[1, 3])
for size in (1, 2, 3, 5, 6):
    row("LRN", "2x7x3x5", size=size)
row("LRN", "2x33x5x4", size=5, alpha=0.5, beta=0.6, bias=2.0)
for op, opset in (("CumSum", 14), ("CumProd", 26)):
    for axis in (0, 1, -1):
        for exclusive, reverse in ((0, 0), (0, 1), (1, 0), (1, 1)):
            row(op, f"3x4x17@0.5~1.5 =[{axis}.]", opset, exclusive=exclusive, reverse=reverse)
row("CumSum", "i32:3x40 =[1.]")
row("CumSum", "i64:40 =[0.]")

# ---- Contractions ----------------------------------------------------------

for a, b in (("3x5", "5x7"), ("17x64", "64x65"), ("1x33", "33x1"), ("2x3x5", "5x7"),
             ("2x3x5", "2x5x7"), ("4x1x3x5", "2x5x7"), ("3x5", "2x5x7"), ("5", "5x7"),
             ("3x5", "5"), ("5", "5"), ("2x3x5", "5"), ("5", "2x5x7"), ("33x513", "513x17"),
             ("1x1", "1x1"), ("2x1x5", "1x5x3")):
    row("MatMul", f"{a} {b}")
    row("MatMul", f"{a} ={b}")
row("MatMul", "=3x5 5x70")
for dtype in ("f64", "i32", "i64", "u32"):
    row("MatMul", f"{dtype}:3x5 {dtype}:5x17")
for constant in ("", "="):
    for ta in (0, 1):
        for tb in (0, 1):
            a = "5x33" if ta else "33x5"
            b = "70x5" if tb else "5x70"
            row("Gemm", f"{a} {constant}{b}", transA=ta, transB=tb)
            row("Gemm", f"{a} {constant}{b} {constant}70", transA=ta, transB=tb)
for c in ("33x70", "70", "1x70", "33x1", "1", "scalar", "1x1"):
    row("Gemm", f"33x5 5x70 {c}", alpha=0.5, beta=-2.0)
row("Gemm", "33x5 5x70 70", alpha=2.0, beta=0.0)
row("Gemm", "f64:33x5 f64:5x70 f64:70")

for dtype in ("f32", "f64"):
    for shape in ("1x1", "2x2", "3x3", "2x4x4", "2x3x5x5", "17x17"):
        row("Det", f"{dtype}:{shape}")
row("Det", "f32:2x3x3@1~1")

# ---- Convolutions and windows ----------------------------------------------

for x, w, attributes in (
        ("1x3x9x9", "4x3x3x3", {}), ("2x3x9x9", "8x3x3x3", dict(pads=[1, 1, 1, 1])),
        ("1x16x7x7", "33x16x1x1", {}), ("1x16x9x9", "16x16x3x3", dict(strides=[2, 2])),
        ("1x5x9x17", "7x5x3x2", dict(pads=[0, 1, 2, 0])),
        ("1x3x11x11", "4x3x3x3", dict(dilations=[2, 2])),
        ("1x3x11x13", "4x3x3x3", dict(dilations=[2, 3], strides=[1, 2], pads=[2, 1, 0, 3])),
        ("1x8x9x9", "8x1x3x3", dict(group=8, pads=[1, 1, 1, 1])),
        ("1x8x9x9", "16x1x3x3", dict(group=8)), ("1x8x9x9", "8x2x3x3", dict(group=4)),
        ("1x6x9x9", "9x2x3x3", dict(group=3, strides=[2, 1])),
        ("1x17x5x5", "17x1x5x5", dict(group=17, pads=[2, 2, 2, 2], strides=[2, 2])),
        ("2x3x33", "5x3x3", {}), ("2x3x33", "5x3x4", dict(strides=[2], pads=[1, 2])),
        ("2x4x33", "4x1x3", dict(group=4, dilations=[2])),
        ("1x2x5x6x7", "3x2x2x3x2", {}),
        ("1x2x5x6x7", "4x1x3x3x3", dict(group=2, pads=[1, 1, 1, 1, 1, 1])),
        ("1x1x20x90", "1x1x3x3", dict(pads=[1, 1, 1, 1])),
        ("1x3x9x10", "4x3x3x3", dict(auto_pad="SAME_UPPER", strides=[2, 2])),
        ("1x3x9x10", "4x3x4x4", dict(auto_pad="SAME_LOWER", strides=[2, 3])),
        ("1x3x9x10", "4x3x3x3", dict(auto_pad="VALID"))):
    row("Conv", f"{x} ={w}", **attributes)
    row("Conv", f"{x} ={w} ={w.split('x')[0]}", **attributes)
    row("Conv", f"{x} {w} {w.split('x')[0]}", **attributes)
for x, w, attributes in (
        ("1x3x5x5", "3x4x3x3", {}), ("1x3x5x5", "3x4x3x3", dict(strides=[2, 2])),
        ("1x3x5x6", "3x4x3x3", dict(strides=[2, 2], pads=[1, 1, 1, 1],
                                    output_padding=[1, 1])),
        ("1x4x5x5", "4x2x3x3", dict(group=2, strides=[2, 1])),
        ("1x3x5x5", "3x4x3x3", dict(dilations=[2, 2])),
        ("2x3x9", "3x5x4", dict(strides=[3], pads=[1, 0])),
        ("1x3x5x5", "3x4x2x2", dict(strides=[2, 2])),
        ("1x3x5x5", "3x4x3x3", dict(strides=[2, 2], auto_pad="SAME_UPPER"))):
    row("ConvTranspose", f"{x} ={w}", **attributes)
    features = int(w.split("x")[1]) * attributes.get("group", 1)
    row("ConvTranspose", f"{x} {w} {features}", **attributes)
WINDOWS = [("1x3x9x9", dict(kernel_shape=[2, 2], strides=[2, 2])),
           ("1x3x9x9", dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])),
           ("2x17x7x8", dict(kernel_shape=[3, 2], pads=[1, 0, 1, 1])),
           ("1x1x9x9", dict(kernel_shape=[3, 3])),
           ("1x1x5x90", dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])),
           ("1x1x3x200", dict(kernel_shape=[1, 3])), ("1x1x100", dict(kernel_shape=[3])),
           ("1x1x9x70", dict(kernel_shape=[3, 3], strides=[2, 2])),
           ("2x3x33", dict(kernel_shape=[4], strides=[3], pads=[1, 2])),
           ("1x2x5x6x7", dict(kernel_shape=[2, 3, 2])),
           ("1x3x9x10", dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")),
           ("1x3x9x10", dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER")),
           ("1x3x9x10", dict(kernel_shape=[3, 3], auto_pad="VALID"))]
CEILED = [("1x3x10x10", dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)),
          ("1x1x10x90", dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)),
          ("1x3x8x9", dict(kernel_shape=[2, 3], strides=[3, 2], pads=[0, 1, 1, 1], ceil_mode=1))]
for x, attributes in WINDOWS + CEILED:
    row("MaxPool", x, **attributes)
    row("AveragePool", x, 19, **attributes)
for x, attributes in WINDOWS:
    row("AveragePool", x, 19, count_include_pad=1, **attributes)
    row("LpPool", x, 18, **attributes)
row("LpPool", "1x3x9x9", p=1, kernel_shape=[3, 3])
row("MaxPool", "1x3x11x11", kernel_shape=[3, 3], dilations=[2, 3])
row("MaxPool", "1x1x11x90", kernel_shape=[3, 3], dilations=[2, 3])
for dtype in ("f64", "i8", "u8"):
    row("MaxPool", f"{dtype}:1x3x9x9", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    for x in ("2x3x5x7", "1x17x33", "1x1x70", "1x2x3x4x5"):
        row(op, x)

# ---- Movement --------------------------------------------------------------

for dtype in ("f32", "f64", "i64", "u8", "bool"):
    for perm in ([0, 2, 1], [2, 1, 0], [1, 2, 0]):
        row("Transpose", f"{dtype}:3x5x17", perm=perm)
    row("Concat", f"{dtype}:3x5 {dtype}:3x2", axis=1)
    row("Slice", f"{dtype}:9x17 =[1,-1] =[8,-100] =[0,1] =[2,-3]")
    row("Gather", f"{dtype}:3x5x4 =[0,-1,2]", axis=1)
    row("Tile", f"{dtype}:3x5 =[2,3]")
    row("Expand", f"{dtype}:3x1 =[2,3,5]")
    row("Reshape", f"{dtype}:3x10 =[5,-1]")
    row("Pad", f"{dtype}:3x5 =[1,0,0,2]")
row("Transpose", "3x5x17")
row("Transpose", "2x3x4x5", perm=[0, 2, 3, 1])
row("Transpose", "2x3x4x5", perm=[0, 3, 1, 2])
row("Transpose", "16x16", perm=[1, 0])
row("Transpose", "2x1x3x1x5x2", perm=[5, 3, 1, 4, 0, 2])
row("Concat", "3x5 1x5 4x5", axis=0)
row("Concat", "2x3x4 2x3x1 =2x3x2", axis=-1)
row("Concat", "5 7 =3", axis=0)
row("Concat", "2x3", axis=0)
row("Split", "3x10 =[3,3,4]", outputs=3, axis=1)
row("Split", "10x3 =[1,9]", outputs=2, axis=-2)
row("Split", "3x10", 18, outputs=4, axis=1, num_outputs=4)
row("Split", "3x10", 13, outputs=2, axis=1)
row("Split", "3x10", 11, outputs=2, axis=1, split=[4, 6])
for starts, ends, axes, steps in (("0", "5", "0", "1"), ("-3", "100", "1", "1"),
                                  ("-1", "-100", "1", "-1"), ("1,2", "8,15", "0,1", "2,3"),
                                  ("7,16", "0,-100", "-2,-1", "-2,-5"),
                                  ("2", "2147483647", "1", "4")):
    row("Slice", f"9x17 =[{starts}] =[{ends}] =[{axes}] =[{steps}]")
row("Slice", "2x3x4x5 =[1,0] =[2,2]")
row("Slice", "9x17", 9, starts=[1, -5], ends=[7, 100], axes=[0, 1])
for mode in ("constant", "edge", "reflect", "wrap"):
    opset = 19 if mode == "wrap" else 18
    for pads in ("1,0,0,2", "2,4,2,4", "0,3,0,0"):
        row("Pad", f"3x5 =[{pads}]", opset, mode=mode)
    row("Pad", "2x3x4x5 =[0,0,1,2,0,0,3,1]", opset, mode=mode)
    row("Pad", "70 =[20,33]", opset, mode=mode)
# A crop of more than there is takes away padding of the other side too.
for pads in ("-10,20", "3,-5", "-4,6", "-6,3", "7,-9", "-1,2"):
    row("Pad", f"4 =[{pads}]")
row("Pad", "3x4 =[-4,1,6,-2]")
# Positions in long rows are beyond what f32 and products of 32 bits can count.
for mode in ("reflect", "wrap"):
    for pads in ("5,9,7,2", "0,30,0,0", "2,0,11,17"):
        row("Pad", f"3x4 =[{pads}]", 19, mode=mode)
        row("Pad", f"3x4 [{pads}]", 19, mode=mode)
    row("Pad", "3x1 =[0,2,4,3]", 19, mode=mode)
row("Pad", "1x1100001 =[0,5,0,5]", mode="reflect")
row("Pad", "3000000 =[5,5]", mode="reflect")
row("Pad", "5000000 =[5,5]", 19, mode="wrap")
row("Pad", "3x5 =[1,0,0,2] =f32:[7.]")
row("Pad", "3x5 =[-1,1,0,-2]")
row("Pad", "2x3x4x5 =[1,2,0,1] - =[1,3]", 18)
row("Pad", "3x5", 10, mode="constant", pads=[1, 0, 0, 2], value=0.5)
for indices in ("[1.]", "[1]", "[0,2,-1]", "i64:2x2@-3~2", "i32:4@-3~2"):
    for axis in (0, 1, 2):
        row("Gather", f"3x3x3 {indices}", axis=axis)
        row("Gather", f"3x3x3 ={indices}", axis=axis)
row("Expand", "scalar =[3,4]")
row("Expand", "3x1x5 =[1,4,1]")
row("Expand", "1 =[70]")
row("Tile", "2x3x4 =[1,2,3]")
row("Tile", "5 =[7]")
row("Tile", "3x5 =[1,1]")
row("Reshape", "2x3x4 =[0,-1]")
row("Reshape", "2x3x4 =[24]")
row("Reshape", "2x3x4 =[4,1,3,2]")
row("Reshape", "1 =i64:[]")
for axis in (0, 1, 2, -1):
    row("Flatten", "2x3x4", axis=axis)
row("Squeeze", "1x3x1x5")
row("Squeeze", "1x3x1x5 =[0]")
row("Squeeze", "1x3x1x5 =[-2]")
row("Squeeze", "1x3x1x5", 11, axes=[0, 2])
row("Unsqueeze", "3x5 =[0]")
row("Unsqueeze", "3x5 =[1,-1]")
row("Unsqueeze", "3x5", 11, axes=[0, 3])
for block in (1, 2, 3):
    row("SpaceToDepth", "2x3x6x12", blocksize=block)
    for mode in ("DCR", "CRD"):
        row("DepthToSpace", "2x36x2x3", blocksize=block, mode=mode)
for axis in (-1, 0, 1):
    row("OneHot", "i64:3x4@-5~5 =[6.] =f32:[0.25,2]", axis=axis)
row("OneHot", "i32:9@-8~8 =[5.] =i32:[0,1]")
for upper in (0, 1):
    row("Trilu", "5x7", upper=upper)
    for k in (-3, -1, 1, 2, 30):
        row("Trilu", f"2x5x7 =[{k}.]", upper=upper)
row("EyeLike", "4x6")
row("EyeLike", "i64:4x6", k=1)
row("EyeLike", "6x4", k=-2, dtype=11)
row("Shape", "2x3x4", 15)
row("Shape", "2x3x4", 15, start=1)
row("Shape", "2x3x4", 15, start=-2, end=-1)
row("Size", "2x3x4")
row("ConstantOfShape", "=[2,3]")
row("Range", "=[1.] =[9.] =[2.]")
row("Range", "=f32:[1.] =f32:[-9.] =f32:[-2.]")
row("Dropout", "3x17")
row("Dropout", "3x17 =f32:[0.] =bool:[0.]")

# Attributes that are tensors.
row("Constant", "", value=numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3)))
row("Constant", "", value_float=2.5)
row("Constant", "", value_ints=[1, -2, 3])
row("ConstantOfShape", "=[4]", value=numpy_helper.from_array(np.array([7], np.int64)))
