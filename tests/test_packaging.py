"""What ships: one version, light imports, a wheel and an sdist that carry the built browser parts."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
import zlib
from email import message_from_string
from pathlib import Path

import pytest

import jupyter_tpushape
from jupyter_tpushape.views.script import module

ROOT = Path(__file__).parents[1]
HEAVY = ("tensorflow", "keras", "tf_keras", "jax", "jupyterlab", "plotly", "anywidget")
PROBE = "import sys; {statement}; print([name for name in {heavy} if name in sys.modules])"
BUDGET = 150_000


def heavy_after(statement: str) -> str:
    code = PROBE.format(statement=statement, heavy=HEAVY)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


def test_importing_loads_no_framework() -> None:
    assert heavy_after("import jupyter_tpushape") == "[]"


def test_that_test_can_fail() -> None:
    assert heavy_after("import jupyter_tpushape, plotly") == "['plotly']"


def test_there_is_one_version() -> None:
    package = json.loads((ROOT / "package.json").read_text())
    assert package["version"] == jupyter_tpushape.__version__
    assert re.search(rf"^## {re.escape(jupyter_tpushape.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_view_s_script_stands_alone_and_keeps_its_budget() -> None:
    text = module()
    assert len(text.encode()) <= BUDGET
    assert not re.search(r"""(?:^|[;}])import[\s{*"'(]|\bimport\(|\brequire\(|\}from["']""", text)
    # A script's end inside it would end the element that carries it in the HTML report.
    assert "</script" not in text.lower()


def test_the_site_has_a_page_for_every_file_and_writes_its_generated_ones_from_the_code() -> None:
    config = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f": {page.name}" in config, page.name
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "site_pages.py"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_on_ci_shows_what_the_parser_takes() -> None:
    from jupyter_tpushape.cli import command_line

    parser = command_line()
    page = (ROOT / "docs" / "ci.md").read_text()
    for line in re.findall(r"^\W*(?:- run: )?tpushape (check .*?)(?:\s+#.*)?$", page, re.MULTILINE):
        assert parser.parse_args(shlex.split(line)).model, line


def test_nothing_committed_names_a_registry_or_this_machine() -> None:
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\0")
    forbidden = re.compile(r"registry\.(npmjs|yarnpkg)|pypi\.org/simple|files\.pythonhosted|npmRegistryServer|index-url")
    # Texts that tests read have a home of nobody's.
    machine = re.compile(rf"(?<![\w./])/(?:root|work|home|Users)/\w|{re.escape(str(ROOT))}/")
    for name in filter(None, files):
        path = ROOT / name
        if path.suffix in {".png", ".gif", ".svg"} or path == Path(__file__) or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        assert not forbidden.search(text), name
        assert name.startswith("tests/") or not machine.search(text), name


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and sdist that `make dist` made, or else made here from what is built."""
    made = ROOT / "dist"
    if not list(made.glob("*.whl")):
        made = tmp_path_factory.mktemp("dist")
        subprocess.run([sys.executable, str(ROOT / "scripts" / "package.py"), str(made)], check=True, capture_output=True)
    return made


def test_frameworks_are_extras(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_string(archive.read(name).decode())
    assert {"tensorflow", "lab", "plot", "tpu-compiler", "test"} <= set(metadata.get_all("Provides-Extra") or [])
    needed = [entry for entry in metadata.get_all("Requires-Dist") or [] if "extra ==" not in entry]
    names = {re.split(r"[<>=\[; ]", entry)[0] for entry in needed}
    assert "msgspec" in names
    assert names.isdisjoint({"tensorflow", "tf_keras", "tf-keras", "keras", "jax", "jupyterlab", "plotly"})


def test_the_wheel_carries_the_extension_and_the_bundles(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    shared = f"jupyter_tpushape-{jupyter_tpushape.__version__}.data/data/share/jupyter/labextensions/jupyter_tpushape"
    for name in (
        "jupyter_tpushape/py.typed",
        "jupyter_tpushape/static/loader.js",
        f"{shared}/static/view.js",
        f"{shared}/package.json",
        f"{shared}/install.json",
        f"{shared}/schemas/jupyter_tpushape/plugin.json",
    ):
        assert name in names
    assert any(name.startswith(f"{shared}/static/remoteEntry.") for name in names)
    assert [name for name in names if name.endswith("/view.js")] == [f"{shared}/static/view.js"], "once, and the package finds it there"
    assert not any(name.startswith(("tests/", "src/", "node_modules/")) for name in names)


def test_the_wheel_has_the_sources_as_they_are(dist: Path) -> None:
    root = Path(jupyter_tpushape.__file__).parent.parent
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        for name in wheel.namelist():
            if name.endswith(".py"):
                assert wheel.read(name) == (root / name).read_bytes(), name


def test_what_is_uploaded_is_small_and_well_described(dist: Path) -> None:
    made = sorted(str(path) for path in (*dist.glob("*.whl"), *dist.glob("*.tar.gz")))
    assert len(made) == 2
    sdist, wheel = sorted(made, key=lambda path: path.endswith(".whl"))
    # The code is as long as it is; what is not code stays small, and nothing comes along by mistake.
    assert Path(sdist).stat().st_size < 1_500_000
    with tarfile.open(sdist) as source:
        held = [source.extractfile(one) for one in source if one.isfile() and not one.name.endswith(".py")]
        assert sum(len(zlib.compress(one.read(), 9)) for one in held if one is not None) < 300_000
    with zipfile.ZipFile(wheel) as archive:
        parts = [(one.filename.endswith(".py"), one.compress_size) for one in archive.infolist()]
    assert sum(size for code, size in parts if not code) < 150_000
    assert Path(wheel).stat().st_size < 1_700_000
    pytest.importorskip("twine")
    done = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *made], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_build_is_reproducible(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    # hatchling has a date of its own for all files, unless the environment names one.
    subprocess.run([sys.executable, str(ROOT / "scripts" / "package.py"), str(tmp_path)], check=True, capture_output=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_sdist_installs_without_node(dist: Path, tmp_path: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"jupyter_tpushape/labextension/static/view.js", "src/index.ts", "LICENSE"} <= names
    assert "jupyter_tpushape/static/view.js" not in names, "once"
    assert not any(name.startswith(("node_modules/", ".venv/", "out/")) for name in names)
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    # A PATH that holds nothing: neither node nor a compiler.
    env = {**os.environ, "PATH": str(python.parent), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(sdist)]
    subprocess.run(command, check=True, env=env, cwd=tmp_path)
    installed = tmp_path / "env" / "share" / "jupyter" / "labextensions" / "jupyter_tpushape"
    assert (installed / "package.json").exists()
    listed = subprocess.run(
        [sys.executable, "-m", "jupyter", "labextension", "list"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "JUPYTER_PATH": str(installed.parents[1])},
    )
    assert re.search(r"jupyter_tpushape v\S+ \S*enabled\S* \S*OK", listed.stdout + listed.stderr)
