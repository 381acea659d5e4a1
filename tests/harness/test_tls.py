"""What can't be mended by asking again isn't asked again: certificates, TLS, proxies, programs. What may pass is."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.engines import _over_httpx, _over_httpx2
from harness.parse import read_fault
from ledger import Ledger
from tests.harness.asking import ask, fault_of
from tests.harness.certificates import Shown, TlsServer, certificate
from tests.harness.servers import ScriptedServer, head
from tests.harness.test_run import harness, rows

PROTOCOLS = ["openai", "anthropic"]
"""One over each of the two HTTP libraries."""


@pytest.fixture(autouse=True)
def _trust_anew() -> None:
    """What is trusted is looked up once a process; a test that trusts its own root needs it looked up again."""
    _over_httpx._trust.cache_clear()
    _over_httpx2._trust.cache_clear()


def trusting(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(shown.root))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_certificate_that_a_trusted_root_signed_is_fine(
    ledger: Ledger, protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = certificate(tmp_path)
    trusting(shown, monkeypatch)
    with TlsServer(shown) as server:
        (exchange,) = ask(ledger, server.url, protocol, timeout=5)
    assert exchange.fault is None and exchange.wire is not None and exchange.wire.whole


WRONG: dict[str, Callable[[Path], Shown]] = {
    "signed by itself": lambda folder: certificate(folder, own=True),
    "expired": lambda folder: certificate(folder, days=(-9, -2)),
    "not yet good": lambda folder: certificate(folder, days=(2, 9)),
    "for another name": lambda folder: certificate(folder, host="elsewhere.example"),
    "for another address": lambda folder: certificate(folder, host="127.0.0.2"),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_certificate_is_a_lasting_fault(
    ledger: Ledger, protocol: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = WRONG[name](tmp_path)
    trusting(shown, monkeypatch)
    with TlsServer(shown) as server:
        (exchange,) = ask(ledger, server.url, protocol, timeout=5)
    fault = fault_of(ledger, exchange)
    assert (fault.stage, fault.reason, fault.domain) == ("transport", "tls", "provider"), fault.detail
    assert "certificate" in fault.detail.lower()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_root_that_nobody_trusts_is_a_lasting_fault(ledger: Ledger, protocol: str, tmp_path: Path) -> None:
    with TlsServer(certificate(tmp_path)) as server:
        (exchange,) = ask(ledger, server.url, protocol, timeout=5)
    assert fault_of(ledger, exchange).reason == "tls"


def only_old(context: ssl.SSLContext) -> None:
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = ssl.TLSVersion.TLSv1_1


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_a_server_of_another_tls_version_is_a_lasting_fault(
    ledger: Ledger, protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = certificate(tmp_path)
    trusting(shown, monkeypatch)
    with TlsServer(shown, only_old) as server:
        (exchange,) = ask(ledger, server.url, protocol, timeout=5)
    fault = fault_of(ledger, exchange)
    assert (fault.reason, read_fault("transport", fault.reason).retry) == ("tls", "never"), fault.detail


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_handshake_that_breaks_off_may_pass(ledger: Ledger, protocol: str, how: str, tmp_path: Path) -> None:
    with TlsServer(certificate(tmp_path), break_off=how) as server:
        (exchange,) = ask(ledger, server.url, protocol, timeout=5)
    fault = fault_of(ledger, exchange)
    assert (fault.reason, read_fault("transport", fault.reason).retry) == ("tls_cut", "backoff"), fault.detail


def run(db: Path, url: str, *more: str) -> list[str]:
    """Run one cell against an address, with three retries; the reasons of its waits."""
    harness(
        "run", "authority/v0", "--engine", "openai/m", "--base-url", f"{url}/v1", "--limit", "1", "--max-retries", "3",
        "--max-wait", "0.05", "--timeout", "5", "--db", str(db), *more, expect=3,
    )  # fmt: skip
    return [row["why"] for row in rows(db, "SELECT body ->> '$.why' AS why FROM events WHERE kind = 'wait'")]


def test_a_run_asks_a_server_with_a_wrong_certificate_once_and_one_whose_handshake_breaks_off_again(
    tmp_path: Path,
) -> None:
    with TlsServer(certificate(tmp_path)) as server:
        assert run(tmp_path / "wrong.db", server.url) == []
        assert server.connections == 1
    with TlsServer(certificate(tmp_path), break_off="close") as server:
        assert run(tmp_path / "cut.db", server.url) == ["tls_cut"] * 3
        assert server.connections == 4
    (unsent,) = rows(tmp_path / "wrong.db", "SELECT DISTINCT counted FROM usage")
    assert unsent["counted"] == "unsent"


PROXY = {"407": "proxy_refused", "403": "proxy_refused", "502": "protocol"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("status", PROXY)
def test_a_proxy_that_refuses_is_a_lasting_fault_and_one_in_trouble_is_not(
    ledger: Ledger, protocol: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer([head(int(status), [("Content-Length", "0")])]) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        (exchange,) = ask(ledger, "https://elsewhere.example/v1", protocol, timeout=5)
    assert fault_of(ledger, exchange).reason == PROXY[status]


class Silent:
    """Takes a connection and says nothing until it is closed."""

    def __enter__(self) -> int:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._hold, daemon=True).start()
        return self._listener.getsockname()[1]

    def _hold(self) -> None:
        held: list[socket.socket] = []
        while True:
            try:
                held.append(self._listener.accept()[0])
            except OSError:
                return

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def test_a_handshake_that_never_comes_is_a_timeout(ledger: Ledger) -> None:
    with Silent() as port:
        (exchange,) = ask(ledger, f"https://127.0.0.1:{port}", timeout=0.5)
    assert fault_of(ledger, exchange).reason == "timeout"
