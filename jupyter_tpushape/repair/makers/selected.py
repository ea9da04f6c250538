"""Candidates for what a compiled step cannot ask of a tensor: one number, as many elements as a mask selects, a count of the samples."""

from __future__ import annotations

import ast
import re

from ...examine.evidence import Evidence
from ...flow import Finding, syntax
from ...flow.syntax import called
from ...rules.facts.mesh import ValueAsked
from ..edits import Edit
from ..edits.expression import MODULE
from ..text.source import nodes, parents
from .edits import Made, of
from .line import Line, lines_of, short

# What computes each element, or each row, by itself: it gives the same for those that are selected later.
_EACH = frozenset({
    "square", "abs", "absolute", "log", "log1p", "exp", "sqrt", "subtract", "add", "multiply", "divide", "maximum", "minimum", "power", "cast", "sigmoid",
})  # fmt: skip
_ROWS = frozenset({"sparse_categorical_crossentropy", "categorical_crossentropy"})
# Functions of math, and the comparisons of Python, that are functions for tensors too.
_MATH = frozenset({"exp", "sqrt", "log", "log2", "log10", "log1p", "expm1", "cos", "sin", "tan", "cosh", "sinh", "tanh", "ceil", "floor"})
_COMPARES = {"min": "minimum", "max": "maximum"}
_ASKS = frozenset({"nonzero", "where", "argwhere", "flatnonzero"})


@of(ValueAsked)
def looked_up(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """An array of NumPy's, or a list of numbers."""
    for line in lines_of(evidence)[:1] if fact.asked in ("array", "index") else []:
        item = line.node
        if isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Load) and isinstance(item.value, (ast.Name, ast.Attribute)):
            table = ast.unparse(item.value)
            yield (
                f"Make {table} a tensor at {line.at}",
                [line.apply(item.value, "convert_to_tensor", module="keras.ops")],
                f"{table} is no tensor, and asks for the value of its index.",
            )


@of(ValueAsked)
def as_tensor(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """The tensor itself, in place of the Python number that it holds."""
    for line in lines_of(evidence) if fact.asked == "number" else []:
        call = line.node
        if not isinstance(call, ast.Call) or call.keywords or len(call.args) != (0 if called(call) == "item" else 1):
            continue
        whole = called(call) == "int"
        if called(call) == "item" and isinstance(call.func, ast.Attribute):
            it = call.func.value
        elif isinstance(call.func, ast.Name) and (whole or call.func.id == "float"):
            it = call.args[0]
        elif ast.unparse(call.func).startswith("math.") and called(call) in _MATH:
            it = call.args[0]
            yield (
                f"Use {called(call)} of keras.ops at {line.at}",
                [line.edit(call.func, f"{MODULE}.{called(call)}", "keras.ops"), *compared_around(line, call)],
                "The functions of math take numbers only, and a compiled step has no values.",
            )
            return
        else:
            continue
        new = f'{MODULE}.cast({line.source.of(it)}, "int32")' if whole else line.source.of(it)
        around = compared_around(line, call)
        yield (
            f"Keep {short(it)} as a tensor at {line.at}",
            [line.edit(call, new, "keras.ops" * whole), *around],
            "A compiled step has no values." if not around else "A compiled step has no values, and min and max of Python compare values.",
        )
        return


def compared_around(line: Line, node: ast.expr) -> list[Edit]:
    """The minimum and maximum of tensors for those of Python that read a result in the same expression."""
    above, edits = parents(line.source.tree), []
    around = above.get(node)
    while isinstance(around, ast.expr):
        if isinstance(around, ast.Call) and isinstance(around.func, ast.Name) and around.func.id in _COMPARES and len(around.args) == 2:
            edits.append(line.edit(around.func, f"{MODULE}.{_COMPARES[around.func.id]}", "keras.ops"))
        around = above.get(around)
    return [*edits]


@of(ValueAsked)
def by_where(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """A mean or sum over all elements with 0 for those that are not selected, in place of one over a selection."""
    for line in lines_of(evidence)[:1] if fact.asked in ("mask", "size") else []:
        found = _Selection(line)
        if found.holds():
            yield (
                f"Keep the shape at {line.at}: where({short(syntax.parse(found.mask, mode='eval').body)}, ..., 0), and divide by the number of selected elements",
                [line.edit(node, new, "keras.ops" if MODULE in new else "") for node, new in found.edits()],
                "The result is the same for every number of selected elements, and its shape does not depend on values.",
            )


_SET = re.compile(r"(\w+) = \1\.at\[(\w+)\]\.set\((self[\w.\[\]]+)\((\w+)\[\2\]\)\)")


@of(ValueAsked)
def set_by_where(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """A layer on all rows, and ``where`` for those of a mask, in place of a layer on these, set at their places."""
    for line in lines_of(evidence)[:1] if fact.asked == "mask" else []:
        for put in nodes(line.scope, ast.Assign):
            found = _SET.fullmatch(ast.unparse(put))
            axes = len(line.shape_of_names().get(found[1], ())) if found else 0
            if found and axes:
                whole, mask, layer, rows = found.groups()
                yield (
                    f"Call {layer} on all rows at line {put.lineno}, and keep those of {mask} with where",
                    [line.edit(put.value, f"{MODULE}.where({mask}[{', '.join([':', *['None'] * (axes - 1)])}], {layer}({rows}), {whole})", "keras.ops")],
                    "The shape does not depend on values, and each row is computed by itself.",
                )


class _Selection:
    """A mask, what a function selects by it, and the means and sums of that."""

    def __init__(self, line: Line) -> None:
        self._line, self._above = line, parents(line.source.tree)
        self.mask, self._key = "", ""
        self._made: tuple[ast.expr, str] | None = None
        node = line.node
        if isinstance(node, ast.Subscript):
            self.mask = self._key = ast.unparse(node.slice)
        elif isinstance(node, ast.Call) and called(node) in _ASKS and len(node.args) == 1:
            whole = above if isinstance(above := self._above.get(node), ast.Subscript) else node
            kept = self._above.get(whole)
            target = kept.targets[0] if isinstance(kept, ast.Assign) else None
            self._made = (whole, ast.unparse(node.args[0]))
            if isinstance(target, ast.Tuple) and len(target.elts) == 1:
                target = None
            self.mask = self._key = target.id if isinstance(target, ast.Name) else ""
        every = sorted(nodes(line.scope, (ast.Subscript, ast.Call)), key=lambda one: (one.lineno, one.col_offset))
        self._selects = [one for one in every if self._key and self._picked(one) is not None]
        self._means = [
            one for one in every
            if isinstance(one, ast.Call) and called(one) in ("mean", "sum") and len(one.args) == 1 and self._over_all(one) and self._depends(one.args[0])
        ]  # fmt: skip

    def _picked(self, node: ast.AST) -> ast.expr | None:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            return node.value if ast.unparse(node.slice) in (self._key, f"{self._key}[0]") else None
        taken = isinstance(node, ast.Call) and called(node) == "take" and len(node.args) > 1 and ast.unparse(node.args[1]) == self._key
        return node.args[0] if taken and isinstance(node, ast.Call) else None

    def _over_all(self, call: ast.Call) -> bool:
        """Whether a mean or a sum is over all that is selected: over everything, or over the axis along which a mask of one axis selects."""
        words = [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords]
        return not words or (words == ["axis=0"] and bool(self.mask) and self._rank(syntax.parse(self.mask, mode="eval").body) == 1)

    def _names(self) -> dict[str, int]:
        names: dict[str, int] = {}
        for item in nodes(self._line.scope, ast.Assign):
            if isinstance(item.targets[0], ast.Name) and self._depends(item.value, names):
                names.setdefault(item.targets[0].id, item.end_lineno or item.lineno)
        return names

    def _depends(self, node: ast.AST, names: dict[str, int] | None = None) -> bool:
        if isinstance(node, ast.Call) and called(node) in ("mean", "sum"):
            return False
        names = self._names() if names is None else names
        if self._picked(node) is not None or (isinstance(node, ast.Name) and names.get(node.id, node.lineno) < node.lineno):
            return True
        return any(self._depends(child, names) for child in ast.iter_child_nodes(node))

    def holds(self) -> bool:
        """Whether everything selected ends in a mean or a sum, and each element is computed by itself on the way."""
        line = self._line
        # What counts in a comprehension has the same value all over it.
        turns = {id(one) for item in nodes(line.scope, ast.comprehension) for one in ast.walk(item.target)}
        stores = [one for one in nodes(line.scope, ast.Name) if isinstance(one.ctx, ast.Store) and id(one) not in turns]
        first = self._selects[0].lineno if self._selects else 0
        # What is set once, before it is used, is the same wherever the mask is written.
        once = {one.id for one in stores if one.lineno < first and sum(other.id == one.id for other in stores) == 1}
        stored = {one.id for one in stores} - once
        steady = self.mask.isidentifier() or not stored & {one.id for one in ast.walk(syntax.parse(self.mask or "0")) if isinstance(one, ast.Name)}
        if not self._selects or not self._means or not steady or not isinstance(line.scope, ast.FunctionDef):
            return False
        for item in nodes(line.scope, (ast.Return, ast.Expr, ast.If, ast.For, ast.While, ast.AugAssign)):
            if any(self._depends(child) for child in ast.iter_child_nodes(item) if isinstance(child, ast.expr)):
                return False
        kept = [item.value for item in nodes(line.scope, ast.Assign) if self._depends(item.value)] + [one.args[0] for one in self._means]
        return all(self._each(one) for one in kept)

    def _each(self, node: ast.expr) -> bool:
        if self._picked(node) is not None or not self._depends(node):
            return True
        if isinstance(node, ast.Call) and called(node) not in _EACH | _ROWS:
            return False
        children = [one for one in ast.iter_child_nodes(node) if isinstance(one, (ast.expr, ast.keyword))]
        return isinstance(node, (ast.Call, ast.BinOp, ast.UnaryOp, ast.Name)) and all(
            self._each(one.value if isinstance(one, ast.keyword) else one) for one in children
        )

    def edits(self) -> list[tuple[ast.expr, str]]:
        """The expressions and their new texts; a selection inside of a mean is part of the mean's."""
        of = self._line.source.of
        inside = {id(one) for mean in self._means for one in ast.walk(mean)}

        def bare(node: ast.expr) -> str:
            text = of(node)
            for one in self._selects:
                picked = self._picked(one)
                if picked is not None and any(item is one for item in ast.walk(node)):
                    text = text.replace(of(one), of(picked))
            return text

        found = [(one, bare(one)) for one in self._selects if id(one) not in inside and not self._nested(one)]
        for mean in self._means:
            what, rows = bare(mean.args[0]), any(called(one) in _ROWS for one in nodes(self._line.scope, ast.Call))
            apart = 0 if rows else self._apart()
            plain = isinstance(syntax.parse(self.mask, mode="eval").body, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
            mask = f"{self.mask}[{'..., ' + ', '.join(['None'] * apart)}]" if apart else self.mask
            mask = f"({self.mask}){mask[len(self.mask) :]}" if apart and not plain else mask
            along = ", axis=0" if mean.keywords else ""
            total = f"{MODULE}.sum({MODULE}.where({mask}, {what}, 0.0){along})"
            ones = f'{MODULE}.cast({mask}, "float32")' if apart == 0 else f"{MODULE}.where({mask}, {MODULE}.ones_like({what}), 0.0)"
            found.append((mean, total if called(mean) == "sum" else f"{total} / {MODULE}.maximum({MODULE}.sum({ones}{along}), 1.0)"))
        return found + ([self._made] if self._made is not None else [])

    def _nested(self, node: ast.expr) -> bool:
        return any(one is not node and any(item is node for item in ast.walk(one)) for one in self._selects)

    def _apart(self) -> int | None:
        mask = self._rank(syntax.parse(self.mask, mode="eval").body)
        base = next((rank for one in self._selects if (rank := self._rank(self._picked(one) or one)) is not None), None)
        return max(0, base - mask) if base is not None and mask is not None else None

    def _rank(self, node: ast.expr) -> int | None:
        spec = self._line.specs.get(ast.unparse(node))
        if spec is not None:
            return len(spec.shape) if spec.shape is not None else None
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice) in self._line.numbers:
            whole = self._rank(node.value)
            return whole - 1 if whole else None
        if isinstance(node, (ast.Compare, ast.BinOp)):
            parts = [node.left, *(node.comparators if isinstance(node, ast.Compare) else [node.right])]
            ranks = [0 if isinstance(one, (ast.Constant, ast.UnaryOp)) else self._rank(one) for one in parts]
            return None if None in ranks else max(rank or 0 for rank in ranks)
        return None


_JOINS = frozenset({"stack", "array", "asarray", "convert_to_tensor"})


@of(ValueAsked)
def over_samples(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """``vectorized_map`` for a loop that computes one sample after the other and stacks the results."""
    for line in lines_of(evidence)[:1] if fact.asked == "rows" else []:
        for loop in line.around((ast.For, ast.ListComp), line.scope):
            edits = _listed(line, loop) if isinstance(loop, ast.ListComp) else _looped(line, loop)
            if edits:
                title = f"Map over the samples with vectorized_map instead of the loop at line {loop.lineno}"
                yield title, edits, "All samples are computed at once."
                return


def _rows(line: Line, loop: ast.For | ast.comprehension, body: list[ast.AST]) -> dict[str, str]:
    i, turns = loop.target, loop.iter
    if not isinstance(i, ast.Name) or not isinstance(turns, ast.Call) or called(turns) != "range" or len(turns.args) != 1:
        return {}
    inside = [one for item in body for one in ast.walk(item)]
    taken = [one for one in inside if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name) and one.slice.id == i.id]
    stored = {one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    whole = all(isinstance(one.value, ast.Name) and isinstance(one.ctx, ast.Load) and one.value.id not in stored for one in taken)
    if not whole or len(taken) != sum(isinstance(one, ast.Name) and one.id == i.id for one in inside):
        return {}
    return {f"{of}[{i.id}]": f"{of}_{i.id}" for of in dict.fromkeys(ast.unparse(one.value) for one in taken)}


def _with_rows(text: str, rows: dict[str, str]) -> str:
    for old, new in rows.items():
        text = text.replace(old, new)
    return text


def _tensors(rows: dict[str, str]) -> str:
    every = [old.partition("[")[0] for old in rows]
    return every[0] if len(every) == 1 else f"({', '.join(every)})"


def _joins(call: ast.Call, results: ast.expr) -> bool:
    words = [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords]
    return called(call) in _JOINS and [*call.args] == [results] and words in ([], ["axis=0"])


def _listed(line: Line, loop: ast.ListComp) -> list[Edit]:
    around = parents(line.source.tree).get(loop)
    (turn,) = loop.generators[:1]
    rows = _rows(line, turn, [loop.elt]) if len(loop.generators) == 1 and not turn.ifs else {}
    if not rows or not isinstance(around, ast.Call) or not _joins(around, loop):
        return []
    names = [*rows.values()] if len(rows) == 1 else [f"rows[{index}]" for index in range(len(rows))]
    one = _with_rows(ast.unparse(loop.elt), dict(zip(rows, names, strict=True)))
    new = f"{MODULE}.vectorized_map(lambda {names[0] if len(rows) == 1 else 'rows'}: {one}, {_tensors(rows)})"
    return [line.edit(around, new, "keras.ops")]


def _looped(line: Line, loop: ast.For) -> list[Edit]:
    source, last = line.source, loop.body[-1]
    kept = last.value if isinstance(last, ast.Expr) else None
    if not isinstance(kept, ast.Call) or called(kept) != "append" or not isinstance(kept.func, ast.Attribute) or len(kept.args) != 1 or loop.orelse:
        return []
    out, rows = ast.unparse(kept.func.value), _rows(line, loop, [*loop.body])
    plain = all(isinstance(one, ast.Assign) for one in loop.body[:-1])
    starts = [one for one in nodes(line.scope, ast.Assign) if ast.unparse(one) == f"{out} = []"]
    joins = [one for one in nodes(line.scope, ast.Call) if one.args and ast.unparse(one.args[0]) == out and _joins(one, one.args[0])]
    used = sum(one.id == out for one in nodes(line.scope, ast.Name))
    if not rows or not plain or len(starts) != 1 or len(joins) != 1 or used != 3:
        return []
    pad = f"\n{source.indent(loop)}"
    deep = f"{pad}    "
    names = [*rows.values()]
    head = names[0] if len(names) == 1 else "rows"
    body = [] if len(names) == 1 else [f"{', '.join(names)} = rows"]
    body += [_with_rows(ast.unparse(one), rows) for one in loop.body[:-1]]
    body += [f"return {_with_rows(ast.unparse(kept.args[0]), rows)}"]
    text = f"def one_sample({head}):{deep}{deep.join(body)}{pad}{out} = {MODULE}.vectorized_map(one_sample, {_tensors(rows)})"
    gone = line.removed(starts[0])
    return [line.edit(loop, text, "keras.ops"), line.edit(joins[0], out), gone]
