"""Measures what a model of dynamic shapes costs beside its static twins.

twins.py [MODELS...] [--threads N] [--shapes S] [--rounds R] [--runs N]

For each shape of the model's steps (see test/models/models.py), a twin is
compiled for that shape alone. Rounds of both alternate; a figure is the median
of the rounds' medians. `new shape` is the first run at a shape in a context
that has run at another, less a later run: the time to plan it.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/models"))

import numpy as np  # noqa: E402
from compare import output_file  # noqa: E402
from dynamic import reference, session_of, steps_of, whole_feeds  # noqa: E402
from models import MODELS  # noqa: E402

DEFAULT = ["bert2", "gpt-kv", "detector", "ppocr-rec"]


def lumen(program, *arguments):
    return subprocess.run([ROOT / "build/bin" / program, *map(str, arguments)],
                          stdout=subprocess.PIPE, check=True).stdout


def shapes_of(model, path, count):
    """The inputs of the first step of each of `count` shapes."""
    session = session_of(path)
    feeds = list(steps_of(model, session, seed=1))
    found = {}
    for feed in whole_feeds(model, feeds, reference(model, session, feeds)):
        found.setdefault(tuple((name, value.shape) for name, value in feed.items()), feed)
    return list(found.values())[:count]


def bench(artifact, folders, args):
    """Milliseconds of a run on the last folder's inputs, and of the first run on them."""
    inputs = [word for folder in folders for word in ("--inputs", folder)]
    report = json.loads(lumen("lumen-run", artifact, *inputs, "--bench", args.runs, "--threads",
                              args.threads, "--json"))
    first = report["runs"][-1]["ms"] if len(folders) > 1 else None
    return report["bench"]["median_ms"], first


def measure(name, args, folder):
    model = MODELS[name]
    path = folder / "model.onnx"
    model.make(path)
    lumen("lumenc", path, "-o", folder / "dynamic.so", *model.bindings)
    feeds = shapes_of(model, path, args.shapes)
    folders = []
    for index, feed in enumerate(feeds):
        folders.append(folder / f"in{index}")
        folders[-1].mkdir()
        for input_name, value in feed.items():
            np.save(output_file(folders[-1], input_name), value)
    for index, feed in enumerate(feeds):
        shapes = {key: "x".join(map(str, value.shape)) for key, value in feed.items() if value.ndim}
        twin = folder / f"static{index}.so"
        flags = [word for key, shape in shapes.items() for word in ("--shape", f"{key}={shape}")]
        lumen("lumenc", path, "-o", twin, *flags)
        ours, static, planning = [], [], []
        other = folders[index - 1]
        for _ in range(args.rounds):
            again, first = bench(folder / "dynamic.so", [other, folders[index]], args)
            ours.append(again)
            planning.append(first - again)
            static.append(bench(twin, [folders[index]], args)[0])
        dynamic_ms, static_ms = statistics.median(ours), statistics.median(static)
        print(f"{name:<16} {' '.join(shapes.values()):<40.40} dynamic {dynamic_ms:8.3f} ms"
              f"  static {static_ms:8.3f} ms  overhead {100 * (dynamic_ms / static_ms - 1):+6.1f}%"
              f"  new shape {statistics.median(planning):7.3f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Measures dynamic models beside static twins.")
    parser.add_argument("models", nargs="*", default=DEFAULT, help="names of test/models/models.py")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shapes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=50, help="runs in a round")
    args = parser.parse_args()
    for name in args.models:
        with tempfile.TemporaryDirectory(prefix="lumen-twins-") as folder:
            measure(name, args, Path(folder))


if __name__ == "__main__":
    main()
