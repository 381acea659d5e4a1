"""From another harness's words for a failure to a name of our taxonomy.

What names an HTTP status goes through the same naming as a real reply with that status. Other words are taken for a
failure of the transport or the command where they say so plainly. Words that only judge the text ("non-json output",
"Expecting value") are no failure: the text itself says more. Anything else is `reported`, with the words kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harness._outcomes import is_reason
from harness.parse._errors import ApiError, name_status

__all__ = ["failure_in"]

_REACH: Final = 4_000
_STATUS: Final = re.compile(
    r"\b(?:http(?:/[0-9.]{1,3})?|(?:http )?status(?:[ _]code)?|error code|http ?error|httperror|response code)"
    r"[ :=(\[]{0,3}([1-5][0-9]{2})\b(?!\.[0-9])"
    r"|\b(?:client|server) error '?([45][0-9]{2})\b|\b([45][0-9]{2}) (?:client|server) error\b"
    r"|(?:(?:error|exception|exhausted|denied|unavailable)[\"']?: {0,2}|^ {0,9})([45][0-9]{2})\b"
    r"(?=[ :-] {0,2}(?-i:[A-Z{\[<'\"]))",
    re.IGNORECASE,
)
_KIND: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")

_WORDS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (name, re.compile(words, re.IGNORECASE))
    for name, words in (
        ("dns", r"name or service not known|nodename nor servname|getaddrinfo|name resolution|could not resolve"
                r"|couldn't resolve|failed to resolve|unknown host|no address associated|\bENOTFOUND\b|\bEAI_AGAIN\b"
                r"|\bNXDOMAIN\b|UnknownHost"),
        ("connect_refused", r"connection refused|\bECONNREFUSED\b|actively refused|ConnectionRefused"
                            r"|couldn't connect to server|could not connect to|connection attempts failed"
                            r"|network is unreachable|no route to host|\bENETUNREACH\b|\bEHOSTUNREACH\b"),
        ("tls", r"\bSSL\b|\bTLS\b|SSLError|SSLCertVerification|certificate verif|self[- ]signed certificate"
                r"|_ssl\.c\b"),
        ("timeout", r"time[ds]?[ -]?out\b|TimeoutError|TimeoutExpired|(?:Read|Connect|Pool|Write|API)Timeout"
                    r"|deadline (?:was )?exceeded|\bETIMEDOUT\b"),
        ("connection_reset", r"connection (?:was |has been )?(?:reset|aborted|broken|closed)|broken pipe"
                             r"|server disconnected|\bECONNRESET\b|\bEPIPE\b|remote end closed|RemoteDisconnected"
                             r"|IncompleteRead|empty reply from server|ConnectionReset|peer closed connection"
                             r"|socket hang up"),
        ("rate_limit", r"rate[ _-]?limit|too many requests|\bthrottl|Throttling"),
        ("overloaded", r"\boverloaded(?:_error)?\b"),
        ("auth", r"(?:invalid|incorrect) (?:x-)?api[ -]key|authentication(?: failed|_error| error)"
                 r"|\bunauthori[sz]ed\b"),
        ("not_json", r"(?:call|request) failed: (?:invalid|malformed|bad|unparse?able) json"),
        ("billing", r"\bquota (?:was |is |has been )?(?:exceeded|exhausted|reached|used up)"
                    r"|exceeded (?:your|the|its) (?:\w+ )?quota\b"),
        ("command_failed", r"CalledProcessError|non-?zero exit|exit(?:ed)?(?: with)?(?: a)?(?: status| code)"
                           r"|return ?code|command (?:failed|not found)|exec(?:utable)? (?:file )?not found"
                           r"|FileNotFoundError|no such file or directory|permission denied|killed by signal"
                           r"|segmentation fault"),
    )
)  # fmt: skip
_ABOUT_TEXT: Final = re.compile(
    r"non-?json|\bnot (?:valid |a )?json|(?:invalid|malformed|bad|no|unparse?able) (?:valid )?json|json ?decode"
    r"|expecting (?:value|property name|',' delimiter|':' delimiter)|unterminated string|extra data|\bempty\b|\bblank\b"
    r"|no (?:output|text|content|proposals|parse)\b|(?:could not|cannot|can't|failed to|unable to) (?:be )?pars"
    r"|malformed (?:output|proposal|item)|missing (?:required )?(?:field|key|propert)|unknown (?:type|relation)"
    r"|\bschema\b|invalid (?:type|proposal|confidence|output)|must be (?:an? |numeric)"
    r"|unsupported (?:relation )?type",
    re.IGNORECASE,
)

# A call that failed brought no text to judge, whatever else its words say.
_CALL: Final = re.compile(r"\b(?:call|request|connection|command) (?:has )?failed\b", re.IGNORECASE)


def failure_in(words: Sequence[str]) -> tuple[str, str] | None:
    """The failure that `words` tell of, as (reason, the words that told it); the reason's status is error.

    None when there are no words, or they only judge the text.
    """
    named = [(name, text) for text in words if (name := _name(text[:_REACH]))]
    return next((each for each in named if each[0] != "reported"), named[0] if named else None)


def _name(text: str) -> str:
    """The name for one sentence, or "" when it tells of no failure."""
    if not text.strip():
        return ""
    status = _STATUS.search(text)
    if status is not None and (code := int(next(filter(None, status.groups())))) >= 300:
        # What stands after the number is the server's message, or, with nothing there, what stands before it; kinds
        # may stand anywhere.
        message = text[status.end() :].lstrip(" :-)]") or text[: status.start()]
        name = name_status(code, ApiError(message, frozenset(_KIND.findall(text.lower()))))[1]
        return name if is_reason("error", name) else "reported"
    for name, pattern in _WORDS:
        if pattern.search(text):
            return name
    name = name_status(400, ApiError(text, frozenset(_KIND.findall(text.lower()))))[1]
    if name in ("billing", "context_length", "model_missing"):
        return name
    if _CALL.search(text):
        return "reported"
    return "" if _ABOUT_TEXT.search(text) else "reported"
