"""Keras on JAX: batches over a mesh of devices and its hosts, and shapes that are compiled again."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.layout_facts import Laid
from ..flow import Finding, KeyPath
from ..flow.paths import flatten
from ..sources.datasets import PARTS
from .facts.mesh import HostsRefused, HostsShare, Indivisible, Recompiled
from .registry import check, rule
from .tpu_batch import split_nodes

_ROWS = """
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros(({0}, 4), "float32"), np.zeros(({0}, 1), "float32")
"""
BATCH = rule(
    "mesh-batch", "The batch is not divisible by the number of devices", severity="tpu", source="tpu-rules B17 (Keras 3.15 on JAX, eight CPU devices)",
    tpu="v5e-8", backend="jax", frameworks=("keras",), fails=_ROWS.format(12), passes=_ROWS.format(64),
    doc="""`keras.distribution` shards every batch evenly over the mesh, including the last one: `Sharding ... implies that array axis 0 is partitioned 8
times, but the dimension size is 12`. For a slice that is only planned, `DataParallel` over all of its chips is assumed. Without a distribution,
Keras on JAX trains on a single device.""",
)  # fmt: skip
_PROCESSES = (
    _ROWS.format(64)
    + """
def strategy():
    D = keras.distribution
    mesh = D.DeviceMesh((16,), ["batch"], devices=[f"tpu:{{i}}" for i in range(16)])
    return D.DataParallel(device_mesh=mesh, auto_shard_dataset={0})
"""
)
HOSTS = rule(
    "mesh-hosts", "Keras cannot distribute this data over several hosts", severity="tpu",
    source="keras/src/trainers/data_adapters/__init__.py, keras/src/distribution/distribution_lib.py: distribute_tf_dataset (Keras 3.15)",
    tpu="v5e-16", backend="jax", frameworks=("keras",), fails=_PROCESSES.format(True), passes=_PROCESSES.format(False),
    doc="""On a slice with several hosts, each host runs the program. With `auto_shard_dataset=True`, the default, Keras distributes a `tf.data.Dataset`
over them. Other data raises an error, as does a batch that is not divisible by the hosts. For a slice that is only planned, `DataParallel` is
assumed.""",
)  # fmt: skip
DEALT = rule(
    "mesh-hosts-share", "Hosts read too little or the same data", severity="silent", source="keras.distribution.Distribution.distribute_dataset (Keras 3.15)",
    tpu="v5e-16", backend="jax", frameworks=("keras",),
    fails=_PROCESSES.format(True).replace("return np", "return tf.data.Dataset.from_tensor_slices((np").replace('1), "float32")\n', '1), "float32"))).shard(4, 0).batch(16)\n', 1),
    passes=_PROCESSES.format(True).replace("return np", "return tf.data.Dataset.from_tensor_slices((np").replace('1), "float32")\n', '1), "float32"))).batch(16)\n', 1),
    doc="""If both the pipeline and Keras shard the data, each host reads a part of its part, and the rest is never read. If neither does, all hosts read
the same rows; this is a note, because the files may be split in another way.""",
)  # fmt: skip
_SIZES = """
class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 3
    def __getitem__(self, index):
        n = ({})[index]
        return np.zeros((n, 4), "float32"), np.zeros((n, 1), "float32")
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return Rows()
"""
SHAPES = rule(
    "recompiled-shapes", "The step is compiled again for every new shape", severity="slow", source="measured with Keras 3.15 on JAX 0.10: one compilation for each shape",
    backend="jax", frameworks=("keras",), fails=_SIZES.format("32, 48, 40"), passes=_SIZES.format("32, 32, 7"),
    doc="""`jax.jit` compiles one program for each combination of shapes, which takes seconds to minutes for a large model. A single smaller batch at the
end costs one more compilation and is not reported. With `run_eagerly=True`, nothing is compiled.""",
)  # fmt: skip


@check(order=61, backend="jax")
def indivisible(evidence: Evidence) -> Iterator[Finding]:
    """A batch that cannot be sharded over the mesh."""
    split = evidence.split
    if split is None:
        return
    for rows, last in ((split.batch, False), (split.partial, True)):
        if rows is not None and not split.divides(rows):
            yield Finding.of(BATCH.id, "tpu", Indivisible(rows, split.parts, last, split.genuine), split_nodes(evidence))
            return


@check(order=63, backend="jax")
def recompiled(evidence: Evidence) -> Iterator[Finding]:
    """Sizes that vary from batch to batch, so that a compiled step fits no two of them."""
    sample = evidence.sample
    if sample is None or evidence.failure is not None or evidence.facts.get("run_eagerly"):
        return
    seen: dict[tuple[KeyPath, int], list[int]] = {}
    for batch in sample.sampled:
        for name, part in zip(PARTS, batch, strict=True):
            for path, leaf in flatten(part, name):
                for axis, size in enumerate(getattr(leaf, "shape", ())[1:], 1):
                    sizes = seen.setdefault((path, axis), [])
                    sizes += [size] if size not in sizes else []
    rows = tuple(sample.batch_sizes)
    first = next((path for path, _ in evidence.x), ())
    # One smaller batch is the last one.
    if len(rows) > 2 or (len(rows) == 2 and rows[1] > rows[0]):
        yield Finding.of(SHAPES.id, "slow", Recompiled(first, 0, rows, sample.kind == "dataset"), split_nodes(evidence))
    for (path, axis), sizes in seen.items():
        if len(sizes) > 1:
            yield Finding.of(SHAPES.id, "slow", Recompiled(path, axis, tuple(sizes), sample.kind == "dataset"), split_nodes(evidence))
            return


@check(order=62, backend="jax")
def hosts(evidence: Evidence) -> Iterator[Finding]:
    """What Keras does with the data if each host of a slice runs the program."""
    sample, target, split = evidence.sample, evidence.target, evidence.split
    if sample is None or target is None or split is None or target.hosts < 2 or sample.kind == "specs":
        return
    laid: Laid | None = evidence.facts.get("layout")
    nodes = split_nodes(evidence)
    if laid is not None and not laid.deals:
        if sample.kind == "dataset" and not any(stage.op == "shard" or stage.reads_files for stage in sample.stages):
            yield Finding.of(DEALT.id, "note", HostsShare(target.hosts, False), nodes)
        return
    if sample.kind != "dataset":
        yield Finding.of(HOSTS.id, "tpu", HostsRefused(target.hosts), nodes)
        return
    # As distribute_tf_dataset counts: hosts that hold one copy of the model together read the same rows.
    parts = min(split.parts, target.hosts)
    if parts > 1 and split.batch is not None and split.batch % parts:
        yield Finding.of(HOSTS.id, "tpu", HostsRefused(target.hosts, split.batch, parts), nodes)
    if parts > 1 and any(stage.op == "shard" for stage in sample.stages):
        yield Finding.of(DEALT.id, "silent", HostsShare(parts, True), nodes)
