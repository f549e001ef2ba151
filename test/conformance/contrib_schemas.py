"""What com.microsoft has of operators, in the form of onnx's own schemas.

A row: operator, element types of the operands and results, and attributes. Letters name
lists of types, each one variable; a digit tells two variables of one list apart, and
other words are types of their own.
"""

from onnx.defs import OpSchema

LISTS = {"T": ["float", "float16", "double"], "S": ["float", "double"], "F": ["float"],
         "Q": ["int8", "uint8"], "N": ["float", "int32", "int64", "double"]}

QUANTISED_PAIR = "Q float Q Q float Q float Q -> Q"
POOL = "channels_last:INT"
CONV = "auto_pad:STRING dilations:INTS group:INT kernel_shape:INTS pads:INTS strides:INTS"
ACTIVATED = "activation:STRING activation_params:FLOATS"
GROUPS = "activation:INT channels_last:INT epsilon:FLOAT groups:INT"
HEADS = "num_heads:INT scale:FLOAT mask_filter_value:FLOAT unidirectional:INT"

ROWS = [
    ("Gelu", "T -> T", ""),
    ("FastGelu", "T T -> T", ""),
    ("QuickGelu", "T -> T", "alpha:FLOAT"),
    ("BiasGelu", "T T -> T", ""),
    ("BiasAdd", "T T T -> T", ""),
    ("BiasSplitGelu", "T T -> T", ""),
    ("SkipLayerNormalization", "T T T T T -> T float float T", "epsilon:FLOAT"),
    ("SkipSimplifiedLayerNormalization", "T T T T -> T float float T", "epsilon:FLOAT"),
    ("EmbedLayerNormalization", "int32 int32 T T T T T int32 int32 -> T int32 T",
     "epsilon:FLOAT mask_index_type:INT"),
    ("GroupNorm", "T F F -> T", GROUPS),
    ("SkipGroupNorm", "T F F T T -> T T", GROUPS),
    ("FusedMatMul", "T T -> T",
     "alpha:FLOAT transA:INT transB:INT transBatchA:INT transBatchB:INT"),
    ("FusedGemm", "T T T -> T", "activation:STRING activation_alpha:FLOAT activation_beta:FLOAT"
     " activation_gamma:FLOAT alpha:FLOAT beta:FLOAT transA:INT transB:INT"),
    ("FusedConv", "T T T T -> T", f"{CONV} {ACTIVATED}"),
    ("NhwcConv", "T T T -> T", CONV),
    ("CDist", "S S -> S", "metric:STRING"),
    ("Trilu", "N k=int64 -> N", "upper:INT"),
    ("Range", "N N N -> N", ""),
    ("GatherND", "N int64 -> N", ""),
    ("QuantizeLinear", "F F Q -> Q", "axis:INT"),
    ("DequantizeLinear", "Q F Q -> F", "axis:INT"),
    ("QLinearAdd", QUANTISED_PAIR, ""),
    ("QLinearMul", QUANTISED_PAIR, ""),
    ("QLinearSigmoid", "Q float Q float Q -> Q", ""),
    ("QLinearLeakyRelu", "Q float Q float Q -> Q", "alpha:FLOAT"),
    ("QLinearSoftmax", "Q float Q float Q -> Q", "axis:INT opset:INT"),
    ("QLinearGlobalAveragePool", "Q float Q float Q -> Q", POOL),
    ("QLinearAveragePool", "Q float Q float Q -> Q", "auto_pad:STRING ceil_mode:INT"
     f" count_include_pad:INT kernel_shape:INTS pads:INTS strides:INTS {POOL}"),
    ("QLinearConcat", "float Q Q float Q Q float Q Q float Q -> Q", "axis:INT"),
    ("QLinearWhere", "bool Q float Q Q float Q float Q -> Q", ""),
    ("QGemm", "Q float Q Q2 float Q2 int32 float Q -> Q", "alpha:FLOAT transA:INT transB:INT"),
    ("DynamicQuantizeMatMul", "F Q F Q F -> F", ""),
    ("MatMulIntegerToFloat", "Q Q2 F F Q Q2 F -> F", ""),
    ("RotaryEmbedding", "T int64 T T -> T", "interleaved:INT is_packed_batching:INT num_heads:INT"
     " rotary_embedding_dim:INT scale:FLOAT"),
    ("Attention", "F F F int32 F F -> F F", f"{HEADS} qkv_hidden_sizes:INTS"),
    ("QAttention", "Q Q2 F float F int32 Q Q2 F -> F F", "num_heads:INT unidirectional:INT"),
    ("MultiHeadAttention", "F F F F int32 F F F -> F F F", HEADS),
    ("GroupQueryAttention", "F F F F F int32 int32 F F -> F F F", "do_rotary:INT kv_num_heads:INT"
     " local_window_size:INT num_heads:INT rotary_interleaved:INT scale:FLOAT smooth_softmax:INT"
     " softcap:FLOAT"),
]


def parameters(prefix, words):
    """A word may begin with a name and an equals sign."""
    result = []
    for index, word in enumerate(words.split()):
        name, _, kind = word.rpartition("=")
        result.append(OpSchema.FormalParameter(name or f"{prefix}{index}",
                                               kind if kind[0] in LISTS else f"tensor({kind})"))
    return result


def schema(name, operands, attributes, domain="com.microsoft", since=1):
    inputs, outputs = operands.split(" -> ")
    variables = sorted({word for word in operands.split() if word[0] in LISTS})
    return OpSchema(
        name, domain, since, "", inputs=parameters("in", inputs),
        outputs=parameters("out", outputs),
        type_constraints=[(variable, [f"tensor({t})" for t in LISTS[variable[0]]], "")
                          for variable in variables],
        attributes=[OpSchema.Attribute(word.split(":")[0],
                                       OpSchema.AttrType.__members__[word.split(":")[1]], "",
                                       required=False) for word in attributes.split()])


SCHEMAS = [schema(*row) for row in ROWS] + [
    schema("SimplifiedLayerNormalization", "T T -> T", "axis:INT epsilon:FLOAT", "", 7)]
