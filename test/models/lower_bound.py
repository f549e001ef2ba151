"""The least memory that a run can need, computed from the ONNX graph alone.

lower_bound.py NAME|MODEL.onnx [NAME=1x3x224x224...]

It is an independent witness for lumenc's --memory-report, defined so:

- Sizes are logical bytes: elements times element size, without alignment.
- Nodes run in the order of the file. Those that only depend on weights are
  constants and need nothing. The model's inputs and outputs are the caller's.
- A view (Reshape, Flatten, Squeeze, Identity, ...) is its operand.
- The operands of a Concat are written into its result: they are one storage.
- An elementwise node is computed by the node that makes one of its operands,
  where it is that operand's only user (the latest such operand, where there are
  several): the value between them is never stored.
- A step may overwrite an operand which is read elementwise, has the size of the
  result and is not used later.
- The bound is the largest sum of the storages that live at one step, where a
  storage lives from the step that makes it to the last step that reads it.
"""

import json
import sys
import tempfile
from math import prod
from pathlib import Path

import onnx
from onnx import helper, shape_inference

from models import MODELS

VIEWS = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}
ELEMENTWISE = {"Relu", "Clip", "LeakyRelu", "PRelu", "Sigmoid", "Tanh", "Elu", "Exp", "Sqrt", "Neg",
               "Abs", "Reciprocal", "Add", "Sub", "Mul", "Div", "Sum", "Max", "Min", "Pow", "Cast",
               "BatchNormalization", "Equal", "Where"}


def value_sizes(model):
    sizes = {}
    graph = model.graph
    for value in [*graph.input, *graph.value_info, *graph.output]:
        tensor = value.type.tensor_type
        dims = [dim.dim_value for dim in tensor.shape.dim]
        if tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim):
            sizes[value.name] = prod(dims) * helper.tensor_dtype_to_np_dtype(
                tensor.elem_type).itemsize
    return sizes


class Storages:
    """Values that share memory, as a forest."""

    def __init__(self):
        self.parent = {}

    def find(self, name):
        while self.parent.get(name, name) != name:
            name = self.parent[name]
        return name

    def union(self, names, representative):
        for name in names:
            self.parent[self.find(name)] = self.find(representative)


def lower_bound(model):
    graph = model.graph
    sizes = value_sizes(model)
    constants = {tensor.name for tensor in graph.initializer} | {""}
    nodes = []
    for node in graph.node:
        if all(name in constants for name in node.input):
            constants.update(node.output)
        else:
            nodes.append(node)
    view_of = {}

    def resolve(name):
        while name in view_of:
            name = view_of[name]
        return name

    steps = []  # (node, operands) without views
    for node in nodes:
        operands = [resolve(name) for name in node.input if name not in constants]
        if node.op_type in VIEWS:
            view_of[node.output[0]] = operands[0]
        else:
            steps.append((node, operands))
    outputs = {resolve(value.name) for value in graph.output}
    inputs = {value.name for value in graph.input}

    uses = {}
    for index, (node, operands) in enumerate(steps):
        for name in operands:
            uses.setdefault(name, []).append(index)
    made_by = {steps[i][0].output[0]: i for i in range(len(steps))}

    # Elementwise nodes join the step that makes an operand; a group runs where its last node is.
    group = list(range(len(steps)))
    internal = set()
    for index, (node, operands) in enumerate(steps):
        if node.op_type not in ELEMENTWISE:
            continue
        single = [name for name in operands if name in made_by and uses[name] == [index]
                  and name not in outputs and steps[made_by[name]][0].op_type != "Concat"]
        if single:
            chosen = max(single, key=lambda name: made_by[name])
            internal.add(chosen)
            root = group[made_by[chosen]]
            group = [index if g == root else g for g in group]

    storages = Storages()
    for node, operands in steps:
        if node.op_type == "Concat":
            storages.union([name for name in operands if name not in inputs], node.output[0])
    last_use = {}
    for index, (node, operands) in enumerate(steps):
        for name in operands:
            last_use[name] = max(last_use.get(name, -1), group[index])
    for index, (node, operands) in enumerate(steps):
        result = node.output[0]
        if node.op_type not in ELEMENTWISE or result in internal:
            continue
        members = [i for i in range(len(steps)) if group[i] == group[index]]
        read = {name for i in members for name in steps[i][1] if steps[i][0].op_type in ELEMENTWISE}
        read_whole = {name for i in members for name in steps[i][1]
                      if steps[i][0].op_type not in ELEMENTWISE}
        for name in sorted(read - read_whole - internal - inputs - outputs):
            root = storages.find(name)
            dies = max(last_use[other] for other in last_use if storages.find(other) == root)
            if (sizes.get(name) == sizes.get(result) and dies == group[index]
                    and storages.find(name) == name and result not in outputs):
                storages.union([name], result)
                break

    live = {}  # storage -> [size, first, last]
    for index, (node, operands) in enumerate(steps):
        name = node.output[0]
        if name in internal:
            continue
        root = storages.find(name)
        entry = live.setdefault(root, [0, group[index], group[index]])
        entry[0] = max(entry[0], sizes[root], sizes[name])
        entry[1] = min(entry[1], group[index])
        entry[2] = max(entry[2], group[index], last_use.get(name, -1))
    owned = {storages.find(name) for name in outputs}
    live = {name: entry for name, entry in live.items() if name not in owned}
    peak, at = max((sum(size for size, first, last in live.values() if first <= step <= last), step)
                   for step in set(group)) if live else (0, 0)
    return {"lower_bound_bytes": peak, "at": f"{steps[at][0].op_type} '{steps[at][0].name}'",
            "stored_values": len(live), "bytes_without_sharing": sum(e[0] for e in live.values()),
            "live_buffers": max((sum(1 for _, first, last in live.values() if first <= step <= last)
                                 for step in set(group)), default=0)}


def analyse(path, shapes):
    model = onnx.load(path)
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ())):
            dim.dim_value = size
    # Weights as inputs of the graph (IR version 3) carry no information.
    for value in model.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                dim.Clear()
    return lower_bound(shape_inference.infer_shapes(model, data_prop=True))


def main():
    name = sys.argv[1]
    if name in MODELS:
        model = MODELS[name]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            model.make(path)
            result = analyse(path, model.shapes)
    else:
        shapes = {key: [int(n) for n in dims.split("x")]
                  for key, dims in (text.rsplit("=", 1) for text in sys.argv[2:])}
        result = analyse(name, shapes)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
