"""What a program creates again each time it runs: a compiled step creates variables in its first call only, so ``fit`` fails at the second one.

One call cannot distinguish such a layer from one that is created once and kept. So the program is called again, unrecorded, if the
first call created something; otherwise this costs nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .locations import Place, converted, is_ours, is_user_file, place_of

if TYPE_CHECKING:
    from .recorder import Recorder


@dataclass(frozen=True)
class Anew:
    """An object with variables that is created in every call; ``layer``: it is one."""

    cls: str
    place: Place
    in_loss: bool = False
    layer: bool = False


_AUTOGRAPH = f"tensorflow{os.sep}python{os.sep}autograph"
# Frames between a constructor and the line that calls it.
_BETWEEN = frozenset(
    {"__init__", "__call__", "_method_wrapper", "_wrap_function", "wrapper", "error_handler", "variable_call", "creator", "getter", "<lambda>"}
)


def note(recorder: Recorder, obj: Any) -> None:
    """Records what the user's own line creates while a program is traced; what a framework's layer creates inside is not recorded."""
    if recorder.graph is None:
        return
    frame: Any = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if "__autograph_generated_file" in code.co_filename:
            place = converted(frame)
            if place is not None and code.co_name not in ("tf__build", "tf____init__"):
                recorder.inside.append((obj, place))
            return
        own = code.co_name == "__init__" and code.co_argcount and frame.f_locals.get(code.co_varnames[0]) is obj
        if is_user_file(code.co_filename) and not own:
            if code.co_name not in ("build", "__init__"):
                recorder.inside.append((obj, place_of(frame)))
            return
        if not own and not is_ours(code.co_filename) and code.co_name not in _BETWEEN and _AUTOGRAPH not in code.co_filename:
            return
        frame = frame.f_back


def made_anew(recorder: Recorder, again: Callable[[], Any], *, in_loss: bool = False) -> Anew | None:
    """What a second call creates again, on the same line."""
    first = {place for obj, place in recorder.inside if _holds(obj)}
    if not first:
        return None
    # A model of layers that are there already creates no variable.
    held = {id(variable) for obj, _ in recorder.inside for variable in _variables(obj)}
    mark = len(recorder.inside)
    try:
        with recorder.unrecorded():
            again()
    except Exception:
        return None  # what a second call says is another matter
    found = next(((obj, place) for obj, place in recorder.inside[mark:] if place in first and _holds(obj) and not _only(held, obj)), None)
    return Anew(type(found[0]).__name__, found[1], in_loss, hasattr(found[0], "compute_output_shape")) if found is not None else None


def _variables(obj: Any) -> list[Any]:
    try:
        return list(getattr(obj, "variables", None) or ())
    except (TypeError, ValueError):  # tf_keras: not built; or not a list
        return []


def _only(held: set[int], obj: Any) -> bool:
    own = _variables(obj)
    return bool(own) and all(id(variable) in held for variable in own)


def _holds(obj: Any) -> bool:
    if hasattr(obj, "assign") or hasattr(getattr(obj, "state", None), "assign"):
        return True
    try:
        return bool(getattr(obj, "variables", None)) or hasattr(obj, "apply_gradients")
    except ValueError:  # tf_keras: not built
        return False
