"""Weights of positions and of a file, scores of a metric, and rows that nothing batches: what is written, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_SAVED = """
import os, tempfile
KEPT = os.path.join(tempfile.mkdtemp(), 'kept.weights.h5')
def made(classes):
    i = keras.Input((5,))
    return keras.Model(i, L.Dense(classes, name='head')(L.Dense(4, name='hidden')(i)))
"""

SCORES: dict[str, tuple[str, Own]] = {
    "the weights of a file with another head": ("weights-apart", Own(model_of("""
made(10).save_weights(KEPT)
model = made(3)
model.load_weights(KEPT)
""", f"{rows(8, 5)}, np.arange(8) % 3", "keras.losses.SparseCategoricalCrossentropy(from_logits=True)", head=_SAVED), (
        ("    model.load_weights(KEPT)", "    model.load_weights(KEPT, skip_mismatch=True)"),
    ), keras=True)),
    "weights of pixels in one row": ("sample-weights", Own(model_of("""
i = keras.Input((4, 6, 2))
model = keras.Model(i, L.Conv2D(1, 1, activation='sigmoid')(i))
""", f"{rows(8, 4, 6, 2)}, np.ones((8, 4, 6, 1)), np.ones((8, 24))", "'binary_crossentropy'"), (
        ("    return np.random.default_rng(0).random((8, 4, 6, 2)).astype('float32'), np.ones((8, 4, 6, 1)), np.ones((8, 24))",
         "    return np.random.default_rng(0).random((8, 4, 6, 2)).astype('float32'), np.ones((8, 4, 6, 1)), np.reshape(np.ones((8, 24)), (-1, 4, 6))"),
    ))),
    "a metric that flattens the labels alone": ("metric-raises", Own(model_of("""
i = keras.Input((6, 7, 1))
model = keras.Model(i, L.Conv2D(4, 1, activation='softmax')(i))
""", f"{rows(8, 6, 7, 1)}, np.arange(8 * 42).reshape(8, 6, 7, 1) % 4", "'sparse_categorical_crossentropy', metrics=[right]", head="""
def right(y_true, y_pred):
    labels = tf.cast(tf.reshape(y_true, [-1]), tf.int64)
    classes = tf.argmax(y_pred, axis=-1)
    return tf.reduce_mean(tf.cast(tf.equal(labels, classes), tf.float32))
"""), (
        ("    return tf.reduce_mean(tf.cast(tf.equal(labels, classes), tf.float32))",
         "    return tf.reduce_mean(tf.cast(tf.equal(labels, tf.reshape(classes, (-1,))), tf.float32))"),
    ))),
    "a confusion matrix of probabilities": ("metric-raises", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(5, activation='softmax')])
""", f"{rows(8, 6)}, np.arange(8) % 5", "'sparse_categorical_crossentropy', metrics=[confused]", head="""
def confused(y_true, y_pred):
    matrix = tf.math.confusion_matrix(tf.reshape(y_true, [-1]), tf.reshape(y_pred, [-1]), num_classes=5, dtype=tf.float32)
    return tf.linalg.trace(matrix) / tf.reduce_sum(matrix)
"""), (
        ("    matrix = tf.math.confusion_matrix(tf.reshape(y_true, [-1]), tf.reshape(y_pred, [-1]), num_classes=5, dtype=tf.float32)",
         "    y_pred = tf.cast(tf.argmax(y_pred, axis=-1), y_true.dtype)"),
    ))),
    "sequences of several lengths that nothing batches": ("missing-batch-axis", Own(model_of("""
model = keras.Sequential([L.Embedding(50, 8), L.LSTM(4), L.Dense(1)])
""", "tf.data.Dataset.from_generator(lambda: ((np.ones(n), n % 2) for n in range(4, 20)), output_signature=(tf.TensorSpec((None,)), tf.TensorSpec(())))"), (
        ("    return tf.data.Dataset.from_generator(lambda: ((np.ones(n), n % 2) for n in range(4, 20)), output_signature=(tf.TensorSpec((None,)), tf.TensorSpec(())))",
         "    return tf.data.Dataset.from_generator(lambda: ((np.ones(n), n % 2) for n in range(4, 20)), output_signature=(tf.TensorSpec((None,)), tf.TensorSpec(()))).padded_batch(32)"),
    ))),
    "a generator of single samples": ("missing-batch-axis", Own(model_of("""
model = keras.Sequential([L.Conv1D(8, 3), L.GlobalMaxPooling1D(), L.Dense(3)])
""", "tf.data.Dataset.from_generator(lambda: ((np.ones((9, 2)), np.ones(3)) for _ in range(40)), output_signature=(tf.TensorSpec((9, 2)), tf.TensorSpec((3,))))"), (
        ("    return tf.data.Dataset.from_generator(lambda: ((np.ones((9, 2)), np.ones(3)) for _ in range(40)), output_signature=(tf.TensorSpec((9, 2)), tf.TensorSpec((3,))))",
         "    return tf.data.Dataset.from_generator(lambda: ((np.ones((9, 2)), np.ones(3)) for _ in range(40)), output_signature=(tf.TensorSpec((9, 2)), tf.TensorSpec((3,)))).batch(32)"),
    ))),
    "masks and their weights in one row": ("label-rank", Own(model_of("""
i = keras.Input((4, 6, 2))
model = keras.Model(i, L.Conv2D(1, 1, activation='sigmoid')(i))
""", f"{rows(8, 4, 6, 2)}, np.ones((8, 24, 1)), np.ones((8, 24))", "'binary_crossentropy'"), (
        ("    return np.random.default_rng(0).random((8, 4, 6, 2)).astype('float32'), np.ones((8, 24, 1)), np.ones((8, 24))",
         "    return np.random.default_rng(0).random((8, 4, 6, 2)).astype('float32'), np.reshape(np.ones((8, 24, 1)), (-1, 4, 6, 1)), np.reshape(np.ones((8, 24)), (-1, 4, 6))"),
    ))),
    "the first step of what is one vector already": ("op-shapes", Own(model_of("""
i = keras.Input((7, 4))
x = L.GlobalAveragePooling1D()(i)
model = keras.Model(i, L.Dense(1)(x[:, 0, :]))
""", f"{rows(8, 7, 4)}, {rows(8, 1)}"), (
        ("    model = keras.Model(i, L.Dense(1)(x[:, 0, :]))", "    model = keras.Model(i, L.Dense(1)(x))"),
    ))),
    "the last step of what is one vector already": ("op-shapes", Own(model_of("""
i = keras.Input((7, 4))
x = L.Lambda(lambda t: t[:, -1, :])(L.Dense(5)(L.GlobalAveragePooling1D()(i)))
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 7, 4)}, {rows(8, 1)}"), (
        ("    x = L.Lambda(lambda t: t[:, -1, :])(L.Dense(5)(L.GlobalAveragePooling1D()(i)))",
         "    x = L.Lambda(lambda t: t)(L.Dense(5)(L.GlobalAveragePooling1D()(i)))"),
    ))),
    "a mask of a written length, chosen by where": ("op-shapes", Own(model_of("""
i = keras.Input((7, 4))
model = keras.Model(i, L.Dense(1)(Causal()(i)))
""", f"{rows(8, 7, 4)}, {rows(8, 7, 1)}", head="""
class Causal(L.Layer):
    def __init__(self):
        super().__init__()
        self.mask = tf.linalg.band_part(tf.ones((9, 9)), -1, 0)
    def call(self, x):
        scores = tf.matmul(x, x, transpose_b=True)
        scores = tf.where(self.mask == 0, -1e9, scores)
        return tf.matmul(tf.nn.softmax(scores), x)
"""), (
        ("        scores = tf.where(self.mask == 0, -1e9, scores)",
         "        scores = tf.where(self.mask[:scores.shape[-2], :scores.shape[-1]] == 0, -1e9, scores)"),
    ))),
    "an autoencoder that ends with one row": ("label-rank", Own(model_of("""
i = keras.Input((6, 4, 1))
model = keras.Model(i, L.Dense(24)(L.Dense(5)(L.Flatten()(i))))
""", f"2 * ({rows(8, 6, 4, 1)},)"), (
        ("    model = keras.Model(i, L.Dense(24)(L.Dense(5)(L.Flatten()(i))))",
         "    model = keras.Model(i, L.Reshape((6, 4, 1))(L.Dense(24)(L.Dense(5)(L.Flatten()(i)))))"),
    ))),
    "a decoder that ends with one row, in a step of its own": ("loss-raises", Own(model_of("""
model = Twice(keras.Sequential([keras.Input((6, 4, 1)), L.Flatten(), L.Dense(5)]), keras.Sequential([keras.Input((5,)), L.Dense(24)]))
""", rows(8, 6, 4, 1), "keras.losses.BinaryCrossentropy(from_logits=True)", head="""
class Twice(keras.Model):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
    def train_step(self, x):
        with tf.GradientTape() as tape:
            made = self.decoder(self.encoder(x))
            loss = tf.reduce_mean(tf.reduce_sum(keras.losses.binary_crossentropy(x, made), axis=(1, 2)))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {'loss': loss}
"""), (
        ("    model = Twice(keras.Sequential([keras.Input((6, 4, 1)), L.Flatten(), L.Dense(5)]), keras.Sequential([keras.Input((5,)), L.Dense(24)]))",
         "    model = Twice(keras.Sequential([keras.Input((6, 4, 1)), L.Flatten(), L.Dense(5)]), keras.Sequential([keras.Input((5,)), L.Dense(24), L.Reshape((6, 4, 1))]))"),
    ))),
    "parts of a mixture, cut as if each were a row": ("reshape-interleaves", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, L.Concatenate()([L.Dense(5, activation='softmax')(i), L.Dense(5)(i), L.Dense(5, activation='softplus')(i)]))
""", f"{rows(8, 4)}, {rows(8, 1)}", "mixture", head="""
def mixture(y, p):
    p = tf.reshape(p, (-1, 5, 3))
    weight, mean, width = p[..., 0], p[..., 1], p[..., 2]
    return -tf.math.log(tf.reduce_sum(weight * tf.exp(-tf.square(y - mean) / (width + 1.0)), axis=-1) + 1e-6)
"""), (
        ("    p = tf.reshape(p, (-1, 5, 3))", "    p = tf.reshape(tf.transpose(tf.reshape(p, (-1, 3, 5)), (0, 2, 1)), (-1, 5, 3))"),
    ))),
    "a step that prints a number": ("symbolic-tensor", Own(model_of("""
i = keras.Input((4,))
model = Told(i, L.Dense(1)(i))
""", f"{rows(8, 4)}, {rows(8, 1)}", head="""
class Told(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        loss = tf.reduce_mean(tf.square(y - y_pred))
        print('loss', float(loss.numpy()))
        return loss
"""), (("        print('loss', float(loss.numpy()))", "        tf.print('loss', loss)"),), keras=True)),
}  # fmt: skip
