"""Runs the code blocks of the docs, page by page, in an empty folder.

- Python blocks run as cells of one notebook. Commands that begin with ``tpushape`` run in the page's folder if the files that they name are there; all are parsed.
- A ``text`` block right behind a block is its output: ``--write`` puts it in, and a test compares it.
- A comment in front of a block says what is special: ``<!-- file: train.py -->`` saves it, ``<!-- raises -->`` expects an error, ``<!-- skip: why -->`` and
  ``<!-- jax -->`` only read it. ``<!-- setup ... -->`` holds code that a reader does not need to see.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    *(f"docs/{name}.md" for name in ("index", "tutorial-fix", "tutorial-tpu", "tutorial-mesh", "journeys", "ci", "steps", "meshes", "compilers", "jax")),
]
_BLOCK = re.compile(r"(?ms)^<!-- setup\n(?P<setup>.*?)^-->|(?:^<!-- (?P<said>[^\n]*?) -->\n)?^(?P<indent> *)```(?P<kind>\w*)\n(?P<code>.*?)^ *```$")
_RUN = {"check", "explain", "rules", "targets"}


@dataclass
class Block:
    """A fenced block: its kind, its code, what the comment in front of it says, and where its code stands in the page."""

    kind: str
    code: str
    said: str
    start: int
    end: int


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page in order."""
    for found in _BLOCK.finditer(text):
        if found["setup"] is not None:
            yield Block("python", found["setup"], "", found.start("setup"), found.end("setup"))
        else:
            yield Block(found["kind"], found["code"], found["said"] or "", found.start("code"), found.end("code"))


def commands(code: str) -> list[list[str]]:
    """The commands of a shell block that are ours, as arguments."""
    lines = [line for line in code.replace("\\\n", " ").splitlines() if re.match(r"tpushape [a-z-]", line)]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def parse(arguments: list[str]) -> None:
    """Reads a command as the command line does.

    Raises:
        SystemExit: where it would be refused.
    """
    from jupyter_tpushape.cli import command_line

    command_line().parse_args(arguments)


def forget() -> None:
    """Layers are numbered from the start, as in a process of its own."""
    keras = sys.modules.get("keras")
    if keras is not None:
        keras.backend.clear_session()


class Page:
    """One page's blocks, run in a folder of their own."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder, self.text = path, folder, path.read_text(encoding="utf-8")
        self.outputs: dict[int, str] = {}

    def run(self) -> None:
        """Runs the page.

        Raises:
            AssertionError: where a block fails that should not, or does not that should.
        """
        from IPython.core.interactiveshell import InteractiveShell

        import jupyter_tpushape as tpushape

        here, before = Path.cwd(), list(sys.path)
        InteractiveShell.clear_instance()
        shell = InteractiveShell.instance(colors="nocolor")
        forget()
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder))
        try:
            last = ""
            for block in blocks(self.text):
                if block.kind == "text":
                    self.outputs[block.start] = last
                else:
                    last = self._block(shell, block)
        finally:
            os.chdir(here)
            sys.path[:] = before
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None) or "").startswith(str(self.folder)):
                    del sys.modules[name]
            tpushape.unload_ipython_extension(shell)
            InteractiveShell.clear_instance()

    def _block(self, shell: Any, block: Block) -> str:
        if block.said.startswith("file: "):
            (self.folder / block.said.removeprefix("file: ")).write_text(block.code, encoding="utf-8")
            return ""
        if block.kind == "python" and not block.said.startswith(("skip: ", "jax")):
            return self._cell(shell, block)
        if block.kind == "python":
            ast.parse(re.sub(r"(?m)^(\s*)%.*", r"\1pass", block.code))
            return ""
        said = ""
        for arguments in commands(block.code):
            parse(arguments)
            if block.kind == "" and not block.said and arguments[:1] and arguments[0] in _RUN and self._there(arguments):
                said += self._command(arguments)
        return said

    def _there(self, arguments: list[str]) -> bool:
        """Whether the files that a command names are in the folder."""
        files = [part.split(":")[0] for part in arguments[1:] if re.match(r"[\w./-]+\.(?:py|ipynb|keras|h5)\b", part)]
        return all((self.folder / file).exists() for file in files) and (bool(files) or arguments[0] != "check")

    def _command(self, arguments: list[str]) -> str:
        from jupyter_tpushape.cli import main

        forget()
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = main(arguments)
        assert code in (0, 1), f"{self.path.name}: tpushape {' '.join(arguments)} ends with {code}"
        # The time of a trace is the one thing that is another in each run.
        return re.sub(r"\b\d{4}-\d\d-\d\d(\s)\d\d:\d\d\b", r"2026-11-23\g<1>09:30", out.getvalue())

    def _cell(self, shell: Any, block: Block) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            result = shell.run_cell(block.code, store_history=True)
        assert result.success != (block.said == "raises"), f"{self.path.name}: {block.code}\n{result.error_in_exec or result.error_before_exec or 'no error'}"
        return out.getvalue()

    def written(self) -> str:
        """The page with its outputs as they are now."""
        text = self.text
        for start, output in sorted(self.outputs.items(), reverse=True):
            end = next(block.end for block in blocks(self.text) if block.start == start)
            text = text[:start] + output.strip("\n") + "\n" + text[end:]
        return text


def main() -> int:
    """The command."""
    os.environ["COLUMNS"] = "100"
    changed = []
    for name in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            page = Page(ROOT / name, Path(folder))
            page.run()
        if page.written() != page.text:
            changed.append(name)
            if "--write" in sys.argv:
                page.path.write_text(page.written(), encoding="utf-8")
    print("\n".join(changed) or "every block runs, and the outputs are up to date")
    return 1 if changed and "--write" not in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
