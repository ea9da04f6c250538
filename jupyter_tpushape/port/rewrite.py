"""Rewrites a program for TPUStrategy to Keras 3 on JAX with splices: the unchanged text stays the same byte for byte."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

from ..flow.syntax import DTYPES
from ..repair.text.source import Source, nodes
from . import left as leave
from .context import Context
from .left import Left
from .names import ARGUMENTS, DROPPED, HOST, MOVED, OPS, REDUCTIONS, RENAMED
from .setup import Setup

# Operations whose axis TensorFlow and keras.ops leave out differently.
_NEEDS_AXIS = frozenset({"argmax", "argmin", "cumsum", "normalize"})
_LOOP = frozenset({"tensorflow.GradientTape", "tensorflow.function", "tensorflow.AggregationMethod"})
_TEXT = frozenset({"keras.layers.TextVectorization", "keras.layers.StringLookup"})
Change = tuple[int, int, str]


class Rewriter:
    """The rewriting of one program. ``left`` lists the changes to make by hand."""

    def __init__(self, text: str, name: str = "program.py") -> None:
        self.source = Source(name, text)
        self.context = Context(self.source.tree)
        self.setup = Setup(self.source, self.context)
        self.left: list[Left] = []
        #: The name that Keras itself has in the new text.
        self.keras = next((name for name, full in self.context.names.items() if full in ("keras", "tensorflow.keras")), None) or next(
            (name for name, full in self.context.names.items() if full == "tf_keras" and name != "tf_keras"), "keras"
        )

    def run(self) -> str:
        """The new text."""
        changes = [*self.setup.changes(self.keras), *self._imports(), *self._chains(), *self._calls(), *self._environment()]
        self.source.splice(_apart(changes))
        self._header()
        self._unused()
        self.left.sort(key=lambda one: one.line)
        return self.source.text

    # -- imports and names -------------------------------------------------------------------------

    def _imports(self) -> Iterator[Change]:
        for node in nodes(self.context.tree, ast.Import):
            parts = [_imported(alias) for alias in node.names]
            if any(new != old for old, new in parts):
                yield self.source.change(node, "import " + ", ".join(dict.fromkeys(new for _, new in parts)))
        for node in nodes(self.context.tree, ast.ImportFrom):
            module = node.module or ""
            if node.level or not module:
                continue
            indent = self.source.indent(node)
            if module in ("tensorflow", "tensorflow.compat.v2") and any(alias.name == "keras" for alias in node.names):
                lines = [f"import keras as {alias.asname}" if alias.asname else "import keras" for alias in node.names if alias.name == "keras"]
                rest = [alias for alias in node.names if alias.name != "keras"]
                if rest:
                    lines.append(f"from {module} import " + ", ".join(map(_spelled, rest)))
                yield self.source.change(node, f"\n{indent}".join(lines))
                continue
            found = self.context.keras(ast.Name(node.names[0].asname or node.names[0].name))
            if found and module != "keras" and not module.startswith("keras."):
                new = _moved(f"{found.rpartition('.')[0]}")
                yield self.source.change(node, f"from {new} import " + ", ".join(map(_spelled, node.names)))
            if found:
                for alias in node.names:
                    self._known(node.lineno, f"{_moved(found.rpartition('.')[0])}.{alias.name}")

    def _chains(self) -> Iterator[Change]:
        for node in nodes(self.context.tree, (ast.Attribute, ast.Name)):
            if id(node) in self.setup.nodes or isinstance(self.context.above.get(node), ast.Attribute):
                continue
            if isinstance(node.ctx, ast.Load):
                keras = self.context.keras(node)
                if keras:
                    yield from self._of_keras(node, keras)
                elif (full := self.context.dotted(node)).startswith("tensorflow."):
                    yield from self._of_tensorflow(node, full.replace("tensorflow.compat.v2.", "tensorflow."))
                elif full.startswith("tensorflow_hub."):
                    self.left.append(leave.hub(node.lineno))
                else:
                    yield from self._of_strategy(node)

    def _of_keras(self, node: ast.AST, full: str) -> Iterator[Change]:
        line: int = node.lineno  # type: ignore[attr-defined]
        if (match := re.fullmatch(r"keras\.losses\.Reduction\.(\w+)", full)) and match[1] in REDUCTIONS:
            yield self.source.change(node, REDUCTIONS[match[1]])
            return
        if full in _TEXT and self.context.on_tensors(node):
            self.left.append(leave.text(line))
        new = _moved(full)
        self._known(line, new or full)
        root = self._root(node)
        if not isinstance(node, ast.Attribute):
            if root != self.keras and self.context.names.get(root) == "tf_keras":
                yield self.source.change(node, self.keras)
            return
        written = self.source.of(node)
        behind = self._behind(node)
        if new and new != full:
            made = f"{self.keras}{new[len('keras') :]}"
        else:
            # The chain from Keras itself on: of tf.keras.layers, keras.layers.
            whole = self.context.names[root]
            made = f"{self.keras}{full[len('keras') :]}" if whole in ("tensorflow", "tf_keras", "tensorflow.compat.v2") else behind
        if made != written:
            yield self.source.change(node, made)

    def _behind(self, node: ast.AST) -> str:
        return self.source.of(node)

    @staticmethod
    def _root(node: ast.AST) -> str:
        while isinstance(node, ast.Attribute):
            node = node.value
        return node.id if isinstance(node, ast.Name) else ""

    def _known(self, line: int, full: str) -> None:
        import keras

        value = keras
        for part in full.split(".")[1:]:
            try:
                value = getattr(value, part)
            except AttributeError:
                if inspect.ismodule(value) or full.startswith("keras.backend."):
                    found = leave.missing(line, full)
                    if found not in self.left:
                        self.left.append(found)
                return

    def _of_tensorflow(self, node: ast.AST, full: str) -> Iterator[Change]:
        line: int = node.lineno  # type: ignore[attr-defined]
        short = full.removeprefix("tensorflow.")
        start, end = self.source.start(node), self.source.end(node)
        if short == "random.set_seed":
            yield start, end, f"{self.keras}.utils.set_random_seed"
            return
        if full in _LOOP:
            if full != "tensorflow.function" or self.context.on_device(node) or self.context.steps(node):
                self.left.append(leave.loop(line, f"tf.{short}"))
            return
        if full.startswith("tensorflow.distribute."):
            self.left.append(Left(line, f"tf.{short} is a TensorFlow API", "Use keras.distribution.DataParallel instead."))
            return
        if short == "config.list_logical_devices" or (full.startswith(HOST) and not self.context.on_device(node)):
            return
        call = self.context.above.get(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            call = None
        if short in DTYPES:
            if self.context.is_of_keras(node) or self.context.on_device(node):
                if short == "string":
                    self.left.append(leave.text(line))
                yield start, end, f'"{short}"'
            return
        if short.startswith("nn.") and call is None and self.context.is_of_keras(node):
            yield start, end, f"{self.keras}.activations.{short[3:]}"
            return
        if not self.context.on_device(node):
            return
        if short == "Variable":
            self.left.append(leave.variable(line, f"tf.{short}"))
            return
        yield from self._operation(node, call, short)

    def _operation(self, node: ast.AST, call: ast.Call | None, short: str) -> Iterator[Change]:
        import keras

        line: int = node.lineno  # type: ignore[attr-defined]
        name = OPS.get(short, "")
        made = getattr(keras.ops, name, None) if name else None
        if made is None or call is None or any(word.arg is None for word in call.keywords):
            if not self.context.is_annotation(node):
                self.left.append(leave.operation(line, short))
            return
        taken = inspect.signature(made).parameters
        words = {word.arg: ARGUMENTS.get(word.arg or "", word.arg or "") if word.arg not in taken else word.arg for word in call.keywords}
        fits = all(word in taken for word in words.values()) and len(call.args) <= len(taken)
        if not fits or (name in _NEEDS_AXIS and len(call.args) < 2 and "axis" not in words.values()):
            self.left.append(leave.operation(line, short))
            return
        yield self.source.change(node, f"{self.keras}.ops.{name}")
        for word in call.keywords:
            if words[word.arg] != word.arg:
                at = self.source.start(word)
                yield at, at + len(word.arg or ""), str(words[word.arg])
        if name == "gelu" and "approximate" not in words and len(call.args) == 1:
            # What each takes where nothing is said differs.
            at = self.source.end(call) - 1
            yield at, at, ", approximate=False"

    def _of_strategy(self, node: ast.AST) -> Iterator[Change]:
        if not isinstance(node, ast.Attribute):
            if isinstance(node, ast.Name) and node.id in self.setup.resolvers and isinstance(self.context.above.get(node), ast.expr):
                self.left.append(leave.resolver(node.lineno, node.id))
            return
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute) and not (isinstance(inner.value, ast.Name) and inner.value.id in self.setup.strategies):
            inner = inner.value
        if isinstance(inner, ast.Attribute):
            if inner.attr == "num_replicas_in_sync":
                yield self.source.change(inner, f"len({self.keras}.distribution.list_devices())")
            elif inner.attr != "scope":
                self.left.append(leave.member(node.lineno, inner.attr))
        elif isinstance(self._base(node), ast.Name) and self._base(node).id in self.setup.resolvers:  # type: ignore[attr-defined]
            self.left.append(leave.resolver(node.lineno, self._root(node)))

    @staticmethod
    def _base(node: ast.AST) -> ast.AST:
        while isinstance(node, ast.Attribute):
            node = node.value
        return node

    # -- calls -------------------------------------------------------------------------------------

    def _calls(self) -> Iterator[Change]:
        for call in nodes(self.context.tree, ast.Call):
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            keras = self.context.keras(call.func)
            for index, word in enumerate(call.keywords):
                if word.arg in DROPPED.get(method, ()):
                    yield self._without(call, index)
                elif word.arg in RENAMED and (keras or method in ("compile", "fit")):
                    at = self.source.start(word)
                    yield at, at + len(word.arg), RENAMED[word.arg]
            if method == "compile" and len(call.args) == 3 and isinstance(call.args[2], (ast.List, ast.Tuple)):
                # The third is metrics in Keras 2, and weights of losses in Keras 3.
                at = self.source.start(call.args[2])
                if not all(isinstance(item, ast.Constant) and not isinstance(item.value, str) for item in call.args[2].elts):
                    yield at, at, "metrics="
            if method in ("save", "save_weights") and call.args and not self.context.dotted(call.func):
                yield from self._path(call.args[0], ".weights.h5" if method == "save_weights" else ".keras")
            if keras.endswith("callbacks.ModelCheckpoint"):
                given = call.args[0] if call.args else next((word.value for word in call.keywords if word.arg == "filepath"), None)
                whole = not any(word.arg == "save_weights_only" and isinstance(word.value, ast.Constant) and word.value.value for word in call.keywords)
                if given is not None:
                    yield from self._path(given, ".keras" if whole else ".weights.h5")

    def _path(self, node: ast.AST, suffix: str) -> Iterator[Change]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            fits = node.value.endswith((".keras", ".h5")) if suffix == ".keras" else node.value.endswith(suffix)
            if not fits:
                at = self.source.end(node) - 1
                bare = re.sub(r"\.(h5|tf|ckpt)$", "", node.value)
                yield at - (len(node.value) - len(bare)), at, suffix

    def _without(self, call: ast.Call, index: int) -> Change:
        word = call.keywords[index]
        items = sorted([*call.args, *call.keywords], key=self.source.start)
        place = items.index(word)
        if place:
            return self.source.end(items[place - 1]), self.source.end(word), ""
        after = self.source.start(items[1]) if len(items) > 1 else self.source.end(word)
        return self.source.start(word), after, ""

    # -- around the program ------------------------------------------------------------------------

    def _environment(self) -> Iterator[Change]:
        for node in nodes(self.context.tree, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and self.context.dotted(target.value) == "os.environ":
                if target.slice.value == "KERAS_BACKEND" and not (isinstance(node.value, ast.Constant) and node.value.value == "jax"):
                    yield self.source.change(node.value, '"jax"')
                elif target.slice.value == "TF_USE_LEGACY_KERAS":
                    yield self.source.change(node, 'os.environ["KERAS_BACKEND"] = "jax"')

    def _header(self) -> None:
        """Chooses the backend before anything imports Keras, and imports Keras where nothing else does."""
        tree, source = self.source.tree, self.source
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", "") != "__future__"]
        chosen = re.search(r"environ\[.KERAS_BACKEND.\] = .jax.|environ.setdefault\(.KERAS_BACKEND., .jax.\)", source.text) is not None
        bound = any(
            (alias.asname or alias.name) == self.keras and alias.name == "keras" for node in tree.body if isinstance(node, ast.Import) for alias in node.names
        )
        body = tree.body[1:] if tree.body and isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant) else tree.body
        first = imports[0] if imports else next((node for node in body if not isinstance(node, ast.ImportFrom)), None)
        at = source.start(first) if first is not None else len(source.text)
        lines = []
        if not chosen:
            lines += ["import os", "", 'os.environ["KERAS_BACKEND"] = "jax"  # before Keras is imported', ""]
        if not bound and re.search(rf"\b{self.keras}\.", source.text):
            if chosen:
                late = [node for node in imports if "KERAS_BACKEND" in source.text[: source.start(node)]]
                place = source.start(late[0]) if late else len(source.text)
                source.splice([(place, place, f"import {_as(self.keras)}\n")])
            else:
                lines.append(f"import {_as(self.keras)}")
        if lines:
            source.splice([(at, at, "\n".join([*lines, ""]))])

    def _unused(self) -> None:
        tree, source = self.source.tree, self.source
        used = {node.id for node in nodes(tree, ast.Name)}
        changes = []
        for node in nodes(tree, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                if len(node.names) == 1 and alias.name.partition(".")[0] in ("tensorflow", "jupyter_tpushape") and name not in used:
                    changes.append((source.start(node), _line_end(source.text, source.end(node)), ""))
        if changes:
            source.splice(changes)


def _as(name: str) -> str:
    return "keras" if name == "keras" else f"keras as {name}"


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end + 1 if end >= 0 else len(text)


def _imported(alias: ast.alias) -> tuple[str, str]:
    old = _spelled(alias)
    for root in ("tensorflow.keras", "tf_keras"):
        if alias.name == root or alias.name.startswith(f"{root}."):
            new = f"keras{alias.name[len(root) :]}"
            return old, new if alias.asname in (None, new) else f"{new} as {alias.asname}"
    return old, old


def _spelled(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _moved(full: str) -> str:
    for old in sorted(MOVED, key=len, reverse=True):
        if full == old or full.startswith(f"{old}."):
            return MOVED[old] + full[len(old) :] if MOVED[old] else ""
    return full


def _apart(changes: list[Change]) -> list[Change]:
    kept: list[Change] = []
    for change in sorted(dict.fromkeys(changes), key=lambda one: (one[0] - one[1], one[0])):
        if not any(start <= change[0] and change[1] <= end and (start, end) != change[:2] and start != end for start, end, _ in kept):
            kept.append(change)
    return kept
