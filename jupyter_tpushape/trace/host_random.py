"""Random numbers that Python or NumPy draws while a program is traced: a compiled step holds them as constants.

What a program draws is seen by the state of the generators, the global ones and those of the user's own layers and modules. Only where a call
has changed one is it called again, line by line.
"""

from __future__ import annotations

import contextlib
import pickle
import random
import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from .locations import Place, is_user_file
from .whose import of_the_user

_KINDS = (random.Random, np.random.RandomState, np.random.Generator)


class Generators:
    """The generators of random numbers that the user's code can draw from without its backend; none, where no line of it names any."""

    def __init__(self, objects: list[Any]) -> None:
        own = list(filter(of_the_user, objects))
        methods = [value for cls in {type(obj) for obj in own} for value in vars(cls).values() if hasattr(value, "__code__")]
        around = {id(one.__globals__): one.__globals__ for one in methods}.values()
        held = [value for names in (*map(vars, own), *around) for value in list(names.values())]
        self._own = list({id(one): one for one in held if isinstance(one, _KINDS)}.values())
        named = self._own or _named(
            [*methods, *(one for one in held if isinstance(one, FunctionType) and is_user_file(one.__code__.co_filename))]
        )
        self._global: list[Any] = [random, np.random] if named else []
        self._saved = [_state(one) for one in self._own]
        self.before = self.states()

    def states(self) -> list[bytes]:
        """The state of each, to compare."""
        return [pickle.dumps(_state(one)) for one in (*self._global, *self._own)]

    def drawn(self, again: Callable[[], Any]) -> Place | None:
        """The line that drew numbers in the call that has run, and draws others when ``again`` runs it; generators of the program's own are put back."""
        first = self.states()
        try:
            if first == self.before or sys.gettrace() is not None:
                return None
            watch = _Watch(self)
            with contextlib.suppress(Exception):
                sys.settrace(watch.entered)
                try:
                    again()
                finally:
                    sys.settrace(None)
            # A call that sets the seed itself computes with the same numbers on purpose.
            return watch.found if self.states() != first else None
        finally:
            for one, state in zip(self._own, self._saved, strict=True):
                _restore(one, state)


def _named(functions: list[Any]) -> bool:
    """Whether one of these reads the name ``random``."""
    pending = [one.__code__ for one in functions]
    while pending:
        code = pending.pop()
        if "random" in code.co_names:
            return True
        pending += [one for one in code.co_consts if isinstance(one, CodeType)]
    return False


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.getstate() if hasattr(generator, "getstate") else generator.get_state()


def _restore(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)


class _Watch:
    """Compares the states at each of the user's lines, and leaves out what a library draws on its own."""

    def __init__(self, generators: Generators) -> None:
        self._generators, self._now = generators, generators.states()
        self._line: Place | None = None
        self.found: Place | None = None

    def _look(self, then: Place | None) -> None:
        now = self._generators.states()
        if now != self._now and self.found is None:
            self.found = self._line
        self._now, self._line = now, then

    def entered(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A function begins."""
        own, outer = is_user_file(frame.f_code.co_filename), _place(frame.f_back)
        if not own and (outer is None or frame.f_code.co_filename == random.__file__):
            return None
        self._look(_place(frame) or outer)
        frame.f_trace_lines = own
        return self._inside if own else self._beside

    def _inside(self, frame: FrameType, event: str, arg: Any) -> Any:
        self._look(_place(frame.f_back if event == "return" else frame))
        return self._inside

    def _beside(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "return":
            self._now, self._line = self._generators.states(), _place(frame.f_back)
        return self._beside


def _place(frame: FrameType | None) -> Place | None:
    own = frame is not None and is_user_file(frame.f_code.co_filename)
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame is not None and own else None
