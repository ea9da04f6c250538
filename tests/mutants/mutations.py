"""Operators that make mutants: each changes one place in the source of a correct program.

An operator looks at one node of the syntax tree and gives what may stand in its place. Nothing here says
whether the change is a fault: a real ``fit`` step does (:mod:`mutants.outcomes`). ``MEANT`` lists the few
operators whose mutants are faults even where they run and every shape agrees.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import itertools
import random
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import architectures

Changes = Iterator[tuple[str, ast.AST]]
Operator = Callable[[ast.AST], Changes]

# Faults without a shape that disagrees: a softmax applied twice.
MEANT = frozenset({"logits"})
# Such faults where no input is declared: a convolution over one axis of images, which tf_keras accepts.
UNDECLARED = frozenset({"dimension"})
# What no edit gives back: rows that are gone, and with them which label is whose.
HEAD = "from mutants.architectures import *\n\n\n"


@dataclass(frozen=True)
class Mutant:
    """A changed program: ``text`` defines a function of the framework that gives ``(build, data)``."""

    architecture: str
    operator: str
    change: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.architecture}-{self.operator}-{self.change}".replace(" ", "")

    def write(self, path: Path) -> None:
        """The program as a file of its own."""
        path.write_text(HEAD + self.text)


def program(path: Path, architecture: str, keras: Any) -> tuple[Any, Any]:
    """``(build, data)`` of a file, as an import of it gives them."""
    scope: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope[architecture](keras)


def expression(text: str) -> ast.AST:
    return ast.parse(text, mode="eval").body


def layer(node: ast.AST) -> str:
    """``Dense`` for ``L.Dense(...)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        return node.func.attr if node.func.value.id == "L" else ""
    return ""


def maker(node: ast.AST) -> str:
    """``numbers`` for ``numbers(...)``."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def positional(node: ast.AST, index: int, value: object) -> ast.Call:
    """The call with another positional argument."""
    assert isinstance(node, ast.Call)
    made = copy.deepcopy(node)
    made.args[index] = expression(repr(value))  # type: ignore[assignment]
    return made


def keyword(node: ast.AST, name: str, value: object | None) -> ast.Call:
    """The call with a keyword set, or without it."""
    assert isinstance(node, ast.Call)
    made = copy.deepcopy(node)
    made.keywords = [item for item in made.keywords if item.arg != name]
    if value is not None:
        made.keywords.append(ast.keyword(name, expression(repr(value))))  # type: ignore[arg-type]
    return made


def keywords(node: ast.AST) -> dict[str, Any]:
    """The literal keyword arguments of a call."""
    assert isinstance(node, ast.Call)
    return {item.arg: item.value.value for item in node.keywords if item.arg and isinstance(item.value, ast.Constant)}


def literal(node: ast.AST, index: int = 0) -> Any:
    """A positional argument that is written out, else ``None``."""
    assert isinstance(node, ast.Call)
    try:
        return ast.literal_eval(node.args[index])
    except (IndexError, ValueError):
        return None


def items(node: ast.AST) -> list[ast.AST]:
    """The layers of a Sequential's list, the declared input apart."""
    if isinstance(node, ast.List) and len(node.elts) > 2:
        return [item for item in node.elts if layer(item)]
    return []


def without(node: ast.AST, item: ast.AST) -> ast.List:
    assert isinstance(node, ast.List)
    return ast.List([one for one in node.elts if one is not item], ast.Load())


# -- layers ------------------------------------------------------------------------------------------


def drop(node: ast.AST) -> Changes:
    for item in items(node):
        yield f"without {layer(item)}", without(node, item)
    if isinstance(node, ast.Call) and layer(node.func) and len(node.args) == 1 and isinstance(node.args[0], ast.Name):
        yield f"without {layer(node.func)}", node.args[0]


def order(node: ast.AST) -> Changes:
    found = items(node)
    for first, second in itertools.pairwise(found):
        assert isinstance(node, ast.List)
        exchanged = [second if one is first else first if one is second else one for one in node.elts]
        yield f"{layer(second)} before {layer(first)}", ast.List(exchanged, ast.Load())


def units(node: ast.AST) -> Changes:
    size = literal(node) if layer(node) == "Dense" else None
    if isinstance(size, int):
        for other in {size + 2, max(1, size - 1), 1} - {size}:
            yield f"Dense {size} to {other}", positional(node, 0, other)


def filters(node: ast.AST) -> Changes:
    size = literal(node) if layer(node).startswith("Conv") else None
    if isinstance(size, int):
        for other in (size + 2, size * 2):
            yield f"filters {size} to {other}", positional(node, 0, other)


def sequences(node: ast.AST) -> Changes:
    if layer(node) in ("LSTM", "GRU"):
        now = keywords(node).get("return_sequences")
        yield f"return_sequences {not now}", keyword(node, "return_sequences", None if now else True)


def concat_axis(node: ast.AST) -> Changes:
    if layer(node) == "Concatenate":
        for axis in (1, 2):
            yield f"axis {axis}", keyword(node, "axis", axis)


def merge_kind(node: ast.AST) -> Changes:
    kind = layer(node)
    if kind == "Concatenate":
        yield "Add for Concatenate", expression("L.Add()")
    elif kind == "Add":
        yield "Concatenate for Add", expression("L.Concatenate()")
        yield "Multiply for Add", expression("L.Multiply()")


def window(node: ast.AST) -> Changes:
    kind = layer(node)
    if kind.startswith(("Conv", "MaxPooling")):
        yield f"{kind} over 20", positional(node, 1 if kind.startswith("Conv") else 0, 20)
        yield f"{kind} over 2", positional(node, 1 if kind.startswith("Conv") else 0, 2)


def padding(node: ast.AST) -> Changes:
    if layer(node).startswith("Conv"):
        now = keywords(node).get("padding")
        yield f"padding {'valid' if now else 'same'}", keyword(node, "padding", None if now else "same")


def strides(node: ast.AST) -> Changes:
    if layer(node).startswith("Conv"):
        now = keywords(node).get("strides")
        yield f"strides {1 if now else 2}", keyword(node, "strides", None if now else 2)


def dimension(node: ast.AST) -> Changes:
    kind = layer(node)
    for old, new in (("2D", "1D"), ("1D", "2D"), ("2D", "3D")):
        if kind.endswith(old) and kind != "UpSampling1D":
            made = copy.deepcopy(node)
            assert isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute)
            made.func.attr = kind.replace(old, new)
            yield f"{kind} to {new}", made


def reshape(node: ast.AST) -> Changes:
    if layer(node) == "Reshape":
        target = literal(node)
        yield "last axis plus 1", positional(node, 0, (*target[:-1], target[-1] + 1))
        yield "axes merged", positional(node, 0, (target[0] * target[1], *target[2:]))


def embedding(node: ast.AST) -> Changes:
    if layer(node) == "Embedding":
        yield "half the rows", positional(node, 0, literal(node) // 2)
        yield "twice the rows", positional(node, 0, literal(node) * 2)
        yield "wider", positional(node, 1, literal(node, 1) + 3)


def harmless(node: ast.AST) -> Changes:
    kind = layer(node)
    if kind in ("Dense", "Conv1D", "Conv2D") and keywords(node).get("activation") == "relu":
        yield f"{kind} tanh", keyword(node, "activation", "tanh")
    if kind in ("Dense", "Conv1D", "Conv2D", "LSTM"):
        yield f"{kind} without bias", keyword(node, "use_bias", False)
    if isinstance(node, ast.Constant) and node.value == "sgd":
        yield "adam", ast.Constant("adam")


def flatten_first(node: ast.AST) -> Changes:
    """A surplus Flatten."""
    found = items(node)
    assert not found or isinstance(node, ast.List)
    for item in found[1:]:
        if isinstance(node, ast.List):
            at = next(i for i, one in enumerate(node.elts) if one is item)
            yield f"Flatten before {layer(item)}", ast.List([*node.elts[:at], expression("L.Flatten()"), *node.elts[at:]], ast.Load())  # type: ignore[list-item]


_LOST = (
    ("mean over the batch", "L.Lambda(lambda t: tf.reduce_mean(t, axis=0, keepdims=True))"),
    ("batch and features exchanged", "L.Lambda(lambda t: tf.transpose(t))"),
    ("rows in halves", "L.Lambda(lambda t: tf.reshape(t, (-1, t.shape[-1] // 2)))"),
    ("32 written", "L.Lambda(lambda t: tf.reshape(t, (32, t.shape[-1])))"),
    ("rows counted", "L.Lambda(lambda t: tf.reshape(t, (-1, t.shape[-1])))"),
    ("scaled", "L.Lambda(lambda t: t * tf.ones((1, t.shape[-1])))"),
    ("sum over the batch", "L.Lambda(lambda t: tf.reduce_sum(t, axis=0))"),
)


def batch(node: ast.AST) -> Changes:
    """An operation of the user's own in front of the last layer; some lose the batch axis, some do not."""
    found = items(node)
    if found and layer(found[-1]) == "Dense":
        assert isinstance(node, ast.List)
        for name, text in _LOST:
            yield name, ast.List([*node.elts[:-1], expression(text), node.elts[-1]], ast.Load())  # type: ignore[list-item]


# -- the door ----------------------------------------------------------------------------------------


def declared(node: ast.AST) -> Changes:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "keras.Input":
        shape = literal(node)
        if not shape or None in shape:
            return
        yield "one axis more", positional(node, 0, (*shape, 1))
        yield "last axis plus 1", positional(node, 0, (*shape[:-1], shape[-1] + 1))
        yield "batch declared", positional(node, 0, (40, *shape))
        yield "unknown first axis", positional(node, 0, (None, *shape[1:]))
        if len(shape) > 1:
            yield "last axis missing", positional(node, 0, shape[:-1])
            yield "axes turned", positional(node, 0, (shape[-1], *shape[:-1]))
            yield "flat", positional(node, 0, (shape[0] * shape[1], *shape[2:]))


def x_shape(node: ast.AST) -> Changes:
    kind = maker(node)
    if kind not in ("numbers", "tokens"):
        return
    text = ast.unparse(node)
    yield "one axis more", expression(f"{text}[..., None]")
    yield "an axis behind the rows", expression(f"{text}[:, None]")
    yield "one sample", expression(f"{text}[0]")
    yield "fewer rows", expression(f"{text}[:30]")
    yield "narrower", expression(f"{text}[..., :-1]")
    if kind == "numbers" and isinstance(node, ast.Call):
        rank = len(node.args)
        yield "as float64", expression(f"{text}.astype('float64')")
        yield "as integers", expression(f"({text} * 9).astype('int32')")
        if rank > 2:
            yield "flat rows", expression(f"{text}.reshape(40, -1)")
            yield "two axes exchanged", expression(f"np.swapaxes({text}, 1, 2)")
            yield "channels first", expression(f"np.moveaxis({text}, -1, 1)")
            yield "last axis missing", expression(f"{text}[..., 0]")


# -- labels and losses -------------------------------------------------------------------------------


def encoding(node: ast.AST) -> Changes:
    other = {"classes": "one_hot", "one_hot": "classes"}.get(maker(node))
    if other:
        made = copy.deepcopy(node)
        assert isinstance(made, ast.Call) and isinstance(made.func, ast.Name)
        made.func.id = other
        yield f"{other}", made


def label_shape(node: ast.AST) -> Changes:
    kind = maker(node)
    if kind not in ("classes", "one_hot", "targets"):
        return
    text = ast.unparse(node)
    yield "one axis more", expression(f"{text}[..., None]")
    yield "two axes more", expression(f"{text}[..., None, None]")
    yield "an axis behind the rows", expression(f"{text}[:, None]")
    if kind != "classes" or (isinstance(node, ast.Call) and len(node.args) > 2):
        yield "last axis missing", expression(f"{text}[..., 0]")
    yield "fewer rows", expression(f"{text}[:30]")
    if kind == "targets":
        yield "another column", expression(f"np.concatenate([{text}, {text}[:, :1]], -1)")
    else:
        yield "one class more", positional(node, 0, literal(node) + 1)
        yield "as float64", expression(f"{text}.astype('float64')")
    if kind == "classes":
        yield "counted from 1", expression(f"{text} + 1")
        yield "as int32", expression(f"{text}.astype('int32')")


_LOSSES = {
    "sparse_categorical_crossentropy": ("categorical_crossentropy",),
    "categorical_crossentropy": ("sparse_categorical_crossentropy", "mse"),
    "mse": ("mae",),
    "binary_crossentropy": ("mse", "sparse_categorical_crossentropy"),
}


def losses(node: ast.AST) -> Changes:
    if isinstance(node, ast.Constant):
        for other in _LOSSES.get(node.value, ()) if isinstance(node.value, str) else ():
            yield other, ast.Constant(other)


_CLASSES = {
    "sparse_categorical_crossentropy": "SparseCategoricalCrossentropy",
    "categorical_crossentropy": "CategoricalCrossentropy",
    "binary_crossentropy": "BinaryCrossentropy",
}


def logits(node: ast.AST) -> Changes:
    if isinstance(node, ast.Constant) and node.value in _CLASSES:
        yield "from_logits", expression(f"keras.losses.{_CLASSES[node.value]}(from_logits=True)")


def parts(node: ast.AST) -> Changes:
    """Two inputs or two kinds of labels, exchanged or one of them missing."""
    if isinstance(node, ast.List) and len(node.elts) == 2 and all(maker(item) for item in node.elts):
        yield "exchanged", ast.List([node.elts[1], node.elts[0]], ast.Load())
        yield "only the first", ast.List([node.elts[0]], ast.Load())


OPERATORS: dict[str, Operator] = {
    function.__name__: function
    for function in (
        drop, order, units, filters, sequences, concat_axis, merge_kind, window, padding, strides, dimension, reshape, embedding, harmless,
        flatten_first, batch, declared, x_shape, encoding, label_shape, losses, logits, parts,
    )
}  # fmt: skip


def _places(tree: ast.AST) -> dict[ast.AST, Callable[[ast.AST], None]]:
    """For each node what puts another one where it stands."""
    found: dict[ast.AST, Callable[[ast.AST], None]] = {}
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, list):
                found |= {item: functools.partial(value.__setitem__, i) for i, item in enumerate(value) if isinstance(item, ast.AST)}
            elif isinstance(value, ast.AST):
                found[value] = functools.partial(setattr, parent, name)
    return found


def changes(name: str, source: str, operators: dict[str, Operator]) -> dict[str, list[Mutant]]:
    """All programs that one change makes of a source, by operator."""
    tree = ast.parse(source)
    known, found = {ast.unparse(tree)}, {operator: [] for operator in operators}
    nodes, puts = list(ast.walk(tree)), _places(tree)
    for operator, change_of in operators.items():
        for node in nodes:
            # A change holds what it keeps of the node itself, so it is put in its place only once all of them are made.
            for change, new in list(change_of(node)):
                puts[node](new)
                text = ast.unparse(tree) + "\n"
                puts[node](node)
                if text not in known:
                    known.add(text)
                    found[operator].append(Mutant(name, operator, change, text))
    return found


def every(architecture: Callable[..., Any], operators: dict[str, Operator] = OPERATORS) -> dict[str, list[Mutant]]:
    """All mutants of a program, by operator."""
    return changes(architecture.__name__, textwrap.dedent(inspect.getsource(architecture)), operators)


def mutants(seed: int, each: int) -> list[Mutant]:
    """``each`` mutants of every program, drawn with a seed, every operator's in turn."""
    chosen = []
    for architecture in architectures.ARCHITECTURES:
        draw = random.Random(f"{seed} {architecture.__name__}")
        piles = [draw.sample(pile, len(pile)) for pile in every(architecture).values() if pile]
        draw.shuffle(piles)
        turns = [mutant for turn in range(max(map(len, piles))) for pile in piles if turn < len(pile) for mutant in [pile[turn]]]
        chosen += turns[:each]
    return chosen


__all__ = ["MEANT", "OPERATORS", "UNDECLARED", "Mutant", "changes", "every", "mutants", "program"]
