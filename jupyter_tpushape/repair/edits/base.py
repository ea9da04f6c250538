"""What an edit is: one class, one file, with what it does to a program that is built, what it writes into source, and how it is said.

A program with source is edited in its text, and the text is run. One without source, a model that came from a file or was typed
away, is edited while it is built again: then the hooks of an edit are asked.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ...flow import CannotRebuild, EditKind
from ...flow import Edit as Value
from ..text.names import constructor, literal
from ..text.source import N, Source

if TYPE_CHECKING:
    from ..text.program import Text
    from .run import Run

Arguments = tuple[Any, Any]


class NotThere(CannotRebuild):
    """An edit was made for something that the program does not have: nothing that could be done by hand."""


@dataclass(frozen=True)
class Edit(ABC):
    """One change. Fields are plain values; ``target`` names the node, edge or stage that it is about."""

    kind: ClassVar[EditKind]
    op: ClassVar[str] = ""
    # Whether the data alone is changed, so that the model need not be built again.
    data_only: ClassVar[bool] = False

    target: str

    @property
    def either(self) -> tuple[Any, ...]:
        """What edits have in common of which only one can be meant."""
        return ()

    @property
    def value(self) -> Value:
        """The edit as it travels: a kind, a target and plain details."""
        detail = {} if not self.op else {"op": self.op}
        for one in dataclasses.fields(self)[1:]:
            found = getattr(self, one.name)
            if found != one.default or one.metadata.get("needed"):
                detail[one.metadata.get("name", one.name)] = found
        return Value(self.kind, self.target, detail)

    @classmethod
    def of(cls, value: Value) -> Edit | None:
        """The edit of this class that travels as ``value``."""
        fields = {field.metadata.get("name", field.name): field.name for field in dataclasses.fields(cls)[1:]}
        detail = dict(value.detail)
        if cls.kind != value.kind or detail.pop("op", "") != cls.op or not set(detail) <= set(fields):
            return None
        missing = any(field.metadata.get("needed") and field.metadata.get("name", field.name) not in detail for field in dataclasses.fields(cls)[1:])
        return None if missing else cls(value.target, **{fields[key]: item for key, item in detail.items()})

    # -- in source ---------------------------------------------------------------------------------

    @abstractmethod
    def write(self, text: Text) -> None:
        """Makes the edit in the program's text.

        Raises:
            NoPlace: where the text does not show where it belongs.
        """

    @abstractmethod
    def shown(self, dataset: bool) -> Iterator[str]:
        """Lines that say what to write where no source is known; ``dataset``: the data is a pipeline."""

    # -- while the program is built again ----------------------------------------------------------

    def declare(self, run: Run, index: int, args: Any, kwargs: Any) -> Arguments:
        """The arguments of a declared input, the ``index``-th of the program."""
        return args, kwargs

    def layer(self, run: Run, layer: Any) -> Any:
        """The layer that takes this one's place."""
        return layer

    def beside(self, run: Run, name: str, position: str, index: int | None) -> list[Any]:
        """Layers to put in front of a layer (or its input ``index``), or behind it."""
        return []

    def calling(self, run: Run, layer: Any) -> None:  # noqa: B027 - a hook that most edits leave as it is
        """A layer is about to be called for the first time."""

    def hosts(self, run: Run, layer: Any) -> bool:
        """Whether the layer leaves the model, to run in the pipeline."""
        return False

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        """The arguments of ``compile``."""
        return args, kwargs

    def builder(self, run: Run, build: Any, strategy: Any) -> Any:
        """The function that builds the model."""
        return build

    def finish(self, run: Run, model: Any) -> bool:
        """Makes the edit in a model that stands."""
        return False

    def data(self, run: Run, data: Any) -> Any:
        """The data with the edit made.

        Raises:
            CannotRebuild: where this kind of data cannot be changed.
        """
        return data


@dataclass(frozen=True)
class TextEdit(Edit):
    """An edit that has a place in text alone: without source there is nothing to change."""

    def builder(self, run: Run, build: Any, strategy: Any) -> Any:
        raise NotThere

    def data(self, run: Run, data: Any) -> Any:
        raise NotThere


@dataclass(frozen=True)
class SpanEdit(TextEdit):
    """A change of what ran at ``span`` of a file: line, end line, column and end column, in bytes of UTF-8."""

    kind = "replace-op"

    file: str = field(default="", metadata={"needed": True})
    span: list[int] = field(default_factory=list)

    def found(self, text: Text, kind: type[N] | tuple[type[N], ...]) -> tuple[Source, N]:
        """The source, and the node that stands there."""
        source = text.source(self.file)
        line, end_line, column, end_column = self.span
        return source, source.node_at((line, end_line, column, end_column), kind)


@dataclass(frozen=True)
class LayerEdit(Edit):
    """Another layer in the target's place."""

    @abstractmethod
    def instead(self, run: Run, layer: Any) -> Any:
        """The layer that takes its place."""

    def layer(self, run: Run, layer: Any) -> Any:
        if getattr(layer, "name", None) != self.target:
            return layer
        run.done(self)
        new = run.once((id(self), self.target), lambda: self.instead(run, layer))
        if run.recorder is not None and id(layer) in run.recorder.made:
            run.recorder.made[id(new)] = run.recorder.made[id(layer)]
        return new

    def finish(self, run: Run, model: Any) -> bool:
        return run.exchange(model, self.target, lambda layer: self.instead(run, layer))


KINDS: list[type[Edit]] = []


def kind(cls: type[Edit]) -> type[Edit]:
    """Registers a class of edits."""
    KINDS.append(cls)
    return cls


def edit_of(value: Value) -> Edit:
    """The edit that travels as ``value``."""
    for cls in KINDS:
        if (made := cls.of(value)) is not None:
            return made
    raise ValueError(f"Unknown edit: {value}.")


def arguments(config: dict[str, Any]) -> dict[str, Any]:
    """Plain values as a constructor takes them: lists are tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in config.items()}


def made(package: Any, name: str, config: dict[str, Any]) -> Any:
    """A layer made by the very text that a patch has for it."""
    return eval(written(package, "layers.", name, config), {"layers": package.layers})


def written(package: Any, prefix: str, name: str, config: dict[str, Any]) -> str:
    """A layer's constructor call; ``TimeDistributed`` names the layer that it holds."""
    if name == "TimeDistributed":
        return f"{prefix}TimeDistributed({prefix}{config['layer']}())"
    return constructor(f"{prefix}{name}", getattr(package.layers, name), config)


__all__ = ["Arguments", "Edit", "LayerEdit", "NotThere", "SpanEdit", "TextEdit", "Value", "arguments", "kind", "literal", "made", "written"]
