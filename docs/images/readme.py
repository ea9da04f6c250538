"""The README's code, run as a notebook would, and what its pictures say of themselves.

A PNG keeps, in a text chunk, what was drawn: so a test can tell that a picture of the README is still of the README's code.
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


def cells(picture: str) -> list[str]:
    """The README's code that a picture is of: what stands above it since the last set-up, or the first code where there is none above."""
    text = README.read_text(encoding="utf-8")
    codes = list(re.finditer(r"(?ms)^(<!-- setup|```python)\n(.*?)^(?:-->|```)$", text))
    above = [code for code in codes if code.end() < text.index(f"images/{picture}.png")]
    begin = max((i for i, code in enumerate(above) if code[1] != "```python"), default=0)
    return [cell for code in above[begin:] or codes[:1] for cell in code[2].strip().split("\n\n")]


def shown(picture: str) -> tuple[Report, str]:
    """What ``%tpushape`` draws last in the cells of a picture, or after them; and the line under the traceback."""
    found = cells(picture)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            shell.run_cell("%load_ext jupyter_tpushape", silent=True)
            for cell in found if "%tpushape" in found[-1] else [*found, "%tpushape"]:
                shell.run_cell(cell, store_history=True)
        report: Report = shell.user_ns["_tpushape_report"]
    finally:
        tpushape.unload_ipython_extension(shell)
        InteractiveShell.clear_instance()
    line = next((line for line in said.getvalue().splitlines() if line.startswith("tpushape ▸")), "")
    return report, line


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
