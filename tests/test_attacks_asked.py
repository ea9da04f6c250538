"""Objects that answer oddly when they are looked at: one sentence, whatever they raise, and no memory without end."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.diagnose import BadProgram
from jupyter_tpushape.report import Report
from jupyter_tpushape.sources import BadData
from jupyter_tpushape.trace.patience import limited, resident

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
X, Y = np.zeros((32, 4), "float32"), np.zeros((32, 3), "float32")


def dense(lib: Any) -> Any:
    model = lib.Sequential([lib.Input((4,)), lib.layers.Dense(3)])
    model.compile("sgd", "mse")
    return model


class Answers:
    """Has every attribute, can be called, and is its own iterator without an end."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self


class Barred(tuple):
    """A tuple that is not to be iterated over."""

    __slots__ = ()

    def __iter__(self) -> Any:
        raise ZeroDivisionError("no")


@BOTH
def test_an_object_that_answers_to_everything_takes_no_memory(lib: Any) -> None:
    before = resident()
    with limited("The test", 30), pytest.raises(BadData, match="shape is not a tuple of integers"):
        tpushape.trace(dense(lib), Answers(), tpu=None)
    assert resident() - before < 500 << 20
    with pytest.raises(BadProgram):
        tpushape.trace(Answers(), (X, Y), tpu=None)


@BOTH
def test_a_tuple_that_cannot_be_iterated_over_is_a_finding(lib: Any) -> None:
    report = tpushape.trace(dense(lib), Barred((X, Y)), tpu=None)
    assert [finding.rule for finding in report.findings if finding.serious] == ["data-raises"]


@BOTH
def test_what_is_no_function_is_not_called_one(lib: Any) -> None:
    with pytest.raises(BadData, match=r"^The data is .*Sequential"):
        tpushape.trace(dense(lib), (dense(lib), Y), tpu=None)


@BOTH
def test_masked_arrays_are_read_as_the_frameworks_read_them(lib: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tpushape.trace(dense(lib), (X, np.ma.masked_array(Y, Y == 0)), tpu=None).ok


@BOTH
def test_a_model_that_contains_itself_is_one_sentence(lib: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("TPUSHAPE_STRICT", raising=False)

    class Circle(lib.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense, self.box = lib.layers.Dense(3), {"me": [self]}

        def call(self, x: Any) -> Any:
            return self.dense(x)

    model = Circle()
    model.compile("sgd", "mse")
    with pytest.raises(BadProgram, match="nested too deeply to trace, or contains itself"):
        tpushape.trace(model, (X, Y), tpu=None)


def test_an_attribute_that_raises_is_named_with_its_line(monkeypatch: Any) -> None:
    monkeypatch.delenv("TPUSHAPE_STRICT", raising=False)

    class Nameless(tf_keras.Model):
        def call(self, x: Any) -> Any:
            return x

        @property
        def name(self) -> Any:
            raise RuntimeError("no\n::error::name\x1b[2J")

    with pytest.raises(BadProgram) as caught:
        tpushape.trace(Nameless(), (X, Y), tpu=None)
    assert str(caught.value).startswith("`raise RuntimeError(")
    assert str(caught.value).endswith("raises RuntimeError when tpushape reads the model or the data: no.")


@BOTH
def test_a_graph_of_tensorflow_1_is_told(lib: Any) -> None:
    model = dense(lib)
    for one in (model, lambda: dense(lib)):
        with tf.Graph().as_default(), pytest.raises(BadProgram, match="graph mode"):
            tpushape.trace(one, (X, Y), tpu=None)
    assert tpushape.trace(model, (X, Y), tpu=None).ok


def test_a_report_is_sent_to_another_process() -> None:
    report = tpushape.trace(dense(keras), (X, Y[:, :2]), tpu="v5e-8")
    there = pickle.loads(pickle.dumps(report))
    assert str(there) == str(report)
    assert there.subject.kept() == (None, None) and there.subject.called(vars(sys)) == ("", "")
    assert Report.from_json(there.to_json()).findings == Report.from_json(report.to_json()).findings
    assert copy.deepcopy(report).subject is report.subject
