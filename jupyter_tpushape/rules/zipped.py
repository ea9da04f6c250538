"""Pipelines that are zipped, of which one has batches and another has single elements, and batches of short windows."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Location
from ..flow.paths import flatten
from ..sources.values import Stage
from .facts.data import ShortWindows
from .facts.entry import PartShuffled, ZippedApart
from .orders import SHUFFLED
from .registry import check, rule

_MODEL = """
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(3, activation="softmax")]); m.compile("sgd", "sparse_categorical_crossentropy"); return m
def data():
    x = tf.data.Dataset.from_tensor_slices(np.zeros((16, 6), "float32"))
    y = tf.data.Dataset.from_tensor_slices(np.arange(16) % 3)
"""
ZIPPED = rule(
    "zipped-batches", "Datasets are zipped, and only some of them are batched", severity="error", source="tf.data.Dataset.zip takes one element of each dataset",
    fails=_MODEL + "    return tf.data.Dataset.zip((x.batch(4), y))\n", passes=_MODEL + "    return tf.data.Dataset.zip((x.batch(4), y.batch(4)))\n",
    doc="Reported if one part has a `batch` stage, another has none and comes from single slices, and nothing makes batches of the pairs.",
)  # fmt: skip
_BATCHES = frozenset({"batch", "padded_batch", "ragged_batch"})
# What keeps one element for each that it receives, or only leaves out or orders some.
_WHOLE = frozenset({"map", "prefetch", "cache", "shuffle", "repeat", "options", "enumerate", "model"})
_KEEPS = _WHOLE | {"take", "skip", "filter", "shard"}


def zipped_apart(evidence: Evidence) -> ZippedApart | None:
    """The fact for the last ``zip`` of the pipeline, where single elements of a part do not have the size of a batch by themselves."""
    stages, last = _last_zip(evidence, _KEEPS)
    if last is None:
        return None
    parts = [stages[name] for name in last.inputs if name in stages]
    found = [_batch_of(stages, part) for part in parts]
    batches = {stage.detail.get("batch_size") for stage in found if isinstance(stage, Stage)}
    batched = tuple(i for i, stage in enumerate(found) if isinstance(stage, Stage))
    single = tuple(i for i, stage in enumerate(found) if stage is False)
    size = next(iter(batches)) if len(batches) == 1 else None
    if not isinstance(size, int) or not batched or not single or len(parts) != len(last.inputs):
        return None
    specs = [[leaf for _, leaf in flatten(part.spec, "part")] for part in parts]
    if any(leaf is None or leaf.shape is None for leaves in specs for leaf in leaves):
        return None
    if any(leaf.shape[:1] in ((size,), (None,)) for i in single for leaf in specs[i]):
        return None
    drops = all(stage.detail.get("drop_remainder") for stage in found if isinstance(stage, Stage))
    return ZippedApart(batched, single, size, drops, tuple(leaves[0].shape for leaves in specs))


def _last_zip(evidence: Evidence, keeps: frozenset[str]) -> tuple[dict[str, Stage], Stage | None]:
    """The stages, and the ``zip`` that the pipeline ends in but for some."""
    stages: dict[str, Stage] = {stage.name: stage for stage in getattr(evidence.sample, "stages", ())}
    last = next(reversed(stages.values()), None)
    while last is not None and last.op in keeps and len(last.inputs) == 1:
        last = stages.get(last.inputs[0])
    return stages, last if last is not None and last.op == "zip" else None


def part_shuffled(evidence: Evidence) -> PartShuffled | None:
    """The fact for inputs and labels, each from slices of an array, of which one is shuffled before they are paired."""
    stages, last = _last_zip(evidence, _KEEPS | _BATCHES)
    shuffled, sources = [], set()
    for name in last.inputs if last is not None else ():
        part, ops = stages.get(name), list[str]()
        while part is not None and part.op in _KEEPS | _BATCHES and len(part.inputs) == 1:
            ops.append(part.op)
            part = stages.get(part.inputs[0])
        # What has labels of its own is mixed with other samples, such as with its own shuffled ones.
        if part is None or part.op not in ("tensor_slices", "range") or isinstance(part.spec, tuple) or part.name in sources:
            return None
        sources.add(part.name)
        shuffled.append("shuffle" in ops)
    return PartShuffled(shuffled.index(True)) if sorted(shuffled) == [False, True] else None


def _batch_of(stages: dict[str, Stage], part: Stage) -> Stage | bool | None:
    """The stage that batches a part; ``False`` where its elements are single slices of arrays; ``None`` where that is not known."""
    stage: Stage | None = part
    while stage is not None:
        if stage.op in _BATCHES:
            return stage
        if stage.op in ("tensor_slices", "range"):
            return False
        stage = stages.get(stage.inputs[0]) if stage.op in _KEEPS and len(stage.inputs) == 1 else None
    return None


@check(order=2)
def zipped(evidence: Evidence) -> Iterator[Finding]:
    """Batches that are paired with single elements."""
    fact = zipped_apart(evidence)
    if fact is not None and evidence.where:
        yield Finding.of(ZIPPED.id, "error", fact)


@check(order=2)
def zipped_in_orders(evidence: Evidence) -> Iterator[Finding]:
    """Pairs of inputs and labels of which one is shuffled alone; a step of the model's own may pair them on purpose."""
    fact = part_shuffled(evidence) if evidence.y and "train_step" not in (evidence.facts.get("overrides") or ()) else None
    if fact is not None:
        yield Finding.of(SHUFFLED.id, "silent", fact)


def short_windows(evidence: Evidence) -> tuple[ShortWindows, Location | None] | None:
    """Windows of several lengths in one batch, and their line."""
    stages: dict[str, Stage] = {stage.name: stage for stage in getattr(evidence.sample, "stages", ())}
    batch = stage = next((one for one in reversed(stages.values()) if one.op == "batch"), None)
    shuffled, varies = False, True
    while stage is not None and len(stage.inputs) == 1 and varies:
        stage = stages[stage.inputs[0]]
        shuffled |= stage.op in ("shuffle", "repeat")
        varies = any(leaf is not None and leaf.shape and leaf.shape[0] is None for _, leaf in flatten(stage.spec, "part"))
        if stage.op not in _WHOLE or (stage.op == "map" and not stage.detail.get("as_long")):
            break
    series = stages[stage.inputs[0]] if stage is not None and stage.op == "flat_map" and varies else None
    detail = series.detail if series is not None else {}
    if batch is None or stage is None or not {"elements", "size", "shift", "stride"} <= {*detail} or detail.get("drop_remainder"):
        return None
    size, rows = detail["size"], batch.detail.get("batch_size") or 1
    ends = range(detail["elements"], 0, -detail["shift"])[:100_000]
    lengths = [min(size, -(-left // detail["stride"])) for left in ends]
    last = len(lengths) - len(lengths) % rows if batch.detail.get("drop_remainder") else len(lengths)
    groups = [lengths[start : start + rows] for start in range(0, last, rows)]
    apart = sum(length < size for length in lengths) > 1 < rows if shuffled else any(len({*group}) > 1 for group in groups)
    return (ShortWindows(size), stage.location) if apart else None
