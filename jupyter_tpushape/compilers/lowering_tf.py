"""One replica's program in TensorFlow: traced from specs with :mod:`sums` in it, and lowered by XLA."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from ..flow.paths import map_leaves, to_wire
from ..trace.ran import Leaf
from .programs import Lowered, Parameter, Plan, quiet, raw, variables
from .roots import Roots, shortened
from .scopes import Scopes, noted
from .sums import NAME, CannotSum, Sums, summed

_ERRORS = threading.Lock()
_Owner: TypeAlias = tuple[Any, str, str, tuple[int, ...]]


def lower(seen: Any, adapter: Any, model: Any, plan: Plan) -> Lowered:
    """Lowers one program. A step of several replicas has their sums in it; where XLA cannot have them so, it is lowered without."""
    target = seen.program.target
    replicas = target.replicas if target is not None and plan.name == "train" else 1
    if replicas > 1:
        made = _lower(seen, adapter, model, plan, Sums(replicas))
        if not _for_want_of_sums(made.error):
            return made
    made = _lower(seen, adapter, model, plan, Sums(1))
    made.apart = replicas > 1
    return made


def _for_want_of_sums(error: BaseException | None) -> bool:
    return isinstance(error, CannotSum) or (error is not None and any(word in str(error) for word in (NAME, "XlaAllReduce")))


def _lower(seen: Any, adapter: Any, model: Any, plan: Plan, sums: Sums) -> Lowered:
    import tensorflow as tf

    name, arguments, found = plan.name, plan.arguments, plan.leaves
    scopes = Scopes(seen.evidence.flow)
    made, roots = Lowered(name, scopes=scopes), sums.roots

    def spec(leaf: Leaf) -> Any:
        return tf.TensorSpec(leaf.spec.shape, tf.as_dtype(leaf.spec.dtype))

    # The data's tensors go in flat, in the order of their leaves: a nest would be sorted by its keys.
    specs = [spec(leaf) for leaf in found]
    places = {id(leaf): i for i, leaf in enumerate(found)}

    # As fit has it: tf_keras converts Python control flow, Keras 3 does not.
    autograph = adapter.name == "tf_keras"

    specs += [tf.TensorSpec((), tf.int32) for _ in plan.sizes]

    def packed(flat: tuple[Any, ...]) -> list[Any]:
        flat = _opened(flat[: len(found)], flat[len(found) :], plan.sizes)
        return [map_leaves(lambda leaf: flat[places[id(leaf)]], argument) for argument in arguments]

    try:
        with quiet(), noted(adapter, scopes):
            if not getattr(model, "built", True):
                # Gives the variables that the optimizer's slots are made for; put back on leaving.
                tf.function(lambda *flat: adapter.call_model(model, packed(flat)[0], False), autograph=autograph).get_concrete_function(*specs)
            step = _step(adapter, model, name, roots)
            if name == "train":
                _make_metrics(adapter, model, packed, specs)
            function = tf.function(lambda *flat: step(*packed(flat)), jit_compile=True, autograph=autograph)
            with summed(sums), shortened(roots):
                concrete = function.get_concrete_function(*specs)
            made.graph = concrete.graph
            scopes.settle(concrete.graph)
            owners = _owners(seen, model)
            trained = list(model.trainable_variables) if sums.made else []
            names = sums.of_variables([tuple(variable.shape) for variable in trained])
            for variable, of_sum in zip(trained, names, strict=False):
                scopes.give(of_sum, next((node for handle, _, node, _ in owners if handle is raw(variable).handle), ""))
            with _unsaid_twice():
                made.hlo = roots.restored(function.experimental_get_compiler_ir(*specs)(stage="hlo_serialized"))
        made.replicas = sums.replicas if sums.made else 1
        made.parameters = list(_parameters(seen, owners, concrete, found))
        made.parameters[len(found) : len(found)] = [Parameter("size", "", ()) for _ in plan.sizes]
    except Exception as error:
        made.error = error
    return made


def _make_metrics(adapter: Any, model: Any, packed: Callable[[tuple[Any, ...]], list[Any]], specs: list[Any]) -> None:
    """Metrics make their variables in the first step, and TensorFlow traces a function that makes variables twice: here they make them in a small
    one of their own. Where that cannot be done the step is traced twice."""
    import tensorflow as tf

    outputs = next((vars(model)[kept] for kept in ("_outputs_struct", "_nested_outputs") if kept in vars(model)), None)
    if outputs is None:
        outputs = getattr(model, "outputs", None) or []
        if len(outputs) != 1:
            return
        outputs = outputs[0]
    if adapter.overrides(model, "compute_metrics") or adapter.overrides(model, "train_step"):
        return

    def update(predicted: Any, *flat: Any) -> Any:
        x, y, weight = packed(flat)
        return model.compute_metrics(x, y, predicted, sample_weight=weight)

    with contextlib.suppress(Exception):
        predicted = tf.nest.map_structure(lambda one: tf.TensorSpec((None, *one.shape[1:]), tf.as_dtype(one.dtype)), outputs)
        tf.function(update, autograph=False).get_concrete_function(predicted, *specs)


def _opened(flat: tuple[Any, ...], sizes: tuple[Any, ...], of: tuple[tuple[tuple[int, int], ...], ...]) -> tuple[Any, ...]:
    """Tensors with axes whose sizes are known when the program runs, as a TPU gets what a pipeline leaves open."""
    opened = list(flat)
    for size, axes in zip(sizes, of, strict=True):
        from tensorflow.compiler.tf2xla.python import xla

        for place, axis in axes:
            shape = opened[place].shape.as_list()
            opened[place] = xla.set_dynamic_dimension_size(opened[place], axis, size)
            opened[place].set_shape([None if at == axis else n for at, n in enumerate(shape)])
    return tuple(opened)


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


def _step(adapter: Any, model: Any, name: str, roots: Roots) -> Callable[..., Any]:
    if name == "forward":
        return lambda x: adapter.call_model(model, x, False)
    if name == "predict":
        return lambda x: model.predict_step((x,) if adapter.name == "tf_keras" else x)
    optimizer = adapter.compile_arguments(model)["optimizer"]
    if optimizer is not None:
        if hasattr(optimizer, "build"):  # not those that tf_keras keeps as legacy
            optimizer.build(model.trainable_variables)
        roots.within(optimizer)
        vars(model)["optimizer"] = optimizer

    def train(x: Any, y: Any, weight: Any) -> Any:
        return model.train_step((x, y) if weight is None else (x, y, weight))

    return train


def _parameters(seen: Any, owners: list[_Owner], concrete: Any, found: list[Leaf]) -> Iterator[Parameter]:
    """The program's parameters in their order: the data's tensors, then what the function captured."""
    flow = seen.evidence.flow
    inputs = {node.path: node.id for node in flow.nodes if node.kind == "input"}
    for leaf in found:
        node = inputs.get(to_wire(leaf.path), "")
        yield Parameter(leaf.name, node, tuple(n or 0 for n in leaf.spec.shape or ()), True)
    handles = {id(variable.handle): variable for variable in concrete.graph.variables}
    for outer, inner in concrete.graph.captures:
        variable = handles.get(id(outer))
        if variable is None:
            yield Parameter(str(inner.name), "", tuple(inner.shape.as_list()) if inner.shape.rank is not None else ())
            continue
        shape = tuple(variable.shape.as_list())
        yield Parameter(str(variable.name).removesuffix(":0"), _owner(owners, variable, shape), shape)


def _owners(seen: Any, model: Any) -> list[_Owner]:
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
        held = variables(layer)
        for variable in held:
            key = id(raw(variable))
            if key not in best or len(held) < best[key][0]:
                best[key] = (len(held), variable, node)
    return [
        (
            raw(variable).handle,
            str(getattr(variable, "path", "") or variable.name).removesuffix(":0").replace("/", "_"),
            node,
            tuple(int(n) for n in variable.shape),
        )
        for _, variable, node in best.values()
    ]


def _owner(owners: list[_Owner], variable: Any, shape: tuple[int, ...]) -> str:
    for handle, _, node, _ in owners:
        if handle is variable.handle:
            return node
    name = str(variable.name).removesuffix(":0").replace("/", "_")
    fits = sorted(((len(path), node) for _, path, node, held in owners if held == shape and path in name), reverse=True)
    if not fits or (len(fits) > 1 and fits[0][0] == fits[1][0] and fits[0][1] != fits[1][1]):
        return ""
    return fits[0][1]
