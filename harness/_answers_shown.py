"""Answers for people: a few short lines each within a terminal's width, or whole; and as a table for a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from harness._answers import TEXTS, Answer, Answers
from harness._filter import NO_GROUP
from harness._texts import AnswerTexts, Text
from ledger import printable

__all__ = ["COLUMNS", "answers_csv", "answers_lines", "safe_cell"]

COLUMNS = (
    "rules", "case", "fixture", "candidate", "arm", "epoch", "outcome", "status", "stage", "reason", "verdict", "value",
    "requests", "input_tokens", "output_tokens", "cost", "currency", "latency_ms", "run", "cell", "planned", "frozen",
    "asked", "replied", "parse", "score",
)  # fmt: skip
"""The columns of the view `answers`, in the order that a table has them; its texts follow."""
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_WIDEST = 100
_MOST_GROUPS = 20


def safe_cell(value: object) -> object:
    """A value as no spreadsheet takes for a formula: a text that begins like one gets an apostrophe ahead (OWASP, "CSV
    Injection"). A plain number stays as it is."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}" if value.lstrip(" ").startswith(_STARTS) else value


def answers_csv(found: Answers, texts: AnswerTexts) -> Iterator[str]:
    """A CSV (RFC 4180), a piece at a time: a header, then a row an answer, every text whole. What is unknown is an
    empty cell; a text that isn't there says why in brackets."""
    yield _line([*COLUMNS, *([f"group by {found.by}"] if found.by else []), *TEXTS])
    for each in found.answers:
        told = each.texts(texts)
        group = [each.group] if found.by else []
        yield _line([*(each.row[name] for name in COLUMNS), *group, *(str(told[name]) for name in TEXTS)])


def _line(cells: Sequence[object]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerow([safe_cell(_plain(cell)) for cell in cells])
    return out.getvalue()


def _plain(cell: object) -> object:
    # A NUL ends the file for some readers, and a lone surrogate is no UTF-8.
    if not isinstance(cell, str):
        return cell
    return cell.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()


def answers_lines(found: Answers, texts: AnswerTexts, *, most: int, full: bool, width: int) -> Iterator[str]:
    """Lines for a terminal, everything foreign in them escaped; with `full`, texts are whole and of any width. `most`
    answers are shown; 0 is all of them."""
    for said in (*found.marks, found.sentence(), *_groups(found)):
        yield from _wrapped(said, width)
    shown = found.answers if most == 0 else found.answers[:most]
    group: object = object()
    for each in shown:
        if found.by and each.group != group:
            group = each.group
            name = NO_GROUP if group is None else str(group)
            yield ""
            yield _cut(f"{found.by} = {printable(name)}", width)
        yield ""
        yield from _whole(each, texts) if full else _short(each, texts, width, several=len(found.rules) > 1)
    said = list(_closing(found, len(shown), full=full))
    for each in ("", *said) if said else ():
        yield from _wrapped(each, width)


def _groups(found: Answers) -> Iterator[str]:
    counts = [f"{NO_GROUP if name is None else name} {n}/{of}" for name, n, of in found.groups]
    if counts:
        more = f" and {len(counts) - _MOST_GROUPS} more" if len(counts) > _MOST_GROUPS else ""
        yield f"By {found.by}: {', '.join(counts[:_MOST_GROUPS])}{more}"


def _closing(found: Answers, shown: int, *, full: bool) -> Iterator[str]:
    left = len(found.answers) - shown
    if left:
        yield f"{left} more: --limit 0 lists all of them, --csv and --json have them too."
    if shown and not full:
        yield "--full has whole texts."
    if found.others:
        yield f"Other rule sets of this run: {', '.join(found.others)} (--rules)."
    if found.graded and not found.answers:
        yield f"{found.graded} answers are graded by a value: such a one is neither right nor wrong."


def _wrapped(said: str, width: int) -> list[str]:
    return textwrap.wrap(printable(said), min(width, _WIDEST), break_on_hyphens=False) or [""]


def _title(each: Answer, *, several: bool) -> str:
    row = each.row
    named = [row["case"] if row["case"] is not None else "(case withheld)", row["candidate"] or "(candidate withheld)"]
    if row["epoch"]:
        named.append(f"epoch {row['epoch']}")
    if row["arm"]:
        named.append(str(row["arm"]))
    if several:
        named.append(row["rules"])
    return "  ".join([*map(str, named), _outcome(each)])


def _outcome(each: Answer) -> str:
    row = each.row
    why = f" ({row['reason'] or row['status']})" if row["outcome"] == "unmeasured" else ""
    value = f" {row['value']}" if row["value"] is not None else ""
    # Of what is right or wrong, the verdict says the same again.
    verdict = f" {row['verdict']}" if row["verdict"] and row["outcome"] == "graded" else ""
    return f"{row['outcome']}{value}{verdict}{why}"


def _short(each: Answer, texts: AnswerTexts, width: int, *, several: bool) -> Iterator[str]:
    told = each.texts(texts)
    yield _cut(printable(_title(each, several=several)), width)
    question, given = told["question"], told["input"]
    # A prompt begins alike for every case; what tells cases apart is what each gives to be asked.
    yield _named("asked", question if given.text is None else given, width)
    yield _named("gold", told["gold"], width)
    answer, reply = told["answer"], told["reply"]
    if str(answer):
        yield _named("read", answer, width)
    if str(reply) and (reply.text is None or reply.text != answer.text):
        yield _named("reply", reply, width)


def _named(name: str, text: Text, width: int) -> str:
    return _cut(f"  {name:<6} {printable(' '.join(str(text)[:2000].split()))}", width)


def _cut(line: str, width: int) -> str:
    """A line of at most `width` columns of a terminal; what is cut says so."""
    width = min(width, _WIDEST)
    return line if cell_len(line) <= width else set_cell_size(line, width - 1).rstrip() + "…"


def _whole(each: Answer, texts: AnswerTexts) -> Iterator[str]:
    row = each.row
    yield printable(_title(each, several=True))
    spent = "unknown" if row["cost"] is None else f"{row['cost']:.6g} {row['currency']}"
    tokens = [str(row[name]) if row[name] is not None else "unknown" for name in ("input_tokens", "output_tokens")]
    took = f"{row['latency_ms']} ms" if row["latency_ms"] is not None else "unknown"
    yield printable(f"  tokens {tokens[0]} in, {tokens[1]} out; cost {spent}; took {took}")
    seqs = [
        f"{name} {row[name]}" for name in ("planned", "asked", "replied", "parse", "score") if row[name] is not None
    ]
    yield printable(f"  events: {', '.join(seqs)}")
    told = each.texts(texts)
    for name in ("question", "gold", "answer", "reply", "meta"):
        if str(told[name]):
            yield f"  {name}:"
            for line in str(told[name]).splitlines() or [""]:
                yield f"    {printable(line)}"
