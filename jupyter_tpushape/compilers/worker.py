"""One compilation in a separate process: ``python -m jupyter_tpushape.compilers.worker FOLDER``.

The folder contains ``request.json`` and ``program``; the answer is written there too. libtpu may kill this process; then there
is no answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any


def main(folder: Path) -> None:
    """Reads the request, compiles, writes ``answer.json``."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    _end_with_parent()
    _limit_memory(int(request["memory"]))
    from .bridge import ENVIRONMENT, doors

    os.environ.update(ENVIRONMENT)
    # The compiler writes down what it keeps where, also where that is too much.
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={folder / 'dump'} --xla_dump_hlo_as_text"
    _stage(folder, "loading the TPU compiler")
    answer: dict[str, Any] = {"ok": False, "kind": "versions", "message": doors()}
    if any(words in answer["message"] for words in ("failed to map segment", "annot allocate memory")):
        answer = {"ok": False, "kind": "memory", "message": "The TPU compiler needs more host memory than its limit."}
    elif not answer["message"]:
        _stage(folder, f"compiling for {request['topology']}")
        answer = _compile((folder / "program").read_bytes(), request)
    if answer["kind"] in ("compiled", "refused"):
        _stage(folder, "reading the memory plan")
        answer["buffers"] = _buffers(folder / "dump")
        if answer["ok"] and not answer["layout"]:
            from .bridge import entry_layout
            from .buffers import program_text

            answer["layout"] = entry_layout(program_text(folder / "dump"))
    unfinished = folder / "answer.part"
    unfinished.write_text(json.dumps(answer), encoding="utf-8")
    unfinished.replace(folder / "answer.json")


def _compile(program: bytes, request: dict[str, Any]) -> dict[str, Any]:
    from .bridge import compile_program

    try:
        return {"ok": True, "kind": "compiled", "message": "", **compile_program(program, request)}
    except MemoryError:
        return {"ok": False, "kind": "memory", "message": "The compiler ran out of host memory."}
    except Exception as error:
        return {"ok": False, "kind": "refused", "message": str(error)}


def _buffers(dump: Path) -> dict[str, Any] | None:
    from .buffers import of_dump

    try:
        return of_dump(dump)
    except (OSError, ValueError, IndexError, RecursionError):
        return None


def _stage(folder: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        (folder / "stage").write_text(text, encoding="utf-8")


def _limit_memory(limit: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_with_parent() -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
