"""What a run spent, held against the books of the servers that charged for it; and budgets that hold."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.harness.counting import Books, counting_server, down, limited, silent, told, truncated, unreadable
from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect

PRICES = """
["openai/a"]
input = "0.15"
cached = "0.075"
output = "0.60"
currency = "USD"
as_of = "2026-11-30"

["openai/b*"]
input = 1.25
output = 10
currency = "USD"
as_of = "2026-11-30"
"""
Made = tuple[Answer, tuple[int, int, int]]


def troubled(prompt: str, number: int) -> Made:
    """Answers, one in seven of each kind of trouble."""
    size = len(prompt) // 4
    match number % 7:
        case 0:
            return down()
        case 2:
            return limited()
        case 3:
            return truncated(perfect(prompt), size, 500)
        case 5:
            return unreadable(size, 8)
        case _:
            return told(perfect(prompt), size, 200 + number, cached=64 * (number % 2))


def plain(prompt: str, number: int) -> Made:
    return told(perfect(prompt), 1000 + number, 100)


def experiment(folder: Path, prices: str = PRICES) -> Experiment:
    found = Experiment(folder / "here")
    (found.folder / "prices.toml").write_text(prices)
    return found


def run(of: Experiment, servers: dict[str, Books], *arguments: str, expect: int = 0) -> Any:
    asked: list[str] = []
    for engine, books in servers.items():
        assert books.server is not None
        asked += ["--engine", engine, "--base-url", books.server.openai]
    return of.harness("run", "authority/v0", *asked, *arguments, expect=expect)


def spend(of: Experiment) -> Any:
    return of.harness("report", "latest")["spend"]


def test_the_spend_of_two_sessions_adds_up_to_the_cent_with_the_servers_own_books(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(troubled) as one, counting_server(plain) as two:
        first = run(
            of, {"openai/a": one, "openai/b": two}, "--max-retries", "2", "--max-cost", "0.03USD", "--epochs", "8",
            "--max-wait", "0.05", expect=3,
        )  # fmt: skip
        assert "--max-cost 0.03 USD is reached" in first["errors"]
        before = one.calls + two.calls
        assert 10 < before < 96
        again = of.harness("resume", "--max-retries", "2", "--max-wait", "0.05", expect=3)
        assert one.calls + two.calls == before, "the budget counts what the first session spent"
        assert "is reached" in again["errors"]
        of.harness("resume", "--max-cost", "none", "--max-retries", "6", "--max-wait", "0.05")
        assert one.calls + two.calls > 96
        found = spend(of)
        costs = {row["candidate"]: row for row in found["candidates"]}
        assert Decimal(costs["openai/a"]["cost"]) == one.cost("0.15", "0.075", "0.60")
        assert Decimal(costs["openai/b"]["cost"]) == two.cost("1.25", "0", "10")
        (total,) = found["total"]
        assert Decimal(total["cost"]) == one.cost("0.15", "0.075", "0.60") + two.cost("1.25", "0", "10")
        assert found["unknown"] == 0 and total["currency"] == "USD"
        for label, books in (("openai/a", one), ("openai/b", two)):
            row = costs[label]
            assert row["requests"] == books.calls
            assert row["input_tokens"] + row["cached_tokens"] + row["output_tokens"] == books.tokens
            assert row["requests"] - row["refused"] == len(books.charged)
            mine = [each for each in found["cases"] if each["candidate"] == label]
            assert len(mine) == 6
            assert sum(Decimal(each["cost"]) for each in mine) == Decimal(row["cost"])
        rules = {row["rules"] for row in found["failures"]}
        strict = [row for row in found["failures"] if row["rules"] == min(rules)]
        assert {"stop_length", "no_json"} <= {row["reason"] for row in strict}
        assert 0 < sum(Decimal(row["cost"]) for row in strict) < Decimal(costs["openai/a"]["cost"])


def test_a_changed_digit_of_the_spend_is_found_in_every_format(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(plain) as one:
        run(of, {"openai/b": one}, "--limit", "6")
    (total,) = spend(of)["total"]
    for form in ("md", "html", "json"):
        file = of.folder / f"r.{form}"
        of.harness("report", "latest", "-o", str(file))
        of.harness("check", str(file))
        text = file.read_text("utf-8")
        shown = total["cost"] if form == "json" else f"{Decimal(total['cost']):.6f}".rstrip("0")
        assert shown in text, form
        file.write_text(text.replace(shown, shown[:-1] + str((int(shown[-1]) + 1) % 10), 1), "utf-8")
        told_so = of.harness("check", str(file), expect=1)
        assert told_so["verdict"] == "differs" and told_so["differences"]
    data = json.loads((of.folder / "r.json").read_text("utf-8"))
    event = of.bodies("report")[0]
    assert next(each for each in event["figures"] if each["kind"] == "spend")["cost"] == total["cost"]
    assert data["spend"]["prices"] == of.bodies("plan")[0]["prices"]


@pytest.mark.parametrize("at_once", [1, 6])
def test_max_cost_overshoots_by_no_more_than_the_calls_in_flight(tmp_path: Path, at_once: int) -> None:
    of = experiment(tmp_path)

    def slow(prompt: str, number: int) -> Made:
        answer, charge = told(perfect(prompt), 10_000, 1_000)
        return Answer(body=answer.body, delay=0.05), charge

    with counting_server(slow) as one:
        found = run(
            of, {"openai/b": one}, "--max-cost", "0.1", "--max-connections", str(at_once), "--epochs", "5", expect=3
        )
        each = Decimal("0.0225")
        spent = one.cost("1.25", "0", "10")
        assert Decimal("0.1") <= spent < Decimal("0.1") + at_once * each
        assert one.calls == spent / each
        assert found["status"] == "incomplete" and found["spent"] == f"{spent.normalize():f} USD"
        statuses = {row["status"] for row in of.rows("SELECT status FROM cells WHERE outcome = 'unmeasured'")}
        assert statuses == {"not_asked"}
        (close,) = of.bodies("close")
        assert close["reason"].startswith("--max-cost 0.10 USD is reached: 0.1")


def test_no_attempt_is_repeated_once_the_budget_is_spent(tmp_path: Path) -> None:
    of = experiment(tmp_path)

    def twice(prompt: str, number: int) -> Made:
        return limited() if number % 2 else told(perfect(prompt), 10_000, 1_000)

    with counting_server(twice) as one:
        run(
            of,
            {"openai/b": one},
            "--max-cost",
            "0.06",
            "--max-connections",
            "4",
            "--max-retries",
            "5",
            "--epochs",
            "5",
            expect=3,
        )
        assert Decimal("0.06") <= one.cost("1.25", "0", "10") < Decimal("0.06") + 4 * Decimal("0.0225")


def test_max_tokens_total_needs_no_price_and_counts_every_session(tmp_path: Path) -> None:
    of = experiment(tmp_path, "")
    with counting_server(plain) as one:
        found = run(
            of, {"openai/x": one}, "--max-tokens-total", "5000", "--max-connections", "1", "--epochs", "4", expect=3
        )
        assert one.calls == 5 and 5000 <= one.tokens < 6200
        assert found["spent"] == "unknown (5 calls)"
        of.harness("resume", "--max-tokens-total", "8000", "--max-connections", "1", expect=3)
        assert 8000 <= one.tokens < 9200
        assert spend(of)["candidates"][0]["output_tokens"] == 100 * one.calls


def test_a_price_that_nobody_gave_is_unknown_everywhere(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(plain) as one, counting_server(plain) as two:
        found = run(of, {"openai/b": one, "openai/nobody-knows": two}, "--limit", "3")
        known = f"{one.cost('1.25', '0', '10'):.6f}".rstrip("0")
    assert found["spent"] == f"{known} USD + unknown (3 calls)"
    assert "unknown (3 calls)" in found["errors"], "the progress says it as well"
    row = spend(of)["candidates"][1]
    assert (row["cost"], row["currency"], row["unknown"], row["price"]) == (None, None, 3, {})
    assert all(each["cost"] is None for each in spend(of)["cases"] if each["candidate"] == "openai/nobody-knows")
    screen = of.start("harness", "report", "latest")
    out, _ = screen.communicate(timeout=60)
    texts = {"terminal": out}
    for form in ("md", "html"):
        made = of.start("harness", "report", "latest", "--format", form)
        texts[form] = made.communicate(timeout=60)[0].partition("The data that this report")[0]
    for form, text in texts.items():
        assert f"Spent: {known} USD + unknown (3 calls)." in text, form
        line = next(each for each in text.splitlines() if "nobody-knows" in each and "unknown" in each)
        assert not re.search(r"\b0(\.0+)? USD", line), form


def test_a_budget_that_can_t_be_kept_is_refused_before_anything_is_planned(tmp_path: Path) -> None:
    euros = PRICES.partition('["openai/b')[0].replace("openai/a", "openai/c").replace("USD", "EUR")
    of = experiment(tmp_path, PRICES + euros)
    refusals = [
        (
            ["openai/b", "openai/unlisted"],
            ["--max-cost", "1"],
            "prices.toml has none for openai/unlisted; add it there",
        ),
        (["openai/a", "openai/c"], ["--max-cost", "1"], "priced in EUR and USD, which are never added up"),
        (["openai/a"], ["--max-cost", "1EUR"], "--max-cost is in EUR, and the candidates are priced in USD"),
        (
            ["openai/a"],
            ["--max-cost", "much"],
            "--max-cost: expected an amount above 0 such as 5 or 0.50USD, got 'much'",
        ),
        (["openai/a"], ["--max-cost", "-1"], "expected an amount above 0"),
        (["openai/a"], ["--max-cost", "0"], "expected an amount above 0"),
        (["openai/a"], ["--prices", "gone.toml"], "gone.toml: the price list can't be read"),
    ]
    with counting_server(plain) as one:
        for engines, flags, says in refusals:
            assert one.server is not None
            asked = [each for engine in engines for each in ("--engine", engine)]
            process = of.start("harness", "run", "authority/v0", *asked, "--base-url", one.server.openai, *flags)
            _, errors = process.communicate(timeout=60)
            assert process.returncode == 2 and says in errors, (flags, errors)
            assert len(errors.strip().splitlines()) == 1
        assert one.calls == 0 and not of.db.exists()


def test_a_reply_that_tells_no_tokens_stops_a_run_with_a_budget_and_says_so(tmp_path: Path) -> None:
    of = experiment(tmp_path)

    def untold(prompt: str, number: int) -> Made:
        return silent(perfect(prompt)) if number == 3 else plain(prompt, number)

    with counting_server(untold) as one:
        found = run(of, {"openai/b": one}, "--max-cost", "5", "--max-connections", "1", expect=3)
        assert one.calls == 3
    assert "a reply of openai/b tells no tokens, or counts that don't add up, so" in found["errors"]
    assert "--max-cost can't be kept" in found["errors"]
    row = spend(of)["candidates"][0]
    assert (row["uncounted"], row["unknown"], row["requests"]) == (1, 1, 3)


def test_tokens_of_a_sort_without_a_price_are_unknown_and_stop_a_budget(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(lambda prompt, number: told(perfect(prompt), 100, 10, cached=50)) as one:
        found = run(of, {"openai/b": one}, "--max-cost", "5", "--max-connections", "1", expect=3)
        assert one.calls == 1 and "a sort that the price list doesn't price" in found["errors"]
        assert spend(of)["candidates"][0]["unpriced"] == 1


def test_a_call_without_a_whole_reply_counts_as_the_most_it_can_have_cost(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with model_server(lambda prompt: Answer(perfect(prompt), delay=1.5)) as server:
        common = ["--engine", "openai/b", "--base-url", server.openai, "--timeout", "0.3", "--max-retries", "0"]
        asked = ["run", "authority/v0", *common, "--max-connections", "1"]
        found = of.harness(*asked, "--max-cost", "0.02", "--max-tokens", "500", expect=3)
        assert "0.02 USD is reached" in found["errors"] and "by calls that nobody counted" in found["errors"]
        assert 2 <= len(server.requests) <= 4, "each may have cost 0.005 for the answer, and its prompt"
        count = len(server.requests)
        found = of.harness(*asked, "--max-cost", "0.02", "-M", "max_tokens=null", expect=3)
        assert len(server.requests) == count + 1
        assert "nothing it sets bounds what it used" in found["errors"]
    row = spend(of)["candidates"][0]
    assert (row["requests"], row["uncounted"], row["input_tokens"]) == (1, 1, 0)


def test_a_replay_spends_nothing_and_says_so(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(plain) as one:
        run(of, {"openai/b": one}, "--limit", "2")
    of.harness("run", "authority/v0", "--engine", f"replay/{of.db}", "--limit", "2")
    found = spend(of)
    assert (found["via"], found["candidates"], found["total"], found["prices"]) == ("replay", [], [], None)
    screen, _ = of.start("harness", "report", "latest").communicate(timeout=60)
    assert "A replay asks recorded answers: nothing was spent." in screen
    process = of.start("harness", "run", "authority/v0", "--engine", f"replay/{of.db}", "--max-cost", "1")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2 and "a replay asks recorded answers, which costs nothing" in errors


def test_prices_are_frozen_with_the_run_and_a_later_list_changes_nothing(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(plain) as one:
        run(of, {"openai/b[x]": one}, "--limit", "2")
        before = spend(of)
        (of.folder / "prices.toml").write_text(PRICES.replace("1.25", "99"))
        assert spend(of) == before
    (plan,) = of.bodies("plan")
    assert plan["candidates"][0]["price"] == {
        "input": "1.25", "output": "10", "currency": "USD", "as_of": "2026-11-30"
    }  # fmt: skip
    frozen = next(each for each in of.bodies("freeze") if each["what"] == "prices")
    assert plan["prices"] == frozen["seq"]
    (file,) = of.rows("SELECT data, encoding FROM blobs WHERE seq = ?", frozen["seq"])
    assert file["data"].startswith(b'\n["openai/a"]') or file["encoding"] == "zlib"
    assert of.verified() == "CONSISTENT"


STRANGE: tuple[Any, ...] = (
    None, [], "many", {}, {"prompt_tokens": "10", "completion_tokens": "2"},
    {"prompt_tokens": 10, "completion_tokens": None}, {"prompt_tokens": True, "completion_tokens": 2},
    {"prompt_tokens": -10, "completion_tokens": 2}, {"prompt_tokens": 10, "completion_tokens": -2},
    {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 20}},
    {"prompt_tokens": 2**60, "completion_tokens": 2},
)  # fmt: skip


def with_usage(prompt: str, usage: Any) -> Made:
    answer, _ = told(perfect(prompt), 1, 1)
    assert answer.body is not None
    return Answer(body=json.dumps(json.loads(answer.body) | {"usage": usage}).encode()), (0, 0, 0)


def test_counts_that_are_none_are_unknown_to_the_meter_and_to_reports_alike(tmp_path: Path) -> None:
    of = experiment(tmp_path)

    def strange(prompt: str, number: int) -> Made:
        return with_usage(prompt, STRANGE[number % len(STRANGE)])

    with counting_server(strange) as one:
        found = run(of, {"openai/a": one}, "--epochs", "4")
    assert one.calls == 24
    assert found["spent"] == "unknown (24 calls)", "not 0.00 USD and something unknown"
    assert "spent unknown (24 calls)" in found["errors"], "the meter says the same"
    table = spend(of)
    assert table["total"] == []
    assert [(row["cost"], row["unknown"]) for row in table["candidates"]] == [(None, 24)]
    assert {row["cost"] for row in table["cases"]} == {None}
    of.harness("report", "latest", "-o", str(of.folder / "r.md"))
    of.harness("check", str(of.folder / "r.md"))


def test_a_negative_detail_makes_the_counts_unknown_since_nobody_can_tell_what_it_stands_for(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": -1}}
    with counting_server(lambda prompt, number: with_usage(prompt, usage)) as one:
        found = run(of, {"openai/a": one})
    assert found["spent"] == "unknown (6 calls)"
    assert f"spent {found['spent']}" in found["errors"]


def test_an_error_inside_a_good_status_is_bounded_in_this_session_and_in_the_next(tmp_path: Path) -> None:
    of = experiment(tmp_path)

    def slow_down(prompt: str, number: int) -> Made:
        if number == 1:
            return Answer(body=b'{"error": {"code": 429, "message": "slow down"}}'), (0, 0, 0)
        return told(perfect(prompt), 10, 2)

    with counting_server(slow_down) as one:
        flags = ("--max-tokens", "50", "--max-connections", "1", "--max-retries", "4")
        run(of, {"openai/b": one}, *flags, "--max-cost", "0.00001", expect=3)
        assert one.calls == 1
        done = of.harness("resume", "--max-cost", "1USD", "--max-retries", "4")
    assert done["status"] == "complete" and done["spent"].endswith("USD + unknown (1 call)")
