"""A fix as text: a unified diff of the user's source where it is known, a snippet elsewhere."""

from __future__ import annotations

from typing import Any

from ..flow import Edit
from . import transforms


def patch_of(seen: Any, edits: tuple[Edit, ...]) -> tuple[str, str, str]:
    """``(patch, file, cell)``."""
    return "\n".join(line for edit in edits for line in snippet(edit)), "", ""


def snippet(edit: Edit) -> list[str]:
    """Lines that say what to write, and where it goes."""
    detail = edit.detail
    if edit.kind == "insert-layer":
        layer = call(detail["layer"], detail.get("config", {}))
        where = f"input {detail['input'] + 1} of {edit.target}" if detail.get("input") is not None else edit.target
        return [f"# in front of {where}:", f"+{layer},"]
    if edit.kind == "layer-config":
        return [f"# in {edit.target}:", *(f"+{key}={_value(value)}," for key, value in detail["config"].items())]
    if edit.kind == "replace-layer":
        return [f"# in place of {edit.target}:", f"+{call(detail['layer'], detail.get('config', {}))},"]
    if edit.kind == "input-shape":
        return [f"# the declared shape of {edit.target}:", f"+{_value(detail['shape'])}"]
    if edit.kind == "loss":
        options = detail.get("options") or {}
        loss = f'"{detail["loss"]}"' if not options else f"{detail['loss']} with {', '.join(f'{k}={v}' for k, v in options.items())}"
        return ["# in compile():", f"+loss={loss},"]
    if edit.kind in ("data-transform", "label-transform"):
        if detail["op"] == "host-layer":
            return ["# in the pipeline, in place of the layer in the model:", f"+ds = ds.map(lambda x, y: ({edit.target}(x), y), num_parallel_calls=tf.data.AUTOTUNE)"]
        if detail["op"] == "source":
            shape = ", ".join(map(str, detail["shape"][1:]))
            return ["# in the data code:", f"-.reshape({detail['shape'][0]}, {shape})", f"+.reshape(-1, {shape})"]
        name = detail.get("role", "y" if edit.kind == "label-transform" else "x")
        target = f"{name}[{detail['key']!r}]" if "key" in detail else name
        return ["# before fit():", f"+{target} = {transforms.code(edit, target)}"]
    if edit.kind == "batching":
        return ["# at the end of the pipeline:", f"+ds = ds.unbatch().batch({detail['batch']}, drop_remainder={detail.get('drop_remainder', True)})"]
    return [f"# in {edit.target}:", f"-{detail.get('find')}", f"+{detail.get('replace')}"]


def call(name: str, config: dict[str, Any]) -> str:
    """A layer's constructor call as one would write it."""
    if name == "TimeDistributed":
        return f"layers.TimeDistributed(layers.{config['layer']}())"
    first = {"Reshape": "target_shape", "Dense": "units", "RepeatVector": "n", "Permute": "dims"}.get(name)
    parts = [_value(config[first])] if first in config else []
    parts += [f"{key}={_value(value)}" for key, value in config.items() if key != first]
    return f"layers.{name}({', '.join(parts)})"


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_value(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return f'"{value}"' if isinstance(value, str) else repr(value)
