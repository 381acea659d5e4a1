"""The rule file of a new suite, as its golds need it: what a scorer has to be told is taken from what stands there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from harness._errors import UsageError
from harness._new_cases import Made
from harness._new_choice import fit_choice
from harness._new_fitted import Fitted
from harness._new_golds import Gold, comparison, field_comparison, scalars
from harness._new_kits import Kit
from harness._new_settings import given_value, setting_notes, toml_text, with_settings
from harness.suites.manifest import SCORERS

__all__ = ["Asked", "fit_rules"]

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_COMMA: Final = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")
_GROUPS: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_SOURCES: Final = ("text", "source", "context", "passage", "document", "article", "content")
_NORMALISED: Final = "normalise=NAME"


@dataclass(frozen=True)
class Asked:
    """What the rules are made for: the fields of the inputs, the cases (all of them), whether these have options,
    whether the golds have types (JSON) or are cells of a table, and which options of the scorer were set, as TOML."""

    inputs: Sequence[str]
    made: Sequence[Made]
    options: bool = False
    typed: bool = True
    given: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def golds(self) -> list[Gold]:
        """Every gold with its row."""
        return [Gold(each.where, each.gold) for each in self.made]


def fit_rules(kit: Kit, asked: Asked) -> Fitted:
    """The rule file for these golds. A gold that doesn't fit it is for the check of the case to say.

    Raises UsageError where what the golds are can't be told, naming two rows that differ.
    """
    fits = {"choice": _choice, "json": _json, "number": _number, "quote": _quote, "f1": _f1}
    fitted = fits.get(kit.name, _texts)(kit, asked)
    rules = with_settings(fitted.rules, asked.given)
    return replace(fitted, rules=rules, notes=(*fitted.notes, *setting_notes(asked.given)))


def _choice(kit: Kit, asked: Asked) -> Fitted:
    return fit_choice(kit, asked.made, options=asked.options, given=asked.given)


def _texts(kit: Kit, asked: Asked) -> Fitted:
    """exact, regex and includes: texts and numbers, of which `includes` knows the words alone."""
    if "normalise" in asked.given:
        return Fitted(kit.rules(), kit.tail)
    said = comparison(asked.golds, typed=asked.typed, option=_NORMALISED)
    if kit.name == "includes":
        number = said.form == "value/1"
        note = ("Golds that are numbers are looked for as they are written; --score exact compares by value.",) * number
        return Fitted(kit.rules(), kit.tail, note)
    written = kit.options.replace("label/2", said.form)
    return Fitted(kit.rules(written), kit.tail, (said.note,) if said.note else ())


def _f1(kit: Kit, asked: Asked) -> Fitted:
    fitted = Fitted(kit.rules(), kit.tail)
    if "normalise" not in asked.given:
        said = comparison(asked.golds, typed=asked.typed, option=_NORMALISED)
        if said.form != "label/2":
            line = f'normalise = "{said.form}"   # how items are compared\n'
            fitted = Fitted(kit.rules(line), kit.tail, (said.note,) if said.note else ())
    split = given_value(asked.given, "split") or "json"
    if split == "json":
        return fitted
    between = {
        "lines": "one a line",
        "commas": "with commas between them",
        "semicolons": "with semicolons between them",
    }
    rules = fitted.rules.replace("fence = true          # one code fence around it is passed over\n", "")
    tail = f"Answer with the items alone, {between.get(split, split)}, and write nothing else."
    return replace(fitted, rules=rules, tail=tail, ask="text")


def _quote(kit: Kit, asked: Asked) -> Fitted:
    """The field that is quoted from: of those that look like it, the first in which every gold stands."""
    if "source" in asked.given:
        return Fitted(kit.rules(), kit.tail)
    likely = [name for name in _SOURCES if name in asked.inputs] or list(asked.inputs[:1])
    fields = list(dict.fromkeys([*likely, *asked.inputs]))
    source = next((name for name in fields if _all_stand_in(name, asked.made)), fields[0])
    note = f"The quotes are held against the field {source!r}; `source` in the rule file says so."
    return Fitted(
        kit.rules(f"source = {toml_text(source)}   # the field of a case that is quoted\n"), kit.tail, (note,)
    )


def _all_stand_in(name: str, made: Sequence[Made]) -> bool:
    scorer = SCORERS["quote"]
    options = scorer.read({"source": name})
    return all(scorer.check_gold(each.input, each.gold, options) is None for each in made)


def _number(kit: Kit, asked: Asked) -> Fitted:
    """With a comma in the golds, what it stands for where they leave no doubt; else the golds are refused one by one.

    1,500 alone can be either. Beside 1,5 it is a fraction, beside 1,234,567 a thousand and a half.
    """
    place = kit.options[: kit.options.index("\n") + 1]
    texts = [each.strip() for gold in asked.golds for each in scalars(gold.value) if isinstance(each, str)]
    commas = [text for text in texts if "," in text]
    told = "decimal" in asked.given or "thousands" in asked.given
    if told or not commas:
        return Fitted(kit.rules(), kit.tail)
    if all(_COMMA.fullmatch(text) for text in texts) and not all(_GROUPS.fullmatch(text) for text in commas):
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


def _json(kit: Kit, asked: Asked) -> Fitted:
    lists = next((gold for gold in asked.golds if isinstance(gold.value, list)), None)
    objects = [(gold.where, gold.value) for gold in asked.golds if isinstance(gold.value, Mapping)]
    if lists is not None and objects:
        raise UsageError(
            f"the gold is a list on {lists.where} and an object on {objects[0][0]}; a suite asks for one of the two"
        )
    if lists is not None:
        tail = "Answer with one JSON list, and write nothing else."
        return Fitted(kit.rules('normalise = "json"   # a list is compared whole\n'), tail, ask="array")
    keys = list(dict.fromkeys(key for _, gold in objects for key in gold))
    tail = kit.tail.replace("KEYS", ", ".join(keys).replace("{", "(").replace("}", ")") or "of the gold")
    columns = {key: [Gold(where, gold[key]) for where, gold in objects if key in gold] for key in keys}
    told = "fields" in asked.given or "normalise" in asked.given
    if told:
        return Fitted(kit.rules('normalise = "json"\n'), tail)
    # A rule set's fields are dotted paths, and each is compared in every case.
    if not keys or any("." in key for key in keys) or not all(set(gold) == set(keys) for _, gold in objects):
        form = _one_form(columns, typed=asked.typed)
        note = "The golds' fields differ from case to case, so each is compared with what its own gold has."
        return Fitted(kit.rules(f'normalise = "{form}"   # how every field of a gold is compared\n'), tail, (note,))
    said = {
        key: field_comparison(key, column, typed=asked.typed, option=_field_option(keys, key))
        for key, column in columns.items()
    }
    fields = _fields({key: each.form for key, each in said.items()})
    notes = tuple(each.note for each in said.values() if each.note)
    return Fitted(kit.rules(f"fields = {fields}   # how each field is compared\n"), tail, notes)


def _one_form(columns: Mapping[str, Sequence[Gold]], *, typed: bool) -> str:
    """One way for every field: a label where all are texts, by value where some fields are numbers, else as JSON."""
    said = {
        field_comparison(key, column, typed=typed, option=_NORMALISED).form for key, column in columns.items()
    }  # fmt: skip
    if not said or "json" in said:
        return "json"
    return said.pop() if len(said) == 1 else "value/1"


def _field_option(keys: Sequence[str], asked: str) -> str:
    """`--set fields=…` with one field's normaliser left open."""
    return shlex.quote("fields=" + _fields({key: "NAME" if key == asked else "label" for key in keys}))


def _fields(forms: Mapping[str, str]) -> str:
    named = (
        f"{key if _BARE_KEY.fullmatch(key) else toml_text(key)} = {toml_text(form)}" for key, form in forms.items()
    )
    return "{ " + ", ".join(named) + " }"
