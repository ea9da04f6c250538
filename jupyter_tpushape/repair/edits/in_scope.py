"""Everything that makes variables, inside the strategy's scope."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...flow.syntax import called
from ..text.cells import bound, own, touched, used
from ..text.program import Text
from ..text.source import NoPlace, Source, nodes
from .base import Edit, kind
from .run import Run

_MADE_WITH = (".optimizers.", ".metrics.")


@kind
@dataclass(frozen=True)
class InScope(Edit):
    """The block of ``with strategy.scope():`` taken further up, or put around the lines that build and compile."""

    kind = "strategy"
    op = "scope"

    def write(self, text: Text) -> None:
        places = [place for obj in text.objects() if (place := text.where(obj)) is not None]
        if not places:
            raise NoPlace
        source = text.source(places[0][0])
        lines = {line for file, line in places if file == source.file}

        def makes(statement: ast.stmt) -> bool:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.With, ast.If, ast.For, ast.While, ast.Try)):
                return False
            inside = any(statement.lineno <= line <= (statement.end_lineno or line) for line in lines)
            return inside or any(word in source.of(statement) for word in _MADE_WITH)

        bodies = [source.tree.body, *(node.body for node in nodes(source.tree, (ast.FunctionDef, ast.With, ast.If)))]
        scopes = [(body, item) for body in bodies for item in body if isinstance(item, ast.With) and _is_scope(source, item)]
        if len(scopes) == 1:
            body, block = scopes[0]
            at = body.index(block)
            first = next((i for i, item in enumerate(body[:at]) if makes(item)), at)
            if first == at:
                _taken_in(source, body[:at], block, lines)
                return
            self._into(source, body[first:at], block)
            return
        if scopes:
            raise NoPlace
        name = _strategy(source)
        for body in bodies:
            made = [i for i, item in enumerate(body) if makes(item)]
            compiled = [i for i, item in enumerate(body) if not isinstance(item, (ast.FunctionDef, ast.ClassDef)) and ".compile(" in source.of(item)]
            if made and compiled and made[0] <= compiled[-1]:
                self._around(source, body[made[0] : compiled[-1] + 1], name)
                return
        raise NoPlace

    def _into(self, source: Source, moved: list[ast.stmt], block: ast.With) -> None:
        start = source.start(moved[0])
        inner = source.indent(block.body[0])
        head_end = source.start(block.body[0]) - len(inner)
        lines = source.text[start : source.start(block)].rstrip().split("\n")
        head = source.text[source.start(block) : head_end]
        made = head + _indented(lines, inner, source.indent(block)) + "\n"
        source.splice([(start, head_end, made)])

    def _around(self, source: Source, body: list[ast.stmt], name: str) -> None:
        start, end = source.start(body[0]), source.end(body[-1])
        outer = source.indent(body[0])
        text = _indented(source.text[start:end].split("\n"), outer + "    ", outer)
        source.splice([(start, end, f"with {name}.scope():\n{text}")])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# around the lines that build and compile the model:"
        yield "+with strategy.scope():"

    def builder(self, run: Run, build: Any, strategy: Any) -> Any:
        return _scoped(self, run, build, strategy)


@kind
@dataclass(frozen=True)
class SetFirst(Edit):
    """The line that sets a ``keras.distribution``, with the lines that it needs, in front of the first one that makes a part of the model."""

    kind = "strategy"
    op = "set-first"

    def write(self, text: Text) -> None:
        places = [place for obj in text.objects() if (made := text.where(obj)) is not None for place in (made, *getattr(made, "outer", ()))]
        for file in dict.fromkeys(text.seen.program.aliases.get(place[0], place[0]) for place in places):
            source = text.source(file)
            lines = {line for where, line in places if text.source(where) is source}
            for body in (source.tree.body, *(item.body for item in nodes(source.tree, (ast.FunctionDef, ast.With, ast.If)))):
                if _set_first(source, body, lines):
                    text.unset = True
                    return
        raise NoPlace

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# before the lines that build the model:"
        yield "+keras.distribution.set_distribution(distribution)"

    def builder(self, run: Run, build: Any, strategy: Any) -> Any:
        return _scoped(self, run, build, strategy)


def _scoped(edit: Edit, run: Run, build: Any, strategy: Any) -> Any:
    if strategy is None:
        return build
    run.done(edit)

    def build_in_scope() -> Any:
        with strategy.scope():
            return build()

    return build_in_scope


def _taken_in(source: Source, above: list[ast.stmt], block: ast.With, lines: set[int]) -> None:
    """Moves the statements in front of a scope's block that make the model through functions into it, and leaves what the scope needs."""
    makers = _doing(source, above, lambda call: any(call.lineno <= line <= (call.end_lineno or 0) for line in lines))
    if not makers:
        raise NoPlace
    going: list[ast.stmt] = []
    needed = {name for item in block.items for name in used(ast.Expr(item.context_expr))}
    for item in reversed(above[above.index(makers[0]) :]):
        if needed & {*bound(item), *touched(item)}:
            if item in makers:
                raise NoPlace
            needed |= set(used(item))
        else:
            going.insert(0, item)
    if not all(source.first_in_line(item) for item in going):
        raise NoPlace
    inner = source.indent(block.body[0])
    at = source.start(block.body[0]) - len(inner)
    cut = [(_with_comments(source, item), min(source.line_end(item) + 1, len(source.text))) for item in going]
    texts = [source.text[start:end].rstrip("\n").split("\n") for start, end in cut]
    written = "".join(f"{_indented([text[0].lstrip(), *text[1:]], inner, source.indent(block))}\n" for text in texts)
    source.splice([*((start, end, "") for start, end in cut), (at, at, written)])


_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _set_first(source: Source, body: list[ast.stmt], lines: set[int]) -> bool:
    setters = _doing(source, body, lambda call: called(call) == "set_distribution")
    makers = _doing(source, body, lambda call: any(call.lineno <= line <= (call.end_lineno or 0) for line in lines))
    if not setters or not makers or body.index(setters[0]) <= body.index(makers[0]):
        return False
    stretch = body[body.index(makers[0]) : body.index(setters[0]) + 1]
    between, wanted = {name for item in stretch for name in bound(item)}, set(used(setters[0]))
    going, staying = [stretch.pop()], []
    for item in reversed(stretch):
        if wanted & between & {*bound(item), *touched(item)}:
            going.insert(0, item)
            wanted |= set(used(item))
        else:
            staying.append(item)
    others = {name for item in staying for name in (*bound(item), *used(item), *touched(item))}
    # What the line needs may be made of the model, or stand for something else in between.
    if any(name in others for item in going for name in bound(item)) or any(item in makers for item in going):
        raise NoPlace
    if not all(source.first_in_line(item) for item in (*going, makers[0])):
        raise NoPlace
    cut = [(_with_comments(source, item), min(source.line_end(item) + 1, len(source.text))) for item in going]
    at = source.start(makers[0]) - len(source.indent(makers[0]))
    written = "".join(source.text[start:end].rstrip("\n") + "\n" for start, end in cut)
    source.splice([(at, at, written), *((start, end, "") for start, end in cut)])
    return True


def _with_comments(source: Source, item: ast.stmt) -> int:
    start = source.start(item) - len(source.indent(item))
    while start and source.text[(above := source.text.rfind("\n", 0, start - 1) + 1) : start].lstrip().startswith("#"):
        start = above
    return start


def _doing(source: Source, body: list[ast.stmt], direct: Callable[[ast.Call], bool]) -> list[ast.stmt]:
    """The statements of a body that make a call, by themselves or by functions and classes of the source that do."""
    calls = {item: [node for node in ast.walk(item) if isinstance(node, ast.Call)] for item in nodes(source.tree, _DEFINING)}
    through = {item.name for item, inside in calls.items() if any(map(direct, inside))}
    while more := {item.name for item, inside in calls.items() if item.name not in through and any(called(one) in through for one in inside)}:
        through |= more
    return [
        item
        for item in body
        if not isinstance(item, _DEFINING) and any(isinstance(node, ast.Call) and (direct(node) or called(node) in through) for node in own(item))
    ]


def _indented(lines: list[str], new: str, old: str) -> str:
    rest = [new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines[1:]]
    return "\n".join([new + lines[0], *rest])


def _is_scope(source: Source, block: ast.With) -> bool:
    return any(source.of(item.context_expr).endswith(".scope()") for item in block.items)


def _strategy(source: Source) -> str:
    found = set()
    for node in nodes(source.tree, ast.Assign):
        if not isinstance(node.value, ast.Call):
            continue
        func = node.value.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if name.endswith("Strategy") or name == "tpu_strategy":
            found |= {item.id for item in node.targets if isinstance(item, ast.Name)}
    if len(found) != 1:
        raise NoPlace
    return found.pop()
