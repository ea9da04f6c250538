"""What compilers answer."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Side, Sides, Who
from ..words import called, named, size

Answer = Literal["silent", "crash", "broke", "loosely"]


class NotAsked(Fact, frozen=True):
    """The compiler gave no verdict at all; ``said`` is why."""

    said: str

    def message(self) -> str:
        return self.said


class NoVerdict(Fact, frozen=True):
    """The compiler did not answer for ``program``. ``needs`` and ``has``: bytes, as an answer at quick effort gave them.

    ``operation`` and ``node``: the one convolution over sizes known at run time only that it may have died on.
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
        failed = "the TPU compiler failed on a check of its own: " if self.kind == "broke" else ""
        return f"{f'{where}: ' if where else ''}No verdict on the {called(self.program)}: {failed}{self.said}"

    def why(self) -> str:
        if self.operation:
            return (
                f"It died on a convolution, and {self.operation.rsplit('/', 1)[-1]} is the only one there over sizes that are known when it "
                "runs and not before. Pad to a fixed size, and mask what is not wanted."
            )
        if self.needs:
            return (
                f"At quick effort, which packs memory loosely, it needs {size(self.needs)} and there are {size(self.has)}; "
                "whether it compiles within that at full effort is open."
            )
        return "This says nothing of the program itself."


class Refusal(Fact, frozen=True):
    """A compiler does not take the program. ``kernel``: XLA has none for ``what``; ``node``: the layer that it is in."""

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
            return f"{where}{'the' if where else 'The'} TPU compiler refuses the {called(self.program)}: {self.said}"
        return f"{where}XLA has no kernel for {self.what}." if self.kernel else f"{where}XLA refuses {self.what}: {self.said}"

    def why(self) -> str:
        return " ".join(filter(None, [self.said if self.kernel else "", self.advice]))

    def sides(self) -> Sides:
        if self.compiler == "tpu":
            return Side("a program that compiles"), Side("refused")
        return Side("operations that XLA compiles"), Side(self.what)


class OutOfMemory(Fact, frozen=True):
    """The program needs more bytes than the core has; zeros where the compiler gives no numbers.

    ``temporaries``: the numbers are of temporaries alone. ``layers``: ``(name, bytes)`` of what takes most, ``most``: they are half of it.
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
        said = f"The {called(self.program)} does not compile within the {size(self.has or self.core)} that a program may have on a {self.target} core"
        if not self.needs:
            return f"{said}."
        return f"{said}: {'temporaries need' if self.temporaries else 'it needs'} {size(self.needs)}."

    def why(self) -> str:
        layers = ", ".join(f"{name} {size(taken)}" for name, taken in self.layers)
        begins = "Most is taken by" if self.most else "The largest parts are"
        where = f"{begins} {layers}, when most is in use at once." if layers else "The compiler does not say by which layers."
        return f"{where} The TPU compiler's answer: {self.said}"

    def sides(self) -> Sides:
        return Side(f"at most {size(self.has or self.core)}"), Side(size(self.needs) if self.needs else "more")


class Padded(Fact, frozen=True):
    """Arguments that take ``laid`` bytes as laid out and ``logical`` by shape; the rest is of the one that wastes most."""

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
            f"The arguments of the {called(self.program)} take {self.laid:,} bytes as the TPU lays them out, {self.logical:,} as counted by "
            f"shape: {self.laid / max(1, self.logical):.1f} times."
        )

    def why(self) -> str:
        return (
            f"Most is lost in {self.name or 'an argument'}, {self.dtype}{list(self.shape)}, which takes the room of "
            f"{list(self.padded)}: {self.takes:,} bytes for {self.holds:,}. Sizes in multiples of 128 waste nothing."
        )

    def sides(self) -> Sides:
        return Side(f"{self.logical:,} bytes"), Side(f"{self.laid:,} bytes")
