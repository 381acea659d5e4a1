"""What a judge chose, read out of its reply and never guessed at: one word out of three, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from harness._json import JSON
from harness.judging import KEYS, detect, read_detectors, read_rubric, seen
from harness.suites._registry import EVERY_GROUP, Answer, Confirmed, Kind, Metric, Scored, ScoreRules, settle
from harness.suites.pairwise._case import UNTRUSTED, group

__all__ = [
    "METRICS", "PRIMARY", "WINNERS", "answer", "confirm", "confirm_rules", "schema", "score", "score_rules",
]  # fmt: skip

WINNERS: Mapping[str, float] = MappingProxyType({"first": 1.0, "second": 0.0, "tie": 0.5})
"""What a judge may choose, and the share of the first position in it."""
_OUTER = " \t\r\n"
METRICS = (
    Metric("readable", "rate", "all", higher_is_better=True),
    Metric("first_share", "mean", "all", higher_is_better=True),
)
"""Whether the choice could be read, and the share of the first position: its distance from a half is position bias."""
PRIMARY: Mapping[str, str] = MappingProxyType({EVERY_GROUP: "first_share"})


def schema(value: JSON) -> tuple[str | None, JSON]:
    """Any object has the shape of a choice; what is in it is for `answer` to say, which knows the rule set."""
    return None, value


def answer(value: JSON, case_input: JSON, rules: Mapping[str, Any]) -> Answer:
    """The choice: the word under `winner`, folded by case and outer white space, exactly one of three.

    What the rubric names as comments may stand beside it; any other key makes a reply that nobody can be sure of.
    """
    reply: Mapping[str, JSON] = value if isinstance(value, Mapping) else {}
    if "winner" not in reply:
        looks = rules["version"] > 1 and any(seen(key).strip(_OUTER) == "winner" for key in reply)
        return Answer(None, "wrong_shape", "invisible_characters" if looks else "missing_winner")
    said = reply["winner"]
    text, hidden = said if isinstance(said, str) else "", rules["version"] > 1
    winner = (text.strip(_OUTER) if hidden else text.strip()).casefold()
    if winner not in WINNERS:
        looks = hidden and seen(text).strip(_OUTER).casefold() in WINNERS
        return Answer(None, "wrong_shape", "invisible_characters" if looks else "bad_winner")
    if any(key != "winner" and key not in rules["reply"].comments for key in reply):
        return Answer(None, "wrong_shape", "unexpected_key")
    return Answer({"winner": winner})


def confirm(value: JSON, case_input: JSON, rules: Mapping[str, Any]) -> Confirmed:
    """The choice, and what the detectors find in the texts."""
    fields: Mapping[str, JSON] = case_input if isinstance(case_input, Mapping) else {}
    texts = [(name, text) for name in UNTRUSTED if isinstance(text := fields.get(name), str)]
    return Confirmed(
        findings=(
            {"proposal": 0, "layer": "choice", "winner": _winner(value)},
            *(
                {"proposal": 0, "layer": "detector", "detector": found.detector, "in": name,
                 "span": [found.start, found.end]}
                for name, text in texts for found in detect(text, rules["detectors"])
            ),
        )
    )  # fmt: skip


def score(value: JSON, confirmed: Confirmed, gold: JSON, rules: Mapping[str, Any]) -> Scored:
    """The share of the first position, and whose text stood where the judge pointed."""
    winner = _winner(value)
    sides: Mapping[str, JSON] = gold if isinstance(gold, Mapping) else {}
    kinds = cast("Mapping[str, Kind]", rules["metrics"])
    figures: dict[str, int | float] = {"readable": 1, "first_share": WINNERS[winner]}
    outcome, graded = settle(figures, group(gold), primary=rules["primary"], kinds=kinds)
    return Scored(outcome, graded, figures, winner, classes={"winner": str(sides.get(winner, winner))})


def _winner(value: JSON) -> str:
    return str(value["winner"]) if isinstance(value, Mapping) else "tie"


def confirm_rules(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The [confirm] table: the detectors. Raises ValueError."""
    unknown = sorted(set(table) - {"detectors"})
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!a}; expected [[confirm.detectors]]")
    return MappingProxyType({"detectors": read_detectors(table.get("detectors"))})


def score_rules(table: Mapping[str, Any]) -> ScoreRules:
    """The [score] table: the rubric that the judge is shown. Metrics and outcome are always the same."""
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!a}; expected {', '.join(KEYS[:-1])} and {KEYS[-1]}")
    return ScoreRules(MappingProxyType(read_rubric(table).as_rules()), METRICS, PRIMARY)
