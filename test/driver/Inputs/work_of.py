"""Prints what --profile counts of the node named in the arguments, from --json on standard input."""
import json
import sys

runs = json.load(sys.stdin)
entry = next(entry for entry in runs["profile"] if sys.argv[1] in entry["nodes"])
nanoseconds = entry["mean_ms"] * 1e6
for unit, rate in (("operations", entry["gflops"]), ("bytes", entry["gbytes_per_s"])):
    print(unit, "unknown" if rate is None else round(rate * nanoseconds))
print("launches in a run", entry["count"] / runs["bench"]["runs"])
print("time adds up", abs(entry["ms_per_run"] * runs["bench"]["runs"]
                          - entry["mean_ms"] * entry["count"]) < 1e-9)
