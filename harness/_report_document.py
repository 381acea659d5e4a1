"""What a report says, between its data and its looks: headings, sentences, tables and charts, the same in every format.

Text that came from outside (labels, reasons, names, ids) is wrapped in `Name`; each format shows it so that it can't
become markup. What isn't wrapped is this module's own wording.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness._answer_marks import mark_words
from harness._contradicted import contradiction_words, held_words
from harness._repeats import majority_text, repeats_text
from harness._replaced import replaced_words
from harness._report_answers import answer_blocks
from harness._report_blocks import (
    Block,
    Cell,
    Chart,
    Document,
    EventSeq,
    Grid,
    Heading,
    Name,
    RunId,
    Sentence,
    Text,
)
from harness._report_imported import imported_blocks
from harness._report_served import served_blocks
from harness._report_study import set_aside, study_blocks
from harness._report_unequal import unequal_words
from harness._spend import SPEND_NAMES, spend_said, spend_tables

__all__ = [
    "BY_CASE", "SAME_INPUT", "Block", "Cell", "Chart", "Document", "EventSeq", "Grid", "Heading", "Name", "RunId",
    "Sentence", "Text", "between", "document", "figure_of", "has_repeats", "interval_heading", "notices", "origins",
    "percent",
]  # fmt: skip

SAME_INPUT = "Some cases ask the very same input, and are one case with its repeats:"
BY_CASE = (
    "the 95% interval draws whole cases (a bootstrap of 1,000 resamples with a fixed seed; with fewer than ten cases,"
    " or where all agree, Wilson's with the cases as n)."
)

Row = Mapping[str, Any]


def percent(value: float | None) -> str:
    """A share as people read it."""
    return "–" if value is None else f"{100 * value:.1f}%"


def between(low: float | None, high: float | None) -> str:
    """An interval of shares."""
    return "–" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f}%"


def interval_heading(rows: Sequence[Row]) -> str:
    """What the column of intervals is called: over cases, or over cells that are a case each."""
    by = {row["interval_by"] for row in rows} - {None}
    return "95% by case" if any(each != "cells" for each in by) else "95% interval"


def has_repeats(rows: Sequence[Row]) -> bool:
    """Whether an interval of a rate is over cases."""
    return any(row["kind"] == "rate" and row["interval_by"] not in (None, "cells") for row in rows)


def figure_of(row: Row) -> str:
    """k/n, or a mean; never a number where nothing was measured."""
    if row["n"] == 0:
        return "no data"
    figure = f"{row['k']}/{row['n']}" if row["kind"] == "rate" else f"{row['rate']:.3f} over {row['n']}"
    counted = row.get("unmeasured")
    return f"{figure} ({counted} unmeasured, counted by {row.get('policy') or 'policy'})" if counted else figure


def document(data: Mapping[str, Any]) -> Document:
    """The report of `collect`'s data."""
    run = data["run"]
    blocks: list[Block] = [
        Heading(1, [Name(run["suite"]), ": report on run ", Name(run["id"])]),
        *_top(data),
        *_correction(data.get("correction")),
        *_scoreboard(data),
        *_bars(data),
        *_predictions(data.get("predictions", [])),
        *study_blocks(data.get("study", [])),
        *answer_blocks(data.get("wrong")),
        *_unmeasured(data),
        *_spend(data.get("spend")),
        *_reading(data),
        *served_blocks(data.get("served", [])),
        *_frozen(data),
        *_comparability(data.get("fingerprints", [])),
        *_receipt(data["receipt"]),
    ]
    return blocks


def _top(data: Mapping[str, Any]) -> Iterable[Block]:
    run = data["run"]
    yield from notices(data)
    named: list[Text] = [" (", Name(run["name"]), ")"] if run["name"] else []
    count = f", {run['asked']} of {run['planned']} cells asked"
    count = f", {run['planned']} cells" if run["via"] == "import" else count
    more = f", {run['epochs']} epochs" if run["epochs"] > 1 else ""
    more += f", only the first {run['limit']} cases (--limit)" if run["limit"] is not None else ""
    how_asked = {
        "live": "asked live",
        "replay": "a replay of recorded replies",
        "import": "recorded elsewhere, nothing was asked",
    }
    kept: list[Text] = [", only cases where ", Name(run["filter"]), " (--filter)"] if run.get("filter") else []
    parts: list[Text] = ["Run ", Name(run["id"]), *named, f", {run['status']}{count}{more}", *kept, "; "]
    yield Sentence([*parts, how_asked.get(run["via"], Name(run["via"])), ". Opened ", Name(run["opened_at"]), "."])
    yield from origins(data)


def notices(data: Mapping[str, Any]) -> Iterable[Sentence]:
    """What must be known ahead of the numbers: contradicted, superseded, tainted, not reproducible, without an end."""
    run = data["run"]
    if "contradicted" in data:
        yield Sentence([Name(contradiction_words(data["contradicted"]))], "bad")
    gone = data["superseded"]
    if gone:
        how: list[Text] = ["by run ", RunId(gone["by"])] if gone["by"] else ["without a successor"]
        said = [*_event(gone), Name(gone["category"]), "): ", Name(gone["reason"])]
        yield Sentence(["SUPERSEDED ", *how, *said], "bad")
    for each in data.get("rests_on_superseded", []):
        what, how_gone = replaced_words(each)
        said = [Name(how_gone), *_event(each), Name(each["category"]), "): ", Name(each["reason"])]
        yield Sentence(["RESTS ON WHAT WAS SUPERSEDED: ", Name(what), " was superseded ", *said], "bad")
    for mark in data["taints"]:
        what = [Name(f"{mark['what']}:{mark['id']}"), "): ", Name(mark["reason"])]
        yield Sentence(["TAINTED by event ", EventSeq(mark["event"]), " (", *what], "bad")
    for each in data["not_reproducible"]:
        who: list[Text] = [" of ", Name(each["candidate"])] if each["candidate"] is not None else []
        rest = [" under ", Name(each["rules"]), " rest on what a redaction withholds"]
        yield Sentence([f"NOT REPRODUCIBLE: {each['cells']} of the scores", *who, *rest], "bad")
    status = run["status"]
    if status == "open":
        yield Sentence(["OPEN: the run had no end yet when this was written; its numbers may still move."], "bad")
    elif status != "complete":
        yield Sentence([f"The run is {status}: not every planned cell has an answer."], "bad")


def _event(row: Row) -> list[Text]:
    return [" (event ", EventSeq(row["event"]), ", "]


def origins(data: Mapping[str, Any]) -> Iterable[Sentence]:
    """How the answers came about where that isn't plain, what was accepted, and how repeats of a case count."""
    run = data["run"]
    yield from imported_blocks(data["imported"])
    for row in data["answers"]:
        if row["reused"]:
            rest = [f" take over responses of earlier runs; {row['fresh']} were asked in this one"]
            yield Sentence([f"REUSED: {row['reused']} cells of ", Name(row["candidate"]), *rest])
    for row in data["accepted"]:
        yield Sentence(_accepted(row))
    if run["epochs"] > 1:
        yield Sentence(
            [
                "Each case was asked more than once, and its repeats are one cluster: "
                f"{BY_CASE} Repeats taken as independent would give a narrower one, which is in the data as low and"
                " high."
            ]
        )
    elif has_repeats(data["scoreboard"]):
        yield Sentence([f"{SAME_INPUT} {BY_CASE}"])


def _accepted(row: Row) -> list[Text]:
    if row["component"] is None:
        return ["ACCEPTED by event ", EventSeq(row["event"]), ": withheld since"]
    moved = [" moved from ", Name(row["before"]), " to ", Name(row["after"]), ": ", Name(row["reason"])]
    return ["ACCEPTED by event ", EventSeq(row["event"]), ": ", Name(row["component"]), *moved]


def _scoreboard(data: Mapping[str, Any]) -> Iterable[Block]:
    yield Heading(2, ["Scoreboard"])
    board: Sequence[Row] = data["scoreboard"]
    if not board:
        yield Sentence(["No rule set has given this run a figure."])
    order = {label: at for at, label in enumerate(data["run"]["candidates"])}
    for each in data["rules"]:
        rows = [row for row in board if row["rules"] == each["rules"]]
        # The plan's order of candidates, in every table alike; the metrics of each as they are.
        rows.sort(key=lambda row: order.get(row["candidate"], len(order)))
        if not rows:
            continue
        yield Heading(3, [Name(each["rules"]), f" ({each['standing']})"])
        because = f"{each['standing'].capitalize()}: {each['because']} (rule set frozen as event {each['freeze']})."
        # On a replay the order of this chain says nothing of what was known: the answers are older than it.
        plain = each["standing"] == "confirmatory" and data["run"]["via"] != "replay"
        yield Sentence([because], "" if plain else "bad")
        counted = sum(row["unmeasured"] for row in rows)
        if counted:
            yield Sentence(
                [
                    "Some figures count unmeasured cells by the rule set's policy; each says how many. worst–best"
                    " takes them as what they are: unknown."
                ],
                "bad",
            )
        yield _figures(each["rules"], rows)
        if said := unequal_words(rows):
            yield Sentence([Name(said)], "bad")
        yield Chart("intervals", ["Rates under ", Name(each["rules"])], rows)


def _figures(rules: str, rows: Sequence[Row]) -> Grid:
    columns = ["metric", "candidate", "k/n", "planned", "rate", interval_heading(rows), "worst–best"]
    marked = any(_marks(row) for row in rows)
    columns += ["marks"] if marked else []
    lines: list[Sequence[Cell]] = []
    for row in rows:
        figure = Name(figure_of(row)) if row["unmeasured"] else figure_of(row)
        lines.append(
            [
                [Name(row["metric"]), *([" (outcome)"] if row["is_primary"] else [])], Name(row["candidate"]),
                figure, str(row["planned"]), percent(row["rate"]), between(row["interval_low"], row["interval_high"]),
                between(row["worst"], row["best"]), *([Name(", ".join(_marks(row)))] if marked else []),
            ]
        )  # fmt: skip
    right = frozenset(columns) - {"metric", "candidate", "marks"}
    return Grid(["Figures under ", Name(rules), ": k of n measured, of planned"], columns, lines, right)


def _marks(row: Row) -> list[str]:
    said = ["tainted"] if row["tainted"] else []
    said += [] if row["reproducible"] else ["not reproducible"]
    said += [held_words(row)] if held_words(row) else []
    return said + ([mark_words(row)] if mark_words(row) else [])


def _bars(data: Mapping[str, Any]) -> Iterable[Block]:
    bars: Sequence[Row] = data["bars"]
    aside: Sequence[Row] = data.get("bars_not_judged", [])
    if not bars and not data["bars_unread"] and not aside:
        return
    yield Heading(2, ["Bars"])
    for each in data["bars_unread"]:
        why = ["The bars of ", Name(each["rules"]), " can't be read, so they count as failed: ", Name(each["why"])]
        yield Sentence(why, "bad")
    rows: list[Sequence[Cell]] = [
        [Name(bar["bar"]), Name(bar["rules"]), Name(bar["candidate"]), Name(bar["figure"]), bar["status"], bar["why"]]
        for bar in bars
    ]
    if rows:
        columns = ("bar", "rules", "candidate", "figure", "status", "why")
        yield Grid(["Bars, held against the figures; undecided is no pass"], columns, rows)
    for bar in bars:
        # Of one that is undecided the table says why; what a bar concludes holds where it failed.
        if bar["status"] == "failed" and bar["fails"]:
            yield Sentence([Name(bar["bar"]), " failed for ", Name(bar["candidate"]), ": ", Name(bar["fails"])], "bad")
    for rules, candidates, names in set_aside(aside):
        whom: list[Text] = ["Not judged for ", Name(candidates), " under ", Name(rules)]
        yield Sentence([*whom, ", as no planned cell is of their metric: ", Name(names), "."])


def _predictions(predictions: Sequence[Row]) -> Iterable[Block]:
    if not predictions:
        return
    yield Heading(2, ["Predictions"])
    rows: list[Sequence[Cell]] = []
    for held in predictions:
        said: list[Text] = [f"Frozen as event {held['event']}: ", Name(held["name"]), f", {held['standing']}: "]
        about: list[Text] = [" (", Name(held["about"]), ")"] if held["about"] else []
        marks = [mark for mark in ("superseded", "tainted") if held[mark]]
        tone = "" if held["standing"] == "confirmatory" and not marks else "bad"
        yield Sentence([*said, held["because"], *(f", {mark}" for mark in marks), *about], tone)
        if held["unread"]:
            yield Sentence(["It can't be read any more, so nothing is held against it: ", Name(held["unread"])], "bad")
        rows += [
            [
                str(held["event"]), Name(each["text"]), Name(each["rules"]), each["rules_standing"] or "–",
                Name(each["candidate"]), Name(each["figure"]), each["status"], Name(each["why"]),
            ]
            for each in held["results"]
        ]  # fmt: skip
    columns = ("event", "expected", "rules", "rule set", "candidate", "figure", "status", "why")
    if rows:
        yield Grid(["What was expected, held against the figures"], columns, rows, frozenset({"event"}))


def _unmeasured(data: Mapping[str, Any]) -> Iterable[Block]:
    yield Heading(2, ["Unmeasured, by reason"])
    failures: Sequence[Row] = data["unmeasured"]
    if not failures:
        yield Sentence(["Every planned cell was measured."])
        return
    rows: list[Sequence[Cell]] = [
        [
            Name(row["candidate"]), Name(row["rules"]), Name(row["stage"]), Name(row["reason"]), Name(row["domain"]),
            str(row["count"]),
        ]
        for row in failures
    ]  # fmt: skip
    columns = ("candidate", "rules", "stage", "reason", "domain", "cells")
    caption = ["Cells without a measurement: stage, reason, and whose fault it was"]
    yield Grid(caption, columns, rows, frozenset({"cells"}))
    yield Chart("failures", ["Unmeasured cells, by reason"], failures)


def _spend(spend: Mapping[str, Any] | None) -> Iterable[Block]:
    if spend is None:
        return
    yield Heading(2, ["Spend"])
    yield Sentence([spend_said(spend)])
    for table in spend_tables(spend):
        named = [column in SPEND_NAMES for column in table.columns]
        lines = [[Name(cell) if name else cell for name, cell in zip(named, row, strict=True)] for row in table.rows]
        yield Grid([table.title], table.columns, lines, frozenset(table.columns) - SPEND_NAMES)


def _reading(data: Mapping[str, Any]) -> Iterable[Block]:
    flags: Sequence[Row] = data["flags"]
    if flags:
        rows: list[Sequence[Cell]] = [
            [Name(row["candidate"]), Name(row["rules"]), Name(row["flag"]), str(row["count"])] for row in flags
        ]
        yield Heading(2, ["Flags of what was read"])
        columns = ("candidate", "rules", "flag", "cells")
        caption = ["What was noted in reading; each cell is counted as it was scored"]
        yield Grid(caption, columns, rows, frozenset({"cells"}))
    repeats: Sequence[Row] = data["repeatability"]
    if repeats:
        rows = [
            [
                Name(row["candidate"]), Name(row["rules"]), f"{row['changed']} of {row['repeated']}", str(row["cases"]),
                repeats_text(row), majority_text(row.get("majority")),
            ]
            for row in repeats
        ]  # fmt: skip
        yield Heading(2, ["Repeats"])
        columns = ("candidate", "rules", "changed", "cases", "pass@k", "majority")
        right = frozenset({"changed", "cases"})
        yield Grid(["Repeated cases whose outcome changed between identical repeats"], columns, rows, right)


def _frozen(data: Mapping[str, Any]) -> Iterable[Block]:
    yield Heading(2, ["What was frozen when"])
    first = data["first_response"]
    if first is None:
        yield Sentence(["No response had come: nothing was known when these were frozen."])
    elif first == 0:
        yield Sentence(["The first response is older than this ledger: nothing here was frozen before it."])
    else:
        yield Sentence([f"The first response of the run is event {first}. The chain orders; a clock only claims."])
    said = {True: "before", False: "after", None: "–"}
    rows: list[Sequence[Cell]] = [
        [
            str(row["seq"]), Name(row["what"]), Name(row["label"]), Name(row["at"]), Name(row["digest"]),
            said[row["before_first_response"]],
        ]
        for row in data["frozen"]
    ]  # fmt: skip
    columns = ("event", "what", "name", "time claimed", "BLAKE3 of the file", "first response")
    yield Grid(["Every file that these numbers stand on"], columns, rows, frozenset({"event"}))
    others: Sequence[Row] = data["other_rules"]
    if others:
        lines: list[Sequence[Cell]] = [
            [Name(row["rules"]), str(row["freeze"]), row["standing"], row["because"]] for row in others
        ]
        columns = ("rules", "event", "standing", "because")
        yield Grid(
            ["Other rule sets that were tried on this run, not shown here"], columns, lines, frozenset({"event"})
        )
    else:
        yield Sentence(["Every rule set that was tried on this run is shown above."])


def _comparability(fingerprints: Sequence[Row]) -> Iterable[Block]:
    if not fingerprints:
        return
    yield Heading(2, ["Comparability"])
    rows: list[Sequence[Cell]] = [
        [Name(row["candidate"]), Name(row["rules"]), Name(row["comparable"])] for row in fingerprints
    ]
    columns = ("candidate", "rules", "comparable fingerprint")
    yield Grid(
        ["Numbers with one fingerprint mean the same; `harness compare` says what tells others apart"], columns, rows
    )


def _correction(correction: Row | None) -> Iterable[Block]:
    if not correction:
        return
    yield Heading(2, ["Correction"])
    old = f"This report corrects and replaces the one recorded as event {correction['corrects']} (BLAKE3 "
    yield Sentence([old, Name(correction["digest"]), "). Reason: ", Name(correction["reason"])], "bad")
    columns = ("candidate", "metric", "rules before", "before", "rules after", "after")
    rows: list[Sequence[Cell]] = [
        [
            Name(row["candidate"]), Name(row["metric"]), Name(row["rules_before"]), _said(row["before"]),
            Name(row["rules_after"]), _said(row["after"]),
        ]
        for row in correction["numbers"]
    ]  # fmt: skip
    yield Grid(["Each number before and after"], columns, rows, frozenset({"before", "after"}))
    flips: Sequence[Row] = correction["flips"]
    if not flips:
        yield Sentence(["No cell flipped."])
        return
    lines: list[Sequence[Cell]] = [
        [
            str(flip["cell"]), Name(flip["case"]), Name(flip["candidate"]), Name(flip["metric"]),
            _value(flip["before"]), _value(flip["after"]), Name(flip["stage"]), Name(flip["rules_before"]),
        ]
        for flip in flips
    ]  # fmt: skip
    columns = ("cell", "case", "candidate", "metric", "before", "after", "stage", "compared with")
    right = frozenset({"cell", "before", "after"})
    yield Grid([f"The {len(flips)} figures of cells that moved, and the stage that moved them"], columns, lines, right)


def _said(row: Row | None) -> str:
    if row is None:
        return "–"
    return f"{figure_of(row)} ({row['planned']} planned)"


def _value(value: float | None) -> str:
    return "unmeasured" if value is None else f"{value:g}"


def _receipt(receipt: Row) -> Iterable[Block]:
    yield Heading(2, ["Receipt"])
    yield Sentence(
        [
            "`harness check FILE` recomputes every number here from the ledger, as of the event named below, and says"
            " what has become known since."
        ]
    )
    rows: list[Sequence[Cell]] = [
        ["ledger", Name(f"{receipt['origin']}/{receipt['ledger']}")],
        ["as of event", str(receipt["size"])],
        ["whose hash is", Name(receipt["head"])],
        ["run", Name(receipt["run"])],
        *(
            [["rule set ", Name(each["rules"])], [Name(each["identity"]), " (file ", Name(each["file"]), ")"]]
            for each in receipt["rules"]
        ),
        *([["tally of ", Name(each["rules"])], f"event {each['event']}"] for each in receipt["tallies"]),
    ]
    yield Grid(["What these numbers rest on"], ("what", "value"), rows)
