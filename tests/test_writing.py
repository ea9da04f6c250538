"""What a user reads is written as docs/writing.md says."""

from __future__ import annotations

import re

import pytest
from scripts_here import script

sentences = script("scripts/sentences.py")


def test_no_sentence_breaks_the_rules_that_a_program_can_check():
    broken = sentences.style()
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("sentence", "broken"),
    [
        ("The labels are class numbers.", True),
        ("This is the behaviour of a normalised layer.", True),
        ("A layer of your own raises.", True),
        ("It stands in front of dense.", True),
        ("One two three four five six seven eight nine ten " * 4 + ".", True),
        ("dense was built for a last dimension of 5, but x has 3.", False),
        ("Otherwise the precise size is raised element-wise.", False),
        ("Keras says `a layer of your own behind it`.", False),
    ],
)
def test_a_sentence_is_judged_by_its_words(sentence, broken):
    assert bool(sentences.faults(sentence)) == broken


def test_titles_of_fixes_are_instructions():
    """The first word of each title that a maker or an edit writes is a verb in the imperative."""
    titles = [
        text
        for place, texts in sentences.written().items()
        if place.startswith("jupyter_tpushape/repair/makers/")
        for text in texts
        if re.match(r"[A-Z]", text) and not text.endswith((".", "?"))
    ]
    assert len(titles) > 100
    wrong = [title for title in titles if title.split()[0].rstrip(",:") not in VERBS and not title.startswith(sentences.HOLE)]
    assert not wrong, "\n".join(wrong)


VERBS = frozenset(
    """
    Accept Add Apply Average Batch Build Cache Call Cast Change Choose Compare Compile Compute Concatenate Convert Count Create Crop Declare Divide Drop
    Expand Feed Flatten Give Group Initialize Insert Join Keep Leave Let Look Make Map Mask Merge Move Name Normalize Number
    Output Pad Pass Pool Predict Project Put Read Register Remove Rename Repeat Replace Reshape Resize Restore Return Run Scale
    Select Set Shard Sort Span Split Squeeze Stack Start Store Sum Swap Take Transpose Treat Undo Unpack Upsample Use Watch Wrap
    Write Yield
    """.split()  # noqa: SIM905
)
