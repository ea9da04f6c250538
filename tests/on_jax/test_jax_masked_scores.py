"""Masks that a custom layer adds to its scores, or selects them by: the right way round, and inverted."""

from __future__ import annotations

import pytest
from strangers import serious, traced

SCORES = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k = layers.Dense(16), layers.Dense(16)
    def call(self, x, real):
        scores = ops.einsum("btd,bsd->bts", self.q(x), self.k(x)) / 4.0
        scores = {scores}
        x = ops.matmul(ops.softmax(scores, axis=-1), x)
        return {end}

def build():
    ids = keras.Input((20,), dtype="int32")
    real = {mask}
    model = keras.Model(ids, layers.Dense(2)(Own()(layers.Embedding(300, 16)(ids), real)))
    model.compile("adam", "mse")
    return model

def data():
    return np.arange(640).reshape(32, 20) % 300, np.zeros((32, 2), "float32")
"""
MEAN = "ops.mean(x, axis=1)"
ONE = 'ops.cast(real, "float32")[:, None, :]'
WRONG = {
    "added": (f"scores + {ONE} * -1e9", MEAN, "ops.not_equal(ids, 0)", "+    real = ops.equal(ids, 0)"),
    "taken off": (f"scores - 1e9 * {ONE}", MEAN, "ops.not_equal(ids, 0)", "+    real = ops.equal(ids, 0)"),
    "hidden": ("jnp.where(real[:, None, :], -1e9, scores)", MEAN, "ops.not_equal(ids, 0)", "+    real = ops.equal(ids, 0)"),
    "selected": ("ops.where(real[:, None, :], scores, -1e9)", MEAN, "ops.equal(ids, 0)", "+    real = ops.not_equal(ids, 0)"),
    "read twice": (f"scores + {ONE} * -1e9", 'ops.sum(x * ops.cast(real, "float32")[:, :, None], axis=1)', "ops.not_equal(ids, 0)", ""),
}


@pytest.mark.parametrize(("scores", "end", "mask", "patch"), WRONG.values(), ids=WRONG)
def test_a_mask_that_hides_all_but_the_padding_is_inverted(tmp_path, scores, end, mask, patch):
    (finding,) = serious(traced(tmp_path, SCORES.format(scores=scores, end=end, mask=mask)))
    assert (finding.rule, finding.severity) == ("mask-inverted", "silent")
    assert [fix.proof for fix in finding.fixes] == ["source"] * bool(patch)
    assert not patch or patch in finding.fixes[0].patch


@pytest.mark.parametrize(
    ("scores", "mask"),
    [
        (f"scores + (1.0 - {ONE}) * -1e9", "ops.not_equal(ids, 0)"),
        (f"scores + ({ONE} - 1.0) * 1e9", "ops.not_equal(ids, 0)"),
        (f"scores + {ONE} * -1e9", "ops.equal(ids, 0)"),
        ("ops.where(real[:, None, :], scores, -1e9)", "ops.not_equal(ids, 0)"),
        ("jnp.where(ops.logical_not(real)[:, None, :], -jnp.inf, scores)", "ops.not_equal(ids, 0)"),
        (f"scores + {ONE} * 2.0", "ops.not_equal(ids, 0)"),
        (f"scores * {ONE}", "ops.not_equal(ids, 0)"),
    ],
)
def test_a_mask_that_hides_the_padding_is_not_reported(tmp_path, scores, mask):
    assert traced(tmp_path, SCORES.format(scores=scores, end=MEAN, mask=mask)).ok


def test_one_of_two_kinds_may_be_all_that_counts(tmp_path):
    code = SCORES.format(scores="jnp.where(real[:, None, :], -1e9, scores)", end=MEAN, mask="ops.not_equal(ids, 0)")
    assert traced(tmp_path, code.replace("% 300", "% 2").replace("Embedding(300", "Embedding(2")).ok
