"""Functions of TensorFlow and of Keras 2's backend, written with ``keras.ops``, and random ones with a seed that is kept."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from ..text import keras_ops
from ..text.arguments import Change, appended
from ..text.program import Text
from ..text.source import NoPlace, enclosing, free_name, made_in_init, method_of, parents
from .base import SpanEdit, TextEdit, kind
from .expression import MODULE


@kind
@dataclass(frozen=True)
class KerasOps(TextEdit):
    """``keras.ops`` at the calls that stand at ``spans``: line, end line, column and end column each; ``names``: what is called, as written."""

    kind = "replace-op"
    op = "keras-ops"

    file: str = field(default="", metadata={"needed": True})
    spans: list[list[int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def write(self, text: Text) -> None:
        source, names = text.source(self.file), text.names(self.file)
        found: list[Change] = []
        for line, end_line, column, end_column in self.spans:
            call = source.node_at((line, end_line, column, end_column), ast.Call)
            found += keras_ops.changes(source, names, call)
        source.splice(list(dict.fromkeys(found)))

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.file.rsplit('/', 1)[-1]}, with keras.ops:"
        yield from (f"# line {span[0]}: {name}" for span, name in zip(self.spans, self.names, strict=True))


@kind
@dataclass(frozen=True)
class Seeded(SpanEdit):
    """The random functions that methods of a class call on a line get a ``seed`` of the object's own, made in ``__init__``.

    With ``replace``, the expression or statement at ``span`` becomes that text, with ``{seed}``, ``{random}`` (``keras.random``) and
    ``{module}`` (``module``) in it.
    """

    op = "seeded"

    replace: str = ""
    statement: bool = False
    module: str = "keras.ops"

    def write(self, text: Text) -> None:
        source, call = self.found(text, ast.stmt if self.statement else ast.expr)
        names = text.names(self.file)
        above = parents(source.tree)
        method = enclosing(above, call)
        owner = above.get(method)
        if not isinstance(method, ast.FunctionDef) or not isinstance(owner, ast.ClassDef) or not method.args.args:
            raise NoPlace
        name = free_name(owner, "seed_generator")
        module, imports = names.spell(sys.modules["keras.random"], owner)
        if method_of(owner, "__init__") is None:
            first = next(item for item in owner.body if isinstance(item, ast.FunctionDef))
            decorated = min([first, *first.decorator_list], key=source.start)
            at = source.start(decorated) - (1 if first.decorator_list else 0)
            inner = source.indent(first)
            deep = inner + (source.indent(first.body[0])[len(inner) :] or "    ")
            new = f"def __init__(self, **kwargs):\n{deep}super().__init__(**kwargs)\n{deep}self.{name} = {module}.SeedGenerator()\n\n{inner}"
            imports.append((at, at, new))
        else:
            imports.append(made_in_init(source, owner, name, f"{module}.SeedGenerator()"))
        own = method.args.args[0].arg
        known = next((word for word in getattr(call, "keywords", ()) if word.arg == "seed"), None)
        if self.replace:
            new = self.replace.replace("{seed}", f"{own}.{name}").replace("{random}", module)
            if MODULE in new:
                there, more = names.spell(sys.modules[self.module], call)
                new = new.replace(MODULE, there)
                imports += [one for one in more if one not in imports]
            imports.append(source.change(call, new))
        elif known is not None:
            imports.append(source.change(known.value, f"{own}.{name}"))
        else:
            imports.append(appended(source, cast("ast.Call", call), f"seed={own}.{name}"))
        source.splice(imports)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in __init__, and seed=self.seed_generator where the random function is called:"
        yield "+self.seed_generator = keras.random.SeedGenerator()"
