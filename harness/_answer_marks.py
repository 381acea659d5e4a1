"""What must stand beside a figure for how its answers came about: who answered, and what was asked again.

The views `served`, `asked_again` and `answer_marks` say it of events; the words that stand beside figures are made in
`scoreboard`, and for a part of a run's cells here, in the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from harness._attempts import read_exchange
from harness._candidate import Candidate, Protocol
from harness._identity import tools_digest
from harness._recorded import attempts_of, exchange_of
from harness.parse import Reading
from ledger import Event, Ledger, NotFound, over_views
from ledger.kinds import Plan, PlanCandidate, Request, Response, Reuse

__all__ = [
    "ANSWERED", "SPLITS", "Names", "candidate_marks", "mark_words", "part_words", "server_of", "servers", "short_words",
    "told",
]  # fmt: skip

ANSWERED = "how it was answered"
"""What the column of marks is called."""
SPLITS = ("served", "tools")
"""What `--by` takes beside the keys of cases: these are of answers."""
_KINDS: Mapping[str, str] = {
    "model": "answered by {} models: ", "fingerprint": "answered by {} system fingerprints: ",
    "provider": "answered by {} providers: ", "tools": "asked with {} lists of tools: ",
}  # fmt: skip
_SHOWN = 4
_DIGITS = 12
_NONE = "none"
_MARKS = over_views("SELECT rules, marks FROM scoreboard WHERE run = ? AND candidate = ? AND marks <> ''")
_TOLD = (
    "SELECT candidate, what, name, count(*) AS cells FROM served WHERE run = ?"
    " GROUP BY candidate, what, name"
    " ORDER BY candidate, instr('model fingerprint provider tools', what), cells DESC, name"
)
_SERVED = over_views("SELECT cell, what, name FROM served WHERE run = ? ORDER BY cell, what, name")
_SILENT = (
    "SELECT DISTINCT cell FROM main.events WHERE run = ? AND kind = 'parse' AND body ->> '$.schema' = 1"
    " AND body ->> '$.status' <> 'error' ORDER BY cell"
)
_CANDIDATES = over_views("SELECT cell, candidate FROM cell_candidates WHERE run = ?")

Names = Mapping[str, Sequence[str]]
"""Who answered one cell: by what is named (`model`, `fingerprint`, `provider`, `tools`), its names."""


def mark_words(row: Mapping[str, Any]) -> str:
    """The mark beside one figure of a scoreboard for how its answers came about; empty where there is none."""
    return str(row.get("marks", ""))


def _again_words(row: Mapping[str, Any]) -> str:
    """How many of a candidate's cells were asked again; empty for none."""
    again = row.get("asked_again", 0)
    return f"{again} of {row['asked_again_of']} were asked again" if again else ""


def short_words(row: Mapping[str, Any]) -> str:
    """The mark of a row in a few words, for a figure whose whole mark stands ahead of it; empty where there is none."""
    said = [_again_words(row), "more than one server" if row["mixed"] else ""]
    return "; ".join(filter(None, said)) or ("marked" if row["marks"] else "")


def part_words(row: Mapping[str, Any], cells: Iterable[Names]) -> str:
    """The mark of a row over some cells alone: what was asked again of all, and who answered these."""
    counts: dict[str, Counter[str]] = {}
    for names in cells:
        for what, some in names.items():
            counts.setdefault(what, Counter()).update(some)
    said = [_again_words(row)]
    for what, opening in _KINDS.items():
        found = counts.get(what, Counter[str]())
        if len(found) > 1:
            first = sorted(found.items(), key=lambda one: (-one[1], one[0]))[:_SHOWN]
            said.append(opening.format(len(found)) + ", ".join(f"{_shown(what, name)} ({n})" for name, n in first))
    return "; ".join(filter(None, said))


def candidate_marks(ledger: Ledger, run: str, candidate: str, rules: Collection[str]) -> list[str]:
    """The marks of a candidate's figures under rule sets of these labels, each once."""
    return list(dict.fromkeys(row["marks"] for row in ledger.rows(_MARKS, (run, candidate)) if row["rules"] in rules))


def told(rows: Callable[[str, Sequence[Any]], list[dict[str, Any]]], run: str) -> list[dict[str, Any]]:
    """Every name that the answers of a run tell, with how many cells have it, by candidate."""
    return rows(_TOLD, (run,))


def server_of(names: Names, by: str) -> str | None:
    """The group of a cell in a split by `served` or `tools`; None where nothing was told, or there is no answer."""
    kinds = ("tools",) if by == "tools" else ("model", "fingerprint", "provider")
    said = [_shown(what, name) for what in kinds for name in names.get(what, ())]
    return ", ".join(said) or None


def servers(ledger: Ledger, run: str, plan: Plan) -> dict[int, dict[str, list[str]]]:
    """Who answered each cell of a run. What an older release read without saying is read off the bytes once more."""
    found: dict[int, dict[str, list[str]]] = {}
    for row in ledger.rows(_SERVED, (run,)):
        found.setdefault(int(row["cell"]), {}).setdefault(row["what"], []).append(row["name"])
    silent = [int(row["cell"]) for row in ledger.rows(_SILENT, (run,))]
    labels = {int(row["cell"]): row["candidate"] for row in ledger.rows(_CANDIDATES, (run,))} if silent else {}
    asked = {each.label: _candidate(each) for each in plan.candidates}
    for cell in silent:
        mine = found.setdefault(cell, {})
        candidate = asked.get(labels.get(cell, ""))
        if candidate is not None and plan.via != "import":
            mine.update(_read_again(ledger, run, cell, candidate, mine))
    return found


def _shown(what: str, name: str) -> str:
    return name[:_DIGITS] if what == "tools" else name


def _candidate(planned: PlanCandidate) -> Candidate:
    protocol = cast("Protocol", planned.protocol)
    return Candidate(planned.label, protocol, planned.model, planned.parameters, planned.stream, planned.base_url)


def _read_again(ledger: Ledger, run: str, cell: int, candidate: Candidate, known: Names) -> dict[str, list[str]]:
    attempts = attempts_of(ledger, run, cell)
    exchange = exchange_of(ledger, attempts[-1]) if attempts else None
    if exchange is None or exchange.wire is None or "fingerprint" in known or "provider" in known:
        return {}
    reading: Reading = read_exchange(exchange, candidate, max_wait=0)
    found = {what: list(names) for what, names in reading.served.items()}
    tools = _tools(ledger, attempts[-1].response)
    return {**found, **({"tools": [tools]} if tools and "tools" not in known else {})}


def _tools(ledger: Ledger, came: Event | None) -> str:
    """The digest of the tools that a response's request carried, `none` for none, empty where nobody can tell."""
    try:
        if came is None:
            return ""
        body = ledger.body(came)
        if isinstance(body, Reuse):
            came = ledger.event(body.of)
            body = ledger.body(came)
        if not isinstance(body, Response):
            return ""
        request = next(each for each in map(ledger.event, came.causes) if each.kind == "request")
        asked, sent = ledger.body(request), ledger.blob(request, "body")
    except (NotFound, StopIteration):
        return ""
    key = bytes.fromhex(ledger.genesis.identity_key)
    return (tools_digest(sent, lambda: key) or _NONE) if isinstance(asked, Request) else ""
