"""Which files are the user's: findings name their lines, and no line of a library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jupyter_tpushape
from jupyter_tpushape.trace.locations import is_user_file


def _package(folder, name):
    inner = folder / name / "inner"
    inner.mkdir(parents=True)
    for place in (folder / name, inner):
        (place / "__init__.py").touch()
    (inner / "core.py").touch()
    return str(inner / "core.py")


def test_a_package_of_the_users_own_is_theirs(tmp_path):
    assert is_user_file(_package(tmp_path, "mine"))


def test_a_script_beside_it_is_theirs(tmp_path):
    (tmp_path / "train.py").touch()
    assert is_user_file(str(tmp_path / "train.py"))


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages", "anywhere"])
def test_what_an_installer_put_somewhere_is_a_library(folder, tmp_path):
    file = _package(tmp_path / folder, "library")
    (tmp_path / folder / "library-1.0.dist-info").mkdir()
    assert not is_user_file(file)


def test_a_script_beside_what_was_installed_is_theirs(tmp_path):
    _package(tmp_path, "library")
    (tmp_path / "library-1.0.dist-info").mkdir()
    (tmp_path / "train.py").touch()
    assert is_user_file(str(tmp_path / "train.py"))


def test_packages_of_the_system_are_libraries_without_a_record():
    assert not is_user_file("/usr/lib/python3/dist-packages/library/core.py")


BEHIND_A_LINK = """
import numpy
from jupyter_tpushape.sources import others
from jupyter_tpushape.trace import frames_jax, locations
ours = locations.is_ours.__code__.co_filename
print(ours)
assert locations.is_ours(ours) and frames_jax._is_library(ours) and not others.is_users(ours)
assert frames_jax._is_library(numpy.isscalar.__code__.co_filename)
"""


def test_packages_behind_a_symbolic_link_are_known_again(tmp_path):
    folders = [tmp_path / "ours", tmp_path / "theirs"]
    for folder, package in zip(folders, (jupyter_tpushape, np), strict=True):
        folder.symlink_to(Path(package.__file__).resolve().parents[1])
    code = f"import sys; sys.path[:0] = {[str(folder) for folder in folders]}" + BEHIND_A_LINK
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(folders[0]))
