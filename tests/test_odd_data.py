"""Data that no tensor holds ends in a finding that says what it is, and in no second one that takes it for something else."""

from __future__ import annotations

import importlib
from decimal import Decimal
from typing import Any
from unittest.mock import MagicMock, create_autospec

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.sources import BadData

ROWS, Y = np.zeros((8, 4), "float32"), np.arange(8) % 3
RECORDS = np.zeros(8, [("a", "f4"), ("b", "f4"), ("c", "f4"), ("d", "f4")])
UNEVEN = np.array([np.zeros(3), np.zeros(4)] * 4, dtype=object)
MIXED = np.array([[1, "a", None, 2.0]] * 8, dtype=object)
ARRAYS = {
    "dates": (ROWS.astype("datetime64[s]"), "dates (datetime64"),
    "spans": (ROWS.astype("timedelta64[s]"), "(timedelta64"),
    "records": (RECORDS, "records ("),
    "numbers": (ROWS.astype(object), "x.astype('float32')"),
    "mixed": (MIXED, "of mixed types"),
    "uneven": (UNEVEN, "tf.ragged.constant"),
}


def no_value():
    while True:
        yield ROWS, None


def raises():
    raise ValueError("disk is gone")
    yield


@pytest.fixture(params=["keras", "tf_keras"])
def model(request):
    lib = importlib.import_module(request.param)
    made = lib.Sequential([lib.Input((4,)), lib.layers.Dense(3, activation="softmax")])
    made.compile("sgd", "sparse_categorical_crossentropy")
    return made


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_no_tensor_holds_is_named_for_what_it_is(model, name):
    x, said = ARRAYS[name]
    report = tpushape.trace(model, (x, Y), tpu=None)
    assert [finding.rule for finding in report.findings if finding.serious] == ["data-misfit"]
    assert said in report.findings[0].message


def test_long_doubles_are_cast_by_one_framework_and_refused_by_the_other(model):
    report = tpushape.trace(model, (ROWS.astype("longdouble"), Y), tpu=None)
    if type(model).__module__.startswith("tf_keras"):
        assert report.ok
    else:
        assert "x.astype('float32')" in report.findings[0].message


@pytest.mark.parametrize("name", ["dates", "mixed"])
def test_labels_that_no_tensor_holds_are_named_too(model, name):
    labels = ARRAYS[name][0].reshape(-1)[:8]
    report = tpushape.trace(model, (ROWS, labels), tpu=None)
    assert [finding.rule for finding in report.findings if finding.serious] == ["data-misfit"]
    assert report.findings[0].message.startswith("`y`")


def test_a_dataset_of_datasets_and_one_of_optionals(model):
    windows = tf.data.Dataset.from_tensor_slices((ROWS, Y)).window(2)
    optional = tf.data.Dataset.from_tensors(tf.experimental.Optional.from_value(tf.zeros((2, 4))))
    for data, said in ((windows, "flat_map(lambda w: w.batch(n))"), (optional, "get_value()")):
        serious = [finding for finding in tpushape.trace(model, data, tpu=None).findings if finding.serious]
        assert [finding.rule for finding in serious] == ["data-misfit"]
        assert said in serious[0].message


def test_arrays_without_a_row(model):
    report = tpushape.trace(model, (ROWS[:0], Y[:0]), tpu=None)
    assert "nothing to train on" in report.findings[0].message


def test_a_stream_without_labels_under_a_loss(model):
    for data in (tf.data.Dataset.from_tensor_slices(ROWS).batch(4), no_value()):
        assert "no-labels" in [finding.rule for finding in tpushape.trace(model, data, tpu=None).findings]
    assert tpushape.trace(model, ROWS, tpu=None).ok, "an array alone is a look at the shapes"


def test_a_generator_that_raises_is_said_once(model):
    serious = [finding for finding in tpushape.trace(model, raises(), tpu=None).findings if finding.serious]
    assert [finding.rule for finding in serious] == ["data-raises"]
    assert "disk is gone" in serious[0].why


def test_no_x_at_all(model):
    with pytest.raises(ValueError, match="x is None"):
        tpushape.trace(model, (None, Y), tpu=None)


def test_labels_that_are_objects_of_python_end_in_a_finding(model):
    for labels in (np.array([{"a": 1}] * 8), np.array([[{"a": 1}, None]] * 8), np.array([np.zeros((2, 2)), None] * 4, dtype=object)):
        assert any(finding.serious for finding in tpushape.trace(model, (ROWS, labels)).findings)


class Claims:
    """Says that it is a NumPy array, and has nothing of one."""

    __class__ = np.ndarray


def itself():
    made = np.empty(8, object)
    made[0] = made
    return made


def sampled(model, data):
    """What is said of data that is none: a finding's words, or the one sentence of an error."""
    try:
        report = tpushape.trace(model, data, tpu=None, fixes=False)
        said = report.findings[0].message
        assert not report.ok
    except BadData as error:
        said = str(error)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("x", [{}, [], [None] * 8, {"a": {}}], ids=repr)
def test_an_x_without_an_array_is_no_input(model, x):
    for data in ((x, Y), iter([(x, Y)] * 2)):
        assert "x contains no array" in sampled(model, data)


@pytest.mark.parametrize("x", [Claims(), create_autospec(ROWS)], ids=["a class of its own", "a stand-in"])
def test_what_only_says_that_it_is_an_array_is_none(model, x):
    assert "which fit does not accept" in sampled(model, (x, Y))


def test_a_stand_in_for_an_iterator_has_no_line(model):
    assert sampled(model, MagicMock())


@pytest.mark.parametrize("x", [itself(), np.array([[[1], [2, 3]]] * 7 + [[[1]]], dtype=object)], ids=["itself", "uneven in uneven"])
def test_objects_inside_of_objects_end_in_a_finding(model, x):
    assert "array of Python objects" in sampled(model, (x, Y))


def test_a_none_in_a_dataset_is_no_labels(model):
    report = tpushape.trace(model, tf.data.Dataset.from_tensors((ROWS, None)), tpu=None)
    assert [finding.rule for finding in report.findings] == ["no-labels"]
    weightless = tf.data.Dataset.from_tensors((ROWS, Y, None))
    assert tpushape.trace(model, weightless, tpu=None).ok


class Batches(keras.utils.PyDataset):
    def __init__(self, *batches: Any) -> None:
        super().__init__()
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> Any:
        return self.batches[index]


class Sequence(tf_keras.utils.Sequence):
    def __init__(self, *batches: Any) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> Any:
        return self.batches[index]


def misfits(framework: Any, data: Any) -> list[str]:
    model = framework.Sequential([framework.Input((4,)), framework.layers.Dense(3)])
    model.compile("sgd", "mse")
    return [finding.message for finding in tpushape.trace(model, data, tpu=None, fixes=False).findings if finding.rule == "data-misfit"]


@pytest.mark.parametrize(("framework", "source"), [(keras, Batches), (tf_keras, Sequence)], ids=["keras", "tf_keras"])
@pytest.mark.parametrize("at", [0, 1])
def test_a_batch_of_none_is_said_and_not_passed_over(framework: Any, source: Any, at: int) -> None:
    whole = np.zeros((8, 4), "float32"), np.zeros((8, 3), "float32")
    batches: list[Any] = [whole, whole, whole]
    batches[at] = None
    for data, begins in ((source(*batches), "__getitem__ returns None"), ((batch for batch in batches), "The generator yields None")):
        assert [message.startswith(f"{begins} instead of batch {at}, but fit expects a tuple") for message in misfits(framework, data)] == [True]


@pytest.mark.parametrize(("framework", "source"), [(keras, Batches), (tf_keras, Sequence)], ids=["keras", "tf_keras"])
def test_features_that_differ_between_batches_fail_where_fit_gets_there(framework: Any, source: Any) -> None:
    batches = [(np.zeros((8, width), "float32"), np.zeros((8, 3), "float32")) for width in (4, 4, 3)]
    for data in (source(*batches), (batch for batch in batches)):
        assert misfits(framework, data) == [
            "Batch 2 of the data has 3 values on the last axis of x, but the model declares 4: fit fails when it gets there; give all batches the same features."
        ]
    model = framework.Sequential([framework.Input((4,)), framework.layers.Dense(3)])
    model.compile("sgd", "mse")
    with pytest.raises(Exception, match=r"Graph execution error|Matrix size-incompatible"):
        model.fit(source(*batches), verbose=0)


def test_steps_that_differ_between_batches_are_no_fault() -> None:
    model = keras.Sequential([keras.Input((None, 4)), keras.layers.LSTM(3)])
    model.compile("sgd", "mse")
    batches = [(np.zeros((8, steps, 4), "float32"), np.zeros((8, 3), "float32")) for steps in (4, 6, 3)]
    assert tpushape.trace(model, Batches(*batches), tpu=None, fixes=False).ok
    model.fit(Batches(*batches), verbose=0)


TABLES = {
    "text in a column": (lambda: pd.DataFrame({"a": [1.0] * 8, "b": ["x"] * 8}), "has text in column b"),
    "dates": (lambda: pd.DataFrame({"when": pd.date_range("2020", periods=8)}), "has dates in column when"),
    "missing numbers": (
        lambda: pd.DataFrame({name: pd.array([1, None] * 4, dtype="Int64") for name in "ab"}), "use x.astype('float32')",
    ),
    "sparse columns": (lambda: pd.DataFrame({"a": pd.arrays.SparseArray(np.zeros(8))}), "use x.sparse.to_dense()"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_column_of_a_table_that_no_tensor_holds_is_named(name: str) -> None:
    make, words = TABLES[name]
    assert words in misfits(keras, (make(), np.zeros((8, 3), "float32")))[0]


# Tables, and whether fit takes them: (Keras 3, tf_keras).
HELD = {
    "bools beside doubles": (lambda: {"a": [0.5, 1.0] * 8, "b": [True, False] * 8}, (True, False)),
    "bools beside the default float": (lambda: {"a": np.full(16, 0.5, "float32"), "b": [True, False] * 8}, (False, False)),
    "bools beside integers": (lambda: {"a": [1, 2] * 8, "b": [True, False] * 8}, (False, False)),
    "bools, integers and doubles, as get_dummies makes them": (lambda: {"a": [1, 2] * 8, "b": [True, False] * 8, "c": [0.5, 1.0] * 8}, (True, False)),
    "bools alone": (lambda: {"a": [True, False] * 8}, (True, True)),
    "integers of pandas": (lambda: {"a": pd.array([1, 2] * 8, dtype="Int64")}, (False, True)),
    "integers of pandas before doubles": (lambda: {"a": pd.array([1, 2] * 8, dtype="Int64"), "b": [0.5, 1.0] * 8}, (False, False)),
    "integers of pandas after doubles": (lambda: {"b": [0.5, 1.0] * 8, "a": pd.array([1, 2] * 8, dtype="Int64")}, (True, False)),
}


@pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
@pytest.mark.parametrize("name", HELD)
def test_a_table_is_taken_or_refused_as_fit_does(name: str, lib: Any) -> None:
    make, taken = HELD[name]

    def build() -> Any:
        model = lib.Sequential([lib.Input((len(make()),)), lib.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    def step(table: Any) -> bool:
        try:
            build().fit(table, np.zeros(16, "float32"), verbose=0)
        except Exception:
            return False
        return True

    report = tpushape.trace(build, lambda: (pd.DataFrame(make()), np.zeros(16, "float32")), tpu=None)
    assert report.ok is step(pd.DataFrame(make())) is taken[lib is tf_keras]
    if not report.ok:
        first = report.findings[0].fixes[0]
        assert first.verified and step(first.rebuild()[1][0])


def test_labels_of_a_table_that_are_text_are_called_text() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    report = tpushape.trace(model, (np.zeros((8, 4), "float32"), pd.Series(["a"] * 8)), tpu=None, fixes=False)
    assert [finding.rule for finding in report.findings if finding.serious] == ["string-labels"]


def test_what_numpy_calls_an_object_is_not_called_text() -> None:
    number = np.array([[Decimal(1)] * 4] * 8, dtype=object)
    assert "written as text" not in misfits(keras, (number, np.zeros((8, 3), "float32")))[0]


@pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_a_batch_with_a_label_too_many_is_told_by_its_rows(lib):
    class Batches(getattr(lib.utils, "PyDataset", lib.utils.Sequence)):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return np.zeros((4, 3), "float32"), np.arange(5) % 2

    model = lib.Sequential([lib.Input((3,)), lib.layers.Dense(2, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    finding = tpushape.trace(model, Batches(), tpu=None).findings[0]
    assert (finding.rule, finding.fact.labels[0], finding.fact.predictions[0]) == ("loss-raises", 5, 4)
