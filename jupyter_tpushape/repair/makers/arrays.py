"""Candidates in NumPy code that makes the data: the axis along which arrays are joined or sliced, statistics, classes, and the order of rows and axes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.array_lines import labels_of
from ...examine.evidence import Evidence
from ...examine.row_order import Draw
from ...examine.row_steps import Array, odd_steps
from ...flow import Finding, show_shape
from ...flow.paths import show
from ...flow.syntax import called
from ...rules.entry import matched
from ...rules.facts.arrays import ClassBeyond, JoinedApart, ListsApart, ResultsApart, RowBeyond
from ...rules.facts.data import PipelineShapes
from ...rules.facts.layers import ArraysApart
from ...rules.facts.mixing import Interleaved
from ...rules.facts.orders import StepsReversed
from ...rules.words import listed as listed_words
from ..edits import Edit
from ..edits.expression import IT, MODULE
from ..text.source import free_name, given_to, is_atom, nodes
from .edits import Made, of
from .entry import declaration
from .line import Line, lines_at, lines_of, listed, reshaped, size_of
from .same_rows import line_in, places_behind
from .transposed import permutation

_JOINS = ("concatenate", "stack", "append", "vstack", "hstack")


@of(JoinedApart)
def joined_along(evidence: Evidence, finding: Finding, fact: JoinedApart) -> Made:
    """The only axis along which the arrays differ."""
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
    """Statistics of each row that keep the axis they were computed over."""
    small, large = sorted((fact.first, fact.second), key=len)
    for line in lines_of(evidence)[:1] if len(small) == len(large) - 1 else ():
        calls = {}
        for item in nodes(line.scope, ast.Assign):
            name, words = ast.unparse(item.targets[0]), {word.arg for word in getattr(item.value, "keywords", ())}
            if isinstance(item.value, ast.Call) and line.shape_of_names().get(name) == small and "axis" in words and "keepdims" not in words:
                calls[name] = item.value
        if calls:
            yield (
                f"Pass keepdims=True where {listed_words(tuple(calls))} {'is' if len(calls) == 1 else 'are'} computed",
                [line.more(call, "keepdims=True") for call in calls.values()],
                "Each row then lines up with its own value.",
            )


@of(ClassBeyond)
def counted_from(evidence: Evidence, finding: Finding, fact: ClassBeyond) -> Made:
    """Classes that are counted from another number than 0."""
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


@of(ResultsApart)
def as_many_names(evidence: Evidence, finding: Finding, fact: ResultsApart) -> Made:
    """As many names as a call has results."""
    for line in lines_of(evidence)[:1]:
        for item in line.around(ast.Assign):
            target = item.targets[0]
            if not isinstance(target, ast.Tuple) or not isinstance(item.value, ast.Call):
                continue
            read = {one.id for one in nodes(line.scope, ast.Name) if isinstance(one.ctx, ast.Load)}
            kept = [one for one in target.elts if not isinstance(one, ast.Name) or one.id in read]
            names = [line.source.of(one) for one in (target.elts if fact.many else kept)]
            if not fact.many and (len(kept) == len(target.elts) or kept != target.elts[: len(kept)]):
                continue
            new = ", ".join([*names, *(["*_"] if fact.many else [])]) + ("," if len(names) == 1 and not fact.many else "")
            yield (
                f"Unpack {new} at {line.at}",
                [line.edit(target, new)],
                f"{ast.unparse(item.value)} returns {'more' if fact.many else 'fewer'} than {fact.wanted} values.",
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
                "Longer rows keep their last ids." if length is not None and fact.longest > length else "Every row then has the same length.",
            )


@of(ArraysApart)
def rows_as_wide(evidence: Evidence, finding: Finding, fact: ArraysApart) -> Made:
    """The size of a row in an array that is filled row by row."""
    off = [(axis + 1, *pair) for axis, pair in enumerate(zip(fact.first, fact.second, strict=False)) if pair[0] != pair[1]]
    if fact.how != "put" or len(fact.first) != len(fact.second) or len(off) != 1:
        return
    axis, wide, room = off[0]
    for line, sizes in _filled(evidence):
        if len(sizes) == len(fact.second) + 1 and line.number(sizes[axis]) == room:
            yield (f"Use rows of {wide} values at line {sizes[axis].lineno}", [line.edit(sizes[axis], str(wide))], "The array then has room for each row.")


@of(RowBeyond)
def as_many_rows(evidence: Evidence, finding: Finding, fact: RowBeyond) -> Made:
    """The number of rows of an array that a loop fills."""
    for line, sizes in _filled(evidence):
        for loop in line.around(ast.For) if line.number(sizes[0]) == fact.size else ():
            entries = loop.iter.args[0] if called(loop.iter) == "enumerate" and loop.iter.args else None
            if isinstance(entries, ast.Name):
                yield (
                    f"Use len({entries.id}) rows at line {sizes[0].lineno}",
                    [line.edit(sizes[0], f"len({entries.id})")],
                    f"The loop fills one row for each entry of {entries.id}.",
                )


def _filled(evidence: Evidence) -> Iterator[tuple[Line, list[ast.expr]]]:
    for line in lines_of(evidence)[:1]:
        for item in line.around(ast.Assign):
            target = item.targets[0]
            for made in given_to(line.scope, target.value, item.lineno)[-1:] if isinstance(target, ast.Subscript) else ():
                sizes = listed(made.args[0]) if isinstance(made, ast.Call) and made.args else []
                if sizes:
                    yield line, sizes


_ALL = ":"


def sliced_alike(evidence: Evidence, finding: Finding) -> Made:
    """The slice of one array moves to the axis along which the same data is sliced beside it."""
    arrays: tuple[Array, ...] = evidence.facts.get("arrays", ())
    for _, step in odd_steps(arrays):
        if step.kind != "cut" or not isinstance(step.node, ast.Subscript) or not isinstance(step.index_node, ast.Slice):
            continue
        held = ast.unparse(step.inner)
        beside = [one for one in nodes(step.scope, ast.Subscript) if one is not step.node and ast.unparse(one.value) == held]
        axes = {axis for one in beside if (axis := _axis(one)) is not None}
        if len(axes) != 1:
            continue
        (axis,) = axes
        written = [ast.unparse(one) for one in listed(step.node.slice)] or [step.index]
        if any(part != _ALL for part in written[1:]):
            continue
        index = ", ".join([*[_ALL] * axis, step.index])
        for line in line_in(evidence, step.file, step.node):
            yield (
                f"Move the slice to axis {axis} at line {step.node.lineno}: {held}[{index}]",
                [line.edit(step.node, f"{held}[{index}]")],
                f"{held} is sliced along axis {axis} beside it; axis 0 has the samples.",
            )


def _axis(node: ast.Subscript) -> int | None:
    parts = listed(node.slice)
    cut = [place for place, part in enumerate(parts) if ast.unparse(part) != _ALL]
    return cut[0] if len(cut) == 1 and cut[0] > 0 and isinstance(parts[cut[0]], ast.Slice) else None


def one_order(evidence: Evidence, finding: Finding) -> Made:
    """The order of one array for the other too."""
    orders = evidence.facts.get("orders")
    if orders is None:
        return
    draw: Draw = orders.draw
    for line in line_in(evidence, draw.at.file, draw.node):
        if draw.call is not None and called(draw.call) == "repeat":
            array, times = map(line.source.of, draw.call.args)
            edit = line.edit(draw.node, f"{MODULE}.concatenate([{array}] * {times})", "numpy")
            yield f"Repeat {show(orders.one.path)} as a whole at {line.at}", [edit], "Row i of each array is then the same sample."
            return
        name = draw.order or free_name(line.scope, "order")
        shared = [] if draw.order else _drawn_once(line, draw, name)
        if not draw.order and not shared:
            return
        index = draw.step.index if draw.order and draw.step is not None else name
        mine = orders.theirs
        if mine is not None:  # the other array has an order of its own
            own = list(line_in(evidence, mine.at.file, mine.node))
            edits = [edit for there in own for edit in _instead(there, mine, index)]
        else:
            edits = _ordered(evidence, orders.other, draw, index)
        if edits:
            yield (
                f"Use one order for {show(orders.one.path)} and {show(orders.other.path)}: [{index}]",
                [*edits, *shared],
                "Row i of each array is then the same sample.",
            )


def windows_as_made(evidence: Evidence, finding: Finding) -> Made:
    """The windows of a series without the reshape, and the model's input declared so."""
    found = evidence.facts.get("swapped_axes")
    if found is None:
        return
    shape = (found.steps, found.features)
    declared = [
        declaration(evidence, door, shape)
        for (door, want), (path, _) in matched(evidence)
        if path == found.array.path and (want.shape or ())[1:] == shape[::-1]
    ]
    for line in line_in(evidence, found.at.file, found.call):
        if found.beside:
            edit = line.edit(found.call, f"{MODULE}.swapaxes({line.source.of(found.inner)}, 1, 2)", "numpy")
            yield f"Swap the axes in place of the reshape at {line.at}", [edit], "Moves the values along with the axes."
            return
        yield (
            f"Remove the reshape at {line.at}{f', and declare the input as {show_shape(shape)}' if declared else ''}",
            [line.without(found.call, found.inner), *declared],
            "Each sample then has one row for each step.",
        )


def turned_pictures(evidence: Evidence, finding: Finding) -> Made:
    """A transpose of pictures in place of the reshape that was to move their channels."""
    for one in evidence.facts.get("turned_pictures") or ():
        order = (0, 2, 3, 1) if one.after == (*one.before[1:], one.before[0]) else (0, 3, 1, 2)
        for line in line_in(evidence, one.at.file, one.call):
            edit = line.edit(one.call, f"{MODULE}.transpose({line.source.of(one.inner)}, {order})", "numpy")
            yield f"Transpose in place of the reshape at {line.at}: {order}", [edit], "Moves the values along with the axes."


@of(Interleaved)
def moved_instead(evidence: Evidence, finding: Finding, fact: Interleaved) -> Made:
    """A transpose in place of the reshape."""
    order = permutation(fact.before, fact.after)
    for line in lines_at(evidence, finding.location) if order is not None else ():
        given, _ = reshaped(line)
        if given is not None and isinstance(line.node, ast.expr):
            new = f"{MODULE}.transpose({line.source.of(given)}, {order})"
            yield (f"Transpose in place of the reshape at {line.at}", [line.edit(line.node, new, "tensorflow")], "Moves the values along with the axes.")


def _ordered(evidence: Evidence, other: Array, draw: Draw, index: str) -> list[Edit]:
    cuts = [step for step in other.steps if step.kind == "cut"]
    if not cuts:
        return [line.edit(node, f"{IT}[{index}]") for _, line, node in places_behind(evidence, [other], draw.at.scope, draw.node.lineno)]
    if len(cuts) > 1 or not draw.order or not isinstance(cuts[0].node, ast.Subscript) or cuts[0].scope is not draw.at.scope:
        return []
    given = cuts[0].node.slice
    rest = ", ".join([index, *map(ast.unparse, given.elts[1:])]) if isinstance(given, ast.Tuple) else index
    return [line.edit(cuts[0].node, f"{line.source.of(cuts[0].inner)}[{rest}]") for line in line_in(evidence, cuts[0].file, cuts[0].node)]


def _drawn_once(line: Line, draw: Draw, name: str) -> list[Edit]:
    call = draw.call
    if call is None or not isinstance(call.func, ast.Attribute):
        return []
    maker = ast.unparse(call.func.value)
    if draw.step is None:  # a statement shuffles the array where it is
        array = ast.unparse(call.args[0])
        indent = line.source.indent(draw.node)
        return [line.edit(draw.node, f"{name} = {maker}.permutation(len({array}))\n{indent}{array}[:] = {array}[{name}]")]
    statement = line.around(ast.stmt)[-1]
    given = ast.unparse(call) if draw.step.kind == "cut" else f"{maker}.permutation(len({ast.unparse(call.args[0])}))"
    before = line.before(statement, f"{name} = {given}")
    return [line.edit(draw.node, f"{line.source.of(draw.step.inner)}[{name}]"), before]


def _instead(line: Line, draw: Draw, index: str) -> list[Edit]:
    if draw.step is None:
        array = ast.unparse(draw.call.args[0]) if draw.call is not None else ""
        return [line.edit(draw.node, f"{array}[:] = {array}[{index}]")]
    return [line.edit(draw.node, f"{line.source.of(draw.step.inner)}[{index}]")]


@of(StepsReversed)
def turned_back(evidence: Evidence, finding: Finding, fact: StepsReversed) -> Made:
    """The sequence in the order of its input, where the layer that reversed it is called."""
    for line in lines_at(evidence, fact.layer.called)[:1]:
        calls = line.around(ast.Call)
        made = [call for call in calls if isinstance(call.func, ast.Call) and called(call.func) == fact.layer.op]
        held = [call for call in calls if isinstance(call.func, (ast.Name, ast.Attribute)) and called(call) in (fact.layer.name, *_names(line, fact))]
        for call in made if len(made) == 1 else held if len(held) == 1 else ():
            yield (
                f"Put the steps of {fact.layer.name} in order at line {call.lineno}",
                [line.edit(call, f"{IT}[:, ::-1]")],
                "Each step is then joined with the step that belongs to it.",
            )


def _names(line: Line, fact: StepsReversed) -> tuple[str, ...]:
    made = [node for node in nodes(line.source.tree, ast.Assign) if isinstance(node.value, ast.Call) and called(node.value) == fact.layer.op]
    backwards = [node for node in made for word in nodes(node.value, ast.keyword) if word.arg == "go_backwards"]
    return tuple(ast.unparse(target).rpartition(".")[2] for node in backwards for target in node.targets)
