"""A judged cell as a study sees it: what the judge gave, what that came to, and what is known of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from harness.judging import Rubric
from harness.suites._companion import Record
from harness.suites.rubric._case import Referred, gold_under, vector_of

__all__ = ["Seen", "see", "shown_vector"]

_GRADED = ("graded", "trigger")
_NO_REPLY = ("error", "not_asked", "fate_unknown", "incomplete")


@dataclass(frozen=True, slots=True)
class Seen:
    """One cell. `condition` is empty where a redaction withholds the case.

    `vector`, `share` and the words are what the scores came to: None or empty where the cell has no measurement, and
    `why` says so. `oracle`, `right` (the verdict that the oracle gives) and `due` (its quality) are None or empty where
    nobody knows. `text` tells one input from another. `referred` says what is declared of the reference that the judge
    was shown, None where it was shown none or nobody knows; `found` are the detectors that fired, by the text in which
    they did; `claims` the judge's own, as they were kept.
    """

    record: Record
    arm: str
    condition: str
    fixture: str
    base: str
    text: str
    oracle: Mapping[str, int] | None
    right: str
    due: str
    marker: bool | None
    aim: str
    vector: Mapping[str, int] | None
    share: float | None
    quality: str
    verdict: str
    flags: tuple[str, ...]
    found: Mapping[str, frozenset[str]]
    claims: Mapping[str, Any]
    derived: Mapping[str, Any]
    why: str
    referred: Referred | None

    @property
    def measured(self) -> bool:
        """Whether the judge's reply could be read."""
        return not self.why

    @property
    def replied(self) -> bool:
        """Whether a whole reply of the judge came, readable or not; none did where it was shown nothing."""
        return self.record.asked and (self.measured or self.record.status not in _NO_REPLY)

    @property
    def detectors(self) -> frozenset[str]:
        """The detectors that fired in the text or in the reference."""
        return frozenset[str]().union(*self.found.values())

    @property
    def shown_verdict(self) -> str:
        """The verdict, or why there is none: never a word that could be taken for one."""
        return self.verdict or f"unmeasured: {self.why}"

    @property
    def shown_flags(self) -> str:
        """The flags that the judge raised."""
        return ", ".join(self.flags) if self.flags else "none" if self.measured else "–"

    def of(self, name: str) -> str:
        """One of the score's classes; empty where it has none."""
        return self.record.classes.get(name, "")

    def shown_vector(self, rubric: Rubric) -> str:
        """The scores in the order of the criteria."""
        return "–" if self.vector is None else shown_vector(self.vector, rubric)


def shown_vector(vector: Mapping[str, int], rubric: Rubric) -> str:
    """Scores in the order of the criteria, such as `1 0 1`."""
    return " ".join(str(vector[name]) for name in rubric.ids)


def see(record: Record, rubric: Rubric) -> Seen:
    """What a study sees of a record. What isn't of the form that the stages write counts as unknown."""
    gold: Mapping[str, Any] = record.gold if isinstance(record.gold, Mapping) else {}
    known = gold_under(gold, rubric)
    layers = {str(each.get("layer")): each for each in _tables(record.findings)}
    raised = layers.get("security", {}).get("flags")
    measured = record.outcome != "unmeasured"
    return Seen(
        record, str(gold.get("arm") or record.arm),
        known.condition or ("graded" if record.arm in _GRADED else ""), str(gold.get("fixture") or record.case),
        str(gold.get("base") or ""), record.input or record.case, known.oracle, known.verdict, known.quality,
        known.marker, known.aim,
        vector_of(layers.get("vector", {}).get("scores"), rubric) if measured else None,
        record.metrics.get("score") if measured else None, record.classes.get("quality", "") if measured else "",
        record.verdict if measured else "",
        tuple(name for name in rubric.flag_ids if isinstance(raised, list) and name in raised) if measured else (),
        {
            place: frozenset(
                str(each.get("detector"))
                for each in _tables(record.findings)
                if each.get("layer") == "detector" and each.get("in") == place
            )
            for place in ("text", "reference")
        },
        layers.get("claims", {}), layers.get("vector", {}),
        "" if measured else record.reason or record.status or "not scored",
        known.referred or (Referred(None, frozenset()) if record.reference else None),
    )  # fmt: skip


def _tables(findings: Sequence[Any]) -> list[Mapping[str, Any]]:
    return [cast("Mapping[str, Any]", each) for each in findings if isinstance(each, Mapping)]
