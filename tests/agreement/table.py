"""The results of ``make agree`` as a table."""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path

VERDICTS = ("agree", "ok-but-raises", "broken-but-runs", "fault", "crash", "not-judged")


def table(files: list[Path]) -> str:
    """Programs by verdict, one row a file, and the groups that disagree."""
    lines = ["| programs | all | " + " | ".join(VERDICTS) + " | of these run |", "|---|---|" + "---|" * (len(VERDICTS) + 1)]
    apart: collections.Counter[tuple[str, str, str]] = collections.Counter()
    for file in files:
        found = [json.loads(line) for line in file.read_text().splitlines()]
        counts = collections.Counter(one["verdict"] for one in found)
        runs = sum(not one.get("real") for one in found)
        lines.append(f"| {file.stem} | {len(found)} | " + " | ".join(str(counts[name]) for name in VERDICTS) + f" | {runs} |")
        apart.update((file.stem, one["group"], one["verdict"]) for one in found if one["verdict"] not in ("agree", "not-judged"))
    lines += ["", *(f"- {where}: {group} {verdict} ({times})" for (where, group, verdict), times in apart.most_common())]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table([Path(name) for name in sys.argv[1:]]))
