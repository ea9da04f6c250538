"""Writes ``docs/rules``: one page per rule, and an index.

The sample message comes from running the rule's failing example. With ``--check`` nothing is written, and the exit
code says whether the pages are up to date.
"""

from __future__ import annotations

import inspect
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
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
MEANING = {
    "error": "fails on any device",
    "tpu": "fails on the TPU only",
    "silent": "runs, but not as intended",
    "slow": "runs, but wastes the TPU",
    "note": "worth knowing",
}
GIVEN = "`keras`, `L` (`keras.layers`), `np`, `tf` and `tpushape` are imported."


def sample(rule: Rule) -> Any:
    """The rule's finding on its failing example, or ``None`` if it needs a compiler or another backend."""
    if rule.backend:
        return None
    from programs import reported

    return next((finding for finding in reported(rule.id).findings if finding.rule == rule.id), None)


def page(rule: Rule) -> str:
    """One rule's page."""
    found = sample(rule)
    parts = [f"# {rule.title}", ""]
    where = f" · target in the examples: `{rule.tpu}`" if rule.tpu else ""
    only = "" if len(rule.frameworks) == 2 else f" · {' and '.join(rule.frameworks)} only"
    if rule.backend:
        only = f" · {' and '.join(rule.frameworks)} on {rule.backend} only"
    parts += [f"`{rule.id}` · severity **{rule.severity}**: {MEANING[rule.severity]}{where}{only}", ""]
    if rule.doc:
        parts += [inspect.cleandoc(rule.doc), ""]
    elif found is not None and found.why:
        parts += [found.why, ""]
    if found is not None:
        parts += ["## What tpushape reports", "", f"> {found.message}", ""]
        if found.expected is not None or found.found is not None:
            parts += [f"- wants: `{found.expected}`"] if found.expected is not None else []
            parts += [f"- gets: `{found.found}`"] if found.found is not None else []
            parts += [""]
    elif rule.compiler:
        asked = "`%tpushape model data --compile tpu`" + (", or `--compile xla`" if rule.compiler == "xla" else "")
        parts += [f"Reported only after compiling: {asked}.", ""]
    parts += ["## Example", "", GIVEN, "", "```python", textwrap.dedent(rule.fails).strip(), "```", ""]
    parts += ["## Fixed", "", "```python", textwrap.dedent(rule.passes).strip(), "```", ""]
    parts += ["## Source", "", rule.source, ""]
    # Memory addresses differ from run to run.
    return re.sub(r" at 0x[0-9a-f]+", "", "\n".join(parts))


def index(rules: list[Rule]) -> str:
    """The list of all rules, by severity."""
    parts = [
        "# Rules",
        "",
        "Every finding names its rule. Each page explains a rule, shows a failing program and its fixed version, and names the source of the",
        "rule. `tpu-rules` is a catalog of what TPUs support, measured with the real TPUStrategy and the real TPU compiler.",
        "",
        "Generated from `tpushape.rules()` by `python scripts/rules_docs.py`.",
    ]
    for severity, meaning in MEANING.items():
        parts += ["", f"## {severity}: {meaning}", "", "| rule | what |", "|---|---|"]
        parts += [f"| [{rule.id}]({rule.id}.md) | {rule.title.replace('|', chr(92) + '|')} |" for rule in rules if rule.severity == severity]
    return "\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Every page by its file name."""
    rules = sorted(tpushape.rules(), key=lambda rule: rule.id)
    return {"README.md": index(rules), **{f"{rule.id}.md": page(rule) for rule in rules}}


def main(check: bool) -> int:
    """Writes the pages, or with ``check`` lists those that are out of date."""
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
