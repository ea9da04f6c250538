"""Transforms of the data as expressions: of NumPy on arrays, of TensorFlow in a ``map``."""

from __future__ import annotations

from typing import Any

from ...flow import Edit, Spec

_NUMPY = {
    "expand_dims": "np.expand_dims({x}, {axis})", "squeeze": "np.squeeze({x}, {axis})", "transpose": "np.transpose({x}, {perm})",
    "reshape_rows": "np.reshape({x}, (-1, {rows}))", "flatten_rows": "np.reshape({x}, (len({x}), -1))", "cast": 'np.asarray({x}, "{dtype}")',
    "one_hot": 'np.eye({depth}, dtype="float32")[{x}]', "argmax": "np.argmax({x}, axis=-1)", "mean_last": "np.mean({x}, axis=-1, keepdims=True)",
    "repeat_last": "np.repeat({x}, {times}, axis=-1)", "column": "{a}[..., :1]", "shift": "{a} + {by}", "parse": '{a}.astype("{dtype}")',
    "to_dense": "{a}.to_tensor({fill})", "exchange": "[{items}]",
}  # fmt: skip
_TENSOR = {
    "expand_dims": "tf.expand_dims({x}, {axis})", "squeeze": "tf.squeeze({x}, {axis})", "transpose": "tf.transpose({x}, {perm})",
    "reshape_rows": "tf.reshape({x}, (-1, {rows}))", "flatten_rows": "tf.reshape({x}, (-1, {size}))", "cast": 'tf.cast({x}, "{dtype}")',
    "one_hot": "tf.one_hot({labels}, {depth})", "argmax": "tf.argmax({x}, axis=-1)", "mean_last": "tf.reduce_mean({x}, axis=-1, keepdims=True)",
    "repeat_last": "tf.repeat({x}, {times}, axis=-1)", "column": "{x}[..., :1]", "shift": "{x} + {by}", "ensure_shape": "tf.ensure_shape({x}, {shape})",
    "exchange": "({items})",
}  # fmt: skip


def role_of(edit: Edit) -> str:
    """``x``, ``y`` or ``weight``: what a transform changes."""
    return str(edit.detail.get("role", "y" if edit.kind == "label-transform" else "x"))


def code(edit: Edit, name: str, spec: Spec | None = None) -> str:
    """The transform as an expression of NumPy on ``name``; ``""`` where it has no short form."""
    detail = edit.detail
    if detail["op"] == "host-layer":
        return f"{detail['as']}({name})" if detail.get("as") else ""
    if detail["op"] == "pad_axis":
        axis, size = detail["axis"], detail["size"]
        if detail.get("cut"):
            return f"{_atom(name)}[{', '.join([':'] * axis + [f':{size}'])}]"
        have = spec.shape[axis] if spec is not None and spec.shape is not None and len(spec.shape) > axis else None
        if spec is not None and spec.shape is not None and have is not None:
            widths = ", ".join(f"(0, {size - have})" if i == axis else "(0, 0)" for i in range(len(spec.shape)))
            value = f", constant_values={detail['value']}" if detail.get("value") else ""
            return f"np.pad({name}, [{widths}]{value})"
        width = f"[(0, max(0, {size} - n) if i == {axis} else 0) for i, n in enumerate(np.shape({name}))]"
        return f"np.pad({name}, {width}, constant_values={detail.get('value', 0)})"
    if detail["op"] == "exchange" and isinstance(detail["order"], dict):
        return renamed(name, detail["order"])
    return _filled(_NUMPY.get(detail["op"], ""), edit, name, spec)


def renamed(name: str, order: dict[str, str]) -> str:
    """A dict with its values under other keys."""
    return "{" + ", ".join(f'"{new}": {name}["{old}"]' for new, old in order.items()) + "}"


def tensor_code(edit: Edit, name: str, spec: Spec | None = None) -> str:
    """The transform as an expression of TensorFlow on a batch; ``""`` where it has no short form."""
    detail = edit.detail
    if detail["op"] == "host-layer":
        return f"{detail['as']}({name})" if detail.get("as") else ""
    if detail["op"] == "pad_axis":
        axis, size, shape = detail["axis"], detail["size"], spec.shape if spec is not None else None
        if detail.get("cut"):
            return f"{name}[{', '.join([':'] * axis + [f':{size}'])}]"
        if shape is None:
            return ""
        missing = f"{size} - tf.shape({name})[{axis}]" if shape[axis] is None or detail.get("lengths") else str(size - (shape[axis] or 0))
        widths = ", ".join(f"[0, {missing}]" if i == axis else "[0, 0]" for i in range(len(shape)))
        made = f"tf.pad({name}, [{widths}]{', constant_values=' + str(detail['value']) if detail.get('value') else ''})"
        if detail.get("lengths"):
            whole = ", ".join(str(size) if i == axis else "None" if i == 0 else str(n) for i, n in enumerate(shape))
            return f"tf.ensure_shape({made}, ({whole}))"
        return made
    if detail["op"] == "to_dense":
        return f"tf.sparse.to_dense({name})" if detail.get("sparse") else f"{name}.to_tensor({_fill(detail)})"
    if detail["op"] == "exchange" and isinstance(detail["order"], dict):
        return renamed(name, detail["order"])
    return _filled(_TENSOR.get(detail["op"], ""), edit, name, spec)


def _atom(name: str) -> str:
    return name if name.isidentifier() or (name.endswith((")", "]")) and name[0] not in "([{") else f"({name})"


def _fill(detail: dict[str, Any]) -> str:
    return f"shape={tuple(detail['shape'])}" if detail.get("shape") else ""


def _filled(template: str, edit: Edit, name: str, spec: Spec | None) -> str:
    if not template:
        return ""
    detail = edit.detail
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in detail.items()}
    shape = spec.shape if spec is not None else None
    values["rows"] = ", ".join(str(n) for n in detail.get("shape", ()) if detail["op"] == "reshape_rows")
    values["fill"] = _fill(detail) if detail["op"] == "to_dense" else ""
    values["labels"] = f"tf.cast({name}, tf.int32)"
    if shape is not None:
        size = 1
        for n in shape[1:]:
            size *= n or 1
        values["size"] = size if None not in shape[1:] else -1
        if len(shape) > 1 and shape[-1] == 1:
            values["labels"] = f"tf.cast({name}[..., 0], tf.int32)"
    else:
        values["size"] = -1
    if detail["op"] == "exchange":
        values["items"] = ", ".join(f"{_atom(name)}[{i}]" for i in detail["order"]) if isinstance(detail["order"], list) else ""
    column = detail["op"] == "one_hot" and shape is not None and len(shape) > 1 and shape[-1] == 1 and template.startswith("np.")
    return template.format(**{**values, "x": f"{_atom(name)}[..., 0]" if column else name, "a": _atom(name)})


def map_code(edit: Edit, x: Any = None, y: Any = None, weight: Any = None, *, spec: Spec | None = None, parts: int = 2) -> str:
    """The transform as a ``map`` behind a pipeline; ``""`` where it has no short form.

    ``x``, ``y``, ``weight``: the structure of what stands there, to write one leaf of several. ``parts``: how
    many of them an element has.
    """
    role = role_of(edit)
    names = ["x", "y", "w"][:parts]
    index = {"x": 0, "y": 1, "weight": 2}[role]
    if index >= parts:
        return ""
    name, key = names[index], edit.detail.get("key")
    structure = (x, y, weight)[index]
    if key is None or edit.detail["op"] == "exchange":
        made = tensor_code(edit, name, spec)
    elif isinstance(key, str):
        inner = tensor_code(edit, f'{name}["{key}"]', spec)
        made = f'{{**{name}, "{key}": {inner}}}' if inner else ""
    elif isinstance(structure, (list, tuple)) and isinstance(key, int):
        inner = tensor_code(edit, f"{name}[{key}]", spec)
        made = f"({', '.join(inner if i == key else f'{name}[{i}]' for i in range(len(structure)))})" if inner else ""
    else:
        made = ""
    if not made:
        return ""
    shown = [made if i == index else other for i, other in enumerate(names)]
    return f".map(lambda {', '.join(names)}: {shown[0] if parts == 1 else '(' + ', '.join(shown) + ')'})"
