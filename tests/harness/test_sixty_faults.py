"""One run of sixty cells, each dealt another fault: every one is named, none is scored, none leaves the denominator."""

from __future__ import annotations

import base64
import json
import shutil
from collections import Counter
from pathlib import Path

from tests.harness.servers import (
    CLOSE,
    RESET,
    Pause,
    Reply,
    ScriptedServer,
    chunked_reply,
    cut_reply,
    gzip_reply,
    head,
    json_reply,
    openai_answer,
    reply,
    trickle,
)  # fmt: skip
from tests.harness.test_run import ROOT, harness, rows

Fault = tuple[Reply, str, str, str]


def says(text: str, finish: str = "stop") -> Reply:
    return json_reply(openai_answer(text, finish))


def message(**fields: object) -> Reply:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **fields}}
    return json_reply({"id": "c", "model": "m", "choices": [choice]})


def failing(status: int, error: object, **headers: str) -> Reply:
    return json_reply({"error": error}, status, headers=list(headers.items()))


WHOLE = json.dumps(openai_answer('{"proposals": []}')).encode()
GZIPPED = gzip_reply(WHOLE)[0]
assert isinstance(GZIPPED, bytes)
CUT_GZIP = reply(GZIPPED.partition(b"\r\n\r\n")[2][:-12], headers=[("Content-Encoding", "gzip")])
NOT_GZIP = reply(b"no gzip at all", headers=[("Content-Encoding", "gzip")])

FAULTS: list[Fault] = [
    # What the model wrote.
    (says("I have nothing to propose."), "parse", "no_json", "model"),
    (says('{"proposals": ['), "parse", "unterminated", "model"),
    (says('```json\n{"proposals": []}\n```'), "parse", "fenced", "model"),
    (says('{"proposals": [],}'), "parse", "trailing_comma", "model"),
    (says('{"proposals": [] // none\n}'), "parse", "comment", "model"),
    (says('Here: {"proposals": []}'), "parse", "text_around", "model"),
    (says("{'proposals': []}"), "parse", "single_quotes", "model"),
    (says("{\u201cproposals\u201d: []}"), "parse", "smart_quotes", "model"),
    (says('{"proposals": None}'), "parse", "python_literal", "model"),
    (says('{"proposals": [], "why": "a\nb"}'), "parse", "raw_control_char", "model"),
    (says('{"proposals": [], "why": "\\q"}'), "parse", "bad_escape", "model"),
    (says('{"proposals": [], "proposals": []}'), "parse", "duplicate_key", "model"),
    (says('{"proposals": NaN}'), "parse", "nonfinite", "model"),
    (says('{"proposals": ' + "[" * 2000), "parse", "too_deep", "model"),
    (says('{"proposals": [], "n": ' + "9" * 5000 + "}"), "parse", "number_too_long", "model"),
    (says('{"proposals": [], "why": "\\ud800"}'), "parse", "lone_surrogate", "model"),
    (says('{"proposals": [...]}'), "parse", "placeholder", "model"),
    (says('\x1b[2K{"proposals": [}'), "parse", "terminal_control_bytes", "harness"),
    (says('"none"'), "parse", "string_not_object", "model"),
    (says("7"), "parse", "number_not_object", "model"),
    (says("true"), "parse", "boolean_not_object", "model"),
    (says("null"), "parse", "null_not_object", "model"),
    (says('{"name": "f", "arguments": "{}"}'), "parse", "tool_call_like", "model"),
    (says('{"findings": []}'), "parse", "missing_proposals", "model"),
    (says('{"proposals": {}}'), "parse", "proposals_not_list", "model"),
    (says('{"proposals": [', "length"), "parse", "stop_length", "model"),
    (says(""), "parse", "empty_content", "model"),
    (says(" \n\t "), "parse", "only_space", "model"),
    (message(content=None), "parse", "null_content", "model"),
    (message(content=None, refusal="No."), "parse", "refusal_field", "model"),
    (says("", "content_filter"), "parse", "content_filter", "provider"),
    (message(content="", reasoning_content="hm"), "parse", "reasoning_only", "model"),
    (message(content=None, tool_calls=[{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]),
     "parse", "tool_call", "model"),
    (json_reply({"id": "c", "choices": [openai_answer(x)["choices"][0] for x in "ab"]}),  # type: ignore[index]
     "parse", "many_choices", "provider"),
    # What the provider's interface said.
    (failing(403, {"message": "no"}), "api", "forbidden", "provider"),
    (failing(400, {"message": "temperature must be a number"}), "api", "bad_request", "harness"),
    (failing(400, {"message": "too long", "code": "context_length_exceeded"}), "api", "context_length", "harness"),
    (failing(404, {"message": "The model m does not exist", "code": "model_not_found"}), "api", "model_missing",
     "provider"),
    (failing(413, {"message": "too big"}), "api", "too_large", "harness"),
    (failing(429, {"message": "slow down", "type": "rate_limit_error"}), "api", "rate_limit", "provider"),
    (failing(529, {"message": "busy"}), "api", "overloaded", "provider"),
    (failing(500, {"message": "oops"}), "api", "http_500", "provider"),
    (reply(b"<html>bad gateway</html>", 502, "text/html"), "api", "http_502", "provider"),
    (failing(503, {"message": "down"}), "api", "http_503", "provider"),
    (json_reply({"error": {"message": "upstream", "code": 429}}), "api", "error_in_200", "provider"),
    (json_reply({"id": "c", "choices": []}), "api", "no_choices", "provider"),
    (json_reply(openai_answer('{"proposals": []}', None)), "api", "no_stop_reason", "provider"),  # type: ignore[arg-type]
    (says('{"proposals": []}', "mystery"), "api", "unknown_stop_reason", "provider"),
    ([head(307, [("Location", "http://127.0.0.1:9/elsewhere"), ("Content-Length", "0")])], "api", "redirect",
     "provider"),
    # What came over the wire.
    (reply(b"<html>sign in</html>", content_type="text/html"), "reply", "not_json", "provider"),
    (reply(b""), "reply", "empty_body", "provider"),
    (reply(WHOLE[:-1] + b',"model":"n"}'), "reply", "duplicate_key", "provider"),
    (reply(WHOLE.replace(b"proposals", b"proposal\xe9")), "reply", "invalid_utf8", "provider"),
    (CUT_GZIP, "reply", "decode_cut", "provider"),
    (NOT_GZIP, "reply", "decode_failed", "provider"),
    (cut_reply(WHOLE[:40], len(WHOLE), CLOSE), "reply", "short_body", "provider"),
    (chunked_reply(WHOLE[:40], end=False, content_type="application/json"), "reply", "stream_cut", "provider"),
    (cut_reply(WHOLE[:40], len(WHOLE), RESET), "transport", "connection_reset", "provider"),
    ([Pause(0.02), b"220 this is not HTTP\r\n\r\n", CLOSE], "transport", "protocol", "provider"),
    (trickle(0.1), "transport", "timeout", "provider"),
]  # fmt: skip


def sixty_cases(folder: Path) -> Path:
    shutil.copytree(ROOT / "fixtures/authority", folder / "authority")
    for fixture in ("v0", "v1"):
        shutil.rmtree(folder / "authority" / fixture)
    lines = [
        json.dumps(
            {
                "id": f"case-{n}",
                "input": {"text": f"# Rule {n}\n\n- Door {n} is locked at six.\n- Door {n} is now locked at nine.\n"},
                "gold": {"expected": [{"type": "supersedes", "source": "M002", "target": "M001"}], "forbidden": []},
            }
        )
        for n in range(len(FAULTS))
    ]
    (folder / "authority" / "sixty").mkdir()
    (folder / "authority" / "sixty" / "cases.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return folder / "authority"


def test_sixty_faults_are_sixty_names_and_no_score(tmp_path: Path) -> None:
    assert len(FAULTS) == 60
    assert len({(stage, reason) for _, stage, reason, _ in FAULTS}) == 60
    suite, db = sixty_cases(tmp_path), tmp_path / "ledger.db"
    with ScriptedServer(*(fault for fault, *_ in FAULTS)) as server:
        done = harness(
            "run", f"{suite}/sixty", "--engine", "openai/m", "--base-url", f"{server.url}/v1", "--rules", "strict-cite",
            "--max-connections", "1", "--max-retries", "0", "--timeout", "2", "--db", str(db), expect=3,
        )  # fmt: skip
    report = harness("report", done["run"], "--db", str(db))
    assert len(server.requests) == 60
    got = Counter({(row["stage"], row["reason"], row["domain"]): row["count"] for row in report["unmeasured"]})
    assert got == Counter((stage, reason, domain) for _, stage, reason, domain in FAULTS)
    for row in report["scoreboard"]:
        if row["metric"] in ("exact", "direction"):
            assert (row["k"], row["n"], row["planned"], row["rate"]) == (0, 0, 60, None)
            assert (row["worst"], row["best"]) == (0.0, 1.0)
    stored = rows(db, "SELECT data FROM blobs JOIN events USING (seq) WHERE kind = 'response' AND data IS NOT NULL")
    assert len(stored) == 59
    assert base64.b64encode(WHOLE[:40]) in {base64.b64encode(row["data"]) for row in stored}
