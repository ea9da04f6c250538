"""Two layers in each other's place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..text.program import Text
from ..text.source import NoPlace
from .base import Edit, NotThere, kind
from .run import Run


@kind
@dataclass(frozen=True)
class ExchangeLayers(Edit):
    """The target and ``exchange`` change places."""

    kind = "replace-layer"

    exchange: str = field(default="", metadata={"needed": True})

    def write(self, text: Text) -> None:
        source, _, one = text.made(text.object(self.target))
        other_source, _, other = text.made(text.object(self.exchange))
        if other_source is not source:
            raise NoPlace
        first, second = source.of(one), source.of(other)
        source.splice([source.change(one, second), source.change(other, first)])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# swap {self.target} and {self.exchange}"

    def layer(self, run: Run, layer: Any) -> Any:
        pair = (self.target, self.exchange)
        if getattr(layer, "name", None) not in pair:
            return layer
        other = pair[1 - pair.index(layer.name)]
        source = next((obj for obj in run.recorder.alive if getattr(obj, "name", None) == other and hasattr(obj, "get_config")), None)
        if source is None:
            raise NotThere(f"{other} does not exist yet where {layer.name} is called.")
        run.done(self)
        new = run.once((id(self), layer.name), lambda: type(source).from_config({**source.get_config(), "name": other}))
        if id(source) in run.recorder.made:
            run.recorder.made[id(new)] = run.recorder.made[id(source)]
        return new
