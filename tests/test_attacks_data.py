"""Odd data ends in a finding or in one sentence; other threads, callbacks and event loops are left as they were found."""

from __future__ import annotations

import ast
import asyncio
import gc
import sys
import threading
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.diagnose import BadProgram
from jupyter_tpushape.flow import syntax
from jupyter_tpushape.sources import BadData

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])
X, Y = np.zeros((32, 4), "float32"), np.zeros((32, 3), "float32")


class Broken(keras.utils.PyDataset):
    """Raises at one of its doors."""

    def __init__(self, **doors: Any) -> None:
        super().__init__()
        self.doors = doors

    def __len__(self) -> int:
        return self.doors["length"]() if "length" in self.doors else 2

    def __getitem__(self, index: int) -> Any:
        return self.doors["item"]() if "item" in self.doors else (X, Y)


class Shapeless:
    """What says that it is an array, and raises when it is asked."""

    dtype = np.dtype("float32")

    @property
    def shape(self) -> Any:
        return 1 // 0

    def __len__(self) -> int:
        return 32


class Lying:
    """An array in all but its shape."""

    dtype = np.dtype("float32")

    def __init__(self, *shape: Any) -> None:
        self.shape = shape

    def __len__(self) -> int:
        return 32

    def __array__(self, *_: Any, **__: Any) -> Any:
        return X


class Answers:
    """Has every attribute, of its own kind: the functions behind its decorators have no end."""

    def __getattr__(self, name: str) -> Any:
        return Answers()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Answers()


def fail() -> Any:
    raise RuntimeError("gone\nfor good")


def broken_generator() -> Any:
    yield X, Y
    fail()


ODD = {
    "datetime64": lambda: (np.zeros((32, 4), "datetime64[s]"), Y),
    "datetime64 labels": lambda: (X, np.zeros((32, 3), "datetime64[D]")),
    "timedelta64": lambda: (np.zeros((32, 4), "timedelta64[s]"), Y),
    "structured": lambda: (np.zeros(32, [("a", "f4"), ("b", "i4")]), Y),
    "objects": lambda: (np.array([[1, 2], [3]] + [[1]] * 30, dtype=object), Y),
    "arrays in objects": lambda: (np.array([np.zeros(4), None] * 16, dtype=object), Y),
    "void": lambda: (np.zeros(32, "V8"), Y),
    "text": lambda: (np.array(["x"] * 32), Y),
    "bytes": lambda: (np.array([b"x"] * 32), Y),
    "no axes": lambda: (np.float32(3), np.float32(1)),
    "a dataset of datasets": lambda: tf.data.Dataset.range(10).window(3),
    "a dataset of optionals": lambda: tf.data.Dataset.from_tensors(tf.experimental.Optional.from_value(tf.zeros((4,)))),
    "a dataset of tensor lists": lambda: tf.data.Dataset.from_tensors(
        tf.raw_ops.EmptyTensorList(element_shape=[1], max_num_elements=1, element_dtype=tf.float32)
    ),
    "an empty dataset": lambda: tf.data.Dataset.from_tensor_slices((X[:0], Y[:0])).batch(4),
    "a dataset that raises": lambda: tf.data.Dataset.range(3).map(lambda i: tf.py_function(lambda j: 1 // 0, [i], tf.float32)),
    "a dataset of four parts": lambda: tf.data.Dataset.from_tensors((X, Y, Y, Y)),
    "a length that raises": lambda: Broken(length=fail),
    "a length below zero": lambda: Broken(length=lambda: -1),
    "a length that is text": lambda: Broken(length=lambda: "3"),
    "items that raise": lambda: Broken(item=fail),
    "items that exit": lambda: Broken(item=lambda: sys.exit(0)),
    "items that are text": lambda: Broken(item=lambda: "x"),
    "a generator that raises": broken_generator,
    "a generator of nothing": lambda: iter(()),
    "a shape that raises": lambda: (Shapeless(), Y),
    "a shape without end": lambda: (Lying(32, float("inf")), Y),
    "a shape below zero": lambda: (Lying(-32, 4), Y),
    "a shape of words": lambda: (Lying("a", "b"), Y),
    "a set": lambda: {1, 2},
    "bytes alone": lambda: b"abc",
    "numbers alone": lambda: (3, 4),
    "words alone": lambda: ("a", "b"),
    "a class": lambda: int,
    "a module": lambda: (np, Y),
    "a function that raises": lambda: fail,
    "a function that exits": lambda: lambda: sys.exit(0),
    "an object of every name": Answers,
    "four parts": lambda: (X, Y, Y, Y),
}


@BOTH
@pytest.mark.parametrize("name", ODD)
def test_odd_data_ends_in_a_finding_or_a_sentence(framework: Any, name: str) -> None:
    model = framework.Sequential([framework.Input((4,)), framework.layers.Dense(3)])
    model.compile("sgd", "mse")
    said = None
    try:
        report = tpushape.trace(model, ODD[name](), fixes=False)
    except (BadData, BadProgram) as error:
        said = str(error)
    if said is not None:
        assert "\n" not in said
        return
    assert not report.ok
    assert repr(report)
    tpushape.Report.from_json(report.to_json())


# -- threads ------------------------------------------------------------------------------------------------------------------------


def trained(framework: Any) -> Any:
    layers = framework.layers
    model = framework.Sequential([layers.Dense(8, activation="relu"), layers.Dropout(0.2), layers.BatchNormalization(), layers.Dense(3)])
    model.compile("adam", "mse")
    return model


@BOTH
@pytest.mark.parametrize("delay", [0, 0.05, 0.3, 1.0])
def test_a_trace_beside_a_fit_of_the_same_model(framework: Any, delay: float) -> None:
    model, ends, said = trained(framework), [], set()
    x, y = np.random.rand(256, 16).astype("float32"), np.zeros((256, 3), "float32")

    def fit() -> None:
        try:
            model.fit(x, y, epochs=3, batch_size=8, verbose=0)
            ends.append("trained")
        except BaseException as error:
            ends.append(repr(error))

    thread = threading.Thread(target=fit)
    thread.start()
    time.sleep(delay)
    while thread.is_alive():
        try:
            tpushape.trace(model, (x, y), fixes=False)
        except BadProgram as error:
            said.add(str(error))
            time.sleep(0.01)
    thread.join()
    assert ends == ["trained"]
    assert len(said) <= 1 and all("another thread" in text.lower() for text in said)
    assert tpushape.trace(model, (x, y), fixes=False).ok


@BOTH
def test_a_trace_in_a_callback_changes_nothing_of_the_training(framework: Any) -> None:
    x, y = np.ones((64, 16), "float32"), np.zeros((64, 3), "float32")

    class Traces(framework.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 1:
                assert tpushape.trace(self.model, (x, y), fixes=False).findings is not None

    losses = []
    for callbacks in ([], [Traces()]):
        framework.utils.set_random_seed(1)
        losses.append(trained(framework).fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0, callbacks=callbacks).history["loss"])
    assert losses[0] == losses[1]


def test_numbers_of_another_thread_are_not_rewound() -> None:
    drawn: list[float] = []
    stop = threading.Event()

    def draw() -> None:
        while not stop.is_set():
            drawn.append(np.random.rand())
            time.sleep(0.0005)

    thread = threading.Thread(target=draw)
    thread.start()
    for _ in range(5):
        tpushape.trace(lambda: keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)]), X, fixes=False)
    stop.set()
    thread.join()
    assert len(drawn) > 20
    assert len(set(drawn)) == len(drawn)


def test_own_numbers_are_as_they_were_where_no_other_thread_is_at_work() -> None:
    np.random.seed(3)
    expected = np.random.rand()
    np.random.seed(3)
    tpushape.trace(lambda: [np.random.rand(), keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])][1], X, fixes=False)
    assert np.random.rand() == expected


def right(width: int) -> bool:
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(width)])
    report = tpushape.trace(model, np.zeros((8, 16), "float32"), fixes=False, tpu=None)
    return [edge.spec.shape for edge in report.flow.edges][-1] == (8, width)


def test_several_traces_at_once_are_right() -> None:
    found: list[bool] = []
    threads = [threading.Thread(target=lambda width=i + 2: found.append(right(width))) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 6


def test_a_parse_is_begun_again_where_another_thread_disturbed_it(monkeypatch: Any) -> None:
    real, times = ast.parse, iter(range(3))

    def parse(*args: Any, **kwargs: Any) -> Any:
        if next(times, None) is not None:
            raise SystemError("AST constructor recursion depth mismatch (before=54, after=48)")
        return real(*args, **kwargs)

    monkeypatch.setattr(ast, "parse", parse)
    assert isinstance(syntax.parse("f(x)", mode="eval").body, ast.Call)
    sources = Path(tpushape.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "ast.parse(" in path.read_text(encoding="utf-8")] == ["syntax.py"]


def test_a_trace_inside_of_a_tf_function_is_not_rewritten(capfd: Any) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    tf.random.get_global_generator().normal(())  # it has a state, which is kept
    seen = []

    @tf.function
    def step(x: Any) -> Any:
        seen.append(tpushape.trace(model, (X, Y), fixes=False).ok)
        return x

    step(tf.zeros(3))
    assert seen == [True]
    assert "AutoGraph" not in capfd.readouterr().err


def test_traces_of_an_event_loop_are_right() -> None:
    async def one(width: int) -> bool:
        await asyncio.sleep(0)
        return await asyncio.to_thread(right, width) if width % 2 else right(width)

    async def all_of_them() -> list[bool]:
        return await asyncio.gather(*(one(width) for width in range(2, 8)))

    assert asyncio.run(all_of_them()) == [True] * 6


def test_no_garbage_is_collected_while_the_interpreter_holds_its_lock(monkeypatch: Any) -> None:
    from jupyter_tpushape.sources import others

    seen, real = [], sys._current_frames
    monkeypatch.setattr(sys, "_current_frames", lambda: seen.append(gc.isenabled()) or real())
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    assert any(ident == thread.ident and stack for ident, stack in others.stacks())
    over.set()
    thread.join()
    assert seen and not any(seen)
    assert gc.isenabled()
    gc.disable()
    try:
        list(others.stacks())
        assert not gc.isenabled(), "left as found"
    finally:
        gc.enable()
