"""The pages of the rules are what the rules say now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jupyter_tpushape as tpushape

ROOT = Path(__file__).parents[1]


def test_the_pages_are_generated_from_the_rules_as_they_are():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "rules_docs.py", "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_rule_has_its_page_and_stands_in_the_index():
    index = (ROOT / "docs" / "rules" / "README.md").read_text()
    for rule in tpushape.rules():
        assert (ROOT / rule.page).is_file(), rule.page
        assert f"[{rule.id}]({rule.id}.md)" in index
