"""What lumenc refuses by name of the cases that random_operators.py draws.

Each row: operators and a message as regular expressions, and the reason. The note of
the operator in `lumenc --operators` says the same to users.
"""

REFUSALS = [
    ("ArgMax|ArgMin", "dimension . is empty", "the extreme of nothing"),
    ("Attention", "inputs have element types", "values of the type of queries alone"),
    ("Dropout", "training_mode is not a constant false", "inference only"),
    ("RoiAlign", "attribute 'sampling_ratio' is 0; only numbers of samples that do not depend",
     "a number of samples for each region"),
    ("RoiAlign", "attribute 'mode' is 'max'", "avg alone"),
]

# Operators that have no recipe, and what compares them.
ELSEWHERE = [
    ("If|Loop|Scan|ai.onnx.preview::FlexAttention",
     "bodies: control_rows.py, loop_rows.py, attention_rows.py"),
    ("Optional.*|Sequence.*|ConcatFromSequence|SplitToSequence", "values of no tensor: values.py"),
    ("RegexFullMatch|String.*|TfIdfVectorizer", "strings: values.py"),
    ("Bernoulli|Multinomial|Random.*", "numbers that are no others': random_numbers.py"),
    ("com.microsoft::MatMulNBits", "weights packed by block: quantization_rows.py"),
    ("ai.onnx.ml::CategoryMapper", "strings: values.py"),
]

# Operators that the reference evaluator is not asked for: it passes over clip, layout and
# sequence_lens, takes no axis for flat in old versions, sorts always, interpolates
# integers with weights that are integers, has windows of its own where they are even,
# adds a dimension to convolutions with a bias, computes scores of integers in integers, and
# gives numbers for labels.
NOT_THE_EVALUATOR = {"GRU", "LSTM", "RNN", "Hardmax", "Unique", "GridSample", "Resize",
                     "LRN", "QLinearConv",
                     *(f"ai.onnx.ml::{name}" for name in (
                         "LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor",
                         "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"))}

# Operators that ONNX Runtime is not asked for: whether it finds NaN depends on the shape
# or the type, it takes exponentials of integers to be integers, or it puts blocks of three
# dimensions elsewhere.
NOT_THE_RUNTIME = {"ReduceMax", "ReduceMin", "Sign", "ReduceLogSumExp", "Col2Im"}

# Broken nodes that lumenc accepts and ONNX Runtime does not: operators, what is changed,
# and the reason.
LENIENT = [
    ("LRN", ".*", "images of any number of dimensions"),
    (".*Pool", "dimension . of input 0 has another size", "images without elements"),
    ("Cast|CastLike", "attribute 'saturate'", "a flag of 8-bit floats for others"),
    ("AffineGrid", "input 1 has the entry 0", "images without elements"),
    ("com.microsoft::.*", "input . has another type", "types that its kernels lack"),
    ("Clip", "attribute", "bounds that cross, or are infinite"),
    ("CumSum|Dropout|Expand|OneHot|.*Pad|Range|Reduce.*|Reshape|Slice|STFT|(Uns|S)queeze|Tile",
     "input [1-4] has another rank", "one number in the place of a list of one, and the reverse"),
    ("ConstantOfShape|TopK|.*Window", "input . has another rank",
     "one number in the place of a list of one, and none to find"),
    (".*QuantizeLinear|DequantizeLinear|.*QLinear.*|.*Integer", "input . has another rank",
     "one number in the place of a list of one"),
    ("Max|Mean|Min|Sum", "input . has another rank", "broadcasts in versions without"),
    ("com.microsoft::(.*Gelu|Skip.*)", "input . has another rank", "any number of dimensions"),
    ("ai.onnx.ml::.*", "input 0 has another rank", "a row alone"),
    ("ai.onnx.ml::TreeEnsemble.*", "input 0 has another type", "numbers of nodes of a type apart"),
    ("ai.onnx.ml::Imputer", "attribute 'imputed_value_", "numbers of the other kind beside"),
]

# Broken nodes whose answer is not defined: operators, and what is changed.
UNDEFINED = [
    ("Dropout", "one more output"),
    ("Gemm|.*QuickGelu", "attribute '.*' is (inf|nan)"),
    ("Squeeze", "dimension 0 of input 1 has another size"),
]
