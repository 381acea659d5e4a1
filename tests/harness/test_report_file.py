"""A report as a file: self-contained, the same bytes from the same data, safe whatever text stands in the ledger."""

from __future__ import annotations

import io
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from harness._check import check_report
from harness._clusters import case_interval
from harness._errors import UsageError
from harness._report import read_report, render_report
from harness._report_data import collect
from harness._report_file import FORMATS, data_in, format_of, render
from harness._report_md import md_name
from ledger import Ledger, find_run, kinds, verify
from tests.harness.models import Answer, model_server
from tests.harness.reported import HOSTILE, cli, copied, hostile_ledger, run_again, suite_with_bars, written
from tests.harness.test_run import perfect

VOID = {"meta", "br", "line", "circle", "rect"}


class Page(HTMLParser):
    """What a browser would make of a page: its tags with attributes, and whether they nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    path = tmp_path_factory.mktemp("hostile") / "ledger.db"
    run = hostile_ledger(path, cells=40, reasons=30)
    with Ledger.open(path, read_only=True) as ledger:
        data = collect(ledger, run, ledger.head()[0])
        for form in FORMATS:
            found = check_report(ledger, render(data, form), form)
            assert (found.verdict, found.reproduced) == ("reproduces", found.numbers), found.sentences()
    return {form: render(data, form).decode() for form in FORMATS}


@pytest.mark.parametrize("form", FORMATS)
def test_no_hostile_text_reaches_a_page_or_a_terminal_as_it_is(hostile: dict[str, str], form: str) -> None:
    text = hostile[form]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "evil" in text and ("\\u202e" in text)


def test_hostile_text_in_html_makes_no_element_no_attribute_and_no_request(hostile: dict[str, str]) -> None:
    page = Page(hostile["html"])
    assert page.open == []
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "div", "table", "caption",
        "thead", "tbody", "tr", "th", "td", "bdi", "figure", "svg", "desc", "line", "text", "circle", "rect", "details",
        "summary", "pre",
    }  # fmt: skip
    attributes = {name for _, attrs in page.tags for name in attrs}
    assert not attributes & {"href", "src", "onload", "onclick", "srcset", "action", "style"}
    values = {str(value) for _, attrs in page.tags for name, value in attrs.items() if name != "xmlns"}
    assert not any("http:" in value or "url(" in value or "evil" in value for value in values)
    assert "url(" not in (style := hostile["html"].partition("</style>")[0]) and "@import" not in style
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'")
    assert "<script>alert(1)</script>" in "".join(page.words), "it is shown, as text"


def test_hostile_text_in_markdown_stays_in_its_cell_and_its_code_span(hostile: dict[str, str]) -> None:
    text = hostile["md"].partition("```json")[0]
    for line in text.split("\n"):
        bare = re.sub(r"`[^`]*`", "CODE", line)
        assert "`" not in bare, line
        assert not re.search(r"[\[\]<]|!\[|http", bare.replace("<!-- eval-ledger report -->", "")), line
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) >= 4
    for table in tables:
        widths = {row.count("|") for row in table.strip().split("\n")}
        assert len(widths) == 1, table


@given(st.text())
def test_a_code_span_holds_any_text_on_one_line(text: str) -> None:
    shown = md_name(text)
    assert "\n" not in shown and "|" not in shown
    assert shown == "–" or re.fullmatch(r"`[^`]+`", shown)


def test_charts_are_well_formed_described_and_agree_with_the_figures(hostile: dict[str, str], tmp_path: Path) -> None:
    db = copied(tmp_path)
    text = written(db, tmp_path / "report.html").path.read_text("utf-8")
    for page in (text, hostile["html"]):
        charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        assert charts
        for chart in charts:
            root = ElementTree.fromstring(chart)
            names = [each.tag.rpartition("}")[2] for each in root]
            assert names[:2] == ["title", "desc"]
            assert all(each.text for each in root[:2])
            for each in root.iter():
                for name in ("x", "x1", "x2", "cx", "y", "width"):
                    if name in each.attrib:
                        assert -1 <= float(each.attrib[name]) <= 2000
    data = data_in(text, "html")
    (strict, *_) = [each for each in data["rules"] if each["rules"].startswith("strict")]
    rows = [row for row in data["scoreboard"] if row["rules"] == strict["rules"]]
    rows.sort(key=lambda row: data["run"]["candidates"].index(row["candidate"]))
    chart = next(each for each in re.findall(r"<svg.*?</svg>", text, re.DOTALL) if strict["rules"] in each)
    dots = re.findall(r'<circle class="rate" cx="([0-9.]+)"', chart)
    assert [f"{4 + row['rate'] * 392:.1f}" for row in rows if row["rate"] is not None] == dots


def test_many_reasons_are_all_in_the_table_and_the_longest_in_the_chart(hostile: dict[str, str]) -> None:
    data = data_in(hostile["html"], "html")
    assert len(data["unmeasured"]) == 30
    assert hostile["html"].count('<rect class="bar') == 20
    assert "and 10 more in the table" in hostile["html"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_carries_its_data_and_gives_itself_again(tmp_path: Path, form: str) -> None:
    db = copied(tmp_path)
    file = written(db, tmp_path / f"r.{form}").path.read_text("utf-8")
    assert format_of(file) == form
    data = data_in(file, form)  # pyright: ignore[reportArgumentType]
    assert render(data, form).decode() == file
    assert data["receipt"]["run"] == data["run"]["id"]
    assert [row["standing"] for row in data["rules"]] == ["confirmatory", "confirmatory"]
    if form != "json":
        for part in ("confirmatory", "What was frozen when", "Bars", "Receipt", data["receipt"]["head"], "no_json"):
            assert part in file


def test_the_event_carries_every_number_and_rests_on_the_tallies(tmp_path: Path) -> None:
    db = copied(tmp_path)
    made = written(db, tmp_path / "r.md")
    with Ledger.open(db, read_only=True) as ledger:
        event = ledger.event(made.seq)
        body = ledger.body(event)
        assert isinstance(body, kinds.Report)
        assert ledger.blob(event, "file") == made.path.read_bytes()
        data = data_in(made.path.read_text("utf-8"), "md")
        assert set(event.causes) == {each["event"] for each in data["receipt"]["tallies"]}
        assert {ledger.event(cause).kind for cause in event.causes} == {"tally"}
        assert (body.size, body.head, body.format) == (made.seq - 1, ledger.event(made.seq - 1).hash, "md")
        figures = [figure for figure in body.figures if isinstance(figure, dict)]
    spent = [each for each in figures if each["kind"] == "spend"]
    named = [(row["candidate"], row["cost"], row["unknown"]) for row in data["spend"]["candidates"]]
    assert [(each["candidate"], each["cost"], each["unknown"]) for each in spent] == named
    figures = [each for each in figures if each["kind"] != "spend"]
    assert len(figures) == len(data["scoreboard"])
    for figure, row in zip(figures, data["scoreboard"], strict=True):
        assert {name: figure[name] for name in ("candidate", "rules", "metric", "k", "n", "planned", "tally")} == {
            name: row[name] for name in ("candidate", "rules", "metric", "k", "n", "planned", "tally")
        }
        assert figure["interval"] == (None if row["low"] is None else [row["low"], row["high"]])
        assert figure["head"] == body.head


def test_a_run_without_a_measured_cell_has_no_rate_in_any_format(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    run_again(path, suite_with_bars(tmp_path), answer=lambda prompt: Answer("no"))
    for form in ("md", "html"):
        text = written(path, tmp_path / f"r.{form}").path.read_text("utf-8").partition("The data that this report")[0]
        assert "no data" in text
        assert "0/0" not in text and "0.0%" not in text.replace("0.0–100.0%", "")
        assert "undecided" in text
    assert cli("check", tmp_path / "r.md", "--db", path) == 0


def read_report_here(db: Path) -> str:
    """What `harness report` shows on a terminal."""
    with Ledger.open(db, read_only=True) as ledger:
        console = Console(file=io.StringIO(), width=200)
        for part in render_report(read_report(ledger, find_run(ledger, "latest"))):
            console.print(part)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_repeats_get_an_interval_by_case_and_say_how_many_changed(tmp_path: Path) -> None:
    times: dict[str, int] = {}

    def answer(prompt: str) -> Answer:
        key = perfect(prompt)
        times[prompt] = times.get(prompt, 0) + 1
        first = next((each for each in times if "M00" in perfect(each)), "")
        return Answer('{"proposals": []}' if prompt == first and times[prompt] == 2 else key)

    db = tmp_path / "ledger.db"
    run_again(db, suite_with_bars(tmp_path), epochs=4, answer=answer)
    made = written(db, tmp_path / "r.md")
    text = made.path.read_text("utf-8")
    data = data_in(text, "md")
    repeats = next(row for row in data["repeatability"] if row["changed"])
    row = next(
        row for row in data["scoreboard"]
        if (row["metric"], row["rules"], row["candidate"]) == ("exact", repeats["rules"], repeats["candidate"])
    )  # fmt: skip
    assert row["planned"] == 16
    assert 0 <= row["case_low"] < row["rate"] < row["case_high"] <= 1
    assert row["interval_by"] == "cases, wilson", "four cases are too few to be resampled"
    assert row["interval_high"] - row["interval_low"] > row["high"] - row["low"], "repeats are no cases of their own"
    shown = f"{100 * row['interval_low']:.1f}–{100 * row['interval_high']:.1f}%"
    lines = [each for each in text.splitlines() if each.startswith("| `exact`") and f" {row['k']}/{row['n']} " in each]
    pooled = f"{100 * row['low']:.1f}–{100 * row['high']:.1f}%"
    assert lines and all(shown in each and pooled not in each for each in lines), "the one over cases leads"
    assert "95% by case" in text and "95% interval |" not in text and "its repeats are one cluster" in text
    assert repeats["majority"] == {"of": 4, "right": 6, "ties": 0, "wrong": 0, "open": 0}
    assert "majority of 4: 6 right, 0 ties, 0 wrong" in text
    report = read_report_here(db)
    assert "majority of 4: 6 right, 0 ties, 0 wrong" in report and shown in report and "95% by case" in report
    assert repeats["changed"] == 1 < repeats["repeated"] == 6
    assert "Repeated cases whose outcome changed" in text
    once, four = repeats["pass_at_k"]
    assert (once["k"], four["k"]) == (1, 4)
    assert 0 < once["value"] < four["value"] <= 1
    assert f"pass@4 {four['value']:.3f}" in text
    assert cli("check", made.path, "--db", db) == 0


@given(st.lists(st.tuples(st.integers(0, 4).map(float), st.integers(4, 4)), max_size=12))
@settings(max_examples=25, deadline=None)
def test_an_interval_by_case_holds_the_mean_and_says_nothing_where_nothing_varies(
    cases: list[tuple[float, int]],
) -> None:
    found = case_interval(cases)
    if len({total for total, _ in cases}) < 2:
        assert found is None
    else:
        assert found is not None and found == case_interval(cases)
        assert min(total for total, _ in cases) / 4 <= found[0] <= found[1] <= max(total for total, _ in cases) / 4


def test_figures_that_count_unmeasured_cells_say_how_many_and_by_which_policy(tmp_path: Path) -> None:
    from harness._job import Job, run_job
    from harness._run import RunOptions
    from harness._session import SilentProgress

    db, suite = tmp_path / "ledger.db", suite_with_bars(tmp_path)
    with model_server(lambda prompt: Answer("no")) as server:
        job = Job(f"{suite}/v0", ["openai/m"], [server.openai], ("as-of-2026-07-01",), options=RunOptions())
        run_job(job, db, SilentProgress())
    for form in ("md", "html"):
        text = written(db, tmp_path / f"r.{form}").path.read_text("utf-8")
        assert re.search(r"0/4 \(4 unmeasured, counted by [a-z0-9_.-]+\)", text)
        assert "count unmeasured cells" in text
    data = data_in((tmp_path / "r.md").read_text("utf-8"), "md")
    exact = next(row for row in data["scoreboard"] if row["metric"] == "exact")
    assert (exact["k"], exact["n"], exact["unmeasured"], exact["worst"], exact["best"]) == (0, 4, 4, 0.0, 1.0)
    assert cli("check", tmp_path / "r.html", "--db", db) == 0


def test_predictions_are_held_against_the_run_and_say_when_they_were_frozen(tmp_path: Path) -> None:
    from harness._prediction import freeze_prediction

    db, suite = tmp_path / "ledger.db", suite_with_bars(tmp_path)
    early, late = tmp_path / "early.toml", tmp_path / "late.toml"
    early.write_text('suite = "authority"\n[[expect]]\nbar = "exact >= 1/2"\n', "utf-8")
    late.write_text('suite = "authority"\n[[expect]]\nbar = "exact >= 99%"\n', "utf-8")
    Ledger.create(db).close()
    with Ledger.open(db) as ledger:
        first, _ = freeze_prediction(ledger, early)
    run_again(db, suite, answer=lambda prompt: Answer(perfect(prompt)))
    before = written(db, tmp_path / "before.md").path
    with Ledger.open(db) as ledger:
        second, _ = freeze_prediction(ledger, late)
    after = written(db, tmp_path / "after.md").path
    told = [data_in(path.read_text("utf-8"), "md")["predictions"] for path in (before, after)]
    assert [each["event"] for each in told[0]] == [first]
    assert [(each["event"], each["standing"]) for each in told[1]] == [(first, "confirmatory"), (second, "post hoc")]
    assert {result["status"] for each in told[1] for result in each["results"]} == {"met"}
    assert f"Frozen as event {second}" in after.read_text("utf-8")
    for path in (before, after):
        assert cli("check", path, "--db", db) == 0


# Where it may be written


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = copied(tmp_path)
    file = written(db, tmp_path / "r.md").path
    before = file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert cli("report", "latest", "-o", file, "--db", db) == 2
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    with Ledger.open(db, read_only=True) as ledger:
        assert len(list(ledger.events(kind="report"))) == 1, "what was never written isn't recorded"


def test_only_reports_are_written_over_and_a_ledger_never(tmp_path: Path) -> None:
    db = copied(tmp_path)
    notes, report = tmp_path / "notes.md", tmp_path / "r.md"
    notes.write_text("mine\n", "utf-8")
    assert cli("report", "latest", "-o", notes, "--db", db) == 2
    assert notes.read_text("utf-8") == "mine\n"
    assert cli("report", "latest", "-o", notes, "--force", "--db", db) == 0
    assert cli("report", "latest", "-o", report, "--db", db) == 0
    assert cli("report", "latest", "-o", report, "--format", "html", "--db", db) == 0
    assert format_of(report.read_text("utf-8")) == "html"
    link = tmp_path / "link.md"
    link.symlink_to(db)
    other = tmp_path / "other.db"
    Ledger.create(other).close()
    parts = [Path(f"{each}{end}") for each in (db, other) for end in ("-wal", "-shm", "-journal")]
    for target in (db, link, other, *parts, Path(f"{db}.locks/x.md"), tmp_path, tmp_path / "no/r.md"):
        assert cli("report", "latest", "-o", target, "--format", "md", "--force", "--db", db) == 2, target
    assert verify(db).verdict == "CONSISTENT"
    assert verify(other).verdict == "CONSISTENT"


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes")
def test_a_long_name_is_no_hindrance_and_one_too_long_is_named_as_it_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = copied(tmp_path)
    assert cli("report", "latest", "-o", tmp_path / ("\U0001f600" * 60 + ".md"), "--db", db) == 0
    assert cli("report", "latest", "-o", tmp_path / "r.md", "--db", db) == 0
    capsys.readouterr()
    longer = tmp_path / f"{'a' * 300}.md"
    assert cli("report", "latest", "-o", longer, "--db", db) == 2
    assert f"{longer}: File name too long" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_a_report_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    db = copied(tmp_path)
    before = os.umask(0o027)
    try:
        made = written(db, tmp_path / "r.md")
    finally:
        os.umask(before)
    assert made.path.stat().st_mode & 0o777 == 0o640


# The command


def test_printed_reports_record_nothing_and_the_format_follows_the_name(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    db = copied(tmp_path)
    with Ledger.open(db, read_only=True) as ledger:
        head = ledger.head()
    assert cli("report", "latest", "--format", "md", "--db", db) == 0
    printed = capsysbinary.readouterr().out
    with Ledger.open(db, read_only=True) as ledger:
        assert ledger.head() == head
        found = check_report(ledger, printed, "x")
    assert (found.verdict, found.recorded) == ("reproduces", None)
    assert cli("report", "latest", "-o", tmp_path / "r.htm", "--db", db) == 0
    assert format_of((tmp_path / "r.htm").read_text("utf-8")) == "html"
    assert cli("report", "latest", "-o", tmp_path / "r.txt", "--db", db) == 2
    assert cli("report", "latest", "--format", "pdf", "--db", db) == 2
    assert cli("report", "--format", "md", "--db", db) == 2


def test_reports_of_chosen_rule_sets_list_the_others_that_were_tried(tmp_path: Path) -> None:
    db = copied(tmp_path)
    assert cli("report", "latest", "--rules", "fence-cite", "-o", tmp_path / "r.md", "--db", db) == 0
    text = (tmp_path / "r.md").read_text("utf-8")
    data = data_in(text, "md")
    assert [row["rules"].split("@")[0] for row in data["rules"]] == ["fence-cite"]
    assert [row["rules"].split("@")[0] for row in data["other_rules"]] == ["strict-cite"]
    assert {row["rules"].split("@")[0] for row in data["scoreboard"]} == {"fence-cite"}
    assert "Other rule sets that were tried on this run" in text
    assert cli("check", tmp_path / "r.md", "--db", db) == 0
    with Ledger.open(db, read_only=True) as ledger, pytest.raises(UsageError, match="not scored under 'nope'"):
        collect(ledger, find_run(ledger, "latest"), ledger.head()[0], ["nope"])


def test_the_gate_holds_a_run_to_its_bars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db, suite = tmp_path / "ledger.db", suite_with_bars(tmp_path)
    run_again(db, suite, answer=lambda prompt: Answer(perfect(prompt)))
    assert cli("report", "latest", "--gate", "--db", db) == 0
    assert cli("report", "latest", "--gate", "--rules", "fence-cite", "--db", db) == 2, "no bar is set there"
    assert "sets a bar" in capsys.readouterr().err
    run_again(db, suite, answer=lambda prompt: Answer('{"proposals": []}'))
    assert cli("report", "latest", "--gate", "--db", db) == 1
    assert "bar exact >= 1/4 is failed for openai/first" in capsys.readouterr().err
    run_again(db, suite, answer=lambda prompt: Answer("no"))
    assert cli("report", "latest", "--gate", "--json", "--db", db) == 1, "undecided is no pass"
    out, words = capsys.readouterr()
    assert {bar["status"] for bar in json.loads(out)["bars"]} == {"undecided"}
    assert "undecided" in words
    run_again(db, suite, answer=lambda prompt: Answer(status=402, body=b'{"error": {"message": "pay"}}'))
    assert cli("report", "latest", "--gate", "-o", tmp_path / "r.md", "--db", db) == 3, "unfinished goes first"
    assert (tmp_path / "r.md").exists()
    with Ledger.open(db, read_only=True) as ledger:
        verdicts = [ledger.body(event) for event in ledger.events(kind="gate")]
    assert [each.outcome for each in verdicts if isinstance(each, kinds.Gate)] == [
        "pass", "fail", "inconclusive", "incomplete",
    ], "whatever it was, but for the one that was refused"  # fmt: skip


def test_the_terminal_shows_the_same_marks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = copied(tmp_path)
    assert cli("report", "latest", "--db", db) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert words.count("(confirmatory)") == 4
    assert "Bars; undecided is no pass" in words
    assert "It fires | where" not in words, "no bar failed, so nothing of it is concluded"
    assert "\x1b" not in words
    path = tmp_path / "hostile.db"
    hostile_ledger(path)
    assert cli("report", "latest", "--db", path) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\u202e" not in shown and HOSTILE not in shown
