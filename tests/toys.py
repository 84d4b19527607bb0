"""The package of tests/outside, imported here without a trace in the registries; `registered` puts it there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from offsettree.registry import CLASSIFIERS, FORMATS, POLICIES, REGRESSORS, Registry

REGISTRIES: tuple[Registry[Any], ...] = (POLICIES, FORMATS, CLASSIFIERS, REGRESSORS)


@contextmanager
def undone() -> Iterator[None]:
    """Undo what is registered within."""
    with ExitStack() as stack:
        for registry in REGISTRIES:
            stack.enter_context(patch.object(registry, "known", dict(registry.known)))
        yield


with undone():
    from tests.outside import offsettree_toys as toys

    OFFERED = [registry.known for registry in REGISTRIES]


@contextmanager
def registered() -> Iterator[None]:
    """Have the toys registered within."""
    with undone():
        for registry, offered in zip(REGISTRIES, OFFERED, strict=True):
            for name in offered.keys() - registry.known.keys():
                registry.add(name, offered[name])
        yield


__all__ = ["registered", "toys", "undone"]
