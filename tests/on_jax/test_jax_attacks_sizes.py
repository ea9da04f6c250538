"""What JAX would give memory to only as a model runs."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.diagnose import BadProgram


@pytest.mark.parametrize("size", [2**63, 2**70, 10**400])
def test_a_weight_of_more_elements_than_a_tensor_can_have_is_refused(size):
    class Large(keras.layers.Layer):
        def build(self, _):
            self.add_weight(shape=(size,), name="large")

        def call(self, x):
            return x

    with pytest.raises(BadProgram, match=r"large .* more elements than a tensor can have") as caught:
        tpushape.trace(lambda: keras.Sequential([keras.Input((4,)), Large()]), np.zeros((8, 4), "float32"), tpu=None)
    assert len(str(caught.value)) < 250
