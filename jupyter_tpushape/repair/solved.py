"""One written number worked out: how two sizes differ by it is measured with a second trace, and the number that makes them equal is tried.

Where no maker knows what makes a size, such as the rows of several heads that are concatenated, each number of the builder is asked. A size
that depends on a number linearly is solved for exactly; every other one stays as it is, because the number that comes out does not hold.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType

from ..examine import Examined
from ..flow import Fact, Finding, Shape
from ..flow.syntax import called
from ..rules.facts.branches import DotAxes, UnlikeBranches
from ..rules.facts.layers import OperationRaised
from ..rules.facts.loss import GridApart
from ..rules.facts.loss_silent import Crosswise
from ..rules.facts.reasons import WholeOnly
from .candidates import Candidate
from .edits import LayerConfig
from .edits.expression import Expression
from .makers.line import constants, span_of
from .text.arguments import defaults_of
from .text.program import Text
from .text.source import NoPlace, Source, nodes, parents
from .trial import Trial

# Numbers to ask, fewer in a large program: it has no other fix, and a user waits. A clock would show other fixes on a slow machine.
_MOST, _NODES = 8, 600
# A size is rarely written so far from what it should be.
_FARTHEST = 16
# Arguments that say which axis, or how, and not how many.
_PRODUCTS = frozenset({"MatMul", "BatchMatMulV2"})
_NO_SIZES = frozenset({"axis", "axes", "name", "seed", "dims", "perm"})

Try = Callable[[Candidate], Trial]
Number = tuple[Source, str, ast.Constant]


def solved(seen: Examined, finding: Finding, attempt: Try, most: int) -> list[tuple[Candidate, Trial]]:
    """The numbers of the program with which two sizes are equal, the smallest change first; ``most``: how many may be asked, with two trials each."""
    apart, (have, want) = _apart(finding.fact), _sizes(finding.fact)
    # An axis that is empty, or holds the samples by mistake, has no size that a number of the program should equal.
    if not apart or any(len(one.grows) > 1 or 0 in (one.spec.shape or ()) for one in seen.evidence.given) or _whole(finding.fact):
        return []
    if _of_samples(seen, finding.fact):
        return []
    held: list[tuple[float, Candidate, Trial]] = []
    for number in list(_numbers(seen, finding))[: max(0, min(_MOST, most, max(1, _NODES // max(1, len(seen.evidence.flow.nodes)))))]:
        value = int(number[2].value)  # type: ignore[arg-type]
        made, trial = value + 1, attempt(_with(number, value + 1, finding.fact))
        if not trial.holds:
            after = _apart_after(trial, finding)
            slope = (after or 0) - apart
            made = value - apart // slope if slope and apart % slope == 0 else 0
            if after is None and have and (value * want) % have == 0:
                # Another fault came instead: one more is no size here, a multiple may be.
                made = value * want // have
            if made < 1 or (made == 1 and _no_window(finding.fact)) or not value / _FARTHEST <= made <= value * _FARTHEST:
                continue
            trial = attempt(_with(number, made, finding.fact))
        if trial.holds and not _cuts_data(seen, trial):
            held.append((round(abs(math.log(made / value)), 6), _with(number, made, finding.fact), trial))
    return [(candidate, trial) for _, candidate, trial in sorted(held, key=lambda one: one[0])]


def written(seen: Examined, held: list[tuple[Candidate, Trial]], attempt: Try) -> Iterator[tuple[Candidate, Trial]]:
    """The number of the text that a layer got as its argument, such as one of a table or of a call of the program's own function, where a layer
    could be changed only by itself. No other layer and no data may change with it."""
    for candidate, _ in held:
        if len(candidate.edits) != 1 or candidate.edits[0].kind != LayerConfig.kind:
            continue
        edit = candidate.edits[0]
        config = edit.detail.get("config")
        node = next((one for one in seen.evidence.flow.nodes if one.name == edit.target), None)
        if node is None or not isinstance(config, dict) or len(config) != 1:
            continue
        (key, size), place = next(iter(config.items())), getattr(seen.program.model, "func", seen.program.model)
        old = node.config.get(key)
        try:
            source, _ = Text(seen).definition(place)
        except NoPlace:
            return
        above = parents(source.tree)
        same = [one for one in nodes(source.tree, ast.Constant) if type(one.value) is int and one.value == old]
        for number in [one for one in same if not isinstance(above[one], ast.Subscript)][:4] if type(size) is int else ():
            changed = Candidate(
                f"Use {size} instead of {old} at line {number.lineno}: {key} of {node.name}",
                _with((source, getattr(place, "__name__", ""), number), size, None).edits,
                candidate.reason,
            )
            trial = attempt(changed)
            if trial.holds and trial.seen is not None and trial.seen.evidence.x == seen.evidence.x:
                lost = _arguments(seen, key) - _arguments(trial.seen, key)
                if lost == Counter([(node.op, old)]):
                    yield changed, trial


def _no_window(fact: Fact | None) -> bool:
    """Whether a number of 1 would be no size, or leave nothing of the window that makes one branch a little shorter."""
    if not isinstance(fact, UnlikeBranches):
        return isinstance(fact, OperationRaised)
    sizes = zip(*((shape or ()) for shape in (one.shape for one in fact.two)), strict=False)
    return any(a != b and 2 * min(a or 0, b or 0) > max(a or 0, b or 0) for a, b in sizes)


def _arguments(seen: Examined, key: str) -> Counter[tuple[str, object]]:
    return Counter((node.op, node.config[key]) for node in seen.evidence.flow.nodes if node.kind == "layer" and key in node.config)


def _cuts_data(seen: Examined, trial: Trial) -> bool:
    after = {path: spec.shape or () for path, spec in (trial.seen.evidence.x if trial.seen is not None else ())}
    pairs = ((spec.shape or (), after.get(path, ())) for path, spec in seen.evidence.x)
    return any(len(was) == len(now) in (2, 3) and (now[1] or 0) < (was[1] or 0) for was, now in pairs)


def _whole(fact: Fact | None) -> bool:
    return isinstance(fact, OperationRaised) and isinstance(fact.reason, WholeOnly)


def _of_samples(seen: Examined, fact: Fact | None) -> bool:
    """Whether one of two sizes is the number of rows in a batch, on the axis of the samples."""
    # A product sums over an inner axis of one operand and an axis that may well be the first of the other.
    if not isinstance(fact, OperationRaised) or fact.operation in _PRODUCTS or not fact.shapes:
        return False
    rows, least = {spec.shape[0] for _, spec in seen.evidence.x if spec.shape}, min((shape or () for shape in fact.shapes), key=len)
    if len({len(shape or ()) for shape in fact.shapes}) != 1:
        inner = {size for _, spec in seen.evidence.x for size in (spec.shape or ())[1:]}
        # A table that is the same for every sample has no axis of samples, nor a size of the data.
        return bool({None, *rows, *inner} & {*least})
    firsts = {shape[0] for shape in fact.shapes if shape} - {1}
    return len(firsts) > 1 and bool(firsts & rows)


def _sizes(fact: Fact | None) -> tuple[int, int]:
    if isinstance(fact, GridApart) and not fact.channels_first:
        return fact.predictions[fact.axis] or 0, fact.labels[fact.axis] or 0
    if isinstance(fact, Crosswise) and len(fact.predictions) == len(fact.labels):
        apart = [(a or 0, b or 0) for a, b in zip(fact.predictions, fact.labels, strict=True) if a != b]
        return apart[0] if len(apart) == 1 else (0, 0)
    return 0, 0


def _apart(fact: Fact | None) -> int:
    if isinstance(fact, (GridApart, Crosswise)):
        have, want = _sizes(fact)
        return have - want
    if isinstance(fact, UnlikeBranches):
        return _differ([one.shape for one in fact.two], fact.axis)
    if isinstance(fact, DotAxes):
        one, other = fact.sizes
        return (one or 0) - (other or 0) if one and other else 0
    if isinstance(fact, OperationRaised) and fact.operation in _PRODUCTS:
        return _inner(list(fact.shapes))
    if isinstance(fact, OperationRaised):
        return _differ(list(fact.shapes), None)
    return 0


def _inner(shapes: list[Shape | None]) -> int:
    left, right = shapes if len(shapes) == 2 else (None, None)
    return (left[-1] or 0) - (right[-2] or 0) if left and right and len(left) > 1 < len(right) else 0


def _differ(shapes: list[Shape | None], joined: int | None) -> int:
    known = [shape for shape in shapes if shape is not None]
    if joined is None and min(map(len, known), default=0) > 1:
        known = [(1,) * (max(map(len, known)) - len(shape)) + tuple(shape) for shape in known]
    ranks = {len(shape) for shape in known}
    if len(known) != len(shapes) or len(known) < 2 or len(ranks) != 1:
        return 0
    rank = ranks.pop()
    # One row for all is no size apart.
    fits = set() if joined is not None else {1}
    off = [axis for axis in range(rank) if joined not in (axis, axis - rank) and len({shape[axis] for shape in known} - fits) > 1]
    if len(off) != 1 or any(shape[off[0]] is None for shape in known):
        return 0
    sizes = Counter(int(shape[off[0]] or 0) for shape in known)
    (usual, _), (odd, _) = sizes.most_common()[:2]
    return odd - usual


def _apart_after(trial: Trial, finding: Finding) -> int | None:
    return next((_apart(other.fact) for other in trial.left if (other.rule, type(other.fact)) == (finding.rule, type(finding.fact))), None)


def _numbers(seen: Examined, finding: Finding) -> Iterator[Number]:
    """The sizes of the module that a builder reads by name, those that it gives to the program's own functions, and all others that it writes.

    From the last one up: what stands nearest to the end decides what comes out. Of an operation, those of the layers of the program's own.
    """
    function = getattr(seen.program.model, "func", seen.program.model)
    # A notebook's cell is run as a whole, and makes the data as well: of it, only what layers are made with.
    cell = getattr(getattr(function, "__self__", None), "code", None)
    try:
        if isinstance(cell, CodeType):
            source = Text(seen).source(cell.co_filename)
            scope: ast.AST = source.tree
        else:
            source, scope = Text(seen).definition(function)
    except NoPlace:
        return
    above, name = parents(source.tree), getattr(function, "__name__", "") if cell is None else ""
    written = [node for node in nodes(scope, ast.Constant) if _is_size(node, above, scope)]
    if cell is not None:
        kinds = {node.op for node in seen.evidence.flow.nodes if node.kind == "layer"}
        written = [node for node in written if isinstance(call := above[node], ast.Call) and called(call) in kinds]
    read = {node.id for node in nodes(scope, ast.Name)}
    named = [node for key, node in constants(source.tree) if key in read]
    # The numbers of a list or dict of settings.
    kept = [item.value for item in getattr(source.tree, "body", ()) if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) in read]
    named += [node for value in kept if isinstance(value, (ast.Dict, ast.List, ast.Tuple)) for node in nodes(value, ast.Constant)]
    functions = {item.name for item in nodes(source.tree, (ast.FunctionDef, ast.ClassDef))}
    own = [node for node in written if isinstance(call := above[node], ast.Call) and called(call) in functions]
    made = _of_layers(seen, source, above) if isinstance(finding.fact, OperationRaised) else []
    for group in (made, named, own, [node for node in written if node not in own and node not in made]):
        for node in sorted(group, key=lambda node: (node.lineno, node.col_offset), reverse=True):
            if type(node.value) is int and node.value > 0:
                yield source, name, node


def _of_layers(seen: Examined, source: Source, above: dict[ast.AST, ast.AST]) -> list[ast.Constant]:
    """The sizes that layers of the program's own are made with, and a model that is a class of its own."""
    kinds = {node.op for node in seen.evidence.flow.nodes if node.kind == "layer"} | {type(seen.model).__name__}
    inits = [method for item in nodes(source.tree, ast.ClassDef) if item.name in kinds for method in nodes(item, ast.FunctionDef) if method.name == "__init__"]
    given = [value for init in inits for _, value in defaults_of(init.args) if isinstance(value, ast.Constant)]
    return [*given, *(node for init in inits for node in nodes(init, ast.Constant) if _is_size(node, above, init))]


def _is_size(node: ast.Constant, above: dict[ast.AST, ast.AST], scope: ast.AST) -> bool:
    """Whether a number is an argument of a call, and neither declares the data nor names an axis."""
    inside: ast.AST = node
    call = False
    while inside is not scope and inside in above:
        holder = above[inside]
        if isinstance(holder, ast.keyword) and holder.arg in _NO_SIZES:
            return False
        if isinstance(holder, ast.Subscript) and holder.slice is inside:
            return False
        if isinstance(holder, ast.Call):
            call = True
            if called(holder) in ("Input", "InputLayer", "compile"):
                return False
        inside = holder
    return call


def _with(number: Number, made: int, fact: Fact | None) -> Candidate:
    source, function, node = number
    edit = Expression(function, file=source.file, span=span_of(node), find=ast.unparse(node), replace=str(made))
    why = "The two sizes are then equal."
    if isinstance(fact, GridApart):
        why = f"Axis {fact.axis} of {fact.head.name} then has size {fact.labels[fact.axis]}, as in the labels."
    return Candidate(f"Use {made} instead of {ast.unparse(node)} at line {node.lineno}", (edit.value,), why)
