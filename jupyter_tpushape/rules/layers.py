"""Layers and operations that do not accept their inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import msgspec

from ..examine.evidence import Evidence, Given
from ..examine.heard import (
    HeardKernelRank,
    HeardNone,
    HeardOperation,
    HeardRank,
    HeardShape,
    HeardUnequal,
    HeardUnknown,
    HeardUnlike,
    HeardWidth,
    HeardWindow,
    hear,
)
from ..examine.heard_contracts import HeardAboutShapes, HeardMaskList, HeardTuple, HeardUndefined
from ..flow import Edge, Fact, Finding, Node, Shape, Who, elements
from ..flow.syntax import names_in
from ..graph import Cause, resized, value, written
from ..graph import cause as cause_of
from ..trace.axes import recurs
from ..trace.locations import location
from .branches import merge_shapes, size_cause
from .calls import misdeclared
from .contracts import CONTRACTS, Break
from .emptied import emptied
from .encodings import behind_code, coded_ids
from .entry import entry
from .facts.layers import LayerRaised, MaskAlone, OperationRaised, UnknownAxis, WindowTooLarge, WrongCount, WrongMask, WrongParts, WrongRank, WrongWidth
from .facts.lines import LineRaised
from .facts.other_axes import AxisBeyond, StepRank
from .facts.states import States
from .handed_over import overriding_finding
from .in_order import without_size
from .inner_doors import let_in
from .jitted import texts as texts_on_jax
from .jitted import told as compiled_step_finding
from .layer_rules import ATTENTION, AXIS, CODE, OPERATION, RAISES, RANK, RESHAPE, UNKNOWN, WINDOW
from .lines import line_raised
from .moved import crossed_before
from .reasons import no_axis, operands, reason
from .registry import check, fallback
from .saved_models import finding_of as saved_model_finding
from .spelled import misspelled
from .tpu_setup import told as set_up_finding
from .upstream import ancestors, channels_in_front, lost_batch, steps_of, whole_steps, without_steps
from .words import ATTENTIONS, MERGES, axes_of, blamed, givers


@fallback
def unexplained(evidence: Evidence) -> Iterator[Finding]:
    """A failure that no rule explains: reports the node's error."""
    node = evidence.failed
    if node is not None and node.failure is not None:
        edges = evidence.operands()
        finding = _explain(evidence, node, edges)
        finding.nodes, finding.location = finding.nodes or (node.id,), finding.location or node.location or node.called
        yield finding


@fallback
def as_raised(evidence: Evidence) -> Iterator[Finding]:
    """The node's error in its own words, where the checks that look for its cause failed themselves."""
    node = evidence.failed
    if node is not None and node.failure is not None:
        given = tuple(edge.spec.shape for edge in evidence.flow.into(node.id))
        fact = LayerRaised(Who.of(node), given, node.failure.said.rstrip("."), node.failure.inner)
        yield Finding.of(RAISES.id, "error", fact, nodes=(node.id,), location=node.location or node.called)


@check(order=20)
def layer_failed(evidence: Evidence) -> Iterator[Finding]:
    """The node that raised while the model was built or called."""
    node = evidence.failed
    if node is None or node.failure is None or evidence.where not in ("build", "call"):
        return
    if texts_on_jax(evidence) or any(told(evidence) is not None for told in (saved_model_finding, set_up_finding, overriding_finding)):
        return
    if evidence.backend == "jax" and compiled_step_finding(evidence) is not None:
        return
    if any(True for _ in entry(evidence)) or behind_code(evidence, node) or misdeclared(evidence) or misspelled(evidence):
        return
    if node.kind == "input" and any(True for _ in coded_ids(evidence)):
        return
    if evidence.facts.get("crossed_names") is not None:
        return  # what a class does with two things in each other's place says nothing more
    crossed = crossed_before(evidence, node)
    if crossed is not None:
        yield crossed
        return
    if (let := let_in(evidence, node)) is not None:
        yield let
        return
    edges = evidence.operands()
    finding = _explain(evidence, node, edges)
    finding.nodes = finding.nodes or (node.id, *blamed(evidence.flow, finding.fact))
    # A recurrent layer's states come behind its sequence, which is not at fault.
    wrong = edges[-len(finding.fact.given) :] if isinstance(finding.fact, States) else edges
    finding.edges = tuple(edge.id for edge in wrong)
    # What a model was made of says nothing of what it is called on.
    called = node.kind != "layer" or node.op in ("Sequential", "Functional")
    finding.location = (node.called or node.location) if called else (node.location or node.called)
    made = getattr(evidence.facts.get("uncalled"), "line", None)
    if made is not None:
        finding.location = location(made)
        yield finding
        return
    inside = location((evidence.raised.file, evidence.raised.line)) if evidence.raised is not None else None
    outside = node.called
    if (
        node.kind == "layer"
        and inside is not None
        and outside is not None
        # A cell has no file: it is known by its number.
        and (inside.file, inside.execution, inside.line) != (outside.file, outside.execution, outside.line)
    ):
        finding.location = inside  # a line of the user's own inside the layer
    yield finding


Explained = tuple[str, Fact] | None


def _explain(evidence: Evidence, node: Node, edges: list[Edge]) -> Finding:
    assert node.failure is not None
    quoted = hear(node.failure, HeardShape)
    shape = edges[0].spec.shape if edges else quoted.shape if quoted is not None else None
    for contract in CONTRACTS:
        apart = contract(Break(evidence, node, edges, shape))
        if apart is not None:
            return Finding.of(apart[0], "error", apart[1])
    for explain in (
        _step_rank,
        _wrong_rank,
        _no_features,
        _axis_beyond,
        _wrong_axis,
        merge_shapes,
        _reshape_size,
        _window_size,
        without_size,
        _unknown_axis,
        _attention_shapes,
    ):
        found = explain(evidence, node, edges, shape)
        if found is not None:
            return Finding.of(found[0], "error", found[1])
    if node.op == "python":
        return Finding.of(CODE.id, "error", line_raised(evidence, node))
    if node.kind == "op" and (not node.op or hear(node.failure, HeardAboutShapes) is None):
        around = evidence.flow.node(node.parent).name if node.parent else ""
        return Finding.of(CODE.id, "error", LineRaised(node.failure.said, evidence.raised.text if evidence.raised is not None else "", around))
    if node.kind == "op":
        shapes = tuple(one.spec.shape for one in evidence.given) or tuple(edge.spec.shape for edge in edges)
        shapes = tuple(shape for shape in shapes if shape != ()) if len(shapes) > 2 else shapes  # without the axis of a concatenation
        why, cause = reason(evidence, node), size_cause(evidence, node, edges)
        shapes = operands(node, why, shapes)
        return Finding.of(OPERATION.id, "error", OperationRaised(node.op, shapes, node.failure.said, Who.of(node), reason=why, cause=cause))
    inside = hear(node.failure, HeardOperation)
    if inside is not None:
        beyond = no_axis(node, inside.shapes[0] or ()) if inside.shapes else None
        splits = inside.operation == "Split"  # an axis and a tensor
        shapes = inside.shapes[:1] if beyond is not None else inside.shapes[splits:]
        # Tensors that the layer got and its operation met as they are.
        met = [Given("", edge.spec, evidence.flow.node(edge.source)) for one in shapes for edge in edges if edge.spec.shape == one]
        alike = msgspec.structs.replace(node, kind="op", op=inside.operation)
        why = reason(dataclasses.replace(evidence, given=met), alike) if splits or len(met) == len(shapes) > 0 else None
        inner = OperationRaised(inside.operation, shapes, f"{inside.said}.", layer=Who.of(node), reason=emptied(evidence) or beyond or why)
        return Finding.of(OPERATION.id, "error", inner)
    given = tuple(edge.spec.shape for edge in edges)
    return Finding.of(
        RAISES.id,
        "error",
        LayerRaised(
            Who.of(node), given, node.failure.said.rstrip("."), node.failure.inner, hear(node.failure, HeardTuple) is not None, *_inside(evidence, node)
        ),
    )


def _step_rank(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None) -> Explained:
    outer = node if node.op == "TimeDistributed" or not node.parent else evidence.flow.node(node.parent)
    wanted = axes_of(str(outer.config.get("layer") or "")) if outer.op == "TimeDistributed" else ()
    given = next((edge.spec.shape for edge in evidence.flow.into(outer.id)), None) or (shape if outer is node else None)
    if not wanted or given is None or len(given) < 3 or len(wanted) == len(given) - 1:
        return None
    return RANK.id, StepRank(Who.of(outer), str(outer.config["layer"]), wanted, given)


def _wrong_rank(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None) -> Explained:
    said, names = hear(node.failure, HeardRank), axes_of(node.op)
    if said is not None and said.got is not None:
        wanted, got, bound = said.wanted, said.got, said.bound
    elif said is not None and shape is not None:
        wanted, got, bound = said.wanted, len(shape), said.bound
    elif hear(node.failure, HeardKernelRank) is not None and names and shape is not None:
        wanted, got, bound = len(names), len(shape), ""
    else:
        return None
    if wanted == got:
        # Several tensors where the layer takes one: it counts no axes of theirs.
        return None
    batchings = getattr(evidence.sample, "batchings", 0) if got > wanted else 0
    lost = lost_batch(evidence, edges)
    giver = evidence.flow.node(edges[0].source) if edges else None
    taken = (
        [edge.spec.shape or () for edge in evidence.flow.into(giver.id)]
        if giver is not None and (giver.kind == "op" or giver.family in ("own", "other")) and got < wanted
        else []
    )
    return RANK.id, WrongRank(
        Who.of(node),
        wanted,
        got,
        shape,
        givers(evidence.flow, edges),
        bound,
        *lost,
        batched=batchings if batchings > 1 else 0,
        attention=giver.name if giver is not None and got < wanted and without_steps(evidence.flow, giver) else "",
        returns=giver.name if giver is not None and got > wanted and recurs(giver) else "",
        before=next((one for one in taken if shape is not None and len(one) > len(shape)), ()),
    )


def _no_features(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None) -> Explained:
    if node.kind != "layer" or shape != (None,) or hear(node.failure, HeardUndefined) is None or "Embedding" in node.op:
        return None
    return RANK.id, WrongRank(Who.of(node), 2, 1, shape, givers(evidence.flow, edges), "min")


def _other_door(evidence: Evidence, node: Node, before: Node) -> Cause | None:
    doors = []
    for parent in (node.parent, before.parent):
        inside = {one.id for one in evidence.flow.nodes if parent and one.parent == parent}
        doors.append([edge for one in inside for edge in evidence.flow.into(one) if edge.source not in inside])
    if len(doors[0]) != 1 or len(doors[1]) != 1:
        return None
    now, then = doors[0][0], doors[1][0].spec.shape or ()
    sizes = evidence.origins.of(now)
    apart = [(size, other) for size, other in zip(sizes[1:], then[1:], strict=False) if other is not None and value(size) not in (None, other)]
    found = [one for size, other in apart if (one := cause_of(size, other)) is not None] if len(sizes) == len(then) else []
    return found[0] if found else None


def _giver(evidence: Evidence, edge: Edge) -> Node:
    node = evidence.flow.node(edge.source)
    taken = evidence.flow.into(node.id) if node.op == "Cast" else []
    return evidence.flow.node(taken[0].source) if len(taken) == 1 else node


def _axis_beyond(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None) -> Explained:
    ranks = {len(edge.spec.shape) for edge in edges if edge.spec.shape is not None}
    for key in ("axis", "axes", "shared_axes") if node.kind == "layer" and shape and len(ranks) < 2 else ():
        given = node.config.get(key)
        for axis in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(axis, int) and not -len(shape or ()) <= axis < len(shape or ()):
                return RAISES.id, AxisBeyond(Who.of(node), key, axis, shape or ())
    return None


def _wrong_axis(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None) -> Explained:
    said = hear(node.failure, HeardWidth)
    wanted = said.wanted if said is not None else None
    # Inside a layer of the user's own, another part may be what differs.
    if wanted is None and node.kind == "layer" and node.family != "own" and node.op not in MERGES and node.op not in ATTENTIONS and shape:
        equal, kernel = hear(node.failure, HeardUnequal), _kernel(evidence, node)
        if equal is not None and kernel is not None and shape[-1] is not None and shape[-1] in (equal.left, equal.right) and kernel[-2] != shape[-1]:
            wanted = kernel[-2]
    if wanted is None or not shape:
        return None
    last = evidence.origins.of(edges[0])[-1:] if edges else ()
    before = next((item for item in evidence.flow.nodes if item.name == node.name and item.id != node.id and item.op == node.op), None)
    cause = resized(last[0], wanted) if last else None
    cause = cause or (_other_door(evidence, node, before) if before is not None else None)
    # A model that is called on a tensor of another one, or of a training step.
    first = node.parent and edges and all(_giver(evidence, edge).parent != node.parent for edge in edges)
    within = evidence.flow.node(node.parent) if first else None
    named = within.name if within is not None and within.op in ("Sequential", "Functional") else ""
    who = Who.of(before) if before is not None else None
    return AXIS.id, WrongWidth(Who.of(node), wanted, shape, givers(evidence.flow, edges), cause, who, within=named)


def _inside(evidence: Evidence, node: Node) -> tuple[str, int]:
    raised = evidence.raised
    called = node.called is not None and raised is not None and raised.line == node.called.line
    return (raised.text, raised.line) if node.family == "own" and raised is not None and raised.text and not called else ("", 0)


def _kernel(evidence: Evidence, node: Node) -> Shape | None:
    for item in evidence.flow.nodes:
        if item.name == node.name:
            for weight in item.weights:
                if weight.name.endswith("kernel") and weight.shape and len(weight.shape) > 1:
                    return weight.shape
    return None


def _reshape_size(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None) -> Explained:
    if node.op.lower() not in ("reshape", "tf.reshape"):
        return None
    target = node.config.get("target_shape") or node.config.get("operand1")
    rows = shape[1:] if node.kind == "layer" and shape else shape
    if not isinstance(target, (list, tuple)) or not target or rows is None or elements(rows) is None:
        return None
    if not all(hasattr(size, "__index__") for size in target):
        return None
    sizes = tuple(int(n) for n in target)
    kept = len(sizes) > len(rows) > 1 and sizes[: len(rows) - 1] == rows[:-1] and min(sizes) > 0
    last = evidence.origins.of(edges[0])[-1:] if edges and (len(rows) == 1 or kept) else ()
    made = written(last[0]) if last else ""
    block = elements(sizes[len(rows) - 1 :]) or 0 if kept else 0
    shrunk, steps = _shrunk(evidence, node, edges, sizes, rows), steps_of(evidence, node, sizes, rows)
    return RESHAPE.id, WrongCount(Who.of(node), sizes, rows, node.kind == "layer", made, block, shrunk, steps)


def _shrunk(evidence: Evidence, node: Node, edges: list[Edge], target: tuple[int, ...], rows: Shape) -> Cause | None:
    origins = evidence.origins.of(edges[0]) if len(edges) == 1 else ()
    first, found, rest = int(node.kind == "layer"), [], elements(rows) or 0
    for axis, (want, have) in enumerate(zip(target, rows[:-1], strict=False)):
        if have and want > 0 and want != have and axis + first < len(origins):
            found.append(cause_of(origins[axis + first], want))
            rest = rest * want // have
    return found[0] if found and rest == elements(target) else None


_WIDEST = 11  # the widest window of well-known networks


def _window_size(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None) -> Explained:
    if hear(node.failure, HeardWindow) is None:
        return None
    size = node.config.get("pool_size") or node.config.get("kernel_size") or ()
    window = tuple(size) if isinstance(size, (list, tuple)) else (size,)
    narrow = (
        shape is not None and len(shape) > 2 and shape[1] == 1 < (shape[-1] or 0) and any(spec.shape and spec.shape[1:] == shape[1:] for _, spec in evidence.x)
    )
    picture = () if narrow else channels_in_front(evidence, node)
    filters = node.config.get("filters")
    # Windows are a few positions wide, and filters many.
    swapped = isinstance(filters, int) and len(set(window)) == 1 and isinstance(window[0], int) and filters <= _WIDEST < window[0]
    return WINDOW.id, WindowTooLarge(
        Who.of(node),
        window,
        shape,
        givers(evidence.flow, edges),
        narrow,
        picture,
        int(filters or 0) if swapped and not (narrow or picture) else 0,
        tuple(map(Who.of, whole_steps(evidence, node))) if not (narrow or picture) else (),
    )


def _unknown_axis(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None) -> Explained:
    axis = evidence.arguments(node.id).get("axis") if node.op.endswith("Normalization") else None
    if type(axis) is int and shape and 0 < axis < len(shape) - 1 and shape[axis] is None and shape[-1] is not None:
        return UNKNOWN.id, UnknownAxis(Who.of(node), shape, axis)
    said = hear(node.failure, HeardUnknown)
    if said is not None and said.made and node.family == "own" and shape is not None and None in shape[1:]:
        return UNKNOWN.id, UnknownAxis(Who.of(node), shape, shape.index(None, 1), own=True)
    if said is not None and said.made and shape is not None and shape[-1] is not None and "shared_axes" in evidence.arguments(node.id):
        shared = tuple(axis for axis in range(1, len(shape) - 1))
        return UNKNOWN.id, UnknownAxis(Who.of(node), shape, shape.index(None, 1) if None in shape[1:] else -1, shared=shared)
    unknown = shape is not None and None in shape[1:] and node.op in ("Dense", "Flatten") and hear(node.failure, HeardNone) is not None
    if (said is None or said.made) and not unknown:
        return None
    for one in ancestors(evidence, node.id) if None in (shape or ())[1:] else ():
        before, after = ([edge.spec.shape or () for edge in way(one.id)] for way in (evidence.flow.into, evidence.flow.out_of))
        once = len(before) > 1 and all(given[:1] == (None,) and None not in given[1:] for given in before)
        if one.kind == "op" and once and after and after[0].count(None) > 1:
            return UNKNOWN.id, UnknownAxis(Who.of(node), shape, doubled=Who.of(one))
    return UNKNOWN.id, UnknownAxis(Who.of(node), shape)


def _attention_shapes(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None) -> Explained:
    # A class of the program may have the same name.
    if node.op not in ATTENTIONS or node.family == "own" or node.failure is None:
        return None
    handed = [one for one in evidence.given if one.label != "mask"] or [Given(edge.label, edge.spec, None) for edge in edges]
    parts = {one.label or f"input {i + 1}": one.spec.shape for i, one in enumerate(handed)}
    given = [found for label, found in parts.items() if label != "attention_mask"]
    if hear(node.failure, HeardMaskList) is not None and "mask" not in parts:
        return ATTENTION.id, MaskAlone(Who.of(node), next((one.spec.shape for one in evidence.given if one.label == "mask"), None))
    mask, said, apart = parts.get("attention_mask"), hear(node.failure, HeardOperation), hear(node.failure, HeardUnlike)
    met = said.shapes if said is not None and said.operation.startswith(("Logical", "Add", "Select")) else ()
    met = (apart.first, apart.second) if apart is not None else met
    if mask is None and met:
        # An array of the program is no tensor that the layer was handed; the scores that it meets are (batch, heads, target, source).
        mask = next((shape for shape in met if len(shape) == 4 and given and shape[-1] != (given[min(1, len(given) - 1)] or (0, 0))[1]), None)
    if mask is not None and given and all(shape is not None and len(shape) > 2 for shape in given[:2]):
        query, source = given[0] or (), given[min(1, len(given) - 1)] or ()
        wanted = (query[0], query[1], source[1])
        if not _masks(mask, wanted):
            return ATTENTION.id, WrongMask(Who.of(node), wanted, mask)
    raised = evidence.raised
    read = names_in(raised.text) if raised is not None else set()
    held = [name for name in raised.variables if name in read] if raised is not None else []
    weight = held[0] if len(held) == 1 and len(parts) < 2 else ""
    return ATTENTION.id, WrongParts(Who.of(node), tuple(parts.items()), node.failure.said, weight)


def _masks(mask: Shape, wanted: Shape) -> bool:
    if len(mask) > 4 or (len(mask) == 2 and mask[0] is None and wanted[1] is not None):
        return False  # (batch, source) would meet the query steps
    over = (wanted[0], None, *wanted[1:]) if len(mask) == 4 else wanted
    return all(None in (have, want) or have in (1, want) for have, want in zip(mask[::-1], over[::-1], strict=False))
