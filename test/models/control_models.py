"""Small models of control flow and of recurrent nets: one for each thing to get right."""

from functools import partial

from onnx import helper

from exporter import BOOL, FLOAT, INT64, Exporter, value

# ---- If, Loop and Scan -----------------------------------------------------


def loop_inputs(*carried):
    return [value("iteration", INT64, []), value("condition_in", BOOL, []), *carried]


def loop_if(path):
    """An If in a Loop, whose branches use values of the Loop, of the graph around it and
    of the If's own branch."""
    g = Exporter(41)
    weight = g.normal("weight", [8, 8], 8 ** -0.5)
    offset = g.op("ReduceMean", "x", axes=[0], keepdims=1)

    body = Exporter(outer=g)
    odd = body.op("Equal", body.op("Mod", "iteration", body.constant(2)), body.constant(1))
    then = Exporter(outer=body)
    then.op("Tanh", then.op("MatMul", "state_in", weight), name="then_out")
    otherwise = Exporter(outer=body)
    scaled = otherwise.op("Mul", "state_in", otherwise.number(0.5))
    otherwise.op("Add", scaled, offset, name="else_out")
    state = body.op("If", odd, name="state_out",
                    then_branch=then.region("then", [], [value("then_out", FLOAT, None)]),
                    else_branch=otherwise.region("else", [], [value("else_out", FLOAT, None)]))
    body.op("ReduceSum", state, body.constant([1]), keepdims=0, name="sum")
    body.op("Identity", "condition_in", name="condition_out")
    region = body.region("body", loop_inputs(value("state_in", FLOAT, ["rows", 8])),
                         [value("condition_out", BOOL, []), value("state_out", FLOAT, ["rows", 8]),
                          value("sum", FLOAT, ["rows"])])
    final, sums = g.op("Loop", "count", g.constant(True, bool), "x", outputs=2, body=region)
    g.op("Identity", final, name="final")
    g.op("Identity", sums, name="sums")
    g.save(path, "loop-if", [value("x", FLOAT, ["rows", 8]), value("count", INT64, [])],
           [value("final", FLOAT, ["rows", 8]), value("sums", FLOAT, ["count", "rows"])])


def loop_if_feed(rng, rows, count):
    return {"x": rng.standard_normal((rows, 8)), "count": count}


def loop_exit(path):
    """A Loop without a count: it ends when the carried value is large enough, which may be
    before the first iteration. What it appends grows in every iteration."""
    g = Exporter(42)
    body = Exporter(outer=g)
    state = body.op("Add", "state_in", "step", name="state_out")
    body.op("Concat", "seen_in", state, axis=0, name="seen_out")
    total = body.op("ReduceSum", state, body.constant([0]), keepdims=0)
    body.op("Less", total, "limit", name="condition_out")
    body.op("Identity", total, name="total")
    region = body.region(
        "body", loop_inputs(value("state_in", FLOAT, ["width"]), value("seen_in", FLOAT, [None])),
        [value("condition_out", BOOL, []), value("state_out", FLOAT, ["width"]),
         value("seen_out", FLOAT, [None]), value("total", FLOAT, [])])
    start = g.op("ReduceSum", "x", g.constant([0]), keepdims=0)
    final, seen, totals = g.op("Loop", "", g.op("Less", start, "limit"), "x", "x", outputs=3,
                               body=region)
    for name, result in [("final", final), ("seen", seen), ("totals", totals)]:
        g.op("Identity", result, name=name)
    g.save(path, "loop-exit",
           [value("x", FLOAT, ["width"]), value("step", FLOAT, []), value("limit", FLOAT, [])],
           [value("final", FLOAT, ["width"]), value("seen", FLOAT, ["length"]),
            value("totals", FLOAT, ["count"])])


def loop_exit_feed(rng, width, limit):
    return {"x": rng.random(width), "step": 0.5, "limit": limit + 0.3}


def loop_nested(path):
    """A triangle of sums: the inner Loop runs as often as the outer one has iterated, and
    not at all in the first iteration."""
    g = Exporter(43)
    outer_body = Exporter(outer=g)
    inner = Exporter(outer=outer_body)
    row = inner.op("Gather", "x", inner.op("Mod", "j", "rows"), axis=0)
    inner.op("Add", "part_in", inner.op("Mul", row, "scale_in"), name="part_out")
    inner.op("Identity", "inner_condition_in", name="inner_condition_out")
    inner_region = inner.region(
        "inner", [value("j", INT64, []), value("inner_condition_in", BOOL, []),
                  value("part_in", FLOAT, ["width"])],
        [value("inner_condition_out", BOOL, []), value("part_out", FLOAT, ["width"])])
    zero = outer_body.op("Mul", "scale_in", outer_body.number(0))
    part = outer_body.op("Loop", "iteration", outer_body.constant(True, bool), zero,
                         body=inner_region)
    outer_body.op("Add", "scale_in", outer_body.op("Tanh", part), name="scale_out")
    outer_body.op("Identity", "condition_in", name="condition_out")
    outer_body.op("Identity", part, name="part")
    region = outer_body.region(
        "outer", loop_inputs(value("scale_in", FLOAT, ["width"])),
        [value("condition_out", BOOL, []), value("scale_out", FLOAT, ["width"]),
         value("part", FLOAT, ["width"])])
    g.op("Gather", g.op("Shape", "x"), g.constant(0), axis=0, name="rows")
    first = g.op("Gather", "x", g.constant(0), axis=0)
    scale, parts = g.op("Loop", "count", g.constant(True, bool), first, outputs=2, body=region)
    g.op("Identity", scale, name="scale")
    g.op("Identity", parts, name="parts")
    g.save(path, "loop-nested",
           [value("x", FLOAT, ["height", "width"]), value("count", INT64, [])],
           [value("scale", FLOAT, ["width"]), value("parts", FLOAT, ["count", "width"])])


def loop_nested_feed(rng, height, width, count):
    return {"x": 0.3 * rng.standard_normal((height, width)), "count": count}


def scan(path):
    """Running sums over two scanned inputs, one read backwards and along its second axis;
    one result is written backwards, one along its last axis."""
    g = Exporter(44)
    body = Exporter(outer=g)
    total = body.op("Add", "total_in", body.op("Mul", "a", "b"), name="total_out")
    body.op("Identity", total, name="forward")
    body.op("Sub", "a", total, name="backward")
    region = body.region(
        "body", [value("total_in", FLOAT, ["width"]), value("a", FLOAT, ["width"]),
                 value("b", FLOAT, ["width"])],
        [value("total_out", FLOAT, ["width"]), value("forward", FLOAT, ["width"]),
         value("backward", FLOAT, ["width"])])
    start = g.op("ReduceMax", "x", axes=[0], keepdims=0)
    total, forward, backward = g.op(
        "Scan", start, "x", "y", outputs=3, body=region, num_scan_inputs=2,
        scan_input_directions=[0, 1], scan_input_axes=[0, 1], scan_output_directions=[0, 1],
        scan_output_axes=[0, -1])
    for name, result in [("total", total), ("forward", forward), ("backward", backward)]:
        g.op("Identity", result, name=name)
    g.save(path, "scan", [value("x", FLOAT, ["length", "width"]),
                          value("y", FLOAT, ["width", "length"])],
           [value("total", FLOAT, ["width"]), value("forward", FLOAT, ["length", "width"]),
            value("backward", FLOAT, ["width", "length"])])


def scan_feed(rng, length, width):
    return {"x": rng.standard_normal((length, width)), "y": rng.standard_normal((width, length))}


def if_squeeze(path, count=1):
    """torch.squeeze of a dimension that may be 1, several times: the branches differ in rank,
    and the rest of the model fits one of them alone."""
    g = Exporter(45)
    x = g.op("Conv", "x", g.normal("weight", [6, 4, 3], 12 ** -0.5), kernel_shape=[3])
    last = g.op("Gather", g.op("Shape", x), g.constant([-1]), axis=0)
    for i in range(count):
        then, otherwise = Exporter(outer=g), Exporter(outer=g)
        then.op("Squeeze", x, then.constant([-1]), name=f"then_out{i}")
        otherwise.op("Identity", x, name=f"else_out{i}")
        x = g.op("If", g.op("Equal", last, g.constant([1])),
                 then_branch=then.region("then", [], [value(f"then_out{i}", FLOAT, None)]),
                 else_branch=otherwise.region("else", [], [value(f"else_out{i}", FLOAT, None)]))
        if i + 1 < count:
            x = g.op("Gemm", x, g.normal(f"fc{i}", [6, 6], 6 ** -0.5))
            x = g.op("Unsqueeze", g.op("Tanh", x), g.constant([-1]))
    g.op("Gemm", x, g.normal("fc", [6, 5], 6 ** -0.5), name="y")
    g.save(path, "if-squeeze", [value("x", FLOAT, ["batch", 4, "length"])],
           [value("y", FLOAT, ["batch", 5])])


def if_squeeze_feed(rng, batch):
    return {"x": rng.standard_normal((batch, 4, 3))}


# Model, inputs of a run of some sizes, sizes of the steps, and limits of random sizes.
CONTROL = {
    "loop-if": (loop_if, loop_if_feed, [(3, 5), (1, 1), (7, 12), (4, 0), (3, 5)],
                [(1, 9), (0, 9)]),
    "loop-exit": (loop_exit, loop_exit_feed, [(4, 20), (1, 3), (6, -100), (2, 90)],
                  [(1, 9), (-5, 40)]),
    "loop-nested": (loop_nested, loop_nested_feed, [(3, 5, 6), (1, 1, 1), (2, 9, 4), (3, 5, 6)],
                    [(1, 5), (1, 9), (1, 7)]),
    "scan": (scan, scan_feed, [(5, 3), (1, 4), (12, 1), (5, 3)], [(1, 20), (1, 9)]),
    "if-squeeze": (if_squeeze, if_squeeze_feed, [(2,), (1,), (5,)], [(1, 9)]),
    "if-squeeze-often": (partial(if_squeeze, count=12), if_squeeze_feed, [(2,), (5,)], [(1, 9)]),
}
# Of outputs that are stacked in a Loop, which may run no trip, the axis of the trips.
STACKED = {"loop-if": {"sums": 0}}


# ---- Recurrent nets --------------------------------------------------------

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(op, seed, hidden=12, width=10, peepholes=False, lengths=True, batchwise=False,
              flatten=False, direction="forward", **attributes):
    """A generator of a model of one recurrent layer. `batchwise` is layout 1; ONNX Runtime
    knows layout 0 only: `flatten` writes the same model with Transposes instead."""
    def make(path):
        g = Exporter(seed)
        directions = 2 if direction == "bidirectional" else 1
        gates = GATES[op] * hidden
        states = ["h", "c"] if op == "LSTM" else ["h"]
        inputs = ["x", *(f"initial_{state}" for state in states)]
        outputs = ["y", *(f"y_{state}" for state in states)]
        parameters = [g.normal("W", [directions, gates, width], width ** -0.5),
                      g.normal("R", [directions, gates, hidden], hidden ** -0.5),
                      g.normal("B", [directions, 2 * gates], 0.2)]
        x, *initial = inputs
        if flatten:
            x, *initial = (g.op("Transpose", name, perm=[1, 0, 2]) for name in inputs)
        operands = [x, *parameters, "lengths" if lengths else "", *initial]
        if peepholes:
            operands.append(g.normal("P", [directions, 3 * hidden], 0.3))
        extra = {"layout": 1} if batchwise and not flatten else {}
        if direction != "forward":
            extra["direction"] = direction
        results = g.op(op, *operands, outputs=len(outputs), hidden_size=hidden, **extra,
                       **attributes)
        results = results if isinstance(results, list) else [results]
        for index, (result, name) in enumerate(zip(results, outputs)):
            if flatten:
                # [seq, directions, batch, hidden] or [directions, batch, hidden].
                perm = [2, 0, 1, 3] if index == 0 else [1, 0, 2]
                g.op("Transpose", result, perm=perm, name=name)
            else:
                g.op("Identity", result, name=name)
        swap = (lambda a, b: [b, a]) if batchwise else (lambda a, b: [a, b])
        state_shape = [*swap(directions, "batch"), hidden]
        y_shape = (["batch", "seq", directions, hidden] if batchwise else
                   ["seq", directions, "batch", hidden])
        length_input = [value("lengths", helper.TensorProto.INT32, ["batch"])] if lengths else []
        g.save(path, op.lower(),
               [value("x", FLOAT, [*swap("seq", "batch"), width]),
                *(value(name, FLOAT, state_shape) for name in inputs[1:]), *length_input],
               [value("y", FLOAT, y_shape), *(value(name, FLOAT, state_shape)
                                              for name in outputs[1:])])
    return make


def recurrent_feed(op, hidden=12, width=10, lengths=True, batchwise=False, direction="forward",
                   **_):
    """Inputs of such a model of some sequence length and batch."""
    def feed(rng, seq, batch):
        directions = 2 if direction == "bidirectional" else 1
        swap = (lambda a, b: (b, a)) if batchwise else (lambda a, b: (a, b))
        result = {"x": rng.standard_normal((*swap(seq, batch), width))}
        for state in ["h", "c"] if op == "LSTM" else ["h"]:
            shape = (*swap(directions, batch), hidden)
            result[f"initial_{state}"] = 0.5 * rng.standard_normal(shape)
        if lengths:
            result["lengths"] = rng.integers(1, seq + 1, batch)
        return result
    return feed


RECURRENT_SIZES = [(7, 3), (1, 1), (20, 2), (7, 3)]
RECURRENT_LIMITS = [(1, 20), (1, 5)]
RECURRENT = {
    "lstm": dict(op="LSTM", lengths=False),
    "lstm-bidirectional": dict(op="LSTM", direction="bidirectional", peepholes=True),
    "lstm-reverse": dict(op="LSTM", direction="reverse", clip=0.7,
                         activations=["HardSigmoid", "Softsign", "Tanh"],
                         activation_alpha=[0.3], activation_beta=[0.4]),
    "lstm-batchwise": dict(op="LSTM", direction="bidirectional", batchwise=True, lengths=False),
    "gru": dict(op="GRU", lengths=False),
    "gru-bidirectional": dict(op="GRU", direction="bidirectional", linear_before_reset=1),
    "gru-batchwise": dict(op="GRU", batchwise=True, linear_before_reset=1, lengths=False),
    "rnn": dict(op="RNN", direction="reverse"),
    "rnn-bidirectional": dict(op="RNN", direction="bidirectional",
                              activations=["Relu", "Affine"], activation_alpha=[0.7],
                              activation_beta=[0.1]),
    "rnn-batchwise": dict(op="RNN", batchwise=True, lengths=False),
}
