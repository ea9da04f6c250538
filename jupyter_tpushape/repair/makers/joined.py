"""Candidates where tensors are joined: skips of other levels, query and value of an attention, embeddings."""

from __future__ import annotations

import ast
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding, Node, elements
from ...flow.syntax import assigned, called
from ...rules.facts.branches import DotAxes, UnlikeBranches
from ...rules.facts.contracts import Disconnected
from ...rules.facts.layers import OperationRaised
from ...rules.facts.loss import SurplusAxes
from ...rules.facts.loss_silent import Crosswise
from ...rules.upstream import ancestors
from ...rules.words import MERGES, listed
from ..text.source import nodes
from .edits import Made, append, at, configure, failing, of, received, setting, width_of
from .ends import ends_of, head_of
from .line import lines_at, lines_of, own_layer, short


def exchange_query(evidence: Evidence, finding: Finding) -> Made:
    """Query and value of an attention exchanged, where its output has the steps of what the other branch does not have."""
    fact = finding.fact
    if isinstance(fact, UnlikeBranches) and fact.asked is not None:
        asked = [fact.asked.attention.called]
    elif isinstance(fact, OperationRaised):
        before = [evidence.flow.node(edge.source) for edge in evidence.failed_inputs()]
        asked = [node.called for node in before if node.family == "attention"]
    else:
        return
    for line in itertools.chain.from_iterable(lines_at(evidence, place) for place in asked):
        call = line.node
        if not isinstance(call, ast.Call):
            continue
        words = {word.arg: word.value for word in call.keywords}
        listed = call.args[0] if call.args else None
        places = listed.elts[:2] if isinstance(listed, (ast.List, ast.Tuple)) else call.args[:2]
        pair = [*places, *(words[name] for name in ("query", "value")[len(places) :] if name in words)]
        if len(pair) == 2 and all(isinstance(item, (ast.Name, ast.Attribute)) for item in pair):
            one, two = pair
            # The keys are those of the values.
            keys = [item for item in (words.get("key"),) if item is not None and ast.unparse(item) == ast.unparse(two)]
            yield (
                f"Use {short(two)} as the query and {short(one)} as the value: swap them at line {call.lineno}",
                [*line.swap(one, two), *(line.edit(item, ast.unparse(one)) for item in keys)],
                "The output has one vector per step of the query, which is the first argument.",
            )


@of(UnlikeBranches)
def projected_skip(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """A skip's projection that stands under a condition which asks for the strides only."""
    shapes = [one.shape or () for one in fact.branches]
    if len(shapes) != 2 or len(shapes[0]) != len(shapes[1]) or len(shapes[0]) < 2 or shapes[0][:-1] != shapes[1][:-1]:
        return
    for line in lines_at(evidence, fact.layer.called)[:1]:
        given = [item for item in line.around((ast.List, ast.Tuple), line.scope) if len(item.elts) == 2]
        names = [ast.unparse(item) for item in given[0].elts] if given else []
        for choice in nodes(line.scope, ast.If):
            made = [item for item in choice.body if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) in names]
            if not made or choice.orelse or choice.lineno > line.raised.line or not _projects(made[0].value):
                continue
            skip = ast.unparse(made[0].targets[0])
            other = names[1 - names.index(skip)]
            test = line.source.of(choice.test)
            asked = test if isinstance(choice.test, (ast.Compare, ast.Name, ast.Call)) else f"({test})"
            yield (
                f"Project {skip} at line {choice.lineno} also where its channels differ from those of {other}",
                [line.edit(choice.test, f"{asked} or {skip}.shape[-1] != {other}.shape[-1]")],
                "The condition asks for the strides only.",
            )


def _projects(value: ast.expr) -> bool:
    return any((called(call) or "").startswith(("Conv", "Dense", "SeparableConv")) for call in nodes(value, ast.Call))


@of(UnlikeBranches)
def gated(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """One weight for each channel of a map, where a vector that was pooled from the same map is to weight them."""
    edges = received(evidence)
    for vector, whole in itertools.permutations(edges, 2) if fact.gate and len(edges) == 2 else ():
        head, channels = evidence.flow.node(vector.source), (whole.spec.shape or (None,))[-1]
        if head.name != fact.gate or not isinstance(head.config.get("units"), int):
            continue
        giver = evidence.flow.node(whole.source).name
        why = f"{head.name} then has one weight for each channel."
        for line in lines_at(evidence, head.called)[:1]:
            sizes = [item for item in nodes(line.scope, ast.BinOp) if item.lineno == line.raised.line and isinstance(item.op, (ast.FloorDiv, ast.Div))]
            if len(sizes) == 1 and isinstance(sizes[0].left, (ast.Name, ast.Attribute)):
                size = ast.unparse(sizes[0].left)
                yield f"Use {size} as the units of {head.name}, the channels of {giver}", [line.edit(sizes[0], size)], why
        yield setting(head, "units", channels, f", the channels of {giver}", why)


@of(UnlikeBranches)
def one_weight_each(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """One weight for each step, where a softmax of several for each is to weight the features."""
    edges = received(evidence) if fact.layer.op == "Multiply" else []
    for weight, whole in itertools.permutations(edges, 2) if len(edges) == 2 else ():
        node, few, many = evidence.flow.node(weight.source), weight.spec.shape or (), whole.spec.shape or ()
        head = head_of(evidence, node) if "softmax" in (node.op.lower(), node.config.get("activation")) else None
        if head is not None and len(few) > 2 and few[:-1] == many[:-1]:
            yield setting(head, width_of(head), 1, ", one weight for each step", "It then weights all features of its step.")


def exchange_listed(evidence: Evidence, finding: Finding) -> Made:
    """The two tensors of a list exchanged, where a layer of the same class ran and this one receives them in another order."""
    owner = own_layer(evidence)
    if owner is None or not any(node.op == owner.op and node.status == "ok" for node in evidence.flow.nodes):
        return
    for line in lines_at(evidence, owner.called):
        call = line.node
        pair = call.args[0] if isinstance(call, ast.Call) and call.args else None
        if isinstance(pair, (ast.List, ast.Tuple)) and len(pair.elts) == 2 and all(isinstance(item, ast.Name) for item in pair.elts):
            one, two = map(ast.unparse, pair.elts)
            yield (
                f"Pass [{two}, {one}] to {owner.name} at line {pair.lineno}: swap them",
                [line.edit(pair.elts[0], two), line.edit(pair.elts[1], one)],
                f"Another {owner.op} runs with its inputs in this order.",
            )


def added_width(evidence: Evidence, finding: Finding) -> Made:
    """The width of a label for each branch of a sum."""
    labels, predictions = ends_of(evidence, finding)
    wanted = (labels.spec.shape or (None,))[-1] if labels is not None else None
    node = evidence.flow.node(predictions.source) if predictions is not None and wanted else None
    while node is not None and node.op not in ("Add", "AddV2") and len(evidence.flow.into(node.id)) == 1:
        node = evidence.flow.node(evidence.flow.into(node.id)[0].source)
    edges = evidence.flow.into(node.id) if node is not None and node.op in ("Add", "AddV2") else []
    wide = [evidence.flow.node(edge.source) for edge in edges if (edge.spec.shape or (None,))[-1] != wanted]
    if wide and len(wide) < len(edges) and all(giver.op == "Dense" for giver in wide):
        bent = [giver.name for giver in wide if giver.config.get("activation", "linear") != "linear"]
        yield (
            f"Give each branch of the sum {'one value' if wanted == 1 else f'{wanted} values'}: {listed(tuple(giver.name for giver in wide))}",
            [append(giver.name, "Dense", units=wanted) if giver.name in bent else configure(giver.name, units=wanted) for giver in wide],
            "The other branch has as many values as a label. A sum would repeat it for each value of this one.",
        )


def merged_heads(evidence: Evidence, finding: Finding) -> Made:
    """As many units as a label has values for each of the heads that are added up, or merged element by element."""
    labels, predictions = ends_of(evidence, finding)
    y = labels.spec.shape if labels is not None else None
    if predictions is None or not y or len(y) != len(predictions.spec.shape or ()) or not y[-1]:
        return
    heads: dict[str, Node] = {}
    pending = [evidence.flow.node(predictions.source)]
    while pending:
        node = pending.pop(0)
        if node.op in _SUMS and len(edges := evidence.flow.into(node.id)) > 1:
            pending += [evidence.flow.node(edge.source) for edge in edges]
            continue
        head = head_of(evidence, node)
        if head is None:
            return
        heads[head.name] = head
    odd = {name: head for name, head in heads.items() if head.config.get(width_of(head)) != y[-1]}
    if len(heads) > 1 and odd:
        names = listed(tuple(odd))
        rest = {str(head.config.get("activation")) for name, head in heads.items() if name not in odd}
        # A softmax of one value is always 1.
        alike = {"activation": rest.pop()} if y[-1] == 1 and len(rest) == 1 else {}
        edits = [configure(name, **{width_of(head): y[-1]}, **(alike if head.config.get("activation") == "softmax" else {})) for name, head in odd.items()]
        yield (f"Set {width_of(next(iter(odd.values())))}={y[-1]} on {names}, one for each value of a label", edits, "Their outputs are merged value by value.")


_SUMS = MERGES - {"Concatenate", "Dot"} | {"AddV2", "Sub", "Mul", "add", "sub", "mul"}


@of(Disconnected)
def all_inputs(evidence: Evidence, finding: Finding, fact: Disconnected) -> Made:
    """Every Input of the program from which the outputs of a model come, in its list of inputs."""
    for line in lines_of(evidence)[:1]:
        call = line.node
        given = line.keyword("inputs") or (call.args[0] if isinstance(call, ast.Call) and call.args else None)
        if given is None:
            continue
        listed = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
        pairs = [pair for item in nodes(line.scope, ast.Assign) for pair in assigned(item)]
        names = [name.id for name, made in pairs if isinstance(name, ast.Name) and called(made) == "Input"]
        known = [ast.unparse(item) for item in listed]
        more = [name for name in dict.fromkeys(names) if name not in known]
        # Of several, none says in whose place it stands.
        if len(more) == len(listed) == len(fact.missing) == 1 and fact.missing[0][1] == fact.given[0][1]:
            yield (
                f"Use {more[0]} as the model's input at {line.at}, instead of {known[0]}",
                [line.edit(listed[0], more[0])],
                "The output is computed from it, and from no other Input.",
            )
        if set(known) <= set(names) and len(more) == len(fact.missing):
            yield (
                f"Add {' and '.join(more)} to the model's inputs at {line.at}",
                [line.edit(given, f"[{', '.join([*known, *more])}]")],
                "The output is computed from them.",
            )


@of(Disconnected)
def called_on_base(evidence: Evidence, finding: Finding, fact: Disconnected) -> Made:
    """The output of one model, which has an Input of its own, as that model called on the output of another."""
    for line in lines_of(evidence)[:1]:
        call = line.node
        made = line.keyword("outputs") or (call.args[1] if isinstance(call, ast.Call) and len(call.args) > 1 else None)
        if not isinstance(made, ast.Attribute) or made.attr != "output" or not isinstance(made.value, ast.Name):
            continue
        top = made.value.id
        assigned = {name.id for item in nodes(line.scope, ast.Assign) if isinstance(item.value, ast.Call) for name in nodes(item.targets[0], ast.Name)}
        read = [item.value for item in nodes(line.scope, ast.Attribute) if item.attr in ("output", "output_shape", "input")]
        for base in dict.fromkeys(item.id for item in read if isinstance(item, ast.Name) and item.id in assigned - {top}):
            yield (
                f"Call {top} on the output of {base} at {line.at}: {top}({base}.output)",
                [line.edit(made, f"{top}({base}.output)")],
                f"{top} was built on a separate Input. Called on {base}.output, its layers follow those of {base}.",
            )


@of(DotAxes)
def dot_axes(evidence: Evidence, finding: Finding, fact: DotAxes) -> Made:
    """The axes of a Dot that have the same size."""
    if fact.fitting is not None:
        yield setting(fact.layer, "axes", fact.fitting, "", f"Both axes then have {fact.shapes[0][fact.fitting[0]]} values.")


@of(DotAxes)
def projected_for_dot(evidence: Evidence, finding: Finding, fact: DotAxes) -> Made:
    """One operand of a Dot with as many features as the other, where it sums over those: the keys first."""
    node, edges = evidence.failed, received(evidence)
    axes = [place == len(shape) - 1 and len(shape) > 1 for place, shape in zip(fact.axes, fact.shapes, strict=False)]
    if node is None or fact.fitting is not None or len(edges) != 2 or axes != [True, True] or None in fact.sizes:
        return
    if any(one.weights for one in ancestors(evidence, node.id)):
        return  # a layer has its size from a number that can be changed
    for index in (1, 0):
        units, name = fact.sizes[1 - index], evidence.flow.node(edges[index].source).name
        yield (
            f"Project {name} to {units} values for {node.name}: add Dense({units})",
            [at(node, index, "Dense", units=units)],
            "Both axes then have the same size.",
        )


def exchange_skips(evidence: Evidence, finding: Finding) -> Made:
    """Two skips that are joined at each other's level."""
    edges = received(evidence)
    node = evidence.failed
    if len(edges) != 2 or node is None or len(edges[0].spec.shape or ()) not in (3, 4, 5):
        return
    for line in lines_at(evidence, node.called or node.location):
        here = next((item for item in nodes(line.node, (ast.List, ast.Tuple)) if len(item.elts) == 2), None) if line.node is not None else None
        if here is None or not isinstance(line.node, ast.Call) or not all(isinstance(item, ast.Name) for item in here.elts):
            continue
        merges = [
            listed
            for call in nodes(line.scope, ast.Call)
            if ast.unparse(call.func) == ast.unparse(line.node.func) and call.lineno > line.node.lineno
            for listed in call.args[:1]
            if isinstance(listed, (ast.List, ast.Tuple)) and len(listed.elts) == 2
        ]
        for place in (1, 0):
            for other in merges:
                mine, its = here.elts[place], other.elts[place]
                if isinstance(its, ast.Name) and its.id != getattr(mine, "id", "") and _made_before(line.scope, its.id, line.node.lineno):
                    yield (
                        f"Swap {ast.unparse(mine)} and {its.id} at lines {here.lineno} and {other.lineno}: each belongs in the other merge",
                        [line.edit(mine, its.id), line.edit(its, ast.unparse(mine))],
                        "Every branch is still used once.",
                    )
        return


def _made_before(scope: ast.AST, name: str, line: int) -> bool:
    stored = [item.lineno for item in nodes(scope, ast.Name) if item.id == name and isinstance(item.ctx, ast.Store)]
    return len(stored) == 1 and stored[0] < line


def as_map(evidence: Evidence, finding: Finding) -> Made:
    """A vector that has a value for each position of the map that it is joined with, in the form of that map."""
    edges = received(evidence)
    lines = lines_of(evidence)
    after = [called(call) for line in lines for call in nodes(line.scope, ast.Call) if call.lineno > line.raised.line]
    # Layers that read a map.
    reads = not lines or any(word in name for name in after for word in ("Conv", "Flatten", "Pool"))
    if evidence.failed is None or len(edges) != 2 or not reads:
        return
    for index, (mine, other) in enumerate((edges, edges[::-1])):
        row, grid = (mine.spec.shape or ())[1:], (other.spec.shape or ())[1:]
        size, places = elements(row), elements(grid[:-1])
        if len(grid) == 3 > len(row) and size and places and places > 1 and size % places == 0 and {*row[:-1]} <= {1}:
            shape = [n or 0 for n in (*grid[:-1], size // places)]
            yield (
                f"Reshape {evidence.flow.node(mine.source).name} to {tuple(shape)}, a map like the other branch",
                [at(evidence.failed, index, "Reshape", target_shape=shape)],
                f"It has {size} values for {places} positions.",
            )


def one_width(evidence: Evidence, finding: Finding) -> Made:
    """One width for all embeddings that are stacked as rows."""
    node, _ = failing(evidence)
    edges = evidence.operands()
    makers = [_behind_flatten(evidence, evidence.flow.node(edge.source)) for edge in edges]
    if any(maker.op != "Embedding" for maker in makers) or (node.op == "Concatenate" and node.config.get("axis") in (-1, 2)):
        return
    widths = [edge.spec.shape[-1] for edge in edges if edge.spec.shape]
    width = max((n for n in widths if n is not None), default=0)
    if width and len(widths) == len(edges):
        yield (
            f"Use the same output_dim={width} for every embedding",
            [configure(maker.name, output_dim=width) for maker in makers],
            "Embeddings that are merged need the same size; any size works.",
        )


@of(UnlikeBranches)
def alike_branches(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """One width for two layers of a kind that read the same tensor, and are then added or multiplied."""
    edges = evidence.operands()
    makers = [evidence.flow.node(edge.source) for edge in edges]
    shapes = [edge.spec.shape or () for edge in edges]
    if fact.axis is not None or len(edges) != 2 or len({shape[:-1] for shape in shapes}) != 1 or not all(shapes) or makers[0].op != makers[1].op:
        return
    read = [evidence.flow.into(maker.id)[:1] for maker in makers]
    widths = [maker.config.get(width_of(maker)) for maker in makers]
    if not all(read) or read[0][0].source != read[1][0].source or widths != [shape[-1] for shape in shapes]:
        return
    came = (read[0][0].spec.shape or (None,))[-1]
    wanted = came if came in widths else max(widths)
    other = makers[0] if widths[0] != wanted else makers[1]
    yield setting(other, width_of(other), wanted, f", the size of {makers[0 if other is makers[1] else 1].name}", "Both read the same tensor.")


def _behind_flatten(evidence: Evidence, node: Node) -> Node:
    while node.op in ("Flatten", "Reshape") and len(evidence.flow.into(node.id)) == 1:
        node = evidence.flow.node(evidence.flow.into(node.id)[0].source)
    return node


def flat_embeddings(evidence: Evidence, finding: Finding) -> Made:
    """Embeddings of one id a row beside vectors, or of several beside columns of numbers."""
    edges = received(evidence)
    makers = [(evidence.flow.node(edge.source), edge.spec.shape) for edge in edges]
    columns = all(maker.op == "Embedding" or maker.kind == "input" for maker, _ in makers) and len(makers) > 1
    ids = {shape[1] for maker, shape in makers if maker.op == "Embedding" and shape is not None and len(shape) == 3}
    several = columns and ids and None not in ids and evidence.failed is not None and evidence.failed.op == "Concatenate"
    long = [maker for maker, shape in makers if maker.op == "Embedding" and shape and len(shape) == 3 and (several or shape[1] == 1)]
    if long and all(maker in long or (shape is not None and len(shape) == 2) for maker, shape in makers):
        names = [maker.name for maker in long]
        shown = " and ".join(names) if len(names) < 3 else f"all {len(names)} embeddings"
        yield f"Flatten {shown}", [append(name, "Flatten") for name in names], "Keeps every value: one vector per sample."


def flat_factors(evidence: Evidence, finding: Finding) -> Made:
    """Vectors in place of the operands of a product that sums over axes of size 1."""
    fact = finding.fact
    if isinstance(fact, SurplusAxes | Crosswise) and fact.cause == "product":
        product = fact.through if isinstance(fact, SurplusAxes) else fact.blamed
        node = next(node for node in evidence.flow.nodes if node.name == product.name)
        givers = [evidence.flow.node(edge.source) for edge in evidence.flow.into(node.id)]
        names = list(dict.fromkeys(node.name for node in givers))
        why = "The result is one value per sample."
        if len(names) < len(givers):  # one layer that is called for both
            both = [at(node, position, "Flatten") for position in range(len(givers))]
            yield f"Add Flatten to both inputs of {product.name}, which then multiplies vectors", both, why
        elif all(one.kind == "layer" for one in givers):
            yield (f"Add Flatten after {' and '.join(names)}: {product.name} then multiplies vectors", [append(name, "Flatten") for name in names], why)
