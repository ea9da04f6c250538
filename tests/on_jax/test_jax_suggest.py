"""Layouts that are suggested hold, and are ranked by what the TPU compiler says of them."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from eight_devices import BUILDERS

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge
from jupyter_tpushape.examine.layout_facts import laid_out
from jupyter_tpushape.replicas.layouts import planned
from jupyter_tpushape.rules.layouts import _clashes, _entry
from jupyter_tpushape.suggest.candidates import candidates, given
from jupyter_tpushape.trace.frameworks import adapter_for

L = keras.layers
compiler = pytest.mark.skipif(bool(bridge.check()), reason="the TPU compiler is not installed")


@pytest.mark.parametrize("build", BUILDERS, ids=[build.__name__ for build in BUILDERS])
@pytest.mark.parametrize("devices", [4, 8, 16])
def test_every_candidate_lays_every_variable_and_each_of_its_keys_fits(build, devices):
    keras.utils.clear_session()
    model = build()
    variables = [(one.path, tuple(one.shape)) for one in model.variables]
    found = list(candidates(variables, devices, 64))
    assert found[0].layout == {} and found[0].mesh == {"batch": devices}
    for one in found:
        laid = laid_out(adapter_for(model), model, one.distribution())
        assert laid.sound and laid.mesh.devices == devices
        assert [*_clashes(laid), *(finding for entry in laid.entries for finding in _entry(laid, entry))] == []
        # The lines make the same map, and name the same axes.
        compile(one.source, one.name, "exec")
        assert all(repr(key)[1:-1].replace("\\\\", "\\") in one.source for key in one.layout)


def test_heads_and_hidden_units_are_cut_so_that_only_their_second_kernel_is_summed():
    attend, feed = (
        [("attend/query/kernel", (32, 4, 8)), ("attend/attention_output/kernel", (4, 8, 32))],
        [("up/kernel", (32, 128)), ("down/kernel", (128, 32)), ("up/bias", (128,))],
    )
    two = next(one for one in candidates([*attend, *feed], 8, 64) if one.name == "tensor parallel over 4")
    assert two.mesh == {"batch": 2, "model": 4}
    assert two.layout == {
        "attend/query/kernel": ("", "model", ""),
        "attend/attention_output/kernel": ("model", "", ""),
        "up/kernel": ("", "model"),
        "down/kernel": ("model", ""),
    }


def test_a_batch_that_no_part_of_the_mesh_divides_is_not_tried():
    names = [one.name for one in candidates([("up/kernel", (32, 128))], 8, 12)]
    assert names == ["tensor parallel over 2", "tensor parallel over 4", "tensor parallel over 8"]


def build():
    inputs = keras.Input((6,))
    model = keras.Model(inputs, L.Dense(6, name="down")(L.Dense(10, activation="relu", name="up")(inputs)))
    model.compile("sgd", "mse")
    return model


@compiler
def test_candidates_are_compiled_and_ranked_and_what_is_told_is_the_verdicts():
    data = (np.zeros((16, 6), "float32"), np.zeros((16, 6), "float32"))
    found = tpushape.suggest_layout(build, data, tpu="v5e-4", batch_size=16)
    assert sorted(one.name for one in found.tried) == ["data parallel", "tensor parallel over 2"]
    assert all(one.fits and one.bytes > 0 and one.sent > 0 for one in found.tried)
    assert [one.sent for one in found.tried] == sorted(one.sent for one in found.tried)
    assert found.best is found.tried[0] and "time" in repr(found)
    report = tpushape.trace(build, data, tpu="v5e-4", batch_size=16, strategy=found.best.distribution(), compiler="tpu", fixes=False)
    assert sum(one.sent for one in report.verdicts[-1].collectives) == found.best.sent
    assert report.verdicts[-1].tried[0].bytes == found.best.bytes


@compiler
def test_what_divides_over_nothing_is_one_line():
    with pytest.raises(ValueError, match=r"batch of 3 .*4 devices.*multiple of 4"):
        tpushape.suggest_layout(build, (np.zeros((3, 6), "float32"), np.zeros((3, 6), "float32")), tpu="v5e-4", batch_size=3)


@compiler
def test_a_given_map_with_its_axes_exchanged_is_compiled_beside_what_sends_less():
    def build():
        inputs = keras.Input((32,))
        model = keras.Model(inputs, L.Dense(32, name="down")(L.Dense(512, activation="relu", name="up")(inputs)))
        model.compile("sgd", "mse")
        return model

    on = planned({"rows": 2, "model": 2}, {".*up/kernel": ("model", None), ".*down/kernel": (None, "model")})
    data = (np.zeros((64, 32), "float32"), np.zeros((64, 32), "float32"))
    found = {one.name: one for one in tpushape.suggest_layout(build, data, tpu="v5e-4", strategy=on).tried}
    own, both = found["the given layout"], found["the given layout, 2 keys changed"]
    assert both.candidate.layout == {".*up/kernel": ("", "model"), ".*down/kernel": ("model", "")}
    assert own.fits and both.fits and own.sent > 1.5 * both.sent > 0
    report = tpushape.trace(build, data, tpu="v5e-4", strategy=on, compiler="tpu", fixes=False)
    assert sum(one.sent for one in report.verdicts[-1].collectives) == own.sent
    assert "batch_dim_name='rows'" in both.source


def test_the_entries_of_a_given_map_are_exchanged_where_their_variables_still_divide():
    on = planned({"batch": 2, "model": 4}, {"up/kernel": (None, "model"), "q/kernel": ("model", "batch", None), "v/kernel": (None, "model", None)})
    variables = [("up/kernel", (6, 8)), ("q/kernel", (8, 4, 2)), ("v/kernel", (8, 4, 2))]
    whole, changed = given(on, variables)
    assert whole.layout["q/kernel"] == ("model", "batch", "") and whole.mesh == {"batch": 2, "model": 4}
    assert changed.layout == {**whole.layout, "q/kernel": ("batch", "model", "")}
