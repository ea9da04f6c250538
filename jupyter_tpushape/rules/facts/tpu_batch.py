"""Facts about a batch and the replicas that it is split over."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, KeyPath, Shape, Side, Sides, Who, show_shape
from ...flow.paths import show
from ..words import count, named


def each(rows: tuple[int, ...]) -> str:
    return f"{count(rows[0], 'row')} each" if len(set(rows)) == 1 else ", ".join(map(str, rows))


class VaryingBatches(Fact, frozen=True):
    """Full batches of different ``sizes``; ``multiple``: one size that splits evenly over the replicas."""

    sizes: tuple[int, ...]
    replicas: int

    @property
    def multiple(self) -> int:
        return -(-max(self.sizes) // self.replicas) * self.replicas

    @property
    def _shown(self) -> str:
        return ", ".join(map(str, self.sizes[:5]))

    def message(self) -> str:
        return f"The batch size varies ({self._shown}), so the batch axis is dynamic: the TPU compiles a program for every size."

    def why(self) -> str:
        return f"A TPU program has fixed shapes. Rebatch to one size: unbatch().batch({self.multiple}, drop_remainder=True)."

    def sides(self) -> Sides:
        return Side(f"one size, a multiple of {self.replicas}"), Side(f"{self._shown} rows")


class DynamicBatch(Fact, frozen=True):
    """The batch axis of each replica's program is unknown.

    ``source``: where the data comes from. ``rows`` and ``size``: the number of rows of arrays, and the batch size. ``partial``: rows of a
    smaller last batch, and how they are split over the replicas (``last``). ``weighs``: it is used for gradients.
    """

    source: Literal["arrays", "generator", "pydataset", "specs", "dataset", "mapped"]
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
                    f"{count(self.rows, 'row')} {'does' if self.rows == 1 else 'do'} not divide into batches of {self.size}",
                    "Trim the arrays to a multiple of the batch size, or use a tf.data.Dataset with drop_remainder=True.",
                )
            case "generator" | "pydataset":
                return (
                    f"fit does not know the batch size of a {'generator' if self.source == 'generator' else 'PyDataset'} in advance",
                    "Use a tf.data.Dataset with batch(n, drop_remainder=True), which also avoids Python in the input pipeline.",
                )
            case "specs":
                return "the spec does not set it", "Set the spec's first dimension to the global batch size."
            case "mapped":
                return "a function after batch() leaves it unknown", "Call tf.ensure_shape on what that function returns."
            case "dataset":
                return "batch() keeps a smaller last batch", "Use batch(n, drop_remainder=True)."

    def message(self) -> str:
        last = f", and the last batch of {self.partial} is split over the replicas as {each(self.last)}" if self.partial else ""
        return f"The batch axis of each replica's program is unknown: {self._cause()[0]}{last}."

    def why(self) -> str:
        uneven = self.partial and len(set(self.last)) > 1 and self.weighs
        weights = " The rows of the last batch have unequal weight in its gradient." if uneven else ""
        return f"Training runs, but TPUStrategy pads each replica's batch and compiles a program for every padded size.{weights} {self._cause()[1]}"

    def sides(self) -> Sides:
        return Side("a static batch axis"), Side(show_shape(self.shape))


class UnevenReplicas(Fact, frozen=True):
    """A full batch that does not split evenly over the replicas: each receives its ``rows``."""

    batch: int
    rows: tuple[int, ...]
    trains: bool

    @property
    def multiples(self) -> tuple[int, ...]:
        """The nearest batch sizes that divide evenly."""
        replicas = len(self.rows)
        below, above = self.batch // replicas * replicas, -(-self.batch // replicas) * replicas
        return (below, above) if below else (above,)

    def message(self) -> str:
        idle, replicas = self.rows.count(0), len(self.rows)
        alone = f"; {idle} of them {'has' if idle == 1 else 'have'} no work" if idle else ""
        return f"A batch of {self.batch} is not divisible by {replicas} replicas, which receive {each(self.rows)}{alone}."

    def why(self) -> str:
        wrong = "A row on a replica with fewer rows has more weight in the gradient" if self.trains else "The replicas' shapes differ"
        return (
            f"No error is raised. {wrong}, and the batch axis becomes dynamic even with drop_remainder=True. "
            f"Use a global batch size of {' or '.join(map(str, self.multiples))}."
        )

    def sides(self) -> Sides:
        return Side(f"a multiple of {len(self.rows)}"), Side(count(self.batch, "row"))


class EmptyReplica(Fact, frozen=True):
    """``layer`` normalizes over the batch, but some replicas receive no rows. ``last``: only in the last batch."""

    layer: Who
    batch: int
    rows: tuple[int, ...]
    last: bool

    def message(self) -> str:
        which = f"In the last batch of {self.batch}" if self.last else f"In each batch of {self.batch}"
        return f"{which}, some replicas receive no rows ({each(self.rows)}), so {named(self.layer)} produces NaN."

    def why(self) -> str:
        return (
            "Keras 3 divides by the number of rows of a replica: the gradient of gamma becomes NaN, and then every weight does. "
            "Observed with MirroredStrategy; not verified on a TPU. Drop the remainder."
        )

    def sides(self) -> Sides:
        return Side("at least 1 row on each replica"), Side(each(self.rows))


class Unbatched(Fact, frozen=True):
    """A dataset whose elements are single samples of ``shape``. ``rows``: how its first axis is split over the replicas."""

    shape: Shape
    rows: tuple[int, ...]

    def message(self) -> str:
        axis = f"have shape {show_shape(self.shape)}, and the replicas receive {each(self.rows)} of that first axis"
        said = axis if self.shape else "are scalars, and the strategy raises `IndexError: list index out of range`"
        return f"The dataset is not batched: its elements {said}."

    def why(self) -> str:
        return f"The strategy splits the first axis, whatever it means. Add batch(n, drop_remainder=True) with n a multiple of {len(self.rows)}."

    def sides(self) -> Sides:
        return Side("(batch, ...)"), Side(show_shape(self.shape))


class UnknownRank(Fact, frozen=True):
    """The tensor at ``path`` has no known rank."""

    path: KeyPath

    def message(self) -> str:
        return f"The rank of {show(self.path)} is unknown, which TPUStrategy does not support."

    def why(self) -> str:
        return (
            "It raises `input tensor ... to TPUStrategy.run() has unknown rank, which is not allowed`. "
            "Python functions lose the shape. Call tf.ensure_shape(x, (...)) after them, or pass output_signature."
        )

    def sides(self) -> Sides:
        return Side("a known rank"), Side("unknown")


class DynamicAxes(Fact, frozen=True):
    """The sizes of ``axes`` of the tensor at ``path`` vary from batch to batch. ``buckets``: they are padded to powers of two."""

    path: KeyPath
    shape: Shape
    axes: tuple[int, ...]
    buckets: bool

    def message(self) -> str:
        axes = f"axis {self.axes[0]} varies" if len(self.axes) == 1 else f"axes {', '.join(map(str, self.axes))} vary"
        return f"The size of {axes} from batch to batch in {show(self.path)}: {show_shape(self.shape)}."

    def why(self) -> str:
        programs = (
            "The lengths are padded to powers of two, and a program is compiled for each." if self.buckets else "A program is compiled for every new length."
        )
        return f"{programs} Pad to one length (padded_shapes), resize to one size, or use a few buckets (bucket_by_sequence_length)."

    def sides(self) -> Sides:
        return Side("known axes"), Side(show_shape(self.shape))


class DynamicReaches(Fact, frozen=True):
    """``node`` receives a tensor with an unknown axis (the ``batch``, or a spatial one); users report the compiler's error ``says``."""

    node: Who
    batch: bool
    says: str
    replicas: int

    @property
    def _axis(self) -> str:
        return "the batch axis" if self.batch else "a spatial axis"

    def message(self) -> str:
        return f"{named(self.node)} receives a tensor in which {self._axis} is unknown; the TPU compiler rejects this."

    def why(self) -> str:
        return (
            f"Users report `{self.says}` here; this is not reproduced without a TPU. Make every axis static: use drop_remainder=True, a "
            f"batch size that is a multiple of {self.replicas}, and one size for all images."
        )

    def sides(self) -> Sides:
        return Side("static axes"), Side(f"{self._axis} unknown")


class ShareOnly(Fact, frozen=True):
    """Added to another fact: the whole batch works on one device, but a replica's share of it does not."""

    replicas: int

    def message(self) -> str:
        return f"This works with the whole batch on one device, but each of {self.replicas} replicas receives only its share of the rows."
