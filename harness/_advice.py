"""What to try once a candidate was given up: said to the person who asked, and kept nowhere.

A close names the reason; a server's own words may repeat what it was asked, so they stand in its recorded reply alone
(DESIGN, Redaction) and are said on the screen. What is asked of a server here is a `lookup` event, as any look-up is.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness._alike import UNREACHABLE
from harness._candidate import Candidate
from harness._capture import Exchange
from harness._lookups import record_told
from harness._secrets import Secrets, secrets_in_url
from harness.engines import Provider, ask_models, models_in, other_address
from harness.parse import Reading, said_in
from ledger import Ledger

__all__ = ["GivenUp", "advise"]

_SHOWN = 10
_LOCAL = ("llamacpp", "lmstudio", "ollama", "sglang", "vllm")


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A candidate that is asked no more, and the attempt that settled it."""

    candidate: Candidate
    exchange: Exchange
    reading: Reading


def advise(
    ledger: Ledger, run: str, gone: Iterable[GivenUp], providers: Mapping[str, Provider], keys: Iterable[str] = ()
) -> tuple[str, ...]:  # fmt: skip
    """Sentences for people: what each server said itself, all `keys` masked, and what to try. Raises LedgerError."""
    masked = [*keys]
    return tuple(sentence for each in gone for sentence in _about(ledger, run, each, providers, masked))


def _about(
    ledger: Ledger, run: str, gone: GivenUp, providers: Mapping[str, Provider], keys: Iterable[str]
) -> Iterator[str]:
    candidate, wire = gone.candidate, gone.exchange.wire
    secrets = Secrets([*keys, candidate.api_key, *secrets_in_url(candidate.url)])
    if wire is not None:
        words = secrets.mask_text(said_in(wire))
        yield f"{candidate.label}: {candidate.base_url} answered HTTP {wire.status}" + (f": {words}" if words else "")
    else:
        yield f"{candidate.label}: nothing came from {candidate.base_url} ({gone.reading.reason})"
    reason = gone.reading.reason
    if reason in ("auth", "billing", "forbidden"):
        yield from _of_the_key(candidate, reason, providers)
    if reason == "bad_request":
        yield "try: -M NAME=null leaves out a parameter that the server won't take, -M NAME=VALUE sets another one"
    if reason in UNREACHABLE:
        yield from _of_the_address(candidate, providers)
    elif reason not in ("billing", "bad_request"):
        yield from _of_the_model(ledger, run, candidate, secrets)
    yield from _of_the_preset(candidate, providers)


def _of_the_key(candidate: Candidate, reason: str, providers: Mapping[str, Provider]) -> Iterator[str]:
    line = providers.get(candidate.label.partition("/")[0])
    names = " or ".join(line.keys) if line and line.keys else "the key's variable"
    if reason == "billing":
        yield f"try: see to the account that {names} belongs to"
    elif not candidate.api_key:
        yield f"try: no key was sent; set {names} in the environment or in .env"
    else:
        yield f"try: look at {names} in the environment and in .env: is it whole, this server's, and for this model?"


def _of_the_address(candidate: Candidate, providers: Mapping[str, Provider]) -> Iterator[str]:
    yield "try: is the server running, and is the address right, scheme, host and port?"
    ports = [f"{name} {providers[name].base_url}" for name in _LOCAL if name in providers]
    if (urlsplit(candidate.url).hostname or "") in ("127.0.0.1", "localhost", "::1") and ports:
        yield f"try: local servers by default are at: {', '.join(ports)}; name one as NAME/MODEL, without --base-url"


def _of_the_model(ledger: Ledger, run: str, candidate: Candidate, secrets: Secrets) -> Iterator[str]:
    """What the server lists, here or where people mean it to be: asked, not guessed."""
    listed = _listed(ledger, run, candidate)
    if listed is not None:
        yield f"try: {_named(candidate, listed)}"
        return
    other = other_address(candidate)
    shown = secrets.mask_url(other)[0]
    found = _listed(ledger, run, candidate, other) if other else None
    if found is not None:
        yield f"try: --base-url {shown}, which lists models; {candidate.base_url} doesn't. {_named(candidate, found)}"
    elif candidate.protocol == "openai":
        yield f"try: is {candidate.base_url} the address of an OpenAI interface? It ends in /v1 at most servers"
    else:
        yield f"try: is {candidate.base_url} the address of {candidate.protocol}'s interface? It has no /v1 at its end"


def _listed(ledger: Ledger, run: str, candidate: Candidate, address: str = "") -> tuple[str, ...] | None:
    told = ask_models(candidate, address)
    if told is None:
        return None
    record_told(ledger, run, told)
    return models_in(told)


def _named(candidate: Candidate, listed: tuple[str, ...]) -> str:
    if not listed:
        return "it lists no model at all: is one loaded?"
    if candidate.model in listed:
        return f"it does list {candidate.model}"
    near = difflib.get_close_matches(candidate.model, listed, n=3, cutoff=0.5)
    first = [*near, *(each for each in listed if each not in near)][:_SHOWN]
    more = f" and {len(listed) - len(first)} more" if len(listed) > len(first) else ""
    return f"it lists {', '.join(first)}{more}, and not {candidate.model}"


def _of_the_preset(candidate: Candidate, providers: Mapping[str, Provider]) -> Iterator[str]:
    """The provider whose address this is, where the candidate was named as another's."""
    here, named = urlsplit(candidate.url), candidate.label.partition("/")[0]
    for name, line in sorted(providers.items()):
        if name != named and line.base_url and not line.is_local and urlsplit(line.base_url).hostname == here.hostname:
            yield f"try: --engine {name}/{candidate.model} without --base-url: {here.hostname} is {name}'s"
            return
