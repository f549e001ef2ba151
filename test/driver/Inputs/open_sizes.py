"""Models of one operator whose input x has open sizes, some of which do not suit it, and of a
branch that does not suit any."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CASES = {  # the shape of x, constants, and attributes
    "TopK": (["N"], {"k": np.int64([10])}, {}),
    "Conv": ([1, 2, "H", "W"], {"w": np.ones((3, 2, 5, 5), np.float32)}, {}),
    "Split": ([2, "N"], {}, {"axis": 1}),
    "Squeeze": ([2, "N"], {"axes": np.int64([1])}, {}),
    "Reshape": (["N", 5], {"shape": np.int64([-1, 7])}, {}),
    "MatMul": ([2, "N"], {"w": np.ones((8, 3), np.float32)}, {}),
    "Gather": (["N"], {"indices": np.int64([2, 6])}, {}),
}


def save(name, graph):
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              f"{name}.onnx")


def value(name, shape, type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, type, shape)


for op, (shape, constants, attributes) in CASES.items():
    outputs = ["y", "z"] if op in ("TopK", "Split") else ["y"]
    node = helper.make_node(op, ["x", *constants], outputs, name="it", **attributes)
    save(op, helper.make_graph([node], "model", [value("x", shape)],
                               [helper.make_empty_tensor_value_info(name) for name in outputs],
                               [numpy_helper.from_array(*pair[::-1]) for pair in constants.items()]))

# One branch multiplies matrices that do not fit together.
branches = {name: helper.make_graph([helper.make_node(op, ["x"] * count, [name], name="inner")],
                                    name, [], [value(name, None)])
            for name, op, count in (("then", "Relu", 1), ("else", "MatMul", 2))}
node = helper.make_node("If", ["c"], ["y"], name="it", then_branch=branches["then"],
                        else_branch=branches["else"])
save("If", helper.make_graph([node], "model", [value("c", [], TensorProto.BOOL), value("x", [2, 3])],
                             [value("y", None)]))
np.save("true.npy", np.array(True))
