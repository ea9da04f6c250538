"""Programs of several files: the fix goes into the file with the fault, and runs as what uses it."""

from __future__ import annotations

import importlib
import json
import linecache
import sys
from pathlib import Path

import pytest
from broken import fit, load
from shells import cells as shell_cells

import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main
from jupyter_tpushape.repair.patch import StaleSource

BOTH = pytest.mark.parametrize("lib", ["keras", "tf_keras"])
PARTS = """
import {lib} as keras
from {lib} import layers

WIDTH = 8

def conv(x, filters):
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(x)

def make(size, classes):
    i = keras.Input((size, size, 3))
    x = layers.MaxPooling2D()(conv(i, WIDTH))
    return keras.Model(i, layers.Dense(classes, activation="softmax")(conv(x, 16)))

class Head(keras.Model):
    def __init__(self, units):
        super().__init__()
        self.first = layers.LSTM(16)
        self.second = layers.LSTM(8)
        self.last = layers.Dense(units)
    def call(self, x):
        return self.last(self.second(self.first(x)))
"""
# A file of blocks, and one that makes a model of them: both have the fault.
BLOCKS = """
from {lib} import layers

def down(x, filters):
    skip = layers.Conv2D(filters, 3, activation="relu")(x)
    return skip, layers.MaxPooling2D()(skip)

def up(x, skip):
    x = layers.concatenate([layers.UpSampling2D()(x), skip])
    return layers.Conv2D(skip.shape[-1], 3, activation="relu")(x)
"""
UNET = """
import {lib} as keras
from {lib} import layers
from {blocks} import down, up

def build():
    i = keras.Input((64, 64, 3))
    a, x = down(i, 4)
    b, x = down(x, 8)
    x = layers.Conv2D(16, 3, activation="relu")(x)
    return keras.Model(i, layers.Conv2D(1, 1)(up(up(x, b), a)))
"""
PICTURES = "np.ones((32, 16, 16, 3), 'float32'), np.arange(32) % 4"
SERIES = "np.ones((32, 12, 5), 'float32'), np.ones((32, 3), 'float32')"
# How another file or a cell imports it and makes its model, and the data; the rule, and the line that the first fix writes.
FLAT = '    return keras.Model(i, layers.Dense(classes, activation="softmax")(layers.Flatten()(conv(x, 16))))'
STEPS = "        self.first = layers.LSTM(16, return_sequences=True)"
USES = {
    "a function by its name": ("from {parts} import Head, make", "make(16, 4)", "sparse_categorical_crossentropy", PICTURES, "missing-flatten", FLAT),
    "a function of a module": ("import {parts} as parts", "parts.make(16, 4)", "sparse_categorical_crossentropy", PICTURES, "missing-flatten", FLAT),
    "a class by its name": ("from {parts} import Head", "Head(3)", "mse", SERIES, "layer-rank", STEPS),
    "a class of a module": ("import {parts}", "{parts}.Head(3)", "mse", SERIES, "layer-rank", STEPS),
}


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """Writes the file of the parts, under a name that no other test imports, and gives the name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written = []

    def write(lib):
        written.append(f"parts_{abs(hash(tmp_path))}_{lib}")
        (tmp_path / f"{written[-1]}.py").write_text(PARTS.format(lib=lib))
        importlib.invalidate_caches()
        return written[-1]

    yield write
    for name in written:
        sys.modules.pop(name, None)


@BOTH
@pytest.mark.parametrize("use", USES)
def test_a_builder_that_calls_another_file_is_mended_there(parts, tmp_path, use, lib):
    name = parts(lib)
    imports, made, loss, data, rule, line = (text.replace("{parts}", name) for text in USES[use])
    program = f"import numpy as np\n{imports}\ndef build():\n    model = {made}\n    model.compile('sgd', '{loss}')\n    return model\ndef data():\n    return {data}\n"
    (tmp_path / f"main_{name}.py").write_text(program)
    module = load(tmp_path / f"main_{name}.py")
    finding = tpushape.trace(module.build, module.data, tpu=None).findings[0]
    fix = finding.fixes[0]
    assert (finding.rule, fix.verified, fix.proof) == (rule, True, "source")
    path = tmp_path / f"{name}.py"
    assert fix.file == str(path)
    tpushape.apply(fix, path)
    assert line in path.read_text().splitlines()
    sys.modules.pop(name)
    linecache.checkcache(str(path))
    again = load(tmp_path / f"main_{name}.py")
    fit(again.build(), again.data(), eagerly=True)


@BOTH
@pytest.mark.parametrize("use", USES)
def test_a_model_that_a_cell_makes_of_a_file_is_mended_there(parts, tmp_path, use, lib):
    name = parts(lib)
    imports, made, loss, data, rule, line = (text.replace("{parts}", name) for text in USES[use])
    with shell_cells() as run:
        run(f"%load_ext jupyter_tpushape\nimport numpy as np, {lib} as keras")
        for cell in (imports, f"x, y = {data}", f"net = {made}\nnet.compile('sgd', '{loss}')"):
            assert run(cell)[0].success
        model = run.shell.user_ns["net"]
        assert not run("net.fit(x, y, verbose=0)")[0].success
        run("%tpushape")
        finding = run.report.findings[0]
        assert run.shell.user_ns["net"] is model
    fix = finding.fixes[0]
    assert (finding.rule, fix.verified, fix.proof, fix.file) == (rule, True, "source", str(tmp_path / f"{name}.py"))
    assert f"+{line}" in fix.patch.splitlines()


@BOTH
@pytest.mark.parametrize("use", USES)
def test_a_model_at_the_top_of_a_file_is_mended_where_it_is_written(parts, tmp_path, monkeypatch, capsys, use, lib):
    name = parts(lib)
    imports, made, loss, data, rule, line = (text.replace("{parts}", name) for text in USES[use])
    main_file = f"main_{name}.py"
    program = f"open('ran', 'a').write('.')\nimport numpy as np\n{imports}\nmodel = {made}\nmodel.compile('sgd', '{loss}')\ndata = {data}\n"
    (tmp_path / main_file).write_text(program)
    monkeypatch.chdir(tmp_path)
    assert main(["check", f"{main_file}:model", "--data", f"{main_file}:data", "--tpu", "none", "--format", "json"]) == 1
    finding = json.loads(capsys.readouterr().out)["findings"][0]
    fix = finding["fixes"][0]
    assert (finding["rule"], fix["verified"], fix["proof"], fix["file"]) == (rule, True, "source", str(tmp_path / f"{name}.py"))
    assert f"+{line}" in fix["patch"].splitlines()
    # The file that has both the model and the data is executed once.
    assert (tmp_path / "ran").read_text() == "."


@BOTH
def test_the_input_of_the_model_is_declared_anew_and_not_that_of_another_one(tmp_path, lib):
    program = f"""import numpy as np, {lib} as keras
L = keras.layers
def build():
    first = L.Input((4,))
    teacher = keras.Model(first, L.Dense(4)(first))
    inner_input = L.Input((6,))
    inner = keras.Model(inner_input, L.Dense(3)(inner_input))
    own = L.Input((9,))
    model = keras.Model(own, inner(L.Dense(6)(own)))
    model.compile("sgd", "mse")
    return model
def data():
    return np.ones((16, 8), "float32"), np.ones((16, 3), "float32")
"""
    path = tmp_path / f"two_models_{lib}.py"
    path.write_text(program)
    module = load(path)
    finding = tpushape.trace(module.build, module.data, tpu=None).findings[0]
    fix = finding.fixes[0]
    assert (finding.rule, fix.verified, fix.proof) == ("input-axis", True, "source")
    assert "+    own = L.Input((8,))" in fix.patch.splitlines()


@BOTH
def test_a_fix_of_two_files_changes_both_or_none(lib, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"blocks_{lib}"
    blocks, unet = tmp_path / f"{name}.py", tmp_path / "unet.py"
    blocks.write_text(BLOCKS.format(lib=lib))
    unet.write_text(UNET.format(lib=lib, blocks=name))
    report = tpushape.trace(load(unet).build, tpu=None)
    fix = report.findings[0].fixes[0]
    assert (report.findings[0].rule, fix.verified, fix.proof) == ("merge-shapes", True, "source")
    assert {Path(one).name for one in (fix.file, *(change.file for change in fix.also))} == {blocks.name, unet.name}
    shown = repr(report)
    assert f"in {blocks.name}:" in shown and "in unet.py:" in shown

    before = blocks.read_text(), unet.read_text()
    (other,) = {blocks, unet} - {Path(fix.file)}
    other.write_text("# Changed meanwhile.\n" + other.read_text().replace("relu", "gelu"))
    kept = Path(fix.file).read_text(), other.read_text()
    with pytest.raises(StaleSource):
        tpushape.apply(fix, fix.file)
    assert (Path(fix.file).read_text(), other.read_text()) == kept

    # A copy of both, in another folder, is found from the file that is given.
    copied = tmp_path / "copy"
    copied.mkdir()
    for path, text in zip((blocks, unet), before, strict=True):
        path.write_text(text)
        (copied / path.name).write_text(text)
    tpushape.apply(fix, copied / Path(fix.file).name)
    assert (blocks.read_text(), unet.read_text()) == before
    assert (copied / blocks.name).read_text().count('padding="same"') == 2 and (copied / "unet.py").read_text().count('padding="same"') == 1

    tpushape.apply(fix, fix.file)
    sys.modules.pop(name)
    linecache.checkcache()
    assert tpushape.trace(load(unet).build, tpu=None).ok
