"""What a run may cost, told ahead: a dry run sends nothing, and a pilot's interval holds as often as it says."""

from __future__ import annotations

import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from harness._pilot import extrapolate
from harness._prices import parse_prices
from harness._student import t_quantile
from tests.harness.counting import counting_server, told, unreadable
from tests.harness.experiments import Experiment
from tests.harness.models import Answer
from tests.harness.test_run import ROOT, perfect
from tests.harness.test_spend import PRICES, Made, experiment, plain, run, spend

# The distribution and the interval


@pytest.mark.parametrize("degrees", [1, 1.5, 2, 4.7, 19, 250])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.975, 0.999])
def test_quantiles_of_student_s_t_are_those_of_scipy(degrees: float, probability: float) -> None:
    assert t_quantile(degrees, probability) == pytest.approx(stats.t.ppf(probability, degrees), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(("asked", "of"), [(5, 500), (20, 500), (40, 60)])
def test_the_interval_of_a_pilot_holds_as_often_as_it_says(asked: int, of: int) -> None:
    dice, held, draws = random.Random(7), 0, 2_000
    for _ in range(draws):
        whole = [dice.gauss(100, 30) for _ in range(of)]
        extent = extrapolate([([Decimal(f"{each:.6f}") for each in dice.sample(whole, asked)], of)])
        assert extent.low is not None and extent.high is not None
        held += float(extent.low) <= sum(whole) <= float(extent.high)
    # Four standard errors of a share of 0.95 in 2,000 draws are two points.
    assert 0.93 <= held / draws <= 0.97


def test_skewed_costs_make_the_interval_of_a_small_pilot_too_narrow_by_no_more_than_is_said() -> None:
    dice, held, draws = random.Random(7), 0, 2_000
    for _ in range(draws):
        whole = [dice.lognormvariate(0, 0.8) for _ in range(400)]
        extent = extrapolate([([Decimal(f"{each:.6f}") for each in dice.sample(whole, 20)], 400)])
        assert extent.low is not None and extent.high is not None
        held += float(extent.low) <= sum(whole) <= float(extent.high)
    assert 0.87 <= held / draws < 0.95, "docs/MONEY.md says nine in ten"


def test_several_candidates_are_put_together() -> None:
    dice, held, draws = random.Random(3), 0, 400
    for _ in range(draws):
        one = [dice.gauss(10, 1) for _ in range(100)]
        two = [dice.gauss(200, 50) for _ in range(300)]
        parts = [([Decimal(f"{each:.6f}") for each in dice.sample(values, 10)], len(values)) for values in (one, two)]
        extent = extrapolate(parts)
        assert extent.low is not None and extent.high is not None
        held += float(extent.low) <= sum(one) + sum(two) <= float(extent.high)
    assert 0.91 <= held / draws <= 0.99


def test_one_cell_tells_no_interval_and_all_cells_tell_the_whole() -> None:
    alone = extrapolate([([Decimal(3)], 10)])
    assert (alone.total, alone.low, alone.high) == (30, None, None)
    everything = extrapolate([([Decimal(3), Decimal(5)], 2)])
    assert (everything.total, everything.low, everything.high) == (8, 8, 8)
    assert "one cell tells no interval" in alone.text(str)


def test_no_interval_begins_below_what_was_spent_already() -> None:
    extent = extrapolate([([Decimal(0), Decimal(100)], 4)])
    assert extent.low == 100


# The dry run


def dry(of: Experiment, *arguments: str, expect: int = 0) -> Any:
    return of.harness("run", "authority/v0", "--dry-run", *arguments, expect=expect)


def per_byte(of: Experiment) -> dict[str, Any]:
    (candidate,) = dry(of, "--engine", "openai/a", "--base-url", "http://127.0.0.1:9/v1", "--max-tokens", "50")[
        "candidates"
    ]
    return candidate


def test_a_dry_run_sends_nothing_writes_nothing_and_its_bounds_hold(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    before = sorted(of.folder.rglob("*"))
    estimate = per_byte(of)
    assert sorted(of.folder.rglob("*")) == before, "no ledger, no lock"
    assert estimate["calls"] == 6 and estimate["recorded_calls"] == 0
    low, high = estimate["prompt_tokens"]
    assert low == estimate["prompt_bytes"] // 6 and high == -(-estimate["prompt_bytes"] // 2)
    assert estimate["reply_tokens"] == [0, 300] and estimate["currency"] == "USD"
    bounds = [Decimal(each) for each in estimate["cost"]]
    assert bounds == [
        Decimal("0.075") * low / 10**6, Decimal("0.15") * high / 10**6 + Decimal("0.60") * 300 / 10**6
    ]  # fmt: skip
    sizes: list[int] = []

    def quarter(prompt: str, number: int) -> Made:
        assert one.server is not None
        size = len(one.server.requests[number - 1][1])
        sizes.append(size)
        return told(perfect(prompt), size // 4, 40)

    with counting_server(quarter) as one:
        run(of, {"openai/a": one}, "--max-tokens", "50", "--max-connections", "1")
        spent = one.cost("0.15", "0.075", "0.60")
    assert sum(sizes) == estimate["prompt_bytes"], "the very requests that are sent"
    assert bounds[0] <= spent <= bounds[1]


def test_recorded_calls_of_the_same_model_narrow_the_estimate(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(lambda prompt, number: told(perfect(prompt), 500 + number, 40)) as one:
        run(of, {"openai/a": one}, "--max-tokens", "50")
    events = len(of.events())
    estimate = per_byte(of)
    assert len(of.events()) == events and estimate["recorded_calls"] == 6
    low, high = estimate["prompt_tokens"]
    assert low <= sum(charge[0] for charge in one.charged) <= high
    wide = estimate["prompt_bytes"] // 2 - estimate["prompt_bytes"] // 6
    assert high - low < wide


def test_a_dry_run_leaves_a_folder_with_a_ledger_byte_for_byte_as_it_was(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(lambda prompt, number: told(perfect(prompt), 500 + number, 40)) as one:
        run(of, {"openai/a": one}, "--max-tokens", "50")

    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in sorted(of.folder.rglob("*")) if path.is_file()}

    before = files()
    assert per_byte(of)["recorded_calls"] == 6
    assert files() == before, "not even SQLite's own files beside it"


def test_a_pilot_of_all_cells_leaves_no_rest_and_says_of_none(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(lambda prompt, number: told(perfect(prompt), 500, 40)) as one:
        done = run(of, {"openai/a": one}, "--pilot", "99")
    assert done["status"] == "complete" and "pilot of openai/a, 6 of 6 cells" in done["errors"]
    assert "not asked" not in done["errors"]
    assert of.bodies("close")[0]["reason"] == ""


def test_a_bound_that_nothing_sets_is_unknown(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    address = ["--base-url", "http://127.0.0.1:9/v1"]
    found = dry(of, "--engine", "openai/a", "--engine", "openai/unlisted", *address, "-M", "max_tokens=null")
    one, two = found["candidates"]
    assert one["reply_tokens"] == [0, None] and one["cost"][1] is None and one["cost"][0] is not None
    assert two["cost"] == [None, None] and two["price"] == {}
    assert found["total"] == [{"currency": "USD", "low": one["cost"][0], "high": None}]
    process = of.start("harness", "run", "authority/v0", "--dry-run", "--engine", "openai/unlisted", *address)
    out, _ = process.communicate(timeout=60)
    assert "cost           unknown: no price is known for it" in out
    assert "In all: unknown (1 of 1 candidates have no price)" in out


def test_a_dry_run_refuses_what_a_run_would_refuse(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    for flags, says in (
        (["--engine", "grok/m"], "did you mean groq"),
        (["--engine", "openai/unlisted", "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "1"], "has none for"),
    ):
        process = of.start("harness", "run", "authority/v0", "--dry-run", *flags)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 2 and says in errors


# The pilot


def test_a_pilot_asks_its_cells_says_what_all_would_cost_and_stops(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(plain) as one, counting_server(plain) as two:
        servers = {"openai/a": one, "openai/b": two}
        found = run(of, servers, "--pilot", "4", "--epochs", "5", expect=3)
        assert (one.calls, two.calls) == (4, 4)
        cells = sorted(each["cell"] for each in of.bodies("request"))
        assert cells == [1, 8, 16, 23, 31, 38, 46, 53], "spread evenly over each candidate's 30 cells"
        said = found["errors"]
        assert "pilot of openai/b, 4 of 30 cells: all use about" in said and "(95%: " in said
        assert "the pilot of 4 cells of each candidate is over; the rest was not asked" in said
        of.harness("resume")
        assert (one.calls, two.calls) == (30, 30)
        whole = Decimal(spend(of)["total"][0]["cost"])
    line = next(each for each in said.splitlines() if each.startswith("pilot: the whole run costs about "))
    low, high = (Decimal(part.split()[0]) for part in line.partition("95%: ")[2].split(" to "))
    # Its server charges a token more at every call, so that the first four are the cheapest.
    assert low * Decimal("0.9") <= whole <= high * Decimal("1.1")


def test_a_pilot_goes_on_where_the_budget_holds_at_the_upper_end(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(plain) as one:
        found = run(of, {"openai/b": one}, "--pilot", "3", "--epochs", "3", "--max-cost", "1")
        assert one.calls == 18 and "--max-cost holds at the upper end too, so the rest is asked" in found["errors"]
    other = experiment(tmp_path / "other")
    with counting_server(plain) as one:
        found = run(other, {"openai/b": one}, "--pilot", "3", "--epochs", "3", "--max-cost", "0.02", expect=3)
        assert one.calls == 3 and "--max-cost may not hold for the rest, which was not asked" in found["errors"]
        assert found["status"] == "incomplete"


def test_a_pilot_whose_cost_is_unknown_stops_and_says_so(tmp_path: Path) -> None:
    of = experiment(tmp_path, PRICES)
    with counting_server(plain) as one:
        found = run(of, {"openai/unlisted": one}, "--pilot", "3", "--epochs", "3", expect=3)
    assert "what they cost is unknown, since no price is known" in found["errors"]
    with counting_server(lambda prompt, number: (Answer(status=500, body=b"{}"), (0, 0, 0))) as one:
        found = run(of, {"openai/b": one}, "--pilot", "2", "--max-retries", "0", "--max-cost", "1", expect=3)
        assert one.calls >= 2


def test_failures_of_a_pilot_are_part_of_what_it_tells(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with counting_server(lambda prompt, number: unreadable(1000, 100)) as one:
        found = run(of, {"openai/b": one}, "--pilot", "3", "--epochs", "2", expect=3)
    assert "all use about 13,200 tokens (95%: 13,200 tokens to 13,200 tokens)" in found["errors"]


def test_the_example_in_money_md_is_what_a_dry_run_prints_and_its_price_list_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "MONEY.md").read_text("utf-8")
    listed = page.partition("```toml\n")[2].partition("```")[0]
    assert len(parse_prices(listed.encode(), "docs/MONEY.md").entries) == 2
    of = experiment(tmp_path, listed)
    asked = ["--engine", "openai/some-model", "--base-url", "http://127.0.0.1:9/v1", "--max-tokens", "500"]
    out, _ = of.start("harness", "run", "authority/v0", "--dry-run", *asked).communicate(timeout=60)
    shown = page.partition("```text\n")[2].partition("```")[0]
    # How much disk depends on the size of the code that is frozen with a rule set.
    assert re.sub(r"[0-9.]+ [kM]B", "SIZE", out) == re.sub(r"[0-9.]+ [kM]B", "SIZE", shown)
