"""A model's file as data: read with limits in a process of its own, checked, and only then made, without its weights."""

from __future__ import annotations

from .make import Broken, builder
from .open import SUFFIXES, Held, Signature, is_saved, read
from .reader import Unreadable
from .walk import Refused

__all__ = ["SUFFIXES", "Broken", "Held", "Refused", "Signature", "Unreadable", "builder", "is_saved", "read"]
