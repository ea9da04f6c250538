"""Keras on JAX: does fine-tuning a decoder with LoRA fit a v5e-8, cut over a mesh? Asked on any machine.

    KERAS_BACKEND=jax python examples/decoder_lora_jax.py
    KERAS_BACKEND=jax tpushape check examples/decoder_lora_jax.py:build --data examples/decoder_lora_jax.py:data \
        --tpu v5e-8 --mesh "batch=2,model=4" --layout examples/decoder_lora_jax.py:LAYOUT --compile tpu

Nothing is allocated for the weights: the builder runs without values. `--compile tpu` wants `tpushape compiler install` once.
"""

import keras
import numpy as np
from keras import layers

VOCABULARY, WIDTH, HEADS, HIDDEN, BLOCKS, LENGTH = 32_000, 2048, 16, 8192, 12, 1024

# Attention by heads and the feed-forward part by its hidden units: one exchange for each at its end.
LAYOUT = {
    ".*table/embeddings": (None, "model"),
    ".*(query|key|value)/kernel": (None, "model", None),
    ".*attention_output/kernel": ("model", None, None),
    ".*(gate|up)/kernel": (None, "model"),
    ".*down/kernel": ("model", None),
    ".*head/kernel": (None, "model"),
}


class Block(layers.Layer):
    """Pre-norm attention and a gated feed-forward part."""

    def __init__(self, **options):
        super().__init__(**options)
        self.before, self.between = layers.RMSNormalization(), layers.RMSNormalization()
        self.attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, use_bias=False, name="attention")
        self.gate = layers.Dense(HIDDEN, activation="gelu", use_bias=False, name="gate")
        self.up = layers.Dense(HIDDEN, use_bias=False, name="up")
        self.down = layers.Dense(WIDTH, use_bias=False, name="down")

    def call(self, x):
        y = self.before(x)
        x = x + self.attention(y, y, use_causal_mask=True)
        y = self.between(x)
        return x + self.down(self.gate(y) * self.up(y))


def build(rank=8):
    keras.config.set_dtype_policy("bfloat16")
    tokens = keras.Input((LENGTH,), dtype="int32", name="tokens")
    x = layers.Embedding(VOCABULARY, WIDTH, name="table")(tokens)
    for number in range(BLOCKS):
        x = Block(name=f"block_{number}")(x)
    logits = layers.Dense(VOCABULARY, use_bias=False, name="head", dtype="float32")(layers.RMSNormalization()(x))
    model = keras.Model(tokens, logits)
    for layer in model.layers:
        # Only two thin factors beside each kernel are trained.
        layer.trainable = False
        if isinstance(layer, Block):
            layer.trainable = True
            for part in (layer.before, layer.between, layer.attention):
                part.trainable = False
            for part in (layer.gate, layer.up, layer.down):
                part.enable_lora(rank)
    model.compile(keras.optimizers.AdamW(1e-4), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def data():
    return np.zeros((16, LENGTH), "int32"), np.zeros((16, LENGTH), "int32")


if __name__ == "__main__":
    import jupyter_tpushape as tpushape
    from jupyter_tpushape.replicas.layouts import planned

    distribution = planned({"batch": 2, "model": 4}, LAYOUT)
    print(tpushape.trace(build, data, tpu="v5e-8", strategy=distribution, compiler="tpu", progress=print))
