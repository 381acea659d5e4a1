"""What a person types becomes a candidate, or one sentence."""

from __future__ import annotations

import pytest

from harness._errors import EngineError
from harness.engines import is_replay, resolve_engine
from harness.engines._address import is_loopback, proxy_for


def test_the_usual_addresses_and_keys() -> None:
    environ = {"OPENAI_API_KEY": "sk-o", "ANTHROPIC_API_KEY": "sk-a"}
    openai = resolve_engine("openai/gpt-x", environ=environ)
    assert (openai.label, openai.protocol, openai.model) == ("openai/gpt-x", "openai", "gpt-x")
    assert (openai.url, openai.api_key) == ("https://api.openai.com/v1", "sk-o")
    anthropic = resolve_engine("anthropic/claude-x", environ=environ)
    assert (anthropic.url, anthropic.api_key) == ("https://api.anthropic.com", "sk-a")
    assert anthropic.parameters == {"max_tokens": 1024}, "what the protocol requires is visible in the candidate"
    ollama = resolve_engine("ollama/library/llama3.2:1b", environ={})
    assert (ollama.url, ollama.model, ollama.parameters) == ("http://127.0.0.1:11434", "library/llama3.2:1b", {})


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"), ("gpu:1234", "http://gpu:1234"), (":80", "http://127.0.0.1:80"),
        ("[::1]:9", "http://[::1]:9"), ("[::1]", "http://[::1]:11434"), ("https://far.example/x/", "https://far.example/x"),
    ],
)  # fmt: skip
def test_ollama_host_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert resolve_engine("ollama/m", environ={"OLLAMA_HOST": host}).url == url


def test_a_given_address_goes_before_the_environment_s() -> None:
    environ = {"OPENAI_BASE_URL": "http://one/v1"}
    assert resolve_engine("openai/m", environ=environ).url == "http://one/v1"
    assert resolve_engine("openai/m", base_url="http://two/v1/", environ=environ).url == "http://two/v1"


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("gpt-4", {}, "provider/model"),
        ("openai/", {}, "provider/model"),
        ("/x", {}, "provider/model"),
        ("germini/x", {}, "did you mean gemini? There are anthropic, azure"),
        ("OpenAI/x", {}, "there is no provider 'OpenAI', which 'OpenAI/x' begins with; did you mean openai"),
        ("openai/x", {}, "set OPENAI_API_KEY"),
        ("anthropic/x", {}, "set ANTHROPIC_API_KEY"),
        ("openai/x", {"base_url": "localhost:80/v1"}, "http://host:port/path"),
        ("openai/x", {"base_url": ""}, "http://host:port/path"),
        ("openai/x", {"base_url": "http://"}, "http://host:port/path"),
        ("openai/x", {"base_url": "http://h:99999"}, "http://host:port/path"),
        ("openai/x", {"base_url": "http://h/a b"}, "http://host:port/path"),
        ("openai/x", {"base_url": "http://h", "parameters": {"model": "y"}}, "'model'"),
        ("openai/x", {"base_url": "http://h", "parameters": {"top_p": float("nan")}}, "'top_p'"),
        ("anthropic/x", {"base_url": "http://h", "parameters": {"max_tokens": "many"}}, "max_tokens"),
        ("openai/x", {"base_url": "http://h", "environ": {"OPENAI_API_KEY": "sk\n-x"}}, "OPENAI_API_KEY"),
    ],
)
def test_what_can_t_be_used_is_told_in_one_sentence(text: str, options: dict[str, object], says: str) -> None:
    with pytest.raises(EngineError) as told:
        resolve_engine(text, **{"environ": {}, **options})  # pyright: ignore[reportArgumentType]
    assert says in str(told.value) and "\n" not in str(told.value)
    assert told.value.exit_status == 2


def test_a_prompt_file_changes_the_prompt_and_its_digest() -> None:
    candidate = resolve_engine("ollama/m", environ={})
    changed = candidate.with_prompt("Lies: é".encode())
    assert changed.prompt == "Lies: é" and changed.prompt_digest != candidate.prompt_digest
    with pytest.raises(EngineError, match="byte 1"):
        candidate.with_prompt(b"a\xff")


def test_replays_are_told_apart() -> None:
    assert is_replay("replay/ledger.db") and not is_replay("replayer/m")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True), ("LOCALHOST.", True), ("a.localhost", True), ("127.8.9.1", True), ("127.1", True),
        ("::1", True), ("[::1]", True), ("::ffff:127.0.0.1", True), ("0.0.0.0", True), ("10.0.0.1", False),
        ("localhost.example", False), ("128.0.0.1", False), ("", False),
    ],
)  # fmt: skip
def test_loopback_by_any_name(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_no_proxy_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert proxy_for("https://api.example/v1") == "http://proxy.example:3128"
    assert proxy_for("https://a.inside.example/v1") is None
    assert proxy_for("http://api.example/v1") is None
    assert proxy_for("https://127.0.0.1/v1") is None
