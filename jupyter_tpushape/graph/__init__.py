"""A traced program, axis by axis: where a tensor's sizes come from. Computed when a fault asks, from the flow and its layers' arguments."""

from .origins import Origins
from .sizes import Axis, Given, Opaque, Padding, Part, Product, Scaled, Shifted, Size, Slid, Spread, Sum, axes, chain, evaluate, value
from .steps import step

__all__ = [
    "Axis", "Given", "Opaque", "Origins", "Padding", "Part", "Product", "Scaled", "Shifted", "Size", "Slid", "Spread", "Sum", "axes", "chain",
    "evaluate", "step", "value",
]  # fmt: skip
