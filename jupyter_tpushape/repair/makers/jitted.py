"""Candidates for functions that jit compiles by themselves."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.given_names import begins
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.training import FrozenWeights
from ...rules.facts.transforms import CompiledApart, PassedAsTensor
from ..edits import Undecorated
from ..edits.expression import IT, MODULE
from ..text.source import nodes
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
