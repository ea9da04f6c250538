"""Edits applied while a program runs: the builder is called again, and the hooks change what it makes.

The same builder with the same name counters gives the same layer names, so a layer is known by its
name. In a functional model an edited call becomes part of the graph; in a Sequential the list itself is
changed; in a subclassed model the attribute is exchanged after construction.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ..flow import CannotRebuild, Edit, Spec
from ..trace.assemble import door_names
from . import transforms


class NotThere(CannotRebuild):
    """An edit was made for something that the program does not have: nothing that could be done by hand."""


class Edits:
    """A set of edits, as the recorder's hooks see it. Good for one run of the program."""

    def __init__(self, edits: tuple[Edit, ...]) -> None:
        self.edits = edits
        self.applied: set[int] = set()
        self._made: dict[tuple[int, str], Any] = {}
        self._listed: set[int] = set()
        self._inputs = 0
        self._calls: dict[str, int] = {}
        self.hosted: dict[str, Any] = {}
        self._swapped: dict[int, Any] = {}
        self._read: dict[int, Any] = {}
        self._new: set[int] = set()

    def _of(self, *kinds: str) -> list[tuple[int, Edit]]:
        return [(i, edit) for i, edit in enumerate(self.edits) if edit.kind in kinds]

    # -- constructions -----------------------------------------------------------------------------

    def construct(self, adapter: Any, recorder: Any, layer: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """An ``input_shape`` argument of a layer gets the edited shape."""
        if isinstance(layer, adapter.InputLayer) or not any(key in kwargs for key in ("input_shape", "batch_input_shape", "input_dim")):
            return args, kwargs
        return self.declare(args, kwargs)

    def declare(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """A declared input gets the edited shape, by its place among the declared inputs."""
        declares = [key for key in ("shape", "batch_shape", "input_shape", "batch_input_shape", "input_dim") if kwargs.get(key) is not None]
        index, self._inputs = self._inputs, self._inputs + 1
        for i, edit in self._of("input-shape"):
            if edit.detail.get("index", 0) != index:
                continue
            self.applied.add(i)
            shape = tuple(edit.detail["shape"])
            kwargs = dict(kwargs)
            for key in declares:
                if key.startswith("batch_"):
                    before = kwargs[key]
                    kwargs[key] = ((before[0] if before else None), *shape)
                elif key == "input_dim":
                    kwargs.pop(key)
                    kwargs["input_shape"] = shape
                else:
                    kwargs[key] = shape
            if edit.detail.get("dtype"):
                kwargs["dtype"] = edit.detail["dtype"]
            if not declares and args:
                args = (shape, *args[1:])
        return args, kwargs

    # -- layers ------------------------------------------------------------------------------------

    def replaced(self, adapter: Any, recorder: Any, layer: Any) -> Any:
        """The layer that takes this one's place."""
        name = getattr(layer, "name", None)
        for i, edit in self._of("layer-config", "replace-layer"):
            if edit.detail.get("exchange") and id(layer) not in self._new and name in (edit.target, edit.detail["exchange"]):
                layer = self._other(recorder, i, edit, layer)
                continue
            if edit.target != name or id(layer) in self._new:
                continue
            self.applied.add(i)
            key = (i, str(name))
            if key not in self._made:
                with _muted(recorder):
                    self._made[key] = changed_layer(adapter, layer, edit)
                self._new.add(id(self._made[key]))
                if id(layer) in recorder.made:
                    recorder.made[id(self._made[key])] = recorder.made[id(layer)]
            layer = self._made[key]
        return layer

    def _other(self, recorder: Any, i: int, edit: Edit, layer: Any) -> Any:
        """Of two layers that change places the other one, made again."""
        pair = (edit.target, edit.detail["exchange"])
        other = pair[1 - pair.index(layer.name)]
        source = next((obj for obj in recorder.alive if getattr(obj, "name", None) == other and hasattr(obj, "get_config")), None)
        if source is None:
            raise NotThere(f"{other} is not made yet where {layer.name} is called.")
        key = (i, layer.name)
        if key not in self._made:
            with _muted(recorder):
                self._made[key] = type(source).from_config({**source.get_config(), "name": other})
            self._new.add(id(self._made[key]))
            if id(source) in recorder.made:
                recorder.made[id(self._made[key])] = recorder.made[id(source)]
        self.applied.add(i)
        return self._made[key]

    def _rewrite(self, recorder: Any, layer: Any) -> None:
        """Changes the code of a layer that was made in this run, before it is called."""
        for i, edit in self._of("replace-op"):
            if i not in self.applied and edit.target == getattr(layer, "name", None) and id(layer) in recorder.made:
                from .source import change_call

                if change_call(layer, edit):
                    self.applied.add(i)

    def _inserted(self, adapter: Any, recorder: Any, name: str | None, position: str, index: int | None = None) -> list[Any]:
        found = []
        for i, edit in self._of("insert-layer"):
            if edit.target != name or edit.detail.get("position", "before") != position or edit.detail.get("input") != index:
                continue
            if edit.detail.get("nth") not in (None, self._calls.get(str(name), 0)):
                continue
            self.applied.add(i)
            key = (i, f"{name}/{index}")
            if key not in self._made:
                with _muted(recorder):
                    self._made[key] = make_layer(adapter, edit.detail["layer"], edit.detail.get("config", {}))
                self._new.add(id(self._made[key]))
            found.append(self._made[key])
        return found

    def before_add(self, adapter: Any, recorder: Any, model: Any, layer: Any) -> list[Any]:
        """Layers to put into a Sequential in front of this one."""
        self._rewrite(recorder, layer)
        self._listed.add(id(layer))
        return self._inserted(adapter, recorder, getattr(layer, "name", None), "before")

    def after_add(self, adapter: Any, recorder: Any, model: Any, layer: Any) -> list[Any]:
        """Layers to put into a Sequential behind this one."""
        self._listed.add(id(layer))
        return self._inserted(adapter, recorder, getattr(layer, "name", None), "after")

    def after_call(self, adapter: Any, recorder: Any, layer: Any, outputs: Any) -> Any:
        """Layers behind a call of a functional model."""
        if id(layer) in self._listed or id(layer) in self._new or recorder.graph is not None:
            return outputs
        for new in self._inserted(adapter, recorder, getattr(layer, "name", None), "after"):
            outputs = new(outputs)
        return outputs

    def call(self, adapter: Any, recorder: Any, layer: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        """A call of a functional model: exchanges the layer, puts layers in front of its inputs."""
        if id(layer) in self._listed or id(layer) in self._new or recorder.graph is not None:
            return layer, args, kwargs
        self._rewrite(recorder, layer)
        name = getattr(layer, "name", None)
        self._calls[str(name)] = self._calls.get(str(name), 0) + 1
        args, kwargs = self._behind_inputs(adapter, recorder, args), self._behind_inputs(adapter, recorder, kwargs)
        for new in self._inserted(adapter, recorder, name, "before"):
            args = (_apply(new, args[0]), *args[1:])
        if args and isinstance(args[0], (list, tuple)):
            items = list(args[0])
            for index in range(len(items)):
                for new in self._inserted(adapter, recorder, name, "before", index):
                    items[index] = new(items[index])
            args = (type(args[0])(items), *args[1:])
        return self.replaced(adapter, recorder, layer), args, kwargs

    def _behind_inputs(self, adapter: Any, recorder: Any, value: Any) -> Any:
        """A call's arguments, with the layers applied that stand right behind an input: once, whoever reads it."""
        behind = [edit.target for _, edit in self._of("insert-layer") if edit.detail.get("readers")]
        if not behind:
            return value
        if isinstance(value, dict):
            return {key: self._behind_inputs(adapter, recorder, item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._behind_inputs(adapter, recorder, item) for item in value)
        made = adapter.origin(value) if adapter.is_symbolic(value) else None
        name = door_names([str(getattr(made[0], "name", ""))])[0] if made is not None else None
        if name not in behind:
            return value
        if id(value) not in self._read:
            tensor = value
            for new in self._inserted(adapter, recorder, name, "after"):
                tensor = new(tensor)
            self._read[id(value)] = tensor
            recorder.alive.append(value)
        return self._read[id(value)]

    def hosts(self, layer: Any) -> bool:
        """Whether an edit takes this layer out of the model, to run in the pipeline."""
        name = getattr(layer, "name", None)
        for i, edit in self._of("data-transform"):
            if edit.detail.get("op") == "host-layer" and edit.target == name:
                self.applied.add(i)
                self.hosted[str(name)] = layer
                return True
        return False

    def host(self, adapter: Any, recorder: Any, tensor: Any, output: Any) -> Any:
        """The new input that stands where a hosted layer gave its output."""
        spec = adapter.spec(output)
        origin = adapter.origin(tensor)
        with _muted(recorder):
            new = adapter.new_input(
                Spec((None, *(spec.shape or ())[1:]), spec.dtype), str(origin[0].name) + "_prepared" if origin else "prepared"
            )
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

    def compile(self, adapter: Any, recorder: Any, model: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """``compile`` gets the edited loss."""
        for i, edit in self._of("loss"):
            self.applied.add(i)
            before = args[1] if len(args) > 1 else kwargs.get("loss")
            loss = _one_of(before, edit.detail, make_loss(adapter, edit.detail))
            if len(args) > 1:
                args = (args[0], loss, *args[2:])
            else:
                kwargs = {**kwargs, "loss": loss}
            if "metrics" in edit.detail:
                kwargs = {**kwargs, "metrics": edit.detail["metrics"]}
        for i, edit in self._of("strategy"):
            if edit.detail["op"] == "argument":
                self.applied.add(i)
                kwargs = {**kwargs, edit.detail["argument"]: edit.detail["value"]}
            elif edit.detail["op"] == "fresh-optimizer":
                self.applied.add(i)
                old = args[0] if args else kwargs.get("optimizer")
                new = type(old).from_config(old.get_config()) if hasattr(old, "get_config") else old
                args, kwargs = ((new, *args[1:]), kwargs) if args else (args, {**kwargs, "optimizer": new})
        return args, kwargs

    def scoped(self, build: Any, strategy: Any) -> Any:
        """The builder run inside the strategy's scope, where an edit says so."""
        wanted = [i for i, edit in self._of("strategy") if edit.detail["op"] == "scope"]
        if not wanted or strategy is None:
            return build
        self.applied.update(wanted)

        def build_in_scope() -> Any:
            with strategy.scope():
                return build()

        return build_in_scope

    # -- a finished model --------------------------------------------------------------------------

    def finish(self, adapter: Any, recorder: Any, model: Any) -> Any:
        """What no hook could do: attributes of subclassed models, code inside a layer's ``call``."""
        if model is None:
            return model
        for i, edit in enumerate(self.edits):
            if i in self.applied:
                continue
            if edit.kind in ("insert-layer", "layer-config", "replace-layer"):
                if exchange(adapter, model, edit):
                    self.applied.add(i)
            elif edit.kind == "replace-op":
                from .source import replace_operation

                if replace_operation(adapter, model, edit):
                    self.applied.add(i)
        missing = [
            edit
            for i, edit in enumerate(self.edits)
            if i not in self.applied and edit.kind not in ("data-transform", "label-transform", "batching", "loss")
        ]
        if missing:
            raise NotThere(f"The edit of {missing[0].target} found no place in the program: apply it to the source by hand.")
        return model

    # -- data --------------------------------------------------------------------------------------

    def data(self, data: Any) -> Any:
        """The data with every transform applied."""
        for i, edit in self._of("data-transform", "label-transform", "batching"):
            if edit.detail.get("op") == "source":
                continue
            self.applied.add(i)
            if edit.detail.get("op") == "host-layer":
                if edit.target not in self.hosted:
                    raise CannotRebuild(f"{edit.target} was not met while the model was built.")
                data = transforms.hosted(data, self.hosted[edit.target], edit.detail.get("key"))
                continue
            data = transforms.apply(data, edit)
        return data


@contextlib.contextmanager
def _muted(recorder: Any) -> Any:
    recorder.muted += 1
    try:
        yield
    finally:
        recorder.muted -= 1


def _apply(layer: Any, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(layer(item) for item in value)
    return layer(value)


def make_layer(adapter: Any, name: str, config: dict[str, Any]) -> Any:
    """A layer of the model's own framework; ``TimeDistributed`` takes the inner layer by name."""
    layers = _layers(adapter)
    arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in config.items()}
    if name == "TimeDistributed":
        return layers.TimeDistributed(make_layer(adapter, str(arguments["layer"]), {}))
    return getattr(layers, name)(**arguments)


def changed_layer(adapter: Any, layer: Any, edit: Edit) -> Any:
    """The layer made again with another configuration, or one of another class in its place."""
    config = dict(layer.get_config())
    changes = {key: tuple(value) if isinstance(value, list) else value for key, value in edit.detail.get("config", {}).items()}
    if edit.kind == "replace-layer":
        new = getattr(_layers(adapter), edit.detail["layer"])
        keep = {key: value for key, value in config.items() if key in edit.detail.get("keep", ())}
        if edit.detail.get("rename", True):
            changes.setdefault("name", layer.name)
        return new(**{**keep, **changes})
    if type(layer).__name__ == "Bidirectional" and "return_sequences" in changes:
        inner = dict(config["layer"])
        inner["config"] = {**inner["config"], **changes}
        config["layer"] = inner
        if isinstance(config.get("backward_layer"), dict):
            backward = dict(config["backward_layer"])
            backward["config"] = {**backward["config"], **changes}
            config["backward_layer"] = backward
        return type(layer).from_config(config)
    if type(layer).__name__ == "TimeDistributed" and not set(changes) & set(config):
        return type(layer)(changed_layer(adapter, layer.layer, edit), name=layer.name)
    return type(layer).from_config({**config, **changes})


def _one_of(before: Any, detail: dict[str, Any], loss: Any) -> Any:
    """Several losses with the edited one in its place; a single loss is simply exchanged."""

    def named(value: Any) -> bool:
        said = value if isinstance(value, str) else getattr(value, "name", "") or getattr(value, "__name__", "")
        return bool(said) and said == detail.get("was")

    if isinstance(before, dict) and any(map(named, before.values())):
        return {key: loss if named(value) else value for key, value in before.items()}
    if isinstance(before, (list, tuple)) and any(map(named, before)):
        return [loss if named(value) else value for value in before]
    return loss


def make_loss(adapter: Any, detail: dict[str, Any]) -> Any:
    """A loss by name, with its options."""
    if not detail.get("options"):
        return detail["loss"]
    losses = __import__(adapter.package).losses
    cls = "".join(part.capitalize() for part in detail["loss"].split("_"))
    cls = {"Mse": "MeanSquaredError", "Mae": "MeanAbsoluteError"}.get(cls, cls)
    return getattr(losses, cls)(**detail["options"])


def _layers(adapter: Any) -> Any:
    return __import__(adapter.package).layers


def exchange(adapter: Any, model: Any, edit: Edit) -> bool:
    """Exchanges the attribute of a subclassed model that holds the layer named by the edit."""
    pending, seen = [model], set()
    while pending:
        owner = pending.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        for attribute, value in list(vars(owner).items()):
            if attribute.startswith("_"):
                continue
            if adapter.is_layer(value):
                if value.name == edit.target:
                    setattr(owner, attribute, _with_edit(adapter, value, edit))
                    return True
                pending.append(value)
            elif isinstance(value, (list, tuple)):
                for i, item in enumerate(value):
                    if adapter.is_layer(item):
                        if item.name == edit.target and isinstance(value, list):
                            changed = list(value)
                            changed[i] = _with_edit(adapter, item, edit)
                            setattr(owner, attribute, changed)
                            return True
                        pending.append(item)
    return False


def _with_edit(adapter: Any, layer: Any, edit: Edit) -> Any:
    if edit.kind != "insert-layer":
        return changed_layer(adapter, layer, edit)
    new = make_layer(adapter, edit.detail["layer"], edit.detail.get("config", {}))
    pair = [new, layer] if edit.detail.get("position", "before") == "before" else [layer, new]
    return adapter.Sequential(pair)
