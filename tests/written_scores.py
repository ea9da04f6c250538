"""Weights of positions and of a file: what is written, and as it should be."""

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
}  # fmt: skip
