"""A layer of another class in a layer's place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..text.arguments import argument
from ..text.names import arguments_of, literal, positions_of
from ..text.program import Text
from .base import LayerEdit, arguments, kind, written
from .run import Run


@kind
@dataclass(frozen=True)
class ReplaceLayer(LayerEdit):
    """``layer_class(**config)`` for the target, with those of its own arguments that ``keep`` names."""

    kind = "replace-layer"

    layer_class: str = field(default="", metadata={"name": "layer", "needed": True})
    keep: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)

    def write(self, text: Text) -> None:
        obj = text.object(self.target)
        source, names, call = text.made(obj)
        text.remark_shared(len(text.twins(obj)) + 1)
        cls = text.layer_class(self.layer_class)
        name, changes = names.spell(cls, call, call.func)
        if not self.keep:
            prefix = name[: -len(self.layer_class)] if name.endswith(self.layer_class) else ""
            made = written(text.package(), prefix, self.layer_class, self.config)
            source.splice([*changes, source.change(call, made if made.startswith(name) else name + made[made.index("(") :])])
            return
        order = positions_of(names.value(call.func, call) or type(obj))
        given = {key: value for key in order if (value := argument(call, key, order)) is not None}
        given.update({item.arg: item.value for item in call.keywords if item.arg})
        takes = arguments_of(cls)
        parts, led = [], True
        for key in dict.fromkeys([*takes, "name"]):
            value = given.get(key)
            if key in self.config:
                said = _scalar(value, self.config[key]) or literal(self.config[key])
            elif value is not None and key in (*self.keep, "name"):
                said = source.of(value)
            else:
                led = False
                continue
            led = led and value in call.args
            parts.append(said if led else f"{key}={said}")
        changes.append(source.change(call.func, name))
        changes.append((source.end(call.func), source.end(call), f"({', '.join(parts)})"))
        source.splice(changes)

    def shown(self, dataset: bool) -> Iterator[str]:
        config = ", ".join(f"{key}={literal(value)}" for key, value in self.config.items())
        yield f"# instead of {self.target}:"
        yield f"+layers.{self.layer_class}({config}),"

    # -- while the program is built again ----------------------------------------------------------

    def instead(self, run: Run, layer: Any) -> Any:
        keep = {key: value for key, value in layer.get_config().items() if key in self.keep}
        return getattr(run.package.layers, self.layer_class)(**{"name": layer.name, **keep, **arguments(self.config)})


def _scalar(value: Any, wanted: Any) -> str:
    """A single number stands for every axis, so it stays as it is written."""
    constant = getattr(value, "value", None)
    return str(constant) if isinstance(constant, int) and isinstance(wanted, list) and set(wanted) == {constant} else ""
