"""Candidates for random numbers that are drawn a second time from one key, or once for all samples."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.keys import KeyReused, NoiseShared
from ..edits.expression import IT, MODULE
from ..text.source import nodes
from .edits import Made, of
from .line import lines_at


@of(KeyReused)
def derived(evidence: Evidence, finding: Finding, fact: KeyReused) -> Made:
    """A separate key for the second draw."""
    calls = [(line, line.node) for line in lines_at(evidence, finding.location) if isinstance(line.node, ast.Call)]
    for line, call in sorted(calls, key=lambda pair: (pair[1].lineno, pair[1].col_offset), reverse=True):
        key = line.keyword("key") or next(iter(call.args), None)
        draws = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in ("jax.random", "random", "jr")
        if draws and isinstance(call.func, ast.Attribute) and isinstance(key, (ast.Name, ast.Attribute)):
            yield (
                f"Use a separate key at {line.at}: fold_in({ast.unparse(key)}, 1)",
                [line.edit(key, f"{ast.unparse(call.func.value)}.fold_in({IT}, 1)")],
                "Each key gives its own numbers.",
            )
            return


@of(NoiseShared)
def noise_for_each(evidence: Evidence, finding: Finding, fact: NoiseShared) -> Made:
    """Noise of the shape of a tensor that the line which uses it reads, for a shape without the samples."""
    for line in lines_at(evidence, finding.location)[:1]:
        draw = next((one for one in line.around(ast.Call) if called(one) in _NORMAL), None)
        shape = _shape_of(draw) if draw is not None else None
        if draw is None or shape is None:
            continue
        used = [
            one for at in lines_at(evidence, fact.line)[:1] for part in at.around(ast.stmt, at.scope)[-1:] for one in nodes(part, ast.Name)
        ]
        known = {item.arg for item in getattr(getattr(line.scope, "args", None), "args", [])}
        known |= {one.id for one in nodes(line.scope, ast.Name) if isinstance(one.ctx, ast.Store) and one.lineno < draw.lineno}
        for name in dict.fromkeys(one.id for one in used if isinstance(one.ctx, ast.Load) and one.id in known):
            yield (
                f"Create the noise with the shape of {name} at {line.at}",
                [line.edit(shape, f"{MODULE}.shape({name})", "keras.ops")],
                "Each sample then has its own numbers.",
            )


_NORMAL = frozenset({"normal", "truncated_normal"})


def _shape_of(draw: ast.Call) -> ast.expr | None:
    """The argument of a draw that is its shape: behind the key in jax.random, in front in keras.random."""
    place = 1 if ast.unparse(draw.func).startswith(("jax.", "jr.")) else 0
    return next((word.value for word in draw.keywords if word.arg == "shape"), next(iter(draw.args[place : place + 1]), None))
