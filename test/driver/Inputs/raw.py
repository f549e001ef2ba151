"""raw.py input MODEL.onnx FILE: writes a random input as raw bytes.
raw.py check MODEL.onnx INPUT OUTPUT: compares a raw output with ONNX Runtime's."""

import sys
from pathlib import Path

import numpy as np
import onnxruntime

command, model, *files = sys.argv[1:]
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
value = session.get_inputs()[0]
if command == "input":
    data = np.random.default_rng(5).standard_normal(value.shape, dtype=np.float32)
    Path(files[0]).write_bytes(data.tobytes())
else:
    data = np.frombuffer(Path(files[0]).read_bytes(), np.float32).reshape(value.shape)
    expected = session.run(None, {value.name: data})[0]
    actual = np.frombuffer(Path(files[1]).read_bytes(), np.float32).reshape(expected.shape)
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-5)
