"""Candidates for operations along another axis than is meant: over samples for steps, rows that were merged, a batch that is not the first axis any more."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, Node, Who
from ...flow.syntax import called, operands
from ...rules.facts.layers import OperationRaised
from ...rules.facts.loss_silent import BatchBehind
from ...rules.facts.mixing import BatchLost, NormalizedOverBatch
from ...rules.facts.other_axes import (
    AxisBeyond,
    ChannelsReduced,
    NormOfAll,
    PositionsAveraged,
    RowsAgainstColumns,
    RowsMetApart,
    RowsTakenApart,
    SamplesInOrder,
    SharedByAll,
    VectorTransposed,
    WeightsAcross,
)
from ...rules.facts.reasons import NoAxis
from ...rules.facts.reasons_read import DimsDropped
from ...rules.in_order import TRANSFORMS
from ...rules.moved import turned_around
from ..edits import Edit
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import class_of, method_of, nodes, parents
from .edits import Made, configure, of, received, setting
from .line import Line, assigned_to, calls_at, lines_at, lines_of, listed, reshaped, short, size_of, whole_number


@of(SamplesInOrder)
def along_steps(evidence: Evidence, finding: Finding, fact: SamplesInOrder) -> Made:
    """The first axis of a sample in place of the batch."""
    if fact.loop or len(fact.shape) < 2 or fact.operation.kind == "layer" or fact.operation.op in TRANSFORMS:
        return
    for line in lines_at(evidence, finding.location):
        call = line.call()
        if call is None or _plain(called(call)).replace("flip", "reverse") != _plain(fact.operation.op).removesuffix("v2"):
            continue
        if "Reverse" not in fact.operation.op or called(call) == "flip" or _ends(evidence, finding):
            yield *along_axis(line, call, 1), "It then runs along the steps of each sample."
    for line in lines_at(evidence, finding.location)[:1]:
        turned = [item.slice for item in line.around(ast.Subscript) if ast.unparse(item.slice) == "::-1"]
        if len(turned) > 1 or (turned and _ends(evidence, finding)):
            yield f"Use [:, ::-1] at {line.at}", [line.edit(one, ":, ::-1") for one in turned], "It then reverses the steps of each sample."
        pair = [item.slice for item in line.around(ast.Subscript) if ast.unparse(item.slice) in ("1:", ":-1")] if fact.operation.op == "Sub" else []
        if len(pair) == 2:
            yield (
                f"Take the difference along axis 1 at {line.at}",
                [line.edit(one, f":, {ast.unparse(one)}") for one in pair],
                "The steps of each sample are then compared.",
            )


@of(ChannelsReduced)
def over_the_image(evidence: Evidence, finding: Finding, fact: ChannelsReduced) -> Made:
    """The axes of the image in place of the last ones."""
    for line in lines_at(evidence, finding.location)[:1]:
        calls = [one for one in line.around(ast.Call) if listed(argument(one, "axis", ["x", "axis"]))]
        if len(calls) == 1:
            yield *along_axis(line, calls[0], ", ".join(fact.along)), "One value for each channel is left."


@of(NormalizedOverBatch)
def along_features(evidence: Evidence, finding: Finding, fact: NormalizedOverBatch) -> Made:
    """The last axis in place of the batch, on both sides."""
    for line in lines_at(evidence, finding.location)[:1] if fact.layer.kind == "op" else ():
        calls = [one for one in nodes(line.scope, ast.Call) if _plain(called(one)) == _plain(fact.layer.op)]
        made = [along_axis(line, one, -1) for one in calls if size_of(argument(one, "axis", ["x", "axis"])) in (None, 0)]
        if made:
            yield made[0][0], [edit for _, edits in made for edit in edits], "It then chooses among the values of each sample."


def _ends(evidence: Evidence, finding: Finding) -> bool:
    flow = evidence.flow
    return all(len(made.spec.shape or ()) < 3 for edge in flow.out_of(finding.nodes[0]) for made in flow.out_of(edge.target))


def along_axis(line: Line, call: ast.Call, new: int | str) -> tuple[str, list[Edit]]:
    """The title and the edit for a call along another axis."""
    axis = argument(call, "axis", []) or next((one for one in call.args[1:] if whole_number((listed(one) or [one])[0]) is not None), None)
    new = f"[{new}]" if listed(axis) else new
    edit = line.edit(axis, str(new)) if axis is not None else line.more(call, f"axis={new}")
    return f"Pass axis={new} to {called(call)} at {line.at}", [edit]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def batch_first(evidence: Evidence, finding: Finding) -> Made:
    """The order of axes that the data has, for a recurrent layer that takes the steps first."""
    node = evidence.flow.node(finding.nodes[0])
    if node.config.get("time_major"):
        yield f"Set time_major=False on {node.name}", [configure(node.name, time_major=False)], "The first axis is the batch, as in the data."


@of(SamplesInOrder)
def loop_through_steps(evidence: Evidence, finding: Finding, fact: SamplesInOrder) -> Made:
    """Steps before the batch for a loop, also in what its first state is made from, and its result as it was."""
    for line in lines_at(evidence, finding.location) if fact.loop and len(fact.shape) > 2 else ():
        call = line.call("scan")
        if call is None:
            continue
        given = line.keyword("xs") or next(iter(call.args[2:3]), None)
        parts = listed(given) or ([given] if given is not None else [])
        if parts and all(isinstance(one, (ast.Name, ast.Attribute)) for one in parts):
            edits = [edit for one in parts for edit in (_swapped(line, call, one), *_first_state(line, call, one))]
            edits += _first_of_each(line, call, list(map(ast.unparse, parts)))
            yield (f"Swap batch and steps around scan at line {call.lineno}", [*edits, *turned_back(line, call)], "scan steps through the first axis.")


def _first_state(line: Line, call: ast.Call, given: ast.expr) -> list[Edit]:
    start = line.keyword("init") or next(iter(call.args[1:2]), None)
    made = assigned_to(line, start) if start is not None else None
    found = nodes(made, type(given)) if made is not None else []
    return [_swapped(line, call, one) for one in found if ast.unparse(one) == ast.unparse(given)]


def _first_of_each(line: Line, call: ast.Call, known: list[str]) -> list[Edit]:
    """The first step of each sample for a first state that is made from the first sample of something else."""
    start = line.keyword("init") or next(iter(call.args[1:2]), None)
    made = assigned_to(line, start) if start is not None else None
    firsts = [one for one in nodes(made, ast.Subscript) if size_of(one.slice) == 0] if made is not None else []
    return [line.edit(one.slice, ":, 0") for one in firsts if isinstance(one.value, ast.Name) and one.value.id not in known]


def of_arrays(call: ast.Call) -> tuple[str, str]:
    """Where the functions of tensors are that go with a loop: beside it, and those for ``jax.lax`` in ``jax.numpy``, which is to be imported."""
    of = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else "lax"
    return (MODULE, "jax.numpy") if of.endswith("lax") else (of, "")


def _swapped(line: Line, call: ast.Call, node: ast.expr) -> Edit:
    module, where = of_arrays(call)
    return line.edit(node, f"{module}.swapaxes({IT}, 0, 1)", where)


def turned_back(line: Line, call: ast.Call) -> Iterator[Edit]:
    """The results of a loop with the batch in front again."""
    module, where = of_arrays(call)
    for body in (getattr(item, "body", []) for item in ast.walk(line.source.tree)):
        for statement, then in itertools.pairwise(body) if isinstance(body, list) else ():
            held = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
            result = held.elts[1] if isinstance(held, ast.Tuple) and len(held.elts) == 2 else None
            if isinstance(result, ast.Name) and result.id != "_" and not _turned_already(line, result.id):
                text = f"{result.id} = {module}.swapaxes({result.id}, 0, 1)"
                yield line.before(then, text, where)


def _turned_already(line: Line, name: str) -> bool:
    turned = rf"\b({name}\.(transpose|swapaxes)\(|(transpose|swapaxes|moveaxis)\({name}, )[(\[]?(1, 0|0, 1\))"
    return re.search(turned, ast.unparse(line.scope)) is not None


def not_over_samples(evidence: Evidence, finding: Finding) -> Made:
    """The last axis for a reduction over the samples, where too few values are left to reshape."""
    for line in lines_of(evidence)[:1]:
        for call in nodes(line.scope, ast.Call):
            axis = argument(call, "axis", ["x", "axis"])
            if call.lineno < line.raised.line and called(call) in _REDUCES and isinstance(axis, ast.Constant) and axis.value == 0:
                title = f"Pass axis=-1 to {called(call)} at line {call.lineno}"
                yield title, [line.edit(axis, "-1")], "Axis 0 holds the samples, and their number is lost."


def over_classes(evidence: Evidence, finding: Finding) -> Made:
    """The last axis for the class of the highest score, where the code of a loss or metric names another one."""
    for line in lines_of(evidence)[:1]:
        for call in nodes(line.scope, ast.Call):
            axis = argument(call, "axis", ["x", "axis"])
            if called(call) == "argmax" and axis is not None and whole_number(axis) not in (-1, None) and call.lineno <= line.raised.line:
                yield f"Pass axis=-1 to argmax at line {call.lineno}", [line.edit(axis, "-1")], "The scores of the classes are on the last axis."


_REDUCES = frozenset({"argmax", "argmin", "max", "min", "sum", "mean"})


@of(SharedByAll)
def share_of_a_sample(evidence: Evidence, finding: Finding, fact: SharedByAll) -> Made:
    """One number for each sample: the function along the axes of a sample, or along the last one, which stays as an axis of size 1."""
    inner = tuple(range(1, len(fact.shape)))
    for line in lines_at(evidence, finding.location):
        call = line.call()
        name = _plain(called(call)) if call is not None else ""
        if call is None or line.keyword("axis") is not None or len(call.args) > 1 or not name.endswith((_plain(fact.operation.op), "norm", "normalize")):
            continue
        title = f"{called(call)} at {line.at}"
        # A norm is a sum and more; what normalizes gives back all axes by itself.
        if not isinstance(fact, NormOfAll):
            more = f"axis={fact.axis}" if name.endswith("normalize") else f"axis={fact.axis}, keepdims=True"
            yield f"Pass {more.replace(', ', ' and ')} to {title}", [line.more(call, more)], "Each sample is then divided by its own number."
        elif name == "norm" and len(inner) > 1:
            rows = line.edit(
                call,
                f"{ast.unparse(call.func)}({MODULE}.reshape({line.source.of(call.args[0])}, ({line.source.of(call.args[0])}.shape[0], -1)), axis=1)",
                line.module(),
            )
            yield f"Flatten each sample for {title}: axis=1", [rows, *_averaged(evidence, fact)], _OWN_NORM
        else:
            more = f"axis={inner if len(inner) > 1 else 1}"
            yield f"Pass {more} to {title}", [line.more(call, more), *_averaged(evidence, fact)], _OWN_NORM


def _averaged(evidence: Evidence, fact: NormOfAll) -> Iterator[Edit]:
    """The mean over the samples of what is made of a difference of a norm and a number."""
    for line in lines_at(evidence, fact.divided.called)[:1]:
        above = parents(line.source.tree)
        for node in line.around(ast.BinOp):
            if isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Constant):
                way: list[ast.AST] = [node]
                while isinstance(above.get(way[-1]), ast.expr):
                    way.append(above[way[-1]])
                last = next((i for i, one in enumerate(way[1:]) if not _powers(one)), len(way) - 1)
                if not any("mean" in called(one) for one in way) and isinstance(inner := way[last], ast.expr):
                    yield line.edit(inner, f"{MODULE}.mean({IT})", line.module())


def _powers(node: ast.AST) -> bool:
    return called(node) in ("square", "abs", "relu", "maximum", "pow") or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))


_OWN_NORM = "Each sample then has a separate norm."
_CUMULATIVE = frozenset({"cumsum", "cumprod", "cummax", "cummin", "nancumsum"})


@of(OperationRaised)
def not_flattened(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The axis for a cumulative function."""
    if not isinstance(fact.reason, NoAxis) or len(fact.reason.shape) != 1 or fact.reason.axis < 1:
        return
    axis = f"axis={fact.reason.axis}"
    for line in lines_of(evidence)[:1]:
        read = {one.id for one in nodes(line.node, ast.Name)} if line.node is not None else set()
        made = [one.value for one in nodes(line.scope, ast.Assign) if ast.unparse(one.targets[0]) in read and one.lineno < line.raised.line]
        for call in (one for part in (line.node, *made) if part is not None for one in nodes(part, ast.Call)):
            if called(call) in _CUMULATIVE and len(call.args) == 1 and not call.keywords:
                yield (
                    f"Pass {axis} to {called(call)} at line {call.lineno}",
                    [line.more(call, axis)],
                    "Without an axis, it flattens the tensor, the samples included.",
                )


@of(AxisBeyond)
def last_axis(evidence: Evidence, finding: Finding, fact: AxisBeyond) -> Made:
    """The last axis, for a layer along one that its input does not have."""
    given = {edge.spec.shape for edge in received(evidence)}
    node = evidence.failed
    if node is not None and node.config.get(fact.key) in (fact.axis, [fact.axis], (fact.axis,)) and len(given) == 1:
        value = -1 if node.config[fact.key] == fact.axis else [len(fact.shape) - 1]
        yield setting(node, fact.key, value, "", "The last axis has the features or channels.")


def along_sum(evidence: Evidence, finding: Finding) -> Made:
    """The softmax along the axis or axes that are summed over."""
    fact = finding.fact
    if isinstance(fact, WeightsAcross):
        new: int | tuple[int, ...] = -1 if fact.over == len(fact.shape) - 1 else fact.over
        why = "The weights of each query then sum to 1 over the keys."
    elif isinstance(fact, PositionsAveraged):
        new, why = fact.over if len(fact.over) > 1 else fact.over[0], "The weights of all positions then sum to 1."
    else:
        return
    node = evidence.flow.node(finding.nodes[0])
    if node.kind == "layer":
        yield setting(node, "axis", new, "", why)
        return
    for line, call in calls_at(evidence, finding.location, "softmax"):
        axis = argument(call, "axis", ["x", "axis"])
        if axis is None or whole_number(axis) is not None:
            title = f"Apply softmax along axis {new} at {line.at}"
            yield title, [line.edit(axis, str(new)) if axis is not None else line.more(call, f"axis={new}")], why


@of(RowsTakenApart)
def in_their_order(evidence: Evidence, finding: Finding, fact: RowsTakenApart) -> Made:
    """Rows taken apart as they were merged, and their axes then put in the order that the program goes on with."""
    axes = _as_merged(fact)
    for line in lines_at(evidence, finding.location) if axes else ():
        given, sizes = reshaped(line)
        call = line.node
        if given is None or not isinstance(call, ast.Call) or len(sizes) != len(fact.after) or len(call.args) + len(call.keywords) > 2:
            continue
        written = [line.source.of(sizes[axis]) for axis in axes]
        back = tuple(axes.index(axis) for axis in range(len(axes)))
        shape = f"({', '.join(written)})"
        yield (
            f"Split the rows of {short(given)} at {line.at} as they were merged: reshape to {shape}, then transpose",
            [line.edit(call, f"{MODULE}.transpose({MODULE}.reshape({line.source.of(given)}, {shape}), {back})", line.module())],
            "Each row then stays with its sample.",
        )


@of(RowsTakenApart)
def side_by_side(evidence: Evidence, finding: Finding, fact: RowsTakenApart) -> Made:
    """What is joined along the batch joined along the features."""
    wide = (*fact.before[1:-1], (fact.before[-1] or 0) * fact.outer)
    for line, call in calls_at(evidence, fact.merged.called, "concatenate", "concat") if fact.after[1:] == wide else ():
        yield *along_axis(line, call, -1), "Each row then has the values of one sample."


@of(RowsMetApart)
def in_one_order(evidence: Evidence, finding: Finding, fact: RowsMetApart) -> Made:
    """Rows of one sample after the other, as the others are: copies that are repeated, or no transpose before the merge."""
    for who, outer, other in zip(fact.made, fact.outer, fact.outer[::-1], strict=True):
        for line, call in calls_at(evidence, who.called, "tile", "reshape") if other == 1 < outer else ():
            (inner, *_), times = call.args, call.args[-1]
            why = "The rows of a sample then follow each other."
            if isinstance(inner, ast.Call) and called(inner) == "transpose":
                yield f"Merge the rows without the transpose at {line.at}", [line.edit(inner, line.source.of(inner.args[0]))], why
            elif called(call) == "tile" and isinstance(times, (ast.List, ast.Tuple)):
                text = f"{MODULE}.repeat({line.source.of(inner)}, {line.source.of(times.elts[0])}, axis=0)"
                yield f"Use repeat instead of tile at {line.at}", [line.edit(call, text, line.module())], why


def _as_merged(fact: RowsTakenApart) -> list[int]:
    shape = fact.after
    rest = [axis for axis in range(len(shape)) if axis != fact.axis]
    places = [at for at in range(len(rest) + 1) if math.prod(shape[axis] or 0 for axis in rest[:at]) == fact.outer]
    return [*rest[: places[0]], fact.axis, *rest[places[0] :]] if places else []


REDUCTIONS = ("reduce_", "sum", "mean", "max", "min", "amax", "amin", "prod", "logsumexp")


@of(OperationRaised)
def last_axis_kept(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The last axis of the samples' rows kept with size 1."""
    if isinstance(fact.reason, DimsDropped):
        yield from _kept(evidence, fact.reason.maker)


@of(RowsAgainstColumns)
def axis_kept(evidence: Evidence, finding: Finding, fact: RowsAgainstColumns) -> Made:
    """The reduced axis kept with size 1."""
    yield from _kept(evidence, fact.reduced)


def _kept(evidence: Evidence, reduced: Who) -> Made:
    for line in lines_at(evidence, reduced.called)[:1]:
        for call in line.around(ast.Call):
            if called(call).startswith(REDUCTIONS) and not any(word.arg in ("keepdims", None) for word in call.keywords):
                yield (
                    f"Set keepdims=True on {ast.unparse(call.func)} at line {call.lineno}",
                    [line.more(call, "keepdims=True")],
                    "Each row is then combined with its own value.",
                )


@of(VectorTransposed)
def in_pairs(evidence: Evidence, finding: Finding, fact: VectorTransposed) -> Made:
    """An axis behind one of the two, and an axis in front of the other one."""
    for line in lines_at(evidence, fact.node.called)[:1]:
        for node in line.around((ast.Call, ast.BinOp, ast.Compare)):
            for one, other in itertools.permutations(operands(node), 2):
                inner = turned_around(one)
                if inner is not None and (name := ast.unparse(inner)) == ast.unparse(other):
                    title = f"Compare all pairs at line {node.lineno}: {name}[:, None] with {name}[None, :]"
                    edits = [line.edit(other, f"{IT}[:, None]"), line.edit(one, f"{name}[None, :]")]
                    yield title, edits, "Each value is then compared with every other one."


def in_front(evidence: Evidence, finding: Finding) -> Made:
    """The batch axis moved back: by the layer that returned it behind another one, or in front of what takes the first axis for it."""
    fact, flow = finding.fact, evidence.flow
    if isinstance(fact, BatchBehind):
        maker, reader, axis = flow.node(finding.nodes[0]), flow.node(finding.nodes[1]), fact.axis
    elif isinstance(fact, BatchLost) and fact.axis and finding.edges:
        edge = next(one for one in flow.edges if one.id == finding.edges[0])
        maker, reader, axis = flow.node(edge.source), flow.node(edge.target), fact.axis
    else:
        return
    if evidence.framework != "keras":
        return  # swapaxes is one of keras.ops
    edits: dict[str, list[Edit]] = {}
    for title, edit in _returned(evidence, maker, axis) if maker.kind == "layer" else _used(evidence, reader, axis):
        edits.setdefault(title, []).append(edit)
    for title, found in edits.items():
        yield title, found, "The first axis is then the batch again."


def reshaped_first(evidence: Evidence, finding: Finding) -> Made:
    """The batch moved to the front before a reshape that takes another axis for it."""
    node, probe = evidence.flow.node(finding.nodes[0]), evidence.facts.get("probe")
    grown = next((probe.axes.get(edge.id) or {} for edge in evidence.flow.into(node.id)), {}) if probe is not None else {}
    axis = next(iter(grown), 0)
    for line in lines_at(evidence, node.called) if axis and len(grown) == 1 and evidence.framework == "keras" else ():
        given, _ = reshaped(line)
        if given is not None:
            yield (
                f"Move the batch of {short(given)} to the front before the reshape at {line.at}",
                [line.edit(given, f"{MODULE}.swapaxes({IT}, 0, {axis})", "keras.ops")],
                "The values of each sample then stay together.",
            )


def _returned(evidence: Evidence, maker: Node, axis: int) -> Iterator[tuple[str, Edit]]:
    lines = [line for place in (maker.called, maker.location) for line in lines_at(evidence, place)]
    for line in lines[:1]:
        call = method_of(class_of(line.source.tree, maker.op), "call")
        for item in nodes(call, ast.Return) if call is not None else ():
            if item.value is not None and not isinstance(item.value, (ast.Tuple, ast.List, ast.Dict)):
                yield (f"Return the batch first from {maker.op}.call", line.edit(item.value, f"{MODULE}.swapaxes({IT}, 0, {axis})", "keras.ops"))


def _used(evidence: Evidence, reader: Node, axis: int) -> Iterator[tuple[str, Edit]]:
    """What the operation works on that takes the first axis for the batch: what it is called with, or what is indexed."""
    for line in lines_at(evidence, reader.called)[:1]:
        calls = [node for node in line.around(ast.Call) if called(node) and called(node).replace("_", "") in reader.op.lower()]
        given = [node.args[0] for node in calls if node.args] or [node.value for node in line.around(ast.Subscript)]
        if len(given) == 1:
            title = f"Move the batch of {short(given[0])} back to the front at {line.at}"
            yield title, line.edit(given[0], f"{MODULE}.swapaxes({IT}, 0, {axis})", "keras.ops")
