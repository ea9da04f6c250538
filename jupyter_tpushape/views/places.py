"""File paths for tools that read a repository."""

from __future__ import annotations

import os
from pathlib import Path


def relative(file: str) -> str:
    """The path from the repository's root (GitHub's workspace, or the working folder), with forward slashes; unchanged if it is outside."""
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    try:
        return Path(file).resolve().relative_to(root.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):
        return file
