"""From what a person types ("openai/gpt-x") to a candidate; every mistake is one sentence, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

from harness._candidate import PROTOCOLS, Candidate, Protocol
from harness._errors import EngineError
from harness._secrets import Secrets
from harness.engines._address import check_url
from harness.engines._bodies import ANTHROPIC_MAX_TOKENS
from harness.engines._command import split_command

__all__ = ["is_replay", "resolve_engine"]

_DEFAULTS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://127.0.0.1:11434",
}
_ADDRESS_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "ollama": "OLLAMA_HOST"}
_KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "ollama": "OLLAMA_API_KEY"}
_RESERVED = {"model", "messages", "stream", "system"}


def is_replay(text: str) -> bool:
    """Whether an engine string names a recorded ledger instead of a provider."""
    return text == "replay" or text.startswith("replay/")


def resolve_engine(
    text: str,
    *,
    base_url: str | None = None,
    parameters: Mapping[str, JsonValue] | None = None,
    stream: bool = False,
    environ: Mapping[str, str],
) -> Candidate:
    """The candidate that "provider/model" means; its prompt is empty until `with_prompt`.

    The address is `base_url`, or what the environment names (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, OLLAMA_HOST), or the
    provider's own. The key comes out of the environment. Raises EngineError.
    """
    provider, slash, model = text.partition("/")
    known = f"{', '.join(PROTOCOLS)}, command or replay"
    if not slash or not provider or not model.strip():
        raise EngineError(f"expected an engine as provider/model, such as openai/gpt-5, got {text!r}")
    if provider == "replay":
        raise EngineError(f"{text} names a recording: it can be run, and not asked anything else")
    if provider == "command":
        return _command(text, model, base_url, parameters or {}, stream=stream)
    if provider not in PROTOCOLS:
        raise EngineError(f"expected the provider to be {known}, got {provider!r} in {text!r}")
    protocol: Protocol = provider
    address = _address(protocol, base_url, environ)
    key = environ.get(_KEY_VARIABLES[protocol], "").strip()
    _check_key(protocol, key, address)
    given = _checked(parameters or {})
    if protocol == "anthropic":
        given.setdefault("max_tokens", ANTHROPIC_MAX_TOKENS)
        limit = given["max_tokens"]
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise EngineError(f"expected max_tokens to be a whole number, got {limit!r}")
    shown, masked = Secrets([key]).mask_url(address)
    return Candidate(
        label=text, protocol=protocol, model=model, parameters=given, stream=stream, base_url=shown, api_key=key,
        address=address if masked else "",
    )  # fmt: skip


def _command(
    text: str, model: str, base_url: str | None, parameters: Mapping[str, JsonValue], *, stream: bool
) -> Candidate:
    split_command(model)
    if base_url is not None or stream:
        raise EngineError(f"{text} is a local program: it has neither an address nor a streamed form")
    return Candidate(label=text, protocol="command", model=model, parameters=_checked(parameters))


def _address(protocol: Protocol, base_url: str | None, environ: Mapping[str, str]) -> str:
    variable = _ADDRESS_VARIABLES[protocol]
    if base_url is not None:
        found, what = base_url.strip(), "the base URL"
    elif environ.get(variable, "").strip():
        found, what = environ[variable].strip(), variable
        if protocol == "ollama":
            found = _ollama_host(found)
    else:
        found, what = _DEFAULTS[protocol], "the base URL"
    check_url(found, what)
    return found.rstrip("/")


def _ollama_host(text: str) -> str:
    """OLLAMA_HOST is also the server's own setting: often no scheme, no port, and 0.0.0.0 for "everywhere"."""
    if "://" in text:
        return text
    host, _, path = text.partition("/")
    if host.startswith(":"):
        host = "127.0.0.1" + host
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit() or (":" in name and not name.endswith("]")):
        name, port = host, "11434"
    name = "127.0.0.1" if name == "0.0.0.0" else name  # noqa: S104 - read, never bound
    return f"http://{name}:{port}" + (f"/{path}" if path else "")


def _check_key(protocol: Protocol, key: str, address: str) -> None:
    variable = _KEY_VARIABLES[protocol]
    if not key and protocol != "ollama" and address == _DEFAULTS[protocol]:
        raise EngineError(f"{address} needs a key: set {variable}, or name another server with --base-url")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise EngineError(f"{variable} holds characters that no HTTP header can carry; set it anew")


def _checked(parameters: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The parameters as they go into a request. One that was set to null is left out: some models refuse some."""
    reserved = sorted(_RESERVED & set(parameters))
    if reserved:
        raise EngineError(f"the parameter {reserved[0]!r} is set by the harness itself; leave it out")
    for name, value in parameters.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise EngineError(f"expected the parameter {name!r} to be a JSON value, got {value!r}") from None
    return {name: value for name, value in parameters.items() if value is not None}
