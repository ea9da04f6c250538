"""Code of the user's own on TensorFlow: training steps, cells, attention by hand, settings in dicts, datasets that are zipped."""

from __future__ import annotations

from own_code import Own

OWN_CODE: dict[str, tuple[str, Own]] = {
    "a norm of each feature before samples are compared": ("samples-summed", Own("""
def encoder(width, dim):
    return keras.Sequential([L.Dense(w, activation="relu") for w in (width, width)] + [L.Dense(dim)])

class SimClr(keras.Model):
    def __init__(self, dim=16, temperature=0.1):
        super().__init__()
        self.encoder = encoder(48, dim)
        self.temperature = temperature
    def augment(self, x):
        return x + tf.random.normal(tf.shape(x), stddev=0.1)
    def call(self, x):
        return self.encoder(x)
    def info_nce(self, a, b):
        a = tf.math.l2_normalize(a, axis=0)
        b = tf.math.l2_normalize(b, axis=0)
        logits = tf.matmul(a, b, transpose_b=True) / self.temperature
        labels = tf.range(tf.shape(a)[0])
        return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))
    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = self.info_nce(self.encoder(self.augment(x)), self.encoder(self.augment(x)))
        weights = self.encoder.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}

def build():
    model = SimClr()
    model.compile(optimizer="adam")
    return model

def data():
    x = np.random.default_rng(5).normal(size=(96, 20)).astype("float32")
    return tf.data.Dataset.from_tensor_slices(x).batch(24)
""", (
        ("        a = tf.math.l2_normalize(a, axis=0)",
         "        a = tf.math.l2_normalize(a, axis=-1)"),
        ("        b = tf.math.l2_normalize(b, axis=0)",
         "        b = tf.math.l2_normalize(b, axis=-1)"),
    ))),
    "heads that no transpose follows": ("reshape-interleaves", Own("""
class SelfAttention(L.Layer):
    def __init__(self, heads, size):
        super().__init__()
        self.heads, self.size = heads, size
        self.q, self.k, self.v = (L.Dense(heads * size) for _ in range(3))
        self.o = L.Dense(heads * size)
    def split(self, x):
        shape = tf.shape(x)
        return tf.reshape(x, (shape[0], shape[1], self.heads, self.size))
    def call(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(float(self.size))
        context = tf.matmul(tf.nn.softmax(scores, axis=-1), v)
        shape = tf.shape(x)
        return self.o(tf.reshape(context, (shape[0], shape[1], self.heads * self.size)))

class Encoder(keras.Model):
    def __init__(self, depth=2, heads=4, size=8):
        super().__init__()
        self.proj = L.Dense(heads * size)
        self.att = [SelfAttention(heads, size) for _ in range(depth)]
        self.norm = [L.LayerNormalization() for _ in range(depth)]
        self.pool = L.GlobalAveragePooling1D()
        self.head = L.Dense(3)
    def call(self, x):
        x = self.proj(x)
        for att, norm in zip(self.att, self.norm):
            x = norm(x + att(x))
        return self.head(self.pool(x))

def build():
    model = Encoder()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    rng = np.random.default_rng(21)
    return rng.normal(size=(40, 22, 6)).astype("float32"), rng.integers(0, 3, 40)
""", (
        ("        return tf.reshape(x, (shape[0], shape[1], self.heads, self.size))",
         "        return tf.transpose(tf.reshape(x, (shape[0], shape[1], self.heads, self.size)), (0, 2, 1, 3))"),
    ))),
    "heads with keys turned for the product": ("reshape-interleaves", Own("""
class MHA(L.Layer):
    def __init__(self, dim, heads, **kw):
        super().__init__(**kw)
        self.h, self.d = heads, dim // heads
        self.qkv = [L.Dense(dim, use_bias=False) for _ in range(3)]
        self.out = L.Dense(dim); self.drop = L.Dropout(0.1)
    def call(self, x, training=None):
        n = x.shape[1]
        q = keras.ops.reshape(self.qkv[0](x), (-1, n, self.h, self.d))
        k = keras.ops.reshape(self.qkv[1](x), (-1, n, self.h, self.d))
        v = keras.ops.reshape(self.qkv[2](x), (-1, n, self.h, self.d))
        att = keras.ops.matmul(q * self.d ** -0.5, keras.ops.transpose(k, (0, 1, 3, 2)))
        att = self.drop(keras.ops.softmax(att, axis=-1), training=training)
        y = keras.ops.reshape(keras.ops.matmul(att, v), (-1, n, self.h * self.d))
        return self.out(y)
def build():
    i = keras.Input((12, 16)); x = L.LayerNormalization()(i + MHA(16, 2)(i))
    m = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x))); m.compile("adam", "mse"); return m
def data():
    r = np.random.default_rng(0); return r.random((32, 12, 16)).astype("float32"), r.random((32, 1)).astype("float32")
""", (
        ("        q = keras.ops.reshape(self.qkv[0](x), (-1, n, self.h, self.d))",
         "        q = keras.ops.transpose(keras.ops.reshape(self.qkv[0](x), (-1, n, self.h, self.d)), (0, 2, 1, 3))"),
        ("        y = keras.ops.reshape(keras.ops.matmul(att, v), (-1, n, self.h * self.d))",
         "        y = keras.ops.reshape(keras.ops.transpose(keras.ops.matmul(att, v), (0, 2, 1, 3)), (-1, n, self.h * self.d))"),
    ))),
    "noise with an axis more than a row": ("batch-broadcast", Own("""
FEATURES, NOISE = 24, 6

def make_generator():
    return keras.Sequential([keras.Input((NOISE,)), L.Dense(32, activation="relu"), L.Dense(FEATURES)])

def make_critic():
    return keras.Sequential([keras.Input((FEATURES,)), L.Dense(32, activation="relu"), L.Dense(1)])

class Wgan(keras.Model):
    def __init__(self, weight=10.0):
        super().__init__()
        self.generator = make_generator()
        self.critic = make_critic()
        self.weight = weight
    def compile(self, g_opt, c_opt):
        super().compile()
        self.g_opt, self.c_opt = g_opt, c_opt
    def call(self, z):
        return self.generator(z)
    def penalty(self, real, fake):
        size = tf.shape(real)[0]
        alpha = tf.random.uniform([size, 1, 1, 1])
        mixed = real + alpha * (fake - real)
        with tf.GradientTape() as inner:
            inner.watch(mixed)
            score = self.score(mixed)
        grads = inner.gradient(score, mixed)
        norm = tf.sqrt(tf.reduce_sum(tf.square(grads), axis=-1) + 1e-8)
        return tf.reduce_mean((norm - 1.0) ** 2)
    def score(self, x):
        for layer in self.critic.layers:
            x = layer(x)
        return x
    def train_step(self, real):
        z = tf.random.normal([tf.shape(real)[0], NOISE])
        with tf.GradientTape() as tape:
            fake = self.generator(z, training=True)
            loss = tf.reduce_mean(self.score(fake)) - tf.reduce_mean(self.score(real)) + self.weight * self.penalty(real, fake)
        self.c_opt.apply_gradients(zip(tape.gradient(loss, self.critic.trainable_variables), self.critic.trainable_variables))
        with tf.GradientTape() as tape:
            g_loss = -tf.reduce_mean(self.critic(self.generator(z, training=True)))
        self.g_opt.apply_gradients(zip(tape.gradient(g_loss, self.generator.trainable_variables), self.generator.trainable_variables))
        return {"c": loss, "g": g_loss}

def build():
    model = Wgan()
    model.compile(keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-4))
    return model

def data():
    x = np.random.default_rng(0).normal(size=(64, FEATURES)).astype("float32")
    return tf.data.Dataset.from_tensor_slices(x).batch(16, drop_remainder=True)
""", (
        ("        alpha = tf.random.uniform([size, 1, 1, 1])",
         "        alpha = tf.random.uniform((size,) + (1,) * (len(fake.shape) - 1))"),
    ))),
    "features shuffled before zip": ("shuffled-apart", Own("""
def pipeline(x, y, batch=16):
    features = tf.data.Dataset.from_tensor_slices(x).map(lambda r: (r - 0.5) * 2.0).shuffle(len(x))
    targets = tf.data.Dataset.from_tensor_slices(y)
    return tf.data.Dataset.zip((features, targets)).batch(batch)

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv = L.Conv1D(8, 3, activation="relu")
        self.pool = L.GlobalMaxPooling1D()
        self.out = L.Dense(1, activation="sigmoid")
    def call(self, x):
        return self.out(self.pool(self.conv(x)))

def build():
    net = Net()
    net.compile("adam", "binary_crossentropy")
    return net

def data():
    rng = np.random.default_rng(13)
    x = rng.random((80, 18, 2)).astype("float32")
    return pipeline(x, (x.mean((1, 2)) > 0.5).astype("float32")[:, None])
""", (
        ("    return tf.data.Dataset.zip((features, targets)).batch(batch)",
         "    return tf.data.Dataset.zip((features, targets)).shuffle(len(x)).batch(batch)"),
    ))),
    "one score of each step by tensordot": ("one-unit-softmax", Own("""
class AttentivePool(L.Layer):
    def __init__(self, hidden, **kw):
        super().__init__(**kw)
        self.hidden = hidden
    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(shape[-1], self.hidden))
        self.u = self.add_weight(name="u", shape=(self.hidden, 1))
        super().build(shape)
    def call(self, h):
        e = tf.tensordot(tf.tanh(tf.tensordot(h, self.w, axes=1)), self.u, axes=1)
        a = tf.nn.softmax(e)
        return tf.reduce_sum(a * h, axis=1)
    def get_config(self):
        return {**super().get_config(), "hidden": self.hidden}

def build():
    inp = keras.Input((20, 7))
    h = L.Bidirectional(L.LSTM(12, return_sequences=True))(inp)
    h = AttentivePool(10)(h)
    out = L.Dense(1, activation="sigmoid")(h)
    model = keras.Model(inp, out)
    model.compile("adam", "mse", metrics=["accuracy"])
    return model

def data():
    rng = np.random.default_rng(4)
    return rng.normal(size=(64, 20, 7)).astype("float32"), rng.integers(0, 2, (64, 1)).astype("float32")
""", (
        ("        a = tf.nn.softmax(e)",
         "        a = tf.nn.softmax(e, axis=1)"),
    ))),
    "the recurrent weight of a cell": ("op-shapes", Own("""
class LeakyCell(L.Layer):
    def __init__(self, units, leak=0.3, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.leak = leak
        self.state_size = units
        self.output_size = units
    def build(self, input_shape):
        features = input_shape[-1]
        self.kernel = self.add_weight(shape=(features, self.units), initializer="glorot_uniform", name="kernel")
        self.recurrent = self.add_weight(shape=(features, self.units), initializer="orthogonal", name="recurrent")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")
        self.built = True
    def call(self, inputs, states):
        prev = states[0]
        drive = keras.ops.matmul(inputs, self.kernel) + keras.ops.matmul(prev, self.recurrent) + self.bias
        new = (1 - self.leak) * prev + self.leak * keras.ops.tanh(drive)
        return new, [new]
    def get_config(self):
        return {**super().get_config(), "units": self.units, "leak": self.leak}

def build():
    model = keras.Sequential([
        keras.Input((25, 6)),
        L.RNN(LeakyCell(20), return_sequences=False),
        L.Dense(1),
    ])
    model.compile("adam", "mse")
    return model

def data():
    rng = np.random.default_rng(7)
    return rng.normal(size=(48, 25, 6)).astype("float32"), rng.normal(size=(48, 1)).astype("float32")
""", (
        ('        self.recurrent = self.add_weight(shape=(features, self.units), initializer="orthogonal", name="recurrent")',
         '        self.recurrent = self.add_weight(shape=(self.units, self.units), initializer="orthogonal", name="recurrent")'),
    ))),
    "the recurrent weight of a cell with gates": ("op-shapes", Own("""
class GatedCell(L.Layer):
    def __init__(self, hidden):
        super().__init__(); self.hidden = hidden
    @property
    def state_size(self):
        return self.hidden
    def build(self, shape):
        d = shape[-1]
        self.wx = self.add_weight(name="wx", shape=(d, 2 * self.hidden))
        self.wh = self.add_weight(name="wh", shape=(d, 2 * self.hidden))
    def call(self, x, states):
        h = states[0]
        gates = tf.matmul(x, self.wx) + tf.matmul(h, self.wh)
        z, c = tf.split(gates, 2, axis=-1)
        z = tf.sigmoid(z)
        new = z * h + (1 - z) * tf.tanh(c)
        return new, [new]
def build():
    m = keras.Sequential([L.RNN(GatedCell(12)), L.Dense(1)]); m.compile("adam", "mse"); return m
def data():
    r = np.random.default_rng(0); return r.random((32, 9, 5)).astype("float32"), r.random((32, 1)).astype("float32")
""", (
        ('        self.wh = self.add_weight(name="wh", shape=(d, 2 * self.hidden))',
         '        self.wh = self.add_weight(name="wh", shape=(self.hidden, 2 * self.hidden))'),
    ))),
    "weights that build sizes by the rows of a picture": ("op-shapes", Own("""
class Fire(L.Layer):
    def __init__(self, out):
        super().__init__(); self.out = out
    def build(self, input_shape):
        self.wa = self.add_weight(shape=(input_shape[1], self.out))
        self.wb = self.add_weight(shape=(input_shape[1], self.out))
        self.wc = self.add_weight(shape=(input_shape[1], self.out))
    def call(self, x):
        return keras.ops.relu(keras.ops.matmul(x, self.wa)) * keras.ops.sigmoid(x @ self.wb) + x @ self.wc
def build():
    m = keras.Sequential([keras.Input((10, 10, 3)), Fire(6), L.GlobalAveragePooling2D(), L.Dense(2)]); m.compile("adam", "mse"); return m
def data():
    r = np.random.default_rng(0); return r.random((16, 10, 10, 3)).astype("float32"), r.random((16, 2)).astype("float32")
""", (
        ("        self.wa = self.add_weight(shape=(input_shape[1], self.out))",
         "        self.wa = self.add_weight(shape=(input_shape[-1], self.out))"),
        ("        self.wc = self.add_weight(shape=(input_shape[1], self.out))",
         "        self.wc = self.add_weight(shape=(input_shape[-1], self.out))"),
    ))),
    "a width in a dict of settings": ("op-shapes", Own("""
HPARAMS = {"stem": 64, "widths": [64, 64, 32], "dropout": 0.1, "out": 2}

class ResMlp(keras.Model):
    def __init__(self, hp):
        super().__init__()
        self.stem = L.Dense(hp["stem"])
        self.layers_list = [L.Dense(w, activation="gelu") for w in hp["widths"]]
        self.norms = [L.LayerNormalization() for _ in hp["widths"]]
        self.drop = L.Dropout(hp["dropout"])
        self.head = L.Dense(hp["out"])
    def call(self, x, training=None):
        x = self.stem(x)
        for norm, layer in zip(self.norms, self.layers_list):
            x = x + self.drop(layer(norm(x)), training=training)
        return self.head(x)

def build():
    model = ResMlp(HPARAMS)
    model.compile(optimizer="adam", loss="mse")
    return model

def data():
    rng = np.random.default_rng(17)
    return rng.normal(size=(50, 11)).astype("float32"), rng.normal(size=(50, 2)).astype("float32")
""", (
        ('HPARAMS = {"stem": 64, "widths": [64, 64, 32], "dropout": 0.1, "out": 2}',
         'HPARAMS = {"stem": 64, "widths": [64, 64, 64], "dropout": 0.1, "out": 2}'),
    ))),
    "filters in a list of blocks": ("op-shapes", Own("""
BLOCKS = [{"filters": 16, "kernel": 3}, {"filters": 24, "kernel": 5}, {"filters": 16, "kernel": 3}]
class Net(keras.Model):
    def __init__(self, blocks):
        super().__init__()
        self.stem = L.Conv1D(16, 3, padding="same")
        self.convs = [L.Conv1D(b["filters"], b["kernel"], padding="same", activation="relu") for b in blocks]
        self.pool = L.GlobalMaxPooling1D(); self.head = L.Dense(1)
    def call(self, x):
        x = self.stem(x)
        for conv in self.convs:
            x = L.add([x, conv(x)]) if False else x + conv(x)
        return self.head(self.pool(x))
def build():
    m = Net(BLOCKS); m.compile("adam", "mse"); return m
def data():
    r = np.random.default_rng(0); return r.random((16, 20, 3)).astype("float32"), r.random((16, 1)).astype("float32")
""", (
        ('BLOCKS = [{"filters": 16, "kernel": 3}, {"filters": 24, "kernel": 5}, {"filters": 16, "kernel": 3}]',
         'BLOCKS = [{"filters": 16, "kernel": 3}, {"filters": 16, "kernel": 5}, {"filters": 16, "kernel": 3}]'),
    ))),
    "windows in smaller batches": ("data-raises", Own("""
WIN = 12

def windows(series, batch):
    ds = tf.data.Dataset.from_tensor_slices(series)
    ds = ds.window(WIN + 1, shift=1, drop_remainder=True)
    ds = ds.flat_map(lambda w: w.batch(WIN))
    ds = ds.map(lambda w: (w[:-1], w[-1:, 0]))
    return ds.batch(batch).prefetch(1)

def build():
    model = keras.Sequential([keras.Input((WIN, 2)), L.LSTM(16), L.Dense(1)])
    model.compile(loss=keras.losses.Huber(), optimizer="sgd")
    return model

def data():
    t = np.arange(120, dtype="float32")
    return windows(np.stack([np.sin(t / 5), np.cos(t / 7)], axis=1), 16)
""", (
        ("    ds = ds.flat_map(lambda w: w.batch(WIN))",
         "    ds = ds.flat_map(lambda w: w.batch(WIN + 1))"),
    ))),
}  # fmt: skip
