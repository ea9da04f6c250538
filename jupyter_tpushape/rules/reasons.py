"""Why an operation does not accept its inputs: which axis is the batch, which size is hard-coded, which axis is missing."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ..examine.evidence import Evidence, Given
from ..examine.given_names import Texts
from ..examine.heard import HeardDivisor, HeardPieces, HeardUnequal, hear
from ..examine.heard_contracts import HeardNoAxis, HeardUneven
from ..examine.heard_data import HeardCompared, HeardSqueezed
from ..examine.heard_jax import HeardPairs
from ..flow import Edge, Node, Shape, Who, elements, show_shape, syntax
from ..flow.syntax import names_in
from ..graph import Axis, axes, written
from .emptied import emptied
from .facts.reasons import (
    AxisDropped,
    ClassesSummed,
    ClassIndices,
    Column,
    Columns,
    EachRow,
    Exchanged,
    Halves,
    InARow,
    LacksAxis,
    Lengths,
    NoAxis,
    OneElsewhere,
    OneSample,
    OneStep,
    PairOfEach,
    PairOfVectors,
    PairsBeside,
    PerClass,
    PickedOverBatch,
    Pieces,
    Reason,
    Reversed,
    RowsMade,
    RowsWanted,
    ScanRows,
    StackedAhead,
    SumsOverBatch,
    Uneven,
    Unsplit,
    WholeOnly,
    WrittenRows,
)
from .facts.reasons_read import Multiples, Unsqueezed
from .moved import turned_around
from .reasons_read import counted_vectors, dims_dropped, letters, multiples, read, samples_reduced
from .upstream import ancestors, cause_of_axes, made_by, steps_of
from .words import PAIRING, SLICES, STACKS, placed

_PARTS = ("reshape", *SLICES)
_DIFFERENCES = ("sub", "subtract", "squareddifference", "squared_difference")
_PRODUCTS = ("MatMul", "BatchMatMul", "Einsum", "dot_general")


def _one_step(scanned: Shape, operands: list[Given]) -> bool:
    """Whether an operand is what a loop takes for one step, or made of it: it meets a state with a row for each sample."""
    if any(one.spec.shape == scanned[1:] for one in operands):
        return True
    shapes = [one.spec.shape or () for one in operands]
    # Axes may have been added behind those of the step, such as the states of each channel.
    made = [shape for shape in shapes if len(shape) >= len(scanned) - 1 and shape[: len(scanned) - 2] == scanned[1:-1]]
    return bool(made) and any(len(shape) == len(made[0]) and shape[:1] == scanned[:1] != made[0][:1] for shape in shapes)


def product_of_rows(evidence: Evidence, giver: Node | None) -> list[Edge]:
    """What a product multiplies that takes a vector for each sample for one matrix of all of them."""
    edges = evidence.flow.into(giver.id) if giver is not None and giver.op.startswith(_PRODUCTS[:2]) else []
    shapes = [edge.spec.shape or () for edge in edges]
    return edges if [len(shape) for shape in shapes] == [3, 2] and shapes[0][0] == shapes[1][0] and shapes[0][2] == shapes[1][1] else []


def no_axis(node: Node, shape: Shape) -> NoAxis | None:
    """That what an operation works on has no such axis."""
    axis = hear(node.failure, HeardNoAxis)
    new = node.op.lower().startswith("expand")  # counts the new axis
    return NoAxis(axis.axis, shape, new) if axis is not None and len(shape) + new == axis.rank else None


def operands(node: Node, why: Reason | None, shapes: tuple[Shape | None, ...]) -> tuple[Shape | None, ...]:
    """The shapes of what an operation works on: the target of a reshape and the axis of a reduction or of a split are tensors, too."""
    if isinstance(why, Unsplit):
        return tuple(filter(None, shapes))
    return shapes[:1] if node.op == "Reshape" or isinstance(why, (NoAxis, Multiples)) else shapes


def reason(evidence: Evidence, node: Node) -> Reason | None:
    """Why the two operands of the failed operation are incompatible."""
    # The axis of a concatenation is a number among its tensors.
    joins = node.op.lower() in _JOINS
    plain = joins or node.op.lower().startswith("select")
    operands = [one for one in evidence.given if one.spec.shape is not None and not (plain and one.spec.shape == ())]
    uneven = hear(node.failure, HeardUneven)
    gone = emptied(evidence) or multiples(evidence, node, operands) or letters(evidence, node, operands) or counted_vectors(evidence)
    if gone is not None:
        return gone
    reduced = samples_reduced(evidence, operands, uneven.target if uneven is not None else ())
    if reduced is not None:
        return reduced
    if uneven is not None and operands and (len(operands) == 1 or "reshape" in node.op.lower()):
        shape = operands[0].spec.shape or ()
        return Uneven(shape, uneven.target, steps_of(evidence, node, uneven.target, shape))
    split = hear(node.failure, HeardDivisor)
    if split is not None:
        givers = [one.giver.name for one in operands if split.given in (one.spec.shape or ()) and one.giver is not None]
        return Unsplit(split.given, split.divisor, givers[0] if len(givers) == 1 else "")
    parts, axis = (node.config.get(f"operand{place}", 0) for place in (1, 2))  # JAX says neither of them
    shape = operands[0].spec.shape or () if node.op == "Split" and operands else ()
    if isinstance(parts, int) and isinstance(axis, int) and -len(shape) <= axis < len(shape) and parts > 1 and (shape[axis] or 0) % parts:
        above = operands[0].giver
        return Unsplit(shape[axis] or 0, parts, above.name if above is not None else "")
    squeezed = hear(node.failure, HeardSqueezed)
    if squeezed is not None and len(operands) == 1 and squeezed.axis < len(operands[0].spec.shape or ()):
        both = [edge.spec.shape or () for edge in product_of_rows(evidence, operands[0].giver)]
        return LacksAxis(both[1], both[0], product=True) if both else Unsqueezed(squeezed.axis, operands[0].spec.shape or ())
    pairs = hear(node.failure, HeardPairs)
    if pairs is not None:
        return PairOfEach(pairs.axes, pairs.pairs)
    pieces = hear(node.failure, HeardPieces)
    if pieces is not None and min(pieces.pieces) >= 0:
        giver = next((one.giver.name for one in operands if pieces.size in (one.spec.shape or ()) and one.giver is not None), "")
        return Pieces(pieces.size, pieces.pieces, giver)
    beyond = no_axis(node, operands[0].spec.shape or ()) if operands else None
    if beyond is not None:
        return beyond
    shapes: tuple[Shape, ...] = (evidence.facts.get("scanned") or ((),))[0]
    batches = {None, *((spec.shape or (None,))[0] for _, spec in evidence.x)}
    for scanned in shapes:
        if scanned[:1] and scanned[0] not in batches:
            continue  # a loop over weights that are stacked
        # Beside a tensor with one value for each of its steps, it has the batch where that one has the steps.
        beside = node.op.lower() == "scan" and any(one[:1] == scanned[1:2] != scanned[:1] for one in shapes)
        if len(scanned) > 2 and (beside or _one_step(scanned, operands)):
            return ScanRows(scanned)
    if node.op.startswith("Assign") and not (evidence.where == "metric" and node.op.startswith("AssignAdd")):
        return None
    turned = _rows_wanted(evidence) or _turned(evidence)
    if turned is not None:
        return turned
    size = halved(evidence, node)
    if size is not None:
        return Halves(size)
    flat, whole = sorted((one.spec.shape or () for one in operands), key=len) if joins and len(operands) == 2 else ((), ())
    if len(flat) == 1 < len(whole) and flat[0] == elements(whole) != whole[0]:
        return InARow(flat, whole)
    single = one_sample(node, [one.spec.shape or () for one in operands])
    if single is not None:
        # A tensor with a row for each sample lacks no batch axis, whatever rank it has.
        rows = len(single[0]) < len(single[1]) and any(one.spec.shape == single[0] and batch_axis(one) == 0 for one in operands)
        return LacksAxis(*single, product=False, joins=True) if rows else OneSample(*single)
    step = one_step(node, [one.spec.shape or () for one in operands])
    if step is not None:
        return OneStep(*step)
    columns = _columns(node, operands)
    if columns:
        return Columns(columns)
    ranks = sorted({one.spec.shape or () for one in operands}, key=len)
    if joins and len(ranks) == 2 and 1 < len(ranks[0]) == len(ranks[1]) - 1 and ranks[0][0] == ranks[1][0]:
        return LacksAxis(ranks[0], ranks[1], product=False, joins=True)
    dropped = _axis_dropped(evidence, node)
    if dropped is not None:
        return dropped
    said, compared = hear(node.failure, HeardUnequal), hear(node.failure, HeardCompared)
    if said is None and type(compared) is HeardCompared:
        pair = next((pair for pair in zip(compared.labels, compared.predictions, strict=False) if None not in pair and pair[0] != pair[1]), None)
        said = HeardUnequal(*pair, alike=True) if pair is not None else None
    if said is not None and said.alike and len(operands) > 2:
        operands = [operands[0], *[other for other in operands if other.spec.shape != operands[0].spec.shape][:1]]
    if node.kind != "op" or len(operands) != 2 or said is None:
        return None
    one, other = operands
    a, b = one.spec.shape or (), other.spec.shape or ()
    product = node.op.startswith(_PRODUCTS)
    # The letters of an einsum say which axes meet; most often they stand at one place.
    place = next(_places(a, b, said.left, said.right, product and node.op != "Einsum"), None)
    if place is None:
        return None
    told = (read(evidence, one, other) or _each_row(evidence, node, one, other)) if node.op in PAIRING else None
    if told is not None:
        return told
    i, j = place
    ahead = _stacked_ahead(evidence, one, other, i) or _stacked_ahead(evidence, other, one, j)
    if ahead is not None:
        return ahead
    for mine, k, its, m in ((one, i, other, j), (other, j, one, i)):
        shape, fixed = mine.spec.shape or (), its.spec.shape or ()
        # A matrix of the samples by themselves has them on both axes.
        if (k not in mine.grows and batch_axis(mine) != k) or batch_axis(its) == m or fixed[m] is None:
            continue
        number = fixed[m] or 0
        if number == getattr(evidence.sample, "rows", None) and (len(fixed) == 2 or (fixed[-2:] == (number, number) and set(fixed[:-2]) <= {1})):
            return WholeOnly(number, shape[k])
        if batch_axis(its) is not None and len(shape) != len(fixed):
            short, long = sorted((shape, fixed), key=len)
            if long[:-1] == short and product_of_classes(evidence, node, mine if short is shape else its, long[-1] or 0):
                return ClassIndices(short, long)
            # What has one value for each of the same positions, such as a mask, needs none of them flattened. Numbers that the code draws or
            # fills in for the sizes that it reads are no such values.
            drawn = (mine if short is shape else its).giver is None and len(short) == 2 and len(long) > 3
            positions = len(short) > 1 and short == long[: len(short)] and not drawn
            through = "" if positions else _through(evidence, one if len(a) > len(b) else other)
            # What the product sums over divides the values of a row: they are a matrix for each sample.
            values, size = short[-1] or 0, long[-1] or 0
            folded = product and node.op != "Einsum" and long is a and len(short) == 2 and values > size > 1 and values % size == 0
            return LacksAxis(short, long, product, through, matrix=(size, values // size) if folded else ())
        if product and k == 0 and len(shape) == 2 == len(fixed):
            second = mine is other and m == 1
            return SumsOverBatch(shape, fixed, second, matrix=second and batch_axis(one) is None)
        if len(fixed) > 1 and m == 0 and number > 1 and all(n == 1 for n in fixed[1:]) and shape[-1] == number:
            return Column(fixed, shape)
        if not product and m == 0 and number > 1 and fixed == (number, number) and shape[1:] == (number,) and batch_axis(its) is None:
            return PairsBeside(fixed, shape)
        if len(shape) == len(fixed) == 1 and number > 1 and any(out.shape and out.shape[-1] == number for _, out in evidence.outputs):
            picked = evidence.flow.into(its.giver.id)[:1] if its.giver is not None and its.giver.op.lower() in ("argmax", "argmin") else []
            if picked and (picked[0].spec.shape or ())[1:] == (number,):
                return PickedOverBatch(its.giver.op if its.giver is not None else "", picked[0].spec.shape or ())
            whole = _reduced(evidence, mine) if evidence.where == "metric" and its.giver is None else ()
            added = evidence.where == "metric" and "Add" in node.op
            return ClassesSummed(number, whole) if whole == (shape[0], number) else PerClass(number, added=added)
        kept = dims_dropped(evidence, mine, its)
        if kept is not None:
            return kept
        if len(shape) == len(fixed) == 1 and evidence.where not in ("loss", "metric") and (other_rows := _vectors(evidence, shape[0], number)):
            return PairOfVectors(shape[0], number, other_rows)
        # A size that the data has along another axis is not one that the program wrote.
        own = any(number in (spec.shape or ())[1:] for _, spec in evidence.x)
        behind = [its.giver, *ancestors(evidence, its.giver.id)] if its.giver is not None else []
        fed = any(one.kind in ("input", "stage") for one in behind) and not any(_fewer(evidence, one, number) for one in behind)
        return WrittenRows(number, shape[k]) if batch_axis(its) is None and not fed and not own else None
    for fixed, maps, given in ((a, b, one), (b, a, other)):
        outputs = [out.shape for _, out in evidence.outputs if out.shape]
        if given.giver is None and evidence.where == "loss" and any((*maps, *fixed) == shape for shape in outputs) and len(fixed) == 1 < len(maps):
            return PerClass(fixed[0] or 0, positions=True)
    more = _rows_made(evidence, one, other) or _rows_made(evidence, other, one) if (i, j) == (0, 0) else None
    if more is not None:
        return more
    if batch_axis(one) == i or batch_axis(other) == j or a[i] is None or b[j] is None:
        return None
    few, many, most = (a, b, operands[1]) if len(a) < len(b) else (b, a, operands[0])
    if len(few) < len(many) > 3 and few[:1] == many[:1] and (through := _through(evidence, most)):
        return LacksAxis(few, many, product, through)
    if not product and 1 < len(few) < len(many) and few == many[: len(few)]:
        return LacksAxis(few, many, product)
    elsewhere = _one_elsewhere(a, b) or _one_elsewhere(b, a) if node.op in PAIRING else None
    if elsewhere is not None:
        return elsewhere
    # A product of matrices broadcasts what is before their last two axes.
    batch = "matmul" in node.op.lower() and max(i - len(a), j - len(b)) < -2
    summed = place if product and not batch else ()
    return exchanged(evidence, evidence.failed_inputs()) or Lengths(
        a[i] or 0, b[j] or 0, _source(evidence, one, i), _source(evidence, other, j), summed, joins or said.alike
    )


def _rows_made(evidence: Evidence, mine: Given, its: Given) -> RowsMade | None:
    node, rows = mine.giver, (its.spec.shape or (None,))[0]
    while node is not None and node.kind == "op" and len(edges := evidence.flow.into(node.id)) == 1:
        before, after = (edges[0].spec.shape or (), next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None) or mine.spec.shape or ())
        if node.op.lower() == "reshape" and before[:1] == (rows,) != after[:1] and rows and after and after[0] and after[0] % rows == 0:
            return RowsMade(before, after, Who.of(node))
        node = evidence.flow.node(edges[0].source)
    return None


def _each_row(evidence: Evidence, node: Node, one: Given, other: Given) -> EachRow | None:
    """A difference of a tensor from a table of vectors that is a weight, along whose last axis or first one they are as long as the tensor's last."""
    for mine, its in ((one, other), (other, one)):
        shape, table = mine.spec.shape or (), its.spec.shape or ()
        apart = node.op.lower() in _DIFFERENCES and its.giver is None and evidence.where not in ("loss", "metric")
        if apart and len(table) == 2 <= len(shape) and shape[-1] in table and batch_axis(mine) == 0 and (name := _weight(evidence, its)):
            spread = (*shape[:-1], 1, shape[-1]) if shape[-1] == table[1] else (*shape, 1)
            return EachRow(shape, name, spread)
    return None


_CASTS = ("cast", "astype", "convertelementtype", "convert_element_type")


def product_of_classes(evidence: Evidence, node: Node, labels: Given, most: int) -> bool:
    """Whether the labels as they are, indices of several classes, are multiplied with what has a place for each class."""
    stats = [one for one in evidence.label_stats.values() if one is not None]
    edges = evidence.flow.into(labels.giver.id)[:1] if labels.giver is not None and labels.giver.op.lower() in _CASTS else []
    dtypes = (labels.spec.dtype, *(edge.spec.dtype for edge in edges))
    whole = any(dtype.startswith(("int", "uint")) for dtype in dtypes) and len(evidence.y) == len(stats) == 1
    alike = whole and (labels.spec.shape or (0,))[1:] == (evidence.y[0][1].shape or (0, 0))[1:]
    return node.op.lower().startswith("mul") and alike and stats[0].integer and 1 < (stats[0].maximum or 0) < most


def _rows_wanted(evidence: Evidence) -> RowsWanted | None:
    raised = evidence.raised
    try:
        tree = syntax.parse(raised.text.strip()) if raised is not None and evidence.framework == "keras" else None
    except SyntaxError:
        return None
    shapes = {name: spec.shape for name, spec in raised.tensors} if raised is not None else {}
    for call in ast.walk(tree) if tree is not None else ():
        given = [ast.unparse(item) for item in (*call.args, *(word.value for word in call.keywords))] if isinstance(call, ast.Call) else []
        if syntax.called(call) == "get_initial_state" and len(given) == 1 and shapes.get(given[0]):
            return RowsWanted("get_initial_state", given[0], shapes[given[0]] or ())
    return None


def _turned(evidence: Evidence) -> Reversed | None:
    raised = evidence.raised
    try:
        tree = syntax.parse(raised.text.strip()) if raised is not None else None
    except SyntaxError:
        return None
    shapes = {name: spec.shape for name, spec in raised.tensors} if raised is not None else {}
    for item in ast.walk(tree) if tree is not None else ():
        given = turned_around(item)
        if given is not None and len(shape := shapes.get(ast.unparse(given)) or ()) > 2:
            return Reversed(ast.unparse(given), ast.unparse(item), shape)
    for edge in evidence.operands():
        node = evidence.flow.node(edge.source)
        for one in (node, *ancestors(evidence, node.id, 3)):
            before, made = (next((each.spec.shape or () for each in found(one.id)), ()) for found in (evidence.flow.into, evidence.flow.out_of))
            if one.op.lower() == "transpose" and len(before) > 2 and made == before[::-1] and one.called is not None:
                tree = Texts.of(one.called.file).tree(one.called.file)
                for item in ast.walk(tree) if tree is not None else ():
                    if getattr(item, "lineno", 0) == one.called.line and (given := turned_around(item)) is not None:
                        return Reversed(ast.unparse(given), ast.unparse(item), before, one.called)
    return None


def _stacked_ahead(evidence: Evidence, given: Given, other: Given, axis: int) -> StackedAhead | None:
    above = [given.giver, *ancestors(evidence, given.giver.id, 2)] if given.giver is not None and (axis == 1 or batch_axis(other) == 0) else []
    (first, *rest), beside = given.spec.shape or (None,), (other.spec.shape or ())[::-1]
    for node in above:
        parts = [edge.spec.shape or () for edge in evidence.flow.into(node.id)]
        # As many as the axis before the batch is long, each with the rows of the batch.
        if node.op in STACKS and len(parts) == first and rest and all(part[:1] in ((*rest[:1],), (None,)) for part in parts):
            # The axis at which they fit the other operand, which has its batch first.
            ways = [(*rest[:k], first, *rest[k:])[::-1] for k in range(1, len(rest) + 1)]
            fits = [k for k, way in enumerate(ways, 1) if all(1 in (n, m) or n == m for n, m in zip(way, beside, strict=False))]
            return StackedAhead(Who.of(node), len(parts), (first, *rest), fits[0]) if fits else None
    return None


def _vectors(evidence: Evidence, rows: int | None, number: int) -> str:
    """The name of a matrix of so many rows in the function that raised, beside one of ``rows`` rows of the same size."""
    known = [(name, spec.shape or ()) for name, spec in evidence.raised.tensors] if evidence.raised is not None else []
    matrices = [(name, shape) for name, shape in known if len(shape) == 2]
    sizes = {shape[1] for _, shape in matrices if shape[0] == rows}
    return next((name for name, shape in matrices if shape[0] == number and shape[1] in sizes), "")


def _one_elsewhere(shape: Shape, other: Shape) -> OneElsewhere | None:
    """The only other places for the axes of size 1 of a tensor at which it broadcasts to another tensor of its rank."""
    ones = tuple(i for i, size in enumerate(shape) if size == 1 and i)
    rest = [size for i, size in enumerate(shape) if i not in ones]
    if not ones or len(rest) < 2 or len(shape) != len(other) or shape[0] != other[0]:
        return None
    fits = []
    for places in itertools.combinations(range(1, len(shape)), len(ones)):
        sizes = iter(rest)
        moved = tuple(1 if i in places else next(sizes) for i in range(len(shape)))
        if all(n in (1, m) for n, m in zip(moved, other, strict=True)):
            fits.append(moved)
    return OneElsewhere(shape, ones, fits[0], other) if len(fits) == 1 else None


def _axis_dropped(evidence: Evidence, node: Node) -> AxisDropped | None:
    """The predictions whose last axis the framework squeezed, before the function of a loss or metric compared them with another rank."""
    loss = evidence.flow.node(node.parent) if node.parent else None
    edges = evidence.flow.into(node.id) if loss is not None and loss.kind in ("loss", "metric") else []
    if len({len(edge.spec.shape or ()) for edge in edges}) < 2:
        return None
    for giver in (evidence.flow.node(edge.source) for edge in edges):
        before = next(iter(evidence.flow.into(giver.id)), None)
        if giver.op == "Squeeze" and giver.called is None and giver.parent == node.parent and before is not None and before.spec.shape:
            return AxisDropped(before.spec.shape) if before.spec.shape[-1] == 1 else None
    return None


_JOINS = ("concat", "concatv2", "concatenate", "append", "stack", "pack")


def halved(evidence: Evidence, node: Node) -> int | None:
    """The odd size of an axis of which every second position was taken, from both of its first ones."""
    edges = evidence.flow.into(node.id)
    parts = [edge for edge in edges if evidence.flow.node(edge.source).op.lower() in SLICES]
    whole = [before for edge in parts for before in evidence.flow.into(edge.source)[:1]]
    if len(parts) < 2 or len(parts) != len(whole) or len({edge.source for edge in whole}) != 1:
        return None
    shapes = [edge.spec.shape or () for edge in parts]
    for axis, size in enumerate(whole[0].spec.shape or ()):
        sizes = {shape[axis] for shape in shapes if len(shape) > axis}
        if size and size % 2 and sizes == {size // 2, size - size // 2}:
            return size
    return None


def one_sample(node: Node, shapes: list[Shape]) -> tuple[Shape, Shape] | None:
    """The shapes of two tensors that are joined along an inner axis, one of which has a single row where the other has the batch, or no rows."""
    shapes = [shape for shape in shapes if shape]
    if node.op.lower() in _JOINS[:3] and len(shapes) == 2:
        short, long = sorted(shapes, key=len)
        if len(long) == len(short) + 1 > 2 and short[1:] == long[2:]:
            return short, long
    if node.op.lower() not in _JOINS or len({len(shape) for shape in shapes}) != 1 or len(shapes[0]) < 2:
        return None
    single = next((shape for shape in shapes if shape[0] == 1), None)
    rows = next((shape for shape in shapes if shape[0] != 1), None)
    if single is None or rows is None or sum(a != b for a, b in zip(single[1:], rows[1:], strict=True)) > 1:
        return None
    return single, rows


def one_step(node: Node, shapes: list[Shape]) -> tuple[Shape, Shape, int] | None:
    """Of two tensors joined along the last axis, the one with size 1 where the other has more, the other, and that axis."""
    tensors = [shape for shape in shapes if len(shape) > 2]
    if node.op.lower() not in _JOINS[:3] or len(tensors) != 2 or len(tensors[0]) != len(tensors[1]):
        return None
    off = [i for i, (a, b) in enumerate(zip(*tensors, strict=True)) if i < len(tensors[0]) - 1 and a != b]
    for single, many in (tensors, tensors[::-1]) if len(off) == 1 and off[0] else ():
        if single[off[0]] == 1:
            return single, many, off[0]
    return None


def _columns(node: Node, operands: list[Given]) -> Shape:
    """The shape of several operands of one function that hold a number for each row of the others, on an axis of its own."""
    shapes = [one.spec.shape or () for one in operands]
    most = max(shapes, key=len, default=())
    columns = [shape for shape in shapes if len(shape) == 2 and shape[1] == 1 and shape[:1] == most[:1] and shape[0] not in (None, 1)]
    plain = node.op in PAIRING or node.op.lower() in _JOINS or node.op.startswith(_PRODUCTS)
    return columns[0] if node.kind == "op" and not plain and len(shapes) > 2 < len(most) and len(columns) > 1 else ()


def _fewer(evidence: Evidence, node: Node, rows: int) -> bool:
    before = [(edge.spec.shape or (None,))[0] for edge in evidence.flow.into(node.id)] if node.op.lower() in SLICES else []
    return any(size and size < rows for size in before)


def batch_axis(given: Given) -> int | None:
    """The axis of a tensor that carries the batch: it grows with the batch, or its size is unknown while a model is built."""
    if given.grows:
        return min(given.grows)
    shape = given.spec.shape
    return 0 if shape and shape[0] is None else None


def exchanged(evidence: Evidence, edges: list[Edge]) -> Exchanged | None:
    """An attention whose output has the steps of its query, if the other branch has the steps of its value."""
    for here, other in (edges, edges[::-1]) if len(edges) == 2 else ():
        node, shape, its = evidence.flow.node(here.source), here.spec.shape or (), other.spec.shape or ()
        parts = [edge for edge in evidence.flow.into(node.id) if edge.label in ("", "query", "value", "key") and edge.spec.shape]
        if node.family != "attention" or len(parts) < 2 or len(shape) < 3 or len(its) < 3 or shape[1] == its[1]:
            continue
        (query, steps), (source, theirs) = ((evidence.flow.node(one.source).name, (one.spec.shape or ())[1:2]) for one in parts[:2])
        if shape[1] is not None and its[1] is not None and steps == shape[1:2] and theirs == its[1:2]:
            return Exchanged(Who.of(node), query, source, shape[1], its[1])
    return None


def _places(a: Shape, b: Shape, left: int | None, right: int | None, product: bool) -> Iterator[tuple[int, int]]:
    """Pairs of axes with the two sizes that must be equal: first where the operation aligns them, then elsewhere."""
    pairs = [(len(a) - 1, len(b) - 2)] if product and len(a) > 0 and len(b) > 1 else []
    pairs += [(len(a) - k, len(b) - k) for k in range(1, min(len(a), len(b)) + 1)]
    pairs += [(i, j) for i in range(len(a)) for j in range(len(b))]
    for i, j in pairs:
        if {a[i], b[j]} == {left, right}:
            yield i, j


def _source(evidence: Evidence, given: Given, axis: int) -> str:
    if given.giver is None:
        return f"the shape of {given.like.name}" if given.like is not None else _weight(evidence, given)
    edge = next((edge for edge in evidence.failed_inputs() if edge.source == given.giver.id and edge.spec.shape == given.spec.shape), None)
    sizes = evidence.origins.of(edge) if edge is not None else ()
    if axis < len(sizes):
        told = written(sizes[axis])
        began = axes(sizes[axis])
        if told:
            return told
        if len(began) == 1 and isinstance(sizes[axis], Axis):
            return f"axis {began[0].axis} of {began[0].who}"
    return _made(evidence, edge, axis) if edge is not None else given.giver.name


def _made(evidence: Evidence, edge: Edge, axis: int) -> str:
    size = (edge.spec.shape or ())[axis] or 0
    node, axis = made_by(evidence, edge, axis)
    before = next((one for one in evidence.flow.into(node.id) if one.spec.shape), None)
    if node.kind == "op" and node.op.lower().startswith("concat") and before is not None:
        parts = [size for one in evidence.flow.into(node.id) for size in (one.spec.shape or ())[axis : axis + 1] if size is not None]
        rest = size - sum(parts)  # a weight comes from no node
        return f"{_summed([*([rest] if rest > 0 else []), *parts])}, concatenated{placed(node)}"
    if node.kind == "op" and node.op.lower().startswith("segment"):
        return f"the number of segments of {node.op}{placed(node)}"
    if node.kind != "op" or before is None or node.op.lower() not in _PARTS:
        return node.name
    if node.called is not None and node.op.lower() not in node.called.text.lower().replace("_", "") and node.op.lower() == "reshape":
        return f"the computation{placed(node)}"
    after = next((one.spec.shape for one in evidence.flow.out_of(node.id)), None)
    if node.op.lower() == "reshape":
        return f"a reshape{placed(node)} of {show_shape(before.spec.shape)} to {show_shape(after)}"
    whole = before.spec.shape or ()
    giver = evidence.flow.node(before.source).name
    if after is not None and len(after) < len(whole):  # an index leaves out its axis
        places = {way[axis] for way in itertools.combinations(range(len(whole)), len(after)) if tuple(whole[at] for at in way) == after}
        return f"axis {places.pop()} of {giver}" if len(places) == 1 else node.name
    return f"a slice{placed(node)} of the {whole[axis]} of {giver}" if axis < len(whole) else node.name


def _weight(evidence: Evidence, given: Given) -> str:
    node = evidence.failed
    while node is not None and node.parent:
        node = evidence.flow.node(node.parent)
    names = weights_like(evidence, node, given.spec.shape) if node is not None else ()
    if node is None or not names:
        return _of_another(evidence, given.spec.shape)
    again = ", which was called before" if node.config.get("call") else ""
    return f"{' or '.join(names)}, a weight of {node.name}{again}"


def _of_another(evidence: Evidence, shape: Shape | None) -> str:
    """The one weight of a shape that another layer of the program has: tied weights are read where they do not stand."""
    read = {name.rpartition(".")[2] for name in names_in(evidence.raised.text) if "." in name} if evidence.raised is not None else set()
    every = {(weight.name.rsplit("/", 1)[-1], node.name) for node in evidence.flow.nodes for weight in node.weights if weight.shape == shape}
    found = {(name, layer) for name, layer in every if name in read}
    name, layer = next(iter(found)) if len(found) == 1 and shape else ("", "")
    return f"{name}, a weight of {layer}" if name else ""


def weights_like(evidence: Evidence, node: Node, shape: Shape | None) -> tuple[str, ...]:
    """The names of a layer's weights of a shape, which its first call shows."""
    calls = [one for one in evidence.flow.nodes if one.name == node.name and one.op == node.op and one.weights]
    return tuple(sorted({weight.name.rsplit("/", 1)[-1] for one in calls[:1] for weight in one.weights if weight.shape == shape}))


def _summed(parts: list[int]) -> str:
    rows = [(size, len(list(same))) for size, same in itertools.groupby(parts)]
    return " + ".join(f"{times} × {size}" if times > 2 else " + ".join([str(size)] * times) for size, times in rows)


def _through(evidence: Evidence, given: Given) -> str:
    if given.giver is None:
        return ""
    for node in [given.giver, *ancestors(evidence, given.giver.id)]:
        out = next(iter(evidence.flow.out_of(node.id)), None)
        # Axes that something else made since, such as those of heads or of scores, are not the layer's.
        kept = out is not None and (out.spec.shape or ())[1:-1] == (given.spec.shape or ())[1:-1]
        if node.op == "Dense" and out is not None and kept and len(out.spec.shape or ()) > 2:
            cause = cause_of_axes(evidence, out)
            # The steps of a sequence are only missed where one result per sample is compared.
            kinds = ("grid", "input") if evidence.where in ("loss", "metric", "step") else ("grid",)
            return cause[1].name if cause is not None and cause[0] in kinds else ""
    return ""


def _reduced(evidence: Evidence, given: Given) -> Shape:
    edges = evidence.flow.into(given.giver.id) if given.giver is not None else []
    return (edges[0].spec.shape or ()) if len(edges) == 1 else ()
