"""Importance weighting: classifiers of the actions, as models in flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.learners import ConstantClassifier, Costing
from offsettree.models.model import Constant, Known, Model, Votes
from offsettree.models.pairs import Pairs
from offsettree.models.scores import Scores
from offsettree.reading.cannot_flatten import CannotFlatten
from offsettree.reading.columns import ColumnSpace
from offsettree.reading.contests import read_contests
from offsettree.reading.scores import join_pieces, read_classes
from offsettree.reductions.all_pairs import AllPairs


def flatten_classifier(classifier: Any, space: ColumnSpace, n_classes: int) -> Model:
    """Flatten a classifier whose labels are positions among `n_classes`."""
    if type(classifier) is ConstantClassifier:
        return Constant(int(classifier.label), n_classes)
    known = np.asarray(classifier.classes_).astype(np.int64)
    if len(known) == 1:
        return Constant(int(known[0]), n_classes)
    return _among(known, _of_known(classifier, space, len(known)), n_classes)


def _of_known(classifier: Any, space: ColumnSpace, n_known: int) -> Model:
    if type(classifier) is Costing:
        if classifier.vote != "hard" or classifier.draw_models != "separate":
            raise CannotFlatten("Costing that averages probabilities over many classes, or shares one model")
        draws = classifier.estimators_
        if len({id(draw) for draw in draws}) == 1:
            draws = draws[:1]
        return Votes([flatten_classifier(draw, space, n_known) for draw in draws], n_known)
    if type(classifier) is AllPairs:
        contests = read_contests(classifier.estimators_, space)
        return Pairs(np.array(classifier.pairs_, dtype=np.int32), contests, n_known)
    return Scores([join_pieces([read_classes(classifier, space)], space)], n_known)


def _among(known: NDArray[np.int64], model: Model, n_classes: int) -> Model:
    if np.array_equal(known, np.arange(n_classes)):
        return model
    return Known(known, model, n_classes)
