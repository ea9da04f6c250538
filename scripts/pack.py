"""Packs the wheel and the sdist in a folder as tightly as deflate allows: the same files, names, times and modes.

Usage: ``python scripts/pack.py dist``
"""

from __future__ import annotations

import gzip
import sys
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


def pack(folder: Path) -> None:
    """Writes each archive anew, with the same content."""
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as before:
            entries = [(info, before.read(info)) for info in before.infolist()]
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as after:
            for info, data in entries:
                with after.open(info, "w") as member:
                    file: Any = member
                    if info.compress_type == zipfile.ZIP_DEFLATED:
                        file._compressor = Tight()
                    file.write(data)
    for sdist in folder.glob("*.tar.gz"):
        sdist.write_bytes(zopfli.gzip.compress(gzip.decompress(sdist.read_bytes())))


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
