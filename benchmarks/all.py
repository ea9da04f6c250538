"""All benchmarks, one after the other, and their sections of docs/benchmarks.md written anew: ``python benchmarks/all.py [name ...]``.

A section of the page stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; the words around the tables stay.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
PARTS: dict[str, list[str]] = {
    "trace": ["trace.py", "--repeat", "3"],
    "recorder": ["recorder.py", "--pairs", "7"],
    "imports": ["imports.py", "--repeat", "7"],
    "growth": ["growth.py"],
    "repair": ["repair.py"],
    "lab": ["lab.py"],
    "compilers": ["compilers.py"],
    "verdicts": ["verdicts.py"],
    "reported": ["reported.py"],
    "meshes": ["meshes.py", "small"],
    "meshes-large": ["meshes.py", "1B", "7B"],
    "layout": ["view/layout.py"],
    "paint": ["view/paint.py", "--real"],
}


def rows(text: str) -> str:
    """The tables in what a benchmark prints."""
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))


def main(names: list[str]) -> int:
    """Runs the parts that are named, or all; a part that fails leaves its section as it was and is named."""
    failed = []
    unknown = set(names) - PARTS.keys()
    if unknown:
        print(f"There is no benchmark {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    for name, (script, *options) in PARTS.items():
        if names and name not in names:
            continue
        start = time.perf_counter()
        done = subprocess.run([sys.executable, str(HERE / script), *options], stdout=subprocess.PIPE, text=True, check=False)
        table = rows(done.stdout)
        if done.returncode or not table:
            failed.append(name)
            continue
        said = f"\n{table}\n\nMeasured {time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {time.perf_counter() - start:.0f} s.\n"
        page = PAGE.read_text(encoding="utf-8")
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not pattern.search(page):
            page += f"\n## {name}\n\n`python benchmarks/{' '.join(PARTS[name])}`\n\n<!-- begin {name} -->\n<!-- end {name} -->\n"
        PAGE.write_text(pattern.sub(lambda match, said=said: match[1] + said + "\n" + match[2], page), encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    if failed:
        print(f"Failed: {', '.join(failed)}. Their sections of docs/benchmarks.md are as they were.", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
