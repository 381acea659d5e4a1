"""What margin so many cases can show at all, and how many a margin takes: said before a gate's verdict and after it.

A margin is chosen ahead, for what a loss would cost; so what is said here rests on how many cases there are and on how
many differ, never on which side did better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_UP, Decimal
from typing import TYPE_CHECKING

from harness._contrast import shown_difference
from harness._noninferior import PairedInterval, tango

if TYPE_CHECKING:
    from harness._gate import Gate, GateResult

__all__ = ["after", "before", "least_margin", "needed"]

_MOST = 10_000_000
_STEP = Decimal("0.001")


def least_margin(n: int, differing: float = 0.0) -> float:
    """The margin above which n cases pass, where the share `differing` of them differs and as many went either way: the
    half-width of Tango's interval. 1 where there is no case."""
    if n < 1:
        return 1.0
    each_way = n * differing / 2
    return -tango(each_way, each_way, n)[0]


def needed(margin: float, differing: float = 0.0) -> int | None:
    """How many cases it takes to pass a margin, as in `least_margin`; None where more than ten million."""
    if least_margin(_MOST, differing) >= margin:
        return None
    low, high = 0, _MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if least_margin(middle, differing) < margin else (middle, high)
    return high


def before(cases: int, margin: float | None = None) -> str:
    """What so many cases can show at best, in one sentence; with a margin, how many cases that takes."""
    best = least_margin(cases)
    said = f"{_cases(cases)} can show a margin of {_points(best)} at best, where none of them differs"
    if margin is None or best < margin:
        return f"{said}."
    takes = needed(margin)
    return f"{said}; {_points(margin)} takes {takes} at least." if takes else f"{said}."


def after(found: Gate, result: GateResult) -> Iterator[str]:
    """What the cases of one result could show as they came out, what the unmeasured cost, and what to do with it."""
    seen, worst = result.seen, result.worst
    if seen is None or worst is None:
        return
    margin = float(found.margin)
    if result.differing == 0 and result.unmeasured_cases == 0:
        yield "the two have the same figure on every case: nothing differs, and all of the interval is how few they are"
    if result.differing is not None:
        reach, takes = _reach(seen, result.differing, margin)
        said = f"{_cases(seen.cases)}, of which {result.differing} differ, can show a margin of about {_points(reach)}"
        yield said + (f"; {_points(margin)} takes about {takes} such cases" if takes and reach >= margin else "")
        # A margin that failed isn't widened after the fact; one that nobody could have met is no policy.
        if result.outcome == "inconclusive" and margin <= reach < 1:
            yield f"a policy for so many cases: --margin {_policy(reach)}"
    if result.unmeasured_cases:
        yield _cost(result.unmeasured_cases, seen, worst)


def _reach(seen: PairedInterval, differing: int, margin: float) -> tuple[float, int | None]:
    if seen.method.startswith("Student"):
        # Graded figures and repeats differ by less than whole cases, so their own spread tells it.
        half = (seen.high - seen.low) / 2
        return half, math.ceil(seen.cases * (half / margin) ** 2) if margin > 0 else None
    share = differing / seen.cases
    return least_margin(seen.cases, share), needed(margin, share)


def _cost(unmeasured: int, seen: PairedInterval, worst: PairedInterval) -> str:
    lost = max(0.0, seen.low - worst.low)
    return (
        f"{_cases(unmeasured)} without a measurement cost {_points(lost)} of it: without them the lower end is"
        f" {shown_difference(seen.low, 'rate')}, counted against it {shown_difference(worst.low, 'rate')}"
    )


def _policy(reach: float) -> str:
    """The margin to write down: rounded up to a tenth of a point, and above what is just missed."""
    points = 100 * (Decimal(math.nextafter(reach, 2.0)).quantize(_STEP, ROUND_UP))
    return f"{points.normalize():f}pp"


def _points(share: float) -> str:
    return f"{100 * share:.1f}pp" if share >= 0.001 else f"{100 * share:.2g}pp"


def _cases(count: int) -> str:
    return f"{count} case{'' if count == 1 else 's'}"
