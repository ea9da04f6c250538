"""Judges programs and keeps what came of each, so that a run goes on where it was stopped.

``python -m agreement.run OUT --framework keras --kind layers --count 2500`` from the folder of the tests; another ``--seed`` draws other programs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def cases(lib: Any, kind: str, seed: int) -> Any:
    """The programs of one kind, without an end."""
    if kind == "layers":
        from .layers import cases as made
    else:
        from .grammar import cases as made
    return made(lib, range(seed, seed + 1_000_000))


def work(out: Path, framework: str, kind: str, count: int, only: str, seed: int) -> int:
    """Judges the programs that the file has no line for yet."""
    import importlib

    from .judge import judge

    lib = importlib.import_module(framework)
    done = sum(1 for _ in out.open()) if out.exists() else 0
    with out.open("a") as file:
        for number, case in enumerate(cases(lib, kind, seed)):
            if number >= count:
                return 0
            if number < done or only not in case.name:
                continue
            begun = time.perf_counter()
            # A crash of the process leaves this line behind, and the next process goes on after it.
            place = file.tell()
            file.write(json.dumps({"group": case.group, "name": case.name, "verdict": "crash"}) + "\n")
            file.flush()
            found = judge(lib, case).plain()
            file.seek(place)
            file.truncate()
            file.write(json.dumps({**found, "seconds": round(time.perf_counter() - begun, 3)}) + "\n")
            file.flush()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--framework", default="keras", choices=("keras", "tf_keras"))
    parser.add_argument("--kind", default="layers", choices=("layers", "programs"))
    parser.add_argument("--count", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=0, help="where the seeds begin")
    parser.add_argument("--only", default="", help="judge programs alone whose name has this in it")
    parser.add_argument("--worker", action="store_true")
    given = parser.parse_args()
    if given.worker:
        return work(given.out, given.framework, given.kind, given.count, given.only, given.seed)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    before = -1
    while True:
        code = subprocess.run([sys.executable, "-m", "agreement.run", *sys.argv[1:], "--worker"], check=False).returncode
        after = sum(1 for _ in given.out.open()) if given.out.exists() else 0
        if code == 0 or after == before:
            return code
        before = after


if __name__ == "__main__":
    sys.exit(main())
