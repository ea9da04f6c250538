"""What moves when a function is called, and the way back: random numbers, files, iterators, containers, attributes, names."""

from __future__ import annotations

import array
import builtins
import contextlib
import contextvars
import dis
import io
import operator
import random
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..internal import is_users
from .kinds import has_base

PACKED = (bytearray, array.array)


@dataclass(frozen=True)
class Lost:
    """Something that changed and cannot be restored. ``place``: file and line of a generator's code."""

    what: str
    place: str = ""

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        return f"{self.what}{where}, which the program holds, has advanced and cannot be rewound: create it again before you train."


def file_of(kind: type) -> str:
    module = sys.modules.get(kind.__module__)
    if module is builtins:
        return "<frozen builtins>"
    return str(getattr(module, "__file__", None) or ("<string>" if kind.__module__ == "__main__" else "<frozen>"))


def random_state(obj: Any) -> Callable[[], None] | None:
    """A random number generator of the user."""
    if isinstance(obj, random.Random):
        with contextlib.suppress(NotImplementedError):  # the system's has no state
            held = obj.getstate()
            return lambda: obj.setstate(held)
        return lambda: None
    if isinstance(obj, np.random.Generator):
        return random_state(obj.bit_generator)
    if isinstance(obj, np.random.BitGenerator):
        state = obj.state

        def restore() -> None:
            obj.state = state

        return restore
    if isinstance(obj, np.random.RandomState):
        legacy = obj.get_state()
        return lambda: obj.set_state(legacy)
    if has_base(obj, "Generator", "torch"):
        numbers = obj.get_state()
        return lambda: (obj.set_state(numbers), None)[1]
    return None


def rewound(obj: Any) -> Callable[[], Lost | None] | None:
    """A file, or an iterator over something that still exists."""
    if isinstance(obj, io.IOBase):
        try:
            at = obj.tell() if obj.readable() and obj.seekable() else None
        except (OSError, ValueError):
            at = None
        return lambda: (obj.seek(at), None)[1] if at is not None and not obj.closed else None
    if type(obj).__module__ == "builtins" and hasattr(obj, "__setstate__") and hasattr(obj, "__next__"):
        held = obj.__reduce__()
        if len(held) < 3 or held[0] not in (iter, reversed):
            return (lambda: None) if held[0] is iter else None  # at its end already

        def back() -> Lost | None:
            now = obj.__reduce__()
            if len(now) < 3:
                return Lost(f"An iterator over a {type(held[1][0]).__name__} in the program")
            obj.__setstate__(held[2])
            return None

        return back
    return None


def moved(obj: Any) -> Callable[[], Lost | None] | None:
    """An iterator that knows no way back: whether it has moved is told by what it holds."""
    if isinstance(obj, types.GeneratorType):
        before, code = _state(obj), obj.gi_code
        name = f"The generator {obj.__name__}"
        place = f"{code.co_filename}:{code.co_firstlineno}" if is_users(code.co_filename) else ""
        return lambda: Lost(name, place) if _state(obj) != before else None
    if type(obj).__module__ in ("builtins", "itertools", "_collections") and hasattr(obj, "__next__"):
        before = _state(obj)
        return lambda: Lost(f"The iterator {type(obj).__name__}(...)") if _state(obj) != before else None
    return None


def _state(obj: Any, depth: int = 4) -> Any:
    """Something that differs where an iterator has moved, as far as can be told without moving it."""
    if isinstance(obj, types.GeneratorType):
        frame = obj.gi_frame
        if frame is None:
            return None
        inner = {name: _state(value, depth - 1) for name, value in frame.f_locals.items()} if depth else {}
        return frame.f_lasti, inner
    if depth and hasattr(obj, "__next__") and type(obj).__module__ in ("builtins", "itertools"):
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            return [_state(part, depth - 1) for part in obj.__reduce__()]
    if isinstance(obj, tuple) and depth:
        return [_state(part, depth - 1) for part in obj]
    return obj if isinstance(obj, (int, str, range)) else id(obj)


def refilled(obj: Any, taken: bool) -> Callable[[], None]:
    """Puts back what a container held; where ``taken``, only if something was taken out: what a program writes down stays."""
    held: Any = dict(obj) if isinstance(obj, dict) else list(obj)

    def back() -> None:
        if taken and len(obj) >= len(held):
            return
        if isinstance(obj, dict):
            if list(obj) != list(held) or any(obj[key] is not value for key, value in held.items()):
                dict.clear(obj)
                dict.update(obj, held)
        elif isinstance(obj, set):
            if len(obj) != len(held) or not obj.issuperset(held):
                set.clear(obj)
                set.update(obj, held)
        elif len(obj) != len(held) or (list(obj) != held if isinstance(obj, PACKED) else not all(map(operator.is_, obj, held))):
            while len(obj):
                obj.pop()
            obj.extend(held)

    return back


def rebound(function: types.FunctionType) -> Iterator[Callable[[], None]]:
    """Puts back what names outside of a function stood for, where it gives them other values."""
    stored = _stored(function.__code__)
    names = function.__globals__
    held = {name: names[name] for name in stored if name in names}
    cells = [(cell, cell.cell_contents) for cell in function.__closure__ or () if cell != _EMPTY]

    def back() -> None:
        for name in stored:
            if name in held:
                names[name] = held[name]
            else:
                names.pop(name, None)
        for cell, value in cells:
            if cell == _EMPTY or cell.cell_contents is not value:
                cell.cell_contents = value

    if stored or cells:
        yield back


_EMPTY = types.CellType()


def _stored(code: types.CodeType) -> set[str]:
    found = {one.argval for one in dis.get_instructions(code) if one.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}
    return found.union(*(_stored(part) for part in code.co_consts if isinstance(part, types.CodeType)))


def class_attributes(kind: type) -> Callable[[], None]:
    held = dict(vars(kind))

    def back() -> None:
        for name, value in list(vars(kind).items()):
            if not name.startswith("__") and held.get(name, kind) is not value and name not in held:
                delattr(kind, name)
        for name, value in held.items():
            if not name.startswith("__") and vars(kind).get(name, kind) is not value:
                setattr(kind, name, value)

    return back


def in_context(variable: contextvars.ContextVar[Any]) -> Callable[[], None]:
    held = variable.get(_EMPTY)

    def back() -> None:
        if held is not _EMPTY and variable.get(_EMPTY) is not held:
            variable.set(held)

    return back


def written(array: np.ndarray) -> Callable[[], None]:
    held = array.copy()

    def back() -> None:
        if array.flags.writeable and array.tobytes() != held.tobytes():
            array[...] = held

    return back


def slots(kind: type) -> list[str]:
    """Attributes of objects of a user's class that has no ``__dict__``."""
    if kind.__dictoffset__ or not is_users(file_of(kind)):
        return []
    return [name for base in kind.__mro__ for name in vars(base) if isinstance(vars(base)[name], types.MemberDescriptorType)]


def slotted(obj: Any) -> Callable[[], None]:
    held = {name: getattr(obj, name) for name in slots(type(obj)) if hasattr(obj, name)}

    def back() -> None:
        for name in slots(type(obj)):
            if name in held:
                object.__setattr__(obj, name, held[name])
            elif hasattr(obj, name):
                object.__delattr__(obj, name)

    return back


def attributes(obj: Any) -> Callable[[], None]:
    held = dict(vars(obj))

    def back() -> None:
        now = vars(obj)
        if len(now) != len(held) or any(now.get(key, held) is not value for key, value in held.items()):
            now.clear()
            now.update(held)

    return back
