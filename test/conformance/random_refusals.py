"""What lumenc refuses by name of the cases that random_operators.py draws.

Each row: operators and a message as regular expressions, and the reason. The note of
the operator in `lumenc --operators` says the same to users.
"""

REFUSALS = [
    ("Dropout", "training_mode is not a constant false", "inference only"),
    ("RoiAlign", "attribute 'sampling_ratio' is 0; only numbers of samples that do not depend",
     "a number of samples for each region"),
    ("RoiAlign", "attribute 'mode' is 'max'", "avg alone"),
]

# Operators that need bodies, sequences or strings: values.py, loop_rows.py and
# control_rows.py compare them.
ELSEWHERE = set("""
ConcatFromSequence If Loop Optional OptionalGetElement OptionalHasElement RegexFullMatch Scan
SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap
SplitToSequence StringConcat StringNormalizer StringSplit TfIdfVectorizer
ai.onnx.ml::LabelEncoder
""".split())

# Operators that the reference evaluator is not asked for: it passes over clip, layout and
# sequence_lens, takes no axis for flat in old versions, sorts always, and interpolates
# integers with weights that are integers.
NOT_THE_EVALUATOR = {"GRU", "LSTM", "RNN", "Hardmax", "Unique", "GridSample", "Resize"}

# Operators that ONNX Runtime is not asked for: whether it finds NaN depends on the shape
# or the type, or it takes exponentials of integers to be integers.
NOT_THE_RUNTIME = {"ReduceMax", "ReduceMin", "Sign", "ReduceLogSumExp"}

# Broken nodes that lumenc accepts and ONNX Runtime does not: operators, what is changed,
# and the reason.
LENIENT = [
]
