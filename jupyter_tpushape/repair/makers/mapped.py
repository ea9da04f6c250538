"""Candidates for a loop over the samples of a batch: one function, mapped over all of them."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Edit, Finding
from ...rules.facts.mesh import ValueAsked
from ..edits import Removed
from ..edits.expression import MODULE
from ..text.source import nodes, parents
from .edits import Made
from .line import Line, called, lines_of, span_of

_JOINS = frozenset({"stack", "array", "asarray", "convert_to_tensor"})


def over_samples(evidence: Evidence, finding: Finding) -> Made:
    """``vectorized_map`` for a loop that computes one sample after the other and stacks the results."""
    for line in lines_of(evidence)[:1] if isinstance(finding.fact, ValueAsked) and finding.fact.asked == "rows" else []:
        for loop in nodes(line.scope, (ast.For, ast.ListComp)):
            if loop.lineno <= line.raised.line <= (loop.end_lineno or 0):
                edits = _listed(line, loop) if isinstance(loop, ast.ListComp) else _looped(line, loop)
                if edits:
                    title = f"Map over the samples with vectorized_map instead of the loop at line {loop.lineno}"
                    yield title, edits, "All samples are computed at once."
                    return


def _rows(line: Line, loop: ast.For | ast.comprehension, body: list[ast.AST]) -> dict[str, str]:
    """Of each tensor of which the loop takes the row of its turn, a name for that row; nothing if it counts for something else."""
    i, turns = loop.target, loop.iter
    if not isinstance(i, ast.Name) or not isinstance(turns, ast.Call) or called(turns) != "range" or len(turns.args) != 1:
        return {}
    inside = [one for item in body for one in ast.walk(item)]
    taken = [one for one in inside if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name) and one.slice.id == i.id]
    stored = {one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    whole = all(isinstance(one.value, ast.Name) and isinstance(one.ctx, ast.Load) and one.value.id not in stored for one in taken)
    if not whole or len(taken) != sum(isinstance(one, ast.Name) and one.id == i.id for one in inside):
        return {}
    return {f"{of}[{i.id}]": f"{of}_{i.id}" for of in dict.fromkeys(ast.unparse(one.value) for one in taken)}


def _with_rows(text: str, rows: dict[str, str]) -> str:
    for old, new in rows.items():
        text = text.replace(old, new)
    return text


def _tensors(rows: dict[str, str]) -> str:
    every = [old.partition("[")[0] for old in rows]
    return every[0] if len(every) == 1 else f"({', '.join(every)})"


def _joins(call: ast.Call, results: ast.expr) -> bool:
    """Whether a call puts results one behind the other along a first axis."""
    words = [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords]
    return called(call) in _JOINS and [*call.args] == [results] and words in ([], ["axis=0"])


def _listed(line: Line, loop: ast.ListComp) -> list[Edit]:
    around = parents(line.source.tree).get(loop)
    (turn,) = loop.generators[:1]
    rows = _rows(line, turn, [loop.elt]) if len(loop.generators) == 1 and not turn.ifs else {}
    if not rows or not isinstance(around, ast.Call) or not _joins(around, loop):
        return []
    names = [*rows.values()] if len(rows) == 1 else [f"rows[{index}]" for index in range(len(rows))]
    one = _with_rows(ast.unparse(loop.elt), dict(zip(rows, names, strict=True)))
    new = f"{MODULE}.vectorized_map(lambda {names[0] if len(rows) == 1 else 'rows'}: {one}, {_tensors(rows)})"
    return [line.edit(around, new, "keras.ops").value]


def _looped(line: Line, loop: ast.For) -> list[Edit]:
    source, last = line.source, loop.body[-1]
    kept = last.value if isinstance(last, ast.Expr) else None
    if (
        not isinstance(kept, ast.Call)
        or called(kept) != "append"
        or not isinstance(kept.func, ast.Attribute)
        or len(kept.args) != 1
        or loop.orelse
    ):
        return []
    out, rows = ast.unparse(kept.func.value), _rows(line, loop, [*loop.body])
    plain = all(isinstance(one, ast.Assign) for one in loop.body[:-1])
    starts = [one for one in nodes(line.scope, ast.Assign) if ast.unparse(one) == f"{out} = []"]
    joins = [one for one in nodes(line.scope, ast.Call) if one.args and ast.unparse(one.args[0]) == out and _joins(one, one.args[0])]
    used = sum(one.id == out for one in nodes(line.scope, ast.Name))
    if not rows or not plain or len(starts) != 1 or len(joins) != 1 or used != 3:
        return []
    pad = f"\n{source.indent(loop)}"
    deep = f"{pad}    "
    names = [*rows.values()]
    head = names[0] if len(names) == 1 else "rows"
    body = [] if len(names) == 1 else [f"{', '.join(names)} = rows"]
    body += [_with_rows(ast.unparse(one), rows) for one in loop.body[:-1]]
    body += [f"return {_with_rows(ast.unparse(kept.args[0]), rows)}"]
    text = f"def one_sample({head}):{deep}{deep.join(body)}{pad}{out} = {MODULE}.vectorized_map(one_sample, {_tensors(rows)})"
    gone = Removed(line.raised.function, line.raised.file, span_of(starts[0]), source.of(starts[0])).value
    return [line.edit(loop, text, "keras.ops").value, line.edit(joins[0], out).value, gone]
