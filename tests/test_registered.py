"""tf_keras puts a second program for GPUs into a graph with each recurrent layer: a trace makes it once for its shapes, and ``fit`` each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tf_keras
from tf_keras.src.layers.rnn import gru_lstm_utils

import jupyter_tpushape as tpushape
from jupyter_tpushape.trace import tfkeras
from jupyter_tpushape.trace.frameworks import adapter as framework_of

L = tf_keras.layers


@pytest.fixture
def made(monkeypatch: Any) -> list[Any]:
    """The programs for GPUs that are made, in a process that has made none."""
    programs: list[Any] = []
    adapter = framework_of("tf_keras")
    adapter.hooks.uninstall()
    original = gru_lstm_utils.function_register
    monkeypatch.setattr(tfkeras, "_MADE", set())

    def register(function: Any, **arguments: Any) -> Any:
        programs.append(arguments["inputs"].shape)
        return original(function, **arguments)

    monkeypatch.setattr(gru_lstm_utils, "function_register", register)
    adapter.hooks.install()
    yield programs
    adapter.hooks.uninstall()
    monkeypatch.undo()
    adapter.hooks.install()


def recurrent(layer: Any, steps: int = 5) -> Any:
    def build() -> Any:
        model = tf_keras.Sequential([tf_keras.Input((steps, 3)), layer(8, return_sequences=True), layer(8), L.Dense(2)])
        model.compile("sgd", "mse")
        return model

    return build, (np.zeros((16, steps, 3), "float32"), np.zeros((16, 2), "float32"))


def shapes(report: Any) -> list[Any]:
    return [(edge.source, edge.target, edge.spec) for edge in report.flow.edges]


@pytest.mark.parametrize("layer", [L.LSTM, L.GRU])
def test_a_trace_makes_it_once_for_its_shapes_and_finds_the_same_flow_without_it(layer: Any, made: list[Any]) -> None:
    first = tpushape.trace(*recurrent(layer), tpu=None)
    several = len(made)
    again = tpushape.trace(*recurrent(layer), tpu=None)
    assert several and len(made) == several
    assert first.ok and again.ok and shapes(again) == shapes(first)
    assert tpushape.trace(*recurrent(layer, steps=7), tpu=None).ok
    assert len(made) > several, "other shapes"


def test_a_real_step_makes_it_each_time(made: list[Any]) -> None:
    build, data = recurrent(L.LSTM)
    assert tpushape.trace(build, data, tpu=None).ok
    before = len(made)
    build().fit(*data, verbose=0)
    assert len(made) > before


def test_what_cannot_be_made_raises_each_time(monkeypatch: Any, made: list[Any]) -> None:
    def refuse(function: Any, **arguments: Any) -> None:
        raise ValueError("CudnnRNNV3 takes no such dtype")

    adapter = framework_of("tf_keras")
    adapter.hooks.uninstall()
    monkeypatch.setattr(gru_lstm_utils, "function_register", refuse)
    adapter.hooks.install()
    for _ in range(2):
        report = tpushape.trace(*recurrent(L.LSTM), tpu=None, fixes=False)
        assert not report.ok and "no such dtype" in str(report)
