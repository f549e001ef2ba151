"""Random ensembles of decision trees, as attributes of the tree operators of ai.onnx.ml."""

import numpy as np
from onnx import numpy_helper

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")


def grow(rng, depth, early):
    """Nodes of a tree, breadth first: the places of their children, or None of a leaf.

    `early` is how likely a node above the last level is a leaf.
    """
    nodes, levels = [None], [0]
    for at, level in enumerate(levels):
        if level < depth and (level == 0 or rng.random() >= early):
            nodes[at] = (len(nodes), len(nodes) + 1)
            nodes += [None, None]
            levels += [level + 1, level + 1]  # grows while it is walked
    return nodes


def threshold(rng, mode, whole):
    """A whole number where equality should happen."""
    if whole or mode in ("EQ", "NEQ"):
        return float(rng.integers(-2, 3))
    return float(np.float32(rng.standard_normal()))


def numbered(seed, prefix, trees, depth, features=6, targets=1, modes=("LEQ",), missing=False,
             early=0.1, dense=True, positive=False, only=None, double=False, whole=False):
    """Attributes of TreeEnsembleRegressor and TreeEnsembleClassifier.

    A leaf has a weight for each target if it is `dense`, else for one; `only` names the one
    target that all weights are for.
    """
    rng = np.random.default_rng(seed)
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes",
                                 "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    weights = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        for at, children in enumerate(grow(rng, depth, early)):
            mode = modes[rng.integers(len(modes))]
            entry = (tree, at, int(rng.integers(features)), threshold(rng, mode, whole),
                     f"BRANCH_{mode}" if children else "LEAF", *(children or (0, 0)),
                     int(rng.integers(2)))
            for key, value in zip(nodes, entry):
                nodes[key].append(value)
            if children:
                continue
            for target in ([only] if only is not None else range(targets) if dense else
                           [int(rng.integers(targets))]):
                weight = rng.random() if positive else rng.standard_normal()
                for key, value in zip(weights, (tree, at, target, float(np.float32(weight)))):
                    weights[key].append(value)
    if not missing:
        del nodes["missing_value_tracks_true"]
    attributes = {f"nodes_{key}": value for key, value in nodes.items()}
    attributes.update({f"{prefix}_{key}": value for key, value in weights.items()})
    if double:
        for key in ("nodes_values", f"{prefix}_weights"):
            attributes[f"{key}_as_tensor"] = numpy_helper.from_array(
                np.array(attributes.pop(key)))
    return attributes


def regressor(seed, trees, depth, targets=1, **options):
    return {"n_targets": targets,
            **numbered(seed, "target", trees, depth, targets=targets, **options)}


def classifier(seed, trees, depth, classes, **options):
    return numbered(seed, "class", trees, depth, targets=classes, **options)


def ensemble(seed, trees, depth, features=6, targets=1, modes=("LEQ",), missing=False, early=0.1,
             dtype=np.float32):
    """Attributes of TreeEnsemble: inner nodes and leaves apart."""
    rng = np.random.default_rng(seed)
    nodes = {key: [] for key in ("featureids", "truenodeids", "falsenodeids", "trueleafs",
                                 "falseleafs", "missing_value_tracks_true")}
    modes_, splits, members, weights, ids, roots = [], [], [], [], [], []
    for _ in range(trees):
        grown = grow(rng, depth, early)
        roots.append(len(splits))
        inner = [at for at, children in enumerate(grown) if children]
        leaves = [at for at, children in enumerate(grown) if not children]

        def place(at):
            """The number of a node among its kind."""
            return (leaves.index(at) + len(weights), 1) if at in leaves else (
                inner.index(at) + roots[-1], 0)

        for at in inner:
            mode = modes[rng.integers(len(modes))]
            (yes, yes_leaf), (no, no_leaf) = map(place, grown[at])
            entry = (int(rng.integers(features)), yes, no, yes_leaf, no_leaf, int(rng.integers(2)))
            for key, value in zip(nodes, entry):
                nodes[key].append(value)
            modes_.append(MODES.index(mode))
            splits.append(threshold(rng, mode, whole=True))
            if mode == "MEMBER":
                members += [*rng.integers(-3, 4, rng.integers(1, 5)), np.nan]
        weights += list(rng.standard_normal(len(leaves)))
        ids += [int(rng.integers(targets)) for _ in leaves]
    if not missing:
        del nodes["missing_value_tracks_true"]
    attributes = {f"nodes_{key}": value for key, value in nodes.items()}
    for key, values, kind in (("nodes_modes", modes_, np.uint8), ("nodes_splits", splits, dtype),
                              ("leaf_weights", weights, dtype)):
        attributes[key] = numpy_helper.from_array(np.array(values, kind))
    if members:
        attributes["membership_values"] = numpy_helper.from_array(np.array(members, dtype))
    return {"tree_roots": roots, "leaf_targetids": ids, "n_targets": targets, **attributes}
