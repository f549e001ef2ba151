"""Compares every supported operator with ONNX Runtime, case by case.

operators.py [--levels LEVELS] [--threads COUNTS] [--filter REGEX] [--output DIR] [--jobs J]
             [--dynamic] [--empty [N]]

The rows are in operator_rows.py. Many cases share a model, each with inputs and
outputs of its own; a model that does not compile is split, so that the case that
is to blame is named. Where ONNX Runtime lacks an operator or one of its types,
the reference evaluator of the onnx package answers in its place. An operator
that `lumenc --operators` lists and neither a row nor values.py nor random_numbers.py covers
fails the test. --empty runs the rows' twins without elements instead, every Nth of them.
"""

import argparse
import multiprocessing
import re
import sys
import tempfile
from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from harness import (Broken, Configurations, call, describe, differences, in_short, judge,
                     make_model, reference)
import attention_rows  # noqa: F401 (adds its rows)
import contrib_rows
import control_rows  # noqa: F401
import loop_rows  # noqa: F401
import ml_rows  # noqa: F401
import quantization_rows  # noqa: F401
import random_numbers
import runtime_rows  # noqa: F401
import signal_rows  # noqa: F401
import training_rows  # noqa: F401
import values
import vision_rows  # noqa: F401
from operator_rows import REDUCTIONS, ROWS

BATCH = 40

DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64,
          "i8": np.int8, "i16": np.int16, "i32": np.int32,
          "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
          "bool": np.bool_, "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4, "i2": ml_dtypes.int2,
          "u2": ml_dtypes.uint2, "f4": ml_dtypes.float4_e2m1fn, "f8e8m0": ml_dtypes.float8_e8m0fnu,
          "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
          "f8e5m2": ml_dtypes.float8_e5m2, "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz}


def random_array(rng, shape, dtype, low, high):
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.floating):
        return np.asarray(rng.uniform(-1 if low is None else low, 1 if high is None else high,
                                      shape)).astype(dtype)
    smallest = 0 if np.issubdtype(dtype, np.unsignedinteger) else -100
    return np.asarray(rng.integers(smallest if low is None else int(low),
                                   101 if high is None else int(high) + 1, shape)).astype(dtype)


OPERAND = re.compile(r"(?P<constant>=?)(?:(?P<dtype>[a-z][a-z0-9]*):)?"
                     r"(?:\[(?P<numbers>[^\]]*)\]|(?P<shape>scalar|\d+(?:x\d+)*))"
                     r"(?P<whole>!(?:nan)?)?(?:@(?P<low>[^~]+)~(?P<high>.+))?$")


def operand(word, rng):
    """An operand as the rows write it: whether it is constant, and its value.

    2x3          a random f32 tensor (floats in [-1, 1), integers in -100..100 or 0..100)
    i64:2x3@0~5  of another type, in other bounds; a shape of no dimensions is `scalar`
    [1,2]        these numbers; i64 unless a type is named; one number with a trailing
                 dot, as in [5.], is a scalar
    2x3!         whole numbers from -2 to 2 as floats; with 2x3!nan some NaN among them
    =...         the same as an initializer instead of an input
    """
    parts = OPERAND.match(word)
    if not parts:
        raise ValueError(f"no operand: {word}")
    if parts["numbers"] is not None:
        dtype = DTYPES[parts["dtype"] or "i64"]
        words = [w for w in parts["numbers"].split(",") if w]
        numbers = np.array([float(w) for w in words]).astype(dtype)
        scalar = len(words) == 1 and words[0].endswith(".")
        return bool(parts["constant"]), numbers.reshape(()) if scalar else numbers
    shape = [] if parts["shape"] == "scalar" else [int(d) for d in parts["shape"].split("x")]
    low, high = (float(parts[k]) if parts[k] else None for k in ("low", "high"))
    dtype = DTYPES[parts["dtype"] or "f32"]
    if parts["whole"]:
        value = rng.integers(-2, 3, shape).astype(dtype)
        if parts["whole"] == "!nan":
            value[rng.random(shape) < 0.1] = np.nan
        return bool(parts["constant"]), value
    return bool(parts["constant"]), random_array(rng, shape, dtype, low, high)


# Operators that ONNX Runtime is no measure of: errors of its transforms in single
# precision grow with the length, and it reads the indices of MaxUnpool in the shape that
# output_shape gives, not as the standard's example does.
EVALUATED = {"DFT", "STFT", "MaxUnpool"}
# The same of operands without elements, where ONNX Runtime leaves products unwritten, or
# reads elements all the same; the mean of nothing is no number.
EVALUATED_EMPTY = {"MatMulInteger", "QLinearMatMul", "com.microsoft::DynamicQuantizeMatMul",
                   "com.microsoft::MatMulIntegerToFloat", "com.microsoft::QGemm", "ReduceMean",
                   "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "RoiAlign"}


class Case:
    """One row: a node with inputs, constants and expected outputs of its own names."""

    def __init__(self, index, row, is_empty=False):
        self.op, words, self.attributes, self.opset, wanted, self.within = row
        attributes = ", ".join(f"{k}={in_short(v)}" for k, v in self.attributes.items())
        self.name = f"{self.op}({words}){{{attributes}}} opset {self.opset}"
        if not isinstance(wanted, int):
            self.name += f" outputs {','.join(map(str, wanted))}"
        rng = np.random.default_rng(sum(self.name.encode()))
        self.inputs, self.constants, names = {}, {}, []
        for position, word in enumerate(words.split()):
            if word == "-":
                names.append("")
                continue
            constant, value = operand(word, rng)
            names.append(f"case{index}_in{position}")
            (self.constants if constant else self.inputs)[names[-1]] = value
        wanted = range(wanted) if isinstance(wanted, int) else wanted
        outputs = [f"case{index}_out{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
        domain, _, name = self.op.rpartition("::")
        self.node = helper.make_node(name, names, outputs, name=f"case{index}", domain=domain,
                                     **self.attributes)
        self.expected = self.answer([name for name in outputs if name], is_empty)

    def rank_of(self, position):
        """The rank of an operand, or None where there is none."""
        arrays = {**self.inputs, **self.constants}
        names = self.node.input[position:position + 1]
        return arrays[names[0]].ndim if names and names[0] in arrays else None

    def answer(self, outputs, is_empty):
        model = make_model([self.node], self.inputs, self.constants, outputs, self.opset)
        try:
            if self.op in EVALUATED or is_empty and self.op in EVALUATED_EMPTY:
                raise NotImplementedError
            return reference(model, self.inputs, outputs)
        except Exception as error:
            # What it refuses is no case.
            if is_empty and not isinstance(error, NotImplementedError):
                raise
            # An operator or a type that ONNX Runtime lacks.
            evaluator = ReferenceEvaluator(model, new_ops=contrib_rows.EVALUATORS)
            results = evaluator.run(outputs, self.inputs)
            return dict(zip(outputs, (np.asarray(value) for value in results)))


# Twins of names like these are no cases.
UNDEFINED = re.compile("|".join([
    # No window has a place, or what it covers is all border.
    r"(ConvTranspose|DeformConv)\(\d+x\d+(x\d+)*x0[x ]",
    # The references leave these unwritten.
    r"DFT\(2x0x2 ", r"LSTM\(0x.*bidirectional", r"(ConvInteger|QLinearConv)\(.8:\dx0x",
    r"com.microsoft::QAttention\(u8:\d+x\d+x0@",
    # Indices name a dimension at least.
    r"GatherND\(\S+ =?i64:(\d+x)*0@",
    # No trip says what the other extents are of what it stacks.
    r"Loop\(.*body=halve",
    # More is cropped than there is.
    r"Pad\((\S*x)?0[x ]\S* ?\[\S*-",
    # A window of other length than its attribute.
    r"STFT\(\S+ \S+ 0 ",
    # A model of other features than there are.
    r"ai.onnx.ml::\w+\((\w+:)?\d+x0[@)]",
    # Another weight than the attributes tell, which ONNX Runtime does not compare.
    r"com.microsoft::MatMulNBits\(\S+ =u8:(\d+x)*0[x@]",
    # There are no heads, or the lengths of more sequences than there are.
    r"com.microsoft::RotaryEmbedding\(\d+x\d+x0 ",
    r"com.microsoft::(MultiHead)?Attention\(.* i32:\[",
]))


def emptied(row):
    """Rows like this one, each with another extent at 0 wherever it stands."""
    op, words, *rest = row
    words = words.split()
    matches = [OPERAND.match(word) for word in words]
    shaped = [match and match["shape"] not in (None, "scalar") for match in matches]
    extents = {extent for match, has_shape in zip(matches, shaped) if has_shape
               for extent in match["shape"].split("x")}
    for extent in sorted(extents - {"0"}):
        empty = list(words)
        for index, (word, match, has_shape) in enumerate(zip(words, matches, shaped)):
            if has_shape:
                start, end = match.span("shape")
                kept = ["0" if e == extent else e for e in match["shape"].split("x")]
                empty[index] = word[:start] + "x".join(kept) + word[end:]
        yield (op, " ".join(empty), *rest)


def send_cases(rows, pipe):
    """Sends a case for each row, or None where it is refused."""
    for index, row in rows:
        try:
            pipe.send(Case(index, row, is_empty=True))
        except Exception:
            pipe.send(None)
    pipe.close()


def empty_cases(rows, every):
    """Cases without elements, as far as ONNX Runtime takes them."""
    twins = {(op, words, repr(rest)): (op, words, *rest)
             for row in rows for op, words, *rest in emptied(row)}
    left = list(enumerate(twins.values()))[::every]
    cases = []
    while left:
        # Where ONNX Runtime divides by zero it ends the process, which is then another's.
        receive, send = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=send_cases, args=(left, send))
        process.start()
        send.close()
        try:
            while left:
                cases.append(receive.recv())
                left = left[1:]
        except EOFError:
            left = left[1:]
        process.join()
    return [case for case in cases if case and not UNDEFINED.match(case.name)]


# Inputs whose shapes decide the structure of a kernel or the rank of a result, so
# that they are fixed.
FIXED = {"Conv": (1, 2), "ConvTranspose": (1, 2), "GatherND": (1,), "ScatterND": (1,),
         "NonMaxSuppression": (0, 2, 3, 4),
         "com.microsoft::FusedConv": (1, 2), "com.microsoft::NhwcConv": (1, 2),
         "com.microsoft::Attention": (3,), "com.microsoft::GatherND": (1,),
         "com.microsoft::Range": (0, 1, 2),
         "AffineGrid": (1,), "CausalConvWithState": (1,), "CenterCropPad": (1,), "Col2Im": (1, 2),
         "DeformConv": (1,), "MaxUnpool": (2,),
         "LSTM": (1, 2, 3, 5, 6, 7), "GRU": (1, 2, 3, 5), "RNN": (1, 2, 3, 5),
         "Slice": (1, 2, 3, 4), "Pad": (1, 3), "Squeeze": (1,), "Unsqueeze": (1,),
         "Resize": (1, 2, 3), "Upsample": (1,), "ConvInteger": (1,), "QLinearConv": (3,),
         **dict.fromkeys(REDUCTIONS, (1,))}


# The same of a single dimension of an input.
FIXED_AXES = {"DFT": {0: -1}, "STFT": {0: -1}, "LinearAttention": {4: -1, 5: -1}}


def dynamic_inputs(case):
    """Inputs that may be of any size, with the axes that may not; none where the result's
    rank would depend on it."""
    if case.op == "Squeeze" and len(case.node.input) < 2 and "axes" not in case.attributes:
        return {}
    # A dimension of 1 is repeated where it is known to be one.
    if case.op == "Einsum" and any(1 in value.shape for value in case.inputs.values()):
        return {}
    fixed, axes = FIXED.get(case.op, ()), FIXED_AXES.get(case.op, {})
    # The attribute gives a convolution its taps, and the run the channels.
    if case.op == "Conv" and "kernel_shape" in case.attributes:
        fixed = ()
    # Whether a mask of one dimension tells where sequences start depends on their number.
    if case.op == "com.microsoft::Attention" and case.rank_of(3) == 1:
        fixed = (0, 3)
    return {name: [axes[i] % case.inputs[name].ndim] if i in axes else []
            for i, name in enumerate(case.node.input) if name in case.inputs and i not in fixed}


def merged(cases, dynamic):
    """One model of many cases, with its inputs and expected outputs."""
    inputs, constants, expected = {}, {}, {}
    for case in cases:
        inputs.update(case.inputs)
        constants.update(case.constants)
        expected.update(case.expected)
    model = make_model([case.node for case in cases], inputs, constants, expected,
                       cases[0].opset,
                       dict(ChainMap(*map(dynamic_inputs, cases))) if dynamic else {})
    return model, inputs, expected


def failures_of(cases, runs, output, dynamic=False):
    """Case name to words, for those that fail."""
    model, inputs, expected = merged(cases, dynamic)
    with tempfile.TemporaryDirectory(prefix="lumen-operators-") as folder:
        try:
            within = {name: case.within for case in cases for name in case.expected}
            found = differences(model, inputs, expected, Path(folder), runs, within)
        except Broken as error:
            if len(cases) == 1:
                output.mkdir(parents=True, exist_ok=True)
                onnx.save(model, output / f"{cases[0].node.name}.onnx")
                return {cases[0].name: str(error)}
            # Halves find few culprits in few compilations.
            middle = len(cases) // 2
            return {**failures_of(cases[:middle], runs, output, dynamic),
                    **failures_of(cases[middle:], runs, output, dynamic)}
    failures = {}
    for case in cases:
        words = [f"{name} {found[name]}" for name in case.expected if name in found]
        if words:
            arrays = {**case.inputs, **case.constants}
            failures[case.name] = "; ".join(words) + "\n" + describe([case.node], arrays)
            output.mkdir(parents=True, exist_ok=True)
            onnx.save(merged([case], dynamic)[0], output / f"{case.node.name}.onnx")
    return failures


def supported():
    """Operators that lumenc lists."""
    return {line.split()[0] for line in call(["lumenc", "--operators"]).stdout.splitlines()
            if line.strip()}


def main():
    parser = argparse.ArgumentParser(description="Compares operators with ONNX Runtime.")
    parser.add_argument("--levels", default="v3,v4")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--filter", default="", help="only operators that match this")
    parser.add_argument("--dynamic", action="store_true",
                        help="every dimension of an input is a symbol of its own")
    parser.add_argument("--empty", type=int, nargs="?", const=1, metavar="N",
                        help="every Nth row with an extent of its operands at 0")
    parser.add_argument("--part", type=int, default=1, metavar="N", help="every Nth case")
    parser.add_argument("--output", type=Path, default=Path("operators"))
    parser.add_argument("--jobs", type=int, default=cpu_count())
    args = parser.parse_args()
    configurations = Configurations(args.levels, args.threads)
    configurations.report()

    rows = [row for row in ROWS if re.search(args.filter, row[0])]
    cases = (empty_cases(rows, args.empty) if args.empty
             else [Case(index, row) for index, row in enumerate(rows)])
    cases = cases[::args.part]
    by_name = {}
    for case in cases:
        if case.name in by_name:
            sys.exit(f"two rows are the same: {case.name}")
        by_name[case.name] = case
    batches = []
    for opset in sorted({case.opset for case in cases}):
        same = [case for case in cases if case.opset == opset]
        batches += [same[i:i + BATCH] for i in range(0, len(same), BATCH)]

    failures = {}
    with ThreadPoolExecutor(args.jobs) as pool:
        def run(batch):
            return failures_of(batch, configurations.runs, args.output, args.dynamic)

        for found in pool.map(run, batches):
            failures.update(found)
    status = judge("empty-operators" if args.empty else "operators", failures, list(by_name))
    covered = {case.op for case in cases} | values.operators() | random_numbers.operators()
    missing = [] if args.filter or args.empty or args.part > 1 else sorted(supported() - covered)
    for op in missing:
        print(f"FAILED {op}: lumenc lists it and no row covers it")
    print(f"{len(cases)} cases of {len({case.op for case in cases})} operators in"
          f" {len(batches)} models, {len(failures)} differ; {len(configurations.runs)} runs each")
    sys.exit(1 if missing else status)


if __name__ == "__main__":
    main()
