"""The data that is chosen with a model: what its inputs take, then by name and by the order of the cells."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from jupyter_tpushape.notebook.inventory import inventory
from jupyter_tpushape.notebook.pairing import belong, used_together
from jupyter_tpushape.views.naming import canonical, looked_up

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
    "cell", ["model.fit(table, clicks)", "model.fit(x=table, y=clicks)", "get_ipython().run_line_magic('tpushape', 'model (table, clicks)')"]
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
    # Also where they would fit the inputs, and whatever the features are called.
    assert inventory({"model": model, "scans": zeros(9, 4, 4, 3), "masks": zeros(9, 4, 4, 3)})["pairs"] == {"model": "scans, masks"}
    assert inventory({"model": model, "scans": zeros(9, 4, 4, 3), "masks": zeros(8, 4, 4, 3)})["pairs"] == {"model": "scans"}


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("model.fit([left, right], y, epochs=2)", "[left, right], y"),
        ("model.fit((left, right), y)", "(left, right), y"),
        ('model.fit({"l": left, "r": right}, y)', "{'l': left, 'r': right}, y"),
        ("get_ipython().run_line_magic('tpushape', 'model ([left, right], y)')", "[left, right], y"),
    ],
)
@BOTH
def test_several_inputs_that_a_cell_hands_over_together_are_chosen_with_their_labels(lib, cell, name):
    left, right = lib.Input((4,), name="l"), lib.Input((6,), name="r")
    model = lib.Model([left, right], lib.layers.Dense(1)(lib.layers.Concatenate()([left, right])))
    space = {"left": zeros(9, 4), "right": zeros(9, 6), "y": zeros(9, 1), "model": model}
    found = inventory(space, sources=[cell])
    assert found["pairs"] == {"model": name}
    entry = next(one for one in found["data"] if one["name"] == name)
    assert entry["spec"] == "(9, 4) float32, (9, 6) float32, (9, 1) float32"
    # Another array behind one of the names is other data.
    assert next(one for one in inventory({**space, "right": zeros(9, 6)}, sources=[cell])["data"] if one["name"] == name)["key"] != entry["key"]
    # Rows that do not go together, and a variable that is gone, make no entry.
    for other in ({**space, "right": zeros(8, 6)}, {key: value for key, value in space.items() if key != "left"}):
        assert name not in {one["name"] for one in inventory(other, sources=[cell])["data"]}


@pytest.mark.parametrize("cell", ["model.fit([x, load()], y)", "model.fit({**a}, y)", "model.fit({1: x}, y)", "model.fit([], y)", "model.fit(x[0], y)"])
def test_what_is_not_written_as_names_is_never_looked_up(cell):
    assert used_together(cell) == frozenset()
    with pytest.raises(ValueError, match="is not a variable: expected names"):
        looked_up(cell[len("model.fit(") : -1], {"x": 1, "y": 2, "a": {}})


def test_names_that_differ_in_their_first_or_last_letter_belong_together():
    assert belong("x_train", "y_train") and belong("tx", "ty") and belong("train_images", "train_labels")
    assert not belong("y", "x") and not belong("tx", "vy") and not belong("max", "may_")


def test_names_are_written_one_way():
    assert canonical("(x,y)") == "x, y"
    assert canonical('{"a":x}, y') == "{'a': x}, y"
    assert canonical("first(x)") == "first(x)"
    assert looked_up("[x, y], {'m': x}", {"x": 1, "y": 2}) == ([1, 2], {"m": 1})
    with pytest.raises(NameError, match="z no longer exists"):
        looked_up("x, z", {"x": 1})
