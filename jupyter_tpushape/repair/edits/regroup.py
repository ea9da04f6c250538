"""The parts of a pipeline's elements, put together as ``fit`` takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...flow import CannotRebuild
from ..text.program import Text
from ..text.variables import handed
from .base import Edit, kind
from .run import Run

NAMES = "abcdefghijklmnopqrstuvw"


@kind
@dataclass(frozen=True)
class Regroup(Edit):
    """``element`` in place of each element of a pipeline, whose ``parts`` are called a, b, c, ..."""

    kind = "data-transform"
    op = "regroup"
    data_only = True

    parts: int = field(default=0, metadata={"needed": True})
    element: str = ""
    choice: str = ""

    @property
    def either(self) -> tuple[Any, ...]:
        return (self.op, self.choice) if self.choice else ()

    @property
    def _function(self) -> str:
        return f"lambda {', '.join(NAMES[: self.parts])}: {self.element}"

    def write(self, text: Text) -> None:
        handed(text).behind(f".map({self._function})")

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# at the end of the pipeline:"
        yield f"+ds = ds.map({self._function})"

    def data(self, run: Run, data: Any) -> Any:
        if not hasattr(data, "element_spec"):
            raise CannotRebuild("Only the elements of a tf.data pipeline can be put together in another way.")
        return data.map(eval(self._function))
