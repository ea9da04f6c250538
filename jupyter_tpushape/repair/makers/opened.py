"""Candidates where the data leaves a size unknown."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, KeyPath, Shape
from ...flow.paths import flatten
from ...rules.facts.entry import RankUnknown
from ...rules.opened import same_sizes
from ...rules.words import listed
from ..edits import UnwrapLayer
from .edits import Made, configure, of, shapes_set
from .line import Line, calls_at

# What works on the last axis alone gives each step the same as it gives to all of them.
_BY_STEP = frozenset(
    {"Dense", "EinsumDense", "Activation", "ReLU", "LeakyReLU", "ELU", "Dropout", "LayerNormalization", "RMSNormalization"}
)


def not_unrolled(evidence: Evidence, finding: Finding) -> Made:
    """A recurrent layer as a loop, which needs no number of steps."""
    node = evidence.flow.node(finding.nodes[0]) if finding.nodes else None
    if node is not None and node.config.get("unroll"):
        yield f"Set unroll=False in {node.name}", [configure(node.name, unroll=False)], "A loop runs for any number of steps."


def unwrapped(evidence: Evidence, finding: Finding) -> Made:
    """What is applied to each step, without the layer around it."""
    nodes = [evidence.flow.node(id_) for id_ in finding.nodes]
    if nodes and all(node.op == "TimeDistributed" and node.config.get("layer") in _BY_STEP for node in nodes):
        names = listed(tuple(node.name for node in nodes))
        title = f"Remove TimeDistributed from {names}, and keep the layer inside"
        yield title, [UnwrapLayer(node.name) for node in nodes], "It works on each step alike, so the result is the same for all steps."


def declared_sizes(evidence: Evidence, finding: Finding) -> Made:
    """The sizes of the batches in the pipeline, where all that were drawn have the same."""
    sample = evidence.sample
    shapes: dict[KeyPath, Shape] = {}
    for role in ("x", "y", "weight") if sample is not None else ():
        for path, leaf in flatten(getattr(sample, role), role):
            if not leaf.shape or not leaf.concrete or None not in leaf.shape[1:] or not same_sizes(evidence, path):
                continue
            shapes[path] = (leaf.shape[0], *leaf.concrete[1:])
    yield from shapes_set(shapes, "All batches that were drawn have this shape; any other raises an error.")


@of(RankUnknown)
def squeezed_axis(evidence: Evidence, finding: Finding, fact: RankUnknown) -> Made:
    """The axes of size 1 that a squeeze takes out, named."""
    alike = list(_squeezes(evidence))
    if len(alike) > 1:
        yield (
            f"Pass axis= to squeeze at {' and '.join(dict.fromkeys(line.at for line, _, _ in alike))}",
            [line.more(call, f"axis={axis}") for line, call, axis in alike],
            "The batch axis then stays, whatever its size.",
        )
        return
    ones = [axis for axis, size in enumerate(fact.shape) if size == 1]
    axis = _written(fact.shape)
    for line, call in calls_at(evidence, fact.line or finding.location, "squeeze"):
        if ones and line.keyword("axis") is None and len(call.args) == 1:
            yield (
                f"Pass axis={axis} to squeeze at {line.at}",
                [line.more(call, f"axis={axis}")],
                "The batch axis then stays, whatever its size.",
            )


def _written(shape: Shape) -> str:
    """The axes of size 1, as an argument."""
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    return "-1" if ones == [len(shape) - 1] else str(ones[0]) if len(ones) == 1 else f"({', '.join(map(str, ones))})"


def _squeezes(evidence: Evidence) -> Iterator[tuple[Line, ast.Call, str]]:
    """Every squeeze that takes all axes of size 1 out of a batch: each loses the batch axis where one sample is left."""
    seen = set()
    for node in evidence.flow.nodes:
        shape = next((edge.spec.shape for edge in evidence.flow.into(node.id)), None)
        if node.op.lower() != "squeeze" or not shape or 1 not in shape[1:] or node.called is None:
            continue
        for line, call in calls_at(evidence, node.called, "squeeze"):
            if line.keyword("axis") is None and len(call.args) == 1 and (call.lineno, call.col_offset) not in seen:
                seen.add((call.lineno, call.col_offset))
                yield line, call, _written((None, *shape[1:]))
