"""Text files read with all that decoding loses, and written so that a failure leaves the old bytes."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Written:
    """A text with line feeds only, and how its file writes it.

    ``newline``: ``"\\n"``, ``"\\r\\n"`` or ``"\\r"``, or ``""`` where the file mixes them, and the text has them as they are.
    """

    text: str
    encoding: str = "utf-8"
    newline: str = "\n"
    bom: bool = False


def read_text(path: Path) -> Written:
    """A source file, in the encoding that it declares.

    Raises:
        OSError: where it cannot be read.
        ValueError: where its bytes are not what its encoding says.
    """
    data = path.read_bytes()
    bom = data.startswith(_BOM)
    encoding = "utf-8"
    if path.suffix == ".py" or not bom:
        with contextlib.suppress(SyntaxError):
            encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    try:
        text = data[3 if bom else 0 :].decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not {encoding} text at byte {error.start}: nothing was changed.") from None
    feeds, returns = text.count("\r\n"), text.count("\r")
    if feeds and feeds == returns and feeds == text.count("\n"):
        return Written(text.replace("\r\n", "\n"), encoding, "\r\n", bom)
    if returns and not text.count("\n"):
        return Written(text.replace("\r", "\n"), encoding, "\r", bom)
    return Written(text, encoding, "\n" if not returns else "", bom)


def write_text(path: Path, written: Written | str) -> None:
    """Writes beside the file, flushes, and renames: the file has the new bytes or the old ones. Mode and links stay.

    Raises:
        OSError: where it cannot be written; the file is as it was.
    """
    if isinstance(written, str):
        written = Written(written)
    text = written.text if written.newline in ("", "\n") else written.text.replace("\n", written.newline)
    data = (_BOM if written.bom else b"") + text.encode(written.encoding)
    write_bytes(path, data)


def write_bytes(path: Path, data: bytes) -> None:
    """The same for bytes."""
    # A link stays a link: what it leads to is written.
    target = Path(os.path.realpath(path))
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(name, stat.S_IMODE(target.stat().st_mode))  # noqa: PTH101
        else:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # noqa: PTH101
        os.replace(name, target)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise
