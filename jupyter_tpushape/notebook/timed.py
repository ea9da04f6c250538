"""Cells under ``%%time``: IPython compiles their body as ``<timed exec>``, which is no file. Here each gets the name of a cell, so that its lines are known."""

from __future__ import annotations

import ast
import functools
import re
from typing import Any

from ..flow import syntax

_HEAD = re.compile(r"\s*%%(time\b[^\n]*)(?:\n|\Z)")
_OURS = "_tpushape_before"


def is_timed(source: str) -> bool:
    """Whether a cell, as typed, begins with ``%%time``."""
    return _HEAD.match(source) is not None


def opened(source: str) -> str:
    """The text of a cell, as typed or as it runs, with a comment for its ``%%time``: what stands below are lines of the cell."""
    found = _HEAD.match(source)
    if found:
        return f"# %%{found[1]}\n{source[found.end() :]}"
    if not source.startswith("get_ipython().run_cell_magic('time',"):
        return source
    try:
        call = syntax.parse(source.strip(), mode="eval").body
        given = [ast.literal_eval(part) for part in call.args] if isinstance(call, ast.Call) else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    return f"# %%{given[0]} {given[1]}".rstrip() + f"\n{given[2]}" if len(given) == 3 and all(isinstance(one, str) for one in given) else source


class _Compiler:
    """The shell's compiler, which gives the body of a timed cell the cell's own name and lines."""

    def __init__(self, compiler: Any, name: str, above: int) -> None:
        self._compiler, self._name, self._above = compiler, name, above

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._compiler, attribute)

    def __call__(self, source: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
        if filename in ("<timed exec>", "<timed eval>") and isinstance(source, ast.AST):
            ast.increment_lineno(source, self._above)
            filename = self._name
        return self._compiler(source, filename, *args, **kwargs)


def watch(shell: Any, extension: Any) -> None:
    """Gives timed cells their names from now on. Called when the first one is about to run: to look the magic up is to import it."""
    time = shell.find_cell_magic("time")
    if time is None or _OURS in getattr(time, "__dict__", {}):
        return

    @functools.wraps(time)
    def named(line: str, cell: str | None = None, *args: Any, **kwargs: Any) -> Any:
        compiler = shell.compile
        if cell is not None:
            # IPython leaves out the blank lines that a body begins with.
            body = shell.transform_cell(cell)
            above = 1 + len(cell) - len(cell.lstrip("\n"))
            text = f"# %%time {line}".rstrip() + "\n" * above + body
            name = compiler.cache(text, extension.running, raw_code=text)
            shell.compile = _Compiler(compiler, name, above)
        try:
            return time(line, cell, *args, **kwargs)
        finally:
            shell.compile = compiler

    setattr(named, _OURS, time)
    shell.magics_manager.magics["cell"]["time"] = named


def unwatch(shell: Any) -> None:
    """Puts IPython's own magic back, unless somebody has put another one in its place since."""
    magics = shell.magics_manager.magics["cell"]
    held = getattr(magics.get("time"), "__dict__", {})
    if _OURS in held:
        magics["time"] = held[_OURS]
