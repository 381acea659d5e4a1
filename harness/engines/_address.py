"""Which way to an address: loopback or not, through a proxy of the environment or not."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from harness._errors import EngineError

__all__ = ["check_url", "is_loopback", "proxy_for"]


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        found = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        try:
            # The short and octal forms that the resolver takes as well: 127.1, 0177.0.0.1.
            found = ipaddress.ip_address(socket.inet_aton(name))
        except (OSError, ValueError):
            return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    found = mapped or found
    return found.is_loopback or found.is_unspecified


def check_url(url: str, what: str) -> None:
    """Raises EngineError, in one sentence, when the text isn't an http or https URL with a host."""
    wrong = any(character.isspace() or not character.isprintable() for character in url)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts, wrong = urlsplit(""), True
    if wrong or parts.scheme not in ("http", "https") or not parts.hostname:
        # Its user and password, if any, aren't repeated.
        raise EngineError(f"expected {what} to be like http://host:port/path, got {url.rpartition('@')[2]!r}")


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for a URL; none for loopback, none where NO_PROXY says so."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host):
        return None
    proxies = getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    if not found or proxy_bypass(host if parts.port is None else f"{host}:{parts.port}"):
        return None
    return found if "://" in found else f"http://{found}"
