"""What a report is called in a notebook: by the names of the user's variables, by what a cell makes, and nothing that is another's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Finding, Flow
from jupyter_tpushape.flow.wire import About
from jupyter_tpushape.notebook.live import keep
from jupyter_tpushape.report import Report
from jupyter_tpushape.views.markdown import to_markdown
from jupyter_tpushape.views.mime import bundle, fragment
from jupyter_tpushape.views.naming import made_at
from jupyter_tpushape.views.svg import to_svg
from jupyter_tpushape.views.widget import ReportWidget, show


@pytest.mark.parametrize(
    ("source", "line", "names"),
    [
        ("model = keras.Sequential([\n    LSTM(3),\n])\nmodel.compile()", 2, ("model", "")),
        ("net: Model = make()", 1, ("net", "")),
        ("net.fit(x, y, epochs=3)", 1, ("net", "x, y")),
        ("history = net.fit(train.batch(8))", 1, ("net", "train.batch(8)")),
        ("for width in (2, 3):\n    deep = make(width)", 2, ("deep", "")),
        ("make()", 1, ("", "")),
        ("a = b = make()", 1, ("", "")),
        ("nets['a'] = make()", 1, ("", "")),
        ("model = make()", 7, ("", "")),
        ("model = = 3", 1, ("", "")),
    ],
)
def test_a_failed_cell_says_what_it_was_making(source: str, line: int, names: tuple[str, str]) -> None:
    assert made_at(source, line) == names


def shell(**names: Any) -> Any:
    extension = SimpleNamespace(count=0, running=7, kernel="k1", error=None, source="", seen={})
    return SimpleNamespace(user_ns=names, _tpushape=extension, _tpushape_cells={7: "cell-id"}, execution_count=7)


def test_a_report_that_is_shown_is_named_by_the_variables_that_hold_what_it_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    x, y = np.zeros((8, 4), "float32"), np.zeros((8, 2), "float32")
    report = tpushape.trace(net, (x, y))
    alone = tpushape.trace(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]), None)
    assert report.about == About("net", "x, y", "keras on tensorflow", report.subject.when), "the caller's names, outside a notebook too"
    for said in (repr(report), fragment(report), to_markdown(report), to_svg(report)):
        assert "net · x, y · keras on tensorflow · v5e-8 · " + report.subject.when[:10] in said
    assert "declared inputs" in repr(alone)
    assert "arrays" in repr(tpushape.trace(net, (np.zeros((8, 4), "float32"), y))), "data without a name are no declared inputs"
    monkeypatch.setattr("IPython.get_ipython", lambda: shell(_net=net, net=net, x=x, y=y))
    monkeypatch.setattr("IPython.display.display", lambda widget: None)
    about = show(report).report["about"]
    assert {key: about[key] for key in ("model", "data", "backend", "cell", "execution", "kernel")} == {
        "model": "net",
        "data": "x, y",
        "backend": "keras on tensorflow",
        "cell": "cell-id",
        "execution": 7,
        "kernel": "k1",
    }
    # What has a name keeps it, and what nobody holds any more has none.
    monkeypatch.setattr("IPython.get_ipython", lambda: shell(other=net))
    assert ReportWidget(report).report["about"]["model"] == "net"
    said = next(value for key, value in bundle(alone).items() if key.endswith("+json"))["about"]
    assert "model" not in said
    assert said["execution"] == 7
    assert said["when"] == alone.subject.when


def test_a_model_is_not_compared_with_another_one_that_failed() -> None:
    failed = Report(Flow(), [Finding("layer-rank", "error", "The shapes part here")], about=About(model="broken"))
    kept: dict[str, Any] = {"": failed}
    assert keep(kept, "table", Report(Flow(), [])) is None
    assert keep(kept, "broken", Report(Flow(), [])) is failed
    assert keep(kept, "broken", Report(Flow(), [])) is not failed
