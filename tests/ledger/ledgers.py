"""Ledgers for tests: an example body of every kind, a ledger that holds all of them, and a tamperer's tools."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from blake3 import blake3

from ledger import Draft, Ledger, Verdict, kinds, verify

RUN = "abcdefghijklmnop"
OTHER_RUN = "zyxwvutsrqponmlk"
DIGEST = "0123456789abcdef" * 4
TARGET = kinds.Target(what="run", id=RUN)
MASKED = [kinds.Masked(where="header authorization", times=1, bytes=20)]

EXAMPLES: dict[str, kinds.Body] = {
    body.kind: body
    for body in (
        kinds.Genesis(origin="example/ledger", id="0" * 32, identity_key=DIGEST, tables=DIGEST),
        kinds.Schema(release=1, digest=DIGEST),
        kinds.Freeze(what="rules", name="strict", digest=DIGEST, identity=DIGEST, sources={"read": DIGEST}),
        kinds.Plan(
            name="first", tags=["a"], purpose="evaluation", suite="authority", ask="object",
            fixtures=[kinds.PlanFixture(name="v0", freeze=3, cases=1)],
            rules=[
                kinds.PlanRules(
                    name="strict", label="strict@0123456789ab", identity=DIGEST, freeze=3,
                    metrics=[kinds.PlanMetric(name="exact", kind="rate", planned=1, primary=True)],
                )
            ],
            candidates=[
                kinds.PlanCandidate(
                    label="openai/x", protocol="openai", model="x", parameters={"temperature": 0.5, "stop": ["\n"]},
                    prompt=DIGEST, prompt_freeze=3, stream=False, digest=DIGEST, base_url="http://127.0.0.1/v1",
                    server={"weights": DIGEST},
                )
            ],
            arms=[""], epochs=1, limit=None, cells=1, via="live", environment={"python": "3.11"}, code={"m": DIGEST},
            given='{"engines":["openai/x"]}', suite_arms={"v0": ""}, people=["notes"],
        ),
        kinds.Cell(
            case="c1", fixture="v0", identity=DIGEST, input=DIGEST, gold=DIGEST, candidate="openai/x", arm="", epoch=1,
            twin=0, people=DIGEST,
        ),
        kinds.Request(
            attempt=0, turn=0, method="POST", url="http://127.0.0.1/v1", headers=[("a", "b")], masked=MASKED,
            tools=DIGEST,
        ),
        kinds.Response(
            attempt=0, turn=0, status=200, headers=[("a", "b")], whole=True, headers_ms=1, total_ms=2, masked=[]
        ),
        kinds.Fault(
            attempt=0, turn=0, stage="transport", reason="timeout", domain="provider", detail="30 s", total_ms=30_000
        ),
        kinds.Wait(attempt=0, turn=0, seconds=0.25, why="rate_limit", asked=""),
        kinds.Reuse(of=7, hash=DIGEST),
        kinds.Parse(
            rules="strict@0123456789ab", status="parsed", stage="", reason="", domain="", flags=["fence"],
            value='{"caf\u00e9":"\U0001f600"}', span=[(0, 9)], usage={"input": 3}, stop="end", model="x-1",
            served={"model": ["x-1"], "fingerprint": ["fp_1"]},
        ),
        kinds.Confirm(rules="strict@0123456789ab", findings=[{"source": 1, "confidence": 0.75}], rejections=[]),
        kinds.Execute(argv=["python"], isolation="none", exit=0, signal=None, limits=[]),
        kinds.Score(
            rules="strict@0123456789ab", outcome="graded", status="parsed", stage="", reason="", domain="", value=0.5,
            applies=["exact"], metrics={"exact": 0.5},
        ),
        kinds.Tally(
            rules="strict@0123456789ab", freeze=3, outcomes={"graded": 1},
            metrics=[
                kinds.TallyMetric(
                    candidate="openai/x", metric="exact", kind="mean", k=None, total=0.5, n=1, planned=1, primary=True
                )
            ],
        ),
        kinds.Close(
            status="complete", planned=1, asked=1, outcomes={"strict@0123456789ab": {"graded": 1}}, reason=""
        ),
        kinds.Accept(component="base_url", before="a", after="b", reason="moved house"),
        kinds.Supersede(target=TARGET, by=None, category="parser", reason="read wrongly"),
        kinds.Taint(target=TARGET, reason="unsure"),
        kinds.Clear(taint=19, reason="sure again"),
        kinds.Report(run=RUN, format="text", digest=DIGEST, head=DIGEST, size=20, figures=[{"rate": 0.5}]),
        kinds.Publish(report=21, to="the team"),
        kinds.Import(format="log", tool="other 1.0", grade="text", digest=DIGEST),
        kinds.Redact(bodies=[6], blobs_withheld=[DIGEST], category="secret", reason="a key leaked"),
        kinds.Note(text="seen"),
        kinds.Anchor(what="checkpoint", size=20, root=DIGEST, key="k"),
        kinds.Resume(retry=["refused"], accept=["base_url"], reason="the server moved house"),
        kinds.Gate(
            what="margin", run=RUN, against=OTHER_RUN, tag="released", suite="authority", margin="0.02", lenient=False,
            outcome="pass", results=[{"candidate": "openai/x", "outcome": "pass", "seen": {"low": -0.01}}],
        ),
        kinds.Lookup(
            candidate="ollama/x", method="GET", url="http://127.0.0.1/api/tags", headers=[("a", "b")], status=200,
            detail="", masked=MASKED,
        ),
    )
}  # fmt: skip
"""One valid body of every kind."""

LATER = ("resume", "gate", "lookup")
"""Kinds that came after the first release."""

BLOBS = {
    "request": {"body": b"question"},
    "response": {"body": b"answer", "extra": b""},
    "import": {"file": b"\x00log"},
    "lookup": {"body": b'{"models":[]}'},
}


def example_draft(kind: str, *, causes: Iterable[int] = (), run: str = RUN, cell: int = 1) -> Draft:
    """The example of a kind, at a place that its scope allows."""
    scope = EXAMPLES[kind].scope
    return Draft(
        EXAMPLES[kind],
        run="" if scope == "ledger" else run,
        cell=cell if scope == "cell" else 0,
        causes=tuple(causes),
        blobs=BLOBS.get(kind, {}),
    )


def withhold(path: Path, bodies: list[int], blobs: list[str]) -> None:
    """Redact: the event, then the nulling that its guard allows. For tests of what verify makes of it."""
    with Ledger.open(path) as ledger:
        owners = {int(ledger.sql("SELECT seq FROM main.blobs WHERE hash = ?", (blob,)).fetchone()[0]) for blob in blobs}
        redact = kinds.Redact(bodies=bodies, blobs_withheld=blobs, category="secret", reason="a key leaked")
        ledger.append(Draft(redact, causes=sorted({*bodies, *owners})))
    with closing(sqlite3.connect(path)) as connection, connection:
        for seq in bodies:
            connection.execute("UPDATE events SET body = NULL, salt = NULL WHERE seq = ?", (seq,))
        for blob in blobs:
            connection.execute("UPDATE blobs SET data = NULL, salt = NULL WHERE hash = ?", (blob,))


def settle(path: Path) -> None:
    """Move the write-ahead log into the file, so that a copy of the one file is a copy of the ledger."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def whole_ledger(path: Path) -> Path:
    """A ledger with every kind of the first release, blobs, causes, two runs, a withheld body and a withheld blob.

    All in one file.
    """
    with Ledger.create(path) as ledger:
        for kind in EXAMPLES:
            if kind not in {"genesis", "schema", "redact", *LATER}:
                head = ledger.head()[0]
                ledger.append(example_draft(kind, causes=[head - 1, head] if head > 3 else [head]))
        plan, request, response = (
            example_draft(kind, run=OTHER_RUN, causes=[4]) for kind in ("plan", "request", "response")
        )
        first, second, third = ledger.append(plan, request, response)
        leaked = str(ledger.sql("SELECT hash FROM main.blobs WHERE seq = ? ORDER BY id", (third.seq,)).fetchone()[0])
        note = ledger.append(Draft(kinds.Note(text="holds a key"), causes=[first.seq]))[0]
    withhold(path, [second.seq, note.seq], [leaked])
    with Ledger.open(path) as ledger:
        ledger.append(example_draft("note"), example_draft("request", run=OTHER_RUN, cell=2))
    settle(path)
    return path


def guards(connection: sqlite3.Connection) -> list[str]:
    return [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name")]


def drop_guards(connection: sqlite3.Connection) -> list[str]:
    """Drop every guard, as a tamperer would; their text is given back, to restore them from."""
    texts = guards(connection)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]
    for name in names:
        connection.execute(f"DROP TRIGGER {name}")
    return texts


Tamper = Callable[[sqlite3.Connection], object]


def tamper(source: Path, copy: Path, change: Tamper | str, *, guarded: bool = False) -> Verdict:
    """Copy the ledger, change it by plain sqlite3 (the guards dropped and then restored, or left on), and verify."""
    shutil.copyfile(source, copy)
    for suffix in ("-wal", "-shm"):
        copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN")
        texts = [] if guarded else drop_guards(connection)
        if isinstance(change, str):
            connection.execute(change)
        else:
            change(connection)
        for text in texts:
            connection.execute(text)
        if connection.in_transaction:
            connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return verify(copy)


def rehash(connection: sqlite3.Connection, start: int) -> None:
    """Recompute commitment, hash and prev from `start` to the end, as a tamperer who knows the format would."""
    (prev,) = connection.execute("SELECT hash FROM events WHERE seq = ?", (start - 1,)).fetchone()
    rows = connection.execute(
        "SELECT seq, v, at, kind, run, cell, causes, body_hash, salt, CAST(body AS BLOB) FROM events"
        " WHERE seq >= ? ORDER BY seq",
        (start,),
    ).fetchall()
    for seq, v, at, kind, run, cell, causes, body_hash, salt, body in rows:
        if body is not None:
            body_hash = blake3(bytes.fromhex(salt) + body).hexdigest()
        line = (
            f'{{"v":{v},"seq":{seq},"prev":"{prev}","at":"{at}","kind":"{kind}","run":"{run}","cell":{cell},'
            f'"causes":{causes},"body":"{body_hash}"}}'
        )
        digest = blake3(line.encode()).hexdigest()
        connection.execute(
            "UPDATE events SET prev = ?, body_hash = ?, hash = ? WHERE seq = ?", (prev, body_hash, digest, seq)
        )
        prev = digest
