"""Facts from compilers."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Side, Sides, Who
from ..words import called, named, size

Answer = Literal["silent", "crash", "broke", "loosely"]


class NotAsked(Fact, frozen=True):
    """The compiler was not run; ``said`` is the reason."""

    said: str

    def message(self) -> str:
        return self.said


class NoVerdict(Fact, frozen=True):
    """The compiler gave no verdict on ``program``. ``needs`` and ``has``: bytes, from a run at quick effort.

    ``operation`` and ``node``: the only convolution over sizes that are not known until run time, on which it probably crashed.
    """

    program: str
    kind: Answer
    said: str
    needs: float = 0.0
    has: float = 0.0
    operation: str = ""
    node: Who | None = None

    def message(self) -> str:
        where = named(self.node) if self.node is not None else self.operation
        failed = "an internal check of the TPU compiler failed: " if self.kind == "broke" else ""
        return f"{f'{where}: ' if where else ''}No verdict on the {called(self.program)}: {failed}{self.said}"

    def why(self) -> str:
        if self.operation:
            return (
                f"It crashed on a convolution, and only {self.operation.rsplit('/', 1)[-1]} has sizes that are not known until run time. "
                "Pad to a fixed size, and mask the padding."
            )
        if self.needs:
            return (
                f"At quick effort, which packs memory loosely, it needs {size(self.needs)}, but there are {size(self.has)}. "
                "Whether it compiles within that at full effort is unknown."
            )
        return "The program itself may be fine."


class Refusal(Fact, frozen=True):
    """A compiler rejects the program. ``kernel``: XLA has no kernel for ``what``; ``node``: the layer that contains it."""

    compiler: Literal["xla", "tpu"]
    program: str
    node: Who | None
    what: str
    said: str
    advice: str
    kernel: bool = False

    def message(self) -> str:
        where = f"{named(self.node)}: " if self.node is not None else ""
        if self.compiler == "tpu":
            return f"{where}{'the' if where else 'The'} TPU compiler rejected the {called(self.program)}: {self.said}"
        return f"{where}XLA has no kernel for {self.what}." if self.kernel else f"{where}XLA rejected {self.what}: {self.said}"

    def why(self) -> str:
        return " ".join(filter(None, [self.said if self.kernel else "", self.advice]))

    def sides(self) -> Sides:
        if self.compiler == "tpu":
            return Side("a program that compiles"), Side("rejected")
        return Side("operations that XLA compiles"), Side(self.what)


class OutOfMemory(Fact, frozen=True):
    """The program needs more bytes than the core has; zeros if the compiler reports no numbers.

    ``temporaries``: the numbers count only temporaries. ``layers``: ``(name, bytes)`` of the largest users, ``most``: they use at least half.
    """

    program: str
    target: str
    needs: float
    has: float
    temporaries: bool
    layers: tuple[tuple[str, int], ...]
    most: bool
    said: str
    core: int

    def message(self) -> str:
        said = f"The {called(self.program)} does not fit into the {size(self.has or self.core)} that a program can use on a {self.target} core"
        if not self.needs:
            return f"{said}."
        return f"{said}: {'its temporaries need' if self.temporaries else 'it needs'} {size(self.needs)}."

    def why(self) -> str:
        layers = ", ".join(f"{name} {size(taken)}" for name, taken in self.layers)
        begins = "At the peak, most memory is used by" if self.most else "At the peak, the largest users are"
        where = f"{begins} {layers}." if layers else "The compiler does not report which layers use it."
        return f"{where} The TPU compiler reported: {self.said}"

    def sides(self) -> Sides:
        return Side(f"at most {size(self.has or self.core)}"), Side(size(self.needs) if self.needs else "more")


class Padded(Fact, frozen=True):
    """Variables that use ``laid`` bytes with padding and ``logical`` without; the other fields describe the most wasteful one."""

    program: str
    laid: int
    logical: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    padded: tuple[int, ...]
    takes: int
    holds: int

    def message(self) -> str:
        return (
            f"The variables of the {called(self.program)} use {self.laid:,} bytes in the TPU's tiled layout, {self.laid / max(1, self.logical):.1f} "
            f"times the {self.logical:,} bytes of their shapes."
        )

    def why(self) -> str:
        return (
            f"The largest waste is {self.name or 'a variable'}, {self.dtype}{list(self.shape)}, which is padded to "
            f"{list(self.padded)}: {self.takes:,} bytes instead of {self.holds:,}. Multiples of 128 need no padding."
        )

    def sides(self) -> Sides:
        return Side(f"{self.logical:,} bytes"), Side(f"{self.laid:,} bytes")
