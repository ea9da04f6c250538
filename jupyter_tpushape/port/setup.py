"""The program's TPU setup: found as whole statements, and rewritten as a distribution."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..flow.syntax import targets_of
from ..repair.text.source import Source, nodes
from .context import Context
from .names import SETUP, STRATEGIES

_COMPOUND = (ast.Try, ast.If)


class Setup:
    """The statements of a program that find a TPU, connect to it and make its strategy."""

    def __init__(self, source: Source, context: Context) -> None:
        self._source, self._context = source, context
        self.resolvers = set(self._targets(lambda chain: chain.startswith(SETUP[0])))
        self.strategies = set(self._targets(self._is_strategy))
        #: Functions that give a strategy, and their results.
        self.givers = {
            made.name for made in context.functions.values()
            if any(one.value is not None and (self._makes(one.value) or (isinstance(one.value, ast.Name) and one.value.id in self.strategies))
                   for one in nodes(made, ast.Return))
        }  # fmt: skip
        for node in nodes(context.tree, ast.Assign):
            if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id in self.givers:
                self.strategies |= {one.id for target in node.targets for one in nodes(target, ast.Name)}
        self.statements = list(self._outermost(context.tree.body))
        for made in nodes(context.tree, (ast.FunctionDef, ast.ClassDef)):
            self.statements += self._outermost(made.body)
        inside = {id(child) for one in self.statements for child in ast.walk(one)}
        self.nodes = inside

    @property
    def found(self) -> bool:
        """Whether the program uses a strategy at all."""
        return bool(self.statements or self.strategies)

    def changes(self, keras: str) -> Iterator[tuple[int, int, str]]:
        """Splices that write the distribution in place of each."""
        for statement in self.statements:
            yield self._change(statement, keras)
        for statement in nodes(self._context.tree, ast.With):
            for item in statement.items:
                made = self._scope_of_new(item.context_expr)
                if made is not None:
                    indent = self._source.indent(statement)
                    at = self._source.start(statement)
                    yield (at, at, f"distribution = {keras}.distribution.DataParallel()\n{indent}{keras}.distribution.set_distribution(distribution)\n{indent}")
                    yield self._source.change(made, "distribution")
                    self.nodes |= {id(child) for child in ast.walk(made)}

    def _scope_of_new(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "scope" and self._makes(node.func.value):
            return node.func.value
        return None

    def _change(self, statement: ast.stmt, keras: str) -> tuple[int, int, str]:
        source, indent = self._source, self._source.indent(statement)
        made = list(self._made(statement))
        if not made:
            return self._without(statement)
        names = [name for _, targets in made for name in targets]
        returned = any(isinstance(one, ast.Return) for one, _ in made)
        name = names[0] if names else "strategy"
        lines = [f"{name} = {keras}.distribution.DataParallel()", f"{keras}.distribution.set_distribution({name})"]
        if returned:
            lines.append(f"return {name}")
        return source.change(statement, f"\n{indent}".join(lines))

    def _without(self, statement: ast.stmt) -> tuple[int, int, str]:
        source = self._source
        body = next(
            (block for block in ast.walk(self._context.above[statement]) for name in ("body", "orelse", "finalbody")
             if statement in (getattr(block, name, None) or [])), None,
        )  # fmt: skip
        siblings = next(getattr(body, name) for name in ("body", "orelse", "finalbody") if statement in (getattr(body, name, None) or []))
        start, end = source.start(statement), source.end(statement)
        if all(one in self.statements and not list(self._made(one)) for one in siblings) and not isinstance(body, ast.Module) and one_of(siblings, statement):
            return start, end, "pass"
        first = source.text.rfind("\n", 0, start) + 1
        last = source.text.find("\n", end)
        if source.text[first:start].strip() or source.text[end : last if last >= 0 else None].partition("#")[0].strip():
            return start, end, "pass"
        return first, last + 1 if last >= 0 else len(source.text), ""

    def _outermost(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            if self._whole(statement):
                yield statement
            elif not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                for name in ("body", "orelse", "finalbody"):
                    yield from self._outermost(getattr(statement, name, None) or [])
                for handler in getattr(statement, "handlers", []):
                    yield from self._outermost(handler.body)

    def _whole(self, statement: ast.stmt) -> bool:
        if isinstance(statement, _COMPOUND):
            inner = [one for name in ("body", "orelse", "finalbody") for one in getattr(statement, name, None) or []]
            inner += [one for handler in getattr(statement, "handlers", []) for one in handler.body]
            return any(self._whole(one) for one in inner) and all(self._whole(one) or self._idle(one) for one in inner)
        return isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)) and statement.value is not None and self._sets_up(statement)

    def _sets_up(self, statement: ast.Assign | ast.AnnAssign | ast.Expr | ast.Return) -> bool:
        value = statement.value
        if isinstance(value, ast.Call):
            name = self._context.dotted(value.func)
            if any(name == one or name.startswith(f"{one}.") for one in SETUP) or self._is_strategy(name):
                return True
            # What it prints of the resolver goes with it.
            return isinstance(statement, ast.Expr) and any(one.id in self.resolvers for one in nodes(value, ast.Name)) and not self._of_strategy(value)
        return False

    def _of_strategy(self, value: ast.AST) -> bool:
        return any(one.id in self.strategies for one in nodes(value, ast.Name))

    def _idle(self, statement: ast.stmt) -> bool:
        """A line beside the set-up that is of no other use: ``pass``, ``tpu = None``, ``raise``, a line that is printed."""
        if isinstance(statement, (ast.Pass, ast.Raise)):
            return True
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            return all(isinstance(one, ast.Name) and one.id in self.resolvers | self.strategies for one in statement.targets)
        return (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Call)
            and isinstance(statement.value.func, ast.Name)
            and statement.value.func.id == "print"
        )

    def _makes(self, value: ast.AST) -> bool:
        return isinstance(value, ast.Call) and self._is_strategy(self._context.dotted(value.func))

    def _is_strategy(self, chain: str) -> bool:
        return chain in STRATEGIES

    def _made(self, statement: ast.stmt) -> Iterator[tuple[ast.stmt, list[str]]]:
        for one in nodes(statement, (ast.Assign, ast.AnnAssign, ast.Return)):
            if one.value is not None and self._makes(one.value):
                yield one, [ast.unparse(target) for target in targets_of(one)]

    def _targets(self, fits: object) -> Iterator[str]:
        for node in nodes(self._context.tree, (ast.Assign, ast.AnnAssign)):
            if isinstance(node.value, ast.Call) and fits(self._context.dotted(node.value.func)):  # type: ignore[operator]
                for target in targets_of(node):
                    if isinstance(target, ast.Name):
                        yield target.id


def one_of(siblings: list[ast.stmt], statement: ast.stmt) -> bool:
    """Whether a statement is the last of those that leave their block, which then needs one in their place."""
    return siblings[-1] is statement
