"""Everything that makes variables, inside the strategy's scope."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
                raise NoPlace
            self._into(source, body[first:at], block)
            return
        if scopes:
            raise NoPlace
        name = _strategy(source)
        for body in bodies:
            made = [i for i, item in enumerate(body) if makes(item)]
            compiled = [
                i for i, item in enumerate(body) if not isinstance(item, (ast.FunctionDef, ast.ClassDef)) and ".compile(" in source.of(item)
            ]
            if made and compiled and made[0] <= compiled[-1]:
                self._around(source, body[made[0] : compiled[-1] + 1], name)
                return
        raise NoPlace

    def _into(self, source: Source, moved: list[ast.stmt], block: ast.With) -> None:
        """Statements above a scope's block moved into it."""
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
        if strategy is None:
            return build
        run.done(self)

        def build_in_scope() -> Any:
            with strategy.scope():
                return build()

        return build_in_scope


def _indented(lines: list[str], new: str, old: str) -> str:
    """Lines one step further in; the first one begins at its text."""
    rest = [new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines[1:]]
    return "\n".join([new + lines[0], *rest])


def _is_scope(source: Source, block: ast.With) -> bool:
    return any(source.of(item.context_expr).endswith(".scope()") for item in block.items)


def _strategy(source: Source) -> str:
    """The one name that a strategy is given."""
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
