"""Runs models that exporters write from their frameworks against ONNX Runtime.

exported.py torch|keras|sklearn [NAMES...] [--level LEVEL] [--threads N] [--steps N]
            [--static] [--asan RUNTIME] [-- FLAGS]

The frameworks live in an environment of their own, build/venv-torch, build/venv-keras
or build/venv-sklearn (tools/dev/bootstrap makes it), where exporters/KIND_models.py
writes the models and inputs of several runs, of different sizes. Each model is
compiled once, as exported, and every output of every run is compared. The last
line tells how many agree.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import dynamic
from compare import ROOT, run
from models import Model

EXPORTERS = Path(__file__).parent / "exporters"


def feeds_of(path):
    feeds = {}
    with np.load(path) as arrays:
        for key, value in arrays.items():
            step, name = key.split("/", 1)
            feeds.setdefault(int(step), {})[name] = value
    return [feeds[step] for step in sorted(feeds)]


def main():
    parser = argparse.ArgumentParser(description="Runs exported models against ONNX Runtime.",
                                     epilog="What follows -- goes to lumenc.")
    parser.add_argument("kind", choices=["torch", "keras", "sklearn"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.set_defaults(samples=0)
    args = dynamic.arguments(parser)

    with tempfile.TemporaryDirectory(prefix="lumen-exported-") as name:
        folder = Path(name)
        run([ROOT / f"build/venv-{args.kind}/bin/python", "-W", "ignore",
             EXPORTERS / f"{args.kind}_models.py", folder, *args.names])
        paths = sorted(folder.glob("*.onnx"))
        agreed = 0
        for path in paths:
            feeds = feeds_of(path.with_suffix(".npz"))
            model = Model(lambda to, path=path: to.write_bytes(path.read_bytes()),
                          steps=lambda rng, feeds=feeds: feeds)
            start = time.monotonic()
            try:
                with tempfile.TemporaryDirectory(prefix="lumen-exported-") as scratch:
                    row = dynamic.compare(path.stem, model, args, Path(scratch))
            except SystemExit as error:  # a model that does not compile hides no other
                row = {"result": "FAILED"}
                print(f"{path.stem}: {error}")
            agreed += row["result"] == "ok"
            figures = (f"{row['steps']} runs  max abs err {row['max_abs']:.2e}"
                       f"  max rel err {row['max_rel']:.2e}" if "steps" in row else "")
            print(f"{path.stem:<24} {path.stat().st_size / 1e6:7.1f} MB"
                  f" {time.monotonic() - start:6.1f} s  {figures}  {row['result']}", flush=True)
    print(f"{agreed} of {len(paths)} models of {args.kind} agree")
    sys.exit(not paths or agreed != len(paths))


if __name__ == "__main__":
    main()
