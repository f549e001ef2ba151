"""Compares compiled models with ONNX Runtime.

compare.py NAME|MODEL.onnx [--levels LEVELS] [--threads COUNTS] [--rtol R] [--atol A] [-- FLAGS]

Compiles the model once, runs it with lumen-run on random inputs at every level
and thread count, and prints one row for each. Everything is made in a folder
of its own that is removed at the end. What follows `--` goes to lumenc:
compare.py model.onnx -- --dim batch=1

lumenc and lumen-run are those in PATH, else those of build/bin.
"""

import argparse
import ctypes.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

from models import MODELS, Model

ROOT = Path(__file__).resolve().parents[2]
LEVELS = {"v2": "x86-64-v2", "v3": "x86-64-v3", "v4": "x86-64-v4",
          "vnni": "x86-64-v4+vnni", "vulkan": "vulkan1.1", "cuda": "sm_75"}
LEVEL_FLAGS = {"x86-64-v2": {"sse4_2", "ssse3", "popcnt"},
               "x86-64-v3": {"avx2", "fma", "f16c", "bmi2"},
               "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}
LEVEL_FLAGS["x86-64-v4+vnni"] = LEVEL_FLAGS["x86-64-v4"] | {"avx512_vnni"}
LEVEL_FLAGS["vulkan1.1"] = {"vulkan"}
LEVEL_FLAGS["sm_75"] = {"cuda"}
# Level to target and kind of device.
DEVICES = {"vulkan1.1": ("spirv", "vulkan"), "sm_75": ("ptx", "cuda")}
# A stand-in for NVIDIA's driver, whose device this machine plays.
FAKE_CUDA = Path(os.environ.get("LUMEN_BINARY_DIR", ROOT / "build")) / "test/fake/cuda"
DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
          "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(int16)": np.int16,
          "tensor(int8)": np.int8, "tensor(uint64)": np.uint64, "tensor(uint32)": np.uint32,
          "tensor(uint16)": np.uint16, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_,
          "tensor(string)": object}


def machine_flags():
    """What this machine can run: flags of its CPU, and kinds of its devices."""
    with open("/proc/cpuinfo") as cpuinfo:
        flags = set(next((line for line in cpuinfo if line.startswith("flags")), "").split())
    # The loader, and the manifest of a driver.
    if ctypes.util.find_library("vulkan") and any(
            any(Path(folder).glob("vulkan/icd.d/*.json"))
            for folder in ("/usr/share", "/usr/local/share", "/etc")):
        flags.add("vulkan")
    if (FAKE_CUDA / "libcuda.so.1").exists():
        flags.add("cuda")
    return flags


def targets(levels):
    """What --target has to say for code at all these levels; default levels: for none."""
    on_cpu = [level for level in levels if level not in DEVICES]
    others = sorted({DEVICES[level][0] for level in levels if level in DEVICES})
    return ",".join(["cpu" + (":" + "+".join(on_cpu) if on_cpu else ""), *others])


def environment(level):
    """In which lumen-run takes the code of a level."""
    if level in DEVICES:
        # The layer and the stand-in have a say in each run: see `complaints`.
        return dict(os.environ, LUMEN_DEVICE=DEVICES[level][1],
                    LD_LIBRARY_PATH=str(FAKE_CUDA) if DEVICES[level][1] == "cuda" else "",
                    VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation")
    return dict(os.environ, LUMEN_DEVICE="cpu", LUMEN_CPU_LEVEL=level)


def complaints(words):
    """What Vulkan's validation layer says of a run, or the stand-in for CUDA."""
    return "\n".join(line for line in words.splitlines()
                     if "Validation" in line or "VUID-" in line or
                     line.startswith("fake_cuda: "))


def run(command, **options):
    """Runs a program; its words are shown only when it fails."""
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit status {result.returncode}\n{result.stdout}")
    if complaints(result.stdout):
        sys.exit(f"{' '.join(map(str, command))}\n{complaints(result.stdout)}")
    return result.stdout


def check_device(artifact, level):
    """A device's level is there for all kernels: the host runs none."""
    if level not in DEVICES:
        return
    signature = json.loads(run(["lumen-run", artifact, "--json", "--signature"],
                               env=environment(level)))["signature"]
    used = {entry["name"]: entry["kernels"] for entry in signature["levels"] if entry["kernels"]}
    if set(used) - {level}:
        sys.exit(f"{artifact}: kernels by level are {used}, expected all of them at {level}")


def random_inputs(session, model, seed):
    rng = np.random.default_rng(seed)
    feed = {}
    for value in session.get_inputs():
        shape = model.shapes.get(value.name, value.shape)
        if DTYPES.get(value.type, object) is object:
            numbers = [kind for kind, dtype in DTYPES.items() if dtype is not object]
            sys.exit(f"input '{value.name}' is a {value.type}, expected one of"
                     f" {', '.join(numbers)}")
        dtype = DTYPES[value.type]
        if np.issubdtype(dtype, np.floating):
            feed[value.name] = rng.standard_normal(shape).astype(dtype)
        elif dtype is np.bool_:
            feed[value.name] = rng.integers(0, 2, shape).astype(dtype)
        else:
            low, high = model.ranges.get(value.name, (0, 10))
            feed[value.name] = rng.integers(low, high, shape).astype(dtype)
    return feed


def reference(path, model, seed):
    """Inputs, and what ONNX Runtime makes of them, by name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = random_inputs(session, model, seed)
    names = [value.name for value in session.get_outputs()]
    return feed, dict(zip(names, session.run(names, feed)))


def output_file(folder, name):
    return folder / (name.replace("/", "_") + ".npy")


def save_value(folder, name, value):
    """Where lumen-run finds it; tensors of strings are JSON."""
    path = output_file(folder, name)
    if value.dtype == object:
        path.with_suffix(".json").write_text(
            json.dumps({"dims": value.shape, "data": value.ravel().tolist()}))
    else:
        np.save(path, value)


def load_value(folder, name):
    path = output_file(folder, name)
    if path.exists():
        return np.load(path)
    value = json.loads(path.with_suffix(".json").read_text())
    return np.array(value["data"], object).reshape(value["dims"])


def errors(actual, expected, rtol, atol):
    """Largest absolute and relative error, and whether all elements agree."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        sys.exit(f"output is {actual.dtype} {actual.shape}, ONNX Runtime's {expected.dtype}"
                 f" {expected.shape}")
    if not np.issubdtype(expected.dtype, np.inexact):
        wrong = np.count_nonzero(actual != expected)
        return float(wrong), float(wrong), wrong == 0
    expected, actual = expected.astype(np.float64), actual.astype(np.float64)
    if not np.isfinite(expected).all():
        sys.exit("ONNX Runtime's answer is not finite: this comparison would mean nothing")
    # Probabilities of a thousand classes are far below one: there, an absolute
    # tolerance made for values near one would accept anything.
    atol = atol * min(1.0, float(np.max(np.abs(expected), initial=0.0)))
    distance = np.abs(actual - expected)
    agree = bool(np.all(distance <= atol + rtol * np.abs(expected)))  # false for NaN
    # Relative to values as large as those where the absolute tolerance stops to matter.
    # An answer of zeros has no such values.
    magnitude = np.maximum(np.abs(expected), atol / rtol)
    relative = np.divide(distance, magnitude, out=np.where(distance > 0, np.inf, 0.0),
                         where=magnitude > 0)
    return float(np.max(distance, initial=0)), float(np.max(relative, initial=0)), agree


def input_shapes(artifact):
    """The shape of each input, symbols bound."""
    report = subprocess.run(["lumen-run", artifact, "--json", "--signature"],
                            stdout=subprocess.PIPE, check=True).stdout
    return {value["name"]: value["dims"] for value in json.loads(report)["signature"]["inputs"]}


def compare(name, model, args, folder):
    if name in MODELS:
        path = folder / "model.onnx"
        model.make(path)
    else:
        path = Path(name)  # external data is found beside it
    levels = [LEVELS.get(level, level) for level in args.levels.split(",")]
    artifact = folder / "model.so"
    run(["lumenc", path, "-o", artifact, f"--target={targets(levels)}",
         *model.bindings, *args.flags])

    model = model._replace(shapes=input_shapes(artifact))
    feed, expected = reference(path, model, args.seed)
    if name in MODELS:
        path.unlink()
    inputs = []
    for index, (input_name, value) in enumerate(feed.items()):
        np.save(folder / f"input{index}.npy", value)
        inputs += ["--input", f"{input_name}=@{folder}/input{index}.npy"]

    rows = []
    have = machine_flags()
    for level in levels:
        for threads in args.threads.split(","):
            row = {"model": name, "level": level, "threads": int(threads)}
            rows.append(row)
            missing = sorted(LEVEL_FLAGS[level] - have)
            if missing:
                row.update(result="skipped", reason=f"this machine has no {missing[0]}")
                continue
            outputs = folder / f"{level}-{threads}"
            outputs.mkdir()
            check_device(artifact, level)
            run(["lumen-run", artifact, *inputs, "--threads", threads, "--save-outputs", outputs],
                env=environment(level))
            worst = [errors(np.load(output_file(outputs, output)), value, args.rtol, args.atol)
                     for output, value in expected.items()]
            row.update(max_abs=max(w[0] for w in worst), max_rel=max(w[1] for w in worst),
                       result="ok" if all(w[2] for w in worst) else "WRONG")
    return rows


def parse(parser):
    """The command line with the options that comparisons share; `flags` go to lumenc."""
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, default=1e-4,
                        help="scaled down by the largest output where that is below one")
    parser.add_argument("--seed", type=int, default=1)
    # Not argparse's --, which takes no words once an option has followed the model.
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:end])
    args.flags = words[end + 1:]
    return args


def main():
    parser = argparse.ArgumentParser(description="Compares compiled models with ONNX Runtime.",
                                     epilog="What follows -- goes to lumenc.")
    parser.add_argument("model", help="a name of models.py, or an ONNX file")
    parser.add_argument("--levels", default="v3,v4")
    parser.add_argument("--threads", default="1,2")
    args = parse(parser)
    if args.model in MODELS:
        model = MODELS[args.model]
    else:
        model = Model(make=None)
        if not Path(args.model).is_file():
            sys.exit(f"{args.model} is neither a file nor one of: {', '.join(MODELS)}")
    os.environ["PATH"] += f"{os.pathsep}{ROOT / 'build/bin'}"
    with tempfile.TemporaryDirectory(prefix="lumen-compare-") as folder:
        rows = compare(args.model, model, args, Path(folder))

    for row in rows:
        detail = (row["reason"] if row["result"] == "skipped" else
                  f"max abs err {row['max_abs']:.2e}  max rel err {row['max_rel']:.2e}")
        print(f"{row['model']:<20} {row['level']:<10} {row['threads']} threads  {detail}"
              f"  {row['result']}")
    if "LUMEN_RESULTS" in os.environ:
        with open(os.environ["LUMEN_RESULTS"], "a") as results:
            results.write("".join(json.dumps(row) + "\n" for row in rows))
    # A comparison in which nothing ran says nothing.
    if all(row["result"] == "skipped" for row in rows):
        sys.exit("no level could be run on this machine")
    sys.exit(any(row["result"] == "WRONG" for row in rows))


if __name__ == "__main__":
    main()
