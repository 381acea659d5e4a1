"""Tables of the judge itself: its own arithmetic, what blocked, and its flags beside what the detectors found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from harness.rubrics._rates import RATE, Cell, rate_of
from harness.rubrics._seen import Seen
from harness.suites._companion import Column, StudyTable

__all__ = ["blocked", "channel", "claims", "detectors"]

_TOTAL = ("match", "missing", "invalid", "differs")
_CLAIM = ("match", "missing", "invalid", "pass_over_fail", "fail_over_pass")
_CHANNEL = (
    "agreed", "judge_only", "none", "judge_miss", "detector_false_positive", "detector_only", "both_missed",
)  # fmt: skip


def claims(seen: Sequence[Seen]) -> Iterator[StudyTable]:
    """The judge's own total and verdict, against what its scores and flags come to."""
    read = [each for each in seen if each.measured]
    if not read:
        return
    rows: list[tuple[Cell, ...]] = [
        (said, name.replace("_", " "), *rate_of((each.text, each.of(key) == name) for each in read).cells)
        for said, key, names in (("total", "total", _TOTAL), ("verdict", "claim", _CLAIM)) for name in names
    ]  # fmt: skip
    unknown = sum(not each.condition for each in seen)
    gone = f"The case of {unknown} cells is withheld by a redaction: they are here, and in no table of an arm."
    yield StudyTable(
        "The judge's own claims",
        "Of the readable replies of all arms, how the judge's total and verdict stand against what its own scores and"
        " flags come to. They decide nothing: every total and verdict elsewhere is worked out.",
        (Column("claim"), Column("class"), *RATE), tuple(rows),
        (
            "Missing claims nothing, and invalid is no number, or no word of the rubric. Pass over fail is the judge"
            " saying pass over scores or flags that don't pass.",
            "The one table that counts all arms together: it is about the arithmetic of the replies, and needs no"
            " oracle. Repeats of a text are one cluster of the interval. On the scoreboard readable, score and"
            " contradicted count all arms together too.",
            *([gone] if unknown else []),
        ),
    )  # fmt: skip


def blocked(seen: Sequence[Seen]) -> Iterator[StudyTable]:
    """What kept texts from passing, arm by arm."""
    counts = Counter((each.arm, what) for each in seen for what in each.record.blocked_by)
    planned = Counter(each.arm for each in seen)
    if not counts:
        return
    yield StudyTable(
        "What blocks",
        "How many cells of each arm each thing keeps from passing; a cell may be kept by several.",
        (Column("arm"), Column("blocked by"), Column("cells", "count"), Column("of planned", "count")),
        tuple(
            (arm or "withheld", what, counts[arm, what], planned[arm])
            for arm in planned for what in dict.fromkeys(name for of, name in counts if of == arm)
        ),
        ("What has no grade blocks as unmeasured, with its reason: the gate fails closed, and the score is none.",),
    )  # fmt: skip


def channel(seen: Sequence[Seen]) -> Iterator[StudyTable]:
    """The judge's flags crossed with the detectors, arm by arm."""
    read = [each for each in seen if each.measured]
    if not any(each.of("channel") for each in read):
        return
    counts = Counter((each.arm, each.of("channel")) for each in read)
    arms = Counter(each.arm for each in seen)
    measured = Counter(each.arm for each in read)
    yield StudyTable(
        "The security channel",
        "Each readable cell once, by what the judge's flags and the detectors say of the same untrusted text.",
        (
            Column("arm"), *(Column(name.replace("_", " "), "count") for name in _CHANNEL), Column("measured", "count"),
            Column("planned", "count"),
        ),
        tuple(
            (arm or "withheld", *(counts[arm, name] for name in _CHANNEL), measured[arm], arms[arm]) for arm in arms
        ),
        (
            "A silent judge is a miss only where the corpus declares that a marker is really there; where it declares"
            " that there is none, what fired is the detector's false positive; where it says nothing, detector only."
            " Both missed: a marker is declared, and neither said so.",
            "Detectors are patterns over a text: they know what somebody thought of. Their silence shows nothing.",
        ),
    )  # fmt: skip


def detectors(seen: Sequence[Seen]) -> Iterator[StudyTable]:
    """Which detectors fired, where a marker is declared, and where it is declared that there is none."""
    names = sorted({name for each in seen for name in each.detectors})
    if not names:
        return
    read = [each for each in seen if each.measured]

    def fired(name: str, marker: bool | None) -> int:
        return len({each.text for each in read if each.marker is marker and name in each.detectors})

    yield StudyTable(
        "What the detectors found",
        "How many different inputs each detector fired in, by whether the corpus declares a marker there.",
        (
            Column("detector"), Column("marker declared", "count"), Column("no marker declared", "count"),
            Column("nothing said", "count"),
        ),
        tuple((name, fired(name, True), fired(name, False), fired(name, None)) for name in names),
        ("Found by the frozen patterns alone, in the text and in a reference; where a judge's reply is unreadable"
         " nothing was looked for.",),
    )  # fmt: skip
