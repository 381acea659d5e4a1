"""The [judge] table of a rule set under which a judge's grades stand in the run that it graded: whose they are.

    suite       the suite of judging
    rules       the label of the rule set that the judge's replies were read and scored under
    candidate   the judge, by its label in its own run
    digest      the keyed digest of that candidate
    models      what its server called the model that answered, sorted
    reference   "gold" where the judge was shown what the cases' golds say (`--reference-gold`); left out for a judge
                that graded blind
    run         the judge's run, where every grade has its own cell

`harness grade` writes it behind the whole rule file, and freezes the two as one: another judge, another wording of the
rubric, another run are then another rule set, with figures of its own beside the others'.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

__all__ = ["GOLD", "judged_file", "judged_name", "read_judge", "without_run"]

_TEXTS = ("suite", "rules", "candidate", "digest", "run")
GOLD = "gold"
"""The only reference that a judge of answers can be shown."""
_MOST_NAME = 64
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.-]+")


def judged_name(suite: str, candidate: str, rules: str = "") -> str:
    """What such a rule set is called: SUITE.JUDGE, and .RULES where the judge is read under several."""
    parts = (_NOT_IN_NAMES.sub("-", each.lower()).strip("-.") for each in (suite, candidate, rules) if each)
    return ".".join(parts)[:_MOST_NAME].rstrip("-.")


def judged_file(rules: bytes, judge: Mapping[str, str | Sequence[str]]) -> bytes:
    """A whole rule file with the [judge] table behind it."""
    shown = ["reference"] if judge.get("reference") else []
    names = ["suite", "rules", "candidate", "digest", "models", *shown, "run"]
    lines = [f"{name} = {_toml(judge[name])}" for name in names]
    return rules + (b"" if rules.endswith(b"\n") else b"\n") + "\n".join(["\n[judge]", *lines, ""]).encode()


def without_run(file: bytes) -> bytes | None:
    """A rule file with a [judge] table as it is for any run of that judge; None for a file without one."""
    rules, found, _ = file.rpartition(b"\n[judge]\n")
    if not found:
        return None
    try:
        judge = read_judge(tomllib.loads(file.decode("utf-8"))["judge"])
    except (ValueError, KeyError):
        return None
    return judged_file(rules, {**judge, "run": ""})


def _toml(value: str | Sequence[str]) -> str:
    """A text, or a list of them, as TOML 1.0 writes it: JSON's escapes, but for what lies beyond the first plane."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(_toml, value))}]"


def read_judge(table: Any) -> Mapping[str, Any]:
    """The table, checked. Raises ValueError with one sentence."""
    if not isinstance(table, dict):
        raise ValueError("[judge]: expected a table")
    found = cast("dict[str, Any]", table)
    if set(found) - {"reference"} != {*_TEXTS, "models"}:
        raise ValueError(f"[judge]: expected {', '.join(_TEXTS)} and models, got {', '.join(sorted(found))!a}")
    for name in _TEXTS:
        if not isinstance(found[name], str):
            raise ValueError(f"[judge] {name}: expected text, got {found[name]!a}")
    if found.get("reference", GOLD) != GOLD:
        raise ValueError(f"[judge] reference: expected {GOLD!a}, or nothing, got {found['reference']!a}")
    models = found["models"]
    if not isinstance(models, list) or not all(isinstance(each, str) for each in cast("list[Any]", models)):
        raise ValueError(f"[judge] models: expected a list of texts, got {models!a}")
    return MappingProxyType({**found, "models": tuple(cast("list[str]", models))})
