"""Fixes of a layout map in its own source: another key or other axes, tried by laying out the model's variables again."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from ..examine import Examined
from ..examine.layout_facts import Entry, Laid
from ..flow import Edit, Effect, Finding, Fix, show_shape
from ..rules.facts.layouts import KeyUnused, TooLong, Undivided, laid
from ..rules.layouts import judged
from .patch import patch_of
from .text.source import NoPlace, Source, nodes, parents


def mend(seen: Examined, findings: list[Finding]) -> None:
    """Adds fixes to the findings of a layout map that determine their own solution."""
    held: Laid | None = seen.evidence.facts.get("layout")
    if held is None:
        return
    others = any(finding.serious and not finding.rule.startswith("layout-") for finding in findings)
    for finding in findings:
        own = list(_changes(finding))
        # What is wrong in one way is mended at once.
        first = [change for one in findings if one.serious and one.rule == finding.rule for change in list(_changes(one))[:1]]
        together = first if len({old for _, old, _ in first}) == len(first) > 1 else []
        for changes in [*([change] for change in own), *([together] if own and own[0] in together else [])]:
            fix = _tried(seen, held, finding, changes, others)
            if fix is not None:
                finding.fixes = [fix, *(one for one in finding.fixes if one.verified)]


def _changes(finding: Finding) -> Iterator[tuple[str, Entry, Entry]]:
    """What to do, with the current entry and the new one."""
    fact = finding.fact
    if isinstance(fact, KeyUnused) and fact.key_for:
        yield f"Make the key match full paths: {fact.key_for!r}", Entry(fact.key, fact.axes), Entry(fact.key_for, fact.axes)
    if isinstance(fact, Undivided) and fact.instead:
        verb = f"Shard {fact.path} as {laid(fact.instead)}" if any(fact.instead) else f"Replicate {fact.path} on every device"
        yield verb, Entry(fact.key, fact.axes), Entry(fact.key, fact.instead)
    if isinstance(fact, TooLong) and not any(fact.axes[len(fact.shape) :]):
        short = fact.axes[: len(fact.shape)]
        yield f"Remove the axes that {fact.path} does not have: {laid(short)}", Entry(fact.key, fact.axes), Entry(fact.key, short)


def _tried(seen: Examined, held: Laid, finding: Finding, changes: list[tuple[str, Entry, Entry]], others: bool) -> Fix | None:
    pairs = {old: new for _, old, new in changes}
    after = dataclasses.replace(held, entries=tuple(pairs.get(entry, entry) for entry in held.entries))
    left = list(judged(dataclasses.replace(seen.evidence, facts={**seen.evidence.facts, "layout": after})))
    if any(one.rule == finding.rule and one.fact == finding.fact for one in left) or not _better(held, after):
        return None
    changed = [(path, shape, axes) for path, shape, _, _ in held.variables if (axes := after.axes(path)) and held.axes(path) != axes]
    text = "; ".join(
        f"{path} {show_shape(shape)} → {show_shape(after.mesh.shard(shape, axes))} on each device" for path, shape, axes in changed[:3]
    )
    patch, file, cell = _written(seen, pairs)
    whole = not others and not any(one.serious for one in left)
    edits = tuple(
        Edit("strategy", "layout", {"op": "layout", "key": old.key, "to": new.key, "axes": [axis or None for axis in new.axes]})
        for old, new in pairs.items()
    )
    titles = [title if i == 0 else f"{title[:1].lower()}{title[1:]}" for i, (title, _, _) in enumerate(changes)]
    return Fix(
        "; ".join(titles), edits, verified=whole, mends=True, effect=Effect(text=text), patch=patch, file=file, cell=cell, proof="live",
        reason="Every variable was laid out again with this change.",
    )  # fmt: skip


def _better(before: Laid, after: Laid) -> bool:
    """Whether no variable loses its layout, and no new layout would raise an error."""
    for path, shape, _, _ in after.variables:
        axes = after.axes(path)
        if axes is None or len(axes) > len(shape) or after.mesh.undivided(shape, axes):
            was = before.axes(path)
            if was is not None and len(was) <= len(shape) and not before.mesh.undivided(shape, was):
                return False
    return True


def _written(seen: Examined, pairs: dict[Entry, Entry]) -> tuple[str, str, str]:
    """``(patch, file, cell)``: the change if the source of the map is known and unambiguous, otherwise the lines to write."""
    for file in _files(seen):
        try:
            source = Source.read(file)
            for old, new in pairs.items():
                _change(source, old, new)
            return patch_of({file: source.text})
        except NoPlace:
            continue
    lines = [f"-layout_map[{old.key!r}] = {laid(old.axes)}\n+layout_map[{new.key!r}] = {laid(new.axes)}" for old, new in pairs.items()]
    return "\n".join(lines), "", ""


def _files(seen: Examined) -> Iterator[str]:
    """The texts that may contain the map: those of the given functions, and of the line that started the trace."""
    found = [getattr(getattr(one, "__code__", None), "co_filename", "") for one in (seen.program.model, seen.program.data)]
    found.append(seen.program.handed[0] if seen.program.handed is not None else "")
    yield from dict.fromkeys(file for file in found if file)


def _change(source: Source, old: Entry, new: Entry) -> None:
    places = [node for node in nodes(source.tree, ast.Constant) if node.value == old.key]
    if len(places) != 1:
        raise NoPlace
    if new.key != old.key:
        source.splice([(source.start(places[0]), source.end(places[0]), f'"{new.key}"' if '"' not in new.key else repr(new.key))])
        return
    value = _value(source, places[0])
    source.splice([(source.start(value), source.end(value), laid(new.axes).replace("'", '"'))])


def _value(source: Source, key: ast.Constant) -> ast.AST:
    """The layout for a key: of ``map[key] = layout``, or in a dict."""
    above = parents(source.tree)
    node: ast.AST = key
    for _ in range(4):
        node = above.get(node, node)
        if isinstance(node, ast.Dict):
            value = node.values[[ast.dump(one) if one is not None else "" for one in node.keys].index(ast.dump(key))]
            break
        if isinstance(node, ast.Assign):
            value = node.value
            break
    else:
        raise NoPlace
    if not isinstance(value, ast.Tuple):
        raise NoPlace
    return value
