"""Inside the scratch kernel of ``tpushape check notebook.ipynb``: training calls are noted and not made, and the report is written to a file."""

from __future__ import annotations

import contextlib
import importlib
import json
from pathlib import Path
from typing import Any

from ..views.naming import looked_up
from .inventory import in_variables

_held: dict[str, Any] = {"caught": [], "stack": None}


def begin(frameworks: list[str]) -> None:
    """Loads the extension and holds the doors of training: the first call through one raises, and is kept."""
    from IPython import get_ipython

    from ..trace.caught import catching
    from ..trace.frameworks import loaded
    from .extension import load

    for name in frameworks:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    load(get_ipython())
    get_ipython()._tpushape.hints = True
    _held["caught"] = []
    _held["stack"] = contextlib.ExitStack()
    _held["stack"].enter_context(catching(loaded(), _held["caught"]))


def reached(names: list[str]) -> str:
    """``training`` after a training call, ``names`` where all that were asked for are there."""
    from IPython import get_ipython

    if _held["caught"]:
        return "training"
    return "names" if names and all(name in get_ipython().user_ns for name in names) else ""


def finish(path: str, request: str) -> None:
    """Traces what was reached and writes ``{"report": ...}``, or ``{"error": sentence}``."""
    try:
        answer: dict[str, Any] = {"report": json.loads(_report(json.loads(request)).to_json())}
    except Exception as error:
        answer = {"error": str(error) or type(error).__name__}
    Path(path).write_text(json.dumps(answer), encoding="utf-8")


def _report(asked: dict[str, Any]) -> Any:
    from IPython import get_ipython

    from ..diagnose import trace
    from ..examine import HANDED

    shell, options = get_ipython(), asked["options"]
    _held["stack"].close()
    if asked["failed"]:
        return _failed(shell, options)
    model, data, where = None, None, None
    if asked["model"]:
        model = _named(shell, asked["model"])
    elif _held["caught"]:
        attempt = _held["caught"][-1]
        model, data, where = attempt.model, attempt.data, attempt.where
        options["batch_size"] = options["batch_size"] or attempt.batch_size
    else:
        model = _newest(shell)
    if asked["data"]:
        data = _named(shell, asked["data"])
    if asked["mesh"] or asked["layout"]:
        from ..replicas import typed

        layout = _named(shell, asked["layout"]) if asked["layout"] else None
        options["strategy"] = typed(asked["mesh"], layout, options["tpu"])
    if asked["data"]:
        with in_variables(shell, asked["data"], data):
            return trace(model, data, **options)
    token = HANDED.set(where)
    try:
        return trace(model, data, **options)
    finally:
        HANDED.reset(token)


def _failed(shell: Any, options: dict[str, Any]) -> Any:
    extension = shell._tpushape
    from .cell import rerun_report
    from .hint import has_part, is_ours, report_for, report_of_code

    if extension.error is None or not (is_ours(extension.error) or has_part(extension.error)):
        raise ValueError("it is not a shape error")

    report = rerun_report(extension, {**options, "progress": None}) if options["fixes"] else None
    return report or report_for(extension.error, fixes=bool(options["fixes"])) or report_of_code(extension.error)


def _named(shell: Any, written: str) -> Any:
    try:
        return looked_up(written, shell.user_ns)
    except NameError as error:
        raise ValueError(f"no cell up to this point defines {error.name}") from None


def _newest(shell: Any) -> Any:
    from .inventory import inventory

    models = inventory(shell.user_ns, getattr(shell, "user_ns_hidden", None))["models"]
    if not models:
        raise ValueError("it builds no Keras model: name one, such as notebook.ipynb:model")
    return shell.user_ns[models[0]["name"]]
