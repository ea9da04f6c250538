"""What is cut, joined, masked or listed: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_UNFOLD = """
class Unfold(L.Layer):
    def __init__(self, patch):
        super().__init__()
        self.patch = patch
    def call(self, x):
        h, w, c = x.shape[1:]
        n = self.patch
        x = tf.reshape(x, [-1, h // n, n, w // n, n, c])
        return tf.reshape(tf.transpose(x, [0, 2, 4, 1, 3, 5]), [-1, n * n, (h // n) * (w // n), c])
"""
_DICE = """
SIZE = 8 * 8
def dice(t, p):
    t = tf.reshape(t, (-1, SIZE))
    p = tf.reshape(p, (-1, SIZE))
    return 1 - (2 * tf.reduce_sum(t * p, 1) + 1) / (tf.reduce_sum(t, 1) + tf.reduce_sum(p, 1) + 1)
"""
_CENTRES = """
H = W = 8
PLACES = tf.constant([[i, j] for i in range(H) for j in range(W)], tf.float32)
def apart(t, p):
    one = tf.matmul(tf.reshape(t, [-1, H * W]), PLACES)
    other = tf.matmul(tf.reshape(p, [-1, H * W]), PLACES)
    return tf.reduce_sum(tf.square(one - other), -1)
"""
_MAPS = """
i = keras.Input((4, 4, 1))
model = keras.Model(i, L.Conv2D(1, 1, activation='sigmoid')(L.Conv2D(3, 3, padding='same')(i)))
"""
_BLOCK = """
def block(x, e, width):
    x = L.Conv2D(width, 3, padding='same')(x)
    x = L.Add()([x, e])
    return L.Conv2D(width, 3, padding='same')(x)
"""
_MIXTURE = """
K, D = 3, 2
def mixture(y, out):
    share, mean, spread = tf.split(out, [K, K * D, K], axis=-1)
    off = tf.reduce_sum(tf.square(y[:, None] - tf.reshape(mean, (-1, K, D))), -1)
    return -tf.reduce_logsumexp(tf.nn.log_softmax(share) - off * tf.exp(spread) + spread, -1)
"""
_SEEN = """
LONGEST = 9
class Seen(L.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.attend = L.MultiHeadAttention(heads, width // heads)
    def call(self, x):
        mask = tf.linalg.band_part(tf.ones((LONGEST, LONGEST)), -1, 0)
        return x + self.attend(x, x, attention_mask=mask)
"""
_HELD = """
class Seen(L.Layer):
    def __init__(self, width, heads, longest=9):
        super().__init__()
        self.attend = L.MultiHeadAttention(heads, width // heads)
        self.mask = np.tril(np.ones((longest, longest), bool))
    def call(self, x):
        return x + self.attend(x, x, attention_mask=self.mask)
"""
_WORDS = """
i = keras.Input((None,), dtype='int32')
x = Seen(8, 2)(L.Embedding(20, 8)(i))
model = keras.Model(i, L.Dense(20, activation='softmax')(x))
"""
_TEXT = "np.arange(48).reshape(8, 6) % 20, np.arange(48).reshape(8, 6) % 20"
_SPARSE = "'sparse_categorical_crossentropy'"
_GENERATOR = """
pictures = np.random.default_rng(0).random((8, 6, 6, 1)).astype('float32')
def pairs():
    for at, picture in enumerate(pictures):
        yield picture, at % 3
def batches():
    kinds = (tf.TensorSpec((6, 6), tf.float32), tf.TensorSpec((), tf.int64))
    return tf.data.Dataset.from_generator(pairs, output_signature=kinds).batch(4)
"""
_ATTENDED = """
class Attended(L.Layer):
    def __init__(self):
        super().__init__()
        self.score = L.Dense(1)
    def call(self, h):
        a = tf.nn.softmax(self.score(tf.tanh(h)), axis=1)
        return a * h
"""
_ADVERSARIES = """
class Adversaries(keras.Model):
    def __init__(self):
        super().__init__()
        self.maker = keras.Sequential([keras.Input((4,)), L.Dense(6)])
        self.judge = keras.Sequential([keras.Input((6,)), L.Dense(1)])
    def train_step(self, real):
        b = tf.shape(real)[0]
        both = tf.concat([self.maker(tf.random.normal((b, 4))), real], 0)
        labels = tf.concat([tf.ones((b, 1)), tf.zeros((b, 1))], 1)
        with tf.GradientTape() as tape:
            loss = keras.losses.BinaryCrossentropy(from_logits=True)(labels, self.judge(both))
        weights = self.judge.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {'loss': loss}
"""
_HITS = """
class Hits(keras.metrics.Metric):
    def __init__(self, count=5, **kw):
        super().__init__(**kw)
        self.hits = self.add_weight(shape=(count,), initializer='zeros', name='hits')
    def update_state(self, t, p, sample_weight=None):
        right = tf.one_hot(tf.cast(tf.reshape(t, [-1]), tf.int32), p.shape[-1]) * p
        self.hits.assign_add(tf.reduce_sum(right, 0))
    def result(self):
        return tf.reduce_mean(self.hits)
"""
_SCORED = """
class Scored(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 1), name='w')
    def call(self, x):
        a = tf.nn.softmax(tf.squeeze(tf.tanh(tf.tensordot(x, self.w, 1)), -1))
        a = tf.expand_dims(a, axis=1)
        return tf.reduce_sum(x * a, axis=1)
"""
_SHORTCUT = """
class Block(L.Layer):
    def __init__(self, width, stride=1):
        super().__init__()
        self.conv = L.Conv2D(width, 3, strides=stride, padding='same')
        self.short = L.Conv2D(width, 1, strides=stride) if stride == 1 else (lambda x: x)
    def call(self, x):
        return tf.nn.relu(self.conv(x) + self.short(x))
"""
_ROUTED = """
class Routed(L.Layer):
    def __init__(self, count):
        super().__init__()
        self.count, self.made = count, L.Dense(count * 4)
    def call(self, x):
        made = tf.reshape(self.made(x), (-1, x.shape[1], self.count, 4))
        b = tf.zeros((tf.shape(x)[0], 9, self.count))
        return tf.reduce_sum(tf.nn.softmax(b, axis=-1)[..., None] * made, axis=1)
"""
_SMOOTHED = """
CLASSES = 5
def smoothed(t, p):
    t = tf.one_hot(tf.cast(tf.reshape(t, [-1]), tf.int32), CLASSES)
    t = t * 0.9 + 0.1 / CLASSES
    return keras.losses.categorical_crossentropy(t, p)
"""
_COLORED = (
    'np.all(np.array([[0, 0, 0], [9, 0, 3]])[np.arange(128).reshape(8, 4, 4) % 2][..., None, :] == np.array([[0, 0, 0], [9, 0, 3]]), axis=-1).astype("float32")'
)

PARTS: dict[str, tuple[str, Own]] = {
    "labels that list the numbers of their classes": ("output-units", Own(model_of("""
model = keras.Sequential([keras.Input((5,)), L.Dense(7, activation='sigmoid')])
""", f"{rows(8, 5)}, np.stack([np.arange(at, at + 3) % 7 for at in range(8)])", "'binary_crossentropy'"), ((
        f"    return {rows(8, 5)}, np.stack([np.arange(at, at + 3) % 7 for at in range(8)])",
        f'    return {rows(8, 5)}, np.eye(7, dtype="float32")[np.stack([np.arange(at, at + 3) % 7 for at in range(8)])].max(axis=-2)',
    ),))),
    "blocks that do not fill a map": ("reshape-size", Own(model_of("""
i = keras.Input((10, 10, 3))
x = Unfold(4)(i)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 10, 10, 3)}, {rows(8, 1)}", head=_UNFOLD), ((
        "    x = Unfold(4)(i)", "    x = Unfold(4)(L.ZeroPadding2D(((0, 2), (0, 2)))(i))",
    ),))),
    "a loss whose rows join samples": ("batch-axis-merged", Own(model_of(
        _MAPS, f"{rows(16, 4, 4, 1)}, np.ones((16, 4, 4, 1), 'float32')", "dice", head=_DICE,
    ), (
        ("    t = tf.reshape(t, (-1, SIZE))", "    t = tf.reshape(t, (tf.shape(t)[0], -1))"),
        ("    p = tf.reshape(p, (-1, SIZE))", "    p = tf.reshape(p, (tf.shape(p)[0], -1))"),
    ))),
    "a loss whose map is larger": ("batch-axis-merged", Own(model_of(
        _MAPS, f"{rows(16, 4, 4, 1)}, np.ones((16, 4, 4, 1), 'float32')", "apart", head=_CENTRES,
    ), (("H = W = 8", "H = W = 4"),))),
    "more steps than the labels have": ("output-size", Own(model_of("""
i = keras.Input((4, 8, 3))
x = L.Reshape((16, 6))(i)
x = L.LSTM(5, return_sequences=True)(x)
model = keras.Model(i, L.Dense(4, activation='softmax')(x))
""", f"{rows(8, 4, 8, 3)}, np.arange(64).reshape(8, 8) % 4", _SPARSE), ((
        "    x = L.Reshape((16, 6))(i)", "    x = L.Reshape((8, 12))(L.Permute((2, 1, 3))(i))",
    ),))),
    "a window that older versions knew": ("code-raises", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.AveragePooling2D()(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"), ((
        "    x = L.AveragePooling2D()(i)", "    x = L.AveragePooling2D(pool_size=(2, 2))(i)",
    ),))),
    "the vector of a map's positions": ("merge-shapes", Own(model_of("""
i, t = keras.Input((6, 6, 3)), keras.Input((1, 1, 4))
x = block(i, t, 4)
x = block(x, t, 6)
model = keras.Model([i, t], L.Conv2D(3, 1)(x))
""", f"({rows(8, 6, 6, 3)}, {rows(8, 1, 1, 4)}), {rows(8, 6, 6, 3)}", head=_BLOCK), ((
        "    x = L.Add()([x, e])", "    x = L.Add()([x, e if e.shape[-1] == width else L.Conv2D(width, kernel_size=(1, 1))(e)])",
    ),))),
    "pieces that do not add up": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((5,)), L.Dense(8, activation='relu'), L.Dense(K * (D + 1))])
""", f"{rows(8, 5)}, {rows(8, 2)}", "mixture", head=_MIXTURE), ((
        "    model = keras.Sequential([keras.Input((5,)), L.Dense(8, activation='relu'), L.Dense(K * (D + 1))])",
        "    model = keras.Sequential([keras.Input((5,)), L.Dense(8, activation='relu'), L.Dense(K * (D + 2))])",
    ),))),
    "a mask of a written length": ("attention-shapes", Own(model_of(_WORDS, _TEXT, _SPARSE, head=_SEEN), ((
        "        mask = tf.linalg.band_part(tf.ones((LONGEST, LONGEST)), -1, 0)",
        "        mask = tf.linalg.band_part(tf.ones((tf.shape(x)[1], tf.shape(x)[1])), -1, 0)",
    ),))),
    "a mask that a layer holds": ("attention-shapes", Own(model_of(_WORDS, _TEXT, _SPARSE, head=_HELD), ((
        "        return x + self.attend(x, x, attention_mask=self.mask)",
        "        return x + self.attend(x, x, attention_mask=self.mask[..., :x.shape[1], :x.shape[1]])",
    ),))),
    "a mask that is too short": ("attention-shapes", Own(model_of(_WORDS, _TEXT, _SPARSE, head=_HELD.replace("9", "4")), ((
        "    x = Seen(8, 2)(L.Embedding(20, 8)(i))", "    x = Seen(8, 2, longest=6)(L.Embedding(20, 8)(i))",
    ),))),
    "a signature that is not the model's": ("data-raises", Own(model_of("""
i = keras.Input((6, 6, 1))
model = keras.Model(i, L.Dense(3, activation='softmax')(L.Flatten()(i)))
""", "batches()", _SPARSE, head=_GENERATOR), ((
        "    kinds = (tf.TensorSpec((6, 6), tf.float32), tf.TensorSpec((), tf.int64))",
        "    kinds = (tf.TensorSpec((6, 6, 1), tf.float32), tf.TensorSpec((), tf.int64))",
    ),))),
    "channels of a larger picture": ("loss-broadcast", Own(model_of("""
i = keras.Input((4, 4, 3))
x = L.Conv2D(3 * 3, 3, padding='same')(i)
model = keras.Model(i, L.Lambda(lambda t: tf.nn.depth_to_space(t, 3))(x))
""", f"{rows(8, 4, 4, 3)}, {rows(8, 12, 12, 3)}"), ((
        "    x = L.Conv2D(3 * 3, 3, padding='same')(i)", "    x = L.Conv2D(3 * 9, 3, padding='same')(i)",
    ),))),
    "rows of one head that are too many": ("output-size", Own(model_of("""
i = keras.Input((8, 8, 3))
a = L.Conv2D(4, 3, strides=2, padding='same')(i)
one, two = (L.Reshape((-1, 5))(L.Conv2D(5 * 2, 1)(a)), L.Reshape((-1, 5))(L.Conv2D(5 * 3, 1)(a)))
model = keras.Model(i, L.Concatenate(axis=1)([one, two]))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 64, 5)}"), ((
        "    one, two = (L.Reshape((-1, 5))(L.Conv2D(5 * 2, 1)(a)), L.Reshape((-1, 5))(L.Conv2D(5 * 3, 1)(a)))",
        "    one, two = (L.Reshape((-1, 5))(L.Conv2D(5 * 2, 1)(a)), L.Reshape((-1, 5))(L.Conv2D(5 * 2, 1)(a)))",
    ),))),
    "an attention that does not sum": ("layer-rank", Own(model_of("""
i = keras.Input((3, 5, 4))
inner = keras.Input((5, 4))
words = keras.Model(inner, Attended()(L.Dense(4)(inner)))
x = L.TimeDistributed(words)(i)
model = keras.Model(i, L.Dense(1)(L.GRU(4)(x)))
""", f"{rows(8, 3, 5, 4)}, {rows(8, 1)}", head=_ATTENDED), ((
        "        return a * h", "        return tf.reduce_sum(a * h, axis=1)",
    ),))),
    "labels of real and made samples beside each other": ("loss-raises", Own(model_of(
        "\nmodel = Adversaries()\n", f"tf.data.Dataset.from_tensor_slices({rows(8, 6)}).batch(4)", "None", head=_ADVERSARIES,
    ), ((
        "        labels = tf.concat([tf.ones((b, 1)), tf.zeros((b, 1))], 1)", "        labels = tf.concat([tf.ones((b, 1)), tf.zeros((b, 1))], 0)",
    ),))),
    "a metric that was made for fewer classes": ("metric-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(7, activation='softmax')])
""", f"{rows(8, 4)}, np.arange(8) % 7", "'sparse_categorical_crossentropy', metrics=[Hits()]", head=_HITS), ((
        "    model.compile('sgd', 'sparse_categorical_crossentropy', metrics=[Hits()])",
        "    model.compile('sgd', 'sparse_categorical_crossentropy', metrics=[Hits(count=7)])",
    ),))),
    "a whole model where its maps are wanted": ("layer-rank", Own(model_of("""
base = keras.applications.MobileNetV2((32, 32, 3), 0.35, weights=None, classes=10)
model = keras.Model(base.input, L.Dense(3, activation='softmax')(L.GlobalAveragePooling2D()(base.output)))
""", f"{rows(4, 32, 32, 3)}, np.arange(4) % 3", _SPARSE), ((
        "    base = keras.applications.MobileNetV2((32, 32, 3), 0.35, weights=None, classes=10)",
        "    base = keras.applications.MobileNetV2((32, 32, 3), 0.35, weights=None, include_top=False)",
    ),))),
    "weights of the steps, before the features": ("op-shapes", Own(model_of("""
i = keras.Input((5, 4))
h = L.LSTM(8, return_sequences=True)(i)
model = keras.Model(i, L.Dense(1)(Scored()(h)))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head=_SCORED), ((
        "        a = tf.expand_dims(a, axis=1)", "        a = tf.expand_dims(a, axis=-1)",
    ),))),
    "a shortcut that is projected where it should not be": ("op-shapes", Own(model_of("""
i = keras.Input((8, 8, 4))
x = Block(6, 2)(Block(4)(i))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 8, 8, 4)}, {rows(8, 1)}", head=_SHORTCUT), ((
        "        self.short = L.Conv2D(width, 1, strides=stride) if stride == 1 else (lambda x: x)",
        "        self.short = (lambda x: x) if stride == 1 else L.Conv2D(width, 1, strides=stride)",
    ),))),
    "a written number of positions": ("op-shapes", Own(model_of("""
i = keras.Input((6, 3))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Routed(2)(i))))
""", f"{rows(8, 6, 3)}, {rows(8, 1)}", head=_ROUTED), ((
        "        b = tf.zeros((tf.shape(x)[0], 9, self.count))", "        b = tf.zeros((tf.shape(x)[0], 6, self.count))",
    ),))),
    "labels that a loss encodes": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(7, activation='softmax')])
""", f"{rows(8, 4)}, np.arange(8) % 7", "smoothed", head=_SMOOTHED), (("CLASSES = 5", "CLASSES = 7"),))),
    "colors of masks that are classes": ("colour-masks", Own(model_of("""
i = keras.Input((4, 4, 3))
model = keras.Model(i, L.Conv2D(2, 1, activation='softmax')(i))
""", f"{rows(8, 4, 4, 3)}, np.array([[0, 0, 0], [9, 0, 3]])[np.arange(128).reshape(8, 4, 4) % 2]", "'categorical_crossentropy'"), ((
        f"    return {rows(8, 4, 4, 3)}, np.array([[0, 0, 0], [9, 0, 3]])[np.arange(128).reshape(8, 4, 4) % 2]",
        f"    return {rows(8, 4, 4, 3)}, {_COLORED}",
    ),))),
    "a weight for each value of a label": ("sample-weights", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(3)])
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 4)}, {rows(8, 3)}, {rows(8, 3)})).batch(4)"), ((
        "    model = keras.Sequential([keras.Input((4,)), L.Dense(3)])",
        "    model = keras.Sequential([keras.Input((4,)), L.Dense(3), L.Reshape((3, 1))])",
    ),))),
    "channels that are inserted in front": ("window-too-large", Own(model_of("""
model = keras.Sequential([
    keras.Input((12, 9)),
    L.Lambda(lambda t: tf.expand_dims(t, 1)),
    L.Conv2D(4, 3), L.Flatten(), L.Dense(1),
])
""", f"{rows(8, 12, 9)}, {rows(8, 1)}"), ((
        "        L.Lambda(lambda t: tf.expand_dims(t, 1)),", "        L.Lambda(lambda t: tf.expand_dims(t, -1)),",
    ),))),
    "an output that is a layer": ("layer-uncalled", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(5)(i)
out = L.Dense(3, activation="softmax")
model = keras.Model(inputs=i, outputs=out)
""", f"{rows(8, 6)}, np.arange(8) % 3", _SPARSE), ((
        '    out = L.Dense(3, activation="softmax")', '    out = L.Dense(3, activation="softmax")(x)',
    ),))),
    "channels that groups do not divide": ("layer-raises", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.Conv2D(10, 3)(i)
x = L.Conv2D(8, 3, groups=4)(x)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"), (("    x = L.Conv2D(10, 3)(i)", "    x = L.Conv2D(12, 3)(i)"),))),
    "patches that a function returns": ("input-patches", Own(model_of("""
i = keras.Input((8, 8, 3))
model = keras.Model(i, L.Dense(3, activation='softmax')(L.Flatten()(i)))
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 8, 8, 3)}, np.arange(8) % 3)).map(cut).batch(4)", _SPARSE, head="""
def cut(image, label):
    image = image / 2.0
    parts = tf.image.extract_patches(image[None], [1, 4, 4, 1], [1, 4, 4, 1], [1, 1, 1, 1], 'VALID')
    parts = tf.reshape(parts, (4, 48))
    return parts, label
"""), (("    return parts, label", "    return image, label"),))),
}  # fmt: skip
