"""Which line of the user's own source is running: a file's, or a notebook cell's.

Frames of Keras, TensorFlow, NumPy and of this package are passed over by their folder. A frame is
never guessed: where no user frame is on the stack, the answer is ``None``.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

from ..flow import Location

# Stands for the line with the cell magic in the source of a cell that is traced; IPython would take an empty one away.
MAGIC = "# %%tpushape"
HERE = str(Path(__file__).resolve().parent.parent) + os.sep
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
    return not any(filename.startswith(folder) for folder in _LIBRARIES) and "site-packages" not in filename


def user_frame(skip: Any = None, depth: int = 2) -> tuple[str, int] | None:
    """The innermost user line on the stack as ``(file, line)``.

    ``skip``: an object being constructed; frames of its own ``__init__`` are passed over, so that a
    custom layer's line is the one that makes it and not its own ``super().__init__()``.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        if code.co_filename in _DOORS:
            return None
        if is_user_file(code.co_filename) and not (
            skip is not None and code.co_name == "__init__" and code.co_argcount and frame.f_locals.get(code.co_varnames[0]) is skip
        ):
            return code.co_filename, frame.f_lineno
        if "__autograph_generated_file" in code.co_filename:
            return _converted()
        frame = frame.f_back
    return None


def _converted() -> tuple[str, int] | None:
    """The user's line behind one that autograph generated; TensorFlow keeps the map."""
    module = sys.modules.get("tensorflow.python.util.tf_stack")
    if module is None:
        return None
    for frame in reversed(module.extract_stack()):
        if is_user_file(frame.filename):
            return frame.filename, int(frame.lineno)
    return None


def location(where: tuple[str, int] | None, *, text: bool = True) -> Location | None:
    """A :class:`Location`, with the notebook cell where it is one, and with the line's own text."""
    if where is None:
        return None
    filename, line = where
    said = linecache.getline(filename, line).strip()[:160] if text else ""
    cell, execution = _cell_of(filename)
    shown = "" if execution or cell else filename
    return Location(shown, line, cell, execution, said)


def _cell_of(filename: str) -> tuple[str, int]:
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return "", 0
    shell = ipython.get_ipython()
    if shell is None:
        return "", 0
    execution = getattr(shell.compile, "_filename_map", {}).get(filename)
    if execution is None:
        return "", 0
    cells = getattr(shell, "_tpushape_cells", {})
    return cells.get(execution, ""), int(execution)
