"""The report as one HTML page that needs no network: it includes data, script and style."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache

import jinja2

from ..report import Report
from .script import script as view_script
from .verdicts import lines, title
from .words import about

STYLE = (
    "html,body{height:100%;margin:0}#view{height:100%}noscript{font:14px/1.5 system-ui,sans-serif;display:block;max-width:60em;margin:2em auto;padding:0 1em}"
)
DIALOG = (
    "dialog{width:min(960px,94vw);height:92vh;box-sizing:border-box;border:1px solid #8c959f;border-radius:9px;padding:12px;background:#fff;color:#1b1f24;color-scheme:light;"
    "font:13px/1.45 system-ui,sans-serif}dialog>button{font:inherit;position:sticky;top:0;float:right;z-index:9}dialog>div{clear:both}"
)
START = (
    'const page="<!doctype html>\\n"+document.documentElement["outer"+"HTML"],of=id=>document.getElementById(id);'
    'tpushape.mount(of("view"),JSON.parse(of("report").textContent),{fill:true,page:()=>page,at:location.hash,link:at=>location.href.split("#")[0]+"#"+at,'
    'charts:of("plotly")?tpushape.charts(of("charts"),of("figures").textContent,of("plotly").textContent):undefined});'
)


def for_script(json: str) -> str:
    """JSON that is safe inside a script element."""
    for character in "<>&\u2028\u2029":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return json


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("jupyter_tpushape.views")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def template(name: str) -> jinja2.Template:
    """A template of this package; every value is escaped."""
    return _environment().get_template(name)


@dataclass(frozen=True)
class Charts:
    """What a page carries for its charts: the figures as JSON, and plotly's own script, compressed, with its digest and those of the
    styles that it brings along."""

    figures: str
    packed: str
    digest: str
    styles: tuple[str, ...]


def _charts(report: Report) -> Charts | None:
    """``None`` if there is nothing to plot or Plotly is not installed; the view's own bars then show the same values."""
    from .charts import charted, charts

    if not any(charted(verdict) for verdict in report.verdicts):
        return None
    try:
        figures = charts(report)
    except ValueError:
        return None
    return Charts(for_script(f"[{','.join(figure.to_json() for figure in figures)}]"), *_plotly_script())


@cache
def _plotly_script() -> tuple[str, str, tuple[str, ...]]:
    """Plotly's script, packed to less than a half for the page, its digest, and the digests of its styles."""
    from plotly.offline import get_plotlyjs

    script = get_plotlyjs()
    # It makes an empty style element that it fills rule by rule, and others from a text.
    styles = ["", *re.findall(r"""\.textContent='([^'\\]*\{[^'\\]*)'""", script)]
    packed = base64.b64encode(gzip.compress(script.encode(), 9, mtime=0)).decode()
    return packed, _digest(script), tuple(_digest(text) for text in styles)


def to_html(report: Report) -> str:
    """The page. Its Content-Security-Policy allows only the view's own script, and Plotly's if there are charts."""
    script = f"{view_script()}\n{START}"
    charts = _charts(report)
    style = STYLE + (DIALOG if charts else "")
    scripts, styles = [_digest(script)], [_digest(style)]
    if charts is not None:
        scripts.append(charts.digest)
        styles += charts.styles
    policy = f"default-src 'none'; script-src {_sources(scripts)}; style-src {_sources(styles)}; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'"
    return template("report.html").render(
        report=report, policy=policy, style=style, script=script, data=for_script(report.to_json()), charts=charts, lines=lines, title=title, about=about(report),
    )  # fmt: skip


def _sources(digests: list[str]) -> str:
    return " ".join(f"'sha256-{digest}'" for digest in digests)
