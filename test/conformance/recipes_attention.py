"""Recipes of attention, rotary positions and their like."""

import numpy as np

from random_draw import Unsuitable, is_float
from recipe_table import recipe

CONTRIB = "com.microsoft"


def mask(g, shape, dtype):
    """Numbers to add, or booleans: each row shows something."""
    if dtype != np.bool_:
        return g.values(shape, dtype, -3, 3)
    shown = g.values(shape, dtype)
    shown[..., 0] = True
    return shown


@recipe("attention", "Attention")
def attention(g):
    batch, key_heads = g.integer(1, 2), g.integer(1, 3)
    heads = key_heads * g.integer(1, 3)
    rows, keys, width, value_width = g.integer(2, 6), g.integer(2, 7), g.integer(1, 9), \
        g.integer(1, 9)
    split = g.maybe(0.5)
    if not split:
        g.attributes["q_num_heads"], g.attributes["kv_num_heads"] = heads, key_heads

    def operand(count, length, size):
        g.operand([batch, count, length, size] if split else [batch, length, count * size], -2, 2)

    operand(heads, rows, width)
    operand(key_heads, keys, width)
    if g.maybe(0.9):
        g.types["T2"] = g.dtype(0)
    operand(key_heads, keys, value_width)
    past = g.pick([0, 0, 3])
    total = keys + past
    if g.maybe(0.6):
        # The evaluator adds minus infinity to masks of integers.
        if not is_float(g.dtype(3)) and g.dtype(3) != np.bool_:
            g.types["U"] = g.dtype(0)
        shapes = [[rows, total], [1, rows, total], [heads, rows, total], [batch, 1, rows, total],
                  [batch, heads, rows, total]]
        g.give(mask(g, g.pick(shapes), g.dtype(3)))
    elif past:
        g.absent()
    if past:
        g.operand([batch, key_heads, past, width], -2, 2)
        g.operand([batch, key_heads, past, value_width], -2, 2)
        g.outputs = 3
    g.attribute("scale", [0.3, 1.0])
    g.attribute("softcap", [0.0, 2.5])
    g.attribute("is_causal", [0, 1])
    g.attribute("left_window_size", [-1, 1, 3])
    g.attribute("right_window_size", [-1, 0, 2])
    g.fix_all()


@recipe("attention", "RotaryEmbedding")
def rotary(g):
    rotary_of(g, caches_first=True)


@recipe("attention", "RotaryEmbedding", CONTRIB)
def rotary_contrib(g):
    rotary_of(g, caches_first=False)


def rotary_of(g, caches_first):
    batch, heads, length = g.integer(1, 2), g.integer(1, 3), g.integer(1, 5)
    half = g.integer(1, 4)
    width = 2 * half
    if g.maybe(0.3):
        width += 2 * g.integer(1, 2)
        g.attributes["rotary_embedding_dim"] = 2 * half
    g.attribute("interleaved", [0, 1])
    split = g.maybe(0.5)
    if not split or not caches_first:
        g.attributes["num_heads"] = heads
    g.operand([batch, heads, length, width] if split else [batch, length, heads * width])
    rows = g.integer(length, 9)
    if caches_first:
        by_position = g.maybe(0.5)
        for _ in range(2):
            g.operand([rows, half] if by_position else [batch, length, half], -1, 1)
        if by_position:
            g.give(np.asarray(g.rng.integers(0, rows, [batch, length])))
    else:
        one = g.maybe(0.3)
        g.give(np.asarray([g.integer(0, rows - length)] if one else
                          g.rng.integers(0, rows, [batch, length]), np.int64))
        for _ in range(2):
            g.operand([rows, half], -1, 1)
    g.fix_all()


@recipe("attention", "LinearAttention")
def linear_attention(g):
    batch, length, key_heads = g.integer(1, 2), g.integer(1, 5), g.integer(1, 3)
    heads = key_heads * g.integer(1, 2)
    depth, width = g.integer(1, 5), g.integer(1, 5)
    rule = g.pick(["linear", "gated", "delta", "gated_delta"])
    g.attributes.update(update_rule=rule, q_num_heads=heads, kv_num_heads=key_heads)
    for size in (heads * depth, key_heads * depth, key_heads * width):
        g.operand([batch, length, size], -1, 1)
    if g.maybe(0.5):
        g.operand([batch, key_heads, depth, width], -1, 1)
    else:
        g.absent()
    if "gated" in rule:
        g.operand([batch, length, key_heads * g.pick([1, depth])], -1, 0)
    else:
        g.absent()
    if "delta" in rule:
        g.operand([batch, length, g.pick([1, key_heads])], 0, 1)
    g.attribute("scale", [0.5])
    g.outputs = 2
    g.fix_all()


@recipe("window", "CausalConvWithState")
def causal_convolution(g):
    batch, channels, length, taps = g.integer(1, 2), g.integer(1, 5), g.integer(1, 9), \
        g.integer(2, 4)
    g.operand([batch, channels, length], -1, 1)
    g.operand([channels, 1, taps], -1, 1, constant=0.5)
    g.fix()
    if g.maybe(0.5):
        g.operand([channels], -1, 1)
    else:
        g.absent()
    if g.maybe(0.5):
        g.operand([batch, channels, taps - 1], -1, 1)
    g.attribute("activation", ["none", "silu", "swish"])
    g.outputs = 2


@recipe("indexing", "TensorScatter")
def cache_write(g):
    shape = g.shape(3, 4, 500)
    if 0 in shape:
        raise Unsuitable
    axis = g.integer(1, len(shape) - 1)
    g.operand(shape)
    g.attributes["axis"] = axis - len(shape) if g.maybe(0.3) else axis
    circular = g.attribute("mode", ["linear", "circular"]) == "circular"
    update = list(shape)
    update[axis] = g.integer(1, shape[axis])
    g.operand(update)
    if g.maybe(0.8):
        most = shape[axis] - 1 if circular else shape[axis] - update[axis]
        g.give(np.asarray(g.rng.integers(0, most + 1, shape[0]), np.int64))


@recipe("elementwise", "SwiGLU")
def gated(g):
    shape = g.shape()
    g.operand(shape)
    g.operand(shape)
    g.attribute("alpha", [0.5, 1.0, 1.7])


# ---- Attention of com.microsoft --------------------------------------------


@recipe("attention", "Attention", CONTRIB)
def fused_attention(g):
    batch, length, inputs, heads = g.integer(1, 2), g.integer(2, 5), g.integer(1, 9), \
        g.integer(1, 3)
    width = heads * g.integer(1, 6)
    g.attributes["num_heads"] = heads
    g.operand([batch, length, inputs], -2, 2)
    g.operand([inputs, 3 * width], -1, 1, constant=0.5)
    g.operand([3 * width], -1, 1, constant=0.5)
    if g.maybe(0.5):
        masks = [g.rng.integers(1, length + 1, batch), g.rng.integers(0, 2, (batch, length))]
        g.give(np.asarray(g.pick(masks), np.int32))
    else:
        g.absent()
    g.absent()
    if g.maybe(0.4):
        g.operand([batch, heads, length, length], -3, 3)
    g.attribute("unidirectional", [0, 1])
    g.attribute("scale", [0.3])
    g.attribute("mask_filter_value", [-50.0])
    g.fix_all()


@recipe("attention", "MultiHeadAttention", CONTRIB)
def multi_head_attention(g):
    batch, heads = g.integer(1, 2), g.integer(1, 3)
    rows, keys = g.integer(1, 5), g.integer(1, 6)
    width, value_width = heads * g.integer(1, 5), heads * g.integer(1, 5)
    g.attributes["num_heads"] = heads
    for length, size in ((rows, width), (keys, width), (keys, value_width)):
        g.operand([batch, length, size], -2, 2)
    if g.maybe(0.4):
        g.operand([2 * width + value_width], -1, 1)
    else:
        g.absent()
    if g.maybe(0.5):
        masks = [g.rng.integers(1, keys + 1, batch), g.rng.integers(0, 2, (batch, keys)),
                 g.rng.integers(0, 2, (batch, rows, keys))]
        g.give(np.asarray(g.pick(masks), np.int32))
    else:
        g.absent()
    if g.maybe(0.4):
        g.operand([g.pick([1, batch]), g.pick([1, heads]), rows, keys], -3, 3)
    # Of others than a sequence and itself, ONNX Runtime shows the last query all.
    g.attribute("unidirectional", [0, 1] if rows == keys else [0])
    g.attribute("scale", [0.3])
    g.fix_all()


@recipe("attention", "GroupQueryAttention", CONTRIB)
def grouped_attention(g):
    batch, key_heads, width = g.integer(1, 2), g.integer(1, 3), 16
    heads = key_heads * g.integer(1, 3)
    g.attributes["num_heads"], g.attributes["kv_num_heads"] = heads, key_heads
    past = g.pick([0, 3])
    rows = 1 if past else g.integer(2, 5)
    g.operand([batch, rows, heads * width], -2, 2)
    for _ in range(2):
        g.operand([batch, rows, key_heads * width], -2, 2)
    for _ in range(2):
        if past:
            g.operand([batch, key_heads, past, width], -2, 2)
        else:
            g.absent()
    total = past + rows
    g.give(np.full([batch], total - 1, np.int32))
    g.give(np.asarray(total, np.int32), 1)
    if g.maybe(0.4):
        g.attributes["do_rotary"] = 1
        g.attribute("rotary_interleaved", [0, 1])
        for _ in range(2):
            g.operand([16, width // 2], -1, 1)
    g.attribute("scale", [0.4])
    g.attribute("softcap", [0.0, 3.0])
    g.attribute("local_window_size", [-1, 2])
    g.attribute("smooth_softmax", [0, 1])
    g.outputs = 3
    g.fix_all()
