"""A fault of this package's own: the rest of the report stands, and says what is missing."""

from __future__ import annotations

import sys

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules import registry

X, Y = np.zeros((8, 6, 6, 3), "float32"), np.zeros((8, 3), "float32")


def broken():
    model = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Conv2D(4, 3), keras.layers.Dense(3)])
    model.compile("sgd", "categorical_crossentropy")
    return model


def data():
    return X, Y


# A fault of the package's own stands in a file of the package.
NAMES: dict = {}
exec(compile("def faulty(*_, **__): raise KeyError('no such node')", registry.__file__, "exec"), NAMES)
faulty = NAMES["faulty"]


@pytest.fixture(params=["a check", "the second trace", "a fix", "the search for fixes", "later faults"])
def fault(request, monkeypatch):
    """One part that fails, and what the report then says is missing."""
    match request.param:
        case "a check":
            monkeypatch.setattr(registry, "CHECKS", [(0, faulty), *registry.CHECKS])
            return "what the check faulty looks for"
        case "the second trace":
            monkeypatch.setattr("jupyter_tpushape.examine.look.probe", faulty)
            return "which axes carry the batch"
        case "a fix":
            monkeypatch.setattr("jupyter_tpushape.repair.candidates.FIRST", (faulty,))
            return ""
        case "the search for fixes":
            monkeypatch.setattr("jupyter_tpushape.repair.search.candidates", faulty)
            return "fixes"
    monkeypatch.setattr("jupyter_tpushape.diagnose.behind", faulty)
    return "faults that the first one hides"


def test_the_rest_of_the_report_stands_and_says_what_is_missing(fault, monkeypatch, capsys):
    monkeypatch.delenv("TPUSHAPE_STRICT", raising=False)
    report = tpushape.trace(broken, data, tpu=None)
    assert [finding.rule for finding in report.findings if finding.serious] == ["missing-flatten"]
    said = capsys.readouterr().err
    assert "Internal error in tpushape (your code is fine): KeyError: 'no such node'" in said
    assert len(set(said.splitlines())) == 1, said
    if fault != "fixes":
        assert report.findings[0].fixes[0].verified
    if fault:
        assert report.limits == (f"{fault}, because of an internal error in tpushape",)
        assert f"Not checked: {fault}, because of an internal error in tpushape" in " ".join(str(report).split())


def test_the_tests_of_this_package_see_the_fault_itself(fault, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_STRICT", "1")
    with pytest.raises(KeyError, match="no such node"):
        tpushape.trace(broken, data, tpu=None)


def shut():
    """A layer with a property that raises, as an abstract class leaves it to its subclasses."""

    class Cell(keras.layers.Layer):
        @property
        def state_size(self):
            raise NotImplementedError

        def call(self, inputs, states):
            return inputs, states

    model = keras.Sequential([keras.Input((6, 3)), keras.layers.RNN(Cell()), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def test_what_raises_is_reported_where_the_check_that_knows_why_fails(monkeypatch):
    """Also where another check has found something silent, and where the words for the error fail too."""
    monkeypatch.delenv("TPUSHAPE_STRICT", raising=False)
    monkeypatch.setattr(sys.modules["jupyter_tpushape.rules.layers"], "_explain", faulty)
    report = tpushape.trace(broken, data, tpu="v5e-8")
    assert not report.ok
    first = report.findings[0]
    assert (first.rule, first.severity) in {("layer-raises", "error"), ("missing-flatten", "error")}
    report = tpushape.trace(shut, (np.zeros((8, 6, 3), "float32"), np.zeros((8, 1), "float32")), tpu="v5e-8")
    first = report.findings[0]
    assert (first.rule, first.severity) == ("layer-raises", "error")
    assert report.flow.node(first.nodes[0]).failure.type == "NotImplementedError"


def test_a_method_that_an_abstract_class_leaves_open_is_named_and_no_shape_is_changed_for_it():
    report = tpushape.trace(shut, (np.zeros((8, 6, 3), "float32"), np.zeros((8, 1), "float32")), tpu=None)
    first = report.findings[0]
    assert (first.fact.owner, first.fact.method) == ("Cell", "state_size")
    assert not first.fixes and not first.rejected
