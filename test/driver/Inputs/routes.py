"""Writes routes.onnx, a product between light nodes, whose rows are open, turns.onnx, the same
in a loop, and index.onnx, where the product is of rows that a light node picks.

With an argument, MODEL.so: writes rates for its devices to the folder LUMEN_CACHE. The CPU does
an operation in a microsecond, other devices move a byte in one: products are for these, and
what else there is for the CPU."""
import json
import os
import subprocess
import sys

N = 64
CPU, DEVICE = "0.001 10 1 1 10", "500 0.001 1 1 10"


def write_models():
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def value(name, dims, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, dims)

    weight = numpy_helper.from_array(
        np.random.default_rng(0).standard_normal((N, N), np.float32), "w")

    def save(graph):
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), f"{graph.name}.onnx")

    def nodes(x, y):
        return [helper.make_node("Softmax", [x], ["first"], "first"),
                helper.make_node("MatMul", ["first", "w"], ["heavy"], "heavy"),
                helper.make_node("Softmax", ["heavy"], ["last"], "last"),
                helper.make_node("Sub", ["last", "first"], [y], "skip")]

    save(helper.make_graph(nodes("x", "y"), "routes", [value("x", ["n", N])],
                           [value("y", ["n", N])], [weight]))
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["again"]), *nodes("before", "after")], "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL),
         value("before", ["n", N])],
        [value("again", [], TensorProto.BOOL), value("after", ["n", N])], [weight])
    save(helper.make_graph(
        [helper.make_node("Loop", ["turns", "", "x"], ["y"], "loop", body=body)], "turns",
        [value("turns", [], TensorProto.INT64), value("x", ["n", N])], [value("y", ["n", N])]))
    save(helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["heavy"], "heavy"),
         helper.make_node("Gather", ["heavy", "rows"], ["y"], "pick")], "index",
        [value("x", ["n", N]), value("rows", ["k"], TensorProto.INT64)], [value("y", ["k", N])],
        [weight]))


def write_rates(model):
    listed = subprocess.run(["lumen-run", model, "--devices", "--json"], check=True,
                            stdout=subprocess.PIPE)
    folder = os.environ["LUMEN_CACHE"]
    os.makedirs(folder, exist_ok=True)
    for device in json.loads(listed.stdout)["devices"]:
        number = 14695981039346656037
        for byte in device["name"].encode():
            number = (number ^ byte) * 1099511628211 % 2**64
        with open(f"{folder}/{device['kind']}-{number:016x}.rates", "w") as file:
            file.write(CPU if device["kind"] == "cpu" else DEVICE)


if len(sys.argv) > 1:
    write_rates(sys.argv[1])
else:
    write_models()
