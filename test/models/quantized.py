"""Compares models that ONNX Runtime's quantiser made with ONNX Runtime.

A network for images, a perceptron and a layer of a transformer, each quantised in every way
that the tool has. ONNX Runtime has two answers: as the model is written, and with operators
fused to those on integers, some of which round at other places (a table for softmax). Lumen
has to agree with one of them, whose quantised numbers are then the same throughout: a single
one that differs would be seen.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                      quantize_dynamic, quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process

from compare import LEVEL_FLAGS, LEVELS, ROOT, environment, machine_flags, output_file, run
from exporter import FLOAT, Exporter, value


def convolution(g, x, inputs, outputs, size=3, stride=1, group=1, clips=True):
    weight = g.normal(g.name("weight"), [outputs, inputs // group, size, size],
                      (inputs // group * size * size) ** -0.5)
    bias = g.normal(g.name("bias"), [outputs], 0.1)
    x = g.op("Conv", x, weight, bias, strides=[stride] * 2, pads=[size // 2] * 4, group=group)
    return g.op("Clip", x, g.number(0), g.number(6)) if clips else x


def images(path):
    """Inverted residual blocks: pointwise and depthwise convolutions, and sums of both."""
    g = Exporter(1)
    x = convolution(g, "x", 3, 16, stride=2)
    for wide, stride in ((48, 1), (48, 2)):
        y = convolution(g, x, 16, wide, size=1)
        y = convolution(g, y, wide, wide, group=wide, stride=stride)
        y = convolution(g, y, wide, 16, size=1, clips=False)
        x = g.op("Add", x, y) if stride == 1 else y
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    g.op("Gemm", x, g.normal("head", [10, 16], 0.25), g.normal("offset", [10], 0.1), transB=1,
         name="y")
    g.save(path, "images", [value("x", FLOAT, [1, 3, 32, 32])], [value("y", FLOAT, [1, 10])])


def perceptron(path):
    g = Exporter(2)
    x, sizes = "x", [40, 70, 130, 9]
    for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        weight = g.normal(f"weight{i}", [outputs, inputs], inputs ** -0.5)
        x = g.op("Gemm", x, weight, g.normal(f"bias{i}", [outputs], 0.1), transB=1,
                 name="y" if outputs == sizes[-1] else None)
        if outputs != sizes[-1]:
            x = g.op("Relu", x)
    g.save(path, "perceptron", [value("x", FLOAT, [6, 40])], [value("y", FLOAT, [6, 9])])


def transformer(path):
    """Attention of 4 heads and a feed-forward part, of which all products are quantised."""
    g = Exporter(3)
    width, heads, rows = 64, 4, 12

    def linear(x, inputs, outputs):
        weight = g.normal(g.name("weight"), [inputs, outputs], inputs ** -0.5)
        return g.op("Add", g.op("MatMul", x, weight), g.normal(g.name("bias"), [outputs], 0.1))

    def split(x, perm):
        x = g.op("Reshape", x, g.constant([1, rows, heads, width // heads]))
        return g.op("Transpose", x, perm=perm)

    query = split(linear("x", width, width), [0, 2, 1, 3])
    key = split(linear("x", width, width), [0, 2, 3, 1])
    values = split(linear("x", width, width), [0, 2, 1, 3])
    scores = g.op("Mul", g.op("MatMul", query, key), g.number((width // heads) ** -0.5))
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), values)
    mixed = g.op("Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]),
                 g.constant([1, rows, width]))
    x = g.op("Add", "x", linear(mixed, width, width))
    y = linear(g.op("Relu", linear(x, width, 2 * width)), 2 * width, width)
    g.op("Add", x, y, name="y")
    shape = [1, rows, width]
    g.save(path, "transformer", [value("x", FLOAT, shape)], [value("y", FLOAT, shape)])


MODELS = {"images": (images, [1, 3, 32, 32]), "perceptron": (perceptron, [6, 40]),
          "transformer": (transformer, [1, 12, 64])}


class Samples(CalibrationDataReader):
    def __init__(self, shape):
        rng = np.random.default_rng(5)
        self.feeds = iter([{"x": rng.standard_normal(shape).astype(np.float32)}
                           for _ in range(8)])

    def get_next(self):
        return next(self.feeds, None)


def static(form, activations, weights, per_channel):
    def quantise(source, target, shape):
        quantize_static(source, target, Samples(shape), quant_format=form,
                        activation_type=activations, weight_type=weights,
                        per_channel=per_channel)
    return quantise


def dynamic(weights):
    def quantise(source, target, _):
        quantize_dynamic(source, target, weight_type=weights)
    return quantise


# A step of 8 bits is 4e-3.
TOLERANCE = 1e-5

U8, I8 = QuantType.QUInt8, QuantType.QInt8
WAYS = {"qdq": static(QuantFormat.QDQ, U8, I8, per_channel=False),
        "qdq-channels": static(QuantFormat.QDQ, I8, I8, per_channel=True),
        "qdq-unsigned": static(QuantFormat.QDQ, U8, U8, per_channel=False),
        "operators": static(QuantFormat.QOperator, U8, I8, per_channel=False),
        "operators-channels": static(QuantFormat.QOperator, U8, I8, per_channel=True),
        "dynamic": dynamic(I8), "dynamic-unsigned": dynamic(U8)}


def answers(path, x):
    """What ONNX Runtime makes of the model, as it is and with fused operators."""
    results = []
    for level in (onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
                  onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(path), options,
                                               providers=["CPUExecutionProvider"])
        results.append(session.run(None, {"x": x})[0])
    return results


def distances(path, x, args, folder):
    """The largest difference relative to the answer's range, by level and threads."""
    expected = answers(path, x)
    np.save(folder / "x.npy", x)
    run(["lumenc", path, "-o", folder / "model.so"])
    have, found = machine_flags(), {}
    for level in (LEVELS.get(level, level) for level in args.levels.split(",")):
        if LEVEL_FLAGS[level] - have:
            print(f"skipped {level}: this machine has no {sorted(LEVEL_FLAGS[level] - have)[0]}")
            continue
        for threads in args.threads.split(","):
            outputs = folder / f"{level}-{threads}"
            run(["lumen-run", folder / "model.so", "--input", f"x=@{folder}/x.npy", "--threads",
                 threads, "--save-outputs", outputs], env=environment(level))
            actual = np.load(output_file(outputs, "y"))
            found[level, threads] = min(float(np.max(np.abs(actual - answer)) / np.ptp(answer))
                                        for answer in expected)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", default="v3,v4,vnni")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--filter", default="", help="only models whose name has this in it")
    args = parser.parse_args()
    os.environ["PATH"] += f"{os.pathsep}{ROOT / 'build/bin'}"
    failed = ran = 0
    for name, (make, shape) in MODELS.items():
        x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
        for way, quantise in WAYS.items():
            if args.filter not in f"{name}-{way}":
                continue
            with tempfile.TemporaryDirectory(prefix="lumen-quantized-") as folder:
                folder = Path(folder)
                make(folder / "float.onnx")
                quant_pre_process(folder / "float.onnx", folder / "inferred.onnx",
                                  skip_symbolic_shape=True)
                quantise(folder / "inferred.onnx", folder / "quantized.onnx", shape)
                found = distances(folder / "quantized.onnx", x, args, folder)
            worst = max(found.values(), default=0)
            ran += len(found)
            failed += worst > TOLERANCE
            print(f"{name}-{way}: {len(found)} runs, largest difference {worst:.1e}"
                  f" of the range  {'WRONG' if worst > TOLERANCE else 'ok'}")
    sys.exit(1 if failed or not ran else 0)


if __name__ == "__main__":
    main()
