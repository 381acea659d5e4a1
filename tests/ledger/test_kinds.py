"""The registry of kinds is complete: each has a model, an example, a tamper test and a line in docs/FORMAT.md."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ledger import BadBody, Draft, Ledger, NotFound
from ledger._canonical import canonical
from ledger._verify_bodies import MAY_HOLD_FLOATS, Bodies
from ledger._verify_findings import Findings
from ledger.kinds import KINDS, NEVER_REDACTED, Body, parse_body
from tests.ledger.ledgers import EXAMPLES, LATER, RUN, example_draft, rehash, settle, tamper, whole_ledger

FORMAT = Path(__file__).resolve().parents[2] / "docs" / "FORMAT.md"


def stored(kind: str) -> dict[str, Any]:
    value = EXAMPLES[kind].model_dump(by_alias=True, exclude={"blobs"})
    return json.loads(canonical(value))


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of one file that holds every kind there is."""
    path = whole_ledger(tmp_path_factory.mktemp("every") / "ledger.db")
    with Ledger.open(path) as ledger:
        ledger.append(*(example_draft(kind, causes=[4]) for kind in LATER))
    settle(path)
    return path


def test_every_kind_has_an_example_and_no_example_is_of_another_kind() -> None:
    assert list(EXAMPLES) == list(KINDS)
    for kind, body in EXAMPLES.items():
        assert type(body) is KINDS[kind]


def test_every_subclass_of_body_is_registered_once_under_a_kind_of_the_grammar() -> None:
    models = Body.__subclasses__()
    assert {model.kind: model for model in models} == KINDS
    assert len(models) == len(KINDS)
    assert all(re.fullmatch("[a-z][a-z_]{0,31}", kind) for kind in KINDS)
    assert set(KINDS) >= NEVER_REDACTED


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_survives_being_stored_and_read(kind: str) -> None:
    body = parse_body(kind, canonical(stored(kind)).decode())
    assert body == EXAMPLES[kind]
    assert stored(kind)["schema"] == KINDS[kind].latest()


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_refuses_unknown_missing_and_mistyped_fields(kind: str) -> None:
    value = stored(kind)
    with pytest.raises(BadBody, match="smuggled"):
        parse_body(kind, canonical(value | {"smuggled": 1}).decode())
    model = KINDS[kind]
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    assert required
    for name in required:
        with pytest.raises(BadBody, match=name):
            parse_body(kind, canonical({key: item for key, item in value.items() if key != name}).decode())
        with pytest.raises(BadBody, match=name):
            parse_body(kind, canonical(value | {name: {"": [[]]}}).decode())


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_is_frozen(kind: str) -> None:
    with pytest.raises(ValidationError):
        EXAMPLES[kind].version = 9


def test_a_kind_of_a_newer_release_is_said_to_be_one() -> None:
    with pytest.raises(NotFound, match="newer"):
        parse_body("prophecy", '{"schema":1}')


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_one_line_in_each_table_of_the_format_page_and_its_fields_stand_there(kind: str) -> None:
    page = FORMAT.read_text("utf-8").partition("## Kinds")[2]
    lines = [line for line in page.splitlines() if line.startswith(f"| `{kind}` |")]
    assert len(lines) == 2
    fields = re.findall("`([a-z0-9_]+)`", lines[1])[1:]
    assert fields == [name for name in KINDS[kind].model_fields if name not in {"version", "blobs"}]


def _parts(kind: str) -> dict[str, Any]:
    return KINDS[kind].model_json_schema(by_alias=True).get("$defs", {})


def test_every_part_of_a_body_has_a_line_with_its_fields() -> None:
    page = FORMAT.read_text("utf-8")
    parts = {name: part for kind in KINDS for name, part in _parts(kind).items() if part.get("properties")}
    parts.pop("BlobRef")
    assert len(parts) >= 7
    for name, part in parts.items():
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
        assert re.findall("`([a-z0-9_]+)`", line.rsplit("|", 2)[1]) == list(part["properties"]), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_tampered_body_of_every_kind_is_named(every: Path, copy: Path, kind: str) -> None:
    with closing(sqlite3.connect(every)) as connection:
        seq, body = connection.execute(
            "SELECT seq, body FROM events WHERE kind = ? AND body IS NOT NULL ORDER BY seq", (kind,)
        ).fetchone()
    changed = canonical(json.loads(body) | {"schema": 3}).decode()
    verdict = tamper(every, copy, lambda db: db.execute("UPDATE events SET body = ? WHERE seq = ?", (changed, seq)))
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", seq)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"genesis", "schema", "redact"}))
def test_a_body_that_its_model_refuses_is_named_though_every_hash_agrees(every: Path, copy: Path, kind: str) -> None:
    with closing(sqlite3.connect(every)) as connection:
        seq, body = connection.execute("SELECT seq, body FROM events WHERE kind = ?", (kind,)).fetchone()
    changed = canonical(json.loads(body) | {"smuggled": 1}).decode()

    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET body = ? WHERE seq = ?", (changed, seq))
        rehash(db, seq)

    verdict = tamper(every, copy, change)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", seq)
    assert [problem.what for problem in verdict.problems] == ["the body's shape"]


def _may_hold_floats(node: Any, top: bool = False) -> bool:
    """Whether a JSON schema lets a fraction, an unbounded integer or anything at all through."""
    if isinstance(node, list):
        return any(map(_may_hold_floats, node))
    if not isinstance(node, dict):
        return node is True
    kind = node.get("type")
    if kind == "number" or (kind == "integer" and not top and node.get("maximum", 2**60) > 2**53 - 1):
        return True
    if not {"type", "$ref", "anyOf", "const", "enum", "allOf"} & node.keys():
        return True
    inner = [node.get(name) for name in ("items", "prefixItems", "anyOf", "allOf") if name in node]
    extra = node.get("additionalProperties")
    return any(map(_may_hold_floats, inner)) or (extra is not None and extra is not False and _may_hold_floats(extra))


@pytest.mark.parametrize("kind", KINDS)
def test_verify_knows_which_kinds_can_hold_a_number_that_needs_the_exact_way(kind: str) -> None:
    schema = KINDS[kind].model_json_schema(by_alias=True)
    own = {name: item for name, item in schema["properties"].items() if name != "schema"}
    nodes = list(own.values())
    for part in schema.get("$defs", {}).values():
        nodes += part["properties"].values() if "properties" in part else [part]
    assert any(map(_may_hold_floats, nodes)) == (kind.encode() in MAY_HOLD_FLOATS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_of_a_newer_schema_is_not_read_even_where_it_would_fit(kind: str) -> None:
    newer = KINDS[kind].latest() + 1
    with pytest.raises(BadBody, match=f"schema {newer} is newer than {newer - 1}"):
        parse_body(kind, canonical(stored(kind) | {"schema": newer}).decode())


def _as_schema_1(kind: str) -> dict[str, Any]:
    model = KINDS[kind]
    return {key: item for key, item in stored(kind).items() if key not in model.since} | {"schema": 1}


@pytest.mark.parametrize("kind", [kind for kind, model in KINDS.items() if model.since])
def test_a_body_of_an_older_schema_is_read_and_says_null_for_what_came_later(kind: str) -> None:
    body = parse_body(kind, canonical(_as_schema_1(kind)).decode())
    assert body.version == 1
    assert {getattr(body, name) for name in KINDS[kind].since} == {None}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, model in KINDS.items() for name in model.since]
)  # fmt: skip
def test_a_body_of_an_older_schema_that_has_a_later_field_is_malformed(kind: str, name: str) -> None:
    for value in (stored(kind)[name], None):
        with pytest.raises(BadBody, match=f"{name} is no field of schema 1"):
            parse_body(kind, canonical(_as_schema_1(kind) | {name: value}).decode())


@pytest.mark.parametrize("kind", [kind for kind, model in KINDS.items() if model.since])
def test_verify_settles_bodies_of_every_known_schema_at_once_and_of_no_other(kind: str) -> None:
    bodies = Bodies(Findings())

    def settled(value: dict[str, Any]) -> bool:
        row = (1, 1, b"", b"", b"", kind.encode(), b"", 0, b"", b"", b"", canonical(value))
        return bodies.settle([row])[0] is not None

    # Fractions and other letters than ASCII are left to the exact way.
    plain = {"plan": {"candidates": []}, "parse": {"value": "1"}}.get(kind, {})
    whole, older = stored(kind) | plain, _as_schema_1(kind) | plain
    assert settled(whole)
    assert settled(older)
    assert not settled(whole | {"schema": KINDS[kind].latest() + 1})
    assert not settled(whole | {"schema": 1})


@pytest.mark.parametrize("kind", [kind for kind, model in KINDS.items() if model.since])
def test_a_body_that_was_read_in_an_older_schema_is_written_in_it(tmp_path: Path, kind: str) -> None:
    old = parse_body(kind, canonical(_as_schema_1(kind)).decode())
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        (event,) = ledger.append(Draft(old, run=RUN, cell=1 if KINDS[kind].scope == "cell" else 0))
        assert json.loads(event.body or "") == _as_schema_1(kind)
        assert ledger.body(event) == old
