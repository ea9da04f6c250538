"""What a traced program tells without being run: whether JAX derives it, and the positions that it counts out by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

# As far as this.
COUNTED = 1 << 16
# Functions of so many equations are worked out.
_SHORT = 16
_COUNTS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "not": np.bitwise_not,
    "select_n": lambda which, no, yes, _: np.where(which, yes, no),
    "squeeze": lambda x, p: np.squeeze(x, tuple(p["dimensions"])),
    "reshape": lambda x, p: np.reshape(x, p["new_sizes"]) if p.get("dimensions") is None else None,
    "convert_element_type": lambda x, p: np.asarray(x).astype(p["new_dtype"]),
    "concatenate": lambda *x: np.concatenate(x[:-1], x[-1]["dimension"]),
    "slice": lambda x, p: x[tuple(map(slice, p["start_indices"], p["limit_indices"], p["strides"] or [None] * np.ndim(x)))],
}


def differentiates(program: Any, trained: Sequence[bool]) -> bool:
    """Whether JAX derives the results of a program by its arguments that are ``trained``."""
    error = gradient_error(program, trained)
    return not isinstance(error, ValueError) or "differentiation does not work" not in str(error)


def with_arguments(program: Any, placed: Sequence[Any]) -> Any:
    """The program with what some of its equations make as arguments behind its own."""
    inner, made = program.jaxpr, {one.outvars[0] for one in placed}
    left = [one for one in inner.eqns if one.outvars[:1] == [] or one.outvars[0] not in made]
    info: Any = getattr(inner, "debug_info", None)
    unnamed = (None,) * (len(inner.invars) + len(placed))
    named = {"debug_info": info._replace(arg_names=unnamed)} if hasattr(info, "arg_names") and hasattr(info, "_replace") else {}
    return program.replace(jaxpr=inner.replace(invars=[*inner.invars, *(one.outvars[0] for one in placed)], eqns=left, **named))


def gradient_error(program: Any, trained: Sequence[bool]) -> Exception | None:
    """What JAX raises where it derives the results of a program by its arguments that are ``trained``."""
    run = jaxpr_as_fun(program)
    specs = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in program.in_avals]
    at = [i for i, one in enumerate(specs) if trained[i] and jnp.issubdtype(one.dtype, jnp.floating)]

    def total(weights: list[Any], every: list[Any]) -> Any:
        every = list(every)
        for i, weight in zip(at, weights, strict=True):
            every[i] = weight
        return sum(jnp.sum(one) for one in run(*every))

    try:
        jax.eval_shape(jax.grad(total), [specs[i] for i in at], specs)
    except Exception as error:  # a function of the program's own may raise anything
        return error
    return None


def counted(name: str, operands: list[Any], params: dict[str, Any]) -> Any:
    """What an equation gives, where its operands are numbers of the program."""
    try:
        if name == "iota" and not operands:
            shape, axis = params["shape"], params["dimension"]
            counted = np.arange(shape[axis], dtype=params["dtype"])
            return np.broadcast_to(counted.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)
        if name == "broadcast_in_dim" and len(operands) == 1:
            shape, axes = params["shape"], params["broadcast_dimensions"]
            sizes = [np.shape(operands[0])[axes.index(i)] if i in axes else 1 for i in range(len(shape))]
            return np.broadcast_to(np.reshape(operands[0], sizes), shape)
        if name in ("jit", "pjit"):
            return _inside(params["jaxpr"], operands)
        count = _COUNTS.get(name)
        if count is None or not operands:
            return None
        values = [np.asarray(one) for one in operands]
        return count(*values) if isinstance(count, np.ufunc) else count(*values, params)
    except Exception:  # what is not worked out here is not known
        return None


def positions(known: Any, rank: int) -> int | None:
    """The axis along which known numbers are evenly spaced, as positions are, if they differ along no other one."""
    shape = np.shape(known) if known is not None else ()
    axes = [axis for axis, n in enumerate(shape) if n > 1]
    if len(shape) != rank or len(axes) != 1 or shape[axes[0]] < 3:
        return None
    gaps = np.diff(np.asarray(known, "float64").reshape(-1))
    return axes[0] if gaps[0] and np.allclose(gaps, gaps[0], 1e-3) else None


def beyond(name: str, tensor: Any, starts: Sequence[Any], params: dict[str, Any]) -> tuple[int, int] | None:
    """The axis and the first place that a slice of known starts takes, where it reaches beyond the tensor."""
    sizes = params.get("slice_sizes") if name == "dynamic_slice" else None
    for axis, (start, taken, size) in enumerate(zip(starts, sizes or (), tensor.shape, strict=False)):
        if start is not None and np.ndim(start) == 0 and not 0 <= int(start) <= size - taken:
            return axis, int(start)
    return None


def _inside(program: Any, operands: list[Any]) -> Any:
    inner = program.jaxpr
    if len(inner.eqns) > _SHORT or len(inner.outvars) != 1:
        return None
    values = dict(zip([*inner.invars, *inner.constvars], [*operands, *program.consts], strict=True))
    for equation in inner.eqns:
        given = [one.val if hasattr(one, "val") else values.get(one) for one in equation.invars]
        found = counted(equation.primitive.name, given, equation.params)
        if found is None or len(equation.outvars) != 1:
            return None
        values[equation.outvars[0]] = found
    return values.get(inner.outvars[0])
