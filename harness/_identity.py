"""What makes two experiments the same one.

A digest stands for a JSON value as an experiment sees it: key order and white space make no difference, while 1 and
1.0, or the composed and the decomposed form of a letter, do. It is keyed with the ledger's identity key, so that a
digest that is shown can't be guessed backwards from a list of likely values.

    digest(value) = BLAKE3-keyed(identity key, RFC 8785 form of tagged(value))
    tagged: every number token becomes the string "n:" + its text in the source, every string (keys excepted) "s:" +
            itself; null, true and false stay. Duplicate keys are refused.

RFC 8785 is the JSON Canonicalization Scheme. Files are different: they carry the plain BLAKE3 of their bytes, so that
two teams can see that they used the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import rfc8785
from blake3 import blake3

from harness._errors import IdentityError
from harness._json import JSONError, guarded, refuse_constant, unique

__all__ = [
    "CANDIDATE_VERSION",
    "IDENTITY_VERSION",
    "MAX_DEPTH",
    "candidate_digest",
    "digest",
    "file_digest",
    "identity",
    "tagged_form",
    "tools_digest",
    "twins",
    "value_digest",
]

IDENTITY_VERSION = 1
CANDIDATE_VERSION = 1
_TOOLS = ("tools", "functions")
MAX_DEPTH = 64
"""Objects and arrays inside one another; the limit that event bodies have."""


class _Number(str):
    """The source text of a number token, told apart from a string that happens to look like one."""

    __slots__ = ()


_TAGGING = json.JSONDecoder(
    object_pairs_hook=unique, parse_int=_Number, parse_float=_Number, parse_constant=refuse_constant
)


def tagged_form(value_text: str) -> bytes:
    """The RFC 8785 form of a JSON text's value with its numbers and strings tagged: what a digest is taken over.

    Raises `IdentityError` when the text isn't one JSON value, when an object holds a key twice, when a string holds a
    lone surrogate (it has no UTF-8), and when it nests deeper than `MAX_DEPTH`.
    """
    try:
        return rfc8785.dumps(_tag(guarded(_TAGGING, value_text), 0))
    except JSONError as error:
        raise IdentityError(f"expected one JSON value to take a digest of, got text that isn't: {error}") from None
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        raise IdentityError(
            "a string holds a lone surrogate (half of a \\ud83d\\ude00 pair); write the whole pair"
        ) from None


def _tag(value: Any, depth: int) -> Any:
    if isinstance(value, _Number):
        return "n:" + str(value)
    if isinstance(value, str):
        return "s:" + value
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        raise IdentityError(f"expected at most {MAX_DEPTH} objects and arrays inside one another, got more")
    if isinstance(value, dict):
        return {key: _tag(item, depth + 1) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_tag(item, depth + 1) for item in cast("list[Any]", value)]
    return value


def digest(value_text: str, key: bytes) -> str:
    """The identity digest of a JSON text, as 64 lower-case hex digits.

    `key` is the ledger's identity key, 32 bytes. Raises `IdentityError` as `tagged_form` does, and for another key.
    """
    return _keyed(tagged_form(value_text), key)


def tools_digest(body: bytes, key: Callable[[], bytes]) -> str | None:
    """The digest of the list of tools that a request's body carries; None where it carries none.

    That is `tools`, or `functions` as requests of old have it. `key` is asked for only where there is a list. None also
    where the body can't be read: then what it carried isn't known.
    """
    if not any(f'"{name}"'.encode() in body for name in _TOOLS):
        return None
    try:
        found = guarded(_TAGGING, body.decode("utf-8"))
        given = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        listed = next((given[name] for name in _TOOLS if given.get(name)), None)
        return None if listed is None else _keyed(rfc8785.dumps(_tag(listed, 0)), key())
    except (JSONError, IdentityError, UnicodeError, rfc8785.CanonicalizationError):
        return None


def _keyed(tagged: bytes, key: bytes) -> str:
    if len(key) != 32:
        raise IdentityError(f"expected an identity key of 32 bytes, got {len(key)}")
    return blake3(tagged, key=key).hexdigest()


def value_digest(value: Any, key: bytes) -> str:
    """The digest of a Python value, by way of the JSON text that a request would carry (so 1 and 1.0 differ here too).

    Raises `IdentityError` for what JSON can't hold.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise IdentityError(f"expected a value that JSON can hold, got one it can't: {error}") from None
    return digest(text, key)


def file_digest(data: bytes) -> str:
    """The plain BLAKE3 of a file's bytes, as 64 lower-case hex digits."""
    return blake3(data).hexdigest()


def twins(input_digests: Iterable[str]) -> tuple[int, ...]:
    """For each case of a plan, in file order, how many cases before it have the same input digest."""
    seen: dict[str, int] = {}
    numbers: list[int] = []
    for found in input_digests:
        numbers.append(seen.get(found, 0))
        seen[found] = numbers[-1] + 1
    return tuple(numbers)


def candidate_digest(
    *, protocol: str, model: str, parameters: Mapping[str, Any], prompt: str, turns: str, key: bytes
) -> str:
    """The digest of everything that decides a request beside its case.

    `parameters` is what goes into the request beside model and messages; `prompt` is the template's whole text;
    `turns` names the logic that makes messages of template and input. The address is not part of it.
    """
    return value_digest(
        {
            "candidate": CANDIDATE_VERSION,
            "protocol": protocol,
            "model": model,
            "parameters": dict(parameters),
            "prompt": prompt,
            "turns": turns,
        },
        key,
    )


def identity(*, suite: str, input_digest: str, candidate: str, arm: str, epoch: int, twin: int, key: bytes) -> str:
    """The digest that a measurement is known by: a response may be used again only where this is the same.

    `input_digest` and `candidate` are digests themselves. No label (file name, case id, run name) goes in.
    """
    # The tagged form, written down at once: a plan takes one of these for every cell.
    tagged = {
        "identity": f"n:{IDENTITY_VERSION}",
        "suite": f"s:{suite}",
        "input": f"s:{input_digest}",
        "candidate": f"s:{candidate}",
        "arm": f"s:{arm}",
        "epoch": f"n:{epoch}",
        "twin": f"n:{twin}",
    }
    try:
        return _keyed(rfc8785.dumps(tagged), key)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        raise IdentityError("a string holds a lone surrogate; write the whole pair") from None
