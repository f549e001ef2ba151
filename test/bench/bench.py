"""Measures compiled models beside ONNX Runtime in one run.

bench.py [MODELS...] [--threads 1,2] [--rounds R] [--runs N] [--json FILE] [--bin DIR]

Rounds of lumen-run and of ONNX Runtime alternate, so that both see the same
machine; a figure is the median of the rounds' medians, and its spread the
distance between the rounds' extremes in percent of it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Settings of other libraries' kernels would change what is compared.
for variable in ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_NUM_THREADS"]:
    os.environ.pop(variable, None)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/models"))

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
from compare import random_inputs  # noqa: E402
from lower_bound import analyse  # noqa: E402
from models import MODELS  # noqa: E402

DEFAULT = ["filled-resnet50", "mobilenetv2", "filled-squeezenet", "mlp"]


# A process's peak starts at that of the one it was forked from, so a small one is put between.
MEASURE = """
import resource, subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[1:], check=True)
print(time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def measured(command):
    """Runs a command; returns its seconds and its peak memory in bytes."""
    result = subprocess.run([sys.executable, "-c", MEASURE, *map(str, command)],
                            stdout=subprocess.PIPE, text=True, check=True)
    seconds, peak = result.stdout.split()
    return float(seconds), int(peak)


def onnxruntime_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def spread(values):
    return 100 * (max(values) - min(values)) / statistics.median(values)


def interleave(bin_dir, artifact, inputs, path, feed, threads, args):
    """Milliseconds of both, one figure a round."""
    ours, theirs = [], []
    session = onnxruntime_session(path, threads)
    for _ in range(3):
        session.run(None, feed)
    for _ in range(args.rounds):
        report = json.loads(subprocess.run(
            [bin_dir / "lumen-run", artifact, *inputs, "--bench", str(args.runs), "--threads",
             str(threads), "--json"], stdout=subprocess.PIPE, check=True).stdout)
        ours.append(report["bench"]["median_ms"])
        session.run(None, feed)  # its threads slept
        times = []
        for _ in range(args.runs):
            start = time.perf_counter()
            session.run(None, feed)
            times.append(1e3 * (time.perf_counter() - start))
        theirs.append(statistics.median(times))
        time.sleep(0.1)  # its threads spin on for a while
    return ours, theirs


def bench(name, args, folder):
    model = MODELS[name]
    path, artifact = folder / "model.onnx", folder / "model.so"
    model.make(path)
    command = [args.bin / "lumenc", path, "-o", artifact, *model.bindings]
    compile_seconds, compile_bytes = measured(
        [*command, f"--memory-report={folder / 'memory.json'}"])
    memory = json.loads((folder / "memory.json").read_text())
    signature = json.loads(subprocess.run(
        [args.bin / "lumen-run", artifact, "--signature", "--json"], stdout=subprocess.PIPE,
        check=True).stdout)["signature"]
    row = {
        "model": name,
        "compile_s": compile_seconds,
        "compile_peak_bytes": compile_bytes,
        "weights_bytes": signature["weights_bytes"],
        "file_bytes": artifact.stat().st_size,
        "file_minus_weights_bytes": artifact.stat().st_size - signature["weights_bytes"],
        "arena_bytes": signature["arena_bytes"],
        "scratch_bytes_per_thread": signature["scratch_bytes_per_thread"],
        "bound_of_lumenc_bytes": memory["arena_lower_bound_bytes"],
        "bound_of_graph_bytes": analyse(path, model.shapes)["lower_bound_bytes"],
        "bytes_without_sharing": signature["bytes_without_sharing"],
        "level": signature["level"],
        "runs": [],
    }
    feed = random_inputs(onnxruntime_session(path, 1), model, seed=1)
    inputs = []
    for index, (input_name, value) in enumerate(feed.items()):
        np.save(folder / f"input{index}.npy", value)
        inputs += ["--input", f"{input_name}=@{folder}/input{index}.npy"]
    for threads in args.threads:
        ours, theirs = interleave(args.bin, artifact, inputs, path, feed, threads, args)
        row["runs"].append({
            "threads": threads,
            "lumen_ms": statistics.median(ours), "lumen_spread_percent": spread(ours),
            "onnxruntime_ms": statistics.median(theirs),
            "onnxruntime_spread_percent": spread(theirs),
            "ratio": statistics.median(theirs) / statistics.median(ours)})
    return row


def runtime_core_bytes(bin_dir):
    """Code and data of the runtime that every artifact carries."""
    archive = bin_dir.parent / "lib/liblumen_runtime.a"
    lines = subprocess.run(["llvm-size-22", str(archive)], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()[1:]
    return sum(int(number) for line in lines for number in line.split()[:2])


def table(title, columns, rows):
    print(f"\n{title}")
    widths = [max(len(head), *(len(row[i]) for row in rows)) for i, head in enumerate(columns)]
    for row in [columns, *rows]:
        cells = [cell.ljust(w) if i == 0 else cell.rjust(w)
                 for i, (cell, w) in enumerate(zip(row, widths))]
        print("  " + "  ".join(cells).rstrip())


def kilobytes(size):
    return f"{size / 1024:,.0f}"


def main():
    parser = argparse.ArgumentParser(description="Measures models beside ONNX Runtime.")
    parser.add_argument("models", nargs="*", default=DEFAULT, help="names of test/models/models.py")
    parser.add_argument("--threads", default="1,2",
                        type=lambda text: [int(count) for count in text.split(",")])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=15, help="runs in a round")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin")
    args = parser.parse_args()

    rows = []
    for name in args.models:
        with tempfile.TemporaryDirectory(prefix="lumen-bench-") as folder:
            rows.append(bench(name, args, Path(folder)))
    core = runtime_core_bytes(args.bin)

    table("speed (ratio: time of ONNX Runtime / time of Lumen)",
          ["model", "threads", "lumen ms", "spread", "ONNX Runtime ms", "spread", "ratio"],
          [[row["model"], str(run["threads"]), f"{run['lumen_ms']:.2f}",
            f"{run['lumen_spread_percent']:.0f}%", f"{run['onnxruntime_ms']:.2f}",
            f"{run['onnxruntime_spread_percent']:.0f}%", f"{run['ratio']:.2f}"]
           for row in rows for run in row["runs"]])
    table("compilation and file",
          ["model", "seconds", "peak MB", "weights MB", "file minus weights KB"],
          [[row["model"], f"{row['compile_s']:.2f}", f"{row['compile_peak_bytes'] / 1e6:.0f}",
            f"{row['weights_bytes'] / 1e6:.1f}", kilobytes(row["file_minus_weights_bytes"])]
           for row in rows])
    table("memory of a run, KB (bounds: of lumenc's kernels, of the ONNX graph)",
          ["model", "arena", "lumenc's bound", "graph's bound", "scratch per thread",
           "without sharing"],
          [[row["model"], *(kilobytes(row[key]) for key in (
              "arena_bytes", "bound_of_lumenc_bytes", "bound_of_graph_bytes",
              "scratch_bytes_per_thread", "bytes_without_sharing"))] for row in rows])
    print(f"\nruntime core: {core:,} bytes of code and data")
    if args.json:
        args.json.write_text(json.dumps({"models": rows, "runtime_core_bytes": core}, indent=2))


if __name__ == "__main__":
    main()
