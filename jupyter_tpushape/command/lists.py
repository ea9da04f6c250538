"""``tpushape targets`` and ``tpushape rules``."""

from __future__ import annotations

import json
from typing import Any

from .out import written
from .usage import UsageError


def targets(_: Any) -> int:
    """Prints one line per TPU slice."""
    from ..replicas import SLICES

    lines = []
    for name, entry in SLICES.items():
        target = entry.target
        made = target() if callable(target) else target
        memory = f"{entry.available_bytes / 2**30:5.2f} of {made.hbm_bytes / 2**30:3.0f} GiB HBM a core"
        lines.append(f"{name:10} {made.replicas:4} replicas  {made.hosts:3} hosts  {memory}")
    written("\n".join(lines))
    return 0


def rules(options: Any) -> int:
    """Prints one line per rule, or one rule."""
    from ..rules import rules as every

    found = [rule for rule in every() if options.rule in (None, rule.id)]
    if not found:
        raise UsageError(f"There is no rule {options.rule}: run tpushape rules to list all rules.")
    if options.json:
        fields = ("id", "severity", "title", "doc", "source", "page")
        made = [{field: getattr(rule, field) for field in fields} for rule in found]
        written(json.dumps(made, indent=1, ensure_ascii=False), "json")
        return 0
    lines = []
    for rule in found:
        lines.append(f"{rule.id:22} {rule.severity:7} {rule.title}")
        if options.rule:
            lines.append(f"\n{rule.doc or rule.title}\n\nSource: {rule.source}\n\nFails:\n{rule.fails}\nPasses:\n{rule.passes}")
    written("\n".join(lines))
    return 0
