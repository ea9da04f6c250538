"""The first fix for whole programs of strangers on JAX: views, adapters, columns of data, pictures of whole numbers."""

from __future__ import annotations

import pytest
from strangers import serious, traced


def first(tmp_path, code, rule=""):
    finding = serious(traced(tmp_path, code))[0]
    assert not rule or finding.rule == rule
    assert finding.fixes
    assert finding.fixes[0].proof == "source"
    return finding.fixes[0].patch


VIEWS = """
class Views(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = layers.Dense(8)
    def call(self, pair):
        a, b = pair
        return self.encoder(a), self.encoder(b)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        za, zb = y_pred
        z = jnp.concatenate([za, zb], axis=1)
        z = z / jnp.linalg.norm(z, axis=-1, keepdims=True)
        n = za.shape[0]
        alike = z @ z.T / 0.1 - 1e9 * jnp.eye(2 * n)
        other = jnp.concatenate([jnp.arange(n) + n, jnp.arange(n)])
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(alike, axis=-1), other[:, None], axis=1))

def build():
    model = Views()
    model.compile("sgd")
    return model

def data():
    a = np.random.default_rng(0).normal(size=(32, 12)).astype("float32")
    return (a, a + 0.1), None
"""


def test_two_views_stand_one_below_the_other(tmp_path):
    assert "+        z = jnp.concatenate([za, zb], axis=0)" in first(tmp_path, VIEWS)


ADAPTER = """
class Adapter(layers.Layer):
    def __init__(self, units, rank=4):
        super().__init__()
        self.units, self.rank = units, rank
    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), trainable=False)
        self.a = self.add_weight(shape=(self.rank, shape[-1]))
        self.b = self.add_weight(shape=(self.units, self.rank), initializer="zeros")
    def call(self, x):
        w = self.kernel + 2.0 * {product}
        return x @ w

def build():
    model = keras.Sequential([keras.Input((12, 32)), Adapter(48), Adapter(32), layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((20, 12, 32), "float32"), np.zeros((20, 1), "float32")
"""


@pytest.mark.parametrize(("product", "fixed"), [
    ("jnp.matmul(self.b.value, self.a.value)", "ops.transpose(2.0 * jnp.matmul(self.b.value, self.a.value))"),
    ("(self.b @ self.a)", "ops.transpose(2.0 * (self.b @ self.a))"),
])  # fmt: skip
def test_an_adapter_in_the_wrong_order_is_transposed_and_its_layer_keeps_its_width(tmp_path, product, fixed):
    assert f"+        w = self.kernel + {fixed}" in first(tmp_path, ADAPTER.format(product=product))


COLUMNS = """
class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        image, meta = np.zeros((8, 16, 16, 3), "float32"), np.stack([np.zeros(8), np.zeros(8), np.zeros(8)]).astype("float32")
        return {"image": image, "meta": meta}, np.zeros((8, 1), "float32")

def build():
    image, meta = keras.Input((16, 16, 3), name="image"), keras.Input((3,), name="meta")
    joined = layers.Concatenate()([layers.GlobalAveragePooling2D()(image), layers.Dense(8)(meta)])
    model = keras.Model({"image": image, "meta": meta}, layers.Dense(1)(joined))
    model.compile("sgd", "mse")
    return model

def data():
    return Rows()
"""


def test_columns_that_are_stacked_as_rows_are_transposed(tmp_path):
    assert "np.transpose(meta, (1, 0))" in first(tmp_path, COLUMNS, "swapped-axes")


PICTURES = """
class Scaled(layers.Layer):
    def call(self, x):
        if jnp.max(x) > 1.5:
            x = x / 255.0
        return x

def build():
    model = keras.Sequential([keras.Input((12, 12, 1)), Scaled(), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(10)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (32, 12, 12, 1)).astype("float32"), rng.integers(0, 10, 32)
"""


def test_the_largest_number_of_pictures_is_no_constant(tmp_path):
    assert "+        x = ops.where(jnp.max(x) > 1.5, x / 255.0, x)" in first(tmp_path, PICTURES)
