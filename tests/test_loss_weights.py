"""Loss weights of several outputs: what the report says of them is what a real model does with them."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
from keras import layers

import jupyter_tpushape as tpushape

NAMES = ("z_box", "a_cls")
WEIGHTS = {"z_box": 10.0, "a_cls": 1.0}
LOSSES = {"all": "mse", "list": ["mse", "mse"], "dict": {"z_box": "mse", "a_cls": "mse"}, "turned": {"a_cls": "mse", "z_box": "mse"}}
GIVEN = {"list": [10.0, 1.0], "dict": WEIGHTS, "turned": {"a_cls": 1.0, "z_box": 10.0}, "renamed": {"box": 10.0, "a_cls": 1.0}, "one": {"z_box": 10.0}}


def program(outputs, loss, weights):
    def build():
        inputs = keras.Input((3,))
        z_box, a_cls = (layers.Dense(1, kernel_initializer="zeros", name=name)(inputs) for name in NAMES)
        model = keras.Model(inputs, [z_box, a_cls] if outputs is list else {"z_box": z_box, "a_cls": a_cls})
        model.compile("sgd", loss, loss_weights=weights)
        return model

    labels = {"z_box": np.ones((8, 1), "float32"), "a_cls": np.zeros((8, 1), "float32")}
    return build, lambda: (np.ones((8, 3), "float32"), list(labels.values()) if outputs is list else labels)


def total(build, data):
    """The loss of a model whose error is 1 for z_box and 0 for a_cls: the weight that z_box has; ``None`` where Keras refuses."""
    x, y = data()
    try:
        return build().evaluate(x, y, verbose=0)[0]
    except (KeyError, ValueError):
        return None


@pytest.mark.parametrize(("outputs", "loss", "weights"), [*itertools.product((list, dict), LOSSES, GIVEN)])
def test_a_weight_that_meets_another_loss_is_found(outputs, loss, weights):
    build, data = program(outputs, LOSSES[loss], GIVEN[weights])
    report = tpushape.trace(build, data, tpu=None)
    found = [finding for finding in report.findings if finding.serious]
    # A list beside a dict in another order than the outputs: the order of the dict's keys is the one that the program shows.
    meant = 1.0 if (weights, loss) == ("list", "turned") and outputs is dict else 10.0
    # A key that no output has is matched by position all the same, and the one weight of one loss with every output.
    right = total(build, data) == meant and weights not in ("renamed", "one")
    assert not found if right else [one.rule for one in found] == ["output-names"], [one.message for one in found]
    assert all(one.fixes[0].verified for one in found if one.fixes)


FIXES = {
    "a dict beside a list": ((list, "list", "dict"), "loss_weights=[10.0, 1.0]"),
    "a list beside a dict": ((dict, "dict", "list"), 'loss_weights={"z_box": 10.0, "a_cls": 1.0}'),
    "a key of another name": ((list, "dict", "renamed"), 'loss_weights={"z_box": 10.0, "a_cls": 1.0}'),
    "a key that is missing": ((list, "dict", "one"), 'loss_weights={"z_box": 10.0, "a_cls": 1.0}'),
    "one loss for all": ((list, "all", "dict"), '"sgd", {"z_box": "mse", "a_cls": "mse"}'),
}  # fmt: skip
SOURCE = """
import keras
import numpy as np
from keras import layers
def build():
    i = keras.Input((3,))
    z_box, a_cls = layers.Dense(1, name="z_box")(i), layers.Dense(1, name="a_cls")(i)
    model = keras.Model(i, {outputs})
    model.compile("sgd", {loss}, loss_weights={weights})
    return model
def data():
    y = {{"z_box": np.ones((8, 1), "float32"), "a_cls": np.zeros((8, 1), "float32")}}
    return np.ones((8, 3), "float32"), {labels}
"""


@pytest.mark.parametrize("name", FIXES)
def test_the_first_fix_matches_them_by_name_or_in_order(name, tmp_path):
    (outputs, loss, weights), wanted = FIXES[name]
    path = tmp_path / "weighted.py"
    path.write_text(
        SOURCE.format(
            outputs="[z_box, a_cls]" if outputs is list else '{"z_box": z_box, "a_cls": a_cls}',
            loss=repr(LOSSES[loss]).replace("'", '"'),
            weights=repr(GIVEN[weights]).replace("'", '"'),
            labels="list(y.values())" if outputs is list else "y",
        )
    )
    scope = {"__name__": "weighted", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    (finding,) = [one for one in tpushape.trace(scope["build"], scope["data"], tpu=None).findings if one.serious]
    tpushape.apply(finding.fixes[0], path)
    assert wanted in path.read_text()
    exec(compile(path.read_text(), str(path), "exec"), scope)
    x, y = scope["data"]()
    scope["build"]().fit(x, y, verbose=0)
