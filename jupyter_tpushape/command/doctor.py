"""``tpushape doctor``: shows what is installed, what is missing, and how to install it. Imports none of it."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from .out import written
from .quiet import configured

_EXTRA = 'pip install "jupyter_tpushape[{}]"'
# Purpose, module, and the command that installs it.
_PARTS = (
    ("frameworks", "tensorflow", _EXTRA.format("tensorflow")),
    ("frameworks", "jax", _EXTRA.format("jax")),
    ("frameworks", "keras", "pip install keras"),
    ("frameworks", "tf_keras", _EXTRA.format("tensorflow")),
    ("notebook", "ipykernel", _EXTRA.format("lab")),
    ("notebook", "jupyterlab", _EXTRA.format("lab")),
    ("notebook", "ipywidgets", "pip install ipywidgets"),
    ("notebook", "anywidget", "pip install anywidget"),
    ("notebook", "jupyterlab_widgets", "pip install ipywidgets"),
    ("charts", "plotly", _EXTRA.format("plot")),
)
_OLDEST = {"tensorflow": (2, 16), "jax": (0, 4), "keras": (3, 5), "tf_keras": (2, 16), "jupyterlab": (4, 2), "ipywidgets": (8, 1), "anywidget": (0, 9)}


def doctor(_: Any) -> int:
    """Prints one line per part; returns 0 even if optional parts are missing."""
    from .. import __version__

    tested = "" if (3, 10) <= sys.version_info[:2] < (3, 14) else "   not tested: tests use 3.10 to 3.13"
    heads = (f"{'jupyter_tpushape':20} {__version__}", f"{'python':20} {sys.version.split()[0]}{tested}")
    written("\n".join((*heads, *_parts(), *_tpu(), *_compiler(), *_places())))
    return 0


def _parts() -> Iterator[str]:
    purpose = ""
    for wanted, module, command in _PARTS:
        if wanted != purpose:
            purpose = wanted
            yield f"\n{wanted}"
        version = version_of(module)
        if version is None:
            yield f"  {module:18} missing: {command}"
            continue
        oldest = _OLDEST.get(module)
        numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        old = f"   older than {'.'.join(map(str, oldest))}: {command} --upgrade" if oldest and numbers and numbers < oldest else ""
        yield f"  {module:18} {version or 'there'}{old}"


def _tpu() -> Iterator[str]:
    """If this machine has a TPU, or an image made for one: which installed packages can use it."""
    from .doctor import tpu_lines

    lines = tpu_lines()
    if lines:
        yield "\nTPU of this machine"
        yield from (f"  {line}" for line in lines)


def _compiler() -> Iterator[str]:
    """The parts of the TPU compiler, which may be in a separate folder that TensorFlow does not see."""
    from ..compilers import bridge

    yield "\nTPU compiler"
    for name, version in bridge.versions().items():
        yield f"  {name:18} {version or 'missing'}"
    wrong = bridge.check()
    if wrong:
        yield f"  {wrong}"


def version_of(module: str) -> str | None:
    """The version of its distribution."""
    try:
        if importlib.util.find_spec(module) is None:
            return None
    except (ImportError, ValueError):
        return None
    for name in _distributions().get(module, [module]):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """Of each module, the distributions that it is from; asked once, because it lists the files of all that is installed."""
    return metadata.packages_distributions()


def _places() -> Iterator[str]:
    from ..compilers.cache import folder

    yield "\nplaces"
    place = folder()
    nearest = next((parent for parent in (place, *place.parents) if parent.exists()), place)
    writable = "" if os.access(nearest, os.W_OK) else "   not writable, so compiler results are not cached. Set TPUSHAPE_CACHE to another folder."
    yield f"  {'cache':18} {place}{writable}"
    yield f"  {'lab extension':18} {_extension()}"
    backend = configured()
    yield f"  {'Keras backend':18} {backend}{_usable(backend)}"


def _usable(backend: str) -> str:
    there = [name for name in ("tensorflow", "jax") if version_of(name) is not None]
    if backend in there:
        return ""
    if there:
        return f"   tpushape traces Keras models on TensorFlow or JAX: set KERAS_BACKEND={there[0]} before you import keras."
    return f"   not installed: {_EXTRA.format('jax')}, or {_EXTRA.format('tensorflow')}"


def _extension() -> str:
    """Whether JupyterLab finds the extension; slow, so only called if JupyterLab is installed."""
    if version_of("jupyterlab") is None:
        return "JupyterLab is not installed; the magic and the widget work without it"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "jupyter", "labextension", "list"], capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=60, check=False
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "jupyter labextension list did not respond"
    lines = (done.stdout + done.stderr).splitlines()

    def verdict(name: str, command: str) -> str:
        line = next((line for line in lines if f" {name} v" in line), "")
        if not line:
            return f"{name} not found: {command}"
        return f"{name} {'enabled' if 'enabled' in line else f'disabled: jupyter labextension enable {name}'}"

    return "; ".join(
        (
            verdict("jupyter_tpushape", "pip install --force-reinstall jupyter_tpushape"),
            verdict("@jupyter-widgets/jupyterlab-manager", "pip install jupyterlab_widgets"),
        )
    )


JAX = "set KERAS_BACKEND=jax before you import keras, and train with Keras 3 on JAX"
# Its metadata asks for libtpu~=0.0.14, which also takes every later one. Kaggle's image of 2025 left the wheel out for want of a libtpu that matches.
WHEEL = (
    'pip install "tensorflow-tpu==2.20.*" "libtpu==0.0.14" (the last release, with the oldest libtpu that it accepts; a later one may not match), '
    "without any other tensorflow package"
)


def tpu_lines(root: Path = Path("/")) -> list[str]:
    """What to do for a TPU on this machine; empty if there is none, and the image is not made for one.

    libtpu alone makes no such image: the TPU compiler's extra installs it on any machine.
    """
    found = {name: _version(name) for name in ("google-colab", "tensorflow-tpu", "tensorflow", "tensorflow-cpu", "jax", "libtpu")}
    kaggle = "KAGGLE_KERNEL_RUN_TYPE" in os.environ or (root / "kaggle").is_dir()
    image = "Colab" if found["google-colab"] else "Kaggle" if kaggle else ""
    chips = [path for pattern in ("accel*", "vfio/[0-9]*") for path in (root / "dev").glob(pattern)]
    if not chips and not found["tensorflow-tpu"] and not (image and found["libtpu"]):
        return []
    lines = [f"{'chips':18} {f'{len(chips)} TPU chip' + 's' * (len(chips) != 1) if chips else 'none found'}"]
    if image:
        lines.append(f"{'image':18} {image}")
    if found["tensorflow-tpu"]:
        lines.append(f"{'TensorFlow':18} tensorflow-tpu {found['tensorflow-tpu']} with libtpu {found['libtpu'] or 'missing: pip install libtpu==0.0.14'}")
        if found["tensorflow"] or found["tensorflow-cpu"]:
            lines.append(f"{'':18} another tensorflow package overwrites its files: uninstall both, then {WHEEL}")
        return lines
    plain = next((f"{name} {found[name]}" for name in ("tensorflow", "tensorflow-cpu") if found[name]), "")
    sees = f"{plain} cannot use a TPU" if plain else "not installed"
    # On these images, the installed JAX matches the chips; another TensorFlow would install another libtpu.
    lines.append(f"{'TensorFlow':18} {sees}: {JAX if image or found['jax'] else WHEEL}")
    return lines


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
