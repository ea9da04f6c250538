"""Writing never loses: whatever goes wrong, the file holds the new bytes or the old ones, and no others."""

from __future__ import annotations

import errno
import os
import random
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jupyter_tpushape import files
from jupyter_tpushape.cli import main
from jupyter_tpushape.files import Changed, read_text, write_bytes, write_text
from jupyter_tpushape.flow import Flow
from jupyter_tpushape.repair.patch import StaleSource, apply, difference, patched
from jupyter_tpushape.report import Report

MANY, SEED = int(os.environ.get("TPUSHAPE_FUZZ", "400")), int(os.environ.get("TPUSHAPE_SEED", "0"))
SOURCE = "import keras\nx = 1\nmodel = keras.layers.Dense(3)\ny = 2\nz = 3\nlast = 4\n"


def fix(before: str, after: str) -> Any:
    return SimpleNamespace(patch="\n".join(difference(before, after, "a")))


CHANGE = fix(SOURCE, SOURCE.replace("Dense(3)", "Dense(5)"))

BYTES = {
    "line feeds": SOURCE.encode(),
    "Windows line ends": SOURCE.replace("\n", "\r\n").encode(),
    "old Macintosh line ends": SOURCE.replace("\n", "\r").encode(),
    "mixed line ends": SOURCE.replace("x = 1\n", "x = 1\r\n").encode(),
    "a byte order mark": b"\xef\xbb\xbf" + SOURCE.encode(),
    "a byte order mark and Windows": b"\xef\xbb\xbf" + SOURCE.replace("\n", "\r\n").encode(),
    "no last line end": SOURCE.rstrip("\n").encode(),
    "trailing blanks": SOURCE.replace("x = 1", "x = 1  \t ").encode(),
    "a form feed": SOURCE.replace("x = 1", "x = 1 # \x0c").encode(),
    "a line separator": SOURCE.replace("x = 1", "x = '\u2028'").encode(),
    "a paragraph separator": SOURCE.replace("y = 2", "y = '\u2029\x85\x1c'").encode(),
    "Windows line ends but for one": SOURCE.replace("\n", "\r\n").replace("x = 1\r", "x = 1").encode(),
    "many empty lines at the end": (SOURCE + "\n\n\n").encode(),
    "a null byte": SOURCE.replace("y = 2", "y = '\x00'").encode(),
}


@pytest.mark.parametrize("name", BYTES)
def test_every_byte_outside_of_the_changed_line_stays(name: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(BYTES[name])
    written = read_text(path)
    after = written.text.replace("Dense(3)", "Dense(5)")
    apply(fix(written.text, after), path)
    assert path.read_bytes() == BYTES[name].replace(b"Dense(3)", b"Dense(5)")


@pytest.mark.parametrize(("cookie", "word"), [("latin-1", "größe"), ("cp1252", "€"), ("shift_jis", "日本"), ("koi8-r", "слово"), ("utf-8", "日本€")])
def test_every_encoding_stays(cookie: str, word: str, tmp_path: Path) -> None:
    text = f"# -*- coding: {cookie} -*-\n# {word}\n" + SOURCE
    path = tmp_path / "train.py"
    path.write_bytes(text.encode(cookie))
    apply(fix(text, text.replace("Dense(3)", "Dense(5)")), path)
    assert path.read_bytes() == text.replace("Dense(3)", "Dense(5)").encode(cookie)


@pytest.mark.parametrize(
    "data",
    [
        b"# coding: latin-1\nx = 1\n", b"# coding: rot13\nx = 1\n", b"# coding: unicode_escape\nx = '\\u0041'\n", b"x = '\xff'\n", b"# coding: utf-7\nx = '+AEE-'\n",
        b"# coding: no-such-thing\nx = '\xff'\n", b"\xff\xfex\x00", b"# coding: hex\nx\n", b"# coding: punycode\nx\n",
    ],
)  # fmt: skip
def test_what_cannot_be_written_back_is_not_written(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(data)
    change = SimpleNamespace(patch="--- a\n+++ a\n@@ -1,1 +1,2 @@\n x\n+x = '\u2713'")
    with pytest.raises((ValueError, StaleSource)) as caught:
        apply(change, path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == data


def test_a_letter_that_the_file_has_no_room_for(tmp_path: Path) -> None:
    text = "# coding: latin-1\n" + SOURCE
    path = tmp_path / "train.py"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match="not changed"):
        apply(fix(text, text.replace("Dense(3)", "Dense('\u2713')")), path)
    assert path.read_bytes() == text.encode("latin-1")


# -- the file system ----------------------------------------------------------------------------------------------------------------


def source(folder: Path) -> Path:
    path = folder / "train.py"
    path.write_text(SOURCE)
    return path


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_read_only_file(tmp_path: Path) -> None:
    path = source(tmp_path)
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        write_text(path, "another file")
    assert path.read_text() == SOURCE and left(tmp_path) == ["train.py"]
    if os.geteuid():
        with pytest.raises(PermissionError):
            apply(CHANGE, path)
        assert path.read_text() == SOURCE and left(tmp_path) == ["train.py"]
    else:
        # The administrator asked for a patch of this very file.
        apply(CHANGE, path)
        assert "Dense(5)" in path.read_text() and stat.S_IMODE(path.stat().st_mode) == 0o444


def test_mode_owner_and_links_stay(tmp_path: Path) -> None:
    path = source(tmp_path)
    path.chmod(0o751)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    (tmp_path / "link.py").symlink_to("train.py")
    (tmp_path / "hard.py").hardlink_to(path)
    before = path.stat()
    apply(CHANGE, tmp_path / "link.py")
    after = path.stat()
    assert (tmp_path / "link.py").is_symlink()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid, after.st_nlink) == (0o751, before.st_uid, before.st_gid, 2)
    assert "Dense(5)" in (tmp_path / "hard.py").read_text()
    (tmp_path / "hard.py").unlink()
    apply(fix(path.read_text(), path.read_text().replace("Dense(5)", "Dense(7)")), path)
    after = path.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (0o751, before.st_uid, before.st_gid)
    assert left(tmp_path) == ["link.py", "train.py"]


def test_a_link_to_nowhere_and_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "new.html").symlink_to("made.html")
    write_text(tmp_path / "new.html", "x")
    assert (tmp_path / "made.html").read_text() == "x" and (tmp_path / "new.html").is_symlink()
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError):  # noqa: PT011
        write_text(tmp_path / "round", "x")
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path, "x")
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "nowhere" / "x", "x")


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    write_text(Path("/dev/null"), "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OSError) as caught:  # noqa: PT011
        write_text(Path("/dev/full"), "x" * 10**5)
    assert caught.value.errno == errno.ENOSPC
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("at", ["write", "flush", "fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()], ids=lambda e: type(e).__name__)
def test_whatever_fails_the_old_bytes_are_there(at: str, error: BaseException, hard: bool, tmp_path: Path, monkeypatch: Any) -> None:
    path = source(tmp_path)
    names = ["train.py"]
    if hard:
        (tmp_path / "hard.py").hardlink_to(path)
        names = ["hard.py", *names]

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise error

    if at in ("write", "flush"):
        original = os.fdopen

        class Broken:
            def __init__(self, *args: Any) -> None:
                self.file = original(*args)

            def __enter__(self) -> Any:
                return SimpleNamespace(write=fail if at == "write" else self.file.write, flush=fail, fileno=self.file.fileno)

            def __exit__(self, *args: object) -> None:
                self.file.close()

        monkeypatch.setattr(files.os, "fdopen", Broken)
    elif at == "replace" and hard:
        monkeypatch.setattr(files, "_over", fail)
    else:
        monkeypatch.setattr(files.os, at, fail)
    with pytest.raises(type(error)):
        apply(CHANGE, path)
    monkeypatch.undo()
    assert path.read_text() == SOURCE
    assert left(tmp_path) == names


def test_a_full_disk(tmp_path: Path) -> None:
    """The limit on a file's size stands for a disk that is full."""
    path = source(tmp_path)
    program = f"""
import resource, signal
from types import SimpleNamespace
from pathlib import Path
from jupyter_tpushape.files import write_text
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))
try:
    write_text(Path({str(path)!r}), "y" * 1000)
except OSError as error:
    print(error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == os.strerror(errno.EFBIG)
    assert path.read_text() == SOURCE and left(tmp_path) == ["train.py"]


def test_a_file_that_changed_meanwhile(tmp_path: Path, monkeypatch: Any) -> None:
    path = source(tmp_path)
    theirs = SOURCE + "# theirs\n"
    original = files._beside

    def meanwhile(*args: Any, **kwargs: Any) -> Any:
        path.write_text(theirs)
        return original(*args, **kwargs)

    monkeypatch.setattr(files, "_beside", meanwhile)
    with pytest.raises(Changed, match="has changed since it was read"):
        apply(CHANGE, path)
    assert path.read_text() == theirs and left(tmp_path) == ["train.py"]


def test_a_file_that_changed_before(tmp_path: Path) -> None:
    path = source(tmp_path)
    path.write_text(SOURCE.replace("Dense(3)", "Dense(4)"))
    with pytest.raises(StaleSource):
        apply(CHANGE, path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        apply(CHANGE, path)


def test_a_new_line_ends_like_its_neighbors(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"# first\n" + SOURCE.replace("\n", "\r\n").encode())
    text = read_text(path).text
    ran = text.replace("\r\n", "\n")
    apply(fix(ran, ran.replace("Dense(3)", "Dense(5)").replace("y = 2\n", "y = 2\nnew = 1\n")), path)
    assert path.read_bytes() == b"# first\n" + SOURCE.replace("Dense(3)", "Dense(5)").replace("y = 2\n", "y = 2\nnew = 1\n").replace("\n", "\r\n").encode()


@pytest.mark.parametrize("label", ["a\nb.py", "a\n@@ -1,1 +1,1 @@\n-import keras\n+evil", "a\rb", "a\x1b[2Jb", "\u2028"])
def test_a_name_of_a_file_is_no_part_of_a_diff(label: str, tmp_path: Path) -> None:
    path = source(tmp_path)
    change = difference(SOURCE, SOURCE.replace("Dense(3)", "Dense(5)"), label)
    apply(SimpleNamespace(patch="\n".join(change)), path)
    assert path.read_text() == SOURCE.replace("Dense(3)", "Dense(5)")


DAMAGED = (
    "--- ", "--- a\n", "--- a\n+++ b", "--- a\n+++ b\n@@ nope @@\n", "--- a\n+++ b\n@@ -1,5 +1,1 @@\n import keras\n",
    "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-import keras\n+evil\n+more\n", "--- a\n+++ b\n@@ -4,1 +4,1 @@\n-y = 2\n+y\n@@ -1,1 +1,1 @@\n-import keras\n+evil\n",
    "--- a\n+++ b\n@@ -999999999999999999999999,1 +1,1 @@\n-x\n+y\n", "--- a\n+++ b\n@@ -1,1 +1,1 @@\n*import keras\n+y\n", "--- a\n+++ b\n+evil\n",
)  # fmt: skip


@pytest.mark.parametrize("patch", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_diff_changes_nothing(patch: str, tmp_path: Path) -> None:
    path = source(tmp_path)
    with pytest.raises((ValueError, StaleSource), match="trace again to get a new fix"):
        apply(SimpleNamespace(patch=patch), path)
    assert path.read_text() == SOURCE


@pytest.mark.parametrize("held", [None, "--- a", SimpleNamespace(patch=None), SimpleNamespace(fixes=[CHANGE])], ids=repr)
def test_what_is_no_fix_is_not_applied(held: Any, tmp_path: Path) -> None:
    path = source(tmp_path)
    with pytest.raises(TypeError, match=r"Expected a fix, but got .*fixes\[0\]"):
        apply(held, path)
    assert path.read_text() == SOURCE


def test_what_is_no_file_is_not_patched(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="not a regular file"):
            apply(CHANGE, path)
    with pytest.raises(IsADirectoryError):
        apply(CHANGE, tmp_path)
    with pytest.raises(FileNotFoundError) as told:
        write_text(tmp_path / "no" / "x.py", "x")
    assert told.value.filename == str(tmp_path / "no" / "x.py")


@pytest.mark.parametrize("output", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr", "/proc/self/fd/2"])
def test_output_to_what_is_open_already_replaces_no_file(output: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import keras\nmodel = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])\n")
    logs = {name: tmp_path / name for name in ("out", "err")}
    for log in logs.values():
        log.write_text("before\n")
    with logs["out"].open("a") as out, logs["err"].open("a") as err:
        done = subprocess.run(
            [sys.executable, "-m", "jupyter_tpushape.cli", "check", "x.py:model", "--input-spec", "8,4:float32", "--tpu", "none", "--output", output],
            cwd=tmp_path, stdout=out, stderr=err, env={**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[1])}, check=False,
        )  # fmt: skip
        assert done.returncode == 0
        out.write("after\n")
    told, other = logs["err" if output.endswith(("err", "2")) else "out"], logs["out" if output.endswith(("err", "2")) else "err"]
    assert "No problems found" in told.read_text() and told.read_text().startswith("before\n")
    assert "No problems found" not in other.read_text() and other.read_text().startswith("before\n")
    assert logs["out"].read_text().endswith("after\n")
    assert left(tmp_path) == ["err", "out", "x.py"]


@pytest.mark.parametrize("form", ["text", "json", "html", "svg", "md", "sarif", "github"])
def test_output_never_loses_what_was_there(form: str, tmp_path: Path, tmp_path_factory: Any, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("jupyter_tpushape.command.check._report", lambda options: Report(Flow(), []))
    program = tmp_path_factory.mktemp("program") / "x.py"
    program.write_text("y = 1\n")
    place = f"{program}:y"
    path = tmp_path / "report"
    path.write_text("old")
    path.chmod(0o400)
    assert main(["check", place, "--format", form, "--output", str(path)]) == 2
    assert path.read_text() == "old" and left(tmp_path) == ["report"]
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and str(path) in err
    path.chmod(0o640)
    assert main(["check", place, "--format", form, "--output", str(path)]) == 0
    assert path.read_text() != "old" and stat.S_IMODE(path.stat().st_mode) == 0o640
    for wrong in (tmp_path, tmp_path / "no" / "x", Path("/dev/full"), tmp_path / ("x" * 300)):
        assert main(["check", place, "--format", form, "--output", str(wrong)]) == 2
    assert main(["check", place, "--format", form, "--output", "/dev/null"]) == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("suffix", [".html", ".json", ".svg", ".md"])
def test_a_report_that_cannot_be_saved_leaves_the_old_one(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"report{suffix}"
    path.write_text("old")
    path.chmod(0o400)
    with pytest.raises(PermissionError):
        Report(Flow(), []).save(path)
    assert path.read_text() == "old"


# -- any text -----------------------------------------------------------------------------------------------------------------------

PIECES = ("\n", "\r\n", "\r", "\x0c", "\u2028", "\x85", " ", "\t", "x", "# é", "@@ -1 +1 @@", "--- a", "+++ b", "+", "-", "\\ No newline", "日", "\n\n")


NEW = ("new", "other  ", "")


def test_random_patches_are_exact(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    path = tmp_path / "train.py"
    for _ in range(MANY):
        before = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 30))) + "\n"
        write_bytes(path, before.encode())
        written = read_text(path)
        lines = written.text.split("\n")[:-1]
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(lines) or 1)
            lines[at : at + rng.randint(0, 2)] = [rng.choice(NEW) for _ in range(rng.randint(0, 2))]
        after = "\n".join([*lines, ""])
        change = fix(written.text, after)
        if not change.patch or not lines:
            continue
        made = patched(written.text, change.patch).split("\n")
        assert len(made) == len(after.split("\n"))
        for line, wanted in zip(made, after.split("\n"), strict=True):
            # A new line ends like its neighbors, where a file mixes line ends; every other one is as it was, byte for byte.
            new = wanted.rstrip("\r") in NEW
            assert line == wanted or (new and line.rstrip("\r") == wanted.rstrip("\r"))
        wrong = written.text.replace("x", "q", 1)
        if wrong != written.text:
            try:
                done = patched(wrong, change.patch)
            except StaleSource:
                continue
            assert done != after
