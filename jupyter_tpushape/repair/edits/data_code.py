"""The code that makes the data: rows of a reshape counted, windows filled, a stage of a pipeline moved."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...flow import CannotRebuild, EditKind
from ...flow.syntax import called, loaded
from ...trace.locations import file_of
from ..text.arguments import Change, argument
from ..text.program import Text
from ..text.source import NoPlace, Source, is_atom, nodes
from .base import Edit, NotThere, kind
from .run import Run


@dataclass(frozen=True)
class DataCode(Edit):
    """A change of the function that makes the data."""

    kind: ClassVar[EditKind] = "data-transform"
    op = "source"
    data_only = True

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        """What to write anew in the function that makes the data."""
        return []

    def write(self, text: Text) -> None:
        function = text.seen.program.data
        source, scope = text.definition(getattr(function, "func", function))
        found = self.changes(source, scope)
        if not found:
            raise NoPlace
        source.splice(found)

    def data(self, run: Run, data: Any) -> Any:
        raise CannotRebuild("tpushape cannot reorder an existing pipeline: pass the function that creates it.")


def _reshapes(scope: ast.AST) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    for call in nodes(scope, ast.Call):
        if called(call) != "reshape" or not call.args or call.keywords:
            continue
        last = call.args[-1]
        yield call, list(last.elts) if isinstance(last, (ast.Tuple, ast.List)) else list(call.args)


@kind
@dataclass(frozen=True)
class CountRows(DataCode):
    """-1 for the first number of reshapes to ``shape``."""

    shape: list[int] = field(default_factory=list, metadata={"needed": True})

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        wanted = [str(n) for n in self.shape]
        return [
            source.change(parts[0], "-1")
            for _, parts in _reshapes(scope)
            if [source.of(part) for part in parts][-len(wanted) :] == wanted and len(parts) == len(wanted)
        ]

    def shown(self, dataset: bool) -> Iterator[str]:
        rest = ", ".join(map(str, self.shape[1:]))
        yield "# in the data code:"
        yield f"-.reshape({self.shape[0]}, {rest})"
        yield f"+.reshape(-1, {rest})"


@kind
@dataclass(frozen=True)
class WholeWindows(DataCode):
    """Rows that fill no whole window left out in front of ``x.reshape(-1, window, ...)``."""

    shape: list[int] = field(default_factory=list)
    fill: bool = field(default=False, metadata={"needed": True})

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        found = []
        for call, parts in _reshapes(scope):
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            if isinstance(owner, (ast.Name, ast.Attribute)) and [source.of(part) for part in parts] == ["-1", *map(str, self.shape)]:
                name, end = source.of(owner), source.end(owner)
                found.append((end, end, f"[: len({name}) // {self.shape[0]} * {self.shape[0]}]"))
        return found

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the data code, without the rows of an incomplete last window:"
        yield f"+x[: len(x) // {self.shape[0]} * {self.shape[0]}].reshape(-1, {', '.join(map(str, self.shape))})"


@kind
@dataclass(frozen=True)
class LastAxis(DataCode):
    """Another last number in reshapes to ``shape``, whose first axis may be an expression."""

    shape: list[int] = field(default_factory=list)
    last: int = field(default=0, metadata={"needed": True})

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        inner = [str(n) for n in self.shape[1:]]
        return [
            source.change(parts[-1], str(self.last))
            for _, parts in _reshapes(scope)
            if [source.of(part) for part in parts[-len(inner) :]] == inner and len(parts) > len(inner)
        ]

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the data code:"
        yield f"-.reshape(..., {self.shape[-1]})"
        yield f"+.reshape(..., {self.last})"


@kind
@dataclass(frozen=True)
class PaddedAlike(DataCode):
    """Sequences that are padded to the longest get the length, and the side, that the function gives to the others."""

    op = "padded-alike"

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        # In the function that makes the data, or elsewhere in its file: it may call another.
        found = [[call for call in nodes(part, ast.Call) if called(call) == "pad_sequences"] for part in (scope, source.tree)]
        calls = found[0] or found[1]
        lengths = {source.of(given) for call in calls if (given := argument(call, "maxlen", ["sequences", "maxlen"])) is not None}
        free = [call for call in calls if argument(call, "maxlen", ["sequences", "maxlen"]) is None]
        if len(lengths) != 1 or not free:
            raise NotThere("The data code pads no sequences without a length next to others that are padded to one.")
        sides = {source.of(given) for call in calls if call not in free and (given := argument(call, "padding", [])) is not None}
        changes = []
        for call in free:
            more = f", maxlen={next(iter(lengths))}"
            if len(sides) == 1 and argument(call, "padding", []) is None:
                more += f", padding={next(iter(sides))}"
            end = source.end([*call.args, *(word.value for word in call.keywords)][-1])
            changes.append((end, end, more))
        return changes

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the data code, the length that the other sequences get:"
        yield "+pad_sequences(..., maxlen=length)"

    def data(self, run: Run, data: Any) -> Any:
        raise NotThere("Only the code that pads the sequences can pad them to another length.")


def elements_of(text: Text, function: str) -> tuple[Source, list[ast.expr]]:
    """The expressions that a generator yields, or that the ``__getitem__`` of a class returns, with their source."""
    sample = text.seen.sample
    where = sample.stages[0].location if sample is not None and sample.stages else None
    if where is None:
        raise NoPlace
    source = text.source(file_of(where))
    classes = [node for node in nodes(source.tree, ast.ClassDef) if node.name == function]
    name, inside = ("__getitem__", classes[0]) if len(classes) == 1 else (function, source.tree)
    found = [node for node in nodes(inside, ast.FunctionDef) if node.name == name]
    if len(found) != 1:
        raise NoPlace
    return source, [each.value for each in nodes(found[0], ast.Return if classes else ast.Yield) if each.value is not None]


@kind
@dataclass(frozen=True)
class YieldTuple(DataCode):
    """Tuples for the lists in what ``function`` gives: a generator, or a class by its ``__getitem__``.

    Attributes:
        parts: which parts of an element are lists.
    """

    op = "yield_tuple"

    function: str = field(default="", metadata={"needed": True})
    parts: list[int] = field(default_factory=list)

    def write(self, text: Text) -> None:
        source, given = elements_of(text, self.function)
        changes = [change for value in given for change in self._changes(source, value)]
        if not changes:
            raise NoPlace
        source.splice(changes)

    def _changes(self, source: Source, value: ast.expr) -> Iterator[Change]:
        if not isinstance(value, (ast.Tuple, ast.List)):
            if self.parts:
                raise NoPlace
            yield source.change(value, f"tuple({source.of(value)})")
            return
        for part in self.parts:
            item = value.elts[part] if part < len(value.elts) else None
            if isinstance(item, ast.List) and item.elts:
                yield from _brackets(source, item)
            elif item is not None:
                yield source.change(item, f"tuple({source.of(item)})")
        if isinstance(value, ast.List):
            yield from _brackets(source, value)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.function}:"
        yield "-[a, b]"
        yield "+(a, b)"


@kind
@dataclass(frozen=True)
class YieldIndexed(DataCode):
    """One part of what ``function`` yields with an index behind it, such as ``[..., None]``; all of it where it has no parts."""

    op = "yield_indexed"

    function: str = field(default="", metadata={"needed": True})
    part: int = 0
    index: str = ""

    def write(self, text: Text) -> None:
        source, given = elements_of(text, self.function)
        if not given:
            raise NoPlace
        source.splice([_behind_part(source, value, self.part, f"[{self.index}]") for value in given])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.function}:"
        yield f"+x[{self.index}]"


@kind
@dataclass(frozen=True)
class ReturnedDtype(DataCode):
    """``dtype`` for one part of what a function gives that ``numpy_function`` or ``py_function`` runs."""

    op = "returned-dtype"

    index: int = field(default=0, metadata={"needed": True})
    dtype: str = ""

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        run = [call.args[0] for call in nodes(source.tree, ast.Call) if called(call) in _PYTHON and call.args]
        names = {item.id for item in run if isinstance(item, ast.Name)}
        given = [item.body for item in run if isinstance(item, ast.Lambda)]
        for function in nodes(source.tree, ast.FunctionDef):
            if function.name in names:
                given += [each.value for each in nodes(function, ast.Return) if each.value is not None]
        return [_behind_part(source, value, self.index, f'.astype("{self.dtype}")') for value in given]

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the function that runs in Python:"
        yield f'+x.astype("{self.dtype}")'


@kind
@dataclass(frozen=True)
class SignatureShape(DataCode):
    """``given`` for ``wanted`` in the signature of a generator's elements; ``None`` is an axis of any size."""

    op = "signature-shape"

    wanted: list[int | None] = field(default_factory=list, metadata={"needed": True})
    given: list[int | None] = field(default_factory=list)

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        # The pipeline may be made in a function that the data's calls.
        calls = [call for call in nodes(source.tree, ast.Call) if called(call) == "from_generator"]
        said = [word.value for call in calls for word in call.keywords if word.arg in ("output_signature", "output_shapes")]
        names = {part.id for part in said if isinstance(part, ast.Name)}
        held = [made.value for made in nodes(source.tree, ast.Assign) if any(isinstance(one, ast.Name) and one.id in names for one in made.targets)]
        shapes = [item for part in (*said, *held) for item in nodes(part, (ast.Tuple, ast.List))]
        new = f"({', '.join(map(str, self.given))}{',' if len(self.given) == 1 else ''})"
        return [source.change(item, new) for item in shapes if [ast.unparse(size) for size in item.elts] == [str(n) for n in self.wanted]]

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the signature of the generator:"
        yield f"-{tuple(self.wanted)}"
        yield f"+{tuple(self.given)}"


@kind
@dataclass(frozen=True)
class SlicedTuple(DataCode):
    """A tuple for a list of ``count`` arrays that ``from_tensor_slices`` would stack."""

    op = "sliced-tuple"

    count: int = field(default=0, metadata={"needed": True})

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        found: list[Change] = []
        for call in nodes(scope, ast.Call):
            given = call.args[0] if called(call) == "from_tensor_slices" and call.args else None
            for item in given.elts if isinstance(given, ast.Tuple) else [given]:
                if isinstance(item, ast.List) and len(item.elts) == self.count:
                    found += _brackets(source, item)
                elif isinstance(item, ast.Name) and any(self._holds(made, item.id) for made in nodes(scope, ast.Assign)):
                    found.append(source.change(item, f"tuple({item.id})"))
        return found

    def _holds(self, made: ast.Assign, name: str) -> bool:
        listed = isinstance(made.value, ast.List) and len(made.value.elts) == self.count
        return listed and any(isinstance(item, ast.Name) and item.id == name for item in made.targets)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "-from_tensor_slices(([a, b], y))"
        yield "+from_tensor_slices(((a, b), y))"


@kind
@dataclass(frozen=True)
class WholeAxis(DataCode):
    """Without the one slice that takes ``off`` entries off ``axis``, in the function that makes the data or in one that it calls."""

    op = "whole-axis"

    axis: int = field(default=0, metadata={"needed": True})
    off: int = field(default=0, metadata={"needed": True})

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        read = loaded(scope)
        scopes = [scope, *(item for item in source.tree.body if isinstance(item, ast.FunctionDef) and item.name in read and item is not scope)]
        found = [item for one in scopes for item in nodes(one, ast.Subscript) if self._cuts(item)]
        if len(found) != 1:
            return []
        whole = source.of(found[0].value)
        return [source.change(found[0], whole if is_atom(found[0].value) else f"({whole})")]

    def _cuts(self, item: ast.Subscript) -> bool:
        parts = item.slice.elts if isinstance(item.slice, ast.Tuple) else [item.slice]
        texts = [ast.unparse(part) for part in parts]
        return len(parts) > self.axis and texts.pop(self.axis) in (f"{self.off}:", f":-{self.off}") and all(text in (":", "...") for text in texts)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the data code:"
        yield f"-[{':, ' * self.axis}{self.off}:]"


_PYTHON = ("numpy_function", "py_function", "py_func")


def _behind_part(source: Source, value: ast.expr, part: int, text: str) -> Change:
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
    if part >= len(parts):
        raise NoPlace
    item = parts[part]
    written = source.of(item) if is_atom(item) else f"({source.of(item)})"
    return source.change(item, f"{written}{text}")


def _brackets(source: Source, node: ast.List) -> Iterator[Change]:
    start, end = source.start(node), source.end(node)
    yield start, start + 1, "("
    yield end - 1, end, ",)" if len(node.elts) == 1 else ")"


@kind
@dataclass(frozen=True)
class MoveStage(DataCode):
    """A stage of a pipeline moved some stages towards its source."""

    kind = "batching"

    move: str = field(default="", metadata={"needed": True})
    steps: int = 1

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        found: list[Change] = []
        for call in nodes(scope, ast.Call):
            if called(call) != self.move or not isinstance(call.func, ast.Attribute):
                continue
            below = call.func.value
            for _ in range(self.steps):
                if not (isinstance(below, ast.Call) and isinstance(below.func, ast.Attribute)):
                    break
                below = below.func.value
            else:
                if isinstance(below, (ast.Call, ast.Name)):
                    start, at = source.end(call.func.value), source.end(below)
                    found += [(at, at, source.text[start : source.end(call)].strip()), (start, source.end(call), "")]
        return found

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in the pipeline: move {self.move}() up by {self.steps}"


@kind
@dataclass(frozen=True)
class CountedClasses(DataCode):
    """The number of classes for the one call that makes one-hot vectors without it."""

    op = "counted-classes"

    classes: int = field(default=0, metadata={"needed": True})

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        for place in (scope, source.tree):
            calls = [call for call in nodes(place, ast.Call) if called(call) == "to_categorical" and len(call.args) == 1]
            calls = [call for call in calls if not any(word.arg in ("num_classes", None) for word in call.keywords)]
            if len(calls) == 1:
                end = source.end(calls[0].args[0])
                return [(end, end, f", num_classes={self.classes}")]
        return []

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the data code:"
        yield f"+to_categorical(..., num_classes={self.classes})"
