"""A model of one operator over x[3, 4] whose other inputs the run gives; see the cases."""

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
}


def info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                         array.shape)


op = sys.argv[1]
operands, attributes = CASES[op]
x = np.arange(12, dtype=np.float32).reshape(3, 4)
inputs = [info("x", x)] + [info(name, array) for name, array in operands.items() if name]
node = helper.make_node(op, ["x", *operands], ["y"], name="it", **attributes)
graph = helper.make_graph([node], "model", inputs, [helper.make_empty_tensor_value_info("y")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
          "model.onnx")
np.save("x.npy", x)
# Arguments are NAME=NUMBERS.
for argument in sys.argv[2:]:
    name, numbers = argument.split("=")
    operand = next(array for key, array in operands.items() if key and name.startswith(key))
    np.save(f"{name}.npy", np.array(numbers.split(","), float).astype(operand.dtype))
