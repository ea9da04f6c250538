"""Facts about the batch axis on its way through the program."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, elements, show_shape
from ..words import many, named, pair, placed


class EveryPair(Fact, frozen=True):
    """An element-wise operation that combines every sample with every other.

    ``chance``: the batch axis of one has by chance the size of the inner axis of the other with which it is aligned.
    """

    operation: Who
    left: Shape
    right: Shape
    chance: bool = False

    @property
    def _sorted(self) -> tuple[Shape, Shape]:
        return (self.left, self.right) if len(self.left) < len(self.right) else (self.right, self.left)

    @property
    def result(self) -> Shape:
        short, long = self._sorted
        gap = len(long) - len(short)
        return (*long[:gap], *(None if None in pair and {1, None} >= {*pair} else max(n or 1 for n in pair) for pair in zip(long[gap:], short, strict=True)))

    def message(self) -> str:
        if self.chance:
            short, long = self._sorted
            return (
                f"{self.operation.op}{placed(self.operation)} aligns the batch axis of {show_shape(short)} with axis {len(long) - len(short)} "
                f"of {show_shape(long)}. It runs only because {f'both have size {short[0]}' if short[0] != 1 else 'there is a single row'}."
            )
        if self.operation.op == "MatMul":
            return f"MatMul{placed(self.operation)} combines every sample of {show_shape(self.left)} with every sample of {show_shape(self.right)}."
        return (
            f"{self.operation.op}{placed(self.operation)} broadcasts {show_shape(self.left)} and {show_shape(self.right)} "
            f"to {show_shape(self.result)}: every sample is combined with every other."
        )

    def why(self) -> str:
        if self.operation.op == "MatMul":
            return "jax.vmap passes an argument whole if in_axes is None for it. Map the batch of both."
        if len(self.left) == len(self.right):
            return "The two have the batch on different axes, and each has size 1 where the other has the batch. Keep the batch on the first axis of both."
        return "Shapes are aligned from the right, so the batch axis of one is aligned with an inner axis of the other. Give both the same rank."

    def sides(self) -> Sides:
        short, long = self._sorted
        return pair(long, short, names=False)


class EveryIndex(Fact, frozen=True):
    """A lookup in ``values`` with one of the ``indices`` per sample that returns ``made``: each sample at the indices of all."""

    operation: Who
    values: Shape
    indices: Shape
    made: Shape

    def message(self) -> str:
        return (
            f"{self.operation.op}{placed(self.operation)} looks up the indices of all samples in each sample: "
            f"{show_shape(self.values)} at {show_shape(self.indices)} gives {show_shape(self.made)}."
        )

    def why(self) -> str:
        every = "A lookup along an inner axis applies every index to every row."
        own = "With batch_dims=1" if self.operation.op.startswith("Gather") else "With take_along_axis"
        return f"{every} {own} each row is read at its own index."

    def sides(self) -> Sides:
        return pair(self.values[:1], self.made, names=False)


class RowsMultiplied(Fact, frozen=True):
    """A product of matrices with one row per sample each: the columns of ``left`` meet the samples of ``right``, of the same number by chance."""

    operation: Who
    left: Shape
    right: Shape

    def message(self) -> str:
        return (
            f"{self.operation.op}{placed(self.operation)} multiplies {show_shape(self.left)} by {show_shape(self.right)} and sums over the samples of "
            f"the second. It runs only because both sizes are {self.right[0]}."
        )

    def why(self) -> str:
        return "Both have one row per sample. Transpose the second to compare every sample with every other."

    def sides(self) -> Sides:
        return Side(show_shape(self.right[::-1])), Side(show_shape(self.right))


class SamplesSummed(Fact, frozen=True):
    """``total`` adds up all values of ``whole``, those of every sample; ``reader`` compares it with ``each``, one value per sample.

    ``largest``: it takes the largest of them, and the reader combines each sample with that.
    """

    total: Who
    whole: Shape
    each: Shape
    reader: Who
    largest: bool = False

    def message(self) -> str:
        takes, meets = ("takes the largest of", "combines") if self.largest else ("adds up", "compares")
        does = f"{meets} that one number with each sample"
        if self.reader.op in ("AddV2", "Add") and not self.largest:
            does = "adds that one number to each sample"
        return (
            f"{self.total.op}{placed(self.total)} {takes} {show_shape(self.whole)} over all samples, "
            f"and {self.reader.op}{placed(self.reader)} {does} of {show_shape(self.each)}."
        )

    def why(self) -> str:
        what, do = ("maximum", "Take it") if self.largest else ("sum", "Sum")
        return f"A {what} without an axis runs over every axis, the batch included. {do} over the inner axes: axis=-1 gives one value per sample."

    def sides(self) -> Sides:
        return pair(self.each, (), names=False)


class SamplesReturn(Fact, frozen=True):
    """``total`` sums over the samples of ``shape``, and ``reader`` combines each sample with the result; the same node if it does both."""

    total: Who
    shape: Shape
    reader: Who

    def message(self) -> str:
        shape, op = show_shape(self.shape), self.total.op.lower()
        does = f"adds up the samples of {shape}" if op.endswith("sum") else f"multiplies the samples of {shape} by each other"
        does = f"takes the norm of {shape} over the samples" if op.startswith("norm") else does
        does = f"averages the samples of {shape}" if op.endswith("mean") else does
        end = f"and {self.reader.op}{placed(self.reader)} combines every sample with the result" if self.reader != self.total else "for every sample"
        return f"{self.total.op}{placed(self.total)} {does}, {end}."

    def why(self) -> str:
        if self.total.op.lower().endswith("mean"):
            return "Each prediction then depends on the other samples of its batch. Average over inner axes, or keep running averages for predictions."
        return "Each prediction then depends on the other samples of its batch and on the batch size. The first axis is the batch; sum over an inner axis."


class SamplesPicked(Fact, frozen=True):
    """``loss`` reads ``count`` samples of ``predictions``, one at a time as ``picked``, and no others."""

    loss: Who
    predictions: Shape
    picked: Shape
    count: int

    def message(self) -> str:
        samples = "1 sample" if self.count == 1 else f"{self.count} samples"
        return (
            f"{self.loss.name} reads {samples} of each batch and ignores the others: an index selects rows of the predictions {show_shape(self.predictions)}."
        )

    def why(self) -> str:
        return "The first axis of labels and predictions is the batch. To select a value of every sample, index an inner axis: y_pred[:, 0]."

    def sides(self) -> Sides:
        return pair(self.predictions[:1], self.picked, names=False)


class BatchLost(Fact, frozen=True):
    """``maker`` removed or moved the batch axis. ``axis``: its new position; ``reader``: the layer that receives it, ``None``: the output.

    ``sized``: no samples reach it, but a tensor that the program makes for as many samples.
    """

    maker: Who
    shape: Shape
    axis: int | None
    reader: Who | None = None
    sized: bool = False

    def message(self) -> str:
        where = "missing" if self.axis is None else f"on axis {self.axis}"
        at = "in the model's output" if self.reader is None else f"where {named(self.reader)} receives {show_shape(self.shape)}"
        did = "removes" if self.axis is None else "moves"
        if self.sized:
            return f"The batch axis is {where} {at}: a tensor is made for as many samples, with another axis first."
        return f"The batch axis is {where} {at}: {named(self.maker)}{placed(self.maker)} {did} it."

    def why(self) -> str:
        return "Keras treats the first axis as the batch. The first axis here is not the samples, so labels and sample weights apply to the wrong values."

    def sides(self) -> Sides:
        return Side("(batch, ...)"), Side(show_shape(self.shape))


class BatchMerged(Fact, frozen=True):
    """The output has ``times`` rows per sample: ``maker`` concatenated its branches along the batch, or folded another axis into it."""

    maker: Who
    shape: Shape
    times: float
    joined: bool

    def message(self) -> str:
        did = "concatenates its branches along the batch axis" if self.joined else "folds another axis into the batch axis"
        return f"The output {show_shape(self.shape)} has {self.times:g} rows per sample: {named(self.maker)}{placed(self.maker)} {did}."

    def why(self) -> str:
        if self.joined:
            return "Axis 0 is the batch: concatenating along it adds rows that have no labels. Use the last axis to concatenate features."
        return "A -1 in a reshape takes whatever is left, including samples. Write the inner axes so that they cover exactly one sample."

    def sides(self) -> Sides:
        return Side("(batch, ...)"), Side(show_shape(self.shape))


class RowsGrouped(Fact, frozen=True):
    """A reshape of ``before`` to ``after``, which has one row for each group of samples, such as the triplets of a batch."""

    reshape: Who
    before: Shape
    after: Shape

    @property
    def size(self) -> int:
        return (self.before[0] or 0) // (self.after[0] or 1)

    def message(self) -> str:
        return f"{named(self.reshape)}{placed(self.reshape)} groups {self.size} samples, so the rows of every batch must be a multiple of {self.size}."

    def why(self) -> str:
        return f"It turns {show_shape(self.before)} into {show_shape(self.after)}. A batch of a different number of rows raises an error."

    def sides(self) -> Sides:
        return pair(self.before, self.after, names=False)


class RowsSplit(Fact, frozen=True):
    """A split of a batch of ``rows`` into ``parts`` of the same size."""

    split: Who
    rows: int
    parts: int

    def message(self) -> str:
        return (
            f"{named(self.split)}{placed(self.split)} splits the batch into {self.parts} parts, so the rows of every batch must be a multiple of {self.parts}."
        )

    def why(self) -> str:
        return f"{self.rows} rows are divisible by {self.parts}. A batch of a number of rows that is not raises an error."

    def sides(self) -> Sides:
        return Side(f"a multiple of {self.parts}"), Side(f"{self.rows} rows")


class RowsJoined(Fact, frozen=True):
    """A reshape in a loss or a layer of ``before`` to ``after``, each row of which has the values of several samples in one axis."""

    reshape: Who
    before: Shape
    after: Shape

    @property
    def _samples(self) -> int:
        return (self.before[0] or 0) // (self.after[0] or 1)

    def message(self) -> str:
        return (
            f"{named(self.reshape)}{placed(self.reshape)} turns {show_shape(self.before)} into {show_shape(self.after)}: "
            f"each row has the values of {self._samples} samples."
        )

    def why(self) -> str:
        have, want = (elements(shape[1:]) or 0 for shape in (self.before, self.after))
        return f"A sample has {many(have)} values, but the written size is {many(want)}; -1 takes whatever is left, including samples."

    def sides(self) -> Sides:
        return Side(f"({self.before[0]}, {many(elements(self.before[1:]))})"), Side(show_shape(self.after))


class Interleaved(Fact, frozen=True):
    """A reshape used in place of a transpose. ``batch``: the batch is the axis that it moves; ``parts``: how many are concatenated on the last axis."""

    reshape: Who
    before: Shape
    after: Shape
    batch: bool
    parts: int = 0

    def message(self) -> str:
        turns = f"{named(self.reshape)}{placed(self.reshape)} reshapes {show_shape(self.before)} to {show_shape(self.after)}"
        if self.batch:
            return f"{turns}: it swaps the batch axis with another without moving the values."
        return f"{turns}: it swaps axes without moving the values, which mixes them up."

    def why(self) -> str:
        if self.batch:
            return "A reshape keeps the order in memory, so each position now has pieces of several samples. To swap axes, use transpose."
        if self.parts:
            return f"The last axis has {self.parts} concatenated parts of {self.after[-2]} values, and a reshape keeps their order: the parts come first."
        return "A reshape keeps the order in memory. To swap axes, use Permute or transpose."

    def sides(self) -> Sides:
        return pair(self.before, self.after, names=False)


class HeadsAttended(Fact, frozen=True):
    """A product of queries and keys of ``shape``, (batch, steps, heads, features): its scores are of heads, and not of steps."""

    product: Who
    shape: Shape

    def message(self) -> str:
        return f"{self.product.op}{placed(self.product)} compares the heads of each step of {show_shape(self.shape)}, so no step attends to another."

    def why(self) -> str:
        if self.product.op == "DotProductAttention":
            return "It expects (batch, steps, heads, features), but a transpose moved the heads before the steps. No error is raised."
        return "A product of matrices multiplies the last two axes. After the reshape to (batch, steps, heads, features), move the heads before the steps."

    def sides(self) -> Sides:
        return Side(show_shape((self.shape[0], self.shape[2], self.shape[1], *self.shape[3:]))), Side(show_shape(self.shape))


class Straddling(Fact, frozen=True):
    """A reshape into blocks of ``block`` values, which is neither a divisor nor a multiple of the row size ``width``, or of all values of a ``sample``."""

    reshape: Who
    before: Shape
    after: Shape
    width: int
    block: int
    sample: int = 0

    def message(self) -> str:
        turns = f"{named(self.reshape)}{placed(self.reshape)} reshapes {show_shape(self.before)} to {show_shape(self.after)}"
        if self.sample:
            return f"{turns}: it splits samples of {self.sample:,} values into rows of {self.block}, so rows cross from one sample to the next."
        return f"{turns}: it splits rows of {self.width} values into blocks of {self.block}, so blocks cross row boundaries."

    def why(self) -> str:
        if self.sample:
            return f"A reshape keeps the order of the values. Each position has {self.width} values, so a row of {self.block} joins those of several positions."
        return (
            f"A reshape keeps the order of the values. A row of {self.width} splits evenly only into sizes whose product is {self.width}. "
            "In attention, the feature size must be a multiple of the number of heads."
        )

    def sides(self) -> Sides:
        return pair(self.before, self.after, names=False)


class SoftmaxOverBatch(Fact, frozen=True):
    """A softmax over the batch axis; ``inside``: the layer that contains it."""

    softmax: Who
    inside: Who | None

    def message(self) -> str:
        inside = f" inside {named(self.inside)}" if self.inside is not None else ""
        return f"A softmax{inside}{placed(self.softmax)} runs over the batch axis: each sample's result depends on the other samples."

    def why(self) -> str:
        return (
            "Its values sum to 1 over the samples of a batch instead of within each sample, so a sample alone gives a different result. "
            "Axis 0 is the batch; use another axis."
        )

    def sides(self) -> Sides:
        return Side("an inner axis"), Side("the batch axis")


class NormalizedOverBatch(Fact, frozen=True):
    """``layer`` works along ``axis`` of ``shape``, the samples; ``raises``: it cannot even be built so."""

    layer: Who
    shape: Shape
    axis: int
    raises: bool = False

    def message(self) -> str:
        return f"{named(self.layer)} works along axis {self.axis} of {show_shape(self.shape)}, which is the batch."

    def why(self) -> str:
        follows = (
            "Its weights need a known size of that axis, and a batch has none."
            if self.raises
            else "Each sample's result depends on the other samples, and a sample alone gives a different one."
        )
        return f"{follows} The features are axis -1."

    def sides(self) -> Sides:
        return Side("an inner axis"), Side(f"axis {self.axis}, the batch")


class NormedOverBatch(Fact, frozen=True):
    """A norm of ``shape`` over its samples, of which ``product`` then compares every one with every other."""

    norm: Who
    shape: Shape
    product: Who

    def message(self) -> str:
        return (
            f"{self.norm.op}{placed(self.norm)} takes the norm of each feature of {show_shape(self.shape)} over all samples, "
            f"and {self.product.op}{placed(self.product)} compares the samples."
        )

    def why(self) -> str:
        return "A similarity of two samples needs samples of length 1, and here the features have that length. Axis 0 is the batch; use axis -1."

    def sides(self) -> Sides:
        return Side("the norm of each sample"), Side("the norm of each feature")


class AttentionOverBatch(Fact, frozen=True):
    """``layer`` attends over the samples, because ``shape`` has no time axis."""

    layer: Who
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} attends over the batch: its input {show_shape(self.shape)} has no time axis, so each sample attends to the others."

    def why(self) -> str:
        return (
            "Attention expects (batch, steps, features). With two dimensions it treats the batch as the steps, so a sample alone gives a different "
            "result. A recurrent layer before it returns its steps with return_sequences=True."
        )

    def sides(self) -> Sides:
        return Side("(batch, steps, features)", ("batch", "steps", "features")), Side(show_shape(self.shape))


class FixedBatch(Fact, frozen=True):
    """``node`` works only for a batch size of ``batch``. With ``tried`` rows it raised ``said``; ``comes``: another batch size in the data."""

    node: Who
    batch: int | None
    tried: int
    said: str
    comes: int | None

    def message(self) -> str:
        return f"{named(self.node)}{placed(self.node)} works only for a batch size of {self.batch}, which is hard-coded."

    def why(self) -> str:
        comes = f" The data also has a batch of {self.comes} rows." if self.comes else " It works as long as every batch has this size."
        return f"With {self.tried} rows it raises: {self.said.rstrip('.')}.{comes}"

    def sides(self) -> Sides:
        return Side("any batch size"), Side(f"{self.batch} rows")
