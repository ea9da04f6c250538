"""The proof of a port: both programs run up to ``fit``, the first here, the second where Keras runs on JAX, and their results are compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROBE = Path(__file__).with_name("probe.py")
# How far outputs may be apart, of their largest; a program that computes in bfloat16 rounds to three digits.
CLOSE, ROUNDED = 1e-4, 3e-2
SECONDS = 600


@dataclass(frozen=True)
class Proof:
    """The result of running both. ``holds``: whether they are the same; ``None`` if that is unknown, and ``said`` is the reason."""

    holds: bool | None
    said: str
    layers: int = 0
    apart: float | None = None


def python_with_jax() -> str:
    """A Python whose Keras can run on JAX: this one, else the one that ``TPUSHAPE_JAX_PYTHON`` names."""
    named = os.environ.get("TPUSHAPE_JAX_PYTHON", "")
    if named:
        return named
    import importlib.util

    return sys.executable if importlib.util.find_spec("jax") is not None else ""


def prove(path: Path, ported: str, python: str) -> Proof:
    """Runs the program of ``path`` and its port, and compares them."""
    if not python:
        return Proof(None, "Not proved: this environment has no jax. Pass a Python that has it with --python.")
    with tempfile.TemporaryDirectory(prefix="tpushape-port-") as scratch:
        other = Path(scratch) / "ported.py"
        other.write_text(ported, encoding="utf-8")
        first = _run(sys.executable, path, path, Path(scratch) / "first.npz", None, {})
        if first["error"]:
            # What was written for Keras 2 may need it.
            older = _run(sys.executable, path, path, Path(scratch) / "first.npz", None, {"TF_USE_LEGACY_KERAS": "1"})
            first = first if older["error"] else older
        if first["error"]:
            return Proof(None, f"Not proved: the original program does not reach fit here ({first['error']}).")
        jax = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
        second = _run(python, other, path, Path(scratch) / "second.npz", Path(scratch) / "first.npz", jax)
        if second["error"].startswith(("ModuleNotFoundError", "FileNotFoundError")):
            return Proof(None, f"Not proved: {python} cannot run the port ({second['error']}).")
        if second["error"]:
            return Proof(False, f"The port does not reach fit ({second['error']}).")
        return _compared(first, second, Path(scratch))


def _run(python: str, text: Path, program: Path, out: Path, given: Path | None, more: dict[str, str]) -> dict[str, Any]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", **more}
    if given is None:
        environment.pop("KERAS_BACKEND", None)
    typed = [python, str(PROBE), str(text), str(program.resolve()), str(out), *([str(given)] if given else [])]
    try:
        done = subprocess.run(typed, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"error": f"it took more than {SECONDS} s"}
    except OSError as error:
        return {"error": f"{type(error).__name__}: {error.strerror}"}
    try:
        told = json.loads(done.stdout.strip().splitlines()[-1])
        return told if isinstance(told, dict) and "error" in told else {"error": "it returned no result"}
    except (IndexError, ValueError):
        return {"error": (done.stderr.strip().splitlines() or ["it ended without output"])[-1]}


def _compared(first: dict[str, Any], second: dict[str, Any], scratch: Path) -> Proof:
    import numpy as np

    layers = [_named(one) for one in first["layers"]], [_named(one) for one in second["layers"]]
    if layers[0] != layers[1]:
        place = next((i for i, (a, b) in enumerate(zip(*layers, strict=False)) if a != b), min(map(len, layers)))
        was, now = (one[place] if place < len(one) else "nothing" for one in layers)
        return Proof(False, f"Layer {place + 1} in the order of execution returns {now}, but returned {was} before.")
    a, b = (np.load(scratch / name, allow_pickle=False) for name in ("first.npz", "second.npz"))
    apart = max((_apart(a[key], b[key]) for key in a.files if key[0] == "o"), default=0.0)
    losses = first["loss"], second["loss"]
    if None not in losses:
        apart = max(apart, abs(losses[0] - losses[1]) / max(1.0, abs(losses[0])))
    rounded = any(dtype in ("bfloat16", "float16") for _, outputs in first["layers"] for _, dtype in outputs)
    close = ROUNDED if rounded else CLOSE
    what = f"{len(layers[0])} layers return the same shapes and dtypes; with the same weights, outputs{' and loss' if None not in losses else ''} differ by {apart:.1e}"
    if apart > close:
        return Proof(False, f"{what}, which is more than {close:.0e}.", len(layers[0]), apart)
    return Proof(True, f"Proved: {what}{', computed in bfloat16' if rounded else ''}.", len(layers[0]), apart)


def _apart(a: Any, b: Any) -> float:
    import numpy as np

    if a.shape != b.shape or not (np.isfinite(a) == np.isfinite(b)).all():
        return float("inf")
    return float(np.max(np.abs(a - b), initial=0.0) / max(1.0, float(np.max(np.abs(a), initial=0.0))))


def _named(layer: list[Any]) -> str:
    return f"{layer[0]} {', '.join(f'{tuple(shape)} {dtype}' for shape, dtype in layer[1])}"
