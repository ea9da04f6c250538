"""Where a line of a program runs: on the device, in the model, or on the host, in the pipeline and around it."""

from __future__ import annotations

import ast

from ..flow.syntax import Function
from ..repair.text.keras_ops import ON_HOST
from ..repair.text.source import nodes, parents
from .names import KERAS


class Context:
    """A program's names and functions."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree, self.above = tree, parents(tree)
        self.names = dict(_imported(tree))
        self.functions = {one.name: one for one in nodes(tree, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self._host = self._on_host()
        self._device = self._on_device()

    def dotted(self, node: ast.AST) -> str:
        """``tf.keras.layers.Dense`` as ``tensorflow.keras.layers.Dense``."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return ""
        return ".".join([self.names[node.id], *reversed(parts)])

    def keras(self, node: ast.AST) -> str:
        """A chain that is one of Keras, as ``keras.layers.Dense``."""
        full = self.dotted(node)
        root = next((root for root in KERAS if full == root or full.startswith(f"{root}.")), None)
        return f"keras{full[len(root) :]}" if root else ""

    def functions_around(self, node: ast.AST) -> list[ast.AST]:
        """The functions and classes that a node stands in, from the inside."""
        found: list[ast.AST] = []
        while node in self.above:
            node = self.above[node]
            if isinstance(node, (*Function, ast.ClassDef)):
                found.append(node)
        return found

    def on_device(self, node: ast.AST) -> bool:
        """Whether what a node computes is a part of the model, its losses or its step."""
        around = self.functions_around(node)
        for one in around:
            if one in self._host:
                return False
            if one in self._device:
                return True
        return self._feeds_on_layers(node, around)

    def is_of_keras(self, node: ast.AST) -> bool:
        """Whether an expression is an argument of a call of Keras' own."""
        above = self.above.get(node)
        while isinstance(above, (ast.keyword, ast.List, ast.Tuple, ast.Dict)):
            above = self.above.get(above)
        return isinstance(above, ast.Call) and bool(self.keras(above.func))

    def on_tensors(self, node: ast.AST) -> bool:
        """Whether the layer that a chain names is a part of a model, and not of the pipeline."""
        call = self.above.get(node)
        outer = self.above.get(call) if call is not None else None
        if isinstance(outer, ast.Call) and outer.func is call:
            return True
        if isinstance(outer, (ast.List, ast.Tuple)):
            return True
        if isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Name):
            name = outer.targets[0].id
            return any(isinstance(one.func, ast.Name) and one.func.id == name and self.on_device(one.func) for one in nodes(self.tree, ast.Call)) or any(
                isinstance(one, ast.List) and any(isinstance(item, ast.Name) and item.id == name for item in one.elts) for one in nodes(self.tree, ast.List)
            )
        return False

    def steps(self, node: ast.AST) -> bool:
        """Whether ``tf.function`` is around a step: its function, or one inside, takes gradients or runs on the strategy."""
        around = self.above.get(node)
        while around is not None and not isinstance(around, (ast.FunctionDef, ast.stmt)):
            around = self.above.get(around)
        return isinstance(around, ast.FunctionDef) and any(self.dotted(one) == "tensorflow.GradientTape" for one in nodes(around, ast.Attribute))

    def is_annotation(self, node: ast.AST) -> bool:
        above = self.above.get(node)
        if isinstance(above, ast.arg):
            return True
        return isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) and above.returns is node

    def _bases(self, node: ast.ClassDef) -> list[str]:
        return [self.keras(base) for base in node.bases] + [
            name for base in node.bases if isinstance(base, ast.Name) and base.id in self._classes() for name in self._bases(self._classes()[base.id])
        ]

    def _classes(self) -> dict[str, ast.ClassDef]:
        return {one.name: one for one in nodes(self.tree, ast.ClassDef)}

    def _called_in(self, inside: set[ast.AST]) -> set[ast.AST]:
        found, waiting = set(inside), list(inside)
        while waiting:
            for call in nodes(waiting.pop(), ast.Call):
                made = self.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
                if made is not None and made not in found:
                    found.add(made)
                    waiting.append(made)
        return found

    def _given(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.Lambda):
            return node
        return self.functions.get(node.id) if isinstance(node, ast.Name) else None

    def _on_host(self) -> set[ast.AST]:
        found: set[ast.AST] = set()
        for call in nodes(self.tree, ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr in ON_HOST:
                found |= {made for given in [*call.args, *(word.value for word in call.keywords)] if (made := self._given(given)) is not None}
        for made in self.functions.values():
            chains = {self.dotted(node) for node in nodes(made, ast.Attribute)}
            if any(chain.startswith(("tensorflow.data.", "tensorflow.io.", "tensorflow.train.")) for chain in chains):
                found.add(made)
        return self._called_in(found)

    def _on_device(self) -> set[ast.AST]:
        found: set[ast.AST] = set()
        for made in nodes(self.tree, ast.ClassDef):
            if any(base.startswith(("keras.layers", "keras.Layer", "keras.Model", "keras.models", "keras.losses", "keras.Loss")) for base in self._bases(made)):
                found.add(made)
        for call in nodes(self.tree, ast.Call):
            words = {word.arg: word.value for word in call.keywords}
            given = [words[name] for name in ("loss", "activation", "metrics") if name in words]
            given += [item for one in given if isinstance(one, (ast.List, ast.Tuple)) for item in one.elts]
            if self.keras(call.func).endswith(".Lambda"):
                given += call.args[:1]
            found |= {made for one in given if (made := self._given(one)) is not None}
        return self._called_in(found) - self._host

    def _feeds_on_layers(self, node: ast.AST, around: list[ast.AST]) -> bool:
        scope = next((one for one in around if isinstance(one, Function)), self.tree)
        tensors: set[str] = set()
        call = node
        while call in self.above and not isinstance(call, (ast.Call, ast.stmt)):
            call = self.above[call]
        for statement in nodes(scope, ast.Assign):
            made = self._layer_made(statement.value) or any(one.id in tensors for one in nodes(statement.value, ast.Name))
            if made:
                tensors |= {name.id for target in statement.targets for name in nodes(target, ast.Name)}
        return any(one.id in tensors for one in nodes(call, ast.Name))

    def _layer_made(self, value: ast.AST) -> bool:
        for call in nodes(value, ast.Call):
            name = self.keras(call.func)
            if name in ("keras.Input", "keras.layers.Input") or (isinstance(call.func, ast.Call) and self.keras(call.func.func).startswith("keras.layers.")):
                return True
        return False


def _imported(tree: ast.Module) -> list[tuple[str, str]]:
    found = []
    for node in nodes(tree, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                if node.module and not node.level:
                    found.append((alias.asname or alias.name, f"{node.module}.{alias.name}"))
            elif alias.asname:
                found.append((alias.asname, alias.name))
            else:
                found.append((alias.name.partition(".")[0], alias.name.partition(".")[0]))
    return found
