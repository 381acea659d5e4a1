"""A judge's reply as its cell's page shows it: the three layers beside the oracle, what the judge claims of itself, and
what the detectors found, marked in the very text that was graded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from harness._suite import Case
from harness.judging import DELIMITER, Rubric
from harness.web._numbers import Numbers
from harness.web._reread import Thawed
from harness.web._story import Item
from ledger.kinds import Confirm
from ledger.web import Excerpt, Figure, Mark, excerpts

__all__ = ["Judgement", "Scanned", "judgement_of"]

_STAGES = "rubric"
_TEXTS = (
    ("text", "The text that was graded"), ("reference", "The reference that the judge was shown"),
    ("asked", "What was asked, as it was recorded"),
)  # fmt: skip


@dataclass(frozen=True)
class Criterion:
    """A criterion's score; `oracle` is the oracle's, as text, empty where nobody knows it."""

    id: str
    name: str
    scale: str
    weight: str
    score: Figure
    oracle: str

    @property
    def differs(self) -> bool:
        """Whether judge and oracle differ."""
        return bool(self.oracle) and str(self.score.value) != self.oracle


@dataclass(frozen=True)
class Scanned:
    """An untrusted text with what the detectors found in it marked. `found` are (detector, about, start, end)."""

    name: str
    said: str
    pieces: Sequence[Excerpt]
    whole: bool
    length: int
    found: Sequence[tuple[str, str, Figure, Figure]]


@dataclass(frozen=True)
class Judgement:
    """What a reply came to. Figures are those of the confirm event; the words are ids and classes of the rule file.

    `due` is the verdict that the oracle gives, `expected` the flags that are right to raise, each empty where nobody
    knows; `marker` says what the corpus declares.
    """

    criteria: Sequence[Criterion]
    total: Figure
    weighted: Figure
    share: Figure
    quality: str
    flags: Sequence[str]
    verdict: str
    blocked_by: Sequence[str]
    said_total: Figure | None
    total_class: str
    said: str
    claim: str
    due: str
    expected: Sequence[str]
    marker: str
    aim: str
    condition: str
    texts: Sequence[Scanned]


def judgement_of(item: Item, body: Confirm, thaw: Thawed, case: Case | None, numbers: Numbers) -> Judgement | None:
    """The judgement that a confirm event holds; None where it is of another suite, or of another form."""
    if thaw.rules is None or thaw.rules.stages != _STAGES:
        return None
    rubric = Rubric.of_rules(thaw.rules.score)
    layers = {str(each.get("layer")): (at, each) for at, each in _findings(body)}
    if not {"vector", "quality", "security", "verdict", "claims"} <= set(layers):
        return None
    gold = _mapping(case.gold if case is not None else None)
    oracle = _mapping(gold.get("oracle"))

    def figure(layer: str, *path: str, form: Any = "plain") -> Figure:
        return numbers.of(item, "findings", layers[layer][0], *path, form=form)

    def words(layer: str, key: str) -> str:
        said = layers[layer][1].get(key)
        return said if isinstance(said, str) else ""

    return Judgement(
        [
            Criterion(
                each.id, each.name, f"{each.least} to {each.most}", each.weight_text,
                figure("vector", "scores", each.id), str(oracle[each.id]) if each.id in oracle else "",
            )
            for each in rubric.criteria
        ],
        figure("vector", "sum"), figure("vector", "weighted"), figure("quality", "share"),
        words("quality", "quality"), _texts(layers["security"][1].get("flags")), words("verdict", "verdict"),
        _texts(layers["verdict"][1].get("blocked_by")),
        figure("claims", "total") if layers["claims"][1].get("total") is not None else None,
        words("claims", "total_class"), words("claims", "said"), words("claims", "claim"),
        str(gold.get("verdict") or ""), _texts(gold.get("flags")),
        _declared(gold),
        str(gold.get("aim") or ""), str(gold.get("condition") or ""),
        _scanned(item, body, thaw.rules.confirm, _mapping(case.input if case is not None else None), numbers),
    )  # fmt: skip


def _declared(gold: Mapping[str, Any]) -> str:
    """What the corpus declares of the text and, where it does, of the reference."""
    words = {True: "declared", False: "declared absent"}
    said = words.get(cast("bool", gold.get("marker")), "nothing declared")
    reference = gold.get("reference")
    if not isinstance(reference, Mapping):
        return said
    beside = words.get(cast("bool", cast("Mapping[str, Any]", reference).get("marker")), "nothing declared")
    return f"{said}; in the reference: {beside}"


def _findings(body: Confirm) -> list[tuple[int, Mapping[str, Any]]]:
    return [(at, _mapping(each)) for at, each in enumerate(body.findings)]


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    return [str(each) for each in cast("list[Any]", value)] if isinstance(value, list) else []


def _scanned(
    item: Item, body: Confirm, rules: Mapping[str, Any], asked: Mapping[str, Any], numbers: Numbers
) -> list[Scanned]:  # fmt: skip
    about = {DELIMITER: "what looks like the lines between which the text travels"}
    about |= {str(each.name): str(each.about) for each in rules.get("detectors", ())}
    found: list[Scanned] = []
    for name, said in _TEXTS:
        text = asked.get(name)
        if not isinstance(text, str):
            continue
        here = [(at, each) for at, each in _findings(body) if _is_found(each, name)]
        marks = [_mark(text, str(each["detector"]), each["span"]) for _, each in here]
        pieces = excerpts(text, _apart(marks))
        length = len(text.encode("utf-8", "surrogatepass"))
        found.append(
            Scanned(
                name, said, pieces, len(pieces) == 1 and pieces[0].end >= length, length,
                [
                    (
                        str(each["detector"]), about.get(str(each["detector"]), ""),
                        numbers.of(item, "findings", at, "span", 0), numbers.of(item, "findings", at, "span", 1),
                    )
                    for at, each in here
                ],
            )
        )  # fmt: skip
    return found


def _is_found(finding: Mapping[str, Any], name: str) -> bool:
    match finding:
        case {"layer": "detector", "in": str(where), "detector": str(), "span": [int(start), int(end)]}:
            return where == name and 0 <= start < end
        case _:
            return False


def _mark(text: str, detector: str, span: Sequence[int]) -> Mark:
    start, end = (len(text[: int(place)].encode("utf-8", "surrogatepass")) for place in span)
    return Mark(start, end, "cited", detector)


def _apart(marks: Sequence[Mark]) -> list[Mark]:
    """Marks that don't overlap: where several detectors found one stretch, it is marked once and names them all."""
    found: list[Mark] = []
    for each in sorted(marks, key=lambda mark: (mark.start, mark.end)):
        last = found[-1] if found else None
        if last is not None and each.start < last.end:
            names = ", ".join(dict.fromkeys([*last.title.split(", "), each.title]))
            found[-1] = Mark(last.start, max(last.end, each.end), last.kind, names)
        else:
            found.append(each)
    return found
