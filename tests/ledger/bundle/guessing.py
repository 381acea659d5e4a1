"""An attacker who holds a zip and knows everything but the golds, which have four letters out of six."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from itertools import product

from blake3 import blake3

from tests.ledger.bundle.bundled import ALPHABET, GOLDS, PROMPTS

__all__ = ["ATTACKS", "guessed"]

GUESSES = ["".join(letters) for letters in product(ALPHABET, repeat=4)]
# Where a guess is tried with every key or salt there is, one in eight will do, and the right ones.
FEWER = sorted({*GUESSES[::8], *GOLDS})
_WORD = re.compile(rb"(?<![A-Za-z0-9+/])[jkqvxz]{4}(?![A-Za-z0-9+/=])")
_HEX = re.compile(rb"[0-9a-f]{8,}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{43}=")
# A body of `parse` as this release writes it: everything in it but the value can be known.
_PARSED = (
    '{{"domain":"","flags":[],"model":"scripted-1","reason":"","rules":"{rules}","schema":2,"served":{{"model":["scripted-1"]}},"span":[[0,4]],"stage":"",'
    '"status":"parsed","stop":"stop","usage":{{"completion_tokens":5,"prompt_tokens":7,"total_tokens":12}},'
    '"value":"\\"{guess}\\""}}'
)


def _digests(data: bytes) -> set[bytes]:
    found = {bytes.fromhex(each.decode()) for each in _HEX.findall(data) if len(each) == 64}
    return found | {base64.b64decode(each) for each in _BASE64.findall(data)}


def _salts(data: bytes) -> set[bytes]:
    return {bytes.fromhex(each.decode()) for each in _HEX.findall(data) if len(each) == 32}


def _starts(data: bytes) -> set[bytes]:
    """The first 8 digits of every run of hex digits: labels carry starts of digests."""
    return {each[:8] for each in _HEX.findall(data)}


def _spelled(guess: str) -> tuple[bytes, ...]:
    """The gold as it stands, as JSON, and as identity digests have it."""
    return tuple(each.encode() for each in (guess, f'"{guess}"', f'"s:{guess}"'))


def _text(data: bytes) -> Iterator[str]:
    yield from (word.decode() for word in _WORD.findall(data))


def _plain(data: bytes) -> Iterator[str]:
    digests = _digests(data)
    for guess in GUESSES:
        for text in _spelled(guess):
            if {blake3(text).digest(), hashlib.sha256(text).digest()} & digests:
                yield guess


def _keyed(data: bytes) -> Iterator[str]:
    """Every digest in the zip is tried as a key: genesis's is one, where it is shown."""
    digests = _digests(data)
    for key in digests:
        for guess in FEWER:
            if blake3(_spelled(guess)[2], key=key).digest() in digests:
                yield guess


def _salted(data: bytes) -> Iterator[str]:
    """Every salt in the zip, with the gold alone and with the body that would hold it."""
    digests = _digests(data)
    rules = re.findall(rb"exact@[0-9a-f]{12}", data)[0].decode()
    for salt in _salts(data):
        for guess in FEWER:
            for text in (guess.encode(), _PARSED.format(rules=rules, guess=guess).encode()):
                if blake3(salt + text).digest() in digests:
                    yield guess


def _file(data: bytes) -> Iterator[str]:
    """The whole file of cases is known but for one gold: its plain digest would give that one away."""
    starts = _starts(data)
    for wanted, gold in enumerate(GOLDS):
        cases = [
            {"id": f"gate-{at + 1:02d}", "input": text, "gold": "????" if at == wanted else each, "meta": {}}
            for at, (text, each) in enumerate(zip(PROMPTS, GOLDS, strict=True))
        ]
        before, after = "".join(json.dumps(case) + "\n" for case in cases).encode().split(b"????")
        for guess in {gold, *GUESSES[::40]}:
            if blake3(before + guess.encode() + after).hexdigest()[:8].encode() in starts:
                yield guess


ATTACKS = {"text": _text, "plain": _plain, "keyed": _keyed, "salted": _salted, "file": _file}
"""By name: what is tried with everything that the zip holds."""


def guessed(attack: str, data: bytes) -> set[str]:
    """The guesses that the attack takes for golds."""
    return set(ATTACKS[attack](data))
