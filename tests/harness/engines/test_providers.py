"""The data file of providers: what a person can name, where their keys come from, and lines of their own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness._candidate import PROTOCOLS
from harness._errors import EngineError
from harness.engines import resolve_engine
from harness.engines._providers import Provider, built_in_providers, read_providers
from ledger import Ledger
from tests.harness.models import envelope
from tests.harness.servers import ScriptedServer, json_reply
from tests.harness.test_run import BIN

KEY = "gsk-a-key-nobody-may-read-back"
HOSTED = [each for each in built_in_providers().values() if each.keys and each.base_url and not each.is_local]
LOCAL = [each for each in built_in_providers().values() if each.is_local]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_file_has_those_that_people_ask_for() -> None:
    wanted = {"openai", "anthropic", "ollama", "azure", "openrouter", "vllm", "gemini", "together", "groq"}
    assert wanted <= set(built_in_providers())
    assert len(HOSTED) >= 12


@pytest.mark.parametrize("provider", HOSTED, ids=lambda each: each.name)
def test_a_hosted_one_is_asked_over_tls_with_the_key_of_its_own_variable(provider: Provider) -> None:
    for variable in provider.keys:
        found = resolve_engine(f"{provider.name}/some/model", environ={"SOME_API_KEY": "no", variable: "sk-1"})
        assert found.api_key == "sk-1"
        assert found.label == f"{provider.name}/some/model" and found.model == "some/model"
        assert found.url == provider.base_url and found.url.startswith("https://")
        assert found.protocol in PROTOCOLS


@pytest.mark.parametrize("name", [each.name for each in HOSTED])
def test_a_missing_key_is_one_sentence_that_names_the_variable(name: str) -> None:
    with pytest.raises(EngineError) as told:
        resolve_engine(f"{name}/m", environ={})
    assert f"set {built_in_providers()[name].keys[0]}" in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize("name", [each.name for each in LOCAL])
def test_a_local_server_needs_no_key_and_takes_one(name: str) -> None:
    assert resolve_engine(f"{name}/m", environ={}).api_key == ""
    variable = built_in_providers()[name].keys[0]
    assert resolve_engine(f"{name}/m", environ={variable: "sk-1"}).api_key == "sk-1"


def test_azure_needs_its_own_address_and_completes_it() -> None:
    with pytest.raises(EngineError, match="azure has no address of its own: set AZURE_OPENAI_ENDPOINT"):
        resolve_engine("azure/deployment", environ={"AZURE_OPENAI_API_KEY": "k"})
    for given in ("https://r.openai.azure.com", "https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1/"):
        environ = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": given}
        assert resolve_engine("azure/deployment", environ=environ).url == "https://r.openai.azure.com/openai/v1"
    with pytest.raises(EngineError, match=r"needs a key at .*: set AZURE_OPENAI_API_KEY"):
        resolve_engine("azure/deployment", environ={"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com"})


def test_bedrock_is_asked_through_a_gateway_and_says_so() -> None:
    with pytest.raises(EngineError, match=r"bedrock is asked through a gateway: LiteLLM .* or OpenRouter"):
        resolve_engine("bedrock/anthropic.claude", environ={})


@pytest.mark.parametrize(("typed", "near"), [("gorq/m", "groq"), ("Groq/m", "groq"), ("open-router/m", "openrouter")])
def test_an_unknown_provider_is_told_what_there_is_and_what_comes_close(typed: str, near: str) -> None:
    with pytest.raises(EngineError) as told:
        resolve_engine(typed, environ={})
    said = str(told.value)
    assert f"did you mean {near}" in said and "together" in said and "replay" in said and "providers.toml" in said


def test_a_line_of_ones_own_adds_a_provider_and_goes_before_ours(tmp_path: Path) -> None:
    (tmp_path / "providers.toml").write_text(
        'ours = { base_url = "https://models.example.org/v1/", keys = ["OUR_KEY"] }\n'
        'groq = { base_url = "http://127.0.0.1:9/v1", keys = ["GROQ_API_KEY"] }\n'
    )
    ours = resolve_engine("ours/a/b", environ={"OUR_KEY": "sk-o"})
    assert (ours.url, ours.protocol, ours.api_key) == ("https://models.example.org/v1", "openai", "sk-o")
    assert resolve_engine("groq/m", environ={}).url == "http://127.0.0.1:9/v1"
    with pytest.raises(EngineError, match="set OUR_KEY"):
        resolve_engine("ours/m", environ={})


def test_the_environment_names_another_file_and_a_missing_one_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('ours = { base_url = "http://127.0.0.1:9/v1" }\n')
    environ = {"HARNESS_PROVIDERS": str(tmp_path / "mine.toml")}
    assert resolve_engine("ours/m", environ=environ).url == "http://127.0.0.1:9/v1"
    with pytest.raises(EngineError, match=r"HARNESS_PROVIDERS names gone\.toml, which can't be read"):
        resolve_engine("ours/m", environ={"HARNESS_PROVIDERS": "gone.toml"})


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('x = { base_url = "no-scheme/v1" }', "p.toml, line 2: base_url"),
        ('x = { base_url = "http://h/v1", key = "K" }', "line 2: 'key' is not known"),
        ('x = { base_url = "http://h/v1", keys = ["sk-live-secret-1"] }', "a key itself never stands here"),
        ('x = { base_url = "http://h/v1", keys = "K K" }', "the names of variables"),
        ('x = { base_url = "http://h/v1", protocol = "grpc" }', "line 2: protocol: expected openai, anthropic, ollama"),
        ("x = { }", "line 2: expected a base_url"),
        ("x = 3", "line 2: expected x = {"),
        ('X = { base_url = "http://h/v1" }', "a name of small letters"),
        ('"a/b" = { base_url = "http://h/v1" }', "a name of small letters"),
        ('replay = { base_url = "http://h/v1" }', "replay means something else already"),
        ("x = { base_url = 3 }", "base_url: expected text on one line"),
        ('x = { base_url = "http://h/v1", path = "v1" }', "path: expected one such as /v1"),
        ("[x]\npath = '/v1'", "line 2: expected a base_url"),
        ("x = {", "p.toml: not valid TOML"),
    ],
)
def test_a_bad_line_is_one_sentence_with_its_file_and_line(line: str, says: str) -> None:
    with pytest.raises(EngineError) as told:
        read_providers(f"# ours\n{line}\n".encode(), "p.toml")
    assert says in str(told.value) and "\n" not in str(told.value) and "sk-live" not in str(told.value)


def test_a_list_in_another_encoding_is_one_sentence() -> None:
    with pytest.raises(EngineError, match="expected UTF-8, got byte 1"):
        read_providers(b"#\xff\n", "p.toml")


def _harness(folder: Path, *arguments: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / "harness", *arguments], cwd=folder, env={"PATH": "/usr/bin:/bin", **(environ or {})}, text=True,
        capture_output=True, timeout=60,
    )  # fmt: skip


def test_a_run_without_a_key_makes_no_ledger_and_a_probe_with_one_in_dotenv_is_recorded_without_it(
    tmp_path: Path,
) -> None:
    told = _harness(tmp_path, "probe", "groq/m", "--prompt", "Hi", "--db", "l.db")
    assert told.returncode == 2 and "set GROQ_API_KEY" in told.stderr and not (tmp_path / "l.db").exists()
    reply = json_reply(json.loads(envelope("/v1", f"You said {KEY}")))
    with ScriptedServer(reply) as server:
        address = f"{server.url}/v1"
        (tmp_path / ".env").write_text(f"GROQ_API_KEY={KEY}\n")
        (tmp_path / "providers.toml").write_text(f'groq = {{ base_url = "{address}", keys = ["GROQ_API_KEY"] }}\n')
        done = _harness(tmp_path, "probe", "groq/m", "--prompt", "Hi", "--db", "l.db", "--json")
        assert done.returncode == 0, done.stderr
        again = {"GROQ_API_KEY": "sk-the-one-that-is-set"}
        _harness(tmp_path, "probe", "groq/m", "--prompt", "Hi", "--db", "other.db", environ=again)
        sent = [each.headers["authorization"] for each in server.requests]
    assert sent == [f"Bearer {KEY}", "Bearer sk-the-one-that-is-set"], ".env never overrides"
    assert KEY.encode() not in (tmp_path / "l.db").read_bytes()
    with Ledger.open(tmp_path / "l.db", read_only=True) as ledger:
        (plan,) = ledger.rows("SELECT body FROM main.events WHERE kind = 'plan' ORDER BY seq LIMIT 1")
    candidate = json.loads(plan["body"])["candidates"][0]
    assert (candidate["label"], candidate["protocol"], candidate["model"]) == ("groq/m", "openai", "m")
    assert "You said ****" in json.loads(done.stdout)["value"]
