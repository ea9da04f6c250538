"""Writes ``docs/rules``: one page a rule, and an index, from the rules themselves.

The sample message comes from running the rule's failing example. With ``--check`` nothing is written, and the exit
code says whether the pages are up to date.
"""

from __future__ import annotations

import inspect
import linecache
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules.registry import Rule

ROOT = Path(__file__).parents[1] / "docs" / "rules"
MEANING = {
    "error": "breaks anywhere",
    "tpu": "breaks on the target only",
    "silent": "runs and computes something else than meant",
    "slow": "runs and wastes the target",
    "note": "worth knowing",
}
GIVEN = "`keras`, `L` (`keras.layers`), `np`, `tf` and `tpushape` are imported."


def sample(rule: Rule) -> Any:
    """The rule's finding on its failing example, or ``None`` where only a compiler can give it, or another backend."""
    if rule.backend:
        return None
    import importlib

    import numpy as np
    import tensorflow as tf

    keras = importlib.import_module(rule.frameworks[0])
    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    text = textwrap.dedent(rule.fails).strip() + "\n"
    name = f"/example/{rule.id}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"keras": keras, "L": keras.layers, "np": np, "tf": tf, "tpushape": tpushape, "__name__": "example"}
    exec(compile(text, name, "exec"), scope)
    report = tpushape.trace(
        scope.get("step") or scope["build"], scope.get("data"), tpu=rule.tpu or None, strategy=scope.get("strategy"), fixes=False
    )
    return next((finding for finding in report.findings if finding.rule == rule.id), None)


def page(rule: Rule) -> str:
    """One rule's page."""
    found = sample(rule)
    parts = [f"# {rule.title}", ""]
    where = f" · target of the examples: `{rule.tpu}`" if rule.tpu else ""
    only = "" if len(rule.frameworks) == 2 else f" · {' and '.join(rule.frameworks)} only"
    if rule.backend:
        only = f" · {' and '.join(rule.frameworks)} on {rule.backend} only"
    parts += [f"`{rule.id}` · severity **{rule.severity}**: {MEANING[rule.severity]}{where}{only}", ""]
    if rule.doc:
        parts += [inspect.cleandoc(rule.doc), ""]
    elif found is not None and found.why:
        parts += [found.why, ""]
    if found is not None:
        parts += ["## What it says", "", f"> {found.message}", ""]
        if found.expected is not None or found.found is not None:
            parts += [f"- wants: `{found.expected}`"] if found.expected is not None else []
            parts += [f"- gets: `{found.found}`"] if found.found is not None else []
            parts += [""]
    elif rule.compiler:
        asked = "`%tpushape model data --compile tpu`" + (", or `--compile xla`" if rule.compiler == "xla" else "")
        parts += [f"Only a compiler's answer gives this finding: {asked}.", ""]
    parts += ["## A program that it finds", "", GIVEN, "", "```python", textwrap.dedent(rule.fails).strip(), "```", ""]
    parts += ["## The same program, sound", "", "```python", textwrap.dedent(rule.passes).strip(), "```", ""]
    parts += ["## Source", "", rule.source, ""]
    # What one run calls by its address is called otherwise in the next.
    return re.sub(r" at 0x[0-9a-f]+", "", "\n".join(parts))


def index(rules: list[Rule]) -> str:
    """The list of all rules, by severity."""
    parts = [
        "# Rules",
        "",
        "Every finding names its rule. A page says what the rule means, shows a program that it finds and the same program without the fault,",
        "and names the source of its knowledge; `tpu-rules` is the catalogue of what TPUs take, measured with the genuine strategy and compiler.",
        "",
        "Generated from `tpushape.rules()` by `python scripts/rules_docs.py`.",
    ]
    for severity, meaning in MEANING.items():
        parts += ["", f"## {severity}: {meaning}", "", "| rule | what |", "|---|---|"]
        parts += [
            f"| [{rule.id}]({rule.id}.md) | {rule.title.replace('|', chr(92) + '|')} |" for rule in rules if rule.severity == severity
        ]
    return "\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Every page by its file name."""
    rules = sorted(tpushape.rules(), key=lambda rule: rule.id)
    return {"README.md": index(rules), **{f"{rule.id}.md": page(rule) for rule in rules}}


def main(check: bool) -> int:
    """Writes the pages, or with ``check`` names those that have drifted."""
    made = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("*.md")} if ROOT.exists() else {}
    if check:
        drifted = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
        if drifted:
            print(f"Not up to date: {', '.join(drifted)}. Run python scripts/rules_docs.py.", file=sys.stderr)
        return bool(drifted)
    ROOT.mkdir(parents=True, exist_ok=True)
    for name in there.keys() - made.keys():
        (ROOT / name).unlink()
    for name, text in made.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    print(f"{len(made)} pages in {ROOT}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main("--check" in sys.argv[1:]))
