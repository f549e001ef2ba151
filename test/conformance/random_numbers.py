"""Checks the operators that draw random numbers, which no other program draws alike.

random_numbers.py --output DIR

Means, variances and distributions are those that the operator promises, elements and
nodes do not depend on each other, and numbers are the same again where a seed or
LUMEN_SEED says so, on any number of threads, and others where it does not.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from harness import call, make_model

COUNT = 100_000
SIGMAS = 5


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), output.split(), name=output.split()[0],
                            **attributes)


def all_nodes(**seed):
    """One node of each operator; `seed` goes to all."""
    shape = [100, COUNT // 100]
    return [
        node("RandomUniform", "", "uniform", shape=shape, low=-2.0, high=3.0, **seed),
        node("RandomUniform", "", "other", shape=shape, **seed),
        node("RandomUniform", "", "double", shape=shape, dtype=11, **seed),
        node("RandomUniform", "", "half", shape=shape, dtype=10, **seed),
        node("RandomNormal", "", "normal", shape=shape, mean=1.0, scale=2.0, **seed),
        node("RandomNormal", "", "normal_double", shape=shape, dtype=11, **seed),
        node("RandomUniformLike", "x", "uniform_like", **seed),
        node("RandomNormalLike", "x", "normal_like", **seed),
        node("Bernoulli", "chances", "bernoulli", **seed),
        node("Multinomial", "logits", "multinomial", sample_size=COUNT // 4, dtype=7, **seed),
        # This one's seed is an integer.
        node("Dropout", "x ratio train", "dropped mask", **{k: int(v) for k, v in seed.items()}),
    ]


def normal_cdf(x):
    """By a sum of trapezoids, with an error far below what a sample shows."""
    grid = np.linspace(-8, 8, 100_001)
    density = np.exp(-grid ** 2 / 2) / np.sqrt(2 * np.pi)
    return np.interp(x, grid, np.cumsum(density) * (grid[1] - grid[0]))


class Checks:
    def __init__(self):
        self.failures = []

    def expect(self, holds, words):
        if not holds:
            self.failures.append(words)

    def near(self, what, actual, expected, deviation):
        self.expect(abs(actual - expected) < SIGMAS * deviation,
                    f"{what} is {actual}, expected {expected} within {SIGMAS} times {deviation}")

    def distribution(self, what, sample, cdf):
        """Kolmogorov and Smirnov: the largest distance of two running sums."""
        x = np.sort(np.asarray(sample, np.float64).ravel())
        steps = np.arange(x.size + 1) / x.size
        values = cdf(x)
        distance = max(np.max(steps[1:] - values), np.max(values - steps[:-1]))
        self.expect(distance < 2.5 / np.sqrt(x.size),
                    f"{what} is {distance} away from its distribution")

    def unrelated(self, what, a, b):
        a, b = (np.asarray(v, np.float64).ravel() for v in (a, b))
        self.near(f"the correlation of {what}", np.corrcoef(a, b)[0, 1], 0, 1 / np.sqrt(a.size))


def check_numbers(checks, y, inputs):
    bounded = {"uniform": (-2, 3), "other": (0, 1), "double": (0, 1), "half": (0, 1),
               "uniform_like": (0, 1)}
    for name, (low, high) in bounded.items():
        x = y[name].astype(np.float64)
        checks.expect(x.min() >= low and x.max() < high, f"{name} leaves [{low}, {high})")
        checks.near(f"the mean of {name}", x.mean(), (low + high) / 2,
                    (high - low) / np.sqrt(12 * x.size))
        if name != "half":
            checks.distribution(name, x, lambda v: (v - low) / (high - low))
    for name, mean, scale in (("normal", 1, 2), ("normal_double", 0, 1), ("normal_like", 0, 1)):
        x = (y[name].astype(np.float64) - mean) / scale
        checks.near(f"the mean of {name}", x.mean(), 0, 1 / np.sqrt(x.size))
        checks.near(f"the variance of {name}", x.var(), 1, np.sqrt(2 / x.size))
        checks.distribution(name, x, normal_cdf)
    for name in ("uniform", "double", "normal", "normal_double"):
        x = y[name].ravel()
        for step in (1, 2, 8, 16, 1000):
            checks.unrelated(f"{name} and itself {step} later", x[:-step], x[step:])
    types = {"uniform": "float32", "double": "float64", "half": "float16", "multinomial": "int64",
             "mask": "bool", "bernoulli": "float32"}
    for name, dtype in types.items():
        checks.expect(y[name].dtype == dtype, f"{name} is of {y[name].dtype}, expected {dtype}")
    for chance, row in zip(inputs["chances"][:, 0], y["bernoulli"]):
        checks.near(f"the mean of Bernoulli({chance})", row.mean(), chance,
                    np.sqrt(chance * (1 - chance) / row.size) + 1e-9)
    for logits, row in zip(inputs["logits"], y["multinomial"]):
        chances = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        for label, chance in enumerate(chances):
            checks.near(f"the share of class {label}", np.mean(row == label), chance,
                        np.sqrt(chance * (1 - chance) / row.size))
    ratio = float(inputs["ratio"])
    checks.near("the share that is dropped", 1 - y["mask"].mean(), ratio,
                np.sqrt(ratio * (1 - ratio) / y["mask"].size))
    expected = np.where(y["mask"], inputs["x"] / (1 - ratio), 0)
    checks.expect(np.allclose(y["dropped"], expected), "what is not dropped is not scaled")


class Model:
    def __init__(self, folder, name, nodes, inputs, dynamic):
        self.folder = folder / name
        self.inputs = self.folder / "inputs"
        self.inputs.mkdir(parents=True, exist_ok=True)
        self.outputs = [output for n in nodes for output in n.output]
        model = make_model(nodes, inputs, {}, self.outputs, 22,
                           dict.fromkeys(inputs, ()) if dynamic else {})
        onnx.save(model, self.folder / "model.onnx")
        for key, value in inputs.items():
            np.save(self.inputs / f"{key}.npy", value)
        call(["lumenc", self.folder / "model.onnx", "-o", self.folder / "model.so"])

    def runs(self, count=2, threads=2, seed=None):
        """The outputs of runs in one context."""
        saved = self.folder / "outputs"
        env = {**os.environ, **({"LUMEN_SEED": str(seed)} if seed is not None else {})}
        call(["lumen-run", self.folder / "model.so", *(["--inputs", self.inputs] * count),
              "--threads", threads, "--save-outputs", saved], env=env)
        return [{name: np.load(saved / str(run) / f"{name}.npy") for name in self.outputs}
                for run in range(count)]


def same(a, b):
    return [name for name in a if np.array_equal(a[name], b[name])]


def main():
    parser = argparse.ArgumentParser(description="Checks random numbers.")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    checks = Checks()
    rng = np.random.default_rng(3)
    inputs = {"x": rng.uniform(1, 2, (COUNT // 10, 10)).astype(np.float32),
              "chances": np.repeat(np.float32([[0.1], [0.5], [1], [0]]), COUNT // 4, axis=1),
              "logits": rng.uniform(-2, 2, (3, 6)).astype(np.float32),
              "ratio": np.array(0.3, np.float32), "train": np.array(True)}
    for dynamic in (False, True):
        free = Model(args.output, f"free{dynamic}", all_nodes(), inputs, dynamic)
        first, second = free.runs()
        for run in (first, second):
            check_numbers(checks, run, inputs)
        checks.unrelated("two nodes", first["other"], first["uniform_like"])
        checks.unrelated("two runs", first["other"], second["other"])
        # With chances of 0 and 1 alone a few elements of Bernoulli are free to differ.
        checks.expect(not same(first, second), f"runs agree in {same(first, second)}")
        again = free.runs()[0]
        checks.expect(not same(first, again), f"contexts agree in {same(first, again)}")
        seeded, one_thread = free.runs(seed=7), free.runs(seed=7, threads=1)
        for a, b in zip(seeded, one_thread):
            checks.expect(same(a, b) == list(a), "LUMEN_SEED does not repeat what it gave")
        checks.expect(not same(seeded[0], free.runs(seed=8)[0]), "two values of LUMEN_SEED agree")

        fixed = Model(args.output, f"fixed{dynamic}", all_nodes(seed=5.0), inputs, dynamic)
        a, b = fixed.runs()
        check_numbers(checks, a, inputs)
        checks.expect(same(a, b) == list(a), "a seed does not repeat its numbers")
        other = Model(args.output, f"other{dynamic}", all_nodes(seed=6.0), inputs, dynamic)
        checks.expect(not same(a, other.runs()[0]), "two seeds agree")

    still = dict(inputs, train=np.array(False))
    tested = Model(args.output, "inference", all_nodes()[-1:], still, False).runs()[0]
    checks.expect(np.array_equal(tested["dropped"], inputs["x"]) and tested["mask"].all(),
                  "Dropout drops without training")
    for words in checks.failures:
        print(f"FAILED {words}")
    sys.exit(1 if checks.failures else 0)


def operators():
    """Those that are checked here."""
    return {n.op_type for n in all_nodes()}


if __name__ == "__main__":
    main()
