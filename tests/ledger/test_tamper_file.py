"""Every bit of a ledger's file: a flip that changes a row or a text of the schema is noticed, and the others are known.

`verify` says TAMPERED, or there is no ledger to read. docs/TAMPER.md has the table of the whole file.
"""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger import verify
from ledger._schema import RELEASE
from ledger._verify import verify_connection
from tests.ledger.flip_table import EXPLAINED, HEADINGS, labels, table
from tests.ledger.flips import Flips, Seen, every_flip, in_turn, ledger_of_sixty
from tests.ledger.pages import label, places_of

DOCS = Path(__file__).parents[2] / "docs" / "TAMPER.md"
OF_EACH = 2
"""Flips of each place in the sample; of the file's header it is one of every byte."""


@pytest.fixture(scope="module")
def sixty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ledger_of_sixty(tmp_path_factory.mktemp("sixty") / "ledger.db")


@pytest.fixture(scope="module")
def flips(sixty: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flips]:
    found = Flips(sixty.read_bytes(), tmp_path_factory.mktemp("flips"))
    yield found
    found.close()


def bits_by_place(data: bytes) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for where, place in enumerate(places_of(data)):
        found[label(place)] += range(8 * where, 8 * where + 8)
    return found


def check(seen: Seen, bit: int) -> None:
    assert seen.outcome != "not noticed", (bit // 8, bit % 8, seen)
    if seen.outcome == "packed otherwise":
        assert seen.place.part == "values"
    if seen.outcome.startswith("unchanged, not"):
        assert label(seen.place) in EXPLAINED, (bit // 8, bit % 8, seen)


def test_the_ledger_is_what_the_table_says_of_it(sixty: Path) -> None:
    verdict = verify(sixty)
    assert (verdict.verdict, verdict.events, verdict.problems) == ("CONSISTENT", 60, ())
    assert verdict.blobs > 60 and verdict.withheld >= 4
    found = bits_by_place(sixty.read_bytes())
    assert found.keys() <= set(labels())
    pages = {name.partition(":")[0] for name in found}
    assert {"schema interior", "table interior", "index interior", "overflow"} <= pages
    assert {"freelist trunk", "freelist leaf"} <= pages
    with closing(sqlite3.connect(sixty)) as connection:
        kinds = {kind for (kind,) in connection.execute("SELECT DISTINCT kind FROM events")}
        assert len(kinds) == 26
        assert connection.execute("SELECT count(*) FROM blobs WHERE encoding = 'zlib'").fetchone()[0] > 0


def test_a_flip_of_any_place_is_noticed_or_changes_nothing(flips: Flips) -> None:
    chance = random.Random(9)
    for name, bits in bits_by_place(flips.original).items():
        chosen = chance.sample(bits, min(len(bits), OF_EACH))
        if name.startswith("file header"):
            chosen = [first + chance.randrange(8) for first in bits[::8]]
        for bit in chosen:
            check(flips.see(bit), bit)


def test_flips_of_values_are_noticed_wherever_the_value_stands(flips: Flips) -> None:
    chance = random.Random(10)
    values = [bit for name, bits in bits_by_place(flips.original).items() if name.endswith(": values") for bit in bits]
    seen = [flips.see(bit) for bit in chance.sample(values, 100)]
    of_indexes = {each.outcome for each in seen if each.place.page.startswith("index")}
    of_others = {each.outcome for each in seen if not each.place.page.startswith("index")}
    assert of_indexes <= {"TAMPERED", "unchanged, reported"}
    assert of_others <= {"TAMPERED", "unreadable", "packed otherwise"}


def test_what_is_seen_in_an_open_file_is_what_the_whole_verify_says_of_a_file(flips: Flips) -> None:
    chance = random.Random(11)
    for bit in chance.sample(range(800, 8 * len(flips.original)), 12):
        seen = flips.see(bit).outcome
        alone = flips._on_disk(bit)
        same = {"TAMPERED", "unreadable"} if flips.places[bit // 8].of_schema else {seen}
        assert alone == seen or {alone, seen} <= same, (bit // 8, bit % 8, seen, alone)


def test_every_bit_has_its_turn(sixty: Path) -> None:
    data = sixty.read_bytes()
    turns = [bit for batch in in_turn(data) for bit in batch]
    assert len(turns) == 8 * len(data)
    assert set(turns) == set(range(8 * len(data)))


@pytest.mark.parametrize("release", [1, RELEASE])
def test_a_free_list_that_is_damaged_is_reported_whatever_views_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: int
) -> None:
    # With a view in the schema SQLite's own check may pass over the free list.
    monkeypatch.setattr("ledger._schema.RELEASE", release)
    monkeypatch.setattr("ledger._store.RELEASE", release)
    data = bytearray(ledger_of_sixty(tmp_path / "ledger.db").read_bytes())
    data[18] = data[19] = 1
    leaf = (int.from_bytes(data[32:36], "big") - 1) * 4096 + 11
    for where in (35, 39, leaf):
        data[where] ^= 1
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.deserialize(bytes(data))
            verdict = verify_connection(connection)
            assert verdict.verdict == "TAMPERED"
            assert {problem.what for problem in verdict.problems} == {"SQLite's integrity check"}
            connection.text_factory = str
            connection.execute("SELECT count(*) FROM scoreboard").fetchone()
        data[where] ^= 1


def test_a_schema_of_other_types_or_with_a_page_for_a_view_is_reported_though_its_texts_are_the_same(
    sixty: Path, tmp_path: Path
) -> None:
    for change in ("sql = CAST(sql AS BLOB)", "name = CAST(name AS BLOB)", "rootpage = 1"):
        path = tmp_path / "odd.db"
        path.write_bytes(sixty.read_bytes())
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA writable_schema=ON")
            connection.execute(f"UPDATE sqlite_schema SET {change} WHERE name = 'runs'")
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        verdict = verify(path)
        assert verdict.verdict == "TAMPERED", change
        assert "the row of the schema for runs" in {problem.what for problem in verdict.problems}, change


def test_the_documented_table_has_the_places_and_the_explanations_of_the_code(sixty: Path) -> None:
    lines = [line for line in DOCS.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    headings, *rows = [row for row in rows if len(row) == len(HEADINGS)]
    assert headings == list(HEADINGS)
    of_file = bits_by_place(sixty.read_bytes())
    assert [row[0] for row in rows] == [name for name in labels() if name in of_file] + ["all"]
    for name, bits, *_, not_seen, why in rows[:-1]:
        if not why.endswith("nothing is ever read there"):  # a gap is what the texts of a release leave of a page
            assert int(bits.replace(",", "")) <= len(of_file[name]), name
        assert why == (EXPLAINED[name] if not_seen else ""), name


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_every_bit_of_the_file_flipped_is_noticed_or_changes_nothing(sixty: Path) -> None:
    counts = every_flip(sixty)
    lines = table(counts)
    print("\n".join(lines))
    assert counts.total() == 8 * sixty.stat().st_size
    assert not any(outcome == "not noticed" for _, outcome in counts)
    assert all(place.endswith(": values") for place, outcome in counts if outcome == "packed otherwise")
