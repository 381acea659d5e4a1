"""Text that somebody else wrote, as a page may show it: escaped, and what would act or hide made visible."""

from __future__ import annotations

from markupsafe import Markup, escape

from ledger._screen import printable

__all__ = ["name", "when"]


def name(text: object, most: int = 0) -> Markup:
    """A name, a label or a reason on one line: isolated from the direction of the text around it (Unicode UAX 9).

    `most` cuts the middle out of what is longer, with the whole of it in a tooltip.
    """
    shown = printable(str(text))
    if most and len(shown) > most:
        tail = (most - 1) // 2
        short = shown[: most - 1 - tail] + "…" + shown[len(shown) - tail :]
        return Markup('<bdi title="{}">{}</bdi>').format(shown, short)
    return Markup("<bdi>{}</bdi>").format(shown)


def when(at: str | None) -> Markup:
    """An event's time, to the second, UTC. A clock's claim, and nothing that orders."""
    if not at:
        return Markup("–")
    return Markup('<time datetime="{}">{} {}Z</time>').format(at, escape(at[:10]), escape(at[11:19]))
