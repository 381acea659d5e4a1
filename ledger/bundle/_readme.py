"""The README of a bundle: what it is, how to check it, what it claims, and what is hidden where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["FIXED_WORDS", "number", "readme", "spans"]

_MOST_SPANS = 60
_WHAT = """\
# Evidence

This is evidence out of the ledger `{origin}`: an append-only, hash-chained
record of an evaluation. It proves that the events in it stood in that ledger when the checkpoint was signed, at the
places that they name, and what counts they give.
"""
_HOW = """\
## How to check it

    pip install blake3 cryptography
    python verify.py evidence.zip --key VKEY{seed}

Take VKEY, the verifier key, from elsewhere: from whoever keeps the ledger, by another way than this file came. It
begins with `{origin}+`. Better take `verify.py` from elsewhere too: it is
`ledger/bundle/verify.py` of the package eval-ledger.
`ledger verify evidence.zip --key VKEY{seed}` does the same with the package, and derives again what is shown whole.

The checkpoint is of {size} events, root `{root}`.
{lines}
"""
_ALL_LINES = "`lines.txt` has the line of every one of them, so that nothing can have been left out."
_SOME_LINES = "The lines of the others aren't here (--lines all adds them), so something may have been left out."
_CLAIMS = """\
## What is claimed

Each is worked out again from the scores in `events.jsonl`: k of n measured, of so many planned. A mean shows its total.
"""
_NO_CLAIMS = "Nothing: no figure was asked for, or what carries it is hidden.\n"
_NO_CELL = "Figures of which no cell was planned aren't listed: {count}. They are in `bundle.json`.\n"
_MARKS = """\
How the answers behind these figures came about, which the readers don't work out again:
"""
_RUNS = """\
## Which runs there are

Every run up to the checkpoint that stands on the same fixtures:
"""
_HIDDEN = """\
## What is hidden

Hidden: {words}. What is hidden keeps its line, its place in the order, and a commitment that holds whoever made this
to the text that isn't shown. `events.jsonl` says why of each. By kind, how many bodies, and the seqs:
"""
_LABELS = """\
Hidden freezes may be rule sets. The label of a rule set is shown all the same, and ends with the start of a digest of
its file: whoever knows all of that file but a short text can try texts against it.
"""
_NOT_HIDDEN = "## What is hidden\n\nNothing was asked to be hidden.\n"
_TELLS = """\
Lines, counts and scores are shown: they tell how many cells there are, which of them were right, and which figures
apply to each. Another bundle of the same ledger that hides less can undo what this one hides.
"""
_REDACTED = """
## What is withheld

Redactions in the ledger itself withhold these bodies; whoever made this hasn't got them either:
"""
_REVEALED = """
## What was drawn

{n} of {all} cells, by the seed `{seed}`, are shown whole, with their cases. The seed counts for something only if an
auditor chose it after the checkpoint was signed; `--seed` holds the draw against the one that you gave. Whoever knew
the seed before could sign again until the draw was kind: so have the checkpoint's file before you say the seed, and
give it with `--checkpoint`. Without it, nothing proves that the root is from before the seed was known.
"""
_UNREAD = "\nThe files of these freezes are withheld, so their texts couldn't be looked for: {seqs}.\n"
_ROWS = (
    "redacted hidden: not asked for holds hidden text README.md verify.py bundle.json timestamps blobs file cases.jsonl"
    " run rules candidate metric planned superseded by tainted reported in events cell cells not reported none"
    " complete partial incomplete interrupted aborted of were asked again answered by more than one server marked"
)

FIXED_WORDS = " ".join(
    (
        _WHAT, _HOW, _ALL_LINES, _SOME_LINES, _CLAIMS, _NO_CLAIMS, _NO_CELL, _MARKS, _RUNS, _HIDDEN, _LABELS,
        _NOT_HIDDEN, _TELLS,
        _REDACTED, _REVEALED, _UNREAD, _ROWS,
    )
)  # fmt: skip
"""What is in every README whatever the ledger holds."""


def spans(seqs: Sequence[int]) -> str:
    """Seqs as people write them: 3, 7-19, 40."""
    found: list[tuple[int, int]] = []
    for seq in seqs:
        if found and seq == found[-1][1] + 1:
            found[-1] = (found[-1][0], seq)
        else:
            found.append((seq, seq))
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in found[:_MOST_SPANS]]
    return ", ".join(shown) + (f", and {len(found) - _MOST_SPANS} more places" if len(found) > _MOST_SPANS else "")


def _claims(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    if not claims:
        return [_NO_CLAIMS]
    lines = [_CLAIMS, "| run | rules | candidate | metric | k/n | planned |", "| --- | --- | --- | --- | ---: | ---: |"]
    listed = [each for each in claims if each["planned"] or each["n"]]
    for each in listed:
        counted = f"{each['k']}/{each['n']}" if each["kind"] == "rate" else f"{number(each['total'])} over {each['n']}"
        cells = (each["run"], each["rules"], each["candidate"], each["metric"])
        lines.append(f"| {' | '.join(f'`{_cell(cell)}`' for cell in cells)} | {counted} | {each['planned']} |")
    more = len(claims) - len(listed)
    return [*(lines if listed else []), "", *([_NO_CELL.format(count=more)] if more else [])]


def _marks(marks: Sequence[tuple[str, str, str]]) -> list[str]:
    lines = [f"- run `{_cell(run)}`, `{_cell(candidate)}`: `{_cell(said)}`" for run, candidate, said in marks]
    return [_MARKS, *lines, ""] if lines else []


def number(value: float | None) -> str:
    """A total as people write it: the same whether a reader takes 1 for a whole number or not, and never the digits in
    which a binary fraction misses a decimal one."""
    return "none" if value is None else f"{value:.12g}"


def _cell(text: object) -> str:
    """A label in a table of Markdown: on one line, and without what would end the cell or its code."""
    return "".join(each if each.isprintable() and each not in "`|" else "?" for each in str(text))


def _runs(fixtures: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [_RUNS] if fixtures else []
    for fixture in fixtures:
        lines += [f"### `{_cell(fixture['name'])}`, frozen in {spans(fixture['freezes'])}", ""]
        for run in fixture["runs"]:
            said = ["1 cell" if run["cells"] == 1 else f"{run['cells']} cells"]
            said += [_cell(run["status"])] if run.get("status") else []
            said.append(f"reported in {spans(run['reports'])}" if run["reports"] else "not reported")
            said += [f"superseded by {seq}" for seq in run["superseded_by"]]
            said += [f"tainted by {seq}" for seq in run["tainted_by"]]
            lines.append(f"- run `{run['run']}`, event {run['plan']}: {', '.join(said)}")
        lines.append("")
    return lines


def readme(
    *, origin: str, size: int, root: str, bundle: Mapping[str, Any], places: Mapping[str, Sequence[int]],
    redacted: Mapping[str, int], cells: int, unread: Sequence[int], marks: Sequence[tuple[str, str, str]] = (),
) -> str:  # fmt: skip
    """The README's text. `places` are the seqs of hidden bodies by kind, `cells` how many were drawn from, `marks` how
    answers came about, by run and candidate."""
    reveal = bundle["reveal"]
    lines = [
        _WHAT.format(origin=origin),
        _HOW.format(
            origin=origin, size=size, root=root, seed=" --seed S --checkpoint FILE" if reveal else "",
            lines=_ALL_LINES if bundle["complete"] else _SOME_LINES,
        ),
        *_claims(bundle["claims"]),
        *_marks(marks),
        *_runs(bundle["fixtures"]),
    ]  # fmt: skip
    if bundle["hide"]:
        lines.append(_HIDDEN.format(words=", ".join(bundle["hide"])))
        lines += [f"- {kind}: {len(seqs)} ({spans(seqs)})" for kind, seqs in sorted(places.items())]
        lines += ["", _TELLS]
        if "freeze" in places:
            lines.append(_LABELS)
    else:
        lines.append(_NOT_HIDDEN)
    if redacted:
        lines.append(_REDACTED)
        lines += [f"- {kind}: {count}" for kind, count in sorted(redacted.items())]
    if reveal:
        lines.append(_REVEALED.format(n=reveal["n"], all=cells, seed=_cell(reveal["seed"])))
    if unread:
        lines.append(_UNREAD.format(seqs=spans(unread)))
    return "\n".join(lines).rstrip() + "\n"
