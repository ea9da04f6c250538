"""Candidates for layers that were made where they were to be called."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, show_shape
from ...flow.syntax import called
from ...rules.facts.calls import ByPlace, Misdeclared, NotCalled, NumberTooLarge
from ...rules.facts.contracts import CallArguments, CallMisfit, DtypeRefused, InnerBatch, KeysUnpacked
from ...rules.facts.entry import InputReplaced
from ...rules.facts.layers import WrongWidth
from ...rules.facts.lines import NeverCalled, NotRecurrent
from ...rules.upstream import ancestors
from ...trace.locations import file_of
from ..edits import Edit, OneParameter, Removed
from ..edits.expression import IT
from ..text.arguments import argument
from ..text.source import Source, class_of, given_to, method_of, nodes, parents, words_of
from .edits import Made, configure, of
from .line import Line, lines_at, lines_of, short, span_of


def call_layer(evidence: Evidence, finding: Finding) -> Made:
    """The layer made without the tensors, and called on them."""
    fact, raised = finding.fact, evidence.raised
    line = next(iter(lines_at(evidence, finding.location)), None)
    if line is None or raised is None or not isinstance(fact, NotCalled):
        return
    known = {name for name, _ in raised.tensors}
    for call in line.around(ast.Call, line.scope):
        if called(call) != fact.cls:
            continue
        yield from _unwrapped(line, call, fact)
        given = [item for item in call.args if _names(item) <= known and _names(item)]
        if len(given) != 1:
            continue
        rest = ", ".join([ast.unparse(item) for item in call.args if item is not given[0]] + [ast.unparse(word) for word in call.keywords])
        tensor = ast.unparse(given[0])
        yield (
            f"Create {fact.cls} first, then call it on {tensor}",
            [line.edit(call, f"{ast.unparse(call.func)}({rest})({tensor})")],
            "A layer is created with its settings and then called on its input.",
        )
    for one in dict.fromkeys([line, *lines_of(evidence)]):
        yield from _called_on_last(one, fact)
        yield from _among_ends(one, fact)


def _among_ends(line: Line, fact: NotCalled) -> Made:
    above = [ast.unparse(item.targets[0]) for item in nodes(line.scope, ast.Assign) if item.lineno < line.raised.line]
    call = line.node
    for item in call.args if isinstance(call, ast.Call) else ():
        tensor = next((name for name in reversed(above) if name.isidentifier()), None)
        if isinstance(item, ast.Call) and called(item) == fact.cls and tensor is not None:
            yield (
                f"Call {fact.cls} on {tensor} at {line.at}",
                [line.edit(item, f"{line.source.of(item)}({tensor})")],
                "A layer is created with its settings and then called on its input.",
            )
        elif isinstance(item, ast.Name) and fact.cls in ("Functional", "Sequential"):
            yield f"Use {item.id}.output at {line.at}", [line.edit(item, f"{item.id}.output")], "A model is no tensor, but its output is."


def _unwrapped(line: Line, call: ast.Call, fact: NotCalled) -> Made:
    inner = call.args[0] if call.args else None
    if not isinstance(inner, ast.Call) or len(inner.args) != 1 or inner.keywords or not isinstance(inner.func, (ast.Call, ast.Name, ast.Attribute)):
        return
    layer, tensor = line.source.of(inner.func), line.source.of(inner.args[0])
    rest = ", ".join([layer, *map(line.source.of, call.args[1:]), *(ast.unparse(word) for word in call.keywords)])
    wrapper = f"{line.source.of(call.func)}({rest})"
    above = parents(line.source.tree).get(call)
    called_on = isinstance(above, ast.Call) and above.func is call
    yield (
        f"Wrap the layer, not its output: {fact.cls}({short(inner.func)}){'' if called_on else f'({tensor})'}",
        [line.edit(call, wrapper if called_on else f"{wrapper}({tensor})")],
        f"{fact.cls} calls the layer itself.",
    )


@of(NotRecurrent)
def without_wrapper(evidence: Evidence, finding: Finding, fact: NotRecurrent) -> Made:
    """The layer by itself, where a wrapper needs a recurrent one."""
    for line in lines_of(evidence)[:1]:
        for call in nodes(line.scope, ast.Call):
            inner = call.args[0] if call.args else None
            if called(call) == fact.wrapper and isinstance(inner, ast.Call) and called(inner) == fact.layer and call.lineno == line.raised.line:
                yield (
                    f"Use {fact.layer} without {fact.wrapper} at {line.at}",
                    [line.edit(call, line.source.of(inner))],
                    "Only a recurrent layer can run backwards.",
                )


def _called_on_last(line: Line, fact: NotCalled) -> Made:
    above = [item for item in nodes(line.scope, ast.Assign) if len(item.targets) == 1 and isinstance(item.targets[0], ast.Name)]
    parameters = [item.arg for item in line.scope.args.args if item.arg != "self"] if isinstance(line.scope, ast.FunctionDef) else []
    for made in above:
        if not _is_layer(line, made, fact):
            continue
        name, layer = ast.unparse(made.targets[0]), line.source.of(made.value)
        before = [item for item in above if item.lineno < made.lineno and isinstance(item.value, ast.Call)]
        names = [*parameters, *(ast.unparse(item.targets[0]) for item in before)]
        read = {item.id for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load) and item.lineno > made.lineno}
        tensor = name if name in names else names[-1] if names and names[-1] not in read else None
        if tensor is not None:
            yield (
                f"Call {fact.cls} on {tensor} at line {made.lineno}",
                [line.edit(made.value, f"{layer}({tensor})" if fact.made else f"{layer}()({tensor})")],
                "A layer is created with its settings and then called on its input.",
            )


def _is_layer(line: Line, made: ast.Assign, fact: NotCalled) -> bool:
    value = made.value
    if isinstance(value, ast.Call):
        return made.lineno == line.raised.line and fact.made and called(value) == fact.cls
    if made.lineno > line.raised.line or not isinstance(value, (ast.Name, ast.Attribute)):
        return False
    if not fact.made:
        return ast.unparse(value).rpartition(".")[2] == fact.cls
    return any(called(held) == fact.cls for held in given_to(line.owner(), value))


@of(WrongWidth)
def other_layer(evidence: Evidence, finding: Finding, fact: WrongWidth) -> Made:
    """A layer that was made and never called, in place of one of its class that is called a second time."""
    node = evidence.failed
    if fact.before is None or node is None:
        return
    for line in lines_at(evidence, node.called):
        used = line.node.func if isinstance(line.node, ast.Call) else None
        if not isinstance(used, (ast.Name, ast.Attribute)):
            continue
        place = line.owner() if isinstance(used, ast.Attribute) else line.scope
        made = {ast.unparse(item.targets[0]): item.value for item in nodes(place, ast.Assign) if isinstance(item.value, ast.Call)}
        loaded = [ast.unparse(item) for item in nodes(place, (ast.Name, ast.Attribute)) if isinstance(item.ctx, ast.Load)]
        if called(made.get(ast.unparse(used))) != node.op:
            continue
        for name, call in made.items():
            if called(call) == node.op and name not in loaded:
                yield (f"Call {name} instead of {ast.unparse(used)} at line {used.lineno}", [line.edit(used, name)], f"{name} is created but never called.")


@of(CallArguments)
def one_parameter(evidence: Evidence, finding: Finding, fact: CallArguments) -> Made:
    """One parameter for all tensors of x."""
    node = evidence.failed
    if node is None:
        return
    for line in lines_at(evidence, node.location):
        owner = class_of(line.source.tree, node.op)
        method = method_of(owner, "call") if owner else None
        wanted = [item.arg for item in method.args.args[1 : 1 + fact.given]] if method is not None else []
        if method is not None and len(wanted) == fact.given and fact.missing in wanted:
            yield (
                f"Accept one argument in call at line {method.lineno} and unpack it: {', '.join(wanted)} = inputs",
                [OneParameter("model", line.raised.file, span_of(method), "inputs", wanted)],
                "fit passes all of x as the first argument.",
            )


@of(NeverCalled)
def first_of_ends(evidence: Evidence, finding: Finding, fact: NeverCalled) -> Made:
    """The first of a Sequential model's inputs and outputs."""
    for line in lines_of(evidence):
        model = ast.unparse(line.node.value) if isinstance(line.node, ast.Attribute) else ""
        asked = [item for item in nodes(line.scope, ast.Attribute) if item.attr in ("input", "output") and ast.unparse(item.value) == model]
        if model and asked:
            yield (
                f"Use {model}.{fact.what}s[0] instead of {model}.{fact.what}",
                [line.edit(item, f"{model}.{item.attr}s[0]") for item in asked],
                "A Sequential model has these before it is called.",
            )


@of(KeysUnpacked)
def looked_up(evidence: Evidence, finding: Finding, fact: KeysUnpacked) -> Made:
    """The tensors of a dict by their keys, in the order in which its keys were taken."""
    raised = evidence.raised
    if raised is None:
        return
    for line in lines_of(evidence)[:1]:
        for statement in nodes(line.scope, ast.Assign):
            target = statement.targets[0]
            names = [item.id for item in target.elts if isinstance(item, ast.Name)] if isinstance(target, (ast.Tuple, ast.List)) else []
            if ast.unparse(statement.value) == fact.name and set(names) == {name for name, _ in fact.keys}:
                made = isinstance(statement.value, ast.Call)
                held = "by_key" if made else fact.name
                edits: list[Edit] = [line.edit(statement.value, ", ".join(f"{held}[{dict(fact.keys)[name]!r}]" for name in names))]
                yield (
                    f"Look up the tensors of {fact.name} by key",
                    [line.before(statement, f"{held} = {fact.name}"), *edits] if made else edits,
                    "Each variable then gets the tensor for its key.",
                )


@of(CallMisfit)
def missing_axis(evidence: Evidence, finding: Finding, fact: CallMisfit) -> Made:
    """The axis along which tensors are joined, where the call does not say it."""
    line = next(iter(lines_of(evidence)), None)
    if fact.missing != ("axis",) or line is None or not isinstance(line.node, ast.Call):
        return
    call, operands = line.node, line.operands()
    shapes = [line.shape(node) for node in operands]
    if called(call) not in ("concat", "concatenate") or not operands:
        return
    axes, rank = [-1], len(shapes[0] or ())
    if all(shape and len(shape) == rank for shape in shapes):
        alike = [len({tuple(n for i, n in enumerate(shape or ()) if i != axis) for shape in shapes}) == 1 for axis in range(rank)]
        axes = [axis - rank if axis == rank - 1 else axis for axis in range(rank - 1, 0, -1) if alike[axis]]
    for axis in axes:
        words = [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords]
        written = ", ".join([*map(ast.unparse, call.args), *words, f"axis={axis}"])
        yield (
            f"Concatenate along {'the last axis' if axis == -1 else f'axis {axis}'} at {line.at}: axis={axis}",
            [line.edit(call, f"{ast.unparse(call.func)}({written})", choice="axis")],
            "Axis 0 is the batch." if axis == -1 else "All other axes match.",
        )


def _names(node: ast.expr) -> set[str]:
    return {ast.unparse(item) for item in node.elts} if isinstance(node, (ast.List, ast.Tuple)) else {ast.unparse(node)}


@of(Misdeclared)
def declared_as_returned(evidence: Evidence, finding: Finding, fact: Misdeclared) -> Made:
    """The shape that a layer returns as its argument."""
    if fact.by == "output_shape" and len(fact.returned) > 1:
        row = list(fact.returned[1:])
        yield (
            f"Set output_shape={show_shape(tuple(row))} on {fact.layer.name}, the shape that it returns",
            [configure(fact.layer.name, output_shape=row)],
            "The layers after it are then built for that shape.",
        )


def undeclared(evidence: Evidence, finding: Finding) -> Made:
    """Without a method that declares another shape."""
    node = evidence.flow.node(finding.nodes[0])
    file = file_of(node.location) if node.location is not None else ""
    if not isinstance(finding.fact, Misdeclared) or finding.fact.by == "output_shape" or not file:
        return
    source = Source.read(file)
    for item in (item for cls in nodes(source.tree, ast.ClassDef) if cls.name == node.op for item in cls.body):
        if isinstance(item, ast.FunctionDef) and item.name == "compute_output_shape":
            yield (
                f"Remove {node.op}.compute_output_shape",
                [Removed("model", file, span_of(item), ast.unparse(item))],
                "Keras then takes the shape from call.",
            )


def magnitude(evidence: Evidence, finding: Finding) -> Made:
    """The magnitude of complex values, taken where the program makes them of real ones."""
    failed = evidence.failed
    if not isinstance(finding.fact, DtypeRefused) or not finding.fact.dtype.startswith("complex") or failed is None:
        return
    for node in ancestors(evidence, failed.id):
        made = any(edge.spec.dtype.startswith("complex") for edge in evidence.flow.out_of(node.id))
        if not made or any(edge.spec.dtype.startswith("complex") for edge in evidence.flow.into(node.id)):
            continue
        for line in reversed(lines_at(evidence, node.called)):
            if isinstance(line.node, ast.Call):
                yield (
                    f"Take the magnitude of {short(line.node)} at {line.at}: abs",
                    [line.apply(line.node, "abs")],
                    "Spectrograms usually contain magnitudes; the phase is discarded.",
                )


def without_comma(evidence: Evidence, finding: Finding) -> Made:
    """A value without the comma behind it."""
    for line in lines_of(evidence)[:1]:
        for item in nodes(line.owner(), ast.Assign):
            held = item.value.elts if isinstance(item.value, ast.Tuple) else []
            if len(held) == 1 and line.source.of(item.value).endswith(",") and isinstance(item.targets[0], (ast.Name, ast.Attribute)):
                name = ast.unparse(item.targets[0])
                yield (
                    f"Remove the comma at the end of line {item.lineno}: {name} = {ast.unparse(held[0])}",
                    [line.edit(item.value, ast.unparse(held[0]))],
                    f"The comma makes {name} a tuple.",
                )


@of(InputReplaced)
def kept_input(evidence: Evidence, finding: Finding, fact: InputReplaced) -> Made:
    """The input under a name of its own, from where it is made to where the model is."""
    for line in lines_at(evidence, finding.location)[:1]:
        made = next((one for one in nodes(line.scope, ast.Assign) if one.lineno == fact.made and called(one.value) == "Input"), None)
        call = next((one for one in nodes(line.scope, ast.Call) if one.lineno == line.raised.line and fact.name in map(ast.unparse, words_of(one))), None)
        used = {one.id for one in nodes(line.scope, ast.Name)}
        name = next(one for one in ("inputs", f"{fact.name}_input", "first_input") if one not in used)
        given = next((one for one in words_of(call) if ast.unparse(one) == fact.name), None) if call is not None else None
        if made is not None and given is not None:
            yield (
                f"Keep the Input as {name} at line {fact.made}, and make the model of it",
                [line.edit(made, f"{name} = {line.source.of(made)}"), line.edit(given, name)],
                f"{fact.name} is given to other tensors on the way.",
            )


def without_batch(evidence: Evidence, finding: Finding) -> Made:
    """The shape of a sample, where a declaration is handed the whole shape of what another model returns."""
    node = evidence.failed
    for line in lines_at(evidence, node.location or node.called)[:1] if node is not None else ():
        given = [item for call in nodes(line.source.tree, ast.Call) for item in call.args]
        whole = [item for item in given if isinstance(item, ast.Attribute) and item.attr in ("output_shape", "input_shape")]
        for item in whole[:3]:
            text = ast.unparse(item)
            yield (f"Leave the batch axis out at line {item.lineno}: {text}[1:]", [line.edit(item, f"{text}[1:]")], "A declared shape is that of one sample.")


@of(InnerBatch)
def sample_shapes(evidence: Evidence, finding: Finding, fact: InnerBatch) -> Made:
    """The shapes that the inputs of a model declare, without their first axis."""
    for line in lines_at(evidence, evidence.flow.node(finding.nodes[0]).location)[:1]:
        given = [shape for call in nodes(line.scope, ast.Call) if called(call) == "Input" and (shape := argument(call, "shape", ["shape"]))]
        short_of = {
            item: ast.unparse(ast.Tuple(item.elts[1:], ast.Load())) if isinstance(item, (ast.Tuple, ast.List)) else f"{ast.unparse(item)}[1:]"
            for item in given
            if not isinstance(item, (ast.Tuple, ast.List)) or [ast.unparse(one) for one in item.elts[:1]] == ["None"]
        }
        if short_of:
            yield (
                f"Declare the shape of one sample: {', '.join(dict.fromkeys(short_of.values()))}",
                [line.edit(item, text) for item, text in short_of.items()],
                "An input shape does not include the batch axis.",
            )


@of(ByPlace)
def by_name(evidence: Evidence, finding: Finding, fact: ByPlace) -> Made:
    """Options of a layer by their names."""
    for line in lines_of(evidence)[:1]:
        call = line.node
        if isinstance(call, ast.Call) and fact.arguments and ast.unparse(call.func) == fact.layer:
            # From the last one on: what comes by position stays before what comes by name.
            edits = [line.edit(call.args[index], f"{name}={IT}") for index, name in reversed(fact.arguments)]
            yield (
                f"Pass {', '.join(f'{name}={short(call.args[index])}' for index, name in fact.arguments)} to {fact.layer} by name",
                edits,
                "Positional arguments of a layer are its input tensors.",
            )


@of(NumberTooLarge)
def unsigned(evidence: Evidence, finding: Finding, fact: NumberTooLarge) -> Made:
    """The other operand without a sign, where the number fits then."""
    for line in lines_of(evidence)[:1]:
        node = line.node
        if not fact.unsigned or not isinstance(node, ast.BinOp):
            continue
        for operand, other in ((node.left, node.right), (node.right, node.left)):
            if line.number(other) == fact.value:
                yield (
                    f"Compute {short(node)} with uint32 at {line.at}",
                    [line.cast(operand, "uint32", "keras.ops"), line.apply(other, "convert_to_tensor", '"uint32"', module="keras.ops")],
                    "The product wraps around at 32 bits, as hashes by multiplication do.",
                )
