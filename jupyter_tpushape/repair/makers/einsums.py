"""Candidates for the letters of an einsum."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

import numpy as np

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lone import LoneAxis
from ...rules.moved import turned_around
from ..text.source import nodes
from .edits import Made, of
from .line import Line, assigned_to, lines_at, lines_of, short


def letters(evidence: Evidence, finding: Finding) -> Made:
    """The letters of one operand of an einsum in the order that its sizes say."""
    for line in lines_of(evidence):
        call = line.node
        text = call.args[0] if isinstance(call, ast.Call) and called(call) == "einsum" and call.args else None
        if not isinstance(text, ast.Constant) or not isinstance(text.value, str) or "." in text.value:
            continue
        parts = text.value.replace(" ", "").partition("->")
        terms = parts[0].split(",")
        shapes = [_shape_of(line, node) for node in line.operands()[1:]]
        if len(shapes) != len(terms):
            continue
        yield from _exchanged(line, terms, shapes)
        for term, shape, node in zip(terms, shapes, line.operands()[1:], strict=True):
            ones = [at for at, size in enumerate(shape or ()) if at and size == 1]
            if len(ones) == 1 and len(shape or ()) == len(term) + 1:
                yield f"Squeeze axis {ones[0]} of {short(node)} at {line.at}", [line.apply(node, "squeeze", ones[0])], f'"{term}" names its other axes.'
        batch = [min(one.grows) if one.grows else 9 for one in evidence.given]
        batch = batch if len(batch) == len(terms) and parts[2] else []
        said = [
            new
            for i in range(len(terms))
            for new in (
                *_other_letter(terms, shapes, i, parts[2]),
                *_without_batch(terms, shapes, i),
                *_with_batch(terms, shapes, i, parts[2]),
                *_with_summed(terms, shapes, i, parts[2]),
            )
            # The samples keep the letter with which the result begins.
            if i >= len(batch) or terms[i][batch[i] :][:1] != parts[2][:1] or new[1][batch[i] :][:1] == parts[2][:1]
        ]
        for i, other, why in said:
            written = ",".join([*terms[:i], other, *terms[i + 1 :]]) + "".join(parts[1:])
            node = line.operands()[i + 1]
            yield f'Replace "{terms[i]}" with "{other}", the axes of {short(node)}, at {line.at}', [line.edit(text, f'"{written}"')], why
        if said:
            continue  # with another order of the letters, an axis would count as what it is not
        # The letters that another einsum of the function gives its result are right.
        others = {item.value.replace(" ", "").partition("->")[2] for item in nodes(line.scope, ast.Constant) if isinstance(item.value, str)}
        free = [i for i, term in enumerate(terms) if term not in others - {parts[2]}]
        orders = [_ordered(terms[i], shapes[i], _known(terms, shapes, i)) for i in free]
        for i, (new, sure) in zip(free, orders, strict=True):
            term = terms[i]
            # Of two operands that could be read in another order, neither is the one that must.
            if not new or new == term or not (sure or sum(bool(one) for one, _ in orders) == 1):
                continue
            written = ",".join([*terms[:i], new, *terms[i + 1 :]]) + "".join(parts[1:])
            node = line.operands()[i + 1]
            yield (
                f'Replace "{term}" with "{new}", the axes of {short(node)}, at {line.at}',
                [line.edit(text, repr(written).replace("'", '"'))],
                f"{short(node)} has its axes in that order.",
            )


@of(LoneAxis)
def product_of_matrices(evidence: Evidence, finding: Finding, fact: LoneAxis) -> Made:
    """The letters of a product of the matrix and the other operand."""
    for line in lines_at(evidence, finding.location)[:1]:
        for call in nodes(line.scope, ast.Call):
            text = call.args[0] if called(call) == "einsum" and call.args else None
            if isinstance(text, ast.Constant) and text.value == fact.equation:
                yield (
                    f'Replace "{fact.equation}" with "{fact.product}" at line {call.lineno}',
                    [line.edit(text, f'"{fact.product}"')],
                    "It then sums over the last axis of the matrix, which the other operand has as well.",
                )
                return


def _exchanged(line: Line, terms: list[str], shapes: list[Shape | None]) -> Made:
    operands = line.operands()[1:]
    for i, j in itertools.combinations(range(len(terms)), 2):
        order = list(range(len(terms)))
        order[i], order[j] = j, i
        turned = [shapes[at] for at in order]
        fits = all(shape is not None and len(shape) == len(term) for term, shape in zip(terms, turned, strict=True))
        if fits and _known(terms, turned, -1):
            yield (
                f"Swap {short(operands[i])} and {short(operands[j])} at {line.at}",
                list(line.swap(operands[i], operands[j])),
                f'"{terms[i]}" are the axes of {short(operands[j])}, and "{terms[j]}" those of {short(operands[i])}.',
            )


def _other_letter(terms: list[str], shapes: list[Shape | None], i: int, gives: str) -> Iterator[tuple[int, str, str]]:
    term, shape, known = terms[i], shapes[i], _known(terms, shapes, i)
    if shape is None or len(shape) != len(term):
        return
    off = [at for at, letter in enumerate(term) if letter in known and known[letter] != shape[at]]
    others = [letter for letter, size in known.items() if letter not in term and size == shape[off[0]] and size] if len(off) == 1 else []
    # The letter that goes is one of a longer operand: what has fewer axes leaves one of them out. Nothing is to be summed over alone.
    longer = any(len(one) > len(term) for j, one in enumerate(terms) if j != i and term[off[0]] in one) if off else False
    longer = longer and sum(term[off[0]] in one for one in [*terms, gives]) > 2
    # So does the new one, if no other operand and not the result has it: it would be summed over alone.
    alone = len(others) == 1 and sum(others[0] in one for one in [*terms, gives]) == 1
    if len(others) == 1 and (longer or alone):
        new = term.replace(term[off[0]], others[0])
        yield i, new, f"The axis of size {shape[off[0]]} is {others[0]} in the other operand."


def _without_batch(terms: list[str], shapes: list[Shape | None], i: int) -> Iterator[tuple[int, str, str]]:
    term, shape = terms[i], shapes[i]
    if shape is None or len(shape) != len(term) - 1 or not any(term[0] == one[0] for j, one in enumerate(terms) if j != i):
        return
    known = _known(terms, shapes, i)
    if known and all(known.get(letter, size) == size for letter, size in zip(term[1:], shape, strict=True)):
        yield i, term[1:], "It has no batch axis, so every sample is combined with the same values."


def _with_batch(terms: list[str], shapes: list[Shape | None], i: int, gives: str) -> Iterator[tuple[int, str, str]]:
    term, shape, first = terms[i], shapes[i], gives[:1]
    others = [one for j, one in enumerate(terms) if j != i and one[:1] == first]
    if shape is None or len(shape) != len(term) + 1 or not first or first in term or not others:
        return
    known = _known(terms, shapes, i)
    if all(known.get(letter, size) == size for letter, size in zip(first + term, shape, strict=True)):
        yield i, first + term, f"It has {len(shape)} axes, of which the first is the batch."


def _with_summed(terms: list[str], shapes: list[Shape | None], i: int, gives: str) -> Iterator[tuple[int, str, str]]:
    """A letter for an inner axis that no other operand and not the result has, where the sizes of all others say which one it is."""
    term, shape, known = terms[i], shapes[i], _known(terms, shapes, i)
    if shape is None or len(shape) != len(term) + 1 or not gives or term[:1] != gives[:1] or not set(term) <= set(known):
        return
    letter = next(one for one in "kzuvwxy" if one not in "".join((*terms, gives)))
    fits = [at for at in range(1, len(shape)) if all(known[one] == size for one, size in zip(term, shape[:at] + shape[at + 1 :], strict=True))]
    if len(fits) == 1 and (shape[fits[0]] or 0) > 1:
        yield i, term[: fits[0]] + letter + term[fits[0] :], f"It has one more axis, of size {shape[fits[0]]}, over which the product then sums."


def _shape_of(line: Line, node: ast.expr) -> Shape | None:
    shape = line.shape(node)
    if shape is not None or not isinstance(node, ast.BinOp):
        return shape
    both = [_shape_of(line, side) for side in (node.left, node.right)]
    sides = [one for one in both if one is not None]
    if len(sides) != 2 or isinstance(node.op, ast.MatMult):
        return None
    try:
        return tuple(np.broadcast_shapes(*(tuple(size or 0 for size in one) for one in sides)))
    except ValueError:
        return None


def _known(terms: list[str], shapes: list[Shape | None], but: int) -> dict[str, int | None]:
    known: dict[str, int | None] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        if i == but or shape is None or len(shape) != len(term):
            continue
        for letter, size in zip(term, shape, strict=True):
            if known.setdefault(letter, size) != size:
                return {}
    return known


def _ordered(term: str, shape: Shape | None, known: dict[str, int | None]) -> tuple[str, bool]:
    if shape is None or len(shape) != len(term) or len(set(term)) != len(term) or not 1 < len(term) < 7:
        return "", False
    fits = [
        "".join(order)
        for order in itertools.permutations(term)
        if all(letter not in known or known[letter] == size for letter, size in zip(order, shape, strict=True))
    ]
    # Letters of one size could change places: most of them stay where they are.
    stay = [sum(new == old for new, old in zip(one, term, strict=True)) for one in fits]
    kept = [one for one, count in zip(fits, stay, strict=True) if count == max(stay, default=0)]
    return next(((one[0], one is fits) for one in (fits, kept) if len(one) == 1), ("", False))


@of(OperationRaised)
def result_letters(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The letters of what an einsum gives, where its sizes must be those of the tensor that the result meets."""
    for line in lines_of(evidence)[:1]:
        operands = line.operands()
        for node, other in itertools.permutations(operands, 2) if len(operands) == 2 else ():
            call, wanted = assigned_to(line, node), line.shape(other)
            text = call.args[0] if isinstance(call, ast.Call) and called(call) == "einsum" and call.args else None
            if not isinstance(call, ast.Call) or not isinstance(text, ast.Constant) or not isinstance(text.value, str) or not wanted:
                continue
            terms, arrow, gives = text.value.replace(" ", "").partition("->")
            shapes = [line.specs[name].shape if (name := ast.unparse(one)) in line.specs else None for one in call.args[1:]]
            new = _with_sizes(wanted, _known(terms.split(","), shapes, -1)) if arrow and "." not in terms else None
            if new is not None and new != gives:
                yield (
                    f'Return the axes "{new}" instead of "{gives}" from the einsum at line {call.lineno}',
                    [line.edit(text, f'"{terms}->{new}"')],
                    f"They have the sizes of {short(other)}.",
                )


@of(OperationRaised)
def of_features(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A product of two matrices that sums over the samples."""
    crossed = [given.spec.shape for given in evidence.given if {*(given.grows or ())} == {0, 1}]
    for line in lines_of(evidence)[:1]:
        for (node, shape), (other, its) in itertools.permutations(line.shaped(), 2):
            if shape not in crossed or len(its) != 2 or its[0] != its[1] or its in crossed:
                continue
            rows = (shape[0], its[0])
            for product in nodes(assigned_to(line, node), (ast.Call, ast.BinOp)):
                for old, new, factors in _over_samples(line, product):
                    if all(line.shape_of_names().get(ast.unparse(one)) == rows for one in factors):
                        yield (
                            f"Sum over the samples in the product at line {old.lineno}: {new}",
                            [line.edit(old, new)],
                            f"The result then has the shape of {short(other)}, one value for each pair of features.",
                        )


def _over_samples(line: Line, product: ast.Call | ast.BinOp) -> Iterator[tuple[ast.expr, str, list[ast.expr]]]:
    if isinstance(product, ast.Call) and called(product) == "einsum" and len(product.args) == 3:
        text, one, other = product.args
        found = re.fullmatch(r"(\w)(\w),(\w)\2->\1\3", text.value.replace(" ", "")) if isinstance(text, ast.Constant) and isinstance(text.value, str) else None
        if found is not None and found[1] != found[3]:
            yield text, f'"{found[1]}{found[2]},{found[1]}{found[3]}->{found[2]}{found[3]}"', [one, other]
        return
    pair = [product.left, product.right] if isinstance(product, ast.BinOp) and isinstance(product.op, ast.MatMult) else []
    pair = product.args if isinstance(product, ast.Call) and called(product) == "matmul" and len(product.args) == 2 else pair
    inner = turned_around(pair[1]) if pair else None
    if inner is not None:
        first, second = line.source.of(pair[0]), line.source.of(inner)
        turned = f"{first}.T" if line.source.of(pair[1]).endswith(".T") else line.source.of(pair[1]).replace(second, first)
        function = f"{line.source.of(product.func)}({turned}, {second})" if isinstance(product, ast.Call) else f"{turned} @ {second}"
        yield product, function, [pair[0], inner]


def _with_sizes(wanted: Shape, known: dict[str, int | None]) -> str | None:
    rows = [[letter for letter, size in known.items() if size == one] for one in wanted]
    found = ["".join(row) for row in itertools.product(*rows) if len(set(row)) == len(row)]
    return found[0] if len(found) == 1 else None
