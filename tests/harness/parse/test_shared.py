"""Other people's reduced faults, where they lie beside the repository; inputs like these are kept back elsewhere.

Where a line marks a choice as ours to make and ours is another, its id stands in DIFFERENT_CHOICES; so far none does.
"""

import base64
import json
from pathlib import Path
from typing import Any

from harness.parse import Reading, ReadRules, read_fault, read_reply
from harness.parse._lines import read_lines
from tests.harness.parse.wires import from_line

DIFFERENT_CHOICES: frozenset[str] = frozenset()


def of_kind(shared: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of one kind."""
    lines = (shared / "cases" / "outputs.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines if line.strip()]
    return [line for line in found if line["kind"] == kind and line["id"] not in DIFFERENT_CHOICES]


def check(line: dict[str, Any], got: dict[str, Any]) -> None:
    """Hold a result against what its line expects."""
    expected = line["expected"]
    assert got["status"] == expected["status"], line["id"]
    for key in ("reason", "retry", "value"):
        if key in expected:
            assert json.dumps(got[key]) == json.dumps(expected[key]), (line["id"], key)
    assert set(expected.get("flags", [])) <= set(got["flags"]), line["id"]


def test_the_texts_read_as_expected(shared: Path) -> None:
    lines = of_kind(shared, "A")
    fields = ("id", "text", "bytes_b64", "ask", "stop")
    rows = [json.dumps({key: line[key] for key in fields if key in line}).encode() for line in lines]
    answers = [json.loads(answer) for answer in read_lines(rows, ReadRules.default())]
    assert len(answers) == len(lines) > 50
    for line, got in zip(lines, answers, strict=True):
        check(line, got)


def read_line(line: dict[str, Any]) -> Reading:
    """The reading of a B line."""
    wire = from_line(line)
    if isinstance(wire, tuple):
        return read_fault(*wire)
    return read_reply(
        wire, protocol=line["provider"], stream=line["stream"], ask="text", rules=ReadRules.default()
    )  # fmt: skip


def test_the_replies_read_as_expected(shared: Path) -> None:
    lines = of_kind(shared, "B")
    assert len(lines) > 50
    for line in lines:
        found = read_line(line)
        value = None if found.value is None else json.loads(found.value)
        check(
            line,
            {
                "status": found.status,
                "reason": found.reason,
                "retry": found.retry,
                "value": value,
                "flags": found.flags,
            },
        )


def test_every_cut_of_every_reply_is_read_without_an_answer_that_was_not_sent(shared: Path) -> None:
    for line in of_kind(shared, "B"):
        if "bytes_b64" not in line:
            continue
        whole = read_line(line)
        raw = base64.b64decode(line["bytes_b64"])
        body = raw.index(b"\r\n\r\n") + 4
        for end in range(body, len(raw), 7):
            cut = read_line({**line, "bytes_b64": base64.b64encode(raw[:end]).decode()})
            if cut.status == "parsed":
                assert cut.value == whole.value, line["id"]
