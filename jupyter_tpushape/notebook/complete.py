"""Completion behind ``%tpushape``: options, targets, and the variables that hold models and data."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from types import SimpleNamespace
from typing import Any

OPTIONS = (
    "--tpu", "--mesh", "--layout", "--compile", "--compile-timeout", "--compile-effort", "--compile-batches", "--loss", "--batch-size", "--no-fixes", "--save", "--text", "--help",
)  # fmt: skip
_COMPILERS = ("xla", "tpu")
_EFFORTS = ("quick", "full")
MESHES = ("batch=8", "batch=2,model=4", "batch=4,model=2", "batch=1,model=8")


_MATCHER = "tpushape"


def register(shell: Any) -> None:
    """Adds the completer to a shell."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    # A hook of "complete_command" would leave the names that Jedi finds after a dash among the options.
    def matcher(context: Any) -> Any:
        words = context.text_until_cursor.split(None, 1)
        inside = len(words) > 0 and words[0] in ("%tpushape", "%%tpushape") and context.text_until_cursor.strip() != context.token
        event = SimpleNamespace(line=context.text_until_cursor, symbol=context.token)
        found = [word for word in complete(shell, event) if word.startswith(context.token)] if inside else []
        return {"completions": [SimpleCompletion(word) for word in found], "suppress": bool(found), "ordered": True}

    shell.Completer.custom_matchers.append(context_matcher(identifier=_MATCHER)(matcher))


def unregister(shell: Any) -> None:
    """Removes the completer."""
    matchers = shell.Completer.custom_matchers
    matchers[:] = [one for one in matchers if getattr(one, "matcher_identifier", "") != _MATCHER]


def complete(shell: Any, event: Any) -> list[str]:
    """Candidates for the word at the cursor."""
    words = event.line.split()
    before = words[-1] if event.line.endswith(" ") else (words[-2] if len(words) > 1 else "")
    if before == "--tpu":
        from ..replicas import SLICES

        return [*SLICES, "none"]
    if before == "--mesh":
        return list(MESHES)
    if before == "--layout":
        return _layouts(shell)
    if before == "--compile-effort":
        return list(_EFFORTS)
    if before == "--compile":
        return list(_COMPILERS)
    if event.symbol.startswith("-"):
        return [option for option in OPTIONS if option.startswith(event.symbol)]
    if "." in event.symbol:
        return _layers(shell, event.symbol.rpartition(".")[0])
    return [*sorted(own_names(shell)), *OPTIONS, "watch"]


def own_names(shell: Any) -> list[str]:
    """The names that the user has defined in this kernel."""
    return [name for name in shell.user_ns if not name.startswith("_") and name not in shell.user_ns_hidden]


def meant(line: str, error: Exception) -> str:
    """The options that the user probably meant."""
    words = [word.partition("=")[0] for word in line.split() if word.startswith("--")]
    near = [close[0] for word in words if word not in OPTIONS and word in str(error) and (close := get_close_matches(word, OPTIONS, 1, 0.7))]
    return f" Did you mean {near[0]}?" if near else ""


def _layouts(shell: Any) -> list[str]:
    """Variables that may be a layout: maps, dicts of their entries, distributions, and functions of a mesh."""
    from ..replicas import is_distribution

    public = {name: shell.user_ns[name] for name in own_names(shell)}
    return sorted(
        name
        for name, value in public.items()
        if isinstance(value, Mapping) or is_distribution(value) or (inspect.isfunction(value) and len(inspect.signature(value).parameters) == 1)
    )


def _layers(shell: Any, path: str) -> list[str]:
    root, *inner = path.split(".")
    value = shell.user_ns.get(root)
    try:
        for name in inner:
            value = vars(value)[name]
        layers = list(value.layers)
        own = [name for name, part in vars(value).items() if not name.startswith("_") and any(part is layer for layer in layers)]
        return [f"{path}.{name}" for name in own] + [f'{path}.get_layer("{layer.name}")' for layer in layers]
    except Exception:  # no model, or not built
        return []
