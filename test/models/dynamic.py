"""Runs models of dynamic shapes, or with a state, against ONNX Runtime.

dynamic.py NAMES... [--level LEVEL] [--threads N] [--samples N] [--static] [--rtol R]
           [--atol A] [--asan RUNTIME] [-- FLAGS]

A model is compiled once. Its steps (see models.py) then run one after the other
in one context of lumen-run, with other shapes or a state that each carries from
its own step before, and every output of every step is compared. --samples adds
as many runs of random sizes. --static compiles the model anew for the shapes of
each step instead. --asan lets the kernels check every access to memory, with the library
of AddressSanitizer's runtime preloaded; '' where lumen-run has it. What follows `--` goes
to lumenc.

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

from compare import (DTYPES, LEVELS, LEVEL_FLAGS, ROOT, check_device, environment, errors,
                     load_value, machine_flags, parse, run, save_value, targets)
from models import MODELS

SMALL_ARENA = 16 * 1024  # bytes


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def steps_of(model, session, seed, samples=0):
    """Each step's inputs, as arrays of the types that the model wants."""
    types = {value.name: DTYPES[value.type] for value in session.get_inputs()}
    rng = np.random.default_rng(seed)
    for feed in [*model.steps(rng), *(model.sample(rng) for _ in range(samples))]:
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


def is_of_no_trip(value, actual, axis):
    """Whether both are what a Loop stacks along an axis in no trip. No trip says then what
    the other extents are: any will do."""
    return (value.dtype == actual.dtype and value.ndim == actual.ndim
            and value.shape[axis] == actual.shape[axis] == 0)


def compare_step(outputs, expected, stacked, args):
    """The largest errors of a step, and what is wrong with it or None."""
    worst = (0.0, 0.0)
    for name, value in expected.items():
        actual = load_value(outputs, name)
        if name in stacked and is_of_no_trip(value, actual, stacked[name]):
            continue
        if actual.shape != value.shape or actual.dtype != value.dtype:
            return worst, (f"output '{name}' is {actual.dtype}{list(actual.shape)},"
                           f" expected {value.dtype}{list(value.shape)}")
        absolute, relative, agree = errors(actual, value, args.rtol, args.atol)
        worst = max(worst[0], absolute), max(worst[1], relative)
        if not agree:
            return worst, f"output '{name}' has max abs err {absolute:.2e}"
    return worst, None


def hangs_on_rounding(session, feed, expected, args):
    """Whether ONNX Runtime itself decides otherwise (which box has the higher score, which
    word the higher probability) where the input changes by some millionths."""
    rng = np.random.default_rng(0)
    for _ in range(16):
        moved = {name: (value * (1 + 3e-6 * rng.standard_normal(value.shape))).astype(value.dtype)
                 if value.dtype.kind == "f" else value for name, value in feed.items()}
        for name, value in zip(expected, session.run(list(expected), moved)):
            if (value.shape != expected[name].shape
                    or not errors(value, expected[name], args.rtol, args.atol)[2]):
                return True
    return False


def whole_feeds(model, feeds, results):
    """Each step's inputs with what it carries from the step before, as ONNX Runtime has it."""
    state = {}
    for feed, result in zip(feeds, results):
        yield {**state, **feed}
        state = {target: result[source] for source, target in model.carried.items()}


def compile_model(path, artifact, model, args, feed=None):
    """With a feed, for its shapes alone."""
    shapes = [word for name, value in (feed or {}).items() if value.ndim
              for word in ("--shape", f"{name}={'x'.join(map(str, value.shape))}")]
    sanitize = [] if args.asan is None else ["--sanitize=address"]
    run(["lumenc", path, "-o", artifact, f"--target={targets([args.level])}", *model.bindings, *shapes,
         *sanitize, *args.flags])


def run_steps(artifact, feeds, carried, args, folder):
    """Runs the steps in one context; yields of each the folder of outputs, and the memory."""
    command = ["lumen-run", artifact, "--threads", args.threads, "--save-outputs", folder / "out",
               "--memory", "--json"]
    for source, target in carried.items() if len(feeds) > 1 else ():
        command += ["--carry", f"{source}={target}"]
    for index, feed in enumerate(feeds):
        (folder / f"in{index}").mkdir(parents=True)
        for name, value in feed.items():
            save_value(folder / f"in{index}", name, value)
        command += ["--inputs", folder / f"in{index}"]
    check_device(artifact, args.level)
    env = environment(args.level)
    if args.asan is not None:
        env["LD_PRELOAD"] = args.asan
    report = json.loads(run(command, env=env))
    for index, step in enumerate(report.get("runs", [report])):
        yield folder / "out" / (str(index) if len(feeds) > 1 else ""), step["memory"]


def run_static(path, feeds, model, args, folder):
    """Runs each step in an artifact for its shapes alone."""
    artifacts = {}
    for index, feed in enumerate(feeds):
        key = tuple((name, value.shape) for name, value in feed.items())
        if key not in artifacts:
            artifacts[key] = folder / f"model{len(artifacts)}.so"
            compile_model(path, artifacts[key], model, args, feed)
        yield from run_steps(artifacts[key], [feed], {}, args, folder / f"step{index}")


def compare(name, model, args, folder):
    path, artifact = folder / "model.onnx", folder / "model.so"
    model.make(path)
    reference_path = path
    if model.reference:
        reference_path = folder / "reference.onnx"
        model.reference(reference_path)
    session = session_of(reference_path)
    feeds = list(steps_of(model, session, args.seed, args.samples))[:args.steps]
    results = list(reference(model, session, feeds))
    if args.static:
        feeds = list(whole_feeds(model, feeds, results))
        folders = run_static(path, feeds, model, args, folder)
    else:
        compile_model(path, artifact, model, args)
        folders = run_steps(artifact, feeds, model.carried, args, folder)

    row = {"model": name, "level": args.level, "threads": args.threads, "max_abs": 0.0,
           "max_rel": 0.0, "result": "ok", "steps": len(feeds), "arena_to_bound": 1.0,
           "undecided": 0}
    for index, (feed, expected, (outputs, memory)) in enumerate(zip(feeds, results, folders)):
        worst, wrong = compare_step(outputs, expected, model.stacked, args)
        if wrong and not model.carried and hangs_on_rounding(session, feed, expected, args):
            # Such runs are rare: many would be a mistake that this hides.
            row["undecided"] += 1
            if row["undecided"] <= 1 + len(feeds) // 100:
                continue
        # Slots start on multiples of 64 bytes: of small arenas that is more than 5%.
        arena, bound = memory["arena_bytes"], memory["arena_lower_bound_bytes"]
        slack = 1024 if bound < SMALL_ARENA else 0
        if not wrong and arena > 1.05 * bound + slack:
            wrong = f"the arena has {arena} bytes, its lower bound is {bound}"
        row.update(max_abs=max(row["max_abs"], worst[0]), max_rel=max(row["max_rel"], worst[1]),
                   arena_to_bound=max(row["arena_to_bound"], arena / max(bound, 1)))
        if wrong:
            shapes = ", ".join(f"{key}{list(value.shape)}" for key, value in feed.items())
            print(f"{name}: step {index} ({shapes}): {wrong}")
            row["result"] = "WRONG"
    return row


def arguments(parser):
    """The command line with what `compare` reads, but for the number of samples."""
    parser.add_argument("--level", default="v3")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, metavar="N", help="the first N steps only")
    parser.add_argument("--static", action="store_true")
    parser.add_argument("--asan", metavar="RUNTIME")
    args = parse(parser)
    args.level = LEVELS.get(args.level, args.level)
    missing = sorted(LEVEL_FLAGS[args.level] - machine_flags())
    if missing:
        sys.exit(f"this machine has no {missing[0]}, which {args.level} needs")
    os.environ["PATH"] += f"{os.pathsep}{ROOT / 'build/bin'}"
    return args


def main():
    dynamic = [name for name, model in MODELS.items() if model.steps]
    parser = argparse.ArgumentParser(description="Runs models of dynamic shapes against ONNX"
                                                 " Runtime.", epilog="What follows -- goes to"
                                                                     " lumenc.")
    parser.add_argument("models", nargs="+", metavar="NAME", help=", ".join(dynamic))
    parser.add_argument("--samples", type=int, default=0, metavar="N")
    args = arguments(parser)
    unknown = [name for name in args.models if name not in dynamic]
    if unknown:
        sys.exit(f"{unknown[0]} is none of: {', '.join(dynamic)}")
    fixed = [name for name in args.models if args.samples and not MODELS[name].sample]
    if fixed:
        sys.exit(f"{fixed[0]} has no random sizes")

    rows = []
    for name in args.models:
        with tempfile.TemporaryDirectory(prefix="lumen-dynamic-") as folder:
            rows.append(compare(name, MODELS[name], args, Path(folder)))
        row = rows[-1]
        print(f"{name:<20} {row['level']:<10} {row['threads']} threads  {row['steps']:>3} steps"
              f"  max abs err {row['max_abs']:.2e}  max rel err {row['max_rel']:.2e}"
              f"  arena / bound {row['arena_to_bound']:.3f}  {row['result']}"
              + (f", but for {row['undecided']} runs that hang on rounding"
                 if row["undecided"] else ""))
    if "LUMEN_RESULTS" in os.environ:
        with open(os.environ["LUMEN_RESULTS"], "a") as results:
            results.write("".join(json.dumps(row) + "\n" for row in rows))
    sys.exit(any(row["result"] == "WRONG" for row in rows))


if __name__ == "__main__":
    main()
