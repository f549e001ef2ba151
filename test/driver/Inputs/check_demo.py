"""check_demo.py SOURCE_DIR TMP: runs tools/demo and asks magika about the same files."""

import random
import subprocess
import sys
from pathlib import Path

from magika import Magika

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)

noise = random.Random(7)
made = {
    "empty": b"",
    "short.txt": b"hello",
    "short.bin": b"\xff\xfe\x00",
    "surrogate": b"a\xed\xa0\x80",
    "blank": b" \n\t" * 50,
    "padded": b"   \n" * 2000 + b"def f(x):\n    return x + 1\n" + b"\n" * 5000,
    "seven.txt": b"  seven77  ",
    "noise": noise.randbytes(10000),
    "exactly.csv": (b"a,b,c\n1,2,3\n" * 400)[:4096],
}
for name, content in made.items():
    (folder / name).write_bytes(content)
files = [folder / name for name in made]
files += sorted(path for pattern in ("tools/*", "tools/dev/*", "runtime-lite/src/*.c", "docs/*.md",
                                     "dialects/*/*.td", "test/models/*.py", "*.txt", "*.json")
                for path in source.glob(pattern) if path.is_file())

output = subprocess.run([source / "tools/demo", *files], stdout=subprocess.PIPE, text=True,
                        check=True).stdout
rows = {}
for line in output.splitlines()[1:]:
    path, label, score = line.rsplit(None, 2)
    rows[path] = (label, float(score))
print(output)

wrong = 0
for path, result in zip(files, Magika().identify_paths(files)):
    label, score = rows[str(path)]
    if label != str(result.output.label) or abs(score - result.score) > 5e-4:
        print(f"{path}: {label} {score}, magika says {result.output.label} {result.score:.4f}")
        wrong += 1
sys.exit(wrong > 0 or len(rows) != len(files))
