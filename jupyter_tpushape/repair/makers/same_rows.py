"""Candidates for arrays of different lengths: every array gets the rows that the data code gives to one of them."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...examine.given_names import names_given_in, values_given
from ...examine.row_steps import Array, Step, first_index, odd_steps
from ...flow import Finding
from ...flow.paths import show
from ...flow.syntax import loaded
from ...trace.raised import Raised
from ..edits.expression import IT, MODULE
from ..text.source import NoPlace, Source, is_atom
from .edits import Made
from .line import Line, size_of


def _arrays(evidence: Evidence) -> tuple[Array, ...]:
    found: tuple[Array, ...] = evidence.facts.get("arrays", ())
    return found


def line_in(evidence: Evidence, file: str, node: ast.expr | ast.stmt) -> Iterator[Line]:
    """The place of an expression of the data code."""
    try:
        yield Line(evidence, Raised(file, node.lineno, None, "the data code"), Source.read(file), node)
    except NoPlace:
        return


def _shorter(evidence: Evidence, kinds: tuple[str, ...]) -> Iterator[tuple[Array, Step, list[Array]]]:
    arrays = _arrays(evidence)
    for one, step in odd_steps(arrays):
        if step.kind in kinds:
            yield one, step, [other for other in arrays if other.rows != one.rows]


def rows_of_all(evidence: Evidence, finding: Finding) -> Made:
    """The index that selects the rows of one array, at the others too."""
    done = set()
    for one, _, rest in _shorter(evidence, ("cut",)):
        steps = [step for _, step in odd_steps(_arrays(evidence)) if step.kind == "cut" and step in one.steps]
        # An array with an index of its own has other rows to choose from.
        if one.path in done or any(other.rows < one.rows or _selected(other) for other in rest):
            continue
        done.add(one.path)
        tail = "".join(f"[{step.index}]" for step in sorted(steps, key=one.steps.index, reverse=True))
        edits = [line.edit(node, IT + tail) for _, line, node in _places(evidence, rest, steps)]
        if len(edits) == len(rest):
            yield (
                f"Select the same rows of {' and '.join(show(other.path) for other in rest)}: {tail}",
                edits,
                f"{show(one.path)} is {steps[0].text} (line {steps[0].node.lineno}).",
            )


def _places(evidence: Evidence, arrays: list[Array], steps: list[Step]) -> list[tuple[Array, Line, ast.expr]]:
    scopes = {step.scope for step in steps}
    return places_behind(evidence, arrays, scopes.pop() if len(scopes) == 1 else None, max(step.node.lineno for step in steps))


def places_behind(evidence: Evidence, arrays: list[Array], scope: ast.AST | None, last: int) -> list[tuple[Array, Line, ast.expr]]:
    """One expression of each array: the earliest in a function or cell that stands behind a line of it, else the one that hands it over."""
    found = []
    for array in arrays:
        near = [(at, node) for at, node in array.places if at.scope is scope and node.lineno >= last]
        # What was given in an earlier cell does not know the rows yet.
        for at, node in near[-1:] or [place for place in array.places[:1] if place[1] is array.node]:
            found += [(array, line, node) for line in line_in(evidence, at.file, node)]
    return found


def _selected(array: Array) -> bool:
    return any(step.kind in ("cut", "filtered", "one") for step in array.steps)


def without_index(evidence: Evidence, finding: Finding) -> Made:
    """All rows of the only array that is cut, where several others have as many rows as one another."""
    for _, step, rest in _shorter(evidence, ("cut",)):
        if len(rest) == len(_arrays(evidence)) - 1 > 1 and len({other.rows for other in rest}) == 1 and isinstance(step.node, ast.Subscript):
            for line in line_in(evidence, step.file, step.node):
                if not isinstance(step.node.slice, ast.Tuple):
                    yield (
                        f"Use all rows at line {step.node.lineno}: {ast.unparse(step.inner)}",
                        [line.edit(step.node, line.source.of(step.inner))],
                        f"The other arrays have {rest[0].rows} rows.",
                    )


def same_loop(evidence: Evidence, finding: Finding) -> Made:
    """The range of one loop for the other, where each fills one of two lists."""
    lists = sorted(((one, one.listed) for one in _arrays(evidence) if one.listed is not None), key=lambda pair: -pair[0].rows)
    for (one, at), (other, same) in itertools.permutations(lists, 2):
        if one.rows == other.rows or at.scope is not same.scope:
            continue
        loops = [item for item in ast.walk(at.scope) if isinstance(item, ast.For)]
        mine, theirs = ([loop for loop in loops if _appends(loop, name)] for name in (one.root, other.root))
        if len(mine) == len(theirs) == 1 and mine[0] is not theirs[0] and ast.unparse(mine[0].target) == ast.unparse(theirs[0].target):
            for line in line_in(evidence, at.file, theirs[0].iter):
                new = ast.unparse(mine[0].iter)
                yield (
                    f"Use {new} in the loop at line {theirs[0].lineno}",
                    [line.edit(theirs[0].iter, new)],
                    f"The loop at line {mine[0].lineno} gives {one.root} {one.rows} rows, and this one gives {other.root} {other.rows}.",
                )


def same_index(evidence: Evidence, finding: Finding) -> Made:
    """The index that selects the rows of one array, in place of another one that selects those of the other."""
    arrays = sorted(_arrays(evidence), key=lambda one: -one.rows)
    for one, other in itertools.permutations(arrays, 2):
        mine, theirs = ([step for step in array.steps if step.kind == "cut"][:1] for array in (one, other))
        if one.rows == other.rows or not mine or not theirs or mine[0].index == theirs[0].index or theirs[0].scope is not other.at.scope:
            continue
        index = first_index(theirs[0].node) if isinstance(theirs[0].node, ast.Subscript) else None
        for line in line_in(evidence, theirs[0].file, theirs[0].node) if isinstance(index, (ast.Name, ast.Slice)) else ():
            yield (
                f"Select the same rows of {show(other.path)} at line {theirs[0].node.lineno}: [{mine[0].index}]",
                [line.edit(theirs[0].node, f"{line.source.of(theirs[0].inner)}[{mine[0].index}]")],
                f"{show(one.path)} is {mine[0].text} (line {mine[0].node.lineno}).",
            )


def whole_array(evidence: Evidence, finding: Finding) -> Made:
    """All rows of an array of which a number takes one."""
    for _, step, rest in _shorter(evidence, ("one",)):
        if isinstance(step.node, ast.Subscript) and not isinstance(step.node.slice, ast.Tuple) and rest:
            for line in line_in(evidence, step.file, step.node):
                yield (
                    f"Use all rows at line {step.node.lineno}: {ast.unparse(step.inner)}",
                    [line.edit(step.node, line.source.of(step.inner))],
                    f"{step.text} is a single row, and {show(rest[0].path)} has {rest[0].rows}.",
                )


def filtered_alike(evidence: Evidence, finding: Finding) -> Made:
    """The condition that selects the rows of one array in a comprehension, for the others too."""
    for one, step, rest in _shorter(evidence, ("filtered",)):
        part = step.node.generators[0] if isinstance(step.node, ast.ListComp) else None
        if part is None or any(other.rows < one.rows for other in rest):
            continue
        target, conditions = ast.unparse(part.target), " if ".join(map(ast.unparse, part.ifs))
        together = f"({target})" if isinstance(part.target, ast.Tuple) and not target.startswith("(") else target
        kept = f"{MODULE}.array([kept for {together}, kept in zip({ast.unparse(part.iter)}, {IT}) if {conditions}])"
        edits = [line.edit(node, kept, "numpy") for _, line, node in _places(evidence, rest, [step])]
        if edits and "kept" not in loaded(step.node):
            yield (
                f"Select the same rows of {' and '.join(show(other.path) for other in rest)}: those where {conditions}",
                edits,
                f"{show(one.path)} keeps {one.rows} rows (line {step.node.lineno}).",
            )


def joined_alike(evidence: Evidence, finding: Finding) -> Made:
    """The call that puts more rows behind one array, for the others too."""
    for one, step, rest in _shorter(evidence, ("joined",)):
        call = step.node
        if not isinstance(call, ast.Call) or not rest or not all(isinstance(other.node, ast.Name) for other in rest):
            continue
        parts = call.args[0].elts if isinstance(call.args[0], (ast.List, ast.Tuple)) else []
        words = [ast.unparse(item) for item in call.args[1:]] + [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords]
        edits = []
        for other in rest:
            name = ast.unparse(other.node)
            again = one.rows == len(parts) * other.rows and all(_made_of(step, part) for part in parts[1:])
            names = [name] * len(parts) if again else _counterparts(step, parts, name)
            inner = f"[{', '.join(names)}]" if parts and names else "" if parts else name
            if inner:
                function = ast.unparse(call.func)
                if function.endswith(".vstack"):  # which makes rows of vectors
                    function = f"{function.removesuffix('vstack')}concatenate"
                new = f"{function}({', '.join([inner, *words])})"
                edits += [line.edit(other.node, new) for line in line_in(evidence, other.at.file, other.node)]
        if len(edits) == len(rest):
            yield (
                f"Put {' and '.join(show(other.path) for other in rest)} together in the same way: {edits[0].replace}",
                edits,
                f"{show(one.path)} is {step.text} (line {call.lineno}).",
            )


def _counterparts(step: Step, parts: list[ast.expr], name: str) -> list[str]:
    first = ast.unparse(parts[0]) if parts else ""
    same = next((i for i, (a, b) in enumerate(zip(first, name, strict=False)) if a != b), min(len(first), len(name)))
    tail = next((i for i, (a, b) in enumerate(zip(first[same:][::-1], name[same:][::-1], strict=False)) if a != b), min(len(first), len(name)) - same)
    old, new = first[same : len(first) - tail], name[same : len(name) - tail]
    found = [ast.unparse(part).replace(old, new, 1) for part in parts] if old and new else []
    known = {*names_given_in(step.file), name}
    return found if len({*found}) == len(found) and known >= {*found} else []


def _made_of(step: Step, part: ast.expr) -> bool:
    root = ast.unparse(step.inner)
    named = loaded(part)
    given = [value for name in named for value in values_given(step.file, name)]
    return root in named or any(root in loaded(value) for value in given)


def values_behind(evidence: Evidence, finding: Finding) -> Made:
    """The value behind each window, where the labels are the series of which the windows are made."""
    for one, step, rest in _shorter(evidence, ("windows",)):
        cuts = [first_index(part) for part in ast.walk(step.node) if isinstance(part, ast.Subscript)]
        cut = next((part for part in cuts if isinstance(part, ast.Slice) and part.lower is not None and part.upper is not None), None)
        width = _width(cut) if cut is not None else None
        for other, line, node in _places(evidence, rest, [step]) if width is not None else ():
            if not other.steps and ast.unparse(step.inner) in other.names and other.rows > one.rows:
                yield (
                    f"Use the value after each window as its label: [{width}:]",
                    [line.edit(node, f"{IT}[{width}:]")],
                    f"{show(other.path)} has one value per step, and each window ends before the value that it predicts.",
                )


def _width(cut: ast.Slice) -> str | None:
    lower, upper = cut.lower, cut.upper
    if isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add) and lower is not None:
        for first, second in ((upper.left, upper.right), (upper.right, upper.left)):
            if ast.unparse(first) == ast.unparse(lower):
                return ast.unparse(second) if is_atom(second) else f"({ast.unparse(second)})"
    return None


def appended_together(evidence: Evidence, finding: Finding) -> Made:
    """Two lists that a loop fills, each at another place in it."""
    lists = [(one, one.listed) for one in _arrays(evidence) if one.listed is not None]
    for (one, at), (other, same) in itertools.permutations(lists, 2):
        if one.rows >= other.rows or at.scope is not same.scope:
            continue
        for loop in (item for item in ast.walk(at.scope) if isinstance(item, ast.For)):
            mine, moved = _appends(loop, one.root), _appends(loop, other.root)
            if len(mine) != 1 or len(moved) != 1:
                continue
            for line in line_in(evidence, at.file, mine[0]):
                text = line.source.of(moved[0])
                yield (
                    f"Move the append to {other.root} next to that of {one.root}, line {mine[0].lineno}",
                    [line.removed(moved[0]), line.before(mine[0], text)],
                    f"{one.root} gets {one.rows} rows, because the loop does not always get as far as line {mine[0].lineno}.",
                )


def _appends(loop: ast.For, name: str) -> list[ast.Expr]:
    calls = [item for item in ast.walk(loop) if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call)]
    return [item for item in calls if isinstance(item.value, ast.Call) and ast.unparse(item.value.func) == f"{name}.append"]


def of_one_set(evidence: Evidence, finding: Finding) -> Made:
    """The array of the same set, by the names."""
    arrays = _arrays(evidence)
    for one, other in itertools.permutations(arrays, 2):
        if one.rows == other.rows or not (isinstance(one.node, ast.Name) and isinstance(other.node, ast.Name)):
            continue
        for new in names_given_in(other.at.file):
            if _same_set(one.node.id, other.node.id, new):
                for line in line_in(evidence, other.at.file, other.node):
                    yield (
                        f"Use {new} instead of {other.node.id} at line {other.node.lineno}",
                        [line.edit(other.node, new)],
                        f"{one.node.id} and {new} belong to the same set.",
                    )


_TRAIN = frozenset({"train", "training", "tr"})
_SETS = _TRAIN | {"test", "testing", "te", "val", "valid", "validation", "dev", "eval", "holdout"}


def _same_set(one: str, other: str, new: str) -> bool:
    first, second, third = _words(one), _words(other), _words(new)
    lost, got = second - third, third - second
    return len(lost) == len(got) == 1 and got <= first & _SETS and lost <= _SETS and not lost & _TRAIN


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name))


def unpacked_in_order(evidence: Evidence, finding: Finding) -> Made:
    """Two names in each other's place where a call's results are unpacked."""
    taken = [(one, *one.unpacked) for one in _arrays(evidence) if one.unpacked is not None]
    for (one, _, statement, kept), (other, here, same, name) in itertools.permutations(taken, 2):
        if same is not statement or one.rows == other.rows:
            continue
        targets = [item for item in ast.walk(statement.targets[0]) if isinstance(item, ast.Name)]
        targets.sort(key=lambda item: (item.lineno, item.col_offset))
        mine = next(item for item in targets if item.id == name)
        for target in targets if len(targets) > 3 else ():
            if target.id not in (kept, name):
                for line in line_in(evidence, here.file, statement):
                    names = [name if item is target else target.id if item is mine else item.id for item in targets]
                    yield (f"Unpack {', '.join(names)} at line {statement.lineno}", line.swap(mine, target), "The call returns the arrays in this order.")


def folded_rows(evidence: Evidence, finding: Finding) -> Made:
    """The sizes of a reshape with -1 that makes several rows of one sample, or one row of several."""
    declared = [tuple(spec.shape[1:]) for _, spec in evidence.declared or [] if spec.shape is not None]
    for one, step, rest in _shorter(evidence, ("folded",)):
        call = step.node
        ratios = {one.rows / other.rows for other in rest if other.rows}
        if not isinstance(call, ast.Call) or len(ratios) != 1:
            continue
        last = call.args[-1]
        sizes = list(last.elts if isinstance(last, (ast.Tuple, ast.List)) else call.args if step.inner not in call.args else call.args[1:])
        written, ratio = [size_of(size) for size in sizes[1:]], ratios.pop()
        reason = f"{step.text} makes {one.rows} rows, and there are {rest[0].rows} samples."
        for line in line_in(evidence, step.file, call):
            if not written:
                yield (f"Remove the reshape at line {call.lineno}: {ast.unparse(step.inner)}", [line.edit(call, ast.unparse(step.inner))], reason)
                continue
            whole = math.prod(size or 0 for size in written) * ratio
            fits = [shape for shape in declared if None not in shape and math.prod(size or 0 for size in shape) == whole]
            if one.path[0] == "x" and fits and list(fits[0]) != written:
                shape = ", ".join(map(str, (-1, *fits[0])))
                new = f"({shape})" if isinstance(last, (ast.Tuple, ast.List)) else shape
                edits = [line.edit(last, new)] if last is not sizes[-1] else [line.edit(call, f"{ast.unparse(call.func)}({new})")]
                yield f"Reshape to ({shape}) at line {call.lineno}", edits, reason
            elif isinstance(sizes[-1], ast.Constant) and ratio > 1 and ratio.is_integer() and written[-1]:
                new = str(written[-1] * int(ratio))
                yield f"Set the last size of the reshape at line {call.lineno} to {new}", [line.edit(sizes[-1], new)], reason


ALL = (
    of_one_set,
    unpacked_in_order,
    without_index,
    rows_of_all,
    same_index,
    same_loop,
    filtered_alike,
    whole_array,
    values_behind,
    joined_alike,
    appended_together,
    folded_rows,
)
