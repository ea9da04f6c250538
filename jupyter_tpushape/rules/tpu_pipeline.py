"""The input pipeline: the order of its stages, where they run, and sharding over hosts (catalog, section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Finding, Location
from .facts.tpu_pipeline import BatchesShuffled, HostsReadAll, NoFiles, NoPrefetch, PythonStage, RandomCached, SerialMap, ShuffleCached
from .registry import check, rule

_PIPE = """
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    def noisy(x, y):
        return x + tf.random.normal((4,)), y
    ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")))
    return ds{pipe}
"""


def _pipe(text: str) -> str:
    return _PIPE.format(pipe=text)


_BATCH = ".batch(16, drop_remainder=True)"
CACHED = rule(
    "cache-after-random", "Random augmentation before cache()", severity="silent", source="tpu-rules P7",
    fails=_pipe(f".map(noisy, num_parallel_calls=2).cache(){_BATCH}.prefetch(2)"),
    passes=_pipe(f".cache().map(noisy, num_parallel_calls=2){_BATCH}.prefetch(2)"),
    doc="The cache stores the random values of the first epoch, and every later epoch repeats them.",
)  # fmt: skip
SHUFFLED = rule(
    "shuffle-before-cache", "shuffle() before cache()", severity="note", source="tpu-rules P8", tpu="v3-8",
    fails=_pipe(f".shuffle(64).cache(){_BATCH}.prefetch(2)"), passes=_pipe(f".cache().shuffle(64){_BATCH}.prefetch(2)"),
    doc="The cache keeps the order of the first epoch, so every epoch has the same order.",
)  # fmt: skip
WHOLE = rule(
    "shuffle-after-batch", "shuffle() after batch()", severity="note", source="tpu-rules P8", tpu="v3-8",
    fails=_pipe(f"{_BATCH}.shuffle(4).prefetch(2)"), passes=_pipe(f".shuffle(64){_BATCH}.prefetch(2)"),
    doc="The batches change their order, but their samples stay together in every epoch.",
)  # fmt: skip
PREFETCH = rule(
    "no-prefetch", "The pipeline does not end with prefetch()", severity="slow", source="tpu-rules P6, P8", tpu="v3-8",
    fails=_pipe(f".cache(){_BATCH}"), passes=_pipe(f".cache(){_BATCH}.prefetch(2)"),
    doc="""Without prefetch, the host starts to prepare a batch only when the TPU waits for it. With cache().prefetch().batch(), the batching happens after
the buffer: put prefetch last.""",
)  # fmt: skip
SERIAL = rule(
    "serial-map", "A map without parallel calls", severity="slow", source="tpu-rules P8", tpu="v3-8",
    fails=_pipe(f".map(noisy){_BATCH}.prefetch(2)"), passes=_pipe(f".map(noisy, num_parallel_calls=2){_BATCH}.prefetch(2)"),
)  # fmt: skip
PYTHON = rule(
    "python-pipeline", "Python code prepares every batch", severity="slow", source="tpu-rules P1, B15; tensorflow#32712, #38762", tpu="v3-8",
    fails=_pipe(".map(lambda x, y: (tf.ensure_shape(tf.numpy_function(lambda v: v, [x], tf.float32), (4,)), y), "
    f"num_parallel_calls=2){_BATCH}.prefetch(2)"),
    passes=_pipe(f".map(lambda x, y: (x * 2, y), num_parallel_calls=2){_BATCH}.prefetch(2)"),
    doc="On a TPU VM it runs on the host, one thread at a time. On a TPU node (two machines) it fails: `No registered 'PyFunc' OpKernel`.",
)  # fmt: skip
SHARDS = rule(
    "shard-by-file", "Sharding by file without enough files", severity="tpu", source="tpu-rules P3, P4", tpu="v4-32",
    fails=_pipe(f"{_BATCH}.prefetch(2).with_options(options('FILE'))") + """
def options(name):
    made = tf.data.Options(); made.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[name]; return made
""",
    passes=_pipe(f"{_BATCH}.prefetch(2).with_options(options('DATA'))") + """
def options(name):
    made = tf.data.Options(); made.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[name]; return made
""",
)  # fmt: skip
EVERYTHING = rule(
    "hosts-read-all", "Every host reads all of the data", severity="slow", source="tpu-rules P5 (from the documentation, not verified)",
    tpu="v4-32",
    fails=_pipe(f"{_BATCH}.prefetch(2)"),
    passes="""
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    ds = tf.data.TFRecordDataset(["a", "b", "c", "d"]).map(lambda r: (tf.zeros((4,)), tf.zeros((1,))), num_parallel_calls=2)
    return ds.take(0).repeat(1).batch(16, drop_remainder=True).prefetch(2)
""",
)  # fmt: skip


def _stages(evidence: Evidence) -> list[Any]:
    sample = evidence.sample
    return list(sample.stages) if sample is not None and sample.kind == "dataset" else []


def _feeds(stages: list[Any], name: str) -> list[Any]:
    known = {stage.name: stage for stage in stages}
    pending, found = list(known[name].inputs), []
    while pending:
        stage = known.get(pending.pop(0))
        if stage is not None and stage not in found:
            found.append(stage)
            pending.extend(stage.inputs)
    return found


def _nodes(evidence: Evidence, *stages: Any) -> tuple[str, ...]:
    names = [stage.name for stage in stages]
    return tuple(node.id for node in evidence.flow.nodes if node.kind == "stage" and node.name in names)


def _place(evidence: Evidence, stage: Any) -> Location | None:
    shown = next((node.location for node in evidence.flow.nodes if node.kind == "stage" and node.name == stage.name), None)
    return shown if shown is not None else stage.location


def _what(stage: Any) -> str:
    return f"{stage.op}({stage.function})" if stage.function else stage.op


@check(order=55)
def cached_noise(evidence: Evidence) -> Iterator[Finding]:
    """Random stages before a cache; on every device."""
    stages = _stages(evidence)
    for cache in (stage for stage in stages if stage.op in ("cache", "snapshot")):
        noisy = next((stage for stage in _feeds(stages, cache.name) if stage.detail.get("random") and stage.op != "shuffle"), None)
        if noisy is not None:
            fact = RandomCached(_what(noisy), cache.op)
            yield Finding.of(CACHED.id, "silent", fact, _nodes(evidence, noisy, cache), location=_place(evidence, noisy))


@check(order=80)
def order(evidence: Evidence) -> Iterator[Finding]:
    """shuffle, cache, batch and prefetch in an inefficient order."""
    stages = _stages(evidence)
    if evidence.target is None or not stages:
        return
    for stage in stages:
        before = _feeds(stages, stage.name)
        if stage.op == "cache" and any(other.op == "shuffle" for other in before):
            yield Finding.of(SHUFFLED.id, "note", ShuffleCached(), _nodes(evidence, stage))
        if stage.op == "shuffle" and any(other.op in ("batch", "padded_batch") for other in before) and not any(other.op == "unbatch" for other in before):
            yield Finding.of(WHOLE.id, "note", BatchesShuffled(), _nodes(evidence, stage))
    working = [stage for stage in stages if stage.op not in ("options", "repeat", "take", "skip", "assert_cardinality", "finalize")]
    if working and working[-1].op != "prefetch":
        early = any(stage.op == "prefetch" for stage in working)
        fact = NoPrefetch(_what(working[-1]), working[-1].op, early)
        yield Finding.of(PREFETCH.id, "slow", fact, _nodes(evidence, working[-1]))


@check(order=81)
def host_work(evidence: Evidence) -> Iterator[Finding]:
    """Serial maps and Python code."""
    sample = evidence.sample
    if evidence.target is None or sample is None or sample.kind == "specs":
        return
    for stage in sample.stages:
        if stage.detail.get("python"):
            yield Finding.of(PYTHON.id, "slow", PythonStage(_what(stage), evidence.backend == "jax"), _nodes(evidence, stage), location=_place(evidence, stage))
        elif stage.op == "map" and not stage.detail.get("parallel") and not any(
            later.op in ("batch", "padded_batch") for later in _feeds(sample.stages, stage.name)
        ):  # fmt: skip
            yield Finding.of(SERIAL.id, "slow", SerialMap(_what(stage)), _nodes(evidence, stage), location=_place(evidence, stage))


@check(order=82, backend="tensorflow")
def hosts(evidence: Evidence) -> Iterator[Finding]:
    """Sharding over several hosts."""
    split, target, stages = evidence.split, evidence.target, _stages(evidence)
    if split is None or target is None or target.hosts < 2 or not stages:
        return
    readers = [stage for stage in stages if stage.reads_files]
    counts = [stage.detail.get("files") for stage in readers]
    files = sum(int(count) for count in counts if count is not None) if None not in counts else None
    reads = split.by_file or bool(readers)
    nodes = tuple(node.id for node in evidence.flow.nodes if node.kind == "split")
    if split.policy == "FILE" and not readers and not any(stage.op in ("interleave", "flat_map") for stage in stages):
        yield Finding.of(SHARDS.id, "tpu", NoFiles(target.hosts, 0), nodes)
    elif split.by_file and files is not None and 0 < files < target.hosts:
        yield Finding.of(SHARDS.id, "tpu", NoFiles(target.hosts, files), nodes)
    elif not reads and split.policy in ("AUTO", "DATA"):
        yield Finding.of(EVERYTHING.id, "slow", HostsReadAll(target.hosts), nodes)
