"""The sidebar's kernel side, with stand-ins for the comm and the shell."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from jupyter_tpushape.flow import Flow
from jupyter_tpushape.notebook import comm as sidebar
from jupyter_tpushape.notebook.interrupt import Cancelled, Interruptible
from jupyter_tpushape.notebook.inventory import inventory
from jupyter_tpushape.report import Report
from jupyter_tpushape.views.naming import named


class Comm:
    comm_id = "c1"

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    def on_msg(self, callback: Any) -> None:
        self.message = callback

    def on_close(self, callback: Any) -> None:
        self.close = callback

    def ask(self, **request: Any) -> list[dict[str, Any]]:
        self.sent.clear()
        self.message({"content": {"data": request}})
        return list(self.sent)


def connect(namespace: dict[str, Any]) -> Comm:
    targets: dict[str, Any] = {}
    manager = SimpleNamespace(register_target=targets.__setitem__)
    shell = SimpleNamespace(kernel=SimpleNamespace(comm_manager=manager), user_ns=namespace, user_ns_hidden={})
    assert sidebar.register(shell)
    comm = Comm()
    targets["jupyter_tpushape"](comm, {})
    return comm


def namespace() -> dict[str, Any]:
    code = "def make_model():\n    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])\ndef helper():\n    return 1\n"
    space: dict[str, Any] = {"__name__": "__main__", "keras": keras}
    exec(code, space)
    space["model"] = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    space["unbuilt"] = keras.Sequential([keras.layers.Dense(2)])
    space["x_train"], space["y_train"] = np.zeros((8, 4), "float32"), np.zeros((8,), "int64")
    space["images"] = tf.data.Dataset.from_tensor_slices((np.zeros((8, 9, 9, 3), "float32"), np.zeros(8))).batch(4)
    space["_private"] = space["model"]
    space["symbolic"] = keras.Input((4,))
    return space


def test_models_builders_and_data_are_listed_newest_first() -> None:
    found = inventory(namespace())
    assert [(m["name"], m["kind"], m["params"], m["inputs"]) for m in found["models"]] == [
        ("unbuilt", "model", None, "not built"),
        ("model", "model", 10, "(?, 4)"),
        ("make_model", "builder", None, ""),
    ]
    assert [(d["name"], d["spec"]) for d in found["data"]] == [
        ("x_train, y_train", "(8, 4) float32, (8,) int64"),
        ("images", "(?, 9, 9, 3) float32, (?,) float64"),
        ("y_train", "(8,) int64"),
        ("x_train", "(8, 4) float32"),
    ]
    assert found["pairs"]["model"] == "x_train, y_train"


@pytest.mark.parametrize(
    ("features", "labels", "together"),
    [
        ("images", "labels", True),
        ("train_images", "train_labels", True),
        ("X_train", "y_train", True),
        ("x", "targets", True),
        ("x2", "y2", True),
        ("train_images", "test_labels", False),
        ("images", "weights", False),
        ("images", "images_2", False),
    ],
)
def test_arrays_whose_names_belong_together_are_one_entry(features: str, labels: str, together: bool) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    space = {"model": model, labels: np.zeros(8, "int64"), features: np.zeros((8, 4), "float32"), "images_seen": np.float32(3)}
    found = inventory(space)
    assert (f"{features}, {labels}" in [one["name"] for one in found["data"]]) == together
    assert found["pairs"]["model"] == (f"{features}, {labels}" if together else features)
    space[labels] = np.zeros(7, "int64")
    assert inventory(space)["pairs"]["model"] == features


def test_counting_stops_when_its_time_is_up() -> None:
    space = namespace()
    assert next(m for m in inventory(space, seconds=-1.0)["models"] if m["name"] == "model")["params"] is None
    assert next(m for m in inventory(space)["models"] if m["name"] == "model")["params"] == 10


def test_objects_that_raise_when_looked_at_are_passed_over() -> None:
    class Hostile:
        @property
        def shape(self) -> None:
            raise RuntimeError

    assert inventory({"hostile": Hostile(), "name": 1}) == {"models": [], "data": [], "pairs": {}}


def test_a_trace_gives_progress_and_then_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def trace(model: Any, data: Any, **options: Any) -> Report:
        seen.update(model=model, data=data, **options)
        options["progress"]("Compiling")
        return Report(Flow(), [])

    monkeypatch.setattr("jupyter_tpushape.trace", trace, raising=False)
    space = namespace()
    answers = connect(space).ask(id="1", op="trace", model="model", data="x_train, y_train", tpu="v5e-8")
    assert [answer["op"] for answer in answers] == ["progress", "progress", "report"]
    assert answers[-1]["report"]["version"] == 1
    assert seen["model"] is space["model"]
    assert seen["data"] == (space["x_train"], space["y_train"])
    assert seen["tpu"] == "v5e-8"


def test_what_goes_wrong_is_one_sentence() -> None:
    comm = connect(namespace())
    answer = comm.ask(id="1", op="trace", model="gone", data="")[-1]
    assert (answer["id"], answer["op"], answer["message"].split()[0]) == ("1", "error", "gone")
    assert comm.ask(id="2", op="dance")[0]["op"] == "error"


def test_cancel_stops_a_trace_at_its_next_word(monkeypatch: pytest.MonkeyPatch) -> None:
    comm = connect(namespace())

    def trace(model: Any, data: Any, **options: Any) -> Report:
        comm.message({"content": {"data": {"id": "7", "op": "cancel"}}})
        options["progress"]("more")
        return Report(Flow(), [])

    monkeypatch.setattr("jupyter_tpushape.trace", trace, raising=False)
    assert comm.ask(id="7", op="trace", model="model", data="")[-1]["cancelled"] is True


def test_run_answers_over_the_open_comm(monkeypatch: pytest.MonkeyPatch) -> None:
    space = namespace()
    comm = connect(space)
    monkeypatch.setattr("jupyter_tpushape.trace", lambda *_, **__: Report(Flow(), []), raising=False)
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(user_ns=space))
    sidebar.run("c1", json.dumps({"id": "3", "op": "trace", "model": "model"}))
    assert comm.sent[-1]["op"] == "report"
    sidebar.run("unknown", "{}")


class Shell(SimpleNamespace):
    """As much of a shell as the sidebar looks at, with the extension in it."""


def extended(namespace: dict[str, Any], **more: Any) -> tuple[Comm, Any]:
    targets: dict[str, Any] = {}
    manager = SimpleNamespace(register_target=targets.__setitem__)
    extension = SimpleNamespace(**{"error": None, "said": "", "count": 3, "running": 3, "kernel": "k", "source": "", "reported": {}, "seen": {}, **more})
    shell = Shell(kernel=SimpleNamespace(comm_manager=manager), user_ns=namespace, user_ns_hidden={}, _tpushape=extension)
    extension.shell = shell
    assert sidebar.register(shell)
    comm = Comm()
    targets["jupyter_tpushape"](comm, {})
    return comm, extension


def test_the_list_says_that_the_last_cell_failed_until_another_one_has_run() -> None:
    comm, extension = extended({}, error=ValueError("shapes"), said="dense wants 4.")
    assert comm.ask(id="1", op="list")[-1]["failed"] == "dense wants 4."
    extension.running = 4
    assert comm.ask(id="2", op="list")[-1]["failed"] == ""


def test_the_list_says_which_models_have_a_report_and_with_which_data() -> None:
    comm, extension = extended(namespace())
    assert comm.ask(id="1", op="list")[-1]["seen"] == {}
    comm.ask(id="2", op="trace", model="model", data="x_train, y_train", tpu="")
    named(Report(Flow([], [], "keras 3"), []), extension.shell, "make_model", "(x_train,y_train)")
    named(Report(Flow([], [], "keras 3"), []), extension.shell, "unbuilt", "images.take(1)")
    named(Report(Flow([], [], "keras 3"), []), extension.shell, "gone")
    assert comm.ask(id="3", op="list")[-1]["seen"] == {"model": "x_train, y_train", "make_model": "x_train, y_train"}


def test_explaining_where_nothing_failed_is_one_sentence() -> None:
    comm, _ = extended({})
    answer = comm.ask(id="1", op="explain")[-1]
    assert (answer["id"], answer["op"]) == ("1", "error") and "run the cell again" in answer["message"]


def test_a_trace_says_what_is_other_than_in_the_one_before() -> None:
    def small(wide: int) -> Any:
        return keras.Sequential([keras.Input((wide,)), keras.layers.Dense(2)])

    space: dict[str, Any] = {"net": small(4), "x": np.zeros((32, 5), "float32")}
    comm, _ = extended(space)
    asked = {"op": "trace", "model": "net", "data": "x", "tpu": "", "batches": 1}
    assert comm.ask(id="1", **asked)[-1]["changed"] == ""
    space["net"] = small(5)
    said = comm.ask(id="2", **asked)[-1]["changed"]
    assert "batch → " in said and said.startswith("Fixed: ")
    space["other"] = small(4)
    assert comm.ask(id="3", **{**asked, "model": "other"})[-1]["changed"] == ""


@pytest.mark.parametrize(
    "message",
    [
        {"id": "1", "op": "eval", "model": "x"},
        {"id": "1", "op": "trace", "model": ["model"]},
        {"id": "1", "op": "trace", "model": "model", "code": "import os"},
        {"id": "1", "op": "trace", "model": "model", "batches": 10**9},
        {"id": 7, "op": "list"},
        {"op": "list"},
        "not JSON",
        None,
        [],
    ],
)
def test_what_is_not_a_request_is_refused_in_one_sentence(message: Any) -> None:
    comm = connect(namespace())
    comm.message({"content": {"data": message}})
    (answer,) = comm.sent
    assert answer["op"] == "error"
    assert "jupyter_tpushape" in answer["message"] and "\n" not in answer["message"]


def test_a_message_is_limited_in_size() -> None:
    (answer,) = connect(namespace()).ask(id="1", op="trace", model="m" * 20_000)
    assert " 16384" in answer["message"] and " 200" in answer["message"]


def test_a_name_is_never_an_expression() -> None:
    answer = connect(namespace()).ask(id="1", op="trace", model="__import__('os').getcwd()")[-1]
    assert answer["op"] == "error" and answer["message"].startswith("__import__('os').getcwd() ")


def test_a_trace_makes_way_for_a_cell_and_nothing_behind_it_is_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def trace(model: Any, data: Any, **options: Any) -> Report:
        begun.set()
        end = time.monotonic() + 120
        while time.monotonic() < end:
            time.sleep(0.001)
        raise AssertionError("nobody ended the trace")

    monkeypatch.setattr("jupyter_tpushape.trace", trace, raising=False)
    comm = connect(namespace())

    def cell_comes() -> None:
        begun.wait(120)
        comm.message({"content": {"data": {"id": "1", "op": "make-way"}}})

    other = threading.Thread(target=cell_comes)
    other.start()
    answers = comm.ask(id="1", op="trace", model="model", data="")
    other.join()
    assert answers[-1] == {"id": "1", "op": "error", "message": "Cancelled.", "cancelled": True}

    # Told too late, or before it began: no other trace is ended, and one that has not begun never does.
    monkeypatch.setattr("jupyter_tpushape.trace", lambda model, data, **options: Report(Flow(), []), raising=False)
    comm.ask(id="1", op="make-way")
    comm.ask(id="3", op="make-way")
    assert comm.ask(id="2", op="trace", model="model", data="")[-1]["op"] == "report"
    assert comm.ask(id="3", op="trace", model="model", data="")[-1].get("cancelled")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises, as it does while a kernel runs code."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_cancelled_trace_stops_waiting_and_nothing_behind_it_is_interrupted(monkeypatch: pytest.MonkeyPatch, interruptible: None) -> None:
    begun = threading.Event()
    comm = connect(namespace())

    def cancel(ask: str) -> threading.Thread:
        def come() -> None:
            begun.wait(120)
            comm.message({"content": {"data": {"id": ask, "op": "cancel"}}})

        other = threading.Thread(target=come)
        other.start()
        return other

    def waits(model: Any, data: Any, **options: Any) -> Report:
        begun.set()
        time.sleep(120)
        raise AssertionError("nobody ended the trace")

    monkeypatch.setattr("jupyter_tpushape.trace", waits, raising=False)
    other = cancel("waits")
    began = time.monotonic()
    answers = comm.ask(id="waits", op="trace", model="model", data="")
    other.join()
    assert answers[-1] == {"id": "waits", "op": "error", "message": "Cancelled.", "cancelled": True}
    assert time.monotonic() - began < 60

    # However close to the trace's end it comes: the trace is cancelled or reports, and the code after it runs undisturbed.
    for turn in range(40):
        begun.clear()

        def ends(model: Any, data: Any, turn: int = turn, **options: Any) -> Report:
            begun.set()
            time.sleep(turn * 1e-5)
            return Report(Flow(), [])

        monkeypatch.setattr("jupyter_tpushape.trace", ends, raising=False)
        other = cancel(f"turn-{turn}")
        last = comm.ask(id=f"turn-{turn}", op="trace", model="model", data="")[-1]
        other.join()
        time.sleep(0.002)
        assert last["op"] == "report" or last["cancelled"]


def test_a_signal_that_is_lost_is_sent_again_and_a_person_s_own_is_passed_on(monkeypatch: pytest.MonkeyPatch, interruptible: None) -> None:
    # One that comes just before a wait is not heard before its end.
    kill, sent = signal.pthread_kill, []

    def once_lost(thread: int, number: int) -> None:
        sent.append(number)
        if len(sent) > 1:
            kill(thread, number)

    monkeypatch.setattr("signal.pthread_kill", once_lost)
    work = Interruptible()
    other = threading.Timer(0.2, work.cancel)
    other.start()
    began = time.monotonic()
    with pytest.raises(Cancelled), work:
        time.sleep(120)
    other.join()
    assert len(sent) == 2 and work.told and time.monotonic() - began < 60
    work.close()
    work.cancel()
    assert len(sent) == 2, "nothing is interrupted behind the work"
    monkeypatch.undo()
    threading.Timer(0.2, kill, (threading.get_ident(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt) as own, Interruptible():
        time.sleep(120)
    assert own.type is KeyboardInterrupt and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_is_ported_for_the_panel(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TPUSHAPE_JAX_PYTHON", raising=False)
    program = (Path(__file__).parent / "port_programs" / "custom_loop.py").read_text(encoding="utf-8")
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    comm = connect({})
    progress, answer = comm.ask(id="port-1", op="port", path="train.py")
    assert (progress["op"], answer["op"], answer["whole"]) == ("progress", "ported", False)
    assert "keras.distribution" in answer["text"] and answer["text"] != program
    assert answer["left"] and all(line.startswith("line ") or ":" in line for line in answer["left"])
    # The file itself is as it was.
    assert (tmp_path / "train.py").read_text(encoding="utf-8") == program
    (tmp_path / "plain.py").write_text("x = 1\n", encoding="utf-8")
    for path, said in (("none.py", "none.py"), ("plain.py", "no TensorFlow strategy"), ("../" * 9, "Cannot read")):
        (_, error) = comm.ask(id="port-2", op="port", path=path)
        assert error["op"] == "error" and said in error["message"]
