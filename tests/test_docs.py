"""The pages and the README say what is: generated pages are current, and the README's commands run as they stand."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harness._prediction import parse_prediction
from harness._rules import ruleset_from_frozen
from harness._suite import load_suite
from tests.harness.models import Answer, model_server
from tests.harness.scripted import questions
from tests.harness.test_run import perfect

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = [line.strip().split("  #")[0] for line in README.splitlines() if line.startswith("    ")]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["SCHEMA.md", "OUTCOMES.md", "PROVIDERS.md"])
def test_generated_pages_are_current(name: str) -> None:
    page = generator().PAGES[name]()
    assert (ROOT / "docs" / name).read_text("utf-8") == page, "run `python docs/generate.py`"


def _answer(prompt: str) -> str:
    if "<untrusted" in prompt:
        (criteria,) = re.findall(r'"scores": \{ (.*?) \}', prompt)
        scores = ", ".join(f"{name}: 1" for name in re.findall(r'"[a-z_]+"', criteria))
        return f'{{"scores": {{{scores}}}, "flags": [], "verdict": "pass"}}'
    return perfect(prompt) if "Memory:" in prompt else "Hi."


@pytest.mark.timeout(900)
def test_every_command_of_the_readme_runs_as_it_stands(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    (tmp_path / "questions.csv").write_text(questions(60), "utf-8")
    wanted = [line for line in COMMANDS if re.match(r"(harness|ledger|sqlite3|echo) ", line)]
    assert len(wanted) >= 10
    with model_server(lambda prompt: Answer(_answer(prompt))) as server:
        environ = {
            **os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "ANTHROPIC_API_KEY": "test-key-anthropic", "OPENAI_API_KEY": "test-key-openai",
            "ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": server.openai, "OLLAMA_HOST": server.url,
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
        }  # fmt: skip
        for command in wanted:
            if command.startswith("sqlite3 ") and shutil.which("sqlite3") is None:
                continue
            here = command.replace("http://127.0.0.1:8080/v1", server.openai)
            done = subprocess.run(here, shell=True, cwd=tmp_path, env=environ, capture_output=True, text=True)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_readme_names_the_two_commands_and_the_makefile_has_them() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("run", "test"):
        assert f"make {target}" in README
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_every_example_of_the_page_on_rules_is_read_as_it_stands(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "RULES.md").read_text("utf-8")
    suite, _ = load_suite("authority", ROOT / "fixtures")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    rules = [block for block in blocks if "[read]" in block and "scorer =" not in block]
    (manifest,) = [block for block in blocks if "scorer =" in block]
    assert ruleset_from_frozen("example", manifest.encode(), "manifest").score["scorer"] == "number/2"
    built = [ruleset_from_frozen(f"example-{place}", block.encode(), suite.stages) for place, block in enumerate(rules)]
    assert [len(each.bars) for each in built] == [2, 0]
    assert [each.policy and each.policy.name for each in built] == [None, "unreadable-is-a-miss"]
    (prediction,) = [block for block in blocks if "[[expect]]" in block]
    assert len(parse_prediction(prediction.encode(), "expect.toml").expect) == 2
