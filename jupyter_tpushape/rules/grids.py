"""Predictions and labels whose inner sizes differ."""

from __future__ import annotations

import ast

import msgspec

from ..examine.evidence import Evidence
from ..examine.given_names import Texts
from ..examine.heard import hear
from ..examine.heard_data import HeardCompared, HeardPositions
from ..examine.written_slices import shifted
from ..flow import Edge, Fact, Node, Shape, Who
from ..graph import axes, cause, written
from .compared import ends, kind_of, sizes_met
from .facts.lines import LossCalled
from .facts.loss import GridApart
from .upstream import ancestors, size_behind


def grid_apart(evidence: Evidence, node: Node, loss: Node, y: Shape, p: Shape, predictions: Edge) -> GridApart | None:
    """Images or sequences of the same rank with different sizes."""
    inner = range(1, min(len(y), len(p) - 1))
    off = [i for i in inner if y[i] is not None and p[i] is not None and y[i] != p[i]]
    if kind_of(loss) == "custom" and len(y) != len(p) and hear(node.failure, HeardPositions) is None:
        return None  # a sequence of labels beside a longer one of predictions may be meant
    if kind_of(loss) == "custom" and node.kind == "op" and any(len(edge.spec.shape or ()) > len(p) for edge in evidence.operands()):
        return None  # what has more axes than either compares other values
    if len(y) == len(p) - 1 > 1 and y[1:] == p[2:] and kind_of(loss) != "sparse":
        return None  # each label is a single step
    if not off or len(p) < 3 or len(y) not in (len(p), len(p) - 1) or y[0] != p[0]:
        return None
    if kind_of(loss) == "custom" and not sizes_met(evidence, node, [{y[i], p[i]} for i in off]):
        return None
    if kind_of(loss) == "custom" and node.kind == "op" and _paired(evidence):
        return None
    axis, head = off[0], evidence.flow.node(predictions.source)
    sizes = evidence.origins.of(predictions)
    why = cause(sizes[axis], y[axis] or 0) if len(sizes) == len(p) else None
    if why is None and len(sizes) == len(p):
        before, times = size_behind(evidence, predictions, axis)
        behind = cause(before, (y[axis] or 0) // times) if times > 1 and (y[axis] or 0) % times == 0 else None
        why = behind if behind is not None and behind.kind == "unpadded" else None
    made = written(sizes[axis]) if len(sizes) == len(p) and why is None else ""
    known = [spec.shape[axis] for _, spec in evidence.x if spec.shape and len(spec.shape) == len(p)]
    have, want = p[axis] or 1, y[axis] or 1
    # As many times the data as the labels have, or would have if they were a multiple of it.
    whole = next((n for n in known if n and not have % n and (not want % n or want // n == have // n > 1)), None)
    moved = _moved(evidence, predictions.source, axis, y[axis])
    return GridApart(
        Who.of(head), loss.name, y, p, axis, why, made, whole, _resized(evidence, y, p), moved, *_turned(evidence, predictions, y),
        *(_shifted(evidence) if axis == 1 and abs(have - want) == 1 else ()),
    )  # fmt: skip


def _paired(evidence: Evidence) -> bool:
    """Whether the function around the line makes pairs elsewhere."""
    raised = evidence.raised
    if raised is None or (tree := Texts.of(raised.file).tree(raised.file)) is None:
        return False
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef) and scope.lineno <= raised.line <= (scope.end_lineno or 0):
            indices = [one.slice for one in ast.walk(scope) if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Tuple)]
            return len({ast.unparse(one) for one in indices if set(ast.unparse(one).strip("()").split(", ")) <= {":", "...", "None"}}) > 1
    return False


def _shifted(evidence: Evidence) -> tuple[str, int, str, int] | tuple[()]:
    """A slice that takes all steps but one of a sequence, its line, and the line that uses the sequence whole."""
    for raised in (evidence.raised, *evidence.raised.callers) if evidence.raised is not None else ():
        for one in shifted(raised):
            return ast.unparse(one.cut), one.cut.lineno, ast.unparse(one.whole), one.whole.lineno
    return ()


def _moved(evidence: Evidence, head: str, axis: int, size: int | None) -> Who | None:
    for node in (evidence.flow.node(head), *ancestors(evidence, head)):
        edges, gives = evidence.flow.into(node.id), next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
        if node.kind != "layer" or len(edges) != 1 or not gives or (given := edges[0].spec.shape) is None or axis >= min(len(given), len(gives)):
            continue
        sizes = evidence.origins.of(edges[0])
        data = {one.axis for one in axes(sizes[axis])} if axis < len(sizes) else set()
        if given[axis] == size != gives[axis] and data == {axis} and len(given) == len(gives) and sorted(map(str, given)) == sorted(map(str, gives)):
            return Who.of(node)
    return None


TURNS = frozenset({"transpose", "permute", "permute_dims", "swapaxes"})


def _turned(evidence: Evidence, predictions: Edge, y: Shape) -> tuple[Who | None, bool]:
    p = predictions.spec.shape or ()
    off = [axis for axis in range(min(len(p), len(y))) if p[axis] != y[axis]]
    if len(p) != len(y) or len(off) != 2 or 0 in off or [p[axis] for axis in off] != [y[axis] for axis in off[::-1]]:
        return None, False
    data = [spec.shape for _, spec in evidence.x if spec.shape]

    def in_place(shape: Shape) -> bool:
        return any(shape[axis] == one[axis] != 1 and one.count(one[axis]) == 1 for one in data for axis in off if axis < len(one))

    node, last = evidence.flow.node(predictions.source), True
    while in_place(y) and not in_place(p):
        edges, gives = evidence.flow.into(node.id), next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
        given = edges[0].spec.shape or () if len(edges) == 1 else ()
        if not given or not gives or node.kind not in ("op", "layer"):
            break
        if node.op.lower() in TURNS and len(given) == len(p):
            exchanged = [axis for axis in range(len(p)) if given[axis] != gives[axis]] == off
            return (Who.of(node), last) if last or exchanged else (None, False)
        last = last and given == p and not node.weights
        node = evidence.flow.node(edges[0].source)
    return None, False


def loss_called(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """A line of the program's own step that compares labels, or data, with predictions of other sizes."""
    said, raised = hear(node.failure, HeardCompared), evidence.raised
    labels, predictions = ends(evidence, node)
    if said is None:
        stepped = node.kind == "op" and (evidence.facts.get("step") is not None or evidence.facts.get("own_step") is not None)
        y, p = (edge.spec.shape if edge is not None else None for edge in (labels, predictions))
        sized = grid_apart(evidence, node, node, y, p, predictions) if stepped and y and p and predictions is not None else None
        return None if sized is None else ("output-size", sized)
    text = raised.text if raised is not None else ""
    if labels is not None and predictions is not None:
        apart = grid_apart(evidence, node, node, said.labels, said.predictions, predictions)
        if apart is not None:
            return "output-size", msgspec.structs.replace(apart, loss=text.split("(", maxsplit=1)[0] or apart.loss)
    return "loss-raises", LossCalled(text, said.labels, said.predictions, isinstance(said, HeardPositions))


def _resized(evidence: Evidence, y: Shape, p: Shape) -> str:
    """The stage that changes the inputs, maps of one size with the labels until then, to the size of the predictions."""
    stages = evidence.stages
    shapes = [getattr(stage.spec[0], "shape", None) if isinstance(stage.spec, tuple) and stage.spec else None for stage in stages]
    for before, after, stage in zip(shapes, shapes[1:], stages[1:], strict=False):
        if before and after and len(before) == len(after) > 2 and before[-3:-1] == y[1:3] != after[-3:-1] == p[1:3]:
            return str(stage.function or stage.name)
    return ""
