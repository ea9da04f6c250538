"""Two reports compared: layers are matched by where they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape
from jupyter_tpushape import Report
from jupyter_tpushape.notebook import magic

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


def test_both_programs_stand_in_one_flow_that_survives_the_wire() -> None:
    before, after = traced(network()), traced(network(pool=True, middle=False))
    made = tpushape.diff(before, after).report
    read = Report.from_json(made.to_json())
    assert read.to_json() == made.to_json()
    assert read.summary == "1 added · 2 removed · 2 changed"
    assert read.difference is not None
    states = {node.op: read.difference.nodes[node.id].state for node in read.flow.nodes if node.id in read.difference.nodes}
    assert states["MaxPooling2D"] == "added"
    assert states["BatchNormalization"] == states["Dropout"] == "removed"
    order = [node.op for node in read.flow.nodes if node.kind == "layer"]
    assert order.index("Conv2D") < order.index("Dropout") < order.index("Flatten")
    place = {node.id: i for i, node in enumerate(read.flow.nodes)}
    assert all(place[edge.source] < place[edge.target] for edge in read.flow.edges)
    ends = {(edge.source, edge.target) for edge in read.flow.edges}
    assert len(ends) == len(read.flow.edges)
    gone = [edge.id for edge in read.flow.edges if edge.id in read.difference.edges and read.difference.edges[edge.id].state == "removed"]
    assert len(gone) == 3
    shapes = [mark.changes[0] for mark in read.difference.edges.values() if mark.state == "changed"]
    assert [(one.before, one.after) for one in shapes if one.what == "shape"] == [("(8, 5408)", "(8, 1352)")]


def test_every_rendering_tells_what_is_other_without_colour(tmp_path: Path) -> None:
    found = tpushape.diff(traced(network()), traced(network(pool=True, activation="gelu")))
    svg = found.save(tmp_path / "a.svg").read_text()
    assert "+ max_pooling2d" in svg
    assert "± conv2d" in svg
    text = found.save(tmp_path / "a.md").read_text()
    assert "| activation | relu | gelu |" in text
    bundle = found._repr_mimebundle_()
    assert bundle["text/plain"] == repr(found)
    assert any(kind.startswith("application/vnd.tpushape") for kind in bundle)


def test_a_document_that_marks_what_is_not_there_is_refused() -> None:
    text = tpushape.diff(traced(network()), traced(network(pool=True))).report.to_json()
    wire = json.loads(text)
    wire["difference"]["nodes"]["nowhere"] = {"state": "added"}
    with pytest.raises(ValueError, match=r"difference .*'nowhere'"):
        Report.from_json(json.dumps(wire))


def test_names_cannot_command_a_terminal() -> None:
    first, second = traced(network()), traced(network(pool=True))
    second.flow.nodes[-1].name = second.flow.nodes[-2].name = "evil\x1b[31m"
    assert "\x1b" not in repr(tpushape.diff(first, second))


def test_the_magic_compares_models_and_reports(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    shell.run_line_magic("load_ext", "jupyter_tpushape")
    shell.user_ns.update(before=network(), after=traced(network(pool=True)), x=X)
    shell.run_line_magic("tpushape", "diff before after x --tpu v5e-8 --batch-size 64")
    assert "(MaxPooling2D)" in capsys.readouterr().out
    monkeypatch.setattr(magic, "rich", lambda shell: True)
    shown: list[Any] = []
    monkeypatch.setattr(magic, "show", lambda report, progress: shown.append(report))
    shell.run_line_magic("tpushape", "diff before after x --tpu v5e-8 --batch-size 64")
    assert [report.summary for report in shown] == ["1 added · 4 changed"]
    assert shown[0].title == "before on v5e-8 → after on v5e-8"
    shell.run_cell("%tpushape diff before")
    assert "diff before after data" in "".join(capsys.readouterr())
    tpushape.unload_ipython_extension(shell)
    InteractiveShell.clear_instance()
