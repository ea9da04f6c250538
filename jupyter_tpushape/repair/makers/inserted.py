"""Candidates for an axis of size 1 that was inserted in the wrong place or is missing, and for the branch of a condition that was exchanged with the other."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

import numpy as np

from ...examine.evidence import Evidence
from ...flow import Finding, Shape, show_shape
from ...flow.syntax import called, is_new_axis
from ...rules.facts.layers import OperationRaised, WrongRank
from ...rules.facts.reasons import AxisDropped
from ...rules.facts.reasons_read import AxisInFront
from ...rules.words import axes_of
from ..edits import Edit, ReplaceLayer
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, configure, failing, given, of, way_to
from .line import Line, assigned_to, lines_of, listed, own_layer, short, whole_number
from .operand_axes import hides


@of(OperationRaised)
def other_place(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """An operand that got its axes of size 1 by the program's text, with them at other places."""
    for line in lines_of(evidence)[:1]:
        known = line.shape_of_names()
        for (operand, whole), (_, other) in itertools.permutations(line.shaped(), 2):
            # What a layer returns for a tensor has all of its axes but the last one.
            read = operand.args[0] if isinstance(operand, ast.Call) and len(operand.args) == 1 and not operand.keywords else operand
            shape = known.get(ast.unparse(read), whole)
            node, last = (read, whole[-1:]) if shape[:-1] == whole[:-1] and shape != whole else (operand, ())
            shape = shape if last else whole
            for made, axes in _insertions(line, node, shape) if len(shape) == len(other) else ():
                fit = [
                    (places, moved) for places, moved in _moved(shape, axes) if places != axes and _broadcast((*moved[:-1], *last) if last else moved, other)
                ]
                # Where several places fit, the sizes do not tell which is meant; what hides keys has them along the last axis.
                sure = len(fit) == 1 or any(hides(line, assigned_to(line, one)) for one in (node, *nodes(made, ast.Name)))
                for places, moved in fit[:1] if sure else ():
                    at = _told(places, len(shape))
                    said = f"the axis of size 1 at axis {at}" if len(axes) == 1 else f"the axes of size 1 at axes {at}"
                    yield (
                        f"Insert {said} at line {made.lineno}: {short(node)} is then {show_shape(moved)}",
                        [_inserted_at(line, made, places, len(shape))],
                        "Each of its values then applies to one position of the other operand.",
                    )


@of(OperationRaised)
def one_axis_more(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """One axis of size 1 more where the values of each sample are created or get theirs, if they have too few."""
    for line in lines_of(evidence)[:1]:
        for (_, shape), (_, other) in itertools.permutations(line.shaped(), 2):
            if not 1 < len(shape) < len(other) or any(size != 1 for size in shape[1:]):
                continue
            known = line.shape_of_names()
            for made in (item.value for item in nodes(line.scope, ast.Assign) if known.get(ast.unparse(item.targets[0])) == shape):
                sizes = [one for one in listed_in(made) if len(one.elts) == len(shape) and all(whole_number(n) == 1 for n in one.elts[1:])]
                if len(sizes) == 1:
                    ones = ["1"] * (len(other) - 1)
                    yield (
                        f"Create {short(made)} with {len(other)} axes at line {made.lineno}: {show_shape((shape[0], *(1 for _ in ones)))}",
                        [line.edit(sizes[0], f"({', '.join([ast.unparse(sizes[0].elts[0]), *ones])})")],
                        "Each sample has one value, which then applies to all of its axes.",
                    )


def listed_in(made: ast.expr) -> list[ast.Tuple | ast.List]:
    """The tuples and lists among the arguments of a call."""
    given = [*made.args, *(one.value for one in made.keywords)] if isinstance(made, ast.Call) else []
    return [one for one in given if isinstance(one, (ast.Tuple, ast.List))]


@of(OperationRaised)
def behind_samples(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The axis of size 1 that a line put in front of the samples, behind them instead."""
    reason = fact.reason
    for line in lines_of(evidence)[:1] if isinstance(reason, AxisInFront) else ():
        assert isinstance(reason, AxisInFront)
        where, shape = reason.maker.called, (1, *reason.shape)
        for made in nodes(line.scope, (ast.Call, ast.Subscript)):
            if where is None or not made.lineno <= where.line <= (made.end_lineno or made.lineno):
                continue
            if tuple(at % len(shape) for at in _axes_of(made, len(shape))[1] if -len(shape) <= at < len(shape)) != (0,):
                continue
            for place in range(1, len(shape)):
                yield (
                    f"Insert the axis of size 1 at axis {_told((place,), len(shape))} at line {made.lineno}, after the batch axis",
                    [_inserted_at(line, made, (place,), len(shape))],
                    f"The batch axis stays first: {show_shape((*reason.shape[:place], 1, *reason.shape[place:]))}.",
                )


def _moved(shape: Shape, axes: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Shape]]:
    rest = [size for i, size in enumerate(shape) if i not in axes]
    for places in itertools.combinations(range(1, len(shape)), len(axes)):
        sizes = iter(rest)
        yield places, tuple(1 if i in places else next(sizes) for i in range(len(shape)))


def _told(places: tuple[int, ...], rank: int) -> str:
    at = tuple(-1 if place == rank - 1 else place for place in places)
    return str(at[0]) if len(at) == 1 else str(places)


def _insertions(line: Line, node: ast.expr, shape: Shape) -> Iterator[tuple[ast.Call | ast.Subscript, tuple[int, ...]]]:
    """The expressions that inserted axes of size 1 into an operand, or into the one tensor that it is computed from, with those axes."""
    whole, known = assigned_to(line, node), line.shape_of_names()
    named = [assigned_to(line, one) for one in nodes(whole, ast.Name) if known.get(one.id) == shape]
    for made in dict.fromkeys((*nodes(whole, (ast.Call, ast.Subscript)), *named)):
        if not isinstance(made, (ast.Call, ast.Subscript)):
            continue
        base, found = _axes_of(made, len(shape))
        axes = tuple(sorted(at % len(shape) for at in found if -len(shape) <= at < len(shape)))
        if not axes or any(shape[at] != 1 for at in axes):
            continue
        its = known.get(ast.unparse(base)) if base is not None else None
        if made is whole or made in named or its == tuple(size for i, size in enumerate(shape) if i not in axes):
            yield made, axes


def _axes_of(made: ast.Call | ast.Subscript, rank: int) -> tuple[ast.expr | None, tuple[int, ...]]:
    if isinstance(made, ast.Subscript):
        parts = listed(made.slice) or [made.slice]
        nones = [i for i, part in enumerate(parts) if is_new_axis(part)]
        rest = [i for i, part in enumerate(parts) if isinstance(part, ast.Constant) and part.value is ...]
        whole = all(i in (*nones, *rest) or ast.unparse(part) == ":" for i, part in enumerate(parts))
        return made.value, tuple(i - len(parts) if rest and rest[0] < i else i for i in nones) if whole else ()
    if called(made) == "expand_dims":
        axis = argument(made, "axis", ["x", "axis"])
        written = [whole_number(one) for one in (listed(axis) or filter(None, [axis]))]
        return argument(made, "x", ["x"]), tuple(one for one in written if one is not None)
    sizes = listed(_target(made))
    ones = tuple(i for i, one in enumerate(sizes) if isinstance(one, ast.Constant) and one.value == 1)
    return None, ones if len(sizes) == rank else ()


def _target(made: ast.Call) -> ast.expr | None:
    named = argument(made, "newshape", ["x", "newshape"]) or argument(made, "shape", ["x", "shape"])
    return named if called(made) == "reshape" else None


def _inserted_at(line: Line, made: ast.Call | ast.Subscript, places: tuple[int, ...], rank: int) -> Edit:
    if isinstance(made, ast.Subscript):
        last = places == (rank - 1,)
        return line.edit(made.slice, "..., None" if last else ", ".join("None" if i in places else ":" for i in range(rank)))
    target = _target(made)
    if target is not None:
        rest = iter([ast.unparse(one) for one in listed(target) if not (isinstance(one, ast.Constant) and one.value == 1)])
        return line.edit(target, f"({', '.join('1' if i in places else next(rest) for i in range(rank))})")
    axis = argument(made, "axis", ["x", "axis"])
    assert axis is not None
    return line.edit(axis, _told(places, rank))


@of(OperationRaised)
def restored_axis(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The last axis of the predictions."""
    before = fact.reason.predictions if isinstance(fact.reason, AxisDropped) else ()
    for line in lines_of(evidence)[:1] if before else ():
        scope, shapes = line.scope, line.shape_of_names()
        if not isinstance(scope, ast.FunctionDef):
            continue
        # The labels, which come first, may have the same shape.
        names = [one.arg for one in scope.args.args if (*shapes.get(one.arg, ()), 1) == before]
        first = next((one for one in scope.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))), None)
        if not names or first is None:
            continue
        edits: list[Edit] = [line.before(first, f"{names[-1]} = {names[-1]}[..., None]")]
        last = (len(before) - 1,)
        apart = [made for node, shape in line.shaped() if len(shape) == len(before) and shape != before
                 for made, axes in _insertions(line, node, shape) if axes != last]  # fmt: skip
        edits += [_inserted_at(line, made, last, len(before)) for made in apart[:1]]
        yield (
            f"Add the last axis of {names[-1]} again before line {first.lineno}: {show_shape(before)}",
            edits,
            "The function then compares the predictions as the model outputs them.",
        )


def _broadcast(one: Shape, other: Shape) -> bool:
    try:
        sizes = np.broadcast_shapes(*(tuple(7919 if n is None else n for n in shape) for shape in (one, other)))
    except ValueError:
        return False
    return sizes == tuple(7919 if n is None else n for n in other)


@of(OperationRaised)
def other_branch(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The branches of a condition in ``__init__`` of a layer of the program's own, one of which is a layer: a shortcut that is projected where it should not be."""
    owner = own_layer(evidence)
    for line in lines_of(evidence)[:1]:
        held = {ast.unparse(item) for item in nodes(line.node or line.scope, ast.Attribute)}
        inits = [item for item in nodes(line.owner(), ast.FunctionDef) if item.name == "__init__"]
        for made in (item for init in inits for item in nodes(init, ast.Assign)):
            choice = made.value
            if owner is None or not isinstance(choice, ast.IfExp) or ast.unparse(made.targets[0]) not in held:
                continue
            yield (
                f"Swap the branches of the condition at line {choice.lineno}: {ast.unparse(made.targets[0])} is the other one",
                [line.edit(choice, ast.unparse(ast.IfExp(choice.test, choice.orelse, choice.body)))],
                f"{owner.name} then receives operands of one shape.",
            )


@of(WrongRank)
def pooled_in_place(evidence: Evidence, finding: Finding, fact: WrongRank) -> Made:
    """A pooling over all positions that keeps their axes."""
    node, shape = failing(evidence)
    giver = next((one for one in way_to(evidence, node)[1:] if one.weights or "Pooling" in one.op), None)
    if giver is None or not giver.op.startswith("Global") or node.op.startswith("Global") or not shape or len(shape) != 2 or len(axes_of(node.op)) < 3:
        return
    if len(given(evidence, giver) or ()) == len(axes_of(node.op)):
        if axes_of(node.op)[1] == "time":
            pool = giver.op.removeprefix("Global")
            yield (
                f"Pool over windows of steps: {pool} in place of {giver.name}",
                [ReplaceLayer(giver.name, pool, config={"pool_size": 2})],
                f"{node.name} then reads a sequence of vectors.",
            )
        yield (
            f"Keep the axes of the positions in {giver.name}: keepdims=True",
            [configure(giver.name, keepdims=True)],
            f"{node.name} then receives one position with {shape[-1]} channels.",
        )
