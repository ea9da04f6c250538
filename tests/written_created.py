"""Tensors that a program creates in the shape of others, and numbers that it has a name for: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_SAMPLING = """
class Sampling(L.Layer):
    def call(self, both):
        mean, spread = both
        noise = tf.random.normal(tf.shape(mean))
        return mean + tf.exp(0.5 * spread) * noise
"""
_AUTOENCODER = """
LATENT = 8
class Autoencoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.mean = L.Dense(LATENT)
        self.spread = L.Dense(2 * LATENT)
        self.out = L.Dense(6)
    def call(self, x):
        mean, spread = self.mean(x), self.spread(x)
        noise = tf.random.normal(tf.shape(mean))
        return self.out(mean + tf.exp(spread / 2) * noise)
"""
_TRIPLETS = """
def triplets(t, p):
    anchor, near, far = p[:, :16], p[:, 16:32], p[:, 32:]
    return tf.maximum(tf.reduce_sum(tf.square(anchor - near), 1) - tf.reduce_sum(tf.square(anchor - far), 1) + 1.0, 0.0)
"""

CREATED = {
    "noise in the shape of another layer's output": ("op-shapes", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(5)(i)
mean = L.Dense(2, name="mean")(x)
spread = L.Dense(5, name="spread")(x)
model = keras.Model(i, L.Dense(6)(Sampling()([mean, spread])))
""", f"{rows(8, 6)}, {rows(8, 6)}", head=_SAMPLING), ((
        '    spread = L.Dense(5, name="spread")(x)', '    spread = L.Dense(2, name="spread")(x)',
    ),))),
    "a size that has a name": ("op-shapes", Own(model_of("""
model = Autoencoder()
""", f"{rows(8, 6)}, {rows(8, 6)}", head=_AUTOENCODER), ((
        "        self.spread = L.Dense(2 * LATENT)", "        self.spread = L.Dense(LATENT)",
    ),))),
    "slices of which the last is open": ("loss-raises", Own(model_of("""
net = keras.Sequential([keras.Input((4,)), L.Dense(8)])
ends = [keras.Input((4,)) for _ in range(3)]
model = keras.Model(ends, L.Concatenate()([net(end) for end in ends]))
""", f"({rows(8, 4)}, {rows(8, 4)}, {rows(8, 4)}), {rows(8)}", "triplets", head=_TRIPLETS), ((
        "    anchor, near, far = p[:, :16], p[:, 16:32], p[:, 32:]", "    anchor, near, far = p[:, :8], p[:, 8:16], p[:, 16:]",
    ),))),
}  # fmt: skip
