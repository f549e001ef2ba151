"""reject.py CASE [LUMENC FLAGS...]: compiles a bad model and shows what lumenc says.

Fails unless lumenc refuses the model in an orderly way: an exit status of its
own, nothing on the standard output, and no file left behind.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import bad_models


def main():
    case, flags = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "models"
        folder.mkdir()
        bad_models.CASES[case](folder)
        before = sorted(folder.rglob("*"))
        result = subprocess.run(["lumenc", "model.onnx", "-o", "model.so", *flags], cwd=folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                timeout=120)
        left = sorted(set(folder.rglob("*")) - set(before))
    print(result.stderr, end="")
    if result.returncode not in (1, 2):
        sys.exit(f"exit status {result.returncode}, expected 1 or 2")
    if result.stdout:
        sys.exit(f"standard output: {result.stdout}")
    if left:
        sys.exit(f"left behind: {', '.join(path.name for path in left)}")


if __name__ == "__main__":
    main()
