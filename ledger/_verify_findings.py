"""What verify found: problems, kept in order and bounded, and the first event at fault."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MAX_PROBLEMS", "Findings", "Problem", "show"]

MAX_PROBLEMS = 1_000
_MAX_NOTES = 50
_MAX_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `seq` is the event at fault, or None when no event is (the schema, a stray row).

    All texts are printable ASCII, whatever the file held.
    """

    seq: int | None
    what: str
    expected: str
    got: str


def show(value: object) -> str:
    """A stored value in printable ASCII, cut to a readable length."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        cut = value[:_MAX_SHOWN]
        text = repr(cut.decode("utf-8", "backslashreplace"))[1:-1].encode("ascii", "backslashreplace").decode("ascii")
        more = len(value) - len(cut)
    else:
        whole = str(value)
        text = repr(whole[:_MAX_SHOWN])[1:-1].encode("ascii", "backslashreplace").decode("ascii")
        more = max(0, len(whole) - _MAX_SHOWN)
    return f"{text}... ({more} more)" if more else text


class Findings:
    """Collects problems and notes. Every problem is counted and can be the first; only so many are kept whole.

    `whole` says that this release could read all that it has to check.
    """

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[Problem] = []
        self._notes: list[str] = []
        self._first: int | None = None
        self._first_below: int | None = None
        self.whole = True

    def add(self, seq: int | None, what: str, expected: object, got: object) -> None:
        """Record a problem of event `seq`, or of no event."""
        self.count += 1
        if seq is not None:
            # Seqs start at 1: a row moved below that leaves a gap, and the gap is where the event is missing.
            if seq >= 1:
                self._first = seq if self._first is None else min(self._first, seq)
            else:
                self._first_below = seq if self._first_below is None else min(self._first_below, seq)
        if len(self._kept) < MAX_PROBLEMS:
            self._kept.append(Problem(seq, show(what), show(expected), show(got)))

    def note(self, text: str) -> None:
        """Record something worth saying that is not a fault."""
        if len(self._notes) < _MAX_NOTES and text not in self._notes:
            self._notes.append(show(text))

    def unread(self, text: str) -> None:
        """Record what a newer release wrote and this one can't read: no fault, and the check isn't whole."""
        self.whole = False
        self.note(text)

    @property
    def first_bad_seq(self) -> int | None:
        """The smallest seq at fault, over every problem, kept or not."""
        return self._first if self._first is not None else self._first_below

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those of no event first, then by seq; where some were not kept, a last one says how many."""
        ordered = sorted(self._kept, key=lambda problem: (problem.seq is not None, problem.seq or 0))
        if self.count > len(self._kept):
            more = self.count - len(self._kept)
            ordered.append(Problem(None, "more problems than are listed", f"at most {MAX_PROBLEMS}", f"{more} more"))
        return tuple(ordered)
