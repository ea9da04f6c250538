"""The view's own script, as the build left it: one file for the standalone page and for the widget."""

from __future__ import annotations

from functools import cache
from importlib import resources

STATIC = resources.files("jupyter_tpushape") / "static"


@cache
def script() -> str:
    """The script that defines ``tpushape`` in a page.

    Raises:
        FileNotFoundError: if the browser module is not built.
    """
    path = STATIC / "view.js"
    if not path.is_file():
        raise FileNotFoundError(
            "The browser module is not built: run `jlpm install && jlpm build:esm` in the source tree, or install a release."
        )
    # The script's end would end the element that carries it.
    return path.read_text(encoding="utf-8").strip().replace("</script", "<\\/script").replace("\r\n", "\n")


def module() -> str:
    """The same as the module that a widget evaluates."""
    return f"{script()}\nexport default tpushape;"
