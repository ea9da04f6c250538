"""Run as a program: prints the contents of a model file as JSON, without weights. It imports no framework and unpacks only text.

``python reader.py FILE`` answers ``{"config": TEXT, "compiled": TEXT}``, ``{"signatures": ...}`` or ``{"error": SENTENCE}``. The process
limits its own memory and time first, so a file that breaks the HDF5 library, or swells, ends this process and no other.
"""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
import struct
import sys
from collections.abc import Iterator
from typing import Any

# Of a configuration; NASNetLarge has 1.5 MB. One letter beyond U+FFFF makes the text in memory four times as large.
MOST_TEXT = 8 * 2**20
MOST_MEMBERS = 100_000
MOST_DIRECTORY = 16 * 2**20
# What no file of weights is packed to: this many times smaller, above this size.
BOMB_RATIO, BOMB_FLOOR = 200, 64 * 2**20
MEMORY, SECONDS = 1 << 30, 10
# Of a SavedModel's graph, which is mapped into that memory.
MOST_GRAPH = 768 * 2**20
MOST_SIGNATURES, MOST_TENSORS, MOST_RANK = 64, 512, 16


class Unreadable(Exception):
    """The file is invalid; the message is a sentence without its subject."""


def confine() -> None:
    """Limits the memory and processor time of this process, and prevents it from writing files."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        for name, limit in (("RLIMIT_AS", MEMORY), ("RLIMIT_CPU", SECONDS), ("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0)):
            resource.setrlimit(getattr(resource, name), (limit, limit))


def held(path: str) -> dict[str, Any]:
    """What the file or folder holds.

    Raises:
        Unreadable: where it is broken, or beyond a limit.
    """
    if os.path.isdir(path):  # noqa: PTH112
        return {"signatures": signatures(os.path.join(path, "saved_model.pb"))}  # noqa: PTH118
    with open(path, "rb") as file:  # noqa: PTH123
        start = file.read(8)
    if not start:
        raise Unreadable("is empty")
    if start.startswith(b"PK"):
        return archived(path)
    if start == b"\x89HDF\r\n\x1a\n":
        return hierarchical(path)
    raise Unreadable("is neither a .keras archive nor an HDF5 file")


# -- .keras: a zip archive


def archived(path: str) -> dict[str, Any]:
    """The configuration of a ``.keras`` archive; no other member is opened."""
    import zipfile

    try:
        with _Bounded(path) as file, _opened(file) as archive:
            members = archive.infolist()
            for member in members:
                if member.file_size > BOMB_FLOOR and member.file_size > BOMB_RATIO * max(1, member.compress_size):
                    raise Unreadable(f"is a zip bomb: {member.filename[:80]} unpacks to {member.file_size:,} bytes")
            configs = [member for member in members if member.filename == "config.json"]
            if len(configs) != 1:
                raise Unreadable("has no config.json" if not configs else "has more than one config.json")
            return {"config": _member(archive, configs[0])}
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise Unreadable(f"is a damaged archive ({_first(error)})") from None


def _opened(file: Any) -> Any:
    import zipfile

    if not zipfile.is_zipfile(file):
        raise Unreadable("is a truncated archive: its directory is missing")
    return zipfile.ZipFile(file)


class _Bounded(io.FileIO):
    """A file whose archive's directory is read within limits, whatever its ends claim: it is read in one piece, and each entry starts alike."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = (super().read(size) or b"") if size is None or size <= MOST_DIRECTORY else b""
        if (size or 0) > MOST_DIRECTORY or data.count(b"PK\x01\x02") > MOST_MEMBERS:
            raise Unreadable(f"lists more than {MOST_MEMBERS:,} members, or names of more than {MOST_DIRECTORY:,} bytes")
        return data


def _member(archive: Any, member: Any) -> str:
    if member.flag_bits & 1:
        raise Unreadable("is encrypted")
    if member.compress_type not in (0, 8):
        raise Unreadable("uses a compression method that Keras does not use")
    if member.file_size > MOST_TEXT:
        raise Unreadable(f"has a configuration of {member.file_size:,} bytes, but at most {MOST_TEXT:,} are read")
    import zlib

    try:
        with archive.open(member) as stream:
            data = stream.read(MOST_TEXT + 1)
    except zlib.error as error:
        raise Unreadable(f"is a damaged archive ({_first(error)})") from None
    if len(data) > MOST_TEXT:
        raise Unreadable(f"has a configuration of more than {MOST_TEXT:,} bytes")
    return _text(data)


# -- HDF5


def hierarchical(path: str) -> dict[str, Any]:
    """The configuration of an HDF5 file, which stands in attributes of its root; no dataset, group or link is opened."""
    try:
        import h5py
    except ImportError:
        raise Unreadable("is an HDF5 file, but h5py is not installed: run pip install h5py") from None
    try:
        with h5py.File(path, "r") as file:
            config = _attribute(file, "model_config")
            if config is None:
                raise Unreadable("contains weights but no model")
            return {"config": config, "compiled": _attribute(file, "training_config")}
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"is a damaged HDF5 file ({_first(error)})") from None


def _attribute(file: Any, name: str) -> str | None:
    if name not in file.attrs:
        return None
    if file.attrs.get_id(name).get_storage_size() > MOST_TEXT:
        raise Unreadable(f"has a {name} of more than {MOST_TEXT:,} bytes")
    value = file.attrs[name]
    kind = getattr(value, "dtype", None)
    if kind is not None and not isinstance(value, bytes):
        # Bytes without a type are read as text; the bytes of texts in an array are addresses, and those of a structure its numbers.
        value = value.tobytes() if kind.kind == "V" and kind.names is None else None
    if not isinstance(value, (bytes, str)):
        raise Unreadable(f"has a {name} that is not text")
    if len(value) > MOST_TEXT:
        raise Unreadable(f"has a {name} of more than {MOST_TEXT:,} bytes")
    return value if isinstance(value, str) else _text(value)


# -- SavedModel: a protocol buffer

_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 9: "int64", 10: "bool", 14: "bfloat16",
    17: "uint16", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip


def signatures(path: str) -> dict[str, Any]:
    """The signatures of a SavedModel, read from its bytes: its graph is passed over, and its variables and assets are not opened."""
    try:
        size = os.path.getsize(path)  # noqa: PTH202
        if not size:
            raise Unreadable("has an empty saved_model.pb")
        if size > MOST_GRAPH:
            raise Unreadable(f"has a saved_model.pb of {size:,} bytes, but at most {MOST_GRAPH:,} are read")
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:  # noqa: PTH123
            found: dict[str, Any] = {}
            for _, graph in _fields(data, (0, size), spans=(2,)):
                found = found or _signatures(data, graph)
            return found
    except (struct.error, IndexError, UnicodeDecodeError, OSError, ValueError) as error:
        raise Unreadable(f"has a damaged saved_model.pb ({_first(error)})") from None


def _signatures(data: Any, graph: tuple[int, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _, entry in _fields(data, graph, spans=(5,)):
        name, body = _entry(data, entry)
        if len(found) >= MOST_SIGNATURES:
            raise Unreadable(f"has more than {MOST_SIGNATURES} signatures")
        ends: dict[str, dict[str, Any]] = {"inputs": {}, "outputs": {}}
        for end, tensor in _fields(data, body, spans=(1, 2)):
            side = ends["inputs" if end == 1 else "outputs"]
            key, info = _entry(data, tensor)
            if len(side) >= MOST_TENSORS:
                raise Unreadable(f"has a signature of more than {MOST_TENSORS} tensors")
            side[key] = _tensor(data, info)
        found[name] = ends
    return found


def _entry(data: Any, span: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    name, body = "", (0, 0)
    for number, value in _fields(data, span, spans=(1, 2)):
        if number == 1:
            name = _name(data, value)
        else:
            body = value
    return name, body


def _name(data: Any, span: tuple[int, int]) -> str:
    if span[1] - span[0] > 1024:
        raise ValueError("a name of more than 1024 bytes")
    return bytes(data[span[0] : span[1]]).decode("utf-8")


def _tensor(data: Any, span: tuple[int, int]) -> dict[str, Any]:
    dtype, shape = 0, None
    for number, value in _fields(data, span, spans=(3,), numbers=(2,)):
        if number == 2:
            dtype = value
        else:
            shape = _shape(data, value)
    return {"dtype": _DTYPES.get(dtype % 100, ""), "shape": shape}


def _shape(data: Any, span: tuple[int, int]) -> list[int | None] | None:
    axes: list[int | None] = []
    for number, value in _fields(data, span, spans=(2,), numbers=(3,)):
        if number == 3 and value:
            return None
        if number == 2:
            size = next((held for _, held in _fields(data, value, numbers=(1,))), 0)
            axes.append(None if size >= 1 << 63 else size)
    if len(axes) > MOST_RANK:
        raise ValueError(f"a tensor with {len(axes)} dimensions")
    return axes


def _fields(data: Any, span: tuple[int, int], spans: tuple[int, ...] = (), numbers: tuple[int, ...] = ()) -> Iterator[tuple[int, Any]]:
    """The fields of a message that are asked for: as ``numbers`` those that are varints, as ``spans`` where the bytes of others lie.

    Raises:
        ValueError: where one is of the other kind, or the bytes are no message.
    """
    at, end = span
    while at < end:
        key, at = _varint(data, at, end)
        number, kind = key >> 3, key & 7
        if (number in spans and kind != 2) or (number in numbers and kind != 0):
            raise ValueError("a field has the wrong type")
        if kind == 0:
            value, at = _varint(data, at, end)
            if number in numbers:
                yield number, value
        elif kind == 2:
            length, at = _varint(data, at, end)
            if length > end - at:
                raise ValueError("it ends too early")
            if number in spans:
                yield number, (at, at + length)
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError("it is not a protocol buffer")


def _varint(data: Any, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise ValueError("it ends too early")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


# -------------------------------------------------------------------------------------------------------------------------------


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8").rstrip("\0")
    except UnicodeDecodeError:
        raise Unreadable("has a configuration that is not UTF-8 text") from None


def _first(error: BaseException) -> str:
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "") or type(error).__name__
    return said[:160].rstrip(".")


def main() -> None:
    confine()
    # The folder of this file is no place to import from.
    del sys.path[0]
    try:
        answer = held(sys.argv[1])
    except Unreadable as error:
        answer = {"error": str(error)}
    except OSError as error:
        answer = {"error": f"cannot be read ({error.strerror})"}
    except (MemoryError, RecursionError):
        answer = {"error": "takes more memory to read than a model file should"}
    # Letters as they are: escaped, they would take six times the memory.
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "backslashreplace"))


if __name__ == "__main__":
    main()
