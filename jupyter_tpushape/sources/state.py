"""Keeps the random state while the user's data functions run."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .others import at_work


def _tensorflow() -> Iterator[Callable[[], None]]:
    # Op seeds of eager TensorFlow come from a random.Random inside its context.
    module = sys.modules.get("tensorflow.python.eager.context")
    current = module.context() if module is not None else None
    generator = getattr(current, "_rng", None)
    if current is not None and isinstance(generator, random.Random):
        seed, held = getattr(current, "_seed", None), generator.getstate()
        # A kernel is kept for each op seed and goes on where it was. With seeds of their own, the functions that are called
        # meanwhile draw from other kernels than the program that comes afterwards.
        generator.seed(generator.getrandbits(128))

        def restore() -> None:
            # A function that sets the global seed puts another generator in the place of this one.
            current._seed, current._rng = seed, generator
            generator.setstate(held)

        yield restore
    stateful = sys.modules.get("tensorflow.python.ops.stateful_random_ops")
    shared = getattr(stateful, "global_generator", None)
    if shared is not None:
        yield _variable(shared.state)


def _torch() -> Iterator[Callable[[], None]]:
    # A loader draws its workers' seed, and the order of a shuffle, when it is iterated over.
    module = sys.modules.get("torch")
    if module is not None and hasattr(module, "get_rng_state"):
        held = module.get_rng_state()
        yield lambda: module.set_rng_state(held)


def _variable(variable: Any) -> Callable[[], None]:
    with _eager():
        held = variable.numpy().copy()

    def restore() -> None:
        # A step that failed may leave the state of Keras without a value: then there is none to put back.
        if held.shape == variable.shape:
            with _eager():
                variable.assign(held)

    return restore


def in_graph() -> bool:
    """Whether TensorFlow puts all that is called into a graph, as TensorFlow 1 did: no variable has a value there."""
    module = sys.modules.get("tensorflow")
    return module is not None and hasattr(module, "compat") and not module.compat.v1.executing_eagerly_outside_functions()


def _eager() -> contextlib.AbstractContextManager[Any]:
    module = sys.modules.get("tensorflow")
    return contextlib.nullcontext() if module is None else module.init_scope()


def _keras() -> Iterator[Callable[[], None]]:
    module = sys.modules.get("keras.src.backend.common.global_state")
    generator = module.get_global_attribute("global_seed_generator") if module is not None else None
    state = getattr(getattr(generator, "state", None), "value", None)
    if state is not None and hasattr(state, "numpy"):
        yield _variable(state)
    legacy = sys.modules.get("tf_keras.src.backend")
    shared = getattr(getattr(legacy, "_SEED_GENERATOR", None), "generator", None)
    if isinstance(shared, random.Random):
        held = shared.getstate()
        yield lambda: shared.setstate(held)


@contextlib.contextmanager
def kept_random_state(variables: list[Any] | None = None) -> Iterator[None]:
    """Leaves Python's, NumPy's, TensorFlow's, Torch's and Keras' global random state as it was found.

    Where another thread runs code of the user's, its numbers are not rewound: then the state goes on from where both have come to.

    Args:
        variables: more TensorFlow variables whose values are put back (seed state of layers that a
            pipeline's functions have captured).
    """
    python, legacy = random.getstate(), np.random.get_state()
    shared = [*_tensorflow(), *_keras(), *_torch()]
    own = [_variable(variable) for variable in variables or []]
    busy = at_work()
    try:
        yield
    finally:
        if not busy and not at_work():
            random.setstate(python)
            np.random.set_state(legacy)
            for restore in shared:
                restore()
        for restore in own:
            restore()
