"""Builders of several models: the break is the finding, wherever it is, and right data is not blamed."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules import entry

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
DOOR = {
    rule.id
    for rule in (
        entry.BATCH_MISSING, entry.BATCH_DECLARED, entry.CHANNELS_ORDER, entry.SWAPPED, entry.TRANSPOSED, entry.FLATTENED, entry.RANK,
        entry.AXIS, entry.STRUCTURE,
    )
}  # fmt: skip


def pictures():
    return np.zeros((8, 8, 8, 1), "float32"), np.zeros((8, 1), "float32")


def encoder_decoder(lib, bad):
    layers = lib.layers
    seen = lib.Input((8, 8, 1), name="picture")
    hidden = layers.Conv2D(4, 3 if bad != "encoder" else 9, name="encoder")(seen)
    encoder = lib.Model(seen, layers.Dense(5)(layers.Flatten()(hidden)))
    code = lib.Input((5,), name="code")
    grown = layers.Dense(48)(code)
    grown = layers.Reshape((4, 4, 3) if bad != "decoder" else (4, 4, 4), name="decoder")(grown)
    decoder = lib.Model(code, layers.Conv2DTranspose(1, 2, strides=2)(grown))
    whole = decoder(encoder(seen))
    both = layers.Add(name="whole")([whole, seen if bad != "whole" else hidden])
    model = lib.Model(seen, both)
    model.compile("sgd", "mse")
    return model


def gan(lib, bad):
    layers = lib.layers

    def generator():
        size = 64 if bad != "generator" else 63
        return lib.Sequential([lib.Input((16,)), layers.Dense(size), layers.Reshape((8, 8, 1), name="generator")])

    def discriminator():
        kernel = 3 if bad != "discriminator" else 11
        return lib.Sequential([lib.Input((8, 8, 1)), layers.Conv2D(2, kernel, name="discriminator"), layers.Flatten(), layers.Dense(1)])

    made, judge = generator(), discriminator()
    noise = lib.Input((16,))
    fake = made(noise)
    together = lib.Model(noise, judge(fake if bad != "together" else layers.Flatten()(fake)), name="together")
    assert together is not None
    judge.compile("sgd", "mse")
    return judge


def vae(lib, bad):
    layers = lib.layers

    class Sampling(layers.Layer):
        def call(self, inputs):
            mean, spread = inputs
            return mean + spread

    seen = lib.Input((8, 8, 1))
    flat = layers.Flatten()(seen)
    mean, spread = layers.Dense(4)(flat), layers.Dense(4 if bad != "sampling" else 3)(flat)
    encoder = lib.Model(seen, Sampling(name="sampling")([mean, spread]))
    latent = lib.Input((4,))
    rows = layers.Dense(64)(latent)
    decoder = lib.Model(latent, layers.Reshape((8, 8, 1) if bad != "decoder" else (8, 9, 1), name="decoder")(rows))
    model = lib.Model(seen, decoder(encoder(seen)))
    model.compile("sgd", "mse")
    return model


def two_towers(lib, bad):
    layers = lib.layers

    def tower(width, name, wrong):
        door = lib.Input((width,), name=name)
        out = layers.Dense(6)(door)
        out = layers.Reshape((2, 3) if not wrong else (2, 4), name=f"tower_{name}")(out)
        return lib.Model(door, layers.Flatten()(out), name=f"model_{name}")

    user, item = tower(3, "user", bad == "tower_user"), tower(5, "item", bad == "tower_item")
    a, b = lib.Input((3,), name="who"), lib.Input((5,), name="what")
    left, right = user(a), item(b)
    score = layers.Dot(1 if bad != "score" else (1, 2), name="score")([left, right])
    model = lib.Model([a, b], score)
    model.compile("sgd", "mse")
    return model


def towers_data():
    return (np.zeros((8, 3), "float32"), np.zeros((8, 5), "float32")), np.zeros((8, 1), "float32")


PROGRAMS = [
    *((encoder_decoder, bad, pictures) for bad in ("encoder", "decoder", "whole")),
    *((gan, bad, pictures) for bad in ("generator", "discriminator")),
    *((vae, bad, pictures) for bad in ("sampling", "decoder")),
    *((two_towers, bad, towers_data) for bad in ("tower_user", "tower_item", "score")),
]


@BOTH
@pytest.mark.parametrize(("build", "bad", "data"), PROGRAMS, ids=lambda value: getattr(value, "__name__", value))
def test_the_break_is_the_finding_and_right_data_is_not_blamed(lib, build, bad, data):
    with pytest.raises(Exception, match=r"\w"):
        build(lib, bad)
    report = tpushape.trace(lambda: build(lib, bad), data(), tpu=None, fixes=False)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert errors
    assert not {finding.rule for finding in report.findings} & DOOR
    (failed,) = report.flow.failed()
    assert failed.name == bad or report.flow.node(failed.parent).name == bad
    assert failed.id in errors[0].nodes


@BOTH
@pytest.mark.parametrize(("build", "data"), [(encoder_decoder, pictures), (vae, pictures), (two_towers, towers_data)])
def test_without_a_break_nothing_is_said(lib, build, data):
    x, y = data()
    model = build(lib, "")
    target = y if build is two_towers else x
    assert tpushape.trace(lambda: build(lib, ""), (list(x) if isinstance(x, tuple) else x, target), tpu=None).ok
    model.fit(list(x) if isinstance(x, tuple) else x, target, verbose=0)


@BOTH
def test_the_only_input_of_the_only_model_is_compared(lib):
    def build():
        layers = lib.layers
        door = lib.Input((8,))
        return lib.Model(door, layers.Conv1D(2, 3, name="reader")(door))

    report = tpushape.trace(build, (np.zeros((4, 8, 3), "float32"), None), tpu=None, fixes=False)
    assert [finding.rule for finding in report.findings if finding.severity == "error"] == [entry.RANK.id]


@BOTH
def test_a_builder_in_pieces_is_counted_through_its_functions(lib):
    from jupyter_tpushape.examine.making import makes

    def head():
        return lib.Sequential([lib.layers.Dense(1)])

    def one():
        return lib.Sequential([lib.Input((3,)), lib.layers.Dense(1)])

    def called():
        return one()

    def two():
        door = lib.Input((3,))
        return lib.Model(door, head()(door))

    def looped():
        return [head() for _ in range(3)][-1]

    def in_loop():
        for _ in range(3):
            model = head()
        return model

    assert makes(one).models == 1
    assert makes(called).models == 1
    assert makes(lambda: called()).models == 1  # noqa: PLW0108
    assert makes(two).models > 1
    assert makes(looped).models > 1
    assert makes(in_loop).models > 1
    assert makes(lambda: None).models == 0


@BOTH
def test_inputs_of_a_builder_that_fails_are_fed_by_what_has_their_shape(lib):
    """The mask of self-attention for cross-attention: tf_keras raises while the model is built, and the mask's data is mended with it."""

    def build():
        q, v, mask = lib.Input((3, 4)), lib.Input((5, 4)), lib.Input((3, 3), dtype="bool")
        return lib.Model([q, v, mask], lib.layers.MultiHeadAttention(2, 4)(q, v, attention_mask=mask))

    data = [np.zeros((2, 3, 4), "float32"), np.zeros((2, 5, 4), "float32"), np.ones((2, 3, 3), bool)]
    (finding,) = [finding for finding in tpushape.trace(build, (data, None), tpu=None).findings if finding.serious]
    assert finding.rule == "attention-shapes"
    assert (finding.fixes[0].edits[0].kind, "(3, 5)" in finding.fixes[0].title) == ("data-transform", True)
