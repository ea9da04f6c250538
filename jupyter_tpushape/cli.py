"""``tpushape``: the same diagnosis in a terminal and in CI. What was typed is read here; ``command/`` does it."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from pathlib import PurePath
from typing import Any

try:
    from .command import check, compiler, completion, doctor, explain, lists, port
    from .command.early import UsageError
    from .command.ends import answer_soon, done, ended, flushed, stand
    from .command.out import for_good, lenient, said, written
    from .flow.text import in_part
except KeyboardInterrupt:
    # Ctrl-C in the first tenth of a second, when nothing of ours answers yet.
    if PurePath(sys.argv[0]).stem not in ("tpushape", "cli", "__main__"):
        raise
    sys.stderr.write("tpushape: Interrupted.\n")
    raise SystemExit(130) from None


def main(arguments: list[str] | None = None) -> int:
    """Runs a command.

    Returns:
        0 where nothing serious was found, 1 where something was, 2 for a mistake in what was typed or an input that cannot be read,
        70 for a fault of this program's own, 130 where it was interrupted.
    """
    if arguments is None:
        stand()
        answer_soon()
    parser = command_line()
    try:
        options, rest = parser.parse_known_args(arguments)
        if rest:
            _unknown(options.typed, rest)
    except SystemExit as leaving:
        raise SystemExit(flushed(int(leaving.code or 0))) from None
    except UsageError as error:
        said(error)
        raise SystemExit(2) from None
    options.parser, options.alone = parser, arguments is None
    with lenient():
        code = flushed(ended(lambda: int(options.run(options))))
    if arguments is None:
        done(code)
        for_good()
    return code


def _unknown(typed: argparse.ArgumentParser, rest: list[str]) -> None:
    """Ends with the usage of the command that was typed, and the option that may have been meant."""
    import difflib

    near = difflib.get_close_matches(rest[0].partition("=")[0], re.findall(r"--(?!help)[\w-]+", typed.format_help()), 1)
    hint = f". Did you mean {near[0]}?" if near else ""
    typed.error(f"unrecognized arguments: {' '.join(rest)}{hint}")


class Parser(argparse.ArgumentParser):
    """Says what was typed as text, and does not pass over a place that takes nothing."""

    def _print_message(self, message: str, file: Any = None) -> None:
        text = (message or "").removesuffix("\n")
        if file is sys.stdout:
            written(text, "usage")
        else:
            with contextlib.suppress(UsageError):
                written(in_part(text), "usage", stream=file)


def command_line() -> argparse.ArgumentParser:
    from . import __version__

    parser = Parser(prog="tpushape", description="Find where tensor shapes do not match in a Keras model, why, and how to fix it.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    _check(
        commands.add_parser(
            "check",
            help="trace a model; exits with 1 if it finds a serious problem",
            description="Trace a model on its data. tpushape executes a Python file up to its first training call, and a notebook only with --execute; "
            "it reads a saved model as data and runs nothing. Exit codes: 0 no serious problem, 1 a serious problem, "
            "2 a usage error or unreadable input, 70 an internal error in tpushape, 130 interrupted.",
        )
    )
    explaining = commands.add_parser(
        "explain", help="explain an error message", description="Explain an error message of Keras, TensorFlow, XLA or a TPU, and say what to do."
    )
    explaining.add_argument(
        "text",
        nargs="?",
        default="-",
        help="the message or the whole traceback, or a file that contains it, or a saved report; - or nothing reads standard input",
    )
    explaining.set_defaults(run=explain.explain)
    commands.add_parser("targets", help="list the TPU slices to plan for").set_defaults(run=lists.targets)
    rules = commands.add_parser("rules", help="list the rules, or show one of them")
    rules.add_argument("rule", nargs="?")
    rules.add_argument("--json", action="store_true", help="print JSON")
    rules.set_defaults(run=lists.rules)
    commands.add_parser("doctor", help="show versions and missing parts").set_defaults(run=doctor.doctor)
    _port(commands.add_parser("port", help="port a TPUStrategy program to Keras 3 on JAX: print a tested diff and what to change by hand"))
    _compiler(commands.add_parser("compiler", help="install or remove the TPU compiler, in a separate folder"))
    completing = commands.add_parser("completion", help="print a script for shell completion")
    completing.add_argument("shell", choices=completion.SHELLS)
    completing.set_defaults(run=completion.completion)
    for typed in commands.choices.values():
        typed.set_defaults(typed=typed)
    return parser


def _compiler(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="action")
    installing = actions.add_parser(
        "install",
        help="download jaxlib and libtpu for the compiler only",
        description="Install jaxlib and libtpu, in the versions that the compiler process needs, into a separate folder: in your cache, or where --folder says. Your own environment does not change.",
    )
    installing.add_argument("--wheels", metavar="FOLDER", help="install the wheels from this folder, without a network connection")
    installing.set_defaults(run=compiler.install)
    removing = actions.add_parser("remove", help="remove that folder")
    removing.set_defaults(run=compiler.remove)
    for action in (installing, removing):
        action.add_argument("--folder", help="the folder to use instead of your cache")


def _port(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print a diff that ports a program from tf.distribute.TPUStrategy to Keras 3 on JAX with keras.distribution. "
        "Lists each line that it cannot port. Runs both programs up to fit and compares them on one batch with the same weights. "
        "Does not change the file. Exit codes: 0 nothing left to do, 1 something left to do, or the two programs differ."
    )
    parser.add_argument("program", help="a Python file that trains with fit")
    parser.add_argument("--python", help="a Python interpreter with jax and the packages that the program imports (default: this one, or TPUSHAPE_JAX_PYTHON)")
    parser.add_argument("--no-proof", action="store_true", help="do not run the programs")
    parser.add_argument("--output", help="write the new program to this file")
    parser.set_defaults(run=port.port)


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        help="train.py, for what it trains; file.py:name of a model, of a function that builds one, or of a training step; notebook.ipynb or notebook.ipynb:name; a .keras or .h5 file; a SavedModel folder",
    )
    parser.add_argument("--data", help="file.py:name of the data or of a function that creates it; in a notebook, the variable's name")
    parser.add_argument("--input-spec", action="append", metavar="SPEC", help='instead of data: "32,224,224,3:float32", or "name=32,10:int32" for each input')
    parser.add_argument("--execute", action="store_true", help="run a notebook's cells in a scratch kernel, up to the first training call")
    parser.add_argument("--timeout", type=float, default=600, help="time limit for one notebook cell, in seconds (default: %(default)s)")
    parser.add_argument("--tpu", default="v5e-8", help="the TPU to plan for, or none (default: %(default)s)")
    parser.add_argument("--mesh", help='Keras on JAX: named device axes, with the batch axis first: "batch=2,model=4"')
    parser.add_argument("--layout", metavar="PLACE", help="file.py:name of a LayoutMap, a dict of its entries, or a function of the mesh")
    parser.add_argument("--loss", help="name of a loss to use instead of the compiled one")
    parser.add_argument("--batch-size", type=int, help="batch size, for arrays")
    parser.add_argument("--compile", choices=("xla", "tpu"), help="also compile the program")
    parser.add_argument("--compile-timeout", type=float, metavar="SECONDS", help="time limit for each compilation, in seconds (default: 120)")
    parser.add_argument("--compile-effort", choices=("quick", "full"), help="quick (default), or full: slower, but with the memory use of a real TPU run")
    parser.add_argument("--compile-batches", action="store_true", help="with --compile tpu: also compile other batch sizes, up to the largest that compiles")
    parser.add_argument("--no-fixes", action="store_true", help="do not search for fixes")
    parser.add_argument("--format", choices=("text", *check.FORMATS, *check.FOR_TOOLS), default="text")
    parser.add_argument("--output", help="write to this file instead of the terminal")
    parser.set_defaults(run=check.check)


if __name__ == "__main__":
    sys.exit(main())
