"""table_model.py FOLDER: table.onnx picks rows of a table of bytes with a scale for each row;
ids.npy and y.npy are an input and what it gives."""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

folder = Path(sys.argv[1])
random = np.random.default_rng(3)
table = random.integers(-128, 128, (1000, 80), np.int8)
scales = random.uniform(0.5, 2, 1000).astype(np.float32)
model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["": 21]>
rows (int64[n] ids) => (float[n, 80] y) {
  numbers = DequantizeLinear<axis = 0>(table, scales)
  y = Gather<axis = 0>(numbers, ids)
}""")
model.graph.initializer.extend(
    [numpy_helper.from_array(table, "table"), numpy_helper.from_array(scales, "scales")])
onnx.save(model, folder / "table.onnx")
ids = np.array([0, 999, 17, 17, -1], np.int64)
np.save(folder / "ids.npy", ids)
np.save(folder / "y.npy", table[ids].astype(np.float32) * scales[ids, None])
