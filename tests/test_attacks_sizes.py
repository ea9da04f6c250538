"""Large and deep things cost in proportion to their size: calls are counted and memory is measured, and no clock is read."""

from __future__ import annotations

import ast
import copy
import importlib.util
import io
import json
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_attacks_documents import chain, nested
from test_attacks_files import bomb, crowd, lying

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Edge, Finding, Fix, Flow, Node, Spec
from jupyter_tpushape.report import Report
from jupyter_tpushape.saved.reader import MOST_TEXT
from jupyter_tpushape.saved.walk import check
from jupyter_tpushape.views import render
from jupyter_tpushape.views.text import to_text

FOLD = 4


def calls(run: Callable[[], Any]) -> int:
    """How many functions, Python's and C's, are called meanwhile."""
    count = 0

    def tell(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def views(report: Report) -> None:
    """Written, read, and shown in every way."""
    read = Report.from_json(report.to_json())
    repr(read)
    read._repr_mimebundle_()
    for suffix in (".html", ".svg", ".md", ".json"):
        render(read, suffix)


@pytest.mark.parametrize(("make", "size"), [(nested, 40), (chain, 300)], ids=["depth", "nodes"])
def test_views_cost_in_proportion_to_a_model(make: Callable[[int], Report], size: int) -> None:
    small, large = make(size), make(FOLD * size)
    views(small)  # what is imported and compiled once
    assert calls(lambda: views(large)) < 1.5 * FOLD * calls(lambda: views(small))


def called(count: int) -> dict[str, Any]:
    """A chain of layers as Keras 3 writes it, the last one first."""
    layers = [{"class_name": "ReLU", "name": f"n{i}", "inbound_nodes": [[f"n{i - 1}", 0, 0]] if i else []} for i in range(count)]
    nodes = [{**one, "inbound_nodes": [{"args": [{"config": {"keras_history": call}}]} for call in one["inbound_nodes"]]} for one in layers]
    return {"layers": nodes[::-1]}


def test_a_terminal_is_not_filled_without_an_end() -> None:
    """A report of a stranger's may hold any number of findings and letters; a notebook shows it as text too."""
    finding = Finding("layer-rank", "error", "word " * 20_000, "why", fixes=[Fix("title", patch="x", proof="")] * 500)
    report = Report(Flow([Node("n", "n" * 100_000, "layer", "X")], []), [finding] * 1_000)
    for width in (80, 20):
        text = to_text(report, width=width)
        assert "800 more findings: save the report as" in " ".join(text.split())
        assert len(text) < 3_000_000


def test_a_configuration_is_walked_at_a_cost_in_proportion_to_it() -> None:
    importlib.import_module("keras")
    small, large = called(200), called(FOLD * 200)
    check("keras", small)  # what is looked up once
    assert calls(lambda: check("keras", large)) < 1.5 * FOLD * calls(lambda: check("keras", small))


SOURCE = "import keras\ndef build():\n    x = keras.Input((8, 8, 1))\n    y = keras.layers.LSTM(4)(x)\n    return keras.Model(x, y)\n"


def test_a_long_source_is_parsed_a_few_times(tmp_path: Path, monkeypatch: Any) -> None:
    """Each text once for each of those who read it, and not once for each fix that is tried."""
    path, read = tmp_path / "long_source.py", Counter[str]()
    path.write_text(SOURCE + "".join(f"def f{i}(x):\n    y = x + {i}\n    return y\n\n" for i in range(500)))
    spec = importlib.util.spec_from_file_location("long_source", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    parse = ast.parse

    def counted(text: Any, *rest: Any, **more: Any) -> Any:
        read[str(text)] += len(str(text)) > 10_000
        return parse(text, *rest, **more)

    monkeypatch.setattr(ast, "parse", counted)
    report = tpushape.trace(module.build, np.zeros((8, 8, 8, 1), "float32"), tpu=None)
    assert any(fix.proof == "source" for fix in report.findings[0].fixes)
    assert 1 <= max(read.values()) <= 2


def test_data_written_as_code_is_not_searched(tmp_path: Path, monkeypatch: Any) -> None:
    """Its tree would take gigabytes, again for each fix."""
    path = tmp_path / "written.py"
    path.write_text(SOURCE + "table = [" + "0, " * 750_000 + "]\n")
    spec = importlib.util.spec_from_file_location("written", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    read: list[int] = []
    parse = ast.parse

    def counted(text: Any, *rest: Any, **more: Any) -> Any:
        read.append(len(str(text)))
        return parse(text, *rest, **more)

    monkeypatch.setattr(ast, "parse", counted)
    report = tpushape.trace(module.build, np.zeros((8, 8, 8, 1), "float32"), tpu=None)
    assert report.findings[0].fixes and not any(fix.proof == "source" for fix in report.findings[0].fixes)
    assert max(read, default=0) < 100_000


def test_an_edit_of_twenty_thousand_lines(tmp_path: Path) -> None:
    small, large = tmp_path / "small.py", tmp_path / "large.py"
    filler = "".join(f"def f{i}(x):\n    y = x + {i}\n    return y\n\n" for i in range(5_000))
    small.write_text(SOURCE)
    large.write_text(SOURCE + filler)
    spec = importlib.util.spec_from_file_location("small", small)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    report = tpushape.trace(module.build, np.zeros((8, 8, 8, 1), "float32"), tpu=None)
    fix = next(fix for fix in report.findings[0].fixes if fix.proof == "source")
    tpushape.apply(fix, small)
    tpushape.apply(fix, large)
    assert large.read_text() == small.read_text() + filler
    assert small.read_text() != SOURCE


READ = """
import json, resource, sys
from jupyter_tpushape.saved import Unreadable, read
from pathlib import Path
said = []
for path in sys.argv[1:]:
    try:
        read(Path(path)); said.append("read")
    except Unreadable as error:
        said.append(str(error))
# What getrusage says of this process would count the one that started it.
own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([said, max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)]))
"""


def written(start: str, part: str, end: str) -> bytes:
    """An archive whose configuration is as long as it may be, of one part over and over."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("config.json", start + part * ((MOST_TEXT - len((start + end).encode())) // len(part)) + end)
    return data.getvalue()


# As much as the limit of the text lets in: each was read in gigabytes, or for days, with a pattern that looked at strings letter by letter.
SWELLS = {
    "one string": written('{"a": "', "x", '"}'),
    "one wide string": written('{"a": "😀', "x", '"}'),
    "escapes": written('{"a": "', '\\"', '"}'),
    "a string without an end": written('{"a": "', '\\"', ""),
    "quotes": written("", '"', ""),
    "ends without beginnings": written("{", "]", ""),
    "values": written('{"a": [0', ", {}", "]}"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the peak in KiB")
def test_zip_bombs_take_little_memory(tmp_path: Path) -> None:
    made = {"config": bomb("config.json"), "weights": bomb("model.weights.h5"), "lying": lying(), "crowd": crowd(), **SWELLS}
    for name, data in made.items():
        (tmp_path / f"{name}.keras").write_bytes(data)
    paths = [str(tmp_path / f"{name}.keras") for name in made]
    done = subprocess.run([sys.executable, "-c", READ, *paths], capture_output=True, text=True, check=True)
    said, peak = json.loads(done.stdout)
    assert all("\n" not in words and words != "read" for words in said), said
    assert peak < 200 * 1024


def test_each_of_many_nodes_is_asked_for_its_edges() -> None:
    """Where each answer walked through all edges, this would take hours; the time limit of all tests is the judge."""
    flow, spec = Flow(), Spec((8, 4), "float32")
    for number in range(100_000):
        flow.nodes.append(Node(f"n{number}", f"n{number}", "layer", "Dense"))
        if number:
            flow.edges.append(Edge(f"e{number}", f"n{number - 1}", f"n{number}", spec))
            assert [edge.id for edge in flow.into(f"n{number}")] == [f"e{number}"] and flow.out_of(f"n{number}") == []
    assert all(flow.node(node.id) is node and len(flow.into(node.id)) + len(flow.out_of(node.id)) <= 2 for node in flow.nodes)


def test_a_flow_that_gets_other_lists_is_read_again() -> None:
    flow, spec = Flow([Node("a", "a", "layer", "Dense"), Node("a", "b", "layer", "Dense")]), Spec((8, 4), "float32")
    assert flow.node("a").name == "a"
    flow.edges.append(Edge("e", "a", "b", spec))
    assert [edge.id for edge in flow.out_of("a")] == ["e"]
    flow.edges.clear()
    flow.edges.append(Edge("f", "b", "a", spec))
    assert flow.out_of("a") == [] and [edge.id for edge in flow.into("a")] == ["f"]
    flow.nodes = [Node("c", "c", "layer", "Dense")]
    assert flow.node("c").name == "c"
    with pytest.raises(KeyError):
        flow.node("a")
    assert copy.deepcopy(flow) == flow and flow.out_of("a") is not flow.out_of("a")
