"""Candidates for a number that is written as a layer's argument and from which a size comes that does not fit further on, such as that of a first small map."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Shape, elements, show_shape
from ...flow.observed import keeps
from ...graph import Size, instead, value
from ...rules.facts.branches import UnlikeBranches
from ...rules.facts.contracts import InnerDoor
from ...rules.facts.layers import OperationRaised, WrongCount, WrongWidth
from ...rules.facts.loss import GridApart, LossRaised
from ...rules.facts.reasons import Lengths, OneElsewhere
from ...rules.upstream import from_outside
from ..edits import LayerConfig
from ..text.source import nodes
from .edits import Made, configure, created, given, named, of, owner_of, received, setting, upstream, width_of
from .ends import ends_of
from .line import assigned_to, constants, lines_at, lines_of


def written_size(evidence: Evidence, finding: Finding) -> Made:
    """The argument from which one branch has its size, with the size that the other branch has."""
    yield from _written(evidence, finding, features=False)


@of(UnlikeBranches)
def odd_size(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """The argument from which one of several branches has another size than all others."""
    edges = received(evidence)
    shapes = [edge.spec.shape or () for edge in edges]
    for edge, shape in zip(edges, shapes, strict=True) if len(edges) > 2 else ():
        rest = {other for one, other in zip(edges, shapes, strict=True) if one is not edge}
        others = next(iter(rest))
        off = [axis for axis in range(len(shape)) if len(rest) == 1 and len(others) == len(shape) and shape[axis] != others[axis]]
        off = [axis for axis in off if fact.axis is None or axis != fact.axis % len(shape)]
        change = _change(evidence.origins.of(edge)[off[0]], others[off[0]]) if len(off) == 1 else None
        if change is not None:
            who, argument, n = change
            yield f"Set {argument}={n} on {who}, the size of the other branches", [configure(who, **{argument: n})], "All others agree."


def written_features(evidence: Evidence, finding: Finding) -> Made:
    """The same for the channels of convolutions."""
    yield from _written(evidence, finding, features=True)


def _written(evidence: Evidence, finding: Finding, *, features: bool) -> Made:
    node, reason = evidence.failed, getattr(finding.fact, "reason", None)
    edges = received(evidence)
    if node is not None and len(edges) == 1 and not features:
        yield from _as_created(evidence, edges[0])
    if (isinstance(reason, Lengths) and reason.summed) or isinstance(reason, OneElsewhere):
        return  # a product needs other sizes to be equal, and axes at the wrong place say nothing of their sizes
    if node is None or len(edges) != 2 or len({len(edge.spec.shape or ()) for edge in edges}) != 1:
        return
    found = []
    for mine, other in (edges, edges[::-1]):
        changes = list(_changes(evidence, node, mine, other))
        if not changes or None in changes or _turned(mine.spec.shape or (), other.spec.shape or ()):
            continue
        edits = [change for change in changes if change is not None]
        makers = [_node(evidence, who) for who, _, _ in edits]
        if any((maker is not None and "kernel_size" in maker.config) for maker in makers) != features:
            continue
        weighs = any(maker is None or maker.weights for maker in makers)
        counted = value(evidence.origins.of(mine)[-1]) in _classes(evidence)
        if counted and finding.rule in ("loss-raises", "metric-raises"):
            continue  # the loss is what counts otherwise
        found.append((counted, weighs, -max(_place(evidence, maker) for maker in makers), edits, other))
    # Never first what has a value for each class of the labels; first where no weights depend on it, then the layer that was made last.
    for *_, edits, other in sorted(found, key=lambda item: item[:3]):
        giver = evidence.flow.node(other.source)
        name = giver.name if giver.kind != "op" else "the other operand"
        said = " and ".join(f"{argument}={n} on {who}" for who, argument, n in edits)
        for alone in (False, True):  # where other layers read the same name, only this one takes a multiple of it
            made = [LayerConfig(who, {argument: n}, alone=alone) for who, argument, n in edits]
            yield f"Set {said}, the size of {name}", made, "Other layers keep theirs." if alone else "The value is changed where it is set."


def _as_created(evidence: Evidence, mine: Edge) -> Made:
    created = [one for one in evidence.given if one.giver is None and one.spec.shape]
    shape, its = mine.spec.shape or (), created[0].spec.shape or () if len(created) == 1 else ()
    if not its or len(its) != len(shape) or _turned(shape, its):
        return
    like = created[0].like.name if created[0].like is not None else _model_of(evidence, its)
    off = [i for i, (a, b) in enumerate(zip(shape, its, strict=True)) if i and a != b and 1 not in (a, b)]
    change = _change(evidence.origins.of(mine)[off[0]], its[off[0]]) if like and len(off) == 1 else None
    if change is not None:
        who, argument, n = change
        yield f"Set {argument}={n} on {who}, the size of {like}", [configure(who, **{argument: n})], "The value is changed where it is set."


def _model_of(evidence: Evidence, shape: Shape) -> str:
    for line in lines_of(evidence):
        operands = [node for node in line.operands() if isinstance(node, ast.Name) and line.shape(node) == shape]
        for node in operands:
            inside = nodes(assigned_to(line, node), ast.Name)
            names = {name.id for name in inside if name.id != node.id and line.shape(name) == shape}
            if len(names) == 1:
                return str(names.pop())
    return ""


@of(OperationRaised)
def summed_size(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The argument that gives one operand of a product the size that both are summed over, with the size of the other."""
    summed = summed_axes(evidence, fact)
    edges = received(evidence)
    if summed is None or len(edges) != 2:
        return
    made = []
    for (mine, axis), (other, beside) in itertools.permutations(zip(edges, summed, strict=True)):
        change = _change(evidence.origins.of(mine)[axis], value(evidence.origins.of(other)[beside]))
        maker = _node(evidence, change[0]) if change is not None else None
        if change is not None and maker is not None:
            made.append((-_place(evidence, maker), change))
    for _, (who, argument, n) in sorted(made):
        yield (f"Set {argument}={n} on {who}, the size of the other operand", [configure(who, **{argument: n})], "The product sums over both sizes.")


def summed_axes(evidence: Evidence, fact: OperationRaised) -> tuple[int, int] | None:
    """The axes of both operands that a product sums over and that differ."""
    reason, edges = fact.reason, received(evidence)
    if not isinstance(reason, Lengths) or len(reason.summed) != 2 or len(edges) != 2:
        return None
    axes = reason.summed[0], reason.summed[1]
    sizes = [evidence.origins.of(edge) for edge in edges]
    given = all(len(one) > axis and _change(one[axis], 1) is not None for one, axis in zip(sizes, axes, strict=True))
    return axes if given else None


def _turned(mine: Shape, other: Shape) -> bool:
    """Whether the other operand has a size of this one on another axis, and size 1 where this one has it: it is turned, and no size is wrong."""
    off = [i for i, (a, b) in enumerate(zip(mine, other, strict=True)) if i and a != b and 1 not in (a, b)]
    return any(other[i] == mine[k] and other[k] == 1 for i in off for k in range(1, len(mine)) if k != i)


def written_output(evidence: Evidence, finding: Finding) -> Made:
    """The argument from which an inner size of the predictions comes, with the size that the labels have there."""
    if isinstance(finding.fact, GridApart) and finding.fact.moved is not None:
        return  # what stands there by mistake is not made as long as what belongs there
    labels, predictions = ends_of(evidence, finding)
    y = labels.spec.shape if labels is not None else None
    if predictions is None or not y:
        return
    sizes = evidence.origins.of(predictions)
    for size, wanted in zip(sizes[1:-1], y[1:], strict=False):
        change = _change(size, wanted) if value(size) != wanted else None
        if change is not None:
            who, argument, n = change
            yield (f"Set {argument}={n} on {who}, to match the labels", [configure(who, **{argument: n})], "The value is changed where it is set.")


def written_grid(evidence: Evidence, finding: Finding) -> Made:
    """The grid that a decoder begins with, with the sizes that end in those of the labels, or of what the next model declares; the Dense in front of
    it fills it."""
    labels, predictions = ends_of(evidence, finding)
    y, meant = labels.spec.shape if labels is not None else None, "the labels"
    giver = None
    if isinstance(finding.fact, InnerDoor):
        failed = evidence.failed
        behind = failed is not None and failed.name != finding.fact.layer.name  # a layer inside of it raised
        given = from_outside(evidence, failed.parent) if failed is not None and failed.parent and behind else received(evidence)
        predictions, y, meant = given[0] if len(given) == 1 else None, finding.fact.wanted, f"the input of {finding.fact.layer.name}"
        # A model that no edge leads from.
        giver = _node(evidence, finding.fact.givers[0]) if predictions is None and len(finding.fact.givers) == 1 else None
    elif isinstance(finding.fact, WrongWidth):
        predictions, y = _called_before(evidence)
        meant = "what the model was called on before"
    if (predictions is None and giver is None) or not y:
        return
    made = evidence.origins.of(predictions) if predictions is not None else ()
    if giver is not None and isinstance(finding.fact, InnerDoor):
        made = evidence.origins.given_by(giver, finding.fact.shape)
    new: dict[int, int] = {}
    names = set()
    for axis, (size, wanted) in enumerate(zip(made[:-1], y, strict=False)):
        if axis and wanted is not None and value(size) != wanted:
            found = instead(size, wanted)
            if found is None or found[1] != "target_shape":
                return
            names.add(found[0])
            new[axis - 1] = found[4]
    reshape = _node(evidence, next(iter(names), "")) if len(names) == 1 else None
    above = [evidence.flow.node(edge.source) for edge in evidence.flow.into(reshape.id)] if reshape is not None else []
    while len(above) == 1 and "units" not in above[0].config and keeps(evidence.flow, above[0]):
        # A normalization or an activation in between.
        above = [evidence.flow.node(edge.source) for edge in evidence.flow.into(above[0].id)]
    target = list(reshape.config.get("target_shape") or ()) if reshape is not None else []
    if reshape is None or -1 in target or max(new) >= len(target) or len(above) != 1 or above[0].config.get("units") != math.prod(target):
        return
    grid = [new.get(i, n) for i, n in enumerate(target)]
    yield (
        f"Start from {tuple(grid)} in {reshape.name}, and set units={math.prod(grid)} on {above[0].name}",
        [configure(above[0].name, units=math.prod(grid)), configure(reshape.name, target_shape=grid)],
        f"The following layers then scale it to the size of {meant}.",
    )


def _called_before(evidence: Evidence) -> tuple[Edge | None, Shape | None]:
    """What the model around the layer receives, and the shape that it was called on first."""
    failed, flow = evidence.failed, evidence.flow
    now = flow.node(failed.parent) if failed is not None and failed.parent else None
    first = next((one for one in flow.nodes if now is not None and one.name == now.name and one.id != now.id and one.status == "ok"), None)
    edges = [from_outside(evidence, call.id) for call in (now, first) if call is not None]
    return (edges[0][0], edges[1][0].spec.shape) if [len(one) for one in edges] == [1, 1] else (None, None)


def _classes(evidence: Evidence) -> set[float]:
    stats = evidence.label_stats.values()
    return {one.maximum + 1 for one in stats if one and one.whole and one.maximum}


Change = tuple[str, str, int]


def _changes(evidence: Evidence, node: Node, mine: Edge, other: Edge) -> Iterator[Change | None]:
    joined = node.config.get("axis", -1) if node.op == "Concatenate" else None
    sizes, wanted = evidence.origins.of(mine), evidence.origins.of(other)
    for axis, (one, two) in enumerate(zip(sizes, wanted, strict=True)):
        if not axis or value(one) == value(two) or (joined is not None and axis == joined % len(sizes)) or 1 in (value(one), value(two)):
            continue
        yield _change(one, value(two))


def _change(size: Size, wanted: int | None) -> Change | None:
    found = instead(size, wanted) if wanted is not None else None
    # A target shape is no single number.
    return (found[0], found[1], found[4]) if found is not None and found[1] != "target_shape" else None


def _node(evidence: Evidence, name: str) -> Node | None:
    return named(evidence, name)


def _place(evidence: Evidence, node: Node | None) -> int:
    return evidence.flow.nodes.index(node) if node is not None else 0


@of(GridApart)
def constant(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """A number that the program names."""
    if fact.factors is None or fact.factors[0] == fact.factors[1]:
        return
    old, new = fact.factors
    head = _node(evidence, fact.head.name)
    for line in lines_at(evidence, (head.location or head.called) if head is not None else None)[:1]:
        for name, made in constants(line.source.tree):
            if made.value == old:
                yield (
                    f"Set {name} = {new} at line {made.lineno}",
                    [line.edit(made, str(new))],
                    f"The labels have {new} values for each of the data, and the output has {old}.",
                )


def written_map(evidence: Evidence, finding: Finding) -> Made:
    """A row of numbers that is reshaped to a map of another size than the branch which it meets."""
    node = evidence.failed
    edges = received(evidence)
    if node is None or len(edges) != 2 or len({len(edge.spec.shape or ()) for edge in edges}) != 1:
        return
    for mine, other in (edges, edges[::-1]):
        map_of, shape, its = evidence.flow.node(mine.source), mine.spec.shape or (), other.spec.shape or ()
        giver = next((evidence.flow.node(edge.source) for edge in evidence.flow.into(map_of.id)), None)
        if map_of.op != "Reshape" or giver is None or giver.op != "Dense" or giver.config.get("units") != elements(shape[1:]):
            continue
        # An axis of size 1 is broadcast: it stays.
        met = [1 if size == 1 else wide for size, wide in zip(shape[1:], its[1:], strict=True)]
        wanted = [*its[1:-1], shape[-1]] if node.op == "Concatenate" else met
        if all(wanted) and wanted != list(shape[1:]):
            size = math.prod(int(n or 0) for n in wanted)
            yield (
                f"Reshape to {tuple(wanted)} in {map_of.name}, and set units={size} on {giver.name}",
                [configure(map_of.name, target_shape=wanted), configure(giver.name, units=size)],
                f"The map then has the size of the output of {evidence.flow.node(other.source).name}.",
            )


def other_start(evidence: Evidence, finding: Finding) -> Made:
    """The map that a Dense layer and a Reshape make."""
    for edge, wanted in _met(evidence, finding):
        before = evidence.flow.node(edge.source)
        for node in upstream(evidence, before):
            target = node.config.get("target_shape") if node.op == "Reshape" else None
            if not isinstance(target, (list, tuple)):
                before = node
                continue
            head = next(upstream(evidence, node), None)
            size = _size(tuple(target), edge.spec.shape or (), wanted)
            if head is None or not size or head.config.get("units") != math.prod(target) or len(given(evidence, head) or (0, 0)) != 2:
                break
            yield (
                f"Reshape to {tuple(size)} in {node.name}, with units={math.prod(size)} on {head.name}",
                [configure(head.name, units=math.prod(size)), configure(node.name, target_shape=size)],
                f"The layers after it turn that into {_said(wanted)}.",
            )
            break


def _met(evidence: Evidence, finding: Finding) -> Iterator[tuple[Edge, Shape]]:
    if isinstance(finding.fact, GridApart):
        labels, predictions = ends_of(evidence, finding)
        if labels is not None and predictions is not None:
            yield predictions, labels.spec.shape or ()
    elif isinstance(finding.fact, (OperationRaised, LossRaised)):
        edges = [edge for edge in evidence.failed_inputs() if edge.spec.shape]
        if len(edges) == 2:
            yield edges[0], edges[1].spec.shape or ()
            yield edges[1], edges[0].spec.shape or ()


def _size(target: Shape, made: Shape, wanted: Shape) -> list[int]:
    if len(target) not in (2, 3) or len(made) != len(wanted) or len(made) != len(target) + 1 or made[-1] != wanted[-1]:
        return []
    size = []
    for have, end, want in zip(target[:-1], made[1:-1], wanted[1:-1], strict=True):
        if not have or not end or not want or have < 1 or end % have or want % (end // have):
            return []
        size.append(want // (end // have))
    return [*size, int(target[-1] or 0)] if size != [*target[:-1]] else []


def _said(shape: Shape) -> str:
    return " × ".join(str(size) for size in shape[1:-1])


@of(WrongCount)
def width_of_target(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """The width of the layer whose vectors a reshape folds."""
    node, edge = evidence.failed, next((one for one in evidence.failed_inputs() if one.spec.shape), None)
    if node is None or edge is None or len(edge.spec.shape or ()) != 2:
        return
    target = fact.target[1:] if node.kind == "op" else fact.target
    giver = evidence.flow.node(edge.source)
    while keeps(evidence.flow, giver) and not giver.weights and len(evidence.flow.into(giver.id)) == 1:
        giver = evidence.flow.node(evidence.flow.into(giver.id)[0].source)
    key, want = "output_dim" if giver.op == "Embedding" else width_of(giver), math.prod(size or -1 for size in target)
    if want > 1 and all(size is not None and size > 0 for size in target) and giver.config.get(key) == (edge.spec.shape or (0,))[-1]:
        yield setting(giver, key, want, f", as many values as {show_shape(tuple(target))} has", "The reshape folds one vector per sample.")


@of(GridApart)
def larger_factor(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """The factor by which a layer of the program's own enlarges its maps at the end."""
    _, predictions = ends_of(evidence, finding)
    node = evidence.flow.node(predictions.source) if predictions is not None else None
    owner = owner_of(evidence, node) if node is not None and node.kind == "op" else None
    came = given(evidence, node) if node is not None else None
    if owner is None or owner.family != "own" or not came or len(came) != 4 or len(fact.labels) != 4 or len(fact.predictions) != 4:
        return
    rows = list(zip(came[1:3], fact.predictions[1:3], fact.labels[1:3], strict=True))
    if any(not size for row in rows for size in row):
        return
    factors = {(have or 1) // (start or 1) for start, have, _ in rows if (have or 1) % (start or 1) == 0}
    wanted = {(want or 1) // (start or 1) for start, _, want in rows if (want or 1) % (start or 1) == 0}
    keys = [key for key, value in owner.config.items() if type(value) is int and {value} == factors and value > 1]
    if len(keys) == len(wanted) == 1:
        yield created(owner, keys[0], wanted.pop(), "", f"The maps then have the size of the labels, {_said(fact.labels)}.")
