"""Plain values from JSON and from dicts, in any thread.

msgspec 0.22 describes a struct when it decodes it for the first time, and another thread that decodes it meanwhile reads half a
description: the process ends with a segmentation fault. So descriptions are made one at a time.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_LOCK = threading.RLock()


@lru_cache(maxsize=64)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    with _LOCK:
        return msgspec.json.Decoder(kind)


def decoded(text: str | bytes, kind: type[T]) -> T:
    """The value of this type that JSON tells.

    Raises:
        msgspec.DecodeError, RecursionError, UnicodeError: where it is not one.
    """
    made: T = _decoder(kind).decode(text)  # type: ignore[arg-type]
    return made


def converted(value: Any, kind: Any) -> Any:
    """The value of this type that dicts, lists and plain values tell.

    Raises:
        msgspec.ValidationError, RecursionError: where it is not one.
    """
    with _LOCK:
        return msgspec.convert(value, kind)
