"""Rows of attention and rotary positions, of the default domain and of com.microsoft."""

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
row("Attention", "1x2x5x8 1x2x5x8 1x2x5x8", 23, softmax_precision=11)

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
