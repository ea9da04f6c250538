"""Training calls that are noted and not made: a program runs up to the first one, which says what the model and the data are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .aftermath import Attempt, attempt_of
from .locations import user_frame

_TRAINING = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch")


class Caught(Exception):
    """A training call was reached: the model and data are known."""


@contextlib.contextmanager
def catching(adapters: list[Any], caught: list[Attempt]) -> Iterator[None]:
    """Puts each training call that is reached into ``caught``, and raises :class:`Caught` there."""
    saved = []
    for adapter in adapters:
        for method in _TRAINING:
            original = getattr(adapter.Model, method, None)
            owner = next((base for base in adapter.Model.__mro__ if method in base.__dict__), None)
            if original is None or owner is None:
                continue
            saved.append((owner, method, owner.__dict__[method]))

            def catch(*args: Any, _method: str = method, **kwargs: Any) -> Any:
                attempt = attempt_of(_method, args, kwargs)
                attempt.where = user_frame(depth=2, outer=True)
                if attempt.where is not None:
                    attempt.where.method = _method
                caught.append(attempt)
                raise Caught

            setattr(owner, method, catch)
    try:
        yield
    finally:
        for owner, method, original in reversed(saved):
            setattr(owner, method, original)
