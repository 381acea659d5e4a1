"""The one taxonomy of ways in which a reply can fail to be an answer.

Every reading ends in a status; every status but `parsed` carries a reason, and a reason always has the same stage
(where it stopped), fault domain (whose fault it is), retry advice and sentence. Nothing else in the project may invent
a name: a suite's own shape check declares its reasons in its registry entry and hands them to :func:`reason` as `own`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

__all__ = [
    "FLAGS", "PATTERNS", "REASONS", "Advice", "Domain", "Reason", "Stage", "Status",
    "flag_sentence", "is_flag", "is_reason", "reason",
]  # fmt: skip

Status = Literal[
    "parsed", "malformed", "wrong_shape", "ambiguous", "truncated", "refused", "empty", "incomplete", "error",
    "not_asked", "fate_unknown",
]  # fmt: skip
Stage = Literal["", "harness", "transport", "reply", "api", "parse", "confirm", "score"]
Domain = Literal["", "harness", "provider", "model"]
Advice = Literal["never", "backoff", "after", "give_up"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One named way to fail: `stage` says where it stopped, `domain` whose fault it is, `retry` whether asking again
    may help.

    `retry` is the reason's own advice; a reading may turn `backoff` into `after:N` or `give_up` once it has seen what
    the server asked for. `name` may be a pattern's instance, such as `http_502` or `bad_line_3`.
    """

    name: str
    status: Status
    stage: Stage
    domain: Domain
    retry: Advice
    sentence: str


def _group(status: Status, stage: Stage, domain: Domain, retry: Advice, sentences: Mapping[str, str]) -> list[Reason]:
    return [Reason(name, status, stage, domain, retry, sentence) for name, sentence in sentences.items()]


_ALL: Final[tuple[Reason, ...]] = (
    Reason("", "parsed", "", "", "never", "The reply holds exactly one answer of the asked shape."),
    # What the model wrote.
    *_group("ambiguous", "parse", "model", "never", {
        "two_candidates": "The text holds two or more different answers; none is chosen.",
        "two_vectors": "The judge's reply holds the scores of more than one judgement; none is chosen.",
    }),
    *_group("ambiguous", "score", "model", "never", {
        "word_unclear": "What is looked for stands in the text, in a script without spaces between words, where it may"
        " be a part of a longer word.",
    }),
    *_group("ambiguous", "parse", "provider", "never", {
        "many_choices": "The provider returned several choices where one was asked for; none is chosen.",
    }),
    *_group("empty", "parse", "model", "never", {
        "empty_content": "The content field is there and is empty.",
        "null_content": "The content field is null or missing.",
        "empty_fence": "The reply is a code fence with nothing in it.",
        "no_bytes": "The text has no bytes at all.",
        "only_space": "The text is white space only.",
        "no_text_block": "The reply has content blocks, and none of them is text.",
        "reasoning_only": "The reply holds reasoning and nothing after it.",
    }),
    *_group("refused", "parse", "model", "never", {
        "refusal_field": "The model refused, in the provider's own refusal field.",
        "stop_refusal": "The provider's stop reason says that the model refused.",
    }),
    *_group("refused", "parse", "provider", "never", {
        "content_filter": "The provider's content filter withheld the reply.",
    }),
    *_group("truncated", "parse", "model", "never", {
        "stop_length": "The provider stopped at the token limit before the answer was whole.",
        "inside_reasoning": "The token limit was spent on reasoning; the answer never began.",
    }),
    *_group("incomplete", "parse", "provider", "never", {
        "pause_turn": "The provider paused the turn and waits to be asked to go on.",
    }),
    *_group("malformed", "parse", "model", "never", {
        "no_json": "No valid JSON value stands in the text, and nothing more can be said of why.",
        "unterminated": "A value begins, and the text ends before it does without a word of having been cut.",
        "unclosed_reasoning": "A reasoning tag is opened and never closed, so nothing can be told from the draft.",
        "fenced": "The value stands in a code fence, and the rules do not allow fences.",
        "trailing_comma": "A comma stands before a closing bracket.",
        "comment": "A comment stands inside the JSON.",
        "text_around": "Text stands around the value, and the rules say that only the whole text may be the answer.",
        "single_quotes": "A JSON string is quoted with apostrophes.",
        "smart_quotes": "A JSON string is quoted with typographic quotation marks.",
        "python_literal": "True, False or None stands where JSON has true, false or null.",
        "raw_control_char": "A raw tab or line break stands inside a JSON string.",
        "bad_escape": "A backslash in a JSON string is followed by something that is no JSON escape.",
        "bad_quote": "A quotation mark inside a JSON string is not escaped, so the string ends early.",
        "duplicate_key": "An object has the same key twice.",
        "nonfinite": "NaN, an infinity, or a number that overflows to one stands in the JSON.",
        "number_too_long": "A number has more than 4,300 digits.",
        "too_deep": "The JSON is nested deeper than 256 levels.",
        "lone_surrogate": "A string holds half of a surrogate pair, which no UTF-8 text can hold.",
        "invalid_utf8": "The bytes are not UTF-8.",
        "placeholder": "An ellipsis or a placeholder stands where a JSON value should.",
        "not_code": "No block of the text, nor the whole of it, is Python that compiles.",
        "no_answer": "No answer of the kind that the rule set looks for stands in the text.",
        "no_marker": "The mark that the rule set asks for ahead of the answer doesn't stand in the text.",
        "no_match": "The rule set's pattern matches nothing in the text.",
        "number_unclear": "A number is written in a way, or with a unit, that the rule set doesn't declare.",
    }),
    *_group("malformed", "parse", "harness", "never", {
        "terminal_control_bytes": "Terminal control bytes: a terminal stood where a data channel should have.",
    }),
    *_group("wrong_shape", "parse", "model", "never", {
        "list_not_object": "The answer is a list where an object was asked for.",
        "object_not_list": "The answer is an object where a list was asked for.",
        **{
            f"{kind}_not_{asked.split()[1]}": f"The answer is a {kind} where {asked} was asked for."
            for asked in ("an object", "a list")
            for kind in ("string", "number", "boolean", "null")
        },
        "tool_call": "The model called a tool; it was not given one, or was asked for text.",
        "tool_call_like": "The answer is shaped like a tool call; it is not unwrapped.",
        "schema_violation": "The answer doesn't fit the JSON schema of the rule set.",
        "missing_criterion": "A judgement has no score for a criterion of the rubric.",
        "unexpected_criterion": "A judgement holds a key that is no criterion of the rubric, no claim and no comment.",
        "score_not_integer": "A score of a judgement is not a whole number.",
        "score_out_of_range": "A score of a judgement is not on the scale of its criterion; it is not moved onto it.",
        "missing_flags": "A judgement says nothing of a flag that the rubric has.",
        "bad_flags": "The flags of a judgement are not the rubric's, or not said to be raised or not.",
        "invisible_characters": "A word of a judgement holds characters that nobody sees: it isn't what it looks like.",
        "missing_winner": "A choice between two texts names no winner.",
        "bad_winner": "The winner of a choice is none of first, second and tie.",
        "unexpected_key": "A choice holds a key that is neither the winner nor a comment.",
    }),
    # What the provider's interface said.
    *_group("error", "api", "provider", "never", {
        "auth": "The provider refused the key.",
        "forbidden": "The key may not use this model or address.",
        "billing": "The provider account has no credit, or its quota is used up.",
        "model_missing": "The provider does not have the model.",
        "no_stop_reason": "The reply gives no stop reason, so nobody knows whether it is whole.",
        "unknown_stop_reason": "The reply gives a stop reason that this release does not know.",
        "redirect": "The address answered with a redirect, which is never followed.",
    }),
    *_group("error", "api", "harness", "never", {
        "bad_request": "The provider called the request invalid.",
        "context_length": "The request is longer than the model's context.",
        "too_large": "The request's body is larger than the provider takes.",
    }),
    *_group("error", "api", "provider", "backoff", {
        "rate_limit": "The provider's rate limit was reached.",
        "overloaded": "The provider is overloaded.",
        "error_in_200": "The provider answered with status 200 and an error inside.",
        "no_choices": "The reply has no choices.",
        "not_done": "The reply says that it is not done.",
    }),
    # What came over the wire.
    *_group("error", "reply", "provider", "never", {
        "not_json": "The body is not the JSON that this protocol's replies are.",
        "duplicate_key": "The body's JSON has the same key twice in one object.",
    }),
    *_group("error", "reply", "provider", "backoff", {
        "empty_body": "The body is empty.",
        "invalid_utf8": "The body is not UTF-8.",
        "decode_cut": "The compressed body ends before its end mark and checksum.",
        "decode_failed": "The body's Content-Encoding could not be undone.",
        "short_body": "The body is shorter than its Content-Length.",
        "stream_cut": "The stream ended before the provider's end mark.",
    }),
    *_group("error", "transport", "provider", "backoff", {
        "dns": "The host's name could not be resolved.",
        "connect_refused": "Nothing listens at the address.",
        "connection_reset": "The connection broke off.",
        "tls_cut": "The connection broke off while TLS was being set up.",
        "timeout": "The attempt's deadline passed.",
        "protocol": "The server's answer is not HTTP.",
        "command_failed": "The local command could not be started, or ended with a status other than 0.",
    }),
    *_group("error", "transport", "provider", "never", {
        "tls": "The two sides can't agree on TLS: a certificate that isn't trusted, has expired or is for another name,"
               " or a server that speaks no TLS, or another version of it.",
        "proxy_refused": "The proxy of the environment refused to go to the address.",
    }),
    *_group("error", "transport", "harness", "never", {
        "command_missing": "The local command isn't there, or may not be run.",
    }),
    # What the harness did.
    *_group("error", "harness", "harness", "never", {
        "no_recording": "The replayed ledger holds no answer to this request.",
        "sandbox": "The sandbox could not run the code.",
        "internal": "The harness itself failed.",
        "reported": "Whoever recorded this says that it failed, in words that name no reason known here.",
        "not_captured": "What was imported holds no text for this cell, and no word of why.",
        "withheld": "A redaction withholds what was recorded, so nobody can read it any more.",
    }),
    *_group("error", "score", "harness", "never", {
        "case_unusable": "The rule set can't score this case: it lacks the options, or the source, that answers need.",
        "gold_unusable": "The rule set can't score this case: its gold has no form that the scorer compares.",
    }),
    *_group("not_asked", "harness", "harness", "never", {
        "not_asked": "The model was never asked.",
        "not_graded": "The answer was never shown to the judge.",
    }),
    Reason(
        "fate_unknown", "fate_unknown", "harness", "harness", "never",
        "The request may have been sent and no reply was recorded, so nobody knows what became of it.",
    ),
)  # fmt: skip

REASONS: Final[Mapping[tuple[Status, str], Reason]] = MappingProxyType({(r.status, r.name): r for r in _ALL})
"""Every fixed reason by (status, name). Two kinds more are patterns, see :data:`PATTERNS`."""

PATTERNS: Final[tuple[tuple[re.Pattern[str], Reason], ...]] = (
    (
        re.compile(r"http_[1-5][0-9]{2}"),
        Reason("http_NNN", "error", "api", "provider", "backoff", "The provider answered with HTTP status NNN."),
    ),
    (
        re.compile(r"bad_line_[1-9][0-9]{0,8}"),
        Reason("bad_line_N", "malformed", "parse", "model", "never", "Line N is not a JSON value."),
    ),
)

# Statuses of the 4xx and 5xx classes where the same request may well fare better, or worse, than its class does.
_RETRY_4XX: Final = frozenset({408, 409, 425, 429, 499})
_NEVER_5XX: Final = frozenset({501, 505, 506, 510, 511, 526})

FLAGS: Final[Mapping[str, str]] = MappingProxyType({
    "partial_text": "Some text had come before the reply failed; it is kept and never confirmed.",
    "unclosed_fence": "The code fence around the answer was never closed.",
    "stop_length": "The provider stopped at the token limit, and yet the value is whole.",
    "identical_candidates": "The answer stands in the text more than once.",
    "refusal_like": "The text reads like a refusal.",
    "cut_after_stop_reason": "The connection was cut after the provider had given its stop reason.",
    "no_done_marker": "The stream gave its stop reason and ended cleanly, without its last mark.",
    "coding_X": "The body's Content-Encoding names X, which nobody here undoes.",
    "inner_NNN": "A status of NNN stands inside a reply with status 200.",
    "stop_run": "Nothing more can be asked of this provider until somebody mends it.",
    "salvaged": "The value was read from a rendered terminal, not from a data channel.",
    "terminal_control_bytes": "Terminal control bytes stand outside the answer.",
    "list_not_object": "A list was taken where an object was asked for, as the rules allow.",
    "tool_call_like": "An object shaped like a tool call was taken as the answer, as the rules allow.",
    **{
        name: f"The JSON had this fault, and the rules allow it: {REASONS['malformed', name].sentence}"
        for name in ("trailing_comma", "comment", "single_quotes", "python_literal", "raw_control_char")
    },
})  # fmt: skip
"""Flags go with any status. A flag that bears a reason's name says that the rules let that fault pass."""

_INNER: Final = re.compile(r"inner_([1-9][0-9]{2})")
_CODING: Final = re.compile(r"coding_([a-z0-9-]{1,20})")


def reason(status: Status, name: str, own: Mapping[str, str] | None = None) -> Reason:
    """Look a reason up; `own` holds a suite's own `wrong_shape` reasons, name to sentence.

    Raises LookupError for a name that the taxonomy does not have under that status.
    """
    found = REASONS.get((status, name))
    if found is not None:
        return found
    for pattern, kind in PATTERNS:
        if kind.status == status and pattern.fullmatch(name):
            number = name.rpartition("_")[2]
            retry = kind.retry if kind.name != "http_NNN" else _http_retry(int(number))
            sentence = kind.sentence.replace("NNN", number).replace("Line N", f"Line {number}")
            return Reason(name, status, kind.stage, kind.domain, retry, sentence)
    if status == "wrong_shape" and own is not None and name in own:
        return Reason(name, status, "parse", "model", "never", own[name])
    raise LookupError(f"no reason {name!r} under status {status!r}: expected a name of harness/_outcomes.py")


def _http_retry(code: int) -> Advice:
    if code >= 500:
        return "never" if code in _NEVER_5XX else "backoff"
    return "backoff" if code in _RETRY_4XX else "never"


def is_reason(status: Status, name: str, own: Mapping[str, str] | None = None) -> bool:
    """Whether the taxonomy has that name under that status."""
    try:
        reason(status, name, own)
    except LookupError:
        return False
    return True


def is_flag(name: str) -> bool:
    """Whether the taxonomy has that flag; `inner_429` is an instance of `inner_NNN`, `coding_zstd` of `coding_X`."""
    return name in FLAGS or _INNER.fullmatch(name) is not None or _CODING.fullmatch(name) is not None


def flag_sentence(name: str) -> str:
    """What a flag means, in one sentence. Raises LookupError for a flag that the taxonomy does not have."""
    if name in FLAGS:
        return FLAGS[name]
    if inner := _INNER.fullmatch(name):
        return FLAGS["inner_NNN"].replace("NNN", inner[1])
    if coding := _CODING.fullmatch(name):
        return FLAGS["coding_X"].replace("X", coding[1])
    raise LookupError(f"no flag {name!r}: expected a name of harness/_outcomes.py")
