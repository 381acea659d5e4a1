"""From what a person types ("openai/gpt-x") to a candidate; every mistake is one sentence, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import JsonValue

from harness._candidate import Candidate
from harness._errors import EngineError, KeyMissing
from harness._secrets import Secrets
from harness.engines._address import check_url
from harness.engines._bodies import ANTHROPIC_MAX_TOKENS
from harness.engines._command import split_command
from harness.engines._providers import Provider, find_provider, load_providers

__all__ = ["is_replay", "resolve_engine"]

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
    ask: bool = True,
) -> Candidate:
    """The candidate that "provider/model" means; its prompt is empty until `with_prompt`.

    The address is `base_url`, or what the provider's variable names (such as OPENAI_BASE_URL), or the provider's own.
    The key comes out of the environment; it may be missing unless the candidate is to `ask`. Providers are the lines of
    `providers.toml`. Raises EngineError.
    """
    provider, slash, model = text.partition("/")
    if not slash or not provider or not model.strip():
        raise EngineError(f"expected an engine as provider/model, such as openai/gpt-5, got {text!r}")
    if provider == "replay":
        raise EngineError(f"{text} names a recording: it can be run, and not asked anything else")
    if provider == "command":
        return _command(text, model, base_url, parameters or {}, stream=stream)
    line = find_provider(provider, load_providers(environ), text)
    protocol = line.protocol
    address = _address(line, base_url, environ)
    key = _key(text, line, address, environ, ask=ask)
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


def _address(provider: Provider, base_url: str | None, environ: Mapping[str, str]) -> str:
    named = environ.get(provider.address, "").strip() if provider.address else ""
    if base_url is not None:
        found, what = base_url.strip(), "the base URL"
    elif named:
        found, what = named, provider.address
        if provider.address == "OLLAMA_HOST":
            found = _ollama_host(found)
        elif provider.path and "://" in found and urlsplit(found).path in ("", "/") and "?" not in found:
            found = found.rstrip("/") + provider.path
    elif provider.base_url:
        found, what = provider.base_url, "the base URL"
    else:
        about = f" ({provider.note})" if provider.note else ""
        raise EngineError(
            f"{provider.name} has no address of its own: set {provider.address}{about}, or give --base-url"
        )
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


def _key(text: str, provider: Provider, address: str, environ: Mapping[str, str], *, ask: bool) -> str:
    """The key in the first of the provider's variables that is set; empty where none is, and none is needed."""
    held = [(variable, environ.get(variable, "").strip()) for variable in provider.keys]
    variable, key = next(((name, value) for name, value in held if value), ("", ""))
    if ask and not key and provider.needs_key(address):
        shown = Secrets().mask_url(address)[0]
        raise KeyMissing(
            f"{text} needs a key at {shown}: set {' or '.join(provider.keys)} in the environment or in .env,"
            " or name another server with --base-url"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise EngineError(f"{variable} holds characters that no HTTP header can carry; set it anew")
    return key


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
