"""Keys of callers: two per role, from files or the environment, compared in constant time, never printed."""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path

from offsettree.exceptions import ParameterError
from offsettree.service.settings import KeySettings

__all__ = ["Keys"]

FEWEST_CHARACTERS = 16
LOOKED_AT_EVERY = 1.0  # seconds between two looks at the files
log = logging.getLogger("offsettree.service")


class Keys:
    """Tells who may call.

    Keys are in files, or in the environment: ``env:NAME``.

    Examples
    --------
    >>> places = KeySettings(decide=("env:KEY",), admin=("env:ADMIN_KEY",))
    >>> keys = Keys(places, {"KEY": "a-long-enough-key", "ADMIN_KEY": "another-key-of-its-own"})
    >>> keys.allows("decide", {b"authorization": b"Bearer a-long-enough-key"}), keys.allows("decide", {})
    (True, False)
    """

    def __init__(self, settings: KeySettings, environment: Mapping[str, str] | None = None) -> None:
        self._places = {"decide": settings.decide, "admin": settings.admin}
        self._environment = os.environ if environment is None else environment
        self._looked = 0.0
        self._stamps: dict[str, tuple[int, int] | None] = {}
        self._keys: dict[str, bytes] = {}  # by place
        for place in self._all():
            try:
                self._stamps[place], self._keys[place] = _stamp(place), self._read(place)
            except FileNotFoundError:
                # A key is revoked by deleting its file: that must not stop the next start.
                log.warning("there is no file of a key; none is accepted from there", extra={"place": place})
                self._stamps[place], self._keys[place] = None, b""
        for role, places in self._places.items():
            if places and not any(self._keys[place] for place in places):
                raise ParameterError(
                    f"the role {role} must have a key; there is no file {' or '.join(places)}. "
                    "Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
                )
        if any(self._places.values()) and not all(self._places.values()):
            raise ParameterError("there must be keys for both roles, decide and admin, or for none; one has none.")

    @property
    def are_set(self) -> bool:
        """Whether callers need a key."""
        return any(self._places.values())

    def allows(self, role: str, headers: Mapping[bytes, bytes]) -> bool:
        """Whether the headers of a request hold a key of the role; an admin may do everything."""
        if not self.are_set:
            return True
        now = time.monotonic()
        if now - self._looked > LOOKED_AT_EVERY:
            self._looked = now
            self._look_again()
        given = _given(headers)
        found = False
        for each in ("decide", "admin") if role == "decide" else ("admin",):
            for place in self._places[each]:  # all of them, so that the time tells nothing
                found |= hmac.compare_digest(given, self._keys[place])
        return found and bool(given)

    def _all(self) -> list[str]:
        return [place for places in self._places.values() for place in places]

    def _look_again(self) -> None:
        """Read each file that has changed. The key of a file that has gone is revoked; a wrong file changes nothing."""
        for place in self._all():
            try:
                stamp = _stamp(place)
                if self._stamps[place] == stamp:
                    continue
                self._keys[place] = self._read(place)
                self._stamps[place] = stamp
                log.info("key read again", extra={"place": place})
            except FileNotFoundError:
                if self._keys[place]:
                    log.warning("the file of a key has gone; its key is revoked", extra={"place": place})
                self._stamps[place], self._keys[place] = None, b""
            except (OSError, UnicodeDecodeError, ParameterError) as error:
                log.warning("a key cannot be read; the former one stays", extra={"place": place, "error": str(error)})

    def _read(self, place: str) -> bytes:
        if place.startswith("env:"):
            text = self._environment.get(place.removeprefix("env:"), "")
        else:
            text = Path(place).read_text(encoding="utf-8")
        key = text.strip().encode()
        if len(key) < FEWEST_CHARACTERS:
            raise ParameterError(
                f"a key must have at least {FEWEST_CHARACTERS} characters; that of {place} has {len(key)}. "
                "Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
            )
        return key


def _stamp(place: str) -> tuple[int, int] | None:
    """Return what changes with a file; the environment does not change."""
    if place.startswith("env:"):
        return None
    stat = Path(place).stat()
    return stat.st_mtime_ns, stat.st_size


def _given(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the key of a request: a bearer token, Personalizer's header, or the password of a browser."""
    kind, _, rest = headers.get(b"authorization", b"").partition(b" ")
    if kind.lower() == b"bearer":
        return rest.strip()
    if kind.lower() == b"basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return headers.get(b"ocp-apim-subscription-key", b"")
