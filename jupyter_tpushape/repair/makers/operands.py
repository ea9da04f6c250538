"""Candidates at the operands of the line that raised: the letters of an einsum, a tensor made with another one's shape, a variable as a tensor."""

from __future__ import annotations

import ast
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...rules.facts.mesh import VariableGiven
from ..edits.expression import IT, MODULE
from ..text.source import nodes
from .edits import Made
from .line import Line, called, lines_of, short


def letters(evidence: Evidence, finding: Finding) -> Made:
    """The letters of one operand of an einsum in the order that its sizes say."""
    for line in lines_of(evidence):
        call = line.node
        text = call.args[0] if isinstance(call, ast.Call) and called(call) == "einsum" and call.args else None
        if not isinstance(text, ast.Constant) or not isinstance(text.value, str) or "." in text.value:
            continue
        parts = text.value.replace(" ", "").partition("->")
        terms = parts[0].split(",")
        shapes = [spec.shape if (spec := line.spec(node)) is not None else None for node in line.operands()[1:]]
        if len(shapes) != len(terms):
            continue
        for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
            new = _ordered(term, shape, _known(terms, shapes, i))
            if new is None or new == term:
                continue
            written = ",".join([*terms[:i], new, *terms[i + 1 :]]) + "".join(parts[1:])
            node = line.operands()[i + 1]
            yield (
                f'Write "{new}" for "{term}", the axes of {short(node)}, at {line.at}',
                [line.edit(text, repr(written).replace("'", '"')).value],
                f"{short(node)} has its axes in that order",
            )


def _known(terms: list[str], shapes: list[Shape | None], but: int) -> dict[str, int | None]:
    """The size of each letter, by all operands but one; empty where they differ among themselves."""
    known: dict[str, int | None] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        if i == but or shape is None or len(shape) != len(term):
            continue
        for letter, size in zip(term, shape, strict=True):
            if known.setdefault(letter, size) != size:
                return {}
    return known


def _ordered(term: str, shape: Shape | None, known: dict[str, int | None]) -> str | None:
    """The one order of the letters with which the sizes that are known elsewhere agree."""
    if shape is None or len(shape) != len(term) or len(set(term)) != len(term) or not 1 < len(term) < 7:
        return None
    fits = [
        "".join(order)
        for order in itertools.permutations(term)
        if all(letter not in known or known[letter] == size for letter, size in zip(order, shape, strict=True))
    ]
    return fits[0] if len(fits) == 1 else None


_MAKES = frozenset({"normal", "uniform", "truncated_normal", "zeros", "ones"})


def shape_of_other(evidence: Evidence, finding: Finding) -> Made:
    """Random numbers, zeros or ones made with the shape of the tensor that they meet."""
    for line in lines_of(evidence):
        operands = [(node, spec.shape) for node in line.operands() if (spec := line.spec(node)) is not None and spec.shape]
        for (node, few), (other, many) in itertools.permutations(operands, 2):
            names = [item for item in nodes(other, ast.Name) if (spec := line.specs.get(item.id)) is not None and spec.shape == many]
            shape = _shape_given(line, node)
            if shape is None or not names or len(few) >= len(many) or many[: len(few)] != few or len(shape.elts) != len(few):
                continue
            yield (
                f"Make {short(node)} in the shape of {names[0].id} at line {shape.lineno}",
                [line.edit(shape, f"{MODULE}.shape({names[0].id})", "keras.ops").value],
                f"each number of {names[0].id} then has one of its own",
            )


def _shape_given(line: Line, node: ast.expr) -> ast.Tuple | ast.List | None:
    """The shape that a name was made with, in the function that raised."""
    if not isinstance(node, ast.Name):
        return None
    for item in nodes(line.scope, ast.Assign):
        made = item.value
        if [ast.unparse(target) for target in item.targets] != [node.id] or not isinstance(made, ast.Call) or called(made) not in _MAKES:
            continue
        given = next((word.value for word in made.keywords if word.arg == "shape"), made.args[0] if made.args else None)
        return given if isinstance(given, (ast.Tuple, ast.List)) else None
    return None


def variables(evidence: Evidence, finding: Finding) -> Made:
    """A variable of Keras as a tensor, wherever the function hands it to one of JAX's or asks it for what a tensor has."""
    fact = finding.fact
    if not isinstance(fact, VariableGiven):
        return
    for line in lines_of(evidence):
        used = [node for node in nodes(line.scope, (ast.Attribute, ast.Name)) if ast.unparse(node) in fact.names and _is_read(line, node)]
        if used:
            names = ", ".join(dict.fromkeys(ast.unparse(node) for node in used))
            yield (
                f"Read {names} as a tensor: keras.ops.convert_to_tensor({next(iter(fact.names))})",
                [line.edit(node, f"{MODULE}.convert_to_tensor({IT})", "keras.ops").value for node in used],
                "functions of JAX take arrays, and a variable of Keras is none",
            )


def _is_read(line: Line, node: ast.expr) -> bool:
    """Whether a variable is an argument of a function of JAX's, or is asked for an attribute that variables have not."""
    for call in nodes(line.scope, ast.Call):
        root = ast.unparse(call.func).split(".")[0]
        given = [*call.args, *(word.value for word in call.keywords)]
        if root in ("jnp", "jax", "lax", "nn", "np") and any(node is item for item in given):
            return True
    owners = [
        item.value for item in nodes(line.scope, ast.Attribute) if item.attr in ("T", "at", "reshape", "astype", "sum", "mean", "transpose")
    ]
    return any(node is owner for owner in owners)
