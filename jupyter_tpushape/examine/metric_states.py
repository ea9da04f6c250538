"""Metrics of the program's own that keep nothing of the batches before, by the text of their class. Nothing runs here."""

from __future__ import annotations

import ast

from ..flow import Location
from ..flow.syntax import called, loaded
from ..trace.locations import defined, is_user_file, location
from .given_names import Texts
from .program import Examined

# What a class calls itself if it is meant to keep nothing else.
_MEANT = ("last", "current", "latest", "recent", "batch")


def kept_alone(seen: Examined) -> list[tuple[str, str, tuple[str, ...], Location | None]]:
    """Metrics whose whole state is assigned from each batch, and not read: name, class, states, and the first line."""
    found = {}
    for call in seen.recorder.calls:
        update = vars(type(call.obj)).get("update_state") if call.kind == "metric" else None
        file, _ = (defined(update) if update is not None else None) or ("", 0)
        tree, name = Texts.of(file).tree(file) if file and is_user_file(file) else None, type(call.obj).__name__
        for cls in ast.walk(tree) if tree is not None else ():
            states, line = _states(cls) if isinstance(cls, ast.ClassDef) and cls.name == name else ((), 0)
            if states and not any(word in f"{name} {call.name} {' '.join(states)}".lower() for word in _MEANT):
                found[name] = (str(call.name), name, states, location((file, line)))
    return list(found.values())


def _states(cls: ast.ClassDef) -> tuple[tuple[str, ...], int]:
    methods = {item.name: item for item in cls.body if isinstance(item, ast.FunctionDef)}
    update, result = methods.get("update_state"), methods.pop("result", None)
    if update is None or result is None or any(isinstance(item, (ast.If, ast.For, ast.While)) for item in ast.walk(update)):
        return (), 0
    calls = [item for item in ast.walk(update) if isinstance(item, ast.Call) and called(item).startswith("assign")]
    states = tuple(ast.unparse(item.func).removesuffix(".assign") for item in calls)
    own = {item.arg for item in update.args.args[1:3]}
    for item in ast.walk(update):
        if isinstance(item, ast.Assign) and loaded(item.value) & own:
            own |= loaded(item)
    # Each is written here once, and read by the result alone.
    others = " ".join(ast.unparse(item) for name, item in methods.items() if name != "__init__" and not name.startswith("reset_"))
    once = all(state.startswith("self.") and others.count(state) == 1 and state in ast.unparse(result) for state in states)
    return (states, calls[0].lineno) if calls and once and all(loaded(call.args[0]) & own for call in calls if call.args) else ((), 0)
