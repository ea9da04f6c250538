"""Whether a traced program can be differentiated: JAX raises for some loops only when a step asks for the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun


def differentiates(program: Any, trained: Sequence[bool]) -> bool:
    """Whether JAX derives the results of a program by its arguments that are ``trained``; nothing is computed."""
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
    except ValueError as error:
        return "differentiation does not work" not in str(error)
    return True
