"""``tpushape targets`` and ``tpushape rules``."""

from __future__ import annotations

import json
from typing import Any

from .early import UsageError
from .out import written


def targets(_: Any) -> int:
    """Prints one line per TPU slice."""
    from ..replicas import SLICES

    lines = []
    for name, entry in SLICES.items():
        target = entry.target
        made = target() if callable(target) else target
        counts = f"{made.replicas:4} replica{'s' * (made.replicas > 1):1}  {made.hosts:3} host{'s' * (made.hosts > 1):1}"
        lines.append(f"{name:10} {counts}  {entry.available_bytes / 2**30:5.2f} GiB of usable HBM per core")
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
            doc = f"\n{rule.doc}\n" if rule.doc else ""
            lines.append(f"{doc}\nSource: {rule.source}\n\nFails:\n{rule.fails}\nPasses:\n{rule.passes}")
    written("\n".join(lines))
    return 0
