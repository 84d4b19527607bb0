"""Texts that name parameters, in the spelling of Python or of the command line, and how precise their numbers are."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self


class Parameter(NamedTuple):
    """A parameter within a message that is also an option of the command line.

    Parameters
    ----------
    name : str
        Its name in Python; the option has dashes instead of underscores.
    value : Any, default=...
        Its value; ``...`` or ``[...]`` if that is for the reader to know. Words within a tuple stand for numbers.
    option : str, optional
        The option, without its first dashes, where it is called otherwise.

    Examples
    --------
    >>> parameter = Parameter("reward_range", ("low", "high"))
    >>> print(parameter, "or", parameter.as_option())
    reward_range=(low, high) or --reward-range low high
    >>> print(Parameter("features", [...]), "or", Parameter("features", [...]).as_option())
    features=[...] or --features
    """

    name: str
    value: Any = ...
    option: str | None = None

    def __str__(self) -> str:
        if isinstance(self.value, tuple):
            value = f"({', '.join(map(_word, self.value))})"
        elif isinstance(self.value, float):
            value = _word(self.value)
        else:
            value = repr(self.value).replace(repr(...), "...")
        return f"{self.name}={value}"

    def as_option(self) -> str:
        """Return the option, with its value if that is known."""
        option = self.option or self.name.replace("_", "-")
        if self.value is False:
            return f"--no-{option}"
        if self.value is ... or (isinstance(self.value, list) and self.value == [...]):
            return f"--{option}"
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        return " ".join([f"--{option}", *map(_word, values)])


class Message(str):
    """A text that names parameters: as any other str in the spelling of Python, and `as_options` in the other.

    Parameters
    ----------
    *parts : str, Parameter or Message
        Its parts in order.

    Examples
    --------
    >>> message = Message("use ", Parameter("interval", "betting"), " instead.")
    >>> message
    "use interval='betting' instead."
    >>> message.as_options()
    'use --interval betting instead.'
    """

    __slots__ = ("parts",)
    parts: tuple[str | Parameter, ...]

    def __new__(cls, *parts: str | Parameter) -> Self:
        made = super().__new__(cls, "".join(map(str, parts)))
        made.parts = ()
        for part in parts:
            added = part.parts if isinstance(part, Message) else (part if isinstance(part, Parameter) else str(part),)
            made.parts += added
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[str | Parameter, ...]]:
        return type(self), self.parts

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters it names, in order."""
        return tuple(part for part in self.parts if isinstance(part, Parameter))

    def as_options(self) -> str:
        """Return the text with options of the command line in the place of parameters."""
        return "".join(part.as_option() if isinstance(part, Parameter) else part for part in self.parts)


def as_options(text: object) -> str:
    """Return a message, or that of an exception or a warning, in the spelling of the command line."""
    if isinstance(text, BaseException) and len(text.args) == 1:
        text = text.args[0]
    return text.as_options() if isinstance(text, Message) else str(text)


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def decimals_of_difference(low: float, high: float, digits: int) -> int:
    """Return how many decimals show on which side of zero both ends are: `digits`, or up to six if that suffices."""
    least = min((abs(end) for end in (low, high) if end != 0 and math.isfinite(end)), default=1.0)
    return next((each for each in range(digits, 7) if round(least, each)), digits)
