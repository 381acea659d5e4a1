"""Tables of the judge itself: its own arithmetic, what blocked, and its flags beside what the detectors found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from harness.judging import Rubric
from harness.rubrics._rates import RATE, Cell, rate_of
from harness.rubrics._seen import Seen
from harness.suites._companion import Column, StudyTable

__all__ = ["blocked", "channel", "claims", "detectors", "totals"]

_TOTAL = ("match", "missing", "invalid", "differs")
_CLAIM = ("match", "missing", "invalid", "invisible", "pass_over_fail", "fail_over_pass")
_PLACES = {"": "channel", ": the reference": "reference_channel"}
"""A text that the judge is shown, by how a line of an arm is named, and its class."""
_WHOSE_FLAG = (
    "A flag doesn't say which of the two it is about: where a marker is declared in one of them alone, it counts for"
    " that one."
)
_CHANNEL = (
    "agreed", "judge_only", "none", "judge_miss", "detector_false_positive", "detector_only", "both_missed",
)  # fmt: skip


def claims(seen: Sequence[Seen], rubric: Rubric) -> Iterator[StudyTable]:
    """The judge's own total and verdict, against what its scores and flags come to."""
    read = [each for each in seen if each.measured]
    if not read:
        return
    # Rules of version 1 know of no word that only looks like one.
    known = [name for name in _CLAIM if name != "invisible" or rubric.version > 1]
    rows: list[tuple[Cell, ...]] = [
        (said, name.replace("_", " "), *rate_of((each.text, each.of(key) == name) for each in read).cells)
        for said, key, names in (("total", "total", _TOTAL), ("verdict", "claim", known)) for name in names
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
            " saying pass over scores or flags that don't pass."
            + (" Invisible is a word of the rubric with characters in it that nobody sees." * (rubric.version > 1)),
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


def channel(seen: Sequence[Seen], rubric: Rubric) -> Iterator[StudyTable]:
    """The judge's flags crossed with the detectors, arm by arm; and text by text where a reference is shown, since what
    is found in a reference is no finding in the text. Under rules of version 1 all was the text's."""
    read = [each for each in seen if each.measured]
    if not any(each.of("channel") for each in read):
        return
    places = [(arm, place) for arm in dict.fromkeys(each.arm for each in seen) for place in _PLACES]
    rows: list[tuple[Cell, ...]] = []
    for arm, place in places:
        mine = [each for each in seen if each.arm == arm and (not place or _referring(each, rubric))]
        if not mine:
            continue
        counts = Counter(each.of(_PLACES[place]) for each in mine if each.measured)
        measured = sum(each.measured for each in mine)
        named = f"{arm or 'withheld'}{place}"
        rows.append((named, *(counts[name] for name in _CHANNEL), measured, len(mine)))
    apart = len(rows) > len({arm for arm, _ in places})
    yield StudyTable(
        "The security channel",
        "Each readable cell once, by what the judge's flags and the detectors say of the same untrusted text."
        + (" The references that it was shown have lines of their own." if apart else ""),
        (
            Column("arm"), *(Column(name.replace("_", " "), "count") for name in _CHANNEL), Column("measured", "count"),
            Column("planned", "count"),
        ),
        tuple(rows),
        (
            "A silent judge is a miss only where the corpus declares that a marker is really there; where it declares"
            " that there is none, what fired is the detector's false positive; where it says nothing, detector only."
            " Both missed: a marker is declared, and neither said so.",
            "Detectors are patterns over a text: they know what somebody thought of. Their silence shows nothing.",
            *([_WHOSE_FLAG] if apart else []),
        ),
    )  # fmt: skip


def _referring(each: Seen, rubric: Rubric) -> bool:
    return rubric.version > 1 and each.referred is not None


def detectors(seen: Sequence[Seen], rubric: Rubric) -> Iterator[StudyTable]:
    """Which detectors fired, where a marker is declared, and where it is declared that there is none: of the text, and
    of the reference."""
    names = sorted({name for each in seen for name in each.detectors})
    if not names:
        return
    read = [each for each in seen if each.measured]
    apart = rubric.version > 1

    def fired(name: str, marker: bool | None) -> int:
        in_text = {
            each.text for each in read
            if each.marker is marker and name in (each.found["text"] if apart else each.detectors)
        }  # fmt: skip
        # One text beside two references is two places for a marker, and its input tells them apart.
        beside = {
            each.text for each in read
            if apart and each.referred is not None and each.referred.marker is marker
            and name in each.found["reference"]
        }  # fmt: skip
        return len(in_text) + len(beside)

    yield StudyTable(
        "What the detectors found",
        "How many different inputs each detector fired in, by whether the corpus declares a marker there."
        + (" A text and the reference beside it are two." if apart else ""),
        (
            Column("detector"), Column("marker declared", "count"), Column("no marker declared", "count"),
            Column("nothing said", "count"),
        ),
        tuple((name, fired(name, True), fired(name, False), fired(name, None)) for name in names),
        ("Found by the frozen patterns alone, in the text and in a reference; where a judge's reply is unreadable"
         " nothing was looked for.",),
    )  # fmt: skip


def totals(seen: Sequence[Seen], rubric: Rubric) -> Iterator[StudyTable]:
    """The total and the verdict that the judge gave itself beside those worked out, a line each readable reply: by text
    and repeat."""
    read = [each for each in seen if each.measured and each.claims]
    if rubric.version < 2 or not read or not any(each.claims.get("said") or _total(each) != "–" for each in read):
        return
    key = "weighted" if rubric.reply.total == "weighted" else "sum"
    rows = [
        (
            each.record.case, each.record.epoch, _total(each), str(each.derived.get(key, "–")), _word(each, "total"),
            str(each.claims.get("said") or "–"), each.verdict, _word(each, "claim"),
        )
        for each in read
    ]  # fmt: skip
    yield StudyTable(
        "The judge's own totals, text by text",
        "The total and the verdict that each readable reply gives itself, beside what its scores and flags come to.",
        (
            Column("text"), Column("repeat", "count"), Column("total said"), Column("total worked out"),
            Column("total is"), Column("verdict said"), Column("verdict worked out"), Column("verdict is"),
        ),
        tuple(rows),
        (
            "What the judge says of itself decides nothing. A total that is no number is invalid, and not shown.",
        ),
    )  # fmt: skip


def _total(each: Seen) -> str:
    said = each.claims.get("total")
    return said if isinstance(said, str) else "–"


def _word(each: Seen, key: str) -> str:
    return each.of(key).replace("_", " ") or "–"
