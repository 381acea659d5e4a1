"""Nothing removes or rewrites an event or a blob, but a redaction, and its guards let it do nothing else.

Read three ways: every string in both packages that could be SQL; every .sql file, compiled under SQLite's authorizer;
and every statement that SQLite really compiles and runs while each command of both command lines is used.
"""

from __future__ import annotations

import ast
import io
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.cli import app as harness_app
from ledger import Ledger, kinds
from ledger._redact import _HIDE_BLOB, _HIDE_BODY  # pyright: ignore[reportPrivateUsage]
from ledger._schema import RELEASE, format_objects
from ledger._views import over_views
from ledger.cli import app as ledger_app
from tests.harness.imports.artifacts import fixture, put, sample
from tests.ledger.ledgers import EXAMPLES, RUN
from tests.ledger.measured import measured_ledger

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("ledger", "harness")
REDACTION = {_HIDE_BODY, _HIDE_BLOB}

# Whatever changes rows or the schema, or could be a way around the guards.
CHANGES = re.compile(
    r"\b(?:update\s+(?:or\s+\w+\s+)?[\w.\"'`\[{]+[^;]*\bset\b|delete\s+from\b|replace\s+into\b"
    r"|insert\s+(?:or\s+\w+\s+)?into\b|on\s+conflict\b|drop\s+(?:table|trigger|index|view|\{)"
    r"|alter\s+table\b|create\s+(?:temp|table|view|index|trigger|unique|virtual)|vacuum\b|reindex\b"
    r"|attach\s+(?:database\b|['\"?:{])|detach\b|pragma\s+(?:\w+\.)?(?:writable_schema|recursive_triggers|legacy\w*"
    r"|ignore_check_constraints|defer_foreign_keys|auto_vacuum|incremental_vacuum|journal_mode)|load_extension)",
    re.IGNORECASE,
)
_PROBE = "CREATE VIEW probed AS SELECT '{}' ->> '$.a' AS value"
ALLOWED = {
    ("ledger/_append.py", "INSERT INTO main.events "): "the append",
    ("ledger/_append.py", "INSERT INTO main.blobs "): "the append",
    ("ledger/_redact.py", _HIDE_BODY): "the redaction",
    ("ledger/_redact.py", _HIDE_BLOB): "the redaction",
    ("ledger/_compress.py", "DROP TRIGGER main.{}"): "the one guard, put back in the same transaction",
    ("ledger/_compress.py", "UPDATE main.blobs SET encoding = 'zlib', data = ? WHERE id = ?"): "packs at rest",
    ("ledger/_compress.py", "VACUUM"): "gives free pages back",
    ("ledger/_import.py", "INSERT INTO main.events "): "a new file, before it has a name",
    ("ledger/_import.py", "INSERT INTO main.blobs "): "the same",
    ("ledger/_import.py", "PRAGMA journal_mode=WAL"): "the same",
    ("ledger/bundle/_scratch.py", 'DROP TRIGGER main."{}"'): "a file of what a bundle shows, in a folder of its own",
    ("ledger/bundle/_scratch.py", "DELETE FROM main.events"): "the same",
    ("ledger/bundle/_scratch.py", "INSERT INTO main.events "): "the same",
    ("ledger/bundle/_scratch.py", "INSERT INTO main.blobs "): "the same",
    ("ledger/bundle/_scratch.py", "INSERT INTO main.edges "): "the same",
    ("ledger/_schema.py", 'DROP {} "{}"'): "views and indexes of an older release, never a table or a guard",
    ("ledger/_store.py", "PRAGMA journal_mode=WAL"): "a new file",
    ("ledger/_verify.py", "PRAGMA writable_schema=ON"): "reads a damaged schema, on a connection that can't write",
    ("ledger/_verify_schema.py", "PRAGMA writable_schema"): "the same",
    ("ledger/_connect.py", _PROBE): "a database in memory, to see what this SQLite can do",
    ("ledger/web/_index.py", "\nCREATE TABLE texts "): "the search index, in memory; the ledger is attached read-only",
    ("ledger/web/_index.py", "CREATE VIRTUAL TABLE {} USING fts5("): "the same",
    ("ledger/web/_index.py", "INSERT OR IGNORE INTO texts "): "the same",
    ("ledger/web/_index.py", "INSERT INTO {} (rowid, text) SELECT id, text FROM texts "): "the same",
    ("ledger/web/_index.py", "INSERT INTO temp.hits SELECT "): "the same",
    ("ledger/web/_index.py", "DELETE FROM temp.hits"): "the same",
    ("ledger/web/_index.py", "ATTACH ? AS ledger"): "reads the ledger beside it: mode=ro, as every reader",
    ("ledger/web/_index.py", "DETACH ledger"): "before it is attached otherwise",
    ("ledger/_views.py", r"CREATE VIEW (\w+) AS\s+(.*)"): "a pattern that reads the shipped views",
}


def strings(tree: ast.AST) -> Iterator[str]:
    """Every string of a module but docstrings; what is put together by + or in an f-string, put together."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in said or id(node) in inner:
            continue
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            text = _text(node)
            if text is not None:
                inner |= {id(each) for each in ast.walk(node)} - {id(node)}
                yield text


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None and right is None else (left or "{}") + (right or "{}")
    return None


def test_every_string_that_could_change_a_row_or_the_schema_is_known() -> None:
    found: set[tuple[str, str]] = set()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = path.relative_to(ROOT).as_posix()
            for text in strings(ast.parse(path.read_text("utf-8"))):
                if CHANGES.search(text):
                    known = [(where, start) for where, start in ALLOWED if where == module and text.startswith(start)]
                    found.add(known[0] if known else (module, text))
    assert found == set(ALLOWED)


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE events SET body = NULL", "update main.blobs set data = x''", "UPDATE OR REPLACE events SET seq = 1",
        "DELETE FROM events", "REPLACE INTO events VALUES (1)", "INSERT OR REPLACE INTO blobs VALUES (1)",
        "INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET a = 1", "DROP TABLE events", "DROP TRIGGER events_update",
        "ALTER TABLE events RENAME TO e", "VACUUM", "PRAGMA writable_schema=1", "PRAGMA recursive_triggers = OFF",
        "ATTACH 'x' AS y", "CREATE TEMP TRIGGER t",
    ],
)  # fmt: skip
def test_the_audit_sees_what_it_is_there_to_see(text: str) -> None:
    assert CHANGES.search(text)
    for source in (f"x = {text!r}", f"x = 'SELECT 1; ' + {text!r}", f"f(f{text!r})", f"x = {{'a': ({text!r},)}}"):
        assert any(CHANGES.search(each) for each in strings(ast.parse(source))), source


# The .sql files, and what SQLite makes of them


TABLES = frozenset({"events", "blobs", "edges"})
CHANGING = {sqlite3.SQLITE_INSERT: "INSERT", sqlite3.SQLITE_UPDATE: "UPDATE", sqlite3.SQLITE_DELETE: "DELETE"}
SCHEMA = {
    getattr(sqlite3, f"SQLITE_{verb}_{what}"): f"{verb} {what}"
    for verb in ("DROP", "CREATE")
    for what in ("TABLE", "TRIGGER", "INDEX", "VIEW", "TEMP_TABLE", "TEMP_TRIGGER", "TEMP_VIEW", "VTABLE")
} | {sqlite3.SQLITE_ALTER_TABLE: "ALTER TABLE", sqlite3.SQLITE_ATTACH: "ATTACH"}


class Watch:
    """What SQLite was asked to do on watched connections: actions as it names them, and the statements' text."""

    def __init__(self) -> None:
        self.actions: set[tuple[str, str, str | None]] = set()
        self.statements: set[str] = set()

    def on(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        connection.set_authorizer(self._authorize)
        connection.set_trace_callback(self._trace)
        return connection

    def _authorize(self, action: int, first: str | None, second: str | None, base: str | None, by: str | None) -> int:
        if action in CHANGING and first in TABLES:
            column = second if action == sqlite3.SQLITE_UPDATE else None
            self.actions.add((f"{CHANGING[action]} {first}", column or "", by))
        elif action in SCHEMA:
            self.actions.add((SCHEMA[action], str(first), by))
        return sqlite3.SQLITE_OK

    def _trace(self, statement: str) -> None:
        self.statements.add(statement)


APPENDS = {("INSERT events", "", None), ("INSERT blobs", "", None), ("INSERT edges", "", "events_edges")}
REDACTS = {
    ("UPDATE events", "body", None), ("UPDATE events", "salt", None),
    ("UPDATE blobs", "data", None), ("UPDATE blobs", "salt", None),
}  # fmt: skip


def test_sql_files_make_objects_and_change_no_row() -> None:
    assert {path.parent.name for package in PACKAGES for path in (ROOT / package).rglob("*.sql")} == {
        "schema", "queries", *(f"r{release}" for release in range(1, RELEASE + 1)),
    }  # fmt: skip
    for release in range(1, RELEASE + 1):
        watch = Watch()
        with closing(watch.on(sqlite3.connect(":memory:"))) as connection:
            for name in ("schema/tables.sql", "schema/guards.sql"):
                connection.executescript((ROOT / "ledger" / name).read_text("utf-8"))
            for path in sorted((ROOT / f"ledger/views/r{release}").glob("*.sql")):
                connection.executescript(path.read_text("utf-8"))
            for path in sorted((ROOT / "ledger/queries").glob("*.sql")):
                # The search index attaches the ledger under that name.
                text = path.read_text("utf-8").replace("FROM ledger.", "FROM main.")
                named = dict.fromkeys(re.findall(r"(?<!:):([a-z_]+)", text), "[]")
                numbered = set(re.findall(r"\?[0-9]+", text)) or re.findall(r"\?", text)
                connection.execute(over_views(text), named or ("[]",) * len(numbered)).fetchall()
            for (view,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
                connection.execute(f"SELECT * FROM {view}").fetchall()
        assert {action for action, _, _ in watch.actions} == {
            "CREATE TABLE", "CREATE INDEX", "CREATE TRIGGER", "CREATE VIEW",
        }  # fmt: skip
        tables = {name for action, name, _ in watch.actions if action == "CREATE TABLE"}
        assert tables == {"events", "blobs", "edges"}


def test_the_guards_themselves_insert_edges_and_nothing_else() -> None:
    watch = Watch()
    with closing(watch.on(sqlite3.connect(":memory:"))) as connection:
        for _, _, _, sql in sorted(format_objects().rows, key=lambda row: row[0] != "table"):
            if sql is not None:
                connection.execute(sql)
        connection.execute(
            "INSERT INTO events VALUES (1, 1, 'h', ?, '', 'note', '', 0, '[]', '', '', '{}')", ("0" * 64,)
        )
        watch.actions.clear()
        for statement in (
            "INSERT INTO events VALUES (2, 1, 'i', 'h', '', 'note', '', 0, '[1]', '', '', '{}')",
            "INSERT INTO blobs VALUES (1, 'b', 2, '', '', x'')",
            *REDACTION,
            "DELETE FROM events", "DELETE FROM blobs", "DELETE FROM edges", "UPDATE edges SET cause = 1",
        ):  # fmt: skip
            connection.execute("EXPLAIN " + statement, (1,) if "?" in statement else ())
    by_guards = {action for action in watch.actions if action[2] is not None}
    assert by_guards == {("INSERT edges", "", "events_edges")}


# Every command, as it runs


def commands(app: Any) -> set[str]:
    return {str(command.name) for command in (*app.registered_commands, *app.registered_groups)}


LEDGER: dict[str, list[list[object]]] = {
    "init": [["--db", "new.db"]],
    "note": [["hello", "--about", 3]],
    "verify": [[], ["--deep", "--db", "old.db"]],
    "log": [["--run", RUN], ["--kind", "score", "--json"]],
    "show": [[10], [11, "--json"]],
    "runs": [[]],
    "export": [["-o", "lines.jsonl"], ["--full", "-o", "full.jsonl"]],
    "import": [["full.jsonl", "--db", "rebuilt.db"]],
    "snapshot": [["copy.db"]],
    "upgrade": [["--db", "old.db"], []],
    "supersede": [[RUN, "--no-successor", "--category", "harness", "--reason", "a test"]],
    "taint": [[11, "--reason", "a test"]],
    "clear": [["TAINT", "--reason", "a test"]],
    "impact": [[10], [RUN, "--json"]],
    "cite": [[11], ["11#/status"]],
    "redact": [
        [10, "11:body", "--dry-run"],
        [10, "11:body", "--reason", "a test", "--category", "secret"],
        ["--run", RUN, "--cell", 2, "--reason", "a test", "--category", "other"],
        ["--finish"],
    ],
    "key": [["new", "--signing-key", "keys/a.key"], ["show", "--signing-key", "keys/a.key"]],
    "checkpoint": [["--signing-key", "keys/a.key"], ["--signing-key", "keys/a.key", "--json"]],
    "anchor": [["rfc3161", "--url", "http://127.0.0.1:9/"]],
    "bundle": [[RUN, "-o", "evidence.zip"], [11, "-o", "one.tlog-proof", "--json"]],
    "stats": [[], ["--json"]],
    "serve": [["--static", "pages", "--run", RUN]],
    "upgrade_compress": [["--compress"], ["--compress", "--db", "old.db"]],
}
"""What to call each command with; a new command belongs here too. TAINT is the seq of the last taint."""

NOBODY = ["--base-url", "http://127.0.0.1:9/v1", "--max-retries", 0]
HARNESS: dict[str, list[list[object]]] = {
    "suites": [[]],
    "new": [["worked"]],
    "freeze": [["authority", "--db", "made.db", "--prediction", "expected.toml"]],
    "run": [["authority", "--engine", "replay/old.db", "--db", "made.db", "--limit", 2]],
    "probe": [["openai/x", "--prompt", "hi", *NOBODY]],
    "run_unanswered": [["authority", "--engine", "openai/x", *NOBODY, "--db", "made.db", "--limit", 1]],
    "resume": [["latest", "--db", "made.db", "--max-retries", 0]],
    "rescore": [
        ["latest", "--rules", "fence-span", "--db", "made.db", "--dry-run"],
        ["latest", "--rules", "fence-span", "--db", "made.db"],
    ],
    "replay": [["--check", "--db", "made.db"], ["latest", "--check", "--diff", "--db", "made.db"]],
    "compare": [[RUN], [RUN, "--json"]],
    "cases": [["latest", "--db", "made.db"], ["latest", "--db", "made.db", "--json"]],
    "gate": [[f"{RUN}@openai/x", "--against", f"{RUN}@openai/y", "--margin", "2pp"]],
    "report": [["latest", "--db", "made.db"], ["latest", "--db", "made.db", "-o", "report.md"]],
    "report_contradicted": [[RUN, "--json"]],
    "check": [["report.md", "--db", "made.db"]],
    "publish": [["report.md", "--to", "somebody", "--db", "made.db"]],
    "correct": [
        ["report.md", "--rules", "strict-span", "--reason", "a test", "-o", "new.md", "--db", "made.db"],
    ],
    "import": [["memory-authority-auditor", "run.json", "--fixture", "glasshouse_v0.json", "--db", "made.db"]],
    "grade": [["latest", "--judge", "referee", "--engine", "openai/x", "--limit", 1, *NOBODY, "--db", "made.db"]],
    "parse": [["--ask", "object"]],
    "rules": [["list"]],
}
UNDONE = {"anchor": 3, "gate": 3, "grade": 3, "probe": 3, "run_unanswered": 3, "resume": 3,
          "report_contradicted": 1}  # fmt: skip
"""Commands that end otherwise than well here: nobody listens at that address, the gate is shown a broken run, and
RUN is of a ledger that was written by hand, whose digests are made up."""


def test_every_command_is_watched() -> None:
    assert commands(ledger_app) - set(LEDGER) == set()
    assert commands(harness_app) - set(HARNESS) == set()


def test_while_every_command_runs_nothing_but_a_redaction_changes_what_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ledger.cli import run_app

    measured_ledger(tmp_path / "ledger.db")
    shutil.copyfile(ROOT / "ledger.db", tmp_path / "old.db")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}')))
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    put(tmp_path / "run.json", sample())
    put(tmp_path / "glasshouse_v0.json", fixture())
    (tmp_path / "keys").mkdir()
    (tmp_path / "expected.toml").write_text('suite = "authority"\n[[expect]]\nbar = "exact >= 1/2"\n')
    monkeypatch.chdir(tmp_path)
    for name in ("LEDGER_DB", "LEDGER_JSON"):
        monkeypatch.delenv(name, raising=False)
    real = sqlite3.connect
    watch, redacting, packing = Watch(), Watch(), Watch()
    current = watch
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: current.on(real(*given, **more)))
    for where, app, table in (("ledger", ledger_app, LEDGER), ("harness", harness_app, HARNESS)):
        for name in (each for each in table if each.partition("_")[0] in commands(app)):
            current = {"redact": redacting, "upgrade_compress": packing}.get(name, watch)
            for arguments in table[name]:
                given = [str(_taint(tmp_path) if each == "TAINT" else each) for each in arguments]
                status = run_app(app, where, [name.partition("_")[0], *given])
                assert status == UNDONE.get(name, 0), (where, name, given)
    changes = {action for action in watch.actions if action[0].split()[1] in TABLES}
    assert changes == APPENDS
    schema = {action for action, _, _ in watch.actions if action.startswith(("DROP", "ALTER", "ATTACH"))}
    assert schema <= {"DROP VIEW", "DROP INDEX"}, "an upgrade replaces those of a release, and nothing of the format"
    assert {action for action in redacting.actions if action[0].split()[1] in TABLES} == (
        APPENDS - {("INSERT blobs", "", None)} | REDACTS
    )
    assert not any(re.search(r"\bREPLACE\s+INTO|\bOR\s+REPLACE", each) for each in watch.statements)
    seen = {re.sub(r"= (?:\d+|'\w+')", "= ?", each) for each in redacting.statements if each.startswith("UPDATE")}
    assert seen == REDACTION
    packed = {action for action in packing.actions if action[0].split()[-1] in TABLES and action[2] is None}
    # VACUUM copies every row into a file of its own, and asks nobody; what it copies is what stood.
    assert {action for action in packed if action[0].startswith("UPDATE")} == {
        ("UPDATE blobs", "encoding", None), ("UPDATE blobs", "data", None)
    }  # fmt: skip
    assert not any(action[0].startswith("DELETE") for action in packed)
    dropped = {action[:2] for action in packing.actions if action[0].startswith("DROP")}
    assert dropped == {("DROP TRIGGER", "blobs_update")}
    assert ("CREATE TRIGGER", "blobs_update") in {action[:2] for action in packing.actions}


def _taint(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        return int(connection.execute("SELECT max(seq) FROM events WHERE kind = 'taint'").fetchone()[0])


# The guards hold the redaction's own statements to what the newest event announced


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return measured_ledger(tmp_path / "ledger.db")


def announce(path: Path, bodies: list[int], blobs: list[str], *, after: bool = False) -> None:
    from ledger import Draft

    with Ledger.open(path) as ledger:
        body = kinds.Redact(bodies=bodies, blobs_withheld=blobs, category="other", reason="a test")
        ledger.append(Draft(body))
        if after:
            ledger.append(Draft(EXAMPLES["note"]))


def attempt(path: Path, statement: str, target: object) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        try:
            with connection:
                return connection.execute(statement, (target,)).rowcount == 1
        except sqlite3.IntegrityError as problem:
            assert "never updated, but for a redaction" in str(problem)
            return False


def test_the_guards_allow_a_redaction_of_what_the_newest_event_names_and_of_nothing_else(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        hashes = [row[0] for row in connection.execute("SELECT hash FROM blobs ORDER BY id")]
        seqs = [row[0] for row in connection.execute("SELECT seq FROM events ORDER BY seq")]
    for target in seqs:
        assert not attempt(path, _HIDE_BODY, target), "nothing announced it"
    for target in hashes:
        assert not attempt(path, _HIDE_BLOB, target), "nothing announced it"
    announce(path, [12], [hashes[2]], after=True)
    assert not attempt(path, _HIDE_BODY, 12), "the redaction isn't the newest event"
    assert not attempt(path, _HIDE_BLOB, hashes[2])
    announce(path, [*seqs], [hashes[2]])
    with Ledger.open(path, read_only=True) as ledger:
        never = {event.seq for event in ledger.events() if event.kind in kinds.NEVER_REDACTED}
    assert {seq for seq in seqs if attempt(path, _HIDE_BODY, seq)} == set(seqs) - never
    assert [digest for digest in hashes if attempt(path, _HIDE_BLOB, digest)] == [hashes[2]]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = 'x' WHERE seq = ?",
        "UPDATE events SET body = NULL WHERE seq = ?",
        "UPDATE events SET salt = NULL WHERE seq = ?",
        "UPDATE events SET body = NULL, salt = NULL, hash = 'x' WHERE seq = ?",
        "UPDATE events SET body = NULL, salt = NULL, causes = '[]' WHERE seq = ?",
        "UPDATE OR REPLACE events SET body = NULL, salt = NULL, seq = 1 WHERE seq = ?",
    ],
)
def test_a_redaction_changes_body_and_salt_together_and_no_other_column(path: Path, statement: str) -> None:
    announce(path, [11], [])
    assert not attempt(path, statement, 11)
    assert attempt(path, _HIDE_BODY, 11)
    assert not attempt(path, "UPDATE events SET body = '{}', salt = '' WHERE seq = ?", 11), "it never comes back"
