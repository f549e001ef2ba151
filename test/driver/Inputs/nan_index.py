"""Writes model.onnx, its input x.npy, and what NumPy says about the outputs."""

import numpy as np
import onnx
from onnx import TensorProto, helper

random = np.random.default_rng(4)
x = random.standard_normal((5, 37)).astype(np.float32)
x[1, 20] = x[2, 0] = x[3, 36] = np.nan
x[4, [5, 30]] = np.nan
largest = np.argmax(x, axis=1)
np.save("x.npy", x)
np.save("max.npy", largest)
np.save("min.npy", np.argmin(x, axis=1))
np.save("last.npy", 36 - np.argmax(x[:, ::-1], axis=1))
np.save("hard.npy", (np.arange(37) == largest[:, None]).astype(np.float32))

nodes = [helper.make_node("ArgMax", ["x"], ["max"], axis=1, keepdims=0),
         helper.make_node("ArgMin", ["x"], ["min"], axis=1, keepdims=0),
         helper.make_node("ArgMax", ["x"], ["last"], axis=1, keepdims=0, select_last_index=1),
         helper.make_node("Hardmax", ["x"], ["hard"], axis=1)]
outputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [5])
           for name in ("max", "min", "last")]
outputs.append(helper.make_tensor_value_info("hard", TensorProto.FLOAT, [5, 37]))
graph = helper.make_graph(
    nodes, "nan", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 37])], outputs)
onnx.save_model(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]),
                "model.onnx")
