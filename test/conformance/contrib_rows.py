"""Rows of operators of ONNX Runtime's own domain, com.microsoft: fused forms of others."""

from math import erf

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from operator_rows import row as any_row

DOMAIN = "com.microsoft"


def row(op, operands, outputs=1, **attributes):
    any_row(f"{DOMAIN}::{op}", operands, 18, outputs, **attributes)


# ---- Where ONNX Runtime has no kernel for CPUs ------------------------------


class BiasAdd(OpRun):
    op_domain = DOMAIN

    def _run(self, x, bias, skip):
        return (x + bias + skip,)


class BiasSplitGelu(OpRun):
    op_domain = DOMAIN

    def _run(self, x, bias):
        left, right = np.split(x.astype(np.float64) + bias, 2, axis=-1)
        gate = right * 0.5 * (1 + np.vectorize(erf)(right / np.sqrt(2)))
        return ((left * gate).astype(x.dtype),)


class GroupNorm(OpRun):
    op_domain = DOMAIN

    def _run(self, x, gamma, beta, skip=None, bias=None, *, activation=0, channels_last=1,
             epsilon=1e-5, groups=None):
        total = x.astype(np.float64)
        if skip is not None:
            inner = (1,) * (x.ndim - 2)
            if skip.ndim == 2:
                skip = skip.reshape((skip.shape[0], *inner, -1) if channels_last
                                    else (*skip.shape, *inner))
            total = total + skip
        if bias is not None:
            total = total + (bias if channels_last else bias.reshape(-1, *(1,) * (x.ndim - 2)))
        first = np.moveaxis(total, -1, 1) if channels_last else total
        parts = first.reshape(x.shape[0], groups, -1)
        mean, variance = parts.mean(-1, keepdims=True), parts.var(-1, keepdims=True)
        y = ((parts - mean) / np.sqrt(variance + epsilon)).reshape(first.shape)
        along = (-1, *(1,) * (x.ndim - 2))
        y = y * gamma.reshape(along) + beta.reshape(along)
        y = np.moveaxis(y, 1, -1) if channels_last else y
        if activation:
            y = y / (1 + np.exp(-y))
        return y.astype(x.dtype), total.astype(x.dtype)


class SkipGroupNorm(GroupNorm):
    pass


class NhwcConv(OpRun):
    op_domain = DOMAIN

    def _run(self, x, w, bias=None, **attributes):
        names = ["x", "w"] + ["bias"] * (bias is not None)
        given = {name: value for name, value in attributes.items() if value is not None}
        conv = ReferenceEvaluator(helper.make_node("Conv", names, ["y"], **given))
        y = conv.run(None, {"x": np.moveaxis(x, -1, 1), "w": w, "bias": bias})[0]
        return (np.moveaxis(y, 1, -1),)


class GroupQueryAttention(OpRun):
    """Of no new tokens, which ONNX Runtime refuses."""
    op_domain = DOMAIN

    def _run(self, query, key, value, past_key, past_value, *others, **attributes):
        assert query.shape[1] == 0
        return query, past_key, past_value


EVALUATORS = [BiasAdd, BiasSplitGelu, GroupNorm, SkipGroupNorm, NhwcConv, GroupQueryAttention]

# ---- Activations ------------------------------------------------------------

for operands in ("3x17@-4~4", "2x3x33@-4~4", "1@-4~4"):
    row("Gelu", operands)
    row("FastGelu", operands)
    row("QuickGelu", operands)
    row("QuickGelu", operands, alpha=1.0)
    row("FastGelu", f"{operands} {operands.split('@')[0].split('x')[-1]}")
    row("BiasGelu", f"{operands} {operands.split('@')[0].split('x')[-1]}")
for operands in ("1x5x8 8 1x5x8", "2x3x33 33 2x3x33"):
    row("BiasAdd", operands)
for operands in ("1x5x8@-4~4 8", "2x3x66@-4~4 66"):
    row("BiasSplitGelu", operands)

# ---- Norms -------------------------------------------------------------------

for shape, skips in (("2x3x17", ("2x3x17", "1x3x17", "3x17")), ("5x64", ("5x64",))):
    width = shape.split("x")[-1]
    for skip in skips:
        for wanted in ((0,), (0, 3)):
            for bias in ("", f" {width}"):
                row("SkipLayerNormalization", f"{shape} {skip} {width} {width}{bias}", wanted)
                row("SkipSimplifiedLayerNormalization", f"{shape} {skip} {width}{bias}", wanted)
    row("SkipLayerNormalization", f"{shape} {skips[0]} {width}", epsilon=0.1)
    row("SkipSimplifiedLayerNormalization", f"{shape} {skips[0]} ={width}", epsilon=0.1)
for operands in ("3x4x17 17", "2x64 =64"):
    any_row("SimplifiedLayerNormalization", operands, 17, epsilon=0.01)
any_row("SimplifiedLayerNormalization", "3x4x17 4x17", 17, axis=1)
any_row("LayerNormalization", "3x4x17 17 17", 12, epsilon=0.01)
EMBEDDINGS = "9x24 7x24 3x24 24 24"
for dims in ("2x5", "1x7"):
    words, segments, positions = f"i32:{dims}@0~8", f"i32:{dims}@0~2", f"i32:{dims}@0~6"
    mask = f"i32:{dims}@0~1"
    for wanted in ((0, 1), (0, 1, 2)):
        row("EmbedLayerNormalization", f"{words} {segments} {EMBEDDINGS}", wanted)
        row("EmbedLayerNormalization", f"{words} {segments} {EMBEDDINGS} {mask}", wanted)
    row("EmbedLayerNormalization", f"{words} {segments} {EMBEDDINGS} {mask} {positions}", 2)
    row("EmbedLayerNormalization", f"{words} {segments} {EMBEDDINGS} - {positions}", 2)
    row("EmbedLayerNormalization", f"{words} - 9x24 7x24 - 24 24", 2, epsilon=0.01)
for last in (0, 1):
    shape = "2x5x7x12" if last else "2x12x5x7"
    for activation in (0, 1):
        for groups in (1, 3, 12):
            row("GroupNorm", f"{shape} 12 12", activation=activation, channels_last=last,
                groups=groups)
        for skip in (shape, "2x12"):
            row("SkipGroupNorm", f"{shape} 12 12 {skip} 12", 2, activation=activation,
                channels_last=last, groups=4, epsilon=0.01)

# ---- Products ----------------------------------------------------------------

for a in (0, 1):
    for b in (0, 1):
        left, right = ("7x5", "5x7")[a], ("7x9", "9x7")[b]
        left = "x".join(reversed(left.split("x")))
        row("FusedMatMul", f"{left} {right}", transA=a, transB=b, alpha=0.25)
        row("FusedMatMul", f"2x3x{left} 2x3x{right}", transA=a, transB=b)
        row("FusedMatMul", f"3x{left} 2x1x{right}", transA=a, transB=b, alpha=-2.0)
        row("FusedMatMul", f"2x3x{left} ={right}", transA=a, transB=b)
        row("FusedGemm", f"{left} {right} 9", transA=a, transB=b, activation="Relu")
        row("FusedGemm", f"{left} ={right} =9", transA=a, transB=b, alpha=0.5, beta=2.0,
            activation="LeakyRelu", activation_alpha=0.3)
        left, right = ("5x2x3x7", "7x2x3x5")[a], ("7x2x3x9", "9x2x3x7")[b]
        row("FusedMatMul", f"{left} {right}", transA=a, transB=b, transBatchA=1, transBatchB=1)
row("FusedMatMul", "7 7x9", alpha=0.5)
row("FusedMatMul", "2x5x7 7", alpha=0.5)
for activation in ("Tanh", "Sigmoid", "Softplus"):
    row("FusedGemm", "5x7 7x9", activation=activation)

ACTIVATIONS = {"": [], "Relu": [], "Tanh": [], "Sigmoid": [], "LeakyRelu": [0.2],
               "Clip": [-0.5, 0.75], "HardSigmoid": [0.3, 0.4]}
for activation, params in ACTIVATIONS.items():
    more = {"activation": activation} if activation else {}
    if params:
        more["activation_params"] = params
    row("FusedConv", "1x3x9x8 =4x3x3x3 =4", pads=[1, 1, 1, 1], **more)
    row("FusedConv", "2x4x7x6 4x1x3x3", group=4, strides=[2, 2], **more)
    row("FusedConv", "1x3x9x8 =4x3x3x3 =4 1x4x9x8", pads=[1, 1, 1, 1], **more)
for strides in ([1, 1], [2, 2]):
    row("NhwcConv", "2x9x8x3 =4x3x3x3 =4", pads=[1, 1, 1, 1], strides=strides)
    row("NhwcConv", "1x9x8x3 =4x3x3x3", pads=[0, 0, 0, 0], strides=strides)

# ---- Shapes ------------------------------------------------------------------

for upper in (0, 1):
    row("Trilu", "2x4x5", upper=upper)
    row("Trilu", "4x5 =[1.]", upper=upper)
for numbers in ("i64:[2.] i64:[17.]", "i64:[2.] i64:[17.] i64:[3.]", "f32:[0.5] f32:[4]"):
    row("Range", numbers)
    row("Range", " ".join(f"={word}" for word in numbers.split()))
row("GatherND", "3x4x5 i64:2x6x2@0~2")
row("GatherND", "3x4x5 i64:7x1@0~2")
for metric in ("euclidean", "sqeuclidean"):
    for operands in ("5x7 3x7", "1x33 17x33", "f64:5x7 f64:3x7"):
        row("CDist", operands, metric=metric)
