"""Is a report what its ledger gives? Its text against its data, its data against the events, and what came since.

Three questions, because each can be false alone: a digit edited in the text, a figure edited in text and data alike,
and a report that was true when it was written and rests on something superseded or tainted by now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from harness._answer_marks import mark_words
from harness._basis import Basis, basis_of
from harness._clusters import has_twins
from harness._contradicted import contradiction_words, held_words
from harness._differences import Difference, compare_data, compare_text, count_numbers, line_endings
from harness._errors import UsageError
from harness._find_report import Recorded, find_recorded, read_report_file
from harness._held_event import hold_event
from harness._recollect import recollect
from harness._report_data import RENDERER, REPORT_FORMAT, REPORT_VERSION, Data
from harness._report_file import Format, data_in, data_text, figures_in, format_of, render
from harness._since import Since, later, redacted_since, withheld_since
from ledger import Ledger, verify

__all__ = ["Check", "check_file", "check_report"]

_FEW = 4
_INTERVALS = ("case_low", "case_high", "interval_low", "interval_high", "interval_by")
Verdict = Literal["reproduces", "differs", "contradicted", "set aside", "tampered"]


@dataclass
class Check:
    """What came of holding a file against a ledger.

    `verdict`: `reproduces` (everything does, and nothing speaks against it since), `differs` (the file isn't what the
    ledger gives), `contradicted` (it is, and the ledger's own events contradict it), `set aside` (it was true, and
    something it rests on was superseded, tainted or withheld since), `tampered` (the ledger itself doesn't verify, so
    nothing can be said). `recorded` is the seq of the report event, None where no event records such a report; `exact`
    says that these are its very bytes.
    """

    file: str
    form: str = ""
    run: str = ""
    size: int = 0
    recorded: int | None = None
    exact: bool = False
    numbers: int = 0
    reproduced: int = 0
    not_reproducible: int = 0
    tampered: str = ""
    differences: list[Difference] = field(default_factory=list[Difference])
    since: list[Since] = field(default_factory=list[Since])
    contradicted: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    @property
    def verdict(self) -> Verdict:
        """In one word."""
        if self.tampered:
            return "tampered"
        if self.differences:
            return "differs"
        if self.contradicted:
            return "contradicted"
        return "set aside" if any(each.bad for each in self.since) else "reproduces"

    @property
    def exit_status(self) -> int:
        """0 when everything reproduces and stands, 1 otherwise."""
        return 0 if self.verdict == "reproduces" else 1

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "file": self.file, "verdict": self.verdict, "ok": self.verdict == "reproduces", "format": self.form,
            "run": self.run, "size": self.size, "recorded": self.recorded, "byte_for_byte": self.exact,
            "numbers": self.numbers, "reproduced": self.reproduced, "not_reproducible": self.not_reproducible,
            "tampered": self.tampered or None,
            "differences": [
                {"where": each.where, "file": each.says, "should": each.should, "number": each.number}
                for each in self.differences
            ],
            "contradicted": list(self.contradicted),
            "since": [each.as_json() for each in self.since], "notes": list(self.notes),
        }  # fmt: skip

    def sentences(self) -> list[str]:
        """The answer for people, the verdict last."""
        if self.tampered:
            return [f"TAMPERED: {self.tampered}", "Nothing can be said about a report whose ledger doesn't verify."]
        said = [f"DIFFERS: {each}" for each in self.differences]
        said += self.contradicted
        said += [f"{'SINCE' if each.bad else 'Since'}: {each.says}" for each in self.since]
        said += list(self.notes)
        count = f"{self.reproduced} of {self.numbers} numbers reproduce"
        if not self.numbers:
            count = "No number could be recomputed"
        if self.not_reproducible:
            count += f"; {self.not_reproducible} rest on what was withheld since: not reproducible"
        end = {
            "reproduces": "and nothing it rests on was superseded or tainted since.",
            "differs": "but the file isn't what the ledger gives.",
            "contradicted": "but the ledger's own events contradict them: see above.",
            "set aside": "but the report can't stand as it is: see above.",
        }
        return [*said, f"{count}, {end[self.verdict]}"]


def check_file(db: Path, file: Path) -> Check:
    """Check a file against the ledger at `db`. Raises UsageError for a file that is no report, and NotALedger."""
    data = read_report_file(file)
    verdict = verify(db)
    if verdict.verdict == "TAMPERED":
        first = verdict.problems[0]
        where = f"event {first.seq}: " if first.seq is not None else ""
        found = f"{where}{first.what}: expected {first.expected}, got {first.got}"
        return Check(str(file), tampered=f"{db} doesn't verify; {found}")
    with Ledger.open(db, read_only=True) as ledger:
        return check_report(ledger, data, str(file))


def check_report(ledger: Ledger, data: bytes, name: str) -> Check:
    """Check the bytes of a report against a ledger that verifies. Raises UsageError for what never was a report."""
    text, changed = line_endings(_decoded(data))
    recorded = find_recorded(ledger, data, text)
    form = format_of(text) or (recorded.form if recorded else _json_laid_out_anew(text))
    if form is None:
        raise UsageError(f"{name} is no report of ours: it neither starts as one nor resembles one that is recorded")
    found = Check(
        name, form, recorded=recorded.seq if recorded else None, exact=recorded is not None and recorded.exact
    )
    try:
        said = data_in(text, form)
    except UsageError as problem:
        return _unreadable(ledger, found, text, recorded, str(problem))
    basis = basis_of(ledger, said)
    if recorded is None and form == "json":
        # Another program may have laid it out: the lines that are looked for are ours.
        recorded = find_recorded(ledger, data, data_text(said))
        found.recorded = recorded.seq if recorded else None
    if basis is None and recorded is not None:
        basis = basis_of(ledger, data_in(recorded.text, recorded.form))
    if basis is None:
        _another_ledger(ledger, found, said)
        return found
    alike = recorded if recorded is not None and (recorded.size, recorded.form) == (basis.size, form) else None
    kept = data_in(alike.text, form) if alike is not None and redacted_since(ledger, basis.size) else None
    should, fresh = _hold_data(ledger, found, said, basis, text, kept)
    changed += _hold_text(found, should, fresh, text, form, alike)
    if found.exact and recorded is not None and not found.differences:
        found.differences += hold_event(ledger, recorded.seq, said, form)
    _describe(found, changed, should)
    return found


def _decoded(data: bytes) -> str:
    """The text, also of a file that an editor saved as UTF-16."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "\ufeff" + data.decode("utf-16", "backslashreplace")
    return data.decode("utf-8", "surrogateescape")


def _json_laid_out_anew(text: str) -> Format | None:
    return "json" if text.lstrip().startswith("{") and f'"{REPORT_FORMAT}"' in text else None


def _hold_data(
    ledger: Ledger, found: Check, said: Data, basis: Basis, text: str, kept: Data | None
) -> tuple[Data, Data]:
    """The data against the events. Gives the data that the text has to show, and those that the ledger gives now.

    `kept` are the data that were recorded, where something was withheld since: what it was made of may be gone.
    """
    exact, form = found.exact, cast("Format", found.form)
    ours = said.get("renderer") == RENDERER and said.get("version") == REPORT_VERSION
    fresh = recollect(ledger, basis, said)
    here = ours or (not exact and _drawn_here(fresh, text, form))
    if not here:
        fresh.update({name: said[name] for name in ("version", "renderer") if name in said})
    found.run, found.size = basis.run, basis.size
    found.numbers = count_numbers(said)
    differences = list(compare_data(said, fresh, whole=ours, close=exact))
    if exact:
        twins = not ours and has_twins(ledger.rows, basis.run)
        told = [each for each in differences if _told_otherwise(each, ours=ours, twins=twins)]
        found.notes += [f"this release tells it otherwise: {each}" for each in told]
        differences = [each for each in differences if each not in told]
    gone = withheld_since(ledger, basis.run, basis.labels, basis.size)
    lost = _lost(said, kept, differences) if kept is not None else []
    found.notes += [f"no longer derivable, since it was withheld: {each.where}" for each in lost]
    differences = [each for each in differences if each not in lost]
    resting = _resting(said, gone)
    wrong = sum(each.number and each.says is not None for each in differences)
    found.not_reproducible = max(sum(each.number for each in lost), resting)
    found.reproduced = max(0, found.numbers - wrong - found.not_reproducible)
    found.differences += differences
    found.contradicted += _contradictions(fresh)
    rows = {(row["candidate"], row["rules"], mark_words(row)) for row in fresh["scoreboard"] if mark_words(row)}
    found.notes += [f"{candidate} under {rules}: {words}" for candidate, rules, words in sorted(rows)]
    found.since = later(ledger, fresh, basis.size, found.recorded)
    if lost and not gone:
        events = ", ".join(map(str, redacted_since(ledger, basis.size)))
        says = f"what parts of this report were made of was withheld since (event {events}): not reproducible"
        found.since.append(Since("withheld", None, says, bad=True))
    if kept is not None:
        return kept, fresh
    return (fresh if here and not exact else said), fresh


def _contradictions(fresh: Data) -> list[str]:
    """What the report's own words about figures that don't hold are; none where they do."""
    said = [contradiction_words(fresh["contradicted"])] if "contradicted" in fresh else []
    rows = {(row["candidate"], row["rules"], held_words(row)) for row in fresh["scoreboard"] if held_words(row)}
    return said + [f"{candidate} under {rules} {words}" for candidate, rules, words in sorted(rows)]


def _drawn_here(fresh: Data, text: str, form: Format) -> bool:
    """Whether a file that names another renderer is, but for a few lines, what this one draws: an altered digit."""
    return len(compare_text(text, line_endings(render(fresh, form).decode())[0])) <= _FEW


def _told_otherwise(difference: Difference, *, ours: bool, twins: bool = False) -> bool:
    """Whether a place of a file whose bytes are the recorded ones may differ between releases without being false."""
    # Which stage moved a cell is told by deriving it once more, with the code that is here now.
    stage = difference.place[:2] == ("correction", "flips") and difference.place[-1] == "stage"
    # Why there is no pass@k of answers that are graded was told as a want of samples.
    passes = difference.place[:1] == ("repeatability",) and difference.place[-1] == "reason"
    # Cases that ask the very same input were taken as independent.
    apart = twins and difference.place[:1] == ("scoreboard",) and difference.place[-1] in _INTERVALS
    return stage or (not ours and (passes or apart or difference.place[-1:] in (("why",), ("because",), ("unread",))))


def _lost(said: Data, kept: Data, differences: Sequence[Difference]) -> list[Difference]:
    """The differences where the file says what was recorded: there it is the ledger that can't tell any more."""
    altered = [each.place for each in compare_data(said, kept, whole=True, close=False)]

    def touches(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> bool:
        shorter = min(len(one), len(other))
        return one[:shorter] == other[:shorter]

    return [each for each in differences if not any(touches(each.place, place) for place in altered)]


def _resting(said: Data, gone: Mapping[tuple[str | None, str], int]) -> int:
    """How many numbers of the data are in rows whose scores were withheld."""
    counted = 0
    for name in ("scoreboard", "unmeasured", "flags", "repeatability"):
        rows: Any = said.get(name)
        for row in cast("list[Any]", rows) if isinstance(rows, list) else []:
            given = _mapping(row)
            if (given.get("candidate"), given.get("rules")) in gone:
                counted += count_numbers(given)
    return counted


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _hold_text(
    found: Check, should: Data, fresh: Data, text: str, form: Format, alike: Recorded | None
) -> Sequence[str]:
    """The text against what the data that it has to show look like, or, if an older release drew it, what was recorded.

    `alike` is the report that the file comes closest to, of the same event and format. Gives what another program did
    to the file without changing what it says.
    """
    renderer, version = should.get("renderer"), should.get("version")
    if (renderer, version) == (RENDERER, REPORT_VERSION):
        try:
            drawn = render(should, form).decode()
        except UsageError as problem:
            found.differences.append(Difference("the data block", str(problem), "the data of a report"))
            return ()
    elif alike is not None and _older(renderer, RENDERER) and _older(version, REPORT_VERSION):
        drawn = alike.text
        found.notes.append(
            "an older release drew it: its text was held against the bytes that were recorded, and its figures, one by"
            " one and not by their places, against those that the data give"
        )
        odd = figures_in(text, form) - figures_in(render(fresh, form).decode(), form)
        found.differences += [Difference("the text", each, "a figure that the data give") for each in sorted(odd)]
    else:
        # Its data alone would let any text pass that somebody writes above them.
        why = "no release drew so" if not _older(1, renderer) else "check it with the release that drew it"
        if alike is None and _older(renderer, RENDERER):
            why = "an older release drew this, and no event records it, so nothing tells what its text was"
        found.differences.append(Difference("renderer", ascii(renderer), f"{RENDERER}; {why}", place=("renderer",)))
        return ()
    differences = compare_text(text, line_endings(drawn)[0])
    if form == "json" and not found.differences and len(differences) > max(_FEW, text.count("\n") // 10):
        # Nothing but data stands in it, and they were compared one by one.
        return ("its JSON was laid out anew",)
    found.differences += differences
    return ()


def _older(one: object, other: object) -> bool:
    """Whether `one` is a version, and none later than `other`."""
    whole = (
        isinstance(one, int) and isinstance(other, int) and not isinstance(one, bool) and not isinstance(other, bool)
    )
    return whole and 1 <= cast("int", one) <= cast("int", other)


def _describe(found: Check, changed: Sequence[str], said: Data) -> None:
    if changed and not found.exact:
        rest = "and that isn't all" if found.differences else "but for that, it says what the ledger gives"
        found.notes.append(f"not byte for byte the report: {', '.join(changed)}; {rest}")
    if found.recorded is None or not (found.exact or changed or found.differences):
        found.recorded = None
        found.notes.append("no report event records it: it was printed, and not written with `harness report -o`")
    elif found.exact:
        found.notes.append(f"byte for byte the report that event {found.recorded} records")
    else:
        found.notes.append(f"event {found.recorded} records the report that it comes closest to")
    taints: Any = said.get("taints")
    for mark in cast("list[Any]", taints) if isinstance(taints, list) else []:
        found.notes.append(f"the report itself says that taint {_mapping(mark).get('event')} reaches it")
    if said.get("superseded"):
        found.notes.append("the report itself says that its run was superseded")
    gone: Any = said.get("rests_on_superseded")
    for row in cast("list[Any]", gone) if isinstance(gone, list) else []:
        found.notes.append(
            f"the report itself says that it rests on what event {_mapping(row).get('event')} supersedes"
        )


def _unreadable(ledger: Ledger, found: Check, text: str, recorded: Recorded | None, problem: str) -> Check:
    """A file that starts as a report and whose data can't be read: cut off, or edited where it mattered."""
    if recorded is None:
        found.differences.append(
            Difference("the data block", problem, "the data of a report; nothing recorded is like it")
        )
        return found
    should = line_endings(recorded.text)[0]
    found.differences += compare_text(text, should)
    found.notes.append(f"{problem}; it comes closest to the report that event {recorded.seq} records")
    said = data_in(recorded.text, recorded.form)
    basis = basis_of(ledger, said)
    if basis is not None:
        found.run, found.size = basis.run, basis.size
        found.since = later(ledger, said, basis.size, recorded.seq)
    return found


def _another_ledger(ledger: Ledger, found: Check, said: Data) -> None:
    given = _mapping(said.get("receipt"))
    genesis = ledger.genesis
    size, head = ledger.head()
    for name, should in (("origin", genesis.origin), ("ledger", genesis.id)):
        if given.get(name) != should:
            found.differences.append(
                Difference(f"receipt.{name}", str(given.get(name)), should, place=("receipt", name))
            )
    found.differences.append(
        Difference(
            "receipt.head", f"{given.get('head')} at event {given.get('size')}",
            f"a hash of this ledger, which ends at event {size} with {head}; the report is of another ledger, or of"
            " events that were cut off",
        )
    )  # fmt: skip
