"""``tpushape``: the same diagnosis in a terminal and in CI. What was typed is read here; ``command/`` does it."""

from __future__ import annotations

import argparse
import contextlib
import sys

from .command import check, compiler, completion, doctor, explain, lists, port
from .command.ends import answer_soon, done, ended, stand
from .command.out import for_good, lenient


def main(arguments: list[str] | None = None) -> int:
    """Runs a command.

    Returns:
        0 where nothing serious was found, 1 where something was, 2 for a mistake in what was typed or an input that cannot be read,
        70 for a fault of this program's own, 130 where it was interrupted.
    """
    if arguments is None:
        stand()
        answer_soon()
    parser = _parser()
    options = parser.parse_args(arguments)
    options.parser = parser
    with lenient():
        code = ended(lambda: int(options.run(options)))
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
    if arguments is None:
        done(code)
        for_good()
    return code


def _parser() -> argparse.ArgumentParser:
    from . import __version__

    parser = argparse.ArgumentParser(prog="tpushape", description="Where the tensor shapes of a Keras model part, why, and what mends it.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    _check(
        commands.add_parser(
            "check",
            help="trace a model; exits 1 where something serious is found",
            description="Traces a model on its data. A Python file is executed to get at the functions named, a notebook only with --execute; "
            "a saved model is read as data and runs nothing. Exit code: 0 nothing serious, 1 something serious, 2 a mistake in what was typed "
            "or an input that cannot be read, 70 a fault of tpushape's own, 130 interrupted.",
        )
    )
    explaining = commands.add_parser(
        "explain",
        help="what an error message means",
        description="What a message of Keras, TensorFlow, XLA or a TPU means, and what to do.",
    )
    explaining.add_argument("text", nargs="?", default="-", help="the message or the whole traceback; - or nothing reads it from stdin")
    explaining.set_defaults(run=explain.explain)
    commands.add_parser("targets", help="the TPU slices that can be planned for").set_defaults(run=lists.targets)
    rules = commands.add_parser("rules", help="the rules, or one of them in full")
    rules.add_argument("rule", nargs="?")
    rules.add_argument("--json", action="store_true", help="as JSON")
    rules.set_defaults(run=lists.rules)
    commands.add_parser("doctor", help="versions, and what is missing").set_defaults(run=doctor.doctor)
    _port(commands.add_parser("port", help="from TPUStrategy to Keras 3 on JAX: a diff, proved, and what is left to do by hand"))
    _compiler(commands.add_parser("compiler", help="install or remove the TPU compiler, in a folder of its own"))
    completing = commands.add_parser("completion", help="a script that completes commands and options in a shell")
    completing.add_argument("shell", choices=completion.SHELLS)
    completing.set_defaults(run=completion.completion)
    return parser


def _compiler(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="action")
    installing = actions.add_parser(
        "install",
        help="download jaxlib and libtpu for the compiler alone",
        description="Puts jaxlib and libtpu, in the versions that the compiler's process is written for, into a folder that nothing else "
        "imports from: in your cache, or where you say. Your own environment stays as it is.",
    )
    installing.add_argument("--wheels", metavar="FOLDER", help="take the wheels from this folder, with no network")
    installing.set_defaults(run=compiler.install)
    removing = actions.add_parser("remove", help="remove that folder")
    removing.set_defaults(run=compiler.remove)
    for action in (installing, removing):
        action.add_argument("--folder", help="where it stands, in place of your cache")


def _port(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Prints a diff that turns a program for tf.distribute.TPUStrategy into one of Keras 3 on JAX with keras.distribution. What cannot be "
        "ported is named line by line. Both programs are run up to fit, and compared on one batch with the same weights. The file stays as it is. "
        "Exit code: 0 nothing is left to do, 1 something is, or the two differ."
    )
    parser.add_argument("program", help="a Python file that trains with fit")
    parser.add_argument("--python", help="a Python that has jax and what the program imports (default: this one, or TPUSHAPE_JAX_PYTHON)")
    parser.add_argument("--no-proof", action="store_true", help="do not run the programs")
    parser.add_argument("--output", help="write the new program here")
    parser.set_defaults(run=port.port)


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        help="file.py:name of a model, of a function that builds one or of a training step; notebook.ipynb or notebook.ipynb:name; "
        "a .keras or .h5 file; the folder of a SavedModel",
    )
    parser.add_argument("--data", help="file.py:name of the data or of a function that makes it; in a notebook the variable's name")
    parser.add_argument(
        "--input-spec",
        action="append",
        metavar="SPEC",
        help='in place of data: "32,224,224,3:float32", or "name=32,10:int32" for each input',
    )
    parser.add_argument("--execute", action="store_true", help="run a notebook's cells, up to the first training call, in a scratch kernel")
    parser.add_argument("--timeout", type=float, default=600, help="seconds that a notebook's cell may take (default: %(default)s)")
    parser.add_argument("--tpu", default="v5e-8", help="the TPU to plan for, or none (default: %(default)s)")
    parser.add_argument("--mesh", help='Keras on JAX: devices under named axes, the batch first: "batch=2,model=4"')
    parser.add_argument("--layout", metavar="PLACE", help="file.py:name of a LayoutMap, a dict of its entries, or a function of the mesh")
    parser.add_argument("--loss", help="a loss by name, in place of the compiled one")
    parser.add_argument("--batch-size", type=int, help="rows a batch, for arrays")
    parser.add_argument("--compile", choices=("xla", "tpu"), help="ask a compiler for its verdict too")
    parser.add_argument("--compile-timeout", type=float, metavar="SECONDS", help="time for each program's compilation (default: 120)")
    parser.add_argument("--compile-effort", choices=("quick", "full"), help="quick (default), or full: slower, memory as a TPU run has it")
    parser.add_argument(
        "--compile-batches", action="store_true", help="with --compile tpu: compile other batches too, up to the largest that fits"
    )
    parser.add_argument("--no-fixes", action="store_true", help="do not search for fixes")
    parser.add_argument("--format", choices=("text", *check.FORMATS, *check.FOR_TOOLS), default="text")
    parser.add_argument("--output", help="write here instead of to the terminal")
    parser.set_defaults(run=check.check)


if __name__ == "__main__":
    sys.exit(main())
