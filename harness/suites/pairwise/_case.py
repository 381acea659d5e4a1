"""A pair as it is asked: two texts as data, each between lines with a nonce of its own, and what decides nothing."""

from __future__ import annotations

from collections.abc import Mapping

from harness._chat import Chat
from harness._json import JSON
from harness.judging import delimited, nonce_of, without_name
from harness.suites.manifest._prompt import check_prompt as check_template
from harness.suites.manifest._prompt import messages as filled

__all__ = ["UNTRUSTED", "check_case", "check_prompt", "group", "messages"]

UNTRUSTED = ("first", "second", "reference", "asked")
"""The texts of a case that somebody else wrote. `asked` is the task, out of a recorded request."""
_SIDES = ("a", "b")


def messages(template: str, case_input: JSON) -> Chat:
    """The chat for one order of one pair: {{ task }}, {{ first }}, {{ second }}, {{ reference }}, and what is around a
    text as {{ first_nonce }} and so on. A task that is `asked` is data too, and {{ asked }} is then defined.

    Raises ValueError, with one sentence, where prompt and case don't go together, and where the judge would not be
    shown what the case has.
    """
    given: dict[str, JSON] = dict(case_input) if isinstance(case_input, Mapping) else {}
    texts = {name: text for name in UNTRUSTED if isinstance(text := given.get(name), str)}
    nonces = {name: nonce_of({"asked": case_input, "of": name}) for name in texts}
    blocks = {name: delimited(text, nonces[name]) for name, text in texts.items()}
    if "asked" in blocks:
        given["task"] = blocks["asked"]
    around = {f"{name}_nonce": nonce for name, nonce in nonces.items()}
    chat = filled(without_name(template), {**given, **blocks, **around})
    said = [each["content"] for each in chat.messages if isinstance(each["content"], str)]
    for name, block in blocks.items():
        if name != "asked" and not any(block in each for each in said):
            raise ValueError(
                f"the prompt doesn't show the {name} text as it is; put {{{{ {name} }}}} on a line of its own"
            )
    return chat


def check_prompt(template: str) -> str | None:
    """One sentence on why a template won't do, or None."""
    fault = check_template(without_name(template))
    if fault is not None:
        return fault
    try:
        messages(template, {"task": "A task.", "first": "A text.", "second": "Another text."})
    except ValueError as error:
        return str(error)
    return None


def check_case(case_input: JSON, gold: JSON) -> str | None:
    """One sentence on why this can't be a pair, or None."""
    keys = set(case_input) if isinstance(case_input, Mapping) else set[str]()
    if not isinstance(case_input, Mapping) or keys - {"reference"} not in (
        {"task", "first", "second"}, {"asked", "first", "second"},
    ):  # fmt: skip
        return "input: expected task (or asked), first and second, and reference where one is shown"
    wrong = next((name for name, text in case_input.items() if not isinstance(text, str)), None)
    if wrong is not None:
        return f"input.{wrong}: expected text"
    try:
        nonce_of(case_input)
    except ValueError as error:
        return f"input: {error}"
    if not isinstance(gold, Mapping) or gold.get("condition") != "pair":
        return 'gold: expected {"condition": "pair", "pair", "order", "first", "second"}'
    order = gold.get("order")
    if isinstance(order, bool) or order not in (0, 1):
        return "gold.order: expected 0 or 1"
    if not isinstance(gold.get("pair"), str) or not gold["pair"]:
        return "gold.pair: expected the id of the pair"
    if sorted(str(gold.get(name)) for name in ("first", "second")) != list(_SIDES):
        return 'gold: expected "a" for one of first and second, and "b" for the other'
    return None


def group(gold: JSON) -> frozenset[str]:
    """Every case is one order of a pair."""
    return frozenset({"pair"})
