"""Models as people write them, each with data to fit it: what the view has to make good pictures of.

Each function gives ``(model, data)``. Nothing in them is groomed for the picture: layers that their authors leave unnamed are unnamed,
and masks are cast where they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

Program = tuple[Any, Any]


def images(size: int, rows: int = 16, channels: int = 3) -> np.ndarray:
    return np.zeros((rows, size, size, channels), "float32")


def labels(rows: int = 16) -> np.ndarray:
    return np.zeros((rows,), "int32")


# --- transformers ---------------------------------------------------------------------------------------------------------


class EncoderBlock(layers.Layer):
    """One block of BERT. The mask is cast and widened here, as most people do."""

    def __init__(self, width: int, heads: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.attention = layers.MultiHeadAttention(heads, width // heads)
        self.norm1, self.norm2 = layers.LayerNormalization(), layers.LayerNormalization()
        self.up, self.down = layers.Dense(4 * width, activation="gelu"), layers.Dense(width)
        self.dropout = layers.Dropout(0.1)

    def call(self, x: Any, mask: Any) -> Any:
        mask = ops.cast(mask, "bool")[:, None, :]
        attended = self.attention(x, x, attention_mask=mask)
        x = self.norm1(x + self.dropout(attended))
        return self.norm2(x + self.dropout(self.down(self.up(x))))


class Bert(keras.Model):
    def __init__(self, blocks: int = 6, width: int = 64, words: int = 1000) -> None:
        super().__init__(name="bert")
        self.tokens, self.positions = layers.Embedding(words, width), layers.Embedding(128, width)
        self.norm = layers.LayerNormalization()
        self.blocks = [EncoderBlock(width, 4) for _ in range(blocks)]
        self.pooler, self.head = layers.Dense(width, activation="tanh"), layers.Dense(2)

    def call(self, inputs: Any) -> Any:
        ids, mask = inputs["ids"], inputs["mask"]
        x = self.tokens(ids) + self.positions(ops.arange(ops.shape(ids)[1]))
        x = self.norm(x)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.pooler(x[:, 0]))


def bert() -> Program:
    model = Bert()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    rows = np.ones((64, 32), "int32")
    return model, ({"ids": rows, "mask": rows}, labels(64))


def flat_bert() -> Program:
    """The same without a class for its block: everything in one ``call``."""

    class FlatBert(keras.Model):
        def __init__(self, depth: int = 6, width: int = 64) -> None:
            super().__init__(name="flat_bert")
            self.embed = layers.Embedding(1000, width)
            self.attend = [layers.MultiHeadAttention(4, 16) for _ in range(depth)]
            self.norms = [layers.LayerNormalization() for _ in range(2 * depth)]
            self.ups = [layers.Dense(4 * width, activation="gelu") for _ in range(depth)]
            self.downs = [layers.Dense(width) for _ in range(depth)]
            self.head = layers.Dense(2)

        def call(self, inputs: Any) -> Any:
            x = self.embed(inputs["ids"])
            for i, attend in enumerate(self.attend):
                mask = tf.cast(inputs["mask"][:, tf.newaxis, :], tf.bool)
                x = self.norms[2 * i](x + attend(x, x, attention_mask=mask))
                x = self.norms[2 * i + 1](x + self.downs[i](self.ups[i](x)))
            return self.head(tf.reduce_mean(x, axis=1))

    model = FlatBert()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    rows = np.ones((64, 32), "int32")
    return model, ({"ids": rows, "mask": rows}, labels(64))


class RMSNorm(layers.Layer):
    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x: Any) -> Any:
        return x * ops.rsqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + 1e-6) * (1.0 + self.scale)


def rotate(x: Any) -> Any:
    """Rotary positions on ``(batch, time, heads, size)``."""
    size = x.shape[-1]
    steps = ops.cast(ops.arange(ops.shape(x)[1]), "float32")
    waves = ops.power(10000.0, -ops.cast(ops.arange(0, size, 2), "float32") / size)
    angle = ops.reshape(steps[:, None] * waves[None, :], (1, -1, 1, size // 2))
    first, second = ops.split(x, 2, axis=-1)
    return ops.concatenate([first * ops.cos(angle) - second * ops.sin(angle), second * ops.cos(angle) + first * ops.sin(angle)], axis=-1)


class DecoderBlock(layers.Layer):
    """Grouped queries with rotary positions, and a gated feed-forward network, as in Gemma."""

    def __init__(self, width: int, heads: int, groups: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = RMSNorm(), RMSNorm()
        self.q = layers.EinsumDense("btd,dnh->btnh", (None, heads, self.size))
        self.k = layers.EinsumDense("btd,dnh->btnh", (None, groups, self.size))
        self.v = layers.EinsumDense("btd,dnh->btnh", (None, groups, self.size))
        self.o = layers.EinsumDense("btnh,nhd->btd", (None, width))
        self.gate, self.up = layers.Dense(4 * width, use_bias=False), layers.Dense(4 * width, use_bias=False)
        self.down = layers.Dense(width, use_bias=False)

    def call(self, x: Any) -> Any:
        h = self.norm1(x)
        q, k, v = rotate(self.q(h)), rotate(self.k(h)), self.v(h)
        k, v = ops.repeat(k, self.heads // self.groups, axis=2), ops.repeat(v, self.heads // self.groups, axis=2)
        scores = ops.einsum("btnh,bsnh->bnts", q, k) / self.size**0.5
        steps = ops.arange(ops.shape(x)[1])
        scores = ops.where(steps[:, None] >= steps[None, :], scores, -1e9)
        x = x + self.o(ops.einsum("bnts,bsnh->btnh", ops.softmax(scores), v))
        h = self.norm2(x)
        return x + self.down(ops.gelu(self.gate(h)) * self.up(h))


def gemma() -> Program:
    class Decoder(keras.Model):
        def __init__(self, blocks: int = 8, width: int = 64, words: int = 512) -> None:
            super().__init__(name="decoder")
            self.embed = layers.Embedding(words, width)
            self.blocks = [DecoderBlock(width, 4, 2) for _ in range(blocks)]
            self.norm = RMSNorm()
            self.width = width

        def call(self, ids: Any) -> Any:
            x = self.embed(ids) * self.width**0.5
            for block in self.blocks:
                x = block(x)
            return ops.matmul(self.norm(x), ops.transpose(self.embed.embeddings))

    model = Decoder()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model, (np.zeros((32, 64), "int32"), np.zeros((32, 64), "int32"))


def vision_transformer() -> Program:
    """Functional, without a name anywhere."""
    source = keras.Input((64, 64, 3))
    x = layers.Conv2D(64, 8, strides=8)(source)
    x = layers.Reshape((64, 64))(x)
    x = x + layers.Embedding(64, 64)(ops.arange(64))
    for _ in range(8):
        h = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([layers.MultiHeadAttention(4, 16, dropout=0.1)(h, h), x])
        h = layers.LayerNormalization(epsilon=1e-6)(x)
        for units in (128, 64):
            h = layers.Dropout(0.1)(layers.Dense(units, activation="gelu")(h))
        x = layers.Add()([h, x])
    x = layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x))
    model = keras.Model(source, layers.Dense(100)(layers.Dropout(0.5)(x)))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model, (images(64, 32), labels(32))


def translator() -> Program:
    """Sequence to sequence with attention."""
    source, target = keras.Input((20,), dtype="int32", name="source"), keras.Input((18,), dtype="int32", name="target")
    embedded = layers.Embedding(500, 64, mask_zero=True)(source)
    encoded, forward_h, forward_c, back_h, back_c = layers.Bidirectional(layers.LSTM(64, return_sequences=True, return_state=True))(embedded)
    states = [layers.Concatenate()([forward_h, back_h]), layers.Concatenate()([forward_c, back_c])]
    decoded, _, _ = layers.LSTM(128, return_sequences=True, return_state=True)(layers.Embedding(500, 64, mask_zero=True)(target), initial_state=states)
    context = layers.AdditiveAttention()([decoded, encoded])
    x = layers.Concatenate()([decoded, context])
    x = layers.TimeDistributed(layers.Dense(128, activation="tanh"))(x)
    model = keras.Model([source, target], layers.Dense(500, activation="softmax")(x), name="translator")
    model.compile("adam", "sparse_categorical_crossentropy")
    return model, ([np.ones((64, 20), "int32"), np.ones((64, 18), "int32")], np.zeros((64, 18), "int32"))


# --- steps of their own ---------------------------------------------------------------------------------------------------


def gan() -> Program:
    """A DCGAN with a training step of its own."""
    critic = keras.Sequential(
        [keras.Input((28, 28, 1))]
        + [layer for n in (64, 128) for layer in (layers.Conv2D(n, 3, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2))]
        + [layers.GlobalMaxPooling2D(), layers.Dense(1)],
        name="discriminator",
    )
    maker = keras.Sequential(
        [keras.Input((128,)), layers.Dense(7 * 7 * 128), layers.LeakyReLU(negative_slope=0.2), layers.Reshape((7, 7, 128))]
        + [layer for _ in range(2) for layer in (layers.Conv2DTranspose(128, 4, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2))]
        + [layers.Conv2D(1, 7, padding="same", activation="sigmoid")],
        name="generator",
    )

    class Gan(keras.Model):
        def __init__(self) -> None:
            super().__init__(name="gan")
            self.critic, self.maker = critic, maker

        def compile(self, d_optimizer: Any, g_optimizer: Any, loss: Any) -> None:
            super().compile()
            self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss

        def train_step(self, real: Any) -> Any:
            size = tf.shape(real)[0]
            made = self.maker(tf.random.normal((size, 128)))
            both = tf.concat([made, real], axis=0)
            truth = tf.concat([tf.ones((size, 1)), tf.zeros((size, 1))], axis=0)
            with tf.GradientTape() as tape:
                d_loss = self.loss_fn(truth, self.critic(both))
            weights = self.critic.trainable_weights
            self.d_optimizer.apply_gradients(zip(tape.gradient(d_loss, weights), weights, strict=True))
            with tf.GradientTape() as tape:
                g_loss = self.loss_fn(tf.zeros((size, 1)), self.critic(self.maker(tf.random.normal((size, 128)))))
            weights = self.maker.trainable_weights
            self.g_optimizer.apply_gradients(zip(tape.gradient(g_loss, weights), weights, strict=True))
            return {"d_loss": d_loss, "g_loss": g_loss}

    model = Gan()
    model.compile(keras.optimizers.Adam(3e-4), keras.optimizers.Adam(3e-4), keras.losses.BinaryCrossentropy(from_logits=True))
    return model, tf.data.Dataset.from_tensor_slices(images(28, 256, 1)).shuffle(256).batch(64, drop_remainder=True).prefetch(2)


def vae() -> Program:
    """A variational autoencoder with a sampling layer and a training step of its own."""

    class Sampling(layers.Layer):
        def call(self, inputs: Any) -> Any:
            mean, log_var = inputs
            return mean + ops.exp(0.5 * log_var) * keras.random.normal(ops.shape(mean))

    source = keras.Input((28, 28, 1))
    x = layers.Conv2D(32, 3, activation="relu", strides=2, padding="same")(source)
    x = layers.Flatten()(layers.Conv2D(64, 3, activation="relu", strides=2, padding="same")(x))
    x = layers.Dense(16, activation="relu")(x)
    mean, log_var = layers.Dense(2, name="z_mean")(x), layers.Dense(2, name="z_log_var")(x)
    encoder = keras.Model(source, [mean, log_var, Sampling()([mean, log_var])], name="encoder")
    decoder = keras.Sequential(
        [
            keras.Input((2,)),
            layers.Dense(7 * 7 * 64, activation="relu"),
            layers.Reshape((7, 7, 64)),
            layers.Conv2DTranspose(64, 3, activation="relu", strides=2, padding="same"),
            layers.Conv2DTranspose(32, 3, activation="relu", strides=2, padding="same"),
            layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same"),
        ],
        name="decoder",
    )

    class Vae(keras.Model):
        def __init__(self) -> None:
            super().__init__(name="vae")
            self.encoder, self.decoder = encoder, decoder

        def train_step(self, data: Any) -> Any:
            with tf.GradientTape() as tape:
                mean, log_var, z = self.encoder(data)
                made = self.decoder(z)
                seen = tf.reduce_mean(tf.reduce_sum(keras.losses.binary_crossentropy(data, made), axis=(1, 2)))
                apart = tf.reduce_mean(tf.reduce_sum(-0.5 * (1 + log_var - tf.square(mean) - tf.exp(log_var)), axis=1))
                total = seen + apart
            self.optimizer.apply_gradients(zip(tape.gradient(total, self.trainable_weights), self.trainable_weights, strict=True))
            return {"loss": total}

    model = Vae()
    model.compile("adam")
    return model, images(28, 256, 1)


# --- convolutions ---------------------------------------------------------------------------------------------------------


def unet() -> Program:
    """With a data pipeline, and no name anywhere."""
    source = x = keras.Input((128, 128, 3))
    skips = []
    for n in (32, 64, 128, 256):
        for _ in range(2):
            x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(n, 3, padding="same")(x)))
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    for n in (256, 128, 64, 32):
        x = layers.Concatenate()([layers.Conv2DTranspose(n, 2, strides=2)(x), skips.pop()])
        for _ in range(2):
            x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(n, 3, padding="same")(x)))
    model = keras.Model(source, layers.Conv2D(4, 1, activation="softmax")(x), name="unet")
    model.compile("adam", "sparse_categorical_crossentropy")
    data = tf.data.Dataset.from_tensor_slices((images(128, 64), np.zeros((64, 128, 128, 1), "int32")))
    return model, data.map(lambda image, mask: (image / 255.0, mask)).cache().shuffle(64).batch(32, drop_remainder=True).prefetch(2)


def siamese() -> Program:
    left, right = keras.Input((32, 32, 3), name="left"), keras.Input((32, 32, 3), name="right")
    tower = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(64),
            layers.UnitNormalization(),
        ],
        name="tower",
    )
    apart = layers.Lambda(lambda pair: ops.abs(pair[0] - pair[1]), name="distance")([tower(left), tower(right)])
    model = keras.Model([left, right], layers.Dense(1, activation="sigmoid")(apart), name="siamese")
    model.compile("adam", "binary_crossentropy")
    return model, ([images(32, 64)] * 2, np.zeros((64, 1), "float32"))


def application(name: str, size: int = 224) -> Callable[[], Program]:
    def build() -> Program:
        model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3))
        model.compile("adam", "sparse_categorical_crossentropy")
        return model, (images(size), labels())

    return build


# --- tables, text, and models that break ----------------------------------------------------------------------------------


def table() -> Program:
    """Forty columns: numbers are normalised, categories embedded."""
    numbers = {f"number_{i}": keras.Input((1,), name=f"number_{i}") for i in range(24)}
    kinds = {f"kind_{i}": keras.Input((1,), dtype="int32", name=f"kind_{i}") for i in range(16)}
    parts = [layers.Normalization(mean=0.0, variance=1.0)(one) for one in numbers.values()]
    parts += [layers.Flatten()(layers.Embedding(50, 8)(one)) for one in kinds.values()]
    x = layers.Concatenate()(parts)
    for n in (256, 128):
        x = layers.Dropout(0.2)(layers.BatchNormalization()(layers.Dense(n, activation="relu")(x)))
    model = keras.Model({**numbers, **kinds}, layers.Dense(1, activation="sigmoid")(x), name="table")
    model.compile("adam", "binary_crossentropy")
    columns = {name: np.zeros((128, 1), "int32" if name.startswith("kind") else "float32") for name in {**numbers, **kinds}}
    return model, (columns, np.zeros((128, 1), "float32"))


def reviews() -> Program:
    """Bidirectional LSTMs over text from a pipeline."""
    model = keras.Sequential(
        [
            keras.Input((200,), dtype="int32"),
            layers.Embedding(20000, 128),
            layers.SpatialDropout1D(0.2),
            layers.Bidirectional(layers.LSTM(64, return_sequences=True)),
            layers.Bidirectional(layers.LSTM(32)),
            layers.Dense(64, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(1, activation="sigmoid"),
        ],
        name="reviews",
    )
    model.compile("adam", "binary_crossentropy")
    data = tf.data.Dataset.from_tensor_slices((np.zeros((512, 200), "int32"), np.zeros((512, 1), "float32")))
    return model, data.shuffle(512).batch(128, drop_remainder=True).prefetch(2)


def broken_cnn() -> Program:
    """A convolution runs into an LSTM."""

    def build() -> Any:
        model = keras.Sequential(
            [keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(), layers.LSTM(64), layers.Dense(10, activation="softmax")],
            name="digits",
        )
        model.compile("adam", "sparse_categorical_crossentropy")
        return model

    data = tf.data.Dataset.from_tensor_slices((images(28, 256, 1), labels(256)))
    return build, data.shuffle(256).batch(64, drop_remainder=True).prefetch(2)


def broken_merge() -> Program:
    """Two branches that stop matching, deep in a model that works until there."""

    def build() -> Any:
        source = keras.Input((65, 65, 3))
        x = layers.Conv2D(32, 3, padding="same", activation="relu")(source)
        skip = x
        x = layers.Conv2D(64, 3, padding="same", activation="relu")(layers.MaxPooling2D()(x))
        x = layers.UpSampling2D()(x)
        x = layers.Concatenate()([x, skip])
        model = keras.Model(source, layers.Conv2D(1, 1)(x), name="segmenter")
        model.compile("adam", "mse")
        return model

    return build, (images(65, 32), images(65, 32, 1))


GALLERY: dict[str, Callable[[], Program]] = {
    "bert": bert,
    "flat-bert": flat_bert,
    "gemma": gemma,
    "vision-transformer": vision_transformer,
    "translator": translator,
    "gan": gan,
    "vae": vae,
    "unet": unet,
    "siamese": siamese,
    "table": table,
    "reviews": reviews,
    "resnet50": application("ResNet50"),
    "mobilenet": application("MobileNetV2"),
    "efficientnet-v2": application("EfficientNetV2B0"),
    "convnext": application("ConvNeXtTiny"),
    "nasnet": application("NASNetMobile"),
    "broken-cnn": broken_cnn,
    "broken-merge": broken_merge,
}
