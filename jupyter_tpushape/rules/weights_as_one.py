"""Weights in a loss that multiply one and the same value before they are added up."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Shape, Who
from .compared import ends
from .examples import sequential
from .facts.loss_silent import WeightsAsOne
from .registry import check, rule

_LOSS = "lambda t, p: tf.reduce_sum(tf.reduce_mean(tf.square(t - p), axis=0) * tf.constant([0.1, 0.9]))"
AS_ONE = rule(
    "weights-as-one", "Weights of several classes multiply the same value", severity="silent", source="a sum of products with one value is its product with the sum",
    fails=sequential("L.Dense(1)", loss=_LOSS), passes=sequential("L.Dense(2)", y="np.zeros((8, 2), 'float32')", loss=_LOSS),
    doc="""Reported for a custom loss that multiplies a tensor whose last axis has size 1, or a single number, by several constants and then adds the products up
or averages them. The result is the same as with one constant.""",
)  # fmt: skip
_TOTALS = ("sum", "mean", "reduce_sum", "reduce_mean")


@check(order=41)
def weights_as_one(evidence: Evidence) -> Iterator[Finding]:
    """Products of a single value with constants that are added up right after."""
    if evidence.where:
        return
    for loss in evidence.losses():
        _, predictions = ends(evidence, loss)
        for node in evidence.flow.nodes:
            found = _several(evidence, node) if node.parent == loss.id else None
            if found is None:
                continue
            shape, count, total = found
            channels = ((predictions.spec.shape or (0,))[-1] or 0) if predictions is not None else 0
            fact = WeightsAsOne(loss.name, Who.of(node), Who.of(total), shape, count, channels)
            yield Finding.of(AS_ONE.id, "silent", fact, (node.id, loss.id), (), node.called or loss.location)
            return


def _several(evidence: Evidence, node: Node) -> tuple[Shape, int, Node] | None:
    """What a product has of the program's values, by how many constants, and what adds the products up."""
    given, made = evidence.flow.into(node.id), evidence.flow.out_of(node.id)
    if node.op.lower() not in ("mul", "multiply") or len(given) != 1 or len(made) != 1:
        return None
    shape, wide = given[0].spec.shape, made[0].spec.shape
    if shape is None or not wide or (shape and shape[-1] != 1) or (wide[-1] or 0) < 2 or wide[:-1] != shape[:-1]:
        return None
    if len(wide) > 1 and wide[-1] == wide[0]:
        return None  # a sum over the samples looks the same
    total = evidence.flow.node(made[0].target)
    # What a loss returns has no edge; Keras averages it.
    after = next((edge.spec.shape for edge in evidence.flow.out_of(total.id)), ())
    if total.op.lower() not in _TOTALS or after not in ((), shape[:-1], shape):
        return None
    return shape, wide[-1] or 0, total
