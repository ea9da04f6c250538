"""Operations on data, each written once: an expression of NumPy on arrays, one of TensorFlow in a ``map``.

What runs when an operation is tried on live data is compiled from the very expression that a patch has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...flow import CannotRebuild, Spec, elements

Write = Callable[..., str]


@dataclass(frozen=True)
class Operation:
    """``numpy`` and ``tensor`` give the expression for ``x``, the text of what is changed, and its spec where that is known."""

    name: str
    numpy: Write
    tensor: Write

    def function(self, package: str, module: Any, spec: Spec | None, arguments: dict[str, Any]) -> Callable[[Any], Any]:
        """The operation as a function of one array or tensor.

        Raises:
            CannotRebuild: where it has no form for this kind of data.
        """
        text = (self.numpy if package == "np" else self.tensor)("x", spec, **arguments)
        if not text:
            raise CannotRebuild("This change needs a tf.data pipeline: create a dataset from the arrays first.")
        return eval(f"lambda x: {text}", {"tf": sys.modules.get("tensorflow"), package: module})  # type: ignore[no-any-return]


OPERATIONS: dict[str, Operation] = {}


def operation(name: str, numpy: str | Write, tensor: str | Write) -> None:
    """Registers an operation. In a text ``{x}`` stands for what is changed, ``{a}`` for the same in brackets where it needs them."""
    OPERATIONS[name] = Operation(name, _writer(numpy), _writer(tensor))


def _writer(form: str | Write) -> Write:
    if callable(form):
        return form

    def write(x: str, _: Spec | None, **arguments: Any) -> str:
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
        return form.format(x=x, a=atom(x), **values)

    return write


def atom(text: str) -> str:
    """An expression that ``[...]`` or ``.name`` may follow."""
    return text if text.isidentifier() or (text.endswith((")", "]")) and text[0] not in "([{") else f"({text})"


def _shape(spec: Spec | None) -> tuple[int | None, ...] | None:
    return spec.shape if spec is not None else None


def _column(spec: Spec | None) -> bool:
    shape = _shape(spec)
    return shape is not None and len(shape) > 1 and shape[-1] == 1


def _split(x: str, _: Spec | None, widths: list[int], backward: bool = False) -> str:
    at = [sum(widths[: i + 1]) for i in range(len(widths) - 1)]
    return f"np.split({x}, {at}, axis=-1){'[::-1]' if backward else ''}"


def _tensor_split(x: str, _: Spec | None, widths: list[int], backward: bool = False) -> str:
    return f"tuple(tf.split({x}, {list(widths)}, axis=-1){'[::-1]' if backward else ''})"


def _parts(x: str, _: Spec | None, count: int) -> str:
    # An expression that draws or reads would do so again for each part.
    return f"[{x}[:, i] for i in range({count})]" if x.isidentifier() else f"list(np.moveaxis({x}, 1, 0))"


def _one_hot(x: str, spec: Spec | None, depth: int) -> str:
    integers = f"{atom(x)}[..., 0]" if _column(spec) else x
    if spec is not None and not spec.dtype.startswith(("int", "uint")):
        integers = f'np.asarray({integers}, "int64")'
    return f'np.eye({depth}, dtype="float32")[{integers}]'


def _tensor_one_hot(x: str, spec: Spec | None, depth: int) -> str:
    return f"tf.one_hot(tf.cast({atom(x) + '[..., 0]' if _column(spec) else x}, tf.int32), {depth})"


def _numbered(argmax: str, array: str) -> Write:
    def write(x: str, spec: Spec | None, classes: list[Any], tensor: bool = False) -> str:
        if array == "np.array" and isinstance(classes[0], str) and not tensor:
            # A column of pandas has no index for a new axis. A tensor of texts holds bytes, which have no order among texts.
            return f"np.searchsorted({classes!r}, {x})"
        dtype = f', "{spec.dtype}"' if array == "tf.constant" and spec is not None and isinstance(classes[0], int) else ""
        same = f"{x if _column(spec) else atom(x) + '[..., None]'} == {array}({classes!r}{dtype})"
        return f'{argmax}(tf.cast({same}, "int32"), -1)' if array == "tf.constant" else f"{argmax}({same}, -1)"

    return write


def _colored(same: str, each: str) -> Write:
    def write(x: str, _: Spec | None, colors: list[list[int]]) -> str:
        return each.format(same=same.format(a=atom(x), colors=colors))

    return write


def _rows(module: str) -> Write:
    def write(x: str, _: Spec | None, shape: list[int]) -> str:
        return f"{module}.reshape({x}, (-1, {', '.join(map(str, shape))}))"

    return write


def _flat(x: str, spec: Spec | None) -> str:
    shape = _shape(spec)
    return f"tf.reshape({x}, (-1, {elements(shape[1:]) or -1 if shape is not None else -1}))"


def _grouped(x: str, _: Spec | None, shape: list[int]) -> str:
    return f"np.reshape({x}, (-1, {', '.join(map(str, shape))}))"


def _by(x: str, _: Spec | None, by: int) -> str:
    # A negative number is no number of an unsigned dtype, and less by one is.
    return f"{atom(x)} {'-' if by < 0 else '+'} {abs(by)}"


def _cut(x: str, axis: int, size: int) -> str:
    return f"{atom(x)}[{', '.join([':'] * axis + [f':{size}'])}]"


def _pad(x: str, spec: Spec | None, axis: int, size: int, value: float = 0, cut: bool = False, **_: Any) -> str:
    shape = _shape(spec)
    if cut:
        return _cut(x, axis, size)
    have = shape[axis] if shape is not None and len(shape) > axis else None
    if shape is not None and have is not None:
        if have >= size:
            return _cut(x, axis, size)
        widths = ", ".join(f"(0, {size - have})" if i == axis else "(0, 0)" for i in range(len(shape)))
        return f"np.pad({x}, [{widths}]{f', constant_values={value}' if value else ''})"
    width = f"[(0, max(0, {size} - n) if i == {axis} else 0) for i, n in enumerate(np.shape({x}))]"
    return f"np.pad({x}, {width}, constant_values={value})"


def _tensor_pad(x: str, spec: Spec | None, axis: int, size: int, value: float = 0, cut: bool = False, lengths: bool = False) -> str:
    shape = _shape(spec)
    if cut:
        return _cut(x, axis, size)
    if shape is None:
        return ""
    have = shape[axis]
    if have is not None and have >= size and not lengths:
        return _cut(x, axis, size)
    missing = f"{size} - tf.shape({x})[{axis}]" if have is None or lengths else str(size - have)
    widths = ", ".join(f"[0, {missing}]" if i == axis else "[0, 0]" for i in range(len(shape)))
    made = f"tf.pad({x}, [{widths}]{f', constant_values={value}' if value else ''})"
    if not lengths:
        return made
    whole = ", ".join(str(size) if i == axis else "None" if i == 0 else str(n) for i, n in enumerate(shape))
    return f"tf.ensure_shape({made}, ({whole}))"


def _dense(x: str, _: Spec | None, sparse: bool = False, shape: Any = None) -> str:
    return f"tf.sparse.to_dense({x})" if sparse else f"{atom(x)}.to_tensor({f'shape={tuple(shape)}' if shape else ''})"


def _padded_steps(x: str, _: Spec | None, rank: int, length: int | None = None) -> str:
    size, row = (f"max(map(len, {x}))", "row") if length is None else (str(length), f"row[-{length}:]")
    rest = ", (0, 0)" * (rank - 2)
    return f"np.stack([np.pad({row}, [({size} - len({row}), 0){rest}]) for row in {x}])"


def _none(*_: Any, **__: Any) -> str:
    return ""


operation("next_steps", "{a}[:, 1:]", "{a}[:, 1:]")
operation("expand_dims", "np.expand_dims({x}, {axis})", "tf.expand_dims({x}, {axis})")
operation("squeeze", "np.squeeze({x}, {axis})", "tf.squeeze({x}, {axis})")
operation("transpose", "np.transpose({x}, {perm})", "tf.transpose({x}, {perm})")
operation("reshape_rows", _rows("np"), _rows("tf"))
operation("pad_rows", "np.array([([0] * {length} + list(row))[-{length}:] for row in {x}])", _none)
operation("stack_rows", "np.stack({x})", _none)
operation("pad_longest", "np.array([[0] * (max(map(len, {x})) - len(row)) + list(row) for row in {x}])", _none)
operation("pad_steps", _padded_steps, _none)
operation("group_rows", _grouped, _none)
operation("flatten_rows", "np.reshape({x}, (len({x}), -1))", _flat)
operation("cast", 'np.asarray({x}, "{dtype}")', 'tf.cast({x}, "{dtype}")')
operation("as_array", "np.asarray({x})", _none)
operation("text_tensor", "tf.constant({x})", _none)
operation("one_hot", _one_hot, _tensor_one_hot)
operation("k_hot", 'np.eye({depth}, dtype="float32")[{x}].max(axis=-2)', "tf.reduce_max(tf.one_hot({x}, {depth}), axis=-2)")
operation("colors", _colored("{a}[..., None, :] == np.array({colors})", 'np.all({same}, axis=-1).astype("float32")'),
          _colored("{a}[..., None, :] == tf.cast({colors}, {a}.dtype)", 'tf.cast(tf.reduce_all({same}, axis=-1), "float32")'))  # fmt: skip
operation("class_numbers", _numbered("np.argmax", "np.array"), _numbered("tf.argmax", "tf.constant"))
operation("split_last", _split, _tensor_split)
operation("unstack", _parts, "tuple({a}[:, i] for i in range({count}))")
operation("stack", "np.stack({x}, axis={axis})", "tf.stack({x}, axis={axis})")
operation("join_last", "np.concatenate({x}, axis=-1)", "tf.concat({x}, axis=-1)")
operation("apart", "list({x})", "tuple({x})")
operation("by_input", "list(np.swapaxes({x}, 0, 1))", _none)
operation("by_part", "[np.stack(part) for part in zip(*{x})]", _none)
operation("without_column", "np.delete({x}, {column}, axis=1)", "tf.concat([{a}[:, :{column}], {a}[:, {column} + 1:]], axis=1)")
operation("entry", "{a}[{name!r}]", "{a}[{name!r}]")
operation("without", *["{{name: part for name, part in {a}.items() if name not in {keys}}}"] * 2)
operation("argmax", "np.argmax({x}, axis=-1)", "tf.argmax({x}, axis=-1)")
operation("mean_last", "np.mean({x}, axis=-1, keepdims=True)", "tf.reduce_mean({x}, axis=-1, keepdims=True)")
operation("spread", "np.tile(np.reshape({x}, {shape}), {times})", "tf.tile(tf.reshape({x}, {shape}), {times})")
operation("repeat_last", "np.repeat({x}, {times}, axis=-1)", "tf.repeat({x}, {times}, axis=-1)")
operation("column", "{a}[..., :1]", "{a}[..., :1]")
operation("first_of_last", "{a}[..., 0]", "{a}[..., 0]")
operation("sum_last", "{a}.sum(axis=-1)", "tf.reduce_sum({x}, axis=-1)")
operation("without_first", "{a}[..., 1:]", "{a}[..., 1:]")
operation("shift", _by, _by)
operation("is_value", '({a} == {value}).astype("float32")', 'tf.cast({a} == {value}, "float32")')
operation("resize", _none, 'tf.image.resize({x}, {size}, method="nearest")')
operation("resize_images", "tf.image.resize({x}, {size}).numpy()", "tf.image.resize({x}, {size})")
operation("scale", 'np.asarray({x}, "float32") / {by}', 'tf.cast({x}, "float32") / {by}')
operation("parse", '{a}.astype("{dtype}")', 'tf.strings.to_number({x}, tf.as_dtype("{dtype}"))')
operation("pad_axis", _pad, _tensor_pad)
operation("first_rows", "{a}[:{rows}]", "{a}[:{rows}]")
operation("to_dense", lambda x, spec, sparse=False, shape=None: "" if sparse else _dense(x, spec, sparse, shape), _dense)
operation("ensure_shape", _none, "tf.ensure_shape({x}, {shape})")
