"""Candidates for what the values of an output and of labels mean: classes, their numbers, probabilities or logits."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, elements
from ...flow.syntax import called
from ...rules.compared import kind_of
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lines import LossCalled
from ...rules.facts.loss import LossRaised
from ...rules.facts.ranges import LabelOutOfRange, LabelScale, OutOfRange, RowsAsIndices
from ...rules.facts.reasons import ClassIndices, PerClass
from ...rules.facts.reasons_read import VectorsCounted
from ...rules.facts.scores import ScoresOfOne, SeveralMarked
from ...rules.words import listed
from ..edits import Edit, Loss, ReplaceLayer
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import given_to, nodes, parents
from .edits import Made, append, configure, of, setting, transform, way_to, width_of
from .ends import head_of, highest_of, label_path, loss_node, several, snake, twin
from .line import Line, assigned_to, calls_at, constants, lines_of, short


def of_its_own(evidence: Evidence, finding: Finding) -> Made:
    """Each sample gets the number of its own class, by the labels that the loss is given first."""
    reason = finding.fact.reason if isinstance(finding.fact, OperationRaised) else None
    if not isinstance(reason, PerClass):
        return
    for line in lines_of(evidence):
        arguments = line.scope.args.args if isinstance(line.scope, (ast.FunctionDef, ast.Lambda)) else []
        names = [one.arg for one in arguments if one.arg not in ("self", "cls")]
        labels = next((name for name in names if name in line.specs), names[0] if len(names) == 2 and len(evidence.y) == 1 else "")
        # The name of the labels may stand above the line.
        shape = (line.specs[labels] if labels in line.specs else evidence.y[0][1]).shape if labels else None
        weights = [node for node in line.operands() if (spec := line.spec(node)) is not None and spec.shape == (reason.classes,)]
        if not shape or len(weights) != 1:
            continue
        module = line.module()
        total, take = ("reduce_sum", "gather") if module == "tensorflow" else ("sum", "take")
        seen = (getattr(evidence.sample, "stats", None) or {}).get(evidence.y[0][0]) if len(evidence.y) == 1 else None
        if shape[-1] == reason.classes and len(shape) > 1:
            if seen is not None and not seen.one_hot:
                continue  # a label of several classes, or of none, has no weight of its own
            new = f"{MODULE}.{total}({labels} * {IT}, axis=-1)"
        elif reason.positions or len(shape) == 1 or (len(shape) == 2 and shape[-1] == 1):
            flat = f"{labels}[..., 0]" if shape[-1] == 1 and len(shape) > 1 else labels
            new = f'{MODULE}.{take}({IT}, {MODULE}.cast({flat}, "int32"))'
        else:
            continue
        yield (
            f"Use the entry of {short(weights[0])} for each label's class at {line.at}",
            [line.edit(weights[0], new, module)],
            f"{short(weights[0])} has one value for each of {reason.classes} classes.",
        )


@of(RowsAsIndices)
def index_of_class(evidence: Evidence, finding: Finding, fact: RowsAsIndices) -> Made:
    """The index of the class in place of its one-hot vector."""
    for line, call in calls_at(evidence, fact.operation.called, "gather", "take", "embedding_lookup"):
        if len(call.args) > 1:
            yield (
                f"Use the class index of {short(call.args[1])} at {line.at}: argmax over the last axis",
                [line.edit(call.args[1], f"{MODULE}.argmax({IT}, -1)", line.module())],
                "The lookup then returns one entry per label.",
            )


def more_units(evidence: Evidence, finding: Finding) -> Made:
    """A unit for every class that was seen."""
    head = head_of(evidence, evidence.flow.node(finding.nodes[0]))
    highest = highest_of(finding)
    if head is not None and highest is not None and getattr(finding.fact, "whole", True):
        key = "units" if isinstance(head.config.get("units"), int) else "filters"
        loss = loss_node(evidence, finding)
        if loss is not None and highest == 1 == head.config[key] and head.config.get("activation") == "sigmoid" and not several(evidence):
            yield (
                "Use binary_crossentropy, which expects one probability per label",
                [Loss(loss.id, "binary_crossentropy", was=snake(loss.op))],
                "A single sigmoid unit separates two classes.",
            )
        more = setting(head, key, highest + 1, f", for classes 0 to {highest}", "As many as the sampled labels need.")
        if highest > 1 == head.config[key] and head.config.get("activation") == "sigmoid" and loss is not None and kind_of(loss) == "sparse":
            more = (
                f"Set {key}={highest + 1} and activation='softmax' on {head.name}, for classes 0 to {highest}",
                [configure(head.name, **{key: highest + 1, "activation": "softmax"})],
                "As many as the sampled labels need; a softmax makes one probability of each, and they sum to 1.",
            )
        if isinstance(finding.fact, LabelOutOfRange) and finding.fact.blank:
            yield more  # labels minus 1 would make the first one the blank
            return
        tables = [
            node
            for node in evidence.flow.nodes
            if highest == head.config[key] == node.config.get("input_dim") and node.op == "Embedding" and node.kind == "layer"
        ]
        if tables:
            # The labels are ids of the model's own vocabulary, and have to stay those that it reads.
            names = listed((f"{key}={highest + 1} on {head.name}", *(f"input_dim={highest + 1} on {table.name}" for table in tables)))
            both = [configure(head.name, **{key: highest + 1}), *(configure(table.name, input_dim=highest + 1) for table in tables)]
            yield f"Set {names}, for ids 0 to {highest}", both, "The labels are ids of the same vocabulary, so it needs one entry more in both places."
            return
        from_one = ("Number the classes from 0: labels minus 1", [transform(("y",), "shift", by=-1)], "Use this if your labels start at 1.")
        fits = loss is not None and highest == head.config[key]
        # As many classes as units, and none of them 0: they are counted from 1.
        yield from ([from_one, more] if fits and isinstance(finding.fact, OutOfRange) and finding.fact.lowest == 1 else [more, from_one] if fits else [more])


def counted_classes(evidence: Evidence, finding: Finding) -> Made:
    """Class indices, each sample's own, for a function that counts pairs of them."""
    reason = finding.fact.reason if isinstance(finding.fact, OperationRaised) else None
    for line in lines_of(evidence)[:1] if isinstance(reason, VectorsCounted) else ():
        call = line.call("confusion_matrix")
        edits: list[Edit] = []
        for place, name in enumerate(("labels", "predictions")) if call is not None else ():
            given = argument(call, name, ["labels", "predictions"][: place + 1]) if call is not None else None
            shape = line.shape(given) if given is not None else None
            if given is None or not shape or len(shape) == 1:
                continue
            new = f"{MODULE}.argmax({IT}, axis=-1)" if (shape[-1] or 0) > 1 else IT
            rank = len(shape) - (new != IT)
            edits.append(line.edit(given, new if rank == 1 else f"{MODULE}.reshape({new}, [-1])", "tensorflow"))
        if edits:
            yield f"Count class indices at {line.at}: argmax along the last axis", edits, "confusion_matrix expects one class index per sample."


@of(LabelScale)
def one_unit_per_class(evidence: Evidence, finding: Finding, fact: LabelScale) -> Made:
    """A softmax with a unit for each class in place of one sigmoid."""
    loss = next((node for node in evidence.losses() if node.name == fact.loss), None)
    edge = next((edge for edge in evidence.flow.into(loss.id) if edge.label == "predictions"), None) if loss is not None else None
    head = head_of(evidence, evidence.flow.node(edge.source)) if edge is not None else None
    if loss is None or edge is None or head is None or not fact.classes or several(evidence):
        return
    # The sigmoid is the layer's own, or that of a layer after it.
    way = way_to(evidence, evidence.flow.node(edge.source))
    bent = next((node for node in way[: way.index(head) + 1] if node.config.get("activation") == "sigmoid"), None)
    key = width_of(head)
    if head.config.get(key) == 1 and bent is not None and bent.kind == "layer":
        own = bent.id == head.id
        set_to = {key: fact.classes, **({"activation": "softmax"} if own else {})}
        said = f"{key}={fact.classes} and activation='softmax' on {head.name}"
        yield (
            f"Set {said if own else f'{key}={fact.classes} on {head.name}, a softmax in {bent.name}'}, and use sparse_categorical_crossentropy",
            [
                configure(head.name, **set_to),
                *([] if own else [configure(bent.name, activation="softmax")]),
                Loss(loss.id, "sparse_categorical_crossentropy", was=snake(loss.op)),
            ],
            f"The labels look like indices of {fact.classes} classes: integers from 0 to {fact.classes - 1}.",
        )


def no_logits(evidence: Evidence, finding: Finding) -> Made:
    """from_logits=False behind an activation, or no activation."""
    giver, loss = evidence.flow.node(finding.nodes[0]), loss_node(evidence, finding)
    if loss is None:
        return
    plain = snake(loss.op)
    if not several(evidence):
        yield (
            "Set from_logits=False: the model already applies the activation",
            [Loss(loss.id, plain, {"from_logits": False}, plain)],
            "The loss then expects probabilities, which is what it receives.",
        )
    if giver.config.get("activation"):
        yield (
            f"Remove the activation of {giver.name}",
            [configure(giver.name, activation=None)],
            "The loss applies it itself, which is numerically more stable.",
        )


def class_of_each(evidence: Evidence, finding: Finding) -> Made:
    """The class of each label in place of its one-hot vector."""
    for line, name, classes, other, _ in _beside_predicted(evidence):
        module, spec = line.module(), line.spec(other)
        if spec is None or (_calculates(evidence) and classes != 2):
            continue
        assert isinstance(line.scope, ast.FunctionDef)
        text = f'{name} = {MODULE}.cast({MODULE}.argmax({name}, axis=-1), "{spec.dtype}")'
        yield (
            f"Use the class of each label from line {line.scope.body[0].lineno}: argmax of {name}",
            [line.before(line.scope.body[0], text, module)],
            f"{short(other)} contains class indices, but {name} is one-hot.",
        )


def class_before_flattening(evidence: Evidence, finding: Finding) -> Made:
    """The best class, where a function flattens labels or predictions with all their classes and the other ones are class numbers."""
    stats = [one for one in evidence.label_stats.values() if one is not None]
    line = next(iter(lines_of(evidence)), None)
    y = evidence.y[0][1].shape or () if len(evidence.y) == 1 else ()
    if line is None or not isinstance(line.scope, ast.FunctionDef) or len(stats) != 1 or len(evidence.outputs) != 1:
        return
    names = [one.arg for one in line.scope.args.args if one.arg != "self"]
    picked = [call for call in nodes(line.scope, ast.Call) if called(call) == "argmax"]
    sizes = {elements(edge.spec.shape) for edge in evidence.given if edge.spec.shape and len(edge.spec.shape) == 1}
    # Of labels that are numbers, those of the predictions are compared in a metric; a loss has no gradient there.
    at = 0 if stats[0].one_hot else 1
    shape = (y, evidence.outputs[0][1].shape or ())[at]
    whole, each = elements(shape), shape[-1] if len(shape) > 1 else None
    if len(names) < 2 or not whole or not each or sizes != {whole, whole // each} or len(picked) != 1 - at:
        return
    if at and (evidence.where != "metric" or not stats[0].whole):
        return
    name = names[at]
    if any(one.id == name for call in picked for one in nodes(call, ast.Name)) or (_calculates(evidence) and not _compared(line)):
        return
    body = line.scope.body[1:] if ast.get_docstring(line.scope) is not None else line.scope.body
    text = f"{name} = {MODULE}.cast({MODULE}.argmax({name}, axis=-1), {names[0]}.dtype)"
    yield (
        f"Use the class of each {'prediction' if at else 'label'} from line {body[0].lineno}: argmax of {name}",
        [line.before(body[0], text, line.module())],
        f"{name} has {each} values, one for each class, but the class of {names[1 - at]} is flattened alone.",
    )


def _compared(line: Line) -> bool:
    made = [assigned_to(line, operand) for operand in line.operands()]
    return len(made) == 2 and all(any(isinstance(item, ast.Compare) or called(item) == "equal" for item in nodes(one, (ast.Compare, ast.Call))) for one in made)


def one_hot_predicted(evidence: Evidence, finding: Finding) -> Made:
    """A one-hot vector in place of the predicted class."""
    for line, name, classes, other, picked in _beside_predicted(evidence) if _calculates(evidence) else ():
        yield (
            f"Make the predicted classes one-hot at line {picked.lineno}: one_hot of {short(picked)}",
            [line.edit(picked, f"{MODULE}.one_hot({IT}, {classes})", line.module())],
            f"{name} is one-hot, but {short(other)} contains class indices.",
        )


def one_hot_inside(evidence: Evidence, finding: Finding) -> Made:
    """One-hot vectors in place of class indices, in a loss or metric of the program's own that multiplies them with what is predicted for each class."""
    line = next(iter(lines_of(evidence)), None)
    stats = [one for one in evidence.label_stats.values() if one is not None]
    if line is None or not isinstance(line.scope, ast.FunctionDef) or len(stats) != 1 or not _multiplies(line):
        return
    reason = finding.fact.reason if isinstance(finding.fact, OperationRaised) else None
    for (node, shape), (other, its) in itertools.permutations(line.shaped(), 2):
        if isinstance(reason, ClassIndices) and (shape, its) == (reason.labels, reason.values):
            count = f"{other.id}.shape[-1]" if isinstance(other, ast.Name) else its[-1]
            # The indices as they were before a cast.
            cast = node if isinstance(node, ast.Call) and called(node) in ("cast", "astype") else None
            held = cast.func.value if cast is not None and len(cast.args) == 1 and isinstance(cast.func, ast.Attribute) else None
            whole = short(node) if cast is None else line.source.of(held or cast.args[0])
            yield (
                f"Convert {whole} to one-hot vectors at {line.at}",
                [line.edit(node, f"{MODULE}.one_hot({IT if cast is None else whole}, {count})", line.module())],
                f"The labels are class indices, and {short(other)} has one value for each class.",
            )
            return
    arguments = [one.arg for one in line.scope.args.args if one.arg != "self"][:2]
    read = {item.id for item in nodes(line.node, ast.Name)} if line.node is not None else set()
    if len(arguments) != 2 or not read >= {*arguments} or any(name not in line.specs for name in arguments):
        return
    name, predicted = arguments
    few, many = (line.specs[one].shape or () for one in arguments)
    if not stats[0].integer or not 1 < (stats[0].maximum or 0) < ((many or (0,))[-1] or 0) or few not in (many[:-1], (*many[:-1], 1)):
        return
    body = line.scope.body[1:] if ast.get_docstring(line.scope) is not None else line.scope.body
    module, indices = line.module(), name if len(few) < len(many) else f"{name}[..., 0]"
    text = f'{name} = {MODULE}.one_hot({MODULE}.cast({indices}, "int32"), {predicted}.shape[-1])'
    yield (
        f"Convert {name} to one-hot vectors at the start of {line.scope.name}",
        [line.before(body[0], text, module)],
        f"The labels are class indices, and {predicted} has one value for each class.",
    )


def _multiplies(line: Line) -> bool:
    product = isinstance(line.node, ast.BinOp) and isinstance(line.node.op, ast.Mult)
    return product or line.call("multiply") is not None


def _calculates(evidence: Evidence) -> bool:
    node = evidence.failed
    return node is not None and node.op.lower().startswith(("mul", "add", "sub"))


def _beside_predicted(evidence: Evidence) -> Iterator[tuple[Line, str, int, ast.expr, ast.Call]]:
    stats = [one for one in evidence.label_stats.values() if one is not None]
    line = next(iter(lines_of(evidence)), None)
    if line is None or not isinstance(line.scope, ast.FunctionDef) or len(stats) != 1 or not stats[0].one_hot:
        return
    arguments = [one.arg for one in line.scope.args.args if one.arg != "self"]
    for operand, other in itertools.permutations(line.operands(), 2):
        names = [name for name in nodes(operand, ast.Name) if name.id == arguments[0]] if arguments else []
        spec, shape = line.spec(other), known.shape if (known := line.spec(operand)) is not None else None
        if not names or spec is None or not shape or not shape[-1] or shape[:-1] != spec.shape:
            continue
        for name in (other, *nodes(other, ast.Name)):
            picked = [call for call in nodes(assigned_to(line, name), ast.Call) if called(call) == "argmax"]
            if picked:
                yield line, arguments[0], shape[-1], other, picked[0]
                break


def classes_as_they_are(evidence: Evidence, finding: Finding) -> Made:
    """Labels that are class numbers already, where the program takes the best class of them as it does of the predictions."""
    line = next(iter(lines_of(evidence)), None)
    if line is None or not isinstance(line.scope, ast.FunctionDef) or len(evidence.y) != 1 or len(evidence.outputs) != 1:
        return
    y, p = evidence.y[0][1].shape or (), evidence.outputs[0][1].shape or ()
    labels = next((one.arg for one in line.scope.args.args if one.arg != "self"), "")
    if len(y) != len(p) - 1 or not evidence.y[0][1].dtype.startswith(("int", "uint")):
        return
    for call in nodes(line.scope, ast.Call):
        if called(call) == "argmax" and call.args and ast.unparse(call.args[0]) == labels:
            yield (
                f"Use {labels} as it is at line {call.lineno}, without argmax",
                [line.edit(call, f'{MODULE}.cast({labels}, "int64")', line.module())],
                "The labels are class indices already.",
            )


def class_among_picked(evidence: Evidence, finding: Finding) -> Made:
    """The class of each label, with an axis for the best guesses, in place of its one-hot vector."""
    stats = [one for one in evidence.label_stats.values() if one is not None]
    line = next(iter(lines_of(evidence)), None)
    if line is None or not isinstance(line.scope, ast.FunctionDef) or len(stats) != 1 or not stats[0].one_hot:
        return
    labels = next((one.arg for one in line.scope.args.args if one.arg != "self"), "")
    for operand, other in itertools.permutations(line.operands(), 2):
        name = next((name for name in nodes(operand, ast.Name) if name.id == labels), None)
        best = [call for call in nodes(assigned_to(line, other), ast.Call) if called(call) == "top_k"]
        shape, spec = line.shape(operand), line.spec(other)
        if name is None or not best or not shape or spec is None or len(shape) != len(spec.shape or ()):
            continue
        best_class = f"{MODULE}.argmax({labels}, axis=-1)"
        around = parents(line.source.tree).get(name)
        if not (isinstance(around, ast.Call) and called(around) == "cast"):
            best_class = f'{MODULE}.cast({best_class}, "{spec.dtype}")'
        yield (
            f"Compare the class of each label at {line.at}: argmax of {labels}",
            [line.edit(name, f"{best_class}[..., None]", line.module())],
            f"{short(other)} contains the indices of the top classes, but {labels} is one-hot.",
        )


@of(ScoresOfOne)
def over_positions(evidence: Evidence, finding: Finding, fact: ScoresOfOne) -> Made:
    """The softmax over the positions, in a layer or where the user's own code computes it."""
    node = evidence.flow.node(finding.nodes[0])
    at, why = fact.axis, "The weights of the positions then sum to 1."
    if node.op == "Activation":
        yield (
            f"Compute the softmax over the positions: Softmax(axis={at}) instead of {node.name}",
            [ReplaceLayer(node.name, "Softmax", config={"axis": at})],
            why,
        )
    elif node.config.get("activation") == "softmax":
        edits = [configure(node.name, activation=None), append(node.name, "Softmax", axis=at)]
        yield f"Compute the softmax over the positions: Softmax(axis={at}) after {node.name}, without its own", edits, why
    elif node.kind == "layer":
        yield f"Compute the softmax over the positions: axis={at} in {node.name}", [configure(node.name, axis=at)], why
        return
    for line, call in calls_at(evidence, finding.location, "softmax"):
        axis = line.keyword("axis")
        edit = line.edit(axis, str(at)) if axis is not None else line.more(call, f"axis={at}")
        if len(call.args) == 1:
            yield f"Compute the softmax over the positions at {line.at}: axis={at}", [edit], why


def _all_of(line: Line, depth: ast.expr) -> list[ast.expr]:
    if not isinstance(depth, ast.Name):
        return [depth]
    return [one for one in nodes(line.scope, ast.Name) if one.id == depth.id and isinstance(one.ctx, ast.Load)]


def depth_of_other(evidence: Evidence, finding: Finding) -> Made:
    """As many classes in a one-hot encoding as the other operand has."""
    if not isinstance(finding.fact, (OperationRaised, LossRaised)):
        return
    for line in lines_of(evidence):
        for node, other in itertools.permutations(line.operands()[:2], 2):
            # A squeezed or cast encoding is one as well, and a smoothed one.
            held = node
            if isinstance(node, ast.Call) and node.args and called(node) in ("squeeze", "cast", "reshape"):
                held = node.args[0]
            values = given_to(line.scope, held, line.raised.line) if isinstance(held, ast.Name) else [held]
            coded = next((call for value in values for call in nodes(value, ast.Call) if called(call) == "one_hot"), None)
            depth = argument(coded, "depth", ["", "depth"]) or argument(coded, "num_classes", []) if coded is not None else None
            shape, its = line.shape(node), line.shape(other)
            if depth is None or not shape or not its or len(shape) != len(its) or shape[-1] == its[-1] or its[-1] in (None, 1):
                continue
            names = [name for name in nodes(other, (ast.Name, ast.Attribute)) if (line.shape_of_names().get(ast.unparse(name)) or (0,))[-1] == its[-1]]
            new = f"{ast.unparse(names[0])}.shape[-1]" if names else str(its[-1])
            for name, made in constants(line.source.tree):
                if name == ast.unparse(depth) and made.value == shape[-1]:
                    yield (f"Set {name} = {its[-1]} at line {made.lineno}", [line.edit(made, str(its[-1]))], f"{short(other)} has {its[-1]} values.")
            yield (
                f"Use {its[-1]} classes in the encoding at line {depth.lineno}: {new} instead of {short(depth)}",
                [line.edit(one, new) for one in _all_of(line, depth)],
                f"{short(other)} has {its[-1]} values, one for each class.",
            )


@of(LossCalled)
def loss_of_vectors(evidence: Evidence, finding: Finding, fact: LossCalled) -> Made:
    """The loss for one-hot rows, where a line calls the one for class indices with as many axes of labels as of predictions."""
    for line in lines_of(evidence)[:1] if fact.sparse and len(fact.labels) == len(fact.predictions) else ():
        call = line.node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        # A function, an object that is called where it is made, or one that a name holds.
        held = {ast.unparse(item.targets[0]): item.value for item in nodes(line.source.tree, ast.Assign)}
        made = held.get(ast.unparse(call.func), call.func)
        loss = made if isinstance(made, ast.Call) else call
        if not called(loss).startswith(("sparse_categorical", "SparseCategorical")):
            continue
        labels = ast.unparse(call.args[0])
        every = nodes(line.scope, ast.Call) if loss is call else ()
        alike = [one for one in every if called(one) == called(call) and one.args and ast.unparse(one.args[0]) == labels] or [loss]
        new = called(loss).removeprefix("sparse_").removeprefix("Sparse")
        yield (
            f"Use {new} at line{'s' if len(alike) > 1 else ''} {listed(tuple(str(one.lineno) for one in alike))}",
            [line.edit(one.func, ast.unparse(one.func).replace(called(loss), new)) for one in alike],
            f"{labels} has one value for each class.",
        )


@of(SeveralMarked)
def sigmoid_for_marks(evidence: Evidence, finding: Finding, fact: SeveralMarked) -> Made:
    """A sigmoid in place of the softmax, and the loss of one class at a time."""
    head = next((node for node in evidence.flow.nodes if node.name == fact.head.name), None)
    if fact.axis:
        perm = [*(axis for axis in range(len(fact.shape)) if axis != fact.axis), fact.axis]
        edits = [transform(label_path(evidence, finding), "transpose", perm=perm)]
        yield f"Move axis {fact.axis} of the labels to the end", edits, "Keeps every value; the classes are then on the last axis."
        return
    if head is None or head.op == "Softmax":
        return
    softmax = head.config.get("activation") == "softmax"
    shares = [configure(head.name, activation="sigmoid")] if softmax else []
    used = [f"a sigmoid in {head.name}"] if softmax else []
    for _, loss in twin(evidence, finding, ("categorical_crossentropy",), "binary_crossentropy") if fact.categorical else ():
        yield f"Use {' and '.join([*used, loss.loss])}", [*shares, loss], "Each sample can belong to several classes."
    if not fact.categorical:
        yield f"Use {used[0]}", shares, "Each sample can belong to several classes."
