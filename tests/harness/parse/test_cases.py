"""Every line of cases.jsonl reads as it says: name, text or bytes_b64, ask, stop, rules (a name or a table),
expected.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from harness._outcomes import is_flag, reason
from harness.parse import Reading, ReadRules, read_text

CASES = [json.loads(line) for line in (Path(__file__).with_name("cases.jsonl")).read_text("utf-8").splitlines()]
NAMED = {"default": ReadRules.default(), "strict": ReadRules.strict()}


def rules_of(case: dict[str, Any]) -> ReadRules:
    """The rules a case names; the built-in ones without."""
    rules = case.get("rules", "default")
    return NAMED[rules] if isinstance(rules, str) else ReadRules.from_table(rules)


def bytes_of(case: dict[str, Any]) -> bytes:
    """The bytes a case is about."""
    return base64.b64decode(case["bytes_b64"]) if "bytes_b64" in case else case["text"].encode()


def read(case: dict[str, Any]) -> Reading:
    """The reading of a case."""
    return read_text(bytes_of(case), ask=case["ask"], stop=case["stop"], rules=rules_of(case))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_case_reads_as_it_says(case: dict[str, Any]) -> None:
    expected, found = case["expected"], read(case)
    assert (found.status, found.reason) == (expected["status"], expected.get("reason", ""))
    known = reason(found.status, found.reason)
    assert (found.stage, found.domain) == (known.stage, known.domain)
    assert all(is_flag(flag) for flag in found.flags)
    if "value" in expected:
        assert found.value is not None
        # Compared as text too: 1 and 1.0, or 0 and false, are equal only to Python.
        assert json.dumps(json.loads(found.value)) == json.dumps(expected["value"])
    elif found.status != "parsed":
        assert found.value is None
    if "flags" in expected:
        assert list(found.flags) == expected["flags"]
    if "span" in expected:
        assert [list(pair) for pair in found.span] == expected["span"]


def test_the_cases_are_many_and_their_names_are_told_apart() -> None:
    assert len({case["name"] for case in CASES}) == len(CASES) >= 150
