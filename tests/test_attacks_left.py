"""What the program's objects end with when they are looked at: no exception of theirs ends a kernel, and none is called ours."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from test_attacks_files import archive, layer, sequential
from test_comm import connect
from test_notebook import Notebook

import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main
from jupyter_tpushape.diagnose import BadProgram
from jupyter_tpushape.repair.patch import difference, patched
from jupyter_tpushape.report import Report

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
X, Y = np.zeros((8, 4), "float32"), np.zeros((8, 3), "float32")


class Own(BaseException):
    """An exception of the program's own that is no Exception."""


ENDS = [SystemExit(3), GeneratorExit(), Own("stop"), RuntimeError("no"), MemoryError()]
EACH = pytest.mark.parametrize("end", ENDS, ids=lambda end: type(end).__name__)


def raising(end: BaseException) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise end

    return fail


def sentence(said: str) -> None:
    assert said and "\n" not in said and "Internal error" not in said
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", said)
    assert len(said) <= 1000


# -- objects --------------------------------------------------------------------------------------------------------------------


@BOTH
@EACH
@pytest.mark.parametrize("door", ["call", "get_config", "__eq__", "units"])
def test_whatever_a_layer_ends_with_is_a_finding_or_a_sentence(lib: Any, end: BaseException, door: str, monkeypatch: Any) -> None:
    monkeypatch.delenv("TPUSHAPE_STRICT", raising=False)
    body = {"call": lambda self, x: x, door: raising(end)} | ({"__hash__": object.__hash__} if door == "__eq__" else {})
    if door == "units":
        body[door] = property(raising(end))
    odd = type("Odd", (lib.layers.Layer,), body)

    def build() -> Any:
        model = lib.Sequential([lib.Input((4,)), odd(name="odd"), lib.layers.Dense(5)])
        model.compile("sgd", "mse")
        return model

    try:
        report = tpushape.trace(build, (X, Y), tpu=None)
    except BadProgram as error:
        sentence(str(error))
        return
    assert not report.ok
    assert "Internal error" not in repr(report)


@EACH
def test_the_list_of_variables_is_sent_whatever_they_raise(end: BaseException) -> None:
    odd = type("Odd", (), {"__getattribute__": raising(end)})
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    comm = connect({"__name__": "__main__", "odd": odd(), "model": model})
    (answer,) = comm.ask(id="1", op="list")
    assert [one["name"] for one in answer["models"]] == ["model"]
    answer = comm.ask(id="2", op="trace", model="odd")[-1]
    assert answer["op"] == "error"
    sentence(answer["message"])


@pytest.mark.parametrize("message", [None, "x", {"content": None}, {"content": [1]}, {"content": {}}, {}])
def test_a_message_that_is_none_of_jupyters_is_answered(message: Any) -> None:
    comm = connect({})
    comm.message(message)
    (answer,) = comm.sent
    assert answer["op"] == "error"
    sentence(answer["message"])


@pytest.mark.parametrize("name", ["\x1b]0;x\x07model", "\u202emodel", "m\nodel()", "m" * 4096])
def test_an_answer_is_one_line_of_text(name: str) -> None:
    answer = connect({}).ask(id="1", op="trace", model=name)[-1]
    assert answer["op"] == "error"
    sentence(answer["message"])


@pytest.mark.parametrize("end", [SystemExit(3), Own("stop"), KeyboardInterrupt(), RuntimeError("no")], ids=lambda end: type(end).__name__)
def test_a_hint_that_cannot_be_given_leaves_the_cell_as_it_is(end: BaseException, monkeypatch: Any) -> None:
    book = Notebook()
    try:
        book.run("%load_ext jupyter_tpushape")
        monkeypatch.setattr("jupyter_tpushape.notebook.hint.hint_for", raising(end))
        result = book.run("1 / 0")
        assert isinstance(result.error_in_exec, ZeroDivisionError)
        assert book.err.count("\n") == 1 and "Traceback" not in book.err and "callback" not in book.err
        assert book.run("1 + 1").result == 2
    finally:
        tpushape.unload_ipython_extension(book.shell)


@pytest.mark.parametrize(
    ("end", "said"),
    [(MemoryError(), "there is not enough memory"), (AssertionError(), "an assertion does not hold"), (KeyError(), "KeyError, without a message")],
    ids=lambda one: type(one).__name__,
)
def test_an_exception_without_a_message_is_said_in_words(end: BaseException, said: str) -> None:
    report = tpushape.trace(raising(end), (X, Y), tpu=None)
    assert said in " ".join(repr(report).split())


# -- sizes ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2**63, 2**70, 10**400])
def test_a_weight_of_more_elements_than_a_tensor_can_have_is_refused(size: int) -> None:
    class Large(keras.layers.Layer):
        def build(self, _: Any) -> None:
            self.add_weight(shape=(size,), name="large")

        def call(self, x: Any) -> Any:
            return x

    try:
        # TensorFlow refuses it itself, and JAX only when it gives it memory.
        report = tpushape.trace(lambda: keras.Sequential([keras.Input((4,)), Large()]), X, tpu=None)
    except BadProgram as error:
        said = str(error)
        sentence(said)
        assert "more elements than a tensor can have" in said
        return
    assert not report.ok
    assert Report.from_json(report.to_json()).summary == report.summary


def test_a_report_about_as_many_axes_as_a_tensor_has_is_read_again() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    report = tpushape.trace(model, tf.TensorSpec([1] * 254), tpu=None)
    assert not report.ok
    assert Report.from_json(report.to_json()).summary == report.summary


def test_compile_arguments_that_take_too_much_memory_are_left_out(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    """With less than the limit, so that the test takes little itself."""
    monkeypatch.setattr("jupyter_tpushape.saved.make.MEMORY", 256 << 20)
    metric = layer("AUC", num_thresholds=2**28) | {"module": "keras.metrics"}
    config = sequential(layer("Dense", units=3), compiled={"optimizer": "sgd", "loss": "mse", "metrics": [metric]})
    assert main(["check", str(archive(tmp_path / "m.keras", config)), "--input-spec", "8,4:float32", "--tpu", "none"]) == 0
    assert "only the loss can be read, so the metrics are not checked" in capsys.readouterr().err


# -- files ----------------------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from jupyter_tpushape.files import write_text
flush = os.fsync
def killed(descriptor):
    os.kill(os.getpid(), int(sys.argv[2]))
    flush(descriptor)
os.fsync = killed
write_text(Path(sys.argv[1]), "new")
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="The system has no files without a name.")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_killed_as_it_writes_leaves_nothing_beside(number: int, tmp_path: Path) -> None:
    with contextlib.suppress(OSError):
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
        path = tmp_path / "train.py"
        path.write_text("old")
        done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(int(number))], check=False)
        assert done.returncode == -number
        assert [one.name for one in tmp_path.iterdir()] == ["train.py"]
        assert path.read_text() == "old"


def test_a_line_that_a_diff_moves_ends_as_it_did() -> None:
    before = "a\r\nkept\nb\r\n"
    after = before.replace("a\r\nkept\n", "kept\na\r\n")
    assert patched(before, "\n".join(difference(before, after, "t"))) == after
    moved = SimpleNamespace(patch="--- t\n+++ t\n@@ -1,2 +1,3 @@\n+new\n+kept\n a\r\n-kept")
    assert patched("a\r\nkept\n", moved.patch) == "new\r\nkept\na\r\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("gone.tpushape.json", None, "does not exist"),
        ("gone.txt", None, "does not exist"),
        ("model.keras", "x", "tpushape check"),
        ("train.py", "x = 1", "tpushape check"),
        ("broken.json", "{", "not a tpushape report"),
        (".", None, "not a regular file"),
    ],
)
def test_a_name_of_a_file_is_no_message(name: str, text: str | None, said: str, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path(name).write_text(text)
    assert main(["explain", name]) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and said in err and name in err


def test_a_file_that_contains_the_message_is_read(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "err.txt"
    path.write_bytes(b"\xff ValueError: Input 0 of layer lstm: expected ndim=3, found ndim=4.\n")
    assert main(["explain", str(path)]) == 0
    assert "layer-rank" in capsys.readouterr().out
    report = tmp_path / "r.tpushape.json"
    tpushape.trace(lambda: 1 // 0, X, tpu=None).save(report)
    assert main(["explain", str(report)]) == 0
    assert "code-raises" in capsys.readouterr().out


LENGTHS = {"None": lambda: None, "infinity": lambda: float("inf"), "a float": lambda: 2.0, "2^63": lambda: 2**63, "text": lambda: "2"}


@BOTH
@pytest.mark.parametrize("name", LENGTHS)
def test_what_is_no_length_is_a_finding(lib: Any, name: str) -> None:
    base = keras.utils.PyDataset if lib is keras else tf_keras.utils.Sequence
    kind = type("Batches", (base,), {"__len__": lambda self: LENGTHS[name](), "__getitem__": lambda self, index: (X, Y)})
    model = lib.Sequential([lib.Input((4,)), lib.layers.Dense(3)])
    model.compile("sgd", "mse")
    report = tpushape.trace(model, kind(), tpu=None)
    assert not report.ok
    assert "Internal error" not in repr(report)


@pytest.mark.parametrize("module", ["json", "random", "ast", "msgspec"])
def test_a_file_where_the_command_is_typed_is_none_of_its_modules(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text("raise RuntimeError('not to be imported')")
    places = os.pathsep.join([str(Path(tpushape.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    command = [sys.executable, "-m", "jupyter_tpushape", "targets"]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": places}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@BOTH
@pytest.mark.parametrize(("end", "said"), [(MemoryError(), "there is not enough memory"), (RuntimeError(), "RuntimeError, without a message")])
@pytest.mark.parametrize("door", ["call", "build"])
def test_a_layer_that_raises_without_a_message_is_told_in_words(lib: Any, end: BaseException, said: str, door: str) -> None:
    odd = type("Odd", (lib.layers.Layer,), {"call": lambda self, x: x, door: raising(end)})
    report = tpushape.trace(lambda: lib.Sequential([lib.Input((4,)), odd(name="odd")]), X, tpu=None)
    assert said in " ".join(repr(report).split())
