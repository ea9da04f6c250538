"""Two reports compared: layers are matched by where they stand."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape
from jupyter_tpushape import Report

X = np.zeros((128, 28, 28, 1), "float32")


def network(prefix: str = "", *, pool: bool = False, width: int = 8, middle: bool = True, activation: str = "relu") -> keras.Model:
    named = {"name": f"{prefix}first"} if prefix else {}
    layers: list[Any] = [keras.Input((28, 28, 1)), keras.layers.Conv2D(width, 3, activation=activation, **named)]
    layers += [keras.layers.MaxPooling2D()] if pool else []
    layers += [keras.layers.BatchNormalization(), keras.layers.Dropout(0.1)] if middle else []
    layers += [keras.layers.Flatten(), keras.layers.Dense(32), keras.layers.Dense(10)]
    return keras.Sequential(layers, name="net")


def traced(model: keras.Model, tpu: str | None = "v5e-8") -> Report:
    return tpushape.trace(model, X, tpu=tpu, batch_size=64)


def test_a_model_is_like_itself_made_again_under_other_names() -> None:
    found = tpushape.diff(traced(network("a_")), traced(network("b_")))
    assert not found
    assert found.same == 6
    assert repr(found).endswith("no difference")


def test_an_added_layer_is_told_with_what_it_changes() -> None:
    found = tpushape.diff(traced(network()), traced(network(pool=True)))
    assert [op for _, op in found.added] == ["MaxPooling2D"]
    assert found.removed == []
    changed = {change.type: change.what for change in found.changed}
    takes = changed["BatchNormalization"]["takes"]
    assert "(8, 26, 26, 8)" in takes[0]
    assert "(8, 13, 13, 8)" in takes[1]
    assert changed["Dense"]["parameters"] == (26 * 26 * 8 * 32 + 32, 13 * 13 * 8 * 32 + 32)
    assert found.totals["parameters"][1] - found.totals["parameters"][0] == (13 * 13 - 26 * 26) * 8 * 32
    back = tpushape.diff(traced(network(pool=True)), traced(network()))
    assert [op for _, op in back.removed] == ["MaxPooling2D"]
    assert back.added == []


def test_what_a_layer_was_told_otherwise_is_said() -> None:
    found = tpushape.diff(traced(network()), traced(network(activation="gelu")))
    assert [(change.type, change.what) for change in found.changed] == [("Conv2D", {"activation": ("relu", "gelu")})]
    assert "activation relu → gelu" in repr(found)
    assert found.same == 5


def test_two_targets_differ_in_what_a_replica_holds() -> None:
    model = network()
    found = tpushape.diff(traced(model, "v5e-8"), traced(model, "v5e-4"))
    assert found.totals["target"] == ("v5e-8", "v5e-4")
    assert found.added == found.removed == []
    conv = next(change for change in found.changed if change.type == "Conv2D")
    assert conv.what["placement"] == ("8 × (8, 26, 26, 8)", "4 × (16, 26, 26, 8)")


def test_names_cannot_command_a_terminal() -> None:
    first, second = traced(network()), traced(network(pool=True))
    second.flow.nodes[-1].name = second.flow.nodes[-2].name = "evil\x1b[31m"
    assert "\x1b" not in repr(tpushape.diff(first, second))


def test_the_magic_compares_models_and_reports(capsys: pytest.CaptureFixture[str]) -> None:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    shell.run_line_magic("load_ext", "jupyter_tpushape")
    shell.user_ns.update(before=network(), after=traced(network(pool=True)), x=X)
    shell.run_line_magic("tpushape", "diff before after x --tpu v5e-8 --batch-size 64")
    assert "(MaxPooling2D)" in capsys.readouterr().out
    shell.run_cell("%tpushape diff before")
    assert "diff before after data" in "".join(capsys.readouterr())
    tpushape.unload_ipython_extension(shell)
    InteractiveShell.clear_instance()
