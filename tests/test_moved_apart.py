"""Pipelines that move inputs and labels by other random numbers: found and mended, beside correct twins."""

import pytest
from told_silently import found, told

HEAD = "import keras\nimport numpy as np\nimport tensorflow as tf\nL = keras.layers\nrng = np.random.default_rng(0)\n"
MASKS = """
flip, other = L.RandomFlip("horizontal", seed=1), L.RandomFlip("horizontal", seed=1)
def moved(x, y):
    {}
    return x, y
def build():
    m = keras.Sequential([keras.Input((None, None, 3)), L.Conv2D(1, 1, activation="sigmoid")])
    m.compile("sgd", "binary_crossentropy")
    return m
def data():
    x = rng.random((32, 8, 8, 3)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x[..., :1] > 0.5)).map(lambda x, y: (x, tf.cast(y, "float32"))).map(moved).batch(8)
"""
MIXED = """
def mixed(x, y):
    {}
    return 0.5 * (x + a), 0.5 * (y + b)
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(3, activation="softmax")])
    m.compile("sgd", "categorical_crossentropy")
    return m
def data():
    x, y = rng.normal(size=(32, 6)).astype("float32"), np.eye(3, dtype="float32")[rng.integers(0, 3, 32)]
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(8).map(mixed)
"""
DRAWN = "seed = tf.random.uniform([2], maxval=99, dtype=tf.int32); "
FLIP, CROP = "tf.image.stateless_random_flip_left_right", "tf.image.stateless_random_crop"
FAULTS = {
    "two flips": ("pixels-apart", MASKS.format("x = tf.image.random_flip_left_right(x)\n    y = tf.image.random_flip_left_right(y)"), True),
    "two crops": ("pixels-apart", MASKS.format("x = tf.image.random_crop(x, [4, 4, 3])\n    y = tf.image.random_crop(y, [4, 4, 1])"), True),
    "two axes": (
        "pixels-apart",
        MASKS.format(
            "if tf.random.uniform(()) > 0.5:\n        x = tf.image.flip_left_right(x)\n        y = tf.image.flip_up_down(y)"
        ),
        True,
    ),
    "the image alone": ("pixels-apart", MASKS.format("x = tf.image.random_flip_left_right(x)"), False),
    "one layer twice": ("pixels-apart", MASKS.format("x, y = flip(x, training=True), flip(y, training=True)"), False),
    "two partners": ("shuffled-apart", MIXED.format("a = tf.random.shuffle(x)\n    b = tf.random.shuffle(y)"), True),
    "two orders": (
        "shuffled-apart",
        MIXED.format("a = tf.gather(x, tf.random.shuffle(tf.range(8)))\n    b = tf.gather(y, tf.random.shuffle(tf.range(8)))"),
        True,
    ),
}  # fmt: skip
TWINS = {
    "one seed": MASKS.format(f"{DRAWN}x, y = {FLIP}({CROP}(x, [4, 4, 3], seed), seed), {FLIP}({CROP}(y, [4, 4, 1], seed), seed)"),
    "one number": MASKS.format("x, y = tf.image.random_flip_left_right(x, seed=3), tf.image.random_flip_left_right(y, seed=3)"),
    "layers of one seed": MASKS.format("x, y = flip(x, training=True), other(y, training=True)"),
    "both in one": MASKS.format("both = tf.image.random_flip_left_right(tf.concat([x, y], -1)); x, y = both[..., :3], both[..., 3:]"),
    "one condition": MASKS.format("f = tf.random.uniform(()) > 0.5; x, y = tf.cond(f, lambda: x[:, ::-1], lambda: x), tf.cond(f, lambda: tf.reverse(y, [1]), lambda: y)"),
    "colors and holes": MASKS.format(
        "t = tf.random.uniform((), 0, 4, tf.int32); x = tf.concat([x[:t], 0 * x[t:]], 0)\n"
        "    x = tf.ensure_shape(tf.gather(tf.image.random_brightness(x, 0.2), tf.random.shuffle([0, 1, 2]), axis=-1), (8, 8, 3))"
    ),
    "one partner": MIXED.format("order = tf.random.shuffle(tf.range(8))\n    a, b = tf.gather(x, order), tf.gather(y, order)"),
    "a partner of the input": MIXED.format("a, b = tf.random.shuffle(x), y"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_moved_apart_is_found(tmp_path, name):
    rule, text, mended = FAULTS[name]
    path = tmp_path / "train.py"
    path.write_text(HEAD + text)
    told(path, rule, mended)


@pytest.mark.parametrize("name", TWINS)
def test_what_moves_alike_is_left_alone(tmp_path, name):
    path = tmp_path / "train.py"
    path.write_text(HEAD + TWINS[name])
    assert [one.rule for one in found(path)] == []
