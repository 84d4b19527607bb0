"""Settings of the service: a TOML file, over which the environment may write; everything is checked before a start."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from offsettree.exceptions import ParameterError
from offsettree.service.formula import Formula

__all__ = ["KeySettings", "LoopSettings", "ServerSettings", "Settings", "read_settings", "seconds"]

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
ACTION = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,256}")  # as in requests
PREFIX = "OFFSETTREE_"
Share = Annotated[float, Meta(ge=0, le=1)]
Duration = str | Annotated[float, Meta(ge=0)]


class LoopSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One loop: what may be decided, how it explores, when a reward is final, and how it learns."""

    mode: Literal["explore", "apprentice", "frozen"] = "explore"
    actions: tuple[str, ...] = ()  # where calls bring none
    baseline: str | None = None  # taken on a fault and by the held-back share; without it: the first, and any
    exploration: Literal["epsilon", "epoch-greedy", "squarecb"] = "squarecb"
    epsilon: Share = 0.05  # the least share of uniform exploration, in all kinds
    gamma: Annotated[float, Meta(gt=0)] = 20.0  # of squarecb: how fast worse actions are given up
    hold_back: Share = 0.0
    waiting_time: Duration = "10m"
    default_reward: float = 0.0
    combine: Literal["first", "sum", "last", "max"] = "first"
    reward_range: tuple[float, float] = (0.0, 1.0)
    reward_formula: str | None = None  # of named metrics
    policy: str | None = None  # a policy file to begin with
    timeout: Duration = 0.1
    retention: Duration | None = None
    learn_every: Duration | None = None
    learn_options: tuple[str, ...] = ()  # of `offsettree learn`
    promote: bool = True  # by itself, once a candidate is shown to be better
    alpha: Share = 0.05  # chance that any candidate which is not better is ever promoted
    snapshot_rows: Annotated[int, Meta(ge=1)] = 1000
    snapshot_every: Duration = "1m"
    bits: Annotated[int, Meta(ge=8, le=26)] = 18  # of the table of weights

    def __post_init__(self) -> None:
        low, high = self.reward_range
        if not (low < high and math.isfinite(high - low)):
            raise ValueError(f"reward_range must be (low, high), finite numbers with low < high; got {low} and {high}")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha must be above 0 and below 1; got {self.alpha}")
        if not low <= self.default_reward <= high:
            raise ValueError(f"default_reward must be within reward_range, {low} to {high}; got {self.default_reward}")
        if len(set(self.actions)) < len(self.actions):
            raise ValueError("actions must differ")
        for each in self.actions:
            if not ACTION.fullmatch(each):
                raise ValueError(f"an action's id must be 1 to 256 printable characters; got {each!r:.80}")
        if self.actions and self.baseline is not None and self.baseline not in self.actions:
            raise ValueError(f"baseline must be one of the actions; got {self.baseline!r}")
        for name in ("waiting_time", "timeout", "retention", "learn_every", "snapshot_every"):
            seconds(getattr(self, name))
        kept = seconds(self.retention)
        if kept is not None and kept < self.waiting:
            raise ValueError(
                f"retention must not be shorter than waiting_time, or rows are deleted before their rewards are final; "
                f"got {self.retention} and {self.waiting_time}"
            )
        if self.reward_formula is not None:
            Formula(self.reward_formula)

    @property
    def waiting(self) -> float:
        """The waiting time in seconds."""
        return seconds(self.waiting_time) or 0.0


class KeySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where keys are: names of environment variables (``env:NAME``) or files, two per role for rotation."""

    decide: Annotated[tuple[str, ...], Meta(max_length=2)] = ()
    admin: Annotated[tuple[str, ...], Meta(max_length=2)] = ()


class ServerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The server: where it listens, who may call, and how much at once."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8000
    database: str | None = None  # postgresql://...; without it, SQLite in the folder
    keys: KeySettings = KeySettings()
    max_body: Annotated[int, Meta(ge=1024)] = 1 << 20
    max_nesting: Annotated[int, Meta(ge=1, le=100)] = 16
    max_actions: Annotated[int, Meta(ge=2)] = 1000
    max_batch: Annotated[int, Meta(ge=1)] = 1000
    max_stored: Annotated[int, Meta(ge=1024)] = 1 << 20  # bytes that a call for several slots may add to the log
    max_concurrency: Annotated[int, Meta(ge=1)] = 512
    allow_origins: tuple[str, ...] = ()  # for CORS, off by default


class PersonalizerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which loop the paths of Azure Personalizer are."""

    loop: str | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a service."""

    loops: dict[str, LoopSettings] = {}
    server: ServerSettings = ServerSettings()
    personalizer: PersonalizerSettings = PersonalizerSettings()

    def __post_init__(self) -> None:
        for name in self.loops:
            if not NAME.match(name):
                raise ValueError(f"a loop's name must be 1 to 64 letters, digits, _ or -; got {name!r}")
        if self.personalizer.loop is not None and self.personalizer.loop not in self.loops:
            raise ValueError(f"personalizer.loop must be one of the loops; got {self.personalizer.loop!r}")


def seconds(duration: Duration | None) -> float | None:
    """Return a duration in seconds.

    Examples
    --------
    >>> seconds("1h 30m"), seconds(2.5), seconds(None)
    (5400.0, 2.5, None)
    """
    if duration is None or isinstance(duration, int | float):
        return None if duration is None else float(duration)
    parts = DURATION.findall(duration)
    if not parts or DURATION.sub("", duration).strip():
        raise ValueError(f"a duration must be seconds or like '90s', '10m', '1h 30m', '2w'; got {duration!r}")
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def read_settings(path: str | Path | None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read settings from a TOML file; variables like ``OFFSETTREE_LOOPS__SHOP__EPSILON`` write over it.

    Parameters
    ----------
    path : str or Path, optional
        The file. Without it, all is from the environment.
    environment : mapping, optional
        Variables; by default none.

    Returns
    -------
    Settings

    Examples
    --------
    >>> read_settings(None, {"OFFSETTREE_LOOPS__SHOP__EPSILON": "0.2"}).loops["shop"].epsilon
    0.2
    """
    tree: dict[str, Any] = {}
    if path is not None:
        try:
            tree = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ParameterError(f"{path} must be a TOML file: {error}.") from None
    for name, value in (environment or {}).items():
        if name.startswith(PREFIX) and "__" in name:
            _write_over(tree, name.removeprefix(PREFIX).lower().split("__"), value)
    try:
        return msgspec.convert(tree, Settings)
    except (msgspec.ValidationError, ValueError) as error:
        where = f"{path}" if path is not None else "the environment"
        raise ParameterError(f"the settings in {where} must be as docs/service.md describes them: {error}.") from None


def _write_over(tree: dict[str, Any], keys: list[str], text: str) -> None:
    for key in keys[:-1]:
        # Names of loops may have capital letters and dashes, variables may not.
        known = {each.lower().replace("-", "_"): each for each in tree}
        tree = tree.setdefault(known.get(key, key), {})
        if not isinstance(tree, dict):
            raise ParameterError(f"{PREFIX}{'__'.join(keys).upper()} must lead to a setting; {key!r} is one itself.")
    try:
        tree[keys[-1]] = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        tree[keys[-1]] = text
