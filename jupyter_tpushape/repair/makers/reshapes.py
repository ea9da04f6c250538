"""Candidates that give numbers another shape: targets of a reshape, axes folded, added or exchanged, channels that divide."""

from __future__ import annotations

import ast
import itertools
import math

from ...examine.evidence import Evidence
from ...examine.heard import HeardDivisor, hear
from ...flow import Finding, Shape, Who, elements, show_shape
from ...flow.observed import passes
from ...flow.syntax import called
from ...graph import Given, below
from ...rules.facts.layers import OperationRaised, WrongCount, WrongRank
from ...rules.facts.loss_silent import RowsLost
from ...rules.facts.mixing import RowsJoined, Straddling
from ...rules.facts.reasons import LacksAxis, Pieces, RowsMade, SumsOverBatch, Uneven, Unsplit
from ...rules.words import axes_of, count
from ..edits import Edit, ReplaceLayer
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes, words_of
from .edits import Made, created, failing, flattened, given, gives, images, insert, known, named, of, owner_of, reshaped_before, setting, squared, way_to
from .line import Line, assigned_to, calls_at, constants, defaults, factors, lines_at, lines_of, listed, makers_of, own_layer, reshaped, short, written_in


@of(OperationRaised)
def rows_of_matrix(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The rows that a matrix is multiplied by, where each sample came as one row of all values."""
    layer, reason = own_layer(evidence), fact.reason
    if isinstance(reason, SumsOverBatch) and reason.rows and layer is not None:
        yield reshaped_before(layer.name, "Give each sample an axis for the matrix: add ", reason.rows)
    for line in lines_of(evidence) if isinstance(reason, LacksAxis) and reason.matrix else ():
        for item in [item for item, shape in line.shaped() if isinstance(reason, LacksAxis) and shape == reason.short][:1]:
            shape, why = (-1, *getattr(reason, "matrix", ())), "The values of each sample are a matrix."
            yield f"Reshape {short(item)} to {shape} at {line.at}", [line.edit(item, f"{MODULE}.reshape({IT}, {shape})", line.module())], why


@of(OperationRaised)
def one_row_each(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """As many units as a reshape behind them has values for each sample."""
    reason, node = fact.reason, evidence.failed
    if isinstance(reason, RowsMade):
        node, before, after = next((one for one in evidence.flow.nodes if Who.of(one) == reason.reshape), None), reason.before, reason.after
    elif isinstance(reason, Uneven) and len(reason.shape) == 2 and len(reason.target) > 2 and None not in reason.target[1:]:
        before, after = reason.shape, reason.target
        node = node if before[:1] == after[:1] else None
    else:
        return
    for edge in evidence.flow.into(node.id)[:1] if node is not None else ():
        giver = evidence.flow.node(edge.source)
        if giver.config.get("units") == before[-1]:
            yield setting(giver, "units", elements(after[1:]), "", f"The reshape after it needs {elements(after[1:])} values of each sample.")


def reshape_before(evidence: Evidence, finding: Finding) -> Made:
    """Axes folded or added in front of the layer that wants another number of them."""
    node, shape = failing(evidence)
    if shape is None:
        return
    if not known(shape[1:]):
        if len(axes_of(node.op)) == 3 and len(shape) > 3 and known(shape[2:]):
            yield (
                f"Flatten each step separately: add TimeDistributed(Flatten()) before {node.name}",
                [insert(node.name, "TimeDistributed", layer="Flatten")],
                "Works for any number of steps.",
            )
        return
    row = [int(n or 0) for n in shape[1:]]
    fact = finding.fact
    told = isinstance(fact, WrongRank) and (not fact.bound or (fact.bound == "min" and len(shape) < fact.wanted))
    wanted = fact.wanted if isinstance(fact, WrongRank) and told else len(axes_of(node.op)) or 3
    yield from _to_rank(node.name, row, wanted, image=_folded(evidence))
    if wanted == 2 and len(row) > 1:
        yield flattened(node.name)


@of(WrongCount)
def larger_map(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """A map that is folded to more positions than it has."""
    node, shape = failing(evidence)
    target = node.config.get("target_shape")
    if not target or not shape or len(shape) not in (3, 4) or not known(shape[1:]) or target[-1] != shape[-1] or -1 in target:
        return
    times, rest = divmod(math.prod(target), elements(shape[1:]) or 1)
    by = round(times ** (1 / (len(shape) - 2)))
    if not rest and by > 1 and by ** (len(shape) - 2) == times:
        kind = f"UpSampling{len(shape) - 2}D"
        yield (
            f"Upsample by {by} before {node.name}: add {kind}({by})",
            [insert(node.name, kind, size=by)],
            f"The target has {times} times as many positions as the map, with the same channels.",
        )


@of(RowsJoined)
def rows_apart(evidence: Evidence, finding: Finding, fact: RowsJoined) -> Made:
    """A row for each sample: the number of rows is that of the tensor, and the size of a row follows; or the sides of a map as they are."""
    for line in lines_at(evidence, finding.location)[:1]:
        found = []
        for call in nodes(line.scope, ast.Call):
            target = next((one for one in words_of(call) if isinstance(one, (ast.Tuple, ast.List))), None)
            if called(call) == "reshape" and target is not None and len(target.elts) == 2 and ast.unparse(target.elts[0]) == "-1" and call.args:
                parts = factors(target.elts[1])
                if math.prod(line.number(one) or 0 for one in parts) == elements(fact.after[1:]):
                    found.append((call, target, parts))
        if not found:
            continue
        values = elements(fact.before[1:]) or 0
        yield from _smaller_sides(line, found[0][2], values)
        yield (
            f"Give each sample its own row: reshape {' and '.join(dict.fromkeys(short(call.args[0]) for call, _, _ in found))} to (rows, -1)",
            [line.edit(target, f"({ast.unparse(call.func).removesuffix('.reshape')}.shape({ast.unparse(call.args[0])})[0], -1)") for call, target, _ in found],
            f"A sample has {values:,} values.",
        )


@of(RowsLost)
def positions_apart(evidence: Evidence, finding: Finding, fact: RowsLost) -> Made:
    """The positions of each sample on an axis apart, as the labels have them."""
    whole = fact.predictions == (elements(fact.labels[:2]), *fact.labels[2:])
    for line, call in calls_at(evidence, finding.location, "reshape") if whole else ():
        array, sizes = reshaped(line, call)
        if array is not None and sizes and ast.unparse(sizes[0]) == "-1":
            yield (
                f"Keep the samples apart at {line.at}: {show_shape(fact.labels)}",
                [line.edit(sizes[0], f"{MODULE}.shape({ast.unparse(array)})[0], -1", line.module())],
                "Each position of a sample has a label.",
            )


def _smaller_sides(line: Line, factors: list[ast.expr], values: int) -> Made:
    """Named sides of a square map, each as long as the map's: what else is made of them then has its size, too."""
    side, names = math.isqrt(values), {ast.unparse(one) for one in factors}
    written = {(made.lineno, made.col_offset): (name, made) for name, made in constants(line.source.tree) if name in names}
    if len(factors) == 2 and side * side == values and len({line.number(one) for one in factors}) == 1 and written:
        said = " and ".join(f"{name} = {side}" for name in sorted(names))
        edits = [line.edit(made, str(side)) for _, made in written.values()]
        yield f"Set {said}, the sides of the map", edits, f"A sample has {values:,} values, {side} × {side}."


def divided(evidence: Evidence, finding: Finding) -> Made:
    """As many channels as an operation that deals them out needs."""
    node = evidence.failed
    said = hear(node.failure, HeardDivisor) if node is not None else None
    reason = getattr(finding.fact, "reason", None)
    if isinstance(reason, Unsplit):
        said = HeardDivisor(reason.size, reason.parts)
    giver = next((evidence.flow.node(edge.source) for edge in evidence.failed_inputs()), None) if node is not None else None
    if said is not None and giver is not None and giver.config.get("units") == said.given:
        # A loss compares a part with a label.
        labels = [spec.shape[-1] or 0 for _, spec in evidence.y if spec.shape and len(spec.shape) > 1] if evidence.where == "loss" else []
        each = labels[0] if len(labels) == 1 else said.given
        wanted, why = said.divisor * each, f"The output is split into {said.divisor} parts, of {count(each, 'value')} each."
        for line in lines_at(evidence, giver.location)[:1]:
            for units in [one for call in makers_of(line, giver) if (one := argument(call, "units", ["units"])) is not None][:1]:
                names = [one for one in nodes(units, ast.Name) if line.number(one)]
                whole = units is (names or [None])[0] and line.number(units) == said.given == each
                # As many for each part as the name that the size is computed from says.
                if whole or (isinstance(units, ast.BinOp) and len(names) == 1 and (line.number(names[0]) or 0) > each):
                    name = names[0].id
                    new = f"{said.divisor} * {name}"
                    yield (f"Set units={new} on {giver.name}, one {name} for each part", [line.edit(units, new)], why.partition(", of")[0] + ".")
                    if not whole:
                        return
        yield setting(giver, "units", wanted, f": {said.divisor} times {each}", why)
    if said is None or giver is None or giver.config.get("filters") != said.given:
        return
    channels = {spec.shape[-1] for _, spec in evidence.y if spec.shape and len(spec.shape) == 4}
    most = channels.pop() if len(channels) == 1 else -(-said.given // said.divisor)
    wanted = (most or 1) * said.divisor
    why = f"{said.given} channels cannot be divided into {said.divisor} groups."
    yield setting(giver, "filters", wanted, f": {most} times {said.divisor}", why)


@of(OperationRaised)
def all_pieces(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """As many units as the pieces of a split have together."""
    reason = fact.reason
    if not isinstance(reason, Pieces):
        return
    for edge in evidence.failed_inputs()[:1]:
        for node in way_to(evidence, evidence.flow.node(edge.source))[:2]:
            for key in ("units", "filters"):
                if node.config.get(key) == reason.size:
                    pieces = " + ".join(map(str, reason.pieces))
                    yield setting(node, key, sum(reason.pieces), f": {pieces}", f"The split needs {sum(reason.pieces)} values.")
                    return


def dealt_channels(evidence: Evidence, finding: Finding) -> Made:
    """As many channels as a reshape to rows of a written size deals out."""
    node, shape = failing(evidence)
    target = [int(n) for n in node.config.get("target_shape") or ()]
    giver = next((evidence.flow.node(edge.source) for edge in evidence.failed_inputs()), None)
    if len(target) != 2 or target[0] != -1 or not shape or len(shape) < 3 or giver is None or giver.config.get("filters") != shape[-1]:
        return
    filters, size = shape[-1] or 0, target[1]
    if size % filters == 0:
        return  # the channels times the positions of another axis
    for times in (-(-filters // size), filters // size):
        if filters % size and times:
            why = f"Each position then has {'one row' if times == 1 else f'{times} rows'} of {size} values."
            yield setting(giver, "filters", times * size, f": {times} times {size}", why)


@of(WrongCount)
def width_for_blocks(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """The written width of the layer whose channels a reshape splits into blocks, all other axes staying as they are."""
    edge = next(iter(evidence.failed_inputs()), None)
    channels = {spec.shape[-1] for _, spec in evidence.y if spec.shape and len(spec.shape) == len(fact.given)}
    block = fact.block or fact.emptied * (channels.pop() or 1 if len(channels) == 1 else 1)
    if not block or edge is None or not edge.spec.shape:
        return
    ways = way_to(evidence, evidence.flow.node(edge.source))
    maker = next((node for node in ways if node.kind == "layer" and node.weights and not {"filters", "units", "output_dim"}.isdisjoint(node.config)), None)
    for key in ("filters", "units", "output_dim"):
        if maker is not None and maker.config.get(key) == edge.spec.shape[-1]:
            yield setting(maker, key, block, "", f"The reshape splits the last axis into blocks of {fact.block or fact.emptied} values.")


@of(WrongCount)
def channels_of_target(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """As many channels as a target of the labels' shape has values at each position of the map in front of it."""
    node, shape = failing(evidence)
    target = [int(n) for n in node.config.get("target_shape") or ()]
    giver = next((evidence.flow.node(edge.source) for edge in evidence.failed_inputs()), None)
    labels = [tuple(spec.shape or ())[1:] for _, spec in evidence.y]
    if giver is None or not shape or len(shape) < 3 or not known(shape[1:]) or labels != [tuple(target)]:
        return
    positions, wanted = elements(shape[1:-1]) or 1, math.prod(target)
    if giver.config.get("filters") == shape[-1] and wanted % positions == 0:
        yield setting(giver, "filters", wanted // positions, "", f"The labels have {wanted // positions} values at each of {positions} positions.")


@of(WrongCount)
def width_of_each(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """The last size of a target in the widths of all the layers whose values it takes, where they were made with another number."""
    row, have, want = fact.target[-1] or 0, elements(fact.given) or 0, elements(fact.target) or 1
    size = have * row // want
    node, _ = failing(evidence)
    here = next(iter(lines_at(evidence, node.called)), None)
    target = [one for shape in (written_in(here, node, "target_shape") if here is not None else []) for one in listed(shape)]
    if here is None or have * row % want or size < 2 or not target or here.number(target[-1]) != row:
        return
    parts = list(evidence.origins.of(evidence.failed_inputs()[0])[1:])
    edits: dict[tuple[int, int], Edit] = {}
    for part in parts:
        parts += below(part)
        maker = named(evidence, part.who)
        if not isinstance(part, Given) or part.argument not in ("filters", "units") or maker is None:
            continue
        for line in lines_at(evidence, maker.location)[:1]:
            widths = written_in(line, maker, part.argument)
            times = [one for width in widths for one in nodes(width, (ast.Name, ast.Constant)) if line.number(one) == size]
            for one in times[:1] if part.size % size == 0 else ():
                text = ast.unparse(target[-1])
                edits[one.lineno, one.col_offset] = line.edit(one, f"({text})" if isinstance(target[-1], ast.BinOp) else text)
    if edits:
        yield (
            f"Use {ast.unparse(target[-1])}, which is {row}, for the widths of the layers",
            [*edits.values()],
            f"They were made for rows of {size} values, and the reshape makes rows of {row}.",
        )


@of(OperationRaised)
def created_for_size(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A size that a layer of the user's own was created with."""
    owner = own_layer(evidence)
    if owner is None or not isinstance(fact.reason, Uneven) or None in fact.reason.target[1:]:
        return
    shape, target = fact.reason.shape, fact.reason.target
    have, want = elements(shape[1:]), elements(target[1:])
    if not have or not want or shape[:1] != target[:1]:
        return
    for line in lines_of(evidence)[:1]:
        _, sizes = reshaped(line)
        read = {ast.unparse(item) for size in sizes for item in nodes(size, (ast.Name, ast.Attribute))}
        written = {line.numbers[name] for name in read if name in line.numbers}
        found = [(key, value) for key, value in owner.config.items() if type(value) is int and value in written and have * value % want == 0]
        made = [(key, size) for key, value in found if have != want and (size := have * value // want) > 1]
        # First a size that arrives.
        for key, size in sorted(made, key=lambda pair: pair[1] not in shape):
            yield created(owner, key, size, "", f"Each sample has {have:,} values, {size} × {have // size}.")


def width_of_part(evidence: Evidence, finding: Finding) -> Made:
    """The width of one part, where a layer of the user's own keeps the whole width and its reshape splits it into parts."""
    fact, reason = finding.fact, getattr(finding.fact, "reason", None)
    shape = reason.shape if isinstance(reason, Uneven) else fact.given if isinstance(fact, WrongCount) else ()
    width = (shape[-1] if shape else 0) or 0
    for line in lines_of(evidence)[:1]:
        parts = {ast.unparse(size): number for size in reshaped(line)[1] if (number := line.number(size)) and ast.unparse(size).startswith("self.")}
        kept = {ast.unparse(item.targets[0]): item.value for item in nodes(line.owner(), ast.Assign)}
        for (whole, _), (several, count_) in itertools.permutations(parts.items(), 2):
            value, by = kept.get(whole), kept.get(several)
            if parts[whole] == width != count_ and width % count_ == 0 and isinstance(value, ast.Name) and isinstance(by, ast.Name):
                yield (
                    f"Set {whole} to {value.id} // {by.id} at line {value.lineno}: {width // count_}",
                    [line.edit(value, f"{value.id} // {by.id}")],
                    f"Each of the {count_} parts has {width // count_} of the {width} values.",
                )


@of(Straddling)
def created_for_row(evidence: Evidence, finding: Finding, fact: Straddling) -> Made:
    """A layer of the user's own created for as many values as a row has."""
    node = evidence.flow.node(finding.nodes[0])
    owner = owner_of(evidence, node) if node.kind != "layer" else None
    line = next(iter(lines_at(evidence, finding.location)), None)
    set_to = (defaults(line) if line is not None else {}) | (owner.config if owner is not None else {})
    keys = [key for key, value in set_to.items() if type(value) is int and value == fact.block]
    if owner is not None and len(keys) == 1:
        yield created(owner, keys[0], fact.width, f": a row has {fact.width} values", "Each row then stays together.")


@of(OperationRaised)
def merged_axes(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The last two sizes of a reshape as one, where the tensor that it meets has that many values."""
    for line in lines_of(evidence)[:1]:
        for (node, shape), (other, its) in itertools.permutations(line.shaped(), 2):
            call = assigned_to(line, node)
            target = next((one for one in words_of(call) if isinstance(one, (ast.Tuple, ast.List))), None) if isinstance(call, ast.Call) else None
            if target is None or called(call) != "reshape" or len(target.elts) != len(shape) or len(shape) < 3 or len(its) >= len(shape):
                continue
            if its[-1] and elements(shape[-2:]) == its[-1] and len(target.elts) > 2:
                *rest, one, two = (ast.unparse(size) for size in target.elts)
                size = "-1" if "-1" in (one, two) else f"{one} * {two}"
                yield (
                    f"Merge the last two sizes of the reshape at line {target.lineno}: {size}",
                    [line.edit(target, f"({', '.join([*rest, size])})")],
                    f"{short(other)} has {its[-1]} values, {shape[-2]} times {shape[-1]}.",
                )


def uneven_reshape(finding: Finding) -> tuple[Shape, Shape]:
    """What is reshaped and what it is to become, where their numbers of values differ."""
    fact = finding.fact
    if isinstance(fact, WrongCount):
        return fact.given, fact.target
    reason = fact.reason if isinstance(fact, OperationRaised) else None
    return (reason.shape, reason.target) if isinstance(reason, Uneven) else ((), ())


def even_heads(evidence: Evidence, finding: Finding) -> Made:
    """As many heads as divide the width of a layer of the user's own."""
    owner, (shape, target) = own_layer(evidence), uneven_reshape(finding)
    if owner is None or len(target) < 2 or not shape:
        return
    width, heads = shape[-1] or 0, target[-2]
    line = next(iter(lines_of(evidence)), None)
    set_to = (defaults(line) if line is not None else {}) | owner.config
    arguments = [key for key, value in set_to.items() if type(value) is int and value == heads]
    divisors = [n for n in range(2, width) if width % n == 0]
    if heads is None or len(arguments) != 1 or not divisors or width % heads == 0:
        return
    for n in sorted(divisors, key=lambda n: abs(n - heads))[:2]:
        yield created(owner, arguments[0], n, f": {width} is a multiple of {n}", f"{width} cannot be divided by {heads}.")


def permute(evidence: Evidence, finding: Finding) -> Made:
    """A Permute where a reshape exchanged axes."""
    node = evidence.flow.node(finding.nodes[0])
    before = given(evidence, node)
    after = gives(evidence, node)
    if node.kind != "layer" or not before or not after or len(before) != len(after):
        return
    from .transposed import permutation

    order = permutation(before[1:], after[1:])
    if order is not None:
        dims = [n + 1 for n in order]
        yield (
            f"Swap the axes with Permute({tuple(dims)})",
            [ReplaceLayer(node.name, "Permute", config={"dims": dims})],
            "Moves the values along with the axes.",
        )


def permuted_first(evidence: Evidence, finding: Finding) -> Made:
    """The frames moved next to the channels before a reshape makes one axis of both."""
    node = evidence.flow.node(finding.nodes[0])
    before, after = given(evidence, node), gives(evidence, node)
    if node.kind == "layer" and before and after and len(before) == len(after) + 1 > 4 and before[2:-1] == after[1:-1]:
        dims = [*range(2, len(before) - 1), 1, len(before) - 1]
        yield (
            f"Move axis 1 next to the channels before {node.name}: add Permute({tuple(dims)})",
            [insert(node.name, "Permute", dims=dims)],
            "Moves the values along with the axes.",
        )


def _folded(evidence: Evidence) -> bool:
    """Whether the values that the failing layer gets can be those of an image: the data's, folded ones, or a Dense layer's. Channels are none."""
    edge = next(iter(evidence.failed_inputs()), None)
    node = evidence.flow.node(edge.source) if edge is not None else None
    while node is not None and node.kind == "layer" and not node.weights and node.op != "Flatten" and passes(evidence.flow, node):
        node = next((evidence.flow.node(one.source) for one in evidence.flow.into(node.id)), None)
    return node is None or node.kind in ("input", "stage") or node.op == "Flatten" or "units" in node.config


def _to_rank(name: str, row: list[int], wanted: int, image: bool) -> Made:
    if wanted == 3 and len(row) == 3:
        if 1 in row[:-1]:
            # One step alone is no sequence.
            yield reshaped_before(name, "Squeeze the axis of size 1: add ", [row[1] if row[0] == 1 else row[0], row[2]])
            return
        folded = row[1] * row[2], row[0] * row[1]
        why = f"{row[0]} steps of {folded[0]} features; keeps every value."
        yield reshaped_before(name, "Treat the rows as time steps: add ", [row[0], folded[0]], why)
        why = f"A sequence of {folded[1]} steps is slow on any device."
        yield reshaped_before(name, "Treat every position as a time step: add ", [folded[1], row[2]], why)
    elif wanted == 3 and len(row) > 3:
        yield reshaped_before(name, "Treat the first axis as time: add ", [row[0], math.prod(row[1:])])
    elif len(row) < wanted - 1:
        for side, channels in images(row[0]) if image and wanted == 4 and len(row) == 1 else ():
            yield reshaped_before(name, "Restore the image: add ", [side, side, channels], squared(row[0], side, channels))
        why = "An axis of size 1 does not add values."
        yield reshaped_before(name, "Add the missing axis: ", [*row, *([1] * (wanted - 1 - len(row)))], why)
        if wanted == 3 and len(row) == 1:
            yield reshaped_before(name, "Treat each row as one time step: add ", [1, row[0]], "Each sample is a sequence of one step.")
    elif len(row) > wanted - 1:
        yield reshaped_before(name, "Merge the extra axes into the last one: add ", [*row[: wanted - 2], math.prod(row[wanted - 2 :])])
