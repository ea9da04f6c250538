"""The first fix for more whole programs of strangers on JAX: numbers of Python, masks of keys, weights of other libraries, written rows."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

WARM = """
import math
class Warm(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = layers.Dense(3)
        self.steps = self.add_weight(shape=(), initializer="zeros", trainable=False, name="steps")
    def call(self, x):
        return self.net(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        base = super().compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight)
        beta = {beta}
        return base + beta * ops.mean(ops.square(y_pred))

def build():
    model = Warm()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 7), "float32"), np.zeros((32, 3), "float32")
"""


@pytest.mark.parametrize(("beta", "fixed"), [
    ("min(1.0, int(self.steps) / 100)", 'ops.minimum(1.0, ops.cast(self.steps, "int32") / 100)'),
    ("min(max(0.0, float(self.steps) / 100), 1)", "ops.minimum(ops.maximum(0.0, self.steps / 100), 1)"),
    ("1 - math.exp(-self.steps / 100)", "1 - ops.exp(-self.steps / 100)"),
])  # fmt: skip
def test_what_python_computes_of_a_tensor_is_computed_of_tensors(tmp_path, beta, fixed):
    assert f"+        beta = {fixed}" in first(tmp_path, WARM.format(beta=beta), "value-asked")


PADDED = """
class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.attention = layers.MultiHeadAttention(2, 8)
    def call(self, x, pad):
        return self.attention(x, x, attention_mask=pad)

def build():
    ids = keras.Input((20,), dtype="int32")
    x = Block()(layers.Embedding(50, 16)(ids), ops.not_equal(ids, 0))
    model = keras.Model(ids, layers.Dense(1)(layers.GlobalAveragePooling1D()(x)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.arange(480).reshape(24, 20) % 50, np.zeros((24, 1), "float32")
"""


def test_a_mask_of_keys_is_none_of_queries_while_the_batch_is_unknown(tmp_path):
    assert "attention_mask=pad[:, None, :])" in first(tmp_path, PADDED, "attention-shapes")


TORCH = """
STATE = {{"dense.weight": np.zeros((32, 10), "float32"), "conv.weight": np.zeros((8, 3, 5, 5), "float32"), "bias": np.zeros(32, "float32")}}

def build():
    model = keras.Sequential([keras.Input({shape}), {layer}])
    model.layers[0].{call}
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((20, *{shape}), "float32"), np.zeros((20, *model_shape), "float32")
"""


@pytest.mark.parametrize(("shape", "layer", "call", "out", "fixed"), [
    ("(10,)", "layers.Dense(32)", 'set_weights([STATE["dense.weight"], STATE["bias"]])', "(32,)", 'STATE["dense.weight"].T'),
    ("(10,)", "layers.Dense(32)", 'kernel.assign(STATE["dense.weight"])', "(32,)", 'STATE["dense.weight"].T'),
    ("(9, 9, 3)", "layers.Conv2D(8, 5, use_bias=False)", 'set_weights([STATE["conv.weight"]])', "(5, 5, 8)", 'STATE["conv.weight"].transpose(2, 3, 1, 0)'),
])  # fmt: skip
def test_weights_of_another_library_are_transposed(tmp_path, shape, layer, call, out, fixed):
    code = TORCH.format(shape=shape, layer=layer, call=call).replace("model_shape", out)
    assert fixed in first(tmp_path, code, "weights-apart")


WRITTEN = """
ROWS = 32
def build():
    inputs = keras.Input((9,))
    x = ops.reshape(layers.Dense(16)(inputs), ({rows}, 4, 4))
    model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((100, 9), "float32"), np.zeros((100, 1), "float32")
"""


@pytest.mark.parametrize("rows", ["32", "ROWS"])
def test_written_rows_of_a_functional_reshape_are_inferred(tmp_path, rows):
    assert "+    x = ops.reshape(layers.Dense(16)(inputs), (-1, 4, 4))" in first(tmp_path, WRITTEN.format(rows=rows), "fixed-batch")


GAN = """
class GAN(keras.Model):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(7)
        self.gen = keras.Sequential([keras.Input((16,)), layers.Dense(8 * 8 * 32), layers.Reshape((8, 8, 32)), layers.UpSampling2D(4), layers.Conv2D(1, 3, padding="same")])
        self.disc = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(16, 3, strides=2), layers.GlobalMaxPooling2D(), layers.Dense(1)])
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)
    def call(self, x):
        return self.disc(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        n = ops.shape(x)[0]
        fake = self.gen(keras.random.normal((n, 16), seed=self.seed))
        both = ops.concatenate([fake, x], axis=0)
        return self.bce(ops.concatenate([ops.ones((n, 1)), ops.zeros((n, 1))], axis=0), self.disc(both))

def build():
    model = GAN()
    model.compile("sgd")
    return model

def data():
    return np.zeros((32, 28, 28, 1), "float32"), None
"""


def test_a_generator_starts_so_that_its_pictures_are_as_large_as_the_real_ones_which_keep_their_size(tmp_path):
    assert "layers.Dense(1568), layers.Reshape((7, 7, 32))" in first(tmp_path, GAN, "loss-raises")


TAGGER = """
class MaskedMean(layers.Layer):
    def call(self, x, ids):
        keep = ids > 0
        return jnp.stack([jnp.mean(x[i][keep[i]], axis=0) for i in range(x.shape[0])])

class Tagger(keras.Model):
    def __init__(self):
        super().__init__()
        self.emb, self.pool, self.out = layers.Embedding(60, 12), MaskedMean(), layers.Dense(1)
    def call(self, ids):
        return self.out(self.pool(self.emb(ids), ids))

def build():
    model = Tagger()
    model.compile("sgd", "mse")
    return model

def data():
    return np.arange(144).reshape(16, 9) % 60, np.zeros((16, 1), "float32")
"""


def test_a_mean_of_the_selected_steps_of_each_sample_keeps_its_shape(tmp_path):
    patch = first(tmp_path, TAGGER, "value-asked")
    assert "ops.sum(ops.where(keep[i][..., None], x[i], 0.0), axis=0) / ops.maximum(" in patch


HEADS = """
def build():
    inputs = keras.Input((30, 4))
    hidden = layers.LSTM(8)(inputs)
    outputs = [layers.Dense(1, name="level")(hidden), layers.Dense(3, activation="softmax", name="regime")(hidden)]
    model = keras.Model(inputs, outputs)
    model.compile("sgd", loss={losses})
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 30, 4)).astype("float32"), [rng.normal(size=(40, 1)).astype("float32"), rng.integers(0, 3, 40)]
"""


@pytest.mark.parametrize(("losses", "fixed"), [
    ('["sparse_categorical_crossentropy", "mse"]', '["mse", "sparse_categorical_crossentropy"]'),
    ('["sparse_categorical_crossentropy", keras.losses.Huber()]', '[keras.losses.Huber(), "sparse_categorical_crossentropy"]'),
])  # fmt: skip
def test_losses_in_the_wrong_order_are_swapped(tmp_path, losses, fixed):
    assert f"loss={fixed})" in first(tmp_path, HEADS.format(losses=losses))


WINDOWS = """
STEPS, FEATURES = 48, 5

def build():
    model = keras.Sequential([keras.Input((STEPS, FEATURES)), {layer}, layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    series = np.random.default_rng(0).normal(size=(FEATURES, 120)).astype("float32")
    return np.stack([series[:, i : i + STEPS] for i in range(60)]), series[0, STEPS : STEPS + 60][:, None]
"""


@pytest.mark.parametrize("layer", ['layers.Conv1D(16, 5, padding="causal")', "layers.LSTM(8, return_sequences=True)"])
def test_windows_with_their_features_in_front_are_transposed_for_layers_that_go_through_steps(tmp_path, layer):
    assert "np.transpose(np.stack(" in first(tmp_path, WINDOWS.format(layer=layer), "swapped-axes")


DISTANCE = """
def distance(pair):
    a, b = pair
    return ops.sqrt(ops.maximum(ops.sum(ops.square(a - b), axis=1), 1e-7))

def build():
    base = keras.Sequential([keras.Input((28,)), layers.Dense(10)])
    a, b = keras.Input((28,)), keras.Input((28,))
    model = keras.Model([a, b], layers.Dense(1)(layers.Lambda(distance, output_shape=(1,))([base(a), base(b)])))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.zeros((40, 28), "float32"), np.ones((40, 28), "float32")], np.zeros((40, 1), "float32")
"""


def test_a_distance_that_is_declared_with_an_axis_keeps_it(tmp_path):
    assert "ops.sum(ops.square(a - b), axis=1, keepdims=True)" in first(tmp_path, DISTANCE, "declared-shape")


FILM = """
class Modulated(layers.Layer):
    def __init__(self, channels):
        super().__init__()
        self.fc = layers.Dense(2 * channels)
    def call(self, maps, cond):
        gamma, beta = ops.split(self.fc(cond), 2, axis=0)
        return maps * (1 + gamma[:, None, None, :]) + beta[:, None, None, :]

def build():
    maps, cond = keras.Input((20, 20, 3)), keras.Input((7,))
    x = layers.GlobalAveragePooling2D()(Modulated(12)(layers.Conv2D(12, 3)(maps), cond))
    model = keras.Model([maps, cond], layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.zeros((32, 20, 20, 3), "float32"), np.zeros((32, 7), "float32")], np.zeros((32, 1), "float32")
"""


def test_a_split_of_what_a_layer_returns_leaves_the_samples_together(tmp_path):
    assert "gamma, beta = ops.split(self.fc(cond), 2, axis=-1)" in first(tmp_path, FILM, "op-shapes")


DECODER = """
def build():
    model = keras.Sequential([
        keras.Input((28, 28, 1)), layers.Flatten(), layers.Dense(7 * 7 * 16), layers.Reshape((7, 7, 16)),
        layers.Conv2DTranspose(8, 3, strides=2, activation="relu"),
        layers.Conv2DTranspose(1, 3, strides=2, activation="sigmoid"),
    ])
    model.compile("sgd", "mse")
    return model

def data():
    x = np.zeros((32, 28, 28, 1), "float32")
    return x, x
"""


def test_transposed_convolutions_double_their_maps_and_no_more(tmp_path):
    patch = first(tmp_path, DECODER, "output-size")
    assert patch.count('padding="same"') == 2 and "Cropping" not in patch


TABLE = """
MATRIX = np.random.default_rng(1).normal(size=(121, 25)).astype("float32")

def build():
    ids = keras.Input((18,), dtype="int32")
    table = layers.Embedding({rows}, 25, embeddings_initializer=keras.initializers.Constant(MATRIX), trainable=False)
    model = keras.Model(ids, layers.Dense(1)(layers.GlobalAveragePooling1D()(table(ids))))
    model.compile("sgd", "mse")
    return model

def data():
    return np.arange(360).reshape(20, 18) % 120, np.zeros((20, 1), "float32")
"""


def test_a_table_of_constants_is_as_large_as_its_array(tmp_path):
    assert "layers.Embedding(121, 25, " in first(tmp_path, TABLE.format(rows=120), "weights-apart")
    assert not serious(traced(tmp_path, TABLE.format(rows=121)))


BYTES = """
class Stem(layers.Layer):
    def build(self, shape):
        self.k = self.add_weight(shape=(3, 3, shape[-1], 8))
    def call(self, pictures):
        return jax.lax.conv_general_dilated(pictures, self.k.value, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

def build():
    inputs = keras.Input((32, 32, 3), dtype="uint8")
    model = keras.Model(inputs, layers.Dense(1)(layers.GlobalAveragePooling2D()(Stem()(inputs))))
    model.compile("sgd", "mse")
    return model

def data():
    return np.arange(16 * 32 * 32 * 3).reshape(16, 32, 32, 3).astype("uint8"), np.zeros((16, 1), "float32")
"""


def test_pictures_of_bytes_are_cast_for_a_convolution_of_jax(tmp_path):
    assert 'conv_general_dilated(ops.cast(pictures, "float32"), ' in first(tmp_path, BYTES, "dtype-mix")


SHUFFLE = """
class Own(layers.Layer):
    def call(self, x):
        x = {split}
        return ops.reshape(x, {joined})

def build():
    inputs = keras.Input({shape})
    model = keras.Model(inputs, layers.{head}(Own()(layers.Dense(12)(inputs))))
    model.compile("sgd", "mse")
    return model

def data():
    return np.random.default_rng(0).random((16, *{shape})).astype("float32"), np.zeros({labels}, "float32")
"""
BLOCKS = ("ops.reshape(x, (-1, 12, 10, 2, 2, 3))", "(-1, 24, 20, 3)", "(12, 10, 3)", "Conv2D(3, 1)", "(16, 24, 20, 3)")
PATCHES = ("ops.reshape(x, (-1, 6, 4, 5, 4, 12))", "(-1, 30, 192)", "(24, 20, 3)", "Dense(1)", "(16, 30, 1)")


def shuffled(split, joined, shape, head, labels):
    return SHUFFLE.format(split=split, joined=joined, shape=shape, head=head, labels=labels)


@pytest.mark.parametrize("program", [BLOCKS, PATCHES])
def test_rows_of_blocks_are_joined_with_rows(tmp_path, program):
    turned = "ops.transpose(x, (0, 1, 3, 2, 4, 5))"
    assert f"return ops.reshape({turned}, {program[1]})" in first(tmp_path, shuffled(*program), "reshape-interleaves")
    mended = shuffled(*program).replace("return ops.reshape(x", f"return ops.reshape({turned}")
    assert not serious(traced(tmp_path, mended))


CROSSED = """
class Cross(layers.Layer):
    def __init__(self):
        super().__init__()
        self.attention = layers.MultiHeadAttention(2, 16)
    def call(self, q, ctx):
        return q + self.attention(query=ctx, value=q{key})

def build():
    text, picture = keras.Input((14, 32)), keras.Input((36, 32))
    model = keras.Model([text, picture], layers.Dense(1)(layers.GlobalAveragePooling1D()(Cross()(text, picture))))
    model.compile("sgd", "mse")
    return model

def data():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(16, 14, 32)).astype("float32"), rng.normal(size=(16, 36, 32)).astype("float32")], np.zeros((16, 1), "float32")
"""


@pytest.mark.parametrize(("key", "fixed"), [(", key=q", ", key=ctx"), ("", "")])
def test_a_query_that_is_given_by_name_is_swapped_with_the_value(tmp_path, key, fixed):
    assert f"self.attention(query=q, value=ctx{fixed})" in first(tmp_path, CROSSED.format(key=key), "op-shapes")


ENSEMBLE = """
class Ensemble(keras.Model):
    def __init__(self):
        super().__init__()
        self.nets = [layers.Dense(1) for _ in range(3)]
    def call(self, x):
        outs = [net(x) for net in self.nets]
        return {mean}

def build():
    model = Ensemble()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 5), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize(("mean", "fixed"), [
    ("np.mean(outs, axis=0)", "ops.mean(outs, axis=0)"),
    ("ops.mean(np.array(outs), axis=0)", "ops.mean(ops.stack(outs), axis=0)"),
])  # fmt: skip
def test_a_list_of_tensors_is_no_array_of_numpy(tmp_path, mean, fixed):
    assert f"+        return {fixed}" in first(tmp_path, ENSEMBLE.format(mean=mean), "value-asked")


def test_a_flatten_in_front_of_a_recurrent_layer_goes(tmp_path):
    code = WINDOWS.format(layer='layers.Conv1D(16, 5, padding="causal")').replace("STEPS, FEATURES)), ", "STEPS, FEATURES)), layers.Flatten(), ")
    code = code.replace("layers.GlobalAveragePooling1D(), ", "").replace("layers.Flatten(), layers.Conv1D(16", "layers.Conv1D(16")
    code = code.replace('padding="causal"), ', 'padding="causal"), layers.Flatten(), layers.LSTM(4), ').replace(
        "for i in range(60)])", "for i in range(60)]).swapaxes(1, 2)"
    )
    assert "-" in first(tmp_path, code, "layer-rank") and "Reshape" not in first(tmp_path, code)
