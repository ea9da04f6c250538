"""Writes the schema of the wire document and the TypeScript types that follow from it.

The Python types are the one source: ``schema/report.schema.json`` comes from them, and ``src/view/wire.ts`` from the schema.
With ``--check`` nothing is written, and the exit code says whether both are up to date.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

from jupyter_tpushape.flow import schema

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "schema" / "report.schema.json"
TYPES = ROOT / "src" / "view" / "wire.ts"

# Types that the schema spells out wherever they stand, and the field that each is named after.
ALIASES = {
    "NodeKind": ("WireNode", "kind"),
    "Status": ("WireNode", "status"),
    "Severity": ("Finding", "severity"),
    "EditKind": ("Edit", "kind"),
    "Shape": ("Spec", "shape"),
    "Family": ("Node", "family"),
}
# What each type is stands in the schema, and is not said again in what is uploaded.
BANNER = "// Generated from schema/report.schema.json, which describes each type, by `make types`. Do not edit. Fields with a default may be absent."


def spell(part: dict[str, Any], named: dict[str, str]) -> str:
    """One schema part in TypeScript."""
    bare = {key: value for key, value in part.items() if key != "default"}
    known = named.get(json.dumps(bare, sort_keys=True))
    if known:
        return known
    if "$ref" in bare:
        return str(bare["$ref"]).rsplit("/", 1)[-1]
    if "enum" in bare:
        return " | ".join(json.dumps(value) for value in bare["enum"])
    if bare.get("additionalProperties"):
        return f"Record<string, {spell(bare['additionalProperties'], named)}>"
    if "anyOf" in bare:
        return " | ".join(spell(choice, named) for choice in bare["anyOf"])
    match bare["type"]:
        case "array":
            inner = spell(bare["items"], named)
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        case "object":
            return "Record<string, unknown>"
        case "integer" | "number":
            return "number"
        case plain:
            return str(plain)


def typescript(found: dict[str, Any]) -> str:
    """The TypeScript types of a schema as :func:`jupyter_tpushape.flow.schema` gives it."""
    definitions = found["$defs"]
    blocks = [BANNER]
    named: dict[str, str] = {}
    aliases = []
    for alias, (owner, field) in ALIASES.items():
        part = {key: value for key, value in definitions[owner]["properties"][field].items() if key != "default"}
        aliases.append(f"export type {alias} = {spell(part, {})};")
        named[json.dumps(part, sort_keys=True)] = alias
    blocks.append("\n".join(aliases))
    for name, definition in definitions.items():
        lines = [f"export interface {name} {{"]
        required = set(definition["required"])
        for field, part in definition["properties"].items():
            lines.append(f"  {field}{'' if field in required else '?'}: {spell(part, named)};")
        blocks.append("\n".join([*lines, "}"]))
    return "\n\n".join(blocks) + "\n"


def document() -> dict[str, Any]:
    """The schema, with descriptions that do not depend on how this Python indents docstrings."""
    found = schema()
    for definition in found["$defs"].values():
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    return found


def texts() -> dict[Path, str]:
    """What each generated file has to hold."""
    found = document()
    return {SCHEMA: json.dumps(found, indent=2) + "\n", TYPES: typescript(found)}


def drifted() -> list[Path]:
    """The generated files that no longer follow from the Python types."""
    return [path for path, text in texts().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


if __name__ == "__main__":
    if "--check" in sys.argv:
        stale = [str(path.relative_to(ROOT)) for path in drifted()]
        if stale:
            sys.exit(f"Not up to date with jupyter_tpushape/flow: {', '.join(stale)}. Run `make types`.")
    else:
        for path, text in texts().items():
            path.write_text(text, encoding="utf-8")
