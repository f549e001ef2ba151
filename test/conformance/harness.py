"""What the conformance tests share: models made of arrays, ONNX Runtime's
answer, and Lumen's answer at every CPU level and thread count.

A model is compiled once, at lumenc's default levels, and run once for each
level that this machine has and each thread count. A level that it lacks is
reported by name, never passed over.
"""

import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "models"))

from compare import (DEVICES, LEVEL_FLAGS, LEVELS, complaints, environment, machine_flags,  # noqa: E402
                     output_file, targets)

onnxruntime.set_default_logger_severity(4)

RTOL = 1e-3
ATOL = 1e-4  # times the largest magnitude of the output


class Broken(Exception):
    """lumenc or lumen-run failed: the message has its words."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status  # None where it did not end


def stored(array):
    """Elements of a byte at most as compiled models pass them, floats of 8 bits as f32."""
    dtype = array.dtype
    if dtype in (ml_dtypes.int2, ml_dtypes.int4):
        return array.astype(np.int8)
    if dtype in (ml_dtypes.uint2, ml_dtypes.uint4):
        return array.astype(np.uint8)
    if dtype == ml_dtypes.float4_e2m1fn:
        return array.view(np.uint8)
    return array.astype(np.float32) if dtype.name.startswith("float8") else array


def value_info(name, array, fixed=None):
    """Its sizes are symbols but for the `fixed` axes, or all numbers without."""
    dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
    shape = [size if fixed is None or axis in fixed else f"{name}_{axis}"
             for axis, size in enumerate(array.shape)]
    return helper.make_tensor_value_info(name, dtype, shape)


# The version at which each domain but the default one is imported. Nodes of ai.onnx.ml are
# tested at each of its versions, next to one of the default domain.
DOMAINS = {"com.microsoft": 1, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}
ML_DOMAIN = "ai.onnx.ml"
OPSET_BESIDE_ML = 18


def make_model(nodes, inputs, constants, outputs, opset, dynamic={}):
    """A model of arrays by name; `outputs` may be names alone, whose types are then open.

    Each dimension of the inputs that `dynamic` names is a symbol of its own, but for
    the axes that it lists with the name.
    """
    if isinstance(outputs, dict) and not dynamic:
        results = [value_info(name, array) for name, array in outputs.items()]
    else:
        results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(
        nodes, "conformance",
        [value_info(name, array, dynamic.get(name)) for name, array in inputs.items()],
        results, [numpy_helper.from_array(array, name) for name, array in constants.items()])
    domains = sorted({node.domain for node in nodes if node.domain})
    versions = dict(DOMAINS)
    if ML_DOMAIN in domains:
        versions[ML_DOMAIN], opset = opset, OPSET_BESIDE_ML
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", opset),
        *(helper.make_opsetid(domain, versions[domain]) for domain in domains)])


def reference(model, inputs, names):
    """What ONNX Runtime makes of the model as it is written, without optimising it."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    wanted = {value.name for value in session.get_inputs()}
    feed = {name: np.asarray(array) for name, array in inputs.items() if name in wanted}
    types = {value.name: value.type for value in session.get_outputs()}

    def typed(name, array):
        # It gives floats of 8 bits as their codes.
        kind = types[name].removeprefix("tensor(").removesuffix(")")
        return array.view(kind.replace("8", "8_")) if kind.startswith("float8") else array

    return dict(zip(names, map(typed, names, map(np.asarray, session.run(list(names), feed)))))


def mismatch(actual, expected, rtol=RTOL, atol=ATOL, within=0):
    """Where two arrays differ, in words, or None; integers may differ by `within`."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return (f"is {actual.dtype}{list(actual.shape)},"
                f" expected {expected.dtype}{list(expected.shape)}")
    if expected.dtype.kind == "f":
        finite = np.abs(expected[np.isfinite(expected)])
        largest = float(np.max(finite, initial=0))
        agree = np.isclose(actual.astype(np.float64), expected.astype(np.float64), rtol=rtol,
                           atol=atol * largest, equal_nan=True)
    elif within:
        agree = np.abs(actual.astype(np.int64) - expected.astype(np.int64)) <= within
    else:
        agree = actual == expected
    if np.all(agree):
        return None
    at = np.unravel_index(np.argmin(agree), expected.shape)
    return (f"{np.count_nonzero(~agree)} of {agree.size} elements are wrong, the first at"
            f" {[int(i) for i in at]}: {actual[at]}, expected {expected[at]}")


class Configurations:
    """Levels and thread counts to run at, and the levels that this machine lacks."""

    def __init__(self, levels, threads):
        have = machine_flags()
        names = [LEVELS.get(level, level) for level in levels.split(",")]
        self.skipped = [f"{level}: this machine has no {sorted(LEVEL_FLAGS[level] - have)[0]}"
                        for level in names if LEVEL_FLAGS[level] - have]
        self.runs = [(level, count) for level in names if not LEVEL_FLAGS[level] - have
                     for count in threads.split(",")]

    def report(self):
        for line in self.skipped:
            print(f"skipped {line}")
        if not self.runs:
            sys.exit("this machine has none of the levels")


def call(command, **options):
    try:
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                                errors="replace", timeout=120, **options)
    except subprocess.TimeoutExpired as error:
        raise Broken(f"{Path(command[0]).name} takes longer than {error.timeout} seconds")
    if result.returncode != 0:
        words = (result.stderr or result.stdout).strip()[-6000:]
        raise Broken(f"{Path(command[0]).name}: exit status {result.returncode}: {words}",
                     result.returncode)
    if complaints(result.stdout):
        raise Broken(f"{Path(command[0]).name}: {complaints(result.stdout)[-6000:]}")
    return result


def differences(model, inputs, expected, folder, runs, within=None):
    """Compiles and runs a model: output name to where it differs. Raises Broken.

    `within`: by how much the integers of an output may differ, by its name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, artifact = folder / "model.onnx", folder / "model.so"
    onnx.save(model, path)
    # The default levels, whichever of them are run.
    devices = [level for level, _ in runs if level in DEVICES]
    call(["lumenc", path, "-o", artifact, "-j1", f"--target={targets(devices)}"])
    arguments = []
    for index, (name, array) in enumerate(inputs.items()):
        np.save(folder / f"input{index}.npy", stored(array))
        arguments += ["--input", f"{name}=@{folder}/input{index}.npy"]
    found = {}
    for level, threads in runs:
        outputs = folder / f"{level}-{threads}"
        call(["lumen-run", artifact, *arguments, "--threads", threads, "--save-outputs", outputs],
             env=environment(level))
        for name, array in expected.items():
            words = mismatch(np.load(output_file(outputs, name)), stored(array),
                             within=(within or {}).get(name, 0))
            if words:
                found.setdefault(name, f"at {level} on {threads} threads: {words}")
    return found


def run_model(model, inputs, outputs, folder, run):
    """Compiles a model and runs it at one (level, threads): output name to value.

    A value of bf16 comes as f32. Raises Broken.
    """
    path, artifact, values, results = (folder / name for name in
                                       ("model.onnx", "model.so", "inputs", "outputs"))
    shutil.rmtree(values, ignore_errors=True)
    values.mkdir(parents=True)
    onnx.save(model, path)
    level, threads = run
    call(["lumenc", path, "-o", artifact, "-j1",
          f"--target={targets([level] if level in DEVICES else [])}"])
    for name, array in inputs.items():
        (values / f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    call(["lumen-run", artifact, *(["--inputs", values] if inputs else []), "--threads", threads,
          "--save-outputs", results], env=environment(level))
    return {name: np.load(output_file(results, name)) for name in outputs}


def in_short(value):
    """An attribute in a case's name: what is long, by its beginning and a checksum."""
    if isinstance(value, onnx.TensorProto) and not value.name:
        value = value.SerializeToString()
    text = str(getattr(value, "name", value))
    return text if len(text) <= 60 else f"{text[:20]}...{zlib.crc32(text.encode()):08x}"


def describe(nodes, arrays):
    """Nodes in words, one a line, each with the types of its operands."""
    lines = []
    for node in nodes:
        operands = ", ".join(
            f"{name}:{arrays[name].dtype}{list(arrays[name].shape)}" if name in arrays else name
            for name in node.input)
        attributes = ", ".join(f"{a.name}={in_short(helper.get_attribute_value(a))}"
                               for a in node.attribute)
        lines.append(f"    {', '.join(node.output)} = {node.op_type}({operands})"
                     + (f" {{{attributes}}}" if attributes else ""))
    return "\n".join(lines)


def read_manifest(test):
    """Expected differences of a test: case to reason. See manifest.txt."""
    reasons = {}
    for line in (Path(__file__).resolve().parent / "manifest.txt").read_text().splitlines():
        line = line.split("#", 1)[0].strip()
        if line:
            name, reason = (part.strip() for part in line.split(":", 1))
            owner, case = name.split(None, 1)
            if owner == test:
                reasons[case] = reason
    return reasons


def judge(test, failures, cases):
    """Compares failures (case to words) with the manifest; returns the exit status.

    Only `cases` were run: the manifest's other lines say nothing about this run.
    """
    reasons = read_manifest(test)
    status = 0
    for case in cases:
        if case in failures and case in reasons:
            print(f"expected: {case}: {reasons[case]}")
        elif case in failures:
            print(f"FAILED {case}: {failures[case]}")
            status = 1
        elif case in reasons:
            print(f"FAILED {case}: agrees, but manifest.txt expects a difference: {reasons[case]}")
            status = 1
    return status
