"""``tpushape compiler``: the TPU compiler's own folder, made and removed when it is asked for."""

from __future__ import annotations

from typing import Any

from .usage import UsageError


def install(options: Any) -> int:
    """Makes the folder and says where it is, and how the worker finds it where that is not the usual place."""
    from ..compilers import bridge
    from ..compilers.install import CannotInstall, folder, install

    place = folder(options.folder)
    try:
        install(place, options.wheels)
    except CannotInstall as error:
        raise UsageError(str(error)) from None
    print(f"The TPU compiler stands in {place}: {', '.join(f'{name} {pin}' for name, pin in bridge.PINS.items())}.")
    if place != (bridge.home() or place.parent):
        print(f"Say where it is before asking for its verdict: export TPUSHAPE_COMPILER={place}")
    return 0


def remove(options: Any) -> int:
    """Removes the folder."""
    from ..compilers.install import CannotInstall, folder, remove

    place = folder(options.folder)
    try:
        there = remove(place)
    except CannotInstall as error:
        raise UsageError(str(error)) from None
    print(f"{place} is removed." if there else f"There is nothing at {place}.")
    return 0
