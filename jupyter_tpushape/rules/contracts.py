"""Contracts beyond shapes: what a layer, a model or an operation requires besides rank and sizes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from ..examine.broken_lines import KeysTaken, LastCall, Unconnected
from ..examine.evidence import Evidence, Given
from ..examine.heard import HeardCall, HeardOperation, HeardUnlike, hear
from ..examine.heard_contracts import (
    HeardAssigned,
    HeardBoolean,
    HeardDtypes,
    HeardIterated,
    HeardKept,
    HeardLoopState,
    HeardMadeInside,
    HeardMissingArgument,
    HeardNoneNumber,
    HeardRefusedDtype,
    HeardStateCount,
    HeardStateful,
    HeardUnpack,
    HeardWeight,
    HeardWeightCount,
)
from ..examine.heard_data import HeardClassRows
from ..examine.heard_jax import HeardIndex
from ..examine.heard_lines import HeardNoShape
from ..flow import Edge, Fact, Node, Shape, Who, syntax
from ..trace.axes import RECURRENT
from ..trace.signature import Refused
from .calls import MADE, not_called, not_written
from .facts.calls import MadeAnew
from .facts.contracts import (
    Apart,
    CallArguments,
    CallMisfit,
    CallRefused,
    Disconnected,
    DtypeRefused,
    DtypesApart,
    KeysUnpacked,
    ShapesInBuild,
    SymbolicFunction,
    SymbolicQuestion,
    Unpacked,
    WeightApart,
    WeightCount,
)
from .facts.held import AdaptedApart
from .facts.loss import RowsOfValues
from .facts.states import CellOfSteps, CellReturns, CellState, CellStates, CellUnpacks, StatefulRows, StateRows, States, StatesInList, StatesToo
from .grids import loss_called
from .handed_over import handed_over
from .inner_doors import inner_door
from .lines import logical, of_product
from .loss_tracker import metric_state, misled
from .masks import mask_apart
from .own_code import data_whole, weight_of_batch
from .registry import rule
from .shapeless import no_number, no_rank, not_dense
from .transforms import transformed

Explained = tuple[str, Fact] | None


class Break(NamedTuple):
    """The failed node, with its inputs."""

    evidence: Evidence
    node: Node
    edges: list[Edge]
    shape: Shape | None


_STATES = ("initial_state", "initial_states", "states")

STATES = rule(
    "rnn-states", "The initial state does not match the recurrent layer", severity="error", source="the layer's state_size, and the states passed to it",
    fails="""
def build():
    e, d = keras.Input((6, 8)), keras.Input((4, 8)); _, h, c = L.LSTM(16, return_state=True)(e)
    return keras.Model([e, d], L.LSTM(32)(d, initial_state=[h, c]))
def data():
    return [np.zeros((8, 6, 8), "float32"), np.zeros((8, 4, 8), "float32")], None
""",
    passes="""
def build():
    e, d = keras.Input((6, 8)), keras.Input((4, 8)); _, h, c = L.LSTM(32, return_state=True)(e)
    return keras.Model([e, d], L.LSTM(32)(d, initial_state=[h, c]))
def data():
    return [np.zeros((8, 6, 8), "float32"), np.zeros((8, 4, 8), "float32")], None
""",
    doc="""An LSTM has two states with one value per unit, a GRU or SimpleRNN has one. Bidirectional has the states of both directions, forward first. The
states come from the layer itself, so custom cells are covered.""",
)  # fmt: skip
STATEFUL = rule(
    "stateful-batch", "The batch size does not match the states of a stateful layer", severity="error", source="Keras' checks of stateful layers",
    fails="""
def build():
    return keras.Sequential([keras.Input(batch_shape=(1, 10, 3)), L.LSTM(4, stateful=True), L.Dense(1)])
def data():
    return np.zeros((8, 10, 3), "float32"), None
""",
    passes="""
def build():
    return keras.Sequential([keras.Input(batch_shape=(8, 10, 3)), L.LSTM(4, stateful=True), L.Dense(1)])
def data():
    return np.zeros((8, 10, 3), "float32"), None
""",
    frameworks=("keras",),
)  # fmt: skip
WEIGHTS = rule(
    "weights-apart", "An array does not match the shape of the weight", severity="error", source="Keras' check in set_weights",
    fails="""
def build():
    e = L.Embedding(11, 4); e.build((None, 6)); e.set_weights([np.zeros((10, 4))])
    return keras.Sequential([keras.Input((6,), dtype="int32"), e])
""",
    passes="""
def build():
    e = L.Embedding(10, 4); e.build((None, 6)); e.set_weights([np.zeros((10, 4))])
    return keras.Sequential([keras.Input((6,), dtype="int32"), e])
""",
)  # fmt: skip
DISCONNECTED = rule(
    "graph-disconnected", "The model's output depends on an input that the model does not declare", severity="error", source="the history of the symbolic tensors",
    fails="""
def build():
    a, b = keras.Input((3,)), keras.Input((3,)); return keras.Model(a, L.Dense(1)(L.Concatenate()([a, b])))
""",
    passes="""
def build():
    a, b = keras.Input((3,)), keras.Input((3,)); return keras.Model([a, b], L.Dense(1)(L.Concatenate()([a, b])))
""",
)  # fmt: skip
SYMBOLIC = rule(
    "symbolic-tensor", "A line needs values that a symbolic tensor does not have", severity="error", source="Keras 3: a KerasTensor has a shape and a dtype",
    fails="""
def build():
    i = keras.Input((4,)); x = L.Dense(2)(i)
    return keras.Model(i, L.Dense(1)(tf.nn.relu(x)))
""",
    passes="""
def build():
    i = keras.Input((4,)); x = L.Dense(2)(i)
    return keras.Model(i, L.Dense(1)(keras.ops.relu(x)))
""",
    frameworks=("keras",),
)  # fmt: skip
DTYPES = rule(
    "dtype-mix", "An operation receives tensors of different dtypes", severity="error", source="TensorFlow's check of an operation's inputs",
    fails="""
class Scale(L.Layer):
    def call(self, x):
        return x * tf.range(4)
def build():
    return keras.Sequential([keras.Input((4,)), Scale(), L.Dense(1)])
def data():
    return np.zeros((8, 4), "float32"), None
""",
    passes="""
class Scale(L.Layer):
    def call(self, x):
        return x * tf.cast(tf.range(4), x.dtype)
def build():
    return keras.Sequential([keras.Input((4,)), Scale(), L.Dense(1)])
def data():
    return np.zeros((8, 4), "float32"), None
""",
)  # fmt: skip


def _states(at: Break) -> Explained:
    told = at.evidence.arguments(at.node.id)
    keeps = tuple(told.get("state_sizes") or ())
    cell = bool(at.shape) and len(at.shape or ()) == 2
    states = _handed(at.evidence.given, len(keeps) if cell else 0)
    if not keeps or not states:
        return None
    # What goes over steps by itself can return them all, or merge those of two directions.
    if len(at.shape or ()) == 3 and len(told) > 1 and not {"return_sequences", "merge_mode"} & told.keys():
        return STATES.id, CellOfSteps(Who.of(at.node), at.shape or ())
    shapes = tuple(one.spec.shape for one in states)
    rows = {s[0] for s in shapes if s and len(s) == 2 and s[0] not in (None, 1)}
    if at.shape and at.shape[0] is not None and len(rows) == 1 and rows != {at.shape[0]}:
        return "op-shapes", StateRows(Who.of(at.node), at.shape[0], rows.pop() or 0)
    if len(keeps) == len(shapes) and all(s is None or (len(s) == 2 and s[-1] in (n, None)) for s, n in zip(shapes, keeps, strict=True)):
        return None
    encoders = [one.giver for one in states if one.giver is not None]
    names = tuple(dict.fromkeys(one.name for one in encoders))
    joined = any(one.op == "Bidirectional" for one in encoders)
    return STATES.id, States(Who.of(at.node), keeps, shapes, at.node.op == "Bidirectional", names, joined, cell)


def _handed(given: list[Given], of_cell: int) -> list[Given]:
    named = [one for one in given if one.label in _STATES]
    if named:
        return named
    first = given[0].spec.shape if given else None
    rest = [one for one in given[1:] if one.label == ""]
    if of_cell:
        return rest if len(rest) == of_cell else []
    return rest if first is not None and len(first) >= 3 and all(len(one.spec.shape or ()) in (2, 3) for one in rest) else []


def _stateful(at: Break) -> Explained:
    said = hear(at.node.failure, HeardStateful)
    if said is None:
        return None
    declared = next((spec.shape[0] for _, spec in at.evidence.declared or [] if spec.shape), None)
    return STATEFUL.id, StatefulRows(Who.of(at.node), None if said.unknown else declared, at.shape[0] if at.shape else None)


def _cell(at: Break) -> Explained:
    said, counted = hear(at.node.failure, HeardLoopState), hear(at.node.failure, HeardStateCount)
    if counted is not None and at.node.op == "RNN":
        return STATES.id, CellStates(Who.of(at.node), counted.before, counted.after)
    if (alone := at.evidence.facts.get("returned_alone")) is not None and at.node.kind == "layer":
        return STATES.id, CellReturns(Who.of(at.node), *alone)
    if (again := at.evidence.facts.get("listed_again")) is not None:
        return STATES.id, StatesInList(*again)
    if (taken := at.evidence.facts.get("states")) is not None and at.node.kind == "layer":
        return STATES.id, CellUnpacks(Who.of(at.node), *taken)
    kept, sizes = hear(at.node.failure, HeardKept), at.evidence.arguments(at.node.id).get("state_sizes") or ()
    if said is None and kept is not None and at.node.kind == "layer" and kept.before[-1:] and kept.before[-1] in sizes and kept.after[-1] not in sizes:
        return STATES.id, CellState(Who.of(at.node), kept.before, kept.after)
    return (STATES.id, CellState(Who.of(at.node), said.before, said.after)) if said is not None else None


def _dtypes(at: Break) -> Explained:
    said, refused = hear(at.node.failure, HeardDtypes), hear(at.node.failure, HeardRefusedDtype)
    if said is not None and said.listed and at.node.kind == "layer" and at.node.family != "own":
        return None  # a built-in layer that got ids in place of vectors
    if said is not None:
        return DTYPES.id, DtypesApart(said.operation, said.first, said.second, Who.of(at.node) if at.node.kind == "layer" else None)
    if refused is not None:
        return DTYPES.id, DtypeRefused(Who.of(at.node), refused.parameter, refused.dtype, refused.allowed)
    return None


def _arguments(at: Break) -> Explained:
    said = hear(at.node.failure, HeardMissingArgument)
    if said is None or at.node.kind != "layer" or len(at.edges) < 2:
        return None
    return "layer-raises", CallArguments(Who.of(at.node), said.name, len(at.edges))


def _class_rows(at: Break) -> Explained:
    said = hear(at.node.failure, HeardClassRows)
    if said is None or said.labels != said.predictions:
        return None
    stats = [found for found in at.evidence.label_stats.values() if found is not None]
    hot = len(stats) == 1 and stats[0].one_hot
    return "one-hot-labels", RowsOfValues("a sparse cross-entropy", said.labels, said.predictions, "one-hot" if hot else "")


def _unpacked(at: Break) -> Explained:
    found: KeysTaken | None = at.evidence.facts.get("unpacked")
    if found is None or at.evidence.where in ("loss", "metric", "data"):
        return None
    return "layer-raises" if at.node.kind == "layer" else "code-raises", KeysUnpacked(found.name, found.keys)


def _refused(at: Break) -> Explained:
    found: Refused | None = at.evidence.facts.get("refused")
    if found is None or at.node.failure is None:
        return None
    rule = "layer-raises" if at.node.kind == "layer" else "code-raises"
    if found.apart:
        return rule, Apart(found.function, found.apart, found.what, found.axis)
    return rule, CallMisfit(found.function, found.missing, found.doubled, found.unknown, found.many, found.tensors, at.node.failure.said)


def _shapes_in_build(at: Break) -> Explained:
    raised, failure = at.evidence.raised, at.node.failure
    method = raised.function if raised is not None and raised.method else ""
    if not method and hear(failure, HeardNoShape) is not None:
        method = "compute_output_shape"  # what it returned is no shape
    if at.node.kind != "layer" or len(at.edges) < 2 or method not in ("build", "compute_output_shape") or failure is None:
        return None
    if raised is not None and raised.text.startswith("self.") and raised.text[5:].isidentifier():
        return None  # a name that the object does not have reads no shape
    return "layer-raises", ShapesInBuild(Who.of(at.node), tuple(edge.spec.shape for edge in at.edges), failure.said, method)


def _several(at: Break) -> Explained:
    giver = at.evidence.flow.node(at.edges[0].source) if len(at.edges) > 1 and len({edge.source for edge in at.edges}) == 1 else None
    states = giver is not None and (giver.config.get("return_state") or (giver.op == "Bidirectional" and len(at.edges) > 2))
    if giver is None or at.node.kind != "layer" or at.node.op in RECURRENT or not states:
        return None
    return "layer-raises", StatesToo(Who.of(at.node), Who.of(giver), len(at.edges))


def _made_inside(at: Break) -> Explained:
    if hear(at.node.failure, HeardMadeInside) is None or (at.evidence.where == "build" and at.node.kind != "layer"):
        return None
    cls = at.evidence.facts.get("made") or "variable"
    return MADE.id, MadeAnew(cls, "step" if "step" in at.evidence.facts else "call")


def _weights(at: Break) -> Explained:
    said, counted = hear(at.node.failure, HeardWeight), hear(at.node.failure, HeardWeightCount)
    if counted is not None:
        return WEIGHTS.id, WeightCount(counted.owner, counted.wanted, counted.given)
    if said is None and at.evidence.where == "build" and at.node.kind != "layer":
        # An array that a builder assigns to a weight by itself.
        assigned = hear(at.node.failure, HeardAssigned)
        said = HeardWeight("", assigned.wanted, assigned.given) if assigned is not None else None
    if said is None:
        return None
    named = next((item for item in reversed(at.evidence.flow.nodes) if item.name == said.owner), None)
    if named is None:  # the message does not tell the layer: by the at.shape of its weights
        fits = [item for item in at.evidence.flow.nodes if any(weight.shape == said.wanted for weight in item.weights)]
        named = fits[0] if len(fits) == 1 else None
    owner: Who | None = Who.of(named) if named is not None else at.evidence.facts.get("breaking")
    return WEIGHTS.id, WeightApart(owner, said.owner, said.wanted, said.given)


def _held(at: Break) -> Explained:
    said, unlike = hear(at.node.failure, HeardOperation), hear(at.node.failure, HeardUnlike)
    shapes = said.shapes if said is not None else (unlike.first, unlike.second) if unlike is not None else ()
    who, table = Who.of(at.node), tuple(at.evidence.arguments(at.node.id).get(key) for key in ("input_dim", "output_dim"))
    if at.node.op == "Embedding" and len(shapes) == 2 and table in shapes:
        return WEIGHTS.id, WeightApart(who, at.node.name, table, next(shape for shape in shapes if shape != table))
    mean = next((weight.shape for weight in at.node.weights if weight.name == "mean"), None)
    if at.node.op == "Normalization" and mean and at.shape and at.shape[-1] not in (None, 1, mean[-1]):
        return WEIGHTS.id, AdaptedApart(who, mean[-1] or 0, at.shape)
    return None


def _call(at: Break) -> Explained:
    said = hear(at.node.failure, HeardCall) if at.node.kind == "op" and at.node.op != "python" else None
    return ("code-raises", CallRefused(said.function, said.named, at.node.failure.said)) if said is not None and at.node.failure else None


def _unknown_size(at: Break) -> Explained:
    if at.node.kind == "op" and at.node.op != "python" and hear(at.node.failure, HeardNoneNumber) is not None:
        return SYMBOLIC.id, SymbolicQuestion("size")
    return None


def _one_tensor(at: Break) -> Explained:
    last, raised = at.evidence.facts.get("last"), at.evidence.raised
    if hear(at.node.failure, HeardIterated) is None or not isinstance(last, LastCall) or len(last.outputs) != 1 or raised is None:
        return None
    try:
        target = syntax.parse(raised.text, mode="eval").body
    except SyntaxError:
        return None
    # What a loop goes through, or a call spreads out, is no unpacking.
    return ("code-raises", Unpacked(last.layer, len(target.elts), last.outputs)) if isinstance(target, ast.Tuple) else None


def _line(at: Break) -> Explained:
    if at.node.op != "python":
        return None
    apart: Unconnected | None = at.evidence.facts.get("unconnected")
    if apart is not None:
        return DISCONNECTED.id, Disconnected(apart.missing, apart.given, apart.through)
    if at.evidence.facts.get("symbolic") is not None:
        function, same = at.evidence.facts["symbolic"]
        return SYMBOLIC.id, SymbolicFunction(function, same)
    if hear(at.node.failure, HeardBoolean) is not None:
        return SYMBOLIC.id, SymbolicQuestion("truth")
    if hear(at.node.failure, HeardNoneNumber) is not None and at.node.location is not None and "shape" in at.node.location.text:
        return SYMBOLIC.id, SymbolicQuestion("size")
    unpack, last = hear(at.node.failure, HeardUnpack), at.evidence.facts.get("last")
    if unpack is not None and isinstance(last, LastCall) and len(last.outputs) not in (1, unpack.wanted):
        return "code-raises", Unpacked(last.layer, unpack.wanted, last.outputs)
    return None


CONTRACTS: tuple[Callable[[Break], Explained], ...] = (
    lambda at: not_called(at.evidence), lambda at: not_written(at.evidence, at.node), lambda at: misled(at.evidence), lambda at: metric_state(at.evidence, at.node), lambda at: handed_over(at.evidence, at.node),
    lambda at: loss_called(at.evidence, at.node),
    lambda at: weight_of_batch(at.evidence, at.node, at.shape), lambda at: data_whole(at.evidence, at.node),
    lambda at: no_number(at.evidence, at.node),
    lambda at: not_dense(at.evidence, at.node), lambda at: mask_apart(at.evidence, at.node),
    _unpacked, _states, _stateful, _cell,
    lambda at: logical(at.evidence, at.node), lambda at: of_product(at.evidence, at.node), _dtypes, lambda at: inner_door(at.evidence, at.node, at.edges),
    _arguments, _several, lambda at: no_rank(at.evidence, at.node), _made_inside, _weights, _held,
    lambda at: transformed(at.evidence, at.node), _call, _class_rows, _refused, _shapes_in_build, _unknown_size, _one_tensor, _line,
    lambda at: handed_over(at.evidence, at.node, known=False),
)  # fmt: skip


def dtypes_in_loss(evidence: Evidence, node: Node, loss: Node) -> Fact | None:
    """Tensors of two dtypes in a loss or metric of the user's own, or one that an operation does not take."""
    said, refused = hear(node.failure, HeardDtypes), hear(node.failure, HeardRefusedDtype)
    of_bools = logical(evidence, node)
    if of_bools is not None:
        return of_bools[1]
    if said is not None:
        return DtypesApart(said.operation, said.first, said.second, Who.of(loss), "loss", labels=True)
    came = {spec.dtype for _, spec in evidence.y}
    if hear(node.failure, HeardIndex) is not None and (whole := next((one for one in came if one.startswith(("int", "uint"))), "")):
        return DtypeRefused(Who.of(loss), "indices", "float32", ("int32", "int64"), whole if loss.kind == "loss" else "")
    if refused is None:
        return None
    cast = evidence.framework == "keras" and loss.kind == "loss" and came <= set(refused.allowed) and refused.dtype not in came
    return DtypeRefused(Who.of(loss), refused.parameter, refused.dtype, refused.allowed, next(iter(came), "") if cast else "")
