"""A sample of the user's data, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..flow import KeyPath, Location, Shape, Spec, show_shape
from ..flow.paths import flatten, map_leaves
from ..flow.text import meaning, words

Kind = Literal["arrays", "dataset", "generator", "pydataset", "specs"]
TensorKind = Literal["dense", "ragged", "sparse"]


class BadData(ValueError):
    """``fit`` does not accept the data; the message says in one sentence what to pass."""


class NeverCame(BadData):
    """No batch arrived in time, and nothing else describes a batch."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"No batch of the data arrived within {seconds:g} seconds, so tpushape stopped waiting.")


class DataRaises(BadData):
    """Reading the data raised an error; ``error`` is the exception."""

    def __init__(self, error: Exception) -> None:
        first = next((line.strip() for line in words(error).splitlines() if line.strip()), meaning(error))
        super().__init__(f"The data raises {type(error).__name__} when tpushape reads it: {first[:200]}")
        self.error = error


@dataclass(frozen=True)
class LeafSpec:
    """One tensor of the global batch, axis 0 the batch.

    Attributes:
        shape: as ``fit`` sees it before it runs, ``None`` for an axis that it cannot know; ``None``
            itself where not even the rank is known.
        dtype: a framework-neutral name such as ``"float32"`` or ``"string"``.
        concrete: the shape of the first sampled batch, or ``None`` where nothing was sampled.
    """

    shape: Shape | None
    dtype: str
    kind: TensorKind = "dense"
    concrete: tuple[int | None, ...] | None = None

    @property
    def spec(self) -> Spec:
        return Spec(self.shape, self.dtype, self.kind)

    def __str__(self) -> str:
        text = f"{show_shape(self.shape)} {self.dtype}"
        return text if self.kind == "dense" else f"{text} {self.kind}"


# Stages that read files, and the ops by which a function of interleave does.
FILES = frozenset({"tfrecord", "text_lines", "fixed_length_record"})
READERS = frozenset({"TFRecordDataset", "TFRecordDatasetV2", "TextLineDataset", "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2"})


@dataclass(frozen=True)
class Stage:
    """One stage of the input pipeline, in the order in which data passes.

    Attributes:
        op: what it is (``"map"``, ``"batch"``, ``"tensor_slices"``, ``"arrays"``, ...).
        name: unique within the pipeline (``"map_2"``).
        detail: plain values, as far as they can be read off (``batch_size``, ``drop_remainder``,
            ``parallel``, ``random``, ``python``, ...).
        spec: nested :class:`LeafSpec` of what leaves this stage, in the pipeline's own structure.
        function: the name of the user's function, ``""`` where the stage has none.
        inputs: names of the stages that feed it; more than one where branches meet.
    """

    op: str
    name: str
    detail: dict[str, Any] = field(default_factory=dict)
    spec: Any = None
    function: str = ""
    location: Location | None = None
    inputs: tuple[str, ...] = ()

    @property
    def reads_files(self) -> bool:
        """Whether the stage reads files, by itself or in its function."""
        return self.op in FILES or not READERS.isdisjoint(self.detail.get("ops", ()))

    def __str__(self) -> str:
        words = [f"{key} {value}" for key, value in self.detail.items() if value not in (None, False, "")]
        title = self.op + (f" {self.function}" if self.function else "")
        return title + (f" ({', '.join(words)})" if words else "")


@dataclass(frozen=True)
class Stats:
    """What the sampled values of one leaf look like.

    Attributes:
        integer: whether the dtype is integral. ``whole``: whether every value is.
        minimum, maximum: over the finite values, ``None`` where there is none.
        distinct: number of distinct values, at most 1001; ``None`` for large float leaves.
        one_hot: last axis longer than 1, all values 0 or 1 and each row sums to 1.
        shares: last axis longer than 1, no value below 0, and each row sums to 1.
        binary: all values 0 or 1. ``finite``: no NaN and no infinity.
        rows: how many rows were looked at.
        cut: as ``one_hot``, but for rows of zeros alone: classes that the vectors have no place for.
    """

    integer: bool
    whole: bool
    minimum: float | None
    maximum: float | None
    distinct: int | None
    one_hot: bool
    binary: bool
    finite: bool
    rows: int
    shares: bool = False
    cut: bool = False


@dataclass(frozen=True)
class Problem:
    """Something that ``fit`` will refuse, known from the data alone. ``counts``: rows of each array, where those disagree;
    ``ids``: whether the rows are lists of whole numbers; ``steps``: whether they are arrays of vectors of one size; ``alike``: of one shape;
    ``dtype``: the numbers that the array at ``path`` can be converted to; ``columns``: those of its columns that contain text."""

    code: str
    text: str
    expected: str = ""
    found: str = ""
    counts: tuple[int, ...] = ()
    ids: bool = False
    path: KeyPath = ()
    dtype: str = ""
    steps: bool = False
    alike: bool = False
    columns: tuple[int, ...] = ()


@dataclass
class Sample:
    """What ``fit`` will feed, seen through a few batches.

    Attributes:
        x, y, weight: nested like the user's own, of :class:`LeafSpec`; ``None`` where absent.
        batch: rows of one global batch. ``rows``: rows in all, where known (of a dataset: into its last ``batch()``).
        cardinality: number of batches; -1 endless, ``None`` unknown.
        sampled: ``(x, y, weight)`` of the batches drawn, as nested NumPy arrays. Large leaves keep
            their first rows only: shapes are told by ``concrete`` and ``batch_sizes``.
        batch_sizes: distinct numbers of rows a batch was seen to have, in the order seen.
        stats: by leaf path (``("y",)``, ``("x", "name")``, ``("x", 0)``).
        stages: the pipeline, from its sources to its end.
        notes: ``(code, text)`` of what should be said about how the sample was taken.
        problems: what ``fit`` will refuse.
        error: what iterating the data raised, or ``None``.
        replacement: where drawing could not be undone, an object that gives all elements, those
            drawn included, and must be used in the original's place; else ``None``.
        dataset: the ``tf.data.Dataset`` itself, where the data is one.
        element: the whole of a batch that has more parts than ``fit`` takes, nested :class:`LeafSpec`; else ``None``.
        alone: whether inputs without labels reach a training step as a tuple of one, ``(x,)``, and not as they are.
    """

    kind: Kind
    x: Any = None
    y: Any = None
    weight: Any = None
    batch: int | None = None
    rows: int | None = None
    cardinality: int | None = None
    sampled: list[tuple[Any, Any, Any]] = field(default_factory=list)
    batch_sizes: tuple[int, ...] = ()
    stats: dict[KeyPath, Stats] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    error: BaseException | None = None
    replacement: Any = None
    dataset: Any = None
    element: Any = None
    alone: bool = False

    def handed(self, x: Any, y: Any = None, weight: Any = None) -> Any:
        """A batch as ``fit`` passes it to a training step."""
        if y is None:
            return (x,) if self.alone else x
        return (x, y) if weight is None else (x, y, weight)

    def whole(self) -> Sample:
        """The sample as a step of the user's own gets it, which takes a batch of any number of parts."""
        if self.element is None:
            return self
        problems = [problem for problem in self.problems if problem.code != "element-parts"]
        return replace(self, x=self.element, y=None, weight=None, problems=problems, sampled=[], stats={})

    @property
    def batchings(self) -> int:
        """The number of batch() stages; each one adds an axis."""
        return sum(stage.op in ("batch", "padded_batch", "ragged_batch") for stage in self.stages) if self.kind == "dataset" else 0

    @property
    def label_stats(self) -> dict[KeyPath, Stats]:
        """The statistics of the labels."""
        return {path: stats for path, stats in self.stats.items() if path[0] == "y"}

    def leaves(self, *roles: str) -> Iterator[tuple[KeyPath, LeafSpec]]:
        """``(path, leaf)`` of every tensor of a batch, or only of these roles, in the order x, y, weight."""
        for name, tree in (("x", self.x), ("y", self.y), ("weight", self.weight)):
            if tree is not None and (not roles or name in roles):
                yield from flatten(tree, name)

    def mapped(self, change: Callable[[LeafSpec], LeafSpec]) -> tuple[Any, Any, Any]:
        """``(x, y, weight)`` with ``change`` applied to each leaf."""
        x, y, weight = (None if tree is None else map_leaves(change, tree) for tree in (self.x, self.y, self.weight))
        return x, y, weight

    @property
    def dynamic(self) -> bool:
        """Whether the batch axis of any leaf is unknown before ``fit`` runs."""
        return any(leaf.shape is None or (len(leaf.shape) > 0 and leaf.shape[0] is None) for _, leaf in self.leaves())
