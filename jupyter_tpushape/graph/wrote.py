"""Whose code made an operation of a traced program: the user's, a built-in layer's, or TensorFlow's own."""

from __future__ import annotations

import itertools
from typing import Any

from ..flow import Location
from ..trace.locations import is_user_file, location


def user_line(operation: Any) -> Location | None:
    """The line of the user's own source that made an operation."""
    if not made_by_user(operation):
        return None
    frames = [frame for frame in operation.traceback if is_user_file(frame.filename)]
    return location((frames[-1].filename, int(frames[-1].lineno))) if frames else None


def made_by_user(operation: Any) -> bool:
    """Whether the user's code called the TensorFlow function that made this, with no Keras layer's code in between."""
    try:
        frames = list(operation.traceback)
    except Exception:
        return False
    for frame in reversed(frames):
        if "/tensorflow/" in frame.filename or "/jupyter_tpushape/" in frame.filename:
            continue
        return is_user_file(frame.filename)
    return False


def never_fed(operation: Any) -> bool:
    """Whether the user's code itself made this placeholder."""
    try:
        frames = list(operation.traceback)
    except Exception:
        return False
    callers = (frame for frame, called in itertools.pairwise(frames) if called.name == "placeholder" and "/tensorflow/" in called.filename)
    return any(is_user_file(frame.filename) for frame in callers)


def asked_for(operation: Any) -> bool:
    """Whether the user asked for this assertion; TensorFlow puts some of its own into its functions."""
    try:
        frames = [frame.filename for frame in operation.traceback]
    except Exception:
        return False
    user = max((i for i, name in enumerate(frames) if is_user_file(name)), default=-1)
    inside = [name for name in frames[user + 1 :] if not name.endswith(("traceback_utils.py", "dispatch.py", "deprecation.py"))]
    return user >= 0 and bool(inside) and inside[0].rsplit("/", 1)[-1] in _ASSERTIONS


_ASSERTIONS = frozenset({"check_ops.py", "check_ops_v2.py", "control_flow_assert.py", "numerics.py", "gen_array_ops.py", "tf_should_use.py"})
