#!/usr/bin/env python3
"""Operators on strings, sequences and optionals against ONNX Runtime.

values.py --output DIR [NAMES...]

Each case is a model of dynamic sizes in ONNX's textual form and the inputs of several
runs, which differ in shape. It is compiled once; every output of every run is compared,
or an error of the run is expected that says certain words.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime

from harness import Broken, call, judge, mismatch

onnxruntime.set_default_logger_severity(4)

CASES = {}


def strings(*texts, shape=None):
    array = np.array(texts, dtype=object)
    return array if shape is None else array.reshape(shape)


def reals(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def number(value):
    return np.array(value, np.int64)


def case(name, graph, *feeds, opset=21, fails=None):
    """`fails`: what an error of the last feed says."""
    CASES[name] = (graph, feeds, opset, fails)


# ---- Sequences --------------------------------------------------------------

case("construct",
     "g (float[n, 3] a, float[m, 3] b, int64 i) => (float[k, 3] y, int64 count)"
     "{ s = SequenceConstruct(a, b, a) y = SequenceAt(s, i) count = SequenceLength(s) }",
     {"a": reals(2, 3), "b": reals(4, 3), "i": number(1)},
     {"a": reals(5, 3), "b": reals(0, 3), "i": number(-1)},
     {"a": reals(5, 3), "b": reals(1, 3), "i": number(1)},
     {"a": reals(1, 3), "b": reals(1, 3), "i": number(3)},
     fails="position is 3, the sequence has 3")
case("insert-erase",
     "g (float[n] a, float[m] b, int64 i, int64 j) => (seq(float[k]) y, seq(float[k]) z)"
     "{ e = SequenceEmpty() s = SequenceInsert(e, a) t = SequenceInsert(s, b, i)"
     "  y = SequenceErase(t, j) z = SequenceInsert(t, b) }",
     {"a": reals(2), "b": reals(3), "i": number(0), "j": number(1)},
     {"a": reals(0), "b": reals(5), "i": number(1), "j": number(-2)})
case("sequence-input",
     "g (seq(float[n]) s, float[m] a) => (seq(float[k]) y, float[t] all, int64 count)"
     "{ y = SequenceInsert(s, a) all = ConcatFromSequence <axis = 0> (y)"
     "  count = SequenceLength(s) }",
     {"s": [reals(2), reals(3)], "a": reals(4)},
     {"s": [], "a": reals(2)},
     {"s": [reals(0), reals(1), reals(1)], "a": reals(0)})
case("split",
     "g (float[n, 6] x, int64 i) => (seq(float[a, b]) rows, seq(float[c]) flat,"
     "                              seq(float[d, e]) twos, seq(float[f, h]) parts, float[o, p] at)"
     "<int64 two = {2}, int64[3] sizes = {1, 3, 2}>"
     "{ rows = SplitToSequence (x) flat = SplitToSequence <keepdims = 0> (x)"
     "  twos = SplitToSequence(x, two) parts = SplitToSequence <axis = 1> (x, sizes)"
     "  at = SequenceAt(parts, i) }",
     {"x": reals(4, 6), "i": number(1)},
     {"x": reals(5, 6), "i": number(-1)},
     {"x": reals(1, 6), "i": number(0)})
case("concat-new-axis",
     "g (float[n, 2] a, float[n, 2] b) => (float[n, s, 2] y, float[s, n, 2] z)"
     "{ s = SequenceConstruct(a, b) y = ConcatFromSequence <axis = 1, new_axis = 1> (s)"
     "  z = ConcatFromSequence <axis = 0, new_axis = 1> (s) }",
     {"a": reals(3, 2), "b": reals(3, 2, seed=1)},
     {"a": reals(1, 2), "b": reals(1, 2, seed=1)})
case("computes-with-items",
     "g (float[n, 4] x, float[4, 2] w, int64 i) => (float[m, 2] y)"
     "{ r = Relu(x) s = SequenceConstruct(x, r) t = SequenceAt(s, i) y = MatMul(t, w) }",
     {"x": reals(3, 4), "w": reals(4, 2), "i": number(0)},
     {"x": reals(7, 4), "w": reals(4, 2), "i": number(1)})
case("loop-collects",
     "g (float[n, 2] x, int64 count) => (seq(float[k, 2]) s, float[t, 2] all)"
     "<bool yes = {1}> { e = SequenceEmpty()"
     "  s = Loop (count, yes, e) <body = b (int64 i, bool c, seq(float[p, 2]) in)"
     "    => (bool d, seq(float[q, 2]) out) { d = Identity(c) f = Cast <to = 1> (i)"
     "       z = Add(x, f) out = SequenceInsert(in, z) }>"
     "  all = ConcatFromSequence <axis = 0> (s) }",
     {"x": reals(3, 2), "count": number(4)},
     {"x": reals(1, 2), "count": number(1)},
     {"x": reals(0, 2), "count": number(3)})
case("loop-takes",
     "g (seq(float[n]) s) => (float[k] total)"
     "<bool yes = {1}, float[1] zero = {0.0}> { count = SequenceLength(s)"
     "  total = Loop (count, yes, zero) <body = b (int64 i, bool c, float[p] in)"
     "    => (bool d, float[q] out) { d = Identity(c) a = SequenceAt(s, i)"
     "       m = ReduceSum <keepdims = 1> (a) out = Add(in, m) }> }",
     {"s": [reals(2), reals(5)]}, {"s": []}, {"s": [reals(1), reals(0), reals(3)]})
case("if-sequences",
     "g (bool c, float[n] a, float[m] b) => (seq(float[k]) y, float[o] at)"
     "<int64 zero = {0}> { y = If (c) <then_branch = t () => (seq(float[k]) u)"
     "   { u = SequenceConstruct(a, b) }, else_branch = e () => (seq(float[k]) v)"
     "   { v = SequenceConstruct(b) }> at = SequenceAt(y, zero) }",
     {"c": np.array(True), "a": reals(2), "b": reals(3)},
     {"c": np.array(False), "a": reals(2), "b": reals(3)})
case("map",
     "g (seq(float[n]) s, float[1] a) => (seq(float[k]) y, seq(float[j]) z)"
     "{ y, z = SequenceMap (s, a) <body = b (float[n] x, float[1] t) => (float[n] u, float[m] v)"
     "   { u = Mul(x, t) v = Concat <axis = 0> (u, x) }> }",
     {"s": [reals(2), reals(3)], "a": reals(1)}, {"s": [reals(0)], "a": reals(1)})

# ---- Optionals ---------------------------------------------------------------

case("optional",
     "g (float[n] x) => (bool has, float[m] y)"
     "{ o = Optional(x) has = OptionalHasElement(o) y = OptionalGetElement(o) }",
     {"x": reals(3)}, {"x": reals(0)}, opset=18)
case("optional-input",
     "g (optional(float[n]) o) => (bool has, float[m] y)"
     "<float[1] none = {-1.0}>"
     "{ has = OptionalHasElement(o) y = If (has) <then_branch = t () => (float[a] u)"
     "   { u = OptionalGetElement(o) }, else_branch = e () => (float[b] v)"
     "   { v = Identity(none) }> }",
     {"o": reals(3)}, {"o": None}, opset=18)

# ---- Strings -----------------------------------------------------------------

case("strings-move",
     "g (string[n, 2] x, int64[k] i) => (string[n, k] picked, string[m] flat, string[2, n] t,"
     "   string[l, 2] both, string[o, 2] part, string[n, 1, 2] deep, string[n, 2] same,"
     "   int64[2] shape)"
     "<int64[1] minus = {-1}, int64[1] one = {1}, int64[1] many = {100}, string[1, 2] c = {\"p\", \"q\"}>"
     "{ picked = Gather <axis = 1> (x, i) flat = Reshape(x, minus) t = Transpose(x)"
     "  both = Concat <axis = 0> (x, c, x) part = Slice(x, one, many)"
     "  deep = Unsqueeze(x, one) same = Identity(x) shape = Shape(x) }",
     {"x": strings("a", "b", "c", "d", shape=(2, 2)), "i": np.array([1, 0, -1])},
     {"x": strings("ä", "", "long enough to be no short string", "d", "e", "f", shape=(3, 2)),
      "i": np.array([1])},
     {"x": strings("a", "b", shape=(1, 2)), "i": np.zeros(0, np.int64)})
case("strings-where",
     "g (bool[n] c, string[n] a, string[1] b) => (string[n] y)"
     "{ y = Where(c, a, b) }",
     {"c": np.array([True, False]), "a": strings("x", "y"), "b": strings("z")},
     {"c": np.array([False]), "a": strings("x"), "b": strings("z")})
case("strings-concat",
     "g (string[n, 1] a, string[m] b) => (string[n, m] y, string[m] z)"
     "<string s = {\"-\"}> { y = StringConcat(a, b) z = StringConcat(b, s) }",
     {"a": strings("a", "b", shape=(2, 1)), "b": strings("", "ü", "3")},
     {"a": strings("x", shape=(1, 1)), "b": strings("y")})
case("strings-equal",
     "g (string[n] a, string[m] b) => (bool[k] y, bool[n] z)"
     "<string s = {\"yes\"}> { y = Equal(a, b) z = Equal(a, s) }",
     {"a": strings("yes", "no", ""), "b": strings("yes", "no ", "")},
     {"a": strings("yes"), "b": strings("no", "yes")})
case("strings-split",
     "g (string[n] x) => (string[n, k] spaces, int64[n] a, string[n, m] commas, int64[n] b)"
     "{ spaces, a = StringSplit(x) commas, b = StringSplit <delimiter = \",\", maxsplit = 1> (x) }",
     {"x": strings("a b  c", "d,e,f", " ")}, {"x": strings("one")},
     {"x": strings(",", "x y", "p,q r,s")})
case("strings-split-then",
     "g (string[n] x) => (int64[2] shape, bool[n, k] hits)"
     "<string w = {\"the\"}> { p, c = StringSplit(x) hits = Equal(p, w) shape = Shape(p) }",
     {"x": strings("the cat", "on the the mat")}, {"x": strings("a")})
case("strings-normalize",
     "g (string[n] x) => (string[m] y, string[k] z)"
     "{ y = StringNormalizer <locale = \"C\", case_change_action = \"LOWER\", stopwords = [\"the\"]> (x)"
     "  z = StringNormalizer <locale = \"C\", case_change_action = \"UPPER\", is_case_sensitive = 1,"
     "                        stopwords = [\"the\", \"b\"]> (x) }",
     {"x": strings("The", "Cat", "b", "x1")}, {"x": strings("the")})
case("strings-regex",
     "g (string[n, m] x) => (bool[n, m] y)"
     "{ y = RegexFullMatch <pattern = \"[a-z]+@[a-z]+\\\\.(com|org)\"> (x) }",
     {"x": strings("a@b.com", "a@b.net", "", "x@y.org", shape=(2, 2))},
     {"x": strings("a@b.com ", shape=(1, 1))})
case("strings-sequence",
     "g (string[n] a, string[m] b, int64 i) => (string[k] y, string[t] all, seq(string[p]) s)"
     "{ s = SequenceConstruct(a, b) y = SequenceAt(s, i) all = ConcatFromSequence <axis = 0> (s) }",
     {"a": strings("a", "b"), "b": strings("c"), "i": number(0)},
     {"a": strings("x"), "b": strings("y", "z", "w"), "i": number(1)})
case("strings-if",
     "g (bool c, string[n] a) => (string[m] y)"
     "<string[1] other = {\"none\"}> { y = If (c) <then_branch = t () => (string[p] u)"
     "   { u = StringConcat(a, other) }, else_branch = e () => (string[q] v)"
     "   { v = Identity(other) }> }",
     {"c": np.array(True), "a": strings("a", "b")}, {"c": np.array(False), "a": strings("a", "b")})
case("strings-loop",
     "g (string[n] a, int64 count) => (string[n] y)"
     "<bool yes = {1}, string s = {\"!\"}> {"
     "  y = Loop (count, yes, a) <body = b (int64 i, bool c, string[n] in)"
     "    => (bool d, string[n] out) { d = Identity(c) out = StringConcat(in, s) }> }",
     {"a": strings("a", "b"), "count": number(3)}, {"a": strings("x"), "count": number(0)})
case("tfidf",
     "g (int64[n, m] x, string[k] w) => (float[n, p] y, float[q] z)"
     "{ y = TfIdfVectorizer <mode = \"TF\", min_gram_length = 2, max_gram_length = 2,"
     "       max_skip_count = 1, ngram_counts = [0, 4], ngram_indexes = [0, 1, 2, 3, 4, 5, 6],"
     "       pool_int64s = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]> (x)"
     "  z = TfIdfVectorizer <mode = \"TFIDF\", min_gram_length = 1, max_gram_length = 1,"
     "       max_skip_count = 0, ngram_counts = [0], ngram_indexes = [1, 0, 2],"
     "       weights = [2.0, 3.0, 0.5], pool_strings = [\"a\", \"b\", \"c\"]> (w) }",
     {"x": np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]]), "w": strings("a", "b", "a")},
     {"x": np.array([[7, 8, 6, 7]]), "w": strings("c", "zz")})
case("stacked-strings",
     "g (int64 count, bool yes, string[n] a, string[2] t) => (string[n] y, string[k, 2] all,"
     "                                                       int64[k] trips, string[k, m] lasts)"
     "{ y, all, trips, lasts = Loop (count, yes, a)"
     "    <body = b (int64 i, bool c, string[n] in)"
     "     => (bool go, string[n] out, string[2] one, int64 j, string[n] last)"
     "     { go = Identity(c) out = StringConcat(in, in) text = Cast <to = 8> (i)"
     "       one = StringConcat(t, text) j = Identity(i) last = Identity(in) }> }",
     {"count": number(3), "yes": np.array(True), "a": strings("x", "yz"), "t": strings("p", "q")},
     {"count": number(1), "yes": np.array(True), "a": strings("x"), "t": strings("", "q")},
     {"count": number(0), "yes": np.array(True), "a": strings("x", "y"), "t": strings("", "q")})
case("texts-of-numbers",
     "g (float[n] a, double[n] b, int8[m] c, uint64[k] d, bool[k] e)"
     " => (string[n] p, string[n] q, string[m] r, string[k] s, string[k] t)"
     "{ p = Cast <to = 8> (a) q = Cast <to = 8> (b) r = Cast <to = 8> (c) s = Cast <to = 8> (d)"
     "  t = CastLike(e, p) }",
     {"a": np.array([1, -0.0, 1 / 3, 1e20, np.nan, -np.inf, 123456789], np.float32),
      "b": np.array([0.1, 1 / 3, -1e-10, 1e300, np.inf, 3.5e16, 5e-324]),
      "c": np.array([-128, 0, 127], np.int8), "d": np.array([2**64 - 1, 0], np.uint64),
      "e": np.array([True, False])},
     {"a": np.zeros(0, np.float32), "b": np.zeros(0), "c": np.array([7], np.int8),
      "d": np.zeros(0, np.uint64), "e": np.zeros(0, bool)})
case("numbers-of-texts",
     "g (string[n] x, string[m] i, float[1] like) => (float[n] a, double[n] b, int64[m] c,"
     "                                                uint8[m] d, bool[m] e, float[n] f)"
     "{ a = Cast <to = 1> (x) b = Cast <to = 11> (x) c = Cast <to = 7> (i) d = Cast <to = 2> (i)"
     "  e = Cast <to = 9> (i) f = CastLike(x, like) }",
     {"x": strings("1.5", " -2e3", "nan", "-INF", "0x10", "3 apples", "1" * 300),
      "i": strings("-3", "+300", " 7", "0"), "like": reals(1)},
     {"x": strings(), "i": strings("9223372036854775807"), "like": reals(1)},
     {"x": strings("1", "none"), "i": strings("1"), "like": reals(1)},
     fails="element 1 is 'none', which is no number of its type")
case("labels",
     "<opset_import: [\"\": 21, \"ai.onnx.ml\": 4]>"
     "g (string[n] x, int64[m] i) => (int64[n] a, string[m] b, float[n] c)"
     "{ a = ai.onnx.ml.LabelEncoder <keys_strings = [\"x\", \"y\"], values_int64s = [3, 5],"
     "      default_int64 = 42> (x)"
     "  b = ai.onnx.ml.LabelEncoder <keys_int64s = [1, 2], values_strings = [\"one\", \"two\"]> (i)"
     "  c = ai.onnx.ml.LabelEncoder <keys_strings = [\"x\"], values_floats = [0.5]> (x) }",
     {"x": strings("x", "z", "y"), "i": np.array([2, 1, 7])},
     {"x": strings("y"), "i": np.zeros(0, np.int64)})
case("labels-1",
     "<opset_import: [\"\": 18, \"ai.onnx.ml\": 1]>"
     "g (string[n] x, int64[m] i) => (int64[n] a, string[m] b, int64[n] c, string[m] d)"
     "{ a = ai.onnx.ml.LabelEncoder <classes_strings = [\"x\", \"y\"], default_int64 = 9> (x)"
     "  b = ai.onnx.ml.LabelEncoder <classes_strings = [\"x\", \"y\"]> (i)"
     "  c = ai.onnx.ml.CategoryMapper <cats_strings = [\"x\", \"y\"], cats_int64s = [5, 3]> (x)"
     "  d = ai.onnx.ml.CategoryMapper <cats_strings = [\"x\", \"y\"], cats_int64s = [1, 0],"
     "      default_string = \"none\"> (i) }",
     {"x": strings("x", "z", "y"), "i": np.array([1, 0, 7])},
     {"x": strings("y"), "i": np.zeros(0, np.int64)})
case("categories",
     "<opset_import: [\"\": 18, \"ai.onnx.ml\": 1]>"
     "g (string[n, 2] x, int64[k] i) => (float[n, 2, 3] a, float[n, 2, 2] b, string[n, k] c)"
     "{ a = ai.onnx.ml.OneHotEncoder <cats_strings = [\"u\", \"v\", \"w\"]> (x)"
     "  b = ai.onnx.ml.OneHotEncoder <cats_strings = [\"u\", \"v\"], zeros = 0> (x)"
     "  c = ai.onnx.ml.ArrayFeatureExtractor (x, i) }",
     {"x": strings("u", "v", "v", "u", shape=(2, 2)), "i": np.array([1, 0, 1])},
     {"x": strings("u", "w", shape=(1, 2)), "i": np.array([0])},
     fails="the number of elements of known categories")
case("classes",
     "<opset_import: [\"\": 18, \"ai.onnx.ml\": 3]>"
     "g (float[n, 2] x) => (string[n] a, float[n, 3] s, string[n] b, float[n, 2] t,"
     "                      string[n] c, float[n, 2] u)"
     "{ a, s = ai.onnx.ml.LinearClassifier <coefficients = [0.5, 1.0, -1.0, 0.25, 0.75, -0.5],"
     "      intercepts = [0.0, 0.5, 0.0], classlabels_strings = [\"cat\", \"dog\", \"\"]> (x)"
     "  b, t = ai.onnx.ml.TreeEnsembleClassifier <nodes_treeids = [0, 0, 0],"
     "      nodes_nodeids = [0, 1, 2], nodes_featureids = [1, 0, 0], nodes_values = [0.0, 0.0, 0.0],"
     "      nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], nodes_truenodeids = [1, 0, 0],"
     "      nodes_falsenodeids = [2, 0, 0], class_treeids = [0, 0], class_nodeids = [1, 2],"
     "      class_ids = [0, 0], class_weights = [0.25, 0.75],"
     "      classlabels_strings = [\"no\", \"yes\"]> (x)"
     "  c, u = ai.onnx.ml.SVMClassifier <kernel_type = \"RBF\", kernel_params = [0.5, 0.0, 0.0],"
     "      support_vectors = [0.0, 1.0, -1.0, 0.5], vectors_per_class = [1, 1],"
     "      coefficients = [1.0, -1.0], rho = [0.125],"
     "      classlabels_strings = [\"no\", \"yes\"]> (x) }",
     {"x": reals(5, 2)}, {"x": reals(1, 2)}, {"x": reals(0, 2)})


# ---- Running -----------------------------------------------------------------


def to_json(value):
    if value is None:
        return None
    if isinstance(value, list):
        return [to_json(item) for item in value]
    value = np.asarray(value)
    return {"dims": list(value.shape), "data": value.ravel().tolist()}


def from_json(value):
    if value is None:
        return None
    if isinstance(value, list):
        return [from_json(item) for item in value]
    dtype = {"string": object, "f32": np.float32, "i64": np.int64, "bool": bool}[value["type"]]
    return np.array(value["data"], dtype).reshape(value["dims"])


def difference(actual, expected):
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"is {actual}, expected {len(expected)} items"
        words = [difference(a, b) for a, b in zip(actual, expected)]
        return next((f"item {i}: {word}" for i, word in enumerate(words) if word), None)
    return mismatch(np.asarray(actual), np.asarray(expected, np.asarray(actual).dtype)
                    if np.asarray(actual).dtype == object else np.asarray(expected))


def model_of(name):
    graph, _, opset, _ = CASES[name]
    header = "ir_version: 10" + ("" if graph.startswith("<") else f', opset_import: ["": {opset}]')
    if graph.startswith("<"):
        imports, graph = graph[1:].split(">", 1)
        header += ", " + imports
    return onnx.parser.parse_model(f"<{header}> {graph}")


def operators():
    """Those that some case has, also in a body, as lumenc names them."""
    found = set()

    def visit(graph):
        for node in graph.node:
            found.add(f"{node.domain}::{node.op_type}" if node.domain else node.op_type)
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    visit(attribute.g)

    for name in CASES:
        visit(model_of(name).graph)
    return found


def run_case(name, folder):
    """What differs from ONNX Runtime, or None."""
    _, feeds, _, fails = CASES[name]
    model = model_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    path, artifact = folder / "model.onnx", folder / "model.so"
    onnx.save(model, path)
    call(["lumenc", path, "-o", artifact, "-j1"])
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    for step, feed in enumerate(feeds):
        arguments = []
        inputs = folder / f"{step}"
        inputs.mkdir(exist_ok=True)
        for key, value in feed.items():
            is_numbers = isinstance(value, np.ndarray) and value.dtype != object
            kind = next(i.type for i in session.get_inputs() if i.name == key)
            if is_numbers and kind.startswith("tensor"):
                np.save(inputs / f"{key}.npy", value)
            else:
                (inputs / f"{key}.json").write_text(json.dumps(to_json(value)))
        outputs = folder / f"{step}-outputs"
        command = ["lumen-run", artifact, "--inputs", inputs, "--save-outputs", outputs]
        if fails and step == len(feeds) - 1:
            try:
                call(command)
                return f"run {step}: no error, expected '{fails}'"
            except Broken as error:
                if fails not in str(error):
                    return f"run {step}: {error}, expected '{fails}'"
                continue
        call(command)
        for key, expected in zip(names, session.run(names, feed)):
            saved = outputs / f"{key}.json"
            actual = (from_json(json.loads(saved.read_text())) if saved.exists()
                      else np.load(outputs / f"{key}.npy"))
            words = difference(actual, expected)
            if words:
                return f"run {step}, output {key}: {words}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    failures = {}
    cases = args.names or list(CASES)
    for name in cases:
        try:
            words = run_case(name, args.output / name)
        except Broken as error:
            words = str(error)
        if words:
            failures[name] = words
    sys.exit(judge("values", failures, cases))


if __name__ == "__main__":
    main()
