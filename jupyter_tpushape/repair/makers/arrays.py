"""Candidates in NumPy code that makes the data: the axis along which arrays are joined, statistics, classes."""

from __future__ import annotations

import ast

from ...examine.array_lines import labels_of
from ...examine.evidence import Evidence
from ...examine.heard import hear
from ...examine.heard_contracts import HeardUnpack
from ...examine.heard_lines import HeardBeyond
from ...flow import Finding
from ...rules.facts.arrays import ClassBeyond, JoinedApart, ListsApart
from ...rules.facts.data import DataRaised, PipelineShapes
from ...rules.facts.layers import ArraysApart
from ..edits.expression import IT, MODULE
from ..text.source import called, given_to, is_atom, nodes
from .edits import Made, of
from .line import lines_of, listed, size_of

_JOINS = ("concatenate", "stack", "append", "vstack", "hstack")
_REDUCES = frozenset({"mean", "std", "var", "sum", "max", "min", "median", "average", "amax", "amin", "ptp", "norm", "nanmean", "nanstd"})


@of(JoinedApart)
def joined_along(evidence: Evidence, finding: Finding, fact: JoinedApart) -> Made:
    """The only axis along which the arrays differ, as the one along which they are joined."""
    for line in lines_of(evidence)[:1] if fact.fits is not None else ():
        call = line.call(*_JOINS)
        if call is None:
            continue
        axis, reason = line.keyword("axis"), "The arrays have the same size on every other axis."
        if axis is not None:
            yield f"Join the arrays along axis {fact.fits} at {line.at}", [line.edit(axis, str(fact.fits))], reason
        elif called(call) in ("concatenate", "append") and len(call.args) == (2 if called(call) == "append" else 1):
            yield f"Join the arrays along axis {fact.fits} at {line.at}", [line.more(call, f"axis={fact.fits}")], reason
        elif called(call) in ("vstack", "hstack") and isinstance(call.func, ast.Attribute):
            other = {"vstack": "hstack", "hstack": "vstack"}[called(call)]
            if fact.fits == (1 if other == "hstack" else 0):
                yield f"Use {other} at {line.at}", [line.edit(call.func, f"{ast.unparse(call.func.value)}.{other}")], reason


@of(PipelineShapes)
def kept_axis(evidence: Evidence, finding: Finding, fact: PipelineShapes) -> Made:
    """Statistics of each row that keep the axis they were computed over, so that they line up with the rows."""
    small, large = sorted((fact.first, fact.second), key=len)
    for line in lines_of(evidence)[:1] if len(small) == len(large) - 1 else ():
        names = {ast.unparse(item) for item in line.operands()} | {ast.unparse(item) for item in nodes(line.scope, ast.Name)}
        calls = []
        for item in nodes(line.scope, ast.Assign):
            call = item.value
            known = line.specs.get(ast.unparse(item.targets[0]))
            if isinstance(call, ast.Call) and called(call) in _REDUCES and known is not None and known.shape == small:
                axes = [word.value for word in call.keywords if word.arg == "axis"]
                if axes and not any(word.arg == "keepdims" for word in call.keywords) and ast.unparse(item.targets[0]) in names:
                    calls.append((ast.unparse(item.targets[0]), call))
        if calls:
            yield (
                f"Pass keepdims=True where {' and '.join(name for name, _ in calls)} {'is' if len(calls) == 1 else 'are'} computed",
                [line.more(call, "keepdims=True") for _, call in calls],
                "Each row then lines up with its own value.",
            )


@of(ClassBeyond)
def counted_from(evidence: Evidence, finding: Finding, fact: ClassBeyond) -> Made:
    """Classes that are counted from another number than 0; else as many values as there are classes."""
    for line in lines_of(evidence)[:1]:
        found = [(node, labels) for node in line.around((ast.Call, ast.Subscript)) if (labels := labels_of(node)) is not None]
        for node, labels in found:
            if fact.lowest > 0 and fact.highest - fact.lowest < fact.count:
                new = f"{IT} - {fact.lowest}" if is_atom(labels) else f"({ast.unparse(labels)}) - {fact.lowest}"
                yield (
                    f"Number the classes from 0 at {line.at}: {fact.labels} minus {fact.lowest}",
                    [line.edit(labels, new)],
                    f"Classes then count from 0 to {fact.count - 1}.",
                )
            sizes = [item for item in nodes(node, ast.Constant) if size_of(item) == fact.count]
            if len(sizes) == 1:
                yield (
                    f"Use one-hot vectors of {fact.highest + 1} values at {line.at}",
                    [line.edit(sizes[0], str(fact.highest + 1))],
                    f"The labels contain class {fact.highest}.",
                )


@of(DataRaised)
def as_many_names(evidence: Evidence, finding: Finding, fact: DataRaised) -> Made:
    """As many names as a call has results: without those that nothing reads, or with the rest left aside."""
    said = hear(fact.said, HeardUnpack)
    for line in lines_of(evidence)[:1] if said is not None else ():
        for item in nodes(line.scope, ast.Assign):
            target = item.targets[0]
            if item.lineno != line.raised.line or not isinstance(target, ast.Tuple) or not isinstance(item.value, ast.Call) or said is None:
                continue
            read = {one.id for one in nodes(line.scope, ast.Name) if isinstance(one.ctx, ast.Load)}
            kept = [one for one in target.elts if not isinstance(one, ast.Name) or one.id in read]
            if said.many:
                names = f"{ast.unparse(target).strip('()')}, *_"
                yield (
                    f"Unpack {names} at {line.at}",
                    [line.edit(target, names)],
                    f"{ast.unparse(item.value)} returns more than {said.wanted} values.",
                )
            elif len(kept) < len(target.elts) and kept == target.elts[: len(kept)]:
                names = ", ".join(map(ast.unparse, kept)) + ("," if len(kept) == 1 else "")
                yield (
                    f"Unpack {names} at {line.at}",
                    [line.edit(target, names)],
                    f"{ast.unparse(item.value)} returns fewer than {said.wanted} values.",
                )


@of(ListsApart)
def padded_rows(evidence: Evidence, finding: Finding, fact: ListsApart) -> Made:
    """Lists of ids of several lengths, padded to the length that the model declares."""
    declared = [spec.shape for _, spec in evidence.declared or [] if spec.shape is not None and len(spec.shape) == 2]
    length = declared[0][1] if len(declared) == 1 else None
    for line in lines_of(evidence)[:1]:
        call = line.call("array", "asarray")
        if call is not None and call.args:
            more = f", maxlen={length}" if length is not None else ""
            yield (
                f"Pad each row at the start, with zeros{f', to {length} ids' if length is not None else ''}, at {line.at}",
                [line.edit(call, f"{MODULE}.pad_sequences({ast.unparse(call.args[0])}{more})", f"{evidence.framework}.utils")],
                "Longer rows keep their last ids."
                if length is not None and fact.longest > length
                else "Every row then has the same length.",
            )


def wider_array(evidence: Evidence, finding: Finding) -> Made:
    """The size of the array that a loop fills: what a row has, and as many rows as there are."""
    fact = finding.fact
    beyond = hear(fact.said, HeardBeyond) if isinstance(fact, DataRaised) else None
    for line in lines_of(evidence)[:1]:
        for item in line.around(ast.Assign):
            target = item.targets[0]
            made = given_to(line.scope, target.value, item.lineno) if isinstance(target, ast.Subscript) else []
            call = made[-1] if made else None
            sizes = (
                listed(call.args[0])
                if isinstance(call, ast.Call) and called(call) in ("zeros", "empty", "ones", "full") and call.args
                else []
            )
            if (
                isinstance(fact, ArraysApart)
                and fact.how == "put"
                and len(fact.first) == len(fact.second)
                and len(sizes) == len(fact.second) + 1
            ):
                off = [(i, size) for i, (size, room) in enumerate(zip(fact.first, fact.second, strict=True)) if size != room]
                if len(off) == 1 and line.number(sizes[off[0][0] + 1]) == fact.second[off[0][0]]:
                    size = sizes[off[0][0] + 1]
                    yield (
                        f"Use rows of {off[0][1]} values at line {size.lineno}",
                        [line.edit(size, str(off[0][1]))],
                        "The array then has room for each row.",
                    )
            for loop in line.around(ast.For) if beyond is not None and sizes and line.number(sizes[0]) == beyond.size else ():
                counted = isinstance(loop.iter, ast.Call) and called(loop.iter) == "enumerate" and loop.iter.args
                if counted and isinstance(counted[0], ast.Name):
                    yield (
                        f"Use len({counted[0].id}) rows at line {sizes[0].lineno}",
                        [line.edit(sizes[0], f"len({counted[0].id})")],
                        f"The loop fills one row for each entry of {counted[0].id}.",
                    )
