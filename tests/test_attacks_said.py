"""What programs and people say, of any kind and length: messages to explain, exceptions that cannot be read, streams without room."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import subprocess
import sys
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main
from jupyter_tpushape.flow import Spec
from jupyter_tpushape.flow.text import clean, uncommanding, words
from jupyter_tpushape.sources import BadData

# Where the syntax of patterns is read, in Python 3.10 and later.
sre = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
X = np.zeros((8, 4), "float32")
HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e\n::error::x\n##[command]y"
COMMAND = [sys.executable, "-m", "jupyter_tpushape.cli"]
RANK = 'Input 0 of layer "{}" is incompatible with the layer: expected min_ndim=4, found ndim=2.'


def command(*arguments: str, **how: Any) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONIOENCODING": "utf-8:strict", **how.pop("env", {})}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.run([*COMMAND, *arguments], encoding="utf-8", errors="replace", timeout=120, env=env, check=False, **streams)


@pytest.mark.parametrize(
    "part", ["x", "_", "9", "é", "(", "[[1,", "shape=(", 'File "', "Input 0 of layer ", "Arguments `target` and `output` must have the same shape"]
)
def test_a_message_of_any_length_is_searched_to_an_end(part: str, capsys: Any) -> None:
    """Patterns that look back and forth would take hours here; the time limit of all tests is the judge."""
    text = part * (300_000 // len(part))
    assert main(["explain", text]) in (0, 1)
    assert len(capsys.readouterr().out) < 2_000


def endless(items: Any) -> bool:
    """Whether a pattern begins with as many characters as there are: it is then tried from each of them to the end."""
    for op, how in items:
        if op is sre.SUBPATTERN:
            return endless(how[3])
        if op is sre.BRANCH:
            return any(map(endless, how[1]))
        return op in (sre.MAX_REPEAT, sre.MIN_REPEAT) and how[1] == sre.MAXREPEAT
    return False


@pytest.mark.parametrize(
    "name",
    ["examine.heard", "examine.heard_contracts", "examine.heard_data", "examine.heard_jax", "examine.heard_lines", "rules.lines", "flow.text",
     "command.load", "compilers.collectives", "compilers.tiles", "compilers.words"],
)  # fmt: skip
def test_no_pattern_for_messages_is_tried_from_every_character_to_the_end(name: str) -> None:
    module = importlib.import_module(f"jupyter_tpushape.{name}")
    patterns = [one for one in vars(module).values() if isinstance(one, re.Pattern)]
    assert patterns
    assert [one.pattern for one in patterns if endless(sre.parse(one.pattern, one.flags))] == []


@pytest.mark.parametrize(
    "message", [RANK.format(HOSTILE), f'File "{HOSTILE}.py", line 3, in f\n{RANK.format("d")}', f'File "\x1b[2J\x07.py", line 3\nValueError: {HOSTILE}']
)
def test_no_message_is_obeyed(message: str, capsys: Any) -> None:
    assert main(["explain", message]) in (0, 1)
    out = capsys.readouterr().out
    assert clean(out) == out
    assert uncommanding(out) == out


@pytest.mark.parametrize("data", [b"ValueError: \xe9\xff\xfe", RANK.encode("utf-16"), b"\0" * 999, b"\xf0\x9f"])
def test_any_bytes_are_read(data: bytes, tmp_path: Any) -> None:
    (tmp_path / "in").write_bytes(data)
    with (tmp_path / "in").open("rb") as file:
        done = command("explain", stdin=file)
    assert done.returncode in (0, 1)
    assert done.stderr == ""


def test_no_standard_input_at_all() -> None:
    done = command("explain", preexec_fn=lambda: os.close(0))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["doctor"],
        ["rules"],
        ["rules", "--json"],
        ["targets"],
        ["completion", "zsh"],
        ["explain", RANK],
        ["--version"],
        ["--help"],
        ["check", "--help"],
        ["compiler", "remove", "--folder", "/no/such/folder"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("buffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_output_that_has_no_room_is_one_line_and_no_verdict(arguments: list[str], buffered: str) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = command(*arguments, stdout=full, env={"PYTHONUNBUFFERED": buffered})
    assert done.returncode == 2
    assert done.stderr.startswith("tpushape: Cannot write to stdout (") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["check", "t.py:x", "--\x1b[2J\u202e"], ["check", "t.py:x", "--a\n::error::b"], ["\x1b]0;x\x07"]])
def test_what_was_typed_is_text_in_a_usage_too(arguments: list[str]) -> None:
    done = command(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("usage: ")
    assert all(letter.isprintable() or letter == "\n" for letter in done.stderr)
    assert "\n::" not in done.stderr


def test_what_was_typed_fills_no_terminal() -> None:
    for arguments in (["check", "x" * 50_000], ["check", "t.py:x", "--" + "x" * 50_000]):
        done = command(*arguments)
        assert done.returncode == 2 and len(done.stderr) < 8_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["port", "."], ". is not a regular file"),
        (["port", __file__, "--python", "/dev/null"], "/dev/null is not a regular file"),
        (["check", f"{__file__}:RANK", "--input-spec", "a=8,4:int32", "--input-spec", "a=8,4:int32"], "There are two specs for a"),
    ],
)
def test_what_was_typed_is_named_for_what_it_is(arguments: list[str], said: str) -> None:
    done = command(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"tpushape: {said}")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp037", "utf-16"])
def test_doctor_in_any_encoding(encoding: str) -> None:
    assert command("doctor", env={"PYTHONIOENCODING": encoding}).returncode == 0


# -- exceptions ---------------------------------------------------------------------------------------------------------------------


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class Number(Exception):
    def __str__(self) -> str:
        return 3  # type: ignore[return-value]  # noqa: PLE0307


@BOTH
@pytest.mark.parametrize("error", [Speechless(), Number(), ValueError("(3, 4) " * 10**6), ValueError("_" * 10**6)], ids=["raises", "number", "long", "dashes"])
@pytest.mark.parametrize("place", ["builder", "layer", "data"])
def test_an_exception_that_cannot_be_read_is_a_finding_all_the_same(lib: Any, error: Exception, place: str) -> None:
    def fail(*_: Any) -> Any:
        raise error

    class Raises(lib.layers.Layer):
        def call(self, x: Any) -> Any:
            return fail()

    build = {"builder": fail, "layer": lambda: lib.Sequential([lib.Input((4,)), Raises()])}.get(
        place, lambda: lib.Sequential([lib.Input((4,)), lib.layers.Dense(3)])
    )
    try:
        report = tpushape.trace(build, fail if place == "data" else X, fixes=False)
    except BadData as said:
        found = str(said)
    else:
        found = report.to_json()
        assert not report.ok
    assert len(found) < 100_000


def test_words_of_an_exception_are_limited() -> None:
    assert words(ValueError("x")) == "x"
    assert words(Number()) == words(Speechless()) == ""
    long = words(ValueError("a" * 10**7 + "b"))
    assert len(long) <= 100_001 and long.endswith("b")


class Closed:
    """Says no to every question."""

    def __getattribute__(self, name: str) -> Any:
        raise ZeroDivisionError(name)


@BOTH
@pytest.mark.parametrize("make", [Closed, lambda: eval("[" * 80 + "1" + "]" * 80)], ids=["closed", "deep"])
def test_data_that_cannot_be_looked_at(lib: Any, make: Any) -> None:
    model = lib.Sequential([lib.Input((4,)), lib.layers.Dense(3)])
    with contextlib.suppress(BadData):
        assert not tpushape.trace(model, make(), fixes=False).ok


@pytest.mark.parametrize("shape", [(2**31, 2**31, 2**31), (2**62, 2), (2**64,)])
def test_a_spec_of_more_elements_than_a_tensor_can_have_is_refused(shape: Any) -> None:
    with pytest.raises(BadData, match="use smaller sizes"):
        tpushape.trace(keras.Sequential([keras.Input((None,) * (len(shape) - 1))]), Spec(shape, "float32"), fixes=False)


@BOTH
def test_no_fix_is_tried_whose_weights_fill_the_memory(lib: Any) -> None:
    def build() -> Any:
        return lib.Sequential([lib.Input((None,)), lib.layers.Dense(3)])

    report = tpushape.trace(build, Spec((8, 2**31), "float32"), tpu=None)
    (finding,) = [one for one in report.findings if one.rule == "axis-unknown"]
    assert not finding.rejected and not any(fix.edits for fix in finding.fixes)
    small = tpushape.trace(build, Spec((8, 2**10), "float32"), tpu=None)
    assert small.findings[0].fixes[0].verified


# -- left as found -------------------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("reseeded", [False, True])
def test_numbers_of_tensorflow_go_on_as_if_nothing_had_been_drawn(lib: Any, reseeded: bool) -> None:
    """Kernels keep their place for each seed: numbers that a builder draws move none of the program's."""

    def build() -> Any:
        if reseeded:
            tf.random.set_seed(9)
        tf.random.uniform(())
        return lib.Sequential([lib.Input((4,)), lib.layers.Dropout(0.1), lib.layers.Dense(3)])

    drawn = []
    for traced in (False, True):
        lib.utils.set_random_seed(5)
        if traced:
            tpushape.trace(build, X, fixes=False)
        drawn.append([float(tf.random.uniform(())) for _ in range(3)])
    assert drawn[0] == drawn[1]


class Slotted:
    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


@BOTH
def test_what_the_functions_of_a_layer_reach_is_as_it_was(lib: Any) -> None:
    plain, slotted, numbers, rows = (type("Plain", (), {"__module__": __name__})(), Slotted(), np.random.default_rng(3), iter([1, 2, 3, 4, 5, 6]))
    plain.count = 0

    class Telling(lib.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.seen = np.zeros(2)

        def call(self, x: Any) -> Any:
            plain.count += 1
            slotted.count += 1
            self.seen += 1
            numbers.random()
            next(rows)
            return x

    model = lib.Sequential([lib.Input((4,)), Telling(), lib.layers.Dense(3)])
    layer = model.layers[0]
    before = plain.count, slotted.count, list(layer.seen), numbers.bit_generator.state, rows.__length_hint__()
    assert tpushape.trace(model, X, fixes=False).ok
    assert (plain.count, slotted.count, list(layer.seen), numbers.bit_generator.state, rows.__length_hint__()) == before
