"""Collects the sentences that a user can read, to review them, to draw some, and to check their style.

- ``--write`` makes ``tests/sentences.txt``: every text in the source of the package and of the front end, and what the rules' examples report.
- ``--draw 60 --seed 1`` prints sentences at random: from findings, fixes, errors, ``explain``, help and docs.
- ``--style`` prints each sentence that breaks a rule of ``docs/writing.md`` which a program can check.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "jupyter_tpushape"
SNAPSHOT = ROOT / "tests" / "sentences.txt"
HOLE = "…"

# What is no prose: patterns, programs, and the sources of what is known.
_CODE_MODULES = {"rules/examples.py"}
_CODE_KEYWORDS = {"fails", "passes", "source", "pattern", "example"}
_PATTERNS = {"compile", "search", "match", "fullmatch", "sub", "findall", "finditer", "split", "get_logger", "getLogger", "import_module", "parse_module"}
_PROSE = re.compile(r"[A-Za-z…'][\w…'-]*,? [a-z…][\w…'-]*,? [\w…('`]")
_COMMON = {"the", "a", "an", "is", "are", "of", "to", "in", "for", "it", "and", "or", "not", "with", "on", "by", "as", "that", "this", "be", "has", "have"}
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`(…])")
_REGEX = re.compile(r"\(\?P?[<:!=]|\\[dswbS.(\[]|\.\*|\[\^")

LONGEST = 35
LONGEST_IN_DOCS = 60
# What docs may say where it is plain, and a message of one line may not.
IN_MESSAGES = {
    r"\bof (?:its|your|the user's|their) own\b": "custom, separate",
    r"\bin front of\b": "before",
    r"\bbehind\b": "after",
    r"\bstands?\b": "is",
    r"\bmeets?\b": "is combined with, finds",
}
INSTEAD = {
    r"\bof (?:your|the user's) own\b": "custom",
    r"\banew\b": "again",
    r"\bcrosswise\b": "broadcast",
    r"\b(?:is|are|was|were) made (?:anew|again|outside|inside)\b": "created, built",
    r"\btried,? and holds\b": "re-run and works",
    r"\bclass numbers?\b": "class index, integer label",
    r"\bone-hot rows?\b": "one-hot vector",
    r"\bmakes? NaN\b": "produces NaN",
    r"\btorn apart\b": "split",
    r"\bahead of\b": "before",
    r"\basked of\b": "requested from",
    r"\bwants? another\b": "expects a different",
    r"\banother number of\b": "a different number of",
    r"\bnumber of axes\b": "rank, number of dimensions",
    r"\b(?:colou?r|behaviou?r|favou?r)\w*\b": "American spelling",
    r"\b\w+is(?:e|ed|es|ing|ation)\b": "American spelling",
    r"\bcentred?\b": "center",
    r"\bwhole numbers?\b": "integers",
    r"\bat hand\b": "available",
    r"\bthe door\b": "the input",
    r"\bthe room of\b": "the space of",
    r"\bwithout a word\b": "silently",
    r"\blaid out otherwise\b": "has a different layout",
    r"\botherwise than\b": "differently from",
    r"\bdealt?\b": "distributed",
    r"\btells? (?:apart|of)\b": "distinguishes, reports",
    r"\btold of\b": "reported",
}
_RIGHT_S = re.compile(
    r"(?i)\b(?:color\w*|behavior\w*|favor\w*|otherwise|precise|raised?|raises|raising|likewise|exercise\w*|wise|noised?|noise|promise\w*|advise\w*|supervised?|comprised?"
    r"|rises?|rising|advertise\w*|revised?|disguise|compromise|expertise|concise|premise|surprise\w*|rise|arises?|arising|phrased?|element-?wise|stepwise|pairwise|bitwise|pointwise"
    r"|depthwise|praise|devise|enterprise|merchandise|franchise|paradise|demise|excise|cruise|bruise|poise|turquoise|tortoise|bisect|list(?:ed|ing)?|exist(?:s|ed|ing)?|denoise\w*)\b"
)


def _docstrings(tree: ast.AST) -> set[int]:
    """The nodes of docstrings and of other strings that stand alone."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr))}


def _text(node: ast.AST) -> str | None:
    """A literal's text, with ``…`` for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else HOLE for part in node.values)
    return None


def _literals(node: ast.AST, skipped: set[int]) -> Iterator[str]:
    """Every literal below ``node`` that may be prose."""
    if id(node) in skipped:
        return
    text = _text(node)
    if text is not None:
        yield text
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    yield from _literals(part.value, skipped)
        return
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _PATTERNS:
            return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword) and child.arg in _CODE_KEYWORDS:
            continue
        if isinstance(child, ast.Subscript) and getattr(child.value, "id", "") == "Literal":
            continue
        yield from _literals(child, skipped)


def is_prose(text: str) -> bool:
    """Whether a literal reads as words: neither a program nor a pattern."""
    text = text.strip()
    words = text.split()
    # Lists of names, and scripts of a shell.
    if "$(" in text or (len(words) > 12 and not _COMMON & set(words)):
        return False
    if not _PROSE.search(text) or _REGEX.search(text) or text.count("\n") > 30:
        return False
    try:
        tree = ast.parse(text.replace(HOLE, "_"))
    except (SyntaxError, ValueError):
        return not re.match(r"(?:def|class|import|from \w+ import|@|<\w+|\.|--)", text)
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) for node in tree.body)


def written() -> dict[str, list[str]]:
    """Every text in the package's and the front end's source, by file."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place in _CODE_MODULES or "/static/" in place or "/labextension/" in place:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [" ".join(text.split()) for text in _literals(tree, _docstrings(tree)) if is_prose(text)]
        if texts:
            found[f"jupyter_tpushape/{place}"] = list(dict.fromkeys(texts))
    for path in sorted((ROOT / "src").rglob("*.ts*")):
        if ".test." in path.name or "/testing/" in path.as_posix() or path.name.endswith(".d.ts"):
            continue
        code = re.sub(r"/\*(?s:.*?)\*/|(?m:^\s*//.*$)|\s//\s.*", "", path.read_text(encoding="utf-8"))
        texts = []
        for quoted in re.findall(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`", code):
            text = " ".join(re.sub(r"\$\{(?:[^{}]|\{[^{}]*\})*\}", HOLE, quoted[1:-1]).split())
            if is_prose(text) and not re.search(r"[{};]|=>|^[MLCQ] ?[\d…]|px|\bvar\(|\bjp-|^[\W A-Z]*$|^(?:node|label) .*…$", text):
                texts.append(text)
        if texts:
            found[path.relative_to(ROOT).as_posix()] = list(dict.fromkeys(texts))
    return found


def reported() -> dict[str, list[str]]:
    """What each rule's failing example reports: message, reason, and its fixes with what they keep."""
    sys.path.insert(0, str(ROOT / "tests"))
    import programs

    import jupyter_tpushape as tpushape

    found: dict[str, list[str]] = {}
    for rule in tpushape.rules():
        lines = [rule.title, *(_SENTENCE.split(" ".join(rule.doc.split())) if rule.doc else [])]
        if not rule.compiler and not rule.backend:
            for finding in [one for one in programs.reported(rule.id).findings if one.rule == rule.id][:1]:
                lines += [finding.message, *_SENTENCE.split(finding.why)]
                for fix in finding.fixes:
                    lines += [fix.title, *_SENTENCE.split(fix.reason)]
        found[rule.id] = [re.sub(rf"(?:/example/)?\b{rule.id}\.py", "example.py", line) for line in dict.fromkeys(lines) if line]
    return found


def documented() -> Iterator[str]:
    """The sentences of README and docs, without code, tables and what is generated."""
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = re.sub(r"(?s)```.*?```|<!--.*?-->", "", path.read_text(encoding="utf-8"))
        for block in re.split(r"\n\s*\n", text):
            if re.match(r"\s*[|#!]", block) or path.name == "writing.md":
                continue
            for item in re.split(r"\n\s*(?:[-*]|\d+\.)\s+", "\n" + block):
                for sentence in _SENTENCE.split(" ".join(item.split())):
                    if len(sentence.split()) > 3:
                        yield sentence


def sentences(text: str) -> list[str]:
    """A text cut into sentences."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def faults(sentence: str, *, docs: bool = False) -> list[str]:
    """Which rules of ``docs/writing.md`` a sentence breaks, as far as a program sees it. Code and quoted messages are not read."""
    plain = re.sub(r"`[^`]*`|\"[^\"]*\"|'[^' ][^']*'", "x", sentence)
    longest, found = LONGEST_IN_DOCS if docs else LONGEST, []
    if len(plain.split()) > longest:
        found.append(f"{len(plain.split())} words; at most {longest}")
    for pattern, instead in {**INSTEAD, **({} if docs else IN_MESSAGES)}.items():
        hits = [hit.group() for hit in re.finditer(pattern, plain)]
        found += [f"{hit!r}: {instead}" for hit in hits if instead != "American spelling" or not _RIGHT_S.fullmatch(hit)]
    return found


def style() -> list[str]:
    """Every sentence that breaks a rule, with where it is and what is wrong."""
    broken = []
    for place, texts in [*written().items(), ("docs", list(documented()))]:
        for sentence in (one for text in texts for one in sentences(text)):
            broken += [f"{place}: {fault}\n    {sentence}" for fault in faults(sentence, docs=place == "docs")]
    return broken


def snapshot() -> str:
    """The whole of ``tests/sentences.txt``."""
    parts = ["Every text that a user can read. Made by: python scripts/sentences.py --write"]
    for title, found in (("Reported by the rules' examples", reported()), ("Written in the source", written())):
        parts.append(f"\n# {title}")
        for place, texts in found.items():
            parts.append(f"\n## {place}")
            parts += texts
    return "\n".join(parts) + "\n"


def drawn(count: int, seed: int) -> list[str]:
    """Sentences at random, half of them from what rules report, the rest from source and docs."""
    pick = random.Random(seed)
    groups = [
        sorted({one for texts in reported().values() for one in texts if len(one.split()) > 2}),
        sorted({one for place, texts in written().items() for text in texts for one in sentences(text) if len(one.split()) > 3}),
        sorted(set(documented())),
    ]
    shares = (count // 2, count // 4, count - count // 2 - count // 4)
    return [one for group, share in zip(groups, shares, strict=True) for one in pick.sample(group, share)]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write tests/sentences.txt")
    parser.add_argument("--draw", type=int, metavar="N", help="print N sentences at random")
    parser.add_argument("--seed", type=int, default=1, help="the seed of --draw")
    parser.add_argument("--style", action="store_true", help="print the sentences that break the style")
    options = parser.parse_args()
    if options.write:
        SNAPSHOT.write_text(snapshot(), encoding="utf-8")
    if options.draw:
        print("\n".join(f"{number:3}. {one}" for number, one in enumerate(drawn(options.draw, options.seed), 1)))
    if options.style:
        broken = style()
        print("\n".join([*broken, f"{len(broken)} faults of style"]))
        return 1 if broken else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
