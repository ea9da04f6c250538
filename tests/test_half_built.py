"""A model that a failed ``fit`` left behind: its code is right, and the next ``fit`` raises all the same."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import tensorflow as tf
from shells import cells

import jupyter_tpushape as tpushape
from jupyter_tpushape.notebook.inventory import left
from jupyter_tpushape.rules.facts.training import HalfBuilt, LayersLeft, WeightsLost

BOTH = pytest.mark.parametrize("lib", ["keras", "tf_keras"])
X, Y = np.zeros((64, 8), "float32"), np.zeros((64, 1), "float32")
NARROW, DEEP = (X[:, :5], Y), (X[:, None, None], Y)


def declared(keras):
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])


def open_(keras):
    return keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])


def same_columns(keras):
    """A loss that raises where labels and predictions have other widths: behind the model, which is built by then."""

    def loss(y, p):
        if y.shape[-1] != p.shape[-1]:
            raise ValueError("other widths")
        return keras.losses.mean_squared_error(y, p)

    return loss


def fails(model, data):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        model.fit(*data, verbose=0)


def found(model, data=(X, Y)):
    return [(one.rule, one.severity) for one in tpushape.trace(model, data).findings if one.rule == "half-built"]


@BOTH
@pytest.mark.parametrize("make", [declared, open_])
def test_the_next_fit_raises_and_that_is_said(lib, make):
    keras = importlib.import_module(lib)
    model = make(keras)
    model.compile("adam", same_columns(keras), metrics=["mae"])
    fails(model, (X, np.zeros((64, 3), "float32")))
    assert found(model) == [("half-built", "error")]
    fails(model, (X, Y))
    # What the second try created is no better.
    assert found(model) == [("half-built", "error")]
    fails(model, (X, Y))


@BOTH
def test_the_kind_says_whether_compiling_is_enough(lib):
    keras = importlib.import_module(lib)
    # tf_keras gives the variables of a step their values as it creates them.
    for make, lost in ((declared, False), (open_, lib == "keras")):
        model = make(keras)
        model.compile("sgd", same_columns(keras))
        fails(model, (X, np.zeros((64, 3), "float32")))
        (fact,) = [one.fact for one in tpushape.trace(model, (X, Y)).findings if one.rule == "half-built"]
        assert isinstance(fact, WeightsLost if lost else HalfBuilt)
        model.compile("sgd", "mse")
        if not lost:
            assert not found(model)
            model.fit(X, Y, verbose=0)
        else:
            assert found(model)
            fails(model, (X, Y))


@BOTH
def test_a_model_that_can_be_trained_is_none(lib):
    keras = importlib.import_module(lib)
    never, trained, made, eager, late = (declared(keras) for _ in range(5))
    for model in (never, trained, made, late):
        model.compile("adam", "mse", metrics=["mae"])
    eager.compile("adam", "mse", run_eagerly=True)
    trained.fit(X, Y, verbose=0)
    made.make_train_function()
    fails(eager, NARROW)
    # The step's first call succeeded, so that a later one may raise.
    late.fit(X, Y, verbose=0)
    fails(late, NARROW)
    for model in (never, trained, made, eager, late):
        assert not found(model)
        model.fit(X, Y, verbose=0)


def test_a_sequential_whose_first_fit_raised_is_traced_as_if_it_were_new():
    import keras

    layers = keras.layers
    model = keras.Sequential([layers.LSTM(4, return_sequences=True), layers.LSTM(3), layers.Dense(1)])
    model.compile("adam", "mse")
    fails(model, (X, Y))
    before = [*model._layers]
    report = tpushape.trace(model, (X, Y), tpu=None)
    assert [one.rule for one in report.findings] == ["layer-rank", "half-built"]
    assert report.findings[0].fixes[0].verified
    assert [*model._layers] == before
    # The right data is refused by what the first fit left.
    fails(model, (X[..., None], Y))
    (finding,) = tpushape.trace(model, (X[..., None], Y), tpu=None).findings
    assert isinstance(finding.fact, LayersLeft)


@pytest.mark.parametrize("data", [None, (X, Y)], ids=["declared", "data"])
def test_a_sequential_whose_last_layer_was_refused_is_traced_as_if_it_were_new(data):
    import keras

    model = keras.Sequential()
    model.add(keras.Input((8,)))
    model.add(keras.layers.Dense(6))
    with pytest.raises(ValueError, match="ndim"):
        model.add(keras.layers.LSTM(3))
    finding = tpushape.trace(model, data, tpu=None).findings[0]
    assert finding.rule == "layer-rank"
    assert data is None or finding.fixes[0].verified


@BOTH
def test_a_note_follows_a_fix_of_the_data_alone(lib):
    keras = importlib.import_module(lib)
    for data, kind, noted in ((DEEP, "data-transform", ["note"]), (NARROW, "input-shape", [])):
        model = declared(keras)
        model.compile("adam", "mse")
        fails(model, data)
        report = tpushape.trace(model, data, tpu=None)
        first = next(fix for fix in report.findings[0].fixes if fix.verified)
        assert first.edits[0].kind == kind
        assert [one.severity for one in report.findings if one.rule == "half-built"] == noted


@BOTH
def test_the_hint_names_it_where_the_message_speaks_of_something_else(lib):
    with cells() as run:
        run(f"%load_ext jupyter_tpushape\nimport {lib} as keras, numpy as np")
        run("model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')")
        run("model.fit(np.zeros((64, 5)), np.zeros((64, 1)), verbose=0)")
        result, _, said = run("model.fit(np.zeros((64, 8)), np.zeros((64, 1)), verbose=0)")
        assert not result.success
        run("%tpushape")
        assert run.report.findings[0].rule == "half-built"
        assert run.report.findings[0].message in said


@BOTH
def test_what_raised_comes_before_a_fault_that_raises_nothing(lib):
    with cells() as run:
        for cell in (
            f"%load_ext jupyter_tpushape\nimport {lib} as keras, numpy as np",
            "model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\nmodel.compile('adam', 'binary_crossentropy')",
            "def stop(epoch, logs):\n    raise LookupError('no such key')",
            "model.fit(np.zeros((64, 8)), np.arange(64.0)[:, None], verbose=0, callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=stop)])",
            "%tpushape",
        ):
            run(cell)
        assert [one.rule for one in run.report.findings if one.serious] == ["code-raises", "label-scale"]


@BOTH
def test_the_cells_that_create_it_again_are_known(lib):
    keras = importlib.import_module(lib)
    space = {name: declared(keras) for name in ("model", "whole", "other")}
    for name, model in space.items():
        model.compile("adam", "mse")
        if name != "whole":
            fails(model, DEEP)
    runs = ["", "model = 1", "model = make()", "other = make()\nother.fit(x)", "print(model)", "model.compile('adam', 'mse')", "model.fit(x)"]
    ids = {number: f"id-{number}" for number in range(1, 7)}
    # That cell of the other trains, too: running it would do what failed.
    assert left(space, list(space), runs, ids) == {"model": ["id-2", "id-5"]}
    assert left(space, ["model"], runs, {2: "id-2"}) == {}
    assert left(space, ["model"], [], {}) == {}


@BOTH
@pytest.mark.parametrize(("line", "what"), [("i = keras.Input(6, 6, 1)", "sizes"), ("i = keras.layers.concatenate(a, a)", "tensors")])
def test_an_object_whose_constructor_raises_is_reported(lib, line, what, tmp_path):
    """An input that has no node yet; a setting that is a tensor, which takes no comparisons."""
    path = tmp_path / f"{lib}_{what}.py"
    path.write_text(f"import {lib} as keras\n\n\ndef build():\n    a = keras.Input((8,))\n    {line}\n    return keras.Model(a, i)\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (finding,) = [one for one in tpushape.trace(module.build, (X, Y), fixes=False).findings if one.serious]
    assert (type(finding.fact).__name__, finding.fact.what) == ("Apart", what)
