"""Inline SVG charts of a report: rates with their intervals, and what went unmeasured. No script, no outside request.

A chart shows what a table beside it shows too; its `title` and `desc` say so to those who don't see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from harness._report_document import between
from ledger import printable

__all__ = ["failure_bars", "interval_plot"]

Row = Mapping[str, Any]

# Drawn for a narrow screen, where the letters are as large as the page's; a wide one enlarges it.
_WIDTH = 400
_LEFT, _RIGHT = 4, 4
_STEP = 34
_LETTER = 6.4
_MOST_BARS = 20


def _text(text: str, room: float = _WIDTH - _LEFT - _RIGHT) -> str:
    shown, most = printable(text), int(room / _LETTER)
    if len(shown) <= most:
        return escape(shown)
    # What tells two labels apart stands at either end; the middle goes.
    tail = (most - 1) // 2
    short = shown[: most - 1 - tail] + "…" + shown[len(shown) - tail :]
    return f"<title>{escape(shown)}</title>{escape(short)}"


def _x(share: float) -> str:
    return f"{_LEFT + min(1.0, max(0.0, share)) * (_WIDTH - _LEFT - _RIGHT):.1f}"


def _svg(height: int, title: str, description: str, body: Iterable[str]) -> list[str]:
    return [
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" xmlns="http://www.w3.org/2000/svg">',
        f"<title>{escape(printable(title))}</title>",
        f"<desc>{escape(description)}</desc>",
        *body,
        "</svg>",
    ]


def _axis(bottom: int) -> list[str]:
    lines: list[str] = []
    for percent in (0, 25, 50, 75, 100):
        x = _x(percent / 100)
        anchor = {0: "start", 100: "end"}.get(percent, "middle")
        lines.append(f'<line class="grid" x1="{x}" y1="4" x2="{x}" y2="{bottom}"/>')
        lines.append(f'<text class="tick" x="{x}" y="{bottom + 14}" text-anchor="{anchor}">{percent}%</text>')
    return lines


def _said(row: Row) -> str:
    if not row["n"]:
        return "no data"
    figure = f"{row['k']}/{row['n']}" if row["kind"] == "rate" else f"{row['rate']:.3f}"
    low, high = row["interval_low"], row["interval_high"]
    interval = "" if low is None else f", {between(low, high)}"
    return figure + (f", {row['unmeasured']} unmeasured" if row["unmeasured"] else interval)


def interval_plot(title: str, rows: Sequence[Row]) -> list[str]:
    """One line for each metric and candidate: a thin bar from worst to best, a thick one for the 95% interval, a dot
    at the rate. What has no data has its thin bar alone."""
    bottom = 10 + _STEP * len(rows)
    lines = _axis(bottom)
    for number, row in enumerate(rows):
        y = 26 + _STEP * number
        said = _said(row)
        room = _WIDTH - _LEFT - _RIGHT - _LETTER * (len(said) + 2)
        name = _text(f"{row['metric']} · {row['candidate']}", room)
        lines.append(f'<text class="label" x="{_LEFT}" y="{y - 6}">{name}</text>')
        lines.append(f'<text class="label" x="{_WIDTH - _RIGHT}" y="{y - 6}" text-anchor="end">{escape(said)}</text>')
        if row["worst"] is not None:
            lines.append(
                f'<line class="bounds" x1="{_x(row["worst"])}" y1="{y + 4}" x2="{_x(row["best"])}" y2="{y + 4}"/>'
            )
        low, high = row["interval_low"], row["interval_high"]
        if low is not None:
            lines.append(f'<line class="interval" x1="{_x(low)}" y1="{y + 4}" x2="{_x(high)}" y2="{y + 4}"/>')
        if row["rate"] is not None:
            lines.append(f'<circle class="rate" cx="{_x(row["rate"])}" cy="{y + 4}" r="5"/>')
    description = (
        "For each metric and candidate: a dot at the rate, a thick bar for the 95% interval, a thin bar from the worst"
        " to the best that the unmeasured could have made of it. The table above has the same figures."
    )
    return _svg(bottom + 20, title, description, lines)


def failure_bars(title: str, rows: Sequence[Row]) -> list[str]:
    """One bar for each candidate, rule set and reason, the longest first, as long as the largest count allows."""
    shown = sorted(rows, key=lambda row: -row["count"])[:_MOST_BARS]
    most = max((row["count"] for row in shown), default=1)
    lines: list[str] = []
    for number, row in enumerate(shown):
        y = 20 + _STEP * number
        what = f"{row['stage']}/{row['reason']} · {row['candidate']} · {row['rules']}"
        width = row["count"] / most * (_WIDTH - _LEFT - _RIGHT - 60)
        kind = row["domain"] if row["domain"] in ("harness", "provider", "model") else "other"
        lines.append(f'<text class="label" x="{_LEFT}" y="{y - 4}">{_text(what)}</text>')
        lines.append(f'<rect class="bar {kind}" x="{_LEFT}" y="{y}" width="{width:.1f}" height="10"/>')
        lines.append(f'<text class="label" x="{_LEFT + width + 6:.1f}" y="{y + 9}">{row["count"]}</text>')
    height = 10 + _STEP * len(shown)
    if len(rows) > len(shown):
        height += 20
        lines.append(
            f'<text class="tick" x="{_LEFT}" y="{height - 8}">and {len(rows) - len(shown)} more in the table</text>'
        )
    description = "How many cells ended unmeasured, by reason. The table above has the same counts."
    return _svg(height, title, description, lines)
