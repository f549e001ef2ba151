"""Rows of attention and rotary positions, of the default domain and of com.microsoft."""

import numpy as np

from control_rows import FLOAT, body, node
from operator_rows import row

# ---- Attention ---------------------------------------------------------------

# Heads of queries, of keys, and whether they are a dimension of the inputs.
for heads, key_heads, split in ((2, 2, True), (4, 2, True), (6, 1, True), (2, 2, False),
                                (4, 2, False)):
    for rows, keys in ((5, 5), (3, 7), (1, 9)):
        if split:
            q, k, v = (f"2x{heads}x{rows}x8", f"2x{key_heads}x{keys}x8",
                       f"2x{key_heads}x{keys}x6")
            given = {}
        else:
            q, k, v = (f"2x{rows}x{8 * heads}", f"2x{keys}x{8 * key_heads}",
                       f"2x{keys}x{6 * key_heads}")
            given = {"q_num_heads": heads, "kv_num_heads": key_heads}
        qkv = f"{q}@-2~2 {k}@-2~2 {v}"
        row("Attention", qkv, 23, **given)
        row("Attention", qkv, 23, scale=0.7, softcap=2.5, **given)
        row("Attention", qkv, 23, is_causal=1, **given)
        for mask in (f"{rows}x{keys}", f"1x{rows}x{keys}", f"{heads}x{rows}x{keys}",
                     f"2x1x{rows}x{keys}", f"2x{heads}x{rows}x{keys}"):
            row("Attention", f"{qkv} {mask}@-3~3", 23, **given)
            row("Attention", f"{qkv} bool:{mask}", 23, **given)
        row("Attention", f"{qkv} {rows}x{keys}@-3~3", 23, is_causal=1, **given)
        past = f"2x{key_heads}x4x8@-2~2 2x{key_heads}x4x6"
        row("Attention", f"{qkv} - {past}", 23, 3, **given)
        row("Attention", f"{qkv} 2x1x{rows}x{keys + 4}@-3~3 {past}", 23, 3, **given)
        # ONNX Runtime 1.32 shows a single query all keys, against the standard.
        if rows > 1:
            row("Attention", f"{qkv} - {past}", 23, 3, is_causal=1, **given)
            row("Attention", f"{qkv} bool:{rows}x{keys + 4} {past}", 23, 3, is_causal=1, **given)
        for mode in (0, 1, 2, 3):
            row("Attention", f"{qkv} {rows}x{keys}@-3~3", 23, (0, 3), softcap=3.0,
                qk_matmul_output_mode=mode, **given)
        for opset in (24, 25):
            row("Attention", f"{qkv} - - - i64:[{keys},{max(1, keys - 3)}]", opset, **given)
            row("Attention", f"{qkv} - - - i64:[{keys},{max(1, keys - 3)}]", opset, is_causal=1,
                **given)
        row("Attention", qkv, 25, left_window_size=2, right_window_size=1, **given)
        row("Attention", qkv, 25, left_window_size=1, is_causal=1, **given)
row("Attention", "1x2x5x8 1x2x5x8 1x2x5x8 bool:5x3", 24)
row("Attention", "1x2x5x8 1x2x5x8 1x2x5x8 2x5x3", 24)
row("Attention", "1x2x5x8 1x2x5x8 1x2x5x8 f32:[0.5,nan,0,-1,2]", 23)
row("Attention", "1x2x5x8 1x2x5x8 1x2x5x8", 23, softmax_precision=11)
# Several blocks of queries and keys, the last of them partial, and sizes off the vectors'.
for rows, keys in ((130, 200), (70, 97), (64, 96), (1, 300)):
    qkv = f"2x4x{rows}x20@-2~2 2x2x{keys}x20@-2~2 2x2x{keys}x33"
    row("Attention", qkv, 23)
    row("Attention", qkv, 25, left_window_size=30, right_window_size=0)
    row("Attention", f"{qkv} 1x4x{rows}x{keys}@-3~3", 23, softcap=2.5)
    row("Attention", f"{qkv} bool:2x1x{rows}x{keys}", 23)
    if rows > 1:
        row("Attention", qkv, 23, is_causal=1)
        row("Attention", f"{qkv} - 2x2x90x20@-2~2 2x2x90x33", 23, 3, is_causal=1)
# Hidden keys, and queries that see none.
row("Attention", "1x2x5x8 1x2x5x8 1x2x5x8 f32:[0.5,-inf,0,-inf,2]", 23)
row("Attention", "1x2x5x8 1x2x5x8 1x2x5x8 bool:[0,0,0,0,0]", 23)
# Windows that are wider than anything.
row("Attention", "1x2x5x8 1x2x5x8 1x2x5x8", 25, left_window_size=2**31 - 1,
    right_window_size=2**31 - 1)

# ---- Rotary positions ----------------------------------------------------------

for interleaved in (0, 1):
    for turned in (0, 4):
        half = (turned or 8) // 2
        given = {"interleaved": interleaved}
        if turned:
            given["rotary_embedding_dim"] = turned
        caches = f"9x{half} 9x{half}"
        row("RotaryEmbedding", f"2x3x5x8 {caches} i64:2x5@0~8", 23, **given)
        row("RotaryEmbedding", f"2x3x5x8 2x5x{half} 2x5x{half}", 23, **given)
        row("RotaryEmbedding", f"2x5x24 {caches} i64:2x5@0~8", 23, num_heads=3, **given)
        row("RotaryEmbedding", f"2x5x24 2x5x{half} 2x5x{half}", 23, num_heads=3, **given)
        for positions in ("i64:2x5@0~8", "i64:[3]"):
            op = "com.microsoft::RotaryEmbedding"
            row(op, f"2x3x5x8 {positions} {caches}", num_heads=3, **given)
            if turned:
                row(op, f"2x5x24 {positions} {caches}", num_heads=3, **given)
            else:
                row(op, f"2x5x24 {positions} {caches}", **given)

# ---- Attention of com.microsoft -------------------------------------------------

MICROSOFT = "com.microsoft::"
for heads, width, sizes in ((2, 12, None), (3, 12, [12, 12, 6])):
    columns = sum(sizes) if sizes else 3 * width
    given = {"num_heads": heads, **({"qkv_hidden_sizes": sizes} if sizes else {})}
    qkv = f"2x5x7@-2~2 7x{columns} {columns}"
    for weights in ("", "="):
        x = f"2x5x7@-2~2 {weights}7x{columns} {weights}{columns}"
        row(f"{MICROSOFT}Attention", x, **given)
    row(f"{MICROSOFT}Attention", qkv, unidirectional=1, scale=0.3, **given)
    for mask in ("i32:[5,3]", "i32:[5,4,1,0]", "i32:2x5@0~1", "i32:2x5x5@0~1"):
        row(f"{MICROSOFT}Attention", f"{qkv} {mask}", **given)
        row(f"{MICROSOFT}Attention", f"{qkv} {mask} - 1x1x5x5", mask_filter_value=-50.0, **given)
    row(f"{MICROSOFT}Attention", f"{qkv} - - 2x{heads}x5x5@-3~3", **given)
    if not sizes:
        past = f"2x2x{heads}x4x6@-2~2"
        for unidirectional in (0, 1):
            row(f"{MICROSOFT}Attention", f"{qkv} - {past}", outputs=2,
                unidirectional=unidirectional, **given)
            row(f"{MICROSOFT}Attention", f"{qkv} i32:2x9@0~1 {past}", outputs=2,
                unidirectional=unidirectional, **given)

for heads in (2, 3):
    given = {"num_heads": heads}
    width, value_width = 6 * heads, 4 * heads
    for rows, keys in ((5, 5), (3, 7), (1, 4)):
        op = f"{MICROSOFT}MultiHeadAttention"
        qkv = f"2x{rows}x{width}@-2~2 2x{keys}x{width}@-2~2 2x{keys}x{value_width}"
        # Of a sequence and itself; for others the last query sees all in ONNX Runtime 1.32.
        unidirectional = int(rows == keys)
        row(op, qkv, scale=0.3, **given)
        row(op, qkv, unidirectional=unidirectional, **given)
        row(op, f"{qkv} {2 * width + value_width}", **given)
        for mask in (f"i32:2x{keys}@0~1", f"i32:2x{rows}x{keys}@0~1", f"i32:[{keys},{keys - 1}]"):
            row(op, f"{qkv} - {mask}", **given)
            row(op, f"{qkv} - {mask}", mask_filter_value=-50.0, unidirectional=unidirectional,
                **given)
        for bias in ("1x1", f"2x{heads}", f"1x{heads}", "2x1"):
            row(op, f"{qkv} - - {bias}x{rows}x{keys}@-3~3", **given)
        row(op, f"2x{rows}x{width}@-2~2 " + " ".join([f"2x{heads}x{keys}x6@-2~2"] * 2), **given)
        past = " ".join([f"2x{heads}x4x6@-2~2"] * 2)
        qkv = f"2x{rows}x{width}@-2~2 " + " ".join([f"2x{keys}x{width}@-2~2"] * 2)
        row(op, f"{qkv} - - - {past}", outputs=3, **given)
        row(op, f"{qkv} - - - {past}", outputs=3, unidirectional=unidirectional, scale=0.3,
            **given)
        row(op, f"{qkv} - i32:2x{keys + 4}@0~1 1x1x{rows}x{keys + 4} {past}", outputs=3, **given)
        row(op, f"{qkv} {3 * width} - - {past}", outputs=3, **given)

for heads, key_heads in ((2, 2), (4, 2), (6, 1)):
    op = f"{MICROSOFT}GroupQueryAttention"
    given = {"num_heads": heads, "kv_num_heads": key_heads}
    for rows, past, seqlens in ((5, 0, "[4,4]"), (1, 4, "[4,2]"), (1, 8, "[4,2]")):
        total = rows + (past if past != 8 else 4)
        q, kv = f"2x{rows}x{16 * heads}@-2~2", f"2x{rows}x{16 * key_heads}@-2~2"
        cache = " ".join([f"2x{key_heads}x{past}x16@-2~2"] * 2) if past else "- -"
        tail = f"{cache} i32:{seqlens} i32:[{total}.]"
        row(op, f"{q} {kv} {kv} {tail}", outputs=3, **given)
        row(op, f"2x{rows}x{16 * (heads + 2 * key_heads)}@-2~2 - - {tail}", outputs=3, **given)
        row(op, f"{q} {kv} {kv} {tail}", outputs=3, scale=0.4, softcap=3.0, local_window_size=2,
            **given)
        row(op, f"{q} {kv} {kv} {tail}", outputs=3, causal=0, **given)
        row(op, f"{q} {kv} {kv} {tail}", outputs=3, smooth_softmax=1, **given)
        for shown in (1, 2):
            row(op, f"{q} {kv} {kv} {tail}", outputs=4, qk_output=shown, **given)
            row(op, f"{q} {kv} {kv} {tail} - - - 1x1x{rows}x{total}@-3~3", outputs=4, softcap=2.0,
                qk_output=shown, **given)
        row(op, f"{q} {kv} {kv} {tail} - - - - {heads}", outputs=3, **given)
        row(op, f"{q} {kv} {kv} {tail} - - - 1x{heads}x{rows}x{total}@-3~3", outputs=3, **given)
        for interleaved in (0, 1):
            row(op, f"{q} {kv} {kv} {tail} 16x8 16x8", outputs=3, do_rotary=1,
                rotary_interleaved=interleaved, **given)
            row(op, f"2x{rows}x{16 * (heads + 2 * key_heads)}@-2~2 - - {tail} 16x8 16x8", outputs=3,
                do_rotary=1, rotary_interleaved=interleaved, **given)
        row(op, f"{q} {kv} {kv} {tail} 16x8 16x8 i64:2x{rows}@3~9", outputs=3, do_rotary=1, **given)
row(f"{MICROSOFT}GroupQueryAttention", "2x0x32 2x0x32 2x0x32 2x2x4x16 2x2x4x16 i32:[3,3] i32:[4.]",
    outputs=3, num_heads=2, kv_num_heads=2)

# ---- Linear attention ------------------------------------------------------
# Operands: query key value past_state decay beta.

for rule in ("linear", "gated", "delta", "gated_delta"):
    for heads, key_heads in ((2, 2), (4, 2)):
        shapes = f"2x5x{heads * 3} 2x5x{key_heads * 3} 2x5x{key_heads * 4}"
        for past in ("-", f"2x{key_heads}x3x4"):
            for decay in (key_heads, key_heads * 3) if "gated" in rule else (0,):
                for beta in (key_heads, 1) if "delta" in rule else (0,):
                    row("LinearAttention", " ".join(
                        [shapes, past, f"2x5x{decay}@-1~0" if decay else "-",
                         f"2x5x{beta}@0~1" if beta else "-"]), 27, outputs=2, update_rule=rule,
                        q_num_heads=heads, kv_num_heads=key_heads)
row("LinearAttention", "1x1x6 1x1x6 1x1x8 1x2x3x4", 27, outputs=2, update_rule="linear",
    q_num_heads=2, kv_num_heads=2, scale=0.7)

# ---- FlexAttention ---------------------------------------------------------

flatter = body("flatter", [node("Tanh", "flatter_x", "flatter_y")], [("flatter_x", FLOAT, None)],
               [("flatter_y", FLOAT, None)])
halved = body("halved", [node("Mul", "halved_x halved_c", "halved_y")],
              [("halved_x", FLOAT, None)], [("halved_y", FLOAT, None)], c=np.float32(0.5))
FLEX = "ai.onnx.preview::FlexAttention"
for shapes in ("2x3x4x5 2x3x6x5 2x3x6x7", "2x4x4x5 2x2x6x5 2x2x6x7"):
    row(FLEX, shapes, 26)
    row(FLEX, shapes, 26, score_mod=flatter)
    row(FLEX, shapes, 26, scale=0.3, prob_mod=halved)
    row(FLEX, shapes, 26, score_mod=flatter, prob_mod=halved)
