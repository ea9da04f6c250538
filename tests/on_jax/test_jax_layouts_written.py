"""Layout maps as programs write them: for models that build themselves, with attributes in keys, in a scope, and for LoRA's factors."""

from __future__ import annotations

import pytest
from strangers import HEAD

import jupyter_tpushape as tpushape

MESH = """
from keras.distribution import DeviceMesh, LayoutMap, ModelParallel, list_devices, set_distribution

def laid(layout, names=("batch", "model"), sizes=(2, 4), **options):
    made = LayoutMap(DeviceMesh(sizes, names, devices=list_devices()))
    for key, axes in layout.items():
        made[key] = axes
    return ModelParallel(layout_map=made, **options)
"""
BLOCKS = """
class Block(layers.Layer):
    def __init__(self, width, **options):
        super().__init__(**options)
        self.up = layers.Dense(4 * width, name="{up}")
        self.down = layers.Dense(width, name="{down}")
    def build(self, shape):
        self.up.build(shape)
        self.down.build((*shape[:-1], self.up.units))
        self.built = True
    def call(self, x):
        return x + self.down(self.up(x))

class Stack(keras.Model):
    def __init__(self):
        super().__init__(name="stack")
        self.blocks = [Block({width}, name=f"block_{{i}}") for i in range(2)]
        self.named = {{"head": layers.Dense(8, name="head")}}
    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.named["head"](x)

def build():
    set_distribution(laid({layout}))
    model = Stack()
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((16, {width}), "float32"), np.zeros((16, 8), "float32")
"""


@pytest.fixture(autouse=True)
def _no_distribution():
    yield
    import keras

    keras.distribution.set_distribution(None)


def judged(tmp_path, text):
    import keras

    path = tmp_path / "program.py"
    path.write_text(HEAD + MESH + text, encoding="utf-8")

    def look():
        keras.distribution.set_distribution(None)
        scope = {"__name__": "program", "__file__": str(path)}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
        return tpushape.trace(scope["build"], scope["data"], tpu="v5e-8")

    return path, look


def mended(tmp_path, text, rule, written):
    """The finding of a rule, whose first fix is the only change that the program needs."""
    path, look = judged(tmp_path, text)
    finding = next(one for one in look().findings if one.rule == rule)
    assert finding.fixes[0].verified and finding.fixes[0].proof == "source", finding
    tpushape.apply(finding.fixes[0], path)
    assert written in path.read_text(encoding="utf-8")
    assert not look().findings
    return finding


def blocks(layout, up="expand", down="project", width=64):
    return BLOCKS.format(layout=layout, up=up, down=down, width=width)


RIGHT = r'{r".*block_\d/expand/kernel": (None, "model"), ".*project/kernel": ("model", None), ".*head/kernel": ("model", None)}'


def test_a_model_that_builds_itself_is_laid_out_by_the_names_of_its_layers(tmp_path):
    report = judged(tmp_path, blocks(RIGHT))[1]()
    assert not report.findings
    shards = {weight.shard for node in report.flow.nodes for weight in node.weights if len(weight.shape) > 1}
    assert shards == {(64, 64), (16, 8)}


def test_keys_of_attributes_are_told_with_the_names_that_a_path_has(tmp_path):
    layout = r'{r"stack/blocks/\d+/up/kernel": (None, "model"), r"stack/blocks/\d+/down/kernel": ("model", None)}'
    finding = mended(tmp_path, blocks(layout), "layout-key", '{".*expand/kernel": (None, "model"), ".*project/kernel": ("model", None)}')
    assert (finding.fact.how, finding.severity) == ("held", "silent")


def test_a_key_of_an_attribute_in_a_dict_is_told(tmp_path):
    layout = RIGHT.replace(".*head/kernel", "stack/named/head/kernel")
    assert mended(tmp_path, blocks(layout), "layout-key", ".*head/kernel").fact.near == ("stack/head/kernel",)


def test_attributes_named_as_their_layers_are_ok(tmp_path):
    layout = r'{".*up/kernel": (None, "model"), ".*down/kernel": ("model", None)}'
    assert not judged(tmp_path, blocks(layout, "up", "down"))[1]().findings


def test_two_keys_that_resemble_one_path_are_not_both_meant_for_it(tmp_path):
    layout = '{".*layer_a/kernel": (None, "model"), ".*layer_b/kernel": (None, "model"), ".*head/kernel": ("model", None)}'
    found = judged(tmp_path, blocks(layout, "layer_x", "other"))[1]().findings
    assert all(one.fact.how != "spelled" for one in found if one.rule == "layout-key")


def test_a_variable_of_a_model_that_builds_itself_must_divide(tmp_path):
    layout = '{".*expand/kernel": (None, "model"), ".*head/kernel": (None, "model"), ".*project/kernel": ("model", None)}'
    text = blocks(layout).replace("layers.Dense(8", "layers.Dense(6").replace("(16, 8)", "(16, 6)")
    finding = mended(tmp_path, text, "layout-indivisible", '".*head/kernel": ("model", None)')
    assert finding.fact.path == "stack/head/kernel"


NETWORK = """
def network():
    inputs = keras.Input((64,))
    x = layers.Dense(512, activation="relu", name="wide")(inputs)
    return keras.Model(inputs, layers.Dense(8, name="head")(x), name="net")
def data():
    return np.zeros((64, 64), "float32"), np.zeros((64, 8), "float32")
"""
SCOPED = '    with laid({".*wide/kernel": (None, "model")}, batch_dim_name="batch").scope():\n'


def test_a_model_built_outside_the_scope_of_its_distribution_is_moved_into_it(tmp_path):
    text = NETWORK + "def build():\n    model = network()\n" + SCOPED + '        model.compile("adam", "mse")\n    return model\n'
    finding = mended(tmp_path, text, "mesh-set-late", ".scope():\n        model = network()\n        model.compile")
    assert finding.fact.scoped and "outside the scope" in finding.message


def test_what_the_scope_needs_stays_in_front_of_it(tmp_path):
    made = '    model = network()\n    # Two by four.\n    layout = {".*wide/kernel": (None, "model")}\n    on = laid(layout)\n'
    text = NETWORK + "def build():\n" + made + '    with on.scope():\n        model.compile("adam", "mse")\n    return model\n'
    mended(tmp_path, text, "mesh-set-late", "    on = laid(layout)\n    with on.scope():\n        model = network()\n")


@pytest.mark.parametrize("kind", ["scope", "set"])
def test_a_model_built_in_the_scope_is_laid_out_by_its_map(tmp_path, kind):
    made = '        model = network()\n        model.compile("adam", "mse")\n    return model\n'
    path, look = judged(tmp_path, NETWORK + "def build():\n" + SCOPED + made)
    assert not look().findings
    path.write_text(path.read_text(encoding="utf-8").replace(".*wide/kernel", "wide/ker"), encoding="utf-8")
    assert "layout-key" in [one.rule for one in look().findings]


ORDERED = (
    NETWORK
    + """
def build():
    set_distribution(laid({layout}, ({names}), (4, 2){options}))
    model = network()
    model.compile("adam", "mse")
    return model
"""
)


def test_the_axis_of_the_batch_is_named_where_keras_takes_the_first(tmp_path):
    layout = '{".*wide/kernel": (None, "model"), ".*head/kernel": ("model", None)}'
    text = ORDERED.replace("{layout}", layout).replace("{names}", '"model", "data"').replace("{options}", "")
    finding = mended(tmp_path, text, "mesh-axis-idle", 'ModelParallel(layout_map=made, **options, batch_dim_name="data")')
    assert finding.fact.meant


@pytest.mark.parametrize(
    ("names", "options", "left"),
    [
        ('"model", "data"', ', batch_dim_name="data"', []),  # as it should be
        ('"data", "model"', "", []),
        ('"data", "other"', "", ["other"]),  # weights share the batch's axis on purpose
    ],
)
def test_an_axis_of_the_batch_that_is_right_is_left_alone(tmp_path, names, options, left):
    used = "data" if "other" in names else "model"
    layout = f'{{".*wide/kernel": (None, "{used}"), ".*head/kernel": ("{used}", None)}}'
    found = judged(tmp_path, ORDERED.replace("{layout}", layout).replace("{names}", names).replace("{options}", options))[1]().findings
    assert [one.fact.axis for one in found if one.rule == "mesh-axis-idle" and not one.fact.meant] == left
    assert not any(one.fact.meant for one in found if one.rule == "mesh-axis-idle")


def test_an_axis_that_the_mesh_does_not_have_is_mended_where_the_layout_was_written(tmp_path):
    text = 'UP, DOWN = (None, "tensor"), ("tensor", None)\n' + ORDERED.replace("{layout}", '{".*wide/kernel": UP, ".*head/kernel": DOWN}')
    text = text.replace("{names}", '"data", "model"').replace("{options}", "")
    finding = mended(tmp_path, text, "code-raises", 'UP, DOWN = (None, "model"), ("model", None)')
    assert finding.fact.near == "model"


def test_sums_of_rows_are_not_taken_for_a_bias_of_the_same_length(tmp_path):
    layout = '{".*wide/kernel": (None, "model"), ".*wide/bias": ("model",)}'
    text = ORDERED.replace("{layout}", layout).replace("{names}", '"data", "model"').replace("{options}", "")
    text = text.replace("(4, 2)", "(2, 4)").replace('"adam"', "keras.optimizers.Adafactor(1e-3)")
    assert not judged(tmp_path, text)[1]().findings


LORA = """
def build():
    set_distribution(laid({layout}, sizes=(1, 8)))
    inputs = keras.Input((16, 64))
    x = layers.EinsumDense("btd,ndh->btnh", (None, 8, 8), name="attention_query")(inputs)
    x = layers.EinsumDense("btnh,nhd->btd", (None, 64), name="attention_output")(x)
    model = keras.Model(inputs, layers.Dense(8, name="head")(x))
    model.get_layer("attention_query").enable_lora(4)
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((16, 16, 64), "float32"), np.zeros((16, 16, 8), "float32")
"""


def test_a_key_that_also_matches_factors_of_another_rank_is_narrowed(tmp_path):
    layout = '{".*attention.*kernel.*": ("model", None, None)}'
    finding = mended(tmp_path, LORA.replace("{layout}", layout), "layout-rank", "kernel")
    assert finding.fixes[0].title.startswith("Match only the variables that have these axes")


def test_a_key_for_kernels_alone_is_ok_beside_factors(tmp_path):
    assert not judged(tmp_path, LORA.replace("{layout}", '{".*attention.*/kernel": ("model", None, None)}'))[1]().findings
