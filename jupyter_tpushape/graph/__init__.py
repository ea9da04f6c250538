"""A traced program, axis by axis: where a tensor's sizes come from. Computed when a fault asks, from the flow and its layers' arguments."""

from .causes import Cause, cause, odd, resized
from .origins import Origins
from .sizes import (
    Axis,
    Given,
    Opaque,
    Padding,
    Part,
    Product,
    Scaled,
    Shifted,
    Size,
    Slid,
    Spread,
    Sum,
    axes,
    chain,
    evaluate,
    value,
    written,
)
from .steps import step

__all__ = [
    "Axis", "Cause", "Given", "Opaque", "Origins", "Padding", "Part", "Product", "Scaled", "Shifted", "Size", "Slid", "Spread", "Sum", "axes", "cause", "chain",
    "evaluate", "odd", "resized", "step", "value", "written",
]  # fmt: skip
