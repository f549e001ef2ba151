"""external.py MODEL DATA: writes a model whose weights lie in the file DATA beside it."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

path, data = Path(sys.argv[1]), sys.argv[2]
weights = np.linspace(-1, 1, 4096, dtype=np.float32).reshape(64, 64)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"])], "external",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64])],
    [numpy_helper.from_array(weights, "w")])
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
(path.parent / data).unlink(missing_ok=True)
onnx.save_model(model, path, save_as_external_data=True, location=data)
