"""The rule file of a new suite, as its golds need it: what a scorer has to be told is taken from what stands there."""

from __future__ import annotations

import json
import re
import string
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from harness._errors import UsageError
from harness._json import JSON
from harness._new_kits import Kit
from harness.suites.manifest import SCORERS
from harness.suites.manifest._options import Option

__all__ = ["Fitted", "fit_rules", "set_options"]

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_COMMA: Final = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")
_GROUPS: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_SOURCES: Final = ("text", "source", "context", "passage", "document", "article", "content")


@dataclass(frozen=True)
class Fitted:
    """The rule file, the prompt's last lines, and what was decided that a person should know of."""

    rules: str
    tail: str
    notes: Sequence[str] = ()


def fit_rules(kit: Kit, inputs: Sequence[str], golds: Sequence[JSON], *, options: bool) -> Fitted:
    """The rule file for these golds. A gold that doesn't fit it is for the check of the case to say."""
    if kit.name == "choice":
        return _choice(kit, golds, options=options)
    if kit.name == "json":
        return _json(kit, golds)
    if kit.name == "number":
        return _number(kit, golds)
    if kit.name == "quote":
        source = next((name for name in _SOURCES if name in inputs), inputs[0])
        note = f"The quotes are held against the field {source!r}; `source` in the rule file says so."
        return Fitted(
            kit.rules(f"source = {_text(source)}   # the field of a case that is quoted\n"), kit.tail, (note,)
        )
    return Fitted(kit.rules(), kit.tail)


def set_options(fitted: Fitted, kit: Kit, settings: Sequence[str]) -> Fitted:
    """The rule file with options of the scorer set, each given as KEY=VALUE: a TOML value, or a plain text.

    Raises UsageError for an option that the scorer doesn't have, and for a value that it doesn't take.
    """
    options = {each.name: each for each in SCORERS[kit.name].options}
    lines = fitted.rules.splitlines()
    for setting in settings:
        key, sign, value = setting.partition("=")
        option = options.get(key.strip())
        if option is None or not sign:
            raise UsageError(f"--set: expected OPTION=VALUE with one of {', '.join(sorted(options))}, got {setting!r}")
        written = _written(option, value.strip())
        lines = [line for line in lines if not re.match(rf"(?:# )?{re.escape(option.name)}\s*=", line)]
        lines.append(f"{option.name} = {written}")
    return replace(fitted, rules="\n".join(lines) + "\n") if settings else fitted


def _written(option: Option, value: str) -> str:
    """The value as the rule file has it: as it was typed where that is TOML that the option takes, else as a text."""
    problem = ""
    for form in (value, _text(value), f"[{_text(value)}]"):
        try:
            option.read(tomllib.loads(f"value = {form}", parse_float=Decimal)["value"])
        except tomllib.TOMLDecodeError:
            continue
        except ValueError as error:
            problem = problem or str(error)
        else:
            return form
    raise UsageError(f"--set {option.name}: {problem}")


def _choice(kit: Kit, golds: Sequence[JSON], *, options: bool) -> Fitted:
    named = [gold for gold in golds if isinstance(gold, str)]
    letters = all(len(gold.strip()) == 1 and gold.strip() in string.ascii_letters for gold in named)
    if not options:
        last = max((string.ascii_uppercase.find(gold.strip().upper()) for gold in named if letters), default=3)
        there = string.ascii_uppercase[: max(last, 3) + 1]
        note = f"The cases name no options (--options), so the letters {there} are what can be answered."
        return Fitted(
            kit.rules(f'{kit.options}letters = "{there}"   # the options that there are\n'), kit.tail, (note,)
        )
    # A 0 is what tells an index from a number that counts from 1.
    whole = [gold for gold in golds if isinstance(gold, int) or (isinstance(gold, str) and gold.strip().isdigit())]
    by_index = len(whole) == len(golds) and any(int(str(gold)) == 0 for gold in whole)
    form = "index" if by_index else "letter" if letters and named else "text"
    said = {"index": "its index, counted from 0", "letter": "its letter", "text": "its text"}[form]
    lines = (
        f'options = "options"   # the field of a case that holds them\ngold = "{form}"      # the gold names {said}\n'
    )
    return Fitted(kit.rules(kit.options + lines), kit.tail, (f"The gold names the right option by {said}.",))


def _number(kit: Kit, golds: Sequence[JSON]) -> Fitted:
    """With a comma in the golds, what it stands for where they leave no doubt; else the golds are refused one by one.

    1,500 alone can be either. Beside 1,5 it is a fraction, beside 1,234,567 a thousand and a half.
    """
    place = kit.options[: kit.options.index("\n") + 1]
    texts = [gold.strip() for gold in golds if isinstance(gold, str)]
    commas = [text for text in texts if "," in text]
    if commas and all(_COMMA.fullmatch(text) for text in texts) and not all(_GROUPS.fullmatch(text) for text in commas):
        note = "The golds have a decimal comma, so answers are read with one; `decimal` in the rule file says so."
        lines = f'{place}decimal = ","        # the mark ahead of a fraction\n'
        return Fitted(kit.rules(lines), f"{kit.tail} Write a fraction with a comma, as in 1,5.", (note,))
    sure = any(text.count(",") > 1 or "." in text for text in commas)
    if sure and all(_GROUPS.fullmatch(text) for text in commas):
        note = (
            "The golds have a comma between thousands, so answers may have one; `thousands` in the rule file says so."
        )
        return Fitted(
            kit.rules(f'{place}decimal = "."\nthousands = ","      # the mark between groups of digits\n'),
            kit.tail,
            (note,),
        )
    return Fitted(kit.rules(), kit.tail)


def _json(kit: Kit, golds: Sequence[JSON]) -> Fitted:
    objects = [gold for gold in golds if isinstance(gold, Mapping)]
    keys = list(dict.fromkeys(key for gold in objects for key in gold))
    tail = kit.tail.replace("KEYS", ", ".join(keys).replace("{", "(").replace("}", ")") or "of the gold")
    # A rule set's fields are dotted paths, and each is compared in every case.
    if not keys or any("." in key for key in keys) or not all(set(gold) == set(keys) for gold in objects):
        note = "The golds' fields differ from case to case, so each is compared with what its own gold has."
        return Fitted(kit.rules('normalise = "label/1"   # how every field of a gold is compared\n'), tail, (note,))
    kinds = {key: _kind([gold[key] for gold in objects]) for key in keys}
    fields = ", ".join(f"{key if _BARE_KEY.fullmatch(key) else _text(key)} = {_text(kinds[key])}" for key in keys)
    return Fitted(kit.rules(f"fields = {{ {fields} }}   # how each field is compared\n"), tail)


def _kind(values: Sequence[JSON]) -> str:
    if any(value is None or isinstance(value, bool | list | Mapping) for value in values):
        return "json"
    return "label/1" if any(isinstance(value, str) for value in values) else "number/1"


def _text(value: str) -> str:
    """A text as TOML has it; JSON's escapes are TOML's too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
