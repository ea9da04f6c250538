"""``tpushape``: the same diagnosis in a terminal and in CI."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

_FORMATS = {"json": ".json", "html": ".html", "md": ".md", "svg": ".svg"}


class UsageError(Exception):
    """What was typed cannot be done; the message says what to type."""


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns 0 (clean), 1 (something serious was found) or 2 (usage)."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except (UsageError, ValueError) as error:
        print(f"tpushape: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    from . import __version__

    parser = argparse.ArgumentParser(prog="tpushape", description="Where the tensor shapes of a Keras model part, why, and what mends it.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    check = commands.add_parser(
        "check",
        help="trace a model; exits 1 where something serious is found",
        description="The file is executed to get at the functions named.",
    )
    check.add_argument("model", help="file.py:name of a model or of a function that builds one")
    check.add_argument("--data", help="file.py:name of the data or of a function that makes it")
    check.add_argument("--tpu", default="v5e-8", help="the TPU to plan for, or none (default: %(default)s)")
    check.add_argument("--loss", help="a loss by name, in place of the compiled one")
    check.add_argument("--batch-size", type=int, help="rows a batch, for arrays")
    check.add_argument("--compile", choices=("xla", "tpu"), help="ask a compiler for its verdict too")
    check.add_argument("--compile-timeout", type=float, metavar="SECONDS", help="time for each program's compilation (default: 120)")
    check.add_argument("--compile-effort", choices=("quick", "full"), help="quick (default), or full: slower, memory as a TPU run has it")
    check.add_argument("--no-fixes", action="store_true", help="do not search for fixes")
    check.add_argument("--format", choices=("text", *_FORMATS), default="text")
    check.add_argument("--output", help="write here instead of to the terminal")
    check.set_defaults(run=_check)
    commands.add_parser("targets", help="the TPU slices that can be planned for").set_defaults(run=_targets)
    rules = commands.add_parser("rules", help="the rules, or one of them in full")
    rules.add_argument("rule", nargs="?")
    rules.set_defaults(run=_rules)
    commands.add_parser("doctor", help="versions, and what is missing").set_defaults(run=_doctor)
    return parser


def _check(options: Any) -> int:
    from .diagnose import trace

    model = load(options.model)
    data = load(options.data) if options.data else None
    report = trace(
        model,
        data,
        tpu=None if options.tpu == "none" else options.tpu,
        loss=options.loss,
        batch_size=options.batch_size,
        fixes=not options.no_fixes,
        compiler=options.compile,
        compile_timeout=options.compile_timeout,
        compile_effort=options.compile_effort,
        progress=lambda text: print(f"tpushape: {text}", file=sys.stderr),
    )
    if options.format == "text":
        _print(report, options.output)
    else:
        from .views import render

        text = render(report, _FORMATS[options.format])
        if options.output:
            Path(options.output).write_text(text, encoding="utf-8")
        else:
            print(text)
    return 0 if report.ok else 1


def _print(report: Any, output: str | None) -> None:
    from rich.console import Console

    from .views.text import to_text, write

    if output:
        Path(output).write_text(to_text(report) + "\n", encoding="utf-8")
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        print(to_text(report))
        return
    write(console, report)


def load(place: str) -> Any:
    """The object that ``file.py:name`` names; the file is executed."""
    path, _, name = place.rpartition(":")
    if not path or not name:
        raise UsageError(f"{place} names no object: type file.py:name, such as train.py:make_model.")
    file = Path(path)
    if not file.is_file():
        raise UsageError(f"There is no file {path}: type the path of a Python file, then a colon and a name in it.")
    module = _module(file)
    if not hasattr(module, name):
        public = [key for key in vars(module) if not key.startswith("_") and callable(getattr(module, key))]
        raise UsageError(f"{file.name} has no {name}; it has {', '.join(public[:8]) or 'no functions'}.")
    return getattr(module, name)


def _module(file: Path) -> Any:
    name = f"tpushape_checked_{file.stem}"
    if name in sys.modules and getattr(sys.modules[name], "__file__", "") == str(file):
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UsageError(f"{file.name} raises when it is run ({type(error).__name__}: {error}): mend that first.") from error
    return module


def _targets(_: Any) -> int:
    from .replicas import SLICES

    for name, entry in SLICES.items():
        target = entry.target
        made = target() if callable(target) else target
        print(f"{name:10} {made.replicas:4} replicas  {made.hosts:3} hosts  {made.hbm_bytes / 2**30:5.1f} GiB HBM a core")
    return 0


def _rules(options: Any) -> int:
    from .rules import rules

    for rule in rules():
        if options.rule in (None, rule.id):
            print(f"{rule.id:22} {rule.severity:7} {rule.title}")
            if options.rule:
                print(f"\n{rule.doc or rule.title}\n\nSource: {rule.source}\n\nFound:\n{rule.fails}\nNot found:\n{rule.passes}")
    if options.rule and options.rule not in {rule.id for rule in rules()}:
        raise UsageError(f"There is no rule {options.rule}: type tpushape rules for all of them.")
    return 0


_WANTED = {
    "tensorflow": ("tensorflow", 'pip install "jupyter_tpushape[tensorflow]"'),
    "keras": ("keras", 'pip install "jupyter_tpushape[tensorflow]"'),
    "tf_keras": ("tf_keras", "pip install tf_keras"),
    "jupyterlab": ("jupyterlab", 'pip install "jupyter_tpushape[lab]"'),
    "anywidget": ("anywidget", "pip install anywidget"),
    "plotly": ("plotly", 'pip install "jupyter_tpushape[plot]"'),
    "jax": ("jax", 'pip install "jupyter_tpushape[tpu-compiler]"'),
    "libtpu": ("libtpu", 'pip install "jupyter_tpushape[tpu-compiler]"'),
}


def _doctor(_: Any) -> int:
    from importlib import metadata

    from . import __version__

    print(f"{'jupyter_tpushape':18} {__version__}")
    print(f"{'python':18} {sys.version.split()[0]}")
    for name, (module, command) in _WANTED.items():
        found = importlib.util.find_spec(module) is not None
        version = ""
        if found:
            names = metadata.packages_distributions().get(module, [name])
            version = metadata.version(names[0]) if names else ""
        print(f"{name:18} {version if found else f'missing: {command}'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
