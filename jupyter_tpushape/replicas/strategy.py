"""A real ``tf.distribute.TPUStrategy`` for a planned slice, and the live strategy.

The class asks its cluster resolver what there is; a resolver that describes a slice gets a strategy with
its own splitting, checks, errors and variables. It traces and cannot execute. TensorFlow is imported when
a strategy is asked for, never before.
"""

from __future__ import annotations

import sys
from typing import Any

from ..flow import Target
from .targets import SLICES, Slice, slice_named

HOST = "/job:localhost/replica:0/task:0/device:"
_planned: dict[str, Any] = {}


def _resolver(entry: Slice) -> Any:
    import tensorflow as tf
    from tensorflow.python.client.session import _DeviceAttributes
    from tensorflow.python.tpu.tpu_system_metadata import TPUSystemMetadata

    class PlannedSlice(tf.distribute.cluster_resolver.ClusterResolver):  # type: ignore[misc]
        """Describes a slice without a connection."""

        task_type = "worker"
        task_id = 0
        environment = ""
        tpu_hardware_feature = None

        def cluster_spec(self) -> Any:
            return tf.train.ClusterSpec({})

        def master(self, *args: Any, **kwargs: Any) -> str:
            return ""

        def num_accelerators(self, *args: Any, **kwargs: Any) -> dict[str, int]:
            return {"TPU": entry.replicas}

        def get_tpu_system_metadata(self) -> Any:
            devices = [_DeviceAttributes(f"{HOST}TPU:{index}", "TPU", entry.hbm_bytes, index) for index in range(entry.replicas)]
            devices.append(_DeviceAttributes(f"{HOST}CPU:0", "CPU", 1 << 34, entry.replicas))
            devices.append(_DeviceAttributes(f"{HOST}TPU_SYSTEM:0", "TPU_SYSTEM", 1, entry.replicas + 1))
            # All cores stand on this host: the process that traces has no devices of other hosts to place anything on.
            return TPUSystemMetadata(num_cores=entry.replicas, num_hosts=1, num_of_cores_per_host=entry.replicas, topology=None, devices=devices)

    return PlannedSlice()


def tpu_strategy(name: str) -> Any:
    """Returns a real ``tf.distribute.TPUStrategy`` for a planned slice, created once per name.

    On a machine without that TPU, the strategy can trace (``strategy.scope()``, ``get_concrete_function``) but not
    execute. If a live ``TPUStrategy`` with as many replicas exists in this process, it is returned instead.

    Args:
        name: a TPU slice such as ``"v5e-8"``.

    Returns:
        The strategy.

    Raises:
        ValueError: if there is no slice of this name.
        ImportError: if TensorFlow is not installed.

    Example::

        with tpushape.tpu_strategy("v5e-8").scope():
            model = build()
    """
    entry = slice_named(name)
    live = live_strategy()
    if live is not None and is_tpu(live) and live.num_replicas_in_sync == entry.replicas:
        return live
    if entry.name not in _planned:
        import tensorflow as tf
        from absl import logging

        _start_eagerly()
        level = logging.get_verbosity()
        logging.set_verbosity(logging.ERROR)  # the strategy lists each of its cores at level INFO
        try:
            _planned[entry.name] = tf.distribute.TPUStrategy(_resolver(entry))
        finally:
            logging.set_verbosity(level)
    return _planned[entry.name]


def _start_eagerly() -> None:
    """Soft placement as TensorFlow has it when it starts eagerly.

    A runtime that first started inside a graph (a Keras model without weights was built) refuses variables for
    cores that are not there. What the user has set by tf.config.set_soft_device_placement stays.
    """
    import tensorflow as tf
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.eager import context

    with tf.init_scope():
        runtime = context.context()
        runtime.ensure_initialized()
        if runtime._soft_device_placement is None:
            pywrap_tfe.TFE_ContextSetSoftDevicePlacement(runtime._handle, True)


def is_tpu(strategy: Any) -> bool:
    return any(base.__name__.startswith("TPUStrategy") for base in type(strategy).__mro__)


def is_planned(strategy: Any) -> bool:
    """Whether :func:`tpu_strategy` created this strategy for a slice that is not available."""
    return any(strategy is made for made in _planned.values())


def live_strategy() -> Any:
    """The strategy of the current scope, or ``None``; imports nothing."""
    module = sys.modules.get("tensorflow")
    distribute = getattr(module, "distribute", None)
    if distribute is None or not hasattr(distribute, "has_strategy") or not distribute.has_strategy():
        return None
    return distribute.get_strategy()


def devices_of(strategy: Any) -> tuple[str, ...]:
    """The replicas' devices, in the order of ``experimental_local_results``."""
    devices = tuple(str(device) for device in strategy.extended.worker_devices)
    count = int(strategy.num_replicas_in_sync)
    return devices if len(devices) == count else tuple(devices[0] if devices else "" for _ in range(count))


def of_strategy(strategy: Any) -> Target:
    """A strategy as the flow's target; of a planned one the slice, of a live one what it says itself.

    Raises:
        ValueError: where this is no ``tf.distribute`` strategy.
    """
    if not hasattr(strategy, "num_replicas_in_sync") or not hasattr(strategy, "extended"):
        raise ValueError(f"strategy must be a tf.distribute strategy such as tpu_strategy('v5e-8'), but got {type(strategy).__name__}.")
    for name, made in _planned.items():
        if strategy is made:
            return SLICES[name].target
    kind = type(strategy).__name__
    hosts = getattr(strategy.extended, "num_hosts", None) or getattr(strategy.extended, "_num_workers", 1) or 1
    return Target(kind, int(strategy.num_replicas_in_sync), int(hosts), "", 0, kind, live=True)
