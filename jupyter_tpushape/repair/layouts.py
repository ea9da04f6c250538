"""Fixes of a layout map in its own source: another key or other axes, tried by laying out the model's variables again."""

from __future__ import annotations

import ast
import dataclasses
import re
import warnings
from collections.abc import Iterator
from itertools import combinations, islice

from ..examine import Examined, examine, on_own_mesh
from ..examine.layout_facts import Entry, Laid, without_end
from ..flow import Edit, Effect, Finding, Fix, Patch, Shape, show_shape
from ..flow.syntax import called
from ..rules.facts.layouts import IdleAxis, KeyBroken, KeysClash, KeyUnused, LeftWhole, SlotApart, TooLong, Twice, Undivided, laid
from ..rules.layouts import divided, ends, judged
from .composed_keys import composed
from .patch import changes_of
from .registered import entries_kept
from .rerun import Rerun
from .text.arguments import appended, argument
from .text.source import NoPlace, Source, nodes, parents
from .trial import changed_text, forget

# What to do, the current entry (one without a key for none), and the new one.
Change = tuple[str, Entry, Entry]
ADDED = Entry("", ())
# Changed texts that ran with the keys that they were to have, by the changes; no text where none did.
Texts = dict[tuple[tuple[Entry, Entry], ...], dict[str, str]]


def mend(seen: Examined, findings: list[Finding]) -> None:
    """Adds fixes to the findings of a layout map that determine their own solution."""
    held: Laid | None = seen.evidence.facts.get("layout")
    if held is None:
        return
    others = any(finding.serious and not finding.rule.startswith("layout-") for finding in findings)
    texts: Texts = {}
    for finding in findings:
        if isinstance(finding.fact, IdleAxis) and finding.fact.meant and (named := _batch_named(seen, finding.fact, others)) is not None:
            finding.fixes = [named, *(one for one in finding.fixes if one.verified)]
        own = list(_changes(finding, held))
        # What is wrong in one way is mended at once.
        first = [change for one in findings if one.serious and one.rule == finding.rule for change in next(_changes(one, held), [])]
        first = list(dict.fromkeys(first))
        together = first if own and own[0] != first and len({old for _, old, _ in first}) == len(first) else []
        whole = [change for one in findings if one.serious for change in next(_changes(one, held), [])]
        whole = list(dict.fromkeys(whole)) if own else []
        for changes in [*own, *([together] if together else []), whole]:
            several = len({old for _, old, _ in whole}) == len(whole) and whole not in (*own, together)
            if changes is whole and (not several or any(fix.verified for fix in finding.fixes)):
                continue
            fix = _tried(seen, held, finding, changes, others, texts if changes in (together, whole) or not together else None)
            if fix is not None:
                finding.fixes = [fix, *(one for one in finding.fixes if one.verified)]
        if isinstance(finding.fact, Undivided) and not any(fix.proof == "source" for fix in finding.fixes):
            fix = _tried(seen, held, finding, every(held, finding.fact), others, texts)
            finding.fixes = [fix, *finding.fixes] if fix is not None and fix.proof == "source" else finding.fixes


def every(held: Laid, fact: Undivided) -> list[Change]:
    """The same axis for all keys of one layout, as a program that composes them gives it, if it divides the variables of all."""
    entries = [entry for entry in held.entries if entry.axes == fact.axes]
    shapes = [shape for path, shape, _, _ in held.variables if any(entry in held.fits(path) for entry in entries)]
    axes = divided(held, Entry(fact.key, fact.axes), shapes, fact.place) if len(entries) > 1 and shapes else ()
    return [(f"Shard all variables of {entry.key!r} as {laid(axes)}", entry, Entry(entry.key, axes)) for entry in entries if any(axes)]


def _changes(finding: Finding, held: Laid) -> Iterator[list[Change]]:
    fact = finding.fact
    if isinstance(fact, KeyUnused) and fact.key_for:
        axes = fact.instead or fact.axes
        along = f", with the layout {laid(axes)}" if fact.instead else ""
        yield [(f"Make the key match full paths: {fact.key_for!r}{along}", Entry(fact.key, fact.axes), Entry(fact.key_for, axes))]
    if isinstance(fact, KeyBroken) and fact.key_for:
        yield [(f"Make the key a regular expression: {fact.key_for!r}", Entry(fact.key, fact.axes), Entry(fact.key_for, fact.axes))]
    if isinstance(fact, Undivided) and fact.instead:
        verb = f"Shard {fact.path} as {laid(fact.instead)}" if any(fact.instead) else f"Replicate {fact.path} on every device"
        yield [(verb, Entry(fact.key, fact.axes), Entry(fact.key, fact.instead))]
    if isinstance(fact, TooLong):
        old, short = Entry(fact.key, fact.axes), fact.axes[: len(fact.shape)]
        key = narrowed(held, old)
        free, surplus = [i for i, axis in enumerate(fact.axes) if not axis], len(fact.axes) - len(fact.shape)
        without = {tuple(axis for i, axis in enumerate(fact.axes) if i not in gone) for gone in combinations(free, surplus)}
        kept = next(iter(without), ())
        # All that the key matches has one rank, and whichever unnamed axes go, the named ones stand alike: the others are not there.
        alike = {len(one[1]) for one in held.variables if old in held.fits(one[0])} == {len(fact.shape)}
        given = any(path == fact.path for path, _ in held.given)
        if (given or alike) and len(without) == 1 and not held.mesh.undivided(fact.shape, kept):
            yield [(f"Remove the axes that {fact.path} does not have: {laid(kept)}", old, Entry(fact.key, kept))]
        elif not any(fact.axes[len(short) :]) and not any(held.mesh.undivided(one[1], short) for one in held.variables if old in held.fits(one[0])):
            yield [(f"Remove the axes that {fact.path} does not have: {laid(short)}", old, Entry(fact.key, short))]
        elif key:
            yield [(f"Match only the variables that have these axes: {key!r}", old, Entry(key, fact.axes))]
    if isinstance(fact, Twice):
        old = Entry(fact.key, fact.axes)
        for place in reversed([place for place, axis in enumerate(fact.axes) if fact.axes.count(axis) > 1 and axis]):
            axes = tuple("" if axis == fact.axes[place] and i != place else axis for i, axis in enumerate(fact.axes))
            yield [(f"Shard only axis {place} over {fact.axes[place]!r}: {laid(axes)}", old, Entry(fact.key, axes))]
    if isinstance(fact, KeysClash) and (pairs := whole_names(held)):
        yield [(f"Make the key match whole names: {new.key!r}", old, new) for old, new in pairs]
    elif isinstance(fact, KeysClash):
        yield [(f"Leave what a more specific key matches to that key: {new.key!r}", old, new) for old, new in apart(held, fact.keys)]
    if isinstance(fact, LeftWhole):
        axis = max((size, name) for name, size in held.mesh.sizes if name != held.mesh.batch)[1] if len(held.mesh.sizes) > 1 else ""
        yield from ([(f"Shard {fact.path} as {laid(new.axes)}", ADDED, new)] for new in spread(held, fact.path, fact.shape, axis))
    if isinstance(fact, SlotApart) and held.entries:
        slots = [slot for slot in held.slots if not slot.own]
        yield [(f"Shard {slot.path} as {laid(slot.beside)}", Entry("", (slot.path,)), Entry(slot.path, slot.beside)) for slot in slots]
    # What a key that matches nothing names is idle for that reason.
    paths = (*(one[0] for one in held.variables), *held.outputs, *held.left)
    named = {axis for entry in held.entries for axis in entry.axes if not any(entry in held.fits(path) for path in paths)}
    if isinstance(fact, IdleAxis) and held.entries and not fact.meant and fact.axis not in named:
        whole = sorted((one for one in held.variables if len(one[1]) > 1 and held.axes(one[0]) == ()), key=lambda one: -one[2])
        found = ((path, new) for path, shape, _, _ in whole for new in spread(held, path, shape, fact.axis))
        yield from ([(f"Shard {path} as {laid(new.axes)}", ADDED, new)] for path, new in islice(found, 1))


def narrowed(held: Laid, entry: Entry) -> str:
    """The key for those of its variables alone that have as many axes as its layout."""
    fitting = [(path, len(shape) >= len(entry.axes)) for path, shape, _, _ in held.variables if entry in held.fits(path)]
    good = {path for path, has in fitting if has}
    lasts = sorted({path.rsplit("/", 1)[-1] for path in good})
    stem, last = entry.key.removesuffix(".*").removesuffix("/"), "|".join(re.escape(one).replace(r"\_", "_") for one in lasts)
    last = f"({last})" if len(lasts) > 1 else last
    # The end of the key may stand for names like the last one.
    shorter = re.sub(r"(\.\*|/)?\w+$", "", stem)
    for key in (f"{stem}/{last}", f"{stem}.*/{last}", f"{shorter}/{last}", f"{shorter}.*/{last}", f"(?=.*/{last}$){entry.key}"):
        if good and {path for path, _, _, _ in held.variables if re.fullmatch(key, path)} == good:
            return key
    return ""


def whole_names(held: Laid) -> list[tuple[Entry, Entry]]:
    """All entries written with any characters behind a name, so that names which begin alike clash: with the name as a whole, if no
    variable then loses its layout or gets another."""
    pairs = [(one, Entry(key, one.axes)) for one in held.entries if (key := re.sub(r"(?<=\w)\.\*(?=\w+$)", "/", one.key)) != one.key]
    made = dict(pairs)
    after = dataclasses.replace(held, entries=tuple(made.get(one, one) for one in held.entries))
    for path, _, _, _ in held.variables:
        was, now = held.fits(path), after.fits(path)
        if len(now) > 1 or (bool(was) and not now) or (len(was) == 1 and [one.axes for one in now] != [was[0].axes]):
            return []
    return pairs


def apart(held: Laid, keys: tuple[str, ...]) -> Iterator[tuple[Entry, Entry]]:
    """Entries that match all that another one does, and more: without what the more specific ones match."""
    matched = {entry.key: {path for path, _, _, _ in held.variables if entry in held.fits(path)} for entry in held.entries}
    for entry in held.entries:
        inside = [key for key, paths in matched.items() if paths and paths < matched[entry.key]]
        if entry.key in keys and inside:
            yield entry, Entry(f"(?!(?:{'|'.join(inside)})$){entry.key}", entry.axes)


def spread(held: Laid, path: str, shape: Shape, axis: str) -> Iterator[Entry]:
    """An entry for one variable: its largest axis that divides, over a mesh axis."""
    others = [other for other, _, _, _ in held.variables if other != path]
    key = next((key for key in ends([path]) if not any(re.fullmatch(key, other) for other in others)), path)
    for place in sorted(range(len(shape)), key=lambda place: -(shape[place] or 0)):
        if axis and not (shape[place] or 1) % held.mesh.size(axis):
            yield Entry(key, tuple(axis if i == place else "" for i in range(len(shape))))
            return


def _tried(seen: Examined, held: Laid, finding: Finding, changes: list[Change], others: bool, texts: Texts | None) -> Fix | None:
    pairs = {old: new for _, old, new in changes}
    if not pairs:
        return None
    added = [new for old, new in pairs.items() if not old.key]
    after = dataclasses.replace(held, entries=(*(pairs.get(entry, entry) for entry in held.entries), *added))
    slots = [slot for slot in held.slots if not slot.own and without_end(after.axes(slot.path) or ()) == slot.beside]
    after = dataclasses.replace(after, slots=tuple(slot for slot in held.slots if slot not in slots))
    left = list(judged(dataclasses.replace(seen.evidence, facts={**seen.evidence.facts, "layout": after})))
    if any(one.rule == finding.rule and one.fact == finding.fact for one in left) or not _better(held, after):
        return None
    changed = [(path, shape, axes) for path, shape, _, _ in held.variables if (axes := after.axes(path)) and held.axes(path) != axes]
    changed += [(slot.path, slot.shape, slot.beside) for slot in slots]
    text = "; ".join(f"{path} {show_shape(shape)} → {show_shape(after.mesh.shard(shape, axes))} on each device" for path, shape, axes in changed[:3])
    change, written = _written(seen, pairs)
    whole = not others and not any(one.serious for one in left)
    edits = tuple(
        Edit("strategy", "layout", {"op": "layout", "key": old.key, "to": new.key, "axes": [axis or None for axis in new.axes]}) for old, new in pairs.items()
    )
    # The text is what a user gets: where the builder makes the map, it has run with this map.
    ran = bool(written) and _ran(seen, written, after)
    if not written and texts is not None and not added:
        key = tuple(pairs.items())
        if key not in texts:
            tried = ({name: text} for name in _files(seen) for text in composed(name, pairs))
            texts[key] = next((one for one in tried if (again := _again(seen, one)) is not None and _alike(again, after)), {})
        if texts[key]:
            (change,), ran = changes_of(texts[key]), True
    titles = [title if i == 0 else f"{title[:1].lower()}{title[1:]}" for i, (title, _, _) in enumerate(changes)]
    if len(titles) > 3:
        titles = [titles[0], f"change {len(titles) - 1} more keys in the same way"]
    return Fix(
        "; ".join(titles), edits, verified=whole, mends=True, effect=Effect(text=text), patch=change.patch, file=change.file, cell=change.cell, execution=change.execution,
        proof="source" if ran else "live", reason="Every variable was laid out again with this change.",
    )  # fmt: skip


def _alike(one: Laid, other: Laid) -> bool:
    paths = [path for path, _, _, _ in one.variables]
    used = all(any(entry in one.fits(path) for path in (*paths, *one.outputs, *one.left)) for entry in one.entries)
    return used and all(without_end(one.axes(path) or ()) == without_end(other.axes(path) or ()) for path in paths)


def _better(before: Laid, after: Laid) -> bool:
    for path, shape, _, _ in after.variables:
        axes = after.axes(path)
        if axes is None or len(axes) > len(shape) or after.mesh.undivided(shape, axes):
            was = before.axes(path)
            if was is not None and len(was) <= len(shape) and not before.mesh.undivided(shape, was):
                return False
    return True


def _batch_named(seen: Examined, fact: IdleAxis, others: bool) -> Fix | None:
    for file in _files(seen):
        try:
            source = Source.read(file)
            calls = [one for one in nodes(source.tree, ast.Call) if called(one) == "ModelParallel"]
            names = [argument(one, "batch_dim_name", ["layout_map", "batch_dim_name"]) for one in calls]
            # Where the program names another axis, that name is changed.
            named = [i for i, one in enumerate(names) if isinstance(one, ast.Constant) and one.value == fact.left]
            if fact.given and len(named) == 1:
                calls, names = [calls[named[0]]], [names[named[0]]]
            if len(calls) != 1 or ((given := names[0]) is not None and not isinstance(given, ast.Constant)):
                continue
            whole = f'batch_dim_name="{fact.axis}"'
            source.splice([appended(source, calls[0], whole) if given is None else source.change(given, f'"{fact.axis}"')])
        except NoPlace:
            continue
        held = _again(seen, {file: source.text})
        if held is None or held.mesh.batch != fact.axis or not held.sound:
            return None
        (change,) = changes_of({file: source.text})
        edit = Edit("strategy", "layout", {"op": "layout", "batch": fact.axis})
        return Fix(
            f"Pass batch_dim_name={fact.axis!r} at line {calls[0].lineno}", (edit,), verified=not others, mends=True,
            patch=change.patch, file=change.file, cell=change.cell, execution=change.execution,
            proof="source", effect=Effect(text=f"the batch is sharded over {fact.axis!r} in {held.mesh.size(fact.axis)} parts"),
            reason="Weights keep their axis, and no device repeats the work of another.",
        )  # fmt: skip
    return None


def _ran(seen: Examined, texts: dict[str, str], after: Laid) -> bool:
    """Whether the program as it is written then runs, and lays out its variables by the same map."""
    held = _again(seen, texts)
    return held is not None and held.entries == after.entries


def _again(seen: Examined, texts: dict[str, str]) -> Laid | None:
    rerun = None
    try:
        text = changed_text(seen, texts)
        with entries_kept(text), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rerun = Rerun(seen, text)
            again = on_own_mesh(examine(rerun.program()))
    except Exception:  # a text that cannot be run on its own says nothing
        return None
    finally:
        forget(list(rerun.aliases.values()) if rerun is not None else [])
    return again.evidence.facts.get("layout") if again.error is None else None


def _written(seen: Examined, pairs: dict[Entry, Entry]) -> tuple[Patch, dict[str, str]]:
    """The change with its text if the source of the map is known and unambiguous."""
    for file in _files(seen):
        try:
            source = Source.read(file)
            for old, new in pairs.items():
                _add(source, seen, new) if not old.key else _change(source, old, new)
            return changes_of({file: source.text})[0], {file: source.text}
        except NoPlace:
            continue
    lines = [
        ("" if not old.key else f"-layout_map[{old.key!r}] = {laid(old.axes)}\n") + f"+layout_map[{new.key!r}] = {laid(new.axes)}" for old, new in pairs.items()
    ]
    return Patch("\n".join(lines)), {}


def _files(seen: Examined) -> Iterator[str]:
    found = [getattr(getattr(one, "__code__", None), "co_filename", "") for one in (seen.program.model, seen.program.data)]
    found.append(seen.program.handed[0] if seen.program.handed is not None else "")
    yield from dict.fromkeys(file for file in found if file)


def _change(source: Source, old: Entry, new: Entry) -> None:
    places = [node for node in nodes(source.tree, ast.Constant) if node.value == old.key]
    if len(places) != 1:
        raise NoPlace
    changes = []
    if new.key != old.key:
        changes.append(source.change(places[0], f'"{new.key}"' if '"' not in new.key else repr(new.key)))
    if new.axes != old.axes:
        changes.append(source.change(_value(source, places[0]), laid(new.axes).replace("'", '"')))
    source.splice(changes)


def _add(source: Source, seen: Examined, new: Entry) -> None:
    last = seen.evidence.facts["layout"].entries[-1]
    places = [node for node in nodes(source.tree, ast.Constant) if node.value == last.key]
    if len(places) != 1:
        raise NoPlace
    value, key, axes = _value(source, places[0]), f'"{new.key}"', laid(new.axes).replace("'", '"')
    at, line = source.end(value), source.text.rfind("\n", 0, source.start(places[0])) + 1
    above = source.text[line : source.start(places[0])]
    written = f", {key}: {axes}"
    if above.endswith("["):
        written = f"\n{above}{key}] = {axes}"
    elif not above.strip():
        written = f",\n{above}{key}: {axes}"
    source.splice([(at, at, written)])


def _value(source: Source, key: ast.Constant) -> ast.AST:
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
