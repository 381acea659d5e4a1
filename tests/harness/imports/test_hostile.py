"""Whatever stands in another project's files, an import ends in runs that verify and replay, or in one sentence."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import HarnessError
from harness.imports import ImportJob, import_job
from ledger import printable
from tests.harness.imports.artifacts import CASES, FORMAT, artifact, cell, fixture, good, put, reply, sample
from tests.harness.imports.commands import Commands

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
LONE = st.sampled_from(["\ud83d", "a\udc00", "\x00", "\x1b[2J{}", "\ufeff{}", "```json\n{}\n```", "\u2028", " \n"])
TEXTS = st.none() | st.text(max_size=40) | LONE | st.sampled_from([good(case) for case in CASES] + [reply()])
WORDS = st.text(max_size=40) | st.from_regex(r"http [1-5][0-9]{2}: [a-z ]{0,20}", fullmatch=True)
RECORDED = st.fixed_dictionaries(
    {}, optional={
        "malformed": st.booleans() | JSON, "malformed_reasons": st.lists(WORDS, max_size=3) | JSON, "raw_output": TEXTS,
        "score": JSON, "confirmed_findings": JSON, "class": JSON, "ablation_remove_confirmer": JSON,
    },
)  # fmt: skip
RUNS = st.dictionaries(
    st.text(min_size=1, max_size=20).filter(lambda name: "\x00" not in name),
    st.dictionaries(st.sampled_from([case["id"] for case in CASES]), RECORDED),
    min_size=1, max_size=3,
)  # fmt: skip


def few(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def file_of(value: Any) -> bytes:
    return json.dumps(value).encode()


def holds_together(engines: dict[str, dict[str, Any]], top: dict[str, Any]) -> None:
    """Import, verify, replay, rescore, report and import again."""
    value = artifact(
        {name: [{"case_id": case, **one} for case, one in cells.items()] for name, cells in engines.items()}
    )
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        files = put(here / "run.json", file_of({**value, **top})), put(here / "glasshouse_v0.json", fixture())
        commands = Commands(here / "ledger.db")
        found = commands.json("import", FORMAT, str(files[0]), "--fixture", str(files[1]))
        assert [each["engine"] for each in found["runs"]] == list(engines)
        assert {each["cells"] for each in found["runs"]} == {len(CASES)}
        assert commands.verdict() == "CONSISTENT"
        assert commands.call("replay", "--check") == 0, commands.said + commands.out
        for each in found["runs"]:
            commands.json("rescore", each["run"], "--rules", "fence-span")
            report = commands.json("report", each["run"])
            assert {row["candidate"] for row in report["scoreboard"]} == {each["engine"]}
        assert commands.call("report", found["runs"][0]["run"]) == 0
        assert printable(shown := commands.out + commands.said, multiline=True) == shown
        again = commands.json("import", FORMAT, str(files[0]), "--fixture", str(files[1]))
        assert again["runs"] == found["runs"] and again["appended"] == 0


TOP = st.fixed_dictionaries(
    {}, optional={"run_id": JSON, "generated_at_utc": JSON, "fixture": JSON, "boundary": JSON}
)  # fmt: skip


@few(5)
@given(RUNS, TOP)
def test_every_artifact_that_is_well_formed_comes_in_verifies_and_replays(
    engines: dict[str, dict[str, Any]], top: dict[str, Any]
) -> None:
    holds_together(engines, top)


@pytest.mark.long
@few(100)
@given(RUNS, TOP)
def test_every_artifact_that_is_well_formed_comes_in_many_times_over(
    engines: dict[str, dict[str, Any]], top: dict[str, Any]
) -> None:
    holds_together(engines, top)


def broken(value: Any, draw: st.DataObject) -> Any:
    """`value` with one thing in it replaced, renamed, doubled or taken out."""
    place, parents = value, []
    while isinstance(place, dict | list) and place and (not parents or draw.draw(st.integers(0, 3))):
        key = draw.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        parents.append((place, key))
        place = place[key]
    holder, key = parents[-1]
    what = draw.draw(st.sampled_from(["replace", "remove", "double"]))
    if what == "remove":
        del holder[key]
    elif what == "double" and isinstance(holder, list):
        holder.append(holder[key])
    else:
        holder[key] = draw.draw(JSON)
    return value


def refused_or_harmless(draw: st.DataObject) -> None:
    """Break a few things, and import."""
    recorded, cases = json.loads(json.dumps(sample())), json.loads(json.dumps(fixture()))
    for _ in range(draw.draw(st.integers(1, 3))):
        if draw.draw(st.booleans()):
            recorded = broken(recorded, draw)
        else:
            cases = broken(cases, draw)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        files = put(here / "run.json", file_of(recorded)), put(here / "glasshouse_v0.json", file_of(cases))
        commands = Commands(here / "ledger.db")
        status = commands.call("import", FORMAT, str(files[0]), "--fixture", str(files[1]))
        if status:
            assert status == 2
            assert commands.said.startswith("error: ") and commands.said.count("\n") == 1
            assert "fault of this program" not in commands.said
            assert not commands.db.exists()
        else:
            assert commands.verdict() == "CONSISTENT"
            assert commands.call("replay", "--check") == 0, commands.said


@few(12)
@given(st.data())
def test_what_is_broken_is_refused_in_one_sentence_or_does_no_harm(draw: st.DataObject) -> None:
    refused_or_harmless(draw)


@pytest.mark.long
@few(500)
@given(st.data())
def test_what_is_broken_is_refused_in_one_sentence_or_does_no_harm_many_times_over(draw: st.DataObject) -> None:
    refused_or_harmless(draw)


@few(60)
@given(st.binary(max_size=60), st.integers(0, 2000), st.booleans())
def test_bytes_cut_or_put_into_a_file_never_make_more_than_a_sentence(junk: bytes, at: int, cut: bool) -> None:
    whole = file_of(sample())
    at %= len(whole)
    data = whole[:at] + junk + (b"" if cut else whole[at:])
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        files = put(here / "run.json", data), put(here / "glasshouse_v0.json", fixture())
        try:
            import_job(ImportJob(FORMAT, [files[0]], files[1]), here / "ledger.db")
        except HarnessError as refused:
            assert "\n" not in str(refused) and str(refused).startswith(str(here))


@pytest.mark.parametrize(
    "engine", ["a|b", "x" * 1_000, "a\nb", "\x1b]0;t\x07", "latest", "..", "a/b@c", "🤖", "\u202eabc", "%s{0}"]
)
def test_an_engine_may_be_called_anything(engine: str, tmp_path: Path) -> None:
    recorded = put(tmp_path / "run.json", artifact({engine: [cell("vents", good(CASES[1]))], "other": []}))
    commands = Commands(tmp_path / "ledger.db")
    found = commands.json("import", FORMAT, str(recorded), "--fixture", str(put(tmp_path / "f.json", fixture())))
    report = commands.json("report", found["runs"][0]["run"])
    assert report["scoreboard"][0]["candidate"] == engine
    for arguments in (["report", found["runs"][0]["run"]], ["replay", "--check"]):
        assert commands.call(*arguments) == 0
        assert printable(shown := commands.out + commands.said, multiline=True) == shown


def test_many_cases_and_long_texts_come_in_whole(tmp_path: Path) -> None:
    cases = [{**CASES[index % 4], "id": f"case {index}"} for index in range(400)]
    recorded = artifact({"e": [cell(case["id"], good(case) + " " * 2_000) for case in cases]})
    commands = Commands(tmp_path / "ledger.db")
    found = commands.json(
        "import", FORMAT, str(put(tmp_path / "run.json", recorded)),
        "--fixture", str(put(tmp_path / "f.json", fixture(cases))),
    )  # fmt: skip
    rows = {row["metric"]: row for row in commands.json("report", found["runs"][0]["run"])["scoreboard"]}
    assert (rows["exact"]["k"], rows["exact"]["n"]) == (200, 200)
