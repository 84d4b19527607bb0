"""Decorators that add a policy, a format of logs or a base learner, from inside or outside of the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from offsettree.exceptions import ParameterError
from offsettree.registry.built_in import CLASSIFIERS, FORMATS, POLICIES, REGRESSORS
from offsettree.registry.registry import CandidateEntry, FormatEntry, LearnerEntry, PolicyEntry

__all__ = ["register_format", "register_learner", "register_policy"]

T = TypeVar("T")


def register_policy(
    name: str,
    *,
    base: Literal["classifier", "regressor"] | None = None,
    settings: Mapping[str, Any] | None = None,
    candidates: Sequence[str | CandidateEntry] = (),
    online: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Return a decorator that makes a policy class known by name: ``offsettree learn --learner NAME``.

    Parameters
    ----------
    name : str
        Lower-case letters, digits and hyphens.
    base : {"classifier", "regressor"}, optional
        The kind of base learner that ``--base`` gives as the parameter `estimator`; by default it takes none.
    settings : mapping, optional
        Parameters of a policy made by name, where they should differ from the defaults of the class.
    candidates : list of str or CandidateEntry, default=()
        What ``PolicySearch(candidates="default")`` compares. A name alone is the policy as it is made by name, for
        dense X, after the package's own candidates.
    online : bool, default=False
        Whether it learns in one pass, chunk by chunk, by `partial_fit`.

    Raises
    ------
    ParameterError
        Where the name is taken, or the class is not a `BasePolicy` that has what is said of it.
    """
    if base not in (None, "classifier", "regressor"):
        raise ParameterError(f"base must be None, 'classifier' or 'regressor'; got {base!r}.")
    listed = [candidates] if isinstance(candidates, str | CandidateEntry) else candidates
    offered = tuple(CandidateEntry(each) if isinstance(each, str) else each for each in listed)

    def register(policy: type[T]) -> type[T]:
        _check_class(policy, "offsettree.base", "BasePolicy", "register_policy")
        entry = PolicyEntry(policy, base, dict(settings or {}), offered, online)
        _check_policy(name, entry)
        POLICIES.add(name, entry)
        return policy

    return register


def register_format(
    name: str, *, suffixes: Sequence[str] = (), recognise: Callable[[Any], bool] | None = None
) -> Callable[[type[T]], type[T]]:
    """Return a decorator that makes a reader class known by the name of its format: ``--format NAME``.

    Parameters
    ----------
    name : str
        Lower-case letters, digits and hyphens.
    suffixes : list of str, default=()
        What names of such files end in, such as [".rows"].
    recognise : callable, optional
        Tells a file of this format by its start: a `FileStart`, of which `data` are the first bytes, `line` is the
        first line of text, and `named` is the format that the suffix stands for. Without it, the suffix decides.

    Raises
    ------
    ParameterError
        Where the name or a suffix is taken, or the class is not an `offsettree.logs.Reader`.
    """
    claimed = (suffixes,) if isinstance(suffixes, str) else tuple(suffixes)

    def register(reader: type[T]) -> type[T]:
        _check_class(reader, "offsettree.logs._reader", "Reader", "register_format")
        for suffix in claimed:
            if not suffix.startswith(".") or suffix != suffix.lower():
                raise ParameterError(f"a suffix must be lower-case and begin with a point; got {suffix!r}.")
            owner = next((each for each, entry in FORMATS.known.items() if suffix in entry.suffixes), name)
            if owner != name:
                raise ParameterError(f"a suffix must be of one format; {suffix!r} is of {owner!r}. Leave it out.")
        FORMATS.add(name, FormatEntry(reader, claimed, recognise))
        return reader

    return register


def register_learner(
    name: str, kind: Literal["classifier", "regressor"], *, read: Callable[[Any], Any] | None = None
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return a decorator that makes a base learner known by name: ``--base NAME`` and `make_learner`.

    What is decorated makes the learner: its class, or a function without arguments. A name may be registered twice, as
    a classifier and as a regressor.

    Parameters
    ----------
    name : str
        Lower-case letters, digits and hyphens.
    kind : {"classifier", "regressor"}
        Which of the two.
    read : callable, optional
        Tells what a fitted learner of the decorated class is made of, so that policies of it decide by flat arrays and
        are saved as such: a `LinearPiece` or a `TreesPiece` of `offsettree.reading`, which for two classes gives one
        number, above zero for the second; or a fitted learner of scikit-learn that answers alike.

    Raises
    ------
    ParameterError
        Where the name is taken, or what is decorated makes no learner.
    """
    registries = {"classifier": CLASSIFIERS, "regressor": REGRESSORS}
    if kind not in registries:
        raise ParameterError(f"kind must be 'classifier' or 'regressor'; got {kind!r}.")

    def register(learner: Callable[..., T]) -> Callable[..., T]:
        is_class = isinstance(learner, type)
        if not callable(learner) or (is_class and not hasattr(learner, "fit")):
            raise ParameterError(
                f"register_learner decorates a class with fit, or a function that makes a learner; got {learner!r}."
            )
        if read is not None and not is_class:
            raise ParameterError(f"read is for fitted learners of one class; decorate that, not {learner!r}.")
        registries[kind].add(name, LearnerEntry(learner, read))
        return learner

    return register


def _check_class(given: Any, module: str, name: str, decorator: str) -> None:
    """Refuse anything but a subclass of a class, which is not imported for it."""
    line = given.__mro__ if isinstance(given, type) else ()
    if not any((each.__module__, each.__name__) == (module, name) for each in line[1:]):
        raise ParameterError(f"{decorator} decorates a subclass of {name}; got {given!r}.")


def _check_policy(name: str, entry: PolicyEntry) -> None:
    """Refuse a policy that has not the parameters it is made with, and candidates called as others."""
    # Every command and every search sets these; a policy over action sets learns which actions there are from the log.
    always = {"reward_range"} if entry.over_sets else {"reward_range", "actions"}
    used = {*entry.settings, *(key for each in entry.candidates for key in each.settings), *always}
    if missing := [key for key in (*used, *(["estimator"] if entry.base else [])) if not entry.takes(key)]:
        raise ParameterError(f"the policy {name!r} must have the parameters it is made with; it has no {missing[0]!r}.")
    if entry.online and not hasattr(entry.target, "partial_fit"):
        raise ParameterError(f"the online policy {name!r} must learn by partial_fit; {entry.target!r} has none.")
    taken = {each.name for owner, other in POLICIES.known.items() if owner != name for each in other.candidates}
    if twice := taken.intersection(each.name for each in entry.candidates):
        raise ParameterError(f"a candidate must have a name of its own; there is a {twice.pop()!r}. Name it otherwise.")
