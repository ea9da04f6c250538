"""Programs on JAX where several edits make the shapes fit, and one of them is what was meant."""

from __future__ import annotations

from strangers import serious, traced

ROTARY = """
class Rotary(layers.Layer):
    def call(self, x):
        b, t, h, d = ops.shape(x)
        at = jnp.arange(t, dtype=x.dtype)
        turns = at[:, None] / 10000 ** (jnp.arange(0, d, 2, dtype=x.dtype) / d)
        cos, sin = jnp.cos(turns){heads}, jnp.sin(turns){heads}
        x1, x2 = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([x1 * cos - x2 * sin, x1 * sin + x2 * cos], axis=-1)
def build():
    inputs = keras.Input((32,), dtype="int32")
    x = layers.EinsumDense("btd,dhk->bthk", output_shape=(32, 4, 16))(layers.Embedding(256, 64)(inputs))
    x = layers.EinsumDense("bthk,hkd->btd", output_shape=(None, 64))(Rotary()(x))
    model = keras.Model(inputs, layers.Dense(256)(x))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model
def data():
    return np.zeros((48, 32), "int32"), np.zeros((48, 32), "int32")
"""


def test_angles_get_the_axis_of_the_heads_and_keep_their_positions(tmp_path):
    (finding,) = serious(traced(tmp_path, ROTARY.format(heads="")))
    assert [fix.proof for fix in finding.fixes] == ["source"]
    assert "x1 * cos[:, None, :] - x2 * sin[:, None, :], x1 * sin[:, None, :] + x2 * cos[:, None, :]" in finding.fixes[0].patch
    assert traced(tmp_path, ROTARY.format(heads="[:, None, :]")).ok


ADAPTED = """
class Adapted(layers.Layer):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.down = layers.Dense(rank, use_bias=False)
        self.up = layers.Dense(base.kernel.shape[{axis}], use_bias=False, kernel_initializer="zeros")
    def call(self, x):
        return self.base(x) + self.up(self.down(x)) * 0.5
def build():
    base = layers.Dense(96, activation="gelu", name="wide")
    inputs = keras.Input((48,))
    base(inputs)
    model = keras.Model(inputs, layers.Dense(2)(Adapted(base)(inputs)))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 48), "float32"), np.zeros((64, 2), "float32")
"""


def test_an_adapter_gets_the_other_size_of_the_kernel_before_the_layer_is_changed(tmp_path):
    (finding,) = serious(traced(tmp_path, ADAPTED.format(axis=0)))
    assert finding.fixes[0].proof == "source"
    assert "layers.Dense(base.kernel.shape[1]," in finding.fixes[0].patch
    assert traced(tmp_path, ADAPTED.format(axis=-1)).ok


DROPPED = """
class Dropped(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(0)
    def call(self, x, training=False):
        if not training:
            return x
        keep = keras.random.uniform((ops.shape(x)[0],), seed=self.seed) > 0.2
        return x * keep
def build():
    inputs = keras.Input((32, 32, 3))
    x = Dropped()(layers.Conv2D(24, 3, strides=2, padding="same")(inputs))
    model = keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((40, 32, 32, 3), "float32"), np.zeros((40, 10), "float32")
"""


def test_a_number_for_each_sample_does_not_become_one_for_each_channel(tmp_path):
    (finding,) = serious(traced(tmp_path, DROPPED))
    assert "keep[:, None, None, None]" in finding.fixes[0].patch
    assert not any("ops.shape(x)[3]" in fix.patch for fix in finding.fixes)


STEP = """
class Net(keras.Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.error = keras.metrics.MeanAbsoluteError(name="error"){more}
    def loss_of(self, trained, rest, x, y):
        pred, rest = self.stateless_call(trained, rest, x, training=True)
        return jnp.mean(jnp.square(pred - y)), (pred, rest)
    def train_step(self, state, data):
        trained, rest, slots, metrics = state
        x, y = data
        (loss, (pred, rest)), grads = jax.value_and_grad(self.loss_of, has_aux=True)(trained, rest, x, y)
        trained, slots = self.optimizer.stateless_apply(slots, grads, trained)
        metrics = self.error.stateless_update_state(metrics, y, pred)
        return {{"loss": loss}}, (trained, rest, slots, metrics)
def build():
    inputs = keras.Input((13,))
    model = Net(inputs, layers.Dense(1)(layers.Dense(64)(inputs)))
    model.compile("adam")
    return model
def data():
    return np.zeros((64, 13), "float32"), np.zeros((64, 1), "float32")
"""
LISTED = "\n    @property\n    def metrics(self):\n        return [self.error]"


def test_the_variables_of_all_metrics_are_not_those_of_one(tmp_path):
    (finding,) = serious(traced(tmp_path, STEP.format(more="")))
    assert (finding.fact.metric, finding.fact.given, finding.fact.has) == ("self.error", 4, 2)
    assert finding.fixes[0].proof == "source"
    assert "+        return [self.error]" in finding.fixes[0].patch
    assert traced(tmp_path, STEP.format(more=LISTED)).ok


GENERATED = """
class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(8, 3, strides=2), layers.GlobalMaxPooling2D(), layers.Dense(1)])
        self.paint = keras.Sequential([
            keras.Input((16,)), layers.Dense(7 * 7 * 8), layers.Reshape((7, 7, 8)), layers.Conv2DTranspose(8, 4, strides=2, padding="same"),
            layers.Conv2DTranspose(1, 4, strides={strides}, padding="same"),
        ])
        self.seed = keras.random.SeedGenerator(0)
    def call(self, x):
        return self.judge(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        fake = self.paint(keras.random.normal((x.shape[0], 16), seed=self.seed))
        return jnp.mean(self.judge(jnp.concatenate([fake, x], axis=0)))
def build():
    model = Gan()
    model.compile("adam")
    return model
def data():
    return np.zeros((64, 28, 28, 1), "float32")
"""


def test_a_generator_upsamples_to_the_size_of_the_pictures(tmp_path):
    (finding,) = serious(traced(tmp_path, GENERATED.format(strides=1)))
    assert finding.fixes[0].proof == "source"
    assert "layers.Conv2DTranspose(1, 4, strides=2" in finding.fixes[0].patch
    assert "one of them must be 1" not in finding.why
    assert traced(tmp_path, GENERATED.format(strides=2)).ok


POOLED = """
def build():
    inputs = keras.Input((96, 96, 3))
    x = layers.Conv2D(8, 3)(layers.AveragePooling2D()(inputs))
    x = layers.GlobalAveragePooling2D()(layers.AveragePooling2D(padding="same")(x))
    model = keras.Model(inputs, layers.Dense(2)(x))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 96, 96, 3), "float32"), np.zeros((64, 2), "float32")
"""


def test_every_pooling_gets_the_size_that_keras_2_took(tmp_path):
    (finding,) = serious(traced(tmp_path, POOLED))
    assert finding.fixes[0].proof == "source"
    assert "layers.AveragePooling2D(pool_size=(2, 2))(inputs)" in finding.fixes[0].patch
    assert "layers.AveragePooling2D(padding='same', pool_size=(2, 2))(x)" in finding.fixes[0].patch.replace('"', "'")
