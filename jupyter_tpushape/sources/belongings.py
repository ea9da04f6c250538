"""State that a trace can change in the user's functions and objects: random generators, iterators, plain objects.

State that can be restored is restored; anything else (a generator that has yielded) is reported. For a function that a trace calls, only
random generators and iterators are restored. Objects of the user that are part of a model or of data
get their attributes back too.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import random
import sys
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .kinds import has_base
from .others import at_work, is_users

# A program that holds more than this is looked at in part.
MOST = 20_000
# Bytes of an array whose numbers are given back: a layer's own counts and statistics, and no data.
SMALL = 1 << 16
# How much of what is reached is looked after: of what a function holds that a trace calls; of what one holds that data calls; of an object.
_CALLED, _HELD, _OWN = range(3)
_CONTAINERS = (list, dict, set, deque)
# Nothing in these moves, and nothing is reached through them.
_STILL = (str, bytes, int, float, bool, complex, type(None), type, types.ModuleType, np.ndarray, np.generic)


@dataclass(frozen=True)
class Lost:
    """Something that changed and cannot be restored. ``place``: file and line of a generator's code."""

    what: str
    place: str = ""

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        return f"{self.what}{where}, which the program holds, has advanced and cannot be rewound: create it again before you train."


class Belongings:
    """The current state of everything that a model and its data refer to."""

    def __init__(self, model: Any, data: Any) -> None:
        self._seen: set[int] = set()
        self._back: list[Callable[[], Lost | None]] = []
        self._keep: list[Any] = []
        self._pending: list[tuple[Any, int]] = []
        with contextlib.suppress(Exception):  # a graph of objects that cannot be walked loses no trace
            self._pending = [(one, care) for root in (model, data) for one, care in _roots(root)]
            while self._pending and len(self._seen) < MOST:
                self._take(*self._pending.pop())

    def give_back(self) -> list[Lost]:
        """Restores what has changed, unless another thread of the user is running; returns what cannot be restored."""
        if at_work():
            return []
        lost = []
        for back in self._back:
            with contextlib.suppress(Exception):
                gone = back()
                if gone is not None and gone not in lost:
                    lost.append(gone)
        return lost

    def _take(self, obj: Any, care: int) -> None:
        if care == _OWN and isinstance(obj, np.ndarray) and id(obj) not in self._seen and obj.nbytes <= SMALL:
            self._seen.add(id(obj))
            self._back.append(_written(obj))
            return
        if isinstance(obj, _STILL) or id(obj) in self._seen:
            return
        self._seen.add(id(obj))
        self._keep.append(obj)
        if isinstance(obj, (zip, map, filter)):
            # They have no place of their own: what they draw from has.
            self._pending += [(value, care) for value in obj.__reduce__()[1]]
            return
        for kept in (_random, _rewound, _moved):
            back = kept(obj)
            if back is not None:
                self._back.append(back)
                return
        if isinstance(obj, types.FunctionType):
            self._pending += [(value, min(care, _HELD)) for value in _held_by(obj)]
        elif isinstance(obj, (types.MethodType, functools.partial)):
            self._pending += [(value, care) for value in _held_by(obj)]
        elif isinstance(obj, (tuple, *_CONTAINERS)):
            if care and isinstance(obj, _CONTAINERS):
                self._back.append(_refilled(obj, taken=care == _HELD))
            self._pending += [(value, care) for value in (list(obj.values()) if isinstance(obj, dict) else list(obj))]
        elif care and _slots(type(obj)):
            self._back.append(_slotted(obj))
            self._pending += [(getattr(obj, name), care) for name in _slots(type(obj)) if hasattr(obj, name)]
        elif _is_plain(obj) or (care and _is_source(obj)):
            if care:
                self._back.append(_attributes(obj))
            self._pending += [(value, _OWN if care else care) for value in list(vars(obj).values())]


def _roots(root: Any) -> Iterator[tuple[Any, int]]:
    """What to begin with: a function as one that is called, else the objects of the user's that it is made of."""
    if isinstance(root, types.GeneratorType):
        return  # what it yields is given again, and its random numbers go on with it
    if isinstance(root, (types.FunctionType, types.MethodType, functools.partial)):
        yield root, _CALLED
        return
    if has_base(root, "DatasetV2", "tensorflow.python.data"):
        yield from ((function, _OWN) for function in _functions_of(root))
        return
    layers = [root]
    if callable(getattr(root, "_flatten_layers", None)):
        layers += list(root._flatten_layers())
    for layer in layers:
        if _is_plain(layer) or _is_source(layer):
            yield layer, _OWN
        elif is_users(_file_of(type(layer))):
            # Attributes of a layer are given back elsewhere; here what stands behind them.
            yield from ((value, _OWN) for value in list(vars(layer).values()) if not isinstance(value, _CONTAINERS))
            yield from ((method, _HELD) for method in _methods(type(layer)))
    yield from ((function, _HELD) for function in _each(getattr(root, "loss", None)))
    if isinstance(root, (tuple, list, dict)):
        yield root, _CALLED


def _methods(kind: type) -> Iterator[types.FunctionType]:
    """The functions of a class that the user has written."""
    for base in kind.__mro__:
        if is_users(_file_of(base)):
            yield from (value for value in list(vars(base).values()) if isinstance(value, types.FunctionType))


def _each(losses: Any) -> Iterator[types.FunctionType]:
    """The functions among what a model was compiled with."""
    many = losses.values() if isinstance(losses, dict) else losses if isinstance(losses, (list, tuple)) else (losses,)
    yield from (one for one in many if isinstance(one, types.FunctionType))


def _functions_of(dataset: Any) -> Iterator[Any]:
    """The Python functions that a pass over a pipeline can call."""
    for value in list(vars(dataset).values()):
        function = getattr(value, "_func", None)
        if isinstance(function, types.FunctionType):
            yield function
    for source in dataset._inputs():
        yield from _functions_of(source)


def _held_by(function: Any) -> list[Any]:
    """What a function can reach without its arguments."""
    if isinstance(function, functools.partial):
        return [function.func, *function.args, *function.keywords.values()]
    if isinstance(function, types.MethodType):
        return [function.__func__, function.__self__]
    held: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            held.append(cell.cell_contents)
    if is_users(function.__code__.co_filename):
        held += [function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__]
    return held


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            found |= _names(part)
    return found


def _file_of(kind: type) -> str:
    module = sys.modules.get(kind.__module__)
    if module is builtins:
        return "<frozen builtins>"
    return str(getattr(module, "__file__", None) or ("<string>" if kind.__module__ == "__main__" else "<frozen>"))


def _is_plain(obj: Any) -> bool:
    """An object of a class of the user's own that no framework keeps; TensorFlow's own holder of a generator function counts as one."""
    if not isinstance(getattr(obj, "__dict__", None), dict):
        return False
    kind = type(obj)
    if kind is types.SimpleNamespace or kind.__name__ == "_GeneratorState":
        return True
    framework = any(base.__module__.startswith(("keras.", "tf_keras.", "tensorflow.", "jax", "torch.")) for base in kind.__mro__)
    return not framework and is_users(_file_of(kind))


def _is_source(obj: Any) -> bool:
    """A ``PyDataset`` or ``Sequence`` of the user."""
    return has_base(obj, "PyDataset", "keras.src") or has_base(obj, "Sequence", "tf_keras.src.utils")


# -- what moves, and the way back ---------------------------------------------------------------------------------------------------


def _random(obj: Any) -> Callable[[], None] | None:
    """A random number generator of the user."""
    if isinstance(obj, random.Random):
        with contextlib.suppress(NotImplementedError):  # the system's has no state
            held = obj.getstate()
            return lambda: obj.setstate(held)
        return lambda: None
    if isinstance(obj, np.random.Generator):
        return _random(obj.bit_generator)
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


def _rewound(obj: Any) -> Callable[[], Lost | None] | None:
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


def _moved(obj: Any) -> Callable[[], Lost | None] | None:
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


def _refilled(obj: Any, taken: bool) -> Callable[[], None]:
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
        elif len(obj) != len(held) or any(one is not other for one, other in zip(obj, held, strict=True)):
            obj.clear()
            obj.extend(held)

    return back


def _written(array: np.ndarray) -> Callable[[], None]:
    held = array.copy()

    def back() -> None:
        if array.flags.writeable and array.tobytes() != held.tobytes():
            array[...] = held

    return back


def _slots(kind: type) -> list[str]:
    """Attributes of objects of a user's class that has no ``__dict__``."""
    if kind.__dictoffset__ or not is_users(_file_of(kind)):
        return []
    return [name for base in kind.__mro__ for name in vars(base) if isinstance(vars(base)[name], types.MemberDescriptorType)]


def _slotted(obj: Any) -> Callable[[], None]:
    held = {name: getattr(obj, name) for name in _slots(type(obj)) if hasattr(obj, name)}

    def back() -> None:
        for name in _slots(type(obj)):
            if name in held:
                object.__setattr__(obj, name, held[name])
            elif hasattr(obj, name):
                object.__delattr__(obj, name)

    return back


def _attributes(obj: Any) -> Callable[[], None]:
    held = dict(vars(obj))

    def back() -> None:
        now = vars(obj)
        if len(now) != len(held) or any(now.get(key, held) is not value for key, value in held.items()):
            now.clear()
            now.update(held)

    return back
