"""A ledger taken apart into events that can be changed, and put together again with every hash right.

    story = Retold(path)
    story.one("plan").body["epochs"] = 2
    seqs = story.write(copy)          # the seq that each event has now, by its mark

Every hash, salt, commitment, edge and head fits afterwards; what wasn't touched keeps its salt and its commitment, so a
ledger that is told again as it was is the same ledger, row for row.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blake3 import blake3

from ledger._canonical import canonical
from tests.ledger.ledgers import drop_guards

__all__ = ["Fact", "Retold"]

_NEW = itertools.count(1_000_000)
_SEQS: Mapping[str, tuple[str, ...]] = {
    "plan": ("fixtures.*.freeze", "rules.*.freeze", "candidates.*.prompt_freeze", "prices"),
    "tally": ("freeze",),
    "reuse": ("of",),
    "report": ("corrects",),
    "publish": ("report",),
    "clear": ("taint",),
    "redact": ("bodies.*",),
    "gate": ("results.*.tally", "results.*.against_tally"),
}
"""Where a body says which event it speaks of."""
_TARGETED = {"event", "freeze", "report", "supersession"}


@dataclass
class Fact:
    """One event. `mark` is what others know it by: the seq that it had, or a number that no ledger has yet.

    `causes`, and every seq in `body`, are marks. `body` is without its blobs, None where it is withheld; a blob is None
    where it is. `kept` are the commitments that it had, used again for what is as it was.
    """

    kind: str
    run: str
    cell: int
    at: str
    causes: list[int]
    body: dict[str, Any] | None
    blobs: dict[str, bytes | None]
    mark: int = field(default_factory=lambda: next(_NEW))
    kept: dict[str, tuple[str, str | None, bytes | None]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        assert self.body is not None
        return self.body[name]

    def __setitem__(self, name: str, value: Any) -> None:
        assert self.body is not None and name in self.body, f"a {self.kind} has no {name}"
        self.body[name] = value

    def update(self, **changes: Any) -> None:
        """Change several fields."""
        for name, value in changes.items():
            self[name] = value

    def another(self, **changes: Any) -> Fact:
        """A new event like this one, with other fields; `causes` and `cell` may be among them."""
        at = {name: changes.pop(name) for name in ("causes", "cell", "run", "blobs") if name in changes}
        body = {**json.loads(json.dumps(self.body)), **changes}
        found = {"causes": list(self.causes), "cell": self.cell, "run": self.run, "blobs": dict(self.blobs), **at}
        return Fact(kind=self.kind, at=self.at, body=body, **found)

    def lines(self, name: str) -> list[Any]:
        """A blob of JSON lines."""
        return [json.loads(line) for line in self.data(name).splitlines() if line.strip()]

    def put_lines(self, name: str, rows: Iterable[Any]) -> None:
        """Write such a blob."""
        self.blobs[name] = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)

    def data(self, name: str) -> bytes:
        """A blob that is there."""
        found = self.blobs[name]
        assert found is not None
        return found

    def edit(self, **changes: Any) -> None:
        """Change members of the JSON object in blob `body`; None takes one away."""
        value = {**json.loads(self.data("body")), **changes}
        self.blobs["body"] = json.dumps({name: each for name, each in value.items() if each is not None}).encode()


class Retold:
    """The events of a ledger, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as rows:
            self.facts = list(_read(rows))
            hashes = dict(rows.execute("SELECT hash, seq FROM events").fetchall())
        self.heads = {mark: hashes[fact["head"]] for mark, fact in self._by_mark().items() if _tells_head(fact, hashes)}

    def _by_mark(self) -> dict[int, Fact]:
        return {fact.mark: fact for fact in self.facts}

    @property
    def key(self) -> bytes:
        """The ledger's identity key."""
        return bytes.fromhex(self.facts[0]["identity_key"])

    def all(self, kind: str, run: str | None = None, cell: int | None = None) -> list[Fact]:
        """The events of a kind, of a run and a cell where they are named."""
        found = (fact for fact in self.facts if fact.kind == kind)
        return [fact for fact in found if run in (None, fact.run) and cell in (None, fact.cell)]

    def one(self, kind: str, run: str | None = None, cell: int | None = None) -> Fact:
        """The only one, or of several the first."""
        return self.all(kind, run, cell)[0]

    def last(self, kind: str, run: str | None = None, cell: int | None = None) -> Fact:
        """The newest."""
        return self.all(kind, run, cell)[-1]

    def frozen(self, what: str) -> Fact:
        """The first freeze of a fixture, of rules, of a prompt, ..."""
        return next(fact for fact in self.all("freeze") if fact["what"] == what)

    def by(self, mark: int) -> Fact:
        """The event of a mark."""
        return self._by_mark()[mark]

    def insert(self, after: Fact, *facts: Fact) -> None:
        """Let events have happened right after another."""
        at = self.facts.index(after) + 1
        self.facts[at:at] = facts

    def drop(self, *facts: Fact) -> None:
        """Let events never have happened; whatever names them as a cause no longer does."""
        gone = {fact.mark for fact in facts}
        self.facts = [fact for fact in self.facts if fact.mark not in gone]
        for fact in self.facts:
            fact.causes = [cause for cause in fact.causes if cause not in gone]

    def write(self, target: Path) -> dict[int, int]:
        """Write them as a ledger; the seq of each, by its mark."""
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.path, target)
        seqs = {fact.mark: number for number, fact in enumerate(self.facts, start=1)}
        with closing(sqlite3.connect(target, isolation_level=None)) as rows:
            rows.execute("PRAGMA synchronous=OFF")
            rows.execute("BEGIN")
            guards = drop_guards(rows)
            for table in ("edges", "blobs", "events"):
                rows.execute(f"DELETE FROM {table}")
            _write(rows, self.facts, seqs, self.heads)
            for guard in guards:
                rows.execute(guard)
            rows.execute("COMMIT")
            rows.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return seqs


def _tells_head(fact: Fact, hashes: Mapping[str, int]) -> bool:
    return fact.kind == "report" and fact.body is not None and fact["head"] in hashes


def _read(rows: sqlite3.Connection) -> Iterator[Fact]:
    events = rows.execute(
        "SELECT seq, kind, run, cell, at, causes, body_hash, salt, body FROM events ORDER BY seq"
    ).fetchall()
    for seq, kind, run, cell, at, causes, digest, salt, text in events:
        body = None if text is None else json.loads(text)
        kept: dict[str, tuple[str, str | None, bytes | None]] = {
            "": (digest, salt, None if text is None else text.encode())
        }
        names = {} if body is None else {each["hash"]: name for name, each in body.pop("blobs", {}).items()}
        blobs: dict[str, bytes | None] = {}
        stored = rows.execute("SELECT hash, salt, encoding, data FROM blobs WHERE seq = ? ORDER BY id", (seq,))
        for known, mark, encoding, data in stored:
            name = names.get(known, f"withheld {known}")
            plain = zlib.decompress(data) if encoding and data is not None else data
            blobs[name], kept[name or " "] = plain, (known, mark, plain)
        yield Fact(kind, run, cell, at, json.loads(causes), body, blobs, mark=seq, kept=kept)


def _write(rows: sqlite3.Connection, facts: list[Fact], seqs: Mapping[int, int], heads: Mapping[int, int]) -> None:
    prev, at, hashes = "0" * 64, "", {}
    for fact in facts:
        seq, at = seqs[fact.mark], max(fact.at, at)
        stored = [(name, data, *_committed(fact, name, data)) for name, data in fact.blobs.items()]
        salt, text, digest = None, None, fact.kept[""][0] if "" in fact.kept else ""
        if fact.body is not None:
            body = json.loads(json.dumps(fact.body))
            if fact.mark in heads:
                body["head"] = hashes[heads[fact.mark]]
            if stored:
                sizes = fact.kept.get("", ("", None, None))[2]
                body["blobs"] = {
                    name: {"hash": known, "size": len(data) if data is not None else _size(sizes, name)}
                    for name, data, known, _ in stored
                }
            text = canonical(_renumbered(fact.kind, body, seqs))
            digest, salt = _committed(fact, "", text)
        causes = sorted({seqs[cause] for cause in fact.causes})
        listed = json.dumps(causes, separators=(",", ":"))
        line = (
            f'{{"v":1,"seq":{seq},"prev":"{prev}","at":"{at}","kind":"{fact.kind}","run":"{fact.run}",'
            f'"cell":{fact.cell},"causes":{listed},"body":"{digest}"}}'
        )
        own = hashes[fact.mark] = blake3(line.encode()).hexdigest()
        rows.execute(
            "INSERT INTO events VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (seq, own, prev, at, fact.kind, fact.run, fact.cell, listed, digest, salt, text and text.decode()),
        )
        rows.executemany(
            "INSERT INTO blobs (hash, seq, salt, encoding, data) VALUES (?, ?, ?, '', ?)",
            [(known, seq, mark, data) for _, data, known, mark in stored],
        )
        rows.executemany("INSERT INTO edges VALUES (?, ?)", [(cause, seq) for cause in causes])
        prev = own


def _committed(fact: Fact, name: str, data: bytes | None) -> tuple[str, str | None]:
    """The commitment to some bytes and its salt: those of before, where the bytes are."""
    known = fact.kept.get(name)
    if known is not None and known[2] == data:
        return known[0], known[1]
    assert data is not None
    salt = blake3(f"{fact.mark} {name}".encode() + data).hexdigest()[:32]
    return blake3(bytes.fromhex(salt) + data).hexdigest(), salt


def _size(text: bytes | None, name: str) -> int:
    return json.loads(text or b"{}")["blobs"][name]["size"]


def _renumbered(kind: str, body: Any, seqs: Mapping[int, int]) -> Any:
    """The body with the seqs that its events have now."""
    for place in _SEQS.get(kind, ()):
        _renumber(body, place.split("."), seqs)
    for figure in body.get("figures", ()) if kind == "report" else ():
        if isinstance(figure, dict) and isinstance(figure.get("tally"), int):
            figure["tally"] = seqs.get(figure["tally"], figure["tally"])
    for each in ("target", "by"):
        target = body.get(each)
        if isinstance(target, dict) and target["what"] in _TARGETED:
            target["id"] = str(seqs.get(int(target["id"]), int(target["id"])))
    return body


def _renumber(value: Any, steps: list[str], seqs: Mapping[int, int]) -> None:
    first, *rest = steps
    places = range(len(value)) if first == "*" else [first]
    for place in places:
        if rest:
            _renumber(value[place], rest, seqs)
        elif (place in value if isinstance(value, dict) else True) and value[place] is not None:
            value[place] = seqs.get(value[place], value[place])
