"""Answers one by one: which are wanted, their texts out of the bytes that were sent, and what is withheld."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from harness._answers import TEXTS, Answers, Choice, collect_answers
from harness._answers_shown import answers_csv, answers_lines, safe_cell
from harness._errors import UsageError
from harness._filter import read_filters
from harness._job import Job, run_job
from harness._run import RunOptions, SilentProgress
from harness._texts import AnswerTexts
from ledger import Ledger, over_views, supersede
from ledger._redact import redact
from ledger._redact_targets import Targets
from ledger.cli import app as ledger_app
from ledger.cli import run_app
from tests.harness.judged import Bench, judge, target
from tests.harness.models import Answer, model_server
from tests.harness.reported import HOSTILE, cli, hostile_ledger
from tests.harness.scored import scored_run

PIXEL = "iVBORw0KGgo="
CASES: Sequence[Mapping[str, Any]] = (
    {"id": "plain", "input": "How much is 2 and 2?", "gold": "4", "meta": {"topic": "sums"}},
    {"id": "talk", "input": {"messages": [
        {"role": "user", "content": "Think of a number."}, {"role": "assistant", "content": "I have one: seven."},
        {"role": "user", "content": "Double it."}]}, "gold": "14", "meta": {"topic": "sums"}},
    {"id": "seen", "input": {"messages": [{"role": "user", "content": [
        {"type": "text", "text": "What is it?"}, {"type": "image", "media_type": "image/png", "data": PIXEL}]}]},
     "gold": "a dot", "meta": {"topic": "sight"}},
    {"id": "tool", "input": {"messages": [{"role": "user", "content": "Which time is it?"}], "tools": [
        {"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}]},
     "gold": "noon", "meta": {"topic": "tools"}},
)  # fmt: skip
FORMULA = '=HYPERLINK("http://x.example","4")'


def _streamed(*pieces: str) -> Answer:
    chunks = [{"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": each}}]} for each in pieces]
    chunks.append({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"
    return Answer(body=body.encode(), headers=(("Content-Type", "text/event-stream"),))


def _calls() -> Answer:
    call = {"id": "t", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    choice = {
        "index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": None, "tool_calls": [call]},
    }  # fmt: skip
    return Answer(body=json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode())


def says(prompt: str) -> Answer:
    """Right once, wrong with a formula, wrong with control codes, and a call of a tool."""
    if "2 and 2" in prompt:
        return Answer("4")
    if "Double" in prompt:
        return Answer(FORMULA)
    return _calls() if "time" in prompt else Answer(f"no idea {HOSTILE}")


@dataclass(frozen=True)
class Quiz:
    """A folder with a suite of four cases, each asking in another way, and a ledger in it."""

    folder: Path

    def __post_init__(self) -> None:
        suite = self.folder / "quiz"
        for name in ("rules", "v0"):
            (suite / name).mkdir(parents=True)
        (suite / "suite.toml").write_text('name = "quiz"\nstages = "manifest"\nask = "text"\n')
        for name, score in (("exact", 'scorer = "exact"'), ("loose", 'scorer = "includes"')):
            (suite / f"rules/{name}.toml").write_text(f"[read]\n\n[score]\n{score}\n")
        (suite / "v0/cases.jsonl").write_text("".join(json.dumps(each) + "\n" for each in CASES))

    @property
    def db(self) -> Path:
        return self.folder / "ledger.db"

    def run(self, answer: Any = says, *, stream: bool = False, rules: Sequence[str] = ("exact",)) -> str:
        with model_server(answer) as server:
            job = Job(
                str(self.folder / "quiz"), ["openai/one"], [server.openai], tuple(rules), stream=stream,
                options=RunOptions(),
            )  # fmt: skip
            return run_job(job, self.db, SilentProgress()).finished.run


@pytest.fixture(scope="module")
def quiz(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    made = Quiz(tmp_path_factory.mktemp("answers"))
    return made.db, made.run(rules=("exact", "loose"))


def told(db: Path, run: str, choice: Choice | None = None, **more: Any) -> tuple[Answers, dict[str, Any]]:
    """What was found, and its JSON."""
    with Ledger.open(db, read_only=True) as ledger:
        texts = AnswerTexts(ledger)
        found = collect_answers(ledger, run, choice or Choice(), texts, **more)
        return found, found.as_json(texts)


def by_case(db: Path, run: str, **more: Any) -> dict[str, Any]:
    return {row["case"]: row for row in told(db, run, **more)[1]["rows"]}


def lines(db: Path, run: str, choice: Choice | None = None, *, full: bool = False, **more: Any) -> list[str]:
    with Ledger.open(db, read_only=True) as ledger:
        texts = AnswerTexts(ledger)
        found = collect_answers(ledger, run, choice or Choice(), texts, **more)
        return list(answers_lines(found, texts, most=0, full=full, width=80))


# What was asked and answered


def test_a_question_is_what_was_sent_with_every_turn_and_an_image_by_its_size(quiz: tuple[Path, str]) -> None:
    rows = by_case(*quiz)
    assert rows["plain"]["question"] == "How much is 2 and 2?"
    assert rows["talk"]["question"] == (
        "(the user turn)\nThink of a number.\n\n(the assistant turn)\nI have one: seven.\n\n(the user turn)\nDouble it."
    )
    assert "(an image, image/png, 8 bytes)" in rows["seen"]["question"]
    assert "(an image, image/png, 8 bytes)" in rows["seen"]["input"]
    assert PIXEL not in json.dumps(rows)


def test_gold_reading_and_reply_stand_beside_each_other_with_what_they_come_from(quiz: tuple[Path, str]) -> None:
    rows = by_case(*quiz)
    assert [rows["plain"][name] for name in ("outcome", "gold", "answer", "reply")] == ["correct", "4", "4", "4"]
    assert [rows["talk"][name] for name in ("outcome", "gold", "answer")] == ["incorrect", "14", FORMULA]
    assert rows["plain"]["meta"] == {"topic": "sums"}
    with Ledger.open(quiz[0], read_only=True) as ledger:
        events = {name: ledger.event(rows["plain"][name]).kind for name in ("planned", "frozen", "asked", "replied")}
        events |= {name: ledger.event(rows["plain"][name]).kind for name in ("parse", "score")}
    assert events == {
        "planned": "cell", "frozen": "freeze", "asked": "request", "replied": "response", "parse": "parse",
        "score": "score",
    }  # fmt: skip


def test_a_reply_that_calls_a_tool_has_no_text_and_says_what_it_is_and_where_its_bytes_are(
    quiz: tuple[Path, str],
) -> None:
    row = by_case(*quiz)["tool"]
    assert (row["outcome"], row["reply"]) == ("unmeasured", None)
    assert f"`ledger show {row['replied']} --blob body`" in row["no_text"]["reply"]
    assert row["reason"] in row["no_text"]["reply"]


def test_a_streamed_reply_is_one_text(tmp_path: Path) -> None:
    made = Quiz(tmp_path)
    run = made.run(lambda prompt: _streamed("fo", "urt", "een"), stream=True)
    assert {row["reply"] for row in by_case(made.db, run).values()} == {"fourteen"}


def test_tokens_and_latency_are_known_where_the_reply_tells_them_and_a_cost_without_a_price_is_unknown(
    quiz: tuple[Path, str],
) -> None:
    rows = by_case(*quiz)
    assert (rows["plain"]["input_tokens"], rows["plain"]["output_tokens"], rows["plain"]["requests"]) == (7, 5, 1)
    assert (rows["tool"]["input_tokens"], rows["tool"]["output_tokens"]) == (None, None), "it told no usage"
    assert {row["cost"] for row in rows.values()} == {None}
    assert all(isinstance(row["latency_ms"], int) for row in rows.values())


def test_what_a_cell_cost_is_what_the_report_says_of_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.toml").write_text(
        '["openai/*"]\ninput = "0.15"\noutput = "0.6"\ncurrency = "USD"\nas_of = "2026-11-30"\n'
    )
    made = Quiz(tmp_path)
    with model_server(says) as server:
        command = [
            "run",
            tmp_path / "quiz",
            "--engine",
            "openai/one",
            "--base-url",
            server.openai,
            "--prices",
            "prices.toml",
        ]
        cli(*command, "--db", made.db)
    with Ledger.open(made.db, read_only=True) as ledger:
        from harness._spend import spend_of

        run = ledger.rows("SELECT run FROM main.events WHERE kind = 'plan'")[0]["run"]
        spent = spend_of(lambda query, given=(): ledger.rows(over_views(query), given), run)
    known = {each["case"]: each["cost"] for each in spent["cases"]}
    rows = by_case(made.db, run)
    assert {name: None if cost is None else pytest.approx(float(cost)) for name, cost in known.items()} == {
        name: row["cost"] for name, row in rows.items()
    }
    assert rows["plain"]["cost"] == pytest.approx((7 * 0.15 + 5 * 0.6) / 1e6)
    assert rows["plain"]["currency"] == "USD"


# Which are wanted


def test_wrong_is_what_is_incorrect_and_never_what_is_unmeasured(quiz: tuple[Path, str]) -> None:
    found, _ = told(*quiz, Choice(wrong=True))
    assert [each.row["case"] for each in found.answers] == ["talk"]
    assert "1 wrong of 4 answers" in found.sentence()
    assert "2 are unmeasured, so neither right nor wrong" in found.sentence()
    found, _ = told(*quiz, Choice(unmeasured=True))
    assert [each.row["case"] for each in found.answers] == ["seen", "tool"]


def test_of_several_rule_sets_the_first_is_shown_and_the_others_are_named(quiz: tuple[Path, str]) -> None:
    found, _ = told(*quiz)
    assert [each.partition("@")[0] for each in (*found.rules, *found.others)] == ["exact", "loose"]
    both, _ = told(*quiz, rules=["exact", found.others[0]])
    assert (len(both.answers), both.others) == (8, ())
    with pytest.raises(UsageError, match="was not scored under 'strict'; there are exact@"):
        told(*quiz, rules=["strict"])


def test_a_filter_keeps_cases_and_a_key_that_no_case_has_is_named(quiz: tuple[Path, str]) -> None:
    found, _ = told(*quiz, Choice(filters=read_filters(["meta.topic=sums"])))
    assert [each.row["case"] for each in found.answers] == ["plain", "talk"]
    with pytest.raises(UsageError, match=r"did you mean meta\.topic"):
        told(*quiz, Choice(filters=read_filters(["meta.topik=sums"])))
    with pytest.raises(UsageError, match="expected id, fixture or meta"):
        told(*quiz, by="topic")


def test_groups_are_counted_among_all_cells_and_stand_together(quiz: tuple[Path, str]) -> None:
    found, _ = told(*quiz, Choice(wrong=True, unmeasured=True), by="meta.topic")
    assert found.groups == (("sight", 1, 1), ("sums", 1, 2), ("tools", 1, 1))
    assert [each.group for each in found.answers] == ["sight", "sums", "tools"]
    golds, _ = told(*quiz, by="gold")
    assert [name for name, _, _ in golds.groups] == ["4", "14", "a dot", "noon"]


def test_candidates_disagree_where_measured_outcomes_differ_and_epochs_are_unstable_likewise(tmp_path: Path) -> None:
    told_of = {
        "openai/a": {"same": ["right", "right"], "moves": ["right", "wrong"], "lost": ["right", "wrong"]},
        "openai/b": {"same": ["right", "right"], "moves": ["wrong", "wrong"], "lost": ["malformed", "wrong"]},
    }
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        run = scored_run(ledger, told_of, epochs=2)
    found, _ = told(tmp_path / "ledger.db", run, Choice(disagree=True))
    assert [(each.row["case"], each.row["candidate"], each.row["epoch"]) for each in found.answers] == [
        ("moves", "openai/a", 0), ("moves", "openai/b", 0)
    ]  # fmt: skip
    found, _ = told(tmp_path / "ledger.db", run, Choice(unstable=True))
    assert {(each.row["case"], each.row["candidate"]) for each in found.answers} == {
        ("moves", "openai/a"), ("lost", "openai/a"),
    }  # fmt: skip
    assert len(found.answers) == 4


# What must be said


def test_a_withheld_reply_and_a_withheld_case_say_so_and_by_which_event(tmp_path: Path) -> None:
    made = Quiz(tmp_path)
    run = made.run()
    rows = by_case(made.db, run)
    gone = Targets(
        bodies=(rows["plain"]["replied"], rows["talk"]["planned"], rows["seen"]["asked"]), blobs=(), already=()
    )
    event = redact(made.db, gone, category="personal_data", reason="somebody asked")
    assert event is not None
    by = f"withheld by event {event.seq}: personal_data"
    after = {row["cell"]: row for row in told(made.db, run)[1]["rows"]}
    assert after[rows["plain"]["cell"]]["no_text"]["reply"] == by
    assert after[rows["plain"]["cell"]]["gold"] == "4"
    assert after[rows["talk"]["cell"]]["no_text"]["gold"] == by
    assert after[rows["seen"]["cell"]]["no_text"]["question"] == by
    assert any(by in line for line in lines(made.db, run))


def test_a_superseded_and_a_tainted_run_say_so_ahead_of_their_answers(tmp_path: Path) -> None:
    made = Quiz(tmp_path)
    run = made.run()
    assert run_app(ledger_app, "ledger", ["taint", run, "--reason", "the key was wrong", "--db", str(made.db)]) == 0
    with Ledger.open(made.db) as ledger:
        supersede(ledger, run, by=None, category="other", reason="no use")
    shown = lines(made.db, run)
    assert shown[0].startswith("SUPERSEDED") and "no use" in shown[0]
    assert any(line.startswith("TAINTED") and "the key was wrong" in line for line in shown[:3])


def test_a_judges_run_shows_what_the_judge_was_asked_and_the_graded_run_its_grades(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    run = bench.run(target)
    done = bench.grade(run, judge(verdict="pass"))
    asked, _ = told(bench.db, done.finished.run)
    rows = by_case(bench.db, done.finished.run)
    assert any("A judge's run" in mark for mark in asked.marks)
    assert all("<untrusted" in row["question"] for row in rows.values())
    graded = next(label for label in told(bench.db, run)[0].others)
    joined = by_case(bench.db, run, rules=[graded])
    assert {row["verdict"] for row in joined.values() if row["outcome"] != "unmeasured"} == {"pass"}
    assert joined["rain"]["reply"] == "It falls: Why does it ra"


# What reaches a terminal, a spreadsheet and a program


@pytest.mark.parametrize("full", [False, True])
def test_nothing_that_a_model_wrote_moves_a_terminal(quiz: tuple[Path, str], full: bool) -> None:
    shown = lines(*quiz, full=full, by="meta.topic")
    assert all(line.isprintable() for line in shown)
    assert any("\\x1b[31m" in line for line in shown)


def test_the_short_list_fits_eighty_columns_and_five_lines_an_answer(quiz: tuple[Path, str]) -> None:
    shown = lines(*quiz)
    assert max(map(cell_len, shown)) <= 80
    assert len(shown) <= 4 + 5 * 4 + 4


def test_a_run_of_hostile_names_is_listed_too(tmp_path: Path) -> None:
    run = hostile_ledger(tmp_path / "ledger.db")
    shown = lines(tmp_path / "ledger.db", run)
    assert len(shown) > 3
    assert all(line.isprintable() for line in shown)


def test_a_table_has_every_answer_whole_and_no_formula(quiz: tuple[Path, str]) -> None:
    with Ledger.open(quiz[0], read_only=True) as ledger:
        texts = AnswerTexts(ledger)
        text = "".join(answers_csv(collect_answers(ledger, quiz[1], Choice(), texts), texts))
    rows = {row["case"]: row for row in csv.DictReader(io.StringIO(text))}
    assert list(rows) == ["plain", "talk", "seen", "tool"]
    assert rows["talk"]["answer"] == f"'{FORMULA}"
    assert rows["seen"]["reply"] == f"no idea {HOSTILE}"
    assert (rows["plain"]["cost"], rows["plain"]["output_tokens"]) == ("", "5")
    assert set(TEXTS) <= set(rows["plain"])


@given(st.text(max_size=12) | st.sampled_from(["-5", "+3.5e7", "-1e", "\t=1", " =1", "＝1", "-5+cmd|' /C calc'!A0"]))
def test_a_cell_starts_like_a_formula_only_where_it_is_a_plain_number(text: str) -> None:
    found = str(safe_cell(text))
    if found.lstrip(" ")[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠") and found.strip():
        assert found == text and isinstance(float(text), float)
    assert found.removeprefix("'") == text or found == text


def test_the_command_prints_a_list_a_table_or_json_and_names_a_run_that_is_not_there(
    quiz: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    db = ("--db", quiz[0])
    assert cli("cases", "latest", "--wrong", *db) == 0
    out = capsys.readouterr().out
    assert "1 wrong of 4 answers" in out and "gold   14" in out
    assert cli("cases", quiz[1], "--json", *db) == 0
    assert json.loads(capsys.readouterr().out)["rows"][2]["reply"] == f"no idea {HOSTILE}"
    assert cli("cases", quiz[1], "--limit", "1", *db) == 0
    assert "3 more: --limit 0 lists all of them" in capsys.readouterr().out
    assert cli("cases", "none", *db) == 2
    assert capsys.readouterr().err.startswith("error: no run fits 'none'; `ledger runs")
    assert cli("cases", quiz[1], "--json", "--csv", *db) == 2
    assert "expected --csv or --json, got both" in capsys.readouterr().err


def test_a_frame_of_answers_has_their_texts(quiz: tuple[Path, str]) -> None:
    with Ledger.open(quiz[0], read_only=True) as ledger:
        frame = ledger.frame("answers")
        mine = ledger.frame(
            'SELECT "case", reply_text(planned, replied) AS reply, gold_text(planned) AS gold FROM answers'
            " WHERE run = ? AND rules LIKE 'exact@%' AND outcome = 'incorrect'",
            [quiz[1]],
        )
    assert {"question", "gold", "answer", "reply", "meta"} <= set(frame.columns)
    assert dict(zip(mine["case"], mine["reply"], strict=True))["talk"] == FORMULA
    assert frame[frame["case"] == "plain"]["question"].iloc[0] == "How much is 2 and 2?"


def test_the_view_looks_events_up_by_index_alone(quiz: tuple[Path, str]) -> None:
    with Ledger.open(quiz[0], read_only=True) as ledger:
        plan = ledger.sql(f"EXPLAIN QUERY PLAN {over_views('SELECT * FROM answers WHERE run = ?')}", (quiz[1],))
        steps = [row[3] for row in plan.fetchall()]
    over_events = [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step]
    assert [step for step in over_events if "events" in step] == []


def test_a_report_lists_wrong_answers_where_asked_for_and_checks_until_one_of_them_is_withheld(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, page = Quiz(tmp_path), tmp_path / "report.html"
    run = made.run(lambda prompt: Answer("<i>no idea</i>"))
    assert cli("report", run, "-o", tmp_path / "plain.html", "--db", made.db) == 0
    assert "no idea" not in (tmp_path / "plain.html").read_text("utf-8")
    assert cli("report", run, "--answers", "--db", made.db) == 2
    assert f"`harness cases {run} --wrong` lists them" in capsys.readouterr().err
    assert cli("report", run, "--answers", "-o", page, "--db", made.db) == 0
    shown = page.read_text("utf-8").partition('<pre id="data">')[0]
    assert "4 of 4 cells are incorrect under" in shown
    assert "&lt;i&gt;no idea&lt;/i&gt;" in shown and "<i>no idea" not in shown
    assert cli("check", page, "--db", made.db) == 0
    row = by_case(made.db, run)["plain"]
    redact(made.db, Targets(bodies=(row["parse"],), blobs=(), already=()), category="other", reason="asked for")
    capsys.readouterr()
    assert cli("check", page, "--db", made.db) == 1
    said = capsys.readouterr().out
    assert "withheld" in said and "DIFFERS" not in said
    edited = page.read_text("utf-8").replace("no idea", "an idea")
    page.write_text(edited, "utf-8")
    assert cli("check", page, "--db", made.db) == 1
    assert "DIFFERS" in capsys.readouterr().out
