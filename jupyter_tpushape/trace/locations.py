"""Which line of the user's own source is running: a file's, or a notebook cell's.

Frames of Keras, TensorFlow, NumPy and of this package are passed over by their folder. A frame is
never guessed: where no user frame is on the stack, the answer is ``None``.
"""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from ..flow import Location

# How IPython runs a line that is no Python.
_CALLED = "get_ipython()."
# Stands for the line with the cell magic in the source of a cell that is traced; IPython would take an empty one away.
MAGIC = "# %%tpushape"
# As code objects name their files: not resolved, or nothing would be known again in an environment behind a symbolic link.
HERE = str(Path(__file__).parent.parent) + os.sep
# Whoever stands above these asked for the trace: it is not a line of the traced program.
_DOORS = frozenset(HERE + os.path.join("trace", name) for name in ("run.py", "build.py", "step.py"))  # noqa: PTH118
_LIBRARIES = tuple({sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib", "stdlib", "platstdlib")})


def is_ours(filename: str) -> bool:
    """Whether a code object's file belongs to this package."""
    return filename.startswith(HERE)


@lru_cache(maxsize=4096)
def is_user_file(filename: str) -> bool:
    """Whether a code object's file is the user's: no library, no generated code."""
    if filename.startswith((HERE, "<frozen")) or "__autograph_generated_file" in filename:
        return False
    if filename.startswith("<"):
        return filename.startswith(("<ipython-input", "<cell"))
    if any(filename.startswith(folder) for folder in _LIBRARIES) or "site-packages" in filename or "dist-packages" in filename:
        return False
    return not _installed(Path(filename).parent)


@lru_cache(maxsize=512)
def _installed(folder: Path) -> bool:
    """Whether a package lies in a folder that an installer filled, wherever that is: ``pip install --target``, a path of one's own.

    A script in such a folder is the user's.
    """
    if not (folder / "__init__.py").exists():
        return False
    while (folder / "__init__.py").exists() and folder.parent != folder:
        folder = folder.parent
    return next(folder.glob("*.dist-info"), None) is not None


Span = tuple[int, int, int, int]
# The user's file behind the name under which a changed version of it runs.
STANDS_FOR: dict[str, str] = {}
# While a changed version is looked at: for a file of which a part has not run again, the name of the version and where a line is in it.
MOVED: ContextVar[dict[str, tuple[str, Callable[[int], int]]] | None] = ContextVar("moved", default=None)


class Place(tuple[str, int]):  # noqa: SLOT001
    """A running line of the user's source: ``(file, line)``, and where in it, as far as the interpreter tells.

    ``direct``: the line itself made the call, with no library in between. ``outer``: the user's lines that
    called the function it stands in, the nearest first. ``names``: the globals it ran with, where they were asked for.
    ``method``: the model's method that the line called and that raised.
    """

    code: CodeType | None = None
    instruction: int = -1
    direct: bool = False
    outer: tuple[Place, ...] = ()
    names: dict[str, Any] | None = None
    method: str = ""

    def __new__(cls, file: str, line: int) -> Place:  # noqa: PYI034
        return super().__new__(cls, (file, line))

    @property
    def span(self) -> Span | None:
        """Line, end line, column and end column of the call that ran, in bytes of UTF-8; ``None`` before Python 3.11."""
        positions = getattr(self.code, "co_positions", None)
        if positions is None or self.instruction < 0:
            return None
        found = next(islice(positions(), self.instruction // 2, None), None)
        return None if found is None or None in found else found

    @property
    def function(self) -> str:
        """The qualified name of the function that the line stands in."""
        return str(getattr(self.code, "co_qualname", "") or getattr(self.code, "co_name", ""))


class Variables(Place):
    """Data that a notebook's variables hold: ``expression`` is what was typed for it (``ds``, ``(x, y)``), in a cell of ``file``'s notebook."""

    expression: str = ""

    @classmethod
    def typed(cls, file: str, expression: str, names: dict[str, Any] | None = None) -> Variables:
        place = cls(file, 1)
        place.expression, place.names = expression, names
        return place


def place_of(frame: FrameType, *, direct: bool = False, names: bool = False) -> Place:
    """The place where a frame stands."""
    place = Place(frame.f_code.co_filename, frame.f_lineno)
    place.code, place.instruction, place.direct = frame.f_code, frame.f_lasti, direct
    if names:
        place.names = frame.f_globals
    return place


def user_frame(skip: Any = None, depth: int = 2, *, outer: bool = False) -> Place | None:
    """The innermost user line on the stack, a :class:`Place` where its frame is there.

    ``skip``: an object being constructed; frames of its own ``__init__`` are passed over, so that a
    custom layer's line is the one that makes it and not its own ``super().__init__()``.
    ``outer``: keep the globals, and the user's lines further out.
    """
    frame: FrameType | None = sys._getframe(depth)
    direct = True
    while frame is not None:
        code = frame.f_code
        if code.co_filename in _DOORS:
            return None
        if is_user_file(code.co_filename) and not (
            skip is not None and code.co_name == "__init__" and code.co_argcount and frame.f_locals.get(code.co_varnames[0]) is skip
        ):
            place = place_of(frame, direct=direct, names=outer)
            if outer:
                place.outer = tuple(islice(_outer(frame.f_back), 3))
            return place
        if "__autograph_generated_file" in code.co_filename:
            return converted(frame)
        direct = direct and is_ours(code.co_filename)
        frame = frame.f_back
    return None


def _outer(frame: FrameType | None) -> Iterator[Place]:
    while frame is not None and frame.f_code.co_filename not in _DOORS:
        if is_user_file(frame.f_code.co_filename):
            yield place_of(frame, names=True)
        frame = frame.f_back


def converted(frame: FrameType | None) -> Place | None:
    """The user's line behind one that autograph generated and that this frame runs; TensorFlow keeps the map."""
    module = sys.modules.get("tensorflow.python.util.tf_stack")
    if module is None:
        return None
    for found in reversed(module.extract_stack()):
        if is_user_file(found.filename):
            line = int(found.lineno)
            place = Place(_behind(frame, line) or found.filename, line)
            # The call that autograph wrote stands for the user's own.
            place.direct = True
            return place
    return None


def _behind(frame: FrameType | None, line: int) -> str:
    """The file of the function that a generated frame runs: autograph itself names the first that had this very code."""
    while frame is not None and frame.f_code.co_filename not in _DOORS:
        # Branches and loops are functions of their own inside the one that has the user's name.
        if "__autograph_generated_file" in frame.f_code.co_filename and frame.f_code.co_name.startswith("tf__"):
            return own_file(frame, line)
        frame = frame.f_back
    return ""


def own_file(frame: FrameType, line: int) -> str:
    """Where the function that autograph runs in this frame is written: its class, or its module, has it under its own name."""
    name = frame.f_code.co_name.removeprefix("tf__")
    holder = frame.f_locals.get("self")
    function = frame.f_globals.get(name) if holder is None else inspect.getattr_static(type(holder), name, None)
    code = getattr(function, "__code__", None)
    if code is None or not is_user_file(code.co_filename):
        return ""
    lines = [at for *_, at in code.co_lines() if at is not None]
    return code.co_filename if lines and min(lines) <= line <= max(lines) else ""


def unwrapped(function: Any) -> Any:
    """The function behind its decorators. An object that answers to every name would have decorators without end."""
    try:
        return inspect.unwrap(function)
    except Exception:
        return function


def defined(function: Any) -> tuple[str, int] | None:
    """The line on which a function of the user's begins, or the ``__call__`` of an object; decorators are left out. ``None`` for others."""
    code = getattr(unwrapped(function), "__code__", None) or getattr(unwrapped(type(function).__call__), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else None


def location(where: tuple[str, int] | None, *, text: bool = True) -> Location | None:
    """A :class:`Location`, with the notebook cell where it is one, and with the line's own text."""
    if where is None:
        return None
    filename, line = where
    moved = (MOVED.get() or {}).get(filename)
    # All lines of a program are counted in one text, also those of code that is older than its last change.
    text_of, line = (moved[0], moved[1](line)) if moved is not None else (filename, line)
    filename = STANDS_FOR.get(filename, filename)
    cell, execution = _cell_of(filename)
    said = linecache.getline(text_of, line).rstrip("\n") if text else ""
    said = (typed(execution).get(said, said) if _CALLED in said else said).strip()[:160]
    shown = "" if execution or cell else filename
    return Location(shown, line, cell, execution, said)


def file_of(where: Location) -> str:
    """The file of a location, or the name under which its cell was compiled."""
    if where.file or not where.execution:
        moved = (MOVED.get() or {}).get(where.file)
        return moved[0] if moved is not None else where.file
    # The body of a cell under a magic comes behind the cell, and is what has lines.
    return next((str(name) for name, execution in reversed(list(_executions().items())) if execution == where.execution), "")


def shell() -> Any:
    """The shell of IPython that runs, or ``None``."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _executions() -> dict[str, int]:
    return getattr(getattr(shell(), "compile", None), "_filename_map", {})


def cells_of(file: str) -> list[str]:
    """The notebook's cells in the order in which they ran, where the file is one of them."""
    known = _executions()
    return sorted(known, key=lambda name: known[name]) if file in known else []


def typed(execution: int) -> dict[str, str]:
    """What was typed for each line of a cell that runs in other words, which are magics and system commands."""
    history = getattr(shell(), "history_manager", None)
    if history is None or not 0 < execution < len(history.input_hist_parsed):
        return {}
    ran, written = (texts[execution].split("\n") for texts in (history.input_hist_parsed, history.input_hist_raw))
    if len(ran) != len(written):
        return {}
    return {line: said for line, said in zip(ran, written, strict=True) if _CALLED in line and line != said}


def _cell_of(filename: str) -> tuple[str, int]:
    execution = _executions().get(filename)
    return (getattr(shell(), "_tpushape_cells", {}).get(execution, ""), execution) if execution is not None else ("", 0)


_OWN = ("keras.", "tf_keras.", "tensorflow.", "builtins", "numpy", "jax.")


def of_the_user(value: Any) -> bool:
    """Whether a layer's attribute is a function, or an object that can be called, of the user's own."""
    if not callable(value) or isinstance(value, type):
        return False
    return written_by_the_user(value if getattr(value, "__module__", None) else type(value))


def written_by_the_user(made: Any) -> bool:
    """Whether a class or function is the program's own, or of a library that is none of the frameworks."""
    return not str(getattr(made, "__module__", None) or "").startswith(_OWN)


def attribute(obj: Any, name: str) -> Any:
    """An attribute of an object of the user's own."""
    try:
        return getattr(obj, name, None)
    except Exception:
        return None
