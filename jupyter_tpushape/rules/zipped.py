"""Data in the wrong order, pipelines that are zipped of which one has batches and another has single elements, and batches of short windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Finding, Location, Who
from ..flow.paths import flatten, show
from ..sources.values import Stage
from ..trace.locations import location
from .encodings import at_line
from .facts.data import ShortWindows
from .facts.entry import ZippedApart
from .facts.mixing import Interleaved
from .facts.orders import MovedApart, OrdersApart
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
    """The fact for the last ``zip`` of the pipeline."""
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
    stages: dict[str, Stage] = {stage.name: stage for stage in evidence.stages}
    last = next(reversed(stages.values()), None)
    while last is not None and last.op in keeps and len(last.inputs) == 1:
        last = stages.get(last.inputs[0])
    return stages, last if last is not None and last.op == "zip" else None


def part_shuffled(evidence: Evidence) -> OrdersApart | None:
    """The fact for inputs and labels, each from slices of an array, that are not shuffled alike before they are paired."""
    stages, last = _last_zip(evidence, _KEEPS | _BATCHES)
    shuffled, sources = [], set()
    for name in last.inputs if last is not None else ():
        part, orders = stages.get(name), list[Any]()
        while part is not None and part.op in _KEEPS | _BATCHES and len(part.inputs) == 1:
            # Two with one seed are in one order.
            orders += [(part.detail.get("seed") or part.name, part.detail.get("buffer_size"))] if part.op == "shuffle" else []
            part = stages.get(part.inputs[0])
        # What has labels of its own is mixed with other samples, such as with its own shuffled ones.
        if part is None or part.op not in ("tensor_slices", "range") or isinstance(part.spec, tuple) or part.name in sources:
            return None
        sources.add(part.name)
        shuffled.append(orders)
    if len(shuffled) != 2 or shuffled[0] == shuffled[1]:
        return None
    one, other = ("x", "y") if shuffled[0] else ("y", "x")
    return OrdersApart(one, other, "shuffle()", 0, [] in shuffled)


def _batch_of(stages: dict[str, Stage], part: Stage) -> Stage | bool | None:
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
    stages: dict[str, Stage] = {stage.name: stage for stage in evidence.stages}
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


_ROWS = """
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    x, y = np.arange(64, dtype="float32").reshape(16, 4), np.arange(16, dtype="float32")[:, None]
"""
SHUFFLED = rule(
    "shuffled-apart", "The rows of inputs and labels are in different orders", severity="silent", source="the code that makes the data",
    fails=_ROWS + "    np.random.shuffle(x)\n    return x, y\n",
    passes=_ROWS + "    order = np.random.permutation(len(x))\n    return x[order], y[order]\n",
    doc="""Reported if the code of the data shuffles or sorts the rows of one of two arrays, or those of each on its own. So is an array whose rows are repeated one by one
beside one that is repeated as a whole. Two orders are not reported if the file seeds
random numbers more than once, because they may be the same, nor is one of several inputs that is paired with other samples. Datasets that `zip` pairs
are reported if they are not shuffled alike before.""",
)  # fmt: skip


@check(order=2)
def shuffled_apart(evidence: Evidence) -> Iterator[Finding]:
    """Arrays of which one is put in a random order that another one is not put in."""
    orders = evidence.facts.get("orders")
    if orders is not None:
        draw = orders.draw
        fact = OrdersApart(show(orders.one.path), show(orders.other.path), draw.text, draw.node.lineno, orders.alone)
        yield Finding.of(SHUFFLED.id, "silent", fact, location=location((draw.at.file, draw.node.lineno)))


_MASKS = """
def build():
    m = keras.Sequential([keras.Input((8, 8, 3)), L.Conv2D(1, 1)]); m.compile("sgd", "mse"); return m
def flipped(x, y):
    return tf.image.random_flip_up_down(x, 1), tf.image.random_flip_up_down(y, %s)
def data():
    x = np.zeros((16, 8, 8, 3), "float32")
    return tf.data.Dataset.from_tensor_slices((x, x[..., :1])).map(flipped).batch(8)
"""
MOVED = rule(
    "pixels-apart", "Images and their labels are flipped or cut differently", severity="silent", source="the traced function of the pipeline",
    fails=_MASKS % 2, passes=_MASKS % 1,
    doc="""Reported for a `map` function that returns an input and a label with the same pixels, and flips only one of them at random, or both by other
random numbers or along other axes.""",
)  # fmt: skip


@check(order=2)
def moved_apart(evidence: Evidence) -> Iterator[Finding]:
    """Functions that move inputs and labels apart."""
    stages = [stage for stage in evidence.stages if "apart" in stage.detail]
    if len(stages) == 1 and evidence.y and "train_step" not in (evidence.facts.get("overrides") or ()):
        kind, lines = stages[0].detail["apart"]
        name, where = stages[0].function, at_line(stages[0].location, lines[0])
        if kind == "rows":
            yield Finding.of(SHUFFLED.id, "silent", OrdersApart("x", "y", f"{name}()", lines[0], False), location=where)
        else:
            yield Finding.of(MOVED.id, "silent", MovedApart(name, tuple(lines)), location=where)


_WINDOWS = """
def build():
    m = keras.Sequential([keras.Input(%s), L.LSTM(4), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    series = np.arange(60, dtype="float32").reshape(20, 3)
    x = np.array([series[i : i + 5] for i in range(15)])
"""
MIXED = rule(
    "data-axes-mixed", "A reshape of the data mixes steps and features", severity="silent", source="the code that makes the data",
    fails=_WINDOWS % "(3, 5)" + "    return x.reshape(len(x), 3, 5), series[5:, :1]\n",
    passes=_WINDOWS % "(5, 3)" + "    return x, series[5:, :1]\n",
    doc="""Reported for a reshape in a function of a `tf.data` pipeline. So is one where the text shows the axes before it: windows of a series, arrays that are stacked,
or an array whose own sizes are written in another order. Both sizes must be larger than 1.""",
)  # fmt: skip


@check(order=2)
def data_axes_mixed(evidence: Evidence) -> Iterator[Finding]:
    """Reshapes that exchange two axes."""
    found, seen = evidence.facts.get("swapped_axes"), list[Any]()
    for stage in evidence.stages:
        slips = stage.detail.get("slips", ())
        seen += [(stage.function, at_line(stage.location, line), *shapes) for shapes, line in slips if not isinstance(shapes, str)]
    if found is not None:
        sizes = (found.steps, found.features)
        seen.append((show(found.array.path), location((found.at.file, found.call.lineno)), sizes, sizes[::-1]))
    for one in evidence.facts.get("turned_pictures") or ():
        seen.append((show(one.path), location((one.at.file, one.call.lineno)), one.before, one.after))
    for name, where, before, after in seen:
        fact = Interleaved(Who(name, "Reshape", "op", where), before, after, False)
        yield Finding.of(MIXED.id, "silent", fact, location=where)
