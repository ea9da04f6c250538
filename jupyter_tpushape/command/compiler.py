"""``tpushape compiler``: installs and removes the TPU compiler in a separate folder."""

from __future__ import annotations

from typing import Any

from .early import UsageError
from .out import written


def install(options: Any) -> int:
    """Installs into the folder, and prints where it is and how to use it if it is not the default one."""
    from ..compilers import bridge
    from ..compilers.install import CannotInstall, folder, install

    place = folder(options.folder)
    try:
        install(place, options.wheels)
    except CannotInstall as error:
        raise UsageError(str(error)) from None
    written(f"The TPU compiler is installed in {place}: {', '.join(f'{name} {pin}' for name, pin in bridge.PINS.items())}.")
    if place != (bridge.home() or place.parent):
        written(f"Set its path before you use it: export TPUSHAPE_COMPILER={place}")
    return 0


def remove(options: Any) -> int:
    """Removes the folder."""
    from ..compilers.install import CannotInstall, folder, remove

    place = folder(options.folder)
    try:
        there = remove(place)
    except CannotInstall as error:
        raise UsageError(str(error)) from None
    written(f"Removed {place}." if there else f"{place} does not exist.")
    return 0
