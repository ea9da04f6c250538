"""The smoke tests with the oldest and the newest of everything, each in an environment of its own under ``out/matrix``.

``python scripts/matrix.py [name ...]`` installs the wheel of ``dist/``, with the versions of each row, and runs ``pytest -m smoke`` and
``jupyter labextension list``. The table in docs/compatibility.md is written anew. A Python that is not on this machine is said, not skipped silently.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "compatibility.md"
TESTS = ("test_smoke.py", "test_attacks_files.py", "test_attacks_archives.py", "test_attacks_made.py", "conftest.py", "settled.py")
JAX_TESTS = ("on_jax/conftest.py", "on_jax/test_jax_trace.py", "settled.py")
TOOLS = ("pytest>=8.2", "ipykernel>=6.29")


@dataclass(frozen=True)
class Row:
    name: str
    python: str
    tensorflow: str
    keras: str
    tf_keras: str
    lab: str
    # Keras on JAX, in an environment without TensorFlow.
    jax: str = ""

    @property
    def pins(self) -> list[str]:
        """What pip is asked for beside the wheel; an empty version is the newest."""
        if self.jax:
            named = {"jax": self.jax, "keras": self.keras, "jupyterlab": self.lab}
            return [f"{name}=={version}" if version else name for name, version in named.items()]
        named = {"tensorflow": self.tensorflow, "keras": self.keras, "tf_keras": self.tf_keras, "jupyterlab": self.lab}
        return [f"{name}=={version}" if version else name for name, version in named.items()]


ROWS = (
    Row("oldest", "3.10", "2.16.*", "3.5.*", "2.16.*", "4.2.*"),
    Row("oldest-3.11", "3.11", "2.16.*", "3.5.*", "2.16.*", "4.2.*"),
    Row("middle", "3.11", "2.18.*", "3.8.*", "2.18.*", "4.3.*"),
    Row("tf-2.20", "3.12", "2.20.*", "3.11.*", "2.20.*", ""),
    Row("newest", "3.13", "", "", "", ""),
    # The versions of Kaggle's TPU image, whose TensorFlow does not see the TPU.
    Row("jax-kaggle", "3.11", "", "3.11.*", "", "", jax="0.7.2"),
    Row("jax-newest", "3.11", "", "", "", "", jax="0.10.*"),
)


def interpreter(version: str) -> str | None:
    """A Python of this version: on the path, or one of pyenv's."""
    homes = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python"))
    for place in [*map(str, reversed(homes)), shutil.which(f"python{version}") or ""]:
        if place and subprocess.run([place, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0:
            return place
    return None


def run(row: Row) -> str:
    """One row's result in a few words."""
    python = interpreter(row.python)
    if python is None:
        return f"not run: there is no Python {row.python} on this machine"
    (wheel,) = (ROOT / "dist").glob("*.whl")
    home = ROOT / "out" / "matrix" / row.name
    shutil.rmtree(home, ignore_errors=True)
    (home / "tests").mkdir(parents=True)
    start = time.perf_counter()
    subprocess.run([python, "-m", "venv", str(home / "env")], check=True)
    inside = str(home / "env" / "bin" / "python")
    asked = [inside, "-m", "pip", "install", "--quiet", f"jupyter_tpushape[{'jax' if row.jax else 'tensorflow'},lab] @ {wheel.as_uri()}", *row.pins, *TOOLS]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return f"not run: cannot be installed together ({said[0][:160] if said else 'pip'})"
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    # Python looks for what the tests import where it is started.
    command = [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    if row.jax:
        environment.update(KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")
        names = list(JAX_TESTS)
    else:
        command += ["-m", "smoke"]
        names = list(TESTS)
    for name in names:
        shutil.copy(ROOT / "tests" / name, home / "tests")
    tested = subprocess.run(command, cwd=home / "tests", env=environment, capture_output=True, text=True, check=False)
    (home / "log.txt").write_text(tested.stdout + tested.stderr, encoding="utf-8")
    listed = subprocess.run([inside, "-m", "jupyter", "labextension", "list"], capture_output=True, text=True, check=False)
    lab = "extension enabled" if re.search(r"jupyter_tpushape v\S+ \S*enabled\S* \S*OK", listed.stdout + listed.stderr) else "extension NOT FOUND"
    last = re.sub(r" in [\d.]+s.*", "", next((line for line in reversed(tested.stdout.splitlines()) if line.strip()), "no answer")).strip("= ")
    return f"{last}; {lab}; {time.perf_counter() - start:.0f} s"


def installed(row: Row) -> str:
    """The versions that a row really got."""
    python = ROOT / "out" / "matrix" / row.name / "env" / "bin" / "python"
    code = "import sys; from importlib.metadata import version as v; print(sys.version.split()[0], *[v(n) if n else '' for n in sys.argv[1:]], sep=' | ')"
    frameworks = ["jax", "keras", ""] if row.jax else ["tensorflow", "keras", "tf_keras"]
    done = subprocess.run([str(python), "-c", code, *frameworks, "jupyterlab"], capture_output=True, text=True, check=False)
    first = f"jax {row.jax}" if row.jax else row.tensorflow
    said = done.stdout.strip()
    return (said.replace(" | ", " | jax ", 1) if row.jax else said) or f"{row.python} | {first} | {row.keras} | {row.tf_keras} | {row.lab}"


def failed(result: str) -> bool:
    """Whether a row's words tell of anything but tests that ran and passed, or of a row that this machine cannot run."""
    return not result.startswith("not run:") and ("passed" not in result or any(word in result for word in ("failed", "error", "NOT FOUND")))


def main(names: list[str]) -> int:
    """Runs the rows and writes the page; returns 1 where one failed."""
    wrong = False
    page = PAGE.read_text(encoding="utf-8")
    for row in ROWS:
        if names and row.name not in names:
            continue
        result = run(row)
        wrong |= failed(result)
        line = f"| {row.name} | {installed(row)} | {result} |"
        print(line, flush=True)
        page = re.sub(rf"^\| {re.escape(row.name)} \|.*$", lambda _, line=line: line, page, flags=re.MULTILINE)
    PAGE.write_text(page, encoding="utf-8")
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
