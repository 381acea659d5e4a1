"""A ledger that somebody wrote into: a rescore and a replay check end in an answer or in one sentence."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness._errors import HarnessError
from harness._flips import flips_between
from harness._replay_check import check_run
from harness._rescore import find_rule_sets, rescore_run
from harness.links import deep
from ledger import Ledger, LedgerError
from tests.harness.answered import FENCED, OPEN, UNASKED, Down, answered_run, rules_of

ODD: list[object] = [None, 0, -1, 2**53, 1.5, "", "x" * 300, "\x1b[31m", [], {}, [[1]], True, {"a": {"b": []}}]
RAW = ["", "{", "null", "[]", "{}", '{"schema":1}', '{"a":1,"a":2}', "[" * 2000, '{"rules":NaN}']


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("hostile") / "l.db"
    with Ledger.create(path) as ledger:
        made = answered_run(ledger, {1: FENCED, 2: Down(), 3: OPEN, 4: UNASKED}, rules=["strict-cite"])
        rescore_run(ledger, made.run, rules_of("fence-cite"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        # The file alone is copied.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return path, made.run


def spoil(path: Path, chance: random.Random) -> str:
    """Change something of one event or blob; what was changed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        rows = connection.execute("SELECT seq, kind, body FROM events WHERE seq > 2 AND body IS NOT NULL").fetchall()
        seq, kind, text = chance.choice(rows)
        how = chance.choice(["field", "field", "field", "raw", "causes", "cell", "kind", "blob", "at", "gone"])
        if how == "field":
            body = json.loads(text)
            name = chance.choice(sorted(body))
            body[name] = chance.choice(ODD)
            connection.execute("UPDATE events SET body = ? WHERE seq = ?", (json.dumps(body), seq))
        elif how == "raw":
            connection.execute("UPDATE events SET body = ? WHERE seq = ?", (chance.choice(RAW), seq))
        elif how == "causes":
            causes = chance.choice(
                ["[]", "[1]", f"[{seq}]", f"[{seq + 5}]", "[x]", "", "[1,2,3]", f"[{chance.randint(1, 60)}]"]
            )
            connection.execute("UPDATE events SET causes = ? WHERE seq = ?", (causes, seq))
        elif how == "cell":
            connection.execute("UPDATE events SET cell = ? WHERE seq = ?", (chance.choice([0, 1, 7, 2**40]), seq))
        elif how == "kind":
            other = chance.choice(
                ["score", "parse", "response", "fault", "import", "reuse", "request", "cell", "later"]
            )
            connection.execute("UPDATE events SET kind = ? WHERE seq = ?", (other, seq))
        elif how == "blob":
            data = chance.choice([b"", b"\xff" * 30, b"{", b'{"id":1}\n', None])
            ids = [row[0] for row in connection.execute("SELECT id FROM blobs ORDER BY id")]
            values = (data, chance.choice(["", "zlib", "x"]), chance.choice(ids))
            connection.execute("UPDATE blobs SET data = ?, encoding = ? WHERE id = ?", values)
        elif how == "at":
            connection.execute("UPDATE events SET at = ? WHERE seq = ?", (chance.choice(["", "x", "2026-13-01"]), seq))
        else:
            connection.execute("UPDATE events SET body = NULL, salt = NULL WHERE seq = ?", (seq,))
    return f"{how} of event {seq} ({kind})"


@pytest.mark.parametrize("seed", [*range(30), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(30, 600))])
def test_whatever_somebody_wrote_into_the_file_ends_in_an_answer_or_a_sentence(
    sound: tuple[Path, str], tmp_path: Path, seed: int
) -> None:
    original, run = sound
    path = tmp_path / "l.db"
    shutil.copyfile(original, path)
    chance = random.Random(seed)
    done = [spoil(path, chance) for _ in range(chance.choice([1, 1, 1, 3]))]
    labels = [each.label for each in rules_of("strict-cite", "fence-cite")]
    for ask in (
        lambda ledger: rescore_run(ledger, run, rules_of("fence-span", "fence-cite"), dry_run=True).as_json(),
        lambda ledger: check_run(ledger, run).as_json(),
        lambda ledger: flips_between(ledger, run, *labels),
        lambda ledger: find_rule_sets(ledger, run, ["strict-cite", labels[0]]),
        deep,
    ):
        try:
            with Ledger.open(path, read_only=True) as ledger:
                ask(ledger)  # type: ignore[no-untyped-call]
        except (HarnessError, LedgerError, sqlite3.Error):
            continue
        except Exception as problem:
            raise AssertionError(f"after {done}: {problem!r}") from problem
