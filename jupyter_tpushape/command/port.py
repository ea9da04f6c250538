"""``tpushape port``: ports a TPUStrategy program to Keras 3 on JAX, as a diff, and lists what to change by hand."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ..files import descriptor, write_bytes
from ..flow.text import clean
from .early import UsageError
from .ends import no_way_out
from .out import Aside, said, unchanged, written


def port(options: Any) -> int:
    """Returns 0 if nothing is left to do and nothing differs, else 1."""
    from ..port import port as ported

    path = Path(options.program)
    if not os.path.isfile(path):  # noqa: PTH113 - says no to what no file system takes
        raise UsageError(f"{options.program} {_none(options.program)}: use the path of a Python file.")
    if options.python is not None and not os.path.isfile(options.python):  # noqa: PTH113
        raise UsageError(f"{options.python} {_none(options.python)}: use the path of a Python interpreter, such as .venv/bin/python.")
    to_stdout = bool(options.output) and (options.output == "-" or descriptor(options.output) == 1)
    if options.output and not to_stdout and os.path.exists(options.output) and os.path.samefile(path, options.output):  # noqa: PTH110, PTH121
        raise UsageError(f"{options.output} is the program to port, and the new one would overwrite it: use another path for --output.")
    try:
        with Aside(), no_way_out():
            made = ported(path, python=options.python, proof=not options.no_proof)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if to_stdout:
        unchanged(made.data)
    elif options.output:
        try:
            write_bytes(Path(options.output), made.data)
        except OSError as error:
            raise UsageError(f"Cannot write {options.output} ({error.strerror}): use a path in an existing folder for --output.") from None
        written(f"New program written to {options.output}", "text")
    else:
        # What is piped is applied as a diff; a terminal would obey what the program holds.
        written(clean(made.patch) if sys.stdout is not None and sys.stdout.isatty() else made.patch, "text")
    for one in made.left:
        said(f"{path.name}, {one}")
    said(made.proof.said)
    return 0 if made.whole else 1


def _none(place: str) -> str:
    return "is not a regular file" if os.path.exists(place) else "does not exist"  # noqa: PTH110
