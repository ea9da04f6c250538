"""The kernel's side of the sidebar: lists what can be traced and traces it, over one comm.

Messages are dicts with ``id`` and ``op``. ``list`` only reads and may be answered on a subshell while a cell runs. ``trace`` has to
run where the user's cells run (Keras keeps its policies and counters per thread), so a front end asks for it with a
silent execute request whose user expression calls :func:`run` (``front_end.py``); the answers come over the comm all the same. ``explain`` is a trace of
what failed last.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import Any

from ..flow.text import in_part, line, meaning, words
from ..internal import ours
from ..trace.patience import hand_over
from ..views.naming import looked_up, named
from .interrupt import Cancelled, Interruptible
from .inventory import in_variables
from .request import BadRequest, Request, parse

TARGET = "jupyter_tpushape"

_open: dict[str, Any] = {}
_cancelled: set[str] = set()
# The thread of each running trace: whoever takes it out ends the trace, once.
_threads: dict[str, int] = {}
_running: dict[str, Interruptible] = {}
# Traces that were cancelled before they started; far more than a person can click.
MOST_CANCELLED = 1000
# Letters of an answer that is a sentence.
MOST_SAID = 1000


def register(shell: Any = None) -> bool:
    """Registers the comm target with a running kernel; returns whether there is one."""
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
        comm.on_msg(lambda message: _handle(comm, _asked(message), shell))

    manager.register_target(TARGET, opened)
    return True


def unregister(shell: Any) -> None:
    """Removes the comm target and closes open comms."""
    manager = getattr(getattr(shell, "kernel", None), "comm_manager", None)
    if manager is not None and TARGET in manager.targets:
        manager.targets.pop(TARGET)
    while _open:
        _open.popitem()[1].close()


def run(comm_id: str, request: str) -> None:
    """Traces what a request (JSON) names, on the calling thread, and answers over an open comm."""
    from IPython import get_ipython

    comm = _open.get(comm_id)
    if comm is not None:
        _handle(comm, request, get_ipython())


def _asked(message: Any) -> Any:
    content = message.get("content") if isinstance(message, dict) else None
    return content.get("data") if isinstance(content, dict) else None


def _handle(comm: Any, message: Any, shell: Any) -> None:
    """Answers a message. Whatever an object of the user's raises when it is looked at, SystemExit included, ends in an answer: it would end the kernel."""
    try:
        request = parse(message)
    except BadRequest as error:
        comm.send(_error(error.id, error))
        return
    try:
        _answered(comm, request, shell)
    except KeyboardInterrupt:
        comm.send(_error(request.id, "Cancelled.") | {"cancelled": True})
    except BaseException as error:
        comm.send(_error(request.id, ours(error)))


def _error(ask: str, said: object) -> dict[str, Any]:
    if isinstance(said, BaseException):
        said = words(said) or meaning(said)
    return {"id": ask, "op": "error", "message": in_part(line(said), MOST_SAID)}


def _answered(comm: Any, request: Request, shell: Any) -> None:
    match request.op:
        case "list":
            from ..replicas import SLICES
            from .inventory import inventory, left

            cells = [text for text in shell.user_ns.get("In", ()) if isinstance(text, str)]
            found = inventory(shell.user_ns, getattr(shell, "user_ns_hidden", None), sources=cells)
            alive = [one["name"] for one in found["models"] if one["kind"] == "model"]
            spoiled = left(shell.user_ns, alive, cells, getattr(shell, "_tpushape_cells", {}))
            for one in found["models"]:
                one["left"] = spoiled.get(one["name"], [])
            comm.send({"id": request.id, "op": "list", **found, "targets": list(SLICES), "seen": _seen(shell, found), "failed": _failed(shell)})
        case "trace" | "explain" | "port":
            _trace(comm, request, shell)
        case "cancel":
            _cancel(request.id)
        case "make-way":
            _make_way(request.id)


def _trace(comm: Any, request: Request, shell: Any) -> None:
    ask = request.id
    work = Interruptible()

    def progress(text: str) -> None:
        if ask in _cancelled:
            raise Cancelled
        comm.send({"id": ask, "op": "progress", "text": text})

    try:
        progress("Tracing" if request.op != "port" else "Porting, and comparing both programs")
        _threads[ask], _running[ask] = threading.get_ident(), work
        try:
            with work:
                answer = _answer(request, shell, progress)
        except Exception as error:
            answer = _error(ask, error)
        _ended(ask)
    except KeyboardInterrupt as error:
        if work.told or not isinstance(error, Cancelled):
            with contextlib.suppress(Cancelled):
                _ended(ask)
        _threads.pop(ask, None)
        answer = _error(ask, "Cancelled.") | {"cancelled": True}
    finally:
        work.close()
        _running.pop(ask, None)
        _cancelled.discard(ask)
    comm.send(answer)


def _answer(request: Request, shell: Any, progress: Any) -> dict[str, Any]:
    if request.op == "port":
        return _ported(request)
    explain = request.op == "explain"
    report = _explained(shell, request.execution, progress) if explain else _report(request, shell, progress)
    names = [] if explain else [request.model, request.data or ""]
    named(report, shell, *names, failed=explain, execution=request.execution)
    return {"id": request.id, "op": "report", "report": json.loads(report.to_json()), "changed": _changed(shell, request, report)}


def _ported(request: Request) -> dict[str, Any]:
    """A file ported to Keras on JAX: its text, what is left to change by hand, and whether both programs were found to agree."""
    from ..port import port

    try:
        found = port(request.path)
    except OSError as error:
        raise ValueError(f"Cannot read {request.path} ({error.strerror or error}): name a Python file from the kernel's folder.") from None
    left = [str(one) for one in found.left]
    return {"id": request.id, "op": "ported", "text": found.text, "left": left, "message": found.proof.said, "whole": found.whole}


def _cancel(ask: str) -> None:
    """Interrupts a trace that runs on the main thread, also while it waits; any other is cancelled like one that makes way.

    A front end's own interrupt could arrive after the trace has ended, and hit the cell that comes next.
    """
    work = _running.get(ask)
    if work is None or not work.listens or threading.current_thread() is threading.main_thread():
        _make_way(ask)
        return
    # The user's code may catch the interrupt and go on: then the next word of progress ends the trace.
    _take_back(ask)
    work.cancel()


def _make_way(ask: str) -> None:
    """Cancels a trace on another thread if a cell is waiting for that thread; a trace that has not started never starts."""
    thread = _threads.pop(ask, None)
    if thread is not None and thread != threading.get_ident():
        hand_over(thread, Cancelled)
    else:
        _take_back(ask)


def _take_back(ask: str) -> None:
    while len(_cancelled) >= MOST_CANCELLED:
        _cancelled.pop()
    _cancelled.add(ask)


def _ended(ask: str) -> None:
    """A trace has ended. If it was just cancelled, this waits for the cancellation, so that it does not hit later code."""
    if _threads.pop(ask, None) is None:
        for _ in range(500):
            time.sleep(0.01)


def _seen(shell: Any, found: dict[str, Any]) -> dict[str, str]:
    """The listed models that have a report, each with the data of the last one, if that is listed, too."""
    extension = getattr(shell, "_tpushape", None)
    models = {one["name"] for one in found["models"]}
    data = {"", *(one["name"] for one in found["data"])}
    return {model: with_ for model, with_ in (extension.seen.items() if extension is not None else ()) if model in models and with_ in data}


def _failed(shell: Any) -> str:
    extension = getattr(shell, "_tpushape", None)
    return extension.said if extension is not None and extension.error is not None and extension.count == extension.running else ""


def _changed(shell: Any, request: Request, report: Any) -> str:
    extension = getattr(shell, "_tpushape", None)
    if extension is None:
        return ""
    from .live import changed, keep

    before = keep(extension.reported, request.model, report)
    return changed(before, report)


def _explained(shell: Any, execution: int, progress: Any) -> Any:
    from .cell import last_report, rerun_report

    chosen = {"tpu": "auto", "fixes": True, "compiler": None, "progress": progress}
    if execution and execution != shell._tpushape.count:
        report = rerun_report(shell._tpushape, chosen, execution) if execution in shell._tpushape.earlier else None
        if report is None:
            raise LookupError(f"In[{execution}] is no longer the last cell that failed: run it again.")
        return report
    report = last_report(shell._tpushape, chosen)
    if report is None:
        raise LookupError("No shape error in this kernel since it was connected: run the cell again, or choose a model and trace it.")
    return report


def _report(request: Request, shell: Any, progress: Any) -> Any:
    from .. import trace

    namespace = shell.user_ns

    data = looked_up(request.data or "", namespace)
    options: dict[str, Any] = {"tpu": request.tpu or None, "progress": progress}
    if request.compile and not request.watched:
        options["compiler"] = request.compile
    if request.effort:
        options["compile_effort"] = request.effort
    if request.batches:
        options["batches"] = request.batches
    with in_variables(shell, request.data or "", data):
        return trace(looked_up(request.model, namespace), data, **options)
