"""The view's own script, as the build left it: one file for the standalone page and for the widget."""

from __future__ import annotations

import site
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata, resources
from pathlib import Path

STATIC = resources.files("jupyter_tpushape") / "static"
# An installed package carries the script once, where JupyterLab's server finds it.
_BESIDE = "share/jupyter/labextensions/jupyter_tpushape/static/view.js"


def _installed() -> Iterator[Path]:
    """Where an installer may have put the script: as its record says, else beside the package, the interpreter or the user's packages."""
    try:
        for file in metadata.files("jupyter_tpushape") or ():
            if file.as_posix().endswith(_BESIDE):
                yield Path(str(file.locate()))
    except metadata.PackageNotFoundError:
        pass
    package = Path(str(STATIC)).parent.parent
    for root in (package, *package.parents[:3], Path(sys.prefix), Path(site.getuserbase())):
        yield root / _BESIDE


@cache
def _path() -> Path | None:
    inside = Path(str(STATIC / "view.js"))
    return next((path for path in (inside, *_installed()) if path.is_file()), None)


@cache
def script() -> str:
    """The script that defines ``tpushape`` in a page.

    Raises:
        FileNotFoundError: if the browser module is not built.
    """
    path = _path()
    if path is None:
        raise FileNotFoundError("The browser module is not built: run `jlpm install && jlpm build:esm` in the source tree, or install a release.")
    # The script's end would end the element that carries it.
    return path.read_text(encoding="utf-8").strip().replace("</script", "<\\/script").replace("\r\n", "\n")


def module() -> str:
    """The same as the module that a widget evaluates."""
    return f"{script()}\nexport default tpushape;"
