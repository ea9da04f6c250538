"""Candidates for the target of a reshape: as many values as arrive, as near to what is written as possible, and the axes that were meant."""

from __future__ import annotations

import ast
import math

from ...examine.evidence import Evidence
from ...flow import Finding, Node, Shape, elements
from ...flow.observed import passes
from ...flow.syntax import assigned, called
from ...rules.facts.layers import WrongCount, WrongRank
from ...rules.facts.loss import GridApart
from ...rules.facts.mixing import Interleaved
from ...rules.mixing import swapped_after
from ...rules.regrouped import channels_ahead
from ..edits import RemoveLayer
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Fix, Made, configure, failing, flattened, given, insert, known, named, of, reshaped_before, setting, upstream, way_to
from .line import calls_at, factors, lines_at, listed, short, written_in


def reshape_target(evidence: Evidence, finding: Finding) -> Made:
    """A target that holds as many numbers as there are."""
    node, shape = failing(evidence)
    target = node.config.get("target_shape")
    size = elements(shape[1:]) if shape else None
    if not target or size is None:
        return
    wanted = [int(n) for n in target]
    yield from _first_again(node, shape, wanted, size)
    kept = [i for i, n in enumerate(wanted) if shape is not None and i + 1 < len(shape) and n == shape[i + 1] and n > 1]
    if shape is not None and len(wanted) == len(shape) - 2:
        # Rows and columns stay, and what stands in front of them goes into the last axis.
        behind = [i for i, n in enumerate(wanted) if n == shape[i + 2]]
        kept = behind if behind == list(range(len(wanted) - 1)) else kept
    folds = foldings([int(n or 0) for n in shape[1:]], len(wanted)) if shape and not kept else []
    # What has more of the sizes that are written is nearer to what was meant.
    for folded in sorted(folds, key=lambda one: -sum(a == b for a, b in zip(one, wanted, strict=True))):
        yield (f"Reshape to {folded}, the size that arrives", [configure(node.name, target_shape=list(folded))], "The target shape was for a different size.")
    made = [_with_axis(node, wanted, axis, size) for axis in _axes_to_change(wanted, kept)]
    # A target that is as high as wide was meant so.
    square = len(wanted) == 3 and wanted[0] == wanted[1]
    side = math.isqrt(size // wanted[2]) if square and wanted[2] > 0 else 0
    if side > 1 and side**2 * wanted[2] == size:
        whole = [side, side, wanted[2]]
        yield (f"Reshape to {tuple(whole)}, which has {size:,} values", [configure(node.name, target_shape=whole)], "The map stays as high as wide.")
    made = [(fix, target) for fix, target in made if target]
    apart = [fix for fix, target in made if square and target[0] != target[1]]
    yield from (fix for fix, _ in made if fix not in apart)
    if len(wanted) == 1:
        edit = configure(node.name, target_shape=[-1])
        yield "Reshape to one axis of any size: (-1,)", [edit], "Every value is kept, whatever their number."
    giver = next((item for item in upstream(evidence, node) if item.op == "Dense"), None)
    if giver is not None and all(n > 0 for n in wanted):
        yield setting(giver, "units", math.prod(wanted), ", the size of the target shape", "Adds weights.")
    yield from apart


@of(WrongCount)
def grid_of_map(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """As many positions as the map has, where they are written and the rest of the target has the values of one position."""
    node, shape = failing(evidence)
    target, rank = list(node.config.get("target_shape") or ()), len(shape or ()) - 2
    wanted = [*(shape or ())[1:-1], *target[rank:]]
    if rank < 1 or not shape or len(target) <= rank or math.prod(target[rank:]) != shape[-1] or None in wanted:
        return
    for line in lines_at(evidence, node.location)[:1]:
        targets, places = written_in(line, node, "target_shape"), {}
        for part, size, had in zip(listed(targets[0]) if len(targets) == 1 else (), wanted, target, strict=False):
            held = [value for item in nodes(line.source.tree, ast.Assign) for name, value in assigned(item) if ast.unparse(name) == ast.unparse(part)]
            for place in [part] if isinstance(part, ast.Constant) else held if size != had else ():
                if isinstance(place, ast.Constant) and place.value == had != size:
                    places[place.lineno, place.col_offset] = place, size
        if places:
            yield (
                f"Reshape to {tuple(wanted)} in {node.name}: change the written {' and '.join(map(str, dict.fromkeys(place.value for place, _ in places.values())))}",
                [line.edit(place, str(size)) for place, size in places.values()],
                f"The map has {' × '.join(map(str, shape[1:-1]))} positions of {shape[-1]} values each.",
            )


def _with_axis(node: Node, wanted: list[int], axis: int, size: int) -> tuple[Fix, list[int]]:
    rest = math.prod(n for i, n in enumerate(wanted) if i != axis and n > 0)
    made = [size // rest if i == axis else n for i, n in enumerate(wanted)] if rest and size % rest == 0 else []
    why = f"The size of axis {axis + 1} follows from the others."
    return (f"Reshape to {tuple(made)}, which has {size} values", [configure(node.name, target_shape=made)], why), made


def _first_again(node: Node, shape: Shape | None, wanted: list[int], size: int) -> Made:
    """An inner axis as the first one, in front of all others in one: a reshape alone would mix it with them."""
    row = [int(n or 0) for n in (shape or ())[1:]]
    if len(wanted) != 2 or len(row) < 3 or row.count(wanted[0]) != 1 or row[0] == wanted[0] or wanted[1] in (math.prod(row[i:]) for i in range(1, len(row))):
        return
    place = row.index(wanted[0])
    order = [place + 1, *(i + 1 for i in range(len(row)) if i != place)]
    made = (wanted[0], size // wanted[0])
    yield (
        f"Move axis {place + 1} to the front with Permute({tuple(order)}), and reshape to {made}",
        [insert(node.name, "Permute", dims=order), configure(node.name, target_shape=list(made))],
        f"Each of the {made[0]} steps then keeps its {made[1]} values together.",
    )


@of(GridApart)
def steps_of_labels(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """A target that has as many steps as the labels."""
    head, place, steps = named(evidence, fact.head.name), fact.axis - 1, fact.labels[fact.axis]
    for node in way_to(evidence, head) if head is not None and steps else ():
        target, shape = list(node.config.get("target_shape") or ()), given(evidence, node)
        size = elements(shape[1:]) if shape else None
        if node.op != "Reshape" or place >= len(target) or target[place] != fact.predictions[fact.axis] or not size or size % (steps or 1):
            continue
        yield from _first_again(node, shape, [steps or 1, -1] if len(target) == 2 and not place else [], size)
        others = [i for i in range(len(target)) if i != place]
        rest = size // (steps or 1)
        for axis in reversed(others):
            kept = math.prod(target[i] for i in others if i != axis)
            if kept > 0 and rest % kept == 0:
                made = [steps if i == place else rest // kept if i == axis else n for i, n in enumerate(target)]
                yield (
                    f"Reshape to {tuple(made)} in {node.name}",
                    [configure(node.name, target_shape=made)],
                    f"The labels have {steps} steps, and {size:,} values arrive.",
                )
        return


def foldings(row: list[int], rank: int) -> list[tuple[int, ...]]:
    """Shapes of ``rank`` axes that a row folds to where neighbors become one axis: the first axes stay first, then the last ones."""
    if not 1 < rank < len(row):
        return []
    more = len(row) - rank + 1
    return [(*row[: rank - 1], math.prod(row[rank - 1 :])), (math.prod(row[:more]), *row[more:])]


def _axes_to_change(wanted: list[int], kept: list[int]) -> list[int]:
    """Which number of a target to work out from the others. An axis that is kept as it came holds what it held: steps stay steps."""
    others = [i for i in range(len(wanted)) if i not in kept] or list(range(len(wanted)))
    return sorted(others, key=lambda i: (wanted[i] == 1, i))


_STRIDES = ("strides", "pool_size")


@of(WrongCount)
def divided(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """The same division at each reshape of the function that uses these names."""
    node, cause = evidence.failed, fact.cause
    maker = named(evidence, cause.who) if cause is not None and cause.kind == "strided" else None
    if node is None or cause is None or maker is None:
        return
    for line, other in zip(lines_at(evidence, node.location)[:1], lines_at(evidence, maker.location)[:1], strict=False):
        strides = [found[0] for key in _STRIDES if len(found := written_in(other, maker, key)) == 1][:1]
        targets = written_in(line, node, "target_shape")
        stride, target = "".join(map(ast.unparse, strides)), targets[0] if len(targets) == 1 else None
        sizes = [part.id for part, want, have in zip(listed(target), fact.target, fact.given, strict=False) if isinstance(part, ast.Name) and want != have]
        if not stride or not sizes:
            continue
        shapes = [argument(call, "target_shape", ["target_shape"]) for call in nodes(line.scope, ast.Call) if called(call) == node.op]
        parts = [part for shape in shapes for part in listed(shape) if isinstance(part, ast.Name) and part.id in sizes]
        at = sorted({part.lineno for part in parts})
        yield (
            f"Divide {' and '.join(dict.fromkeys(sizes))} by {stride} at {'line' if len(at) == 1 else 'lines'} {', '.join(map(str, at))}",
            [line.edit(part, f"{part.id} // {stride}") for part in parts],
            f"{maker.name} divides these sizes by {cause.stride}.",
        )


@of(Interleaved)
def positions_first(evidence: Evidence, finding: Finding, fact: Interleaved) -> Made:
    """The positions before the channels, without the Permute that exchanges them again."""
    node = evidence.flow.node(finding.nodes[0])
    after = swapped_after(evidence, node)
    if not channels_ahead(fact.before[1:], fact.after[1:], after is not None):
        return
    positions = [n or 0 for n in reversed(fact.after[1:])]
    if node.kind == "layer" and after is not None and after.op == "Permute":
        yield (
            f"Reshape to ({positions[0]}, {positions[1]}) in {node.name}, and remove {after.name}",
            [configure(node.name, target_shape=tuple(positions)), RemoveLayer(after.name)],
            "The channels come last, so each position keeps its own.",
        )
    order = [len(fact.before) - 1, *range(1, len(fact.before) - 1)]
    if node.kind == "layer":
        yield (
            f"Move the channels to the front before {node.name}: add Permute({tuple(order)})",
            [insert(node.name, "Permute", dims=order)],
            "Moves the values along with the axes.",
        )
        return
    for line, call in calls_at(evidence, finding.location, "reshape"):
        method = isinstance(call.func, ast.Attribute) and len(call.args) == 1
        array = call.func.value if method and isinstance(call.func, ast.Attribute) else call.args[0] if call.args else None
        if array is not None:
            yield (
                f"Transpose {short(array)} to {(0, *order)} before the reshape at {line.at}",
                [line.edit(array, f"{MODULE}.transpose({IT}, {(0, *order)})", line.module())],
                "A reshape keeps the order in memory.",
            )


_MODELS = ("Sequential", "Functional")


@of(WrongRank)
def as_multiplied(evidence: Evidence, finding: Finding, fact: WrongRank) -> Made:
    """The axes whose sizes the width of the layer in front multiplies: ``Dense(7 * 7 * 64)`` holds maps of 7 × 7 and 64 channels."""
    node, shape = failing(evidence)
    if not shape or len(shape) != 2 or not known(shape[1:]):
        return
    maker = _wide(evidence, node)
    for line in lines_at(evidence, maker.location)[:1] if maker is not None else ():
        assert maker is not None
        # Several layers may be made on one line.
        widths = [one for one in written_in(line, maker, "units") if line.number(one) == shape[1]]
        sizes = [line.number(part) or 0 for part in factors(widths[0])] if len(widths) == 1 else []
        if len(sizes) != fact.wanted - 1 or len(sizes) < 2:
            continue
        if len(sizes) == 3 and sizes[1] == sizes[2] != sizes[0]:
            sizes = [*sizes[1:], sizes[0]]  # 64 * 7 * 7: the channels come last
        yield reshaped_before(node.name, "Restore the axes: add ", sizes, f"{maker.name} has {ast.unparse(widths[0])} units.")


@of(WrongCount)
def folded_first(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """Flatten before the first Dense layer, where each row of a sample has become as many values as the sample should have."""
    node, shape = failing(evidence)
    if not shape or not fact.per_sample or len(shape) < 3 or shape[-1] != elements(fact.target):
        return
    first: list[Node] = []
    for above in upstream(evidence, node):
        before = given(evidence, above)
        if before is None or len(before) != len(shape) or before[1:-1] != shape[1:-1]:
            break
        if above.op == "Dense" or above.op in _MODELS:
            # A model may have layers inside that want the axes: then the trial goes on with what comes after it.
            first = [above, *first] if above.op in _MODELS or (first and first[0].op in _MODELS) else [above]
        elif not passes(evidence.flow, above):
            break
    for one in first[:2]:
        yield _folded(one)


def _folded(first: Node) -> Fix:
    return flattened(first.name, "Dense works on the last axis only: each sample then has the values that the target needs.")


def _wide(evidence: Evidence, node: Node) -> Node | None:
    for above in upstream(evidence, node):
        if above.op == "Dense":
            return above
        if not passes(evidence.flow, above):
            break
    return None
