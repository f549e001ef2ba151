"""Runs models of dynamic shapes, or with a state, against ONNX Runtime.

dynamic.py NAMES... [--level LEVEL] [--threads N] [--rtol R] [--atol A] [-- FLAGS]

A model is compiled once. Its steps (see models.py) then run one after the other
in one context of lumen-run, with other shapes or a state that each carries from
its own step before, and every output of every step is compared. What follows
`--` goes to lumenc.

lumenc and lumen-run are those in PATH, else those of build/bin.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

from compare import DTYPES, LEVELS, LEVEL_FLAGS, ROOT, cpu_flags, errors, output_file, run
from models import MODELS


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def steps_of(model, session, seed):
    """Each step's inputs, as arrays of the types that the model wants."""
    types = {value.name: DTYPES[value.type] for value in session.get_inputs()}
    for feed in model.steps(np.random.default_rng(seed)):
        yield {name: np.asarray(value, types[name]) for name, value in feed.items()}


def reference(model, session, feeds):
    """What ONNX Runtime makes of each step."""
    names = [value.name for value in session.get_outputs()]
    inputs = {value.name for value in session.get_inputs()}
    state = {}
    for feed in feeds:
        feed = {**state, **feed}
        if feed.keys() != inputs:
            sys.exit(f"inputs {sorted(inputs)} expected, found {sorted(feed)}")
        results = dict(zip(names, session.run(names, feed)))
        state = {target: results[source] for source, target in model.carried.items()}
        yield results


def compare_step(outputs, expected, args):
    """The largest errors of a step, and what is wrong with it or None."""
    worst = (0.0, 0.0)
    for name, value in expected.items():
        actual = np.load(output_file(outputs, name))
        # Of a Loop's scan output after no iteration only the first extent is known.
        if value.size == actual.size == 0 and value.ndim == actual.ndim:
            continue
        if actual.shape != value.shape or actual.dtype != value.dtype:
            return worst, (f"output '{name}' is {actual.dtype}{list(actual.shape)},"
                           f" expected {value.dtype}{list(value.shape)}")
        absolute, relative, agree = errors(actual, value, args.rtol, args.atol)
        worst = max(worst[0], absolute), max(worst[1], relative)
        if not agree:
            return worst, f"output '{name}' has max abs err {absolute:.2e}"
    return worst, None


def compare(name, model, args, folder):
    path, artifact = folder / "model.onnx", folder / "model.so"
    model.make(path)
    run(["lumenc", path, "-o", artifact, f"--target=cpu:{args.level}", *model.bindings,
         *args.flags])
    if model.reference:
        path = folder / "reference.onnx"
        model.reference(path)
    session = session_of(path)
    feeds = list(steps_of(model, session, args.seed))
    command = ["lumen-run", artifact, "--threads", args.threads, "--save-outputs", folder / "out"]
    for source, target in model.carried.items():
        command += ["--carry", f"{source}={target}"]
    for index, feed in enumerate(feeds):
        (folder / f"in{index}").mkdir()
        for input_name, value in feed.items():
            np.save(output_file(folder / f"in{index}", input_name), value)
        command += ["--inputs", folder / f"in{index}"]
    run(command, env=dict(os.environ, LUMEN_CPU_LEVEL=args.level))

    row = {"model": name, "level": args.level, "threads": args.threads, "max_abs": 0.0,
           "max_rel": 0.0, "result": "ok", "steps": len(feeds)}
    for index, (feed, expected) in enumerate(zip(feeds, reference(model, session, feeds))):
        outputs = folder / "out" / (str(index) if len(feeds) > 1 else "")
        worst, wrong = compare_step(outputs, expected, args)
        row.update(max_abs=max(row["max_abs"], worst[0]), max_rel=max(row["max_rel"], worst[1]))
        if wrong:
            shapes = ", ".join(f"{key}{list(value.shape)}" for key, value in feed.items())
            print(f"{name}: step {index} ({shapes}): {wrong}")
            row["result"] = "WRONG"
    return row


def main():
    dynamic = [name for name, model in MODELS.items() if model.steps]
    parser = argparse.ArgumentParser(description="Runs models of dynamic shapes against ONNX"
                                                 " Runtime.", epilog="What follows -- goes to"
                                                                     " lumenc.")
    parser.add_argument("models", nargs="+", metavar="NAME", help=", ".join(dynamic))
    parser.add_argument("--level", default="v3")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, default=1e-4,
                        help="scaled down by the largest output where that is below one")
    parser.add_argument("--seed", type=int, default=1)
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:end])
    args.flags = words[end + 1:]
    args.level = LEVELS.get(args.level, args.level)
    unknown = [name for name in args.models if name not in dynamic]
    if unknown:
        sys.exit(f"{unknown[0]} is none of: {', '.join(dynamic)}")
    missing = sorted(LEVEL_FLAGS[args.level] - cpu_flags())
    if missing:
        sys.exit(f"this CPU has no {missing[0]}, which {args.level} needs")

    os.environ["PATH"] += f"{os.pathsep}{ROOT / 'build/bin'}"
    rows = []
    for name in args.models:
        with tempfile.TemporaryDirectory(prefix="lumen-dynamic-") as folder:
            rows.append(compare(name, MODELS[name], args, Path(folder)))
        row = rows[-1]
        print(f"{name:<20} {row['level']:<10} {row['threads']} threads  {row['steps']:>3} steps"
              f"  max abs err {row['max_abs']:.2e}  max rel err {row['max_rel']:.2e}"
              f"  {row['result']}")
    if "LUMEN_RESULTS" in os.environ:
        with open(os.environ["LUMEN_RESULTS"], "a") as results:
            results.write("".join(json.dumps(row) + "\n" for row in rows))
    sys.exit(any(row["result"] == "WRONG" for row in rows))


if __name__ == "__main__":
    main()
