"""A causal mask that shows the next step, which is the label."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

MODEL = """
class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.attend, self.norm = layers.MultiHeadAttention(2, 8), layers.LayerNormalization()
    def call(self, x):
        t = x.shape[1]
        mask = {mask}
        h = self.norm(x)
        return x + self.attend(h, h, attention_mask=mask[None])

def build():
    ids = keras.Input((16,), dtype="int32")
    model = keras.Model(ids, layers.Dense(60)(Block()(layers.Embedding(60, 16)(ids))))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    tokens = np.random.default_rng(0).integers(0, 60, (64, 17)).astype("int32")
    return {data}
"""
NEXT = "tokens[:, :-1], tokens[:, 1:]"


@pytest.mark.parametrize("mask", ["jnp.tril(jnp.ones((t, t), dtype=bool), k={})", "ops.tril(ops.ones((t, t), dtype='int32'), k={})"])
def test_a_triangle_beyond_its_diagonal_is_told(tmp_path, mask):
    assert "k=0)" in first(tmp_path, MODEL.format(mask=mask.format(1), data=NEXT), "next-steps-seen")
    assert not serious(traced(tmp_path, MODEL.format(mask=mask.format(0), data=NEXT)))


@pytest.mark.parametrize("mask", ["ops.tril(ops.ones((t, t), dtype='bool'), k=-1)", "jnp.arange(t)[:, None] >= jnp.arange(t)"])
def test_a_mask_that_shows_no_later_step_is_clean(tmp_path, mask):
    assert not serious(traced(tmp_path, MODEL.format(mask=mask, data=NEXT)))


def test_labels_of_the_same_step_may_read_the_next_one(tmp_path):
    mask = "jnp.tril(jnp.ones((t, t), dtype=bool), k=1)"
    assert not serious(traced(tmp_path, MODEL.format(mask=mask, data="tokens[:, :-1], (tokens[:, :-1] * 7) % 60")))
