"""Programs as they are posted: lists of widths and of samples, tables of words, flattened labels, names that nothing has."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

POSTED: dict[str, tuple[str, Own]] = {
    "the element of a list that a function makes layers of": (
        "merge-shapes",
        Own(
            model_of(
                """
i = keras.Input((5, 4))
f = perceptron(i, [6, 3])
x = L.Flatten()(L.Add()([i, f]))
model = keras.Model(i, L.Dense(1)(perceptron(x, [7])))
""",
                f"{rows(8, 5, 4)}, {rows(8, 1)}",
                head="""
def perceptron(x, hidden):
    for units in hidden:
        x = L.Dense(units, activation="relu")(x)
    return x
""",
            ),
            (("    f = perceptron(i, [6, 3])", "    f = perceptron(i, [6, 4])"),),
        ),
    ),
    "a tensor from inside a model that is called on an Input of its own": (
        "graph-disconnected",
        Own(
            model_of(
                """
a = keras.Input((4,))
b = L.Dense(5, name="inside")(a)
base = keras.Model(a, L.Dense(3)(b))
i = keras.Input((4,))
x = base(i)
model = keras.Model(i, [L.Dense(1)(x), base.get_layer("inside").output])
""",
                f"{rows(8, 4)}, [{rows(8, 1)}, {rows(8, 5)}]",
            ),
            (
                ("    x = base(i)", "    x = base.output"),
                (
                    '    model = keras.Model(i, [L.Dense(1)(x), base.get_layer("inside").output])',
                    '    model = keras.Model(base.input, [L.Dense(1)(x), base.get_layer("inside").output])',
                ),
            ),
        ),
    ),
    "a metric of class indices": (
        "metric-labels",
        Own(
            model_of(
                """
i = keras.Input((4, 4, 2))
model = keras.Model(i, L.Conv2D(3, 1, activation="softmax")(i))
""",
                f"{rows(8, 4, 4, 2)}, np.arange(128).reshape(8, 4, 4, 1) % 3",
                "'sparse_categorical_crossentropy', metrics=[keras.metrics.MeanIoU(num_classes=3)]",
            ),
            (
                (
                    "    model.compile('sgd', 'sparse_categorical_crossentropy', metrics=[keras.metrics.MeanIoU(num_classes=3)])",
                    "    model.compile('sgd', 'sparse_categorical_crossentropy', metrics=[keras.metrics.MeanIoU(num_classes=3, sparse_y_pred=False)])",
                ),
            ),
        ),
    ),
    "rows of different lengths": (
        "layer-raises",
        Own(
            model_of(
                """
i = keras.Input((None,), dtype="int32")
model = keras.Model(i, L.Dense(1)(L.LSTM(4)(L.Embedding(20, 4)(i))))
""",
                f"tf.ragged.constant([[1, 2, 3], [4, 5], [6], [7, 8]] * 2), {rows(8, 1)}",
            ),
            (
                (
                    f"    return tf.ragged.constant([[1, 2, 3], [4, 5], [6], [7, 8]] * 2), {rows(8, 1)}",
                    f"    return tf.ragged.constant([[1, 2, 3], [4, 5], [6], [7, 8]] * 2).to_tensor(), {rows(8, 1)}",
                ),
            ),
            keras=True,
        ),
    ),
    "a metric of so many labels": (
        "metric-raises",
        Own(
            model_of(
                """
i = keras.Input((6,))
model = keras.Model(i, L.Dense(4, activation="sigmoid")(i))
""",
                f"{rows(8, 6)}, (np.arange(32).reshape(8, 4) % 3 == 0).astype('float32')",
                "'binary_crossentropy', metrics=[keras.metrics.AUC(multi_label=True, num_labels=3)]",
            ),
            (
                (
                    "    model.compile('sgd', 'binary_crossentropy', metrics=[keras.metrics.AUC(multi_label=True, num_labels=3)])",
                    "    model.compile('sgd', 'binary_crossentropy', metrics=[keras.metrics.AUC(multi_label=True, num_labels=4)])",
                ),
            ),
        ),
    ),
    "more words in a vocabulary than rows in a table": (
        "embedding-range",
        Own(
            model_of(
                """
look = L.StringLookup(vocabulary=["a", "b", "c", "d", "e"])
i = keras.Input((2,), dtype="string")
model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Embedding(5, 3)(look(i)))))
""",
                f"tf.constant([['a', 'e'], ['b', 'c']] * 4), {rows(8, 1)}",
            ),
            (
                (
                    "    model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Embedding(5, 3)(look(i)))))",
                    "    model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Embedding(6, 3)(look(i)))))",
                ),
            ),
        ),
    ),
    "numbers that are text": (
        "string-labels",
        Own(
            model_of(
                """
i = keras.Input((4,))
model = keras.Model(i, L.Dense(1)(i))
""",
                f"{rows(8, 4)}, np.array([f'{{n / 4:.2f}}' for n in range(8)], object)",
            ),
            (
                (
                    f"    return {rows(8, 4)}, np.array([f'{{n / 4:.2f}}' for n in range(8)], object)",
                    f"    return {rows(8, 4)}, np.array([f'{{n / 4:.2f}}' for n in range(8)], object).astype(\"float32\")",
                ),
            ),
        ),
    ),
    "lists of samples": (
        "data-misfit",
        Own(
            model_of(
                """
model = keras.Sequential([keras.Input((4, 4, 1)), L.Flatten(), L.Dense(3, activation="softmax")])
""",
                "Batches()",
                "'sparse_categorical_crossentropy'",
                head="""
class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 2
    def __getitem__(self, i):
        images = [np.ones((4, 4, 1), "float32") for _ in range(6)]
        labels = [k % 3 for k in range(6)]
        return images, labels
""",
            ),
            (("        return images, labels", "        return np.array(images), np.array(labels)"),),
        ),
    ),
    "samples behind a first axis": (
        "data-misfit",
        Own(
            model_of(
                """
i = keras.Input((5, 1))
model = keras.Model(i, L.Dense(1)(L.SimpleRNN(3)(i)))
""",
                f"np.expand_dims({rows(8, 5)}, 0), {rows(8, 1)}",
            ),
            ((f"    return np.expand_dims({rows(8, 5)}, 0), {rows(8, 1)}", f"    return np.squeeze(np.expand_dims({rows(8, 5)}, 0), 0), {rows(8, 1)}"),),
        ),
    ),
    "labels flattened in a loss, and the predictions not": (
        "batch-broadcast",
        Own(
            model_of(
                """
i = keras.Input((5,))
model = keras.Model(i, L.Dense(1, activation="sigmoid")(i))
""",
                f"{rows(8, 5)}, np.arange(8) % 2",
                "entropy",
                head="""
def entropy(y_true, y_pred):
    y_true = tf.cast(tf.reshape(y_true, [-1]), "float32")
    return -tf.reduce_mean(y_true * tf.math.log(y_pred + 1e-7) + (1 - y_true) * tf.math.log(1 - y_pred + 1e-7))
""",
            ),
            (("def entropy(y_true, y_pred):", "    y_pred = tf.reshape(y_pred, [-1])"),),
        ),
    ),
    "a distance over the batch": (
        "samples-summed",
        Own(
            model_of(
                """
i = keras.Input((5,))
model = keras.Model(i, L.Dense(3)(i))
""",
                f"{rows(8, 5)}, {rows(8, 3)}",
                "distance",
                head="""
def distance(t, p):
    return tf.sqrt(tf.reduce_sum(tf.square(p - t), axis=0) + 1e-7)
""",
            ),
            (("    return tf.sqrt(tf.reduce_sum(tf.square(p - t), axis=0) + 1e-7)", "    return tf.sqrt(tf.reduce_sum(tf.square(p - t), axis=-1) + 1e-7)"),),
        ),
    ),
    "a unit for each class": (
        "label-scale",
        Own(
            model_of(
                """
i = keras.Input((5,))
model = keras.Model(i, L.Dense(1, activation="sigmoid")(i))
""",
                f"{rows(8, 5)}, np.arange(8) % 4",
                "'binary_crossentropy'",
            ),
            (
                ('    model = keras.Model(i, L.Dense(1, activation="sigmoid")(i))', '    model = keras.Model(i, L.Dense(4, activation="softmax")(i))'),
                ("    model.compile('sgd', 'binary_crossentropy')", "    model.compile('sgd', 'sparse_categorical_crossentropy')"),
            ),
        ),
    ),
    "a pooling whose axes a convolution reads": (
        "layer-rank",
        Own(
            model_of(
                """
i = keras.Input((4, 4, 3))
p = L.GlobalAveragePooling2D()(i)
p = L.UpSampling2D((4, 4))(L.Conv2D(2, 1)(p))
model = keras.Model(i, L.Conv2D(1, 1)(L.Concatenate()([i, p])))
""",
                f"{rows(8, 4, 4, 3)}, {rows(8, 4, 4, 1)}",
            ),
            (("    p = L.GlobalAveragePooling2D()(i)", "    p = L.GlobalAveragePooling2D(keepdims=True)(i)"),),
        ),
    ),
    "a table that is folded to maps of another size": (
        "op-shapes",
        Own(
            model_of(
                """
i, j = keras.Input((5, 5, 1)), keras.Input((), dtype="int32")
model = keras.Model([i, j], L.Dense(1)(L.Flatten()(Beside()(i, j))))
""",
                f"({rows(8, 5, 5, 1)}, np.arange(8) % 3), {rows(8, 1)}",
                head="""
class Beside(L.Layer):
    def __init__(self):
        super().__init__()
        self.table = L.Embedding(3, 16)
    def call(self, image, label):
        e = tf.reshape(self.table(label), (-1, 4, 4, 1))
        return tf.concat([image, e], axis=-1)
""",
            ),
            (
                ("        self.table = L.Embedding(3, 16)", "        self.table = L.Embedding(3, 25)"),
                ("        e = tf.reshape(self.table(label), (-1, 4, 4, 1))", "        e = tf.reshape(self.table(label), (-1, 5, 5, 1))"),
            ),
        ),
    ),
    "names that losses and labels share and no output has": (
        "output-names",
        Own(
            model_of(
                """
i = keras.Input((5,))
model = keras.Model(i, {"out_a": L.Dense(1)(i), "out_b": L.Dense(2)(i)})
""",
                f'{rows(8, 5)}, {{"a": {rows(8, 1)}, "b": {rows(8, 2)}}}',
                "{\"a\": 'mse', \"b\": 'mae'}",
            ),
            (
                ("    model.compile('sgd', {\"a\": 'mse', \"b\": 'mae'})", "    model.compile('sgd', {\"out_a\": 'mse', \"out_b\": 'mae'})"),
                (
                    f'    return {rows(8, 5)}, {{"a": {rows(8, 1)}, "b": {rows(8, 2)}}}',
                    f'    return {rows(8, 5)}, {{"out_a": {rows(8, 1)}, "out_b": {rows(8, 2)}}}',
                ),
            ),
        ),
    ),
    "a factor that is too small for the labels": (
        "output-size",
        Own(
            model_of(
                """
i = keras.Input((None, None, 2))
x = L.Conv2D(2 * 4, 3, padding="same")(i)
model = keras.Model(i, Shuffle(2)(x))
""",
                f"{rows(8, 4, 4, 2)}, {rows(8, 16, 16, 2)}",
                head="""
class Shuffle(L.Layer):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
    def call(self, x):
        return tf.nn.depth_to_space(x, self.scale)
""",
            ),
            (
                ('    x = L.Conv2D(2 * 4, 3, padding="same")(i)', '    x = L.Conv2D(32, 3, padding="same")(i)'),
                ("    model = keras.Model(i, Shuffle(2)(x))", "    model = keras.Model(i, Shuffle(4)(x))"),
            ),
        ),
    ),
    "results of a class without names": (
        "output-names",
        Own(
            model_of(
                """
model = Heads()
""",
                f'{rows(8, 5)}, {{"kind": np.arange(8) % 3, "size": {rows(8, 1)}}}',
                '{"kind": "sparse_categorical_crossentropy", "size": "mse"}',
                head="""
class Heads(keras.Model):
    def __init__(self):
        super().__init__()
        self.kind = L.Dense(3, activation="softmax")
        self.size = L.Dense(1)
    def call(self, x):
        size = self.size(x)
        return self.kind(x), size
""",
            ),
            (("        return self.kind(x), size", '        return {"kind": self.kind(x), "size": size}'),),
        ),
    ),
    "maps of several sizes for rows of labels": (
        "merge-shapes",
        Own(
            model_of(
                """
i = keras.Input((8, 8, 1))
a = L.Conv2D(2, 3, strides=2, padding="same")(i)
b = L.Conv2D(2, 3, strides=2, padding="same")(a)
heads = [L.Conv2D(2 * 3, 3, padding="same")(one) for one in (a, b)]
model = keras.Model(i, L.Concatenate(axis=1)(heads))
""",
                f"{rows(4, 8, 8, 1)}, {rows(4, 40, 3)}",
            ),
            (
                (
                    "    model = keras.Model(i, L.Concatenate(axis=1)(heads))",
                    "    model = keras.Model(i, L.Concatenate(axis=1)([L.Reshape((-1, 3))(part) for part in heads]))",
                ),
            ),
        ),
    ),
}
