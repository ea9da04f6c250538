"""Every code block of the docs runs, and every command is one that the command line takes."""

from __future__ import annotations

import pytest
from scripts_here import ROOT, script

docs_code = script("scripts/docs_code.py")


@pytest.mark.parametrize("name", docs_code.PAGES)
def test_the_blocks_of_a_page_run_and_their_outputs_are_these(name, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    page = docs_code.Page(ROOT / name, tmp_path)
    page.run()
    assert page.written() == page.text, "run: python scripts/docs_code.py --write"


def test_a_page_with_a_block_that_fails_is_not_let_through(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nraise ValueError('no')\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="no"):
        docs_code.Page(page, tmp_path).run()
    page.write_text("<!-- raises -->\n```python\n1\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="no error"):
        docs_code.Page(page, tmp_path).run()
    page.write_text("```\ntpushape chek model.py:make\n```\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        docs_code.Page(page, tmp_path).run()
