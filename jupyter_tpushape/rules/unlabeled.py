"""A loss or labels that are missing."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, KeyPath, Shape, Spec
from ..sources.values import Sample, Stage
from .examples import sequential
from .facts.loss_silent import NoLabels, NoLoss
from .registry import check, rule

NO_LOSS = rule(
    "no-loss", "There are labels but no loss", severity="note", source="Keras: fit needs compile(loss=...)",
    fails="""
def build():
    return keras.Sequential([keras.Input((6,)), L.Dense(3)])
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 3), "float32")
""",
    passes=sequential("L.Dense(3)", "(8, 6)", "np.zeros((8, 3), 'float32')"),
)  # fmt: skip

NO_LABELS = rule(
    "no-labels", "The loss has no labels", severity="error", source="the compiled loss of both Keras versions, called with None",
    fails="""
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(6)]); m.compile("sgd", "mse"); return m
def data():
    return tf.data.Dataset.from_tensor_slices(np.zeros((8, 6), "float32")).batch(4)
""",
    passes="""
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(6)]); m.compile("sgd", "mse"); return m
def data():
    return tf.data.Dataset.from_tensor_slices(np.zeros((8, 6), "float32")).map(lambda x: (x, x)).batch(4)
""",
    doc="A single array is treated as shapes only; a dataset or a generator is treated as the data for `fit`.",
)  # fmt: skip


@check(order=70)
def no_loss(evidence: Evidence) -> Iterator[Finding]:
    """There are labels, but no loss."""
    if (
        evidence.y
        and not evidence.where
        and not evidence.losses()
        and evidence.facts
        and not evidence.facts.get("has_loss")
        and not evidence.facts.get("overrides")
    ):
        yield Finding.of(NO_LOSS.id, "note", NoLoss())


@check(order=70)
def no_labels(evidence: Evidence) -> Iterator[Finding]:
    """Batches without labels, but a compiled loss that needs them."""
    sample, facts = evidence.sample, evidence.facts or {}
    if sample is None or evidence.where or sample.y is not None or not sample.sampled or sample.kind not in ("dataset", "generator", "pydataset"):
        return
    if facts.get("compares") and not set(facts.get("overrides") or ()) & {"train_step", "compute_loss"}:
        dropped = _dropped(sample)
        fact = NoLabels(_sizes(evidence.x) == _sizes(evidence.outputs), dropped.function if dropped is not None else "")
        yield Finding.of(NO_LABELS.id, "error", fact, location=dropped.location if dropped is not None else None)


def _dropped(sample: Sample) -> Stage | None:
    stages = {stage.name: stage for stage in sample.stages}
    for stage in sample.stages:
        before = [stages[name].spec for name in stage.inputs if name in stages]
        paired = len(before) == 1 and isinstance(before[0], tuple) and len(before[0]) == 2
        if stage.op == "map" and stage.function and paired and not isinstance(stage.spec, (tuple, dict, list)):
            return stage
    return None


def _sizes(leaves: list[tuple[KeyPath, Spec]]) -> list[Shape | None]:
    return [spec.shape and spec.shape[1:] for _, spec in leaves]
