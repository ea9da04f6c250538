"""Facts about the operations of the replica's program."""

from __future__ import annotations

from ...flow import Fact, Side, Sides, Who
from ..words import named


class Use(Fact, frozen=True):
    """An operation of the program, and the ``node`` that it belongs to, if known."""

    operation: str
    node: Who | None

    @property
    def where(self) -> str:
        return named(self.node) if self.node is not None and self.node.kind != "op" else self.operation


class NoKernel(Use, frozen=True):
    """A TPU has no kernel for it; ``dtype``: only for this dtype. ``does``: its purpose. ``soft``: the host runs it in every step.

    ``within``: the loss or metric that runs it.
    """

    soft: bool = False
    dtype: str = ""
    does: str = ""
    within: Who | None = None

    def message(self) -> str:
        what = f"{self.operation} for {self.dtype}" if self.dtype else self.operation + (f" ({self.does})" if self.does else "")
        where = named(self.within) if self.within is not None else self.where
        runs = f"{where} runs {what}" if where != self.operation else f"The program runs {what}"
        host = "; soft placement runs it on the host in every step" if self.soft else ""
        return f"{runs}, but TPUs have no kernel for it{host}."

    def why(self) -> str:
        if self.soft:
            return "It works, but every step waits for the host." + (" Move it into dataset.map." if self.within is None else "")
        raises = "It raises `Detected unsupported operations when trying to compile graph ... on XLA_TPU_JIT`. "
        if self.within is not None:
            return f"{raises}A {self.within.kind} reads the predictions, so it cannot run in the pipeline: replace the operation."
        return raises + "Move it into dataset.map, where the host runs it, or replace it."

    def sides(self) -> Sides:
        return Side("an operation with a TPU kernel"), Side(self.operation)


class Int64Product(Use, frozen=True):
    """A matrix product of int64."""

    def message(self) -> str:
        return f"{self.where} multiplies int64 matrices, which TPUs do not support."

    def why(self) -> str:
        return "The TPU compiler raises `UNIMPLEMENTED: While rewriting computation to not contain X{64|128} element types`. Cast to int32 or float32 first."

    def sides(self) -> Sides:
        return Side("int32"), Side("int64")


class SizeFromData(Use, frozen=True):
    """A size, an axis or a count that ``by`` computes from the data."""

    by: str = ""

    def message(self) -> str:
        return f"{self.operation} receives a size, an axis or a count that {self.by} computes from the data."

    def why(self) -> str:
        return "XLA must know sizes at compile time: `must be a compile-time constant`. Take the size from static shapes, or pad to a fixed size and mask."

    def sides(self) -> Sides:
        return Side("a constant"), Side("computed from data")


class BoundedSize(Use, frozen=True):
    """A result whose number of rows depends on the data."""

    def message(self) -> str:
        return f"The number of rows that {self.operation} returns depends on the data, so a TPU reserves memory for the largest possible number."

    def why(self) -> str:
        return "It compiles. To keep the shape fixed, use tf.where(condition, x, 0) with all three arguments, or weights."

    def sides(self) -> Sides:
        return Side("a fixed size"), Side("a size that depends on the data")


class MixedSizes(Use, frozen=True):
    """A size that depends on the data is combined with a fixed one, in ``shapes``."""

    shapes: str = ""

    def message(self) -> str:
        return f"{self.operation} combines {self.shapes}: the size of one axis depends on the data, but the other is fixed."

    def why(self) -> str:
        return "A CPU raises an error if they differ. A TPU pads to the bound and returns different values without an error. Make both sizes equal first."

    def sides(self) -> Sides:
        return Side("equal sizes"), Side(self.shapes)


class AssertDropped(Use, frozen=True):
    """A check that the compiled step omits."""

    def message(self) -> str:
        return f"{self.operation} is dropped when the step is compiled for a TPU."

    def why(self) -> str:
        return "Invalid values no longer stop the program. Check values on the host, in dataset.map."

    def sides(self) -> Sides:
        return Side("a check on the host"), Side(self.operation)


class BatchSizeUsed(Use, frozen=True):
    """The program computes with the size of an unknown batch axis."""

    def message(self) -> str:
        return f"{self.where} computes with tf.shape(...)[0], but the batch size is unknown at compile time."

    def why(self) -> str:
        return (
            "A TPU pads such a batch, and users report that this is the padded size; not reproduced without a TPU. With drop_remainder=True "
            "and a batch size that is a multiple of the replicas, it is a constant."
        )

    def sides(self) -> Sides:
        return Side("a static batch axis"), Side("an unknown one")


class Unfed(Use, frozen=True):
    """A placeholder without a value."""

    def message(self) -> str:
        return f"{self.where} creates a placeholder, which never receives a value."

    def why(self) -> str:
        return (
            "It raises `You must feed a value for placeholder tensor` at run time, and TPUs do not support placeholders. Use the layer's input, or a constant."
        )

    def sides(self) -> Sides:
        return Side("a tensor with a value"), Side("tf.compat.v1.placeholder")


class EndlessLoop(Use, frozen=True):
    """A loop without a bound that is differentiated."""

    def message(self) -> str:
        return "A loop has no maximum_iterations, so its gradient cannot be compiled for a TPU."

    def why(self) -> str:
        return (
            "The gradient stores values of every iteration: `XLA compilation requires a fixed tensor list size`. Pass maximum_iterations to "
            "tf.while_loop, or loop over tf.range(n)."
        )

    def sides(self) -> Sides:
        return Side("maximum_iterations"), Side("none")
