"""Candidates for the number of rows where it is written down, asked for before it is known, or missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...examine.heard import HeardSizes, hear
from ...examine.row_steps import Array
from ...flow import Finding, Shape, elements
from ...flow.syntax import called
from ...rules.entry import once_for_all
from ...rules.facts.layers import ArraysApart, OperationRaised, WrongCount, WrongRank
from ...rules.facts.reasons import WholeOnly, WrittenRows
from ..edits.expression import IT, MODULE
from ..text.source import class_of, given_to, method_of, nodes, words_of
from .edits import Made
from .line import Line, assigned_to, lines_at, lines_of, listed, reshaped, short
from .numbers import where_of
from .same_rows import line_in

# What takes the number of rows by itself and in no shape.
_COUNTS = ("range", "arange", "eye", "identity", "permutation")
_ROWS_IN = frozenset({"zeros", "ones", "fill", "normal", "uniform", "truncated_normal", "broadcast_to", "full", "tile", *_COUNTS})


def rows(evidence: Evidence, finding: Finding) -> Made:
    """The rows of a tensor that is there, in place of a written batch size."""
    probe = evidence.facts.get("probe")
    if isinstance(finding.fact, ArraysApart):
        return  # NumPy makes tables that have no samples
    for raised in filter(None, (evidence.raised, getattr(probe, "raised", None))):
        line = next(iter(lines_of(evidence, raised)), None)
        if line is None:
            continue
        edits, said = [], []
        for node, inside in _leading(line, finding):
            reason = getattr(finding.fact, "reason", None)
            counted = _counted(line, node, reason.rows if isinstance(reason, WrittenRows) else None)
            if counted and inside == "reshape":
                edits.append(line.edit(node, "-1"))
                said.append(f"-1 instead of {short(node)}")
            elif counted:
                edits.append(line.edit(node, f"{MODULE}.shape({counted})[0]", line.module()))
                said.append(f"the rows of {counted} instead of {short(node)}")
        if edits:
            yield (
                f"Compute the number of rows in {where_of(evidence, line)}: {', '.join(dict.fromkeys(said))}",
                edits,
                "Works for every batch size and any number of replicas.",
            )


def one_row_each(evidence: Evidence, finding: Finding) -> Made:
    """The axis of the samples in front of a shape that has room for one of them, in all reshapes of a function to that shape."""
    fact = finding.fact
    for line, call, shape, target in _reshapes_of_lost(evidence, fact) if isinstance(fact, WrongRank) else _reshape_that_raised(evidence, fact):
        if not _is_one_sample(shape, target):
            continue
        alike = [ast.unparse(size) for size in reshaped(line, call)[1]]
        scope = line.scope if call is line.node else call
        sizes = [found for one in nodes(scope, ast.Call) if [*map(ast.unparse, found := reshaped(line, one)[1])] == alike]
        whole = len(alike) < len(target)
        yield (
            f"Keep the samples apart at line {call.lineno}: reshape to {(-1, *target)}",
            [line.edit(first, f"(-1, *{ast.unparse(first)})" if whole else f"-1, {ast.unparse(first)}") for first, *_ in sizes],
            f"Each of them has the {elements(target)} values of {target}.",
        )
        return


def _reshape_that_raised(evidence: Evidence, fact: object) -> Iterator[tuple[Line, ast.Call, Shape, Shape]]:
    for line in lines_of(evidence)[:1]:
        given, sizes = reshaped(line)
        if isinstance(fact, WrongCount) and sizes and isinstance(line.node, ast.Call):
            yield line, line.node, fact.given, fact.target
        elif given is not None and isinstance(line.node, ast.Call) and (spec := line.spec(given)) is not None:
            yield line, line.node, spec.shape or (), tuple(map(line.number, sizes))


def _reshapes_of_lost(evidence: Evidence, fact: WrongRank) -> Iterator[tuple[Line, ast.Call, Shape, Shape]]:
    for node in (one for one in evidence.flow.nodes if fact.lost and one.name == fact.lost):
        for line in lines_at(evidence, node.called or node.location)[:1]:
            method = method_of(class_of(line.source.tree, node.op), "call")
            calls = [call for call in nodes(method, ast.Call) if called(call) == "reshape"] if method is not None else []
            for edge in evidence.flow.into(node.id)[:1] if len(calls) == 1 else ():
                yield line, calls[0], edge.spec.shape or (), fact.shape or ()


def _is_one_sample(shape: Shape, target: Shape) -> bool:
    return len(shape) > 1 and bool(target) and -1 not in target and (found := elements(target)) is not None and elements(shape[1:]) == found


def _meets_rows(finding: Finding, written: int, batch: int | None) -> bool:
    fact = finding.fact
    if not isinstance(fact, OperationRaised) or not fact.apart:
        return True
    rank = max(len(shape or ()) for shape in fact.shapes)
    places = [rank - len(shape) + i for shape in fact.shapes if shape for i, size in enumerate(shape) if size == written]
    if places and 0 not in places:
        return False  # shapes are aligned from the right: this is no batch axis
    if not batch:
        return True
    if not any(size and size % written == 0 for shape in fact.shapes for size in shape or ()):
        return True  # a shape that is asked for is none that was given
    both = [pair for one, other in fact.apart for pair in ((one, other), (other, one))]
    return any(size and size % written == 0 and rows % batch == 0 and rows != size for size, rows in both)


def _all_rows(finding: Finding) -> int | None:
    reason = finding.fact.reason if isinstance(finding.fact, OperationRaised) else None
    return reason.whole if isinstance(reason, WholeOnly) else None


def _leading(line: Line, finding: Finding) -> Iterator[tuple[ast.expr, str]]:
    batch = next((spec.shape[0] for _, spec in line.evidence.x if spec.shape), None)
    failed = line.evidence.failed
    said = hear(failed.failure, HeardSizes) if failed is not None else None
    told = said.sizes if said is not None else ()
    reason = getattr(finding.fact, "reason", None)
    for call in nodes(line.scope, ast.Call):
        name = called(call)
        # random_normal is the normal of Keras' backend.
        if name not in _ROWS_IN and name != "reshape" and name.rsplit("_", 1)[-1] not in _ROWS_IN:
            if isinstance(reason, WrittenRows) and ast.unparse(call.func).startswith("self."):
                yield from ((item, name) for item in words_of(call) if isinstance(item, ast.Constant) and item.value == reason.number)
            continue
        for item in words_of(call):
            listed = item.elts if isinstance(item, (ast.List, ast.Tuple)) else []
            given, sizes = reshaped(line, call)
            spec = line.spec(given) if given is not None else None
            if spec is not None and _is_one_sample(spec.shape or (), tuple(map(line.number, sizes))):
                continue  # the sizes are those of a sample
            first = listed[0] if listed else item if name in _COUNTS else None
            if first is not None and not isinstance(first, ast.Constant) and ast.unparse(first) in [ast.unparse(one) for one in listed[1:]]:
                continue  # a table of each position by each other one
            if isinstance(reason, WrittenRows) and isinstance(first, ast.BinOp) and line.number(first) == reason.number:
                yield first, name
                continue
            if isinstance(first, ast.BinOp) and isinstance(first.op, ast.Mult):
                # Rows folded with another axis: the factor that is the batch.
                found = [one for one in (first.left, first.right) if batch is not None and line.numbers.get(ast.unparse(one)) == batch]
                yield from ((one, "product") for one in found if len(found) == 1)
                continue
            value = first.value if isinstance(first, ast.Constant) else line.numbers.get(ast.unparse(first)) if first is not None else None
            if first is None or type(value) is not int or value < 2 or not _meets_rows(finding, value, batch):
                continue
            if name in ("eye", "identity") and _all_rows(finding) == value:
                continue  # a matrix of all rows of the data, not of those of a batch
            if batch is None or value % batch == 0 or value in told:
                # Only one size can be computed: where another is, the rows are counted.
                computed = name == "reshape" and any(ast.unparse(one) == "-1" for one in listed[1:])
                yield first, "product" if computed else name


def _counted(line: Line, node: ast.expr, rows: int | None = None) -> str:
    """A tensor whose first axis is the batch, or has as many ``rows``, known before a line: a parameter, or a name that was given a value above."""
    arguments = getattr(line.scope, "args", None)
    own = [item.arg for item in (*arguments.posonlyargs, *arguments.args)] if arguments is not None else []
    stored = [item for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Store)]
    bound = {item.id: (item.lineno, item.col_offset) for item in reversed(stored)}
    early = [name for name, at in sorted(bound.items(), key=lambda pair: pair[1]) if at[0] < node.lineno]
    read = {item.id for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load)}
    own = [name for name in own if name in read]  # what nothing else reads need not be there
    known = {name: spec.shape for name in (*own, *early) if (spec := line.specs.get(name)) is not None and spec.shape}
    return next((name for name, shape in known.items() if rows is not None and shape[0] == rows), next(iter(known), ""))


def repeated(evidence: Evidence, finding: Finding) -> Made:
    """One array for the whole data, such as the adjacency matrix of a graph, repeated for each sample."""
    once = once_for_all(evidence)
    arrays: tuple[Array, ...] = evidence.facts.get("arrays", ())
    mine = [one for one in arrays if one.path in once]
    rest = [one for one in arrays if one.path not in once]
    if len(mine) != 1 or not rest or len({one.rows for one in rest}) != 1:
        return
    named = next((one for one in rest if one.path[0] == "x" and one.names and one.at.scope is mine[0].at.scope), None)
    for line in line_in(evidence, mine[0].at.file, mine[0].node):
        count = f"len({named.names[0]})" if named is not None else str(rest[0].rows)
        yield (
            f"Repeat the one array of {mine[0].rows} rows for each sample at line {mine[0].node.lineno}",
            [line.edit(mine[0].node, f"{MODULE}.repeat({IT}[None], {count}, axis=0)", "numpy")],
            "It has the shape that one sample of this input has.",
        )


def slice_of_batch(evidence: Evidence, finding: Finding) -> Made:
    """The slice that a data set's own code takes the rows of one array by, for another one that it takes by the number of the batch."""
    stage = next((node.location for node in evidence.flow.nodes if node.kind == "stage"), None)
    for line in lines_at(evidence, stage)[:1]:
        counts = {one.arg for one in nodes(line.scope, ast.arg)} | {ast.unparse(one.target) for one in nodes(line.scope, ast.For)}
        for given in nodes(line.scope, (ast.Return, ast.Yield)):
            parts = [assigned_to(line, one) for one in listed(given.value)]
            taken = [found for one in parts if (found := next(nodes(one, ast.Subscript), None)) is not None]
            single = [one for one in taken if isinstance(one.slice, ast.Name) and one.slice.id in counts]
            whole = [one.slice for one in taken if isinstance(one.slice, ast.Slice) or (isinstance(one.slice, ast.Name) and given_to(line.scope, one.slice))]
            if len(whole) == 1 and single:
                text = line.source.of(whole[0])
                title = f"Take the rows of the batch from {' and '.join(ast.unparse(one.value) for one in single)} at line {single[0].lineno}: [{text}]"
                yield title, [line.edit(one.slice, text) for one in single], "The number of a batch is no number of a sample."
