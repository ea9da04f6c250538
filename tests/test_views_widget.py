"""The widget's Python side."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jupyter_tpushape.views.widget import ReportWidget, show

spec = importlib.util.spec_from_file_location("view_flows", Path(__file__).parent / "view_browser" / "flows.py")
assert spec
assert spec.loader
flows = importlib.util.module_from_spec(spec)
spec.loader.exec_module(flows)


def test_holds_the_document_and_tells_what_is_selected() -> None:
    report = flows.conv_lstm()
    widget = ReportWidget(report)
    assert widget.report == json.loads(report.to_json())
    seen: list[str] = []
    widget.observe(lambda change: seen.append(change["new"]), "selected")
    widget.set_state({"selected": "lstm"})
    assert widget.selected == "lstm"
    assert seen == ["lstm"]


def test_shows_another_report_in_place() -> None:
    widget = ReportWidget(flows.conv_lstm())
    widget.update(flows.uneven())
    assert widget.report["title"] == "classifier"
    data, _ = widget._repr_mimebundle_()
    assert "12 rows do not split evenly over 8 replicas" in data["text/html"]


def test_two_widgets_in_one_page_do_not_share_a_state() -> None:
    one, other = ReportWidget(flows.conv_lstm()), ReportWidget(flows.uneven())
    one.selected = "lstm"
    assert other.selected == ""
    assert one.report["title"] != other.report["title"]


def test_sessions_that_a_server_runs_in_threads_have_a_script_each() -> None:
    report = flows.conv_lstm()
    made: list[ReportWidget] = []
    session = threading.Thread(target=lambda: made.extend([ReportWidget(report), ReportWidget(report)]))
    session.start()
    session.join()
    here = ReportWidget(report)
    assert made[0].code is made[1].code
    assert made[0].code is not here.code
    assert made[0].code.source == here.code.source


def test_offers_apply_once_somebody_listens() -> None:
    widget = ReportWidget(flows.conv_lstm())
    assert not widget.can_apply
    applied: list[tuple[int, int]] = []
    widget.on_apply(lambda finding, fix: applied.append((finding, fix)))
    assert widget.can_apply
    widget._handle_custom_msg({"type": "apply", "finding": 0, "fix": 1}, [])
    widget._handle_custom_msg({"type": "else"}, [])
    assert applied == [(0, 1)]


def test_keeps_a_still_for_where_no_widget_runs() -> None:
    data, metadata = ReportWidget(flows.conv_lstm())._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "lstm cannot take what conv2d gives" in data["text/html"]
    assert "<script" not in data["text/html"]
    assert metadata == {}


def test_show_displays_once_and_gives_the_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    widget = show(flows.conv_lstm())
    assert shown == [widget]


def test_show_at_the_end_of_a_cell_does_not_show_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell, "execution_count", 7)
    monkeypatch.setattr("IPython.display.display", lambda _: None)
    widget = show(flows.conv_lstm())
    assert widget._repr_mimebundle_() == ({"text/plain": "Sequential digits: shown above"}, {})
    shell.execution_count = 8
    assert "application/vnd.jupyter.widget-view+json" in widget._repr_mimebundle_()[0]
    InteractiveShell.clear_instance()


def test_colab_is_told_to_load_custom_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    google, colab, output = ModuleType("google"), ModuleType("google.colab"), ModuleType("google.colab.output")
    output._widgets = type("Widgets", (), {"_installed_url": "x"})  # type: ignore[attr-defined]
    output.enable_custom_widget_manager = lambda: called.append("enabled")  # type: ignore[attr-defined]
    colab.output = output  # type: ignore[attr-defined]
    google.colab = colab  # type: ignore[attr-defined]
    for name, module in {"google": google, "google.colab": colab, "google.colab.output": output}.items():
        monkeypatch.setitem(sys.modules, name, module)
    _, metadata = ReportWidget(flows.conv_lstm())._repr_mimebundle_()
    assert called == ["enabled"]
    assert "colab" in metadata["application/vnd.jupyter.widget-view+json"]
