"""Entries by name: built in, registered by a decorator, or offered by another package's entry points."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from offsettree.exceptions import OffsetTreeWarning, ParameterError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["CandidateEntry", "FormatEntry", "LearnerEntry", "PolicyEntry", "Registry", "resolve"]

PLURAL = {"policy": "policies", "format": "formats", "learner": "learners"}  # groups of entry points
Kind: TypeAlias = Literal["classifier", "regressor"]
NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")  # as it is typed on the command line


def resolve(target: Any) -> Any:
    """Return an object, given itself or its place, "module:name": what is built in is imported when it is used."""
    if not isinstance(target, str):
        return target
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


class CandidateEntry(NamedTuple):
    """A candidate that a policy offers to ``PolicySearch(candidates="default")``.

    Candidates come in the order of `rank`, the preferred ones first. `base` names a base learner, `settings` are
    further parameters. `dense` and `sparse` say for which X it is a candidate.
    """

    name: str
    rank: int = 100
    base: str | None = None
    settings: Mapping[str, Any] = {}
    dense: bool = True
    sparse: bool = False


class PolicyEntry(NamedTuple):
    """A policy class or its place, and what `register_policy` was told of it."""

    target: Any
    base: Kind | None = None
    settings: Mapping[str, Any] = {}
    candidates: tuple[CandidateEntry, ...] = ()
    online: bool = False
    over_sets: bool = False  # whether it learns from logs with action sets

    def takes(self, parameter: str) -> bool:
        """Return whether the class has a parameter."""
        return parameter in resolve(self.target)._get_param_names()

    def make(self, estimator: Any = None, **settings: Any) -> Any:
        """Return a new policy; settings that its class does not have are left out."""
        own = {name: value for name, value in settings.items() if self.takes(name)}
        learner = {} if estimator is None else {"estimator": estimator}
        return resolve(self.target)(**{**self.settings, **own, **learner})


class FormatEntry(NamedTuple):
    """A reader class or its place, and what `register_format` was told of it.

    A file of the format begins with the bytes of `magic`; or its first line begins with `first`, and `recognise` tells.
    """

    target: Any
    suffixes: tuple[str, ...] = ()
    recognise: Any = None
    magic: tuple[bytes, ...] = ()
    first: str = ""


class LearnerEntry(NamedTuple):
    """What makes a learner or its place, and what `register_learner` was told of it."""

    target: Any
    read: Callable[[Any], Any] | None = None


Entry = TypeVar("Entry", bound=PolicyEntry | FormatEntry | LearnerEntry)


class Registry(Mapping[str, Entry]):
    """Entries by name. Other packages' are looked up when a name is not known or all are listed.

    Parameters
    ----------
    kind : {"policy", "format", "learner"}
        Which decorator registers an entry; the group of entry points is its plural.
    built_in : mapping
        The package's own entries.

    Attributes
    ----------
    known : dict
        What is built in or registered so far; other packages are not looked up.
    """

    def __init__(self, kind: str, built_in: Mapping[str, Entry]) -> None:
        self.kind = self.noun = kind
        self.known: dict[str, Entry] = dict(built_in)

    def add(self, name: Any, entry: Entry) -> None:
        """Register an entry. The same object may come again, as when a cell of a notebook is run again."""
        if not isinstance(name, str) or not NAME.match(name):
            raise ParameterError(
                f"the name of a {self.noun} must be lower-case letters, digits and hyphens, such as 'nearest-mean'; "
                f"got {name!r}."
            )
        taken = _place(self.known[name].target) if name in self.known else None
        if taken not in (None, _place(entry.target)):
            raise ParameterError(
                f"the name of a {self.noun} must be free; {name!r} is that of {taken}. Register "
                f"{_place(entry.target)} under another name."
            )
        self.known[name] = entry

    def beside(self) -> list[str]:
        """List what other packages offer and has not been imported yet."""
        return [name for name in _entry_points(self.kind) if name not in self.known]

    def load_beside(self) -> None:
        """Import what other packages offer; what cannot be imported is left out, with a warning."""
        for name in self.beside():
            try:
                self._load(name)
            except ParameterError as error:
                warnings.warn(f"{error} It is left out.", OffsetTreeWarning, stacklevel=3)

    def __contains__(self, name: object) -> bool:
        return name in self.known or name in self.beside()

    def __iter__(self) -> Iterator[str]:
        return iter([*self.known, *self.beside()])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> Entry:
        if name not in self.known and name in self.beside():
            self._load(name)
        return self.known[name]

    def _load(self, name: str) -> None:
        points = _entry_points(self.kind)[name]
        owners = " and ".join(f"{each.dist.name} {each.dist.version}" if each.dist else each.value for each in points)
        if len(points) > 1:
            raise ParameterError(
                f"the {self.noun} {name!r} must be of one package; {owners} offer it. Uninstall all but one of them."
            )
        try:
            points[0].load()
        except (Exception, SystemExit) as error:  # whatever a package does when it is imported
            raise ParameterError(
                f"the {self.noun} {name!r} must be importable; the entry point {points[0].value} of {owners} fails "
                f"with {type(error).__name__}: {error}. Upgrade that package, or uninstall it."
            ) from error
        if name in self.beside():
            raise ParameterError(
                f"an entry point must register its name; importing {points[0].value} of {owners} registers no "
                f"{self.kind} {name!r}. That package must use offsettree.register_{self.kind}({name!r})."
            )


class LearnerRegistry(Registry[LearnerEntry]):
    """Base learners of one kind. Only an import tells which kind another package's learner is of."""

    kinds: ClassVar[list[LearnerRegistry]] = []

    def __init__(self, noun: str, built_in: Mapping[str, LearnerEntry]) -> None:
        super().__init__("learner", built_in)
        self.noun = noun
        self.kinds.append(self)

    def beside(self) -> list[str]:
        return [name for name in super().beside() if not any(name in each.known for each in self.kinds)]

    def __iter__(self) -> Iterator[str]:
        self.load_beside()
        return iter(list(self.known))


@cache
def _entry_points(kind: str) -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for point in _scan().select(group=f"offsettree.{PLURAL[kind]}"):
        if NAME.match(point.name):
            found.setdefault(point.name, []).append(point)
    return found


@cache
def _scan() -> Any:
    from importlib.metadata import entry_points

    return entry_points()


def _place(target: Any) -> str:
    name = getattr(target, "__qualname__", None)
    return str(target) if name is None else f"{target.__module__}:{name}"
