"""The README shows what its own code gives: the line under the traceback, and the pictures."""

from __future__ import annotations

import pytest
from scripts_here import ROOT, script


@pytest.mark.parametrize("picture", ["conv-lstm", "uneven-replicas"])
def test_a_picture_and_the_line_are_those_of_the_code_beside_them(picture: str) -> None:
    module = script("docs/images/readme.py")
    import keras

    keras.backend.clear_session()
    report, line = module.shown(picture)
    assert bool(line) == (picture == "conv-lstm")
    assert not line or line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    said = module.kept(ROOT / "docs" / "images" / f"{picture}.png")
    assert said == module.drawn(report), f"draw it anew: python docs/images/make.py {picture}"
