"""Candidates for values that JAX has to take or to compute itself: one of a result of one, and a NumPy function of a tensor."""

from __future__ import annotations

import ast
import sys
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.mesh import ValueAsked
from ...rules.facts.transforms import GradientOf
from ..edits.expression import IT, MODULE
from ..text.source import nodes
from .edits import Made, of
from .jax_arrays import gradients, returned_loss
from .line import lines_of


@of(GradientOf)
def one_value(evidence: Evidence, finding: Finding, fact: GradientOf) -> Made:
    """The value itself, of a function to differentiate that returns an array of one."""
    if fact.several or not fact.shape or any(size != 1 for size in fact.shape):
        return
    for line in lines_of(evidence):
        for call in gradients(line):
            value = returned_loss(line, call) if call.args else None
            if value is not None:
                index = ", ".join("0" for _ in fact.shape)
                yield (
                    f"Return the only value, [{index}], at line {value.lineno}",
                    [line.edit(value, f"{IT}[{index}]")],
                    "The gradient is that of a single number.",
                )
                return


@of(ValueAsked)
def in_jax_numpy(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """The function of ``jax.numpy`` with the same name, where NumPy's is given a tensor."""
    numpy = sys.modules.get("jax.numpy")
    for line in lines_of(evidence)[:1] if fact.asked == "array" and evidence.backend == "jax" and numpy is not None else ():
        for call in nodes(line.node, ast.Call) if line.node is not None else ():
            way = ast.unparse(call.func).split(".")
            if way[0] not in ("np", "numpy") or len(way) < 2 or called(call) in ("array", "asarray"):
                continue
            found: Any = numpy
            for name in way[1:]:
                found = getattr(found, name, None)
            if callable(found):
                name = ".".join(way[1:])
                yield (
                    f"Use jax.numpy: {'.'.join(way)} → jnp.{name} at line {call.lineno}",
                    [line.edit(call.func, f"{MODULE}.{name}", "jax.numpy")],
                    "It takes the same arguments, and tensors without values.",
                )
                return
