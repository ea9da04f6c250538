"""``%tpushape`` and ``%%tpushape``."""

from __future__ import annotations

import contextlib
import copy
import functools
import re
import sys
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from ..views.naming import line_of_cell, named
from .inventory import in_variables
from .live import Live, keep
from .pairing import assigned, assigned_in
from .tell import Progress, rich, tell


@magics_class
class TpuShapeMagics(Magics):
    """The magics of one shell."""

    def __init__(self, shell: Any, extension: Any) -> None:
        super().__init__(shell)
        self.extension = extension

    @magic_arguments()
    @argument("names", nargs="*", help="A model, a function that builds one, or a training step; then its data. Without arguments: the last error.")
    @argument("--tpu", default=None, help="The TPU to plan for, such as v5e-8, or none. Default: the live strategy, or v5e-8 without one.")
    @argument("--mesh", default=None, help='Keras on JAX: named device axes, with the batch axis first: "batch=2,model=4".')
    @argument("--layout", default=None, metavar="NAME", help="A LayoutMap, a dict of its entries, a function of the mesh, or a distribution.")
    @argument("--compile", default=None, choices=("xla", "tpu"), help="Also compile the program.")
    @argument("--compile-timeout", type=float, default=None, metavar="SECONDS", help="Time limit for each compilation, in seconds. Default: 120.")
    @argument("--compile-effort", default=None, choices=("quick", "full"), help="quick (default), or full: slower, but with the memory use of a real TPU run.")
    @argument("--compile-batches", action="store_true", help="With --compile tpu: also compile other batch sizes, up to the largest that compiles.")
    @argument("--loss", default=None, help="Name of a loss to use instead of the compiled one.")
    @argument("--batch-size", type=int, default=None, help="Batch size, for arrays.")
    @argument("--no-fixes", action="store_true", help="Do not search for fixes.")
    @argument("--save", default=None, help="Also save the report as a .html, .json, .svg or .md file.")
    @argument("--text", action="store_true", help="Print text instead of the interactive view.")
    @line_cell_magic
    def tpushape(self, line: str, cell: str | None = None) -> None:
        """Find where tensor shapes do not match in a Keras model, why, and how to fix it.

        Examples::

            %tpushape model data
            %tpushape model (x, y) --tpu v3-8
            %tpushape step dataset
            %tpushape watch model data
            %tpushape diff before after data
            %tpushape model data --mesh "batch=2,model=4" --layout LAYOUT
            %tpushape
        """
        if {"--help", "-h"} & set(line.split()):
            print((type(self).tpushape.__doc__ or "").removeprefix("::").replace("Examples::", "Examples:").strip())
            return
        with contextlib.suppress(KeyboardInterrupt):
            self._run(line, cell)
            return
        # The cell fails, so that none behind it runs. Nothing holds the frames that were left, and they are not shown: hundreds of lines.
        interrupted: Any = KeyboardInterrupt("tpushape was interrupted")
        interrupted._render_traceback_ = lambda: ["tpushape: Interrupted."]
        raise interrupted

    def _run(self, line: str, cell: str | None) -> None:
        try:
            options = parse_argstring(type(self).tpushape, _quote(line))
        except ValueError as error:  # of quotes
            raise UsageError(f"Cannot read {line.strip()} ({error}): use %tpushape model data.") from None
        except UsageError as error:
            from .complete import meant

            raise UsageError(f"{str(error).splitlines()[-1].rstrip('.')}.{meant(line, error)} Run %tpushape? for help.") from None
        from ..examine import BadProgram
        from ..sources import BadData

        progress = Progress(self.shell)
        try:
            try:
                report = self._report(options, cell, progress)
            except BaseException:
                progress.end()
                raise
        except (BadProgram, BadData) as error:
            raise UsageError(_asked_here(str(error))) from None
        except UsageError:
            raise
        except Exception as error:
            from ..internal import ours

            print(ours(error), file=sys.stderr)
            return
        if report is None:
            progress.end()
            return
        names = options.names if cell is None else []
        named(report, self.shell, *names, failed=cell is None and not options.names)
        self.shell.user_ns["_tpushape_report"] = report
        keep(self.extension.reported, options.names[0] if options.names else "", report)
        self._show(report, "", options, progress)

    def _show(self, report: Any, text: str, options: Any, progress: Progress) -> None:
        """Saves the report if a path was given, and shows it: as the interactive view, or as ``text`` or its own text."""
        if options.save:
            try:
                print(f"Report written to {report.save(options.save)}")
            except (ValueError, OSError) as error:
                raise UsageError(f"{error}") from None
        if not options.text and rich(self.shell):
            show(report, progress)
            return
        from ..views.text import to_text

        progress.end()
        print(text or to_text(report, color=sys.stdout.isatty()))

    def _report(self, options: Any, cell: str | None, progress: Progress) -> Any:
        from ..diagnose import trace

        target = _target(options.tpu)
        _check_loss(options.loss)
        _check_limits(options)
        # A cell may define its own layout: it is looked up when the cell has run.
        strategy = self._distribution(options, target) if cell is None else functools.partial(self._distribution, options, target)
        chosen = {
            "tpu": target, "strategy": strategy, "loss": options.loss, "batch_size": options.batch_size, "fixes": not options.no_fixes,
            "compiler": options.compile, "compile_timeout": options.compile_timeout, "compile_effort": options.compile_effort,
            "compile_batches": options.compile_batches,
            "progress": progress,
        }  # fmt: skip
        if cell is not None:
            from .cell import run_cell

            return run_cell(self.shell, cell, chosen)
        names = list(options.names)
        if names[:1] == ["watch"]:
            return self._watch(names[1:], chosen)
        if names[:1] == ["diff"]:
            return self._diff(names[1:], chosen, options)
        if not names:
            return self._last(chosen)
        if len(names) > 2:
            raise UsageError(
                f"Expected a model and its data, but got {len(names)} names: put arrays in parentheses, %tpushape {names[0]} ({','.join(names[1:])})."
            )
        model = self._value(names[0])
        data = self._value(names[1]) if len(names) > 1 else None
        with in_variables(self.shell, names[1] if len(names) > 1 else "", data):
            report = trace(model, data, **chosen)
        if report.replacement is not None and len(names) > 1 and names[1].isidentifier():
            # The variable then yields the elements that were drawn from the user's iterator again.
            self.shell.user_ns[names[1]] = report.replacement
        return report

    def _distribution(self, options: Any, target: str | None, names: dict[str, Any] | None = None) -> Any:
        """The distribution that ``--mesh`` and ``--layout`` plan. ``names``: what a cell defines, in place of the notebook's variables."""
        from ..replicas import typed

        own = (names or {}).get(options.layout)
        if own is None and options.layout is not None:
            own = self._value(options.layout, "a layout map", "--layout LAYOUT")
        try:
            return typed(options.mesh.strip("\"'") if options.mesh is not None else None, own, target)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _value(self, text: str, kind: str = "a model or data", example: str = "%tpushape model data") -> Any:
        names = self.shell.user_ns
        if text.isidentifier():
            if text not in names:
                failed = assigned_in(self.extension.source)
                if text in failed:
                    raise UsageError(f"{text} does not exist: In[{self.extension.count}], which defines it, raised an error. Run %tpushape to see where.")
                import difflib

                from .complete import own_names

                near = difflib.get_close_matches(text, [*own_names(self.shell), *(failed if self.extension.error is not None else ())], 1)
                hint = (
                    f" Did you mean {near[0]}?"
                    if near
                    else " Use the name of a variable that holds a model, then one that holds its data."
                    if kind == "a model or data"
                    else f" Use the name of a variable that holds {kind}."
                )
                raise UsageError(f"There is no variable {text}.{hint}")
            if self._broken_since(text):
                said = f"{text} is from an earlier run: In[{self.extension.count}], which redefines it, raised an error."
                tell(self.shell, said, todo="Run %tpushape to see where.")
            return names[text]
        try:
            return eval(text, self.shell.user_global_ns, names)
        except Exception as error:
            raise UsageError(f"Cannot read {text} as {kind} ({type(error).__name__}: {error}): use {example}.") from None

    def _broken_since(self, name: str) -> bool:
        """Whether the last failed cell would have redefined this name, and has not done so since."""
        made = assigned([text for text in self.shell.user_ns.get("In", ()) if isinstance(text, str)]).get(name)
        error = self.extension.error
        return error is not None and made == self.extension.count and name in assigned_in(self.extension.source, line_of_cell(error, self.shell.user_ns))

    def _last(self, chosen: dict[str, Any]) -> Any:
        from .cell import last_report

        report = last_report(self.extension, chosen)
        if report is None:
            raise UsageError("No error since the extension was loaded: use %tpushape model data to trace a model.")
        return report

    def _diff(self, names: list[str], chosen: dict[str, Any], options: Any) -> None:
        from msgspec.structs import replace

        from ..diagnose import trace
        from ..report import Report
        from ..views.comparison import diff

        if len(names) not in (2, 3):
            raise UsageError("Expected two models or reports, and their data: use %tpushape diff before after data.")
        data = self._value(names[2]) if len(names) > 2 else None

        def report(name: str) -> Report:
            value = self._value(name)
            if isinstance(value, Report):
                made = copy.copy(value)
                made.about = replace(value.about, model=name)
            else:
                made = named(trace(value, data, **chosen), self.shell, name, *names[2:])
            return made

        found = diff(report(names[0]), report(names[1]))
        self._show(found.report, repr(found), options, chosen["progress"])

    def _watch(self, names: list[str], chosen: dict[str, Any]) -> None:
        if names[:1] == ["off"] or not names:
            self.extension.watched = None
            print("tpushape: nothing is being watched.")
            return
        watched = Live(self.shell, self, names, chosen)
        watched.look()
        self.extension.watched = watched


def _quote(line: str) -> str:
    """Keeps ``(x, y)`` together as one argument, and removes a trailing comment, as Python does."""
    parts, depth, out, quote = [], 0, "", ""
    for character in line:
        if character == "#" and not quote and depth == 0 and (not out or out[-1] == " "):
            break
        if character in "\"'":
            quote = "" if character == quote else quote or character
        depth += (character in "([{") - (character in ")]}")
        if character == " " and depth > 0:
            continue
        out += character
    parts.append(out)
    return "".join(parts)


def _target(name: str | None) -> str | None:
    if name in (None, "auto"):
        return "auto"
    if name == "none":
        return None
    from ..replicas import target

    try:
        target(name)
    except (ValueError, LookupError) as error:
        raise UsageError(str(error)) from None
    return name


def _check_limits(options: Any) -> None:
    if options.compile_batches and options.compile != "tpu":
        raise UsageError("--compile-batches needs the TPU compiler: use --compile tpu --compile-batches.")
    if options.compile is None:
        return
    from ..compilers.process import limits

    try:
        limits(options.compile_timeout, options.compile_effort)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _check_loss(name: str | None) -> None:
    from ..trace.frameworks import loaded

    adapters = loaded() if name else []
    for adapter in adapters:
        try:
            sys.modules[adapter.package].losses.get(name)
        except ValueError:
            continue
        return
    if adapters:
        raise UsageError(f"There is no loss called {name}: use a name that compile(loss=...) accepts, such as mse.")


def _asked_here(message: str) -> str:
    return re.sub(r"use trace\(.*", "use %tpushape model data.", message)


def show(report: Any, progress: Progress) -> None:
    """The widget if one can run, otherwise the MIME bundle; replaces the progress line if there is one."""
    try:
        from ..views.widget import ReportWidget

        shown = ReportWidget(report)
    except Exception:  # no widgets here
        shown = report
    if not progress.end(shown):
        display(shown)
