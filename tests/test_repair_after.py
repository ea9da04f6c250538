"""What the flow with a fix in it has otherwise: read off real traces."""

from __future__ import annotations

import keras
import msgspec
import numpy as np
import pytest
from keras import layers

from jupyter_tpushape import trace
from jupyter_tpushape.flow import After, Spec
from jupyter_tpushape.report import Report


@pytest.fixture(autouse=True)
def first_names() -> None:
    """Layers are named as in a fresh process, whatever ran before."""
    keras.backend.clear_session()


X, Y = np.zeros((64, 28, 28, 1), "float32"), np.arange(64) % 10


def built_half() -> keras.Model:
    model = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(4, 3), layers.LSTM(6), layers.Dense(10)])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def applied(report: Report) -> dict[tuple[str, str], tuple[str, Spec]]:
    """The first fix's flow by name: for each pair of nodes the label and the spec between them."""
    after = report.findings[0].fixes[0].after
    assert after is not None
    names = {node.id: node.name for node in report.flow.nodes} | {node.id: node.name for node in after.nodes}
    edges = {edge.id: (edge.source, edge.target, edge.label, edge.spec) for edge in report.flow.edges}
    edges |= {edge.id: (edge.source, edge.target, edge.label, after.specs[edge.spec]) for edge in after.edges}
    return {(names[a], names[b]): (label, spec) for name, (a, b, label, spec) in edges.items() if name not in after.gone}


def test_a_program_that_broke_half_way_is_whole_after_the_fix() -> None:
    report = trace(built_half, (X, Y))
    flow = applied(report)
    assert flow["reshape", "lstm"][1].shape == (4, 26, 104)
    assert flow["lstm", "dense"][1].shape == (4, 6)
    assert {flow[key][0] for key in flow if key[1] == "sparse_categorical_crossentropy"} == {"labels", "predictions"}
    assert ("conv2d", "lstm") not in flow


def test_only_what_is_other_is_carried() -> None:
    inputs = keras.Input((28, 28, 1))
    model = keras.Model(inputs, layers.Dense(10, name="head")(layers.MaxPooling2D()(inputs)))
    model.compile("adam", "sparse_categorical_crossentropy")
    report = trace(model, (X, Y))
    fix = report.findings[0].fixes[0]
    assert [(edit.kind, edit.target) for edit in fix.edits] == [("insert-layer", "head")]
    assert fix.after is not None
    assert [(node.name, node.op) for node in fix.after.nodes] == [("flatten", "Flatten"), ("head", "Dense")]
    assert {str(spec) for spec in fix.after.specs} == {"(4, 14, 14, 1) float32", "(4, 196) float32", "(4, 10) float32"}
    assert all(edge.even for edge in fix.after.edges)


def test_it_travels_with_the_document() -> None:
    report = trace(built_half, (X, Y))
    again = Report.from_json(report.to_json())
    assert again.findings[0].fixes[0].after == report.findings[0].fixes[0].after
    assert isinstance(again.findings[0].fixes[0].after, After)
    assert len(msgspec.json.encode(again.findings[0].fixes[0].after)) < 3000
