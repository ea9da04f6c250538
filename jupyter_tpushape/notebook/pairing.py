"""Which data belongs to a model: what its inputs take, by spec; among those by name and by the order of the cells."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..flow import syntax
from ..views.naming import first_name, only_names
from .timed import opened

_Shape = tuple[int | None, ...]
_PLAIN = frozenset({"x", "y", "model", "net", "make", "build", "get", "create", "data", "dataset", "ds", "train", "training", "fn"})
_HELD_BACK = frozenset({"test", "val", "valid", "validation", "eval", "holdout"})

_LABELS = frozenset({"y", "label", "labels", "target", "targets", "class", "classes", "mask", "masks"})
TRAINING = frozenset({"fit", "evaluate", "train_on_batch", "test_on_batch"})
# In the magic's own line data of several arrays stands in parentheses.
_TUPLE = re.compile(r"\(.*\)")


def leaves(value: Any, shape: Any) -> dict[str | int, _Shape] | None:
    """The shape of each leaf by its key; ``None`` where one is not known.

    Args:
        shape: gives the shape of a leaf, and ``None`` for what is none.
    """
    own = shape(value)
    if own is not None:
        return {0: own}
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, (tuple, list)) else ()
    found = {key: shape(part) for key, part in parts}
    return found if found and all(one is not None for one in found.values()) else None


def fits(wanted: dict[str | int, _Shape] | None, have: dict[str | int, _Shape] | None) -> bool | None:
    """Whether data of these shapes can be fed to inputs of those."""
    if wanted is None or have is None:
        return None
    if len(wanted) != len(have):
        return False
    keys = zip(wanted, wanted if set(wanted) == set(have) else have, strict=True)
    return all(_agree(wanted[one], have[other]) for one, other in keys)


def _agree(wanted: _Shape, have: _Shape) -> bool:
    return len(wanted) == len(have) and all(a is None or b is None or a == b for a, b in zip(wanted[1:], have[1:], strict=True))


def best(model: str, inputs: Any, data: Sequence[dict[str, Any]], features: Mapping[str, Any], cells: Mapping[str, int]) -> str:
    """The name of the data that a model is traced on by itself; ``""`` where none can be fed to it.

    Args:
        data: entries with ``name``, ``class`` and ``spec``, newest first.
        features: the leaves of each, by name.
        cells: the number of the cell that assigned a name last.
    """
    words = _words(model)

    def rank(entry: dict[str, Any]) -> tuple[Any, ...]:
        name = str(entry["name"])
        labelled = ", (" in entry["spec"] or entry["class"] == "function"
        own = _words(name)
        apart = abs(cells.get(model, 0) - cells.get(first_name(name), 0)) if cells else 0
        return bool(fits(inputs, features.get(name))), labelled, len(words & own), not own & _HELD_BACK, not _parts(name) <= _LABELS, -apart

    able = [entry for entry in data if fits(inputs, features.get(str(entry["name"]))) is not False]
    return str(max(able, key=rank)["name"]) if able else ""


def belong(features: str, labels: str) -> bool:
    """Whether two names say that one contains what the other labels: ``x_train`` and ``y_train``, ``tx`` and ``ty``, ``train_scans`` and ``train_masks``."""
    if features[:1].lower() == "x" and labels[:1].lower() == "y" and features[1:] == labels[1:]:
        return True
    if features[-1:].lower() == "x" and labels[-1:].lower() == "y" and features[:-1] == labels[:-1]:
        return True
    ours, theirs = _parts(features), _parts(labels)
    mine, other = ours - theirs, theirs - ours
    return len(mine) == len(other) == 1 and other <= _LABELS and not mine & _LABELS


@functools.lru_cache(maxsize=1024)
def _parts(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+|\d+", name.lower()))


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", name.lower())) - _PLAIN


def assigned(sources: Sequence[str]) -> dict[str, int]:
    """For each name the number of the cell that assigned it last."""
    return {name: number for number, source in enumerate(sources) for name in assigned_in(source)}


@functools.lru_cache(maxsize=1024)
def used_together(source: str) -> frozenset[tuple[str, str]]:
    """Features and labels that a cell trains on or traces: ``fit(table, clicks)``, ``fit([left, right], y)``, ``%tpushape net (table, clicks)``."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(parsed(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        given = dict(zip("xy", node.args, strict=False)) | {part.arg: part.value for part in node.keywords}
        features, labels = given.get("x"), given.get("y")
        if node.func.attr in TRAINING and features and labels and only_names(features) and only_names(labels):
            found.add((ast.unparse(features), ast.unparse(labels)))
        # A magic's line, as IPython hands it on.
        texts = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if node.func.attr == "run_line_magic" and texts[:1] == ["tpushape"]:
            found.update(_typed(" ".join(texts[1:])))
    return frozenset(found)


def _typed(line: str) -> list[tuple[str, str]]:
    try:
        both = [syntax.parse(found, "eval").body for found in _TUPLE.findall(line)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    pairs = [node.elts for node in both if isinstance(node, ast.Tuple) and len(node.elts) == 2 and only_names(node)]
    return [(ast.unparse(features), ast.unparse(labels)) for features, labels in pairs]


@functools.lru_cache(maxsize=1024)
def assigned_in(source: str, since: int = 0) -> frozenset[str]:
    """The names that a cell assigns or defines in statements that end at line ``since`` or later."""
    body = [one for one in parsed(source).body if (one.end_lineno or 0) >= since]
    stored = {node.id for one in body for node in ast.walk(one) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return frozenset(stored | {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))})


def parsed(source: str) -> ast.Module:
    """A cell without the lines that are no Python."""
    try:
        return syntax.parse(re.sub(r"(?m)^\s*[%!?].*$", "", opened(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
