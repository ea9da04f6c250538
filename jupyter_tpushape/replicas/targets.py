"""The TPU slices that can be planned for: one table, with where its numbers come from.

Sources: each generation's own page (``Slice.source``): chips and hosts of each slice, HBM of a chip. Of v5e the page lists hosts of eight
chips, of v4 and v5p hosts of four. Of v6e it gives eight chips a host, and slices of 16 chips and more as virtual machines of four, which
are what ``tf.distribute`` counts as hosts. A v2 or v3 chip shows TensorFlow two cores with half its
HBM each; v4 and v5p chips show their two cores as one device (megacore); v5e and v6e chips have one core.
``topology`` is the name by which libtpu's compile-only client knows the smallest part of that generation.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from ..flow import Target

GIB = 1 << 30


@dataclass(frozen=True)
class Slice:
    """One kind of slice.

    Attributes:
        replicas: devices that ``TPUStrategy`` sees, each of which runs the program once.
        hosts: machines they are spread over. ``hbm_bytes``: high bandwidth memory of one device.
        topology: libtpu's name of the slice, ``"v5e:2x4"``.
    """

    name: str
    generation: str
    replicas: int
    hosts: int
    hbm_bytes: int
    topology: str

    @property
    def source(self) -> str:
        """The page that its numbers come from."""
        return f"https://cloud.google.com/tpu/docs/{self.generation}"

    @property
    def replicas_per_host(self) -> int:
        return self.replicas // self.hosts

    @property
    def target(self) -> Target:
        return Target(self.name, self.replicas, self.hosts, self.generation, self.hbm_bytes, "TPUStrategyV2")


def _one_core(generation: str, hbm: int, per_host: int) -> list[Slice]:
    shapes = {1: "1x1", 4: "2x2", 8: "2x4", 16: "4x4", 32: "4x8", 64: "8x8", 128: "8x16", 256: "16x16"}
    return [
        Slice(f"{generation}-{n}", generation, n, 1 if n <= 8 else n // per_host, hbm * GIB, f"{generation}:{shape}")
        for n, shape in shapes.items()
    ]


SLICES: dict[str, Slice] = {
    entry.name: entry
    for entry in [
        Slice("v2-8", "v2", 8, 1, 8 * GIB, "v2:2x2"),
        Slice("v3-8", "v3", 8, 1, 16 * GIB, "v3:2x2"),
        Slice("v4-8", "v4", 4, 1, 32 * GIB, "v4:2x2x1"),
        Slice("v4-32", "v4", 16, 4, 32 * GIB, "v4:2x2x4"),
        *_one_core("v5e", 16, 8),
        Slice("v5p-8", "v5p", 4, 1, 95 * GIB, "v5p:2x2x1"),
        *_one_core("v6e", 32, 4),
    ]
}


def slice_named(name: str) -> Slice:
    """The table's entry of this name (case and ``v5litepod-`` do not matter).

    Raises:
        ValueError: in one sentence that names the nearest and all that there are.
    """
    key = str(name).strip().lower().replace("v5litepod", "v5e").replace("_", "-")
    if key in SLICES:
        return SLICES[key]
    near = difflib.get_close_matches(key, SLICES, 1, 0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise ValueError(f"There is no TPU slice called {name!r}.{hint} Known are {', '.join(SLICES)}.")


def target(name: str) -> Target:
    """The slice of this name as the flow's value; see :func:`slice_named`.

    Raises:
        ValueError: where there is none.
    """
    return slice_named(name).target
