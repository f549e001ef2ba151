"""Transformers as ONNX Runtime's optimizer writes them, out of the operators of com.microsoft:
BERT, GPT-2 and LLaMA, of two layers each, with dynamic batch and sequence."""

from onnx import TensorProto

from exporter import FLOAT, Exporter, value

INT32 = TensorProto.INT32
WIDTH, HEADS, DIM, VOCABULARY, LAYERS = 128, 4, 32, 1000, 2
KEY_HEADS = 2  # of LLaMA


class FusedExporter(Exporter):
    def fused(self, kind, *inputs, **attributes):
        return self.op(kind, *inputs, domain="com.microsoft", **attributes)

    def table(self, name, count):
        return self.normal(name, [count, WIDTH], 0.5)

    def scale(self, name):
        return self.normal(name, [WIDTH], 0.1, 1.0)

    def bias(self, name, width=WIDTH):
        return self.normal(name, [width], 0.1)

    def product(self, name, x, fan_in, fan_out):
        return self.op("MatMul", x, self.normal(name, [fan_in, fan_out], fan_in ** -0.5))

    def skip_norm(self, name, x, skip, more_outputs=False):
        """The norm of x + skip and a bias; with `more_outputs` also that sum."""
        outputs = self.fused("SkipLayerNormalization", x, skip, self.scale(f"{name}.weight"),
                             self.bias(f"{name}.bias"), self.bias(f"{name}.before"), outputs=4,
                             epsilon=1e-5)
        return (outputs[0], outputs[3]) if more_outputs else outputs[0]

    def projection(self, name):
        return (self.normal(f"{name}.weight", [WIDTH, 3 * WIDTH], WIDTH ** -0.5),
                self.bias(f"{name}.bias", 3 * WIDTH))


def random_ids(rng, *shape):
    return rng.integers(0, VOCABULARY, shape)


# ---- BERT ------------------------------------------------------------------


def bert_fused(path, seed=31):
    """Embeddings, padding of the keys and GELU are one node each."""
    g = FusedExporter(seed)
    tables = [g.table(*row) for row in [("word", VOCABULARY), ("position", 512), ("type", 2)]]
    x, _ = g.fused("EmbedLayerNormalization", "input_ids", "token_type_ids", *tables,
                   g.scale("norm.weight"), g.bias("norm.bias"), "attention_mask", outputs=2,
                   epsilon=1e-5)
    for layer in range(LAYERS):
        with g.scope(f"layer.{layer}"):
            y = g.fused("Attention", x, *g.projection("attention"), "attention_mask",
                        num_heads=HEADS)
            x = g.skip_norm("attention.norm", g.product("output", y, WIDTH, WIDTH), x)
            y = g.fused("BiasGelu", g.product("intermediate", x, WIDTH, 4 * WIDTH),
                        g.bias("intermediate.bias", 4 * WIDTH))
            x = g.skip_norm("output.norm", g.product("last", y, 4 * WIDTH, WIDTH), x)
    g.op("Identity", x, name="last_hidden_state")
    tokens = ["batch", "seq"]
    g.save(path, "bert-fused",
           [value(name, INT32, tokens)
            for name in ["input_ids", "attention_mask", "token_type_ids"]],
           [value("last_hidden_state", FLOAT, [*tokens, WIDTH])])


# ---- GPT-2 -----------------------------------------------------------------

GPT_CARRIED = {f"present_{layer}": f"past_{layer}" for layer in range(LAYERS)}


def gpt_fused(path, seed=32):
    """Keys and values of earlier tokens are one tensor for each layer."""
    g = FusedExporter(seed)
    words = g.table("wte", VOCABULARY)
    sum_ = g.op("Add", g.op("Gather", words, "input_ids"), g.op("Gather", g.table("wpe", 256),
                                                                  "position_ids"))
    x = g.op("LayerNormalization", sum_, g.scale("ln.weight"), g.bias("ln.bias"), epsilon=1e-5)
    for layer in range(LAYERS):
        with g.scope(f"h.{layer}"):
            y, present = g.fused("Attention", x, *g.projection("attn"), "attention_mask",
                                 f"past_{layer}", outputs=2, num_heads=HEADS, unidirectional=1)
            g.op("Identity", present, name=f"present_{layer}")
            x, sum_ = g.skip_norm("ln_2", g.product("proj", y, WIDTH, WIDTH), sum_,
                                  more_outputs=True)
            y = g.fused("FastGelu", g.product("fc", x, WIDTH, 4 * WIDTH),
                        g.bias("fc.bias", 4 * WIDTH))
            x, sum_ = g.skip_norm("ln_1", g.product("fc2", y, 4 * WIDTH, WIDTH), sum_,
                                  more_outputs=True)
    g.fused("FusedMatMul", x, words, transB=1, alpha=0.125, name="logits")
    tokens, total = ["batch", "seq"], "past + seq"
    g.save(path, "gpt-fused",
           [value("input_ids", INT32, tokens), value("position_ids", INT32, tokens),
            value("attention_mask", INT32, ["batch", total]),
            *(value(name, FLOAT, [2, "batch", HEADS, "past", DIM])
              for name in GPT_CARRIED.values())],
           [value("logits", FLOAT, [*tokens, VOCABULARY]),
            *(value(name, FLOAT, [2, "batch", HEADS, total, DIM]) for name in GPT_CARRIED)])


def cached_feed(carried, past_shape, shared):
    """A function that makes the inputs of one run, whose keys and values of earlier tokens have
    `past_shape`; `shared` makes the inputs beside those and the ids."""
    def feed(rng, batch, past, length, with_past=True):
        inputs = {"input_ids": random_ids(rng, batch, length), **shared(batch, past, length)}
        if with_past:
            inputs |= {name: rng.standard_normal(past_shape(batch, past))
                       for name in carried.values()}
        return inputs
    return feed


gpt_fused_feed = cached_feed(
    GPT_CARRIED, lambda batch, past: (2, batch, HEADS, past, DIM),
    lambda batch, past, length: {
        "attention_mask": [[1] * (past + length)] * batch,
        "position_ids": [list(range(past, past + length))] * batch})

# ---- LLaMA -----------------------------------------------------------------

LLAMA_CARRIED = {f"present.{layer}.{kind}": f"past_key_values.{layer}.{kind}"
                 for layer in range(LAYERS) for kind in ["key", "value"]}


def llama_fused(path, seed=33):
    """Queries share heads of keys, which are turned by their positions and packed with them."""
    g = FusedExporter(seed)
    counted = g.op("ReduceSum", "attention_mask", g.constant([1]), keepdims=0)
    last = g.op("Cast", g.op("Sub", counted, g.constant(1)), to=INT32)
    total = g.op("Cast", g.size("attention_mask", 1), to=INT32)
    angles = [g.normal(f"{name}_cache", [256, DIM // 2], 0.7) for name in ["cos", "sin"]]
    sum_ = g.op("Gather", g.table("embed", VOCABULARY), "input_ids")
    x = g.op("SimplifiedLayerNormalization", sum_, g.scale("norm.weight"), epsilon=1e-5)
    for layer in range(LAYERS):
        with g.scope(f"layers.{layer}"):
            packed = g.product("qkv", x, WIDTH, WIDTH + 2 * KEY_HEADS * DIM)
            past = [f"past_key_values.{layer}.{kind}" for kind in ["key", "value"]]
            y, *present = g.fused("GroupQueryAttention", packed, "", "", *past, last, total,
                                  *angles, outputs=3, do_rotary=1, num_heads=HEADS,
                                  kv_num_heads=KEY_HEADS)
            for kind, result in zip(["key", "value"], present):
                g.op("Identity", result, name=f"present.{layer}.{kind}")
            for name, fan_in in [("attention", WIDTH), ("mlp", 2 * WIDTH)]:
                if name == "mlp":
                    gate, up = (g.product(part, x, WIDTH, 2 * WIDTH) for part in ["gate", "up"])
                    y = g.op("Mul", g.fused("QuickGelu", gate, alpha=1.0), up)
                y = g.product(f"{name}.out", y, fan_in, WIDTH)
                x, _, _, sum_ = g.fused("SkipSimplifiedLayerNormalization", y, sum_,
                                        g.scale(f"{name}.norm"), outputs=4, epsilon=1e-5)
    g.op("MatMul", x, g.normal("head", [WIDTH, VOCABULARY], WIDTH ** -0.5), name="logits")
    tokens, whole = ["batch", "seq"], "past + seq"
    g.save(path, "llama-fused",
           [value("input_ids", INT32, tokens),
            value("attention_mask", TensorProto.INT64, ["batch", whole]),
            *(value(name, FLOAT, ["batch", KEY_HEADS, "past", DIM])
              for name in LLAMA_CARRIED.values())],
           [value("logits", FLOAT, [*tokens, VOCABULARY]),
            *(value(name, FLOAT, ["batch", KEY_HEADS, whole, DIM]) for name in LLAMA_CARRIED)])


llama_fused_feed = cached_feed(
    LLAMA_CARRIED, lambda batch, past: (batch, KEY_HEADS, past, DIM),
    lambda batch, past, length: {"attention_mask": [[1] * (past + length)] * batch})


def cached_steps(feed):
    """A prompt on an empty cache, then token after token."""
    def steps(rng, batch=2, prompt=5, count=24):
        yield feed(rng, batch, 0, prompt)
        for past in range(prompt, prompt + count):
            yield feed(rng, batch, past, 1, with_past=False)
    return steps


GPT_FUSED_LIMITS = [(1, 4), (0, 40), (1, 12)]
# ONNX Runtime takes several tokens behind a cache for a batch of one only.
LLAMA_FUSED_LIMITS = [(1, 1), (0, 40), (1, 12)]
