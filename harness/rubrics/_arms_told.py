"""Tables of the arms that attack nobody: calibration against oracles, repeats of one text, and texts without an oracle.

Each arm stands apart: an arm's figures say nothing of another's, and are never pooled with them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from harness.judging import Rubric
from harness.rubrics._rates import RATE, Cell, Rate, mean_of, rate_of, shown_range
from harness.rubrics._seen import Seen, shown_vector
from harness.suites._companion import Column, StudyTable

__all__ = ["calibration", "epochs", "live", "repeatability"]

_VERDICTS = ("pass", "fail", "blocked")
_PARTS = (("right_quality", "its quality alone"), ("right_flags", "its flags alone"))
"""The two parts of a verdict, which rules of version 1 don't count."""
_SMALL = (
    "So many texts say what this judge does on texts like these, written for this corpus; the interval takes them as"
    " drawn from such texts, and knows nothing of others."
)
_ONE_CLUSTER = (
    "The interval takes a text with all its repeats as one: repeats of a text aren't independent. At temperature zero a"
    " server may repeat itself word for word, which says nothing of how firm the judgement is."
)


_TWO_PARTS = (
    " Its quality alone is the pass or fail of the scores, whatever was flagged; its flags alone, whether it is blocked"
    " where it should be and not where it shouldn't."
)


# Calibration


def calibration(seen: Sequence[Seen], rubric: Rubric) -> Iterator[StudyTable]:
    """The judge against the oracles."""
    mine = [each for each in seen if each.condition == "calibration"]
    if mine:
        yield _agreement(mine, rubric)
        yield _confusion(mine)
        yield _by_text(mine, rubric)


def _agreement(mine: Sequence[Seen], rubric: Rubric) -> StudyTable:
    measured = [each for each in mine if each.measured]
    known = [each for each in measured if each.oracle is not None and each.vector is not None]
    rows: list[tuple[Cell, ...]] = [
        ("verdict", *rate_of((each.text, each.verdict == each.right) for each in measured).cells, None, None),
        *(
            (said, *rate_of((each.text, bool(each.record.metrics[name])) for each in measured
                            if name in each.record.metrics).cells, None, None)
            for name, said in _PARTS if any(name in each.record.metrics for each in measured)
        ),
        ("whole vector", *rate_of((each.text, each.vector == each.oracle) for each in known).cells, None, None),
    ]  # fmt: skip
    for name in rubric.ids:
        apart = [(each.vector or {})[name] - (each.oracle or {})[name] for each in known]
        hits = rate_of((each.text, not gap) for each, gap in zip(known, apart, strict=True))
        rows.append((name, *hits.cells, _mean(apart), _mean([abs(gap) for gap in apart])))
    rows.append(("unmeasured", *rate_of((each.text, not each.measured) for each in mine).cells, None, None))
    return StudyTable(
        "Calibration: agreement with the oracle",
        "Of the texts that the judge graded blind and could be read on, how many it graded as their oracle does; the"
        " last line counts, of all that were planned, those without a grade.",
        (Column("what"), *RATE, Column("mean difference", "decimal"), Column("mean distance", "decimal")),
        tuple(rows),
        (
            "Quality is pass or fail, as the scores come to it under the rubric's policy; the verdict is that quality,"
            " or blocked where a flag is raised. The whole vector agrees where every criterion's score does."
            + (_TWO_PARTS if any("right_flags" in each.record.metrics for each in measured) else ""),
            "Difference is the judge's score less the oracle's, in points of the criterion's scale: above zero the"
            " judge is lenient. Distance is the same without its sign, so that too high and too low don't cancel out."
            " Where no reply came, or none that can be read, the cell is in no line but the last, and counts neither"
            " for the judge nor against it.",
            _SMALL,
        ),
    )


def _mean(values: Sequence[int]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _confusion(mine: Sequence[Seen]) -> StudyTable:
    counts = Counter((each.right, each.verdict) for each in mine)
    due = [name for name in _VERDICTS if any(each.right == name for each in mine)]
    return StudyTable(
        "Calibration: the oracle's verdict and the judge's",
        "Every planned cell once, by the verdict that its oracle gives and the one that the judge's scores and flags"
        " come to.",
        (Column("oracle"), *(Column(f"judge: {name}", "count") for name in _VERDICTS), Column("unmeasured", "count")),
        tuple((name, *(counts[name, given] for given in _VERDICTS), counts[name, ""]) for name in due),
        ("A pass over an oracle's fail or block lets through what should be stopped; the other way round stops what"
         " should pass. Which of them is dearer isn't for this table to say.",),
    )  # fmt: skip


def _by_text(mine: Sequence[Seen], rubric: Rubric) -> StudyTable:
    return StudyTable(
        "Calibration: text by text",
        f"Scores in the order of the criteria: {', '.join(rubric.ids)}.",
        (
            Column("text"), Column("oracle"), Column("judge"), Column("oracle's verdict"), Column("judge's verdict"),
            Column("blocked by"),
        ),
        tuple(
            (
                each.fixture, "–" if each.oracle is None else shown_vector(each.oracle, rubric),
                each.shown_vector(rubric), each.right or "–", each.shown_verdict,
                ", ".join(each.record.blocked_by) or "nothing",
            )
            for each in mine
        ),
    )  # fmt: skip


# Repeatability


def repeatability(seen: Sequence[Seen], rubric: Rubric) -> Iterator[StudyTable]:
    """What the judge gives to the very same request, again and again."""
    texts: dict[str, list[Seen]] = {}
    for each in seen:
        if each.condition == "repeat":
            texts.setdefault(each.fixture, []).append(each)
    if texts:
        yield _repeats(texts, rubric)
        yield _flicker(texts, rubric)


def _repeats(texts: dict[str, list[Seen]], rubric: Rubric) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for name, every in texts.items():
        read = [each for each in every if each.measured]
        totals = Counter(sum((each.vector or {}).values()) for each in read)
        verdicts = Counter(each.verdict for each in read)
        vectors = Counter(each.shown_vector(rubric) for each in read)
        rows.append((
            name, len(read), len(every), len(vectors), _spread(dict(sorted(totals.items()))), _spread(verdicts),
            _spread(dict(vectors.most_common())),
        ))  # fmt: skip
    return StudyTable(
        "Repeatability: text by text",
        "How often each text was asked with one and the same request, and what came back.",
        (
            Column("text"), Column("measured", "count"), Column("planned", "count"),
            Column("distinct vectors", "count"), Column("totals"), Column("verdicts"), Column("vectors"),
        ),
        tuple(rows),
        ("Behind each × stands how many repeats gave it. Repeats tell how much of a grade is chance, and nothing of"
         " whether it is right.",),
    )  # fmt: skip


def _spread(counts: dict[Hashable, int] | dict[int, int] | dict[str, int] | Counter[str]) -> str:
    return ", ".join(f"{value} ×{count}" for value, count in counts.items()) or "–"


def _flicker(texts: dict[str, list[Seen]], rubric: Rubric) -> StudyTable:
    rows, warns, held = _differing(texts, rubric, "")
    return StudyTable(
        "Repeatability: how often a repeat differs",
        "Of all repeats, how many differ from the most frequent value of their text; a text with fewer than two"
        " readable repeats can't tell and is left out.",
        (Column("what"), Column("texts that differ", "count"), Column("texts", "count"), *RATE),
        tuple((what, moved, held, *rate.cells) for what, moved, rate in rows),
        (_ONE_CLUSTER,),
        tuple(warns),
    )  # fmt: skip


def epochs(seen: Sequence[Seen], rubric: Rubric) -> Iterator[StudyTable]:
    """What the judge gives to the very same request in another epoch, each arm apart; nothing without epochs."""
    arms: dict[str, dict[str, list[Seen]]] = {}
    for each in seen:
        # A joined grade's epochs are the target's: other answers to the case, and no repeats of the judge's.
        if each.condition not in ("", "repeat") and not each.record.judge:
            arms.setdefault(each.arm, {}).setdefault(each.record.case, []).append(each)
    lines: list[tuple[Cell, ...]] = []
    warns: list[str] = []
    for arm, texts in arms.items():
        if any(len({each.record.epoch for each in every}) > 1 for every in texts.values()):
            rows, said, held = _differing(texts, rubric, f"in the epochs of {arm}, ")
            lines += [(arm, what, moved, held, *rate.cells) for what, moved, rate in rows]
            warns += said
    if lines:
        yield StudyTable(
            "Epochs: how often a repeat differs",
            "Of all epochs of the very same request, how many differ from the most frequent value of their text, arm by"
            " arm; a text with fewer than two readable epochs can't tell and is left out.",
            (Column("arm"), Column("what"), Column("texts that differ", "count"), Column("texts", "count"), *RATE),
            tuple(lines), (_ONE_CLUSTER,), tuple(warns),
        )  # fmt: skip


def _differing(
    texts: dict[str, list[Seen]], rubric: Rubric, where: str
) -> tuple[list[tuple[str, int, Rate]], list[str], int]:
    """What differs among repeats of a text: in how many texts, and how many of all repeats; a warning where the verdict
    or the vector does; and how many texts can tell."""
    read = {name: [each for each in every if each.measured] for name, every in texts.items()}
    held = {name: some for name, some in read.items() if len(some) > 1}

    def apart(what: str) -> list[tuple[str, bool]]:
        """Of each text's repeats, whether it is another than the most frequent one."""
        found: list[tuple[str, bool]] = []
        for some in held.values():
            values = [_value(each, what, rubric) for each in some]
            ((most, _),) = Counter(values).most_common(1)
            found += [(each.text, value != most) for each, value in zip(some, values, strict=True)]
        return found

    rows: list[tuple[str, int, Rate]] = []
    warns: list[str] = []
    for what in ("verdict", "whole vector", *rubric.ids):
        rate = rate_of(apart(what))
        moved = sum(len({_value(each, what, rubric) for each in some}) > 1 for some in held.values())
        rows.append((what, moved, rate))
        if moved and what in ("verdict", "whole vector"):
            warns.append(
                f"the judge isn't stable: {where}{rate.k} of {rate.n} repeats have another {what} than the most"
                f" frequent one of their text (95% interval over texts {shown_range(rate.low, rate.high)}), in {moved}"
                f" of {len(held)} texts; that fails no bar"
            )
    return rows, warns, len(held)


def _value(each: Seen, what: str, rubric: Rubric) -> str:
    if what == "verdict":
        return each.verdict
    return each.shown_vector(rubric) if what == "whole vector" else str((each.vector or {}).get(what))


# Without an oracle


def live(seen: Sequence[Seen]) -> Iterator[StudyTable]:
    """What the judge gave to texts that nobody has graded: written by a live target, or another run's answers."""
    for arm, title, about in (
        ("trigger", "Trigger: texts of a live target", "Texts that a target wrote just now"),
        ("graded", "Graded answers", "Answers of another run"),
    ):
        mine = [each for each in seen if each.condition in ("live", "graded") and each.arm == arm]
        if not mine:
            continue
        came = [each for each in mine if each.replied]
        read = [each for each in mine if each.measured]
        rows: list[tuple[Cell, ...]] = [
            (f"verdict: {name}", *rate_of((each.text, each.verdict == name) for each in read).cells)
            for name in _VERDICTS
        ]
        rows.append(("a flag was raised", *rate_of((each.text, bool(each.flags)) for each in read).cells))
        share, low, high = mean_of((each.text, each.share) for each in read if each.share is not None)
        rows.append(("mean share of the score", None, len(read), share, low, high))
        rows.append(("reply can't be read", *rate_of((each.text, not each.measured) for each in came).cells))
        rows.append(("no reply", *rate_of((each.text, not each.replied) for each in mine).cells))
        yield StudyTable(
            title, f"{about}, {_how(mine)}: no oracle says what they deserve, so nothing here is right or wrong.",
            (Column("what"), *RATE), tuple(rows),
            ("Never to be pooled with arms that have an oracle: these are figures of the target and the judge at once,"
             " and can't tell one from the other.",
             "What can't be read is counted of the replies that came. No reply is counted of all that were planned:"
             " the judge was asked and gave none, or nobody showed it the answer, or there was no answer to show, which"
             " says nothing of the judge. What blocks names the reasons."),
        )  # fmt: skip


def _how(mine: Sequence[Seen]) -> str:
    """What the judge was shown beside the texts, as their cases say."""
    asked = [each.record.reference for each in mine if each.record.asked]
    ways = {True: "shown the case's gold as a reference", False: "graded blind", None: "shown what is withheld now"}
    counts = {said: asked.count(way) for way, said in ways.items() if way in asked}
    if len(counts) < 2:
        return next(iter(counts), "shown to nobody yet")
    return ", ".join(f"{count} of {len(asked)} {said}" for said, count in counts.items())
