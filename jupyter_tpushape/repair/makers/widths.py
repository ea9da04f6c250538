"""Candidates for the width of a layer that a class of the user's own makes in ``__init__``."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Finding, Node, elements, show_shape
from ...flow.syntax import called, shape_read
from ...rules.facts.layers import OperationRaised
from ...rules.facts.loss import WrongUnits
from ...rules.facts.reasons import Lengths, Uneven
from ..edits import HeldLayer
from ..text.source import method_of, nodes
from .edits import Made, configure, created, known, of, setting, way_to, width_of
from .ends import compared, ends_of, head_of, of_classes
from .line import Line, assigned_to, lines_at, lines_of, listed, makers_of, own_layer, short, span_of
from .read_sizes import index_of
from .sliced import last_slices

_WIDTHS = ("units", "filters")


@of(OperationRaised)
def own_width(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The width of one of the two operands, where a layer gives it: as it is called in ``__init__``, or the number itself."""
    line, owner = next(iter(lines_of(evidence)), None), own_layer(evidence)
    if line is None or owner is None or len(fact.shapes) < 2 or not all(fact.shapes):
        return
    # Of more than two, the one that is unlike all others, which are equal.
    for index in range(len(fact.shapes) - 1, -1, -1):
        at = 0 if index else 1
        given, wanted = fact.shapes[index], fact.shapes[at]
        if any(shape != wanted for i, shape in enumerate(fact.shapes) if i != index):
            continue
        if not given or not wanted or None in (given[-1], wanted[-1]) or given[-1] == wanted[-1]:
            continue
        giver = _giver(evidence, owner, index, given[-1] or 0)
        if giver is None:
            continue
        argument = _width_of(line, giver, given[-1] or 0)
        if argument is None:
            continue
        names = [name for name, value in _handed(line, owner) if value == wanted[-1]]
        written = names[0] if len(names) == 1 else str(wanted[-1]) if isinstance(argument, ast.Constant) else _other_side(argument)
        beside = _giver(evidence, owner, at, wanted[-1] or 0) if not written else None
        like = _width_of(line, beside, wanted[-1] or 0) if beside is not None else None
        if like is not None and any({argument, like} <= {*ast.walk(init)} for init in nodes(line.owner(), ast.FunctionDef)):
            written = ast.unparse(like)
        if written:
            yield (
                f"Set the output size of {giver.name} to {wanted[-1]}: {written} instead of {ast.unparse(argument)} at line {argument.lineno}",
                [line.edit(argument, written)],
                "Its output then has the same size as the other operand.",
            )


def _other_side(argument: ast.expr) -> str:
    other = {0: 1, 1: 0, -1: 0, -2: 1}
    at = index_of(argument) if isinstance(argument, ast.Subscript) else None
    read = shape_read(argument.value) if isinstance(argument, ast.Subscript) else None
    matrix = isinstance(read, ast.Attribute) and read.attr in ("kernel", "_kernel", "embeddings")
    return f"{ast.unparse(argument.value)}[{other[at]}]" if matrix and at in other and isinstance(argument, ast.Subscript) else ""


def _giver(evidence: Evidence, owner: Node, index: int, size: int) -> Node | None:
    edges = evidence.failed_inputs() if evidence.failed is not owner else []
    if index < len(edges):
        node = evidence.flow.node(edges[index].source)
        # What only scales a tensor gives it no width.
        while node.kind == "op" and [edge.spec.shape for edge in evidence.flow.into(node.id)] == [edges[index].spec.shape]:
            node = evidence.flow.node(evidence.flow.into(node.id)[0].source)
        return node if _within(evidence, node, owner) else None
    wide = [node for node in evidence.flow.nodes if _within(evidence, node, owner) and any(node.config.get(key) == size for key in _WIDTHS)]
    return wide[-1] if wide else None


def _within(evidence: Evidence, node: Node, owner: Node) -> bool:
    while node.parent and node.parent != owner.id:
        node = evidence.flow.node(node.parent)
    return node.parent == owner.id


def _width_of(line: Line, giver: Node, size: int) -> ast.expr | None:
    if not any(giver.config.get(key) == size for key in _WIDTHS):
        return None
    calls = [call for call in makers_of(line, giver) if _as_made(call, giver)]
    if len(calls) != 1:
        return None
    word = next((word.value for word in calls[0].keywords if word.arg in _WIDTHS), None)
    return word or (calls[0].args[0] if calls[0].args else None)


def _as_made(call: ast.Call, node: Node) -> bool:
    said = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
    same = all(node.config[key] == value for key, value in said.items() if key in node.config)
    hidden = any(word.arg == "activation" and not isinstance(word.value, ast.Constant) for word in call.keywords)
    return same and (hidden or said.get("activation") in (node.config.get("activation"), "linear"))


def _handed(line: Line, owner: Node) -> Iterator[tuple[str, int]]:
    """The whole numbers that a class of the user's own is made with, by the names that its ``__init__`` has for them."""
    kinds = [item for item in nodes(line.source.tree, ast.ClassDef) if item.name == owner.op]
    calls = makers_of(line, owner)
    if len(kinds) != 1:
        return
    init = method_of(kinds[0], "__init__")
    names = [item.arg for item in init.args.args[1:]] if init is not None else []
    made = [{**dict(zip(names, call.args, strict=False)), **{word.arg or "": word.value for word in call.keywords}} for call in calls]
    given = [{name: item.value for name, item in one.items() if name in names and isinstance(item, ast.Constant) and type(item.value) is int} for one in made]
    # Of several on one line, the one that says what the layer has.
    fits = [one for one in given if len(given) == 1 or one.items() <= owner.config.items()]
    yield from fits[0].items() if len(fits) == 1 else ()


def projected_map(evidence: Evidence, finding: Finding) -> Made:
    """What a block adds to what it computes from it, with as many channels: a convolution of size 1 in ``__init__``."""
    yield from _projected(evidence, finding, convolved=True)


@of(OperationRaised)
def always_projected(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The projection of a block's shortcut without its condition."""
    line = next(iter(lines_of(evidence)), None)
    shaped = line.shaped() if line is not None and _adds(line) else []
    if line is None or len(shaped) != 2 or any(len(shape) < 3 for _, shape in shaped) or shaped[0][1][:-1] != shaped[1][1][:-1]:
        return
    init = method_of(line.owner(), "__init__")
    for item in nodes(init, ast.Assign) if init is not None else ():
        choice = item.value
        held = ast.unparse(item.targets[0])
        if not isinstance(choice, ast.IfExp) or not isinstance(choice.body, ast.Call) or not called(choice.body).startswith("Conv"):
            continue
        if any(ast.unparse(read) == held for read in nodes(line.scope, ast.Attribute)):
            yield (
                f"Create {held} in every case at line {item.lineno}: the channels differ",
                [line.edit(choice, line.source.of(choice.body))],
                f"It is created only if {ast.unparse(choice.test)}.",
            )


def projected_row(evidence: Evidence, finding: Finding) -> Made:
    """The same where nothing is convolved."""
    yield from _projected(evidence, finding, convolved=False)


def _projected(evidence: Evidence, finding: Finding, convolved: bool) -> Made:
    line, owner = next(iter(lines_of(evidence)), None), own_layer(evidence)
    shaped = line.shaped() if line is not None and isinstance(finding.fact, OperationRaised) else []
    merged = evidence.failed if evidence.failed is not None and evidence.failed.op == "Add" else None
    if line is not None and merged is not None and len(line.operands()) == 2:
        # The class is made for every block: what fits this one only, fits no other.
        shaped = [(node, edge.spec.shape or ()) for node, edge in zip(line.operands(), evidence.failed_inputs(), strict=False)]
    if line is None or owner is None or len(shaped) != 2 or not (merged or _adds(line)) or not isinstance(line.scope, ast.FunctionDef):
        return
    inside = [node for node in evidence.flow.nodes if node.parent == owner.id]
    if convolved != any("kernel_size" in node.config for node in inside):
        return
    taken = {item.arg for item in line.scope.args.args}
    for (node, shape), (_, wide) in itertools.permutations(shaped, 2):
        origin = assigned_to(line, node)
        # What the block was given, and not what it made of it.
        if not isinstance(origin, ast.Name) or origin.id not in taken or _overwritten(line, node, origin) or len(shape) != len(wide):
            continue
        strides = [(a or 0) // (b or 1) for a, b in zip(shape[1:-1], wide[1:-1], strict=True)]
        whole = all(a and b and a == b * n for a, b, n in zip(shape[1:-1], wide[1:-1], strides, strict=True))
        size, rank = wide[-1], len(shape) - 2
        if not size or (not whole and shape[1:-1] != wide[1:-1]) or (not convolved and shape[:-1] != wide[:-1]) or shape == wide:
            continue
        config: dict[str, Any] = {"filters" if convolved else "units": size}
        if convolved:
            config |= {"kernel_size": 1} | ({"strides": strides[0]} if strides and strides[0] > 1 else {})
        if len({*strides}) > 1 or (convolved and not 1 <= rank <= 3):
            continue
        kind = f"Conv{rank}D" if convolved else "Dense"
        said = f"{kind}({', '.join(str(value) if key != 'strides' else f'strides={value}' for key, value in config.items())})"
        # By its name, a stride of one block is not that of all.
        named = {key: [name for name, value in _handed(line, owner) if value == config.get(key)] for key in (*_WIDTHS, "strides")}
        given = {str(key): names[0] for key, names in named.items() if len(names) == 1}
        yield (
            f"Project {short(node)} in {owner.op}.{line.scope.name}: {said}",
            [HeldLayer(owner.name, line.raised.file, span_of(node), ast.unparse(node), "project", kind, config, given)],
            f"This is standard in residual blocks: both operands then have {size} values at each position.",
        )


def _adds(line: Line) -> bool:
    if isinstance(line.node, (ast.BinOp, ast.AugAssign)):
        return isinstance(line.node.op, ast.Add)
    return isinstance(line.node, ast.Call) and called(line.node) in ("add", "Add")


def _overwritten(line: Line, node: ast.expr, origin: ast.Name) -> bool:
    first = node if origin is node else next((item for item in nodes(line.scope, ast.Name) if item is origin), node)
    stored = [item for item in nodes(line.scope, ast.Name) if item.id == origin.id and isinstance(item.ctx, ast.Store)]
    return any((item.lineno, item.col_offset) < (first.lineno, first.col_offset) for item in stored)


def half_of_argument(evidence: Evidence, finding: Finding) -> Made:
    """An argument of a layer of the user's own from which the layer computes a table half as wide."""
    owner = own_layer(evidence)
    reason = finding.fact.reason if isinstance(finding.fact, OperationRaised) else None
    if owner is None or not isinstance(reason, Lengths) or bool(reason.first) == bool(reason.second):
        return
    old, new = (reason.right, reason.left) if reason.first else (reason.left, reason.right)
    # One that already has the size of the tensor is right.
    for name in [key for key, value in owner.config.items() if type(value) is int and value == 2 * old != new]:
        yield created(owner, name, 2 * new, "", f"Half of it, {old}, is combined with a tensor of size {new}.")


_HALVES = frozenset({"sin", "cos"})


@of(OperationRaised)
def odd_halves(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Sines and cosines side by side."""
    for line in lines_of(evidence)[:1]:
        shaped = line.shaped()
        for (wide, its), (other, wanted) in (shaped, shaped[::-1]) if len(shaped) == 2 else ():
            size, least = its[-1], wanted[-1]
            joined = {called(call) for call in nodes(assigned_to(line, wide), ast.Call)}
            if joined >= _HALVES and isinstance(other, ast.Name) and size and least and size == least + 1 and least % 2:
                yield (
                    f"Keep {least} of the {size} values of {short(wide)} at {line.at}",
                    [line.edit(wide, f"{ast.unparse(wide)}[..., : {other.id}.shape[-1]]")],
                    f"Sines and cosines of equal width add up to an even number; {least} is odd.",
                )


def reduced_axis(evidence: Evidence, finding: Finding) -> Made:
    """Another axis of the one reduction behind the predictions."""
    labels, predictions = ends_of(evidence, finding)
    wanted = labels.spec.shape if labels is not None and isinstance(finding.fact, WrongUnits) else None
    node = evidence.flow.node(predictions.source) if predictions is not None and wanted else None
    shape = predictions.spec.shape if predictions is not None else None
    # What has an axis fewer than its one input has reduced it.
    reduced = node
    while node is not None and wanted and shape is not None and len(shape) == len(wanted) and len(evidence.flow.into(node.id)) == 1:
        reduced, before = node, evidence.flow.into(node.id)[0]
        node, shape = evidence.flow.node(before.source), before.spec.shape
    if reduced is None or not wanted or not shape or len(shape) != len(wanted) + 1:
        return
    fits = [axis for axis in range(1, len(shape)) if (*shape[:axis], *shape[axis + 1 :]) == wanted]
    for line in lines_at(evidence, reduced.called) if len(fits) == 1 else ():
        axis = line.keyword("axis")
        if isinstance(axis, (ast.Constant, ast.UnaryOp)):
            yield (
                f"Use axis {fits[0]} instead of {ast.unparse(axis)} in the reduction at {line.at}",
                [line.edit(axis, str(fits[0]))],
                f"{show_shape(shape)} then becomes {show_shape(wanted)}.",
            )


@of(OperationRaised)
def width_of_both(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Twice the width of a layer whose output is split in two."""
    line, owner = next(iter(lines_of(evidence)), None), own_layer(evidence)
    cut = list(last_slices(line)) if line is not None else []
    if line is None or owner is None:
        return
    ends = [
        one.upper
        for (name, one), (same, other) in itertools.permutations(cut, 2)
        if one.upper is not None and other.lower is not None and same == name and ast.unparse(one.upper) == ast.unparse(other.lower)
    ]
    split = [listed(call.args[1]) for call in nodes(line.scope, ast.Call) if called(call) == "split" and len(call.args) > 1]
    for end in (*ends, *(places[0] for places in split if len(places) == 1)):
        half = line.number(end)
        for giver in (node for node in evidence.flow.nodes if half and _within(evidence, node, owner)):
            whole = next((giver.config[key] for key in _WIDTHS if type(giver.config.get(key)) is int), 0)
            argument = _width_of(line, giver, whole) if half and half <= whole < 2 * half else None
            if argument is not None and half and (end in ends or {*fact.apart} & {(half, whole - half), (whole - half, half)}):
                text = ast.unparse(argument)
                written = f"2 * {text}" if whole == half and isinstance(argument, (ast.Name, ast.Attribute)) else str(2 * half)
                yield (
                    f"Set the output size of {giver.name} to {2 * half}: {written} instead of {text} at line {argument.lineno}",
                    [line.edit(argument, written)],
                    f"It is split at {half}, and both parts are used together.",
                )


@of(OperationRaised)
def width_of_pieces(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """As many times the width of a layer as its output is split into."""
    line, owner = next(iter(lines_of(evidence)), None), own_layer(evidence)
    if line is None or owner is None or len(fact.shapes) != 2:
        return
    aligned = zip(reversed(fact.shapes[0] or ()), reversed(fact.shapes[1] or ()), strict=False)
    apart = [(a, b) for a, b in aligned if a and b and a != b and 1 not in (a, b)]
    for call in nodes(line.scope, ast.Call):
        pieces = line.number(call.args[1]) if called(call) == "split" and len(call.args) > 1 else None
        for giver in (node for node in evidence.flow.nodes if pieces and pieces > 1 and _within(evidence, node, owner)):
            whole = next((giver.config[key] for key in _WIDTHS if type(giver.config.get(key)) is int), 0)
            wanted = {a if b * pieces == whole else b for a, b in apart if whole in (a * pieces, b * pieces)} if pieces else set()
            argument = _width_of(line, giver, whole) if len(wanted) == 1 else None
            if argument is None or not pieces:
                continue
            new, text = pieces * wanted.pop(), ast.unparse(argument)
            names = [name for name, value in _handed(line, owner) if value == new]
            written = (
                names[0] if len(names) == 1 else f"{pieces} * {text}" if new == pieces * whole and isinstance(argument, (ast.Name, ast.Attribute)) else str(new)
            )
            yield (
                f"Set the output size of {giver.name} to {new}: {written} instead of {text} at line {argument.lineno}",
                [line.edit(argument, written)],
                f"It is split into {pieces} pieces of {new // pieces} values.",
            )


@of(OperationRaised)
def width_of_rest(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The width of what is left of an input behind a part of it."""
    line, owner = next(iter(lines_of(evidence)), None), own_layer(evidence)
    init = method_of(line.owner(), "__init__") if line is not None else None
    if line is None or owner is None or init is None:
        return
    for old, new in dict.fromkeys((*fact.apart, *((b, a) for a, b in fact.apart))):
        wholes = [key for key, value in owner.config.items() if type(value) is int and value == old + new]
        parts = [name for name, value in line.numbers.items() if value == old and name.startswith("self.")]
        if old == new or len(wholes) != 1 or len(parts) != 1:
            continue
        made = [call for call in nodes(init, ast.Call) if called(call)[:1].isupper()]
        reads = {item for call in made for item in nodes(call, ast.Attribute) if ast.unparse(item) == parts[0]}
        if reads:
            yield (
                f"Use {wholes[0]} - {parts[0]} ({new}) instead of {parts[0]} ({old}) for the layers that {owner.op}.__init__ creates",
                [line.edit(item, f"({wholes[0]} - {parts[0]})") for item in sorted(reads, key=lambda item: (item.lineno, item.col_offset))],
                f"The rest of the {old + new} values is {new} wide.",
            )


@of(OperationRaised)
def units_of_target(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A head as wide as the grid that a loss reshapes its output to."""
    if not isinstance(fact.reason, Uneven) or fact.reason.target[:1] != (None,):
        return
    shape, want = fact.reason.shape, elements(fact.reason.target[1:])
    labels = [elements(tuple(spec.shape or ())[1:]) for _, spec in evidence.y]
    last = next((edge.source for edge in evidence.failed_inputs() if edge.spec.shape == shape), "")
    head = head_of(evidence, evidence.flow.node(last)) if last else None
    if head is not None and len(shape) == 2 and want and labels == [want]:
        yield setting(head, width_of(head), want, ", one for each value of a label", "The labels determine the number.")


def reshaped_end(evidence: Evidence, finding: Finding) -> Made:
    """A Dense that a reshape at the end of the model folds."""
    for last, (_, *y), (_, *p) in compared(evidence, finding):
        target = last.config.get("target_shape")
        head = next((node for node in way_to(evidence, last) if node is not last and isinstance(node.config.get("units"), int)), None)
        if not target or len(target) != len(p) or len(y) != len(p) or head is None or not known(tuple(y)) or y == p:
            return
        values = elements(tuple(y)) or 0
        if head.config["units"] == elements(tuple(p)) and values:
            row = [-1 if size == -1 and want == have else int(want or 0) for size, want, have in zip(target, y, p, strict=True)]
            yield (
                f"Set units={values} on {head.name}, and target_shape={tuple(row)} on {last.name}: the shape of a label",
                [configure(head.name, units=values), configure(last.name, target_shape=row)],
                "The labels determine both.",
            )


@of(OperationRaised)
def width_of_table(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """As many units as a table of the loss has values."""
    _, predictions = ends_of(evidence, finding)
    tables = [
        shape[-1] for one in evidence.given if one.giver is None and (shape := one.spec.shape) and set(shape[:-1]) <= {1} and shape[-1] != 1 and not one.grows
    ]
    if predictions is None or len(tables) != 1 or not tables[0] or isinstance(fact.reason, Uneven):
        return
    head = head_of(evidence, evidence.flow.node(predictions.source))
    if head is not None and of_classes(evidence, head):
        return  # it is the table that has another number
    if head is not None and predictions.spec.shape and head.config.get(width_of(head)) == predictions.spec.shape[-1]:
        why = f"The loss has a table of {tables[0]} values."
        yield setting(head, width_of(head), tables[0], ", one for each value of the table", why)
