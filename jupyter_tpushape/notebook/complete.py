"""Completion behind ``%tpushape``: options, targets, and the variables that hold models and data."""

from __future__ import annotations

from typing import Any

OPTIONS = (
    "--tpu", "--compile", "--compile-timeout", "--compile-effort", "--compile-batches", "--loss", "--batch-size", "--no-fixes", "--save", "--text",
)  # fmt: skip
_COMPILERS = ("xla", "tpu")
_EFFORTS = ("quick", "full")


def register(shell: Any) -> None:
    """Adds the completer to a shell."""
    shell.set_hook("complete_command", complete, str_key="%tpushape")
    shell.set_hook("complete_command", complete, str_key="%%tpushape")


def unregister(shell: Any) -> None:
    """Takes it away again."""
    table = shell.strdispatchers.get("complete_command")
    for key in ("%tpushape", "%%tpushape"):
        if table is not None:
            table.strs.pop(key, None)


def complete(shell: Any, event: Any) -> list[str]:
    """Candidates for the word at the cursor."""
    words = event.line.split()
    before = words[-1] if event.line.endswith(" ") else (words[-2] if len(words) > 1 else "")
    if before == "--tpu":
        from ..replicas import SLICES

        return [*SLICES, "none"]
    if before == "--compile-effort":
        return list(_EFFORTS)
    if before == "--compile":
        return list(_COMPILERS)
    if event.symbol.startswith("-"):
        return [option for option in OPTIONS if option.startswith(event.symbol)]
    names = [name for name in shell.user_ns if not name.startswith("_") and name not in shell.user_ns_hidden]
    return [*sorted(names), *OPTIONS, "watch"]
