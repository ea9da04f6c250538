"""Which line of a program called which function, read off frames: of what runs on JAX, and of what raised there."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import os
import sysconfig
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from .locations import HERE, is_user_file
from .recorder import line_of

# What rules call an operation; every other one bears its function's name in capitals.
_NAMES = {
    "sub": "Sub", "subtract": "Sub", "mul": "Mul", "multiply": "Mul", "div": "RealDiv", "divide": "RealDiv", "true_divide": "RealDiv", "truediv": "RealDiv",
    "truedivide": "RealDiv", "divide_no_nan": "DivNoNan", "dividenonan": "DivNoNan", "argmax": "ArgMax", "argmin": "ArgMin", "absolute": "Abs",
    "amax": "Max", "reduce_max": "Max", "amin": "Min", "reduce_min": "Min", "rmul": "Mul", "radd": "AddV2", "rsub": "Sub", "rtruediv": "RealDiv",
    "eq": "Equal", "lt": "Less", "gt": "Greater", "le": "LessEqual", "ge": "GreaterEqual", "ne": "NotEqual",
    "add": "AddV2", "power": "Pow", "pow": "Pow", "integer_pow": "Pow", "where": "SelectV2", "select_n": "SelectV2", "squared_difference": "SquaredDifference",
    "dot_general": "MatMul", "dot": "MatMul", "matmul": "MatMul", "astype": "Cast", "cast": "Cast", "convert_element_type": "Cast",
    "value_and_grad_f": "Gradient", "grad_f": "Gradient", "vmap_f": "Vmap", "log_softmax": "LogSoftmax", "concatenate": "Concat", "getitem": "Slice", "rewriting_take": "Slice",
    "transpose_property": "Transpose",
}  # fmt: skip
# What jax.lax calls so takes two tensors, and what jax.numpy and keras.ops call so one.
_ELEMENTWISE = {"max": "maximum", "min": "minimum"}
_LAX = f"lax{os.sep}lax.py"
# Functions that lead to the one that was meant: those of operators and methods, and of calls that are compiled.
_PASSED = frozenset({"op", "meth", "method", "prop", "deferring_binary_op", "__call__", "wrapper", "bind", "bind_with_trace", "_true_bind"})
_PASSED_FILES = (
    "traceback_util.py",
    "pjit.py",
    "partial_eval.py",
    "ufunc_api.py",
    "linear_util.py",
    "api_util.py",
    "traceback_utils.py",
    "source_info_util.py",
    "batching.py",
)

HELPERS = frozenset({"broadcast_in_dim", "convert_element_type", "reshape", "squeeze"})
# An environment may be reached through a link: frames name the way that Python took.
_LIBRARIES = tuple(
    str(path.parent) + os.sep
    for name in ("jax", "jaxlib", "keras", "numpy", "ml_dtypes", "opt_einsum", "optree", "tensorflow")
    if (found := importlib.util.find_spec(name)) is not None and found.origin
    for path in (Path(found.origin), Path(found.origin).resolve())
)
_STANDARD = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})
# Whoever stands above these called the layer, or asked for the trace.
_BOUNDS = frozenset(HERE + os.path.join("trace", name) for name in ("hooks.py", "run.py", "build.py"))  # noqa: PTH118
_OPERATION = os.path.join("ops", "operation.py")  # noqa: PTH118


@functools.lru_cache(maxsize=4096)
def _is_library(filename: str) -> bool:
    if filename.startswith((HERE, "<frozen", *_LIBRARIES)):
        return True
    return filename.startswith(_STANDARD) and "-packages" not in filename


def callee_of(frame: FrameType | None) -> tuple[FrameType | None, str]:
    """The function that the program's innermost line called, with its name; none where a framework called it by itself.

    The name is ``""`` where the equation tells more: behind an operator.
    """
    callee = operation = None
    function = ""
    while frame is not None:
        code = frame.f_code
        if code.co_filename in _BOUNDS:
            callee = None
            break
        if not _is_library(code.co_filename):
            break
        if _is_operation(frame):
            operation = frame
        function = _function(frame) or function
        callee, frame = frame, frame.f_back
    if operation is not None:
        return operation, type(operation.f_locals["self"]).__name__
    return callee, function if callee is not None and frame is not None else ""


def raised_in(trace: TracebackType | None) -> tuple[FrameType | None, str, tuple[str, int] | None]:
    """The function that the program's innermost line called before something raised, its name, and the user's line.

    Where no line of the program stands in the traceback, its first function counts as called.
    """
    callee, function, line, inside = None, "", None, False
    while trace is not None:
        frame, filename = trace.tb_frame, trace.tb_frame.f_code.co_filename
        if not _is_library(filename):
            callee, function, inside = None, "", True
            if is_user_file(filename):
                line = (filename, trace.tb_lineno)
        elif _is_operation(frame):
            # In a graph that Keras runs, this is what the program's line called.
            callee, function = frame, type(frame.f_locals["self"]).__name__
        elif callee is None and (inside or not filename.startswith(HERE)):
            callee = frame
        if callee is not None:
            function = function or _function(frame)
        trace = trace.tb_next
    return callee, function, line


def _is_operation(frame: FrameType) -> bool:
    code = frame.f_code
    # Asked of the class: the property of a model collects all of its weights.
    return code.co_name == "__call__" and code.co_filename.endswith(_OPERATION) and not hasattr(type(frame.f_locals.get("self")), "weights")


def made_by(frame: FrameType | None) -> Any:
    """The line that put the operation of a functional graph there which runs in this frame."""
    return line_of(frame.f_locals["self"]) if frame is not None and _is_operation(frame) else None


def _function(frame: FrameType) -> str:
    return _told(frame.f_code.co_name, frame.f_code.co_filename)


def _told(name: str, filename: str) -> str:
    plain = "" if name in _PASSED or filename.endswith(_PASSED_FILES) else name.removeprefix("_operator_")
    return _ELEMENTWISE.get(plain, plain) if filename.endswith(_LAX) else plain


def function_between(frames: list[tuple[str, str]]) -> str:
    """The name of the function that a program's line called, of the functions and files from an equation up to that line."""
    return next((told for name, filename in reversed(frames) if (told := _told(name, filename))), "")


def equation(name: str, params: dict[str, Any]) -> str:
    """A compiled function goes by its own name."""
    return str(params.get("name") or name) if name in ("jit", "pjit") else _ELEMENTWISE.get(name, name)


def named(name: str) -> str:
    plain = name.strip("_").lower() or "operation"
    if plain in _NAMES:
        return _NAMES[plain]
    return "".join(word[:1].upper() + word[1:] for word in name.strip("_<>").split("_"))


def arguments_of(frame: FrameType, whole: bool = False) -> list[Any]:
    """What a running function was called with, as far as it has not been exchanged; with ``whole``, numbers given one by one are one argument."""
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    found = [values[name] for name in code.co_varnames[:count] if name in values]
    if code.co_flags & inspect.CO_VARARGS and code.co_varnames[count] in values:
        more = list(values[code.co_varnames[count]])
        found += [more] if whole and len(more) > 1 and all(isinstance(one, int) for one in more) else more
    return found


def _whole(item: Any) -> bool:
    """Whether an index takes a whole axis; an array among the indices is compared with nothing."""
    return isinstance(item, slice) and item.start is item.stop is item.step is None


def operands_of(frame: FrameType | None) -> dict[str, Any]:
    """Constant arguments worth knowing: the shape of a reshape, the axes of a reduction, the index of a slice with ``None`` for a whole axis."""
    values: dict[str, Any] = {}
    if frame is not None and frame.f_code.co_name == "einsum" and isinstance(written := next(iter(arguments_of(frame)), None), str):
        values["equation"] = written
    for position, value in enumerate(arguments_of(frame, whole=True) if frame is not None else []):
        items = value if isinstance(value, (list, tuple)) else [value]
        if position and 0 < len(items) <= 16 and all(isinstance(item, int) and not isinstance(item, bool) for item in items):
            values[f"operand{position}"] = list(items) if isinstance(value, (list, tuple)) else value
        elif position == 1 and isinstance(value, tuple) and all(_whole(item) or type(item) is int for item in items):
            values["index"] = [None if isinstance(item, slice) else item for item in items]
    if frame is not None and frame.f_locals.get("mode") is not None:
        values["mode"] = str(frame.f_locals["mode"])
    return values
