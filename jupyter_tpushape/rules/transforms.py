"""Failures in JAX functions: loops, branches, maps, gradients, and their requirements on shapes and dtypes."""

from __future__ import annotations

from ..examine.evidence import Evidence
from ..examine.heard import HeardWidths, hear
from ..examine.heard_jax import (
    HeardAxisName,
    HeardBranches,
    HeardCarry,
    HeardFraction,
    HeardGradient,
    HeardIndex,
    HeardLeaves,
    HeardList,
    HeardMapped,
    HeardOpenScan,
    HeardPartition,
    HeardPredicate,
    HeardPut,
    HeardStructure,
    HeardUntraced,
)
from ..flow import Fact, Node, Shape, Who
from ..trace.axes import recurs
from .facts.loss import LossVector
from .facts.stateless import ResultsExchanged, StatefulPair
from .facts.states import CellState
from .facts.transforms import (
    AxisUnbound,
    BatchScanned,
    BranchesApart,
    CarryApart,
    CompiledApart,
    ConvolvedFirst,
    FractionalIndex,
    FractionalSize,
    GradientOf,
    ListGiven,
    MappedApart,
    OpenScan,
    PartitionTooLong,
    PutApart,
    StructureApart,
    VectorPredicate,
)
from .mixing import above

_KEPT = ("none", "None")
_WHOLE = ("int", "uint", "bool")


def transformed(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """The fact behind an error that JAX raises for one of its functions, with its rule."""
    said = node.failure
    carry = hear(said, HeardCarry)
    if carry is not None and carry.before != carry.after and node.op == "RNN":
        return "rnn-states", CellState(Who.of(node), carry.before, carry.after)
    if carry is not None:
        where = node.op if node.kind == "op" else f"a loop in {node.name}"
        return "op-shapes", CarryApart(where, carry.name, carry.before, carry.after, carry.was, carry.becomes)
    if (structure := hear(said, HeardStructure)) is not None:
        return "op-shapes", StructureApart(Who.of(node), structure.of, structure.want, structure.got)
    if hear(said, HeardOpenScan) is not None and node.kind == "layer":
        axis = evidence.facts.get("scan_axis", 0)
        return "op-shapes", OpenScan(Who.of(node), axis) if axis else BatchScanned(Who.of(node))
    if (partition := hear(said, HeardPartition)) is not None:
        return "code-raises", PartitionTooLong(partition.entries, partition.rank)
    if hear(said, HeardLeaves) is not None and evidence.facts.get("paired"):
        return "code-raises", StatefulPair()
    if evidence.facts.get("taken_apart"):
        return "code-raises", ResultsExchanged(*evidence.facts["taken_apart"])
    apart = _compiled_apart(evidence, node)
    if apart is not None:
        return "code-raises", apart
    if node.kind != "op" or node.op == "python":
        return None
    who = Who.of(node)
    unbound = hear(said, HeardAxisName)
    if unbound is not None:
        return "code-raises", AxisUnbound(who, unbound.name)
    listed = hear(said, HeardList)
    if listed is not None:
        cell = next((one for one in above(evidence, node) if recurs(one)), None)
        sizes = evidence.arguments(cell.id).get("state_sizes") or () if cell is not None else ()
        return "op-shapes", ListGiven(who, listed.kind, listed.place, Who.of(cell) if cell is not None else None, len(sizes))
    predicate = hear(said, HeardPredicate)
    if predicate is not None:
        return "op-shapes", VectorPredicate(who, predicate.shape)
    branches, mapped, gradient = hear(said, HeardBranches), hear(said, HeardMapped), hear(said, HeardGradient)
    if branches is not None:
        return "op-shapes", BranchesApart(who, branches.first, branches.second, branches.dtypes)
    if mapped is not None and len(mapped.axes) > 1:
        return "op-shapes", MappedApart(who, mapped.axes)
    if gradient is not None:
        return "op-shapes", GradientOf(who, gradient.several, gradient.shape, gradient.paired)
    widths, shapes = hear(said, HeardWidths), [one.spec.shape or () for one in evidence.given]
    named = evidence.raised is not None and "dimension_numbers" in evidence.raised.text
    if widths is not None and widths.of == "channels" and len(shapes) > 1 and not named and _channels_last(*shapes[:2]):
        return "op-shapes", ConvolvedFirst(who, *shapes[:2])
    fraction, put = hear(said, HeardFraction), hear(said, HeardPut)
    if fraction is not None:
        return "op-shapes", FractionalSize(who, fraction.size)
    if put is not None:
        return "op-shapes", PutApart(who, put.value, put.place, put.inside)
    if hear(said, HeardIndex) is not None:
        dtypes = [one.spec.dtype for one in evidence.given if not one.spec.dtype.startswith(_WHOLE)]
        return "op-shapes", FractionalIndex(who, dtypes[-1] if dtypes else "")
    return None


def _channels_last(maps: Shape, kernel: Shape) -> bool:
    """Whether a kernel takes as many channels as maps have on their last axis, and not as many as they have on the second."""
    return 3 <= len(maps) == len(kernel) <= 5 and maps[-1] == kernel[-2] and maps[1] != kernel[1]


def _compiled_apart(evidence: Evidence, node: Node) -> CompiledApart | None:
    """A function of the user's that jit compiles with an argument that is no array, or with its object as one."""
    untraced, raised = hear(node.failure, HeardUntraced), evidence.raised
    if untraced is not None:
        return CompiledApart(untraced.function, untraced.parameter, untraced.kind)
    if raised is not None and raised.method and "self" in dict(raised.tensors):
        return CompiledApart(raised.function, "self", method=True)
    return None


def vector_total(evidence: Evidence, node: Node) -> tuple[str, Fact, tuple[str, ...]] | None:
    """What keeps the loss of a whole model from being one number: a loss that is not reduced, or the model's own method."""
    gradient = hear(node.failure, HeardGradient)
    if node.kind != "loss" or node.op != "compile" or gradient is None or gradient.several:
        return None
    for loss in evidence.losses():
        if loss.config.get("reduction") in _KEPT:
            return "loss-raises", LossVector(loss.name, gradient.shape, "none"), (loss.id,)
    return "loss-raises", LossVector("compute_loss" if evidence.facts.get("own_loss") else "The loss", gradient.shape), ()
