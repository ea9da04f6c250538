"""The notebook output of a report: text, a static picture with its findings in plain HTML, and the document itself.

The HTML contains no script, no style element and no URL: GitHub, nbviewer, a printer
and an untrusted notebook show it. With our renderer, JupyterLab shows the document instead.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from ..flow import MIME
from ..report import Report
from .html import template
from .naming import named_here
from .svg import STILL, to_svg
from .verdicts import lines, title
from .words import about

COLOURS = {"error": "#ad4400", "tpu": "#ad4400", "silent": "#ad4400", "slow": "#57606a", "note": "#57606a"}
WORDS = {"error": "fails", "tpu": "fails on the TPU", "silent": "runs, but not as intended", "slow": "runs, but wastes the TPU", "note": "worth knowing"}


def fragment(report: Report) -> str:
    """The static picture and the findings as an HTML fragment."""
    picture = base64.b64encode(to_svg(report, most=STILL).encode()).decode()
    return template("fragment.html").render(report=report, picture=picture, colours=COLOURS, words=WORDS, lines=lines, title=title, about=about(report))


def bundle(report: Report) -> dict[str, Any]:
    """The report by MIME type."""
    named_here(report)
    return {"text/plain": repr(report), "text/html": fragment(report), MIME: json.loads(report.to_json())}
