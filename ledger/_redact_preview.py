"""What a redaction comes to, before or after it: what rests on its targets, what else holds the same text, and where
it can't reach."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger._copies import copies_of
from ledger._redact_judged import shown_to
from ledger._redact_targets import Targets
from ledger._resting import Resting, rests_on
from ledger._store import Ledger
from ledger.kinds import NEVER_REDACTED

__all__ = ["Preview", "preview"]

_RELEASE = "SELECT body ->> '$.release' FROM main.events WHERE kind = 'schema' ORDER BY seq DESC LIMIT 1"
_KNOWS_CELLS = 2
_KINDS = "SELECT seq, kind FROM main.events WHERE seq IN (SELECT value FROM json_each(?))"
_LEFT = (
    "SELECT seq, hash FROM main.blobs WHERE data IS NOT NULL AND seq IN (SELECT value FROM json_each(?))"
    " AND hash NOT IN (SELECT value FROM json_each(?)) ORDER BY id"
)
# What was imported of a cell stands in the artifact too, and that once for every run that came out of it.
_ARTIFACTS = (
    "WITH parts AS (SELECT whole.seq AS seq, whole.body ->> '$.digest' AS digest FROM main.events AS part"
    " CROSS JOIN json_each(part.causes) AS cause CROSS JOIN main.events AS whole ON whole.seq = cause.value"
    " WHERE part.seq IN (SELECT value FROM json_each(?)) AND part.kind = 'import' AND whole.kind = 'import')"
    " SELECT blobs.seq AS seq, blobs.hash AS hash FROM main.events AS event"
    " CROSS JOIN main.blobs ON blobs.seq = event.seq WHERE event.kind = 'import' AND event.cell = 0"
    " AND blobs.data IS NOT NULL AND (event.seq IN (SELECT seq FROM parts)"
    " OR event.body ->> '$.digest' IN (SELECT digest FROM parts))"
    " AND blobs.hash NOT IN (SELECT value FROM json_each(?)) ORDER BY blobs.id"
)


@dataclass(frozen=True)
class Preview:
    """`kinds` of the targets' events by seq; what rests on them; and in words: `numbers` that no longer reproduce,
    what stays `readable` in this ledger and may hold the same text, what is `unreachable`, and `advice`."""

    targets: Targets
    kinds: Mapping[int, str]
    resting: Sequence[Resting]
    numbers: tuple[str, ...]
    readable: tuple[str, ...]
    unreachable: tuple[str, ...]
    advice: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """For `redact --json`."""
        by_kind = {
            kind: [each.seq for each in self.resting if each.kind == kind]
            for kind in ("score", "tally", "report", "publish")
        }
        return {
            "bodies": list(self.targets.bodies),
            "blobs": [blob._asdict() for blob in self.targets.blobs],
            "already": list(self.targets.already),
            "not_reproducible": {**by_kind, "numbers": list(self.numbers)},
            "readable": list(self.readable),
            "unreachable": list(self.unreachable),
            "advice": list(self.advice),
        }


def preview(ledger: Ledger, targets: Targets) -> Preview:
    """What redacting `targets` would come to. Only reads."""
    seqs = json.dumps(targets.causes)
    found = {int(row["seq"]): str(row["kind"]) for row in ledger.rows(_KINDS, (seqs,))}
    resting = rests_on(ledger, targets.causes)
    judges = shown_to(ledger, targets, resting)
    return Preview(
        targets, found, resting, tuple(_numbers(resting)),
        (*(each.readable for each in judges), *_readable(ledger, targets, resting, seqs)),
        tuple(_unreachable(ledger.path)),
        (*_advice(ledger, found, targets), *(said for each in judges for said in each.advice)),
    )  # fmt: skip


def _numbers(resting: Sequence[Resting]) -> Iterator[str]:
    scores = Counter((each.run, each.rules) for each in resting if each.kind == "score")
    tallies: dict[tuple[str, str | None], list[int]] = {}
    for each in resting:
        if each.kind == "tally":
            tallies.setdefault((each.run, each.rules), []).append(each.seq)
    for run, rules in dict.fromkeys((*scores, *tallies)):
        said = f"run {run} under {rules}: {scores[run, rules]} score{'' if scores[run, rules] == 1 else 's'}"
        counted = ", ".join(map(str, tallies.get((run, rules), ())))
        yield said + (f", tally {counted}" if counted else "")
    for each in resting:
        if each.kind == "report":
            yield f"report {each.seq}"
        elif each.kind == "publish":
            yield f"publication {each.seq} to {each.recipient}"


def _readable(ledger: Ledger, targets: Targets, resting: Sequence[Resting], seqs: str) -> Iterator[str]:
    hashes = json.dumps([blob.hash for blob in targets.blobs])
    for row in copies_of(ledger, [blob.hash for blob in targets.blobs]):
        yield f"blob {str(row['hash'])[:16]}… of event {row['seq']}: the same bytes as blob {str(row['target'])[:16]}…"
    for row in ledger.rows(_LEFT, (seqs, hashes)):
        yield f"blob {str(row['hash'])[:16]}… of event {row['seq']}: a blob of the same event"
    for row in ledger.rows(_ARTIFACTS, (seqs, hashes)):
        yield f"blob {str(row['hash'])[:16]}… of event {row['seq']}: the artifact that it was imported with"
    bodies = set(targets.bodies)
    named = {blob.seq for blob in targets.blobs}
    for each in resting:
        if each.kind in NEVER_REDACTED or each.withheld or each.seq in bodies:
            continue
        how = "the body that names what is withheld" if each.seq in named else "derived from what is withheld"
        yield f"event {each.seq} ({each.kind}): {how}"


def _unreachable(path: Path) -> Iterator[str]:
    repository = next((folder for folder in path.absolute().parents if (folder / ".git").exists()), None)
    where = f" (this ledger lies in the repository {repository})" if repository else ""
    yield f"git history: every commit that holds the file keeps the bytes{where}"
    yield "copies made before: snapshots, bundles, backups, and ledgers of others that replayed it"
    yield "what was printed, exported, reported or published from it"
    yield "free space of the disk and pages of other files, in which the file system may have left old bytes"


def _advice(ledger: Ledger, kinds: Mapping[int, str], targets: Targets) -> Iterator[str]:
    release = ledger.sql(_RELEASE).fetchone()
    if release and int(release[0]) < _KNOWS_CELLS and any(kinds[seq] == "cell" for seq in targets.bodies):
        yield (
            f"the views in this file are release {release[0]}'s, which lose sight of a cell whose own body is withheld;"
            " `ledger upgrade` gives it views that don't"
        )
