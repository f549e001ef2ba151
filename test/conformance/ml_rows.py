"""Rows of ai.onnx.ml. A row's version is that of its own domain."""

import itertools

import numpy as np
from onnx import numpy_helper

from forests import MODES, classifier, ensemble, regressor
from operator_rows import row

DOMAIN = "ai.onnx.ml"
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def ml_row(op, operands, version=1, outputs=1, **attributes):
    row(f"{DOMAIN}::{op}", operands, version, outputs, **attributes)


def reals(seed, count, low=-1, high=1):
    return [float(value) for value in
            np.random.default_rng(seed).uniform(low, high, count).astype(np.float32)]


# ---- Trees -----------------------------------------------------------------

for aggregate, targets in itertools.product(("SUM", "AVERAGE", "MIN", "MAX"), (1, 3)):
    ml_row("TreeEnsembleRegressor", "37x6@-2~2", 3, aggregate_function=aggregate,
           **regressor(1, 7, 5, targets))
    if targets > 1:
        ml_row("TreeEnsembleRegressor", "37x6@-2~2", 3, aggregate_function=aggregate,
               **regressor(1, 7, 5, targets, dense=False))
    ml_row("TreeEnsembleRegressor", "5x6@-2~2", 3, aggregate_function=aggregate,
           base_values=reals(2, targets), **regressor(3, 7, 5, targets))
# Each comparison on its own and all together, with numbers that are equal or missing.
for modes in [(mode,) for mode in MODES[:6]] + [MODES[:6]]:
    for missing in (False, True):
        ml_row("TreeEnsembleRegressor", "40x6!nan", 3,
               **regressor(4, 5, 6, modes=modes, missing=missing, whole=True))
    ml_row("TreeEnsembleClassifier", "i64:40x6@-2~2", 1, 2, classlabels_int64s=[4, 2, 7],
           **classifier(5, 5, 6, 3, modes=modes, whole=True))
for count in (1, 2, 8, 15, 64, 65, 200):
    ml_row("TreeEnsembleRegressor", f"{count}x6@-2~2", 1, **regressor(6, 20, 4))
ml_row("TreeEnsembleRegressor", "f64:40x6@-2~2", 3, **regressor(7, 9, 6, double=True))
ml_row("TreeEnsembleClassifier", "i32:40x6@-2~2", 1, 2, classlabels_int64s=[4, 2, 7],
       **classifier(8, 9, 6, 3))
ml_row("TreeEnsembleRegressor", "9x6@-2~2", 1, **regressor(9, 1, 0))
ml_row("TreeEnsembleRegressor", "3x6@-2~2", 1, **regressor(10, 1200, 3))
ml_row("TreeEnsembleRegressor", "9x6@-2~2", 3, **regressor(11, 20, 30, early=0.45))
for transform in TRANSFORMS:
    for targets in (1, 3):
        ml_row("TreeEnsembleRegressor", "19x6@-2~2", 1, post_transform=transform,
               **regressor(12, 1, 4, targets, positive=True))
    ml_row("TreeEnsembleClassifier", "19x6@-2~2", 1, 2, post_transform=transform,
           classlabels_int64s=[4, 2, 7], **classifier(13, 5, 4, 3))
    for positive in (True, False):
        # One column for two classes: ONNX Runtime leaves the other one undefined with PROBIT.
        if transform != "PROBIT":
            ml_row("TreeEnsembleClassifier", "19x6@-2~2", 1, 2, post_transform=transform,
                   classlabels_int64s=[4, 2],
                   **classifier(14, 5, 4, 2, only=0, positive=positive))
        ml_row("TreeEnsembleClassifier", "19x6@-2~2", 1, 2, post_transform=transform,
               classlabels_int64s=[4, 2], **classifier(15, 5, 4, 2, only=1, positive=positive))
ml_row("TreeEnsembleClassifier", "19x6@-2~2", 3, 2, base_values=reals(16, 3),
       classlabels_int64s=[4, 2, 7], **classifier(16, 5, 4, 3))
ml_row("TreeEnsembleClassifier", "f64:19x6@-2~2", 3, 2, classlabels_int64s=[4, 2, 7],
       **classifier(17, 5, 4, 3, double=True))
for modes, missing in ((("LEQ",), False), (("LT",), True), (("MEMBER",), False),
                       (("MEMBER",), True), (MODES, False), (MODES, True)):
    for targets in (1, 3):
        # ONNX Runtime takes NaN for a member where nothing else is tested.
        ml_row("TreeEnsemble", "40x6!" if modes == ("MEMBER",) else "40x6!nan", 5,
               **ensemble(18, 5, 5, targets=targets, modes=modes, missing=missing))
ml_row("TreeEnsemble", "f64:40x6@-2~2", 5, **ensemble(19, 5, 5, dtype=np.float64))
for aggregate in range(4):
    ml_row("TreeEnsemble", "40x6@-2~2", 5, aggregate_function=aggregate, **ensemble(20, 5, 5))

# ---- Linear models ---------------------------------------------------------

for transform in TRANSFORMS:
    ml_row("LinearRegressor", "9x5", coefficients=reals(1, 5), intercepts=reals(2, 1, 0.1, 0.2),
           post_transform=transform)
    ml_row("LinearRegressor", "9x5@0~0.5", targets=3, coefficients=reals(3, 15, 0, 0.3),
           post_transform=transform)
    ml_row("LinearClassifier", "9x5", outputs=2, coefficients=reals(4, 15), intercepts=reals(5, 3),
           classlabels_ints=[3, 1, 9], post_transform=transform)
    if transform != "PROBIT":
        ml_row("LinearClassifier", "9x5", outputs=2, coefficients=reals(6, 5),
               intercepts=reals(7, 1), classlabels_ints=[3, 1], post_transform=transform)
for dtype in ("f64", "i32", "i64"):
    ml_row("LinearClassifier", f"{dtype}:9x5@-3~3", outputs=2, coefficients=reals(4, 15),
           intercepts=reals(5, 3), classlabels_ints=[3, 1, 9])

# ---- Support vectors -------------------------------------------------------

for kernel, params in (("LINEAR", [0.0, 0.0, 0.0]), ("RBF", [0.3, 0.0, 0.0]),
                       ("POLY", [0.2, 1.0, 3.0]), ("POLY", [0.3, 0.5, 2.0]),
                       ("SIGMOID", [0.2, 0.1, 0.0])):
    machine = dict(kernel_type=kernel, kernel_params=params)
    for one_class in (0, 1):
        ml_row("SVMRegressor", "9x5", n_supports=11, support_vectors=reals(1, 55),
               coefficients=reals(2, 11), rho=[0.125], one_class=one_class, **machine)
    for classes, counts in ((2, [4, 7]), (3, [4, 0, 3]), (5, [2, 3, 4, 1, 2])):
        pairs, count = classes * (classes - 1) // 2, sum(counts)
        vectors = dict(vectors_per_class=counts, support_vectors=reals(3, 5 * count),
                       coefficients=reals(4, (classes - 1) * count), rho=reals(5, pairs),
                       classlabels_ints=[3 * i + 1 for i in range(classes)])
        for transform in TRANSFORMS[:4]:
            ml_row("SVMClassifier", "9x5", outputs=2, post_transform=transform, **vectors,
                   **machine)
        ml_row("SVMClassifier", "9x5", outputs=2, prob_a=reals(6, pairs, -3, -1),
               prob_b=reals(7, pairs), **vectors, **machine)
for classes, low in itertools.product((2, 3), (-1, 0)):
    ml_row("SVMClassifier", "9x5", outputs=2, kernel_params=[0.0, 0.0, 0.0],
           coefficients=reals(8, 5 * classes, low), rho=[0.125],
           classlabels_ints=[5, 2, 8][:classes])
ml_row("SVMRegressor", "9x5", kernel_params=[0.0, 0.0, 0.0], coefficients=reals(9, 5), rho=[0.5],
       n_supports=0)

# ---- Features --------------------------------------------------------------

for dtype in ("f32", "f64", "i32", "i64"):
    ml_row("Scaler", f"{dtype}:7x5@-9~9", scale=reals(1, 5), offset=reals(2, 5))
    ml_row("Scaler", f"{dtype}:7x5@-9~9", scale=[0.5], offset=[3.0])
    for norm in ("MAX", "L1", "L2"):
        ml_row("Normalizer", f"{dtype}:7x5@-9~9", norm=norm)
    ml_row("Binarizer", f"{dtype}:7x5@-9~9", threshold=1.5)
    ml_row("ArrayFeatureExtractor", f"{dtype}:7x5@-9~9 i64:3@0~4")
for norm in ("MAX", "L1", "L2"):
    ml_row("Normalizer", "f32:[0,0,0]", norm=norm)
ml_row("ArrayFeatureExtractor", "5 =[3,0]")
ml_row("ArrayFeatureExtractor", "2x3x4 i64:1x2@0~3")
ml_row("Imputer", "f32:[nan,1,nan,2]", imputed_value_floats=[0.5],
       replaced_value_float=float("nan"))
ml_row("Imputer", "f32:[0,1,0,2]", imputed_value_floats=[5.0, 6.0, 7.0, 8.0],
       replaced_value_float=0.0)
ml_row("Imputer", "i64:6x3@0~3", imputed_value_int64s=[7, 8, 9], replaced_value_int64=2)
for dtype in ("f32", "f64", "i32", "i64"):
    ml_row("FeatureVectorizer", " ".join(f"{dtype}:{shape}" for shape in ("4x3", "4x2", "4x5")),
           inputdimensions=[3, 4, 2])
ml_row("FeatureVectorizer", "3 2", inputdimensions=[3, 2])
for dtype in ("i64", "f32", "f64"):
    ml_row("OneHotEncoder", f"{dtype}:4x3@0~6", cats_int64s=[5, 0, 3])
ml_row("OneHotEncoder", "i64:9@0~2", cats_int64s=[2, 0, 1], zeros=0)
for keys, values in itertools.product(("int64s", "floats"), repeat=2):
    ml_row("LabelEncoder", ("f32:" if keys == "floats" else "i64:") + "[1,2,5,0]", 2,
           **{f"keys_{keys}": [5, 1, 0] if keys == "int64s" else [5.0, 1.0, 0.0],
              f"values_{values}": [7, 8, 9] if values == "int64s" else [0.5, 0.25, 4.0]})
# What is no key becomes the default of the values' own type.
ml_row("LabelEncoder", "i64:[1,2,5,0]", 4, keys_int64s=[5, 1, 0], default_float=0.75,
       values_tensor=numpy_helper.from_array(np.array([0.5, 0.25, 4.0])))
