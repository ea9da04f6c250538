"""The place where data is handed over: what a data function returns, or the arguments of ``fit``.

A transform goes around the one expression that it is about, or behind the pipeline; a batch size is changed
where it is written. What stands under a name is looked up where the name is given once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import libcst as cst
from libcst.metadata import ParentNodeProvider, PositionProvider

from ...flow import Edit, Spec
from .expressions import code, map_code, role_of
from .words import NoPlace, name_of, parsed, with_argument

_INDEX = {"x": 0, "y": 1, "weight": 2}
_FITTING = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})
_TRACING = frozenset({"trace", "assert_flows"})
_BATCHING = ("batch", "padded_batch")


@dataclass(frozen=True)
class Form:
    """What the data is: a pipeline or arrays, the structure of its parts, and whether a call hands it over, or which function."""

    dataset: bool = False
    x: Any = None
    y: Any = None
    weight: Any = None
    specs: Any = None
    called: bool = False
    name: str = ""

    @property
    def parts(self) -> int:
        return 3 if self.weight is not None else 2 if self.y is not None else 1

    def spec(self, edit: Edit) -> Spec | None:
        """The spec of the leaf that an edit is about; axes that differ from batch to batch are open."""
        found = (self.specs or {}).get(role_of(edit)) or {}
        key = edit.detail.get("key")
        key = tuple(key) if isinstance(key, list) else key
        spec = next(iter(found.values()), None) if key is None and len(found) == 1 else found.get(key)
        return spec if isinstance(spec, Spec) else None


def change_data(source: str, edit: Edit, line: int, form: Form) -> str:
    """The source with a transform, or another batching, where the data is handed over at ``line``.

    Raises:
        NoPlace: where the source does not show one place for it.
    """
    return _Hands(source, edit, line, form).changed()


class _Hands:
    def __init__(self, source: str, edit: Edit, line: int, form: Form) -> None:
        wrapper = parsed(source)
        self.module, self.edit, self.line, self.form = wrapper.module, edit, line, form
        self.positions, self.parents = wrapper.resolve(PositionProvider), wrapper.resolve(ParentNodeProvider)
        self.swaps: list[tuple[Any, Any]] = []

    def changed(self) -> str:
        if self.form.called:
            call = self._call()
            self.scope = self._enclosing(call)
            self._at_call(call)
        else:
            self.scope = self._function()
            for value in self._returned():
                self._whole(value)
        if not self.swaps:
            raise NoPlace
        changed: Any = self.module.visit(_Swap(self.swaps))
        return str(changed.code)

    # -- where -------------------------------------------------------------------------------------

    def _function(self) -> Any:
        named = [node for node in _all(self.module, cst.FunctionDef) if node.name.value == self.form.name]
        found = (
            named
            if len(named) == 1
            else [
                node
                for node in _all(self.module, cst.FunctionDef)
                if self.line in (self.positions[node].start.line, *(self.positions[item].start.line for item in node.decorators))
            ]
        )
        if len(found) != 1:
            raise NoPlace
        return found[0]

    def _returned(self) -> Iterator[Any]:
        for node in _all(self.scope, cst.Return):
            if self._enclosing(node) is self.scope and node.value is not None:
                yield node.value

    def _call(self) -> Any:
        found = [
            node
            for node in _all(self.module, cst.Call)
            if name_of(node) in _FITTING | _TRACING and self.positions[node].start.line <= self.line <= self.positions[node].end.line
        ]
        if len(found) != 1:
            raise NoPlace
        return found[0]

    def _enclosing(self, node: Any) -> Any:
        while not isinstance(node, cst.Module):
            node = self.parents[node]
            if isinstance(node, (cst.FunctionDef, cst.Lambda)):
                return node
        return node

    def _named(self, name: str) -> list[Any]:
        """What is assigned to a name in this scope; nothing where it is also bound in another way."""
        found = []
        for node in _all(self.scope, cst.Assign):
            if self._enclosing(node) is not self.scope:
                continue
            if any(isinstance(target.target, cst.Name) and target.target.value == name for target in node.targets):
                found.append(node.value)
        return found

    def _resolved(self, value: Any) -> Any:
        """The expression that stands under a name, where it is given once."""
        if isinstance(value, cst.Name):
            found = self._named(value.value)
            if len(found) == 1:
                return found[0]
        return value

    # -- what --------------------------------------------------------------------------------------

    def _at_call(self, call: cst.Call) -> None:
        if name_of(call) in _TRACING:
            whole = _argument(call, 1, "data")
            if whole is None:
                raise NoPlace
            self._whole(whole.value)
            return
        x = _argument(call, 0, "x")
        if x is None:
            raise NoPlace
        if self.form.dataset:
            self._pipeline(x.value)
            self._held_back(call)
        elif self.edit.kind == "batching":
            self._arrays_batched(call)
        else:
            names = ("x", "y", "sample_weight")
            index = _INDEX[role_of(self.edit)]
            argument = _argument(call, index if index < 2 else 99, names[index])
            if argument is None:
                raise NoPlace
            self._leaf(argument.value)
            self._held_back(call)

    def _held_back(self, call: cst.Call) -> None:
        """Data that is held back for validation is fed to the same model."""
        argument = _argument(call, 99, "validation_data")
        if argument is None:
            return
        if self.form.dataset:
            self._pipeline(argument.value)
        elif isinstance(self._resolved(argument.value), (cst.Tuple, cst.List)):
            self._whole(argument.value)
        elif self.edit.kind != "batching":
            raise NoPlace

    def _whole(self, value: Any) -> None:
        """Data as one expression: a tuple of arrays, or a pipeline."""
        if self.form.dataset:
            self._pipeline(value)
            return
        if self.edit.kind == "batching":
            parts = [item.value for item in value.elements] if isinstance(value, cst.Tuple) else []
            given = [self._text(part) for part in parts if not (isinstance(part, cst.Name) and part.value == "None")]
            whole = self._text(value) if len(given) == len(parts) else given[0] if len(given) == 1 else f"({', '.join(given)})"
            self._swap(value, self._sliced(whole))
            return
        inside = self._resolved(value)
        index = _INDEX[role_of(self.edit)]
        if isinstance(inside, cst.Tuple):
            if index >= len(inside.elements):
                raise NoPlace
            self._leaf(inside.elements[index].value)
        elif self.form.parts == 1 and index == 0:
            self._leaf(value)
        else:
            raise NoPlace

    def _leaf(self, value: Any) -> None:
        """One part of the data, or one leaf of it."""
        key = self.edit.detail.get("key")
        if self.edit.detail["op"] == "exchange":
            self._exchanged(value)
            return
        if key is None:
            self._swap(value, self._written(self._text(value)))
            return
        if isinstance(key, list):
            raise NoPlace
        inside = self._resolved(value)
        if isinstance(inside, (cst.List, cst.Tuple)) and isinstance(key, int) and key < len(inside.elements):
            self._leaf_at(inside.elements[key].value)
        elif isinstance(inside, cst.Dict):
            for item in inside.elements:
                if isinstance(item, cst.DictElement) and isinstance(item.key, cst.SimpleString) and item.key.evaluated_value == key:
                    self._leaf_at(item.value)
        elif isinstance(key, str) and isinstance(value, cst.Name):
            made = self._code(f'{value.value}["{key}"]')
            self._swap(value, cst.parse_expression(f'{{**{value.value}, "{key}": {made}}}'))

    def _leaf_at(self, value: Any) -> None:
        self._swap(value, self._written(self._text(value)))

    def _exchanged(self, value: Any) -> None:
        order, inside = self.edit.detail["order"], self._resolved(value)
        if isinstance(order, list) and isinstance(inside, (cst.List, cst.Tuple)) and len(inside.elements) == len(order):
            elements = [old.with_changes(value=inside.elements[i].value) for old, i in zip(inside.elements, order, strict=True)]
            self._swap(inside, inside.with_changes(elements=elements))
        elif isinstance(order, dict) and isinstance(inside, cst.Dict):
            names = {old: new for new, old in order.items()}
            items: list[Any] = []
            for item in inside.elements:
                written = item.key if isinstance(item, cst.DictElement) and isinstance(item.key, cst.SimpleString) else None
                new = names.get(written.evaluated_value) if written is not None else None
                items.append(item.with_changes(key=written.with_changes(value=f'"{new}"')) if written is not None and new else item)
            self._swap(inside, inside.with_changes(elements=items))
        elif isinstance(value, cst.Name):
            self._swap(value, self._written(value.value))
        else:
            raise NoPlace

    def _code(self, name: str) -> str:
        made = code(self.edit, name, self.form.spec(self.edit))
        if not made:
            raise NoPlace
        return made

    def _written(self, name: str) -> Any:
        return cst.parse_expression(self._code(name))

    # -- pipelines ---------------------------------------------------------------------------------

    def _pipeline(self, value: Any) -> None:
        detail = self.edit.detail
        if self.edit.kind != "batching":
            mapped = map_code(self.edit, self.form.x, self.form.y, self.form.weight, spec=self.form.spec(self.edit), parts=self.form.parts)
            if not mapped:
                raise NoPlace
            self._behind(value, mapped)
            return
        drop = f"drop_remainder={detail.get('drop_remainder', True)}"
        if detail.get("op") == "add-batch":
            self._behind(value, f".batch({detail['batch']}{', ' + drop if detail.get('drop_remainder', True) else ''})")
            return
        if detail.get("op") == "options":
            raise NoPlace
        root = _root(value)
        if detail.get("op") == "unbatch":
            self._batched_once(value, root)
            return
        where = [*([] if isinstance(value, cst.Name) else [value]), *(self._named(root) if root else [])]
        batches = [call for chain in where for call in _all(chain, cst.Call) if name_of(call) in _BATCHING]
        if len(batches) == 1 and isinstance(batches[0].func, cst.Attribute):
            self._swap(batches[0], self._rebatched(batches[0]))
        else:
            self._behind(value, f"{self._repeated()}.unbatch().batch({detail['batch']}, {drop})")

    def _batched_once(self, value: Any, root: str | None) -> None:
        """The second ``batch`` taken out of the chain; ``unbatch()`` behind it where only one is in sight."""
        where = [*([] if isinstance(value, cst.Name) else [value]), *(self._named(root) if root else [])]
        batches = [call for chain in where for call in _all(chain, cst.Call) if name_of(call) in _BATCHING]
        if len(batches) == 2 and all(isinstance(call.func, cst.Attribute) for call in batches):
            outer = max(batches, key=lambda call: len(self._text(call)))
            assert isinstance(outer.func, cst.Attribute)
            self._swap(outer, outer.func.value)
        else:
            self._behind(value, ".unbatch()")

    def _rebatched(self, call: cst.Call) -> cst.Call:
        detail = self.edit.detail
        made = with_argument(call, "batch_size", cst.Integer(str(detail["batch"])))
        made = with_argument(made, "drop_remainder", cst.Name(str(detail.get("drop_remainder", True))))
        if detail.get("repeat") and isinstance(made.func, cst.Attribute):
            inner = cst.parse_expression(f"{self._text(made.func.value)}{self._repeated()}")
            made = made.with_changes(func=made.func.with_changes(value=inner))
        return made

    def _behind(self, value: Any, tail: str) -> None:
        """One more stage behind a pipeline; a prefetch stays its last one."""
        inside = self._resolved(value) if isinstance(value, cst.Name) else value
        if isinstance(inside, cst.Call) and name_of(inside) == "prefetch" and isinstance(inside.func, cst.Attribute):
            inner = cst.parse_expression(f"{self._text(inside.func.value)}{tail}")
            self._swap(inside, inside.with_changes(func=inside.func.with_changes(value=inner)))
            return
        text = self._text(value)
        plain = isinstance(value, (cst.Name, cst.Call, cst.Attribute, cst.Subscript))
        self._swap(value, cst.parse_expression(f"{text if plain else '(' + text + ')'}{tail}"))

    def _sliced(self, parts: str) -> Any:
        detail = self.edit.detail
        bare = isinstance(cst.parse_expression(parts), cst.Tuple) and not parts.startswith("(")
        whole = f"({parts})" if bare else parts
        return cst.parse_expression(
            f"tf.data.Dataset.from_tensor_slices({whole}){self._repeated()}.batch({detail['batch']}, drop_remainder={detail.get('drop_remainder', True)})"
        )

    def _arrays_batched(self, call: cst.Call) -> None:
        """``fit(x, y, batch_size=10)`` becomes ``fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(8, ...))``."""
        parts = [_argument(call, 0, "x"), _argument(call, 1, "y"), _argument(call, 99, "sample_weight")]
        given = [part for part in parts if part is not None]
        texts = [self._text(part.value) for part in given]
        gone = [*given, _argument(call, 2, "batch_size")]
        rest = [argument for argument in call.args if argument not in gone]
        if any(argument.keyword is None for argument in rest):
            raise NoPlace
        made = self._sliced(texts[0] if len(texts) == 1 else f"({', '.join(texts)})")
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        first = cst.Arg(made, comma=comma) if rest else cst.Arg(made)
        self._swap(call, call.with_changes(args=[first, *rest]))

    def _repeated(self) -> str:
        """The rows again, where there are fewer than a batch takes."""
        return f".repeat({self.edit.detail['repeat']})" if self.edit.detail.get("repeat") else ""

    def _text(self, node: Any) -> str:
        return str(self.module.code_for_node(node))

    def _swap(self, old: Any, new: Any) -> None:
        self.swaps.append((old, new))


class _Swap(cst.CSTTransformer):
    """Several nodes exchanged in one go: a visit makes every node anew."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self.new = {id(old): new for old, new in pairs}

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        return self.new.get(id(original_node), updated_node)


def _root(value: Any) -> str:
    """The name that a chain of calls starts with."""
    while isinstance(value, (cst.Call, cst.Attribute)):
        value = value.func if isinstance(value, cst.Call) else value.value
    return value.value if isinstance(value, cst.Name) else ""


def _all(node: Any, kind: type) -> list[Any]:
    """Every node of a kind in a tree, the outer ones first."""
    found = [node] if isinstance(node, kind) else []
    for child in node.children:
        found += _all(child, kind)
    return found


def _argument(call: cst.Call, index: int, name: str) -> cst.Arg | None:
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == name:
            return argument
    plain = [argument for argument in call.args if argument.keyword is None and not argument.star]
    return plain[index] if index < len(plain) else None
