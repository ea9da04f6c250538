"""Facts about JAX functions: loops, branches, maps, gradients, and their requirements on shapes and dtypes."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import count, named, placed


class AxisUnbound(Fact, frozen=True):
    """``operation`` works across devices along an ``axis`` that nothing around it has."""

    operation: Who
    axis: str

    def message(self) -> str:
        return f"{self.operation.op}{placed(self.operation)} works along an axis named {self.axis!r}, but no jax.pmap, vmap or shard_map around it has one."

    def why(self) -> str:
        return (
            "fit compiles one program for all devices, which computes with the whole batch: its means, sums and gradients are those of "
            "all samples already. Remove the call."
        )

    def sides(self) -> Sides:
        return Side("the whole batch"), Side(f"axis {self.axis!r}")


class BatchUnpacked(Fact, frozen=True):
    """The tensor ``name`` of ``shape`` is unpacked into ``wanted`` names along its batch axis."""

    name: str
    shape: Shape
    wanted: int

    def message(self) -> str:
        return f"{self.name} {show_shape(self.shape)} is unpacked into {self.wanted} values, but unpacking goes along the first axis, which is the batch."

    def why(self) -> str:
        return f"Axis 1 has the {self.wanted} parts: use keras.ops.unstack({self.name}, axis=1)."

    def sides(self) -> Sides:
        return Side(f"{self.wanted} values"), Side(show_shape(self.shape))


class CarryApart(Fact, frozen=True):
    """The state ``name`` of a loop (``operation``) changes from ``before`` to ``after`` in one step; or its dtype changes."""

    operation: str
    name: str
    before: Shape
    after: Shape
    was: str = ""
    becomes: str = ""

    @property
    def shapes(self) -> bool:
        """Whether the shape changes, not only the dtype."""
        return self.before != self.after

    def message(self) -> str:
        which = f"The state {self.name}" if self.name else "A state"
        return f"{which} of {self.operation} starts as {self._of(self.before, self.was)}, but becomes {self._of(self.after, self.becomes)} after one step."

    def why(self) -> str:
        kept = "shape" if self.shapes else "dtype"
        rows = ", including the batch axis" if self.shapes else ""
        return f"The state of a compiled loop must keep its {kept}. Start with the {kept} that a step returns{rows}, or return the one that it starts with."

    def sides(self) -> Sides:
        return Side(self._of(self.before, self.was)), Side(self._of(self.after, self.becomes))

    def _of(self, shape: Shape, dtype: str) -> str:
        return show_shape(shape) if self.shapes or not dtype else dtype


class StructureApart(Fact, frozen=True):
    """A step of a loop (``operation``) returns ``got`` where the loop takes ``want``: ``of`` a scan a pair, of another the new state; or two branches do."""

    operation: Who
    of: str
    want: str
    got: str

    def message(self) -> str:
        where = f"{self.operation.op}{placed(self.operation)}"
        want, got = ("one tensor" if one in ("ShapedArray", "pytree leaf") else f"a {one}" for one in (self.want, self.got))
        if self.of == "branches":
            return f"The branches of {where} return {want} and {got}."
        wanted = "a scan takes a pair: the new carry, and the output" if self.of == "pair" else f"it receives {want} as its state"
        return f"The step of {where} returns {got}, but {wanted}."

    def why(self) -> str:
        return "A state must keep its structure, as many tensors in the same tuples. A scan returns (carry, output), and branches return the same structure."


class ListGiven(Fact, frozen=True):
    """An ``operation`` takes tensors, but its operand ``place`` is a ``kind`` of them. ``cell``: the recurrent layer whose cell computes it, with so many ``states``."""

    operation: Who
    kind: str
    place: int
    cell: Who | None = None
    states: int = 0

    def message(self) -> str:
        return f"Operand {self.place} of {named(self.operation)}{placed(self.operation)} is a {self.kind}, but the operation takes tensors."

    def why(self) -> str:
        if self.cell is not None:
            return "A cell receives its states as a list, and returns them as one: the first state is states[0]."
        return "JAX converts no list into an array by itself. Use an element of it, or stack its tensors into one."

    def sides(self) -> Sides:
        return Side("a tensor"), Side(f"a {self.kind}")


class BranchesApart(Fact, frozen=True):
    """The branches of a condition return ``first`` and ``second``; if the shapes are equal, with two ``dtypes``."""

    operation: Who
    first: Shape
    second: Shape
    dtypes: tuple[str, str]

    def message(self) -> str:
        left, right = self._both()
        return f"The branches of {self.operation.op}{placed(self.operation)} return {left} and {right}."

    def why(self) -> str:
        what = "shape" if self.first != self.second else "dtype"
        return f"Both branches are compiled. They must return the same structure with the same {what}."

    def sides(self) -> Sides:
        left, right = self._both()
        return Side(left), Side(right)

    def _both(self) -> tuple[str, str]:
        return (show_shape(self.first), show_shape(self.second)) if self.first != self.second else self.dtypes


class MappedApart(Fact, frozen=True):
    """A function is mapped over axes of different sizes: the size, axis and name of each argument."""

    operation: Who
    axes: tuple[tuple[int | None, int, str], ...]

    def message(self) -> str:
        parts = ", but also over ".join(f"axis {axis} of {name or 'an argument'} ({self._size(size)})" for size, axis, name in self.axes)
        return f"{self.operation.op}{placed(self.operation)} maps over {parts}."

    def why(self) -> str:
        return "All mapped axes must have the same size. Use None in in_axes for an argument that is not mapped: jax.vmap(f, in_axes=(0, None))."

    def sides(self) -> Sides:
        first, last = self.axes[0][0], self.axes[-1][0]
        return Side(self._size(first)), Side(self._size(last))

    @staticmethod
    def _size(size: int | None) -> str:
        return "the batch size" if size is None else f"size {size}"


class OneMapped(Fact, frozen=True):
    """A function that ``vmap`` maps calls ``layer`` on one sample of ``shape``, where it expects ``wanted`` axes."""

    layer: Who
    shape: Shape
    wanted: int

    def message(self) -> str:
        return f"jax.vmap passes {named(self.layer)} one sample, {show_shape(self.shape)}, but it expects {self.wanted} axes."

    def why(self) -> str:
        return "Inside a mapped function there is no batch axis. Add one of size 1 and remove it from the result: layer(x[None])[0]."

    def sides(self) -> Sides:
        return Side(f"{self.wanted} axes"), Side(show_shape(self.shape))


class CompiledApart(Fact, frozen=True):
    """A ``function`` that jit compiles by itself takes ``kind``, which is no array, for ``parameter``. ``method``: it is the object of a method."""

    function: str
    parameter: str
    kind: str = ""
    method: bool = False

    def message(self) -> str:
        if self.method:
            return f"{self.function} is compiled by jax.jit, which takes {self.parameter} for an array."
        return f"{self.function} is compiled by jax.jit, but {self.parameter} is of type {self.kind} and not an array."

    def why(self) -> str:
        return "jax.jit traces every argument as an array unless it is static. fit compiles the whole step, so a function inside needs no separate jit."

    def sides(self) -> Sides:
        return Side("arrays"), Side(self.parameter if self.method else self.kind)


class PassedAsTensor(Fact, frozen=True):
    """``transform`` calls ``function`` with a tensor for ``parameter``, its argument at ``place``, which is a value of Python's outside."""

    parameter: str
    function: str
    place: int
    transform: str

    def message(self) -> str:
        return f"jax.{self.transform} passes {self.parameter} to {self.function} as a tensor, but this line needs its value in Python."

    def why(self) -> str:
        return (
            f"jax.{self.transform} traces every argument that is not static. Declare it static, jax.{self.transform}(f, "
            f"static_argnums=({self.place},)), or read it from the enclosing function."
        )

    def sides(self) -> Sides:
        return Side("a Python value"), Side("a tensor")


class VectorPredicate(Fact, frozen=True):
    """A condition for a whole branch has a value for each sample."""

    operation: Who
    shape: Shape

    def message(self) -> str:
        return f"The condition{placed(self.operation)} has shape {show_shape(self.shape)}, but cond takes one value for all samples."

    def why(self) -> str:
        return "cond runs one of two functions for the whole batch. ops.where chooses for each sample or element."

    def sides(self) -> Sides:
        return Side("a scalar"), Side(show_shape(self.shape))


class GradientOf(Fact, frozen=True):
    """The gradient of a function that returns several values, or one of ``shape``. ``paired``: it must return a pair, with has_aux=True."""

    operation: Who
    several: bool
    shape: Shape = ()
    paired: bool = False

    def message(self) -> str:
        what = (
            "no pair of a loss and other values" if self.paired else "several values" if self.several else f"shape {show_shape(self.shape)} instead of a scalar"
        )
        return f"The function to differentiate{placed(self.operation)} returns {what}."

    def why(self) -> str:
        if self.several:
            pair = "Return the others together: return loss, (y_pred, state). " if self.paired else ""
            return f"{pair}With has_aux=True, jax.grad and jax.value_and_grad use the first value as the loss and pass the others through."
        return "jax.grad requires a scalar. Take the mean or the sum of the loss first."

    def sides(self) -> Sides:
        return Side("(loss, (...))" if self.paired else "a scalar"), Side("several values" if self.several else show_shape(self.shape))


class FractionalSize(Fact, frozen=True):
    """``operation`` receives the float ``size`` as the size of an axis."""

    operation: Who
    size: float

    @property
    def whole(self) -> bool:
        """Whether the number is an integer."""
        return self.size == int(self.size)

    def message(self) -> str:
        return f"{self.operation.op}{placed(self.operation)} receives the float {self.size} as the size of an axis."

    def why(self) -> str:
        even = "In Python, / always returns a float. Use // to get an integer."
        return even if self.whole else "The size of an axis must be an integer, but the division leaves a remainder."

    def sides(self) -> Sides:
        return Side("an integer"), Side(repr(self.size))


class FractionalIndex(Fact, frozen=True):
    """``operation`` uses a tensor of ``dtype`` as indices."""

    operation: Who
    dtype: str

    def message(self) -> str:
        return f"{self.operation.op}{placed(self.operation)} receives indices of dtype {self.dtype or 'float'}, but indices must be integers."

    def why(self) -> str:
        return 'Keras casts the data to the dtype of the Input, float32 by default. Declare Input(..., dtype="int32"), or cast the indices where they are used.'

    def sides(self) -> Sides:
        return Side("int32"), Side(self.dtype or "float32")


class ConvolvedFirst(Fact, frozen=True):
    """A convolution of JAX's own reads ``maps`` with their channels first, and they have them last, as the ``kernel`` has its."""

    operation: Who
    maps: Shape
    kernel: Shape

    @property
    def order(self) -> tuple[str, str, str]:
        """The axes as they are."""
        space = "DHW"[5 - len(self.maps) :]
        return f"N{space}C", f"{space}IO", f"N{space}C"

    def message(self) -> str:
        return (
            f"{self.operation.op}{placed(self.operation)} reads axis 1 of {show_shape(self.maps)} as the channels, "
            f"but they are on the last axis, as the kernel {show_shape(self.kernel)} expects."
        )

    def why(self) -> str:
        return (
            "Without dimension_numbers, JAX expects channels first: (batch, channels, height, width) and kernels (out, in, height, width). "
            "Keras stores both channels last."
        )

    def sides(self) -> Sides:
        return Side(", ".join(self.order)), Side(show_shape(self.maps))


class PartitionTooLong(Fact, frozen=True):
    """A ``PartitionSpec`` with these entries, for a tensor of ``rank``."""

    entries: tuple[str, ...]
    rank: int

    def message(self) -> str:
        return f"PartitionSpec({', '.join(self.entries)}) has {len(self.entries)} entries, but the tensor has {count(self.rank, 'axis', 'axes')}."

    def why(self) -> str:
        return (
            "A PartitionSpec has one entry for each axis, in order; axes without an entry at the end are not sharded. It may have fewer entries, but not more."
        )

    def sides(self) -> Sides:
        return Side(f"at most {count(self.rank, 'entry', 'entries')}"), Side(f"{len(self.entries)}")


class PutApart(Fact, frozen=True):
    """Part of a tensor, of shape ``place``, is set to a ``value`` that cannot be broadcast to it; ``inside``: that is longer than all of it."""

    operation: Who
    value: Shape
    place: Shape
    inside: bool = False

    def message(self) -> str:
        if self.inside:
            return f"{self.operation.op}{placed(self.operation)} cannot write {show_shape(self.value)} into {show_shape(self.place)}."
        return f"{self.operation.op}{placed(self.operation)} cannot broadcast a value of shape {show_shape(self.value)} to {show_shape(self.place)}."

    def why(self) -> str:
        if self.inside:
            axis = next((i for i, (a, b) in enumerate(zip(self.value, self.place, strict=False)) if (a or 0) > (b or 0)), 0)
            return f"Axis {axis} has room for {self.place[axis]}, but not for {self.value[axis]}."
        return "Shapes are aligned from the right: each axis of the new value must have the same size, or size 1."

    def sides(self) -> Sides:
        return Side(show_shape(self.place)), Side(show_shape(self.value))


GROUPS = ("trainable", "non-trainable", "optimizer")


class BatchScanned(Fact, frozen=True):
    """``associative_scan`` in ``layer`` goes along the batch axis."""

    layer: Who

    def message(self) -> str:
        return f"associative_scan in {named(self.layer)} runs along axis 0, which is the batch: each sample would continue the one before."

    def why(self) -> str:
        return "Its default is axis=0. For (batch, steps, features), pass axis=1."

    def sides(self) -> Sides:
        return Side("axis=1, the steps"), Side("axis=0, the batch")


class OpenScan(Fact, frozen=True):
    """``associative_scan`` in ``layer`` goes along an ``axis`` whose size is unknown while a functional model is built."""

    layer: Who
    axis: int

    def message(self) -> str:
        return f"associative_scan in {named(self.layer)} runs along axis {self.axis}, whose size is None while the model is built."

    def why(self) -> str:
        return (
            f"It needs the size. Keras runs call without it to learn the shape of the result: define compute_output_shape in {self.layer.op}, "
            "and Keras asks that instead. Or give Input a fixed size."
        )

    def sides(self) -> Sides:
        return Side("a known size"), Side("None")
