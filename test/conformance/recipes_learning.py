"""Recipes of ai.onnx.ml: trees, linear models, support vectors, features and labels.

Labels and features that are strings are compared by values.py.
"""

import numpy as np
from onnx import numpy_helper

from forests import MODES, classifier, ensemble, regressor
from random_draw import Unsuitable, is_float
from recipe_table import recipe

DOMAIN = "ai.onnx.ml"
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def reals(g, count, low=-1, high=1):
    return [float(value) for value in g.rng.uniform(low, high, count).astype(np.float32)]


def real_type(g):
    """ONNX Runtime has regressors of integers for no operator."""
    g.types["T"] = g.pick([np.float32, np.float32, np.float64])


def rows(g, features, low=-2, high=2, missing=0):
    """A matrix of rows; `missing` is how likely some of its numbers are NaN."""
    shape = [0 if g.may_be_empty else g.pick([1, 2, 7, 16, 33]), features]
    x = g.values(shape, g.dtype(0), low, high)
    if is_float(x.dtype) and g.maybe(missing):
        x[g.rng.random(shape) < 0.15] = np.nan
    return x


def labels(g, count):
    """Names of classes in any order."""
    return [int(label) for label in g.rng.permutation(20)[:count] - 5]


# ---- Trees -----------------------------------------------------------------


def tree_modes(g, names):
    """One comparison for all nodes, or some of them."""
    return tuple(g.pick(names) for _ in range(g.pick([1, 1, 2, 6])))


def forest(g, targets, make, dense, has_base, only=None):
    """Nodes and weights of the operators whose attributes are lists of numbers."""
    features = g.integer(1, 9)
    newer = g.schema.since_version >= 3
    options = dict(features=features, modes=tree_modes(g, MODES[:6]), missing=g.maybe(0.4),
                   early=g.pick([0, 0.1, 0.4]), dense=dense, whole=g.maybe(0.5),
                   only=only, double=newer and np.dtype(g.dtype(0)) == np.float64)
    trees, depth = g.pick([(1, 0), (1, 4), (3, 3), (9, 5), (40, 4), (2, 9)])
    g.attributes.update(make(g.integer(0, 10**6), trees, depth, targets, **options))
    if has_base and g.maybe(0.4):
        base = reals(g, targets)
        if options["double"]:
            g.attributes["base_values_as_tensor"] = numpy_helper.from_array(np.array(base))
        else:
            g.attributes["base_values"] = base
    bound = 3 if options["whole"] else 2
    return rows(g, features, -bound, bound, missing=0.3)


@recipe("learning", "TreeEnsembleRegressor", DOMAIN)
def tree_regressor(g):
    real_type(g)
    targets, dense = g.pick([1, 1, 2, 5]), g.maybe(0.6)
    # ONNX Runtime leaves base values out where no leaf has a weight for the target.
    g.give(forest(g, targets, regressor, dense, has_base=dense or targets == 1))
    g.attribute("aggregate_function", ["SUM", "AVERAGE", "MIN", "MAX"])
    g.attribute("post_transform", TRANSFORMS[:4])


@recipe("learning", "TreeEnsembleClassifier", DOMAIN)
def tree_classifier(g):
    classes = g.pick([2, 2, 3, 5])
    # Where each of two classes has weights, ONNX Runtime answers 0 or 1, whatever the labels
    # are; and it chooses no class without a weight, where all others have less than 0.
    only = g.pick([0, 1]) if classes == 2 else None
    g.give(forest(g, classes, classifier, dense=True, has_base=only is None, only=only))
    g.attributes["classlabels_int64s"] = labels(g, classes)
    g.attribute("post_transform", TRANSFORMS[:4])
    g.outputs = 2


@recipe("learning", "TreeEnsemble", DOMAIN)
def tree_ensemble(g):
    dtype, features = g.dtype(0), g.integer(1, 9)
    trees, depth = g.pick([(1, 1), (3, 3), (9, 5), (2, 9)])
    missing, modes = g.maybe(0.4), tree_modes(g, MODES)
    targets = g.pick([1, 1, 3])
    g.attributes.update(ensemble(g.integer(0, 10**6), trees, depth, features, targets, modes,
                                 missing, g.pick([0, 0.1, 0.4]), dtype))
    g.attribute("aggregate_function", [0, 1, 2, 3])
    # ONNX Runtime has 1 and 2, which are SOFTMAX and LOGISTIC, the other way round.
    g.attribute("post_transform", [0, 3])
    x = rows(g, features, -3, 3, missing=0.3)
    if "MEMBER" in modes:
        x = np.round(x)  # ONNX Runtime takes some numbers between members for one.
        if set(modes) <= {"MEMBER", "EQ"}:
            x = np.nan_to_num(x)  # And NaN, where all nodes ask for equality.
    g.give(x)


# ---- Linear models and support vectors -------------------------------------


@recipe("learning", "LinearRegressor", DOMAIN)
def linear_regressor(g):
    real_type(g)
    features, targets = g.integer(1, 20), g.pick([1, 1, 2, 7])
    g.give(rows(g, features))
    g.attributes["coefficients"] = reals(g, features * targets)
    if targets > 1 or g.maybe(0.5):
        g.attributes["targets"] = targets
    if g.maybe(0.6):
        g.attributes["intercepts"] = reals(g, targets)
    g.attribute("post_transform", TRANSFORMS)


@recipe("learning", "LinearClassifier", DOMAIN)
def linear_classifier(g):
    features, classes = g.integer(1, 20), g.pick([2, 3, 7])
    g.give(rows(g, features))
    scores = 1 if classes == 2 and g.maybe(0.5) else classes
    g.attributes["coefficients"] = reals(g, features * scores)
    # ONNX Runtime wants some.
    g.attributes["intercepts"] = reals(g, scores)
    g.attributes["classlabels_ints"] = labels(g, classes)
    transform = g.attribute("post_transform", TRANSFORMS)
    if scores == 1 and transform == "PROBIT":
        raise Unsuitable  # ONNX Runtime leaves one of the two columns undefined.
    g.attribute("multi_class", [0, 1])
    g.outputs = 2


def kernel(g):
    g.attributes["kernel_type"], low = g.pick([("LINEAR", -1), ("RBF", 0), ("POLY", -1),
                                               ("SIGMOID", -1)])
    g.attributes["kernel_params"] = [*reals(g, 1, low), *reals(g, 1), float(g.integer(1, 4))]


@recipe("learning", "SVMRegressor", DOMAIN)
def vector_regressor(g):
    real_type(g)
    features, count = g.integer(1, 12), g.pick([0, 1, 5, 19])
    g.give(rows(g, features))
    g.attributes["rho"] = reals(g, 1)
    g.attributes["coefficients"] = reals(g, count or features)
    g.attribute("one_class", [0, 1])
    g.attributes["n_supports"] = count
    kernel(g)
    if count:
        g.attributes["support_vectors"] = reals(g, count * features)
    else:
        g.attributes["kernel_type"] = "LINEAR"
    g.attribute("post_transform", TRANSFORMS[:4])


@recipe("learning", "SVMClassifier", DOMAIN)
def vector_classifier(g):
    features, classes = g.integer(1, 12), g.pick([2, 2, 3, 5])
    g.give(rows(g, features))
    g.attributes["classlabels_ints"] = labels(g, classes)
    g.outputs = 2
    kernel(g)
    if g.maybe(0.2):
        g.attributes.update(kernel_type="LINEAR", rho=reals(g, 1),
                            coefficients=reals(g, classes * features, g.pick([-1, 0])))
        return
    sizes = [g.integer(0, 4) for _ in range(classes)]
    sizes[0] += 1
    pairs = classes * (classes - 1) // 2
    g.attributes.update(vectors_per_class=sizes, rho=reals(g, pairs),
                        support_vectors=reals(g, sum(sizes) * features),
                        coefficients=reals(g, (classes - 1) * sum(sizes)))
    if g.maybe(0.4):
        g.attributes.update(prob_a=reals(g, pairs, -3, -1), prob_b=reals(g, pairs))
    else:
        g.attribute("post_transform", TRANSFORMS[:4])


# ---- Features --------------------------------------------------------------


def features_of(g):
    """Features, which are dimension 1 or the only one, and how many there are."""
    x = g.operand(g.shape(1, 2))
    return x.shape[-1]


@recipe("learning", "Scaler", DOMAIN)
def scaler(g):
    count = g.pick([1, max(1, features_of(g))])
    g.attributes.update(scale=reals(g, count), offset=reals(g, count, -9, 9))


@recipe("learning", "Normalizer", DOMAIN)
def normalizer(g):
    features_of(g)
    g.attribute("norm", ["MAX", "L1", "L2"])


@recipe("learning", "Binarizer", DOMAIN)
def binarizer(g):
    g.operand(g.shape(1, 4))
    g.attribute("threshold", [-1.5, 0.0, 0.5, 2.0])


@recipe("learning", "Imputer", DOMAIN)
def imputer(g):
    dtype = g.dtype(0)
    x = g.values(g.shape(1, 2), dtype)
    is_real = is_float(dtype)
    missing = g.pick([float("nan"), 0.0, 1.5]) if is_real else g.integer(-2, 2)
    x[g.rng.random(x.shape) < 0.3] = missing
    g.give(x)
    count = g.pick([1, max(1, x.shape[-1])])
    if is_real:
        g.attributes.update(imputed_value_floats=reals(g, count), replaced_value_float=missing)
    else:
        g.attributes.update(imputed_value_int64s=[g.integer(-9, 9) for _ in range(count)],
                            replaced_value_int64=missing)


@recipe("learning", "ArrayFeatureExtractor", DOMAIN)
def extractor(g):
    shape = [max(1, size) for size in g.shape(1, 4)]
    g.operand(shape)
    count = g.integer(1, 6)
    g.give(g.rng.integers(0, shape[-1], g.pick([[count], [1, count]])).astype(np.int64), 0.5)


@recipe("learning", "FeatureVectorizer", DOMAIN)
def vectorizer(g):
    count = g.pick([1, 4, 9])
    widths = [g.integer(1, 6) for _ in range(g.integer(1, 4))]
    for width in widths:
        g.give(g.values([count, width], g.dtype(0)))
    g.attributes["inputdimensions"] = [max(1, width + g.pick([0, 0, -1, 2])) for width in widths]


# ---- Labels ----------------------------------------------------------------


@recipe("learning", "OneHotEncoder", DOMAIN)
def one_hot(g):
    categories = labels(g, g.integer(1, 9))
    zeros = g.attribute("zeros", [0, 1])
    shape = g.shape(1, 3, 500)
    known = g.rng.choice(categories, shape)
    g.give((known if zeros == 0 or g.maybe(0.3) else g.rng.integers(-6, 16, shape))
           .astype(g.dtype(0)))
    g.attributes["cats_int64s"] = categories


ENCODED = {"int64s": np.int64, "floats": np.float32}
ENCODED_AS_TENSOR = [np.int64, np.int32, np.int16, np.float32, np.float64]


@recipe("learning", "LabelEncoder", DOMAIN)
def label_encoder(g):
    """Numbers for numbers; versions from 4 on may have them in tensors."""
    if g.schema.since_version < 2:
        raise Unsuitable  # Of strings alone.
    count = g.integer(1, 9)
    kinds = {}
    for role, variable in (("keys", "T1"), ("values", "T2")):
        if g.schema.since_version >= 4 and g.maybe(0.5):
            kinds[role] = dtype = g.pick(ENCODED_AS_TENSOR)
        else:
            kinds[role], dtype = (name := g.pick(sorted(ENCODED))), ENCODED[name]
        g.types[variable] = dtype
    keys = (g.rng.permutation(20)[:count] - 5).astype(g.types["T1"])
    values = g.values([count], g.types["T2"])
    # ONNX Runtime has NaN for a key where both are f32, from version 4 on.
    if (g.schema.since_version >= 4 and keys.dtype == values.dtype == np.float32
            and g.maybe(0.3)):
        keys[0] = np.nan
    for role, entries in (("keys", keys), ("values", values)):
        if isinstance(kinds[role], str):
            g.attributes[f"{role}_{kinds[role]}"] = entries.tolist()
        else:
            g.attributes[f"{role}_tensor"] = numpy_helper.from_array(entries)
    if g.maybe(0.5):
        g.attributes.update(default_int64=g.integer(-9, 9), default_float=reals(g, 1)[0])
    if not isinstance(kinds["values"], str) and g.maybe(0.7):
        g.attributes["default_tensor"] = numpy_helper.from_array(g.values([1], g.types["T2"]))
    shape = g.shape(0, 3)
    g.give(np.where(g.rng.random(shape) < 0.6, g.rng.choice(keys, shape),
                    g.values(shape, keys.dtype)).astype(keys.dtype))
