"""Candidates for what a compiled step cannot have: functions that jit compiles by themselves, and attributes that keep what it computes."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.given_names import begins
from ...flow import Finding
from ...flow.syntax import called, loaded
from ...rules.facts.mesh import StateLost
from ...rules.facts.training import FrozenWeights
from ...rules.facts.transforms import CompiledApart, PassedAsTensor
from ...rules.words import listed
from ...trace.locations import file_of
from ..edits import SeedState, StateVariables, Undecorated
from ..edits.expression import IT, MODULE
from ..text.source import given_to, nodes, parents, statement_of
from .edits import Made, of
from .line import lines_at, lines_of, span_of


@of(CompiledApart)
def static_or_plain(evidence: Evidence, finding: Finding, fact: CompiledApart) -> Made:
    """The argument static, or the function without a jit of its own, which fit compiles with the step."""
    for line in lines_of(evidence)[:1]:
        for function in nodes(line.source.tree, ast.FunctionDef):
            if function.name != fact.function:
                continue
            for decorator in function.decorator_list:
                plain = ast.unparse(decorator).rpartition(".")[2] == "jit"
                if plain and not fact.method and fact.parameter in [item.arg for item in function.args.args]:
                    yield (
                        f"Declare {fact.parameter} as static at line {decorator.lineno}",
                        [
                            line.edit(
                                decorator, f'{MODULE}.partial({ast.unparse(decorator)}, static_argnames="{fact.parameter}")', "functools"
                            )
                        ],
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
                if _last(decorator.func if isinstance(decorator, ast.Call) else decorator) == "function" and begins(
                    function
                ) <= line.raised.line <= (function.end_lineno or 0):
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
    """All that the object keeps so in variables of its own; a loss has none."""
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
        if (
            len(stored) != 1
            or not made
            or not all(called(value) in _VARIABLES for value in made)
            or not isinstance(line.scope, ast.FunctionDef)
        ):
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
    """The file of the line as it was written; a changed text runs under a name of its own."""
    file = file_of(finding.location) if finding.location is not None else ""
    return str(evidence.facts.get("aliases", {}).get(file, file))


@of(StateLost)
def drawn_before(evidence: Evidence, finding: Finding, fact: StateLost) -> Made:
    """Random numbers of a branch drawn in front of the line that chooses it, so that their seed changes in the step itself."""
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
            [
                line.before(outer, f"{name} = {line.source.of(draw)}"),
                line.edit(draw, name),
            ],
            "The seed then changes in the step itself.",
        )
        return
