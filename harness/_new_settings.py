"""The options of a scorer that stand on the command line, as NAME=VALUE: what was typed is what the rule file has.

A value is a text as it stands, blanks and quotes too, where the option takes that text. Where it doesn't, it is TOML: a
number, true or false, a list, a table. Else, for an option that takes a list of texts, it is a list of this one.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from harness._errors import UsageError
from harness._new_kits import Kit
from harness.suites.manifest import SCORERS
from harness.suites.manifest._options import Option

__all__ = ["given_value", "read_settings", "setting_notes", "toml_text", "with_settings"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NOTHING: Final = object()


def read_settings(kit: Kit, settings: Sequence[str]) -> Mapping[str, str]:
    """Each option that was set, with its value as TOML.

    Raises UsageError for an option that the scorer doesn't have or that is set twice, and for a value that it doesn't
    take.
    """
    options = {each.name: each for each in SCORERS[kit.name].options}
    found: dict[str, str] = {}
    for setting in settings:
        key, sign, value = setting.partition("=")
        option = options.get(key)
        if option is None or not sign:
            bare = key.strip()
            blank = f"; no blank goes between {bare} and the =" if sign and bare in options else ""
            raise UsageError(
                f"--set: expected OPTION=VALUE with one of {', '.join(sorted(options))}, got {setting[:200]!r}{blank}"
            )
        if key in found:
            raise UsageError(f'--set {key}: it is set twice; several texts are one list, as in {key}=["a", "b"]')
        found[key] = _written(option, value)
    return found


def given_value(given: Mapping[str, str], name: str) -> str:
    """The text that an option was set to; "" where it wasn't set, or to something else."""
    value = tomllib.loads(f"x = {given[name]}")["x"] if name in given else ""
    return value if isinstance(value, str) else ""


def setting_notes(given: Mapping[str, str]) -> tuple[str, ...]:
    """A word on each text that was typed with quotation marks around it: they are part of it."""
    texts = {name: tomllib.loads(f"x = {form}")["x"] for name, form in given.items() if form.startswith('"')}
    return tuple(
        f"--set {name}: the quotation marks are part of the text, {text[:60]!r}, as nothing is taken off."
        for name, text in texts.items() if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    )  # fmt: skip


def with_settings(rules: str, given: Mapping[str, str]) -> str:
    """A rule file with options set in its [score] table, each in the place of the line that is there."""
    if not given:
        return rules
    head, table, score = rules.partition("[score]\n")
    gone = set(given)
    if "normalise" in gone:
        gone.add("fields")  # which would go before it
    named = re.compile(rf"(?:# )?(?:{'|'.join(map(re.escape, gone))})\s*=")
    kept = [line for line in score.splitlines() if not named.match(line)]
    return head + table + "\n".join([*kept, *(f"{name} = {form}" for name, form in given.items())]) + "\n"


def toml_text(value: str) -> str:
    """A text as TOML has it; JSON's escapes are TOML's too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _written(option: Option, value: str) -> str:
    if _SURROGATE.search(value):
        raise UsageError(f"--set {option.name}: expected text in UTF-8, got {ascii(value)[:80]}")
    problems: list[str] = []
    toml = _toml(value)
    for form, read in ((toml_text(value), value), (value.strip(), toml), (f"[{toml_text(value)}]", [value])):
        if read is _NOTHING:
            continue
        try:
            option.read(read)
        except ValueError as error:
            problems.append(str(error))
        else:
            return form
    # Of a text and the number that it is, the number's fault says more.
    raise UsageError(f"--set {option.name}: {problems[0 if toml is _NOTHING else 1]}")


def _toml(value: str) -> Any:
    """The one TOML value that all of a text is, without a comment and on one line; `_NOTHING` where it is none."""
    if "\n" in value or "\r" in value:
        return _NOTHING
    try:
        (found,) = tomllib.loads(f"x = [{value}]", parse_float=Decimal)["x"]
        # Neither a comma after it nor a comment is part of a value.
        return found if tomllib.loads(f"x = {value}", parse_float=Decimal)["x"] == found else _NOTHING
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return _NOTHING
