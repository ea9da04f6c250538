"""Answers that were given before, in the user's cache folder. A file an answer; the oldest go when there are too many."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ..flow.decoding import converted

MOST = 256
MOST_BYTES = 64 * 2**20
# Of an answer: one that was kept in another form is not read.
FORMAT = "7"


def folder() -> Path:
    """``TPUSHAPE_CACHE``, else ``jupyter_tpushape`` in the user's cache folder."""
    named = os.environ.get("TPUSHAPE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jupyter_tpushape" / "verdicts"


def place(*parts: str) -> Path:
    """The file of the answer to these parts (program, topology, effort, versions)."""
    return folder() / (hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40] + ".json")


_Size = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
# XLA says -1 where it does not count.
_Count = Annotated[float, msgspec.Meta(ge=-1, le=1e300)]
_Operation = Annotated[str, msgspec.Meta(pattern=r"^((line|parameter):[0-9]{1,9})?$")]


class _Buffers(msgspec.Struct):
    live: list[tuple[_Operation, _Size, str]] = []
    room: _Size = 0


class _Refusal(msgspec.Struct, tag_field="kind", tag="refused"):
    """What is read of an answer by those who asked."""

    ok: bool
    message: str
    effort: str = ""
    versions: str = ""
    buffers: _Buffers | None = None


class _Compiled(msgspec.Struct, tag_field="kind", tag="compiled"):
    ok: bool
    arguments: _Size
    outputs: _Size
    aliased: _Size
    temporaries: _Size
    code: _Size
    flops: _Count
    moved: _Count
    layout: str
    message: str = ""
    effort: str = ""
    versions: str = ""
    buffers: _Buffers | None = None


def read(path: Path) -> dict[str, Any] | None:
    """An answer, or ``None`` where there is none that can be read and used."""
    found = load(path)
    return dict(found) if usable(found) else None


def load(path: Path) -> Any:
    """What a file of the cache holds, unchecked."""
    try:
        # A pipe would be waited for without an end.
        state = path.stat()
        if not stat.S_ISREG(state.st_mode) or state.st_size > MOST_BYTES:
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        os.utime(path)
    except (OSError, ValueError, RecursionError):
        return None
    return found


def usable(found: Any) -> bool:
    """Whether this is an answer in all that is read of it."""
    try:
        answer: _Refusal | _Compiled = converted(found, _Refusal | _Compiled)
    except (msgspec.ValidationError, RecursionError):
        return False
    return answer.ok == isinstance(answer, _Compiled)


def write(path: Path, answer: dict[str, Any]) -> None:
    """Keeps an answer. A folder that cannot be written costs the cache only."""
    part = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_text(json.dumps(answer), encoding="utf-8")
            part.replace(path)
        except OSError:  # a full disk gets no half of a file to keep
            part.unlink(missing_ok=True)
            raise
        kept = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in kept[MOST:]:
            old.unlink(missing_ok=True)
