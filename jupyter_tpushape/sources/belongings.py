"""State that a trace can change in the user's functions and objects: random generators, iterators, plain objects.

State that can be restored is restored; anything else (a generator that has yielded) is reported. For a function that a trace calls, only
random generators and iterators are restored. All that a model's or a pipeline's own objects and functions reach gets back what it held: attributes,
containers, names of modules and of enclosing functions, class attributes.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import queue
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from ..internal import is_users
from .kinds import has_base
from .others import at_work
from .rewinding import PACKED, Lost, attributes, class_attributes, file_of, in_context, moved, random_state, rebound, refilled, rewound, slots, slotted, written

# A program that holds more than this is looked at in part.
MOST = 20_000
# Bytes of an array whose numbers are given back: a layer's own counts and statistics, and no data.
SMALL = 1 << 16
# How much of what is reached is looked after: of what a function holds that a trace calls; of what one holds that data calls, which may write
# down what it gave; of an object, and of what functions of a model hold.
_CALLED, _HELD, _OWN = range(3)
_CONTAINERS = (list, dict, set, deque, *PACKED)
# Holders whose attributes are the user's, though their classes are not.
_HOLDERS = (types.SimpleNamespace, queue.Queue, threading.local)
# Nothing in these moves, and nothing is reached through them.
_STILL = (str, bytes, int, float, bool, complex, type(None), types.ModuleType, np.ndarray, np.generic)


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
            self._back.append(written(obj))
            return
        if isinstance(obj, _STILL) or id(obj) in self._seen or (isinstance(obj, type) and not (care and is_users(file_of(obj)))):
            return
        self._seen.add(id(obj))
        self._keep.append(obj)
        if isinstance(obj, (zip, map, filter)):
            # They have no place of their own: what they draw from has.
            self._pending += [(value, care) for value in obj.__reduce__()[1]]
            return
        for kept in (random_state, rewound, moved):
            back = kept(obj)
            if back is not None:
                self._back.append(back)
                return
        if isinstance(obj, types.FunctionType):
            if care == _OWN and is_users(obj.__code__.co_filename):
                self._back += [attributes(obj), *rebound(obj)]
                self._pending += [(value, care) for value in vars(obj).values()]
            self._pending += [(value, care) for value in _held_by(obj)]
        elif isinstance(obj, (types.MethodType, functools.partial)):
            self._pending += [(value, care) for value in _held_by(obj)]
        elif isinstance(obj, types.BuiltinMethodType):
            self._pending.append((obj.__self__, care))
        elif isinstance(obj, type):
            if care == _OWN:
                self._back.append(class_attributes(obj))
            self._pending += [(getattr(value, "__func__", value), care) for value in list(vars(obj).values())]
        elif care and isinstance(obj, contextvars.ContextVar):
            self._back.append(in_context(obj))
        elif isinstance(obj, (tuple, *_CONTAINERS)):
            if care and isinstance(obj, _CONTAINERS):
                self._back.append(refilled(obj, taken=care == _HELD))
            if not isinstance(obj, PACKED):
                self._pending += [(value, care) for value in (list(obj.values()) if isinstance(obj, dict) else list(obj))]
        elif care and slots(type(obj)):
            self._back.append(slotted(obj))
            self._pending += [(getattr(obj, name), care) for name in slots(type(obj)) if hasattr(obj, name)]
        elif _is_plain(obj) or (care and _is_source(obj)):
            if care:
                self._back.append(attributes(obj))
                self._pending.append((type(obj), _HELD if _is_source(obj) else care))
            self._pending += [(value, care) for value in list(vars(obj).values())]


def _roots(root: Any) -> Iterator[tuple[Any, int]]:
    """What to begin with: a function as one that is called, else the objects of the user's that it is made of."""
    if isinstance(root, types.GeneratorType):
        return  # what it yields is given again, and its random numbers go on with it
    if isinstance(root, (types.FunctionType, types.MethodType, functools.partial)):
        yield root, _CALLED
        return
    if has_base(root, "DatasetV2", "tensorflow.python.data"):
        yield from ((function, _HELD) for function in _functions_of(root))
        return
    layers = [root]
    if callable(getattr(root, "_flatten_layers", None)):
        layers += islice(root._flatten_layers(), MOST)  # an object that answers to any name has no end
    kinds: dict[type, bool] = {}
    for one in (*layers, *_each(getattr(root, "loss", None)), *_metrics(root)):
        # What is said of the class is said once for all layers of it.
        kept = kinds.get(type(one))
        if kept is None:
            kept = kinds[type(one)] = not (_is_plain(one) or _is_source(one) or is_users(file_of(type(one))))
        yield from _in_library(one) if kept and not isinstance(one, types.FunctionType) else _part(one)
    if isinstance(root, (tuple, list, dict)):
        yield root, _CALLED


def _part(one: Any) -> Iterator[tuple[Any, int]]:
    if isinstance(one, types.FunctionType) or _is_plain(one) or _is_source(one):
        yield one, _OWN
    elif is_users(file_of(type(one))):
        # Attributes of a layer are given back elsewhere; here what stands behind them.
        yield from ((value, _OWN) for value in list(vars(one).values()) if not isinstance(value, _CONTAINERS))
        yield type(one), _OWN
    else:
        yield from _in_library(one)


def _in_library(one: Any) -> Iterator[tuple[Any, int]]:
    if isinstance(getattr(one, "__dict__", None), dict):
        functions = [value for value in vars(one).values() if type(value) is types.FunctionType]
        yield from ((value, _OWN) for value in functions if not _of(one, value))


def _of(one: Any, function: types.FunctionType) -> bool:
    """Whether a function leads to the object alone that has it, or to nothing: each layer of Keras wraps methods of its own in one."""
    if function.__kwdefaults__ or is_users(function.__code__.co_filename):
        return False
    try:
        for cell in function.__closure__ or ():
            if not _leads_to(one, cell.cell_contents):
                return False
    except ValueError:
        return False
    return all(_leads_to(one, value) for value in function.__defaults__ or ())


def _leads_to(one: Any, value: Any) -> bool:
    return value is one or isinstance(value, _STILL) or getattr(value, "__self__", None) is one


def _metrics(model: Any) -> Iterator[Any]:
    for name in ("_compile_metrics", "compiled_metrics"):
        yield from _each(getattr(getattr(model, name, None), "_user_metrics", None))


def _each(many: Any) -> Iterator[Any]:
    if isinstance(many, (dict, list, tuple)):
        for one in many.values() if isinstance(many, dict) else many:
            yield from _each(one)
    elif many is not None and not isinstance(many, str):
        yield many


def _functions_of(dataset: Any) -> Iterator[Any]:
    for value in list(vars(dataset).values()):
        function = getattr(value, "_func", None)
        if isinstance(function, types.FunctionType):
            yield function
    for source in dataset._inputs():
        yield from _functions_of(source)


def _held_by(function: Any) -> list[Any]:
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


def _is_plain(obj: Any) -> bool:
    """An object of a class of the user's own that no framework keeps; TensorFlow's own holder of a generator function counts as one."""
    if not isinstance(getattr(obj, "__dict__", None), dict):
        return False
    kind = type(obj)
    if isinstance(obj, _HOLDERS) or kind.__name__ == "_GeneratorState":
        return True
    framework = any(base.__module__.startswith(("keras.", "tf_keras.", "tensorflow.", "jax", "torch.")) for base in kind.__mro__)
    return not framework and is_users(file_of(kind))


def _is_source(obj: Any) -> bool:
    return has_base(obj, "PyDataset", "keras.src") or has_base(obj, "Sequence", "tf_keras.src.utils")
