"""Model files as data: read with limits in a separate process, checked, and only then built, without weights."""

from __future__ import annotations

from .make import Broken, builder
from .open import is_saved, read
from .reader import Unreadable
from .walk import Impossible, Refused

__all__ = ["Broken", "Impossible", "Refused", "Unreadable", "builder", "is_saved", "read"]
