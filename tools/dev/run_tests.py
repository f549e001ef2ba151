"""Runs Lumen's tests; `tools/test` calls it once everything is installed.

A test is known to ctest (the unit tests) or to lit (everything else); a step
below is one run of either over one build. The two tiers differ in what lit's
feature `full` and the environment allow, and in how long the fuzzers run.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/ptx"))
import assemble

BUILD = ROOT / "build"
RESULTS = BUILD / "test-results"

Outcome = namedtuple("Outcome", "passed failed skipped")  # lists of test names

# LLVM itself is not instrumented: containers that cross its border look overflown,
# and memory that its allocators hand out looks poisoned. Its threads have signal
# stacks of their own, which the sanitizer would unmap as if they were its.
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_container_overflow=0:detect_leaks=0:allow_user_poisoning=0"
                    ":allocator_may_return_null=1:use_sigaltstack=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}

# Unit tests whose code is our own from end to end, so that a sanitizer's word
# about them is worth its time. The targets are the folders of test/unit.
SANITIZED = {"asan": ["runtime", "devices", "import", "link", "memory"], "tsan": ["runtime", "devices"]}


def run(command, env=None):
    """Runs `command`, showing its output; returns its exit status."""
    sys.stdout.flush()
    return subprocess.run([str(word) for word in command], cwd=ROOT, env=env).returncode


def build(preset, targets=()):
    return run([ROOT / "tools/dev/build", preset, *targets]) == 0


def run_ctest(directory, name, jobs, selection, env):
    """Runs the selected tests of a build directory; a report tells what became of each."""
    report = RESULTS / f"{name}.xml"
    command = ["ctest", "--test-dir", directory, "-j", jobs, "--output-on-failure",
               "--no-tests=ignore", "--output-junit", report, *selection]
    report.unlink(missing_ok=True)
    status = run(command, env)
    outcome = Outcome([], [], [])
    if report.exists():
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            kind = {"run": outcome.passed, "fail": outcome.failed}.get(
                case.get("status"), outcome.skipped)
            # A test that did not build is not run: that is a failure, not a skip.
            if case.get("status") == "notrun" and case.get("name").endswith("_NOT_BUILT"):
                kind = outcome.failed
            kind.append(f"{name}: {case.get('name')}")
    if status != 0 and not outcome.failed:
        outcome.failed.append(f"{name}: ctest exited with status {status}")
    return outcome


def make_artifacts(folder):
    """Compiles the models that unit tests of devices run."""
    models = ["small", "loop-if", "loop-nested", "bert2"]
    folder.mkdir(parents=True, exist_ok=True)
    python = BUILD / "venv/bin/python"
    return run([python, ROOT / "test/models/models.py", folder, *models]) == 0 and all(
        run([BUILD / "bin/lumenc", folder / f"{model}.onnx", "--target=cpu,spirv,metal", "-o",
             folder / f"{model}.so"]) == 0 for model in models)


def run_lit(args, env):
    report = RESULTS / "lit.json"
    report.unlink(missing_ok=True)
    (RESULTS / "models.jsonl").unlink(missing_ok=True)
    command = [BUILD / "venv/bin/lit", "-j", args.jobs, "--verbose", "--time-tests",
               "--param", f"tier={args.tier}", "--output", report, BUILD / "test"]
    if args.filter:
        command += ["--filter", args.filter, "--allow-empty-runs"]
    status = run(command, env)
    outcome = Outcome([], [], [])
    if report.exists():
        for test in json.loads(report.read_text())["tests"]:
            kind = {"PASS": outcome.passed, "XFAIL": outcome.passed, "FLAKYPASS": outcome.passed,
                    "UNSUPPORTED": outcome.skipped, "SKIPPED": outcome.skipped}
            if test["code"] != "EXCLUDED":
                kind.get(test["code"], outcome.failed).append(f"lit: {test['name']}")
    if status != 0 and not outcome.failed:
        outcome.failed.append(f"lit: exited with status {status}")
    return outcome


def model_rows():
    """What test/models/compare.py recorded, one row per model, level and thread count."""
    path = RESULTS / "models.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return sorted(rows, key=lambda row: (row["model"], row["level"], row["threads"]))


def print_models(rows):
    if not rows:
        return
    print("\nmodels compared with ONNX Runtime")
    print(f"  {'model':<20} {'level':<12} {'threads':>7} {'max abs err':>12} {'max rel err':>12}"
          "  result")
    for row in rows:
        if row["result"] == "skipped":
            print(f"  {row['model']:<20} {row['level']:<12} {row['threads']:>7} {'':>12} {'':>12}"
                  f"  skipped: {row['reason']}")
        else:
            print(f"  {row['model']:<20} {row['level']:<12} {row['threads']:>7}"
                  f" {row['max_abs']:>12.2e} {row['max_rel']:>12.2e}  {row['result']}")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="tools/test", description="Builds Lumen and runs its tests.")
    parser.add_argument("--tier", choices=["ci", "full"], default="ci",
                        help="ci: what every change must pass (default); full: all there is")
    parser.add_argument("--filter", metavar="REGEX", help="run only the tests whose name matches")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="tests that run at once (default: one per core)")
    return parser.parse_args()


def main():
    args = parse_arguments()
    RESULTS.mkdir(parents=True, exist_ok=True)
    env = dict(os.environ, LUMEN_TEST_TIER=args.tier, LUMEN_RESULTS=str(RESULTS / "models.jsonl"),
               LUMEN_FUZZ_RUNS="10000" if args.tier == "full" else "300", **SANITIZER_OPTIONS)
    total = Outcome([], [], [])

    def step(title, action):
        print(f"\n== {title}", flush=True)
        start = time.monotonic()
        outcome = action()
        if isinstance(outcome, bool):
            outcome = Outcome([], [] if outcome else [f"{title}: failed"], [])
        for names, more in zip(total, outcome):
            names.extend(more)
        print(f"== {title}: {time.monotonic() - start:.0f} s", flush=True)
        return not outcome.failed

    # An assembler for NVIDIA's devices: without one its tests are skipped.
    if not assemble.find_ptxas():
        run([ROOT / "tools/dev/bootstrap", "ptx"])
    if step("build", lambda: build("dev")):
        artifacts = RESULTS / "artifacts"
        # A filter asks for a quick answer about some test.
        if not args.filter and step("artifacts", lambda: make_artifacts(artifacts)):
            env["LUMEN_ARTIFACTS"] = str(artifacts)
        selection = ["-R", args.filter] if args.filter else []
        step("unit tests", lambda: run_ctest(BUILD, "unit", args.jobs, selection, env))
        step("lit", lambda: run_lit(args, env))
    for preset, rooms in SANITIZED.items():
        # No second build for a quick answer.
        if args.filter and not re.search(args.filter, preset):
            continue
        targets = [f"unit-{room}" for room in rooms]
        if step(f"build {preset}", lambda: build(preset, targets)):
            selection = ["-L", "^(" + "|".join(rooms) + ")$"]
            step(f"unit tests under {preset}",
                 lambda: run_ctest(ROOT / f"build-{preset}", preset, args.jobs, selection, env))

    rows = model_rows()
    print_models(rows)
    total.skipped.extend(f"models: {row['model']} at {row['level']}, {row['threads']} threads:"
                         f" {row['reason']}" for row in rows if row["result"] == "skipped")
    print()
    for name in total.skipped:
        print(f"skipped: {name}")
    for name in total.failed:
        print(f"failed: {name}")
    print(f"{len(total.passed)} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
