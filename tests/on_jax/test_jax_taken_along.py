"""Takes along an axis that indices do not count, and partitions with more entries than a tensor has axes."""

from __future__ import annotations

import pytest
from strangers import serious, traced

TAKES = """
class Own(layers.Layer):
    def call(self, inputs):
        x, at = inputs
        return {call}

def build():
    steps, at = keras.Input((20, 8)), keras.Input((5,), dtype="int32")
    hidden = Own()([layers.Dense(16)(steps), at])
    model = keras.Model([steps, at], layers.Dense(3)({end}))
    model.compile("sgd", "mse")
    return model

def data():
    return (np.zeros((32, 20, 8), "float32"), np.arange(160).reshape(32, 5) % 20), np.zeros((32, {y}3), "float32")
"""
POOLED = {"end": "layers.GlobalAveragePooling1D()(hidden)", "y": ""}


@pytest.mark.parametrize(
    ("call", "ends", "rule", "patch"),
    [
        ("jax.vmap(lambda one, i: jnp.take(one, i, axis=2))(x, at)", {"end": "hidden", "y": "5, "}, "op-shapes", "axis=0))"),
        ("jax.vmap(lambda one, i: jnp.take(one, i, axis=1))(x, at)", POOLED, "embedding-range", "axis=0))"),
        ("jax.vmap(lambda one, i: ops.take(one, i, axis=-1))(x, at)", POOLED, "embedding-range", "axis=0))"),
        ("jnp.take_along_axis(x, at[:, None, :], axis=2)", POOLED, "embedding-range", ""),
    ],
    ids=["no axis", "features", "last", "along"],
)
def test_a_take_goes_along_the_axis_that_its_indices_count(tmp_path, call, ends, rule, patch):
    finding = serious(traced(tmp_path, TAKES.format(call=call, **ends)))[0]
    assert finding.rule == rule
    assert [fix.proof for fix in finding.fixes] == ["source"] * bool(patch)
    assert not patch or patch in finding.fixes[0].patch


@pytest.mark.parametrize(
    "call",
    [
        "jax.vmap(lambda one, i: jnp.take(one, i, axis=0))(x, at)",
        'jax.vmap(lambda one, i: jnp.take(one, i, axis=1, mode="clip"))(x, at)',
        "jax.vmap(lambda one, i: jnp.take(one, i % 16, axis=1))(x, at)",
        "jnp.take_along_axis(x, at[:, :, None], axis=1)",
    ],
)
def test_indices_that_are_in_range_or_clipped_are_not_reported(tmp_path, call):
    assert traced(tmp_path, TAKES.format(call=call, **POOLED)).ok


SHARDED = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
MESH = Mesh(np.array(jax.devices()[:1]).reshape(1, 1, 1), ("batch", "model", "expert"))
SPEC = P(("batch",), None, None)

class Own(layers.Layer):
    def call(self, x):
        return jax.lax.with_sharding_constraint(jnp.mean(x, axis=1), NamedSharding(MESH, {spec}))

def build():
    inputs = keras.Input((10, 8))
    model = keras.Model(inputs, layers.Dense(1)(Own()(inputs)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 10, 8), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize(
    ("spec", "patch"),
    [
        ('P("batch", None, "model")', '+        return jax.lax.with_sharding_constraint(jnp.mean(x, axis=1), NamedSharding(MESH, P("batch", "model")))'),
        ("SPEC", '+SPEC = P(("batch",), None)'),
        ('P("batch", "model", "expert")', ""),
    ],
)
def test_a_partition_has_no_more_entries_than_the_tensor_has_axes(tmp_path, spec, patch):
    (finding,) = serious(traced(tmp_path, SHARDED.format(spec=spec)))
    assert finding.rule == "code-raises"
    if patch:
        assert type(finding.fact).__name__ == "PartitionTooLong"
        assert finding.fixes[0].proof == "source"
        assert patch in finding.fixes[0].patch
    else:
        assert not finding.fixes


def test_a_partition_with_fewer_entries_is_not_reported(tmp_path):
    assert traced(tmp_path, SHARDED.format(spec='P("batch")')).ok


def test_an_axis_that_is_too_short_for_any_index_of_the_data_is_no_fix(tmp_path):
    text = TAKES.format(call="ops.take(x, at[0], axis=3)", end="layers.GlobalAveragePooling1D()(hidden)", y="")
    finding = serious(traced(tmp_path, text))[0]
    assert type(finding.fact.reason).__name__ == "NoAxis" and not any("axis=2" in fix.patch for fix in finding.fixes)
