"""A model of one operator over 3 by 4 numbers whose other inputs the run gives; see the cases."""

import sys

import numpy as np
import onnx
from onnx import helper

CASES = {  # inputs, with the type of each, and attributes
    "ReduceSum": ({"axes": np.zeros(2, np.int64)}, {}),
    "CumSum": ({"axis": np.zeros(1, np.int64)}, {}),
    "Squeeze": ({"axes": np.zeros(1, np.int64)}, {}),
    "Slice": ({name: np.zeros(1, np.int64) for name in ("starts", "ends", "axes", "steps")}, {}),
    "Pad": ({"pads": np.zeros(4, np.int64)}, {"mode": "reflect"}),
    "Resize": ({"": None, "scales": np.zeros(2, np.float32)}, {}),
    "ReverseSequence": ({"lengths": np.zeros(4, np.int64)}, {}),
    "RNN": ({"w": np.ones((1, 3, 4), np.float32), "r": np.ones((1, 3, 3), np.float32),
             "": None, "lengths": np.zeros(1, np.int32)}, {"hidden_size": 3}),
}


def info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                         array.shape)


op = sys.argv[1]
operands, attributes = CASES[op]
x = np.arange(12, dtype=np.float32).reshape((3, 1, 4) if op == "RNN" else (3, 4))
inputs = [info("x", x)] + [info(name, array) for name, array in operands.items() if name]
node = helper.make_node(op, ["x", *operands], ["y"], name="it", **attributes)
graph = helper.make_graph([node], "model", inputs, [helper.make_empty_tensor_value_info("y")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
          "model.onnx")
np.save("x.npy", x)
for name, array in operands.items():
    if name:
        np.save(f"{name}.npy", array)
# Arguments are NAME=NUMBERS.
for argument in sys.argv[2:]:
    name, numbers = argument.split("=")
    operand = next(array for key, array in operands.items() if key and name.startswith(key))
    np.save(f"{name}.npy", np.array(numbers.split(","), float).astype(operand.dtype))
