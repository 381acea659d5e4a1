"""What became of pairs that a judge was shown in both orders. A pure function over cells; no cell is an outcome alone.

a, b            the judge chose the same text in either order
tie             it said tie in either order
inconsistent    what it said changed with the order: the same position twice, or a tie one way only. No win for
                anybody, and no tie either: a judge that was sure one way and unsure the other way wasn't asked
                which of the two it meant. A preference between two identical texts is one too, whatever it said
unmeasured      one of the two replies couldn't be read, or was never asked for
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from harness._json import JSON
from harness._stats import wilson
from harness.rubrics._rates import rate_of, shown_range
from harness.suites._companion import Column, Record, StudyTable

__all__ = ["JudgedPair", "PairOutcome", "pair_outcomes", "pair_tables"]

PairOutcome = Literal["a", "b", "tie", "inconsistent", "unmeasured"]
_ORDERS = (0, 1)
_WORDS: Mapping[PairOutcome, str] = {
    "a": "A wins", "b": "B wins", "tie": "tie", "inconsistent": "inconsistent", "unmeasured": "unmeasured",
}  # fmt: skip
_MOST_LISTED = 200


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """One asking of one pair. `said` is what the judge said in either order: first, second, tie, or, where there is no
    reading, why; `case` names what both texts answer, `epoch` counts askings of the same pair. `same`: both texts are
    one, so that nothing but the position tells them apart."""

    pair: str
    case: str
    epoch: int
    outcome: PairOutcome
    said: tuple[str, str]
    read: tuple[bool, bool]
    same: bool = False

    @property
    def position(self) -> str:
        """The position that was chosen in both orders, or empty."""
        return self.said[0] if all(self.read) and self.said[0] == self.said[1] != "tie" else ""

    @property
    def by_position(self) -> bool:
        """Whether where a text stood decided: one position in both orders, or any preference among identical texts."""
        return bool(self.position) or (self.same and self.outcome == "inconsistent")


@dataclass(frozen=True, slots=True)
class _Told:
    """One cell: whom it chose (a, b or tie; empty where nobody knows) and what it said."""

    chose: str
    said: str
    case: str
    shown: str = ""


_NOT_PLANNED = _Told("", "not planned", "")


def pair_outcomes(records: Sequence[Record]) -> list[JudgedPair]:
    """Every pair that was planned, in order, with its outcome; a pair that was asked several times is there as often.

    `records` are the cells of one judge under one rule set. A cell whose case a redaction withholds is a pair of its
    own, and unmeasured: nobody can tell what it is half of.
    """
    found: dict[tuple[str, int], dict[int, _Told]] = {}
    for record in records:
        gold = _gold(record)
        pair, order = gold.get("pair"), gold.get("order")
        if isinstance(pair, str) and order in _ORDERS:
            found.setdefault((pair, record.epoch), {})[int(order == 1)] = _told(record, gold)
        else:
            found[f"cell {record.cell}", record.epoch] = dict.fromkeys(_ORDERS, _Told("", "withheld", ""))
    return [
        _judged(pair, epoch, halves.get(0, _NOT_PLANNED), halves.get(1, _NOT_PLANNED))
        for (pair, epoch), halves in found.items()
    ]


def _gold(record: Record) -> Mapping[str, JSON]:
    return record.gold if isinstance(record.gold, Mapping) else {}


def _told(record: Record, gold: Mapping[str, JSON]) -> _Told:
    case = gold.get("case")
    named = case if isinstance(case, str) else ""
    if record.outcome == "unmeasured":
        return _Told("", record.reason or record.status, named, record.input)
    chose = "tie" if record.verdict == "tie" else str(gold.get(record.verdict, ""))
    return _Told(chose if chose in ("a", "b", "tie") else "", record.verdict, named, record.input)


def _judged(pair: str, epoch: int, one: _Told, other: _Told) -> JudgedPair:
    outcome: PairOutcome = "inconsistent"
    # The other order of two identical texts is the very same input.
    same = bool(one.shown) and one.shown == other.shown
    if not one.chose or not other.chose:
        outcome = "unmeasured"
    elif one.chose == other.chose and (one.chose == "tie" or not same):
        outcome = next(each for each in get_args(PairOutcome) if each == one.chose)
    return JudgedPair(
        pair, one.case or other.case, epoch, outcome, (one.said, other.said), (bool(one.chose), bool(other.chose)), same
    )


# Tables


def pair_tables(records: Sequence[Record]) -> tuple[StudyTable, ...]:
    """The outcomes of pairs, what position does, what the detectors found in the texts, and every pair that gave no
    winner; nothing without a cell."""
    pairs = pair_outcomes(records)
    if not pairs:
        return ()
    tables = (
        _outcomes(pairs, records),
        _position(pairs, records),
        _detected(pairs, records),
        _undecided(pairs),
    )
    return tuple(each for each in tables if each is not None)


def _sides(records: Sequence[Record]) -> tuple[str, str]:
    """What A and B are, as the first case that can be read says it."""
    for gold in map(_gold, records):
        if "a" in gold and "b" in gold:
            return str(gold["a"]), str(gold["b"])
    return "", ""


def _outcomes(pairs: Sequence[JudgedPair], records: Sequence[Record]) -> StudyTable:
    a, b = _sides(records)
    beside, asked = sum(each.reference is True for each in records), len(records)
    counts = Counter(each.outcome for each in pairs)
    measured = len(pairs) - counts["unmeasured"]
    rows = [
        (words, *_share(counts[outcome], len(pairs) if outcome == "unmeasured" else measured))
        for outcome, words in _WORDS.items()
    ]
    notes = [
        "A pair counts for A or B only where the judge chose that text in both orders; a tie one way and a winner the"
        " other way is inconsistent.",
        f"n is the {measured} measured of the {len(pairs)} planned pairs; for the unmeasured, all that were planned.",
    ]
    if any(each.same for each in pairs):
        same = sum(each.same for each in pairs)
        notes.append(f"{same} pairs are of two identical texts: a preference in one is inconsistent, and nobody's win.")
    if beside:
        notes.append(f"In {beside} of the {asked} cells the judge was shown the case's gold as a reference.")
    cases = Counter(each.case or each.pair for each in pairs)
    if max(cases.values()) > 1:
        notes.append(
            f"The {len(pairs)} pairs are of {len(cases)} cases; pairs of one case aren't independent, and the intervals"
            " take them as if they were."
        )
    who = f"A is {a}, B is {b}" if a and b else "A and B are the two sides"
    return StudyTable(
        "Pairs", f"What became of the pairs, each shown in both orders; {who}.",
        (Column("outcome"), *_SHARE), tuple(rows), tuple(notes),
    )  # fmt: skip


_SHARE = (
    Column("k", "count"), Column("n", "count"), Column("share", "percent"), Column("low", "percent"),
    Column("high", "percent"),
)  # fmt: skip


def _share(k: int, n: int) -> tuple[int, int, float | None, float | None, float | None]:
    low, high = wilson(k, n) or (None, None)
    return k, n, k / n if n else None, low, high


def _position(pairs: Sequence[JudgedPair], records: Sequence[Record]) -> StudyTable:
    measured = [each for each in pairs if each.outcome != "unmeasured"]
    stuck = Counter(each.position for each in measured)
    half = sum(each.outcome == "inconsistent" and "tie" in each.said for each in measured)
    alike = [each for each in measured if each.same]
    rate = rate_of((each.case or each.pair, each.by_position) for each in measured)
    read = Counter(each.verdict for each in records if each.outcome != "unmeasured")
    replies = sum(read.values())
    rows = (
        ("the first, in both orders", *_share(stuck["first"], len(measured))),
        ("the second, in both orders", *_share(stuck["second"], len(measured))),
        ("a winner one way, a tie the other", *_share(half, len(measured))),
        ("a preference between identical texts", *_share(sum(each.by_position for each in alike), len(alike))),
        ("the first, of all replies", *_share(read["first"], replies)),
        ("the second, of all replies", *_share(read["second"], replies)),
        ("a tie, of all replies", *_share(read["tie"], replies)),
    )
    return StudyTable(
        "Position", "How often the judge went by where a text stood; without a preference, first and second are alike.",
        (Column("chosen"), *_SHARE), rows,
        ("The two replies about one pair aren't independent: the intervals of all replies are too narrow.",
         "Of identical texts nothing but a tie is right. Such a pair is in the line of preferences between them, and in"
         " another one where that holds of it too."),
        (
            f"the judge goes by the position: in {rate.k} of {rate.n} measured pairs it chose one position in both"
            " orders, or preferred one of two identical texts (95% interval over cases"
            f" {shown_range(rate.low, rate.high)}); that fails no bar",
        ) if rate.k else (),
    )  # fmt: skip


def _detected(pairs: Sequence[JudgedPair], records: Sequence[Record]) -> StudyTable | None:
    """Which detectors fired in whose text, by asking of a pair; and how often the text that one fired in alone won."""
    fired: dict[str, dict[str, set[tuple[str, int]]]] = {}
    for record in records:
        gold = _gold(record)
        for each in record.findings:
            if isinstance(each, Mapping) and each.get("layer") == "detector":
                side = str(gold.get(str(each.get("in")), ""))
                if side in ("a", "b"):
                    where = fired.setdefault(str(each.get("detector")), {"a": set(), "b": set()})
                    where[side].add((str(gold.get("pair")), record.epoch))
    if not fired:
        return None
    won = {side: {(each.pair, each.epoch) for each in pairs if each.outcome == side} for side in ("a", "b")}
    rows = tuple(
        (name, len(where["a"]), len(where["b"]), len(where["a"] - where["b"]) + len(where["b"] - where["a"]),
         len((where["a"] - where["b"]) & won["a"]) + len((where["b"] - where["a"]) & won["b"]))
        for name, where in sorted(fired.items())
    )  # fmt: skip
    columns = ("pairs, in A's text", "pairs, in B's text", "in one text alone", "and that one won")
    return StudyTable(
        "Detectors", "In whose text a detector fired: such words stand there, which doesn't say that anybody obeyed.",
        (Column("detector"), *(Column(each, "count") for each in columns)), rows,
    )  # fmt: skip


def _undecided(pairs: Sequence[JudgedPair]) -> StudyTable | None:
    open_ = [each for each in pairs if each.outcome in ("inconsistent", "unmeasured")]
    if not open_:
        return None
    rows = tuple((each.pair, each.case, each.outcome, *each.said) for each in open_[:_MOST_LISTED])
    left = len(open_) - len(rows)
    return StudyTable(
        "Pairs without a winner or a tie", "What the judge said in either order, or why nothing could be read.",
        tuple(map(Column, ("pair", "case", "outcome", "A first", "B first"))), rows,
        (f"{left} more aren't listed.",) if left else (),
    )  # fmt: skip
