"""States that one recurrent layer returns and another one gets."""

from __future__ import annotations

import pytest
from strangers import serious, traced

PAIR = """
class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = layers.{kind}(8, return_state=True)
        self.decoder = layers.{kind}(8, return_sequences=True)
        self.head = layers.Dense(2)
    def call(self, x):
        output, *rest = self.encoder(x)
        {unpack}
        states = {states}
        return self.head(self.decoder(x, initial_state=states))

def build():
    model = Pair()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, 6, 4), "float32"), np.zeros((16, 6, 2), "float32")
"""


def test_swapped_states_are_told_and_passed_in_order(tmp_path):
    (finding,) = serious(traced(tmp_path, PAIR.format(kind="LSTM", unpack="h, c = rest", states="[c, h]")))
    assert finding.rule == "states-exchanged"
    assert finding.fixes[0].proof == "source"
    assert "states = [h, c]" in finding.fixes[0].patch


@pytest.mark.parametrize(
    ("kind", "unpack", "states"),
    [("LSTM", "h, c = rest", "[h, c]"), ("LSTM", "c, h = rest", "[c, h]"), ("GRU", "h = rest[0]", "[h]"), ("LSTM", "h, c = rest", "[h, ops.zeros_like(h)]")],
)
def test_states_as_they_were_returned_are_right(tmp_path, kind, unpack, states):
    assert not serious(traced(tmp_path, PAIR.format(kind=kind, unpack=unpack, states=states)))


def test_data_for_several_arguments_of_a_layer_is_no_state(tmp_path):
    text = PAIR.format(kind="LSTM", unpack="h, c = rest", states="[h, c]").replace(
        "self.decoder(x, initial", "self.decoder(x + 0 * self.take(x, x, x), initial"
    )
    text = text.replace("self.head = ", "self.take = layers.MultiHeadAttention(1, 2)\n        self.head = ")
    assert not serious(traced(tmp_path, text))
