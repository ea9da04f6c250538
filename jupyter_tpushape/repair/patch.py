"""A fix as text: a unified diff of the user's source where it is known, a snippet elsewhere."""

from __future__ import annotations

import difflib
import inspect
import linecache
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst

from ..flow import Edit
from . import text, transforms


class StaleSource(Exception):
    """The source has changed since the fix was made: the patch no longer fits it."""


def patch_of(seen: Any, edits: tuple[Edit, ...]) -> tuple[str, str, str]:
    """``(patch, file, cell)``: a diff of one file or cell, or a snippet with no place."""
    try:
        made = _diff(seen, edits)
    except (text.NoPlace, OSError, TypeError, cst.ParserSyntaxError, ValueError):
        made = None
    if made is not None:
        return made
    dataset = getattr(seen.sample, "kind", "") == "dataset"
    return "\n".join(line for edit in edits for line in snippet(edit, dataset=dataset)), "", ""


def apply(fix: Any, path: str | Path) -> Path:
    """Writes a fix's patch to the file that it is a diff of.

    Raises:
        StaleSource: where the file is not what it was when the fix was made.
        ValueError: where the fix has no diff, only a snippet.
    """
    target = Path(path)
    if not fix.patch.startswith("--- "):
        raise ValueError("This fix knows no source to change, only what to write: put its lines in by hand.")
    target.write_text(patched(target.read_text(encoding="utf-8"), fix.patch), encoding="utf-8")
    return target


def patched(source: str, patch: str) -> str:
    """The source with a unified diff applied.

    Raises:
        StaleSource: where a line that the diff expects is not there.
    """
    lines = source.splitlines(keepends=True)
    out: list[str] = []
    at = 0
    for line in patch.splitlines(keepends=True)[2:]:
        if line.startswith("@@"):
            start = int(line.split("-")[1].split(",")[0].split(" ")[0]) - 1
            out += lines[at : max(at, start)]
            at = max(at, start)
            continue
        kind, text = line[:1], line[1:]
        if kind in (" ", "-"):
            if at >= len(lines) or lines[at].rstrip("\n") != text.rstrip("\n"):
                raise StaleSource(f"Line {at + 1} is not what it was when the fix was made: trace again for a fresh fix.")
            if kind == " ":
                out.append(lines[at])
            at += 1
        elif kind == "+":
            out.append(text if text.endswith("\n") else text + "\n")
    return "".join(out + lines[at:])


def _diff(seen: Any, edits: tuple[Edit, ...]) -> tuple[str, str, str] | None:
    places = Places(seen)
    changed: dict[str, str] = {}
    # From the right to the left, so that what is changed does not move what is still to be found.
    # Of several edits at one place the last goes first.
    for _, edit in sorted(enumerate(edits), key=lambda pair: (*places.order(pair[1]), -pair[0])):
        filename, line = places.of(edit)
        before = changed.get(filename) or "".join(linecache.getlines(filename))
        if not before.strip():
            raise text.NoPlace
        changed[filename] = text.change(before, edit, line, places)
        places.changed(edit)
    if len(changed) != 1:
        return None
    filename, after = changed.popitem()
    before = "".join(linecache.getlines(filename))
    from ..trace.locations import location

    where = location((filename, 1))
    label = where.file.rsplit("/", 1)[-1] if where is not None and where.file else f"In[{where.execution}]" if where is not None else ""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), label, label, lineterm="", n=2))
    if not lines:
        raise text.NoPlace
    return "\n".join(lines), where.file if where is not None else "", where.cell if where is not None else ""


class Places:
    """Where in the user's source the things stand that edits name."""

    def __init__(self, seen: Any) -> None:
        self.seen = seen
        self.lines: dict[str, tuple[str, int]] = {}
        self.classes: dict[str, str] = {}
        self.ordinals: dict[str, tuple[int, int]] = {}
        self.inputs: list[str] = []
        recorder = seen.recorder
        from ..trace.recorder import line_of

        for obj in [*recorder.alive, *(call.obj for call in recorder.calls)]:
            name = getattr(obj, "name", None)
            if not isinstance(name, str) or not hasattr(obj, "get_config"):
                continue
            made = recorder.made.get(id(obj))
            where = made.where if made is not None else line_of(obj)
            if where is not None and name not in self.lines:
                self.lines[name] = where
                self.classes[name] = type(obj).__name__
                if type(obj).__name__ == "InputLayer" or getattr(obj, "_input_shape_arg", None) or getattr(obj, "_batch_input_shape", None):
                    self.inputs.append(name)
        groups: dict[tuple[tuple[str, int], str], list[str]] = {}
        for name, where in self.lines.items():
            groups.setdefault((where, self.classes[name]), []).append(name)
        for names in groups.values():
            for i, name in enumerate(names):
                self.ordinals[name] = (i, len(names))

    def name(self, edit: Edit) -> str:
        """The layer that an edit is about; inputs are known by their place."""
        if edit.kind == "input-shape":
            index = int(edit.detail.get("index", 0))
            if index >= len(self.inputs):
                raise text.NoPlace
            return self.inputs[index]
        return edit.target

    def order(self, edit: Edit) -> tuple[int, int]:
        """Later lines and later calls of a line first."""
        line = self.lines.get(edit.target, ("", 0))[1]
        return -line, -self.ordinals.get(edit.target, (0, 0))[0]

    def changed(self, edit: Edit) -> None:
        """A layer of another class is not counted among its old neighbours any more."""
        if edit.kind != "replace-layer":
            return
        group = (self.lines[edit.target], self.classes[edit.target])
        for name, (index, count) in list(self.ordinals.items()):
            if (self.lines[name], self.classes[name]) == group:
                self.ordinals[name] = (index, count - 1)

    def of(self, edit: Edit) -> tuple[str, int]:
        """``(file, line)`` of what an edit changes; line 0: anywhere in that file."""
        if edit.kind in ("insert-layer", "layer-config", "replace-layer", "input-shape"):
            name = self.name(edit)
            if name in self.lines and not edit.detail.get("nth"):
                return self.lines[name]
            raise text.NoPlace
        if edit.kind == "loss":
            return self._file_of_model(), 0
        if edit.kind == "replace-op":
            layer = next((obj for obj in self.seen.recorder.alive if getattr(obj, "name", None) == edit.target), None)
            layer = layer or next((call.obj for call in self.seen.recorder.calls if getattr(call.obj, "name", None) == edit.target), None)
            if layer is None:
                raise text.NoPlace
            function = inspect.unwrap(type(layer).call)
            return function.__code__.co_filename, function.__code__.co_firstlineno
        return self._data()

    def _file_of_model(self) -> str:
        for filename, _ in self.lines.values():
            return filename
        raise text.NoPlace

    def _data(self) -> tuple[str, int]:
        code = getattr(self.seen.program.data, "__code__", None)
        if code is None or code.co_name == "<lambda>":
            raise text.NoPlace
        return code.co_filename, code.co_firstlineno


def snippet(edit: Edit, *, dataset: bool = False) -> list[str]:
    """Lines that say what to write, and where it goes: into a pipeline, or into arrays before ``fit``."""
    return list(_snippet(edit, dataset))


def _snippet(edit: Edit, dataset: bool) -> Iterator[str]:
    detail = edit.detail
    if edit.kind == "insert-layer":
        where = f"input {detail['input'] + 1} of {edit.target}" if detail.get("input") is not None else edit.target
        yield f"# {'behind' if detail.get('position') == 'after' else 'in front of'} {where}:"
        yield f"+{text.constructor('layers.', detail['layer'], detail.get('config', {}))},"
    elif edit.kind == "layer-config":
        yield f"# in {edit.target}:"
        yield from (f"+{key}={text.literal(value)}," for key, value in detail["config"].items())
    elif edit.kind == "replace-layer":
        yield f"# in place of {edit.target}:"
        yield f"+{text.constructor('layers.', detail['layer'], detail.get('config', {}))},"
    elif edit.kind == "input-shape":
        yield f"# the declared shape of {edit.target}:"
        yield f"+{text.literal(detail['shape'])}"
    elif edit.kind == "loss":
        yield "# in compile():"
        yield f"+loss={text.loss_code('keras.', detail)},"
    elif edit.kind in ("data-transform", "label-transform"):
        yield from _data_snippet(edit, dataset)
    elif edit.kind == "batching":
        yield "# at the end of the pipeline:"
        yield f"+ds = ds.unbatch().batch({detail['batch']}, drop_remainder={detail.get('drop_remainder', True)})"
    else:
        yield f"# in {edit.target}:"
        yield f"-{detail.get('find')}"
        yield f"+{detail.get('replace')}"


def _data_snippet(edit: Edit, dataset: bool) -> Iterator[str]:
    detail = edit.detail
    if detail["op"] == "host-layer":
        yield "# in the pipeline, in place of the layer in the model:"
        yield f"+ds = ds.map(lambda x, y: ({edit.target}(x), y), num_parallel_calls=tf.data.AUTOTUNE)"
    elif detail["op"] == "source":
        shape = ", ".join(map(str, detail["shape"][1:]))
        yield "# in the data code:"
        yield f"-.reshape({detail['shape'][0]}, {shape})"
        yield f"+.reshape(-1, {shape})"
    elif dataset and transforms.map_code(edit):
        yield "# at the end of the pipeline:"
        yield f"+ds = ds{transforms.map_code(edit)}"
    else:
        name = detail.get("role", "y" if edit.kind == "label-transform" else "x")
        target = f"{name}[{detail['key']!r}]" if "key" in detail else name
        yield "# before fit():"
        yield f"+{target} = {transforms.code(edit, target)}"
