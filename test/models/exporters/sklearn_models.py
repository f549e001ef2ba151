"""Models of scikit-learn as skl2onnx writes them, trained on small random data.

sklearn_models.py DIR [NAMES...] writes for each model DIR/NAME.onnx, and inputs of
several runs as DIR/NAME.npz: "0/X" is an input of the first one. Scores of classifiers
are tensors (zipmap is off). Needs scikit-learn and skl2onnx.
"""

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn import (cluster, compose, decomposition, ensemble, impute, linear_model, naive_bayes,
                     neighbors, neural_network, preprocessing, svm, tree)
from sklearn.base import is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.pipeline import make_pipeline

from writing import main, save_feeds

OPSETS = {"": 18, "ai.onnx.ml": 3}
BATCHES = (100, 1, 7)

NUMBERS, CLASSES = make_classification(200, 8, n_informative=6, n_classes=3, random_state=0)
NUMBERS = NUMBERS.astype(np.float32)
NAMES = np.array(["cat", "dog", "emu"])[CLASSES]
ANSWERS = make_regression(200, 8, noise=3, random_state=0)[1]
HOLES = np.where(np.random.RandomState(1).rand(*NUMBERS.shape) < 0.2, np.nan, NUMBERS)
WORDS = np.random.RandomState(2).choice(["red", "green", "blue"], (200, 2)).astype(object)
FLOATS = [("X", FloatTensorType([None, 8]))]
STRINGS = [("X", StringTensorType([None, 2]))]

CLASSIFIERS = {
    "tree": lambda: tree.DecisionTreeClassifier(max_depth=6),
    "forest": lambda: ensemble.RandomForestClassifier(20, random_state=0),
    "extra-trees": lambda: ensemble.ExtraTreesClassifier(10, random_state=0),
    "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=15, random_state=0),
    "ada-boost": lambda: ensemble.AdaBoostClassifier(n_estimators=5, random_state=0),
    "bagging": lambda: ensemble.BaggingClassifier(n_estimators=4, random_state=0),
    "svc": svm.SVC,
    "svc-poly": lambda: svm.SVC(kernel="poly"),
    "svc-probability": lambda: svm.SVC(probability=True, random_state=0),
    "nu-svc": lambda: svm.NuSVC(nu=0.3, kernel="sigmoid"),
    "logistic": linear_model.LogisticRegression,
    "sgd": lambda: linear_model.SGDClassifier(random_state=0),
    "ridge": linear_model.RidgeClassifier,
    "neighbors": neighbors.KNeighborsClassifier,
    "naive-bayes": naive_bayes.GaussianNB,
    "bernoulli": naive_bayes.BernoulliNB,
    "mlp": lambda: neural_network.MLPClassifier((12,), max_iter=50, random_state=0),
    "voting": lambda: ensemble.VotingClassifier(
        [("a", linear_model.LogisticRegression()), ("b", naive_bayes.GaussianNB()),
         ("c", ensemble.RandomForestClassifier(5, random_state=0))],
        voting="soft", flatten_transform=False),
    "pipeline": lambda: make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(4),
                                      svm.SVC()),
}
REGRESSORS = {
    "tree": tree.DecisionTreeRegressor,
    "forest": lambda: ensemble.RandomForestRegressor(20, random_state=0),
    "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=20, random_state=0),
    "svr": svm.SVR,
    "nu-svr": lambda: svm.NuSVR(kernel="poly"),
    "linear": linear_model.LinearRegression,
    "linear-svr": svm.LinearSVR,
    "neighbors": neighbors.KNeighborsRegressor,
    "mlp": lambda: neural_network.MLPRegressor(hidden_layer_sizes=(12,), max_iter=50,
                                               random_state=0),
    "one-class": svm.OneClassSVM,
}
TRANSFORMERS = {
    "k-means": lambda: cluster.KMeans(4, random_state=0),
    "pca": lambda: decomposition.PCA(3),
    "standard": preprocessing.StandardScaler,
    "min-max": preprocessing.MinMaxScaler,
    "robust": preprocessing.RobustScaler,
    "normalizer": preprocessing.Normalizer,
    "binarizer": lambda: preprocessing.Binarizer(threshold=0.3),
    "polynomial": preprocessing.PolynomialFeatures,
    "bins": lambda: preprocessing.KBinsDiscretizer(4, encode="onehot-dense"),
    "power": preprocessing.PowerTransformer,
}


def mixed():
    """Numbers and categories, each prepared in their way."""
    return make_pipeline(
        compose.ColumnTransformer([
            ("numbers", preprocessing.StandardScaler(), list(range(8))),
            ("words", preprocessing.OneHotEncoder(), [8, 9])]),
        linear_model.LogisticRegression())


# Name to what makes the model, its training data and answers, and the types of its inputs.
MODELS = {f"classify-{name}{suffix}": (make, NUMBERS, answers, FLOATS)
          for name, make in CLASSIFIERS.items()
          for suffix, answers in (("", CLASSES), ("-binary", (CLASSES > 0).astype(int)),
                                ("-names", NAMES))
          if suffix == "" or name not in ("pipeline", "voting")}
MODELS |= {f"regress-{name}": (make, NUMBERS, ANSWERS, FLOATS) for name, make in REGRESSORS.items()}
MODELS |= {f"transform-{name}": (make, NUMBERS, None, FLOATS)
           for name, make in TRANSFORMERS.items()}
MODELS |= {
    "transform-impute": (impute.SimpleImputer, HOLES.astype(np.float32), None, FLOATS),
    "transform-one-hot": (preprocessing.OneHotEncoder, WORDS, None, STRINGS),
    "transform-ordinal": (preprocessing.OrdinalEncoder, WORDS, None, STRINGS),
    "classify-words": (lambda: make_pipeline(preprocessing.OneHotEncoder(),
                                             ensemble.RandomForestClassifier(5, random_state=0)),
                       WORDS, NAMES, STRINGS),
    "classify-mixed": (mixed, np.concatenate([NUMBERS.astype(object), WORDS], axis=1), NAMES,
                       [("numbers", FloatTensorType([None, 8])),
                        ("words", StringTensorType([None, 2]))]),
}


def write(name, folder):
    make, data, answers, types = MODELS[name]
    model = make().fit(data, answers)
    options = {id(model): {"zipmap": False}} if is_classifier(model) else None
    exported = to_onnx(model, initial_types=types, target_opset=OPSETS, options=options)
    (folder / f"{name}.onnx").write_bytes(exported.SerializeToString())
    feeds, begin = [], 0
    for batch in BATCHES:
        feed, column = {}, 0
        for key, kind in types:
            width = kind.shape[1]
            rows = data[begin:begin + batch, column:column + width]
            feed[key] = rows.astype(str if kind.__class__ is StringTensorType else np.float32)
            column += width
        feeds.append(feed)
        begin += batch
    save_feeds(folder, name, feeds)


if __name__ == "__main__":
    main(MODELS, write)
