"""The rubric of a manifest: what the judge is shown of criteria, flags, policy and reply, and its digest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import rfc8785
from blake3 import blake3

from harness._errors import SuiteError
from harness.judging import LATEST, Rubric, Threshold
from harness.judging import read_rubric as read_tables
from harness.judging._read_rubric import COMMENTS
from harness.rubrics._table import Table, got

__all__ = ["policy_table", "read_rubric", "rubric_table"]

RUBRIC_VERSION = 1
_OF_THE_TEMPLATE = ("{{", "{%", "{#", "[[")
_TURN = re.compile(r"^===[ \t]*(?:system|user|assistant|messages)[ \t]*===[ \t]*$", re.IGNORECASE | re.MULTILINE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_NO_DIGEST = "0" * 64


def read_rubric(manifest: Table) -> Rubric:
    """The rubric that a manifest has, with its digest. Raises SuiteError with one sentence."""
    criteria, flags = manifest.tables("criteria"), manifest.tables("flags")
    ids = {each.values.get("id") for each in criteria if isinstance(each.values.get("id"), str)}
    if "policy" not in manifest.values:
        raise manifest.fault("policy", "expected threshold or all_at_least in a table [policy], got none")
    reply = dict(manifest.table("reply").values)
    reply.setdefault("comments", [each for each in COMMENTS if each not in ids])
    for each in criteria:
        if isinstance(each.values.get("weight"), str):
            # A rule file holds it as text; a person writes a number.
            raise each.fault(
                "weight", f"expected a number such as 2 or 0.25, got the text {got(each.values['weight'])}"
            )
    table = {
        "rubric": _NO_DIGEST, "version": LATEST, "criteria": [_exact(each.values) for each in criteria],
        "flags": [each.values for each in flags], "policy": _exact(manifest.table("policy").values), "reply": reply,
    }  # fmt: skip
    try:
        rubric = read_tables(table)
    except ValueError as error:
        raise SuiteError(f"{manifest.file}: {error}") from None
    for each in criteria:
        _shown(each, "name", line=True)
        _shown(each, "description")
    for each in flags:
        _shown(each, "description")
        if each.values["id"] in ids:
            raise each.fault("id", f"{each.values['id']!a} is a criterion too; give the flag another id")
    for word in (*rubric.reply.passes, *rubric.reply.fails):
        _plain(manifest.table("reply"), "verdicts", word)
    for key in rubric.reply.comments:
        _plain(manifest.table("reply"), "comments", key)
        if key in ids:
            raise manifest.table("reply").fault("comments", f"{key!a} is a criterion, so it is no comment")
    return replace(rubric, digest=_digest(rubric))


def _exact(values: Mapping[str, Any]) -> dict[str, Any]:
    """A table with its decimal numbers as they were written: of a float, the shortest form that reads as it."""
    return {key: Decimal(repr(value)) if isinstance(value, float) else value for key, value in values.items()}


def _shown(table: Table, key: str, *, line: bool = False) -> None:
    """Refuses a text of the prompt in which something could be taken for a part of the template."""
    text = table.values.get(key, "")
    for each in _OF_THE_TEMPLATE:
        if each in text:
            raise table.fault(key, f"holds {each}, which belongs to the prompt's template; write it otherwise")
    if _TURN.search(text):
        raise table.fault(key, "holds a line that would open a turn of the prompt (=== user ===); write it otherwise")
    if found := _CONTROL.search(text):
        raise table.fault(key, f"holds the control character U+{ord(found[0]):04X}; take it out")
    if line and "\n" in text.strip():
        raise table.fault(key, "expected one line, got several")


def _plain(table: Table, key: str, word: str) -> None:
    if any(each in word for each in _OF_THE_TEMPLATE) or _CONTROL.search(word) or "\n" in word or not word.strip():
        raise table.fault(key, f"expected plain words, got {got(word)}")


def rubric_table(rubric: Rubric) -> dict[str, Any]:
    """The rubric as the [score] table of a rule file holds it. A weight is its text."""
    return {
        "rubric": rubric.digest,
        "version": rubric.version,
        "policy": policy_table(rubric),
        "reply": {**_reply_shown(rubric), "whole": rubric.reply.whole},
        "criteria": [
            {"id": each.id, "name": each.name.strip(), "weight": each.weight_text, "min": each.least, "max": each.most,
             "description": each.description.strip()} for each in rubric.criteria
        ],
        "flags": [{"id": each.id, "description": each.description.strip()} for each in rubric.flags],
    }  # fmt: skip


def _reply_shown(rubric: Rubric) -> dict[str, Any]:
    return {
        "total": rubric.reply.total, "comments": list(rubric.reply.comments),
        "verdicts": {"pass": list(rubric.reply.passes), "fail": list(rubric.reply.fails)},
    }  # fmt: skip


def policy_table(rubric: Rubric) -> dict[str, Any]:
    """The policy as a rule file holds it; a share is its text."""
    if isinstance(rubric.policy, Threshold):
        return {"threshold": rubric.policy.text}
    return {"all_at_least": dict(rubric.policy.least)}


def _digest(rubric: Rubric) -> str:
    """BLAKE3 (64 lower-case hex digits) over the RFC 8785 form of all that the judge is shown of the rubric."""
    # How a reply is read and what follows from it is no part of what the judge is shown.
    shown = {key: value for key, value in rubric_table(rubric).items() if key not in ("rubric", "version")}
    shown["reply"] = _reply_shown(rubric)
    return blake3(rfc8785.dumps(cast("Any", {"version": RUBRIC_VERSION, **shown}))).hexdigest()
