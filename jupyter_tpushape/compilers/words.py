"""A compiler's result as facts: which layer, which line, how much. The only place that parses compiler messages."""

from __future__ import annotations

import re
from typing import Any

from ..flow import Finding, Node, Verdict, Who
from ..replicas.targets import slice_named
from ..rules.compilers import OOM, PADDING, REFUSED, SILENT, XLA
from ..rules.facts.compilers import NoVerdict, OutOfMemory, Padded, Refusal
from .memory import Held, by_layer, held, live, node_names, totals
from .programs import Lowered

_NODE = re.compile(r"\{\{(?:function_)?node ([^}\s]+)\}\}")
_NO_KERNEL = re.compile(r"No registered '(\w+)' OpKernel")
_HBM = re.compile(r"(?<![\d.])([\d.]+[KMGT]?) ?(?:bytes)?\)? exceeds available HBM \(([\d.]+[KMGT]?)|Used ([\d.]+[KMGT]?) of ([\d.]+[KMGT]?) hbm")
_EXHAUSTED = re.compile(r"RESOURCE_EXHAUSTED|HbmOom|memory space hbm")
_OPNAME = re.compile(r'op_name="?([\w./\-]+)')
_DYNAMIC = re.compile(r"bounded dynamic|dynamic (?:shape|spatial|input|concat|dimension|reshape|window)", re.IGNORECASE)
_ADVICE = [
    (_DYNAMIC, "Use one size: batch(..., drop_remainder=True), and pad or resize other axes of unknown size in the pipeline."),
    (re.compile(r"No registered '|unsupported operations"), "Move the operation into dataset.map, where the host runs it, or replace it."),
    (re.compile(r"compile-time constant"), "XLA must know sizes at compile time. Take the size from static shapes, or pad to a fixed size and mask."),
    (re.compile(r"tensor list size|maximum_iteration"), "Pass maximum_iterations to the loop, or loop over tf.range(n)."),
    (re.compile(r"X\{64\|128\}"), "Cast to int32 or float32 first."),
]  # fmt: skip


def oom(message: str) -> bool:
    return bool(_EXHAUSTED.search(message))


def dynamic(message: str) -> bool:
    """Whether an error is about a size that is not known until run time."""
    return bool(_DYNAMIC.search(message))


def _bytes(text: str) -> float:
    factor = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(text[-1:], 1)
    return float(text.rstrip("KMGT")) * factor


def scope_node(flow: Any, scope: str) -> Node | None:
    """The innermost node of the flow that an operation's scope names; Keras numbers a second call ``dense_1`` beside ``dense``."""
    by_name: dict[str, Node] = {node.name: node for node in flow.nodes if node.kind in ("layer", "op", "loss", "metric")}
    for part in reversed(scope.split("/")):
        found = by_name.get(part) or by_name.get(re.sub(r"_\d+$", "", part))
        if found is not None:
            return found
    return None


def _line(program: Lowered, scope: str) -> Any:
    from ..graph.wrote import user_line
    from ..trace.locations import is_user_file

    try:
        operation = program.graph.get_operation_by_name(scope)
        files = [frame.filename for frame in operation.traceback]
    except (AttributeError, KeyError, ValueError):
        return None
    # The lines before the lowering are those that asked for it.
    begin = next((i for i, name in enumerate(files) if name.endswith("compilers/lowering_tf.py")), 0)
    return user_line(operation) if any(is_user_file(name) for name in files[begin:]) else None


def _plain(message: str) -> str:
    text = message.split("\n\nStack trace", 1)[0].split("The op is created at", 1)[0]
    # What follows is the instruction in XLA's own notation.
    text = re.split(r": %[\w.\-]+ = ", text, maxsplit=1)[0]
    text = re.sub(r"\{\{[^}]*\}\}", "", text)
    return re.sub(r"\s+", " ", text).strip().removesuffix("'")[:400]


def _first(message: str) -> str:
    text = _plain(message).removeprefix("Failed getting HLO text: ").lstrip("'")
    text = re.sub(r" __inference\S*", "", text).replace(" compatible with node )", ")")
    return text.split(". ", 1)[0].rstrip(". ") + "."


def _advice(message: str) -> str:
    return next((advice for pattern, advice in _ADVICE if pattern.search(message)), "")


def refusal(seen: Any, program: Lowered, compiler: str, target: str) -> tuple[Verdict, Finding]:
    """XLA rejected the program."""
    message = str(program.error)
    if "variable.var()" in message and (table := _table(program)) is not None:
        return _without_kernel(seen, program, compiler, target, table)
    scopes = [match.group(1) for match in _NODE.finditer(message) if not match.group(1).startswith("__")]
    scope = scopes[0] if scopes else ""
    flow = seen.evidence.flow
    owner = program.scopes.node(scope) if program.scopes is not None and scope else ""
    node = flow.node(owner) if owner else scope_node(flow, scope)
    kernel = _NO_KERNEL.search(message)
    what = kernel.group(1) if kernel else scope.rsplit("/", 1)[-1] or type(program.error).__name__
    layer = node
    while layer is not None and layer.kind == "op":
        layer = flow.node(layer.parent) if layer.parent else None
    fact = Refusal("xla", program.program, Who.of(layer) if layer is not None else None, what, _first(message), _advice(message), kernel is not None)
    location = _line(program, scope) or ((node.location or node.called) if node is not None else None)
    finding = Finding.of(XLA.id, "tpu", fact, (node.id,) if node is not None else (), location=location)
    return Verdict(program.program, compiler, False, target, str(finding)), finding


def _table(program: Lowered) -> Any:
    from ..graph.program import kernels
    from ..graph.walk import walk

    if program.graph is None:
        return None
    library = {function.signature.name: function for function in program.graph.as_graph_def().library.function}
    return next(
        (
            met
            for met in walk(program.graph, library)
            if met.operation.type not in kernels() and any(tensor.dtype.name == "resource" for tensor in met.operation.inputs)
        ),
        None,
    )


def _without_kernel(seen: Any, program: Lowered, compiler: str, target: str, met: Any) -> tuple[Verdict, Finding]:
    kind = met.operation.type
    owner = program.scopes.node((met.by or met.operation).name) if program.scopes is not None else ""
    node = seen.evidence.flow.node(owner) if owner else scope_node(seen.evidence.flow, met.scope)
    who = Who.of(node) if node is not None else None
    fact = Refusal("xla", program.program, who, kind, "", _advice(f"No registered '{kind}'"), kernel=True)
    location = met.line or ((node.location or node.called) if node is not None else None)
    finding = Finding.of(XLA.id, "tpu", fact, (node.id,) if node is not None else (), location=location)
    return Verdict(program.program, compiler, False, target, str(finding)), finding


def answer_finding(seen: Any, program: Lowered, answer: dict[str, Any]) -> Finding:
    """libtpu did not compile the program: out of memory, rejected, or no verdict."""
    message = str(answer["message"])
    if answer["kind"] == "crash":
        return _crash(seen, program, message)
    if answer["kind"] != "refused":
        needs, has = needed(str(answer.get("loosely") or ""))
        if answer["kind"] == "broke":
            return Finding.of(SILENT.id, "note", NoVerdict(program.program, "broke", _plain(message), needs, has))
        return Finding.of(SILENT.id, "note", NoVerdict(program.program, "silent", message, needs, has))
    if oom(message):
        return _out_of_memory(seen, program, answer)
    match = _OPNAME.search(message)
    owner = program.scopes.node(match.group(1)) if match and program.scopes is not None else ""
    node = seen.evidence.flow.node(owner) if owner else scope_node(seen.evidence.flow, match.group(1)) if match else None
    fact = Refusal("tpu", program.program, Who.of(node) if node is not None else None, "", _plain(message), _advice(message))
    location = _line(program, match.group(1) if match else "") or ((node.location or node.called) if node is not None else None)
    return Finding.of(REFUSED.id, "tpu", fact, (node.id,) if node is not None else (), location=location)


def _crash(seen: Any, program: Lowered, message: str) -> Finding:
    """libtpu died. Where its last words are of a kind of operation, and the program has one such that may be meant, that one is named."""
    operation = _suspect(program, message)
    owner = program.scopes.node(operation) if program.scopes is not None else ""
    node = seen.evidence.flow.node(owner) if owner else None
    fact = NoVerdict(program.program, "crash", message, operation=operation, node=Who.of(node) if node is not None else None)
    location = (_line(program, operation) or ((node.location or node.called) if node is not None else None)) if operation else None
    return Finding.of(SILENT.id, "note", fact, (node.id,) if node is not None else (), location=location)


def _suspect(program: Lowered, message: str) -> str:
    if "convolution" not in message:
        return ""
    found = set(program.read.dynamic)
    return found.pop() if len(found) == 1 else ""


def needed(message: str) -> tuple[float, float]:
    """``(bytes needed, bytes there are)`` of libtpu's refusal; zeros where it gives no numbers."""
    found = _HBM.search(message)
    groups = [_bytes(group) for group in found.groups() if group] if found else []
    return (groups[0], groups[1]) if len(groups) == 2 else (0.0, 0.0)


def _out_of_memory(seen: Any, program: Lowered, answer: dict[str, Any]) -> Finding:
    message, target = str(answer["message"]), seen.program.target
    needs, has = needed(message)
    flow = seen.evidence.flow
    arguments = held(program, program.read.entry)
    # What the plan does not account for must not be laid at the door of the layers that it names.
    layers = [layer for layer in by_layer([], live(program, arguments, answer.get("buffers")), node_names(flow)) if layer.temporaries]
    if sum(layer.bytes for layer in layers) < 0.5 * needs or not needs:
        layers = []
    first = layers[:3]
    fact = OutOfMemory(
        program.program, target.name, needs, has,
        "temporaries" in message,  # the refusal may speak of temporaries alone: what they are is in its own words
        tuple((layer.name, layer.bytes) for layer in first), sum(layer.bytes for layer in first) >= 0.5 * needs, _plain(message), slice_named(target.name).available_bytes,
    )  # fmt: skip
    nodes = tuple(layer.node for layer in first)
    where = flow.node(nodes[0]) if nodes else None
    return Finding.of(OOM.id, "tpu", fact, nodes, location=(where.location or where.called) if where is not None else None)


def padding(program: Lowered, arguments: list[Held]) -> Finding | None:
    """Padding of variables that is worth a report: at least 64 KiB of variables and 1.5 times their size. The padding of the data does not count."""
    variables = [argument for argument in arguments if not argument.data]
    laid, logical = totals(variables)
    most = max(variables, key=lambda argument: argument.waste, default=None)
    if most is None or logical < 64 * 1024 or laid < 1.5 * logical:
        return None
    fact = Padded(
        program.program, laid, logical, most.name or "", most.laid.dtype, tuple(most.laid.shape), tuple(most.laid.padded), most.laid.bytes,
        most.laid.logical,
    )  # fmt: skip
    return Finding.of(PADDING.id, "slow", fact, (most.node,) if most.node else ())
