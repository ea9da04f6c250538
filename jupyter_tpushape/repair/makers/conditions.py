"""Candidates for what a compiled step cannot have: what Python decides by the value of a tensor, functions that jit compiles by themselves, and attributes that keep what it computes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from ...examine.evidence import Evidence
from ...examine.given_names import begins
from ...flow import Fact, Finding, syntax
from ...flow.syntax import called, loaded
from ...rules.facts.contracts import SymbolicQuestion
from ...rules.facts.mesh import StateLost, ValueAsked
from ...rules.facts.training import FrozenWeights
from ...rules.facts.transforms import CompiledApart, PassedAsTensor, VectorPredicate
from ...rules.words import listed
from ...trace.locations import Span, file_of
from ..edits import Edit, SeedState, StateVariables, Undecorated
from ..edits.expression import IT, MODULE
from ..text.source import given_to, nodes, parents, statement_of
from .edits import Made, of
from .line import Line, lines_at, lines_of, span_of


@of(ValueAsked, SymbolicQuestion)
def each_element(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """Functions of keras.ops for what Python decides with one value."""
    asked = fact.asked if isinstance(fact, ValueAsked) else fact.of if isinstance(fact, SymbolicQuestion) else ""
    for line in lines_of(evidence) if asked in ("bool", "truth") else ():
        tests = [item.test for item in nodes(line.scope, (ast.If, ast.IfExp, ast.While, ast.Assert))]
        found = [item for item in nodes(line.scope, _DECIDES) if _covers(item, line.raised.line) and _inside(line.raised.span, item)]
        for node in found[:1]:
            new = elementwise(node, line.source.of)
            if new is not None and new != line.source.of(node) and not any(node is one for test in tests for one in ast.walk(test)):
                yield (
                    f"Compute each element at {line.at}: {', '.join(dict.fromkeys(re.findall(r'{module}.([a-z_]+)', new)))} of keras.ops",
                    [line.edit(node, new, "keras.ops")],
                    "Python's and, or, not, max, min and chained comparisons need one value.",
                )


_DECIDES = (ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Call)
_PICKS = {"max": "maximum", "min": "minimum"}


def _inside(span: Span | None, node: ast.expr) -> bool:
    decides = (
        isinstance(node, ast.BoolOp)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
        or (isinstance(node, ast.Compare) and len(node.ops) > 1)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _PICKS and len(node.args) > 1)
    )
    if not decides or span is None:
        return decides
    first, last = (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
    return first <= (span[0], span[2]) and (span[1], span[3]) <= last


def elementwise(node: ast.expr, of: Callable[[ast.expr], str]) -> str | None:
    """An expression with functions of keras.ops for each element."""
    if isinstance(node, ast.BoolOp):
        function = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        return _nested(function, [elementwise(one, of) for one in node.values])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = elementwise(node.operand, of)
        return None if inner is None else f"{MODULE}.logical_not({inner})"
    if isinstance(node, ast.Compare):
        if any(isinstance(one, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for one in node.ops):
            return None
        if len(node.ops) == 1:
            return of(node)
        terms = [node.left, *node.comparators]
        pairs = [ast.unparse(ast.Compare(terms[i], [op], [terms[i + 1]])) for i, op in enumerate(node.ops)]
        return _nested("logical_and", [*pairs])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _PICKS and len(node.args) > 1 and not node.keywords:
        return _nested(_PICKS[node.func.id], [elementwise(one, of) for one in node.args])
    return of(node)


def _nested(function: str, parts: list[str | None]) -> str | None:
    text = parts[0]
    for part in parts[1:]:
        text = None if text is None or part is None else f"{MODULE}.{function}({text}, {part})"
    return text


@of(ValueAsked)
def unasserted(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """The program without an assertion about values."""
    for line in lines_of(evidence) if fact.asked == "assert" else []:
        for item in [one for one in nodes(line.scope, ast.Assert) if _covers(one.test, line.raised.line)][:1]:
            gone = line.removed(item)
            yield f"Remove the assertion at line {item.lineno}", [gone], "A compiled step has no values to check."


@of(ValueAsked)
def chosen(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """``where`` for a branch that depends on a tensor: both values are computed, and one is chosen."""
    if fact.asked not in ("bool", "truth"):
        return
    for line in lines_of(evidence):
        found = [item for item in nodes(line.scope, (ast.If, ast.IfExp)) if _covers(item.test, line.raised.line)]
        for branch in found[-1:]:
            of, test = line.source.of, elementwise(branch.test, line.source.of)
            if test is None:
                continue
            if isinstance(branch, ast.IfExp):
                values = f"{MODULE}.where({test}, {of(branch.body)}, {of(branch.orelse)})"
                edits: list[Edit] = [line.edit(branch, values, "keras.ops")]
            elif (new := branches(branch, test, of=of)) is not None:
                edits = [line.edit(branch, new, "keras.ops")]
            elif (then := _return_behind(line, branch)) is not None and (new := branches(branch, test, then, of)) is not None:
                gone = line.removed(then)
                edits = [line.edit(branch, new, "keras.ops"), gone]
            else:
                continue
            yield (f"Choose with where at line {branch.lineno}", edits, "Both values are computed, and the condition chooses between them.")
            return


def _covers(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _return_behind(line: Line, branch: ast.If) -> ast.Return | None:
    block = getattr(parents(line.source.tree).get(branch), "body", [])
    then = block[block.index(branch) + 1 :][:1] if branch in block and not branch.orelse else []
    return then[0] if then and isinstance(then[0], ast.Return) else None


def branches(branch: ast.If, test: str, then: ast.Return | None = None, of: Callable[[ast.expr], str] = ast.unparse) -> str | None:
    """An ``if`` as one assignment or one return, of which ``then`` may be the other half."""
    first = branch.body[0] if len(branch.body) == 1 else None
    second = branch.orelse[0] if len(branch.orelse) == 1 else then
    if isinstance(first, ast.Return) and isinstance(second, ast.Return) and first.value and second.value:
        return f"return {MODULE}.where({test}, {of(first.value)}, {of(second.value)})"
    one, other = (_assigned(item, of) for item in (first, second))
    if one is None or (branch.orelse and (other is None or other[0] != one[0])):
        return None
    return f"{one[0]} = {MODULE}.where({test}, {one[1]}, {other[1] if other is not None else one[0]})"


def _assigned(item: ast.stmt | None, of: Callable[[ast.expr], str]) -> tuple[str, str] | None:
    if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
        return item.targets[0].id, of(item.value)
    if isinstance(item, ast.AugAssign) and isinstance(item.target, ast.Name):
        return item.target.id, ast.unparse(ast.BinOp(item.target, item.op, item.value))
    return None


@of(VectorPredicate)
def for_each_sample(evidence: Evidence, finding: Finding, fact: VectorPredicate) -> Made:
    """``where`` in place of ``cond``: what both functions give, and a choice for each sample."""
    for line in lines_of(evidence)[:1]:
        call = line.call("cond")
        if call is None or call.keywords or len(call.args) < 3:
            continue
        test, first, second, *given = call.args
        texts = [_applied(one, given) for one in (first, second)]
        ranks = [len(shape) for name, shape in line.shape_of_names().items() if any(name == ast.unparse(one) for one in given)]
        ranks = ranks or [len(one.spec.shape) for one in evidence.given if one.spec.shape is not None]
        more = max(ranks, default=len(fact.shape)) - len(fact.shape)
        if None in texts or more < 0:
            continue
        condition = line.source.of(test)
        if more:
            condition = (
                f"{condition if isinstance(test, (ast.Name, ast.Attribute)) else f'({condition})'}[{', '.join([':'] * len(fact.shape) + ['None'] * more)}]"
            )
        yield (
            f"Choose for each sample with where at {line.at}",
            [line.edit(call, f"{MODULE}.where({condition}, {texts[0]}, {texts[1]})", "keras.ops")],
            "Both values are computed, and the condition of each sample chooses between them.",
        )


def _applied(function: ast.expr, given: list[ast.expr]) -> str | None:
    if not isinstance(function, ast.Lambda):
        return f"{ast.unparse(function)}({', '.join(map(ast.unparse, given))})"
    names = [item.arg for item in function.args.args]
    if len(names) != len(given) or function.args.vararg or function.args.kwonlyargs or function.args.kwarg:
        return None
    known = dict(zip(names, given, strict=True))

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return known.get(node.id, node)

    return ast.unparse(Put().visit(syntax.parse(ast.unparse(function.body), mode="eval")))


@of(CompiledApart)
def static_or_plain(evidence: Evidence, finding: Finding, fact: CompiledApart) -> Made:
    """The argument static, or the function without a jit of its own."""
    for line in lines_of(evidence)[:1]:
        for function in nodes(line.source.tree, ast.FunctionDef):
            if function.name != fact.function:
                continue
            for decorator in function.decorator_list:
                plain = ast.unparse(decorator).rpartition(".")[2] == "jit"
                if plain and not fact.method and fact.parameter in [item.arg for item in function.args.args]:
                    yield (
                        f"Declare {fact.parameter} as static at line {decorator.lineno}",
                        [line.edit(decorator, f'{MODULE}.partial({ast.unparse(decorator)}, static_argnames="{fact.parameter}")', "functools")],
                        "The function is compiled once for each of its values.",
                    )
                if plain or (isinstance(decorator, ast.Call) and "jit" in (called(decorator), *map(_last, decorator.args))):
                    yield (
                        f"Remove @{ast.unparse(decorator)} at line {decorator.lineno}",
                        [Undecorated(line.raised.function, line.raised.file, span_of(decorator), ast.unparse(decorator))],
                        "fit compiles the whole step, this function included.",
                    )


@of(FrozenWeights)
def plain_method(evidence: Evidence, finding: Finding, fact: FrozenWeights) -> Made:
    """The method without its ``tf.function``."""
    for line in lines_at(evidence, finding.location)[:1]:
        for function in (one for one in nodes(line.source.tree, ast.FunctionDef) if one.name == fact.function):
            for decorator in function.decorator_list:
                if _last(decorator.func if isinstance(decorator, ast.Call) else decorator) == "function" and begins(function) <= line.raised.line <= (
                    function.end_lineno or 0
                ):
                    yield (
                        f"Remove @{ast.unparse(decorator)} at line {decorator.lineno}",
                        [Undecorated(line.raised.function, line.raised.file, span_of(decorator), ast.unparse(decorator))],
                        "fit compiles the whole step, this method included.",
                    )


@of(PassedAsTensor)
def static_argument(evidence: Evidence, finding: Finding, fact: PassedAsTensor) -> Made:
    """The argument static, where the function is handed over."""
    for line in lines_at(evidence, finding.location)[:1]:
        for call in nodes(line.scope, ast.Call):
            made = call.func
            if isinstance(made, ast.Call) and called(made) == fact.transform and len(made.args) == 1 and not made.keywords:
                yield (
                    f"Declare {fact.parameter} as static at line {made.lineno}: static_argnums=({fact.place},)",
                    [line.edit(made.args[0], f"{IT}, static_argnums=({fact.place},)")],
                    f"{fact.function} then receives its value in Python.",
                )


def _last(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


_VARIABLES = ("add_weight", "add_variable", "Variable")


@of(StateLost)
def in_variables(evidence: Evidence, finding: Finding, fact: StateLost) -> Made:
    """All that the object keeps so in variables of its own."""
    file = _file(evidence, finding)
    if fact.random or fact.inner or fact.outside or fact.holder == "loss" or finding.location is None or not file:
        return
    held = [one[1] for one in evidence.facts.get("kept", ()) if one[0] == fact.owner and not one[2] and not one[4]]
    names = list(dict.fromkeys(held))
    yield (
        f"Keep {listed(tuple(f'self.{name}' for name in names))} in {'a variable' if len(names) == 1 else 'variables'}",
        [StateVariables(fact.owner, file=file, line=finding.location.line, attributes=names, metric=fact.holder == "metric")],
        "Variables are part of the state that each step receives and returns.",
    )


@of(StateLost)
def in_seed(evidence: Evidence, finding: Finding, fact: StateLost) -> Made:
    """A seed generator for a random key."""
    file = _file(evidence, finding)
    if fact.random and not (fact.inner or fact.outside) and finding.location is not None and file:
        yield (
            f"Replace the key in self.{fact.attribute} with a SeedGenerator",
            [SeedState(fact.owner, file=file, line=finding.location.line, attribute=fact.attribute)],
            "Its state is a variable, so every step draws new numbers.",
        )


@of(StateLost)
def local(evidence: Evidence, finding: Finding, fact: StateLost) -> Made:
    """A name of the method's own for a value that is computed from a variable and given to the variable's attribute."""
    for line in lines_at(evidence, finding.location)[: 0 if fact.outside else 1]:
        owner = line.owner()
        makers = [item for item in getattr(owner, "body", ()) if isinstance(item, ast.FunctionDef) and item.name in ("__init__", "build")]
        mine = [item for item in nodes(line.scope, ast.Attribute) if item.attr == fact.attribute and isinstance(item.value, ast.Name)]
        stored = [item for item in mine if isinstance(item.ctx, ast.Store)]
        made = [value for maker in makers for item in stored[:1] for value in given_to(maker, item)]
        if len(stored) != 1 or not made or not all(called(value) in _VARIABLES for value in made) or not isinstance(line.scope, ast.FunctionDef):
            continue
        above = parents(line.source.tree)
        statement = statement_of(above, stored[0])
        if not isinstance(statement, ast.Assign) or above[statement] is not line.scope or statement.targets != stored:
            continue
        taken = {item.id for item in nodes(line.scope, ast.Name)} | {item.arg for item in line.scope.args.args}
        name = next(one for one in (fact.attribute, f"{fact.attribute}_now", f"new_{fact.attribute}") if one not in taken)
        later = [item for item in mine if item.lineno > (statement.end_lineno or 0)]
        yield (
            f"Use a local variable at line {statement.lineno}: {name}",
            [line.edit(item, name) for item in (*stored, *later)],
            f"self.{fact.attribute} stays the variable that the optimizer trains.",
        )


def _file(evidence: Evidence, finding: Finding) -> str:
    file = file_of(finding.location) if finding.location is not None else ""
    return str(evidence.facts.get("aliases", {}).get(file, file))


@of(StateLost)
def drawn_before(evidence: Evidence, finding: Finding, fact: StateLost) -> Made:
    """Random numbers of a branch drawn in front of the line that chooses it."""
    for line in lines_at(evidence, finding.location) if fact.inner else ():
        draw = line.node
        if not isinstance(draw, ast.Call) or line.keyword("seed") is None or not isinstance(line.scope, (ast.Lambda, ast.FunctionDef)):
            continue
        own = {item.arg for item in line.scope.args.args}
        above = parents(line.source.tree)
        outer = statement_of(above, line.scope)
        taken = {item.id for item in nodes(line.source.tree, ast.Name)}
        name = next(one for one in ("drawn", "drawn_numbers", "numbers_drawn") if one not in taken)
        calls = [one for one in nodes(line.source.tree, ast.Call) if called(one) in ("cond", "switch")]
        given = [each for one in calls for item in one.args for each in (item, *getattr(item, "elts", ()))]
        # A loop would draw the same numbers in each step.
        if not any(one is line.scope or (isinstance(one, ast.Name) and one.id == getattr(line.scope, "name", "")) for one in given):
            continue
        if own & loaded(draw) or isinstance(above.get(outer), (ast.ClassDef, ast.Module)):
            continue
        yield (
            f"Move the draw of the random numbers before the branch, at line {outer.lineno}",
            [line.before(outer, f"{name} = {line.source.of(draw)}"), line.edit(draw, name)],
            "The seed then changes in the step itself.",
        )
        return
