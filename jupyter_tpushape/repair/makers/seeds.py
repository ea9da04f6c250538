"""Candidates at the small map that a generator or a decoder starts from."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Shape, show_shape
from ...flow.observed import keeps
from ...rules.facts.layers import OperationRaised, WrongCount
from ...rules.facts.loss import GridApart, LossRaised
from .edits import Made, configure, created, given, of, owner_of, setting, upstream, width_of
from .ends import ends_of


def other_start(evidence: Evidence, finding: Finding) -> Made:
    """The map that a Dense layer and a Reshape make, as large as it takes for the images at the end to have the size of what they meet."""
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
    """Images with the sizes that they should have: those of the other operand, or of the labels."""
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
    """The target that gives the wanted size, where the layers behind multiply each axis by a whole number; empty where none does."""
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
    """The width of the layer whose vectors a reshape folds, as many values as the target has."""
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
    """The factor by which a layer of the program's own enlarges its maps at the end, as large as the labels need it."""
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
