"""The statements at the top of a script, or of a notebook's cells, that make a live object: run again as a changed text has them."""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from ..examine.handed_data import TRACING
from ..flow import syntax
from ..flow.paths import flatten
from ..flow.syntax import called
from ..trace.locations import cells_of
from .held import is_object, trains_inside
from .text.arguments import argument
from .text.cells import added, bound, execute, is_main, moved, touched, trains, used
from .text.place import Place
from .text.source import NoPlace, Source, enclosing, parents, parsed

if TYPE_CHECKING:
    from .rerun import Rerun


class Slice:
    """The statements at the top of a script or cell that make a live object, without those that train.

    ``but``: cells that are no part of it, because they run again by themselves.
    """

    def __init__(self, rerun: Rerun, file: str, source: Source, *, but: Collection[str] = ()) -> None:
        self.rerun, self.file, self.source = rerun, file, source
        # What another changed file gives to names of this one is made already.
        names, home = rerun.text.globals(file), cells_of(file) or [file]
        self.given = rerun.instead(names, home)
        self.names = {**names, **self.given}
        self.statements: list[ast.stmt] = []
        # Statements that a change added or wrote anew, those that its cells had before it, and the names under which these cells run.
        self.new: list[ast.stmt] = []
        self.before: list[ast.stmt] = []
        self.edited: set[str] = set()
        # Of those, the ones in another order than before: they run again also where they bind nothing.
        self.moved: list[ast.stmt] = []
        # The name under which the text of a statement runs.
        self.home: dict[int, str] = {}
        for name in (one for one in home if one not in but):
            self._add(name, rerun.changed.get(name))
        self.dirty = set(self.given) | {name for item in self.new for name in (*bound(item), *touched(item)) if not self._trains(item)}
        while True:
            more = {name for item in self.statements if self.dirty & set(used(item)) and not self._trains(item) for name in (*bound(item), *touched(item))}
            if more <= self.dirty:
                break
            self.dirty |= more

    def _trains(self, item: ast.stmt) -> bool:
        return trains(item) or trains_inside(item, self.names)

    def _add(self, file: str, source: Source | None) -> None:
        try:
            source = source or Source.read(file)
            body = [item for item in source.tree.body if not is_main(item)]
        except NoPlace:
            return
        if any(id(item) in self.home for item in body):
            body = copy.deepcopy(body)  # a cell that ran twice with one text: each run has a place of its own
        self.statements += body
        self.home.update({id(item): self.rerun.aliases.get(file, file) for item in body})
        if source.changed:
            self.moved += moved(source, body)
            self.new += added(source, body) or self.moved
            self.before += parsed(source.original).body
            self.edited.add(self.rerun.aliases.get(file, file))

    def _makers(self, name: str, end: int | None) -> list[ast.stmt]:
        """The statements that give a name its value, as it was last given: in the last cell that does, and what changes it in place after that.

        ``end``: of the statements before this one, where a later cell gives the name to something else.

        Where these begin with the name's own value, as ``ds = ds.batch(8)`` does, the cell before it belongs to them.
        """
        statements = self.statements[:end]
        binding = [item for item in statements if name in bound(item)]
        start = len(binding)
        while start and (start == len(binding) or name in used(binding[start])):
            last = self.home[id(binding[start - 1])]
            while start and self.home[id(binding[start - 1])] == last:
                start -= 1
        binding = binding[start:]
        first = statements.index(binding[0]) if binding else 0
        return [item for item in statements[first:] if (item in binding or (name in touched(item) and name not in bound(item))) and not self._trains(item)]

    def _replaced(self, name: str, place: int) -> bool:
        """Whether a name held a part of the model where a statement read it, and was given to something else after that."""
        if not any(name in bound(item) for item in self.statements[place + 1 :]):
            return False
        return any(other in self.dirty or self._fragile(self.names.get(other)) for item in self._makers(name, place) for other in used(item)) or any(
            called(node) == "Input" for item in self._makers(name, place) for node in ast.walk(item) if isinstance(node, ast.Call)
        )

    def _again(self, name: str, end: int | None = None) -> list[ast.stmt]:
        """What runs for a name: of statements that were only added at the end, these alone, on the value that is there."""
        makers = self._makers(name, end)
        kept = [item for item in makers if item not in self.new]
        more = makers[len(kept) :]
        before = [item for item in self.before if name in bound(item) or name in touched(item)]
        if (
            more
            and makers[: len(kept)] == kept
            and len([item for item in before if not self._trains(item)]) == len([item for item in kept if self.home[id(item)] in self.edited])
            and name in self.names
            and not self._fragile(self.names[name])
            and all(name in bound(item) and not touched(item) for item in more)
            and not any(set(used(item)) & (self.dirty - {name}) for item in kept)
        ):
            return more
        return makers

    def plan(self, *wanted: str) -> Callable[[], dict[str, Any]]:
        """Runs what gives the names their values, in a copy of the globals.

        Raises:
            NoPlace: where that would touch an object of the user's.
        """
        again: dict[tuple[str, int | None], list[ast.stmt]] = {}
        places = {id(item): place for place, item in enumerate(self.statements)}
        alone = [item for item in self.moved if not bound(item) and not self._trains(item)]
        whole = set(wanted) if self.rerun.whole else set(wanted) & self.dirty
        # Each with the statement that reads it, if a later one gives the name to something else.
        pending: set[tuple[str, int | None]] = {(name, None) for name in whole | {one for item in alone for one in used(item) if one in self.dirty}}
        while pending:
            name, end = pending.pop()
            if (name, end) in again or name in self.given:
                continue
            makers = self._again(name, end)
            if not any(name in bound(item) for item in makers) and name in self.names:
                # What only changes it in place would change the user's own object.
                if self._fragile(self.names[name]):
                    raise NoPlace
                if not makers:
                    continue
            if not makers:
                raise NoPlace
            again[name, end] = makers
            for item in makers:
                for other in used(item):
                    before = places[id(item)] if other not in bound(item) and self._replaced(other, places[id(item)]) else None
                    if before is not None or other in self.dirty or self._fragile(self.names.get(other)):
                        pending.add((other, before))
        wanted_ones = {id(item) for makers in again.values() for item in makers}
        wanted_ones |= {id(item) for item in alone}
        wanted_ones |= {id(item) for item in self.new if isinstance(item, (ast.Import, ast.ImportFrom))}
        body = [item for item in self.statements if id(item) in wanted_ones]

        def run() -> dict[str, Any]:
            names = dict(self.names)
            for item in body:
                execute([item], self.home[id(item)], names)
            return names

        return run

    def _fragile(self, value: Any, depth: int = 3) -> bool:
        adapter = self.rerun.seen.adapter
        if value is None or inspect.ismodule(value) or inspect.isclass(value):
            return False
        if isinstance(value, (list, tuple, dict)):
            held = itertools.islice(value.values() if isinstance(value, dict) else value, 1000 if depth else 0)
            return any(self._fragile(one, depth - 1) for one in held)
        if is_object(value):
            return depth > 0 and any(self._fragile(one, depth - 1) for one in list(vars(value).values()))
        return bool(adapter.is_layer(value) or adapter.is_model(value) or adapter.is_symbolic(value) or isinstance(value, adapter.optimizer_classes()))

    def hands_on(self, where: Any, data: Any) -> bool:
        """Whether the training call is in a function that stays as it was, and the change reaches no variable that the data was made as."""
        now = Place(self.rerun.text)
        span = getattr(where, "span", None)
        if now.call is None or isinstance(now.scope, ast.Module) or span is None:
            return False
        before = Source(self.file, self.source.original)
        scope = enclosing(parents(before.tree), before.call_at(span))
        clean = [value for name, value in self.names.items() if name not in self.dirty]
        given = [leaf for _, leaf in flatten(data)]
        return ast.dump(scope) == ast.dump(now.scope) and all(any(leaf is value for value in clean) for leaf in given)

    def arguments(self, where: Any) -> Callable[[], Any] | None:
        """What the changed text hands over at a training call, or to ``trace``."""
        handed = Place(self.rerun.text)
        call = handed.call
        if call is None:
            return None
        if not isinstance(handed.scope, ast.Module):
            raise NoPlace
        given = {key: argument(call, key, ["x", "y"]) for key in ("x", "y", "sample_weight")}
        if called(call) in TRACING:
            given = {"x": argument(call, "data", ["model", "data"])}
        uses = {name for value in given.values() if value is not None for name in used(value)}
        changed = [ast.dump(value) for value in given.values() if value is not None]
        if not self.rerun.whole and not uses & self.dirty and changed == self._before(where, given):
            return None
        run = self.plan(*(uses if self.rerun.whole else uses & self.dirty))

        def data() -> Any:
            names = run()
            values = [eval(compile(ast.Expression(value), self.rerun.aliases[self.file], "eval"), names) for value in given.values() if value is not None]
            return values[0] if len(values) == 1 else tuple(values)

        return data

    def variables(self, typed: str) -> Callable[[], Any] | None:
        """What the variables that were typed hold after the change."""
        expression = syntax.parse(typed.strip(), mode="eval")
        changed = set(used(expression.body)) & self.dirty
        if not changed:
            return None
        run, code = self.plan(*changed), compile(expression, "<typed>", "eval")
        return lambda: eval(code, run())

    def _before(self, where: Any, given: dict[str, Any]) -> list[str]:
        original = Source(self.file, self.source.original)
        span = getattr(where, "span", None)
        if span is None:
            return []
        call = original.call_at(span)
        keys = [("data", ["model", "data"])] if called(call) in TRACING else [(key, ["x", "y"]) for key in given]
        return [ast.dump(value) for key, order in keys if (value := argument(call, key, order)) is not None]
