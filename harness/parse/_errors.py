"""What a provider's error says: by HTTP status, by the error object in the body, and, for want of better, by its
words.

An error may stand in place of a reply, beside the choices, inside one of them or in its message
(openrouter.ai/docs/api-reference/errors): wherever it stands, the reply is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, cast

from harness._outcomes import Status, reason
from harness.parse._retry import wait_told
from harness.parse._types import Protocol

__all__ = ["ApiError", "advice_body", "advice_inner", "error_in", "error_named", "name_inner", "name_status"]


@dataclass(frozen=True, slots=True)
class ApiError:
    """The parts of an error object that decide its name. `inner` is a status code given in the body, `wait` the seconds
    after which it asks to be asked again, as text; `lasting` says that it is of a quota that no such wait brings back.
    """

    message: str = ""
    kinds: frozenset[str] = frozenset()
    inner: int | None = None
    wait: str = ""
    lasting: bool = False


_BILLING_KINDS: Final = frozenset({
    "insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "payment_required",
    "insufficient_balance", "insufficient_credits", "credit_balance_too_low", "insufficient_user_quota",
})  # fmt: skip
_BILLING_WORDS: Final = re.compile(
    r"credit balance|(?:insufficient|not enough|no more|out of|used up(?: your)?) (?:credits?|balance|funds|quota)\b"
    r"|billing (?:details|hard limit|account|limit|is not)|check your (?:plan|billing)|payment (?:is )?required"
    r"|exceeded your current quota|reached your specified (?:\w+ )?usage limit|(?:add|purchase|buy) (?:more )?credits",
    re.IGNORECASE,
)
_CONTEXT_KINDS: Final = frozenset({"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"})
_CONTEXT_WORDS: Final = re.compile(
    r"maximum context length|context[ _](?:length|window|limit|size)|(?:prompt|input) (?:is )?(?:too long|exceeds)"
    r"|exceeds? the (?:model's |available )?context|exceed context limit|too many (?:input )?tokens",
    re.IGNORECASE,
)
_AUTH_KINDS: Final = frozenset({"authentication_error", "invalid_api_key", "invalid_authentication", "unauthenticated"})
_MODEL_KINDS: Final = frozenset({"model_not_found", "model_not_available", "unknown_model"})
_MODEL_WORDS: Final = re.compile(
    r"\bmodels?\b.{0,200}?(?:not (?:be )?found|does(?:n't| not) exist|not available|unknown|no such|not loaded)"
    r"|(?:no such|unknown|(?:could )?not find(?: the)?|unable to find(?: the)?|not found:?) model\b|^model: ",
    re.IGNORECASE | re.DOTALL,
)
_INNER_NAMES: Final[dict[str, str]] = {
    "overloaded_error": "overloaded",
    "rate_limit_error": "rate_limit",
    "authentication_error": "auth",
    "permission_error": "forbidden",
    "request_too_large": "too_large",
    "invalid_request_error": "bad_request",
    "not_found_error": "model_missing",
}
_FILTER_KINDS: Final = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_LASTING_KINDS: Final = (
    _AUTH_KINDS | _MODEL_KINDS | _CONTEXT_KINDS | {kind for kind in _INNER_NAMES if _INNER_NAMES[kind] not in (
        "overloaded", "rate_limit")} | {
        "invalid_argument", "invalid_request", "invalid_parameter", "invalid_prompt", "bad_request", "not_found",
        "permission_denied", "forbidden", "unauthorized", "failed_precondition", "unsupported", "unimplemented",
        "unsupported_value", "unsupported_parameter", "string_above_max_length", "badrequesterror", "notfounderror",
        "authenticationerror", "permissiondeniederror", "unprocessableentityerror",
    }
)  # fmt: skip
"""What a server calls an error that the same request would meet again."""
_WORDS_REACH: Final = 2000


def error_in(root: Any) -> ApiError | None:
    """The error that a JSON body holds, in any of the shapes that the protocols and their imitators use; None if
    none.

    A list is looked into: some servers wrap their error in one. What stands deeper, such as Azure's
    `content_filter_results.error`, which says that a filter didn't run, is no error of the reply.
    """
    if isinstance(root, list):
        return next((found for each in cast("list[Any]", root) if (found := error_in(each)) is not None), None)
    if not isinstance(root, dict):
        return None
    body = cast("dict[str, Any]", root)
    found = _error_field(body)
    if found is not None:
        return found
    if body.get("object") == "error" or body.get("type") == "error":
        return _error({key: value for key, value in body.items() if key != "type"})
    choices: Any = body.get("choices")
    for choice in cast("list[Any]", choices) if isinstance(choices, list) else []:
        found = _error_in_choice(choice)
        if found is not None:
            return found
    return _error_alone(body)


def error_named(data: str, root: Any) -> ApiError:
    """The error of a stream's event that is called `error`, whatever its data is."""
    body = cast("dict[str, Any]", root) if isinstance(root, dict) else {"message": data}
    return error_in(root) or _error(body)


def _error_field(body: dict[str, Any]) -> ApiError | None:
    error: Any = body.get("error")
    if isinstance(error, str) and error:
        return _error({**body, "message": error})
    if isinstance(error, dict):
        inner = cast("dict[str, Any]", error)
        return _error(inner) if any(inner.values()) else None
    return ApiError() if error else None


def _error_in_choice(choice: Any) -> ApiError | None:
    """The error of one choice, or of its message, or of what a stream adds to that."""
    if not isinstance(choice, dict):
        return None
    body = cast("dict[str, Any]", choice)
    places: list[Any] = [body, body.get("message"), body.get("delta")]
    for place in places:
        if isinstance(place, dict):
            # A choice without a text of the error has a text of the model beside it: that is no message.
            found = _error_field({"error": cast("dict[str, Any]", place).get("error")})
            if found is not None:
                return found
    return None


def _error_alone(body: dict[str, Any]) -> ApiError | None:
    """An error that nothing wraps: a code with a message where the reply should be, or a list of errors."""
    if body.get("choices") or body.get("content") or "done" in body:
        return None
    errors: Any = body.get("errors")
    if isinstance(errors, list) and errors:
        first: Any = cast("list[Any]", errors)[0]
        return _error(cast("dict[str, Any]", first) if isinstance(first, dict) else {"message": str(first)})
    message, code = body.get("message"), body.get("code")
    if isinstance(message, str) and message and code and not isinstance(code, bool):
        return _error(body)
    return None


def _error(body: dict[str, Any]) -> ApiError:
    message = body.get("message")
    kinds = {value.lower() for key in ("type", "code", "status") if isinstance(value := body.get(key), str)}
    codes = [body.get(key) for key in ("code", "status", "status_code")]
    words = message[:_WORDS_REACH] if isinstance(message, str) else ""
    wait, lasting = wait_told(words, body.get("details"))
    return ApiError(
        words,
        frozenset(kinds),
        next((number for code in codes if (number := _status_code(code)) is not None), None),
        wait,
        lasting,
    )


def _status_code(code: Any) -> int | None:
    if isinstance(code, bool):
        return None
    if isinstance(code, str) and re.fullmatch(r"[1-9][0-9]{2}", code):
        return int(code)
    return code if isinstance(code, int) and 100 <= code <= 999 else None


def _is_billing(error: ApiError) -> bool:
    """Whether the account is spent. Gemini says so of each limit, that of a minute too, and then names the wait."""
    if error.kinds & _BILLING_KINDS:
        return True
    return _BILLING_WORDS.search(error.message) is not None and (error.lasting or not error.wait)


def _is_context(error: ApiError) -> bool:
    return bool(error.kinds & _CONTEXT_KINDS) or _CONTEXT_WORDS.search(error.message) is not None


def _is_model(error: ApiError) -> bool:
    return bool(error.kinds & _MODEL_KINDS) or _MODEL_WORDS.search(error.message) is not None


def name_status(status: int, error: ApiError | None) -> tuple[Status, str]:
    """The status and reason of a response whose HTTP status is not 2xx."""
    error = error or ApiError()
    if 300 <= status < 400:
        return "error", "redirect"
    if "overloaded_error" in error.kinds or status == 529:
        return "error", "overloaded"
    by_status = {401: "auth", 402: "billing", 413: "too_large"}.get(status)
    if by_status:
        return "error", by_status
    if status in (400, 403, 404, 422, 429) and _is_billing(error):
        return "error", "billing"
    if status == 429:
        return "error", "rate_limit"
    if status in (400, 403, 422) and error.kinds & _AUTH_KINDS:
        return "error", "auth"
    if status == 403:
        return "error", "forbidden"
    if status == 404:
        model = _is_model(error) or ("not_found_error" in error.kinds and "model" in error.message.lower())
        return "error", "model_missing" if model else "http_404"
    if status in (400, 422):
        return _name_bad_request(error)
    return "error", f"http_{status if 100 <= status <= 599 else 500}"


def _name_bad_request(error: ApiError) -> tuple[Status, str]:
    if error.kinds & _FILTER_KINDS:
        return "refused", "content_filter"
    if _is_context(error):
        return "error", "context_length"
    return "error", "model_missing" if _is_model(error) else "bad_request"


def name_inner(error: ApiError, protocol: Protocol) -> tuple[Status, str]:
    """The status and reason of an error inside a response whose HTTP status is 2xx.

    Anthropic documents its error types for streams, where the status has gone out before the error; what the others
    put there is only called an error, but for a spent account, which must stop the asking, and for a filter, which
    refused.
    """
    if error.inner == 402 or _is_billing(error):
        return "error", "billing"
    if error.kinds & _FILTER_KINDS:
        return "refused", "content_filter"
    if protocol == "anthropic":
        for kind, name in _INNER_NAMES.items():
            if kind in error.kinds:
                return "error", "context_length" if name == "bad_request" and _is_context(error) else name
    return "error", "error_in_200"


def advice_body(error: ApiError | None, status: Status, name: str) -> str:
    """Whether asking again may help, by what a reply was named, and after how long, where its error tells that."""
    found = reason(status, name).retry
    return f"after:{error.wait}" if error is not None and error.wait and found == "backoff" else found


def advice_inner(error: ApiError, name: str) -> str:
    """Whether asking again may help, for an error inside a 200: its own code says, else the kind that it is called."""
    if name != "error_in_200":
        return advice_body(error, "error", name)
    if error.inner is not None and 400 <= error.inner < 600:
        return advice_body(error, "error", f"http_{error.inner}")
    lasting = error.kinds & _LASTING_KINDS or _is_context(error)
    return "never" if lasting else advice_body(error, "error", name)
