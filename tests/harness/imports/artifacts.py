"""Files in the form of the project memory-authority-auditor, with cases of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["CASES", "FORMAT", "artifact", "cell", "fixture", "good", "proposal", "put", "reply", "sample"]

FORMAT = "memory-authority-auditor"

ALL_TYPES = ["supersedes", "narrows_scope", "contradicts", "transfers_authority"]


def _positive(name: str, kind: str, first: str, second: str, span: str, terms: list[str]) -> dict[str, Any]:
    return {
        "id": name,
        "class": kind,
        "text": f"# Glasshouse\n\n- {first}\n- {second}\n",
        "expected_relations": [{"type": kind, "source_item_id": "M002", "target_item_id": "M001",
                                "cited_evidence_span": span, "scope_terms": terms, "confidence": 0.78}],
        "expected_no_relations": [],
    }  # fmt: skip


CASES: list[dict[str, Any]] = [
    _positive(
        "seedlings", "supersedes", "Seedlings are watered by hand each morning.",
        "Watering seedlings by hand is discontinued; seedlings are now watered by the drip line.",
        "Watering seedlings by hand is discontinued", ["seedlings"],
    ),
    _positive(
        "vents", "narrows_scope", "Roof vents may be opened by anyone on shift.",
        "Roof vents may be opened in high wind only by the shift lead.",
        "Roof vents may be opened in high wind only by the shift lead", ["roof vents"],
    ),
    {
        "id": "frost history",
        "class": "topic_mention_negative",
        "text": "# Frost\n\n1. The frost log lists rules that were replaced before.\n2. Reading it changes none.\n",
        "expected_relations": [],
        "expected_no_relations": [
            {"forbidden_types": ALL_TYPES, "source_item_id": "M001", "target_item_id": "M002", "reason": "history"}
        ],
    },
    {
        "id": "orchids / 2",
        "class": "restatement_negative",
        "text": "Orchids\n\n* Orchids are fed on Fridays.\n* On Fridays orchids are fed.\n",
        "expected_relations": [],
        "expected_no_relations": [{"forbidden_types": ["supersedes"]}],
    },
]  # fmt: skip
"""Two positives and two negatives; bullets of all kinds, and numbered lines."""


def fixture(cases: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    return {"packet": "glasshouse_v0", "status": "frozen", "cases": CASES if cases is None else cases, **more}


def proposal(kind: str, span: str, terms: list[str], *, source: str = "M002", target: str = "M001") -> dict[str, Any]:
    return {
        "type": kind, "source_item_id": source, "target_item_id": target, "cited_evidence_span": span,
        "scope_terms": terms, "rationale": "it says so", "confidence": 0.9,
    }  # fmt: skip


def reply(*proposals: dict[str, Any], fence: bool = False) -> str:
    text = json.dumps({"proposals": list(proposals)}, indent=1)
    return f"```json\n{text}\n```" if fence else text


def cell(case: str, output: Any, *reasons: str, **more: Any) -> dict[str, Any]:
    return {
        "case_id": case, "class": "any", "malformed": bool(reasons), "malformed_reasons": list(reasons),
        "raw_output": output, **more,
    }  # fmt: skip


def artifact(engines: dict[str, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    return {
        "run_id": "20270101T000000Z",
        "generated_at_utc": "2027-01-01T00:00:00+00:00",
        "fixture": "tests/glasshouse_v0.json",
        "engines": [{"engine": name, "summary": {}, "cases": cases} for name, cases in engines.items()],
        **more,
    }


def put(path: Path, value: Any) -> Path:
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return path


def good(case: dict[str, Any], *, fence: bool = False) -> str:
    """A reply that proposes what the key expects, and nothing else."""
    expected = case["expected_relations"]
    proposals = [proposal(each["type"], each["cited_evidence_span"], each["scope_terms"]) for each in expected]
    return reply(*proposals, fence=fence)


def sample() -> dict[str, Any]:
    """Two engines: one out of credit but for one fenced reply, one whose client wrote control bytes into its texts."""
    broke = "ProposerError: call failed: http 400: Your credit balance is too low for this request."
    return artifact({
        "paid one": [
            cell("seedlings", "", broke),
            cell("vents", "", broke),
            cell("frost history", good(CASES[2], fence=True), "proposer returned non-json output"),
            cell("orchids / 2", "", broke),
        ],
        "local_small": [
            cell("seedlings", good(CASES[0])),
            cell("vents", reply(proposal("supersedes", "only by the shift lead", ["roof vents"]))),
            cell("frost history", "\x1b[2K\x1b[1G" + reply(), "proposer returned non-json output"),
            cell("orchids / 2", reply(proposal("supersedes", "On Fridays orchids are fed.", ["orchids"]))),
        ],
    })  # fmt: skip
