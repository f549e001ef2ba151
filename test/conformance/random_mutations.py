"""Breaks random nodes, and wants a named error or ONNX Runtime's answer.

random_mutations.py [--seed S] [--count N] [--first I] [--minutes M] [--filter REGEX]
                    [--case SEED/KEY/I] [--output DIR] [--jobs J]

Each case is one of random_operators.py with one thing changed: an operand left out,
added, or of another type, rank or size, an index that is too large, an attribute out of
its range, of another type, missing or unknown, or one more output. lumenc has to
refuse it with an error that names the node, at once or in the run, or to give
ONNX Runtime's answer where that accepts the case. It never crashes, hangs, or accepts
what ONNX Runtime refuses, but for what random_refusals.py lists.
"""

import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from harness import Broken, Configurations, call, judge, run_model
from random_draw import DTYPES, Unsuitable, name_of
from random_operators import Case, arguments, chosen, differences_of, merged, options
from random_refusals import LENIENT, NOT_THE_RUNTIME, UNDEFINED

INTEGERS = [-1000, -2, -1, 0, 1, 2, 7, 1000, 2**31, 2**40, -2**63]
# What ONNX Runtime says where a case may well be right.
NOT_IMPLEMENTED = ("NOT_IMPLEMENTED|does not support double|No corresponding Numpy|MLDataType"
                   "|in node \\(\\)|_inlfunc_|is not a registered function/op")
REALS = [-1.0, 0.0, 1e30, float("inf"), float("nan")]


# ---- Changes: each says in words what it changed -----------------------------


def operand(g):
    given = [i for i, operand in enumerate(g.operands) if operand]
    if not given:
        raise Unsuitable
    return g.pick(given)


def replace(g, index, array):
    g.operands[index] = (array, g.operands[index][1])


def leave_out(g):
    index = operand(g)
    g.operands[index] = None
    return f"input {index} is left out"


def add_operand(g):
    g.give(g.values([2], g.pick(list(DTYPES.values()))))
    return "one more input"


def retype(g):
    index = operand(g)
    array = g.operands[index][0]
    dtype = g.pick([d for d in DTYPES.values() if d != array.dtype])
    with np.errstate(all="ignore"):
        replace(g, index, array.astype(dtype))
    return f"input {index} has another type"


def rerank(g):
    index = operand(g)
    array = g.operands[index][0]
    if array.ndim and array.shape[0] and g.maybe(0.5):
        replace(g, index, array[0])
    else:
        replace(g, index, np.stack([array] * g.pick([1, 2])))
    return f"input {index} has another rank"


def resize(g):
    index = operand(g)
    array = g.operands[index][0]
    if not array.ndim:
        raise Unsuitable
    axis = g.integer(0, array.ndim - 1)
    size = array.shape[axis]
    if size == 0:
        raise Unsuitable
    replace(g, index, np.take(array, range(g.pick([0, size - 1, size + 1, 2 * size])), axis,
                              mode="wrap"))
    return f"dimension {axis} of input {index} has another size"


def spoil(g):
    """An entry of integers, which may be an index, an axis or a size."""
    index = operand(g)
    array = g.operands[index][0].copy()
    if array.dtype.kind not in "iu" or not array.size:
        raise Unsuitable
    bounds = np.iinfo(array.dtype)
    number = g.pick([n for n in INTEGERS if bounds.min <= n <= bounds.max])
    array.flat[g.integer(0, array.size - 1)] = number
    replace(g, index, array)
    return f"input {index} has the entry {number}"


def attribute(g):
    names = [name for name, a in g.schema.attributes.items() if a.type.name in
             ("INT", "INTS", "FLOAT", "FLOATS", "STRING")]
    if not names:
        raise Unsuitable
    return g.pick(sorted(names))


def out_of_range(g):
    name = attribute(g)
    kind, value = g.schema.attributes[name].type.name, g.attributes.get(name)
    if kind == "STRING":
        value = g.pick(["", "bogus", "NOTSET", "none"])
    elif kind in ("INT", "FLOAT"):
        value = g.pick(INTEGERS if kind == "INT" else REALS)
    else:
        value = list(value or [1, 1])
        place = g.integer(0, len(value) - 1) if value else 0
        numbers = INTEGERS if kind == "INTS" else REALS
        change = g.pick(["entry", "longer", "shorter"])
        if change == "entry" and value:
            value[place] = g.pick(numbers)
        elif change == "shorter" and value:
            value.pop()
        else:
            value.append(g.pick(numbers))
    g.attributes[name] = value
    return f"attribute '{name}' is {value}"


def other_kind(g):
    name = attribute(g)
    wrong = {"INT": "one", "INTS": 1.5, "FLOAT": "half", "FLOATS": 1, "STRING": 3}
    g.attributes.pop(name, None)
    value = wrong[g.schema.attributes[name].type.name]
    g.extra.append(helper.make_attribute(name, value))
    return f"attribute '{name}' is {value!r}"


def without_attribute(g):
    required = [name for name, a in g.schema.attributes.items() if a.required]
    if not required:
        raise Unsuitable
    name = g.pick(sorted(required))
    if g.attributes.pop(name, None) is None:
        raise Unsuitable
    return f"attribute '{name}' is left out"


def unknown_attribute(g):
    g.extra.append(helper.make_attribute("mood", "good"))
    return "an unknown attribute"


def add_output(g):
    g.outputs += 1
    return "one more output"


CHANGES = [leave_out, add_operand, retype, retype, rerank, resize, resize, spoil, spoil,
           out_of_range, out_of_range, out_of_range, other_kind, without_attribute,
           unknown_attribute, add_output]


# ---- Judging -----------------------------------------------------------------


def answer_of(model, inputs, outputs):
    """In a process of its own, for a model that is wrong may end ONNX Runtime."""
    from harness import reference
    try:
        return reference(model, inputs, outputs)
    except Exception as error:  # ONNX Runtime's errors have no common base.
        return str(error)


class Oracle:
    def __init__(self):
        self.pool = None

    def ask(self, case):
        """The expected outputs, or words why there are none."""
        for _ in range(2):  # The pool may have been lost to another case.
            pool = self.pool = self.pool or ProcessPoolExecutor(1, get_context("spawn"))
            try:
                return pool.submit(answer_of, case.model(case.first), case.inputs,
                                   case.outputs).result(timeout=60)
            except (BrokenProcessPool, TimeoutError):
                if self.pool is pool:
                    self.pool = None
        return "ONNX Runtime ended"


def is_lenient(case, change):
    return any(re.fullmatch(operators, name_of(case.schema)) and re.search(what, change)
               for operators, what, _ in LENIENT)


def judge_case(case, run, oracle, output):
    """(what became of the case, words of a failure or None)"""
    with tempfile.TemporaryDirectory(prefix="lumen-mutations-") as folder:
        folder = Path(folder)
        model = merged([case])
        path = folder / "model.onnx"
        onnx.save(model, path)
        try:
            call(["lumenc", "--check", path])
            found = run_model(model, case.inputs, case.outputs, folder, run)
        except Broken as error:
            # Constants may be larger than the disk.
            if error.status == 1 and (f"'{case.node.name}'" in str(error)
                                      or "cannot write" in str(error)):
                return "refused by name", None
            return "failed", f"no named error: {error}"
    expected = oracle.ask(case)
    if isinstance(expected, str) and re.search(NOT_IMPLEMENTED, expected):
        return "no reference", None
    if isinstance(expected, str):
        if is_lenient(case, case.change):
            return "accepted", None
        return "failed", f"ONNX Runtime refuses it, and lumenc does not: {expected[-400:]}"
    case.expected, case.is_rounded = expected, False
    words = differences_of(case, found)
    name = name_of(case.schema)
    if name in NOT_THE_RUNTIME or any(re.fullmatch(operators, name) and re.search(what, case.change)
                                      for operators, what in UNDEFINED):
        return "accepted", None
    return ("failed", words) if words else ("accepted", None)


def main():
    args = arguments(options(4, "random-mutations", __doc__))
    configurations = Configurations("v3", "1")
    configurations.report()
    oracle, counts, failures, names = Oracle(), Counter(), {}, []
    begin = time.monotonic()

    def work(number, schema, first, last):
        if args.minutes and time.monotonic() - begin > 60 * args.minutes:
            return
        try:
            case = Case(schema, first, last, args.seed, number, change=CHANGES)
        except Unsuitable:
            return
        names.append(case.name)
        what, words = judge_case(case, configurations.runs[0], oracle, args.output)
        counts[what] += 1
        if words:
            failures[case.name] = f"{case.change}: {words}\n  {case.describe()}"
            args.output.mkdir(parents=True, exist_ok=True)
            (args.output / f"{case.label}.txt").write_text(failures[case.name] + "\n")

    with ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(work, *case) for case in chosen(args)]
        for job in jobs:
            job.result()
    status = judge("random-mutations", failures, names)
    print(f"{len(names)} broken nodes: " + ", ".join(f"{counts[w]} {w}" for w in sorted(counts))
          + f"; {time.monotonic() - begin:.0f} s")
    sys.exit(status)


if __name__ == "__main__":
    main()
