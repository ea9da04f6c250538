"""Documents that were made by hand: each is refused in one sentence, or every view of it ends."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
from typing import Any

import pytest

from jupyter_tpushape.compilers import cache
from jupyter_tpushape.flow import Edge, Flow, Node, Spec
from jupyter_tpushape.notebook.request import BadRequest, Request, parse
from jupyter_tpushape.report import Report
from jupyter_tpushape.views import render
from jupyter_tpushape.views.sarif import to_annotations, to_sarif

# make soak asks for more, with a seed of its own.
MANY, SEED = int(os.environ.get("TPUSHAPE_FUZZ", "400")), int(os.environ.get("TPUSHAPE_SEED", "0"))


def document() -> dict[str, Any]:
    """A document with one of everything."""
    return {
        "version": 1, "title": "m", "summary": "s", "ok": False, "seconds": 0.5,
        "flow": {
            "nodes": [
                {"id": "i", "name": "x", "kind": "input", "op": "InputLayer", "path": ["x"]},
                {"id": "m", "name": "inner", "kind": "layer", "op": "Sequential"},
                {"id": "d", "name": "dense", "kind": "layer", "op": "Dense", "parent": "m", "location": 0, "called": 0, "weights": [0],
                 "params": 15, "config": {"units": 3}},
                {"id": "o", "name": "y", "kind": "output", "op": ""},
            ],
            "edges": [
                {"id": "e0", "source": "i", "target": "d", "spec": 0, "placement": 0},
                {"id": "e1", "source": "d", "target": "o", "spec": 1, "placement": 1},
            ],
            "specs": [{"shape": [8, 4], "dtype": "float32", "axes": ["batch", ""]}, {"shape": [8, None], "dtype": "float32"}],
            "weights": [{"name": "kernel", "shape": [4, 3], "dtype": "float32", "copies": 2}],
            "placements": [{"shapes": [[4, 4]]}, {"shapes": [[4, 3], [4, 3]]}],
            "devices": ["a", "b"],
            "locations": [{"file": "/tmp/t.py", "line": 3, "text": "L.Dense(3)"}],
            "facts": {"a": [1]},
        },
        "findings": [
            {"rule": "layer-rank", "severity": "error", "message": "m", "expected": {"text": "(8, 3)", "axes": ["8", "3"], "differs": [1]},
             "nodes": ["d"], "edges": ["e1"], "location": {"file": "/tmp/t.py", "line": 3},
             "fixes": [{"title": "t", "edits": [{"kind": "layer-config", "target": "d", "detail": {"units": 4}}], "verified": True,
                        "effect": {"before": [8, 3], "after": [8, 4]}, "patch": "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n+y", "proof": "source",
                        "after": {"nodes": [{"id": "n", "name": "n", "kind": "layer", "op": "Dense", "parent": "m"}],
                                  "edges": [{"id": "e9", "source": "d", "target": "n", "spec": 0}],
                                  "specs": [{"shape": [8, 4], "dtype": "float32"}], "gone": ["e1"]}}]},
        ],
        "target": {"name": "v5e-8", "replicas": 8},
        "verdicts": [
            {"program": "train", "compiler": "tpu", "ok": True, "hbm_bytes": 10, "layers": [{"node": "d", "name": "d", "bytes": 3}],
             "buffers": [{"name": "b", "kind": "argument", "dtype": "f32", "shape": [2], "padded": [8], "bytes": 32, "logical": 8}],
             "tried": [{"rows": 4, "fits": True}]},
        ],
    }  # fmt: skip


def put(path: str, value: Any) -> dict[str, Any]:
    """The document with another value at a dotted path."""
    made = document()
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    at: Any = made
    for part in way:
        at = at[part]
    at[last] = value
    return made


def every_view(report: Report) -> None:
    for suffix in (".html", ".json", ".svg", ".md"):
        render(report, suffix)
    repr(report)
    report._repr_mimebundle_()
    to_sarif(report)
    to_annotations(report)


def test_the_document_itself_is_read_and_shown() -> None:
    every_view(Report.from_json(json.dumps(document())))


WRONG = {
    "a node inside itself": ("flow.nodes.1.parent", "m"),
    "two nodes inside each other": ("flow.nodes.1.parent", "d"),
    "a parent that is not there": ("flow.nodes.2.parent", "nobody"),
    "a node without an id": ("flow.nodes.0.id", ""),
    "two nodes of one id": ("flow.nodes.0.id", "d"),
    "two edges of one id": ("flow.edges.1.id", "e0"),
    "an edge from nowhere": ("flow.edges.0.source", "nobody"),
    "an edge to nowhere": ("flow.edges.0.target", "nobody"),
    "a spec that is not there": ("flow.edges.0.spec", 99),
    "a spec below zero": ("flow.edges.0.spec", -1),
    "a placement that is not there": ("flow.edges.0.placement", 99),
    "a placement far below zero": ("flow.edges.0.placement", -2),
    "a location that is not there": ("flow.nodes.2.location", 7),
    "a call that is not there": ("flow.nodes.2.called", -9),
    "a weight that is not there": ("flow.nodes.2.weights", [4]),
    "a weight below zero": ("flow.nodes.2.weights", [-1]),
    "fewer shapes than devices": ("flow.placements.1.shapes", [[1], [1], [1]]),
    "no shapes for a placement": ("flow.placements.1.shapes", []),
    "replicas without devices": ("flow.devices", []),
    "an axis below zero": ("flow.specs.0.shape", [-8, 4]),
    "an axis beyond all": ("flow.specs.0.shape", [10**19, 4]),
    "an axis of a million digits": ("flow.specs.0.shape", [10**4000, 4]),
    "a thousand axes": ("flow.specs.0.shape", [1] * 1000),
    "names for other axes": ("flow.specs.0.axes", ["batch"]),
    "parameters below zero": ("flow.nodes.2.params", -1),
    "a line below zero": ("flow.locations.0.line", -3),
    "facts without an end": ("flow.facts", json.loads("[" * 400 + "]" * 400)),
    "facts nested deep": ("flow.facts", {"a": json.loads("[" * 400 + "]" * 400)}),
    "a config nested deep": ("flow.nodes.2.config", {"a": json.loads("[" * 400 + "]" * 400)}),
    "a finding at nothing": ("findings.0.nodes", ["nobody"]),
    "a finding at no edge": ("findings.0.edges", ["nobody"]),
    "a finding that sets off no axis": ("findings.0.expected.differs", [2]),
    "a severity of its own": ("findings.0.severity", "fatal"),
    "a fix with an edge to nothing": ("findings.0.fixes.0.after.edges.0.target", "nobody"),
    "a fix with a spec that is not there": ("findings.0.fixes.0.after.edges.0.spec", 5),
    "a fix with a circle": ("findings.0.fixes.0.after.nodes.0.parent", "n"),
    "an edit of a kind of its own": ("findings.0.fixes.0.edits.0.kind", "run"),
    "an effect below zero": ("findings.0.fixes.0.effect.after", [-1]),
    "no replicas": ("target.replicas", 0),
    "replicas beyond all": ("target.replicas", 10**12),
    "seconds below zero": ("seconds", -1.0),
    "bytes below zero": ("verdicts.0.hbm_bytes", -1),
    "a buffer below zero": ("verdicts.0.buffers.0.padded", [-1]),
    "rows below zero": ("verdicts.0.tried.0.rows", -1),
    "another version": ("version", 2),
    "a version that is text": ("version", "1"),
    "nodes that are a number": ("flow.nodes", 3),
    "a title that is a list": ("title", ["x"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_document_that_does_not_hang_together(name: str) -> None:
    with pytest.raises(ValueError, match=r"^This (is not a tpushape|report)") as caught:
        Report.from_json(json.dumps(put(*WRONG[name])))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "{", "\x00", '"x"', "NaN", "[" * 10**6, '{"a":' * 10**5, "\ud800", "1" * 10**6])
def test_text_that_is_no_document(text: str) -> None:
    with pytest.raises(ValueError, match="This is not a tpushape report"):
        Report.from_json(text)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\x80\x04", b'{"version": 1, "title": "\xff"}'])
def test_bytes_that_are_no_document(data: bytes) -> None:
    with pytest.raises(ValueError, match="This is not a tpushape report"):
        Report.from_json(data)


@pytest.mark.parametrize("held", [None, 5, ["{}"], {"version": 1}], ids=repr)
def test_what_is_no_text_is_no_document(held: Any) -> None:
    with pytest.raises(TypeError, match=r"to_json\(\)"):
        Report.from_json(held)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none(word: str) -> None:
    with pytest.raises(ValueError, match=r"^This"):
        Report.from_json(json.dumps(document()).replace('"seconds": 0.5', f'"seconds": {word}'))


def test_places_that_multiply() -> None:
    """A small document that would be a large report."""
    made = document()
    made["flow"]["devices"] = ["d"] * 30_000
    made["flow"]["placements"] = [{"shapes": [[1]]}] * 30_000
    made["flow"]["edges"][1]["placement"] = 0
    with pytest.raises(ValueError, match="900,000,000 tensors"):
        Report.from_json(json.dumps(made))


# -- sizes ----------------------------------------------------------------------------------------------------------------------


def nested(depth: int, wide: int = 1) -> Report:
    """Models inside models, with an operation in the innermost."""
    nodes = [Node(f"n{i}", f"model_{i}", "layer", "Sequential", f"n{i - 1}" if i else "") for i in range(depth)]
    nodes += [Node(f"op{i}", f"op{i}", "op", "Add", f"n{depth - 1}") for i in range(wide)]
    return Report(Flow(nodes, []), [])


def chain(count: int) -> Report:
    nodes = [Node(f"n{i}", f"dense_{i}", "layer", "Dense") for i in range(count)]
    edges = [Edge(f"e{i}", f"n{i}", f"n{i + 1}", Spec((8, 4), "float32")) for i in range(count - 1)]
    return Report(Flow(nodes, edges), [])


@pytest.mark.parametrize("depth", [100, 2_000, 4_900])
def test_models_inside_models_are_shown(depth: int) -> None:
    every_view(Report.from_json(nested(depth).to_json()))  # what it costs is counted in test_attacks_sizes.py


def test_a_depth_that_no_model_has() -> None:
    with pytest.raises(ValueError, match=r"nested 5,001\b"):
        Report.from_json(nested(5_099).to_json())


def test_a_hundred_thousand_nodes_are_shown() -> None:
    report = Report.from_json(chain(100_000).to_json())
    assert "more" in repr(report)
    for suffix in (".svg", ".json", ".md"):
        render(report, suffix)


# -- any bytes ------------------------------------------------------------------------------------------------------------------

VALUES = (None, "", "m", "nobody", 0, -1, 1, 2**31, 2**63, 10**30, 1e308, [], {}, [None], [[]], ["m"], {"id": "m"}, "\x1b]0;x\x07", "<b>", True, 0.5)


def changed(data: Any, rng: random.Random) -> Any:
    """The document with a few values exchanged, taken out or doubled."""
    made = copy.deepcopy(data)
    for _ in range(rng.randint(1, 4)):
        places: list[tuple[Any, Any]] = []
        pending = [made]
        while pending:
            value = pending.pop()
            keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
            places += [(value, key) for key in keys]
            pending += [value[key] for key in keys]
        if not places:
            break
        holder, key = rng.choice(places)
        kind = rng.randrange(4)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            other, from_key = rng.choice(places)
            with contextlib.suppress(KeyError, IndexError):
                holder[key] = copy.deepcopy(other[from_key])
        elif kind == 2 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return made


def test_documents_changed_at_random_are_refused_or_shown() -> None:
    rng, shown = random.Random(SEED), 0
    for _ in range(MANY):
        text = json.dumps(changed(document(), rng))
        try:
            report = Report.from_json(text)
        except ValueError:
            continue
        shown += 1
        every_view(report)
    assert shown > MANY // 50


def test_documents_of_random_bytes_are_refused() -> None:
    rng = random.Random(SEED)
    good = json.dumps(document()).encode()
    for _ in range(MANY):
        data = bytearray(good)
        for _ in range(rng.randint(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with contextlib.suppress(ValueError):
            repr(Report.from_json(bytes(data)))


def test_requests_changed_at_random_are_refused_or_understood() -> None:
    rng = random.Random(SEED)
    good = {"id": "1", "op": "trace", "model": "m", "data": "x, y", "tpu": "v5e-8", "compile": "", "effort": "quick", "batches": 3}
    for count in range(MANY):
        message: Any = changed(good, rng)
        if count % 3 == 0:
            message = json.dumps(message)
        if count % 7 == 0:
            message = rng.choice([None, 3, b"\xff", [], {1: 2}, {"a": {2}}, "\ud800", "[" * 20_000, object(), float("nan"), "x" * 20_000, {"id": "\ud800"}])
        said: Any = BadRequest("")
        try:
            assert isinstance(parse(message), Request)
        except BadRequest as error:
            said = error
        assert "\n" not in str(said) and len(said.id) <= 128


@pytest.mark.parametrize(
    "held",
    [
        '{"ok": true, "kind": "compiled"}',
        '{"ok": true, "kind": "refused", "message": ""}',
        '{"ok": false, "kind": "refused"}',
        '{"ok": false, "kind": "refused", "message": "m", "buffers": {"live": [["line:x", 3, ""]]}}',
        '{"ok": true, "kind": "compiled", "arguments": -1, "outputs": 1, "aliased": 1, "temporaries": 1, "code": 1, "flops": 1, "moved": 1, "layout": ""}',
        "",
        "{",
        "[]",
        "null",
        "3",
        '{"ok": ' + "[" * 5_000 + "]" * 5_000 + "}",
        "\x00",
        '{"ok": true, "memory": "much"}',
        '{"buffers": 7}',
        "{}",
    ],
)
def test_a_kept_answer_that_is_none_costs_the_cache_only(held: str, tmp_path: Any) -> None:
    path = tmp_path / "answer.json"
    path.write_text(held)
    found = cache.read(path)
    assert found is None


def test_a_kept_answer_that_is_no_file(tmp_path: Any) -> None:
    (tmp_path / "answer.json").mkdir()
    assert cache.read(tmp_path / "answer.json") is None
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    assert cache.read(tmp_path / "bytes.json") is None
    os.mkfifo(tmp_path / "pipe.json")
    assert cache.read(tmp_path / "pipe.json") is None
