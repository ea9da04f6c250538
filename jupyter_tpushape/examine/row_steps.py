"""Where the rows of each array come from in the code that makes the data: what selects them, repeats them or puts others behind them.

Nothing runs here. An expression is followed from where the data is handed over, through names and the functions of the program,
as far as each name has one meaning.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..flow import KeyPath
from ..flow.paths import flatten
from ..flow.syntax import called, loaded
from ..flow.text import words
from ..sources.arrays import shape_of
from ..trace.locations import Variables, cells_of, defined, is_ours
from ..trace.raised import frames_of
from .given_names import At, Texts, own_statements
from .handed_data import at_of, batches, handed, parts_of, returned, sliced
from .heard import hear
from .heard_data import HeardSlices
from .program import Examined

_MOST, _SHORT = 24, 48
# Functions that keep the rows of their first argument.
_KEEPS = frozenset({"array", "asarray", "expand_dims", "float32", "float64", "int32", "int64", "convert_to_tensor", "constant", "cast", "ascontiguousarray"})
_JOINS = frozenset({"concatenate", "vstack", "append", "concat", "repeat", "tile", "r_"})


@dataclass(frozen=True)
class Step:
    """One expression that gives an array other rows than ``inner`` has.

    ``cut``: an index selects rows; ``filtered``: the condition of a comprehension does; ``one``: a number takes a single row; ``joined``:
    rows are put behind others; ``windows``: each row is a slice of ``inner``; ``folded``: a reshape counts the rows; ``shuffled``: they
    get another order.
    """

    kind: Literal["cut", "filtered", "one", "joined", "windows", "folded", "shuffled"]
    at: At
    node: ast.expr
    inner: ast.expr

    @property
    def file(self) -> str:
        return self.at.file

    @property
    def scope(self) -> ast.AST:
        """The function that it stands in, else the file."""
        return self.at.scope

    @property
    def text(self) -> str:
        """The expression as written, cut short where it is long."""
        said = ast.unparse(self.node)
        return said if len(said) <= _SHORT else said[: _SHORT - 1] + "…"

    @property
    def index_node(self) -> ast.expr | None:
        """What selects the rows, where an index does."""
        return first_index(self.node) if self.kind == "cut" and isinstance(self.node, ast.Subscript) else None

    @property
    def index(self) -> str:
        """The same as written; ``""`` where nothing does."""
        return ast.unparse(self.index_node) if self.index_node is not None else ""

    def same(self, other: Step) -> bool:
        """Whether another array went through the same step."""
        if self.kind == other.kind == "cut":
            return self.index == other.index
        return self.kind == other.kind and self.kind in ("windows", "one")


@dataclass(frozen=True)
class Array:
    """An array that is handed over: its rows, the expression that hands it over, and, the last one first, the steps that led there.

    ``names``: those that it had, and ``places``: the expressions that gave it to a name, a function or ``fit``, the last one first.
    ``unpacked``: the assignment that takes it out of a call's results, and its name there. ``listed``: where it begins as an empty list
    that a loop fills. ``mentions``: every name in the expressions on the way.
    """

    path: KeyPath
    rows: int
    at: At
    node: ast.expr
    steps: tuple[Step, ...] = ()
    names: tuple[str, ...] = ()
    places: tuple[tuple[At, ast.expr], ...] = ()
    unpacked: tuple[At, ast.Assign, str] | None = None
    listed: At | None = None
    mentions: frozenset[str] = frozenset()

    @property
    def root(self) -> str:
        """The name that it went under first."""
        return self.names[-1] if self.names else ""


def arrays_of(seen: Examined, only: str = "") -> tuple[Array, ...]:
    """Every array that is handed over, where the text shows the expression that hands it over.

    Args:
        only: a pattern; where the text has nothing that matches it, there is nothing to follow.
    """
    function = getattr(seen.program.data, "func", seen.program.data)
    own = defined(getattr(function, "stands_for", function)) if callable(function) else None
    each = batches(seen.data)
    if each is not None:
        own = each.co_filename, each.co_firstlineno
    where = own if own is not None and not is_ours(own[0]) else seen.program.handed
    if where is not None:
        linecache.checkcache(where[0])  # a file that was changed and loaded again
    if only and (where is None or not any(re.search(only, line) for file in (cells_of(where[0]) or [where[0]]) for line in linecache.getlines(file))):
        return ()
    data = seen.data
    parts = data if isinstance(data, tuple) else (data,)
    rows = {
        path: shape[0] for name, part in zip(("x", "y", "weight"), parts, strict=False) for path, value in flatten(part, name) if (shape := shape_of(value))
    }
    found = []
    written = not isinstance(seen.program.handed, Variables)
    for code, at, path, node in handed(seen):
        if each is not None:
            found += [_followed(code, at, path, 0, node, written=True)] if only else []
            continue
        pipeline = sliced(code, at, node) if path == ("x",) and only else None
        if pipeline is not None:  # all parts of a pipeline have as many rows
            return tuple(_followed(*leaf[:3], 0, leaf[3], written=written) for leaf in parts_of(code, *pipeline))
        if (count := rows.get(path)) is not None:
            found.append(_followed(code, at, path, count, node, written=written))
    return tuple(found)


def sliced_together(error: BaseException) -> tuple[Array, ...]:
    """The two parts that ``from_tensor_slices`` refused to slice together."""
    said, found = hear(words(error), HeardSlices), next(iter(frames_of(error)), None)
    if said is None or found is None:
        return ()
    (file, line), texts = found[1], Texts(cells_of(found[1][0]))
    tree = texts.tree(file)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) == "from_tensor_slices"] if tree is not None else []
    calls = [call for call in calls if call.args and call.lineno <= line <= (call.end_lineno or 0)]
    if len(calls) != 1 or tree is None:
        return ()
    leaves = list(parts_of(texts, at_of(tree, file, calls[0]), calls[0].args[0]))
    rows = (said.first, said.second)
    return tuple(_followed(*leaf[:3], count, leaf[3], written=True) for leaf, count in zip(leaves, rows, strict=True)) if len(leaves) == 2 else ()


def odd_steps(arrays: tuple[Array, ...]) -> list[tuple[Array, Step]]:
    """The steps of some arrays that none with another number of rows went through, in the order of the text; another order keeps the rows."""
    found = []
    for one in arrays:
        rest = [other for other in arrays if other.rows != one.rows]
        found += [
            (one, step) for step in one.steps if step.kind != "shuffled" and rest and not any(step.same(other) for array in rest for other in array.steps)
        ]
    return sorted(found, key=lambda pair: (pair[1].file != pair[0].at.file, pair[1].node.lineno))


def _followed(texts: Texts, at: At, path: KeyPath, rows: int, node: ast.expr, *, written: bool) -> Array:
    here, value = at, node
    steps: list[Step] = []
    names: list[str] = []
    places = [(at, node)] if written else []
    unpacked: tuple[At, ast.Assign, str] | None = None
    listed: At | None = None
    mentions: set[str] = set()
    entered: list[tuple[At, ast.Call, ast.FunctionDef]] = []
    for _ in range(_MOST):
        mentions |= loaded(value)
        step = _step(texts, here, value)
        inner = step.inner if step is not None else _kept(texts, value)
        if step is not None:
            steps.append(step)
            if step.kind == "windows":
                break
        if inner is not None:
            value = inner
            continue
        if isinstance(value, ast.Name):
            names.append(value.id)
        found = texts.given(value.id, here) if isinstance(value, ast.Name) else None
        if found is None:
            through = _through(texts, here, value, entered)
            if through is None:
                break
            here, value = through
            places.append(through)
            continue
        here, made, part = found
        if part is None:
            unpacked = unpacked or (here, made, names[-1])
            result = _through(texts, here, made.value, entered, made.targets[0], names[-1])
            if result is None:
                break
            here, part = result
        if isinstance(part, ast.List) and not part.elts:
            steps += _appended(here, names[-1])
            listed = here
            break
        places.append((here, part))
        value = part
    return Array(path, rows, at, node, tuple(steps), tuple(names), tuple(places), unpacked, listed, frozenset(mentions))


def _through(
    texts: Texts, at: At, value: ast.expr, entered: list[tuple[At, ast.Call, ast.FunctionDef]], target: ast.expr | None = None, name: str = ""
) -> tuple[At, ast.expr] | None:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and (inner := texts.function(value.func.id, at)) is not None:
        entered.append((at, value, inner[1]))
        for there, part in returned(texts, *inner):
            if target is None:
                return there, part
            if isinstance(part, ast.Tuple) and isinstance(target, ast.Tuple) and len(part.elts) == len(target.elts):
                return next(((there, item) for one, item in zip(target.elts, part.elts, strict=True) if ast.unparse(one) == name), None)
    if not isinstance(value, ast.Name) or not entered or entered[-1][2] is not at.scope:
        return None
    place, call, scope = entered.pop()
    taken = dict(zip((item.arg for item in scope.args.args), call.args, strict=False))
    taken |= {word.arg: word.value for word in call.keywords if word.arg}
    return (place, taken[value.id]) if value.id in taken else None


def _step(texts: Texts, at: At, value: ast.expr) -> Step | None:
    if isinstance(value, ast.Subscript):
        first = first_index(value)
        if isinstance(first, ast.Slice):
            return Step("cut", at, value, value.value) if first.lower or first.upper or first.step else None
        if isinstance(first, ast.Constant):
            return Step("one", at, value, value.value) if type(first.value) is int else None
        if isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.USub):
            return Step("one", at, value, value.value)
        return Step("cut", at, value, value.value)
    if isinstance(value, ast.Call) and value.args and called(value) in _JOINS and isinstance(value.func, ast.Attribute) and texts.is_module(value.func.value):
        first = value.args[0]
        return Step("joined", at, value, first.elts[0] if isinstance(first, (ast.List, ast.Tuple)) and first.elts else first)
    if isinstance(value, ast.Call) and called(value) == "reshape" and isinstance(value.func, ast.Attribute) and not value.keywords:
        module = texts.is_module(value.func.value)
        shape = value.args[module:]
        sizes = shape[0].elts if len(shape) == 1 and isinstance(shape[0], (ast.Tuple, ast.List)) else shape
        if sizes and ast.unparse(sizes[0]) == "-1":
            return Step("folded", at, value, value.args[0] if module else value.func.value)
        return None
    if isinstance(value, ast.Call) and called(value) in ("permutation", "shuffle") and len(value.args) == 1 and not value.keywords:
        mixed = value.args[0]
        return Step("shuffled", at, value, mixed) if isinstance(mixed, ast.Name) and not _counts(texts, at, mixed.id) else None
    if isinstance(value, ast.ListComp) and len(value.generators) == 1:
        part = value.generators[0]
        inner = _window(value.elt, loaded(part.target))
        if inner is not None:
            return Step("windows", at, value, inner)
        counted = isinstance(part.iter, ast.Call) and called(part.iter) == "enumerate" and part.iter.args
        return Step("filtered", at, value, counted[0] if counted else part.iter) if part.ifs else None
    return None


def _counts(texts: Texts, at: At, name: str) -> bool:
    """Whether a name holds a number: a permutation of it is new data, and not the rows of other data in another order."""
    given = texts.given(name, at)
    value = given[2] if given is not None else None
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Attribute) and value.value.attr == "shape"
    return value is not None and (not loaded(value) or (isinstance(value, ast.Call) and called(value) == "len"))


def _appended(at: At, name: str) -> Iterator[Step]:
    for loop in own_statements(at.scope, ast.For):
        for call in ast.walk(loop):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append" and ast.unparse(call.func.value) == name:
                inner = _window(call.args[0], loaded(loop.target)) if call.args else None
                if inner is not None:
                    yield Step("windows", at, call.args[0], inner)


def _window(value: ast.expr, names: set[str]) -> ast.expr | None:
    for part in ast.walk(value):
        cut = first_index(part) if isinstance(part, ast.Subscript) else None
        moves = isinstance(cut, ast.Slice) and cut.upper is not None and cut.lower is not None and names & loaded(cut.lower)
        if isinstance(part, ast.Subscript) and moves:
            return part.value
    return None


def first_index(value: ast.Subscript) -> ast.expr:
    """What an index does to the first axis."""
    index = value.slice
    return index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index


def stacked(value: ast.AST) -> list[ast.expr]:
    """The arrays that an expression puts side by side along axis 1."""
    if isinstance(value, ast.Call) and called(value) == "stack" and value.args and [ast.unparse(word) for word in value.keywords] == ["axis=1"]:
        return getattr(value.args[0], "elts", [])
    return []


def _kept(texts: Texts, value: ast.expr) -> ast.expr | None:
    if isinstance(value, ast.Subscript):
        first = first_index(value)
        return value.value if isinstance(first, ast.Slice) or (isinstance(first, ast.Constant) and first.value in (None, ...)) else None
    if isinstance(value, ast.Call) and called(value) in _KEEPS and value.args:
        return value.args[0]
    if parts := stacked(value):
        return parts[0]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and called(value) in ("astype", "reshape", "copy", "to_numpy", "numpy"):
        return value.args[0] if texts.is_module(value.func.value) and value.args else value.func.value
    if isinstance(value, ast.Attribute) and value.attr == "values":
        return value.value
    if isinstance(value, ast.BinOp):
        return value.right if isinstance(value.left, ast.Constant) else value.left
    return None
