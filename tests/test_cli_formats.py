"""What check writes for tools: annotations of GitHub, SARIF, files; and its exit codes."""

from __future__ import annotations

import json

import pytest

from jupyter_tpushape.cli import main
from jupyter_tpushape.flow import Finding, Flow, Location, Side
from jupyter_tpushape.report import Report
from jupyter_tpushape.views.sarif import to_annotations, to_sarif

HOSTILE = "x::error file=etc/passwd::%0A\n::stop-commands::now"


@pytest.fixture
def report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    found = [
        Finding(
            "missing-flatten", "error", "The inner axes survive.", "Because.", Side("(8, 3)"), Side("(8, 6, 6, 3)"),
            location=Location(str(tmp_path / "src" / "train.py"), 12, text="L.Dense(3),"),
        ),
        Finding("no-prefetch", "slow", "The pipeline does not end with prefetch()."),
    ]  # fmt: skip
    return Report(Flow(), found)


def test_an_annotation_points_to_the_line_from_the_root_of_the_repository(report):
    first, second, last = to_annotations(report).splitlines()
    assert first == ("::error title=tpushape%3A missing-flatten,file=src/train.py,line=12::The inner axes survive.%0Awants (8, 3), gets (8, 6, 6, 3)")
    assert second == "::warning title=tpushape%3A no-prefetch::The pipeline does not end with prefetch()."
    assert last == f"tpushape: {report.summary}"


def test_names_of_the_program_cannot_write_commands_of_their_own():
    lines = to_annotations(Report(Flow(), [Finding("layer-rank", "error", HOSTILE)])).splitlines()
    assert lines[0] == "::error title=tpushape%3A layer-rank::x::error file=etc/passwd::%250A%0A::stop-commands::now"
    assert not any(line.startswith("::stop") for line in lines)


def test_sarif_names_rule_level_and_line(report):
    run = json.loads(to_sarif(report))["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["missing-flatten", "no-prefetch"]
    first, second = run["results"]
    assert (first["ruleId"], first["level"], second["level"]) == ("missing-flatten", "error", "warning")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/train.py"
    assert place["region"] == {"startLine": 12, "snippet": {"text": "L.Dense(3),"}}
    assert "locations" not in second


@pytest.mark.parametrize("form", ["text", "json", "html", "md", "svg", "sarif", "github"])
def test_each_form_goes_to_a_file(form, tmp_path, monkeypatch, capsys, report):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("model = 1\n")
    monkeypatch.setattr("jupyter_tpushape.command.check._report", lambda options: report)
    out = tmp_path / "out"
    assert main(["check", "train.py:model", "--format", form, "--output", str(out)]) == 1
    assert out.stat().st_size > 100


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch, capsys, report):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("model = 1\n")
    monkeypatch.setattr("jupyter_tpushape.command.check._report", lambda options: report)
    assert main(["check", "train.py:model", "--output", "/nowhere/at/all"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "/nowhere/at/all (No such file or directory)" in err and "--output" in err
