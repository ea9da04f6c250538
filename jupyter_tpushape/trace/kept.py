"""What a traced program puts on its objects in place of a value, where no later step of a compiled program sees it."""

from __future__ import annotations

import dis
import inspect
from dataclasses import dataclass

from .framework import Framework
from .locations import Place, is_user_file
from .recorder import Recorder
from .restore import Memento

_MADE_IN = frozenset({"__init__", "build", "__setstate__", "__new__"})


@dataclass(frozen=True)
class Kept:
    """An attribute of a layer or model that held a value and was given a tensor of the trace. ``random``: it is a random key. ``leaked``: Keras traces
    the layer or metric before the first step, so that the attribute holds a tensor of that trace already. ``inner``: the attribute is a variable, and
    the tensor is one of a branch or loop, which no other code can read."""

    owner: str
    attribute: str
    random: bool
    leaked: bool
    place: Place | None
    inner: bool = False


def kept(adapter: Framework, before: Memento, recorder: Recorder) -> list[Kept]:
    """The attributes that lines of the program's own changed so."""
    found = []
    for variable, owner, line in recorder.escaped.values():
        name = str(variable.name)
        found.append(Kept(owner or name, name, str(variable.dtype) == "uint32", True, line, inner=True))
    backend = adapter.backend
    for obj, name, value, now in before.exchanged():
        counts = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not backend.is_traced(now) or not (counts or backend.is_tensor(value)):
            continue
        # Keras traces a layer when it is made and a metric before the first step: then only the code tells a state from a result
        # that is kept for a look.
        leaked = isinstance(obj, adapter.Metric) or backend.is_traced(value)
        place = _assigned(type(obj), name, read=leaked or counts)
        if place is not None:
            spec = backend.spec(now)
            random = spec.dtype.startswith("key<") or (spec.dtype == "uint32" and spec.shape == (2,))
            found.append(Kept(str(getattr(obj, "name", type(obj).__name__)), name, random, leaked, place))
    return found


def _assigned(cls: type, name: str, read: bool) -> Place | None:
    """The line of the user's own that assigns an attribute after an object was made; with ``read`` one that reads it first."""
    for base in cls.__mro__:
        for function in map(inspect.unwrap, filter(inspect.isfunction, vars(base).values())):
            if function.__name__ in _MADE_IN or not is_user_file(function.__code__.co_filename):
                continue
            line, known = function.__code__.co_firstlineno, not read
            for instruction in dis.get_instructions(function):
                starts = instruction.starts_line
                # From Python 3.13 on it only says whether a line starts here.
                line = getattr(instruction, "line_number", None) or (starts if type(starts) is int else None) or line
                if instruction.argval != name or not instruction.opname.endswith("_ATTR"):
                    continue
                known = known or instruction.opname == "LOAD_ATTR"
                if instruction.opname == "STORE_ATTR" and known:
                    return Place(function.__code__.co_filename, line)
    return None
