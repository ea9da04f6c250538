"""A traced program, operation by operation and axis by axis: which axes carry the batch, where sizes come from, how gradients are scaled.

Sizes are computed when a fault asks, from the flow and its layers' arguments.
"""

from .causes import Cause, cause, instead, odd, padded, resized, unlike, unpadded, without_padding
from .sizes import Axis, Given, Opaque, Part, Size, Slid, Spread, axes, below, chain, evaluate, value, written
from .steps import Origins, step

__all__ = [
    "Axis", "Cause", "Given", "Opaque", "Origins", "Part", "Size", "Slid", "Spread", "axes", "below", "cause", "chain",
    "evaluate", "instead", "odd", "padded", "resized", "step", "unlike", "unpadded", "value",
    "without_padding", "written",
]  # fmt: skip
