"""Two threads and one model: a trace and a training take turns."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ..sources.others import stacks
from .patience import patience

#: What changes the model that it is called on, and counts on its staying as it made it.
DOORS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
_traced: dict[int, tuple[int, frozenset[int]]] = {}
# The models that each thread trains, by way of the doors.
_training: dict[int, list[Any]] = {}
_changed = threading.Condition()
_last = threading.local()
_asked = False


@dataclass
class Inner:
    """A call of a door inside another, as a callback makes it, that raised: what it was given, and the code of the caller."""

    error: BaseException
    model: Any
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    code: CodeType
    line: int
    instruction: int
    names: dict[str, Any]


def keep_inner(asked: bool) -> None:
    """Whether calls that raise are stored: only where somebody may ask for them, since they hold the user's data."""
    global _asked
    _asked = asked
    if not asked:
        forget()


def inner() -> Inner | None:
    """The last one of this thread; of several in one another, the innermost."""
    return getattr(_last, "inner", None)


def forget() -> None:
    """Deletes what was stored, and with it every reference to the user's objects."""
    _last.inner = None


class Training(Exception):
    """Another thread trains the model."""


def layers_of(model: Any) -> frozenset[int]:
    """The model and its layers, by identity."""
    found = {id(model)}
    # Asked of the class: an object of any other kind may answer to every name, or never answer.
    if hasattr(type(model), "_flatten_layers"):
        with contextlib.suppress(Exception):
            found |= {id(layer) for layer in model._flatten_layers()}
    return frozenset(found)


@contextlib.contextmanager
def turn(model: Any) -> Iterator[None]:
    """Inside, other threads that begin to train the model, or one that shares a layer with it, wait.

    Raises:
        Training: where one trains it already.
    """
    own = threading.get_ident()
    with _changed:
        nested = own in _traced
        if not nested:
            _traced[own] = (own, layers_of(model))
    try:
        if not nested and _trained_elsewhere(_traced[own][1]):
            raise Training
        yield
    finally:
        if not nested:
            with _changed:
                _traced.pop(own, None)
                _changed.notify_all()


def _trained_elsewhere(layers: frozenset[int]) -> bool:
    own = threading.get_ident()
    models = [model for ident, trained in list(_training.items()) if ident != own for model in list(trained)]
    for ident, stack in stacks():
        for frame in stack if ident not in _training else ():
            code = frame.f_code
            if code.co_name in DOORS and "keras" in code.co_filename:
                # Begun before anything here was loaded.
                models.append(frame.f_locals.get("self"))
    return any(model is not None and not layers.isdisjoint(layers_of(model)) for model in models)


def waiting(original: Callable[..., Any]) -> Callable[..., Any]:
    """A door of a model that waits while another thread traces it."""

    def door(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = threading.get_ident()
        models = _training.setdefault(own, [])
        models.append(self)
        try:
            if _traced:
                _wait(self)
            return original(self, *args, **kwargs)
        except Exception as error:
            kept, frame = inner(), sys._getframe(1)
            if _asked and len(models) > 1 and (kept is None or kept.error is not error):
                _last.inner = Inner(error, self, original.__name__, args, kwargs, frame.f_code, frame.f_lineno, frame.f_lasti, frame.f_globals)
            raise
        finally:
            models.pop()
            if not models:
                _training.pop(own, None)

    return door


def _wait(model: Any) -> None:
    own, end = threading.get_ident(), time.monotonic() + 10 * patience()
    layers = layers_of(model)
    with _changed:
        while any(ident != own and not layers.isdisjoint(held) for ident, held in _traced.values()):
            if not _changed.wait(max(0.0, end - time.monotonic())):
                return
