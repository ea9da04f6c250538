"""Reads a model's file through :mod:`.reader`, and its configuration as JSON with limits."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..flow import Spec
from .reader import SECONDS, Unreadable

SUFFIXES = (".keras", ".h5", ".hdf5")
# Values of a configuration, and how deep they are nested.
MOST_VALUES, MOST_DEPTH = 1_000_000, 400


@dataclass(frozen=True)
class Signature:
    """What one signature of a SavedModel takes and gives, by name."""

    name: str
    inputs: dict[str, Spec]
    outputs: dict[str, Spec]


@dataclass(frozen=True)
class Held:
    """What a model's file holds: a configuration and how it was compiled, or the signatures of a SavedModel."""

    path: Path
    config: dict[str, Any] = field(default_factory=dict)
    compiled: dict[str, Any] | None = None
    signatures: dict[str, Signature] = field(default_factory=dict)


def is_saved(path: Path) -> bool:
    """Whether this is a saved model and not a file of Python."""
    return path.suffix.lower() in SUFFIXES or os.path.isfile(path / "saved_model.pb")  # noqa: PTH113


def read(path: Path) -> Held:
    """What the file or the SavedModel's folder holds.

    Raises:
        Unreadable: in one sentence, where it is broken, or beyond a limit.
    """
    file = path / "saved_model.pb" if path.is_dir() else path
    if file != path and not file.exists():
        raise Unreadable(f"{path} is a folder without saved_model.pb: use the path of a model, or file.py:name.")
    try:
        # A pipe or a device would be read without an end.
        if not stat.S_ISREG(os.stat(file).st_mode):  # noqa: PTH116
            raise Unreadable(f"{path} is not a regular file.")
    except OSError as error:
        raise Unreadable(f"{path} cannot be read ({error.strerror}).") from None
    answer = _asked(path)
    if "error" in answer:
        raise Unreadable(f"{path} {answer['error']}.")
    if "signatures" in answer:
        return Held(path, signatures={name: _signature(name, ends) for name, ends in answer["signatures"].items()})
    config = parsed(path, answer["config"])
    if "class_name" not in config:
        raise Unreadable(f"The configuration in {path} does not describe a model.")
    compiled = parsed(path, answer["compiled"]) if answer.get("compiled") else config.get("compile_config")
    if compiled is not None and not isinstance(compiled, dict):
        raise Unreadable(f"The compile arguments in {path} are not a configuration.")
    return Held(path, config, compiled)


def _asked(path: Path) -> dict[str, Any]:
    program = str(Path(__file__).with_name("reader.py"))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "HDF5_USE_FILE_LOCKING": "FALSE"}
    try:
        done = subprocess.run(
            [sys.executable, program, str(path.resolve())], env=environment, timeout=3 * SECONDS, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        raise Unreadable(f"{path} took more than {3 * SECONDS} seconds to read.") from None
    except ValueError:
        raise Unreadable(f"{path} crashed the process that reads it (exit code {done.returncode}).") from None


_STRING = re.compile(r'"[^"]*"')
_BRACKET = re.compile(r"([\[{])|([\]}])|,")


def parsed(path: Path, text: str) -> dict[str, Any]:
    """A configuration's JSON, whose depth and number of values are counted before anything is made of it."""
    # Without escapes, strings end at the next quote: one pass in little memory, whatever they hold. A backslash outside of a string
    # would mislead it, but is where the parser stops.
    outside = _STRING.sub("", text.replace("\\\\", "").replace('\\"', ""))
    depth = count = 0
    for found in _BRACKET.finditer(outside):
        opened, closed = found.groups()
        count += not closed
        depth += bool(opened) - bool(closed)
        if depth > MOST_DEPTH:
            raise Unreadable(f"The configuration in {path} is nested more than {MOST_DEPTH} levels deep.")
        if count > MOST_VALUES:
            raise Unreadable(f"The configuration in {path} has more than {MOST_VALUES:,} values.")
        if depth < 0:
            break
    del outside
    try:
        made = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Unreadable(f"The configuration in {path} is not valid JSON ({str(error)[:120]}).") from None
    except ValueError:
        raise Unreadable(f"The configuration in {path} contains a number with more digits than Python reads.") from None
    if not isinstance(made, dict):
        raise Unreadable(f"The configuration in {path} does not describe a model.")
    return made


def _signature(name: str, ends: dict[str, dict[str, Any]]) -> Signature:
    def specs(side: dict[str, Any]) -> dict[str, Spec]:
        return {key: Spec(None if one["shape"] is None else tuple(one["shape"]), one["dtype"]) for key, one in sorted(side.items())}

    return Signature(name, specs(ends["inputs"]), specs(ends["outputs"]))
