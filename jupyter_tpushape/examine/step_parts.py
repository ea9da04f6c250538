"""What a training step of the user's takes its data for, beside what ``fit`` passes."""

from __future__ import annotations

import ast
import inspect
import itertools
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any

from ..trace.framework import Framework
from ..trace.locations import Place
from ..trace.raised import converted_lines, scope_of

_PARTS = ("x", "y", "sample_weight")


@dataclass(frozen=True)
class StepParts:
    """A step takes ``data`` apart as ``target``, which has other parts; ``given``: those that fit passes, none for one tensor."""

    function: str
    data: str
    target: str
    given: tuple[str, ...]
    place: Place


def step_parts(adapter: Framework, error: BaseException) -> StepParts | None:
    """The first statement of the step that raised which takes its data apart in another form than it has."""
    # TensorFlow's converter raises the error anew, without the frames of the step.
    before = error.__cause__ or error.__context__
    traces = (error.__traceback__, before.__traceback__ if before is not None else None)
    for frame, line in itertools.chain(*map(walk_tb, traces)):
        name, model = frame.f_code.co_name.removeprefix("tf__"), frame.f_locals.get("self")
        code = getattr(inspect.unwrap(getattr(type(model), name, len)), "__code__", None)
        if name not in ("train_step", "test_step") or not isinstance(model, adapter.Model) or getattr(code, "co_argcount", 0) not in (2, 3):
            continue
        assert code is not None
        lines = {line} if frame.f_code is code else converted_lines(error, name) | converted_lines(before, name)
        data, scope = code.co_varnames[code.co_argcount - 1], scope_of(Place(code.co_filename, code.co_firstlineno + 1))
        value = frame.f_locals.get(data)
        if scope is None or not (isinstance(value, tuple) or adapter.is_tensor(value)):
            return None
        given = _PARTS[: len(value)] if isinstance(value, tuple) else ()
        # Only the line that was running: a step may ask what it got, and unpack the one or the other.
        for node in ast.walk(scope):
            taken: ast.AST | None = None
            if isinstance(node, ast.Assign) and ast.unparse(node.value) == data and not _fits(node.targets[0], value):
                taken = node.targets[0]
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == data and isinstance(node.slice, ast.Constant):
                taken = node if isinstance(node.slice.value, str) else None
            if taken is not None and getattr(node, "lineno", 0) in lines:
                return StepParts(name, data, ast.unparse(taken), given, Place(code.co_filename, min(lines)))
        return None
    return None


def _fits(target: ast.expr, value: Any) -> bool:
    """Whether names can be given the parts of a value: as many of them, at each level that is known."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return True
    if not isinstance(value, (tuple, list)):
        return isinstance(value, dict)
    rest = any(isinstance(one, ast.Starred) for one in target.elts)
    return rest or (len(target.elts) == len(value) and all(map(_fits, target.elts, value)))
