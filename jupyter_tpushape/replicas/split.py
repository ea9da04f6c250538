"""How a global batch is split over replicas.

Two ways exist in ``tf.distribute`` (``python/data/experimental/ops/distribute.py``, ``core/grappler/optimizers/data/auto_shard.cc``):
``ceil`` gives each replica ceil(rows / replicas) until none is left (12 rows on 8: 2,2,2,2,2,2,0,0), ``even`` differs by one row at most
(2,2,2,2,1,1,1,1). Sharding by data (also what AUTO does with sources that are not files) goes the first way, sharding by file and OFF the
second, unless the batch size cannot be read off the pipeline. A test compares all of it with the genuine strategy.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..flow import Shape, Target
from ..sources.values import LeafSpec, Sample, Stage
from .strategy import HOST, devices_of, is_planned

Mode = Literal["ceil", "even", "whole", "mesh"]


def by_ceil(rows: int, replicas: int) -> tuple[int, ...]:
    """``ceil(rows / replicas)`` each while there are rows."""
    each = -(-rows // replicas)
    return tuple(max(0, min(each, rows - index * each)) for index in range(replicas))


def by_even(batch: int, replicas: int) -> tuple[int, ...]:
    """Sizes that differ by at most one, the larger ones first."""
    each, more = divmod(batch, replicas)
    return tuple(each + (index < more) for index in range(replicas))


def deal(rows: int, replicas: int, mode: Mode, *, batch: int | None = None, hosts: int = 1, by_file: bool = False, policy: str = "AUTO") -> tuple[int, ...]:
    """Rows of each replica, in the order of the replicas' devices.

    Args:
        rows: rows of this batch, which may be the partial last one.
        batch: rows of a full batch; the even way cuts every batch at the sizes of a full one.
        hosts: machines. Without file sharding, part ``k`` goes to host ``k % hosts`` under ``ceil``.
        by_file: whether each host reads files of its own. policy: with ``OFF`` each host cuts all of the data by itself.
    """
    if mode == "whole" or replicas == 1:
        return (rows,) * replicas
    if mode == "ceil":
        parts = by_ceil(rows, replicas)
        if hosts > 1 and not by_file:
            each = replicas // hosts
            if policy == "OFF":
                return parts[:each] * hosts
            return tuple(parts[core * hosts + host] for host in range(hosts) for core in range(each))
        return parts
    left, parts_even = rows, []
    for index, size in enumerate(by_even(batch if batch is not None else rows, replicas)):
        if policy == "OFF" and index % (replicas // hosts) == 0:
            left = rows
        parts_even.append(min(size, left))
        left -= parts_even[-1]
    return tuple(parts_even)


@dataclass(frozen=True)
class Split:
    """The rows that every replica receives.

    Attributes:
        replicas, hosts, devices: the target's. ``devices[i]`` holds replica ``i``.
        batch: rows of a full global batch, or ``None`` where unknown.
        partial: rows of the last batch where it is smaller, else ``None``.
        sizes: other numbers of rows that sampled batches had.
        mode: ``"ceil"``, ``"even"``, ``"whole"`` with a single replica, or ``"mesh"``: one program whose batch axis lies on devices.
        parts: with a mesh, how many parts the batch axis is cut into; devices along other axes hold the same rows.
        policy: the dataset's auto-shard policy.
        static: the batch axis that each replica's program is compiled for, ``None`` where dynamic.
        cut: rows of a full batch as the pipeline itself says, which may be more than any batch has.
        genuine: whether a live strategy was asked; else the formula that is tested against it.
    """

    replicas: int
    devices: tuple[str, ...]
    batch: int | None
    mode: Mode
    hosts: int = 1
    policy: str = "AUTO"
    by_file: bool = False
    static: int | None = None
    partial: int | None = None
    sizes: tuple[int, ...] = ()
    genuine: bool = False
    cut: int = 0
    asked: dict[int, tuple[int, ...]] = field(default_factory=dict)
    parts: int = 0

    @property
    def one_program(self) -> bool:
        """Whether one program processes the whole batch, instead of one program per replica."""
        return self.mode == "mesh"

    def divides(self, batch: int) -> bool:
        """Whether a batch can be split over the devices."""
        return not self.one_program or batch % max(1, self.parts) == 0

    def rows(self, batch: int) -> tuple[int, ...]:
        """Rows of each replica for a global batch of this size."""
        if self.one_program:
            return (batch // max(1, self.parts),) * self.replicas if self.divides(batch) else ()
        if batch in self.asked:
            return self.asked[batch]
        return deal(batch, self.replicas, self.mode, batch=self.cut or self.batch, hosts=self.hosts, by_file=self.by_file, policy=self.policy)

    def shapes(self, leaf: LeafSpec, rows: int | None = None) -> list[Shape | None]:
        """The shape of one leaf on each replica, of a batch of ``rows`` (a full one unless given)."""
        shape = leaf.concrete if leaf.concrete is not None else leaf.shape
        count = rows if rows is not None else self.batch
        if not shape:
            return [shape] * self.replicas
        if count is None:
            return [(None, *shape[1:])] * self.replicas
        return [(mine, *shape[1:]) for mine in self.rows(count)] or [shape] * self.replicas

    def host_rows(self, batch: int) -> tuple[int, ...]:
        """Rows of each host's shard for a global batch of this size."""
        each, rows = self.replicas // self.hosts, self.rows(batch)
        return tuple(sum(rows[host * each : (host + 1) * each]) for host in range(self.hosts))

    @property
    def full(self) -> tuple[int, ...]:
        """Rows of each replica for a full batch."""
        return () if self.batch is None else self.rows(self.batch)

    @property
    def last(self) -> tuple[int, ...]:
        """Rows of each replica for the partial last batch."""
        return () if self.partial is None else self.rows(self.partial)

    @property
    def uneven(self) -> bool:
        """Whether replicas receive different numbers of rows of a full batch."""
        return len(set(self.full)) > 1

    @property
    def empty(self) -> bool:
        """Whether a replica receives no rows of a full batch."""
        return 0 in self.full

    @property
    def dynamic(self) -> bool:
        """Whether the per-replica program has a batch axis that is unknown when it is compiled."""
        return self.static is None

    def describe(self) -> dict[str, Any]:
        """Plain values for the split's node."""
        out: dict[str, Any] = {"replicas": self.replicas, "global batch": self.batch, "rows": compact(self.full), "static": not self.dynamic}
        if self.partial is not None:
            out["last batch"] = f"{self.partial}: {compact(self.last)}"
        if self.hosts > 1:
            out["hosts"] = self.hosts
            out["rows per host"] = compact(self.host_rows(self.batch)) if self.batch is not None else "?"
        if self.policy != "AUTO":
            out["auto_shard_policy"] = self.policy
        return out


def compact(rows: Sequence[int]) -> str:
    """``"2,2,2,2,2,2,0,0"``, or ``"8 each"`` if all are equal."""
    if not rows:
        return "?"
    return f"{rows[0]} each" if len(set(rows)) == 1 else ",".join(map(str, rows))


def _policy(stages: Sequence[Stage]) -> str:
    for stage in reversed(stages):
        if stage.op == "options" and stage.detail.get("auto_shard_policy"):
            return str(stage.detail["auto_shard_policy"])
    return "AUTO"


def _known_batch(dataset: Any) -> int:
    module = sys.modules.get("tensorflow.python.data.experimental.ops.distribute")
    try:
        return max(0, int(module.compute_batch_size(dataset))) if module is not None else 0
    except Exception:  # a pipeline that cannot be serialised is rebatched the other way
        return 0


def _mode(sample: Sample, replicas: int, dataset: Any) -> tuple[Mode, str, bool, int]:
    """The way, the policy, whether hosts read files of their own, and the batch size that the even way cuts by."""
    if replicas == 1:
        return "whole", _policy(sample.stages), False, 0
    if sample.kind == "arrays":
        return "ceil", "DATA", False, 0  # both Kerases set it on the pipeline that they make of arrays
    if sample.kind != "dataset":
        return "ceil", "AUTO", False, 0
    policy, files = _policy(sample.stages), any(stage.reads_files for stage in sample.stages)
    by_file = policy == "FILE" or (policy == "AUTO" and files)
    data = sample.dataset if sample.dataset is not None else dataset
    known = _known_batch(data) if (policy == "OFF" or by_file) and data is not None else 0
    return ("even" if known else "ceil"), policy, by_file, known


def partial_rows(sample: Sample) -> int | None:
    """Rows of the last batch, if it is known to be smaller than a full one."""
    if sample.kind == "arrays":
        return sample.rows % sample.batch or None if sample.rows and sample.batch else None
    if sample.kind == "dataset" and sample.rows and sample.batch and sample.rows > sample.batch:
        return sample.rows % sample.batch or None
    complete = sample.cardinality is not None and 0 < sample.cardinality == len(sample.sampled)
    # Of a PyDataset that knows its length, the last batch is drawn too.
    complete = (complete and sample.kind == "dataset") or (sample.kind == "pydataset" and (sample.cardinality or 0) > 0)
    if complete and len(sample.batch_sizes) > 1 and sample.batch and sample.batch_sizes[-1] < sample.batch:
        return sample.batch_sizes[-1]
    return None


def plan(sample: Sample, target: Target, *, strategy: Any = None, dataset: Any = None) -> Split:
    """How ``target`` splits the sample's batches.

    Args:
        strategy: a live strategy, which is asked with a tiny dataset of the same batch sizes; a planned
            one, or ``None``, goes by the formula.
        dataset: the dataset, where the sample does not hold it itself.
    """
    mode, policy, by_file, cut = _mode(sample, target.replicas, dataset)
    leaf = next((leaf for _, leaf in sample.leaves()), None)
    first = leaf.shape[0] if leaf is not None and leaf.shape else None
    static = first // target.replicas if first is not None and first % target.replicas == 0 else None
    partial = partial_rows(sample)
    others = tuple(size for size in sample.batch_sizes if size not in (sample.batch, partial))
    if strategy is not None:
        devices = devices_of(strategy)
    else:
        each = target.replicas // max(1, target.hosts)
        devices = tuple(
            f"{HOST}TPU:{index}" if target.hosts == 1 else f"/job:worker/replica:0/task:{index // each}/device:TPU:{index % each}"
            for index in range(target.replicas)
        )
    asked: dict[int, tuple[int, ...]] = {}
    if strategy is not None and not is_planned(strategy) and sample.batch and target.replicas > 1:
        asked = ask(strategy, [sample.batch, *others, *([partial] if partial else [])], policy if policy in ("OFF", "DATA") else "DATA")
    return Split(
        target.replicas, devices, sample.batch, mode, target.hosts, policy, by_file, static, partial, others,
        genuine=bool(asked), cut=cut, asked=asked,
    )  # fmt: skip


def ask(strategy: Any, sizes: Sequence[int], policy: str = "AUTO") -> dict[int, tuple[int, ...]]:
    """What the strategy itself makes of batches of these sizes, by size; of one-byte rows, so nothing is copied.

    Returns:
        rows of each replica by rows of the batch; empty where the strategy cannot be asked here.
    """
    import tensorflow as tf

    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
    found = {}
    try:
        for size in dict.fromkeys(sizes):
            data = tf.data.Dataset.from_tensor_slices(tf.zeros([size], tf.int8)).batch(size).with_options(options)
            parts = strategy.experimental_local_results(next(iter(strategy.experimental_distribute_dataset(data))))
            found[size] = tuple(int(part.shape[0]) for part in parts)
    except Exception:  # a strategy whose other hosts are not reachable from this process
        return {}
    return found
