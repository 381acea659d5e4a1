"""What a verdict rests on, what it can't tell and what to do about it, in the words of `ledger verify` and the pages.

Everything is said from the verdict's JSON (`Verdict.as_json`), which is all that a page has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ledger._said import counted

__all__ = ["CHECKED", "KEEP", "MEND", "advice", "cannot", "checked", "keep", "outside", "place"]

CHECKED = (
    "Checked: the grammar of every column, every line, its hash and its link to the one before; every body and blob"
    " against its commitment; causes and edges; one plan a run; tables, guards, views and indexes against the ones in"
    " force; and SQLite's own integrity check."
)
_CHECKED_AFTER = (
    "Checked: event {first} and all after it, with their bodies, blobs and edges; one plan a run; tables, guards, views"
    " and indexes; SQLite's own integrity check. Not checked: the first {since} events, their bodies, blobs and edges;"
    " they were taken as the checkpoint of --since has them, by its peaks and the line of event {since}. A change to"
    " them shows without --since."
)
_CLOCK = "whether a clock told the truth."
_ALONE = (
    f"Can't tell: whether events were cut off the end, or the whole file was written anew; {_CLOCK} Nothing outside"
    " this file was consulted."
)
_NOT_VOUCHED = (
    f"Can't tell: whether events were cut off the end, or the whole file was written anew; {_CLOCK} Nothing that was"
    " found outside this file vouches for it."
)
_AFTER = "Can't tell: whether events after the first {size} were cut off or written anew; "
_NOBODY = (
    " Nor who made the checkpoint, as no key was given: whoever can write this file may have written that one too."
    " --key KEY holds it against a key that you had from elsewhere."
)
KEEP = "To notice either later, keep the head somewhere else: {head}"
_KEEP_SIGNED = (
    "Keep checkpoints where those who write this file can't reach them; `ledger checkpoint` signs what came after the"
    " first {size} events."
)
MEND = (
    "What to do: leave the file as it is, keep a copy, and compare it with a snapshot or an export from before;"
    " numbers that rest on it prove nothing until then."
)
_VOUCHED = ("MATCHES CHECKPOINT", "TIMESTAMPED", "NOT FULLY CHECKED")
"""Verdicts that a checkpoint may stand behind."""
_EXPORT = "`ledger export --full` and `ledger import` write the events into a new file, every hash as it is."
# A part of a problem's, failure's or note's text, and what is to be done about it; for each text, the first that fits.
_ADVICE = (
    (
        ("newer than this package",),
        "A newer release wrote bodies, or views and indexes, that this one can't read: verify with that release. Chain,"
        " commitments and form hold; reports of this release are made with its own views, never with those.",
    ),
    (
        ("as the checkpoint ", "the events that the checkpoint "),
        "A ledger that parts from a checkpoint, or is shorter: look for the copy that the checkpoint was made of"
        " (snapshots, git history), and verify that with the same checkpoint. If no copy fits, the checkpoint's own"
        " file may be the one that was changed: have its maker send it again, and give --key.",
    ),
    (
        ("the ledger that ",),
        "Checkpoints of another ledger beside this one: one of the two was moved. Put the ledger back that they were"
        " made of, or move the folder to it.",
    ),
    (
        ("which an anchor names",),
        "An anchor event that names another root: the ledger was written anew after that checkpoint, or by a program"
        " that reckons roots otherwise. Hold it against the checkpoint itself.",
    ),
    (
        ("expected a signature by",),
        "A checkpoint that isn't signed by your key: have it sent again by its maker. If the maker has a new key, learn"
        " it from the maker, not from the file, and give both with --key.",
    ),
    (
        ("the unfinished checkpoint ",),
        "A checkpoint that was begun on another or a longer ledger than this: look for the copy that has its events"
        " (snapshots, git history). If the .peaks file itself is what is wrong, move it away.",
    ),
    (
        ("is of an unfinished checkpoint",),
        "A checkpoint whose signing broke off, or whose note was taken away: if it was ever handed out, ask for it"
        " again.",
    ),
    (
        ("says nothing: ", "files of the folder were exchanged", "it is of 0 events"),
        "A checkpoint's file that can't be used: fetch it again (git history, a snapshot), under its own name.",
    ),
    (
        ("expected checkpoints not found",),
        "Checkpoints that were made and aren't here: copy the ledger's folder NAME.checkpoints along (`ledger snapshot`"
        " does), or name the files with --checkpoint. Without them nothing shows that the end wasn't cut off.",
    ),
    (
        ("a key was given, and there is no checkpoint", "a checkpoint is required"),
        "No checkpoint to go by: name one with --checkpoint; the ledger's keeper makes one with `ledger checkpoint`.",
    ),
    (
        ("no timestamp of a matching checkpoint", "the root certificate "),
        "No timestamp that verifies: `ledger anchor rfc3161` has one made; --tsa-root takes the authority's root"
        " certificate, as PEM.",
    ),
    (
        ("the checkpoint of --since can't be gone by",),
        "Nothing was left out: the verdict is that of a whole check. --since takes a signed checkpoint with its .peaks"
        " file beside it, as `ledger checkpoint` writes both.",
    ),
    (
        ("is gone and no redact event names it", "is present"),
        "Withheld without a redact event, or named by one and still there: somebody changed rows by hand, or only a"
        " part of a redaction was copied. A snapshot from before shows which.",
    ),
    (
        ("SQLite's integrity check", "reading ", "the schema of the file"),
        "Damaged pages: copy file and -wal away first, test the disk, and go back to a snapshot that verifies.",
    ),
    (
        (
            "is not as shipped",
            "is not part of the ledger",
            "of the views and indexes",
            "views and indexes of release",
            "the table ",
            "the trigger ",
            "the view ",
            "the index ",
        ),
        f"Tables, guards, views or indexes that aren't the release's: if no event is at fault, {_EXPORT}",
    ),
    (
        ("an edge is missing", "an edge that no event's causes give"),
        f"Edges are derived from causes: if nothing else is at fault, {_EXPORT}",
    ),
    (
        (
            " missing",
            "the hash of ",
            "the commitment of the body",
            "a blob",
        ),
        "Events, bodies or blobs that aren't what was hashed: a snapshot from before still has them; compare"
        " `ledger show SEQ` on both.",
    ),
)


def place(problem: Mapping[str, Any]) -> str:
    """Where a problem is, for people."""
    return "the file" if problem["seq"] is None else f"event {problem['seq']}"


def checked(found: Mapping[str, Any]) -> str:
    """What was checked, and what wasn't."""
    since = int(found["since"])
    return _CHECKED_AFTER.format(first=since + 1, since=since) if since else CHECKED


def _counting(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in found["checkpoints"] if each["holds"] and not each["problem"]]


def outside(found: Mapping[str, Any]) -> list[str]:
    """A sentence for each checkpoint that was held against the ledger."""
    lines: list[str] = []
    for each in found["checkpoints"]:
        said = "" if each["size"] is None else f" of {counted(each['size'], 'event')}"
        start = f"Checkpoint{said} ({each['file']}): "
        if each["problem"]:
            why = "the ledger doesn't extend it" if each["holds"] is False else "doesn't count"
            lines.append(f"{start}{why}: {each['problem']}.")
            continue
        if each["holds"] is None:
            lines.append(f"{start}not held against the ledger, as those events weren't read again.")
            continue
        names = ", ".join(each["unknown"])
        if each["signed_by"]:
            also = f"; also on it, but unknown: {names}" if names else ""
            signed = f"signed by {', '.join(each['signed_by'])}{also}"
        else:
            signed = f"signature not checked, as no key was given; it says it is by {names}"
        lines.append(f"{start}the ledger extends it; {signed}.")
        lines += [f"  Timestamped by {by['name']} at {by['at']}." for by in each["timestamps"]]
    return lines


def cannot(found: Mapping[str, Any]) -> str:
    """What the verdict can't tell."""
    counting = _counting(found)
    if found["verdict"] not in _VOUCHED or not counting or any(each["problem"] for each in found["checkpoints"]):
        return _NOT_VOUCHED if found["checkpoints"] else _ALONE
    size = max(int(each["size"]) for each in counting)
    nobody = "" if any(each["signed_by"] for each in counting) else _NOBODY
    if size >= int(found["events"]):
        return f"Can't tell: whether events that came later were cut off; {_CLOCK}{nobody}"
    return f"{_AFTER.format(size=size)}{_CLOCK}{nobody}"


def keep(found: Mapping[str, Any]) -> str:
    """What to do so that the next verdict can tell more."""
    size = max((int(each["size"]) for each in _counting(found)), default=0)
    return _KEEP_SIGNED.format(size=size) if size else KEEP.format(head=found["head"])


def advice(found: Mapping[str, Any]) -> list[str]:
    """What to do about what was found, each once. Nothing ever mends a ledger in place."""
    texts: Sequence[str] = [
        *(str(each["what"]) for each in found["problems"]), *found["failures"], *found["notes"],
    ]  # fmt: skip
    general = [MEND] if found["verdict"] == "TAMPERED" else []
    due = {next((said for parts, said in _ADVICE if any(part in text for part in parts)), "") for text in texts}
    return general + [said for _, said in _ADVICE if said in due]
