"""``tpushape check``: traces a model, writes the report, and sets the exit code."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..files import descriptor, write_bytes
from .early import UsageError, check_place, check_saved, check_script, is_script
from .ends import no_way_out, only_one
from .out import Aside, said
from .quiet import import_backend

if TYPE_CHECKING:
    from ..trace.aftermath import Attempt

FORMATS = {"json": ".json", "html": ".html", "md": ".md", "svg": ".svg"}
# Files that are read as data; any other file is a Python file.
SAVED = (".keras", ".h5", ".hdf5")
FOR_TOOLS = ("sarif", "github")


def check(options: Any) -> int:
    """Returns 0 if there is no serious problem, else 1."""
    if options.output and (options.output == "-" or descriptor(options.output) == 1):
        options.output = None
    _sensible(options)
    # A program may change the folder.
    target = os.path.abspath(options.output) if options.output else ""  # noqa: PTH100
    with Aside(for_good=options.alone) as aside, no_way_out():
        report = _report(options)
        text = _rendered(report, options)
        only_one()
        if not options.output:
            aside.written(text, options.format, "use --output with a path")
    if options.output:
        _save(options.output, target, text)
        if options.format != "text":
            said(f"{report.summary}. Report written to {options.output}")
    return 0 if report.ok else 1


def _sensible(options: Any) -> None:
    """Checks the options before anything heavy is imported.

    Raises:
        UsageError: if they make no sense.
    """
    for typed in (options.model, options.data, options.output):
        try:
            if b"\0" in os.fsencode(typed or ""):
                raise UsageError(f"{typed} contains a null character, which is not allowed in a path.")
        except UnicodeEncodeError:
            raise UsageError(f"{typed} contains an unpaired surrogate, which is not allowed in a path.") from None
    if options.output and options.output.endswith(("/", os.sep)):
        raise UsageError(f"{options.output} is a folder: use the path of a file for --output.")
    for typed in (options.model, options.data, options.layout):
        path = (typed or "") if os.path.isfile(typed or "") else (typed or "").rpartition(":")[0]  # noqa: PTH113
        if options.output and os.path.isfile(path) and os.path.exists(options.output) and os.path.samefile(path, options.output):  # noqa: PTH110, PTH113, PTH121
            raise UsageError(f"{options.output} is the file to check, and the report would overwrite it: use another path for --output.")
    if options.input_spec and options.data:
        raise UsageError("--data and --input-spec cannot be used together: give only one of them.")
    if not options.timeout > 0:
        raise UsageError(f"The time limit of {options.timeout:g} s is not positive: use a larger one, such as --timeout 600.")
    if options.batch_size is not None and options.batch_size < 1:
        raise UsageError(f"The batch size of {options.batch_size} is not positive: use at least 1, such as --batch-size 32.")
    if options.compile_batches and options.compile != "tpu":
        raise UsageError("--compile-batches needs the TPU compiler: add --compile tpu.")
    if options.compile == "tpu" and options.tpu == "none":
        raise UsageError("The TPU compiler needs a TPU to compile for: add --tpu v5e-8, or another target.")
    _places(options)
    try:
        if options.tpu not in ("none", "auto"):
            from ..replicas.targets import target

            target(options.tpu)
        if options.compile is not None or options.compile_timeout is not None or options.compile_effort is not None:
            from ..compilers.process import limits

            limits(options.compile_timeout, options.compile_effort)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _is_notebook(place: str) -> bool:
    return place.endswith(".ipynb") or place.rpartition(":")[0].endswith(".ipynb")


def _places(options: Any) -> None:
    typed = Path(options.model)
    if _is_notebook(options.model):
        return
    if typed.suffix.lower() in SAVED:
        check_saved(options.model)
    elif is_script(options.model):
        check_script(options.model)
    elif not os.path.isdir(options.model):  # noqa: PTH112 - says no to what no file system takes
        check_place(options.model)
    for place in (options.data, options.layout):
        if place:
            check_place(place)
    if options.mesh is not None:
        from ..replicas.layouts import parse_mesh

        try:
            parse_mesh(options.mesh)
        except ValueError as error:
            raise UsageError(str(error)) from None


def _report(options: Any) -> Any:
    if _is_notebook(options.model):
        from .notebook import report_of

        return report_of(options)
    from ..saved import is_saved
    from .load import load, saved_model, script, trained

    if is_script(options.model):
        if not _chooses_backend(options.model):
            import_backend()
        found = script(Path(options.model))
        return _of_failure(options, found) if isinstance(found, BaseException) else _traced(options, found.model, found)
    if is_saved(Path(options.model)):
        model = saved_model(options.model, compiled=not options.loss, batched=bool(options.input_spec or options.data))
    else:
        if os.path.isdir(options.model):  # noqa: PTH112
            raise UsageError(f"{options.model} is a folder without saved_model.pb: use the path of a model, or file.py:name.")
        if not _chooses_backend(options.model):
            import_backend()
        model = load(options.model)
    attempt = trained(model) if not (options.data or options.input_spec) else None
    return _traced(options, model, attempt)


def _traced(options: Any, model: Any, attempt: Attempt | None) -> Any:
    """The report of a model on the data that the options name, or that its training call was given."""
    from ..diagnose import trace
    from ..examine import HANDED
    from .load import input_spec, load

    data = load(options.data) if options.data else input_spec(options.input_spec or [])
    token = HANDED.set(attempt.where if attempt is not None and data is None else None)
    try:
        report = trace(
            model,
            attempt.data if attempt is not None and data is None else data,
            tpu=None if options.tpu == "none" else options.tpu,
            strategy=_distribution(options),
            loss=options.loss,
            batch_size=options.batch_size or (attempt.batch_size if attempt is not None else None),
            fixes=not options.no_fixes,
            compiler=options.compile,
            compile_timeout=options.compile_timeout,
            compile_effort=options.compile_effort,
            compile_batches=options.compile_batches,
            progress=said,
        )
    finally:
        HANDED.reset(token)
    report.about = replace(report.about, model=options.model, data=options.data or (report.about.data if attempt is not None else ""))
    return report


def _of_failure(options: Any, error: BaseException) -> Any:
    """The report of what a script raised before its first training call."""
    from ..notebook.hint import has_part, is_ours, report_for, report_of_code
    from .load import said_at

    if not isinstance(error, Exception) or not (is_ours(error) or has_part(error)):
        raise UsageError(f"{Path(options.model).name} raises an error before it trains{said_at(error)}: fix that first.") from error
    report = report_for(error, fixes=not options.no_fixes) or report_of_code(error)
    report.about = replace(report.about, model=options.model)
    return report


def _distribution(options: Any) -> Any:
    if options.mesh is None and options.layout is None:
        return None
    from ..replicas import typed
    from .load import load

    try:
        return typed(options.mesh, load(options.layout) if options.layout is not None else None, options.tpu)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _chooses_backend(place: str) -> bool:
    """Whether a program selects the Keras backend itself, which works only before Keras is imported."""
    file = Path(place if is_script(place) else place.rpartition(":")[0])
    try:
        return file.suffix == ".py" and "KERAS_BACKEND" in file.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return False


def _rendered(report: Any, options: Any) -> str:
    if options.format == "text":
        return _text(report, to_file=bool(options.output))
    if options.format == "sarif":
        from ..views.sarif import to_sarif

        return to_sarif(report)
    if options.format == "github":
        from ..views.sarif import to_annotations

        return to_annotations(report)
    from ..views import render

    return render(report, FORMATS[options.format])


def _text(report: Any, *, to_file: bool) -> str:
    from rich.console import Console

    from ..views.text import to_text

    # Of the stream for the report; the program itself prints to another one.
    console = Console(file=sys.__stdout__)
    if to_file or sys.__stdout__ is None or not console.is_terminal:
        return to_text(report)
    return to_text(report, width=console.width, color=console.color_system is not None)


def _save(output: str, target: str, text: str) -> None:
    try:
        write_bytes(Path(target), (text + "\n" * (not text.endswith("\n"))).encode("utf-8", "replace"))
    except OSError as error:
        todo = "free some disk space, or use another disk for --output" if error.errno in _FULL else _ELSEWHERE
        raise UsageError(f"Cannot write {output} ({error.strerror}): {todo}.") from None


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ELSEWHERE = "use a path in an existing folder for --output"
