"""Running a program whose text was changed, as it would run, and beside the user's own.

Only what the change reaches is run again: the function that builds the model (or makes the data), the definitions that it
uses and the change touches, statements at the top that the change adds or that hold what it touches. All of it in a copy
of the module's globals; calls that train are not made.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..trace.locations import STANDS_FOR
from .text.program import Text
from .text.source import NoPlace, Source, parsed

_TRAINING = frozenset(
    {"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch", "fit_generator", "summary", "save"}
)
_COUNT = itertools.count(1)
# Of a text that ran under another name: the file that it is a version of, and that file's own text.
_ORIGINS: dict[str, tuple[str, str]] = {}


def origin(file: str) -> tuple[str, str]:
    """The user's file that a text which ran stands for, and the text that is there."""
    return _ORIGINS.get(file) or (file, "".join(linecache.getlines(file)))


def register(source: Source) -> str:
    """A name under which a changed text runs, so that its lines can be looked up."""
    file, text = origin(source.file)
    alias = f"<cell {next(_COUNT)} of {file.rsplit('/', 1)[-1]}>"
    _ORIGINS[alias] = (file, text)
    STANDS_FOR[alias] = file
    linecache.cache[alias] = (len(source.text), None, source.text.splitlines(keepends=True), alias)
    return alias


def forget(aliases: Iterable[str]) -> None:
    """Drops texts that nothing runs any more."""
    for alias in aliases:
        _ORIGINS.pop(alias, None)
        STANDS_FOR.pop(alias, None)
        linecache.cache.pop(alias, None)


class Rerun:
    """A changed text, ready to run: ``model`` and ``data`` give what the program is with it.

    Attributes:
        model_changed, data_changed: what the change reaches.
        aliases: the names of the texts that run.
    """

    def __init__(self, seen: Any, text: Text) -> None:
        self.seen, self.text = seen, text
        self.changed = {file: source for file, source in text.sources.items() if source.changed}
        if not self.changed:
            raise NoPlace
        self.aliases = {file: register(source) for file, source in self.changed.items()}
        try:
            self._model = self._reached(seen.program.model, seen.model)
            self._data = self._handed()
        except BaseException:
            forget(self.aliases.values())
            raise
        if self._model is None and self._data is None:
            forget(self.aliases.values())
            raise NoPlace

    def program(self, *, fresh: bool = False) -> Any:
        """The program to look at. What the change does not reach is taken as it was found; ``fresh``: made anew, too."""
        seen, program = self.seen, self.seen.program
        model = self._model or (program.model if fresh or seen.model is None else seen.model)
        program = program.with_(aliases=dict(self.aliases))
        if self._data is not None:
            return program.with_(model=model, data=self._data, sample=None, edits=None)
        if seen.sample is not None and seen.data is not None and not fresh:
            return program.with_(model=model, data=seen.data, sample=seen.sample, edits=None)
        replacement = getattr(seen.sample, "replacement", None)
        return program.with_(model=model, data=replacement if replacement is not None else program.data, edits=None)

    def _reached(self, entry: Any, live: Any) -> Callable[[], Any] | None:
        """A builder of the changed program; ``None`` where the change does not reach it."""
        owner = getattr(entry, "__self__", None)
        if hasattr(owner, "again"):
            return self._cell(owner)
        function = entry.func if hasattr(entry, "func") and not hasattr(entry, "layers") else entry
        if inspect.isfunction(inspect.unwrap(function)) if callable(function) else False:
            return self._function(entry, inspect.unwrap(function))
        if live is None or not any(self._concerns_model(file) for file in self.changed):
            return None
        return self._live(live)

    # -- functions ---------------------------------------------------------------------------------

    def _function(self, entry: Any, function: Any) -> Callable[[], Any] | None:
        code = function.__code__
        layers = [Overlay(self, file, self.text.globals(file)) for file in self.changed]
        here = next((layer for layer in layers if layer.file == code.co_filename), None)
        others = [layer for layer in layers if layer is not here]
        if here is None:
            here = Overlay(self, code.co_filename, function.__globals__, Source.read(code.co_filename))
        if not here.reaches(function, others):
            return None

        def build() -> Any:
            made = here.function(function, others)
            return made(*getattr(entry, "args", ()), **getattr(entry, "keywords", {})) if hasattr(entry, "func") else made()

        build.__name__ = function.__name__
        build.stands_for = function  # type: ignore[attr-defined]
        return build

    # -- cells -------------------------------------------------------------------------------------

    def _cell(self, owner: Any) -> Callable[[], Any]:
        names = None
        others = [file for file in self.changed if file != owner.name]
        if others:
            overlay = Overlay(self, others[0], owner.shell.user_ns)
            names = overlay.all()
        source = self.changed.get(owner.name)
        again = owner.again(source.text if source is not None else None, self.aliases.get(owner.name), names)
        self._cell_program = again
        return again.build  # type: ignore[no-any-return]

    # -- live objects ------------------------------------------------------------------------------

    def _concerns_model(self, file: str) -> bool:
        """Whether the change of a file is one of the statements that made the live model, and not of the data's hand-over alone."""
        source = self.changed[file]
        wanted = self._name_of(self.seen.model, file)
        return wanted is not None and wanted in Slice(self, file, source).dirty

    def _name_of(self, value: Any, file: str) -> str | None:
        try:
            names = self.text.globals(file)
        except NoPlace:
            return None
        return next((name for name, item in list(names.items()) if item is value and not name.startswith("_")), None)

    def _live(self, live: Any) -> Callable[[], Any]:
        for file, source in self.changed.items():
            name = self._name_of(live, file)
            if name is not None:
                piece = Slice(self, file, source)
                run = piece.plan(name)
                return lambda: run()[name]
        raise NoPlace

    def _handed(self) -> Any:
        """The changed data; ``None`` where the change does not reach it."""
        data = self.seen.program.data
        if getattr(self, "_cell_program", None) is not None:
            program = self._cell_program
            return lambda: program.data
        function = getattr(data, "func", data)
        if inspect.isfunction(function):
            return self._function(data, function)
        where = self.seen.program.handed
        if data is None or where is None or where[0] not in self.changed:
            return None
        return Slice(self, where[0], self.changed[where[0]]).arguments(where)


class Overlay:
    """A module's definitions as the changed text has them, in a copy of its globals."""

    def __init__(self, rerun: Rerun, file: str, globals: dict[str, Any], source: Source | None = None) -> None:
        self.file, self.names = file, globals
        self.source = source or rerun.changed[file]
        self.alias = rerun.aliases.get(file, file)
        self.statements = [item for item in self.source.tree.body if not _is_main(item)]
        self.new = _added(self.source, self.statements)

    def dirty(self, replaced: Iterable[str] = ()) -> set[str]:
        """Names at the top whose values the change touches, directly or by what they use."""
        found = {name for item in self.new for name in bound(item)} | set(replaced)
        while True:
            more = {
                name
                for item in self.statements
                if found & set(used(item))
                and isinstance(item, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Assign, ast.AnnAssign))
                for name in bound(item)
            }
            if more <= found:
                return found
            found |= more

    def reaches(self, function: Any, others: list[Overlay]) -> bool:
        code = self._code(function)
        touched = self.dirty(self._replaced(others))
        return (
            code.co_code != function.__code__.co_code
            or _constants(code) != _constants(function.__code__)
            or bool(touched & (set(_globals_of(code)) | {function.__name__}))
        )

    def _replaced(self, others: list[Overlay]) -> list[str]:
        """Names here that lead to what another changed file defines."""
        found = []
        for other in others:
            old = {id(other.names[name]) for name in other.dirty() if name in other.names}
            for name, value in self.names.items():
                if id(value) in old or (inspect.ismodule(value) and getattr(value, "__file__", None) == other.file):
                    found.append(name)
        return found

    def all(self, others: Iterable[Overlay] = ()) -> dict[str, Any]:
        """A copy of the globals with everything that the change touches run again."""
        return self._run(self.dirty(), dict(self.names))

    def function(self, function: Any, others: list[Overlay]) -> Any:
        """The function as the changed text has it."""
        names = dict(self.names)
        for other in others:
            changed = other.all()
            old = {id(other.names[name]): name for name in other.dirty() if name in other.names}
            for name, value in list(names.items()):
                if id(value) in old:
                    names[name] = changed[old[id(value)]]
                elif inspect.ismodule(value) and getattr(value, "__file__", None) == other.file:
                    names[name] = types.ModuleType(value.__name__)
                    vars(names[name]).update(changed)
        code = self._code(function)
        dirty = self.dirty(self._replaced(others))
        wanted = _needed(self.statements, set(_globals_of(code))) & dirty
        self._run(wanted, names)
        return rebound(function, code, names)

    def _run(self, wanted: set[str], names: dict[str, Any]) -> dict[str, Any]:
        body = [
            item
            for item in self.statements
            if (isinstance(item, (ast.Import, ast.ImportFrom)) and item in self.new) or (set(bound(item)) & wanted and not trains(item))
        ]
        execute(body, self.alias, names)
        return names

    def _code(self, function: Any) -> types.CodeType:
        return code_of(function.__code__, self.source, self.alias)


class Slice:
    """The statements at the top of a script or cell that make a live object, without those that train."""

    def __init__(self, rerun: Rerun, file: str, source: Source) -> None:
        self.rerun, self.file, self.source = rerun, file, source
        self.names = rerun.text.globals(file)
        self.statements: list[ast.stmt] = []
        self.new: list[ast.stmt] = []
        # The name under which the text of a statement runs.
        self.home: dict[int, str] = {}
        for name in cells_of(file) or [file]:
            self._add(name, rerun.changed.get(name))
        self.dirty = {name for item in self.new for name in (*bound(item), *touched(item)) if not trains(item)}
        while True:
            more = {
                name
                for item in self.statements
                if self.dirty & set(used(item)) and not trains(item)
                for name in (*bound(item), *touched(item))
            }
            if more <= self.dirty:
                break
            self.dirty |= more

    def _add(self, file: str, source: Source | None) -> None:
        try:
            source = source or Source.read(file)
            body = [item for item in source.tree.body if not _is_main(item)]
        except NoPlace:
            return
        self.statements += body
        self.home.update({id(item): self.rerun.aliases.get(file, file) for item in body})
        if source.changed:
            self.new += _added(source, body)

    def _makers(self, name: str) -> list[ast.stmt]:
        """The statements that give a name its value, as it was last given: in the last cell that does, and what changes it in place after that."""
        binding = [item for item in self.statements if name in bound(item)]
        last = self.home[id(binding[-1])] if binding else ""
        binding = [item for item in binding if self.home[id(item)] == last]
        start = self.statements.index(binding[0]) if binding else 0
        return [item for item in self.statements[start:] if item in binding or (name in touched(item) and name not in bound(item))]

    def plan(self, *wanted: str) -> Callable[[], dict[str, Any]]:
        """Runs what gives the names their values, in a copy of the globals.

        Raises:
            NoPlace: where that would touch an object of the user's.
        """
        again, pending = set(), set(wanted) & self.dirty
        while pending:
            name = pending.pop()
            if name in again:
                continue
            makers = self._makers(name)
            if not makers:
                if name in self.names and not self._fragile(self.names[name]):
                    continue
                raise NoPlace
            again.add(name)
            for item in makers:
                if trains(item):
                    continue
                for other in used(item):
                    if other in self.dirty or self._fragile(self.names.get(other)):
                        pending.add(other)
        wanted_ones = {id(item) for name in again for item in self._makers(name) if not trains(item)}
        wanted_ones |= {id(item) for item in self.new if isinstance(item, (ast.Import, ast.ImportFrom))}
        body = [item for item in self.statements if id(item) in wanted_ones]

        def run() -> dict[str, Any]:
            names = dict(self.names)
            for item in body:
                execute([item], self.home[id(item)], names)
            return names

        return run

    def _fragile(self, value: Any) -> bool:
        """Whether using an object again would change it: layers, models, symbolic tensors and optimizers remember their uses."""
        adapter = self.rerun.seen.adapter
        if value is None or inspect.ismodule(value) or inspect.isclass(value):
            return False
        return bool(
            adapter.is_layer(value)
            or adapter.is_model(value)
            or adapter.is_symbolic(value)
            or isinstance(value, adapter.optimizer_classes())
        )

    def arguments(self, where: Any) -> Callable[[], Any] | None:
        """What the changed text hands over at a training call, or to ``trace``; ``None`` where that is what it was."""
        from .text.arguments import argument
        from .text.handed import TRACING, Handed, _called

        handed = Handed(self.rerun.text)
        call = handed.call
        if call is None:
            return None
        if not isinstance(handed.scope, ast.Module):
            raise NoPlace
        given = {key: argument(call, key, ["x", "y"]) for key in ("x", "y", "sample_weight")}
        if _called(call) in TRACING:
            given = {"x": argument(call, "data", ["model", "data"])}
        uses = {name for value in given.values() if value is not None for name in used(value)}
        changed = [ast.dump(value) for value in given.values() if value is not None]
        if not uses & self.dirty and changed == self._before(where, given):
            return None
        run = self.plan(*(uses & self.dirty))

        def data() -> Any:
            names = run()
            values = [
                eval(compile(ast.Expression(value), self.rerun.aliases[self.file], "eval"), names)
                for value in given.values()
                if value is not None
            ]
            return values[0] if len(values) == 1 else tuple(values)

        return data

    def _before(self, where: Any, given: dict[str, Any]) -> list[str]:
        """The same arguments as the text had them when it ran."""
        from .text.arguments import argument
        from .text.handed import TRACING, _called

        original = Source(self.file, self.source.original)
        span = getattr(where, "span", None)
        if span is None:
            return []
        call = original.call_at(span)
        keys = [("data", ["model", "data"])] if _called(call) in TRACING else [(key, ["x", "y"]) for key in given]
        return [ast.dump(value) for key, order in keys if (value := argument(call, key, order)) is not None]


def cells_of(file: str) -> list[str]:
    """The notebook's cells in the order in which they ran, where the file is one of them."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    known: dict[str, int] = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return sorted(known, key=lambda name: known[name]) if file in known else []


# -- statements ----------------------------------------------------------------------------------------


def execute(body: list[ast.stmt], file: str, names: dict[str, Any]) -> None:
    if body:
        module = ast.Module(body=body, type_ignores=[])
        exec(compile(module, file, "exec"), names)


def _added(source: Source, now: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a changed source that were not there, or not like this."""
    lines = source.original.encode().split(b"\n")
    left = Counter(_text(lines, item) for item in parsed(source.original).body)
    lines, found = source.text.encode().split(b"\n"), []
    for item in now:
        key = _text(lines, item)
        if left[key]:
            left[key] -= 1
        else:
            found.append(item)
    return found


def _text(lines: list[bytes], statement: ast.stmt) -> bytes:
    """A statement as it is written, its decorators included."""
    first = min((statement, *getattr(statement, "decorator_list", ())), key=lambda node: node.lineno)
    end = statement.end_lineno or statement.lineno
    held = lines[first.lineno - 1 : end]
    if held:
        held[-1] = held[-1][: statement.end_col_offset]
        held[0] = held[0][first.col_offset :]
    return b"\n".join(held)


def _own(statement: ast.AST) -> Iterator[ast.AST]:
    """A statement's nodes without those of functions and classes inside it."""
    pending = [statement]
    while pending:
        node = pending.pop()
        yield node
        if node is statement or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))


def bound(statement: ast.AST) -> list[str]:
    """The names that a statement binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    found = []
    for node in _own(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found += [alias.asname or alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node is not statement:
            found.append(node.name)
    return found


def touched(statement: ast.AST) -> list[str]:
    """The names whose objects a statement changes in place: ``model.add(...)``, ``x[0] = ...``."""
    found = []
    for node in _own(statement):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            found.append(_root(node.value.func))
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            found.append(_root(node))
    return [name for name in found if name]


def used(statement: ast.AST) -> list[str]:
    """The names that a statement reads, functions inside it included."""
    return [node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]


def trains(statement: ast.AST) -> bool:
    """Whether a statement calls what trains, or prints, as its own purpose."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    return any(
        isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Attribute) and node.func.attr in _TRAINING)
            or (isinstance(node.func, ast.Name) and node.func.id == "print")
        )
        for node in _own(statement)
    )


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in used(statement.test)


def _needed(statements: list[ast.stmt], names: set[str]) -> set[str]:
    """The names that something uses, and what these use in turn."""
    found: set[str] = set()
    pending = set(names)
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        for item in statements:
            if name in bound(item):
                pending |= set(used(item)) - found
    return found


# -- code ----------------------------------------------------------------------------------------------


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            yield from _codes(item)


def _constants(code: types.CodeType) -> list[Any]:
    found: list[Any] = []
    for item in _codes(code):
        found += [item.co_code, item.co_names, *(repr(value) for value in item.co_consts if not isinstance(value, types.CodeType))]
    return found


def _globals_of(code: types.CodeType) -> set[str]:
    return {name for item in _codes(code) for name in item.co_names}


def code_of(code: types.CodeType, source: Source, alias: str) -> types.CodeType:
    """The code of a function in the text as it stands now; of several of one name, the one at the same place in their order."""

    def alike(text: str, file: str) -> list[types.CodeType]:
        name = getattr(code, "co_qualname", code.co_name)
        return [item for item in _codes(compile(text, file, "exec")) if getattr(item, "co_qualname", item.co_name) == name]

    try:
        old, new = alike(source.original, source.file), alike(source.text, alias)
    except SyntaxError as error:
        raise NoPlace from error
    index = next(
        (i for i, item in enumerate(old) if item.co_firstlineno == code.co_firstlineno and item.co_varnames == code.co_varnames), 0
    )
    if index >= len(new):
        raise NoPlace
    return new[index]


def rebound(function: Any, code: types.CodeType, names: dict[str, Any]) -> Any:
    """A function of other code and other globals, with the closure and defaults that it had."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if not set(code.co_freevars) <= set(cells):
        raise NoPlace
    made = types.FunctionType(code, names, function.__name__, function.__defaults__, tuple(cells[name] for name in code.co_freevars))
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def recompiled(function: Any, source: Source) -> Any:
    """A function as a changed text has it, with its own globals: for an object that cannot be built from the text."""
    return rebound(function, code_of(function.__code__, source, register(source)), function.__globals__)
