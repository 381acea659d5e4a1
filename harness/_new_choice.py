"""The rules of a choice: how the golds name an option, told from all of them and from the options that they stand with.

The scorer itself is asked which option a gold names under each form, so nothing here reads one another way.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from harness._errors import UsageError
from harness._json import JSON
from harness._new_cases import Made
from harness._new_fitted import Fitted, Listing
from harness._new_kits import Kit
from harness._new_settings import given_value, toml_text
from harness.suites._registry import Confirmed
from harness.suites.manifest import SCORERS

__all__ = ["fit_choice"]

_SAID: Final = {"letter": "its letter", "text": "its text", "index": "its index, counted from 0"}


def fit_choice(kit: Kit, made: Sequence[Made], *, options: bool, given: Mapping[str, str]) -> Fitted:
    """The rule file. Raises UsageError, naming two rows, where golds or options are of two kinds, and where golds can
    be read in two ways."""
    field = given_value(given, "options") or ("options" if options else "")
    if not field or "letters" in given:
        return _letters(kit, made, given)
    listing = _listing(made, field, by=given_value(given, "by") or "both")
    form = given_value(given, "gold") or _form(made, field, given, listing)
    named = {"letters": "letter", "keys": _keys_called(made, field)}.get(listing, "text")
    said = f"its {named}" if form == "letter" and listing == "keys" else _SAID.get(form, form)
    lines = (
        f"options = {toml_text(field)}   # the field of a case that holds them\n"
        f'gold = "{form}"      # the gold names {said}\n'
    )
    tail = f"Answer with the {named} of the one right option, and write nothing else."
    note = f"The gold names the right option by {said}."
    return Fitted(kit.rules(kit.options + lines), tail, (note,), listing=listing)


def _letters(kit: Kit, made: Sequence[Made], given: Mapping[str, str]) -> Fitted:
    if "letters" in given:
        return Fitted(kit.rules(), kit.tail)
    named = [each.gold.strip() for each in made if isinstance(each.gold, str)]
    letters = all(len(gold) == 1 and gold in string.ascii_letters for gold in named)
    last = max((string.ascii_uppercase.find(gold.upper()) for gold in named if letters), default=3)
    there = string.ascii_uppercase[: max(last, 3) + 1]
    note = f"The cases name no options (--options), so the letters {there} are what can be answered."
    return Fitted(kit.rules(f'{kit.options}letters = "{there}"   # the options that there are\n'), kit.tail, (note,))


def _options(each: Made, field: str) -> JSON:
    return each.input.get(field) if isinstance(each.input, Mapping) else None


def _listing(made: Sequence[Made], field: str, *, by: str) -> Listing:
    objects = next((each for each in made if isinstance(_options(each, field), Mapping)), None)
    lists = next((each for each in made if isinstance(_options(each, field), list)), None)
    if objects is not None and lists is not None:
        raise UsageError(
            f"the options are an object on {objects.where} and a list on {lists.where}; make them one of the two, since"
            " one prompt lists them all"
        )
    if by == "text":
        return "texts" if objects is None else "texts_of_keys"
    return "letters" if objects is None else "keys"


def _keys_called(made: Sequence[Made], field: str) -> str:
    keys = {str(key) for each in made for key in cast("Mapping[str, JSON]", _options(each, field) or {})}
    digits = {key for key in keys if key.isdigit()}
    return "number" if digits == keys else "letter or number" if digits else "letter"


def _form(made: Sequence[Made], field: str, given: Mapping[str, str], listing: Listing) -> str:
    """The form under which every gold names an option; that of the most golds where none does, so that the other rows
    are refused."""
    forms = [form for form in _SAID if form != "letter" or listing != "texts"]
    named = {form: [_named(each, field, form, given) for each in made] for form in forms}
    whole = [form for form in forms if all(named[form])]
    # An index that is never 0 may count from 1 as well.
    if "index" in whole and not any(str(each.gold).strip() == "0" for each in made):
        whole.remove("index")
    if not whole:
        return _most(made, named, forms)
    first, *others = whole
    for other in others:
        apart = next((at for at in range(len(made)) if named[first][at] != named[other][at]), None)
        if apart is not None:
            raise UsageError(
                f"the gold of {made[apart].where} names one option by {_SAID[first]} and another by {_SAID[other]}; say"
                f" which is meant, `--set gold={first}` or `--set gold={other}`"
            )
    return first


def _most(made: Sequence[Made], named: Mapping[str, Sequence[frozenset[int]]], forms: Sequence[str]) -> str:
    by_form = {form: [at for at, there in enumerate(named[form]) if there] for form in forms if form != "index"}
    used = [form for form, rows in by_form.items() if rows]
    if len(used) > 1 and all(any(named[form][at] for form in used) for at in range(len(made))):
        one, other = used
        first = next(at for at in by_form[one] if not named[other][at])
        second = next(at for at in by_form[other] if not named[one][at])
        raise UsageError(
            f"the gold of {made[first].where} ({_shown(made[first].gold)}) names an option by {_SAID[one]}, that of"
            f" {made[second].where} ({_shown(made[second].gold)}) by {_SAID[other]}; write all of them one way"
        )
    return max(by_form, key=lambda form: len(by_form[form]), default="text") if used else "text"


def _named(each: Made, field: str, form: str, given: Mapping[str, str]) -> frozenset[int]:
    """Which options a gold names under a form; none where it names none, or names something that is no option."""
    scorer = SCORERS["choice"]
    by = given_value(given, "by") or "both"
    rules = scorer.read({"options": field, "by": by, "gold": form})
    if scorer.check_gold(each.input, each.gold, rules) is not None:
        return frozenset()
    options = _options(each, field)
    if isinstance(options, Mapping):
        pairs = list(options.items())
    else:
        listed = cast("list[JSON]", options)
        letters = string.ascii_uppercase if by != "text" else [str(at) for at in range(1, len(listed) + 1)]
        pairs = list(zip(letters, listed, strict=False))
    found: set[int] = set()
    for index, (letter, text) in enumerate(pairs):
        answer: JSON = {"letter": str(letter), "text": text, "index": index}
        held = scorer.score(answer, Confirmed(), each.gold, rules)
        if isinstance(held, tuple) and held[0]["correct"]:
            found.add(index)
    return frozenset(found)


def _shown(gold: Any) -> str:
    return repr(gold)[:60]
