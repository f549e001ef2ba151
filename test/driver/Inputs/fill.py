"""fill.py MODEL LOG2: a model without inputs whose output is 2^LOG2 times 5."""

import sys

import onnx
from onnx import TensorProto, helper

size = 1 << int(sys.argv[2])
graph = helper.make_graph(
    [helper.make_node("ConstantOfShape", ["shape"], ["y"],
                      value=helper.make_tensor("value", TensorProto.FLOAT, [1], [5.0]))],
    "fill", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [size])],
    [helper.make_tensor("shape", TensorProto.INT64, [1], [size])])
onnx.save_model(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]),
                sys.argv[1])
