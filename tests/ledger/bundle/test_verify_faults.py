"""Whatever is done to a bundle, both readers find it: a table of edits, each run through both."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ledger import Draft, Ledger
from ledger.bundle._make import Wanted, make_bundle, words_of
from ledger.kinds import Score, Tally
from ledger.tree import SigningKey, parse_checkpoint
from tests.ledger.bundle.bundled import Bundled, bundled
from tests.ledger.bundle.edited import READERS, Parts, Reader

SEED = "said by the auditor"
BOTH = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


@dataclass(frozen=True)
class Made:
    """Bundles of one ledger: all shown, all hidden, some drawn, of a report; `needed` without lines.txt; `later` after
    cell 1 was scored again."""

    of: Bundled
    shown: Path
    hidden: Path
    drawn: Path
    report: Path
    needed: Path
    later: Path
    later_needed: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    of = bundled(tmp_path_factory.mktemp("bundled"))

    def make(name: str, **wanted: Any) -> Path:
        targets = () if "report" in wanted else (of.run,)
        hide = words_of(wanted.pop("hide", ""))
        return make_bundle(of.db, Wanted(targets, hide=hide, **wanted), of.folder / name).path

    before = {
        "shown": make("shown.zip"),
        "hidden": make("hidden.zip", hide="prompts,gold"),
        "drawn": make("drawn.zip", hide="prompts,gold", reveal=4, seed=SEED),
        "report": make("report.zip", report=of.report),
        "needed": make("needed.zip", lines="needed"),
    }
    with of.ledger() as ledger:
        _score_again(ledger, of.run)
    of.checkpoint()
    return Made(of, **before, later=make("later.zip"), later_needed=make("later_needed.zip", lines="needed"))


def _score_again(ledger: Ledger, run: str) -> None:
    """Cell 1 was right, and is found wrong; a new tally says so."""
    first, last = next(ledger.events(kind="score", run=run, cell=1)), list(ledger.events(kind="tally", run=run))[-1]
    score, tally = ledger.body(first), ledger.body(last)
    assert isinstance(score, Score) and isinstance(tally, Tally) and score.outcome == "correct"
    wrong = score.model_copy(update={"outcome": "incorrect", "metrics": {"correct": 0.0}})
    own = tally.metrics[0]
    metrics = [own.model_copy(update={"k": (own.k or 0) - 1}), *tally.metrics[1:]]
    counts = tally.outcomes
    outcomes = {**counts, "correct": counts["correct"] - 1, "incorrect": counts["incorrect"] + 1}
    ledger.append(Draft(wrong, run=run, cell=1, causes=first.causes))
    ledger.append(
        Draft(tally.model_copy(update={"outcomes": outcomes, "metrics": metrics}), run=run, causes=last.causes)
    )


# Edits: each takes the parts of a bundle, and what the bundle was made of.


def claim(**change: Any) -> Callable[[Parts, Made], None]:
    def edit(parts: Parts, made: Made) -> None:
        for key, value in change.items():
            mine = parts.about["claims"][0]
            mine[key] = value(mine[key], made) if callable(value) else value

    return edit


def first(kind: str, change: Callable[[dict[str, Any]], None]) -> Callable[[Parts, Made], None]:
    return lambda parts, made: change(parts.at(parts.seqs(kind, made.of.run)[0]))


def _put(row: dict[str, Any], **fields: Any) -> None:
    row.update(fields)


def _later_time(row: dict[str, Any]) -> None:
    year = row["line"].index('"at":"') + 9
    row["line"] = row["line"][:year] + str(9 - int(row["line"][year])) + row["line"][year + 1 :]


def _other_hash(row: dict[str, Any]) -> None:
    data = bytearray(b64decode(row["proof"][0]))
    data[0] ^= 1
    row["proof"][0] = b64encode(data).decode()


def _loose_base64(row: dict[str, Any]) -> None:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    text = row["proof"][0]
    # The last character before "=" carries two bits that say nothing.
    row["proof"][0] = text[:-2] + alphabet[alphabet.index(text[-2]) ^ 1] + "="


def _blob(parts: Parts, made: Made) -> None:
    name = next(each for each in parts.members if each.startswith("blobs/"))
    parts.members[name] = parts.members[name][:-1] + bytes([parts.members[name][-1] ^ 1])


def _swap_rows(parts: Parts, made: Made) -> None:
    parts.rows[10], parts.rows[11] = parts.rows[11], parts.rows[10]


def _swap_bodies(parts: Parts, made: Made) -> None:
    one, other = (parts.at(seq) for seq in parts.seqs("score", made.of.run)[2:4])
    for key in ("body", "salt"):
        one[key], other[key] = other[key], one[key]


def _swap_places(parts: Parts, made: Made) -> None:
    one, other = (parts.at(seq) for seq in parts.seqs("score", made.of.run)[2:4])
    for key in ("line", "body", "salt"):
        one[key], other[key] = other[key], one[key]


def _drop(kind: str, at: int = 0) -> Callable[[Parts, Made], None]:
    return lambda parts, made: parts.drop(parts.seqs(kind)[at])


def _wrong(parts: Parts, run: str) -> int:
    """A score that says incorrect."""
    return next(seq for seq in parts.seqs("score", run) if parts.body(seq)["outcome"] == "incorrect")


def _hide_a_wrong_one(parts: Parts, made: Made) -> None:
    parts.hide(_wrong(parts, made.of.run))
    parts.about["claims"][0]["k"] += 1


def _hide_wrong_one_and_its_tally(parts: Parts, made: Made) -> None:
    _hide_a_wrong_one(parts, made)
    parts.hide(parts.about["claims"][0]["tally"])


def _redacted_score(parts: Parts, made: Made) -> None:
    parts.hide(_wrong(parts, made.of.run), "redacted")


def _draw(parts: Parts, made: Made) -> None:
    drawn = parts.about["reveal"]["drawn"]
    own = {(each["run"], each["cell"]) for each in drawn}
    drawn[0] = next({"run": made.of.run, "cell": cell} for cell in range(1, 25) if (made.of.run, cell) not in own)


def _cases(change: Callable[[list[dict[str, Any]]], None]) -> Callable[[Parts, Made], None]:
    return lambda parts, made: change(parts.cases)


def _swap_cases(cases: list[dict[str, Any]]) -> None:
    one, other = (json.loads(case["line"]) for case in cases[:2])
    one["id"], other["id"] = other["id"], one["id"]
    cases[0]["line"], cases[1]["line"] = json.dumps(one), json.dumps(other)


def _another_gold(cases: list[dict[str, Any]]) -> None:
    cases[0]["line"] = json.dumps({**json.loads(cases[0]["line"]), "gold": "zzzz"})


def _hide_drawn(parts: Parts, made: Made) -> None:
    place = parts.about["reveal"]["drawn"][0]["cell"]
    lines = [json.loads(parts.at(seq)["line"]) for seq in parts.seqs("score", made.of.run)]
    parts.hide(next(line["seq"] for line in lines if line["cell"] == place))


def _note(change: Callable[[bytes], bytes]) -> Callable[[Parts, Made], None]:
    def edit(parts: Parts, made: Made) -> None:
        parts.members["checkpoint"] = change(parts.members["checkpoint"])

    return edit


def _larger(note: bytes) -> bytes:
    origin, size, rest = note.split(b"\n", 2)
    return b"\n".join([origin, str(int(size) + 1).encode(), rest])


def _other_root(note: bytes) -> bytes:
    origin, size, _, rest = note.split(b"\n", 3)
    return b"\n".join([origin, size, b64encode(bytes(32)), rest])


def _another_signer(note: bytes) -> bytes:
    found = parse_checkpoint(note)
    return bytes(SigningKey.generate(found.checkpoint.origin).sign(found.note.text))


def _another_name(note: bytes) -> bytes:
    return bytes(SigningKey.generate("somebody/else").sign(parse_checkpoint(note).note.text))


def _unlisted(parts: Parts, made: Made) -> None:
    (fixture,) = parts.about["fixtures"]
    fixture["runs"] = [each for each in fixture["runs"] if each["run"] != made.of.other]


def _left_out(parts: Parts, made: Made) -> None:
    """The run that was superseded, as if it had never been: neither listed nor among the events."""
    _unlisted(parts, made)
    gone = [*parts.seqs("plan", made.of.other), *parts.seqs("close", made.of.other)]
    parts.drop(*gone)


def _fixture(**change: Any) -> Callable[[Parts, Made], None]:
    def edit(parts: Parts, made: Made) -> None:
        mine = next(each for each in parts.about["fixtures"][0]["runs"] if each["run"] == made.of.run)
        mine.update(change)

    return edit


def _without_rescore(parts: Parts, made: Made) -> None:
    """As if nothing had come after the first tally: what it said is claimed."""
    score, tally = parts.seqs("score", made.of.run)[-1], parts.seqs("tally", made.of.run)
    figures = parts.body(tally[0])["metrics"]
    parts.drop(score, tally[1])
    shared = {"run": made.of.run, "rules": parts.about["claims"][0]["rules"], "tally": tally[0]}
    parts.about["claims"] = [{**figure, **shared} for figure in figures]


def _one_claim(parts: Parts, made: Made) -> None:
    """The better figure alone."""
    parts.about["claims"] = parts.about["claims"][:1]


def _older_tally(parts: Parts, made: Made) -> None:
    tally = parts.seqs("tally", made.of.run)[0]
    parts.about["claims"][0].update(parts.body(tally)["metrics"][0], tally=tally)


def _lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Parts, Made], None]:
    def edit(parts: Parts, made: Made) -> None:
        parts.members["lines.txt"] = b"".join(change(parts.members["lines.txt"].splitlines(keepends=True)))

    return edit


def _asked(**change: Any) -> Callable[[Parts, Made], None]:
    return lambda parts, made: parts.about["asked"].update(change)


EDITS: dict[str, tuple[str, Callable[[Parts, Made], None]]] = {
    "a claim of one more": ("shown", claim(k=lambda k, _: k + 1)),
    "a claim of one less measured": ("shown", claim(n=lambda n, _: n - 1)),
    "a claim of fewer planned": ("shown", claim(planned=lambda n, _: n - 1)),
    "a claim of none unmeasured but one": ("shown", claim(unmeasured=1)),
    "a claim about another candidate": ("shown", claim(candidate="openai/third")),
    "a claim about another metric": ("shown", claim(metric="exact")),
    "a claim about another run": ("shown", claim(run=lambda _, made: made.of.other)),
    "a claim about other rules": ("shown", claim(rules="exact@000000000000")),
    "a claim by an event that is no tally": ("shown", claim(tally=1)),
    "a claim by an event that isn't there": ("shown", claim(tally=200_000)),
    "one more, while all else is hidden": ("hidden", claim(k=lambda k, _: k + 1)),
    "a claim left out": ("shown", _one_claim),
    "a claim left out, while all else is hidden": ("hidden", _one_claim),
    "a claim left out, and no lines.txt": ("needed", _one_claim),
    "a claim of the report left out": ("report", _one_claim),
    "every claim left out": ("shown", lambda parts, _: parts.about.update(claims=[])),
    "a claim that is no figure of the report": ("report", claim(n=lambda n, _: n + 1)),
    "another report": ("report", _asked(report="0" * 64)),
    "a line with another time": ("shown", first("score", _later_time)),
    "a hidden event's line with another time": ("hidden", first("response", _later_time)),
    "another hash in a proof": ("shown", first("score", _other_hash)),
    "a proof without its last hash": ("shown", first("score", lambda row: row["proof"].pop())),
    "a proof with one hash more": ("shown", first("score", lambda row: row["proof"].append(row["proof"][0]))),
    "base64 with idle bits in a proof": ("shown", first("score", _loose_base64)),
    "another salt": ("shown", first("score", lambda row: _put(row, salt="0" * 32))),
    "a salt in capitals": ("shown", first("score", lambda row: _put(row, salt="AB" * 16))),
    "another outcome in a body": (
        "shown", first("score", lambda row: _put(row, body=row["body"].replace("correct", "unright")))
    ),
    "a body with a space more": ("shown", first("score", lambda row: _put(row, body=row["body"] + " "))),
    "a salt of a hidden body": ("hidden", first("response", lambda row: _put(row, salt="0" * 32))),
    "a hidden body without a reason": ("hidden", first("response", lambda row: _put(row, why=""))),
    "a reason at a body that is shown": ("shown", first("score", lambda row: _put(row, why="hidden: gold"))),
    "another byte in a blob": ("shown", _blob),
    "a blob that no event names": ("shown", lambda parts, _: parts.members.update({"blobs/9-more": b"x"})),
    "events in another order": ("shown", _swap_rows),
    "an event twice": ("shown", lambda parts, _: parts.rows.insert(20, parts.rows[20])),
    "the bodies of two scores swapped": ("shown", _swap_bodies),
    "two scores swapped": ("shown", _swap_places),
    "genesis left out": ("shown", lambda parts, _: parts.drop(1)),
    "a request left out": ("shown", _drop("request")),
    "a response left out": ("shown", _drop("response")),
    "a score left out": ("shown", _drop("score")),
    "a cell left out": ("hidden", _drop("cell")),
    "the report left out": ("shown", _drop("report")),
    "the supersession left out": ("shown", _drop("supersede")),
    "a score left out, and no lines.txt": ("needed", _drop("score")),
    "a response left out, and no lines.txt": ("needed", _drop("response")),
    "a cell left out, and no lines.txt": ("needed", _drop("cell")),
    "a wrong score hidden, and counted as right": ("shown", _hide_a_wrong_one),
    "a wrong score hidden with its tally, and counted as right": ("shown", _hide_wrong_one_and_its_tally),
    "a score that is said to be redacted": ("shown", _redacted_score),
    "another cell in the draw": ("drawn", _draw),
    "another seed in the draw": ("drawn", lambda parts, _: parts.about["reveal"].update(seed="mine")),
    "fewer cells than drawn": ("drawn", lambda parts, _: parts.about["reveal"]["drawn"].pop()),
    "no draw at all": ("drawn", lambda parts, _: parts.about.update(reveal=None)),
    "an event of a drawn cell hidden": ("drawn", _hide_drawn),
    "two cases swapped": ("drawn", _cases(_swap_cases)),
    "another gold in a case": ("drawn", _cases(_another_gold)),
    "a case left out": ("drawn", _cases(lambda cases: cases.pop())),
    "a checkpoint of one more event": ("shown", _note(_larger)),
    "a checkpoint with another root": ("shown", _note(_other_root)),
    "a checkpoint signed by another key of the same name": ("shown", _note(_another_signer)),
    "a checkpoint signed by somebody else": ("shown", _note(_another_name)),
    "a checkpoint without its signature": ("shown", _note(lambda note: note[: note.index(b"\n\n") + 2])),
    "a run on the fixture not listed": ("shown", _unlisted),
    "a run on the fixture not listed, while all is hidden": ("hidden", _unlisted),
    "a run on the fixture left out": ("shown", _left_out),
    "a report of the run not listed": ("shown", _fixture(reports=[])),
    "no fixture listed": ("shown", lambda parts, _: parts.about.update(fixtures=[])),
    "a later score left out": ("later", _without_rescore),
    "an older tally claimed": ("later", _older_tally),
    "an older tally claimed, and no lines.txt": ("later_needed", _older_tally),
    "a line of lines.txt left out": ("shown", _lines(lambda lines: lines[:40] + lines[41:])),
    "lines.txt without its end": ("shown", _lines(lambda lines: lines[:-1])),
    "a line of lines.txt twice": ("shown", _lines(lambda lines: lines[:40] + lines[39:])),
    "another kind in a line of lines.txt": (
        "shown", _lines(lambda lines: [*lines[:-1], lines[-1].replace(b"supersede", b"supersedes")])
    ),
    "lines.txt gone": ("shown", lambda parts, _: parts.members.pop("lines.txt") and None),
    "lines.txt there, and denied": ("shown", lambda parts, _: parts.about.update(complete=False)),
    "a run asked for that isn't there": ("shown", _asked(runs=["a" * 16])),
    "an event asked for that isn't there": ("shown", _asked(events=[5_000])),
}  # fmt: skip
"""What is done, to which bundle."""


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_found_by_both_readers(made: Made, what: str, tmp_path: Path) -> None:
    bundle, edit = EDITS[what]
    parts = Parts.of(getattr(made, bundle))
    edit(parts, made)
    edited = parts.write(tmp_path / "edited.zip")
    said = {name: reader(edited, made.of.key.verifier) for name, reader in READERS.items()}
    assert {each.status for each in said.values()} in ({1}, {2}), said
    assert all("Traceback" not in each.text for each in said.values())


@BOTH
@pytest.mark.parametrize("bundle", ["shown", "hidden", "drawn", "report", "needed"])
def test_a_bundle_as_it_was_made_is_proved(made: Made, reader: Reader, bundle: str) -> None:
    said = reader(getattr(made, bundle), made.of.key.verifier, seed=SEED if bundle == "drawn" else None)
    assert (said.status, "recounted" in said.text or "counted again" in said.text) == (0, True), said.text


@BOTH
def test_a_score_that_doesnt_follow_from_its_reading_is_found_by_both(made: Made, reader: Reader) -> None:
    said = reader(made.later, made.of.key.verifier)
    assert (said.status, "scores the same reading of the same case otherwise" in said.text) == (1, True), said.text


@BOTH
def test_written_again_unedited_it_is_still_proved(made: Made, reader: Reader, tmp_path: Path) -> None:
    assert reader(Parts.of(made.shown).write(tmp_path / "same.zip"), made.of.key.verifier).status == 0


@BOTH
def test_a_seed_that_isnt_the_auditors_is_found(made: Made, reader: Reader) -> None:
    assert reader(made.drawn, made.of.key.verifier, seed="another").status == 1
    assert reader(made.shown, made.of.key.verifier, seed=SEED).status == 1


@BOTH
def test_without_a_key_nothing_is_proved(made: Made, reader: Reader) -> None:
    said = reader(made.shown)
    assert said.status == 1
    assert "--key" in said.text


@BOTH
def test_a_key_of_another_ledger_proves_nothing(made: Made, reader: Reader) -> None:
    assert reader(made.shown, SigningKey.generate("example/other").verifier).status == 1


@BOTH
def test_a_hidden_score_makes_its_claim_proved_in_part(made: Made, reader: Reader, tmp_path: Path) -> None:
    parts = Parts.of(made.shown)
    parts.hide(_wrong(parts, made.of.run))
    said = reader(parts.write(tmp_path / "part.zip"), made.of.key.verifier)
    (line,) = [line for line in said.text.splitlines() if "9/10" in line]
    assert (said.status, line.lower().startswith("proved in part: ")) == (3, True), said.text
    assert line.lower().count("proved") == 1


@BOTH
def test_without_lines_what_was_left_out_is_told_and_not_proved(made: Made, reader: Reader, tmp_path: Path) -> None:
    parts = Parts.of(made.later_needed)
    _without_rescore(parts, made)
    said = reader(parts.write(tmp_path / "edited.zip"), made.of.key.verifier)
    told = [line for line in said.text.splitlines() if line.startswith(("ONLY TOLD", "Told, not proved"))]
    assert said.status == 0
    assert any("left out" in line for line in told)


@BOTH
def test_another_verify_py_in_it_is_named(made: Made, reader: Reader, tmp_path: Path) -> None:
    parts = Parts.of(made.shown)
    parts.members["verify.py"] = b"print('all that is claimed is proved')\n"
    said = reader(parts.write(tmp_path / "edited.zip"), made.of.key.verifier)
    assert any("verify.py" in line and "told" in line.lower() for line in said.text.splitlines())


def test_another_readme_in_it_is_named_by_us(made: Made, tmp_path: Path) -> None:
    for path in (made.shown, made.hidden, made.drawn, made.report, made.needed):
        assert "README.md" not in READERS["ledger verify"](path, made.of.key.verifier).text
    parts = Parts.of(made.hidden)
    parts.members["README.md"] = parts.members["README.md"].replace(b"not reported", b"reported")
    said = READERS["ledger verify"](parts.write(tmp_path / "edited.zip"), made.of.key.verifier)
    assert "README.md, which is not as this release writes it" in said.text
