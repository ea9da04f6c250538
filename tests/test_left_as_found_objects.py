"""What the user's own objects, random generators and iterators lose in a trace is given back, or said."""

from __future__ import annotations

import array
import collections
import contextvars
import copy
import functools
import itertools
import queue
import random
import threading
import time
import types
from typing import ClassVar, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.trace.restore import Memento

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
X, Y = np.zeros((32, 4), "float32"), np.zeros((32, 3), "float32")
SIGNATURE = (tf.TensorSpec((None, 4), tf.float32), tf.TensorSpec((None, 3), tf.float32))


def model(lib):
    made = lib.Sequential([lib.Input((4,)), lib.layers.Dense(3)])
    made.compile("sgd", "mse")
    return made


def trace(program, data):
    return tpushape.trace(program, data, tpu=None, fixes=False)


def moved(report):
    return [finding.message for finding in report.findings if finding.rule == "data-sampled" and "cannot be rewound" in finding.message]


class Counter:
    """A plain object that a layer or a batch source tells what it does."""

    def __init__(self):
        self.calls, self.log, self.seen = 0, [], set()

    def count(self, what):
        self.calls += 1
        self.log.append(what)
        self.seen.add(what)

    @property
    def state(self):
        return self.calls, list(self.log), set(self.seen)


def numbers():
    """Every kind of random generator of the user's own, and what it says next."""
    return {
        "random": (random.Random(1), lambda one: one.random()),
        "numpy": (np.random.default_rng(1), lambda one: one.random()),
        "legacy": (np.random.RandomState(1), lambda one: one.rand()),
        "bits": (np.random.PCG64(1), lambda one: one.random_raw()),
        "mersenne": (np.random.MT19937(1), lambda one: one.random_raw()),
    }


@BOTH
@pytest.mark.parametrize("kind", numbers())
@pytest.mark.parametrize("place", ["builder", "data", "layer", "source", "generator"])
def test_a_random_generator_of_the_users_own_goes_on_where_it_was(lib, kind, place, tmp_path):
    one, draw = numbers()[kind]
    # What a layer writes into lists is given back too; a file is not.
    drawn, asked = [], tmp_path / "asked"

    class Noisy(lib.layers.Layer):
        def __init__(self):
            super().__init__()
            self.numbers = one

        def call(self, x):
            asked.touch()
            return x + draw(self.numbers)

    class Source(keras.utils.PyDataset if lib is keras else tf_keras.utils.Sequence):
        def __init__(self):
            super().__init__()
            self.numbers = one

        def __len__(self):
            return 3

        def __getitem__(self, index):
            drawn.append(draw(self.numbers))
            return X, Y

    def build():
        if place == "builder":
            drawn.append(draw(one))
        layers = [lib.Input((4,)), *([Noisy()] if place == "layer" else []), lib.layers.Dense(3)]
        made = lib.Sequential(layers)
        made.compile("sgd", "mse")
        return made

    def make_data():
        drawn.append(draw(one))
        return X, Y

    def rows():
        for _ in range(4):
            drawn.append(draw(one))
            yield X, Y

    data = {"data": make_data, "source": Source(), "generator": tf.data.Dataset.from_generator(rows, output_signature=SIGNATURE)}
    # A layer is called when the model is made, before anything is traced.
    program = build() if place == "layer" else build
    expected = draw(copy.deepcopy(one))
    drawn.clear()
    asked.unlink(missing_ok=True)
    report = trace(program, data.get(place, (X, Y)))
    assert drawn or asked.exists(), "it was asked for a number"
    assert draw(one) == expected
    assert moved(report) == []


@BOTH
def test_plain_objects_of_a_model_and_of_data_are_as_they_were(lib):
    told = Counter()

    class Telling(lib.layers.Layer):
        def __init__(self, told):
            super().__init__()
            self.told = told
            self.space = types.SimpleNamespace(last=None)

        def call(self, x):
            self.told.count(self.name)
            self.space.last = x
            return x

    class Source(keras.utils.PyDataset if lib is keras else tf_keras.utils.Sequence):
        def __init__(self):
            super().__init__()
            self.told, self.asked, self.order = Counter(), 0, [2, 1, 0]

        def __len__(self):
            return 3

        def __getitem__(self, index):
            self.told.count(index)
            self.asked += 1
            self.order.pop()
            return X, Y

    layer, source = Telling(told), Source()
    made = lib.Sequential([lib.Input((4,)), layer, lib.layers.Dense(3)])
    made.compile("sgd", "mse")
    before, last = told.state, layer.space.last
    report = trace(made, source)
    assert report.ok
    assert told.state == before and layer.space.last is last
    assert source.told.state == (0, [], set())
    assert (source.asked, source.order) == (0, [2, 1, 0])


LIST, MAP, SET, LAST, PACKED, BYTES = [], {}, set(), collections.deque(maxlen=3), array.array("i", [1000]), bytearray(b"a")
NAMED, ORDER, WAITING, CONTEXT = (collections.Counter(), collections.OrderedDict(a=1, b=2), queue.Queue(), contextvars.ContextVar("c", default=0))
LOCAL, NUMBERS = threading.local(), np.zeros(3)
LOCAL.count = COUNT = 0


class Shared:
    count = 0
    log: ClassVar[list] = []

    @classmethod
    def tell(cls):
        cls.count += 1
        cls.log.append(1)


def told():
    told.calls += 1


told.calls = 0


def counted():
    global COUNT
    COUNT += 1
    NUMBERS[:] += 1
    LOCAL.count += 1


def with_default(log=[]):  # noqa: B006
    log.append(1)


REACHED = {
    "a list": (lambda: LIST.append(1), lambda: list(LIST)),
    "a dict": (lambda: MAP.setdefault(len(MAP), 1), lambda: dict(MAP)),
    "a set": (lambda: SET.add(len(SET)), lambda: set(SET)),
    "a queue with two ends": (lambda: LAST.append(1), lambda: list(LAST)),
    "numbers in a row": (lambda: PACKED.append(1), lambda: list(PACKED)),
    "bytes": (lambda: BYTES.append(1), lambda: bytes(BYTES)),
    "a counter": (lambda: NAMED.update("ab"), lambda: dict(NAMED)),
    "an order": (lambda: ORDER.move_to_end(next(iter(ORDER))), lambda: list(ORDER)),
    "a queue": (lambda: WAITING.put(1), WAITING.qsize),
    "a context": (lambda: CONTEXT.set(CONTEXT.get() + 1), CONTEXT.get),
    "attributes of a class": (Shared.tell, lambda: (Shared.count, list(Shared.log))),
    "an attribute of a function": (told, lambda: told.calls),
    "names of a module, an array, a thread's own": (counted, lambda: (COUNT, list(NUMBERS), LOCAL.count)),
    "a default": (with_default, lambda: list(with_default.__defaults__[0])),
    "a method of a list": (functools.partial(LIST.append, 1), lambda: list(LIST)),
}


@BOTH
@pytest.mark.parametrize("name", REACHED)
def test_what_the_functions_of_a_model_write_is_taken_back(lib, name):
    write, state = REACHED[name]
    inner = 0

    def touch():
        nonlocal inner
        inner += 1
        write()

    class Telling(lib.layers.Layer):
        calls, log = 0, []

        def call(self, x):
            touch()
            Telling.calls += 1
            type(self).log.append(1)
            return x

    def loss(y, prediction):
        touch()
        return lib.losses.mean_squared_error(y, prediction)

    made = lib.Sequential([lib.Input((4,)), Telling(), lib.layers.Dense(3)])
    made.compile("sgd", loss, metrics=[loss])
    seen = lambda: (state(), inner, Telling.calls, list(Telling.log))  # noqa: E731
    before = seen()
    assert before[1] > 0
    assert trace(made, (X, Y)).ok
    assert seen() == before


def test_names_that_another_thread_gives_are_not_given_twice():
    """tf_keras counts the names of all threads together."""
    made, stop, wrong = model(tf_keras), threading.Event(), []

    def make():
        while not stop.is_set():
            with_two = [tf_keras.layers.Dense(2) for _ in range(2)]
            if with_two[0].name == with_two[1].name:
                wrong.append(with_two[0].name)
            names.extend(one.name for one in with_two)

    names = []
    thread = threading.Thread(target=make)
    thread.start()
    for _ in range(5):
        trace(made, (X, Y))
    stop.set()
    thread.join()
    assert not wrong and len(set(names)) == len(names)


def test_iterators_inside_of_a_dataset_go_on_where_they_were(tmp_path):
    (tmp_path / "rows.txt").write_text("1\n2\n3\n4\n5\n6\n")
    names = [f"row {i}" for i in range(6)]
    with (tmp_path / "rows.txt").open() as file:
        over, counted, pending = iter(names), zip(range(6), strict=True), list(names)

        def rows():
            while True:
                file.readline(), next(over), next(counted), pending.pop()
                yield X, Y

        report = trace(model(keras), tf.data.Dataset.from_generator(rows, output_signature=SIGNATURE))
        assert moved(report) == []
        assert (file.readline(), next(over), next(counted), pending) == ("1\n", "row 0", (0,), names)


@pytest.mark.parametrize("kind", ["generator", "count", "enumerate", "at its end"])
def test_an_iterator_that_cannot_be_rewound_is_named(kind):
    def endless():
        number = 0
        while True:
            yield number
            number += 1

    source = {"generator": endless(), "count": itertools.count(), "enumerate": enumerate(range(9)), "at its end": iter([1, 2])}[kind]

    def rows():
        for _, _number in zip(range(5), source, strict=False):
            yield X, Y

    said = moved(trace(model(keras), tf.data.Dataset.from_generator(rows, output_signature=SIGNATURE)))
    assert len(said) == 1
    assert said[0].startswith(
        {"generator": "The generator endless (", "count": "The iterator count", "enumerate": "The iterator enumerate", "at its end": "An iterator"}[kind]
    )


def test_what_is_not_asked_is_not_said_to_have_moved():
    unused = (row for row in range(3))

    def rows():
        if len(X) == 1:
            next(unused)
        yield X, Y

    assert moved(trace(model(keras), tf.data.Dataset.from_generator(rows, output_signature=SIGNATURE))) == []
    assert next(unused) == 0


def test_numbers_of_a_generator_that_goes_on_are_not_drawn_twice():
    numbers = np.random.default_rng(5)

    def rows():
        while True:
            yield numbers.random((8, 4), "float32"), np.zeros((8, 3), "float32")

    report = trace(model(keras), rows())
    taken = [next(report.replacement)[0] for _ in range(6)]
    again = np.random.default_rng(5)
    for batch in taken:
        np.testing.assert_array_equal(batch, again.random((8, 4), "float32"))


def test_numbers_that_another_thread_draws_are_not_rewound():
    numbers, drawn, stop = random.Random(4), [], threading.Event()

    def draw():
        while not stop.is_set():
            drawn.append(numbers.random())
            time.sleep(0.0005)

    def build():
        numbers.random()
        return model(keras)

    thread = threading.Thread(target=draw)
    thread.start()
    trace(build, (X, Y))
    stop.set()
    thread.join()
    assert len(set(drawn)) == len(drawn) > 1


def test_objects_that_cannot_be_looked_at_lose_no_trace():
    class Odd:
        @property
        def __dict__(self):
            raise RuntimeError("no")

    class Odder:
        def __getattribute__(self, name):
            raise RuntimeError("no")

    circle = Counter()
    circle.log.append(circle)
    odd = [Odd(), Odder(), circle, {"circle": circle}]

    def make_data():
        assert len(odd) == 4
        return X, Y

    assert trace(model(keras), make_data).ok


class Pair(NamedTuple):
    first: list
    second: dict


def test_a_named_tuple_that_tensorflow_wraps_is_looked_into():
    layer = tf_keras.layers.Layer()
    layer.pair = Pair([1], {"a": 2})
    assert type(layer.pair) is not Pair  # TensorFlow's own, which passes for one
    held = list(layer.pair.first)
    memento = Memento([layer])
    layer.pair.first.append(3)
    memento.restore()
    assert list(layer.pair.first) == held


@BOTH
@pytest.mark.parametrize("moment", ["on_epoch_end", "on_train_batch_end"])
def test_a_callback_that_traces_the_model_does_not_change_how_it_learns(lib, moment):
    x, y = np.random.RandomState(0).rand(32, 4).astype("float32"), np.random.RandomState(1).rand(32, 1).astype("float32")

    def learned(callback):
        lib.utils.set_random_seed(3)
        model = lib.Sequential([lib.Input((4,)), lib.layers.Dense(8), lib.layers.Dropout(0.3), lib.layers.Dense(1)])
        model.compile("adam", "mse")
        losses = model.fit(x, y, epochs=2, batch_size=8, verbose=0, callbacks=[callback] if callback else []).history["loss"]
        return losses, [value.tolist() for value in model.get_weights()]

    class Traces(lib.callbacks.Callback):
        seen = 0

        def ask(self, place, logs=None):
            self.seen += 1
            assert tpushape.trace(self.model, (x, y), fixes=False).ok

    setattr(Traces, moment, Traces.ask)
    traces = Traces()
    assert learned(traces) == learned(None)
    assert traces.seen >= 2


@BOTH
def test_a_callback_that_raises_leaves_a_model_that_is_traced_and_trained(lib):
    class Raises(lib.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise ValueError("enough")

    x, y = np.ones((16, 4), "float32"), np.ones((16, 1), "float32")
    model = lib.Sequential([lib.Input((4,)), lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="enough"):
        model.fit(x, y, verbose=0, callbacks=[Raises()])
    assert tpushape.trace(model, (x, y), fixes=False).ok
    model.fit(x, y, verbose=0)
