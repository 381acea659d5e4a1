"""The page of a run: its numbers are the report's, each leads to its cells, and what must be known stands on it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import chdir
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import ledger._schema
import ledger._store
from harness import read_report
from harness.imports import ImportJob, import_job
from harness.web import PAGES
from ledger import Draft, Ledger, kinds
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger._runs import list_runs
from ledger.web._links import LiveLinks
from ledger.web._pages import View
from ledger.web._reading import Shelf
from ledger.web._render import draw
from tests.harness.imports.artifacts import FORMAT, fixture, put, sample
from tests.harness.models import Answer, model_server
from tests.harness.reported import HOSTILE, hostile_ledger, run_again, suite_with_bars
from tests.harness.test_answers import Quiz
from tests.harness.web.pages import Pages, cells_of, words
from tests.web.crawling import Seen
from tests.web.sources import Sources
from tests.web.states import command, interesting

COUNTED = re.compile(
    r'<a href="(?P<link>[^"]+)"><data value="(?P<value>\d+)" [^>]*data-at="/(?P<at>[a-z]+/\d+/(?:k|n|count))"'
)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with a run in every state, and one of runs that were asked elsewhere: a probe, imports."""
    return interesting(tmp_path_factory.mktemp("states"))


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere")
    db = folder / "elsewhere.db"
    with model_server(lambda prompt: Answer("hello")) as server:
        command("harness", "probe", "openai/m", "--prompt", "Say hi.", "--base-url", server.openai, "--db", db)
    artifact, cases = put(folder / "run.json", sample()), put(folder / "glasshouse_v0.json", fixture())
    import_job(ImportJob(FORMAT, (artifact,), cases), db)
    return db


@pytest.fixture(scope="module")
def pages(states: Path) -> Iterator[Pages]:
    with Pages(states) as found:
        yield found


def runs(db: Path) -> dict[str, str]:
    """Ids by name."""
    with Ledger.open(db, read_only=True) as ledger:
        return {row["name"] or "probe": row["run"] for row in list_runs(ledger)}


def report(db: Path, run: str) -> dict[str, Any]:
    with Ledger.open(db, read_only=True) as ledger:
        return read_report(ledger, run).as_json()


@pytest.mark.parametrize("ledger_of", ["states", "elsewhere"])
def test_every_number_of_every_run_is_the_command_line_s_and_no_digit_lacks_its_source(
    request: pytest.FixtureRequest, ledger_of: str
) -> None:
    db: Path = request.getfixturevalue(ledger_of)
    sources, counted = Sources(db), 0
    with Pages(db) as found:
        for run in runs(db).values():
            page = found.run(run)
            for each in (page, *(found.at(link) for link in narrowed(page, run)[::3])):
                assert (each.status, each.digits, each.inline) == (200, [], [])
                assert [said for number in each.numbers if (said := sources.wrong(number))] == []
                counted += len(each.numbers)
                assert each.headings[0] == 1
                assert all(later <= before + 1 for before, later in zip(each.headings, each.headings[1:], strict=False))
                assert len(each.ids) == len(set(each.ids))
    assert counted > 90


def narrowed(page: Seen, run: str) -> list[str]:
    return list(dict.fromkeys(link.partition("#")[0] for link in page.links if f"/run/{run}?" in link))


@pytest.mark.parametrize("named", ["mixed", "repeats", "sums", "broken", "retried"])
def test_each_k_n_and_count_leads_to_exactly_its_cells(pages: Pages, states: Path, named: str) -> None:
    run = runs(states)[named]
    told, page = report(states, run), pages.run(run)
    followed = 0
    for found in COUNTED.finditer(page.html):
        _, at, what = found["at"].split("/")
        target = pages.at(unescape(found["link"]).partition("#")[0])
        row = (told["scoreboard"] if what in "kn" else told["unmeasured"])[int(at)]
        expected = expected_cells(states, run, row, what)
        assert (cells_of(target), len(expected)) == (expected[:100], int(found["value"])), (row, what)
        followed += 1
    assert followed > 1


def expected_cells(db: Path, run: str, row: dict[str, Any], what: str) -> list[int]:
    """The cells that a figure was counted from, found without the pages: in the score events themselves."""
    with Ledger.open(db, read_only=True) as ledger:
        owners = {event.cell: ledger.body(event) for event in ledger.events(kind="cell", run=run) if event.body}
        first = json.loads(ledger.rows("SELECT candidates FROM runs WHERE run = ?", (run,))[0]["candidates"])[0]
        scores: dict[int, kinds.Score] = {}
        for event in ledger.events(kind="score", run=run):
            score = ledger.body(event)
            assert isinstance(score, kinds.Score)
            if score.rules == row["rules"]:
                scores[event.cell] = score
    found: list[int] = []
    for cell, score in sorted(scores.items()):
        owner = owners.get(cell)
        # The one withheld cell is of the first candidate of its plan.
        if getattr(owner, "candidate", first) != row["candidate"]:
            continue
        if what == "count":
            fits = (score.outcome, score.stage, score.reason) == ("unmeasured", row["stage"], row["reason"])
        else:
            fits = row["metric"] in score.metrics and (what == "n" or score.metrics[row["metric"]] > 0)
        if fits:
            found.append(cell)
    return found


def test_the_first_page_s_headlines_are_the_report_s_primary_rows(states: Path) -> None:
    assert PAGES.headlines is not None
    shelf = Shelf(states)
    for name, run in runs(states).items():
        board = report(states, run)["scoreboard"]
        with shelf.reading() as ledger:
            size, head = ledger.head()
            view = View(ledger, size, head, LiveLinks("/", "states", "/states", {}), {}, shelf.memory)
            found = PAGES.headlines(view, run)
        expected = [
            (f"/scoreboard/{at}", row["candidate"], row["rules"], row["metric"], row["k"], row["n"], row["rate"],
             row["interval_low"], row["interval_high"])
            for at, row in enumerate(board) if row["is_primary"]
        ]  # fmt: skip
        assert [
            (each.k.pointer.removesuffix("/k"), each.candidate, each.rules, each.metric, each.k.value, each.n.value,
             each.rate.value, each.low.value, each.high.value)
            for each in found
        ] == expected, name  # fmt: skip
        assert all(each.k.source.command == f"harness report {run}" for each in found)
        assert expected or name == "killed"
    shelf.close()


def test_what_was_superseded_tainted_withheld_noted_or_never_ended_says_so(pages: Pages, states: Path) -> None:
    ids = runs(states)
    superseded = pages.run(ids["broken"])
    assert f"SUPERSEDED by run {ids['mixed']} (event" in words(superseded)
    assert any(link.endswith(f"/run/{ids['mixed']}") for link in superseded.links)
    assert "bad_request" in superseded.html
    assert "The provider called the request invalid." in superseded.html
    assert re.search(r"TAINTED by event \d+ \( ?run:", words(pages.run(ids["repeats"])))
    assert 'class="tag bad">tainted' in pages.run(ids["repeats"]).html
    sums = pages.run(ids["sums"])
    assert "NOT REPRODUCIBLE: 1 of the scores" in words(sums)
    assert "(withheld)" in sums.html
    assert "the small one is cheaper" in words(sums)
    killed = words(pages.run(ids["killed"]))
    assert "The run is interrupted" in killed
    assert f"harness resume {ids['killed']}" in killed
    assert "harness resume" not in words(pages.run(ids["mixed"]))


def test_each_rule_set_says_whether_it_is_confirmatory_and_each_bar_whether_it_is_met(
    pages: Pages, states: Path
) -> None:
    run = runs(states)["mixed"]
    told, said = report(states, run), words(pages.run(run))
    for each in told["rules"]:
        assert f"{each['rules']} {each['standing']}" in said
        assert each["because"] in said
    assert {each["standing"] for each in told["rules"]} == {"confirmatory", "post hoc"}
    assert told["bars"]
    for bar in told["bars"]:
        assert f"{bar['bar']} {bar['rules']} {bar['candidate']} {bar['figure']} {bar['status']}" in said
        assert bar["fails"] in said if bar["status"] == "failed" else bar["why"] in said


def test_repeats_show_the_interval_by_case_and_what_changed(pages: Pages, states: Path) -> None:
    page = pages.run(runs(states)["repeats"])
    assert "95% by case" in page.html
    assert "Each case was asked more than once" in words(page)
    assert "pass@1" in words(page)
    assert any(number.pointer == "/repeatability/0/changed" for number in page.numbers)


def test_a_run_shows_its_reports_and_whom_they_were_given_to(pages: Pages, states: Path) -> None:
    page = pages.run(runs(states)["mixed"])
    with Ledger.open(states, read_only=True) as ledger:
        (event,) = ledger.events(kind="report")
    assert "the review board" in words(page)
    assert any(link.endswith(f"/event/{event.seq}") for link in page.links)
    assert "No report was written of it yet" in words(pages.run(runs(states)["sums"]))


def test_time_and_waits_and_faults_of_requests_are_told(pages: Pages, states: Path) -> None:
    page = pages.run(runs(states)["retried"])
    with Ledger.open(states, read_only=True) as ledger:
        waits = sum(1 for _ in ledger.events(kind="wait", run=runs(states)["retried"]))
    assert waits > 0
    assert f"Waited {waits} time" in words(page)
    queries = {number.query: number.value for number in page.numbers if number.query}
    assert any("attempt > 0" in query and value == waits for query, value in queries.items())
    assert any("sum(total_ms)" in query for query in queries)


def test_a_probe_is_no_evaluation_and_lists_its_events(elsewhere: Path) -> None:
    with Pages(elsewhere) as found:
        page = found.run(runs(elsewhere)["probe"])
    assert "outside every scoreboard" in words(page)
    assert re.findall(r'<th scope="row"><bdi>([a-z]+)</bdi></th>', page.html)[:3] == ["plan", "cell", "request"]
    assert "Scoreboard" not in page.html


def test_imported_answers_are_post_hoc_and_nothing_was_spent_here(elsewhere: Path) -> None:
    with Pages(elsewhere) as found:
        (page,) = [found.run(run) for name, run in runs(elsewhere).items() if name.endswith("local_small")]
    said = words(page)
    assert "imported: nothing was asked here" in said
    assert "Post hoc: the answers were imported" in said
    assert "nothing was spent here" in said
    assert "IMPORTED by event" in said
    assert "harness resume" not in said


def test_a_replay_says_that_its_answers_are_older(states: Path, tmp_path: Path) -> None:
    suite = suite_with_bars(tmp_path)
    source = f"replay/{states}@openai/stubborn"
    where = ["--db", tmp_path / "replay.db", "--limit", 6, "--max-retries", 0]
    command("harness", "run", f"{suite}/v0", "--engine", source, *where, expect=3)
    with Pages(tmp_path / "replay.db") as found:
        (run,) = runs(tmp_path / "replay.db").values()
        said = words(found.run(run))
    assert "a replay of recorded replies" in said
    assert "which is the replay of an older one" in said
    assert "nothing was spent" in said


def test_a_run_that_is_not_there_is_a_sentence_with_404(pages: Pages) -> None:
    page = pages.run("zzzzzzzzzzzzzzzz")
    assert page.status == 404
    assert "no run fits" in words(page)


def test_a_run_of_which_nothing_was_asked_shows_its_cells_as_not_asked(tmp_path: Path) -> None:
    db = tmp_path / "none.db"
    hostile_ledger(db, cells=1)
    with Ledger.open(db) as ledger:
        (event,) = ledger.events(kind="plan")
        plan = ledger.body(event)
        assert isinstance(plan, kinds.Plan)
        named = {"name": "unasked", "suite": "quiet", "tags": list[str]()}
        (opened,) = ledger.append(Draft(plan.model_copy(update=named), run="cccccccccccccccc", causes=event.causes))
        (cell,) = ledger.events(kind="cell")
        body = ledger.body(cell)
        assert isinstance(body, kinds.Cell)
        ledger.append(Draft(body, run="cccccccccccccccc", cell=1, causes=[opened.seq]))
    with Pages(db) as found:
        page = found.run("cccccccccccccccc")
    said = words(page)
    assert page.status == 200
    assert re.search("stopped (not reached ){4}unmeasured harness ?/ ?not_asked", said)
    assert "No response had come" in said
    assert "Nothing was asked, so nothing was spent." in said
    assert "no data" in said


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    run = hostile_ledger(tmp_path / "hostile.db", cells=30, reasons=7)
    with Pages(tmp_path / "hostile.db") as found:
        page = found.run(run)
        for each in (page, *(found.at(link) for link in narrowed(page, run))):
            assert each.status == 200
            assert "<script>alert" not in each.html
            # An address or a query may hold it, as it is; what people read or hear doesn't.
            heard = "".join(re.findall(r'(?:title|aria-label)="([^"]*)"', each.html))
            assert not {"\x1b", "\u202e", "\u2066"} & {*words(each), *heard}
            assert each.inline == []
        assert len(narrowed(page, run)) > 10
        hit = next(link for link in narrowed(page, run) if "hit=1" in link)
        assert cells_of(found.at(hit)) == [1, 2]
    assert HOSTILE.strip() not in page.html


@pytest.mark.parametrize("release", range(1, ledger._schema.RELEASE))
def test_a_ledger_of_an_older_release_has_the_same_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: int
) -> None:
    with monkeypatch.context() as then:
        then.setattr(ledger._schema, "RELEASE", release)
        then.setattr(ledger._store, "RELEASE", release)
        run = hostile_ledger(tmp_path / "older.db")
    hostile_ledger(tmp_path / "now.db")
    with Pages(tmp_path / "older.db") as older, Pages(tmp_path / "now.db") as now:
        before, after = older.run(run), now.run(run)
    assert before.status == 200
    assert [(number.text, number.pointer, number.query) for number in before.numbers] == [
        (number.text, number.pointer, number.query) for number in after.numbers
    ]


def test_a_static_page_has_no_form_and_no_way_to_sort(states: Path) -> None:
    run = runs(states)["mixed"]
    shelf = Shelf(states)
    for query in ({}, {"outcome": ["unmeasured"]}):
        with shelf.reading() as ledger:
            size, head = ledger.head()
            links = LiveLinks("/", "states", "/states", {})
            view = View(ledger, size, head, links, query, shelf.memory, fixed=True)
            html = draw(PAGES.routes[0].page(view, run=run), view)
        assert "<form" not in html
        assert not re.search("[?;]sort=", html)
        assert "hit=1" in html or query
        assert "Cells and stages" in html
    shelf.close()


def test_the_data_of_a_page_is_the_json_that_the_command_prints(pages: Pages, states: Path) -> None:
    run = runs(states)["mixed"]
    board = report(states, run)["scoreboard"]
    shown = {number.pointer: number.value for number in pages.run(run).numbers if number.command}
    for at, row in enumerate(board):
        for name in ("k", "n", "planned", "rate", "interval_low", "interval_high", "worst", "best"):
            if row["n"] or name in ("planned", "worst", "best"):
                assert shown[f"/scoreboard/{at}/{name}"] == row[name], (at, name)


def test_a_bare_name_of_a_rule_set_is_enough(pages: Pages, states: Path) -> None:
    run = runs(states)["mixed"]
    label = report(states, run)["rules"][0]["rules"]
    assert cells_of(pages.run(run, rules=label.partition("@")[0])) == cells_of(pages.run(run, rules=label)) != []


def test_one_run_again_is_offered_to_compare_with(tmp_path: Path) -> None:
    db, suite = tmp_path / "two.db", suite_with_bars(tmp_path)
    first, second = run_again(db, suite, limit=2), run_again(db, suite, limit=2, name="second")
    with Pages(db) as found:
        page = found.run(first)
    assert f'<option value="{second}">' in page.html or "compare" not in {route.name for route in PAGES.routes}
    assert any(link.endswith(f"/run/{second}") for link in page.links)
    assert f"harness compare {first} OTHER" in words(page)


POLICY = """
[unmeasured]
policy = "unreadable-is-a-miss"

[[unmeasured.count]]
metric = "f1"
as = 0
statuses = ["malformed"]
"""


def test_means_and_what_a_policy_counts_are_told_and_lead_to_their_cells(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text("q,a\n" + "".join(f"What {at}?,red green\n" for at in range(12)))
    said = iter(["no list at all", '["red"]', '["red", "green"]', '["blue"]'] * 6)
    db = tmp_path / "graded.db"
    with chdir(tmp_path), model_server(lambda prompt: Answer(next(said))) as server:
        split = ["--score", "f1", "--gold-split", " "]
        command("harness", "new", "words", "questions.csv", "--input", "q", "--gold", "a", *split)
        (rules,) = (tmp_path / "fixtures/words/rules").glob("*.toml")
        rules.write_text(rules.read_text("utf-8") + POLICY, "utf-8")
        where = ["--base-url", server.openai, "--max-connections", 1, "--db", db]
        command("harness", "run", "words", "--engine", "openai/m", "--epochs", 2, *where)
    (run,) = runs(db).values()
    told, sources = report(db, run), Sources(db)
    (at,) = [at for at, row in enumerate(told["scoreboard"]) if row["metric"] == "f1"]
    row = told["scoreboard"][at]
    assert (row["kind"], row["unmeasured"], row["n"]) == ("mean", 6, 24)
    with Pages(db) as found:
        page = found.run(run)
        assert "6 unmeasured, counted by unreadable-is-a-miss" in words(page)
        assert f"{row['rate']:.3f} over 24" in words(page)
        assert "95% by case" in words(page)
        measured = found.run(run, metric="f1")
        assert cells_of(measured) == list(range(1, 25))
        hit, missed = found.run(run, metric="f1", hit="1"), found.run(run, metric="f1", hit="0")
        assert (len(cells_of(hit)), len(cells_of(missed))) == (12, 12)
        assert "graded 0.667" in words(hit)
        for each in (page, measured, hit, missed):
            assert [wrong for number in each.numbers if (wrong := sources.wrong(number))] == []
            assert each.digits == []


def test_predictions_are_held_against_the_figures_with_their_standing(tmp_path: Path) -> None:
    suite, db = suite_with_bars(tmp_path), tmp_path / "predicted.db"
    for name in ("early", "late"):
        (tmp_path / f"{name}.toml").write_text('suite = "authority"\nexpect = [ { bar = "direction >= 9/12" } ]\n')
    command("harness", "freeze", suite, "--prediction", tmp_path / "early.toml", "--db", db)
    run = run_again(db, suite, limit=4)
    (tmp_path / "late.toml").write_text('suite = "authority"\nexpect = [ { bar = "exact >= 1/12" } ]\n')
    command("harness", "freeze", suite, "--prediction", tmp_path / "late.toml", "--db", db)
    told, sources = report(db, run)["predictions"], Sources(db)
    assert {held["standing"] for held in told} == {"confirmatory", "post hoc"}
    with Pages(db) as found:
        page = found.run(run)
    for held in told:
        assert f"{held['name']} {held['standing']}" in words(page)
        assert any(link.endswith(f"/event/{held['event']}") for link in page.links)
    shown = [number for number in page.numbers if number.pointer.startswith("/predictions/")]
    assert len(shown) == sum(len(held["results"]) for held in told) > 1
    assert [wrong for number in shown if (wrong := sources.wrong(number))] == []


def test_a_cell_without_a_score_is_not_said_to_lack_a_metric_that_may_not_be_about_it(
    pages: Pages, states: Path
) -> None:
    page = pages.run(runs(states)["killed"], metric="killed", hit="none")
    assert cells_of(page) == [1, 2, 3]
    assert "only a score says which metrics apply" in words(page)
    assert "only a score says" not in words(pages.run(runs(states)["mixed"], metric="exact", hit="none"))


def test_the_page_of_a_run_lists_its_first_wrong_answers_and_none_that_was_withheld(tmp_path: Path) -> None:
    quiz = Quiz(tmp_path)
    run = quiz.run(lambda prompt: Answer("<b>no idea</b>" if "2 and 2" in prompt else "noon"))
    with Pages(quiz.db) as pages:
        shown = pages.run(run)
        listed = shown.html[shown.html.index('id="wrong"') : shown.html.index('id="cells"')]
        assert "How much is 2 and 2?" in listed
        assert "&lt;b&gt;no idea&lt;/b&gt;" in listed and "<b>no idea" not in listed
        assert f"harness cases {run} --wrong" in listed
        assert listed.count("<tr>") == 1 + 3
        with Ledger.open(quiz.db, read_only=True) as ledger:
            (seq,) = ledger.sql("SELECT min(seq) FROM main.events WHERE kind = 'response'").fetchone()
            targets = find_targets(ledger, [str(seq)])
    redact(quiz.db, targets, category="other", reason="asked for")
    with Pages(quiz.db) as pages:
        assert "withheld by event" in pages.run(run).html
