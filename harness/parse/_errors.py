"""What a provider's error says: by HTTP status, by the error object in the body, and, for want of better, by its
words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, cast

from harness._outcomes import Status
from harness.parse._types import Protocol

__all__ = ["ApiError", "error_in", "name_inner", "name_status"]


@dataclass(frozen=True, slots=True)
class ApiError:
    """The parts of an error object that decide its name. `inner` is a status code given in the body."""

    message: str = ""
    kinds: frozenset[str] = frozenset()
    inner: int | None = None


_BILLING_KINDS: Final = frozenset({
    "insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "payment_required",
    "insufficient_balance", "insufficient_credits", "credit_balance_too_low",
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
_WORDS_REACH: Final = 2000


def error_in(root: Any) -> ApiError | None:
    """The error that a JSON body holds, in any of the shapes that the protocols and their imitators use; None if
    none.
    """
    if not isinstance(root, dict):
        return None
    body = cast("dict[str, Any]", root)
    error: Any = body.get("error")
    if isinstance(error, str) and error:
        return _error({**body, "message": error})
    if isinstance(error, dict) and error:
        return _error(cast("dict[str, Any]", error))
    if error:
        return ApiError()
    if body.get("object") == "error" or body.get("type") == "error":
        return _error({key: value for key, value in body.items() if key != "type"})
    return None


def _error(body: dict[str, Any]) -> ApiError:
    message = body.get("message")
    kinds = {value.lower() for key in ("type", "code", "status") if isinstance(value := body.get(key), str)}
    codes = [body.get(key) for key in ("code", "status", "status_code")]
    return ApiError(
        message[:_WORDS_REACH] if isinstance(message, str) else "",
        frozenset(kinds),
        next((number for code in codes if (number := _status_code(code)) is not None), None),
    )


def _status_code(code: Any) -> int | None:
    if isinstance(code, bool):
        return None
    if isinstance(code, str) and re.fullmatch(r"[1-9][0-9]{2}", code):
        return int(code)
    return code if isinstance(code, int) and 100 <= code <= 999 else None


def _is_billing(error: ApiError) -> bool:
    return bool(error.kinds & _BILLING_KINDS) or _BILLING_WORDS.search(error.message) is not None


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
    if error.kinds & {"content_filter", "content_policy_violation"}:
        return "refused", "content_filter"
    if _is_context(error):
        return "error", "context_length"
    return "error", "model_missing" if _is_model(error) else "bad_request"


def name_inner(error: ApiError, protocol: Protocol) -> str:
    """The reason for an error inside a response whose HTTP status is 2xx.

    Anthropic documents its error types for streams, where the status has gone out before the error; what the others
    put there is only called an error, but for a spent account, which must stop the asking.
    """
    if _is_billing(error):
        return "billing"
    if protocol == "anthropic":
        for kind, name in _INNER_NAMES.items():
            if kind in error.kinds:
                return "context_length" if name == "bad_request" and _is_context(error) else name
    return "error_in_200"
