"""Square roots and sums over replicas of an optimizer, lowered by a shorter way to the same program.

TensorFlow lowers every ``Sqrt`` and every ``XlaAllReduce`` through a pipeline of MLIR passes of its own, 4 to 8 ms each, and Adam takes three for
each variable: 40 % of the time that lowering ResNet50's training step takes. ``Rint`` is lowered directly, to one instruction on the same
tensor. So an optimizer's roots, and its sums but the first of each dtype, are traced as ``Rint``; in the lowered program that instruction
becomes the root again, or a sum as the first one.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .shared import Shared, once

_ROOT, _ROOT_OPCODE = "Sqrt", "sqrt"
_INSTEAD, _INSTEAD_OPCODE = "Rint", "round-nearest-even"
_SUM_OPCODE = "all-reduce"
# Known without any input: TensorFlow computes what depends on nothing else while it lowers, and would round.
_STATIC = frozenset({"Const", "Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"})
# What a Keras trainer calls of its optimizer.
_CALLS = ("apply", "apply_gradients")


class Roots:
    """The operations of one graph that stand for a root, by their names."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._sums: dict[str, str] = {}
        self._first: dict[Any, str] = {}
        self._static: dict[Any, bool] = {}
        self.depth = 0
        self._graph: Any = None

    def within(self, optimizer: Any) -> None:
        """From now on, what this optimizer computes in an update counts. No gradient is taken through that."""
        for name in _CALLS:
            call = getattr(optimizer, name, None)
            if call is not None:
                vars(optimizer)[name] = self._counted(call)

    def _counted(self, call: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.depth += 1
            try:
                return call(*args, **kwargs)
            finally:
                self.depth -= 1

        return counted

    def kind(self, kind: str, inputs: Sequence[Any], graph: Any) -> str:
        """The kind of operation to create for one of a ``kind``."""
        # An inner function or loop is lowered under other names.
        return _INSTEAD if self._counts(inputs[0], graph) else kind

    def updating(self, graph: Any) -> bool:
        """Whether an optimizer of the program is at work in the graph itself, and not in a function or loop of it."""
        return self.depth > 0 and getattr(graph, "outer_graph", None) is not None and not graph.outer_graph.building_function

    def _counts(self, tensor: Any, graph: Any) -> bool:
        """Whether what is computed of a tensor is an optimizer's, and known only when the program runs."""
        if not self.updating(graph) or not tensor.dtype.is_floating or self._known(tensor):
            return False
        if graph is not self._graph:
            # A function that makes variables is traced twice: the later trace is the one that is lowered.
            self._graph = graph
            self._names.clear()
            self._sums.clear()
            self._first.clear()
        return True

    def summed(self, tensor: Any, make: Callable[[], Any], name: str) -> Any:
        """A sum over replicas of a tensor, as ``make`` makes it."""
        graph = tensor.graph
        if not self._counts(tensor, graph):
            return make()
        first = self._first.get(tensor.dtype)
        if first is None:
            made = make()
            self._first[tensor.dtype] = made.op.name
            return made
        import tensorflow as tf

        made = tf.raw_ops.Rint(x=tensor, name=name)
        self._sums[made.op.name] = first
        return made

    def noted(self, asked: str, made: Any) -> None:
        """The operation that was created where one of the kind ``asked`` was wanted."""
        if made.type != asked:
            self._names.add(made.name)

    def _known(self, tensor: Any) -> bool:
        known = self._static.get(tensor.op)
        if known is None:
            inputs = tensor.op.inputs
            known = tensor.op.type in _STATIC or (bool(inputs) and all(self._known(one) for one in inputs))
            self._static[tensor.op] = known
        return known

    def restored(self, program: bytes) -> bytes:
        """A serialized ``HloModuleProto`` with the roots and sums in it."""
        if not self._names and not self._sums:
            return program
        from tensorflow.compiler.xla.service import hlo_pb2

        module = hlo_pb2.HloModuleProto.FromString(program)
        every = [instruction for computation in module.computations for instruction in computation.instructions]
        firsts = set(self._first.values())
        sums = {one.metadata.op_name: one for one in every if one.opcode == _SUM_OPCODE and one.metadata.op_name in firsts}
        for instruction in every:
            if instruction.opcode != _INSTEAD_OPCODE:
                continue
            name = instruction.metadata.op_name
            if name in self._names:
                instruction.opcode, instruction.metadata.op_type = _ROOT_OPCODE, _ROOT
            elif name in self._sums:
                # All but what is an instruction's own: how it sums, and over which replicas.
                kept = type(instruction)()
                kept.CopyFrom(instruction)
                instruction.CopyFrom(sums[self._sums[name]])
                for field in ("shape", "metadata"):
                    getattr(instruction, field).CopyFrom(getattr(kept, field))
                instruction.metadata.op_type = sums[self._sums[name]].metadata.op_type
                instruction.name, instruction.id, instruction.operand_ids[:] = kept.name, kept.id, kept.operand_ids
        return bytes(module.SerializeToString())


@contextmanager
def shortened(roots: Roots) -> Iterator[None]:
    """While this thread traces a function, ``roots`` decides what stands for a root."""
    from tensorflow.python.framework import func_graph, ops

    graphs, thread = func_graph.FuncGraph, threading.get_ident()
    create = vars(graphs)["_create_op_internal"]

    shared = Shared()

    def graph_of() -> Any:
        graph = ops.get_default_graph() if roots.depth and threading.get_ident() == thread else None
        return graph if graph is not None and roots.updating(graph) else None

    def created(self: Any, op_type: str, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != thread or not roots.depth:
            return create(self, op_type, inputs, *args, **kwargs)
        if op_type == _ROOT:
            made = create(self, roots.kind(op_type, inputs, self), inputs, *args, **kwargs)
            roots.noted(op_type, made)
            return made
        make = functools.partial(create, self, op_type, inputs, *args, **kwargs)
        return shared.operation(self, op_type, inputs, make) if roots.updating(self) else make()

    graphs._create_op_internal = created
    try:
        with once(graph_of, shared):
            yield
    finally:
        graphs._create_op_internal = create
