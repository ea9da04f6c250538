"""Runs the worker: its limits, its end, and the meaning of a missing answer."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import bridge, cache, hlo, pace

Progress = Callable[[str], None] | None


@dataclass(frozen=True)
class Limits:
    """``seconds`` of time and ``memory`` in bytes for one compilation, and the compiler's ``effort``."""

    seconds: float = 120.0
    memory: int = 0
    effort: str = "quick"


@dataclass(frozen=True)
class Form:
    """How a program is written, ``hlo`` or ``stablehlo``, for how many devices it is cut, and how many replicas run it and exchange in it.
    ``described``: what libtpu is told of the slice beside its name."""

    form: str = "hlo"
    partitions: int = 1
    replicas: int = 1
    shardy: bool = False
    described: dict[str, Any] = field(default_factory=dict)


def limits(seconds: float | None = None, effort: str | None = None) -> Limits:
    """The limits that are asked for, else as the environment sets them: ``TPUSHAPE_COMPILE_TIMEOUT`` (seconds), ``_MEMORY`` (GiB),
    ``_EFFORT`` (quick, full).

    Raises:
        ValueError: in one line, where one of them is not what is expected.
    """
    asked = effort is not None
    effort = effort if effort is not None else os.environ.get("TPUSHAPE_COMPILE_EFFORT", "quick")
    if effort not in bridge.EFFORTS:
        raise ValueError(f"{'The compile effort' if asked else 'TPUSHAPE_COMPILE_EFFORT'} is {effort!r}. Use quick or full.")
    try:
        seconds = float(os.environ.get("TPUSHAPE_COMPILE_TIMEOUT", "120") if seconds is None else seconds)
        memory = int(float(os.environ.get("TPUSHAPE_COMPILE_MEMORY", "0")) * 2**30)
    except ValueError:
        raise ValueError("TPUSHAPE_COMPILE_TIMEOUT (seconds) and TPUSHAPE_COMPILE_MEMORY (GiB) are numbers.") from None
    if not 0 < seconds < float("inf"):
        raise ValueError(f"The time limit is {seconds:g} s. Use a positive number of seconds, such as 300.")
    return Limits(seconds, memory or _most_of_memory(), effort)


def _most_of_memory() -> int:
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 0.8)
    except (AttributeError, ValueError, OSError):
        return 16 * 2**30


def live_tpu(devices: Path = Path("/dev"), processes: Path = Path("/proc")) -> str:
    """One line where this machine has TPU chips that something holds, or that it cannot be told."""
    chips = [str(path) for path in (*devices.glob("accel*"), *devices.glob("vfio/[0-9]*"))]
    if not chips:
        return ""
    for process in processes.glob("[0-9]*"):
        try:
            held = [str(link.readlink()) for link in (process / "fd").iterdir()]
        except FileNotFoundError:
            continue
        except OSError:
            return f"The compiler was not run: this machine has a TPU ({chips[0]}), and tpushape cannot tell whether it is in use."
        if any(name in chips for name in held):
            return f"The compiler was not run: process {process.name} is using the TPU of this machine ({chips[0]})."
    return ""


# By thread, so that nobody ends what another waits for.
_running: dict[tuple[int, Path], Asking] = {}


class Asking:
    """A question that was put to libtpu: the worker compiles while other things are done, until :meth:`answer` waits for it.
    :meth:`close` ends a worker that nobody waited for.
    """

    def __init__(self, program: bytes, key: str, topology: str, asked: Limits, names: tuple[str, ...] = (), form: Form | None = None) -> None:
        """Asks, unless the answer is known. ``names``: the program's operations by their place in it."""
        form = form or Form()
        self._asked, self._names, self._topology = asked, names, topology
        self._versions = versions()
        self._place = cache.place(
            cache.FORMAT, key, topology, asked.effort, self._versions, f"{form.replicas} {form.partitions}", json.dumps(form.described, sort_keys=True)
        )
        self._start = time.perf_counter()
        self._folder: Any = None
        self._process: subprocess.Popen[bytes] | None = None
        known = cache.read(self._place)
        self._known = {**known, "cached": True} if known is not None else _unasked()
        self._expected = 0.0 if self._known is not None else pace.expected(len(names), asked.effort, topology)
        if self._known is None and self._expected > pace.SURE * asked.seconds:
            self._known = _too_long(self._expected, asked)
        self._given = (program, {"topology": topology, "effort": asked.effort, "memory": asked.memory, **asdict(form)})
        # The same program is being compiled: its answer is waited for.
        self._thread = threading.get_ident()
        self._twin = _running.get((self._thread, self._place)) if self._known is None else None
        if self._known is None and self._twin is None:
            self._begin()

    def _begin(self) -> None:
        _running[self._thread, self._place] = self
        self._folder = tempfile.TemporaryDirectory(prefix="tpushape-")
        self._process = _started(Path(self._folder.name), *self._given)

    def close(self) -> None:
        """Ends the worker, also when the user interrupts."""
        if _running.get((self._thread, self._place)) is self:
            del _running[self._thread, self._place]
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()

    def answer(self, progress: Progress = None, what: str = "program") -> dict[str, Any]:
        """Waits for the answer; see :func:`ask`."""
        if self._known is None and self._process is None:
            twin = self._twin
            if twin is not None and (twin._known is not None or _running.get((twin._thread, twin._place)) is twin):
                self._known = {**twin.answer(progress, what), "cached": True}
            else:
                self._begin()
        if self._known is None:
            try:
                self._known = self._waited(progress, what)
            finally:
                self.close()
        return self._known

    def _waited(self, progress: Progress, what: str) -> dict[str, Any]:
        assert self._process is not None
        folder = Path(self._folder.name)
        if progress is not None and self._expected > self._asked.seconds:
            progress(f"{what}: will probably take about {self._expected:.0f} s, but the time limit is {self._asked.seconds:g} s")
        finished = _wait(self._process, folder, self._asked.seconds - (time.perf_counter() - self._start), progress, what)
        if not finished:
            self._process.kill()
            self._process.wait()
        answer = _read(folder, self._process, finished, self._asked)
        answer["seconds"] = time.perf_counter() - self._start
        answer["versions"] = self._versions
        if answer["kind"] in ("compiled", "refused", "time"):
            pace.note(len(self._names), answer["seconds"], self._asked.effort, self._topology)
        hlo.unnamed(answer, self._names)
        if answer["kind"] in ("compiled", "refused"):
            cache.write(self._place, answer)
        return answer


def versions() -> str:
    """Of the compiler's parts, as one text."""
    return ",".join(f"{name} {version}" for name, version in bridge.versions().items())


def _unasked() -> dict[str, Any] | None:
    wrong = bridge.check()
    if wrong:
        return {"ok": False, "kind": "versions", "message": wrong}
    busy = live_tpu()
    return {"ok": False, "kind": "busy", "message": busy} if busy else None


def _too_long(expected: float, asked: Limits) -> dict[str, Any]:
    return {
        "ok": False, "kind": "time",
        "message": f"The program was not compiled. By its size and by earlier compilations on this machine, it takes about {expected:.0f} s, but the "
        f"time limit is {asked.seconds:g} s. Set a longer limit with --compile-timeout or compile_timeout=.",
    }  # fmt: skip


def ask(
    program: bytes,
    key: str,
    topology: str,
    asked: Limits,
    progress: Progress = None,
    what: str = "program",
    names: tuple[str, ...] = (),
    form: Form | None = None,
) -> dict[str, Any]:
    """libtpu's answer to one program, from the cache where it was given before. ``names``: its operations by their place in it.

    Returns:
        ``ok``, ``kind`` (``compiled``, ``refused``, ``crash``, ``time``, ``memory``, ``busy``, ``versions``), ``message``, ``seconds``,
        ``cached``; sizes in bytes where it compiled.
    """
    with closing(Asking(program, key, topology, asked, names, form)) as asking:
        return asking.answer(progress, what)


def _started(folder: Path, program: bytes, request: dict[str, Any]) -> subprocess.Popen[bytes]:
    (folder / "program").write_bytes(program)
    (folder / "request.json").write_text(json.dumps(request))
    spared = bridge.ONE_ARENA if request["partitions"] > 1 else {}
    environment = {**os.environ, **bridge.ENVIRONMENT, **spared, "PYTHONPATH": _path()}
    with (folder / "stderr").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "jupyter_tpushape.compilers.worker", str(folder)],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
        )  # fmt: skip


def _read(folder: Path, process: subprocess.Popen[bytes], finished: bool, asked: Limits) -> dict[str, Any]:
    answer = folder / "answer.json"
    if answer.exists():
        return dict(json.loads(answer.read_text(encoding="utf-8")))
    if not finished:
        return {
            "ok": False, "kind": "time",
            "message": f"The TPU compiler did not finish within {asked.seconds:g} s. Set a longer limit with --compile-timeout or compile_timeout=.",
        }  # fmt: skip
    return _death(process.returncode, (folder / "stderr").read_text(encoding="utf-8", errors="replace"))


def _path() -> str:
    """Where the worker looks for modules. The compiler's folder comes first: this package may stand beside another jaxlib."""
    package = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, [str(bridge.home() or ""), package, os.environ.get("PYTHONPATH", "")]))


def _wait(process: subprocess.Popen[bytes], folder: Path, seconds: float, progress: Progress, what: str) -> bool:
    """Waits for the worker's end; ``False`` where the time is over. Says what it is at when that takes more than a second."""
    start, told = time.monotonic(), ""
    while time.monotonic() - start < seconds:
        try:
            process.wait(timeout=0.2)
            return True
        except subprocess.TimeoutExpired:
            pass
        if progress is not None and time.monotonic() - start > 1:
            try:
                stage = (folder / "stage").read_text(encoding="utf-8")
            except OSError:
                stage = ""
            if stage and stage != told:
                told = stage
                progress(f"{what}: {stage}")
    return False


def _death(code: int, errors: str) -> dict[str, Any]:
    full = (
        "MemoryError",
        "bad_alloc",
        "annot allocate memory",
        "Memory allocation still failed",
        "o map segment",
        "annot map ",
        "new thread",
        "pthread_create",
    )
    if any(words in errors for words in full):
        return {"ok": False, "kind": "memory", "message": "The TPU compiler needs more host memory than its limit."}
    how = f"exit code {code}"
    if code < 0:
        try:
            how = signal.Signals(-code).name
        except ValueError:
            how = f"signal {-code}"
    reason = next((line for line in errors.splitlines() if "Check failed" in line or line.startswith("F")), "")
    if not reason:
        reason = next((line for line in reversed(errors.splitlines()) if line.strip()), "")
    reason = re.sub(r"^[FE]\d{4} [\d:.]+ +\d+ ", "", reason.strip())
    where = f" Its last output: {reason[:300]}" if reason else ""
    return {
        "ok": False,
        "kind": "crash",
        "message": f"The TPU compiler crashed on this program ({how}). Its process is separate, so nothing else was affected.{where}",
    }
