"""Candidates for functions that the backend does not take, or Keras 3 does not have: ``keras.ops`` in their place, wherever the model runs them."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.heard import hear
from ...examine.heard_jax import HeardGone
from ...flow import Finding
from ...rules.facts.mesh import ForeignFunction
from ...trace.raised import innermost
from ..edits import KerasOps
from ..text import keras_ops
from ..text.names import Names
from ..text.source import Function, enclosing, nodes, parents
from .edits import Made
from .line import Line, lines_of, span_of


def in_keras_ops(evidence: Evidence, finding: Finding) -> Made:
    """Every such call of the program's text, where it is not the pipeline's; in a builder, from the first input on."""
    line = next(iter(lines_of(evidence)), None)
    found = innermost(evidence.failure) if isinstance(evidence.failure, BaseException) else None
    if line is None or found is None or not (isinstance(finding.fact, ForeignFunction) or hear(evidence.failure, HeardGone) is not None):
        return
    frame, place, _ = found
    visible = Names(line.source, frame.f_globals)
    calls = [(call, made) for call in _calls(line) if (made := keras_ops.name_of(visible, call))]
    if any(call.lineno <= place[1] <= (call.end_lineno or call.lineno) for call, _ in calls):
        said = dict.fromkeys(f"{ast.unparse(call.func)} → {made}" for call, made in calls)
        spans, names = [span_of(call) for call, _ in calls], [ast.unparse(call.func) for call, _ in calls]
        yield (
            f"Use keras.ops: {', '.join(said)}",
            [KerasOps(line.raised.function, line.raised.file, spans, names)],
            "keras.ops works on every backend.",
        )


def _calls(line: Line) -> list[ast.Call]:
    tree = line.source.tree
    above, host = parents(tree), keras_ops.on_host(tree)
    builder = enclosing(above, line.node) if line.node is not None else tree
    found = []
    for call in nodes(tree, ast.Call):
        around: list[ast.AST] = []
        node: ast.AST = call
        while node in above:
            node = above[node]
            around += [node] if isinstance(node, Function) else []
        if host & set(around) or (not around and (builder is not tree or call.lineno < _first(line))):
            continue
        found.append(call)
    return found


def _first(line: Line) -> int:
    """The first line at the top that can hold a symbolic tensor: before it, arrays are made."""
    made: list[int] = [
        call.lineno for call in nodes(line.source.tree, ast.Call) if ast.unparse(call.func).split(".")[-1] in ("Input", "InputLayer")
    ]
    return min([*made, line.raised.line])
