"""Candidates for the weights that a class creates: their sizes, and which of them comes first."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Collection

from ...examine.evidence import Evidence
from ...examine.heard import HeardWidths, hear
from ...flow import Finding, show_shape
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ...rules.facts.reasons import Lengths
from ..text.arguments import argument
from ..text.source import given_to, nodes, words_of
from .edits import Made, of
from .line import Line, assigned_to, defaults, factors, lines_of, listed, names_of, own_layer, short, size_of
from .operands import JOINS


@of(OperationRaised)
def longer_weight(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A weight that is made as long as the input, and added after something was joined to that."""
    line = next(iter(lines_of(evidence)), None)
    if not isinstance(fact.reason, Lengths) or line is None:
        return
    joined = any(called(call) in JOINS for call in nodes(line.scope, ast.Call) if call.lineno <= line.raised.line)
    held = [ast.unparse(item).removesuffix(".value") for item in line.operands()]
    made = [item for item in nodes(line.owner(), ast.Assign) if isinstance(item.value, ast.Call) and ast.unparse(item.targets[0]) in held]
    for item, (new, old) in itertools.product(made, itertools.permutations((fact.reason.left, fact.reason.right))):
        times = new // old if fact.reason.summed and old > 1 and not new % old else 0
        if not joined or (times and not (times < 5 and isinstance(item.targets[0], ast.Attribute))):
            continue
        for shape in [one for one in fact.shapes if one and one.count(old) == 1 and old < new]:
            sizes = [one.elts[shape.index(old)] for one in nodes(item.value, (ast.Tuple, ast.List)) if len(one.elts) == len(shape)]
            if len(sizes) == 1 and isinstance(sizes[0], (ast.Constant, ast.Name, ast.Attribute, ast.Subscript)):
                size = ast.unparse(sizes[0])
                more = f"{times} * {size}" if times else f"{size} + {new - old}"
                text = str(new) if isinstance(sizes[0], ast.Constant) else more
                yield (
                    f"Create {ast.unparse(item.targets[0])} with size {new} at line {sizes[0].lineno}: {text} instead of {size}",
                    [line.edit(sizes[0], text)],
                    "The product sums over both sizes." if times else "It is added after the concatenation, which makes the input longer.",
                )


_FILLS = frozenset({"tile", "repeat", "broadcast_to", "zeros", "ones"})


@of(OperationRaised)
def rest_of_parts(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A filled part of a concatenation for what the other part leaves of the size of a weight, in place of all of it."""
    if not isinstance(fact.reason, Lengths) or fact.reason.summed:
        return
    whole, total = sorted((fact.reason.left, fact.reason.right))
    for line in lines_of(evidence)[:1]:
        calls = [one for one in nodes(line.node, ast.Call) if called(one) in JOINS] if line.node is not None else []
        parts = [one for call in calls for one in listed(next(iter(words_of(call)), None))]
        for part, other in itertools.permutations(parts) if len(parts) == 2 else ():
            filled = assigned_to(line, part)
            inner = [one for one in nodes(filled, (ast.Name, ast.Attribute, ast.Constant)) if line.number(one) == whole]
            cuts = [one for made in (other, *given_to(line.scope, other)) for one in nodes(made, ast.Slice)]
            ends = [one.upper for one in cuts if one.upper is not None and line.number(one.upper) == total - whole]
            if isinstance(filled, ast.Call) and called(filled) in _FILLS and len(inner) == len(ends) == 1:
                new = f"{ast.unparse(inner[0])} - {ast.unparse(ends[0])}"
                yield (
                    f"Use {new} instead of {ast.unparse(inner[0])} at line {inner[0].lineno}",
                    [line.edit(inner[0], new)],
                    f"The other part has {total - whole} of the {whole} already.",
                )


@of(OperationRaised)
def width_by_name(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The width of a weight that ends a product, as the name in the class says that has the width of the tensor which the product is added to.

    The weights of an adapter, such as LoRA's, beside a layer of the same class.
    """
    owner = own_layer(evidence)
    for line in lines_of(evidence)[:1] if owner is not None else ():
        shapes = shapes_of_weights(line, 1)
        for (node, shape), (other, its) in itertools.permutations(line.shaped(), 2):
            old, new = shape[-1], its[-1]
            named = names_of(line, owner, new) or _units_of(evidence, assigned_to(line, other), new)
            weight = _ends_in(line, node, shapes)
            if old == new or None in (old, new) or 1 in (old, new) or weight is None or len(named) != 1:
                continue
            last = shapes[weight][-1]
            if ast.unparse(last) != named[0] and (shapes[weight][1:] or isinstance(last, ast.Constant)):
                yield (
                    f"Create {weight} with {named[0]} {'columns' if shapes[weight][1:] else 'values'} at line {last.lineno}, instead of {ast.unparse(last)}",
                    [line.edit(last, named[0])],
                    f"The product then has the width of {short(other)}.",
                )


def _units_of(evidence: Evidence, call: ast.expr, size: int | None) -> list[str]:
    held = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
    layers = [node for node in evidence.flow.nodes if node.kind == "layer" and node.config.get("units") == size]
    return [f"{held}.units"] if held.startswith("self.") and layers else []


@of(OperationRaised)
def rows_by_name(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The rows of a weight as the name says that is the width of another weight of the class."""
    owner = own_layer(evidence)
    for line in lines_of(evidence)[:1] if owner is not None else ():
        weights, product = shapes_of_weights(line), _factors(line.node)
        set_to = {f"self.{key}": value for key, value in (defaults(line) | owner.config).items() if type(value) is int} if owner else {}
        line.numbers = set_to | line.numbers
        sizes = weights.get(ast.unparse(product[1]).removesuffix(".value"), []) if product is not None else []
        shapes = [shape for shape in fact.shapes if shape and len(shape) == len(sizes)]
        if len(fact.shapes) != 2 or not shapes or product is None:
            continue
        old, new = shapes[-1][-2], (fact.shapes[0] or (None,))[-1]
        # The weight itself says what its names are; in a cell, no layer does.
        for size, n in zip(sizes, shapes[-1], strict=True):
            times = [size_of(part) or 0 for part in factors(size)]
            names = [ast.unparse(part) for part, times_ in zip(factors(size), times, strict=True) if not times_]
            count = math.prod(filter(None, times))
            if n is not None and len(names) == 1 and n % count == 0:
                set_to[names[0]] = n // count
        columns = {ast.unparse(part) for one in weights.values() for part in factors(one[-1]) if not isinstance(part, ast.Constant)}
        named = [name for name in columns if set_to.get(name) == new != old]
        # Else as the function writes that size: 2 * self.units.
        written = {ast.unparse(item) for item in nodes(line.scope, ast.BinOp) if line.number(item) == new != old}
        named = named or sorted(written)
        if len(named) == 1 and new is not None and ast.unparse(sizes[-2]) != named[0]:
            yield (
                f"Create {ast.unparse(product[1])} with {named[0]} rows at line {sizes[-2].lineno}, instead of {ast.unparse(sizes[-2])}",
                [line.edit(sizes[-2], named[0])],
                f"{named[0]} is {new}, the width of what it is multiplied with.",
            )


@of(OperationRaised)
def all_parts(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """As many times a size in the weights as a split makes parts of what they give."""
    owner = own_layer(evidence)
    for line in lines_of(evidence)[:1] if owner is not None else ():
        set_to = defaults(line) | (owner.config if owner is not None else {})
        counts = [argument(call, "indices_or_sections", ["x", "indices_or_sections"]) or argument(call, "num_or_size_splits", [])
                  for call in nodes(line.owner(), ast.Call) if called(call) == "split"]  # fmt: skip
        products = [item for item in nodes(line.owner(), ast.BinOp) if isinstance(item.op, ast.Mult)]
        for parts, (one, other) in itertools.product({size_of(count) or 0 for count in counts}, fact.apart):
            small, whole = sorted((one, other))
            found = [
                (times, ast.unparse(size))
                for item in products
                for times, size in ((item.left, item.right), (item.right, item.left))
                if (size_of(times) or parts) * whole == parts * small and (line.number(size) or set_to.get(ast.unparse(size).removeprefix("self."))) == whole
            ]
            if parts and small < whole and found and len({name for _, name in found}) == 1:
                times, name = found[0]
                yield (
                    f"Create the weights with {parts} * {name} columns, instead of {ast.unparse(times)} * {name}",
                    [line.edit(one, str(parts)) for one, _ in found],
                    f"The result is split into {parts} parts, and each needs {whole} values instead of {small}.",
                )


def shapes_of_weights(line: Line, least: int = 2) -> dict[str, list[ast.expr]]:
    """The sizes of the weights that the class creates, by the attribute that holds each."""
    made = [item for item in nodes(line.owner(), ast.Assign) if isinstance(item.value, ast.Call) and called(item.value) == "add_weight"]
    shapes = [(ast.unparse(item.targets[0]), argument(item.value, "shape", ["shape"])) for item in made]
    return {name: shape.elts for name, shape in shapes if isinstance(shape, (ast.Tuple, ast.List)) and len(shape.elts) >= least}


def _ends_in(line: Line, node: ast.expr, weights: Collection[str]) -> str | None:
    node = assigned_to(line, node)
    if isinstance(node, ast.Attribute):
        name = ast.unparse(node).removesuffix(".value")
        return name if name in weights else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        return _ends_in(line, node.left, weights) or _ends_in(line, node.right, weights)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return _ends_in(line, node.right, weights)
    if isinstance(node, ast.Call) and node.args and called(node) in ("matmul", "dot", "convert_to_tensor", "cast", "asarray"):
        return _ends_in(line, node.args[-1 if called(node) in ("matmul", "dot") else 0], weights)
    return None


@of(OperationRaised)
def turned_product(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A product of two weights transposed, where it meets a weight whose rows are its columns."""
    for line in lines_of(evidence)[:1]:
        for (node, shape), (other, wanted) in itertools.permutations(line.shaped(), 2):
            if len(shape) != 2 or shape != wanted[::-1] or shape == wanted or any(given.grows for given in evidence.given):
                continue
            factors = _factors(assigned_to(line, node))
            made = assigned_to(line, other)
            if factors is not None and isinstance(made, (ast.Attribute, ast.Call)) and _factors(made) is None:
                yield (
                    f"Transpose {short(node)} at {line.at}: {show_shape(wanted)}",
                    [line.apply(node, "transpose")],
                    f"It then has the shape of {short(other)}.",
                )


def _factors(node: ast.AST | None) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        return _factors(node.left) or _factors(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Call) and called(node) in ("matmul", "dot", "tensordot") and len(node.args) > 1:
        return node.args[0], node.args[1]
    return None


def turned_filter(evidence: Evidence, finding: Finding) -> Made:
    """The last two sizes of a filter exchanged where it is created."""
    failed = evidence.failed
    said = hear(failed.failure, HeardWidths) if failed is not None else None
    for line in lines_of(evidence)[:1] if said is not None and said.of == "channels" else ():
        held = {ast.unparse(item) for item in nodes(line.node or line.scope, ast.Attribute)}
        for item in nodes(line.owner(), ast.Assign):
            call = item.value
            sizes = argument(call, "shape", ["shape"]) if isinstance(call, ast.Call) and called(call) == "add_weight" else None
            if ast.unparse(item.targets[0]) not in held or not isinstance(sizes, (ast.Tuple, ast.List)) or len(sizes.elts) < 3:
                continue
            *inner, reads, gives = map(line.source.of, sizes.elts)
            yield (
                f"Create {ast.unparse(item.targets[0])} with the shape ({', '.join([*inner, gives, reads])}) at line {sizes.lineno}",
                [line.edit(sizes, f"({', '.join([*inner, gives, reads])})")],
                "A filter has the channels of its input on the axis before the last.",
            )


@of(OperationRaised)
def turned_weight(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A weight with its two sizes exchanged where it is created, if a product needs them so."""
    one, other = fact.shapes if len(fact.shapes) == 2 else ((), ())
    if not one or not other or len(other) != 2 or one[-1] != other[1] or one[-1] == other[0] or "matmul" not in fact.operation.lower():
        return
    for line in lines_of(evidence)[:1]:
        factor = line.operands()[1] if len(line.operands()) > 1 else None
        held = {ast.unparse(item) for item in nodes(assigned_to(line, factor), ast.Attribute)} if factor is not None else set()
        for item in nodes(line.owner(), ast.Assign):
            call = item.value
            if ast.unparse(item.targets[0]) not in held or not isinstance(call, ast.Call) or called(call) != "add_weight":
                continue
            sizes = argument(call, "shape", ["shape"])
            if isinstance(sizes, (ast.Tuple, ast.List)) and len(sizes.elts) == 2:
                rows, columns = map(line.source.of, sizes.elts)
                yield (
                    f"Create {ast.unparse(item.targets[0])} with the shape ({columns}, {rows}) at line {sizes.lineno}",
                    [line.edit(sizes, f"({columns}, {rows})")],
                    f"The product sums over its first axis, which must have {one[-1]} rows.",
                )
