"""A fuzz of the reader: mutated cases and replies for minutes on end, and nothing comes out but a status.

`FUZZ_SECONDS=600 python -m pytest -m long tests/harness/parse/test_fuzz.py -s` prints the count.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter

import pytest

from harness._outcomes import is_flag, is_reason
from harness.parse import Reading, Wire, read_reply, read_text
from tests.harness.parse.test_cases import CASES, bytes_of
from tests.harness.parse.test_properties import ASKS, PIECES, PROTOCOLS, STOPS, SWITCHES, ReadRules
from tests.harness.servers import anthropic_answer, ollama_answer, openai_answer

SECONDS = float(os.environ.get("FUZZ_SECONDS", "600"))
ENVELOPES = {"openai": openai_answer, "anthropic": anthropic_answer, "ollama": ollama_answer}


def mutated(data: bytes, dice: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(dice.randint(0, 6)):
        at = dice.randint(0, len(found))
        match dice.randint(0, 5):
            case 0:
                found[at : at + dice.randint(1, 8)] = b""
            case 1:
                found[at:at] = dice.choice(PIECES).encode("utf-8", "surrogatepass")
            case 2:
                found[at:at] = dice.randbytes(dice.randint(1, 4))
            case 3:
                end = min(len(found), at + dice.randint(1, 40))
                found[at:at] = found[at:end]
            case 4:
                del found[at:]
            case _:
                if at < len(found):
                    found[at] ^= 1 << dice.randint(0, 7)
    return bytes(found)


def rules(dice: random.Random) -> ReadRules:
    on = {name: True for name in SWITCHES if dice.random() < 0.5}
    return ReadRules.from_table({**on, "terminal": dice.choice(["refuse", "refuse", "refuse", "render"])})


def reply(seed: bytes, dice: random.Random) -> Reading:
    protocol = dice.choice(PROTOCOLS)
    body = json.dumps(ENVELOPES[protocol](seed.decode("utf-8", "replace"))).encode()
    headers = (("content-type", "application/json"), ("content-encoding", dice.choice(["identity", "gzip", "br"])))
    fault = dice.choice([None, None, None, ("reply", "short_body"), ("transport", "timeout")])
    wire = Wire(dice.choice([200, 200, 200, 400, 429, 503]), headers, mutated(body, dice), fault is None, fault)
    return read_reply(wire, protocol=protocol, stream=dice.random() < 0.3, ask=dice.choice(ASKS), rules=rules(dice))


def check(found: Reading) -> None:
    assert is_reason(found.status, found.reason), (found.status, found.reason)
    assert all(is_flag(flag) for flag in found.flags), found.flags
    if found.status == "parsed":
        assert found.value is not None
        json.loads(found.value)


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 120)
def test_minutes_of_mutated_replies_end_in_a_status_each() -> None:
    seed = random.SystemRandom().getrandbits(32)
    dice = random.Random(seed)
    counted: Counter[str] = Counter()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        case = bytes_of(dice.choice(CASES))
        if dice.random() < 0.3:
            found = reply(case, dice)
        else:
            found = read_text(mutated(case, dice), ask=dice.choice(ASKS), stop=dice.choice(STOPS), rules=rules(dice))
        check(found)
        counted[found.status] += 1
    print(f"seed {seed}: {counted.total()} inputs, {dict(counted.most_common())}")
    assert counted["parsed"] > 0
    assert len(counted) >= 6
