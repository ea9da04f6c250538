"""Where a file is, as a tool that reads a repository wants it told."""

from __future__ import annotations

import os
from pathlib import Path


def relative(file: str) -> str:
    """The path from the repository's root (GitHub's workspace, else the working folder), with forward slashes; unchanged where it lies outside."""
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    try:
        return Path(file).resolve().relative_to(root.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):
        return file
