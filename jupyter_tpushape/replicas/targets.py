"""The supported TPU slices in one table, with the sources of the numbers.

Chips and machines of each slice and the memory of a chip are from each generation's own page (``Slice.source``). A v2 or v3 chip shows
TensorFlow two cores with half its memory each; v4 and v5p chips show their two cores as one device (megacore); v5e and v6e chips have one
core. Up to 8 chips of v5e and v6e are one machine (``ct5lp-hightpu-8t``, ``ct6e-standard-8t``); larger slices are machines of 4, and
so are 8 chips where they are rented as ``-4t`` machines in the topology 2x4. A test holds all of it against the topologies of the TPU
compiler (libtpu), and ``available_bytes`` against what it says there is.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from ..flow import Target

GIB = 1 << 30
# Memory of one device in GiB: as the generation's page counts it, and what of it the TPU compiler lets a program have.
_MEMORY = {"v2": (8, 7.48), "v3": (16, 15.48), "v4": (32, 30.75), "v5e": (16, 15.75), "v5p": (95, 95.73), "v6e": (32, 31.24)}


@dataclass(frozen=True)
class Slice:
    """One kind of slice.

    Attributes:
        replicas: devices that ``TPUStrategy`` sees, each of which runs the program once.
        hosts: machines they are spread over.
        topology: libtpu's name of the slice, ``"v5e:2x4"``. options: what libtpu must be told beside the name, to see the same devices.
    """

    name: str
    generation: str
    replicas: int
    hosts: int
    topology: str
    options: dict[str, str | tuple[int, ...]] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The page that its numbers come from."""
        return f"https://cloud.google.com/tpu/docs/{self.generation}"

    @property
    def replicas_per_host(self) -> int:
        return self.replicas // self.hosts

    @property
    def hbm_bytes(self) -> int:
        """Nominal high bandwidth memory of one device."""
        return _MEMORY[self.generation][0] * GIB

    @property
    def available_bytes(self) -> int:
        """The memory available to a program, from the TPU compiler's error messages, to a hundredth of a GiB."""
        return int(_MEMORY[self.generation][1] * GIB)

    @property
    def target(self) -> Target:
        return Target(self.name, self.replicas, self.hosts, self.generation, self.hbm_bytes, "TPUStrategyV2")


_MEGACORE: dict[str, str | tuple[int, ...]] = {"chip_config_name": "megacore"}


def _one_core(generation: str) -> list[Slice]:
    """Of the chips with one core. libtpu takes 8 of them for two machines unless it is told that they are one."""
    small = {1: ("1x1", (1, 1, 1)), 4: ("2x2", (2, 2, 1)), 8: ("2x4", (2, 4, 1))}
    large = {16: "4x4", 32: "4x8", 64: "8x8", 128: "8x16", 256: "16x16"}
    machines: dict[str, str | tuple[int, ...]] = {"chips_per_host_bounds": (2, 2, 1)}
    made = [Slice(f"{generation}-{n}", generation, n, 1, f"{generation}:{shape}", {"chips_per_host_bounds": bounds}) for n, (shape, bounds) in small.items()]
    made.append(Slice(f"{generation}-8-4t", generation, 8, 2, f"{generation}:2x4", machines))
    return made + [Slice(f"{generation}-{n}", generation, n, n // 4, f"{generation}:{shape}", machines) for n, shape in large.items()]


def _two_cores(generation: str, options: dict[str, str | tuple[int, ...]]) -> list[Slice]:
    """Of the chips whose two cores are one device, 4 of them on a machine. The name counts cores."""
    shapes = {8: "2x2x1", 16: "2x2x2", 32: "2x2x4", 64: "2x4x4", 128: "4x4x4", 256: "4x4x8"}
    return [Slice(f"{generation}-{n}", generation, n // 2, n // 8, f"{generation}:{shape}", options) for n, shape in shapes.items()]


SLICES: dict[str, Slice] = {
    entry.name: entry
    for entry in [
        Slice("v2-8", "v2", 8, 1, "v2:2x2"),
        Slice("v3-8", "v3", 8, 1, "v3:2x2"),
        *_two_cores("v4", _MEGACORE),
        *_one_core("v5e"),
        *_two_cores("v5p", {}),
        *_one_core("v6e"),
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
    raise ValueError(f"There is no TPU slice called {name!r}.{hint} Known slices: {', '.join(SLICES)}.")


def target(name: str) -> Target:
    """The slice of this name as the flow's value; see :func:`slice_named`.

    Raises:
        ValueError: where there is none.
    """
    return slice_named(name).target
