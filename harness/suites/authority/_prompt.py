"""What is asked: one user message, the template with the case's items in it."""

from __future__ import annotations

from harness._chat import Chat, user
from harness._json import JSON
from harness.suites._registry import fill, places
from harness.suites.authority._case import items, title

__all__ = ["check_prompt", "messages"]


def messages(template: str, case_input: JSON) -> Chat:
    """The messages for one case: {{items}} becomes a line "M001: text" for each item, {{title}} the heading."""
    listing = "\n".join(f"{name}: {text}" for name, text in items(case_input).items())
    return user(fill(template, {"items": listing, "title": title(case_input)}))


def check_prompt(template: str) -> str | None:
    """One sentence on why a template won't do, or None."""
    named = places(template)
    if "items" not in named:
        return "expected {{items}} where the numbered items go"
    unknown = named - {"items", "title"}
    if unknown:
        return f"expected {{{{items}}}} and {{{{title}}}}, got {{{{{min(unknown)}}}}} too"
    return None
