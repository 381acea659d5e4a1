"""json: a JSON answer fits a schema, and its fields are the gold's, each under a normaliser of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast

from harness._json import JSON, JSONError, loads
from harness.scorers import NORMALISERS, normaliser, same_json, unfence
from harness.suites._registry import Answer, Confirmed
from harness.suites.manifest._golds import first_empty, gold_texts, shown
from harness.suites.manifest._options import Option, normalise
from harness.suites.manifest._scorer import Scorer, Tally, mean, primary, rate
from harness.suites.manifest._where import check_place, descend, fault, field_of, place_options

__all__ = ["JSON_FIELDS"]

_EQUAL = "json"
"""Exact JSON equality, beside the normalisers of texts."""


def _how(given: Any) -> str:
    if given == _EQUAL:
        return _EQUAL
    if not isinstance(given, str) or given.partition("/")[0] not in NORMALISERS:
        raise ValueError(f"expected {_EQUAL} or a normaliser out of {', '.join(NORMALISERS)}, got {given!r}")
    return normalise(given)


def _fields(given: Any) -> Mapping[str, str]:
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f'expected a table such as {{ city = "label", "address.zip" = "text" }}, got {given!r}')
    found: dict[str, str] = {}
    for path, how in _paths(cast("Mapping[str, Any]", given), ""):
        if not path or any(not step for step in path.split(".")):
            raise ValueError(f"expected the path of a field, got {path!r}")
        try:
            found[path] = _how(how)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return MappingProxyType(found)


def _paths(table: Mapping[str, Any], ahead: str) -> Iterator[tuple[str, Any]]:
    """A dotted key that TOML has made a table of is a path again."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _paths(cast("Mapping[str, Any]", value), f"{ahead}{key}.")
        else:
            yield f"{ahead}{key}", value


def _schema(given: Any) -> str:
    """A schema as JSON text. Raises ValueError for one that isn't a schema, or that refers to another document."""
    if isinstance(given, str):
        try:
            loads(given)
        except JSONError as error:
            raise ValueError(f"expected a JSON schema, got text that isn't JSON: {error}") from None
        made = given
    elif isinstance(given, Mapping):
        try:
            made = json.dumps(given, default=_plain, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("expected a JSON schema, got a table that holds what JSON has not") from None
    else:
        raise ValueError(f"expected a JSON schema as a table or as JSON text, got {given!r}")
    _validator(made)
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError


@lru_cache(maxsize=32)
def _validator(schema: str) -> Any:
    """Patterns in it run in linear time, and no reference is fetched from anywhere."""
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True)
    except Exception as error:  # noqa: BLE001  the library has no root of its own for what it raises
        said = str(error).partition("\n")[0]
        raise ValueError(f"expected a JSON schema, got one that won't do: {repr(said)[1:-1][:300]}") from None


def _answer(value: JSON, _: JSON, options: Mapping[str, Any]) -> Answer:
    if options["at"] == "field":
        found = field_of(value, options["field"])
        if isinstance(found, Answer):
            return found
        return Answer(found) if _fits(found, options["schema"]) else fault("schema_violation")
    if not isinstance(value, str):
        return Answer(value) if _fits(value, options["schema"]) else fault("schema_violation")
    start, end = unfence(value)
    try:
        found = loads(value[start:end])
    except JSONError:
        return fault("no_json")
    if not _fits(found, options["schema"]):
        return fault("schema_violation")
    return Answer(found, text=value[start:end], span=(start, end))


def _fits(value: JSON, schema: str) -> bool:
    if not schema:
        return True
    try:
        return bool(_validator(schema).is_valid(value))
    except Exception:  # noqa: BLE001  what the library can't take fits no schema: half of a surrogate pair, say
        return False


def _pairs(
    answer: JSON, gold: JSON, options: Mapping[str, Any]
) -> Iterator[tuple[str, str, tuple[bool, JSON], tuple[bool, JSON]]]:
    """Each field that is compared: its name, how, and (whether it is there, what) of the answer and the gold."""
    if options["fields"]:
        for path, how in options["fields"].items():
            yield path, how, descend(answer, path), descend(gold, path)
    elif isinstance(gold, Mapping):
        fields: Mapping[str, JSON] = answer if isinstance(answer, Mapping) else {}
        for key, wanted in gold.items():
            yield key, options["normalise"], (key in fields, fields.get(key)), (True, wanted)
    else:
        yield "the whole of it", _EQUAL, (True, answer), (True, gold)


def _same(found: JSON, wanted: JSON, how: str) -> bool:
    if how == _EQUAL:
        return same_json(found, wanted)
    form = normaliser(how).of
    texts = gold_texts(found) if not isinstance(found, list) else None
    return texts is not None and form(texts[0]) in {form(each) for each in gold_texts(wanted) or ()} - {""}


def _check_gold(_: JSON, gold: JSON, options: Mapping[str, Any]) -> str | None:
    if not isinstance(gold, Mapping | list):
        return f"gold: expected an object or a list, as JSON and not as a text of JSON, got {shown(gold)}"
    if isinstance(gold, Mapping) and not gold:
        return "gold: expected an object with fields, got one with none"
    for name, how, _found, (there, wanted) in _pairs(None, gold, options):
        if not there:
            return f"gold: the field {name!r}, which this rule set compares, isn't there"
        if how == _EQUAL:
            continue
        texts = gold_texts(wanted)
        if texts is None:
            return (
                f"gold.{name}: expected a text, a number, or a list of those under {how}, got {shown(wanted)};"
                f' compare it as "{_EQUAL}"'
            )
        empty = first_empty(texts, normaliser(how).of)
        if empty is not None:
            return f"gold.{name}: {empty!r} has no normal form under {how}, so no answer could match it"
    return None


def _score(answer: JSON, _: Confirmed, gold: JSON, options: Mapping[str, Any]) -> Tally | None:
    if _check_gold(None, gold, options) is not None:
        return None
    right = [
        there and _same(found, wanted, how) for _, how, (there, found), (_, wanted) in _pairs(answer, gold, options)
    ]
    share = sum(right) / len(right)
    return {"exact": int(all(right)), "fields": share}, "exact" if all(right) else "partial" if any(right) else "none"


JSON_FIELDS = Scorer(
    name="json",
    version=1,
    about="a JSON answer has the gold's fields, and fits a schema",
    options=(
        *place_options("whole", "field", fence=False),
        Option("schema", "", _schema, "a JSON schema, as a table or as JSON text, that an answer has to fit"),
        Option(
            "fields", MappingProxyType({}), _fields, "the fields that are compared, by dotted path, and how each is"
        ),
        Option("normalise", _EQUAL, _how, "without `fields`: how every field of the gold is compared"),
    ),
    metrics=(rate("exact"), mean("fields")),
    primary=primary(every="exact"),
    verdicts=MappingProxyType(
        {
            "exact": "every field that is compared is the gold's",
            "partial": "some are",
            "none": "none is",
        }
    ),
    answer=_answer,
    check_gold=_check_gold,
    score=_score,
    fit=check_place,
)
