"""One replica's programs, lowered by XLA from specs alone: nothing is computed, and the model stays as it was.

The train step runs the model's own ``train_step`` with an optimizer made anew from its configuration, so that the user's stays
as built or unbuilt as it is. Variables that a program reads keep their place among its parameters: that is how bytes find
back to layers.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ..flow import CannotRebuild
from ..flow.paths import map_leaves, to_wire
from ..trace.reach import is_step
from ..trace.restore import left_as_found
from ..trace.run import Leaf, leaves
from .hlo import Read, of_proto, of_text
from .scopes import Found, Scopes, noted

if TYPE_CHECKING:
    from .lowering_jax import NamedScopes

_ERRORS = threading.Lock()


@dataclass(frozen=True)
class Parameter:
    """What a parameter of the program is: a tensor of the ``data``, or a variable. ``node`` is ``""`` where no layer owns it."""

    name: str
    node: str
    shape: tuple[int, ...]
    data: bool = False


@dataclass
class Lowered:
    """A program by its plan's label (``forward``, ``predict``, ``train``): its bytes, or ``error`` where it was refused.

    ``form``: ``hlo``, or portable ``stablehlo`` with XLA's ``text`` of it. ``partitions``: devices that one program is cut for; then shapes of
    parameters are shares.
    """

    program: str
    hlo: bytes = b""
    form: str = "hlo"
    partitions: int = 1
    shardy: bool = False
    text: str = ""
    parameters: list[Parameter] = field(default_factory=list)
    error: BaseException | None = None
    graph: Any = None
    scopes: Scopes | NamedScopes | Found | None = None

    @cached_property
    def read(self) -> Read:
        """Its key, and the names of its operations."""
        return of_proto(self.hlo) if self.form == "hlo" and self.hlo else of_text(self.text)


@dataclass(frozen=True)
class Plan:
    """A program that can be lowered: its name, the arguments of its function, and the leaves of the data in them.

    ``rows``: whether it is of a ``full`` batch, of the ``last`` one, or leaves the batch axis ``open``: then the rows come in as one more
    argument, and those of ``leaves`` are the most that there can be.
    """

    name: str
    arguments: tuple[Any, ...]
    leaves: list[Leaf]
    rows: Literal["full", "last", "open"] = "full"

    @property
    def label(self) -> str:
        """``train``, or ``train-last``, ``train-open``."""
        return self.name if self.rows == "full" else f"{self.name}-{self.rows}"


class CannotLower(Exception):
    """There is no program to lower; the message is one line that says why."""


def plans(seen: Any, *, rows: int | None = None, only: str = "") -> list[Plan]:
    """The forward pass, and for a compiled model with labels the train step; ``predict`` where the class has its own.

    Args:
        rows: a batch for this replica in place of the data's. only: one program's name.

    Raises:
        CannotLower: where the model was not traced to its end, an axis is unknown, or a tensor is not dense.
    """
    adapter, model = seen.adapter, seen.model
    if model is None and is_step(seen.program.model):
        raise CannotLower("A step of your own is not compiled here: ask for the verdict on the model that it trains.")
    if seen.error is not None or adapter is None or model is None or seen.sample is None:
        raise CannotLower("There is no program to compile: the model does not run to its end.")
    from ..examine import shape_of

    shape = _with_rows(shape_of(seen), rows) if adapter.backend.replicated else _on_the_mesh(seen, rows)
    x, doors = leaves(seen.sample.x, shape, "x")
    y, labels = leaves(seen.sample.y, shape, "y")
    weight, weights = leaves(seen.sample.weight, shape, "weight")
    trains = adapter.is_model(model) and adapter.compiled(model) and adapter.has_loss(model) and y is not None
    own = adapter.backend.replicated and adapter.is_model(model) and adapter.overrides(model, "predict_step")
    made = [Plan("forward", (x,), doors), *([Plan("predict", (x,), doors)] if own else [])]
    if trains:
        made.append(Plan("train", (x, y, weight), doors + labels + weights))
    wanted = [plan for plan in made if only in ("", plan.name)]
    for plan in wanted:
        _settled(plan.leaves)
    return wanted


def lowered(seen: Any, plan: Plan) -> Lowered:
    """Lowers one program.

    Raises:
        CannotLower: where the model lives under a strategy and cannot be made again outside it.
    """
    adapter, model = seen.adapter, _plain(seen.adapter, seen.model)
    with left_as_found([adapter], [model]):
        return _lower(seen, adapter, model, plan)


def lower(seen: Any, *, rows: int | None = None, only: str = "") -> list[Lowered]:
    """Lowers all of :func:`plans`, which says what the arguments are and what is raised."""
    return [lowered(seen, plan) for plan in plans(seen, rows=rows, only=only)]


def _on_the_mesh(seen: Any, rows: int | None) -> Callable[[Any], Any]:
    """The whole batch, of which each device holds ``rows``."""
    from ..examine import shape_of

    shape, split = shape_of(seen), seen.evidence.split

    def whole(leaf: Any) -> Any:
        found = shape(leaf)
        if not found or split is None or found[0] is None:
            return found
        if rows is not None:
            return (rows * max(1, split.parts), *found[1:])
        if not split.divides(found[0]):
            raise CannotLower(f"A batch of {found[0]} does not divide over {split.parts} devices: there is no program to compile.")
        return found

    return whole


def _with_rows(shape: Callable[[Any], Any], rows: int | None) -> Callable[[Any], Any]:
    if rows is None:
        return shape

    def replaced(leaf: Any) -> Any:
        found = shape(leaf)
        return (rows, *found[1:]) if found else found

    return replaced


def _settled(found: list[Leaf]) -> None:
    for leaf in found:
        if leaf.spec.kind != "dense":
            raise CannotLower(f"{leaf.name} is {leaf.spec.kind}: XLA compiles dense tensors only.")
        if leaf.spec.shape is None or any(n is None for n in leaf.spec.shape):
            raise CannotLower(f"{leaf.name} has an axis of unknown size, {leaf.spec}: XLA compiles for sizes that it knows.")


def _plain(adapter: Any, model: Any) -> Any:
    """The model, or one like it outside any strategy where its variables exist once per replica."""
    if not any(hasattr(_raw(variable), "_distribute_strategy") and hasattr(_raw(variable), "_values") for variable in _variables(model)):
        return model
    from ..repair.live import builder_of

    try:
        return builder_of(adapter, model)()
    except CannotRebuild as error:
        raise CannotLower(f"The model lives under a strategy, and one outside it cannot be made: {error}") from error


def _variables(model: Any) -> list[Any]:
    try:
        return list(getattr(model, "variables", None) or getattr(model, "weights", None) or ())
    except ValueError:  # tf_keras, before a model is built
        return []


def _raw(variable: Any) -> Any:
    """TensorFlow's variable inside Keras 3's."""
    inner = getattr(variable, "_value", None)
    return inner if inner is not None and hasattr(inner, "handle") else variable


def _lower(seen: Any, adapter: Any, model: Any, plan: Plan) -> Lowered:
    name, arguments, found = plan.name, plan.arguments, plan.leaves
    if not adapter.backend.replicated:
        return _lower_jax(seen, adapter, model, name, arguments)
    import tensorflow as tf

    scopes = Scopes(seen.evidence.flow)
    made = Lowered(name, scopes=scopes)

    def spec(leaf: Leaf) -> Any:
        return tf.TensorSpec(leaf.spec.shape, tf.as_dtype(leaf.spec.dtype))

    # The data's tensors go in flat, in the order of their leaves: a nest would be sorted by its keys.
    specs = [spec(leaf) for leaf in found]
    places = {id(leaf): i for i, leaf in enumerate(found)}

    # As fit has it: tf_keras converts Python control flow, Keras 3 does not.
    autograph = adapter.name == "tf_keras"

    if plan.rows == "open":
        specs.append(tf.TensorSpec((), tf.int32))

    def packed(flat: tuple[Any, ...]) -> list[Any]:
        if plan.rows == "open":
            flat = tuple(_opened(tensor, flat[-1]) for tensor in flat[:-1])
        return [map_leaves(lambda leaf: flat[places[id(leaf)]], argument) for argument in arguments]

    try:
        with _quiet(), noted(adapter, scopes):
            if not getattr(model, "built", True):
                # Gives the variables that the optimizer's slots are made for; put back on leaving.
                tf.function(lambda *flat: adapter.call_model(model, packed(flat)[0], False), autograph=autograph).get_concrete_function(
                    *specs
                )
            step = _step(adapter, model, name)
            function = tf.function(lambda *flat: step(*packed(flat)), jit_compile=True, autograph=autograph)
            concrete = function.get_concrete_function(*specs)
            made.graph = concrete.graph
            scopes.settle(concrete.graph)
            with _unsaid_twice():
                made.hlo = function.experimental_get_compiler_ir(*specs)(stage="hlo_serialized")
        made.parameters = list(_parameters(seen, model, concrete, found))
        if plan.rows == "open":
            made.parameters.insert(len(found), Parameter("rows", "", ()))
    except Exception as error:
        made.error = error
    return made


def _opened(tensor: Any, rows: Any) -> Any:
    """A tensor whose first axis holds as many rows as is known when the program runs, as a TPU gets what a pipeline leaves open."""
    from tensorflow.compiler.tf2xla.python import xla

    if not tensor.shape.rank:
        return tensor
    opened = xla.set_dynamic_dimension_size(tensor, 0, rows)
    opened.set_shape((None, *tensor.shape[1:]))
    return opened


def _lower_jax(seen: Any, adapter: Any, model: Any, name: str, arguments: tuple[Any, ...]) -> Lowered:
    from ..replicas.layouts import mesh_of
    from . import lowering_jax as on_jax

    made = Lowered(name, form="stablehlo", scopes=on_jax.NamedScopes(seen.evidence.flow))
    distribution = distribution_of(seen)
    try:
        with _quiet():
            lowered = on_jax.lower(adapter, model, name, arguments, distribution)
        made.hlo, made.text, made.shardy = lowered.portable, lowered.text, lowered.shardy
        made.partitions = mesh_of(distribution).devices if distribution is not None else 1
        made.parameters = [Parameter(*one) for one in on_jax.parameters(seen, model, lowered.held)]
    except Exception as error:
        made.error = error
    return made


def distribution_of(seen: Any) -> Any:
    """How one program lies on the devices: as a distribution says, else by ``DataParallel`` over a planned slice; ``None`` on one device."""
    from ..replicas import is_distribution
    from ..replicas.layouts import over

    strategy, target = seen.program.strategy, seen.program.target
    if is_distribution(strategy):
        return strategy
    return over(target) if target is not None and target.replicas > 1 else None


@contextlib.contextmanager
def _unsaid_twice() -> Iterator[None]:
    """TensorFlow writes what it refuses, with a stack of a hundred lines, to the process's error stream as well as into the exception: there
    it is dropped. What is written without a refusal is written after all."""
    # The stream is the process's: two threads take turns, or one would give back what the other has put there.
    with _ERRORS, tempfile.TemporaryFile() as written:
        try:
            kept = os.dup(2)
        except OSError:  # a process without an error stream
            yield
            return
        os.dup2(written.fileno(), 2)
        try:
            yield
        except Exception:
            written.truncate(0)
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            written.seek(0)
            text = written.read()
            while text:
                text = text[os.write(2, text) :]


def _quiet() -> Any:
    import warnings

    @contextlib.contextmanager
    def quiet() -> Iterator[None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    return quiet()


def _step(adapter: Any, model: Any, name: str) -> Callable[..., Any]:
    if name == "forward":
        return lambda x: adapter.call_model(model, x, False)
    if name == "predict":
        return lambda x: model.predict_step((x,) if adapter.name == "tf_keras" else x)
    optimizer = adapter.compile_arguments(model)["optimizer"]
    if optimizer is not None:
        optimizer.build(model.trainable_variables)
        vars(model)["optimizer"] = optimizer

    def train(x: Any, y: Any, weight: Any) -> Any:
        return model.train_step((x, y) if weight is None else (x, y, weight))

    return train


def _parameters(seen: Any, model: Any, concrete: Any, found: list[Leaf]) -> Iterator[Parameter]:
    """The program's parameters in their order: the data's tensors, then what the function captured."""
    flow = seen.evidence.flow
    inputs = {node.path: node.id for node in flow.nodes if node.kind == "input"}
    for leaf in found:
        node = inputs.get(to_wire(leaf.path), "")
        yield Parameter(leaf.name, node, tuple(n or 0 for n in leaf.spec.shape or ()), True)
    owners = _owners(seen, model)
    handles = {id(variable.handle): variable for variable in concrete.graph.variables}
    for outer, inner in concrete.graph.captures:
        variable = handles.get(id(outer))
        if variable is None:
            yield Parameter(str(inner.name), "", tuple(inner.shape.as_list()) if inner.shape.rank is not None else ())
            continue
        shape = tuple(variable.shape.as_list())
        yield Parameter(str(variable.name).removesuffix(":0"), _owner(owners, variable, shape), shape)


def _owners(seen: Any, model: Any) -> list[tuple[Any, str, str, tuple[int, ...]]]:
    """``(handle, path, node, shape)`` of each variable of the model; the node is the innermost layer's that the flow shows."""
    by_name = {node.name: node.id for node in seen.evidence.flow.nodes if node.kind == "layer"}
    best: dict[int, tuple[int, Any, str]] = {}
    try:
        layers = list(model._flatten_layers(include_self=True, recursive=True))
    except Exception:
        layers = list(getattr(model, "layers", None) or [model])
    for layer in layers:
        node = by_name.get(str(getattr(layer, "name", "")))
        if node is None:
            continue
        held = _variables(layer)
        for variable in held:
            key = id(_raw(variable))
            if key not in best or len(held) < best[key][0]:
                best[key] = (len(held), variable, node)
    return [
        (
            _raw(variable).handle,
            str(getattr(variable, "path", "") or variable.name).removesuffix(":0").replace("/", "_"),
            node,
            tuple(int(n) for n in variable.shape),
        )
        for _, variable, node in best.values()
    ]


def _owner(owners: list[tuple[Any, str, str, tuple[int, ...]]], variable: Any, shape: tuple[int, ...]) -> str:
    """The node that a variable belongs to: by identity; an optimizer's slot by the name and shape that it carries of its variable."""
    for handle, _, node, _ in owners:
        if handle is variable.handle:
            return node
    name = str(variable.name).removesuffix(":0").replace("/", "_")
    fits = sorted(((len(path), node) for _, path, node, held in owners if held == shape and path in name), reverse=True)
    if not fits or (len(fits) > 1 and fits[0][0] == fits[1][0] and fits[0][1] != fits[1][1]):
        return ""
    return fits[0][1]
