"""Writes ONNX graphs in the way in which torch.onnx and its like write them.

Sizes are read from tensors by Shape and Gather, joined by Unsqueeze and Concat,
and used by Reshape, Expand and Slice: a compiler must see through these chains.
"""

import contextlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, dtype, shape):
    """An input or output; `shape` has numbers, symbols, or None where nothing is known."""
    return helper.make_tensor_value_info(name, dtype, shape)


class Exporter:
    """A graph under construction. Values are names; a size is a number or the name of a
    scalar of type int64. `outer` is the graph that a region's graph is nested in."""

    def __init__(self, seed=None, outer=None):
        self.outer = outer
        self.rng = outer.rng if outer else np.random.default_rng(seed)
        self.nodes, self.initializers = [], []
        self.path = list(outer.path) if outer else []
        self.counts = outer.counts if outer else {}

    @contextlib.contextmanager
    def scope(self, name):
        self.path.append(name)
        yield
        self.path.pop()

    def name(self, kind):
        base = "/" + "/".join([*self.path, kind])
        count = self.counts[base] = self.counts.get(base, -1) + 1
        return f"{base}_{count}" if count else base

    # ---- Values ----

    def op(self, kind, *inputs, outputs=1, name=None, **attributes):
        """The node's output, or a list of them where `outputs` is more than one. `name`
        names the (first) output."""
        node = self.name(kind)
        names = [f"{node}_output_{index}" for index in range(outputs)]
        if name:
            names[0] = name
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=node, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, data, dtype=np.int64):
        """A Constant node."""
        return self.op("Constant", value=numpy_helper.from_array(np.asarray(data, dtype)))

    def number(self, data):
        return self.constant(data, np.float32)

    def weight(self, name, data):
        """A parameter; those of a region live in the outermost graph."""
        graph = self
        while graph.outer:
            graph = graph.outer
        name = ".".join([*self.path, name])
        graph.initializers.append(numpy_helper.from_array(np.asarray(data), name))
        return name

    def normal(self, name, shape, deviation, mean=0.0):
        noise = self.rng.standard_normal(shape, dtype=np.float32)
        return self.weight(name, np.float32(mean) + np.float32(deviation) * noise)

    # ---- Shapes ----

    def size(self, x, axis):
        return self.op("Gather", self.op("Shape", x), self.constant(axis), axis=0)

    def vector(self, sizes):
        """Sizes as one tensor."""
        if all(isinstance(size, int) for size in sizes):
            return self.constant(list(sizes))
        parts = [self.constant([size]) if isinstance(size, int) else
                 self.op("Unsqueeze", size, self.constant([0])) for size in sizes]
        return self.op("Concat", *parts, axis=0)

    def reshape(self, x, *sizes):
        return self.op("Reshape", x, self.vector(sizes))

    def expand(self, x, *sizes):
        """torch.Tensor.expand, where -1 leaves a dimension as it is."""
        shape = self.vector(sizes)
        ones = self.op("ConstantOfShape", self.constant([len(sizes)]),
                       value=numpy_helper.from_array(np.array([1], np.int64)))
        kept = self.op("Equal", shape, self.op("Mul", ones, self.constant(-1)))
        return self.op("Expand", x, self.op("Where", kept, ones, shape))

    def slice(self, x, axis, start, end):
        def bound(size):
            return self.constant([size]) if isinstance(size, int) else self.op(
                "Unsqueeze", size, self.constant([0]))
        return self.op("Slice", x, bound(start), bound(end), self.constant([axis]),
                       self.constant([1]))

    def arange(self, end):
        return self.op("Range", self.constant(0), end, self.constant(1))

    # ---- Layers ----

    def linear(self, name, x, fan_in, fan_out, gain=1.0, bias=True):
        """torch.nn.Linear on a tensor of any rank: the weight comes transposed."""
        with self.scope(name):
            weight = self.normal("weight", [fan_in, fan_out], gain * fan_in ** -0.5)
            x = self.op("MatMul", x, weight)
            if not bias:
                return x
            return self.op("Add", self.normal("bias", [fan_out], 0.05), x)

    def layer_norm(self, name, x, width, decomposed=False):
        with self.scope(name):
            scale = self.normal("weight", [width], 0.1, 1.0)
            bias = self.normal("bias", [width], 0.1)
            if not decomposed:
                return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)
            centered = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
            square = self.op("Pow", centered, self.number(2))
            variance = self.op("ReduceMean", square, axes=[-1])
            deviation = self.op("Sqrt", self.op("Add", variance, self.number(1e-5)))
            x = self.op("Div", centered, deviation)
            return self.op("Add", self.op("Mul", x, scale), bias)

    def gelu(self, x):
        with self.scope("act"):
            erf = self.op("Erf", self.op("Div", x, self.number(2 ** 0.5)))
            x = self.op("Mul", x, self.op("Add", erf, self.number(1)))
            return self.op("Mul", x, self.number(0.5))

    def gelu_tanh(self, x):
        with self.scope("act"):
            cube = self.op("Pow", x, self.number(3))
            inner = self.op("Add", x, self.op("Mul", cube, self.number(0.044715)))
            inner = self.op("Tanh", self.op("Mul", inner, self.number((2 / np.pi) ** 0.5)))
            half = self.op("Mul", x, self.number(0.5))
            return self.op("Mul", half, self.op("Add", inner, self.number(1)))

    def embedding(self, name, ids, count, width):
        return self.op("Gather", self.normal(f"{name}.weight", [count, width], 0.5), ids, axis=0)

    def split_heads(self, x, heads, dim, perm=(0, 2, 1, 3)):
        """[batch, seq, heads * dim] to [batch, heads, seq, dim]."""
        x = self.reshape(x, self.size(x, 0), self.size(x, 1), heads, dim)
        return self.op("Transpose", x, perm=list(perm))

    def merge_heads(self, x, width):
        x = self.op("Transpose", x, perm=[0, 2, 1, 3])
        return self.reshape(x, self.size(x, 0), self.size(x, 1), width)

    def attend(self, query, key, values, dim, mask=None):
        """Attention over [batch, heads, seq, dim]; `mask` is added to the scores."""
        key = self.op("Transpose", key, perm=[0, 1, 3, 2])
        scores = self.op("Div", self.op("MatMul", query, key), self.number(dim ** 0.5))
        if mask:
            scores = self.op("Add", scores, mask)
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), values)

    # ---- The whole ----

    def region(self, name, inputs, outputs):
        """The GraphProto of a region: a branch, or the body of a Loop or Scan."""
        return helper.make_graph(self.nodes, name, inputs, outputs)

    def save(self, path, name, inputs, outputs, opset=17):
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)
        domains = sorted({node.domain for node in self.nodes if node.domain})
        model = helper.make_model(graph, producer_name="lumen-test", ir_version=8, opset_imports=[
            helper.make_opsetid("", opset), *(helper.make_opsetid(name, 1) for name in domains)])
        # The package knows operators of the standard alone.
        if not domains:
            onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
