"""Layers and operations that cannot take what they are given."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..flow import Edge, Finding, Node, Shape, Side, elements, show_shape
from ..trace.axes import RECURRENT
from .data import NUMPY_RESHAPE, reshape_of
from .entry import entry
from .evidence import Evidence
from .messages import meanings
from .registry import check, fallback, rule
from .saved_models import finding_of as saved_model_finding
from .tpu_setup import told as set_up_finding
from .words import MERGES, axes_of, giver, named, pair, side

_SOURCE = "Keras' input checks and TensorFlow's shape inference, from the inputs recorded at the call"


def _pair(bad: str, good: str, shape: str = "(8, 8, 3)") -> tuple[str, str]:
    frame = f"""
def build():
    return keras.Sequential([keras.Input({shape}), %s])
def data():
    return np.zeros((4, *{shape}), "float32"), None
"""
    return frame % bad, frame % good


_rank = _pair("L.Conv2D(4, 3), L.LSTM(5)", "L.Conv2D(4, 3), L.Reshape((36, 4)), L.LSTM(5)")
RANK = rule("layer-rank", "A layer wants another number of axes", severity="error", source=_SOURCE, fails=_rank[0], passes=_rank[1])
AXIS = rule(
    "layer-axis", "A layer's weights were made for another size", severity="error", source=_SOURCE,
    fails="""
def build():
    d = L.Dense(4); d.build((None, 5)); return keras.Sequential([keras.Input((3,)), d, L.Dense(2)])
def data():
    return np.zeros((4, 3), "float32"), None
""",
    passes="""
def build():
    d = L.Dense(4); d.build((None, 3)); return keras.Sequential([keras.Input((3,)), d, L.Dense(2)])
def data():
    return np.zeros((4, 3), "float32"), None
""",
)  # fmt: skip
_merge = """
def build():
    i = keras.Input((8, 8, 3)); a = L.Conv2D(4, 3, padding="same")(i); b = %s; return keras.Model(i, L.Add()([a, b]))
def data():
    return np.zeros((4, 8, 8, 3), "float32"), None
"""
MERGE = rule(
    "merge-shapes", "Branches that are merged have different shapes", severity="error", source=_SOURCE,
    fails=_merge % "L.MaxPooling2D()(a)", passes=_merge % "L.Conv2D(4, 1)(i)",
)  # fmt: skip
_reshape = _pair("L.Reshape((5, 5))", "L.Reshape((8, 24))")
RESHAPE = rule(
    "reshape-size", "A reshape asks for another number of elements", severity="error", source=_SOURCE, fails=_reshape[0], passes=_reshape[1]
)
_window = _pair("L.Conv2D(4, 9)", "L.Conv2D(4, 9, padding='same')")
WINDOW = rule(
    "window-too-large", "A window is larger than what it slides over", severity="error", source=_SOURCE, fails=_window[0], passes=_window[1]
)
_unknown = _pair("L.Flatten(), L.Dense(4)", "L.GlobalAveragePooling2D(), L.Dense(4)", "(None, None, 3)")
UNKNOWN = rule(
    "axis-unknown", "A layer needs an axis whose size is not declared", severity="error", source=_SOURCE,
    fails=_unknown[0].replace("(4, *(None, None, 3))", "(4, 8, 8, 3)"), passes=_unknown[1].replace("(4, *(None, None, 3))", "(4, 8, 8, 3)"),
)  # fmt: skip
_attention = """
def build():
    q, v, m = keras.Input((3, 4)), keras.Input((5, 4)), keras.Input((3, %d), dtype="bool")
    return keras.Model([q, v, m], L.MultiHeadAttention(2, 4)(q, v, attention_mask=m))
def data():
    return [np.zeros((2, 3, 4), "float32"), np.zeros((2, 5, 4), "float32"), np.ones((2, 3, %d), bool)], None
"""
ATTENTION = rule(
    "attention-shapes", "Query, value or mask of an attention do not fit together", severity="error", source=_SOURCE,
    fails=_attention % (3, 3), passes=_attention % (5, 5),
)  # fmt: skip
_op = """
class Join(L.Layer):
    def call(self, x):
        return tf.matmul(x, tf.ones((%d, 2)))
def build():
    return keras.Sequential([keras.Input((6,)), L.Dense(5), Join()])
def data():
    return np.zeros((4, 6), "float32"), None
"""
OPERATION = rule(
    "op-shapes", "An operation between layers gets shapes that do not fit", severity="error", source=_SOURCE, fails=_op % 4, passes=_op % 5
)
_raises = """
class Odd(L.Layer):
    def call(self, x):
        if x.shape[-1] %% 2 == %d:
            raise ValueError("an even number of features is needed")
        return x
def build():
    return keras.Sequential([keras.Input((6,)), L.Dense(4), Odd()])
def data():
    return np.zeros((4, 6), "float32"), None
"""
RAISES = rule(
    "layer-raises",
    "A layer raises an error of its own",
    severity="error",
    source="the exception itself",
    fails=_raises % 0,
    passes=_raises % 1,
)

CODE = rule(
    "code-raises",
    "A line outside of any layer raises",
    severity="error",
    source="NumPy's, TensorFlow's or the user's own exception",
    fails="""
def build():
    table = np.arange(12, dtype="float32").reshape(5, 5)
    m = keras.Sequential([keras.Input((5,)), L.Dense(5)]); m.set_weights([table, np.zeros(5)]); return m
""",
    passes="""
def build():
    table = np.arange(25, dtype="float32").reshape(5, 5)
    m = keras.Sequential([keras.Input((5,)), L.Dense(5)]); m.set_weights([table, np.zeros(5)]); return m
""",
)

_NDIM = re.compile(r"expected (min_|max_)?ndim=(\d+), found ndim=(\d+)")
_LAST = re.compile(r"expected axis (-?\d+) of input shape to have value (\d+)")
_EQUAL = re.compile(r"Dimensions must be equal, but are (\d+) and (\d+)")
_INSIDE = re.compile(r"\((\w+) of ((?:\[[^\]]*\](?:, )?)+)\)")
_ATTENTION = ("MultiHeadAttention", "Attention", "AdditiveAttention", "GroupQueryAttention", "GroupedQueryAttention")


@fallback
def unexplained(evidence: Evidence) -> Iterator[Finding]:
    """A break that no rule has spoken of: what the node itself says."""
    node = evidence.failed
    if node is not None and node.failure is not None:
        edges = [edge for edge in evidence.failed_inputs() if edge.label != "mask"]
        finding = _explain(evidence, node, edges)
        finding.nodes, finding.location = finding.nodes or (node.id,), finding.location or node.location or node.called
        yield finding


@check(order=20)
def layer_failed(evidence: Evidence) -> Iterator[Finding]:
    """The node that raised while the model was built or called, unless the door explains it."""
    node = evidence.failed
    if node is None or node.failure is None or evidence.where not in ("build", "call"):
        return
    if saved_model_finding(evidence) is not None or set_up_finding(evidence) is not None:
        return
    if any(True for _ in entry(evidence)):
        return
    edges = [edge for edge in evidence.failed_inputs() if edge.label != "mask"]
    finding = _explain(evidence, node, edges)
    finding.nodes = finding.nodes or (node.id,)
    finding.edges = tuple(edge.id for edge in edges)
    finding.location = (node.location or node.called) if node.kind == "layer" else (node.called or node.location)
    yield finding


def _explain(evidence: Evidence, node: Node, edges: list[Edge]) -> Finding:
    assert node.failure is not None
    said = node.failure.message
    shape = edges[0].spec.shape if edges else _shape_in(said)
    for explain in (_wrong_rank, _wrong_axis, _merge_shapes, _reshape_size, _window_size, _unknown_axis, _attention_shapes):
        finding = explain(evidence, node, edges, shape, said)
        if finding is not None:
            return finding
    if node.op == "python":
        return _line(node, said)
    if node.kind == "op":
        return _operation(evidence, node, edges)
    inside = _INSIDE.search(said)
    if inside:
        return _inner_operation(node, inside[1], inside[2], said)
    fed = f" given {' and '.join(show_shape(edge.spec.shape) for edge in edges)}" if edges else ""
    words = node.failure.last_line.rstrip(".")
    if len(words) > 120:
        return Finding(RAISES.id, "error", f"{named(node)} raises{fed}.", f"{_inner(node)} It says: {words}".strip())
    return Finding(RAISES.id, "error", f"{named(node)} raises{fed}: {words}.", _inner(node))


def _line(node: Node, said: str) -> Finding:
    """The program's own line, with NumPy or plain Python in it."""
    assert node.failure is not None
    match = NUMPY_RESHAPE.search(said)
    if match:
        size, wanted = reshape_of(match)
        side = Side(f"{elements(wanted)} numbers") if all(n > 0 for n in wanted) else Side(f"shape {wanted}")
        return Finding(
            CODE.id, "error", f"A line asks for an array of {wanted}, and {size} numbers do not fill it.",
            f"A reshape keeps every number. Writing -1 for one axis lets NumPy work out its size. It says: {node.failure.last_line}",
            side, Side(f"{size} numbers"),
        )  # fmt: skip
    if "maximum recursion depth exceeded" in said:
        known = next(meanings(said))
        return Finding(CODE.id, "error", "A line calls deeper than Python lets it.", f"{known.means} {known.todo}")
    return Finding(CODE.id, "error", "A line outside of any layer raises.", f"It says: {node.failure.last_line}")


def _inner(node: Node) -> str:
    return f"It happens in {node.failure.inner}, inside the layer." if node.failure is not None and node.failure.inner else ""


def _wrong_rank(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None, said: str) -> Finding | None:
    match = _NDIM.search(said)
    names = axes_of(node.op)
    if match:
        wanted, got = int(match[2]), int(match[3])
    elif "with at least 3 dimensions" in said and shape is not None:
        match, wanted, got = re.search("at least (3)", said), 3, len(shape)
    elif "Kernel shape must have the same length" in said and names and shape is not None:
        wanted, got = len(names), len(shape)
    else:
        return None
    bound = {"min_": "at least ", "max_": "at most "}.get(match[1] or "", "") if match else ""
    if len(names) != wanted:
        names = ("batch", *["axis"] * (wanted - 1)) if not bound else ()
    gap = got - wanted
    lacks = f"{abs(gap)} {'axis' if abs(gap) == 1 else 'axes'} too {'many' if gap > 0 else 'few'}"
    wants = f"({', '.join(names)})" if names and "axis" not in names else f"{bound}{wanted} axes"
    source = giver(evidence.flow, edges)
    given = f"{source} gives {show_shape(shape)}" if source else f"it gets {show_shape(shape)}"
    expected = Side(wants, names)
    tokens = side(shape).axes
    found = Side(show_shape(shape), tokens, tuple(range(1, 1 + gap)) if gap > 0 else ())
    return Finding(RANK.id, "error", f"{named(node)} wants {wants}, and {given}: {lacks}.", _why_rank(node.op, gap), expected, found)


def _why_rank(op: str, gap: int) -> str:
    if op in RECURRENT:
        return "A recurrent layer reads a sequence of vectors. " + (
            "Say which axis is time and fold the others into the features; Flatten or a global pooling alone would leave no time axis."
            if gap > 0
            else "Each sample needs a time axis and a feature axis."
        )
    if axes_of(op):
        return "The layer slides over " + ", ".join(axes_of(op)[1:-1]) + " and reads channels on the last axis."
    return ""


def _wrong_axis(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None, said: str) -> Finding | None:
    match = _LAST.search(said)
    wanted: int | None = int(match[2]) if match else None
    if wanted is None and node.kind == "layer" and node.op not in MERGES and node.op not in _ATTENTION and shape:
        equal = _EQUAL.search(said)
        kernel = _kernel(evidence, node)
        if equal and kernel is not None and shape[-1] in (int(equal[1]), int(equal[2])) and kernel[-2] != shape[-1]:
            wanted = kernel[-2]
    if wanted is None or not shape:
        return None
    expected, found = pair((*shape[:-1], wanted), shape)
    source = giver(evidence.flow, edges)
    return Finding(
        AXIS.id, "error", f"{named(node)} has weights for {wanted} on the last axis, and {source or 'its input'} gives {shape[-1]}.",
        "The layer was built for another width before, by an earlier call, loaded weights or a layer taken from another model.", expected, found,
    )  # fmt: skip


def _kernel(evidence: Evidence, node: Node) -> Shape | None:
    """The shape of the layer's kernel, also where an earlier call of the layer shows it."""
    for item in evidence.flow.nodes:
        if item.name == node.name:
            for weight in item.weights:
                if weight.name.endswith("kernel") and weight.shape and len(weight.shape) > 1:
                    return weight.shape
    return None


def _merge_shapes(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None, said: str) -> Finding | None:
    if node.op not in MERGES or len(edges) < 2:
        return None
    first, second = edges[0], next((edge for edge in edges[1:] if edge.spec.shape != edges[0].spec.shape), edges[1])
    expected, found = pair(first.spec.shape, second.spec.shape, names=False)
    a, b = evidence.flow.node(first.source).name, evidence.flow.node(second.source).name
    axis = node.config.get("axis", -1)
    why = (
        f"Concatenate joins along axis {axis}; every other axis must be the same in all branches."
        if node.op == "Concatenate"
        else "Element by element, both branches must have the same shape, or 1 on an axis that is to be repeated."
    )
    return Finding(
        MERGE.id, "error", f"{named(node)} cannot merge {a} {show_shape(first.spec.shape)} with {b} {show_shape(second.spec.shape)}.", why, expected, found,
    )  # fmt: skip


def _reshape_size(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None, said: str) -> Finding | None:
    if node.op.lower() not in ("reshape", "tf.reshape"):
        return None
    target = node.config.get("target_shape") or node.config.get("operand1")
    rows = shape[1:] if node.kind == "layer" and shape else shape
    size = elements(rows)
    if not target or size is None:
        return None
    wanted = tuple(int(n) for n in target)
    total = elements(wanted) if -1 not in wanted else None
    text = f"{total} numbers" if total is not None else f"a multiple of {abs(elements(wanted) or 0)} numbers"
    what = "a sample" if node.kind == "layer" else "the tensor"
    return Finding(
        RESHAPE.id, "error", f"{named(node)} asks for {wanted}, {text}, and {what} {show_shape(rows)} has {size}.",
        "A reshape keeps every number; only the axes change.", Side(f"{wanted} = {text}"), Side(f"{show_shape(rows)} = {size} numbers"),
    )  # fmt: skip


def _window_size(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None, said: str) -> Finding | None:
    if "egative dimension" not in said and "zero or negative" not in said and "must be smaller" not in said:
        return None
    size = node.config.get("pool_size") or node.config.get("kernel_size") or ""
    window = f"a window of {tuple(size) if isinstance(size, list) else size}" if size else "its window"
    source = giver(evidence.flow, edges)
    return Finding(
        WINDOW.id, "error", f"{named(node)} slides {window} over {show_shape(shape)}{' from ' + source if source else ''}, which is smaller than the window.",
        'Each convolution without padding and each pooling shrinks height and width; here nothing is left. padding="same", a smaller window or fewer poolings keep it alive.',
        Side("at least as large as the window"), side(shape),
    )  # fmt: skip


def _unknown_axis(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None, said: str) -> Finding | None:
    if "should be defined" not in said and not (shape and None in shape[1:] and "None" in said and node.op in ("Dense", "Flatten")):
        return None
    return Finding(
        UNKNOWN.id, "error", f"{named(node)} needs to know the last axis of its input, and gets {show_shape(shape)}.",
        "Its weights are made for a fixed size. Declare the axis, or pool over the unknown axes before.", Side("a known last axis"), side(shape),
    )  # fmt: skip


def _attention_shapes(evidence: Evidence, node: Node, edges: list[Edge], shape: Shape | None, said: str) -> Finding | None:
    if node.op not in _ATTENTION:
        return None
    parts = {edge.label or f"input {i + 1}": edge for i, edge in enumerate(edges)}
    mask = parts.get("attention_mask")
    positional = [edge for label, edge in parts.items() if label != "attention_mask"]
    text = ", ".join(f"{label} {show_shape(edge.spec.shape)}" for label, edge in parts.items())
    expected = found = None
    if mask is not None and len(positional) > 1 and positional[0].spec.shape and positional[1].spec.shape:
        query, value = positional[0].spec.shape, positional[1].spec.shape
        expected, found = pair((query[0], query[1], value[1]), mask.spec.shape, names=False)
        return Finding(
            ATTENTION.id, "error", f"{named(node)} gets a mask {show_shape(mask.spec.shape)} where (batch, {query[1]}, {value[1]}) fits: query steps by value steps.",
            "The mask says for each query step which value steps it may see.", expected, found,
        )  # fmt: skip
    return Finding(
        ATTENTION.id,
        "error",
        f"{named(node)} gets parts that do not fit together: {text}.",
        f"It says: {node.failure.last_line if node.failure else ''}",
    )


def _inner_operation(node: Node, operation: str, given: str, said: str) -> Finding:
    """An operation inside a layer, known from TensorFlow's own words."""
    shapes = [_numbers(part) for part in re.findall(r"\[([^\]]*)\]", given)]
    sides: tuple[Side | None, Side | None] = pair(shapes[0], shapes[1], names=False) if len(shapes) > 1 else (None, None)
    text = " and ".join(show_shape(shape) for shape in shapes)
    return Finding(
        OPERATION.id,
        "error",
        f"{operation} inside {named(node)} cannot work on {text}.",
        f"It says: {said.splitlines()[-1].split(' (' + operation)[0]}.",
        *sides,
    )


def _numbers(text: str) -> Shape:
    return tuple(int(part) if part.strip().isdigit() else None for part in text.split(",") if part.strip())


def _operation(evidence: Evidence, node: Node, edges: list[Edge]) -> Finding:
    assert node.failure is not None
    shapes = [show_shape(edge.spec.shape) for edge in edges]
    where = f" at {node.called}" if node.called is not None else ""
    expected = found = None
    if len(edges) > 1:
        expected, found = pair(edges[0].spec.shape, edges[1].spec.shape, names=False)
    given = " and ".join(shapes) or "its inputs"
    return Finding(
        OPERATION.id,
        "error",
        f"The operation {node.op}{where} cannot work on {given}.",
        f"It says: {node.failure.last_line}",
        expected,
        found,
    )


def _shape_in(said: str) -> Shape | None:
    """The shape that an error text quotes, where no edge tells it."""
    match = re.search(r"(?:Full shape received|received input with shape|input_shape=):? ?\(([^)]*)\)", said)
    if not match:
        return None
    parts = [part.strip() for part in match[1].split(",") if part.strip()]
    return tuple(None if part == "None" else int(part) for part in parts if part == "None" or part.isdigit())
