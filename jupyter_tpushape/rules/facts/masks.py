"""Facts about the masks that Keras passes from layer to layer."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named, placed


class MaskApart(Fact, frozen=True):
    """A tensor of ``shape`` carries a mask of the shape ``mask`` that does not fit it, and ``layer`` reads both.

    ``makers``: the layers that make the mask; ``passes``: a layer of the program's own that returns the mask of its input with an output of
    other steps; ``steps``: the layer reads one mask value for each step of a sequence.
    """

    layer: Who
    shape: Shape
    mask: Shape
    makers: tuple[str, ...] = ()
    passes: Who | None = None
    steps: bool = True

    def message(self) -> str:
        return f"{named(self.layer)} receives {show_shape(self.shape)} with a mask of shape {show_shape(self.mask)}, but expects the mask {self._wanted()}."

    def why(self) -> str:
        source = f" The mask comes from {' and '.join(self.makers)}." if self.makers else ""
        if self.passes is not None:
            return f"{named(self.passes)} changes the steps, but passes the mask of its input on. Its compute_mask must return a mask for its output, or None.{source}"
        return f"Keras passes a mask from layer to layer, together with the tensor. The mask says which steps count.{source}"

    def sides(self) -> Sides:
        return Side(self._wanted()), Side(show_shape(self.mask))

    def _wanted(self) -> str:
        return show_shape(self.shape[:2]) if len(self.shape) == 3 or not self.steps else "(batch, steps)"


class MaskLost(Fact, frozen=True):
    """``layer``, of the program's own, receives a mask that ``makers`` make and passes none on, so ``reader`` reads the padding."""

    layer: Who
    reader: Who
    makers: tuple[str, ...] = ()

    def message(self) -> str:
        return f"{named(self.layer)} receives a mask, but does not pass it on: {named(self.reader)} reads all steps, including the padding."

    def why(self) -> str:
        source = f" The mask comes from {' and '.join(self.makers)}." if self.makers else ""
        return f"A custom layer passes the mask of its input on only with self.supports_masking = True in __init__, if its output has the same steps.{source}"

    def sides(self) -> Sides:
        return Side("a mask"), Side("no mask")


class MaskInverted(Fact, frozen=True):
    """``layer`` attends where ``mask`` is true: at the padding, or, without ``mask``, at the steps that follow. ``itself``: and at the step itself.

    ``added``: the program's own code masks the scores that ``layer`` reads.
    """

    layer: Who
    mask: Who | None = None
    itself: bool = False
    added: bool = False

    def message(self) -> str:
        if self.added and self.mask is not None:
            return f"{self.layer.op}{placed(self.layer)} reads scores that are hidden at all steps but the padding: {self.mask.op}{placed(self.mask)} makes the mask."
        if self.mask is None:
            return f"The attention mask of {named(self.layer)}{placed(self.layer)} lets each step see only the steps after it{' and itself' if self.itself else ''}."
        return f"The mask of {named(self.layer)} is true at the padding, so only padding counts: {named(self.mask)}{placed(self.mask)} makes it."

    def why(self) -> str:
        rule = "A mask of Keras is true where a step counts."
        if self.added:
            return f"The large negative number belongs to {'the padding' if self.mask else 'later steps'}: add (1 - mask) * -1e9 for a mask of the steps that count, or use where(mask, scores, -1e9)."
        if self.mask is None:
            return f"{rule} A causal mask is true on the diagonal and below it. Masks that mark what is hidden are only for code that adds them, times -1e9, to the scores."
        return f"{rule} This one compares the ids with one number and is true where they are equal. It should be true where they differ."

    def sides(self) -> Sides:
        return Side("true where a step counts"), Side("true where a step is hidden")


class MaskUnseen(Fact, frozen=True):
    """A mask of ``shape`` is the same for all places that share the weights of ``layer``."""

    layer: Who
    shape: Shape

    def message(self) -> str:
        return f"The mask of {named(self.layer)}{placed(self.layer)} hides no key: its shape {show_shape(self.shape)} is the same for all of them."

    def why(self) -> str:
        return "A softmax does not change if all of its values get the same number, so hidden keys keep their weights. The mask belongs on their axis."

    def sides(self) -> Sides:
        return Side("one value for each key"), Side(show_shape(self.shape))


class MaskAdded(Fact, frozen=True):
    """Scores get ``hidden`` at the padding and ``kept`` elsewhere, or are replaced if ``chosen``. ``sure``: it is known which is which; ``kind``: what is wrong."""

    layer: Who
    kind: Literal["small", "turned", "lost"]
    hidden: float
    kept: float
    sure: bool
    chosen: bool

    def message(self) -> str:
        ends = {"small": "hides nothing", "turned": "hides all but the padding", "lost": "covers up the scores that count"}
        return f"The mask of {named(self.layer)}{placed(self.layer)} {ends[self.kind]}: {self._numbers()}."

    def why(self) -> str:
        return "Add 0 to the scores that count and about -1e9 at the padding. A softmax does not see 1e-9, and beside 1e9, a float32 loses the score."

    def sides(self) -> Sides:
        return Side("0, and -1e9 at the padding"), Side(self._numbers())

    def _numbers(self) -> str:
        return f"{self.kept:g}, and {self.hidden:g} at the padding" if self.sure else f"it changes them by {abs(self.hidden - self.kept):g}"
