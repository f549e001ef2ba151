"""Brings the documentation's generated parts up to date.

gen_docs.py [--check]

Three kinds of parts are generated:
- docs/reference: one page per dialect and pass library, from their .td files.
- passes/onnx-to-lumen/Schemas.inc: the operators of the pinned onnx package.
- In any page, the fenced block after a line `<!-- run: COMMAND -->` is that
  command and what it prints. It runs in a scratch folder which holds models of
  test/models/models.py, with the built programs in PATH. After `<!-- sample:`
  the output may differ from day to day or machine to machine (times, scores).
  A `cd "$ROOT" && ` before the command, `$ROOT/` in it and a ` 2>/dev/null` after it,
  which keeps the progress of a build off the page, are not shown.

--check changes nothing, and fails where a part is out of date; it leaves the
samples out.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx_schemas

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build/bin"
LLVM = Path("/usr/lib/llvm-22")
BLOCK = re.compile(r"(<!-- (run|sample): (.*?) -->\n```\w*\n)(.*?)(^```$)",
                   re.DOTALL | re.MULTILINE)


def tablegen(*arguments):
    return subprocess.run([LLVM / "bin/mlir-tblgen", f"-I{LLVM}/include", f"-I{ROOT}", *arguments],
                          stdout=subprocess.PIPE, text=True, check=True).stdout


def reference_pages():
    """The pages of docs/reference and their contents."""
    pages = {}
    for source in sorted(ROOT.glob("dialects/*/*Ops.td")):
        name = source.parent.name
        pages[f"{name}Dialect.md"] = tablegen("-gen-dialect-doc", f"-dialect={name.lower()}",
                                              source)
    for source in sorted(ROOT.glob("passes/*/Passes.td")):
        title = "".join(word.capitalize() for word in source.parent.name.split("-"))
        pages[f"{title}Passes.md"] = f"# Passes of passes/{source.parent.name}\n\n" + tablegen(
            "-gen-pass-doc", source)
    return {ROOT / "docs/reference" / name: text.replace("[TOC]\n\n", "")
            for name, text in pages.items()}


def run(command, folder):
    env = dict(os.environ, PATH=f"{BIN}:{LLVM}/bin:{os.environ['PATH']}", ROOT=str(ROOT))
    for name in [name for name in env if name.startswith("LUMEN_")]:
        del env[name]
    result = subprocess.run(["bash", "-c", command], cwd=folder, env=env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = result.stdout.replace(str(folder), ".").replace(str(ROOT) + "/", "")
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip() + "\n"


def with_output(text, folder, samples):
    """The page `text` with the output of its commands."""
    def replace(match):
        if match[2] == "sample" and not samples:
            return match[0]
        shown = match[3].removeprefix('cd "$ROOT" && ').removesuffix(" 2>/dev/null")
        shown = shown.replace("$ROOT/", "")
        return f"{match[1]}$ {shown}\n{run(match[3], folder)}{match[5]}"
    return BLOCK.sub(replace, text)


def write_expectation(model, folder):
    """image.npy and scores.npy: an input and what ONNX Runtime makes of it."""
    import numpy
    import onnxruntime
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    value, = session.get_inputs()
    image = numpy.random.default_rng(1).standard_normal(value.shape, dtype=numpy.float32)
    numpy.save(folder / "image.npy", image)
    numpy.save(folder / "scores.npy", session.run(None, {value.name: image})[0])


def main():
    parser = argparse.ArgumentParser(description="Brings generated documentation up to date.")
    parser.add_argument("--check", action="store_true", help="only say what is out of date")
    args = parser.parse_args()

    pages = reference_pages()
    pages[ROOT / "passes/onnx-to-lumen/Schemas.inc"] = onnx_schemas.table()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sys.path.insert(0, str(ROOT / "test/models"))
        sys.path.insert(0, str(ROOT / "test/driver/Inputs"))
        from bad_models import CASES
        from models import MODELS
        for model in ["tiny", "small", "gpt-kv"]:
            MODELS[model].make(folder / f"{model}.onnx")
        write_expectation(folder / "small.onnx", folder)
        for case in ["wrong-channels", "unsupported", "dynamic", "text", "missing-external-data"]:
            (folder / case).mkdir()
            CASES[case](folder / case)
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            pages[page] = with_output(page.read_text(), folder, samples=not args.check)

    stale = [page for page, text in pages.items() if not page.exists() or page.read_text() != text]
    stale += [page for page in (ROOT / "docs/reference").glob("*.md") if page not in pages]
    if not args.check:
        (ROOT / "docs/reference").mkdir(exist_ok=True)
        for page in stale:
            page.write_text(pages[page]) if page in pages else page.unlink()
    for page in stale:
        print(f"{page.relative_to(ROOT)}: {'is out of date' if args.check else 'updated'}")
    if args.check and stale:
        sys.exit("run build/venv/bin/python tools/dev/gen_docs.py")


if __name__ == "__main__":
    main()
