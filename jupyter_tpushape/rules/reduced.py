"""A reduction over the samples, upstream of an operation that then lacks them."""

from __future__ import annotations

from ..examine.evidence import Evidence, Given
from ..flow import Node, Shape, Who
from .facts.reasons import SamplesReduced
from .upstream import ancestors

_REDUCES = frozenset({"sum", "mean", "max", "min", "prod", "all", "any", "argmax", "argmin", "logsumexp"})


def samples_reduced(evidence: Evidence, operands: list[Given], target: Shape = ()) -> SamplesReduced | None:
    """What took the samples out of an operand that has none, where another one has them, or the shape to which it is reshaped."""
    told = any(one.grows for one in operands)
    wanted = target[:1] == (None,) or any(_has_samples(one) for one in operands)
    for one in operands if wanted else ():
        if one.giver is None or _has_samples(one) or one.spec.shape is None:
            continue
        for node in [one.giver, *ancestors(evidence, one.giver.id)]:
            given = _reduced_first(evidence, node)
            if given is not None and (given[0] is None or (told and _rows(evidence) == given[0])):
                return SamplesReduced(Who.of(node), given)
    return None


def _has_samples(given: Given) -> bool:
    return 0 in given.grows or (given.spec.shape or (0,))[0] is None


def _rows(evidence: Evidence) -> int:
    return next((spec.shape[0] or 0 for _, spec in evidence.x if spec.shape), 0)


def _reduced_first(evidence: Evidence, node: Node) -> Shape | None:
    """What a reduction got, where it leaves out the first axis, or leaves one entry of it, and keeps all others."""
    edges, made = evidence.flow.into(node.id), next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
    given = edges[0].spec.shape if edges else None
    reduces = node.kind == "op" and node.op.lower().removeprefix("reduce_").removeprefix("reduce") in _REDUCES
    return given if reduces and given and len(given) > 1 and made in (given[1:], (1, *given[1:])) else None
