"""Replies read a second, 2 KB of JSON in an OpenAI envelope, as a ratio to bare json.loads of envelope and answer.

`python bench/reading.py`. Every check is on: strict UTF-8, duplicate keys, exact numbers, candidates, spans.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

from harness.parse import ReadRules, Wire, read_reply

ROUNDS, CALLS = 7, 400


def reply() -> tuple[bytes, str]:
    proposal = {
        "type": "supersedes", "source_item_id": "M002", "target_item_id": "M001", "confidence": 0.87,
        "cited_evidence_span": "from the first of May on, the night shift signs instead", "scope_terms": ["sheet"],
        "rationale": "The second item takes the place of the first, and says from when on. " * 2,
    }  # fmt: skip
    text = json.dumps({"proposals": [proposal] * 5})
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({"id": "c", "model": "m", "choices": [choice], "usage": {"prompt_tokens": 9}}).encode(), text


def per_second(call: Callable[[], object]) -> float:
    rates: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        rates.append(CALLS / (time.perf_counter() - start))
    return statistics.median(rates)


def main() -> None:
    body, text = reply()
    wire = Wire(200, (("content-type", "application/json"),), body, True, None)

    def bare() -> object:
        return json.loads(json.loads(body)["choices"][0]["message"]["content"])

    def read(rules: ReadRules) -> Callable[[], object]:
        return lambda: read_reply(wire, protocol="openai", stream=False, ask="object", rules=rules)

    assert read_reply(wire, protocol="openai", stream=False, ask="object", rules=ReadRules.strict()).status == "parsed"
    floor = per_second(bare)
    print(f"a reply of {len(body)} bytes, its answer {len(text)} characters")
    print(f"{'bare json.loads, twice':28}{floor:12,.0f} replies/s")
    for name, rules in (("strict", ReadRules.strict()), ("default", ReadRules.default())):
        rate = per_second(read(rules))
        print(f"{'read_reply, ' + name:28}{rate:12,.0f} replies/s   {rate / floor:5.2f} of bare")


if __name__ == "__main__":
    main()
