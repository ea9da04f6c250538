"""The README shows what its own code gives: the line under the traceback, and the picture."""

from __future__ import annotations

from pathlib import Path

from scripts_here import ROOT, script


def test_the_picture_and_the_line_are_those_of_the_code_beside_them(tmp_path: Path) -> None:
    module = script("docs/images/readme.py")
    import keras

    keras.backend.clear_session()
    report, line = module.shown(tmp_path / "readme.json")
    assert line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    said = module.kept(ROOT / "docs" / "images" / "conv-lstm.png")
    assert said == module.drawn(report), "draw it anew: python docs/images/make.py conv-lstm"
