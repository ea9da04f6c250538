"""The kernel's side of the sidebar: lists what can be traced and traces it, over one comm.

Messages are dicts with ``id`` and ``op``. ``list`` only reads and may be answered on a subshell while a cell runs. ``trace`` has to
run where the user's cells run (Keras keeps its policies and counters per thread), so a front end asks for it with a
silent execute request whose user expression calls :func:`run`; the answers come over the comm all the same. ``explain`` is a trace of
what failed last.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

TARGET = "jupyter_tpushape"

_open: dict[str, Any] = {}
_cancelled: set[str] = set()


class Cancelled(KeyboardInterrupt):
    """The user took the trace back; handled everywhere as Ctrl-C is."""


def register(shell: Any = None) -> bool:
    """Registers the comm target with a running kernel and says whether there is one."""
    if shell is None:
        from IPython import get_ipython

        shell = get_ipython()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return False
    manager = kernel.comm_manager

    def opened(comm: Any, _message: Any) -> None:
        _open[comm.comm_id] = comm
        comm.on_close(lambda _message=None: _open.pop(comm.comm_id, None))
        comm.on_msg(lambda message: _handle(comm, message["content"]["data"], shell))

    manager.register_target(TARGET, opened)
    return True


def unregister(shell: Any) -> None:
    """Takes the comm target back and closes what is open."""
    manager = getattr(getattr(shell, "kernel", None), "comm_manager", None)
    if manager is not None and TARGET in manager.targets:
        manager.targets.pop(TARGET)
    while _open:
        _open.popitem()[1].close()


def connect(hints: bool = True) -> None:
    """What a front end calls first: loads the extension, so that the cells run from now on are known by their lines."""
    from IPython import get_ipython

    from .extension import load

    shell = get_ipython()
    load(shell)
    register(shell)
    shell._tpushape.hints = hints


def run(comm_id: str, request: str) -> None:
    """Traces what a request (JSON) names, on the calling thread, and answers over an open comm."""
    from IPython import get_ipython

    comm = _open.get(comm_id)
    if comm is not None:
        _trace(comm, json.loads(request), get_ipython())


def _handle(comm: Any, request: dict[str, Any], shell: Any) -> None:
    match request.get("op"):
        case "list":
            from ..replicas import SLICES
            from .inventory import inventory

            found = inventory(shell.user_ns, getattr(shell, "user_ns_hidden", None))
            comm.send({"id": request["id"], "op": "list", **found, "targets": list(SLICES), "failed": _failed(shell)})
        case "trace" | "explain":
            _trace(comm, request, shell)
        case "cancel":
            _cancelled.add(request["id"])
        case other:
            comm.send(
                {"id": request.get("id"), "op": "error", "message": f"The kernel's jupyter_tpushape does not know the request {other!r}."}
            )


def _trace(comm: Any, request: dict[str, Any], shell: Any) -> None:
    ask = request["id"]

    def progress(text: str) -> None:
        if ask in _cancelled:
            raise Cancelled
        comm.send({"id": ask, "op": "progress", "text": text})

    try:
        progress("Tracing")
        explain = request["op"] == "explain"
        report = _explained(shell, progress) if explain else _report(request, shell.user_ns, progress)
        answer = {"id": ask, "op": "report", "report": json.loads(report.to_json()), "changed": _changed(shell, request, report)}
    except KeyboardInterrupt:
        answer = {"id": ask, "op": "error", "message": "Cancelled.", "cancelled": True}
    except Exception as error:
        answer = {"id": ask, "op": "error", "message": str(error) or type(error).__name__}
    finally:
        _cancelled.discard(ask)
    comm.send(answer)


def _failed(shell: Any) -> str:
    """The hint about the cell that ran last, where it failed over shapes."""
    extension = getattr(shell, "_tpushape", None)
    return extension.said if extension is not None and extension.error is not None and extension.count == extension.running else ""


def _changed(shell: Any, request: dict[str, Any], report: Any) -> str:
    """What is other than in the report before, in a sentence; a mended cell is compared with what it was when it failed."""
    extension = getattr(shell, "_tpushape", None)
    if extension is None:
        return ""
    from .live import changed

    model = request.get("model", "")
    (name, before), extension.reported = extension.reported, (model, report)
    return changed(before, report) if name in ("", model) else ""


def _explained(shell: Any, progress: Any) -> Any:
    from .last import last_report

    chosen = {"tpu": "auto", "fixes": True, "compiler": None, "progress": progress}
    report = last_report(shell._tpushape, chosen)
    if report is None:
        raise LookupError(
            "Nothing has failed over shapes in this kernel since it was connected: run the cell again, or choose a model and trace it."
        )
    return report


@contextlib.contextmanager
def _effort(asked: str) -> Iterator[None]:
    """How hard the TPU compiler tries, for one trace."""
    name = "TPUSHAPE_COMPILE_EFFORT"
    before = os.environ.get(name)
    if asked:
        os.environ[name] = asked
    try:
        yield
    finally:
        if asked and before is None:
            os.environ.pop(name, None)
        elif asked and before is not None:
            os.environ[name] = before


def _report(request: dict[str, Any], namespace: dict[str, Any], progress: Any) -> Any:
    from .. import trace

    data = _named(request.get("data") or "", namespace)
    options: dict[str, Any] = {"tpu": request.get("tpu") or None, "progress": progress}
    if request.get("compile"):
        options["compiler"] = request["compile"]
    if request.get("batches"):
        options["batches"] = int(request["batches"])
    with _effort(request.get("effort") or ""):
        return trace(_named(request["model"], namespace), data, **options)


def _named(names: str, namespace: dict[str, Any]) -> Any:
    """The variable of that name, or a tuple of several (``"x, y"``); never an expression that is evaluated."""
    found = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name not in namespace:
            raise NameError(f"There is no {name} in this kernel any more: refresh the list.")
        found.append(namespace[name])
    if not found:
        return None
    return found[0] if len(found) == 1 else tuple(found)
