"""Short words that several views share."""

from __future__ import annotations

import re

_SHORT = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "string": "str"}


def short_dtype(dtype: str) -> str:
    """``float32`` as ``f32``, ``int8`` as ``i8``."""
    return _SHORT.get(dtype) or re.sub(r"^(u?)int(\d+)$", lambda found: f"{found[1] or 'i'}{found[2]}", dtype)
