"""check_artifact.py MODEL.so NAME: what an artifact may need and export."""

import os
import re
import subprocess
import sys

path, name = sys.argv[1:]


def readelf(*flags):
    return subprocess.run(["llvm-readelf", "--wide", *flags, path], stdout=subprocess.PIPE,
                          text=True, check=True).stdout


dynamic = readelf("--dynamic")
needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
assert needed <= {"libc.so.6", "libm.so.6"}, f"needs {needed}"
assert f"[{os.path.basename(path)}]" in dynamic, "the soname is not the file's name"
assert "TEXTREL" not in dynamic, "text relocations"
assert not re.search(r"\((RPATH|RUNPATH)\)", dynamic), "a search path of the build host"

versions = re.findall(r"GLIBC_([0-9.]+)", readelf("--version-info"))
newest = max(tuple(map(int, version.split("."))) for version in versions)
assert newest <= (2, 34), f"needs GLIBC {newest}"

exported = [line.split()[-1].split("@")[0] for line in readelf("--dyn-syms").splitlines()
            if re.search(r"\b(GLOBAL|WEAK)\b", line) and not re.search(r"\bUND\b", line)]
assert exported == [f"lumen_module_{name}"], f"exports {exported}"

segments = readelf("--program-headers")
assert not re.search(r"(LOAD|GNU_STACK).*\bRWE\b", segments), "writable and executable memory"
print(f"needs {sorted(needed)}, GLIBC up to {newest[0]}.{newest[1]}, exports {exported[0]}")
