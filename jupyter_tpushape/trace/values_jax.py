"""Computing a traced program of JAX, with weights of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .backend import Values, drawn

# The name of a placeholder's equation in a program.
GIVEN = "tpushape placeholder"
# A program that runs a few times is not worth optimizing.
_QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
# Fusions written one by one take three quarters of what is left; older releases of JAX have no such option.
_QUICKER = {**_QUICK, "xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}


class ProgramValues(Values):
    """All equations of a program, compiled together."""

    def __init__(self, graph: Any, variables: Sequence[Any]) -> None:
        self._program, self._constants = graph.program.jaxpr, graph.program.consts
        self._given = [id(one) for one in graph.given]
        self._variables = [(tuple(one._shape), str(one._dtype), bool(one.trainable)) for one in variables]
        # A variable that the program asked for by itself is a placeholder as well.
        self._asked = {id(made): (tuple(one._shape), str(one._dtype), bool(one.trainable)) for made, one in graph.asked}
        marked = [equation.outvars[0] for equation in self._program.eqns if is_placed(equation)]
        ends = self._program.outvars[len(self._program.outvars) - len(graph.ends) :]
        # The keys of the tensors that the trace knew; others go by themselves.
        self._keys = dict(zip(map(id, (*marked, *ends)), (*self._given, *map(id, graph.ends)), strict=True))
        self.operations = [(one.primitive.name, self._of(one.invars), self._of(one.outvars)) for one in self._program.eqns]
        self._ends = [id(one) for one in graph.ends]
        self._runs: dict[tuple[int, ...], Any] = {}

    def compute(self, fed: dict[int, Any], seed: int) -> dict[int, Any]:
        """Runs the program's equations."""
        draw = np.random.default_rng(seed)
        weights = [drawn(draw, *one) for one in self._variables]
        asked = {key: drawn(draw, *one) for key, one in self._asked.items()}
        given = [np.asarray((fed | asked)[key]) for key in self._given]
        instead = {key: np.asarray(fed[key]) for key in self._ends if key in fed}
        kept = tuple(instead)
        if kept not in self._runs:
            self._runs[kept] = _compiled(jax.jit(self._replayed).lower(weights, given, instead))
        found = self._runs[kept](weights, given, instead)
        return {key: np.asarray(value) for key, value in found.items()}

    def _replayed(self, weights: list[Any], given: list[Any], instead: dict[int, Any]) -> dict[int, Any]:
        program, left = self._program, iter(given)
        values: dict[Any, Any] = {}
        values.update((variable, value) for variable, value in zip(program.constvars, self._constants, strict=True))
        values.update((variable, jnp.asarray(value, variable.aval.dtype)) for variable, value in zip(program.invars, weights, strict=True))
        for equation in program.eqns:
            if is_placed(equation):
                made: Any = [jnp.asarray(next(left), equation.outvars[0].aval.dtype)]
            else:
                inputs = [one.val if hasattr(one, "val") else values[one] for one in equation.invars]
                bound = equation.primitive.get_bind_params(equation.params)
                # Before 0.8 the functions come apart from the rest.
                functions, parameters = bound if isinstance(bound, tuple) else ((), bound)
                made = equation.primitive.bind(*functions, *inputs, **parameters)
            values.update(zip(equation.outvars, made if isinstance(made, (list, tuple)) else [made], strict=True))
            values.update((one, instead[key]) for one, key in zip(equation.outvars, self._of(equation.outvars), strict=True) if key in instead)
        return {self._of([one])[0]: value for one, value in values.items() if jnp.issubdtype(value.dtype, jnp.floating)}

    def _of(self, variables: Sequence[Any]) -> list[int]:
        return [self._keys.get(id(one), id(one)) for one in variables]


def _compiled(lowered: Any) -> Any:
    try:
        return lowered.compile(compiler_options=_QUICKER)
    except RuntimeError as error:
        if "compile option" not in str(error):
            raise
        return lowered.compile(compiler_options=_QUICK)


def is_placed(equation: Any) -> bool:
    """Whether an equation stands for data."""
    return bool(equation.primitive.name == "name" and equation.params["name"] == GIVEN)
