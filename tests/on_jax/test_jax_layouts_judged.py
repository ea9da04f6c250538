"""What is said of layout maps for other layer names, of optimizers' slots, and of data on several hosts."""

from __future__ import annotations

import linecache
import re

import keras
import numpy as np
import pytest
from keras.src.trainers.data_adapters import get_data_adapter

import jupyter_tpushape as tpushape
from jupyter_tpushape.examine.evidence import Evidence
from jupyter_tpushape.examine.layout_facts import laid_out
from jupyter_tpushape.flow import Flow
from jupyter_tpushape.replicas import of_distribution, plan_mesh
from jupyter_tpushape.replicas.layouts import planned
from jupyter_tpushape.rules.mesh import hosts
from jupyter_tpushape.sources.values import Sample, Stage
from jupyter_tpushape.trace.frameworks import adapter_for

L = keras.layers
DATA = (np.zeros((64, 256), "float32"), np.zeros((64, 8), "float32"))


def build():
    inputs = keras.Input((256,))
    x = L.Dense(512, activation="relu", name="up")(inputs)
    model = keras.Model(inputs, L.Dense(8, name="head")(L.Dense(256, name="down")(x) + inputs))
    model.compile("adam", "mse")
    return model


def wrapped():
    class Lora(L.Layer):
        def __init__(self, inner, **options):
            super().__init__(**options)
            self.inner, self.a, self.b = inner, L.Dense(4, name="a"), L.Dense(inner.units, name="b")

        def call(self, x):
            return self.inner(x) + self.b(self.a(x))

    inputs = keras.Input((256,))
    x = inputs
    for i in range(2):
        x = Lora(L.Dense(512, name="inner"), name=f"lora_up_{i}")(x)
        x = L.Dense(256, name=f"down_{i}")(x)
    return keras.Model(inputs, x)


def named(build, layout):
    on = planned({"batch": 2, "model": 4}, layout)
    report = tpushape.trace(build, (DATA[0], None), tpu=None, strategy=on)
    return [(one.severity, one.fact.how, one.fact.near, one.fact.key_for, one.fixes) for one in report.findings if one.rule == "layout-key"]


def test_a_key_for_a_layer_that_is_wrapped_here_is_told_with_one_that_fits():
    ((severity, how, near, key, fixes),) = named(wrapped, {r".*up_\d/kernel": (None, "model"), r".*down_\d/kernel": ("model", None)})
    assert (severity, how, near) == ("silent", "wrapped", ("lora_up_0/inner/kernel", "lora_up_1/inner/kernel"))
    assert [bool(re.fullmatch(key, path)) for path in (*near, "lora_up_0/a/kernel", "down_0/kernel")] == [True, True, False, False]
    assert fixes and fixes[0].verified


def test_a_key_for_a_layer_of_another_name_is_told_where_one_kind_is_left():
    ((severity, how, near, key, _),) = named(build, {".*intermediate/kernel": (None, "model"), ".*(down|head)/kernel": ("model", None)})
    assert (severity, how, near, key) == ("note", "renamed", ("up/kernel",), ".*up/kernel")
    # Two kinds are left: which one it was for cannot be told.
    ((_, how, near, key, _),) = named(build, {".*intermediate/kernel": (None, "model"), ".*down/kernel": ("model", None)})
    assert (how, near, key) == ("", (), "")


@pytest.mark.parametrize(
    ("key", "severity", "how"),
    [
        (".*up/kernal", "silent", ""),  # the last part
        (".*upp/kernel", "silent", ""),
        (".*up_layer/kernel", "note", "spelled"),
        (".*updown/kernels", "note", "spelled"),
    ],
)
def test_a_misspelled_key_is_told_with_the_closest_path_and_a_fix_that_was_tried(key, severity, how):
    ((said, found, near, instead, fixes),) = named(build, {key: (None, "model"), ".*down/kernel": ("model", None)})
    assert (said, found, near) == (severity, how, ("up/kernel",))
    assert re.fullmatch(instead, "up/kernel") and not re.fullmatch(instead, "head/kernel")
    assert fixes and fixes[0].verified


@pytest.mark.parametrize(
    ("layout", "rule", "keys", "axes"),
    [
        # The bias has one axis.
        ({".*up.*": (None, "model")}, "layout-rank", [".*up/kernel"], (None, "model")),
        ({".*(up|down).*": (None, "model")}, "layout-rank", [".*(up|down)/kernel"], (None, "model")),
        # What is more specific stays; two that each match something else cannot be told apart.
        ({".*kernel": ("model", None), ".*up/kernel": (None, "model")}, "layout-clash", ["(?!(?:.*up/kernel)$).*kernel"], ("model", None)),
        ({".*up.*": ("model",), "(up|head)/kernel": ("model",)}, "layout-clash", [], None),
        ({".*up/kernel": ("model", "model")}, "layout-axis-twice", [".*up/kernel"] * 2, None),
    ],
)
def test_a_map_that_keras_refuses_is_mended_in_its_keys(layout, rule, keys, axes):
    report = tpushape.trace(build, (DATA[0], None), tpu=None, strategy=planned({"batch": 2, "model": 4}, layout))
    (finding,) = [one for one in report.findings if one.rule == rule]
    assert [fix.edits[0].detail["to"] for fix in finding.fixes] == keys
    assert all(fix.verified for fix in finding.fixes)
    assert axes is None or finding.fixes[0].edits[0].detail["axes"] == list(axes)
    if rule == "layout-axis-twice":
        assert sorted(fix.edits[0].detail["axes"].index("model") for fix in finding.fixes) == [0, 1]


def test_an_idle_mesh_axis_gets_the_largest_weight_that_is_whole():
    sizes = {"batch": 2, "model": 2, "expert": 2}
    report = tpushape.trace(build, (DATA[0], None), tpu=None, strategy=planned(sizes, {".*up/kernel": (None, "model")}))
    (finding,) = [one for one in report.findings if one.rule == "mesh-axis-idle"]
    (fix,) = finding.fixes
    assert fix.verified and (fix.edits[0].detail["to"], fix.edits[0].detail["axes"]) == (".*down/kernel", ["expert", None])
    assert "(512, 256) → (256, 256) on each device" in fix.effect.text


@pytest.mark.parametrize("written", ['LAYOUT = {\n    ".*up/kernel": (None, "model"),\n}', 'LAYOUT = {}\nLAYOUT[".*up/kernel"] = (None, "model")'])
def test_a_large_weight_gets_an_entry_of_its_own_in_the_maps_source(tmp_path, written):
    path = tmp_path / "program.py"
    build = "def build():\n    return keras.Sequential([keras.Input((8,)), L.Dense(64, name='up'), L.Dense(2**19, name='head')], name='sequential')\n"
    path.write_text(f"import keras\nL = keras.layers\n{build}{written}\n", encoding="utf-8")

    def whole():
        scope = {"__name__": "program"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
        on = planned({"batch": 2, "model": 4}, scope["LAYOUT"])
        report = tpushape.trace(scope["build"], (np.zeros((8, 8), "float32"), None), tpu=None, strategy=on)
        return [one for one in report.findings if one.rule == "layout-whole"]

    ((finding,), head) = whole(), "sequential/head/kernel (64, 524288) → (64, 131072) on each device"
    assert finding.fixes[0].verified and finding.fixes[0].effect.text == head
    tpushape.apply(finding.fixes[0], path)
    linecache.checkcache()
    assert whole() == [] and '".*head/kernel"' in path.read_text(encoding="utf-8")


class Momentum(keras.optimizers.Optimizer):
    def build(self, variables):
        super().build(variables)
        self.speed = [self.add_variable(one.shape, name=f"speed_{i}") for i, one in enumerate(variables)]

    def update_step(self, gradient, variable, rate):
        speed = self.speed[self._get_variable_index(variable)]
        self.assign(speed, 0.9 * speed + gradient)
        self.assign_sub(variable, rate * speed)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw", "adafactor", "lion", "rmsprop", "nadam", "ftrl", "muon"])
def test_slots_of_keras_optimizers_lie_as_their_variables(optimizer):
    def made():
        model = build()
        model.compile(optimizer, "mse")
        return model

    on = planned({"batch": 2, "model": 4}, {".*(up|down).*kernel.*": (None, "model")})
    report = tpushape.trace(made, DATA, tpu=None, strategy=on, fixes=False)
    assert not [one for one in report.findings if one.rule == "layout-slot"], report


def test_slots_of_an_optimizer_of_ones_own_that_gives_no_layout_are_told():
    def made():
        model = build()
        model.compile(Momentum(0.1), "mse")
        return model

    on = planned({"batch": 2, "model": 4}, {".*up/kernel": (None, "model"), ".*down/kernel": ("model", None)})
    report = tpushape.trace(made, DATA, tpu=None, strategy=on, fixes=False)
    (finding,) = [one for one in report.findings if one.rule == "layout-slot"]
    assert (finding.fact.variable, finding.fact.axes, finding.fact.beside, finding.fact.more) == ("up/kernel", (), ("", "model"), 1)
    (fix,) = [fix for one in tpushape.trace(made, DATA, tpu=None, strategy=on).findings if one.rule == "layout-slot" for fix in one.fixes]
    entries = {".*up/kernel": (None, "model"), ".*down/kernel": ("model", None)}
    entries |= {edit.detail["to"]: tuple(edit.detail["axes"]) for edit in fix.edits}
    report = tpushape.trace(made, DATA, tpu=None, strategy=planned({"batch": 2, "model": 4}, entries), fixes=False)
    assert fix.verified and "layout-slot" not in [one.rule for one in report.findings] and len(entries) == 4
    assert "layout-key" not in [one.rule for one in report.findings]


def stages(*ops):
    return [Stage(op, f"{op}_{i}") for i, op in enumerate(ops)]


@pytest.mark.parametrize(
    ("sizes", "batch", "ops", "deals", "said"),
    [
        ({"batch": 16}, 64, ("tensor_slices", "batch"), True, []),
        ({"batch": 16}, 64, ("tensor_slices", "shard", "batch"), True, [("mesh-hosts-share", "silent")]),
        ({"batch": 16}, 64, ("tensor_slices", "shard", "batch"), False, []),
        ({"batch": 16}, 64, ("tensor_slices", "batch"), False, [("mesh-hosts-share", "note")]),
        ({"batch": 16}, 66, ("tensor_slices", "batch"), True, [("mesh-hosts", "tpu")]),
        # Hosts that hold one copy of the model together read the same rows.
        ({"batch": 1, "model": 16}, 63, ("tensor_slices", "batch"), True, []),
        ({"batch": 2, "model": 8}, 66, ("tensor_slices", "batch"), True, []),
    ],
)
def test_pipelines_on_a_slice_of_several_hosts(sizes, batch, ops, deals, said):
    on, model = planned(sizes), build()
    on.auto_shard_dataset = deals
    evidence = Evidence(Flow(), target=of_distribution(on, "v5e-16"))
    evidence.sample = Sample("dataset", batch=batch, batch_sizes=(batch,), stages=stages(*ops))
    evidence.split = plan_mesh(evidence.sample, evidence.target, on)
    evidence.facts["layout"] = laid_out(adapter_for(model), model, on)
    assert [(one.rule, one.severity) for one in hosts(evidence)] == said


def test_what_keras_says_of_arrays_on_several_hosts_is_what_is_foretold():
    on = planned({"batch": 16})
    on._is_multi_process, on._num_processes = True, 4
    with on.scope(), pytest.raises(ValueError, match=r"must be provided as a `tf.data.Dataset`"):
        get_data_adapter(*DATA)
    report = tpushape.trace(build, DATA, tpu="v5e-16", strategy=on, batch_size=64, fixes=False)
    assert "mesh-hosts" in [one.rule for one in report.findings if one.serious]
    on.auto_shard_dataset = False
    with on.scope():
        get_data_adapter(*DATA)
    assert tpushape.trace(build, DATA, tpu="v5e-16", strategy=on, batch_size=64, fixes=False).ok
