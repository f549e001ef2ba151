"""Compares random nodes of every operator, in every version, with ONNX Runtime.

random_operators.py [--seed S] [--count N] [--minutes M] [--filter REGEX] [--case KEY/I]
                    [--levels LEVELS] [--threads COUNTS] [--output DIR] [--jobs J]

For each operator that `lumenc --operators` lists, and each version of it from operator
set 7 on, `--count` nodes are drawn (random_recipes.py): element types as the schema
allows them, ranks, sizes (0 and 1 among them), broadcasts, attributes, operands that are
constants or inputs, and dimensions that are known or left open. The answer comes from
ONNX Runtime; where it lacks a type of float, from ONNX Runtime in f32; else from the
reference evaluator of the onnx package. A case that none of them accepts is counted and
dropped.

Lumen has to agree, or to refuse a case with a message that random_refusals.py expects.
Case I of operator KEY and seed S is the same whatever else is run, so what is printed
for a failure makes it again. Many cases share a model, which runs at one of the levels
and thread counts.
"""

import argparse
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from harness import Broken, Configurations, call, describe, judge, mismatch, reference, run_model
from contrib_rows import EVALUATORS
from random_draw import DTYPES, NARROW, Draw, Unsuitable, is_float, name_of, schemas
from random_recipes import RECIPES
from random_refusals import ELSEWHERE, NOT_THE_EVALUATOR, NOT_THE_RUNTIME, REFUSALS

BATCH = 40

# Relative tolerance by element type; absolute ones are relative to the largest element.
TOLERANCES = {np.dtype(np.float16): (4e-3, 2e-3), np.dtype(NARROW[1]): (3e-2, 1.5e-2),
              np.dtype(np.float32): (1e-3, 1e-4), np.dtype(np.float64): (1e-6, 1e-7)}


class NoReference(Exception):
    """Nothing says what the case means."""


def value_info(name, array, open_axes=()):
    dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
    shape = [f"{name}_{axis}" if axis in open_axes else size
             for axis, size in enumerate(array.shape)]
    return helper.make_tensor_value_info(name, dtype, shape)


def make_model(nodes, inputs, constants, outputs, domain, opset):
    """`inputs`: name to value_info."""
    graph = helper.make_graph(nodes, "conformance", list(inputs),
                              [helper.make_empty_tensor_value_info(name) for name in outputs],
                              [numpy_helper.from_array(array, name)
                               for name, array in constants.items()])
    imports = [helper.make_opsetid("", opset)]
    if domain:
        imports = [helper.make_opsetid("", 21), helper.make_opsetid(domain, opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def in_f32(array):
    return array.astype(np.float32) if is_float(array.dtype) else array


class Case:
    """A node with its operands, and what its outputs should be."""

    def __init__(self, schema, first, last, seed, number, change=None):
        """`change` has functions of which one then breaks the node."""
        self.schema, self.first = schema, first
        self.key = f"{name_of(schema)}-{schema.since_version}"
        self.name = f"{seed}/{self.key}/{number}"
        self.family, recipe = RECIPES[name_of(schema)]
        draw = Draw(schema, first, seed, number)
        # The draw's own choices come first, so that they do not depend on the recipe.
        self.opset = draw.integer(first, last)
        recipe(draw)
        if change:
            draw.fix_all()
            self.change = draw.pick(change)(draw)
        self.draw = draw
        self.label = "".join(c if c.isalnum() else "_" for c in self.key) + f"_{number}"
        self.node = draw.node(self.label)
        self.outputs = list(self.node.output)
        self.inputs, self.constants, self.infos = {}, {}, []
        for name, operand, axes in zip(self.node.input, draw.operands, draw.open_dimensions()):
            if not operand:
                continue
            array, is_constant = operand
            (self.constants if is_constant else self.inputs)[name] = array
            if not is_constant:
                self.infos.append(value_info(name, array, axes))

    def arrays(self):
        return {**self.inputs, **self.constants}

    def model(self, opset, change=lambda array: array):
        arrays = {name: change(array) for name, array in self.arrays().items()}
        infos = [value_info(name, arrays[name]) for name in self.inputs]
        constants = {name: arrays[name] for name in self.constants}
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                attribute.t.CopyFrom(numpy_helper.from_array(
                    change(numpy_helper.to_array(attribute.t))))
        return make_model([node], infos, constants, self.outputs, self.schema.domain, opset)

    def result_types(self, model):
        """Element types of the outputs by name. Raises NoReference."""
        types, inferred = {}, {}
        if defs.has(self.schema.name, self.schema.domain):
            try:
                graph = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
            except Exception as error:  # onnx's errors have no common base.
                raise NoReference(f"shape inference: {error}") from error
            inferred = {value.name: value.type.tensor_type.elem_type for value in graph.output}
        for index, name in enumerate(self.outputs):
            # Inference does not always follow the schema.
            variable = self.schema.outputs[min(index, len(self.schema.outputs) - 1)].type_str
            if variable in self.draw.types:
                types[name] = np.dtype(self.draw.types[variable])
            elif inferred.get(name):
                types[name] = np.dtype(helper.tensor_dtype_to_np_dtype(inferred[name]))
            elif variable in DTYPES:
                types[name] = np.dtype(DTYPES[variable])
            else:
                raise NoReference(f"shape inference gives {name} no type")
        return types

    def answer(self):
        """The expected outputs. Raises NoReference."""
        model = self.model(self.first)
        has_others = any(is_float(array.dtype) and array.dtype != np.float32
                         for array in self.arrays().values())
        types = self.result_types(model)
        errors = []
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            attempts = []
            if name_of(self.schema) not in NOT_THE_RUNTIME:
                attempts += [self.by_runtime, *[self.by_runtime_in_f32] * has_others]
            if name_of(self.schema) not in NOT_THE_EVALUATOR:
                attempts.append(self.by_evaluator)
            for attempt in attempts:
                try:
                    found = attempt(types)
                except Exception as error:  # Each has errors of its own kinds.
                    errors.append(f"{attempt.__name__}: {str(error)[-300:]}")
                    continue
                self.is_rounded = attempt == self.by_runtime_in_f32
                return {name: np.asarray(array).astype(types[name])
                        for name, array in found.items()}
        raise NoReference("; ".join(errors))

    def by_runtime(self, types):
        if any(array.dtype == NARROW[1] for array in self.arrays().values()) or \
                NARROW[1] in types.values():
            raise NoReference("ONNX Runtime's Python binding has no bf16")
        return reference(self.model(self.first), self.inputs, self.outputs)

    def by_runtime_in_f32(self, types):
        inputs = {name: in_f32(array) for name, array in self.inputs.items()}
        return reference(self.model(self.first, in_f32), inputs, self.outputs)

    def by_evaluator(self, types):
        results = ReferenceEvaluator(self.model(self.first), new_ops=EVALUATORS).run(
            self.outputs, self.inputs)
        return dict(zip(self.outputs, results))

    def tolerance(self, dtype):
        least = np.dtype(np.float32) if self.is_rounded and dtype == np.float64 else dtype
        return TOLERANCES.get(least, (0, 0))

    def describe(self):
        return (f"opset {self.opset}, open dimensions {self.open_text()}\n"
                + describe([self.node], self.arrays()))

    def open_text(self):
        return {info.name: [d.dim_param for d in info.type.tensor_type.shape.dim if d.dim_param]
                for info in self.infos}


def merged(cases):
    """One model of many cases of one operator set."""
    inputs, constants, outputs = [], {}, []
    for case in cases:
        inputs += case.infos
        constants.update(case.constants)
        outputs += case.outputs
    return make_model([case.node for case in cases], inputs, constants, outputs,
                      cases[0].schema.domain, cases[0].opset)


MESSAGE = re.compile(r"\S*: (?P<op>\S+) '(?P<label>[^']*)': (?P<words>.*)")


def messages(text):
    """Label of a node to what a program says of it."""
    found = {}
    for line in text.splitlines():
        match = MESSAGE.search(line)
        if match:
            found.setdefault(match["label"], match["words"])
    return found


def is_expected(case, words):
    return any(re.fullmatch(operators, name_of(case.schema)) and re.search(message, words)
               for operators, message, _ in REFUSALS)


def differences_of(case, found):
    """Where outputs are not as expected, in words; none if they are."""
    words = []
    for name, expected in case.expected.items():
        rtol, atol = case.tolerance(expected.dtype)
        if expected.dtype == NARROW[1]:
            expected = expected.astype(np.float32)
        difference = mismatch(found[name], expected, rtol, atol, case.draw.within)
        if difference:
            words.append(f"{name} {difference}")
    return "; ".join(words)


class Runner:
    """Compiles and runs batches of cases."""

    def __init__(self, runs, output):
        self.runs, self.output = runs, output
        self.counts, self.failures = Counter(), {}

    def failed(self, case, words):
        self.counts[case.family, "failed"] += 1
        self.failures[case.name] = f"{words}\n  {case.describe()}"
        self.output.mkdir(parents=True, exist_ok=True)
        onnx.save(merged([case]), self.output / f"{case.label}.onnx")
        # A run that is ended early has said so far what it found.
        (self.output / f"{case.label}.txt").write_text(self.failures[case.name] + "\n")

    def refused(self, case, words):
        if is_expected(case, words):
            self.counts[case.family, "refused"] += 1
        else:
            self.failed(case, f"refused: {words}")

    def batch(self, cases, run):
        with tempfile.TemporaryDirectory(prefix="lumen-operators-") as folder:
            self.compare(cases, run, Path(folder))

    def compare(self, cases, run, folder):
        """Takes away what is refused, and halves what fails without a name."""
        while cases:
            model = merged(cases)
            inputs = {name: array for case in cases for name, array in case.inputs.items()}
            try:
                found = run_model(model, inputs, [n for c in cases for n in c.outputs], folder,
                                  run)
            except Broken as error:
                named = messages(str(error)) if error.status == 1 else {}
                for case in cases:
                    if case.node.name in named:
                        self.refused(case, named[case.node.name])
                left = [case for case in cases if case.node.name not in named]
                if len(left) < len(cases):
                    cases = left
                    continue
                if len(cases) == 1:
                    return self.failed(cases[0], str(error))
                # Halves find few culprits in few compilations.
                middle = len(cases) // 2
                self.compare(cases[:middle], run, folder)
                cases = cases[middle:]
                continue
            for case in cases:
                self.judge(case, found, run)
            return

    def judge(self, case, found, run):
        words = differences_of(case, found)
        if words:
            self.failed(case, f"at {run[0]} on {run[1]} threads: {words}")
        else:
            self.counts[case.family, "agreed"] += 1


def supported():
    """Operators that lumenc lists, and the versions of the operator set."""
    result = {}
    for line in call(["lumenc", "--operators"]).stdout.splitlines():
        words = line.split()
        result.setdefault(words[0], []).append((int(words[1]), int(words[3])))
    return result


def without_recipe():
    """Operators that lumenc lists and nothing here draws, nor says where they are compared."""
    drawn = {name_of(schema) for schema, _, _ in schemas()} & set(RECIPES)
    return sorted(name for name in set(supported()) - drawn
                  if not any(re.fullmatch(names, name) for names, _ in ELSEWHERE))


def options(count, output, text):
    """The command line that random tests share; `arguments` reads it."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count, help="cases of each version")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--minutes", type=float, help="begin no more after this time")
    parser.add_argument("--filter", default="", help="only NAME-VERSION that match this")
    parser.add_argument("--case", help="only this one, as a failure names it: SEED/KEY/NUMBER")
    parser.add_argument("--output", type=Path, default=Path(output))
    parser.add_argument("--jobs", type=int, default=cpu_count())
    return parser


def arguments(parser):
    args = parser.parse_args()
    if args.case:
        seed, key, number = args.case.split("/")
        args.seed, args.first, args.count = int(seed), int(number), 1
        args.filter = f"^{re.escape(key)}$"
    return args


def chosen(args):
    """(number, schema, first, last) of the cases to draw, in rounds over the versions."""
    listed = supported()
    versions = [row for row in schemas() if name_of(row[0]) in listed and name_of(row[0]) in RECIPES
                and re.search(args.filter, f"{name_of(row[0])}-{row[0].since_version}")]
    for number in range(args.first, args.first + args.count):
        for schema, first, last in versions:
            yield number, schema, first, last


def draw_cases(args, runner):
    """Cases with an answer, in rounds, so that a limit of time cuts all operators alike."""
    for number, schema, first, last in chosen(args):
        try:
            case = Case(schema, first, last, args.seed, number)
        except Unsuitable:
            continue
        try:
            case.expected = case.answer()
        except NoReference as error:
            runner.counts[case.family, "no reference"] += 1
            if args.verbose:
                print(f"no reference: {case.name}: {error}")
            continue
        yield case


def main():
    parser = options(8, "random-operators", __doc__)
    parser.add_argument("--levels", default="v3,v4")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--verbose", action="store_true", help="name cases without a reference")
    args = arguments(parser)
    configurations = Configurations(args.levels, args.threads)
    configurations.report()
    runner = Runner(configurations.runs, args.output)
    begin = time.monotonic()
    names, waiting, jobs = [], {}, []

    with ThreadPoolExecutor(args.jobs) as pool:
        def submit(cases):
            run = configurations.runs[len(jobs) % len(configurations.runs)]
            jobs.append(pool.submit(runner.batch, cases, run))
            # Drawing does not run ahead of comparing, so that a limit of time holds.
            while sum(not job.done() for job in jobs) > 2 * args.jobs:
                time.sleep(0.02)

        for case in draw_cases(args, runner):
            names.append(case.name)
            key = (case.schema.domain, case.opset)
            waiting.setdefault(key, []).append(case)
            if len(waiting[key]) == BATCH:
                submit(waiting.pop(key))
            if args.minutes and time.monotonic() - begin > 60 * args.minutes:
                break
        for cases in waiting.values():
            submit(cases)
    for job in jobs:
        job.result()

    status = judge("random-operators", runner.failures, names)
    columns = ["agreed", "refused", "no reference", "failed"]
    print(f"{'family':16}" + "".join(f"{column:>14}" for column in columns))
    for family in sorted({family for family, _ in runner.counts}):
        print(f"{family:16}" + "".join(f"{runner.counts[family, c]:>14}" for c in columns))
    print(f"{len(names)} cases of {len({n.split('/')[1] for n in names})} versions of operators"
          f" in {len(jobs)} models, {len(runner.failures)} differ;"
          f" {time.monotonic() - begin:.0f} s")
    missing = without_recipe()
    for name in missing:
        print(f"FAILED {name}: lumenc lists it and it has no recipe")
    sys.exit(1 if missing else status)


if __name__ == "__main__":
    main()
