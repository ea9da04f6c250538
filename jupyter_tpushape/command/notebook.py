"""``tpushape check notebook.ipynb --execute``: runs the cells in a scratch kernel, up to the model or to the first training call."""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..report import Report
from .early import UsageError

# Of a notebook with its outputs.
_MOST = 256 * 2**20
_PROLOGUE = "from jupyter_tpushape.notebook import scratch as _tpushape_scratch; _tpushape_scratch.begin({!r})"
_REACHED = "__import__('jupyter_tpushape.notebook.scratch', fromlist=['reached']).reached({!r})"
_FINISH = "__import__('jupyter_tpushape.notebook.scratch', fromlist=['finish']).finish({!r}, {!r})"


def report_of(options: Any) -> Report:
    """The report for a notebook.

    Raises:
        UsageError: without ``--execute``, without a kernel, or if a cell raises an unrelated error.
    """
    place, _, model = options.model.partition(".ipynb")
    path, model = Path(place + ".ipynb"), model.lstrip(":")
    cells = _cells(path)
    if not options.execute:
        raise UsageError(
            f"Checking a notebook executes its cells: add --execute if you trust {path.name}. The cells run in a scratch kernel and stop at the first training call."
        )
    data = _name(options.data, path)
    if options.input_spec:
        raise UsageError("--input-spec is for saved models: for a notebook, name the data, such as --data train_ds.")
    missing = [name for name in ("jupyter_client", "ipykernel") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"{missing[0]}, which runs the cells of a notebook, is not installed: run pip install ipykernel.")
    asked = {
        "model": model,
        "data": data,
        "mesh": options.mesh,
        "layout": _name(options.layout, path, "layout", "LAYOUT"),
        "options": {
            "tpu": None if options.tpu == "none" else options.tpu, "loss": options.loss, "batch_size": options.batch_size,
            "fixes": not options.no_fixes, "compiler": options.compile, "compile_timeout": options.compile_timeout,
            "compile_effort": options.compile_effort, "compile_batches": options.compile_batches,
        },
    }  # fmt: skip
    report, numbers = _run(path, cells, asked, float(options.timeout))
    if options.format in ("sarif", "github"):
        _to_lines_of_file(report, path, cells, numbers)
    return report


def _cells(path: Path) -> list[str]:
    try:
        # A pipe would block, and a device has no end.
        if path.exists() and not path.is_file() and not path.is_dir():
            raise UsageError(f"{path} is not a regular file.")
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
        if len(data) > _MOST:
            raise UsageError(f"{path} is larger than {_MOST:,} bytes: clear its outputs and try again.")
        document = json.loads(data.decode("utf-8-sig"))
        found = [_text(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]
    except OSError as error:
        if path.exists():
            raise UsageError(f"Cannot read {path} ({error.strerror}).") from None
        raise UsageError(f"There is no notebook {path}: use the path of an .ipynb file.") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{path} is not a notebook in format 4: open and save it in JupyterLab.") from None
    return found


def _text(source: Any) -> str:
    if not isinstance(source, (str, list)):
        raise TypeError
    return source if isinstance(source, str) else "".join(source)


def _name(typed: str | None, path: Path, option: str = "data", example: str = "x_train,y_train") -> str:
    name = (typed or "").removeprefix(f"{path}:").strip("() ")
    if name and not all(part.strip().isidentifier() for part in name.split(",")):
        more = ", or two" if "," in example else ""
        raise UsageError(f"{typed} is not a valid name for --{option}: use the name of a variable{more} in this notebook, such as --{option} {example}.")
    return name


def _run(path: Path, cells: list[str], asked: dict[str, Any], limit: float) -> tuple[Report, dict[int, int]]:
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager

    with tempfile.TemporaryDirectory(prefix="tpushape-") as scratch:
        # A kernel of this interpreter, whatever kernels are installed.
        spec = Path(scratch) / "tpushape"
        spec.mkdir()
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "scratch", "language": "python"}), encoding="utf-8")
        # Over a socket file if the system supports it, so that no port is opened.
        local = {"transport": "ipc", "ip": str(Path(scratch) / "kernel")} if os.name == "posix" else {}
        manager = KernelManager(
            **local, kernel_name="tpushape", kernel_spec_manager=KernelSpecManager(kernel_dirs=[scratch], ensure_native_kernel=False),
            connection_file=str(Path(scratch) / "connection.json"),
        )  # fmt: skip
        manager.start_kernel(
            cwd=str(path.parent.resolve()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", **os.environ},
        )  # fmt: skip
        try:
            client = manager.blocking_client()
            client.start_channels()
            try:
                client.wait_for_ready(timeout=120)
                return _walk(client, manager.is_alive, path, cells, asked, limit, Path(scratch) / "answer.json")
            finally:
                client.stop_channels()
        except TimeoutError:
            manager.interrupt_kernel()
            raise UsageError(f"A cell of {path.name} ran longer than {limit:.0f} seconds: use a larger --timeout.") from None
        except RuntimeError as error:
            raise UsageError(f"The scratch kernel for {path.name} died ({error}).") from None
        finally:
            manager.shutdown_kernel(now=True)


def _reply(client: Any, alive: Callable[[], bool], sent: str, limit: float, dead: str) -> dict[str, Any]:
    """The kernel's reply.

    Raises:
        TimeoutError: if the time is up first.
        UsageError: if the kernel stops first, with the message ``dead``.
    """
    end = time.monotonic() + limit
    while True:
        gone = not alive()
        try:
            message = client.get_shell_msg(timeout=min(0.5, max(0.01, end - time.monotonic())))
        except queue.Empty:
            if gone:
                raise UsageError(dead) from None
            if time.monotonic() >= end:
                raise TimeoutError from None
        else:
            if message["parent_header"].get("msg_id") == sent:
                return dict(message["content"])


def _walk(
    client: Any, alive: Callable[[], bool], path: Path, cells: list[str], asked: dict[str, Any], limit: float, answer: Path
) -> tuple[Report, dict[int, int]]:
    def run(code: str, *, kept: bool = False, ask: str = "", what: str = "Tracing the model") -> dict[str, Any]:
        # The outputs of the notebook are not needed.
        sent = client.execute(
            code, silent=False, store_history=kept, user_expressions={"reached": ask} if ask else None,
            allow_stdin=False, stop_on_error=False,
        )  # fmt: skip
        return _reply(client, alive, sent, limit, f"{what} stops the kernel of {path.name}: fix that first.")

    source = "\n".join(cells)
    frameworks = [name for name in ("tensorflow", "keras", "tf_keras") if re.search(rf"\b{name}\b", source)]
    begun = run(_PROLOGUE.format(frameworks))
    if begun["status"] == "error":
        raise UsageError(f"The scratch kernel cannot load jupyter_tpushape ({begun['ename']}: {begun['evalue']}).")
    names = [part.strip() for name in (asked["model"], asked["data"]) for part in name.split(",") if part] if asked["model"] else []
    numbers: dict[int, int] = {}
    failed = ""
    for index, cell in enumerate(cells):
        if not cell.strip():
            continue
        reply = run(cell, kept=True, what=f"Code cell {index + 1}")
        numbers[int(reply.get("execution_count") or 0)] = index
        told = run("", ask=_REACHED.format(names), what=f"Code cell {index + 1}").get("user_expressions", {}).get("reached", {})
        state = str(told.get("data", {}).get("text/plain", "")).strip("'")
        if state:
            break
        if reply["status"] == "error":
            failed = f"code cell {index + 1} of {path.name} raises {reply['ename']}: {_line(reply['evalue'])}"
            break
    run(_FINISH.format(str(answer), json.dumps({**asked, "failed": bool(failed)})))
    try:
        made = json.loads(answer.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(f"The scratch kernel returned no report for {path.name}.") from None
    if "error" in made:
        if failed:
            raise UsageError(f"{failed[0].upper()}{failed[1:]}; fix that first.")
        raise UsageError(f"{path.name}: {made['error']}.".replace("..", "."))
    return Report.from_json(json.dumps(made["report"])), numbers


def _line(text: Any) -> str:
    return next((line.strip().rstrip(".") for line in str(text).splitlines() if line.strip()), "")


def _to_lines_of_file(report: Report, path: Path, cells: list[str], numbers: dict[int, int]) -> None:
    lines = list(_lines(path, cells))
    for finding in report.findings:
        where = finding.location
        if where is not None and where.execution in numbers:
            found = lines[numbers[where.execution]]
            line = found[min(where.line, len(found)) - 1] if found else 1
            finding.location = msgspec.structs.replace(where, file=str(path), line=line, cell="", execution=0)


def _lines(path: Path, cells: list[str]) -> Iterator[list[int]]:
    """For each code cell, the numbers of the file's lines that contain its lines, in order."""
    rows = path.read_text(encoding="utf-8").splitlines()
    at = 0
    for cell in cells:
        numbers = []
        for line in cell.splitlines(keepends=True):
            spelled = (json.dumps(line), json.dumps(line, ensure_ascii=False))
            row = next((i for i in range(at, len(rows)) if any(text in rows[i] for text in spelled)), None)
            if row is None:
                break
            numbers.append(row + 1)
            at = row + 1
        yield numbers
