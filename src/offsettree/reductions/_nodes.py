"""One contest: train it, ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils._param_validation import InvalidParameterError
from threadpoolctl import ThreadpoolController

from offsettree._features import Features, count_rows, is_finite, is_frame, is_sparse, take_rows
from offsettree._traits import check_learner, may_pick_columns, takes_missing, weight_keyword
from offsettree._validation import warn_caller
from offsettree.exceptions import ParameterError
from offsettree.learners import ConstantClassifier, Costing, Template

FEW_ROWS = 50
N_FOLDS = 3
# Read without their predict, which spends most of its time on checks where rows are few. The very classes only.
PLAIN_TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
PLAIN_LINEAR = (LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier, LinearSVC)
PLAIN = frozenset((*PLAIN_TREES, *PLAIN_LINEAR))
LEFT = 1  # the paper's label: 1 where the left side should win


class TrainingSet(NamedTuple):
    """What one contest is trained on; `where` names it in errors."""

    X: Features
    label: NDArray[np.bool_]  # whether the left side should win
    weight: NDArray[np.float64]
    seed: int
    where: str


class NodeLearner:
    """The estimator of a policy, made ready to train many contests.

    An estimator whose `fit` takes no sample weights is wrapped in `Costing`; unless rows are not `weighted` at all.
    """

    def __init__(self, estimator: Any, *, weighted: bool = True) -> None:
        check_learner(estimator, "classifier", "estimator")
        keyword = weight_keyword(estimator) if weighted else None
        if keyword is None and weighted:
            estimator, keyword = Costing(estimator), "sample_weight"
        self.estimator = estimator
        self._keyword = keyword
        self._template = Template(estimator)
        self.parameters_checked = check_parameters(estimator)

    def fit(self, X: Features, label: NDArray[np.bool_], weight: NDArray[np.float64], seed: int) -> Any:
        """Train one contest; with votes for one side only it is a constant, without votes the left side wins."""
        n_left = int(np.count_nonzero(label))
        if n_left == len(label) or n_left == 0:
            return ConstantClassifier(LEFT if n_left == len(label) else 1 - LEFT)
        classifier = self._template.copy(seed)
        classifier.fit(X, label.astype(np.int64), **({self._keyword: weight} if self._keyword else {}))
        return classifier


def train_and_ask(
    learner: NodeLearner, given: TrainingSet, asked: Features | None = None
) -> tuple[Any, NDArray[np.bool_]]:
    """Train one contest and ask it about its own rows, or others.

    Some learners need more rows than a small contest has (neighbours, folds): there, the side with more weight wins.
    """
    X, label, weight, seed, where = given
    asked = X if asked is None else asked
    try:
        classifier = learner.fit(X, label, weight, seed)
        return classifier, checked_answers(classifier, asked)
    except ParameterError:
        raise
    except Exception as error:
        if not isinstance(error, ValueError) or len(label) >= FEW_ROWS:
            error.add_note(f"The learner failed {where}, on {len(label):,} rows.")
            raise
        warn_caller(
            f"the learner failed {where}, on {len(label)} rows ({error}); there the side with more weight always wins."
        )
        heavier = LEFT if 2 * weight[label].sum() >= weight.sum() else 1 - LEFT
        classifier = ConstantClassifier(heavier)
        return classifier, prefers_left(classifier, asked)


def random_folds(n_rows: int, random_state: np.random.RandomState) -> NDArray[np.uint8]:
    """Assign the rows of a log to folds, once for all contests."""
    return (random_state.permutation(n_rows) % N_FOLDS).astype(np.uint8)


def ask_out_of_fold(learner: NodeLearner, given: TrainingSet, fold: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Ask about each row of a contest a classifier that was trained on the rows of the other folds."""
    X, label, weight, seed, where = given
    sent_left = np.empty(len(label), dtype=bool)
    for held_out in np.flatnonzero(np.bincount(fold)).tolist():
        asked, learned_from = np.flatnonzero(fold == held_out), np.flatnonzero(fold != held_out)
        chosen_weight = weight[learned_from]
        others = TrainingSet(
            take_rows(X, learned_from),
            label[learned_from],
            chosen_weight / chosen_weight.mean() if len(chosen_weight) else chosen_weight,
            seed ^ (1 + held_out),  # not the seed of the contest itself, nor of the other folds
            f"{where} without fold {held_out}",
        )
        _, sent_left[asked] = train_and_ask(learner, others, take_rows(X, asked))
    return sent_left


def checked_answers(classifier: Any, X: Features) -> NDArray[np.bool_]:
    """Ask a contest that has just been trained, and refuse answers that are not the labels it was taught."""
    if isinstance(classifier, ConstantClassifier) or _is_plain(classifier, X):
        return prefers_left(classifier, X)
    answer = np.asarray(classifier.predict(X))
    right_shape = answer.shape == (count_rows(X),) and answer.dtype.kind in "biuf"
    if not right_shape or not ((answer == 0) | (answer == 1)).all():
        raise ParameterError(
            f"{type(classifier).__name__}.predict must answer one label per row, 0 or 1 as it was taught; got an array "
            f"of shape {answer.shape} and type {answer.dtype}: {answer.ravel()[:3].tolist()}."
        )
    return np.asarray(answer == LEFT)


def prefers_left(classifier: Any, X: Features) -> NDArray[np.bool_]:
    """Ask a contest which side wins, for each row."""
    if not _is_plain(classifier, X):
        return np.asarray(classifier.predict(X) == LEFT)
    if isinstance(classifier, PLAIN_TREES):
        votes = classifier.tree_.predict(np.ascontiguousarray(X, dtype=np.float32))
        return np.asarray(classifier.classes_[votes.argmax(axis=1)] == LEFT)
    # The very product that predict takes, so that not even a rounding differs.
    margin = (X @ classifier.coef_.T + classifier.intercept_).ravel()
    return np.asarray(margin > 0 if classifier.classes_[1] == LEFT else margin <= 0)


def _is_plain(classifier: Any, X: Features) -> bool:
    return isinstance(X, np.ndarray) and type(classifier) in PLAIN


def releases_the_interpreter(learner: Any) -> bool:
    """Tell whether threads can train several at once: most of the time of such a learner is spent outside of Python."""
    if isinstance(learner, Costing):
        return releases_the_interpreter(learner.estimator)
    outside = ("sklearn.tree.", "sklearn.ensemble._forest", "sklearn.ensemble._hist_gradient_boosting", "offsettree.")
    return type(learner).__module__.startswith(outside)


def check_parameters(learner: Any) -> bool:
    """Let one of scikit-learn's own learners judge its parameters; tell whether they need not be judged again."""
    if not type(learner).__module__.startswith("sklearn.") or not hasattr(learner, "_validate_params"):
        return False
    # A learner inside another may be given other parameters on the way.
    if any(
        hasattr(value, "fit") or isinstance(value, list | dict) for value in learner.get_params(deep=False).values()
    ):
        return False
    try:
        learner._validate_params()
    except InvalidParameterError as error:
        raise ParameterError(f"estimator must be given parameters that it takes. {error}") from error
    return True


def may_assume_finite(learner: Any, X: Features) -> bool:
    """Tell whether scikit-learn need not look for NaN again in every contest: no step before the learner adds any.

    X has been checked for the learner: where that takes no NaN, X has none.
    """
    if may_pick_columns(learner) or is_frame(X):
        return False
    return not takes_missing(learner, sparse=is_sparse(X)) or is_finite(X)


@contextmanager
def node_settings(*, assume_finite: bool, parameters_checked: bool = False) -> Iterator[None]:
    """Set up for the fits of contests: what need not be checked again, weights go by keyword, BLAS has one thread.

    Two BLAS threads add up in another order than one, which changed 1.5 % of the decisions of logistic contests:
    results must not depend on how many workers share the cores.
    """
    with (
        sklearn.config_context(
            assume_finite=assume_finite,
            skip_parameter_validation=parameters_checked or sklearn.get_config()["skip_parameter_validation"],
            enable_metadata_routing=False,
        ),
        one_blas_thread(),
    ):
        yield


def one_blas_thread() -> Any:
    """Return a context in which BLAS has one thread: with more, its sums have other bits."""
    return _thread_pools().limit(limits=1, user_api="blas")


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: milliseconds, so once per process
