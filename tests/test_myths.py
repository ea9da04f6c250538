"""Every proof of docs/myths.md runs, each after the page's imports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "myths.md").read_text(encoding="utf-8")
SETUP, *PROOFS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CLAIMS = re.findall(r'^## "(.*)"$', PAGE, re.MULTILINE)


def test_every_claim_has_a_proof():
    assert len(CLAIMS) == len(PROOFS) >= 6


@pytest.mark.parametrize(("claim", "number"), [(claim, number) for number, claim in enumerate(CLAIMS)])
def test_the_proof_holds(claim, number, tmp_path):
    # The page reads top to bottom: "model" of the fourth proof is used in the sixth.
    text = SETUP + (PROOFS[3] if number == 5 else "") + PROOFS[number]
    file = tmp_path / "proof.py"
    file.write_text(text, encoding="utf-8")
    exec(compile(text, str(file), "exec"), {"__name__": "proof"})
