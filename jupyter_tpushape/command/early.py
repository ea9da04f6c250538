"""Checks the arguments against the files alone, before anything heavy is imported."""

from __future__ import annotations

import ast
import difflib
import os
from pathlib import Path

from ..flow import syntax
from ..flow.text import MOST_SOURCE

# What may define a name in ways that the text does not show.
_HIDDEN = ("globals", "setattr", "exec", "eval", "vars", "locals", "__getattr__")


def check_saved(place: str) -> None:
    """Checks that a model's file exists.

    Raises:
        UsageError: if it does not.
    """
    if not os.path.exists(place):  # noqa: PTH110
        if os.path.islink(place):  # noqa: PTH114
            raise UsageError(f"{place} is a symbolic link that leads to no file: use the path of the file itself.")
        near = _near_file(Path(place))
        hint = f"did you mean {near}?" if near else "use the path of a .keras or .h5 file, or of a SavedModel folder."
        raise UsageError(f"{place} does not exist: {hint}")


def is_script(place: str) -> bool:
    """Whether this is a Python file without the name of an object in it."""
    return place.endswith(".py") and os.path.isfile(place)  # noqa: PTH113


_TRAINING = frozenset({"fit", "fit_generator", "evaluate", "predict", "train_on_batch", "test_on_batch"})


def check_script(place: str) -> None:
    """Checks that a file that is named alone calls what trains: then tpushape executes it up to that call.

    Raises:
        UsageError: if it does not.
    """
    try:
        tree = syntax.parse(Path(place).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # executing it says what is wrong
    if not any(isinstance(node, ast.Attribute) and node.attr in _TRAINING for node in ast.walk(tree)):
        check_place(place)


def check_place(place: str) -> None:
    """Checks that ``file.py:name`` names an existing file and a name that it may define.

    Raises:
        UsageError: if it does not.
    """
    path, _, name = place.rpartition(":")
    if not place.strip():
        raise UsageError("The model has no name: use file.py:name, such as train.py:make_model.")
    if not path or not name:
        made = _public(_bound(Path(place)) or {}) if os.path.isfile(place) else []  # noqa: PTH113
        say = f"It defines {', '.join(made[:8])}. Use {place}:{_likely(made)}" if made else "Use file.py:name, such as train.py:make_model"
        raise UsageError(f"{place} does not name an object in a file. {say}.")
    if not os.path.isfile(path):  # noqa: PTH113
        if os.path.exists(path):  # noqa: PTH110
            raise UsageError(f"{path} is not a regular file: use the path of a Python file, then a colon and a name in it.")
        near = _near_file(Path(path))
        hint = f"did you mean {near}?" if near else "use the path of a Python file, then a colon and a name in it."
        raise UsageError(f"{path} does not exist: {hint}")
    known = _bound(Path(path))
    if known is not None and name not in known:
        alike = difflib.get_close_matches(name, known, 1)
        made = _public(known)
        hint = f" Did you mean {alike[0]}?" if alike else ""
        raise UsageError(f"{Path(path).name} does not define {name}; it defines {', '.join(made[:8]) or 'no functions'}.{hint}")


def _public(known: dict[str, bool]) -> list[str]:
    return [one for one, defined in known.items() if defined and not one.startswith("_")]


def _likely(made: list[str]) -> str:
    return next((one for word in ("model", "net", "build", "make") for one in made if word in one.lower()), made[0])


def _near_file(path: Path) -> str:
    try:
        there = [one.name for one in path.parent.iterdir() if one.suffix == path.suffix and os.path.exists(one)]  # noqa: PTH110
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, there, 1)
    return str(path.with_name(near[0])) if near else ""


def _bound(file: Path) -> dict[str, bool] | None:
    try:
        data = file.read_bytes()
        if len(data) > MOST_SOURCE:
            return None
        tree = syntax.parse(data)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # running it says what is wrong
    found: dict[str, bool] = {"__name__": False, "__file__": False, "__doc__": False}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id in _HIDDEN:
                return None
            if isinstance(node.ctx, ast.Store):
                found.setdefault(node.id, False)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.name == "*":
                    return None
                found.setdefault(alias.asname or alias.name.partition(".")[0], False)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name in _HIDDEN:
                return None
            found[node.name] = found.get(node.name, False) or node in tree.body
        elif (isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name) or (isinstance(node, ast.ExceptHandler) and node.name):
            found.setdefault(node.name, False)
    return found


"""The error for arguments that do not work."""


class UsageError(Exception):
    """The arguments do not work; the message says what to use instead."""
