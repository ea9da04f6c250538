"""The data that is chosen with a model: what its inputs take, then by name and by the order of the cells."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from jupyter_tpushape.notebook.inventory import inventory

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])


def zeros(*shape):
    return np.zeros(shape, "float32")


def simple(lib, *shape):
    return lib.Sequential([lib.Input(shape), lib.layers.Dense(3)])


@BOTH
def test_data_that_does_not_fit_is_not_chosen(lib):
    space = {"model": simple(lib, 8), "x": zeros(64, 28, 28, 1), "y": zeros(64)}
    assert inventory(space)["pairs"] == {"model": ""}
    assert inventory({**space, "rows": zeros(5, 8)})["pairs"] == {"model": "rows"}


@BOTH
def test_inputs_are_compared_by_key_and_by_place(lib):
    left, right = lib.Input((4,), name="left"), lib.Input((6,), name="right")
    out = lib.layers.Dense(1)(lib.layers.Concatenate()([left, right]))
    named, listed = lib.Model({"left": left, "right": right}, out), lib.Model([left, right], out)
    right_way = {"right": zeros(9, 6), "left": zeros(9, 4)}
    space = {"named": named, "listed": listed, "wrong": {"left": zeros(9, 6), "right": zeros(9, 4)}, "feed": right_way}
    assert inventory(space)["pairs"]["named"] == "feed"
    ds = tf.data.Dataset.from_tensor_slices(((zeros(9, 4), zeros(9, 6)), zeros(9, 1))).batch(3)
    assert inventory({"listed": listed, "one": zeros(9, 4), "ds": ds})["pairs"] == {"listed": "ds"}


@BOTH
def test_among_what_fits_the_name_decides_then_training_data_then_the_cell(lib):
    space = {"image_model": simple(lib, 8), "text_model": simple(lib, 8)}
    for kind in ("image", "text"):
        space |= {f"x_{kind}": zeros(6, 8), f"y_{kind}": zeros(6)}
    assert inventory(space)["pairs"] == {"image_model": "x_image, y_image", "text_model": "x_text, y_text"}
    held = {"model": simple(lib, 8), "x_train": zeros(6, 8), "y_train": zeros(6), "x_test": zeros(6, 8), "y_test": zeros(6)}
    assert inventory(held)["pairs"] == {"model": "x_train, y_train"}
    apart = {"first": simple(lib, 8), "a": zeros(6, 8), "second": simple(lib, 8), "b": zeros(6, 8)}
    cells = ["", "first = make()\na = 1", "%matplotlib inline\nsecond = make()\nb = 2"]
    assert inventory(apart, sources=cells)["pairs"] == {"first": "a", "second": "b"}


@pytest.mark.parametrize("source", ["a = (", "x = '\0'", "%%bash\necho"])
def test_a_cell_that_is_no_python_assigns_nothing(source):
    assert inventory({"a": zeros(2, 3)}, sources=[source])["data"]


@pytest.mark.parametrize(
    "cell",
    ["model.fit(table, clicks)", "model.fit(x=table, y=clicks)", "get_ipython().run_line_magic('tpushape', 'model (table, clicks)')"],
)
@BOTH
def test_a_table_and_the_labels_that_a_cell_trains_it_on_are_one_entry(lib, cell):
    names = [f"column_{i}" for i in range(11)]
    inputs = [lib.Input((1,), name=name) for name in names]
    model = lib.Model(inputs, lib.layers.Dense(1)(lib.layers.Concatenate()(inputs)))
    space = {"model": model, "table": {name: zeros(64, 1) for name in names}, "clicks": zeros(64, 1), "other": zeros(64, 1)}
    assert inventory(space)["pairs"] == {"model": "table"}
    found = inventory(space, sources=[cell])
    assert found["pairs"] == {"model": "table, clicks"}
    assert next(one["spec"] for one in found["data"] if one["name"] == "table").endswith("float32, and 3 more")


@BOTH
def test_masks_are_labels(lib):
    model = lib.Sequential([lib.Input((4, 4, 3)), lib.layers.Conv2D(2, 1)])
    assert inventory({"model": model, "images": zeros(9, 4, 4, 3), "masks": zeros(9, 4, 4)})["pairs"] == {"model": "images, masks"}
