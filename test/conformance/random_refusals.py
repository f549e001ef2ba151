"""What lumenc refuses by name of the cases that random_operators.py draws.

Each row: operators and a message as regular expressions, and the reason. The note of
the operator in `lumenc --operators` says the same to users.
"""

REFUSALS = [
    ("ArgMax|ArgMin", "dimension . is empty", "the extreme of nothing"),
    ("Dropout", "training_mode is not a constant false", "inference only"),
    ("RoiAlign", "attribute 'sampling_ratio' is 0; only numbers of samples that do not depend",
     "a number of samples for each region"),
    ("RoiAlign", "attribute 'mode' is 'max'", "avg alone"),
]

# Operators that need bodies, sequences, strings or lists that fit together: values.py,
# loop_rows.py, control_rows.py and ml_rows.py compare them.
ELSEWHERE = set("""
ConcatFromSequence If Loop Optional OptionalGetElement OptionalHasElement RegexFullMatch Scan
SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap
SplitToSequence StringConcat StringNormalizer StringSplit TfIdfVectorizer
ai.onnx.ml::ArrayFeatureExtractor ai.onnx.ml::Binarizer ai.onnx.ml::CategoryMapper
ai.onnx.ml::FeatureVectorizer ai.onnx.ml::Imputer ai.onnx.ml::LabelEncoder
ai.onnx.ml::LinearClassifier ai.onnx.ml::LinearRegressor ai.onnx.ml::Normalizer
ai.onnx.ml::OneHotEncoder ai.onnx.ml::SVMClassifier ai.onnx.ml::SVMRegressor ai.onnx.ml::Scaler
ai.onnx.ml::TreeEnsemble ai.onnx.ml::TreeEnsembleClassifier ai.onnx.ml::TreeEnsembleRegressor
""".split())

# Operators that the reference evaluator is not asked for: it passes over clip, layout and
# sequence_lens, takes no axis for flat in old versions, sorts always, interpolates
# integers with weights that are integers, and has windows of its own where they are even.
NOT_THE_EVALUATOR = {"GRU", "LSTM", "RNN", "Hardmax", "Unique", "GridSample", "Resize",
                     "LRN"}

# Operators that ONNX Runtime is not asked for: whether it finds NaN depends on the shape
# or the type, or it takes exponentials of integers to be integers.
NOT_THE_RUNTIME = {"ReduceMax", "ReduceMin", "Sign", "ReduceLogSumExp"}

# Broken nodes that lumenc accepts and ONNX Runtime does not: operators, what is changed,
# and the reason.
LENIENT = [
    ("LRN", ".*", "images of any number of dimensions"),
    (".*Pool", "dimension . of input 0 has another size", "images without elements"),
    ("Cast|CastLike", "attribute 'saturate'", "a flag of 8-bit floats for others"),
    ("Clip", "attribute", "bounds that cross, or are infinite"),
    (".*", "input . has another rank", "one number in the place of a list of one"),
]

# Broken nodes whose answer is not defined: operators, and what is changed.
UNDEFINED = [
    ("Dropout", "one more output"),
    ("Gemm", "attribute '.*' is (inf|nan)"),
    ("Squeeze", "dimension 0 of input 1 has another size"),
]
