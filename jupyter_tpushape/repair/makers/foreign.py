"""Candidates for functions of another library or of an older Keras, those of today in their place wherever the model runs them, and for what is loaded."""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ...examine.evidence import Evidence
from ...examine.heard import hear
from ...examine.heard_jax import HeardGone
from ...flow import Finding, Node
from ...flow.syntax import Function, called
from ...rules.facts.contracts import CallMisfit, SymbolicFunction, WeightApart
from ...rules.facts.data import MappedValue
from ...rules.facts.lines import OF_ARRAYS, OF_TORCH, NoMethod, UnknownArguments, Unregistered
from ...rules.facts.mesh import ForeignFunction, ValueAsked
from ...trace.raised import innermost
from ..edits import Edit, KerasOps
from ..edits.expression import MODULE
from ..text import keras_ops
from ..text.names import Names
from ..text.source import enclosing, nodes, parents
from .edits import Made, named, of
from .line import Line, calls_at, lines_of, span_of


def in_keras_ops(evidence: Evidence, finding: Finding) -> Made:
    """Every such call of the program's text, where it is not the pipeline's."""
    line = next(iter(lines_of(evidence)), None)
    found = innermost(evidence.failure) if isinstance(evidence.failure, BaseException) else None
    if line is None or found is None or not (isinstance(finding.fact, ForeignFunction) or hear(evidence.failure, HeardGone) is not None):
        return
    frame, place, _ = found
    visible = Names(line.source, frame.f_globals)
    calls = [(call, made) for call in _calls(line) if (made := keras_ops.name_of(visible, call))]
    if any(call.lineno <= place[1] <= (call.end_lineno or call.lineno) for call, _ in calls):
        said = dict.fromkeys(f"{ast.unparse(call.func)} → {made}" for call, made in calls)
        spans, names = [span_of(call) for call, _ in calls], [ast.unparse(call.func) for call, _ in calls]
        yield (f"Use keras.ops: {', '.join(said)}", [KerasOps(line.raised.function, line.raised.file, spans, names)], "keras.ops works on every backend.")


def _calls(line: Line) -> list[ast.Call]:
    tree = line.source.tree
    above, host = parents(tree), keras_ops.on_host(tree)
    builder = enclosing(above, line.node) if line.node is not None else tree
    found = []
    for call in nodes(tree, ast.Call):
        around: list[ast.AST] = []
        node: ast.AST = call
        while node in above:
            node = above[node]
            around += [node] if isinstance(node, Function) else []
        if host & set(around) or (not around and (builder is not tree or call.lineno < _first(line))):
            continue
        found.append(call)
    return found


def _first(line: Line) -> int:
    made: list[int] = [call.lineno for call in nodes(line.source.tree, ast.Call) if ast.unparse(call.func).split(".")[-1] in ("Input", "InputLayer")]
    return min([*made, line.raised.line])


# So many letters at the end of a name are a kind: "Pooling2D".
_ALIKE = 6


def _parameters(kind: type) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(kind).parameters
    except (TypeError, ValueError):
        return {}


def _same_end(one: str, other: str) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(reversed(one), reversed(other), strict=False)))


@of(CallMisfit)
def usual_argument(evidence: Evidence, finding: Finding, fact: CallMisfit) -> Made:
    """A required argument of a layer as the layers that are most like it have it by default."""
    line = next(iter(lines_of(evidence)), None)
    kinds = vars(getattr(sys.modules.get(evidence.framework), "layers", None) or object)
    name = fact.function.split(".")[-1]
    if len(fact.missing) != 1 or line is None or not isinstance(line.node, ast.Call) or called(line.node) != name or name not in kinds:
        return
    wanted = fact.missing[0]
    found: dict[int, set[Any]] = {}
    for other, kind in kinds.items():
        given = _parameters(kind).get(wanted) if isinstance(kind, type) and other != name else None
        if given is not None and isinstance(given.default, (int, tuple)):
            found.setdefault(_same_end(other, name), set()).add(given.default)
    alike = found.get(max(found, default=0), set())
    if len(alike) == 1 and max(found) >= _ALIKE:
        value, func = alike.pop(), ast.unparse(line.node.func)
        bare = [call for call in nodes(line.source.tree, ast.Call) if ast.unparse(call.func) == func and not call.args]
        lacking = [call for call in bare if not {wanted, None} & {word.arg for word in call.keywords}]
        yield (
            f"Pass {wanted}={value} to {name} at {line.at}",
            [line.more(call, f"{wanted}={value}") for call in lacking or [line.node]],
            "The default of similar layers, and of this one in Keras 2.",
        )


@of(UnknownArguments)
def declared_batch(evidence: Evidence, finding: Finding, fact: UnknownArguments) -> Made:
    """An Input in front of the first layer of a model, in place of the shape of a batch that the layer was given."""
    for line in lines_of(evidence):
        for call in nodes(line.scope, ast.Call):
            shape = next((word for word in call.keywords if word.arg == "batch_input_shape"), None)
            inside = any(call in item.elts for item in nodes(line.scope, ast.List))
            adds = [item for item in nodes(line.scope, ast.Expr) if isinstance(item.value, ast.Call) and item.value.args == [call]]
            if shape is None or not (inside or adds):
                continue
            rest = [*map(ast.unparse, call.args), *(f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords if word is not shape and word.arg)]
            door, new = f"{MODULE}.Input(batch_shape={ast.unparse(shape.value)})", f"{ast.unparse(call.func)}({', '.join(rest)})"
            module = evidence.framework or "keras"
            edits: list[Edit] = [line.edit(call, f"{door}, {new}", module)]
            if adds:
                add = ast.unparse(adds[0].value.func)
                edits = [line.before(adds[0], f"{add}({door})", module), line.edit(call, new)]
            yield (f"Declare the batch in an Input: batch_shape={ast.unparse(shape.value)}", edits, "Keras 3 takes the shape of a batch in Input alone.")


# Functions of TensorFlow whose counterpart in keras.ops has another name; all else has the same one or none.
_RENAMED = {
    "concat": "concatenate",
    "reduce_mean": "mean",
    "reduce_sum": "sum",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_prod": "prod",
    "reduce_any": "any",
    "reduce_all": "all",
    "reduce_logsumexp": "logsumexp",
    "gather": "take",
    "pow": "power",
    "l2_normalize": "normalize",
}


_ARRAYS = ("np", "numpy", "jnp", "jax")
# Functions whose axis is another one where it is not given.
_AXIS = frozenset({"argmax", "argmin", "cumsum", "cumprod", "gather", "l2_normalize"})


# Methods whose function has another name, and arguments of PyTorch.
_FUNCTIONS = {
    "T": "transpose",
    "astype": "cast",
    "bmm": "matmul",
    "clamp": "clip",
    "detach": "stop_gradient",
    "float": "cast",
    "long": "cast",
    "mm": "matmul",
    "permute": "transpose",
    "pow": "power",
    "size": "shape",
    "t": "transpose",
    "unsqueeze": "expand_dims",
    "view": "reshape",
}
_DTYPES = {"float": "float32", "long": "int32"}
_WORDS = {"dim": "axis", "keepdim": "keepdims"}
_SAME_TENSOR = frozenset({"clone", "contiguous", "copy"})


class _Functions(ast.NodeTransformer):
    """Methods of tensors as functions of ``module``."""

    def __init__(self, methods: Iterable[ast.expr], module: str) -> None:
        self.methods, self.said = [*map(span_of, methods)], dict[str, None]()
        self.back = {new: old for old, new in _RENAMED.items()} if module == "tensorflow" else {}

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        value = self.visit(node.value)
        return self._call("T", [value], []) if span_of(node) in self.methods else ast.Attribute(value, node.attr, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        args, words = [self.visit(item) for item in node.args], [ast.keyword(w.arg, self.visit(w.value)) for w in node.keywords]
        func = node.func
        if not isinstance(func, ast.Attribute) or span_of(func) not in self.methods:
            return ast.Call(self.visit(func), args, words)
        value = self.visit(func.value)
        name = told = func.attr
        if name in _SAME_TENSOR:
            return value  # type: ignore[no-any-return]
        if name == "masked_fill" and len(args) == 2:
            return self._call(told, [*args, value], words, "where")
        if name == "size" and args:
            return ast.Subscript(self._call(name, [value], []), args[0], ast.Load())
        if name in ("flatten", "ravel"):
            name, args = "reshape", [ast.Tuple([ast.Constant(-1)], ast.Load())]
        elif name in ("view", "reshape", "permute", "transpose") and len(args) > 1:
            args, name = ([ast.Tuple(args, ast.Load())], name) if name != "transpose" or len(args) > 2 else (args, "swapaxes")
        elif name in _DTYPES:
            args = [ast.Constant(_DTYPES[name])]
        return self._call(told, [value, *args], [ast.keyword(_WORDS.get(w.arg or "", w.arg), w.value) for w in words], name)

    def _call(self, told: str, args: list[ast.expr], words: list[ast.keyword], name: str = "") -> ast.Call:
        new = _FUNCTIONS.get(name or told, name or told)
        new = self.back.get(new, new)
        self.said[f".{told} → {new}"] = None
        return ast.Call(ast.Attribute(ast.Name(_PLACE, ast.Load()), new, ast.Load()), args, words)


_PLACE = "module_of_functions"


@of(NoMethod)
def as_function(evidence: Evidence, finding: Finding, fact: NoMethod) -> Made:
    """Functions for the methods of NumPy's arrays and PyTorch's tensors in a function."""
    for line in lines_of(evidence)[:1]:
        lacking = {fact.name} | OF_TORCH | (OF_ARRAYS if evidence.backend == "tensorflow" else set())
        above, module = parents(line.source.tree), line.module()
        called_on = [item for item in nodes(line.scope, ast.Attribute) if item.attr in lacking and _on_tensor(line, item.value)]
        made: dict[ast.AST, ast.expr] = {item: item for item in called_on if item.attr == "T"}
        for call in nodes(line.scope, ast.Call):
            made |= {call: call.func} if call.func in called_on else {}
        edits, rewrite = [], _Functions(made.values(), module)
        for node in nodes(line.scope, (ast.Call, ast.Attribute)):
            around: ast.AST = node
            while around in above and (around := above[around]) not in made:
                pass
            if node in made and around not in made:
                edits.append(line.edit(node, ast.unparse(rewrite.visit(copy.deepcopy(node))).replace(_PLACE, MODULE), module))
        if edits:
            yield f"Use functions in place of methods: {', '.join(rewrite.said)}", edits, "Functions take symbolic tensors."


def _on_tensor(line: Line, value: ast.expr) -> bool:
    """Whether an expression is no module, class or object of the program."""
    first = next((item for item in nodes(value, ast.Name)), None)
    known = {name.asname or name.name.split(".")[0] for item in nodes(line.source.tree, (ast.Import, ast.ImportFrom)) for name in item.names}
    return first is not None and (isinstance(value, ast.Call) or first.id not in known | {"self"}) and first.id not in ("np", "numpy")


def keras_functions(evidence: Evidence, finding: Finding) -> Made:
    """``keras.ops`` in place of TensorFlow's, JAX's and NumPy's functions, in a function that builds a model."""
    line = next(iter(lines_of(evidence)), None)
    if line is None or not isinstance(finding.fact, (SymbolicFunction, ValueAsked, ForeignFunction, MappedValue)):
        return
    mapped = isinstance(finding.fact, MappedValue)
    if mapped and (evidence.framework, evidence.backend) != ("keras", "tensorflow"):
        return
    known = set(line.specs) if isinstance(finding.fact, ValueAsked) or mapped else None
    foreign = isinstance(finding.fact, ForeignFunction)
    if isinstance(finding.fact, ValueAsked) and finding.fact.asked != "array":
        return
    import keras

    edits, names = [], []
    for call in nodes(line.scope, ast.Call):
        way = ast.unparse(call.func).split(".")
        name = _RENAMED.get(way[-1], way[-1])
        if (
            way[0] in (_ARRAYS if mapped else ("tf", "tensorflow", *_ARRAYS))
            and "keras" not in way
            and hasattr(keras.ops, name)
            and (foreign or (call.lineno >= _from_start(line) if known is None else _reads(call, known)))
            and (way[-1] not in _AXIS or len(call.args) > 1 or any(word.arg == "axis" for word in call.keywords))
        ):
            edits.append(line.edit(call.func, f"{MODULE}.{name}", "keras.ops"))
            names.append(f"{'.'.join(way)} → keras.ops.{name}")
    if edits:
        yield f"Use keras.ops: {', '.join(dict.fromkeys(names))}", edits, "keras.ops works on symbolic tensors."


def _reads(call: ast.Call, names: set[str]) -> bool:
    return any(ast.unparse(item) in names for argument in call.args for item in nodes(argument, (ast.Name, ast.Attribute)))


def _from_start(line: Line) -> int:
    made = [
        call.lineno
        for call in nodes(line.scope, ast.Call)
        if ast.unparse(call.func).split(".")[-1] in ("Input", "InputLayer") or call.lineno == line.raised.line
    ]
    return min(made, default=math.inf)  # type: ignore[return-value]


@of(WeightApart)
def head_left_out(evidence: Evidence, finding: Finding, fact: WeightApart) -> Made:
    """All other weights of a file, where the last layer has another number of outputs than the one that was saved."""
    node = named(evidence, fact.owner.name) if fact.owner is not None else None
    if node is None or len(fact.wanted) != len(fact.given) or fact.wanted[:-1] != fact.given[:-1] or _read(evidence, node):
        return
    for line, call in calls_at(evidence, finding.location, "load_weights"):
        given = {item.arg for item in call.keywords}
        if "skip_mismatch" in given:
            continue
        # Names that Keras counts up differ from those in the file, which would then be read as a file without these layers.
        own = not any(layer.weights and _counted(layer) for layer in evidence.flow.nodes if layer.kind == "layer")
        older = evidence.framework == "tf_keras" and "by_name" not in given and own
        for more in ("skip_mismatch=True", "by_name=True, skip_mismatch=True")[: 1 + older]:
            yield (
                f"Leave out the weights of {node.name} at {line.at}: {more}",
                [line.more(call, more)],
                f"All other weights are loaded. {node.name} differs from the saved layer in its outputs, so it starts from initial values.",
            )


def _counted(layer: Node) -> bool:
    return layer.name.replace("_", "").lower().startswith(layer.op.lower())


def _read(evidence: Evidence, node: Node) -> bool:
    pending, seen = [node.id], set[str]()
    while pending:
        for edge in evidence.flow.out_of(pending.pop()):
            target = evidence.flow.node(edge.target)
            if target.id not in seen:
                seen.add(target.id)
                if target.weights:
                    return True
                pending.append(target.id)
    return False


@of(Unregistered)
def register(evidence: Evidence, finding: Finding, fact: Unregistered) -> Made:
    """The function or class with the decorator by which Keras finds it."""
    for line in lines_of(evidence)[:1]:
        for made in nodes(line.source.tree, (ast.FunctionDef, ast.ClassDef)):
            if made.name == fact.name:
                yield (
                    f"Register the {fact.what} {fact.name} at line {made.lineno}",
                    [line.before(made, f"@{MODULE}.register_keras_serializable()", f"{evidence.framework}.saving")],
                    "Keras then finds it by its name.",
                )


# A function of another library may share a name with one of Keras and compute something else.
_LIBRARIES = ("tf", "tensorflow", "keras", "tf_keras")


@of(Unregistered)
def by_name(evidence: Evidence, finding: Finding, fact: Unregistered) -> Made:
    """A function of another library by its name alone."""
    for line in lines_of(evidence)[:1]:
        for given in nodes(line.node, ast.Attribute) if fact.what == "function" and line.node is not None else ():
            if given.attr == fact.name and ast.unparse(given).split(".")[0] in _LIBRARIES:
                yield (
                    f'Write "{fact.name}" instead of {ast.unparse(given)} at {line.at}',
                    [line.edit(given, f'"{fact.name}"')],
                    "Keras knows the function by its name.",
                )
