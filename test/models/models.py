"""The models that Lumen is compared with ONNX Runtime on, made from seeds.

`MODELS` maps a name to a Model. The light models of the onnx package have all
weights constant, so that every output is the same; each also exists as
`filled-...`, with random weights that keep activations in range, where a
comparison means something.

Run as a program, this writes models into a folder: models.py DIR [NAMES...]
"""

import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import control_models
import dynamic_models
import fused_transformers
import packaged_models
import transformers
from packaged_models import packaged

# make: writes the model to a path. bindings: flags for lumenc. shapes: the same
# as a dictionary, input to shape. ranges: bounds of random integer inputs.
# For dynamic.py: steps gives a dictionary of inputs for each of several runs, from
# a random generator; sample: the inputs of one run of random sizes; carried:
# outputs that become inputs of the next step; reference: writes the model as ONNX
# Runtime can run it, where that differs; stacked: of outputs that a Loop stacks, and
# may run no trip for, the axis of the trips.
Model = namedtuple("Model", "make bindings shapes ranges steps sample carried reference stacked",
                   defaults=[(), {}, {}, None, None, {}, None, {}])

# ---- The light models ------------------------------------------------------


def light_path(name):
    return Path(onnx.__file__).parent / "backend/test/data/light" / f"light_{name}.onnx"


def he(rng, shape, fan_in, gain=2.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32((gain / fan_in) ** 0.5)


def consumers_of(graph):
    uses = {}
    for node in graph.node:
        for index, name in enumerate(node.input):
            uses.setdefault(name, []).append((node, index))
    return uses


def role_of(name, uses):
    """The node and operand position that a parameter reaches through views."""
    while len(uses.get(name, [])) == 1:
        node, index = uses[name][0]
        if node.op_type not in ("Unsqueeze", "Reshape") or index != 0:
            return node, index
        name = node.output[0]
    return None, None


def fill(model, seed):
    """Replaces the parameters of a light model by random ones, in place."""
    graph = model.graph
    rng = np.random.default_rng(seed)
    uses = consumers_of(graph)
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    parameters = {}  # name -> shape, in order of the file
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            parameters[node.output[0]] = numpy_helper.to_array(initializers[node.input[0]]).tolist()
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            parameters.setdefault(tensor.name, list(tensor.dims))

    filled = []
    for name, shape in parameters.items():
        if name not in uses:
            continue
        node, index = role_of(name, uses)
        if node is None:
            raise ValueError(f"parameter '{name}' has several uses")
        role = (node.op_type, index)
        noise = rng.standard_normal(shape, dtype=np.float32)
        if role in (("Conv", 1), ("Gemm", 1)):
            value = noise * np.float32((2.0 / np.prod(shape[1:])) ** 0.5)
        elif role == ("BatchNormalization", 4):  # variance
            value = 1.0 + 0.5 * np.abs(noise)
        elif role == ("BatchNormalization", 1):  # scale
            value = 0.6 + 0.1 * noise
        elif node.op_type == "Mul":
            value = 1.0 + 0.1 * noise
        else:  # biases and means
            value = 0.1 * noise
        filled.append(numpy_helper.from_array(value.astype(np.float32), name))

    kept = [tensor for tensor in graph.initializer if tensor.name not in parameters]
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    used = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in kept if tensor.name in used]
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    for field, values in [(graph.initializer, kept + filled), (graph.node, nodes),
                          (graph.input, inputs)]:
        values = [type(value).FromString(value.SerializeToString()) for value in values]
        del field[:]
        field.extend(values)
    model.ir_version = 8  # an initializer need not be an input since 4
    calibrate(model, rng)
    return model


def calibrate(model, rng):
    """Scales the last layer so that its outputs have a deviation of about two,
    and a softmax behind it says more than one class."""
    import onnxruntime

    graph = model.graph
    last = [node for node in graph.node if node.op_type in ("Gemm", "Conv")][-1]
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    probe.graph.output.append(helper.make_empty_tensor_value_info(last.output[0]))
    session = onnxruntime.InferenceSession(probe.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    feed = {value.name: rng.standard_normal(value.shape, dtype=np.float32)
            for value in session.get_inputs()}
    spread = float(np.std(session.run(None, feed)[0]))
    if not np.isfinite(spread) or spread == 0:
        raise ValueError(f"the last layer's outputs have deviation {spread}")
    uses = consumers_of(graph)
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and role_of(tensor.name, uses)[0] is last:
            value = numpy_helper.to_array(tensor) * np.float32(2.0 / spread)
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))


def light(name):
    def make(path):
        path.write_bytes(light_path(name).read_bytes())
    return Model(make)


def filled(name, seed):
    def make(path):
        onnx.save(fill(onnx.load(light_path(name)), seed), path)
    return Model(make)


# ---- Models of our own -----------------------------------------------------


class Graph:
    """A graph under construction."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.initializers = [], []

    def constant(self, name, value):
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"{name}_out"], name=name, **attributes))
        return f"{name}_out"

    def save(self, path, name, inputs, outputs, opset=13):
        def values(shapes):
            return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes]
        graph = helper.make_graph(self.nodes, name, values(inputs), values(outputs),
                                  self.initializers)
        model = helper.make_model(graph, producer_name="lumen-test", ir_version=8,
                                  opset_imports=[helper.make_opsetid("", opset)])
        onnx.checker.check_model(model)
        onnx.save(model, path)


def mobilenet_v2(path, seed=2):
    """MobileNetV2 1.0 at 224, as exporters write it: Conv, BatchNormalization, Clip."""
    g = Graph(seed)
    low, high = g.constant("zero", np.float32(0)), g.constant("six", np.float32(6))

    def conv(x, name, cin, cout, kernel, stride=1, groups=1, clip=True):
        shape = [cout, cin // groups, kernel, kernel]
        w = g.constant(f"{name}.weight", he(g.rng, shape, np.prod(shape[1:])))
        pad = kernel // 2
        x = g.node("Conv", [x, w], name, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                   pads=[pad] * 4, group=groups)

        def vector(suffix, scale, offset):
            noise = g.rng.standard_normal(cout, dtype=np.float32)
            return g.constant(f"{name}.{suffix}", np.float32(offset) + np.float32(scale) * noise)
        variance = g.constant(f"{name}.var", np.float32(0.5) + g.rng.random(cout, np.float32))
        x = g.node("BatchNormalization",
                   [x, vector("scale", 0.1, 0.8), vector("bias", 0.1, 0.1),
                    vector("mean", 0.1, 0.0), variance], f"{name}.bn", epsilon=1e-5)
        return g.node("Clip", [x, low, high], f"{name}.relu6") if clip else x

    x = conv("input", "stem", 3, 32, 3, stride=2)
    channels = 32
    blocks = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1)]
    for stage, (expand, cout, repeat, stride) in enumerate(blocks):
        for index in range(repeat):
            name = f"block{stage}.{index}"
            hidden, step = channels * expand, stride if index == 0 else 1
            y = conv(x, f"{name}.expand", channels, hidden, 1) if expand != 1 else x
            y = conv(y, f"{name}.depthwise", hidden, hidden, 3, stride=step, groups=hidden)
            y = conv(y, f"{name}.project", hidden, cout, 1, clip=False)
            x = g.node("Add", [x, y], f"{name}.add") if step == 1 and channels == cout else y
            channels = cout
    x = conv(x, "head", channels, 1280, 1)
    x = g.node("GlobalAveragePool", [x], "pool")
    x = g.node("Flatten", [x], "flatten", axis=1)
    w = g.constant("classifier.weight", he(g.rng, [1000, 1280], 1280))
    b = g.constant("classifier.bias", np.float32(0.1) * g.rng.standard_normal(1000, np.float32))
    g.nodes.append(helper.make_node("Gemm", [x, w, b], ["output"], name="classifier", transB=1))
    g.save(path, "mobilenetv2", [("input", [1, 3, 224, 224])], [("output", [1, 1000])])


def mlp(path, layers=20, width=512, batch=32, seed=3):
    """A chain of fully connected layers, which needs two live buffers."""
    g = Graph(seed)
    x = "input"
    for layer in range(layers):
        w = g.constant(f"layer{layer}.weight", he(g.rng, [width, width], width))
        b = g.constant(f"layer{layer}.bias",
                       np.float32(0.05) * g.rng.standard_normal(width, np.float32))
        x = g.node("Gemm", [x, w, b], f"layer{layer}")
        if layer + 1 < layers:
            x = g.node("Relu", [x], f"layer{layer}.relu")
    g.nodes[-1].output[0] = "output"
    g.save(path, "mlp", [("input", [batch, width])], [("output", [batch, width])])


def small(path, seed=4):
    """A small convolution net with one of each: for tests that are not about speed."""
    g = Graph(seed)

    def vector(name, count, scale, offset=0.0):
        noise = g.rng.standard_normal(count, dtype=np.float32)
        return g.constant(name, np.float32(offset) + np.float32(scale) * noise)
    x = g.node("Conv", ["input", g.constant("w1", he(g.rng, [16, 3, 3, 3], 27)),
                        vector("b1", 16, 0.1)], "conv1", kernel_shape=[3, 3], pads=[1] * 4)
    x = g.node("BatchNormalization", [x, vector("scale", 16, 0.1, 1), vector("bias", 16, 0.1),
                                      vector("mean", 16, 0.1),
                                      g.constant("var", 0.5 + g.rng.random(16, np.float32))], "bn1")
    x = g.node("Relu", [x], "relu1")
    x = g.node("MaxPool", [x], "pool1", kernel_shape=[2, 2], strides=[2, 2])
    y = g.node("Conv", [x, g.constant("w2", he(g.rng, [16, 1, 3, 3], 9))], "depthwise",
               kernel_shape=[3, 3], pads=[1] * 4, group=16)
    x = g.node("Add", [x, y], "residual")
    x = g.node("Conv", [x, g.constant("w3", he(g.rng, [24, 16, 1, 1], 16))], "conv2",
               kernel_shape=[1, 1])
    x = g.node("Relu", [x], "relu2")
    x = g.node("GlobalAveragePool", [x], "pool2")
    x = g.node("Flatten", [x], "flatten")
    x = g.node("Gemm", [x, g.constant("w4", he(g.rng, [24, 10], 24)), vector("b4", 10, 0.1)], "fc")
    g.nodes.append(helper.make_node("Softmax", [x], ["output"], name="softmax", axis=1))
    g.save(path, "small", [("input", [1, 3, 32, 32])], [("output", [1, 10])])


def tiny(path, seed=6):
    """Three kinds of nodes, small enough to be read at every stage."""
    g = Graph(seed)
    x = g.node("Conv", ["image", g.constant("weight", he(g.rng, [8, 3, 3, 3], 27))], "stem/conv",
               kernel_shape=[3, 3], pads=[1] * 4)
    x = g.node("BatchNormalization",
               [x, *(g.constant(name, offset + 0.1 * g.rng.random(8, np.float32))
                     for name, offset in [("scale", np.float32(1)), ("bias", np.float32(0)),
                                          ("mean", np.float32(0)), ("var", np.float32(1))])],
               "stem/norm")
    x = g.node("Relu", [x], "stem/relu")
    g.nodes.append(helper.make_node("GlobalAveragePool", [x], ["features"], name="pool"))
    g.save(path, "tiny", [("image", [1, 3, 16, 16])], [("features", [1, 8, 1, 1])])


def magika(path):
    import magika as package
    source = Path(package.__file__).parent / "models/standard_v3_3/model.onnx"
    path.write_bytes(source.read_bytes())


LIGHT = ["squeezenet", "resnet50", "densenet121", "inception_v1", "inception_v2", "shufflenet",
         "vgg19", "bvlc_alexnet", "zfnet512"]

MODELS = {
    "magika": Model(magika, ("--shape", "bytes=1x2048"), {"bytes": (1, 2048)},
                    {"bytes": (0, 257)}),
    "mobilenetv2": Model(mobilenet_v2),
    "mlp": Model(mlp),
    "small": Model(small),
    "tiny": Model(tiny),
    "mlp-small": Model(lambda path: mlp(path, layers=3, width=48, batch=5)),
}
for number, light_name in enumerate(LIGHT):
    MODELS[light_name] = light(light_name)
    MODELS[f"filled-{light_name}"] = filled(light_name, seed=100 + number)

# ---- Models of dynamic shapes, and of several steps ------------------------


def sample_of(feed, limits):
    return lambda rng: feed(rng, *(int(rng.integers(low, high + 1)) for low, high in limits))


def dynamic(make, feed, sizes, limits, reference=None, stacked={}):
    """A model whose every run's inputs are made by `feed` for some sizes."""
    return Model(make, steps=lambda rng: (feed(rng, *step) for step in sizes),
                 sample=sample_of(feed, limits), reference=reference, stacked=stacked)


def recurrent(number, options):
    def make(flatten):
        return control_models.recurrent(seed=50 + number, flatten=flatten, **options)
    return dynamic(make(False), control_models.recurrent_feed(**options),
                   control_models.RECURRENT_SIZES, control_models.RECURRENT_LIMITS,
                   reference=make(True) if options.get("batchwise") else None)


def silero(name, **options):
    return Model(packaged("silero_vad", f"data/{name}.onnx"),
                 steps=packaged_models.silero_steps(**options),
                 sample=packaged_models.silero_sample(**options),
                 carried=packaged_models.SILERO_CARRIED)


def paddle(name, feed, *sizes, limits):
    return dynamic(packaged("rapidocr_onnxruntime", f"models/{name}_infer.onnx"), feed, sizes,
                   limits)


MODELS |= {
    "bert2": dynamic(transformers.bert2, transformers.bert2_feed, transformers.BERT2_SIZES,
                     transformers.BERT2_LIMITS),
    "gpt-kv": Model(transformers.gpt_kv, steps=transformers.gpt_kv_steps,
                    sample=sample_of(transformers.gpt_kv_feed, transformers.GPT_KV_LIMITS),
                    carried=transformers.GPT_CARRIED),
    "bert-fused": dynamic(fused_transformers.bert_fused, transformers.bert2_feed,
                          transformers.BERT2_SIZES, transformers.BERT2_LIMITS),
    **{name: Model(make, steps=fused_transformers.cached_steps(feed),
                   sample=sample_of(feed, limits), carried=carried)
       for name, make, feed, limits, carried in [
           ("gpt-fused", fused_transformers.gpt_fused, fused_transformers.gpt_fused_feed,
            fused_transformers.GPT_FUSED_LIMITS, fused_transformers.GPT_CARRIED),
           ("llama-fused", fused_transformers.llama_fused, fused_transformers.llama_fused_feed,
            fused_transformers.LLAMA_FUSED_LIMITS, fused_transformers.LLAMA_CARRIED)]},
    "whisper-loop": dynamic(transformers.whisper_loop, transformers.whisper_loop_feed,
                            transformers.WHISPER_LOOP_SIZES, transformers.WHISPER_LOOP_LIMITS,
                            stacked={"scores": 1}),
    **{name: dynamic(make, dynamic_models.detector_feed, dynamic_models.DETECTOR_SIZES,
                     dynamic_models.DETECTOR_LIMITS)
       for name, make in [("detector", dynamic_models.detector),
                          ("detector-topk", dynamic_models.top_detector)]},
    **{name: dynamic(*row, stacked=control_models.STACKED.get(name, {}))
       for name, row in control_models.CONTROL.items()},
    **{name: recurrent(number, options)
       for number, (name, options) in enumerate(control_models.RECURRENT.items())},
    "silero": silero("silero_vad"),
    "silero-one-if": silero("silero_vad_op18_ifless"),
    "silero-16k": silero("silero_vad_16k_op15", rates=[16000]),
    "silero-half": silero("silero_vad_half", rates=[16000], has_rate=False),
    "silero-sequence": Model(packaged("silero_vad", "data/silero_vad_16k_sequence.onnx"),
                             steps=packaged_models.silero_sequence_steps,
                             carried={"hn": "h", "cn": "c"}),
    "ppocr-det": paddle("ch_PP-OCRv4_det", packaged_models.detector_page_feed,
                        (1, 2, 3), (1, 5, 4), (2, 3, 7), (1, 2, 3),
                        limits=[(1, 2), (2, 6), (2, 6)]),
    "ppocr-rec": paddle("ch_PP-OCRv4_rec", packaged_models.page_feed,
                        (1, 48, 160), (3, 48, 320), (2, 48, 73), (1, 48, 160),
                        limits=[(1, 3), (48, 48), (8, 320)]),
    "ppocr-cls": paddle("ch_ppocr_mobile_v2.0_cls", packaged_models.page_feed,
                        (1, 48, 192), (6, 48, 192), (2, 48, 192),
                        limits=[(1, 6), (48, 48), (192, 192)]),
}


def main():
    if len(sys.argv) < 2 or any(name not in MODELS for name in sys.argv[2:]):
        sys.exit(f"usage: models.py DIR [NAMES...]\nnames: {' '.join(MODELS)}")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MODELS:
        MODELS[name].make(folder / f"{name}.onnx")
        print(folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
