"""Regressions whose last activation cannot return the labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Who
from ..flow.observed import keeps
from .compared import ends, kind_of, seen_at
from .examples import sequential
from .facts.ranges import OutOfReach
from .registry import check, rule

_Y = "np.linspace(-2, 3, 8, dtype='float32')[:, None]"
REACH = rule(
    "activation-range", "The last activation cannot return the labels", severity="note", source="the formulas of the activations, and the sampled labels",
    fails=sequential("L.Dense(1, activation='relu')", y=_Y), passes=sequential("L.Dense(1)", y=_Y),
    doc="""Reported for a loss of numbers, such as mse, if observed labels are outside of the range of the activation that the model ends in: negative
labels for a relu, or prices for a sigmoid. Labels that leave the range by less than 2% of the difference between the largest and the smallest are not
reported. A note: the shapes agree, and the values may be placeholders.""",
)  # fmt: skip
# What an activation returns; None: no bound.
_RANGES: dict[str, tuple[float, float | None]] = {
    "relu": (0, None), "softplus": (0, None), "exponential": (0, None), "relu6": (0, 6), "sigmoid": (0, 1), "hard_sigmoid": (0, 1), "softmax": (0, 1),
    "tanh": (-1, 1), "hard_tanh": (-1, 1), "softsign": (-1, 1),
}  # fmt: skip
# Losses that are smallest where predictions and labels are equal.
_EQUAL = frozenset({"meansquarederror", "mse", "meanabsoluteerror", "mae", "meanabsolutepercentageerror", "mape", "huber", "logcosh", "rootmeansquarederror"})
_SLACK = 0.02


@check(order=45)
def out_of_reach(evidence: Evidence) -> Iterator[Finding]:
    """Labels outside of the range of the model's last activation."""
    for loss in evidence.losses() if not evidence.where else ():
        labels, predictions = ends(evidence, loss)
        if labels is None or predictions is None or kind_of(loss) != "regression" or loss.op.lower().replace("_", "") not in _EQUAL:
            continue
        head = _bounded(evidence, evidence.flow.node(predictions.source))
        path = evidence.carried(labels)
        values = [seen for seen in seen_at(evidence, path) if seen.dtype.kind in "iuf" and seen.size] if head is not None else []
        if head is None or path is None or not values:
            continue
        flat = np.concatenate([seen.reshape(-1) for seen in values]).astype("float64")
        flat = flat[np.isfinite(flat)]
        if not flat.size:
            continue
        name = activation_of(head)
        low, high = _RANGES[name]
        lowest, highest = float(flat.min()), float(flat.max())
        slack = _SLACK * (highest - lowest)
        beyond = (flat < low - slack) | (flat > (np.inf if high is None else high) + slack)
        # Labels of one value alone are placeholders.
        if lowest == highest or not beyond.any():
            continue
        fact = OutOfReach(Who.of(head), name, low, high, path, lowest, highest, float(beyond.mean()), loss.name)
        yield Finding.of(REACH.id, "note", fact, (head.id, loss.id), (predictions.id, labels.id), head.location or head.called)


def activation_of(node: Node) -> str:
    """The activation that a layer ends in, by its name."""
    given = node.config.get("activation")
    if isinstance(given, str):
        return given
    return node.op.lower() if node.op in ("Softmax", "Sigmoid", "Tanh") else ""


def _bounded(evidence: Evidence, node: Node) -> Node | None:
    for _ in range(4):
        if activation_of(node) in _RANGES:
            return node
        before = evidence.flow.into(node.id)
        if activation_of(node) not in ("", "linear") or node.weights or len(before) != 1 or not _plain(evidence, node):
            return None
        node = evidence.flow.node(before[0].source)
    return None


def _plain(evidence: Evidence, node: Node) -> bool:
    return node.op in ("Reshape", "Flatten", "Permute") or (node.op in ("Activation", "Identity") and keeps(evidence.flow, node))
