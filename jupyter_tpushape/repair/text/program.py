"""The text of the program that was looked at: its files and cells, and where in them its objects were made and called."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ...flow.syntax import Function, called
from ...trace.locations import Place, is_user_file, shell, unwrapped
from ...trace.recorder import line_of
from .names import Names
from .source import NoPlace, Source, at_line, enclosing, nodes, parents

Where = tuple[str, int]


class Text:
    """The sources of one program, changed together; good for one set of edits."""

    def __init__(self, seen: Any, targets: Iterable[str] = ()) -> None:
        self.seen = seen
        # What the edits that are written together change.
        self.targets = frozenset(targets)
        self.sources: dict[str, Source] = {}
        # Said beside a fix: what its text changes besides what it is about.
        self.remarks: list[str] = []
        # What was put around a call that several layers share: once is enough.
        self.put: set[object] = set()
        # Whether it runs as in a process where no keras.distribution was set before.
        self.unset = False

    # -- files and names ---------------------------------------------------------------------------

    def source(self, file: str) -> Source:
        file = self.seen.program.aliases.get(file, file)
        if file not in self.sources:
            self.sources[file] = Source.read(file)
        return self.sources[file]

    def globals(self, file: str) -> dict[str, Any]:
        """The globals that the code of a file ran with."""
        program = self.seen.program
        for given in (program.model, program.data):
            function = unwrapped(getattr(given, "func", given)) if given is not None else None
            function = getattr(function, "stands_for", function)
            ran = getattr(getattr(function, "__code__", None), "co_filename", None)
            if ran is not None and file in (ran, self.seen.program.aliases.get(ran)):
                return function.__globals__  # type: ignore[no-any-return, union-attr]
        for place in self._places():
            if place[0] == file and isinstance(place, Place) and place.names is not None:
                return place.names
        return namespace_of(file)

    def names(self, file: str) -> Names:
        return Names(self.source(file), self.globals(file), self._closure(file))

    def _closure(self, file: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for given in (self.seen.program.data, self.seen.program.model):
            function = unwrapped(getattr(given, "func", given)) if callable(given) else None
            function = getattr(function, "stands_for", function)
            if inspect.isfunction(function) and self.seen.program.aliases.get(function.__code__.co_filename, file) == file:
                found.update(inspect.getclosurevars(function).nonlocals)
        return found

    def _places(self) -> Iterator[Where]:
        recorder, handed = self.seen.recorder, self.seen.program.handed
        if handed is not None:
            yield handed
        for made in recorder.made.values():
            if made.where is not None:
                yield made.where
                yield from getattr(made.where, "outer", ())
        yield from (place for place in recorder.compile_places.values() if place is not None)

    # -- objects -----------------------------------------------------------------------------------

    def objects(self) -> list[Any]:
        """Every layer and model that was seen: called ones, those made, those of the model."""
        recorder = self.seen.recorder
        found: dict[int, Any] = {}
        for obj in (*(call.obj for call in recorder.calls), *recorder.alive, *_layers(self.seen.model), self.seen.model):
            if hasattr(obj, "get_config") and isinstance(getattr(obj, "name", None), str):
                found.setdefault(id(obj), obj)
        return list(found.values())

    def object(self, name: str) -> Any:
        """The layer of a name.

        Raises:
            NoPlace: where there is none, or more than one with sources of their own.
        """
        called = {id(call.obj): call.obj for call in self.seen.recorder.calls if call.kind in ("layer", "op") and call.name == name}
        found = list(called.values()) or [obj for obj in self.objects() if obj.name == name]
        places = {self.where(obj) for obj in found}
        if not found or len(places - {None}) > 1:
            raise NoPlace
        return next((obj for obj in found if self.where(obj) is not None), found[0])

    def door(self, name: str, index: int | None = None) -> Any:
        """What declares an input: an ``Input``, or a layer that is given a shape; by its name, else by its place among them.

        Raises:
            NoPlace: where there is none.
        """
        declaring = [obj for obj in self.objects() if self._declares(obj) and self.where(obj) is not None]
        named = [obj for obj in declaring if obj.name == name]
        if len(named) == 1:
            return self._declared_by(named[0], declaring)
        # Another model of the builder has inputs too, and so has one that is a layer.
        own = set(map(id, _own_layers(self.seen.model)))
        declaring = [obj for obj in declaring if id(obj) in own] or declaring
        made = self.seen.recorder.made
        declaring.sort(key=lambda obj: made[id(obj)].ordinal if id(obj) in made else -1)
        shown = [node.name for node in self.seen.evidence.flow.nodes if node.kind == "input"]
        place = index if index is not None else shown.index(name) if name in shown else -1
        if not 0 <= place < len(declaring):
            raise NoPlace
        return self._declared_by(declaring[place], declaring)

    def _declared_by(self, door: Any, declaring: list[Any]) -> Any:
        if not isinstance(door, self.seen.adapter.InputLayer) or self._typed(door):
            return door
        own = [obj for obj in declaring if not isinstance(obj, self.seen.adapter.InputLayer) and (self.where(obj) or ())[:2] == (self.where(door) or ())[:2]]
        return own[0] if len(own) == 1 else door

    def _typed(self, door: Any) -> bool:
        try:
            return called(self.made(door)[2]) in ("Input", "InputLayer")
        except NoPlace:
            return False

    def _declares(self, obj: Any) -> bool:
        given = getattr(obj, "_input_shape_arg", None) or getattr(obj, "_batch_input_shape", None)
        if isinstance(obj, self.seen.adapter.InputLayer) or not given:
            return isinstance(obj, self.seen.adapter.InputLayer)
        try:
            words = {keyword.arg for keyword in self.made(obj)[2].keywords}
        except NoPlace:
            return True
        # tf_keras gives a shape of its own to some layers that were given none.
        return bool(words & {None, "input_shape", "batch_input_shape", "input_dim", "input_length"})

    def where(self, obj: Any) -> Where | None:
        """The user's line that made an object."""
        made = self.seen.recorder.made.get(id(obj))
        return made.where if made is not None else line_of(obj)

    def made(self, obj: Any) -> tuple[Source, Names, ast.Call]:
        """The call that made an object."""
        where = self.where(obj)
        if where is None:
            raise NoPlace
        return self.call_of(where, obj)

    def call_of(self, where: Where, obj: Any = None, called: str | None = None) -> tuple[Source, Names, ast.Call]:
        """The call that ran at a place.

        Where the interpreter tells the line alone: the one call there that can have made ``obj``, or calls the layer ``called``.
        """
        source = self.source(where[0])
        names = self.names(where[0])
        span = where.span if isinstance(where, Place) else None
        if span is not None:
            return source, names, source.call_at(span)
        if isinstance(where, Place) and where.direct and called is not None:
            return source, names, self._call_on_line(source, names, where[1], called)
        found = list(at_line(source.tree, ast.Call, where[1]))
        if obj is not None:
            found = [call for call in found if _makes(names, call, obj)]
            exact = [call for call in found if call.lineno == where[1]]
            found = exact or found
        if len(found) != 1:
            raise NoPlace
        return source, names, found[0]

    def _call_on_line(self, source: Source, names: Names, line: int, called: str) -> ast.Call:
        """The one call on a line of the layer of a name, by the attribute or the variable that holds it."""
        layer = self.object(called)
        holders = {key for owner in self.objects() for key, value in vars(owner).items() if value is layer}
        found: list[ast.Call] = []
        for call in at_line(source.tree, ast.Call, line):
            func = call.func
            if (isinstance(func, ast.Attribute) and func.attr in holders) or names.value(func) is layer:
                found.append(call)
        if len(found) != 1:
            raise NoPlace
        return found[0]

    def twins(self, obj: Any) -> list[Any]:
        """Other objects that the very same call made, in a loop or a function of the user's."""
        where = self.where(obj)
        if where is None:
            return []
        span = getattr(where, "span", None)
        return [
            other
            for other in self.objects()
            if other is not obj and (place := self.where(other)) is not None and place == where and getattr(place, "span", None) == span
            and type(other) is type(obj)
        ]  # fmt: skip

    def is_first(self, obj: Any, twins: list[Any]) -> bool:
        """Whether an object was made before its twins."""
        made = self.seen.recorder.made
        return id(obj) in made and all(id(one) in made and made[id(obj)].ordinal < made[id(one)].ordinal for one in twins)

    def remark_shared(self, layers: int) -> None:
        """Says it where a line that is changed makes several layers."""
        if layers > 1:
            self.remarks.append(f"This line creates {layers} layers; the change applies to all of them.")

    def calls(self, name: str, nth: int | None = None) -> list[Place]:
        """The places of the direct calls of a layer, or of one of them, in order."""
        recorder = self.seen.recorder
        places = [call.called for call in recorder.calls if call.kind == "layer" and call.name == name]
        if not any(_direct(place) for place in places):
            places = recorder.call_places.get(id(self.object(name)), [])
        if nth:
            places = places[nth - 1 : nth]
        return list({(place, place.span): place for place in places if _direct(place)}.values())

    def called_at(self, place: Place) -> list[Any]:
        """The layers that the call at a place calls, more than one in a loop or a function of the user's."""
        recorder, found = self.seen.recorder, []
        for obj in self.objects():
            places = [call.called for call in recorder.calls if call.kind == "layer" and call.obj is obj]
            places += recorder.call_places.get(id(obj), [])
            if any(_direct(one) and one == place and one.span == place.span for one in places):
                found.append(obj)
        return found

    def function(self, name: str) -> tuple[Source, ast.AST, Any]:
        """The code that a layer of the user's own runs: its class's ``call``, or its Lambda's function."""
        obj = self.seen.model if not name else self.object(name)
        if obj is None:
            raise NoPlace
        function = inspect.unwrap(getattr(obj, "function", None) or type(obj).call)
        return (*self.definition(function), function)

    def definition(self, function: Any) -> tuple[Source, ast.AST]:
        """The node that defines a function, or the one that a changed text's function stands for."""
        function = getattr(function, "stands_for", function)
        code = getattr(function, "__code__", None)
        if code is None or not is_user_file(code.co_filename):
            raise NoPlace
        source = self.source(code.co_filename)
        return source, definition(source, code)

    def package(self) -> Any:
        """The framework's own package."""
        return sys.modules[self.seen.adapter.package]

    def layer_class(self, name: str) -> Any:
        found = getattr(self.package().layers, name, None)
        if found is None:
            raise NoPlace
        return found


def _direct(place: Any) -> bool:
    return isinstance(place, Place) and place.direct


def namespace_of(file: str) -> dict[str, Any]:
    """The globals of a file's module, or of the notebook's cells.

    Raises:
        NoPlace: where no module of that file is there.
    """
    running = shell()
    if running is not None and file in getattr(running.compile, "_filename_map", {}):
        return running.user_ns  # type: ignore[no-any-return]
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            return vars(module)
    raise NoPlace


def definition(source: Source, code: Any) -> ast.AST:
    """The node in a source as it stands now of a code object that ran.

    Raises:
        NoPlace: where there is none, or more than one.
    """
    line = code.co_firstlineno
    if code.co_name == "<lambda>":
        found: list[ast.AST] = list(at_line(source.tree, ast.Lambda, line))
        named = [node for node in found if [item.arg for item in node.args.args] == list(code.co_varnames[: code.co_argcount])]  # type: ignore[attr-defined]
        found = named if len(named) == 1 else found
    else:
        every = [node for node in nodes(source.tree, (ast.FunctionDef, ast.AsyncFunctionDef)) if node.name == code.co_name]
        found = [node for node in every if line in (node.lineno, *(item.lineno for item in node.decorator_list))]
        found = found or (every[:1] if len(every) == 1 else [])
    if len(found) != 1:
        raise NoPlace
    return found[0]


def _makes(names: Names, call: ast.Call, obj: Any) -> bool:
    callee = names.value(call.func)
    same = callee is type(obj) or called(call) in (type(obj).__name__, {"InputLayer": "Input"}.get(type(obj).__name__, ""))
    if not same:
        return False
    from .names import positions_of

    said = dict(zip(positions_of(type(obj)), call.args, strict=False)) | {item.arg: item.value for item in call.keywords if item.arg}
    for key, value in said.items():
        if isinstance(value, ast.Constant) and isinstance(value.value, (int, str)) and hasattr(obj, str(key)):
            has = getattr(obj, str(key))
            if isinstance(has, (int, str)) and has != value.value:
                return False
    return True


def _own_layers(model: Any) -> list[Any]:
    return list(getattr(model, "_layers", None) or getattr(model, "layers", None) or ())


def _layers(model: Any) -> list[Any]:
    found: list[Any] = []
    for layer in _own_layers(model):
        found += [layer, *_layers(layer)]
    return found


def parameter(source: Source, node: ast.AST) -> tuple[ast.AST, int, str] | None:
    """The function whose parameter a name is, untouched: ``(definition, position, name)``."""
    if not isinstance(node, ast.Name):
        return None
    above = parents(source.tree)
    scope = enclosing(above, node)
    if not isinstance(scope, Function):
        return None
    names = [item.arg for item in (*scope.args.posonlyargs, *scope.args.args)]
    everything = [*names, *(item.arg for item in scope.args.kwonlyargs)]
    if node.id not in everything:
        return None
    stored = [item for item in nodes(scope, ast.Name) if item.id == node.id and isinstance(item.ctx, ast.Store)]
    before = [item for item in stored if (item.lineno, item.col_offset) < (node.lineno, node.col_offset) and not _same_statement(above, item, node)]
    if before:
        return None
    return scope, names.index(node.id) if node.id in names else -1, node.id


def _same_statement(above: dict[ast.AST, ast.AST], one: ast.AST, other: ast.AST) -> bool:
    from .source import statement_of

    return statement_of(above, one) is statement_of(above, other)
