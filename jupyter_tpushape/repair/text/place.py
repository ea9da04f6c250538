"""The expression in the text that gives the data: what a data function returns, or the arguments of ``fit``; and the changes in it."""

from __future__ import annotations

import ast
import contextlib
from types import SimpleNamespace
from typing import Any

from ...examine.handed_data import TRACING, batches
from ...flow.syntax import called
from ...trace.aftermath import FITTING
from ...trace.locations import Span
from .arguments import Change
from .names import Names
from .program import Text
from .source import NoPlace, Source, enclosing, nodes, parents


class Place:
    """The data's expression in the text, where one role (``x``, ``y``, ``weight``) of it is changed."""

    def __init__(self, text: Text, role: str = "x") -> None:
        seen = text.seen
        self.text, self.role, self.sample = text, role, seen.sample
        self.dataset = getattr(self.sample, "kind", "") == "dataset"
        self.parts = 3 if getattr(self.sample, "weight", None) is not None else 2 if getattr(self.sample, "y", None) is not None else 1
        self.changes: list[Change] = []
        found, self.call = self._found()
        self.values = [self._alone(value) for value in found]
        self.above = parents(self.source.tree)

    source: Source
    names: Names

    # -- where -------------------------------------------------------------------------------------

    def _found(self) -> tuple[list[ast.expr], ast.Call | None]:
        """The expressions that the data function returns, or those of each batch, or the call that the data is handed to."""
        program = self.text.seen.program
        each = batches(self.text.seen.data)
        if each is not None:
            self.source, self.scope = self.text.definition(SimpleNamespace(__code__=each))
            self.names, above = self.text.names(self.source.file), parents(self.source.tree)
            given = [node for node in nodes(self.scope, (ast.Return, ast.Yield)) if enclosing(above, node) is self.scope]
            return [node.value for node in given if node.value is not None], None
        function = getattr(program.data, "func", program.data)
        if getattr(function, "__code__", None) is not None:
            self.source, scope = self.text.definition(function)
            self.names = self.text.names(self.source.file)
            self.scope = scope
            if isinstance(scope, ast.Lambda):
                return [scope.body], None
            above = parents(self.source.tree)
            return [node.value for node in nodes(scope, ast.Return) if enclosing(above, node) is scope and node.value is not None], None
        if program.handed is None or (callable(program.data) and not hasattr(program.data, "element_spec") and not hasattr(program.data, "shape")):
            raise NoPlace
        call = self._call(program.handed)
        self.scope = enclosing(parents(self.source.tree), call)
        return [], call

    def _call(self, where: Any) -> ast.Call:
        self.source = self.text.source(where[0])
        self.names = self.text.names(where[0])
        if getattr(where, "span", None) is not None:
            with contextlib.suppress(NoPlace):
                return self._in_order(where.span)
        every: list[ast.Call] = [
            call
            for call in nodes(self.source.tree, ast.Call)
            if called(call) in FITTING | TRACING and call.lineno <= where[1] <= (call.end_lineno or call.lineno)
        ]
        if len(every) != 1:
            raise NoPlace
        return every[0]

    def _in_order(self, span: Span) -> ast.Call:
        before = Source(self.source.file, self.source.original)
        ran = before.call_at(span)
        old, new = ([call for call in nodes(tree, ast.Call) if called(call) in FITTING | TRACING] for tree in (before.tree, self.source.tree))
        if ran not in old or len(old) != len(new):
            raise NoPlace
        found: ast.Call = new[old.index(ran)]
        return found

    def named(self, name: str) -> list[ast.expr]:
        """What is assigned to a name in this scope."""
        return [
            node.value
            for node in nodes(self.scope, ast.Assign)
            if enclosing(self.above, node) is self.scope and any(isinstance(item, ast.Name) and item.id == name for item in node.targets)
        ]

    def resolved(self, value: ast.expr) -> ast.expr:
        """The expression that stands under a name, where it is given once."""
        if isinstance(value, ast.Name):
            found = self.named(value.id)
            if len(found) == 1:
                return found[0]
        return value

    def _alone(self, value: ast.expr) -> ast.expr:
        """A pipeline that a function returns as fit's only argument, ``(ds,)``: the pipeline itself."""
        alone = self.dataset and isinstance(value, ast.Tuple) and len(value.elts) == 1
        return value.elts[0] if alone else value  # type: ignore[attr-defined]

    # -- changes -----------------------------------------------------------------------------------

    def replace(self, node: ast.AST, new: str) -> None:
        self.changes.append(self.source.change(node, new))

    def finish(self) -> None:
        """Makes the changes, and sees to it that ``np`` and ``tf`` mean what they say."""
        if not self.changes:
            raise NoPlace
        unique = list(dict.fromkeys(self.changes))
        imports = []
        for short, module in (("np", "numpy"), ("tf", "tensorflow")):
            if any(f"{short}." in new for _, _, new in unique):
                import sys

                found = sys.modules.get(module)
                if found is None:
                    raise NoPlace
                name, more = self.names.spell(found, self.values[0] if self.values else self.call or self.source.tree)
                if name != short:
                    unique = [(start, end, _renamed(new, short, name)) for start, end, new in unique]
                imports += more
        self.source.splice([*imports, *unique])


def _renamed(text: str, short: str, name: str) -> str:
    import re

    return re.sub(rf"(?<![\w.]){short}\.", f"{name}.", text)
