"""What is found of a batch and the replicas that share it."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, KeyPath, Shape, Side, Sides, Who, show_shape
from ...flow.paths import show
from ..words import count, named


def each(rows: tuple[int, ...]) -> str:
    return f"{count(rows[0], 'row')} each" if len(set(rows)) == 1 else ", ".join(map(str, rows))


class VaryingBatches(Fact, frozen=True):
    """Full batches of different ``sizes``; ``multiple``: one size that the replicas can share."""

    sizes: tuple[int, ...]
    replicas: int

    @property
    def multiple(self) -> int:
        return -(-max(self.sizes) // self.replicas) * self.replicas

    @property
    def _shown(self) -> str:
        return ", ".join(map(str, self.sizes[:5]))

    def message(self) -> str:
        return f"Batches come with {self._shown} rows: every size is another TPU program, and none of them has a static batch axis."

    def why(self) -> str:
        return f"A TPU runs programs compiled for fixed shapes. Rebatch to one size: unbatch().batch({self.multiple}, drop_remainder=True)."

    def sides(self) -> Sides:
        return Side(f"one size, a multiple of {self.replicas}"), Side(f"{self._shown} rows")


class DynamicBatch(Fact, frozen=True):
    """The batch axis of each replica's program is unknown.

    ``source``: what brings the data. ``rows`` and ``size``: of arrays, how many rows there are, and in batches of how many. ``partial``: rows
    of a smaller last batch, and how the replicas share them (``last``). ``weighs``: a gradient is taken of it.
    """

    source: Literal["arrays", "generator", "pydataset", "specs", "dataset"]
    shape: Shape | None
    rows: int = 0
    size: int = 0
    partial: int = 0
    last: tuple[int, ...] = ()
    weighs: bool = False

    def _cause(self) -> tuple[str, str]:
        match self.source:
            case "arrays":
                return (
                    f"{count(self.rows, 'row')} {'does' if self.rows == 1 else 'do'} not fill batches of {self.size}",
                    "Trim the arrays to a multiple of the batch, or feed a tf.data.Dataset with drop_remainder=True.",
                )
            case "generator" | "pydataset":
                return (
                    f"fit knows no batch size in advance of a {'generator' if self.source == 'generator' else 'PyDataset'}",
                    "Feed a tf.data.Dataset with batch(n, drop_remainder=True), which also keeps Python off the critical path.",
                )
            case "specs":
                return "the spec leaves it open", "Give the global batch as the spec's first axis."
            case "dataset":
                return "batch() keeps a smaller last batch", "Type batch(n, drop_remainder=True)."

    def message(self) -> str:
        last = f", and the last batch of {self.partial} goes to the replicas as {each(self.last)}" if self.partial else ""
        return f"The batch axis of each replica's program is unknown: {self._cause()[0]}{last}."

    def why(self) -> str:
        uneven = self.partial and len(set(self.last)) > 1 and self.weighs
        weights = " The rows of that last batch weigh unequally in its gradient." if uneven else ""
        return (
            "TPUStrategy pads each replica and compiles a program for every padded size; training runs, slower at each new one."
            f"{weights} {self._cause()[1]}"
        )

    def sides(self) -> Sides:
        return Side("a static batch axis"), Side(show_shape(self.shape))


class UnevenReplicas(Fact, frozen=True):
    """A full batch that the replicas cannot share evenly: each gets its ``rows``."""

    batch: int
    rows: tuple[int, ...]
    trains: bool

    @property
    def multiples(self) -> tuple[int, ...]:
        """The batches next to this one that divide."""
        replicas = len(self.rows)
        below, above = self.batch // replicas * replicas, -(-self.batch // replicas) * replicas
        return (below, above) if below else (above,)

    def message(self) -> str:
        idle, replicas = self.rows.count(0), len(self.rows)
        alone = f", and {idle} of {replicas} replicas {'has' if idle == 1 else 'have'} nothing to do" if idle else ""
        return f"A batch of {self.batch} does not divide by {replicas} replicas: they get {each(self.rows)}{alone}."

    def why(self) -> str:
        wrong = "A row on a replica with fewer rows weighs more in the gradient" if self.trains else "The replicas' shapes differ"
        return (
            f"Nothing raises. {wrong}, and each replica's batch axis becomes dynamic, drop_remainder=True or not. "
            f"Use a global batch of {' or '.join(map(str, self.multiples))}."
        )

    def sides(self) -> Sides:
        return Side(f"a multiple of {len(self.rows)}"), Side(f"{self.batch} rows")


class EmptyReplica(Fact, frozen=True):
    """``layer`` normalizes over the batch, and some replicas get no row of it. ``last``: of the last batch only."""

    layer: Who
    batch: int
    rows: tuple[int, ...]
    last: bool

    def message(self) -> str:
        which = f"Of the last batch of {self.batch}" if self.last else f"Of each batch of {self.batch}"
        return f"{which} some replicas get no row ({each(self.rows)}), and {named(self.layer)} makes NaN of that."

    def why(self) -> str:
        return (
            "Keras 3 divides by the rows a replica has: gamma's gradient becomes NaN, and every weight after it. "
            "Seen with MirroredStrategy; not verified on a TPU. Drop the remainder."
        )

    def sides(self) -> Sides:
        return Side("at least 1 row on each replica"), Side(each(self.rows))


class Unbatched(Fact, frozen=True):
    """A dataset whose elements are single samples of ``shape``. ``rows``: what the replicas make of its first axis."""

    shape: Shape
    rows: tuple[int, ...]

    def message(self) -> str:
        axis = f"{show_shape(self.shape)}, and the replicas get {each(self.rows)} of that first axis"
        said = axis if self.shape else "single numbers, and the strategy raises `IndexError: list index out of range`"
        return f"The dataset has no batch(): its elements are {said}."

    def why(self) -> str:
        return (
            f"The strategy cuts the first axis, whatever it means. Add batch(n, drop_remainder=True) with n a multiple of {len(self.rows)}."
        )

    def sides(self) -> Sides:
        return Side("(batch, ...)"), Side(show_shape(self.shape))


class UnknownRank(Fact, frozen=True):
    """The tensor at ``path`` has no known rank."""

    path: KeyPath

    def message(self) -> str:
        return f"The rank of {show(self.path)} is unknown, which TPUStrategy does not take."

    def why(self) -> str:
        return (
            "It raises `input tensor ... to TPUStrategy.run() has unknown rank, which is not allowed`. "
            "Python functions lose the shape: type tf.ensure_shape(x, (...)) after them, or give output_signature."
        )

    def sides(self) -> Sides:
        return Side("a known rank"), Side("unknown")


class DynamicAxes(Fact, frozen=True):
    """``axes`` of the tensor at ``path`` change from batch to batch. ``buckets``: they are padded to powers of two."""

    path: KeyPath
    shape: Shape
    axes: tuple[int, ...]
    buckets: bool

    def message(self) -> str:
        return f"Axis {', '.join(map(str, self.axes))} of {show(self.path)} changes from batch to batch: {show_shape(self.shape)}."

    def why(self) -> str:
        programs = (
            "A program is compiled for each power of two that lengths are padded to."
            if self.buckets
            else "Every new length is another program to compile."
        )
        return f"{programs} Pad to one length (padded_shapes), resize to one size, or use a few buckets (bucket_by_sequence_length)."

    def sides(self) -> Sides:
        return Side("known axes"), Side(show_shape(self.shape))


class DynamicReaches(Fact, frozen=True):
    """``node`` is reached by a tensor with an unknown axis (the ``batch``, or a spatial one) that the compiler refuses in words like ``says``."""

    node: Who
    batch: bool
    says: str
    replicas: int

    @property
    def _axis(self) -> str:
        return "the batch axis" if self.batch else "a spatial axis"

    def message(self) -> str:
        return f"{named(self.node)} is reached by a tensor of which {self._axis} is unknown, and the TPU compiler refuses that."

    def why(self) -> str:
        return (
            f"Users report `{self.says}` here; it is not reproduced without a TPU. Make every axis static: drop_remainder=True and a "
            f"batch that divides by {self.replicas}, one size for all images."
        )

    def sides(self) -> Sides:
        return Side("static axes"), Side(f"{self._axis} unknown")


class ShareOnly(Fact, frozen=True):
    """Beside another fact: the whole batch on one device works, and a replica's share of it does not."""

    replicas: int

    def message(self) -> str:
        return f"With the whole batch on one device this works; each of {self.replicas} replicas gets its share of the rows only."
