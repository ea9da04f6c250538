"""Text files read with all that decoding loses, and written so that a failure leaves the old bytes."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_BOM = b"\xef\xbb\xbf"
# Names of what this process has open already.
_OPEN = re.compile(r"/(?:dev/fd|proc/(?:self|thread-self|\d+)/fd)/(\d{1,9})|/dev/std(in|out|err)")


@dataclass(frozen=True)
class Written:
    """A text with line feeds only, and how its file writes it.

    ``newline``: ``"\\n"``, ``"\\r\\n"`` or ``"\\r"``, or ``""`` where the file mixes them, and the text has them as they are.
    """

    text: str
    encoding: str = "utf-8"
    newline: str = "\n"
    bom: bool = False

    @property
    def data(self) -> bytes:
        """The bytes of the file.

        Raises:
            ValueError: where the text has letters that the encoding has not.
        """
        text = self.text if self.newline in ("", "\n") else self.text.replace("\n", self.newline)
        try:
            return (_BOM if self.bom else b"") + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            letter = error.object[error.start : error.start + 1]
            raise ValueError(f"{letter!r} cannot be encoded in {self.encoding}: the file was not changed.") from None


class Changed(OSError):
    """The file is not what was read a moment ago: somebody else has written it."""


def read_text(path: Path) -> Written:
    """A source file, in the encoding that it declares.

    Raises:
        OSError: where it cannot be read.
        ValueError: where its bytes are not what its encoding says.
    """
    # A pipe or a device would be read without an end.
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
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
        raise ValueError(f"{path.name} is not valid {encoding} at byte {error.start}: the file was not changed.") from None
    except LookupError:
        raise ValueError(f"{path.name} declares {encoding}, which is not a text encoding: the file was not changed.") from None
    written = _of(text, encoding, bom)
    if written.data != data:
        raise ValueError(f"{path.name} cannot be written back byte for byte in {encoding}: the file was not changed.")
    return written


def _of(text: str, encoding: str, bom: bool) -> Written:
    feeds, returns = text.count("\r\n"), text.count("\r")
    if feeds and feeds == returns and feeds == text.count("\n"):
        return Written(text.replace("\r\n", "\n"), encoding, "\r\n", bom)
    if returns and not text.count("\n"):
        return Written(text.replace("\r", "\n"), encoding, "\r", bom)
    return Written(text, encoding, "\n" if not returns else "", bom)


def write_text(path: Path, written: Written | str, *, instead_of: Written | None = None) -> None:
    """Writes beside the file, flushes, and renames: the file has the new bytes or the old ones. Mode, owner and links stay.

    Args:
        path: the file. written: its new text; a plain string is UTF-8. instead_of: what it held when it was read.

    Raises:
        Changed: where it holds something else by now.
        OSError: where it cannot be written; the file is as it was.
        ValueError: where the text has letters that the file's encoding has not.
    """
    if isinstance(written, str):
        # What no encoding holds came from a name of the user's program.
        written = Written(written.encode("utf-8", "replace").decode("utf-8"))
    write_bytes(path, written.data, instead_of=None if instead_of is None else instead_of.data)


def descriptor(path: str) -> int | None:
    """Which open file of this process a path names, as ``/dev/stdout`` does; ``None`` where it names a file of its own."""
    found = _OPEN.fullmatch(os.path.abspath(path))  # noqa: PTH100
    if found is None or (path.startswith("/proc/") and path.split("/")[2] not in ("self", "thread-self", str(os.getpid()))):
        return None
    return int(found[1]) if found[1] else ("in", "out", "err").index(found[2])


def write_bytes(path: Path, data: bytes, *, instead_of: bytes | None = None) -> None:
    """The same for bytes."""
    opened = descriptor(str(path))
    if opened is not None:
        # It may be a log that others write to: what is said goes where it stands, and nothing is put in the log's place.
        with os.fdopen(os.dup(opened), "wb") as file:
            file.write(data)
        return
    # A link stays a link: what it leads to is written.
    target = Path(os.path.realpath(path))
    try:
        known: os.stat_result | None = path.stat()
    except FileNotFoundError:
        known = None
    if known is not None and stat.S_ISDIR(known.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if known is not None and not stat.S_ISREG(known.st_mode):
        # A terminal, a pipe, /dev/null: there is nothing to lose, and nothing to put in its place. A pipe that nobody reads is not waited for.
        handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        if hasattr(os, "set_blocking"):
            os.set_blocking(handle, True)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return
    # The administrator may write what is marked as not to be written. A whole file is not put over it by accident; a patch,
    # which keeps all else and knows what stands there, is written where the system lets it.
    marked = known is not None and not known.st_mode & 0o222 and instead_of is None
    if known is not None and (marked or not os.access(target, os.W_OK)):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    try:
        handle, name = _beside(target.parent)
    except OSError as error:
        # It is not the file beside that the user asked for.
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if not os.path.exists(name):  # noqa: PTH110
                # Only a folder's number makes it look where the link leads.
                os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=handle)
        if known is None:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # noqa: PTH101
        else:
            _likeness(name, target, known)
        if instead_of is not None and target.read_bytes() != instead_of:
            raise Changed(errno.EBUSY, "it has changed since it was read", str(path))
        if known is not None and known.st_nlink > 1:
            _over(target, data)
            os.unlink(name)  # noqa: PTH108
        else:
            os.replace(name, target)  # noqa: PTH105
            _settled(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise


# What a file system says that has no files without a name.
_NAMED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


def _beside(folder: Path) -> tuple[int, str]:
    """A new file, and the name that it is to have. Until it is whole it has none, where the system knows such files: whatever kills the process
    leaves nothing behind."""
    if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):  # noqa: PTH110
        try:
            return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600), str(folder / f".tpushape-{os.urandom(8).hex()}")
        except OSError as error:
            if error.errno not in _NAMED:
                raise
    return tempfile.mkstemp(prefix=".tpushape-", dir=folder)


def _likeness(name: str, target: Path, known: os.stat_result) -> None:
    """Owner, mode and extended attributes of the file that is replaced, as far as the system lets."""
    with contextlib.suppress(OSError, AttributeError):
        os.chown(name, known.st_uid, known.st_gid)
    os.chmod(name, stat.S_IMODE(known.st_mode))  # noqa: PTH101
    with contextlib.suppress(OSError, AttributeError):
        for attribute in os.listxattr(target):
            os.setxattr(name, attribute, os.getxattr(target, attribute))


def _over(target: Path, data: bytes) -> None:
    """A file of several names is written in its place; where that fails it gets its old bytes back. A whole copy stands beside it meanwhile."""
    old = target.read_bytes()
    with target.open("r+b") as file:
        try:
            _whole(file, data)
        except BaseException:
            _whole(file, old)
            raise


def _whole(file: IO[bytes], data: bytes) -> None:
    file.seek(0)
    file.write(data)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())


def _settled(folder: Path) -> None:
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
