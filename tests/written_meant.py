"""What a program says elsewhere, by a shape, a name or a slice, and does not do on one line: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_PATCHES = """
class Patches(keras.Model):
    def __init__(self):
        super().__init__()
        self.maker, self.judge = L.Conv2D(1, 3, padding="same"), L.Conv2D(1, 4, strides=2, padding="same")
        self.score = keras.losses.BinaryCrossentropy(from_logits=True)
    def call(self, x):
        return self.maker(x)
    def train_step(self, x):
        n = tf.shape(x)[0]
        with tf.GradientTape() as tape:
            made = self.judge(self.maker(x))
            loss = self.score(tf.ones((n, 1)), made)
        weights = self.maker.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"score": loss}
"""
_JOINED = """
class Both(keras.Model):
    def __init__(self):
        super().__init__()
        self.maker, self.judge = L.Conv2D(1, 3, padding="same"), L.Conv2D(1, 4, strides=2, padding="same")
        self.score = keras.losses.BinaryCrossentropy(from_logits=True)
    def call(self, x):
        return self.maker(x)
    def train_step(self, x):
        n = tf.shape(x)[0]
        labels = tf.concat([tf.zeros((n, 1)), tf.ones((n, 1))], axis=0)
        with tf.GradientTape() as tape:
            scores = self.judge(tf.concat([self.maker(x), x], axis=0))
            loss = self.score(labels, scores)
        weights = self.judge.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"score": loss}
"""
_PICTURES = f"tf.data.Dataset.from_tensor_slices({rows(8, 8, 8, 1)}).batch(4)"
_GAIN = """
class Gain(L.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(3)
    def call(self, x):
        gain = keras.random.uniform((keras.ops.shape(x)[0], 1, 1), 0.5, 1.5, seed=self.seed)
        return x * gain
"""
_SLICED = """
def boxes(t, p):
    box, kind = t[:, :4], t[:, 4:]
    its, scores = p[:, :4], p[:, 5:]
    return tf.reduce_mean(tf.square(box - its), -1) + keras.losses.categorical_crossentropy(kind, tf.nn.softmax(scores))
"""
_HEADS = """
class Heads(L.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.values, self.out = L.Dense(width), L.Dense(width)
    def call(self, x):
        v = tf.reshape(self.values(x), (tf.shape(x)[0], 6, self.heads, self.depth))
        v = tf.transpose(v, (0, 2, 1, 3))
        return self.out(tf.reshape(v, (tf.shape(x)[0], 6, self.depth)))
"""
_CROSS = """
class Cross(L.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.a, self.b = L.Dense(width), L.Dense(width)
    def call(self, q, k):
        n, t = keras.ops.shape(q)[0], keras.ops.shape(q)[1]
        a = keras.ops.reshape(self.a(q), (n, t, self.heads, self.depth))
        b = keras.ops.reshape(self.b(k), (n, t, self.heads, self.depth))
        return keras.ops.einsum("bqhd,bkhd->bqk", a, b)
"""
_NODES = """
class Sums(keras.Model):
    def __init__(self):
        super().__init__()
        self.message, self.out = L.Dense(8), L.Dense(3)
    def call(self, graph):
        nodes, edges = graph["nodes"], graph["edges"]
        sent = keras.ops.take(self.message(nodes), edges[:, 0], axis=0)
        total = keras.ops.segment_sum(sent, edges[:, 1], num_segments=keras.ops.shape(edges)[0])
        return self.out(keras.ops.concatenate([nodes, total], -1))
def graphs():
    yield {"nodes": np.ones((6, 4), "float32"), "edges": np.arange(20).reshape(10, 2) % 6}, np.arange(6) % 3
"""
_GRAPHS = """tf.data.Dataset.from_generator(graphs, output_signature=(
        {"nodes": tf.TensorSpec((6, 4)), "edges": tf.TensorSpec((10, 2), "int64")}, tf.TensorSpec((6,), "int64")))"""
_MIXED = """
def mixed(x, y):
    share = tf.random.uniform((tf.shape(x)[0], 1), 0.2, 0.8)
    return share * x + (1 - share) * tf.reverse(x, [0]), y
"""
_COUPLED = """
class Coupled(L.Layer):
    def __init__(self, width):
        super().__init__()
        self.half = width // 2
        self.net = L.Dense(2 * self.half)
    def call(self, x):
        a, b = x[:, :self.half], x[:, self.half:]
        scale, shift = keras.ops.split(self.net(a), 2, axis=-1)
        return keras.ops.concatenate([a, b * keras.ops.tanh(scale) + shift], -1)
"""
_GATED = """
class Gated(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.both = L.Dense(units)
    def call(self, x):
        x = self.both(x)
        return x[:, :self.units] * keras.ops.sigmoid(x[:, self.units:])
"""
_MARKED = """
class Marked(L.Layer):
    def build(self, shape):
        self.mark = self.add_weight(shape=(1, 1, shape[-1]), name="mark")
    def call(self, x):
        mark = keras.ops.broadcast_to(self.mark, (keras.ops.shape(x)[0], 1, x.shape[-1]))
        return keras.ops.concatenate([mark, x], axis=1)
"""
_TIED = """
class Tied(L.Layer):
    def __init__(self, dense):
        super().__init__()
        self.dense = dense
    def call(self, x):
        return tf.matmul(x, self.dense.kernel, transpose_b=True)
"""
_PICKED = """
class Picked(keras.Model):
    def __init__(self):
        super().__init__()
        self.table, self.out = L.Embedding(9, 4), L.Dense(9)
    def call(self, both):
        x = self.table(both["ids"])
        return self.out(tf.gather(x, both["at"], axis=1))
"""
_AT = '{"ids": np.arange(48).reshape(8, 6) % 9, "at": np.arange(16).reshape(8, 2) % 6}, np.arange(16).reshape(8, 2) % 9'
_BANDS = """
def bands(x, y):
    table = tf.signal.linear_to_mel_weight_matrix(8, 65, 8000)
    return tf.matmul(tf.abs(tf.signal.stft(x, 64, 32)), table), y
"""
_BEST = """
class Best(keras.metrics.Metric):
    def __init__(self, k=2, name="best", **more):
        super().__init__(name=name, **more)
        self.k = k
        self.hits = self.add_weight(name="hits", initializer="zeros")
    def update_state(self, t, p, sample_weight=None):
        top = tf.math.top_k(p, self.k).indices
        hit = tf.equal(tf.cast(t, tf.int32), top)
        self.hits.assign_add(tf.reduce_sum(tf.cast(hit, tf.float32)))
    def result(self):
        return self.hits
"""
_EINSUM = """
class Pooled(L.Layer):
    def build(self, shape):
        self.queries = self.add_weight(shape=(3, shape[-1]), name="queries")
    def call(self, x):
        shares = keras.ops.softmax(keras.ops.einsum("btd,hd->bht", x, self.queries))
        return keras.ops.einsum("bht,btd->bhd", x, shares)
"""
_READ = """
class Read(L.Layer):
    def __init__(self):
        super().__init__()
        self.whole, self.first = L.Dense(4), L.Dense(4)
    def call(self, x):
        x = self.whole(x)
        return x, self.first(x[:, 0])
"""
_BLOCK = """
def block(x, filters):
    return L.Conv2D(filters, 3, padding="same")(x)
"""
_NEXT = """
class Next(keras.Model):
    def __init__(self):
        super().__init__()
        self.table, self.steps, self.out = L.Embedding(9, 4), L.GRU(4, return_sequences=True), L.Dense(9)
    def call(self, ids):
        return self.out(self.steps(self.table(ids)))
    def train_step(self, ids):
        with tf.GradientTape() as tape:
            scores = self(ids[:, :-1], training=True)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=scores)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"next": tf.reduce_mean(loss)}
"""
_MARGIN = """
class Margin(L.Layer):
    def __init__(self, classes):
        super().__init__()
        self.classes = classes
    def build(self, shape):
        self.centres = self.add_weight(shape=(self.classes, shape[-1]), name="centres")
    def call(self, x):
        return tf.matmul(x, tf.nn.l2_normalize(self.centres, axis=0))
"""

MEANT = {
    "ones for a map of scores": ("loss-raises", Own(model_of("""
model = Patches()
""", _PICTURES, head=_PATCHES), ((
        "            loss = self.score(tf.ones((n, 1)), made)", "            loss = self.score(tf.ones_like(made), made)",
    ),))),
    "one label a sample for a map of scores": ("loss-raises", Own(model_of("""
model = Both()
""", _PICTURES, head=_JOINED), ((
        "            loss = self.score(labels, scores)", "            loss = self.score(labels[:, None, None, :] * tf.ones_like(scores), scores)",
    ),))),
    "one value a sample for another rank": ("batch-broadcast", Own(model_of("""
i = keras.Input((12,))
model = keras.Model(i, L.Dense(1)(L.Reshape((12,))(Gain()(i))))
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 12)}, {rows(8, 1)})).batch(4)", head=_GAIN), ((
        "        gain = keras.random.uniform((keras.ops.shape(x)[0], 1, 1), 0.5, 1.5, seed=self.seed)",
        "        gain = keras.random.uniform((keras.ops.shape(x)[0],) + (1,) * (len(x.shape) - 1), 0.5, 1.5, seed=self.seed)",
    ),))),
    "a slice that leaves a value out": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(7)])
""", f"{rows(8, 3)}, {rows(8, 7)}", "boxes", head=_SLICED), (("    its, scores = p[:, :4], p[:, 5:]", "    its, scores = p[:, :4], p[:, 4:]"),))),
    "one head of several": ("op-shapes", Own(model_of("""
i = keras.Input((6, 8))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Heads(8, 2)(i))))
""", f"{rows(8, 6, 8)}, {rows(8, 1)}", head=_HEADS), ((
        "        return self.out(tf.reshape(v, (tf.shape(x)[0], 6, self.depth)))",
        "        return self.out(tf.reshape(tf.transpose(v, (0, 2, 1, 3)), (tf.shape(x)[0], 6, self.heads * self.depth)))",
    ),))),
    "keys of the length of the queries": ("reshape-size", Own(model_of("""
q, k = keras.Input((3, 4)), keras.Input((5, 4))
model = keras.Model([q, k], L.Dense(1)(L.Flatten()(Cross(8, 2)(q, k))))
""", f"({rows(8, 3, 4)}, {rows(8, 5, 4)}), {rows(8, 1)}", head=_CROSS), ((
        "        b = keras.ops.reshape(self.b(k), (n, t, self.heads, self.depth))",
        "        b = keras.ops.reshape(self.b(k), (n, keras.ops.shape(k)[1], self.heads, self.depth))",
    ),))),
    "sums for as many nodes as there are edges": ("op-shapes", Own(model_of("""
model = Sums()
""", _GRAPHS, "'sparse_categorical_crossentropy'", head=_NODES), ((
        "        total = keras.ops.segment_sum(sent, edges[:, 1], num_segments=keras.ops.shape(edges)[0])",
        "        total = keras.ops.segment_sum(sent, edges[:, 1], num_segments=keras.ops.shape(nodes)[0])",
    ),))),
    "a pipeline that fails only as it runs": ("data-raises", Own(model_of("""
model = keras.Sequential([keras.Input((8, 8, 3)), L.Flatten(), L.Dense(1)])
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 8, 8, 3)}, {rows(8, 1)})).batch(4).map(mixed)", head=_MIXED), ((
        "    return share * x + (1 - share) * tf.reverse(x, [0]), y",
        "    return share[:, None, None, :] * x + ((1 - share)[:, None, None, :]) * tf.reverse(x, [0]), y",
    ),))),
    "a layer as wide as the other part": ("op-shapes", Own(model_of("""
i = keras.Input((7,))
model = keras.Model(i, L.Dense(1)(Coupled(7)(i)))
""", f"{rows(8, 7)}, {rows(8, 1)}", head=_COUPLED), ((
        "        self.net = L.Dense(2 * self.half)", "        self.net = L.Dense(2 * (width - self.half))",
    ),))),
    "a layer as wide as one of two parts": ("op-shapes", Own(model_of("""
i = keras.Input((7,))
model = keras.Model(i, L.Dense(1)(Gated(4)(i)))
""", f"{rows(8, 7)}, {rows(8, 1)}", head=_GATED), (("        self.both = L.Dense(units)", "        self.both = L.Dense(2 * units)"),))),
    "a token that is not predicted": ("reshape-size", Own(model_of("""
i = keras.Input((6, 4))
x = Marked()(i)
x = L.Dense(3)(L.MultiHeadAttention(1, 2)(x, x))
model = keras.Model(i, L.Reshape((6, 3))(x))
""", f"{rows(8, 6, 4)}, {rows(8, 6, 3)}", head=_MARKED), ((
        "    model = keras.Model(i, L.Reshape((6, 3))(x))", "    model = keras.Model(i, L.Reshape((6, 3))(L.Cropping1D((1, 0))(x)))",
    ),))),
    "layers tied in the other order": ("op-shapes", Own(model_of("""
one, two = L.Dense(6), L.Dense(3)
i = keras.Input((9,))
x = two(one(i))
x = Tied(one)(x)
model = keras.Model(i, Tied(two)(x))
""", f"{rows(8, 9)}, {rows(8, 9)}", head=_TIED), (("    x = Tied(one)(x)", "    x = Tied(two)(x)"),))),
    "positions of all samples": ("batch-broadcast", Own(model_of("""
model = Picked()
""", _AT, "keras.losses.SparseCategoricalCrossentropy(from_logits=True)", head=_PICKED), ((
        '        return self.out(tf.gather(x, both["at"], axis=1))', '        return self.out(tf.gather(x, both["at"], axis=1, batch_dims=1))',
    ),))),
    "bins of another spectrum": ("data-raises", Own(model_of("""
model = keras.Sequential([keras.Input((24, 8)), L.Flatten(), L.Dense(1)])
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 800)}, {rows(8, 1)})).map(bands).batch(4)", head=_BANDS), ((
        "    table = tf.signal.linear_to_mel_weight_matrix(8, 65, 8000)", "    table = tf.signal.linear_to_mel_weight_matrix(8, 33, 8000)",
    ),))),
    "a transpose that is too much": ("op-shapes", Own(model_of("""
i = keras.Input((6, 2))
x = Turned()(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 6, 2)}, {rows(8, 1)}", head="""
class Turned(L.Layer):
    def __init__(self):
        super().__init__()
        self.wide = L.Dense(4)
        self.places = self.add_weight(shape=(6, 4), name="places")
    def call(self, x):
        x = keras.ops.transpose(x, (0, 2, 1))
        return self.wide(x) + self.places
"""), (("        x = keras.ops.transpose(x, (0, 2, 1))", "    def call(self, x):"),))),
    "a metric of the best classes": ("metric-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(5, activation='softmax')])
""", "np.ones((8, 4), 'float32'), np.eye(5, dtype='float32')[np.arange(8) % 5]", "'categorical_crossentropy', metrics=[Best()]", head=_BEST), ((
        "        hit = tf.equal(tf.cast(t, tf.int32), top)", "        hit = tf.equal(tf.cast(tf.argmax(t, axis=-1)[..., None], tf.int32), top)",
    ),))),
    "a pooling that is undone by half": ("merge-shapes", Own(model_of("""
i = keras.Input((24, 2))
fine = L.Conv1D(4, 3, padding="same")(i)
low = L.Conv1D(4, 3, padding="same")(L.MaxPooling1D(3)(fine))
up = L.UpSampling1D(2)(low)
model = keras.Model(i, L.Conv1D(1, 1)(L.Concatenate()([up, fine])))
""", f"{rows(8, 24, 2)}, {rows(8, 24, 1)}"), (("    up = L.UpSampling1D(2)(low)", "    up = L.UpSampling1D(3)(low)"),))),
    "operands of an einsum": ("op-shapes", Own(model_of("""
i = keras.Input((5, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Pooled()(i))))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head=_EINSUM), ((
        '        return keras.ops.einsum("bht,btd->bhd", x, shares)', '        return keras.ops.einsum("bht,btd->bhd", shares, x)',
    ),))),
    "a window that spans the electrodes": ("window-too-large", Own(model_of("""
i = keras.Input((6, 16, 1))
x = L.Conv2D(2, (9, 1))(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 6, 16, 1)}, {rows(8, 1)}"), (("    x = L.Conv2D(2, (9, 1))(i)", "    x = L.Conv2D(2, (6, 1))(i)"),))),
    "a result that nothing reads": ("loss-broadcast", Own(model_of("""
i = keras.Input((5, 4))
steps, first = Read()(i)
model = keras.Model(i, L.Dense(1)(steps))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head=_READ), (("    model = keras.Model(i, L.Dense(1)(steps))", "    model = keras.Model(i, L.Dense(1)(first))"),))),
    "a skip from the level below": ("merge-shapes", Own(model_of("""
i = keras.Input((16, 16, 1))
a = block(i, 2)
b = block(L.MaxPooling2D()(a), 4)
c = block(L.MaxPooling2D()(b), 8)
x = block(L.Concatenate()([L.UpSampling2D()(c), b]), 4)
x = L.UpSampling2D()(x)
x = block(L.Concatenate()([x, b]), 2)
model = keras.Model(i, L.Conv2D(1, 1)(x))
""", f"{rows(8, 16, 16, 1)}, {rows(8, 16, 16, 1)}", head=_BLOCK), ((
        "    x = block(L.Concatenate()([x, b]), 2)", "    x = block(L.Concatenate()([x, a]), 2)",
    ),))),
    "labels that are not shifted": ("output-size", Own(model_of("""
model = Next()
""", "tf.data.Dataset.from_tensor_slices(np.arange(48).reshape(8, 6) % 9).batch(4)", head=_NEXT), ((
        "            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=scores)",
        "            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids[:, 1:], logits=scores)",
    ),))),
    "centers as rows": ("op-shapes", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, Margin(3)(i))
""", f"{rows(8, 6)}, {rows(8, 3)}", head=_MARGIN), ((
        '        self.centres = self.add_weight(shape=(self.classes, shape[-1]), name="centres")',
        '        self.centres = self.add_weight(shape=(shape[-1], self.classes), name="centres")',
    ),))),
}  # fmt: skip
