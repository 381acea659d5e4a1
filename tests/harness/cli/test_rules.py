"""`harness rules`: what there is, what one says and where it stands, how two differ."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.cli import app
from harness.imports import ImportJob, import_job
from ledger.cli import run_app
from tests.harness.imports.artifacts import FORMAT, fixture, put, sample

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one suite and nothing else; commands run there."""
    shutil.copytree(ROOT / "fixtures" / "authority", tmp_path / "fixtures" / "authority")
    monkeypatch.chdir(tmp_path)
    for name in ("LEDGER_DB", "LEDGER_JSON"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def used(here: Path) -> Path:
    """A ledger in which strict-cite stands frozen and was used on two imported runs."""
    files = put(here / "run.json", sample()), put(here / "glasshouse_v0.json", fixture())
    import_job(ImportJob(FORMAT, [files[0]], files[1]), here / "ledger.db")
    return here / "ledger.db"


def call(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    assert run_app(app, "harness", ["rules", *arguments]) == status
    return capsys.readouterr()


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(call(capsys, *arguments, "--json")[0])


@pytest.mark.usefixtures("here")
def test_list_names_every_rule_set_and_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    found = {each["name"]: each for each in as_json(capsys, "list")["rules"]}
    assert set(found) == {"as-of-2026-07-01", "fence-cite", "fence-span", "strict-cite", "strict-span", "default"}
    assert found["fence-span"]["reads"] == ["fence", "unclosed_fence", "list_not_object"]
    assert found["fence-span"]["confirms"] == ["relation_in_span"]
    assert found["strict-cite"]["frozen"] is None and found["default"]["suite"] == ""
    assert found["as-of-2026-07-01"]["policy"] != "leave-out"
    assert [each["name"] for each in as_json(capsys, "list", "--suite", "authority")["rules"]] == sorted(
        set(found) - {"default"}
    )
    out, _ = call(capsys, "list")
    assert "authority" in out and "strict-cite@" in out and "(built in)" in out


def test_list_says_which_stand_frozen_and_where_only_another_of_the_name_does(
    used: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {each["name"]: each for each in as_json(capsys, "list")["rules"]}
    seq = found["strict-cite"]["frozen"]
    assert isinstance(seq, int) and found["fence-cite"]["frozen"] is None
    file = here / "fixtures" / "authority" / "rules" / "strict-cite.toml"
    before = found["strict-cite"]["label"]
    file.write_text(file.read_text() + "\n# another file\n")
    again = {each["name"]: each for each in as_json(capsys, "list")["rules"]}["strict-cite"]
    assert again["frozen"] is None and again["label"] != before
    assert again["frozen_others"] == [{"label": before, "seq": seq}]
    assert "another is" in call(capsys, "list")[0]


def test_a_broken_rule_file_is_listed_with_what_is_wrong(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "fixtures" / "authority" / "rules" / "odd\x1b[31m.toml").write_text("x = ")
    found = [each for each in as_json(capsys, "list")["rules"] if each["fault"]]
    assert len(found) == 1
    out, _ = call(capsys, "list")
    assert "\x1b" not in out and "odd" in out


def test_show_says_what_a_rule_set_is_where_it_stands_and_where_it_was_used(
    used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(capsys, "show", "authority/strict-cite")
    assert found["file"] == (ROOT / "fixtures/authority/rules/strict-cite.toml").read_text()
    assert found["switches"]["confirm.relation_in_span"] is False
    assert "harness.suites.authority._confirm" in found["sources"]
    assert len(found["frozen"]) == 1
    assert [(each["name"], each["standing"]) for each in found["runs"]] == [
        ("20270101T000000Z/paid one", "post hoc"), ("20270101T000000Z/local_small", "post hoc"),
    ]  # fmt: skip
    out, _ = call(capsys, "show", found["label"])
    assert "the answers were imported" in out and f"Frozen by event {found['frozen'][0]}." in out
    assert "Not frozen" in call(capsys, "show", "fence-cite")[0]


def test_a_frozen_one_is_found_by_its_label_when_its_file_is_gone(
    used: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = as_json(capsys, "show", "strict-cite")["label"]
    file = here / "fixtures" / "authority" / "rules" / "strict-cite.toml"
    file.write_text(file.read_text().replace("min_confidence = 0.60", "min_confidence = 0.9"))
    found = as_json(capsys, "diff", label, "strict-cite")
    assert found["a"]["label"] == label and found["switches"] == [
        {"switch": "confirm.min_confidence", "a": "0.6", "b": "0.9"}
    ]
    assert as_json(capsys, "diff", label[:-6], label)["same"] is True
    file.unlink()
    suite = here / "fixtures" / "authority" / "suite.toml"
    suite.write_text(suite.read_text().replace('"strict-cite", ', ""))
    assert as_json(capsys, "show", "strict-cite")["label"] == label


def test_diff_says_what_differs_and_ends_well_either_way(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "diff", "strict-cite", "authority/fence-cite")
    assert [each["switch"] for each in found["switches"]] == [
        "read.fence", "read.unclosed_fence", "bars.direction >= 3/4", "bars.false_fire <= 1/6",
    ]  # fmt: skip
    assert found["code"] == [] and found["same"] is False
    out, _ = call(capsys, "diff", "strict-cite", "fixtures/authority/rules/strict-cite.toml")
    assert out.endswith(": the same rule set.\n")
    assert "read.fence" in call(capsys, "diff", "strict-cite", "fence-cite", "--code")[0]
    assert not (here / "ledger.db").exists()


def test_a_name_that_is_none_is_refused_with_what_there_is(
    used: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = call(capsys, "show", "lenient\x1b", status=2)
    assert "strict-cite@" in err and "\x1b" not in err and err.count("\n") == 1
    assert "no rule set is called" in call(capsys, "diff", "strict-cite@00000000ffff", "strict-cite", status=2)[1]
    (here / "other.db").write_text("no ledger")
    assert call(capsys, "list", "--db", "other.db", status=2)[1].startswith("error: ")
    assert call(capsys, "list", "--suite", "nope", status=2)[1].startswith("error: expected a suite")


def test_list_and_show_say_which_scorer_a_manifest_suite_s_rules_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "fixtures" / "qa"
    (folder / "v0").mkdir(parents=True)
    (folder / "rules").mkdir()
    (folder / "suite.toml").write_text('name = "qa"\nstages = "manifest"\nask = "text"\n')
    (folder / "v0" / "cases.jsonl").write_text('{"id": "a", "input": "?", "gold": 1}\n')
    (folder / "rules" / "near.toml").write_text('[read]\n[score]\nscorer = "number"\ntolerance = 0.50\n')
    monkeypatch.chdir(tmp_path)
    listed, _ = call(capsys, "list", "--json")
    (near,) = [each for each in json.loads(listed)["rules"] if each["name"] == "near"]
    assert near["scores"] == ["number/2", "tolerance=0.5"]
    shown, _ = call(capsys, "show", "qa/near", "--json")
    assert json.loads(shown)["switches"]["score.decimal"] == "."
    assert "number/2, tolerance=0.5" in call(capsys, "list")[0]
