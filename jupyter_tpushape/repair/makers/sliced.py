"""Candidates for slices that do not take a row apart as it is made: parts of another size, values that no part has, and layers that are too narrow."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, show_shape
from ...flow.syntax import is_new_axis
from ...rules.facts.layers import OperationRaised, WrongRank
from ...rules.facts.reasons_read import EmptySlice, SamplesSliced, SliceEmpty
from ...rules.words import SLICES
from ...trace.axes import recurs
from ..edits.expression import MODULE
from ..text.source import nodes
from .edits import Made, configure, created, named, of
from .line import Line, lines_at, lines_of, listed, own_layer, short, size_of, whole_number, written_in
from .numbers import where_of


def parts_of(evidence: Evidence, finding: Finding) -> Made:
    """The bounds of slices that cut an axis into equal parts."""
    line = next(iter(lines_of(evidence)), None)
    sliced = [evidence.flow.node(edge.source) for edge in evidence.failed_inputs()]
    wholes = {one.spec.shape for node in sliced if node.op.lower() in SLICES for one in evidence.flow.into(node.id) if one.spec.shape}
    if line is None or len(wholes) != 1 or len(sliced) != 2:
        return
    size = wholes.pop()[-1]
    slices = [part for _, part in last_slices(line)]
    bounds = [bound for one in slices for bound in (one.lower, one.upper) if (size_of(bound) or 0) > 0]
    numbers = sorted({size_of(bound) or 0 for bound in bounds})
    width = numbers[0] if numbers else 0
    # What is left after the last bound is a part, too.
    parts = len(numbers) + any(one.upper is None and size_of(one.lower) == numbers[-1] for one in slices if numbers)
    if not size or parts < 2 or any(n != (i + 1) * width for i, n in enumerate(numbers)) or size % parts or size == parts * width:
        return
    part = size // parts
    yield (
        f"Split the {size} values into {parts} slices of {part} in {where_of(evidence, line)}",
        [line.edit(bound, str((size_of(bound) or 0) // width * part)) for bound in bounds if bound is not None],
        f"The code uses slices of {width}.",
    )


def without_gap(evidence: Evidence, finding: Finding) -> Made:
    """Where a part of a row begins or ends, so that the parts of it follow each other and no value is left out or taken twice."""
    for line in lines_of(evidence)[:1]:
        cut: dict[str, list[ast.Slice]] = {}
        for name, part in last_slices(line):
            if part.step is None:
                cut.setdefault(name, []).append(part)
        for whole, parts in cut.items():
            bounds = sorted(((_bound(one.lower, 0), one) for one in parts), key=lambda pair: pair[0] if pair[0] is not None else -1)
            if len(bounds) < 2 or any(start is None for start, _ in bounds):
                continue
            for (_, one), (start, next_one) in itertools.pairwise(bounds):
                end = _bound(one.upper, None)
                if end is None or start == end or next_one.lower is None or one.upper is None:
                    continue
                said = f"{whole} is split at {end} and at {start}."
                for bound, new in ((next_one.lower, one.upper), (one.upper, next_one.lower)):
                    yield (
                        f"Replace {ast.unparse(bound)} with {ast.unparse(new)} in the slice of {whole} at line {bound.lineno}",
                        [line.edit(bound, ast.unparse(new))],
                        said,
                    )


def cut_short(evidence: Evidence, finding: Finding) -> Made:
    """The number at which a layer of the user's own cuts an axis."""
    owner = own_layer(evidence)
    for line in lines_of(evidence)[:1] if owner is not None else ():
        for node in line.operands():
            index = node.slice.elts if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else []
            shape = line.shape(node)
            for axis, part in enumerate(index if shape and len(index) <= len(shape) else ()):
                end = part.upper if isinstance(part, ast.Slice) and part.lower is None and part.step is None else None
                number = line.number(end) if isinstance(end, ast.Attribute) else None
                size = shape[axis] if shape else None
                if owner is None or not isinstance(end, ast.Attribute) or not number or not size or size >= number:
                    continue
                if owner.config.get(end.attr, number) == number:
                    yield created(owner, end.attr, size, "", f"Axis {axis} has only {size} values, and the slice ends at {number}.")


@of(OperationRaised)
def table_as_long(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """As many rows of a longer table of the program's own as the other operand has steps."""
    fixed = [one.spec.shape for one in evidence.given if one.giver is None and not one.grows]
    for line in lines_of(evidence)[:1]:
        for (table, shape), (node, its) in itertools.permutations(line.shaped(), 2):
            more = len(its) - len(shape)
            apart = [i for i, size in enumerate(shape) if more + i >= 0 and size not in (1, its[more + i])]
            axis = apart[0] if len(apart) == 1 and apart[0] < len(shape) - 1 else -1  # features are no steps
            if shape not in fixed or axis < 0 or more + axis < 1 or not isinstance(node, ast.Name) or (shape[axis] or 0) <= (its[more + axis] or 2**31):
                continue
            steps = f":{MODULE}.shape({node.id})[{more + axis}]"
            parts = table.slice.elts if isinstance(table, ast.Subscript) and isinstance(table.slice, ast.Tuple) else []
            part = parts[axis] if len(parts) == len(shape) and all(isinstance(one, ast.Slice) or is_new_axis(one) for one in parts) else None
            if not isinstance(part, ast.Slice) or part.upper is not None or part.lower is not None:
                continue
            yield (
                f"Use the rows of {short(table)} that {node.id} has steps for, at {line.at}",
                [line.edit(part, steps, line.module())],
                f"The table has {shape[axis]} rows, for sequences of any length up to that.",
            )


def other_axis(evidence: Evidence, finding: Finding) -> Made:
    """One place of another axis, where the other operand has every axis but that."""
    for line in lines_of(evidence)[:1]:
        for node, other in itertools.permutations(line.operands(), 2):
            index = node.slice.elts if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else []
            whole = line.specs.get(ast.unparse(node.value)) if isinstance(node, ast.Subscript) and index else None
            shape, wanted = (whole.shape if whole is not None else None), line.shape(other)
            picks = [i for i, one in enumerate(index) if not isinstance(one, ast.Slice)]
            if not shape or not wanted or len(picks) != 1 or len(wanted) != len(shape) - 1 or not _is_place(index[picks[0]]):
                continue
            fits = [axis for axis in range(1, len(shape)) if (*shape[:axis], *shape[axis + 1 :]) == wanted]
            if len(fits) == 1 and fits != picks and all(ast.unparse(one) == ":" for i, one in enumerate(index) if i not in picks):
                place = ast.unparse(index[picks[0]])
                new = f"{ast.unparse(node.value)}[{', '.join([':'] * fits[0] + [place]) if fits[0] < len(shape) - 1 else f'..., {place}'}]"  # type: ignore[attr-defined]
                yield (
                    f"Select along axis {fits[0]} at line {node.lineno}: {new}",
                    [line.edit(node, new)],
                    f"The result then has the shape of {short(other)}, {show_shape(wanted)}.",
                )


def _is_place(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.BinOp)) or (isinstance(node, ast.Constant) and type(node.value) is int)


def last_slices(line: Line) -> Iterator[tuple[str, ast.Slice]]:
    """The slices along the last axis that the function takes, each with what it takes a slice of."""
    for item in nodes(line.scope, ast.Subscript):
        last = item.slice.elts[-1] if isinstance(item.slice, ast.Tuple) and item.slice.elts else None
        if isinstance(last, ast.Slice):
            yield ast.unparse(item.value), last


def _bound(node: ast.expr | None, without: int | None) -> int | None:
    return without if node is None else size_of(node)


@of(WrongRank)
def feature_of_each(evidence: Evidence, finding: Finding, fact: WrongRank) -> Made:
    """One feature of every step, in place of all features of one step."""
    node, edges = evidence.failed, evidence.failed_inputs()
    if node is None or not recurs(node) or fact.given != fact.wanted - 1 or len(edges) != 1:
        return
    giver = evidence.flow.node(edges[0].source)
    whole = next((edge.spec.shape for edge in evidence.flow.into(giver.id) if edge.spec.shape), ())
    if len(whole) != 3 or edges[0].spec.shape != (whole[0], whole[2]):
        return
    for line in lines_at(evidence, giver.location or giver.called)[:1]:
        for item in line.around(ast.Subscript):
            at = listed(item.slice)
            number = whole_number(at[1]) if len(at) == 2 and isinstance(at[0], ast.Slice) else None
            if number is not None and 0 <= number < (whole[2] or 0):
                new = f"{line.source.of(item.value)}[:, :, {number}:{number + 1}]"
                yield (
                    f"Take feature {number} of every step at line {item.lineno}: {new}",
                    [line.edit(item, new)],
                    f"{node.name} reads a sequence, and {ast.unparse(item)} is one step.",
                )


@of(OperationRaised)
def columns_of_each(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Columns in place of samples in every slice of a function with both ends written."""
    if not isinstance(fact.reason, SamplesSliced):
        return
    for line in lines_of(evidence)[:1]:
        parts = [one for one in nodes(line.scope, ast.Subscript) if isinstance(one.slice, ast.Slice) and isinstance(one.value, ast.Name)]
        whole = [one for one in parts if one.slice.lower is not None and one.slice.upper is not None]
        ahead = ":, " if fact.reason.rank == 2 else "..., "
        yield (
            f"Take columns of every sample: {', '.join(dict.fromkeys(f'{one.value.id}[{ahead}{ast.unparse(one.slice)}]' for one in whole))}",
            [line.edit(one.slice, f"{ahead}{line.source.of(one.slice)}") for one in whole],
            "Axis 0 is the batch.",
        )


def as_wide(evidence: Evidence, finding: Finding) -> Made:
    """The size that all slices need, as the end of the last one is written, else as a number."""
    fact = finding.fact
    gone = fact.slice if isinstance(fact, EmptySlice) else fact.reason if isinstance(fact, OperationRaised) else None
    if not isinstance(gone, SliceEmpty) or not gone.argument:
        return
    node = named(evidence, gone.giver)
    why = f"The slices reach up to {gone.stop}."
    for line in lines_at(evidence, node.location)[:1] if node is not None and not gone.end.isdigit() else ():
        assert node is not None
        fits = [one for one in written_in(line, node, gone.argument) if line.number(one) in (None, gone.size)]
        if len(fits) == 1:
            yield f"Set {gone.argument}={gone.end} on {gone.giver}", [line.edit(fits[0], gone.end)], why
    yield f"Set {gone.argument}={gone.stop} on {gone.giver}", [configure(gone.giver, **{gone.argument: gone.stop})], why
