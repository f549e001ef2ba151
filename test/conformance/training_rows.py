"""Rows of losses and the steps of optimizers."""

import itertools

from operator_rows import row

for op, reduction in itertools.product(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"),
                                       ("none", "sum", "mean")):
    outputs = 2 if op[0] == "S" else 1
    for scores, labels in (("9x5", "9"), ("3x5x4", "3x4"), ("2x5x3x4", "2x3x4")):
        for weights in ("", " 5@0.1~2"):
            row(op, f"{scores} i64:{labels}@0~4{weights}", 13, outputs=outputs, reduction=reduction)
            row(op, f"{scores} i64:{labels}@0~4{weights}", 13, outputs=outputs, reduction=reduction,
                ignore_index=2)
    row(op, "40x5 i32:40@-1~4 5@0.1~2", 13, reduction=reduction, ignore_index=-1)
    row(op, "9x5 i64:9@0~4", 12, reduction=reduction)

TRAINING = "ai.onnx.preview.training::"
for updates in ("0", "3"):
    row(TRAINING + "Adagrad", f"scalar@0.1~0.2 =[{updates}.] 3x4 5 3x4 5 3x4@0~1 5@0~1", outputs=4,
        norm_coefficient=0.01, epsilon=1e-5, decay_factor=0.1)
    row(TRAINING + "Adam", f"scalar@0.1~0.2 [{updates}.] 3x4 5 3x4 5 3x4 5 3x4@0~1 5@0~1", outputs=6,
        norm_coefficient=0.01, norm_coefficient_post=0.02, alpha=0.95, beta=0.9, epsilon=1e-5)
    for mode in ("standard", "nesterov"):
        row(TRAINING + "Momentum", f"scalar@0.1~0.2 [{updates}.] 3x4 5 3x4 5 3x4 5", outputs=4,
            norm_coefficient=0.01, alpha=0.9, beta=0.8, mode=mode)
row(TRAINING + "Adam", "f64:scalar@0.1~0.2 [2.] f64:40 f64:40 f64:40 f64:40@0~1", outputs=3)
