"""The README shows what its own code gives: the line under the traceback, and the picture."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_picture_and_the_line_are_those_of_the_code_beside_them(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("readme_picture", ROOT / "docs" / "images" / "readme.py")
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import keras

    keras.backend.clear_session()
    report, line = module.shown(tmp_path / "readme.json")
    assert line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    said = module.kept(ROOT / "docs" / "images" / "conv-lstm.png")
    assert said == module.drawn(report), "draw it anew: python docs/images/make.py conv-lstm"
