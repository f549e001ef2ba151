"""text_model.py FILE [INPUT[SUFFIX]=NUMBERS...]: writes model.onnx from the text of ONNX in FILE,
and for each argument INPUTSUFFIX.npy, a list or a scalar as the model declares the input."""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
from onnx import helper

model = onnx.parser.parse_model(Path(sys.argv[1]).read_text())
onnx.save(model, "model.onnx")
for argument in sys.argv[2:]:
    name, numbers = argument.split("=")
    tensor = next(value for value in model.graph.input if name.startswith(value.name)).type.tensor_type
    values = np.array(numbers.split(","), float if "." in numbers or "n" in numbers else np.int64)
    if not tensor.shape.dim:
        values = values.reshape(())
    np.save(f"{name}.npy", values.astype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)))
