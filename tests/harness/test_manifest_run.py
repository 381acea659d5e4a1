"""A suite of files is asked, taken over and resumed byte for byte like any other, images and tools included."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from harness.cli import app
from ledger import Ledger, verify
from ledger.cli import run_app
from tests.harness.models import Answer, ModelServer, model_server

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"multipleOf": 0.01}}}]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("LEDGER_DB", "LEDGER_JSON", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def harness(*arguments: str, status: int = 0) -> None:
    assert run_app(app, "harness", list(arguments)) == status


def pictures(count: int = 3) -> None:
    """A suite of questions about images, with a tool beside each."""
    rows = []
    for number in range(count):
        Path(f"{number}.png").write_bytes(PNG + bytes([number]))
        rows.append({"question": f"What is {number}?", "file": f"{number}.png", "tools": TOOLS, "answer": "a cat"})
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    harness(
        "new", "pictures", "t.jsonl", "--input", "question", "--input", "tools", "--image", "file", "--gold", "answer"
    )


def cat(_: str) -> Answer:
    return Answer("A cat.")


def bodies(server: ModelServer) -> list[bytes]:
    return sorted(body for _, body in server.requests)


def test_an_image_and_a_tool_reach_the_model_as_the_case_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    pictures()
    with model_server(lambda _: Answer("A cat.")) as server:
        harness("run", "pictures", "--engine", "openai/m", "--base-url", server.openai)
        sent = [json.loads(body) for body in bodies(server)]
    assert len(sent) == 3
    for number, body in enumerate(sent):
        (message,) = body["messages"]
        image, text = message["content"]
        data = base64.b64encode(PNG + bytes([number])).decode()
        assert image == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        assert text["text"].startswith(f"What is {number}?\n\nAnswer in as few words")
        assert body["tools"] == TOOLS
    assert "3/3" in capsys.readouterr().out


@pytest.mark.parametrize("protocol", ["openai", "ollama"])
def test_answers_to_the_same_requests_are_taken_over_and_a_changed_prompt_is_asked_anew(protocol: str) -> None:
    pictures()
    with model_server(cat) as server:
        address = server.openai if protocol == "openai" else server.url
        again = ("run", "pictures", "--engine", f"{protocol}/m", "--base-url", address)
        harness(*again)
        first = bodies(server)
        harness(*again, "--reuse")
        assert bodies(server) == first, "nothing was asked a second time"
        prompt = Path("fixtures/pictures/prompts/question.txt")
        prompt.write_text(prompt.read_text("utf-8").replace("Answer in", "Reply in"), "utf-8")
        harness(*again, "--reuse")
        assert len(bodies(server)) == 6


def test_a_run_that_broke_off_goes_on_with_the_same_bytes() -> None:
    pictures()
    broken: list[str] = []

    def sometimes(prompt: str) -> Answer:
        if "What is 1?" in prompt and not broken:
            broken.append(prompt)
            return Answer(status=400, body=b'{"error": {"message": "odd"}}')
        return Answer("a cat")

    with model_server(sometimes) as server:
        harness("run", "pictures", "--engine", "openai/m", "--base-url", server.openai, status=3)
        asked = [body for _, body in server.requests if b"What is 1?" in body]
        harness("resume", "--base-url", server.openai)
        again = [body for _, body in server.requests if b"What is 1?" in body]
    assert len(asked) == 1 and again == asked * 2
    assert verify(Path("ledger.db")).verdict == "CONSISTENT"


def test_what_an_engine_cant_be_asked_is_refused_before_anything_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    pictures()
    harness("run", "pictures", "--engine", "command/cat", status=2)
    said = capsys.readouterr().err
    assert "v1/cases.jsonl:1: case 'r0001' can't be asked of command/cat: command/… takes a text alone" in said
    assert not Path("ledger.db").exists()


def test_a_case_that_lacks_what_the_prompt_names_is_refused_before_anything_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    harness("new", "facts")
    Path("fixtures/facts/prompts/question.txt").write_text("{{ questoin }}\n", "utf-8")
    harness("run", "facts", "--engine", "ollama/m", status=2)
    said = capsys.readouterr().err
    assert "v1/cases.jsonl:1: case 'capital-1'" in said and "names questoin" in said and "has question" in said
    assert not Path("ledger.db").exists()


def test_a_template_that_wont_do_is_refused_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    harness("new", "facts")
    Path("fixtures/facts/prompts/question.txt").write_text("{{ question }}\n{% if %}\n", "utf-8")
    harness("run", "facts", "--engine", "ollama/m", status=2)
    assert "prompts/question.txt: line 2: " in capsys.readouterr().err


def test_another_scorer_is_another_rule_set_over_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    harness("new", "facts")
    with model_server(lambda prompt: Answer("It is Oslo." if "Norway" in prompt else "no idea")) as server:
        harness("run", "facts", "--engine", "openai/m", "--base-url", server.openai)
        Path("fixtures/facts/rules/loose.toml").write_text('[read]\n[score]\nscorer = "includes"\n', "utf-8")
        harness("rescore", "latest", "--rules", "loose")
        assert len(server.requests) == 7
    capsys.readouterr()
    harness("report", "latest", "--json")
    rows = json.loads(capsys.readouterr().out)["scoreboard"]
    found = {row["rules"].split("@")[0]: (row["k"], row["n"]) for row in rows if row["metric"] == "correct"}
    assert found == {"exact": (0, 7), "loose": (1, 7)}
    with Ledger.open(Path("ledger.db"), read_only=True) as ledger:
        assert len(list(ledger.events(kind="response"))) == 7
