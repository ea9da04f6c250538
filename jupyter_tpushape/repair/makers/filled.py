"""Candidates for tensors that are one value throughout, or one value a sample, made with a shape of their own: with that of what they meet instead."""

from __future__ import annotations

import ast
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ...rules.facts.mixing import EveryPair
from ...rules.facts.transforms import PutApart
from ..edits import Edit
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import given_before, given_to, nodes, words_of
from .edits import Made, of
from .line import Line, lines_at, lines_of, listed, short, size_of

_FILLS = {"ones": 1, "zeros": 1, "fill": 2, "full": 2}
_JOINS = frozenset({"concat", "concatenate"})


def like_other(evidence: Evidence, finding: Finding) -> Made:
    """Ones, zeros or another constant, such as the labels of a discriminator, in the shape of the tensor that they are compared with."""
    # What is written into zeros leaves room behind it.
    for line in lines_of(evidence) if not isinstance(finding.fact, PutApart) else ():
        call = line.call()
        pairs = itertools.permutations(line.shaped(), 2) if call is not None else ()
        for (node, shape), (other, its) in pairs:
            fill = _fill(line, node)
            if fill is None or shape == its or not isinstance(other, (ast.Name, ast.Attribute)) or call is None:
                continue
            if _whole(line, node) and not _whole(line, other):
                continue  # lengths or indices are not compared with values
            if not {node, other} <= set(words_of(call)):
                continue  # parts of a list are joined and not compared
            if shape[:1] != its[:1] and parts_joined(line, other):
                continue  # one value for all of them would tell the parts apart no more
            alike = [one for one in nodes(line.scope, ast.Call) if ast.unparse(one.func) == ast.unparse(call.func)]
            edits = [edit for one in alike if (edit := _like(line, fill, one, (call, node, other))) is not None]
            yield (
                f"Create {short(fill)} with the shape of {ast.unparse(other)} at {line.at}",
                edits,
                "Every value of it is the same, so it can have the shape of what it is compared with.",
            )
        for (node, shape), (other, its) in itertools.permutations(line.shaped(), 2) if call is not None else ():
            if not _joined(line, node) or not isinstance(other, (ast.Name, ast.Attribute)) or shape[:1] != its[:1] or len(shape) >= len(its):
                continue
            index = ", ".join([":", *["None"] * (len(its) - len(shape)), *[":"] * (len(shape) - 1)])
            yield (
                f"Repeat {short(node)} for each value of {ast.unparse(other)} at {line.at}",
                [line.edit(node, f"{IT}[{index}] * {MODULE}.ones_like({ast.unparse(other)})", line.module())],
                "Every value of a sample is then compared with the label of that sample.",
            )


def as_many_rows(evidence: Evidence, finding: Finding) -> Made:
    """Ones or zeros for as many rows as a name counts."""
    for line in lines_of(evidence)[:1]:
        for node in line.operands() if line.call() is not None else []:
            for made in given_to(line.scope, node, line.raised.line) if isinstance(node, ast.Name) else [node]:
                shapes = [listed(call.args[0]) for call in nodes(made, ast.Call) if called(call) in _FILLS and call.args]
                for rows in (shape[0] for shape in shapes if shape and isinstance(shape[0], ast.BinOp)):
                    counted = [side for side in (rows.left, rows.right) if not isinstance(side, ast.Constant)]
                    if len(counted) == 1 and isinstance(rows.op, (ast.FloorDiv, ast.Mult)):
                        yield (
                            f"Use {short(counted[0])} rows instead of {short(rows)} at line {rows.lineno}",
                            [line.edit(rows, line.source.of(counted[0]))],
                            "Each prediction then has one label.",
                        )


def _fill(line: Line, node: ast.AST | None) -> ast.Call | None:
    if isinstance(node, ast.Name):
        made = given_before(line.scope, node)
        return _fill(line, made[-1]) if made else None
    if isinstance(node, ast.BinOp):
        for side, rest in ((node.left, node.right), (node.right, node.left)):
            if isinstance(rest, ast.Constant):
                return _fill(line, side)
        return None
    return node if isinstance(node, ast.Call) and called(node) in _FILLS and isinstance(node.func, ast.Attribute) else None


def _like(line: Line, fill: ast.Call, call: ast.Call, first: tuple[ast.Call, ast.expr, ast.expr]) -> Edit | None:
    places = [words_of(first[0]).index(one) for one in first[1:]]
    words = words_of(call)
    if len(words) != len(words_of(first[0])) or [item.arg for item in call.keywords] != [item.arg for item in first[0].keywords]:
        return None
    node, other = (words[at] for at in places)
    made = _fill(line, node)
    if made is None or not made.args or ast.unparse(made.args[0]) != ast.unparse(fill.args[0] if fill.args else fill):
        return None
    if not isinstance(other, (ast.Name, ast.Attribute)):
        return None
    name, count = called(made), len(made.args)
    like = f"{MODULE}.ones_like({ast.unparse(other)})"
    if _FILLS.get(name, 0) == 2:
        if count < 2:
            return None
        like = f"{ast.unparse(made.args[1])} * {like}"
    elif name == "zeros":
        like = f"{MODULE}.zeros_like({ast.unparse(other)})"
    # A name may be read elsewhere: the new tensor stands where it is used.
    inner = ast.unparse(given_before(line.scope, node)[-1] if isinstance(node, ast.Name) else node)
    if ast.unparse(made) not in inner:
        return None
    return line.edit(node, inner.replace(ast.unparse(made), like), line.module())


def _whole(line: Line, node: ast.expr) -> bool:
    spec = line.spec(node)
    return spec is not None and spec.dtype.startswith(("int", "uint"))


def parts_joined(line: Line, node: ast.expr) -> list[ast.expr]:
    """What stands one behind the other in the rows of a name: it was computed from parts that are joined along the first axis."""
    made = given_before(line.scope, node) if isinstance(node, ast.Name) else []
    for part in nodes(made[-1], (ast.Call, ast.Name)) if made else ():
        held = given_before(line.scope, part)[-1:] if isinstance(part, ast.Name) else [part]
        found = _parts_of(held[0]) if held else []
        if len(found) > 1:
            return found
    return []


def _parts_of(held: ast.AST) -> list[ast.expr]:
    if not isinstance(held, ast.Call) or called(held) not in (*_JOINS, "vstack") or not held.args:
        return []
    axis = argument(held, "axis", ["values", "axis"])
    features = axis is None and ast.unparse(held.func).endswith("layers.concatenate")
    return [] if features or (axis is not None and size_of(axis) != 0) else listed(held.args[0])


def _joined(line: Line, node: ast.expr) -> bool:
    made = given_to(line.scope, node, line.raised.line) if isinstance(node, ast.Name) else []
    first = made[0] if made else None
    parts = listed(first.args[0]) if isinstance(first, ast.Call) and called(first) in _JOINS and first.args else []
    return bool(parts) and all(_fill(line, part) is not None for part in parts)


@of(EveryPair)
def one_per_sample(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """A tensor of one value a sample, made with the axes of another kind of input, with as many axes as what it meets."""
    few, long = sorted((fact.left, fact.right), key=len)
    for line in lines_at(evidence, finding.location) if len(few) < len(long) else ():
        # What raised may stand elsewhere: the names that the function was called with are known to hold tensors.
        taken = [arg.arg for arg in getattr(getattr(line.scope, "args", None), "args", []) if arg.arg != "self"]
        inside = [list(nodes(node, ast.Name)) for node in line.operands()]
        for names, others in itertools.permutations(inside, 2):
            made = [(name, shape) for name in names if (shape := _shape_of(line, name, len(long))) is not None]
            other = next((one.id for one in others if one.id in taken), None)
            if not made or other is None:
                continue
            name, shape = made[0]
            yield (
                f"Create {name.id} with one axis for each axis of {other} at line {shape.lineno}",
                [line.edit(shape, f"({ast.unparse(shape.elts[0])},) + (1,) * (len({other}.shape) - 1)")],
                f"It then has one value for each sample, whatever the rank of {other}.",
            )
            return


@of(EveryPair)
def as_column(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """A constant of one value a sample, made as a column, as what it meets is one."""
    few, long = sorted((fact.left, fact.right), key=len)
    for line in lines_at(evidence, finding.location) if (len(few), long[1:]) == (1, (1,)) else ():
        for name in [name for node in line.operands() for name in nodes(node, ast.Name)]:
            for call in [call for made in given_to(line.scope, name, line.raised.line)[-1:] for call in nodes(made, ast.Call) if called(call) in _FILLS]:
                shape = call.args[0] if call.args else None
                if isinstance(shape, (ast.Tuple, ast.List)) and len(shape.elts) == 1:
                    rows = line.source.of(shape.elts[0])
                    yield (
                        f"Create {name.id} with an axis of size 1 at line {call.lineno}",
                        [line.edit(shape, f"({rows}, 1)")],
                        "Each sample is then combined with its own value.",
                    )
                    return


@of(EveryPair)
def pairs_of_labels(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """Labels with an axis of size 1 already, which are compared with each other: once as a column, and once as a row."""
    few, long = sorted((fact.left, fact.right), key=len)
    for line in lines_at(evidence, finding.location)[:1] if few[1:] == (1,) and long[1:] == (1, 1) else ():
        for item in line.around((ast.BinOp, ast.Compare, ast.Call)):
            sides = [item.left, item.right] if isinstance(item, ast.BinOp) else [item.left, *item.comparators] if isinstance(item, ast.Compare) else item.args
            for wide, name in itertools.permutations(sides, 2) if len(sides) == 2 else ():
                inner = (
                    wide.value if isinstance(wide, ast.Subscript) else wide.args[0] if called(wide) == "expand_dims" and isinstance(wide, ast.Call) else None
                )
                if isinstance(name, ast.Name) and inner is not None and ast.unparse(inner) == name.id:
                    yield (
                        f"Compare {name.id} with its transpose at {line.at}",
                        [line.edit(wide, name.id), line.apply(name, "transpose")],
                        f"{name.id} is a column: with its transpose, there is one value for each pair of samples.",
                    )
                    return


@of(OperationRaised)
def pairs_of_rows(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A tensor that meets itself with an axis more: with an axis of its own in front of the rows, so that there is one value for each pair of rows."""
    for line in lines_of(evidence)[:1]:
        for (wide, many), (name, few) in itertools.permutations(line.shaped(), 2):
            parts = listed(wide.slice) if isinstance(wide, ast.Subscript) else []
            new = [at for at, part in enumerate(parts) if isinstance(part, ast.Constant) and part.value is None]
            inner = wide.value if isinstance(wide, ast.Subscript) else name
            if not isinstance(name, ast.Name) or wide is name or ast.unparse(inner) != name.id or len(new) != 1 or new[0] < 2 or len(many) != len(few) + 1:
                continue
            index = ", ".join([*[":"] * (new[0] - 1), "None"])
            yield (
                f"Compare all pairs of rows of {name.id} at {line.at}: {name.id}[{index}]",
                [line.edit(name, f"{IT}[{index}]")],
                "Each row is then combined with every other.",
            )
            return


@of(EveryPair)
def one_value_given(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """What a layer gets with one value a sample on an axis of its own, such as a class, without that axis: what it looks up then has none either."""
    flow, node = evidence.flow, evidence.flow.node(finding.nodes[0])
    for line in lines_at(evidence, finding.location)[:1]:
        stored = [one.id for one in nodes(line.scope, ast.Name) if isinstance(one.ctx, ast.Store)]
        given = [
            (flow.node(edge.target).called, edge.spec.shape)
            for edge in flow.edges
            if flow.node(edge.target).kind == "layer" and flow.node(edge.target).parent == node.parent != "" and flow.node(edge.source).parent != node.parent
        ]
        lines = {place.line for place, shape in given if place is not None and shape is not None and shape[1:] == (1,)}
        calls = [call for call in nodes(line.scope, ast.Call) if call.lineno in lines]
        names = dict.fromkeys(one.id for call in calls for one in call.args if isinstance(one, ast.Name) and stored.count(one.id) < 2)
        for name in names:
            reads = [one for one in nodes(line.scope, ast.Name) if one.id == name and isinstance(one.ctx, ast.Load)]
            yield (
                f"Take the only value of {name} for each sample at line {reads[0].lineno}",
                [line.edit(one, f"{IT}[:, 0]") for one in reads],
                f"{name} has one value for each sample, and its last axis stays in what is made of it.",
            )


def _shape_of(line: Line, name: ast.Name, rank: int) -> ast.Tuple | ast.List | None:
    for made in reversed(given_to(line.scope, name, line.raised.line)):
        for call in nodes(made, ast.Call):
            for word in words_of(call):
                sizes = listed(word)
                if len(sizes) == rank and all(size_of(size) == 1 for size in sizes[1:]) and isinstance(word, (ast.Tuple, ast.List)):
                    return word
    return None
