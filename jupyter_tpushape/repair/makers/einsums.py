"""Candidates for the letters of an einsum."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...rules.facts.layers import OperationRaised
from ..text.source import called
from .edits import Made, of
from .line import Line, assigned_to, lines_of, short


def letters(evidence: Evidence, finding: Finding) -> Made:
    """The letters of one operand of an einsum in the order that its sizes say."""
    for line in lines_of(evidence):
        call = line.node
        text = call.args[0] if isinstance(call, ast.Call) and called(call) == "einsum" and call.args else None
        if not isinstance(text, ast.Constant) or not isinstance(text.value, str) or "." in text.value:
            continue
        parts = text.value.replace(" ", "").partition("->")
        terms = parts[0].split(",")
        shapes = [line.shape(node) for node in line.operands()[1:]]
        if len(shapes) != len(terms):
            continue
        yield from _exchanged(line, terms, shapes)
        said = [new for i in range(len(terms)) for new in (*_other_letter(terms, shapes, i), *_without_batch(terms, shapes, i))]
        for i, other, why in said:
            written = ",".join([*terms[:i], other, *terms[i + 1 :]]) + "".join(parts[1:])
            node = line.operands()[i + 1]
            yield f'Replace "{terms[i]}" with "{other}", the axes of {short(node)}, at {line.at}', [line.edit(text, f'"{written}"')], why
        if said:
            continue  # with another order of the letters, an axis would count as what it is not
        for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
            new = _ordered(term, shape, _known(terms, shapes, i))
            if new is None or new == term:
                continue
            written = ",".join([*terms[:i], new, *terms[i + 1 :]]) + "".join(parts[1:])
            node = line.operands()[i + 1]
            yield (
                f'Replace "{term}" with "{new}", the axes of {short(node)}, at {line.at}',
                [line.edit(text, repr(written).replace("'", '"'))],
                f"{short(node)} has its axes in that order.",
            )


def _exchanged(line: Line, terms: list[str], shapes: list[Shape | None]) -> Made:
    """Two operands in each other's place, where the letters then agree with all sizes."""
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


def _other_letter(terms: list[str], shapes: list[Shape | None], i: int) -> Iterator[tuple[int, str, str]]:
    """An operand's letters with one exchanged for that of the only axis of its size elsewhere, where all other letters agree."""
    term, shape, known = terms[i], shapes[i], _known(terms, shapes, i)
    if shape is None or len(shape) != len(term):
        return
    off = [at for at, letter in enumerate(term) if letter in known and known[letter] != shape[at]]
    others = [letter for letter, size in known.items() if letter not in term and size == shape[off[0]] and size] if len(off) == 1 else []
    # The letter that goes is one of a longer operand: what has fewer axes leaves one of them out.
    longer = any(term[off[0]] in one and len(one) > len(term) for j, one in enumerate(terms) if j != i) if off else False
    if len(others) == 1 and longer:
        new = term.replace(term[off[0]], others[0])
        yield i, new, f"The axis of size {shape[off[0]]} is {others[0]} in the other operand."


def _without_batch(terms: list[str], shapes: list[Shape | None], i: int) -> Iterator[tuple[int, str, str]]:
    """An operand's letters without that of the batch, which a table of the program's does not have."""
    term, shape = terms[i], shapes[i]
    if shape is None or len(shape) != len(term) - 1 or not any(term[0] == one[0] for j, one in enumerate(terms) if j != i):
        return
    known = _known(terms, shapes, i)
    if known and all(known.get(letter, size) == size for letter, size in zip(term[1:], shape, strict=True)):
        yield i, term[1:], "It has no batch axis, so every sample is combined with the same values."


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


def _with_sizes(wanted: Shape, known: dict[str, int | None]) -> str | None:
    """The one row of letters that have these sizes."""
    rows = [[letter for letter, size in known.items() if size == one] for one in wanted]
    found = ["".join(row) for row in itertools.product(*rows) if len(set(row)) == len(row)]
    return found[0] if len(found) == 1 else None
