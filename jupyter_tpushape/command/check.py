"""``tpushape check``: traces what was named, writes the report, and says by the exit code whether something serious was found."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

from .load import input_spec, is_saved, load, saved_model
from .quiet import import_backend
from .usage import UsageError

FORMATS = {"json": ".json", "html": ".html", "md": ".md", "svg": ".svg"}
FOR_TOOLS = ("sarif", "github")


def check(options: Any) -> int:
    """Returns 0 where nothing serious was found, else 1."""
    report = _report(options)
    _write(report, options)
    return 0 if report.ok else 1


def _report(options: Any) -> Any:
    named = options.model.rpartition(":")[0] if options.model.rpartition(":")[0].endswith(".ipynb") else options.model
    if named.endswith(".ipynb"):
        from .notebook import report_of

        return report_of(options)
    from ..diagnose import trace

    if not _chooses_backend(options.model):
        import_backend()
    if is_saved(options.model) or Path(options.model).suffix.lower() in (".keras", ".h5"):
        model = saved_model(options.model)
        if not options.input_spec and not options.data and Path(options.model).is_dir():
            raise UsageError(
                'A SavedModel does not say how large a batch is: type --input-spec "32,224,224,3:float32" with the axes of its input.'
            )
    else:
        model = load(options.model)
    if options.input_spec and options.data:
        raise UsageError("Give --data or --input-spec, and not both.")
    data = load(options.data) if options.data else input_spec(options.input_spec or [])
    return trace(
        model,
        data,
        tpu=None if options.tpu == "none" else options.tpu,
        strategy=_distribution(options),
        loss=options.loss,
        batch_size=options.batch_size,
        fixes=not options.no_fixes,
        compiler=options.compile,
        compile_timeout=options.compile_timeout,
        compile_effort=options.compile_effort,
        compile_batches=options.compile_batches,
        progress=said,
    )


def _distribution(options: Any) -> Any:
    """The ``keras.distribution`` of ``--mesh`` and ``--layout``; ``None`` without a mesh."""
    if options.mesh is None:
        if options.layout is not None:
            raise UsageError('A layout lies on a mesh: type --mesh "batch=2,model=4" as well.')
        return None
    from ..replicas.layouts import parse_mesh, planned

    sizes = parse_mesh(options.mesh)
    if sys.modules["keras"].config.backend() != "jax":
        raise UsageError("A mesh is one of Keras on JAX: set KERAS_BACKEND=jax.")
    return planned(sizes, load(options.layout) if options.layout is not None else None)


def _chooses_backend(place: str) -> bool:
    """Whether a program picks Keras' backend itself, which it can only do before anybody imports Keras."""
    file = Path(place.rpartition(":")[0])
    try:
        return file.suffix == ".py" and "KERAS_BACKEND" in file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def said(text: str) -> None:
    """A line about what goes on, beside the report."""
    print(f"tpushape: {text}", file=sys.stderr)


def _write(report: Any, options: Any) -> None:
    if options.format == "text":
        _text(report, options.output)
        return
    if options.format == "sarif":
        from ..views.sarif import to_sarif

        text = to_sarif(report)
    elif options.format == "github":
        from ..views.annotations import to_annotations

        text = to_annotations(report)
    else:
        from ..views import render

        text = render(report, FORMATS[options.format])
    if options.output:
        _save(options.output, text)
        said(f"{report.summary}. Written to {options.output}")
    else:
        print(text)


def _text(report: Any, output: str | None) -> None:
    from rich.console import Console

    from ..views.text import to_text, write

    if output:
        _save(output, to_text(report) + "\n")
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        print(to_text(report))
        return
    write(console, report)


def _save(output: str, text: str) -> None:
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        todo = "free some space, or type --output with a path on another disk" if error.errno in _FULL else _ELSEWHERE
        raise UsageError(f"{output} cannot be written ({error.strerror}): {todo}.") from None


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ELSEWHERE = "type --output with a path in a folder that is there"
