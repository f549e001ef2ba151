"""A model that adds two sparse constants, by places and by rows, to its input; and the answer."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rows = np.array([[0, 1], [1, 0], [2, 3]], np.int64)
values = np.array([2, -1, 5], np.float32)


def sparse(name, indices):
    return helper.make_sparse_tensor(numpy_helper.from_array(values, name),
                                     numpy_helper.from_array(indices), [3, 4])


info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4]) for name in "xy"]
graph = helper.make_graph(
    [helper.make_node("Constant", [], ["a"], sparse_value=sparse("places", rows @ [4, 1])),
     helper.make_node("Add", ["x", "a"], ["s"]), helper.make_node("Add", ["s", "b"], ["y"])],
    "sparse", info[:1], info[1:], sparse_initializer=[sparse("b", rows)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
          "model.onnx")
x = np.random.default_rng(1).uniform(-1, 1, (3, 4)).astype(np.float32)
dense = np.zeros((3, 4), np.float32)
dense[tuple(rows.T)] = values
np.save("x.npy", x)
np.save("y.npy", x + 2 * dense)
