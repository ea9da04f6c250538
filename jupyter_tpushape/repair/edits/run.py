"""Edits at work while a program is built again: the recorder's hooks ask, and each edit answers for itself.

The same builder with the same name counters gives the same layer names, so a layer is known by its name.
In a functional model an edited call becomes part of the graph; in a Sequential the list itself is changed; in a
subclassed model the attribute is exchanged after construction.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from ...flow import Spec
from ...sources.kinds import is_dataset
from ...trace.assemble import door_names
from .base import Edit, NotThere

_DECLARING = ("shape", "batch_shape", "input_shape", "batch_input_shape", "input_dim")


class Run:
    """A set of edits during one run of the program."""

    def __init__(self, edits: tuple[Edit, ...]) -> None:
        self.edits = edits
        self.applied: set[int] = set()
        self.new: set[int] = set()
        self.hosted: dict[str, Any] = {}
        self.times: dict[str, int] = {}
        self.adapter: Any = None
        self.recorder: Any = None
        self._made: dict[Any, Any] = {}
        self._listed: set[int] = set()
        self._inputs = 0
        self._swapped: dict[int, Any] = {}
        self._read: dict[int, Any] = {}

    # -- for the edits -----------------------------------------------------------------------------

    @property
    def package(self) -> Any:
        return sys.modules[self.adapter.package]

    def done(self, edit: Edit) -> None:
        self.applied.add(id(edit))

    def once(self, key: Any, make: Any) -> Any:
        """What ``make`` gives, made the first time only and seen by no hook."""
        if key not in self._made:
            with self._muted():
                self._made[key] = make()
            self.new.add(id(self._made[key]))
        return self._made[key]

    def _muted(self) -> Any:
        return self.recorder.unrecorded() if self.recorder is not None else contextlib.nullcontext()

    def _seen(self, adapter: Any, recorder: Any) -> None:
        self.adapter, self.recorder = adapter, recorder

    # -- constructions -----------------------------------------------------------------------------

    def construct(self, adapter: Any, recorder: Any, layer: Any, args: Any, kwargs: Any) -> Any:
        """An ``input_shape`` argument of a layer gets the edited shape."""
        self._seen(adapter, recorder)
        if isinstance(layer, adapter.InputLayer) or not any(key in kwargs for key in ("input_shape", "batch_input_shape", "input_dim")):
            return args, kwargs
        return self.declare(args, kwargs)

    def declare(self, args: Any, kwargs: Any) -> Any:
        """A declared input, known by its place among the declared inputs."""
        index, self._inputs = self._inputs, self._inputs + 1
        for edit in self.edits:
            args, kwargs = edit.declare(self, index, args, kwargs)
        return args, kwargs

    # -- layers ------------------------------------------------------------------------------------

    def replaced(self, adapter: Any, recorder: Any, layer: Any) -> Any:
        """The layer that takes this one's place."""
        self._seen(adapter, recorder)
        for edit in self.edits:
            if id(layer) not in self.new:
                layer = edit.layer(self, layer)
        return layer

    def _beside(self, name: str | None, position: str, index: int | None = None) -> list[Any]:
        return [new for edit in self.edits for new in edit.beside(self, str(name), position, index)]

    def before_add(self, adapter: Any, recorder: Any, layer: Any) -> list[Any]:
        """Layers to put into a Sequential in front of this one."""
        self._seen(adapter, recorder)
        self._calling(layer)
        self._listed.add(id(layer))
        return self._beside(getattr(layer, "name", None), "before")

    def after_add(self, adapter: Any, recorder: Any, layer: Any) -> list[Any]:
        """Layers to put into a Sequential behind this one."""
        self._seen(adapter, recorder)
        self._listed.add(id(layer))
        return self._beside(getattr(layer, "name", None), "after")

    def after_call(self, recorder: Any, layer: Any, outputs: Any) -> Any:
        """Layers behind a call of a functional model."""
        if id(layer) in self._listed or id(layer) in self.new or recorder.graph is not None:
            return outputs
        for new in self._beside(getattr(layer, "name", None), "after"):
            outputs = new(outputs)
        return outputs

    def _calling(self, layer: Any) -> None:
        if id(layer) in self.recorder.made:
            for edit in self.edits:
                edit.calling(self, layer)

    def call(self, adapter: Any, recorder: Any, layer: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        """A call of a functional model: exchanges the layer, puts layers in front of its inputs."""
        self._seen(adapter, recorder)
        if id(layer) in self._listed or id(layer) in self.new or recorder.graph is not None:
            return layer, args, kwargs
        self._calling(layer)
        name = str(getattr(layer, "name", None))
        self.times[name] = self.times.get(name, 0) + 1
        args, kwargs = self._behind_inputs(args), self._behind_inputs(kwargs)
        for new in self._beside(name, "before"):
            args = (_apply(new, args[0]), *args[1:])
        if args and isinstance(args[0], (list, tuple)):
            items = list(args[0])
            for index in range(len(items)):
                for new in self._beside(name, "before", index):
                    items[index] = new(items[index])
            args = (type(args[0])(items), *args[1:])
        return self.replaced(adapter, recorder, layer), args, kwargs

    def _behind_inputs(self, value: Any) -> Any:
        if not any(getattr(edit, "readers", "") for edit in self.edits):
            return value
        if isinstance(value, dict):
            return {key: self._behind_inputs(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._behind_inputs(item) for item in value)
        origin = self.adapter.origin(value) if self.adapter.is_symbolic(value) else None
        name = door_names([str(getattr(origin[0], "name", ""))])[0] if origin is not None else None
        if not any(getattr(edit, "readers", "") and edit.target == name for edit in self.edits):
            return value
        if id(value) not in self._read:
            tensor = value
            for new in self._beside(name, "after"):
                tensor = new(tensor)
            self._read[id(value)] = tensor
            self.recorder.alive.append(value)
        return self._read[id(value)]

    # -- layers that run on the host ---------------------------------------------------------------

    def hosts(self, layer: Any) -> bool:
        """Whether an edit takes this layer out of the model."""
        return any(edit.hosts(self, layer) for edit in self.edits)

    def host(self, adapter: Any, recorder: Any, tensor: Any, output: Any) -> Any:
        """The new input that stands where a hosted layer gave its output."""
        self._seen(adapter, recorder)
        spec, origin = adapter.spec(output), adapter.origin(tensor)
        with self._muted():
            new = adapter.new_input(Spec((None, *(spec.shape or ())[1:]), spec.dtype), str(origin[0].name) + "_prepared" if origin else "prepared")
        self._swapped[id(tensor)] = new
        recorder.alive.append(tensor)
        return new

    def inputs(self, structure: Any) -> Any:
        """A functional model's inputs, hosted ones exchanged."""
        if not self._swapped:
            return structure
        if isinstance(structure, dict):
            return {key: self.inputs(value) for key, value in structure.items()}
        if isinstance(structure, (list, tuple)):
            return [self.inputs(value) for value in structure]
        return self._swapped.get(id(structure), structure)

    # -- the model and the data --------------------------------------------------------------------

    def compile(self, adapter: Any, recorder: Any, model: Any, args: Any, kwargs: Any) -> Any:
        self._seen(adapter, recorder)
        for edit in self.edits:
            args, kwargs = edit.compile(self, args, kwargs)
        return args, kwargs

    def scoped(self, build: Any, strategy: Any) -> Any:
        for edit in self.edits:
            build = edit.builder(self, build, strategy)
        return build

    def finish(self, adapter: Any, recorder: Any, model: Any) -> Any:
        """What no hook could do: attributes of subclassed models, code inside a layer's ``call``."""
        self._seen(adapter, None)
        if model is None:
            return model
        for edit in self.edits:
            if id(edit) not in self.applied and edit.finish(self, model):
                self.done(edit)
        missing = [edit for edit in self.edits if id(edit) not in self.applied and not edit.data_only and edit.kind != "loss"]
        if missing:
            raise NotThere(f"tpushape found no place in the program to edit {missing[0].target}: change the source by hand.")
        return model

    def exchange(self, model: Any, name: str, change: Any) -> bool:
        """Puts ``change(layer)`` where the model's objects hold the layer."""
        for owner, attribute, index, layer in holders(self.adapter, model, name):
            new = change(layer)
            if index is not None:
                held = list(getattr(owner, attribute))
                held[index] = new
                new = held
            setattr(owner, attribute, new)
            return True
        return False

    def data(self, data: Any) -> Any:
        """The data with every transform applied."""
        if isinstance(data, tuple) and len(data) == 1 and is_dataset(data[0]):
            return (self.data(data[0]),)
        for edit in self.edits:
            data = edit.data(self, data)
        return data


def _apply(layer: Any, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(layer(item) for item in value)
    return layer(value)


def holders(adapter: Any, model: Any, name: str) -> Iterator[tuple[Any, str, int | None, Any]]:
    """Where a model's objects hold the layer of a name: ``(owner, attribute, index in a list, layer)``."""
    pending, seen = [model], set()
    while pending:
        owner = pending.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        for attribute, value in list(vars(owner).items()):
            if attribute.startswith("_"):
                continue
            for index, item in enumerate(value) if isinstance(value, (list, tuple)) else ((None, value),):
                if not adapter.is_layer(item):
                    continue
                if item.name == name and (index is None or isinstance(value, list)):
                    yield owner, attribute, index, item
                pending.append(item)
