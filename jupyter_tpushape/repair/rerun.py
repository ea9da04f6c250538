"""Running a program whose text was changed, as it would run, and beside the user's own.

Only what the change reaches is run again: the function that builds the model (or makes the data), the definitions that it
uses and the change touches, statements at the top that the change adds or that hold what it touches. All of it in a copy
of the module's globals; calls that train are not made.
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import itertools
import linecache
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from ..replicas import unset_distribution
from ..trace.locations import STANDS_FOR, Variables, is_user_file, unwrapped
from ..trace.reach import is_step, plain
from .held import Step, part_of, place_of
from .slices import Slice
from .text.cells import added, bound, execute, is_main, touched, trains, used
from .text.program import Text
from .text.source import NoPlace, Source

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


def lines_moved(before: str, after: str) -> Callable[[int], int]:
    """Where a line of a text, counted from 1, is in another version of it; a line that was replaced is where its replacement begins."""

    @lru_cache(maxsize=1)
    def blocks() -> list[difflib.Match]:
        return difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False).get_matching_blocks()

    def now(line: int) -> int:
        behind = 0
        for at, to, size in blocks():
            if line - 1 < at:
                break
            if line - 1 < at + size:
                return to + line - at
            behind = to + size
        return behind + 1

    return now


class Rerun:
    """A changed text, ready to run: ``model`` and ``data`` give what the program is with it.

    Attributes:
        whole: what the change does not reach runs again, too, so that all of the program was made by the text as it stands now.
        aliases: the names of the texts that run.
    """

    def __init__(self, seen: Any, text: Text, *, whole: bool = False) -> None:
        self.seen, self.text, self.whole = seen, text, whole
        self.changed = {file: source for file, source in text.sources.items() if source.changed}
        # What the model's build made at the top of a file: the data reads the same objects, as it does in the program.
        self.ran: dict[str, tuple[dict[str, Any], set[str]]] = {}
        if not self.changed:
            raise NoPlace
        self.aliases = {file: register(source) for file, source in self.changed.items()}
        try:
            self._model = self._reached(seen.program.model, seen.model)
            if text.unset and self._model is not None:
                self._model = _unset(self._model)
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

    def moved(self) -> dict[str, tuple[str, Callable[[int], int]]]:
        """For each changed file: the name of its text, and where a line of the text before is in it."""
        return {file: (self.aliases[file], lines_moved(source.original, source.text)) for file, source in self.changed.items()}

    def _reached(self, entry: Any, live: Any) -> Callable[[], Any] | None:
        owner = getattr(entry, "__self__", None)
        if hasattr(owner, "again"):
            return self._cell(owner)
        if is_step(entry):
            return self._step(entry)
        function = entry.func if hasattr(entry, "func") and not hasattr(entry, "layers") else entry
        if inspect.isfunction(unwrapped(function)) if callable(function) else False:
            return self._function(entry, unwrapped(function))
        return None if live is None else self._live(live)

    # -- functions ---------------------------------------------------------------------------------

    def _function(self, entry: Any, function: Any) -> Callable[[], Any] | None:
        code = function.__code__
        layers = [Overlay(self, file, self.text.globals(file)) for file in self.changed]
        here = next((layer for layer in layers if layer.file == code.co_filename), None)
        others = [layer for layer in layers if layer is not here]
        if here is None:
            here = Overlay(self, code.co_filename, function.__globals__, Source.read(code.co_filename))
        if not (self.whole and here.file in self.changed) and not here.reaches(function, others):
            return None

        def build() -> Any:
            made = here.function(function, others, first=entry is self.seen.program.model)
            return made(*getattr(entry, "args", ()), **getattr(entry, "keywords", {})) if hasattr(entry, "func") else made()

        build.__name__ = function.__name__
        build.stands_for = function  # type: ignore[attr-defined]
        return build

    # -- steps ---------------------------------------------------------------------------------------

    def _step(self, entry: Any) -> Callable[..., Any] | None:
        """The step as the changed text has it, with what it uses of that; ``None`` where the change does not reach it.

        Raises:
            NoPlace: where it is no function at the top of a file or cell.
        """
        function, bound_to = plain(entry), entry if isinstance(entry, functools.partial) else None
        held = bound_to.func if bound_to is not None else entry
        if not inspect.isfunction(function) or function.__closure__ or inspect.ismethod(held) or isinstance(held, functools.partial):
            raise NoPlace
        home = function.__code__.co_filename
        source = self.changed.get(home)
        code = code_of(function.__code__, source, self.aliases[home]) if source is not None else function.__code__
        piece = Slice(self, home, source or Source.read(home))
        given = {id(value): name for name, value in piece.names.items() if name in piece.dirty}
        bound_values = [*bound_to.args, *bound_to.keywords.values()] if bound_to is not None else []
        wanted = (set(_globals_of(code)) & piece.dirty) | {given[id(value)] for value in bound_values if id(value) in given}
        if not wanted and _constants(code) == _constants(function.__code__):
            return None
        names = piece.plan(*wanted)()
        again: Callable[..., Any] = rebound(function, code, names)
        if bound_to is None:
            return again
        # What the step was given, such as the model, is made again where the change reaches it.
        args = [names[given[id(value)]] if id(value) in given else value for value in bound_to.args]
        return functools.partial(again, *args, **{key: names[given[id(value)]] if id(value) in given else value for key, value in bound_to.keywords.items()})

    # -- cells -------------------------------------------------------------------------------------

    def _cell(self, owner: Any) -> Callable[[], Any]:
        names = None
        others = [file for file in self.changed if file not in owner.codes]
        if others:
            # What the cells use of others is made again with all that leads to it, such as a function that calls a changed class.
            piece = Slice(self, others[0], self.changed[others[0]], but=owner.codes)
            made = {name for item in piece.statements for name in bound(item)}
            names = piece.plan(*(made & {name for code in owner.codes.values() for name in _globals_of(code)}))()
        texts = {file: (source.text, self.aliases[file]) for file, source in self.changed.items() if file in owner.codes}
        again = owner.again(texts, names)
        self._cell_program = again
        return again.build  # type: ignore[no-any-return]

    # -- live objects ------------------------------------------------------------------------------

    def _name_of(self, value: Any, file: str) -> str | None:
        try:
            names = self.text.globals(file)
        except NoPlace:
            return None
        return next((name for name, item in list(names.items()) if item is value and not name.startswith("_")), None)

    def _live(self, live: Any) -> Callable[[], Any] | None:
        """What makes the live model again; ``None`` where the change is none of it, and of the data's hand-over alone."""
        handed = self.seen.program.handed
        for file in dict.fromkeys([*self.changed, *([handed[0]] if handed is not None else []), *_homes(live)]):
            held = list(self._holders(live, file))
            piece = Slice(self, file, self.changed.get(file) or Source.read(file)) if held else None
            for name, path in held:
                if piece is None or (not self.whole and name not in piece.dirty):
                    continue
                try:
                    run = piece.plan(name)
                except NoPlace:
                    if (name, path) == held[-1]:
                        raise
                    continue  # such as the variable of a loop that trains each of several models
                return lambda name=name, path=path, run=run: part_of(run()[name], path)  # type: ignore[misc]
        return None

    def _holders(self, live: Any, file: str) -> Iterator[tuple[str, tuple[Step, ...]]]:
        """The variables that hold the live object, or have it as a part: each with the way to it, such as ``trainer`` and ``.model``."""
        try:
            names = [(key, value) for key, value in list(self.text.globals(file).items()) if not key.startswith("_")]
        except NoPlace:
            return
        yield from ((key, ()) for key, value in names if value is live)
        yield from ((key, path) for key, value in names if (path := place_of(live, value)))

    def instead(self, names: dict[str, Any], home: list[str]) -> dict[str, Any]:
        """What takes the place of the values that the changed files outside of ``home`` gave to some names there."""
        return {key: one for file in self.changed if file not in home for key, one in Overlay(self, file, self.text.globals(file)).instead(names).items()}

    def _handed(self) -> Any:
        data = self.seen.program.data
        if getattr(self, "_cell_program", None) is not None:
            program = self._cell_program
            return lambda: program.data
        function = getattr(data, "func", data)
        if inspect.isfunction(function):
            return self._function(data, function)
        where = self.seen.program.handed
        if isinstance(where, Variables) and data is not None:
            source = self.changed.get(where[0]) or Source.read(where[0])
            return Slice(self, where[0], source).variables(where.expression)
        if data is None or where is None or where[0] not in self.changed:
            return None
        piece = Slice(self, where[0], self.changed[where[0]])
        return None if piece.hands_on(where, data) else piece.arguments(where)


def _homes(live: Any) -> Iterator[str]:
    """The user's modules that have an object."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and any(one is live for one in list(vars(module).values())) and is_user_file(file):
            yield file


def _unset(build: Callable[[], Any]) -> Callable[[], Any]:

    def begun() -> Any:
        unset_distribution()
        return build()

    begun.__dict__.update(getattr(build, "__dict__", {}))
    return begun


def makes_no_model(program: Any) -> bool:
    """Whether it is a cell, such as one of a pipeline, that ran to its end and left no model behind."""
    return bool(getattr(getattr(program.model, "__self__", None), "ended", False))


class Overlay:
    """A module's definitions as the changed text has them, in a copy of its globals."""

    def __init__(self, rerun: Rerun, file: str, globals: dict[str, Any], source: Source | None = None) -> None:
        self.file, self.names, self.ran = file, globals, rerun.ran
        self.source = source or rerun.changed[file]
        self.alias = rerun.aliases.get(file, file)
        self.statements = [item for item in self.source.tree.body if not is_main(item)]
        self.new = added(self.source, self.statements)
        self._given = {name for item in self.statements if isinstance(item, ast.Assign) for name in bound(item)}
        self._defined = {item.name for item in self.statements if isinstance(item, (ast.FunctionDef, ast.ClassDef))}

    def dirty(self, replaced: Iterable[str] = ()) -> set[str]:
        """Names at the top whose values the change touches, directly or by what they use."""
        found = {name for item in self.new for name in self.makes(item)} | set(replaced)
        while True:
            more = {
                name
                for item in self.statements
                if found & set(used(item)) and isinstance(item, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Assign, ast.AnnAssign, ast.Expr))
                for name in self.makes(item)
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
        found = []
        for other in others:
            old = {id(other.names[name]) for name in other.dirty() if name in other.names}
            for name, value in self.names.items():
                if id(value) in old or (inspect.ismodule(value) and getattr(value, "__file__", None) == other.file):
                    found.append(name)
        return found

    def instead(self, elsewhere: dict[str, Any]) -> dict[str, Any]:
        """What takes the place of this module's values, and of the module, under the names that they have elsewhere."""
        # Everything that the change touches runs again.
        changed, found = self._run(self.dirty(), dict(self.names)), {}
        old = {id(self.names[name]): name for name in self.dirty() if name in self.names}
        for name, value in elsewhere.items():
            if id(value) in old:
                found[name] = changed[old[id(value)]]
            elif inspect.ismodule(value) and getattr(value, "__file__", None) == self.file:
                found[name] = types.ModuleType(value.__name__)
                vars(found[name]).update(changed)
        return found

    def function(self, function: Any, others: list[Overlay], first: bool = False) -> Any:
        """The function as the changed text has it; ``first``: the model's, whose objects at the top the data's reads too."""
        names, done = self.ran.get(self.file, ({}, set())) if not first else ({}, set())
        names = dict(self.names) | {name: names[name] for name in done if name in names}
        for other in others:
            names.update(other.instead(names))
        code, given = self._code(function), set(self._replaced(others))
        # An import would bring back what the other file had.
        wanted = self._needed(set(_globals_of(code))) & self.dirty(given) - given
        self._run(wanted - done, names)
        if first:
            self.ran[self.file] = names, wanted
        return rebound(function, code, names)

    def _run(self, wanted: set[str], names: dict[str, Any]) -> dict[str, Any]:
        body = [
            item
            for item in self.statements
            if (isinstance(item, (ast.Import, ast.ImportFrom)) and item in self.new) or (set(self.makes(item)) & wanted and not trains(item))
        ]
        execute(body, self.alias, names)
        return names

    def makes(self, statement: ast.stmt) -> list[str]:
        """The names that a statement binds, or whose value it completes: ``f.defvjp(forward, backward)``, ``TABLE[key] = value``."""
        if isinstance(statement, ast.Expr):
            return [name for name in touched(statement) if name in self._defined]
        entries = isinstance(statement, ast.Assign) and all(isinstance(one, ast.Subscript) for one in statement.targets)
        return [name for name in touched(statement) if name in self._given] if entries else bound(statement)

    def _needed(self, names: set[str]) -> set[str]:
        found: set[str] = set()
        pending = set(names)
        while pending:
            name = pending.pop()
            if name in found:
                continue
            found.add(name)
            for item in self.statements:
                if name in self.makes(item):
                    pending |= set(used(item)) - found
        return found

    def _code(self, function: Any) -> types.CodeType:
        return code_of(function.__code__, self.source, self.alias)


# -- code


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


@lru_cache(maxsize=16)
def _compiled(text: str, file: str) -> types.CodeType:
    return compile(text, file, "exec")


def code_of(code: types.CodeType, source: Source, alias: str) -> types.CodeType:
    """The code of a function in the text as it stands now; of several of one name, the one at the same place in their order."""

    def alike(text: str, file: str) -> list[types.CodeType]:
        name = getattr(code, "co_qualname", code.co_name)
        return [item for item in _codes(_compiled(text, file)) if getattr(item, "co_qualname", item.co_name) == name]

    try:
        old, new = alike(source.original, source.file), alike(source.text, alias)
    except SyntaxError as error:
        raise NoPlace from error
    index = next((i for i, item in enumerate(old) if item.co_firstlineno == code.co_firstlineno and item.co_varnames == code.co_varnames), 0)
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
