"""What is found of the operations of the replica's program."""

from __future__ import annotations

from ...flow import Fact, Side, Sides, Who
from ..words import named


class Use(Fact, frozen=True):
    """An operation of the program, and the ``node`` that it belongs to where one is known."""

    operation: str
    node: Who | None

    @property
    def where(self) -> str:
        return named(self.node) if self.node is not None and self.node.kind != "op" else self.operation


class NoKernel(Use, frozen=True):
    """A TPU has no kernel for it; ``dtype``: for this dtype only. ``does``: what it is for. ``soft``: the host runs it in each step."""

    soft: bool = False
    dtype: str = ""
    does: str = ""

    def message(self) -> str:
        what = f"{self.operation} for {self.dtype}" if self.dtype else self.operation + (f" ({self.does})" if self.does else "")
        runs = f"{self.where} runs {what}" if self.where != self.operation else f"The program runs {what}"
        host = ": soft placement sends it to the host in each step" if self.soft else ""
        return f"{runs}, which a TPU has no kernel for{host}."

    def why(self) -> str:
        if self.soft:
            return "It works and each step waits for the host. Move it into dataset.map."
        return (
            "It raises `Detected unsupported operations when trying to compile graph ... on XLA_TPU_JIT`. Move it into dataset.map, "
            "where the host runs it, or replace it."
        )

    def sides(self) -> Sides:
        return Side("an operation with a TPU kernel"), Side(self.operation)


class Int64Product(Use, frozen=True):
    """A matrix product of int64."""

    def message(self) -> str:
        return f"{self.where} multiplies int64 matrices, which the TPU compiler does not implement."

    def why(self) -> str:
        return "It answers `UNIMPLEMENTED: While rewriting computation to not contain X{64|128} element types`. Cast to int32 or float32 first."

    def sides(self) -> Sides:
        return Side("int32"), Side("int64")


class SizeFromData(Use, frozen=True):
    """A size, an axis or a count that ``by`` computes from the data."""

    by: str = ""

    def message(self) -> str:
        return f"{self.operation} takes a size, an axis or a count that is computed from the data (by {self.by})."

    def why(self) -> str:
        return (
            "XLA compiles for sizes that it knows beforehand: `must be a compile-time constant`. Take it from static shapes, or pad to a "
            "fixed size and mask."
        )

    def sides(self) -> Sides:
        return Side("a constant"), Side("computed from data")


class BoundedSize(Use, frozen=True):
    """A result with as many rows as the data says."""

    def message(self) -> str:
        return f"{self.operation} gives as many rows as the data says, and a TPU reserves the largest possible number."

    def why(self) -> str:
        return "It compiles. tf.where(condition, x, 0) with all three arguments, or weights, keep the shape."

    def sides(self) -> Sides:
        return Side("a fixed size"), Side("a size known only from the data")


class MixedSizes(Use, frozen=True):
    """A size that only the data tells meets a fixed one, in ``shapes``."""

    shapes: str = ""

    def message(self) -> str:
        return f"{self.operation} combines {self.shapes}: one axis has a size that only the data tells, the other a fixed one."

    def why(self) -> str:
        return (
            "A CPU raises where they differ. The TPU pads to the bound and goes on, with other numbers and no error. Bring both to one "
            "size first."
        )

    def sides(self) -> Sides:
        return Side("equal sizes"), Side(self.shapes)


class AssertDropped(Use, frozen=True):
    """A check that the compiled step leaves out."""

    def message(self) -> str:
        return f"{self.operation} is left out when the step is compiled for a TPU."

    def why(self) -> str:
        return "What it would have stopped goes on. Check values on the host, in dataset.map."

    def sides(self) -> Sides:
        return Side("a check on the host"), Side(self.operation)


class BatchSizeUsed(Use, frozen=True):
    """The size of an unknown batch axis is computed with."""

    def message(self) -> str:
        return f"{self.where} computes with tf.shape(...)[0], the size of a batch axis that is unknown."

    def why(self) -> str:
        return (
            "A TPU pads such a batch, and users report the padded size here; that is not reproduced without a TPU. With drop_remainder=True "
            "and a batch that the replicas can share it is a constant."
        )

    def sides(self) -> Sides:
        return Side("a static batch axis"), Side("an unknown one")


class Unfed(Use, frozen=True):
    """A placeholder that nothing feeds."""

    def message(self) -> str:
        return f"{self.where} makes a placeholder, which nothing feeds."

    def why(self) -> str:
        return (
            "It raises `You must feed a value for placeholder tensor` when it runs, and a TPU does not take placeholders at all. "
            "Use the layer's input, or a constant."
        )

    def sides(self) -> Sides:
        return Side("a tensor with a value"), Side("tf.compat.v1.placeholder")


class EndlessLoop(Use, frozen=True):
    """A loop without a bound, through which a gradient flows."""

    def message(self) -> str:
        return "A loop has no maximum_iterations, and its gradient cannot be compiled for a TPU."

    def why(self) -> str:
        return (
            "The gradient keeps a value of each turn: `XLA compilation requires a fixed tensor list size`. Give tf.while_loop a "
            "maximum_iterations, or loop over tf.range(n)."
        )

    def sides(self) -> Sides:
        return Side("maximum_iterations"), Side("none")
