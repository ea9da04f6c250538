"""Candidates for outputs that compile or the data call by other names than they have."""

from __future__ import annotations

import ast
import difflib
import itertools
from collections.abc import Iterator
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Shape, Spec
from ...flow.syntax import called
from ...rules.compared import ends, kind_of, seen_at
from ...rules.facts.compiled import LabelsInDict, LossesSorted, LossWeightsApart, NamelessOutputs, OutputsWithoutLoss, UnknownOutputs, WrongNumber
from ...rules.facts.exchanged import LabelsExchanged
from ...rules.facts.ranges import LabelOutOfRange, LabelScale
from ..edits import ExchangeInputs, Keyed, Listed, MoreLosses, OneTrained, RenamedKeys, Reordered
from ..text.source import nodes
from .edits import Made, configure, of, transform
from .line import Line, assigned_to, lines_at, listed, short


@of(UnknownOutputs)
def named_outputs(evidence: Evidence, finding: Finding, fact: UnknownOutputs) -> Made:
    """The layers that make the outputs named as compile calls them."""
    pairs = {}
    for node in evidence.flow.nodes:
        if node.kind == "layer" and node.name in fact.outputs:
            held = [name for name in _held_by(evidence, node) if name in fact.unknown]
            if len(held) == 1:
                pairs[node.name] = held[0]
    if sorted(pairs.values()) == sorted(fact.unknown):
        ordered = [layer for layer in fact.outputs if layer in pairs]
        yield (
            f"Name the output layers {' and '.join(repr(pairs[layer]) for layer in ordered)}",
            [configure(layer, name=pairs[layer]) for layer in ordered],
            "Keras names each output after the layer that creates it.",
        )


@of(OutputsWithoutLoss)
def keyed_outputs(evidence: Evidence, finding: Finding, fact: OutputsWithoutLoss) -> Made:
    """Outputs in a dict, by name, where the model returns them in a list."""
    for line, given in _returned(evidence, fact.outputs[0]):
        elts = listed(given) if isinstance(given, (ast.List, ast.Tuple)) else []
        if len(elts) == len(fact.outputs):
            pairs = ", ".join(f"{name!r}: {ast.unparse(one)}" for name, one in zip(fact.outputs, elts, strict=True))
            yield (f"Return the outputs in a dict at line {given.lineno}", [line.edit(given, f"{{{pairs}}}")], "Outputs in a dict may go without a loss.")


@of(NamelessOutputs)
def keyed_results(evidence: Evidence, finding: Finding, fact: NamelessOutputs) -> Made:
    """The results of ``call`` in a dict, by the names of the losses."""
    makers = [evidence.flow.node(edge.source) for node in evidence.flow.nodes if node.kind == "output" for edge in evidence.flow.into(node.id)]
    for line in lines_at(evidence, makers[0].called)[:1] if makers else ():
        given = [item.value for item in nodes(line.scope, ast.Return) if isinstance(item.value, ast.Tuple)]
        parts = given[0].elts if len(given) == 1 and isinstance(given[0], ast.Tuple) else []
        keys = [[name for name in fact.names if name in _read(line, part)] for part in parts]
        if len(parts) == len(fact.names) == fact.count and all(len(found) == 1 for found in keys) and len({found[0] for found in keys}) == len(keys):
            pairs = ", ".join(f'"{found[0]}": {line.source.of(part)}' for found, part in zip(keys, parts, strict=True))
            yield (
                f"Return the outputs in a dict at line {given[0].lineno}",
                [line.edit(given[0], f"{{{pairs}}}")],
                "Its keys are then the names of the outputs.",
            )


def _read(line: Line, node: ast.expr) -> set[str]:
    made = assigned_to(line, node) if isinstance(node, ast.Name) else None
    parts = [node, *([made] if made is not None else [])]
    return {item.id if isinstance(item, ast.Name) else item.attr for part in parts for item in nodes(part, (ast.Name, ast.Attribute))}


def _returned(evidence: Evidence, output: str) -> Iterator[tuple[Line, ast.expr]]:
    first = next((node for node in evidence.flow.nodes if node.kind == "layer" and node.name == output), None)
    for line in lines_at(evidence, first.called or first.location)[:1] if first is not None else ():
        for call in nodes(line.scope, ast.Call):
            given = [word.value for word in call.keywords if word.arg == "outputs"] or call.args[1:2]
            if called(call) in ("Model", "Functional") and given:
                yield line, given[0]


@of(WrongNumber)
def all_outputs(evidence: Evidence, finding: Finding, fact: WrongNumber) -> Made:
    """The tensors that the program makes and never reads as outputs."""
    for line, given in _returned(evidence, fact.outputs[0]):
        read = {item.id for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load)}
        made = [
            item.targets[0].id
            for item in nodes(line.scope, ast.Assign)
            if isinstance(item.targets[0], ast.Name) and isinstance(item.value, ast.Call) and isinstance(item.value.func, ast.Call)
        ]
        unread = [name for name in dict.fromkeys(made) if name not in read]
        kept = [ast.unparse(one) for one in listed(given) or [given]] if len(unread) == fact.given - len(fact.outputs) else []
        if not len(fact.outputs) < fact.given == len(kept) + len(unread):
            continue
        how = "as well" if kept else f"instead of {short(given)}"
        # In the order in which the program makes them, as its labels are likely to be.
        for order in dict.fromkeys((tuple(sorted([*kept, *unread], key=lambda name: [*made, name].index(name))), (*kept, *unread))):
            yield (
                f"Return {' and '.join(unread)} from the model {how} at line {given.lineno}: {', '.join(order)}",
                [line.edit(given, f"[{', '.join(order)}]")],
                "The program creates them and never uses them.",
            )


@of(WrongNumber)
def one_trained(evidence: Evidence, finding: Finding, fact: WrongNumber) -> Made:
    """The one loss there is for the one output that the labels fit."""
    if fact.given != 1 or len(evidence.y) != 1 or len(evidence.outputs) != len(fact.outputs):
        return
    label = evidence.y[0][1].shape
    fit = [index for index, (_, spec) in enumerate(evidence.outputs) if label and spec.shape and label in (spec.shape, spec.shape[:-1], (*spec.shape[:-1], 1))]
    if len(fit) == 1:
        name = fact.outputs[fit[0]]
        yield (
            f"Pass None as the loss of the other output{'s' if len(fact.outputs) > 2 else ''}, and train only {name}",
            [OneTrained("model", fit[0], len(fact.outputs))],
            f"The labels match {name} only.",
        )


@of(WrongNumber)
def loss_of_each(evidence: Evidence, finding: Finding, fact: WrongNumber) -> Made:
    """A loss for each output that has none, by its activation and its labels."""
    if fact.what != "loss" or not fact.untrained or len(evidence.outputs) != len(evidence.y):
        return
    ends = [node for node in evidence.flow.nodes if node.kind == "output"]
    stats = evidence.label_stats
    more = []
    for node, (_, made), (path, label) in list(zip(ends, evidence.outputs, evidence.y, strict=True))[fact.given :]:
        giver = next((evidence.flow.node(edge.source) for edge in evidence.flow.into(node.id)), None)
        more.append(_loss_for(giver, made.shape, label, getattr(stats.get(path), "whole", None)) if giver is not None else None)
    losses = [loss for loss in more if loss is not None]
    if losses and len(losses) == len(more):
        pairs = [f"{loss} for {name}" for loss, name in zip(losses, fact.outputs[fact.given :], strict=True)]
        yield (
            f"Add the missing loss{'es' if len(pairs) > 1 else ''} in compile: {', '.join(pairs)}",
            [MoreLosses("model", losses)],
            "Chosen by the activation of the output and the form of its labels.",
        )


def _loss_for(giver: Node, predictions: Shape | None, labels: Spec, whole: bool | None) -> str | None:
    activation, y = giver.config.get("activation"), labels.shape
    if not predictions or not y:
        return None
    alike = y == predictions or (predictions[-1] == 1 and y == predictions[:-1])
    if activation == "softmax":
        counted = y in (predictions[:-1], (*predictions[:-1], 1)) and (whole or labels.dtype.startswith(("int", "uint")))
        return "sparse_categorical_crossentropy" if counted else "categorical_crossentropy" if alike else None
    if activation == "sigmoid":
        return "binary_crossentropy" if alike else None
    return "mse" if alike and activation in (None, "linear", "relu", "tanh") and labels.dtype.startswith("float") else None


@of(UnknownOutputs)
def returned_keys(evidence: Evidence, finding: Finding, fact: UnknownOutputs) -> Made:
    """The keys of the dict that a model returns, where compile and the data call its outputs by the layers that make them."""
    made = {}
    for node in evidence.flow.nodes:
        if node.kind == "output" and node.name in fact.outputs:
            giver = next((evidence.flow.node(edge.source) for edge in evidence.flow.into(node.id)), None)
            if giver is not None and giver.kind == "layer" and giver.name in fact.unknown:
                made[node.name] = giver
    keys = {str(path[1]) for path, _ in evidence.y if len(path) == 2}
    if len(made) != len(fact.unknown) or not keys <= {*fact.unknown, *fact.outputs} - {*made}:
        return
    first = next(iter(made.values()))
    for line in lines_at(evidence, first.called)[:1]:
        for given in nodes(line.scope, ast.Dict):
            written = {item.value: item for item in given.keys if isinstance(item, ast.Constant)}
            if set(fact.outputs) == set(written):
                said = " and ".join(f"{old} to {node.name}" for old, node in made.items())
                yield (
                    f"Rename the keys that the model returns: {said}",
                    [line.edit(written[old], repr(node.name)) for old, node in made.items()],
                    "compile and the labels use the names of the layers.",
                )


@of(UnknownOutputs)
def renamed_keys(evidence: Evidence, finding: Finding, fact: UnknownOutputs) -> Made:
    """The keys of labels, or of what compile takes."""
    given = [str(path[1]) for path, _ in evidence.y if len(path) == 2]
    told = evidence.facts.get("compile")
    taken = getattr(getattr(told, fact.what, None), "names", None) or () if fact.what in ("loss", "metrics") else given
    order = _best(fact.unknown, [name for name in fact.outputs if name not in taken])
    if not order:
        return
    renamed = " and ".join(f"{old} to {new}" for old, new in order.items())
    if fact.what == "labels" and len(given) == len(evidence.y):
        names = {**{name: name for name in given if name in fact.outputs}, **{new: old for old, new in order.items()}}
        edit = ExchangeInputs("y", {name: names[name] for name in fact.outputs if name in names})
        yield f"Rename the labels: {renamed}", [edit], "Keras matches labels and outputs by name."
    elif fact.what in ("loss", "metrics"):
        labels = {new: old for old, new in order.items() if old in given} if len(given) == len(evidence.y) else {}
        kept = {name: name for name in given if name in fact.outputs}
        if len(labels) == len(order) == len(given) - len(kept):
            yield (
                f"Rename the keys in compile and in the labels: {renamed}",
                [RenamedKeys("model", order), ExchangeInputs("y", {name: (labels | kept)[name] for name in fact.outputs if name in labels | kept})],
                "Keras matches losses, labels and outputs by name.",
            )
        yield f"Rename the keys in compile: {renamed}", [RenamedKeys("model", order)], "Keras matches losses and outputs by name."


@of(LabelsInDict)
def one_entry(evidence: Evidence, finding: Finding, fact: LabelsInDict) -> Made:
    """The only entry of a dict that the loss can read as labels."""
    loss, out = evidence.failed, evidence.outputs[0][1].shape or ()
    kind = kind_of(loss) if loss is not None and loss.kind == "loss" else ""
    told = evidence.facts.get("compile")
    rows = ((), (1,)) if kind == "sparse" and len(out) == 2 else (out[1:],) if kind == "categorical" else (out[1:], out[1:-1])
    inputs = {id(value) for path, _ in evidence.x for value in seen_at(evidence, path)}
    fits = [path for path, spec in evidence.y if spec.shape and spec.shape[1:] in rows and not any(id(one) in inputs for one in seen_at(evidence, path))]
    if len(fits) == 1 and len(fits[0]) == 2 and told is not None:
        yield f"Use the entry {fits[0][1]!r} as the labels", [transform(("y",), "entry", name=fits[0][1])], "The others do not have the shape of labels."


@of(LossWeightsApart)
def matched_weights(evidence: Evidence, finding: Finding, fact: LossWeightsApart) -> Made:
    """Loss weights by the names of the outputs, or in their order."""
    why = "Keras matches losses and outputs by name."
    names = list(fact.outputs)
    if fact.kind == "missing":
        renamed = _best(fact.unknown, list(fact.missing))
        if renamed:
            said = " and ".join(f"{old} to {new}" for old, new in renamed.items())
            yield f"Rename the keys in compile: {said}", [RenamedKeys("model", renamed)], why
        if not fact.unknown:
            yield (f"Add a loss weight of 1 for {' and '.join(fact.missing)}", [Keyed("model", "loss_weights", names, 1.0)], "1 leaves a loss as it is.")
    elif fact.kind in ("number", "all") and fact.count == 1:
        edits = [Keyed("model", "loss", names)]
        if fact.missing and fact.given:
            edits.append(Keyed("model", "loss_weights", names, 1.0))
        yield "Pass the loss once for each output: a dict by output name", edits, why
    elif fact.kind == "order" and fact.given:
        yield (
            f"Pass the loss weights in a list, in the order of the outputs: {', '.join(names)}",
            [Listed("model", "loss_weights", names)],
            "Lists are matched by position.",
        )
    elif fact.kind == "order":
        yield (
            "Pass the loss weights in a dict with the keys of the losses",
            [Keyed("model", "loss_weights", list(fact.losses))],
            "Dicts with the same keys are matched by key.",
        )


@of(LossesSorted)
def keyed_losses(evidence: Evidence, finding: Finding, fact: LossesSorted) -> Made:
    """The losses in a dict, by the keys of the outputs, and the weights with them."""
    names = list(fact.written)
    edits = [Keyed("model", argument, names) for argument in ("loss", "loss_weights")[: 2 if fact.weights else 1]]
    said = "losses and their weights" if fact.weights else "losses"
    yield f"Pass the {said} in a dict by output name", edits, "Dicts with the same keys are matched by key."


@of(LabelsExchanged)
def exchanged_pair(evidence: Evidence, finding: Finding, fact: LabelsExchanged) -> Made:
    """The labels of two outputs in each other's place."""
    keys = [path[1] for path, _ in evidence.y if len(path) == 2]
    if len(keys) == len(evidence.y) and len(fact.path) == len(fact.beside) == 2:
        new = {key: {fact.path[1]: fact.beside[1], fact.beside[1]: fact.path[1]}.get(key, key) for key in keys}
        order = new if all(isinstance(key, str) for key in keys) else [new[key] for key in sorted(new)]
        names = f"{fact.classes.name} and {fact.numbers.name}"
        yield f"Swap the labels of {names}", [ExchangeInputs("y", order)], "Each loss then reads the kind of labels that it compares."


def exchanged_labels(evidence: Evidence, finding: Finding) -> Made:
    """The labels of several outputs in the one order in which each loss can read its own."""
    stats = evidence.label_stats
    pairs = [(node, ends(evidence, node)) for node in evidence.losses()]
    if (
        not isinstance(finding.fact, (LabelOutOfRange, LabelScale))
        or not 2 <= len(pairs) == len(evidence.y) <= 4
        or any(len(path) != 2 for path, _ in evidence.y)
        or _sigmoid_elsewhere(evidence)
    ):
        return
    given = [(path, spec, stats.get(path)) for path, spec in evidence.y]
    orders = [
        order
        for order in itertools.permutations(range(len(given)))
        if all(_readable(node, predictions, *given[i][1:]) for (node, (_, predictions)), i in zip(pairs, order, strict=True))
    ]
    at = [[i for i, (path, *_) in enumerate(given) if labels is not None and path == evidence.carried(labels)] for _, (labels, _) in pairs]
    if len(orders) != 1 or not all(len(found) == 1 for found in at):
        return
    keys = [given[found[0]][0][1] for found in at]
    new = {key: given[i][0][1] for key, i in zip(keys, orders[0], strict=True)}
    changed = [evidence.flow.node(out.source).name for key, (_, (_, out)) in zip(keys, pairs, strict=True) if out is not None and new[key] != key]
    order = new if all(isinstance(key, str) for key in keys) else [new[key] for key in sorted(new)]
    yield (f"Swap the labels of {' and '.join(changed)}", [ExchangeInputs("y", order)], "This is the only order in which every loss can read its labels.")


def _sigmoid_elsewhere(evidence: Evidence) -> bool:
    found = [(kind_of(node), evidence.flow.node(out.source).config.get("activation")) for node in evidence.losses() if (out := ends(evidence, node)[1])]
    return ("binary", "sigmoid") not in found and {"binary", "sigmoid"} <= {item for pair in found for item in pair}


def exchanged_losses(evidence: Evidence, finding: Finding) -> Made:
    """The losses of several outputs in the one order in which each can read its labels."""
    stats, told = evidence.label_stats, evidence.facts.get("compile")
    found = [(node, *ends(evidence, node)) for node in evidence.losses()]
    if told is None or not 2 <= len(found) == len(evidence.y) == max(told.loss.count or 0, len(told.loss.names or ())) <= 4:
        return
    kinds = {kind_of(node) for node, _, _ in found}
    given = [(out, y.spec, stats.get(evidence.carried(y))) for _, y, out in found if y is not None and out is not None]
    if len(given) != len(found) or len(kinds) < 2 or (isinstance(finding.fact, LabelScale) and not _sigmoid_elsewhere(evidence)):
        return
    orders = [order for order in itertools.permutations(range(len(found))) if all(_readable(found[new][0], *given[at]) for at, new in enumerate(order))]
    outputs = [evidence.flow.node(out.source).name for out, _, _ in given]
    if told.loss.names:  # the values of a dict stay at their keys, in the order of the dict
        if sorted(told.loss.names) != sorted(outputs) or len(orders) != 1:
            return
        new = {outputs[at]: outputs[source] for at, source in enumerate(orders[0])}
        orders = [tuple(told.loss.names.index(new[name]) for name in told.loss.names)]
        outputs = [*told.loss.names]
    if len(orders) == 1 and orders[0] != tuple(range(len(found))):
        moved = [outputs[at] for at, new in enumerate(orders[0]) if at != new]
        yield (
            f"Swap the losses of {', '.join(moved[:-1])} and {moved[-1]} in compile",
            [Reordered("model", "loss", [*orders[0]])],
            "This is the only order in which every loss can read its labels.",
        )


def reordered_labels(evidence: Evidence, finding: Finding) -> Made:
    """The labels of several outputs in the one order in which their shapes fit."""
    stats = evidence.label_stats
    outputs = [spec.shape for _, spec in evidence.outputs]
    paths = [path for path, _ in evidence.y]
    if not 2 <= len(outputs) == len(paths) <= 5 or any(len(path) != 2 for path in (*paths, *(path for path, _ in evidence.outputs))):
        return
    ends = [path[1] for path, _ in evidence.outputs]
    if all(isinstance(path[1], str) for path in paths):
        if {path[1] for path in paths} != set(ends):
            return
    elif [path[1] for path in paths] != list(range(len(paths))):
        return
    else:
        ends = list(range(len(paths)))
    by_key = {path[1]: (spec, stats.get(path)) for path, spec in evidence.y}
    orders = [
        dict(zip(ends, order, strict=True))
        for order in itertools.permutations(ends)
        if all(_shaped(shape, *by_key[key]) for shape, key in zip(outputs, order, strict=True))
    ]
    # Labels that fit stay where they are.
    orders.sort(key=lambda order: sum(new != old for new, old in order.items()))
    moves = [sum(new != old for new, old in order.items()) for order in orders]
    if moves and moves[0] and moves.count(moves[0]) == 1:
        order = orders[0]
        told = evidence.facts.get("compile")
        names = dict(zip(ends, told.outputs, strict=True)) if told is not None and len(told.outputs) == len(ends) else {}
        moved = [str(names.get(new, f"output {new}")) for new, old in order.items() if new != old]
        yield (
            f"Swap the labels of {', '.join(moved[:-1])} and {moved[-1]}",
            [ExchangeInputs("y", order if isinstance(ends[0], str) else [order[key] for key in ends])],
            f"This is the only order in which the shapes of labels and outputs match{', and labels that fit stay' * (len(orders) > 1)}.",
        )


def _shaped(output: Shape | None, labels: Spec, stats: Any) -> bool:
    y, p = labels.shape, output
    if not y or not p or y == p:
        return bool(y and p)
    classes = "int" in labels.dtype or bool(stats is not None and stats.whole)
    return y in (p[:-1], (*p[:-1], 1)) and (classes or p[-1] == 1)


def _readable(node: Node, predictions: Edge | None, labels: Spec, stats: Any) -> bool:
    y, p, kind = labels.shape, predictions.spec.shape if predictions is not None else None, kind_of(node)
    if not y or not p or stats is None or stats.minimum is None:
        return False
    if kind == "sparse":
        return bool(stats.whole and stats.minimum >= 0 and stats.maximum < (p[-1] or 0) and y in (p[:-1], (*p[:-1], 1)))
    alike = y == p or (p[-1] == 1 and y == p[:-1])
    return alike and (kind == "regression" or (0 <= stats.minimum <= stats.maximum <= 1))


def _best(unknown: tuple[str, ...], names: list[str]) -> dict[str, str]:
    free, found = list(names), {}
    for name in unknown:
        if not free:
            return {}
        found[name] = max(free, key=lambda other: difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio())
        free.remove(found[name])
    return found


def _held_by(evidence: Evidence, node: Node) -> list[str]:
    found = []
    for line in lines_at(evidence, node.called or node.location)[:1]:
        for statement in line.around(ast.Assign, line.scope):
            found += [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return found
