"""An operand of an einsum with an inner axis more than it has letters, such as the choices of a mixture of experts."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

MODEL = """
class Experts(layers.Layer):
    def __init__(self):
        super().__init__()
        self.gate = layers.Dense(6)
    def build(self, shape):
        self.up = self.add_weight(shape=(6, shape[-1], 8), name="up")
        self.gate.build(shape)
    def call(self, x):
        top, index = ops.top_k(self.gate(x), {count})
        combine = ops.one_hot(index, 6) * ops.softmax(top, axis=-1)[..., None]
        out = ops.einsum("btd,edh->bteh", x, self.up)
        return ops.einsum("{letters}", combine, out)

def build():
    x = keras.Input((10, 8))
    model = keras.Model(x, layers.Dense(1)(Experts()(x)))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((64, 10, 8), "float32"), np.zeros((64, 10, 1), "float32")
"""


@pytest.mark.parametrize("count", [2, 3])
def test_the_choices_get_a_letter_and_are_summed(tmp_path, count):
    assert '"btke,bteh->bth"' in first(tmp_path, MODEL.format(count=count, letters="bte,bteh->bth"))
    assert not serious(traced(tmp_path, MODEL.format(count=count, letters="btke,bteh->bth")))


def test_which_of_two_axes_of_one_size_has_no_letter_is_not_guessed(tmp_path):
    (finding,) = serious(traced(tmp_path, MODEL.format(count=6, letters="bte,bteh->bth")))
    assert not any("over which the product then sums" in fix.reason and fix.verified for fix in finding.fixes)
