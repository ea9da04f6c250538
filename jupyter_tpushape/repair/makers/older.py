"""Candidates for what an older Keras or TensorFlow took: weights named first, sizes of shapes as objects, losses of a finished model."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, syntax
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lines import LossOfModel, UnknownArguments
from ...rules.facts.reasons import RowsWanted
from ...rules.words import listed
from ..edits import Edit
from ..edits.expression import MODULE
from ..text.source import class_of, nodes, parents
from .edits import Made, of
from .line import Line, lines_at, lines_of

# What came first in the Keras of before, in this order.
_OF_A_WEIGHT = ("name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint")


def weight_by_name(evidence: Evidence, finding: Finding) -> Made:
    """The arguments of ``add_weight`` by name, where its name comes first: in all calls of a class at once."""
    for line in (lines_of(evidence) or lines_at(evidence, finding.location))[:1]:
        found = [
            call
            for call in nodes(line.owner(), ast.Call)
            if called(call) == "add_weight" and call.args and _is_text(call.args[0]) and len(call.args) <= len(_OF_A_WEIGHT)
        ]
        if found:
            yield (
                f"Pass the arguments of add_weight by name at line{'s' * (len(found) > 1)} {listed(tuple(str(call.lineno) for call in found))}",
                [line.edit(call, _by_name(line, call)) for call in found],
                "In Keras 3, the shape comes first, and the name is a keyword.",
            )


def _by_name(line: Line, call: ast.Call) -> str:
    given = [f"{name}={line.source.of(one)}" for name, one in zip(_OF_A_WEIGHT, call.args, strict=False)]
    return f"{line.source.of(call.func)}({', '.join([*given, *map(line.source.of, call.keywords)])})"


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
            yield (
                f"Use {', '.join(said)}",
                [line.edit(node, ast.unparse(new)) for node, new in whole],
                "Shapes are tuples of plain numbers in this version.",
            )


_GONE = frozenset({"value", "as_list", "get_shape", "_keras_shape"})


def _today(node: ast.expr) -> ast.expr | None:
    """What a size or a shape is written as today; ``None`` where that is no question."""
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
        layer = (
            f"class {name}({MODULE}.layers.Layer):\n    def call(self, inputs):\n        outputs, loss = inputs\n"
            "        self.add_loss(loss)\n        return outputs\n\n"
        )
        written = class_of(line.source.tree, name)
        if (
            written is not None
            and ast.unparse(written).partition(":")[2] != ast.unparse(syntax.parse(layer.replace(MODULE, "keras"))).partition(":")[2]
        ):
            continue  # another class has the name
        edits: list[Edit] = [line.edit(whole, f"{model} = {made}", evidence.framework)]
        if written is None:
            edits.insert(0, line.before(top, layer, evidence.framework))
        yield (
            f"Add the loss in a layer that the output of {model} passes through: {name}",
            edits,
            "Inside call, add_loss accepts tensors of the graph.",
        )


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
