"""How a message reaches the user: as HTML if the front end can show it, otherwise as text on stderr."""

from __future__ import annotations

import html
import sys
from typing import Any

from ..flow.text import line as one_line

HINT_MIME = "application/vnd.tpushape.hint.v1+json"
_LOOK = "border-left:3px solid #b34700;padding:5px 10px;margin:4px 0;font-family:system-ui,sans-serif;font-size:13px"


def rich(shell: Any) -> bool:
    """Whether the front end shows more than text."""
    return type(shell).__name__ == "ZMQInteractiveShell"


def tell(shell: Any, said: str, *, todo: str = "", hint: dict[str, Any] | None = None) -> None:
    """One line under a cell.

    Args:
        todo: what to type, for front ends that have no button for it.
        hint: what our own renderer draws in its place, with buttons.
    """
    plain = f"tpushape ▸ {one_line(said)} {todo}".rstrip()
    if not rich(shell):
        print(plain, file=sys.stderr)
        return
    from IPython.display import display

    written = html.escape(plain).replace("%tpushape", "<code>%tpushape</code>")
    bundle: dict[str, Any] = {"text/plain": plain, "text/html": f'<div style="{_LOOK}">{written}</div>'}
    if hint is not None:
        bundle[HINT_MIME] = {"said": one_line(said), **hint}
    display(bundle, raw=True)


class Progress:
    """A progress line for long steps, removed at the end."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._handle: Any = None
        self._width = 0

    def __call__(self, text: str) -> None:
        said = one_line(f"tpushape: {text}")
        if rich(self.shell):
            from IPython.display import DisplayHandle

            shown = {"text/plain": said, "text/html": f'<div style="opacity:.7">{html.escape(said)}</div>'}
            if self._handle is None:
                self._handle = DisplayHandle()
                self._handle.display(shown, raw=True)
            else:
                self._handle.update(shown, raw=True)
        elif sys.stderr.isatty():
            said = said[:79]
            print(f"\r{said:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(said)

    def end(self, shown: Any = None) -> bool:
        """Takes the line away; a rich one becomes ``shown``. Whether that is on the screen now."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            if shown is None:
                handle.update({"text/plain": ""}, raw=True)
            else:
                handle.update(shown)
            return shown is not None
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)
            self._width = 0
        return False
