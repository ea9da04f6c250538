"""Candidates for what an older Keras or TensorFlow had: names of layers, arguments and modules, the order of arguments, and sizes as objects."""

from __future__ import annotations

import ast
import difflib
import inspect
import sys
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Finding, syntax
from ...flow.syntax import called
from ...rules.facts.contracts import CallMisfit
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lines import LossOfModel, NoAttribute, UnknownArguments, UnknownName
from ...rules.facts.reasons import RowsWanted
from ...rules.words import listed
from ..edits import Edit, Loss
from ..edits.expression import MODULE
from ..text.arguments import argument
from ..text.source import class_of, nodes, parents
from .edits import Made, of
from .line import Line, lines_at, lines_of

# None: nothing takes its place.
_TODAY = {
    "lr": "learning_rate", "decay": None, "nb_filter": "filters", "filter_length": "kernel_size", "border_mode": "padding",
    "subsample": "strides", "subsample_length": "strides", "stride": "strides", "pool_length": "pool_size", "output_dim": "units",
    "init": "kernel_initializer", "inner_init": "recurrent_initializer", "inner_activation": "recurrent_activation", "bias": "use_bias",
    "W_regularizer": "kernel_regularizer", "U_regularizer": "recurrent_regularizer", "b_regularizer": "bias_regularizer",
    "W_constraint": "kernel_constraint", "b_constraint": "bias_constraint", "dropout_W": "dropout", "dropout_U": "recurrent_dropout",
    "atrous_rate": "dilation_rate", "p": "rate", "sigma": "stddev", "input": "inputs", "output": "outputs", "input_length": None,
}  # fmt: skip
# Layers that other ones have taken the place of.
_LAYERS = {
    "CuDNNLSTM": "LSTM", "CuDNNGRU": "GRU", "AtrousConvolution1D": "Conv1D", "AtrousConvolution2D": "Conv2D",
    "AtrousConv2D": "Conv2D", "Deconvolution2D": "Conv2DTranspose", "Deconvolution3D": "Conv3DTranspose",
}  # fmt: skip
# What merged tensors in Keras 1, by its mode.
_MERGES = {"concat": "concatenate", "sum": "add", "mul": "multiply", "ave": "average", "max": "maximum"}
_OLDER = "These names are from an older version of Keras."


@of(UnknownArguments)
def arguments_of_today(evidence: Evidence, finding: Finding, fact: UnknownArguments) -> Made:
    """The arguments of a call by their names of today."""
    for line in lines_of(evidence):
        if isinstance(line.node, ast.Call):
            kind = getattr(_layers(evidence), called(line.node), None)
            yield from _renamed(line, evidence, line.node, _old(kind, line.node) or _known(line.node))


@of(CallMisfit)
def required_of_today(evidence: Evidence, finding: Finding, fact: CallMisfit) -> Made:
    """The same where an argument that is required is given under its old name."""
    for line in lines_of(evidence):
        if isinstance(line.node, ast.Call):
            old = _old(getattr(_layers(evidence), called(line.node), None), line.node)
            if any(_TODAY[word] in fact.missing for word in old):
                yield from _renamed(line, evidence, line.node, old)


def _layers(evidence: Evidence) -> Any:
    return getattr(sys.modules.get(evidence.framework), "layers", None)


def _known(call: ast.Call) -> list[str]:
    given = {word.arg for word in call.keywords}
    return [word.arg for word in call.keywords if word.arg in _TODAY and _TODAY[word.arg] not in given]


def _old(kind: Any, call: ast.Call) -> list[str]:
    if not isinstance(kind, type):
        return []
    taken = _taken(kind)
    return [word for word in _known(call) if word not in taken and (_TODAY[word] is None or _TODAY[word] in taken)]


def _taken(kind: type) -> set[str]:
    return set().union(*(inspect.signature(vars(one).get("__init__", object)).parameters for one in kind.__mro__ if one is not object))


def _renamed(line: Line, evidence: Evidence, failed: ast.Call, old: list[str]) -> Made:
    if not old:
        return
    calls = {failed: old}
    for call in nodes(line.scope, ast.Call):
        words = _old(getattr(_layers(evidence), called(call), None), call)
        within = any(call in ast.walk(other) or other in ast.walk(call) for other in calls)
        if words and not within:
            calls[call] = words
    edits = []
    for call, words in calls.items():
        kept: list[tuple[Any, str]] = []
        for word in call.keywords:
            name = _TODAY[word.arg or ""] if word.arg in words else word.arg
            kept += [(name, line.source.of(word.value))] if name else []
        written = [*map(line.source.of, call.args), *(f"{name}={value}" for name, value in kept)]
        edits.append(line.edit(call, f"{ast.unparse(call.func)}({', '.join(written)})"))
    every = dict.fromkeys(word for words in calls.values() for word in words)
    changes = [f"{word} is {_TODAY[word]} now" if _TODAY[word] else f"{word} is gone" for word in every]
    yield f"Use today's arguments of {', '.join(dict.fromkeys(map(called, calls)))}: {', '.join(changes)}", edits, _OLDER


@of(UnknownName)
def as_spelled(evidence: Evidence, finding: Finding, fact: UnknownName) -> Made:
    """The name that was meant: in the line that raised, or the loss in ``compile``."""
    for near in fact.near[:2]:
        title, why = f"Use '{near}' instead of '{fact.name}'", "Of all names it is most like the one that is written."
        if fact.what == "loss":
            yield title, [Loss("loss", loss=near, was=fact.name)], why
            continue
        for line in lines_of(evidence)[:1]:
            found = [item for item in nodes(line.scope, ast.Constant) if item.value == fact.name]
            if found:
                yield title, [line.edit(item, f'"{near}"') for item in found], why


@of(NoAttribute)
def attribute_as_spelled(evidence: Evidence, finding: Finding, fact: NoAttribute) -> Made:
    """The attribute that was meant, wherever the function asks for the other."""
    for line in lines_of(evidence) if fact.near else ():
        found = [item for item in nodes(line.scope, ast.Attribute) if item.attr == fact.name]
        if found:
            edits = [line.edit(item, f"{ast.unparse(item.value)}.{fact.near[0]}") for item in found]
            yield f"Use {fact.near[0]} instead of {fact.name}", edits, "Of all names there it is most like the one that is written."
            return


@of(UnknownArguments)
def argument_as_spelled(evidence: Evidence, finding: Finding, fact: UnknownArguments) -> Made:
    """The argument that was meant: one that the layer has, and the call does not pass."""
    for line in lines_of(evidence):
        call = line.node
        kind = getattr(_layers(evidence), called(call), None) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(kind, type):
            continue
        given = {word.arg for word in call.keywords}
        for word in call.keywords:
            near = difflib.get_close_matches(word.arg or "", sorted(_taken(kind) - given - {"self"}), 1, 0.8) if word.arg in fact.names else []
            if near and word.arg not in _TODAY:
                written = [*map(line.source.of, call.args)]
                written += [f"{near[0] if one is word else one.arg}={line.source.of(one.value)}" for one in call.keywords]
                new = f"{ast.unparse(call.func)}({', '.join(written)})"
                yield f"Use {near[0]} instead of {word.arg}", [line.edit(call, new)], f"{called(call)} has no {word.arg}."


@of(NoAttribute)
def layer_of_today(evidence: Evidence, finding: Finding, fact: NoAttribute) -> Made:
    """The layer that has taken the place of one, in every line of the function that makes it."""
    layers = _layers(evidence)
    new = _LAYERS.get(fact.name, "")
    for line in lines_of(evidence):
        found = [item for item in ast.walk(line.scope) if isinstance(item, ast.Attribute) and item.attr == fact.name]
        if hasattr(layers, new) and found:
            yield (
                f"Use {new} instead of {fact.name}",
                [line.edit(item, f"{ast.unparse(item.value)}.{new}") for item in found],
                "It has taken the place of the older layer.",
            )
            return
        calls = [item for item in ast.walk(line.scope) if isinstance(item, ast.Call) and item.func in found]
        if fact.name == "TimeDistributedDense" and calls:
            made = []
            for call in calls:
                module = ast.unparse(call.func.value)  # type: ignore[attr-defined]
                written = ", ".join(line.source.of(word) for word in (*call.args, *call.keywords))
                made.append(line.edit(call, f"{module}.TimeDistributed({module}.Dense({written}))"))
            yield "Use TimeDistributed(Dense(...)) instead of TimeDistributedDense", made, _OLDER
            return


@of(NoAttribute)
def merge_of_today(evidence: Evidence, finding: Finding, fact: NoAttribute) -> Made:
    """A function of its own for each way in which Keras 1 merged tensors."""
    if fact.name != "merge":
        return
    for line in lines_of(evidence):
        for call in (item for item in ast.walk(line.scope) if isinstance(item, ast.Call) and called(item) == "merge"):
            words = {word.arg: word.value for word in call.keywords}
            mode, axis = words.get("mode"), words.get("concat_axis")
            new = _MERGES.get(mode.value, "") if isinstance(mode, ast.Constant) and isinstance(mode.value, str) else ""
            if new and isinstance(call.func, ast.Attribute) and len(call.args) == 1 and set(words) <= {"mode", "concat_axis", "name"}:
                more = f", axis={line.source.of(axis)}" if axis is not None and new == "concatenate" else ""
                text = f"{ast.unparse(call.func.value)}.{new}({line.source.of(call.args[0])}{more})"
                yield f"Use {new} instead of merge at {line.at}", [line.edit(call, text)], _OLDER
                return


def module_of_today(evidence: Evidence, finding: Finding) -> Made:
    """A layer where it is today: not in a module of experiments any more."""
    fact = finding.fact
    package = sys.modules.get(evidence.framework)
    if not isinstance(fact, NoAttribute) or package is None:
        return
    for line in lines_of(evidence):
        old = ast.unparse(line.node) if isinstance(line.node, ast.Attribute) else ""
        chains = [item for item in nodes(line.scope, ast.Attribute) if old and ast.unparse(item).startswith(f"{old}.")]
        for item in chains:
            if hasattr(package.layers, item.attr) and isinstance(line.node, ast.Attribute):
                yield (
                    f"Use {ast.unparse(line.node.value)}.{item.attr} instead of {ast.unparse(item)}",
                    [line.edit(item, f"{ast.unparse(line.node.value)}.{item.attr}")],
                    "The layer has moved out of the experimental modules.",
                )


# What came first in the Keras of before, in this order.
_OF_A_WEIGHT = ("name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint")


def weight_by_name(evidence: Evidence, finding: Finding) -> Made:
    """``add_weight`` as Keras 3 has it, in all calls of a class at once: its arguments by name."""
    for line in (lines_of(evidence) or lines_at(evidence, finding.location))[:1]:
        owner = line.owner()
        calls = [call for call in nodes(owner, ast.Call) if called(call) == "add_weight" and len(call.args) <= len(_OF_A_WEIGHT)]
        old = [call for call in calls if call.args and _is_text(call.args[0])]
        metric = isinstance(owner, ast.ClassDef) and any(ast.unparse(base).endswith("Metric") for base in owner.bases)
        bare = [call for call in calls if metric and argument(call, "initializer", _order(call in old)) is None]
        found = [call for call in calls if call in old or call in bare]
        if found:
            at = tuple(dict.fromkeys(str(call.lineno) for call in found))
            what = "the arguments of add_weight by name" if old else "an initializer to add_weight"
            yield (
                f"Pass {what} at line{'s' * (len(at) > 1)} {listed(at)}",
                [line.edit(call, _by_name(line, call, call in old, call in bare)) for call in found],
                f"In Keras 3, {'the shape comes first, and the name is a keyword' if old else 'the weight of a metric has no default initializer'}.",
            )


def _order(old: bool) -> list[str]:
    return [*_OF_A_WEIGHT] if old else ["shape", "initializer"]


def _by_name(line: Line, call: ast.Call, old: bool, bare: bool) -> str:
    given = [f"{name}={line.source.of(one)}" if old else line.source.of(one) for name, one in zip(_OF_A_WEIGHT, call.args, strict=False)]
    more = ['initializer="zeros"'] * bare
    return f"{line.source.of(call.func)}({', '.join([*given, *map(line.source.of, call.keywords), *more])})"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def shape_of_today(evidence: Evidence, finding: Finding) -> Made:
    """Sizes as plain numbers and shapes as tuples, in a function that asks them for ``value``, ``as_list()`` or ``get_shape()``."""
    if getattr(evidence.failure, "name", None) not in _GONE:
        return
    for line in (lines_of(evidence) or lines_at(evidence, finding.location))[:1]:
        found = [(node, new) for node in nodes(line.scope, ast.expr) if (new := _today(node)) is not None]
        # Of a chain, the whole.
        inner = {part for node, _ in found for part in nodes(node, ast.expr) if part is not node}
        whole = [(node, new) for node, new in found if node not in inner]
        if whole:
            said = dict.fromkeys(f"{ast.unparse(new)} instead of {ast.unparse(node)}" for node, new in whole)
            yield (f"Use {', '.join(said)}", [line.edit(node, ast.unparse(new)) for node, new in whole], "Shapes are tuples of plain numbers in this version.")


_GONE = frozenset({"value", "as_list", "get_shape", "_keras_shape"})


def _today(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Attribute) and node.attr == "value" and isinstance(node.value, ast.Subscript):
        shape = node.value.value
        return ast.Subscript(_today(shape) or shape, node.value.slice, ast.Load()) if "shape" in ast.unparse(shape) else None
    if isinstance(node, ast.Attribute) and node.attr == "_keras_shape":
        return ast.Attribute(node.value, "shape", ast.Load())
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args or node.keywords:
        return None
    if node.func.attr == "get_shape":
        return ast.Attribute(node.func.value, "shape", ast.Load())
    if node.func.attr == "as_list":
        return ast.Call(ast.Name("list", ast.Load()), [_today(node.func.value) or node.func.value], [])
    return None


@of(LossOfModel)
def loss_in_layer(evidence: Evidence, finding: Finding, fact: LossOfModel) -> Made:
    """A loss of tensors of the graph, added in a layer that the output passes through."""
    for line in lines_of(evidence):
        whole = next((item for item in line.around(ast.Expr) if item.value is line.node), None)
        call = line.call("add_loss")
        top = next((item for item in line.source.tree.body if line.scope in ast.walk(item)), None)
        if call is None or whole is None or top is None or len(call.args) != 1 or not isinstance(call.func, ast.Attribute):
            continue
        model, name = line.source.of(call.func.value), "AddedLoss"
        made = f"{MODULE}.Model({model}.input, {name}()([{model}.output, {line.source.of(call.args[0])}]), name={model}.name)"
        layer = f"class {name}({MODULE}.layers.Layer):\n    def call(self, inputs):\n        outputs, loss = inputs\n        self.add_loss(loss)\n        return outputs\n\n"
        written = class_of(line.source.tree, name)
        if written is not None and ast.unparse(written).partition(":")[2] != ast.unparse(syntax.parse(layer.replace(MODULE, "keras"))).partition(":")[2]:
            continue  # another class has the name
        edits: list[Edit] = [line.edit(whole, f"{model} = {made}", evidence.framework)]
        if written is None:
            edits.insert(0, line.before(top, layer, evidence.framework))
        yield (f"Add the loss in a layer that the output of {model} passes through: {name}", edits, "Inside call, add_loss accepts tensors of the graph.")


@of(UnknownArguments)
def moved_to_call(evidence: Evidence, finding: Finding, fact: UnknownArguments) -> Made:
    """Arguments of a layer's call where the layer is called, and not where it is made."""
    if not fact.of_call or {*fact.of_call} != {*fact.names}:
        return
    for line in lines_of(evidence)[:1]:
        made = line.node
        if not isinstance(made, ast.Call) or not {*fact.names} <= {word.arg for word in made.keywords}:
            continue
        kept = [*map(ast.unparse, made.args), *(ast.unparse(word) for word in made.keywords if word.arg not in fact.names)]
        new = f"{line.source.of(made.func)}({', '.join(kept)})"
        moved = ", ".join(ast.unparse(word) for word in made.keywords if word.arg in fact.names)
        holder = parents(line.source.tree).get(made)
        edits: list[Edit] = []
        if isinstance(holder, ast.Call) and holder.func is made:
            given = [*map(line.source.of, holder.args), *(ast.unparse(word) for word in holder.keywords)]
            edits = [line.edit(holder, f"{new}({', '.join([*given, moved])})")]
        elif isinstance(holder, ast.Assign):
            name = ast.unparse(holder.targets[0])
            within = line.source.tree if name.startswith("self.") else line.scope
            calls = [call for call in nodes(within, ast.Call) if ast.unparse(call.func) == name]
            edits = [line.edit(made, new), *(line.more(call, moved) for call in calls)] if calls else []
        if edits:
            yield f"Pass {moved} where the layer is called", edits, "The constructor does not have this argument."


@of(OperationRaised)
def rows_for_states(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The number of samples, where a recurrent layer took the tensor itself in an older Keras."""
    if isinstance(fact.reason, RowsWanted):
        for line in lines_of(evidence)[:1]:
            call = line.node
            if isinstance(call, ast.Call) and len([*call.args, *call.keywords]) == 1:
                given = next(iter([*call.args, *(word.value for word in call.keywords)]))
                yield (
                    f"Pass the number of samples at {line.at}: the first size of {ast.unparse(given)}",
                    [line.edit(call, f"{line.source.of(call.func)}({MODULE}.shape({line.source.of(given)})[0])", line.module())],
                    "In Keras 3, the states are made from the batch size.",
                )
