"""Which values of a pipeline's function are computed by interpolation between neighbors."""

from __future__ import annotations

from typing import Any

# What leaves a value what it is, or the integer below it.
_PASSES = frozenset(
    {"Cast", "Squeeze", "Reshape", "ExpandDims", "StridedSlice", "Identity", "Round", "Floor", "Rint", "EnsureShape", "Transpose"}
)
_BLENDS = ("ResizeBilinear", "ResizeBicubic", "ResizeArea", "ScaleAndTranslate")


def interpolated(wrapper: Any, file: str, function: str) -> dict[int, int]:
    """The outputs of a traced function, by their places, that come from a resize which interpolates, with its line in ``file``; 0 if unknown."""
    own = function.rsplit(".", 1)[-1]
    found = {}
    try:
        for place, tensor in enumerate(wrapper.function.graph.outputs):
            made = tensor.op
            while made.type in _PASSES and made.inputs:
                made = made.inputs[0].op
            if made.type in _BLENDS:
                lines = [frame.lineno for frame in made.traceback if frame.filename == file or frame.name in (own, f"tf__{own}")]
                found[place] = lines[-1] if lines else 0
    except Exception:  # what the graph does not tell stays unknown
        return {}
    return found
