"""Sequentials inside a Sequential that builds itself on its first batch: the picture up to the layer that fails."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tf_keras

import jupyter_tpushape as tpushape


@pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
@pytest.mark.parametrize("code", [30, 28], ids=["another width", "the data's own width"])
def test_an_inner_model_reads_what_the_one_before_it_gives(lib, code):
    layers = lib.layers

    def build():
        encoder = lib.Sequential([layers.Dense(20), layers.Dense(code, name="code")], name="encoder")
        decoder = lib.Sequential([layers.Dense(20, name="first"), layers.Dense(64), layers.Reshape((8, 8), name="last")], name="decoder")
        model = lib.Sequential([encoder, decoder])
        model.compile("sgd", "mse")
        return model

    x = np.zeros((16, 28, 28), "float32")
    report = tpushape.trace(build, (x, x), tpu=None, fixes=False)
    flow = report.flow
    named = {node.name: node for node in flow.nodes}
    assert named["last"].failure is not None
    (edge,) = flow.into(named["first"].id)
    assert flow.node(edge.source).name in ("encoder", "code")
    assert edge.spec.shape[1:] == (28, code)
