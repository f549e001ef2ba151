"""A model of one operator that indexes 5 rows of 4, and indices inside and outside."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

op = sys.argv[1]
data = helper.make_tensor_value_info("data", TensorProto.FLOAT, [5, 4])
if op in ("Gather", "GatherElements", "GatherND"):
    shape = {"Gather": [3], "GatherElements": [3, 4], "GatherND": [3, 1]}[op]
    inputs = ["data", "indices"]
    types = []
else:
    shape = {"ScatterElements": [3, 4], "ScatterND": [3, 1]}[op]
    inputs = ["data", "indices", "updates"]
    types = [helper.make_tensor_value_info("updates", TensorProto.FLOAT, [3, 4])]
indices = helper.make_tensor_value_info("indices", TensorProto.INT64, shape)
graph = helper.make_graph(
    [helper.make_node(op, inputs, ["y"], name="rows")], "model", [data, indices, *types],
    [helper.make_empty_tensor_value_info("y")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
          "model.onnx")
np.save("data.npy", np.arange(20, dtype=np.float32).reshape(5, 4))
np.save("updates.npy", np.ones((3, 4), np.float32))
for name, row in (("good", -5), ("high", 5), ("low", -6)):
    rows = np.broadcast_to(np.array([0, 4, row]).reshape([3] + [1] * (len(shape) - 1)), shape)
    np.save(f"{name}.npy", np.ascontiguousarray(rows, np.int64))
