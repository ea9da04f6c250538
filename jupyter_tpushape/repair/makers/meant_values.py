"""Candidates for values that are something else than what reads them takes them for."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.compared import fed_whole, stats_at
from ...rules.facts.layers import OperationRaised
from ...rules.facts.loss_silent import LabelsInterpolated, LabelsNotInputs
from ...rules.facts.ranges import ChosenBeyond, DecimalIds, IndexBeyond, ScaledTwice, TakenBeyond
from ...rules.facts.reasons import NoAxis
from ..edits import RemoveLayer, ReplaceLayer
from ..edits.regroup import NAMES, Regroup
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, configure, given, of, setting, way_to, width_of
from .line import lines_at, lines_of, listed, short, whole_number


@of(DecimalIds)
def as_they_are(evidence: Evidence, finding: Finding, fact: DecimalIds) -> Made:
    """The numbers in place of rows of a table."""
    node = evidence.flow.node(finding.nodes[0])
    shape = given(evidence, node) or ()
    readers = [evidence.flow.node(edge.target) for edge in evidence.flow.out_of(node.id)]
    if len(shape) != 2 or len(readers) != 1 or not shape[1] or shape[1] < 2:
        return
    if readers[0].op == "Flatten":
        yield f"Remove {node.name}: pass the numbers as they are", [RemoveLayer(node.name)], "Measurements are features, and no ids."
    elif readers[0].family in ("recurrent", "convolution") or readers[0].op == "Bidirectional":
        yield (
            f"Replace {node.name} by Reshape(({shape[1]}, 1)): pass the numbers as they are",
            [ReplaceLayer(node.name, "Reshape", config={"target_shape": (shape[1], 1)})],
            f"{readers[0].name} then reads {shape[1]} steps of one number.",
        )


@of(ScaledTwice)
def scaled_once(evidence: Evidence, finding: Finding, fact: ScaledTwice) -> Made:
    """The layer left out; where it also moves the values, with a scale for those that it gets. A layer of a library's model is to stay."""
    written = {called(call) for line in lines_at(evidence, finding.location)[:1] for call in line.around(ast.Call)}
    if fact.before is None and evidence.flow.node(finding.nodes[0]).op not in written:
        found = list(_undivided(evidence, fact))
        yield from found
        if found:
            return
    if not fact.offset:
        yield f"Remove {fact.layer.name}", [RemoveLayer(fact.layer.name)], "The values are scaled before it."
    elif fact.lowest >= 0 and fact.before is None:
        yield setting(fact.layer, "scale", 2 * abs(fact.offset), "", "It then maps values from 0 to 1 to the range that it is made for.")


def _undivided(evidence: Evidence, fact: ScaledTwice) -> Made:
    """The division of pixels by the largest one, where the functions of the pipeline have one."""
    for stage in evidence.stages:
        for line in lines_at(evidence, stage.location)[:1] if stage.op == "map" and stage.function else ():
            parts: list[ast.expr | ast.AugAssign] = [
                node
                for node in nodes(line.scope, (ast.BinOp, ast.AugAssign))
                if isinstance(node.op, ast.Div) and isinstance(by := node.right if isinstance(node, ast.BinOp) else node.value, ast.Constant)
                if by.value == 255 and fact.lowest >= 0
            ]
            node = parts[0] if len(parts) == 1 else None
            if node is not None:
                whole = next((one for one in nodes(line.scope, ast.Assign) if one.value is node), None)
                left = ast.unparse(node.left) if isinstance(node, ast.BinOp) else ""
                alone = whole is not None and [ast.unparse(target) for target in whole.targets] == [left]
                gone: ast.AST | None = whole if alone else node if isinstance(node, ast.AugAssign) else None
                edit = line.removed(gone) if gone is not None else line.edit(node, left)
                yield f"Remove the division by 255 at line {node.lineno}", [edit], f"{fact.layer.name} is part of a finished model, and scales the values."


@of(LabelsInterpolated)
def nearest(evidence: Evidence, finding: Finding, fact: LabelsInterpolated) -> Made:
    """The nearest class instead, where the line resizes one tensor."""
    for line in lines_at(evidence, finding.location)[:1] if fact.line else ():
        calls = [call for call in line.around(ast.Call) if called(call).startswith("resize")]
        # A picture and its labels may be resized in one line.
        pairs = [listed(one.value) for one in line.around((ast.Return, ast.Assign))]
        if len(calls) > 1 and len(pairs) == 1 and len(pairs[0]) == 2:
            calls = [call for call in calls if call in list(ast.walk(pairs[0][1]))]
        for call in calls if len(calls) == 1 else ():
            method = next((word.value for word in call.keywords if word.arg == "method"), None)
            edit = line.edit(method, '"nearest"') if method is not None else line.more(call, 'method="nearest"')
            yield (f'Set method="nearest" on {ast.unparse(call.func)} at line {call.lineno}', [edit], "Each pixel then keeps one of the classes.")


@of(ChosenBeyond)
def turned_table(evidence: Evidence, finding: Finding, fact: ChosenBeyond) -> Made:
    """A table with the rows that indices count on its other axis."""
    for line in lines_at(evidence, finding.location)[:1] if fact.shape[1:] == (fact.count,) else ():
        for call in (one for one in line.around(ast.Call) if called(one) == "take"):
            table = argument(call, "x", ["x"]) or argument(call, "a", ["a"])
            if table is not None:
                yield (
                    f"Transpose {short(table)} in the take at {line.at}",
                    [line.apply(table, "transpose")],
                    f"It has a column for each of the {fact.count} indices.",
                )
        for read in (one for one in line.around(ast.Subscript) if isinstance(one.slice, ast.Name)):
            yield f"Transpose {short(read.value)} at {line.at}", [line.apply(read.value, "transpose")], f"It has a column for each of the {fact.count} indices."


def taken_along(evidence: Evidence, finding: Finding) -> Made:
    """The axis that indices count, in place of one that a tensor has not, or that is too short for them."""
    fact = finding.fact
    if isinstance(fact, TakenBeyond):
        lines, shape, shortest = lines_at(evidence, finding.location), fact.shape[fact.mapped :], fact.highest + 1
    elif isinstance(fact, OperationRaised) and isinstance(fact.reason, NoAxis):
        node = evidence.failed
        paths = [fed_whole(evidence, edge) for edge in evidence.flow.into(node.id)[1:2]] if node is not None else []
        # Where it is not known which indices these are, any of the data may be.
        whole = [path for path, spec in evidence.x if spec.dtype.startswith(("int", "uint"))]
        seen = [stats_at(evidence, path) for path in ([path for path in paths if path] or whole)]
        highest = [one.maximum for one in seen if one is not None and one.maximum is not None]
        if not highest or len(highest) < len(seen):
            return
        lines, shape, shortest = lines_of(evidence), fact.reason.shape, int(max(highest)) + 1
    else:
        return
    for line in lines[:1]:
        for call in (one for one in line.around(ast.Call) if called(one) == "take"):
            given = argument(call, "axis", ["x", "indices", "axis"])
            old = whole_number(given) if given is not None else None
            inner = any(call in list(ast.walk(one)) for one in line.around(ast.Lambda))
            # Outside a mapped function, axis 0 is the batch.
            axes = [axis for axis in range(0 if inner else 1, len(shape)) if (shape[axis] or 0) >= shortest and old not in (axis, axis - len(shape))]
            for axis in axes if given is not None and old is not None else ():
                assert given is not None
                edit = line.edit(given, str(axis), choice="axis")
                yield f"Use axis={axis} in take at {line.at}", [edit], f"That axis has size {shape[axis]}."


@of(IndexBeyond)
def one_value_more(evidence: Evidence, finding: Finding, fact: IndexBeyond) -> Made:
    """As many values in the last axis of the predictions as the labels have."""
    rows = [spec.shape for _, spec in evidence.y if spec.shape and len(spec.shape) == len(fact.shape)]
    wanted = fact.index + 1
    if fact.axis != len(fact.shape) - 1 or not any(shape == (*fact.shape[:-1], wanted) for shape in rows):
        return
    edge = next(one for one in evidence.flow.edges if one.id == finding.edges[0])
    giver = evidence.flow.node(edge.source)
    said = f"at axis {fact.axis}, as the labels have"
    target = giver.config.get("target_shape")
    for head in way_to(evidence, giver):
        width = width_of(head)
        units = head.config.get(width)
        if not isinstance(units, int):
            continue
        if head is giver and units == fact.size:
            yield f"Set {width}={wanted} on {head.name}: {wanted} values {said}", [configure(head.name, **{width: wanted})], ""
        elif isinstance(target, (list, tuple)) and target and target[-1] == fact.size and units % fact.size == 0:
            more = units // fact.size * wanted
            yield (
                f"Set {width}={more} on {head.name} and target_shape={(*target[:-1], wanted)} on {giver.name}: {wanted} values {said}",
                [configure(head.name, **{width: more}), configure(giver.name, target_shape=[*target[:-1], wanted])],
                "The loss reads the labels at this index, too.",
            )
        return


@of(IndexBeyond)
def last_place(evidence: Evidence, finding: Finding, fact: IndexBeyond) -> Made:
    """The last place of an axis of positions, where an index counts from 1."""
    if fact.index != fact.size or fact.axis in (0, len(fact.shape) - 1):
        return
    for line in lines_at(evidence, finding.location)[:1]:
        found = [
            part
            for item in nodes(line.scope, ast.Subscript)
            if item.lineno == line.raised.line and isinstance(item.slice, ast.Tuple) and len(item.slice.elts) > fact.axis
            for part in [item.slice.elts[fact.axis]]
            if line.number(part) == fact.index or isinstance(part, (ast.Name, ast.Attribute))
        ]
        for part in found[:1] if len(found) == 1 else ():
            new = "-1" if whole_number(part) is not None else f"{ast.unparse(part)} - 1"
            yield (f"Use index {new} instead of {ast.unparse(part)} at {line.at}", [line.edit(part, new)], "This is the last place, which JAX reads already.")


@of(LabelsNotInputs)
def inputs_as_labels(evidence: Evidence, finding: Finding, fact: LabelsNotInputs) -> Made:
    """The data of the only input in place of the labels."""
    sample = evidence.sample
    if sample is None or len(evidence.x[0][0]) != 1 or len(evidence.y[0][0]) != 1:
        return
    function = sample.stages[0].function or "" if sample.kind in ("generator", "pydataset") and sample.stages else ""
    parts = 2 + bool(evidence.weight)
    element = ", ".join([NAMES[0], NAMES[0], *NAMES[2:parts]])
    yield (
        "Use the inputs as labels: (x, x)",
        [Regroup("data", parts, f"({element})", "", function)],
        "The output has the shape of the input, so each sample is compared with itself.",
    )
