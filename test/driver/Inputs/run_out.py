"""Runs a model on a weak device (weak_device.h) that runs out of memory at each of its calls in
turn. A run fails by a named error or gives the right result, and leaves nothing behind.
Usage: run_out.py DEVICE MODEL EXPECTED [ARGUMENT...]"""
import os
import re
import subprocess
import sys

device, model, expected, *arguments = sys.argv[1:]
failed = passed = 0
for at in range(1, 1000):
    done = subprocess.run(
        ["lumen-run", model, f"--device={device}", "--threads=1", "--expect", expected, *arguments],
        text=True, capture_output=True, env={**os.environ, "WEAK_DEVICE": f"fail={at}"})
    if ": 0 objects are left" not in done.stderr:
        sys.exit(f"call {at} leaves something behind:\n{done.stdout}{done.stderr}")
    ran_out = ": out of memory" in done.stderr
    if done.returncode == 0 and "as expected" in done.stdout:
        passed += ran_out
    elif not ran_out or done.returncode != 1 or not re.search(
            r"^lumen-run: error: .*\S", done.stderr, re.MULTILINE):
        sys.exit(f"call {at} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    else:
        failed += 1
    if not ran_out:
        break
else:
    sys.exit("1000 calls, and no end")
print(f"{failed} runs failed by name, {passed} did without")
