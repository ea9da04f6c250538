"""Loads the extension into a kernel, and unloads it completely.

Nothing heavy is imported here. The hooks of a framework are installed when its import ends, and before each cell.
"""

from __future__ import annotations

import contextlib
import re
import sys
import uuid
from typing import Any

from IPython.core.error import UsageError

from ..internal import ours
from ..trace.arrivals import Arrivals
from . import timed
from .tell import tell

_NAME = "_tpushape"
# What a wrapper of ours shows tracebacks with, on the wrapper.
_SHOWN = "_tpushape_before"
# How many runs' counters are kept.
_RUNS = 200


class Extension:
    """The state for one shell: magics, events, and the last failure."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.error: BaseException | None = None
        #: The last one that the running cell showed; ``%run`` shows what its program raises, and ends well.
        self.displayed: BaseException | None = None
        self.source = ""
        self.said = ""
        self.hints = True
        self.watched: Any = None
        #: Whether a cell runs; one that awaits leaves the kernel's loop running, too.
        self.busy = False
        self.running = 0
        #: Another one after each start of a kernel: reports of an earlier one are old.
        self.kernel = uuid.uuid4().hex[:12]
        self.count = 0
        self.show: Any = None
        self.shown: Any = None
        #: The last report of each model by its name; ``""``: of what failed last. The next one is compared with it.
        self.reported: dict[str, Any] = {}
        #: The data that each model was last traced with, by their names.
        self.seen: dict[str, str] = {}
        self.counters: list[tuple[Any, Any]] = []
        self.failed_counters: list[tuple[Any, Any]] = []
        #: The counters at the start of each of the last runs.
        self.started: dict[int, list[tuple[Any, Any]]] = {}
        #: Of each cell that failed before the last one its text, the line that raised and its counters: no exception, which keeps data alive.
        self.earlier: dict[int, tuple[str, int, list[tuple[Any, Any]]]] = {}
        self.arrivals = Arrivals(self.hook)

    def before(self, info: Any = None) -> None:
        """Before a cell: installs the hooks of new imports, and stores which cell this is."""
        self.running = _running(self.shell)
        self.busy, self.displayed = info is not None, None
        self._named(info)
        if timed.is_timed(getattr(info, "raw_cell", None) or ""):
            with _reported():
                timed.watch(self.shell, self)
        self.hook()

    def _named(self, info: Any) -> None:
        """Stores the front end's name of the cell that runs."""
        cell = getattr(info, "cell_id", None)
        if cell:
            self.shell.__dict__.setdefault("_tpushape_cells", {})[self.running] = str(cell)

    def hook(self) -> None:
        """Installs the hooks of the loaded frameworks, and stores their name counters at the start of the cell."""
        if "keras" in sys.modules or "tf_keras" in sys.modules:
            from ..trace.aftermath import remember
            from ..trace.frameworks import MissingBackend, loaded
            from ..trace.hooks import listen

            with _reported(), contextlib.suppress(MissingBackend):
                self.counters = [(adapter, adapter.globals()) for adapter in loaded()]
                listen("notebook", remember)
            self.started[self.running] = self.counters
            for number in sorted(self.started)[:-_RUNS]:
                del self.started[number]

    def after(self, result: Any) -> None:
        """After a cell: the hint below the traceback, or the watched trace."""
        self.busy = False
        # The cell that loads the extension began before it.
        self._named(getattr(result, "info", None))
        error: Any = getattr(result, "error_in_exec", None) or self.displayed
        self.displayed = None
        # A mistake in the line of a magic is no failure of the program: the one before it stays the last.
        failed = error is not None and not isinstance(error, (KeyboardInterrupt, SystemExit))
        if failed and not isinstance(error, UsageError):
            with _reported():
                self._hint(error, timed.opened(getattr(getattr(result, "info", None), "raw_cell", "") or ""))
        if self.watched is not None and (self.watched.owed or not failed):
            self.watched.later(_reported)

    def _hint(self, error: BaseException, source: str) -> None:
        from ..views.naming import line_of_cell
        from .hint import hint_for
        from .pairing import assigned_in

        missing = getattr(error, "name", None) if type(error) is NameError else None
        if missing and self.said and missing in assigned_in(self.source) and missing not in self.shell.user_ns:
            # The cell that would have made it is what failed: that stays the last failure.
            if self.hints:
                said = f"{missing} does not exist: In[{self.count}], which defines it, raised an error."
                tell(self.shell, said, todo="Run %tpushape to see where.", hint={"execution": self.count})
            return
        # What failed is kept whatever it is: %tpushape shows it. A hint is for what shapes, dtypes or a framework have a part in.
        if self.said:
            self.earlier[self.count] = self.source, line_of_cell(self.error, self.shell.user_ns), self.failed_counters
        self.error, self.source, self.count, self.said = error, source, self.running, ""
        self.failed_counters = self.counters
        self.said = hint_for(error)
        if self.said and self.hints:
            tell(self.shell, self.said, todo="Run %tpushape to see it.", hint={"execution": self.count})


def _running(shell: Any) -> int:
    """The number of the running cell.

    IPython 9 increments it before a cell runs and IPython 8 after it, so the frame that runs the cell decides.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "run_cell_async":
            count = frame.f_locals.get("execution_count")
            return int(shell.execution_count if count is None else count)
        frame = frame.f_back
    return int(shell.execution_count)


@contextlib.contextmanager
def _reported() -> Any:
    """Nothing that goes wrong here breaks the user's cell: it is printed. An internal error is told with how to report it."""
    try:
        yield
    except KeyboardInterrupt:
        print("tpushape: Interrupted.", file=sys.stderr)
    except BaseException as error:
        print(ours(error), file=sys.stderr)


def load(shell: Any) -> None:
    """Registers magics and events; loading twice changes nothing."""
    if getattr(shell, _NAME, None) is not None:
        return
    from .magic import TpuShapeMagics

    extension = Extension(shell)
    setattr(shell, _NAME, extension)
    shell.register_magics(TpuShapeMagics(shell, extension))
    shell.events.register("pre_run_cell", extension.before)
    shell.events.register("post_run_cell", extension.after)
    from . import comm
    from .complete import register

    register(shell)
    comm.register(shell)
    sys.meta_path.insert(0, extension.arrivals)
    if hasattr(shown := vars(shell).get("showtraceback"), _SHOWN):
        # Ours of an earlier time, which another extension has put back as it left.
        _give_back(shell, getattr(shown, _SHOWN))
    extension.show = vars(shell).get("showtraceback")
    extension.shown = shell.showtraceback = _plain(shell.showtraceback, extension)
    setattr(extension.shown, _SHOWN, extension.show)
    extension.before()


def _give_back(shell: Any, show: Any) -> None:
    """Shows tracebacks as before: as ``show`` of another extension does, or as the shell does by itself."""
    if show is None:
        vars(shell).pop("showtraceback", None)
    else:
        shell.showtraceback = show


def _plain(show: Any, extension: Extension) -> Any:

    def showtraceback(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> Any:
        _, value, trace = exc_tuple if exc_tuple is not None else sys.exc_info()
        extension.displayed = value
        with contextlib.suppress(Exception):
            chained = value
            for _ in range(20):
                if chained is None:
                    break
                _strip(chained.__traceback__)
                _strip_text(chained)
                chained = chained.__cause__ or chained.__context__
            _strip(trace)
        return show(exc_tuple, *args, **kwargs)

    return showtraceback


def _strip(trace: Any) -> None:
    from ..trace.locations import is_ours

    while trace is not None:
        while trace.tb_next is not None and is_ours(trace.tb_next.tb_frame.f_code.co_filename):
            trace.tb_next = trace.tb_next.tb_next
        trace = trace.tb_next


def _strip_text(error: BaseException) -> None:
    from ..trace.locations import HERE

    ours = re.compile(rf'^ *File "{re.escape(HERE)}[^\n]*\n[^\n]*\n', re.MULTILINE)
    if error.args and any(isinstance(part, str) and HERE in part for part in error.args):
        error.args = tuple(ours.sub("", part) if isinstance(part, str) else part for part in error.args)
    said = getattr(error, "_message", None)
    if isinstance(said, str) and HERE in said:
        error._message = ours.sub("", said)  # type: ignore[attr-defined]


def unload(shell: Any) -> None:
    """Removes magics, events, hooks and stored state."""
    extension = getattr(shell, _NAME, None)
    if extension is None:
        return
    for event, callback in (("pre_run_cell", extension.before), ("post_run_cell", extension.after)):
        with contextlib.suppress(ValueError):
            shell.events.unregister(event, callback)
    with contextlib.suppress(ValueError):
        sys.meta_path.remove(extension.arrivals)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("tpushape", None)
    shell.magics_manager.registry.pop("TpuShapeMagics", None)
    from .complete import unregister

    unregister(shell)
    timed.unwatch(shell)
    from . import comm

    comm.unregister(shell)
    # Where somebody has wrapped it since, theirs stays, and ours beneath it only takes frames of ours out, of which there are none.
    if vars(shell).get("showtraceback") is extension.shown:
        _give_back(shell, extension.show)
    extension.watched = None
    delattr(shell, _NAME)
    shell.__dict__.pop("_tpushape_cells", None)
    if "jupyter_tpushape.trace.hooks" in sys.modules:
        from ..trace import aftermath, frameworks, hooks

        hooks.listen("notebook", None)
        frameworks.uninstall()
        aftermath.forget()
