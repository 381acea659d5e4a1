"""The pace of one candidate against simulated servers, in virtual time: the kinds of limiter that servers have."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from harness._pace import Cut, Pace
from tests.harness.limiters import Bucket, Changing, FixedWindow, Limiter, Penalising, SlidingWindow

Tells = Callable[[float], float | None]


def nothing(wait: float) -> None:
    """No Retry-After at all."""


def zero(wait: float) -> float:
    """Retry-After: 0, as some proxies have it whatever they mean."""
    return 0.0


def whole_seconds(wait: float) -> float:
    """Retry-After as most servers have it."""
    return float(max(1, math.ceil(wait)))


@dataclass(frozen=True)
class Seen:
    """When requests were let in and when refused, in seconds, and what the pace was cut to."""

    let_in: list[float]
    refused: list[float]
    cuts: list[Cut]

    def rate(self, since: float, until: float) -> float:
        return sum(since <= at < until for at in self.let_in) / (until - since)

    def share_refused(self, since: float) -> float:
        refused = sum(at >= since for at in self.refused)
        return refused / max(1, refused + sum(at >= since for at in self.let_in))


def ask(
    limiter: Limiter, *, seconds: float, most: int = 8, latency: float = 0.0, tells: Tells = nothing,
    cost: float = 0.005, pace: Pace | None = None, seed: int = 4,
) -> Seen:  # fmt: skip
    """Ask as fast as the pace allows. Each request costs the asker `cost` seconds; answers take `latency`, give or take
    a half, and refusals no longer; every way there and back takes up to 3 ms."""
    chance = random.Random(seed)
    pace = pace or Pace(most)
    now, free, count = 0.0, 0.0, 0
    seen = Seen([], [], [])
    back: list[tuple[float, int, object, bool, float | None]] = []
    while now < seconds:
        while back and back[0][0] <= now:
            at, _, sent, was_refused, wait = heapq.heappop(back)
            cut = pace.comes_back(sent, at, "refused" if was_refused else "let_in", wait)  # type: ignore[arg-type]
            seen.cuts.extend([cut] if cut else [])
        delay = pace.delay(now)
        if delay == 0 and free <= now:
            sent, free, count = pace.sends(now), now + cost, count + 1
            arrives = now + chance.uniform(0, 0.003)
            wait = limiter.refuses(arrives)
            (seen.let_in if wait is None else seen.refused).append(arrives)
            answered = arrives + 0.003 + latency * chance.uniform(0.5, 1.5)
            heapq.heappush(back, (answered, count, sent, wait is not None, None if wait is None else tells(wait)))
            continue
        events = [seconds, *([back[0][0]] if back else []), *([] if delay == math.inf else [max(now + delay, free)])]
        now = max(math.nextafter(now, math.inf), min(events))
    return seen


LIMITERS: dict[str, Callable[[], Limiter]] = {
    "a fixed window": lambda: FixedWindow(50, phase=0.3),
    "a sliding window": lambda: SlidingWindow(50),
    "a bucket of a second": lambda: Bucket(50, 50),
    "a bucket of five": lambda: Bucket(50, 5),
}


@pytest.mark.parametrize("tells", [nothing, whole_seconds], ids=["silent", "telling"])
@pytest.mark.parametrize(("latency", "most"), [(0.0, 8), (0.1, 8), (0.5, 64)])
@pytest.mark.parametrize("limiter", LIMITERS.values(), ids=list(LIMITERS))
def test_fifty_a_second_are_used_and_not_stormed(
    limiter: Callable[[], Limiter], latency: float, most: int, tells: Tells
) -> None:
    seen = ask(limiter(), seconds=30, latency=latency, most=most, tells=tells)
    assert 45 <= seen.rate(3, 30) <= 51
    assert seen.share_refused(3) < 0.06


@pytest.mark.parametrize("tells", [nothing, whole_seconds], ids=["silent", "telling"])
def test_a_limit_for_each_minute_is_used_up_and_the_rest_of_the_minute_left_in_peace(tells: Tells) -> None:
    seen = ask(FixedWindow(3000, 60.0), seconds=180, tells=tells)
    assert len(seen.let_in) >= 0.9 * 9000
    assert seen.share_refused(3) < 0.02


def test_answers_that_take_five_seconds_are_waited_for_side_by_side() -> None:
    seen = ask(SlidingWindow(50), seconds=40, latency=5.0, most=400)
    assert seen.rate(10, 40) >= 45


def test_a_limit_that_falls_is_followed_at_once_and_one_that_rises_within_seconds() -> None:
    fell = ask(Changing(SlidingWindow(50), SlidingWindow(25), 10), seconds=30)
    assert 22 <= fell.rate(11, 30) <= 25.5
    assert fell.share_refused(11) < 0.06
    rose = ask(Changing(Bucket(50, 50), Bucket(100, 100), 10), seconds=40)
    assert rose.rate(22, 40) >= 90


def test_a_server_that_counts_refused_requests_too_is_still_used() -> None:
    seen = ask(SlidingWindow(50, strict=True), seconds=30)
    assert seen.rate(3, 30) >= 40
    assert seen.share_refused(3) < 0.05


@pytest.mark.parametrize("tells", [nothing, whole_seconds], ids=["silent", "telling"])
@pytest.mark.parametrize("seed", [4, 104, 204])
def test_a_window_whose_end_falls_anywhere_ends_in_no_burst_and_rest_by_turns(seed: int, tells: Tells) -> None:
    seen = ask(FixedWindow(50, phase=0.3), seconds=30, latency=0.05, seed=seed, tells=tells)
    assert seen.rate(3, 30) >= 43
    assert seen.share_refused(3) < 0.04
    assert seen.share_refused(10) < 0.02


@pytest.mark.parametrize(
    "limiter", [lambda: SlidingWindow(50, strict=True), lambda: Penalising(SlidingWindow(50), 1.0)],
    ids=["counts refused ones", "punishes"],
)  # fmt: skip
@pytest.mark.parametrize("latency", [0.0, 0.05])
def test_a_wait_of_zero_is_no_leave_to_storm(limiter: Callable[[], Limiter], latency: float) -> None:
    seen = ask(limiter(), seconds=30, latency=latency, tells=zero)
    assert seen.rate(3, 30) >= 35
    assert seen.share_refused(3) < 0.05


def test_a_server_that_punishes_those_who_do_not_wait_is_waited_for() -> None:
    seen = ask(Penalising(SlidingWindow(50), 1.0), seconds=60, tells=lambda wait: wait)
    assert seen.rate(10, 60) >= 40
    assert seen.share_refused(3) < 0.02


@pytest.mark.parametrize("a_second", [5, 20, 100])
def test_other_limits_are_learned_as_well(a_second: int) -> None:
    seen = ask(SlidingWindow(a_second), seconds=60)
    assert seen.rate(10, 60) >= 0.85 * a_second
    assert seen.share_refused(10) < 0.06


def test_nothing_is_held_back_before_the_first_refusal() -> None:
    pace = Pace(3)
    sent = []
    for _ in range(3):
        assert pace.delay(1.0) == 0
        sent.append(pace.sends(1.0))
    assert pace.delay(1.0) == math.inf
    assert pace.comes_back(sent[0], 1.5, "let_in") is None
    assert pace.delay(1.5) == 0
    assert pace.rate(1.5) == math.inf


def test_a_refusal_halves_what_is_asked_at_once_and_answers_raise_it_one_by_one() -> None:
    pace = Pace(8)
    first = [pace.sends(0.0) for _ in range(8)]
    cut = pace.comes_back(first[0], 0.1, "refused")
    assert cut is not None
    assert cut.limit == pace.limit == 4
    # The others left before that was known: they are no news.
    assert pace.comes_back(first[1], 0.1, "refused") is None
    assert pace.limit == 4
    for each in first[2:]:
        pace.comes_back(each, 0.2, "let_in")
    assert pace.limit == 5


def test_a_long_wait_that_the_server_names_rests_the_candidate_and_a_short_one_does_not() -> None:
    for wait, rests in ((30.0, True), (1.0, False)):
        pace = Pace(8)
        sent = pace.sends(0.0)
        pace.comes_back(sent, 0.1, "refused", wait)
        assert pace.delay(0.2) == (pytest.approx(29.9) if rests else 0)


def test_after_a_rest_one_goes_ahead_alone_and_the_others_follow_when_it_is_let_in() -> None:
    pace = Pace(8)
    pace.comes_back(pace.sends(0.0), 0.1, "refused", 10.0)
    assert pace.delay(10.1) == 0
    ahead = pace.sends(10.1)
    assert pace.delay(10.11) > 0
    pace.comes_back(ahead, 10.15, "let_in")
    assert pace.delay(10.15) == 0


def test_a_request_that_nobody_answered_says_nothing_of_the_pace() -> None:
    pace = Pace(8)
    assert pace.comes_back(pace.sends(0.0), 5.0, "lost") is None
    assert (pace.limit, pace.rate(5.0), pace.delay(5.0)) == (8, math.inf, 0)


def test_a_server_that_only_refuses_is_asked_ever_less_often() -> None:
    seen = ask(Bucket(1e-9, 0.5), seconds=60)
    assert seen.let_in == []
    assert len(seen.refused) < 40
    assert sum(at > 30 for at in seen.refused) <= 7


def test_a_recording_is_replayed_as_fast_as_it_can_be_whatever_it_holds() -> None:
    seen = ask(SlidingWindow(50), seconds=3, pace=Pace(8, adapts=False))
    assert seen.cuts == []
    assert len(seen.let_in) + len(seen.refused) > 500
