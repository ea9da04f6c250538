"""Candidates for tensors that are put together: stacked, joined along an axis on which they agree, or repeated."""

from __future__ import annotations

import ast
import copy

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Shape
from ...flow.syntax import called
from ...rules.facts.branches import UnlikeBranches
from ...rules.facts.layers import OperationRaised, WrongParts
from ...rules.facts.loss import GridApart
from ...rules.facts.mixing import BatchLost
from ...rules.facts.reasons_read import Multiples
from ...rules.reasons import one_sample, one_step
from ...rules.words import STACKS
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of, received, setting, upstream
from .ends import ends_of
from .line import calls_at, lines_at, lines_of, listed, short, whole_number
from .operands import JOINS
from .sliced import last_slices


def one_axis_each(evidence: Evidence, finding: Finding) -> Made:
    """Vectors stacked in place of joined, where what they meet has one row for each of them."""
    edges = received(evidence)
    for mine, other in ((edges[0], edges[1]), (edges[1], edges[0])) if len(edges) == 2 else ():
        node, rows = evidence.flow.node(mine.source), other.spec.shape or ()
        parts = [edge.spec.shape for edge in evidence.flow.into(node.id)]
        if len(parts) < 2 or len(set(parts)) > 1 or not parts[0] or len(parts[0]) != 2 or rows[-2:] != (len(parts), parts[0][1]):
            continue
        if (mine.spec.shape or (0,))[-1] != len(parts) * (parts[0][1] or 0):
            continue
        for line in lines_at(evidence, node.called or node.location):
            call = line.node
            if isinstance(call, ast.Call) and len(call.args) > 0 and called(call) in JOINS:
                yield (
                    f"Stack the {len(parts)} vectors along a new axis at line {call.lineno}",
                    [line.edit(call, f"{MODULE}.stack({line.source.of(call.args[0])}, axis=1)", line.module())],
                    f"{evidence.flow.node(other.source).name} has one row for each of them.",
                )


def stacked_parts(evidence: Evidence, finding: Finding) -> Made:
    """Vectors stacked along an axis of their own, where the loss takes one after the other from that axis and a concatenation left none."""
    for line in lines_of(evidence)[:1] if evidence.where == "loss" else ():
        taken = [(ast.unparse(item.value), item.slice.elts[1].value) for item in nodes(line.scope, ast.Subscript) if _column(item)]
        for node in evidence.flow.nodes:
            edges = evidence.flow.into(node.id)
            rows = {edge.spec.shape for edge in edges}
            whole = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
            names = {name for name, _ in taken if {at for one, at in taken if one == name} == set(range(len(edges)))}
            if len(rows) != 1 or len(edges) < 2 or not names or not whole or len(whole) != 2 or node.family != "merge":
                continue
            for place in lines_at(evidence, node.called or node.location):
                parts = place.node.args[0] if isinstance(place.node, ast.Call) and place.node.args else None
                if isinstance(parts, (ast.List, ast.Tuple)) and len(parts.elts) == len(edges):
                    stack = f"{MODULE}.stack({ast.unparse(parts)}, axis=1)"
                    yield (
                        f"Stack the {len(edges)} vectors along a new axis at line {parts.lineno}",
                        [place.edit(place.node, stack, place.module())],  # type: ignore[arg-type]
                        f"The loss reads {min(names)}[:, i] as vector i of a sample.",
                    )


@of(OperationRaised)
def joined_vectors(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Vectors joined in one row, where the loss cuts a row into them and a stack has an axis of its own for them."""
    for line in lines_of(evidence)[:1] if evidence.where == "loss" else ():
        bounds = {line.number(at) for _, cut in last_slices(line) for at in (cut.lower, cut.upper) if at is not None}
        for node in evidence.flow.nodes:
            whole = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
            if whole not in fact.shapes or whole is None or len(whole) != 3 or whole[2] not in bounds or node.op not in STACKS:
                continue
            for place, call in calls_at(evidence, node.called, "stack"):
                axis = place.keyword("axis")
                if axis is not None and isinstance(call.func, ast.Attribute) and call.args:
                    join = "concat" if place.module() == "tensorflow" else "concatenate"
                    yield (
                        f"Join the {whole[1]} vectors into one row at {place.at}: {join} instead of stack",
                        [place.edit(call, f"{ast.unparse(call.func.value)}.{join}({ast.unparse(call.args[0])}, axis=-1)")],
                        f"The loss cuts each row into slices of {whole[2]} values.",
                    )


def _column(node: ast.Subscript) -> bool:
    at = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    return len(at) == 2 and isinstance(at[0], ast.Slice) and isinstance(at[1], ast.Constant) and type(at[1].value) is int


@of(OperationRaised)
def axis_that_differs(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The one axis on which the tensors differ."""
    shapes = [shape for shape in fact.shapes if shape]
    if len(shapes) < 2 or len({len(shape) for shape in shapes}) > 1:
        return
    apart = [axis for axis, sizes in enumerate(zip(*shapes, strict=True)) if len(set(sizes)) > 1]
    for line in lines_of(evidence)[:1] if len(apart) == 1 and apart[0] else ():
        call = line.call(*JOINS)
        axis = argument(call, "axis", ["values", "axis"]) if call is not None else None
        written = 0 if axis is None else whole_number(axis)
        rank, new = len(shapes[0]), apart[0] if apart[0] < len(shapes[0]) - 1 else -1
        if call is None or written is None or not -rank <= written < rank or written % rank == apart[0]:
            continue
        if axis is not None and fact.cause is not None and fact.cause.kind == "unpadded":
            continue  # features were meant to be joined, and padding keeps the positions
        yield (
            f"Concatenate along axis {new} at {line.at}, the one that differs",
            [line.edit(axis, str(new)) if isinstance(axis, ast.expr) else line.more(call, f"axis={new}")],
            "All other axes match.",
        )


# The arguments that say how many features a layer gives.
_WIDTHS = ("units", "filters", "output_dim")


@of(UnlikeBranches)
def as_wide_as_the_other(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """The layer that gives a branch its features with as many as the other has."""
    node, edges = evidence.failed, evidence.operands()
    shapes = [edge.spec.shape or () for edge in edges]
    if node is None or len(shapes) != 2:
        return
    if fact.axis is None:
        yield from _table(evidence, edges, shapes)
    if node.op != "Concatenate" or len({len(shape) for shape in shapes}) != 1 or len(shapes[0]) < 3:
        return
    axis = node.config.get("axis", -1)
    rank = len(shapes[0])
    if not isinstance(axis, int) or axis % rank == rank - 1:
        return
    apart = [i for i, (a, b) in enumerate(zip(*shapes, strict=True)) if a != b and i != axis % rank]
    if apart != [rank - 1]:
        return
    for mine, other in sorted(((0, 1), (1, 0)), key=lambda pair: shapes[pair[0]][-1] or 0):
        (maker, key), wanted = _maker(evidence, evidence.flow.node(edges[mine].source), shapes[mine][-1]), shapes[other][-1]
        if maker is not None and wanted and wanted > 1:
            name = evidence.flow.node(edges[other].source).name
            why = f"Branches that are joined along axis {axis % rank} need features of one size."
            yield setting(maker, key, wanted, f", the size of {name}", why)


def _table(evidence: Evidence, edges: list[Edge], shapes: list[Shape]) -> Made:
    """A table that is added to every sample, such as one vector for each position: it has the features that the samples have."""
    for mine, other in ((0, 1), (1, 0)):
        table, whole = shapes[mine], shapes[other]
        if len(table) != len(whole) - 1 or whole[0] is not None or table[:-1] != whole[1:-1] or not whole[-1]:
            continue
        maker, key = _maker(evidence, evidence.flow.node(edges[mine].source), table[-1])
        if maker is not None:
            name = evidence.flow.node(edges[other].source).name
            yield setting(maker, key, whole[-1], f", the size of {name}", "It is added to every sample, feature by feature.")


def _maker(evidence: Evidence, node: Node, width: int | None) -> tuple[Node | None, str]:
    """The layer whose own number is the size of the last axis, through layers that keep it, and the argument."""
    for item in [node, *upstream(evidence, node)]:
        key = next((key for key in _WIDTHS if item.config.get(key) == width), "")
        if key and item.weights:
            return item, key
        given = next((edge.spec.shape for edge in evidence.flow.into(item.id)), None)
        if item.weights or not given or given[-1] != width:
            break
    return None, ""


@of(OperationRaised)
def as_many_axes(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """An axis in front of the tensor for each multiple too many."""
    reason = fact.reason
    for line in lines_of(evidence)[:1] if isinstance(reason, Multiples) else ():
        assert isinstance(reason, Multiples)
        call = line.call("tile", "pad")
        more = reason.count - len(reason.shape)
        written = argument(call, "multiples", ["x", "multiples"]) if call is not None else None
        if call is None or not call.args:
            continue
        if called(call) == "pad":
            if written is not None and listed(written) and more == -1:
                new = ", ".join(["[0, 0]", *map(ast.unparse, listed(written))])
                yield (f"Pad by [{new}] at {line.at}", [line.edit(written, f"[{new}]")], "The batch axis stays as it is, and each axis has one pair.")
        elif more > 0:
            yield (
                f"Add {'an axis' if more == 1 else f'{more} axes'} of size 1 before the others of {short(call.args[0])} at {line.at}",
                [line.edit(call.args[0], f"{IT}[{', '.join(['None'] * more)}]")],
                f"There are {reason.count} multiples.",
            )
        elif listed(written):
            assert written is not None
            new = ", ".join([*map(ast.unparse, listed(written)), *["1"] * -more])
            yield f"Repeat by [{new}] at {line.at}", [line.edit(written, f"[{new}]")], "Each axis has one multiple."


@of(BatchLost)
def multiple_of_each(evidence: Evidence, finding: Finding, fact: BatchLost) -> Made:
    """A multiple of 1 for each axis without one, where a library counts the multiples from the last axis on."""
    rank = len(fact.shape)
    for line in lines_at(evidence, fact.maker.called)[:1] if fact.sized else ():
        for call in nodes(line.scope, ast.Call):
            written = argument(call, "repeats", ["x", "repeats"]) if called(call) == "tile" else None
            if written is not None and 0 < len(listed(written)) < rank:
                new = ", ".join([*map(ast.unparse, listed(written)), *["1"] * (rank - len(listed(written)))])
                yield (
                    f"Repeat by [{new}] at line {written.lineno}",
                    [line.edit(written, f"[{new}]")],
                    f"The tensor has {rank} axes. Fewer multiples are those of its last axes.",
                )


def repeated(evidence: Evidence, finding: Finding) -> Made:
    """One row, such as a class token, for each sample of the batch that it is joined with."""
    node = evidence.failed
    for line in lines_of(evidence) if node is not None else []:
        operands = line.shaped()
        single = one_sample(node, [shape for _, shape in operands]) if node is not None else None
        if single is None:
            continue
        axes = len(single[1]) - len(single[0])
        names = [item for item, shape in operands if shape == single[1] and isinstance(item, (ast.Name, ast.Attribute))]
        for item, shape in operands:
            if shape != single[0] or not names:
                continue
            rows = f"{MODULE}.shape({ast.unparse(names[0])})[0]"
            inner = f"*{IT}.shape{'[1:]' * (not axes)}" if isinstance(item, (ast.Name, ast.Attribute)) else ", ".join(map(str, shape[not axes :]))
            yield (
                f"Repeat {short(item)} for each sample of {short(names[0])} at {line.at}",
                [line.edit(item, f"{MODULE}.broadcast_to({IT}, ({rows}, {inner}))", line.module())],
                "Every sample is then concatenated with the same row.",
            )


def repeated_step(evidence: Evidence, finding: Finding) -> Made:
    """One step, such as a context, for each step of what it is joined with along the features."""
    node = evidence.failed
    if node is None or node.kind != "op":
        return
    for line in lines_of(evidence):
        operands = line.shaped()
        found = one_step(node, [shape for _, shape in operands])
        if found is None:
            continue
        single, many, axis = found
        names = [item for item, shape in operands if shape == many and isinstance(item, (ast.Name, ast.Attribute))]
        for item in [item for item, shape in operands if shape == single][:1] if names else ():
            yield (
                f"Repeat {short(item)} along axis {axis} for each step of {short(names[0])} at {line.at}",
                [line.edit(item, f"{MODULE}.repeat({IT}, {MODULE}.shape({ast.unparse(names[0])})[{axis}], axis={axis})", line.module())],
                "Every step is then concatenated with the same values.",
            )


@of(OperationRaised)
def repeated_along(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Another axis for the repetitions of a function."""
    for line in lines_of(evidence)[:1]:
        axes: dict[tuple[str, str], list[tuple[ast.expr, int]]] = {}
        for call in nodes(line.scope, ast.Call):
            along = argument(call, "axis", ["x", "repeats", "axis"]) if called(call) == "repeat" else None
            count = argument(call, "repeats", ["x", "repeats"])
            shape = line.shape(call.args[0]) if call.args else None
            if isinstance(along, ast.Constant) and type(along.value) is int and along.value > 0 and count is not None:
                axes.setdefault((ast.unparse(count), ast.unparse(along)), []).append((along, len(shape or ())))
        for (times, written), found in axes.items():
            rank = max(rank for _, rank in found)
            for other in [n for n in range(1, rank or 1) if str(n) != written]:
                yield (
                    f"Repeat along axis {other} instead of {written} at line {found[0][0].lineno}",
                    [line.edit(along, str(other)) for along, _ in found],
                    f"Axis {other} then has {times} times its size.",
                )


@of(OperationRaised)
def repeated_alike(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The step that a tensor's sibling went through."""
    for line in lines_of(evidence)[:1]:
        for item in nodes(line.scope, ast.Assign):
            call, target = item.value, item.targets[0]
            if not isinstance(call, ast.Call) or not call.args or item.lineno >= line.raised.line or not isinstance(target, ast.Name):
                continue
            made = line.shape_of_names().get(target.id)
            for node, shape in line.shaped():
                axis = _more_of(shape, made)
                # What is repeated is the first argument, and no part of the other tensor.
                if axis and isinstance(call.args[0], ast.Name) and isinstance(node, ast.Name) and node.id not in (target.id, call.args[0].id):
                    again = copy.deepcopy(call)
                    again.args[0] = node
                    yield (
                        f"Repeat {node.id} along axis {axis} at {line.at}, as line {item.lineno} does for {call.args[0].id}",
                        [line.edit(node, ast.unparse(again))],
                        f"Both then have size {(made or ())[axis]} on that axis.",
                    )


def _more_of(few: Shape, many: Shape | None) -> int | None:
    """The axis behind the batch on which one shape has several times the size of another, and no other axis differs."""
    if many is None or len(few) != len(many):
        return None
    apart = [axis for axis, (a, b) in enumerate(zip(few, many, strict=True)) if a != b]
    a, b = (few[apart[0]], many[apart[0]]) if len(apart) == 1 else (None, None)
    return apart[0] if a and b and a > 1 and b > a and b % a == 0 else None


@of(WrongParts)
def repeated_weight(evidence: Evidence, finding: Finding, fact: WrongParts) -> Made:
    """One row of a weight for each sample, where an attention is given the weight itself."""
    for line in lines_of(evidence)[:1] if fact.weight else ():
        mine = [node for node in line.operands() if ast.unparse(node) == fact.weight]
        other = [node for node in line.operands() if isinstance(node, ast.Name) and len(line.shape(node) or ()) == 3]
        if len(mine) == 1 and other:
            rows = f"{MODULE}.shape({ast.unparse(other[0])})[0]"
            yield (
                f"Repeat {fact.weight} for each sample of {short(other[0])} at {line.at}",
                [line.edit(mine[0], f"{MODULE}.repeat({fact.weight}[None], {rows}, axis=0)", line.module())],
                "Every sample then receives the same rows.",
            )


@of(GridApart)
def stacked_behind(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """Outputs stacked along the axis on which the labels have one entry for each of them."""
    _, predictions = ends_of(evidence, finding)
    head = evidence.flow.node(predictions.source) if predictions is not None else None
    *rest, parts = fact.predictions
    for line, _ in calls_at(evidence, head.called, "stack") if head is not None else ():
        axis = line.keyword("axis")
        for place in range(1, len(rest)):
            shape = (*rest[:place], parts, *rest[place:])
            if axis is not None and fact.labels in (shape, shape[:-1], (*shape[:-1], 1)):
                yield (
                    f"Stack along axis {place} instead of {ast.unparse(axis)} at {line.at}",
                    [line.edit(axis, str(place))],
                    f"The labels have one entry for each of the {parts} outputs there.",
                )
