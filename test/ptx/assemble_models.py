"""Compiles models for NVIDIA's devices and assembles every kernel of them for every level.

assemble_models.py [NAMES...]

Names are those of test/models/models.py; by default all of them. See assemble.py for what is
an error.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
import models

import assemble

LUMENC = Path(os.environ["LUMEN_BINARY_DIR"]) / "bin/lumenc"


def main():
    failed = []
    for name in sys.argv[1:] or models.MODELS:
        model = models.MODELS[name]
        print(f"{name}:", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            source, artifact = Path(folder) / "model.onnx", Path(folder) / f"{name}.so"
            model.make(source)
            subprocess.run([LUMENC, source, "--target=cpu:x86-64-v3,ptx", "-o", artifact,
                            *model.bindings], check=True)
            source.unlink()
            if assemble.check([artifact], assemble.LEVELS, is_each_for_all=True):
                failed.append(name)
    if failed:
        sys.exit(f"wrong: {' '.join(failed)}")


if __name__ == "__main__":
    main()
