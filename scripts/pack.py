"""Packs the wheel and the sdist in a folder as tightly as deflate allows: the same files, names, times and modes, the sdist's in another order.

The wheel's Python files are packed without their comments and the docstrings of private names, which are for who changes the code
and stand in the sdist; every line keeps its number.

Usage: ``python scripts/pack.py dist``
"""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import sys
import tarfile
import tokenize
import zipfile
from pathlib import Path
from typing import Any

import zopfli.gzip
import zopfli.zlib


class Tight:
    """What ``zipfile`` compresses a member with: all of it at once, when it ends."""

    def __init__(self) -> None:
        self.data = b""

    def compress(self, data: bytes) -> bytes:
        self.data += data
        return b""

    def flush(self) -> bytes:
        return zopfli.zlib.compress(self.data)[2:-4]  # type: ignore[no-any-return]  # without the head and the sum of zlib


def bare(data: bytes) -> bytes:
    """Python source without its comments, and with empty docstrings of private functions and classes; line by line as before."""
    lines = data.decode().split("\n")
    for token in tokenize.generate_tokens(io.StringIO(data.decode()).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and private(node.name) and node.body[1:] and ast.get_docstring(node):
            text = node.body[0]
            # What is in front of a docstring is white space, and nothing is behind it.
            lines[text.lineno - 1 : text.end_lineno] = [" " * text.col_offset + '""', *[""] * ((text.end_lineno or 0) - text.lineno)]
    return "\n".join(lines).encode()


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def recorded(record: bytes, members: dict[str, bytes]) -> bytes:
    """The list of a wheel's files with the sums and sizes of ``members``."""
    lines = []
    for line in record.decode().splitlines():
        name, summed, _ = line.rsplit(",", 2)
        if summed:
            digest = base64.urlsafe_b64encode(hashlib.sha256(members[name]).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(members[name])}\n")
        else:
            lines.append(f"{line}\n")
    return "".join(lines).encode()


def pack(folder: Path) -> None:
    """Writes each archive anew, with the same content."""
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as before:
            entries = {info.filename: (info, before.read(info)) for info in before.infolist()}
        members = {name: bare(data) if name.endswith(".py") else data for name, (_, data) in entries.items()}
        record = next(name for name in members if name.endswith(".dist-info/RECORD"))
        members[record] = recorded(members[record], members)
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as after:
            for name, (info, _) in entries.items():
                with after.open(info, "w") as member:
                    file: Any = member
                    if info.compress_type == zipfile.ZIP_DEFLATED:
                        file._compressor = Tight()
                    file.write(members[name])
    for sdist in folder.glob("*.tar.gz"):
        with tarfile.open(sdist) as packed:
            members_of = [(info, packed.extractfile(info).read() if info.isfile() else b"") for info in packed.getmembers()]  # type: ignore[union-attr]
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as written:
            for info, data in alike(members_of):
                written.addfile(info, io.BytesIO(data))
        sdist.write_bytes(zopfli.gzip.compress(tar.getvalue()))


def alike(members: list[tuple[tarfile.TarInfo, bytes]]) -> list[tuple[tarfile.TarInfo, bytes]]:
    """The Python files last, each behind the one that it has most words in common with: deflate looks back 32 KiB only."""
    words = {info.name: set(data.decode().split()) for info, data in members if info.name.endswith(".py")}
    left = [member for member in members if member[0].name in words]
    order = [left.pop(0)]
    while left:
        last = words[order[-1][0].name]
        near = max(left, key=lambda member: (len(last & words[member[0].name]) / (1 + len(last | words[member[0].name])), member[0].name))
        left.remove(near)
        order.append(near)
    return [member for member in members if member[0].name not in words] + order


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
