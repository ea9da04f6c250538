"""Candidates for data whose axes are in another order than the model declares them."""

from __future__ import annotations

import ast
import itertools

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Shape, Who, show_shape
from ...rules.branches import swapped_axes
from ...rules.entry import matched
from ...rules.facts.entry import BatchElsewhere, FormatsApart
from ...rules.facts.held import InitialShape
from ...rules.facts.layers import ChannelsApart, OperationRaised, WindowTooLarge
from ...rules.facts.loss import GridApart
from ...rules.facts.loss_silent import Crosswise
from ...rules.moved import enclosing
from ...trace.axes import RECURRENT
from ..edits import LayerConfig, RemoveLayer
from ..edits.expression import IT, MODULE
from ..text.source import nodes
from .edits import Made, append, at, failing, given, gives, insert, of, received, setting, transform, way_to
from .ends import label_path
from .entry import declaration, declare_rows, misfits
from .line import calls_at, lines_at, lines_of, listed, short, size_of


def transpose_data(evidence: Evidence, finding: Finding) -> Made:
    """A column becomes a row."""
    for door, path, _, got in misfits(evidence):
        yield (
            "Transpose the data: one row instead of one column",
            [transform(path, "transpose", perm=[1, 0])],
            "The data has as many values as the model declares for one sample.",
        )
        yield (f"Declare the input as {show_shape(got.shape[1:])}", [declaration(evidence, door, got.shape[1:])], "Each value is then a separate sample.")


def channels(evidence: Evidence, finding: Finding) -> Made:
    """Channels first and last: whichever of declaration and data the layers do not agree with."""
    if _declared_for(evidence):
        yield from permute_data(evidence, finding)  # declared as the data is, an image's rows would count as its channels
    else:
        yield from declare_rows(evidence, finding)
        yield from permute_data(evidence, finding)


def _declared_for(evidence: Evidence) -> bool:
    formats = {str(node.config["data_format"]) for node in evidence.flow.nodes if node.kind == "layer" and node.config.get("data_format")}
    for _, _, want, _ in misfits(evidence):
        row = want.shape[1:]
        if len(row) < 2 or None in row:
            continue
        last, first = row[-1] < min(row[:-1]), row[0] < min(row[1:])
        if formats <= {"channels_last"} and last:
            return True
        if formats == {"channels_first"} and first:
            return True
    return False


def kept_steps(evidence: Evidence, finding: Finding) -> Made:
    """The data's axes in the declared order first, where each sample would otherwise be a sequence of one step, or of a few steps with many features."""
    rows = [(want.shape[1:], got.shape[1:]) for _, _, want, got in misfits(evidence)]
    if (
        any(_square(want) and not _square(got) for want, got in rows)
        or any(len(want) == 2 and (want[0] or 1) > 1 == got[0] for want, got in rows)
        or (_in_order(evidence) and all(len(want) == 2 for want, _ in rows) and _declared_for(evidence))
    ):
        yield from permute_data(evidence, finding)


def _square(row: Shape) -> bool:
    return len(row) > 3 and row[-3] == row[-2]


def _in_order(evidence: Evidence) -> bool:
    """Whether what reads an input goes through steps: it would take the features of the other order for them."""
    readers = [evidence.flow.node(edge.target) for node in evidence.flow.nodes if node.kind == "input" for edge in evidence.flow.out_of(node.id)]
    return bool(readers) and all(node.op in (*RECURRENT, "Conv1D", "SeparableConv1D") for node in readers)


def permute_data(evidence: Evidence, finding: Finding) -> Made:
    """The data's axes in the declared order."""
    for _, path, want, got in misfits(evidence):
        row = got.shape[1:]
        target = want.shape[1 : len(got.shape)]
        order = permutation(row, target)
        if order is not None:
            perm = [0, *[n + 1 for n in order]]
            yield (
                f"Transpose the data to {show_shape(target)}",
                [transform(path, "transpose", perm=perm)],
                "The layers expect the declared order of axes." if _declared_for(evidence) else "Keeps every value and the declared shape.",
            )


@of(BatchElsewhere)
def batch_first(evidence: Evidence, finding: Finding, fact: BatchElsewhere) -> Made:
    """The axis of the samples in front of the others."""
    perm = [fact.axis, *(i for i in range(len(fact.shape)) if i != fact.axis)]
    yield (
        f"Transpose the data to {show_shape(tuple(fact.shape[i] for i in perm))}",
        [transform(fact.path, "transpose", perm=perm)],
        "The samples are then on the first axis.",
    )


@of(WindowTooLarge)
def channels_last(evidence: Evidence, finding: Finding, fact: WindowTooLarge) -> Made:
    """Pictures with their channels last, in the declaration and in the data."""
    if fact.picture:
        yield from _pictures(evidence, fact, *failing(evidence))


@of(ChannelsApart)
def channels_behind(evidence: Evidence, finding: Finding, fact: ChannelsApart) -> Made:
    """The same where nothing broke, or the last axis for a normalization."""
    node = evidence.flow.node(finding.nodes[0])
    if fact.picture:
        yield from _pictures(evidence, fact, node, fact.shape)
    else:
        yield setting(node, "axis", -1, "", "Each channel then has its own statistics.")


def _pictures(evidence: Evidence, fact: WindowTooLarge | ChannelsApart, node: Node, shape: Shape | None) -> Made:
    row, perm = (*fact.picture[1:], fact.picture[0]), [0, 2, 3, 1]
    pairs = [*matched(evidence)]
    declared = {path: declaration(evidence, door, row) for (door, _), (path, got) in pairs if got.shape and got.shape[1:] == fact.picture}
    # A model that declares no input builds itself for the data that it is given.
    undeclared = [] if pairs else [path for path, got in evidence.x if got.shape and got.shape[1:] == fact.picture]
    masks = [at for at, spec in evidence.y if spec.shape and len(spec.shape) == 4 and spec.shape[2:] == fact.picture[1:]]
    for path in (*declared, *undeclared):
        said = f", and declare {show_shape(row)}" if path in declared else f": {show_shape(row)}"
        yield (
            f"Transpose the data{' and the labels' if masks else ''} to channels last{said}",
            [*([declared[path]] if path in declared else []), *(transform(at, "transpose", perm=perm) for at in (path, *masks))],
            "Convolutions on a CPU or TPU read the last axis as the channels.",
        )
    if not masks and (shape or ())[1:] == fact.picture:
        yield (
            f"Move the channels to the end before {node.name}: add Permute((2, 3, 1))",
            [insert(node.name, "Permute", dims=perm[1:])],
            "The model still takes pictures with their channels first.",
        )


@of(GridApart)
def label_channels(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """The labels with their channels or classes last."""
    if fact.channels_first:
        perm = [0, *range(2, len(fact.labels)), 1]
        yield (
            f"Transpose the labels to {show_shape(fact.predictions)}",
            [transform(label_path(evidence, finding), "transpose", perm=perm)],
            "Keeps every value, in the order of the predictions.",
        )


@of(GridApart)
def turned_at_end(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """The axes of the predictions in the order of the labels."""
    node = next((one for one in evidence.flow.nodes if fact.turned is not None and Who.of(one) == fact.turned), None)
    if node is None:
        return
    order = list(range(len(fact.labels)))
    one, other = (axis for axis in order if fact.labels[axis] != fact.predictions[axis])
    why = "The predictions then have the order of the data and of the labels."
    if not fact.last:
        head = next((item for item in evidence.flow.nodes if Who.of(item) == fact.head), node)
        ends = [item for item in enclosing(evidence, head) if item.kind == "layer"]
        order[one], order[other] = other, one
        for end in ends[-1:]:
            yield f"Transpose {end.name} back: add Permute({tuple(order[1:])})", [append(end.name, "Permute", dims=order[1:])], why
        return
    if node.kind == "layer":
        dims = [*node.config.get("dims", ())]
        dims[one - 1], dims[other - 1] = dims[other - 1], dims[one - 1]
        yield f"Change {node.name} to Permute({tuple(dims)}): {show_shape(fact.labels)}", [LayerConfig(node.name, {"dims": dims})], why
        return
    for line, call in calls_at(evidence, node.called, "transpose", "permute_dims"):
        written = next((word.value for word in call.keywords if word.arg in ("perm", "axes")), call.args[-1] if call.args else None)
        sizes = [*listed(written)]
        if isinstance(written, ast.expr) and len(sizes) == len(order) and sorted(size_of(size) or 0 for size in sizes) == order:
            sizes[one], sizes[other] = sizes[other], sizes[one]
            new = f"({', '.join(map(ast.unparse, sizes))})"
            yield f"Transpose to {new} at line {call.lineno}: {show_shape(fact.labels)}", [line.edit(written, new)], why


@of(Crosswise)
def labels_in_order(evidence: Evidence, finding: Finding, fact: Crosswise) -> Made:
    """The labels with their channel where the predictions have theirs."""
    order = permutation(fact.labels[1:], fact.predictions[1:]) if len(fact.labels) == len(fact.predictions) > 2 else None
    if order is not None and fact.labels != fact.predictions and fact.labels[0] == fact.predictions[0]:
        yield (
            f"Transpose the labels to {show_shape(fact.predictions)}",
            [transform(label_path(evidence, finding), "transpose", perm=[0, *(axis + 1 for axis in order)])],
            "Keeps every value, in the order of the predictions.",
        )


@of(GridApart)
def unmoved(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """The data's axes in their own order, where the labels have one entry for each position of one that was moved."""
    if fact.moved is not None:
        yield f"Remove {fact.moved.name}", [RemoveLayer(fact.moved.name)], "The positions of the data then stay on the axis of the labels."


@of(OperationRaised)
def turned_back(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """An operand of which two axes were exchanged on the way, with both in their old places."""
    for line in lines_of(evidence)[:1]:
        for (node, shape), (_, other) in itertools.permutations(line.shaped(), 2):
            perm = _exchanged(shape, other)
            if perm and _turned(evidence, [edge for edge in evidence.failed_inputs() if edge.spec.shape == shape]):
                yield (
                    f"Transpose {short(node)} back at {line.at}: {show_shape(other)}",
                    [line.apply(node, "transpose", tuple(perm))],
                    "Its axes were exchanged on the way here.",
                )


def _exchanged(shape: Shape, other: Shape) -> list[int]:
    apart = [axis for axis, pair in enumerate(zip(shape, other, strict=False)) if pair[0] != pair[1]]
    if len(shape) != len(other) or len(apart) != 2 or 0 in apart or shape[apart[0]] != other[apart[1]] or shape[apart[1]] != other[apart[0]]:
        return []
    one, two = apart
    return [two if axis == one else one if axis == two else axis for axis in range(len(shape))]


def _turned(evidence: Evidence, edges: list[Edge]) -> bool:
    for node in way_to(evidence, evidence.flow.node(edges[0].source)) if edges else ():
        before, after = given(evidence, node), gives(evidence, node)
        if before and after and _exchanged(before, after) and node.op.lower() != "reshape":
            return True
    return False


@of(OperationRaised)
def left_in_order(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The axes of a sample as they are given, where only the program's own transpose keeps a table of one row a step from fitting."""
    pairs = {*fact.apart, *((b, a) for a, b in fact.apart)}
    for node in evidence.flow.nodes:
        before, after = given(evidence, node), gives(evidence, node)
        if node.op.lower() != "transpose" or not before or not after or not _exchanged(before, after):
            continue
        if not any((mine, its) in pairs for mine, its in zip(after, before, strict=True) if mine != its):
            continue
        if len(after) > 3 and after not in fact.shapes:
            continue  # a product of it has other axes
        for line, call in calls_at(evidence, node.called, "transpose"):
            if call.args and isinstance(call.args[0], ast.Name):
                yield (
                    f"Remove the transpose at {line.at}: {show_shape(before)}",
                    [line.without(call, call.args[0])],
                    "The sizes of the program are those of the axes in their own order.",
                )


def branch_turned_back(evidence: Evidence, finding: Finding) -> Made:
    """The same for a branch of a merge."""
    node, edges = evidence.failed, received(evidence)
    for mine, other in itertools.permutations(edges, 2) if node is not None and len(edges) == 2 else ():
        perm = _exchanged(mine.spec.shape or (), other.spec.shape or ())
        giver = evidence.flow.node(mine.source)
        if node is not None and perm and (_turned(evidence, [mine]) or swapped_axes(evidence, mine, other)):
            yield (
                f"Transpose {giver.name} back before {node.name}: Permute({tuple(perm[1:])})",
                [at(node, edges.index(mine), "Permute", dims=perm[1:])],
                "Its axes were exchanged on the way here.",
            )


def permutation(row: Shape, target: Shape) -> list[int] | None:
    if len(row) >= 3 and (row[-1], *row[:-1]) == target:
        return [len(row) - 1, *range(len(row) - 1)]
    if len(row) >= 3 and (*row[1:], row[0]) == target:
        return [*range(1, len(row)), 0]
    left, order = list(range(len(row))), []
    for size in target:
        found = next((i for i in left if row[i] == size or size is None), None)
        if found is None:
            return None
        left.remove(found)
        order.append(found)
    return order


@of(InitialShape)
def initial_matrix(evidence: Evidence, finding: Finding, fact: InitialShape) -> Made:
    """The matrix that an initializer returns, transposed."""
    if len(fact.want) != 2 or fact.got != fact.want[::-1]:
        return
    for line in lines_at(evidence, finding.location)[:1]:
        given = [line.scope.body] if isinstance(line.scope, ast.Lambda) else [one.value for one in nodes(line.scope, ast.Return)]
        if len(given) == 1 and isinstance(given[0], ast.expr):
            edit = line.edit(given[0], f"{MODULE}.transpose({IT})", "keras.ops")
            yield f"Transpose what the initializer returns at line {given[0].lineno}", [edit], f"The layer needs {show_shape(fact.want)}."


@of(FormatsApart)
def one_format(evidence: Evidence, finding: Finding, fact: FormatsApart) -> Made:
    """That of the layer before."""
    yield setting(fact.layer, "data_format", fact.formats[1], "", "Both agree.")
