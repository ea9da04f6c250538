"""Candidates for numbers that are written down in the user's own code: sizes, axes of a shape, rows of a batch."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Fact, Finding, Shape, elements, show_shape
from ...flow.syntax import called, shape_read
from ...rules.facts.layers import OperationRaised, WrongWidth
from ...rules.facts.loss import RowsCut
from ...rules.facts.reasons import Lengths, WholeOnly
from ...rules.moved import takes_block
from ...rules.upstream import maker_of
from ..edits import LayerConfig
from ..edits.expression import MODULE
from ..text.source import nodes, words_of
from .edits import Fix, Made, created, gives, named, of, samples_alone
from .line import Line, calls_at, calls_of, constants, defaults, lines_at, lines_of, listed, own_layer, reshaped, short, size_of, written_in
from .masks import triangle_of_cache
from .turned import between, order_to
from .weights import shapes_of_weights

_COUNTS = frozenset({"range", "arange"})


def sizes(evidence: Evidence, finding: Finding) -> Made:
    """A size that is written down, in the function that raised or where its layer is made, in place of the one that the data has."""
    line = next(iter(lines_of(evidence)), None)
    fact = finding.fact
    if line is None:
        return
    if isinstance(fact, WrongWidth) and not fact.givers:
        pairs = {(fact.shape[-1] or 0, fact.wanted): None}  # made by the program itself, such as noise
    elif isinstance(fact, OperationRaised):
        # The odd one may be the first operand as well.
        back = [(a, b) for a, b in zip(*_aligned(fact), strict=True) if a and b and 1 not in (a, b)]
        pairs = dict.fromkeys(pair for pair in (*_summed(fact), *fact.apart, *back) if pair[0] != pair[1] and pair[0] > 1)
    else:
        return
    shapes = [shape for _, shape in line.shaped()]
    if len(shapes) == 2 and any(order_to(*two) or (len(two[0]) > 1 and between(*two)) for two in (shapes, shapes[::-1])):
        return  # the sizes fit, and their order or place does not
    summed = getattr(getattr(fact, "reason", None), "summed", ())
    one, other = fact.shapes if summed and isinstance(fact, OperationRaised) and len(fact.shapes) == 2 else ((), ())
    if one and other and len(other) == 2 and one[-1] == other[0]:
        return  # a plain product goes, and the axes that the line names do not
    # What was made elsewhere in the class came in as an argument.
    scope = line.owner() if isinstance(fact, WrongWidth) else line.scope
    for old, new in pairs:
        if isinstance(getattr(fact, "reason", None), WholeOnly):
            continue  # all rows are meant, and a batch has a part of them
        if new in samples_alone(evidence):
            continue  # no layer is as wide as there are samples in a batch
        # A triangle of another size is moved as well.
        triangles = {part for call in nodes(scope, ast.Call) if called(call) in ("tril", "triu") for part in ast.walk(call)}
        written = [node for node in _given_sizes(scope) if node.value == old and node not in triangles]
        if written:
            where = f"in {where_of(evidence, line)}" if scope is line.scope else f"at line {written[0].lineno}"
            yield (f"Replace {old} with {new} {where}", [line.edit(node, str(new)) for node in written], "This is the size of its input.")
        yield from _named_size(evidence, line, old, new)
        owner = own_layer(evidence)
        set_to = defaults(line) | (owner.config if owner is not None else {})
        arguments = [key for key, value in set_to.items() if type(value) is int and value == old]
        side = math.isqrt(new)
        squared = [key for key, value in set_to.items() if type(value) is int and value * value == old != value and side * side == new]
        if owner is not None and len(squared) == 1 and not arguments:
            yield created(owner, squared[0], side, f": {side} × {side} = {new}", f"It was created for {old}, but its input has size {new}.")
        # A number that gives several axes of one shape, such as a window's, gives no single one of them.
        arguments = [key for key in arguments if _axes_of(line, key) <= max(len(pairs), _apart_by(fact, old, new))]
        if len(arguments) > 1:
            arguments = [key for key in arguments if {key, f"self.{key}"} & _sized_by(line)]
        if len(arguments) > 1:
            arguments = [key for key in arguments if key in _of_weight(line, old, new)]
        if owner is not None and len(arguments) == 1:
            yield created(owner, arguments[0], new, "", f"It was created for {old}, but its input has size {new}.")


def _of_weight(line: Line, old: int, new: int) -> set[str]:
    """What the shape of a weight says for the axis of size ``old``, if the other operand has size ``new`` there."""
    weights, shaped = shapes_of_weights(line), line.shaped()
    return {
        ast.unparse(size)
        for (node, mine), (_, other) in itertools.permutations(shaped, 2)
        for size, a, b in zip(reversed(weights.get(ast.unparse(node), [])), reversed(mine), reversed(other), strict=False)
        if (a, b) == (old, new)
    }


def _summed(fact: OperationRaised) -> list[tuple[int, int]]:
    one, other = fact.shapes if len(fact.shapes) == 2 and fact.layer is not None and "MatMul" in fact.operation else ((), ())
    sizes = (one[-1], other[-2]) if one and other and len(other) > 1 else (None, None)
    return [(sizes[0], sizes[1])] if sizes[0] and sizes[1] else []


def _aligned(fact: OperationRaised) -> tuple[Shape, Shape]:
    one, other = fact.shapes if len(fact.shapes) == 2 else ((), ())
    shared = min(len(one or ()), len(other or ())) - (len(one or ()) == len(other or ()))
    return (one[-shared:], other[-shared:]) if one and other and shared else ((), ())


def _apart_by(fact: Fact, old: int, new: int) -> int:
    shapes = fact.shapes if isinstance(fact, OperationRaised) else ()
    pairs = zip(reversed(shapes[0] or ()), reversed(shapes[1] or ()), strict=False) if len(shapes) == 2 else ()
    return sum({one, other} == {old, new} for one, other in pairs)


def _axes_of(line: Line, argument: str) -> int:
    shapes = [[ast.unparse(one) for one in item.elts] for item in nodes(line.owner(), (ast.Tuple, ast.List))]
    return max((sum(one in (argument, f"self.{argument}") for one in shape) for shape in shapes), default=0)


def _sized_by(line: Line) -> set[str]:
    held = {ast.unparse(item) for item in nodes(line.node or line.scope, ast.Attribute)}
    made = [item.value for item in nodes(line.owner(), ast.Assign) if ast.unparse(item.targets[0]) in held]
    return {ast.unparse(name) for value in made for name in nodes(value, (ast.Name, ast.Attribute))}


@of(OperationRaised)
def factor(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A number that a layer of the user's own was created with."""
    owner = own_layer(evidence)
    # Where the two sizes that must be equal are known, no other size, such as that of the batch, is one to make them equal to.
    pairs = [(fact.reason.left, fact.reason.right)] if isinstance(fact.reason, Lengths) else [*fact.apart]
    if owner is None:
        return
    for line in lines_of(evidence)[:1]:
        products = [ast.unparse(one) for item in nodes(line.owner(), ast.BinOp) if isinstance(item.op, ast.Mult) for one in (item.left, item.right)]
        set_to = defaults(line) | owner.config
        held = {key: value for key, value in set_to.items() if type(value) is int and value > 0 and {key, f"self.{key}"} & set(products)}
        for (key, value), (one, other) in itertools.product(held.items(), pairs):
            for old, new in ((one, other), (other, one)):
                rest = old // value
                if old != new and old == rest * value and rest > 1 and new % rest == 0 and new > rest:
                    said = f": {new} is {new // rest} times {rest}"
                    yield created(owner, key, new // rest, said, f"It was created for {old}, but its input has size {new}.")


def counted_to(evidence: Evidence, finding: Finding) -> Made:
    """The length of a tensor that is there, in place of a written number up to which positions are counted."""
    line = next(iter(lines_of(evidence)), None)
    if line is None or not isinstance(finding.fact, OperationRaised):
        return
    for one, other in finding.fact.apart:
        for old, new in ((one, other), (other, one)):
            ends = [
                node
                for call in nodes(line.scope, ast.Call)
                # Where a step is given, the end is no length.
                if called(call) in _COUNTS and len(call.args) < 3
                # The second of two arguments is the end; the first is the start.
                for node in (*call.args[:2][-1:], *(word.value for word in call.keywords if word.arg in ("limit", "stop")))
                if isinstance(node, (ast.Constant, ast.Name, ast.Attribute)) and line.number(node) == old and not _read_off(line, node)
            ]
            givers = [(name, spec.shape.index(new, 1)) for name, spec in line.specs.items() if spec.shape and new in spec.shape[1:]]
            if old != new and len(ends) == 1 and givers:
                name, axis = givers[0]
                end = str(old) if isinstance(ends[0], ast.Constant) else f"{ast.unparse(ends[0])} ({old})"
                yield (
                    f"Replace {end} with the length of {name} in {where_of(evidence, line)}",
                    [line.edit(ends[0], f"{MODULE}.shape({name})[{axis}]", line.module())],
                    "Works for every length.",
                )


def _read_off(line: Line, node: ast.expr) -> bool:
    made = [
        item
        for item in nodes(line.scope, ast.Assign)
        if ast.unparse(node) in map(ast.unparse, (one for target in item.targets for one in listed(target) or [target]))
    ]
    return any(shape_read(item) is not None for one in made for item in nodes(one.value, (ast.Call, ast.Attribute)))


def _named_size(evidence: Evidence, line: Line, old: int, new: int) -> Made:
    """The last axis of a tensor in place of a name that holds another size, at the end of a shape that is made there."""
    ends = [
        shape.elts[-1]
        for call in nodes(line.scope, ast.Call)
        for shape in words_of(call)
        if isinstance(shape, (ast.Tuple, ast.List)) and shape.elts and isinstance(shape.elts[-1], (ast.Name, ast.Attribute))
    ]
    names = [node for node in ends if line.numbers.get(ast.unparse(node)) == old]
    giver = next((name for name, spec in line.specs.items() if spec.shape and spec.shape[-1] == new), "")
    triangles = [call for call in nodes(line.scope, ast.Call) if called(call) in ("tril", "triu") and any(node in names for node in ast.walk(call))]
    if giver and triangles:
        yield from triangle_of_cache(line, triangles[0], names[0], f"{giver}.shape[-1]")
    elif names and giver:
        yield (
            f"Replace {ast.unparse(names[0])} ({old}) with {giver}.shape[-1] in {where_of(evidence, line)}",
            [line.edit(node, f"{giver}.shape[-1]") for node in names],
            "This is the size of its input.",
        )


# Arguments whose number is the size of no axis: a window as large as the whole input would leave one value of it.
_NO_SIZES = frozenset({"axis", "axes", "seed", "ksize", "kernel_size", "pool_size", "strides", "dilations", "dilation_rate", "rates"})


def _given_sizes(scope: ast.AST) -> Iterator[ast.Constant]:
    """Whole numbers that a call is given as they are, or in a shape; not an axis, an index, a window, nor how often a loop runs."""
    for call in nodes(scope, ast.Call):
        if called(call) == "range":
            continue
        words = [word.value for word in call.keywords if word.arg not in _NO_SIZES]
        for item in (*call.args, *words):
            for node in item.elts if isinstance(item, (ast.Tuple, ast.List)) else [item]:
                if isinstance(node, ast.Constant) and type(node.value) is int:
                    yield node


def last_kept(evidence: Evidence, finding: Finding) -> Made:
    """The last axis as it is, in a reshape whose written number takes several positions together."""
    for edge in evidence.failed_inputs():
        for axis in range(1, len(edge.spec.shape or ()) - 1):
            node = maker_of(evidence, edge, axis)
            before = next((one.spec.shape for one in evidence.flow.into(node.id) if one.spec.shape), None)
            after = gives(evidence, node)
            if node.op.lower() != "reshape" or not before or not after or before[-1] == after[-1] or len(before) <= len(after) or takes_block(before, after):
                continue
            for line, call in calls_at(evidence, node.called, "reshape"):
                given, target = reshaped(line)
                if len(target) != len(after) or not isinstance(given, (ast.Name, ast.Attribute)):
                    continue
                last, size = target[-1], f"{ast.unparse(given)}.shape[-1]"
                yield (
                    f"Keep the last axis at line {call.lineno}: {size} instead of {short(last)}",
                    [line.edit(last, size)],
                    f"Each position has {before[-1]} values, but the code says {after[-1]}.",
                )
            return


@of(RowsCut)
def row_of_position(evidence: Evidence, finding: Finding, fact: RowsCut) -> Made:
    """The last axis as it is, in a reshape of a loss that cuts its rows."""
    for line, call in calls_at(evidence, fact.reshape.called, "reshape"):
        given, target = reshaped(line)
        if target and given is not None:
            plain = isinstance(given, (ast.Name, ast.Attribute))
            size = f"{ast.unparse(given)}.shape[-1]" if plain else str(fact.before[-1])
            for made, name, new in _constant_in(line, target[-1], fact.before[-1] or 0):
                yield (f"Set {name} = {new} at line {made.lineno}", [line.edit(made, str(new))], f"Each position has {fact.before[-1]} values.")
            yield (
                f"Keep the last axis at line {call.lineno}: {size} instead of {short(target[-1])}",
                [line.edit(target[-1], size)],
                f"Each position has {fact.before[-1]} values.",
            )


def row_size(evidence: Evidence, finding: Finding) -> Made:
    """The last number of a reshape to rows, where it is not what one sample holds."""
    for line, call in calls_of(evidence, "reshape"):
        given, target = reshaped(line)
        spec = line.spec(given) if given is not None else None
        shape = spec.shape if spec is not None else next((edge.spec.shape for edge in evidence.failed_inputs()), None)
        size = elements(shape[1:]) if shape else None
        if len(target) != 2 or not size or not shape or ast.unparse(target[0]) != "-1":
            continue
        last, why = target[1], f"A sample has {show_shape(shape[1:])} = {size} values."
        for made, name, new in _constant_in(line, last, size):
            yield f"Set {name} = {new} at line {made.lineno}: {short(last)} is then {size}", [line.edit(made, str(new))], why
        if call.args[:1] == [given]:  # as a method, the rows are counted first
            yield f"Replace {short(last)} with {size} at {line.at}: one row per sample", [line.edit(last, str(size))], why


@of(OperationRaised)
def constant_of_function(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A constant of the module that the function works with, and that is one of two sizes which must be equal."""
    apart = fact.reason if isinstance(fact.reason, Lengths) else None
    for line in lines_of(evidence)[:1] if apart is not None and fact.cause is None else ():
        read, data = {item.id for item in nodes(line.scope, ast.Name)}, {size for _, spec in evidence.x for size in (spec.shape or ())[1:]}
        for name, made in constants(line.source.tree):
            if apart is not None and name in read and made.value in {apart.left, apart.right} - data:
                new = apart.right if made.value == apart.left else apart.left
                yield f"Set {name} = {new} at line {made.lineno}", [line.edit(made, str(new))], f"The other operand has the size {new}."


def _constant_in(line: Line, node: ast.expr, wanted: int) -> Iterator[tuple[ast.Constant, str, int]]:
    """The constant of the module from which an expression has its size, and what it must be for another size: ``N``, ``N + 1`` or ``N - 1``."""
    name, more = node, 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        name, more = node.left, (size_of(node.right) or 0) * (1 if isinstance(node.op, ast.Add) else -1)
    made = dict(constants(line.source.tree)).get(ast.unparse(name)) if name is node or more else None
    if made is not None:
        yield made, ast.unparse(name), wanted - more


def where_of(evidence: Evidence, line: Line) -> str:
    """The method or function that the line stands in; of a lambda, the layer that holds it."""
    name = getattr(line.scope, "name", "")
    if not name:
        owner = own_layer(evidence)
        return owner.name if owner is not None else line.raised.function
    owners = [item for item in nodes(line.source.tree, ast.ClassDef) if line.scope in item.body]
    return f"{owners[0].name}.{name}" if owners else str(name)


def in_terms(evidence: Evidence, fix: Fix) -> Iterator[Fix]:
    """``Dense(c)`` for ``Dense(c // ratio)``, where a fix would write a number: whether the part is that number shows when it is tried."""
    _, edits, why = fix
    edit = edits[0] if len(edits) == 1 else None
    if not isinstance(edit, LayerConfig) or len(edit.config) != 1:
        return
    (key, size), node = next(iter(edit.config.items())), named(evidence, edit.target)
    if node is None or type(size) is not int:
        return
    for line in lines_at(evidence, node.location)[:1]:
        found = written_in(line, node, key)
        written = found[0] if len(found) == 1 else None
        if not isinstance(written, ast.BinOp):
            continue
        for part in (written.left, written.right):
            if isinstance(part, (ast.Name, ast.Attribute)) and line.number(part) in (None, size):
                text = ast.unparse(part)
                yield f"Set {key}={text} on {node.name}", [line.edit(written, text)], why
