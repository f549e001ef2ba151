"""Continues tokens with a decoder that keeps its caches: greedy.py MODEL COUNT TOKEN..."""
import sys

import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
tokens = [int(word) for word in sys.argv[3:]]
caches = {value.name: np.zeros((1, 4, 0, 32), np.float32) for value in session.get_inputs()[3:]}
fresh = tokens
for _ in range(int(sys.argv[2])):
    length = len(tokens)
    ids = np.array([fresh], np.int64)
    positions = np.arange(length - len(fresh), length)[None]
    logits, *states = session.run(None, {"input_ids": ids, "position_ids": positions,
                                         "attention_mask": np.ones((1, length), np.int64), **caches})
    caches = dict(zip(caches, states))
    fresh = [int(logits[0, -1].argmax())]
    tokens += fresh
print(*tokens[len(sys.argv) - 3:])
