"""Values that break things, and ways to put them into arrays, JSON and bytes."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e30, -1e30, 1e308, -1e308, 2.0**53 + 2, np.nan, np.inf, -np.inf]
WHOLE = [0, 1, -1, 2, 3, 7, 8, 63, 64, 127, 255, 256, 2**15, 2**24, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63)]
DTYPES = ["b1", "i1", "u1", "i4", "i8", "u4", "u8", "f4", "f8"]
WORDS = ["", " ", "a", "\ud800", "\0", "x" * 300, "é", "NaN", "1e999", "__class__", "../up", "0", "constant", "votes"]


def odd_json(random: Random) -> Any:
    """Return any value that JSON can hold, and some that it should not."""
    kinds: list[Any] = [
        lambda: random.choice(WHOLE),
        lambda: random.choice([x for x in FLOATS if np.isfinite(x)]),
        lambda: random.choice(WORDS),
        lambda: random.choice([None, True, False]),
        lambda: [odd_json(random) for _ in range(random.randrange(3))],
        lambda: {random.choice(WORDS): odd_json(random) for _ in range(random.randrange(3))},
        lambda: 10 ** random.choice([20, 400]),
    ]
    return random.choice(kinds)()


def change_json(whole: Any, random: Random) -> Any:
    """Change one place of what was read from JSON: replace, remove, repeat or take what is elsewhere."""
    places = _places(whole)
    if not places:
        return whole
    at, key = random.choice(places)
    what = random.randrange(7)
    if what == 0:
        del at[key]
    elif what == 1 and isinstance(at, list):
        at.insert(key, copy.deepcopy(at[key]))
    elif what == 2:
        other, other_key = random.choice(places)
        at[key] = copy.deepcopy(other[other_key])
    elif what == 3:
        at[key] = [at[key]] if random.random() < 0.5 else {"kind": at[key]}
    elif what == 4 and isinstance(at[key], int):
        at[key] += random.choice([-1, 1])
    elif what == 5 and isinstance(at, dict):
        at[random.choice(WORDS)] = at.pop(key)
    else:
        at[key] = odd_json(random)
    return whole


def _places(whole: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    level = [whole] if isinstance(whole, dict | list) else []  # an earlier change may have left a number
    while level:
        below = []
        for each in level:
            keys = list(each) if isinstance(each, dict) else range(min(len(each), 20))
            for key in keys:
                found.append((each, key))
                if isinstance(each[key], dict | list) and each[key]:
                    below.append(each[key])
        level = below
    return found


def odd_numbers(array: NDArray[Any], random: Random) -> list[Any]:
    """Return numbers of an array's type that are likely to be where they must not."""
    if array.dtype.kind == "f":
        return FLOATS
    if array.dtype.kind == "b":
        return [True, False]
    limits = np.iinfo(array.dtype)
    near = [array.size, array.size - 1, len(array), len(array) + 1, int(array.flat[0]) + 1, int(array.flat[-1]) - 1]
    return [value for value in [*WHOLE, *near] if limits.min <= value <= limits.max]


def change_array(array: NDArray[Any], random: Random) -> NDArray[Any]:
    """Change some numbers of an array; now and then its shape or type."""
    array = array.copy()
    what = random.randrange(12)
    if array.size == 0 or what == 0:
        return _reshaped(array, random)
    flat = array.reshape(-1)
    if what == 1 and array.dtype == np.int64 and flat.size > 4:  # numbers whose differences wrap around
        flat[1:-1] = -1
        flat[1:3] = 2**63 - 1, -(2**63)
    elif what == 2:
        flat.view(np.uint8)[random.randrange(flat.nbytes)] = random.randrange(256)
        if array.dtype == np.bool_:
            flat.view(np.uint8)[:] %= 2
    elif what == 3:
        one, other = (random.randrange(flat.size) for _ in range(2))
        flat[one], flat[other] = flat[other], flat[one]
    elif what == 4:
        flat[:] = random.choice(odd_numbers(array, random))
    elif what == 5:
        flat[:] = flat[random.sample(range(flat.size), flat.size)]
    else:
        for _ in range(random.choice([1, 1, 2, 5])):
            flat[random.randrange(flat.size)] = random.choice(odd_numbers(array, random))
    return array


def _reshaped(array: NDArray[Any], random: Random) -> NDArray[Any]:
    array = np.atleast_1d(array)
    with np.errstate(all="ignore"):
        shapes = [array[:-1], array[..., :-1], np.concatenate([array, array]), array.reshape(-1), array[np.newaxis]]
        return random.choice([*shapes, array[:0], array.T, array.astype(random.choice(DTYPES))])


def change_bytes(data: bytes, random: Random) -> bytes:
    """Change some bytes, cut some out, or repeat some."""
    for _ in range(random.choice([1, 1, 2, 4])):
        place = random.randrange(len(data) + 1)
        what = random.randrange(6)
        length = random.choice([1, 1, 2, 4, 8, 40])
        if what == 0:
            data = data[:place] + data[place + length :]
        elif what == 1:
            data = data[:place] + data[place : place + length] * random.choice([2, 3, 100]) + data[place + length :]
        elif what == 2:
            data = data[:place]
        elif what == 3:
            data = data[:place] + random.choice(TOKENS) + data[place:]
        elif what == 4:
            data = data[:place] + random.choice(TOKENS) + data[place + length :]
        else:
            data = data[:place] + random.randbytes(length) + data[place + length :]
        data = data or b"\0"
    return data


TOKENS = [
    b"\n", b"\r\n", b",", b'"', b"'", b"{", b"}", b"[" * 70, b"[", b"]", b":", b"|", b"\0", b"\xff\xfe", b"   ",
    b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b"NaN", b"null", b"true", b"-1", b"1e999", b"1e-299", b"9" * 25,
    b"\xed\xa0\x80", b"action", b"reward", b"propensity", b"_label_cost", b"2024-01-01", b"0.0", b"Infinity", b"\xc3",
    b"PK\x03\x04", b"PAR1", b"9" * 400, b"9" * 9000, b"1:" + b"9" * 3000 + b":" + b"9" * 3000, b"\r",
    b"[" * 70 + b'"' + b'\\"' * 99_000,
]  # fmt: skip
