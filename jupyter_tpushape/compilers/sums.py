"""The sums over replicas that a TPUStrategy computes in a step, added to the program of one replica.

A step sums over replicas if its optimizer, a layer with synchronized batch statistics, or custom code calls the replica context for
it. Outside a strategy, that context returns its input; here it returns XLA's all-reduce of it instead. The lowered program is therefore the
one that each replica runs: batch statistics and the mean of the loss use its own rows, as under the strategy.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .roots import Roots

NAME = "sum_over_replicas"


class CannotSum(Exception):
    """A sum that XLA's operation cannot make: the program is lowered without any."""


class Sums:
    """The sums over ``replicas`` that were put into a program, in order: the operations that make them."""

    def __init__(self, replicas: int, roots: Roots | None = None) -> None:
        self.replicas = replicas
        self.roots = roots if roots is not None else Roots()
        self.made: list[Any] = []

    def over(self, operation: Any, value: Any) -> Any:
        """What every replica has of the sum, or of the mean, of a value.

        Raises:
            CannotSum: for a dtype or an operation that is not summed on a TPU.
        """
        import tensorflow as tf
        from tensorflow.compiler.tf2xla.ops import gen_xla_ops

        # As on a TPU, the gradient of an embedding's rows becomes one of the whole table.
        tensor = tf.convert_to_tensor(value)
        if tensor.dtype not in (tf.bfloat16, tf.float16, tf.float32, tf.int32, tf.uint32):
            raise CannotSum(f"{tensor.dtype.name} cannot be summed over replicas")
        if operation == tf.distribute.ReduceOp.MEAN:
            tensor = tf.math.scalar_mul(1.0 / self.replicas, tensor)
        elif operation != tf.distribute.ReduceOp.SUM:
            raise CannotSum(f"{operation} over replicas is not supported")
        # Named after what it sums, so that it belongs to the layer whose gradient that is.
        with tf.name_scope(f"{tensor.op.name}/"):
            every = [list(range(self.replicas))]
            found = self.roots.summed(tensor, lambda: gen_xla_ops.xla_all_reduce(tensor, every, "Add", "CrossReplica", name=NAME), NAME)
        self.made.append(found.op)
        return found

    def of_variables(self, shapes: list[tuple[int, ...]]) -> list[str]:
        """The sums of all gradients of variables of these shapes, in their order, where the optimizer asked for just them."""
        # A function that makes variables is traced twice, and a branch is a graph of its own: the last one counts.
        made = [operation for operation in self.made if operation.graph is self.made[-1].graph]
        have = [tuple(operation.outputs[0].shape) for operation in made]
        found = [start for start in range(len(made) - len(shapes) + 1) if have[start : start + len(shapes)] == shapes]
        return [operation.name for operation in made[found[0] : found[0] + len(shapes)]] if len(found) == 1 else []


@contextmanager
def summed(sums: Sums) -> Iterator[None]:
    """While this thread traces, the replica context sums over as many replicas as there will be."""
    if sums.replicas < 2:
        yield
        return
    import tensorflow as tf
    from tensorflow.python.distribute import distribute_lib

    if tf.distribute.has_strategy():
        raise CannotSum("another strategy is active")
    extended, thread = distribute_lib._DefaultDistributionExtended, threading.get_ident()
    reduce, number = vars(extended)["_reduce_to"], vars(extended)["_num_replicas_in_sync"]

    def tracing() -> bool:
        return threading.get_ident() == thread and not tf.executing_eagerly()

    def reduce_to(self: Any, reduce_op: Any, value: Any, destinations: Any, options: Any) -> Any:
        return sums.over(reduce_op, value) if tracing() else reduce(self, reduce_op, value, destinations, options)

    extended._reduce_to = reduce_to
    extended._num_replicas_in_sync = property(lambda _: sums.replicas if tracing() else 1)
    try:
        yield
    finally:
        extended._reduce_to, extended._num_replicas_in_sync = reduce, number
