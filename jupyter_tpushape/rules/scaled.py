"""Pixels that are scaled to a small range twice."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from ..sources.stats import stats_of
from .compared import fed_whole, seen_at
from .facts.ranges import ScaledTwice
from .registry import check, rule

_PICTURES = """
def build():
    m = keras.Sequential([keras.Input((4, 4, 3)), L.Rescaling(1 / 255), L.Flatten(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return (np.arange(8 * 48).reshape(8, 4, 4, 3) %% 256 / %s).astype("float32"), np.zeros((8, 1), "float32")
"""
TWICE = rule(
    "scaled-twice", "Values are scaled twice", severity="silent", source="the sampled values, and the layer's scale",
    fails=_PICTURES % "255", passes=_PICTURES % "1",
    doc="""Reported if a `Rescaling` layer that divides by 100 or more receives values between -1 and 1: those of the data, or of another such layer. Data of
integers, such as zeros in place of pictures, is not reported.""",
)  # fmt: skip
# Pixels have 256 values; a layer that divides by less than this may be made for something else.
_LARGE = 100
# What leaves pixels in their range.
_KEEPS = ("Random", "Resizing", "CenterCrop", "ZeroPadding", "Cropping")


@check(order=46)
def scaled_twice(evidence: Evidence) -> Iterator[Finding]:
    """Layers that divide as for pixels, behind something that did so."""
    for node in evidence.flow.nodes if not evidence.where else ():
        scale = node.config.get("scale") if node.op == "Rescaling" else None
        edge = next(iter(evidence.flow.into(node.id)), None)
        if not isinstance(scale, float) or not 0 < scale <= 1 / _LARGE or edge is None:
            continue
        offset = node.config.get("offset")
        offset = float(offset) if isinstance(offset, (int, float)) else 0.0
        edge, before = _upstream(evidence, edge)
        if before is not None:
            fact = ScaledTwice(Who.of(node), 1 / scale, offset, 0.0, 255 * before.config["scale"], before=Who.of(before))
            yield Finding.of(TWICE.id, "silent", fact, (node.id, before.id), location=node.location)
            continue
        path = fed_whole(evidence, edge)
        seen = stats_of(seen_at(evidence, path)) if path is not None else None
        if seen is None or seen.whole or seen.minimum is None or seen.maximum is None or not -1 <= seen.minimum <= seen.maximum <= 1:
            continue
        fact = ScaledTwice(Who.of(node), 1 / scale, offset, seen.minimum, seen.maximum, path or ())
        yield Finding.of(TWICE.id, "silent", fact, (node.id,), (edge.id,), node.location)


def _upstream(evidence: Evidence, edge: Edge) -> tuple[Edge, Node | None]:
    node = evidence.flow.node(edge.source)
    while node.kind == "layer" and node.op.startswith(_KEEPS) and len(evidence.flow.into(node.id)) == 1:
        edge = evidence.flow.into(node.id)[0]
        node = evidence.flow.node(edge.source)
    scale = node.config.get("scale") if node.op == "Rescaling" else None
    return edge, node if isinstance(scale, float) and 0 < scale <= 1 / _LARGE and not node.config.get("offset") else None
