"""How a batch is split over a TPU's replicas: dynamic, varying, uneven and empty batches (catalog, section 3)."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Severity, Shape, Who
from .facts.tpu_batch import DynamicAxes, DynamicBatch, DynamicReaches, EmptyReplica, Unbatched, UnevenReplicas, UnknownRank, VaryingBatches
from .registry import check, rule

_MODEL = """
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(3), {layers}L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    x, y = np.zeros(({rows}, 4), "float32"), np.zeros(({rows}, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)){pipe}
"""


def _program(rows: int, pipe: str, layers: str = "") -> str:
    return _MODEL.format(rows=rows, pipe=pipe, layers=layers)


_VARYING = """
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    def rows():
        for n in ({sizes}):
            yield np.zeros((n, 4), "float32"), np.zeros((n, 1), "float32")
    return tf.data.Dataset.from_generator(rows, output_signature=(tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1))))
"""

_IMAGES = """
def build():
    m = keras.Sequential([keras.Input((8, 8, 3)), L.UpSampling2D(2, interpolation="bilinear"), L.Conv2D(1, 1)]); m.compile("sgd", "mse"); return m
def data():
    x, y = np.zeros((20, 8, 8, 3), "float32"), np.zeros((20, 16, 16, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(8{drop})
"""

_TEXT = """
def build():
    m = keras.Sequential([keras.Input((None,), dtype="int32"), L.Embedding(9, 4), L.{layer}(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    words = tf.data.Dataset.from_generator(lambda: (np.ones(n, "int32") for n in range(1, 17)), output_signature=tf.TensorSpec((None,), tf.int32))
    return words.map(lambda x: (x, tf.zeros((1,)))).padded_batch(8, padded_shapes=({shape}, [1]), drop_remainder=True)
"""

DYNAMIC = rule(
    "dynamic-batch", "The batch size is unknown when the TPU program is compiled", severity="slow",
    source="tpu-rules B1, B14, B15; tensorflow/python/tpu/tpu.py:389-517", tpu="v3-8",
    fails=_program(40, ".batch(16)"), passes=_program(40, ".batch(16, drop_remainder=True)"),
    doc="""TPUStrategy traces the replica's program with an unknown batch axis, passes the true size as an extra input, and pads to the largest replica (at
least 2 rows). It compiles a program for each padded size. This is not an error by itself: `dynamic-unsupported` lists what does not support an
unknown axis.""",
)  # fmt: skip
VARYING = rule(
    "varying-batch", "Full batches differ in size, so no single TPU program fits", severity="tpu",
    source="tpu-rules B1, B2, B15", tpu="v3-8",
    fails=_VARYING.format(sizes="32, 64, 32"), passes=_VARYING.format(sizes="32, 32, 7"),
    doc="""Here the sizes differ by design; a single smaller batch at the end is reported only as `dynamic-batch`. Each new size needs a new program
(seconds to minutes of compilation), and the batch axis stays unknown to the compiler.""",
)  # fmt: skip
UNSUPPORTED = rule(
    "dynamic-unsupported", "Operation that the TPU compiler rejects for an unknown axis", severity="tpu",
    source="tpu-rules B2; tensorflow#41899, #45175, #48602, #36194", tpu="v3-8",
    fails=_IMAGES.format(drop=""), passes=_IMAGES.format(drop=", drop_remainder=True"),
    doc="""Reported by users and not reproduced without a TPU. A bilinear or bicubic resize is a custom call, which supports no unknown axis (`CustomCall is
not supported to have a dynamic dimension`). Convolutions and pooling support an unknown batch axis, but not an unknown spatial axis (`Dynamic
Spatial Convolution is not supported`, `Dynamic shape is not supported for non trivial window`).""",
)  # fmt: skip
UNEVEN = rule(
    "uneven-replicas", "The batch is not divisible by the number of replicas", severity="silent", source="tpu-rules B7, B8, B9", tpu="v3-8",
    fails=_program(48, ".batch(12, drop_remainder=True)"), passes=_program(48, ".batch(16, drop_remainder=True)"),
    doc="""No error is raised. The gradient is the mean over the replicas of each replica's mean. A row on a replica with fewer rows therefore counts more,
and a replica without rows counts as zero. The batch size per replica becomes dynamic, even with drop_remainder=True.""",
)  # fmt: skip
EMPTY_NORM = rule(
    "batchnorm-empty-replica", "BatchNormalization on a replica without rows", severity="silent", source="tpu-rules B10", tpu="v3-8",
    frameworks=("keras",),
    fails=_program(20, ".batch(16)", "L.BatchNormalization(), "), passes=_program(20, ".batch(16, drop_remainder=True)", "L.BatchNormalization(), "),
    doc="""Keras 3 divides by the number of rows. With no rows, the gradient of gamma becomes NaN and stays NaN, while the loss of that step is finite.
Reproduced with MirroredStrategy on CPUs; not verified on a TPU, which pads to two rows. tf_keras handles empty batches.""",
)  # fmt: skip
NO_BATCH = rule(
    "unbatched-dataset", "The dataset is not batched: replicas split a sample instead", severity="tpu", source="tpu-rules B11, B12", tpu="v3-8",
    fails=_program(64, ""), passes=_program(64, ".batch(16, drop_remainder=True)"),
    doc="""The strategy splits the first axis, whatever it is: (5,) is split over eight replicas as 1, 1, 1, 1, 1, 0, 0, 0. Scalars raise `IndexError: list
index out of range`.""",
)  # fmt: skip
AXIS = rule(
    "dynamic-axis", "The size of an inner axis varies from batch to batch", severity="slow", source="tpu-rules B4", tpu="v3-8",
    fails=_TEXT.format(layer="GlobalAveragePooling1D", shape="[None]"), passes=_TEXT.format(layer="GlobalAveragePooling1D", shape="[16]"),
    doc="TPUStrategy compiles one program for each new length. Fixed padded_shapes, or a few buckets, keep the number of programs small.",
)  # fmt: skip
RANK = rule(
    "unknown-rank", "The strategy receives a tensor of unknown rank", severity="tpu", source="tpu-rules B5; tensorflow/python/distribute/tpu_strategy.py:1869", tpu="v3-8",
    fails="""
def build():
    m = keras.Sequential([L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    ds = tf.data.Dataset.from_tensor_slices(np.zeros((16, 4), "float32")).batch(16, drop_remainder=True)
    return ds.map(lambda x: (tf.numpy_function(lambda v: v * 2, [x], tf.float32), x[:, :1]))
""",
    passes="""
def build():
    m = keras.Sequential([L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    ds = tf.data.Dataset.from_tensor_slices(np.zeros((16, 4), "float32")).batch(16, drop_remainder=True)
    return ds.map(lambda x: (tf.ensure_shape(tf.numpy_function(lambda v: v * 2, [x], tf.float32), (16, 4)), x[:, :1]))
""",
)  # fmt: skip

RESIZES = frozenset({"ResizeBilinear", "ResizeBicubic", "ResizeBilinearGrad", "ScaleAndTranslate", "Resizing"})
WINDOWS = ("Conv", "SeparableConv", "DepthwiseConv", "MaxPool", "AveragePool", "AvgPool")


def split_nodes(evidence: Evidence) -> tuple[str, ...]:
    """The split's node and the batching stage, for a finding to refer to."""
    split = [node.id for node in evidence.flow.nodes if node.kind == "split"]
    return tuple(split) + tuple(node.id for node in batch_stages(evidence)[-1:])


def batch_stages(evidence: Evidence) -> list[Node]:
    return [node for node in evidence.flow.nodes if node.kind == "stage" and node.op in ("batch", "padded_batch", "ragged_batch", "fit", "generator")]


@check(order=60, backend="tensorflow")
def varying_or_dynamic(evidence: Evidence) -> Iterator[Finding]:
    """An unknown batch axis: its cause and its severity."""
    split, sample = evidence.split, evidence.sample
    if split is None or not sample.dynamic or split.replicas < 1:
        return
    sizes = [size for size in (sample.batch, *split.sizes) if size]
    nodes = split_nodes(evidence)
    location = next((node.location for node in reversed(batch_stages(evidence)) if node.location is not None), None)
    late = sizes[-1] < sizes[0] and len(sizes) == 2 if sizes else False
    last_only = late and list(sample.batch_sizes)[-1:] == sizes[-1:]
    if len(sizes) > 1 and not last_only:
        yield Finding.of(VARYING.id, "tpu", VaryingBatches(tuple(sizes), split.replicas), nodes, location=location)
        return
    arrays = sample.kind == "arrays"
    whole = [stage.detail.get("drop_remainder") for stage in sample.stages if stage.op in ("batch", "padded_batch")][-1:] == [True]
    fact = DynamicBatch(
        sample.kind if sample.kind in ("arrays", "generator", "pydataset", "specs") else "mapped" if whole else "dataset",
        next((leaf.shape for _, leaf in sample.leaves()), None),
        sample.rows if arrays else 0,
        int(sample.stages[-1].detail.get("batch_size", sample.batch)) if arrays else 0,
        split.partial or 0,
        tuple(split.last),
        evidence.trains,
    )
    yield Finding.of(DYNAMIC.id, "slow", fact, nodes, location=location)


@check(order=61, backend="tensorflow")
def uneven(evidence: Evidence) -> Iterator[Finding]:
    """A full batch that does not split evenly over the replicas."""
    split = evidence.split
    if split is None or split.batch is None or not split.uneven or never_batched(evidence):
        return
    fact = UnevenReplicas(split.batch, tuple(split.full), evidence.trains)
    yield Finding.of(UNEVEN.id, "silent" if fact.trains else "slow", fact, split_nodes(evidence))


@check(order=62, backend="tensorflow")
def empty_norm(evidence: Evidence) -> Iterator[Finding]:
    """Keras 3's BatchNormalization on a replica without rows."""
    split = evidence.split
    if split is None or evidence.framework != "keras" or not (0 in split.full or 0 in split.last) or not evidence.trains:
        return
    norms = [node for node in evidence.flow.nodes if node.op == "BatchNormalization" and node.kind == "layer"]
    norm = next((node for node in norms if any(weight.trainable for weight in node.weights)), None)
    if norm is None:
        return
    last = 0 not in split.full
    rows, batch = (split.last, split.partial) if last else (split.full, split.batch)
    fact = EmptyReplica(Who.of(norm), batch, tuple(rows), last)
    yield Finding.of(EMPTY_NORM.id, "silent", fact, (norm.id, *split_nodes(evidence)), location=norm.location)


def never_batched(evidence: Evidence, maybe: bool = False) -> bool:
    """Whether elements are single samples: a dataset without batch()."""
    sample = evidence.sample
    if getattr(sample, "kind", "") != "dataset":
        return False
    batched = [stage.op for stage in sample.stages if "batch" in stage.op]
    if batched and batched[-1] != "unbatch":
        return False
    # The nodes and edges of a graph are as many as they are.
    firsts = [(spec.shape or (0,))[0] for _, spec in (*evidence.x, *evidence.y)] if len(evidence.x) == 1 else []
    if any(spec.shape == () for _, spec in evidence.y) or (not evidence.declared and len({*firsts}) > 1 and None not in firsts):
        return True
    if any(stage.op in ("generator", "window", "group_by_window") for stage in sample.stages):
        return False
    if any("Batch" in op for stage in sample.stages for op in stage.detail.get("ops", ())):
        return False
    ranks = {path: len(leaf.shape) for path, leaf in sample.leaves("x") if leaf.shape is not None}
    first = next(iter(ranks.values()), None)
    if not first:
        return first is not None  # a single number is no batch
    declared = dict(evidence.declared or [])
    wanted = [(ranks[path], declared[door].rank) for door, path in evidence.feeds if path in ranks and declared[door].rank is not None]
    return all(rank == (want or 0) - 1 for rank, want in wanted) if wanted else first < 2 or (maybe and evidence.where == "call") or _one_axis_more(evidence)


def _one_axis_more(evidence: Evidence) -> bool:
    """Whether a model inside declares one axis more than an element has, which Keras then adds at the end."""
    sliced = evidence.failure is not None and any(stage.op == "tensor_slices" for stage in evidence.sample.stages)
    for node in evidence.flow.nodes if sliced else ():
        inside = node.op == "ExpandDims" and bool(node.parent) and evidence.flow.node(node.parent or "").op in ("Functional", "Sequential")
        if inside and any(evidence.flow.node(edge.source).kind == "input" for edge in evidence.flow.into(node.id)):
            return True
    return False


@check(order=63, backend="tensorflow")
def unbatched(evidence: Evidence) -> Iterator[Finding]:
    """A dataset whose elements are single samples."""
    if evidence.split is None or not never_batched(evidence):
        return
    leaf = next(leaf for _, leaf in evidence.sample.leaves("x"))
    rows = evidence.split.rows((leaf.shape[0] or 0) if leaf.shape else 0)
    yield Finding.of(NO_BATCH.id, "tpu", Unbatched(leaf.shape, tuple(rows)), split_nodes(evidence))


@check(order=64, backend="tensorflow")
def inner_axes(evidence: Evidence) -> Iterator[Finding]:
    """Unknown axes beyond the batch, and unknown ranks."""
    if evidence.split is None:
        return
    for path, leaf in evidence.sample.leaves():
        if leaf.kind != "dense":
            continue
        if leaf.shape is None:
            yield Finding.of(RANK.id, "tpu", UnknownRank(path), split_nodes(evidence))
        elif None in leaf.shape[1:] and evidence.sample.kind in ("dataset", "specs"):
            axes = tuple(index for index, n in enumerate(leaf.shape) if n is None and index)
            buckets = bool(getattr(evidence.facts.get("step"), "buckets", False))
            fact = DynamicAxes(path, leaf.shape, axes, buckets)
            yield Finding.of(AXIS.id, "note" if buckets else "slow", fact, split_nodes(evidence))


def _refusal(evidence: Evidence, node: Node, batch: bool, inner: bool) -> str:
    if node.op in RESIZES or (node.op == "UpSampling2D" and node.config.get("interpolation", "nearest") != "nearest"):
        return "CustomCall is not supported to have a dynamic dimension" if batch or inner else ""
    if node.op.startswith(WINDOWS):
        conv = "Dynamic Spatial Convolution is not supported" if "Conv" in node.op else "Dynamic shape is not supported for non trivial window"
        return conv if inner else ""
    given = [edge.spec.shape for edge in evidence.flow.into(node.id) if edge.spec.shape]
    made = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
    if not batch or not given or not made or any(None in shape for shape in (*given, made)):
        return ""
    if not all(_carries(evidence, edge.id) for edge in evidence.flow.into(node.id)):
        return ""
    if node.op.startswith("Concat"):
        return "Dynamic concatenation is not supported yet" if made[0] != given[0][0] else ""
    if node.op.lower() == "reshape":
        return "Dynamic input dimension to reshape that is both splitted and combined is not supported" if crossed(given[0], made) else ""
    return ""


def _carries(evidence: Evidence, edge: str) -> bool:
    known: dict[int, float] = getattr(evidence.facts.get("probe"), "axes", {}).get(edge) or {}
    return 0 in known


def crossed(before: Shape, after: Shape) -> bool:
    """Whether a reshape both splits the first axis and merges it with another: (6, 4) to (8, 3), but not (6, 4) to (24,) or (3, 2, 4)."""
    left = right = 0
    one, two = 1, 1
    while True:
        if one <= two and left < len(before):
            one, left = one * (before[left] or 1), left + 1
        elif right < len(after):
            two, right = two * (after[right] or 1), right + 1
        else:
            return False
        if one == two and left and right:
            return left > 1 and right > 1


@check(order=65, backend="tensorflow")
def dynamic_reaches(evidence: Evidence) -> Iterator[Finding]:
    """Nodes that receive an unknown axis but do not support it."""
    if evidence.split is None:
        return
    batch = evidence.split.dynamic or evidence.sample.dynamic
    inner = any(
        leaf.shape is not None and None in leaf.shape[1:-1] for _, leaf in evidence.sample.leaves("x") if leaf.kind == "dense" and len(leaf.shape or ()) > 3
    )
    for node in evidence.flow.nodes:
        if node.kind not in ("layer", "op") or node.status == "not-reached":
            continue
        said = _refusal(evidence, node, batch, inner)
        if not said:
            continue
        fact = DynamicReaches(Who.of(node), batch and not node.op.startswith(WINDOWS), said, evidence.split.replicas)
        # A spec that leaves an axis open says nothing of the data: only data can be dynamic.
        severity: Severity = "note" if evidence.sample.kind == "specs" else "tpu"
        yield Finding.of(UNSUPPORTED.id, severity, fact, (node.id, *split_nodes(evidence)), location=node.location)
        return
