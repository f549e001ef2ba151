"""Writes product.onnx, whose rows are open, and loop.onnx, which adds in a loop of n turns."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weight = np.random.default_rng(0).standard_normal((64, 64), np.float32)
product = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "product",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 64])],
    [numpy_helper.from_array(weight, "w")])

body = helper.make_graph(
    [helper.make_node("Identity", ["go"], ["again"]),
     helper.make_node("Sin", ["before"], ["after"], "turn")], "body",
    [helper.make_tensor_value_info("i", TensorProto.INT64, []),
     helper.make_tensor_value_info("go", TensorProto.BOOL, []),
     helper.make_tensor_value_info("before", TensorProto.FLOAT, [100])],
    [helper.make_tensor_value_info("again", TensorProto.BOOL, []),
     helper.make_tensor_value_info("after", TensorProto.FLOAT, [100])])
loop = helper.make_graph(
    [helper.make_node("Loop", ["turns", "", "start"], ["end"], "loop", body=body)], "loop",
    [helper.make_tensor_value_info("turns", TensorProto.INT64, []),
     helper.make_tensor_value_info("start", TensorProto.FLOAT, [100])],
    [helper.make_tensor_value_info("end", TensorProto.FLOAT, [100])])

for graph in (product, loop):
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              f"{graph.name}.onnx")
