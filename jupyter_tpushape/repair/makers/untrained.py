"""Candidates for weights that no gradient reaches: a random start for one factor, and the probability of a choice as a factor of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...flow.syntax import called
from ...rules.facts.untrained import NeverTrained, SumOfShares, ZeroProduct
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of
from .line import Line, assigned_to, lines_at

# The initializer of the first factor of Keras's own low-rank adapters.
_RANDOM = '"he_uniform"'
_ZEROS = ("'zeros'", "'zero'", "'Zeros'")


@of(ZeroProduct)
def random_factor(evidence: Evidence, finding: Finding, fact: ZeroProduct) -> Made:
    """Random values for the first of the factors that the class creates; the product is zero at first, as it was."""
    for line in lines_at(evidence, finding.location)[:1]:
        for attribute, initializer in list(_made(line, fact.weights))[:1] if len(fact.weights) > 1 else ():
            yield (
                f"Initialize {attribute} with he_uniform at line {initializer.lineno}",
                [line.edit(initializer, _RANDOM)],
                "The product still starts at zero, and the other factor gets a gradient.",
            )


def _made(line: Line, names: tuple[str, ...]) -> Iterator[tuple[str, ast.expr]]:
    """The weights of these names that the class around a line creates as zeros: the attribute, and the expression of the initializer."""
    for item in nodes(line.owner(), ast.Assign):
        call, attribute = item.value, ast.unparse(item.targets[0])
        if isinstance(call, ast.Call) and called(call) == "add_weight":
            name, initializer = argument(call, "name", []), argument(call, "initializer", ["shape", "initializer"])
            known = name.value if isinstance(name, ast.Constant) else attribute.removeprefix("self.")
            if initializer is not None and known in names and ast.unparse(initializer) in _ZEROS:
                yield attribute, initializer


@of(NeverTrained)
def by_probability(evidence: Evidence, finding: Finding, fact: NeverTrained) -> Made:
    """A one-hot choice times the probabilities that it is chosen from, so that what was chosen depends on them."""
    for line in lines_at(evidence, finding.location)[:1] if fact.step.op == "Argmax" else ():
        for call in nodes(line.scope, ast.Call):
            chosen = assigned_to(line, call.args[0]) if call.args and isinstance(call.args[0], ast.Name) else next(iter(call.args), None)
            if called(call) != "one_hot" or not isinstance(chosen, ast.Call) or called(chosen) != "argmax" or not chosen.args:
                continue
            scores, axis = chosen.args[0], argument(chosen, "axis", ["x", "axis"])
            made = assigned_to(line, scores) if isinstance(scores, ast.Name) else scores
            inside = called(chosen) == "argmax" and chosen.lineno <= line.raised.line <= (chosen.end_lineno or 0)
            if inside and isinstance(made, ast.Call) and called(made) == "softmax" and axis is not None and ast.unparse(axis) == "-1":
                yield (
                    f"Scale {called(call)} by {ast.unparse(scores)} at line {call.lineno}",
                    [line.edit(call, f"{line.source.of(call)} * {line.source.of(scores)}")],
                    "What is chosen is then weighted by its probability, which gets a gradient.",
                )


@of(SumOfShares)
def summed_with_values(evidence: Evidence, finding: Finding, fact: SumOfShares) -> Made:
    """The letters of an einsum, so that what is weighted is summed along the axis of the weights."""
    shapes = [edge.spec.shape or () for edge in evidence.flow.edges if edge.target == finding.nodes[-1]]
    for line in lines_at(evidence, finding.location)[:1]:
        for call in nodes(line.scope, ast.Call):
            text = call.args[0] if called(call) == "einsum" and call.lineno == line.raised.line and len(call.args) == 3 else None
            if not isinstance(text, ast.Constant) or not isinstance(text.value, str) or "." in text.value:
                continue
            left, _, gives = text.value.replace(" ", "").partition("->")
            terms = left.split(",")
            said = dict.fromkeys(_with_letter(terms, gives, shapes))
            if len(said) == 1:
                new = f"{','.join(next(iter(said)))}->{gives}"
                yield (
                    f'Sum the values along the axis of the weights at line {call.lineno}: "{new}"',
                    [line.edit(text, f'"{new}"')],
                    "Each result is then the weighted mean of the values.",
                )


def _with_letter(terms: list[str], gives: str, shapes: list[Shape]) -> Iterator[tuple[str, ...]]:
    """The terms with a letter that only one of them has in the other's as well, instead of one for an axis of that size."""
    if len(terms) != 2 or sorted(map(len, terms)) != sorted(map(len, shapes)):
        return
    for i, (term, other) in enumerate((terms, terms[::-1])):
        sizes = next((dict(zip(term, shape, strict=True)) for shape in shapes if len(shape) == len(term)), {})
        for letter in set(term) - set(other) - set(gives):
            for old in [one for one in other[1:] if one in term and one in gives and sizes.get(one) == sizes.get(letter)]:
                made = (term, other.replace(old, letter))
                yield made if i == 0 else made[::-1]
