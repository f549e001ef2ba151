"""Rows of If, Loop and Scan, with bodies that stand by themselves.

What bodies make of outer values, of each other and of sizes that change is the
business of test/models/control_models.py.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from operator_rows import row

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def values(*infos):
    return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in infos]


def body(name, nodes, inputs, outputs, **constants):
    tensors = [numpy_helper.from_array(np.asarray(value), f"{name}_{key}")
               for key, value in constants.items()]
    return helper.make_graph(nodes, name, values(*inputs), values(*outputs), tensors)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


# ---- If --------------------------------------------------------------------


def branch(name, sizes):
    return body(name, [node("Neg", f"{name}_c", f"{name}_y")], [],
                [(f"{name}_y", FLOAT, None)], c=np.ones(sizes, np.float32) * len(name))


for condition in ("0~0", "1~1"):
    row("If", f"bool:scalar@{condition}", then_branch=branch("yes", (2, 3)),
        else_branch=branch("no", (2, 3)))
    row("If", f"bool:1@{condition}", then_branch=branch("more", (5, 3)),
        else_branch=branch("less", (2, 3)))

# ---- Loop ------------------------------------------------------------------

halve = body(
    "halve", [node("Cast", "halve_i", "halve_f", to=FLOAT), node("Add", "halve_s halve_f", "halve_a"),
              node("Mul", "halve_a halve_c", "halve_n"), node("Identity", "halve_go", "halve_out")],
    [("halve_i", INT, []), ("halve_go", BOOL, []), ("halve_s", FLOAT, [3, 5])],
    [("halve_out", BOOL, []), ("halve_n", FLOAT, [3, 5]), ("halve_a", FLOAT, [3, 5])],
    c=np.float32(0.5))
grow = body(
    "grow", [node("Concat", "grow_s grow_one", "grow_n", axis=0),
             node("ReduceSum", "grow_n", "grow_sum", keepdims=0),
             node("Less", "grow_sum grow_limit", "grow_out")],
    [("grow_i", INT, []), ("grow_go", BOOL, []), ("grow_s", FLOAT, [None])],
    [("grow_out", BOOL, []), ("grow_n", FLOAT, [None]), ("grow_sum", FLOAT, [])],
    one=np.ones(1, np.float32), limit=np.float32(6))
for trips in ("=i64:[4]", "=i64:[0]", "i64:1@3~3", "i64:1@0~0"):
    row("Loop", f"{trips} - 3x5", outputs=2, body=halve)
row("Loop", "=i64:[4] bool:scalar@1~1 3x5", outputs=2, body=halve)
row("Loop", "=i64:[4] bool:scalar@0~0 3x5", outputs=2, body=halve)
row("Loop", "- bool:scalar@1~1 1@1~1", outputs=2, body=grow)
row("Loop", "=i64:[3] bool:scalar@1~1 1@1~1", outputs=2, body=grow)

# ---- Scan ------------------------------------------------------------------

running = body(
    "running", [node("Add", "running_s running_x", "running_n"), node("Mul", "running_n running_x", "running_y")],
    [("running_s", FLOAT, [4]), ("running_x", FLOAT, [4])],
    [("running_n", FLOAT, [4]), ("running_y", FLOAT, [4])])
row("Scan", "4 7x4", outputs=2, body=running, num_scan_inputs=1)
row("Scan", "4 7x4", outputs=2, body=running, num_scan_inputs=1, scan_input_directions=[1],
    scan_output_directions=[1])
row("Scan", "4 4x7", outputs=2, body=running, num_scan_inputs=1, scan_input_axes=[-1],
    scan_output_axes=[1])
