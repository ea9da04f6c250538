"""The cells in front of one that failed: those that a model was begun in, which run again with it."""

from __future__ import annotations

import ast
from typing import Any

from ..flow import syntax
from .pairing import assigned_in, parsed
from .timed import opened

# Up to how many runs, how deep in a list, and among how many of its items.
_MOST, _DEEP, _ITEMS = 40, 3, 200


def quiet(shell: Any, source: str) -> str:
    """A cell's text as it runs, without magics, system commands and calls that write files where they stand alone; the lines stay where they are.

    Running a part of a model once more installs, shows and stores nothing.
    """
    text = shell.transform_cell(source)
    try:
        tree = syntax.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return str(text)
    lines = text.split("\n")
    for item in tree.body:
        shown = isinstance(item, ast.Expr) and item.lineno == item.end_lineno and ast.unparse(item).startswith("get_ipython().")
        stored = isinstance(item, ast.Expr) and isinstance(item.value, ast.Call) and syntax.writes(syntax.called(item.value))
        if (shown or stored) and _alone(tree, item):
            lines[item.lineno - 1 : item.end_lineno] = ["pass"] + [""] * ((item.end_lineno or item.lineno) - item.lineno)
    return "\n".join(lines)


def _alone(tree: ast.Module, item: ast.stmt) -> bool:
    return all(other is item or other.end_lineno != item.lineno for other in tree.body)


def earlier(shell: Any, source: str, count: int) -> list[tuple[int, str]]:
    """The runs whose layers and symbolic tensors a cell builds on, in order, each with its text; none where the cell trains, which has a live model.

    Args:
        source: the text of the cell.
        count: its run, or a later one.
    """
    texts = [opened(text) if isinstance(text, str) else "" for text in shell.user_ns.get("In", ())][:count]
    found: set[int] = set()
    if _trains(source):
        return []
    pending = [source]
    while pending and len(found) <= _MOST:
        own = assigned_in(text := pending.pop())
        for name in _names(text):
            if not _is_begun(shell.user_ns.get(name)):
                continue
            made = next((number for number in reversed(range(len(texts))) if name in assigned_in(texts[number])), None)
            if made is None and name in own:
                continue  # it lives in the cell alone
            if made is None:
                return []
            later = [number for number in range(made + 1, len(texts)) if _changes(texts[number], name)]
            for number in {made, *later} - found:
                found.add(number)
                pending.append(texts[number])
    if len(found) > _MOST or any(_trains(texts[number]) for number in found):
        return []
    return [(number, texts[number]) for number in sorted(found)]


def spent(source: str) -> bool:
    """Whether a cell gives a name another value that it has read before: what it read is gone once it has run."""
    tree = parsed(source)
    # What a function or class reads, it reads when it is called.
    inner = {id(one) for made in tree.body if isinstance(made, (ast.FunctionDef, ast.ClassDef)) for one in ast.walk(made)}
    # A comprehension has variables of its own, which stand behind what reads them.
    for made in (one for one in ast.walk(tree) if isinstance(one, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))):
        taken = {one.id for part in made.generators for one in ast.walk(part.target) if isinstance(one, ast.Name)}
        inner |= {id(one) for one in ast.walk(made) if isinstance(one, ast.Name) and one.id in taken}
    names = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and id(one) not in inner]
    # The value of an assignment comes before its targets.
    ends = {
        id(one): (node.end_lineno or node.lineno, node.end_col_offset or 0)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for part in node.targets
        for one in ast.walk(part)
    }
    first: dict[str, ast.Name] = {}
    for name in sorted(names, key=lambda one: ends.get(id(one)) or (one.lineno, one.col_offset)):
        first.setdefault(name.id, name)
    return any(isinstance(name.ctx, ast.Store) and not isinstance(first[name.id].ctx, ast.Store) for name in names)


def _is_begun(value: Any, depth: int = _DEEP) -> bool:
    from ..trace.frameworks import loaded

    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return depth > 0 and any(_is_begun(item, depth - 1) for item in value[:_ITEMS])
    if type(value) is dict:
        return depth > 0 and any(_is_begun(item, depth - 1) for item in list(value.values())[:_ITEMS])
    return not isinstance(value, type) and any(adapter.is_layer(value) or adapter.is_symbolic(value) for adapter in loaded())


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(parsed(source)) if isinstance(node, ast.Name)}


def _trains(source: str) -> bool:
    from ..trace.aftermath import FITTING

    calls = (node.func for node in ast.walk(parsed(source)) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Attribute) and called.attr in FITTING for called in calls)


def _changes(source: str, name: str) -> bool:
    """Whether a cell changes a name's object in place, as ``model.add(...)`` does, and not only shows or trains it."""
    from ..repair.text.cells import touched, trains

    return any(name in touched(item) and not trains(item) for item in parsed(source).body)
