"""The cases that the arms of a manifest come to, as the lines of a cases.jsonl.

The judge is shown a case's input: the task, the text, and in two conditions a reference. Oracle, label and id are in
the gold and the meta, which never reach it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness._identity import file_digest
from harness.rubrics._arms import Arms
from harness.rubrics._manifest import Manifest
from harness.rubrics._texts import FixtureText, Reference

__all__ = ["case_line", "cases_of_arms"]


def cases_of_arms(manifest: Manifest) -> dict[str, bytes]:
    """The file of cases of every arm that is there and has some, by the arm's name."""
    arms = manifest.arms
    made = {
        "calibration": _calibration(manifest, arms), "injection": _injection(manifest, arms),
        "poisoning": _poisoning(manifest, arms), "repeatability": _repeatability(manifest, arms),
    }  # fmt: skip
    files = {name: "".join(f"{line}\n" for line in lines) for name, lines in made.items()}
    return {name: text.encode("utf-8") for name, text in files.items() if text}


def case_line(
    name: str,
    *,
    task_id: str,
    task: str,
    text: str,
    arm: str,
    condition: str,
    fixture: str = "",
    base: str = "",
    label: str = "",
    reference: str | None = None,
    oracle: Mapping[str, int] | None = None,
    verdict: str | None = None,
    quality: str | None = None,
    flags: tuple[str, ...] = (),
    marker: bool | None = None,
    aim: str = "",
    rewritten: bool = False,
    referred: Mapping[str, Any] | None = None,
) -> str:
    """One line of a cases.jsonl, without its end: a text to be graded under a condition. Only a treatment that is more
    than its control with one piece put in says so, and only of a reference of which something is declared `referred` is
    there, so that the cases of other manifests stay what they are."""
    shown: dict[str, Any] = {"task": task, "text": text}
    if reference is not None:
        shown["reference"] = reference
    case = {
        "id": name,
        "input": shown,
        "gold": {
            "arm": arm, "fixture": fixture, "base": base, "condition": condition,
            "oracle": None if oracle is None else dict(oracle), "verdict": verdict, "quality": quality,
            "flags": list(flags), "marker": marker, "aim": aim, **({"rewritten": True} if rewritten else {}),
            **({"reference": dict(referred)} if referred is not None else {}),
        },
        "meta": {"label": label, "arm": arm, "task": task_id, "text_digest": file_digest(text.encode("utf-8"))},
    }  # fmt: skip
    return json.dumps(case, ensure_ascii=False)


def _calibration(manifest: Manifest, arms: Arms) -> Iterator[str]:
    for name in arms.calibration:
        yield _line(manifest, name, name, "calibration", "calibration", "")


def _injection(manifest: Manifest, arms: Arms) -> Iterator[str]:
    for control in dict.fromkeys(control for control, _ in arms.pairs):
        yield _line(manifest, control, control, "injection", "control", arms.bases[control])
        for treatment in (treatment for mine, treatment in arms.pairs if mine == control):
            aim = manifest.fixtures[treatment].aim or "pass"
            yield _line(manifest, treatment, treatment, "injection", "treatment", control, aim=aim)


def _poisoning(manifest: Manifest, arms: Arms) -> Iterator[str]:
    for each in arms.poisoned:
        shown: dict[str, Reference | None] = {"blind": None, "neutral": each.neutral, "adversarial": each.adversarial}
        for condition, reference in shown.items():
            yield _line(
                manifest, f"{each.fixture}/{condition}", each.fixture, "poisoning", condition, each.fixture,
                aim=reference.aim if reference else "", reference=reference,
            )  # fmt: skip


def _repeatability(manifest: Manifest, arms: Arms) -> Iterator[str]:
    for name in arms.repeated:
        for number in range(1, arms.repeats + 1):
            yield _line(manifest, f"{name}/{number}", name, "repeatability", "repeat", name)


def _line(
    manifest: Manifest, case: str, fixture: str, arm: str, condition: str, base: str, *, aim: str | None = None,
    reference: Reference | None = None,
) -> str:  # fmt: skip
    found: FixtureText = manifest.fixtures[fixture]
    treated = condition == "treatment"
    known = manifest.fixtures[manifest.arms.earned[fixture]] if treated else found
    return case_line(
        case, task_id=found.task, task=manifest.tasks[found.task], text=found.text, arm=arm, condition=condition,
        fixture=fixture, base=base, label=found.label, reference=reference.text if reference else None,
        oracle=known.oracle, quality=known.quality,
        verdict=found.verdict or ("blocked" if found.flags else known.quality),
        flags=found.flags, marker=found.marker, aim=found.aim if aim is None else aim,
        rewritten=treated and fixture in manifest.arms.rewritten, referred=_declared(reference),
    )  # fmt: skip


def _declared(reference: Reference | None) -> dict[str, Any] | None:
    if reference is None or (reference.marker is None and not reference.flags):
        return None
    return {"marker": reference.marker, "flags": list(reference.flags)}
