"""Rows of operators on quantised tensors.

Where integers come out they are ONNX Runtime's, bit for bit. `within=1` stands at the
operators of which its kernels compute the same sum in another order, so that a number
halfway between two integers may fall to either side.
"""

import itertools

from operator_rows import ROWS, row

BYTES = {"i8": "@-128~127", "u8": "@0~255"}
SCALE = "scalar@0.01~0.05"


def data(dtype, shape):
    return f"{dtype}:{shape}{BYTES.get(dtype, '')}"


def zero(dtype, shape="scalar"):
    return f"{dtype}:{shape}" + ("@-20~20" if dtype[0] == "i" else "@100~140")


# ---- To integers and back --------------------------------------------------

SHORTS = {"i8": "@-9~9", "u8": "@-5~14", "i16": "@-2000~2000", "u16": "@-1000~3000"}
for dtype, bounds in SHORTS.items():
    opset = 21 if "16" in dtype else 13
    row("QuantizeLinear", f"3x37{bounds} {SCALE} {zero(dtype)}", opset)
    row("QuantizeLinear", f"3x37{bounds} ={SCALE} ={zero(dtype)}", opset)
    row("DequantizeLinear", f"{dtype}:3x37 {SCALE} {zero(dtype)}", opset)
    row("DequantizeLinear", f"{dtype}:3x37 ={SCALE}", opset)
    for axis in (0, 1, 2, -1):
        size = (3, 17, 5)[axis]
        row("QuantizeLinear", f"3x17x5{bounds} {size}@0.01~0.05 {zero(dtype, size)}", opset,
            axis=axis)
        row("DequantizeLinear", f"{dtype}:3x17x5 {size}@0.01~0.05 {zero(dtype, size)}", opset,
            axis=axis)
    for axis, block, scales in ((0, 2, "2x17x6"), (1, 5, "3x4x6"), (2, 3, "3x17x2")):
        row("QuantizeLinear", f"3x17x6{bounds} {scales}@0.01~0.05 {zero(dtype, scales)}", 21,
            axis=axis, block_size=block)
        row("DequantizeLinear", f"{dtype}:3x17x6 {scales}@0.01~0.05 {zero(dtype, scales)}", 21,
            axis=axis, block_size=block)
row("QuantizeLinear", f"3x37@-9~9 {SCALE}", 10)
row("QuantizeLinear", f"70@-9~9 {SCALE} u8:scalar", 10)
row("QuantizeLinear", "f32:[-0,2.5,3.5,-2.5,1e30,-1e30] =f32:[1] =i8:[0]", 13, axis=0)
row("QuantizeLinear", "f32:[0.5,1.5,2.5,254.5,255.5,256,-0.5] =f32:[1] =u8:[0]", 13, axis=0)
for code in (2, 3, 4, 5):
    row("QuantizeLinear", f"3x37@-9~9 {SCALE}", 21, output_dtype=code)
row("DequantizeLinear", f"i32:3x37 {SCALE}", 10)
row("DequantizeLinear", "i32:3x7 7@0.01~0.05", 13)
row("DequantizeLinear", f"u8:3x37 {SCALE} u8:scalar", 10)
row("DequantizeLinear", f"={data('i8', '80x70')} =70@0.01~0.05", 13)
row("com.microsoft::QuantizeLinear", f"3x37@-9~9 {SCALE} i8:scalar")
row("com.microsoft::DequantizeLinear", f"u8:3x37 {SCALE} u8:scalar")
for shape in ("3x37", "scalar", "2x3x4x5", "1"):
    row("DynamicQuantizeLinear", f"{shape}@-3~5", outputs=3)
row("DynamicQuantizeLinear", "3x37@1~5", outputs=3)
row("DynamicQuantizeLinear", "3x37@-5~-1", outputs=3)
row("DynamicQuantizeLinear", "f32:[0,0,0]", outputs=3)

# ---- Narrow types ----------------------------------------------------------

# Their codes in TensorProto, the first version that has them, and bounds of whole numbers
# that all are exact.
NARROW = {"i4": (22, 21, "@-8~7"), "u4": (21, 21, "@0~15"), "i2": (26, 25, "@-2~1"),
          "u2": (25, 25, "@0~3"), "f4": (23, 23, "@-4~4"), "f8e4m3fn": (17, 21, "@-16~16"),
          "f8e4m3fnuz": (18, 21, "@-16~16"), "f8e5m2": (19, 21, "@-8~8"),
          "f8e5m2fnuz": (20, 21, "@-8~8")}
CORNERS = "f32:[0,-0,nan,inf,-inf,448,464,465,-464,240,248,-249,57344,61440,-61441,1e-9,-0.002]"
for dtype, (code, opset, bounds) in NARROW.items():
    constant = f"={dtype}:3x38{bounds}"
    row("Cast", f"{constant}", opset, to=1)
    row("Cast", f"{constant}", opset, to=10)
    row("CastLike", f"{constant} f64:1", opset)
    row("Transpose", f"{constant}", opset)
    row("DequantizeLinear", f"={dtype}:90x70{bounds} ={SCALE}", opset)
    row("DequantizeLinear", f"{constant} 3@0.1~1", opset, axis=0)
    row("DequantizeLinear", f"{constant} =3x2@0.1~1", opset, axis=1, block_size=19)
    if dtype[0] == "f":
        row("Cast", f"70x9@-7~7", opset, to=code)
        row("Cast", f"f16:70x9@-1~1", opset, to=code)
        row("CastLike", f"70x9@-7~7 ={dtype}:[1]", opset)
    else:
        row("Cast", f"i32:70x9@-99~99", opset, to=code)
        row("DequantizeLinear", f"{constant} ={SCALE} ={dtype}:scalar@0~1", opset)
    row("QuantizeLinear", f"70x9@-9~9 {SCALE} ={dtype}:scalar@0~0", opset)
    row("QuantizeLinear", f"7x9@-9~9 =9@0.1~1", opset, output_dtype=code)
    if dtype.startswith("f8"):
        for saturate in (0, 1):
            row("Cast", CORNERS, opset, to=code, saturate=saturate)
        row("Cast", f"{dtype}:3x38{bounds}", opset, to=1)
POWERS = "f32:[nan,1,1.0000001,1.5,1.4999999,3,0.75,0.9999999,1.2e-38,1.5e38,1.7014118e38]"
for direction, saturate in itertools.product(("up", "down", "nearest"), (0, 1)):
    for x in ("70x9@0.01~900", "f16:7x9@0.01~3", "f64:7x9@1~9", POWERS):
        row("Cast", x, 24, to=24, round_mode=direction, saturate=saturate)
row("CastLike", "70x9@0.01~900 =f8e8m0:[1]", 24)
row("Cast", "=f8e8m0:3x38@1~9", 24, to=1)
row("DequantizeLinear", "=f4:3x38@-4~4 =f8e8m0:3x2@1~4", 24, axis=1, block_size=19, output_dtype=1)

# ---- Products --------------------------------------------------------------

MATRICES = [("5x37", "37x19"), ("1x64", "64x64"), ("7x3", "3x130"), ("2x3x9x21", "21x70"),
            ("2x3x4x5", "2x3x5x6"), ("33x130", "130x65"), ("3x1x4x8", "2x8x6"),
            ("37", "37x19"), ("9", "2x9x5"), ("2x3x9", "9")]
for (a, b), (left, right) in itertools.product(itertools.product(BYTES, BYTES), MATRICES):
    lhs, rhs = data(a, left), data(b, right)
    row("MatMulInteger", f"{lhs} ={rhs}", 10)
    row("MatMulInteger", f"{lhs} ={rhs} ={zero(a)} ={zero(b)}", 10)
    row("MatMulInteger", f"{lhs} {rhs} {zero(a)} {zero(b)}", 10)
    kinds = (a, b, SCALE, zero(a), zero(b))
    if (a, b) != ("i8", "u8"):  # the one pair that ONNX Runtime lacks
        result = f"=scalar@0.4~0.8 ={zero(a)}"
        row("QLinearMatMul", f"{lhs} ={SCALE} ={zero(a)} ={rhs} ={SCALE} ={zero(b)} {result}", 10)
        row("QLinearMatMul", f"{lhs} {SCALE} {zero(a)} {rhs} {SCALE} {zero(b)} {result}", 10)
for b in BYTES:
    row("MatMulInteger", f"{data('u8', '5x37')} ={data(b, '37x19')} {zero('u8')} ={zero(b, 19)}", 10)
    row("QLinearMatMul", f"{data('u8', '5x37')} ={SCALE} ={zero('u8')} ={data(b, '37x19')}"
        f" =19@0.01~0.05 ={zero(b, 19)} =scalar@0.4~0.8 ={zero('u8')}", 10)
    for bias in ("", " 19", " =19"):
        row("com.microsoft::DynamicQuantizeMatMul", f"5x37@-3~3 ={data(b, '37x19')}"
            f" ={SCALE} ={zero(b)}{bias}")
        row("com.microsoft::MatMulIntegerToFloat", f"{data('u8', '5x37')} ={data(b, '37x19')}"
            f" {SCALE} =19@0.01~0.05 {zero('u8')} ={zero(b, 19)}{bias}")
for b, scale in itertools.product(BYTES, ("=scalar@0.01~0.05", "=24@0.01~0.05")):
    columns = 24 if "24" in scale else "scalar"
    quantised = f"{data('u8', '2x5x7')} ={data(b, '7x24')} =24 {SCALE} {scale}"
    points = f"{zero('u8')} ={zero(b, columns)}"
    for mask in ("-", "i32:2@1~5", "i32:2x5@0~1"):
        row("com.microsoft::QAttention", f"{quantised} {mask} {points}", num_heads=2)
    row("com.microsoft::QAttention", f"{quantised} - {points}", num_heads=2, unidirectional=1)
    row("com.microsoft::QAttention", f"{quantised} - {points} 2x2x2x3x4@-2~2", outputs=2,
        num_heads=2, unidirectional=1)
# One zero point for each matrix and column, or each matrix and row.
for b in BYTES:
    operands = f"{data('u8', '2x3x4x5')} {data(b, '2x3x5x6')}"
    row("MatMulInteger", f"{operands} {zero('u8')} {zero(b, '2x3x1x6')}", 10)
    row("MatMulInteger", f"{operands} {zero('u8', '2x3x4x1')} {zero(b, '1x3x1x6')}", 10)
for trans, bias in itertools.product((0, 1), ("-", "i32:19", "=i32:19")):
    left, right = (("37x5", "19x37") if trans else ("5x37", "37x19"))
    row("com.microsoft::QGemm", f"{data('u8', left)} ={SCALE} ={zero('u8')} ={data('i8', right)}"
        f" =19@0.01~0.05 =i8:19@0~0 {bias} =scalar@0.4~0.8 ={zero('u8')}", transA=trans,
        transB=trans)
    row("com.microsoft::QGemm", f"{data('i8', left)} ={SCALE} ={zero('i8')} ={data('i8', right)}"
        f" ={SCALE} =i8:scalar@0~0 {bias}", transA=trans, transB=trans, alpha=0.5)

IMAGES = [("1x3x9x11", "8x3x3x3", dict(pads=[1, 1, 1, 1])),
          ("2x8x7x7", "70x8x1x1", {}),
          ("1x16x8x9", "16x16x3x3", dict(pads=[1, 1, 1, 1], strides=[2, 2])),
          ("1x12x9x9", "24x1x3x3", dict(pads=[1, 1, 1, 1], group=12)),
          ("1x12x9x9", "12x1x3x3", dict(pads=[1, 1, 1, 1], group=12)),
          ("1x8x9x9", "6x4x3x3", dict(group=2, dilations=[2, 2])),
          ("1x5x20", "7x5x4", dict(auto_pad="SAME_UPPER")),
          ("1x3x5x6x7", "5x3x3x3x3", dict(pads=[1, 0, 1, 1, 0, 1]))]
for (image, weight, attributes), x, w in itertools.product(IMAGES, BYTES, BYTES):
    outputs = weight.split("x")[0]
    weights = f"={data(w, weight)}"
    if x == "u8":
        row("ConvInteger", f"{data(x, image)} {weights}", 10, **attributes)
        row("ConvInteger", f"{data(x, image)} {weights} {zero(x)} ={zero(w)}", 10, **attributes)
    if (x, w) == ("i8", "u8"):
        continue
    for zeros in (f"={zero(x)}", f"={x}:scalar@0~0"):
        row("QLinearConv", f"{data(x, image)} ={SCALE} {zeros} {weights} ={outputs}@0.01~0.05"
            f" ={w}:{outputs}" + ("@0~0" if w == "i8" else "@128~128") +
            f" =scalar@0.4~0.8 ={zero(x)} =i32:{outputs}@-900~900", 10, **attributes)
    row("QLinearConv", f"{data(x, image)} {SCALE} {zero(x)} {data(w, weight)} {SCALE} {zero(w)}"
        f" scalar@0.4~0.8 {zero(x)}", 10, **attributes)

# ---- Other operators -------------------------------------------------------

for dtype in BYTES:
    def operand(shape, constant=""):
        return f"{constant}{data(dtype, shape)} ={SCALE} ={zero(dtype)}"

    result = f"=scalar@0.03~0.06 ={zero(dtype)}"
    for op in ("QLinearAdd", "QLinearMul"):
        for left, right in (("3x17", "3x17"), ("3x17", "17"), ("2x1x4", "3x1"), ("5", "scalar")):
            row(f"com.microsoft::{op}", f"{operand(left)} {operand(right)} {result}", within=1)
            row(f"com.microsoft::{op}", f"{operand(left)} {operand(right, '=')} {result}",
                within=1)
    row("com.microsoft::QLinearSigmoid", f"{operand('3x37')} =scalar@0.003~0.004 ={zero(dtype)}")
    row("com.microsoft::QLinearLeakyRelu", f"{operand('3x37')} {result}", alpha=0.1)
    row("com.microsoft::QLinearConcat", f"{result} {operand('3x5')} {operand('3x7')}", axis=1)
    row("com.microsoft::QLinearConcat", f"{result} {operand('2x5')} {operand('3x5', '=')}",
        axis=0)
    row("com.microsoft::QLinearWhere", f"bool:3x17 {operand('3x17')} {operand('17')} {result}")
    for last in (0, 1):
        row("com.microsoft::QLinearGlobalAveragePool", f"{operand('2x5x7x6')} {result}",
            within=1, channels_last=last)
        row("com.microsoft::QLinearAveragePool", f"{operand('1x5x8x9')} {result}", within=1,
            channels_last=last, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for axis in (0, 1, -1):
        # Its attribute 'opset' is no argument of `row`.
        ROWS.append(("com.microsoft::QLinearSoftmax", f"{operand('4x5x6')} =scalar@0.003~0.004"
                     f" ={dtype}:scalar@0~0", dict(axis=axis, opset=13), 18, 1, 1))

# ---- Weights of few bits ---------------------------------------------------

for bits, k, n, block in ((4, 64, 7, 16), (4, 100, 33, 32), (4, 256, 80, 32), (8, 70, 5, 16),
                          (2, 128, 9, 64)):
    blocks = -(-k // block)
    few = {"K": k, "N": n, "bits": bits, "block_size": block}
    weight = f"=u8:{n}x{blocks}x{block * bits // 8}@0~255 ={n}x{blocks}@0.01~0.1"
    packed = f"=u8:{n}x{-(-blocks * bits // 8)}@0~255"
    row("com.microsoft::MatMulNBits", f"3x{k} {weight}", **few)
    row("com.microsoft::MatMulNBits", f"2x3x{k} {weight} {packed}", **few)
    row("com.microsoft::MatMulNBits", f"3x{k} {weight} - - ={n}", **few)
row("com.microsoft::MatMulNBits", "3x64 =u8:7x4x8@0~255 =7x4@0.01~0.1 =7x4@1~9", K=64, N=7,
    bits=4, block_size=16)
row("com.microsoft::MatMulNBits", "3x64 =u8:7x4x8@0~255 =7x4@0.01~0.1 - =i32:64@0~3", K=64, N=7,
    bits=4, block_size=16)
