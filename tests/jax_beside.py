"""The environment with JAX and without TensorFlow that ``make test-jax`` keeps beside this one."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

BESIDE = Path(__file__).parents[1] / "out" / "jax"


def python() -> str:
    """A Python that imports Keras and JAX; ``""`` where there is none."""
    if importlib.util.find_spec("jax") is not None:
        return sys.executable
    beside = BESIDE / "bin" / "python"
    return str(beside) if package("jax") is not None and beside.exists() else ""


def package(name: str) -> Path | None:
    """The folder of a package of this environment, else of the one beside it."""
    found = importlib.util.find_spec(name)
    if found is not None and found.submodule_search_locations:
        return Path(next(iter(found.submodule_search_locations)))
    return next(iter(BESIDE.glob(f"lib/python3*/site-packages/{name}")), None)


def together(folder: Path) -> dict[str, str]:
    """What makes this environment's Python find that JAX as well, beside its own TensorFlow; ``folder`` is for links to it."""
    for name in ("jax", "jaxlib", "scipy", "scipy.libs"):
        for found in BESIDE.glob(f"lib/python3*/site-packages/{name}") if importlib.util.find_spec("jax") is None else ():
            (folder / name).symlink_to(found)
        for found in BESIDE.glob(f"lib/python3*/site-packages/{name}-*.dist-info") if importlib.util.find_spec("jax") is None else ():
            (folder / found.name).symlink_to(found)
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[1])])
    return {**os.environ, "PYTHONPATH": path, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
