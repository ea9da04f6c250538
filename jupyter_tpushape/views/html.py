"""The report as one HTML page that needs no network: data, script and style are in it."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

import jinja2

from ..flow import Report

STYLE = (
    "html,body{height:100%;margin:0}#view{height:100%}"
    "noscript{font:14px/1.5 system-ui,sans-serif;display:block;max-width:60em;margin:2em auto;padding:0 1em}"
)
START = (
    'const page="<!doctype html>\\n"+document.documentElement["outer"+"HTML"];'
    'tpushape.mount(document.getElementById("view"),JSON.parse(document.getElementById("report").textContent),{fill:true,page:()=>page});'
)


def for_script(json: str) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element or a line."""
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
    """A template of this package; every value that it is given is escaped."""
    return _environment().get_template(name)


@cache
def bundle_script() -> str:
    """The view's own script, as the build left it.

    Raises:
        FileNotFoundError: where the browser build has not been made.
    """
    path = resources.files("jupyter_tpushape") / "static" / "report.js"
    if not path.is_file():
        raise FileNotFoundError(
            "The browser part is not built: run `jlpm install && jlpm build:esm` in the source tree, or install a release."
        )
    script = path.read_text(encoding="utf-8").strip()
    return script.replace("</script", "<\\/script").replace("\r\n", "\n")


def to_html(report: Report) -> str:
    """The page. Its Content-Security-Policy lets run the view's own script and nothing else."""
    script = f"{bundle_script()}\n{START}"
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(STYLE)}'; "
        "img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    return template("report.html").render(report=report, policy=policy, style=STYLE, script=script, data=for_script(report.to_json()))
