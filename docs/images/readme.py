"""The README's first code, run as a notebook would, and what its picture says of itself.

A PNG keeps, in a text chunk, what was drawn: so a test can tell that the README's picture is still of the README's code.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape
from jupyter_tpushape.report import Report

README = Path(__file__).parents[2] / "README.md"
KEY = b"tpushape"


def cells(text: str) -> list[str]:
    """The first Python code of the README, a cell for each paragraph."""
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found, "the README has no Python code"
    return found[1].strip().split("\n\n")


def shown(path: Path) -> tuple[Report, str]:
    """What ``%tpushape`` draws after the README's cells, saved at a path on the way; and the line under the traceback."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            for cell in [*cells(README.read_text(encoding="utf-8")), f"%tpushape --save {path}"]:
                shell.run_cell(cell, store_history=True)
    finally:
        tpushape.unload_ipython_extension(shell)
        InteractiveShell.clear_instance()
    line = next((line for line in said.getvalue().splitlines() if line.startswith("tpushape ▸")), "")
    return Report.from_json(path.read_text(encoding="utf-8")), line


def drawn(report: Report) -> dict[str, Any]:
    """What a reader sees of a report in its picture."""
    flow = report.flow
    return {
        "summary": report.summary,
        "nodes": [f"{node.name} {node.op} {node.status} {node.location or ''}".strip() for node in flow.nodes],
        "edges": [f"{edge.source} → {edge.target} {edge.spec} {edge.status}" for edge in flow.edges],
        "findings": [[str(one), *(f"{fix.title} {fix.proof}" for fix in one.fixes)] for one in report.findings],
    }


def keep(picture: Path, said: dict[str, Any]) -> None:
    """Writes into a PNG what it shows."""
    data = picture.read_bytes()
    body = b"iTXt" + KEY + b"\0\0\0\0\0" + json.dumps(said, ensure_ascii=False).encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    picture.write_bytes(data[:33] + chunk + data[33:])


def kept(picture: Path) -> dict[str, Any]:
    """What a PNG says that it shows; nothing where it says nothing."""
    data, at = picture.read_bytes(), 8
    while at < len(data):
        length = struct.unpack(">I", data[at : at + 4])[0]
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"iTXt" and body.startswith(KEY + b"\0"):
            said: dict[str, Any] = json.loads(body[len(KEY) + 5 :])
            return said
        at += length + 12
    return {}
