"""The TPU compiler in a folder of its own: asked for by name, never by itself, and nothing of the user's environment is touched."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import bridge

# What jaxlib imports; its other requirement, scipy, is jax's need.
_NEEDS = ("ml_dtypes", "numpy")
_CHECK = "import sys; sys.path.insert(0, sys.argv[1]); from jupyter_tpushape.compilers import bridge; sys.exit(bridge.doors() or 0)"


class CannotInstall(Exception):
    """One line that says what stands in the way."""


def folder(named: str | None = None) -> Path:
    """Where the compiler goes: the folder named, else ``TPUSHAPE_COMPILER``, else the user's cache."""
    asked = named or os.environ.get("TPUSHAPE_COMPILER")
    return Path(asked).expanduser().absolute() if asked else bridge.own()


def install(place: Path, wheels: str | None = None) -> None:
    """Installs jaxlib and libtpu of the worker's versions, with what jaxlib imports, into ``place``.

    ``place`` is there when all of it is, tried by an import in a process of its own; one that was there before is then replaced.

    Args:
        wheels: a folder of wheels to take them from, with no network.

    Raises:
        CannotInstall: where a wheel cannot be had, or does not load here.
    """
    if place.exists() and not _is_ours(place):
        raise CannotInstall(f"{place} already exists and contains other files. Choose another folder, or remove it first.")
    if wheels is not None and not Path(wheels).is_dir():
        raise CannotInstall(f"The folder of wheels {wheels} does not exist.")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    except OSError as error:
        raise CannotInstall(f"Cannot write to {place.parent}: {error.strerror or error}. Choose another folder with --folder.") from None
    try:
        _fetch(unfinished, wheels)
        _tried(unfinished)
        if place.exists():
            shutil.rmtree(place)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def remove(place: Path) -> bool:
    """Removes what :func:`install` made; ``False`` where there is nothing.

    Raises:
        CannotInstall: where the folder holds something else.
    """
    if not place.exists():
        return False
    if not _is_ours(place):
        raise CannotInstall(f"{place} contains other files than the compiler, so it was not removed.")
    shutil.rmtree(place)
    return True


def _is_ours(place: Path) -> bool:
    return place.is_dir() and ((place / "libtpu").is_dir() or not any(place.iterdir()))


def _fetch(target: Path, wheels: str | None) -> None:
    wanted = [*(f"{name}=={pin}" for name, pin in bridge.PINS.items()), *_NEEDS]
    source = ["--no-index", "--find-links", str(Path(wheels).absolute())] if wheels is not None else []
    if importlib.util.find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--only-binary", ":all:"]
    elif (uv := shutil.which("uv")) is not None:
        command = [uv, "pip", "install", "--python", sys.executable, "--only-binary", ":all:"]
    else:
        raise CannotInstall("This Python has neither pip nor uv. Install pip: python -m ensurepip")
    done = subprocess.run([*command, "--no-deps", "--target", str(target), *source, *wanted], stdout=2, check=False)
    if done.returncode:
        raise CannotInstall(
            f"Cannot install {' and '.join(wanted[:2])} (see above). They require Linux and Python 3.11 or newer."
            if wheels is None
            else f"{wheels} has no wheel of {', '.join(wanted)} for this Python (see above)."
        )


def _tried(place: Path) -> None:
    package = str(Path(__file__).parents[2])
    environment = {**os.environ, **bridge.ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(place), package])}
    done = subprocess.run([sys.executable, "-c", _CHECK, str(place)], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise CannotInstall(f"The installed compiler does not load: {lines[-1] if lines else f'exit code {done.returncode}'}")
