"""A fix as text: a unified diff of the user's source where it is known, a snippet elsewhere."""

from __future__ import annotations

import difflib
import inspect
import linecache
import re
import sys
from pathlib import Path
from typing import Any

from ..flow import Edit, KeyPath, Spec
from ..flow.paths import get
from ..trace.locations import MAGIC, is_user_file
from . import text
from .makers.edits import where
from .snippets import snippet
from .text.handed import Form

_DATA = ("data-transform", "label-transform", "batching")
_FIRST_HUNK = re.compile(r"@@ -1,(\d+) \+1,(\d+) @@")


class StaleSource(Exception):
    """The source has changed since the fix was made: the patch no longer fits it."""


def patch_of(seen: Any, edits: tuple[Edit, ...]) -> tuple[str, str, str]:
    """``(patch, file, cell)``: a diff of one file or cell, or a snippet with no place."""
    try:
        made = _diff(seen, edits)
    except Exception:
        # NoPlace, or a source written in a way that was not thought of: the fix holds all the same, and is shown without a place.
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
    # Transforms of the data go around each other in the order in which they are made.
    for _, edit in sorted(enumerate(edits), key=lambda pair: (*places.order(pair[1]), pair[0] if pair[1].kind in _DATA else -pair[0])):
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
    cell = where is not None and not where.file
    for name, module in (("np", "numpy"), ("tf", "tensorflow")):
        if name not in places.names(filename):
            after = text.with_import(after, name, module, before)
    label = where.file.rsplit("/", 1)[-1] if where is not None and where.file else f"In[{where.execution}]" if where is not None else ""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), label, label, lineterm="", n=2))
    if not lines:
        raise text.NoPlace
    lines = _without_magic(lines) if cell else lines
    return "\n".join(lines), where.file if where is not None else "", where.cell if where is not None else ""


def _without_magic(lines: list[str]) -> list[str]:
    """A diff of a cell without the line of its cell magic, which stands there under another text than the user's."""
    hunk = _FIRST_HUNK.match(lines[2]) if len(lines) > 3 else None
    if hunk is None or lines[3].strip() != MAGIC:
        return lines
    start, old, new = 2, int(hunk[1]) - 1, int(hunk[2]) - 1
    return [*lines[:2], f"@@ -{start},{old} +{start},{new} @@", *lines[4:]]


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

        for obj in [*recorder.alive, *(call.obj for call in recorder.calls), *_layers(seen.model)]:
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

    @property
    def form(self) -> Form:
        """What the data is, and whether a call hands it over."""
        sample, evidence, program = self.seen.sample, self.seen.evidence, self.seen.program
        roles = {"x": evidence.x, "y": evidence.y, "weight": evidence.weight}
        specs = {role: {_key(path): _widest(sample, role, path, spec) for path, spec in found} for role, found in roles.items()}
        return Form(
            getattr(sample, "kind", "") == "dataset", getattr(sample, "x", None), getattr(sample, "y", None), getattr(sample, "weight", None),
            specs, getattr(program.data, "__code__", None) is None, getattr(program.data, "__name__", ""),
        )  # fmt: skip

    @staticmethod
    def names(filename: str) -> frozenset[str]:
        """What is bound where a cell runs; of a file its own text tells."""
        from ..trace.locations import location

        where = location((filename, 1), text=False)
        if where is None or where.file:
            return frozenset()
        shell = sys.modules["IPython"].get_ipython()
        return frozenset(shell.user_ns) if shell is not None else frozenset()

    def name(self, edit: Edit) -> str:
        """The layer that an edit is about; inputs are known by their place."""
        if edit.kind == "input-shape":
            index = int(edit.detail.get("index", 0))
            if index >= len(self.inputs):
                raise text.NoPlace
            return self.inputs[index]
        return edit.target

    def order(self, edit: Edit) -> tuple[int, int]:
        """Later lines and later calls of a line first; the data last, since a layer that moves there shifts lines."""
        if edit.kind in _DATA:
            return 1, 0
        line = self.lines.get(edit.target, ("", 0))[1]
        return -line, -self.ordinals.get(edit.target, (0, 0))[0]

    def changed(self, edit: Edit) -> None:
        """A layer of another class is not counted among its old neighbours any more."""
        if edit.kind != "replace-layer" or edit.detail.get("exchange"):
            return
        group = (self.lines[edit.target], self.classes[edit.target])
        for name, (index, count) in list(self.ordinals.items()):
            if (self.lines[name], self.classes[name]) == group:
                self.ordinals[name] = (index, count - 1)

    def of(self, edit: Edit) -> tuple[str, int]:
        """``(file, line)`` of what an edit changes; line 0: anywhere in that file."""
        if edit.kind in ("insert-layer", "layer-config", "replace-layer", "input-shape"):
            name = self.name(edit)
            if name in self.lines:
                return self.lines[name]
            raise text.NoPlace
        if edit.kind in ("loss", "strategy"):
            return self._file_of_model(), 0
        if edit.kind == "replace-op":
            return self._code_of(edit.target)
        return self._data()

    def nth_call(self, edit: Edit) -> int:
        """The line of the call that an edit is about, where a layer is called more than once; 0 where that is not known."""
        calls = [call for call in self.seen.recorder.calls if getattr(call.obj, "name", None) == edit.target and call.kind == "layer"]
        nth = int(edit.detail.get("nth") or 0)
        called = calls[nth - 1].called if 0 < nth <= len(calls) else None
        return called[1] if called is not None and called[0] == self.lines.get(edit.target, ("", 0))[0] else 0

    def _code_of(self, name: str) -> tuple[str, int]:
        """Where the code stands that a layer runs: its class' ``call``, or a Lambda's function."""
        recorder = self.seen.recorder
        objects = [*recorder.alive, *(call.obj for call in recorder.calls)]
        if not name:
            objects = [self.seen.model]
        layer = next((obj for obj in objects if name in ("", getattr(obj, "name", None)) and hasattr(obj, "get_config")), None)
        if layer is None:
            raise text.NoPlace
        function = inspect.unwrap(getattr(layer, "function", None) or type(layer).call)
        code = getattr(function, "__code__", None)
        if code is None or not is_user_file(code.co_filename):
            raise text.NoPlace
        return code.co_filename, code.co_firstlineno

    def made(self, which: str | int) -> tuple[int, str, tuple[int, int]]:
        """The line where a layer, or the input of a number, is made, its class, and which of how many of that class there."""
        name = which if isinstance(which, str) else self.name(Edit("input-shape", "", {"index": which}))
        if name not in self.lines or self.lines[name][0] != self._data()[0]:
            raise text.NoPlace
        return self.lines[name][1], self.classes[name], self.ordinals[name]

    def beside(self, name: str, other: str) -> tuple[int, str, tuple[int, int]]:
        """Where a layer is made, in the file where another one is."""
        if name not in self.lines or self.lines[name][0] != self.lines[other][0]:
            raise text.NoPlace
        return self.lines[name][1], self.classes[name], self.ordinals[name]

    def gives(self, name: str) -> Spec:
        """What a layer gives."""
        flow = self.seen.evidence.flow
        node = next((node for node in flow.nodes if node.name == name), None)
        edge = next(iter(flow.out_of(node.id)), None) if node is not None else None
        if edge is None or edge.spec.shape is None or None in edge.spec.shape[1:]:
            raise text.NoPlace
        return Spec(edge.spec.shape, edge.spec.dtype)

    def lines_in_file(self) -> frozenset[int]:
        """The lines of the model's file that make layers."""
        filename = self._file_of_model()
        return frozenset(line for name, line in self.lines.values() if name == filename)

    def _file_of_model(self) -> str:
        for filename, _ in self.lines.values():
            return filename
        raise text.NoPlace

    def _data(self) -> tuple[str, int]:
        from ..examine import is_builder

        code = getattr(self.seen.program.data, "__code__", None)
        if code is None and self.seen.program.handed is not None and not is_builder(self.seen.program.data):
            filename, line = self.seen.program.handed
            return str(filename), int(line)
        if code is None or code.co_name == "<lambda>":
            raise text.NoPlace
        return code.co_filename, code.co_firstlineno


def _layers(model: Any) -> list[Any]:
    """The layers of a model that was there already, its inputs included."""
    found: list[Any] = []
    for layer in getattr(model, "_layers", None) or getattr(model, "layers", None) or ():
        found += [layer, *_layers(layer)]
    return found


def _key(path: KeyPath) -> Any:
    """What tells a leaf from the others of its part, in a form that can be looked up."""
    key = where(path).get("key")
    return tuple(key) if isinstance(key, list) else key


def _widest(sample: Any, role: str, path: KeyPath, spec: Spec) -> Spec:
    """A leaf's spec with the axes open that differ from batch to batch."""
    try:
        shape = getattr(get(getattr(sample, role, None), path[1:]), "shape", None)
    except LookupError:
        shape = None
    return Spec(tuple(shape), spec.dtype, spec.kind) if isinstance(shape, tuple) else spec
