"""Models that lumenc must refuse. `CASES` maps a name to a function that writes
model.onnx, and what else belongs to it, into a folder."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32 = TensorProto.FLOAT
CASES = {}


def case(function):
    CASES[function.__name__.replace("_", "-")] = function
    return function


def value(name, shape, dtype=F32):
    return helper.make_tensor_value_info(name, dtype, shape)


def weights(name, *shape):
    return numpy_helper.from_array(np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32)
                                   .reshape(shape), name)


def model(nodes, inputs, outputs, initializers=(), opsets=(("", 17),)):
    graph = helper.make_graph(nodes, "bad", inputs, outputs, list(initializers))
    return helper.make_model(graph, ir_version=8,
                             opset_imports=[helper.make_opsetid(*opset) for opset in opsets])


def write(folder, proto):
    (folder / "model.onnx").write_bytes(proto.SerializeToString())


def convolution(weight_shape=(8, 3, 3, 3), input_shape=(1, 3, 16, 16)):
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="stem/conv1")
    return model([node], [value("x", list(input_shape))], [value("y", None)],
                 [weights("w", *weight_shape)])


@case
def empty(folder):
    (folder / "model.onnx").write_bytes(b"")


@case
def text(folder):
    (folder / "model.onnx").write_text("This is not a model, but a letter about one.\n" * 20)


@case
def truncated(folder):
    content = convolution().SerializeToString()
    (folder / "model.onnx").write_bytes(content[:len(content) // 2])


@case
def missing_file(folder):
    pass


@case
def a_folder(folder):
    (folder / "model.onnx").mkdir()


@case
def cycle(folder):
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], name="first"),
             helper.make_node("Relu", ["a"], ["b"], name="second")]
    write(folder, model(nodes, [value("x", [4])], [value("b", [4])]))


@case
def wrong_order(folder):
    nodes = [helper.make_node("Relu", ["a"], ["b"], name="early"),
             helper.make_node("Relu", ["x"], ["a"], name="late")]
    write(folder, model(nodes, [value("x", [4])], [value("b", [4])]))


@case
def missing_initializer(folder):
    proto = convolution()
    del proto.graph.initializer[:]
    write(folder, proto)


@case
def wrong_channels(folder):
    write(folder, convolution(weight_shape=(8, 4, 3, 3)))


@case
def wrong_rank(folder):
    node = helper.make_node("Gemm", ["x", "w"], ["y"], name="fc")
    write(folder, model([node], [value("x", [1, 2, 8])], [value("y", None)], [weights("w", 8, 4)]))


@case
def no_broadcast(folder):
    node = helper.make_node("Add", ["x", "w"], ["y"], name="sum")
    write(folder, model([node], [value("x", [2, 5])], [value("y", None)], [weights("w", 4)]))


@case
def overflowing_dimensions(folder):
    write(folder, convolution(input_shape=(1 << 40, 3, 1 << 40, 16)))


@case
def short_data(folder):
    proto = convolution()
    proto.graph.initializer[0].raw_data = proto.graph.initializer[0].raw_data[:-16]
    write(folder, proto)


def external(folder, location, content=None):
    proto = convolution()
    tensor = proto.graph.initializer[0]
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value=location))
    if content is not None:
        (folder / location).write_bytes(data[:content])
    write(folder, proto)


@case
def missing_external_data(folder):
    external(folder, "weights.bin")


@case
def short_external_data(folder):
    external(folder, "weights.bin", content=100)


@case
def external_data_above(folder):
    external(folder, "../weights.bin", content=10000)


@case
def external_data_absolute(folder):
    external(folder, "/etc/hostname")


@case
def external_data_link(folder):
    (folder.parent / "outside.bin").write_bytes(b"\0" * 10000)
    (folder / "weights.bin").symlink_to("../outside.bin")
    external(folder, "weights.bin")


@case
def unsupported(folder):
    nodes = [helper.make_node("Fancy", ["x"], ["a"], name="odd/one", domain="com.acme"),
             helper.make_node("Relu", ["a"], ["b"], name="plain"),
             helper.make_node("Fancy", ["b"], ["c"], name="odd/two", domain="com.acme"),
             helper.make_node("Sparkle", ["c"], ["y"], name="odd/three", domain="com.acme")]
    write(folder, model(nodes, [value("x", [4])], [value("y", [4])],
                        opsets=(("", 17), ("com.acme", 1))))


@case
def dynamic(folder):
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    write(folder, model([node], [value("x", ["batch", 8])], [value("y", ["batch", 8])]))


@case
def fixed(folder):
    """A model that compiles: what is wrong with it is up to the flags."""
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    write(folder, model([node], [value("x", [2, 8])], [value("y", [2, 8])]))


@case
def old_opset(folder):
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    write(folder, model([node], [value("x", [2])], [value("y", [2])], opsets=(("", 6),)))


@case
def future_opset(folder):
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    write(folder, model([node], [value("x", [2])], [value("y", [2])], opsets=(("", 900),)))


@case
def duplicate_name(folder):
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="one"),
             helper.make_node("Tanh", ["x"], ["y"], name="two")]
    write(folder, model(nodes, [value("x", [4])], [value("y", [4])]))


@case
def several(folder):
    """More than one mistake: all are reported in one go."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], name="stem/conv1"),
             helper.make_node("Relu", ["missing"], ["b"], name="relu"),
             helper.make_node("Add", ["a", "gone"], ["y"], name="sum")]
    write(folder, model(nodes, [value("x", [1, 3, 16, 16])], [value("y", None)],
                        [weights("w", 8, 3, 3, 3)]))


@case
def many_ways(folder):
    """Each If doubles the ranks that what is behind it may have."""
    nodes, before = [], "x"
    for i in range(9):
        yes = helper.make_graph([helper.make_node("Unsqueeze", [before, "axes"], [f"yes{i}"])],
                                "yes", [], [value(f"yes{i}", None)])
        no = helper.make_graph([helper.make_node("Identity", [before], [f"no{i}"])],
                               "no", [], [value(f"no{i}", None)])
        nodes.append(helper.make_node("If", ["c"], [f"x{i}"], name=f"if{i}", then_branch=yes,
                                      else_branch=no))
        before = f"x{i}"
    nodes.append(helper.make_node("ReduceSum", [before], ["y"], keepdims=0, name="sum"))
    axes = numpy_helper.from_array(np.zeros(1, np.int64), "axes")
    write(folder, model(nodes, [value("x", [2]), value("c", [], TensorProto.BOOL)],
                        [value("y", [])], [axes]))
