"""The TPU compiler's own folder: made from wheels, found by the worker, and never in the user's environment."""

from __future__ import annotations

import sys
import zipfile

import pytest

from jupyter_tpushape import cli
from jupyter_tpushape.compilers import bridge, install, process


def wheel(folder, name, version, module):
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as made:
        info = f"{name}-{version}.dist-info"
        made.writestr(f"{module}/__init__.py", f"__version__ = {version!r}\n")
        made.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        made.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{info}/RECORD", "")


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TPUSHAPE_COMPILER", raising=False)
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, version in (*bridge.PINS.items(), ("ml_dtypes", "1.0"), ("numpy", "9.0")):
        wheel(folder, name, version, name)
    return folder


def test_wheels_go_into_a_folder_that_only_the_worker_sees(wheels, monkeypatch, capsys):
    monkeypatch.setattr(install, "_tried", lambda place: None)
    assert bridge.home() is None
    assert cli.main(["compiler", "install", "--wheels", str(wheels)]) == 0
    place = bridge.own()
    assert f"cp{sys.version_info[0]}{sys.version_info[1]}" in place.name
    assert bridge.home() == place
    assert bridge.versions() == bridge.PINS and bridge.check() == ""
    assert process._path().split(":")[0] == str(place)
    assert str(place) not in sys.path
    said = capsys.readouterr().out
    assert str(place) in said and "TPUSHAPE_COMPILER" not in said
    assert cli.main(["compiler", "remove"]) == 0
    assert bridge.home() is None and not place.exists()


def test_parts_that_do_not_load_leave_what_was_there(wheels, capsys):
    place = bridge.own()
    (place / "libtpu").mkdir(parents=True)
    assert cli.main(["compiler", "install", "--wheels", str(wheels)]) == 2
    assert "does not load: " in capsys.readouterr().err
    assert [one.name for one in place.parent.iterdir()] == [place.name]
    assert [one.name for one in place.iterdir()] == ["libtpu"]


def test_a_wheel_that_is_missing_is_a_line(wheels, tmp_path, capsys):
    next(wheels.glob("libtpu-*")).unlink()
    assert cli.main(["compiler", "install", "--wheels", str(wheels), "--folder", str(tmp_path / "here")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert str(wheels) in last and "libtpu" in last
    assert not (tmp_path / "here").exists()
    assert cli.main(["compiler", "install", "--wheels", str(tmp_path / "none")]) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_a_folder_that_holds_something_else_stays(wheels, tmp_path, capsys):
    for action in (["install", "--wheels", str(wheels)], ["remove"]):
        assert cli.main(["compiler", *action, "--folder", str(wheels)]) == 2
    assert str(wheels) in capsys.readouterr().err
    assert list(wheels.glob("*.whl"))
