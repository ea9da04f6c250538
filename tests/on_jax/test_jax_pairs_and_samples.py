"""A table of each position by each other one beside a value of each position: the samples get axes, and the table no rows."""

from __future__ import annotations

import pytest
from strangers import serious, traced

MODEL = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed, self.attend, self.head = layers.Embedding(80, 16), layers.MultiHeadAttention(2, 8), layers.Dense(80)
    def call(self, ids):
        x = self.embed(ids)
        there, t = ids != 0, ids.shape[1]
        {mask}
        return self.head(x + self.attend(x, x, attention_mask=mask))

def build():
    model = Net()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    return np.ones((64, 18), "int32"), np.ones((64, 18), "int32")
"""
MASKS = {
    "a function": "mask = ops.logical_and(ops.tril(ops.ones((t, t), dtype='bool')), {})",
    "an operator": "mask = jnp.tril(jnp.ones((t, t), dtype=bool)) & {}",
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_a_padding_mask_gets_an_axis_for_the_queries(tmp_path, mask):
    (finding,) = serious(traced(tmp_path, MODEL.format(mask=mask.format("there"))))
    assert type(finding.fact.reason).__name__ == "PairsBeside"
    assert finding.fixes[0].verified
    assert "there[:, None, :]" in finding.fixes[0].patch
    assert not serious(traced(tmp_path, MODEL.format(mask=mask.format("there[:, None, :]"))))


def test_which_of_a_pair_has_the_value_is_a_question(tmp_path):
    (finding,) = serious(traced(tmp_path, MODEL.format(mask="mask = ops.tril(ops.ones((t, t))) * ops.cast(there, 'float32') > 0")))
    assert type(finding.fact.reason).__name__ == "PairsBeside"
    assert [fix.verified for fix in finding.fixes] == [False, False]
    assert ["(32, 1, 18)" in fix.title for fix in finding.fixes] == [True, False]
