"""Class indices that a pipeline resizes by interpolation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Finding, KeyPath, Location
from ..flow.paths import flatten
from .compared import ends, kind_of
from .facts.loss_silent import LabelsInterpolated
from .registry import check, rule

_MASKS = """
def load(x, y):
    return tf.image.resize(x, (4, 4)), tf.cast(tf.image.resize(y, (4, 4)%s), tf.int32)
def build():
    m = keras.Sequential([keras.Input((4, 4, 1)), L.Conv2D(3, 1, activation="softmax")]); m.compile("sgd", "sparse_categorical_crossentropy"); return m
def data():
    x, y = np.zeros((8, 8, 8, 1), "float32"), np.arange(512).reshape(8, 8, 8, 1) %% 3
    return tf.data.Dataset.from_tensor_slices((x, y)).map(load).batch(4)
"""
RESIZED = rule(
    "labels-interpolated", "Class indices are resized by interpolation", severity="silent", source="tf.image.resize: method=ResizeMethod.BILINEAR is the default",
    fails=_MASKS % "", passes=_MASKS % ", method='nearest'",
    doc="""Reported for labels of a sparse crossentropy that the last function of a `tf.data` pipeline resizes by a method other than the nearest neighbor.""",
)  # fmt: skip


@check(order=47)
def resized_labels(evidence: Evidence) -> Iterator[Finding]:
    """Labels of a sparse loss that come from a resize which interpolates."""
    stages = [one for one in getattr(evidence.sample, "stages", ()) if one.function]
    blended: dict[int, int] = stages[-1].detail.get("interpolated") or {} if stages and stages[-1].op == "map" else {}
    for node in evidence.losses() if blended and not evidence.where else ():
        labels, _ = ends(evidence, node)
        path = evidence.carried(labels) if labels is not None and kind_of(node) == "sparse" else None
        place = _place(stages[-1].spec, path) if path is not None else None
        if path is None or place is None or place not in blended:
            continue
        where = stages[-1].location
        line = blended[place]
        location = _at_line(where, line) if where is not None and line else where
        yield Finding.of(
            RESIZED.id, "silent", LabelsInterpolated(stages[-1].function, path, node.name, line), (node.id,), location=location
        )


def _at_line(where: Location, line: int) -> Location:
    return Location(where.file, line, where.cell, where.execution)


def _place(spec: Any, path: KeyPath) -> int | None:
    """Where a leaf of the labels is among all that leaves a stage."""
    if not isinstance(spec, tuple) or len(spec) < 2 or path[0] != "y":
        return None
    before = len(list(flatten(spec[0], "x")))
    paths = sorted(at for at, _ in flatten(spec[1], "y")) if isinstance(spec[1], dict) else [at for at, _ in flatten(spec[1], "y")]
    return before + paths.index(path) if path in paths else None
