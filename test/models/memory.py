"""memory.py NAMES...: compares lumenc's memory plans with the graph's lower bound.

Fails where an arena is more than 5% above the bound that lower_bound.py
computes, or the fully connected net needs more than two live buffers.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from lower_bound import analyse
from models import MODELS


def most_live(buffers):
    steps = {buffer["first_launch"] for buffer in buffers}
    return max(sum(1 for b in buffers if b["first_launch"] <= step <= b["last_launch"])
               for step in steps)


failed = False
print(f"{'model':<22} {'arena':>10} {'bound':>10} {'lumenc bound':>12} {'unshared':>10} live")
for name in sys.argv[1:]:
    model = MODELS[name]
    with tempfile.TemporaryDirectory(prefix="lumen-memory-") as folder:
        path, report = Path(folder) / "model.onnx", Path(folder) / "memory.json"
        model.make(path)
        subprocess.run(["lumenc", path, "-o", Path(folder) / "model.so", *model.bindings,
                        f"--memory-report={report}"], check=True)
        plan = json.loads(report.read_text())
        bound = analyse(path, model.shapes)["lower_bound_bytes"]
    live = most_live(plan["buffers"])
    good = plan["arena_bytes"] <= 1.05 * bound and (name != "mlp" or live <= 2)
    failed |= not good
    print(f"{name:<22} {plan['arena_bytes']:>10} {bound:>10} {plan['arena_lower_bound_bytes']:>12}"
          f" {plan['bytes_without_sharing']:>10} {live:>4}{'' if good else '  TOO MUCH'}")
sys.exit(failed)
