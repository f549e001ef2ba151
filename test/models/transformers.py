"""Transformers with dynamic batch and sequence: BERT, GPT with a cache, and an
encoder-decoder whose greedy search is a Loop inside the model."""

from onnx import helper

from exporter import BOOL, FLOAT, INT64, Exporter, value

WIDTH, HEADS, DIM, VOCABULARY = 128, 4, 32, 1000
LOWEST = -3.4028234663852886e38


def random_ids(rng, *shape):
    return rng.integers(0, VOCABULARY, shape)


# ---- BERT ------------------------------------------------------------------


def bert2(path, seed=21):
    """Two layers of BERT: embeddings, padding mask, GELU by Erf, pooler."""
    g = Exporter(seed)
    with g.scope("embeddings"):
        words = g.embedding("word", "input_ids", VOCABULARY, WIDTH)
        types = g.embedding("token_type", "token_type_ids", 2, WIDTH)
        # The module's buffer [1, 512] of positions, cut to the sequence's length.
        buffer = g.weight("position_ids", [list(range(512))])
        positions = g.slice(buffer, 1, 0, g.size("input_ids", 1))
        positions = g.embedding("position", positions, 512, WIDTH)
        x = g.op("Add", g.op("Add", words, types), positions)
        x = g.layer_norm("norm", x, WIDTH)
    with g.scope("mask"):
        # [batch, seq] to [batch, 1, seq, seq]: 0 where a token may be seen, else the lowest float.
        mask = g.op("Unsqueeze", g.op("Unsqueeze", "attention_mask", g.constant([1])),
                    g.constant([2]))
        batch, length = g.size("attention_mask", 0), g.size("input_ids", 1)
        mask = g.op("Cast", g.expand(mask, batch, 1, length, -1), to=FLOAT)
        hidden = g.op("Sub", g.number(1), mask)
        mask = g.op("Where", g.op("Cast", hidden, to=BOOL), g.number(LOWEST), hidden)
    for layer in range(2):
        with g.scope(f"layer.{layer}"):
            with g.scope("attention"):
                query, key, values = (g.split_heads(g.linear(name, x, WIDTH, WIDTH), HEADS, DIM)
                                      for name in ["query", "key", "value"])
                y = g.merge_heads(g.attend(query, key, values, DIM, mask), WIDTH)
                y = g.linear("output", y, WIDTH, WIDTH)
            x = g.layer_norm("attention.norm", g.op("Add", y, x), WIDTH)
            y = g.gelu(g.linear("intermediate", x, WIDTH, 4 * WIDTH))
            y = g.linear("output", y, 4 * WIDTH, WIDTH)
            x = g.layer_norm("output.norm", g.op("Add", y, x), WIDTH)
    g.op("Identity", x, name="last_hidden_state")
    with g.scope("pooler"):
        first = g.op("Gather", x, g.constant(0), axis=1)
        first = g.op("Gemm", first, g.normal("weight", [WIDTH, WIDTH], WIDTH ** -0.5),
                     g.normal("bias", [WIDTH], 0.05), transB=1)
        g.op("Tanh", first, name="pooler_output")
    tokens = ["batch", "seq"]
    g.save(path, "bert2",
           [value(name, INT64, tokens)
            for name in ["input_ids", "attention_mask", "token_type_ids"]],
           [value("last_hidden_state", FLOAT, [*tokens, WIDTH]),
            value("pooler_output", FLOAT, ["batch", WIDTH])])


def bert2_feed(rng, batch, length):
    mask = rng.integers(0, 2, (batch, length))
    mask[:, :1] = 1  # of all hidden tokens no softmax is defined
    return {"input_ids": random_ids(rng, batch, length), "attention_mask": mask,
            "token_type_ids": rng.integers(0, 2, (batch, length))}


BERT2_SIZES = [(1, 1), (1, 17), (3, 8), (2, 64), (5, 33), (1, 17)]
BERT2_LIMITS = [(1, 6), (1, 48)]


# ---- GPT with a cache of keys and values -----------------------------------

GPT_LAYERS = 2
# An output becomes the next step's input.
GPT_CARRIED = {f"present.{layer}.{kind}": f"past_key_values.{layer}.{kind}"
               for layer in range(GPT_LAYERS) for kind in ["key", "value"]}


def gpt_linear(g, name, x, fan_in, fan_out):
    """GPT-2's Conv1D: flattened, Gemm, and back to the sizes that it had."""
    with g.scope(name):
        batch, length = g.size(x, 0), g.size(x, 1)
        x = g.op("Gemm", g.reshape(x, -1, fan_in),
                 g.normal("weight", [fan_in, fan_out], fan_in ** -0.5),
                 g.normal("bias", [fan_out], 0.05))
        return g.reshape(x, batch, length, fan_out)


def gpt_mask(g, past):
    """[batch, 1, seq, past + seq]: the lowest float where a key comes later or is padding."""
    with g.scope("mask"):
        length = g.size("input_ids", 1)
        total = g.op("Add", past, length)
        shape = g.vector([length, total])
        full = g.op("ConstantOfShape", shape,
                    value=helper.make_tensor("value", FLOAT, [1], [LOWEST]))
        full = g.op("Trilu", full, g.constant(1), upper=1)
        queries = g.op("Range", past, total, g.constant(1))
        later = g.op("Greater", g.arange(total), g.reshape(queries, -1, 1))
        causal = g.op("Mul", full, g.op("Cast", later, to=FLOAT))
        causal = g.op("Unsqueeze", causal, g.constant([0, 1]))
        causal = g.expand(causal, g.size("input_ids", 0), 1, -1, -1)
        seen = g.op("Unsqueeze", "attention_mask", g.constant([1, 2]))
        padding = g.op("Equal", seen, g.constant(0))
        return g.op("Where", padding, g.number(LOWEST), causal)


def gpt_kv(path, seed=22):
    """Two layers of GPT-2 that take the keys and values of earlier tokens and give
    them back with the new ones appended."""
    g = Exporter(seed)
    past = g.size("past_key_values.0.key", 2)
    mask = gpt_mask(g, past)
    words = g.weight("wte.weight", 0.5 * g.rng.standard_normal((VOCABULARY, WIDTH), "float32"))
    x = g.op("Add", g.op("Gather", words, "input_ids", axis=0),
             g.embedding("wpe", "position_ids", 256, WIDTH))
    for layer in range(GPT_LAYERS):
        with g.scope(f"h.{layer}"):
            y = g.layer_norm("ln_1", x, WIDTH, decomposed=True)
            with g.scope("attn"):
                y = gpt_linear(g, "c_attn", y, WIDTH, 3 * WIDTH)
                parts = g.op("Split", y, g.constant([WIDTH] * 3), outputs=3, axis=2)
                query, key, values = (g.split_heads(part, HEADS, DIM) for part in parts)
                key = g.op("Concat", f"past_key_values.{layer}.key", key, axis=-2,
                           name=f"present.{layer}.key")
                values = g.op("Concat", f"past_key_values.{layer}.value", values, axis=-2,
                              name=f"present.{layer}.value")
                y = g.merge_heads(g.attend(query, key, values, DIM, mask), WIDTH)
                y = gpt_linear(g, "c_proj", y, WIDTH, WIDTH)
            x = g.op("Add", y, x)
            y = g.layer_norm("ln_2", x, WIDTH, decomposed=True)
            with g.scope("mlp"):
                y = g.gelu_tanh(gpt_linear(g, "c_fc", y, WIDTH, 4 * WIDTH))
                y = gpt_linear(g, "c_proj", y, 4 * WIDTH, WIDTH)
            x = g.op("Add", x, y)
    x = g.layer_norm("ln_f", x, WIDTH, decomposed=True)
    g.op("MatMul", x, g.op("Transpose", words, perm=[1, 0]), name="logits")
    past_shape = ["batch_size", HEADS, "past_sequence_length", DIM]
    # As the exporter of Hugging Face names it: the sum is no symbol of its own.
    total = "past_sequence_length + sequence_length"
    tokens = ["batch_size", "sequence_length"]
    g.save(path, "gpt-kv",
           [value("input_ids", INT64, tokens),
            value("attention_mask", INT64, ["batch_size", total]),
            value("position_ids", INT64, tokens),
            *(value(name, FLOAT, past_shape) for name in GPT_CARRIED.values())],
           [value("logits", FLOAT, [*tokens, VOCABULARY]),
            *(value(name, FLOAT, ["batch_size", HEADS, total, DIM]) for name in GPT_CARRIED)],
           opset=16)


def gpt_kv_feed(rng, batch, past, length, with_past=True):
    """One run; the last of several sentences is padded on the left."""
    mask = rng.integers(1, 2, (batch, past + length))
    if batch > 1 and past > 2:
        mask[-1, :2] = 0
    feed = {"input_ids": random_ids(rng, batch, length), "attention_mask": mask,
            "position_ids": [list(range(past, past + length))] * batch}
    if with_past:
        feed |= {name: rng.standard_normal((batch, HEADS, past, DIM))
                 for name in GPT_CARRIED.values()}
    return feed


def gpt_kv_steps(rng, batch=2, prompt=5, steps=64):
    """A prompt on an empty cache, then token after token."""
    yield gpt_kv_feed(rng, batch, 0, prompt)
    for past in range(prompt, prompt + steps):
        yield gpt_kv_feed(rng, batch, past, 1, with_past=False)


GPT_KV_LIMITS = [(1, 4), (0, 40), (1, 12)]

# ---- An encoder-decoder with greedy search in the model --------------------

MELS, BEGIN, END, LONGEST = 16, 1, 2, 64


def whisper_encoder(g):
    def conv(name, x, channels, stride):
        with g.scope(name):
            weight = g.normal("weight", [WIDTH, channels, 3], (3 * channels) ** -0.5)
            x = g.op("Conv", x, weight, g.normal("bias", [WIDTH], 0.05), dilations=[1], group=1,
                     kernel_shape=[3], pads=[1, 1], strides=[stride])
        return g.gelu(x)

    with g.scope("encoder"):
        x = conv("conv2", conv("conv1", "mel", MELS, 1), WIDTH, 2)
        x = g.op("Transpose", x, perm=[0, 2, 1])
        positions = g.slice(g.normal("positions", [256, WIDTH], 0.3), 0, 0, g.size(x, 1))
        x = g.op("Add", x, positions)
        y = g.layer_norm("attention.norm", x, WIDTH)
        with g.scope("attention"):
            query, key, values = (g.split_heads(g.linear(name, y, WIDTH, WIDTH), HEADS, DIM)
                                  for name in ["query", "key", "value"])
            y = g.linear("out", g.merge_heads(g.attend(query, key, values, DIM), WIDTH), WIDTH,
                         WIDTH)
        x = g.op("Add", x, y)
        y = g.layer_norm("mlp.norm", x, WIDTH)
        y = g.linear("fc2", g.gelu(g.linear("fc1", y, WIDTH, 2 * WIDTH)), 2 * WIDTH, WIDTH)
        return g.layer_norm("norm", g.op("Add", x, y), WIDTH)


def whisper_decoder(g, tokens, cross_key, cross_value, triangle):
    """Scores of the token that follows `tokens`, [batch, vocabulary]."""
    length = g.size(tokens, 1)
    x = g.embedding("tokens", tokens, VOCABULARY, WIDTH)
    x = g.op("Add", x, g.slice(g.normal("positions", [LONGEST + 1, WIDTH], 0.7), 0, 0, length))
    y = g.layer_norm("self.norm", x, WIDTH)
    with g.scope("self"):
        query, key, values = (g.split_heads(g.linear(name, y, WIDTH, WIDTH), HEADS, DIM)
                              for name in ["query", "key", "value"])
        mask = g.slice(g.slice(triangle, 0, 0, length), 1, 0, length)
        y = g.linear("out", g.merge_heads(g.attend(query, key, values, DIM, mask), WIDTH), WIDTH,
                     WIDTH)
    x = g.op("Add", x, y)
    y = g.layer_norm("cross.norm", x, WIDTH)
    with g.scope("cross"):
        query = g.split_heads(g.linear("query", y, WIDTH, WIDTH), HEADS, DIM)
        y = g.merge_heads(g.attend(query, cross_key, cross_value, DIM), WIDTH)
        x = g.op("Add", x, g.linear("out", y, WIDTH, WIDTH))
    y = g.layer_norm("mlp.norm", x, WIDTH)
    x = g.op("Add", x, g.linear("fc2", g.gelu(g.linear("fc1", y, WIDTH, 2 * WIDTH)), 2 * WIDTH,
                                WIDTH))
    x = g.layer_norm("norm", x, WIDTH)
    last = g.op("Gather", x, g.constant(-1), axis=1)
    # The end of a sentence is a rare word among a thousand: its bias makes it come.
    bias = g.rng.standard_normal(VOCABULARY, "float32") * 0.05
    bias[END] = 3.0
    scores = g.op("MatMul", last, g.normal("head.weight", [WIDTH, VOCABULARY], WIDTH ** -0.5))
    return g.op("Add", g.weight("head.bias", bias), scores)


def whisper_loop(path, seed=23):
    """Mel spectrum in, tokens out: the list of tokens grows in the Loop, which ends when
    all sentences have ended or after `max_new_tokens`."""
    g = Exporter(seed)
    x = whisper_encoder(g)
    with g.scope("decoder"):
        # Keys and values of what was heard do not change from token to token.
        cross_key, cross_value = (
            g.split_heads(g.linear(f"cross.{name}", x, WIDTH, WIDTH), HEADS, DIM)
            for name in ["key", "value"])
        triangle = g.op("Trilu", g.op("ConstantOfShape", g.constant([LONGEST + 1, LONGEST + 1]),
                                      value=helper.make_tensor("value", FLOAT, [1], [-1e9])),
                        g.constant(1), upper=1)
        batch = g.size("mel", 0)
        begin = g.op("ConstantOfShape", g.vector([batch, 1]),
                     value=helper.make_tensor("value", INT64, [1], [BEGIN]))
        running = g.op("ConstantOfShape", g.vector([batch]),
                       value=helper.make_tensor("value", BOOL, [1], [True]))

        body = Exporter(outer=g)
        scores = whisper_decoder(body, "tokens_in", cross_key, cross_value, triangle)
        best = body.op("ArgMax", scores, axis=-1, keepdims=0)
        best = body.op("Where", "running_in", best, body.constant(END))  # padding after the end
        word = body.op("Unsqueeze", best, body.constant([1]))
        body.op("Concat", "tokens_in", word, axis=1, name="tokens_out")
        ended = body.op("Equal", best, body.constant(END))
        still = body.op("And", "running_in", body.op("Not", ended), name="running_out")
        count = body.op("ReduceSum", body.op("Cast", still, to=INT64), body.constant([0]),
                        keepdims=0)
        body.op("Greater", count, body.constant(0), name="condition_out")
        body.op("ReduceMax", scores, axes=[-1], keepdims=0, name="score")
        region = body.region(
            "step",
            [value("iteration", INT64, []), value("condition_in", BOOL, []),
             value("tokens_in", INT64, ["batch", None]), value("running_in", BOOL, ["batch"])],
            [value("condition_out", BOOL, []), value("tokens_out", INT64, ["batch", None]),
             value("running_out", BOOL, ["batch"]), value("score", FLOAT, ["batch"])])
        tokens, _, scores = g.op("Loop", "max_new_tokens", g.constant(True, bool), begin, running,
                                 outputs=3, body=region)
    g.op("Identity", tokens, name="tokens")
    g.op("Transpose", scores, perm=[1, 0], name="scores")
    g.save(path, "whisper-loop",
           [value("mel", FLOAT, ["batch", MELS, "frames"]), value("max_new_tokens", INT64, [])],
           [value("tokens", INT64, ["batch", "length"]),
            value("scores", FLOAT, ["batch", "new_tokens"])])


def whisper_loop_feed(rng, batch, frames, most):
    return {"mel": rng.standard_normal((batch, MELS, frames)), "max_new_tokens": most}


WHISPER_LOOP_SIZES = [(1, 100, 64), (1, 40, 20), (2, 64, 32), (1, 7, 0), (3, 33, 5), (1, 100, 64)]
WHISPER_LOOP_LIMITS = [(1, 3), (1, 80), (0, 12)]
